//! A line of an audit and a finding on it.

use yore_core::time::UtcMillis;

use super::lines::Instruction;
use super::report::{AuditFile, AuditKind};

/// An instruction with its file.
pub(super) struct Line<'r> {
    /// The file.
    pub file: &'r AuditFile,
    /// The instruction.
    pub said: Instruction,
    /// When it was written, as far as that is known; of an uncommitted one, the present.
    pub at: UtcMillis,
    /// True if git tells when; else it is when the file was last written, which may be later.
    pub is_dated: bool,
}

/// A finding on a line, before its place is added.
pub(super) struct Found {
    /// Its kind.
    pub kind: AuditKind,
    /// The reason in words.
    pub reason: String,
    /// Where that can be seen.
    pub proof: Vec<String>,
    /// Words of the line, and what takes their place, where that is certain.
    pub change: Option<(String, String)>,
}

impl Found {
    /// Makes a finding with one proof.
    pub fn new(kind: AuditKind, reason: impl Into<String>, proof: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), proof: vec![proof.into()], change: None }
    }
}
