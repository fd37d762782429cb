//! Times in milliseconds UTC: parsing of recorded times, their reliability, and formatting. The time zone of the caller belongs
//! to the query, never to the record.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type UtcMillis = i64;

/// Milliseconds in a day.
pub const DAY_MS: i64 = 86_400_000;

/// How reliable a recorded time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeQuality {
    /// Recorded with the message itself.
    Exact,
    /// Taken from a neighbouring message.
    Derived,
    /// Only the session's or file's time is known.
    Session,
    /// No time is known.
    None,
}

impl TimeQuality {
    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Derived => "derived",
            Self::Session => "session",
            Self::None => "none",
        }
    }

    /// Returns the quality with this stored name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Exact, Self::Derived, Self::Session, Self::None].into_iter().find(|q| q.as_str() == name)
    }
}

/// A time as an agent recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedTime {
    /// Time in UTC; `None` if it is unknown.
    pub utc: Option<UtcMillis>,
    /// The recorded text, kept only if formatting `utc` would not restore it.
    pub original: Option<String>,
    /// Offset of the recorded time from UTC in minutes; `None` if the text has no offset.
    pub offset_minutes: Option<i32>,
    /// Reliability of `utc`.
    pub quality: TimeQuality,
}

impl RecordedTime {
    /// The time of a message that recorded none.
    pub const UNKNOWN: Self = Self { utc: None, original: None, offset_minutes: None, quality: TimeQuality::None };

    /// Parses ISO 8601 / RFC 3339 with or without offset (then UTC is assumed), or a bare date. Anything
    /// else, or a time outside the years 1970 to 9999, gives [`Self::UNKNOWN`] with the text kept.
    pub fn parse(words: &str) -> Self {
        let words = words.trim();
        let Some((utc, offset_minutes)) = parse_iso(words) else {
            return Self { original: (!words.is_empty()).then(|| words.to_owned()), ..Self::UNKNOWN };
        };
        let original = (format_utc(utc) != words).then(|| words.to_owned());
        Self { utc: Some(utc), original, offset_minutes, quality: TimeQuality::Exact }
    }

    /// Makes a time that is known only in milliseconds.
    pub fn from_millis(utc: UtcMillis, quality: TimeQuality) -> Self {
        Self { utc: Some(utc), original: None, offset_minutes: Some(0), quality }
    }
}

fn parse_iso(words: &str) -> Option<(UtcMillis, Option<i32>)> {
    let in_range = |ms: i64| (0..253_402_300_800_000).contains(&ms).then_some(ms);
    if let Ok(stamp) = jiff::Timestamp::from_str(words) {
        let offset = jiff::fmt::temporal::Pieces::parse(words)
            .ok()
            .and_then(|pieces| pieces.to_numeric_offset())
            .map(|offset| offset.seconds() / 60);
        return in_range(stamp.as_millisecond()).map(|ms| (ms, offset.or(Some(0))));
    }
    let civil = jiff::civil::DateTime::from_str(words)
        .or_else(|_| jiff::civil::Date::from_str(words).map(|date| date.at(0, 0, 0, 0)))
        .ok()?;
    let stamp = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    in_range(stamp.as_millisecond()).map(|ms| (ms, None))
}

/// Parses a time in English prose, to the minute: `Tuesday, Jul 7, 2026, 9:43 AM (UTC+5:30)`. Returns
/// milliseconds since 1970.
pub fn parse_in_words(words: &str) -> Option<UtcMillis> {
    let (civil, zone) = words.trim().strip_suffix(')')?.rsplit_once(" (UTC")?;
    let (_, civil) = civil.split_once(", ")?;
    let civil = ["%b %d, %Y, %I:%M %p", "%B %d, %Y, %I:%M %p"]
        .iter()
        .find_map(|format| jiff::civil::DateTime::strptime(format, civil).ok())?;
    let minutes: i64 = match zone.split_at_checked(1) {
        Some((sign @ ("+" | "-"), offset)) => {
            let (hours, minutes) = offset.split_once(':').unwrap_or((offset, "0"));
            let minutes = i64::from(hours.parse::<u8>().ok()?) * 60 + i64::from(minutes.parse::<u8>().ok()?);
            if sign == "-" { -minutes } else { minutes }
        }
        Some(_) => return None,
        None => 0,
    };
    let utc = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond();
    Some(utc - minutes * 60_000)
}

/// Formats a time as `2026-01-22T14:53:11.042Z`, the form that most agents record.
pub fn format_utc(utc: UtcMillis) -> String {
    match jiff::Timestamp::from_millisecond(utc) {
        Ok(stamp) => format!("{stamp:.3}"),
        Err(_) => utc.to_string(),
    }
}

/// Formats the day of a time as `2026-01-22`.
pub fn format_day(utc: UtcMillis) -> String {
    format_utc(utc).chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_in_words_are_read_with_their_offset() {
        let utc = |words: &str| parse_in_words(words).map(format_utc);
        assert_eq!(utc("Tuesday, Jul 7, 2026, 9:43 AM (UTC+5:30)").as_deref(), Some("2026-07-07T04:13:00.000Z"));
        assert_eq!(utc("Friday, March 13, 2026, 12:05 PM (UTC-4)").as_deref(), Some("2026-03-13T16:05:00.000Z"));
        assert_eq!(utc("Friday, Mar 13, 2026, 12:05 AM (UTC)").as_deref(), Some("2026-03-13T00:05:00.000Z"));
        for words in
            ["", "soon", "Tuesday, Jul 37, 2026, 9:43 AM (UTC)", "Tuesday, Jul 7, 2026, 9:43 AM (UTC+999:0)", "x (UTC\u{e9})"]
        {
            assert_eq!(utc(words), None, "{words}");
        }
    }

    #[test]
    fn offset_and_original_words_are_kept() {
        let time = RecordedTime::parse("2026-01-22T15:53:11+01:00");
        assert_eq!(time.utc, Some(1_769_093_591_000));
        assert_eq!(time.offset_minutes, Some(60));
        assert_eq!(time.original.as_deref(), Some("2026-01-22T15:53:11+01:00"));
    }

    #[test]
    fn usual_form_needs_no_original() {
        let time = RecordedTime::parse("2026-01-22T14:53:11.042Z");
        assert_eq!(time.original, None);
        assert_eq!(time.quality, TimeQuality::Exact);
        assert_eq!(format_utc(time.utc.unwrap()), "2026-01-22T14:53:11.042Z");
    }

    #[test]
    fn time_without_offset_is_utc_with_unknown_offset() {
        let time = RecordedTime::parse("2026-01-22 14:53:11");
        assert_eq!(time.utc, Some(1_769_093_591_000));
        assert_eq!(time.offset_minutes, None);
    }

    #[test]
    fn nonsense_is_unknown_and_kept() {
        let time = RecordedTime::parse("last Tuesday");
        assert_eq!(time.quality, TimeQuality::None);
        assert_eq!(time.original.as_deref(), Some("last Tuesday"));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(words in ".{0,40}") { RecordedTime::parse(&words); }

        #[test]
        fn formatted_times_parse_to_themselves(ms in 0i64..253_402_300_800_000) {
            let time = RecordedTime::parse(&format_utc(ms));
            prop_assert_eq!(time.utc, Some(ms));
            prop_assert_eq!(time.original, None);
        }
    }
}
