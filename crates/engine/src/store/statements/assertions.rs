//! Stores the subject and value hashes of memories, and finds memories that give another value of the same subject.

use rusqlite::{Connection, params};
use serde::Deserialize;
use yore_core::conflict::{ASSERTION_RULES, Assertion, StatedValue};
use yore_core::id::{MemoryId, ProjectId};
use yore_core::memory::{Lane, Memory, MemoryKind, asserted};

use crate::store::StoreResult;
use crate::store::local::transaction::{View, WriteTx};

/// The condition by which a memory holds everywhere.
pub(super) const IS_GLOBAL: &str = "memory.project_id IS NULL AND json_extract(memory.rest, '$.reach') IS NULL";
/// Most memories that one assertion is compared with.
const MOST_COMPARED: i64 = 100;

/// The hashes by which an assertion is found.
struct Keys {
    subject: Option<i64>,
    value: i64,
    before: Option<i64>,
}

impl Keys {
    fn of(assertion: &Assertion) -> Self {
        let words = assertion.subject.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let subject = format!("{}\n{words}", assertion.aspect.as_str());
        Self {
            subject: (!assertion.is_change()).then(|| hash(&subject)),
            value: hash(&assertion.value),
            before: assertion.before.as_deref().map(hash),
        }
    }
}

fn hash(text: &str) -> i64 {
    let mut first = [0u8; 8];
    first.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..8]);
    i64::from_le_bytes(first)
}

/// Name of the fact that keeps the version of the rules by which the rows were read.
const RULES: &str = "assertion_rules";

const INSERT: &str = "INSERT INTO memory_assertion (memory_id, subject, value, before) VALUES (?1, ?2, ?3, ?4)";

/// Reads all memories again.
pub(in crate::store) fn fill_assertions(db: &Connection) -> rusqlite::Result<()> {
    db.execute("DELETE FROM memory_assertion", [])?;
    let mut select = db.prepare("SELECT id, kind, statement, rest FROM memory")?;
    let mut insert = db.prepare(INSERT)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let read = || Ok::<_, rusqlite::Error>((row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?));
        // A damaged record asserts nothing.
        let Ok((kind, statement, rest)) = read() else { continue };
        let Some(kind) = MemoryKind::parse(&kind) else { continue };
        let rest: Rest = serde_json::from_str(&rest).unwrap_or_default();
        if let Some(keys) = asserted(kind, Lane::Curated, &statement, rest.asserts.as_ref()).map(|assertion| Keys::of(&assertion))
        {
            insert.execute(params![row.get::<_, i64>(0)?, keys.subject, keys.value, keys.before])?;
        }
    }
    Ok(())
}

/// The part of a memory's other properties that is read here.
#[derive(Default, Deserialize)]
struct Rest {
    #[serde(default)]
    asserts: Option<StatedValue>,
}

impl WriteTx<'_> {
    /// Reads all memories again, after their texts were changed in place.
    pub(in crate::store) fn fill_assertions(&self) -> StoreResult<()> {
        self.on_connection(fill_assertions)
    }

    /// Reads all memories again if other rules had read them.
    pub(super) fn renew_assertions(&self) -> StoreResult<()> {
        let now = ASSERTION_RULES.to_string();
        if self.first_value::<String>("SELECT value FROM fact WHERE name = ?1", [RULES])?.as_ref() == Some(&now) {
            return Ok(());
        }
        self.fill_assertions()?;
        self.execute("INSERT OR REPLACE INTO fact (name, value) VALUES (?1, ?2)", [RULES, &now]).map(drop)
    }

    /// Stores what a memory asserts, by its row.
    pub(super) fn put_assertion(&self, row: i64, memory: &Memory) -> StoreResult<()> {
        self.execute("DELETE FROM memory_assertion WHERE memory_id = ?1", [row])?;
        let Some(keys) = memory.assertion().map(|assertion| Keys::of(&assertion)) else { return Ok(()) };
        self.execute(INSERT, params![row, keys.subject, keys.value, keys.before]).map(drop)
    }
}

impl View<'_> {
    /// Returns the memories in effect, of the same project or where one of both holds everywhere, that say something of the same subject and aspect, that name its value
    /// as the one before, or whose value it names as the one before; the newest first.
    pub(super) fn assertions_near(&self, memory: &Memory, assertion: &Assertion) -> StoreResult<Vec<MemoryId>> {
        let keys = Keys::of(assertion);
        let sql = format!(
            "SELECT memory.uid FROM (
                 SELECT memory_id, min(place) AS place FROM (
                     SELECT memory_id, 0 AS place FROM memory_assertion WHERE subject = ?1
                     UNION ALL SELECT memory_id, 1 FROM memory_assertion WHERE before = ?2
                     UNION ALL SELECT memory_id, 2 FROM memory_assertion WHERE value = ?3)
                 GROUP BY memory_id)
             JOIN memory ON memory.id = memory_id LEFT JOIN project ON project.id = memory.project_id
             WHERE memory.status IN ('holds', 'contested') AND memory.uid <> ?4
                 AND (?5 IS NULL OR project.uid IS ?5 OR {IS_GLOBAL})
             ORDER BY place, memory.id DESC LIMIT ?6"
        );
        self.all(
            &sql,
            params![
                keys.subject,
                keys.value,
                keys.before,
                memory.id.as_bytes(),
                memory.project.as_ref().map(ProjectId::as_bytes),
                MOST_COMPARED
            ],
            |row| row.get(0).map(MemoryId::from_bytes),
        )
    }
}
