//! Attributes of notes and contexts: kind, tags, priority, title, metadata.

use serde::{Deserialize, Serialize};

named_enum! {
    /// The kind of a note.
    #[derive(Default)]
    NoteKind {
        /// Returned when a question asks for it.
        #[default]
        Note = "note",
        /// A standing instruction: every session gets it.
        Standing = "standing",
        /// A note that an agent keeps under a topic, its title. It is identified by the topic and not by its
        /// text.
        Context = "context",
    }
}

named_enum! {
    /// The importance of a context, highest first.
    Priority {
        /// Checked before every piece of work.
        AlwaysCheck = "always_check",
        /// Worth knowing.
        Important = "important",
        /// To look up.
        Reference = "reference",
    }
}

/// The attributes of one version of a note, besides its text, author and time.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct NoteFacts {
    /// Kind of the note.
    pub kind: NoteKind,
    /// Title; the topic of a context.
    pub title: Option<String>,
    /// Tags, in order.
    pub tags: Vec<String>,
    /// Importance, if one was given.
    pub priority: Option<Priority>,
    /// True if a person wrote the note or agreed to it. Other notes are returned on request, and never
    /// injected.
    pub is_confirmed: bool,
    /// Native id of the session in which the note was given.
    pub session: Option<String>,
    /// A JSON object with any other data that the author wants kept with the note.
    pub metadata: String,
}

/// Metadata of a note that has none.
pub const NO_METADATA: &str = "{}";

impl Default for NoteFacts {
    fn default() -> Self {
        Self {
            kind: NoteKind::Note,
            title: None,
            tags: Vec::new(),
            priority: None,
            is_confirmed: true,
            session: None,
            metadata: NO_METADATA.to_owned(),
        }
    }
}

impl NoteFacts {
    /// Extracts the attributes that an older yore kept as tags: `standing`, `context` (of an agent, under a
    /// title), `unconfirmed` and `priority:...`.
    pub fn of_tags(tags: &[String], title: Option<&str>, is_by_agent: bool) -> Self {
        let has = |name: &str| tags.iter().any(|tag| tag == name);
        let kind = match () {
            () if has("standing") => NoteKind::Standing,
            () if has("context") && is_by_agent && title.is_some() => NoteKind::Context,
            () => NoteKind::Note,
        };
        let priority = tags.iter().find_map(|tag| Priority::parse(tag.strip_prefix("priority:")?));
        let is_told = |tag: &&String| {
            let names_kind = match kind {
                NoteKind::Standing => tag.as_str() == "standing",
                NoteKind::Context => tag.as_str() == "context",
                NoteKind::Note => false,
            };
            let names_priority = tag.strip_prefix("priority:").is_some_and(|name| Priority::parse(name).is_some());
            names_kind || names_priority || tag.as_str() == "unconfirmed"
        };
        Self {
            kind,
            title: title.map(str::to_owned),
            tags: tags.iter().filter(|tag| !is_told(tag)).cloned().collect(),
            priority,
            is_confirmed: !has("unconfirmed"),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tags: &[&str], title: Option<&str>, is_by_agent: bool) -> NoteFacts {
        NoteFacts::of_tags(&tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>(), title, is_by_agent)
    }

    #[test]
    fn tags_of_an_older_yore_become_facts() {
        let context = of(&["context", "priority:important", "related:tides", "ports", "unconfirmed"], Some("Berths"), true);
        assert_eq!((context.kind, context.priority, context.is_confirmed), (NoteKind::Context, Some(Priority::Important), false));
        assert_eq!(context.tags, ["related:tides", "ports"]);
        assert_eq!(of(&["standing", "context"], Some("x"), true).kind, NoteKind::Standing);
        // On a person's note, these are ordinary tags.
        assert_eq!(of(&["context", "priority:high"], Some("x"), false).tags, ["context", "priority:high"]);
    }
}
