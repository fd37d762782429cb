//! [`VectorWriter`], the one writer of a vector index. Every method leaves a state that readers can open, whenever the process is
//! killed: files are complete before the manifest names them, and are removed after it no longer does.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::batch::VectorBatch;
use super::error::VectorError;
use super::manifest::{self, Manifest, remove_if_there, sync_directory};
use super::merge::{due, live_runs};
use super::segment::{Plan, SUFFIX, Segment, file_name, write};
use super::state::{State, load};
use super::tuning::Tuning;
use super::vector_index::VectorIndex;
use crate::platform::FileLock;

/// The file that a writer locks.
const LOCK: &str = "lock";

/// Result of writing a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Vectors that were added.
    pub rows: u64,
    /// Turns that had no vectors before.
    pub added: u64,
    /// Turns whose vectors were replaced.
    pub replaced: u64,
    /// Turns whose vectors were removed.
    pub removed: u64,
}

/// The only writer of an index; others wait until it is dropped.
#[derive(Debug)]
pub struct VectorWriter<'i> {
    index: &'i VectorIndex,
    _lock: FileLock,
}

impl<'i> VectorWriter<'i> {
    pub(super) fn new(index: &'i VectorIndex) -> Result<Option<Self>, VectorError> {
        let path = index.directory.join(LOCK);
        let fail = |error| VectorError::io(&path, error);
        let Some(lock) = FileLock::take(&path).map_err(fail)? else { return Ok(None) };
        if let Some(state) = load(&index.directory, &index.owner, Some(&index.state()))? {
            index.publish(state);
        }
        let writer = Self { index, _lock: lock };
        writer.forget_foreign_manifest()?;
        // A system that does not remove mapped files leaves them to a later writer; new segments get free
        // names.
        let _ = writer.remove_leftovers();
        Ok(Some(writer))
    }

    /// Writes the changes as one segment, together with the caller's position. An empty batch only changes
    /// the position.
    pub fn apply(&mut self, batch: &VectorBatch, position: u64) -> Result<Written, VectorError> {
        let dimensions = self.index.owner.dimensions;
        if batch.dimensions() != dimensions {
            return Err(VectorError::Dimensions { expected: dimensions, found: batch.dimensions() });
        }
        let state = self.index.state();
        let mut written = Written::default();
        let mut touched = Vec::new();
        for (turn, has_vectors) in batch.changed() {
            let is_known = state.find(turn).is_some();
            if is_known {
                touched.push(turn);
            }
            match (is_known, has_vectors) {
                (true, true) => written.replaced += 1,
                (true, false) => written.removed += 1,
                (false, true) => written.added += 1,
                (false, false) => {}
            }
        }
        let runs = batch.runs();
        let mut manifest = Manifest { position, ..state.manifest.clone() };
        let mut segments: Vec<Arc<Segment>> = state.members.iter().map(|member| member.segment.clone()).collect();
        if !runs.is_empty() || !touched.is_empty() {
            let columns = batch.columns();
            // Sketches are made when it is merged with others, or at the next merge alone.
            let plan = Plan { inputs: &[columns.view()], runs: &runs, touched: &touched, sketched_from: None };
            let segment = self.write(&mut manifest, &plan)?;
            written.rows = u64::from(segment.record.rows);
            segments.push(segment);
        } else if state.reset.is_none() && state.manifest.position == position {
            return Ok(written);
        }
        self.commit(manifest, segments)?;
        Ok(written)
    }

    /// Merges segments that are too many or mostly dead, and returns the number of rows written. Call it
    /// after every change, or once after many: searches are slower until then.
    pub fn merge(&mut self) -> Result<u64, VectorError> {
        let Tuning { merge_floor, sketched_from, .. } = self.index.tuning;
        let mut rows = 0;
        loop {
            let weights: Vec<_> = self.index.state().members.iter().map(|member| member.weight(sketched_from)).collect();
            match due(&weights, merge_floor) {
                Some(range) => rows += self.merge_range(range)?,
                None => return Ok(rows),
            }
        }
    }

    /// Merges everything into one segment; no byte of a removed or replaced vector stays in the index.
    /// Returns the number of rows written.
    #[cfg(test)]
    pub fn merge_all(&mut self) -> Result<u64, VectorError> {
        let members = self.index.state();
        match members.members.as_slice() {
            [] => Ok(0),
            [super::state::Member { dead: None, segment, .. }] if segment.record.touched == 0 => Ok(0),
            members => self.merge_range(0..members.len()),
        }
    }

