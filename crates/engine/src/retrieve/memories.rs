//! Ranks memories among the hits: current ones in place of superseded ones and of their evidence, asked-for kinds first.

use std::collections::{HashMap, HashSet};

use yore_core::conflict::{Change, ChangeGrade, Statement, chance_of_change};
use yore_core::id::MemoryId;
use yore_core::memory::dynamics::State;
use yore_core::memory::{AnchorVerdict, Memory, MemoryKind, Status, Verdict};
use yore_core::query::{AskedFor, MemoryConditions, NewerFirst, Part, ScorePart};
use yore_core::relation::{Node, RelationType};
use yore_core::text::{Tokenizer, asks_for_past};
use yore_core::time::UtcMillis;

use super::QueryContext;
use super::answer::{FoundMemory, MemorySource, PastStatement, Qualified};
use super::boosts::Ranked;
use super::candidate::{Candidate, Contribution, Position};
use super::plan::Plan;
use super::texts::Texts;
use crate::embed::TextLikeness;
use crate::error::EngineError;
use crate::index::{CompiledFilter, Evaluator};
use crate::rules::is_done_once;
use crate::store::{
    Beside, EntityNames, EpisodeKey, EvidenceOf, EvidenceRow, Exceptions, ItemKey, Memories, MemoryKey, Named, Past, Relations,
    Stands, Store, StoreResult, StoredVerdict, TurnKey, Turns, Vitals,
};

/// Number of the best candidates among which memories are read.
const READ: usize = 200;
/// Steps along a chain of replaced memories, up to the one that holds and back from it.
const MOST_STEPS: usize = 8;
const HISTORY_STEPS: usize = 2;
/// Number of replaced statements that a memory is shown with.
const MOST_HISTORY: usize = 4;
/// Number of the best memories that are put in the order of their times, and chance of a change from which two count as of one state.
const MOST_ORDERED: usize = 5;
const SAME_STATE: f32 = 0.5;
/// Number of the best memories among which those are looked for that a later one likely changes.
const MOST_COMPARED: usize = 16;
/// Number of memories that a memory is related to that are looked at: those of other projects are not shown.
const MOST_BESIDE: usize = 100;
/// Factor of the score of a memory of a kind that the question asks for.
const ASKED_KIND: f32 = 1.3;
/// Factors of the score of what is contested, and of what was wrong.
const CONTESTED: f32 = 0.9;
const WRONG: f32 = 0.4;
/// Factor of the score of a question, a problem or a todo that was closed: open ones come first.
const CLOSED: f32 = 0.7;
/// Factors of the score of what speaks of things in code that were changed since, and that are gone.
const DRIFTED: f32 = 0.97;
const ORPHANED: f32 = 0.7;
/// Factor of the score of what is true no more, or not yet.
const NOT_NOW: f32 = 0.7;
/// A memory takes the place of a turn that it rests on if its score is at least this share of the turn's.
const EVIDENCE_SHARE: f32 = 0.5;

