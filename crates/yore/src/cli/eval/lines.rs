//! Documents in a file, one a line.

use std::fs::File;
use std::io::{BufWriter, Error, Write};
use std::path::Path;

use serde_json::Value;

use crate::error::{CliError, CliResult};

/// Writes documents, one a line.
pub fn write(path: &Path, lines: impl Iterator<Item = Value>) -> CliResult<()> {
    let fail = |error: Error| CliError::io(path, &error);
    let mut file = BufWriter::new(File::create(path).map_err(fail)?);
    for line in lines {
        writeln!(file, "{line}").map_err(fail)?;
    }
    file.flush().map_err(fail)
}
