//! Copies the readable rows of a damaged database to a new one.
//!
//! Rows are read through SQLite first, from both ends of a table. Rows that SQLite cannot reach any more,
//! because a page above them is damaged, are searched for in the pages themselves
//! (<https://www.sqlite.org/fileformat2.html>). Rows of the archive are recognised by their form, and a blob
//! by the hash of its content, so no damaged blob is accepted. The hash is in the row and in an index; one of
//! them is enough.
//!
//! - [`Salvage`]: the damaged file.
//! - [`Rows`]: rows of the tables that cannot be rebuilt from others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params_from_iter};

use super::migrate;
use super::transaction::WriteTx;
use crate::store::archive::blobs::StoredBlob;
use crate::store::statements::assertions::fill_assertions;
use crate::store::{Store, StoreError, StoreResult};

/// A table to save: its columns, in the order in which they are stored, and the number of its key columns.
struct Table {
    name: &'static str,
    columns: &'static str,
    key: usize,
}

/// The tables, ordered so that each refers only to earlier ones. Blobs and segments are saved separately.
const TABLES: &[Table] = &[
    Table { name: "project", columns: "id, uid, name, created_ms", key: 1 },
    Table { name: "project_alias", columns: "kind, value, recorded, project_id", key: 2 },
    Table { name: "project_commit", columns: "project_id, first_commit", key: 2 },
    Table { name: "project_merge", columns: "id, at_ms, from_uid, from_name, created_ms, into_uid", key: 1 },
    Table { name: "project_merge_row", columns: "merge_id, what, key", key: 3 },
    Table {
        name: "episode",
        columns: "id, uid, agent, native_id, kind, parent_native_id, project_id, cwd, client_version, title, title_rank, title_ms, \
                  title_line, started_ms, updated_ms, forgotten_ms",
        key: 1,
    },
    Table { name: "episode_link", columns: "episode_id, kind, value", key: 3 },
    Table { name: "note", columns: "episode_id, accessed_ms, access_count", key: 1 },
    Table {
        name: "source_file",
        columns: "id, source, path, generation, size, mtime_ns, archived_bytes, archived_lines, read_bytes, read_lines, reader_state, \
                  fingerprint, rules_version, kept_out, lease_owner, first_seen_ms, last_read_ms, gone_ms",
        key: 1,
    },
    Table { name: "redaction", columns: "file_id, kind, count", key: 2 },
    Table { name: "tombstone", columns: "hash, created_ms", key: 1 },
    Table { name: "forget_plan", columns: "id, plan", key: 1 },
    Table { name: "fact", columns: "name, value", key: 1 },
    Table {
        name: "memory",
        columns: "id, uid, project_id, kind, memory_type, status, lane, importance, is_pinned, valid_from_ms, valid_until_ms, \
                  recorded_ms, changed_ms, title, statement, rest",
        key: 1,
    },
    Table { name: "memory_tag", columns: "tag, memory_id", key: 2 },
    Table { name: "memory_evidence", columns: "memory_id, position, turn_uid, quote", key: 2 },
    Table { name: "memory_anchor", columns: "memory_id, kind, text", key: 3 },
    Table { name: "memory_use", columns: "memory_uid, shown, opened, given, cited, accessed_ms", key: 1 },
    Table { name: "memory_access", columns: "id, memory_uid, at_ms, way, session, question", key: 1 },
    Table { name: "entity", columns: "id, uid, kind, given_kind, name, name_key, description, recorded_ms", key: 1 },
    Table { name: "entity_alias", columns: "alias_key, entity_id, alias", key: 2 },
    Table {
        name: "relation",
        columns: "id, uid, from_kind, from_key, to_kind, to_key, type, weight, confidence, origin, valid_from_ms, valid_until_ms, \
                  recorded_ms, evidence_uid, reason, activations, activated_ms, basis",
        key: 1,
    },
    Table {
        name: "operation",
        columns: "number, kind, at_ms, actor, cause, input, summary, of_number, undone_by, is_forgotten",
        key: 1,
    },
    Table { name: "operation_change", columns: "operation, position, kind, uid, before", key: 2 },
    // The tokens of today still count.
    Table {
        name: "model_call",
        columns: "id, at_ms, day, purpose, model, project, state, input_tokens, output_tokens, is_estimated, cost_micro, failure",
        key: 1,
    },
];
/// Columns that older databases lack.
const ADDED: [&str; 1] = ["basis"];
const SEGMENT: Table = Table { name: "segment", columns: "file_id, generation, seq, blob_id, first_line, line_count", key: 3 };

