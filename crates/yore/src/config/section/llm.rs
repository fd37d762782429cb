//! `[llm]`: a language model that makes yore understand better, and what it may take.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// A language model, and what it may take.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Llm {
    /// Who answers: a server ("anthropic", "openai", "gemini", "ollama", "openrouter", "openai-compatible" and others), a program
    /// on this computer ("claude", "ollama-run", "llm", or "command" for any other), or "folder" for requests and answers as files. Empty: nobody. `yore models providers` lists them.
    pub provider: String,
    /// Name of the model, as the provider spells it; a program may have a default of its own.
    pub model: String,
    /// Address of the server, in the place of its usual one.
    pub address: String,
    /// The program and its arguments, for the provider "command": it gets the prompt on its standard input. What was said stands in
    /// it, so an agent must be started without tools.
    pub command: Vec<String>,
    /// The folder of the provider "folder". Empty: `llm` in the data directory.
    pub folder: PathBuf,
    /// Environment variable that holds the server's key, in the place of its usual one.
    pub key_variable: String,
    /// A program and its arguments that prints the key, such as ["op", "read", "op://vault/key"].
    pub key_command: Vec<String>,
    /// Most tokens a day, of all models and purposes together. 0: no model is called.
    pub daily_tokens: u64,
    /// Most dollars a day for servers on other computers. 0: none that costs money is called. Programs bill their own account, of which
    /// yore knows nothing: for them, only the tokens are limited.
    pub daily_dollars: f64,
    /// Dollars for a million tokens of prompts. A server on another computer is not called before this and `price_output` are set; 0 is
    /// a price, too. -1: not known.
    pub price_input: f64,
    /// Dollars for a million tokens of answers.
    pub price_output: f64,
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
            daily_tokens: 0,
            daily_dollars: 0.0,
            price_input: -1.0,
            price_output: -1.0,
            timeout_seconds: 120,
        }
    }
}

const MONEY: Shape = Shape::Number { min: 0.0, max: 100_000.0 };
const PRICE: Shape = Shape::Number { min: -1.0, max: 100_000.0 };
const NAME: Shape = Shape::Text { longest: 200 };
const WORDS: Shape = Shape::List { longest: 4096 };

/// The keys of `[llm]`. A cloned repository must not choose who reads what was said, run a program or spend anything.
pub(super) const KEYS: &[Key] = &[
    Key::new("llm.provider", NAME, ProjectMay::Nothing),
    Key::new("llm.model", NAME, ProjectMay::Nothing),
    Key::new("llm.address", Shape::Text { longest: 2048 }, ProjectMay::Nothing),
    Key::new("llm.command", WORDS, ProjectMay::Nothing),
    Key::new("llm.folder", Shape::Text { longest: 4096 }, ProjectMay::Nothing),
    Key::new("llm.key_variable", NAME, ProjectMay::Nothing),
    Key::new("llm.key_command", WORDS, ProjectMay::Nothing),
    Key::new("llm.daily_tokens", Shape::Count { min: 0, max: 10_000_000_000 }, ProjectMay::Nothing),
    Key::new("llm.daily_dollars", MONEY, ProjectMay::Nothing),
    Key::new("llm.price_input", PRICE, ProjectMay::Nothing),
    Key::new("llm.price_output", PRICE, ProjectMay::Nothing),
    Key::new("llm.timeout_seconds", Shape::Count { min: 1, max: 3_600 }, ProjectMay::Nothing),
];
