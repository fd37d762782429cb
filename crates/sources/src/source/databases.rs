//! Finds which source reads a database that has no name of its own.

use std::path::Path;

use super::rows::Layout;
use super::{Crush, Cursor, Goose, Hermes, Source, crush, cursor, goose, hermes};
use crate::foreign::ForeignDatabase;

/// Returns the kind of the source that reads a database, by its tables and keys. `None` also while another
/// program is writing to it.
pub fn kind_of_database(path: &Path) -> Option<&'static str> {
    let database = ForeignDatabase::open(path).ok()?;
    let is_of = |layout: &Layout| layout.is_of(&database).unwrap_or(false);
    match () {
        () if is_of(&goose::LAYOUT) => Some(Goose.kind()),
        () if is_of(&crush::LAYOUT) => Some(Crush.kind()),
        () if is_of(&hermes::LAYOUT) => Some(Hermes.kind()),
        () if cursor::is_of(&database).unwrap_or(false) => Some(Cursor.kind()),
        () => None,
    }
}
