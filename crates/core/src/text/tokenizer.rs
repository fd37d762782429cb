//! The tokenizer of the full-text index: identifiers whole and split, English stems, bigrams for scripts without spaces. One pass
//! over the text, no allocation per token.
//!
//! | text | tokens (position) |
//! | --- | --- |
//! | `The servers` | the(0) server(1) |
//! | `parseUserInput` | parseuserinput(0), parts pars user input at 0 |
//! | `snake_case_name` | snake_case_name(0), parts snake case name at 0 |
//! | `src/db.rs` | src(0) db(1) rs(2) |
//! | `naïve` | naiv(0) |
//! | `会话历史` | 会话(0) 话历(1) 历史(2) |
//! | `ฐานข้อมูล` | ฐา(0) าน(1) นข้(2) ข้อ(3) อมู(4) มูล(5) |
//!
//! ASCII words are stemmed (Porter 2, English), identifiers are kept whole and split, other
//! scripts are lower-cased and stripped of marks, runs of scripts without spaces become bigrams. Parts share the
//! position of their whole, so a quoted phrase matches whole tokens only.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Version of the tokens, raised whenever the tokens of any text change: the lexical index is then rebuilt.
pub const TOKENIZER_VERSION: u32 = 2;

/// Longest token, in bytes. Longer atoms are payloads, not words; they are cut, so that equal beginnings
/// still match.
const MAX_TOKEN_BYTES: usize = 64;
/// Most words in the stemmer's cache.
const STEM_CACHE_WORDS: usize = 1 << 16;

/// The relation of a token to its atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// The atom itself: a word, an identifier, a bigram.
    Whole,
    /// A word inside an identifier.
    Part,
}

/// One token, borrowed from [`Tokens`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// The normalised word.
    pub text: &'a str,
    /// Byte range of the atom in the original text.
    pub start: usize,
    /// End of that range, exclusive.
    pub end: usize,
    /// Ordinal of the atom.
    pub position: usize,
    /// The relation to the atom: whole or part.
    pub kind: TokenKind,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    text: (u32, u32),
    start: u32,
    end: u32,
    position: u32,
    kind: TokenKind,
}

/// The tokens of one text, in one buffer that is reused from text to text.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    letters: String,
    spans: Vec<Span>,
}

impl Tokens {
    /// Returns the tokens in text order; parts follow their whole.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Token<'_>> + '_ {
        (0..self.spans.len()).map(|at| self.token(at))
    }

    /// The token with this index.
    pub fn get(&self, at: usize) -> Option<Token<'_>> {
        (at < self.spans.len()).then(|| self.token(at))
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns whether the text had no token.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    fn token(&self, at: usize) -> Token<'_> {
        let span = self.spans[at];
        Token {
            text: &self.letters[span.text.0 as usize..span.text.1 as usize],
            start: span.start as usize,
            end: span.end as usize,
            position: span.position as usize,
            kind: span.kind,
        }
    }
}

/// Turns text into [`Tokens`]. Its cache of stems is bounded, so one tokenizer can serve many texts.
pub struct Tokenizer {
    stemmer: Stemmer,
    stems: HashMap<Box<str>, Box<str>>,
    folded: String,
}

impl Default for Tokenizer {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), stems: HashMap::new(), folded: String::new() }
    }
}

