//! Results of `yore eval`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Quality of the rankings, and their cost.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Measured {
    /// Unit that is ranked and judged: `turn` or `doc`.
    pub level: String,
    /// The lists that answer.
    pub program: String,
    /// CPU seconds of computing vectors.
    pub embed_cpu_s: f64,
    /// Number of texts that the model was run on.
    pub texts_embedded: Option<u64>,
    /// Metrics of all questions with gold evidence, then by category.
    pub categories: Vec<Category>,
    /// Further measures, by name.
    pub extras: BTreeMap<String, String>,
    /// Text that would be injected, if it was measured.
    pub unasked: Option<Injected>,
    /// Number of turns.
    pub turns: u64,
    /// CPU seconds of reading the corpus.
    pub ingest_cpu_s: f64,
    /// CPU milliseconds of a question, median.
    pub query_cpu_p50_ms: f64,
    /// CPU milliseconds of a question, 95th percentile.
    pub query_cpu_p95_ms: f64,
    /// Peak memory in bytes after reading.
    pub ingest_peak_bytes: Option<u64>,
    /// Peak memory in bytes at the end.
    pub peak_bytes: Option<u64>,
    /// Anonymous memory in bytes at the end.
    pub anonymous_bytes: Option<u64>,
    /// Bytes of the data directory.
    pub directory_bytes: u64,
}

/// Metrics of a category of questions.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Category {
    /// Name of the category.
    pub category: String,
    /// Number of its questions.
    pub questions: usize,
    /// Means, by name of the metric.
    pub metrics: BTreeMap<String, f64>,
}

/// Text that would be injected if the questions were prompts.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Injected {
    /// Number of questions with gold evidence.
    pub questions: usize,
    /// Number of them that are given anything.
    pub answered: usize,
    /// Number of them that are given evidence.
    pub with_evidence: usize,
    /// Mean share of the evidence whose words are given.
    pub evidence_recall: f64,
    /// The same, with what is named by its id alone.
    #[serde(default)]
    pub evidence_recall_named: f64,
    /// Prompts that need no memory, by corpus.
    pub everyday: BTreeMap<String, EverydayPrompts>,
    /// The everyday prompts that are given anything.
    pub given_to: Vec<String>,
    /// Tokens of what is given, median.
    pub tokens_p50: usize,
    /// Tokens of what is given, maximum.
    pub tokens_max: usize,
}

/// Prompts that need no memory.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct EverydayPrompts {
    /// Number of prompts.
    pub prompts: usize,
    /// Number of them that are given anything.
    pub given: usize,
}

/// Files that memory would have named in a person's own history (`yore replay`).
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Replayed {
    /// Number of prompts.
    pub prompts: usize,
    /// Number of them for which a file had been opened in an earlier session.
    pub helpable: usize,
    /// Ways of suggesting files: by memory, by how often and how lately they were opened.
    pub ways: Vec<ReplayWay>,
}

/// How often a way of suggesting files names one that the agent then opened.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ReplayWay {
    /// Name of the way.
    pub name: String,
    /// Share of the prompts with such a file among the first 1, 3, 5 and 10.
    pub hit_at: BTreeMap<String, f64>,
    /// Mean share of those files among the first ten.
    pub recall_at_10: f64,
}

/// The proposals of an extractor from given sessions, counted, and their cost (`yore eval extraction`).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct MeasuredExtraction {
    /// Name of the extractor.
    pub extractor: String,
    /// Name of the model, if it is one.
    pub model: Option<String>,
    /// Sessions that were read.
    pub sessions: u64,
    /// Statements that it proposed.
    pub proposals: u64,
    /// Number of them by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Calls of the model.
    pub calls: u64,
    /// Tokens of prompts.
    pub input_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// Their cost in dollars.
    pub dollars: String,
    /// True if some of the tokens are estimated.
    pub estimated: bool,
    /// Reasons why items could not be stored.
    pub refused: Vec<String>,
    /// Sessions that failed.
    pub failed: u64,
    /// Sessions that wait for an answer.
    pub waiting: u64,
    /// Why the run ended early.
    pub stopped: Option<String>,
    /// CPU seconds of this program.
    pub cpu_s: f64,
}
