//! The computer as values (platform, directories, variables), so that every platform's paths can be tested on one.

use std::path::{Path, PathBuf};

use crate::paths::Platform;

/// A computer, and the project that the command runs in.
pub struct Machine<'m> {
    /// The platform, which decides the conventions.
    pub platform: Platform,
    /// The user's home directory.
    pub home: PathBuf,
    /// The project's root, if there is one.
    pub project: Option<PathBuf>,
    /// Reads an environment variable.
    pub variable: &'m dyn Fn(&str) -> Option<String>,
}

impl Machine<'_> {
    /// Returns whether the platform is Windows.
    pub fn is_windows(&self) -> bool {
        self.platform == Platform::Windows
    }

    /// Returns the directory that an environment variable names, if it is set.
    pub fn named(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// Returns the directory that a variable names, or else one below the home directory.
    pub fn directory(&self, variable: &str, below_home: &str) -> PathBuf {
        self.named(variable).unwrap_or_else(|| below(&self.home, below_home))
    }

    /// Returns a path below the home directory.
    pub fn at_home(&self, parts: &str) -> PathBuf {
        below(&self.home, parts)
    }

    /// Returns a path below the project's root.
    pub fn in_project(&self, parts: &str) -> Option<PathBuf> {
        self.project.as_ref().map(|project| below(project, parts))
    }

    /// Returns the directory where graphical programs keep their settings.
    pub fn configuration(&self) -> PathBuf {
        match self.platform {
            Platform::Xdg => self.xdg_configuration(),
            Platform::Mac => self.at_home("Library/Application Support"),
            Platform::Windows => self.directory("APPDATA", "AppData/Roaming"),
        }
    }

    /// Returns the directory where programs that follow XDG on every platform keep their settings. A relative
    /// path in the variable is ignored.
    pub fn xdg_configuration(&self) -> PathBuf {
        let named = self.named("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        named.unwrap_or_else(|| self.at_home(".config"))
    }

    /// Returns the existing user directories of VS Code and its variants with these names.
    pub fn editors(&self, names: &[&str]) -> Vec<PathBuf> {
        let configuration = self.configuration();
        let mut users: Vec<PathBuf> = names.iter().map(|name| configuration.join(name).join("User")).collect();
        if self.platform == Platform::Xdg && names.contains(&"Code") {
            // The server part of an editor that is connected from another computer.
            users.push(self.at_home(".vscode-server/data/User"));
        }
        users.retain(|user| user.is_dir());
        users
    }
}

/// Returns a path below another; its parts are divided by slashes.
pub fn below(base: &Path, parts: &str) -> PathBuf {
    parts.split('/').fold(base.to_path_buf(), |path, part| path.join(part))
}
