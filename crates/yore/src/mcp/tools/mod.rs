//! The table of MCP tools, one file for each.
//!
//! - [`Row`], [`CORE`]: yore's own tools, which every agent gets; [`MORE`]: those that settings name
//! - [`compat`]: the names of the designs that yore grew from
//! - [`listed`], [`find`]: the tools of a toolset
//! - [`Call`]: the input of a tool
//! - `recall`, `show`, `sessions`, `notes`, `brief`, `remember`, `distil`, `forget`, `status`
//!
//! Errors are part of the result, where the agent reads them and can call again.

pub mod brief;
pub mod compat;
mod distil;
mod forget;
pub mod notes;
pub mod recall;
mod remember;
pub mod sessions;
pub mod show;
mod status;
mod toolset;

use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;

pub use self::toolset::Toolset;
use super::access::Access;
use super::answer::{Answer, Form};
use super::arguments::schema;
use super::progress::Progress;
use crate::error::CliResult;

/// Kinds of memories that agents name.
const MEMORY_KINDS: [&str; 9] =
    ["decision", "solution", "pattern", "standard", "preference", "question", "problem", "todo", "fact"];

/// A tool: its description for agents, and its function.
pub struct Row {
    /// Name of the tool.
    pub name: &'static str,
    /// Returns the description for agents.
    pub tool: fn(&'static str) -> Result<Tool, String>,
    /// Runs the tool.
    pub call: fn(Call) -> Pending,
}

/// The input of a tool.
pub struct Call {
    /// The memory, the current project and the session.
    pub access: Arc<Access>,
    /// The arguments from the agent.
    pub arguments: JsonObject,
    /// Receives the progress of the call.
    pub progress: Progress,
}

/// An answer to come.
pub type Pending = Pin<Box<dyn Future<Output = CliResult<Answer>> + Send>>;

/// yore's own tools, the most used first.
pub const CORE: [Row; 8] = [
    Row { name: "recall", tool: recall::tool, call: |call| Box::pin(recall::call(call)) },
    Row { name: "show", tool: show::tool, call: |call| Box::pin(show::call(call)) },
    Row { name: "brief", tool: brief::tool, call: |call| Box::pin(brief::call(call)) },
    Row { name: "sessions", tool: sessions::tool, call: |call| Box::pin(sessions::call(call)) },
    Row { name: "notes", tool: notes::tool, call: |call| Box::pin(notes::call(call)) },
    Row { name: "remember", tool: remember::tool, call: |call| Box::pin(remember::call(call)) },
    Row { name: "forget", tool: forget::tool, call: |call| Box::pin(forget::call(call)) },
    Row { name: "status", tool: status::tool, call: |call| Box::pin(status::call(call)) },
];

/// Further tools, which are served where the settings name them: every session pays for a tool's description.
pub const MORE: [Row; 1] = [Row { name: "distil", tool: distil::tool, call: |call| Box::pin(distil::call(call)) }];

/// Returns the names of every tool that can be chosen, yore's own first.
pub fn every_name() -> impl Iterator<Item = &'static str> {
    let own = CORE.iter().chain(&MORE).map(|row| row.name);
    own.chain(compat::served().map(|row| row.name).filter(|name| CORE.iter().all(|row| row.name != *name)))
}

/// Returns the tools of a toolset.
fn rows(toolset: &Toolset) -> impl Iterator<Item = &'static Row> {
    let is_name = |name: &str| compat::served().any(|row| row.name == name);
    let own = CORE.iter().filter(move |row| toolset.has(row.name, true, is_name(row.name)));
    let more = MORE.iter().filter(|row| toolset.has(row.name, false, false));
    // A name in both tables belongs to yore's own tool.
    let others = compat::served().filter(|row| CORE.iter().all(|own| own.name != row.name));
    own.chain(more).chain(others.filter(|row| toolset.has(row.name, false, true)))
}

/// Returns the descriptions of a toolset's tools.
///
/// # Errors
/// If MCP does not allow the schema of a tool's arguments.
pub fn listed(toolset: &Toolset, form: Form) -> Result<Vec<Tool>, String> {
    let of_row = |row: &Row| {
        let mut tool = (row.tool)(row.name)?;
        if form == Form::Text {
            tool.output_schema = None;
        }
        Ok(tool)
    };
    rows(toolset).map(of_row).collect()
}

/// Returns the tool with this name in a toolset.
pub fn find(toolset: &Toolset, name: &str) -> Option<&'static Row> {
    rows(toolset).find(|row| row.name == name)
}

/// Calls tools in the same way as an agent's calls, in this thread. For the fuzzers.
#[cfg(feature = "fuzz")]
pub struct Caller {
    runtime: tokio::runtime::Runtime,
    access: Arc<Access>,
    tools: Vec<Tool>,
}

#[cfg(feature = "fuzz")]
#[expect(clippy::expect_used, reason = "a panic is what a fuzzer looks for")]
impl Caller {
    /// Creates a caller for the memory in a directory.
    pub fn new(directory: &std::path::Path) -> Self {
        let config = crate::config::Config::default();
        let form = Form::of(&config);
        let handle =
            crate::engine_handle::EngineHandle::new(directory.to_path_buf(), config, crate::llm::ModelsAt::default(), false);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let access = Arc::new(Access { handle, here: None, session: None, reader: None });
        Self { runtime, access, tools: listed(&Toolset::All, form).expect("tools") }
    }

