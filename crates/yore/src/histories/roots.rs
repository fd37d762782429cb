//! Finds the folders of agents' histories on this computer.

use std::path::{Path, PathBuf};

use yore_engine::Engine;
use yore_engine::ingest::{SourceRoot, unreadable};
use yore_sources::disk::may_exist;
use yore_sources::source::{Nature, SOURCES, Source, source_named};

use crate::config::{Config, ConfigError};
use crate::error::CliResult;
use crate::settings::Settings;

/// Returns the roots where the known agents keep their histories, as configured.
pub fn default_roots(settings: &Settings) -> Result<Vec<SourceRoot>, ConfigError> {
    Ok(roots_of(&settings.own_config()?, settings))
}

fn roots_of(config: &Config, settings: &Settings) -> Vec<SourceRoot> {
    let mut roots: Vec<SourceRoot> = Vec::new();
    if !config.capture.enabled {
        return roots;
    }
    for source in SOURCES {
        let Some(chosen) = config.sources.of(source.kind()).filter(|chosen| chosen.enabled) else { continue };
        let paths = if chosen.roots.is_empty() {
            let mut paths = settings.places(*source);
            paths.retain(|path| may_exist(path));
            // What agents leave in a project is looked for in the current directory and above.
            let left = source.file_in_project().into_iter();
            let left = left.flat_map(|name| settings.here.iter().flat_map(|here| here.ancestors()).map(move |at| at.join(name)));
            paths.extend(left.filter(|path| path.exists()));
            paths
        } else {
            chosen.roots.iter().map(|root| expand_home(root, settings)).filter(|path| may_exist(path)).collect()
        };
        for path in paths {
            let root = SourceRoot { source: source.kind().to_owned(), path };
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
    }
    roots
}

/// Returns the files and folders of a source below these roots that cannot be read now, and why.
pub fn unreadable_of(source: &dyn Source, roots: &[SourceRoot]) -> Vec<(PathBuf, String)> {
    let mut found: Vec<(PathBuf, String)> = Vec::new();
    for root in roots.iter().filter(|root| root.source == source.kind()) {
        let path = root.path.canonicalize().unwrap_or_else(|_| root.path.clone());
        found.extend(unreadable(source, &path));
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the default roots, and the files and folders that agents without a place of their own left in directories that
/// `engine` knows.
pub fn known_roots(engine: &Engine, settings: &Settings) -> CliResult<Vec<SourceRoot>> {
    let config = settings.own_config()?;
    let mut roots = roots_of(&config, settings);
    let has_none =
        |source: &&&dyn Source| config.sources.of(source.kind()).is_some_and(|chosen| chosen.enabled && chosen.roots.is_empty());
    let files: Vec<(&str, &str)> = SOURCES
        .iter()
        .filter(|_| config.capture.enabled)
        .filter(has_none)
        .filter_map(|source| Some((source.kind(), source.file_in_project()?)))
        .collect();
    for directory in if files.is_empty() { Vec::new() } else { engine.project_directories()? } {
        for (source, name) in &files {
            let root = SourceRoot { source: (*source).to_owned(), path: Path::new(&directory).join(name) };
            if root.path.exists() && !roots.contains(&root) {
                roots.push(root);
            }
        }
    }
    Ok(roots)
}

fn expand_home(path: &Path, settings: &Settings) -> PathBuf {
    match (path.strip_prefix("~"), &settings.paths.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}

/// Returns the default roots of conversations, without those of documents.
pub fn conversation_roots(settings: &Settings) -> Result<Vec<SourceRoot>, ConfigError> {
    let mut roots = default_roots(settings)?;
    roots.retain(|root| source_named(&root.source).is_some_and(|source| source.nature() == Nature::Conversation));
    Ok(roots)
}
