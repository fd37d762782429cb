use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::Args;

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::render::text::counted;
use crate::results::Moved;

/// Write all memories, entities and relations to a file, one JSON object per line
///
/// `yore import` reads it, here or on another computer, with the same ids. What was said and notes are not in it
/// (`yore backup` copies everything).
#[derive(Args, Debug)]
pub struct Arguments {
    /// The file, which must not exist yet
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let engine = context.settings.engine(false)?;
    let failed = |error| CliError::io(&arguments.file, &error);
    yore_engine::platform::write_new_private_file(&arguments.file, b"").map_err(failed)?;
    let mut out = BufWriter::new(File::options().append(true).open(&arguments.file).map_err(failed)?);
    let exported = engine.export_memories(&mut out)?;
    out.flush().and_then(|()| out.get_ref().sync_all()).map_err(failed)?;
    if context.printer.is_json() {
        context.printer.json(&Moved::from(&exported))?;
    } else {
        context.printer.line(format!(
            "{}, {}, {}",
            counted(exported.memories, "memory"),
            counted(exported.entities, "entity"),
            counted(exported.relations, "relation")
        ))?;
    }
    Ok(Exit::Success)
}
