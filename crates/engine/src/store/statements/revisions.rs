//! Revisions of records: which operation changed a memory, an entity or a relation last.
//!
//! An operation is undone only if each record that it changed still has the revision that it left; `operations` compares them and
//! refuses otherwise. What changes records in other ways
//! (a merge of projects, redaction, forgetting) gives them a revision that no operation has.

use rusqlite::params;
use yore_core::operation::Subject;

use crate::store::StoreResult;
use crate::store::local::transaction::{View, WriteTx};

/// Number of the operation that changed a record last; below 0: something else did so since.
pub(in crate::store) type Revision = i64;

/// Returns the table of the records of a kind.
fn table_of(subject: Subject) -> &'static str {
    match subject {
        Subject::Memory(_) => "memory",
        Subject::Entity(_) => "entity",
        Subject::Relation(_) => "relation",
    }
}

/// Returns the revision of a record that something else than an operation changes.
pub(super) fn changed_otherwise(rev: Option<Revision>) -> Revision {
    -rev.unwrap_or_default().abs() - 1
}

impl View<'_> {
    /// Returns the revision of a record; `None` if there is no such record.
    pub(in crate::store) fn revision(&self, subject: Subject) -> StoreResult<Option<Revision>> {
        self.first_value(&format!("SELECT rev FROM {} WHERE uid = ?1", table_of(subject)), [subject.key()])
    }
}

impl WriteTx<'_> {
    pub(in crate::store) fn set_revision(&self, subject: Subject, rev: Revision) -> StoreResult<()> {
        self.execute(&format!("UPDATE {} SET rev = ?2 WHERE uid = ?1", table_of(subject)), params![subject.key(), rev]).map(drop)
    }
}