impl Clone for Tokenizer {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer").field("stems", &self.stems.len()).finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// Fills `tokens` with the tokens of `text`; a text over 4 GiB is cut there.
    pub fn tokenize(&mut self, text: &str, tokens: &mut Tokens) {
        tokens.letters.clear();
        tokens.spans.clear();
        let text = if text.len() > u32::MAX as usize { &text[..text.floor_char_boundary(u32::MAX as usize)] } else { text };
        let bytes = text.as_bytes();
        let mut position = 0u32;
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            if byte < 0x80 && !is_ascii_atom(byte) {
                at += 1;
                continue;
            }
            let mut end = at;
            let mut ascii = true;
            while end < bytes.len() {
                if bytes[end] < 0x80 {
                    if !is_ascii_atom(bytes[end]) {
                        break;
                    }
                    end += 1;
                } else {
                    let Some(letter) = text[end..].chars().next() else { break };
                    if is_unspaced(letter) || !(letter.is_alphanumeric() || is_combining_mark(letter)) {
                        break;
                    }
                    ascii = false;
                    end += letter.len_utf8();
                }
            }
            if end > at {
                let written = if ascii {
                    self.ascii_atom(text, at, end, position, tokens)
                } else {
                    self.folded_atom(text, at, end, position, tokens)
                };
                position += u32::from(written);
                at = end;
                continue;
            }
            // No atom starts here: a CJK run, or a letter that belongs to no word.
            let Some(letter) = text[at..].chars().next() else { break };
            if is_unspaced(letter) {
                (at, position) = unspaced_run(text, at, position, tokens);
            } else {
                at += letter.len_utf8();
            }
        }
    }

    /// Adds an atom of ASCII letters, digits and underscores. Returns whether a token was written.
    fn ascii_atom(&mut self, text: &str, start: usize, end: usize, position: u32, tokens: &mut Tokens) -> bool {
        let atom = &text[start..end.min(start + MAX_TOKEN_BYTES)];
        let trimmed = atom.trim_matches('_');
        if trimmed.is_empty() {
            return false;
        }
        let place = (start as u32, end as u32, position);
        let bounds = word_bounds(trimmed);
        if bounds.len() <= 1 {
            let only_letters = trimmed.bytes().all(|byte| byte.is_ascii_alphabetic());
            self.push_ascii(trimmed, only_letters, place, TokenKind::Whole, tokens);
            return true;
        }
        self.push_ascii(trimmed, false, place, TokenKind::Whole, tokens);
        for (from, to) in bounds {
            let word = &trimmed[from..to];
            if word.len() > 1 {
                self.push_ascii(word, word.bytes().all(|byte| byte.is_ascii_alphabetic()), place, TokenKind::Part, tokens);
            }
        }
        true
    }

    /// Adds an atom with letters beyond ASCII, with compatibility forms and marks folded away.
    fn folded_atom(&mut self, text: &str, start: usize, end: usize, position: u32, tokens: &mut Tokens) -> bool {
        let mut folded = std::mem::take(&mut self.folded);
        folded.clear();
        for letter in text[start..end].nfkd().filter(|letter| !is_combining_mark(*letter)) {
            folded.extend(letter.to_lowercase());
            if folded.len() >= MAX_TOKEN_BYTES {
                break;
            }
        }
        let word = folded.trim_matches('_');
        let written = !word.is_empty();
        if written {
            let place = (start as u32, end as u32, position);
            let stem = word.bytes().all(|byte| byte.is_ascii_alphabetic());
            if word.is_ascii() {
                self.push_ascii(word, stem, place, TokenKind::Whole, tokens);
            } else {
                push(word, place, TokenKind::Whole, tokens);
            }
        }
        self.folded = folded;
        written
    }

    fn push_ascii(&mut self, word: &str, stem: bool, place: (u32, u32, u32), kind: TokenKind, tokens: &mut Tokens) {
        let from = tokens.letters.len();
        tokens.letters.push_str(word);
        tokens.letters[from..].make_ascii_lowercase();
        if stem && word.len() > 2 {
            let lower = &tokens.letters[from..];
            if let Some(stem) = self.stems.get(lower) {
                tokens.letters.truncate(from);
                tokens.letters.push_str(stem);
            } else {
                let stem: Box<str> = self.stemmer.stem(lower).into();
                if self.stems.len() >= STEM_CACHE_WORDS {
                    self.stems.clear();
                }
                self.stems.insert(lower.into(), stem.clone());
                tokens.letters.truncate(from);
                tokens.letters.push_str(&stem);
            }
        }
        tokens.spans.push(Span {
            text: (from as u32, tokens.letters.len() as u32),
            start: place.0,
            end: place.1,
            position: place.2,
            kind,
        });
    }
}

fn push(word: &str, place: (u32, u32, u32), kind: TokenKind, tokens: &mut Tokens) {
    let from = tokens.letters.len();
    tokens.letters.push_str(word);
    tokens.spans.push(Span {
        text: (from as u32, tokens.letters.len() as u32),
        start: place.0,
        end: place.1,
        position: place.2,
        kind,
    });
}

