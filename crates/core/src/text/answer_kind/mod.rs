//! Tells what kind of answer a question wants: passages, or a view over what is recorded, such as commands or the work of a day.
//!
//! The words are a table (`cues.txt`), English and German. A question that fits no row wants passages.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::period::NamedPeriod;
use super::{error_line, is_error_message};
use crate::event::{EventState, Purpose, is_ticket};
use crate::query::AnswerKind;

/// Most words that a question for a list may have beside the name of the list, if no word asks for one.
const BARE_LIST: usize = 2;
/// Most words that a question for a command may have beside those that ask.
const MOST_OF_COMMAND: usize = 5;
/// Most words of the subject of a list, or of the work of a period: more words ask for what was said.
const MOST_OF_SUBJECT: usize = 3;
/// Most words of a question that is looked at: a longer text is a task or a log.
const MOST_WORDS: usize = 40;

/// The kind of answer that a question wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedAnswer {
    /// Kind of answer.
    pub kind: AnswerKind,
    /// Purpose of the commands, if those are wanted.
    pub purpose: Option<Purpose>,
    /// The words of the question that name a subject: without those that ask, name the kind or name a period.
    pub subject: String,
    /// True if several things are wanted, not one that the subject names.
    pub is_several: bool,
    /// States to which a list is limited; empty: all.
    pub states: Vec<EventState>,
    /// True if only a name of a list beside other words, or a period, told the kind: without anything of it, passages answer.
    pub is_guess: bool,
}

/// A phrase as its words; a word with `true` is only a beginning.
type Phrase = Vec<(&'static str, bool)>;

static CUES: LazyLock<HashMap<&'static str, Vec<Phrase>>> = LazyLock::new(|| {
    let mut sections: HashMap<&'static str, Vec<Phrase>> = HashMap::new();
    let mut section = "";
    for line in include_str!("cues.txt").lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
            continue;
        }
        let word = |word: &'static str| (word.trim_end_matches('*'), word.ends_with('*'));
        let phrases = line.split(',').map(|phrase| phrase.split_whitespace().map(word).collect::<Phrase>());
        sections.entry(section).or_default().extend(phrases.filter(|phrase| !phrase.is_empty()));
    }
    sections
});

/// The lists, and the sections of their names, in the order in which they are tried.
const LISTS: [(AnswerKind, &str); 15] = [
    // A ticket for what is left to do is a ticket.
    (AnswerKind::Issues, "tickets"),
    (AnswerKind::Todos, "todos"),
    (AnswerKind::Questions, "questions"),
    (AnswerKind::Refusals, "refusals"),
    (AnswerKind::Rules, "rules"),
    (AnswerKind::Decisions, "decisions"),
    (AnswerKind::Plans, "plans"),
    (AnswerKind::PullRequests, "pull_requests"),
    (AnswerKind::Issues, "issues"),
    (AnswerKind::Releases, "releases"),
    (AnswerKind::Commits, "commits"),
    (AnswerKind::Errors, "errors"),
    (AnswerKind::Problems, "problems"),
    (AnswerKind::Files, "files"),
    // Things that are open and named come before those that are only open.
    (AnswerKind::Todos, "open"),
];

/// Words that ask for the state of a thing.
const STATE_WORDS: [&str; 4] = ["state", "status", "stand", "zustand"];
/// Words that limit a list to a state.
const STATES: [(&str, EventState); 12] = [
    ("merged", EventState::Merged),
    ("merge", EventState::Merged),
    ("gemergt", EventState::Merged),
    ("gemerged", EventState::Merged),
    ("closed", EventState::Closed),
    ("close", EventState::Closed),
    ("approved", EventState::Approved),
    ("approve", EventState::Approved),
    ("genehmigt", EventState::Approved),
    ("open", EventState::Opened),
    ("offene", EventState::Opened),
    ("offen", EventState::Opened),
];

