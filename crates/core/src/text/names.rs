//! Finds names in prose (capitalised words, titles, years), and titles of passages.

use std::collections::BTreeSet;

use crate::text::is_stop_word;

/// Words that may stand inside a name.
const INSIDE: [&str; 11] = ["of", "the", "de", "la", "and", "in", "for", "von", "van", "&", "der"];
/// Words at the beginning of a sentence that belong to no name.
const BEFORE: [&str; 22] = [
    "the", "a", "an", "in", "on", "he", "she", "it", "his", "her", "who", "what", "which", "when", "where", "was", "is", "are",
    "did", "does", "of", "they",
];
/// Most words of a name that is looked for in a question.
const MOST_WORDS: usize = 6;
/// Longest title, in bytes.
const LONGEST_TITLE: usize = 120;

/// Returns the names in a text, in lower case, each once.
///
/// ```
/// use yore_core::text::names;
/// let found: Vec<String> = names("The film by Ana de la Cruz was shown in 1998. It won.").into_iter().collect();
/// assert_eq!(found, ["ana de la cruz"]);
/// ```
pub fn names(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut end = 0;
    let mut close = |open: &mut Vec<&str>| {
        while open.last().is_some_and(|word| is_inside(word)) {
            open.pop();
        }
        let kept = &open[open.iter().take(1).filter(|word| BEFORE.contains(&word.to_lowercase().as_str())).count()..];
        let name = kept.join(" ").to_lowercase();
        let has_capital = kept.iter().any(|word| word.starts_with(char::is_uppercase));
        if name.len() > 2 && has_capital && !is_stop_word(&name) {
            found.insert(name);
        }
        open.clear();
    };
    for (start, word) in words(text) {
        let is_apart = text[end..start].chars().any(|letter| !letter.is_whitespace());
        end = start + word.len();
        if is_apart {
            close(&mut open);
        }
        let begins = word.chars().next().is_some_and(char::is_uppercase) || is_year(word);
        if begins || !open.is_empty() && (is_inside(word) || word.bytes().all(|byte| byte.is_ascii_digit())) {
            // Two small words in a row end a name.
            if !begins && is_inside(word) && open.last().is_some_and(|last| is_inside(last)) && word != "la" {
                close(&mut open);
            } else {
                open.push(word);
            }
        } else {
            close(&mut open);
        }
    }
    close(&mut open);
    found
}

/// Returns a title as it is named elsewhere: without what stands in brackets, in lower case.
///
/// ```
/// assert_eq!(yore_core::text::plain_title("Mercury (planet)"), "mercury");
/// ```
pub fn plain_title(title: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0usize;
    for letter in title.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            letter if depth == 0 => plain.extend(letter.to_lowercase()),
            _ => {}
        }
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the title of a passage: the given one, or a short first line.
pub fn title_of<'t>(given: Option<&'t str>, text: &'t str) -> Option<&'t str> {
    let first = || text.trim_start().split_once('\n').map(|(first, _)| first.trim_start_matches('#').trim());
    given.or_else(first).filter(|title| !title.is_empty() && title.len() <= LONGEST_TITLE)
}

/// Returns the longest runs of words of a question that are known names.
pub fn names_in_question(question: &str, is_known: &dyn Fn(&str) -> bool) -> Vec<String> {
    let lower = question.to_lowercase();
    let words: Vec<&str> = words(&lower).map(|(_, word)| word).collect();
    let mut found: Vec<String> = Vec::new();
    for count in (1..=MOST_WORDS.min(words.len())).rev() {
        for run in words.windows(count) {
            let name = run.join(" ");
            if !is_stop_word(&name) && is_known(&name) && !found.iter().any(|longer| longer.contains(&name)) {
                found.push(name);
            }
        }
    }
    found
}

/// Returns the words of a text with their places; apostrophes, dots and hyphens inside a word belong to it.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '\'' | '’' | '.' | '-' | '_' | '&');
    let mut rest = 0;
    std::iter::from_fn(move || {
        loop {
            let start = rest + text[rest..].find(is_inside)?;
            let end = start + text[start..].find(|letter| !is_inside(letter)).unwrap_or(text.len() - start);
            rest = end;
            let word = text[start..end].trim_end_matches(['.', '\'', '’', '-']);
            let word_start = start + (word.len() - word.trim_start_matches(['.', '\'', '’', '-']).len());
            let word = word.trim_start_matches(['.', '\'', '’', '-']);
            if !word.is_empty() {
                return Some((word_start, word));
            }
        }
    })
}

fn is_inside(word: &str) -> bool {
    INSIDE.contains(&word)
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str) -> Vec<String> {
        names(text).into_iter().collect()
    }

    #[test]
    fn names_are_runs_of_capitals() {
        assert_eq!(found("Ada Lovelace met Charles Babbage. He was glad."), ["ada lovelace", "charles babbage"]);
        assert_eq!(found("the University of Oxford and then Paris"), ["paris", "university of oxford"]);
        assert_eq!(found("In Rust 2024, SQLite and Redis."), ["rust 2024", "sqlite and redis"]);
        assert!(found("it was so. He did. 1998 and 12").is_empty());
    }

    #[test]
    fn the_longest_known_names_of_a_question_are_found() {
        let known = ["redis", "redis cluster", "the", "cluster"];
        let asked = names_in_question("Who set up the Redis Cluster of us?", &|name| known.contains(&name));
        assert_eq!(asked, ["redis cluster"]);
    }

    #[test]
    fn a_title_is_given_or_a_short_first_line() {
        assert_eq!(title_of(Some("A"), "b\nc"), Some("A"));
        assert_eq!(title_of(None, "# Cache\nIt is here."), Some("Cache"));
        assert_eq!(title_of(None, "one line only"), None);
        assert_eq!(title_of(None, &format!("{}\nx", "long ".repeat(40))), None);
    }

    proptest! {
        #[test]
        fn any_text_has_names_or_none(text in "([A-Z][a-z]{0,4}|of|the|'|\\.|-|[0-9]{1,5}| |\\PC){0,30}") {
            for name in names(&text) {
                prop_assert!(name.len() > 2);
            }
            let _ = names_in_question(&text, &|_| true);
            let _ = plain_title(&text);
        }
    }
}
