//! Suggests memories for a prompt, if their confidence reaches the floor (`inject.floor`).

use yore_core::files::rank_files;
use yore_core::query::{Filter, List, ListPlace};
use yore_core::relevance::{Signs, SkipReason, Wording, confidence};
use yore_core::strength::Strength;

use super::choose::{SMALL_MEMORY, ask, bounded, chosen, news};
use super::conclusion::concluded;
use super::subject::is_new_subject;
use super::suggestion::{SuggestRequest, Suggestion, Suggestions};
use crate::error::EngineError;
use crate::retrieve::opened_in_exchanges;
use crate::{Engine, Hit, RecallAnswer};

/// Maximum number of files that are named.
const MOST_FILES: usize = 5;
/// A prompt of fewer characters has nothing to search for.
const SHORTEST: usize = 8;

pub(super) fn of_prompt(
    engine: &Engine,
    request: &SuggestRequest,
    filter: Filter,
    prompt: &str,
) -> Result<Suggestions, EngineError> {
    let text = bounded(prompt.trim());
    if text.chars().count() < SHORTEST || text.starts_with('/') && !text.contains(' ') {
        return Ok(Suggestions::silent(SkipReason::Short, 0.0));
    }
    if request.is_later && !is_new_subject(engine, request, &text)? {
        return Ok(Suggestions::silent(SkipReason::SameSubject, 0.0));
    }
    let answer = ask(engine, request, filter, &text)?;
    let was_found = !answer.hits.is_empty();
    let answer = RecallAnswer { hits: news(engine, request, answer.hits)?, ..answer };
    let wording = Wording::of(&text);
    // A question or a line of output is answered by the passages that match it, an order is served by what was decided.
    let is_output = text.contains(": ") && !text.contains(". ");
    let conclusion = if wording.asks || is_output { Vec::new() } else { concluded(engine, request, &answer.hits)? };
    let confidence = confidence(&signs(engine, wording, &answer, !conclusion.is_empty())?);
    let is_weak = Strength::of(answer.confidence) == Strength::Weak && engine.indexed()? < SMALL_MEMORY;
    if confidence < request.floor || is_weak {
        let code = if was_found && answer.hits.is_empty() { SkipReason::Known } else { SkipReason::Floor };
        return Ok(Suggestions::silent(code, confidence));
    }
    let suggestions = chosen(engine, request, answer, confidence, |_| Ok(None))?;
    let mut hits: Vec<Hit> = suggestions.memories.into_iter().map(|memory| memory.hit).collect();
    if conclusion.is_empty() {
        engine.pack(&mut hits, &text, &request.packing, &request.given)?;
    } else {
        // The turns that led to it say less, and some of them what was corrected later.
        hits = conclusion;
    }
    let mut files = rank_files(&opened_in_exchanges(engine.store(), &hits)?, &[], 0);
    files.truncate(MOST_FILES);
    let files = files.into_iter().map(|file| file.path).collect();
    let memories = hits.into_iter().map(|hit| Suggestion { outcome: None, hit }).collect();
    Ok(Suggestions { memories, files, ..suggestions })
}

/// Collects the signs that the hits answer the prompt.
fn signs(engine: &Engine, wording: Wording, answer: &RecallAnswer, is_of_session: bool) -> Result<Signs, EngineError> {
    let best_of = |list: List| {
        let places = answer.hits.iter().flat_map(|hit| &hit.lists).filter(|place| place.list == list);
        places.map(|ListPlace { score, .. }| *score).fold(0.0f32, f32::max)
    };
    Ok(Signs { wording, words: best_of(List::Words), turns: engine.indexed()?, nearness: best_of(List::Static), is_of_session })
}