/// Entries of the index over the names of files: source, path, row.
const FILES_BY_INDEX: &str = "source_file by name";

/// Result of a rescue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Saved {
    /// Number of blobs whose content matches their hash.
    pub blobs: u64,
    /// Lost blobs that files refer to.
    pub lost_blobs: BTreeSet<i64>,
    /// Lost lines, by row of the file.
    pub lost_lines: BTreeMap<i64, u64>,
    /// Number of rows that the new database refused.
    pub refused_rows: u64,
}

/// Content of a blob's data.
pub(crate) struct Content {
    /// Hash of the content.
    pub hash: [u8; 32],
    /// Size in bytes.
    pub raw_bytes: usize,
    /// Number of lines.
    pub lines: i64,
}

/// A damaged database.
pub(crate) struct Salvage {
    path: PathBuf,
    /// `None` if not even its first page can be used.
    db: Option<Connection>,
}

impl Salvage {
    /// Opens a damaged database, which is never written to.
    pub(crate) fn open(path: &Path) -> StoreResult<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags).ok().filter(|db| {
            // The log is newer than the pages: SQLite reads both.
            db.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;").is_ok()
                && db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).is_ok()
        });
        Ok(Self { path: path.to_path_buf(), db })
    }

    /// Returns the schema of the damaged database; 0 if it cannot be read.
    fn schema(&self) -> i32 {
        let read = |db: &Connection| db.query_row("PRAGMA user_version", [], |row| row.get(0));
        self.db.as_ref().and_then(|db| read(db).ok()).unwrap_or(0)
    }

    /// Copies the intact rows into a new, empty store. `look` decodes a blob's data, `pack` makes a blob of
    /// the given number of empty lines.
    pub(crate) fn save_into(
        &self,
        store: &Store,
        look: impl Fn(&[u8]) -> Option<Content>,
        pack: impl Fn(u32) -> StoredBlob,
    ) -> StoreResult<Saved> {
        let raw = self.raw_rows()?;
        let mut saved = Saved::default();
        store.with_writer(|db| {
            let tx = db.transaction().map_err(|error| store.fail(error))?;
            for table in TABLES {
                for mut row in self.rows(table, &raw) {
                    let project = match table.name {
                        "episode" => Some(6),
                        "memory" => Some(2),
                        _ => None,
                    };
                    if let Some(column) = project.filter(|column| !is_known(&tx, "project", &row[*column])) {
                        // A memory of a project that is lost must not become one of all projects.
                        if table.name == "memory" && row[column] != Value::Null {
                            without_reach(&mut row);
                        }
                        row[column] = Value::Null;
                    }
                    saved.refused_rows += u64::from(!insert(&tx, table, &row).map_err(|error| store.fail(error))?);
                }
            }
            migrate::adapt_rows(&tx, &self.path, self.schema())?;
            WriteTx::new(&tx, &self.path).fill_revisions()?;
            // Derived from the rows above.
            fill_assertions(&tx).map_err(|error| store.fail(error))?;
            // A file whose own row is lost can still be found in the index: its lines matter more than its
            // checkpoint.
            for (id, source, path) in raw.get(FILES_BY_INDEX).into_iter().flatten().filter_map(|row| file_by_index(row)) {
                tx.execute(
                    "INSERT OR IGNORE INTO source_file (id, source, path, first_seen_ms) VALUES (?1, ?2, ?3, 0)",
                    rusqlite::params![id, source, path],
                )
                .map_err(|error| store.fail(error))?;
            }
            // Damage may have produced numbers that yore never writes.
            tx.execute_batch(
                "UPDATE source_file SET rules_version = 0 WHERE rules_version NOT BETWEEN 0 AND 1000;
                 UPDATE source_file SET generation = 1 WHERE generation > 1000000;
                 -- A database before schema 9 keeps tags of notes here; they come from the archive now.
                 DELETE FROM episode_link WHERE kind = 'tag' AND episode_id IN (SELECT id FROM episode WHERE agent = 'note');",
            )
            .map_err(|error| store.fail(error))?;
            let segments: Vec<[i64; 6]> = self.rows(&SEGMENT, &raw).iter().filter_map(|row| integers(row)).collect();
            let wanted: BTreeSet<i64> = segments.iter().map(|segment| segment[3]).collect();
            let mut line_counts = self.save_blobs(store, &tx, &wanted, look)?;
            saved.blobs = line_counts.len() as u64;
            // A filler must not get the number of a blob that is lost, too: then that one would count as saved.
            let mut unused = wanted.iter().chain(line_counts.keys()).max().map_or(1, |last| last.saturating_add(1));
            for mut segment in segments {
                let [file, _, _, blob, first, count] = segment;
                let Ok(lines) = u32::try_from(count) else { continue };
                if line_counts.get(&blob).is_none_or(|known| first + count > *known) {
                    saved.lost_blobs.insert(blob);
                    *saved.lost_lines.entry(file).or_default() += u64::from(lines);
                    // The filler keeps the numbers of the following lines.
                    let filler = pack(lines);
                    let row = put_blob(&tx, Some(unused), &filler, count).map_err(|error| store.fail(error))?;
                    unused += i64::from(row == unused);
                    line_counts.insert(row, count);
                    (segment[3], segment[4]) = (row, 0);
                }
                let row: Vec<Value> = segment.iter().map(|number| Value::Integer(*number)).collect();
                saved.refused_rows += u64::from(!insert(&tx, &SEGMENT, &row).map_err(|error| store.fail(error))?);
            }
            self.attach_orphans(&tx, &line_counts).map_err(|error| store.fail(error))?;
            for (file, lines) in without_segments(&tx).map_err(|error| store.fail(error))? {
                *saved.lost_lines.entry(file).or_default() += lines;
            }
            for file in saved.lost_lines.keys() {
                // If its source still exists, it is read again, after the saved lines.
                tx.execute(
                    "UPDATE source_file SET generation = generation + 1, size = 0, mtime_ns = 0, archived_bytes = 0, archived_lines = 0,
                         read_bytes = 0, read_lines = 0, reader_state = '', fingerprint = NULL WHERE id = ?1",
                    [file],
                )
                .map_err(|error| store.fail(error))?;
            }
            tx.execute("UPDATE source_file SET lease_owner = NULL", []).map_err(|error| store.fail(error))?;
            tx.commit().map_err(|error| store.fail(error))
        })?;
        Ok(saved)
    }

    /// Assigns the blobs that no segment refers to any more to a file, so that their content is read: to the
    /// file given by the index over segments, else to a file of their own.
    fn attach_orphans(&self, tx: &Connection, line_counts: &BTreeMap<i64, i64>) -> rusqlite::Result<()> {
        let mut by_index: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        if let Some(db) = &self.db {
            let sql = "SELECT blob_id, file_id, generation FROM segment INDEXED BY segment_blob ORDER BY blob_id";
            // The index is read as far as possible.
            let _ = db.prepare(sql).and_then(|mut statement| {
                let mut found = statement.query([])?;
                while let Some(row) = found.next()? {
                    if let (Ok(blob), Ok(file), Ok(generation)) = (row.get(0), row.get(1), row.get(2)) {
                        by_index.insert(blob, (file, generation));
                    }
                }
                Ok(())
            });
        }
        for (blob, lines) in line_counts {
            if tx.prepare_cached("SELECT 1 FROM segment WHERE blob_id = ?1")?.exists([blob])? {
                continue;
            }
            let known = by_index.get(blob).filter(|(file, _)| is_known(tx, "source_file", &Value::Integer(*file)));
            let (file, generation) = match known {
                Some(known) => *known,
                None => {
                    let source: Option<String> = tx
                        .query_row("SELECT source FROM source_file GROUP BY source ORDER BY count(*) DESC LIMIT 1", [], |row| {
                            row.get(0)
                        })
                        .ok();
                    let Some(source) = source else { continue };
                    tx.execute(
                        "INSERT INTO source_file (source, path, first_seen_ms) VALUES (?1, ?2, 0)",
                        rusqlite::params![source, format!("recovered:blob-{blob}")],
                    )?;
                    (tx.last_insert_rowid(), 1)
                }
            };
            tx.execute(
                "INSERT OR IGNORE INTO segment (file_id, generation, seq, blob_id, first_line, line_count)
                 VALUES (?1, ?2, (SELECT coalesce(max(seq), -1) + 1 FROM segment WHERE file_id = ?1 AND generation = ?2), ?3, 0, ?4)",
                [file, generation, *blob, *lines],
            )?;
        }
        Ok(())
    }

    /// Saves every intact blob; returns the number of lines of each.
    fn save_blobs(
        &self,
        store: &Store,
        tx: &Connection,
        wanted: &BTreeSet<i64>,
        look: impl Fn(&[u8]) -> Option<Content>,
    ) -> StoreResult<BTreeMap<i64, i64>> {
        let mut line_counts = BTreeMap::new();
        let mut ids = wanted.clone();
        let count_blobs =
            |db: &Connection| db.query_row("SELECT max(id), count(data) FROM blob", [], |row| row.get::<_, Option<i64>>(0));
        // If SQLite cannot read the table to its end, blobs that no segment refers to any more are found only
        // in the pages.
        let counted = self.db.as_ref().and_then(|db| count_blobs(db).ok());
        if let Some(last) = counted {
            ids.extend(1..=last.unwrap_or(0).min(wanted.last().copied().unwrap_or(0) + 10_000));
        }
        for id in ids {
            let found = self.db.as_ref().and_then(|db| {
                db.query_row("SELECT hash, data FROM blob WHERE id = ?1", [id], |row| {
                    Ok((row.get::<_, Value>(0)?, row.get::<_, Vec<u8>>(1)?))
                })
                .ok()
            });
            if let Some((Value::Blob(hash), data)) = found
                && let Some(content) = look(&data).filter(|content| content.hash.as_slice() == hash)
            {
                let blob = StoredBlob { hash: content.hash, raw_bytes: content.raw_bytes, data };
                put_blob(tx, Some(id), &blob, content.lines).map_err(|error| store.fail(error))?;
                line_counts.insert(id, content.lines);
            }
        }
        // The pages provide the blobs that SQLite did not.
        let mut missing: BTreeSet<i64> = wanted.iter().copied().filter(|id| !line_counts.contains_key(id)).collect();
        if !missing.is_empty() || counted.is_none() {
            let mut failed = None;
            let bytes = self.bytes()?;
            // The hash comes from the index, so that damage to the row's own copy does no harm.
            let mut indexed: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
            Pages::of(&bytes).each_row(&mut |rowid, values| {
                if let (None, [Value::Blob(hash), Value::Integer(id)]) = (rowid, values)
                    && hash.len() == 32
                {
                    indexed.insert(*id, hash.clone());
                }
            });
            if counted.is_none() {
                missing.extend(indexed.keys().filter(|id| !line_counts.contains_key(id)));
            }
            let is_sought = |id: i64| counted.is_none() || missing.contains(&id);
            Pages::of(&bytes).each_row(&mut |rowid, values| {
                let Some(id) = rowid.filter(|id| is_sought(*id) && !line_counts.contains_key(id)) else { return };
                if let [_, hash, _, _, Value::Blob(data)] = values
                    && let Some(content) = look(data)
                    && (*hash == Value::Blob(content.hash.to_vec())
                        || indexed.get(&id).is_some_and(|hash| content.hash.as_slice() == hash))
                {
                    let blob = StoredBlob { hash: content.hash, raw_bytes: content.raw_bytes, data: data.clone() };
                    match put_blob(tx, Some(id), &blob, content.lines) {
                        Ok(_) => drop(line_counts.insert(id, content.lines)),
                        Err(error) => failed = Some(error),
                    }
                }
            });
            // If not even the row can be decoded: its hash is followed by two numbers and the data.
            for (id, hash) in indexed.iter().filter(|(id, _)| missing.contains(id)) {
                if line_counts.contains_key(id) {
                    continue;
                }
                let found = memchr::memmem::find_iter(&bytes, hash).find_map(|at| {
                    let data = frame_behind(&bytes[at + hash.len()..])?;
                    look(data).filter(|content| content.hash.as_slice() == hash).map(|content| (content, data))
                });
                if let Some((content, data)) = found {
                    let blob = StoredBlob { hash: content.hash, raw_bytes: content.raw_bytes, data: data.to_vec() };
                    put_blob(tx, Some(*id), &blob, content.lines).map_err(|error| store.fail(error))?;
                    line_counts.insert(*id, content.lines);
                }
            }
            if let Some(error) = failed {
                return Err(store.fail(error));
            }
        }
        Ok(line_counts)
    }

    /// Returns the columns of a table, with NULL in place of those that the damaged database does not have because it is older.
    fn known_columns(&self, table: &Table) -> String {
        let has = |column: &str| {
            let sql = format!("SELECT {column} FROM {} LIMIT 0", table.name);
            self.db.as_ref().is_none_or(|db| db.prepare(&sql).is_ok())
        };
        // Only columns that were added since may be missing; a table that cannot be read has none.
        let columns = table.columns.split(", ").map(str::trim);
        columns.map(|column| if ADDED.contains(&column) && !has(column) { "NULL" } else { column }).collect::<Vec<_>>().join(", ")
    }

    /// Returns the rows of a table, each once: those that SQLite returns, and those found only in the pages.
    fn rows(&self, table: &Table, raw: &BTreeMap<&'static str, Vec<Vec<Value>>>) -> Vec<Vec<Value>> {
        let mut rows: BTreeMap<Vec<u8>, Vec<Value>> = BTreeMap::new();
        let mut add = |row: Vec<Value>| {
            rows.entry(key_of(&row[..table.key])).or_insert(row);
        };
        if let Some(db) = &self.db {
            let key: Vec<&str> = table.columns.split(", ").take(table.key).collect();
            for order in ["", " DESC"] {
                let by: Vec<String> = key.iter().map(|column| format!("{}{order}", column.trim())).collect();
                let sql = format!("SELECT {} FROM {} ORDER BY {}", self.known_columns(table), table.name, by.join(", "));
                let whole = db.prepare(&sql).and_then(|mut statement| {
                    let width = statement.column_count();
                    let mut found = statement.query([])?;
                    while let Some(row) = found.next()? {
                        if let Ok(values) = (0..width).map(|at| row.get::<_, Value>(at)).collect() {
                            add(values);
                        }
                    }
                    Ok(())
                });
                if whole.is_ok() {
                    return rows.into_values().collect();
                }
            }
        }
        raw.get(table.name).into_iter().flatten().for_each(|row| add(row.clone()));
        rows.into_values().collect()
    }

    /// Returns the rows in the pages that have the form of one of the tables.
    fn raw_rows(&self) -> StoreResult<BTreeMap<&'static str, Vec<Vec<Value>>>> {
        let mut found: BTreeMap<&'static str, Vec<Vec<Value>>> = BTreeMap::new();
        // The search is needed only if SQLite cannot read a table to its end.
        let is_readable = |table: &Table| {
            let sql = format!("SELECT count(*) FROM (SELECT {} FROM {} NOT INDEXED)", self.known_columns(table), table.name);
            self.db.as_ref().is_some_and(|db| db.query_row(&sql, [], |_| Ok(())).is_ok())
        };
        if TABLES.iter().chain([&SEGMENT]).all(is_readable) {
            return Ok(found);
        }
        Pages::of(&self.bytes()?).each_row(&mut |rowid, values| {
            use Value::{Blob, Integer, Text};
            let name = match (rowid, values) {
                (Some(_), [_, Blob(uid), Text(_), Integer(_)]) if uid.len() == 16 => "project",
                (Some(_), [_, Blob(uid), Text(_), Text(_), Text(_), ..]) if uid.len() == 16 && values.len() == 16 => "episode",
                (Some(_), [_, Text(_), Text(_), Integer(_), Integer(_), ..]) if values.len() == 18 => "source_file",
                (None, [Text(kind), Text(_), Text(_), Integer(_)])
                    if matches!(kind.as_str(), "remote" | "git_dir" | "directory" | "name") =>
                {
                    "project_alias"
                }
                // The number is a time; a row number would mean an entry of an index.
                (None, [Blob(hash), Integer(at)]) if hash.len() == 16 && *at > 1_000_000_000_000 => "tombstone",
                (None, [Integer(_), Integer(_), Integer(_), Integer(_), Integer(_), Integer(_)]) => "segment",
                (None, [Text(_), Text(path), Integer(_)]) if path.len() > 2 => FILES_BY_INDEX,
                _ => return,
            };
            let mut row = values.to_vec();
            if let Some(rowid) = rowid {
                row[0] = Integer(rowid);
            }
            found.entry(name).or_default().push(row);
        });
        Ok(found)
    }

    fn bytes(&self) -> StoreResult<Vec<u8>> {
        fs::read(&self.path).map_err(|error| StoreError::from_io(&self.path, error))
    }
}

