//! Converts rows of older schemas to what the present one means by them.

use std::collections::HashMap;

use rusqlite::params;
use yore_core::memory::StatusCause;
use yore_core::operation::{Record, Subject};

use super::transaction::WriteTx;
use crate::store::archive::structure::reshape;
use crate::store::statements::entities::basis_json;
use crate::store::statements::operations::subject_of;
use crate::store::statements::revisions::Revision;
use crate::store::{Queue, Store, StoreResult};

impl Store {
    /// Analyses some of the turns that an older yore stored; returns whether some are left.
    pub(crate) fn reshape(&self) -> StoreResult<bool> {
        if self.waiting(Queue::Shapes, 1)? == 0 { Ok(false) } else { self.write(reshape) }
    }
}

impl WriteTx<'_> {
    /// Gives every record, and every change in the log, the revisions that follow from the log alone; for a database of before schema
    /// 21, and one that was rescued.
    pub(super) fn fill_revisions(&self) -> StoreResult<()> {
        struct Logged {
            number: i64,
            position: i64,
            subject: Subject,
            had_record: bool,
        }
        let operations: Vec<(i64, String, Option<i64>)> =
            self.all("SELECT number, kind, of_number FROM operation WHERE is_forgotten = 0 ORDER BY number", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        let changes: Vec<Option<Logged>> = self.all(
            "SELECT operation, position, change.kind, uid, before IS NOT NULL FROM operation_change AS change
             JOIN operation ON number = operation WHERE is_forgotten = 0 ORDER BY operation, position",
            [],
            |row| {
                let subject = subject_of(&row.get::<_, String>(2)?, row.get(3)?);
                let (number, position, had_record) = (row.get(0)?, row.get(1)?, row.get(4)?);
                Ok(subject.map(|subject| Logged { number, position, subject, had_record }))
            },
        )?;
        // The operation whose changes each undoing and each repetition takes back.
        let (mut doing, mut undoing, mut takes_back) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (number, kind, of) in operations {
            match (kind.as_str(), of) {
                ("undo", Some(of)) => {
                    takes_back.insert(number, doing.get(&of).copied().unwrap_or(of));
                    undoing.insert(of, number);
                }
                ("redo", Some(of)) => {
                    takes_back.extend(undoing.get(&of).map(|undone: &i64| (number, *undone)));
                    doing.insert(of, number);
                }
                _ => {}
            }
        }
        let mut present: HashMap<Subject, Revision> = HashMap::new();
        let mut before_of: HashMap<(i64, Subject), Revision> = HashMap::new();
        let changes: Vec<Logged> = changes.into_iter().flatten().collect();
        let mut later: HashMap<Subject, bool> = HashMap::new();
        let mut remains = vec![false; changes.len()];
        for (remains, change) in remains.iter_mut().zip(&changes).rev() {
            *remains = match later.insert(change.subject, change.had_record) {
                Some(had_record) => had_record,
                None => self.revision(change.subject)?.is_some(),
            };
        }
        for (change, remains) in changes.iter().zip(remains) {
            let Logged { number, position, subject, had_record } = change;
            let before = present.get(subject).copied().unwrap_or_default();
            before_of.insert((*number, *subject), before);
            let taken_back = takes_back.get(number).and_then(|from| before_of.get(&(*from, *subject)).copied());
            let after = taken_back.unwrap_or(*number);
            present.insert(*subject, after);
            self.execute(
                "UPDATE operation_change SET before_rev = ?3, after_rev = ?4 WHERE operation = ?1 AND position = ?2",
                params![number, position, had_record.then_some(before), remains.then_some(after)],
            )?;
        }
        present.into_iter().try_for_each(|(subject, rev)| self.set_revision(subject, rev))
    }

    /// Replaces the sentences of before schema 21 by values: causes of statuses, and what relations were found by, in records and in the log.
    pub(super) fn read_sentences(&self) -> StoreResult<()> {
        let fail = |error: serde_json::Error| self.failed(error.into());
        let causes: Vec<(i64, String)> = self.all(
            "SELECT id, json_extract(rest, '$.cause') FROM memory WHERE json_type(rest, '$.cause') = 'text'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        for (id, sentence) in causes {
            let cause = serde_json::to_string(&StatusCause::of_sentence(&sentence)).map_err(fail)?;
            self.execute("UPDATE memory SET rest = json_set(rest, '$.cause', json(?2)) WHERE id = ?1", params![id, cause])?;
        }
        for relation in self.relations_with_reason()? {
            if let (None, Some(basis)) = (&relation.basis, relation.clone().with_read_basis().basis) {
                let basis = basis_json(&basis).map_err(fail)?;
                self.execute("UPDATE relation SET basis = ?2 WHERE uid = ?1", params![relation.id.as_bytes(), basis])?;
            }
        }
        let records: Vec<(i64, i64, String)> =
            self.all("SELECT operation, position, before FROM operation_change WHERE before IS NOT NULL", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        for (operation, position, json) in records {
            // A record that cannot be read stays as it is.
            let Ok(record) = serde_json::from_str::<Record>(&json) else { continue };
            let record = match record {
                Record::Relation(relation) => Record::Relation(Box::new(relation.with_read_basis())),
                other => other,
            };
            let read = serde_json::to_string(&record).map_err(fail)?;
            if read != json {
                let sql = "UPDATE operation_change SET before = ?3 WHERE operation = ?1 AND position = ?2";
                self.execute(sql, params![operation, position, read])?;
            }
        }
        Ok(())
    }
}
