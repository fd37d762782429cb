//! Finds the project of a directory, and the projects that a name matches.

use yore_core::scope::normalize_directory;

use crate::error::EngineError;
use crate::store::{ProjectKey, Store, StoredProject};
use yore_sources::project_names::ProjectNames;

/// Returns the projects with these names, ids (or unambiguous beginnings of them) or directories.
pub(crate) fn projects_named(store: &Store, wanted: &[String]) -> Result<Vec<ProjectKey>, EngineError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let known = store.projects()?;
    let mut rows = Vec::new();
    for name in wanted {
        let matching = |test: &dyn Fn(&StoredProject) -> bool| -> Vec<ProjectKey> {
            known.iter().filter(|known| test(known)).map(|known| known.key).collect()
        };
        let mut found = matching(&|known| known.name == *name);
        if found.is_empty() {
            let key = normalize_directory(name);
            found = matching(&|known| known.aliases.iter().any(|alias| alias.recorded == *name || alias.value == key));
        }
        if found.is_empty() {
            found = matching(&|known| known.name.eq_ignore_ascii_case(name));
        }
        if found.is_empty() && name.len() >= 4 {
            let prefix = name.to_lowercase();
            found = matching(&|known| known.id.short().starts_with(&prefix) || known.id.to_string().starts_with(&prefix));
        }
        if found.is_empty() {
            return Err(EngineError::UnknownProject {
                name: name.clone(),
                known: known.into_iter().map(|known| known.name).collect(),
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
    let known = store.projects()?;
    let with = |kind: &str, value: &str| {
        let is_meant = |known: &&StoredProject| known.aliases.iter().any(|alias| alias.kind == kind && alias.value == value);
        known.iter().find(is_meant).map(|known| known.key)
    };
    let own = here.aliases.iter().find_map(|(alias, _)| with(alias.kind(), alias.value()));
    let above = || here.directories_above().find_map(|above| Some((with("directory", above)?, Some(above.to_owned()))));
    Ok(own.map(|row| (row, None)).or_else(above))
}
