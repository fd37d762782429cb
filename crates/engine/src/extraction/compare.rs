//! Asks a language model to compare memories with similar ones: duplicates, outdated statements, contradictions. Several
//! are asked about at once; the answer is checked and carried out as one operation (`memories/model_decisions.rs`).
//!
//! Rules decide when a memory is recorded (`memories/consolidate.rs`); this comes after them, for what only a reader understands.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use serde::Deserialize;
use serde_json::{Value, json};
use yore_core::consolidation::{Decision, Phase, PipelineStatistics};
use yore_core::id::MemoryId;
use yore_core::memory::{Memory, Status};
use yore_core::operation::{Actor, Cause};
use yore_core::query::{SearchMode, Wanted};
use yore_core::scope::ScopeChoice;
use yore_core::time::format_utc;

use crate::budget::{Ledger, ends_run};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extraction::hypothetical::Hypothetical;
use crate::extraction::model_access::{MOST_FAILURES, ModelAccess, StopReason};
use crate::extraction::run::FailReason;
use crate::llm::{Class, Form, LlmError, Model, Prompt, structured};
use crate::memories::{CarriedOut, Judged, Judgement};
use crate::retrieve::{RecallRequest, projects_named};
use crate::store::{Compared, ItemKey, Memories, MemoryKey, ProjectKey, RowKey, UnjudgedMemory};

/// Instructions, and their version; a change of the words is another file.
const INSTRUCTIONS: &str = include_str!("../../prompts/consolidate-2.md");
const NAME: &str = "consolidate/2";
/// Rows of memories that are asked about together, if they are of one project. A group stays the same, whatever becomes of others.
const GROUP: i64 = 10;
/// Memories near one that it is compared with.
const NEAR: usize = 6;
/// Memories that each search finds where there are hypothetical statements beside the memory's own; they are fused by reciprocal rank, with
/// this number added to each rank.
const FOUND: usize = 12;
const RANK_ADDED: f32 = 10.0;
/// Characters of details that are given; statements are given whole.
const DETAILS_CHARS: usize = 1_000;
/// Hits for one that is wanted where all projects are searched for memories of none.
const AMONG_ALL: usize = 20;
/// Most tokens of an answer.
const MOST_ANSWER: u32 = 4_000;
/// Longest time for indexing what is new.
const INDEX_PATIENCE_MS: u64 = 60_000;

/// The memories that a model is to compare.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConsolidateRequest {
    /// Names, ids or directories of projects; empty: all memories.
    pub projects: Vec<String>,
    /// Also those that were compared before.
    pub again: bool,
    /// True if the model is first to write hypothetical earlier statements, by which more of what is near is found: a further request for
    /// each group.
    pub is_supposing: bool,
}

/// The result of comparing memories by a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConsolidateReport {
    /// Memories that were compared.
    pub compared: u64,
    /// Decisions that were carried out, in order.
    pub done: Vec<Judged>,
    /// Operations that did it, a number for each group in which something was done.
    pub operations: Vec<u64>,
    /// Decisions that were not carried out, with the reason.
    pub refused: Vec<String>,
    /// Calls, and what the phases did.
    pub statistics: PipelineStatistics,
    /// Memories whose requests wait for an answer in a folder.
    pub waiting: u64,
    /// Memories of projects that nobody may read.
    pub left_out: u64,
    /// Requests that failed, with the reason.
    pub failed: Vec<FailReason>,
    /// Why the run ended before all memories were compared.
    pub stopped: Option<StopReason>,
}

/// A project by its id and its name.
struct Project {
    id: String,
    name: String,
}

/// Memories of one project that are asked about together.
#[derive(Debug)]
struct Group {
    project: Option<ProjectKey>,
    rows: Vec<UnjudgedMemory>,
}

impl Group {
    /// Divides memories, which are in the order of projects and rows.
    fn of(memories: &[UnjudgedMemory]) -> Vec<Self> {
        let place = |memory: &UnjudgedMemory| (memory.project, memory.row.get() / GROUP);
        let groups = memories.chunk_by(|a, b| place(a) == place(b));
        groups.map(|rows| Self { project: rows[0].project, rows: rows.to_vec() }).collect()
    }

