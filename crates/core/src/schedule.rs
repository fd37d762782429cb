//! When recurring work is due: each hour, night, week or month, at set times of a local clock.
//!
//! - [`Cadence`]: how often
//! - [`Timetable`]: the set times; clock and offset are arguments, so a computer that slept or whose clock jumped is tested with values
//!
//! Work is due if it was not done since its last set time. Missed set times count once, however many there were.

use serde::{Deserialize, Serialize};

use crate::time::UtcMillis;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Days in which each day of the week and each day of the month up to the 28th occurs.
const LONGEST_MONTH: i64 = 31;

/// How often work is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cadence {
    /// At each full hour.
    #[default]
    Hourly,
    /// Each night.
    Nightly,
    /// In one night of each week.
    Weekly,
    /// In one night of each month.
    Monthly,
}

impl Cadence {
    /// All cadences, the shortest first.
    pub const ALL: [Self; 4] = [Self::Hourly, Self::Nightly, Self::Weekly, Self::Monthly];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hourly => "hourly",
            Self::Nightly => "nightly",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
        }
    }
}

/// The set times of a local clock. A value out of its range counts as the nearest in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timetable {
    /// Minute of the day at which nightly, weekly and monthly work is done, 0 to 1439.
    pub minute: u16,
    /// Day of weekly work: 0 for Monday to 6 for Sunday.
    pub weekday: u8,
    /// Day of monthly work, 1 to 28.
    pub month_day: u8,
    /// Minutes that the local clock is ahead of UTC, now. An hour of daylight saving moves a set time by that hour at most.
    pub offset_minutes: i32,
}

impl Default for Timetable {
    fn default() -> Self {
        Self { minute: 3 * 60, weekday: 6, month_day: 1, offset_minutes: 0 }
    }
}

impl Timetable {
    /// Returns the last set time that is not after `now`.
    pub fn last(&self, cadence: Cadence, now: UtcMillis) -> UtcMillis {
        let local = self.local(now);
        let at = match cadence {
            Cadence::Hourly => local - local.rem_euclid(HOUR),
            _ => self.nearest(cadence, local, -1, |at| at <= local),
        };
        self.utc(at)
    }

    /// Returns the first set time after `now`.
    pub fn next(&self, cadence: Cadence, now: UtcMillis) -> UtcMillis {
        let local = self.local(now);
        let at = match cadence {
            Cadence::Hourly => local - local.rem_euclid(HOUR) + HOUR,
            _ => self.nearest(cadence, local, 1, |at| at > local),
        };
        self.utc(at)
    }

    /// Returns whether work that was last done then is due. Work from the future is due too: the clock was wrong.
    pub fn is_due(&self, cadence: Cadence, done: Option<UtcMillis>, now: UtcMillis) -> bool {
        done.is_none_or(|done| done > now || done < self.last(cadence, now))
    }

    /// Returns the nearest set time, going by days in one direction, that meets a condition.
    fn nearest(&self, cadence: Cadence, local: i64, step: i64, is_wanted: impl Fn(i64) -> bool) -> i64 {
        let today = local.div_euclid(DAY);
        let minute = i64::from(self.minute.min(24 * 60 - 1)) * MINUTE;
        let days = (0..=LONGEST_MONTH).map(|days| today + days * step).filter(|day| self.is_day_of(cadence, *day));
        days.map(|day| day * DAY + minute).find(|at| is_wanted(*at)).unwrap_or(local)
    }

    /// Returns whether a day, counted from 1970, is one of a cadence.
    fn is_day_of(&self, cadence: Cadence, day: i64) -> bool {
        match cadence {
            Cadence::Hourly | Cadence::Nightly => true,
            // The first day of 1970 was a Thursday.
            Cadence::Weekly => (day + 3).rem_euclid(7) == i64::from(self.weekday.min(6)),
            Cadence::Monthly => day_of_month(day) == Some(self.month_day.clamp(1, 28)),
        }
    }

    fn local(&self, utc: UtcMillis) -> i64 {
        utc.saturating_add(i64::from(self.offset_minutes) * MINUTE)
    }

    fn utc(&self, local: i64) -> UtcMillis {
        local.saturating_sub(i64::from(self.offset_minutes) * MINUTE)
    }
}

/// Returns the day of the month of a day that is counted from 1970.
fn day_of_month(day: i64) -> Option<u8> {
    let noon = jiff::Timestamp::from_millisecond(day.saturating_mul(DAY)).ok()?;
    u8::try_from(noon.to_zoned(jiff::tz::TimeZone::UTC).day()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::format_utc;

    fn at(text: &str) -> UtcMillis {
        crate::time::RecordedTime::parse(text).utc.unwrap()
    }

    fn told(utc: UtcMillis) -> String {
        format_utc(utc)[..16].to_owned()
    }

    #[test]
    fn set_times_are_those_of_the_local_clock() {
        // A Saturday, 23:30 in UTC and 00:30 on Sunday an hour to the east.
        let now = at("2026-11-28T23:30:00Z");
        let utc = Timetable::default();
        let east = Timetable { offset_minutes: 60, ..utc };
        let west = Timetable { offset_minutes: -300, minute: 18 * 60, ..utc };
        let times =
            |table: &Timetable| Cadence::ALL.map(|cadence| (told(table.last(cadence, now)), told(table.next(cadence, now))));
        let pairs = |expected: [[&str; 2]; 4]| expected.map(|[last, next]| (last.to_owned(), next.to_owned()));
        assert_eq!(
            times(&utc),
            pairs([
                ["2026-11-28T23:00", "2026-11-29T00:00"],
                ["2026-11-28T03:00", "2026-11-29T03:00"],
                ["2026-11-22T03:00", "2026-11-29T03:00"],
                ["2026-11-01T03:00", "2026-12-01T03:00"],
            ])
        );
        assert_eq!(times(&east)[1], ("2026-11-28T02:00".to_owned(), "2026-11-29T02:00".to_owned()));
        assert_eq!(times(&west)[1], ("2026-11-28T23:00".to_owned(), "2026-11-29T23:00".to_owned()));
    }

    #[test]
    fn missed_times_count_once_and_a_jump_of_the_clock_makes_nothing_wait() {
        let (table, now) = (Timetable::default(), at("2026-11-28T12:00:00Z"));
        let year = 365 * DAY;
        for cadence in Cadence::ALL {
            let is_due = |done, now| table.is_due(cadence, done, now);
            assert!(is_due(None, now) && !is_due(Some(now), now), "{cadence:?}");
            assert!(!is_due(Some(table.last(cadence, now)), now), "{cadence:?}: done at the very time");
            assert!(is_due(Some(table.last(cadence, now) - 1), now), "{cadence:?}");
            // A year of sleep is one run; so is a clock that was a year ahead.
            assert!(is_due(Some(now), now + year) && !is_due(Some(now + year), now + year), "{cadence:?}");
            assert!(is_due(Some(now + year), now) && !is_due(Some(now), now + 1), "{cadence:?}");
        }
    }

    #[test]
    fn every_set_time_follows_the_one_before() {
        let table = Timetable { minute: 9_999, weekday: 99, month_day: 31, offset_minutes: 345 };
        for cadence in Cadence::ALL {
            let mut now = at("2024-01-30T00:00:00Z");
            for _ in 0..60 {
                let next = table.next(cadence, now);
                assert!(next > now && next - now <= LONGEST_MONTH * DAY, "{cadence:?}");
                assert_eq!(table.last(cadence, next), next, "{cadence:?}");
                assert_eq!(table.next(cadence, next - 1), next, "{cadence:?}");
                now = next;
            }
        }
    }
}
