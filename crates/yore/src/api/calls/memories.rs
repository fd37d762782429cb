//! Memories: lists, one of them, changes; conflicts, and what waits for a person.

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::conflict::{Aspect, StatedValue};
use yore_core::memory::dynamics::Tier;
use yore_core::memory::{Confidence, Lane, MemoryKind, Status};
use yore_core::query::{Filter, MemoryConditions, Wanted};
use yore_core::scope::ScopeChoice;
use yore_core::time::format_utc;
use yore_engine::{Found, GivenEvidence, HeldRequest, MemoryEdit, MemoryFilter, MemoryList, NewMemory, Settlement};

use super::{all_named, by_person, limit, named, none, place, time};
use crate::api::route::{Caller, Route};
use crate::cursor::{self, Cursor};
use crate::engine_handle::{Outcome, now};
use crate::error::{CliError, CliResult};
use crate::inbox::{self, Waiting};
use crate::recall_request;
use crate::results::{
    Changed, ChangedThing, CheckedCode, ConflictRecord, HeldPage, HeldRecord, Inbox, MemoryRecord, Page, TouchedMemory,
};

/// Letters of these lists in cursors.
const LIST: char = 'm';
const CONFLICTS: char = 'c';
const HELD: char = 'h';
const DAY_MS: i64 = 86_400_000;
const ASPECTS: [&str; 7] = ["value", "version", "place", "owner", "choice", "status", "rule"];

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/memories", "Lists memories, the last changed first", &["memories"], list),
        Route::get("/memories/held", "Lists what was held on a day, and what began or ended near it", &["held"], held),
        Route::get("/memories/count", "Counts the memories of a list", &["count_memories"], count),
        Route::change(Method::POST, "/memories", "Records a memory", &["add_memory"], add),
        Route::get("/memories/{id}", "Opens a memory; the use is counted", &["open_memory"], open),
        Route::get("/memories/{id}/record", "Returns a memory; no use is counted", &["memory"], record),
        Route::change(
            Method::PATCH,
            "/memories/{id}",
            "Changes a memory, or replaces it by one with other words",
            &["edit_memory"],
            edit,
        ),
        Route::change(
            Method::POST,
            "/memories/{id}/confirm",
            "Confirms a memory: it is the person's own from then on",
            &["confirm_memory"],
            confirm,
        ),
        Route::change(
            Method::POST,
            "/memories/{id}/wrong",
            "Says that a memory is wrong; it stays readable",
            &["invalidate_memory"],
            wrong,
        ),
        Route::change(Method::POST, "/memories/{id}/pin", "Pins or unpins a memory", &["pin_memory"], pin),
        Route::change(
            Method::POST,
            "/memories/{id}/archive",
            "Puts a memory away, or takes it out again",
            &["archive_memory"],
            archive,
        ),
        Route::get(
            "/memories/{id}/code",
            "Lists the things in code that a memory speaks of and that changed since, as the last check found",
            &["code_verdicts"],
            code,
        ),
        Route::get("/memories/{id}/touches", "Lists the known memories that a memory touches", &["touches"], touches),
        Route::get("/memories/{id}/conflicts", "Lists the open conflicts of a memory", &["conflicts_of"], conflicts_of),
        Route::ask("/memories/check", "Compares memories with the files that they speak of", &["check_code"], check),
        Route::get(
            "/conflicts",
            "Lists conflicts that are not settled, the gravest first",
            &["conflicts", "conflicts_put_off"],
            conflicts,
        ),
        Route::change(Method::POST, "/conflicts/settle", "Settles a conflict", &["settle_conflict", "edit_memory"], settle),
        Route::get(
            "/inbox",
            "Lists what waits for a person, the worst first",
            &["memories", "count_memories", "conflicts", "find_project"],
            waiting,
        ),
    ]
}

