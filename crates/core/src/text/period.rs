//! Reads periods that a text names ("last week", "in March", "2024") as intervals of time.

use std::ops::Range;

use jiff::civil::{Date, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Timestamp, ToSpan, Zoned};

use crate::time::UtcMillis;

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Its first millisecond.
    pub start: UtcMillis,
    /// The first millisecond after it.
    pub end: UtcMillis,
}

impl Period {
    /// Returns whether a time is in it.
    pub fn contains(&self, at: UtcMillis) -> bool {
        (self.start..self.end).contains(&at)
    }
}

const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];
const NUMBERS: [&str; 12] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
/// Months that are words of their own: they are months only beside a number, a preposition or an ordinal.
const AMBIGUOUS: [&str; 2] = ["may", "march"];
/// Words before a month that make it a time.
const BEFORE_MONTH: [&str; 10] = ["in", "of", "since", "until", "before", "after", "during", "last", "this", "by"];
/// German words of time, and the English ones as which they are read.
const GERMAN: [(&str, &str); 47] = [
    ("heute", "today"),
    ("gestern", "yesterday"),
    ("letzte", "last"),
    ("letzten", "last"),
    ("letzter", "last"),
    ("letztes", "last"),
    ("letztem", "last"),
    ("vorige", "last"),
    ("vorigen", "last"),
    ("diese", "this"),
    ("diesen", "this"),
    ("dieser", "this"),
    ("dieses", "this"),
    ("diesem", "this"),
    ("tag", "day"),
    ("tage", "days"),
    ("tagen", "days"),
    ("woche", "week"),
    ("wochen", "weeks"),
    ("wochenende", "weekend"),
    ("monat", "month"),
    ("monate", "months"),
    ("monaten", "months"),
    ("jahr", "year"),
    ("jahren", "years"),
    ("anfang", "early"),
    ("mitte", "mid"),
    ("ende", "late"),
    ("am", "on"),
    ("dem", "the"),
    ("den", "the"),
    ("im", "in"),
    ("seit", "since"),
    ("januar", "january"),
    ("februar", "february"),
    ("märz", "march"),
    ("mai", "may"),
    ("juni", "june"),
    ("juli", "july"),
    ("oktober", "october"),
    ("dezember", "december"),
    ("montag", "monday"),
    ("dienstag", "tuesday"),
    ("mittwoch", "wednesday"),
    ("donnerstag", "thursday"),
    ("freitag", "friday"),
    ("samstag", "saturday"),
];
/// Words between two days of one month.
const BETWEEN_DAYS: [&str; 8] = ["and", "to", "until", "till", "through", "und", "bis", "or"];
/// Years that a four-digit number may be.
const YEARS: std::ops::RangeInclusive<i16> = 1970..=2199;

/// A period that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPeriod {
    /// The period.
    pub period: Period,
    /// The words that name it, as bytes of the text.
    pub place: Range<usize>,
    /// True if its words mean another time on another day: `yesterday`, `last week`, `on Friday`.
    pub is_relative: bool,
}

/// Returns the periods that a text names, in its order, against the clock and zone of whoever asks. A month or
/// day without a year is its last occurrence that has begun. English and German; dates as numbers are `2026-02-14`.
///
/// ```
/// use yore_core::text::named_periods;
/// let now: jiff::Zoned = "2026-03-04T12:00[+00:00]".parse().unwrap();
/// let days = |text| {
///     let periods = named_periods(text, &now).into_iter().map(|named| named.period);
///     periods.map(|period| (period.end - period.start) / 86_400_000).collect::<Vec<_>>()
/// };
/// assert_eq!(days("what did we fix yesterday?"), [1]);
/// assert_eq!(days("Which versions got notes in the second week of February?"), [7]);
/// assert_eq!(days("What changed between January 3 and 2026-02-14?"), [1, 1]);
/// assert!(days("may we march on?").is_empty());
/// ```
pub fn named_periods(text: &str, now: &Zoned) -> Vec<NamedPeriod> {
    let words = words(text);
    let reader = Reader { words: &words, now };
    let mut periods = Vec::new();
    let mut at = 0;
    while at < words.len() {
        match reader.period_at(at) {
            Some((from, to, used)) => {
                let place = words[at].place.start..words[at + used - 1].place.end;
                let is_relative = reader.relative_at(at).is_some();
                periods.extend(period(from, to, now).map(|period| NamedPeriod { period, place, is_relative }));
                at += used;
            }
            None => at += 1,
        }
    }
    periods
}

