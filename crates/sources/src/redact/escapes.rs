//! Decodes escaped characters (`\\u005f`) in a text, so that secrets are found in it.
//!
//! JSON in a JSON string, and the output of some serialisers, hold letters of a secret as escapes. A reader
//! that parses the string puts the plain secret into a turn. So the finder scans the decoded text too, and
//! each match is redacted in the original text, including the escapes.

use memchr::memmem;

use super::finder::Span;

/// A text with its escapes decoded, and the origin of each part of it.
pub(super) struct Decoded {
    text: String,
    /// Start of each part in `text` and in the original.
    parts: Vec<(usize, usize)>,
}

impl Decoded {
    /// Decodes escapes of printable ASCII and of the arrow after line numbers, preceded by any number of
    /// backslashes. Returns `None` if there is none.
    pub(super) fn of(original: &str) -> Option<Decoded> {
        let bytes = original.as_bytes();
        let mut decoded = Decoded { text: String::new(), parts: vec![(0, 0)] };
        let mut done = 0;
        for at in memmem::find_iter(bytes, b"\\u") {
            let Some(sign) = bytes.get(at + 2..at + 6).and_then(sign) else { continue };
            let mut start = at;
            while start > done && bytes[start - 1] == b'\\' {
                start -= 1;
            }
            if decoded.parts.len() == 1 {
                decoded.text.reserve(original.len());
            }
            decoded.text.push_str(&original[done..start]);
            decoded.parts.push((decoded.text.len(), start));
            decoded.text.push(sign);
            done = at + 6;
            decoded.parts.push((decoded.text.len(), done));
        }
        if decoded.parts.len() == 1 {
            return None;
        }
        decoded.text.push_str(&original[done..]);
        Some(decoded)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the same span in the original.
    pub(super) fn original(&self, span: Span) -> Span {
        Span { start: self.place(span.start), end: self.place(span.end), ..span }
    }

    fn place(&self, at: usize) -> usize {
        let part = self.parts.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        let (start, original) = self.parts[part];
        original + (at - start)
    }
}

/// Decodes four hexadecimal digits to the character, if it may be part of a secret.
fn sign(digits: &[u8]) -> Option<char> {
    let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    char::from_u32(code).filter(|c| matches!(c, ' '..='~' | '\u{2192}'))
}
