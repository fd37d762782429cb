//! Keys of rows: numbers that are valid for one table only, and only within this database.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};

/// A number that identifies a row of a table.
pub(crate) trait RowKey: Copy {
    /// Makes the key with this number.
    fn new(number: i64) -> Self;
    /// Returns the number, for an index that stores it.
    fn get(self) -> i64;
}

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub(crate) struct $name(i64);

        impl RowKey for $name {
            fn new(number: i64) -> Self {
                Self(number)
            }

            fn get(self) -> i64 {
                self.0
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                self.0.to_sql()
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                i64::column_result(value).map(Self)
            }
        }
    )+};
}

keys! {
    /// A turn.
    TurnKey;
    /// An episode.
    EpisodeKey;
    /// A project.
    ProjectKey;
    /// A file that a history is read from.
    FileKey;
    /// A blob of the archive.
    BlobKey;
    /// An embedder with stored vectors.
    EmbedderKey;
    /// A vector of a chunk.
    VectorKey;
    /// A string that repeats on many rows.
    LabelKey;
}

/// A row of a table that is used only inside the store.
impl RowKey for i64 {
    fn new(number: i64) -> Self {
        number
    }

    fn get(self) -> i64 {
        self
    }
}

/// Returns keys as JSON, for `json_each`.
pub(super) fn json_of<K: RowKey>(keys: &[K]) -> String {
    let numbers: Vec<i64> = keys.iter().map(|key| key.get()).collect();
    serde_json::Value::from(numbers).to_string()
}
