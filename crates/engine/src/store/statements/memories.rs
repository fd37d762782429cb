//! Reads and writes memories, and counts and logs their uses.

use rusqlite::types::Value;
use rusqlite::{Row, params, params_from_iter};
use serde::{Deserialize, Serialize};
use yore_core::conflict::StatedValue;
use yore_core::id::{MemoryId, ProjectId, TurnId};
use yore_core::memory::{
    Anchor, AnchorKind, Confidence, Evidence, Fields, Lane, Memory, MemoryKind, MemoryType, Reach, Source, Status, StatusCause,
    Use,
};
use yore_core::operation::Record;
use yore_core::relation::Node;
use yore_core::time::UtcMillis;

use super::revisions::Revision;
use crate::store::keys::{EpisodeKey, MemoryKey, ProjectKey, RecordKey, RelationKey, RowKey, hex_of};
use crate::store::local::transaction::{View, WriteTx};
use crate::store::{Store, StoreError, StoreResult};

/// Number of uses that the log keeps.
const MOST_LOGGED: i64 = 100_000;
/// Accesses between two looks at those that are too old.
const PRUNED_EACH: i64 = 100;
/// Number of times that a memory was opened or cited whose log is kept. These are kept apart from the rest: however much is shown, it
/// takes no memory's uses away.
const MOST_REINFORCING: i64 = 64;

/// A memory's properties that no search needs, as one JSON object.
#[derive(Deserialize, Serialize)]
struct Rest {
    #[serde(default, skip_serializing_if = "is_default")]
    reach: Reach,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    fields: Fields,
    #[serde(default, skip_serializing_if = "is_default")]
    confidence: Confidence,
    #[serde(default = "certain", skip_serializing_if = "is_certain")]
    certainty: f32,
    #[serde(default, skip_serializing_if = "is_default")]
    source: Source,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asserts: Option<StatedValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<StatusCause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status_since: Option<UtcMillis>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn certain() -> f32 {
    1.0
}

fn is_certain(certainty: &f32) -> bool {
    *certainty == certain()
}

/// The memories that a list wants; an empty list means no restriction.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct MemoryFilter {
    /// The projects; with `with_global`, also memories that hold everywhere.
    pub projects: Option<Vec<ProjectId>>,
    /// True for memories that hold everywhere, beside those of `projects`.
    pub with_global: bool,
    /// Kinds.
    pub kinds: Vec<MemoryKind>,
    /// Statuses.
    pub statuses: Vec<Status>,
    /// Only memories with one of these tags.
    pub tags: Vec<String>,
    /// Only memories related to one of these nodes, such as an entity.
    pub related_to: Vec<Node>,
    /// Only memories with evidence in one of these turns.
    pub evidence: Vec<TurnId>,
    /// Earliest and latest (exclusive) time of the last change.
    pub since: Option<UtcMillis>,
    /// See [`Self::since`].
    pub until: Option<UtcMillis>,
    /// Only questions, problems and todos that nobody closed.
    #[serde(default)]
    pub is_open: bool,
    /// Only memories of this lane.
    #[serde(default)]
    pub lane: Option<Lane>,
    /// True: only memories that were forgotten softly; false: none of them; `None`: any.
    #[serde(default)]
    pub is_forgotten: Option<bool>,
    /// Only memories after this place in the list: the time of the last change of the memory with this id, in
    /// hexadecimal digits. With any other id, those changed before that time.
    #[serde(default)]
    pub before: Option<(UtcMillis, String)>,
}

/// The time in which a memory was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimesHeld {
    /// The memory.
    pub memory: MemoryKey,
    /// Since when: the time since which it is true, else the one at which it was recorded.
    pub since: UtcMillis,
    /// Until when (exclusive); `None`: it is held.
    pub until: Option<UtcMillis>,
}

