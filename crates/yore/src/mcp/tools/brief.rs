//! `brief`: the state of the project, as hooks give it at the beginning of a session.

use std::sync::Arc;

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_engine::BriefRequest;

use super::{Call, Effect, described};
use crate::error::CliResult;
use crate::inject::text;
use crate::mcp::access::Access;
use crate::mcp::answer::Answer;
use crate::mcp::arguments::{parse, within};
use crate::results;

const DESCRIPTION: &str = "Where things stand in this project: standing notes, what was last worked on and where it stopped. Call at \
the start of work when you were not told, or when the person asks where they were.";
/// Minimum and maximum of a budget in tokens.
const BUDGET: (usize, usize) = (100, 2_000);
/// Default budget in tokens.
pub const USUAL_BUDGET: usize = 1_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// A project's name or directory; default: the current one
    project: Option<String>,
    /// Most tokens
    #[schemars(range(min = BUDGET.0, max = BUDGET.1))]
    budget: Option<usize>,
}

pub fn tool(name: &'static str) -> Result<Tool, String> {
    described::<Arguments>(name, "Where things stand", DESCRIPTION, Effect::Reads)
}

pub async fn call(call: Call) -> CliResult<Answer> {
    let Arguments { project, budget } = parse(call.arguments)?;
    let budget = within("budget", budget, BUDGET.0, BUDGET.1)?.unwrap_or(USUAL_BUDGET);
    tell(&call.access, project, budget).await
}

/// Returns the brief of a project, within a budget of tokens.
pub async fn tell(access: &Arc<Access>, project: Option<String>, budget: usize) -> CliResult<Answer> {
    let asking = Arc::clone(access);
    let session = access.asking();
    let brief = access
        .handle
        .with(move |memory| {
            let request = BriefRequest {
                here: asking.names_of_project(memory, project)?,
                session: asking.session.as_ref().map(|session| session.id.clone()),
                ..BriefRequest::default()
            };
            memory.brief(request)
        })
        .await?;
    let given = text::brief(&brief, budget);
    if given.text.is_empty() {
        let text = match brief.project {
            Some(_) => "Nothing to tell: no notes, and no session to go on with.",
            None => {
                "Nothing to tell: this directory belongs to no known project. `sessions` with project \"all\" lists what is known."
            }
        };
        return Ok(Answer::new(text, results::Brief { project: brief.project, text: String::new(), tokens: None, turns: None }));
    }
    let memories = given.memories();
    // Counts are no reason to withhold a brief.
    let _ = access.handle.with(move |memory| memory.count_given(memories, session)).await;
    let data = results::Brief { project: brief.project, text: given.text.clone(), tokens: None, turns: None };
    Ok(Answer::recalled(given.text, data, given.items.iter().map(ToString::to_string).collect()))
}