fn is_ascii_atom(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Letters of scripts that put no spaces between words, whose words are replaced by bigrams. Digits of these scripts are
/// not among them: a number is an atom.
const UNSPACED: [std::ops::RangeInclusive<u32>; 22] = [
    // Thai, Lao.
    0x0E00..=0x0E4F,
    0x0E80..=0x0ECF,
    0x0EDC..=0x0EDF,
    // Tibetan: a dot divides its syllables, not its words.
    0x0F40..=0x0FBC,
    // Burmese, and its letters for other languages.
    0x1000..=0x103F,
    0x1050..=0x108F,
    0xA9E0..=0xA9EF,
    0xAA60..=0xAA7F,
    // Khmer.
    0x1780..=0x17D3,
    // Tai Le, New Tai Lue, Tai Tham, Tai Viet.
    0x1950..=0x197F,
    0x1980..=0x19CF,
    0x1A20..=0x1A7F,
    0xAA80..=0xAADF,
    // Balinese, Javanese.
    0x1B00..=0x1B4B,
    0xA980..=0xA9C0,
    // Japanese, Chinese, Korean.
    0x3040..=0x30FF,
    0x31F0..=0x31FF,
    0x3400..=0x4DBF,
    0x4E00..=0x9FFF,
    0xAC00..=0xD7AF,
    0xF900..=0xFAFF,
    0xFF66..=0xFF9D,
];

/// Returns whether a letter or mark belongs to a script without spaces, whose words are replaced by bigrams.
fn is_unspaced(letter: char) -> bool {
    let code = u32::from(letter);
    code >= 0x0E00 && (UNSPACED.iter().any(|range| range.contains(&code)) || (0x20000..=0x323AF).contains(&code))
}

/// Returns whether a mark belongs to the letter before it: it is written above, below or around it.
fn is_mark(letter: char) -> bool {
    // These are spacing marks by their properties, or letters, but no syllable is told from another by them alone.
    is_combining_mark(letter) || matches!(letter, '\u{0E33}' | '\u{0EB3}')
}

/// Returns the approximate number of words of a text: parts between spaces with a letter or digit, and a word
/// for every two letters of a script without spaces, with their marks.
pub fn word_count(text: &str) -> usize {
    let (mut words, mut letters, mut is_counted) = (0, 0usize, false);
    for letter in text.chars() {
        if is_unspaced(letter) {
            (letters, is_counted) = (letters + usize::from(!is_mark(letter)), false);
        } else if letter.is_whitespace() {
            is_counted = false;
        } else if letter.is_alphanumeric() && !is_counted {
            (words, is_counted) = (words + 1, true);
        }
    }
    words + letters.div_ceil(2)
}

/// Adds the bigrams of a run of letters without spaces, or the letter itself if it is alone. Marks stay with their
/// letter.
fn unspaced_run(text: &str, start: usize, mut position: u32, tokens: &mut Tokens) -> (usize, u32) {
    let run_end = text[start..]
        .char_indices()
        .find(|(offset, letter)| !(is_unspaced(*letter) || *offset > 0 && is_combining_mark(*letter)))
        .map_or(text.len(), |(offset, _)| start + offset);
    let run = &text[start..run_end];
    let mut begins = run.char_indices().filter(|(offset, letter)| *offset == 0 || !is_mark(*letter)).map(|(offset, _)| offset);
    let mut from = begins.next();
    let mut middle = begins.next();
    while let Some(first) = from {
        let next = begins.next();
        let end = if middle.is_some() { next.unwrap_or(run.len()) } else { run.len() };
        push(cut(&run[first..end]), ((start + first) as u32, (start + end) as u32, position), TokenKind::Whole, tokens);
        position += 1;
        (from, middle) = if next.is_some() { (middle, next) } else { (None, None) };
    }
    (run_end, position)
}

/// Cuts a token to the greatest length.
fn cut(word: &str) -> &str {
    &word[..word.floor_char_boundary(MAX_TOKEN_BYTES)]
}

/// Returns the byte ranges of the words of an identifier. It is split at underscores, at `aB`, at `ABc`
/// before `Bc`, and between letters and digits if that leaves words rather than the fragments of a hash.
fn word_bounds(atom: &str) -> Vec<(usize, usize)> {
    let bytes = atom.as_bytes();
    let plain = !bytes.contains(&b'_') && !bytes.iter().any(u8::is_ascii_digit) && !bytes[1..].iter().any(u8::is_ascii_uppercase);
    if plain {
        return vec![(0, bytes.len())];
    }
    let cut = |digits: bool| {
        let mut bounds = Vec::new();
        let mut from = 0;
        for at in 1..=bytes.len() {
            let here = bytes.get(at).copied();
            let before = bytes[at - 1];
            let boundary = match here {
                None | Some(b'_') => true,
                Some(_) if before == b'_' => true,
                Some(byte) if byte.is_ascii_uppercase() => {
                    before.is_ascii_lowercase()
                        || (before.is_ascii_uppercase() && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase))
                }
                Some(byte) => digits && byte.is_ascii_digit() != before.is_ascii_digit() && before != b'_',
            };
            if boundary {
                if at > from && bytes[from] != b'_' {
                    bounds.push((from, at));
                }
                from = at;
            }
        }
        bounds
    };
    let with_digits = cut(true);
    let letters = |(from, to): &(usize, usize)| bytes[*from..*to].iter().any(u8::is_ascii_alphabetic);
    let dust = with_digits.iter().filter(|bound| letters(bound) && bound.1 - bound.0 < 3).count();
    if dust > 1 || with_digits.len() > 8 { cut(false) } else { with_digits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn render(text: &str) -> String {
        let mut tokens = Tokens::default();
        Tokenizer::default().tokenize(text, &mut tokens);
        tokens
            .iter()
            .map(|token| format!("{}{}{}", token.text, if token.kind == TokenKind::Part { "'" } else { ":" }, token.position))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn words_are_counted_with_and_without_spaces() {
        for (text, expected) in [
            ("", 0),
            ("  ", 0),
            ("hi", 1),
            ("yes, go on", 3),
            ("会话历史", 2),
            ("读 README 吧", 2),
            ("好的，谢谢！", 2),
            ("- ok -", 1),
        ] {
            assert_eq!(word_count(text), expected, "{text}");
        }
    }

    #[test]
    fn words_are_stemmed_and_lower_cased() {
        assert_eq!(render("The Servers were RUNNING."), "the:0 server:1 were:2 run:3");
    }

    #[test]
    fn identifiers_are_whole_and_split() {
        assert_eq!(render("parseUserInput"), "parseuserinput:0 pars'0 user'0 input'0");
        assert_eq!(render("snake_case_names x"), "snake_case_names:0 snake'0 case'0 name'0 x:1");
        assert_eq!(render("HTTPServer"), "httpserver:0 http'0 server'0");
        assert_eq!(render("__init__"), "init:0");
        assert_eq!(render("utf8 sqlite3_open"), "utf8:0 utf'0 sqlite3_open:1 sqlite'1 open'1");
    }

    #[test]
    fn paths_and_versions_are_atoms_in_a_row() {
        assert_eq!(render("src/db.rs:42 C++"), "src:0 db:1 rs:2 42:3 c:4");
    }

    #[test]
    fn hashes_stay_whole() {
        assert_eq!(render("a3f9b27c"), "a3f9b27c:0");
    }

    #[test]
    fn other_scripts_are_folded_and_cjk_becomes_bigrams() {
        assert_eq!(render("naïve Straße ÜBER"), "naiv:0 straße:1 uber:2");
        assert_eq!(render("会话历史 の"), "会话:0 话历:1 历史:2 の:3");
        assert_eq!(render("用SQLite存储"), "用:0 sqlite:1 sq'1 lite'1 存储:2");
    }

    #[test]
    fn words_within_a_sentence_are_found_in_every_script_without_spaces() {
        for (script, sentence, word) in [
            ("Chinese", "我们把会话历史存储在这里", "会话历史"),
            ("Japanese", "データベースの問題を直しました", "問題"),
            ("Korean", "데이터베이스문제를고쳤다", "문제"),
            ("Thai", "ปัญหาของฐานข้อมูลอยู่ที่นี่", "ฐานข้อมูล"),
            ("Lao", "ບັນຫາຂອງຖານຂໍ້ມູນຢູ່ທີ່ນີ້", "ຖານຂໍ້ມູນ"),
            ("Burmese", "ဒေတာဘေ့စ်ပြဿနာကိုဖြေရှင်းပြီး", "ပြဿနာ"),
            ("Khmer", "បញ្ហាមូលដ្ឋានទិន្នន័យនៅទីនេះ", "ទិន្នន័យ"),
            ("Javanese", "ꦩꦱꦭꦃꦲꦶꦁꦧꦱꦶꦱꦢꦠ", "ꦧꦱꦶꦱ"),
            ("Tibetan", "གཞི་གྲངས་མཛོད་ཀྱི་དཀའ་ངལ", "མཛོད"),
        ] {
            let (all, wanted) = (render(sentence), render(word));
            let words = |rendered: &str| -> Vec<String> {
                rendered.split(' ').map(|token| token.split(':').next().unwrap_or_default().to_owned()).collect()
            };
            let known = words(&all);
            assert!(words(&wanted).iter().all(|token| known.contains(token)), "{script}: {wanted} in {all}");
            assert!(
                known.iter().all(|token| !token.chars().next().is_some_and(is_mark)),
                "{script}: no token begins with a mark: {all}"
            );
            assert!(word_count(sentence) > 3, "{script}");
        }
        assert_eq!(render("นี่ เวอร์ชัน ๔๒"), "นี่:0 เว:1 วอ:2 อร์:3 ร์ชั:4 ชัน:5 ๔๒:6");
    }

    proptest! {
        #[test]
        fn every_token_points_into_the_text_and_positions_never_fall(text in "\\PC{0,80}") {
            let mut tokens = Tokens::default();
            Tokenizer::default().tokenize(&text, &mut tokens);
            let mut last = 0;
            for token in tokens.iter() {
                prop_assert!(text.get(token.start..token.end).is_some_and(|words| !words.is_empty()));
                prop_assert!(!token.text.is_empty());
                prop_assert!(token.position >= last && token.position <= last + 1);
                last = token.position;
            }
        }

        #[test]
        fn case_and_surroundings_do_not_change_a_word(word in "[a-z]{3,12}") {
            let alone = render(&word);
            prop_assert_eq!(&render(&format!(" ({word}) ")), &alone);
            prop_assert_eq!(&render(&word.to_uppercase()), &alone);
        }
    }
}
