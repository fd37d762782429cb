//! Checks the memories of a project, or of an answer, against its working tree, and stores the verdicts.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use yore_core::id::{MemoryId, ProjectId};
use yore_core::memory::{Anchor, AnchorKind, AnchorVerdict, Memory, Verdict};
use yore_core::time::UtcMillis;

use super::branches::are_merged;
use super::{Effort, Spoken, judge};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{Found, Hit};
use crate::store::{Memories, MemoryKey, ProjectSummary, StoredVerdict};
use yore_sources::project_names::{ProjectNames, names_of};

/// Most memories of a project that are judged at once, the newest.
const MOST_JUDGED: usize = 20_000;
/// Effort for the memories of a project, and for those of an answer, which somebody waits for.
const OF_PROJECT: Effort = Effort { time: Duration::from_secs(120), only_files: false };
const OF_ANSWER: Effort = Effort { time: Duration::from_millis(300), only_files: true };

/// Counts of verdicts, and the memories whose ground has changed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct CodeReport {
    /// Projects whose working tree was looked at.
    pub projects: u64,
    /// Projects of which no working tree was found.
    pub without_tree: Vec<String>,
    /// Projects whose repository could not be read: name and reason.
    pub failed: Vec<(String, String)>,
    /// Memories that speak of things which are as they were.
    pub fresh: u64,
    /// Memories that speak of things of which nothing is known there.
    pub unknown: u64,
    /// Those that drifted, and those that are orphaned.
    pub changed: Vec<CheckedMemory>,
    /// Facts of branches that hold everywhere now, since their branch was merged.
    pub merged: u64,
}

/// A memory with its verdict.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CheckedMemory {
    /// The memory.
    pub memory: Memory,
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict on each thing that it speaks of.
    pub found: Vec<AnchorVerdict>,
}

impl Engine {
    /// Judges the memories of projects by their working trees, and stores the verdicts. `named`: names of projects; none: all whose
    /// repository is on this computer. `goes_on` is asked before each project.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`]. A repository that cannot be read is told in the report.
    pub fn check_code(&self, named: &[String], goes_on: &mut dyn FnMut() -> bool) -> Result<CodeReport, EngineError> {
        let wanted = self.project_ids(named)?;
        let mut report = CodeReport::default();
        for project in self.projects()?.into_iter().filter(|project| wanted.is_empty() || wanted.contains(&project.id)) {
            if !goes_on() {
                break;
            }
            let memories = self.store().memories(Memories::Anchored(project.id, MOST_JUDGED))?;
            let memories: Vec<AnchoredMemory> =
                memories.into_iter().map(|(row, memory)| AnchoredMemory::of(row, &memory)).collect();
            let has_branches = !self.open_branches(project.id)?.is_empty();
            if memories.is_empty() && !has_branches {
                continue;
            }
            let trees = self.directories(&project)?;
            if has_branches {
                report.merged += self.settle_those_merged(project.id, &trees)?;
            }
            if memories.is_empty() {
                continue;
            }
            let Some(judged) = trees.iter().find_map(|tree| judged(tree, &memories, OF_PROJECT)) else {
                report.without_tree.push(project.name);
                continue;
            };
            let verdicts = match judged {
                Ok(verdicts) => verdicts,
                Err(reason) => {
                    report.failed.push((project.name, reason));
                    continue;
                }
            };
            report.projects += 1;
            self.note_verdicts(memories.iter().map(|memory| memory.row).zip(&verdicts))?;
            for (memory, found) in memories.iter().zip(verdicts) {
                match AnchorVerdict::of_all(&found) {
                    None => report.unknown += 1,
                    Some(Verdict::Fresh) => report.fresh += 1,
                    Some(verdict) => {
                        // It may have been forgotten meanwhile.
                        let memory = self.store().memory(memory.id)?;
                        report.changed.extend(memory.map(|memory| CheckedMemory { memory, verdict, found }));
                    }
                }
            }
        }
        Ok(report)
    }

    /// Returns the things that a memory speaks of and that were changed, moved or removed when a working tree was last looked at.
    ///
    /// # Errors
    /// As [`Self::memory`].
    pub fn code_verdicts(&self, id: &str) -> Result<Vec<AnchorVerdict>, EngineError> {
        let id = self.memory(id)?.memory.id;
        let known = self.store().memories(Memories::Named(&id.to_string(), 1))?;
        let rows: Vec<MemoryKey> = known.iter().map(|(row, _)| *row).collect();
        let found = self.store().verdicts_of(&rows)?.into_values().flat_map(|stored| stored.found);
        Ok(found.filter(|one| one.verdict != Verdict::Fresh).collect())
    }

