//! Results about the life of the memory: growth, use, tiers, conflicts, tokens, upkeep, times.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::schedule::Timetable;
use yore_core::time::{UtcMillis, format_utc};
use yore_engine::{Life, PARTS, PartTimes, RecallTimes, Spent, Statistics, UsedMemory, Uses};

use super::{Taken, UpkeepJob};

/// Growth, use and upkeep of the memory (`yore stats`).
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct MemoryLife {
    /// Name of the project that was counted; `null`: all.
    pub project: Option<String>,
    /// Number of memories in effect: those that hold or are contested.
    pub active: u64,
    /// Number of memories that were put away.
    pub archived: u64,
    /// Number of memories that wait for a person's review.
    pub awaiting_review: u64,
    /// Number of conflicts that are not settled and not put off.
    pub open_conflicts: u64,
    /// Memories in effect, by tier: active, warm, cool, cold, frozen.
    pub by_tier: BTreeMap<String, u64>,
    /// Memories in effect, by decay score.
    pub decay: DecayBands,
    /// Number of memories in effect that were never opened, cited or confirmed.
    pub unused: u64,
    /// Memories that were opened, cited and confirmed most, most first.
    pub most_used: Vec<UsedRecord>,
    /// Memories that were never opened, cited or confirmed, oldest first.
    pub never_used: Vec<UsedRecord>,
    /// Growth by week, oldest first.
    pub growth: Vec<WeekGrowth>,
    /// Tokens given to agents against tokens that language models took, by day, oldest first: 30 days.
    pub tokens: Vec<TokenDay>,
    /// The jobs of upkeep, as `yore upkeep status` has them.
    pub upkeep: Vec<UpkeepJob>,
    /// Times of recall by part: 30 days of the daemon, stored every ten minutes.
    pub recall: Vec<RecallPart>,
}

/// Memories by decay score.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DecayBands {
    /// Those above .7.
    pub high: u64,
    /// Those from .3 to .7.
    pub medium: u64,
    /// Those below .3.
    pub low: u64,
}

/// A memory and its uses.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct UsedRecord {
    /// Its id.
    pub id: String,
    /// Its statement.
    pub statement: String,
    /// Time at which it was recorded, RFC 3339.
    pub recorded: String,
    /// Times that it was opened.
    pub opened: u64,
    /// Times that an agent's answer or edit repeated it.
    pub cited: u64,
    /// Times that a person confirmed it.
    pub confirmed: u64,
}

/// The things that a week added.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct WeekGrowth {
    /// Its Monday, as a date.
    pub week: String,
    /// Sessions that began in it.
    pub sessions: u64,
    /// Turns that were said in it.
    pub turns: u64,
    /// Memories that were recorded in it.
    pub memories: u64,
}

/// Tokens of a day.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TokenDay {
    /// The day, as a date.
    pub day: String,
    /// Tokens that agents were given, estimated.
    pub given: u64,
    /// Answers that gave them.
    pub answers: u64,
    /// Sums of the calls of language models.
    pub taken: Taken,
}

/// Times of a part of recall.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct RecallPart {
    /// The part: `plan`, `search` (land, anchor, expand, distill) or `text` (trace).
    pub part: String,
    /// Number of recalls.
    pub count: u64,
    /// Mean microseconds.
    pub mean_us: u64,
    /// Microseconds that half of them did not pass, read from classes of powers of two: at most twice the true value.
    pub p50_us: u64,
    /// The same for 95 of 100.
    pub p95_us: u64,
    /// The same by day in UTC, oldest first.
    pub days: Vec<RecallDay>,
}

/// Times of a part of recall on a day.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct RecallDay {
    /// The day, as a date.
    pub day: String,
    /// Number of recalls.
    pub count: u64,
    /// Mean microseconds.
    pub mean_us: u64,
    /// See [`RecallPart::p95_us`].
    pub p95_us: u64,
}

/// Returns a day since 1970 as a date.
fn date(day: i64) -> String {
    format_utc(day.saturating_mul(86_400_000)).chars().take(10).collect()
}

impl MemoryLife {
    /// Makes the result; `None` if the statistics were asked for without it. `given`: tokens and answers that agents were given, by day.
    pub fn of(statistics: &Statistics, given: &BTreeMap<i64, (u64, u64)>, timetable: &Timetable, now: UtcMillis) -> Option<Self> {
        let Life { tiers, decay: [high, medium, low], open_conflicts, spent, upkeep, recall } = statistics.life.as_ref()?;
        let store = &statistics.store;
        let in_status =
            |name: &str| store.memories.statuses.iter().find(|(status, _)| status == name).map_or(0, |(_, number)| *number);
        let Uses { in_effect, unused, most_used, never_used } = store.uses.clone().unwrap_or_default();
        Some(Self {
            project: statistics.project.clone(),
            active: in_effect,
            archived: in_status("archived"),
            awaiting_review: in_status("proposed"),
            open_conflicts: *open_conflicts,
            by_tier: tiers.iter().map(|(tier, number)| (tier.as_str().to_owned(), *number)).collect(),
            decay: DecayBands { high: *high, medium: *medium, low: *low },
            unused,
            most_used: most_used.iter().map(UsedRecord::from).collect(),
            never_used: never_used.iter().map(UsedRecord::from).collect(),
            growth: store
                .growth
                .iter()
                .map(|week| WeekGrowth {
                    week: date(week.monday),
                    sessions: week.sessions,
                    turns: week.turns,
                    memories: week.memories,
                })
                .collect(),
            tokens: token_days(given, spent),
            upkeep: upkeep.iter().map(|state| UpkeepJob::of(state, timetable, now)).collect(),
            recall: recall_parts(recall),
        })
    }
}

/// Returns tokens by day, of those given (tokens and answers by day since 1970) and those taken.
pub fn token_days(given: &BTreeMap<i64, (u64, u64)>, spent: &[(i64, Spent)]) -> Vec<TokenDay> {
    let mut days: BTreeMap<i64, TokenDay> = BTreeMap::new();
    for (day, (tokens, answers)) in given {
        let row = days.entry(*day).or_default();
        (row.given, row.answers) = (*tokens, *answers);
    }
    for (day, spent) in spent {
        days.entry(*day).or_default().taken = (*spent).into();
    }
    days.into_iter().map(|(day, row)| TokenDay { day: date(day), ..row }).collect()
}

fn recall_parts(times: &RecallTimes) -> Vec<RecallPart> {
    if times.is_empty() {
        return Vec::new();
    }
    let mean = |times: &PartTimes| times.micros / times.count.max(1);
    let part = |(number, sum): (usize, PartTimes)| RecallPart {
        part: PARTS[number].to_owned(),
        count: sum.count,
        mean_us: mean(&sum),
        p50_us: sum.at(0.5),
        p95_us: sum.at(0.95),
        days: times
            .0
            .iter()
            .map(|(day, parts)| {
                let times = &parts[number];
                RecallDay { day: date(*day), count: times.count, mean_us: mean(times), p95_us: times.at(0.95) }
            })
            .collect(),
    };
    times.sum().into_iter().enumerate().map(part).collect()
}

impl From<&UsedMemory> for UsedRecord {
    fn from(used: &UsedMemory) -> Self {
        let UsedMemory { id, statement, recorded, opened, cited, confirmed } = used;
        Self {
            id: id.to_string(),
            statement: statement.clone(),
            recorded: format_utc(*recorded),
            opened: *opened,
            cited: *cited,
            confirmed: *confirmed,
        }
    }
}
