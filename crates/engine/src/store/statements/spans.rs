//! Stores the topics (spans) of conversations and their vectors.

use std::collections::HashMap;

use rusqlite::{Row, params};
use yore_core::span::ShiftSign;
use yore_core::time::UtcMillis;

use super::extraction::Shape;
use crate::store::feed::vectors::{pack, unpack};
use crate::store::keys::{EpisodeKey, ProjectKey, TurnKey, json_of};
use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

/// A span as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredSpan {
    pub episode: EpisodeKey,
    /// 0 for a topic, 1 for a part of one.
    pub depth: u32,
    pub first: TurnKey,
    pub last: TurnKey,
    pub exchanges: u32,
    /// The sign by which it was divided from the span before it.
    pub sign: Option<ShiftSign>,
    /// Mean vector of its exchanges by the static table; empty if nothing is known.
    pub vector: Vec<f32>,
    /// Name and summary that an agent gave.
    pub name: Option<String>,
    pub summary: Option<String>,
}

/// The spans that a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spans<'q> {
    /// Those of these conversations.
    Of(&'q [EpisodeKey]),
    /// The topics that began in a project (`None`: in none), without those of forgotten conversations.
    TopicsIn(Option<ProjectKey>),
}

impl StoredSpan {
    /// Returns spans by their conversations.
    pub(crate) fn by_episode(spans: Vec<Self>) -> HashMap<EpisodeKey, Vec<Self>> {
        let mut found: HashMap<EpisodeKey, Vec<Self>> = HashMap::new();
        for span in spans {
            found.entry(span.episode).or_default().push(span);
        }
        found
    }
}

const COLUMNS: &str = "span.episode_id, span.depth, span.first_turn, span.last_turn, span.exchanges, span.sign, span.vector, span.name, span.summary";

fn span(row: &Row<'_>) -> rusqlite::Result<StoredSpan> {
    Ok(StoredSpan {
        episode: row.get(0)?,
        depth: row.get(1)?,
        first: row.get(2)?,
        last: row.get(3)?,
        exchanges: row.get(4)?,
        sign: row.get::<_, Option<String>>(5)?.and_then(|sign| ShiftSign::parse(&sign)),
        vector: unpack(&row.get::<_, Vec<u8>>(6)?),
        name: row.get(7)?,
        summary: row.get(8)?,
    })
}

impl Store {
    /// Puts the spans of a conversation in the place of those that it had, and records that it was divided. A span that
    /// begins with the same turn at the same depth keeps the name and the summary that an agent gave it.
    pub(crate) fn put_spans(
        &self,
        episode: EpisodeKey,
        spans: &[StoredSpan],
        divider: &str,
        shape: Shape,
        at: UtcMillis,
    ) -> StoreResult<()> {
        self.write(|tx| {
            let known: HashMap<(TurnKey, u32), (Option<String>, Option<String>)> = tx
                .all(&format!("SELECT {COLUMNS} FROM span WHERE episode_id = ?1"), [episode], span)?
                .into_iter()
                .map(|span| ((span.first, span.depth), (span.name, span.summary)))
                .collect();
            tx.execute("DELETE FROM span WHERE episode_id = ?1", [episode])?;
            for (ordinal, span) in (0i64..).zip(spans) {
                let (name, summary) = known.get(&(span.first, span.depth)).cloned().unwrap_or_default();
                tx.execute(
                    "INSERT INTO span (episode_id, ordinal, depth, first_turn, last_turn, exchanges, sign, vector, name, summary)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                    params![
                        episode,
                        ordinal,
                        span.depth,
                        span.first,
                        span.last,
                        span.exchanges,
                        span.sign.map(ShiftSign::as_str),
                        pack(&span.vector),
                        name,
                        summary
                    ],
                )?;
            }
            super::extraction::note(tx, episode, divider, shape, at)
        })
    }

    /// Returns spans; those of one conversation follow each other in order, each topic before its parts.
    pub(crate) fn spans(&self, wanted: Spans<'_>) -> StoreResult<Vec<StoredSpan>> {
        self.read(|view| match wanted {
            Spans::Of(episodes) => {
                let sql = format!(
                    "SELECT {COLUMNS} FROM span WHERE episode_id IN (SELECT value FROM json_each(?1)) ORDER BY episode_id, ordinal"
                );
                view.all(&sql, [json_of(episodes)], span)
            }
            Spans::TopicsIn(project) => {
                let sql = format!(
                    "SELECT {COLUMNS} FROM span JOIN turn ON turn.id = span.first_turn JOIN episode ON episode.id = span.episode_id
                     WHERE span.depth = 0 AND turn.project_id IS ?1 AND episode.forgotten_ms IS NULL"
                );
                view.all(&sql, [project], span)
            }
        })
    }
}

impl WriteTx<'_> {
    /// Names the topic of a conversation that begins with a turn. Returns whether there is one.
    pub(super) fn name_topic(
        &self,
        episode: EpisodeKey,
        first: TurnKey,
        name: Option<&str>,
        summary: Option<&str>,
    ) -> StoreResult<bool> {
        let changed = self.execute(
            "UPDATE span SET name = coalesce(?3, name), summary = coalesce(?4, summary)
             WHERE episode_id = ?1 AND first_turn = ?2 AND depth = 0",
            params![episode, first, name, summary],
        )?;
        Ok(changed > 0)
    }
}
