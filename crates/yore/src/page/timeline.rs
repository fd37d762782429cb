//! The timeline: what was held on a day, chosen by its date or by a slider over months.

use jiff::civil::Date;
use jiff::{ToSpan, Zoned};
use maud::{Markup, html};
use schemars::JsonSchema;
use serde::Deserialize;
use yore_core::memory::MemoryKind;

use super::forms::{choice, given};
use super::memories::{plain_names, tabs};
use super::parts;
use super::view::{Content, Input, Row};
use crate::api::calls::memories::{self as calls, HeldOn};
use crate::api::calls::projects;
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;
use crate::results::{HeldPage, HeldRecord};

/// Days before and after the day within which a change is marked.
const AROUND_DAYS: u16 = 30;
/// Kinds that are shown without a choice: those that hold for some time.
const USUAL: [MemoryKind; 5] =
    [MemoryKind::Decision, MemoryKind::Standard, MemoryKind::Preference, MemoryKind::Pattern, MemoryKind::Fact];
/// The choice of every kind.
const ALL: &str = "all";

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/timeline", view: timeline }]
}

/// The arguments of the view.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Asked {
    /// The day
    at: Option<String>,
    /// A month in place of a day, at whose end it is looked: 12 times the year and the number of the month from 0
    month: Option<i32>,
    /// Only of this project, and what holds everywhere
    project: Option<String>,
    /// Only this kind, or `all`
    kind: Option<String>,
    /// The cursor at the end of the page before
    after: Option<String>,
}

fn timeline(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let asked: Asked = input.read()?;
    let today = Zoned::now().date();
    let at = match (asked.month.and_then(last_day), asked.at) {
        (Some(day), _) => day.min(today).to_string(),
        (None, Some(at)) => at,
        (None, None) => today.to_string(),
    };
    let kind = match asked.kind.as_deref() {
        None => USUAL.iter().map(|kind| kind.as_str().to_owned()).collect(),
        Some(ALL) => Vec::new(),
        Some(kind) => vec![kind.to_owned()],
    };
    let request = HeldOn {
        at: Some(at.clone()),
        kind,
        project: asked.project.into_iter().collect(),
        around_days: Some(AROUND_DAYS),
        limit: None,
        after: asked.after,
    };
    let page = calls::held(caller, request)?;
    let projects = projects::names(caller, Nothing {})?;
    // The time is the end of the day that was asked for, or now.
    let day = at.parse::<Date>().unwrap_or(today);
    Ok(Content::new("Timeline", whole(input, &page, day, today, &projects)))
}

fn whole(input: &Input, page: &HeldPage, day: Date, today: Date, projects: &[String]) -> Markup {
    let mut kinds = super::memories::kinds();
    kinds.insert(0, (ALL.to_owned(), "every kind".to_owned()));
    let month = month_of(day);
    let begun = page.first.as_deref().and_then(|first| first.get(..10)?.parse::<Date>().ok()).unwrap_or(day);
    let (first, last) = (month_of(begun).min(month), month_of(today).max(month));
    let query = input.with("after", page.next.as_deref());
    html! {
        h1 { "Timeline" }
        (tabs("timeline"))
        form.filters action="timeline" method="get" {
            label for="at" { "Held on" }
            input #at type="date" name="at" value=(day);
            (choice(input, "project", "Project", "all", &plain_names(projects)))
            (choice(input, "kind", "Kind", "decisions, rules, facts", &kinds))
            button type="submit" { "Show" }
        }
        @if first < last {
            form.months action="timeline" method="get" {
                @for name in ["project", "kind"] {
                    @let value = given(input, name);
                    @if !value.is_empty() { input type="hidden" name=(name) value=(value); }
                }
                label for="months" { "Month" }
                span.quiet { (month_name(first)) }
                input #months type="range" name="month" min=(first) max=(last) step="1" value=(month) aria-valuetext=(month_name(month));
                span.quiet { (month_name(last)) }
                output for="months" { (month_name(month)) }
                button type="submit" { "Show this month" }
            }
        }
        div #held {
            p { strong { (page.total) } @if page.total == 1 { " memory" } @else { " memories" } " held on " time datetime=(day) { (day) } "." }
            (groups(&page.items, day))
            (parts::more("timeline", &query, page.next.as_deref()))
            @if !page.near.is_empty() {
                section {
                    h2 { "Not held then, but within " (AROUND_DAYS) " days" }
                    ul.items { @for held in &page.near { (item(held, day)) } }
                }
            }
        }
    }
}