/// Ranks the memories among the candidates; without any, nothing changes.
pub(super) fn rank_memories(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    ranked: &mut Vec<Ranked>,
    texts: &mut Texts,
) -> Result<(), EngineError> {
    let most = READ.max(plan.request.limit);
    let keys: Vec<ItemKey> = ranked.iter().take(most).map(Ranked::key).filter(|key| key.memory().is_some()).collect();
    if keys.is_empty() {
        return Ok(());
    }
    texts.load(context.store, &keys)?;
    let filter = &plan.request.filter;
    let mut believed: HashMap<ItemKey, Memory> = HashMap::new();
    for key in &keys {
        let Some((memory, _)) = texts.memory(*key).filter(|(memory, _)| !memory.is_forgotten()) else { continue };
        let memory = as_believed(context, plan, memory.clone())?;
        let is_wanted = |memory: &Memory| {
            let is_of_status = match filter.memories.statuses.as_slice() {
                [] => !memory.status.is_unlisted(),
                statuses => statuses.contains(&memory.status),
            };
            // Without `as_of`, the filter has judged it.
            let is_judged = filter.as_of.is_none();
            is_of_status && filter.memories.valid_at.is_none_or(|at| is_judged || is_true_at(memory, at))
        };
        if let Some(memory) = memory.filter(is_wanted) {
            believed.insert(*key, memory);
        }
    }
    ranked.retain(|ranked| ranked.key().memory().is_none() || believed.contains_key(&ranked.key()));
    let kinds = MemoryKind::asked_in(&plan.request.question);
    let at = filter.memories.valid_at.or(filter.as_of).unwrap_or(context.now);
    let rows: Vec<MemoryKey> = believed.keys().filter_map(|key| key.memory()).collect();
    // The verdicts and uses of today say nothing of another time.
    let is_now = filter.as_of.is_none() && filter.memories.valid_at.is_none();
    let verdicts = if is_now { context.store.verdicts_of(&rows)? } else { HashMap::new() };
    let ids: Vec<MemoryId> = believed.values().map(|memory| memory.id).collect();
    let mut vitals = if is_now { context.store.vitals_of(&ids)? } else { HashMap::new() };
    let mut states: HashMap<ItemKey, f32> = HashMap::new();
    for (key, memory) in &mut believed {
        let Vitals { tags, uses, code, .. } = vitals.remove(&memory.id).unwrap_or_default();
        if !tags.is_empty() {
            memory.tags = tags;
        }
        let state = State { memory, uses: &uses, code };
        let MemoryConditions { tiers, least_decay, .. } = &filter.memories;
        let is_near = tiers.is_empty() && least_decay.is_none() || {
            let standing = context.dynamics.standing(&state, at);
            (tiers.is_empty() || tiers.contains(&standing.tier)) && least_decay.is_none_or(|least| standing.decay >= least)
        };
        states.insert(*key, if is_near { context.dynamics.factor(&state, at) } else { 0.0 });
    }
    // A memory that is too far is left out, and takes the place of nothing.
    believed.retain(|key, _| states.get(key).is_some_and(|state| *state > 0.0));
    ranked.retain(|ranked| ranked.key().memory().is_none() || believed.contains_key(&ranked.key()));
    let evidence: Vec<EvidenceRow> =
        context.store.evidence_of(EvidenceOf::Keys(&rows))?.into_iter().filter(|row| !row.is_forgotten).collect();
    support_by_sessions(ranked, &evidence);
    for ranked in ranked.iter_mut() {
        let Some(memory) = believed.get(&ranked.key()) else { continue };
        let ground = ranked.key().memory().map_or(1.0, |row| ground(verdicts.get(&row)));
        let state = states.get(&ranked.key()).copied().unwrap_or(1.0);
        let change = ranked.score * (factor(memory, &kinds, at) * state * ground - 1.0);
        if change != 0.0 {
            ranked.add(ScorePart { part: Part::Memory, value: change });
        }
    }
    // A request for statuses, or for a time of validity, is about the replaced ones themselves.
    if filter.memories.statuses.is_empty() && filter.memories.valid_at.is_none() {
        replace(context, plan, ranked, &mut believed, texts)?;
        if is_now {
            fold_changed(context, plan, ranked, &mut believed, texts)?;
            put_later_first(context, plan, ranked, &believed);
        }
    }
    fold_evidence(context, ranked, &believed, &verdicts)?;
    put_exceptions_first(context, plan, ranked)?;
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(())
}

/// Gives each memory the support of the session that says it, as its turns have it: otherwise a session's turns would drown the sentence
/// that was drawn from them.
fn support_by_sessions(ranked: &mut [Ranked], evidence: &[EvidenceRow]) {
    let part =
        |ranked: &Ranked| ranked.support.iter().filter(|part| part.part == Part::Session).map(|part| part.value).sum::<f32>();
    let mut sessions: HashMap<EpisodeKey, f32> = HashMap::new();
    for turn in ranked.iter().filter(|ranked| ranked.key().turn().is_some()) {
        let best = sessions.entry(turn.candidate.position.episode).or_default();
        *best = best.max(part(turn));
    }
    let mut gained: HashMap<MemoryKey, f32> = HashMap::new();
    for row in evidence {
        let best = gained.entry(row.memory).or_default();
        *best = best.max(sessions.get(&row.episode).copied().unwrap_or_default());
    }
    for ranked in ranked.iter_mut() {
        let own = part(ranked);
        let Some(support) = ranked.key().memory().and_then(|row| gained.get(&row)).filter(|support| **support > own) else {
            continue;
        };
        ranked.add(ScorePart { part: Part::Session, value: support - own });
    }
}

