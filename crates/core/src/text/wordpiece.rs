//! The tokens of the embedding models: WordPiece over the vocabulary of BERT uncased.
//!
//! - [`WordPiece`]: the vocabulary, a table inside the binary that is used as it lies there
//! - [`Piece`]: one token and the bytes that it stands for
//! - `unicode`: whatever is not plain ASCII
//!
//! The tokens are those of the reference (`BertNormalizer`, `BertPreTokenizer` and `WordPiece` of
//! the `tokenizers` crate): control characters dropped, accents stripped, lower case, split at
//! whitespace, around punctuation and Chinese characters, then the longest known piece first.
//!
//! There are two deliberate differences:
//!
//! - **A text cannot speak for the model.** The reference turns `[SEP]`, written in a text, into
//!   the separator. Here it is a bracket, a word and a bracket.
//! - Characters are classed by today's Unicode; the reference's tables are of 2015. They differ on
//!   a few hundred characters of rare scripts, none of them in the vocabulary: a newer accent is
//!   stripped and newer punctuation stands alone, where the reference knows nothing of the word.

#[cfg(test)]
mod reference;
mod unicode;

use std::fmt;
use std::ops::ControlFlow;

/// Raised whenever the tokens of any text change.
pub const WORDPIECE_VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"yoreWP01";
const HEADER: usize = 16;
const EMPTY: u16 = u16::MAX;
/// Bytes of the longest piece; longer beginnings of a word are not looked up.
const MAX_PIECE_BYTES: usize = 18;
/// A word of more letters is one unknown token.
const MAX_WORD_LETTERS: usize = 100;

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
/// The hash's state after `##`, which begins every piece that continues a word.
const FNV_CONTINUED: u64 = fnv(fnv(FNV_OFFSET, b'#'), b'#');

const BYTES: &[u8] = include_bytes!("../../assets/wordpiece.bin");
static BERT: WordPiece = match WordPiece::parse(BYTES) {
    Some(wordpiece) => wordpiece,
    None => panic!("assets/wordpiece.bin is damaged"),
};

/// One token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its row in the vocabulary.
    pub id: u32,
    /// Where its bytes begin in the text. Starts and ends never fall from token to token, but
    /// tokens may share a letter: a Hangul syllable can be three.
    pub start: usize,
    /// Where they end, exclusive. Both are boundaries of characters. A letter's stripped accents
    /// and the control characters after it are part of it.
    pub end: usize,
    /// Whether a word, in the reference's sense, begins here: tokens of what follows do not
    /// depend on what is before.
    pub begins_word: bool,
}

/// A vocabulary and the tokenizer over it.
pub struct WordPiece {
    slots: &'static [u8],
    offsets: &'static [u8],
    pieces: &'static [u8],
}

impl WordPiece {
    /// Pads the shorter texts of a batch.
    pub const PADDING: u32 = 0;
    /// Stands for a word that the vocabulary cannot spell.
    pub const UNKNOWN: u32 = 100;
    /// Begins a model's input.
    pub const CLASSIFY: u32 = 101;
    /// Ends each text of a model's input.
    pub const SEPARATE: u32 = 102;

