//! The transaction of a push: locks the project, reads what concerns the operations, plans, and writes all of it by few
//! statements.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::Transaction;
use uuid::Uuid;
use yore_core::time::UtcMillis;

use super::fault::Fault;
use super::plan::{Before, Held, Plan, plan};
use super::{Postgres, begin, grown, outcome_of, require_token};
use crate::rules::action;
use crate::store::{Caller, Quota};
use crate::wire::{Change, Operation, Outcome, is_name};

const LOCK_PROJECT: &str = "select last from project where tenant = $1 and name = $2 for no key update";
const SEEN: &str = "select id, why from done where tenant = $1 and id = any($2)";
const FORGOTTEN: &str = "select name from forgotten where tenant = $1 and project = $2 and name = any($3)";
const RECORDS: &str = "
    select name, member, octet_length(text)::bigint, is_forgotten, is_withheld from record
    where tenant = $1 and project = $2 and name = any($3) and member = $4
    union all
    select name, member, octet_length(text)::bigint, is_forgotten, is_withheld from record
    where tenant = $1 and project = $2 and name = any($5) and member <> $4";

const CREATE_PROJECT: &str = "
    insert into project (tenant, name, last, texts, bytes) values ($1, $2, $3, $4, $5)
    on conflict (tenant, name) do nothing";
const UPDATE_PROJECT: &str =
    "update project set last = $3, texts = texts + $4, bytes = bytes + $5 where tenant = $1 and name = $2";
const WRITE_RECORDS: &str = "
    insert into record (tenant, project, name, member, seq, at, text, is_forgotten, is_withheld)
    select $1, $2, name, member, seq, $3, text, is_forgotten, is_withheld
    from unnest($4::text[], $5::uuid[], $6::bigint[], $7::text[], $8::boolean[], $9::boolean[])
        as new (name, member, seq, text, is_forgotten, is_withheld)
    on conflict (tenant, project, name, member) do update
    set seq = excluded.seq, text = excluded.text, is_forgotten = excluded.is_forgotten, is_withheld = excluded.is_withheld";
const WRITE_FORGOTTEN: &str = "
    insert into forgotten (tenant, project, name, member, at) select $1, $2, name, $3, $4 from unnest($5::text[]) as new (name)";
const WRITE_DONE: &str = "
    insert into done (tenant, id, why, at) select $1, id, why, $2 from unnest($3::uuid[], $4::text[]) as new (id, why)
    on conflict (tenant, id) do nothing";
const COUNT: &str = "
    with counted as (
        update team set projects = projects + $2, texts = texts + $3, bytes = bytes + $4, audited = audited + 1
        where tenant = $1 returning projects, texts, bytes, audited),
    noted as (
        insert into audit (tenant, seq, at, member, action, subject) select $1, audited, $5, $6, $7, $8 from counted)
    select projects, texts, bytes from counted";

impl Postgres {
    pub(super) async fn try_push(
        &self,
        caller: &Caller,
        project: &str,
        operations: &[Operation],
        now: UtcMillis,
    ) -> Result<Vec<Outcome>, Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin(&mut client, caller.me.team).await?;
        require_token(&transaction, caller).await?;
        let push = Push { transaction: &transaction, caller, project, now };
        let (before, is_new) = push.before(operations).await?;
        let plan = plan(caller, operations, before);
        if !plan.done.is_empty() {
            let creates = is_new && plan.changes_project();
            push.write(&plan, creates).await?;
            push.count(&plan, creates, &self.quota).await?;
            transaction.commit().await?;
        }
        Ok(plan.outcomes)
    }
}

struct Push<'a> {
    transaction: &'a Transaction<'a>,
    caller: &'a Caller,
    project: &'a str,
    now: UtcMillis,
}

