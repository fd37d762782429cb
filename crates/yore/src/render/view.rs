//! Formats an answer in kind for people and agents.

use yore_core::query::AnswerKind;
use yore_core::text::cut;
use yore_engine::{View, ViewRow};

use super::plain::{counted, day, harmless, one_line, time};

/// Characters of a subject that are repeated.
const SUBJECT_CHARS: usize = 100;
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Returns the line above the rows, of which so many are told: how the question was taken, and how many there are.
pub fn heading(view: &View, told: usize) -> String {
    let subject = match view.subject.trim() {
        "" => String::new(),
        subject => format!(" about “{}”", cut(&one_line(subject), SUBJECT_CHARS)),
    };
    let period = match view.period {
        Some((start, end)) if end - start <= DAY => format!(" on {}", day(Some(start))),
        Some((start, end)) => format!(" from {} to {}", day(Some(start)), day(Some(end - 1))),
        None => String::new(),
    };
    let (one, what) = match view.kind {
        AnswerKind::Commands => match view.purpose {
            Some(purpose) => {
                let was_run = view.rows.iter().any(|row| row.state.as_ref().is_some_and(|state| state.starts_with("passed")));
                let which = if was_run { "were run here and passed" } else { "documents of the project name" };
                return match view.is_widened {
                    true => format!("No command{subject} is recorded; what {}", purpose.said()),
                    false => format!("Commands that {which}: what {}", purpose.said()),
                };
            }
            None => ("command", "commands"),
        },
        AnswerKind::Cause => return "The same or a like error before, and what came of it".to_owned(),
        AnswerKind::Todos => ("open todo", "open todos"),
        AnswerKind::Questions => ("open question", "open questions"),
        AnswerKind::Problems => ("open problem", "open problems"),
        AnswerKind::Decisions => ("decision", "decisions"),
        AnswerKind::Plans => ("plan", "plans"),
        AnswerKind::Refusals => ("refusal by the person", "refusals by the person"),
        AnswerKind::Rules => ("rule or preference", "rules and preferences"),
        AnswerKind::PullRequests => ("pull request", "pull requests"),
        AnswerKind::Issues => ("issue", "issues"),
        AnswerKind::Releases => ("release", "releases"),
        AnswerKind::Commits => ("commit", "commits"),
        AnswerKind::Errors => ("error", "errors"),
        AnswerKind::Files => ("changed file", "changed files"),
        AnswerKind::Work => ("session", "sessions"),
        _ => {
            let category = view.category.as_deref().map(one_line).unwrap_or_default();
            return match view.sufficed {
                Some(true) => format!("Overview{subject}: answered from the summary of category {category}"),
                Some(false) => format!("Overview{subject}{period}: the summary of category {category} covers too little of it"),
                None => format!("Overview{subject}{period}"),
            };
        }
    };
    if view.rows.is_empty() || view.is_widened {
        let all = if view.all > 0 { format!(" ({} recorded)", counted_as(view.all, one, what)) } else { String::new() };
        let latest = if view.is_widened { "; the latest" } else { "" };
        return format!("No {one}{subject}{period} is recorded{all}{latest}");
    }
    let first = match (view.kind, told) {
        (AnswerKind::Work, shown) if shown < view.all => format!(" (of {})", view.all),
        (_, shown) if shown < view.total => format!(", the first {shown}"),
        _ => String::new(),
    };
    format!("{}{subject}{period}{first}", counted_as(view.total, one, what))
}

fn counted_as(count: usize, one: &str, several: &str) -> String {
    if count == 1 { counted(1, one) } else { format!("{count} {several}") }
}

/// The form of the times of rows.
#[derive(Clone, Copy)]
enum When {
    Day,
    Minute,
    /// The day stands above the rows.
    MinuteOfDay,
}

/// Formats a row: a line, and further lines below it.
fn row(row: &ViewRow, when: When) -> String {
    let mut line = format!("- {}", one_line(&row.text));
    let at = match when {
        When::Day => day(row.at),
        When::Minute => time(row.at),
        When::MinuteOfDay => time(row.at).split_whitespace().last().unwrap_or_default().to_owned(),
    };
    let told = row.state.as_deref().map(one_line).into_iter().chain(row.at.map(|_| at));
    let told = told.chain(row.opens.as_ref().map(|id| format!("[{id}]")));
    let told: Vec<String> = told.collect();
    if !told.is_empty() {
        line.push_str(&format!(" · {}", told.join(" · ")));
    }
    for detail in &row.details {
        line.push_str(&format!("\n    {}", harmless(detail)));
    }
    line
}

/// Returns the rows that cost at most `most` characters together; at least one.
pub fn rows(view: &View, most: usize) -> Vec<String> {
    let when = match (view.kind, view.period) {
        (AnswerKind::Work, Some((start, end))) if end - start <= DAY => When::MinuteOfDay,
        (AnswerKind::Work, _) => When::Minute,
        _ => When::Day,
    };
    let (mut told, mut length) = (Vec::new(), 0);
    for next in &view.rows {
        let line = row(next, when);
        length += line.chars().count() + 1;
        if !told.is_empty() && length > most {
            break;
        }
        told.push(line);
    }
    told
}
