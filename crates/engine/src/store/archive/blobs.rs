//! Stores blobs of redacted lines, and the segments that make up a file. This module stores them; `ingest::archive` decides when
//! to merge and how to compress.

use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, RangeInclusive};

use rusqlite::{Row, params};

use super::forget::{UNUSED_LABELS, UNUSED_PATHS};
use crate::store::keys::{BlobKey, EmbedderKey, FileKey, RowKey};
use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreError, StoreResult};

/// A run of consecutive lines of one blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRun {
    /// Key of the blob.
    pub blob: BlobKey,
    /// First line within it, from 0.
    pub first: u32,
    /// Number of lines.
    pub count: u32,
}

/// A stored blob.
pub(crate) struct StoredBlob {
    /// Hash of the content.
    pub hash: [u8; 32],
    /// Bytes before compression.
    pub raw_bytes: usize,
    /// Compressed content.
    pub data: Vec<u8>,
}

/// Lines of a file that stand in one blob, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The reading of the file that they belong to.
    pub generation: i64,
    /// The lines.
    pub run: LineRun,
}

/// A segment at its place.
struct SegmentRow {
    /// Position among the file's segments.
    seq: i64,
    run: LineRun,
}

/// Rows that nothing may use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unused {
    /// Blobs that no file refers to.
    Blobs,
    /// Labels that no turn has.
    Labels,
    /// Names of files that no turn has.
    Paths,
    /// Vectors of all embedders but one.
    VectorsBeside(EmbedderKey),
}

/// A new blob, ready to be stored.
pub(crate) struct NewBlob {
    /// Hash of the content.
    pub hash: [u8; 32],
    /// Bytes before compression.
    pub raw_bytes: usize,
    /// Compressed content.
    pub data: Vec<u8>,
    /// Keyed hash of each line.
    pub line_hashes: Vec<i64>,
    /// Last blobs of the file whose lines this blob begins with, each with its first line here.
    pub swallows: Vec<(BlobKey, u32)>,
}

/// Source of a run's lines.
pub(crate) enum Run {
    /// Lines that are in the archive already.
    Stored(LineRun),
    /// Lines of the new blob.
    New {
        /// First line, from 0.
        first: u32,
        /// Number of lines.
        count: u32,
    },
}

/// The writes for storing some lines of a file; made outside the transaction.
pub(crate) struct ArchivePlan {
    /// Lines that no blob holds yet.
    pub blob: Option<NewBlob>,
    /// Runs of the lines, in order.
    pub runs: Vec<Run>,
}

fn segment_row(row: &Row<'_>) -> rusqlite::Result<SegmentRow> {
    Ok(SegmentRow { seq: row.get(0)?, run: LineRun { blob: row.get(1)?, first: row.get(2)?, count: row.get(3)? } })
}

impl Store {
    /// Finds the places where lines with these keyed hashes may already be stored.
    pub(crate) fn find_lines(&self, hashes: &[i64]) -> StoreResult<Vec<Option<(BlobKey, u32)>>> {
        self.read(|view| {
            hashes
                .iter()
                .map(|hash| {
                    view.first("SELECT blob_id, line_no FROM archive_line WHERE hash = ?1", [hash], |row| {
                        Ok((row.get(0)?, row.get(1)?))
                    })
                })
                .collect()
        })
    }