impl Push<'_> {
    fn team(&self) -> Uuid {
        self.caller.me.team
    }

    /// Waits for other pushes to the project, then reads the rows that concern the operations. Returns whether the project is
    /// new.
    async fn before(&self, operations: &[Operation]) -> Result<(Before, bool), Fault> {
        let (team, project, transaction) = (self.team(), self.project, self.transaction);
        let lock = transaction.prepare_cached(LOCK_PROJECT).await?;
        // Of two who create a project at once, the second finds it when it writes, and begins again.
        let last: Option<i64> = transaction.query_opt(&lock, &[&team, &project]).await?.map(|row| row.get(0));

        let ids: Vec<Uuid> = operations.iter().map(|operation| operation.id).collect();
        let seen = transaction.prepare_cached(SEEN).await?;
        let seen: HashMap<Uuid, Outcome> =
            (transaction.query(&seen, &[&team, &ids]).await?.iter()).map(|row| (row.get(0), outcome_of(row.get(1)))).collect();
        let mut before = Before { seen, last: last.unwrap_or_default(), ..Before::default() };
        if last.is_none() {
            return Ok((before, true));
        }

        let mut names = HashSet::new();
        let mut names_to_forget = HashSet::new();
        for operation in operations.iter().filter(|operation| !before.seen.contains_key(&operation.id)) {
            let (Change::Add { name, .. } | Change::TakeBack { name, .. } | Change::Forget { name }) = &operation.change;
            // Nothing can be stored under anything else, which may even be no text for the database.
            if is_name(name) {
                names.insert(name.as_str());
                if matches!(operation.change, Change::Forget { .. }) {
                    names_to_forget.insert(name.as_str());
                }
            }
        }
        let (names, names_to_forget) = (Vec::from_iter(names), Vec::from_iter(names_to_forget));
        let forgotten = transaction.prepare_cached(FORGOTTEN).await?;
        let forgotten = transaction.query(&forgotten, &[&team, &project, &names]).await?;
        before.forgotten = forgotten.iter().map(|row| row.get(0)).collect();
        let records = transaction.prepare_cached(RECORDS).await?;
        let records = transaction.query(&records, &[&team, &project, &names, &self.caller.me.member, &names_to_forget]).await?;
        before.records = (records.iter())
            .map(|row| ((row.get(0), row.get(1)), Held { bytes: row.get(2), is_forgotten: row.get(3), is_withheld: row.get(4) }))
            .collect();
        Ok((before, false))
    }

    async fn write(&self, plan: &Plan<'_>, creates: bool) -> Result<(), Fault> {
        let (team, project, transaction) = (self.team(), self.project, self.transaction);
        // The map's order is the same for all, so that two pushes with the same ids do not wait for each other.
        let ids = Vec::from_iter(plan.done.keys());
        let reasons = Vec::from_iter(plan.done.values());
        let done = transaction.prepare_cached(WRITE_DONE).await?;
        if transaction.execute(&done, &[&team, &self.now, &ids, &reasons]).await? < ids.len() as u64 {
            return Err(Fault::Conflict("another push has the same operations".to_owned()));
        }
        if plan.changes_project() {
            let statement = transaction.prepare_cached(if creates { CREATE_PROJECT } else { UPDATE_PROJECT }).await?;
            if transaction.execute(&statement, &[&team, &project, &plan.last, &plan.texts, &plan.bytes]).await? == 0 {
                return Err(Fault::Conflict("another push creates the project".to_owned()));
            }
        }
        if !plan.written.is_empty() {
            let names = Vec::from_iter(plan.written.keys().map(|(name, _)| name));
            let members = Vec::from_iter(plan.written.keys().map(|(_, member)| member));
            let seqs = Vec::from_iter(plan.written.values().map(|record| record.seq));
            let texts = Vec::from_iter(plan.written.values().map(|record| record.state.text()));
            let are_forgotten = Vec::from_iter(plan.written.values().map(|record| record.state.is_forgotten()));
            let are_withheld = Vec::from_iter(plan.written.values().map(|record| record.state.is_withheld()));
            let statement = transaction.prepare_cached(WRITE_RECORDS).await?;
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 9] =
                [&team, &project, &self.now, &names, &members, &seqs, &texts, &are_forgotten, &are_withheld];
            transaction.execute(&statement, &values).await?;
        }
        if !plan.forgotten.is_empty() {
            let statement = transaction.prepare_cached(WRITE_FORGOTTEN).await?;
            transaction.execute(&statement, &[&team, &project, &self.caller.me.member, &self.now, &plan.forgotten]).await?;
        }
        Ok(())
    }

    /// Adds to the team's totals and its audit, and checks the quota. It comes last: from here on, all other pushes of the team
    /// wait.
    async fn count(&self, plan: &Plan<'_>, creates: bool, quota: &Quota) -> Result<(), Fault> {
        let count = self.transaction.prepare_cached(COUNT).await?;
        let projects = i64::from(creates);
        let subject = plan.counts.subject(self.project);
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
            [&self.team(), &projects, &plan.texts, &plan.bytes, &self.now, &self.caller.me.member, &action::PUSH, &subject];
        let row = self.transaction.query_one(&count, &values).await?;
        grown("projects", projects, row.get(0), quota.projects)?;
        grown("texts", plan.texts, row.get(1), quota.texts)?;
        grown("bytes", plan.bytes, row.get(2), quota.bytes)?;
        Ok(())
    }
}
