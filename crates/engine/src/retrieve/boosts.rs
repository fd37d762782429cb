//! Ranks the candidates: adds boosts for neighbouring hits and for sessions with several hits (phase DISTILL).

use yore_core::query::{Part, ScorePart};
use yore_core::rank::{Placed, mean_and_spread, neighbour_support, session_support};

use super::candidate::Candidate;
use super::plan::Plan;
use crate::store::{ItemKey, RowKey, SPOKEN_GAP};

/// A candidate with its final score.
pub(super) struct Ranked {
    pub candidate: Candidate,
    /// Scores added to the lists' contributions.
    pub support: Vec<ScorePart>,
    pub score: f32,
}

impl Ranked {
    /// Returns its key.
    pub(super) fn key(&self) -> ItemKey {
        self.candidate.key
    }

    /// Adds a part to the score.
    pub(super) fn add(&mut self, part: ScorePart) {
        self.score += part.value;
        self.support.push(part);
    }
}

/// Returns the standard deviation of scores.
pub(super) fn spread_of(ranked: &[Ranked]) -> f32 {
    mean_and_spread(&ranked.iter().map(|ranked| ranked.score).collect::<Vec<_>>()).1
}

/// Ranks the candidates, best first; equal ones newest first.
pub(super) fn rank(landed: Vec<Candidate>, plan: &Plan<'_>) -> Vec<Ranked> {
    let mut placed: Vec<Placed> = landed
        .iter()
        .map(|candidate| Placed {
            episode: candidate.position.episode.get(),
            position: candidate.position.index as f64 / SPOKEN_GAP as f64,
            score: candidate.score(),
        })
        .collect();
    let weight = plan.request.tuning.neighbour_weight;
    let neighbours: Vec<f32> = neighbour_support(&placed).into_iter().map(|support| weight * support).collect();
    for (placed, neighbour) in placed.iter_mut().zip(&neighbours) {
        placed.score += neighbour;
    }
    let sessions = session_support(&placed);
    let mut ranked: Vec<Ranked> = landed
        .into_iter()
        .zip(neighbours)
        .zip(sessions)
        .map(|((candidate, neighbour), session)| {
            let session = plan.request.tuning.session_weight * session;
            let score = candidate.score() + neighbour + session;
            let support = [(Part::Neighbour, neighbour), (Part::Session, session)];
            Ranked { candidate, support: support.map(|(part, value)| ScorePart { part, value }).to_vec(), score }
        })
        .collect();
    ranked.sort_by(|a, b| {
        let newness = |ranked: &Ranked| (ranked.candidate.position.at, ranked.candidate.key);
        b.score.total_cmp(&a.score).then(newness(b).cmp(&newness(a)))
    });
    ranked
}
