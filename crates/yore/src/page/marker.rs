//! Marks words in recorded text: those of a question, or words to find.

use maud::{Markup, PreEscaped, html};

/// Shortest term that also marks longer words that begin with it.
const LEAST_STEM: usize = 3;

/// The words to mark.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Marker {
    /// None.
    #[default]
    Nothing,
    /// Words that are these terms, or begin with one of them; terms are in lower case.
    Words(Vec<String>),
    /// This text, in lower case.
    Text(String),
}

impl Marker {
    /// Marks the terms of a search.
    pub fn of_terms<'t>(terms: impl IntoIterator<Item = &'t str>) -> Self {
        Self::Words(terms.into_iter().map(str::to_lowercase).filter(|term| !term.is_empty()).collect())
    }

    /// Marks a text.
    pub fn of_text(text: Option<&str>) -> Self {
        let text = text.map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty());
        text.map_or(Self::Nothing, Self::Text)
    }

    /// Returns a text as markup, with what is to be marked in `mark`.
    pub fn mark(&self, text: &str) -> Markup {
        let ranges = match self {
            Self::Nothing => Vec::new(),
            Self::Words(terms) => words(text, terms),
            Self::Text(wanted) => places(text, wanted),
        };
        let mut done = 0;
        let mut markup = String::new();
        for (start, end) in ranges {
            markup.push_str(&html! { (text[done..start]) mark { (text[start..end]) } }.0);
            done = end;
        }
        markup.push_str(&html! { (text[done..]) }.0);
        // Every part of it went through the escaping above.
        PreEscaped(markup)
    }
}

/// Returns the places of words that are terms, or begin with one.
fn words(text: &str, terms: &[String]) -> Vec<(usize, usize)> {
    let is_wanted = |word: &str| {
        let word = word.to_lowercase();
        terms.iter().any(|term| word == *term || term.chars().count() >= LEAST_STEM && word.starts_with(term.as_str()))
    };
    let (mut found, mut start) = (Vec::new(), None);
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        match (letter.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(first)) => {
                start = None;
                if is_wanted(&text[first..at]) {
                    found.push((first, at));
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the places of a text, ignoring case.
fn places(text: &str, wanted: &str) -> Vec<(usize, usize)> {
    // The lower case of a text may be longer: each of its bytes is led back to the letter that it is from.
    let (mut lower, mut starts) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, letter) in text.char_indices() {
        lower.extend(letter.to_lowercase());
        starts.resize(lower.len(), (at, at + letter.len_utf8()));
    }
    lower.match_indices(wanted).map(|(at, found)| (starts[at].0, starts[at + found.len() - 1].1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_begin_with_a_term_are_marked() {
        let marker = Marker::of_terms(["retent", "Go"]);
        assert_eq!(marker.mark("Retention of Google; go!").0, "<mark>Retention</mark> of Google; <mark>go</mark>!");
    }

    #[test]
    fn a_text_is_marked_whatever_its_case() {
        let marker = Marker::of_text(Some(" a b"));
        assert_eq!(marker.mark("xA Bx a b").0, "x<mark>A B</mark>x <mark>a b</mark>");
        assert_eq!(Marker::of_text(Some("straße")).mark("İ STRAßE").0, "İ <mark>STRAßE</mark>");
        assert_eq!(Marker::of_text(Some(" ")), Marker::Nothing);
    }

    #[test]
    fn marked_text_stays_text() {
        let marker = Marker::of_terms(["script"]);
        assert_eq!(marker.mark("<script>&").0, "&lt;<mark>script</mark>&gt;&amp;");
        assert_eq!(Marker::of_text(Some("<b>")).mark("a<b>").0, "a<mark>&lt;b&gt;</mark>");
    }
}
