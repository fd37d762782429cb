use clap::{Args, Subcommand};
use yore_core::operation::{Actor, Cause};
use yore_engine::{OpenConflict, Settlement, StoredMemory};

use super::Context;
use super::page::{PageArguments, more};
use super::scope::ScopeArguments;
use crate::cursor;
use crate::engine_handle::now;
use crate::error::{CliError, CliResult, Exit};
use crate::inbox;
use crate::render::text;
use crate::results::ConflictRecord;

/// Show and settle memories that cannot both hold
///
/// When a memory is recorded that by its words gives another value or date of the same thing than a known one, or denies it, yore notes
/// that they contradict each other: those of one session or project that were extracted or distilled, and those that name the same
/// entity. Both hold until you settle it: keep one, or let both hold. `yore undo` takes that back.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    listing: Listing,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List what is not settled, the gravest and newest first
    List(Listing),
    /// Show one conflict with its evidence
    Show {
        /// Id of one of the memories, or the beginning of it
        first: String,
        /// Id of the other one
        second: String,
    },
    /// Settle a conflict
    #[command(group = clap::ArgGroup::new("how").required(true).args(["keep", "both", "later"]))]
    Settle {
        /// Id of one of the memories, or the beginning of it
        first: String,
        /// Id of the other one
        second: String,
        /// This memory holds and takes the place of the other, which stays readable
        #[arg(long, value_name = "ID")]
        keep: Option<String>,
        /// Both hold, each under its own condition
        #[arg(long)]
        both: bool,
        /// Leave it open and list it again in N days, 1 to 365; 7 without a number
        #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "7", value_parser = clap::value_parser!(u16).range(1..=365))]
        later: Option<u16>,
        /// Why, or under which condition
        #[arg(long, value_name = "TEXT", conflicts_with = "later")]
        reason: Option<String>,
    },
}

#[derive(Args, Debug)]
struct Listing {
    #[command(flatten)]
    scope: ScopeArguments,
    /// At most N conflicts
    #[arg(short = 'n', long, value_name = "N", default_value_t = LIMIT)]
    limit: usize,
    #[command(flatten)]
    page: PageArguments,
}

/// Cursor letter of this list.
const LIST: char = 'c';
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// Default number of conflicts.
const LIMIT: usize = 20;
/// Most conflicts among which one is looked for.
const MOST: usize = 100_000;

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.action {
        None => list(&arguments.listing, context),
        Some(Action::List(listing)) => {
            let is_before = arguments.listing.scope.all || !arguments.listing.scope.named.is_empty();
            list(if is_before { &arguments.listing } else { listing }, context)
        }
        Some(Action::Show { first, second }) => show(first, second, context),
        Some(Action::Settle { first, second, keep, both: _, later, reason }) => {
            let settlement = match (keep, later) {
                (Some(keep), _) => Settlement::Keep(keep.clone()),
                (None, Some(days)) => Settlement::Later(now().saturating_add(i64::from(*days) * DAY_MS)),
                (None, None) => Settlement::Both,
            };
            settle(first, second, settlement, reason.clone(), context)
        }
    }
}

fn list(listing: &Listing, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let after = listing.page.place(LIST)?.map(|cursor| inbox::place_of(&cursor)).transpose()?;
    // One more than fits shows whether there is a next page.
    let projects = listing.scope.projects(context)?;
    let mut found = memory.conflicts(projects.clone(), after, listing.limit.saturating_add(1))?;
    let next = cursor::page(&mut found, listing.limit, |conflict| inbox::cursor_of(LIST, &conflict.place(now())));
    if let Some((at, count)) = memory.conflicts_put_off()? {
        let what = text::counted(count as u64, "conflict");
        context.printer.note(format!("{what} put off, the next until {}", text::day(Some(at))))?;
    }
    if context.printer.is_json() {
        listing.page.json(found.iter().map(ConflictRecord::from).collect(), next.as_ref(), context)?;
    } else if found.is_empty() {
        let place = if projects.is_empty() { "" } else { " in this project (--all: everywhere)" };
        context.printer.line(format!("nothing contradicts anything that holds{place}, as far as yore sees"))?;
    } else {
        for conflict in &found {
            for line in pair_lines(conflict) {
                context.printer.line(line)?;
            }
        }
        more(next.as_ref(), context)?;
    }
    Ok(if found.is_empty() { Exit::Nothing } else { Exit::Success })
}

