//! Folds near duplicates into the better turn of an answer.

use yore_core::episode::EpisodeKind;
use yore_core::query::Place;
use yore_core::text::{NEAR_DUPLICATE, Shingles};

use super::rank::Ranked;
use super::texts::Texts;
use super::{Asked, RecallRequest};
use crate::error::EngineError;
use crate::store::{ShownTurn, TurnKey};

/// Similarity from which two passages count as the same.
const SAME_PASSAGE: f32 = 0.97;

/// A hit in preparation.
pub(super) struct Kept<'r> {
    pub ranked: &'r Ranked,
    pub turn: ShownTurn,
    shingles: Shingles,
    /// Places of its near duplicates.
    pub also: Vec<Place>,
}

/// Reads the text of the next turns; a near duplicate is attached to the better turn.
pub(super) fn read<'r>(
    asked: &Asked<'_>,
    batch: &'r [Ranked],
    request: &RecallRequest,
    texts: &mut Texts,
    kept: &mut Vec<Kept<'r>>,
) -> Result<(), EngineError> {
    let rows: Vec<TurnKey> = batch.iter().map(Ranked::row).collect();
    texts.load(asked.store, &rows)?;
    for ranked in batch {
        if kept.len() == request.limit {
            break;
        }
        // The turn was deleted after the index was searched.
        let Some(turn) = texts.take(ranked.row()) else { continue };
        let mut shingles = Shingles::default();
        if request.is_folded && !turn.text.is_empty() {
            shingles = Shingles::of(&turn.text);
            // Passages of files and pages are often alike on purpose, and each has its own content.
            let least = if turn.kind == EpisodeKind::Document { SAME_PASSAGE } else { NEAR_DUPLICATE };
            let is_same = |better: &&mut Kept<'_>| {
                better.turn.kind == turn.kind && !better.turn.text.is_empty() && better.shingles.is_near(&shingles, least)
            };
            if let Some(better) = kept.iter_mut().find(is_same) {
                better.also.push(turn.place());
                continue;
            }
        }
        kept.push(Kept { ranked, turn, shingles, also: Vec::new() });
    }
    Ok(())
}
