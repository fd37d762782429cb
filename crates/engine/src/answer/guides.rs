//! Reads the documents that guide work in a project, as agents read them last: commands, rules, and what the project is.

use std::collections::HashSet;

use yore_core::event::{EventKind, Purpose};
use yore_core::text::fragments;
use yore_core::time::UtcMillis;

use super::view::Asked;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::ViewRow;
use crate::rules::{Sentence, Words, cut, plain, sentences};
use crate::store::{EventFilter, ShownTurn, TurnKey, Turns};

/// Most documents that are looked at, readings of each, and rows of each kind.
const MOST_GUIDES: usize = 5;
const MOST_READINGS: usize = 8;
const MOST_RULES: usize = 12;
/// Share of the longest reading that a later one has which is of the whole document, in percent.
const WHOLE_PERCENT: usize = 80;
/// Longest row, in characters.
const ROW_CHARS: usize = 220;
/// Longest command, in characters.
const COMMAND_CHARS: usize = 120;
/// Weight of a line that orders something, beside the share of the subject that it has.
const ORDERED: f32 = 0.5;
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
    /// True if it stands below a heading of what is to be done before the step that the question names.
    pub is_before: bool,
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
        let mut readings: Vec<(&str, Vec<TurnKey>)> = Vec::new();
        for known in &events {
            let name = name_of(&known.event.name);
            match readings.iter().position(|(of, _)| *of == name) {
                Some(at) if readings[at].1.len() < MOST_READINGS => readings[at].1.push(known.turn),
                None if readings.len() < MOST_GUIDES => readings.push((name, vec![known.turn])),
                _ => {}
            }
        }
        let read = |(name, turns): &(&str, Vec<TurnKey>)| {
            let read = self.store().turns(Turns::Keys(turns))?;
            let texts: Vec<String> = read.iter().map(text_of).collect();
            Ok(read.first().map(|latest| Guide {
                name: (*name).to_owned(),
                at: latest.time.utc,
                opens: latest.id.short(),
                text: whole(&texts),
            }))
        };
        let guides = readings.iter().map(read).collect::<Result<Vec<_>, EngineError>>()?;
        Ok(guides.into_iter().flatten().collect())
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn text_of(turn: &ShownTurn) -> String {
    let text = if turn.tool_text.is_empty() { turn.text.clone() } else { without_numbers(&turn.tool_text) };
    // Some agents add a notice of their own to what they read.
    text.split("<system-reminder>").next().unwrap_or_default().trim_end().to_owned()
}

/// Returns the latest reading of a document. If an earlier one was much longer, the latest was of a part: then it goes on with the
/// paragraphs that only earlier ones have.
fn whole(readings: &[String]) -> String {
    let longest = readings.iter().map(String::len).max().unwrap_or_default();
    let (mut whole, mut known) = (String::new(), HashSet::new());
    for reading in readings {
        for paragraph in reading.split("\n\n") {
            let is_heading = paragraph.starts_with('#') && !paragraph.contains('\n');
            if is_heading || known.insert(paragraph.trim()) {
                whole.push_str(paragraph);
                // A block of code that was cut ends here.
                let is_open = paragraph.matches("```").count() % 2 == 1;
                whole.push_str(if is_open { "\n```\n\n" } else { "\n\n" });
            }
        }
        if 100 * whole.len() >= WHOLE_PERCENT * longest {
            break;
        }
    }
    whole
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
        let (mut found, mut is_code, mut heading): (Vec<Documented>, bool, &str) = (Vec::new(), false, "");
        for line in self.text.lines().map(str::trim) {
            if line.starts_with("```") {
                is_code = !is_code;
                continue;
            }
            if !is_code && line.starts_with('#') {
                heading = line;
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
                let is_before = asked.is_before(heading);
                let is_known = found.iter().any(|known| known.command == command && known.is_before == is_before);
                if (is_of_purpose || is_of_subject || is_before) && !is_known {
                    let comment = if is_code { line.split_once(" #").map_or("", |(_, comment)| comment) } else { line };
                    found.push(Documented {
                        command: command.to_owned(),
                        comment: cut(&plain(comment), ROW_CHARS / 2),
                        is_before,
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
        let subject = asked.subject.met_in(&self.text)?;
        let mut rules: Vec<(f32, String)> = Vec::new();
        for Sentence { text: line, heading, .. } in sentences(&self.text, Words::of(&self.text)) {
            let lower = line.to_lowercase();
            let orders = ORDERS.iter().any(|word| lower.contains(word));
            // A section about the subject counts with all that it says, orders before the rest.
            let share = subject.share_in(&format!("{heading} {line}"));
            let is_wanted = match subject.is_empty() {
                true => orders,
                false => share > 0.5,
            };
            let text = plain(line);
            if is_wanted && text.split_whitespace().count() > 2 {
                rules.push((share + if orders { ORDERED } else { 0.0 }, cut(&text, ROW_CHARS)));
            }
        }
        rules.sort_by(|one, other| other.0.total_cmp(&one.0));
        rules.truncate(MOST_RULES);
        let rules: Vec<String> = rules.into_iter().map(|(_, text)| text).collect();
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
