//! What lies in the data directory: store, archive, indexes, permissions.

use yore_engine::ingest::source::ReaderOptions;
use yore_engine::{Engine, EngineError, Severity};

use super::super::Context;
use super::super::reindex::reader_options;
use super::Told;
use crate::error::{CliError, CliResult};

/// How long mending waits for whoever writes the index.
const PATIENCE_MS: u64 = 5_000;

/// The engine's findings; with `fix` permissions and indexes are mended first.
pub(super) fn examine(deep: bool, fix: bool, context: &Context) -> CliResult<Vec<Told>> {
    match context.settings.engine(false) {
        Ok(engine) => {
            if fix {
                engine.make_private()?;
                engine.sync_index(PATIENCE_MS, &mut |_| {})?;
            }
            let options = reader_options(context.settings.config());
            of_engine(&engine, deep.then_some(&options))
        }
        Err(error) => {
            let severity = if error.code == "store/missing" { Severity::Note } else { Severity::Broken };
            Ok(vec![told(severity, error)])
        }
    }
}

/// A store that fails while it is looked at is a finding too.
fn of_engine(engine: &Engine, deep: Option<&ReaderOptions>) -> CliResult<Vec<Told>> {
    match engine.examine(deep) {
        Ok(findings) => Ok(findings.into_iter().map(Told::from).collect()),
        Err(error) if error.store_error().is_some() || matches!(error, EngineError::Index(_)) => {
            Ok(vec![told(Severity::Broken, error.into())])
        }
        Err(error) => Err(error.into()),
    }
}

fn told(severity: Severity, error: CliError) -> Told {
    let told = Told::new("store", severity, error.message);
    match error.hint {
        Some(hint) => told.remedy(hint),
        None => told,
    }
}
