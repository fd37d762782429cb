//! [`View`] and [`WriteTx`]: prepared statements on one connection, for reading and for a write transaction.
//!
//! - [`View`] reads
//! - [`WriteTx`], a transaction, reads and writes
//!
//! Errors of both name the database. Each statement is prepared once per connection. The methods here take
//! SQL and are for this module alone; the other files add methods for the operations that callers need.

use std::ops::{ControlFlow, Deref};
use std::path::Path;

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::store::error::{StoreError, StoreResult};
use crate::store::keys::RowKey;

/// Reads the database.
pub(crate) struct View<'c> {
    connection: &'c Connection,
    path: &'c Path,
}

impl<'c> View<'c> {
    pub(in crate::store) fn new(connection: &'c Connection, path: &'c Path) -> Self {
        Self { connection, path }
    }

    /// Returns all rows.
    pub(in crate::store) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> StoreResult<Vec<T>> {
        self.named(self.connection.prepare_cached(sql).and_then(|mut statement| statement.query_map(params, map)?.collect()))
    }

    /// Returns the first column of all rows.
    pub(in crate::store) fn column<T: FromSql>(&self, sql: &str, params: impl Params) -> StoreResult<Vec<T>> {
        self.all(sql, params, |row| row.get(0))
    }

    /// Returns the first row, if there is one.
    pub(in crate::store) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> StoreResult<Option<T>> {
        self.named(self.connection.prepare_cached(sql).and_then(|mut statement| statement.query_row(params, map).optional()))
    }

    /// Returns the first column of the first row, if there is one.
    pub(in crate::store) fn first_value<T: FromSql>(&self, sql: &str, params: impl Params) -> StoreResult<Option<T>> {
        self.first(sql, params, |row| row.get(0))
    }

    /// Returns the row of a statement that always has one.
    pub(in crate::store) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> StoreResult<T> {
        self.named(self.connection.prepare_cached(sql).and_then(|mut statement| statement.query_row(params, map)))
    }

    /// Returns the first column of the row of such a statement.
    pub(in crate::store) fn value<T: FromSql>(&self, sql: &str, params: impl Params) -> StoreResult<T> {
        self.one(sql, params, |row| row.get(0))
    }

    /// Returns the first column of such a row as a count.
    pub(in crate::store) fn count(&self, sql: &str, params: impl Params) -> StoreResult<u64> {
        Ok(self.value::<i64>(sql, params)?.max(0) as u64)
    }

    /// Returns whether there is a row.
    pub(in crate::store) fn exists(&self, sql: &str, params: impl Params) -> StoreResult<bool> {
        self.named(self.connection.prepare_cached(sql).and_then(|mut statement| statement.exists(params)))
    }

    /// Calls `each` row by row, until it breaks.
    pub(in crate::store) fn each(
        &self,
        sql: &str,
        params: impl Params,
        mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>>,
    ) -> StoreResult<()> {
        self.named(self.connection.prepare_cached(sql).and_then(|mut statement| {
            let mut rows = statement.query(params)?;
            while let Some(row) = rows.next()? {
                if each(row)?.is_break() {
                    break;
                }
            }
            Ok(())
        }))
    }

    /// Converts an error of the system, with the database's path.
    pub(in crate::store) fn failed(&self, error: std::io::Error) -> StoreError {
        StoreError::Io { path: self.path.to_path_buf(), error }
    }

    fn named<T>(&self, result: rusqlite::Result<T>) -> StoreResult<T> {
        result.map_err(|error| StoreError::from_sqlite(self.path, error))
    }
}

/// One transaction: all of its writes are kept, or none. `Store::write` begins and commits it.
pub(crate) struct WriteTx<'c> {
    view: View<'c>,
}

impl<'c> WriteTx<'c> {
    pub(in crate::store) fn new(transaction: &'c rusqlite::Transaction<'_>, path: &'c Path) -> Self {
        Self { view: View::new(transaction, path) }
    }

    /// Runs a statement; returns the number of changed rows.
    pub(in crate::store) fn execute(&self, sql: &str, params: impl Params) -> StoreResult<usize> {
        self.named(self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute(params)))
    }

    /// Adds a row; returns its key.
    pub(in crate::store) fn insert<K: RowKey>(&self, sql: &str, params: impl Params) -> StoreResult<K> {
        self.execute(sql, params)?;
        Ok(K::new(self.connection.last_insert_rowid()))
    }

    /// Runs several statements without parameters.
    pub(in crate::store) fn batch(&self, sql: &str) -> StoreResult<()> {
        self.named(self.connection.execute_batch(sql))
    }

    /// Runs statements on the connection itself.
    pub(in crate::store) fn on_connection<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> StoreResult<T> {
        self.named(work(self.connection))
    }
}

impl<'c> Deref for WriteTx<'c> {
    type Target = View<'c>;

    fn deref(&self) -> &View<'c> {
        &self.view
    }
}
