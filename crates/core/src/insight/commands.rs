//! Finds errors that come up again and again, and commands that fail at the first try.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{FEWEST_SESSIONS, Happened, Insight, InsightKind, LONGEST, Offer, counted, sorted};
use crate::command::Attempt;
use crate::memory::MemoryKind;
use crate::text::{cut, steady};
use crate::time::UtcMillis;

/// Least share of the sessions with a command in which its first run failed.
const OFTEN: f64 = 0.6;
/// Fewest words of an error that say something.
const FEWEST_WORDS: usize = 2;
/// Fields of a line of a log.
const LOG_FIELDS: usize = 3;
/// Stands for what differs from time to time.
const OTHER: &str = "…";
/// Quotation marks around names in errors.
const QUOTES: [(char, char); 5] = [('`', '`'), ('"', '"'), ('\'', '\''), ('‘', '’'), ('“', '”')];

/// An attempt of a session. Attempts are given session by session, each in order.
#[derive(Clone, Copy, Debug)]
pub struct Tried<'a, Turn> {
    /// The session.
    pub session: i64,
    /// Its time.
    pub at: Option<UtcMillis>,
    /// What was tried.
    pub attempt: &'a Attempt<Turn>,
}

/// Returns the errors that came up in several sessions, with the commands that reported them and what ended them.
pub fn errors<Turn: Clone>(tried: &[Tried<'_, Turn>]) -> Vec<Insight<Turn>> {
    struct Known<Turn> {
        happened: Vec<Happened<Turn>>,
        commands: BTreeMap<String, usize>,
        next: BTreeMap<String, usize>,
        ended: HashSet<i64>,
    }
    let mut known: HashMap<String, Known<Turn>> = HashMap::new();
    let last_passes = last_passes(tried);
    for (place, one) in tried.iter().enumerate() {
        let Some(failed) = &one.attempt.failed else { continue };
        let pattern = pattern(&failed.error);
        if !tells(&pattern) {
            continue;
        }
        let known = known.entry(pattern).or_insert_with(|| Known {
            happened: Vec::new(),
            commands: BTreeMap::new(),
            next: BTreeMap::new(),
            ended: HashSet::new(),
        });
        known.happened.push(Happened { session: one.session, at: one.at, place: one.attempt.turn.clone() });
        *known.commands.entry(one.attempt.command.clone()).or_default() += 1;
        if let Some(next) = &failed.next {
            *known.next.entry(next.clone()).or_default() += 1;
        }
        if failed.next.is_some() || last_passes.get(&(one.session, one.attempt.command.as_str())).is_some_and(|at| *at > place) {
            known.ended.insert(one.session);
        }
    }
    let mut found = Vec::new();
    for (pattern, Known { happened, commands, next, ended }) in known {
        let insight = Insight::of(InsightKind::Error, pattern, happened);
        if insight.sessions < FEWEST_SESSIONS {
            continue;
        }
        let Some(command) = most(&commands) else { continue };
        let error = cut(&insight.key, LONGEST);
        let instead = most(&next).map(|next| format!("; `{next}` passed instead")).unwrap_or_default();
        let end = match ended.len() {
            _ if !instead.is_empty() => instead.clone(),
            0 => "; no session tells what ended it".to_owned(),
            of => format!("; the command passed later in {of} of them"),
        };
        let statement = format!("`{command}` reported “{error}” in {}{end}.", counted(insight.sessions, "session"));
        let offer = Offer::new(
            MemoryKind::Problem,
            format!("`{command}` often reports “{error}” ({}){instead}.", counted(insight.sessions, "session")),
        );
        found.push(Insight { statement, offer, ..insight });
    }
    sorted(found)
}

/// Returns the commands whose first run in a session usually fails, with the last error.
pub fn first_tries<Turn: Clone>(tried: &[Tried<'_, Turn>]) -> Vec<Insight<Turn>> {
    let mut firsts: BTreeMap<&str, Vec<&Tried<'_, Turn>>> = BTreeMap::new();
    let mut seen: HashSet<(i64, &str)> = HashSet::new();
    for one in tried {
        if seen.insert((one.session, one.attempt.command.as_str())) {
            firsts.entry(one.attempt.command.as_str()).or_default().push(one);
        }
    }
    let mut found = Vec::new();
    for (command, firsts) in firsts {
        let failures: Vec<&&Tried<'_, Turn>> = firsts.iter().filter(|one| one.attempt.failed.is_some()).collect();
        let last = failures.iter().max_by_key(|one| one.at).and_then(|one| one.attempt.failed.as_ref());
        let Some(last) = last.filter(|_| failures.len() >= FEWEST_SESSIONS) else { continue };
        if (failures.len() as f64) < OFTEN * firsts.len() as f64 {
            continue;
        }
        let happened = |one: &&&Tried<'_, Turn>| Happened { session: one.session, at: one.at, place: one.attempt.turn.clone() };
        let insight = Insight::of(InsightKind::FirstTry, command.to_owned(), failures.iter().map(happened).collect());
        let instead = last.next.as_ref().map(|next| format!("; `{next}` passed instead")).unwrap_or_default();
        let (of, error) = (firsts.len(), cut(last.error.trim(), LONGEST));
        found.push(Insight {
            statement: format!(
                "The first run of `{command}` failed in {} of {}, last with “{error}”{instead}.",
                failures.len(),
                counted(of, "session")
            ),
            of,
            offer: Offer::new(
                MemoryKind::Problem,
                format!("The first run of `{command}` in a session usually fails ({} of {of}){instead}.", failures.len()),
            ),
            ..insight
        });
    }
    sorted(found)
}

/// Returns the place of the last run of each command in each session that passed.
fn last_passes<'a, Turn>(tried: &[Tried<'a, Turn>]) -> HashMap<(i64, &'a str), usize> {
    let passed = tried.iter().enumerate().filter(|(_, one)| one.attempt.failed.is_none());
    passed.map(|(place, one)| ((one.session, one.attempt.command.as_str()), place)).collect()
}

