//! The built-in table: a vector for each word piece, distilled from a sentence model (`scripts/distill`). A
//! text's vector is the mean of its tokens' vectors, which takes microseconds.

use std::fmt;
use std::ops::ControlFlow;

use yore_core::text::{CHUNKER_VERSION, WORDPIECE_VERSION, WordPiece};

const MAGIC: &[u8; 8] = b"yoreST01";
const HEADER: usize = 16;
/// Bytes of a scale.
const SCALE: usize = 4;
/// Maximum number of tokens of a text that count. A chunk has fewer, so this cuts only texts that were not
/// cut into chunks.
const MAX_TOKENS: usize = 512;
/// Beginning of the BLAKE3 hash of the table and the vocabulary. A test checks it.
const HASH: &str = "5d66d3419dd3dd3b";

static BUILTIN: Result<StaticTable, StaticTableError> = StaticTable::parse(include_bytes!("../../assets/static-minilm-256.bin"));

/// The reason why bytes are not a static table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StaticTableError {
    /// The bytes begin with another mark.
    #[error("the static table has an unknown header: it is another file, or of another version")]
    Foreign,
    /// The vectors have a different length than the program expects.
    #[error("the static table has vectors of {0} dimensions, expected {expected}", expected = StaticTable::DIMENSIONS)]
    Dimensions(usize),
    /// The table was cut, or bytes were added.
    #[error("the static table is damaged: it has {found} bytes, expected {expected}")]
    Size {
        /// Number of bytes according to the header.
        expected: usize,
        /// Actual number of bytes.
        found: usize,
    },
}

/// Vectors of word pieces. A copy shares the vectors.
#[derive(Clone, Copy)]
pub struct StaticTable {
    scales: &'static [u8],
    rows: &'static [u8],
}

impl StaticTable {
    /// Numbers in a vector.
    pub const DIMENSIONS: usize = 256;

    /// Returns the built-in table. Its header is parsed at compile time, so this costs nothing, and fails
    /// always or never.
    pub fn builtin() -> Result<&'static Self, StaticTableError> {
        BUILTIN.as_ref().map_err(|error| *error)
    }

    /// Returns the identity of everything that decides a text's vector by [`StaticTable::builtin`], including
    /// the place where long texts are cut. Vectors are comparable if and only if this is equal.
    pub fn identity() -> String {
        format!("static-minilm-256 blake3:{HASH} wordpiece {WORDPIECE_VERSION} chunker {CHUNKER_VERSION} tokens {MAX_TOKENS}")
    }

    /// Returns the vector of a text by the built-in table; `None` if the table has no word of it.
    pub fn vector_of(text: &str) -> Option<[f32; Self::DIMENSIONS]> {
        let mut vector = [0.0; Self::DIMENSIONS];
        Self::builtin().ok()?.embed(text, &mut vector).then_some(vector)
    }

    /// Writes the vector of `text`, of length 1: the mean of the vectors of its first 512 tokens. Returns
    /// whether there is one; a text without a word in the table has only zeros.
    pub fn embed(&self, text: &str, out: &mut [f32; Self::DIMENSIONS]) -> bool {
        out.fill(0.0);
        let mut left = MAX_TOKENS;
        // The sum has the direction of the mean.
        let _ = WordPiece::bert().for_each_token(text, |piece| {
            self.add(piece.id as usize, out);
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        normalise(out)
    }

    /// Adds the vector of a token, if the table has one.
    #[inline]
    fn add(&self, id: usize, sum: &mut [f32; Self::DIMENSIONS]) {
        let scale = self.scales.get(id * SCALE..).and_then(<[u8]>::first_chunk);
        let row = self.rows.get(id * Self::DIMENSIONS..).and_then(<[u8]>::first_chunk::<{ Self::DIMENSIONS }>);
        let (Some(scale), Some(row)) = (scale, row) else { return };
        let scale = f32::from_le_bytes(*scale);
        if scale != 0.0 {
            for (sum, byte) in sum.iter_mut().zip(row) {
                *sum += scale * f32::from(byte.cast_signed());
            }
        }
    }

    /// Parses a table: magic `yoreST01`; `u32` rows; `u32` numbers in a row; an `f32` scale for each row; the
    /// rows as `i8`. All little-endian. A token's vector is scale × row, its weight is in the scale.
    const fn parse(bytes: &'static [u8]) -> Result<Self, StaticTableError> {
        let mut at = 0;
        while at < MAGIC.len() {
            if bytes.len() < HEADER || bytes[at] != MAGIC[at] {
                return Err(StaticTableError::Foreign);
            }
            at += 1;
        }
        let (header, rest) = bytes.split_at(HEADER);
        let (count, dimensions) = (le_u32(header, 8), le_u32(header, 12));
        if dimensions != Self::DIMENSIONS {
            return Err(StaticTableError::Dimensions(dimensions));
        }
        let expected = count.saturating_mul(SCALE + dimensions).saturating_add(HEADER);
        if bytes.len() != expected {
            return Err(StaticTableError::Size { expected, found: bytes.len() });
        }
        let (scales, rows) = rest.split_at(count * SCALE);
        Ok(Self { scales, rows })
    }
}

impl fmt::Debug for StaticTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticTable").field("rows", &(self.scales.len() / SCALE)).finish_non_exhaustive()
    }
}

