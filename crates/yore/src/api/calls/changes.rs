//! The log of changes, undo and redo.

use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_core::operation::Subject;

use super::{by_person, limit, none, place};
use crate::api::route::{Caller, Route};
use crate::cursor::{self, Cursor};
use crate::error::CliResult;
use crate::results::{Changed, OperationRecord, Page};

/// Letter of this list in cursors.
const LIST: char = 'l';

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/operations", "Lists changes of memories, the latest first", &["operations", "memory"], list),
        Route::get("/operations/{number}", "Returns a change with what it changed", &["operation"], open),
        Route::change(Method::POST, "/operations/{number}/undo", "Undoes a change", &["undo"], undo),
        Route::change(Method::POST, "/operations/{number}/redo", "Makes a change again that was undone", &["redo"], redo),
    ]
}

/// A filter of the list of changes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Only changes of this memory: its id, or the beginning of it
    pub memory: Option<String>,
    /// Most changes, 1 to 500
    pub limit: Option<usize>,
    /// The cursor at the end of the page before
    pub after: Option<String>,
}

/// A change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Numbered {
    /// Its number
    pub number: u64,
}

/// Lists changes.
pub fn list(caller: &mut Caller<'_>, list: List) -> CliResult<Page<OperationRecord>> {
    let limit = limit(list.limit, 50)?;
    let subject = list.memory.map(|id| caller.memory.memory(id)).transpose()?.map(|stored| Subject::Memory(stored.memory.id));
    let before = place(LIST, list.after.as_deref())?.and_then(|cursor| cursor.id.parse().ok());
    // One more than fits shows whether there is a next page.
    let mut found = caller.memory.operations(before, subject, limit + 1)?;
    let next = cursor::page(&mut found, limit, |operation| Cursor::of(LIST, None, operation.number));
    let items = found.iter().map(|operation| OperationRecord::of(operation, &[])).collect();
    Ok(Page { items, next: next.map(|next| next.encode()) })
}

/// Returns a change.
pub fn open(caller: &mut Caller<'_>, Numbered { number }: Numbered) -> CliResult<OperationRecord> {
    let found = caller.memory.operation(number)?;
    let (operation, changes) = found.ok_or_else(|| none("operation/unknown", format!("there is no operation {number}")))?;
    Ok(OperationRecord::of(&operation, &changes))
}

/// Undoes a change.
pub fn undo(caller: &mut Caller<'_>, Numbered { number }: Numbered) -> CliResult<Changed> {
    let operation = caller.memory.undo(number, by_person())?;
    Ok(Changed { operation: Some(operation), ..Changed::default() })
}

/// Makes a change again.
pub fn redo(caller: &mut Caller<'_>, Numbered { number }: Numbered) -> CliResult<Changed> {
    let operation = caller.memory.redo(number, by_person())?;
    Ok(Changed { operation: Some(operation), ..Changed::default() })
}