/// Returns the kind of answer that a question wants. `periods` are those that it names.
///
/// ```
/// use yore_core::query::AnswerKind;
/// use yore_core::text::wanted_answer;
/// let kind = |question| wanted_answer(question, &[]).kind;
/// assert_eq!(kind("how do we run the tests"), AnswerKind::Commands);
/// assert_eq!(kind("what are the open todos?"), AnswerKind::Todos);
/// assert_eq!(kind("was haben wir zuletzt gemacht"), AnswerKind::Work);
/// assert_eq!(kind("which sessions talked about the tide gauge"), AnswerKind::Work);
/// assert_eq!(kind("why did we decide to drop Redis?"), AnswerKind::Passages);
/// assert_eq!(wanted_answer("which PRs about the tide gauge were merged", &[]).subject, "tide gauge");
/// ```
pub fn wanted_answer(question: &str, periods: &[NamedPeriod]) -> WantedAnswer {
    let words = Words::of(question, periods);
    let passages = || WantedAnswer {
        kind: AnswerKind::Passages,
        purpose: None,
        subject: words.subject(&[]),
        is_several: false,
        states: Vec::new(),
        is_guess: false,
    };
    if is_error_message(question) || error_line(question).is_some() {
        return WantedAnswer { kind: AnswerKind::Cause, ..passages() };
    }
    if words.all.is_empty() && periods.is_empty() || words.all.len() > MOST_WORDS || words.has("reason") {
        return passages();
    }
    let names_nothing_else = || !periods.is_empty() && words.subject(&["work", "list"]).is_empty();
    // "The release failed: what did we do about it" asks for what came of it.
    let says_of_what = periods.is_empty() && words.ends("about it") && !words.subject(&["work", "about it"]).is_empty();
    if says_of_what && words.has("work") {
        return passages();
    }
    if words.has("work") || names_nothing_else() {
        let subject = words.subject(&["work"]);
        return WantedAnswer { kind: AnswerKind::Work, subject, ..passages() };
    }
    // "The start command: is it gone" asks for its state.
    let asks_for_state = words.has("is it so") && !words.begins("method") && !words.begins("list");
    let asks_how = words.has("method") && !words.has("past method") && !asks_for_state;
    let purpose = Purpose::ALL.iter().copied().find(|purpose| words.has(&format!("purpose {}", purpose.as_str())));
    let asks_for_every = words.has("every purpose") && (asks_how || words.has("list"));
    let subject = words.subject(&["method", "every purpose"]);
    // A longer question is about more than how something is run.
    let count = |subject: &str| subject.split_whitespace().count();
    let is_short = count(&subject) <= MOST_OF_COMMAND;
    if asks_how && purpose.is_some() && is_short || asks_for_every {
        return WantedAnswer { kind: AnswerKind::Commands, purpose: purpose.filter(|_| !asks_for_every), subject, ..passages() };
    }
    let asks_for_list = words.has("list");
    for (kind, section) in LISTS {
        if words.has("method") || words.has("past method") || !words.has(section) {
            continue;
        }
        let subject = match section {
            "tickets" => words.subject(&[section, "todos", "open", "trackers"]),
            _ => words.subject(&[section]),
        };
        if asks_for_list || count(&subject) <= BARE_LIST {
            // Not the first word of "merge request".
            let is_of_name = |at: usize| words.all.get(at + 1).is_some_and(|next| next.text.starts_with("request"));
            let is_said = |word: &str| words.all.iter().enumerate().any(|(at, known)| known.text == word && !is_of_name(at));
            let states = STATES.iter().filter(|(word, _)| is_said(word)).map(|(_, state)| *state);
            // Only of a ticket, "done" is a state beside others.
            let is_done = kind == AnswerKind::Issues && ["done", "erledigt"].into_iter().any(is_said);
            let states = states.chain(is_done.then_some(EventState::Closed)).collect();
            let is_guess = !subject.is_empty() && (!asks_for_list || count(&subject) > MOST_OF_SUBJECT);
            return WantedAnswer { kind, subject, is_several: words.has_several(section), states, is_guess, ..passages() };
        }
    }
    if let Some((kind, subject)) = named_thing(&words) {
        return WantedAnswer { kind, subject, is_guess: true, ..passages() };
    }
    // A period is asked about for what was done in it.
    if !periods.is_empty() && !asks_how && !words.has("past method") {
        let subject = words.subject(&["work", "list", "overview"]);
        if count(&subject) <= MOST_OF_SUBJECT {
            return WantedAnswer { kind: AnswerKind::Work, subject, is_guess: !asks_for_list, ..passages() };
        }
        return passages();
    }
    let is_one_thing = words.begins("what it is") && count(&words.subject(&["what it is"])) == 1;
    if words.has("overview") || is_one_thing {
        let subject = words.subject(&["overview", "what it is"]);
        return WantedAnswer { kind: AnswerKind::Overview, subject, ..passages() };
    }
    passages()
}

