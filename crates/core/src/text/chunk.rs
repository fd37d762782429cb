//! Cuts a text into pieces that fit an embedding model.
//!
//! - [`chunks`]: the function that cuts, with [`CHUNK_TOKENS`] as its usual limit
//! - [`Chunk`]: a piece, as a range of the text
//!
//! A chunk takes as many whole lines as fit. When the next token does not fit, the chunk ends at its last
//! line end; if it is all one line, at its last sentence end; otherwise after its last word. Only a limit
//! below a hundred tokens can make it end within a word. So the rest of a long line shares a chunk with the
//! lines after it, and a chunk has the same tokens by itself as within the text, except where a word was cut.

use std::ops::ControlFlow;

use super::wordpiece::{Piece, WordPiece};

/// Version of the chunks, raised whenever the chunks of any text change.
pub const CHUNKER_VERSION: u32 = 1;

/// Tokens of a chunk for models that read 256 tokens, including two of their own.
pub const CHUNK_TOKENS: usize = 254;

/// Most chunks of one text. Of a longer text (a pasted log) the first half and the last half of this many are
/// kept, and the middle is left out: embedding it would take hours.
pub const MAX_CHUNKS: usize = 64;

/// A part of a text, without whitespace around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Start, in bytes.
    pub start: usize,
    /// End, in bytes, exclusive.
    pub end: usize,
    /// Number of tokens, without those that a model adds around them.
    pub tokens: usize,
}

/// Returns the chunks of `text` in order, each of at most `limit` tokens (at least one letter is in each,
/// whatever the limit). Together they have every token, up to [`MAX_CHUNKS`]. A text without tokens has no
/// chunks. It takes one pass, in time proportional to the text's length.
pub fn chunks(text: &str, limit: usize) -> Vec<Chunk> {
    let mut packer = Packer { text, limit, chunk: None, cuts: [None; 4], stop: Stop::None, chunks: Vec::new() };
    let _ = WordPiece::bert().for_each_token(text, |piece| {
        packer.add(piece);
        ControlFlow::<()>::Continue(())
    });
    packer.finish()
}

/// Places at which a chunk may end, best first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Boundary {
    Line,
    Sentence,
    Word,
    Letter,
}

/// State of the tokens just read: whether they end a sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    None,
    /// They end one if whitespace follows.
    BeforeSpace,
    /// They end one in any case: scripts that put no spaces between sentences.
    Always,
}

/// The last boundary of its kind within the current chunk.
#[derive(Clone, Copy)]
struct Cut {
    /// The chunk up to the boundary.
    before: Chunk,
    /// Start of the next chunk.
    next: usize,
}

struct Packer<'a> {
    text: &'a str,
    limit: usize,
    /// The chunk since the last cut.
    chunk: Option<Chunk>,
    cuts: [Option<Cut>; 4],
    stop: Stop,
    chunks: Vec<Chunk>,
}

