//! The store in PostgreSQL, which any number of nodes share.
//!
//! - `pool`: connections, TLS, and the role; `migrate`: the schema; `fault`: failures
//! - `members`: teams, invitations, tokens and members
//! - `push`: changes of texts, which `plan` decides; `pull`: all that is read
//! - `sessions`: stores and reads sessions; `search`: finds turns of them
//! - `operator`: new teams, owners' invitations, a new epoch after a restored backup, and checks
//! - `purge`: removes the bytes of forgotten texts
//!
//! Teams are kept apart twice: every statement names the team, and row-level security hides the rows of all others. Each
//! transaction sets the team that the security compares with, for itself alone. Connections serve as a role that security binds
//! and that can neither change the schema nor the audit.
//!
//! Pushes to a project wait for each other at the project's row, whose `last` numbers their changes. All else about a team that
//! must not happen twice at once waits at the team's row.

mod fault;
mod members;
mod migrate;
mod operator;
mod plan;
mod pool;
mod pull;
mod purge;
mod push;
mod search;
mod sessions;

use deadpool_postgres::{ClientWrapper, Pool, Transaction};
use tokio_postgres::IsolationLevel;
use uuid::Uuid;
use yore_core::time::UtcMillis;

use crate::rules;
use crate::store::{Caller, Newcomer, Quota, Store, StoreError, StoreResult, StoredInvite};
use crate::wire::{
    Audited, FoundTurns, Me, Member, Operation, Outcome, OwnSessions, Project, Pulled, ReadSession, RequestOrder, Role, Search,
    SessionPart, SharedSession,
};
use fault::{Fault, retry};
use pool::Connector;
pub use purge::Purged;

/// The store in PostgreSQL.
pub struct Postgres {
    connector: Connector,
    pool: Pool,
    quota: Quota,
    /// Search path with the types of vectors; `None`: the database cannot compare them.
    vectors: Option<String>,
}

impl Postgres {
    /// Connects to a database, and brings its schema up to this program. Must run in a tokio runtime.
    pub async fn connect(url: &str, quota: Quota) -> StoreResult<Self> {
        let connector = Connector::parse(url)?;
        let mut login = connector.login().await.map_err(StoreError::from)?;
        let has_role = pool::prepare_role(&login).await;
        migrate::migrate(&mut login, has_role).await.map_err(StoreError::from)?;
        let vectors = migrate::vectors_path(&login).await.map_err(StoreError::from)?;
        let mut store = Self { pool: connector.pool(has_role)?, connector, quota, vectors };
        store.ping().await?;
        store.vectors = store.usable_vectors().await;
        Ok(store)
    }
}

impl Postgres {
    /// Returns whether sessions are found by meaning too: the database has the extension for it, and the role that serves may use it.
    pub fn compares_vectors(&self) -> bool {
        self.vectors.is_some()
    }

    /// Returns the search path of vectors, if the role that serves can compare them.
    async fn usable_vectors(&self) -> Option<String> {
        let path = self.vectors.clone()?;
        let mut client = self.pool.get().await.ok()?;
        let transaction = client.transaction().await.ok()?;
        sessions::set_path(&transaction, &path).await.ok()?;
        transaction.batch_execute("select vector <=> vector from turn_vector limit 0; select null::halfvec").await.ok()?;
        Some(path)
    }
}

const SET_TENANT: &str = "select set_config('yore.tenant', $1::uuid::text, true)";
const HAS_TOKEN: &str = "select 1 from token where tenant = $1 and hash = $2";

/// Begins a transaction that writes.
async fn begin(client: &mut ClientWrapper, team: Uuid) -> Result<Transaction<'_>, Fault> {
    let transaction = client.transaction().await?;
    set_tenant(&transaction, team).await?;
    Ok(transaction)
}

/// Begins a transaction that reads: all its statements see the same state.
async fn begin_read(client: &mut ClientWrapper, team: Uuid) -> Result<Transaction<'_>, Fault> {
    let transaction = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true).start().await?;
    set_tenant(&transaction, team).await?;
    Ok(transaction)
}

async fn set_tenant(transaction: &Transaction<'_>, team: Uuid) -> Result<(), Fault> {
    let statement = transaction.prepare_cached(SET_TENANT).await?;
    transaction.execute(&statement, &[&team]).await?;
    Ok(())
}

/// Fails if the caller's token was revoked after it was checked.
async fn require_token(transaction: &Transaction<'_>, caller: &Caller) -> Result<(), Fault> {
    let statement = transaction.prepare_cached(HAS_TOKEN).await?;
    let row = transaction.query_opt(&statement, &[&caller.me.team, &&caller.token[..]]).await?;
    row.map(|_| ()).ok_or(Fault::Store(StoreError::Revoked))
}

