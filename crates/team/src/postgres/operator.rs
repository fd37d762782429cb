//! Work of the server's operator over all teams: new teams, owners' invitations, a new epoch after a backup, and checks.

use tokio_postgres::{Client, Transaction};
use uuid::Uuid;
use yore_core::time::UtcMillis;

use super::fault::{Fault, retry};
use super::members::{LOCK_TEAM, add_invite, note};
use super::{Postgres, SET_TENANT, begin};
use crate::rules::{self, action};
use crate::store::{StoreError, StoreResult, StoredInvite};

/// Row-level security binds the owner of the tables too. A transaction lifts that for the owner alone: the role that serves stays
/// bound.
const LIFT_TEAM: &str = "alter table yore.team no force row level security";
const BIND_TEAM: &str = "alter table yore.team force row level security";
const LIFT_COUNTED: &str = "
    alter table yore.team no force row level security;
    alter table yore.project no force row level security;
    alter table yore.record no force row level security;
    alter table yore.forgotten no force row level security;
    alter table yore.turn no force row level security;
    alter table yore.turn_words no force row level security;
    alter table yore.word no force row level security;
    alter table yore.audit no force row level security";

/// Lifting waits for all transactions of the table, and all later ones wait for it.
const LOGIN_SETTINGS: &str = "set local search_path = yore; set local lock_timeout = '10s'";
const TEAMS_NAMED: &str = "select tenant from yore.team where name = $1 order by tenant";
const CREATE_TEAM: &str = "
    insert into team (tenant, name, epoch, created) values ($1, $2, gen_random_uuid(), $3) on conflict (tenant) do nothing";

const NEW_EPOCH: &str = "update yore.team set epoch = gen_random_uuid()";

/// Queries that return one line for each fault of the schema.
const FAULTS_OF_SCHEMA: [&str; 6] = [
    "select format('table %s: row-level security is not forced', relname) from pg_class
     where relnamespace = 'yore'::regnamespace and relkind in ('r', 'p') and relname <> 'schema_version'
       and not (relrowsecurity and relforcerowsecurity)",
    "select format('table %s: policy %s does not compare the tenant alone', tablename, policyname) from pg_policies
     where schemaname = 'yore' and not (tablename ~ '^turn_words(_|$)' and cmd = 'SELECT') and not coalesce(qual, with_check) ~
       '^\\(tenant = \\(NULLIF\\(current_setting\\(''yore\\.tenant''::text, true\\), ''''::text\\)\\)::uuid\\)$'",
    "select format('table %s: policy %s does not compare the tenant and the wanted words', tablename, policyname) from pg_policies
     where schemaname = 'yore' and tablename ~ '^turn_words(_|$)' and cmd = 'SELECT' and not qual ~
       '^\\(?\\(tenant = \\(NULLIF\\(current_setting\\(''yore\\.tenant''::text, true\\), ''''::text\\)\\)::uuid\\) AND \\(words && '",
    "select format('table %s: its policies do not cover what they should', relname) from pg_class
     where relnamespace = 'yore'::regnamespace and relkind in ('r', 'p') and relname <> 'schema_version'
       and (select string_agg(polcmd::text, '' order by polcmd) from pg_policy where polrelid = pg_class.oid)
         is distinct from case when relname ~ '^(audit|done|forgotten|turn_words)(_|$)' then 'ar' else '*' end",
    "select format('index %s: its first column is not the tenant', indexrelid::regclass) from pg_index
     join pg_class on pg_class.oid = indrelid
     join pg_attribute on attrelid = indrelid and attnum = indkey[0]
     where relnamespace = 'yore'::regnamespace and relname <> 'schema_version' and attname <> 'tenant'
       and not (relname ~ '^turn_words(_|$)' and attname = 'words')",
    "select format('foreign key %s of %s: it crosses tenants', conname, conrelid::regclass) from pg_constraint
     join pg_attribute on attrelid = conrelid and attnum = conkey[1]
     where connamespace = 'yore'::regnamespace and contype = 'f' and attname <> 'tenant'",
];

