//! `[capture]`: which conversations are captured, and whether capture is on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The conversations that are captured.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capture {
    /// Reads conversations into the archive. Off means that nothing new is read; what is already there stays
    /// and can be recalled.
    pub enabled: bool,
    /// The projects that are captured: "all" but the excluded ones, or, with "opt-in", only those listed in
    /// `projects`. With "opt-in", a conversation whose project is unknown is left out.
    pub mode: CaptureMode,
    /// The projects that "opt-in" captures, as directories or globs.
    pub projects: Vec<String>,
    /// Projects that are never read, as directories or globs. Wins over `projects`.
    pub exclude_projects: Vec<String>,
    /// Source files that are never read, as globs over their paths.
    pub exclude_paths: Vec<String>,
    /// The author of prompts that an agent got without a terminal (`claude -p`, `codex exec`, Cline in a pipe):
    /// a "program", from which no wishes are learned, or the "person", for those who work like that. Applies
    /// to what is read from then on; `yore data rebuild` applies it to all.
    pub headless: Headless,
}

/// The author of prompts without a terminal.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Headless {
    /// A script, a bot or a schedule.
    Program,
    /// The person.
    Person,
}

/// The projects that are captured.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaptureMode {
    /// Only the listed ones.
    OptIn,
    /// All but the excluded ones.
    All,
}

impl Default for Capture {
    fn default() -> Self {
        Self {
            enabled: true,
            mode: CaptureMode::All,
            projects: Vec::new(),
            exclude_projects: Vec::new(),
            exclude_paths: Vec::new(),
            headless: Headless::Program,
        }
    }
}

const PATHS: Shape = Shape::List { longest: 4096 };

/// The keys of `[capture]`.
pub(super) const KEYS: &[Key] = &[
    Key::new("capture.enabled", Shape::Switch, ProjectMay::Turn(false)),
    Key::new("capture.mode", Shape::Choice(&["opt-in", "all"]), ProjectMay::Narrow),
    Key::new("capture.projects", PATHS, ProjectMay::Nothing),
    Key::new("capture.exclude_projects", PATHS, ProjectMay::Add),
    Key::new("capture.exclude_paths", PATHS, ProjectMay::Add),
    Key::new("capture.headless", Shape::Choice(&["program", "person"]), ProjectMay::Nothing),
];
