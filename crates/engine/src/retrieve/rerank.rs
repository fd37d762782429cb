//! Reranks the best hits with a cross-encoder, if the request asks for it.

use std::time::Duration;

use yore_core::query::{AskedFor, Part, Rerank, ScorePart};
use yore_core::text::{CHUNK_TOKENS, chunks};

use super::QueryContext;
use super::answer::Missing;
use super::boosts::Ranked;
use super::deadline::LatePart;
use super::pack::Nearness;
use super::plan::Plan;
use super::texts::Texts;
use crate::error::EngineError;
use crate::store::ItemKey;

/// Number of the best candidates that are read.
const READ: usize = 20;
/// Weight of a logit, and the logit of what is no answer at all (`docs/measurements.md`, "Order").
const WEIGHT: f32 = 0.3;
const NO_ANSWER: f32 = -11.0;
/// Tokens of question and passage together, and characters of what was said before.
const TOKENS: usize = 192;
const BEFORE_CHARS: usize = 250;
/// Chunks of a long text among which the nearest to the question is chosen.
const MOST_CHUNKS: usize = 16;
/// Time that reading one candidate takes, both its texts.
const TIME: Duration = Duration::from_millis(60);

/// Ranks the best candidates anew, if the request allows it and the question asks for one thing in prose: an error
/// message is found by its words.
pub(super) fn rerank(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    ranked: &mut [Ranked],
    texts: &mut Texts,
) -> Result<(), EngineError> {
    let is_prose = !matches!(plan.asked_for, AskedFor::List | AskedFor::Error | AskedFor::Words);
    if plan.request.rerank == Rerank::Never || context.model_vector.is_none() || !is_prose || ranked.len() < 2 {
        return Ok(());
    }
    let read = ranked.len().min(READ);
    if !context.deadline.allows_for(LatePart::Rerank, TIME * read as u32) {
        return Ok(());
    }
    let Some(reranker) = (context.reranker)() else { return Ok(()) };
    let keys: Vec<ItemKey> = ranked[..read].iter().map(Ranked::key).collect();
    texts.load(context.store, &keys)?;
    let question = plan.request.question.trim();
    let mut passages: Vec<Option<Vec<String>>> = Vec::with_capacity(read);
    for (key, candidate) in keys.iter().zip(&*ranked) {
        let text = texts.turn(*key).map(|turn| turn.text.as_str());
        let text = text.or_else(|| texts.memory(*key).map(|(memory, _)| memory.statement.as_str()));
        let passage = text.and_then(|text| nearest_chunk(text, question));
        let Some(passage) = passage else {
            passages.push(None);
            continue;
        };
        let before = match candidate.candidate.position {
            position if position.is_document || key.memory().is_some() => None,
            position => context.store.said_before(position.episode, position.index)?,
        };
        let mut forms = vec![passage.to_owned()];
        // A passage is read alone, and after what was said before it.
        if let Some(before) = before.as_deref().map(str::trim).filter(|before| !before.is_empty()) {
            let from = before.char_indices().rev().nth(BEFORE_CHARS - 1).map_or(0, |(at, _)| at);
            forms.push(format!("{}\n{passage}", &before[from..]));
        }
        passages.push(Some(forms));
    }
    let all: Vec<String> = passages.iter().flatten().flatten().cloned().collect();
    // Either all of them are read or none: scores of both kinds do not compare.
    let logits = reranker.logits(question, &all, TOKENS, context.deadline).unwrap_or_else(|error| {
        *context.no_reranker.borrow_mut() = Some(Missing::reranker(&error));
        None
    });
    let Some(logits) = logits else { return Ok(()) };
    let mut logits = logits.into_iter();
    for (ranked, forms) in ranked.iter_mut().zip(passages) {
        let value = forms.map_or(0.0, |forms| {
            let mean = logits.by_ref().take(forms.len()).sum::<f32>() / forms.len() as f32;
            WEIGHT * (mean - NO_ANSWER).max(0.0)
        });
        ranked.add(ScorePart { part: Part::Rerank, value });
    }
    ranked[..read].sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(())
}

/// Returns the chunk of a text that is nearest to the question; `None` if it says nothing.
fn nearest_chunk<'t>(text: &'t str, question: &str) -> Option<&'t str> {
    let text = text.trim();
    let chunks: Vec<&str> =
        chunks(text, CHUNK_TOKENS).into_iter().take(MOST_CHUNKS).map(|chunk| &text[chunk.start..chunk.end]).collect();
    if chunks.len() < 2 {
        return chunks.first().copied();
    }
    let nearness = Nearness::of(Some(question));
    let near = |chunk: &&str| nearness.to(chunk);
    chunks.iter().max_by(|a, b| near(a).total_cmp(&near(b))).copied()
}
