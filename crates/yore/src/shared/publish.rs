//! Prepares memories to leave this computer: decides which may, redacts them once more, and removes what names the computer.

use std::io;
use std::path::Path;

use yore_core::id::ProjectId;
use yore_core::memory::{Lane, Memory, MemoryKind};
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

/// Words by which somebody speaks of themself, in English, German, French and Spanish.
const OWN: [&str; 24] = [
    "i", "i'm", "i've", "i'd", "i'll", "me", "my", "mine", "myself", "ich", "mir", "mich", "mein", "meine", "meinen", "meinem",
    "meiner", "je", "moi", "mon", "mes", "yo", "conmigo", "mis",
];

/// Returns whether a statement that a person recorded is about themself: a fact in the first person. It is shared only if it is named.
pub fn is_personal(memory: &Memory) -> bool {
    let is_own = |word: &str| {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase().replace('’', "'");
        OWN.contains(&word.as_str())
    };
    memory.kind == MemoryKind::Fact && memory.lane == Lane::Curated && memory.statement.split_whitespace().any(is_own)
}

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

#[cfg(test)]
mod tests {
    use yore_core::id::MemoryId;

    use super::*;

    #[test]
    fn fact_that_a_person_says_of_themself_is_personal() {
        let of = |kind, lane, statement: &str| {
            is_personal(&Memory { lane, ..Memory::new(MemoryId::new(0, [0; 10]), kind, statement, 0) })
        };
        let fact = |statement| of(MemoryKind::Fact, Lane::Curated, statement);
        assert!(fact("The landlord raised my rent.") && fact("I’m on leave in May.") && fact("Am Freitag bin ich weg."));
        assert!(!fact("CI runs on GitHub Actions.") && !fact("The API of mining has an i/o limit of m.e."));
        assert!(!of(MemoryKind::Decision, Lane::Curated, "I chose SQLite.") && !of(MemoryKind::Fact, Lane::Extracted, "my cat"));
    }
}
