//! The request of an audit and its report, as data.

use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;
use yore_sources::project_names::ProjectNames;

/// The reach of an instruction file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum AuditScope {
    /// One project.
    Project,
    /// Everything that the person does: it is not compared with one project's code.
    Everywhere,
}

/// An instruction file with its content.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AuditFile {
    /// Absolute path.
    pub path: String,
    /// Path relative to the root, of a file within it.
    pub name: Option<String>,
    /// Its text.
    pub text: String,
    /// When it was last written.
    pub modified: UtcMillis,
    /// Its reach.
    pub scope: AuditScope,
}

/// A request for an audit.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AuditRequest {
    /// Top directory of the working tree.
    pub root: String,
    /// The project of that directory, whose conversations are read.
    pub here: Option<ProjectNames>,
    /// The files; of two lines that say the same the one of the later file is reported.
    pub files: Vec<AuditFile>,
}

/// The fault of a line.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditKind {
    /// It names a file, command, version or tool that is gone or renamed.
    Stale,
    /// A later statement says otherwise.
    Contradicted,
    /// No file, commit or conversation ever had its subject.
    Unused,
    /// Another line says the same.
    Doubled,
    /// It tells an agent to go round a check, to expose a secret, or to run unknown code.
    Unsafe,
}

impl AuditKind {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Contradicted => "contradicted",
            Self::Unused => "unused",
            Self::Doubled => "doubled",
            Self::Unsafe => "unsafe",
        }
    }
}

/// A line with a fault.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AuditFinding {
    /// Absolute path of the file.
    pub file: String,
    /// Path relative to the root, of a file within it.
    pub name: Option<String>,
    /// 1-based line.
    pub line: u64,
    /// Number of lines that belong to the instruction alone; 0 if it shares one with others.
    pub lines: u64,
    /// The fault.
    pub kind: AuditKind,
    /// The instruction.
    pub text: String,
    /// The fault in words.
    pub reason: String,
    /// Where that is seen: places, commits, sessions with date and quotation.
    pub proof: Vec<String>,
    /// Words of the line, and what takes their place, where that is certain.
    pub change: Option<(String, String)>,
}

/// The report of an audit.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AuditReport {
    /// Number of files.
    pub files: usize,
    /// Number of instructions.
    pub lines: usize,
    /// Number of sessions of the project that were read.
    pub sessions: usize,
    /// Number of commits that were read.
    pub commits: usize,
    /// Lines with a fault, in the order of the files.
    pub findings: Vec<AuditFinding>,
    /// The things that could not be read, each with its reason.
    pub problems: Vec<String>,
}
