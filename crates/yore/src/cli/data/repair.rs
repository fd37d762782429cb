use clap::Args;

use crate::cli::Context;
use crate::cli::daemon::{start_again, stop_for};
use crate::cli::ingest::read_histories;
use crate::error::{CliResult, Exit};
use crate::histories::{known_roots, reader_options};
use crate::render::progress::Progress;
use crate::render::text;
use crate::results::{KeyAccepted, Repaired};

/// Save the intact parts of a damaged memory
///
/// Copies every part of the archive that is intact into a new database, which replaces the damaged one, reads
/// the archive again, and then reads what is missing from sources that still exist. The damaged database is
/// kept. `yore data restore` uses a backup instead.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Use a new key because the data directory's key is lost. What was forgotten for good comes back if its
    /// source still exists, and every file is read again
    #[arg(long)]
    new_key: bool,
    /// Read no sources
    #[arg(long)]
    no_sources: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let was_running = stop_for(context)?;
    if arguments.new_key {
        context.settings.engine(false)?.accept_key()?;
        if context.printer.is_json() {
            context.printer.json(&KeyAccepted { new_key: true })?;
        } else {
            context.printer.line("the memory now uses the present key")?;
        }
        if was_running {
            start_again(context);
        }
        return Ok(Exit::Success);
    }
    let options = reader_options(context.settings.config());
    let mut bar = Progress::new("reading the archive", context.printer.shows_progress());
    let result = yore_engine::repair(&context.settings.engine_options(false), &options, &mut bar);
    bar.finish();
    // Where nothing was repaired, the daemon goes on with what there is.
    if was_running && result.is_err() {
        start_again(context);
    }
    let report = result?;
    let mut turns = 0;
    if !arguments.no_sources {
        let engine = context.settings.engine(false)?;
        let roots = known_roots(&engine, &context.settings)?;
        let (read, _) = read_histories(&engine, roots, None, context)?;
        turns = read.turns_added;
    }
    let lost_for_good: Vec<_> = report.lost.iter().filter(|(_, _, is_there)| !is_there).collect();
    if context.printer.is_json() {
        context.printer.json(&Repaired::of(&report, turns))?;
    } else {
        context.printer.line(format!(
            "saved {} of the archive, {}; {} lost",
            text::counted(report.blobs, "blob"),
            text::counted(report.reindex.turns_added, "turn"),
            text::counted(report.lost_blobs, "blob")
        ))?;
        for (path, lines, is_there) in &report.lost {
            let what =
                if *is_there { "is read again from its source by `yore ingest`" } else { "is lost: its source was deleted" };
            context.printer.line(format!("  {}: {} {what}", text::harmless(path), text::counted(*lines, "damaged line")))?;
        }
        if turns > 0 {
            context.printer.line(format!("{} more read from sources that still exist", text::counted(turns, "turn")))?;
        }
        if let Some(replaced) = &report.replaced {
            context.printer.line(format!("the damaged database is kept in {}", replaced.display()))?;
        }
    }
    if was_running {
        start_again(context);
    }
    Ok(if lost_for_good.is_empty() { Exit::Success } else { Exit::Nothing })
}