impl Packer<'_> {
    fn add(&mut self, piece: Piece) {
        let token = &self.text[piece.start..piece.end];
        let mut is_adjacent = false;
        if let Some(chunk) = self.chunk {
            is_adjacent = piece.start <= chunk.end;
            if piece.start >= chunk.end {
                let boundary = self.boundary(&self.text[chunk.end..piece.start], token, piece.begins_word);
                self.cuts[boundary as usize] = Some(Cut { before: chunk, next: piece.start });
            }
            if chunk.tokens >= self.limit {
                self.cut();
            }
        }
        let chunk = self.chunk.get_or_insert(Chunk { start: piece.start, end: piece.end, tokens: 0 });
        chunk.end = piece.end;
        chunk.tokens += 1;
        self.stop = match token {
            "." | "!" | "?" | "…" => Stop::BeforeSpace,
            "。" | "！" | "？" => Stop::Always,
            token if is_adjacent && is_closing(token) => self.stop,
            _ => Stop::None,
        };
    }

    /// Returns the boundary before `token`; `between` is the text before it that belongs to no token.
    fn boundary(&self, between: &str, token: &str, begins_word: bool) -> Boundary {
        if between.contains(['\n', '\r']) {
            Boundary::Line
        } else if self.stop == Stop::BeforeSpace && !between.is_empty() || self.stop == Stop::Always && !is_closing(token) {
            Boundary::Sentence
        } else if begins_word {
            Boundary::Word
        } else {
            Boundary::Letter
        }
    }

    /// Ends the chunk at the best boundary, if there is one; the rest begins the next chunk.
    fn cut(&mut self) {
        let (Some(chunk), Some(cut)) = (self.chunk, self.cuts.iter().flatten().next().copied()) else { return };
        self.push(cut.before);
        let rest = |chunk: Chunk| Chunk { start: cut.next, end: chunk.end, tokens: chunk.tokens - cut.before.tokens };
        self.chunk = (chunk.tokens > cut.before.tokens).then(|| rest(chunk));
        for slot in &mut self.cuts {
            *slot = slot
                .filter(|other| other.before.tokens > cut.before.tokens)
                .map(|other| Cut { before: rest(other.before), ..other });
        }
    }

    fn push(&mut self, chunk: Chunk) {
        // Some control characters are whitespace too, and belong to the letter before them.
        let end = chunk.start + self.text[chunk.start..chunk.end].trim_end().len();
        self.chunks.push(Chunk { end, ..chunk });
        if self.chunks.len() > MAX_CHUNKS {
            self.chunks.remove(MAX_CHUNKS / 2);
        }
    }

    fn finish(mut self) -> Vec<Chunk> {
        if let Some(chunk) = self.chunk {
            self.push(chunk);
        }
        self.chunks
    }
}

