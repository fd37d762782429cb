//! Chooses the passage of a turn that is quoted for a question: the window with its rarest terms.

use std::collections::{HashMap, HashSet};

use super::question::Question;
use super::tokenizer::{Tokenizer, Tokens};

/// Bytes of a text that are searched; the rest of a very long text would slow recall down.
const SEARCHED_BYTES: usize = 8 * 1024;

/// Cuts a passage of at most about `max_chars` characters out of `text`, around the densest match of the
/// question's terms; the beginning if none matches. Newlines are kept, an ellipsis marks each cut. The text
/// is otherwise unchanged.
pub fn quote(text: &str, question: &Question, max_chars: usize, tokenizer: &mut Tokenizer) -> String {
    let text = text.trim();
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let mut tokens = Tokens::default();
    let searched = &text[..text.floor_char_boundary(SEARCHED_BYTES)];
    tokenizer.tokenize(searched, &mut tokens);
    let asked: HashMap<&str, usize> = question.terms.iter().enumerate().map(|(at, term)| (term.as_str(), at)).collect();
    let hits: Vec<(usize, usize, usize)> =
        tokens.iter().filter_map(|token| asked.get(token.text).map(|term| (token.start, token.end, *term))).collect();
    let window = best_window(&hits, max_chars);
    let (from, to) = match window {
        Some((start, end)) => {
            let spare = max_chars.saturating_sub(end - start) / 3;
            let from = text.floor_char_boundary(start.saturating_sub(spare));
            (from, text.floor_char_boundary((from + max_chars).min(text.len())))
        }
        None => (0, text.floor_char_boundary(max_chars)),
    };
    // Softened cuts of a very short passage may cross; then it is cut at the exact positions.
    let softened = (soften_start(text, from), soften_end(text, to));
    let (from, to) = if softened.0 < softened.1 { softened } else { (from, to) };
    let mut passage = String::with_capacity(to - from + 8);
    if from > 0 {
        passage.push('…');
    }
    passage.push_str(text[from..to].trim());
    if to < text.len() {
        passage.push('…');
    }
    passage
}

/// Returns the number of the question's terms that a text has.
pub fn asked_terms(text: &str, question: &Question, tokenizer: &mut Tokenizer) -> usize {
    let mut tokens = Tokens::default();
    tokenizer.tokenize(&text[..text.floor_char_boundary(SEARCHED_BYTES)], &mut tokens);
    let has: HashSet<&str> = tokens.iter().map(|token| token.text).collect();
    question.terms.iter().filter(|term| has.contains(term.as_str())).count()
}

/// Returns the window of at most `width` bytes with the most distinct terms, the earliest among equals.
fn best_window(hits: &[(usize, usize, usize)], width: usize) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize, usize)> = None;
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let mut first = 0;
    for (last, &(_, end, term)) in hits.iter().enumerate() {
        *counts.entry(term).or_default() += 1;
        while first < last && end - hits[first].0 > width {
            if let Some(count) = counts.get_mut(&hits[first].2) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&hits[first].2);
                }
            }
            first += 1;
        }
        if best.is_none_or(|(distinct, ..)| counts.len() > distinct) {
            best = Some((counts.len(), hits[first].0, end));
        }
    }
    best.map(|(_, start, end)| (start, end))
}

/// Moves a cut forward to the next boundary between words, if one is near.
fn soften_start(text: &str, at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    text[at..]
        .char_indices()
        .take(24)
        .find(|(_, letter)| letter.is_whitespace())
        .map_or(at, |(offset, letter)| at + offset + letter.len_utf8())
}

/// Moves a cut back to the last boundary between words, if one is near.
fn soften_end(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    text[..at].char_indices().rev().take(24).find(|(_, letter)| letter.is_whitespace()).map_or(at, |(offset, _)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn passage_holds_the_asked_words() {
        let text = format!("{} we moved the cache to sqlite because redis was down {}", "filler ".repeat(80), "more ".repeat(80));
        let mut tokenizer = Tokenizer::default();
        let question = Question::parse("why move the cache out of redis", &mut tokenizer);
        let passage = quote(&text, &question, 80, &mut tokenizer);
        assert!(passage.contains("cache") && passage.contains("redis"), "{passage}");
        assert!(passage.starts_with('…') && passage.ends_with('…'));
    }

    #[test]
    fn very_short_passage_of_long_words_is_cut_hard() {
        let mut tokenizer = Tokenizer::default();
        let question = Question::parse("zzz", &mut tokenizer);
        for max in 1..8 {
            quote("a bcdefghijkl mnopqrstuvw zzz xyz", &question, max, &mut tokenizer);
        }
    }

    proptest! {
        #[test]
        fn passage_is_words_of_the_text(text in "\\PC{0,300}", asked in "\\PC{0,20}", max in 1usize..80) {
            let mut tokenizer = Tokenizer::default();
            let question = Question::parse(&asked, &mut tokenizer);
            let passage = quote(&text, &question, max, &mut tokenizer);
            prop_assert!(text.contains(passage.trim_start_matches('…').trim_end_matches('…')) || passage.contains('…') && text.contains('…'));
        }
    }
}