/// Returns the pull request or ticket, by its number or key, if a question names nothing else.
fn named_thing(words: &Words<'_>) -> Option<(AnswerKind, String)> {
    let subject = words.subject(&["what it is", "overview"]);
    let mut others = subject.split_whitespace().filter(|word| !STATE_WORDS.contains(&word.to_lowercase().as_str()));
    let (named, None) = (others.next()?, others.next()) else { return None };
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    match named.strip_prefix('#') {
        Some(number) if is_number(number) => Some((AnswerKind::PullRequests, named.to_owned())),
        _ if is_ticket(named) => Some((AnswerKind::Issues, named.to_owned())),
        _ => None,
    }
}

/// Returns the subject of a question for how something works: one or two words.
///
/// ```
/// use yore_core::text::asks_how_it_works;
/// assert_eq!(asks_how_it_works("How does authentication work here?", &[]).as_deref(), Some("authentication"));
/// assert_eq!(asks_how_it_works("how does the importer treat duplicates", &[]), None);
/// ```
pub fn asks_how_it_works(question: &str, periods: &[NamedPeriod]) -> Option<String> {
    let words = Words::of(question, periods);
    let is_asked = words.begins("how it works") && words.has("works") && periods.is_empty();
    let subject = words.subject(&["how it works", "works"]);
    (is_asked && (1..=2).contains(&subject.split_whitespace().count())).then_some(subject)
}

/// Returns whether a question asks for the latest of what it asks for.
///
/// ```
/// use yore_core::text::asks_for_latest;
/// assert!(asks_for_latest("what did we change lately in the resume command"));
/// assert!(!asks_for_latest("what did we change in the resume command"));
/// ```
pub fn asks_for_latest(question: &str) -> bool {
    Words::of(question, &[]).has("latest")
}

/// Returns the subject that a question names, for an answer of a kind that the caller chose.
pub fn wanted_as(kind: AnswerKind, question: &str, periods: &[NamedPeriod]) -> WantedAnswer {
    let words = Words::of(question, periods);
    let purpose = Purpose::ALL.iter().copied().find(|purpose| words.has(&format!("purpose {}", purpose.as_str())));
    let section = LISTS.iter().find(|(list, section)| *list == kind && *section != "tickets").map(|(_, section)| *section);
    let subject = words.subject(&[section.unwrap_or(kind.as_str()), "method", "work", "overview"]);
    WantedAnswer {
        kind,
        purpose: purpose.filter(|_| kind == AnswerKind::Commands),
        subject,
        is_several: true,
        states: Vec::new(),
        is_guess: false,
    }
}

struct Word<'q> {
    /// As it was written.
    raw: &'q str,
    /// In lower case, without a possessive ending.
    text: String,
}

/// The words of a question, without those of periods.
struct Words<'q> {
    all: Vec<Word<'q>>,
}