/// Queries that return one line for each right that the serving role should not have.
const FAULTS_OF_ROLE: [&str; 3] = [
    "select format('role %s bypasses row-level security', rolname) from pg_roles
     where rolname = current_user and (rolsuper or rolbypassrls)",
    "select format('role %s can change the schema', current_user)
     where has_schema_privilege('yore', 'create') and current_user = 'yore_node'",
    "select format('role %s can change or delete rows of %s', current_user, relname) from pg_class
     where relnamespace = 'yore'::regnamespace and relkind in ('r', 'p') and current_user = 'yore_node'
       and has_table_privilege(oid, case when relname in ('team', 'member', 'project', 'record', 'request_order') then 'delete, truncate'
         when relname in ('session', 'turn', 'word') then 'truncate' when relname in ('token', 'invite') then 'update, truncate' else 'update, delete, truncate' end)",
];

/// Queries that return one line for each count that does not agree with what it counts.
const FAULTS_OF_COUNTS: [&str; 6] = [
    "select format('project %s of team %s: its counts or its last number are wrong', name, tenant) from yore.project,
     lateral (
       select coalesce(max(seq), 0) as last, count(text) as texts, coalesce(sum(octet_length(text)), 0) as bytes from yore.record
       where record.tenant = project.tenant and record.project = project.name) as counted
     where (project.last, project.texts, project.bytes) <> (counted.last, counted.texts, counted.bytes)",
    "select format('team %s: its totals are wrong', tenant) from yore.team,
     lateral (
       select count(*) as projects, coalesce(sum(texts), 0) as texts, coalesce(sum(bytes), 0) as bytes from yore.project
       where project.tenant = team.tenant) as counted
     where (team.projects, team.texts, team.bytes) <> (counted.projects, counted.texts, counted.bytes)",
    "select format('project %s of team %s: its counts of turns are wrong', name, tenant) from yore.project,
     lateral (
       select count(*) as turns, coalesce(sum(octet_length(text)), 0) as bytes from yore.turn
       where turn.tenant = project.tenant and turn.project = project.name) as counted,
     lateral (
       select count(*) as turns, coalesce(sum(length), 0) as words from yore.turn_words
       where turn_words.tenant = project.tenant and turn_words.project = project.name) as worded
     where (project.turns, project.turn_bytes, project.turns, project.words)
       <> (counted.turns, counted.bytes, worded.turns, worded.words)",
    "select format('project %s of team %s: counts of words are wrong', project, tenant)
     from (
       select tenant, project, word, count(*) as turns from yore.turn_words, unnest(words) as word group by tenant, project, word
     ) as counted full join yore.word using (tenant, project, word)
     where counted.turns is distinct from word.turns group by tenant, project",
    "select format('team %s: numbers of its audit have gaps', tenant) from yore.team,
     lateral (
       select count(*) as entries, coalesce(max(seq), 0) as last from yore.audit where audit.tenant = team.tenant) as counted
     where (audited, audited) <> (entries, last)",
    "select format('project %s of team %s: %s is forgotten in part', project, tenant, name) from yore.record
     where is_forgotten <> exists (
       select from yore.forgotten
       where forgotten.tenant = record.tenant and forgotten.project = record.project and forgotten.name = record.name)",
];

impl Postgres {
    /// Creates a team as the login: the role that serves does not see which names other teams have. Two who create teams wait for
    /// each other.
    pub(super) async fn try_create_team(&self, id: Uuid, name: &str, owner: &StoredInvite, now: UtcMillis) -> Result<(), Fault> {
        let mut login = self.connector.login().await?;
        let transaction = login.transaction().await?;
        let is_taken = !teams_named(&transaction, name).await?.is_empty();
        transaction.execute(SET_TENANT, &[&id]).await?;
        if transaction.execute(CREATE_TEAM, &[&id, &name, &now]).await? == 0 {
            return Err(Fault::Store(StoreError::Failed("a team with this id exists".to_owned())));
        }
        if is_taken {
            return Err(Fault::Store(StoreError::TeamExists));
        }
        add_invite(&transaction, id, owner, owner.role, None).await?;
        note(&transaction, id, now, None, action::CREATE, name).await?;
        Ok(transaction.commit().await?)
    }

