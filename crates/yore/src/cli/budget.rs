use clap::{Args, Subcommand};
use jiff::civil::Date;
use yore_engine::{DailyLimits, LedgerRow, Spent, dollars as told_dollars};

use super::Context;
use crate::config::{self, FileKind};
use crate::error::{CliError, CliResult, Exit};
use crate::llm;
use crate::render::text;
use crate::results::{BudgetDay, BudgetRow};

/// Show and limit what language models take, as `yore learn` does
///
/// No model is called until a limit is set: `yore budget set --tokens 200000` allows so many a day, `--dollars` what costs money.
/// Every call is reserved before it is made and booked afterwards; all processes share the limits of a day.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the limits of a day and what was taken today
    Show,
    /// Set the limits of a day, in your settings file
    Set {
        /// Most tokens a day; 0: no model is called
        #[arg(long, value_name = "N")]
        tokens: Option<u64>,
        /// Most dollars a day; 0: nothing that costs money is called
        #[arg(long, value_name = "N")]
        dollars: Option<f64>,
    },
    /// Show what was taken by day, purpose, model and project
    History {
        /// Go back N days
        #[arg(long, value_name = "N", default_value_t = 30)]
        days: u32,
    },
    /// Switch all models off for every process: before the next call, and a program that answers is ended
    Off,
    /// Switch models on again
    On,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match arguments.action.as_ref().unwrap_or(&Action::Show) {
        Action::Show => show(context),
        Action::Set { tokens, dollars } => set(*tokens, *dollars, context),
        Action::History { days } => history(*days, context),
        Action::Off => switch(true, context),
        Action::On => switch(false, context),
    }
}

fn show(context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let config = context.settings.own_config()?;
    let day = memory.day(llm::offset_minutes())?;
    let today = memory.spent_on(day)?;
    let (limits, is_off) = (llm::limits(&config), memory.are_models_off()?);
    if context.printer.is_json() {
        context.printer.json(&BudgetDay::of(limits, today, is_off))?;
        return Ok(Exit::Success);
    }
    let model = match (config.llm.provider.as_str(), config.llm.model.as_str()) {
        ("", _) => "none is configured (llm.provider)".to_owned(),
        (provider, "") => provider.to_owned(),
        (provider, model) => format!("{provider}, {model}"),
    };
    let rows = [
        vec!["model".to_owned(), if is_off { format!("{model}; switched off (`yore budget on`)") } else { model }],
        vec![
            "a day".to_owned(),
            match limits.tokens {
                0 => "no tokens: no model is called (`yore learn --limit N`)".to_owned(),
                _ => limits_told(limits),
            },
        ],
        vec!["today".to_owned(), told(&today)],
    ];
    context.printer.table(&rows)?;
    Ok(Exit::Success)
}

/// Returns the limits of a day in words.
pub(super) fn limits_told(limits: DailyLimits) -> String {
    let DailyLimits { tokens, cost_micro, calls } = limits;
    let calls = (calls > 0).then(|| text::counted(calls, "call"));
    let dollars = (cost_micro > 0).then(|| format!("{} dollars", told_dollars(cost_micro)));
    [calls, Some(format!("{} tokens", text::count(tokens))), dollars].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn told(spent: &Spent) -> String {
    let failed = if spent.failed > 0 { format!(", {} failed", text::count(spent.failed)) } else { String::new() };
    let about = if spent.is_estimated { "about " } else { "" };
    format!(
        "{}{failed}; {about}{} tokens read, {} written; {} dollars",
        text::counted(spent.calls, "call"),
        text::count(spent.input),
        text::count(spent.output),
        told_dollars(spent.cost_micro)
    )
}

fn set(tokens: Option<u64>, dollars: Option<f64>, context: &mut Context) -> CliResult {
    if tokens.is_none() && dollars.is_none() {
        return Err(CliError::usage("nothing to set", Some("give --tokens, --dollars or both")));
    }
    let file = context.settings.user_file.clone().ok_or_else(|| CliError::usage("there is no settings file", None))?;
    let values = [
        ("llm.daily_tokens", tokens.map(|tokens| tokens.to_string())),
        ("llm.daily_dollars", dollars.map(|dollars| format!("{dollars:?}"))),
    ];
    for (key, value) in values {
        if let Some(value) = value {
            config::set(&file.path, FileKind::User, key, &value)?;
        }
    }
    let config = context.settings.own_config()?;
    context.printer.line(format!("a day: {}", limits_told(llm::limits(&config))))?;
    Ok(Exit::Success)
}

fn history(days: u32, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let today = memory.day(llm::offset_minutes())?;
    let rows = memory.ledger(today - i64::from(days) + 1)?;
    if context.printer.is_json() {
        context.printer.json(&rows.iter().map(|row| BudgetRow::of(row, day(row.day))).collect::<Vec<_>>())?;
    } else if rows.is_empty() {
        context.printer.note(format!("no model was called in the last {}", text::counted(days.into(), "day")))?;
    } else {
        let line = |row: &LedgerRow| {
            let project = row.project.as_deref().map(text::harmless).unwrap_or_default();
            vec![day(row.day), row.purpose.clone(), text::harmless(&row.model), project, told(&row.spent)]
        };
        context.printer.table(&rows.iter().map(line).collect::<Vec<_>>())?;
    }
    Ok(if rows.is_empty() { Exit::Nothing } else { Exit::Success })
}

fn switch(is_off: bool, context: &mut Context) -> CliResult {
    let engine = context.settings.engine(false)?;
    engine.switch_models(is_off).map_err(|error| CliError::io(engine.directory(), &error))?;
    context.printer.line(if is_off { "models are off (`yore budget on`)" } else { "models are on" })?;
    Ok(Exit::Success)
}

/// Returns a day as a date.
fn day(day: i64) -> String {
    let epoch = Date::constant(1970, 1, 1);
    i32::try_from(day)
        .ok()
        .and_then(|day| epoch.checked_add(jiff::Span::new().try_days(day).ok()?).ok())
        .map_or_else(|| day.to_string(), |date| date.to_string())
}