/// A filter of the list of memories.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Only those that these words find, the best first, on one page
    pub words: Option<String>,
    /// Only these kinds
    pub kind: Vec<String>,
    /// Only these statuses; without: those that hold, contested ones included; `all`: every one
    pub status: Vec<String>,
    /// Only these projects: name, id or directory
    pub project: Vec<String>,
    /// Only with all of these tags
    pub tag: Vec<String>,
    /// Only about these entities
    pub entity: Vec<String>,
    /// Only these tiers: active, warm, cool, cold, frozen
    pub tier: Vec<String>,
    /// curated or extracted
    pub lane: Option<String>,
    /// Only questions and todos that are open
    pub is_open: Option<bool>,
    /// Only forgotten ones
    pub is_forgotten: Option<bool>,
    /// Only with evidence in these turns: their whole ids
    pub evidence: Vec<String>,
    /// Changed at or after this time, or "last week"
    pub since: Option<String>,
    /// Changed before this time
    pub until: Option<String>,
    /// Most memories, 1 to 500
    pub limit: Option<usize>,
    /// The cursor at the end of the page before
    pub after: Option<String>,
}

impl List {
    /// Returns the engine's request for the page and, for the next one, one memory more.
    fn request(&self, more: usize) -> CliResult<MemoryList> {
        let kinds: Vec<&str> = MemoryKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let statuses: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
        let tiers: Vec<&str> = Tier::ALL.iter().map(|tier| tier.as_str()).collect();
        let is_all = self.status.iter().any(|name| name == "all");
        let mut filter = MemoryFilter {
            kinds: all_named("kind", &self.kind, MemoryKind::named, &kinds)?,
            statuses: if is_all { Vec::new() } else { all_named("status", &self.status, Status::parse, &statuses)? },
            tags: self.tag.clone(),
            lane: named("lane", self.lane.as_deref(), Lane::parse, &["curated", "extracted"])?,
            evidence: all_named("evidence", &self.evidence, |id| id.parse().ok(), &["the whole ids of turns"])?,
            is_open: self.is_open.unwrap_or(false),
            is_forgotten: Some(self.is_forgotten.unwrap_or(false)),
            since: time("since", self.since.as_deref())?,
            until: time("until", self.until.as_deref())?,
            before: place(LIST, self.after.as_deref())?.map(|cursor| (cursor.at.unwrap_or(i64::MIN), cursor.id)),
            ..MemoryFilter::default()
        };
        if self.status.is_empty() && self.is_forgotten != Some(true) {
            filter.statuses = vec![Status::Holds, Status::Contested];
        }
        Ok(MemoryList {
            filter,
            projects: self.project.clone(),
            entities: self.entity.clone(),
            tiers: all_named("tier", &self.tier, Tier::parse, &tiers)?,
            limit: limit(self.limit, 50)? + more,
            ..MemoryList::default()
        })
    }
}

/// A number of things.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Count {
    /// The number
    pub count: u64,
}

/// Lists memories.
pub fn list(caller: &mut Caller<'_>, list: List) -> CliResult<Page<MemoryRecord>> {
    if let Some(words) = list.words.clone() {
        return by_words(caller, &words, &list);
    }
    let mut found = caller.memory.memories(list.request(1)?)?;
    let cursor_of = |stored: &yore_engine::StoredMemory| Cursor::of(LIST, Some(stored.memory.changed), stored.memory.id);
    let next = cursor::page(&mut found, limit(list.limit, 50)?, cursor_of);
    let items = found.iter().map(|stored| MemoryRecord::of(stored, Vec::new())).collect();
    Ok(Page { items, next: next.map(|next| next.encode()) })
}

/// Counts the memories of a list, without its limit.
pub fn count(caller: &mut Caller<'_>, list: List) -> CliResult<Count> {
    Ok(Count { count: caller.memory.count_memories(list.request(0)?)? })
}

