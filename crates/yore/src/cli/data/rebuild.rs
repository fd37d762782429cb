//! `yore data rebuild`: reads the archive again with the readers of this version.

use crate::cli::Context;
use crate::error::{CliResult, Exit};
use crate::histories::reader_options;
use crate::render::progress::Progress;
use crate::render::text;
use crate::results::Reindexed;

pub fn run(context: &mut Context) -> CliResult {
    let engine = context.settings.engine(false)?;
    let options = reader_options(context.settings.config());
    let mut bar = Progress::new("reading the archive", context.printer.shows_progress());
    let result = engine.reindex(&options, &mut bar);
    bar.finish();
    let (report, index) = result?;
    if context.printer.is_json() {
        context.printer.json(&Reindexed::of(&report, &index))?;
    } else {
        context.printer.line(format!(
            "{} of {} read again: {} added, {} changed, {} removed; {} indexed",
            text::counted(report.lines, "line"),
            text::counted(report.files, "file"),
            text::counted(report.turns_added, "turn"),
            text::count(report.turns_updated),
            text::count(report.turns_removed),
            text::count(index.indexed)
        ))?;
        if !report.damaged_blobs.is_empty() {
            context.printer.line(format!(
                "{} of the archive are damaged, with {}: they were skipped, and their turns are unchanged; \
                 `yore data repair` reads existing sources again, `yore data restore` takes a backup",
                text::counted(report.damaged_blobs.len() as u64, "blob"),
                text::counted(report.damaged_lines, "line")
            ))?;
        }
    }
    Ok(if report.damaged_blobs.is_empty() { Exit::Success } else { Exit::Nothing })
}
