//! Finds errors that come up again and again, and commands that fail at the first try.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{FEWEST_SESSIONS, Happened, Insight, InsightKind, LONGEST, Offer, counted, sorted};
use crate::command::Attempt;
use crate::memory::MemoryKind;
use crate::text::{cut, steady};
use crate::time::UtcMillis;

/// Least share of the sessions with a command in which its first run failed.
const OFTEN: f64 = 0.6;
/// Least share of the sessions that ran a command in which it reported an error, and the share from which on that is often.
const LEAST_SHARE: f64 = 0.1;
const OFTEN_SHARE: f64 = 0.2;
/// Fewest words of a command that is a shorter form of another.
const LEAST_WORDS: usize = 2;
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
    /// The attempt.
    pub attempt: &'a Attempt<Turn>,
}

/// The occurrences of an error, with what passed next.
struct Known<Turn> {
    happened: Vec<Happened<Turn>>,
    /// The forms in which it was reported, the commands that reported it, and those that passed next, each with its number.
    forms: BTreeMap<String, usize>,
    commands: BTreeMap<String, usize>,
    next: BTreeMap<String, usize>,
    /// Sessions in which the same command passed later.
    passed: HashSet<i64>,
}

/// Returns the errors that came up in several sessions, and in a good part of those that ran the command, with what passed then.
pub fn errors<Turn: Clone>(tried: &[Tried<'_, Turn>]) -> Vec<Insight<Turn>> {
    let mut known: HashMap<String, Known<Turn>> = HashMap::new();
    for (place, one) in tried.iter().enumerate() {
        let Some(failed) = &one.attempt.failed else { continue };
        let form = pattern(&failed.error);
        if !tells(&form) {
            continue;
        }
        let known = known.entry(rule(&form).unwrap_or(&form).to_owned()).or_insert_with(|| Known {
            happened: Vec::new(),
            forms: BTreeMap::new(),
            commands: BTreeMap::new(),
            next: BTreeMap::new(),
            passed: HashSet::new(),
        });
        known.happened.push(Happened { session: one.session, at: one.at, place: one.attempt.turn.clone() });
        *known.forms.entry(form).or_default() += 1;
        *known.commands.entry(one.attempt.command.clone()).or_default() += 1;
        let next = failed.next.clone().filter(|next| is_form(next, &one.attempt.command));
        match next.or_else(|| passed_next(tried, place)) {
            Some(next) if next == one.attempt.command => drop(known.passed.insert(one.session)),
            Some(next) => *known.next.entry(next).or_default() += 1,
            None => {}
        }
    }
    let mut found = Vec::new();
    for (key, Known { happened, forms, commands, next, passed }) in known {
        let insight = Insight::of(InsightKind::Error, key, happened);
        let Some(command) = usual(&commands) else { continue };
        let is_run = |one: &&Tried<'_, Turn>| commands.contains_key(&one.attempt.command);
        let of = tried.iter().filter(is_run).map(|one| one.session).collect::<HashSet<_>>().len();
        let share = insight.sessions as f64 / of.max(1) as f64;
        if insight.sessions < FEWEST_SESSIONS || share < LEAST_SHARE {
            continue;
        }
        let Some(error) = in_common(&forms) else { continue };
        let error = cut(&error, LONGEST);
        // One other form may be an accident.
        let instead = most(&next).filter(|form| next[*form] > 1);
        let instead = instead.map(|next| format!("; then `{next}` passed")).unwrap_or_default();
        let end = match instead.is_empty() && !passed.is_empty() {
            true => format!("; the same command passed later in {} of them", passed.len()),
            false => instead.clone(),
        };
        let often = match share {
            1.0.. => "always",
            OFTEN_SHARE.. => "often",
            _ => "sometimes",
        };
        let statement =
            format!("`{command}` reported “{error}” in {} of the {of} that ran it{end}.", counted(insight.sessions, "session"));
        let offer = Offer::new(
            MemoryKind::Problem,
            format!("`{command}` {often} reports “{error}” ({} of {of} sessions){instead}.", insight.sessions),
        );
        found.push(Insight { statement, offer, of, ..insight });
    }
    sorted(found)
}

/// Returns the command that ended a failure: the next one in the session that passed and is the same, with or without some words.
fn passed_next<Turn>(tried: &[Tried<'_, Turn>], failure: usize) -> Option<String> {
    let failed = &tried[failure];
    let later = tried[failure + 1..].iter().take_while(|one| one.session == failed.session);
    let mut passed = later.filter(|one| one.attempt.failed.is_none() && one.attempt.program == failed.attempt.program);
    passed.find(|one| is_form(&one.attempt.command, &failed.attempt.command)).map(|one| one.attempt.command.clone())
}

/// Returns whether a command is another one with or without some words. One of several commands in a line is none: it may have passed
/// before the one that failed.
fn is_form(command: &str, of: &str) -> bool {
    let (words, others): (HashSet<&str>, HashSet<&str>) = (command.split_whitespace().collect(), of.split_whitespace().collect());
    let is_one = !of.contains(['&', ';', '|']);
    words.is_superset(&others) || is_one && others.is_superset(&words) && words.len() >= LEAST_WORDS
}

/// Returns the command of at least half of the failures; else what they have in common tells nothing.
fn usual(commands: &BTreeMap<String, usize>) -> Option<&String> {
    most(commands).filter(|command| commands[*command] * 2 >= commands.values().sum())
}

/// Returns the words of the most frequent form of an error that all forms have, with a mark for the others.
fn in_common(forms: &BTreeMap<String, usize>) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    for word in most(forms)?.split_whitespace() {
        let is_in_all = forms.keys().all(|form| form.split_whitespace().any(|other| other == word));
        match is_in_all {
            true => words.push(word),
            false if words.last() != Some(&OTHER) => words.push(OTHER),
            false => {}
        }
    }
    Some(words.join(" "))
}

/// Returns the names in an error: what it quotes, words that are no usual ones, such as `parentErr` or `os.Close`, and the linter's rule.
fn names(error: &str) -> HashSet<&str> {
    let quoted = QUOTES.iter().flat_map(|(open, close)| {
        error.split(*open).skip(1).step_by(if open == close { 2 } else { 1 }).filter_map(|rest| rest.split(*close).next())
    });
    let bare = error.split_whitespace().map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()));
    let is_name = |word: &&str| {
        let inner = || word.chars().skip(1);
        word.len() > 3 && inner().any(|letter| letter.is_uppercase() || letter == '_' || letter == '.') && !is_file(word)
    };
    let rule = error.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")).map(|(_, rule)| rule);
    quoted.filter(|name| name.len() > 2).chain(bare.filter(is_name)).chain(rule).collect()
}

