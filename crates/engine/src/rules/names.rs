//! Finds entities and relations in a statement: technologies, symbols, tickets, branches, people.
//!
//! Entities are the same in every project, so only names count that mean one thing everywhere, or that are rare enough to
//! mean one thing wherever they are written. Files are anchors of a memory, not entities: many projects have a `main.rs`.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use yore_core::entity::{EntityKind, key_of};
use yore_core::relation::RelationType;

use super::sentence::is_name;
use super::words::{Words, normal};

/// Most entities of a statement.
const MOST: usize = 6;
/// Shortest name of a part of a program, in characters; a shorter one may mean another thing elsewhere.
const SHORTEST_SYMBOL: usize = 8;
/// Most words of a name of the list.
const NAME_WORDS: usize = 4;
/// Most words between two names that a statement relates, and words before the first that may say how.
const WORDS_BETWEEN: usize = 3;
const WORDS_BEFORE: usize = 4;
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

/// A name in a statement: the range of its words, and the entity as `kind:name`.
struct Mention {
    words: Range<usize>,
    entity: String,
}

/// A relation that a statement states between two entities, each as `kind:name`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct StatedRelation {
    /// The first end.
    pub from: String,
    /// Its type.
    pub relation: RelationType,
    /// The second end.
    pub to: String,
}

/// Returns the entities that a statement names, each once, as `kind:name`, in the order of their first mention.
pub fn entities(statement: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut keys: Vec<String> = Vec::new();
    for mention in mentions(&statement.split_whitespace().collect::<Vec<_>>()) {
        let key = key_of(mention.entity.split_once(':').map_or("", |(_, name)| name));
        if !keys.contains(&key) {
            keys.push(key);
            found.push(mention.entity);
        }
    }
    found.truncate(MOST);
    found
}

/// Returns the relations that a statement states between entities that it names one after the other: that one is used in the
/// place of another, or needs another.
pub fn stated(statement: &str) -> Vec<StatedRelation> {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let of = Words::of(statement);
    // A question, its answer, a refusal or what somebody quotes states the contrary as often.
    let is_doubtful = statement.contains(['?', '“', '"']) || of.has("denied", &normal(statement));
    let named = if is_doubtful { Vec::new() } else { mentions(&words) };
    let mut found: Vec<StatedRelation> = Vec::new();
    for pair in named.windows(2) {
        let [first, second] = pair else { continue };
        let between = normal(&words[first.words.end..second.words.start].join(" "));
        let before = normal(&words[first.words.start.saturating_sub(WORDS_BEFORE)..first.words.start].join(" "));
        let is_clause = words[first.words.start..second.words.start].iter().any(|word| word.ends_with(['.', ';', ':']));
        if is_clause || first.entity == second.entity || between.split_whitespace().count() > WORDS_BETWEEN {
            continue;
        }
        let (from, relation, to) = if of.is("in place of", &between) {
            (first, RelationType::Supersedes, second)
        } else if of.is("becomes", &between) && of.has("changed from", &before) {
            (second, RelationType::Supersedes, first)
        } else if of.is("needs", &between) {
            (first, RelationType::DependsOn, second)
        } else {
            continue;
        };
        let relation = StatedRelation { from: from.entity.clone(), relation, to: to.entity.clone() };
        if !found.contains(&relation) {
            found.push(relation);
        }
    }
    found
}

/// Returns other names that a statement gives what it names, each with the entity as `kind:name`: "the harbour server (`hsrv`)",
/// "`LeaseKeeper`, aka `lkeep`".
pub fn aliases(statement: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let mut found: Vec<(String, String)> = Vec::new();
    for mention in mentions(&words) {
        let after = &words[mention.words.end..];
        let is_open = !words[mention.words.end - 1].ends_with(['.', ';', ':', '!', '?']);
        let said = after.iter().map(|word| bare(word).to_lowercase()).take(3).collect::<Vec<_>>();
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        let other = match said.as_slice() {
            ["aka" | "alias", ..] => after.get(1),
            ["also" | "auch", "called" | "known" | "genannt", ..] if said.get(2) != Some(&"as") => after.get(2),
            ["also", "known", "as"] => after.get(3),
            _ => after.first().filter(|word| word.starts_with('(') && word.trim_end_matches(['.', ',', ';']).ends_with(')')),
        };
        // A part of a program is a thing of its own.
        let other = other.filter(|word| is_open && symbol(word).is_none());
        let Some(name) = other.and_then(|word| other_name(word)) else { continue };
        let is_own = mention.entity.split_once(':').is_some_and(|(_, own)| key_of(own) == key_of(name));
        if !is_own && !LISTED.contains_key(&key_of(name)) && !found.iter().any(|(_, known)| known == name) {
            found.push((mention.entity, name.to_owned()));
        }
    }
    found
}

