//! Redacts stored memories, entities, relations and operations with the current rules.

use rusqlite::params;
use serde_json::Value;
use yore_core::entity::key_of;

use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

/// Tables and columns with text. A row of a set that becomes equal to another is removed.
const TEXTS: [(&str, &str, bool); 24] = [
    ("memory", "title", false),
    ("memory", "statement", false),
    ("memory_tag", "tag", true),
    ("memory_evidence", "quote", false),
    ("memory_anchor", "text", true),
    ("memory_access", "question", false),
    ("entity", "description", false),
    ("entity", "given_kind", false),
    ("relation", "reason", false),
    ("operation", "summary", false),
    ("operation", "input", false),
    ("operation", "cause", false),
    ("span", "name", false),
    ("span", "summary", false),
    ("event", "name", false),
    ("event", "text", false),
    ("attempt", "command", false),
    ("attempt", "directory", false),
    ("attempt", "version", false),
    ("attempt", "cause", false),
    ("attempt", "error", false),
    ("attempt", "next", false),
    ("session_summary", "title", false),
    ("session_summary", "summary", false),
];

impl Store {
    /// Replaces every text of memories and of what belongs to them by what `redact` and `redact_json` make of it,
    /// unless it is a dry run; returns the number of changed texts. `counts` is handed to both.
    pub(crate) fn redact_memories<C>(
        &self,
        is_dry_run: bool,
        counts: &mut C,
        redact: &dyn Fn(&str, &mut C) -> Option<String>,
        redact_json: &dyn Fn(&mut Value, &mut C) -> bool,
    ) -> StoreResult<u64> {
        self.write(|tx| {
            let mut changed = 0;
            for (table, column, is_set) in TEXTS {
                let texts: Vec<String> =
                    tx.column(&format!("SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL"), [])?;
                for text in texts {
                    let Some(new) = redact(&text, counts) else { continue };
                    changed += 1;
                    if is_dry_run {
                        continue;
                    }
                    tx.execute(&format!("UPDATE OR IGNORE {table} SET {column} = ?2 WHERE {column} = ?1"), [&text, &new])?;
                    if is_set {
                        tx.execute(&format!("DELETE FROM {table} WHERE {column} = ?1"), [&text])?;
                    }
                }
            }
            changed += tx.redact_names(is_dry_run, &mut |text| redact(text, counts))?;
            for (kind, key) in [("from_kind", "from_key"), ("to_kind", "to_key")] {
                let sql = format!("SELECT DISTINCT CAST({key} AS TEXT) FROM relation WHERE {kind} = 'file'");
                for path in tx.column::<String>(&sql, [])? {
                    let Some(new) = redact(&path, counts) else { continue };
                    changed += 1;
                    if !is_dry_run {
                        let sql = format!("UPDATE OR REPLACE relation SET {key} = CAST(?2 AS BLOB) WHERE {kind} = 'file' AND {key} = CAST(?1 AS BLOB)");
                        tx.execute(&sql, [&path, &new])?;
                    }
                }
            }
            let rests: Vec<(i64, String)> = tx.all("SELECT id, rest FROM memory", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            for (id, json) in rests {
                let Some(new) = redacted_json(&json, &mut |value| redact_json(value, counts)) else { continue };
                changed += 1;
                if !is_dry_run {
                    tx.execute("UPDATE memory SET rest = ?2 WHERE id = ?1", params![id, new])?;
                }
            }
            let befores: Vec<(i64, i64, String)> =
                tx.all("SELECT operation, position, before FROM operation_change WHERE before IS NOT NULL", [], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })?;
            for (operation, position, json) in befores {
                let Some(new) = redacted_json(&json, &mut |value| redact_json(value, counts)) else { continue };
                changed += 1;
                if !is_dry_run {
                    let sql = "UPDATE operation_change SET before = ?3 WHERE operation = ?1 AND position = ?2";
                    tx.execute(sql, params![operation, position, new])?;
                }
            }
            if !is_dry_run {
                tx.drop_insights()?;
                tx.drop_written_summaries()?;
            }
            if changed > 0 && !is_dry_run {
                tx.fill_assertions()?;
                // They repeat what a memory names, and are found out again.
                tx.execute("DELETE FROM memory_witness", [])?;
                tx.release_vectors()?;
            }
            Ok(changed)
        })
    }
}

impl WriteTx<'_> {
    /// Redacts the names of entities, with the form in which they are compared.
    fn redact_names(&self, is_dry_run: bool, redact: &mut dyn FnMut(&str) -> Option<String>) -> StoreResult<u64> {
        let mut changed = 0;
        let names: Vec<(i64, String)> = self.all("SELECT id, name FROM entity", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for (id, name) in names {
            let Some(new) = redact(&name) else { continue };
            changed += 1;
            if !is_dry_run {
                let known = "UPDATE OR IGNORE entity SET name = ?2, name_key = ?3 WHERE id = ?1";
                // Two secrets of one kind would have one name.
                if self.execute(known, params![id, new, key_of(&new)])? == 0 {
                    let new = format!("{new} {id}");
                    self.execute("UPDATE entity SET name = ?2, name_key = ?3 WHERE id = ?1", params![id, new, key_of(&new)])?;
                }
            }
        }
        let aliases: Vec<(i64, String, String)> =
            self.all("SELECT entity_id, alias_key, alias FROM entity_alias", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        for (entity, key, alias) in aliases {
            if redact(&alias).is_none() {
                continue;
            }
            changed += 1;
            if !is_dry_run {
                // Nobody asks for a thing by a placeholder.
                self.execute("DELETE FROM entity_alias WHERE entity_id = ?1 AND alias_key = ?2", params![entity, key])?;
            }
        }
        Ok(changed)
    }
}

/// Names of the entries of a record that hold text of people and agents. All else is ids, times and names of yore.
const WORDED: [&str; 17] = [
    "title",
    "statement",
    "details",
    "fields",
    "cause",
    "tags",
    "text",
    "quote",
    "extractor",
    "session",
    "place",
    "name",
    "aliases",
    "description",
    "given_kind",
    "reason",
    "path",
];

/// Returns JSON of a record with what `redact` changed in its texts, or `None` if that is nothing.
fn redacted_json(json: &str, redact: &mut dyn FnMut(&mut Value) -> bool) -> Option<String> {
    let mut value: Value = serde_json::from_str(json).ok()?;
    redact_texts(&mut value, redact).then(|| value.to_string())
}

fn redact_texts(value: &mut Value, redact: &mut dyn FnMut(&mut Value) -> bool) -> bool {
    let mut is_changed = false;
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| is_changed |= redact_texts(item, redact)),
        Value::Object(entries) => {
            for (name, entry) in entries {
                is_changed |= match (WORDED.contains(&name.as_str()), entry) {
                    // The kind of the fields is a name of yore.
                    (true, Value::Object(fields)) => fields
                        .iter_mut()
                        .filter(|(name, _)| *name != "of")
                        .fold(false, |so_far, (_, field)| redact(field) | so_far),
                    (true, entry) => redact(entry),
                    (false, entry) => redact_texts(entry, redact),
                };
            }
        }
        _ => {}
    }
    is_changed
}