/// Returns whether a token closes together with a sentence: quotes, brackets and markup.
fn is_closing(token: &str) -> bool {
    matches!(token, "\"" | "'" | ")" | "]" | "}" | "*" | "_" | "`" | "”" | "’" | "»" | "」" | "』" | "）")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn render(text: &str, limit: usize) -> Vec<&str> {
        chunks(text, limit).into_iter().map(|chunk| &text[chunk.start..chunk.end]).collect()
    }

    fn tokens(text: &str) -> Vec<Piece> {
        let mut tokens = Vec::new();
        let _ = WordPiece::bert().for_each_token(text, |piece| {
            tokens.push(piece);
            ControlFlow::<()>::Continue(())
        });
        tokens
    }

    fn ids(text: &str) -> Vec<u32> {
        tokens(text).into_iter().map(|piece| piece.id).collect()
    }

    #[test]
    fn short_text_is_one_chunk_without_the_whitespace_around_it() {
        assert_eq!(render("\n  one\n\n two three \r\n", 8), ["one\n\n two three"]);
        assert_eq!(chunks("a b", 8), [Chunk { start: 0, end: 3, tokens: 2 }]);
    }

    #[test]
    fn text_without_tokens_has_no_chunks() {
        assert_eq!(chunks("", 8), []);
        assert_eq!(chunks(" \n\t\u{200b}\u{301}\0", 8), []);
    }

    #[test]
    fn lines_are_packed_while_they_fit() {
        assert_eq!(render("one two\nthree four\nfive six\nseven", 5), ["one two\nthree four", "five six\nseven"]);
        assert_eq!(render("one two\rthree four\r\nfive", 4), ["one two\rthree four", "five"]);
        assert_eq!(render("one two three\nfour five", 3), ["one two three", "four five"]);
    }

    #[test]
    fn long_line_is_cut_between_sentences_and_its_rest_is_packed_with_what_follows() {
        let text = "One two. Three 3.5 four! Five six seven?\nEight";
        assert_eq!(render(text, 11), ["One two. Three 3.5 four!", "Five six seven?\nEight"]);
        assert_eq!(
            render("He said \"no.\" (Then he left.) Why is that so?", 12),
            ["He said \"no.\" (Then he left.)", "Why is that so?"]
        );
        assert_eq!(render("我们走。他说「好。」你来吗？", 9), ["我们走。", "他说「好。」", "你来吗？"]);
    }

    #[test]
    fn sentence_without_an_end_is_cut_between_words_and_a_word_between_tokens() {
        assert_eq!(render("one two three four five", 2), ["one two", "three four", "five"]);
        assert_eq!(render("an unaffable x", 3), ["an", "unaffable", "x"]);
        assert_eq!(render("unaffable", 2), ["unaffa", "ble"]);
        assert_eq!(render("한글", 1), ["한", "글"], "no letter is cut");
    }

    #[test]
    fn of_a_very_long_text_the_beginning_and_the_end_are_kept() {
        let text: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
        let all: Vec<&str> = text.lines().collect();
        let kept = render(&text, 10);
        assert_eq!(kept.len(), MAX_CHUNKS);
        let lines = |chunks: &[&str]| chunks.iter().flat_map(|chunk| chunk.lines()).map(str::to_owned).collect::<Vec<_>>();
        let (first, last) = (lines(&kept[..MAX_CHUNKS / 2]), lines(&kept[MAX_CHUNKS / 2..]));
        assert_eq!(first, all[..first.len()]);
        assert_eq!(last, all[all.len() - last.len()..]);
    }

    #[test]
    fn chunks_for_a_model_have_its_tokens() {
        let text = "The server's retry_count (default: 3) is read once. See `config.toml`, naïvely…\n\n".repeat(60);
        let chunks = chunks(&text, CHUNK_TOKENS);
        assert!(chunks.len() > 4);
        for chunk in &chunks {
            assert_eq!(ids(&text[chunk.start..chunk.end]).len(), chunk.tokens);
            assert!(chunk.tokens > CHUNK_TOKENS - 40 || chunk == &chunks[chunks.len() - 1], "{chunk:?}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-z]{1,9}",
            4 => proptest::sample::select(vec![" ", " ", " ", "\n", "\r\n", ". ", "? ", "。", ".\" ", ", ", "\u{301}", "\u{200b}"])
                .prop_map(str::to_owned),
            1 => "\\PC{1,4}",
            1 => "[가-힣]{1,3}",
            1 => any::<char>().prop_map(String::from),
            1 => "[a-z]{90,110}",
        ];
        proptest::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn chunks_are_ordered_within_the_limit_and_have_every_token(text in text(), limit in 4..300usize) {
            let chunks = chunks(&text, limit);
            let all = tokens(&text);
            let mut seen = 0;
            let mut end = 0;
            // After the first half, chunks may be missing.
            let uncut = if chunks.len() < MAX_CHUNKS { MAX_CHUNKS } else { MAX_CHUNKS / 2 };
            for chunk in chunks.iter().take(uncut) {
                prop_assert!(chunk.start >= end && chunk.tokens > 0 && chunk.tokens <= limit, "{chunk:?}");
                let words = &text[chunk.start..chunk.end];
                prop_assert_eq!(words, words.trim());
                let own = &all[seen..seen + chunk.tokens];
                prop_assert_eq!(words, text[own[0].start..own[own.len() - 1].end].trim_end());
                if limit >= 100 {
                    prop_assert_eq!(ids(words), own.iter().map(|piece| piece.id).collect::<Vec<_>>());
                }
                (seen, end) = (seen + chunk.tokens, chunk.end);
            }
            prop_assert!(chunks.len() <= MAX_CHUNKS);
            if chunks.len() < MAX_CHUNKS {
                prop_assert_eq!(seen, all.len());
            }
        }

        #[test]
        fn no_chunk_could_take_the_next_line(text in text(), limit in 4..300usize) {
            let chunks = chunks(&text, limit);
            for pair in chunks.windows(2).take(MAX_CHUNKS / 2 - 1) {
                let next = text[pair[1].start..].split(['\n', '\r']).next().unwrap_or_default();
                let joined = &text[pair[0].start..pair[1].start + next.len()];
                // Below a hundred a word may be cut, and the rest of it has other tokens.
                if limit >= 100 && text[pair[0].end..pair[1].start].contains(['\n', '\r']) {
                    prop_assert!(ids(joined).len() > limit, "{joined:?}");
                }
            }
        }

        #[test]
        fn any_limit_ends_and_loses_nothing(text in "\\PC{0,60}", limit in 0..4usize) {
            let chunks = chunks(&text, limit);
            prop_assert_eq!(chunks.iter().map(|chunk| chunk.tokens).sum::<usize>(), tokens(&text).len());
            prop_assert!(chunks.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
