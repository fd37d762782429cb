//! Views of a context without its text: index entry (level 0) and preview (level 1). A context is a note that an agent keeps
//! under a topic, its title.
//!
//! - [`Context`]: a note of that kind
//! - [`chosen`]: the tags that an agent may choose

use yore_core::note::{NoteKind, Priority};
use yore_core::text;
use yore_core::time::format_utc;
use yore_engine::{NoteSummary, STANDING};

use crate::mcp::tools::remember::{bare, is_tag};
use crate::results::{ContextEntry, ContextPreview};

/// Names of priorities, highest first.
pub const PRIORITIES: [&str; 3] = [Priority::AlwaysCheck.as_str(), Priority::Important.as_str(), Priority::Reference.as_str()];
/// Labels that are shown with tags but are not tags.
const RESERVED: [&str; 2] = [NoteKind::Context.as_str(), "unconfirmed"];
/// Maximum number of characters of a preview.
pub const PREVIEW_CHARS: usize = 500;
/// Prefix of the tags by which an older yore named related topics.
const RELATED: &str = "related";

/// Returns the tags that may be chosen: without those that change the kind of a note. The person was not
/// asked, so no tag may make it a standing instruction.
pub fn chosen(tags: Vec<String>) -> Vec<String> {
    let is_reserved = |tag: &String| {
        let bare = bare(tag);
        is_tag(tag, STANDING)
            || RESERVED.contains(&bare.as_str())
            || ["priority", RELATED].iter().any(|kind| bare.strip_prefix(kind).is_some_and(|rest| rest.starts_with(':')))
    };
    tags.into_iter().filter(|tag| !is_reserved(tag)).collect()
}

/// A context.
#[derive(Clone, Debug)]
pub struct Context {
    /// The note that is the context.
    pub note: NoteSummary,
    /// Title of the note.
    pub topic: String,
    /// Priority; a note without one is a reference.
    pub priority: Priority,
    /// The tags that the person or agent chose.
    pub tags: Vec<String>,
    /// Related topics, each once.
    pub related: Vec<String>,
    /// True if an older yore kept some of them as tags.
    pub has_related_tags: bool,
}

impl Context {
    /// Returns the context in a note, if it is one.
    pub fn of(note: NoteSummary) -> Option<Self> {
        let topic = note.facts.title.clone().filter(|_| note.facts.kind == NoteKind::Context)?;
        let tags = &note.facts.tags;
        let mut related = note.related.clone();
        let before = related.len();
        // They become relations when the context is locked again.
        for topic in tags.iter().filter_map(|tag| tag.strip_prefix(RELATED)?.strip_prefix(':')) {
            if related.iter().all(|known| known.to_lowercase() != topic.to_lowercase()) {
                related.push(topic.to_owned());
            }
        }
        let has_related_tags = related.len() > before;
        let priority = note.facts.priority.unwrap_or(Priority::Reference);
        let tags = chosen(tags.clone());
        Some(Self { topic, priority, tags, related, has_related_tags, note })
    }

    /// Returns the beginning of the text as a preview.
    pub fn preview(&self) -> String {
        text::preview(&self.note.text, PREVIEW_CHARS)
    }

    /// Returns the most important names and terms.
    pub fn key_concepts(&self) -> Vec<String> {
        text::key_concepts(&self.note.text, &self.tags)
    }

    /// Returns the number of characters of the text.
    pub fn size(&self) -> usize {
        self.note.text.chars().count()
    }

    /// Returns the index entry, as a line.
    pub fn index_line(&self) -> String {
        let mut line = format!("{} ({}", self.topic, self.priority.as_str());
        if !self.tags.is_empty() {
            line.push_str(&format!("; {}", self.tags.join(", ")));
        }
        line.push_str(&format!("; {} characters", self.size()));
        if let Some(at) = self.note.at {
            line.push_str(&format!("; {}", &format_utc(at)[..10]));
        }
        if self.note.version > 1 {
            line.push_str(&format!("; version {}", self.note.version));
        }
        if let Some(accessed) = self.note.accessed {
            line.push_str(&format!("; loaded {}", &format_utc(accessed)[..10]));
        }
        line.push(')');
        line
    }

    /// Returns the index entry, as data of about a hundred bytes.
    pub fn index_item(&self) -> ContextEntry {
        ContextEntry {
            label: self.topic.clone(),
            priority: (self.priority < Priority::Reference).then_some(self.priority),
            version: (self.note.version > 1).then_some(self.note.version),
            last_accessed: self.note.accessed.map(|at| format_utc(at)[..10].to_owned()),
            tags: (!self.tags.is_empty()).then(|| self.tags.join(",")),
            size: self.size(),
        }
    }

    /// Returns the preview, as data.
    pub fn preview_item(&self) -> ContextPreview {
        ContextPreview {
            label: self.topic.clone(),
            preview: self.preview(),
            key_concepts: self.key_concepts(),
            related: self.related.clone(),
            size: self.size(),
            id: self.note.episode.to_string(),
        }
    }
}