/// The memories that a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Memories<'q> {
    /// Those that a filter lets through, changed last first, at most so many.
    Meeting(&'q MemoryFilter, usize),
    /// Those that a filter lets through, at most so many: first those that deserve a person's look most. They wait for a review, are
    /// contested, are asked of all work, are doubtful and important.
    Doubtful(&'q MemoryFilter, usize),
    /// Those whose last digits begin with these, the form in which ids are shown ([`MemoryId::short`]), or whose whole id begins with them: at
    /// most so many.
    Named(&'q str, usize),
    /// These, in their order; those that are gone are left out.
    Keys(&'q [MemoryKey]),
    /// Those with evidence in a conversation, whatever their status.
    RestingOn(EpisodeKey),
    /// Those with evidence in a conversation whose evidence was all taken back.
    TakenBack(EpisodeKey),
    /// Those of a project in effect that speak of files, names or commits, the newest first, at most so many.
    Anchored(ProjectId, usize),
    /// Those of a project (`None`: those that hold everywhere) that hold, are of these kinds and not closed, pinned ones first, then a
    /// person's, then the latest; extracted ones only from this certainty on. Rules that agents read by themselves are left out.
    Latest { project: Option<ProjectKey>, kinds: &'q [MemoryKind], least_certainty: f32, now: UtcMillis, limit: usize },
    /// Standards and preferences of a project, and those that hold everywhere, that hold at a time and have one of these words in lower
    /// case; extracted ones only from this certainty on. Those that agents read by themselves are among them.
    Rules { project: Option<ProjectKey>, words: &'q [String], least_certainty: f32, now: UtcMillis, limit: usize },
}

/// How often a memory was used.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct MemoryUse {
    /// Times that it was among the results of a search.
    pub shown: u64,
    /// Times that its whole record was opened.
    pub opened: u64,
    /// Times that an agent was given it unasked.
    pub given: u64,
    /// Times that an answer cited it.
    pub cited: u64,
    /// When it was last used.
    pub accessed: Option<UtcMillis>,
}

pub(in crate::store) const COLUMNS: &str =
    "memory.id, memory.uid, project.uid, memory.kind, memory.memory_type, memory.status, memory.lane,
    memory.importance, memory.is_pinned, memory.valid_from_ms, memory.valid_until_ms, memory.recorded_ms, memory.changed_ms,
    memory.title, memory.statement, memory.rest";
pub(in crate::store) const FROM: &str = "FROM memory LEFT JOIN project ON project.id = memory.project_id";

/// What a filter lets through, by the parameters that [`parameters`] returns.
const FILTERED: &str =
    "WHERE (?1 IS NULL OR project.uid IN (SELECT unhex(value) FROM json_each(?1)) OR ?2 AND memory.project_id IS NULL
        AND json_extract(memory.rest, '$.reach') IS NULL)
    AND (?3 = '[]' OR memory.kind IN (SELECT value FROM json_each(?3)))
    AND (?4 = '[]' OR memory.status IN (SELECT value FROM json_each(?4)))
    AND (?5 = '[]' OR memory.id IN (SELECT memory_id FROM memory_tag WHERE tag IN (SELECT value FROM json_each(?5))))
    AND (?6 = '[]' OR memory.uid IN (
        SELECT from_key FROM relation WHERE from_kind = 'memory' AND to_key IN (SELECT unhex(value) FROM json_each(?6))
        UNION SELECT to_key FROM relation WHERE to_kind = 'memory' AND from_key IN (SELECT unhex(value) FROM json_each(?6))))
    AND (?7 = '[]' OR memory.id IN (
        SELECT memory_id FROM memory_evidence WHERE turn_uid IN (SELECT unhex(value) FROM json_each(?7))))
    AND (?8 IS NULL OR memory.changed_ms >= ?8) AND (?9 IS NULL OR memory.changed_ms < ?9)
    AND (?10 IS NULL OR (memory.changed_ms, memory.id) < (?10, coalesce((SELECT id FROM memory WHERE uid = unhex(?11)), 0)))
    AND (?12 = '[]' OR memory.kind IN (SELECT value FROM json_each(?12))
        AND coalesce(json_extract(memory.rest, '$.fields.is_closed'), 0) = 0)
    AND (?13 IS NULL
        OR ?13 = (memory.status = 'archived' AND coalesce(json_extract(memory.rest, '$.cause.kind'), '') = 'forgotten'))
    AND (?14 IS NULL OR memory.lane = ?14)";

/// Returns the parameters of [`FILTERED`].
fn parameters(filter: &MemoryFilter) -> Vec<Value> {
    let names = |names: Vec<&str>| Value::from(serde_json::Value::from(names).to_string());
    let open: &[MemoryKind] = if filter.is_open { &MemoryKind::OPEN } else { &[] };
    vec![
        filter.projects.as_ref().map(|projects| hex_of(projects.iter().map(|id| id.as_bytes().as_slice()))).into(),
        filter.with_global.into(),
        names(filter.kinds.iter().map(|kind| kind.as_str()).collect()),
        names(filter.statuses.iter().map(|status| status.as_str()).collect()),
        names(filter.tags.iter().map(String::as_str).collect()),
        hex_of(filter.related_to.iter().map(Node::key)).into(),
        hex_of(filter.evidence.iter().map(|id| id.as_bytes().as_slice())).into(),
        filter.since.into(),
        filter.until.into(),
        filter.before.as_ref().map(|(at, _)| *at).into(),
        filter.before.as_ref().map(|(_, id)| id.clone()).into(),
        names(open.iter().map(|kind| kind.as_str()).collect()),
        filter.is_forgotten.into(),
        filter.lane.map(|lane| lane.as_str().to_owned()).into(),
    ]
}

/// Reads all of a memory that is in its own row, and the number of the row.
pub(super) fn memory_of(row: &Row<'_>) -> rusqlite::Result<(i64, Memory)> {
    let named = |column: usize| row.get::<_, String>(column);
    let rest: Rest = serde_json::from_str(&named(15)?)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(15, rusqlite::types::Type::Text, Box::new(error)))?;
    let memory = Memory {
        id: MemoryId::from_bytes(row.get(1)?),
        project: row.get::<_, Option<[u8; 16]>>(2)?.map(ProjectId::from_bytes),
        kind: MemoryKind::parse(&named(3)?).unwrap_or_default(),
        memory_type: MemoryType::parse(&named(4)?).unwrap_or_default(),
        status: Status::parse(&named(5)?).unwrap_or_default(),
        lane: Lane::parse(&named(6)?).unwrap_or_default(),
        importance: row.get::<_, f64>(7)? as f32,
        is_pinned: row.get(8)?,
        valid_from: row.get(9)?,
        valid_until: row.get(10)?,
        recorded: row.get(11)?,
        changed: row.get(12)?,
        title: row.get(13)?,
        statement: row.get(14)?,
        reach: rest.reach,
        details: rest.details,
        fields: rest.fields,
        confidence: rest.confidence,
        certainty: rest.certainty,
        source: rest.source,
        asserts: rest.asserts,
        language: rest.language,
        cause: rest.cause,
        status_since: rest.status_since,
        tags: Vec::new(),
        evidence: Vec::new(),
        anchors: Vec::new(),
    };
    Ok((row.get(0)?, memory))
}

/// Removes the oldest accesses from the log, but not those that reinforce a memory. Does so after about each hundredth access, because
/// it looks at all that were kept. `added`: the accesses that were just logged.
pub(in crate::store) fn prune_accesses(tx: &WriteTx<'_>, added: usize) -> StoreResult<()> {
    tx.execute(
        "DELETE FROM memory_access WHERE (SELECT max(id) % ?2 FROM memory_access) < ?3
             AND id <= (SELECT max(id) FROM memory_access) - ?1
             AND (way IN ('shown', 'given') OR memory_uid NOT IN (SELECT memory_uid FROM memory_use WHERE opened + cited > 0))",
        params![MOST_LOGGED, PRUNED_EACH, added as i64],
    )
    .map(drop)
}

impl View<'_> {
    /// Returns a memory.
    pub(crate) fn memory(&self, id: MemoryId) -> StoreResult<Option<Memory>> {
        let sql = format!("SELECT {COLUMNS} {FROM} WHERE memory.uid = ?1");
        self.first(&sql, [id.as_bytes()], memory_of)?.map(|found| self.whole(found)).transpose()
    }

    /// Adds to a memory what other tables have of it.
    pub(in crate::store) fn whole(&self, (row, mut memory): (i64, Memory)) -> StoreResult<Memory> {
        memory.tags = self.column("SELECT tag FROM memory_tag WHERE memory_id = ?1 ORDER BY tag", [row])?;
        memory.evidence =
            self.all("SELECT turn_uid, quote FROM memory_evidence WHERE memory_id = ?1 ORDER BY position", [row], |row| {
                Ok(Evidence { turn: TurnId::from_bytes(row.get(0)?), quote: row.get(1)? })
            })?;
        memory.anchors = self.all("SELECT kind, text FROM memory_anchor WHERE memory_id = ?1", [row], |row| {
            let kind = AnchorKind::parse(&row.get::<_, String>(0)?).unwrap_or(AnchorKind::Symbol);
            Ok(Anchor { kind, text: row.get(1)? })
        })?;
        memory.anchors.sort();
        Ok(memory)
    }
}

impl View<'_> {
    pub(in crate::store) fn memory_of_row(&self, row: MemoryKey) -> StoreResult<Option<Memory>> {
        let sql = format!("SELECT {COLUMNS} {FROM} WHERE memory.id = ?1");
        self.first(&sql, [row], memory_of)?.map(|found| self.whole(found)).transpose()
    }

    fn keyed(&self, key: MemoryKey) -> StoreResult<Option<(MemoryKey, Memory)>> {
        Ok(self.memory_of_row(key)?.map(|memory| (key, memory)))
    }

    /// Returns the memories of [`Memories::Latest`], and rules that agents read by themselves.
    fn latest_memories(
        &self,
        project: Option<ProjectKey>,
        kinds: &[MemoryKind],
        least_certainty: f32,
        now: UtcMillis,
    ) -> StoreResult<Vec<MemoryKey>> {
        // A time after now is no reason to come first: the clock was wrong, or it is a plan.
        let kinds = serde_json::Value::from(kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>()).to_string();
        self.column(
            "SELECT id FROM memory WHERE project_id IS ?1 AND (?1 IS NOT NULL OR json_extract(rest, '$.reach') IS NULL)
                 AND status = 'holds' AND kind IN (SELECT value FROM json_each(?2))
                 AND (lane = 'curated' OR coalesce(json_extract(rest, '$.certainty'), 1.0) >= ?3)
                 AND coalesce(json_extract(rest, '$.fields.is_closed'), 0) = 0
             ORDER BY is_pinned DESC, lane = 'curated' DESC,
                 CASE WHEN valid_from_ms <= ?4 THEN valid_from_ms WHEN recorded_ms <= ?4 THEN recorded_ms ELSE 0 END DESC, id DESC",
            params![project, kinds, f64::from(least_certainty), now],
        )
    }
}