/// Lets what a project excepts from what holds everywhere stand before it, where the question is about that project.
fn put_exceptions_first(context: &QueryContext<'_>, plan: &Plan<'_>, ranked: &mut [Ranked]) -> Result<(), EngineError> {
    let rows: Vec<MemoryKey> = ranked.iter().filter_map(|ranked| ranked.key().memory()).collect();
    let Some(projects) = plan.filter.project_keys().filter(|_| rows.len() > 1 && plan.request.filter.as_of.is_none()) else {
        return Ok(());
    };
    let at = plan.request.filter.memories.valid_at.unwrap_or(context.now);
    for (special, general) in context.store.exceptions(Exceptions::Among(&rows, &projects), at)? {
        let score = |ranked: &[Ranked], row| ranked.iter().find(|of| of.key() == ItemKey::Memory(row)).map(|of| of.score);
        let (Some(least), Some(own)) = (score(ranked, general), score(ranked, special)) else { continue };
        if let Some(special) = ranked.iter_mut().find(|of| of.key() == ItemKey::Memory(special) && own <= least) {
            special.add(ScorePart { part: Part::Memory, value: JUST_ABOVE * least - own });
        }
    }
    Ok(())
}

/// Factor by which an exception stands above what it excepts from.
const JUST_ABOVE: f32 = 1.001;

/// Returns the factor of the score of a memory by the ground that it stands on.
fn ground(verdict: Option<&StoredVerdict>) -> f32 {
    match verdict.map(|stored| stored.verdict) {
        Some(Verdict::Orphaned) => ORPHANED,
        Some(Verdict::Drifted) => DRIFTED,
        Some(Verdict::Fresh) | None => 1.0,
    }
}

/// Returns the factor of a memory's score by its kind and by how it holds.
fn factor(memory: &Memory, kinds: &[MemoryKind], at: UtcMillis) -> f32 {
    let kind = memory.kind.boost() * if kinds.contains(&memory.kind) { ASKED_KIND } else { 1.0 };
    let status = match memory.status {
        Status::Holds | Status::Superseded | Status::Archived => 1.0,
        Status::Contested | Status::Proposed => CONTESTED,
        Status::Invalidated => WRONG,
    };
    let time = if memory.is_valid_at(at) { 1.0 } else { NOT_NOW };
    let open = if memory.is_closed() { CLOSED } else { 1.0 };
    kind * status * time * open
}

/// Puts the memory that holds in the place of each replaced one, unless the filter does not let it through.
fn replace(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    ranked: &mut Vec<Ranked>,
    believed: &mut HashMap<ItemKey, Memory>,
    texts: &mut Texts,
) -> Result<(), EngineError> {
    let mut hidden: Vec<ItemKey> = Vec::new();
    let is_replaced = |key: &ItemKey| believed.get(key).is_some_and(|memory| memory.status == Status::Superseded);
    let replaced: Vec<ItemKey> = ranked.iter().map(Ranked::key).filter(is_replaced).collect();
    for old in replaced {
        let new = match holding(context, plan, believed[&old].id)? {
            Holding::Memory(new) => ItemKey::Memory(new),
            Holding::PutAway => {
                hidden.push(old);
                continue;
            }
            Holding::Nothing => continue,
        };
        texts.load(context.store, &[new])?;
        let at = texts.memory(new).map_or(0, |(memory, _)| memory.recorded);
        take_place(ranked, old, new, at);
        if let Some((memory, _)) = texts.memory(new) {
            believed.extend(as_believed(context, plan, memory.clone())?.map(|memory| (new, memory)));
        }
    }
    ranked.retain(|ranked| !hidden.contains(&ranked.key()));
    Ok(())
}

