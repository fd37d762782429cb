//! Ranks memories among the candidates: the one that holds in the place of those that it replaced, a memory in the
//! place of the turns that it rests on, and kinds that the question asks for first.

use std::collections::HashMap;

use yore_core::id::MemoryId;
use yore_core::memory::{Lane, Memory, MemoryKind, Status};
use yore_core::query::{Part, ScorePart};
use yore_core::time::UtcMillis;

use super::Asked;
use super::answer::{FoundMemory, MemorySource, PastStatement};
use super::candidate::{Candidate, Standing};
use super::plan::Plan;
use super::rank::Ranked;
use super::texts::Texts;
use crate::error::EngineError;
use crate::index::Evaluator;
use crate::store::{EpisodeKey, ItemKey, MemoryKey, RowKey, TurnKey, as_of};

/// Number of the best candidates among which memories are read.
const READ: usize = 200;
/// Steps along a chain of replaced memories, up to the one that holds and back from it.
const MOST_STEPS: usize = 8;
const HISTORY_STEPS: usize = 2;
/// Number of replaced statements that a memory is shown with.
const MOST_HISTORY: usize = 4;
/// Factor of the score of a memory of a kind that the question asks for.
const ASKED_KIND: f32 = 1.3;
/// Factors of the score of what nobody confirmed, of what is contested, and of what was wrong.
const EXTRACTED: f32 = 0.97;
const CONTESTED: f32 = 0.9;
const WRONG: f32 = 0.4;
/// A memory takes the place of a turn that it rests on if its score is at least this share of the turn's.
const EVIDENCE_SHARE: f32 = 0.5;

/// Ranks the memories among the candidates; without any, nothing changes.
pub(super) fn rank_memories(
    asked: &Asked<'_>,
    plan: &Plan<'_>,
    ranked: &mut Vec<Ranked>,
    texts: &mut Texts,
) -> Result<(), EngineError> {
    let keys: Vec<ItemKey> = ranked.iter().take(READ).map(Ranked::key).filter(|key| key.memory().is_some()).collect();
    if keys.is_empty() {
        return Ok(());
    }
    texts.load(asked.store, &keys)?;
    let filter = &plan.request.filter;
    let mut believed: HashMap<ItemKey, Memory> = HashMap::new();
    for key in &keys {
        let Some((memory, _)) = texts.memory(*key) else { continue };
        let memory = match filter.as_of {
            Some(at) => as_of(memory.clone(), at),
            None => Some(memory.clone()),
        };
        let is_wanted = |status: Status| match filter.memories.statuses.as_slice() {
            [] => status != Status::Archived,
            statuses => statuses.contains(&status),
        };
        if let Some(memory) = memory.filter(|memory| is_wanted(memory.status)) {
            believed.insert(*key, memory);
        }
    }
    ranked.retain(|ranked| ranked.key().memory().is_none() || believed.contains_key(&ranked.key()));
    let kinds = MemoryKind::asked_in(&plan.request.question);
    for ranked in ranked.iter_mut() {
        let Some(memory) = believed.get(&ranked.key()) else { continue };
        let change = ranked.score * (factor(memory, &kinds) - 1.0);
        if change != 0.0 {
            ranked.add(ScorePart { part: Part::Memory, value: change });
        }
    }
    // Whoever asks for statuses wants to see the replaced ones themselves.
    if filter.memories.statuses.is_empty() {
        replace(asked, plan, ranked, &believed, texts)?;
    }
    fold_evidence(asked, ranked)?;
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(())
}

/// Returns the factor of a memory's score.
fn factor(memory: &Memory, kinds: &[MemoryKind]) -> f32 {
    let kind = memory.kind.boost() * if kinds.contains(&memory.kind) { ASKED_KIND } else { 1.0 };
    let lane = if memory.lane == Lane::Extracted { EXTRACTED } else { 1.0 };
    let status = match memory.status {
        Status::Holds | Status::Superseded | Status::Archived => 1.0,
        Status::Contested => CONTESTED,
        Status::Invalidated => WRONG,
    };
    kind * lane * status
}

/// Puts the memory that holds in the place of each replaced one, unless the filter does not let it through.
fn replace(
    asked: &Asked<'_>,
    plan: &Plan<'_>,
    ranked: &mut Vec<Ranked>,
    believed: &HashMap<ItemKey, Memory>,
    texts: &mut Texts,
) -> Result<(), EngineError> {
    let replaced: Vec<(ItemKey, f32)> = ranked
        .iter()
        .filter(|ranked| believed.get(&ranked.key()).is_some_and(|memory| memory.status == Status::Superseded))
        .map(|ranked| (ranked.key(), ranked.score))
        .collect();
    for (old, score) in replaced {
        let Some(new) = holding(asked, plan, believed[&old].id)? else { continue };
        let new = ItemKey::Memory(new);
        let change = |known: f32| ScorePart { part: Part::Memory, value: (score - known).max(0.0) };
        match ranked.iter_mut().find(|ranked| ranked.key() == new) {
            Some(known) => {
                let part = change(known.score);
                known.add(part);
            }
            None => {
                texts.load(asked.store, &[new])?;
                let at = texts.memory(new).map_or(0, |(memory, _)| memory.recorded);
                let standing = Standing { episode: EpisodeKey::new(new.get()), position: 0, at, is_document: false };
                let candidate = Candidate { key: new, standing, contributions: Vec::new() };
                let mut added = Ranked { candidate, support: Vec::new(), score: 0.0 };
                added.add(change(0.0));
                ranked.push(added);
            }
        }
        ranked.retain(|ranked| ranked.key() != old);
    }
    Ok(())
}

