//! Blobs of redacted lines and the segments that put a file together from them. What is stored is
//! described here, when to merge and how to compress is decided in `ingest::archive`.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{OptionalExtension, Transaction, params};

use super::{Store, StoreError, StoreResult};

/// Consecutive lines of one blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRun {
    /// The blob.
    pub blob: i64,
    /// First line within it, from 0.
    pub first: u32,
    /// Number of lines.
    pub count: u32,
}

/// A blob as it is stored.
pub(crate) struct StoredBlob {
    /// Hash of what it holds.
    pub hash: [u8; 32],
    /// Bytes before compression.
    pub raw_bytes: usize,
    /// Compressed.
    pub data: Vec<u8>,
}

/// One segment of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentRow {
    /// Place among the file's segments.
    pub seq: i64,
    /// What it holds.
    pub run: LineRun,
}

impl Store {
    /// Where lines with these keyed hashes may stand already.
    pub(crate) fn find_lines(&self, hashes: &[i64]) -> StoreResult<Vec<Option<(i64, u32)>>> {
        self.read(|db| {
            let mut statement = db
                .prepare_cached("SELECT blob_id, line_no FROM archive_line WHERE hash = ?1")
                .map_err(|error| self.fail(error))?;
            hashes
                .iter()
                .map(|hash| {
                    statement.query_row([hash], |row| Ok((row.get(0)?, row.get(1)?))).optional().map_err(|error| self.fail(error))
                })
                .collect()
        })
    }

