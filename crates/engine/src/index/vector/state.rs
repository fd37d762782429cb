//! A snapshot of a vector index: its segments at one moment and their live turns.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bits::Bits;
use super::error::{ResetReason, VectorError};
use super::manifest::{self, Manifest, Owner};
use super::merge::Weight;
use super::segment::{Segment, SegmentRecord};

/// Number of attempts of a reader when a writer changes the files meanwhile.
const ATTEMPTS: usize = 20;

/// A segment with the state of its turns.
#[derive(Debug)]
pub(super) struct Member {
    pub segment: Arc<Segment>,
    /// Turns that newer segments replaced or removed; `None` if there are none.
    pub dead: Option<Bits>,
    pub live_turns: usize,
    pub live_rows: usize,
}

impl Member {
    /// Returns its weight for merging, if segments of at least this many rows have sketches.
    pub(super) fn weight(&self, sketched_from: usize) -> Weight {
        let record = &self.segment.record;
        Weight {
            live: self.live_rows as u64 + u64::from(record.touched),
            dead: u64::from(record.rows) - self.live_rows as u64,
            lacks_sketches: !record.is_sketched && self.live_rows >= sketched_from,
        }
    }
}

/// Everything that a search needs, as of one moment.
#[derive(Debug)]
pub(super) struct State {
    pub manifest: Manifest,
    /// The segments, oldest first.
    pub members: Vec<Member>,
    /// The manifest's bytes; `None` if there is none.
    pub seen: Option<Vec<u8>>,
    pub reset: Option<ResetReason>,
}

impl State {
    /// Makes a state without segments, with which the owner starts again.
    pub(super) fn empty(owner: &Owner, seen: Option<Vec<u8>>) -> Self {
        Self { manifest: Manifest::empty(owner.clone()), members: Vec::new(), seen, reset: Some(ResetReason::Missing) }
    }

    /// Makes a state of these segments, oldest first, as the manifest lists them.
    pub(super) fn new(manifest: Manifest, seen: Vec<u8>, segments: Vec<Arc<Segment>>) -> Self {
        let mut dead: Vec<Option<Bits>> = segments.iter().map(|_| None).collect();
        let mut live: Vec<(usize, usize)> =
            segments.iter().map(|segment| (segment.record.turns as usize, segment.record.rows as usize)).collect();
        for (newer, segment) in segments.iter().enumerate() {
            for (older, hidden) in segments.iter().enumerate().take(newer) {
                for at in segment.touched().iter().filter_map(|turn| hidden.find(*turn)) {
                    if dead[older].get_or_insert_with(|| Bits::new(hidden.record.turns as usize)).set(at) {
                        live[older].0 -= 1;
                        live[older].1 -= hidden.columns().rows(at..at + 1).len();
                    }
                }
            }
        }
        let members = segments
            .into_iter()
            .zip(dead)
            .zip(live)
            .map(|((segment, dead), (live_turns, live_rows))| Member { segment, dead, live_turns, live_rows })
            .collect();
        Self { manifest, members, seen: Some(seen), reset: None }
    }

    /// Returns the segment in which a turn is live, and its position there.
    pub(super) fn find(&self, turn: i64) -> Option<(usize, usize)> {
        self.members.iter().enumerate().rev().find_map(|(member, Member { segment, dead, .. })| {
            let at = segment.find(turn)?;
            dead.as_ref().is_none_or(|dead| !dead.has(at)).then_some((member, at))
        })
    }
}

/// Reads the files in the directory; `None` if nothing changed since `known`.
pub(super) fn load(directory: &Path, owner: &Owner, known: Option<&State>) -> Result<Option<State>, VectorError> {
    let path = directory.join(manifest::NAME);
    load_by(directory, owner, known, &mut || match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(VectorError::io(&path, error)),
    })
}

/// Does [`load`] with another way to read the manifest.
pub(super) fn load_by(
    directory: &Path,
    owner: &Owner,
    known: Option<&State>,
    read: &mut dyn FnMut() -> Result<Option<Vec<u8>>, VectorError>,
) -> Result<Option<State>, VectorError> {
    let mut bytes = read()?;
    for _ in 0..ATTEMPTS {
        if known.is_some_and(|known| known.seen == bytes) {
            return Ok(None);
        }
        let Some(found) = bytes.take() else { return Ok(Some(State::empty(owner, None))) };
        let reason = match Manifest::parse(&found, owner) {
            Err(reason) => reason,
            Ok(manifest) => match open_all(directory, &manifest, known) {
                Ok(segments) => return Ok(Some(State::new(manifest, found, segments))),
                Err((path, error)) => match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::InvalidData => {
                        ResetReason::Damaged(format!("{}: {error}", path.display()))
                    }
                    _ => return Err(VectorError::io(&path, error)),
                },
            },
        };
        // A writer may have merged the segments away after their names were read.
        bytes = read()?;
        if bytes.as_ref() == Some(&found) {
            return Ok(Some(State { reset: Some(reason), ..State::empty(owner, bytes) }));
        }
    }
    let busy = io::Error::new(io::ErrorKind::WouldBlock, "it changes faster than it can be read");
    Err(VectorError::io(directory, busy))
}

fn open_all(directory: &Path, manifest: &Manifest, known: Option<&State>) -> Result<Vec<Arc<Segment>>, (PathBuf, io::Error)> {
    let known = known.map_or(&[][..], |known| &known.members);
    let open = |record: &SegmentRecord| match known.iter().find(|member| member.segment.record == *record) {
        Some(member) => Ok(member.segment.clone()),
        None => Segment::open(directory, manifest.owner.dimensions, record, false)
            .map(Arc::new)
            .map_err(|error| (directory.join(record.name()), error)),
    };
    manifest.segments.iter().map(open).collect()
}