/// Returns the compressed frame that begins within a few bytes and is contiguous.
fn frame_behind(bytes: &[u8]) -> Option<&[u8]> {
    const BEGINNING: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
    let near = &bytes[..bytes.len().min(24)];
    let data = &bytes[memchr::memmem::find(near, &BEGINNING)?..];
    let length = zstd::zstd_safe::find_frame_compressed_size(data).ok()?;
    data.get(..length)
}

fn file_by_index(row: &[Value]) -> Option<(i64, &str, &str)> {
    let [Value::Text(source), Value::Text(path), Value::Integer(id)] = row else { return None };
    // Other indexes have two texts as well; in that of episodes the second is an id, not a path.
    path.contains(['/', '\\', ':']).then_some((*id, source, path))
}

/// Returns whether a row exists that another one refers to.
fn is_known(tx: &Connection, table: &str, id: &Value) -> bool {
    tx.prepare_cached(&format!("SELECT 1 FROM {table} WHERE id = ?1"))
        .and_then(|mut statement| statement.exists([id]))
        .unwrap_or(false)
}

/// Marks a row of `memory` as one of which nobody knows where it holds.
fn without_reach(row: &mut [Value]) {
    let Some(Value::Text(rest)) = row.last_mut() else { return };
    if let Ok(serde_json::Value::Object(mut members)) = serde_json::from_str(rest) {
        members.insert("reach".to_owned(), "unknown".into());
        *rest = serde_json::Value::Object(members).to_string();
    }
}