    /// Returns a stored blob; `None` if it does not exist, or its row cannot be read.
    pub(crate) fn blob(&self, id: BlobKey) -> StoreResult<Option<StoredBlob>> {
        let found = self.read(|view| {
            view.first("SELECT hash, raw_bytes, data FROM blob WHERE id = ?1", [id], |row| {
                Ok(StoredBlob { hash: row.get(0)?, raw_bytes: row.get::<_, i64>(1)? as usize, data: row.get(2)? })
            })
        });
        match found {
            // Damage has changed its type or length.
            Err(
                StoreError::Corrupt { .. }
                | StoreError::Sqlite {
                    error: rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..),
                    ..
                },
            ) => Ok(None),
            found => found,
        }
    }

    /// Returns every blob that files refer to, and every other one.
    pub(crate) fn blob_ids(&self) -> StoreResult<Vec<BlobKey>> {
        self.read(|view| view.column("SELECT blob_id FROM segment UNION SELECT id FROM blob ORDER BY 1", []))
    }

    /// Returns the last blobs of a file, the very last first, each with its size before compression.
    pub(crate) fn last_blobs(&self, file: FileKey, generation: i64, limit: usize) -> StoreResult<Vec<(BlobKey, usize)>> {
        self.read(|view| {
            let mut blobs: Vec<(BlobKey, usize)> = Vec::new();
            view.each(
                "SELECT blob.id, blob.raw_bytes FROM segment JOIN blob ON blob.id = segment.blob_id
                 WHERE file_id = ?1 AND generation = ?2 ORDER BY seq DESC LIMIT ?3",
                params![file, generation, limit as i64],
                |row| {
                    let (blob, bytes): (BlobKey, i64) = (row.get(0)?, row.get(1)?);
                    if blobs.iter().all(|(known, _)| *known != blob) {
                        blobs.push((blob, bytes as usize));
                    } else if blobs.last().is_some_and(|(last, _)| *last != blob) {
                        // A blob that occurs twice with another one in between cannot be merged.
                        return Ok(ControlFlow::Break(()));
                    }
                    Ok(ControlFlow::Continue(()))
                },
            )?;
            Ok(blobs)
        })
    }

    /// Returns the segments of some generations of a file, in order.
    pub(crate) fn segments(&self, file: FileKey, generations: RangeInclusive<i64>) -> StoreResult<Vec<Segment>> {
        self.read(|view| {
            view.all(
                "SELECT generation, blob_id, first_line, line_count FROM segment
                 WHERE file_id = ?1 AND generation BETWEEN ?2 AND ?3 ORDER BY generation, seq",
                params![file, generations.start(), generations.end()],
                |row| {
                    let run = LineRun { blob: row.get(1)?, first: row.get(2)?, count: row.get(3)? };
                    Ok(Segment { generation: row.get(0)?, run })
                },
            )
        })
    }

    /// Puts new content in the place of what is stored of generations of a file; one without a plan is deleted. With `frees_blobs`, the blobs
    /// that no segment refers to any more are deleted too.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if another process changed a blob that a plan refers to.
    pub(crate) fn rewrite_file(
        &self,
        file: FileKey,
        generations: &[(i64, &[ArchivePlan])],
        frees_blobs: bool,
    ) -> StoreResult<()> {
        if generations.is_empty() {
            return Ok(());
        }
        self.write(|tx| {
            for (generation, plans) in generations {
                let mut runs: Vec<LineRun> = Vec::new();
                for plan in *plans {
                    match tx.store_blob(plan)? {
                        Some(more) => runs.extend(more),
                        None => return Err(StoreError::LeaseLost(self.path().to_path_buf())),
                    }
                }
                tx.drop_segments(file, *generation)?;
                tx.append_segments(file, *generation, &runs)?;
            }
            if frees_blobs { tx.release_blobs() } else { Ok(()) }
        })
    }

    /// Deletes what nothing uses.
    pub(crate) fn release(&self, what: Unused) -> StoreResult<()> {
        self.write(|tx| match what {
            Unused::Blobs => tx.release_blobs(),
            Unused::Labels => tx.batch(UNUSED_LABELS),
            Unused::Paths => tx.batch(UNUSED_PATHS),
            Unused::VectorsBeside(embedder) => tx.drop_other_vectors(embedder),
        })
    }

    /// Returns every (file, generation) with segments.
    pub(crate) fn generations(&self) -> StoreResult<Vec<(FileKey, i64)>> {
        self.read(|view| {
            view.all("SELECT DISTINCT file_id, generation FROM segment ORDER BY 1, 2", [], |row| Ok((row.get(0)?, row.get(1)?)))
        })
    }
}

