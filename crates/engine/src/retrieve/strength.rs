//! Rates the evidence of each hit and of the answer, and refuses an answer without evidence.

use std::collections::HashMap;

use yore_core::query::List;
use yore_core::strength::{Evidence, SMALL_MEMORY, confidence, refused_below};
use yore_core::text::{Question, Tokenizer, Tokens, is_stop_word};

use super::deadline::LatePart;
use super::pack::MOST_TERMS;
use super::period::asks_for_period;
use super::plan::Plan;
use super::{Found, Hit, QueryContext, RecallRequest};
use crate::error::EngineError;
use crate::index::Address;
use crate::store::{ItemKey, ShownTurn};

/// Bytes at the beginning and at the end of a text in which the question's terms are looked for.
const SEARCHED_BYTES: usize = 8 * 1024;
/// Number of hits whose cover counts for the answer.
const COUNTED: usize = 5;
/// Maximum number of words of a question that are looked up one by one.
const MOST_WORDS: usize = 200;

/// Gives each hit its confidence, and returns the evidence of the answer with its own.
pub(super) fn judge(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    hits: &mut [Hit],
    addresses: &HashMap<ItemKey, Address>,
    tokenizer: &mut Tokenizer,
) -> Result<(Evidence, f32), EngineError> {
    let terms = &plan.question.terms[..plan.question.terms.len().min(MOST_TERMS)];
    let rarity = context.lexical.rarity(terms)?;
    let is_late = context.deadline.left_out(LatePart::Meaning);
    let is_by_meaning = !is_late && plan.lists.iter().any(|planned| matches!(planned.list, List::Static | List::Model));
    let none = Evidence { nearness: is_by_meaning.then_some(0.0), cover: 0.0, terms: terms.len(), mode: plan.mode };
    let mut answer = none;
    let mut by_tool = 0.0f32;
    let words: Vec<String> = hits.iter().filter_map(|hit| hit.as_memory().map(|found| found.memory.words())).collect();
    let mut words = words.iter();
    let mut items: Vec<(Option<Address>, Vec<&str>)> = Vec::with_capacity(hits.len());
    for hit in hits.iter() {
        let texts = match &hit.found {
            Found::Turn(turn) => searched_texts(turn),
            Found::Memory(_) => words.next().map(String::as_str).into_iter().collect(),
        };
        items.push((addresses.get(&hit.key()).copied(), texts));
    }
    let had = terms_had(context, terms, &items, tokenizer)?;
    for (at, (hit, has)) in hits.iter_mut().zip(had).enumerate() {
        let cover = cover(&rarity, has);
        let meant = hit.lists.iter().filter(|place| matches!(place.list, List::Static | List::Model));
        let nearness = meant.map(|place| place.score).chain(none.nearness).reduce(f32::max);
        // Output of a tool has no vectors: its words alone can tell.
        let is_tool_alone = hit.as_turn().is_some_and(|turn| turn.text.trim().is_empty());
        hit.confidence = confidence(&Evidence { nearness: nearness.filter(|_| !is_tool_alone), cover, ..none });
        answer.nearness = answer.nearness.into_iter().chain(nearness).reduce(f32::max);
        if at < COUNTED {
            answer.cover = answer.cover.max(cover);
            by_tool = if is_tool_alone { by_tool.max(hit.confidence) } else { by_tool };
        }
    }
    Ok((answer, confidence(&answer).max(by_tool)))
}

/// Returns which terms each item has, a bit for each: by the index, where the item is in it, else by its texts.
pub(super) fn terms_had(
    context: &QueryContext<'_>,
    terms: &[String],
    items: &[(Option<Address>, Vec<&str>)],
    tokenizer: &mut Tokenizer,
) -> Result<Vec<u128>, EngineError> {
    let known: Vec<Address> = items.iter().filter_map(|(address, _)| *address).collect();
    let mut known = context.lexical.terms_of(terms, &known)?.into_iter();
    let places: HashMap<&str, usize> = terms.iter().map(String::as_str).zip(0..).collect();
    let mut tokens = Tokens::default();
    let of = |(address, texts): &(Option<Address>, Vec<&str>)| {
        if address.is_some() {
            return known.next().unwrap_or(0);
        }
        let mut has = 0;
        for text in texts.iter().flat_map(|text| ends(text)) {
            tokenizer.tokenize(text, &mut tokens);
            tokens.iter().filter_map(|token| places.get(token.text)).for_each(|place| has |= 1 << place);
        }
        has
    };
    Ok(items.iter().map(of).collect())
}

/// Returns the share of a question's words that a text has, by their rarity; `has` is a bit for each.
pub(super) fn cover(rarity: &[f32], has: u128) -> f32 {
    let whole = rarity.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    rarity.iter().enumerate().filter(|(bit, _)| has >> bit & 1 == 1).map(|(_, rarity)| rarity).sum::<f32>() / whole
}

/// Returns the words of a turn in which those of a question are looked for.
pub(super) fn searched_texts(turn: &ShownTurn) -> Vec<&str> {
    [turn.text.as_str(), turn.tool_text.as_str()].into_iter().chain(turn.speaker.as_deref()).collect()
}

/// Returns the beginning and the end of a text.
fn ends(text: &str) -> [&str; 2] {
    let (head, rest) = text.split_at(text.floor_char_boundary(SEARCHED_BYTES));
    [head, &rest[rest.ceil_char_boundary(rest.len().saturating_sub(SEARCHED_BYTES))..]]
}

/// Returns whether nothing is refused: in a small memory, and where all that was said in a period answers a question that names nothing else.
pub(super) fn is_any_right(context: &QueryContext<'_>, plan: &Plan<'_>) -> bool {
    context.lexical.len() < SMALL_MEMORY || asks_for_period(plan)
}

/// Leaves out what is less sure than the request allows. Returns whether the whole answer is refused.
pub(super) fn refuse(context: &QueryContext<'_>, plan: &Plan<'_>, sure: f32, hits: &mut Vec<Hit>) -> bool {
    let least = plan.request.min_confidence;
    let usual = if is_any_right(context, plan) { 0.0 } else { refused_below(plan.mode) };
    if sure < least.unwrap_or(usual) {
        hits.clear();
        return true;
    }
    if let Some(least) = least {
        hits.retain(|hit| hit.confidence >= least);
        for (at, hit) in hits.iter_mut().enumerate() {
            hit.rank = at + 1;
        }
    }
    false
}

/// Returns the words of a question that no turn in the index has; those of a period are none of them.
pub(super) fn unmet_words(
    context: &QueryContext<'_>,
    request: &RecallRequest,
    tokenizer: &mut Tokenizer,
) -> Result<Vec<String>, EngineError> {
    let mut question = request.question.clone();
    for named in context.periods.iter().rev() {
        question.replace_range(named.place.clone(), "");
    }
    let mut unmet: Vec<String> = Vec::new();
    for word in question.split_whitespace().take(MOST_WORDS) {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        // As it is written: the index has the stem of "does", which is no stop word.
        if is_stop_word(&word.to_lowercase()) {
            continue;
        }
        let terms = Question::parse(word, tokenizer).terms;
        if !terms.iter().all(|term| is_stop_word(term))
            && context.lexical.unmet(&terms)?.iter().all(|unmet| *unmet)
            && !unmet.iter().any(|known| known == word)
        {
            unmet.push(word.to_owned());
        }
    }
    Ok(unmet)
}
