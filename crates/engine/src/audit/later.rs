//! Finds lines that a later commit message, message of the person or memory contradicts.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use yore_core::conflict::{Claims, Conflict, ConflictKind, SURE};
use yore_core::text::{Tokenizer, content_words, is_stop_word};

use super::finding::{Found, Line};
use super::report::AuditKind;
use super::repository::Repository;
use super::risky::regex;
use super::statement::Statement;
use super::words::{Form, Word, is_denied, words};

/// Words that a line and a statement must share beside the thing that the statement retires, or beside a value.
const LEAST_SHARED: usize = 2;

/// Words before the thing that a sentence retires.
static RETIRES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(
        r"\b(?:instead of|in place of|rather than|no longer(?: use[sd]?| need(?:s|ed)?)?|no more|stop(?:s|ped)? using|drop(?:s|ped)?|remove[sd]?|retire[sd]?|replac(?:e|es|ed|ing)|get(?:s|ting)? rid of|(?:do not|don't|never) use|(?:move|switch|migrate|change)[sd]? (?:\w+ )?(?:away )?from)\s+(?:the |a |an |our |all )?",
    )
});
/// Words after it.
static GOES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(
        r"([\w@.`-]+(?:(?:, | and |, and | )[\w@.`-]+){0,4}) (?:goes|go|is gone|are gone|(?:was|were|is|are) (?:removed|dropped|retired|replaced))\s*(?:[.,;:)]|$|by\b|for good\b|with\b)",
    )
});
/// A choice of one kind of a thing: "only X things", "X things only".
static ONLY: LazyLock<Option<Regex>> = LazyLock::new(|| regex(r"\bonly ([\w-]+) ([\w-]+)|\b([\w-]+) ([\w-]+) only\b"));

/// A statement as lines are compared with it.
struct Read<'s> {
    said: &'s Statement,
    claims: Claims,
    /// Stems of the sentence, and of the sentence with the title of its message.
    own: BTreeSet<String>,
    titled: BTreeSet<String>,
    /// Things that it retires, in lower case.
    retired: Vec<String>,
    /// Kinds that it allows alone: the kind and the thing, in lower case.
    only: Option<(String, String)>,
}

/// Compares lines with statements that were read once.
pub(super) struct Checker<'s> {
    statements: Vec<Read<'s>>,
    tokenizer: RefCell<Tokenizer>,
}

impl<'s> Checker<'s> {
    /// Reads the statements.
    pub fn new(statements: &'s [Statement]) -> Self {
        let mut tokenizer = Tokenizer::default();
        let read = |said: &'s Statement| Read {
            said,
            claims: Claims::of(&said.text, &mut tokenizer),
            own: content_words(&said.text, &mut tokenizer).into_iter().collect(),
            titled: content_words(&format!("{} {}", said.title, said.text), &mut tokenizer).into_iter().collect(),
            retired: retired(&said.text),
            only: only(&said.text),
        };
        let mut statements: Vec<Read<'_>> = statements.iter().map(read).collect();
        // The newest word counts, and is the proof.
        statements.sort_by_key(|read| std::cmp::Reverse(read.said.at));
        Self { statements, tokenizer: RefCell::new(tokenizer) }
    }

    /// Returns the finding that a later statement says otherwise than a line.
    pub fn contradicted(&self, line: &Line<'_>, repository: &Repository) -> Option<Found> {
        let text = line.said.text.replace('*', "");
        let tokenizer = &mut *self.tokenizer.borrow_mut();
        let claims = Claims::of(&text.replace('`', ""), tokenizer);
        let stems: BTreeSet<String> = content_words(&text, tokenizer).into_iter().collect();
        let named = words(&text);
        for read in &self.statements {
            let is_later = read.said.at > line.at;
            if !is_later && line.is_dated {
                continue;
            }
            let own = stems.intersection(&read.own).count();
            if own == 0 && read.retired.is_empty() {
                continue;
            }
            if let Some(gone) = read.retired.iter().filter(|_| is_later).find(|gone| {
                // A word of plain language, or of which the code has still use, means another thing elsewhere.
                let is_name = |word: &Word<'_>| word.form != Form::Plain || repository.declared.contains(*gone);
                let is_about = !repository.living.has(gone) || own * 2 >= stems.len();
                is_about
                    && affirmed(&named, &text, gone).is_some_and(is_name)
                    && stems.intersection(&read.titled).count() >= LEAST_SHARED
            }) {
                return Some(found(format!("a later statement retires {gone}"), read.said));
            }
            if let Some((kind, thing)) = &read.only
                && is_later
                && own > LEAST_SHARED
                && own * 2 >= stems.len()
                && named.windows(2).any(|pair| {
                    let own = pair[0].text.to_lowercase();
                    pair[1].text.to_lowercase() == *thing && own != *kind && !is_stop_word(&own) && !is_denied(&text, pair[0].at)
                })
                && !text.to_lowercase().contains(&format!("{kind} {thing}"))
            {
                return Some(found(format!("a later statement allows {kind} {thing} only"), read.said));
            }
            if own == 0 {
                continue;
            }
            if let Some(conflict) = claims.conflict(&read.claims) {
                // If it is not known when the line was written, the code has to tell which of two values is the later one.
                let was_changed = || conflict.values.as_ref().is_some_and(|values| is_changed(values, repository));
                let is_near = own * 2 >= stems.len().min(read.own.len());
                if is_near && is_sure(&conflict) && (is_later || was_changed()) {
                    let mut found = found("a later statement says otherwise".to_owned(), read.said);
                    found.change =
                        conflict.values.filter(|[old, _]| text.matches(old.as_str()).count() == 1).map(|[old, new]| (old, new));
                    return Some(found);
                }
            }
        }
        None
    }
}