/// Lists the memories that words find.
fn by_words(caller: &mut Caller<'_>, words: &str, list: &List) -> CliResult<Page<MemoryRecord>> {
    let MemoryList { filter, tiers, .. } = list.request(0)?;
    let limit = limit(list.limit, 50)?;
    let mut request = recall_request::request(words, caller.config(), None);
    request.filter = Filter {
        scope: if list.project.is_empty() { ScopeChoice::All } else { ScopeChoice::Projects(list.project.clone()) },
        wanted: Wanted::Memories,
        since: filter.since,
        until: filter.until,
        memories: MemoryConditions {
            kinds: filter.kinds.clone(),
            statuses: if filter.statuses.is_empty() { Status::ALL.to_vec() } else { filter.statuses.clone() },
            tags: filter.tags.clone(),
            entities: list.entity.clone(),
            tiers,
            ..MemoryConditions::default()
        },
        ..Filter::default()
    };
    (request.limit, request.is_bare) = (limit, true);
    let mut items = Vec::new();
    for hit in caller.memory.recall(&request, caller.may_be_full)?.hits {
        let Found::Memory(found) = hit.found else { continue };
        if filter.lane.is_none_or(|lane| lane == found.memory.lane) && (!filter.is_open || found.memory.is_open()) {
            items.push(MemoryRecord::of(&caller.memory.memory(found.memory.id.to_string())?, Vec::new()));
        }
    }
    Ok(Page { items, next: None })
}

/// A question after what was held.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HeldOn {
    /// The day or time; of a day its end counts; without: now
    pub at: Option<String>,
    /// Only these kinds
    pub kind: Vec<String>,
    /// Only these projects, and what holds everywhere: name, id or directory
    pub project: Vec<String>,
    /// Days before and after within which a beginning or an end counts as near, 0 to 400; without: 30
    pub around_days: Option<u16>,
    /// Most memories, 1 to 500
    pub limit: Option<usize>,
    /// The cursor at the end of the page before
    pub after: Option<String>,
}

/// Lists what was held on a day.
pub fn held(caller: &mut Caller<'_>, asked: HeldOn) -> CliResult<HeldPage> {
    let kinds: Vec<&str> = MemoryKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let limit = limit(asked.limit, 50)?;
    let skip: usize = place(HELD, asked.after.as_deref())?.and_then(|cursor| cursor.id.parse().ok()).unwrap_or(0);
    let days = asked.around_days.unwrap_or(30);
    if days > 400 {
        return Err(CliError::usage(format!("around_days: expected 0 to 400, not {days}"), None));
    }
    let at = match asked.at.as_deref().filter(|at| !at.trim().is_empty()) {
        Some(words) => recall_request::as_of(words).map_err(|expected| CliError::usage(format!("at: {expected}"), None))?,
        None => now(),
    };
    let list = MemoryList {
        filter: MemoryFilter { kinds: all_named("kind", &asked.kind, MemoryKind::named, &kinds)?, ..MemoryFilter::default() },
        projects: asked.project,
        limit,
        ..MemoryList::default()
    };
    let found = caller.memory.held(HeldRequest { list, at, around: i64::from(days) * DAY_MS, skip })?;
    let has_more = (skip + found.held.len()) < usize::try_from(found.total).unwrap_or(usize::MAX);
    Ok(HeldPage {
        at: format_utc(at),
        items: found.held.iter().map(HeldRecord::from).collect(),
        total: found.total,
        near: found.near.iter().map(HeldRecord::from).collect(),
        first: found.range.map(|(first, _)| format_utc(first)),
        last: found.range.map(|(_, last)| format_utc(last)),
        next: has_more.then(|| Cursor::of(HELD, None, skip + limit).encode()),
    })
}

/// Lists the things in code that a memory speaks of and that changed since.
pub fn code(caller: &mut Caller<'_>, Id { id }: Id) -> CliResult<Vec<ChangedThing>> {
    Ok(caller.memory.code_verdicts(id)?.iter().map(ChangedThing::from).collect())
}

/// A memory.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Id {
    /// Its id, or the beginning of it
    pub id: String,
}

/// Opens a memory.
pub fn open(caller: &mut Caller<'_>, Id { id }: Id) -> CliResult<MemoryRecord> {
    Ok(MemoryRecord::opened(&caller.memory.open_memory(id, None)?))
}

