//! Stores the ledger of model calls, refuses a call beyond the day's limit, and remembers a model's abilities.

use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;

use crate::store::{Store, StoreResult};

/// A reservation whose call was never booked, after its process was killed, counts until it is this old.
const FORGOTTEN_MS: i64 = 3_600_000;
/// The failure of a call whose process ended before it was booked.
const ENDED: &str = "the process ended";
/// Ending of the purpose of a batch, whose answers come within a day, and the age until which its reservations count.
pub(crate) const BATCH: &str = " batch";
const FORGOTTEN_BATCH_MS: i64 = 3 * 86_400_000;

/// Limits of a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DailyLimits {
    /// Most tokens; 0: no model may be called.
    pub tokens: u64,
    /// Most millionths of a dollar; 0: nothing that costs money may be called.
    pub cost_micro: u64,
    /// Most calls; 0: as many as the tokens allow.
    #[serde(default)]
    pub calls: u64,
}

/// Sums of calls in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Number of calls.
    pub calls: u64,
    /// Number of those that failed.
    pub failed: u64,
    /// Tokens of prompts, those of reservations included.
    pub input: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Millionths of a dollar.
    pub cost_micro: u64,
    /// True if some of the tokens are estimated.
    pub is_estimated: bool,
}

impl Spent {
    /// Adds other sums.
    pub fn add(&mut self, other: &Self) {
        let Self { calls, failed, input, output, cost_micro, is_estimated } = *other;
        self.calls += calls;
        self.failed += failed;
        self.input += input;
        self.output += output;
        self.cost_micro += cost_micro;
        self.is_estimated |= is_estimated;
    }
}

/// Sums of a day, purpose, model and project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// Days since 1970.
    pub day: i64,
    /// The purpose, such as `extract`.
    pub purpose: String,
    /// The model, with its server.
    pub model: String,
    /// Name of the project, if the call was about one.
    pub project: Option<String>,
    /// The sums.
    pub spent: Spent,
}

/// A call before it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewCall<'c> {
    pub at: UtcMillis,
    pub day: i64,
    pub purpose: &'c str,
    pub model: &'c str,
    pub project: Option<&'c str>,
    /// Most tokens and most millionths of a dollar that it may take.
    pub tokens: u64,
    pub cost_micro: u64,
}

/// Outcome of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spending {
    /// It was reserved under this number.
    Reserved(u64),
    /// It would pass the tokens of the day; so many are left.
    NoTokens(u64),
    /// It would pass the money of the day; so many millionths of a dollar are left.
    NoMoney(u64),
    /// The calls of the day are made.
    NoCalls,
}

const SUMS: &str = "count(*), sum(state = 'failed'), sum(input_tokens), sum(output_tokens), sum(cost_micro), max(is_estimated)";

fn spent(row: &Row<'_>, from: usize) -> rusqlite::Result<Spent> {
    let number = |at: usize| row.get::<_, Option<i64>>(from + at).map(|value| value.unwrap_or(0).max(0) as u64);
    Ok(Spent {
        calls: number(0)?,
        failed: number(1)?,
        input: number(2)?,
        output: number(3)?,
        cost_micro: number(4)?,
        is_estimated: number(5)? > 0,
    })
}

