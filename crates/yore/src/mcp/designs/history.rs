//! Names of the designs' tools for the memory itself: reading histories, counting.

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{CliError, CliResult, Exit};
use crate::mcp::access::ChatsToRead;
use crate::mcp::answer::Answer;
use crate::mcp::arguments::{parse, time};
use crate::mcp::progress::Stage;
use crate::mcp::tools::{Call, Effect, described};
use crate::results::IngestedChats;
use crate::statistics::Facts;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ingest {
    /// Only ingest chats since this date (ISO format)
    since: Option<String>,
    /// Only ingest chats with code blocks
    #[serde(rename = "hasCode")]
    has_code: Option<bool>,
}

pub(super) fn ingest_tool(name: &'static str) -> Result<Tool, String> {
    let description =
        "Manually trigger chat history ingestion: reads what agents wrote since the last time. May take minutes at first.";
    described::<Ingest>(name, "Read chat histories", description, Effect::Adds)
}

pub(super) async fn ingest(call: Call) -> CliResult<Answer> {
    let Ingest { since, has_code } = parse(call.arguments)?;
    let chats = ChatsToRead { since: time("since", since)?, has_code: has_code == Some(true) };
    let Some(reader) = call.access.reader.clone() else {
        return Err(CliError {
            exit: Exit::Usage,
            code: "not-here".to_owned(),
            message: "this server reads no histories".to_owned(),
            hint: Some("the daemon reads them by itself; `yore ingest` reads them now".to_owned()),
        });
    };
    let progress = call.progress;
    progress.say(Stage { what: "looking for conversations", ..Stage::default() });
    let (ingested, lines) = call.access.handle.with(move |_| reader(chats, &progress)).await?;
    Ok(Answer::new(lines.join("\n"), IngestedChats { ingested }))
}

/// Weeks of growth that an agent gets.
const WEEKS: u32 = 12;
/// Memories in each list that an agent gets.
const LISTED: usize = 5;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stats {
    /// Name of the project to count [default: everything]
    project: Option<String>,
}

pub(super) fn stats_tool(name: &'static str) -> Result<Tool, String> {
    described::<Stats>(name, "Statistics", "Get statistics about the memory system.", Effect::Reads)
}

pub(super) async fn stats(call: Call) -> CliResult<Answer> {
    let Stats { project } = parse(call.arguments)?;
    let facts = call.access.handle.with(move |memory| Facts::with_life(memory, project, WEEKS, LISTED)).await?;
    Ok(Answer::new(facts.life_lines().join("\n"), facts.data()))
}
