//! Origins of configuration values: file and line, variable, flag.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

/// The origin of a value, lowest layer first.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum Origin {
    /// The compiled-in default.
    Default,
    /// The person's file.
    UserFile {
        /// Path of the file.
        #[serde(serialize_with = "as_shown")]
        path: PathBuf,
        /// The line of the key, from 1.
        line: usize,
    },
    /// The project's file.
    ProjectFile {
        /// Path of the file.
        #[serde(serialize_with = "as_shown")]
        path: PathBuf,
        /// The line of the key, from 1.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Name of the variable.
        name: String,
    },
    /// A flag of this command.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default"),
            Self::UserFile { path, line } | Self::ProjectFile { path, line } => {
                write!(f, "{}, line {line}", path.display())
            }
            Self::Environment { name } => write!(f, "environment variable {name}"),
            Self::Flag => f.write_str("the command line"),
        }
    }
}

/// The owner of a configuration file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileKind {
    /// The person's own file.
    User,
    /// The project's file, which may only narrow some keys.
    Project,
}

impl FileKind {
    pub(super) fn origin(self, path: impl Into<PathBuf>, line: usize) -> Origin {
        let path = path.into();
        match self {
            Self::User => Origin::UserFile { path, line },
            Self::Project => Origin::ProjectFile { path, line },
        }
    }
}

/// Shows a path; characters that are not Unicode are replaced instead of causing an error.
fn as_shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
