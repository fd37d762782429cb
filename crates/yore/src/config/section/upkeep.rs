//! `[upkeep]`: the set times of recurring maintenance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// When recurring maintenance is done, by the clock of this computer. What was missed is done as soon as a daemon runs.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Upkeep {
    /// Hour of the day for nightly, weekly and monthly jobs.
    pub hour: u8,
    /// Day of weekly jobs.
    pub weekday: Weekday,
    /// Day of the month of monthly jobs.
    pub month_day: u8,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weekday {
    /// The first day after the weekend.
    Monday,
    /// The second.
    Tuesday,
    /// The third.
    Wednesday,
    /// The fourth.
    Thursday,
    /// The fifth.
    Friday,
    /// The first day of the weekend.
    Saturday,
    /// The second one.
    Sunday,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self { hour: 3, weekday: Weekday::Sunday, month_day: 1 }
    }
}

/// The keys of `[upkeep]`. The data directory is shared by all projects.
pub(super) const KEYS: &[Key] = &[
    Key::new("upkeep.hour", Shape::Count { min: 0, max: 23 }, ProjectMay::Nothing),
    Key::new(
        "upkeep.weekday",
        Shape::Choice(&["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]),
        ProjectMay::Nothing,
    ),
    Key::new("upkeep.month_day", Shape::Count { min: 1, max: 28 }, ProjectMay::Nothing),
];
