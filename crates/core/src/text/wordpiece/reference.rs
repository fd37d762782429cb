//! Compares the tokenizer with the `tokenizers` crate, token by token.

use std::fmt::Write;
use std::sync::LazyLock;

use proptest::prelude::*;
use tokenizers::Tokenizer;

use super::WordPiece;
use super::tests::{ids, pieces};

/// The reference over our vocabulary, without special tokens.
static REFERENCE: LazyLock<Tokenizer> = LazyLock::new(|| {
    let wordpiece = WordPiece::bert();
    let mut vocabulary = String::new();
    for id in 0..wordpiece.len() as u32 {
        let piece = wordpiece.piece(id).unwrap().replace('\\', r"\\").replace('"', r#"\""#);
        write!(vocabulary, "{}\"{piece}\":{id}", if id == 0 { "" } else { "," }).unwrap();
    }
    let json = format!(
        r###"{{
            "version": "1.0", "added_tokens": [], "post_processor": null, "decoder": null,
            "normalizer": {{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                            "strip_accents": null, "lowercase": true}},
            "pre_tokenizer": {{"type": "BertPreTokenizer"}},
            "model": {{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                       "max_input_chars_per_word": 100, "vocab": {{{vocabulary}}}}}
        }}"###
    );
    json.parse().unwrap()
});

fn reference(text: &str) -> Vec<u32> {
    REFERENCE.encode_fast(text, false).unwrap().get_ids().to_vec()
}

/// Returns whether both classify this character alike; the reference lacks the characters of later years.
fn is_agreed(letter: char) -> bool {
    letter.is_ascii() || {
        let between = format!("a{letter}b");
        ids(&between) == reference(&between)
    }
}

fn agreed(text: &str) -> String {
    text.chars().filter(|letter| is_agreed(*letter)).collect()
}

#[test]
fn every_character_is_treated_alike_but_those_that_are_newer_than_the_reference() {
    let (dropped, isolated, unknown) = (ids("ab"), ids("a ! b"), vec![WordPiece::UNKNOWN]);
    let isolated = [isolated[0], WordPiece::UNKNOWN, isolated[2]];
    let large_blocks =
        [0x3400..0x9FFF, 0xAC00..0xD7A3, 0xE000..0xF8FF, 0x1_7000..0x1_8D00, 0x2_0000..0x3_FFFF, 0xE_0200..0x11_0000];
    let mut differing = 0;
    for code in (0x80..0x4_0000).chain(0xE_0000..0x11_0000) {
        // Only a sample of the large blocks, whose characters are all of one kind.
        let skipped = code % 61 != 0 && large_blocks.iter().any(|block| block.contains(&code));
        let Some(letter) = char::from_u32(code).filter(|_| !skipped) else { continue };
        let between = format!("a{letter}b");
        let (ours, theirs) = (ids(&between), reference(&between));
        if ours != theirs {
            differing += 1;
            let explained = |ids: &[u32]| [&dropped[..], &isolated[..], &unknown[..]].contains(&ids);
            assert!(explained(&ours) && explained(&theirs), "{letter:?} {ours:?} {theirs:?}");
            let known = (0..WordPiece::bert().len() as u32).any(|id| WordPiece::bert().piece(id).unwrap().contains(letter));
            assert!(code > 0x590 && !known, "{letter:?} is no rarity");
        }
    }
    assert!((1..1000).contains(&differing), "{differing}");
}

#[test]
fn prose_and_code_have_the_tokens_of_the_reference() {
    let texts = [
        "We decided to keep the retries in the client: the gateway's timeout (30 s) is shorter than a cold start.",
        "Naïve café owners in Zürich, São Paulo and Kraków don’t re‑order “crème brûlée” — or do they…?",
        "fn main() -> Result<(), Box<dyn Error>> {\n\tlet re = Regex::new(r\"^\\s*#\\[(\\w+)\\]\")?;\n}",
        "## Fix\r\n\r\n- [x] `HTTPServer::parse_request` returned `Err(EOF)`\r\n- [ ] see <https://example.com/a?b=c&d=%20#e>\r\n",
        "error[E0502]: cannot borrow `self.rows` as mutable (src/store/upsert.rs:142:13)",
        "北京的天气怎么样？今日は寒いですね。한국어 문장입니다. Привет, мир! Γειά σου Κόσμε שָׁלוֹם مرحبا हिन्दी",
        "🎉👩‍💻 done ✅ 1️⃣ → 2️⃣ │ ├── src └── lib ½ ² ™ ﬁne №5 ℃ Å",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 v1.2.3-rc.1+build.5 0x7fff_ffff",
        "don't can't I'll the user's co-operate e.g. i.e. U.S.A. $1,234.56 50% #42 @someone a_b __init__ x++",
        "[CLS] a text that says [SEP] and [MASK] and [PAD] and [UNK] itself ##ing",
    ];
    for text in texts {
        assert_eq!(ids(text), reference(text), "{text}");
    }
}

