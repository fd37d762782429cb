//! Loads the word lists of the extraction rules (`words/*.txt`), one file for each language. A file has sections.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Words of one language.
#[derive(Debug)]
pub struct Words {
    /// Code of the language, such as `en`.
    pub language: &'static str,
    /// The phrases of each section by their first word.
    sections: HashMap<&'static str, HashMap<&'static str, Vec<Phrase>>>,
}

#[derive(Debug)]
struct Phrase {
    /// The phrase with a space on both sides, as in the normal form of a sentence.
    padded: String,
    /// True if a sentence must begin with it.
    is_first: bool,
}

static LANGUAGES: LazyLock<[Words; 2]> =
    LazyLock::new(|| [Words::read("en", include_str!("words/en.txt")), Words::read("de", include_str!("words/de.txt"))]);

impl Words {
    fn read(language: &'static str, text: &'static str) -> Self {
        let mut sections: HashMap<&'static str, HashMap<&'static str, Vec<Phrase>>> = HashMap::new();
        let mut section = "";
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name;
                continue;
            }
            let phrase = line.strip_prefix('^').unwrap_or(line);
            let first = phrase.split(' ').next().unwrap_or_default();
            let phrase = Phrase { padded: format!(" {phrase} "), is_first: line.starts_with('^') };
            sections.entry(section).or_default().entry(first).or_default().push(phrase);
        }
        Self { language, sections }
    }

    /// Returns the words of the language that a text is written in; English if no language has more of its common words
    /// there.
    pub fn of(text: &str) -> &'static Self {
        let normal = normal(text);
        let is_common = |words: &Self, word: &str| words.phrases("common").is_some_and(|phrases| phrases.contains_key(word));
        let common = |words: &Self| normal.split_whitespace().filter(|word| is_common(words, word)).count();
        let counts: Vec<usize> = LANGUAGES.iter().map(common).collect();
        let best = (1..counts.len()).fold(0, |best, at| if counts[at] > counts[best] { at } else { best });
        &LANGUAGES[best]
    }

    /// Returns whether words in normal form are a phrase of a section in any language.
    pub fn any(section: &str, normal: &str) -> bool {
        LANGUAGES.iter().any(|words| words.is(section, normal))
    }

    /// Returns whether a sentence in normal form holds a phrase of a section in any language.
    pub fn any_has(section: &str, normal: &str) -> bool {
        LANGUAGES.iter().any(|words| words.has(section, normal))
    }

    fn phrases(&self, section: &str) -> Option<&HashMap<&'static str, Vec<Phrase>>> {
        self.sections.get(section)
    }

    /// Returns whether a sentence in normal form holds a phrase of a section.
    pub fn has(&self, section: &str, normal: &str) -> bool {
        self.found(section, normal).is_some()
    }

    /// Returns the offset behind the first phrase of a section that a sentence in normal form holds.
    pub fn found(&self, section: &str, normal: &str) -> Option<usize> {
        let phrases = self.phrases(section)?;
        // Each space but the last stands before a word.
        normal.match_indices(' ').find_map(|(at, _)| {
            let rest = &normal[at..];
            let word = rest[1..].split(' ').next().filter(|word| !word.is_empty())?;
            let fits = |phrase: &&Phrase| (!phrase.is_first || at == 0) && rest.starts_with(&phrase.padded);
            let phrase = phrases.get(word)?.iter().find(fits)?;
            Some(at + phrase.padded.len() - 1)
        })
    }

    /// Returns the offset behind the phrase of a section with which words in normal form begin.
    pub fn begins(&self, section: &str, normal: &str) -> Option<usize> {
        let first = normal.split_whitespace().next()?;
        let fits = |phrase: &&Phrase| normal.starts_with(&phrase.padded);
        self.phrases(section)?.get(first)?.iter().find(fits).map(|phrase| phrase.padded.len() - 1)
    }

    /// Returns whether these words are exactly a phrase of a section.
    pub fn is(&self, section: &str, normal: &str) -> bool {
        let first = normal.split_whitespace().next().unwrap_or_default();
        let phrases = self.phrases(section).and_then(|phrases| phrases.get(first));
        phrases.is_some_and(|phrases| phrases.iter().any(|phrase| phrase.padded == normal))
    }
}

/// Returns the normal form of a text: words in lower case with one space before, between and after them. Signs within
/// words stay.
///
/// Words are separated by white space and by signs that never belong to one.
pub fn normal(text: &str) -> String {
    let mut normal = String::with_capacity(text.len() + 2);
    normal.push(' ');
    for word in text.split(|letter: char| letter.is_whitespace() || matches!(letter, ',' | ';' | '(' | ')' | '"' | '“' | '”'))
    {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        if word.is_empty() {
            continue;
        }
        normal.extend(word.chars().flat_map(char::to_lowercase).map(|letter| if letter == '’' { '\'' } else { letter }));
        normal.push(' ');
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_the_sections_of_the_first() {
        let names = |words: &Words| {
            let mut names: Vec<&str> = words.sections.keys().copied().collect();
            names.sort_unstable();
            names
        };
        for words in &LANGUAGES[1..] {
            assert_eq!(names(words), names(&LANGUAGES[0]), "{}", words.language);
        }
    }

    #[test]
    fn phrases_are_found_as_whole_words_in_any_case() {
        let words = Words::of("we use it");
        assert!(words.has("standing", &normal("Please ALWAYS run the linter.")));
        assert!(!words.has("standing", &normal("the alwayson cluster")));
        assert!(words.has("order", &normal("Don’t use tabs")) && !words.has("order", &normal("they don't use tabs")));
        assert_eq!(Words::of("Bitte verwende immer die neue Tabelle, das ist nicht verhandelbar.").language, "de");
        assert_eq!(Words::of("").language, "en");
    }
}
