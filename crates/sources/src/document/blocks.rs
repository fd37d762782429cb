//! Cuts long texts into blocks of limited length, and counts their lines.

use std::ops::Range;

use super::keys::Keys;
use super::{Document, Section};

/// The key of text before the first named section.
pub(super) const TOP: &str = "(top)";

/// Collects the sections of a text.
pub(super) struct Sections<'t> {
    text: &'t str,
    /// Byte offset of each line.
    lines: Vec<usize>,
    keys: Keys,
    sections: Vec<Section>,
}

/// Location of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    /// Components of its key.
    pub path: &'p [String],
    /// Headings to show for it.
    pub heading: &'p [String],
    /// First line of the section, if that is before its text.
    pub from: Option<usize>,
}

impl<'t> Sections<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let lines = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1)).collect();
        Self { text, lines, keys: Keys::default(), sections: Vec::new() }
    }

    /// Adds the text at `place` as one section for each piece.
    pub(super) fn add(
        &mut self,
        place: Place<'_>,
        pieces: &[Range<usize>],
        mut language: impl FnMut(&Range<usize>) -> Option<String>,
    ) {
        if pieces.is_empty() {
            return;
        }
        let key = self.keys.take(place.path);
        for (at, piece) in pieces.iter().enumerate() {
            let from = place.from.filter(|_| at == 0).unwrap_or(piece.start);
            self.sections.push(Section {
                key: if at == 0 { key.clone() } else { self.keys.take_piece(&key, at + 1) },
                heading: place.heading.to_vec(),
                text: self.text[piece.clone()].to_owned(),
                line: self.line_of(from),
                end_line: self.line_of(piece.end.saturating_sub(1).max(piece.start)),
                language: language(piece),
            });
        }
    }

    /// Returns whether no section was added.
    pub(super) fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// Returns the document with all sections.
    pub(super) fn into_document(self, title: Option<String>, language: Option<&str>) -> Document {
        Document { title, language: language.map(str::to_owned), sections: self.sections }
    }

    /// Returns the 1-based line of an offset.
    fn line_of(&self, offset: usize) -> u64 {
        self.lines.partition_point(|start| *start <= offset) as u64
    }
}

/// Granularity of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grain {
    Paragraph,
    Line,
    Word,
}

/// Cuts a part of a text into pieces of at most `size` bytes: at blank lines where that is
/// possible, else at ends of lines, else between words or characters. A piece has no blank line at
/// either end and is never blank.
pub(super) fn pieces(text: &str, range: Range<usize>, size: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    cut(text, range, size.max(4), Grain::Paragraph, &mut found);
    found
}

/// The same, but cuts between the given parts first, which follow each other.
pub(super) fn pieces_of(text: &str, parts: &[Range<usize>], size: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let parts = parts.iter().filter_map(|part| without_blank_ends(text, part.clone()));
    pack(parts, size.max(4), &mut found, |part, found| cut(text, part, size.max(4), Grain::Paragraph, found));
    found
}

fn cut(text: &str, range: Range<usize>, size: usize, grain: Grain, found: &mut Vec<Range<usize>>) {
    let Some(range) = without_blank_ends(text, range) else { return };
    if range.len() <= size {
        found.push(range);
        return;
    }
    match grain {
        Grain::Paragraph => {
            pack(paragraphs(text, range).into_iter(), size, found, |part, found| cut(text, part, size, Grain::Line, found));
        }
        Grain::Line => {
            pack(lines(text, range), size, found, |part, found| cut(text, part, size, Grain::Word, found));
        }
        Grain::Word => {
            let mut start = range.start;
            while range.end - start > size {
                let limit = text.floor_char_boundary(start + size);
                // `size` is at least the length of a character.
                let half = text.floor_char_boundary(start + size / 2);
                let end = text[half..limit].rfind(char::is_whitespace).map_or(limit, |at| half + at);
                let end = if end > start { end } else { limit };
                found.extend(without_blank_ends(text, start..end));
                start = end;
            }
            found.extend(without_blank_ends(text, start..range.end));
        }
    }
}

/// Joins neighbouring parts up to `size`; `finer` cuts those that are longer by themselves.
fn pack(
    parts: impl Iterator<Item = Range<usize>>,
    size: usize,
    found: &mut Vec<Range<usize>>,
    mut finer: impl FnMut(Range<usize>, &mut Vec<Range<usize>>),
) {
    let mut open: Option<Range<usize>> = None;
    for part in parts {
        if let Some(piece) = &mut open
            && part.end - piece.start <= size
        {
            piece.end = part.end;
            continue;
        }
        found.extend(open.take());
        if part.len() > size {
            finer(part, found);
        } else {
            open = Some(part);
        }
    }
    found.extend(open);
}

/// Returns the lines that are not blank.
fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = range.start;
    text[range].split_inclusive('\n').filter_map(move |line| {
        let line_start = start;
        start += line.len();
        (!line.trim().is_empty()).then(|| line_start..line_start + line.trim_end().len())
    })
}

/// Returns the runs of lines without a blank line between them.
fn paragraphs(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for line in lines(text, range) {
        match found.last_mut() {
            Some(last) if memchr::memchr_iter(b'\n', &text.as_bytes()[last.end..line.start]).count() == 1 => last.end = line.end,
            _ => found.push(line),
        }
    }
    found
}

/// Returns the range without leading blank lines and trailing white space; the indentation of its first line
/// stays.
pub(super) fn without_blank_ends(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = &text[range.clone()];
    let words = part.trim();
    if words.is_empty() {
        return None;
    }
    let lead = part.len() - part.trim_start().len();
    let start = part[..lead].rfind('\n').map_or(0, |at| at + 1);
    Some(range.start + start..range.start + lead + words.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cuts_at_blank_lines_then_lines_then_words() {
        let cut = |text: &'static str, size| {
            pieces(text, 0..text.len(), size).into_iter().map(|piece| &text[piece]).collect::<Vec<_>>()
        };
        assert_eq!(cut("one\n\ntwo\n\n  three\n", 9), ["one\n\ntwo", "  three"]);
        assert_eq!(cut("first line\nsecond line\n", 12), ["first line", "second line"]);
        assert_eq!(cut("several words on a line", 12), ["several", " words on a", " line"].map(str::trim_end));
        assert_eq!(cut(" \n\n ", 9), Vec::<&str>::new());
    }

    proptest! {
        #[test]
        fn pieces_keep_every_word_in_order(text in "([a-zä—🎉]{0,9}[ \n\t]{0,3}){0,40}", size in 1usize..60) {
            let found = pieces(&text, 0..text.len(), size);
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let together: String = found.iter().map(|piece| &text[piece.clone()]).collect();
            prop_assert_eq!(letters(&together), letters(&text));
            prop_assert!(found.iter().all(|piece| piece.len() <= size.max(4) && !text[piece.clone()].trim().is_empty()));
        }
    }
}