/// Returns whether the code had the first of two values, and has it no more.
fn is_changed([old, _]: &[String; 2], repository: &Repository) -> bool {
    let number = old.split(|letter: char| !letter.is_ascii_digit()).find(|number| !number.is_empty());
    number.is_some_and(|number| repository.removed.contains_key(number) && !repository.living.has(number))
}

fn found(reason: String, said: &Statement) -> Found {
    Found::new(AuditKind::Contradicted, reason, said.proof.clone())
}

/// Returns whether a conflict leaves no doubt: most words of the denial are those of the line, or a value differs among shared words.
fn is_sure(conflict: &Conflict) -> bool {
    match conflict.kind {
        ConflictKind::Direct => conflict.overlap >= SURE && conflict.about.len() > LEAST_SHARED,
        ConflictKind::Value => conflict.overlap >= 0.5 && conflict.about.len() >= LEAST_SHARED,
        ConflictKind::Temporal | ConflictKind::Granularity => false,
    }
}

/// Returns the word of a line that names a thing, unless the line denies it.
fn affirmed<'w, 't>(named: &'w [Word<'t>], text: &str, thing: &str) -> Option<&'w Word<'t>> {
    named.iter().find(|word| {
        let lower = word.text.to_lowercase();
        (lower == thing || lower.split('.').next() == Some(thing)) && !is_denied(text, word.at)
    })
}

/// Returns the things that a sentence retires: the first word after the words for it, or those before.
fn retired(sentence: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut put = |word: &str| {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
        if word.chars().filter(|letter| letter.is_alphabetic()).count() > 2 && !is_stop_word(&word) && !found.contains(&word) {
            found.push(word);
        }
    };
    for at in RETIRES.iter().flat_map(|form| form.find_iter(sentence)) {
        let rest = &sentence[at.end()..];
        put(rest.split([' ', ',', ';', ':', ')']).next().unwrap_or_default());
    }
    for before in GOES.iter().flat_map(|form| form.captures_iter(sentence)) {
        let list = before.get(1).map_or("", |list| list.as_str());
        if list.contains(", ") || list.contains(" and ") {
            list.split(", ").flat_map(|part| part.split(" and ")).for_each(|part| put(part.rsplit(' ').next().unwrap_or(part)));
        } else {
            list.split(' ').rev().take(2).for_each(&mut put);
        }
    }
    found
}

/// Returns the kind and the thing of a choice.
fn only(sentence: &str) -> Option<(String, String)> {
    let found = ONLY.as_ref()?.captures(sentence)?;
    let word = |at: usize| found.get(at).map(|word| word.as_str().to_lowercase());
    let (kind, thing) = (word(1).or_else(|| word(3))?, word(2).or_else(|| word(4))?);
    (!is_stop_word(&kind) && !is_stop_word(&thing)).then_some((kind, thing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_the_things_that_they_retire() {
        for (sentence, expected) in [
            ("pier: tar instead of pitch", &["pitch"][..]),
            ("Paint the hull; brushes, rollers and sponges go", &["brushes", "rollers", "sponges"]),
            ("Move from oars to sails", &["oars"]),
            ("No more `lanterns` on deck", &["lanterns"]),
            ("Lanterns go on deck", &[]),
            ("Sails replace oars.", &["oars"]),
        ] {
            assert_eq!(retired(sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn a_choice_of_one_kind_is_read_in_both_orders() {
        let expected = Some(("wooden".to_owned(), "masts".to_owned()));
        assert_eq!(only("We build wooden masts only."), expected);
        assert_eq!(only("Build only wooden masts"), expected);
        assert_eq!(only("Only if it rains"), None);
    }
}
