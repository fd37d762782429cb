//! `forget`: hides a session or a note from every answer, or deletes it.

use std::collections::BTreeMap;

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_engine::{ForgetRequest, Forgotten};

use super::{Call, Effect, described};
use crate::error::{CliError, CliResult, Exit};
use crate::fence::name;
use crate::mcp::answer::Answer;
use crate::mcp::arguments::{needed, parse, usage};
use crate::render::text::counted;
use crate::results;

const DESCRIPTION: &str = "Forget a session, note or memory, only when the person asks. Without `confirmed` it says what would go; tell the \
person, then call again. Soft unless `hard`: it answers no more and can be restored.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Its id
    id: String,
    /// The person agreed
    confirmed: Option<bool>,
    /// For good, from archive and backups
    hard: Option<bool>,
    /// Undo a soft forgetting
    restore: Option<bool>,
}

pub fn tool(name: &'static str) -> Result<Tool, String> {
    described::<Arguments>(name, "Forget", DESCRIPTION, Effect::Removes)
}

pub async fn call(call: Call) -> CliResult<Answer> {
    let Arguments { id, confirmed, hard, restore } = parse(call.arguments)?;
    let id = needed("id", &id)?;
    let (is_hard, restore) = (hard == Some(true), restore == Some(true));
    if is_hard && restore {
        return Err(usage("hard and restore exclude each other: what is gone for good cannot be restored"));
    }
    let is_confirmed = confirmed == Some(true);
    let request = ForgetRequest {
        session: id.clone(),
        is_hard,
        is_dry_run: !is_confirmed,
        restore,
        keep_tombstones: call.access.handle.config().forget.keep_tombstones,
    };
    let outcome = call.access.handle.with(move |memory| memory.forget(request)).await?;
    let resting = if outcome.memories > 0 {
        let verb = if outcome.memories == 1 { "rests" } else { "rest" };
        format!(" and {} that {verb} on it alone", counted(outcome.memories, "memory"))
    } else {
        String::new()
    };
    let what = if outcome.episodes.is_empty() && outcome.memories > 0 {
        counted(outcome.memories, "memory")
    } else {
        format!(
            "{} with {}{resting}",
            counted(outcome.episodes.len() as u64, "conversation or note")
                .replace("conversation or notes", "conversations or notes"),
            counted(outcome.turns, "turn")
        )
    };
    if !is_confirmed {
        return Err(CliError {
            exit: Exit::Usage,
            code: "not-confirmed".to_owned(),
            message: format!(
                "nothing was done; this would {} {what}: {}",
                if restore {
                    "restore"
                } else if is_hard {
                    "forget for good"
                } else {
                    "forget"
                },
                named(&outcome)
            ),
            hint: Some("tell the person what it is and ask; if they agree, call again with confirmed true".to_owned()),
        });
    }
    let text = match (restore, is_hard) {
        (true, _) => format!("Restored {what}."),
        (_, true) => format!("Forgot {what} for good. The agent's own transcript is not yore's and was not touched."),
        _ => format!("Forgot {what}. `forget` with restore true brings it back."),
    };
    let data = results::Forgotten {
        dry_run: None,
        hard: is_hard,
        restored: restore,
        episodes: outcome.episodes.clone(),
        turns: outcome.turns,
        memories: outcome.memories,
        memories_kept: outcome.memories_kept,
        archive_lines: outcome.archive_lines,
        backups: None,
        selected: BTreeMap::new(),
    };
    Ok(Answer::new(text, data))
}

fn named(outcome: &Forgotten) -> String {
    let names: Vec<String> = outcome.episodes.iter().take(5).map(|episode| name(episode)).collect();
    let more = outcome.episodes.len() - names.len();
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}