    /// The one of BERT uncased, 30,522 pieces. Costs nothing: it was checked by the compiler.
    pub fn bert() -> &'static Self {
        &BERT
    }

    /// The bytes that the vocabulary is read from, for fingerprints.
    pub const fn asset() -> &'static [u8] {
        BYTES
    }

    /// Appends the tokens of `text` to `out`, at most `limit`, without the model's own tokens
    /// around them.
    pub fn encode(&self, text: &str, limit: usize, out: &mut Vec<u32>) {
        let mut left = limit;
        if left == 0 {
            return;
        }
        let _ = self.for_each_token(text, |piece| {
            out.push(piece.id);
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }

    /// Shows every token of `text` in its order to `visit`, until that breaks.
    pub fn for_each_token<B>(&self, text: &str, mut visit: impl FnMut(Piece) -> ControlFlow<B>) -> ControlFlow<B> {
        let bytes = text.as_bytes();
        let mut letters = [0; MAX_WORD_LETTERS];
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match CLASSES[usize::from(byte)] {
                Class::Space | Class::Control => at += 1,
                Class::Punctuation => {
                    let id = self.find(fnv(FNV_OFFSET, byte), &[byte], false).map_or(Self::UNKNOWN, u32::from);
                    visit(Piece { id, start: at, end: at + 1, begins_word: true })?;
                    at += 1;
                }
                Class::Beyond => at = unicode::for_each_token(self, text, at, &mut visit)?,
                Class::Letter => {
                    let end =
                        bytes[at..].iter().position(|byte| class(*byte) != Class::Letter).map_or(bytes.len(), |len| at + len);
                    if bytes.get(end).is_some_and(|byte| matches!(class(*byte), Class::Control | Class::Beyond)) {
                        at = unicode::for_each_token(self, text, at, &mut visit)?;
                        continue;
                    }
                    if let Some(word) = letters.get_mut(..end - at) {
                        for (lower, byte) in word.iter_mut().zip(&bytes[at..end]) {
                            // Right for letters and digits, and there is nothing else here.
                            *lower = byte | 0x20;
                        }
                        self.split_word(word, |from, to| (at + from, at + to), &mut visit)?;
                    } else {
                        visit(Piece { id: Self::UNKNOWN, start: at, end, begins_word: true })?;
                    }
                    at = end;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// The piece with this id, as the vocabulary writes it.
    pub fn piece(&self, id: u32) -> Option<&'static str> {
        let id = u16::try_from(id).ok().filter(|id| usize::from(*id) < self.len())?;
        std::str::from_utf8(self.bytes_of(id)).ok()
    }

    /// Number of pieces.
    pub const fn len(&self) -> usize {
        self.offsets.len() / 4 - 1
    }

    /// Whether there is no piece.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shows the tokens of one normalised word of at most [`MAX_WORD_LETTERS`]. `place` turns a
    /// range of its bytes into one of the text.
    #[inline]
    fn split_word<B>(
        &self,
        word: &[u8],
        place: impl Fn(usize, usize) -> (usize, usize),
        visit: &mut impl FnMut(Piece) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut show = |id: u16, from: usize, to: usize| {
            let (start, end) = place(from, to);
            visit(Piece { id: u32::from(id), start, end, begins_word: from == 0 })
        };
        let Some((id, mut from)) = self.longest(word, false) else { return show(Self::UNKNOWN as u16, 0, word.len()) };
        if from == word.len() {
            return show(id, 0, from);
        }
        // One piece that cannot be spelt makes the whole word unknown, so none is shown before.
        let mut found = [(0u16, 0u16); MAX_WORD_LETTERS];
        found[0] = (id, from as u16);
        let mut count = 1;
        while from < word.len() {
            let Some((id, len)) = self.longest(&word[from..], true) else { return show(Self::UNKNOWN as u16, 0, word.len()) };
            from += len;
            found[count] = (id, from as u16);
            count += 1;
        }
        let mut from = 0;
        for &(id, to) in &found[..count] {
            show(id, from, usize::from(to))?;
            from = usize::from(to);
        }
        ControlFlow::Continue(())
    }

    /// The longest piece that `rest` begins with, and its length.
    #[inline]
    fn longest(&self, rest: &[u8], continued: bool) -> Option<(u16, usize)> {
        let mut hashes = [0; MAX_PIECE_BYTES];
        let mut hash = if continued { FNV_CONTINUED } else { FNV_OFFSET };
        for (slot, byte) in hashes.iter_mut().zip(rest) {
            hash = fnv(hash, *byte);
            *slot = hash;
        }
        let longest = rest.len().min(MAX_PIECE_BYTES);
        // A cut inside of a character finds nothing: pieces consist of whole ones.
        (0..longest).rev().find_map(|last| Some((self.find(hashes[last], &rest[..=last], continued)?, last + 1)))
    }

    #[inline]
    fn find(&self, hash: u64, letters: &[u8], continued: bool) -> Option<u16> {
        let mask = self.slots.len() / 2 - 1;
        let mut slot = (hash ^ (hash >> 32)) as usize & mask;
        loop {
            let id = u16::from_le_bytes([self.slots[2 * slot], self.slots[2 * slot + 1]]);
            if id == EMPTY {
                return None;
            }
            let piece = self.bytes_of(id);
            let rest = if continued { piece.strip_prefix(b"##") } else { Some(piece) };
            if rest == Some(letters) {
                return Some(id);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[inline]
    fn bytes_of(&self, id: u16) -> &'static [u8] {
        let at = 4 * usize::from(id);
        let offset = |at: usize| {
            u32::from_le_bytes([self.offsets[at], self.offsets[at + 1], self.offsets[at + 2], self.offsets[at + 3]]) as usize
        };
        &self.pieces[offset(at)..offset(at + 4)]
    }

    /// Magic `yoreWP01`; `u32` pieces; `u32` slots, a power of two; a `u16` per slot, the id or
    /// `0xFFFF`; a `u32` per piece and one more, where it begins; the pieces. All little-endian.
    /// A slot is found by FNV-1a 64, `(hash ^ (hash >> 32)) & (slots - 1)`, and linear probing.
    const fn parse(bytes: &'static [u8]) -> Option<Self> {
        if bytes.len() < HEADER {
            return None;
        }
        let (header, rest) = bytes.split_at(HEADER);
        let mut at = 0;
        while at < MAGIC.len() {
            if header[at] != MAGIC[at] {
                return None;
            }
            at += 1;
        }
        let count = le_u32(header, 8) as usize;
        let slots = le_u32(header, 12) as usize;
        // With a slot left empty, every search ends.
        if count <= Self::SEPARATE as usize || count >= EMPTY as usize || !slots.is_power_of_two() || slots <= count {
            return None;
        }
        if slots > 1 << 20 || rest.len() < 2 * slots + 4 * (count + 1) {
            return None;
        }
        let (slots, rest) = rest.split_at(2 * slots);
        let (offsets, pieces) = rest.split_at(4 * (count + 1));
        if le_u32(offsets, 0) != 0 || le_u32(offsets, 4 * count) as usize != pieces.len() {
            return None;
        }
        Some(Self { slots, offsets, pieces })
    }
}

impl fmt::Debug for WordPiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WordPiece").field("pieces", &self.len()).finish_non_exhaustive()
    }
}

const fn le_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

const fn fnv(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3)
}

/// What a byte is to the tokenizer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Punctuation,
    Space,
    /// Dropped, also from the middle of a word.
    Control,
    /// Part of a character that is not ASCII.
    Beyond,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Beyond; 256];
    let mut byte = 0;
    while byte < 0x80 {
        classes[byte as usize] = match byte {
            b' ' | b'\t' | b'\n' | b'\r' => Class::Space,
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            0..0x20 | 0x7F => Class::Control,
            _ => Class::Punctuation,
        };
        byte += 1;
    }
    classes
};

