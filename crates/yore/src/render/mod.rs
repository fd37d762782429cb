//! The only place that prints.
//!
//! - [`Printer`]: text for people or JSON for programs, to one stream
//! - [`text`]: turns, times, sizes and tables as people read them
//! - [`wire`]: the same as JSON, shared by `--json` and MCP
//! - [`progress`]: a bar on a terminal, nothing elsewhere

pub mod progress;
pub mod text;
pub mod wire;

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use serde_json::Value;

use crate::config::When;
use crate::error::CliError;

/// Prints what a hook answers, and nothing else. Whoever cannot be told is not told.
pub fn hook_output(output: &str) {
    let mut stdout = io::stdout().lock();
    let _ = writeln!(stdout, "{output}").and_then(|()| stdout.flush());
}

/// Prints results to standard output, the rest to standard error.
pub struct Printer {
    out: AutoStream<io::Stdout>,
    err: AutoStream<io::Stderr>,
    is_json: bool,
    show_progress: bool,
}

impl Printer {
    /// `is_json` prints results as JSON and keeps everything else to standard error.
    pub fn new(is_json: bool, color: When, progress: When) -> Self {
        let choice = match color {
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
            When::Auto => ColorChoice::Auto,
        };
        let show_progress = match progress {
            When::Always => true,
            When::Never => false,
            When::Auto => io::stderr().is_terminal(),
        };
        Self { out: AutoStream::new(io::stdout(), choice), err: AutoStream::new(io::stderr(), choice), is_json, show_progress }
    }

    /// Whether results are JSON.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// Whether progress is shown.
    pub fn shows_progress(&self) -> bool {
        self.show_progress
    }

    /// Whether a person sees standard output.
    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Prints one line of a result.
    pub fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        writeln!(self.out, "{}", text.as_ref())
    }

    /// Prints a result as JSON: indented for a person, one line for a pipe.
    pub fn json(&mut self, value: &Value) -> io::Result<()> {
        if self.is_terminal() { writeln!(self.out, "{value:#}") } else { writeln!(self.out, "{value}") }
    }

    /// Prints bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Tells something beside the result.
    pub fn note(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        writeln!(self.err, "{}", text.as_ref())
    }

    /// Asks something beside the result; the answer is read by the caller.
    pub fn prompt(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        write!(self.err, "{}", text.as_ref())?;
        self.err.flush()
    }

    /// Tells an error, with its remedy.
    pub fn error(&mut self, error: &CliError) {
        // Nothing can be done if even this cannot be printed.
        let _ = if self.is_json {
            writeln!(
                self.err,
                "{}",
                serde_json::json!({"error": {"code": error.code, "message": error.message, "hint": error.hint}})
            )
        } else {
            let hint = error.hint.as_ref().map(|hint| format!("\n{}hint:{} {hint}", text::CYAN, text::RESET)).unwrap_or_default();
            writeln!(self.err, "{}error:{} {} [{}]{hint}", text::RED, text::RESET, error.message, error.code)
        };
    }
}
