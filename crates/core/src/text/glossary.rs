//! Gives the English words for those of a German question: histories of code are mostly English.

use std::sync::LazyLock;

/// Fewest letters by which a word goes on after its beginning in the glossary, to be a compound: `Dateiname`.
const LONGEST_ENDING: usize = 6;
/// Fewest words of a question that must be German.
const GERMAN_WORDS: usize = 1;

static GLOSSARY: LazyLock<Vec<(&str, Vec<&str>)>> = LazyLock::new(|| {
    let lines = include_str!("glossary.txt").lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(" = "))
        .map(|(german, english)| (german, english.split_whitespace().collect()))
        .collect()
});

/// Words that only German has, by which a question is known to be German.
const SIGNS: [&str; 34] = [
    "wir", "ich", "wie", "wann", "wer", "wo", "welche", "welcher", "welches", "welchem", "welchen", "haben", "hat", "ist",
    "sind", "und", "der", "das", "nicht", "für", "mit", "von", "zur", "zum", "warum", "wieso", "woher", "womit", "wurde",
    "wurden", "eine", "einen", "über", "beim",
];

/// Returns the English words for a German word; nothing for a word that the glossary does not have.
pub fn english_of(word: &str) -> &'static [&'static str] {
    let word = word.to_lowercase();
    let fits = |german: &str| word.strip_prefix(german).is_some_and(|rest| rest.chars().count() <= LONGEST_ENDING);
    let best = GLOSSARY.iter().filter(|(german, _)| fits(german)).max_by_key(|(german, _)| german.len());
    best.map_or(&[], |(_, english)| english.as_slice())
}

/// Returns whether a question is German.
pub fn is_german(question: &str) -> bool {
    let words = question.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| SIGNS.contains(&word.to_lowercase().as_str())).count() >= GERMAN_WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_and_endings_are_of_their_first_word() {
        assert_eq!(english_of("Dateien"), ["file"]);
        assert_eq!(english_of("Datenbanken"), ["database"], "the longest beginning counts");
        assert_eq!(english_of("Testament"), ["test", "tests"]);
        assert!(english_of("gauge").is_empty());
    }
}
