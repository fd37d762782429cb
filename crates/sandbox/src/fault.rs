//! Turns an exception of the interpreter into the error of a cell: kind, text and line.

use monty_types::{ExcType, MontyException};

use crate::guide::{MISSING_BUILTINS, MODULES};
use crate::limits::ERROR_CHARS;
use crate::outcome::{CellError, ErrorKind};

/// Beginning of the interpreter's message on syntax that it does not know.
const NO_SYNTAX: &str = "The monty syntax parser does not yet support ";

/// Begins the message on a call to the operating system.
pub(crate) const REFUSED: &str = "a cell has no files, environment, clock or processes";

/// Begins the message of an error that ends a cell by order of the parent.
pub(crate) const STOPPED: &str = "the cell was stopped: ";

/// Turns the exception that ended a cell into its error.
pub(crate) fn told(exception: &MontyException) -> CellError {
    let message = exception.message().unwrap_or_default();
    let unsupported = |text: String| (ErrorKind::Unsupported, text);
    let (kind, text) = match exception.exc_type() {
        ExcType::NotImplementedError if message.starts_with(NO_SYNTAX) => {
            unsupported(format!("this Python does not support {}", message.trim_start_matches(NO_SYNTAX)))
        }
        ExcType::NotImplementedError if message.contains("external function '") => unsupported(format!(
            "a function of the host cannot be called inside of another call ({message}): use a loop or a comprehension"
        )),
        ExcType::NotImplementedError => unsupported(format!("this Python does not support it: {message}")),
        ExcType::SyntaxError if message.contains("not supported") => {
            unsupported(format!("this Python does not support it: {message}"))
        }
        ExcType::SyntaxError => (ErrorKind::Syntax, exception.summary()),
        ExcType::ModuleNotFoundError | ExcType::ImportError => unsupported(format!("{message}; {}", modules())),
        ExcType::AttributeError if message.starts_with("module '") => {
            unsupported(format!("{message}: this Python has only a part of it"))
        }
        ExcType::NameError => match missing(message) {
            Some(name) => unsupported(format!("this Python does not support {name}()")),
            None => (ErrorKind::Exception, exception.summary()),
        },
        ExcType::PermissionError if message.contains(REFUSED) => unsupported(message.to_owned()),
        ExcType::TimeoutError if message.starts_with("time limit exceeded") => (
            ErrorKind::Limit,
            "the cell ran longer than it may: it was stopped, what it had stored until then is kept".to_owned(),
        ),
        ExcType::MemoryError => (ErrorKind::Limit, format!("the cell needed more memory than it may: {message}")),
        ExcType::RecursionError => (ErrorKind::Limit, format!("too many calls inside of each other: {message}")),
        ExcType::SystemExit if message.starts_with(STOPPED) => (ErrorKind::Limit, message.to_owned()),
        _ => (ErrorKind::Exception, exception.summary()),
    };
    let line = exception.traceback().first().map(|frame| frame.start.line);
    CellError { kind, text: cut(text), line }
}

/// Returns the builtin of Python that a message says is not defined.
fn missing(message: &str) -> Option<&'static str> {
    let name = message.strip_prefix("name '")?.split('\'').next()?;
    MISSING_BUILTINS.into_iter().find(|missing| *missing == name)
}

fn modules() -> String {
    let names: Vec<&str> = MODULES.iter().map(|(name, _)| *name).collect();
    format!("modules: {}", names.join(", "))
}

/// Cuts a message that quotes something large.
fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(ERROR_CHARS) {
        text.truncate(at);
        text.push('…');
    }
    text
}
