//! Ranks the files that agents opened when something was worked on before.

use yore_core::episode::EpisodeKind;
use yore_core::files::{RankedFile, rank_files};
use yore_core::time::UtcMillis;

use super::{Found, Hit};
use crate::error::EngineError;
use crate::store::{Store, TurnKey};

/// Number of hits whose exchanges vote.
const VOTING: usize = 20;

/// Ranks the files that agents opened in the exchanges of these hits, best first. What is often opened in the
/// same projects, before `until`, breaks ties.
pub(crate) fn worked_files(store: &Store, hits: &[Hit], until: Option<UtcMillis>) -> Result<Vec<RankedFile>, EngineError> {
    let mut exchanges = Vec::new();
    let mut rows: Vec<TurnKey> = Vec::new();
    for hit in hits.iter().take(VOTING) {
        let Found::Turn(turn) = &hit.found;
        if turn.kind != EpisodeKind::Document {
            rows.push(turn.row);
            exchanges.push(store.exchange_files(turn.row)?);
        }
    }
    if exchanges.iter().all(Vec::is_empty) {
        return Ok(Vec::new());
    }
    let mut files = rank_files(&exchanges, &store.popular_files(&rows, until)?);
    files.retain(|file| file.read + file.written > 0);
    Ok(files)
}
