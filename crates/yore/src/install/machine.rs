//! The computer that yore is installed on, as values: every path and every quoting of every platform
//! can be tested on one.

use std::path::{Path, PathBuf};

use crate::paths::Platform;

/// A computer, and the project that is asked from.
pub struct Machine<'m> {
    /// Whose conventions hold.
    pub platform: Platform,
    /// The person's home.
    pub home: PathBuf,
    /// The project's root, if there is one.
    pub project: Option<PathBuf>,
    /// Looks into the environment.
    pub variable: &'m dyn Fn(&str) -> Option<String>,
}

impl Machine<'_> {
    /// Whether Windows' conventions hold.
    pub fn is_windows(&self) -> bool {
        self.platform == Platform::Windows
    }

    /// The directory that a variable names, if it names one.
    pub fn named(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The directory that a variable names, or one below home.
    pub fn directory(&self, variable: &str, below_home: &str) -> PathBuf {
        self.named(variable).unwrap_or_else(|| below(&self.home, below_home))
    }

    /// Below home.
    pub fn at_home(&self, parts: &str) -> PathBuf {
        below(&self.home, parts)
    }

    /// Below the project's root.
    pub fn in_project(&self, parts: &str) -> Option<PathBuf> {
        self.project.as_ref().map(|project| below(project, parts))
    }

    /// Where programs with windows keep their settings.
    pub fn configuration(&self) -> PathBuf {
        match self.platform {
            Platform::Xdg => self.xdg_configuration(),
            Platform::Mac => self.at_home("Library/Application Support"),
            Platform::Windows => self.directory("APPDATA", "AppData/Roaming"),
        }
    }

    /// Where programs that follow XDG everywhere keep theirs. A relative path does not count.
    pub fn xdg_configuration(&self) -> PathBuf {
        let named = self.named("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        named.unwrap_or_else(|| self.at_home(".config"))
    }

    /// The user directories of VS Code and its variants, of those names, that are there.
    pub fn editors(&self, names: &[&str]) -> Vec<PathBuf> {
        let configuration = self.configuration();
        let mut users: Vec<PathBuf> = names.iter().map(|name| configuration.join(name).join("User")).collect();
        if self.platform == Platform::Xdg && names.contains(&"Code") {
            // Windows that are connected from another computer.
            users.push(self.at_home(".vscode-server/data/User"));
        }
        users.retain(|user| user.is_dir());
        users
    }
}

/// A path below another, its parts divided by slashes.
pub fn below(base: &Path, parts: &str) -> PathBuf {
    parts.split('/').fold(base.to_path_buf(), |path, part| path.join(part))
}