    /// Removes every file of the index but the lock. Afterwards the index is empty, like a new one.
    pub fn purge(&mut self) -> Result<(), VectorError> {
        self.index.publish(State::empty(&self.index.owner, None));
        let directory = &self.index.directory;
        let remove = |path: &Path| remove_if_there(path).map_err(|error| VectorError::io(path, error));
        // Without the manifest no other file counts.
        remove(&directory.join(manifest::NAME))?;
        sync_directory(directory);
        self.remove_leftovers()?;
        sync_directory(directory);
        Ok(())
    }

    fn merge_range(&mut self, range: Range<usize>) -> Result<u64, VectorError> {
        let state = self.index.state();
        let inputs: Vec<_> =
            state.members[range.clone()].iter().map(|member| (member.segment.columns(), member.dead.as_ref())).collect();
        let runs = live_runs(&inputs);
        let columns: Vec<_> = inputs.into_iter().map(|(columns, _)| columns).collect();
        // Turns hidden in segments that stay must stay hidden.
        let mut touched: Vec<i64> =
            state.members[range.clone()].iter().flat_map(|member| member.segment.touched().iter().copied()).collect();
        touched.sort_unstable();
        touched.dedup();
        touched.retain(|turn| state.members[..range.start].iter().any(|older| older.segment.find(*turn).is_some()));
        let mut manifest = state.manifest.clone();
        let mut segments: Vec<Arc<Segment>> = state.members.iter().map(|member| member.segment.clone()).collect();
        let mut rows = 0;
        let merged = if runs.is_empty() && touched.is_empty() {
            None
        } else {
            let sketched_from = Some(self.index.tuning.sketched_from);
            let plan = Plan { inputs: &columns, runs: &runs, touched: &touched, sketched_from };
            let segment = self.write(&mut manifest, &plan)?;
            rows = u64::from(segment.record.rows);
            Some(segment)
        };
        let old: Vec<Arc<Segment>> = segments.splice(range, merged).collect();
        self.commit(manifest, segments)?;
        for segment in old {
            // A system that does not remove a mapped file leaves it to a later writer.
            let _ = std::fs::remove_file(segment.path());
        }
        Ok(rows)
    }

    /// Writes a segment under the manifest's next number.
    fn write(&self, manifest: &mut Manifest, plan: &Plan<'_>) -> Result<Arc<Segment>, VectorError> {
        let VectorIndex { directory, owner, .. } = self.index;
        let mut path = directory.join(file_name(manifest.next));
        while path.exists() {
            manifest.next += 1;
            path = directory.join(file_name(manifest.next));
        }
        let fail = |error| VectorError::io(&path, error);
        let record = write(directory, manifest.next, owner.dimensions, plan).map_err(fail)?;
        manifest.next += 1;
        Segment::open(directory, owner.dimensions, &record, true).map(Arc::new).map_err(fail)
    }

    fn commit(&self, mut manifest: Manifest, segments: Vec<Arc<Segment>>) -> Result<(), VectorError> {
        manifest.segments = segments.iter().map(|segment| segment.record.clone()).collect();
        let directory = &self.index.directory;
        let seen = manifest.replace(directory).map_err(|error| VectorError::io(&directory.join(manifest::NAME), error))?;
        self.index.publish(State::new(manifest, seen, segments));
        Ok(())
    }

    /// Removes the segments and drafts that killed writers and other owners left.
    fn remove_leftovers(&self) -> Result<(), VectorError> {
        let directory = &self.index.directory;
        let found = leftovers(directory, &self.index.state().manifest).map_err(|error| VectorError::io(directory, error))?;
        found.iter().try_for_each(|path| remove_if_there(path).map_err(|error| VectorError::io(path, error)))
    }

    /// Removes a manifest of another owner; the reason stays known.
    fn forget_foreign_manifest(&self) -> Result<(), VectorError> {
        let state = self.index.state();
        if state.reset.is_some() && state.seen.is_some() {
            let path = self.index.directory.join(manifest::NAME);
            remove_if_there(&path).map_err(|error| VectorError::io(&path, error))?;
            self.index.publish(State { reset: state.reset.clone(), ..State::empty(&self.index.owner, None) });
        }
        Ok(())
    }
}

/// Returns whether a writer should remove something.
pub(super) fn has_leftovers(directory: &Path, state: &State) -> bool {
    state.reset.is_some() && state.seen.is_some() || leftovers(directory, &state.manifest).is_ok_and(|found| !found.is_empty())
}

/// Returns the index's own files that the manifest does not list.
fn leftovers(directory: &Path, manifest: &Manifest) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_segment = name.ends_with(SUFFIX) && !manifest.segments.iter().any(|record| record.name() == name);
        if is_segment || name == manifest::DRAFT {
            found.push(entry.path());
        }
    }
    Ok(found)
}
