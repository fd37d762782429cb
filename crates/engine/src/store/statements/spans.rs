//! Stores the structure of conversations: their topics (spans) with vectors, and the events that their tools report.

use std::collections::HashMap;

use rusqlite::{Row, params};
use yore_core::command::Attempt;
use yore_core::event::{Event, EventKind, EventState};
use yore_core::id::TurnId;
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

/// The data that are derived from the structure of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Structure<'s> {
    pub spans: &'s [StoredSpan],
    pub events: &'s [Event<TurnKey>],
    pub attempts: &'s [Attempt<TurnKey>],
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

/// The events that a caller wants; no condition lets all through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EventFilter<'q> {
    /// Kinds; empty: all.
    pub kinds: &'q [EventKind],
    pub projects: Option<&'q [ProjectKey]>,
    pub episodes: Option<&'q [EpisodeKey]>,
    /// Reported at or after this time, and before that.
    pub since: Option<UtcMillis>,
    pub until: Option<UtcMillis>,
}

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredEvent {
    pub event: Event<TurnId>,
    /// The turn that reports it last.
    pub turn: TurnKey,
    pub episode: EpisodeKey,
    /// The project of that turn.
    pub project: Option<ProjectKey>,
}

fn event(row: &Row<'_>) -> rusqlite::Result<StoredEvent> {
    Ok(StoredEvent {
        event: Event {
            kind: EventKind::parse(&row.get::<_, String>(0)?).unwrap_or(EventKind::Command),
            state: EventState::parse(&row.get::<_, String>(1)?).unwrap_or(EventState::Seen),
            name: row.get(2)?,
            text: row.get(3)?,
            turn: TurnId::from_bytes(row.get(4)?),
            at: row.get(5)?,
            count: row.get(6)?,
        },
        turn: row.get(8)?,
        episode: row.get(7)?,
        project: row.get(9)?,
    })
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
    /// Puts the spans, events and attempts of a conversation in the place of those that it had, and records that it was divided. A span that
    /// begins with the same turn at the same depth keeps the name and the summary that an agent gave it.
    pub(crate) fn put_spans(
        &self,
        episode: EpisodeKey,
        structure: Structure<'_>,
        divider: &str,
        shape: Shape,
        at: UtcMillis,
    ) -> StoreResult<()> {
        let Structure { spans, events, attempts } = structure;
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
            tx.execute("DELETE FROM event WHERE episode_id = ?1", [episode])?;
            for (ordinal, event) in (0i64..).zip(events) {
                let (kind, state) = (event.kind.as_str(), event.state.as_str());
                tx.execute(
                    "INSERT INTO event (episode_id, ordinal, kind, state, name, text, turn_id, count) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    params![episode, ordinal, kind, state, event.name, event.text, event.turn, event.count],
                )?;
            }
            tx.put_attempts(episode, attempts)?;
            super::extraction::note(tx, episode, divider, shape, at)
        })
    }

    /// Returns events of conversations that are not forgotten, the latest first.
    pub(crate) fn events(&self, filter: &EventFilter<'_>) -> StoreResult<Vec<StoredEvent>> {
        let EventFilter { kinds, projects, episodes, since, until } = *filter;
        let kinds = serde_json::Value::from_iter(kinds.iter().map(|kind| kind.as_str())).to_string();
        self.read(|view| {
            view.all(
                "SELECT event.kind, state, name, text, turn.uid, turn.at_ms, count, event.episode_id, event.turn_id, turn.project_id
                 FROM event JOIN turn ON turn.id = event.turn_id JOIN episode ON episode.id = event.episode_id
                 WHERE episode.forgotten_ms IS NULL
                   AND (?1 = '[]' OR event.kind IN (SELECT value FROM json_each(?1)))
                   AND (?2 IS NULL OR turn.project_id IN (SELECT value FROM json_each(?2)))
                   AND (?3 IS NULL OR event.episode_id IN (SELECT value FROM json_each(?3)))
                   AND (?4 IS NULL OR turn.at_ms >= ?4) AND (?5 IS NULL OR turn.at_ms < ?5)
                 ORDER BY turn.at_ms DESC, event.episode_id DESC, ordinal DESC",
                params![kinds, projects.map(json_of), episodes.map(json_of), since, until],
                event,
            )
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
