//! Splits a text into the smallest quotable parts: sentences, list items, headings, table rows, code blocks.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Longest fragment, in bytes; a longer sentence is cut between words.
const LONGEST: usize = 360;
/// Longest list item that stays whole, in bytes.
const LONGEST_ITEM: usize = 220;
/// A shorter sentence, in bytes, stays with the one before it: "e.g. this".
const SHORTEST: usize = 12;
/// Longest block of code, in bytes; a longer one is cut between lines.
const LONGEST_CODE: usize = 240;

/// Returns the byte ranges of a text's fragments, in order. They do not overlap, none is empty or begins or
/// ends with white space, and white space, code fences and the rules of tables are in none.
///
/// ```
/// use yore_core::text::fragments;
/// let text = "# Cache\n\nIt moved to SQLite. Redis lost heartbeats.\n- no server\n- one file\n```sh\nyore up\n```";
/// let parts: Vec<&str> = fragments(text).into_iter().map(|range| &text[range]).collect();
/// assert_eq!(parts, ["# Cache", "It moved to SQLite.", "Redis lost heartbeats.", "- no server", "- one file", "yore up"]);
/// ```
pub fn fragments(text: &str) -> Vec<Range<usize>> {
    let mut found = Fragments { text, all: Vec::new(), open: None };
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let words = line.trim();
        let range = start..start + line.trim_end().len();
        let mark = ["```", "~~~"].into_iter().find(|mark| words.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => {
                found.flush();
                fence = Some(mark);
            }
            (Some(open), Some(mark)) if open == mark => {
                found.flush();
                fence = None;
            }
            _ if words.is_empty() => found.flush(),
            (Some(_), _) => found.add_code(range),
            _ if words.starts_with('|') => {
                found.flush();
                if !is_rule(words) {
                    found.push(range);
                }
            }
            _ if words.starts_with('#') => {
                found.flush();
                found.push(range);
            }
            _ => found.add_prose(range, is_item(words)),
        }
    }
    found.flush();
    found.all
}

/// A passage that is not finished.
struct Open {
    range: Range<usize>,
    is_code: bool,
    is_item: bool,
}

struct Fragments<'t> {
    text: &'t str,
    all: Vec<Range<usize>>,
    open: Option<Open>,
}

impl Fragments<'_> {
    fn add_code(&mut self, line: Range<usize>) {
        let joins = |open: &&mut Open| open.is_code && line.end - open.range.start <= LONGEST_CODE;
        match self.open.as_mut().filter(joins) {
            Some(open) => open.range.end = line.end,
            None => {
                self.flush();
                self.open = Some(Open { range: line, is_code: true, is_item: false });
            }
        }
    }

    fn add_prose(&mut self, line: Range<usize>, is_item: bool) {
        match self.open.as_mut().filter(|_| !is_item) {
            Some(open) => open.range.end = line.end,
            None => {
                self.flush();
                self.open = Some(Open { range: line, is_code: false, is_item });
            }
        }
    }

    fn flush(&mut self) {
        let Some(Open { range, is_code, is_item }) = self.open.take() else { return };
        if is_code || is_item && range.len() <= LONGEST_ITEM {
            return self.push(range);
        }
        // A line break inside a paragraph ends no sentence.
        let flowing = self.text[range.clone()].replace(['\n', '\r'], " ");
        let mut pending: Option<Range<usize>> = None;
        for (offset, sentence) in flowing.split_sentence_bound_indices() {
            let (start, end) = (range.start + offset, range.start + offset + sentence.len());
            let is_inside_code = |pending: &Range<usize>| self.text[pending.clone()].matches('`').count() % 2 == 1;
            let belongs = |pending: &&mut Range<usize>| {
                pending.len() < SHORTEST || sentence.trim().len() < SHORTEST || is_inside_code(pending)
            };
            match pending.as_mut().filter(belongs) {
                Some(pending) => pending.end = end,
                None => {
                    if let Some(done) = pending.replace(start..end) {
                        self.push(done);
                    }
                }
            }
        }
        if let Some(done) = pending {
            self.push(done);
        }
    }

    /// Adds a range without the white space around it, in several parts if it is too long.
    fn push(&mut self, range: Range<usize>) {
        let words = &self.text[range.clone()];
        let mut start = range.start + (words.len() - words.trim_start().len());
        let end = start + words.trim().len();
        while end - start > LONGEST {
            let most = self.text.floor_char_boundary(start + LONGEST);
            let cut = self.text[start..most].rfind(char::is_whitespace).map_or(most, |offset| start + offset);
            let cut = if cut > start { cut } else { most };
            self.all.push(start..start + self.text[start..cut].trim_end().len());
            start = end - self.text[cut..end].trim_start().len();
        }
        if start < end {
            self.all.push(start..end);
        }
    }
}

/// Returns whether a line of a table only separates its head from its rows.
fn is_rule(line: &str) -> bool {
    line.chars().all(|letter| matches!(letter, '|' | '-' | ':' | ' '))
}

/// Returns whether a line begins an item of a list.
pub fn is_item(line: &str) -> bool {
    let after_number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = after_number.len() < line.len() && (after_number.starts_with(". ") || after_number.starts_with(") "));
    is_numbered || ["- ", "* ", "+ ", "• "].iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        fragments(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn line_breaks_inside_a_paragraph_end_no_sentence() {
        assert_eq!(
            parts("The cache moved\nto SQLite, e.g. one file.\n\nRedis is gone for good now."),
            ["The cache moved\nto SQLite, e.g. one file.", "Redis is gone for good now."]
        );
    }

    #[test]
    fn marks_inside_code_end_no_sentence() {
        assert_eq!(
            parts("Our `/curve` has a `? ` on the cache. It is gone for good."),
            ["Our `/curve` has a `? ` on the cache.", "It is gone for good."]
        );
    }

    #[test]
    fn rows_of_tables_are_parts_and_their_rules_are_none() {
        assert_eq!(parts("| name | size |\n| --- | ---: |\n| a | 1 |"), ["| name | size |", "| a | 1 |"]);
    }

    #[test]
    fn code_is_cut_at_blank_lines() {
        assert_eq!(
            parts("so:\n```rust\nfn a() {}\nfn b() {}\n\nfn c() {}\n```\nend"),
            ["so:", "fn a() {}\nfn b() {}", "fn c() {}", "end"]
        );
    }

    #[test]
    fn long_items_are_cut_into_sentences_and_long_sentences_between_words() {
        let item = format!("- {}", "One sentence of an item stands here. ".repeat(8));
        assert!(parts(&item).len() > 4);
        let long = "word ".repeat(300);
        assert!(parts(&long).iter().all(|part| part.len() <= LONGEST && part.ends_with("word")));
        assert!(parts(&"x".repeat(1_000)).iter().all(|part| part.len() <= LONGEST));
    }

    proptest! {
        #[test]
        fn fragments_are_ordered_and_hold_every_word_outside_of_marks(text in "([a-zA-Z.!?| #`\\-0-9\n]|\\PC){0,400}") {
            let found = fragments(&text);
            let mut end = 0;
            for range in &found {
                prop_assert!(range.start >= end && range.end > range.start);
                prop_assert_eq!(text[range.clone()].trim(), &text[range.clone()]);
                end = range.end;
            }
            if !text.contains("```") && !text.contains("~~~") {
                let letters = |text: &str| text.chars().filter(|letter| letter.is_alphanumeric()).count();
                let kept: usize = found.iter().map(|range| letters(&text[range.clone()])).sum();
                prop_assert_eq!(kept, letters(&text));
            }
        }
    }
}