/// Makes fragments that are joined without spaces, so that all sorts of neighbours occur.
fn fragment() -> impl Strategy<Value = String> {
    let special = [
        " ",
        "\n",
        "\r\n",
        "\t",
        "\0",
        "\u{1}",
        "\u{b}",
        "\u{c}",
        "\u{1b}[31m",
        "\u{7f}",
        "\u{80}",
        "\u{85}",
        "\u{a0}",
        "\u{ad}",
        "\u{200b}",
        "\u{200d}",
        "\u{2028}",
        "\u{202f}",
        "\u{3000}",
        "\u{feff}",
        "\u{fffd}",
        "\u{e000}",
        "\u{301}",
        "\u{323}",
        "\u{327}",
        "\u{34f}",
        "\u{302e}",
        "\u{302f}",
        "\u{1d165}",
        "\u{1d16d}",
        "\u{1d15f}",
        "\u{20e3}",
        "\u{fe0f}",
        "\u{338}",
        "é",
        "e\u{301}",
        "Å",
        "İ",
        "ı",
        "ß",
        "ẞ",
        "ﬁ",
        "ǆ",
        "Σ",
        "ς",
        "ὈΔΥΣΣΕΎΣ",
        "≠",
        "≮",
        ";",
        "·",
        "`",
        "〈",
        "K",
        "Ω",
        "北京",
        "\u{f900}",
        "\u{2f800}",
        "の",
        "が",
        "カ\u{3099}",
        "한국",
        "한",
        "ไทย",
        "हिन्दी",
        "שָׁ",
        "مرحبًا",
        "🎉",
        "👩‍💻",
        "1️⃣",
        "—",
        "’",
        "“",
        "…",
        "。",
        "、",
        "•",
        "→",
        "│",
        "$",
        "+",
        "<",
        "^",
        "`",
        "|",
        "~",
        "£",
        "€",
        "½",
        "²",
        "```rust\n",
        "**bold**",
        "- [ ] ",
        "[link](a/b.md)",
        "| a | b |",
        "self.rows[0]?",
        "=> {",
        "/* x */",
        "&mut ",
        "C:\\dir",
        "[SEP]",
        "##ing",
        "camelCaseName",
        "snake_case",
        "0xDEADBEEF",
        "v1.2.3",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ];
    let vocabulary = (999..WordPiece::bert().len() as u32).prop_map(|id| {
        let piece = WordPiece::bert().piece(id).unwrap();
        piece.strip_prefix("##").unwrap_or(piece).to_owned()
    });
    prop_oneof![
        4 => proptest::sample::select(special.map(str::to_owned).to_vec()),
        4 => vocabulary,
        1 => "[a-zA-Z]{1,12}",
        1 => "[ -~]{1,12}",
        1 => any::<char>().prop_map(String::from),
        1 => ("[aé한]", 95..106usize).prop_map(|(letter, count)| letter.repeat(count)),
    ]
}

fn fragments() -> impl Strategy<Value = String> {
    proptest::collection::vec(fragment(), 0..12).prop_map(|fragments| fragments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_the_tokens_of_the_reference(text in fragments()) {
        let text = agreed(&text);
        prop_assert_eq!(ids(&text), reference(&text), "{:?}", text);
    }

    #[test]
    fn any_characters_have_the_tokens_of_the_reference(letters in proptest::collection::vec(any::<char>(), 0..24)) {
        let text = agreed(&letters.into_iter().collect::<String>());
        prop_assert_eq!(ids(&text), reference(&text), "{:?}", text);
    }

    #[test]
    fn tokens_lie_in_order_and_miss_no_letter(text in fragments()) {
        let (mut start, mut end) = (0, 0);
        for piece in pieces(&text) {
            prop_assert!(piece.start < piece.end && text.is_char_boundary(piece.start) && text.is_char_boundary(piece.end));
            prop_assert!(piece.start >= start && piece.end >= end, "{piece:?} in {text:?}");
            prop_assert!(!piece.begins_word || piece.start >= end, "{piece:?} in {text:?}");
            if piece.start > end {
                prop_assert_eq!(ids(&text[end..piece.start]), Vec::<u32>::new(), "{:?} in {:?}", piece, text);
            }
            (start, end) = (piece.start, piece.end);
        }
        prop_assert_eq!(ids(&text[end..]), Vec::<u32>::new(), "{:?}", text);
    }

    #[test]
    fn a_text_can_be_cut_before_any_word(text in fragments(), which in any::<prop::sample::Index>()) {
        let pieces = pieces(&text);
        let words: Vec<usize> = (0..pieces.len()).filter(|at| pieces[*at].begins_word).collect();
        if words.is_empty() {
            return Ok(());
        }
        let at = words[which.index(words.len())];
        let piece = pieces[at];
        let all = ids(&text);
        prop_assert_eq!(ids(&text[..piece.start]), &all[..at], "{:?} in {:?}", piece, text);
        prop_assert_eq!(ids(&text[piece.start..]), &all[at..], "{:?} in {:?}", piece, text);
        if at > 0 {
            prop_assert_eq!(ids(&text[..pieces[at - 1].end]), &all[..at], "{:?} in {:?}", piece, text);
        }
    }

    #[test]
    fn a_limit_takes_the_first_tokens(text in fragments(), limit in 0..40usize) {
        let mut out = vec![7];
        WordPiece::bert().encode(&text, limit, &mut out);
        let all = ids(&text);
        prop_assert_eq!(out[0], 7);
        prop_assert_eq!(&out[1..], &all[..limit.min(all.len())]);
    }
}
