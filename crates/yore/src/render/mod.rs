//! [`Printer`]: everything that the program prints.
//!
//! - [`Printer`]: text for people or JSON for programs, to one stream
//! - [`account`]: a quantity of the account; [`changes`]: describes what an operation changed; [`memories`]: formats memories
//! - [`plain`]: numbers, times and tables, and text that cannot steer a terminal
//! - [`text`]: formats turns, times, sizes and tables for people
//! - [`window`]: fits text into the window of a terminal, and shows long text in a pager
//! - [`progress`]: a progress bar on a terminal, nothing elsewhere

pub mod account;
pub mod changes;
pub mod deep;
pub mod ingest;
pub mod level;
pub mod memories;
pub mod plain;
pub mod progress;
pub mod spoken;
pub mod statistics;
pub mod text;
pub mod view;
pub mod window;

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

use self::window::{Pager, Window};
use crate::config::{Environment, When};
use crate::error::CliError;
use crate::results::{Failure, FailureText};

/// Prints the answer of a hook and nothing else. A write error is ignored: there is no reader to report it
/// to.
pub fn hook_output(output: &str) {
    let mut stdout = io::stdout().lock();
    let _ = writeln!(stdout, "{output}").and_then(|()| stdout.flush());
}

/// Prints results to standard output, the rest to standard error. On a terminal, lines are wrapped.
pub struct Printer {
    out: AutoStream<io::Stdout>,
    err: AutoStream<io::Stderr>,
    is_json: bool,
    show_progress: bool,
    window: Option<Window>,
    pages: Option<Pages>,
}

/// Text that waits to be shown in a pager, and the messages beside it.
struct Pages {
    pager: Option<Pager>,
    text: String,
    notes: Vec<String>,
}

