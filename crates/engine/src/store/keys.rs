//! Row keys: typed numbers that are valid for one table of this database.

use std::fmt::{Display, Formatter};

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};

/// A number that identifies a row of a table. Only `store` and `index` may make one or read it; others pass keys on.
pub(crate) trait RowKey: Copy {
    /// Makes the key with this number.
    fn new(number: i64) -> Self;
    /// Returns the number, for an index that stores it.
    fn get(self) -> i64;
}

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
        pub(crate) struct $name(i64);

        impl RowKey for $name {
            fn new(number: i64) -> Self {
                Self(number)
            }

            fn get(self) -> i64 {
                self.0
            }
        }

        /// A name for messages and for names of requests.
        impl Display for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
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
    /// A memory.
    MemoryKey;
    /// A relation.
    RelationKey;
    /// A place in a queue.
    QueuePlace;
}

impl EpisodeKey {
    /// Returns the episode of an item that stands alone, such as a memory: one that no other item has.
    pub(crate) fn of_its_own(item: ItemKey) -> Self {
        Self(item.get())
    }
}

/// A memory or a relation, in the order in which they were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKey {
    Memory(MemoryKey),
    Relation(RelationKey),
}

impl RecordKey {
    /// Returns the key before the first record.
    pub(crate) fn start() -> Self {
        Self::Memory(MemoryKey::default())
    }
}

/// Something that can be found. The indexes and their queues hold it as one number: that of a turn's row, or the
/// negative number of a memory's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ItemKey {
    /// A turn of a conversation, or a passage of a document.
    Turn(TurnKey),
    /// A memory.
    Memory(MemoryKey),
}

impl ItemKey {
    /// Returns the turn, if it is one.
    pub(crate) fn turn(self) -> Option<TurnKey> {
        match self {
            Self::Turn(turn) => Some(turn),
            Self::Memory(_) => None,
        }
    }

    /// Returns the memory, if it is one.
    pub(crate) fn memory(self) -> Option<MemoryKey> {
        match self {
            Self::Turn(_) => None,
            Self::Memory(memory) => Some(memory),
        }
    }
}

impl RowKey for ItemKey {
    fn new(number: i64) -> Self {
        if number < 0 { Self::Memory(MemoryKey(-number)) } else { Self::Turn(TurnKey(number)) }
    }

    fn get(self) -> i64 {
        match self {
            Self::Turn(turn) => turn.0,
            Self::Memory(memory) => -memory.0,
        }
    }
}

impl ToSql for ItemKey {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.get().into())
    }
}

impl FromSql for ItemKey {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(Self::new)
    }
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

/// Returns ids as JSON, for `unhex(value)` over `json_each`.
pub(super) fn hex_of<'i>(ids: impl Iterator<Item = &'i [u8]>) -> String {
    let digits = |id: &[u8]| id.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    serde_json::Value::from(ids.map(digits).collect::<Vec<_>>()).to_string()
}

/// Returns keys as JSON, for `json_each`.
pub(super) fn json_of<K: RowKey>(keys: &[K]) -> String {
    let numbers: Vec<i64> = keys.iter().map(|key| key.get()).collect();
    serde_json::Value::from(numbers).to_string()
}
