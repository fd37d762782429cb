//! The cost: tokens given to agents and taken by models, by day, and the budget.

use std::collections::BTreeMap;

use jiff::civil::Date;
use maud::{Markup, html};

use super::parts::{self, count};
use super::view::{Content, Input, Row};
use crate::api::calls::cost as calls;
use crate::api::calls::cost::LearningState;
use crate::api::route::{Caller, Nothing};
use crate::engine_handle::now;
use crate::error::CliResult;
use crate::llm::offset_minutes;
use crate::render::account::quantity_in_words;
use crate::render::text::counted;
use crate::results::{Account, BudgetDay, BudgetRow, Taken, TokenDay};

/// Days that the charts show.
const DAYS: i32 = 30;

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/cost", view: cost }, Row { path: "/account", view: account }]
}

fn cost(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let Nothing {} = input.read()?;
    let budget = calls::today(caller, Nothing {})?;
    let learning = calls::learning(caller, Nothing {})?;
    let rows = calls::days(caller, calls::Days { days: Some(DAYS as u32) })?;
    let days = calls::given(caller, Nothing {})?;
    let body = html! {
        h1 { "Cost" }
        (sums(&budget, &learning, &days))
        p { a href="account" { "What memory was worth" } ": sessions with memory against those that were held out." }
        (charts(&days, today()))
        (taken(&rows))
    };
    Ok(Content::new("Cost", body))
}

/// Shows the account, which reads the sessions that hooks gave something.
fn account(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let account = calls::worth(caller, input.read()?)?;
    Ok(Content::new("Account", worth(&account)))
}

/// Returns the day that it is here.
fn today() -> Date {
    let ms = now() + i64::from(offset_minutes()) * 60_000;
    let days = i32::try_from(ms.div_euclid(86_400_000)).unwrap_or_default();
    days_after(Date::constant(1970, 1, 1), days)
}

fn days_after(date: Date, days: i32) -> Date {
    date.saturating_add(jiff::Span::new().days(days))
}

fn tokens(taken: &Taken) -> u64 {
    taken.input_tokens + taken.output_tokens
}

fn sums(budget: &BudgetDay, learning: &LearningState, days: &[TokenDay]) -> Markup {
    let given: u64 = days.iter().map(|day| day.given).sum();
    let answers: u64 = days.iter().map(|day| day.answers).sum();
    let spent: u64 = days.iter().map(|day| tokens(&day.taken)).sum();
    let used = tokens(&budget.today);
    html! {
        dl {
            dt { "Given to agents" } dd { (counted(given, "token")) " in " (counted(answers, "answer")) " in the last 30 days; the agents read them, and " a href="receipts" { "receipts" } " tell which" }
            dt { "Taken by models" } dd { (counted(spent, "token")) " in the last 30 days, in calls that yore made" }
            dt { "Models" }
            dd {
                @if budget.off { span.mark.warn { "switched off" } " No model is called. " code { "yore budget on" } " in a terminal switches them on." }
                @else { "switched on; " code { "yore budget off" } " in a terminal switches all of them off, a call that runs as well" }
            }
            dt { "Limit of a day" }
            dd {
                @if budget.daily_tokens == 0 { "0 tokens: no model is called. " code { "yore learn --limit 200k" } " allows so many a day." }
                @else {
                    (counted(budget.daily_tokens, "token"))
                    @if budget.daily_calls > 0 { ", " (counted(budget.daily_calls, "call")) }
                    @if budget.daily_dollars > 0.0 { ", " (dollars(budget.daily_dollars)) }
                }
            }
            dt { "Today" }
            dd {
                (counted(budget.today.calls, "call")) ", " @if budget.today.estimated { "about " } (counted(used, "token")) ", " (dollars(budget.today.dollars))
                @if budget.daily_tokens > 0 {
                    "; left: " (counted(budget.daily_tokens.saturating_sub(used), "token"))
                    @if budget.daily_calls > 0 { ", " (counted(budget.daily_calls.saturating_sub(budget.today.calls), "call")) }
                    @if budget.daily_dollars > 0.0 { ", " (dollars((budget.daily_dollars - budget.today.dollars).max(0.0))) }
                }
            }
            dt { "Who reads sessions" }
            dd {
                @match &learning.with { Some(with) => { (with) } None => { "rules, which cost nothing; no model is chosen (" code { "yore learn" } " shows which are ready)" } }
                @if learning.with.is_some() && learning.auto { ", in the background" }
            }
            dt { "Read" } dd { (counted(learning.sessions_read, "session")) " by a model so far; " (counted(learning.waiting.sessions, "session")) " wait" }
        }
    }
}

/// Returns what memory was worth: the comparison of sessions with it and without.
fn worth(account: &Account) -> Markup {
    html! {
        h1 { "What memory was worth" }
        @if account.with + account.without == 0 {
            p { "Hooks gave no session anything in the last 90 days." }
        } @else {
            p {
                (counted(account.with, "session")) " with memory, " (counted(account.without, "session")) " held out by chance. "
                @if account.holdout_sessions == 0.0 {
                    code { "yore config set inject.holdout_sessions 0.2" } " gives a fifth of the sessions nothing, so that they can be compared."
                }
            }
            div.table tabindex="0" role="region" aria-label="Sessions with memory and without" { table {
                thead { tr {
                    th scope="col" { "In a session" } th.number scope="col" { "With" } th.number scope="col" { "Without" }
                    th.number scope="col" { "Difference (95 %)" } th scope="col" { "Shown" }
                } }
                tbody { @for quantity in &account.quantities {
                    @let [with, without, difference, shown] = quantity_in_words(quantity);
                    tr { th scope="row" { (quantity.title) } td.number { (with) } td.number { (without) } td.number { (difference) } td { (shown) } }
                } }
            } }
        }
    }
}

