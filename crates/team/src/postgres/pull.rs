//! Reads: projects, pages of changes, and the audit.

use super::fault::Fault;
use super::members::all_members;
use super::{Postgres, begin_read, number, require_token, stored};
use crate::store::Caller;
use crate::wire::{Audited, MOST_PAGE, Project, Pulled, Record};

const PROJECTS: &str = "select name, texts, last from project where tenant = $1 order by name";
const HEAD: &str = "
    select team.epoch, coalesce(project.last, 0)
    from team left join project on project.tenant = team.tenant and project.name = $2 where team.tenant = $1";
// The first record always fits: the longest text is shorter than a page.
const PAGE: &str = "
    select seq, name, member, at, text, is_forgotten, is_withheld from (
        select *, sum(coalesce(octet_length(text), 0)) over (order by seq) as bytes from (
            select seq, name, member, at, text, is_forgotten, is_withheld from record
            where tenant = $1 and project = $2 and seq > $3 order by seq limit $4) as next) as next
    where bytes <= $5 order by seq";
const AUDIT: &str = "
    select seq, at, member, action, subject from audit where tenant = $1 and seq < $2 order by seq desc limit $3";

impl Postgres {
    pub(super) async fn try_projects(&self, caller: &Caller) -> Result<Vec<Project>, Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin_read(&mut client, caller.me.team).await?;
        require_token(&transaction, caller).await?;
        let projects = transaction.prepare_cached(PROJECTS).await?;
        let projects = transaction.query(&projects, &[&caller.me.team]).await?;
        let project =
            |row: &tokio_postgres::Row| Project { name: row.get(0), texts: number(row.get(1)), last: number(row.get(2)) };
        Ok(projects.iter().map(project).collect())
    }

    pub(super) async fn try_pull(&self, caller: &Caller, project: &str, after: u64, limit: usize) -> Result<Pulled, Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin_read(&mut client, caller.me.team).await?;
        require_token(&transaction, caller).await?;
        let team = caller.me.team;
        let head = transaction.prepare_cached(HEAD).await?;
        let head = transaction.query_one(&head, &[&team, &project]).await?;
        let page = transaction.prepare_cached(PAGE).await?;
        let (most, most_bytes) = (stored(limit.max(1) as u64), MOST_PAGE as i64);
        let page = transaction.query(&page, &[&team, &project, &stored(after), &most, &most_bytes]).await?;
        let record = |row: &tokio_postgres::Row| Record {
            seq: number(row.get(0)),
            name: row.get(1),
            member: row.get(2),
            at: row.get(3),
            text: row.get(4),
            is_forgotten: row.get(5),
            is_withheld: row.get(6),
        };
        let records: Vec<Record> = page.iter().map(record).collect();
        let last = records.last().map_or(after, |record| record.seq);
        Ok(Pulled {
            epoch: head.get(0),
            is_complete: last >= number(head.get(1)),
            records,
            last,
            members: all_members(&transaction, team).await?,
        })
    }

    pub(super) async fn try_audit(&self, caller: &Caller, before: Option<u64>, limit: usize) -> Result<Vec<Audited>, Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin_read(&mut client, caller.me.team).await?;
        require_token(&transaction, caller).await?;
        let entries = transaction.prepare_cached(AUDIT).await?;
        let (before, most) = (before.map_or(i64::MAX, stored), stored(limit as u64));
        let entries = transaction.query(&entries, &[&caller.me.team, &before, &most]).await?;
        let entry = |row: &tokio_postgres::Row| Audited {
            seq: number(row.get(0)),
            at: row.get(1),
            member: row.get(2),
            action: row.get(3),
            subject: row.get(4),
        };
        Ok(entries.iter().map(entry).collect())
    }

    pub(super) async fn try_ping(&self) -> Result<(), Fault> {
        self.pool.get().await?.execute("select 1", &[]).await?;
        Ok(())
    }
}
