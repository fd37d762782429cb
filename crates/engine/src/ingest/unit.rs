//! Reads one unit: lease, checkpoint, generations, batches.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;

use super::IngestError;
use super::archive::Archive;
use super::batch::{Batch, BatchReader, Start, owner_hash};
use super::entries::EntryMaker;
use super::file_error::FileError;
use super::fingerprint::fingerprint;
use super::found::{Content, FoundUnit, stamp_of};
use super::policy::CapturePolicy;
use super::report::{IngestReport, Observer};
use super::request::IngestRequest;
use super::run::Ingest;
use super::writer::Writer;
use crate::store::{ArchivePlan, BlobKey, Checkpoint, Episodes, FileKey, FileNote, FileRow, LineRun, Segment, StoreError};
use yore_sources::disk::is_passing;
use yore_sources::parse;
use yore_sources::peek::{byte_at, first_string, first_value};
use yore_sources::source::{self, Framing, Nature, Source, Stamp};

/// How to start reading a unit.
enum Begin {
    Lines { file: File, start: Start },
    Records,
}

impl Ingest<'_> {
    /// Reads what is new in one unit. Returns true if the unit was read to its end or is unchanged.
    pub(super) fn read_unit(
        &mut self,
        found: &FoundUnit,
        request: &IngestRequest,
        observer: &mut dyn Observer,
        report: &mut IngestReport,
    ) -> Result<bool, IngestError> {
        if let Some(row) = &found.row {
            let at = &row.checkpoint;
            let may_be_kept_now = at.kept_out.as_deref().is_some_and(|directory| allows(&request.policy, directory));
            if !may_be_kept_now
                && row.gone_ms.is_none()
                && stamp_of(at) == found.unit.stamp
                && row.lease_owner.is_none()
                && at.generation > 0
            {
                report.files_unchanged += 1;
                observer.advanced(found.unit.stamp.size);
                return Ok(true);
            }
        }
        let holder = &self.holder;
        let Some(mut row) = self
            .store
            .lease_file(found.source.kind(), &found.stored, holder.name(), (self.now)(), |name| holder.is_alive(name))?
        else {
            report.files_busy += 1;
            return Ok(false);
        };
        let result = self.leased_unit(found, &mut row, request, observer, report);
        match result {
            Ok(()) => Ok(!report.is_cancelled),
            Err(FileError::Store(StoreError::LeaseLost(_))) => {
                report.files_busy += 1;
                Ok(false)
            }
            Err(FileError::Store(error)) => Err(error.into()),
            Err(FileError::Io(error)) => {
                self.store.note_files(&[row.id], FileNote::Released(self.holder.name()))?;
                match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => report.files_busy += 1,
                    // The file disappeared while others were read.
                    io::ErrorKind::NotFound => {}
                    _ if is_passing(&error) => report.passing.push((found.name.clone().into(), error.to_string())),
                    _ => report.failures.push((found.name.clone().into(), error.to_string())),
                }
                Ok(false)
            }
        }
    }

    fn leased_unit(
        &mut self,
        found: &FoundUnit,
        row: &mut FileRow,
        request: &IngestRequest,
        observer: &mut dyn Observer,
        report: &mut IngestReport,
    ) -> Result<(), FileError> {
        let mut at = row.checkpoint.clone();
        let is_known = at.archived_lines > 0;
        // Lines that were excluded and may be kept now are read like those of a rewritten file.
        let is_allowed_now = at.kept_out.as_deref().is_some_and(|directory| allows(&request.policy, directory));
        let (mut file, begin) = match found.unit.framing {
            Framing::Lines => {
                let mut file = File::open(&found.unit.path)?;
                let stamp = Stamp::of_metadata(&file.metadata()?);
                let is_rewritten = is_allowed_now
                    || is_known
                        && (stamp.size < at.archived_bytes
                            || fingerprint(&self.keys, &mut file, at.archived_bytes)?
                                != at.fingerprint.clone().unwrap_or_default());
                if is_rewritten {
                    report.files_rewritten += 1;
                    at = Checkpoint { generation: at.generation + 1, ..Checkpoint::default() };
                }
                (at.size, at.mtime_ns) = (stamp.size, stamp.version);
                let begin = Begin::Lines {
                    // The file is opened again, not cloned: a clone would share its position with the
                    // fingerprint reads.
                    file: File::open(&found.unit.path)?,
                    start: Start {
                        archived: (at.archived_bytes, at.archived_lines),
                        read: (at.read_bytes, at.read_lines),
                        size: stamp.size,
                        is_unterminated: at.archived_bytes > 0 && byte_at(&mut file, at.archived_bytes - 1)? != Some(b'\n'),
                    },
                };
                (Some(file), begin)
            }
            Framing::Records => {
                let generation = at.generation + i64::from(is_known);
                let reader_state = match &found.content {
                    // State that the caller who gives the records needs the next time.
                    Content::Given { state, .. } => state.clone(),
                    Content::OnDisk => String::new(),
                };
                at = Checkpoint { generation, reader_state, ..Checkpoint::default() };
                (at.size, at.mtime_ns) = (found.unit.stamp.size, found.unit.stamp.version);
                (None, Begin::Records)
            }
        };
        if at.size == 0 {
            report.files_empty += 1;
        } else {
            report.files_read += 1;
        }
        report.bytes_read += at.size.saturating_sub(at.archived_bytes);
        observer.advanced(at.archived_bytes.min(at.size));
        let unit_path = PathBuf::from(&found.name);
        let state = if file.is_some() { at.reader_state.as_str() } else { "" };
        let known = self.store.episodes(&Episodes::InFile(row.id))?;
        let reader = BatchReader {
            source: found.source,
            episodes: found.source.reader(&unit_path, state, &request.reader),
            redactor: &self.redactor,
            keys: &self.keys,
            tombstones: &self.tombstones,
            max_line_bytes: request.max_line_bytes,
            is_allowed: match known.into_iter().find_map(|known| known.cwd).or_else(|| match file {
                Some(_) => first_string(&found.unit.path, "cwd"),
                None => None,
            }) {
                Some(directory) => request.policy.allows_directory(&directory),
                None => request.policy.allows_unknown(),
            },
            checked_directory: None,
            policy: &request.policy,
            is_session_buried: !self.tombstones.is_empty()
                && file.is_some()
                && first_value(&found.unit.path).is_some_and(|value| {
                    let session = found.source.owner(&value).session;
                    session.is_some_and(|session| {
                        self.tombstones.contains(&self.keys.tombstone_hash(found.source.kind(), "session", &session))
                    })
                }),
            known_lines: 0,
            own_sessions: HashSet::new(),
        };
        let mut archive = Archive::new(self.store, self.keys.line);
        let mut writer = Writer {
            store: self.store,
            holder: self.holder.name(),
            keys: &self.keys,
            entries: EntryMaker {
                redactor: &self.redactor,
                resolver: &mut self.resolver,
                source: found.source,
                pass: 0,
                now: self.now,
            },
            replaces: matches!(begin, Begin::Records).then(HashSet::new),
            owners: HashSet::new(),
        };
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel::<Batch>(1);
            let ahead = scope.spawn(move || {
                let deliver = |batch| send.send(batch).is_ok();
                match (begin, &found.content) {
                    (Begin::Lines { file, start }, _) => reader.run(file, &start, deliver),
                    (Begin::Records, Content::OnDisk) => {
                        reader.run_records(|take| found.source.records_with(&found.unit, &request.reader, take), deliver)
                    }
                    (Begin::Records, Content::Given { records, .. }) => reader.run_records(
                        |take| {
                            let _ = records.iter().all(|record| take(record.clone()));
                            Ok(())
                        },
                        deliver,
                    ),
                }
            });
            let mut failure = None;
            while let Ok(batch) = receive.recv() {
                let before = at.archived_bytes;
                let outcome = writer.commit(&mut archive, row, &mut at, &batch, file.as_mut(), report);
                observer.advanced(at.archived_bytes.saturating_sub(before).min(at.size));
                match outcome {
                    Ok(()) if observer.is_cancelled() && !batch.is_last => {
                        report.is_cancelled = true;
                        break;
                    }
                    Ok(()) => {}
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
            }
            drop(receive);
            let read =
                ahead.join().unwrap_or_else(|_| Err(io::Error::other("the reader failed; please report the file's format")));
            match failure {
                Some(error) => Err(error),
                None => read.map_err(FileError::Io),
            }
        })?;
        let is_whole = writer.replaces.is_some() && !report.is_cancelled;
        let owners = std::mem::take(&mut writer.owners);
        if report.is_cancelled {
            self.store.note_files(&[row.id], FileNote::Released(self.holder.name()))?;
        }
        if is_whole {
            let is_document = found.source.nature() == Nature::Document;
            self.drop_repeated(&mut archive, row.id, at.generation, found.source, (!is_document).then_some(&owners))?;
        }
        Ok(())
    }

    /// Drops earlier generations of a unit whose content the newest one repeats: it holds the same lines or,
    /// in a conversation, a newer copy of the same message. `owners` holds the hashes of the messages that
    /// the newest lines are about. For a document every text is kept.
    fn drop_repeated(
        &self,
        archive: &mut Archive<'_>,
        file: FileKey,
        newest: i64,
        source: &dyn Source,
        owners: Option<&HashSet<u64>>,
    ) -> Result<(), StoreError> {
        let (mut gone, mut frees_blobs) = (Vec::new(), false);
        let mut values = Vec::new();
        for (generation, runs) in older_generations(self.store.segments(file, i64::MIN..=newest)?, newest) {
            let mut is_repeated = runs.iter().all(|(_, is_held)| *is_held);
            if let (false, Some(owners)) = (is_repeated, owners) {
                let held: Vec<bool> =
                    runs.iter().flat_map(|(run, is_held)| std::iter::repeat_n(*is_held, run.count as usize)).collect();
                let mut at = 0;
                is_repeated = true;
                let damaged = archive.read_what_is_whole(file, generation, |line| {
                    if is_repeated && !line.is_empty() && !held.get(at).copied().unwrap_or(false) {
                        let _ = parse::parse_line(line, &mut values);
                        // A line that names no message counts as repeated only if it is the header. A record
                        // of damage always counts: damage that was repaired is not reported again.
                        is_repeated = source::problem_of(&values).is_some()
                            || values.iter().all(|value| {
                                (at == 0 || source.owner(value).message.is_some()) && owners.contains(&owner_hash(source, value))
                            });
                    }
                    at += 1;
                    Ok(())
                })?;
                // The content of damaged lines is unknown, so the generation is kept.
                is_repeated &= damaged.is_empty();
                frees_blobs |= is_repeated;
            }
            if is_repeated {
                gone.push(generation);
            }
        }
        let gone: Vec<(i64, &[ArchivePlan])> = gone.into_iter().map(|generation| (generation, &[][..])).collect();
        self.store.rewrite_file(file, &gone, frees_blobs)
    }
}

/// Returns the generations before `newest`, each with the runs of its lines, in order, and true for a run that the newest generation holds
/// too: a unit that is read as a whole each time repeats its lines.
fn older_generations(segments: Vec<Segment>, newest: i64) -> BTreeMap<i64, Vec<(LineRun, bool)>> {
    // The newest generation's lines by blob, as disjoint ranges in order.
    let mut held: HashMap<BlobKey, Vec<(u32, u32)>> = HashMap::new();
    for Segment { run, .. } in segments.iter().filter(|segment| segment.generation == newest) {
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
    for Segment { generation, run } in segments.into_iter().filter(|segment| segment.generation < newest) {
        let is_held = held
            .get(&run.blob)
            .is_some_and(|ranges| ranges.iter().any(|(first, end)| *first <= run.first && run.first + run.count <= *end));
        older.entry(generation).or_default().push((run, is_held));
    }
    older
}

/// Returns whether lines recorded in `directory` may be kept. An empty string stands for an unrecorded
/// directory.
fn allows(policy: &CapturePolicy, directory: &str) -> bool {
    if directory.is_empty() { policy.allows_unknown() } else { policy.allows_directory(directory) }
}
