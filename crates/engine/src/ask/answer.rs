//! The question that is asked, and the answer in sentences.

use serde::{Deserialize, Serialize};
use yore_core::query::AskDepth;
use yore_core::time::UtcMillis;

use crate::retrieve::{RecallRequest, View};

/// A question that is to be answered in sentences.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AskRequest {
    /// The question, its filter and scope; how many results and passages are read follows from the depth.
    pub recall: RecallRequest,
    /// Depth; `None`: deeper until the answer is sure.
    pub depth: Option<AskDepth>,
}

/// An answer in sentences.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct AskAnswer {
    /// The sentences, in the order in which they are to be read; none if nothing is known.
    pub sentences: Vec<AskSentence>,
    /// Number of rows of what is recorded that the sentences leave out.
    #[serde(default)]
    pub unlisted: usize,
    /// The things they rest on, in the order of their first mention.
    pub sources: Vec<AskSource>,
    /// Probability that the question is answered, 0 to 1, from how much of the question the evidence and the sentences have.
    pub confidence: f32,
    /// The searches that were made, in order.
    pub steps: Vec<AskStep>,
    /// The model that wrote the sentences; `None`: they are words of the evidence.
    pub model: Option<String>,
    /// Why a model that was to write them did not.
    pub unwritten: Option<Unwritten>,
    /// Sentences of the model that its evidence did not support and that were dropped.
    pub unsupported: usize,
    /// Names of the projects that were searched; empty: all.
    pub projects: Vec<String>,
    /// True if nothing was searched, because the question is about the current project and that is not known.
    #[serde(default)]
    pub is_project_unknown: bool,
    /// The list that was asked for, if nothing of it is recorded.
    #[serde(default)]
    pub empty: Option<View>,
    /// Number of turns that can be found at all.
    pub indexed: u64,
    /// Words of the question that were never met.
    pub unmet: Vec<String>,
}

/// A sentence of an answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct AskSentence {
    /// Its words.
    pub text: String,
    /// Numbers of its sources, from 1.
    pub sources: Vec<usize>,
}

/// A thing that a sentence rests on.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct AskSource {
    /// The id by which it is opened.
    pub opens: String,
    /// Its kind, such as `decision`, `assistant`, `you`, `commands`.
    pub what: String,
    /// Its time.
    pub at: Option<UtcMillis>,
    /// Its project.
    pub project: Option<String>,
}

/// A search for evidence.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct AskStep {
    /// Depth of the search.
    pub depth: AskDepth,
    /// The words that were searched for.
    pub searched: String,
    /// Number of things found.
    pub found: usize,
    /// Confidence of the answer after it, 0 to 1.
    pub confidence: f32,
}

/// The reason why a model that was to write an answer did not.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unwritten {
    /// Nobody may read the conversations of this project.
    LeftOut,
    /// No model could be chosen; the words say what is missing.
    NoModel(String),
    /// It failed, or a limit does not allow the call.
    Failed(String),
    /// It answered, and no sentence was supported.
    Unsupported,
}
