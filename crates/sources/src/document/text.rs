//! Cuts plain text, and text without a known syntax, by paragraphs.

use super::Document;
use super::blocks::{Place, Sections, pieces};

/// Paragraphs are joined up to this many bytes.
pub(super) const TEXT_BYTES: usize = 1_500;

/// Cuts a text at blank lines; `language` is the language given by the caller.
pub fn cut(text: &str, language: Option<&str>) -> Document {
    let mut sections = Sections::new(text);
    for (at, piece) in pieces(text, 0..text.len(), TEXT_BYTES).into_iter().enumerate() {
        let path = [(at + 1).to_string()];
        sections.add(Place { path: &path, heading: &[], from: None }, &[piece], |_| None);
    }
    sections.into_document(None, language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paragraphs_are_joined_up_to_the_size() {
        let paragraph = "word ".repeat(100);
        let text = format!("{paragraph}\n\n{paragraph}\n\n{paragraph}\n\n{paragraph}\n");
        let document = cut(&text, Some("text"));
        let places: Vec<_> = document.sections.iter().map(|s| (s.key.as_str(), s.line, s.end_line)).collect();
        assert_eq!(places, [("1", 1, 3), ("2", 5, 7)]);
    }

    proptest! {
        #[test]
        fn any_text_is_cut(text in any::<String>()) {
            let document = cut(&text, None);
            prop_assert_eq!(document.sections.is_empty(), text.trim().is_empty());
        }
    }
}
