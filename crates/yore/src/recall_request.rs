//! Builds recall requests from the settings, and reads times, for all front ends.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use yore_core::scope::ScopeChoice;
use yore_core::text::{parse_beginning, parse_period};
use yore_core::time::{RecordedTime, UtcMillis};
use yore_engine::RecallRequest;
use yore_sources::project_names::ProjectNames;

use crate::config::{Config, RecallScope};

/// Names of the roles that may answer.
pub const ROLES: [&str; 5] = ["human", "assistant", "tool_call", "tool_result", "summary"];
/// Names of the episode kinds that may answer.
pub const KINDS: [&str; 3] = ["session", "subagent", "document"];

/// Builds a request with the configured settings, asked from the project `here`.
pub fn request(question: impl Into<String>, config: &Config, here: Option<ProjectNames>) -> RecallRequest {
    let recall = &config.recall;
    let mut request = RecallRequest {
        here,
        mode: recall.embedder.mode(),
        rerank: recall.rerank.when(),
        limit: recall.limit,
        quote_chars: recall.quote_chars,
        tool_weight: recall.tool_weight as f32,
        offset_minutes: Zoned::now().offset().seconds() / 60,
        ..RecallRequest::new(question)
    };
    request.filter.scope = match recall.scope {
        RecallScope::Project => ScopeChoice::CurrentOnly,
        RecallScope::Auto => ScopeChoice::Current,
        RecallScope::All => ScopeChoice::All,
    };
    request
}

/// Parses a date or a time, or the name of a period (`last week`, `3 days ago`), which gives its beginning; without
/// an offset on the caller's calendar and clock. The error says which form was expected.
pub fn time(words: &str) -> Result<UtcMillis, &'static str> {
    time_at(words, &Zoned::now())
}

/// Parses a time as [`time`] does, as the end of what is known then: of a day or another period its end, if that is past, else now.
pub fn as_of(words: &str) -> Result<UtcMillis, &'static str> {
    as_of_at(words, &Zoned::now())
}

fn as_of_at(words: &str, now: &Zoned) -> Result<UtcMillis, &'static str> {
    let words = words.trim();
    match parse_period(words, now) {
        Some(period) => Ok(period.end.min(now.timestamp().as_millisecond())),
        None => time_at(words, now),
    }
}

/// Reads `now` and `10 minutes ago`: moments within a day, which are no periods.
fn moment(words: &str, now: &Zoned) -> Option<UtcMillis> {
    let now = now.timestamp().as_millisecond();
    let parts: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["now"] => Some(now),
        [count, unit, "ago"] => {
            let count = if matches!(*count, "a" | "an" | "one") { "1" } else { count };
            let unit = match unit.strip_suffix('s').unwrap_or(unit) {
                "second" => 1_000,
                "minute" => 60_000,
                "hour" => 3_600_000,
                _ => return None,
            };
            count.parse::<i64>().ok()?.checked_mul(unit).and_then(|ago| now.checked_sub(ago))
        }
        _ => None,
    }
}

fn time_at(words: &str, now: &Zoned) -> Result<UtcMillis, &'static str> {
    let recorded = RecordedTime::parse(words);
    let here = |utc| {
        let civil = Timestamp::from_millisecond(utc).ok()?.to_zoned(TimeZone::UTC).datetime();
        Some(civil.to_zoned(now.time_zone().clone()).ok()?.timestamp().as_millisecond())
    };
    let utc = match recorded.offset_minutes {
        Some(_) => recorded.utc,
        None => recorded.utc.and_then(here),
    };
    utc.or_else(|| moment(words, now))
        .or_else(|| parse_beginning(words, now))
        .ok_or("expected a date such as 2026-01-31, a time such as 2026-01-31T12:00:00Z, or words such as \"last week\"")
}

#[cfg(test)]
mod tests {
    use yore_core::episode::{EpisodeKind, Role};

    use super::*;

    #[test]
    fn names_are_understood() {
        assert!(ROLES.iter().all(|name| Role::parse(name).is_some_and(Role::is_recalled)));
        assert!(KINDS.iter().all(|name| EpisodeKind::parse(name).is_some()));
    }

    #[test]
    fn settings_reach_the_question() {
        let mut config = Config::default();
        let plain = request("why", &config, None);
        assert_eq!((plain.question.as_str(), plain.filter.scope), ("why", ScopeChoice::Current));
        (config.recall.limit, config.recall.quote_chars, config.recall.tool_weight) = (7, 99, 0.25);
        config.recall.scope = RecallScope::Project;
        let changed = request("why", &config, None);
        assert_eq!((changed.limit, changed.quote_chars, changed.tool_weight), (7, 99, 0.25));
        assert_eq!(changed.filter.scope, ScopeChoice::CurrentOnly, "never widened");
        config.recall.scope = RecallScope::All;
        assert_eq!(request("why", &config, None).filter.scope, ScopeChoice::All);
    }

    #[test]
    fn times_are_dates_or_instants() {
        let now: Zoned = "2026-03-04T12:00[+01:00]".parse().unwrap();
        let at = |words| time_at(words, &now);
        assert_eq!(at("2026-01-01"), Ok(1_767_225_600_000 - 3_600_000), "on the caller's calendar");
        assert_eq!(at("2026-01-01T00:00:00Z"), Ok(1_767_225_600_000));
        assert_eq!(at("2 weeks ago"), at("2026-02-18"));
        assert_eq!(at("now"), at("2026-03-04T12:00:00+01:00"));
        assert_eq!((at("10 minutes ago"), at("1 Hour ago")), (at("2026-03-04T11:50:00+01:00"), at("2026-03-04T11:00:00+01:00")));
        assert!(at("9223372036854775807 hours ago").is_err());
        assert_eq!(at("an hour ago"), at("1 hour ago"));
        let known = |words| as_of_at(words, &now);
        assert_eq!(known("yesterday"), at("2026-03-04"), "all that was known that day");
        assert_eq!(known("2026-01-01"), at("2026-01-02"));
        assert_eq!((known("today"), known("2026-03-04")), (at("now"), at("now")), "nobody knows the future");
        assert_eq!(known("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z"));
        assert_eq!(known("10 minutes ago"), at("10 minutes ago"));
        assert!(time("some day").unwrap_err().contains("2026-01-31T12:00:00Z"));
        let (week, days_ago) = (time("last week").unwrap(), time("20 days ago").unwrap());
        assert!(days_ago < week && week < time("today").unwrap());
    }
}
