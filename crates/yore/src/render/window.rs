//! Fits text into the window of a terminal, and shows what is longer than the window in a pager.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::text::RESET;
use crate::config::Environment;

/// Most columns of a line: longer ones are hard to read.
const WIDEST: usize = 100;
/// Fewest columns for which text is wrapped, and fewest of the last column of a table.
const NARROWEST: usize = 20;
/// Columns of a tab.
const TAB: usize = 8;

/// The window of a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Columns of a line.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
}

/// Waits for a key on the terminal: a letter in lower case, nothing for Enter; `None` for the end of the input.
///
/// # Errors
/// There is no terminal.
pub fn key() -> io::Result<Option<String>> {
    match console::Term::stdout().read_char() {
        // Control and D.
        Ok('\u{4}') => Ok(None),
        Ok(pressed) => Ok(Some(pressed.to_lowercase().to_string().trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

impl Window {
    /// Returns the window to which standard output is written, if it is a terminal of known size.
    pub fn of_output() -> Option<Self> {
        let (width, height) = terminal_size::terminal_size_of(io::stdout())?;
        let columns = usize::from(width.0).min(WIDEST);
        (columns >= NARROWEST).then_some(Self { columns, rows: usize::from(height.0) })
    }

    /// Wraps each line of a text between words. What follows a break is indented as the line is, the text of a list item below its first
    /// word.
    pub fn wrap(self, text: &str) -> String {
        let line = |line: &str| wrapped(line, self.columns, hanging(line).min(self.columns / 2));
        text.split('\n').map(line).collect::<Vec<_>>().join("\n")
    }

    /// Wraps the last column of a table that is set in lines, if enough room is left for it.
    pub fn wrap_row(self, row: &str, last_column: usize) -> String {
        let is_roomy = last_column + NARROWEST.max(self.columns / 3) <= self.columns;
        wrapped(row, self.columns, if is_roomy { last_column } else { 2 })
    }
}

/// Returns the columns that a text takes, without escape sequences.
pub fn width(text: &str) -> usize {
    parts(text).filter(|part| !part.starts_with('\u{1b}')).map(|part| part.width() + part.matches('\t').count() * (TAB - 1)).sum()
}

/// Returns the columns by which the text of a line is indented, or that of a list item.
fn hanging(line: &str) -> usize {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let mark = text.find(' ').map_or(0, |end| end + 1);
    let first = text[..mark].trim_end();
    let number = first.trim_end_matches(['.', ')']);
    let is_item = matches!(first, "-" | "*" | "•") || number.len() < first.len() && number.parse::<u16>().is_ok();
    indent + if is_item { width(&text[..mark]) } else { 0 }
}

/// Divides a text into escape sequences, words and blanks.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_blank = |letter: char| matches!(letter, ' ' | '\t');
        let end = match first {
            '\u{1b}' => rest.find('m').map_or(rest.len(), |end| end + 1),
            first => rest.find(|letter| letter == '\u{1b}' || is_blank(letter) != is_blank(first)).unwrap_or(rest.len()),
        };
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

/// Wraps a line; what follows a break is indented by so many columns.
fn wrapped(line: &str, columns: usize, indent: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let mut out =
        Wrapped { text: String::with_capacity(line.len() + 16), columns, indent, at: 0, is_empty: true, style: String::new() };
    let mut blanks = "";
    for part in parts(line) {
        match part.chars().next() {
            Some('\u{1b}') => {
                out.text.push_str(std::mem::take(&mut blanks));
                out.style(part);
            }
            Some(' ' | '\t') => blanks = part,
            _ => out.word(std::mem::take(&mut blanks), part),
        }
    }
    out.text
}

/// A line that is being wrapped.
struct Wrapped {
    text: String,
    columns: usize,
    indent: usize,
    /// Column after what was written.
    at: usize,
    /// True if no word was written since the last break.
    is_empty: bool,
    /// Escape sequences that are in force.
    style: String,
}

impl Wrapped {
    fn style(&mut self, sequence: &str) {
        self.text.push_str(sequence);
        if sequence == RESET {
            self.style.clear();
        } else {
            self.style.push_str(sequence);
        }
    }

    /// Begins a line. A pager ends each style at the end of a line.
    fn break_line(&mut self) {
        let ends = if self.style.is_empty() { "" } else { RESET };
        let _ = write!(self.text, "{ends}\n{:1$}{2}", "", self.indent, self.style);
        (self.at, self.is_empty) = (self.indent, true);
    }

    fn word(&mut self, blanks: &str, word: &str) {
        let (gap, columns) = (width(blanks), word.width());
        if !self.is_empty && self.at + gap + columns > self.columns {
            self.break_line();
        } else {
            self.text.push_str(blanks);
            self.at += gap;
        }
        // A script without blanks between words is divided anywhere; a path or an address stays whole.
        let is_divided = columns > self.columns.saturating_sub(self.at) && columns > word.chars().count();
        for letter in word.chars() {
            let columns = letter.width().unwrap_or(0);
            if is_divided && !self.is_empty && self.at + columns > self.columns {
                self.break_line();
            }
            self.text.push(letter);
            self.at += columns;
            self.is_empty = false;
        }
    }
}

/// A program that shows long text page by page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pager(Vec<String>);

impl Pager {
    /// Returns the pager of `YORE_PAGER` or `PAGER`, else `less` if it is found. An empty name, or `cat`, is none.
    pub fn of(environment: &Environment) -> Option<Self> {
        let named = ["YORE_PAGER", "PAGER"].iter().find_map(|name| environment.get(name)).map(|named| named.to_string_lossy());
        let words = match &named {
            Some(named) => named.split_whitespace().map(str::to_owned).collect(),
            None => {
                let name = format!("less{}", std::env::consts::EXE_SUFFIX);
                let found = std::env::split_paths(environment.get("PATH")?).any(|folder| folder.join(&name).is_file());
                if found { vec!["less".to_owned()] } else { Vec::new() }
            }
        };
        let program = words.first().map(|word| Path::new(word).file_stem().unwrap_or_default().to_string_lossy().into_owned());
        let is_dumb = environment.get("TERM").is_some_and(|terminal| terminal == "dumb");
        let is_shown = !is_dumb && program.is_some_and(|program| program != "cat") && io::stdin().is_terminal();
        is_shown.then_some(Self(words))
    }

    /// Shows a text until the person has seen enough of it.
    ///
    /// # Errors
    /// If the pager cannot be started.
    pub fn show(&self, text: &str) -> io::Result<()> {
        let Some((program, arguments)) = self.0.split_first() else { return Err(io::ErrorKind::NotFound.into()) };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // Quit if it fits into the window, keep colours, leave the text there afterwards.
            command.env("LESS", "FRX");
        }
        let mut child = command.spawn()?;
        // Ctrl-C is for the pager.
        #[cfg(unix)]
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::default());
        if let Some(mut input) = child.stdin.take() {
            // A person who leaves the pager early has seen enough.
            let _ = input.write_all(text.as_bytes());
        }
        child.wait().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::text::{BOLD, DIM};

    const SMALL: Window = Window { columns: 20, rows: 5 };

    #[test]
    fn text_is_wrapped_between_words_and_indented_as_its_line() {
        for (text, expected) in [
            ("a short line", "a short line"),
            ("the quick brown fox jumps", "the quick brown fox\njumps"),
            ("  the quick brown fox jumps", "  the quick brown\n  fox jumps"),
            ("- the quick brown fox jumps", "- the quick brown\n  fox jumps"),
            ("12. the quick brown fox", "12. the quick brown\n    fox"),
            ("see /a/path/that/is/longer/than/it here", "see\n/a/path/that/is/longer/than/it\nhere"),
            ("one\n\ntwo", "one\n\ntwo"),
            ("漢字漢字漢字漢字漢字漢字", "漢字漢字漢字漢字漢字\n漢字"),
        ] {
            assert_eq!(SMALL.wrap(text), expected, "{text}");
        }
    }

    #[test]
    fn colours_take_no_room_and_go_on_after_a_break() {
        assert_eq!(width(&format!("{BOLD}漢{RESET}a\tb")), 12);
        let text = format!("{DIM}the quick brown fox jumps{RESET} over");
        assert_eq!(SMALL.wrap(&text), format!("{DIM}the quick brown fox{RESET}\n{DIM}jumps{RESET} over"));
        let short = format!("{DIM}the quick brown fox{RESET}");
        assert_eq!(SMALL.wrap(&short), short);
    }

    #[test]
    fn last_column_of_a_table_is_wrapped_below_its_beginning() {
        let window = Window { columns: 30, rows: 5 };
        assert_eq!(window.wrap_row("ab 12 x the quick brown fox jumps", 8), "ab 12 x the quick brown fox\n        jumps");
        assert_eq!(SMALL.wrap_row("abcdefgh 12  the quick", 13), "abcdefgh 12  the\n  quick");
    }

    #[test]
    fn pager_is_named_by_the_environment() {
        let none = |pager: &str| Pager::of(&[("PAGER", pager)].into_iter().collect());
        assert_eq!((none("cat"), none(""), none("/bin/cat -v")), (None, None, None));
        assert_eq!(Pager::of(&[("PAGER", "less"), ("YORE_PAGER", "cat")].into_iter().collect()), None);
        assert_eq!(Pager::of(&[("PAGER", "less"), ("TERM", "dumb")].into_iter().collect()), None);
    }
}
