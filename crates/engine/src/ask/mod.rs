//! Answers a question in sentences, each with the turn or memory that it rests on.
//!
//! - [`AskRequest`], [`AskAnswer`]: the question and its answer (`answer`)
//! - `evidence`: what the sentences rest on, at a depth
//! - `sentences`: sentences that are chosen from the evidence
//! - `writing`: sentences of a language model, of which only supported ones stay

mod answer;
mod evidence;
mod sentences;
mod writing;

use yore_core::query::AskDepth;
use yore_core::strength::SMALL_MEMORY;

pub use self::answer::{AskAnswer, AskRequest, AskSentence, AskSource, AskStep, Unwritten};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extraction::ModelAccess;

/// Confidence from which no deeper search is made.
const SURE: f32 = 0.7;
/// Confidence below which nothing counts as known.
const KNOWN: f32 = 0.25;
/// The same in a small memory: few of the words of a question were ever met in it.
const KNOWN_SMALL: f32 = 0.1;

impl Engine {
    /// Answers a question in sentences. With `by`, a language model writes them, unless the question is simple: its answer is a list of
    /// what is recorded, or only a preview is wanted.
    ///
    /// # Errors
    /// See [`Engine::recall`]. That a model did not answer is in the answer.
    pub fn ask(&self, request: &AskRequest, by: Option<ModelAccess<'_>>) -> Result<AskAnswer, EngineError> {
        let mut steps: Vec<AskStep> = Vec::new();
        let depths = match &request.depth {
            Some(depth) => std::slice::from_ref(depth),
            None => AskDepth::ALL,
        };
        let mut best: Option<(evidence::Gathered, AskAnswer)> = None;
        for depth in depths {
            let gathered = self.gather(&request.recall, *depth)?;
            let mut chosen = sentences::choose(&gathered, *depth);
            // Names of the evidence do not change how well the question is met.
            if let (AskDepth::Deep, Some((_, known))) = (*depth, &best) {
                chosen.confidence = known.confidence;
            }
            let found = gathered.pieces.len();
            steps.push(AskStep { depth: *depth, searched: gathered.searched.clone(), found, confidence: chosen.confidence });
            // Passages of a preview seldom hold all of an answer.
            let is_unknown = gathered.answer.is_project_unknown;
            let is_sure = gathered.is_recorded || chosen.confidence >= SURE && *depth != AskDepth::Preview;
            if best.as_ref().is_none_or(|(_, known)| chosen.confidence >= known.confidence) {
                best = Some((gathered, chosen));
            }
            if is_sure || is_unknown {
                break;
            }
        }
        let Some((gathered, mut answer)) = best else { return Ok(AskAnswer::default()) };
        answer.steps = steps;
        let least = if answer.indexed < SMALL_MEMORY { KNOWN_SMALL } else { KNOWN };
        if answer.confidence < least {
            (answer.sentences, answer.sources, answer.unlisted) = (Vec::new(), Vec::new(), 0);
        }
        if !answer.sentences.is_empty() {
            self.count_shown(&gathered.answer, &request.recall);
        }
        let is_simple = gathered.is_recorded || request.depth == Some(AskDepth::Preview);
        if let Some(by) = by.filter(|_| !is_simple && !gathered.pieces.is_empty() && !answer.sentences.is_empty()) {
            self.write_answer(&request.recall.question, &gathered, by, &mut answer)?;
        }
        Ok(answer)
    }
}
