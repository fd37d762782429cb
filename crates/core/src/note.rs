//! Notes and contexts: words that somebody gave to be kept, and what is known of them beside the words.

use serde::{Deserialize, Serialize};

named_enum! {
    /// What a note is for.
    #[derive(Default)]
    NoteKind {
        /// Found when it is asked for.
        #[default]
        Note = "note",
        /// A standing instruction: every session is told.
        Standing = "standing",
        /// What an agent keeps under a topic, its title. It is known by that and not by its words.
        Context = "context",
    }
}

named_enum! {
    /// How much a context matters, most first (S3-002).
    Priority {
        /// Checked before every piece of work.
        AlwaysCheck = "always_check",
        /// Worth knowing.
        Important = "important",
        /// To look up.
        Reference = "reference",
    }
}

/// What is known of one version of a note, beside its words, who wrote them and when (S3-001).
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct NoteFacts {
    /// What it is for.
    pub kind: NoteKind,
    /// Title; the topic of a context.
    pub title: Option<String>,
    /// Words to find it by, in order.
    pub tags: Vec<String>,
    /// How much it matters, where somebody said so.
    pub priority: Option<Priority>,
    /// Whether a person gave it or agreed to it. Others are found when they are asked for, and never told unasked.
    pub is_confirmed: bool,
    /// The agent's own id of the session in which it was given.
    pub session: Option<String>,
    /// A JSON object of whatever else its giver wants kept with it.
    pub metadata: String,
}

/// The metadata of a note that has none.
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
    /// Takes what an older yore kept as tags out of them: `standing`, `context` (of an agent, under a title),
    /// `unconfirmed` and `priority:...`.
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
        // A person's tag is a tag.
        assert_eq!(of(&["context", "priority:high"], Some("x"), false).tags, ["context", "priority:high"]);
    }
}
