//! A text with its lines: searching, cutting and dividing it without copying it as a whole.

use std::time::Instant;

use regex::RegexBuilder;

/// Most characters of a line that a search gives back: of a longer one, those around the match.
const LINE_CHARS: usize = 1_000;

/// Most parts that a text is divided into at once.
const MOST_CHUNKS: usize = 50_000;

/// Most bytes that a regular expression may take when it is compiled.
const PATTERN_BYTES: usize = 8 << 20;

/// A text and where its lines begin.
pub(crate) struct Text {
    text: Box<str>,
    /// Byte positions of the lines' first characters.
    starts: Vec<u32>,
    is_ascii: bool,
}

impl Text {
    /// Takes a text of less than 4 GiB.
    pub(crate) fn new(text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes());
        let mut starts: Vec<u32> = Vec::new();
        if !text.is_empty() {
            starts.push(0);
            starts.extend(breaks.filter(|at| at + 1 < text.len()).map(|at| u32::try_from(at + 1).unwrap_or(u32::MAX)));
        }
        starts.shrink_to_fit();
        Self { is_ascii: text.is_ascii(), text, starts }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the line with this index, without its line break.
    fn line(&self, index: usize) -> Option<&str> {
        let start = *self.starts.get(index)? as usize;
        let end = self.starts.get(index + 1).map_or(self.text.len(), |next| *next as usize);
        let line = self.text.get(start..end)?;
        let line = line.strip_suffix('\n').unwrap_or(line);
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    /// Returns the number (from 1) and the text of the first `most` lines that match. Time is linear in the text, with
    /// a factor that grows with the expression; at `until` the search ends with what it has.
    ///
    /// # Errors
    /// A sentence about the expression.
    pub(crate) fn search(&self, pattern: &str, most: usize, until: Instant) -> Result<Vec<(usize, String)>, String> {
        let regex =
            RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES).build().map_err(|error| {
                format!("search() cannot use this regular expression (it has no look-around and no back-references): {error}")
            })?;
        let mut found = Vec::new();
        for index in 0..self.starts.len() {
            if found.len() >= most || Instant::now() > until {
                break;
            }
            let Some(line) = self.line(index) else { break };
            if line.len() <= LINE_CHARS {
                if regex.is_match(line) {
                    found.push((index + 1, line.to_owned()));
                }
            } else if let Some(hit) = regex.find(line) {
                found.push((index + 1, around(line, hit.start())));
            }
        }
        Ok(found)
    }

    /// Returns the lines with numbers `from` to `to`, both included and counted from 1.
    pub(crate) fn lines(&self, from: i64, to: i64) -> &str {
        let first = usize::try_from(from.max(1)).unwrap_or(usize::MAX) - 1;
        let after = usize::try_from(to).unwrap_or(0);
        let (Some(start), true) = (self.starts.get(first), after > first) else { return "" };
        let end = self.starts.get(after).map_or(self.text.len(), |next| *next as usize);
        self.text.get(*start as usize..end).unwrap_or_default()
    }

