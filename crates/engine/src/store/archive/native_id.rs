//! The form in which agents' own ids of messages are stored.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

/// Canonical UUIDs are stored as 16 bytes, any other native id as its text.
pub(super) struct NativeId<'a>(pub(super) &'a str);

impl ToSql for NativeId<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match uuid::Uuid::try_parse(self.0) {
            Ok(id) if id.hyphenated().to_string() == self.0 => ToSqlOutput::Owned(Value::Blob(id.as_bytes().to_vec())),
            _ => ToSqlOutput::Borrowed(ValueRef::Text(self.0.as_bytes())),
        })
    }
}

/// Returns the id of a message: UUIDs are stored as bytes.
pub(super) fn native_id(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Blob(bytes) => match uuid::Uuid::from_slice(bytes) {
            Ok(id) => id.hyphenated().to_string(),
            Err(_) => String::new(),
        },
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}
