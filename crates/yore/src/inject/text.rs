//! The injected text as an agent reads it: facts with the ids by which `show` opens them.
//!
//! - [`brief`]: the state of a project
//! - [`suggestions`]: memories about a prompt, a file or an error
//!
//! Instructions would trigger an agent's defence against injected prompts, and rightly so: a recalled passage
//! is given as a fact, with its date.

use std::collections::HashSet;

use yore_core::episode::Role;
use yore_core::id::TurnId;
use yore_engine::ingest::source::note::KIND;
use yore_engine::{Brief, Found, NoteSummary, Said, Suggestions, Trigger, Worked};

use super::budget::{Injection, Page};
use crate::fence::{clean, name};
use crate::render::text::day;

/// Most characters of a standing note.
const STANDING_CHARS: usize = 600;
/// Most characters of another note.
const NOTE_CHARS: usize = 280;
/// Most characters of a request.
const ASKED_CHARS: usize = 240;
/// Most characters of the place where a session stopped.
const STOPPED_CHARS: usize = 480;
/// Most characters of an outcome.
const OUTCOME_CHARS: usize = 400;

/// Returns the brief within a budget of tokens. Whatever does not fit is left out; the most useful parts come
/// first.
pub fn brief(brief: &Brief, budget: usize) -> Injection {
    if brief.is_empty() {
        return Injection::default();
    }
    let about = match &brief.project {
        Some(project) => format!("Where things stand in {}, from earlier sessions.", name(project)),
        None => "What holds everywhere, from earlier sessions.".to_owned(),
    };
    let mut page = Page::new(&format!("{about} Recalled data: facts of the past, possibly outdated, no instructions."), budget);
    page.section_or_told("Standing notes:", brief.standing.iter().map(|note| note_line(note, STANDING_CHARS)).collect());
    if let Some(own) = &brief.own {
        page.section("This session, before it was compacted, was asked (oldest first):", worked_lines(own, false));
    }
    let mut sessions = brief.sessions.iter();
    if let Some(last) = sessions.next() {
        page.section(&format!("Last worked on: {}", headline(last)), worked_lines(last, true));
    }
    page.section("Notes:", brief.notes.iter().map(|note| note_line(note, NOTE_CHARS)));
    page.section("Before that:", sessions.map(|worked| (format!("- {}", headline(worked)), Vec::new())));
    page.end()
}

/// Returns the memories about a trigger, within a budget of tokens.
pub fn suggestions(suggestions: &Suggestions, trigger: &Trigger, budget: usize) -> Injection {
    if suggestions.memories.is_empty() {
        return Injection::default();
    }
    let about = match trigger {
        Trigger::Prompt(_) => "From earlier sessions, concerning the prompt.",
        Trigger::Edit(_) => "From earlier sessions, concerning the file.",
        Trigger::Failure(_) => "From earlier sessions, where the same error was met.",
    };
    let mut page = Page::new(&format!("{about} Recalled data: facts of the past, possibly outdated, no instructions."), budget);
    let lines = suggestions.memories.iter().map(|memory| {
        let Found::Turn(turn) = &memory.hit.found;
        let who = match turn.role {
            Role::Human => "the person",
            Role::Assistant => "the agent",
            Role::ToolCall | Role::ToolResult => "a tool",
            _ => "a summary",
        };
        let title = turn.title.as_deref().map(|title| format!(", \"{}\"", name(title))).unwrap_or_default();
        let quote = flowing(&memory.hit.quote, usize::MAX);
        // A note is known by its own id everywhere.
        let id = if turn.agent == KIND { turn.episode.short() } else { turn.id.short() };
        let mut line = format!("- [{id}] {}{title}, {who}: {quote}", day(turn.time.utc));
        let mut turns = vec![turn.id];
        if let Some(outcome) = &memory.outcome {
            line.push_str(&format!("\n  then [{}]: {}", outcome.turn.short(), both_ends(&outcome.text, OUTCOME_CHARS)));
            turns.push(outcome.turn);
        }
        (line, turns)
    });
    page.section("", lines);
    page.end()
}

fn headline(worked: &Worked) -> String {
    let session = &worked.session;
    let title = session.title.as_deref().map(|title| format!(" \"{}\"", name(title))).unwrap_or_default();
    format!("{}{title}, {}, session {}", day(session.updated), name(&session.agent), session.id.short())
}

fn worked_lines(worked: &Worked, with_end: bool) -> impl Iterator<Item = (String, Vec<TurnId>)> {
    let line = |what: &str, said: &Said, text: String| (format!("- {what} [{}]: {text}", said.turn.short()), vec![said.turn]);
    let mut lines: Vec<(String, Vec<TurnId>)> = Vec::new();
    if let Some(stopped) = worked.stopped.as_ref().filter(|_| with_end) {
        lines.push(line("it stopped at", stopped, both_ends(&stopped.text, STOPPED_CHARS)));
    }
    // The last request matters most, so it comes before those that may not fit; the requests of the session
    // itself are all given in order.
    let asked = worked.asked.iter().map(|said| line("asked", said, flowing(&said.text, ASKED_CHARS)));
    if with_end {
        lines.extend(asked.rev());
    } else {
        lines.extend(asked);
    }
    if !worked.files.is_empty() {
        let root = worked.session.cwd.as_deref().unwrap_or_default();
        let inside =
            |file: &str| file.strip_prefix(root).and_then(|rest| rest.strip_prefix(['/', '\\'])).unwrap_or(file).to_owned();
        let mut files: Vec<String> = worked.files.iter().map(|file| name(&inside(file))).collect();
        let mut seen = HashSet::new();
        files.retain(|file| seen.insert(file.clone()));
        lines.push((format!("- files: {}", files.join(", ")), Vec::new()));
    }
    lines.into_iter()
}

fn note_line(note: &NoteSummary, chars: usize) -> (String, Vec<TurnId>) {
    let title = note.facts.title.as_deref().map(|title| format!("{}: ", name(title))).unwrap_or_default();
    // A person's words weigh more.
    let by = if note.is_by_agent { " (noted by an agent)" } else { "" };
    (format!("- [{}] {title}{}{by}", note.episode.short(), flowing(&note.text, chars)), vec![note.turn])
}

/// Returns a text on one line, cut after `chars` characters.
fn flowing(text: &str, chars: usize) -> String {
    let line = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Returns the beginning and end of a long text: an agent says first what it did, and last what is left to
/// do.
fn both_ends(text: &str, chars: usize) -> String {
    let line = flowing(text, usize::MAX);
    let count = line.chars().count();
    if count <= chars {
        return line;
    }
    let head: String = line.chars().take(chars * 3 / 5).collect();
    let tail: String = line.chars().skip(count - chars * 2 / 5).collect();
    format!("{} … {}", head.trim_end(), tail.trim_start())
}

#[cfg(test)]
mod tests;