/// Returns the outcome that a stored reason means.
fn outcome_of(why: Option<String>) -> Outcome {
    why.map_or(Outcome::Done, |why| Outcome::Refused { why })
}

/// Returns the role with a stored name.
fn role_of(name: &str) -> Result<Role, Fault> {
    Role::parse(name).ok_or_else(|| Fault::Store(StoreError::Failed(format!("the database has an unknown role: {name}"))))
}

/// Fails if a total that grew is beyond its quota.
fn grown(what: &'static str, by: i64, total: i64, most: u64) -> StoreResult<()> {
    let is_over = by > 0 && u64::try_from(total).is_ok_and(|total| total > most);
    if is_over { Err(StoreError::Quota(what)) } else { Ok(()) }
}

/// Returns a stored number, none of which is negative.
fn number(stored: i64) -> u64 {
    stored.unsigned_abs()
}

/// Returns a number as it is compared with stored ones.
fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Store for Postgres {
    async fn create_team(&self, id: Uuid, name: &str, owner: &StoredInvite, now: UtcMillis) -> StoreResult<()> {
        retry(|| self.try_create_team(id, name, owner, now)).await
    }

    async fn authenticate(&self, team: Uuid, token: [u8; 32]) -> StoreResult<Option<Caller>> {
        retry(|| self.try_authenticate(team, token)).await
    }

    async fn join(&self, team: Uuid, who: &Newcomer, now: UtcMillis) -> StoreResult<Option<Me>> {
        retry(|| self.try_join(team, who, now)).await
    }

    async fn invite(&self, caller: &Caller, invite: &StoredInvite, now: UtcMillis) -> StoreResult<()> {
        let role = rules::invited_role(caller, invite)?;
        retry(|| self.try_invite(caller, invite, role, now)).await
    }

    async fn members(&self, caller: &Caller) -> StoreResult<Vec<Member>> {
        retry(|| self.try_members(caller)).await
    }

    async fn remove(&self, caller: &Caller, member: Uuid, now: UtcMillis) -> StoreResult<Member> {
        if member != caller.me.member {
            rules::require(caller, Role::Owner)?;
        }
        retry(|| self.try_remove(caller, member, now)).await
    }

    async fn withdraw(&self, caller: &Caller, member: Uuid, is_withdrawn: bool, now: UtcMillis) -> StoreResult<Member> {
        rules::require(caller, Role::Owner)?;
        retry(|| self.try_withdraw(caller, member, is_withdrawn, now)).await
    }

    async fn leave(&self, caller: &Caller, now: UtcMillis) -> StoreResult<()> {
        retry(|| self.try_leave(caller, now)).await
    }

    async fn projects(&self, caller: &Caller) -> StoreResult<Vec<Project>> {
        retry(|| self.try_projects(caller)).await
    }

    async fn push(&self, caller: &Caller, project: &str, operations: &[Operation], now: UtcMillis) -> StoreResult<Vec<Outcome>> {
        rules::require_push(caller, operations)?;
        retry(|| self.try_push(caller, project, operations, now)).await
    }

    async fn pull(&self, caller: &Caller, project: &str, after: u64, limit: usize) -> StoreResult<Pulled> {
        retry(|| self.try_pull(caller, project, after, limit)).await
    }

    async fn share_sessions(
        &self,
        caller: &Caller,
        project: &str,
        order: RequestOrder,
        sessions: &[SharedSession],
        now: UtcMillis,
    ) -> StoreResult<()> {
        rules::require(caller, Role::Member)?;
        retry(|| self.try_share_sessions(caller, project, order, sessions, now)).await
    }

    async fn remove_sessions(
        &self,
        caller: &Caller,
        project: &str,
        order: RequestOrder,
        ids: Option<&[String]>,
        now: UtcMillis,
    ) -> StoreResult<()> {
        retry(|| self.try_remove_sessions(caller, project, order, ids, now)).await
    }

    async fn own_sessions(&self, caller: &Caller, project: &str) -> StoreResult<OwnSessions> {
        retry(|| self.try_own_sessions(caller, project)).await
    }

    async fn read_session(
        &self,
        caller: &Caller,
        project: &str,
        which: &ReadSession,
        now: UtcMillis,
    ) -> StoreResult<SessionPart> {
        retry(|| self.try_read_session(caller, project, which, now)).await
    }

    async fn search(&self, caller: &Caller, project: &str, search: &Search, now: UtcMillis) -> StoreResult<FoundTurns> {
        retry(|| self.try_search(caller, project, search, now)).await
    }

    async fn audit(&self, caller: &Caller, before: Option<u64>, limit: usize) -> StoreResult<Vec<Audited>> {
        rules::require(caller, Role::Owner)?;
        retry(|| self.try_audit(caller, before, limit)).await
    }

    async fn ping(&self) -> StoreResult<()> {
        retry(|| self.try_ping()).await
    }
}