impl WriteTx<'_> {
    /// Adds the lines of a plan to the end of a file. Returns `false` if another process changed a blob that
    /// the plan refers to: plan again.
    pub(super) fn store_lines(&self, file: FileKey, generation: i64, plan: &ArchivePlan) -> StoreResult<bool> {
        let Some(runs) = self.store_blob(plan)? else { return Ok(false) };
        self.append_segments(file, generation, &runs)?;
        Ok(true)
    }

    /// Stores the new blob of a plan, and returns the runs of the plan's lines. `None` if another process
    /// changed a blob that the plan refers to.
    fn store_blob(&self, plan: &ArchivePlan) -> StoreResult<Option<Vec<LineRun>>> {
        let mut referred: HashSet<BlobKey> =
            plan.runs.iter().filter_map(|run| if let Run::Stored(run) = run { Some(run.blob) } else { None }).collect();
        referred.extend(plan.blob.iter().flat_map(|blob| blob.swallows.iter().map(|(old, _)| *old)));
        for blob in referred {
            if !self.exists("SELECT 1 FROM blob WHERE id = ?1", [blob])? {
                return Ok(None);
            }
        }
        let mut new_blob = BlobKey::new(0);
        let mut moved = HashMap::new();
        if let Some(blob) = &plan.blob {
            new_blob = self.put_blob(blob)?;
            for (old, offset) in blob.swallows.iter().filter(|(old, _)| *old != new_blob) {
                self.supersede_blob(*old, new_blob, *offset)?;
                moved.insert(*old, *offset);
            }
            self.put_lines(new_blob, &blob.line_hashes)?;
        }
        let runs = plan
            .runs
            .iter()
            .map(|run| match run {
                Run::Stored(run) => match moved.get(&run.blob) {
                    Some(offset) => LineRun { blob: new_blob, first: run.first + offset, ..*run },
                    None => *run,
                },
                Run::New { first, count } => LineRun { blob: new_blob, first: *first, count: *count },
            })
            .collect();
        Ok(Some(runs))
    }

    /// Stores a blob, or finds the one with the same content.
    fn put_blob(&self, blob: &NewBlob) -> StoreResult<BlobKey> {
        if let Some(known) = self.first_value("SELECT id FROM blob WHERE hash = ?1", [blob.hash])? {
            return Ok(known);
        }
        self.insert(
            "INSERT INTO blob (hash, raw_bytes, line_count, data) VALUES (?1, ?2, ?3, ?4)",
            params![blob.hash, blob.raw_bytes as i64, blob.line_hashes.len() as i64, blob.data],
        )
    }

    /// Records the positions of a blob's lines for later look-ups.
    fn put_lines(&self, blob: BlobKey, hashes: &[i64]) -> StoreResult<()> {
        for (line, hash) in hashes.iter().enumerate() {
            self.execute(
                "INSERT INTO archive_line (hash, blob_id, line_no) VALUES (?1, ?2, ?3)
                 ON CONFLICT (hash) DO UPDATE SET blob_id = excluded.blob_id, line_no = excluded.line_no",
                params![hash, blob, line as i64],
            )?;
        }
        Ok(())
    }

    /// Adds runs of lines to the end of a file, joining neighbours.
    fn append_segments(&self, file: FileKey, generation: i64, runs: &[LineRun]) -> StoreResult<()> {
        let last = self.first(
            "SELECT seq, blob_id, first_line, line_count FROM segment WHERE file_id = ?1
                 AND generation = ?2 ORDER BY seq DESC LIMIT 1",
            params![file, generation],
            segment_row,
        )?;
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
        for segment in joined {
            self.execute(
                "INSERT INTO segment (file_id, generation, seq, blob_id, first_line, line_count) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (file_id, generation, seq) DO UPDATE SET blob_id = excluded.blob_id, first_line = excluded.first_line,
                     line_count = excluded.line_count",
                params![file, generation, segment.seq, segment.run.blob, segment.run.first, segment.run.count],
            )?;
        }
        Ok(())
    }

    /// Deletes the segments of one generation of a file.
    fn drop_segments(&self, file: FileKey, generation: i64) -> StoreResult<()> {
        self.execute("DELETE FROM segment WHERE file_id = ?1 AND generation = ?2", params![file, generation]).map(drop)
    }

    /// Replaces `old` by `new` in every file; the lines of `old` begin at line `offset` of `new`.
    fn supersede_blob(&self, old: BlobKey, new: BlobKey, offset: u32) -> StoreResult<()> {
        self.execute(
            "UPDATE segment SET blob_id = ?2, first_line = first_line + ?3 WHERE blob_id = ?1",
            params![old, new, offset],
        )?;
        self.execute("DELETE FROM blob WHERE id = ?1", [old]).map(drop)
    }

    /// Deletes blobs that no file refers to.
    pub(super) fn release_blobs(&self) -> StoreResult<()> {
        self.execute(
            "DELETE FROM archive_line WHERE blob_id IN (SELECT id FROM blob WHERE id NOT IN (SELECT blob_id FROM segment))",
            [],
        )?;
        self.execute("DELETE FROM blob WHERE id NOT IN (SELECT blob_id FROM segment)", []).map(drop)
    }
}
