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

/// Words that only German has, by which a question is known to be German. They say little.
const SIGNS: [&str; 72] = [
    "wir", "ich", "wie", "wann", "wer", "wo", "welche", "welcher", "welches", "welchem", "welchen", "haben", "hat", "ist",
    "sind", "und", "der", "das", "nicht", "für", "mit", "von", "zur", "zum", "warum", "wieso", "woher", "womit", "wurde",
    "wurden", "eine", "einen", "über", "beim", "ein", "einem", "einer", "eines", "auf", "bei", "nach", "noch", "nur", "auch",
    "oder", "sich", "dann", "wenn", "mehr", "kann", "kannst", "können", "muss", "müssen", "darf", "dürfen", "soll", "sollen",
    "wird", "werden", "dass", "dem", "den", "vom", "sein", "habe", "hatte", "schon", "immer", "trotzdem", "statt", "zwischen",
];
/// German words that say nothing of a subject, beside [`SIGNS`].
const FUNCTION_WORDS: &str = "ab aber alle allen alles als also am an andere anderen aus bevor bis bitte da dafür damals damit danach darum davon \
    davor dazu denn des deshalb die dies diese dieser dieses doch dort drei durch eigentlich einmal er erstmal es gab ganz \
    gegen gibt hatten hier ihm ihn ihr im jede jeder jedes jeweils kam kein keine mal man mich mir nochmal ob obwohl oft \
    ohne paar raus schluss seit sie so um uns unser viel war waren was wieder zu zwei";
/// Shortest name without a digit that is told from German words, in bytes.
const SHORTEST_NAME: usize = 5;
/// Endings that words of German have and names seldom.
const ENDINGS: [&str; 15] = ["en", "er", "es", "em", "e", "t", "st", "ung", "lich", "ig", "isch", "heit", "keit", "nis", "ß"];

/// Returns whether a word of a German question only holds it together.
pub fn is_german_function_word(word: &str) -> bool {
    let word = word.to_lowercase();
    SIGNS.contains(&word.as_str()) || FUNCTION_WORDS.split(' ').any(|known| known == word)
}

/// Returns whether a word of a German question may be German: it has its letters or endings, holds the question together, or stands in
/// the glossary. Other words are names.
pub fn may_be_german(word: &str) -> bool {
    let lower = word.to_lowercase();
    lower.len() < SHORTEST_NAME && !lower.contains(|letter: char| letter.is_ascii_digit())
        || lower.contains(['ä', 'ö', 'ü'])
        || ENDINGS.iter().any(|ending| lower.ends_with(ending))
        || is_german_function_word(&lower)
        || !english_of(&lower).is_empty()
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
    let words = question.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !is_german_function_word(word));
    words.map(|word| (word, english_of(word))).filter(|(_, english)| !english.is_empty()).collect()
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