    /// Names it among all groups.
    fn place(&self) -> String {
        let [first, last] = [self.rows.first(), self.rows.last()].map(|memory| memory.map_or(0, |memory| memory.row.get()));
        format!("{} {first}-{last} {}", self.project.map_or(0, RowKey::get), self.rows.len())
    }
}

impl Engine {
    /// Lets a model compare the memories that it has not seen with those near them, in the order in which they were recorded. Each group is
    /// settled before the next is asked about, so that a run that ends goes on where it stood. `proceed` is told how many of how many
    /// memories are done.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`]. Failures of the model are in the report.
    pub fn consolidate_by_model(
        &self,
        mut by: ModelAccess<'_>,
        request: &ConsolidateRequest,
        proceed: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<ConsolidateReport, EngineError> {
        let wanted = projects_named(self.store(), &request.projects)?;
        let mut report = ConsolidateReport::default();
        // Two processes would pay for the same memories.
        let Some(_lock) = self.lock_for_models()? else {
            report.stopped = Some(StopReason::OtherProcess);
            return Ok(report);
        };
        // Memories that wait for the index would not be found.
        self.sync_index(INDEX_PATIENCE_MS, &mut |_| {})?;
        let mut memories = self.store().unjudged_memories(request.again)?;
        memories.retain(|memory| wanted.is_empty() || memory.project.is_some_and(|project| wanted.contains(&project)));
        let names = self.store().projects()?;
        let projects: HashMap<ProjectKey, Project> =
            names.into_iter().map(|known| (known.key, Project { id: known.id.to_string(), name: known.name })).collect();
        let total = memories.len() as u64;
        let (mut failures, mut seen) = (0, 0);
        for group in Group::of(&memories) {
            if !proceed(seen, total) {
                report.stopped = Some(StopReason::Asked);
                break;
            }
            seen += group.rows.len() as u64;
            let project = group.project.and_then(|project| projects.get(&project));
            let (model, ledger) = match by.reader(self, project.map(|project| project.name.as_str())) {
                Ok(Some(reader)) => reader,
                Ok(None) => {
                    report.left_out += group.rows.len() as u64;
                    continue;
                }
                Err(reason) => {
                    report.stopped = Some(StopReason::NoModel(reason));
                    break;
                }
            };
            match self.compare_in_parts(&group, project, request.is_supposing, (&model, &ledger), 0, &mut report) {
                Ok(()) => failures = 0,
                Err(EngineError::Llm(LlmError::Unanswered(_))) => report.waiting += group.rows.len() as u64,
                Err(EngineError::Llm(error)) if ends_run(&error) => {
                    report.stopped = Some(StopReason::Failed((&error).into()));
                    break;
                }
                Err(EngineError::Llm(error)) => {
                    // It would be asked in vain each time.
                    if error.class() == Class::Validation {
                        self.store().note_compared(Compared::ByModel(&rows_of(&group)), self.now())?;
                    }
                    failures += 1;
                    report.failed.push((&error).into());
                    if failures == MOST_FAILURES {
                        report.stopped = Some(StopReason::Requests(failures));
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }

    /// Does [`Engine::compare`], by halves where the answer was cut off, at most [`structured::HALVINGS`] times.
    fn compare_in_parts(
        &self,
        group: &Group,
        project: Option<&Project>,
        is_supposing: bool,
        by: (&Model, &Ledger<'_>),
        halvings: u32,
        report: &mut ConsolidateReport,
    ) -> Result<(), EngineError> {
        match self.compare(group, project, is_supposing, by, halvings > 0, report) {
            Err(EngineError::Llm(LlmError::CutOff(_))) if halvings < structured::HALVINGS && group.rows.len() > 1 => {
                report.statistics.retries += 1;
                for half in group.rows.chunks(group.rows.len().div_ceil(2)) {
                    let half = Group { project: group.project, rows: half.to_vec() };
                    self.compare_in_parts(&half, project, is_supposing, by, halvings + 1, report)?;
                }
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Lets a model compare the memories of a group, or with `is_part` of a part of one, and carries out what it decides.
    fn compare(
        &self,
        group: &Group,
        project: Option<&Project>,
        is_supposing: bool,
        (model, ledger): (&Model, &Ledger<'_>),
        is_part: bool,
        report: &mut ConsolidateReport,
    ) -> Result<(), EngineError> {
        // A memory that was forgotten, retired or rejected meanwhile is shown to nobody.
        let rows = group.rows.iter().filter(|memory| memory.is_in_effect).map(|memory| memory.row);
        let mut rows: Vec<MemoryKey> = rows.collect();
        let keys: Vec<ItemKey> = rows.iter().copied().map(ItemKey::Memory).collect();
        let heads = self.store().item_heads(&keys)?;
        rows.retain(|row| heads.contains_key(&ItemKey::Memory(*row)));
        let found = self.store().memories(Memories::Keys(&rows))?;
        let (mut rows, memories): (Vec<MemoryKey>, Vec<Memory>) =
            found.into_iter().filter(|(_, memory)| memory.is_in_effect()).unzip();
        let began = Instant::now();
        let supposed = if is_supposing && !memories.is_empty() {
            match self.hypothetical_statements(&memories, &group.place(), model, ledger) {
                Ok(supposed) => {
                    report.statistics.calls += 1;
                    report.statistics.retries += u64::from(supposed.retries);
                    supposed
                }
                // They are compared with what is found without it.
                Err(EngineError::Llm(LlmError::Form(_) | LlmError::CutOff(_) | LlmError::Rejected { .. })) => {
                    Hypothetical::default()
                }
                Err(error) => return Err(error),
            }
        } else {
            Hypothetical::default()
        };
        let mut near: Vec<Vec<Memory>> = Vec::with_capacity(memories.len());
        for memory in &memories {
            near.push(self.near_in_meaning(memory, supposed.of(memory.id), project)?);
        }
        let found = near.iter().map(Vec::len).sum::<usize>();
        report.statistics.worked(Phase::RetrieveContext, found as u64, began.elapsed().as_micros() as u64);
        if found == 0 {
            self.store().note_compared(Compared::ByModel(&rows), self.now())?;
            memories.iter().for_each(|_| report.statistics.decided(Decision::Add));
            report.compared += memories.len() as u64;
            return Ok(());
        }
        let prompt = self.comparison(group, &memories, &near)?;
        let began = Instant::now();
        let ask = if is_part { structured::ask_for_part::<Decided> } else { structured::ask::<Decided> };
        let answered = ask(model, &prompt, &form(), ledger)?;
        report.statistics.calls += 1;
        report.statistics.retries += u64::from(answered.retries);
        report.statistics.worked(Phase::ResolveMemories, memories.len() as u64, began.elapsed().as_micros() as u64);
        let given = Given::of(&memories, &near);
        let mut judgements = Vec::new();
        for decided in answered.value.decisions {
            match decided.judgement(&given) {
                Ok(judgement) => judgements.push(judgement),
                Err(problem) => report.refused.push(problem),
            }
        }
        if answered.is_partial {
            // The rest was not decided.
            let decided = rows.into_iter().zip(&memories).filter(|(_, memory)| is_named(&judgements, memory));
            rows = decided.map(|(row, _)| row).collect();
            report.failed.push(FailReason::CutOff);
        }
        self.redact(judgements.iter_mut().map(|judgement| &mut judgement.reason))?;
        let cause = Cause { actor: Actor::Model, by: NAME.to_owned(), input: None };
        let began = Instant::now();
        let CarriedOut { done, problems, operation } = self.carry_out(&judgements, &rows, &cause)?;
        report.operations.extend(operation);
        report.statistics.worked(Phase::WriteGraph, done.len() as u64, began.elapsed().as_micros() as u64);
        let touched = |memory: &Memory| done.iter().any(|judged| judged.memory == memory.id || judged.other == memory.id);
        memories.iter().filter(|memory| !touched(memory)).for_each(|_| report.statistics.decided(Decision::Add));
        done.iter().for_each(|judged| report.statistics.decided(judged.decision));
        problems.iter().for_each(|_| report.statistics.decided(Decision::Refuse));
        report.compared += memories.len() as u64;
        report.done.extend(done);
        report.refused.extend(problems);
        Ok(())
    }

    /// Returns the memories of the same project that are nearest to one, or to hypothetical statements about its thing, in words and
    /// meaning, and in effect.
    fn near_in_meaning(
        &self,
        memory: &Memory,
        supposed: &[String],
        project: Option<&Project>,
    ) -> Result<Vec<Memory>, EngineError> {
        if supposed.is_empty() {
            return self.nearest_to(&memory.statement, memory, project, NEAR);
        }
        let mut shares: Vec<(Memory, f32)> = Vec::new();
        for text in [&memory.statement].into_iter().chain(supposed) {
            for (rank, near) in (0u8..).zip(self.nearest_to(text, memory, project, FOUND)?) {
                let share = 1.0 / (RANK_ADDED + f32::from(rank));
                match shares.iter_mut().find(|(known, _)| known.id == near.id) {
                    Some((_, whole)) => *whole += share,
                    None => shares.push((near, share)),
                }
            }
        }
        shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        Ok(shares.into_iter().map(|(near, _)| near).take(NEAR).collect())
    }

    /// Returns the memories beside one that are nearest to a text.
    fn nearest_to(
        &self,
        text: &str,
        memory: &Memory,
        project: Option<&Project>,
        limit: usize,
    ) -> Result<Vec<Memory>, EngineError> {
        // Quotation marks would ask for what they hold.
        let mut request = RecallRequest::new(text.replace(['"', '“', '”', '„', '«', '»'], " "));
        // The memory itself may be the first; those of projects stand between those of none.
        request.limit = if project.is_some() { limit + 1 } else { limit * AMONG_ALL };
        // Those that say the same are to be compared as well.
        (request.is_bare, request.is_period_searched, request.is_folded) = (true, false, false);
        request.mode = if self.has_vectors()? { SearchMode::Full } else { SearchMode::Static };
        request.filter.wanted = Wanted::Memories;
        request.filter.memories.statuses = vec![Status::Holds, Status::Contested];
        request.filter.scope = project.map_or(ScopeChoice::All, |project| ScopeChoice::Projects(vec![project.id.clone()]));
        let found = self.recall(&request)?.hits;
        let ids = found.iter().filter_map(|hit| hit.id().memory()).filter(|id| *id != memory.id);
        let mut near = Vec::new();
        for id in ids {
            // A project's own are not compared with those that hold everywhere.
            near.extend(self.store().memory(id)?.filter(|near| near.project == memory.project));
        }
        near.truncate(limit);
        Ok(near)
    }

    /// Returns the prompt about a group.
    fn comparison(&self, group: &Group, memories: &[Memory], near: &[Vec<Memory>]) -> Result<Prompt, EngineError> {
        let told = |memory: &Memory| -> Result<Value, EngineError> {
            let (mut statement, mut details) = (memory.statement.clone(), memory.details.clone());
            self.redact_again([&mut statement].into_iter().chain(&mut details))?;
            let details = details.map(|details| details.chars().take(DETAILS_CHARS).collect::<String>());
            Ok(json!({
                "id": memory.id.short(),
                "kind": memory.kind.as_str(),
                "statement": statement,
                "details": details,
                "since": format_utc(memory.valid_from.unwrap_or(memory.recorded)),
                "by": memory.source.kind.as_str(),
            }))
        };
        let mut asked = Vec::with_capacity(memories.len());
        for (memory, near) in memories.iter().zip(near) {
            let mut value = told(memory)?;
            value["near"] = near.iter().map(|near| near.id.short()).collect();
            asked.push(value);
        }
        let mut known: Vec<&Memory> =
            near.iter().flatten().filter(|near| memories.iter().all(|memory| memory.id != near.id)).collect();
        known.sort_by_key(|memory| memory.id);
        known.dedup_by_key(|memory| memory.id);
        let known = known.into_iter().map(told).collect::<Result<Vec<_>, _>>()?;
        let document = json!({"memories": asked, "known": known});
        let key = format!("{NAME} {}", group.place());
        Ok(Prompt {
            system: INSTRUCTIONS.to_owned(),
            user: document.to_string(),
            max_tokens: MOST_ANSWER,
            key,
            ..Prompt::default()
        })
    }
}

fn rows_of(group: &Group) -> Vec<MemoryKey> {
    group.rows.iter().map(|memory| memory.row).collect()
}

/// Returns whether something was decided about a memory.
fn is_named(judgements: &[Judgement], memory: &Memory) -> bool {
    judgements.iter().any(|judgement| judgement.memory == memory.id || judgement.other == memory.id)
}

/// An answer of a model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decided {
    decisions: Vec<DecidedPair>,
}

#[derive(Deserialize)]
struct DecidedPair {
    memory: String,
    decision: String,
    other: Option<String>,
    #[serde(default)]
    reason: String,
}

impl DecidedPair {
    /// Returns the decision, if it is about memories that were given.
    fn judgement(&self, given: &Given) -> Result<Judgement, String> {
        let decision = Decision::parse(self.decision.trim()).filter(|decision| DECISIONS.contains(decision));
        let decision = decision.ok_or_else(|| format!("there is no decision {:?}", self.decision))?;
        let named = |id: &str| {
            let known = given.ids.get(id.trim()).copied();
            known.ok_or_else(|| format!("no memory {id:?} was given, or it holds no more"))
        };
        let other = self.other.as_deref().ok_or_else(|| format!("{}: it names no other memory", self.memory))?;
        let (memory, other) = (named(&self.memory)?, named(other)?);
        if !given.pairs.contains(&(memory, other)) && !given.pairs.contains(&(other, memory)) {
            return Err(format!("{} was not to be compared with {}", memory.short(), other.short()));
        }
        let reason = self.reason.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Judgement { memory, decision, other, reason })
    }
}

/// The memories that a model was given, by the ids that it knows, and the pairs that it is to compare.
struct Given {
    ids: HashMap<String, MemoryId>,
    pairs: HashSet<(MemoryId, MemoryId)>,
}

impl Given {
    fn of(memories: &[Memory], near: &[Vec<Memory>]) -> Self {
        let ids = memories.iter().chain(near.iter().flatten()).map(|memory| (memory.id.short(), memory.id)).collect();
        let pairs = memories.iter().zip(near).flat_map(|(memory, near)| near.iter().map(|near| (memory.id, near.id)));
        Self { ids, pairs: pairs.collect() }
    }
}

/// The decisions that a model may make; of all other memories it says nothing.
const DECISIONS: [Decision; 5] = [Decision::Skip, Decision::Add, Decision::Update, Decision::Invalidate, Decision::Contest];

/// Returns the form of the answer.
fn form() -> Form {
    let decisions: Vec<&str> = DECISIONS.iter().map(|decision| decision.as_str()).collect();
    let decision = structured::object(json!({
        "memory": {"type": "string"},
        "decision": {"type": "string", "enum": decisions},
        "other": {"type": "string"},
        "reason": {"type": "string"},
    }));
    let schema = structured::object(json!({"decisions": {"type": "array", "items": decision}}));
    Form { name: "consolidated", description: "What becomes of statements that are near each other.", schema }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_that_were_to_be_compared_are_decided() {
        let id = |number: u8| MemoryId::from_bytes([number; 16]);
        let ids = [1, 2, 3].map(|number| (id(number).short(), id(number))).into();
        let given = Given { ids, pairs: HashSet::from([(id(1), id(2))]) };
        let decided = |memory: u8, other: u8| {
            let pair = DecidedPair {
                memory: id(memory).short(),
                decision: "update".to_owned(),
                other: Some(id(other).short()),
                reason: "from 8080\n to 9090".to_owned(),
            };
            pair.judgement(&given)
        };
        let judgement = decided(1, 2).unwrap();
        assert_eq!((judgement.memory, judgement.other, judgement.reason.as_str()), (id(1), id(2), "from 8080 to 9090"));
        assert!(decided(2, 1).is_ok(), "from either side");
        assert!(decided(1, 3).unwrap_err().contains("was not to be compared"));
        assert!(decided(1, 4).unwrap_err().contains("was given"));
    }
}