/// Returns whether a sentence speaks of an error and does not only repeat it: it has one of the names in it, and as many other words.
///
/// ```
/// let error = "cmd/tide.go:42:3: Error return value of `file.Close` is not checked (errcheck)";
/// assert!(yore_core::insight::speaks_of("The issue is that errcheck wants each result.", error));
/// assert!(yore_core::insight::speaks_of("Ah, `file.Close` returns an error there.", error));
/// assert!(!yore_core::insight::speaks_of("Ah, the issue is that `parentErr` is not nil at line 777.", error));
/// assert!(!yore_core::insight::speaks_of("The return value of file.Close is not checked.", error));
/// ```
pub fn speaks_of(sentence: &str, error: &str) -> bool {
    let words = |text: &str| -> HashSet<String> {
        let bare = |word: &str| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
        text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect()
    };
    let (said, reported) = (words(sentence), words(error));
    let repeated = said.intersection(&reported).count();
    names(error).into_iter().any(|name| sentence.contains(name)) && repeated * 2 <= said.len()
}

/// Returns the name of a linter's rule at the end of an error, in parentheses: however it is worded, it is one error.
fn rule(form: &str) -> Option<&str> {
    let name = form.strip_suffix(')')?.rsplit_once(" (")?.1;
    let is_name = name.len() >= 3 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_name.then(|| &form[form.len() - name.len() - 2..])
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
        // A command that reports a state, such as that of checks, fails each time with other words.
        let mut forms: BTreeMap<String, usize> = BTreeMap::new();
        for failed in failures.iter().filter_map(|one| one.attempt.failed.as_ref()) {
            let form = pattern(&failed.error);
            *forms.entry(rule(&form).unwrap_or(&form).to_owned()).or_default() += 1;
        }
        if !most(&forms).is_some_and(|form| tells(form) && forms[form] * 2 > failures.len()) {
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
