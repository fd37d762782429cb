//! `get_contradictions`: lists unresolved contradictions between memories.

use std::sync::Arc;

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_core::memory::Memory;
use yore_engine::OpenConflict;

use crate::error::CliResult;
use crate::fence::{fenced, passage};
use crate::mcp::access::Chosen;
use crate::mcp::answer::Answer;
use crate::mcp::arguments::{given, parse};
use crate::mcp::tools::{Call, Effect, described};
use crate::render::plain::one_line;
use crate::results::{ConflictRecord, Contradictions};

/// Maximum number of conflicts in an answer.
const LIMIT: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OfProject {
    /// The project's name or id; none: the current one
    project_id: Option<String>,
}

pub(super) fn tool(name: &'static str) -> Result<Tool, String> {
    let description = "List recorded statements that contradict each other and that nobody settled, the gravest first. The person settles \
         them: `yore conflicts`.";
    described::<OfProject>(name, "Contradictions", description, Effect::Reads)
}

pub(super) async fn contradictions(call: Call) -> CliResult<Answer> {
    let OfProject { project_id } = parse(call.arguments)?;
    let (access, project) = (Arc::clone(&call.access), given(project_id));
    let found = call
        .access
        .handle
        .with(move |memory| match access.projects(memory, project)? {
            Chosen::All => memory.conflicts(Vec::new(), None, LIMIT),
            Chosen::Only(project) => memory.conflicts(vec![project], None, LIMIT),
            Chosen::Nothing => Ok(Vec::new()),
        })
        .await?;
    let data = Contradictions { contradictions: found.iter().map(ConflictRecord::from).collect() };
    if found.is_empty() {
        return Ok(Answer::new("Nothing that is recorded contradicts anything that holds, as far as yore sees.", data));
    }
    let passages: Vec<String> = found.iter().map(told).collect();
    Ok(Answer::new(fenced(&passages), data))
}

/// Returns a conflict as it is told.
fn told(open: &OpenConflict) -> String {
    let line = |memory: &Memory| format!("[{}] {}", memory.id.short(), one_line(&memory.statement));
    let heading = format!("{}, {}:", open.severity().as_str(), open.resolution().as_str());
    passage(&heading, &format!("{}\n{}", line(&open.older.memory), line(&open.newer.memory)))
}