impl<'q> Words<'q> {
    fn of(question: &'q str, periods: &[NamedPeriod]) -> Self {
        let is_inside =
            |letter: char| letter.is_alphanumeric() || matches!(letter, '\'' | '’' | '-' | '_' | '.' | '/' | '#' | '@' | '+');
        let in_period = |at: usize| periods.iter().any(|period| period.place.contains(&at));
        let mut all = Vec::new();
        for raw in question.split(|letter: char| !is_inside(letter)) {
            let at = raw.as_ptr() as usize - question.as_ptr() as usize;
            let raw = raw.trim_matches(|letter: char| matches!(letter, '\'' | '’' | '-' | '.' | '/'));
            if raw.is_empty() || in_period(at) {
                continue;
            }
            all.push(Word { raw, text: raw.to_lowercase().replace('’', "'") });
        }
        Self { all }
    }

    /// Returns the number of words of a phrase of a section at a place; 0: none begins there.
    fn length_at(&self, section: &str, at: usize) -> usize {
        let fits = |phrase: &&Phrase| {
            self.all.len() - at >= phrase.len()
                && phrase.iter().zip(&self.all[at..]).all(|((cue, is_beginning), word)| match is_beginning {
                    true => word.text.starts_with(cue),
                    false => word.text == *cue,
                })
        };
        let phrases = CUES.get(section).map(Vec::as_slice).unwrap_or_default();
        phrases.iter().filter(fits).map(Vec::len).max().unwrap_or(0)
    }

    fn begins(&self, section: &str) -> bool {
        !self.all.is_empty() && self.length_at(section, 0) > 0
    }

    fn ends(&self, section: &str) -> bool {
        (0..self.all.len()).any(|at| self.length_at(section, at) == self.all.len() - at)
    }

    fn has(&self, section: &str) -> bool {
        (0..self.all.len()).any(|at| self.length_at(section, at) > 0)
    }

    /// Returns whether a phrase of a section that is there ends like a plural.
    fn has_several(&self, section: &str) -> bool {
        let ends = |at: usize, length: usize| self.all.get(at + length - 1).is_some_and(|word| word.text.ends_with(['s', 'n']));
        (0..self.all.len()).any(|at| {
            let length = self.length_at(section, at);
            length > 0 && ends(at, length)
        })
    }

