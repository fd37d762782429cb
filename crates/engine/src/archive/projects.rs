//! Finds, lists, renames and merges projects, and proposes which to merge.

use std::collections::HashMap;
use std::path::Path;

use yore_core::scope::ProjectAlias;

use crate::engine::Engine;
use crate::error::{EngineError, ProjectNameError};
use crate::ingest::first_commit;
use crate::retrieve;
use crate::store::{Moved, ProjectChange, ProjectKey, ProjectMerge, ProjectSummary};
use yore_sources::project_names::ProjectNames;

/// How a project is looked for.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectQuery {
    /// By a directory: the project whose repository it is in, else the nearest known directory above it.
    Directory(ProjectNames),
    /// By its name, its id, an unambiguous beginning of that, or one of its directories.
    Name(String),
}

impl Engine {
    /// Lists projects, last used first.
    pub fn projects(&self) -> Result<Vec<ProjectSummary>, EngineError> {
        Ok(self.store().project_summaries(None)?)
    }

    /// Returns the names of all projects, each once, without counting what belongs to them.
    pub fn project_names(&self) -> Result<Vec<String>, EngineError> {
        let mut names: Vec<String> = self.store().projects()?.into_iter().map(|project| project.name).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Finds the project that a query means; `None` if there is none.
    ///
    /// # Errors
    /// [`EngineError::AmbiguousId`] if several projects have the name.
    pub fn find_project(&self, query: &ProjectQuery) -> Result<Option<ProjectSummary>, EngineError> {
        let row = match query {
            ProjectQuery::Directory(names) => retrieve::project_here(self.store(), names)?,
            ProjectQuery::Name(name) => match self.only_project(name) {
                Err(EngineError::UnknownProject { .. }) => None,
                found => Some(found?),
            },
        };
        let Some(row) = row else { return Ok(None) };
        Ok(self.store().project_summaries(Some(row))?.pop())
    }

    /// The directory by which a note or page from the directory `here` gets its project: `here` itself, where a
    /// repository or a known project is around it. `None`: it belongs to no project and holds everywhere.
    pub fn directory_of_note(&self, here: &ProjectNames) -> Result<Option<String>, EngineError> {
        let is_project = here.is_in_repository() || retrieve::project_here(self.store(), here)?.is_some();
        Ok(here.directory().filter(|_| is_project).map(str::to_owned))
    }

    /// Returns the only project with a name, an id or a directory.
    pub(crate) fn only_project(&self, name: &str) -> Result<ProjectKey, EngineError> {
        match retrieve::projects_named(self.store(), &[name.to_owned()])?.as_slice() {
            [row] => Ok(*row),
            rows => Err(EngineError::AmbiguousId {
                id: name.to_owned(),
                candidates: self
                    .projects()?
                    .into_iter()
                    .filter(|project| rows.contains(&project.row))
                    .map(|project| project.id.short())
                    .collect(),
            }),
        }
    }

    /// Renames a project; `project` is its name, its id or a directory. Its directories and its repository
    /// still identify it.
    ///
    /// # Errors
    /// [`EngineError::BadProjectName`] when the name is not valid or another project has it.
    pub fn rename_project(&self, project: &str, name: &str) -> Result<(), EngineError> {
        const LONGEST: usize = 100;
        let name = name.trim();
        if name.is_empty() || name.chars().count() > LONGEST || name.chars().any(char::is_control) {
            return Err(ProjectNameError::Invalid.into());
        }
        let row = self.only_project(project)?;
        if self.store().projects()?.iter().any(|other| other.key != row && other.name.eq_ignore_ascii_case(name)) {
            return Err(ProjectNameError::Taken.into());
        }
        self.store().change_project(ProjectChange::Rename(row, name), self.now())?;
        Ok(())
    }

    /// Merges the project `from` into `into`. `place` is the directory that `into` names, where
    /// no project has this name: its project becomes known, if it is not.
    pub fn merge_projects(&self, from: &str, into: &str, place: Option<&ProjectNames>) -> Result<ProjectMerged, EngineError> {
        let from = self.only_project(from)?;
        let into = match (self.only_project(into), place) {
            (Err(EngineError::UnknownProject { .. }), Some(names)) => match retrieve::project_here(self.store(), names)? {
                Some(row) => row,
                None => {
                    let id = self.store().known_project(None, &names.aliases, &names.name, self.now())?;
                    self.only_project(&id.to_string())?
                }
            },
            (found, _) => found?,
        };
        let names: HashMap<ProjectKey, String> =
            self.store().projects()?.into_iter().map(|known| (known.key, known.name)).collect();
        let name = |row| names.get(&row).cloned().unwrap_or_default();
        let mut merged = ProjectMerged { from: name(from), into: name(into), moved: Moved::default() };
        if from == into {
            return Err(ProjectNameError::Same.into());
        }
        merged.moved = self.store().change_project(ProjectChange::Merge { from, into }, self.now())?.unwrap_or_default();
        self.sync_index(2_000, &mut |_| {})?;
        Ok(merged)
    }

    /// Undoes the last merge, or the last one of the project that had a name: it is a project of its own again, with
    /// what it had then.
    ///
    /// # Errors
    /// [`EngineError::BadProjectName`] when there is no such merge.
    pub fn undo_merge(&self, named: Option<&str>) -> Result<ProjectMerged, EngineError> {
        let is_meant = |merge: &ProjectMerge| {
            named.is_none_or(|named| merge.from_name.eq_ignore_ascii_case(named) || merge.from.short().starts_with(named))
        };
        let Some(merge) = self.store().project_merges()?.into_iter().find(is_meant) else {
            return Err(ProjectNameError::NotMerged.into());
        };
        let into = self.store().projects()?.into_iter().find(|known| known.id == merge.into);
        let moved = self.store().change_project(ProjectChange::UndoMerge(merge.number), self.now())?.unwrap_or_default();
        self.sync_index(2_000, &mut |_| {})?;
        Ok(ProjectMerged { from: merge.from_name, into: into.map(|into| into.name).unwrap_or_default(), moved })
    }

    /// Returns the projects that may be another one under an older name or in a folder that is gone. Nothing is merged
    /// by itself: a person decides.
    pub fn merge_offers(&self) -> Result<Vec<MergeOffer>, EngineError> {
        let known = self.places()?;
        let commits = self.first_commits()?;
        let commit_of = |row| commits.iter().find(|(known, _)| *known == row).map(|(_, commit)| commit);
        let mut offers = Vec::new();
        for old in known.iter().filter(|old| old.is_gone) {
            let same_commit =
                |other: &&Place| !other.is_gone && commit_of(old.row).is_some_and(|commit| commit_of(other.row) == Some(commit));
            let same_name =
                |other: &&Place| other.row != old.row && !old.has_remote && other.name.eq_ignore_ascii_case(&old.name);
            let named: Vec<&Place> = known.iter().filter(same_name).collect();
            let there: Vec<&Place> = named.iter().copied().filter(|other| !other.is_gone).collect();
            let moved: Vec<&Place> = known.iter().filter(same_commit).collect();
            let of_name = match (there.as_slice(), named.as_slice()) {
                ([other], _) => Some(*other),
                ([], [other]) if other.has_remote => Some(*other),
                _ => None,
            };
            let (into, is_same_commit) = match (moved.as_slice(), of_name) {
                ([other], _) => (*other, true),
                (_, Some(other)) => (other, false),
                _ => continue,
            };
            offers.push(MergeOffer {
                from: old.argument(&known),
                name: old.name.clone(),
                directory: old.directory.clone(),
                into: into.argument(&known),
                is_same_commit,
            });
        }
        Ok(offers)
    }

    /// Returns the project whose folder is gone and whose first commit the repository of `here` has.
    pub(crate) fn moved_here(&self, here: &ProjectNames) -> Result<Option<MergeOffer>, EngineError> {
        let commits = self.first_commits()?;
        if commits.is_empty() {
            return Ok(None);
        }
        let known = self.places()?;
        let own = retrieve::project_here(self.store(), here)?;
        let old = |row: ProjectKey| known.iter().find(|place| place.row == row && place.is_gone && Some(row) != own);
        if commits.iter().all(|(row, _)| old(*row).is_none()) {
            return Ok(None);
        }
        let recorded = commits.iter().find(|(row, _)| Some(*row) == own).map(|(_, commit)| commit.clone());
        let git = here.aliases.iter().find(|(alias, _)| matches!(alias, ProjectAlias::GitDir(_)));
        let Some(commit) = recorded.or_else(|| git.and_then(|(_, directory)| first_commit(directory))) else {
            return Ok(None);
        };
        let mut found = commits.iter().filter(|(_, known)| *known == commit).filter_map(|(row, _)| old(*row));
        let (Some(old), None) = (found.next(), found.next()) else { return Ok(None) };
        let of_project = own.and_then(|own| known.iter().find(|place| place.row == own));
        Ok(Some(MergeOffer {
            from: old.argument(&known),
            name: old.name.clone(),
            directory: old.directory.clone(),
            into: of_project.map_or_else(|| here.directory().unwrap_or(".").to_owned(), |project| project.argument(&known)),
            is_same_commit: true,
        }))
    }

    /// Returns the first commits that are known, by project.
    fn first_commits(&self) -> Result<Vec<(ProjectKey, String)>, EngineError> {
        let known = self.store().projects()?.into_iter();
        Ok(known.flat_map(|known| known.first_commits.into_iter().map(move |commit| (known.key, commit))).collect())
    }

    /// Returns the projects with directories on this computer or another, and whether they are there.
    fn places(&self) -> Result<Vec<Place>, EngineError> {
        let places = self.store().projects()?.into_iter().map(|known| {
            let directories: Vec<&String> = known.recorded("directory").collect();
            let name = known.name.clone();
            Place {
                row: known.key,
                short: known.id.short(),
                is_gone: !directories.is_empty() && directories.iter().all(|directory| !Path::new(directory).exists()),
                has_remote: known.recorded("remote").next().is_some(),
                directory: directories.first().map(|directory| (*directory).clone()).unwrap_or_default(),
                name,
            }
        });
        Ok(places.collect())
    }
}

/// The result of a merge of two projects, or of its undoing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProjectMerged {
    /// Name of the project that became part of the other.
    pub from: String,
    /// Name of the other.
    pub into: String,
    /// What changed its project.
    pub moved: Moved,
}

/// Two projects that may be one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MergeOffer {
    /// The older project, as `yore projects merge` takes it.
    pub from: String,
    /// Its name.
    pub name: String,
    /// Its directory, which is gone.
    pub directory: String,
    /// The project that it seems to be now, as `yore projects merge` takes it.
    pub into: String,
    /// True if both have the same first commit, false if they only have the same name.
    pub is_same_commit: bool,
}

/// A project and its folders.
struct Place {
    row: ProjectKey,
    short: String,
    name: String,
    /// True if it has directories, and none is there.
    is_gone: bool,
    has_remote: bool,
    /// Its first directory, as recorded.
    directory: String,
}

impl Place {
    /// Returns the argument that names the project: its name if that is plain and its own, else its id.
    fn argument(&self, known: &[Self]) -> String {
        let is_plain = self.name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.'));
        let is_own = known.iter().filter(|other| other.name.eq_ignore_ascii_case(&self.name)).count() == 1;
        if is_plain && is_own { self.name.clone() } else { self.short.clone() }
    }
}
