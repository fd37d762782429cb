//! Argument parsers and output that the commands over memories share.

use yore_core::conflict::Aspect;
use yore_core::memory::dynamics::Tier;
use yore_core::memory::{MemoryKind, Status};
use yore_core::operation::{Actor, Cause};

use crate::cli::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::render::memories::kind_name;
use crate::render::plain::one_line;

/// Parses the name of a kind, of yore or of any design.
pub fn kind(name: &str) -> Result<MemoryKind, String> {
    MemoryKind::named(name).ok_or_else(|| {
        let names: Vec<String> = MemoryKind::ALL.iter().map(|kind| kind_name(*kind)).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Parses the name of a status.
pub fn status(name: &str) -> Result<Status, String> {
    Status::parse(name).ok_or_else(|| {
        let names: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Parses a tier.
pub fn tier(name: &str) -> Result<Tier, String> {
    Tier::parse(name).ok_or_else(|| {
        let names: Vec<&str> = Tier::ALL.iter().map(|tier| tier.as_str()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Parses a number from 0 to 1.
pub fn share(text: &str) -> Result<f32, String> {
    let share = text.parse::<f32>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// Returns the cause of what a person does with a command.
pub fn by_person(command: &str) -> Cause {
    Cause { actor: Actor::Person, by: format!("yore {command}"), input: None }
}

/// Prints what a change did.
pub fn told(context: &mut Context, done: yore_engine::Done, words: &str) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&crate::results::Changed::from(done))?;
        return Ok(Exit::Success);
    }
    context.printer.line(done.memory.to_string())?;
    context.printer.note(match done.operation {
        Some(number) => format!("{words} (`yore undo {number}` takes it back)"),
        None => "nothing changed: it was so already".to_owned(),
    })?;
    Ok(Exit::Success)
}

/// Returns an error for a command line.
pub fn usage(message: impl Into<String>) -> CliError {
    CliError::usage(message, None)
}

/// Maximum number of characters of a statement in a list.
const STATEMENT_CHARS: usize = 100;

/// Returns the beginning of a statement, in one line.
pub fn beginning(statement: &str) -> String {
    let line = one_line(statement);
    let mut shown: String = line.chars().take(STATEMENT_CHARS).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}

/// Reads an aspect.
pub fn aspect(name: &str) -> Result<Aspect, String> {
    let known = || Aspect::ALL.iter().map(|aspect| aspect.as_str()).collect::<Vec<_>>().join(", ");
    Aspect::parse(&name.to_lowercase()).ok_or_else(|| format!("the aspects are {}", known()))
}
