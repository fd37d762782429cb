//! Checks the data directory: store, archive, indexes, permissions.

use yore_engine::{Engine, EngineError, Severity, examine_disk};
use yore_sources::source::ReaderOptions;

use super::super::Context;
use crate::error::CliResult;
use crate::health::{Told, after_room, in_words, told};
use crate::histories::reader_options;

/// Time that a repair waits for another writer of the index.
const PATIENCE_MS: u64 = 5_000;

/// Returns the engine's findings. With `fix`, permissions and the index are fixed first.
pub(super) fn examine(deep: bool, fix: bool, context: &Context) -> CliResult<Vec<Told>> {
    match context.settings.engine(false) {
        Ok(engine) => {
            if fix {
                engine.make_private()?;
                engine.remove_dead_index_files()?;
                engine.sync_index(PATIENCE_MS, &mut |_| {})?;
            }
            let options = reader_options(context.settings.config());
            of_engine(&engine, deep.then_some(&options))
        }
        Err(error) => {
            let severity = if error.code == "store/missing" { Severity::Note } else { Severity::Broken };
            let disk = examine_disk(&context.settings.directory).map(|finding| in_words(&finding));
            Ok(after_room(std::iter::once(told(severity, error)).chain(disk).collect()))
        }
    }
}

/// Returns the findings of an open engine. A store that fails during the check is a finding too.
fn of_engine(engine: &Engine, deep: Option<&ReaderOptions>) -> CliResult<Vec<Told>> {
    match engine.examine(deep) {
        Ok(findings) => Ok(after_room(findings.iter().map(in_words).collect())),
        Err(error) if error.store_error().is_some() || matches!(error, EngineError::Index(_)) => {
            let disk = examine_disk(engine.directory()).map(|finding| in_words(&finding));
            Ok(after_room(std::iter::once(told(Severity::Broken, error.into())).chain(disk).collect()))
        }
        Err(error) => Err(error.into()),
    }
}
