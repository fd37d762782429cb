//! Stores titles and summaries that a model gave to sessions.

use std::collections::HashMap;

use rusqlite::params;
use yore_core::time::UtcMillis;

use crate::store::keys::{EpisodeKey, TurnKey, json_of};
use crate::store::{Store, StoreResult};

/// Title and summary that a model gave a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredSummary {
    pub title: String,
    pub summary: String,
    /// The last turn that it knows.
    pub last: TurnKey,
}

/// A name for the topic that begins with a turn; what is `None` stays as it is.
#[derive(Clone, Debug)]
pub(crate) struct TopicName {
    pub first: TurnKey,
    pub name: Option<String>,
    pub summary: Option<String>,
}

impl Store {
    /// Puts the summary of a session, if there is one, in the place of the one before, and names its topics. Returns the number of topics that
    /// got a name; `None`, and stores nothing, if one of the turns that they were made from (`given`) is gone. `made_by`: name and version of
    /// what made the summary.
    pub(crate) fn put_summary(
        &self,
        episode: EpisodeKey,
        given: &[TurnKey],
        topics: &[TopicName],
        summary: Option<&StoredSummary>,
        made_by: &str,
        at: UtcMillis,
    ) -> StoreResult<Option<u64>> {
        self.write(|tx| {
            // It may repeat words that were forgotten meanwhile.
            let gone = "SELECT 1 FROM json_each(?1) WHERE value NOT IN (SELECT id FROM turn)";
            if tx.first_value::<i64>(gone, [json_of(given)])?.is_some() {
                return Ok(None);
            }
            let mut named = 0;
            for TopicName { first, name, summary } in topics {
                named += u64::from(tx.name_topic(episode, *first, name.as_deref(), summary.as_deref())?);
            }
            if let Some(summary) = summary {
                tx.execute(
                    "INSERT OR REPLACE INTO session_summary (episode_id, title, summary, last_turn, made_by, at_ms)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![episode, summary.title, summary.summary, summary.last, made_by, at],
                )?;
            }
            Ok(Some(named))
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
