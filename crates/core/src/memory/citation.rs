//! Decides whether an agent repeated a memory that it was given: in its answer, in a command or in an edit.
//!
//! Only terms that the session had not met by itself count: what stood in a prompt, in a file that was read or in the output of a tool is no
//! evidence that the memory was of use. Rare terms count more than common ones.

use std::collections::HashSet;

use crate::text::{Tokenizer, Tokens, is_stop_word};

/// Length of a passage in words: what the agent repeats stands close together.
const PASSAGE: usize = 60;
/// Least share of a statement, by the rarity of its terms, that one passage must repeat, and least number of its terms.
const LEAST_SHARE: f32 = 0.35;
const LEAST_TERMS: usize = 2;

/// A text of a session, in the order of the session.
#[derive(Clone, Copy, Debug)]
pub enum Spoken<'t> {
    /// By anybody but the agent: the person, a tool's output, a file.
    Heard(&'t str),
    /// By the agent: an answer, or the input of a tool.
    Said(&'t str),
}

/// A statement as a set of terms, each with its rarity.
#[derive(Clone, Debug, Default)]
pub struct Given {
    terms: Vec<(String, f32)>,
}

impl Given {
    /// Makes it from the terms of a statement and their rarities, as [`terms`] returns the former.
    pub fn new(terms: Vec<String>, rarities: &[f32]) -> Self {
        Self { terms: terms.into_iter().zip(rarities.iter().copied()).collect() }
    }

    /// Returns whether a session repeated the statement after it was given. `before`: what was said until then; `after`: what followed.
    pub fn is_cited(&self, before: &[Spoken<'_>], after: &[Spoken<'_>], tokenizer: &mut Tokenizer) -> bool {
        let (share, terms) = self.repeated(before, after, tokenizer);
        terms >= LEAST_TERMS && share >= LEAST_SHARE
    }

    /// Returns the greatest share of the statement that a passage of the agent repeats and that the session had not met before it, by the
    /// rarity of the terms (0 to 1), and the number of these terms.
    pub fn repeated(&self, before: &[Spoken<'_>], after: &[Spoken<'_>], tokenizer: &mut Tokenizer) -> (f32, usize) {
        let whole: f32 = self.terms.iter().map(|(_, rarity)| rarity).sum();
        let mut unmet: HashSet<&str> = self.terms.iter().map(|(term, _)| term.as_str()).collect();
        let rarity = |wanted: &str| self.terms.iter().find(|(term, _)| term == wanted).map_or(0.0, |(_, rarity)| *rarity);
        let mut tokens = Tokens::default();
        for spoken in before {
            let (Spoken::Heard(text) | Spoken::Said(text)) = spoken;
            tokenizer.tokenize(text, &mut tokens);
            tokens.iter().for_each(|token| {
                unmet.remove(token.text);
            });
        }
        let mut best = (0.0, 0);
        for spoken in after {
            if unmet.is_empty() {
                break;
            }
            match spoken {
                Spoken::Heard(text) => {
                    tokenizer.tokenize(text, &mut tokens);
                    tokens.iter().for_each(|token| {
                        unmet.remove(token.text);
                    });
                }
                Spoken::Said(text) => {
                    tokenizer.tokenize(text, &mut tokens);
                    let found: Vec<(usize, &str)> =
                        tokens.iter().filter_map(|token| Some((token.position, *unmet.get(token.text)?))).collect();
                    for (at, (start, _)) in found.iter().enumerate() {
                        let near = found[at..].iter().take_while(|(position, _)| position - start < PASSAGE);
                        let terms: HashSet<&str> = near.map(|(_, term)| *term).collect();
                        let share = terms.iter().map(|term| rarity(term)).sum::<f32>() / whole.max(f32::MIN_POSITIVE);
                        if share > best.0 {
                            best = (share, terms.len());
                        }
                    }
                }
            }
        }
        best
    }
}

/// Returns the distinct terms of a statement by which a citation is found.
pub fn terms(statement: &str, tokenizer: &mut Tokenizer) -> Vec<String> {
    let mut tokens = Tokens::default();
    tokenizer.tokenize(statement, &mut tokens);
    let mut terms: Vec<String> = tokens.iter().map(|token| token.text.to_owned()).filter(|term| !is_stop_word(term)).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}
