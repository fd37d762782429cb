//! The choice of tools that are served, and their list.
//!
//! - [`Toolset`]: the choice
//! - [`listed`], [`find`]: the tools of a choice

use std::fmt;
use std::str::FromStr;
#[cfg(feature = "fuzz")]
use std::sync::Arc;

#[cfg(feature = "fuzz")]
use rmcp::model::JsonObject;
use rmcp::model::Tool;

#[cfg(feature = "fuzz")]
use super::access::Access;
use super::answer::Form;
use super::designs;
#[cfg(feature = "fuzz")]
use super::progress::Progress;
#[cfg(feature = "fuzz")]
use super::tools::Call;
use super::tools::{CORE, MORE, Row};
use crate::config::Config;
use crate::error::{CliError, CliResult, Exit};

/// Names of sets, alone or among names of tools.
const OWN: &str = "core";
const NAMES: &str = "names";

/// The tools that are served: only listed tools can be called.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Toolset {
    /// yore's own, which every agent gets.
    #[default]
    Core,
    /// The names of the designs that yore grew from, for prompts that were written for these.
    Names,
    /// Every tool.
    All,
    /// The named tools and sets of tools.
    Chosen(Vec<String>),
}

/// The error for text that is not a toolset.
#[derive(Debug, thiserror::Error)]
pub enum ToolsetError {
    /// There is no such tool.
    #[error("unknown tool {name:?}; the tools are {}", .known.join(", "))]
    Unknown {
        /// Name that was given.
        name: String,
        /// Names of the known tools.
        known: Vec<&'static str>,
    },
    /// No tool is named.
    #[error("no tools given; expected \"core\", \"names\", \"all\" or names of tools with commas between them")]
    Empty,
}

impl Toolset {
    /// Returns whether a tool is served, given whether it is one of yore's own and one of the names.
    pub fn has(&self, name: &str, is_core: bool, is_name: bool) -> bool {
        match self {
            Self::Core => is_core,
            Self::Names => is_name,
            Self::All => true,
            Self::Chosen(chosen) => chosen.iter().any(|chosen| match chosen.as_str() {
                OWN => is_core,
                NAMES => is_name,
                chosen => chosen == name,
            }),
        }
    }
}

impl Toolset {
    /// Returns the configured toolset.
    pub fn configured(config: &Config) -> CliResult<Self> {
        config.mcp.tools.parse().map_err(|error: ToolsetError| CliError {
            exit: Exit::Usage,
            code: "config/bad-value".to_owned(),
            message: format!("mcp.tools is {:?}: {error}", config.mcp.tools),
            hint: Some("correct it with `yore config set mcp.tools core`".to_owned()),
        })
    }
}

impl FromStr for Toolset {
    type Err = ToolsetError;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        match words.trim() {
            OWN => return Ok(Self::Core),
            NAMES => return Ok(Self::Names),
            "all" => return Ok(Self::All),
            _ => {}
        }
        let mut chosen: Vec<String> = Vec::new();
        for name in words.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let known: Vec<&'static str> = every_name().collect();
            if ![OWN, NAMES].contains(&name) && !known.contains(&name) {
                return Err(ToolsetError::Unknown { name: name.to_owned(), known });
            }
            if !chosen.iter().any(|before| before == name) {
                chosen.push(name.to_owned());
            }
        }
        if chosen.is_empty() { Err(ToolsetError::Empty) } else { Ok(Self::Chosen(chosen)) }
    }
}

impl fmt::Display for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Core => f.write_str(OWN),
            Self::Names => f.write_str(NAMES),
            Self::All => f.write_str("all"),
            Self::Chosen(chosen) => f.write_str(&chosen.join(",")),
        }
    }
}

/// Returns the names of every tool that can be chosen, yore's own first.
pub fn every_name() -> impl Iterator<Item = &'static str> {
    let own = CORE.iter().chain(&MORE).map(|row| row.name);
    own.chain(designs::served().map(|row| row.name).filter(|name| CORE.iter().all(|row| row.name != *name)))
}

/// Returns the tools of a toolset.
fn rows(toolset: &Toolset) -> impl Iterator<Item = &'static Row> {
    let is_name = |name: &str| designs::served().any(|row| row.name == name);
    let own = CORE.iter().filter(move |row| toolset.has(row.name, true, is_name(row.name)));
    let more = MORE.iter().filter(|row| toolset.has(row.name, false, false));
    // A name in both tables belongs to yore's own tool.
    let others = designs::served().filter(|row| CORE.iter().all(|own| own.name != row.name));
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
        let access = Arc::new(Access { handle, here: None, session: None, reader: None, deep: None });
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use yore_core::memory::MemoryKind;
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

    /// Each kind of memory, the designs that name it (S1 chunks, S2 nodes, S4 ideas, S5 notes), and who makes such memories.
    const MAKERS: [(&str, &str, &str); 22] = [
        ("documentation", "S1", "command"),
        ("code", "S1", "command"),
        ("solution", "S1 S4", "report.rs"),
        ("pattern", "S1", "remember"),
        ("decision", "S1 S2 S4", "plan.rs"),
        ("standard", "S1", "person.rs"),
        ("preference", "S1 S5", "person.rs"),
        ("conclusion", "S4", "command"),
        ("question", "S4", "remember"),
        ("problem", "S4", "remember"),
        ("todo", "S4", "remember"),
        ("context", "S4", "command"),
        ("research", "S2", "store_chunk"),
        ("insight", "S2", "store_chunk"),
        ("resource", "S2", "store_chunk"),
        ("attempt", "S2", "store_chunk"),
        ("user_input", "S2", "plan.rs"),
        ("fact", "S5", "passed_commands.rs"),
        ("event", "S5", "milestone.rs"),
        ("observation", "S4", "command"),
        ("reflection", "S4", "command"),
        ("category_summary", "S1", "command"),
    ];

    #[test]
    fn every_kind_of_memory_is_one_of_a_design_and_is_made_by_a_rule_a_tool_or_a_command() {
        assert_eq!(MAKERS.map(|(kind, ..)| kind).to_vec(), MemoryKind::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>());
        let tools = listed(&Toolset::All, Form::Text).unwrap();
        let rules = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src/rules");
        for (at, (name, _, maker)) in MAKERS.into_iter().enumerate() {
            let is_made = match maker {
                "command" => crate::cli::command().try_get_matches_from(["yore", "remember", "--kind", name, "words"]).is_ok(),
                rule if rule.ends_with(".rs") => {
                    std::fs::read_to_string(rules.join(rule)).unwrap().contains(&format!("MemoryKind::{:?}", MemoryKind::ALL[at]))
                }
                _ => {
                    let properties = &tools.iter().find(|tool| tool.name == maker).unwrap().input_schema["properties"];
                    let kinds = [&properties["kind"]["enum"], &properties["type"]["enum"]];
                    kinds.iter().filter_map(|kinds| kinds.as_array()).flatten().any(|kind| kind == name)
                }
            };
            assert!(is_made, "{maker} makes no {name}");
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