/// Returns memories by kind: decisions, rules, facts, others.
fn groups(items: &[HeldRecord], day: Date) -> Markup {
    let group = |held: &HeldRecord| match held.memory.kind.as_str() {
        "decision" => "Decisions",
        "standard" | "preference" | "pattern" => "Rules",
        "fact" => "Facts",
        _ => "Others",
    };
    html! {
        @for name in ["Decisions", "Rules", "Facts", "Others"] {
            @let of: Vec<&HeldRecord> = items.iter().filter(|held| group(held) == name).collect();
            @if !of.is_empty() {
                section {
                    h2 { (name) }
                    ul.items { @for held in of { (item(held, day)) } }
                }
            }
        }
    }
}

fn item(held: &HeldRecord, day: Date) -> Markup {
    let HeldRecord { memory, since, until } = held;
    let date = |time: &str| time.get(..10).and_then(|day| day.parse::<Date>().ok());
    let is_near = |time: &str| date(time).is_some_and(|date| (date - day).get_days().unsigned_abs() <= u32::from(AROUND_DAYS));
    let is_later = |time: &str| date(time).is_some_and(|date| date > day);
    let ended = match memory.status.as_str() {
        "invalidated" => "found wrong",
        "superseded" => "replaced",
        "archived" => "put away",
        _ => "ended",
    };
    html! {
        li.item data-item {
            div.meta {
                span.kind { (memory.kind.replace('_', " ")) }
                @if is_near(since) { span.mark.new { @if is_later(since) { "began later" } @else { "new then" } } }
                @if let Some(until) = until.as_deref().filter(|until| is_near(until)) {
                    span.mark.warn { (ended) @if is_later(until) { " soon after" } @else { " before" } }
                }
                span { "since " (parts::day(Some(since))) }
                @if until.is_some() { span { (ended) " " (parts::day(until.as_deref())) } }
                @if let Some(project) = &memory.project { span.project { (project) } }
            }
            a.statement href={ "memories/" (memory.id) } { @if let Some(title) = &memory.title { strong { (title) } " " } (memory.statement) }
        }
    }
}

/// Returns a month as a number: 12 times the year, and the number of the month from 0.
fn month_of(day: Date) -> i32 {
    i32::from(day.year()) * 12 + i32::from(day.month()) - 1
}

fn month_name(month: i32) -> String {
    format!("{:04}-{:02}", month.div_euclid(12), month.rem_euclid(12) + 1)
}

/// Returns the last day of a month.
fn last_day(month: i32) -> Option<Date> {
    let year = i16::try_from(month.div_euclid(12)).ok()?;
    let first = Date::new(year, i8::try_from(month.rem_euclid(12) + 1).ok()?, 1).ok()?;
    first.checked_add(1.month()).ok()?.checked_sub(1.day()).ok()
}

#[cfg(test)]
mod tests {
    use super::super::memory::tests::record;
    use super::*;

    fn day(words: &str) -> Date {
        words.parse().unwrap()
    }

    #[test]
    fn months_are_numbers_and_end_on_their_last_day() {
        assert_eq!(month_name(month_of(day("2026-01-31"))), "2026-01");
        assert_eq!(last_day(month_of(day("2024-02-03"))), Some(day("2024-02-29")));
        assert_eq!(last_day(month_of(day("2025-12-03"))), Some(day("2025-12-31")));
        assert_eq!(last_day(i32::MAX), None);
    }

    #[test]
    fn a_memory_is_marked_if_it_began_or_ended_near_the_day() {
        let held = |since: &str, until: Option<&str>| HeldRecord {
            memory: record("The port is 8080."),
            since: since.to_owned(),
            until: until.map(str::to_owned),
        };
        let shown = |held: &HeldRecord| item(held, day("2026-03-10")).into_string();
        assert!(shown(&held("2026-03-01T00:00:00Z", None)).contains("new then"));
        assert!(shown(&held("2026-03-20T00:00:00Z", None)).contains("began later"));
        assert!(shown(&held("2025-03-01T00:00:00Z", Some("2026-03-20T00:00:00Z"))).contains("ended soon after"));
        assert!(shown(&held("2025-03-01T00:00:00Z", Some("2026-03-01T00:00:00Z"))).contains("ended before"));
        assert!(!shown(&held("2025-03-01T00:00:00Z", None)).contains("mark"));
    }

    #[test]
    fn the_slider_spans_the_months_from_the_first_memory_to_today() {
        let page = HeldPage {
            at: "2026-03-11T00:00:00Z".to_owned(),
            items: Vec::new(),
            total: 0,
            near: Vec::new(),
            first: Some("2025-11-05T00:00:00Z".to_owned()),
            last: None,
            next: None,
        };
        let page = whole(&Input::default(), &page, day("2026-03-10"), day("2026-05-01"), &[]).into_string();
        assert!(page.contains("min=\"24310\" max=\"24316\"") && page.contains("value=\"24314\""), "{page}");
    }
}