impl WriteTx<'_> {
    /// Stores a memory in the place of the one with its id, if there is one, with a revision.
    pub(super) fn put_memory(&self, memory: &Memory, rev: Revision) -> StoreResult<()> {
        let project: Option<i64> = match memory.project {
            Some(project) => Some(
                self.first_value("SELECT id FROM project WHERE uid = ?1", [project.as_bytes()])?
                    .ok_or_else(|| StoreError::UnknownProject(project.short()))?,
            ),
            None => None,
        };
        let rest = Rest {
            reach: memory.reach,
            details: memory.details.clone(),
            fields: memory.fields.clone(),
            confidence: memory.confidence,
            certainty: memory.certainty,
            source: memory.source.clone(),
            asserts: memory.asserts.clone(),
            language: memory.language.clone(),
            cause: memory.cause.clone(),
            status_since: memory.status_since,
        };
        let rest = serde_json::to_string(&rest).map_err(|error| self.failed(error.into()))?;
        let row: i64 = self.value(
            "INSERT INTO memory (uid, project_id, kind, memory_type, status, lane, importance, is_pinned, valid_from_ms,
                 valid_until_ms, recorded_ms, changed_ms, title, statement, rest, rev)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
             ON CONFLICT (uid) DO UPDATE SET project_id = ?2, kind = ?3, memory_type = ?4, status = ?5, lane = ?6, importance = ?7,
                 is_pinned = ?8, valid_from_ms = ?9, valid_until_ms = ?10, recorded_ms = ?11, changed_ms = ?12, title = ?13,
                 statement = ?14, rest = ?15, rev = ?16
             RETURNING id",
            params![
                memory.id.as_bytes(),
                project,
                memory.kind.as_str(),
                memory.memory_type.as_str(),
                memory.status.as_str(),
                memory.lane.as_str(),
                f64::from(memory.importance),
                memory.is_pinned,
                memory.valid_from,
                memory.valid_until,
                memory.recorded,
                memory.changed,
                memory.title,
                memory.statement,
                rest,
                rev
            ],
        )?;
        let known: Vec<(String, String)> =
            self.all("SELECT kind, text FROM memory_anchor WHERE memory_id = ?1", [row], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let is_named = |(kind, text): &(String, String)| {
            memory.anchors.iter().any(|anchor| anchor.kind.as_str() == kind && anchor.text == *text)
        };
        if known.len() != memory.anchors.len() || !known.iter().all(is_named) {
            self.execute("DELETE FROM memory_witness WHERE memory_id = ?1", [row])?;
        }
        for table in [
            "DELETE FROM memory_tag WHERE memory_id = ?1",
            "DELETE FROM memory_evidence WHERE memory_id = ?1",
            "DELETE FROM memory_anchor WHERE memory_id = ?1",
        ] {
            self.execute(table, [row])?;
        }
        for tag in &memory.tags {
            self.execute("INSERT INTO memory_tag (tag, memory_id) VALUES (?1, ?2)", params![tag, row])?;
        }
        for (position, evidence) in (0i64..).zip(&memory.evidence) {
            self.execute(
                "INSERT INTO memory_evidence (memory_id, position, turn_uid, quote) VALUES (?1, ?2, ?3, ?4)",
                params![row, position, evidence.turn.as_bytes(), evidence.quote],
            )?;
        }
        for anchor in &memory.anchors {
            self.execute(
                "INSERT INTO memory_anchor (memory_id, kind, text) VALUES (?1, ?2, ?3)",
                params![row, anchor.kind.as_str(), anchor.text],
            )?;
        }
        self.put_assertion(row, memory)
    }

    /// Removes a memory.
    pub(super) fn remove_memory(&self, id: MemoryId) -> StoreResult<()> {
        self.execute("DELETE FROM memory WHERE uid = ?1", [id.as_bytes()]).map(drop)
    }
}

