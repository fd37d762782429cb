//! `status`: the contents of the memory, and whether it works.

use super::{Call, Effect, described};
use crate::error::CliResult;
use crate::mcp::answer::Answer;
use crate::mcp::arguments::parse;
use crate::statistics::Facts;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

const DESCRIPTION: &str = "What the memory holds, whether it captures, and what is missing. Call when recall seems incomplete or \
the person asks about yore.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

pub fn tool(name: &'static str) -> Result<Tool, String> {
    described::<Arguments>(name, "State of the memory", DESCRIPTION, Effect::Reads)
}

pub async fn call(call: Call) -> CliResult<Answer> {
    let Arguments {} = parse(call.arguments)?;
    let facts = call.access.handle.with(Facts::of).await?;
    Ok(Answer::new(facts.lines().join("\n"), facts.data()))
}
