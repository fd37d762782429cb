//! Finds, lists, renames and merges projects.

use crate::engine::Engine;
use crate::error::EngineError;
use crate::ingest::ProjectNames;
use crate::retrieve;
use crate::store::{ProjectKey, ProjectSummary};

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
        Ok(self.store().projects()?)
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
        Ok(self.store().project(row)?)
    }

    /// The directory by which a note or page from the directory `here` gets its project: `here` itself, where a
    /// repository or a known project is around it. `None`: it belongs to no project and holds everywhere.
    pub fn directory_of_note(&self, here: &ProjectNames) -> Result<Option<String>, EngineError> {
        let is_project = here.is_in_repository() || retrieve::project_here(self.store(), here)?.is_some();
        Ok(here.directory().filter(|_| is_project).map(str::to_owned))
    }

    /// Returns the only project with a name, an id or a directory.
    fn only_project(&self, name: &str) -> Result<ProjectKey, EngineError> {
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
            return Err(EngineError::BadProjectName("a name has 1 to 100 characters, on one line"));
        }
        let row = self.only_project(project)?;
        if self.store().project_names()?.iter().any(|(other, _, known)| *other != row && known.eq_ignore_ascii_case(name)) {
            return Err(EngineError::BadProjectName("another project has this name: `yore projects merge` merges two projects"));
        }
        Ok(self.store().rename_project(row, name)?)
    }

    /// Merges the project `from` into `into`.
    pub fn merge_projects(&self, from: &str, into: &str) -> Result<(), EngineError> {
        let (from, into) = (self.only_project(from)?, self.only_project(into)?);
        if from != into {
            self.store().merge_projects(from, into)?;
            self.sync_index(2_000, &mut |_| {})?;
        }
        Ok(())
    }
}
