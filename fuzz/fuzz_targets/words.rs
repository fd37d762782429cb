//! All functions on text: cuts are at character boundaries, and every returned part occurs in the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yore_core::text::{
    CHUNK_TOKENS, Question, Shingles, Tokenizer, chunks, code_blocks, error_line, error_lines, error_reasons, excerpt, key_concepts,
    language_name, paths, preview, quote, steady,
};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (asked, text) = text.split_once('\n').unwrap_or(("tide", &text));
    let mut tokenizer = Tokenizer::default();
    let question = Question::parse(asked, &mut tokenizer);
    for chars in [1, 7, 240] {
        let _ = quote(text, &question, chars, &mut tokenizer);
    }
    for limit in [1, 9, CHUNK_TOKENS] {
        for chunk in chunks(text, limit) {
            assert!(!text[chunk.start..chunk.end].is_empty());
        }
    }
    for block in code_blocks(text) {
        let unit = &text[block.with_caption(text)];
        assert!(unit.contains(&text[block.code.clone()]));
        let _ = block.language.as_deref().map(language_name);
    }
    for mention in paths(text) {
        assert!(text.contains(mention.path));
    }
    for line in error_lines(text) {
        let _ = steady(line);
    }
    let _ = (error_line(text), error_reasons(text, 3), preview(text, 80), key_concepts(text, &[]), Shingles::of(text));
    let _ = excerpt(text, 64);
});
