//! What the agent reports: causes and what mended them, decisions with their alternatives, what it learned, what is left.

use std::sync::LazyLock;

use regex::Regex;
use yore_core::episode::FileAction;
use yore_core::exchange::TurnShape;
use yore_core::memory::{Fields, MemoryKind, SourceKind};

use super::context::alone;
use super::proposal::{MOST_STATEMENT_CHARS, Proposal, cut, plain};
use super::sentence::{Sentence, is_content, sentences};
use super::words::{Words, normal};

/// Shortest report, in bytes.
const SHORTEST: usize = 60;
/// Fewest words of a sentence.
const FEWEST_WORDS: usize = 6;

/// Label of a sentence: `**Root cause:** …`, or the heading above it.
fn label_of<'w>(sentence: &Sentence<'_>, words: &'w Words) -> Option<&'static str> {
    let _: &'w Words = words;
    let own = sentence.text.trim_start_matches(['-', '*', ' ', '•']);
    let own = own.split_once(':').map(|(label, _)| normal(label)).filter(|label| label.len() < 40);
    ["label cause", "label fix", "label decision", "label insight", "label todo", "label question"].into_iter().find(|section| {
        own.as_ref().is_some_and(|own| words.is(section, own)) || sentence.is_first && words.is(section, &sentence.heading)
    })
}

/// Returns whether the label stands in the sentence itself.
fn is_own_label(sentence: &Sentence<'_>, words: &Words) -> bool {
    let own = sentence.text.trim_start_matches(['-', '*', ' ', '•']);
    own.split_once(':').is_some_and(|(label, _)| words.is("label insight", &normal(label)))
}

/// Proposes memories from a message of the agent; `wrote`: files that the exchange changed. Of messages before the last one
/// of an exchange, only causes count.
pub fn propose(turn: &TurnShape<'_>, wrote: &[String], is_last: bool, found: &mut Vec<Proposal>) {
    if turn.text.len() < SHORTEST {
        return;
    }
    let words = Words::of(turn.text);
    let said = sentences(turn.text, words);
    let is_useful = |sentence: &Sentence<'_>| {
        !sentence.is_question
            && sentence.count() >= FEWEST_WORDS
            && !words.has("announce", &sentence.normal)
            && !words.has("trivial", &sentence.normal)
            && !sentence.text.ends_with(':')
            && !sentence.text.contains("](http")
    };
    let outcome = |of: usize| {
        let fits = |(at, sentence): &(usize, &Sentence<'_>)| {
            let is_labelled = label_of(sentence, words) == Some("label fix");
            let is_about_it = *at > of && begins_with_outcome(sentence, words) && shares_words(sentence, &said[of]);
            *at != of && is_useful(sentence) && sentence.names() > 0 && (is_labelled || is_about_it)
        };
        let labelled = said.iter().enumerate().filter(fits).find(|(_, sentence)| label_of(sentence, words) == Some("label fix"));
        labelled.or_else(|| said.iter().enumerate().find(fits)).map(|(_, sentence)| sentence)
    };
    for (at, sentence) in said.iter().enumerate().filter(|(_, sentence)| is_useful(sentence)) {
        let label = label_of(sentence, words);
        let names = sentence.names();
        let has = |section: &str| words.has(section, &sentence.normal);
        let hedge = if has("hedge") { 0.12 } else { 0.0 };
        let bonus = if names > 1 { 0.05 } else { 0.0 };
        let is_cause = is_last && label == Some("label cause") || has("strong cause");
        let fix = outcome(at).map(|fix| plain(fix.text)).filter(|_| is_cause);
        let mut made = if is_cause && names > 0 && !wrote.is_empty() && (fix.is_some() || names > 1) && is_telling(sentence) {
            let problem = plain(sentence.text);
            let statement = match &fix {
                Some(fix) => {
                    let fix = unlabelled(fix, words);
                    let room = MOST_STATEMENT_CHARS.saturating_sub(fix.chars().count() + 6).clamp(130, 220);
                    format!("{} Fix: {fix}", cut(&problem, room))
                }
                None => problem.clone(),
            };
            let fields = Fields::Solution { problem, error: None, tried: Vec::new(), changes: Vec::new(), files: wrote.to_vec() };
            let certainty = if fix.is_some() { 0.7 } else { 0.6 };
            made(turn, "cause and fix", MemoryKind::Solution, statement, fields, certainty, 0.75, sentence)
        } else if is_cause && names > 1 && is_telling(sentence) {
            made(turn, "cause", MemoryKind::Insight, plain(sentence.text), Fields::None, 0.58, 0.6, sentence)
        } else if has("tells") && names > 0 && sentence.content() > 4 {
            made(turn, "how things are", MemoryKind::Insight, plain(sentence.text), Fields::None, 0.6, 0.6, sentence)
        } else if !is_last {
            continue;
        } else if names > 0 && label == Some("label decision") && has("reason") {
            made(turn, "decision of the agent", MemoryKind::Decision, plain(sentence.text), Fields::None, 0.58, 0.6, sentence)
        } else if label == Some("label insight") && names > 0 && is_own_label(sentence, words) {
            made(turn, "what was learned", MemoryKind::Insight, plain(sentence.text), Fields::None, 0.58, 0.6, sentence)
        } else if label == Some("label todo") && sentence.content() > 3 {
            let fields = Fields::Open { is_closed: false };
            made(turn, "left open", MemoryKind::Todo, plain(sentence.text), fields, 0.52, 0.5, sentence)
        } else {
            continue;
        };
        let first = sentence.normal.split_whitespace().next().map(|word| format!(" {word} ")).unwrap_or_default();
        if !alone(sentence, words) || words.is("pronoun", &first) {
            made.certainty -= 0.15;
        }
        made.certainty += bonus - hedge - if is_last { 0.0 } else { 0.02 };
        made.language = words.language;
        made.files = wrote.to_vec();
        found.push(made);
    }
}

