//! Raises, among the best candidates, the turns that conclude an exchange above those on the way to it.

use yore_core::episode::{EpisodeKind, Role};
use yore_core::query::{AskedFor, Part, ScorePart};
use yore_core::text::Tokenizer;
use yore_sources::source::is_agent;

use super::QueryContext;
use super::boosts::Ranked;
use super::deadline::LatePart;
use super::pack::{MOST_TERMS, asks_finding};
use super::plan::Plan;
use super::strength::{cover, searched_texts, terms_had};
use super::texts::Texts;
use crate::error::EngineError;
use crate::index::Address;
use crate::store::{ExchangePlace, ItemKey, ShownTurn, TurnKey};

/// Number of the best candidates that are compared.
const COMPARED: usize = 10;
/// Shares of the best score that a candidate gains: an agent's turn that concludes its exchange, one that goes on to a tool, and any for the
/// words of the question that it has, by their rarity (`docs/measurements.md`, "Answers in kind").
const CONCLUDES: f32 = 0.2;
const GOES_ON: f32 = -0.3;
const COVERS: f32 = 0.2;

/// Returns whether an agent wrote a turn of a session.
pub(super) fn is_of_agent(turn: &ShownTurn) -> bool {
    turn.role == Role::Assistant && turn.kind != EpisodeKind::Document && turn.speaker.is_none() && is_agent(&turn.agent)
}

/// Returns whether an agent's turn is on the way to what it will say: it calls a tool.
pub(super) fn goes_on(turn: &ShownTurn) -> bool {
    is_of_agent(turn) && !turn.tool_text.trim().is_empty()
}

/// Ranks the best candidates anew if an agent's turn is among them. What led to a finding is said on the way: where that is asked for,
/// only the words count.
pub(super) fn conclusive_first(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    ranked: &mut [Ranked],
    texts: &mut Texts,
    tokenizer: &mut Tokenizer,
) -> Result<(), EngineError> {
    let is_wanted = plan.request.tuning.is_conclusive_first && !matches!(plan.asked_for, AskedFor::List | AskedFor::Words);
    let compared = ranked.len().min(COMPARED);
    if !is_wanted || compared < 2 || !context.deadline.allows(LatePart::Conclusive) {
        return Ok(());
    }
    let keys: Vec<ItemKey> = ranked[..compared].iter().map(Ranked::key).collect();
    texts.load(context.store, &keys)?;
    let rows: Vec<TurnKey> = keys
        .iter()
        .filter_map(|key| texts.turn(*key))
        .filter(|turn| is_of_agent(turn) && !turn.text.trim().is_empty())
        .map(|turn| turn.row)
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let does_place_count = !asks_finding(plan.asked_for, &plan.request.question);
    let places = if does_place_count { context.store.exchange_places(&rows)? } else { Default::default() };
    let terms = &plan.question.terms[..plan.question.terms.len().min(MOST_TERMS)];
    let rarity = context.lexical.rarity(terms)?;
    let words: Vec<String> =
        keys.iter().map(|key| texts.memory(*key).map_or_else(String::new, |(memory, _)| memory.words())).collect();
    let mut items: Vec<(Option<Address>, Vec<&str>)> = Vec::with_capacity(compared);
    for ((key, ranked), words) in keys.iter().zip(&*ranked).zip(&words) {
        let own = texts.turn(*key).map_or_else(|| vec![words.as_str()], searched_texts);
        items.push((ranked.candidate.address(), own));
    }
    let had = terms_had(context, terms, &items, tokenizer)?;
    let best = ranked[0].score;
    for ((key, ranked), has) in keys.iter().zip(ranked.iter_mut()).zip(had) {
        let place = match texts.turn(*key).and_then(|turn| Some((turn, places.get(&turn.row)?))) {
            // A session that goes on, or broke off: that call concludes nothing.
            Some((turn, ExchangePlace { is_answered: false, .. })) if goes_on(turn) => GOES_ON,
            Some((_, ExchangePlace { is_last: true, .. })) => CONCLUDES,
            Some((turn, _)) if goes_on(turn) => GOES_ON,
            _ => 0.0,
        };
        ranked.add(ScorePart { part: Part::Conclusive, value: best * (place + COVERS * cover(&rarity, has)) });
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(())
}
