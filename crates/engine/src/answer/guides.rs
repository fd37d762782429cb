//! Reads the documents that guide work in a project, as agents read them last: commands, rules, and what the project is.

use std::collections::HashSet;

use yore_core::event::{EventKind, Purpose};
use yore_core::text::fragments;
use yore_core::time::UtcMillis;

use super::view::Asked;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::ViewRow;
use crate::rules::{cut, plain};
use crate::store::{EventFilter, Turns};

/// Most documents that are looked at, and most rows of each kind.
const MOST_GUIDES: usize = 5;
const MOST_RULES: usize = 12;
/// Longest row, in characters.
const ROW_CHARS: usize = 220;
/// Longest command, in characters.
const COMMAND_CHARS: usize = 120;
/// Words of a line that orders something.
const ORDERS: [&str; 14] = [
    "must",
    "never",
    "always",
    "don't",
    "do not",
    "should",
    "important",
    "avoid",
    "use ",
    "prefer",
    "required",
    "only",
    "not ",
    "before",
];

/// A document as an agent read it last.
pub(super) struct Guide {
    /// Name of its file.
    pub name: String,
    /// When, and the turn in which.
    at: Option<UtcMillis>,
    opens: String,
    text: String,
}

/// A command that a document names.
pub(super) struct Documented {
    pub command: String,
    /// The words beside it.
    pub comment: String,
    pub guide: String,
    pub at: Option<UtcMillis>,
    pub opens: String,
}