/// Returns the most frequent one, the shortest among equals.
fn most(counts: &BTreeMap<String, usize>) -> Option<&String> {
    counts
        .iter()
        .max_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.len().cmp(&a.0.len())).then_with(|| b.0.cmp(a.0)))
        .map(|(name, _)| name)
}

/// Returns an error without what differs from time to time: places in files, quoted names, numbers.
///
/// ```
/// let error = "cmd/tide.go:42:3: Error return value of `file.Close` is not checked (errcheck)";
/// assert_eq!(yore_core::insight::pattern(error), "Error return value of … is not checked (errcheck)");
/// ```
pub fn pattern(error: &str) -> String {
    let mut bare = String::with_capacity(error.len());
    let mut closing = None;
    let steady = steady(error);
    for (at, letter) in steady.char_indices() {
        match closing {
            Some(mark) if letter == mark => closing = None,
            Some(_) => {}
            None => {
                let before = steady[..at].chars().next_back();
                // An apostrophe within a word opens nothing.
                let may_open = !before.is_some_and(char::is_alphanumeric);
                let mark = QUOTES
                    .iter()
                    .find(|(open, close)| *open == letter && may_open && steady[at + letter.len_utf8()..].contains(*close));
                match mark {
                    Some((_, close)) => {
                        bare.push_str(OTHER);
                        closing = Some(*close);
                    }
                    None => bare.push(letter),
                }
            }
        }
    }
    let mut words: Vec<String> = Vec::new();
    for word in bare.split_whitespace() {
        let word = masked(word);
        if !(word == OTHER && words.last().is_none_or(|last| last == OTHER)) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// Returns a word with numbers and paths masked.
fn masked(word: &str) -> String {
    let inner = word.trim_matches(|letter: char| "()[]{},;:.".contains(letter));
    let is_place = word.contains(['/', '\\']) || is_file(inner);
    if is_place {
        return OTHER.to_owned();
    }
    let mut kept = String::with_capacity(word.len());
    // A number after a letter belongs to a name: a rule `G104`, an error `E0308`.
    let (mut is_named, mut is_number) = (false, false);
    for letter in word.chars() {
        match letter.is_ascii_digit() {
            true if is_named => kept.push(letter),
            true if !is_number => kept.push('N'),
            true => {}
            false => kept.push(letter),
        }
        is_named = letter.is_alphabetic() || is_named && letter.is_ascii_digit();
        is_number = letter.is_ascii_digit();
    }
    kept
}

/// Returns whether a word is the name of a file, maybe with a line: `tide.go:42`.
fn is_file(word: &str) -> bool {
    let name = word.split(':').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(stem, end)| {
        stem.len() > 1 && (1..=5).contains(&end.len()) && end.bytes().all(|letter| letter.is_ascii_lowercase())
    })
}

/// Returns whether an error says something: it has words, is no heading and no line of a log.
fn tells(pattern: &str) -> bool {
    let words = pattern.split_whitespace().filter(|word| word.chars().filter(|letter| letter.is_alphabetic()).count() >= 3);
    let is_log = pattern.matches('=').count() >= LOG_FIELDS;
    words.count() >= FEWEST_WORDS && !is_log && !pattern.ends_with(':') && !pattern.ends_with(&format!(": {OTHER}"))
}
