//! The stored data: copied, restored, repaired, rebuilt, searched for secrets.

mod backup;
mod rebuild;
mod repair;
mod restore;
pub mod scan;

use clap::{Args, Subcommand};

use super::Context;
use crate::error::CliResult;

/// Copy, restore, repair and rebuild the stored data
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Backup(backup::Arguments),
    Restore(restore::Arguments),
    Repair(repair::Arguments),
    /// Read the archive again and rebuild everything derived from it
    ///
    /// It needs no source file and keeps all ids. Run it after an upgrade that reads histories better, or when
    /// `doctor` reports a wrong index.
    Rebuild,
    Scan(scan::Arguments),
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.action {
        Action::Backup(arguments) => backup::run(arguments, context),
        Action::Restore(arguments) => restore::run(arguments, context),
        Action::Repair(arguments) => repair::run(arguments, context),
        Action::Rebuild => rebuild::run(context),
        Action::Scan(arguments) => scan::run(arguments, context),
    }
}