/// Returns a memory without counting a use.
pub fn record(caller: &mut Caller<'_>, Id { id }: Id) -> CliResult<MemoryRecord> {
    Ok(MemoryRecord::of(&caller.memory.memory(id)?, Vec::new()))
}

/// A memory to record.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Its kind, such as decision or fact
    pub kind: String,
    /// The statement
    pub statement: String,
    /// Title
    pub title: Option<String>,
    /// More about it
    pub details: Option<String>,
    /// Tags
    #[serde(default)]
    pub tags: Vec<String>,
    /// Its project: name, id or directory; without: it holds everywhere
    pub project: Option<String>,
    /// Entities that it is about, as NAME or KIND:NAME
    #[serde(default)]
    pub entities: Vec<String>,
    /// Ids of turns that say it
    #[serde(default)]
    pub evidence: Vec<String>,
    /// Something that has one value at a time; needs `value`
    pub subject: Option<String>,
    /// value, version, place, owner, choice, status, rule
    pub aspect: Option<String>,
    /// The value of the subject
    pub value: Option<String>,
    /// Since when it is true
    pub valid_from: Option<String>,
    /// Until when it was true
    pub valid_until: Option<String>,
    /// The memory whose place it takes
    pub replaces: Option<String>,
    /// Memories beside which it holds
    #[serde(default)]
    pub beside: Vec<String>,
    /// The memory that says the same; nothing new is recorded
    pub same: Option<String>,
}

/// Records a memory.
pub fn add(caller: &mut Caller<'_>, add: Add) -> CliResult<Changed> {
    let kind = named(
        "kind",
        Some(&add.kind),
        MemoryKind::named,
        &["decision", "solution", "pattern", "standard", "preference", "question", "problem", "todo", "fact"],
    )?;
    let mut new = NewMemory::new(kind.unwrap_or(MemoryKind::Fact), add.statement);
    new.memory.title = add.title;
    new.memory.details = add.details;
    new.memory.tags = add.tags;
    new.memory.valid_from = time("valid_from", add.valid_from.as_deref())?;
    new.memory.valid_until = time("valid_until", add.valid_until.as_deref())?;
    new.memory.asserts = stated(add.subject, add.aspect.as_deref(), add.value)?;
    new.entities = add.entities;
    new.evidence = add.evidence.into_iter().map(|turn| GivenEvidence { turn, quote: None }).collect();
    new.replaces = add.replaces;
    new.beside = add.beside;
    new.same = add.same;
    new.project = add.project;
    let done = caller.memory.add_memory(new, by_person())?;
    let outcome = if done.operation.is_some() { caller.memory.outcome_of(done.memory)? } else { Outcome::default() };
    Ok(Changed::with(done, &outcome.replaced, &outcome.conflicts, &outcome.touches))
}

fn stated(subject: Option<String>, aspect: Option<&str>, value: Option<String>) -> CliResult<Option<StatedValue>> {
    let aspect = named("aspect", aspect, Aspect::parse, &ASPECTS)?.unwrap_or_default();
    match (subject, value) {
        (Some(subject), Some(value)) => Ok(Some(StatedValue { subject, aspect, value })),
        (None, None) => Ok(None),
        _ => Err(CliError::usage("subject and value go together", None)),
    }
}

/// A change of a memory. What is left out stays.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// Id of the memory, or the beginning of it
    pub id: String,
    /// Other words: a new memory takes the place of this one
    pub statement: Option<String>,
    /// Another title; an empty one removes it
    pub title: Option<String>,
    /// Other details; empty ones remove them
    pub details: Option<String>,
    /// Another kind
    pub kind: Option<String>,
    /// Other tags
    pub tags: Option<Vec<String>>,
    /// Importance, 0 to 1
    pub importance: Option<f32>,
    /// verified, inferred, speculative
    pub confidence: Option<String>,
    /// Since when it is true
    pub valid_from: Option<String>,
    /// Until when it was true
    pub valid_until: Option<String>,
    /// Other entities that it is about
    pub entities: Option<Vec<String>>,
    /// Something that has one value at a time; needs `value`
    pub subject: Option<String>,
    /// value, version, place, owner, choice, status, rule
    pub aspect: Option<String>,
    /// The value of the subject
    pub value: Option<String>,
    /// True: from now on it holds everywhere
    #[serde(default)]
    pub is_global: bool,
}

