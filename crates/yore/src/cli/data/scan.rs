use std::io::IsTerminal;

use clap::Args;
use yore_engine::Engine;
use yore_engine::ingest::ScanReport;

use crate::cli::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::histories::reader_options;
use crate::render::progress::Progress;
use crate::render::text;
use crate::results::Scanned;
use crate::shared::mirror;
use crate::team::sessions;

/// Look for secrets in all stored text, with the current rules
///
/// Secrets that older redaction rules missed, or that your new patterns match, are removed from the archive,
/// the turns, the indexes and the backups, as `forget --hard` removes a session. Run it after an upgrade that
/// recognises more kinds of secrets, or after a change of `redaction.extra_patterns`; `yore up` and `yore
/// doctor` report when it is due.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only show what would go
    #[arg(long)]
    dry_run: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let engine = context.settings.engine(false)?;
    let report = scan(&engine, arguments.dry_run, context)?;
    if context.printer.is_json() {
        context.printer.json(&Scanned::of(&report, arguments.dry_run))?;
        return Ok(Exit::Success);
    }
    context.printer.line(told(&report, arguments.dry_run))?;
    for (kind, count) in report.redactions.iter() {
        context.printer.line(format!("  {kind}: {}", text::count(count)))?;
    }
    Ok(Exit::Success)
}

/// Offers a scan if it is due.
pub fn offer(engine: &Engine, is_agreed: bool, context: &mut Context) -> CliResult<()> {
    if !engine.is_scan_due()? {
        return Ok(());
    }
    if !is_agreed {
        if !context.printer.is_terminal() || !std::io::stdin().is_terminal() {
            return context
                .printer
                .note("this yore recognizes more kinds of secrets than the version that read some of this: `yore data scan` looks for them")
                .map_err(CliError::from);
        }
        context
            .printer
            .prompt("This yore recognizes more kinds of secrets. Look for them in all stored data, and remove them? [y/N] ")?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).map_err(CliError::from)?;
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            return Ok(());
        }
    }
    let report = scan(engine, false, context)?;
    Ok(context.printer.line(told(&report, false))?)
}

fn scan(engine: &Engine, is_dry_run: bool, context: &Context) -> CliResult<ScanReport> {
    let options = reader_options(context.settings.config());
    let mut bar = Progress::new("scanning the archive", context.printer.shows_progress());
    let report = engine.scan(is_dry_run, &options, &mut bar);
    bar.finish();
    let report = report?;
    if !is_dry_run && !report.is_clean() {
        // Words that were removed here are removed from the server of a team at the next synchronization.
        let data = &context.settings.directory;
        let again = mirror::projects(data).and_then(|projects| sessions::look_again(data, &projects));
        again.map_err(|error| CliError::io(data, &error))?;
    }
    Ok(report)
}

fn told(report: &ScanReport, is_dry_run: bool) -> String {
    let looked = format!("{} of {} scanned", text::counted(report.lines, "line"), text::counted(report.files, "file"));
    if report.is_clean() {
        return format!("{looked}: no missed secrets");
    }
    let verb = if is_dry_run { "would be removed from" } else { "removed from" };
    let changed = [(report.changed_lines, "line"), (report.changed_names, "name"), (report.changed_memories, "text of a memory")];
    let places: Vec<String> = changed
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| text::counted(count, what).replace("text of a memorys", "texts of memories"))
        .collect();
    format!("{looked}: secrets {verb} {}", places.join(" and "))
}
