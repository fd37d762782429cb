//! `[llm]`: the language model and its limits for each day.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};
use crate::config::names::Names;

/// A language model, and what it may take.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Llm {
    /// Who answers: a server ("anthropic", "openai", "gemini", "ollama", "openrouter", "openai-compatible" and others), a program
    /// on this computer ("claude", "codex", "gemini-cli", "qwen", "opencode", "copilot", "ollama-run", "llm", or "command" for any other), or "folder" for requests and answers as files. Empty: nobody. `yore models providers` lists them.
    pub provider: String,
    /// Name of the model, as the provider spells it; a program may have a default of its own.
    pub model: String,
    /// Address of that provider's server, in the place of its usual one.
    pub address: String,
    /// The program and its arguments, for the provider "command": it gets the prompt on its standard input. What was said stands in
    /// it, so an agent must be started without tools.
    pub command: Vec<String>,
    /// The folder of the provider "folder". Empty: `llm` in the data directory.
    pub folder: PathBuf,
    /// Environment variable that holds that provider's key, in the place of its usual one. Without a variable, the key is taken from the
    /// system's keyring, where `yore models key` puts it.
    pub key_variable: String,
    /// A program and its arguments that prints that provider's key, such as ["op", "read", "op://vault/key"]. With {provider} in it, it
    /// gives the keys of all servers that want one, also of those for vectors and relevance: {provider} stands for the server's name.
    pub key_command: Vec<String>,
    /// Other models for some purposes and projects: PURPOSE=PROVIDER/MODEL or PURPOSE@PROJECT=PROVIDER/MODEL, such as
    /// ["extract=anthropic/claude-haiku-4-5", "*@secret=none"]. Purposes are extract, summarise and judge; * is every one,
    /// and the provider none is nobody.
    pub uses: Vec<String>,
    /// Most tokens a day, of all models and purposes together. 0: no model is called.
    pub daily_tokens: u64,
    /// Most calls a day, of all models and purposes together. 0: as many as the tokens allow.
    pub daily_calls: u64,
    /// Most dollars a day for servers on other computers. 0: none that costs money is called. Programs bill their own account, of which
    /// yore knows nothing: for them, only the tokens are limited.
    pub daily_dollars: f64,
    /// Prices in dollars for a million tokens of prompts and of answers: PROVIDER/MODEL=INPUT/OUTPUT, where a * may stand at the end
    /// of the name, such as ["openai/gpt-5-mini=.25/2"]. A server on another computer is not called before it has one; 0/0 is a price, too.
    pub prices: Vec<String>,
    /// Longest time for an answer, in seconds.
    pub timeout_seconds: u32,
}

impl Default for Llm {
    fn default() -> Self {
        Self {
            provider: String::new(),
            model: String::new(),
            address: String::new(),
            command: Vec::new(),
            folder: PathBuf::new(),
            key_variable: String::new(),
            key_command: Vec::new(),
            uses: Vec::new(),
            daily_tokens: 0,
            daily_calls: 0,
            daily_dollars: 0.0,
            prices: Vec::new(),
            timeout_seconds: 120,
        }
    }
}

const MONEY: Shape = Shape::Number { min: 0.0, max: 100_000.0 };
const NAME: Shape = Shape::Text { longest: 200 };
const WORDS: Shape = Shape::List { longest: 4096 };

/// The keys of `[llm]`. A cloned repository must not choose who reads what was said, run a program or spend anything.
pub(super) const KEYS: &[Key] = &[
    Key::new("llm.provider", Shape::Named { longest: 200, names: Names::Provider }, ProjectMay::Nothing),
    Key::new("llm.model", NAME, ProjectMay::Nothing),
    Key::new("llm.address", Shape::Text { longest: 2048 }, ProjectMay::Nothing),
    Key::new("llm.command", WORDS, ProjectMay::Nothing),
    Key::new("llm.folder", Shape::Text { longest: 4096 }, ProjectMay::Nothing),
    Key::new("llm.key_variable", NAME, ProjectMay::Nothing),
    Key::new("llm.key_command", WORDS, ProjectMay::Nothing),
    Key::new("llm.uses", Shape::NamedList { longest: 400, names: Names::Use }, ProjectMay::Nothing),
    Key::new("llm.daily_tokens", Shape::Count { min: 0, max: 10_000_000_000 }, ProjectMay::Nothing),
    Key::new("llm.daily_calls", Shape::Count { min: 0, max: 1_000_000 }, ProjectMay::Nothing),
    Key::new("llm.daily_dollars", MONEY, ProjectMay::Nothing),
    Key::new("llm.prices", Shape::NamedList { longest: 400, names: Names::Price }, ProjectMay::Nothing),
    Key::new("llm.timeout_seconds", Shape::Count { min: 1, max: 3_600 }, ProjectMay::Nothing),
];