/// Puts the later of two memories in the place of the earlier, which is told with it, if it likely changes that, and just above it if it may.
fn fold_changed(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    ranked: &mut Vec<Ranked>,
    believed: &mut HashMap<ItemKey, Memory>,
    texts: &mut Texts,
) -> Result<(), EngineError> {
    let rows: Vec<MemoryKey> = ranked.iter().filter_map(|ranked| ranked.key().memory()).take(MOST_COMPARED).collect();
    let mut evaluator = Evaluator::new(&plan.filter);
    let (mut later, mut perhaps): (HashMap<MemoryKey, MemoryKey>, HashMap<MemoryKey, MemoryKey>) = Default::default();
    for own in &rows {
        let Some(memory) = believed.get(&ItemKey::Memory(*own)).filter(|memory| memory.is_in_effect()) else { continue };
        for Beside { row, memory: other, standing, .. } in changes(context, memory)? {
            // A colleague's word changes nothing of the person's.
            let is_bound = other.is_shared() && !memory.is_shared();
            let is_later = !is_bound && other.is_later_than(memory, context.now) == Some(true);
            let key = ItemKey::Memory(row);
            if is_later && passing(context.store, &mut evaluator, [key])?.contains(&key) {
                match standing {
                    Stands::Change(ChangeGrade::Likely) => later.insert(*own, row),
                    _ => perhaps.insert(*own, row),
                };
            }
        }
    }
    let newer: Vec<ItemKey> = later.values().chain(perhaps.values()).map(|row| ItemKey::Memory(*row)).collect();
    texts.load(context.store, &newer)?;
    // In the order of the hits, so that the same question has the same answer.
    for old in rows {
        // The last of a chain of changes.
        let last = (0..MOST_STEPS).fold(None, |last, _| later.get(&last.unwrap_or(old)).copied().or(last));
        let place = if last.is_some() { take_place } else { put_above };
        let Some(new) = last.or(perhaps.get(&old).copied()).map(ItemKey::Memory) else { continue };
        let Some(memory) = texts.memory(new).map(|(memory, _)| memory.clone()) else { continue };
        place(ranked, ItemKey::Memory(old), new, memory.recorded);
        believed.insert(new, memory);
    }
    Ok(())
}

