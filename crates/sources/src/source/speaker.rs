//! Decides who sent a message that a client files under "user".
//!
//! - [`sender`]: reads the fields of a record, by a table for each agent
//! - [`divide`]: separates a person's words from what their client put into the same text
//!
//! Planted words can imitate every mark of a client. So a field wins over the text, an element that a client inserts ends
//! at its last mark, not at its first, and what stands between the two is never a person's word.

use serde_json::Value;
use yore_core::episode::{Caveat, PROGRAM, Role};

use super::Headless;

/// Name of the speaker of an errand: the "user" of a side conversation is the agent that started it.
pub(super) const PARENT_AGENT: &str = "parent agent";

/// The sender of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    /// A person.
    Person,
    /// A program that uses the agent: a script, a bot, a schedule.
    Program,
    /// Whoever runs the agent without a terminal: usually a program, see [`Headless`].
    Headless,
    /// The client itself.
    Client,
}

impl Sender {
    /// Returns the sender, with that of prompts without a terminal decided.
    pub(super) fn with(self, headless: Headless) -> Self {
        match (self, headless) {
            (Self::Headless, Headless::Person) => Self::Person,
            (Self::Headless, Headless::Program) => Self::Program,
            _ => self,
        }
    }
}

/// A field of a record and what its values say.
pub(super) struct Field {
    /// Names that lead to the field.
    path: &'static [&'static str],
    /// Values and their senders; a flag has the value `true`. A value that ends in `-` or `_` stands for all that begin so.
    says: &'static [(&'static str, Sender)],
    /// What every other text says.
    others: Option<Sender>,
}

impl Field {
    const fn new(path: &'static [&'static str], says: &'static [(&'static str, Sender)]) -> Self {
        Self { path, says, others: None }
    }

    fn sender(&self, record: &Value) -> Option<Sender> {
        let found = self.path.iter().try_fold(record, |value, name| value.get(name))?;
        let value = match found {
            Value::String(text) if !text.is_empty() => text.as_str(),
            Value::Bool(flag) => {
                if *flag {
                    "true"
                } else {
                    "false"
                }
            }
            _ => return None,
        };
        let is_named = |name: &str| if name.ends_with(['-', '_']) { value.starts_with(name) } else { value == name };
        let named = self.says.iter().find(|(name, _)| is_named(name)).map(|(_, sender)| *sender);
        named.or(self.others.filter(|_| found.is_string()))
    }
}

const BY_CLIENT: &[(&str, Sender)] = &[("true", Sender::Client)];
const BY_PROGRAM: &[(&str, Sender)] = &[("true", Sender::Program)];

/// Fields of Claude Code's lines and attachments. A prompt from a person's phone comes through the same interface as a
/// program's, so `origin` and `promptSource` come before what only names that interface.
pub(super) const CLAUDE_CODE: &[Field] = &[
    Field::new(&["commandMode"], &[("task-notification", Sender::Client)]),
    Field::new(&["isMeta"], BY_CLIENT),
    Field { path: &["origin", "kind"], says: &[("human", Sender::Person)], others: Some(Sender::Client) },
    Field::new(
        &["promptSource"],
        &[("typed", Sender::Person), ("queued", Sender::Person), ("sdk", Sender::Headless), ("system", Sender::Program)],
    ),
    Field::new(&["turnOrigin"], &[("human", Sender::Person), ("sdk", Sender::Headless), ("system", Sender::Program)]),
    Field::new(&["isVirtual"], BY_PROGRAM),
    Field::new(&["turnCompanion"], BY_PROGRAM),
    Field::new(&["isVisibleInTranscriptOnly"], BY_CLIENT),
    Field::new(
        &["entrypoint"],
        &[("sdk-", Sender::Headless), ("mcp", Sender::Program), ("claude-code-github-action", Sender::Program)],
    ),
];

/// Fields of the header of Codex's threads.
pub(super) const CODEX: &[Field] = &[
    Field::new(&["source"], &[("exec", Sender::Headless), ("mcp", Sender::Program)]),
    Field::new(&["originator"], &[("codex_exec", Sender::Headless), ("codex_sdk_", Sender::Headless)]),
];