const fn le_u32(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
}

/// Scales a vector to length 1, unless it is zero.
fn normalise(vector: &mut [f32; StaticTable::DIMENSIONS]) -> bool {
    // Sums in lanes: in a single sum, each step would wait for the previous one.
    let mut lanes = [0.0f32; 16];
    for parts in vector.as_chunks::<16>().0 {
        for (lane, part) in lanes.iter_mut().zip(parts) {
            *lane += part * part;
        }
    }
    let length = lanes.iter().sum::<f32>().sqrt();
    if !length.is_normal() {
        vector.fill(0.0);
        return false;
    }
    vector.iter_mut().for_each(|part| *part /= length);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMENSIONS: usize = StaticTable::DIMENSIONS;

    /// Makes a table in which only these words have vectors: a scale, and the first numbers of the row.
    fn bytes(words: &[(&str, f32, &[i8])]) -> Vec<u8> {
        let id = |word: &str| {
            let mut ids = Vec::new();
            WordPiece::bert().encode(word, 2, &mut ids);
            assert_eq!(ids.len(), 1, "{word}");
            ids[0] as usize
        };
        let count = words.iter().map(|(word, ..)| id(word) + 1).max().unwrap();
        let mut scales = vec![0.0f32; count];
        let mut rows = vec![0u8; count * DIMENSIONS];
        for (word, scale, row) in words {
            scales[id(word)] = *scale;
            for (to, part) in rows[id(word) * DIMENSIONS..].iter_mut().zip(*row) {
                *to = part.cast_unsigned();
            }
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend((count as u32).to_le_bytes());
        bytes.extend((DIMENSIONS as u32).to_le_bytes());
        bytes.extend(scales.iter().flat_map(|scale| scale.to_le_bytes()));
        bytes.extend(rows);
        bytes
    }

    fn parse(bytes: Vec<u8>) -> Result<StaticTable, StaticTableError> {
        StaticTable::parse(bytes.leak())
    }

    fn vector(table: &StaticTable, text: &str) -> Option<[f32; DIMENSIONS]> {
        let mut out = [7.0; DIMENSIONS];
        let known = table.embed(text, &mut out);
        assert!(known || out == [0.0; DIMENSIONS]);
        known.then_some(out)
    }

    fn cosine(table: &StaticTable, one: &str, other: &str) -> f32 {
        let (one, other) = (vector(table, one).unwrap(), vector(table, other).unwrap());
        one.iter().zip(&other).map(|(one, other)| one * other).sum()
    }

    #[test]
    fn vector_is_the_normalised_sum_of_scaled_rows() {
        let table = parse(bytes(&[("the", 1.0, &[0, 4]), ("cat", 0.5, &[-6, 0, -128]), ("sat", 0.0, &[1, 1])])).unwrap();
        let expect = |text: &str, parts: [f32; 3]| {
            let vector = vector(&table, text).unwrap();
            let length = parts.iter().map(|part| part * part).sum::<f32>().sqrt();
            for (at, part) in vector.iter().enumerate() {
                let expected = parts.get(at).map_or(0.0, |part| part / length);
                assert!((part - expected).abs() < 1e-6, "{text}: {at} {part} {expected}");
            }
        };
        expect("The", [0.0, 4.0, 0.0]);
        expect("cat", [-3.0, 0.0, -64.0]);
        expect("the cat, the dog", [-3.0, 8.0, -64.0]);
        expect("cat sat", [-3.0, 0.0, -64.0]);
    }

    #[test]
    fn text_without_a_known_word_has_no_vector() {
        let table = parse(bytes(&[("the", 1.0, &[1]), ("cat", 1.0, &[-1]), ("sat", 0.0, &[1])])).unwrap();
        for text in ["", " \n", "sat", "\u{1f389}", "zebra", "the cat"] {
            assert_eq!(vector(&table, text), None, "{text:?}");
        }
    }

    #[test]
    fn tokens_after_the_first_five_hundred_and_twelve_do_not_count() {
        let table = parse(bytes(&[("the", 1.0, &[1]), ("cat", 1.0, &[0, 1])])).unwrap();
        let text = format!("{}cat", "the ".repeat(MAX_TOKENS - 1));
        assert!(vector(&table, &text).unwrap()[1] > 0.0);
        assert!(vector(&table, &format!("the {text}")).unwrap()[1] == 0.0);
    }

    #[test]
    fn damaged_table_is_refused_by_name() {
        let sound = bytes(&[("the", 1.0, &[1])]);
        let size = sound.len();
        let refused = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = sound.clone();
            change(&mut bytes);
            parse(bytes).unwrap_err()
        };
        assert_eq!(refused(&|bytes| bytes.clear()), StaticTableError::Foreign);
        assert_eq!(refused(&|bytes| bytes.truncate(HEADER - 1)), StaticTableError::Foreign);
        assert_eq!(refused(&|bytes| bytes[7] = b'2'), StaticTableError::Foreign);
        assert_eq!(refused(&|bytes| bytes[13] = 2), StaticTableError::Dimensions(512));
        let error = refused(&|bytes| bytes.truncate(size - 1));
        assert_eq!(error, StaticTableError::Size { expected: size, found: size - 1 });
        assert!(error.to_string().contains(&format!("{} bytes", size - 1)), "{error}");
        assert!(matches!(refused(&|bytes| bytes.push(0)), StaticTableError::Size { .. }));
        assert!(matches!(refused(&|bytes| bytes[8..12].fill(0xFF)), StaticTableError::Size { .. }));
    }

    #[test]
    fn builtin_table_has_a_sound_row_for_each_piece() {
        let table = StaticTable::builtin().unwrap();
        assert_eq!(table.scales.len() / SCALE, WordPiece::bert().len());
        let scales = table.scales.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        assert!(scales.clone().all(|scale| scale >= 0.0 && scale.is_finite()));
        assert!(scales.filter(|scale| *scale > 0.0).count() > 29_000);
        let model_tokens = [WordPiece::PADDING, WordPiece::UNKNOWN, WordPiece::CLASSIFY, WordPiece::SEPARATE];
        for id in model_tokens.map(|id| id as usize) {
            assert_eq!(table.scales[id * SCALE..][..SCALE], [0; SCALE], "{id}");
        }
    }

    #[test]
    fn identity_names_the_table_and_the_vocabulary_inside() {
        let table = StaticTable::builtin().unwrap();
        let mut hasher = blake3::Hasher::new();
        hasher.update(table.scales).update(table.rows).update(WordPiece::asset());
        let hash = hasher.finalize().to_hex();
        assert_eq!(HASH, &hash[..16], "the table or the vocabulary was changed: write this hash into HASH");
        assert!(StaticTable::identity().contains(HASH));
    }

    #[test]
    fn sentences_of_like_meaning_are_closer_than_unrelated_ones() {
        let table = StaticTable::builtin().unwrap();
        let triples = [
            ("How do I fix the failing build?", "repairing a broken compilation", "the weather in Paris was lovely"),
            ("My sister adopted a puppy.", "She has a new dog at home", "The invoice is due on Friday"),
            ("increase the database timeout", "the SQL server waits longer now", "a recipe for chocolate cake"),
            ("He plays the violin in an orchestra", "a musician at a classical concert", "parse the JSON configuration file"),
            ("Our flight to Tokyo was cancelled", "airline travel to Japan", "sorting an array of integers"),
        ];
        for (question, near, far) in triples {
            let (near, far) = (cosine(table, question, near), cosine(table, question, far));
            assert!(near > far + 0.1, "{question}: {near} {far}");
        }
        assert!(cosine(table, "naïve CAFÉ", "naive cafe") > 0.9999);
    }
}