/// Changes a memory.
pub fn edit(caller: &mut Caller<'_>, edit: Edit) -> CliResult<Changed> {
    let kinds: Vec<&str> = MemoryKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let changed = MemoryEdit {
        statement: edit.statement,
        title: edit.title,
        details: edit.details,
        kind: named("kind", edit.kind.as_deref(), MemoryKind::named, &kinds)?,
        fields: None,
        tags: edit.tags,
        importance: edit.importance,
        confidence: named("confidence", edit.confidence.as_deref(), Confidence::parse, &["verified", "inferred", "speculative"])?,
        valid_from: time("valid_from", edit.valid_from.as_deref())?,
        valid_until: time("valid_until", edit.valid_until.as_deref())?,
        entities: edit.entities,
        asserts: stated(edit.subject, edit.aspect.as_deref(), edit.value)?,
        is_global: edit.is_global,
    };
    if changed == MemoryEdit::default() {
        return Err(CliError::usage("nothing to change", None));
    }
    Ok(caller.memory.edit_memory(edit.id, changed, by_person())?.into())
}

/// Confirms a memory.
pub fn confirm(caller: &mut Caller<'_>, Id { id }: Id) -> CliResult<Changed> {
    Ok(caller.memory.confirm_memory(id, by_person())?.into())
}

/// A memory that is wrong.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    /// Its id, or the beginning of it
    pub id: String,
    /// Why it is wrong
    pub reason: Option<String>,
}

/// Says that a memory is wrong.
pub fn wrong(caller: &mut Caller<'_>, Wrong { id, reason }: Wrong) -> CliResult<Changed> {
    Ok(caller.memory.invalidate_memory(id, reason, by_person())?.into())
}

/// A state to give a memory.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Id of the memory, or the beginning of it
    pub id: String,
    /// False takes it back
    #[serde(default = "yes")]
    pub on: bool,
}

fn yes() -> bool {
    true
}

/// Pins or unpins a memory.
pub fn pin(caller: &mut Caller<'_>, Switch { id, on }: Switch) -> CliResult<Changed> {
    Ok(caller.memory.pin_memory(id, on, by_person())?.into())
}

/// Puts a memory away, or takes it out again.
pub fn archive(caller: &mut Caller<'_>, Switch { id, on }: Switch) -> CliResult<Changed> {
    Ok(caller.memory.archive_memory(id, on, by_person())?.into())
}

/// Lists what a memory touches.
pub fn touches(caller: &mut Caller<'_>, Id { id }: Id) -> CliResult<Vec<TouchedMemory>> {
    let memory = caller.memory.memory(id)?.memory.id;
    Ok(caller.memory.touches(memory)?.iter().map(TouchedMemory::from).collect())
}

/// Lists the conflicts of a memory.
pub fn conflicts_of(caller: &mut Caller<'_>, Id { id }: Id) -> CliResult<Vec<ConflictRecord>> {
    Ok(caller.memory.conflicts_of(id)?.iter().map(ConflictRecord::from).collect())
}

/// The memories to compare with code.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Check {
    /// Only of these projects; without: of all
    pub project: Vec<String>,
}

/// Compares memories with the files that they speak of.
pub fn check(caller: &mut Caller<'_>, Check { project }: Check) -> CliResult<CheckedCode> {
    Ok(CheckedCode::from(&caller.memory.check_code(project)?))
}

/// A filter of the list of conflicts.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Conflicts {
    /// Only of these projects
    pub project: Vec<String>,
    /// Most conflicts, 1 to 500
    pub limit: Option<usize>,
    /// The cursor at the end of the page before
    pub after: Option<String>,
}

/// A page of conflicts.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ConflictPage {
    /// The conflicts
    pub items: Vec<ConflictRecord>,
    /// Cursor at which the next page begins; `null` on the last page
    pub next: Option<String>,
    /// Number of conflicts that were put off
    pub put_off: u64,
    /// When the first of those is listed again, RFC 3339
    pub put_off_until: Option<String>,
}

