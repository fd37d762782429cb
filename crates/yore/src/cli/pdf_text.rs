use std::io::Read;

use clap::Args;
use yore_engine::platform;
use yore_sources::document::format::MAX_PDF_BYTES;
use yore_sources::document::pdf;

use super::Context;
use crate::error::{CliResult, Exit};

/// Print the text of the PDF on standard input
///
/// Yore calls this to read PDFs: a malformed file can only end this process.
#[derive(Args, Debug)]
pub struct Arguments {}

pub fn run(_arguments: &Arguments, context: &mut Context) -> CliResult {
    platform::limit_resources(pdf::MEMORY_BYTES, pdf::CPU_SECONDS);
    let mut bytes = Vec::new();
    if std::io::stdin().lock().take(MAX_PDF_BYTES + 1).read_to_end(&mut bytes).is_err() || bytes.len() as u64 > MAX_PDF_BYTES {
        return Ok(Exit::Nothing);
    }
    let Some(text) = pdf::extract(&bytes) else { return Ok(Exit::Nothing) };
    context.printer.bytes(text.as_bytes())?;
    Ok(Exit::Success)
}
