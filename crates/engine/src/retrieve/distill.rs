//! DISTILL: one order. A turn counts for more beside a turn that answers, and in a session that
//! answers with several turns.

use yore_core::rank::{Placed, neighbour_support, session_support};

use super::RecallRequest;
use super::land::Candidate;
use crate::store::SPOKEN_GAP;

/// A candidate with its final score.
pub(super) struct Ranked {
    pub candidate: Candidate,
    pub neighbour: f32,
    pub session: f32,
    pub score: f32,
}

/// Best first; among equals the newest.
pub(super) fn distill(landed: Vec<Candidate>, request: &RecallRequest) -> Vec<Ranked> {
    let mut placed: Vec<Placed> = landed
        .iter()
        .map(|candidate| Placed {
            episode: candidate.episode,
            position: candidate.position as f64 / SPOKEN_GAP as f64,
            score: candidate.words + candidate.meaning,
        })
        .collect();
    let neighbours: Vec<f32> = neighbour_support(&placed).into_iter().map(|support| request.neighbour_weight * support).collect();
    for (placed, neighbour) in placed.iter_mut().zip(&neighbours) {
        placed.score += neighbour;
    }
    let sessions = session_support(&placed);
    let mut ranked: Vec<Ranked> = landed
        .into_iter()
        .zip(neighbours)
        .zip(sessions)
        .map(|((candidate, neighbour), session)| {
            let session = request.session_weight * session;
            let score = candidate.words + candidate.meaning + neighbour + session;
            Ranked { candidate, neighbour, session, score }
        })
        .collect();
    ranked.sort_by(|a, b| {
        let (left, right) = (&a.candidate, &b.candidate);
        b.score.total_cmp(&a.score).then((right.at, right.row).cmp(&(left.at, left.row)))
    });
    ranked
}
