//! Finds lines whose subject no file, commit or conversation of the project ever had.

use yore_core::text::{Tokenizer, is_stop_word};

use super::finding::{Found, Line};
use super::report::AuditKind;
use super::sessions::Said;
use super::words::{Form, words};

/// Fewest sessions of a project from which absence tells something.
const LEAST_SESSIONS: usize = 5;
/// Fewest unknown words of a line.
const LEAST_UNKNOWN: usize = 2;
/// Words at the beginning of a line that are its subject.
const SUBJECT: usize = 2;
/// Shortest word that counts, in letters.
const SHORTEST: usize = 4;

/// Returns a finding if all names of a line are unknown, or, where it has none, its first words.
pub(super) fn unused(line: &Line<'_>, said: &Said) -> Option<Found> {
    if said.sessions < LEAST_SESSIONS {
        return None;
    }
    let mut tokenizer = Tokenizer::default();
    let is_word = |text: &str| text.chars().filter(|letter| letter.is_alphabetic()).count() >= SHORTEST;
    let content: Vec<(&str, Form, bool)> = words(&line.said.text)
        .into_iter()
        .filter(|word| is_word(word.text) && !is_stop_word(&word.text.to_lowercase()))
        .map(|word| {
            let is_known = word.text.split(['.', '-', '@']).all(|part| part.is_empty() || said.known.knows(part, &mut tokenizer));
            (word.text, word.form, is_known)
        })
        .collect();
    let unknown: Vec<&str> = content.iter().filter(|(.., is_known)| !is_known).map(|(text, ..)| *text).collect();
    let mut names = content.iter().filter(|(_, form, _)| *form != Form::Plain).peekable();
    let has_names = names.peek().is_some();
    let begins = content.len() > SUBJECT && content[..SUBJECT].iter().all(|(.., is_known)| !is_known);
    // A name that is known is a subject that is known.
    let is_unused = names.all(|(.., is_known)| !is_known) && (has_names || begins);
    if unknown.len() < LEAST_UNKNOWN || !is_unused {
        return None;
    }
    Some(Found::new(
        AuditKind::Unused,
        format!("no file, commit or session ever had {}", unknown.join(", ")),
        format!("{} sessions, all files and commits", said.sessions),
    ))
}