    /// Lets the facts of branches that were merged hold everywhere; returns how many stood beside something that they exclude. A
    /// repository that cannot be read tells nothing.
    fn settle_those_merged(&self, project: ProjectId, trees: &[String]) -> Result<u64, EngineError> {
        let branches = if self.store().is_passive() { Vec::new() } else { self.open_branches(project)? };
        if branches.is_empty() {
            return Ok(0);
        }
        let known = trees.iter().find_map(|tree| are_merged(Path::new(tree), &branches).ok());
        let mut count = 0;
        for ((branch, _), _) in branches.iter().zip(known.into_iter().flatten()).filter(|(_, is_merged)| *is_merged) {
            count += self.settle_merged(project, branch)?;
        }
        Ok(count)
    }

    /// Judges the memories among hits by the working tree of a directory, if they belong to its project, and marks them. It stores
    /// nothing: [`Self::check_code`] does.
    ///
    /// # Errors
    /// The store cannot be read. A repository that cannot be read changes nothing.
    pub fn check_found(&self, here: &ProjectNames, hits: &mut [Hit]) -> Result<(), EngineError> {
        let speaks_of_code = |hit: &Hit| match &hit.found {
            Found::Memory(found) => found.memory.anchors.iter().any(|anchor| anchor.kind != AnchorKind::Error),
            Found::Turn(_) => false,
        };
        let Some(directory) = here.directory().filter(|_| here.is_in_repository()) else { return Ok(()) };
        if !hits.iter().any(speaks_of_code) {
            return Ok(());
        }
        let Some(project) = self.project_of(here)? else { return Ok(()) };
        let mut found: Vec<_> = hits
            .iter_mut()
            .filter(|hit| speaks_of_code(hit))
            .filter_map(|hit| match &mut hit.found {
                Found::Memory(found) if found.memory.project == Some(project) => Some(found),
                _ => None,
            })
            .collect();
        let memories: Vec<AnchoredMemory> = found
            .iter()
            .map(|found| AnchoredMemory { anchors: found.memory.anchors.clone(), ..AnchoredMemory::of(found.row, &found.memory) })
            .collect();
        let Some(Ok(verdicts)) = judged(directory, &memories, OF_ANSWER) else { return Ok(()) };
        let is_file = |verdict: &AnchorVerdict| verdict.anchor.kind == AnchorKind::SourceFile || verdict.anchor.kind.is_of_tool();
        for (found, own) in found.iter_mut().zip(verdicts) {
            // Verdicts on names and commits stay.
            found.changed.retain(|one| !is_file(one));
            found.changed.extend(own.into_iter().filter(|one| one.verdict != Verdict::Fresh));
        }
        Ok(())
    }

    /// Returns the directories of a project that are there and still belong to it, repositories of their own before others.
    fn directories(&self, project: &ProjectSummary) -> Result<Vec<String>, EngineError> {
        let mut found = Vec::new();
        for (_, directory) in project.aliases.iter().filter(|(kind, _)| kind == "directory") {
            if Path::new(directory).is_dir() && self.project_of(&names_of(directory))? == Some(project.id) {
                found.push(directory.clone());
            }
        }
        found.sort_by_key(|directory| !Path::new(directory).join(".git").is_dir());
        Ok(found)
    }

    fn note_verdicts<'v>(&self, verdicts: impl Iterator<Item = (MemoryKey, &'v Vec<AnchorVerdict>)>) -> Result<(), EngineError> {
        let at = self.now();
        let stored = |found: &[AnchorVerdict]| {
            AnchorVerdict::of_all(found).map(|verdict| StoredVerdict { verdict, found: found.to_vec(), at })
        };
        let rows: Vec<(MemoryKey, Option<StoredVerdict>)> = verdicts.map(|(row, found)| (row, stored(found))).collect();
        Ok(self.store().put_verdicts(&rows)?)
    }
}

/// A memory that speaks of things in a repository.
struct AnchoredMemory {
    row: MemoryKey,
    id: MemoryId,
    at: UtcMillis,
    anchors: Vec<Anchor>,
}

impl AnchoredMemory {
    fn of(row: MemoryKey, memory: &Memory) -> Self {
        let mut anchors = memory.anchors.clone();
        anchors.sort_by(|a, b| (a.kind.as_str(), &a.text).cmp(&(b.kind.as_str(), &b.text)));
        Self { row, id: memory.id, at: memory.valid_from.unwrap_or(memory.recorded), anchors }
    }
}

/// Returns the verdicts of a working tree on memories, or why it cannot be read; `None` if it is none.
fn judged(directory: &str, memories: &[AnchoredMemory], effort: Effort) -> Option<Result<Vec<Vec<AnchorVerdict>>, String>> {
    let spoken = |memory: &AnchoredMemory| {
        let mut commits = memory.anchors.iter().filter(|anchor| anchor.kind == AnchorKind::Commit);
        // The only commit that it names is that of which it speaks.
        let commit = commits.next().filter(|_| commits.next().is_none()).map(|anchor| anchor.text.trim().to_lowercase());
        Spoken { anchors: memory.anchors.clone(), at: memory.at, commit }
    };
    let spoken: Vec<Spoken> = memories.iter().map(spoken).collect();
    judge(Path::new(directory), &spoken, effort).map_err(|error| error.to_string()).transpose()
}
