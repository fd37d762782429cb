//! Detects texts that report a change, and questions about what was said before or after one.

use unicode_segmentation::UnicodeSegmentation;

/// Words of a change. A word that ends with `*` is a beginning.
const CHANGES: [&str; 38] = [
    "instead",
    "switch",
    "switched",
    "switching",
    "rename",
    "renamed",
    "renaming",
    "actually",
    "move",
    "moved",
    "replac*",
    "supersed*",
    "amend*",
    "chang*",
    "invert",
    "fixed",
    "remove",
    "removed",
    "update",
    "updated",
    "revert",
    "reverted",
    "consolidat*",
    "migrat*",
    "deprecat*",
    "outdated",
    "disabled",
    "enabled",
    "ersetzt",
    "stattdessen",
    "umgestellt",
    "umbenannt",
    "entfernt",
    "geändert",
    "verschoben",
    "verworfen",
    "abgelöst",
    "veraltet",
];
/// Two words of a change.
const PAIRS: [(&str, &str); 4] = [("no", "longer"), ("now", "uses"), ("now", "use"), ("nicht", "mehr")];
/// Bytes at the beginning of a text that are read.
const READ: usize = 1_500;
/// Number of words between "from" and "to", "not" and "but".
const BETWEEN: usize = 6;

/// Returns whether the beginning of a text says that something was changed, in English or German.
///
/// ```
/// use yore_core::text::says_change;
/// assert!(says_change("The cache no longer needs Redis."));
/// assert!(says_change("We went from Redis to SQLite."));
/// assert!(!says_change("The cache needs Redis."));
/// ```
pub fn says_change(text: &str) -> bool {
    let read = &text[..text.floor_char_boundary(READ)];
    if read.contains('→') {
        return true;
    }
    let words: Vec<String> =
        read.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let is_change = |word: &str| {
        CHANGES.iter().any(|change| change.strip_suffix('*').map_or(word == *change, |beginning| word.starts_with(beginning)))
    };
    let is_frame = |at: usize, first: &str, second: &str| {
        words[at] == first && words[at + 1..].iter().take(BETWEEN + 1).skip(1).any(|word| word == second)
    };
    (0..words.len()).any(|at| {
        let next = words.get(at + 1).map_or("", String::as_str);
        is_change(&words[at])
            || PAIRS.contains(&(words[at].as_str(), next))
            || is_frame(at, "from", "to")
            || is_frame(at, "not", "but")
    })
}

/// Side of an event on which something lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before it.
    Before,
    /// After it.
    After,
}

/// Returns the change that a question names to say when: `before we switched to SQLite`.
///
/// ```
/// use yore_core::text::{Side, named_change};
/// let question = "Which cache did we use before we switched to SQLite, and why?";
/// assert_eq!(named_change(question), Some((Side::Before, "switched to SQLite")));
/// assert_eq!(named_change("Did we check it before we went home?"), None);
/// ```
pub fn named_change(question: &str) -> Option<(Side, &str)> {
    let mut words = question.split_word_bound_indices().filter(|(_, word)| word.chars().all(char::is_alphanumeric)).peekable();
    while let Some((_, word)) = words.next() {
        let side = match word.to_lowercase().as_str() {
            "before" | "until" => Side::Before,
            "after" | "since" => Side::After,
            _ => continue,
        };
        if words.next_if(|(_, word)| ["we", "i", "they", "you"].contains(&word.to_lowercase().as_str())).is_none() {
            continue;
        }
        let Some((start, verb)) = words.peek().copied() else { break };
        if says_change(verb) {
            let rest = &question[start..];
            let end = rest.find([',', ';', '?', '!', '\n']).unwrap_or(rest.len());
            return Some((side, rest[..end].trim()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_from_states() {
        for text in ["it was renamed", "Migrating to B", "a → b", "not Redis but SQLite", "wird nicht mehr benutzt", "now uses B"]
        {
            assert!(says_change(text), "{text}");
        }
        for text in ["", "it is so", "from here", "from to", "not but", "no, it is longer", "instability"] {
            assert!(!says_change(text), "{text}");
        }
    }
}
