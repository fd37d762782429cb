//! Arguments that routes share: names of things, times, limits, cursors; and the cause of changes.

use yore_core::operation::{Actor, Cause};
use yore_core::time::UtcMillis;

use crate::cursor::Cursor;
use crate::error::{CliError, CliResult, Exit};
use crate::recall_request;

/// Most items of a page of a list.
const MOST: usize = 500;

/// The cause of what a person does through the API.
pub fn by_person() -> Cause {
    Cause { actor: Actor::Person, by: "api".to_owned(), input: None }
}

/// Reads the name of one of some things.
pub fn named<T>(name: &str, words: Option<&str>, parse: impl Fn(&str) -> Option<T>, known: &[&str]) -> CliResult<Option<T>> {
    let Some(words) = words else { return Ok(None) };
    let wrong = || CliError::usage(format!("{name}: expected one of {}, not {words:?}", known.join(", ")), None);
    parse(words).map(Some).ok_or_else(wrong)
}

/// Reads names, each of one of some things.
pub fn all_named<T>(name: &str, words: &[String], parse: impl Fn(&str) -> Option<T>, known: &[&str]) -> CliResult<Vec<T>> {
    words.iter().filter_map(|words| named(name, Some(words), &parse, known).transpose()).collect()
}

/// Reads a time or the name of a period, as on the command line.
pub fn time(name: &str, words: Option<&str>) -> CliResult<Option<UtcMillis>> {
    let read = |words| recall_request::time(words).map_err(|expected| CliError::usage(format!("{name}: {expected}"), None));
    words.map(read).transpose()
}

/// Returns the number of items of a page.
pub fn limit(given: Option<usize>, usual: usize) -> CliResult<usize> {
    match given.unwrap_or(usual) {
        limit if (1..=MOST).contains(&limit) => Ok(limit),
        limit => Err(CliError::usage(format!("limit: expected 1 to {MOST}, not {limit}"), None)),
    }
}

/// Reads the cursor of a list.
pub fn place(list: char, words: Option<&str>) -> CliResult<Option<Cursor>> {
    let Some(words) = words else { return Ok(None) };
    let wrong = || CliError::usage("after: expected the cursor that the page before ended with", None);
    Cursor::decode(words).filter(|cursor| cursor.list == list).map(Some).ok_or_else(wrong)
}

/// Returns the error for something that is not there.
pub fn none(code: &str, message: impl Into<String>) -> CliError {
    CliError { exit: Exit::Nothing, code: code.to_owned(), message: message.into(), hint: None }
}
