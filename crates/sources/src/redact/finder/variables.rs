//! Finds secrets in `.env` files and files of credentials.
//!
//! * [`Variable`]: a line `KEY=value`, recognised despite line numbers and diff marks.
//! * `Finder::variable_in_body`: whether a line is among similar lines.
//! * `Finder::credential_file`: a text known to be such a file.

use super::super::names;
use super::super::rules::{self, SecretKind, is_in};
use super::{Finder, line_end, line_start, skip_blanks};
use memchr::{memchr, memmem};

impl Finder<'_> {
    /// Returns the variable of the line that holds the name at `at`, if the line is in a body of environment
    /// variables (three such lines together, or a text of nothing else).
    pub(super) fn variable_in_body(&self, at: usize) -> Option<Variable> {
        let bytes = self.bytes;
        let start = line_start(bytes, at);
        let end = line_end(bytes, at);
        let here = variable_in(bytes, start, end)?;
        let mut lines = 1;
        let mut others = 0;
        let mut count = |start: usize, end: usize| -> bool {
            let from = skip_line_prefix(bytes, start, end);
            if from >= end {
                return true;
            }
            match variable_in(bytes, start, end) {
                Some(v) if names::is_upper(self.slice(v.name.0, v.name.1)) => lines += 1,
                _ => {
                    others += 1;
                    return false;
                }
            }
            true
        };
        let mut before = start;
        for _ in 0..4 {
            let Some(stop) = before_break(bytes, before) else {
                break;
            };
            before = line_start(bytes, stop);
            if !count(before, stop) {
                break;
            }
        }
        let mut after = end;
        for _ in 0..4 {
            let Some(next) = after_break(bytes, after) else {
                break;
            };
            after = line_end(bytes, next);
            if !count(next, after) {
                break;
            }
        }
        (lines >= 3 || (lines == 2 && others == 0)).then_some(here)
    }

    /// Redacts every `KEY=value` of a text that is known to be an environment file, and the passwords in
    /// `.netrc` and `.pgpass` lines.
    pub(in super::super) fn credential_file(&mut self) {
        let bytes = self.bytes;
        let mut start = 0;
        while start < bytes.len() {
            let end = file_line_end(bytes, start);
            if let Some(variable) = variable_in(bytes, start, end) {
                let (from, to) = variable.value;
                if !self.slice(from, to).contains("[yore:") {
                    self.push(from, to, SecretKind::EnvFile);
                }
            } else {
                self.credential_line(start, end);
            }
            start = after_break(bytes, end).unwrap_or(bytes.len()).max(start + 1);
        }
    }

    fn credential_line(&mut self, start: usize, end: usize) {
        let line = self.slice(start, end);
        if line.contains("[yore:") {
            return;
        }
        if let Some(found) = line.find("password ") {
            let from = start + found + "password ".len();
            let to = from + self.slice(from, end).find(char::is_whitespace).unwrap_or(end - from);
            self.push(from, to, SecretKind::EnvFile);
        } else if line.matches(':').count() == 4 && !line.contains(' ') {
            let from = start + line.rfind(':').map_or(0, |i| i + 1);
            self.push(from, end, SecretKind::EnvFile);
        }
    }

    /// Returns whether the text consists only of `KEY=value` lines, empty lines and comments.
    pub(in super::super) fn is_variables_only(&self) -> bool {
        let bytes = self.bytes;
        let (mut start, mut found) = (0, 0);
        while start < bytes.len() {
            let end = file_line_end(bytes, start);
            let from = skip_line_prefix(bytes, start, end);
            let is_comment = memchr(b'#', &bytes[start..from.max(start)]).is_some();
            if variable_in(bytes, start, end).is_some() {
                found += 1;
            } else if from < end && !is_comment {
                return false;
            }
            start = after_break(bytes, end).unwrap_or(bytes.len()).max(start + 1);
        }
        found > 0
    }
}

/// Positions of name and value in a line `KEY=value`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variable {
    pub(super) name: (usize, usize),
    pub(super) value: (usize, usize),
}

/// Reads a line as `KEY=value`. The value excludes its quotes and comment.
fn variable_in(bytes: &[u8], start: usize, end: usize) -> Option<Variable> {
    let from = skip_line_prefix(bytes, start, end);
    let mut at = from;
    while at < end && (is_in(bytes[at], rules::WORD) || bytes[at] == b'.') {
        at += 1;
    }
    let name = (from, at);
    if at == from || bytes[from].is_ascii_digit() {
        return None;
    }
    at = skip_blanks(bytes, at, 8).min(end);
    if at >= end || bytes[at] != b'=' || bytes.get(at + 1) == Some(&b'=') {
        return None;
    }
    at = skip_blanks(bytes, at + 1, 8).min(end);
    let mut stop = end;
    while stop > at && bytes[stop - 1].is_ascii_whitespace() {
        stop -= 1;
    }
    if at < stop && (bytes[at] == b'"' || bytes[at] == b'\'') {
        let quote = bytes[at];
        let close = memchr(quote, &bytes[at + 1..stop]).map_or(stop, |i| at + 1 + i);
        return Some(Variable { name, value: (at + 1, close.max(at + 1).min(stop)) });
    }
    if let Some(comment) = memmem::find(&bytes[at..stop], b" #") {
        stop = at + comment;
    }
    // A text cut out of JSON or code ends with its quotes and commas.
    while stop > at && matches!(bytes[stop - 1], b'"' | b'\'' | b',' | b'\\' | b'`' | b' ') {
        stop -= 1;
    }
    Some(Variable { name, value: (at, stop) })
}

/// Skips line numbers, diff marks, prompts and `export` at the start of a line. Returns the position where
/// the rest begins.
pub(super) fn skip_line_prefix(bytes: &[u8], start: usize, end: usize) -> usize {
    let mut at = start;
    let skip = |mut at: usize, set: &[u8]| {
        while at < end && set.contains(&bytes[at]) {
            at += 1;
        }
        at
    };
    at = skip(at, b" \t");
    let digits = skip(at, b"0123456789");
    if digits > at && digits < end {
        let arrow = "→".as_bytes();
        if bytes[digits..end].starts_with(arrow) {
            at = digits + arrow.len();
        } else if matches!(bytes[digits], b'\t' | b':' | b'|' | b' ') {
            at = digits + 1;
        }
    }
    at = skip(at, b" \t+->$|\"'#/*;");
    for word in ["export ", "set ", "ENV ", "env ", "declare -x "] {
        if bytes[at..end].starts_with(word.as_bytes()) {
            at += word.len();
        }
    }
    skip(at, b" \t")
}

/// Returns the position of the last byte of the line before `start`, or `None` at the beginning.
fn before_break(bytes: &[u8], start: usize) -> Option<usize> {
    if start == 0 {
        None
    } else if bytes[start - 1] == b'\n' {
        Some(start - 1)
    } else if start >= 2 && bytes[start - 1] == b'n' && bytes[start - 2] == b'\\' {
        Some(start - 2)
    } else {
        None
    }
}

/// Returns the position of the first byte of the line after `end`.
fn after_break(bytes: &[u8], end: usize) -> Option<usize> {
    match bytes.get(end)? {
        b'\n' => Some(end + 1),
        b'\\' if bytes.get(end + 1) == Some(&b'n') => Some(end + 2),
        _ => None,
    }
}

/// Returns the end of a line of any length.
fn file_line_end(bytes: &[u8], start: usize) -> usize {
    memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |i| start + i)
}
