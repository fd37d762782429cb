//! Finds the project of a directory, and the projects that a name matches.

use yore_core::id::ProjectId;
use yore_core::scope::normalize_directory;

use crate::error::EngineError;
use crate::store::{ProjectKey, Store};
use yore_sources::project_names::ProjectNames;

/// Returns the projects with these names, ids (or unambiguous beginnings of them) or directories.
pub(crate) fn projects_named(store: &Store, wanted: &[String]) -> Result<Vec<ProjectKey>, EngineError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let known = store.project_names()?;
    let mut rows = Vec::new();
    for name in wanted {
        let matching = |test: &dyn Fn(&ProjectId, &str) -> bool| -> Vec<ProjectKey> {
            known.iter().filter(|(_, id, known)| test(id, known)).map(|(row, ..)| *row).collect()
        };
        let mut found = matching(&|_, known| known == name);
        if found.is_empty() {
            found = store.projects_by_alias(name, &normalize_directory(name))?;
        }
        if found.is_empty() {
            found = matching(&|_, known| known.eq_ignore_ascii_case(name));
        }
        if found.is_empty() && name.len() >= 4 {
            let prefix = name.to_lowercase();
            found = matching(&|id, _| id.short().starts_with(&prefix) || id.to_string().starts_with(&prefix));
        }
        if found.is_empty() {
            return Err(EngineError::UnknownProject {
                name: name.clone(),
                known: known.into_iter().map(|(_, _, name)| name).collect(),
            });
        }
        rows.extend(found);
    }
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}

/// Returns the known project of a directory: by its repository, else by the nearest parent directory that is
/// a project, but by none above a repository of its own.
pub(crate) fn project_here(store: &Store, here: &ProjectNames) -> Result<Option<ProjectKey>, EngineError> {
    Ok(project_around(store, here)?.map(|(row, _)| row))
}

/// Returns the same, with the parent directory by which the project is known, if it is known by that.
pub(crate) fn project_around(store: &Store, here: &ProjectNames) -> Result<Option<(ProjectKey, Option<String>)>, EngineError> {
    for (alias, _) in &here.aliases {
        if let Some(row) = store.project_by_alias(alias.kind(), alias.value())? {
            return Ok(Some((row, None)));
        }
    }
    for above in here.directories_above() {
        if let Some(row) = store.project_by_alias("directory", above)? {
            return Ok(Some((row, Some(above.to_owned()))));
        }
    }
    Ok(None)
}
