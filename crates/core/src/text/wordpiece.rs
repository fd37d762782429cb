//! The WordPiece tokenizer of the embedding models, with the vocabulary of BERT uncased.
//!
//! - [`WordPiece`] (`vocabulary`): a table inside the binary, and the tokenizer over it
//! - [`Piece`]: one token and its range of bytes
//! - `unicode`: handles text that is not plain ASCII
//!
//! The tokens are those of the reference (`BertNormalizer`, `BertPreTokenizer` and `WordPiece` of
//! the `tokenizers` crate): control characters dropped, accents stripped, lower case, split at
//! whitespace, around punctuation and Chinese characters, then the longest known piece first.
//!
//! There are two deliberate differences:
//!
//! - **A text cannot imitate the model's own tokens.** The reference turns `[SEP]`, written in a text, into
//!   the separator. Here it is a bracket, a word and a bracket.
//! - Characters are classified by today's Unicode; the reference's tables are from 2015. They differ in a few
//!   hundred characters of rare scripts, none of them in the vocabulary: a newer accent is stripped and newer
//!   punctuation is a token of its own, where the reference makes the word unknown.

#[cfg(test)]
mod reference;
mod unicode;
mod vocabulary;

use std::ops::ControlFlow;

use self::vocabulary::{CLASSES, Class, FNV_OFFSET, MAX_WORD_LETTERS, class, fnv};
pub use self::vocabulary::{Piece, WordPiece};

/// Version of the tokens, raised whenever the tokens of any text change.
pub const WORDPIECE_VERSION: u32 = 1;

impl WordPiece {
    /// Appends the tokens of `text` to `out`, at most `limit`, without the model's own tokens around them.
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

    /// Calls `visit` for every token of `text` in order, until it breaks.
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
                            // Right for letters and digits, and a word has nothing else here.
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
}

#[cfg(test)]
mod tests {
    use unicode_normalization::char::canonical_combining_class;

    use super::vocabulary::{BYTES, FNV_CONTINUED, MAX_PIECE_BYTES};
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

    /// Returns each token with the text that it stands for.
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