fn key_of(values: &[Value]) -> Vec<u8> {
    format!("{values:?}").into_bytes()
}

fn integers(row: &[Value]) -> Option<[i64; 6]> {
    let mut numbers = [0; 6];
    for (number, value) in numbers.iter_mut().zip(row) {
        let Value::Integer(value) = value else { return None };
        *number = *value;
    }
    (row.len() == 6).then_some(numbers)
}

/// Returns the files of which more lines count as archived than there are, because a segment is lost, with the number of these lines.
fn without_segments(tx: &Connection) -> rusqlite::Result<Vec<(i64, u64)>> {
    let mut statement = tx.prepare(
        "SELECT source_file.id, archived_lines - coalesce(sum(line_count), 0) AS missing FROM source_file
         LEFT JOIN segment ON segment.file_id = source_file.id AND segment.generation = source_file.generation
         GROUP BY source_file.id HAVING missing > 0",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
    rows.collect()
}

/// Inserts a row, unless the new database refuses it, which it may do after damage.
fn insert(tx: &Connection, table: &Table, row: &[Value]) -> rusqlite::Result<bool> {
    let places = vec!["?"; row.len()].join(", ");
    let sql = format!("INSERT OR IGNORE INTO {} ({}) VALUES ({places})", table.name, table.columns);
    match tx.prepare_cached(&sql)?.execute(params_from_iter(row)) {
        Ok(_) => Ok(true),
        Err(rusqlite::Error::SqliteFailure(error, _))
            if matches!(error.code, rusqlite::ErrorCode::ConstraintViolation | rusqlite::ErrorCode::TypeMismatch) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn put_blob(tx: &Connection, id: Option<i64>, blob: &StoredBlob, lines: i64) -> rusqlite::Result<i64> {
    let known = tx.prepare_cached("SELECT id FROM blob WHERE hash = ?1")?.query_row([blob.hash], |row| row.get(0));
    if let Ok(known) = known {
        return Ok(known);
    }
    tx.prepare_cached("INSERT INTO blob (id, hash, raw_bytes, line_count, data) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(rusqlite::params![id, blob.hash, blob.raw_bytes as i64, lines, blob.data])?;
    Ok(tx.last_insert_rowid())
}

/// The pages of a database file.
struct Pages<'a> {
    bytes: &'a [u8],
    size: usize,
    /// Bytes of a page that hold content.
    usable: usize,
}

impl<'a> Pages<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let told = bytes.get(16..18).map_or(0, |two| usize::from(u16::from_be_bytes([two[0], two[1]])));
        let told = if told == 1 { 65_536 } else { told };
        // With a damaged header, the page size that yore uses is assumed.
        let size = if told.is_power_of_two() && told >= 512 { told } else { 4096 };
        let reserved = bytes.get(20).map_or(0, |byte| usize::from(*byte));
        Self { bytes, size, usable: size - if reserved < 64 { reserved } else { 0 } }
    }

    fn page(&self, number: u32) -> Option<&'a [u8]> {
        let start = (number as usize).checked_sub(1)?.checked_mul(self.size)?;
        self.bytes.get(start..start + self.size)
    }

    /// Calls `each` with the number (for a table with numbered rows) and the values of every row that can be
    /// decoded.
    fn each_row(&self, each: &mut dyn FnMut(Option<i64>, &[Value])) {
        let count = u32::try_from(self.bytes.len() / self.size).unwrap_or(u32::MAX);
        for number in 1..=count {
            let Some(page) = self.page(number) else { continue };
            let head = if number == 1 { 100 } else { 0 };
            let kind = page[head];
            let (is_table, is_inner) = match kind {
                0x0d => (true, false),
                0x0a => (false, false),
                0x02 => (false, true),
                _ => continue,
            };
            let cells = usize::from(u16::from_be_bytes([page[head + 3], page[head + 4]]));
            let first = head + if is_inner { 12 } else { 8 };
            for cell in 0..cells {
                let Some(pointer) = page.get(first + 2 * cell..first + 2 * cell + 2) else { break };
                let at = usize::from(u16::from_be_bytes([pointer[0], pointer[1]])) + if is_inner { 4 } else { 0 };
                if let Some((rowid, payload)) = self.cell(page, at, is_table)
                    && let Some(values) = record(&payload)
                {
                    each(rowid, &values);
                }
            }
        }
    }

    /// Returns a cell's row number and payload, including overflow pages.
    fn cell(&self, page: &[u8], mut at: usize, is_table: bool) -> Option<(Option<i64>, Vec<u8>)> {
        let length = usize::try_from(varint(page, &mut at)?).ok().filter(|length| *length <= self.bytes.len())?;
        let rowid = if is_table { Some(varint(page, &mut at)?) } else { None };
        let most = if is_table { self.usable - 35 } else { (self.usable - 12) * 64 / 255 - 23 };
        let least = (self.usable - 12) * 32 / 255 - 23;
        let local = if length <= most {
            length
        } else {
            let kept = least + (length - least) % (self.usable - 4);
            if kept <= most { kept } else { least }
        };
        let mut payload = page.get(at..at + local)?.to_vec();
        if local < length {
            let four = |bytes: &[u8], at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
            let mut next = four(page, at + local)?;
            while payload.len() < length {
                let overflow = self.page(next)?;
                let take = (length - payload.len()).min(self.usable - 4);
                payload.extend_from_slice(&overflow[4..4 + take]);
                next = four(overflow, 0)?;
            }
        }
        Some((rowid, payload))
    }
}

