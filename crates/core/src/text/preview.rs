//! Summarizes a long text: its preview and key concepts.
//!
//! - [`preview`]: title, first paragraph, rules
//! - [`key_concepts`]: the names and terms it is about

/// Words that mark a line as a rule.
const RULE_WORDS: [&str; 6] = ["must", "always", "never", "required", "critical", "warning"];
/// Number of first lines in which a title is looked for.
const TITLE_LINES: usize = 5;
/// Number of characters above which a line counts as a paragraph.
const PARAGRAPH_CHARS: usize = 50;
/// Most rules in a preview.
const RULES: usize = 2;
/// Most key concepts of a text.
const MOST_CONCEPTS: usize = 10;
/// Technical terms that are concepts in any spelling.
const TERMS: [&str; 25] = [
    "api",
    "rest",
    "graphql",
    "jwt",
    "oauth",
    "oauth2",
    "database",
    "sql",
    "nosql",
    "authentication",
    "authorization",
    "security",
    "encryption",
    "deployment",
    "ci/cd",
    "docker",
    "kubernetes",
    "react",
    "vue",
    "angular",
    "typescript",
    "javascript",
    "python",
    "rust",
    "sqlite",
];

/// Returns the title, the first paragraph, and up to two rules, in at most `max` characters.
///
/// ```
/// use yore_core::text::preview;
/// let text = "# Cache\n\nThe cache keeps leases of open files in one SQLite database.\nYou must never delete it by hand.";
/// assert_eq!(
///     preview(text, 500),
///     "# Cache\nThe cache keeps leases of open files in one SQLite database.\nKey rules: You must never delete it by hand."
/// );
/// assert_eq!(preview("short", 500), "short");
/// assert_eq!(preview(text, 10), "# Cache...");
/// ```
pub fn preview(text: &str, max: usize) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_heading = |line: &&str| line.starts_with('#');
    let mut parts = Vec::new();
    let title = text.lines().take(TITLE_LINES).map(str::trim).find(is_heading).map(|line| line.trim_matches(['#', ' ']));
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        parts.push(format!("# {title}"));
    }
    let paragraph = lines().find(|line| !is_heading(line) && line.chars().nth(PARAGRAPH_CHARS).is_some());
    parts.extend(paragraph.map(str::to_owned));
    let rules: Vec<&str> = lines().filter(|line| Some(*line) != paragraph && lays_down_rules(line)).take(RULES).collect();
    if !rules.is_empty() {
        parts.push(format!("Key rules: {}", rules.join("; ")));
    }
    // A text of short lines is its own preview.
    if paragraph.is_none() && rules.is_empty() {
        let rest = lines().filter(|line| !is_heading(line)).collect::<Vec<_>>().join("\n");
        parts.extend(Some(rest).filter(|rest| !rest.is_empty()));
    }
    shortened(&parts.join("\n"), max)
}

/// Cuts a text to at most `max` characters, with three dots at the end if it was longer.
fn shortened(text: &str, max: usize) -> String {
    if text.chars().nth(max).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}

fn lays_down_rules(line: &str) -> bool {
    line.split(|letter: char| !letter.is_alphanumeric()).any(|word| RULE_WORDS.iter().any(|rule| word.eq_ignore_ascii_case(rule)))
}

/// Returns the key concepts of a text, at most ten: tags first, then compound names and technical terms, the
/// most frequent first, and among equally frequent ones in order of their first occurrence.
///
/// ```
/// use yore_core::text::key_concepts;
/// let text = "LeaseKeeper writes lease_table in SQLite; LeaseKeeper is on-disk only. See the README.";
/// assert_eq!(key_concepts(text, &["cache".to_owned()]), ["cache", "LeaseKeeper", "lease_table", "SQLite", "on-disk"]);
/// ```
pub fn key_concepts(text: &str, tags: &[String]) -> Vec<String> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '/');
    for word in text.split(|letter| !is_part(letter)) {
        let word = word.trim_matches(['_', '-', '/']);
        if !is_concept(word) {
            continue;
        }
        match found.iter_mut().find(|(_, known)| known.eq_ignore_ascii_case(word)) {
            Some((count, _)) => *count += 1,
            None => found.push((1, word)),
        }
    }
    // A stable sort: among equals the earlier one stays first.
    found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let mut concepts: Vec<String> = Vec::new();
    for concept in tags.iter().map(String::as_str).chain(found.into_iter().map(|(_, word)| word)) {
        if !concepts.iter().any(|known| known.eq_ignore_ascii_case(concept)) {
            concepts.push(concept.to_owned());
        }
    }
    concepts.truncate(MOST_CONCEPTS);
    concepts
}

fn is_concept(word: &str) -> bool {
    const LONGEST: usize = 60;
    if word.len() > LONGEST {
        return false;
    }
    let lower = word.to_lowercase();
    TERMS.contains(&lower.as_str()) || is_camel_case(word) || is_joined_by(word, '_') || is_joined_by(word, '-')
}

/// Returns whether a word is in camel case: `LeaseKeeper`, `SQLite`, `leaseKeeper`; neither `README` nor
/// `Lease`.
fn is_camel_case(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    letters.iter().all(char::is_ascii_alphanumeric)
        && letters.iter().any(char::is_ascii_lowercase)
        && letters.iter().skip(1).any(char::is_ascii_uppercase)
        && letters.first().is_some_and(char::is_ascii_alphabetic)
}

/// Returns whether a word consists of lower-case words joined by `sign`: `lease_table`, `on-disk`.
fn is_joined_by(word: &str, sign: char) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    word.contains(sign) && word.split(sign).all(is_part) && word.starts_with(|letter: char| letter.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_about_nothing() {
        assert_eq!(preview("", 500), "");
        assert_eq!(preview(" \n\n", 500), "");
        assert_eq!(key_concepts("", &[]), Vec::<String>::new());
    }

    #[test]
    fn rules_are_named_twice_at_most() {
        let text = "never a\nALWAYS b\nWarning: c\nneverland";
        assert_eq!(preview(text, 500), "Key rules: never a; ALWAYS b");
    }

    #[test]
    fn the_more_frequent_comes_first() {
        let text = "jwt_config api-keys JWT jwt JWT api-keys";
        assert_eq!(key_concepts(text, &[]), ["JWT", "api-keys", "jwt_config"]);
    }

    proptest! {
        #[test]
        fn previews_are_as_short_as_asked(text in "(\\PC|\n|#){0,300}", max in 3usize..80) {
            prop_assert!(preview(&text, max).chars().count() <= max);
        }

        #[test]
        fn concepts_are_few_and_different(text in "([a-cA-C_\\- ]){0,200}") {
            let concepts = key_concepts(&text, &[]);
            prop_assert!(concepts.len() <= 10);
            for (at, concept) in concepts.iter().enumerate() {
                prop_assert!(concepts[..at].iter().all(|other| !other.eq_ignore_ascii_case(concept)));
            }
        }
    }
}
