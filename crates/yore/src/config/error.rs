//! Errors of the configuration, each with fault, place and remedy.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::key::Key;
use super::origin::Origin;

/// A fault of a configuration. A value that came from `{env:NAME}` is never repeated, only the reference.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A key, section or variable that yore does not know.
    #[error("unknown {what} `{name}`{}; {}", within(origin.as_ref()), instead(nearest.as_deref()))]
    UnknownKey {
        /// "key" or "section".
        what: &'static str,
        /// Its name as written.
        name: String,
        /// File and line, or other origin; none if the name was asked for directly.
        origin: Option<Origin>,
        /// The known name that was most likely meant.
        nearest: Option<String>,
    },
    /// A key under its former name. It still works.
    #[error("`{name}`{} is called `{now}` now", within(origin.as_ref()))]
    Renamed {
        /// Its name as written.
        name: String,
        /// Its name now.
        now: String,
        /// File and line; none for a variable, whose name is enough.
        origin: Option<Origin>,
    },
    /// A value of another type than the key takes.
    #[error("`{name}`{} is {found}; expected {expected}", within(origin.as_ref()))]
    WrongType {
        /// The key or section.
        name: String,
        /// File and line, or other origin; none if the name was asked for directly.
        origin: Option<Origin>,
        /// The value as written.
        found: String,
        /// The values that the key takes.
        expected: String,
    },
    /// A value of the right type that the key does not take.
    #[error("`{}`{} is {found}; expected {}", key.name, within(origin.as_ref()), key.shape.expected())]
    BadValue {
        /// The key.
        key: &'static Key,
        /// File and line, or other origin; none if the name was asked for directly.
        origin: Option<Origin>,
        /// The value as written.
        found: String,
    },
    /// A value that names nothing that exists.
    #[error("`{}`{} is {found}, but {reason}; expected {}", key.name, within(origin.as_ref()), key.shape.expected())]
    BadName {
        /// The key.
        key: &'static Key,
        /// File and line, or other origin; none if the name was asked for directly.
        origin: Option<Origin>,
        /// The value as written.
        found: String,
        /// The reason.
        reason: String,
    },
    /// A regular expression that cannot be used.
    #[error("`{}`{} is {found}, but its pattern {number} cannot be used: {reason}; correct it", key.name, within(origin.as_ref()))]
    BadPattern {
        /// The key.
        key: &'static Key,
        /// File and line, or other origin; none if the name was asked for directly.
        origin: Option<Origin>,
        /// The value as written.
        found: String,
        /// Number of the pattern in the list, from 1.
        number: usize,
        /// Reason why it cannot be used.
        reason: String,
    },
    /// A file that is not TOML.
    #[error("{origin} is not TOML: {reason}; correct that line")]
    Syntax {
        /// File and line.
        origin: Origin,
        /// Message of the parser, without the file's text.
        reason: String,
    },
    /// A reference to a variable that is not set.
    #[error(
        "`{name}` in {origin} refers to the environment variable {variable}, which is not set; \
         set it, or write {{env:{variable}:-other}}"
    )]
    MissingVariable {
        /// The variable.
        variable: String,
        /// The key.
        name: &'static str,
        /// File and line.
        origin: Origin,
    },
    /// A reference that names no variable or does not end.
    #[error("`{name}` in {origin} has a reference that cannot be read: {found}; write {{env:NAME}}")]
    BadReference {
        /// The key.
        name: &'static str,
        /// File and line.
        origin: Origin,
        /// The value as written.
        found: String,
    },
    /// A variable whose value is not Unicode.
    #[error("the environment variable {variable}, for `{name}`, is not Unicode; set it again")]
    NotUnicode {
        /// The variable.
        variable: String,
        /// The key.
        name: &'static str,
    },
    /// A project's file that asks for more than it may.
    #[error(
        "`{}` in {origin} is {found}, but a project's file may {} (here over {below}); \
         remove the line, or set it in your own file or on the command line",
        key.name, key.project.words()
    )]
    ProjectMayNot {
        /// The key.
        key: &'static Key,
        /// File and line.
        origin: Origin,
        /// The value as written.
        found: String,
        /// The value of the layers below, and its origin.
        below: String,
    },
    /// A file that cannot be read.
    #[error("cannot read {}: {reason}; {}", path.display(), readable(reason))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Reason why it cannot be read.
        reason: io::Error,
    },
    /// A file that cannot be written.
    #[error(
        "cannot write {}: {reason}; nothing was changed, check that you may write to the directory",
        path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Reason why it cannot be written.
        reason: io::Error,
    },
    /// An edit that would leave the file with a fault that it did not have.
    #[error("`{name}` cannot be written to {}: {reason}; edit the file by hand", path.display())]
    EditFailed {
        /// The key.
        name: String,
        /// The file, unchanged.
        path: PathBuf,
        /// Fault of the result.
        reason: String,
    },
    /// The key table and the settings disagree, which is a fault of yore.
    #[error("internal error: inconsistent settings: {reason}; please report it")]
    Fault {
        /// Description of the disagreement.
        reason: String,
    },
}

impl ConfigError {
    /// Returns whether this is only a note: yore goes on.
    pub fn is_note(&self) -> bool {
        matches!(self, Self::Renamed { .. })
    }

    /// Returns the code of the error, which stays the same between versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownKey { .. } => "config/unknown-key",
            Self::Renamed { .. } => "config/renamed",
            Self::WrongType { .. } => "config/wrong-type",
            Self::BadValue { .. } | Self::BadName { .. } | Self::BadPattern { .. } => "config/bad-value",
            Self::Syntax { .. } => "config/syntax",
            Self::MissingVariable { .. } => "config/missing-variable",
            Self::BadReference { .. } => "config/bad-reference",
            Self::NotUnicode { .. } => "config/not-unicode",
            Self::ProjectMayNot { .. } => "config/project-may-not",
            Self::Unreadable { .. } => "config/unreadable",
            Self::Unwritable { .. } => "config/unwritable",
            Self::EditFailed { .. } => "config/edit-failed",
            Self::Fault { .. } => "config/fault",
        }
    }
}

fn within(origin: Option<&Origin>) -> String {
    match origin {
        None => String::new(),
        Some(Origin::Flag) => " on the command line".to_owned(),
        Some(Origin::Environment { name }) => format!(" in environment variable {name}"),
        Some(origin) => format!(" in {origin}"),
    }
}

fn instead(nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`yore config show` lists every key".to_owned(),
    }
}

fn readable(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::NotFound => "create it, or unset YORE_CONFIG",
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            "a configuration is a regular text file in UTF-8 of at most 1 MiB"
        }
        _ => "check that you may read the file",
    }
}

/// Returns text in the form in which errors repeat it: on one line and at most 80 characters.
pub(super) fn brief(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(80)
        .flat_map(|c| {
            let escaped: Vec<char> = if c.is_control() { c.escape_default().collect() } else { vec![c] };
            escaped
        })
        .collect();
    if text.chars().nth(80).is_some() {
        shown.push('…');
    }
    shown
}