impl Engine {
    /// Returns the documents of the projects, those in the root first.
    pub(super) fn guides(&self, asked: &Asked<'_>) -> Result<Vec<Guide>, EngineError> {
        let filter = EventFilter { kinds: &[EventKind::Guide], projects: asked.projects.as_deref(), ..EventFilter::default() };
        let mut events = self.store().events(&filter)?;
        // The latest stay first within a depth.
        events.sort_by_key(|known| known.event.name.matches(['/', '\\']).count());
        let mut names = HashSet::new();
        events.retain(|known| names.insert(name_of(&known.event.name).to_owned()));
        events.truncate(MOST_GUIDES);
        let read = |known: &crate::store::StoredEvent| {
            let turn = self.store().turns(Turns::Keys(&[known.turn]))?.pop();
            Ok(turn.map(|turn| Guide {
                name: name_of(&known.event.name).to_owned(),
                at: known.event.at,
                opens: known.event.turn.short(),
                text: if turn.tool_text.is_empty() { turn.text } else { without_numbers(&turn.tool_text) },
            }))
        };
        let guides = events.iter().map(read).collect::<Result<Vec<_>, EngineError>>()?;
        Ok(guides.into_iter().flatten().collect())
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns the output of a tool that reads files without the number before each line.
fn without_numbers(text: &str) -> String {
    let line = |line: &str| match line.split_once(['→', '\t']) {
        Some((number, rest)) if !number.trim().is_empty() && number.trim().bytes().all(|byte| byte.is_ascii_digit()) => {
            rest.to_owned()
        }
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

impl Guide {
    /// Returns the commands that the document names for a purpose, or beside words of the subject.
    pub(super) fn commands(&self, asked: &Asked<'_>) -> Vec<Documented> {
        let (mut found, mut is_code): (Vec<Documented>, bool) = (Vec::new(), false);
        for line in self.text.lines().map(str::trim) {
            if line.starts_with("```") {
                is_code = !is_code;
                continue;
            }
            let named: Vec<&str> = match is_code {
                true => vec![line.split(" #").next().unwrap_or(line).trim()],
                false => line.split('`').skip(1).step_by(2).collect(),
            };
            for command in named.into_iter().filter(|command| is_command(command)) {
                let is_of_purpose = match asked.wanted.purpose {
                    Some(purpose) => Purpose::of(command) == Some(purpose),
                    None => Purpose::of(command).is_some(),
                };
                let is_of_subject = !asked.subject.is_empty() && asked.subject.share_in(line) >= 0.5;
                if (is_of_purpose || is_of_subject) && found.iter().all(|known| known.command != command) {
                    let comment = if is_code { line.split_once(" #").map_or("", |(_, comment)| comment) } else { line };
                    found.push(Documented {
                        command: command.to_owned(),
                        comment: cut(&plain(comment), ROW_CHARS / 2),
                        guide: self.name.clone(),
                        at: self.at,
                        opens: self.opens.clone(),
                    });
                }
            }
        }
        found
    }

    /// Returns a row with the lines of the document that order something about the subject, or about everything.
    pub(super) fn rules(&self, asked: &Asked<'_>) -> Option<ViewRow> {
        let (mut rules, mut heading): (Vec<String>, String) = (Vec::new(), String::new());
        for range in fragments(&self.text) {
            let line = &self.text[range];
            if line.trim_start().starts_with('#') {
                heading = plain(line);
                continue;
            }
            let lower = line.to_lowercase();
            let orders = ORDERS.iter().any(|word| lower.contains(word));
            let is_wanted = match asked.subject.is_empty() {
                true => orders,
                // A section about the subject counts with all that it says.
                false => {
                    asked.subject.is_in(&format!("{heading} {line}"))
                        || orders && asked.subject.share_in(&format!("{heading} {line}")) >= 0.5
                }
            };
            let text = plain(line);
            if is_wanted && text.split_whitespace().count() > 2 && rules.len() < MOST_RULES {
                rules.push(cut(&text, ROW_CHARS));
            }
        }
        let row = ViewRow { text: self.name.clone(), at: self.at, opens: Some(self.opens.clone()), ..ViewRow::default() };
        (!rules.is_empty()).then_some(ViewRow { details: rules, ..row })
    }

    /// Returns the first sentences of the document that say what the project is.
    pub(super) fn introduction(&self) -> Option<ViewRow> {
        let told = fragments(&self.text).into_iter().map(|range| &self.text[range]);
        let says =
            |line: &&str| !line.trim_start().starts_with(['#', '<', '[', '!', '`', '|']) && line.split_whitespace().count() > 4;
        let told: Vec<String> = told.filter(says).take(3).map(plain).collect();
        (!told.is_empty()).then(|| self.row(&told.join(" ")))
    }

    /// Returns the first line of the document that says what the subject is.
    pub(super) fn definition(&self, asked: &Asked<'_>) -> Option<ViewRow> {
        let parts = fragments(&self.text);
        definition_in(parts.iter().map(|range| &self.text[range.clone()]), asked).map(|text| self.row(&text))
    }

    fn row(&self, text: &str) -> ViewRow {
        ViewRow {
            text: cut(text, ROW_CHARS),
            state: Some(self.name.clone()),
            at: self.at,
            opens: Some(self.opens.clone()),
            details: Vec::new(),
        }
    }
}

/// Verbs of a sentence that says what its subject is or does.
const DEFINES: [&str; 10] =
    [" is ", " are ", " adds ", " provides ", " lets ", " runs ", " means ", " stores ", " ist ", " sind "];
/// Words before such a verb.
const MOST_BEFORE: usize = 8;

/// Returns the first of some sentences that says what the subject is: it has all of its words, before a verb that defines.
pub(super) fn definition_in<'t>(mut parts: impl Iterator<Item = &'t str>, asked: &Asked<'_>) -> Option<String> {
    let defines = |part: &&str| {
        let lower = part.to_lowercase();
        let verb = DEFINES.iter().filter_map(|verb| lower.find(verb)).min();
        verb.is_some_and(|at| {
            let before = &lower[..at];
            asked.subject.share_in(before) >= 1.0
                && before.split_whitespace().count() <= MOST_BEFORE
                && part.split_whitespace().count() > 5
        })
    };
    parts.find(defines).map(plain)
}

/// Returns whether a text in code marks is a command: several words, the first a program.
fn is_command(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_program = first.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'/'))
        && first.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./_-+".contains(&byte));
    is_program && text.contains(' ') && text.chars().count() <= COMMAND_CHARS && !text.contains(['{', '(', ';'])
}
