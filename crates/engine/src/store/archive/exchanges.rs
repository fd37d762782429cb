//! Reads exchanges: a person's turn with all that follows until the next one.

use std::collections::HashMap;

use rusqlite::params;
use yore_core::episode::Outcome;
use yore_core::files::Opened;

use super::episodes::{SHOWN_COLUMNS, SHOWN_JOINS, shown_turn};
use super::structure::opened;
use super::words;
use crate::store::keys::{TurnKey, json_of};
use crate::store::local::transaction::View;
use crate::store::{ShownTurn, Store, StoreResult};

/// Maximum number of tool calls of an exchange that are read.
const MOST_CALLS: usize = 400;

/// The exchange of the turn `?1`, for a statement that reads its turns by [`IN_EXCHANGE`].
const EXCHANGE: &str = "WITH own AS (SELECT episode_id, project_id, position FROM turn WHERE id = ?1),
     span AS (SELECT own.episode_id, own.project_id,
         coalesce((SELECT max(position) FROM turn WHERE episode_id = own.episode_id AND position <= own.position
             AND role = 'human'), own.position) AS start,
         (SELECT min(position) FROM turn WHERE episode_id = own.episode_id AND position > own.position
             AND role = 'human') AS next FROM own)";
/// The turns of an exchange. One that moved on to another project is not told there.
const IN_EXCHANGE: &str = "span JOIN turn ON turn.episode_id = span.episode_id AND turn.project_id IS span.project_id
     AND turn.position >= span.start AND turn.position < coalesce(span.next, 9223372036854775807)";

/// A tool call of an exchange.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    /// Its inputs.
    pub input: String,
    /// Its outcome, if that was recorded.
    pub outcome: Option<Outcome>,
}

/// A row about a tool call, or about its result.
struct Recorded {
    call: Option<i64>,
    outcome: Option<Outcome>,
    /// The text of the turn that makes the call.
    words: Option<Vec<u8>>,
}

/// The place of a turn in its exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExchangePlace {
    /// Position of the last human turn of its episode up to it, at which the exchange begins; -1 if there is none.
    pub start: i64,
    /// True if no agent speaks after it in the exchange.
    pub is_last: bool,
    /// True if a human speaks next.
    pub is_answered: bool,
}

/// The work of an exchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExchangeWork {
    /// The files that tools opened.
    pub opened: Vec<Opened>,
    /// The last tool calls, in order, with their outcomes; empty unless they were asked for.
    pub calls: Vec<Called>,
}

