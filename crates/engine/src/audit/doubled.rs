//! Finds lines that say what an earlier line says: by words that have their counterparts, or by meaning and the code that they name.

use std::collections::BTreeSet;

use yore_core::conflict::{Repetition, Statement};
use yore_core::text::{Tokenizer, content_words};

use super::finding::{Found, Line};
use super::report::AuditKind;
use super::words::{Form, words};
use crate::embed::TextLikeness;

/// Fewest words of either line; the shorter one has at least half as many as the other.
const LEAST_WORDS: usize = 3;
/// Words that two lines must share, and their least likeness in meaning.
const LEAST_SHARED: usize = 2;
const LEAST_ALIKE: f32 = 0.6;
/// Sum of the likeness and the share of the shorter line's words that both have, from which they say the same.
const SAME: f32 = 1.05;
/// Likeness from which two lines do that name the same code.
const SAME_OF_CODE: f32 = 0.7;

/// The form in which two lines are compared.
struct Compared {
    text: String,
    statement: Statement,
    /// Names of code, in lower case.
    code: BTreeSet<String>,
    stems: Vec<String>,
    numbers: BTreeSet<String>,
    /// True for an entry of an index: a link with a few words.
    is_entry: bool,
}

/// Returns for each line the finding that it repeats an earlier one.
pub(super) fn doubled(lines: &[Line<'_>]) -> Vec<Option<Found>> {
    let mut tokenizer = Tokenizer::default();
    let likeness = TextLikeness::default();
    let compared: Vec<Compared> = lines
        .iter()
        .map(|line| {
            let text = without_places(&line.said.text);
            let is_code = |form: Form| form == Form::Code;
            Compared {
                statement: Statement::of(&text, &mut tokenizer),
                code: words(&line.said.text)
                    .iter()
                    .filter(|word| is_code(word.form))
                    .map(|word| word.text.to_lowercase())
                    .collect(),
                stems: content_words(&text, &mut tokenizer),
                numbers: numbers(&text),
                is_entry: line.said.text.starts_with('[') || line.said.text.starts_with("| ["),
                text,
            }
        })
        .collect();
    let is_copy = |a: &Line<'_>, b: &Line<'_>| a.file.path != b.file.path && a.file.text == b.file.text;
    (0..lines.len())
        .map(|at| {
            let twin = (0..at)
                .find(|other| !is_copy(&lines[at], &lines[*other]) && is_same(&compared[at], &compared[*other], &likeness))?;
            let other = &lines[twin];
            let name = other.file.name.as_deref().unwrap_or(&other.file.path);
            let proof = format!("{name}:{}: \u{201c}{}\u{201d}", other.said.line, other.said.text);
            Some(Found::new(AuditKind::Doubled, "another line says the same", proof))
        })
        .collect()
}

fn is_same(a: &Compared, b: &Compared, likeness: &TextLikeness) -> bool {
    // Lines that both name code, and none in common, are about different things; an entry of an index points at a text.
    let is_apart = !a.code.is_empty() && !b.code.is_empty() && a.code.is_disjoint(&b.code);
    if is_apart || a.is_entry || b.is_entry {
        return false;
    }
    let (fewer, more) = (a.stems.len().min(b.stems.len()), a.stems.len().max(b.stems.len()));
    if a.numbers != b.numbers || fewer < LEAST_WORDS || fewer * 2 < more {
        return false;
    }
    if Repetition::of(&a.statement, &b.statement).is_some() {
        return true;
    }
    let shared = a.stems.iter().filter(|stem| b.stems.contains(stem)).count();
    let share = shared as f32 / fewer as f32;
    let alike = likeness.of(&a.text, &b.text);
    let is_of_code = !a.code.is_empty() && a.code == b.code;
    shared >= LEAST_SHARED && alike >= LEAST_ALIKE && (alike + share >= SAME || is_of_code && alike >= SAME_OF_CODE)
}

/// Returns a text without paths, addresses and marks: two lines may name one file and say different things of it.
fn without_places(text: &str) -> String {
    let plain = text.replace("](", " /").replace(['`', '*', '[', '|'], " ");
    let words = plain.split_whitespace().filter(|word| !word.contains('/') && !word.contains("::"));
    words.collect::<Vec<&str>>().join(" ")
}

fn numbers(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
    let words = text.split(|letter: char| !is_part(letter)).map(|word| word.trim_matches('.'));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