    /// Returns the characters `from` up to `to`, counted from 0; negative numbers count from the end.
    pub(crate) fn peek(&self, from: i64, to: i64) -> &str {
        let (start, end) = (self.position(from), self.position(to));
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the byte position of a character, at most the end.
    fn position(&self, character: i64) -> usize {
        let count = usize::try_from(character.unsigned_abs()).unwrap_or(usize::MAX);
        let length = self.text.len();
        match (self.is_ascii, character < 0) {
            (true, false) => count.min(length),
            (true, true) => length.saturating_sub(count),
            (false, false) => self.text.char_indices().nth(count).map_or(length, |(at, _)| at),
            (false, true) => self.text.char_indices().nth_back(count - 1).map_or(0, |(at, _)| at),
        }
    }

    /// Divides the text into parts of `size` characters; each begins `overlap` characters before the last one's end.
    ///
    /// # Errors
    /// A sentence when the numbers make no sense.
    pub(crate) fn chunk(&self, size: i64, overlap: i64) -> Result<Vec<String>, String> {
        let (Ok(size @ 1..), Ok(overlap)) = (usize::try_from(size), usize::try_from(overlap)) else {
            return Err("chunk(size, overlap): size must be at least 1, overlap at least 0".to_owned());
        };
        if overlap > size / 2 {
            return Err("chunk(size, overlap): overlap must be at most half of size".to_owned());
        }
        let step = size - overlap;
        // Bytes are at least as many as characters.
        if self.text.len() / step > 4 * MOST_CHUNKS {
            return Err(format!("chunk(size, overlap): size is too small: at most {MOST_CHUNKS} parts are given"));
        }
        let mut chunks = Vec::new();
        let mut start = 0;
        while start < self.text.len() {
            if chunks.len() == MOST_CHUNKS {
                return Err(format!("chunk(size, overlap): size is too small: at most {MOST_CHUNKS} parts are given"));
            }
            let rest = self.text.get(start..).unwrap_or_default();
            let end = after(rest, size, self.is_ascii);
            chunks.push(rest.get(..end).unwrap_or_default().to_owned());
            if end == rest.len() {
                break;
            }
            start += after(rest, step, self.is_ascii);
        }
        Ok(chunks)
    }
}

/// Returns the bytes of the first `count` characters.
fn after(text: &str, count: usize, is_ascii: bool) -> usize {
    if is_ascii { count.min(text.len()) } else { text.char_indices().nth(count).map_or(text.len(), |(at, _)| at) }
}

/// Returns about [`LINE_CHARS`] characters of a line, with `at` in the first quarter.
fn around(line: &str, at: usize) -> String {
    let start = line.floor_char_boundary(at.saturating_sub(LINE_CHARS / 4));
    let rest = &line[start..];
    let end = rest.char_indices().nth(LINE_CHARS).map_or(rest.len(), |(at, _)| at);
    let (before, behind) = (if start > 0 { "…" } else { "" }, if end < rest.len() { "…" } else { "" });
    format!("{before}{}{behind}", &rest[..end])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn lines_are_found_by_number_and_by_expression() {
        let text = Text::new("one\r\ntwo\n\nfour é\n");
        assert_eq!(text.search("o", 9, later()), Ok(vec![(1, "one".into()), (2, "two".into()), (4, "four é".into())]));
        assert_eq!(text.search("^$", 9, later()), Ok(vec![(3, String::new())]));
        assert_eq!(text.search("o", 1, later()).map(|found| found.len()), Ok(1));
        assert_eq!(text.lines(2, 3), "two\n\n");
        assert_eq!((text.lines(4, 99), text.lines(0, 1), text.lines(3, 2), text.lines(9, 10)), ("four é\n", "one\r\n", "", ""));
        assert!(text.search("(?=x)", 9, later()).is_err_and(|error| error.contains("look-around")));
        assert_eq!(Text::new("").search(".*", 9, later()), Ok(Vec::new()));
    }

    #[test]
    fn a_line_that_is_too_long_is_given_around_its_match() {
        let text = Text::new(format!("{}needle{}", "é".repeat(5_000), "ü".repeat(5_000)));
        let found = text.search("needle", 9, later()).unwrap_or_default();
        let line = &found[0].1;
        assert!(
            line.contains("needle") && line.chars().count() <= LINE_CHARS + 2 && line.starts_with('…') && line.ends_with('…')
        );
    }

    #[test]
    fn characters_are_counted_as_python_does() {
        for (whole, middle) in [("aébcü", "éb"), ("aebcu", "eb")] {
            let text = Text::new(whole);
            assert_eq!(
                (text.peek(1, 3), text.peek(-4, -2), text.peek(0, 99), text.peek(-99, 99)),
                (middle, middle, whole, whole)
            );
            assert_eq!((text.peek(3, 1), text.peek(i64::MIN, i64::MAX)), ("", whole));
        }
    }

    #[test]
    fn chunks_cover_the_text_and_overlap() {
        let text = Text::new("abcdéfghij");
        assert_eq!(text.chunk(4, 1), Ok(vec!["abcd".into(), "défg".into(), "ghij".into()]));
        assert_eq!(text.chunk(99, 0), Ok(vec!["abcdéfghij".into()]));
        assert!(text.chunk(0, 0).is_err() && text.chunk(4, 3).is_err() && text.chunk(4, -1).is_err());
        assert!(Text::new("x".repeat(1_000_000)).chunk(1, 0).is_err());
    }
}
