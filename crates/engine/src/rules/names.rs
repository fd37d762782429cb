//! Entities that a statement names: technologies by a list of names, parts of a program by the form of their names, and
//! tickets.
//!
//! Entities are the same in every project, so only names count that mean one thing everywhere, or that are rare enough to
//! mean one thing wherever they are written. Files are anchors of a memory, not entities: many projects have a `main.rs`.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use yore_core::entity::{EntityKind, key_of};

use super::sentence::is_name;

/// Most entities of a statement.
const MOST: usize = 6;
/// Shortest name of a part of a program, in characters; a shorter one may mean another thing elsewhere.
const SHORTEST_SYMBOL: usize = 8;
/// Most words of a name of the list.
const NAME_WORDS: usize = 4;
/// Standards that are written like tickets.
const NO_TICKETS: [&str; 12] = ["UTF", "SHA", "ISO", "RFC", "HTTP", "GPT", "MD", "AES", "RSA", "CVE", "CWE", "UTC"];

/// A name of the list.
struct Listed {
    name: &'static str,
    kind: EntityKind,
    /// True if it is a common word too.
    is_common: bool,
}

/// The list, by the compared form of each name and spelling.
static LISTED: LazyLock<HashMap<String, Listed>> = LazyLock::new(|| {
    let mut listed = HashMap::new();
    let mut kind = EntityKind::default();
    for line in include_str!("words/names.txt").lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            kind = EntityKind::parse(section).unwrap_or_default();
            continue;
        }
        let (name, spellings) = line.split_once('=').unwrap_or((line, ""));
        let mark = name.trim().chars().next().filter(|mark| matches!(mark, '!' | '?'));
        let name = name.trim().trim_start_matches(['!', '?']);
        if mark != Some('?') {
            listed.insert(key_of(name), Listed { name, kind, is_common: mark == Some('!') });
        }
        for spelling in spellings.split(',').map(str::trim).filter(|spelling| !spelling.is_empty()) {
            listed.insert(key_of(spelling), Listed { name, kind, is_common: false });
        }
    }
    listed
});

/// Returns the entities that a statement names, each once, as `kind:name`, in the order of their first mention.
pub fn entities(statement: &str) -> Vec<String> {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let mut found: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut add = |at: usize, kind: EntityKind, name: &str| {
        found.entry(key_of(name)).or_insert_with(|| (at, format!("{}:{name}", kind.as_str())));
    };
    let mut at = 0;
    while at < words.len() {
        let longest = (1..=NAME_WORDS.min(words.len() - at)).rev().find_map(|count| {
            let written = words[at..at + count].iter().map(|word| bare(word)).collect::<Vec<_>>().join(" ");
            let listed = LISTED.get(&key_of(&written))?;
            let is_meant = !listed.is_common || (at > 0 && written == listed.name && !begins_sentence(words[at - 1]));
            is_meant.then_some((count, listed))
        });
        match longest {
            Some((count, listed)) => {
                add(at, listed.kind, listed.name);
                at += count;
            }
            None => {
                if let Some(ticket) = ticket(words[at]) {
                    add(at, EntityKind::Concept, ticket);
                } else if let Some(symbol) = symbol(words[at]) {
                    add(at, EntityKind::Component, &symbol);
                }
                at += 1;
            }
        }
    }
    let mut ordered: Vec<(usize, String)> = found.into_values().collect();
    ordered.sort();
    ordered.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Returns a word without the signs around it.
fn bare(word: &str) -> &str {
    let word = word.trim_matches(|letter: char| {
        matches!(letter, ',' | ';' | ':' | '!' | '?' | '(' | ')' | '"' | '\'' | '`' | '*' | '“' | '”' | '…' | '[' | ']')
    });
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    word.trim_end_matches('.').trim_end_matches('`')
}

/// Returns whether the word after this one begins a sentence.
fn begins_sentence(before: &str) -> bool {
    before.ends_with(['.', '!', '?', ':', '…']) || matches!(before, "-" | "—" | "*")
}

/// Returns the ticket that a word names, such as `ENT-238`.
fn ticket(word: &str) -> Option<&str> {
    let word = bare(word);
    let (project, number) = word.split_once('-')?;
    let is_project = (2..=10).contains(&project.len()) && project.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_number = (1..=6).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_project && is_number && !NO_TICKETS.contains(&project)).then_some(word)
}

/// Returns the function, type or constant that a word in code marks names: `Store.EnsureSetup()` names `EnsureSetup`.
fn symbol(word: &str) -> Option<String> {
    let start = word.find('`')?;
    let inner = word[start + 1..].split('`').next()?.trim_end_matches("()");
    let last = inner.rsplit(['.', ':']).next()?.trim_end_matches("()");
    let is_word = last.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let starts = last.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    // `name.go` is a file.
    let is_file = inner.contains('/') || inner.rsplit_once('.').is_some_and(|(_, end)| end.len() <= 4 && end == last);
    let has_form = last.contains('_') || is_name(last);
    (is_word && starts && has_form && !is_file && last.len() >= SHORTEST_SYMBOL).then(|| last.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn technologies_are_named_by_every_spelling_and_common_words_only_where_they_are_meant() {
        assert_eq!(
            entities("We keep leases in postgres, not in Redis's cluster."),
            ["technology:PostgreSQL", "technology:Redis"]
        );
        assert_eq!(entities("Go modules and golang, go on, Go"), ["language:Go"]);
        assert_eq!(entities("VS Code runs GitHub Actions with vscode"), ["tool:VS Code", "tool:GitHub Actions"]);
        assert_eq!(entities("It is written in Rust and built with `cargo`"), ["language:Rust"]);
        assert_eq!(entities("Go with the linear layout. Cursor position moves the slack."), Vec::<String>::new());
        assert_eq!(entities("the ticket stands in Linear"), ["tool:Linear"]);
    }

    #[test]
    fn parts_of_a_program_are_named_by_their_form() {
        assert_eq!(
            entities("`EnsureSetup()` calls `strategy.GitMerge_hook` in `hooks.go` after `init`"),
            ["component:EnsureSetup", "component:GitMerge_hook"]
        );
        assert_eq!(entities("see `cmd/cli/resume.go` and `resume_test.go` and `main`"), Vec::<String>::new());
        assert_eq!(entities("`HashWorktreeID(\"\")` is no name"), Vec::<String>::new());
    }

    #[test]
    fn tickets_are_told_from_standards() {
        assert_eq!(entities("ENT-238 replaces UTF-8 by SHA-256 in CI-2."), ["concept:ENT-238", "concept:CI-2"]);
        assert!(entities("a-1 A-1 ABC- ABC-1x").is_empty());
    }

    #[test]
    fn every_name_of_the_list_has_a_kind() {
        assert!(LISTED.len() > 150);
        assert!(LISTED.values().all(|listed| listed.kind != EntityKind::default() && !listed.name.is_empty()));
    }
}
