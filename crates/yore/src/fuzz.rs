//! Entry points of the fuzzers in `fuzz/`.
#![allow(clippy::missing_panics_doc, clippy::expect_used, reason = "a panic is what a fuzzer looks for")]

use std::path::Path;

pub use crate::hook::{callers, hear};
pub use crate::mcp::Caller;

use crate::agents::AGENTS;
use crate::config::{CaptureMode, Environment, Layers, RecallScope, UserFile, check, load};
use crate::install::edit::{Content, Original};
use crate::install::{Machine, Program, Purpose, Scope, Wanted};
use crate::paths::Platform;

/// Reads a text as a user's settings, as a project's, as a variable and as a flag. A project's settings never
/// widen what is kept.
pub fn configuration(directory: &Path, text: &str) {
    let user = UserFile { path: directory.join("config.toml"), named: false };
    let project = directory.join(".yore.toml");
    for path in [&user.path, &project] {
        std::fs::write(path, text).expect("a file to read");
    }
    let (key, value) = text.split_once('=').unwrap_or((text, text));
    let environment: Environment = [("A", value), ("YORE_RECALL__LIMIT", value)].into_iter().collect();
    let flags = [(key.to_owned(), value.to_owned())];
    let layers = Layers { user_file: Some(&user), project_file: None, environment: &environment, flags: &flags };
    for problem in check(&layers) {
        assert!(!problem.to_string().contains('\n'), "{problem}");
    }
    let _ = load(&layers);
    std::fs::write(&user.path, "capture.mode = \"opt-in\"").expect("a file to read");
    let environment = Environment::default();
    let of_project = Layers { user_file: Some(&user), project_file: Some(&project), environment: &environment, flags: &[] };
    if let Ok(resolved) = load(&of_project) {
        let config = resolved.config;
        assert!(config.redaction.extra_patterns.is_empty() && config.capture.projects.is_empty());
        assert!(config.capture.mode == CaptureMode::OptIn && config.recall.scope != RecallScope::All);
    }
}

/// Every settings file of every agent, with the content that yore wants in it.
pub struct Settings(Vec<(String, Content)>);

impl Settings {
    /// Collects them for a platform: 0 for Linux, 1 for macOS, 2 for Windows.
    pub fn of(platform: u8) -> Self {
        let platform = [Platform::Xdg, Platform::Mac, Platform::Windows][usize::from(platform % 3)];
        let machine = Machine { platform, home: "/h".into(), project: Some("/w".into()), variable: &|_| None };
        let program = Program { path: "/opt/a b/yore".to_owned(), data_dir: None };
        let edits = AGENTS.iter().flat_map(|agent| {
            [Scope::User, Scope::Project]
                .into_iter()
                .flat_map(|scope| (agent.edits)(&Wanted { machine: &machine, program: &program, scope, purpose: Purpose::Put }))
        });
        Self(edits.map(|edit| (edit.path.display().to_string(), edit.content)).collect())
    }

    /// Puts yore's content into a text twice, and takes it out: the second time changes nothing, and taking
    /// it out restores the text.
    pub fn edit(&self, number: usize, text: &str) {
        let (path, content) = &self.0[number % self.0.len()];
        let Ok(put) = content.put(Some(text)) else { return };
        assert_eq!(content.put(Some(&put)).as_deref(), Ok(put.as_str()), "{path}: put twice");
        assert!(content.is_in(&put), "{path}: not found where it was put");
        let taken = content.take(&put, Original::Text(text));
        // A file that is entirely yore's is deleted. Blanks inside something that became empty may go too:
        // `install` keeps the original bytes of files that nothing changed since.
        let is_others = !matches!(content, Content::Whole(_)) && !text.trim().is_empty();
        if is_others && !content.is_in(text) {
            let words = |text: &str| text.split_whitespace().collect::<String>();
            let taken = taken.map(|taken| taken.as_deref().map(words));
            assert_eq!(taken, Ok(Some(words(text))), "{path}: not as it was");
        }
    }
}
