//! The WordPiece vocabulary, a table inside the binary that is used without unpacking.

use std::fmt;
use std::ops::ControlFlow;

const MAGIC: &[u8; 8] = b"yoreWP01";
const HEADER: usize = 16;
const EMPTY: u16 = u16::MAX;
/// Bytes of the longest piece; longer beginnings of a word are not looked up.
pub(super) const MAX_PIECE_BYTES: usize = 18;
/// Most letters of a word; a longer word is one unknown token.
pub(super) const MAX_WORD_LETTERS: usize = 100;

pub(super) const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
/// State of the hash after `##`, which begins every piece that continues a word.
pub(super) const FNV_CONTINUED: u64 = fnv(fnv(FNV_OFFSET, b'#'), b'#');

pub(super) const BYTES: &[u8] = include_bytes!("../../../assets/wordpiece.bin");
static BERT: WordPiece = match WordPiece::parse(BYTES) {
    Some(wordpiece) => wordpiece,
    None => panic!("assets/wordpiece.bin is damaged"),
};

/// One token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its row in the vocabulary.
    pub id: u32,
    /// Start of its bytes in the text. Starts and ends never decrease from token to token, but tokens may
    /// share a letter: a Hangul syllable can be three.
    pub start: usize,
    /// End of its bytes, exclusive. Both are boundaries of characters. A letter's stripped accents and the
    /// control characters after it are included.
    pub end: usize,
    /// True if a word, in the reference's sense, begins here: the tokens after this point do not depend on
    /// the text before it.
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
    /// Replaces a word that the vocabulary cannot spell.
    pub const UNKNOWN: u32 = 100;
    /// Begins a model's input.
    pub const CLASSIFY: u32 = 101;
    /// Ends each text of a model's input.
    pub const SEPARATE: u32 = 102;

    /// Returns the vocabulary of BERT uncased, 30,522 pieces. Costs nothing: the compiler checked it.
    pub fn bert() -> &'static Self {
        &BERT
    }

    /// Returns the bytes that the vocabulary is read from, for fingerprints.
    pub const fn asset() -> &'static [u8] {
        BYTES
    }

    /// Returns the piece with this id, as the vocabulary writes it.
    pub fn piece(&self, id: u32) -> Option<&'static str> {
        let id = u16::try_from(id).ok().filter(|id| usize::from(*id) < self.len())?;
        std::str::from_utf8(self.bytes_of(id)).ok()
    }

    /// Number of pieces.
    pub const fn len(&self) -> usize {
        self.offsets.len() / 4 - 1
    }

    /// Returns whether the vocabulary has no pieces.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Passes on the tokens of one normalised word of at most [`MAX_WORD_LETTERS`] letters. `place` maps a
    /// range of its bytes to one of the text.
    #[inline]
    pub(super) fn split_word<B>(
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
        // One piece that cannot be spelt makes the whole word unknown, so no piece is passed on before.
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

    /// Returns the longest piece that `rest` begins with, and its length.
    #[inline]
    fn longest(&self, rest: &[u8], continued: bool) -> Option<(u16, usize)> {
        let mut hashes = [0; MAX_PIECE_BYTES];
        let mut hash = if continued { FNV_CONTINUED } else { FNV_OFFSET };
        for (slot, byte) in hashes.iter_mut().zip(rest) {
            hash = fnv(hash, *byte);
            *slot = hash;
        }
        let longest = rest.len().min(MAX_PIECE_BYTES);
        // A cut inside a character finds nothing: pieces consist of whole characters.
        (0..longest).rev().find_map(|last| Some((self.find(hashes[last], &rest[..=last], continued)?, last + 1)))
    }

    #[inline]
    pub(super) fn find(&self, hash: u64, letters: &[u8], continued: bool) -> Option<u16> {
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

    /// Parses the table. Its format: magic `yoreWP01`; `u32` number of pieces; `u32` number of slots, a power
    /// of two; a `u16` per slot, the id or `0xFFFF`; a `u32` per piece and one more, its start; the pieces.
    /// All little-endian. A slot is found by FNV-1a 64, `(hash ^ (hash >> 32)) & (slots - 1)`, and linear
    /// probing.
    pub(super) const fn parse(bytes: &'static [u8]) -> Option<Self> {
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

pub(super) const fn fnv(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3)
}

/// The class of a byte for the tokenizer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Letter,
    Punctuation,
    Space,
    /// Dropped, also from the middle of a word.
    Control,
    /// Part of a character that is not ASCII.
    Beyond,
}

pub(super) const CLASSES: [Class; 256] = {
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
pub(super) fn class(byte: u8) -> Class {
    CLASSES[usize::from(byte)]
}
