//! The cost: tokens given to agents and taken by models, by day, and the budget.

use maud::html;

use super::parts::{self, count};
use super::view::{Content, Input, Row};
use crate::api::calls::cost as calls;
use crate::api::calls::upkeep;
use crate::api::route::{Caller, Nothing};
use crate::error::CliResult;

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/cost", view: cost }]
}

fn cost(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let Nothing {} = input.read()?;
    let budget = calls::today(caller, Nothing {})?;
    let learning = calls::learning(caller, Nothing {})?;
    let rows = calls::days(caller, calls::Days::default())?;
    let state = upkeep::life(caller, upkeep::Life::default())?;
    let days = state.life.map(|life| life.tokens).unwrap_or_default();
    let given: Vec<(String, u64)> = days.iter().map(|day| (day.day.clone(), day.given)).collect();
    let taken: Vec<(String, u64)> =
        days.iter().map(|day| (day.day.clone(), day.taken.input_tokens + day.taken.output_tokens)).collect();
    let sum = |values: &[(String, u64)]| values.iter().map(|(_, value)| *value).sum::<u64>();
    let used = budget.today.input_tokens + budget.today.output_tokens;
    let body = html! {
        h1 { "Cost" }
        dl {
            dt { "Given to agents" } dd { (count(sum(&given))) " tokens in 30 days, which your agents read" }
            dt { "Taken by models" } dd { (count(sum(&taken))) " tokens in 30 days, which yore asked for" }
            dt { "Limit of a day" }
            dd {
                @if budget.off { "models are switched off: " code { "yore budget on" } " switches them on" }
                @else if budget.daily_tokens == 0 { "0 tokens: no model is called. " code { "yore learn --limit TOKENS" } " allows it" }
                @else {
                    (count(used)) " of " (count(budget.daily_tokens)) " tokens today"
                    @if budget.daily_dollars > 0.0 { ", " (dollars(budget.today.dollars)) " of " (dollars(budget.daily_dollars)) }
                }
            }
            dt { "Model" }
            dd {
                @match &learning.with { Some(with) => { (with) } None => "none is chosen" }
                @if learning.auto { ", reads sessions in the background" }
            }
            dt { "Waiting" } dd { (count(learning.waiting.sessions)) " sessions wait for a model; " (count(learning.sessions_read)) " were read, " (count(learning.found_today)) " memories found today" }
        }
        @if !given.is_empty() {
            (parts::bars("Tokens given to agents, by day", "tokens", &given))
            (parts::bars("Tokens taken by models, by day", "tokens", &taken))
        }
        h2 { "By purpose and model" }
        @if rows.is_empty() { p { "No model was called in the last 30 days." } }
        @else {
            div.table { table {
                thead { tr { th scope="col" { "Day" } th scope="col" { "Purpose" } th scope="col" { "Model" } th scope="col" { "Project" } th.number scope="col" { "Calls" } th.number scope="col" { "Tokens" } th.number scope="col" { "Dollars" } } }
                tbody { @for row in &rows { tr {
                    td { (row.day) } td { (row.purpose) } td { (row.model) } td { (row.project.as_deref().unwrap_or("")) }
                    td.number { (count(row.taken.calls)) @if row.taken.failed > 0 { " (" (row.taken.failed) " failed)" } }
                    td.number { (count(row.taken.input_tokens + row.taken.output_tokens)) }
                    td.number { (dollars(row.taken.dollars)) }
                } } }
            } }
        }
    };
    Ok(Content::new("Cost", body))
}

fn dollars(amount: f64) -> String {
    format!("${amount:.4}")
}
