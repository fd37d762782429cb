//! Functions that the import and export formats share.

use yore_core::memory::{Confidence, Lane, MAX_STATEMENT_CHARS};
use yore_core::text;
use yore_engine::NewMemory;
use yore_sources::project_names::ProjectNames;

/// Maximum number of characters of a title, and of the statement of a text that is too long for one.
const TITLE_CHARS: usize = 200;
const LONG_CHARS: usize = 500;

/// The project that the memories of a file belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// All projects.
    Everywhere,
    /// The one with this name, id or directory.
    Named(String),
    /// The one of a directory.
    Here(ProjectNames),
}

impl Home {
    /// Puts a memory there.
    pub fn takes(&self, mut memory: NewMemory) -> NewMemory {
        match self {
            Self::Everywhere => {}
            Self::Named(name) => memory.project = Some(name.clone()),
            Self::Here(here) => memory.here = Some(here.clone()),
        }
        memory
    }
}

/// Marks a memory as one that an agent wrote: other memories keep what agents conclude, and nobody confirmed it.
pub fn by_agent(new: &mut NewMemory) {
    (new.memory.lane, new.memory.confidence) = (Lane::Extracted, Confidence::Inferred);
}

/// Returns a statement, and the whole text as details if it is too long for one.
pub fn short(said: &str) -> (String, Vec<String>) {
    if said.chars().nth(MAX_STATEMENT_CHARS).is_none() {
        return (said.to_owned(), Vec::new());
    }
    (text::preview(said, LONG_CHARS), vec![said.to_owned()])
}

/// Returns a title made of headings, the innermost ones if there is no room for all.
pub fn title(headings: &[String]) -> Option<String> {
    let mut title = String::new();
    for heading in headings.iter().rev() {
        let joined = if title.is_empty() { heading.clone() } else { format!("{heading} / {title}") };
        if joined.chars().nth(TITLE_CHARS).is_some() {
            break;
        }
        title = joined;
    }
    Some(title).filter(|title| !title.is_empty())
}