/// Returns whether a sentence tells a cause, and not only that there is one.
fn is_telling(sentence: &Sentence<'_>) -> bool {
    let text = sentence.text.to_lowercase();
    let is_place = text.starts_with("found it") || text.contains("root cause fix") || text.contains("root cause documented");
    !is_place && sentence.content() >= 5
}

/// Returns whether two sentences have two words in common that say something.
fn shares_words(one: &Sentence<'_>, other: &Sentence<'_>) -> bool {
    let is_shared = |word: &&str| is_content(word) && other.normal.contains(&format!(" {word} "));
    one.normal.split_whitespace().filter(is_shared).count() >= 2
}

/// Returns whether a sentence begins with what was done.
fn begins_with_outcome(sentence: &Sentence<'_>, words: &Words) -> bool {
    let head: Vec<&str> = sentence.normal.split_whitespace().take(4).collect();
    words.has("outcome", &format!(" {} ", head.join(" ")))
}

/// Returns a sentence without the label before it.
fn unlabelled(text: &str, words: &Words) -> String {
    match text.split_once(": ") {
        Some((label, rest)) if words.is("label fix", &normal(label)) => rest.to_owned(),
        _ => text.to_owned(),
    }
}

/// A ticket that the agent created, with a link whose last part is its title.
static TICKET: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:created|opened|filed)\s*:?\s*\**\[([A-Z]{2,10}-\d+)(?::\s*([^\]]+))?\]\(https?://\S+?/([a-z0-9-]+)\)")
        .ok()
});

/// Proposes the tickets that a message says were created, each with its title.
pub fn tickets(turn: &TurnShape<'_>, found: &mut Vec<Proposal>) {
    let Some(pattern) = TICKET.as_ref() else { return };
    for captures in pattern.captures_iter(turn.text) {
        let (Some(whole), Some(id)) = (captures.get(0), captures.get(1)) else { continue };
        let title = captures.get(2).map(|title| title.as_str().to_owned());
        let slug = captures.get(3).map(|slug| slug.as_str().replace('-', " ")).unwrap_or_default();
        let title = title.unwrap_or(slug);
        if title.split_whitespace().count() < 3 {
            continue;
        }
        let statement = format!("Ticket {} was created: {}.", id.as_str(), title.trim_end_matches('.'));
        found.push(Proposal {
            rule: "ticket created",
            kind: MemoryKind::Event,
            statement: cut(&statement, MOST_STATEMENT_CHARS),
            details: None,
            fields: Fields::None,
            certainty: 0.72,
            importance: 0.55,
            evidence: vec![(turn.id, whole.as_str().to_owned())],
            files: Vec::new(),
            said_by: SourceKind::Agent,
            language: Words::of(turn.text).language,
            at: turn.at,
            is_proven: false,
        });
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of a proposal")]
fn made(
    turn: &TurnShape<'_>,
    rule: &'static str,
    kind: MemoryKind,
    statement: String,
    fields: Fields,
    certainty: f32,
    importance: f32,
    sentence: &Sentence<'_>,
) -> Proposal {
    Proposal {
        rule,
        kind,
        statement: cut(&statement, MOST_STATEMENT_CHARS),
        details: None,
        fields,
        certainty,
        importance,
        evidence: vec![(turn.id, sentence.text.to_owned())],
        files: Vec::new(),
        said_by: SourceKind::Agent,
        language: "en",
        at: turn.at,
        is_proven: false,
    }
}

/// Returns the names of the files that turns changed, without directories that are above all of them.
pub fn written(turns: &[TurnShape<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for file in turns.iter().flat_map(|turn| turn.files).filter(|file| file.action == FileAction::Written) {
        if !names.contains(&file.path) {
            names.push(file.path.clone());
        }
    }
    names.truncate(12);
    names
}
