//! The work that waits for a person: pairs that may contradict or change each other, then memories that nobody confirmed.

use yore_core::conflict::ConflictSeverity;
use yore_core::memory::{Lane, Status};
use yore_engine::{ConflictPlace, MemoryFilter, MemoryList, OpenConflict, ProjectQuery, StoredMemory};
use yore_sources::project_names::ProjectNames;

use crate::cursor::Cursor;
use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult};

/// Most pairs that are counted.
const MOST_PAIRS: usize = 1_000;

/// The items that wait.
pub struct Waiting {
    /// Conflicts that are not settled, the gravest first.
    pub pairs: Vec<OpenConflict>,
    /// Number of all of them, at most [`MOST_PAIRS`].
    pub pairs_total: usize,
    /// Memories that nobody confirmed, the most doubtful and important first.
    pub doubtful: Vec<StoredMemory>,
    /// Number of all memories that nobody confirmed.
    pub total: usize,
}

/// Gathers at most `limit` items of projects; without names: of the project `here`, or of all.
pub fn gather(memory: &mut MemoryClient, projects: &[String], here: Option<ProjectNames>, limit: usize) -> CliResult<Waiting> {
    let list = MemoryList {
        filter: MemoryFilter {
            statuses: vec![Status::Holds, Status::Contested, Status::Proposed],
            lane: Some(Lane::Extracted),
            ..MemoryFilter::default()
        },
        projects: projects.to_vec(),
        here: here.clone().filter(|_| projects.is_empty()),
        is_by_doubt: true,
        limit,
        ..MemoryList::default()
    };
    let total = memory.count_memories(list.clone())? as usize;
    let mut doubtful = memory.memories(list)?;
    let projects = match here.filter(|_| projects.is_empty()) {
        Some(here) => memory.find_project(ProjectQuery::Directory(here))?.into_iter().map(|project| project.name).collect(),
        None => projects.to_vec(),
    };
    let mut pairs = memory.conflicts(projects, None, limit.max(MOST_PAIRS))?;
    let pairs_total = pairs.len();
    pairs.truncate(limit);
    doubtful.truncate(limit.saturating_sub(pairs.len()));
    Ok(Waiting { pairs, pairs_total, doubtful, total })
}

/// Returns the cursor after a conflict in the list with this letter.
pub fn cursor_of(list: char, (severity, at, newer, older): &ConflictPlace) -> Cursor {
    Cursor::of(list, *at, format!("{} {newer} {older}", severity.as_str()))
}

/// Reads the place of a conflict from a cursor.
///
/// # Errors
/// If the cursor is of another list.
pub fn place_of(cursor: &Cursor) -> CliResult<ConflictPlace> {
    let parts: Vec<&str> = cursor.id.split(' ').collect();
    let place = match parts.as_slice() {
        [severity, newer, older] => ConflictSeverity::parse(severity).zip(newer.parse().ok().zip(older.parse().ok())),
        _ => None,
    };
    let (severity, (newer, older)) = place.ok_or_else(|| CliError::usage("the cursor is of another list", None))?;
    Ok((severity, cursor.at, newer, older))
}
