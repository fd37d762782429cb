//! Detects whether letters form words, to tell an identifier or a phrase from random characters.
//!
//! * [`wordiness`]: the share of a value's letters and digits that belong to words.
//! * [`LETTER_PAIRS`]: how likely one letter follows another inside a word.

/// Cost in bits, by letter (row) and next letter (column), of one letter following another inside a word;
/// rounded, at most 9. Counted over the words in the identifiers, comments and manuals of some thousand Rust
/// and Python packages, each word weighted by the logarithm of the number of files that contain it.
const LETTER_PAIRS: [&[u8; 26]; 26] = [
    b"74447758596353959343667868",
    b"35563688378278479446489958",
    b"37573793494478279563589979",
    b"46652678289587489547578879",
    b"47435568798453757334867589",
    b"36553379299477389455499969",
    b"47782754399564479347488979",
    b"29872799399667389464598969",
    b"56455559998452359543959795",
    b"36682886485678357847387877",
    b"47762666398575568635686969",
    b"38752789298388379855579939",
    b"25872889398658439857489989",
    b"48444628496786479733668979",
    b"66457669696442549345455789",
    b"38773885498389349354598969",
    b"68767888898577877657887087",
    b"38552769396656379544578959",
    b"59472784396667548842487969",
    b"38672794299678479345598959",
    b"54464669599443649333999898",
    b"38781788399878489877899889",
    b"27763874399684379446897999",
    b"45353586399868629753688579",
    b"46664768497443429534775876",
    b"37671788398778588869697965",
];

/// Maximum average bits per pair of letters in a word of eight letters or more, and in a shorter one. At
/// these limits a run of random small letters passes for a word in one case of ten (eight letters) to forty
/// (sixteen letters), and a true word is rejected in one case of a hundred.
const LONG_WORD: u32 = 50;
const SHORT_WORD: u32 = 55;

/// Names of methods that contain digits but count as words.
const METHODS: &[&str] =
    &["sha1", "sha256", "sha384", "sha512", "md5", "x509", "base64", "utf8", "utf16", "aes128", "aes256", "pbkdf2", "ed25519"];

/// Returns the share of a value's ASCII letters and digits that belong to words: near 1 for an identifier, a
/// path or a phrase, below 0.5 for nearly all random text.
pub(super) fn wordiness(value: &str) -> f32 {
    let bytes = value.as_bytes();
    let (mut total, mut in_words) = (0usize, 0usize);
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let mut end = at;
        while end < bytes.len() && bytes[end].is_ascii_alphanumeric() {
            end += 1;
        }
        let run = &bytes[at..end];
        total += run.len();
        let is_method = METHODS.iter().any(|method| run.eq_ignore_ascii_case(method.as_bytes()));
        in_words += if is_method { run.len() } else { letters_in_words(run) };
        at = end;
    }
    if total == 0 { 0.0 } else { in_words as f32 / total as f32 }
}

/// Returns how many letters of a run of letters and digits belong to words. The run is divided where a small
/// letter meets a capital, where capitals meet a capitalised word, and at digits.
fn letters_in_words(run: &[u8]) -> usize {
    let mut found = 0;
    let mut start = 0;
    for at in 1..=run.len() {
        let is_break = at == run.len() || {
            let (before, here) = (run[at - 1], run[at]);
            let after = run.get(at + 1).copied().unwrap_or(0);
            before.is_ascii_digit() != here.is_ascii_digit()
                || (before.is_ascii_lowercase() && here.is_ascii_uppercase())
                || (before.is_ascii_uppercase() && here.is_ascii_uppercase() && after.is_ascii_lowercase())
        };
        if is_break {
            let piece = &run[start..at];
            if is_word(piece) {
                found += piece.len();
            }
            start = at;
        }
    }
    found
}

/// Returns whether letters form a word. Fewer than three letters never do.
fn is_word(letters: &[u8]) -> bool {
    if letters.len() < 3 || !letters.iter().all(u8::is_ascii_alphabetic) {
        return false;
    }
    let index = |letter: u8| usize::from(letter.to_ascii_lowercase() - b'a');
    let bits: u32 = letters.windows(2).map(|pair| u32::from(LETTER_PAIRS[index(pair[0])][index(pair[1])] - b'0')).sum();
    let most = if letters.len() < 8 { SHORT_WORD } else { LONG_WORD };
    bits * 10 <= most * (letters.len() as u32 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_phrases_are_words_and_random_text_is_not() {
        for words in [
            "hashedPassword",
            "self.config.database",
            "correct-horse-battery-staple",
            "Option<String>",
            "SHA256",
            "process.env.DATABASE_URL",
            "getUserCredentials()",
            "HTTPServer",
        ] {
            assert!(wordiness(words) >= 0.6, "{words}: {}", wordiness(words));
        }
        for random in ["kXqTvZbRwPnLdGhJ", "qzkvxwjpfhtgbnrd", "W>G:yMh%2k&pQz!x", "x8k2v9qz7m4n", "Tr0ub4dor&3x"] {
            assert!(wordiness(random) < 0.6, "{random}: {}", wordiness(random));
        }
        assert_eq!(wordiness("!!??"), 0.0);
    }
}