/// Reads an integer of SQLite's variable length.
fn varint(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let mut value: u64 = 0;
    for place in 0..9 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if place == 8 {
            return Some((value << 8 | u64::from(byte)) as i64);
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(value as i64);
        }
    }
    None
}

/// Returns the values of a record.
fn record(payload: &[u8]) -> Option<Vec<Value>> {
    let mut at = 0;
    let head = usize::try_from(varint(payload, &mut at)?).ok().filter(|head| *head <= payload.len())?;
    let mut body = head;
    let mut values = Vec::new();
    while at < head {
        let kind = varint(payload, &mut at)?;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 | 7 => 8,
            12.. => usize::try_from((kind - 12) / 2).ok()?,
            _ => return None,
        };
        let bytes = payload.get(body..body.checked_add(length)?)?;
        body += length;
        values.push(match kind {
            0 => Value::Null,
            7 => Value::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
            8 => Value::Integer(0),
            9 => Value::Integer(1),
            1..=6 => {
                let negative = bytes[0] & 0x80 != 0;
                let start: i64 = if negative { -1 } else { 0 };
                Value::Integer(bytes.iter().fold(start, |value, byte| value << 8 | i64::from(*byte)))
            }
            kind if kind % 2 == 0 => Value::Blob(bytes.to_vec()),
            _ => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
        });
    }
    (body == payload.len()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_give_the_rows_that_sqlite_gives() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch(
            "CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT, b BLOB, n INTEGER, r REAL);
             CREATE TABLE w (x INTEGER, y TEXT, PRIMARY KEY (x, y)) WITHOUT ROWID;",
        )
        .unwrap();
        for i in 0..2000i64 {
            let big = vec![(i % 251) as u8; (i as usize * 37) % 9000];
            db.execute(
                "INSERT INTO a VALUES (?1, ?2, ?3, ?4, ?5)",
                rusqlite::params![i, "x".repeat(i as usize % 40), big, -i * i * i, i as f64],
            )
            .unwrap();
            db.execute("INSERT INTO w VALUES (?1, ?2)", rusqlite::params![i % 7, format!("{i}")]).unwrap();
        }
        let bytes = fs::read(&path).unwrap();
        let (mut tables, mut others) = (BTreeMap::new(), BTreeSet::new());
        Pages::of(&bytes).each_row(&mut |rowid, values| match rowid {
            Some(rowid) if values.len() == 5 => drop(tables.insert(rowid, values.to_vec())),
            None if values.len() == 2 => drop(others.insert(key_of(values))),
            _ => {}
        });
        assert_eq!((tables.len(), others.len()), (2000, 2000));
        let mut statement = db.prepare("SELECT * FROM a").unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let mut expected: Vec<Value> = (0..5).map(|at| row.get(at).unwrap()).collect();
            let Value::Integer(id) = std::mem::replace(&mut expected[0], Value::Null) else { panic!() };
            // A whole number in a column of fractions is stored as an integer.
            if let Value::Real(number) = expected[4]
                && let Value::Integer(stored) = tables[&id][4]
            {
                expected[4] = Value::Integer(stored);
                assert_eq!(stored as f64, number);
            }
            assert_eq!(tables[&id], expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_looked_through_without_a_panic(mut bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..9000), kind in 0usize..3) {
            if bytes.len() > 4096 {
                bytes[16..18].copy_from_slice(&[0x10, 0]);
                bytes[20] = 0;
                bytes[4096] = [0x0d, 0x0a, 0x02][kind];
            }
            Pages::of(&bytes).each_row(&mut |_, _| {});
        }
    }
}
