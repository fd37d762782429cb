//! Reports of the agent: causes with what mended them, and tickets.

use std::sync::LazyLock;

use regex::Regex;
use yore_core::episode::FileAction;
use yore_core::exchange::TurnShape;
use yore_core::memory::{MemoryKind, SourceKind};
use yore_core::text::{cut, plain};

use super::context::{CONTENT_ALONE, alone};
use super::proposal::{MOST_STATEMENT_CHARS, Proposal, names_of, solution};
use super::sentence::{Sentence, is_content, sentences};
use super::words::{Words, normal};

/// Shortest report, in bytes.
const SHORTEST: usize = 60;
/// Fewest words of a sentence.
const FEWEST_WORDS: usize = 6;
/// Sentences of a message that are looked at: each is compared with the others.
const MOST_SENTENCES: usize = 500;
/// Longest problem and longest cause beside a fix, in characters.
const MOST_PROBLEM_CHARS: usize = 130;
/// Most files that belong to a proposal.
const MOST_FILES: usize = 12;
/// Changes of certainty: a sentence that cannot be understood alone loses the first, doubt takes the second, a second name
/// adds the third, and an early message loses the last.
const NOT_ALONE: f32 = 0.15;
const HEDGED: f32 = 0.12;
const NAMED: f32 = 0.05;
const EARLY: f32 = 0.02;

/// The part that a sentence has in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Problem,
    Cause,
    Fix,
}

const LABELS: [(&str, Label); 3] = [("label problem", Label::Problem), ("label cause", Label::Cause), ("label fix", Label::Fix)];

/// Returns the label of a sentence: `**Root cause:** …`, or the heading above it if it is the first below.
fn label_of(sentence: &Sentence<'_>, words: &Words) -> Option<Label> {
    let own = own_label(sentence);
    let fits = |section: &str| {
        own.as_ref().is_some_and(|own| words.is(section, own)) || sentence.is_first && words.is(section, &sentence.heading)
    };
    LABELS.into_iter().find(|(section, _)| fits(section)).map(|(_, label)| label)
}

/// Returns the label that stands in the sentence itself, in normal form.
fn own_label(sentence: &Sentence<'_>) -> Option<String> {
    let own = sentence.text.trim_start_matches(['-', '*', ' ', '•']);
    own.split_once(':').map(|(label, _)| normal(label)).filter(|label| label.len() < 40)
}

/// A message of the agent while rules read it.
struct Report<'r, 't> {
    turn: &'r TurnShape<'t>,
    said: Vec<Sentence<'t>>,
    words: &'static Words,
    /// Files that the exchange changed.
    wrote: &'r [String],
}

/// Proposes the causes that a message of the agent names; `wrote`: files that the exchange changed. Labels count in the last message of an
/// exchange alone.
pub fn propose(turn: &TurnShape<'_>, wrote: &[String], is_last: bool, found: &mut Vec<Proposal>) {
    if turn.text.len() < SHORTEST {
        return;
    }
    let words = Words::of(turn.text);
    let mut said = sentences(turn.text, words);
    said.truncate(MOST_SENTENCES);
    let report = Report { turn, said, words, wrote };
    for at in (0..report.said.len()).filter(|at| report.is_useful(*at)) {
        if let Some(mut proposal) = report.proposal(at, is_last) {
            let sentence = &report.said[at];
            let first = sentence.normal.split_whitespace().next().map(|word| format!(" {word} ")).unwrap_or_default();
            let is_alone = alone(sentence, words, CONTENT_ALONE) && !words.is("pronoun", &first);
            proposal.certainty += if sentence.names() > 1 { NAMED } else { 0.0 };
            proposal.certainty -= if is_alone { 0.0 } else { NOT_ALONE };
            proposal.certainty -= if words.has("hedge", &sentence.normal) { HEDGED } else { 0.0 };
            proposal.certainty -= if is_last { 0.0 } else { EARLY };
            found.push(proposal);
        }
    }
}

impl Report<'_, '_> {
    fn has(&self, section: &str, at: usize) -> bool {
        self.words.has(section, &self.said[at].normal)
    }

    /// Returns whether a sentence says something that lasts.
    fn is_useful(&self, at: usize) -> bool {
        let sentence = &self.said[at];
        let is_out = ["announce", "trivial", "unfinished"].into_iter().any(|section| self.has(section, at));
        !sentence.is_question
            && sentence.count() >= FEWEST_WORDS
            && !is_out
            && !sentence.text.trim_end_matches(['*', '`']).ends_with(':')
            && !sentence.normal.contains(" let me ")
            && !sentence.text.contains("](http")
    }