    /// Returns the ids of the teams with a name. The login must own the tables.
    pub async fn team_named(&self, name: &str) -> StoreResult<Vec<Uuid>> {
        retry(|| self.try_team_named(name)).await
    }

    async fn try_team_named(&self, name: &str) -> Result<Vec<Uuid>, Fault> {
        let mut login = self.connector.login().await?;
        let transaction = login.transaction().await?;
        let teams = teams_named(&transaction, name).await?;
        transaction.rollback().await?;
        Ok(teams)
    }

    /// Stores an invitation by the operator: for a team whose owners lost their access.
    pub async fn add_owner_invite(&self, team: Uuid, invite: &StoredInvite, now: UtcMillis) -> StoreResult<()> {
        retry(|| self.try_add_owner_invite(team, invite, now)).await
    }

    async fn try_add_owner_invite(&self, team: Uuid, invite: &StoredInvite, now: UtcMillis) -> Result<(), Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin(&mut client, team).await?;
        transaction.query(LOCK_TEAM, &[&team]).await?;
        add_invite(&transaction, team, invite, invite.role, None).await?;
        let subject = rules::invite_subject(invite.email.as_deref(), invite.role);
        note(&transaction, team, now, None, action::INVITE, &subject).await?;
        Ok(transaction.commit().await?)
    }

    /// Gives every team a new epoch, so that members pull everything again: the operator does that after restoring a backup.
    /// Returns the number of teams. The login must own the tables; other transactions wait meanwhile.
    pub async fn new_epoch(&self) -> StoreResult<u64> {
        self.try_new_epoch().await.map_err(StoreError::from)
    }

    async fn try_new_epoch(&self) -> Result<u64, Fault> {
        let mut login = self.connector.login().await?;
        let transaction = login.transaction().await?;
        transaction.batch_execute(LIFT_TEAM).await?;
        let teams = transaction.execute(NEW_EPOCH, &[]).await?;
        transaction.batch_execute(BIND_TEAM).await?;
        transaction.commit().await?;
        Ok(teams)
    }

    /// Checks that row-level security keeps teams apart, that the role which serves has no more rights than it needs, and that
    /// counts agree with what they count. Returns the faults. Other transactions wait meanwhile; the login must own the tables.
    pub async fn problems(&self) -> StoreResult<Vec<String>> {
        self.try_problems().await.map_err(StoreError::from)
    }

    async fn try_problems(&self) -> Result<Vec<String>, Fault> {
        let mut login = self.connector.login().await?;
        let mut problems = lines(&login, &FAULTS_OF_SCHEMA).await?;
        let serving = self.pool.get().await?;
        problems.extend(lines(&serving, &FAULTS_OF_ROLE).await?);
        drop(serving);
        let transaction = login.transaction().await?;
        transaction.batch_execute(LIFT_COUNTED).await?;
        problems.extend(lines(transaction.client(), &FAULTS_OF_COUNTS).await?);
        transaction.rollback().await?;
        Ok(problems)
    }
}

/// Prepares a transaction of the login, and returns the ids of the teams with a name, by id.
async fn teams_named(transaction: &Transaction<'_>, name: &str) -> Result<Vec<Uuid>, Fault> {
    transaction.batch_execute(LOGIN_SETTINGS).await?;
    transaction.batch_execute(LIFT_TEAM).await?;
    let teams = transaction.query(TEAMS_NAMED, &[&name]).await?.iter().map(|row| row.get(0)).collect();
    transaction.batch_execute(BIND_TEAM).await?;
    Ok(teams)
}

async fn lines(client: &Client, statements: &[&str]) -> Result<Vec<String>, Fault> {
    let mut lines = Vec::new();
    for statement in statements {
        lines.extend(client.query(*statement, &[]).await?.iter().map(|row| row.get::<_, String>(0)));
    }
    Ok(lines)
}
