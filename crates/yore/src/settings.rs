//! Everything that was configured, and for which place: what every part of the program may keep a copy of.

use std::path::{Path, PathBuf};

use yore_engine::ingest::source::Source;
use yore_engine::ingest::{ProjectNames, names_of};

use crate::config::{Config, ConfigError, Environment, Layers, PROJECT_FILE, Resolved, Setting, UserFile, load};
use crate::models;
use crate::paths::Paths;

/// The settings of one command, and where they come from.
#[derive(Clone)]
pub struct Settings {
    /// Environment variables.
    pub environment: Environment,
    /// The settings that hold here.
    pub resolved: Resolved,
    /// Where things lie on this platform.
    pub paths: Paths,
    /// The person's settings.
    pub user_file: Option<UserFile>,
    /// The project's settings.
    pub project_file: Option<PathBuf>,
    /// Keys and values of the command line.
    pub flags: Vec<(String, String)>,
    /// The data directory.
    pub directory: PathBuf,
    /// The directory that is asked from.
    pub here: Option<PathBuf>,
}

impl Settings {
    /// The settings that hold here.
    pub fn config(&self) -> &Config {
        &self.resolved.config
    }

    /// The settings that hold for every project: a project's own file speaks for that project only.
    pub fn own_config(&self) -> Result<Config, ConfigError> {
        let layers =
            Layers { user_file: self.user_file.as_ref(), project_file: None, environment: &self.environment, flags: &self.flags };
        Ok(load(&layers)?.config)
    }

    /// Whether the daemon may choose which lists answer: nobody did.
    pub fn may_be_full(&self) -> bool {
        self.resolved.get("recall.embedder").is_ok_and(Setting::is_default)
    }

    /// The folder of the local embedding model, whether or not it is there.
    pub fn model_folder(&self) -> Option<PathBuf> {
        Some(models::directory(&self.paths, self.config())?.join(&self.config().models.embedder))
    }

    /// The names of the project that is asked from.
    pub fn project_here(&self) -> Option<ProjectNames> {
        self.here.as_ref().and_then(|here| here.to_str()).map(names_of)
    }

    /// Where a source's agent keeps its histories on this computer, whether or not they exist.
    pub fn places(&self, source: &dyn Source) -> Vec<PathBuf> {
        let variable = |name: &str| self.environment.get(name).and_then(|value| value.to_str()).map(str::to_owned);
        self.paths.places_of(source, &variable)
    }
}

/// The nearest `.yore.toml` from a directory up to its repository's root.
pub fn find_project_file(from: &Path) -> Option<PathBuf> {
    for directory in from.ancestors() {
        let file = directory.join(PROJECT_FILE);
        if file.is_file() {
            return Some(file);
        }
        if directory.join(".git").exists() {
            return None;
        }
    }
    None
}
