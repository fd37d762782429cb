//! Gives the English words for those of a German question: histories of code are mostly English.

use std::sync::LazyLock;

use super::is_stop_word;

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

/// Words that only German has, by which a question is known to be German. They say little.
const SIGNS: [&str; 72] = [
    "wir", "ich", "wie", "wann", "wer", "wo", "welche", "welcher", "welches", "welchem", "welchen", "haben", "hat", "ist",
    "sind", "und", "der", "das", "nicht", "für", "mit", "von", "zur", "zum", "warum", "wieso", "woher", "womit", "wurde",
    "wurden", "eine", "einen", "über", "beim", "ein", "einem", "einer", "eines", "auf", "bei", "nach", "noch", "nur", "auch",
    "oder", "sich", "dann", "wenn", "mehr", "kann", "kannst", "können", "muss", "müssen", "darf", "dürfen", "soll", "sollen",
    "wird", "werden", "dass", "dem", "den", "vom", "sein", "habe", "hatte", "schon", "immer", "trotzdem", "statt", "zwischen",
];
/// Words of German that say as little, and that other languages have, too.
const FILLERS: [&str; 36] = [
    "die", "man", "was", "war", "es", "er", "sie", "mir", "mich", "uns", "ihm", "ihn", "im", "in", "an", "am", "zu", "bis",
    "aus", "um", "so", "da", "als", "alle", "allen", "andere", "anderen", "durch", "seit", "ohne", "aber", "kommt", "kommen",
    "geht", "gehen", "oft",
];

/// Returns whether a word of a German question says little.
pub fn is_german_filler(word: &str) -> bool {
    let word = word.to_lowercase();
    SIGNS.contains(&word.as_str()) || FILLERS.contains(&word.as_str())
}

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

/// Returns the words of a German question that the glossary has, each with the English words for it; nothing for another question.
///
/// ```
/// use yore_core::text::in_english;
/// let found: Vec<&str> = in_english("in welcher Datei steckt die Erkennung").into_iter().map(|(word, _)| word).collect();
/// assert_eq!(found, ["Datei", "Erkennung"]);
/// assert!(in_english("which file has the detection").is_empty());
/// ```
pub fn in_english(question: &str) -> Vec<(&str, &'static [&'static str])> {
    if !is_german(question) {
        return Vec::new();
    }
    let words = question.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| !is_stop_word(&word.to_lowercase())).map(|word| (word, english_of(word)));
    words.filter(|(_, english)| !english.is_empty()).collect()
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
