//! Finds candidates for a suggestion, and drops those that the session already has.

use std::collections::HashSet;

use yore_core::episode::Role;
use yore_core::memory::{Evidence, Lane, Memory, Status};
use yore_core::query::{Filter, ItemId};
use yore_core::relevance::{SkipReason, is_announcement};
use yore_core::time::UtcMillis;

use super::brief::aged;
use super::suggestion::{SuggestRequest, Suggestion, Suggestions, Trigger};
use crate::error::EngineError;
use crate::retrieve::{FoundMemory, keep_own_words, project_here};
use crate::rules::cut;
use crate::store::{TurnChoice, TurnKey};
use crate::{Engine, Found, Hit, RecallAnswer, RecallRequest, Said, Tuning};

/// In a memory of fewer turns every word is rare, so the turn that matches best must also hold much of the prompt.
pub(super) const SMALL_MEMORY: u64 = 1_000;
/// Number of bytes read of a prompt: the request is at its beginning or end.
const LONGEST: usize = 4_000;
/// A memory whose score is below this share of the best score is not suggested.
const LEAST_SHARE: f32 = 0.45;
/// Extra hits read beyond the limit, because the session has some of them already.
const SPARE: usize = 10;

pub(super) fn ask(engine: &Engine, request: &SuggestRequest, filter: Filter, text: &str) -> Result<RecallAnswer, EngineError> {
    engine.recall(&RecallRequest {
        filter,
        here: request.here.clone(),
        mode: request.mode,
        limit: request.limit + SPARE,
        // Passages about a prompt are chosen later, among what is left.
        quote_chars: if matches!(request.trigger, Trigger::Prompt(_)) { 0 } else { request.quote_chars },
        // Signs of their own judge whether something is worth telling unasked, and a hook has no time to spare; of a prompt to a
        // small memory, also the strength of the answer.
        is_bare: !matches!(request.trigger, Trigger::Prompt(_)) || engine.indexed()? >= SMALL_MEMORY,
        min_confidence: Some(0.0),
        // These cost further searches and texts, and a hook does not know the person's calendar.
        is_period_searched: false,
        tuning: Tuning { is_talk_ranked: false, is_graph_followed: false, are_links_ranked: false, ..Tuning::default() },
        ..RecallRequest::new(text)
    })
}

/// Keeps the hits that are new to the session and that have meaningful text.
pub(super) fn news(engine: &Engine, request: &SuggestRequest, mut hits: Vec<Hit>) -> Result<Vec<Hit>, EngineError> {
    let shared = match &request.session {
        // A fork contains the turns of the session it was forked from.
        Some(session) => {
            let turns: Vec<TurnKey> = hits.iter().filter_map(|hit| Some(hit.as_turn()?.row)).collect();
            engine.store().turn_keys(TurnChoice::SharedBy(session, &turns))?.into_iter().collect()
        }
        None => HashSet::new(),
    };
    let cold = cold(engine, request, &hits)?;
    hits.retain(|hit| {
        if request.given.contains(&hit.id()) || cold.contains(&hit.id()) {
            return false;
        }
        let turn = match &hit.found {
            Found::Turn(turn) => turn,
            // A memory that holds no more, is contested, or is only an agent's word is told if it is asked for. The
            // session knows those that it recorded itself.
            Found::Memory(found) => {
                let memory = &found.memory;
                let is_own = memory.source.session.is_some() && memory.source.session == request.session;
                let is_backed = memory.lane == Lane::Curated || !memory.evidence.is_empty() || memory.is_shared();
                // The statement of an extracted memory is made of the words of its evidence.
                let is_given = |evidence: &Evidence| request.given.contains(&ItemId::Turn(evidence.turn));
                let is_known =
                    memory.lane == Lane::Extracted && !memory.evidence.is_empty() && memory.evidence.iter().all(is_given);
                let at = request.filter.as_of.unwrap_or_else(|| engine.now());
                let has_place = memory.project.is_some() || memory.is_global();
                let is_told = is_backed && !is_own && !is_known && has_place && !memory.is_read_by_agents();
                return memory.status == Status::Holds && memory.is_valid_at(at) && is_told;
            }
        };
        let is_own = request.session.as_deref().is_some_and(|session| {
            turn.native_session == session
                || turn.native_session.strip_prefix(session).is_some_and(|rest| rest.starts_with('/'))
                || shared.contains(&turn.row)
        });
        let says_nothing = turn.role == Role::Assistant && is_announcement(&turn.text);
        !is_own && !says_nothing
    });
    hits.retain_mut(|hit| {
        let Found::Turn(turn) = &mut hit.found else { return true };
        let whole = turn.text.len();
        keep_own_words(turn);
        if turn.text.len() < whole && !hit.quote.is_empty() {
            hit.quote = cut(&turn.text, request.quote_chars);
        }
        !turn.text.is_empty() || !turn.tool_text.is_empty()
    });
    Ok(hits)
}

/// Returns the memories among hits that are too cold to be told unasked.
fn cold(engine: &Engine, request: &SuggestRequest, hits: &[Hit]) -> Result<Vec<ItemId>, EngineError> {
    let is_cold = |found: &&FoundMemory| found.standing.is_some_and(|standing| !standing.tier.is_told_unasked());
    let found: Vec<&Memory> = hits.iter().filter_map(Hit::as_memory).filter(is_cold).map(|found| &found.memory).collect();
    let here = request.here.as_ref().filter(|_| !found.is_empty());
    let project = here.map(|here| project_here(engine.store(), here)).transpose()?.flatten();
    let aged = project.map(|project| aged(engine, project, request.session.as_deref())).transpose()?.unwrap_or(UtcMillis::MAX);
    let now = engine.now();
    let mut cold = Vec::new();
    for memory in found {
        let at = if memory.project.is_some() { aged.min(now) } else { now };
        let is_cold = engine.standings_at(&[memory], at)?.iter().any(|standing| !standing.tier.is_told_unasked());
        cold.extend(is_cold.then_some(ItemId::Memory(memory.id)));
    }
    Ok(cold)
}

/// Returns the best hits that are new to the session.
pub(super) fn chosen(
    engine: &Engine,
    request: &SuggestRequest,
    answer: RecallAnswer,
    confidence: f32,
    outcome: impl Fn(&Hit) -> Result<Option<Said>, EngineError>,
) -> Result<Suggestions, EngineError> {
    let mut hits = news(engine, request, answer.hits)?;
    // Unasked, nothing is told that may not count or may be anybody's.
    hits.retain(|hit| hit.as_turn().is_none_or(|turn| turn.caveat.is_none()));
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let mut memories = Vec::new();
    for hit in hits {
        if memories.len() == request.limit || hit.score < best * LEAST_SHARE {
            break;
        }
        memories.push(Suggestion { outcome: outcome(&hit)?, hit });
    }
    let skipped = memories.is_empty().then_some(SkipReason::Known);
    Ok(Suggestions { memories, files: Vec::new(), taken_back: None, recollected: Vec::new(), confidence, skipped })
}

/// Returns the beginning and the end of a long text.
pub(super) fn bounded(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(LONGEST / 2), text.ceil_char_boundary(text.len() - LONGEST / 2));
    format!("{}\n{}", &text[..head], &text[tail..])
}
