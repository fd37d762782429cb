//! [`Settings`]: the resolved configuration of a command, its directories, and the project's file.

use std::path::{Path, PathBuf};

use yore_sources::project_names::{ProjectNames, names_of};
use yore_sources::source::Source;

use crate::config::{Config, ConfigError, Environment, Layers, PROJECT_FILE, RecallEmbedder, Resolved, UserFile, load};
use crate::models;
use crate::paths::Paths;

/// The settings of one command, and their origins.
#[derive(Clone)]
pub struct Settings {
    /// Environment variables.
    pub environment: Environment,
    /// The settings that apply here.
    pub resolved: Resolved,
    /// Directories on this platform.
    pub paths: Paths,
    /// The user's settings file.
    pub user_file: Option<UserFile>,
    /// The project's settings file.
    pub project_file: Option<PathBuf>,
    /// Keys and values from the command line.
    pub flags: Vec<(String, String)>,
    /// The data directory.
    pub directory: PathBuf,
    /// The directory that the command runs in.
    pub here: Option<PathBuf>,
}

impl Settings {
    /// Returns the settings that apply here.
    pub fn config(&self) -> &Config {
        &self.resolved.config
    }

    /// Loads the settings that apply to every project; a project's own file applies to that project only.
    pub fn own_config(&self) -> Result<Config, ConfigError> {
        Ok(self.current()?.config)
    }

    /// Loads the settings that apply to every project anew, with their origins.
    ///
    /// # Errors
    /// The first fault of a file, a variable or an option.
    pub fn current(&self) -> Result<Resolved, ConfigError> {
        let layers =
            Layers { user_file: self.user_file.as_ref(), project_file: None, environment: &self.environment, flags: &self.flags };
        load(&layers)
    }

    /// Returns whether the local model answers where it is ready. A server, which may cost money, only answers where it was chosen.
    pub fn may_be_full(&self) -> bool {
        self.config().recall.embedder == RecallEmbedder::Auto && !self.config().models.embedder.contains('/')
    }

    /// Returns the folder of the local embedding model, whether or not it exists.
    pub fn model_folder(&self) -> Option<PathBuf> {
        Some(models::directory(&self.paths, self.config())?.join(&self.config().models.embedder))
    }

    /// Returns the names of the project that the command runs in.
    pub fn project_here(&self) -> Option<ProjectNames> {
        self.here.as_ref().and_then(|here| here.to_str()).map(names_of)
    }

    /// Returns the directories where a source's agent keeps its histories, whether or not they exist.
    pub fn places(&self, source: &dyn Source) -> Vec<PathBuf> {
        let variable = |name: &str| self.environment.get(name).and_then(|value| value.to_str()).map(str::to_owned);
        self.paths.places_of(source, &variable)
    }
}

/// Finds the nearest `.yore.toml` from a directory up to its repository's root.
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
