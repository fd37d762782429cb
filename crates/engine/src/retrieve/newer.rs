//! Raises the newer of two turns about the same subject above the older.

use std::cell::{OnceCell, RefCell};

use yore_core::conflict::{Change, ChangeGrade, Repetition, Statement};
use yore_core::episode::EpisodeKind;
use yore_core::query::{AskedFor, NewerFirst, Part, ScorePart, SearchMode};
use yore_core::rank::{Dated, raise_newer};
use yore_core::text::{Tokenizer, asks_for_past, content_words, fragments, is_stop_word, says_change};

use super::QueryContext;
use super::boosts::Ranked;
use super::conclusive::goes_on;
use super::deadline::LatePart;
use super::plan::Plan;
use super::texts::Texts;
use crate::embed::TextLikeness;
use crate::error::EngineError;
use crate::store::ItemKey;
use yore_sources::source::is_agent;

/// Number of the best candidates that are compared.
const COMPARED: usize = 20;

/// Share of the older one's score that the newer must have.
const LEAST_SHARE: f32 = 0.3;

/// Cosine from which two turns count as one subject, by the static table and by a model.
const SAME_STATIC: f32 = 0.6;
const SAME_MODEL: f32 = 0.85;

/// Bytes up to which a turn is read as statements.
const SHORT: usize = 300;
/// Words of the question that a sentence of a longer turn must have, if it says that something was changed (`docs/measurements.md`,
/// "Answers in kind").
const CHANGED_TERMS: usize = 3;
/// Bytes of a turn in which such a sentence is looked for.
const READ: usize = 16 * 1024;

/// Returns whether a sentence of a text says that something was changed, and has some of these terms: a report of work says of something that
/// it was changed, but seldom of what is asked for.
fn says_change_of(text: &str, terms: &[&String], tokenizer: &mut Tokenizer) -> bool {
    let text = &text[..text.floor_char_boundary(READ)];
    fragments(text).into_iter().map(|range| &text[range]).filter(|sentence| says_change(sentence)).any(|sentence| {
        let words = content_words(sentence, tokenizer);
        terms.iter().filter(|term| words.binary_search(term).is_ok()).count() >= CHANGED_TERMS.min(terms.len())
    })
}

/// Returns the statements of a short text; none of a question or a longer text.
pub(super) fn short_statements(text: &str, tokenizer: &mut Tokenizer) -> Vec<Statement> {
    let text = text.trim();
    if text.len() > SHORT || text.ends_with('?') {
        return Vec::new();
    }
    let sentences = text.lines().flat_map(|line| line.split(". ")).filter(|sentence| !sentence.trim().is_empty());
    sentences.map(|sentence| Statement::of(sentence, tokenizer)).collect()
}

/// Raises newer turns. A raised turn is often no replacement of the older one, so no hit is marked as replaced.
pub(super) fn newer_first(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    ranked: &mut [Ranked],
    texts: &mut Texts,
) -> Result<(), EngineError> {
    let choice = plan.request.tuning.newer_first;

    let is_state = !matches!(plan.asked_for, AskedFor::List | AskedFor::History) && !asks_for_past(&plan.request.question);
    let is_wanted = choice != NewerFirst::Never && is_state;
    let Some(semantic) = context.semantic.filter(|_| is_wanted) else { return Ok(()) };
    let compared = ranked.len().min(COMPARED);
    let keys: Vec<ItemKey> = ranked[..compared].iter().map(Ranked::key).collect();
    texts.load(context.store, &keys)?;
    let (mut tokenizer, mut statements, mut compared_texts) = (Tokenizer::default(), Vec::new(), Vec::new());
    let dated: Vec<Dated> = keys
        .iter()
        .zip(ranked.iter())
        .map(|(key, ranked)| {
            let turn = texts.turn(*key);
            let is_comparable = turn.is_some_and(|turn| {
                let is_work = choice == NewerFirst::Everywhere || is_agent(&turn.agent) && turn.speaker.is_none();
                turn.kind != EpisodeKind::Document && is_work && !turn.text.trim().is_empty()
            });
            let text = turn.filter(|_| is_comparable).map_or("", |turn| turn.text.as_str());
            // Words on the way to a tool state nothing that lasts.
            let text = if turn.is_some_and(goes_on) { "" } else { text };
            let may_change = !text.trim().is_empty();
            statements.push(short_statements(text, &mut tokenizer));
            compared_texts.push(text);
            Dated { at: turn.and_then(|turn| turn.time.utc).filter(|_| is_comparable), score: ranked.score, may_change }
        })
        .collect();
    if !dated.iter().any(|dated| dated.may_change) || !context.deadline.allows(LatePart::Newer) {
        return Ok(());
    }
    // Long texts are read only where another one of the same subject is older.
    let asked: Vec<&String> = plan.question.terms.iter().filter(|term| !is_stop_word(term)).collect();
    let tokenizer = RefCell::new(tokenizer);
    let said: Vec<OnceCell<bool>> = vec![OnceCell::new(); compared];
    let says_so = |at: usize| {
        *said[at].get_or_init(|| match compared_texts[at] {
            text if text.len() <= SHORT => says_change(text),
            text => says_change_of(text, &asked, &mut tokenizer.borrow_mut()),
        })
    };
    let by_words = TextLikeness::default();
    let changes = |older: usize, newer: usize| {
        let is_likely = |earlier: &Statement, later: &Statement| {
            // A repetition, in whole or in part, changes nothing.
            !matches!(Repetition::of(earlier, later), Some(Repetition::Same | Repetition::FirstSaysMore))
                && Change::of(earlier, later, &|a, b| by_words.of(a, b)).is_some_and(|change| change.grade == ChangeGrade::Likely)
        };
        statements[older].iter().any(|earlier| statements[newer].iter().any(|later| is_likely(earlier, later)))
    };
    // Both lists of vectors say whether two turns are of one subject: the model's is better at that, and misses others.
    let of = |mode: SearchMode| keys.iter().map(|key| semantic.mean_vector(*key, mode)).collect::<Vec<Option<Vec<f32>>>>();
    let mut lists = vec![(SAME_STATIC, of(SearchMode::Static))];
    if plan.mode == SearchMode::Full {
        lists.push((SAME_MODEL, of(SearchMode::Full)));
    }
    let likeness = |a: usize, b: usize| {
        if dated[b].score < LEAST_SHARE * dated[a].score {
            return 0.0;
        }
        let cosine = |(least, vectors): &(f32, Vec<Option<Vec<f32>>>)| match (&vectors[a], &vectors[b]) {
            (Some(a), Some(b)) => a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>() / least,
            _ => 0.0,
        };
        let like = lists.iter().map(cosine).fold(0.0, f32::max);
        if like >= 1.0 && (says_so(b) || changes(a, b)) { like } else { 0.0 }
    };
    for raised in raise_newer(&dated, 1.0, &likeness) {
        let newer = &mut ranked[raised.newer];
        newer.add(ScorePart { part: Part::Newer, value: raised.score - newer.score });
    }
    ranked[..compared].sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(())
}
