//! Results of `audit`: lines of instruction files with a fault, and the proof of each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_engine::{AuditFinding, AuditReport};

/// The report of an audit.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Audit {
    /// Number of files that were read.
    pub files: u64,
    /// Number of instructions in them.
    pub lines: u64,
    /// Number of commits that they were compared with.
    pub commits: u64,
    /// Number of sessions that they were compared with.
    pub sessions: u64,
    /// Lines with a fault, in the order of the files.
    pub findings: Vec<AuditedLine>,
    /// The things that could not be read, each with its reason.
    pub problems: Vec<String>,
}

/// A line with a fault.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct AuditedLine {
    /// Absolute path of the file.
    pub file: String,
    /// 1-based line.
    pub line: u64,
    /// The fault: stale, contradicted, unused, doubled, unsafe.
    pub kind: String,
    /// The instruction.
    pub text: String,
    /// The fault in words.
    pub reason: String,
    /// Where that is seen: places, commits, sessions with date and quotation.
    pub proof: Vec<String>,
    /// Words of the line that should be others, where that is certain.
    pub old: Option<String>,
    /// These others.
    pub new: Option<String>,
}

impl From<&AuditReport> for Audit {
    fn from(report: &AuditReport) -> Self {
        Self {
            files: report.files as u64,
            lines: report.lines as u64,
            commits: report.commits as u64,
            sessions: report.sessions as u64,
            findings: report.findings.iter().map(AuditedLine::from).collect(),
            problems: report.problems.clone(),
        }
    }
}

impl From<&AuditFinding> for AuditedLine {
    fn from(found: &AuditFinding) -> Self {
        let (old, new) = found.change.clone().unzip();
        Self {
            file: found.file.clone(),
            line: found.line,
            kind: found.kind.as_str().to_owned(),
            text: found.text.clone(),
            reason: found.reason.clone(),
            proof: found.proof.clone(),
            old,
            new,
        }
    }
}