impl View<'_> {
    /// Returns the files that tools opened in the exchange of a turn.
    fn exchange_files(&self, turn: TurnKey) -> StoreResult<Vec<Opened>> {
        let found = self.all(
            &format!(
                "{EXCHANGE}
             SELECT path.text, cwd.text, max(turn_file.action) FROM {IN_EXCHANGE}
             JOIN turn_file ON turn_file.turn_id = turn.id JOIN path ON path.id = turn_file.path_id
             LEFT JOIN label AS cwd ON cwd.id = turn.cwd_id
             WHERE turn_file.action <> 'mentioned' GROUP BY path.text ORDER BY path.text"
            ),
            [turn],
            opened,
        )?;
        Ok(found)
    }

    /// Returns the last tool calls in the exchange of a turn, in order, with their outcomes.
    fn exchange_calls(&self, turn: TurnKey) -> StoreResult<Vec<Called>> {
        let mut found: Vec<Recorded> = self.all(
            &format!(
                "{EXCHANGE}
             SELECT tool_use.call, tool_use.outcome, iif(turn.role = 'tool_result', NULL, turn_text.words) FROM {IN_EXCHANGE}
             JOIN tool_use ON tool_use.turn_id = turn.id JOIN turn_text ON turn_text.turn_id = turn.id
             ORDER BY turn.position DESC, tool_use.seq DESC LIMIT ?2"
            ),
            params![turn, 2 * MOST_CALLS as i64],
            |row| {
                let outcome: Option<String> = row.get(1)?;
                let outcome = outcome.as_deref().and_then(Outcome::parse);
                Ok(Recorded { call: row.get(0)?, outcome, words: row.get(2)? })
            },
        )?;
        found.reverse();
        // A call and its result are recorded apart, under one number.
        let outcomes: HashMap<i64, Outcome> =
            found.iter().filter_map(|recorded| Some((recorded.call?, recorded.outcome?))).collect();
        let calls = found.iter().filter_map(|recorded| {
            let input = words::decode(recorded.words.as_ref()?)?.1;
            let answered = || outcomes.get(&recorded.call?).copied();
            Some(Called { input, outcome: recorded.outcome.or_else(answered) })
        });
        Ok(calls.collect())
    }

    /// Returns the last turn of the agent after this turn and before the next human turn, which is the outcome
    /// of this turn; none if there is none.
    pub(super) fn conclusion(&self, turn: TurnKey) -> StoreResult<Vec<ShownTurn>> {
        let sql = format!(
            "SELECT {SHOWN_COLUMNS} FROM turn {SHOWN_JOINS} WHERE episode.forgotten_ms IS NULL AND turn.id = (
                 SELECT later.id FROM turn AS asked JOIN turn AS later ON later.episode_id = asked.episode_id
                 WHERE asked.id = ?1 AND later.role = 'assistant' AND later.project_id IS asked.project_id AND later.position > asked.position
                   AND later.position < coalesce((
                     SELECT min(next.position) FROM turn AS next
                     WHERE next.episode_id = asked.episode_id AND next.position > asked.position AND next.role = 'human'
                   ), 9223372036854775807)
                 ORDER BY later.position DESC LIMIT 1
             )"
        );
        self.all(&sql, [turn], shown_turn)
    }

    /// Returns the first human turn after this one in its episode and project; none if there is none.
    pub(super) fn reply(&self, turn: TurnKey) -> StoreResult<Vec<ShownTurn>> {
        let sql = format!(
            "SELECT {SHOWN_COLUMNS} FROM turn {SHOWN_JOINS} WHERE episode.forgotten_ms IS NULL AND turn.id = (
                 SELECT later.id FROM turn AS said JOIN turn AS later ON later.episode_id = said.episode_id
                 WHERE said.id = ?1 AND later.role = 'human' AND later.project_id IS said.project_id AND later.position > said.position
                 ORDER BY later.position LIMIT 1
             )"
        );
        self.all(&sql, [turn], shown_turn)
    }

    /// Returns the turns of people and agents in the exchange of a turn that stand nearest to it, without the
    /// turn itself; nothing before the first human turn.
    pub(super) fn exchange_around(&self, turn: TurnKey, limit: usize) -> StoreResult<Vec<ShownTurn>> {
        let sql = format!(
            "WITH own AS (SELECT episode_id, project_id, position FROM turn WHERE id = ?1),
             span AS (SELECT own.episode_id, own.project_id, own.position,
                 (SELECT max(position) FROM turn WHERE episode_id = own.episode_id AND position <= own.position
                     AND role = 'human') AS start,
                 (SELECT min(position) FROM turn WHERE episode_id = own.episode_id AND position > own.position
                     AND role = 'human') AS next FROM own)
             SELECT {SHOWN_COLUMNS} FROM turn {SHOWN_JOINS} JOIN span ON span.episode_id = turn.episode_id
             WHERE episode.forgotten_ms IS NULL AND turn.role IN ('human', 'assistant') AND turn.id <> ?1
                 AND turn.project_id IS span.project_id
                 AND turn.position >= span.start AND turn.position < coalesce(span.next, 9223372036854775807)
             ORDER BY abs(turn.position - span.position), turn.position LIMIT ?2"
        );
        self.all(&sql, params![turn, limit as i64], shown_turn)
    }
}

impl Store {
    /// Returns the place of each turn in its exchange.
    pub(crate) fn exchange_places(&self, turns: &[TurnKey]) -> StoreResult<HashMap<TurnKey, ExchangePlace>> {
        self.read(|view| {
            let found = view.all(
                "SELECT turn.id, coalesce((
                     SELECT max(asked.position) FROM turn AS asked
                     WHERE asked.episode_id = turn.episode_id AND asked.position <= turn.position AND asked.role = 'human'
                 ), -1), (
                     SELECT later.role FROM turn AS later
                     WHERE later.episode_id = turn.episode_id AND later.position > turn.position AND later.role IN ('human', 'assistant')
                     ORDER BY later.position LIMIT 1
                 ) FROM turn WHERE turn.id IN (SELECT value FROM json_each(?1))",
                [json_of(turns)],
                |row| {
                    let next: Option<String> = row.get(2)?;
                    let is_answered = next.as_deref() == Some("human");
                    Ok((row.get(0)?, ExchangePlace { start: row.get(1)?, is_last: is_answered || next.is_none(), is_answered }))
                },
            )?;
            Ok(found.into_iter().collect())
        })
    }

    /// Returns the work of the exchange of a turn: its files, and with `with_calls` its tool calls, which takes longer.
    pub(crate) fn exchange_work(&self, turn: TurnKey, with_calls: bool) -> StoreResult<ExchangeWork> {
        self.read(|view| {
            let calls = if with_calls { view.exchange_calls(turn)? } else { Vec::new() };
            Ok(ExchangeWork { opened: view.exchange_files(turn)?, calls })
        })
    }
}
