use std::path::PathBuf;

use clap::Args;

use crate::cli::Context;
use crate::cli::daemon::{start_again, stop_for};
use crate::error::{CliResult, Exit};
use crate::render::text;
use crate::results::RestoredBackup;

/// Replace the memory with a backup
///
/// Uses the newest intact backup, or FILE. The memory that is replaced is kept beside the backups. Whatever
/// was said since the backup is read again from the agents' histories.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Use this backup instead of the newest intact one (`yore data backup --list` names them)
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let was_running = stop_for(context)?;
    let restored = yore_engine::restore(&context.settings.engine_options(false), arguments.file.as_deref());
    // Where nothing was restored, the daemon goes on with what there is.
    if was_running && restored.is_err() {
        start_again(context);
    }
    let restored = restored?;
    if context.printer.is_json() {
        context.printer.json(&RestoredBackup::from(&restored))?;
    } else {
        for path in &restored.damaged {
            context.printer.line(format!("skipped {}, which is damaged", path.display()))?;
        }
        let made = if restored.from.made > 0 { format!(" of {}", text::time(Some(restored.from.made))) } else { String::new() };
        context.printer.line(format!("restored the backup{made}: {}", restored.from.path.display()))?;
        if let Some(replaced) = &restored.replaced {
            context.printer.line(format!("the previous data is kept in {}", replaced.display()))?;
        }
        context.printer.line("next: `yore ingest` reads what was said since")?;
    }
    if was_running {
        start_again(context);
    }
    Ok(Exit::Success)
}