/// Does the same for a clock in UTC and a zone that is so many minutes ahead of it. Nothing is named at a time
/// beyond the years that a calendar has.
pub fn named_periods_at(text: &str, now: UtcMillis, offset_minutes: i32) -> Vec<NamedPeriod> {
    let zone = Offset::from_seconds(offset_minutes.saturating_mul(60)).map_or(TimeZone::UTC, TimeZone::fixed);
    match Timestamp::from_millisecond(now) {
        Ok(now) => named_periods(text, &now.to_zoned(zone)),
        Err(_) => Vec::new(),
    }
}

/// Returns the period that a text consists of, such as `last week` or `February 2026`.
///
/// ```
/// use yore_core::text::{Period, parse_period};
/// let now: jiff::Zoned = "2026-03-04T12:00[+00:00]".parse().unwrap();
/// let week = parse_period("last week", &now).unwrap();
/// assert_eq!((week.end - week.start) / 86_400_000, 7);
/// assert_eq!(parse_period("last week or so", &now), None);
/// ```
pub fn parse_period(text: &str, now: &Zoned) -> Option<Period> {
    let words = words(text);
    let reader = Reader { words: &words, now };
    let skipped = reader.skipped();
    let (from, to, used) = reader.period_at(skipped).or_else(|| reader.period_at(0).filter(|_| skipped > 0))?;
    if used + skipped != words.len() && used != words.len() {
        return None;
    }
    period(from, to, now)
}

/// Returns the beginning of the period that a text consists of; of `3 weeks ago`, the beginning of that day.
///
/// ```
/// use yore_core::text::parse_beginning;
/// let now: jiff::Zoned = "2026-03-04T12:00[+00:00]".parse().unwrap();
/// let days_before = |text| (now.timestamp().as_millisecond() - parse_beginning(text, &now).unwrap()) / 86_400_000;
/// assert_eq!(days_before("2 weeks ago"), 14);
/// assert_eq!(days_before("last week"), 9);
/// ```
pub fn parse_beginning(text: &str, now: &Zoned) -> Option<UtcMillis> {
    let words = words(text);
    let reader = Reader { words: &words, now };
    let day = || reader.day_ago(0).filter(|_| words.len() == 3).and_then(|day| period(day, day, now));
    day().or_else(|| parse_period(text, now)).map(|period| period.start)
}

/// A word of a text in lower case.
struct Word {
    text: String,
    place: Range<usize>,
}

/// Returns the words of a text; a date stays whole.
fn words(text: &str) -> Vec<Word> {
    let is_inside = |letter: char| letter.is_alphanumeric() || letter == '-';
    text.split(|letter: char| !is_inside(letter))
        .map(|word| word.trim_matches('-'))
        .filter(|word| !word.is_empty())
        .map(|word| {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            let lower = word.to_lowercase();
            let text = GERMAN.iter().find(|(german, _)| *german == lower).map_or(lower, |(_, english)| (*english).to_owned());
            Word { text, place: start..start + word.len() }
        })
        .collect()
}

/// Returns the period from the beginning of a day to the beginning of another one in the asker's zone.
fn period(from: Date, to: Date, now: &Zoned) -> Option<Period> {
    let millis = |date: Date| Some(date.to_zoned(now.time_zone().clone()).ok()?.timestamp().as_millisecond());
    Some(Period { start: millis(from)?, end: millis(to)? })
}

struct Reader<'t> {
    words: &'t [Word],
    now: &'t Zoned,
}

