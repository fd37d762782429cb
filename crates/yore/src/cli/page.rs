//! Pages of lists: the option `--after`, and how a page ends.

use clap::Args;
use serde::Serialize;

use super::Context;
use crate::cursor::{After, Cursor};
use crate::error::{CliError, CliResult};
use crate::results::Page;

/// The page of a list.
#[derive(Args, Clone, Debug, Default)]
pub struct PageArguments {
    /// Only what comes after this place: the cursor at the end of the page before, or `start`; --json then prints an object with
    /// `items` and the cursor `next`
    #[arg(long, value_name = "CURSOR", value_parser = After::parse)]
    after: Option<After>,
}

impl PageArguments {
    /// Returns the place after which the page begins, in a list with this letter.
    pub fn place(&self, list: char) -> CliResult<Option<Cursor>> {
        match self.after.as_ref().and_then(|after| after.0.clone()) {
            Some(cursor) if cursor.list != list => Err(CliError::usage("the cursor is of another list or order", None)),
            place => Ok(place),
        }
    }

    /// Prints the items of a page as JSON: alone, or with the cursor of the next page if `--after` asked for a page.
    pub fn json<T: Serialize>(&self, items: Vec<T>, next: Option<&Cursor>, context: &mut Context) -> CliResult<()> {
        if self.after.is_none() {
            return Ok(context.printer.json(&items)?);
        }
        Ok(context.printer.json(&Page { items, next: next.map(Cursor::encode) })?)
    }
}

/// Prints how to see the next page, if there is one.
pub fn more(next: Option<&Cursor>, context: &mut Context) -> CliResult<()> {
    if let Some(next) = next {
        context.printer.note(format!("there are more: --after {}", next.encode()))?;
    }
    Ok(())
}
