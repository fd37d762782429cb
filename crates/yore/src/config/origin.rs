//! Where a value came from.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

/// Where a value came from, lowest layer first.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum Origin {
    /// It is compiled in.
    Default,
    /// The person's file.
    UserFile {
        /// Its path.
        #[serde(serialize_with = "as_shown")]
        path: PathBuf,
        /// The line of the key, from 1.
        line: usize,
    },
    /// The project's file.
    ProjectFile {
        /// Its path.
        #[serde(serialize_with = "as_shown")]
        path: PathBuf,
        /// The line of the key, from 1.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Its name.
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

/// Which of the two files a file is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileKind {
    /// The person's own.
    User,
    /// The project's, which may only narrow some keys.
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

/// A path that is not Unicode is shown as well as it can be, instead of failing.
fn as_shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
