//! The words of shared turns, as numbers that tell nothing outside of their project, and the score by which a search ranks turns.

use std::collections::BTreeMap;

use uuid::Uuid;
use yore_core::text::{Tokenizer, Tokens};

/// Parameters of BM25 (Robertson and Zaragoza 2009), as those of the index on members' computers.
pub(crate) const K1: f32 = 1.2;
pub(crate) const B: f32 = 0.75;

/// Makes numbers of the words of a project.
pub(crate) struct Words {
    key: [u8; 32],
    tokenizer: Tokenizer,
    tokens: Tokens,
}

/// The words of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// How often it has each word.
    pub words: BTreeMap<i64, i16>,
    /// Number of all.
    pub length: i32,
}

impl Words {
    /// Creates it for a project of a team: the same word has another number elsewhere.
    pub fn new(team: Uuid, project: &str) -> Self {
        let key = blake3::derive_key("yore team 2026 words of a project", &[team.as_bytes(), project.as_bytes()].concat());
        Self { key, tokenizer: Tokenizer::default(), tokens: Tokens::default() }
    }

    /// Returns the number of a word.
    pub fn number(&self, word: &str) -> i64 {
        let hash = blake3::keyed_hash(&self.key, word.as_bytes());
        hash.as_bytes().first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
    }

    /// Returns the words of a turn, with those of the speaker's name.
    pub fn count(&mut self, speaker: Option<&str>, text: &str) -> Counted {
        let mut tokens = std::mem::take(&mut self.tokens);
        let mut counted = Counted::default();
        for text in speaker.into_iter().chain([text]) {
            self.tokenizer.tokenize(text, &mut tokens);
            counted.length = counted.length.saturating_add(i32::try_from(tokens.len()).unwrap_or(i32::MAX));
            for token in tokens.iter() {
                let count = counted.words.entry(self.number(token.text)).or_default();
                *count = count.saturating_add(1);
            }
        }
        self.tokens = tokens;
        counted
    }
}

/// Returns the inverse document frequency of a word that so many of all turns have.
pub(crate) fn rarity(turns: u64, holding: u64) -> f32 {
    let (turns, holding) = (turns as f32, holding as f32);
    (1.0 + (turns - holding + 0.5).max(0.5) / (holding + 0.5)).ln()
}

/// Most turns that are scored: of the words of a question, the rarest are looked up until so many turns may have one. A question whose
/// words are all more common than that is answered by meaning alone.
const MOST_SCORED: u64 = 5_000;
/// Most words of a question by which turns are scored, the rarest.
const MOST_SCORING: usize = 48;

/// The words of a question that turns have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    /// Numbers of words by which turns are scored, the rarest first, each with its rarity.
    pub scoring: Vec<(i64, f32)>,
    /// How many of these, from the first, a turn must have one of.
    pub needed: usize,
}

impl Wanted {
    /// Chooses from words, each with the number of turns that have it.
    pub fn new(turns: u64, words: impl IntoIterator<Item = (i64, u64)>) -> Self {
        let mut held: Vec<(i64, u64)> = words.into_iter().filter(|(_, holding)| *holding > 0).collect();
        held.sort_by_key(|(word, holding)| (*holding, *word));
        held.dedup();
        held.truncate(MOST_SCORING);
        let mut sum = 0;
        let may_have = |(_, holding): &&(i64, u64)| {
            sum += holding;
            sum <= MOST_SCORED
        };
        let needed = held.iter().take_while(may_have).count();
        Self { scoring: held.into_iter().map(|(word, holding)| (word, rarity(turns, holding))).collect(), needed }
    }

    /// Returns the score of a turn; `None`: it has none of the needed words. `mean`: words of a turn, in the mean.
    pub fn score(&self, turn: &Counted, mean: f32) -> Option<f32> {
        let has = |(word, _): &(i64, f32)| turn.words.contains_key(word);
        if !self.scoring[..self.needed].iter().any(has) {
            return None;
        }
        let norm = K1 * (1.0 - B + B * turn.length as f32 / mean);
        let part = |(word, rarity): &(i64, f32)| {
            let count = f32::from(*turn.words.get(word)?);
            Some(rarity * count * (K1 + 1.0) / (count + norm))
        };
        Some(self.scoring.iter().filter_map(part).sum())
    }
}