impl Store {
    /// Returns a memory.
    pub(crate) fn memory(&self, id: MemoryId) -> StoreResult<Option<Memory>> {
        self.read(|view| view.memory(id))
    }

    /// Returns memories, whole.
    pub(crate) fn memories(&self, wanted: Memories<'_>) -> StoreResult<Vec<(MemoryKey, Memory)>> {
        self.read(|view| {
            let keys: Vec<MemoryKey> = match wanted {
                Memories::Meeting(filter, limit) => {
                    let sql =
                        format!("SELECT memory.id {FROM} {FILTERED} ORDER BY memory.changed_ms DESC, memory.id DESC LIMIT ?15");
                    let mut parameters = parameters(filter);
                    parameters.push(Value::from(limit as i64));
                    view.column(&sql, params_from_iter(parameters))?
                }
                Memories::Doubtful(filter, limit) => {
                    let sql = format!(
                        "SELECT memory.id {FROM} {FILTERED} ORDER BY
                             (1.0 - coalesce(json_extract(memory.rest, '$.certainty'), 1.0)) * memory.importance
                             + (memory.kind IN ('standard', 'preference'))
                             + CASE memory.status WHEN 'proposed' THEN 2.0 WHEN 'contested' THEN 0.5 ELSE 0.0 END DESC,
                             memory.changed_ms DESC, memory.id DESC LIMIT ?15"
                    );
                    let mut parameters = parameters(filter);
                    parameters.push(Value::from(limit as i64));
                    view.column(&sql, params_from_iter(parameters))?
                }
                Memories::Named(digits, limit) => {
                    let filled = |digit: char| {
                        let whole: String = digits.chars().chain(std::iter::repeat(digit)).take(32).collect();
                        whole.parse::<MemoryId>().ok().map(|id| *id.as_bytes())
                    };
                    view.column(
                        "SELECT id FROM memory WHERE uid BETWEEN ?1 AND ?4
                         UNION SELECT id FROM memory WHERE substr(lower(hex(uid)), 23) BETWEEN ?2 AND ?2 || 'g' LIMIT ?3",
                        params![filled('0'), digits, limit as i64, filled('f')],
                    )?
                }
                Memories::Keys(keys) => keys.to_vec(),
                Memories::RestingOn(episode) => view.column(
                    "SELECT DISTINCT memory_id FROM turn JOIN memory_evidence ON turn_uid = turn.uid WHERE episode_id = ?1",
                    [episode],
                )?,
                Memories::TakenBack(episode) => view.column(
                    "SELECT memory_id FROM memory_evidence LEFT JOIN turn ON turn.uid = turn_uid
                     WHERE memory_id IN (SELECT memory_id FROM turn JOIN memory_evidence ON turn_uid = turn.uid
                         WHERE episode_id = ?1 AND caveat = 'taken_back')
                     GROUP BY memory_id HAVING count(*) = sum(turn.caveat IS 'taken_back')",
                    [episode],
                )?,
                Memories::Anchored(project, limit) => view.column(
                    "SELECT memory.id FROM memory JOIN project ON project.id = memory.project_id
                     WHERE project.uid = ?1 AND status IN ('holds', 'contested')
                       AND memory.id IN (SELECT memory_id FROM memory_anchor WHERE kind <> 'error')
                     ORDER BY memory.id DESC LIMIT ?2",
                    params![project.as_bytes(), limit as i64],
                )?,
                Memories::Latest { project, kinds, least_certainty, now, limit } => {
                    let keys = view.latest_memories(project, kinds, least_certainty, now)?;
                    let found = keys.into_iter().filter_map(|key| view.keyed(key).transpose());
                    let is_told = |found: &StoreResult<(MemoryKey, Memory)>| {
                        found.as_ref().map_or(true, |(_, memory)| !memory.is_read_by_agents())
                    };
                    return found.filter(is_told).take(limit).collect();
                }
                Memories::Rules { project, words, least_certainty, now, limit } => view.column(
                    "SELECT id FROM memory WHERE status = 'holds' AND kind IN ('standard', 'preference')
                         AND (project_id IS ?1 OR project_id IS NULL AND json_extract(rest, '$.reach') IS NULL)
                         AND coalesce(valid_from_ms, ?4) <= ?4 AND coalesce(valid_until_ms, ?4 + 1) > ?4
                         AND EXISTS (SELECT 1 FROM json_each(?2) WHERE instr(lower(statement), value) > 0)
                         AND (lane = 'curated' OR coalesce(json_extract(rest, '$.certainty'), 1.0) >= ?3)
                         AND coalesce(json_extract(rest, '$.fields.is_closed'), 0) = 0
                     ORDER BY is_pinned DESC, lane = 'curated' DESC, recorded_ms DESC, id DESC LIMIT ?5",
                    params![project, serde_json::Value::from(words).to_string(), f64::from(least_certainty), now, limit as i64],
                )?,
            };
            keys.into_iter().filter_map(|key| view.keyed(key).transpose()).collect()
        })
    }

