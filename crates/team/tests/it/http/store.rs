//! A store in memory that fails or waits if a test says so.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use uuid::Uuid;
use yore_core::time::UtcMillis;
use yore_team::model::Model;
use yore_team::store::{Caller, Newcomer, Store, StoreError, StoreResult, StoredInvite};
use yore_team::wire::{
    Audited, FoundTurns, Me, Member, Operation, Outcome, OwnSessions, Project, Pulled, ReadSession, RequestOrder, Search,
    SessionPart, SharedSession,
};

/// What happens to every call.
#[derive(Clone, Copy)]
pub enum Fault {
    Unavailable,
    Failed,
    Waits(Duration),
}

/// Detail of a failure, which only the operator may see.
pub const DETAIL: &str = "connection to db.internal\nrefused";

/// The store; clones share everything.
#[derive(Clone, Default)]
pub struct Faulty {
    model: Model,
    fault: Arc<Mutex<Option<Fault>>>,
    calls: Arc<Mutex<usize>>,
}

impl Faulty {
    pub fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    /// Returns how many calls there were.
    pub fn calls(&self) -> usize {
        *self.calls.lock().unwrap()
    }

    async fn model(&self) -> StoreResult<&Model> {
        *self.calls.lock().unwrap() += 1;
        let fault = *self.fault.lock().unwrap();
        match fault {
            Some(Fault::Unavailable) => return Err(StoreError::Unavailable(DETAIL.to_owned())),
            Some(Fault::Failed) => return Err(StoreError::Failed(DETAIL.to_owned())),
            Some(Fault::Waits(time)) => tokio::time::sleep(time).await,
            None => {}
        }
        Ok(&self.model)
    }
}

impl Store for Faulty {
    async fn create_team(&self, id: Uuid, name: &str, owner: &StoredInvite, now: UtcMillis) -> StoreResult<()> {
        self.model().await?.create_team(id, name, owner, now).await
    }

    async fn authenticate(&self, team: Uuid, token: [u8; 32]) -> StoreResult<Option<Caller>> {
        self.model().await?.authenticate(team, token).await
    }

    async fn join(&self, team: Uuid, who: &Newcomer, now: UtcMillis) -> StoreResult<Option<Me>> {
        self.model().await?.join(team, who, now).await
    }

    async fn invite(&self, caller: &Caller, invite: &StoredInvite, now: UtcMillis) -> StoreResult<()> {
        self.model().await?.invite(caller, invite, now).await
    }

    async fn members(&self, caller: &Caller) -> StoreResult<Vec<Member>> {
        self.model().await?.members(caller).await
    }

    async fn remove(&self, caller: &Caller, member: Uuid, now: UtcMillis) -> StoreResult<Member> {
        self.model().await?.remove(caller, member, now).await
    }

    async fn withdraw(&self, caller: &Caller, member: Uuid, is_withdrawn: bool, now: UtcMillis) -> StoreResult<Member> {
        self.model().await?.withdraw(caller, member, is_withdrawn, now).await
    }

    async fn leave(&self, caller: &Caller, now: UtcMillis) -> StoreResult<()> {
        self.model().await?.leave(caller, now).await
    }

    async fn projects(&self, caller: &Caller) -> StoreResult<Vec<Project>> {
        self.model().await?.projects(caller).await
    }

    async fn push(&self, caller: &Caller, project: &str, operations: &[Operation], now: UtcMillis) -> StoreResult<Vec<Outcome>> {
        self.model().await?.push(caller, project, operations, now).await
    }

    async fn pull(&self, caller: &Caller, project: &str, after: u64, limit: usize) -> StoreResult<Pulled> {
        self.model().await?.pull(caller, project, after, limit).await
    }

    async fn share_sessions(
        &self,
        caller: &Caller,
        project: &str,
        order: RequestOrder,
        sessions: &[SharedSession],
        now: UtcMillis,
    ) -> StoreResult<()> {
        self.model().await?.share_sessions(caller, project, order, sessions, now).await
    }

    async fn remove_sessions(
        &self,
        caller: &Caller,
        project: &str,
        order: RequestOrder,
        ids: Option<&[String]>,
        now: UtcMillis,
    ) -> StoreResult<()> {
        self.model().await?.remove_sessions(caller, project, order, ids, now).await
    }

    async fn own_sessions(&self, caller: &Caller, project: &str) -> StoreResult<OwnSessions> {
        self.model().await?.own_sessions(caller, project).await
    }

    async fn read_session(
        &self,
        caller: &Caller,
        project: &str,
        which: &ReadSession,
        now: UtcMillis,
    ) -> StoreResult<SessionPart> {
        self.model().await?.read_session(caller, project, which, now).await
    }

    async fn search(&self, caller: &Caller, project: &str, search: &Search, now: UtcMillis) -> StoreResult<FoundTurns> {
        self.model().await?.search(caller, project, search, now).await
    }

    async fn audit(&self, caller: &Caller, before: Option<u64>, limit: usize) -> StoreResult<Vec<Audited>> {
        self.model().await?.audit(caller, before, limit).await
    }

    async fn ping(&self) -> StoreResult<()> {
        self.model().await?.ping().await
    }
}
