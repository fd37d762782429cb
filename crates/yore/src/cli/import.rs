use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use clap::Args;
use yore_core::operation::{Actor, Cause};

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::render::text::{self, counted};
use crate::results::Moved;

/// Read memories, entities and relations that `yore export` wrote
///
/// A record that is known as it is, or newer, stays. The whole import is one operation, which `yore op undo` takes back.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let file = File::open(&arguments.file).map_err(|error| CliError::io(&arguments.file, &error))?;
    let engine = context.settings.engine(true)?;
    let input = arguments.file.file_name().map(|name| name.to_string_lossy().into_owned());
    let cause = Cause { actor: Actor::Import, by: "yore import".to_owned(), input };
    let imported = engine.import_memories(&mut BufReader::new(file), &cause)?;
    if context.printer.is_json() {
        context.printer.json(&Moved::from(&imported))?;
    } else {
        let stored = &imported.stored;
        context.printer.line(format!(
            "{}, {}, {} stored; {} known",
            counted(stored.memories, "memory"),
            counted(stored.entities, "entity"),
            counted(stored.relations, "relation"),
            imported.known
        ))?;
        for (line, problem) in &imported.problems {
            context.printer.note(format!("line {line} is skipped: {}", text::harmless(problem)))?;
        }
        let untold = imported.skipped - imported.problems.len() as u64;
        if untold > 0 {
            context.printer.note(format!("{} more skipped", counted(untold, "line")))?;
        }
    }
    Ok(if imported.skipped > 0 { Exit::Nothing } else { Exit::Success })
}