/// Returns the last memory of the chain that took the place of another, if it passes the filter and was not wrong.
fn holding(asked: &Asked<'_>, plan: &Plan<'_>, of: MemoryId) -> Result<Option<MemoryKey>, EngineError> {
    let mut evaluator = Evaluator::new(&plan.filter);
    let (mut id, mut last) = (of, None);
    for _ in 0..MOST_STEPS {
        let Some(next) = asked.store.successor(id)? else { break };
        let Some((memory, _)) = asked.store.memories_of_rows(&[next])?.remove(&next) else { break };
        if memory.id == of {
            break;
        }
        let passes = asked.store.indexed_item(ItemKey::Memory(next))?.is_some_and(|item| evaluator.passes(&item));
        id = memory.id;
        let believed = match plan.request.filter.as_of {
            Some(at) => as_of(memory, at),
            None => Some(memory),
        };
        let is_shown = |memory: &Memory| !matches!(memory.status, Status::Invalidated | Status::Archived);
        if passes && believed.as_ref().is_some_and(is_shown) {
            last = Some(next);
        }
    }
    Ok(last)
}

/// Puts a memory in the place of the turns that it rests on: it gets the score of the best of them, and they are
/// told with it. A turn stays if no memory is about the same part of the question.
fn fold_evidence(asked: &Asked<'_>, ranked: &mut Vec<Ranked>) -> Result<(), EngineError> {
    let memories: Vec<MemoryKey> = ranked.iter().filter_map(|ranked| ranked.key().memory()).collect();
    let evidence = asked.store.evidence_of(&memories)?;
    if evidence.is_empty() {
        return Ok(());
    }
    let scores: HashMap<ItemKey, f32> = ranked.iter().map(|ranked| (ranked.key(), ranked.score)).collect();
    // The best memory of each turn.
    let mut best: HashMap<TurnKey, (MemoryKey, f32)> = HashMap::new();
    for (memory, turn) in evidence {
        let (Some(own), Some(of_turn)) = (scores.get(&ItemKey::Memory(memory)), scores.get(&ItemKey::Turn(turn))) else {
            continue;
        };
        if *own < EVIDENCE_SHARE * of_turn {
            continue;
        }
        let known = best.entry(turn).or_insert((memory, *own));
        if *own > known.1 {
            *known = (memory, *own);
        }
    }
    for (turn, (memory, _)) in &best {
        let of_turn = scores[&ItemKey::Turn(*turn)];
        if let Some(ranked) = ranked.iter_mut().find(|ranked| ranked.key() == ItemKey::Memory(*memory))
            && ranked.score < of_turn
        {
            let part = ScorePart { part: Part::Memory, value: of_turn - ranked.score };
            ranked.add(part);
        }
    }
    ranked.retain(|ranked| ranked.key().turn().is_none_or(|turn| !best.contains_key(&turn)));
    Ok(())
}

/// Adds to a memory what an answer shows with it. With `at`, the record is as it stood then.
pub(super) fn found(
    asked: &Asked<'_>,
    row: MemoryKey,
    memory: Memory,
    at: Option<UtcMillis>,
) -> Result<FoundMemory, EngineError> {
    let store = asked.store;
    let memory = match at {
        Some(at) => as_of(memory.clone(), at).unwrap_or(memory),
        None => memory,
    };
    let rows: Vec<TurnKey> = store.evidence_of(&[row])?.into_iter().map(|(_, turn)| turn).collect();
    let mut turns: HashMap<TurnKey, _> = store.shown_turns(&rows)?.into_iter().map(|turn| (turn.row, turn)).collect();
    let sources = rows
        .iter()
        .filter_map(|row| turns.remove(row))
        .map(|turn| MemorySource { row: turn.row, place: turn.place(), at: turn.time.utc })
        .collect();
    let entities = store.entities_of(memory.id)?.into_iter().map(|(_, name)| name).collect();
    let (mut history, mut ids) = (Vec::new(), vec![memory.id]);
    for _ in 0..HISTORY_STEPS {
        let mut older = Vec::new();
        for id in &ids {
            older.extend(store.predecessors(*id, MOST_HISTORY)?);
        }
        ids = older.iter().map(|older| older.id).collect();
        history.extend(older.into_iter().map(|older| PastStatement {
            id: older.id,
            statement: older.statement,
            status: older.status,
            recorded: older.recorded,
            until: older.status_since,
            cause: older.cause,
        }));
    }
    history.truncate(MOST_HISTORY);
    Ok(FoundMemory { row, memory, entities, sources, history })
}
