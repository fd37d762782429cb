//! Reads from a person's rule which commands it forbids, and only if it says so surely: "use X, not Y", "never X", "X is forbidden".

use super::split::{Step, Word, steps};

/// Words that forbid what follows, in lower case; several are one after the other.
const FORBIDDING: [&str; 14] = [
    "never",
    "don't",
    "dont",
    "don’t",
    "do not",
    "must not",
    "mustn't",
    "should not",
    "shouldn't",
    "may not",
    "cannot",
    "can't",
    "stop",
    "avoid",
];
/// Words that forbid what follows, in the place of what comes before.
const INSTEAD: [&str; 5] = [", not", " not", " instead of", " rather than", " statt"];
/// Words that forbid what comes before.
const FORBIDDEN: [&str; 9] = [
    " is forbidden",
    " is banned",
    " is prohibited",
    " is not allowed",
    " isn't allowed",
    " is off limits",
    " is off-limits",
    " are forbidden",
    " are not allowed",
];
/// First words of a clause that recommends.
const RECOMMENDING: [&str; 11] =
    ["use", "using", "run", "always", "prefer", "please", "we", "nutze", "verwende", "benutze", "install"];
/// Verbs before a command.
const VERBS: [&str; 12] =
    ["use", "using", "run", "running", "call", "calling", "invoke", "execute", "type", "ever", "ever:", "do"];
/// Verbs that are commands of Git.
const GIT: [&str; 9] = ["push", "commit", "merge", "rebase", "amend", "stash", "cherry-pick", "reset", "force-push"];
/// Words of an object that say nothing of the command.
const FILLERS: [&str; 14] =
    ["the", "a", "an", "directly", "any", "command", "commands", "here", "anymore", "again", "straight", "to", "with", "please"];
/// Ends of an object that say that it holds everywhere.
const EVERYWHERE: [&str; 6] = ["in this repo", "in this repository", "in this project", "in here", "anywhere", "for anything"];
/// Words of a condition: the rule then holds in some cases only, and which ones is not sure.
const CONDITIONS: [&str; 18] = [
    "without", "unless", "except", "if", "when", "before", "until", "while", "during", "only", "outside", "inside", "for", "in",
    "on", "after", "wenn", "außer",
];
/// Options that narrow a command to a part.
const NARROWING: [&str; 14] = [
    "-p",
    "--package",
    "--lib",
    "--test",
    "--bin",
    "--bins",
    "--doc",
    "--example",
    "-run",
    "--run",
    "-k",
    "-t",
    "-m",
    "--filter",
];
/// Longest rule that is read, in bytes.
const LONGEST: usize = 400;

/// A command that a rule forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ban {
    /// The words that a simple command must have, the program first; `None` for the program: any.
    words: Vec<String>,
    /// True if only the command for all of the project is forbidden.
    is_whole: bool,
}

impl Ban {
    /// Returns the program of the forbidden command.
    pub fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Returns whether a simple command is the forbidden one.
    pub fn forbids(&self, step: &Step) -> bool {
        let called = step.called();
        let Some((program, rest)) = self.words.split_first() else { return false };
        if step.program() != program {
            return false;
        }
        let others = called.get(1..).unwrap_or_default();
        let has = |wanted: &String| others.iter().any(|word| is_word(word, wanted));
        if !rest.iter().all(has) {
            return false;
        }
        let is_further = |word: &&Word| !rest.iter().any(|wanted| is_word(word, wanted));
        let is_part = |word: &Word| !word.text.starts_with('-') || NARROWING.contains(&word.text.split('=').next().unwrap_or(""));
        !self.is_whole || !others.iter().filter(is_further).any(|word| is_part(word) && word.text != "./...")
    }
}

/// Returns whether a word of a command is a word of the ban; `HEAD:main` is the branch `main`.
fn is_word(word: &Word, wanted: &str) -> bool {
    if word.is_quoted && word.text.contains(char::is_whitespace) {
        return false;
    }
    word.text == wanted || !wanted.starts_with('-') && word.text.rsplit_once(':').is_some_and(|(_, branch)| branch == wanted)
}

/// Returns the commands that a rule forbids; none if it is not sure that it forbids one, or where.
pub fn bans(rule: &str) -> Vec<Ban> {
    if rule.len() > LONGEST {
        return Vec::new();
    }
    sentences(rule).iter().flat_map(|sentence| bans_of(sentence)).collect()
}

/// Returns the sentences of a rule, each in one line.
fn sentences(rule: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut is_code = false;
    let mut letters = rule.chars().peekable();
    while let Some(letter) = letters.next() {
        is_code ^= letter == '`';
        let is_last = letters.peek().is_none_or(|next| next.is_whitespace());
        if !is_code && (matches!(letter, '\n' | ';') || matches!(letter, '.' | '!' | ':') && is_last) {
            sentences.push(String::new());
        } else if let Some(sentence) = sentences.last_mut() {
            sentence.push(letter);
        }
    }
    sentences.into_iter().map(|sentence| sentence.trim().to_owned()).filter(|sentence| !sentence.is_empty()).collect()
}

