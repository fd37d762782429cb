use clap::Args;
use jiff::{ToSpan, Zoned};
use yore_core::query::AnswerKind;
use yore_core::scope::ScopeChoice;

use super::scope::ScopeArguments;
use super::{Context, recall};
use crate::error::{CliError, CliResult, Exit};
use crate::render::{text, view};
use crate::results::Recalled;

/// Show what was done today, by session
#[derive(Args, Debug)]
pub struct Today {
    #[command(flatten)]
    scope: ScopeArguments,
}

/// Show what was done in the last seven days, by session
#[derive(Args, Debug)]
pub struct Week {
    #[command(flatten)]
    scope: ScopeArguments,
}

/// Most characters of a digest.
const MOST_CHARS: usize = 6_000;
/// Days before today that belong to the week.
const WEEK: i64 = 6;

pub fn today(arguments: &Today, context: &mut Context) -> CliResult {
    digest("today", 0, &arguments.scope, context)
}

pub fn week(arguments: &Week, context: &mut Context) -> CliResult {
    digest("in the last seven days", WEEK, &arguments.scope, context)
}

/// Prints what was done today and on so many days before.
fn digest(period: &str, days_before: i64, scope: &ScopeArguments, context: &mut Context) -> CliResult {
    let wrong_time = |error: jiff::Error| CliError::usage(format!("cannot read the clock: {error}"), None);
    let today = Zoned::now().start_of_day().map_err(wrong_time)?;
    let start = today.checked_sub(days_before.days()).map_err(wrong_time)?.timestamp().as_millisecond();
    let end = today.checked_add(1.day()).map_err(wrong_time)?.timestamp().as_millisecond();
    let mut memory = context.settings.memory()?;
    let mut request = recall::request("", context);
    request.answer_kind = Some(AnswerKind::Work);
    if scope.all {
        request.filter.scope = ScopeChoice::All;
    } else if !scope.named.is_empty() {
        request.filter.scope = ScopeChoice::Projects(scope.named.clone());
    }
    let latest = request.clone();
    (request.filter.since, request.filter.until) = (Some(start), Some(end));
    let mut answer = memory.recall(&request, false)?;
    answer.hits.clear();
    if let Some(view) = &mut answer.view {
        view.period = Some((start, end));
    }
    let has_work = answer.view.as_ref().is_some_and(|view| !view.rows.is_empty());
    if context.printer.is_json() {
        context.printer.json(&Recalled::exact("", &answer))?;
    } else if let Some(view) = answer.view.filter(|_| has_work) {
        let rows = view::rows(&view, MOST_CHARS);
        context.printer.line(view::heading(&view, rows.len()))?;
        for row in rows {
            context.printer.line(row)?;
        }
    } else {
        let last = memory.recall(&latest, false)?.view.and_then(|view| view.rows.into_iter().next());
        let place = if scope.all || !scope.named.is_empty() || answer.projects.is_empty() { "" } else { " here" };
        let last = last.and_then(|row| Some((row.at?, row.text)));
        let told = match last {
            Some((at, title)) => format!("; work was last done{place} on {}: {}", text::day(Some(at)), text::harmless(&title)),
            None => String::new(),
        };
        context.printer.line(format!("nothing was done{place} {period}{told}"))?;
    }
    Ok(if has_work { Exit::Success } else { Exit::Nothing })
}
