//! Splits messages into sentences and weighs how much each says by itself.

use yore_core::text::{fragments, is_stop_word};

use super::words::{Words, normal};

/// Signs with which a line begins that was pasted or is no sentence: quotations, tables, differences, logs, marks of lists in
/// a terminal.
const PASTED: [char; 12] = ['>', '|', '+', '[', '$', '%', '{', '}', '❯', '⎿', '⏺', '@'];

/// Words that are written in capitals to stress them.
const EMPHASIS: [&str; 18] = [
    "all", "always", "and", "any", "before", "after", "both", "but", "must", "never", "new", "not", "now", "old", "only", "same",
    "then", "the",
];

/// Longest word that is a sentence before another, in bytes, and fewest words that follow it.
const LONGEST_ANSWER: usize = 5;
const LEAST_AFTER_ANSWER: usize = 3;

/// A sentence, list item or row of a table.
#[derive(Clone, Debug)]
pub struct Sentence<'t> {
    /// Its words, exactly as they stand in the message.
    pub text: &'t str,
    /// Its words in normal form, without interjections at its beginning.
    pub normal: String,
    /// True if it asks something.
    pub is_question: bool,
    /// The heading above it, in normal form.
    pub heading: String,
    /// True if it is the first below that heading.
    pub is_first: bool,
}

/// Returns the sentences of a message in order, without code, quotations and tables.
pub fn sentences<'t>(text: &'t str, words: &Words) -> Vec<Sentence<'t>> {
    let code = code_ranges(text);
    let mut heading = String::new();
    let mut is_first = false;
    let mut found = Vec::new();
    for range in fragments(text) {
        let fragment = without_answer(&text[range.clone()]);
        if code.iter().any(|code| code.start < range.end && range.start < code.end) || fragment.starts_with(PASTED) {
            continue;
        }
        if fragment.starts_with('#') {
            (heading, is_first) = (normal(fragment), true);
            continue;
        }
        let whole = normal(fragment);
        // A line in bold, or with a colon at its end, is a heading too.
        let is_bold = fragment.starts_with("**") && fragment.trim_end_matches(':').ends_with("**") && fragment.len() < 80;
        if is_bold || fragment.ends_with(':') && fragment.len() < 60 {
            (heading, is_first) = (whole, true);
            continue;
        }
        let is_question = fragment.trim_end_matches(['"', '”', ')', '*', '`', ' ']).ends_with('?');
        found.push(Sentence {
            text: fragment,
            normal: without_fillers(&whole, words),
            is_question,
            heading: heading.clone(),
            is_first: std::mem::take(&mut is_first),
        });
    }
    found
}

/// Returns a fragment without the sentence of one short word before its own: "No. From now on ...".
fn without_answer(fragment: &str) -> &str {
    let Some((word, rest)) = fragment.split_once(' ') else { return fragment };
    let bare = word.trim_end_matches(['.', '!']);
    let is_answer = bare.len() < word.len() && bare.len() <= LONGEST_ANSWER && bare.chars().all(char::is_alphabetic);
    if is_answer && rest.split_whitespace().count() > LEAST_AFTER_ANSWER { rest } else { fragment }
}

/// Returns the byte ranges of fenced code.
fn code_ranges(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let (mut open, mut at) = (None, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            match open.take() {
                Some(start) => ranges.push(start..at + line.len()),
                None => open = Some(at),
            }
        }
        at += line.len();
    }
    ranges.extend(open.map(|start| start..text.len()));
    ranges
}

/// Returns a sentence in normal form without interjections at its beginning.
pub fn without_fillers(normal: &str, words: &Words) -> String {
    let mut rest = normal;
    loop {
        let first = |count: usize| rest.match_indices(' ').nth(count).map_or("", |(end, _)| &rest[..=end]);
        let Some(filler) = (1..=3).rev().map(first).find(|head| words.is("filler", head)) else { return rest.to_owned() };
        if filler.len() >= rest.len() {
            return rest.to_owned();
        }
        rest = &rest[filler.len() - 1..];
    }
}