/// Raises the later of two memories that may be about one state of one thing just above the earlier, and the person's own above a colleague's,
/// unless the question is about the past.
fn put_later_first(context: &QueryContext<'_>, plan: &Plan<'_>, ranked: &mut [Ranked], believed: &HashMap<ItemKey, Memory>) {
    let is_state = !matches!(plan.asked_for, AskedFor::List | AskedFor::History) && !asks_for_past(&plan.request.question);
    if plan.request.tuning.newer_first == NewerFirst::Never || !is_state {
        return;
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    let memories = ranked.iter().enumerate().filter_map(|(at, ranked)| Some((at, believed.get(&ranked.key())?)));
    let held = memories.filter(|(_, memory)| memory.is_in_effect() && memory.kind.is_state() && !is_done_once(memory));
    let (likeness, mut tokenizer) = (TextLikeness::default(), Tokenizer::default());
    let first: Vec<(usize, &Memory, Statement)> =
        held.take(MOST_ORDERED).map(|(at, memory)| (at, memory, Statement::of(&memory.statement, &mut tokenizer))).collect();
    for (number, (at, older, earlier)) in first.iter().enumerate() {
        for (later_at, newer, later) in &first[number + 1..] {
            let like = |a: &str, b: &str| likeness.of(a, b);
            let goes_first = if newer.is_shared() == older.is_shared() {
                newer.is_later_than(older, context.now) == Some(true) && chance_of_change(earlier, later, &like) >= SAME_STATE
            } else {
                // One of two subjects would push a colleague's better answer down.
                older.is_shared() && Change::of(earlier, later, &like).is_some()
            };
            let may_change = newer.is_of_same_place(older) && goes_first;
            let above = ranked[*at].score * JUST_ABOVE - ranked[*later_at].score;
            if may_change && above > 0.0 {
                ranked[*later_at].add(ScorePart { part: Part::Newer, value: above });
            }
        }
    }
}

/// Puts a memory in the place of another one that was found: as near to the question as that, with what it gains as a part of its score.
fn take_place(ranked: &mut Vec<Ranked>, old: ItemKey, new: ItemKey, at: UtcMillis) {
    let Some(place) = ranked.iter().position(|ranked| ranked.key() == old) else { return };
    let replaced = ranked.remove(place);
    add_as_near(ranked, replaced.candidate.contributions, new, at, replaced.score);
}

/// Puts a memory just above another one that was found.
fn put_above(ranked: &mut Vec<Ranked>, old: ItemKey, new: ItemKey, at: UtcMillis) {
    let Some(found) = ranked.iter().find(|ranked| ranked.key() == old) else { return };
    let (contributions, score) = (found.candidate.contributions.clone(), found.score * JUST_ABOVE);
    add_as_near(ranked, contributions, new, at, score);
}

/// Gives a memory at least a score, for it is as near to the question as another one that was found.
fn add_as_near(ranked: &mut Vec<Ranked>, near: Vec<Contribution>, new: ItemKey, at: UtcMillis, score: f32) {
    let gain = |known: f32| ScorePart { part: Part::Memory, value: (score - known).max(0.0) };
    if let Some(known) = ranked.iter_mut().find(|ranked| ranked.key() == new) {
        let part = gain(known.score);
        known.add(part);
        return;
    }
    let position = Position { episode: EpisodeKey::of_its_own(new), index: 0, at, is_document: false };
    let without_value = |of: Contribution| Contribution { value: 0.0, address: None, ..of };
    let contributions = near.into_iter().map(without_value).collect();
    let mut added = Ranked { candidate: Candidate { key: new, position, contributions }, support: Vec::new(), score: 0.0 };
    added.add(gain(0.0));
    ranked.push(added);
}

/// Returns a memory as the request's time saw it, or the one that stood in its place then.
fn as_believed(context: &QueryContext<'_>, plan: &Plan<'_>, memory: Memory) -> Result<Option<Memory>, EngineError> {
    let Some(at) = plan.request.filter.as_of else { return Ok(Some(memory)) };
    let Some(mut believed) = context.store.past_memory(Past::Itself(Box::new(memory)), at)? else { return Ok(None) };
    // What had taken its place may have been undone since.
    if believed.status == Status::Superseded
        && context.store.named_outlines(Named::SuccessorOf(believed.id))?.is_empty()
        && let Some(undone) = context.store.past_memory(Past::UndoneSuccessorOf(believed.id), at)?
    {
        let evidence = undone.evidence.into_iter().filter(|one| believed.evidence.contains(one)).collect();
        believed = Memory { evidence, ..undone };
    }
    Ok(Some(believed))
}

fn is_true_at(memory: &Memory, at: UtcMillis) -> bool {
    memory.status != Status::Invalidated && memory.is_valid_at(at)
}

/// The end of a chain of replaced memories.
enum Holding {
    /// The last one that was not wrong.
    Memory(MemoryKey),
    /// It is archived: nothing of the chain is told unless it is asked for.
    PutAway,
    /// Nothing that passes the filter.
    Nothing,
}

/// Returns the last memory of the chain that took the place of another, if it passes the filter and was not wrong.
fn holding(context: &QueryContext<'_>, plan: &Plan<'_>, of: MemoryId) -> Result<Holding, EngineError> {
    let mut evaluator = Evaluator::new(&plan.filter);
    let (mut id, mut last) = (of, Holding::Nothing);
    for _ in 0..MOST_STEPS {
        let Some((next, (memory, _))) = context.store.named_outlines(Named::SuccessorOf(id))?.pop() else { break };
        if memory.id == of {
            break;
        }
        let passes = passing(context.store, &mut evaluator, [ItemKey::Memory(next)])?.contains(&ItemKey::Memory(next));
        id = memory.id;
        let believed = as_believed(context, plan, memory)?;
        match believed.map(|memory| memory.status) {
            None | Some(Status::Invalidated) => {}
            Some(status) if status.is_unlisted() => last = Holding::PutAway,
            Some(_) if passes => last = Holding::Memory(next),
            Some(_) => {}
        }
    }
    Ok(last)
}

/// Puts a memory in the place of the turns that it rests on: it gets the score of the best of them, and they are
/// told with it. A turn stays if no memory that holds is about the same part of the question.
fn fold_evidence(
    context: &QueryContext<'_>,
    ranked: &mut Vec<Ranked>,
    believed: &HashMap<ItemKey, Memory>,
    verdicts: &HashMap<MemoryKey, StoredVerdict>,
) -> Result<(), EngineError> {
    let holds = |key: ItemKey| believed.get(&key).is_some_and(|memory| memory.status == Status::Holds);
    let memories: Vec<MemoryKey> = ranked.iter().map(Ranked::key).filter(|key| holds(*key)).filter_map(ItemKey::memory).collect();
    let evidence = context.store.evidence_of(EvidenceOf::Keys(&memories))?;
    if evidence.is_empty() {
        return Ok(());
    }
    let scores: HashMap<ItemKey, f32> = ranked.iter().map(|ranked| (ranked.key(), ranked.score)).collect();
    // The best memory of each turn.
    let mut best: HashMap<TurnKey, (MemoryKey, f32)> = HashMap::new();
    for EvidenceRow { memory, key: turn, .. } in evidence.into_iter().filter(|evidence| !evidence.is_forgotten) {
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
        let of_turn = scores[&ItemKey::Turn(*turn)] * ground(verdicts.get(memory));
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

/// Adds to a memory, of which only the outline need be known, what an answer shows with it. With `as_of`, the record is as it stood then. Of its evidence, what
/// the request's filter does not let through is left out: turns of other projects, later ones, forgotten ones.
pub(super) fn found(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    row: MemoryKey,
    memory: Memory,
) -> Result<FoundMemory, EngineError> {
    let store = context.store;
    let memory = store.memories(Memories::Keys(&[row]))?.pop().map_or(memory, |(_, whole)| whole);
    let mut memory = as_believed(context, plan, memory.clone())?.unwrap_or(memory);
    let filter = CompiledFilter {
        projects: plan.filter.projects.clone(),
        everywhere: plan.filter.everywhere.clone(),
        until: plan.filter.until,
        ..CompiledFilter::default()
    };
    let mut evaluator = Evaluator::new(&filter);
    let mut rows: Vec<TurnKey> = Vec::new();
    let evidence = store.evidence_of(EvidenceOf::Keys(&[row]))?;
    let passed = passing(store, &mut evaluator, evidence.iter().map(|evidence| ItemKey::Turn(evidence.key)))?;
    for EvidenceRow { key, turn, .. } in evidence {
        if passed.contains(&ItemKey::Turn(key)) {
            rows.push(key);
        } else {
            memory.evidence.retain(|evidence| evidence.turn != turn);
        }
    }
    let mut turns: HashMap<TurnKey, _> = store.turns(Turns::Keys(&rows))?.into_iter().map(|turn| (turn.row, turn)).collect();
    let sources = rows
        .iter()
        .filter_map(|row| turns.remove(row))
        .map(|turn| MemorySource { row: turn.row, place: turn.place(), at: turn.time.utc })
        .collect();
    let entities = store.entity_names(EntityNames::OfMemory(memory.id), false)?.into_iter().map(|entity| entity.name).collect();
    let (mut history, mut ids) = (Vec::new(), vec![memory.id]);
    for _ in 0..HISTORY_STEPS {
        let mut older = Vec::new();
        for id in &ids {
            let before = store.named_outlines(Named::PredecessorsOf(*id, plan.request.filter.as_of, MOST_HISTORY))?;
            // A statement of another project is no history here.
            let passed = passing(store, &mut evaluator, before.iter().map(|(row, _)| ItemKey::Memory(*row)))?;
            older
                .extend(before.into_iter().filter(|(row, _)| passed.contains(&ItemKey::Memory(*row))).map(|(_, (past, _))| past));
        }
        ids = older.iter().map(|older| older.id).collect();
        // Somebody else's record may be a circle.
        older.retain(|older: &Memory| {
            older.id != memory.id && !older.is_forgotten() && history.iter().all(|past: &PastStatement| past.id != older.id)
        });
        history.extend(older.into_iter().map(past_statement));
    }
    let is_now = plan.request.filter.as_of.is_none() && plan.request.filter.memories.valid_at.is_none();
    if is_now && memory.is_in_effect() {
        let mut before = changes(context, &memory)?;
        before.retain(|beside| beside.standing == Stands::Change(ChangeGrade::Likely));
        let before =
            before.into_iter().map(|beside| beside.memory).filter(|other| memory.is_later_than(other, context.now) == Some(true));
        history.splice(0..0, before.map(|other| PastStatement { is_likely: true, ..past_statement(other) }));
    }
    history.truncate(MOST_HISTORY);
    let (mut contradicts, mut qualified) = (Vec::new(), Vec::new());
    if memory.is_in_effect() && plan.request.filter.as_of.is_none() {
        let beside = store.beside(memory.id, MOST_BESIDE)?;
        let passed = passing(store, &mut evaluator, beside.iter().map(|beside| ItemKey::Memory(beside.row)))?;
        for Beside { row, memory: other, standing, reason } in beside {
            if !passed.contains(&ItemKey::Memory(row)) {
                continue;
            }
            let statement = past_statement(other);
            match standing {
                Stands::Change(_) => {}
                Stands::Against if contradicts.len() == MOST_HISTORY => {}
                Stands::Against => contradicts.push(statement),
                Stands::Above | Stands::Below if qualified.len() == MOST_HISTORY => {}
                Stands::Above | Stands::Below => {
                    qualified.push(Qualified { statement, reason, is_special: standing == Stands::Below });
                }
            }
        }
    }
    let closed_by = if memory.is_closed() { closed_by(context, &memory)? } else { None };
    let verdicts = if is_now { store.verdicts_of(&[row])? } else { HashMap::new() };
    let changed = verdicts.get(&row).map_or_else(Vec::new, |stored| stored.found.clone());
    let changed: Vec<AnchorVerdict> = changed.into_iter().filter(|one| one.verdict != Verdict::Fresh).collect();
    let standing = if is_now {
        let Vitals { uses, code, .. } = store.vitals_of(&[memory.id])?.remove(&memory.id).unwrap_or_default();
        Some(context.dynamics.standing(&State { memory: &memory, uses: &uses, code }, context.now))
    } else {
        None
    };
    Ok(FoundMemory {
        row,
        standing,
        memory,
        same: Vec::new(),
        entities,
        sources,
        history,
        closed_by,
        contradicts,
        qualified,
        changed,
    })
}

/// Returns the memories in effect that change a memory, or are changed by it, likely or perhaps.
fn changes(context: &QueryContext<'_>, memory: &Memory) -> StoreResult<Vec<Beside>> {
    let mut beside = context.store.beside(memory.id, MOST_BESIDE)?;
    beside.retain(|beside| matches!(beside.standing, Stands::Change(_)) && beside.memory.is_of_same_place(memory));
    Ok(beside)
}

/// Returns the memory that closed another one, of the same project or of none.
fn closed_by(context: &QueryContext<'_>, closed: &Memory) -> Result<Option<PastStatement>, EngineError> {
    for relation in context.store.relations(Relations::Of(&Node::Memory(closed.id), MOST_BESIDE))? {
        let closes = matches!(relation.relation_type, RelationType::Solves | RelationType::Answers | RelationType::Implements);
        let Node::Memory(by) = relation.from else { continue };
        let by = if closes && by != closed.id { context.store.memory(by)? } else { None };
        let is_told = |by: &Memory| !by.is_forgotten() && (by.project == closed.project || by.is_global());
        if let Some(by) = by.filter(is_told) {
            return Ok(Some(past_statement(by)));
        }
    }
    Ok(None)
}

/// Returns the items that pass a filter.
fn passing(
    store: &Store,
    evaluator: &mut Evaluator<'_>,
    keys: impl IntoIterator<Item = ItemKey>,
) -> StoreResult<HashSet<ItemKey>> {
    let keys: Vec<ItemKey> = keys.into_iter().collect();
    let heads = if keys.is_empty() { HashMap::new() } else { store.item_heads(&keys)? };
    Ok(heads.into_values().filter(|head| evaluator.passes(head)).map(|head| head.key).collect())
}

fn past_statement(other: Memory) -> PastStatement {
    PastStatement {
        id: other.id,
        statement: other.statement,
        status: other.status,
        recorded: other.recorded,
        until: other.valid_until.or(other.status_since),
        cause: other.cause.map(|cause| cause.to_string()),
        is_likely: false,
    }
}
