//! Finds the files that agents opened in earlier work on the same question.

use std::collections::HashSet;

use yore_core::files::{Opened, RankedFile, rank_files};
use yore_core::time::UtcMillis;

use super::{Hit, QueryContext};
use crate::error::EngineError;
use crate::store::{Store, TurnKey};

/// Number of hits whose exchanges vote.
const VOTING: usize = 20;
/// Maximum number of files.
const MOST_FILES: usize = 20;

/// Ranks the files that agents opened in the exchanges of these hits, best first. Files that are often opened in
/// the same projects, before `until`, come before equal ones.
pub(super) fn worked_files(
    context: &QueryContext<'_>,
    hits: &[Hit],
    until: Option<UtcMillis>,
) -> Result<Vec<RankedFile>, EngineError> {
    let store = context.store;
    let exchanges = opened_in_exchanges(store, hits)?;
    if exchanges.iter().all(Vec::is_empty) {
        return Ok(Vec::new());
    }
    let rows: Vec<TurnKey> = hits.iter().take(VOTING).filter_map(Hit::turn_key).collect();
    let opened: HashSet<&str> = exchanges.iter().flatten().map(|file| file.path.as_str()).collect();
    // As many files are opened as there are turns, roughly; to count them would take longer than the search.
    let mut files = rank_files(&exchanges, &store.popular_files(&rows, &opened, until)?, context.lexical.len());
    files.truncate(MOST_FILES);
    Ok(files)
}

/// Returns, for each of the first hits, the files that agents opened in its exchange.
pub(crate) fn opened_in_exchanges(store: &Store, hits: &[Hit]) -> Result<Vec<Vec<Opened>>, EngineError> {
    let files = |hit: &Hit| hit.turn_key().map_or(Ok(Vec::new()), |turn| Ok(store.exchange_work(turn, false)?.opened));
    hits.iter().take(VOTING).map(files).collect()
}