    /// Returns the times in which the memories that a filter lets through were held, as far as the records say now.
    pub(crate) fn times_held(&self, filter: &MemoryFilter) -> StoreResult<Vec<TimesHeld>> {
        let sql = format!(
            "SELECT memory.id, coalesce(memory.valid_from_ms, memory.recorded_ms),
                 CASE WHEN memory.status IN ('holds', 'contested') THEN memory.valid_until_ms
                     ELSE min(coalesce(memory.valid_until_ms, memory.changed_ms),
                         coalesce(json_extract(memory.rest, '$.status_since'), memory.changed_ms)) END
             {FROM} {FILTERED}"
        );
        self.read(|view| {
            view.all(&sql, params_from_iter(parameters(filter)), |row| {
                Ok(TimesHeld { memory: row.get(0)?, since: row.get(1)?, until: row.get(2)? })
            })
        })
    }

    /// Counts a use of memories and logs it, for the question and in the session where it happened, unless anybody
    /// else writes now. The log keeps the latest uses.
    pub(crate) fn record_uses(
        &self,
        memories: &[MemoryId],
        way: Use,
        at: UtcMillis,
        session: Option<&str>,
        question: Option<&str>,
    ) -> StoreResult<()> {
        if memories.is_empty() {
            return Ok(());
        }
        let work = |tx: &WriteTx<'_>| {
            for memory in memories {
                let counted = match way {
                    Use::Shown => "UPDATE memory_use SET shown = shown + 1 WHERE memory_uid = ?1",
                    Use::Opened => "UPDATE memory_use SET opened = opened + 1 WHERE memory_uid = ?1",
                    Use::Given => "UPDATE memory_use SET given = given + 1 WHERE memory_uid = ?1",
                    Use::Cited => "UPDATE memory_use SET cited = cited + 1 WHERE memory_uid = ?1",
                };
                tx.execute(
                    "INSERT INTO memory_use (memory_uid, accessed_ms) VALUES (?1, ?2)
                     ON CONFLICT (memory_uid) DO UPDATE SET accessed_ms = max(accessed_ms, ?2)",
                    params![memory.as_bytes(), at],
                )?;
                tx.execute(counted, [memory.as_bytes()])?;
                tx.execute(
                    "INSERT INTO memory_access (memory_uid, at_ms, way, session, question) VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![memory.as_bytes(), at, way.as_str(), session, question],
                )?;
                if way.reinforces() {
                    tx.execute(
                        "DELETE FROM memory_access WHERE memory_uid = ?1 AND way IN ('opened', 'cited') AND id NOT IN (
                             SELECT id FROM memory_access WHERE memory_uid = ?1 AND way IN ('opened', 'cited')
                             ORDER BY id DESC LIMIT ?2)",
                        params![memory.as_bytes(), MOST_REINFORCING],
                    )?;
                }
            }
            prune_accesses(tx, memories.len())
        };
        self.write_if_free(work).map(drop)
    }

    /// Returns memories and then relations in the order in which they were stored, after one; at most `limit`. One of a type that a later yore
    /// added is `None`.
    pub(crate) fn records_after(&self, after: RecordKey, limit: usize) -> StoreResult<Vec<(RecordKey, Option<Record>)>> {
        self.read(|view| {
            let relations = |after: RelationKey| {
                let found = view.relations_after(after, limit)?.into_iter();
                let keyed = found.map(|(key, relation)| {
                    (RecordKey::Relation(key), relation.map(|relation| Record::Relation(Box::new(relation))))
                });
                Ok(keyed.collect())
            };
            let after = match after {
                RecordKey::Memory(after) => after,
                RecordKey::Relation(after) => return relations(after),
            };
            let sql = format!("SELECT {COLUMNS} {FROM} WHERE memory.id > ?1 ORDER BY memory.id LIMIT ?2");
            let found = view.all(&sql, params![after, limit as i64], memory_of)?;
            if found.is_empty() {
                return relations(RelationKey::default());
            }
            let keyed = found.into_iter().map(|found| {
                let key = RecordKey::Memory(MemoryKey::new(found.0));
                Ok((key, Some(Record::Memory(Box::new(view.whole(found)?)))))
            });
            keyed.collect()
        })
    }
}