    /// Calls the tool that a number selects. Returns its answer, or its error.
    pub fn call(&self, number: usize, mut arguments: JsonObject) -> Result<String, String> {
        let tool = &self.tools[number % self.tools.len()];
        if tool.annotations.as_ref().is_some_and(|annotations| annotations.read_only_hint == Some(true)) {
            super::arguments::mend(&tool.input_schema, &mut arguments);
        }
        let row = find(&Toolset::All, &tool.name).expect("it is listed");
        let call = Call { access: Arc::clone(&self.access), arguments, progress: Progress::new().0 };
        let answer = self.runtime.block_on((row.call)(call));
        let is_answered = answer.is_ok();
        let told = format!("{:?}", super::answer::result(answer, &[], Form::Text));
        if is_answered { Ok(told) } else { Err(told) }
    }
}

/// The effect of a tool on the memory.
#[derive(Clone, Copy)]
enum Effect {
    /// It only reads.
    Reads,
    /// It adds something; a repeated call adds nothing.
    Adds,
    /// It adds something, and may replace something else.
    Replaces,
    /// It removes something.
    Removes,
}

/// Returns the description of a tool with these arguments.
fn described<A: JsonSchema + 'static>(
    name: &'static str,
    title: &str,
    description: &'static str,
    effect: Effect,
) -> Result<Tool, String> {
    let annotations = ToolAnnotations::with_title(title)
        .read_only(matches!(effect, Effect::Reads))
        .destructive(matches!(effect, Effect::Replaces | Effect::Removes))
        .idempotent(true)
        .open_world(false);
    Ok(Tool::new(name, description, schema::<A>()?).with_annotations(annotations))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use yore_sources::source::own::is_own_tool;

    use super::*;

    /// Maximum bytes of the tools' descriptions, which every session of every agent pays for.
    const MOST_BYTES: usize = 8_000;

    #[test]
    fn default_tools_are_few_and_short() {
        let tools = listed(&Toolset::Core, Form::Text).unwrap();
        assert!(tools.iter().all(|tool| tool.output_schema.is_none()), "a schema of data that is not sent");
        assert!(tools.len() <= 10);
        let read: Vec<_> = tools
            .iter()
            .map(|tool| json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}))
            .collect();
        let sizes: Vec<_> = read.iter().map(|tool| format!("{} {}", tool["name"], tool.to_string().len())).collect();
        let bytes = json!(read).to_string().len();
        assert!(bytes <= MOST_BYTES, "{bytes} bytes: {sizes:?}");
    }

    #[test]
    fn every_argument_is_explained_and_only_evidence_has_an_output_schema() {
        for tool in listed(&Toolset::All, Form::Structured).unwrap() {
            for (name, property) in tool.input_schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}: {name}", tool.name);
            }
            assert_eq!(tool.input_schema.get("additionalProperties"), Some(&json!(false)), "{}", tool.name);
            let has_schema = ["recall", "show"].contains(&tool.name.as_ref());
            assert_eq!(tool.output_schema.is_some(), has_schema, "{}", tool.name);
            let annotations = tool.annotations.unwrap();
            assert!(annotations.title.is_some() && annotations.open_world_hint == Some(false), "{}", tool.name);
        }
    }

    #[test]
    fn answer_of_every_tool_is_known_when_it_comes_back_in_a_transcript() {
        for name in every_name() {
            assert!(is_own_tool(&format!("mcp__yore__{name}")), "{name}");
        }
    }

    #[test]
    fn a_toolset_serves_what_it_lists() {
        let list = |words: &str| -> Vec<String> {
            listed(&words.parse().unwrap(), Form::Text).unwrap().into_iter().map(|tool| tool.name.into_owned()).collect()
        };
        assert_eq!(list("core"), CORE.map(|row| row.name));
        assert_eq!(list("all"), every_name().collect::<Vec<_>>());
        assert_eq!(list(" status, recall,status,"), ["recall", "status"]);
        assert_eq!(list("core").len() + list("names").len() - 1 + MORE.len(), list("all").len(), "recall is in both");
        assert_eq!(list("core,distil").len(), CORE.len() + 1);
        assert!(find(&Toolset::Core, "distil").is_none() && find(&"core,distil".parse().unwrap(), "distil").is_some());
        for name in every_name() {
            assert_eq!(list(name), [name]);
            assert!(find(&Toolset::All, name).is_some());
        }
        assert!(find(&Toolset::Core, "wake_up").is_none());
        assert!(find(&Toolset::Names, "forget").is_none());
        let error = "recal".parse::<Toolset>().unwrap_err().to_string();
        assert!(error.starts_with("unknown tool \"recal\"; the tools are recall, show, "), "{error}");
        assert!(" , ".parse::<Toolset>().is_err());
        for words in ["core", "names", "all", "recall,wake_up", "core,distil"] {
            assert_eq!(words.parse::<Toolset>().unwrap().to_string(), words);
        }
    }
}
