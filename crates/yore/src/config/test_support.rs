//! Shared helpers of the configuration's tests.

use std::path::{Path, PathBuf};

use super::{ConfigError, Environment, Layers, Resolved, UserFile, check, load, load_here};

/// Files, variables and flags for one test.
pub(super) struct Setup {
    directory: tempfile::TempDir,
    user: Option<UserFile>,
    project: Option<PathBuf>,
    environment: Environment,
    flags: Vec<(String, String)>,
}

impl Setup {
    pub(super) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            user: None,
            project: None,
            environment: Environment::default(),
            flags: Vec::new(),
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn user(mut self, text: &str) -> Self {
        let path = self.path("config.toml");
        std::fs::write(&path, text).unwrap();
        self.user = Some(UserFile { path, named: false });
        self
    }

    pub(super) fn user_file(mut self, file: UserFile) -> Self {
        self.user = Some(file);
        self
    }

    pub(super) fn project(mut self, text: &str) -> Self {
        let path = self.path(".yore.toml");
        std::fs::write(&path, text).unwrap();
        self.project = Some(path);
        self
    }

    pub(super) fn environment(mut self, variables: &[(&str, &str)]) -> Self {
        self.environment = variables.iter().copied().collect();
        self
    }

    pub(super) fn variables(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    pub(super) fn flag(mut self, key: &str, value: &str) -> Self {
        self.flags.push((key.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn load(&self) -> Result<Resolved, ConfigError> {
        load(&self.layers())
    }

    pub(super) fn load_here(&self) -> Result<(Resolved, Vec<ConfigError>), ConfigError> {
        load_here(&self.layers())
    }

    pub(super) fn check(&self) -> Vec<ConfigError> {
        check(&self.layers())
    }

    /// Returns the code and the message of the only error, with the directory written as `DIR`.
    pub(super) fn error(&self) -> (&'static str, String) {
        let mut problems = self.check();
        assert_eq!(problems.len(), 1, "{problems:?}");
        let problem = problems.remove(0);
        let directory = self.directory.path().display().to_string();
        (problem.code(), problem.to_string().replace(&directory, "DIR"))
    }

    fn layers(&self) -> Layers<'_> {
        Layers {
            user_file: self.user.as_ref(),
            project_file: self.project.as_deref(),
            environment: &self.environment,
            flags: &self.flags,
        }
    }
}

/// Compares a generated document with its file under `docs/`, or writes the file if `YORE_BLESS=1`.
pub(super) fn assert_document(name: &str, text: &str) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|ancestor| ancestor.join("docs"))
        .find(|docs| docs.is_dir())
        .unwrap();
    let path = docs.join(name);
    if std::env::var_os("YORE_BLESS").is_some_and(|bless| bless == "1") {
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written.replace("\r\n", "\n"), text, "{} is out of date; run the tests with YORE_BLESS=1", path.display());
}
