//! What is shown of a context without its words: which it is (level 0), and what it is about (level
//! 1). A context is a note that an agent keeps under a topic, its title.
//!
//! - [`Context`]: what a note is, if it is one
//! - [`chosen`]: tags that whoever locks something may choose
//! - [`tag`]: those that say something about it

use serde_json::{Value, json};
use yore_core::note::{NoteKind, Priority};
use yore_core::text;
use yore_core::time::format_utc;
use yore_engine::{NoteSummary, STANDING};

use super::super::recall::present;
use super::super::remember::{bare, is_tag};

/// Names of priorities, most first (S3-002).
pub const PRIORITIES: [&str; 3] = [Priority::AlwaysCheck.as_str(), Priority::Important.as_str(), Priority::Reference.as_str()];
/// Labels that are shown with tags and are none.
const RESERVED: [&str; 2] = [NoteKind::Context.as_str(), "unconfirmed"];
/// Characters of a preview (S3-015).
pub const PREVIEW_CHARS: usize = 500;
/// The kind of tag that names what it is related to.
pub const RELATED: &str = "related";

/// A tag of a kind.
pub fn tag(kind: &str, value: &str) -> String {
    format!("{kind}:{value}")
}

/// The tags that may be chosen: without those that make a note something else than it is. Nobody
/// asked the person, so none of them makes a standing instruction.
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
    /// The note.
    pub note: NoteSummary,
    /// Its title.
    pub topic: String,
    /// How much it matters; what has no priority is a reference.
    pub priority: Priority,
    /// The tags that the person or agent chose.
    pub tags: Vec<String>,
    /// Topics that it is related to.
    pub related: Vec<String>,
}

impl Context {
    /// The context that a note is, if it is one.
    pub fn of(note: NoteSummary) -> Option<Self> {
        let topic = note.facts.title.clone().filter(|_| note.facts.kind == NoteKind::Context)?;
        let tags = &note.facts.tags;
        let related = tags.iter().filter_map(|tag| Some(tag.strip_prefix(RELATED)?.strip_prefix(':')?.to_owned())).collect();
        let priority = note.facts.priority.unwrap_or(Priority::Reference);
        let tags = chosen(tags.clone());
        Some(Self { topic, priority, tags, related, note })
    }

    /// What it is about.
    pub fn preview(&self) -> String {
        text::preview(&self.note.text, PREVIEW_CHARS)
    }

    /// The names and terms that it turns on.
    pub fn key_concepts(&self) -> Vec<String> {
        text::key_concepts(&self.note.text, &self.tags)
    }

    /// Characters of its words.
    pub fn size(&self) -> usize {
        self.note.text.chars().count()
    }

    /// Which it is (S3-010), on a line.
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

    /// Which it is, as data: an entry of an index has about a hundred bytes (C-045).
    pub fn index_item(&self) -> Value {
        present(json!({
            "label": self.topic,
            "priority": (self.priority < Priority::Reference).then_some(self.priority),
            "version": (self.note.version > 1).then_some(self.note.version),
            "last_accessed": self.note.accessed.map(|at| format_utc(at)[..10].to_owned()),
            "tags": (!self.tags.is_empty()).then(|| self.tags.join(",")),
            "size": self.size(),
        }))
    }

    /// What it is about, as data (S3-011).
    pub fn preview_item(&self) -> Value {
        json!({
            "label": self.topic,
            "preview": self.preview(),
            "key_concepts": self.key_concepts(),
            "related": self.related,
            "size": self.size(),
            "id": self.note.episode.to_string(),
        })
    }
}