impl Sentence<'_> {
    /// Returns the number of its words.
    pub fn count(&self) -> usize {
        self.normal.split_whitespace().count()
    }

    /// Returns the number of its words that are no stop words.
    pub fn content(&self) -> usize {
        self.normal.split_whitespace().filter(|word| is_content(word)).count()
    }

    /// Returns the number of words that name something exactly: code, paths, options, tickets, numbers with letters.
    pub fn names(&self) -> usize {
        self.text.split_whitespace().filter(|word| is_name(word)).count()
    }
}

/// Returns whether a word in lower case says something.
pub fn is_content(word: &str) -> bool {
    word.chars().nth(2).is_some() && !is_stop_word(word) && !word.contains('\'')
}

/// Returns the words of a text that say something, in normal form.
pub fn content_words(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<String> = normal(text).split_whitespace().filter(|word| is_content(word)).map(str::to_owned).collect();
    words.into_iter()
}

/// Returns whether a word names something exactly.
pub fn is_name(word: &str) -> bool {
    let bare =
        word.trim_matches(|letter: char| matches!(letter, '.' | ',' | ':' | ';' | '(' | ')' | '"' | '\'' | '?' | '!' | '*'));
    if bare.contains('`') {
        return bare.chars().any(char::is_alphanumeric);
    }
    let letters: Vec<char> = bare.chars().collect();
    let has_alpha = letters.iter().any(|letter| letter.is_alphabetic());
    let inner = |mark: char| letters.windows(3).any(|w| w[1] == mark && w[0].is_alphanumeric() && w[2].is_alphanumeric());
    let is_mixed = letters.windows(2).any(|w| w[0].is_lowercase() && w[1].is_uppercase());
    let has_digit = letters.iter().any(char::is_ascii_digit);
    let slashes = letters.iter().filter(|letter| **letter == '/').count();
    let is_path = letters.len() > 4 && (slashes > 1 || slashes == 1 && bare.contains('.')) && !bare.starts_with("http");
    let is_option = bare.starts_with("--") && letters.len() > 3;
    let is_dotted = inner('.') && letters.last().is_some_and(|letter| letter.is_alphanumeric()) && letters.len() > 4;
    let is_emphasis = EMPHASIS.contains(&bare.to_lowercase().as_str());
    let is_upper = !is_emphasis
        && letters.len() > 2
        && letters.iter().all(|letter| letter.is_uppercase() || letter.is_ascii_digit() || *letter == '-');
    has_alpha && (inner('_') || is_mixed || is_path || is_option || is_dotted || has_digit && inner('-') || is_upper)
        || bare.starts_with('#') && letters.len() > 1 && letters[1..].iter().all(char::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_quotations_and_tables_are_no_sentences() {
        let text =
            "## The fix\nIt reads `a.rs`.\n```\nlet x = 1;\n```\n> you said so\n| a | b |\n- Is it done?\n\n### Why\nBecause.";
        let words = Words::of(text);
        let found: Vec<(&str, bool, String)> =
            sentences(text, words).into_iter().map(|sentence| (sentence.text, sentence.is_question, sentence.heading)).collect();
        assert_eq!(
            found,
            [
                ("It reads `a.rs`.", false, " the fix ".to_owned()),
                ("- Is it done?", true, " the fix ".to_owned()),
                ("Because.", false, " why ".to_owned()),
            ]
        );
    }

    #[test]
    fn interjections_at_the_beginning_are_dropped() {
        let words = Words::of("the");
        let said = sentences("ok, yeah so let's keep the file", words);
        assert_eq!(said[0].normal, " let's keep the file ");
    }

    #[test]
    fn exact_names_are_told_from_words() {
        for name in ["`it`", "snake_case", "CamelCase", "src/a.rs", "--force", "ENT-238", "#36", "a.toml", "CI-2", "HTTP"] {
            assert!(is_name(name), "{name}");
        }
        for word in ["The", "it's", "and/or", "e.g.", "2026", "well-known", "I", "OK", "AND", "NOT,"] {
            assert!(!is_name(word), "{word}");
        }
    }
}