fn bans_of(sentence: &str) -> Vec<Ban> {
    let lower = sentence.to_ascii_lowercase();
    // A condition before the rule: "In the docs folder, use ...".
    let first = lower.split_whitespace().next().unwrap_or_default();
    if CONDITIONS.contains(&first) {
        return Vec::new();
    }
    for mark in FORBIDDEN {
        if let Some(at) = lower.find(mark) {
            let before = &sentence[..at];
            let rest = &sentence[at + mark.len()..];
            return is_unconditional(rest).then(|| ban(before)).flatten().into_iter().collect();
        }
    }
    if let Some(at) = FORBIDDING.iter().filter_map(|word| place_of(&lower, word).map(|at| at + word.len())).min() {
        return clause(&sentence[at..]).and_then(ban).into_iter().collect();
    }
    if RECOMMENDING.contains(&first) {
        for mark in INSTEAD {
            let Some(at) = lower.find(&format!("{mark} ")) else { continue };
            return clause(&sentence[at + mark.len()..]).and_then(ban).into_iter().collect();
        }
    }
    Vec::new()
}

/// Returns where a word or words begin in a text, as whole words.
fn place_of(text: &str, words: &str) -> Option<usize> {
    text.match_indices(words).map(|(at, _)| at).find(|at| {
        let is_edge = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
        is_edge(text[..*at].chars().next_back()) && is_edge(text[at + words.len()..].chars().next())
    })
}

/// Returns the object at the beginning of a text, up to the next clause, if no condition follows.
fn clause(text: &str) -> Option<&str> {
    let text = text.trim();
    let mut is_code = false;
    let end = text.char_indices().find(|(at, letter)| {
        is_code ^= *letter == '`';
        !is_code && (matches!(letter, ',' | '(') || text[*at..].starts_with(" - ") || text[*at..].starts_with(" – "))
    });
    let (object, rest) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    is_unconditional(rest).then_some(object)
}

/// Returns whether what follows a rule is no condition.
fn is_unconditional(rest: &str) -> bool {
    let rest = rest.trim_start_matches([',', '(', '-', '–', ' ']).to_ascii_lowercase();
    let rest = EVERYWHERE.iter().find_map(|end| rest.strip_prefix(end)).unwrap_or(&rest);
    let first = rest.split_whitespace().next().unwrap_or_default();
    first == "here" || !CONDITIONS.contains(&first)
}

/// Returns the ban of an object, such as "use git push --force" or "run the whole suite with cargo test".
fn ban(object: &str) -> Option<Ban> {
    let object = object.trim().trim_end_matches(['.', '!']);
    let lower = object.to_ascii_lowercase();
    let is_whole =
        ["whole", "full", "entire", "all tests", "all the tests", "everything"].iter().any(|word| lower.contains(word));
    // Code in the object is the command.
    if let Some(code) = object.split('`').nth(1) {
        let rest = object.splitn(3, '`').nth(2).unwrap_or_default();
        let before = object.split('`').next().unwrap_or_default();
        let is_condition = |text: &str| text.split_whitespace().any(|word| CONDITIONS.contains(&word)) && !is_everywhere(text);
        if is_condition(rest) || is_condition(before) {
            return None;
        }
        return of_words(steps(code).first()?.called().iter().map(|word| word.text.clone()).collect(), is_whole);
    }
    let mut object = EVERYWHERE.iter().find_map(|end| lower.strip_suffix(end)).map_or(object, |rest| object[..rest.len()].trim());
    // "the tests with go test": the command comes after.
    if let Some((what, command)) = object.split_once(" with ")
        && !command.starts_with('-')
        && ["test", "suite", "build", "lint", "everything"].iter().any(|word| what.contains(word))
    {
        object = command;
    }
    let mut words: Vec<&str> = object.split_whitespace().collect();
    while words.first().is_some_and(|word| {
        let word = word.to_ascii_lowercase();
        VERBS.contains(&word.as_str()) || FILLERS.contains(&word.as_str()) || RECOMMENDING.contains(&word.as_str())
    }) {
        words.remove(0);
    }
    if words.iter().any(|word| CONDITIONS.contains(&word.to_ascii_lowercase().as_str())) {
        return None;
    }
    words.retain(|word| !FILLERS.contains(&word.to_ascii_lowercase().as_str()));
    let words = words.into_iter().map(|word| word.trim_matches(['"', '\'', '“', '”']).to_owned()).collect::<Vec<_>>();
    let words = match words.first().map(|first| first.to_ascii_lowercase()) {
        Some(first) if first == "force-push" => {
            ["git", "push", "--force"].map(str::to_owned).into_iter().chain(words.into_iter().skip(1)).collect()
        }
        // Alone, the verb is a wish about the work and not about a command.
        Some(first) if GIT.contains(&first.as_str()) && words.len() > 1 => {
            ["git".to_owned(), first].into_iter().chain(words.into_iter().skip(1)).collect()
        }
        _ => words,
    };
    of_words(words, is_whole)
}

fn is_everywhere(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    EVERYWHERE.iter().any(|end| text == *end)
}

fn of_words(words: Vec<String>, is_whole: bool) -> Option<Ban> {
    let is_program = |word: &String| {
        word.starts_with(|letter: char| letter.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte))
    };
    words.first().is_some_and(is_program).then_some(Ban { words, is_whole })
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
