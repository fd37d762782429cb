use std::path::PathBuf;

use clap::Args;

use crate::cli::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::render::text;
use crate::results::{BackupFile, BackupList};

/// Copy the memory, with its key, so that it can be restored
///
/// The daemon makes one each day (`store.backups` sets how many are kept). A copy is checked before it
/// counts. It does not contain the indexes: they are rebuilt.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Write the copy to FILE instead of the data directory; its key goes beside it
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    to: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long, requires = "to")]
    force: bool,
    /// Only list the existing backups
    #[arg(long)]
    list: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if arguments.list {
        let found = yore_engine::backups(&context.settings.directory);
        if context.printer.is_json() {
            context.printer.json(&BackupList { backups: found.iter().map(BackupFile::from).collect() })?;
        } else if found.is_empty() {
            context.printer.line("there is no backup yet")?;
        } else {
            let rows: Vec<Vec<String>> = found
                .iter()
                .map(|backup| vec![text::time(Some(backup.made)), text::bytes(backup.bytes), backup.path.display().to_string()])
                .collect();
            context.printer.table(&rows)?;
        }
        return Ok(if found.is_empty() { Exit::Nothing } else { Exit::Success });
    }
    if let Some(target) = arguments.to.as_ref().filter(|target| target.exists() && !arguments.force) {
        return Err(CliError {
            exit: Exit::Usage,
            code: "backup/exists".to_owned(),
            message: format!("{} exists", target.display()),
            hint: Some("name another file, or replace it with --force".to_owned()),
        });
    }
    if let Some(folder) = arguments.to.as_ref().and_then(|target| target.parent())
        && !folder.as_os_str().is_empty()
        && !folder.is_dir()
    {
        return Err(CliError {
            exit: Exit::Usage,
            code: "backup/no-folder".to_owned(),
            message: format!("there is no folder {}", folder.display()),
            hint: Some("make it, or name a file in another folder".to_owned()),
        });
    }
    let engine = context.settings.engine(false)?;
    let keep = context.settings.config().store.backups.max(1) as usize;
    let made = engine.back_up(arguments.to.as_deref(), keep)?;
    if context.printer.is_json() {
        context.printer.json(&BackupFile::from(&made))?;
    } else {
        context.printer.line(format!("{} in {}", text::bytes(made.bytes), made.path.display()))?;
    }
    Ok(Exit::Success)
}
