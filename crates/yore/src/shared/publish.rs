//! Prepares memories to leave this computer: decides which may, redacts them once more, and removes what names the computer.

use std::io;
use std::path::Path;

use yore_core::id::ProjectId;
use yore_core::memory::MemoryKind;
use yore_engine::StoredMemory;
use yore_engine::ingest::settings_key;
use yore_sources::redact::{RedactionCounts, Redactor};

use super::file::{self, SharedMemory};
use super::machine::Machine;
use crate::render::memories::kind_name;
use crate::render::plain::harmless;

/// Kinds that hold for everybody who works on a project: those that are proposed, or shared without being named.
pub const FOR_EVERYBODY: [MemoryKind; 9] = [
    MemoryKind::Decision,
    MemoryKind::Standard,
    MemoryKind::Solution,
    MemoryKind::Pattern,
    MemoryKind::Fact,
    MemoryKind::Conclusion,
    MemoryKind::Insight,
    MemoryKind::Documentation,
    MemoryKind::Code,
];

/// Prepares the memories of a project.
pub struct Publisher {
    redactor: Redactor,
    machine: Machine,
}

impl Publisher {
    /// Creates it for a project's root and the person's home directory. `patterns`: the person's own rules of redaction.
    ///
    /// # Errors
    /// The key of the data directory cannot be read; a pattern is wrong.
    pub fn new(data: &Path, patterns: &[String], root: &Path, home: Option<&Path>) -> io::Result<Self> {
        // With a key that nobody else has, what a mark stands for cannot be guessed and checked.
        let redactor = Redactor::with_patterns(&settings_key(data)?, patterns).map_err(io::Error::other)?;
        Ok(Self { redactor, machine: Machine::new(root, home) })
    }

    /// Returns a memory as it may be shared.
    ///
    /// # Errors
    /// The reason why it may not, in one line.
    pub fn memory(&self, stored: &StoredMemory, project: Option<ProjectId>, with_quotes: bool) -> Result<SharedMemory, String> {
        let memory = &stored.memory;
        match memory.kind {
            MemoryKind::Preference => return Err("a preference is one person's: it is not shared".to_owned()),
            MemoryKind::UserInput | MemoryKind::CategorySummary => {
                return Err(format!("a memory of kind {} is not shared", kind_name(memory.kind)));
            }
            _ => {}
        }
        if memory.is_shared() {
            return Err("a colleague shared it".to_owned());
        }
        if !memory.is_in_effect() {
            return Err(format!("it is {}", memory.status.as_str()));
        }
        if memory.project.is_some() && memory.project != project {
            let project = stored.project.as_deref().map_or_else(|| "another project".to_owned(), harmless);
            return Err(format!("it belongs to {project}"));
        }
        let mut shared = file::of_memory(memory);
        if !with_quotes {
            shared.evidence.clear();
        }
        for text in shared.texts_mut() {
            *text = self.text(text)?;
        }
        Ok(shared)
    }

    /// Returns a text without secrets and without what is of this computer. Rules may have become better since the words were stored.
    ///
    /// # Errors
    /// It names the directory of a person.
    pub fn text(&self, text: &str) -> Result<String, String> {
        let redacted = self.redactor.text(text, &mut RedactionCounts::default());
        self.machine.portable(redacted.as_deref().unwrap_or(text))
    }
}