#[inline]
fn class(byte: u8) -> Class {
    CLASSES[usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use unicode_normalization::char::canonical_combining_class;

    use super::*;

    pub(super) fn pieces(text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let flow = WordPiece::bert().for_each_token(text, |piece| {
            pieces.push(piece);
            ControlFlow::<()>::Continue(())
        });
        assert!(flow.is_continue());
        pieces
    }

    pub(super) fn ids(text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        WordPiece::bert().encode(text, usize::MAX, &mut ids);
        ids
    }

    /// Each token with the bytes that it stands for.
    fn render(text: &str) -> String {
        let words = pieces(text).into_iter().map(|piece| {
            let (written, stands_for) = (WordPiece::bert().piece(piece.id).unwrap(), &text[piece.start..piece.end]);
            if written.trim_start_matches("##") == stands_for { written.to_owned() } else { format!("{written}={stands_for}") }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_are_split_into_the_longest_known_pieces() {
        assert_eq!(render("an unaffable tokenizer."), "an una ##ffa ##ble token ##izer .");
        assert_eq!(render("The SERVERS"), "the=The servers=SERVERS");
        assert_eq!(render("don't_panic(v2)"), "don ' t _ panic ( v ##2 )");
    }

    #[test]
    fn accents_and_control_characters_belong_to_the_letter_before_them() {
        assert_eq!(render("naïve cafe\u{301}ine"), "naive=naïve cafe=cafe\u{301} ##ine");
        assert_eq!(render("co\u{1}de\u{200b} x"), "code=co\u{1}de\u{200b} x");
    }

    #[test]
    fn chinese_characters_stand_alone_and_a_syllable_may_be_several_tokens() {
        assert_eq!(render("北京x"), "北 京 x");
        assert_eq!(render("한"), "ᄒ=한 ##ᅡ=한 ##ᆫ=한");
    }

    #[test]
    fn a_text_cannot_write_the_tokens_of_the_model() {
        for special in ["[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"] {
            let ids = ids(&format!("a {special} b"));
            assert!(ids.len() >= 5 && ids.iter().all(|id| *id > 103), "{special} {ids:?}");
        }
    }

    #[test]
    fn a_word_of_more_than_a_hundred_letters_is_one_unknown_token() {
        for letter in ["a", "é", "ß"] {
            assert_ne!(ids(&letter.repeat(100)), [WordPiece::UNKNOWN]);
            let long = letter.repeat(101);
            assert_eq!(render(&format!("{long} b")), format!("[UNK]={long} b"));
        }
        assert_eq!(render("x🎉y"), "[UNK]=x🎉y");
    }

    #[test]
    fn the_vocabulary_finds_each_of_its_pieces() {
        let wordpiece = WordPiece::bert();
        assert_eq!(wordpiece.len(), 30_522);
        let mut longest = 0;
        for id in 0..wordpiece.len() as u32 {
            let piece = wordpiece.piece(id).unwrap();
            let (letters, continued) = piece.strip_prefix("##").map_or((piece, false), |rest| (rest, true));
            let start = if continued { FNV_CONTINUED } else { FNV_OFFSET };
            let hash = letters.bytes().fold(start, fnv);
            assert_eq!(wordpiece.find(hash, letters.as_bytes(), continued), Some(id as u16), "{piece}");
            longest = longest.max(letters.len());
            // `unicode` relies on this.
            assert!(letters.chars().all(|letter| canonical_combining_class(letter) == 0), "{piece}");
        }
        assert_eq!(longest, MAX_PIECE_BYTES);
        let special = [WordPiece::PADDING, WordPiece::UNKNOWN, WordPiece::CLASSIFY, WordPiece::SEPARATE];
        assert_eq!(special.map(|id| wordpiece.piece(id).unwrap()), ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]);
        assert_eq!(wordpiece.piece(30_522), None);
        assert_eq!(wordpiece.piece(u32::MAX), None);
    }

    #[test]
    fn a_damaged_vocabulary_is_refused() {
        let refused = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = BYTES.to_vec();
            change(&mut bytes);
            WordPiece::parse(bytes.leak()).is_none()
        };
        assert!(!refused(&|_| ()));
        assert!(refused(&|bytes| bytes.clear()));
        assert!(refused(&|bytes| bytes[7] = b'2'), "another version");
        assert!(refused(&|bytes| bytes[8] += 1), "another count");
        assert!(refused(&|bytes| bytes[12] = 1), "a number of slots that is no power of two");
        assert!(refused(&|bytes| bytes.truncate(BYTES.len() - 1)));
        assert!(refused(&|bytes| bytes.push(0)));
    }
}