impl Reader<'_> {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.text.as_str())
    }

    /// Returns first day, day after the last one, and number of words of the period that begins at a word.
    fn period_at(&self, at: usize) -> Option<(Date, Date, usize)> {
        self.part_of_month(at)
            .or_else(|| self.week_of(at))
            .or_else(|| self.date_of_weekday(at))
            .or_else(|| self.relative_at(at))
            .or_else(|| self.days_of_month(at))
            .or_else(|| self.date(at))
            .or_else(|| self.month(at))
            .or_else(|| self.year(at))
    }

    /// Does the same for periods whose names depend on the day.
    fn relative_at(&self, at: usize) -> Option<(Date, Date, usize)> {
        if self.date_of_weekday(at).is_some() {
            return None;
        }
        self.relative(at).or_else(|| self.ago(at)).or_else(|| self.weekday(at))
    }

    /// Returns the number of words before a name that do not belong to it.
    fn skipped(&self) -> usize {
        self.words.iter().take_while(|word| matches!(word.text.as_str(), "in" | "on" | "the")).count()
    }

    fn relative(&self, at: usize) -> Option<(Date, Date, usize)> {
        let today = self.now.date();
        let day = |back: i64| {
            let first = today.checked_sub(back.days()).ok()?;
            Some((first, first.tomorrow().ok()?))
        };
        match (self.word(at), self.word(at + 1), self.word(at + 2)) {
            ("day", "before", "yesterday") => day(2).map(|(from, to)| (from, to, 3)),
            ("vorgestern", ..) => day(2).map(|(from, to)| (from, to, 1)),
            ("yesterday", ..) => day(1).map(|(from, to)| (from, to, 1)),
            ("today" | "tonight", ..) => day(0).map(|(from, to)| (from, to, 1)),
            (which @ ("last" | "past" | "previous" | "this"), unit, _) if !unit.is_empty() => {
                if let Some(weekday) = weekday_named(unit) {
                    let first = self.last_weekday(weekday)?;
                    return Some((first, first.tomorrow().ok()?, 2));
                }
                if let Some(month) = month_named(unit).filter(|_| which != "this" || !AMBIGUOUS.contains(&unit)) {
                    let first = self.last_month(month)?;
                    return Some((first, next_month(first)?, 2));
                }
                if let Some(count) = number(unit) {
                    // "the last three weeks"
                    let span = span(count, self.word(at + 2))?;
                    return Some((today.checked_sub(span).ok()?, today.tomorrow().ok()?, 3));
                }
                let (from, to) = self.unit(unit, i64::from(which != "this"))?;
                Some((from, to, 2))
            }
            _ => None,
        }
    }

    /// Returns the calendar unit of today, or the one before it.
    fn unit(&self, unit: &str, back: i64) -> Option<(Date, Date)> {
        let today = self.now.date();
        match unit {
            "week" => {
                let monday = monday_of(today)?;
                let from = monday.checked_sub(back.weeks()).ok()?;
                Some((from, from.checked_add(1.week()).ok()?))
            }
            "weekend" => {
                let saturday = self.last_weekday(Weekday::Saturday)?;
                Some((saturday, saturday.checked_add(2.days()).ok()?))
            }
            "month" => {
                let from = today.first_of_month().checked_sub(back.months()).ok()?;
                Some((from, next_month(from)?))
            }
            "year" => {
                let from = today.first_of_year().checked_sub(back.years()).ok()?;
                Some((from, from.checked_add(1.year()).ok()?))
            }
            _ => None,
        }
    }

    /// "three weeks ago", "a month ago": the unit in which that day is.
    fn ago(&self, at: usize) -> Option<(Date, Date, usize)> {
        let (then, unit) = match self.word(at) {
            // German: "vor drei Wochen".
            "vor" => {
                let unit = self.word(at + 2);
                (self.now.date().checked_sub(span(number(self.word(at + 1))?, unit)?).ok()?, unit)
            }
            _ => (self.day_ago(at)?, self.word(at + 1)),
        };
        let (from, to) = match unit.trim_end_matches('s') {
            "day" => (then, then.tomorrow().ok()?),
            "week" => {
                let from = then.checked_sub(3.days()).ok()?;
                (from, from.checked_add(1.week()).ok()?)
            }
            "month" => (then.first_of_month(), next_month(then.first_of_month())?),
            _ => (then.first_of_year(), then.first_of_year().checked_add(1.year()).ok()?),
        };
        Some((from, to, 3))
    }

    /// Returns the day that was so many days, weeks, months or years ago.
    fn day_ago(&self, at: usize) -> Option<Date> {
        let (count, unit) = (number(self.word(at))?, self.word(at + 1));
        if self.word(at + 2) == "ago" { self.now.date().checked_sub(span(count, unit)?).ok() } else { None }
    }

    /// "the second week of February", "the end of March", "early May", "mid-June".
    fn part_of_month(&self, at: usize) -> Option<(Date, Date, usize)> {
        let word = self.word(at);
        let glued = word.strip_prefix("mid-").or_else(|| word.strip_prefix("early-")).or_else(|| word.strip_prefix("late-"));
        let (part, month, used) = match (word, self.word(at + 1), self.word(at + 2)) {
            (part @ ("early" | "mid" | "late"), month, _) => (part, month, 2),
            (part @ ("beginning" | "start" | "middle" | "end"), "of", month) => (part, month, 3),
            (part, "week", "of" | "in") => (part, self.word(at + 3), 4),
            (part, ..) => (part.split('-').next().unwrap_or_default(), glued?, 1),
        };
        let (year, more) = self.year_after(at + used);
        let first = self.month_in(month_named(month)?, year)?;
        let end = next_month(first)?;
        let day = |number: i64| first.checked_add((number - 1).days()).ok();
        let (from, to) = match part {
            "early" | "beginning" | "start" => (first, day(11)?),
            "mid" | "middle" => (day(11)?, day(21)?),
            "late" | "end" => (day(21)?, end),
            "last" => (end.checked_sub(1.week()).ok()?, end),
            part => {
                let week = ORDINALS.iter().position(|ordinal| *ordinal == part)? as i64;
                (day(1 + 7 * week)?, day(8 + 7 * week)?.min(end))
            }
        };
        Some((from, to.max(from), used + more))
    }

    /// "the week of February 9", "the weekend of 15 February", "the week that began on 9 February": the one that has that day.
    fn week_of(&self, at: usize) -> Option<(Date, Date, usize)> {
        let (week, of) = (self.word(at), self.word(at + 1));
        if week == "weekend" && matches!(of, "of" | "vom") {
            let (day, _, used) = self.date(at + 2)?;
            let monday = monday_of(day)?;
            return Some((monday.checked_add(5.days()).ok()?, monday.checked_add(1.week()).ok()?, used + 2));
        }
        let is_begun = of == "that" && matches!(self.word(at + 2), "began" | "begins" | "started" | "starts");
        if week != "week" || !is_begun && !matches!(of, "of" | "from" | "vom" | "starting" | "beginning") {
            return None;
        }
        let before = if is_begun { 3 } else { 2 };
        let before = before + usize::from(self.word(at + before) == "on");
        let (day, _, used) = self.date_of_weekday(at + before).or_else(|| self.date(at + before))?;
        let monday = monday_of(day)?;
        Some((monday, monday.checked_add(1.week()).ok()?, used + before))
    }

    /// "20 and 21 July", "Feb 6 to 10", "January 13-15".
    fn days_of_month(&self, at: usize) -> Option<(Date, Date, usize)> {
        // Two days, and the number of words that they take.
        let two_days = |at: usize| {
            if let Some((first, second)) = self.word(at).split_once('-') {
                return Some((day_of_month(first)?, day_of_month(second)?, 1));
            }
            let is_between = BETWEEN_DAYS.contains(&self.word(at + 1));
            let second = day_of_month(self.word(at + 2)).filter(|_| is_between)?;
            Some((day_of_month(self.word(at))?, second, 3))
        };
        let (first, second, month, used) = match month_named(self.word(at)) {
            Some(month) => two_days(at + 1).map(|(first, second, used)| (first, second, month, used + 1)),
            None => two_days(at).and_then(|(first, second, used)| {
                let of = usize::from(self.word(at + used) == "of");
                Some((first, second, month_named(self.word(at + used + of))?, used + 1 + of))
            }),
        }?;
        let (year, more) = self.year_after(at + used);
        let begin = self.month_in(month, year)?;
        let day = |number: i8| Date::new(begin.year(), begin.month(), number).ok();
        let (from, to) = (day(first.min(second))?, day(first.max(second))?);
        Some((from, to.tomorrow().ok()?, used + more))
    }

    /// "2026-02-14", "14 February", "the 14th of February 2026", "Feb 14th, 2026".
    fn date(&self, at: usize) -> Option<(Date, Date, usize)> {
        if let Some(date) = self.word(at).parse::<Date>().ok().filter(|date| YEARS.contains(&date.year())) {
            // Eight digits are a number of something else.
            return if self.word(at).contains('-') { Some((date, date.tomorrow().ok()?, 1)) } else { None };
        }
        let of = usize::from(self.word(at + 1) == "of");
        let day_first = day_of_month(self.word(at)).zip(month_named(self.word(at + 1 + of))).map(|found| (found, 2 + of));
        let month_first = || month_named(self.word(at)).map(|month| (day_of_month(self.word(at + 1)), month));
        let ((day, month), used) = match day_first {
            Some(found) => found,
            None => month_first().and_then(|(day, month)| Some(((day?, month), 2)))?,
        };
        let (year, more) = self.year_after(at + used);
        let is_clear = |word: &str| !AMBIGUOUS.contains(&word) && !AMBIGUOUS.iter().any(|month| word == &month[..3]);
        let before = if at > 0 { self.word(at - 1) } else { "" };
        let is_placed = before == "on" || BEFORE_MONTH.contains(&before) || weekday_named(before).is_some();
        let has_ordinal =
            (at..at + used).any(|at| self.word(at).ends_with(['t', 'd', 'h']) && day_of_month(self.word(at)).is_some());
        if year.is_none() && !is_placed && !has_ordinal && !(at..at + used).all(|at| is_clear(self.word(at))) {
            return None;
        }
        let years = year.map_or_else(|| vec![self.now.year(), self.now.year() - 1], |year| vec![year]);
        let date = years.into_iter().filter_map(|year| Date::new(year, month, day).ok());
        let date = date.into_iter().find(|date| year.is_some() || *date <= self.now.date())?;
        Some((date, date.tomorrow().ok()?, used + more))
    }

    /// "in February", "February 2026".
    fn month(&self, at: usize) -> Option<(Date, Date, usize)> {
        let month = month_named(self.word(at))?;
        let is_ambiguous = AMBIGUOUS.contains(&self.word(at));
        let (year, more) = self.year_after(at + 1);
        let is_clear = year.is_some()
            || at > 0 && BEFORE_MONTH.contains(&self.word(at - 1)) && !(is_ambiguous && self.word(at - 1) == "this")
            || self.word(at).len() > 3 && !is_ambiguous;
        let first = is_clear.then(|| self.month_in(month, year)).flatten()?;
        Some((first, next_month(first)?, 1 + more))
    }

    /// "Monday 20 July", "Tuesday, the 21st of July": the date says which one.
    fn date_of_weekday(&self, at: usize) -> Option<(Date, Date, usize)> {
        let word = self.word(at);
        weekday_named(word)
            .or_else(|| WEEKDAYS.iter().find(|(name, _)| is_short_for(word, name)).map(|(_, weekday)| *weekday))?;
        let used = 1 + usize::from(self.word(at + 1) == "the");
        let (from, to, more) = self.date(at + used)?;
        Some((from, to, used + more))
    }

    fn weekday(&self, at: usize) -> Option<(Date, Date, usize)> {
        let first = self.last_weekday(weekday_named(self.word(at))?)?;
        Some((first, first.tomorrow().ok()?, 1))
    }

    /// "in 2025".
    fn year(&self, at: usize) -> Option<(Date, Date, usize)> {
        let (year, _) = self.year_after(at);
        let first = Date::new(year.filter(|_| at > 0 && BEFORE_MONTH.contains(&self.word(at - 1)))?, 1, 1).ok()?;
        Some((first, first.checked_add(1.year()).ok()?, 1))
    }

    /// Returns the year that stands at a word, and the number of words that it takes.
    fn year_after(&self, at: usize) -> (Option<i16>, usize) {
        let of = usize::from(self.word(at) == "of");
        let word = self.word(at + of);
        let year = if word.len() == 4 { word.parse().ok().filter(|year| YEARS.contains(year)) } else { None };
        (year, if year.is_some() { 1 + of } else { 0 })
    }

    /// Returns the last day before today with this name.
    fn last_weekday(&self, weekday: Weekday) -> Option<Date> {
        self.now.date().nth_weekday(-1, weekday).ok()
    }

    /// Returns the first day of the last month of this name that has begun.
    fn last_month(&self, month: i8) -> Option<Date> {
        let this_year = Date::new(self.now.year(), month, 1).ok()?;
        if this_year <= self.now.date() { Some(this_year) } else { this_year.checked_sub(1.year()).ok() }
    }

    fn month_in(&self, month: i8, year: Option<i16>) -> Option<Date> {
        match year {
            Some(year) => Date::new(year, month, 1).ok(),
            None => self.last_month(month),
        }
    }
}

