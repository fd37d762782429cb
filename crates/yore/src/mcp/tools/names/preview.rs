//! What is shown of a context without its words: which it is (level 0), and what it is about (level
//! 1). A context is a note that an agent keeps under a topic, its title.
//!
//! - [`Context`]: what a note is, if it is one
//! - [`chosen`]: tags that whoever locks something may choose
//! - [`tag`]: those that say something about it

use serde_json::{Value, json};
use yore_core::text;
use yore_core::time::format_utc;
use yore_engine::{CONTEXT, NoteSummary, STANDING, UNCONFIRMED};

use super::super::recall::present;
use super::super::remember::{bare, is_tag};

/// How much a context matters, most first (S3-002).
pub const PRIORITIES: [&str; 3] = ["always_check", "important", "reference"];
/// What has no priority is a reference.
pub const REFERENCE: usize = 2;
/// Characters of a preview (S3-015).
pub const PREVIEW_CHARS: usize = 500;
/// The kind of tag that says how much a context matters.
pub const PRIORITY: &str = "priority";
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
        [CONTEXT, STANDING, UNCONFIRMED].iter().any(|name| is_tag(tag, name))
            || [PRIORITY, RELATED].iter().any(|kind| bare.strip_prefix(kind).is_some_and(|rest| rest.starts_with(':')))
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
    /// Its place in [`PRIORITIES`].
    pub priority: usize,
    /// The tags that the person or agent chose.
    pub tags: Vec<String>,
    /// Topics that it is related to.
    pub related: Vec<String>,
}

impl Context {
    /// The context that a note is, if it is one.
    pub fn of(note: NoteSummary) -> Option<Self> {
        let topic = note.title.clone().filter(|_| note.is_context())?;
        let valued = |kind: &str| -> Vec<String> {
            note.tags.iter().filter_map(|tag| Some(tag.strip_prefix(kind)?.strip_prefix(':')?.to_owned())).collect()
        };
        let priority =
            valued(PRIORITY).first().and_then(|name| PRIORITIES.iter().position(|known| known == name)).unwrap_or(REFERENCE);
        let related = valued(RELATED);
        let tags = chosen(note.tags.clone());
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
        let mut line = format!("{} ({}", self.topic, PRIORITIES[self.priority]);
        if !self.tags.is_empty() {
            line.push_str(&format!("; {}", self.tags.join(", ")));
        }
        line.push_str(&format!("; {} characters", self.size()));
        if let Some(at) = self.note.at {
            line.push_str(&format!("; {}", &format_utc(at)[..10]));
        }
        line.push(')');
        line
    }

    /// Which it is, as data: an entry of an index has about a hundred bytes (C-045).
    pub fn index_item(&self) -> Value {
        present(json!({
            "label": self.topic,
            "priority": (self.priority < REFERENCE).then(|| PRIORITIES[self.priority]),
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
