//! Finds lines that say what an earlier line says: by words that have their counterparts, or by meaning and the code that they name.

use std::collections::BTreeSet;

use yore_core::conflict::{Repetition, Statement};
use yore_core::text::{Tokenizer, content_words};

use super::words::{Form, words};
use super::{AuditKind, Found, Line};
use crate::embed::TextLikeness;

/// Likeness in meaning from which two lines say the same; from which they do if they also name the same code.
const SAME: f32 = 0.75;
const SAME_OF_CODE: f32 = 0.5;

/// What two lines are compared by.
struct Compared {
    text: String,
    statement: Statement,
    /// Names of code, in lower case.
    code: BTreeSet<String>,
    stems: Vec<String>,
}

/// Returns for each line the finding that it repeats an earlier one.
pub(super) fn doubled(lines: &[Line<'_>]) -> Vec<Option<Found>> {
    let mut tokenizer = Tokenizer::default();
    let likeness = TextLikeness::default();
    let compared: Vec<Compared> = lines
        .iter()
        .map(|line| {
            let text = line.said.text.replace(['`', '*'], "");
            let is_code = |form: Form| form == Form::Code;
            Compared {
                statement: Statement::of(&text, &mut tokenizer),
                code: words(&line.said.text).iter().filter(|word| is_code(word.form)).map(|word| word.text.to_lowercase()).collect(),
                stems: content_words(&text, &mut tokenizer),
                text,
            }
        })
        .collect();
    let is_copy = |a: &Line<'_>, b: &Line<'_>| a.file.path != b.file.path && a.file.text == b.file.text;
    (0..lines.len())
        .map(|at| {
            let twin = (0..at).find(|other| {
                !is_copy(&lines[at], &lines[*other]) && is_same(&compared[at], &compared[*other], &likeness)
            })?;
            let other = &lines[twin];
            let name = other.file.name.as_deref().unwrap_or(&other.file.path);
            let proof = format!("{name}:{}: \u{201c}{}\u{201d}", other.said.line, other.said.text);
            Some(Found::new(AuditKind::Doubled, "another line says the same", proof))
        })
        .collect()
}

fn is_same(a: &Compared, b: &Compared, likeness: &TextLikeness) -> bool {
    let alike = likeness.of(&a.text, &b.text);
    let shared = a.stems.iter().filter(|stem| b.stems.contains(stem)).count();
    if std::env::var("AUD").is_ok() && alike > 0.35 {
        eprintln!("{alike:.2} code {} shared {shared}/{}/{} rep {} | {} | {}", (!a.code.is_empty() && a.code == b.code), a.stems.len(), b.stems.len(), Repetition::of(&a.statement, &b.statement).is_some(), a.text, b.text);
    }
    Repetition::of(&a.statement, &b.statement).is_some()
        || alike >= SAME
        || alike >= SAME_OF_CODE && !a.code.is_empty() && a.code == b.code
}