/// Returns the lines of a conflict.
pub fn pair_lines(conflict: &OpenConflict) -> Vec<String> {
    let what = match &conflict.conflict {
        Some(found) => match &found.values {
            Some([older, newer]) => format!("{}: {older} / {newer}", found.kind.as_str()),
            None => found.kind.as_str().to_owned(),
        },
        None => conflict.reason.clone().unwrap_or_else(|| "stated".to_owned()),
    };
    let (older, newer) = (&conflict.older, &conflict.newer);
    let mut lines = vec![format!("{}{}{} · {}", text::BOLD, text::harmless(&what), text::RESET, conflict.severity().as_str())];
    lines.extend([older, newer].map(line));
    let advice = conflict.advice();
    let kept = advice.map_or("ID".to_owned(), |(id, _)| id.short());
    let why = advice.map(|(_, why)| format!(" ({why})")).unwrap_or_default();
    lines.push(format!(
        "  {}yore conflicts settle {} {} --keep {kept}{}{why}, or --both, or --later",
        text::DIM,
        older.memory.id.short(),
        newer.memory.id.short(),
        text::RESET
    ));
    lines.push(String::new());
    lines
}

fn line(stored: &StoredMemory) -> String {
    let memory = &stored.memory;
    let project = stored.project.as_deref().map(|project| format!(" · {}", text::harmless(project))).unwrap_or_default();
    let at = text::time(memory.valid_from.or(Some(memory.recorded)));
    format!("  {}{} · {at}{project}{}  {}", text::DIM, memory.id.short(), text::RESET, text::harmless(&memory.statement))
}

fn show(first: &str, second: &str, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let wanted = [memory.memory(first.to_owned())?.memory.id, memory.memory(second.to_owned())?.memory.id];
    let is_it = |one: &OpenConflict| {
        let (older, newer) = (one.older.memory.id, one.newer.memory.id);
        [[older, newer], [newer, older]].contains(&wanted)
    };
    let found = memory.conflicts(Vec::new(), None, MOST)?.into_iter().find(is_it);
    let Some(found) = found else {
        return Err(CliError::usage(
            format!("{first} and {second} are in no open conflict"),
            Some("`yore conflicts` lists those that are"),
        ));
    };
    if context.printer.is_json() {
        context.printer.json(&ConflictRecord::from(&found))?;
        return Ok(Exit::Success);
    }
    for line in pair_lines(&found) {
        context.printer.line(line)?;
    }
    for stored in [&found.older, &found.newer] {
        context.printer.line(format!("{}:", stored.memory.id.short()))?;
        for evidence in &stored.memory.evidence {
            let quote = text::harmless(&evidence.quote).split_whitespace().collect::<Vec<_>>().join(" ");
            context.printer.line(format!("  {}{}{}  “{quote}”", text::DIM, evidence.turn.short(), text::RESET))?;
        }
        if stored.memory.evidence.is_empty() {
            context.printer.line("  no evidence: it was recorded by hand or by an agent")?;
        }
    }
    Ok(Exit::Success)
}

fn settle(first: &str, second: &str, settlement: Settlement, reason: Option<String>, context: &mut Context) -> CliResult {
    let cause = Cause { actor: Actor::Person, by: "conflicts".to_owned(), input: None };
    let mut memory = context.settings.memory()?;
    let done = memory.settle_conflict(first.to_owned(), second.to_owned(), settlement.clone(), reason, cause)?;
    let how = match settlement {
        Settlement::Keep(_) => format!("{} holds in the place of the other", done.memory.short()),
        Settlement::Both => "both hold".to_owned(),
        Settlement::Later(at) => format!("it is listed again on {}", text::day(Some(at))),
    };
    let undo = done.operation.map(|number| format!("; `yore undo {number}` takes it back")).unwrap_or_default();
    context.printer.line(format!("{how}{undo}"))?;
    Ok(Exit::Success)
}