/// Returns the charts of tokens by day. Every day has a bar, so that the two can be compared.
fn charts(days: &[TokenDay], today: Date) -> Markup {
    let known: BTreeMap<&str, &TokenDay> = days.iter().map(|day| (day.day.as_str(), day)).collect();
    let dates = (0..DAYS).rev().map(|back| days_after(today, -back).to_string());
    let of = |value: fn(&TokenDay) -> u64| -> Vec<(String, u64)> {
        dates.clone().map(|date| (date.clone(), known.get(date.as_str()).map_or(0, |day| value(day)))).collect()
    };
    html! {
        h2 { "By day" }
        @if days.is_empty() { p { "No tokens were given or taken in the last 30 days." } }
        @else {
            div.columns.even {
                (parts::bars("Tokens given to agents", "tokens", &of(|day| day.given)))
                (parts::bars("Tokens taken by models", "tokens", &of(|day| tokens(&day.taken))))
            }
        }
    }
}

fn taken(rows: &[BudgetRow]) -> Markup {
    let mut sums: BTreeMap<(&str, &str), Taken> = BTreeMap::new();
    for row in rows {
        let sum = sums.entry((&row.purpose, &row.model)).or_default();
        let Taken { calls, failed, input_tokens, output_tokens, dollars, estimated } = &row.taken;
        sum.calls += calls;
        sum.failed += failed;
        sum.input_tokens += input_tokens;
        sum.output_tokens += output_tokens;
        sum.dollars += dollars;
        sum.estimated |= estimated;
    }
    html! {
        h2 { "By purpose and model" }
        @if rows.is_empty() { p { "No model was called in the last 30 days." } }
        @else {
            div.table tabindex="0" role="region" aria-label="Calls by purpose and model" { table {
                thead { tr { th scope="col" { "Purpose" } th scope="col" { "Model" } (heads()) } }
                tbody { @for ((purpose, model), sum) in &sums { tr { th scope="row" { (purpose) } td { (model) } (numbers(sum)) } } }
            } }
            details {
                summary { "By day and project" }
                div.table tabindex="0" role="region" aria-label="Calls by day and project" { table {
                    thead { tr { th scope="col" { "Day" } th scope="col" { "Purpose" } th scope="col" { "Model" } th scope="col" { "Project" } (heads()) } }
                    tbody { @for row in rows { tr {
                        th scope="row" { (row.day) } td { (row.purpose) } td { (row.model) } td { (row.project.as_deref().unwrap_or("")) } (numbers(&row.taken))
                    } } }
                } }
            }
        }
    }
}

fn heads() -> Markup {
    html! { th.number scope="col" { "Calls" } th.number scope="col" { "Tokens read" } th.number scope="col" { "Written" } th.number scope="col" { "Dollars" } }
}

fn numbers(taken: &Taken) -> Markup {
    let about = if taken.estimated { "about " } else { "" };
    html! {
        td.number { (count(taken.calls)) @if taken.failed > 0 { " (" (count(taken.failed)) " failed)" } }
        td.number { (about) (count(taken.input_tokens)) }
        td.number { (about) (count(taken.output_tokens)) }
        td.number { (dollars(taken.dollars)) }
    }
}

fn dollars(amount: f64) -> String {
    if amount == 0.0 || amount >= 0.1 { format!("${amount:.2}") } else { format!("${amount:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_a_bar_and_a_row_of_the_table() {
        let day = TokenDay { day: "2026-11-28".to_owned(), given: 1_200, ..TokenDay::default() };
        let markup = charts(&[day], Date::constant(2026, 11, 29)).into_string();
        assert_eq!(markup.matches("<rect").count(), 60);
        assert!(
            markup.contains("<title>2026-11-28: 1,200 tokens</title>") && markup.contains("<title>2026-10-31: 0 tokens"),
            "{markup}"
        );
        assert!(!markup.contains("style="));
        assert!(!charts(&[], Date::constant(2026, 11, 29)).into_string().contains("<svg"));
    }

    #[test]
    fn calls_of_several_days_are_summed_by_purpose_and_model() {
        let row = |day: &str, calls| BudgetRow {
            day: day.to_owned(),
            purpose: "extract".to_owned(),
            model: "claude/<b>".to_owned(),
            project: None,
            taken: Taken { calls, input_tokens: 10, output_tokens: 1, dollars: 0.25, ..Taken::default() },
        };
        let markup = taken(&[row("2026-11-28", 41), row("2026-11-29", 1)]).into_string();
        assert!(markup.contains(">42</td>") && markup.contains("$0.50") && !markup.contains("<b>"), "{markup}");
    }

    #[test]
    fn the_off_switch_and_what_is_left_are_told() {
        let today = Taken { calls: 2, input_tokens: 150, output_tokens: 50, ..Taken::default() };
        let budget = BudgetDay { daily_tokens: 1_000, daily_calls: 0, daily_dollars: 0.0, off: true, today };
        let learning = LearningState {
            auto: false,
            with: None,
            waiting: crate::results::LearnWaiting { sessions: 3, calls: 0, input_tokens: 0, output_tokens: 0, dollars: None },
            sessions_read: 0,
            found_today: 0,
            today: Taken::default(),
        };
        let markup = sums(&budget, &learning, &[]).into_string();
        assert!(
            markup.contains("switched off") && markup.contains("left: 800 tokens") && markup.contains("3 sessions wait"),
            "{markup}"
        );
    }
}
