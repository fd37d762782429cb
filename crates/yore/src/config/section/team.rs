//! `[team]`: with which team a project is shared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// Sharing with a team over its server. In the `.yore.toml` of a project, name and project tell everybody with whom it is shared; nothing is
/// sent or received until a person says `yore share .` there.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Team {
    /// Name of the team with which `yore share .` shares; empty: the only team there is.
    pub name: String,
    /// Name of the project on the team's server; empty: that of its remote repository.
    pub project: String,
    /// What `yore share .` shares: `named` for the memories that you name, `memories` for all in effect that hold for everybody who works
    /// on the project, `sessions` for what was said in agents' sessions as well.
    pub level: SharedLevel,
    /// Seconds between two synchronizations by the daemon; 0: it does none.
    pub sync_s: u32,
}

/// Extent of what is shared of a project.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SharedLevel {
    /// The memories that the person names.
    Named,
    /// All in effect that hold for everybody.
    #[default]
    Memories,
    /// These, and what was said in sessions.
    Sessions,
}

impl SharedLevel {
    /// All, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Named, Self::Memories, Self::Sessions];

    /// The name in settings and options.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Memories => "memories",
            Self::Sessions => "sessions",
        }
    }
}

impl Default for Team {
    fn default() -> Self {
        Self { name: String::new(), project: String::new(), level: SharedLevel::Memories, sync_s: 60 }
    }
}

/// The keys of `[team]`.
pub(super) const KEYS: &[Key] = &[
    Key::new("team.name", Shape::Text { longest: 200 }, ProjectMay::Set),
    Key::new("team.project", Shape::Text { longest: 200 }, ProjectMay::Set),
    Key::new("team.level", Shape::Choice(&["named", "memories", "sessions"]), ProjectMay::Narrow),
    Key::new("team.sync_s", Shape::Count { min: 0, max: 86_400 }, ProjectMay::Nothing),
];
