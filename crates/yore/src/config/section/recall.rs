//! `[recall]`: defaults of a question: limit, scope, embedder, reranking, token budget.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::query::{Rerank, SearchMode};

use crate::config::key::{Key, ProjectMay, Shape};

/// How `yore recall` answers.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recall {
    /// Maximum number of results.
    pub limit: usize,
    /// The conversations that are searched: those of this "project", none if the directory belongs to no
    /// known one; "all"; or, with "auto", this project's if the directory belongs to a known one, else all.
    pub scope: RecallScope,
    /// The vectors that are used beside the words: "none"; those of the "static" table in the program; those of the
    /// "local" model; or, with "auto", those of the local model if it is installed and all but a few hundred turns have its
    /// vectors, else those of the table. What hooks tell unasked is found with the table, unless this is "local".
    pub embedder: RecallEmbedder,
    /// When the cross-encoder of `models.reranker` reads the twenty best passages together with the question, beside
    /// the "local" embedder: "never", "always" (it takes about a second), or "idle" if no other question or text
    /// occupies the models. Hooks never wait for it.
    pub rerank: RecallRerank,
    /// Maximum number of tokens of an answer as text: the passages that say most are chosen.
    pub budget: usize,
    /// Number of characters that are quoted from each result where there is no budget.
    pub quote_chars: usize,
    /// Weight of a word in a tool call or its result; a word that was said has weight 1.
    pub tool_weight: f64,
}

/// The conversations that are searched.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecallScope {
    /// Those of the current project; none if the directory belongs to no known project.
    Project,
    /// Those of the current project; all if the directory belongs to no known project.
    Auto,
    /// Those of all projects.
    All,
}

/// The vectors that are used beside the words.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum RecallEmbedder {
    /// No vectors.
    None,
    /// The table inside the program.
    Static,
    /// The local model if it is installed and its vectors are there, else the table.
    Auto,
    /// The local model.
    #[value(alias = "bge")]
    Local,
}

impl RecallEmbedder {
    /// Names of the embedders on the command line and in the settings.
    pub const NAMES: [&str; 4] = ["none", "static", "auto", "local"];

    /// Returns the lists that are searched with this embedder; with `auto`, those where the local model is not ready.
    pub fn mode(self) -> SearchMode {
        match self {
            Self::None => SearchMode::Lexical,
            Self::Static | Self::Auto => SearchMode::Static,
            Self::Local => SearchMode::Full,
        }
    }
}

/// When the cross-encoder reads the best passages.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecallRerank {
    /// Never.
    Never,
    /// If no other question or text occupies the models.
    Idle,
    /// Always.
    Always,
}

impl RecallRerank {
    /// Returns the request's name for it.
    pub fn when(self) -> Rerank {
        match self {
            Self::Never => Rerank::Never,
            Self::Idle => Rerank::Idle,
            Self::Always => Rerank::Always,
        }
    }
}

impl Default for Recall {
    fn default() -> Self {
        Self {
            limit: 10,
            scope: RecallScope::Auto,
            embedder: RecallEmbedder::Auto,
            rerank: RecallRerank::Never,
            budget: 500,
            quote_chars: 240,
            tool_weight: 0.15,
        }
    }
}

/// The keys of `[recall]`. A project's file may not widen the scope: a cloned repository must not bring
/// another project's words into the conversation. Nor may it make answers slow, or the words of tools weigh more: those may be its own.
pub(super) const KEYS: &[Key] = &[
    Key::new("recall.limit", Shape::Count { min: 1, max: 1000 }, ProjectMay::Set),
    Key::new("recall.scope", Shape::Choice(&["project", "auto", "all"]), ProjectMay::Narrow),
    Key::new("recall.embedder", Shape::Choice(&RecallEmbedder::NAMES), ProjectMay::Narrow),
    Key::new("recall.rerank", Shape::Choice(&["never", "idle", "always"]), ProjectMay::Narrow),
    Key::new("recall.budget", Shape::Count { min: 100, max: 20_000 }, ProjectMay::Set),
    Key::new("recall.quote_chars", Shape::Count { min: 40, max: 4000 }, ProjectMay::Set),
    Key::new("recall.tool_weight", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
];