/// Returns the first day of the week that has a day.
fn monday_of(day: Date) -> Option<Date> {
    day.checked_sub(i64::from(day.weekday().to_monday_zero_offset()).days()).ok()
}

fn next_month(first: Date) -> Option<Date> {
    first.checked_add(1.month()).ok()
}

/// Returns the number of a month by its name or the first three letters of it.
fn month_named(word: &str) -> Option<i8> {
    let is_month = |month: &str| word == month || word == &month[..3] || word == "sept" && month == "september";
    MONTHS.iter().position(|month| is_month(month)).map(|at| at as i8 + 1)
}

/// Returns whether a word is the beginning of the name of a weekday: "tue", "thurs".
fn is_short_for(word: &str, weekday: &str) -> bool {
    (3..=5).contains(&word.len()) && weekday.starts_with(word)
}

fn weekday_named(word: &str) -> Option<Weekday> {
    WEEKDAYS.iter().find(|(name, _)| *name == word).map(|(_, weekday)| *weekday)
}

/// Returns the day of a month: `14`, `14th`.
fn day_of_month(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    if digits.len() > 2 { None } else { digits.parse().ok().filter(|day| (1..=31).contains(day)) }
}

/// Returns a small number: `3`, `three`, `a`.
fn number(word: &str) -> Option<i64> {
    match word {
        "a" | "an" => Some(1),
        "couple" => Some(2),
        "few" => Some(3),
        _ => NUMBERS
            .iter()
            .position(|number| *number == word)
            .map(|at| at as i64 + 1)
            .or_else(|| word.parse().ok().filter(|count| (1..1_000).contains(count))),
    }
}