    /// A blob as it is stored; `None` when it is gone, or its row cannot be read.
    pub(crate) fn blob(&self, id: i64) -> StoreResult<Option<StoredBlob>> {
        let found = self.read(|db| {
            db.prepare_cached("SELECT hash, raw_bytes, data FROM blob WHERE id = ?1")
                .and_then(|mut statement| {
                    statement
                        .query_row([id], |row| {
                            Ok(StoredBlob { hash: row.get(0)?, raw_bytes: row.get::<_, i64>(1)? as usize, data: row.get(2)? })
                        })
                        .optional()
                })
                .map_err(|error| match error {
                    // Noise made another type or length of it.
                    rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..) => {
                        StoreError::Corrupt { path: self.path().to_path_buf(), detail: error.to_string() }
                    }
                    error => self.fail(error),
                })
        });
        match found {
            Err(StoreError::Corrupt { .. }) => Ok(None),
            found => found,
        }
    }

    /// Every blob that files refer to, and every other one.
    pub(crate) fn blob_ids(&self) -> StoreResult<Vec<i64>> {
        self.read(|db| self.collect(db, "SELECT blob_id FROM segment UNION SELECT id FROM blob ORDER BY 1", |row| row.get(0)))
    }

    /// The last blobs of a file, the very last first, each with its size before compression.
    pub(crate) fn last_blobs(&self, file: i64, generation: i64, limit: usize) -> StoreResult<Vec<(i64, usize)>> {
        self.read(|db| {
            let mut statement = db
                .prepare_cached(
                    "SELECT blob.id, blob.raw_bytes FROM segment JOIN blob ON blob.id = segment.blob_id
                     WHERE file_id = ?1 AND generation = ?2 ORDER BY seq DESC LIMIT ?3",
                )
                .map_err(|error| self.fail(error))?;
            let rows = statement
                .query_map(params![file, generation, limit as i64], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)))
                .map_err(|error| self.fail(error))?;
            let mut blobs: Vec<(i64, usize)> = Vec::new();
            for row in rows {
                let row = row.map_err(|error| self.fail(error))?;
                if blobs.iter().any(|(blob, _)| *blob == row.0) {
                    // A blob that comes twice with another between them cannot be folded.
                    if blobs.last().is_some_and(|(blob, _)| *blob != row.0) {
                        break;
                    }
                } else {
                    blobs.push(row);
                }
            }
            Ok(blobs)
        })
    }

    /// The segments of one generation of a file, in order.
    pub(crate) fn segments(&self, file: i64, generation: i64) -> StoreResult<Vec<SegmentRow>> {
        self.read(|db| {
            let mut statement = db
                .prepare_cached("SELECT seq, blob_id, first_line, line_count FROM segment WHERE file_id = ?1 AND generation = ?2 ORDER BY seq")
                .map_err(|error| self.fail(error))?;
            let rows = statement
                .query_map([file, generation], |row| {
                    Ok(SegmentRow { seq: row.get(0)?, run: LineRun { blob: row.get(1)?, first: row.get(2)?, count: row.get(3)? } })
                })
                .map_err(|error| self.fail(error))?;
            rows.collect::<rusqlite::Result<_>>().map_err(|error| self.fail(error))
        })
    }

    /// The generations before `newest`, each with the runs of its lines, in order, and whether
    /// the newest holds them too: a unit that is read as a whole each time repeats what it said.
    pub(crate) fn older_generations(&self, file: i64, newest: i64) -> StoreResult<BTreeMap<i64, Vec<(LineRun, bool)>>> {
        let rows: Vec<(i64, LineRun)> = self.read(|db| {
            let mut statement = db
                .prepare_cached(
                    "SELECT generation, blob_id, first_line, line_count FROM segment WHERE file_id = ?1 AND generation <= ?2
                     ORDER BY generation, seq",
                )
                .map_err(|error| self.fail(error))?;
            let rows = statement
                .query_map([file, newest], |row| {
                    Ok((row.get(0)?, LineRun { blob: row.get(1)?, first: row.get(2)?, count: row.get(3)? }))
                })
                .map_err(|error| self.fail(error))?;
            rows.collect::<rusqlite::Result<_>>().map_err(|error| self.fail(error))
        })?;
        // The newest generation's lines by blob, as disjoint ranges in order.
        let mut held: HashMap<i64, Vec<(u32, u32)>> = HashMap::new();
        for (_, run) in rows.iter().filter(|(generation, _)| *generation == newest) {
            held.entry(run.blob).or_default().push((run.first, run.first + run.count));
        }
        for ranges in held.values_mut() {
            ranges.sort_unstable();
            ranges.dedup_by(|next, last| {
                let touches = next.0 <= last.1;
                if touches {
                    last.1 = last.1.max(next.1);
                }
                touches
            });
        }
        let mut older: BTreeMap<i64, Vec<(LineRun, bool)>> = BTreeMap::new();
        for (generation, run) in rows.into_iter().filter(|(generation, _)| *generation < newest) {
            let is_held = held
                .get(&run.blob)
                .is_some_and(|ranges| ranges.iter().any(|(first, end)| *first <= run.first && run.first + run.count <= *end));
            older.entry(generation).or_default().push((run, is_held));
        }
        Ok(older)
    }

    /// Drops generations of a file, and the blobs that nothing refers to any more if `frees_blobs`.
    pub(crate) fn drop_generations(&self, file: i64, generations: &[i64], frees_blobs: bool) -> StoreResult<()> {
        if generations.is_empty() {
            return Ok(());
        }
        self.write(|tx| {
            for generation in generations {
                tx.execute("DELETE FROM segment WHERE file_id = ?1 AND generation = ?2", [file, *generation])
                    .map_err(|error| self.fail(error))?;
            }
            if frees_blobs { self.release_blobs(tx).map(drop) } else { Ok(()) }
        })
    }

    /// Stores a blob, or finds the one with the same content.
    pub(crate) fn put_blob(
        &self,
        tx: &Transaction<'_>,
        hash: &[u8; 32],
        raw_bytes: usize,
        line_count: usize,
        data: &[u8],
    ) -> StoreResult<i64> {
        let known: Option<i64> = tx
            .prepare_cached("SELECT id FROM blob WHERE hash = ?1")
            .and_then(|mut statement| statement.query_row([hash], |row| row.get(0)).optional())
            .map_err(|error| self.fail(error))?;
        if let Some(id) = known {
            return Ok(id);
        }
        tx.prepare_cached("INSERT INTO blob (hash, raw_bytes, line_count, data) VALUES (?1, ?2, ?3, ?4)")
            .and_then(|mut statement| statement.execute(params![hash, raw_bytes as i64, line_count as i64, data]))
            .map_err(|error| self.fail(error))?;
        Ok(tx.last_insert_rowid())
    }

    /// Says where the lines of a blob stand, for later lookups.
    pub(crate) fn put_lines(&self, tx: &Transaction<'_>, blob: i64, hashes: &[i64]) -> StoreResult<()> {
        let mut statement = tx
            .prepare_cached("INSERT INTO archive_line (hash, blob_id, line_no) VALUES (?1, ?2, ?3) ON CONFLICT (hash) DO UPDATE SET blob_id = excluded.blob_id, line_no = excluded.line_no")
            .map_err(|error| self.fail(error))?;
        for (line, hash) in hashes.iter().enumerate() {
            statement.execute(params![hash, blob, line as i64]).map_err(|error| self.fail(error))?;
        }
        Ok(())
    }

    /// Adds runs of lines to the end of a file, joining neighbours.
    pub(crate) fn append_segments(&self, tx: &Transaction<'_>, file: i64, generation: i64, runs: &[LineRun]) -> StoreResult<()> {
        let last: Option<SegmentRow> = tx
            .prepare_cached("SELECT seq, blob_id, first_line, line_count FROM segment WHERE file_id = ?1 AND generation = ?2 ORDER BY seq DESC LIMIT 1")
            .and_then(|mut statement| {
                statement
                    .query_row([file, generation], |row| {
                        Ok(SegmentRow { seq: row.get(0)?, run: LineRun { blob: row.get(1)?, first: row.get(2)?, count: row.get(3)? } })
                    })
                    .optional()
            })
            .map_err(|error| self.fail(error))?;
        let mut joined: Vec<SegmentRow> = last.into_iter().collect();
        for run in runs.iter().filter(|run| run.count > 0) {
            match joined.last_mut() {
                Some(previous) if previous.run.blob == run.blob && previous.run.first + previous.run.count == run.first => {
                    previous.run.count += run.count;
                }
                previous => {
                    let seq = previous.map_or(0, |segment| segment.seq + 1);
                    joined.push(SegmentRow { seq, run: *run });
                }
            }
        }
        let mut statement = tx
            .prepare_cached(
                "INSERT INTO segment (file_id, generation, seq, blob_id, first_line, line_count) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (file_id, generation, seq) DO UPDATE SET blob_id = excluded.blob_id, first_line = excluded.first_line, line_count = excluded.line_count",
            )
            .map_err(|error| self.fail(error))?;
        for segment in joined {
            statement
                .execute(params![file, generation, segment.seq, segment.run.blob, segment.run.first, segment.run.count])
                .map_err(|error| self.fail(error))?;
        }
        Ok(())
    }

    /// Puts `new` in the place of `old` in every file; the lines of `old` begin at line `offset` of
    /// `new`.
    pub(crate) fn supersede_blob(&self, tx: &Transaction<'_>, old: i64, new: i64, offset: u32) -> StoreResult<()> {
        tx.prepare_cached("UPDATE segment SET blob_id = ?2, first_line = first_line + ?3 WHERE blob_id = ?1")
            .and_then(|mut statement| statement.execute(params![old, new, offset]))
            .map_err(|error| self.fail(error))?;
        tx.prepare_cached("DELETE FROM blob WHERE id = ?1")
            .and_then(|mut statement| statement.execute([old]))
            .map(drop)
            .map_err(|error| self.fail(error))
    }

    /// Whether a blob is still there.
    pub(crate) fn has_blob(&self, tx: &Transaction<'_>, id: i64) -> StoreResult<bool> {
        tx.prepare_cached("SELECT 1 FROM blob WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([id], |_| Ok(())).optional())
            .map(|found| found.is_some())
            .map_err(|error| self.fail(error))
    }
}