/// Fields of Qwen Code's lines. Versions before February 2026 record no `provenance`.
pub(super) const QWEN: &[Field] = &[
    Field::new(&["subtype"], &[("cron", Sender::Program), ("notification", Sender::Client), ("goal_runtime", Sender::Client)]),
    Field { path: &["provenance"], says: &[("real_user", Sender::Person)], others: Some(Sender::Client) },
];

/// Fields of the messages of Copilot's command line.
pub(super) const COPILOT_CLI: &[Field] =
    &[Field { path: &["source"], says: &[("user", Sender::Person)], others: Some(Sender::Client) }];

/// Fields of Antigravity's steps.
pub(super) const ANTIGRAVITY: &[Field] =
    &[Field::new(&["source"], &[("USER_", Sender::Person), ("SYSTEM", Sender::Client), ("MODEL", Sender::Client)])];

/// Fields of the header of a session of Cline's program: `false` without a terminal.
pub(super) const CLINE: &[Field] = &[Field::new(&["interactive"], &[("false", Sender::Headless)])];

/// Fields of the parts of OpenCode's messages.
pub(super) const OPENCODE: &[Field] = &[Field::new(&["synthetic"], BY_CLIENT), Field::new(&["ignored"], BY_CLIENT)];

/// Fields of the messages of Zed's older threads.
pub(super) const ZED: &[Field] = &[Field::new(&["is_hidden"], BY_CLIENT)];

/// Returns the sender of a record, if one of these fields names it: the first that does decides.
pub(super) fn sender(fields: &[Field], record: &Value) -> Option<Sender> {
    fields.iter().find_map(|field| field.sender(record))
}

/// Returns the role of a turn that the text takes for a person's, and the name of its speaker, as its sender says.
pub(super) fn role_by(sender: Option<Sender>, role: Role) -> (Role, Option<&'static str>) {
    match (sender, role) {
        (Some(Sender::Program | Sender::Headless), Role::Human) => (Role::Injected, Some(PROGRAM)),
        (Some(Sender::Client), Role::Human) => (Role::Injected, None),
        _ => (role, None),
    }
}

/// What a client puts into the text of a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Names of elements.
    pub elements: &'static [&'static str],
    /// Beginnings of lines after which everything is inserted: the contents of files that the prompt names.
    pub tails: &'static [&'static str],
}

/// A text that a client sends as the person's, divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Divided {
    /// Words that the person typed.
    pub said: String,
    /// Words of an unknown author: between inserted elements, or within one that holds such marks itself, and the contents of
    /// files.
    pub beside: String,
}

impl Divided {
    /// Returns the words that count as those of the turn, what remains beside them, and the caveat of the turn.
    pub(super) fn settled(self) -> (String, String, Option<Caveat>) {
        if self.said.is_empty() && !self.beside.is_empty() {
            return (self.beside, String::new(), Some(Caveat::UnknownAuthor));
        }
        (self.said, self.beside, None)
    }
}

/// Divides a text that a client sends as the person's. Inserted elements reach from the first opening mark to the last
/// closing mark of any of them, because the content of an element may hold these marks, too. An element at the beginning that
/// is not closed takes all; a mark within a text that nothing closes is the person's.
pub(super) fn divide(text: &str, marks: &Marks) -> Divided {
    let text = text.trim();
    let tail = marks.tails.iter().filter_map(|tail| start_of_line(text, tail)).min().unwrap_or(text.len());
    let (text, tail) = text.split_at(tail);
    let mut beside = tail.trim().to_owned();
    let opening = |tag: &&str| opening_of(text, tag).map(|(start, _)| start);
    let closing = |tag: &&str| text.rfind(&format!("</{tag}>")).map(|at| at + tag.len() + 3);
    let Some(first) = marks.elements.iter().filter_map(opening).min() else {
        return Divided { said: text.trim().to_owned(), beside };
    };
    let last = marks.elements.iter().filter_map(closing).max().filter(|last| *last > first);
    let Some(last) = last else {
        let said = if first == 0 { "" } else { text.trim() };
        return Divided { said: said.to_owned(), beside };
    };
    let between = without_elements(&text[first..last], marks.elements);
    if !between.trim().is_empty() {
        beside = if beside.is_empty() { between.trim().to_owned() } else { format!("{}\n\n{beside}", between.trim()) };
    }
    Divided { said: [&text[..first], &text[last..]].concat().trim().to_owned(), beside }
}

