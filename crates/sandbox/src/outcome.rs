//! The outcome of a cell: its output, its calls, and the error that ended it.

use serde::{Deserialize, Serialize};

/// The outcome of a cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CellOutcome {
    /// Printed text, and the value of the last expression as an interactive Python shows it.
    pub output: String,
    /// True if `output` was cut.
    pub is_cut: bool,
    /// Characters that were cut from `output`.
    pub dropped: u64,
    /// Calls of the parent's functions.
    pub calls: usize,
    /// The error that ended the cell early. Variables that it had stored until then are kept.
    pub error: Option<CellError>,
}

/// An error that ended a cell early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellError {
    /// Its kind.
    pub kind: ErrorKind,
    /// A sentence for the model that wrote the cell.
    pub text: String,
    /// Line of the cell, from 1.
    pub line: Option<u32>,
}

/// Kinds of errors of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The cell is not Python.
    Syntax,
    /// The cell uses a part of Python that the interpreter lacks: see [`crate::guide`].
    Unsupported,
    /// The cell raised an exception.
    Exception,
    /// The cell reached a limit.
    Limit,
}
