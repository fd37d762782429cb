//! Normalises words with characters beyond ASCII, and keeps the byte range of every token.

use std::ops::ControlFlow;

use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::vocabulary::{Class, MAX_WORD_LETTERS, Piece, WordPiece, class};

/// Passes on the tokens from `from` to the next place where plain ASCII may continue; returns that place.
pub(super) fn for_each_token<B>(
    wordpiece: &WordPiece,
    text: &str,
    from: usize,
    visit: &mut impl FnMut(Piece) -> ControlFlow<B>,
) -> ControlFlow<B, usize> {
    let mut reader = Reader {
        wordpiece,
        visit,
        flow: ControlFlow::Continue(()),
        letters: [0; 4 * MAX_WORD_LETTERS],
        used: 0,
        spans: [Span::default(); MAX_WORD_LETTERS],
        count: 0,
        whole: Span::default(),
    };
    for (offset, letter) in text[from..].char_indices() {
        let span = Span { start: from + offset, end: from + offset + letter.len_utf8(), used: 0 };
        if letter.is_ascii() {
            match class(letter as u8) {
                Class::Space | Class::Punctuation => {
                    reader.show();
                    reader.flow?;
                    return ControlFlow::Continue(span.start);
                }
                Class::Control => reader.swallow(span.end),
                Class::Letter | Class::Beyond => reader.push(letter.to_ascii_lowercase(), span),
            }
        } else if is_chinese(letter) {
            reader.show();
            decompose_canonical(letter, |part| reader.push(part, span));
            reader.show();
        } else if letter.is_whitespace() && letter != '\u{85}' {
            reader.show();
            reader.flow?;
            return ControlFlow::Continue(span.end);
        } else if is_dropped(letter) {
            reader.swallow(span.end);
        } else {
            decompose_canonical(letter, |part| reader.part(part, span));
        }
        if reader.flow.is_break() {
            break;
        }
    }
    reader.show();
    reader.flow?;
    ControlFlow::Continue(text.len())
}

/// The byte range of the text that a letter of a word stands for.
#[derive(Clone, Copy, Default)]
struct Span {
    start: usize,
    end: usize,
    /// Length of the word up to the end of the letter, in bytes.
    used: usize,
}

struct Reader<'a, B, V> {
    wordpiece: &'a WordPiece,
    visit: &'a mut V,
    flow: ControlFlow<B>,
    /// The current word, normalised, up to the longest length of a word.
    letters: [u8; 4 * MAX_WORD_LETTERS],
    used: usize,
    spans: [Span; MAX_WORD_LETTERS],
    /// Number of letters in the word, including those that did not fit.
    count: usize,
    /// Byte range of the text that the whole word stands for.
    whole: Span,
}

impl<B, V: FnMut(Piece) -> ControlFlow<B>> Reader<'_, B, V> {
    /// Adds a character of the canonical decomposition. Accents are dropped. The reference sorts the other
    /// marks; that is not needed here: no piece has any, so they make the word unknown.
    fn part(&mut self, part: char, span: Span) {
        if !part.is_ascii() && part.general_category() == GeneralCategory::NonspacingMark {
            self.swallow(span.end);
        } else {
            for lower in part.to_lowercase() {
                self.push(lower, span);
            }
        }
    }

    /// Adds a normalised letter.
    fn push(&mut self, letter: char, span: Span) {
        if is_punctuation(letter) {
            self.show();
            self.append(letter, span);
            self.show();
        } else {
            self.append(letter, span);
        }
    }

    fn append(&mut self, letter: char, span: Span) {
        if self.count == 0 {
            self.whole.start = span.start;
        }
        self.whole.end = span.end;
        if self.count < MAX_WORD_LETTERS {
            letter.encode_utf8(&mut self.letters[self.used..]);
            self.used += letter.len_utf8();
            self.spans[self.count] = Span { used: self.used, ..span };
        }
        self.count += 1;
    }

    /// Adds a character that gives no letter to the range of the letter before it.
    fn swallow(&mut self, end: usize) {
        if self.count > 0 {
            self.whole.end = end;
            if let Some(span) = self.spans.get_mut(self.count - 1) {
                span.end = end;
            }
        }
    }

    /// Passes on the tokens of the word, if there is one, and begins a new word.
    fn show(&mut self) {
        let Self { wordpiece, visit, spans, count, whole, .. } = self;
        if *count > 0 && self.flow.is_continue() {
            self.flow = if let Some(spans) = spans.get(..*count) {
                let place = |from: usize, to: usize| {
                    let first = spans.partition_point(|span| span.used <= from);
                    let last = spans.partition_point(|span| span.used < to);
                    (spans[first].start, spans[last].end)
                };
                wordpiece.split_word(&self.letters[..self.used], place, visit)
            } else {
                visit(Piece { id: WordPiece::UNKNOWN, start: whole.start, end: whole.end, begins_word: true })
            };
        }
        self.count = 0;
        self.used = 0;
    }
}

/// Returns whether a letter is in the reference's list: the blocks of Chinese characters of its time.
fn is_chinese(letter: char) -> bool {
    matches!(u32::from(letter),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

/// Returns whether a character is dropped: control and format characters, private use, and the replacement
/// for undecodable bytes.
fn is_dropped(letter: char) -> bool {
    match letter {
        '\u{80}'..='\u{9F}' | '\u{AD}' | '\u{FFFD}' => true,
        '\u{A0}'..='\u{2FF}' => false,
        _ => {
            matches!(letter.general_category(), GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse)
        }
    }
}

fn is_punctuation(letter: char) -> bool {
    if letter.is_ascii() {
        letter.is_ascii_punctuation()
    } else {
        letter.general_category_group() == GeneralCategoryGroup::Punctuation
    }
}