/// Returns the place of the first line that begins with a mark.
fn start_of_line(text: &str, mark: &str) -> Option<usize> {
    let is_start = |at: &usize| *at == 0 || text.as_bytes()[at - 1] == b'\n';
    text.match_indices(mark).map(|(at, _)| at).find(is_start)
}

/// Returns the beginning and the end of the first opening mark of an element, with or without attributes.
fn opening_of(text: &str, tag: &str) -> Option<(usize, usize)> {
    let open = format!("<{tag}");
    text.match_indices(&open).find_map(|(start, _)| {
        let rest = &text[start + open.len()..];
        let end = if rest.starts_with('>') { 0 } else { rest.find('>').filter(|_| rest.starts_with(char::is_whitespace))? };
        Some((start, start + open.len() + end + 1))
    })
}

/// Returns the text without these elements, each up to its first closing mark.
fn without_elements(text: &str, tags: &[&str]) -> String {
    let mut rest = text.to_owned();
    for tag in tags {
        let close = format!("</{tag}>");
        let mut from = 0;
        while let Some((start, _)) = opening_of(&rest[from..], tag) {
            let start = start + from;
            let Some(end) = rest[start..].find(&close).map(|at| at + start + close.len()) else { break };
            rest.replace_range(start..end, "");
            from = start;
        }
    }
    rest
}

/// Returns the content of the element that a text begins with, up to the last closing mark or the end.
pub(super) fn whole_element<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, start) = opening_of(text, tag).filter(|(start, _)| *start == 0)?;
    let inner = &text[start..];
    Some(inner.rfind(&format!("</{tag}>")).map_or(inner, |end| &inner[..end]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const MARKS: Marks = Marks { elements: &["note", "selection"], tails: &["--- Content of files ---"] };

    #[test]
    fn element_ends_at_the_last_mark_of_any_element() {
        for (text, said, beside) in [
            ("<note>a</note>mend it", "mend it", ""),
            ("mend it\n<note>a</note> now", "mend it\n now", ""),
            ("<selection>a</selection>always b</selection>\nmend it", "mend it", "always b</selection>"),
            ("<note>a</note><selection>b</note>always c</selection>mend it", "mend it", ""),
            ("<note>a</note>mend it<note>b</note>", "", "mend it"),
            ("<note>cut off", "", ""),
            ("why <note> there?", "why <note> there?", ""),
            ("mend </note> it", "mend </note> it", ""),
            ("mend @a\n--- Content of files ---\nalways b", "mend @a", "--- Content of files ---\nalways b"),
            ("say --- Content of files --- twice", "say --- Content of files --- twice", ""),
        ] {
            let found = divide(text, &MARKS);
            assert_eq!((found.said.as_str(), found.beside.as_str()), (said, beside), "{text}");
        }
    }

    #[test]
    fn first_field_that_names_a_sender_decides() {
        for (record, expected) in [
            (json!({"promptSource": "sdk", "origin": {"kind": "human"}}), Some(Sender::Person)),
            (json!({"promptSource": "typed", "entrypoint": "sdk-ts"}), Some(Sender::Person)),
            (json!({"entrypoint": "sdk-rs"}), Some(Sender::Headless)),
            (json!({"isVirtual": false, "entrypoint": "cli"}), None),
            (json!({"isVirtual": true}), Some(Sender::Program)),
            (json!({"promptSource": 7, "entrypoint": ["sdk-ts"]}), None),
            (json!({"origin": {"kind": "task-notification"}}), Some(Sender::Client)),
        ] {
            assert_eq!(sender(CLAUDE_CODE, &record), expected, "{record}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_divided_with_a_panic_or_gains_words(text in "(<note>|</note>|<selection>|</selection>|\\PC|\n){0,30}") {
            let found = divide(&text, &MARKS);
            prop_assert!(found.said.len() + found.beside.len() <= text.len());
        }
    }
}
