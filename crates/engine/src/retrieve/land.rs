//! LAND: the lists of candidates, on one scale, in one sum.

use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};

use yore_core::query::{List, ListPlace, Program};
use yore_core::rank;
use yore_core::text::{Question, WordPiece, is_stop_word};
use yore_core::time::UtcMillis;

use super::plan::{Weights, tool_weight, weights};
use super::{Asked, RecallRequest};
use crate::EngineError;
use crate::index::{CompiledFilter, LexicalHit, SearchOptions, SemanticHit};

/// BM25 scores closer together than this are as good as equal.
const WORDS_SPREAD: f32 = 0.5;
/// Cosines closer together than this are as good as equal.
const COSINE_SPREAD: f32 = 0.015;

/// Below this cosine the static table knows of no nearness: the nearest turns of questions that a
/// memory has no answer to lie around it. (The local model's cosines tell nothing of the kind.)
const STATIC_FLOOR: f32 = 0.25;

/// A turn that a list proposed.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub row: i64,
    pub episode: i64,
    pub at: UtcMillis,
    pub position: i64,
    /// The full-text hit, where that list has the turn.
    pub lexical: Option<LexicalHit>,
    pub lists: Vec<ListPlace>,
    /// What the words and the meaning add.
    pub words: f32,
    pub meaning: f32,
}

/// Asks the lists that the program has for a text, which `question` is read from; says which program that was in the end.
pub(super) fn land(
    asked: &Asked<'_>,
    text: &str,
    question: &Question,
    filter: &CompiledFilter,
    request: &RecallRequest,
) -> Result<(Vec<Candidate>, Program), EngineError> {
    let depth = request.limit.max(rank::DEPTH);
    let program = match (asked.semantic, &asked.model_vector) {
        (None, _) => Program::Lexical,
        (Some(_), None) => Program::Static,
        (Some(_), Some(_)) => Program::Full,
    };
    let weigh = |is_document: bool| {
        let tuned = weights(program, is_document, question);
        Weights {
            words: if request.is_worded { tuned.words } else { 0.0 },
            meaning: request.meaning_weight.unwrap_or(tuned.meaning),
        }
    };
    let mut candidates = Candidates::default();
    let options = SearchOptions { limit: depth, tool_weight: tool_weight(question, request) };
    let words = asked.lexical.search(asked.store, question, filter, &options)?;
    let scores: Vec<f32> = words.iter().map(|hit| hit.score).collect();
    for (at, (hit, height)) in words.iter().zip(rank::heights(&scores, Some(0.0), WORDS_SPREAD)).enumerate() {
        let candidate = candidates.entry(hit.row, hit.episode, hit.at, hit.position);
        candidate.lexical = Some(*hit);
        candidate.words = weigh(hit.is_document).words * height;
        candidate.lists.push(ListPlace { list: List::Words, rank: at + 1, score: hit.score });
    }
    let Some(semantic) = asked.semantic.filter(|_| has_meaning(text)) else {
        return Ok((candidates.all, program));
    };
    if question.are_phrases_required && !question.phrases.is_empty() {
        // Quoted words must stand there; only full text knows where they do.
        let proposed: HashSet<i64> = words.iter().map(|hit| hit.row).collect();
        candidates.only = Some(proposed);
    }
    if let Some(vector) = &asked.model_vector {
        let hits = semantic.search_model(asked.store, vector, filter, depth)?;
        candidates.add_meaning(List::Model, &hits, f32::MIN, |is_document| weigh(is_document).meaning);
    }
    // Turns that the local model has not embedded yet answer by the static table.
    if asked.model_vector.is_none() || semantic.lacks_model_vectors(asked.store)? {
        let mut hits = semantic.search_static(asked.store, text, filter, depth)?;
        if asked.model_vector.is_some() {
            hits.retain(|hit| !semantic.has_model_vector(hit.row));
        }
        let weigh_static =
            |is_document: bool| request.meaning_weight.unwrap_or(weights(Program::Static, is_document, question).meaning);
        candidates.add_meaning(List::Static, &hits, STATIC_FLOOR, weigh_static);
    }
    Ok((candidates.all, program))
}

/// Whether a question has a word that the models know as a word. What they can only spell (a name
/// that nobody gave them, a slip of the keyboard) is near to other spellings, not to a meaning.
fn has_meaning(question: &str) -> bool {
    let (mut word, mut pieces) = (0..0, 0);
    let mut is_known = false;
    let judge = |word: &Range<usize>, pieces: usize| {
        let text = question[word.clone()].to_lowercase();
        pieces == 1 && !is_stop_word(&text) && text.chars().any(char::is_alphabetic) && (text.len() > 1)
    };
    let _ = WordPiece::bert().for_each_token(question, |piece| {
        if piece.begins_word {
            is_known |= judge(&word, pieces);
            (word, pieces) = (piece.start..piece.end, 0);
        }
        word.end = word.end.max(piece.end);
        pieces += 1;
        if is_known { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    is_known || judge(&word, pieces)
}

#[derive(Default)]
struct Candidates {
    all: Vec<Candidate>,
    places: HashMap<i64, usize>,
    only: Option<HashSet<i64>>,
}

impl Candidates {
    fn entry(&mut self, row: i64, episode: i64, at: UtcMillis, position: i64) -> &mut Candidate {
        let place = *self.places.entry(row).or_insert_with(|| {
            self.all.push(Candidate { row, episode, at, position, lexical: None, lists: Vec::new(), words: 0.0, meaning: 0.0 });
            self.all.len() - 1
        });
        &mut self.all[place]
    }

    fn add_meaning(&mut self, list: List, hits: &[SemanticHit], floor: f32, weigh: impl Fn(bool) -> f32) {
        let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
        for (at, (hit, height)) in hits.iter().zip(rank::heights(&scores, None, COSINE_SPREAD)).enumerate() {
            if hit.score < floor || self.only.as_ref().is_some_and(|only| !only.contains(&hit.row)) {
                continue;
            }
            let candidate = self.entry(hit.row, hit.episode, hit.at, hit.position);
            candidate.meaning = weigh(hit.is_document) * height;
            candidate.lists.push(ListPlace { list, rank: at + 1, score: hit.score });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_of_known_words_has_meaning_and_one_of_made_up_words_has_none() {
        for known in ["car wheels", "why did we drop redis?", "会话历史", "zzyzx crash"] {
            assert!(has_meaning(known), "{known}");
        }
        for unknown in ["zzyzx quuxfrobnicate", "zanzquux", "", "the of and", "?! 17 .."] {
            assert!(!has_meaning(unknown), "{unknown}");
        }
    }
}