/// Writes a line of a server's log to standard error, with the time. A log that nobody can read stops nothing.
#[cfg(feature = "team-server")]
pub fn log_line(line: &str) {
    let _ = writeln!(io::stderr(), "{} {}", jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ"), text::harmless(line));
}

impl Printer {
    /// Creates a printer. `is_json` prints results as JSON and keeps everything else on standard error.
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
        Self {
            out: AutoStream::new(io::stdout(), choice),
            err: AutoStream::new(io::stderr(), choice),
            is_json,
            show_progress,
            window: Window::of_output().filter(|_| !is_json),
            pages: None,
        }
    }

    /// Keeps what is printed from now on until [`Self::end_pages`], if a person reads it on a terminal.
    pub fn begin_pages(&mut self, environment: &Environment) {
        if self.window.is_some() {
            self.pages = Some(Pages { pager: Pager::of(environment), text: String::new(), notes: Vec::new() });
        }
    }

    /// Prints what was kept; in a pager, if it is longer than the window.
    pub fn end_pages(&mut self) -> io::Result<()> {
        let Some(Pages { pager, text, notes }) = self.pages.take() else { return Ok(()) };
        let is_long = self.window.is_some_and(|window| text.lines().count() + notes.len() >= window.rows);
        let is_shown = pager.filter(|_| is_long).is_some_and(|pager| {
            let is_plain = self.out.current_choice() == ColorChoice::Never;
            let shown = if is_plain { anstream::adapter::strip_str(&text).to_string() } else { text.clone() };
            pager.show(&shown).is_ok()
        });
        if !is_shown {
            write!(self.out, "{text}")?;
        }
        notes.iter().try_for_each(|note| writeln!(self.err, "{note}"))
    }

    /// Returns whether results are printed as JSON.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// Returns whether progress is shown.
    pub fn shows_progress(&self) -> bool {
        self.show_progress
    }

    /// Returns whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Returns the window in which a person reads results, if one does.
    pub fn window(&self) -> Option<Window> {
        self.window
    }

    /// Prints one line of a result.
    pub fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        match self.window {
            Some(window) => self.fitted(&window.wrap(text.as_ref())),
            None => writeln!(self.out, "{}", text.as_ref()),
        }
    }

    /// Prints the rows of a table.
    pub fn table(&mut self, rows: &[Vec<String>]) -> io::Result<()> {
        self.rows(rows, str::to_owned)
    }

    /// Prints the rows of a table whose first column has ids.
    pub fn table_of_ids(&mut self, rows: &[Vec<String>]) -> io::Result<()> {
        // Colour is added here because the table would count its escape sequences as letters.
        self.rows(rows, |line| match line.split_once(' ') {
            Some((id, rest)) => format!("{}{id}{} {rest}", text::CYAN, text::RESET),
            None => line.to_owned(),
        })
    }

    fn rows(&mut self, rows: &[Vec<String>], coloured: fn(&str) -> String) -> io::Result<()> {
        let last_column = text::widths(rows).iter().rev().skip(1).map(|width| width + 2).sum();
        for line in text::table(rows) {
            let line = coloured(&line);
            match self.window {
                Some(window) => self.fitted(&window.wrap_row(&line, last_column))?,
                None => writeln!(self.out, "{line}")?,
            }
        }
        Ok(())
    }

    /// Prints what fits into the window.
    fn fitted(&mut self, text: &str) -> io::Result<()> {
        match &mut self.pages {
            Some(pages) => {
                pages.text.push_str(text);
                pages.text.push('\n');
                Ok(())
            }
            None => writeln!(self.out, "{text}"),
        }
    }

    /// Prints a result as JSON: indented for a person, one line for a pipe.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let value = serde_json::to_value(value)?;
        if self.is_terminal() {
            writeln!(self.out, "{}", in_escapes(&format!("{value:#}")))
        } else {
            writeln!(self.out, "{value}")
        }
    }

    /// Prints bytes: unchanged into a pipe; on a terminal, control and invisible characters are escaped.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.end_pages()?;
        if self.is_terminal() {
            return self.out.write_all(text::visible(&String::from_utf8_lossy(bytes)).as_bytes());
        }
        // Bypasses the stream that strips escape sequences.
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Prints a message beside the result, on standard error.
    pub fn note(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        let window = self.window.filter(|_| io::stderr().is_terminal());
        let text = window.map_or_else(|| text.as_ref().to_owned(), |window| window.wrap(text.as_ref()));
        match &mut self.pages {
            Some(pages) => pages.notes.push(text),
            None => writeln!(self.err, "{text}")?,
        }
        Ok(())
    }

    /// Prints a question beside the result, on standard error. The caller reads the answer.
    pub fn prompt(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.end_pages()?;
        write!(self.err, "{}", text.as_ref())?;
        self.err.flush()
    }

    /// Prints an error and its remedy.
    pub fn error(&mut self, error: &CliError) {
        // An error while printing the error is ignored.
        let _ = self.end_pages();
        let _ = if self.is_json {
            writeln!(self.err, "{}", serde_json::to_value(failure(error)).unwrap_or_default())
        } else {
            let hint = error.hint.as_ref().map(|hint| format!("\n{}hint:{} {hint}", text::CYAN, text::RESET)).unwrap_or_default();
            writeln!(self.err, "{}error:{} {} [{}]{hint}", text::RED, text::RESET, text::harmless(&error.message), error.code)
        };
    }
}

/// Returns the error as it leaves the program.
fn failure(error: &CliError) -> Failure {
    let CliError { code, message, hint, .. } = error;
    Failure { error: FailureText { code: code.clone(), message: message.clone(), hint: hint.clone() } }
}

/// Escapes control characters, which a terminal would obey, and invisible characters. The JSON means the
/// same.
fn in_escapes(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        if text::is_unsafe(letter) || letter == '\t' {
            let mut units = [0u16; 2];
            for unit in letter.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_for_a_terminal_means_the_same_and_holds_nothing_to_obey() {
        let value = serde_json::json!({"a\u{9b}": "x\u{1b}]0;T\u{7}\u{202e}\u{e0041}\u{2028}ü\n"});
        let shown = in_escapes(&format!("{value:#}"));
        assert!(shown.chars().all(|letter| letter != '\t' && !text::is_unsafe(letter)), "{shown:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        assert_eq!(text::visible("a\u{1b}[0m\tb\u{9b}\n"), "a\\u{1b}[0m\tb\\u{9b}\n");
    }
}