impl Store {
    /// Reserves a call unless it would pass a limit of the day. One transaction, so that processes share the limits.
    pub(crate) fn reserve_call(&self, call: &NewCall<'_>, limits: DailyLimits) -> StoreResult<Spending> {
        self.write(|tx| {
            // A process that was killed has booked nothing, and what it took is not known: it keeps what was reserved.
            tx.execute(
                "UPDATE model_call SET state = 'failed', is_estimated = 1, failure = ?4
                 WHERE state = 'reserved' AND at_ms < CASE WHEN purpose LIKE '%' || ?3 THEN ?2 ELSE ?1 END",
                params![call.at - FORGOTTEN_MS, call.at - FORGOTTEN_BATCH_MS, BATCH, ENDED],
            )?;
            let so_far = tx
                .first(&format!("SELECT {SUMS} FROM model_call WHERE day = ?1"), [call.day], |row| spent(row, 0))?
                .unwrap_or_default();
            if limits.calls > 0 && so_far.calls >= limits.calls {
                return Ok(Spending::NoCalls);
            }
            let left = limits.tokens.saturating_sub(so_far.input + so_far.output);
            if call.tokens > left {
                return Ok(Spending::NoTokens(left));
            }
            let left = limits.cost_micro.saturating_sub(so_far.cost_micro);
            if call.cost_micro > left {
                return Ok(Spending::NoMoney(left));
            }
            let number: Option<i64> = tx.first(
                "INSERT INTO model_call (at_ms, day, purpose, model, project, state, input_tokens, output_tokens, is_estimated, cost_micro)
                 VALUES (?1, ?2, ?3, ?4, ?5, 'reserved', ?6, 0, 1, ?7) RETURNING id",
                params![call.at, call.day, call.purpose, call.model, call.project, call.tokens as i64, call.cost_micro as i64],
                |row| row.get(0),
            )?;
            Ok(Spending::Reserved(number.unwrap_or(0).max(0) as u64))
        })
    }

    /// Books what a call took in the place of its reservation. `failure`: a code, if it failed.
    pub(crate) fn settle_call(&self, number: u64, took: Spent, failure: Option<&str>) -> StoreResult<()> {
        self.write(|tx| {
            tx.execute(
                "UPDATE model_call SET state = CASE WHEN ?6 IS NULL THEN 'settled' ELSE 'failed' END,
                     input_tokens = ?2, output_tokens = ?3, cost_micro = ?4, is_estimated = ?5, failure = ?6
                 WHERE id = ?1 AND state = 'reserved'",
                params![number as i64, took.input as i64, took.output as i64, took.cost_micro as i64, took.is_estimated, failure],
            )
            .map(drop)
        })
    }

    /// Takes a reservation back.
    pub(crate) fn release_call(&self, number: u64) -> StoreResult<()> {
        self.write(|tx| tx.execute("DELETE FROM model_call WHERE id = ?1 AND state = 'reserved'", [number as i64]).map(drop))
    }

    /// Returns what was taken on a day.
    pub(crate) fn spent_on(&self, day: i64) -> StoreResult<Spent> {
        let sql = format!("SELECT {SUMS} FROM model_call WHERE day = ?1");
        Ok(self.read(|view| view.first(&sql, [day], |row| spent(row, 0)))?.unwrap_or_default())
    }

    /// Returns what was taken since a day, by day, purpose, model and project, the last day first.
    pub(crate) fn ledger(&self, since: i64) -> StoreResult<Vec<LedgerRow>> {
        let sql = format!(
            "SELECT day, purpose, model, project, {SUMS} FROM model_call WHERE day >= ?1
             GROUP BY day, purpose, model, project ORDER BY day DESC, purpose, model, project"
        );
        self.read(|view| {
            view.all(&sql, [since], |row| {
                Ok(LedgerRow {
                    day: row.get(0)?,
                    purpose: row.get(1)?,
                    model: row.get(2)?,
                    project: row.get(3)?,
                    spent: spent(row, 4)?,
                })
            })
        })
    }

    /// Notes whether a model has a tier.
    pub(crate) fn note_tier(&self, model: &str, tier: &str, works: bool, at: UtcMillis) -> StoreResult<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO model_tier (model, tier, works, at_ms) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (model, tier) DO UPDATE SET works = ?3, at_ms = ?4",
                params![model, tier, works, at],
            )
            .map(drop)
        })
    }

    /// Returns whether a model has a tier, if that was noted since a time: servers learn.
    pub(crate) fn tier_of(&self, model: &str, tier: &str, since: UtcMillis) -> StoreResult<Option<bool>> {
        let sql = "SELECT works FROM model_tier WHERE model = ?1 AND tier = ?2 AND at_ms >= ?3";
        self.read(|view| view.first(sql, params![model, tier, since], |row| row.get(0)))
    }
}
