//! Titles and summaries that a model gave whole sessions.

use std::collections::HashMap;

use rusqlite::params;
use yore_core::time::UtcMillis;

use super::keys::{EpisodeKey, TurnKey, json_of};
use super::{Store, StoreResult};

/// What a model said of a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredSummary {
    pub title: String,
    pub summary: String,
    /// The last turn that it knows.
    pub last: TurnKey,
}

impl Store {
    /// Puts the summary of a session in the place of the one before. `made_by`: name and version of what made it.
    pub(crate) fn put_summary(
        &self,
        episode: EpisodeKey,
        summary: &StoredSummary,
        made_by: &str,
        at: UtcMillis,
    ) -> StoreResult<()> {
        self.write(|tx| {
            // Its last turn may have been forgotten meanwhile.
            tx.execute(
                "INSERT OR REPLACE INTO session_summary (episode_id, title, summary, last_turn, made_by, at_ms)
                 SELECT ?1, ?2, ?3, id, ?5, ?6 FROM turn WHERE id = ?4",
                params![episode, summary.title, summary.summary, summary.last, made_by, at],
            )
            .map(drop)
        })
    }

    /// Returns the summaries of those of these sessions that have one.
    pub(crate) fn summaries_of(&self, episodes: &[EpisodeKey]) -> StoreResult<HashMap<EpisodeKey, StoredSummary>> {
        self.read(|view| {
            let sql = "SELECT episode_id, title, summary, last_turn FROM session_summary
                       WHERE episode_id IN (SELECT value FROM json_each(?1))";
            let rows = view.all(sql, [json_of(episodes)], |row| {
                Ok((row.get(0)?, StoredSummary { title: row.get(1)?, summary: row.get(2)?, last: row.get(3)? }))
            })?;
            Ok(rows.into_iter().collect())
        })
    }
}