/// Lists conflicts.
pub fn conflicts(caller: &mut Caller<'_>, Conflicts { project, limit: given, after }: Conflicts) -> CliResult<ConflictPage> {
    let limit = limit(given, 20)?;
    let after = place(CONFLICTS, after.as_deref())?.map(|cursor| inbox::place_of(&cursor)).transpose()?;
    let mut found = caller.memory.conflicts(project, after, limit + 1)?;
    let next = cursor::page(&mut found, limit, |conflict| inbox::cursor_of(CONFLICTS, &conflict.place(now())));
    let put_off = caller.memory.conflicts_put_off()?;
    Ok(ConflictPage {
        items: found.iter().map(ConflictRecord::from).collect(),
        next: next.map(|next| next.encode()),
        put_off: put_off.map_or(0, |(_, count)| count as u64),
        put_off_until: put_off.map(|(at, _)| yore_core::time::format_utc(at)),
    })
}

/// How a conflict is settled: one of `keep`, `both`, `later_days`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// Id of one of the memories
    pub first: String,
    /// Id of the other one
    pub second: String,
    /// Id of the memory that holds and takes the place of the other
    pub keep: Option<String>,
    /// True: both hold
    #[serde(default)]
    pub both: bool,
    /// Leave it open, and list it again in so many days, 1 to 365
    pub later_days: Option<u16>,
    /// Why, or under which condition
    pub reason: Option<String>,
    /// Only with `keep`: other words, which hold in the place of both
    pub statement: Option<String>,
}

/// Settles a conflict.
pub fn settle(caller: &mut Caller<'_>, settle: Settle) -> CliResult<Changed> {
    let settlement = match (settle.keep, settle.both, settle.later_days) {
        (Some(keep), false, None) => Settlement::Keep(keep),
        (None, true, None) => Settlement::Both,
        (None, false, Some(days @ 1..=365)) => Settlement::Later(now().saturating_add(i64::from(days) * DAY_MS)),
        (None, false, Some(_)) => return Err(CliError::usage("later_days: expected 1 to 365", None)),
        _ => return Err(CliError::usage("one of keep, both, later_days says how it is settled", None)),
    };
    if settle.statement.is_some() && !matches!(settlement, Settlement::Keep(_)) {
        return Err(CliError::usage("statement needs keep", None));
    }
    let done = caller.memory.settle_conflict(settle.first, settle.second, settlement, settle.reason, by_person())?;
    let Some(statement) = settle.statement else { return Ok(done.into()) };
    let edit = MemoryEdit { statement: Some(statement), ..MemoryEdit::default() };
    Ok(caller.memory.edit_memory(done.memory.to_string(), edit, by_person())?.into())
}

/// A request for what waits.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InboxRequest {
    /// Only of these projects
    pub project: Vec<String>,
    /// Most items, 1 to 500
    pub limit: Option<usize>,
}

/// Lists what waits for a person.
pub fn waiting(caller: &mut Caller<'_>, InboxRequest { project, limit: given }: InboxRequest) -> CliResult<Inbox> {
    if let Some(unknown) = unknown_project(caller, &project)? {
        return Err(none("project/unknown", format!("there is no project {unknown:?}")));
    }
    let Waiting { pairs, pairs_total, doubtful, total } = inbox::gather(caller.memory, &project, None, limit(given, 50)?)?;
    Ok(Inbox {
        conflicts: pairs.iter().map(ConflictRecord::from).collect(),
        memories: doubtful.iter().map(|stored| MemoryRecord::of(stored, Vec::new())).collect(),
        conflicts_total: pairs_total as u64,
        memories_total: total as u64,
    })
}

fn unknown_project(caller: &mut Caller<'_>, projects: &[String]) -> CliResult<Option<String>> {
    for name in projects {
        if caller.memory.find_project(yore_engine::ProjectQuery::Name(name.clone()))?.is_none() {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}