/// Returns a word as another name: one in code marks, or an abbreviation in capital letters.
fn other_name(word: &str) -> Option<&str> {
    let name = bare(word.trim_end_matches(['.', ',', ';']));
    let is_plain = name.chars().all(|letter| letter.is_alphanumeric() || "-_".contains(letter));
    let is_abbreviation = (2..=6).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_code = word.contains('`') && name.len() > 2 && name.starts_with(char::is_alphabetic);
    (is_plain && (is_abbreviation || is_code) && !NO_TICKETS.contains(&name)).then_some(name)
}

/// Returns what a statement names, in order.
fn mentions(words: &[&str]) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
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
                found.push(Mention { words: at..at + count, entity: format!("{}:{}", listed.kind.as_str(), listed.name) });
                at += count;
            }
            None => {
                let before = at.checked_sub(1).map_or("", |before| words[before]);
                let after = words.get(at + 1).copied().unwrap_or_default();
                let named = ticket(words[at])
                    .map(|name| (EntityKind::Concept, name.to_owned()))
                    .or_else(|| Some((EntityKind::Concept, branch(before, words[at], after)?.to_owned())))
                    .or_else(|| Some((EntityKind::Person, handle(before, words[at])?.to_owned())))
                    .or_else(|| Some((EntityKind::Component, symbol(words[at])?)));
                found
                    .extend(named.map(|(kind, name)| Mention { words: at..at + 1, entity: format!("{}:{name}", kind.as_str()) }));
                at += 1;
            }
        }
    }
    found
}

/// Returns the branch that a word names, as in "branch `fix/tide`" or "`fix/tide` branch".
fn branch<'w>(before: &str, word: &'w str, after: &str) -> Option<&'w str> {
    let is_branch = |word: &str| bare(word).eq_ignore_ascii_case("branch");
    let name = bare(word);
    let has_form = name.contains(['/', '-']) && name.chars().all(|letter| letter.is_alphanumeric() || "/-_.".contains(letter));
    (word.contains('`') && (is_branch(before) || is_branch(after)) && has_form && name.len() >= SHORTEST_SYMBOL).then_some(name)
}

/// Returns the person whose handle a word is, as in "asked by @ada": a handle alone may be an annotation or a package.
fn handle<'w>(before: &str, word: &'w str) -> Option<&'w str> {
    let name = bare(word).strip_prefix('@')?;
    let is_handle = name.len() > 2
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
        && name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let leads = ["by", "ask", "asked", "cc", "von"];
    (is_handle && !word.contains('`') && leads.contains(&bare(before).to_lowercase().as_str())).then_some(name)
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
    fn other_names_are_those_that_a_statement_gives() {
        let told =
            |statement| aliases(statement).into_iter().map(|(entity, alias)| format!("{entity} = {alias}")).collect::<Vec<_>>();
        assert_eq!(told("Leases are kept by `LeaseKeeper` (`lkeep`)."), ["component:LeaseKeeper = lkeep"]);
        assert_eq!(
            told("`HarbourMaster`, also known as `hm_box`, runs PostgreSQL (PGX)"),
            ["component:HarbourMaster = hm_box", "technology:PostgreSQL = PGX"]
        );
        for statement in [
            "`LeaseKeeper` (see below)",
            "Redis (PostgreSQL)",
            "`LeaseKeeper`. (`lkeep`)",
            "Redis (`LeaseKeeper()`)",
            "Redis (7.2)",
            "Redis",
        ] {
            assert_eq!(told(statement), [""; 0], "{statement}");
        }
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
    fn people_and_branches_are_named_where_the_words_beside_them_say_so() {
        assert_eq!(entities("Asked by @ada-l on branch `fix/tide-gauge`."), ["person:ada-l", "concept:fix/tide-gauge"]);
        assert!(entities("The `@param` of @dock/quay and `tide-gauge` mean nothing, @Override either").is_empty());
    }

    #[test]
    fn relations_are_stated_between_names_that_stand_together() {
        let told = |statement: &str| -> Vec<String> {
            stated(statement).iter().map(|one| format!("{} {} {}", one.from, one.relation.as_str(), one.to)).collect()
        };
        assert_eq!(told("We use SQLite instead of Redis for leases."), ["technology:SQLite supersedes technology:Redis"]);
        assert_eq!(told("Leases were moved from Redis to PostgreSQL."), ["technology:PostgreSQL supersedes technology:Redis"]);
        assert_eq!(told("`EnsureSetup` uses Redis."), ["component:EnsureSetup depends_on technology:Redis"]);
        assert_eq!(told("Wir nehmen SQLite statt Redis für die Liegeplätze."), ["technology:SQLite supersedes technology:Redis"]);
        for none in [
            "SQLite is fast. Redis is not.",
            "From Redis to SQLite is a long way",
            "SQLite and Redis",
            "Redis uses Redis",
            "Don't use SQLite instead of Redis",
            "Use SQLite instead of Redis? Chosen: Keep Redis",
            "The commit “Use SQLite instead of Redis” was reverted.",
        ] {
            assert_eq!(told(none), Vec::<String>::new(), "{none}");
        }
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