    fn proposal(&self, at: usize, is_last: bool) -> Option<Proposal> {
        let sentence = &self.said[at];
        let label = label_of(sentence, self.words).filter(|_| is_last);
        let is_cause = matches!(label, Some(Label::Problem | Label::Cause)) || self.has("strong cause", at);
        if !is_cause || sentence.names() == 0 || !is_telling(sentence) {
            return None;
        }
        let fix = if self.wrote.is_empty() { None } else { self.outcome(at) };
        let cause = if label == Some(Label::Problem) { self.labelled_after(at, Label::Cause) } else { None };
        if fix.is_none() && cause.is_none() {
            let is_vague = sentence.names() < 2 || label == Some(Label::Problem) && !self.has("strong cause", at);
            // Without a fix that is told, a cause that is not past is a guess on the way.
            if self.wrote.is_empty() || is_vague || label != Some(Label::Cause) && !self.has("past", at) {
                return None;
            }
        }
        Some(self.mended(at, cause, fix))
    }

    /// Returns the first sentence after another with a label, without the label.
    fn labelled_after(&self, at: usize, label: Label) -> Option<String> {
        let found = (at + 1..self.said.len()).find(|other| label_of(&self.said[*other], self.words) == Some(label))?;
        Some(unlabelled(&plain(self.said[found].text)))
    }

    /// Returns what mended the cause in a sentence: what is labelled as the fix, or else a later sentence about the same that
    /// begins with what was done.
    fn outcome(&self, of: usize) -> Option<String> {
        let stands = |fix: &String| !fix.ends_with(':') && !normal(fix).contains(" above ");
        if let Some(fix) = self.labelled_after(of, Label::Fix).filter(stands) {
            return Some(fix);
        }
        let is_about_it = |at: &usize| {
            let sentence = &self.said[*at];
            begins_with_outcome(sentence, self.words)
                && shares_words(sentence, &self.said[of])
                && self.is_useful(*at)
                && sentence.names() > 0
        };
        (of + 1..self.said.len()).find(is_about_it).map(|at| plain(self.said[at].text))
    }

    /// Makes a solution of a problem, its cause and its fix, of which at least one is known.
    fn mended(&self, at: usize, cause: Option<String>, fix: Option<String>) -> Proposal {
        let problem = plain(self.said[at].text);
        let fields = solution(problem.clone(), None, self.wrote.to_vec());
        let is_told = fix.is_some();
        let changed =
            || if self.wrote.is_empty() { String::new() } else { format!(" (Then changed: {}.)", names_of(self.wrote)) };
        let fix = fix.map_or_else(changed, |fix| format!(" Fix: {fix}"));
        let cause = cause.map(|cause| format!(" Cause: {}", cut(&cause, MOST_PROBLEM_CHARS))).unwrap_or_default();
        let room =
            MOST_STATEMENT_CHARS.saturating_sub(fix.chars().count() + cause.chars().count()).clamp(MOST_PROBLEM_CHARS, 220);
        let certainty = if is_told { 0.8 } else { 0.6 };
        let statement = format!("{}{cause}{fix}", cut(&problem, room));
        let (rule, kind, statement) = ("cause and fix", MemoryKind::Solution, without_opening(&statement));
        let made = Proposal::new(rule, kind, statement, self.turn, self.said[at].text, SourceKind::Agent, self.words);
        Proposal { fields, files: self.wrote.to_vec(), ..made }.weighing(certainty, 0.75)
    }
}

/// Returns a statement without the word by which a report begins: `Done. …`.
fn without_opening(statement: &str) -> &str {
    let openings =
        ["Done.", "Done!", "Fixed.", "Fixed!", "Found the bug.", "Found it.", "Found it!", "Confirmed.", "Perfect!", "Exactly."];
    let rest = openings.iter().find_map(|opening| statement.strip_prefix(opening)).unwrap_or(statement);
    rest.trim_start_matches([' ', '✅', '—', '-'])
}

/// Returns whether messages soon after another say that its diagnosis was wrong.
pub fn is_reversed(later: &[&str]) -> bool {
    later.iter().any(|text| {
        let words = Words::of(text);
        let head = &text[..text.floor_char_boundary(text.len().min(REVERSAL_BYTES))];
        words.has("reversal", &normal(head))
    })
}

/// A reversal stands in the beginning of a message, in bytes.
const REVERSAL_BYTES: usize = 200;

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
fn unlabelled(text: &str) -> String {
    match text.split_once(": ") {
        Some((label, rest)) if label.len() < 30 && !label.contains('`') => rest.to_owned(),
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
        let words = Words::of(turn.text);
        let made = Proposal::new("ticket created", MemoryKind::Event, &statement, turn, whole.as_str(), SourceKind::Agent, words);
        found.push(made.weighing(0.9, 0.55));
    }
}

/// Returns the paths of the files that turns changed, at most [`MOST_FILES`].
pub fn written(turns: &[TurnShape<'_>]) -> Vec<String> {
    let mut paths = Vec::new();
    for file in turns.iter().flat_map(|turn| turn.files).filter(|file| file.action == FileAction::Written) {
        add_path(&file.path, &mut paths);
    }
    paths
}

/// Adds a path that is not there yet, up to [`MOST_FILES`].
pub fn add_path(path: &str, paths: &mut Vec<String>) {
    if paths.len() < MOST_FILES && !paths.iter().any(|known| known == path) {
        paths.push(path.to_owned());
    }
}
