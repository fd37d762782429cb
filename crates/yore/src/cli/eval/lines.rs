//! Reads documents from a file, one on each line.

use std::path::Path;

use serde_json::Value;

use crate::config::replace_file;
use crate::error::{CliError, CliResult};

/// Writes documents, one a line.
pub fn write(path: &Path, lines: impl Iterator<Item = Value>) -> CliResult<()> {
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    replace_file(path, text).map_err(|error| CliError::io(path, &error))
}