/// Returns a number of days, weeks, months or years.
fn span(count: i64, unit: &str) -> Option<Span> {
    match unit.strip_suffix('s').unwrap_or(unit) {
        "day" => Some(count.days()),
        "week" => Some(count.weeks()),
        "month" => Some(count.months()),
        "year" => Some(count.years()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Wednesday.
    const NOW: &str = "2026-03-04T12:00[+01:00]";

    fn days(text: &str) -> Vec<String> {
        let now: Zoned = NOW.parse().unwrap();
        let date = |at| jiff::Timestamp::from_millisecond(at).unwrap().to_zoned(now.time_zone().clone()).date();
        let named = named_periods(text, &now);
        named.iter().map(|named| format!("{}..{}", date(named.period.start), date(named.period.end))).collect()
    }

    #[test]
    fn periods_are_read_from_questions() {
        for (text, expected) in [
            ("what did we fix yesterday?", "2026-03-03..2026-03-04"),
            ("the day before yesterday", "2026-03-02..2026-03-03"),
            ("last Friday", "2026-02-27..2026-02-28"),
            ("on Wednesday", "2026-02-25..2026-02-26"),
            ("last week", "2026-02-23..2026-03-02"),
            ("this week", "2026-03-02..2026-03-09"),
            ("last month", "2026-02-01..2026-03-01"),
            ("this year", "2026-01-01..2027-01-01"),
            ("over the last three days", "2026-03-01..2026-03-05"),
            ("two weeks ago", "2026-02-15..2026-02-22"),
            ("a month ago", "2026-02-01..2026-03-01"),
            ("in the second week of February", "2026-02-08..2026-02-15"),
            ("the fifth week of February", "2026-03-01..2026-03-01"),
            ("the last week of January 2025", "2025-01-25..2025-02-01"),
            ("at the end of January", "2026-01-21..2026-02-01"),
            ("mid-January", "2026-01-11..2026-01-21"),
            ("in February", "2026-02-01..2026-03-01"),
            ("in December", "2025-12-01..2026-01-01"),
            ("in May", "2025-05-01..2025-06-01"),
            ("May 2024", "2024-05-01..2024-06-01"),
            ("on 14 February", "2026-02-14..2026-02-15"),
            ("on the 14th of February, 2025", "2025-02-14..2025-02-15"),
            ("Mar 5th", "2025-03-05..2025-03-06"),
            ("on 2026-01-22", "2026-01-22..2026-01-23"),
            ("in 2024", "2024-01-01..2025-01-01"),
            ("in the week of February 11", "2026-02-09..2026-02-16"),
            ("thu 29 jan, what was done", "2026-01-29..2026-01-30"),
            ("tue feb 10", "2026-02-10..2026-02-11"),
            ("on the weekend of 15 February", "2026-02-14..2026-02-16"),
            ("the week that began on 9 February 2026", "2026-02-09..2026-02-16"),
            ("the week starting on Monday, February 9", "2026-02-09..2026-02-16"),
            ("on 20 and 21 january", "2026-01-20..2026-01-22"),
            ("feb 6 to 10 2025", "2025-02-06..2025-02-11"),
            ("january 13-15", "2026-01-13..2026-01-16"),
            ("on Tuesday 20 January", "2026-01-20..2026-01-21"),
            ("Wednesday, the 4th of February 2026", "2026-02-04..2026-02-05"),
            ("on Monday, May 5", "2025-05-05..2025-05-06"),
            ("am Montag, 2. Februar", "2026-02-02..2026-02-03"),
            ("am Donnerstag, dem 29. Januar", "2026-01-29..2026-01-30"),
            ("mittwoch den 22. januar 2025", "2025-01-22..2025-01-23"),
            ("was war am 18. Februar 2026", "2026-02-18..2026-02-19"),
            ("letzte Woche", "2026-02-23..2026-03-02"),
            ("vorgestern", "2026-03-02..2026-03-03"),
            ("vor 2 Tagen", "2026-03-02..2026-03-03"),
            ("Anfang Januar", "2026-01-01..2026-01-11"),
        ] {
            assert_eq!(days(text), [expected], "{text}");
        }
    }

    #[test]
    fn words_of_a_period_are_told_and_whether_they_depend_on_the_day() {
        let now: Zoned = NOW.parse().unwrap();
        let text = "What did — we fix last week, on Friday, two days ago, on Tuesday 20 January or on 2026-01-22?";
        let named = named_periods(text, &now);
        let told: Vec<(&str, bool)> = named.iter().map(|named| (&text[named.place.clone()], named.is_relative)).collect();
        assert_eq!(
            told,
            [("last week", true), ("Friday", true), ("two days ago", true), ("Tuesday 20 January", false), ("2026-01-22", false),]
        );
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "may I?",
            "the march of time",
            "version 2024",
            "in 12 files",
            "second try",
            "mar",
            "may 32 of them",
            "which of the 2 may block",
            "may 3 writers hold it",
            "why does this may fail",
            "build 20240101",
            "",
        ] {
            assert!(days(text).is_empty(), "{text}: {:?}", days(text));
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "(last|this|week|of|february|ago|the|-|[0-9]{1,5}|may| |\\PC){0,12}") {
            let now: Zoned = NOW.parse().unwrap();
            for named in named_periods(&text, &now) {
                prop_assert!(named.period.start <= named.period.end);
                prop_assert!(!text[named.place].is_empty());
            }
            let _ = (parse_period(&text, &now), parse_beginning(&text, &now));
        }
    }
}
