//! `memories --notes`: lists the notes that apply here.

use yore_core::scope::ScopeChoice;
use yore_engine::{NoteSummary, NotesRequest};

use crate::cli::Context;
use crate::cli::page::{PageArguments, more};
use crate::cursor::{self, Cursor};
use crate::error::{CliResult, Exit};
use crate::render::text::{self, BOLD, DIM, RESET};
use crate::results::Note;

/// Maximum number of characters of a note in the list.
const WORDS_CHARS: usize = 80;

/// Cursor letter of the list of notes.
pub const LIST: char = 'n';

/// Lists the notes that a request wants, which is for one more than a page has.
pub fn list(request: NotesRequest, page: &PageArguments, context: &mut Context) -> CliResult {
    let mut notes = context.settings.memory()?.notes(request.clone())?;
    let next = cursor::page(&mut notes, request.limit - 1, |note| Cursor::of(LIST, note.at, note.episode));
    if context.printer.is_json() {
        page.json(notes.iter().map(Note::from).collect(), next.as_ref(), context)?;
    } else {
        context.printer.table_of_ids(&rows(&notes))?;
        more(next.as_ref(), context)?;
        if notes.is_empty() {
            let is_narrowed = !request.tags.is_empty() || request.title.is_some();
            context.printer.note(match (is_narrowed, request.scope == ScopeChoice::All) {
                (true, _) => "no such note",
                (_, true) => "no notes yet; `yore remember` adds one",
                _ => "no notes for this project (--all lists those of every project); `yore remember` adds one",
            })?;
        }
    }
    Ok(if notes.is_empty() { Exit::Nothing } else { Exit::Success })
}

/// Returns the columns of each note.
fn rows(notes: &[NoteSummary]) -> Vec<Vec<String>> {
    let is_tagged = notes.iter().any(|note| !text::labels(note).is_empty());
    notes
        .iter()
        .map(|note| {
            let project = note.project.as_deref().map_or_else(|| "everywhere".to_owned(), text::harmless);
            let tags: Vec<String> = text::labels(note).iter().map(|tag| format!("#{}", text::harmless(tag))).collect();
            let author = if note.is_by_agent { format!(" {DIM}(by an agent){RESET}") } else { String::new() };
            let mut row = vec![note.episode.short(), text::day(note.at), project];
            row.extend(is_tagged.then(|| tags.join(" ")));
            row.push(format!("{}{author}", words(note)));
            row
        })
        .collect()
}

/// Returns a note's title and the beginning of its text, on one line.
fn words(note: &NoteSummary) -> String {
    let whole = text::harmless(&note.text).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = whole.chars();
    let mut words: String = letters.by_ref().take(WORDS_CHARS).collect();
    if letters.next().is_some() {
        words.push('…');
    }
    match &note.facts.title {
        Some(title) => format!("{BOLD}{}{RESET} {DIM}·{RESET} {words}", text::harmless(title)),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use yore_core::id::{EpisodeId, TurnId};
    use yore_core::note::{NoteFacts, NoteKind};

    use super::*;

    fn note(number: u8, title: Option<&str>, text: &str) -> NoteSummary {
        NoteSummary {
            episode: EpisodeId::from_bytes([number; 16]),
            turn: TurnId::from_bytes([number; 16]),
            facts: NoteFacts { title: title.map(str::to_owned), ..NoteFacts::default() },
            project: None,
            at: None,
            is_by_agent: false,
            version: 1,
            until: None,
            accessed: None,
            access_count: 0,
            text: text.to_owned(),
            related: Vec::new(),
        }
    }

    fn plain(notes: &[NoteSummary]) -> String {
        let mut lines = text::table(&rows(notes)).join("\n");
        for colour in [DIM, BOLD, RESET] {
            lines = lines.replace(colour, "");
        }
        lines
    }

    #[test]
    fn notes_stand_in_columns_with_their_first_words() {
        let mut first = note(1, Some("Crane"), "opens at six,\n\nnever\x1b[2J before");
        (first.project, first.facts.tags) = (Some("harbor".to_owned()), vec!["hours".to_owned()]);
        first.facts.kind = NoteKind::Standing;
        let mut second = note(2, None, &"ü".repeat(WORDS_CHARS + 1));
        second.is_by_agent = true;
        insta::assert_snapshot!(plain(&[first, second.clone()]), @"
        0101010101  ?  harbor      #hours #standing  Crane · opens at six, never[2J before
        0202020202  ?  everywhere                    üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü… (by an agent)
        ");
        second.text = "üü".to_owned();
        assert_eq!(plain(&[second]), "0202020202  ?  everywhere  üü (by an agent)", "no column for tags that there are none of");
    }
}