    /// Returns the words that are in no phrase of these sections, and no filler. A filling noun beside one of them belongs to it: the
    /// phases of a session are "session phases", those of the last session are "phases".
    fn subject(&self, sections: &[&str]) -> String {
        let (mut is_kept, mut is_noun) = (vec![false; self.all.len()], vec![false; self.all.len()]);
        let mut at = 0;
        while at < self.all.len() {
            let length = sections.iter().chain(&["filler"]).map(|section| self.length_at(section, at)).max().unwrap_or(0);
            is_noun[at] = length == 0 && self.length_at("filling noun", at) > 0;
            is_kept[at] = length == 0 && !is_noun[at];
            at += length.max(1);
        }
        let is_beside = |at: usize| at.checked_sub(1).is_some_and(|before| is_kept[before]) || is_kept.get(at + 1) == Some(&true);
        let kept = (0..self.all.len()).filter(|at| is_kept[*at] || is_noun[*at] && is_beside(*at));
        kept.map(|at| self.all[at].raw).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::named_periods;

    fn wanted(question: &str) -> WantedAnswer {
        let now: jiff::Zoned = "2026-03-04T12:00[+00:00]".parse().unwrap();
        wanted_answer(question, &named_periods(question, &now))
    }

    #[test]
    fn questions_want_the_kind_that_their_words_name() {
        for (kind, questions) in [
            (
                AnswerKind::Commands,
                vec![
                    "how do we run the tests",
                    "which command was it to run the tests",
                    "lint command?",
                    "wie baue ich das lokal",
                    "how to release",
                ],
            ),
            (AnswerKind::Todos, vec!["open todos", "what is still to do for the gauge", "offene aufgaben"]),
            (AnswerKind::Decisions, vec!["what did we decide about caching", "decisions on the release process"]),
            (
                AnswerKind::Issues,
                vec!["which follow-up tickets are still open", "open tickets", "what is the state of ENT-242?", "ENT-242"],
            ),
            (AnswerKind::PullRequests, vec!["is #52 merged?"]),
            (AnswerKind::Decisions, vec!["what did we decide about tickets"]),
            (AnswerKind::Refusals, vec!["what did I refuse", "which changes have i rejected"]),
            (AnswerKind::PullRequests, vec!["which prs were merged", "open pull requests", "PRs of last week"]),
            (AnswerKind::Errors, vec!["which errors keep coming back", "recurring errors in ci"]),
            (
                AnswerKind::Rules,
                vec!["what are my preferences for commits", "standing orders", "which rules do I have for commit messages"],
            ),
            (
                AnswerKind::Work,
                vec![
                    "what did we do on january 13",
                    "what sessions were about that level table",
                    "what happened yesterday",
                    "yesterday?",
                    "woran haben wir gearbeitet",
                ],
            ),
            (AnswerKind::Cause, vec!["error: cannot open tide.db", "--- FAIL: TestTide (0.02s)"]),
            (
                AnswerKind::Overview,
                vec!["what is this project", "tell me about the gauge", "who is Ada", "was ist tide eigentlich"],
            ),
            (
                AnswerKind::Passages,
                vec![
                    "why was the PR closed",
                    "where is the code that reads the tide",
                    "how did we fix the failing tests",
                    "redis cache",
                    "the release failed with a timeout, what did we do about it",
                    "the start command - is it hidden or gone now?",
                    "how does the release work",
                    "how can i make the hooks of the gauge use my working copy instead of the installed binary",
                    "",
                ],
            ),
        ] {
            for question in questions {
                assert_eq!(wanted(question).kind, kind, "{question}");
            }
        }
    }

    #[test]
    fn subject_is_what_is_left_of_the_question() {
        for (question, subject) in [
            ("which PRs about the tide gauge were merged?", "tide gauge"),
            ("what did we do on January 13?", ""),
            ("what did we decide about Redis last week", "Redis"),
            ("how do we run the integration tests", "integration tests"),
            ("was wissen wir über den Pegel", "Pegel"),
            ("what do we know about concurrent sessions", "concurrent sessions"),
            ("summary of what we decided on the session phases", "session phases"),
            ("what did we do in the last session on the gauge", "gauge"),
            ("what did we work on lately", ""),
            ("woran haben wir neulich gearbeitet", ""),
        ] {
            assert_eq!(wanted(question).subject, subject, "{question}");
        }
        for (question, states) in [
            ("merged prs", vec![EventState::Merged]),
            ("which PRs did we merge", vec![EventState::Merged]),
            ("which merge requests were closed", vec![EventState::Closed]),
            ("which plans did I approve", vec![EventState::Approved]),
            ("all merge requests", vec![]),
            ("approved plans", vec![EventState::Approved]),
        ] {
            assert_eq!(wanted(question).states, states, "{question}");
        }
    }

    #[test]
    fn a_name_of_a_list_beside_other_words_is_a_guess() {
        for question in ["tabs in zebra files", "tree-sitter parse errors", "deploy zebra on friday", "recurring errors in ci"] {
            assert!(wanted(question).is_guess, "{question}");
        }
        for question in ["open todos", "which errors about the gauge came back", "what did we do on friday", "on friday?"] {
            assert!(!wanted(question).is_guess, "{question}");
        }
        assert_eq!(wanted("which PRs are still open").kind, AnswerKind::PullRequests);
        assert_eq!(wanted("what is still open").kind, AnswerKind::Todos);
        assert_eq!(wanted("errors that keep coming back").subject, "");
    }

    proptest! {
        #[test]
        fn any_text_wants_some_kind(text in "([a-z ?.,;'-]|what did we do|prs|\\PC){0,80}") {
            wanted_answer(&text, &[]);
            wanted_as(AnswerKind::Decisions, &text, &[]);
        }
    }
}
