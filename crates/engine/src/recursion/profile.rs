//! Properties of language models by name: how much they read, how well they write programs, how much a run may ask of them.

use serde::{Deserialize, Serialize};

use crate::llm::Model;

/// Share of a window that is kept for the answer (S1-115).
const RESERVE: f64 = 0.25;
/// Bytes of a token, at least.
const BYTES: usize = 3;
/// Largest batch that a reader gets, in bytes: about what readers answer best (recursive.md: "fat prompts, small batches").
const LARGEST_BATCH: usize = 100_000;
/// Below so many tokens one prompt with everything is as good as any strategy.
const DIRECT_TOKENS: u64 = 16_000;

/// The ability to write programs (S1-114).
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    /// None that is known.
    Limited,
    /// Good enough for short programs.
    Good,
    /// Excellent.
    Excellent,
}

/// The properties of a model.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Profile {
    /// Tokens of prompt and answer together.
    pub window: u64,
    /// The ability to write programs.
    pub coding: Coding,
    /// Most calls of a run (S1-113).
    pub most_calls: u64,
    /// Bytes of pieces that a reader gets at once.
    pub batch: usize,
    /// Most tokens of pieces that are read in one prompt, without a strategy.
    pub direct_tokens: u64,
    /// Calls side by side (C-098).
    pub at_once: usize,
}

/// Names of families of models, with their window, coding ability and most calls; the first that is part of the name counts.
const FAMILIES: [(&str, u64, Coding, u64); 16] = [
    ("haiku", 200_000, Coding::Good, 100),
    ("claude", 200_000, Coding::Excellent, 100),
    ("sonnet", 200_000, Coding::Excellent, 100),
    ("opus", 200_000, Coding::Excellent, 100),
    ("gpt-5", 272_000, Coding::Excellent, 100),
    ("codex", 272_000, Coding::Excellent, 100),
    ("gpt-4", 128_000, Coding::Good, 100),
    ("o3", 200_000, Coding::Excellent, 100),
    ("o4", 200_000, Coding::Excellent, 100),
    ("gemini", 1_000_000, Coding::Excellent, 100),
    ("deepseek", 128_000, Coding::Good, 50),
    ("kimi", 128_000, Coding::Good, 50),
    ("glm", 128_000, Coding::Good, 50),
    ("qwen3-coder", 128_000, Coding::Good, 50),
    ("qwen", 32_000, Coding::Limited, 50),
    ("folder", 200_000, Coding::Good, 100),
];

impl Profile {
    /// Returns the properties of a model: those of its family, or those of a small one for a model that answers on this computer and is of
    /// no known family.
    pub fn of(model: &Model) -> Self {
        let name = model.name().to_lowercase();
        let known = FAMILIES.iter().find(|(family, ..)| name.contains(family));
        match known {
            Some((_, window, coding, most_calls)) if !model.is_small() => Self::new(*window, *coding, *most_calls),
            _ if model.is_small() => Self::new(16_000, Coding::Limited, 20),
            _ => Self::new(64_000, Coding::Limited, 50),
        }
    }

    fn new(window: u64, coding: Coding, most_calls: u64) -> Self {
        let room = (window as f64 * (1.0 - RESERVE)) as u64;
        let batch = (room as usize / 2 * BYTES).min(LARGEST_BATCH);
        Self { window, coding, most_calls, batch, direct_tokens: DIRECT_TOKENS.min(room / 2), at_once: 5 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{Backoff, Way};

    fn of(name: &str, is_small: bool) -> Profile {
        Profile::of(&Model::new(name, Way::Folder("x".into()), Backoff::ONCE).of_size(is_small))
    }

    #[test]
    fn a_model_has_the_properties_of_its_family() {
        assert_eq!(of("anthropic/claude-sonnet-4-5", false).coding, Coding::Excellent);
        assert_eq!(of("claude/haiku", false).coding, Coding::Good);
        assert_eq!((of("x/unheard-of", false).coding, of("x/unheard-of", false).most_calls), (Coding::Limited, 50));
        let small = of("ollama/qwen3:8b", true);
        assert_eq!((small.coding, small.most_calls), (Coding::Limited, 20));
        for profile in [small, of("gemini/gemini-3", false)] {
            let read = profile.batch as u64 / BYTES as u64;
            assert!(read * 4 <= profile.window * 3, "a quarter of the window is left for the answer");
        }
    }
}
