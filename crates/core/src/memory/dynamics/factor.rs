//! Weighs a memory among others that are as near to a question, by its state: one factor, with presets of the designs' weights.

use super::preset::Preset;
use super::{Dynamics, State};
use crate::memory::{Lane, Memory};
use crate::time::UtcMillis;

/// Weights of the signals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Weights {
    similarity: f64,
    decay: f64,
    importance: f64,
    recency: f64,
    graph: f64,
    kind: f64,
    persistence: f64,
    strength: f64,
    used: f64,
    pinned: f64,
    person: f64,
}

/// Signals of a candidate that come from the question, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    /// Similarity to the question.
    pub similarity: f64,
    /// Nearness by relations.
    pub graph: f64,
    /// 1 if the question asks for its kind.
    pub kind: f64,
    /// Number of relations of the memory.
    pub degree: usize,
}

/// Added to the certainty for the factor: a memory says in a sentence what turns say in many.
/// Chosen by cross-validation (`docs/measurements.md`, "Extraction").
const DENSE: f64 = 0.5;

impl Preset {
    fn weights(self) -> Weights {
        let none = Weights::default();
        match self {
            Self::Small => {
                Weights { similarity: 0.91, importance: 0.06, used: 0.03, pinned: 0.03, person: 0.03, strength: 0.03, ..none }
            }
            Self::Decay => Weights { similarity: 0.5, decay: 0.3, importance: 0.2, ..none },
            Self::Hybrid => {
                Weights { similarity: 0.35, decay: 0.20, importance: 0.15, recency: 0.10, graph: 0.10, kind: 0.10, ..none }
            }
            Self::Lazy => Weights { similarity: 0.6, persistence: 0.2, strength: 0.2, ..none },
            Self::Off => Weights { similarity: 1.0, ..none },
        }
    }
}

impl Dynamics {
    /// Returns the preset's score of a memory: the sum of its signals by the weights.
    pub fn score(&self, state: &State<'_>, signals: Signals, now: UtcMillis) -> f64 {
        let weights = self.preset.weights();
        // A view that has no weight is not computed: recall asks this of hundreds of memories.
        let part = |weight: f64, value: &dyn Fn() -> f64| if weight == 0.0 { 0.0 } else { weight * value() };
        let sign = |holds: bool| if holds { 1.0 } else { 0.0 };
        part(weights.similarity, &|| signals.similarity)
            + part(weights.decay, &|| self.decay_score(state, now))
            + part(weights.importance, &|| self.importance(state, now))
            + part(weights.recency, &|| self.recency(state, now))
            + part(weights.graph, &|| signals.graph)
            + part(weights.kind, &|| signals.kind)
            + part(weights.persistence, &|| self.persistence(state, signals.degree, now))
            + part(weights.strength, &|| self.strength(state, now))
            + part(weights.used, &|| self.frequency(state))
            + part(weights.pinned, &|| sign(state.memory.is_pinned))
            + part(weights.person, &|| sign(state.memory.lane == Lane::Curated))
    }

    /// Returns the factor of a memory's score among hits of other kinds: its [`Self::score`] at full similarity, relative to that of
    /// a person's new memory of the usual importance, times half and its certainty.
    ///
    /// It multiplies, and adds nothing: turns have no such score, and what does not bear on the question comes first by no age.
    pub fn factor(&self, state: &State<'_>, now: UtcMillis) -> f32 {
        let signals = Signals { similarity: 1.0, ..Signals::default() };
        let usual = Memory::new(state.memory.id, state.memory.kind, "", now);
        let usual = self.score(&State::unused(&usual), signals, now);
        let dense = DENSE + f64::from(state.memory.certainty);
        (dense * self.score(state, signals, now) / usual) as f32
    }
}
