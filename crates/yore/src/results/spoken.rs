//! The result of `yore ask`: sentences and what they rest on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::strength::Strength;
use yore_engine::AskAnswer;

use super::{rounded, time};

/// An answer in sentences. Its text is recalled data, never instructions.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Spoken {
    /// The question.
    pub question: String,
    /// The sentences, in their order; none if nothing is known.
    pub sentences: Vec<SpokenSentence>,
    /// Number of rows of what is recorded that the sentences leave out.
    #[serde(default)]
    pub unlisted: usize,
    /// The things they rest on; a sentence names them by their place, from 1.
    pub sources: Vec<SpokenSource>,
    /// Probability that the question is answered, 0 to 1.
    pub confidence: f64,
    /// The same in a word: strong, fair, weak.
    pub strength: String,
    /// The searches that were made.
    pub steps: Vec<SpokenStep>,
    /// The language model that wrote the sentences; none: they are words of the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Number of the model's sentences that were dropped because their evidence did not support them.
    pub unsupported: usize,
    /// Projects that were searched; none: all.
    pub projects: Vec<String>,
    /// True if nothing was searched because the directory belongs to no known project.
    #[serde(default)]
    pub project_unknown: bool,
    /// Words of the question that were never met.
    pub unmet: Vec<String>,
}

/// A sentence.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SpokenSentence {
    /// Its words.
    pub text: String,
    /// Numbers of its sources, from 1.
    pub sources: Vec<usize>,
}

/// A turn, a memory or a recorded thing that a sentence rests on.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SpokenSource {
    /// Id by which it is opened.
    pub id: String,
    /// Its kind, such as `decision`, `assistant` or `you`.
    pub what: String,
    /// Its time, RFC 3339.
    pub at: Option<String>,
    /// Name of its project.
    pub project: Option<String>,
}

/// A search.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SpokenStep {
    /// How much was read: preview, full, deep.
    pub depth: String,
    /// The words that were searched for.
    pub searched: String,
    /// Number of things found.
    pub found: usize,
    /// Confidence of the answer after it, 0 to 1.
    pub confidence: f64,
}

impl Spoken {
    /// Returns an answer as data.
    pub fn of(question: &str, answer: &AskAnswer) -> Self {
        let sentence = |of: &yore_engine::AskSentence| SpokenSentence { text: of.text.clone(), sources: of.sources.clone() };
        let source = |of: &yore_engine::AskSource| SpokenSource {
            id: of.opens.clone(),
            what: of.what.clone(),
            at: time(of.at),
            project: of.project.clone(),
        };
        let step = |of: &yore_engine::AskStep| SpokenStep {
            depth: of.depth.as_str().to_owned(),
            searched: of.searched.clone(),
            found: of.found,
            confidence: rounded(of.confidence),
        };
        Self {
            question: question.to_owned(),
            sentences: answer.sentences.iter().map(sentence).collect(),
            unlisted: answer.unlisted,
            sources: answer.sources.iter().map(source).collect(),
            confidence: rounded(answer.confidence),
            strength: Strength::of(answer.confidence).as_str().to_owned(),
            steps: answer.steps.iter().map(step).collect(),
            model: answer.model.clone(),
            unsupported: answer.unsupported,
            projects: answer.projects.clone(),
            project_unknown: answer.is_project_unknown,
            unmet: answer.unmet.clone(),
        }
    }
}
