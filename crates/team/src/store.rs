//! The trait of what a server stores: teams, members, secrets, and the texts that members share.
//!
//! Each call is one transaction: a node that dies leaves all of it or nothing. Any number of nodes use one database.

use std::future::Future;

use uuid::Uuid;
use yore_core::time::UtcMillis;

use crate::wire::{
    Audited, FoundTurns, Me, Member, Operation, Outcome, OwnSessions, Project, Pulled, ReadSession, RequestOrder, Role, Search,
    SessionPart, SharedSession,
};

/// Bounds of a team.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Most texts that are shared at once.
    pub texts: u64,
    /// Most bytes of these.
    pub bytes: u64,
    /// Most projects.
    pub projects: u64,
    /// Most members that are not removed.
    pub members: u64,
    /// Most turns of sessions.
    pub turns: u64,
    /// Most bytes of these.
    pub turn_bytes: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self { texts: 2_000_000, bytes: 4 << 30, projects: 5_000, members: 2_000, turns: 10_000_000, turn_bytes: 64 << 30 }
    }
}

/// Who asks, as their token tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    /// Identity and role.
    pub me: Me,
    /// Hash of the token.
    pub token: [u8; 32],
}

/// An invitation to be stored.
#[derive(Clone, Debug)]
pub struct StoredInvite {
    /// Hash of its secret.
    pub hash: [u8; 32],
    /// Role of who joins.
    pub role: Role,
    /// Only somebody with this address.
    pub email: Option<String>,
    /// When it ends.
    pub expires: UtcMillis,
}

/// Somebody who joins, with the hash of the token that they get.
#[derive(Clone, Debug)]
pub struct Newcomer {
    /// Hash of the invitation's secret.
    pub invite: [u8; 32],
    /// Hash of the new token.
    pub token: [u8; 32],
    /// Name of the person.
    pub name: String,
    /// Address, in lower case.
    pub email: String,
    /// Name of the computer.
    pub computer: String,
}

/// A failure of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The caller's role does not allow it.
    #[error("your role is {}: this needs {}", .has.as_str(), .needs.as_str())]
    Role {
        /// The caller's.
        has: Role,
        /// Lowest that may.
        needs: Role,
    },
    /// There is no such member.
    #[error("no member has this id")]
    UnknownMember,
    /// The member shares no such session.
    #[error("no such session is shared")]
    UnknownSession,
    /// Turns before those that were sent are not there: all of the session is to be sent.
    #[error("the turns before these are not there: send the session from its first turn on")]
    Gap,
    /// The caller's token was revoked since it was checked.
    #[error("a valid token of a team is required")]
    Revoked,
    /// A team with this name exists.
    #[error("a team with this name exists: choose another one")]
    TeamExists,
    /// The last owner must stay.
    #[error("a team needs an owner: name another one first")]
    LastOwner,
    /// A quota is used up.
    #[error("the team has used up its quota of {0}")]
    Quota(&'static str),
    /// The database cannot be reached, or broke off: the same may be asked again.
    #[error("the database does not answer: {0}")]
    Unavailable(String),
    /// The database refused something that should have been right.
    #[error("the database failed: {0}")]
    Failed(String),
}

/// Result of a store.
pub type StoreResult<T> = Result<T, StoreError>;

/// The store of a server. All times are given by the server's clock; all secrets are hashed by the caller of this trait.
pub trait Store: Send + Sync + 'static {
    /// Creates a team and an invitation for its first owner. Needs no member: only the server's operator can. The name must be
    /// one that no team has ([`StoreError::TeamExists`]).
    fn create_team(
        &self,
        id: Uuid,
        name: &str,
        owner: &StoredInvite,
        now: UtcMillis,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Returns who has a token; `None`: nobody, or nobody any more.
    fn authenticate(&self, team: Uuid, token: [u8; 32]) -> impl Future<Output = StoreResult<Option<Caller>>> + Send;

    /// Uses an invitation up: makes a new member of it, or gives a known one (by address, not removed) a further computer, with the
    /// known role. `None`: it is unknown, used up, ended (`now`), or for another address; one that names no address makes new members only,
    /// because with it anybody could become anybody. A removed member who is invited again by address is a member again, under the same
    /// id, with the invitation's role.
    fn join(&self, team: Uuid, who: &Newcomer, now: UtcMillis) -> impl Future<Output = StoreResult<Option<Me>>> + Send;

    /// Stores an invitation. Owners may invite anybody; others only their own address, which gives the role that they have.
    fn invite(&self, caller: &Caller, invite: &StoredInvite, now: UtcMillis) -> impl Future<Output = StoreResult<()>> + Send;

    /// Returns all members who are or were, by name, then by id.
    fn members(&self, caller: &Caller) -> impl Future<Output = StoreResult<Vec<Member>>> + Send;

    /// Takes a member's access: all their tokens, and the invitations that they made. An owner may remove anybody, others themselves.
    fn remove(&self, caller: &Caller, member: Uuid, now: UtcMillis) -> impl Future<Output = StoreResult<Member>> + Send;

    /// Has what a member shares count for nobody, or count again; only an owner may. It is one operation, and deletes nothing.
    fn withdraw(
        &self,
        caller: &Caller,
        member: Uuid,
        is_withdrawn: bool,
        now: UtcMillis,
    ) -> impl Future<Output = StoreResult<Member>> + Send;

    /// Revokes the caller's token, unless no owner would have one then ([`StoreError::LastOwner`]).
    fn leave(&self, caller: &Caller, now: UtcMillis) -> impl Future<Output = StoreResult<()>> + Send;

    /// Returns all projects, by name.
    fn projects(&self, caller: &Caller) -> impl Future<Output = StoreResult<Vec<Project>>> + Send;

    /// Makes changes in a project, in their order, and returns what became of each. An operation whose id was seen in this team is not
    /// made again and has its earlier outcome. Readers may not add: their push is refused as a whole then ([`StoreError::Role`]).
    ///
    /// - `Add`: refused if the name is not the text's, the text is too long or has a NUL, or it was forgotten in this project. Of a text
    ///   that the member shares already, nothing changes. It clears `is_withheld`. A project that is new is created.
    /// - `TakeBack`: the record keeps `is_withheld`. Of a text that the member took back before, it sets the mark and never
    ///   clears it; of one that the member never shared, or that is forgotten, there is nothing to do.
    /// - `Forget`: deletes the text of every member who shares it, and remembers the name even if nobody shares it. A name that nobody is
    ///   known to have shared is recorded as the caller's, so that every copy learns of it: a restored backup may lack its texts. If the
    ///   caller is no owner, it is refused if somebody else shares it; if a reader, also if they never shared it.
    ///
    /// Changes of one project are made one after the other, so that whoever pulled up to a number misses none before it.
    fn push(
        &self,
        caller: &Caller,
        project: &str,
        operations: &[Operation],
        now: UtcMillis,
    ) -> impl Future<Output = StoreResult<Vec<Outcome>>> + Send;

    /// Returns what changed in a project after a number: at most `limit` records and about [`crate::wire::MOST_PAGE`] bytes, at least one
    /// record if there is any. A project that is not there has no changes.
    fn pull(&self, caller: &Caller, project: &str, after: u64, limit: usize) -> impl Future<Output = StoreResult<Pulled>> + Send;

    /// Stores sessions of the caller, or the parts that are given: turns from `from` on are replaced. Refused as a whole
    /// for readers ([`StoreError::Role`]), and if a part begins beyond the stored turns ([`StoreError::Gap`]). Requests that change a project
    /// are made one after the other; one that comes after a later one of its sender ([`RequestOrder`]) changes nothing.
    fn share_sessions(
        &self,
        caller: &Caller,
        project: &str,
        order: RequestOrder,
        sessions: &[SharedSession],
        now: UtcMillis,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Deletes sessions of the caller; `None`: all of the project. A request that comes late changes nothing, as in [`Self::share_sessions`].
    fn remove_sessions(
        &self,
        caller: &Caller,
        project: &str,
        order: RequestOrder,
        ids: Option<&[String]>,
        now: UtcMillis,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Returns the sessions that the caller shares in a project.
    fn own_sessions(&self, caller: &Caller, project: &str) -> impl Future<Output = StoreResult<OwnSessions>> + Send;

    /// Returns a part of somebody's session: turns of about [`crate::wire::MOST_PAGE`] bytes, at least one if there is any. Sessions of
    /// withdrawn members are not there ([`StoreError::UnknownSession`]). The audit tells who read it.
    fn read_session(
        &self,
        caller: &Caller,
        project: &str,
        which: &ReadSession,
        now: UtcMillis,
    ) -> impl Future<Output = StoreResult<SessionPart>> + Send;

    /// Searches the sessions of a project. By words it finds the best turns by BM25, of those that have one of the rarest words; by meaning
    /// the nearest, if the store compares vectors. Members who are withdrawn are left out, and count in the numbers. The audit tells who
    /// searched, and not for what.
    fn search(
        &self,
        caller: &Caller,
        project: &str,
        search: &Search,
        now: UtcMillis,
    ) -> impl Future<Output = StoreResult<FoundTurns>> + Send;

    /// Returns entries of the audit before a number, the newest first; only an owner may.
    fn audit(&self, caller: &Caller, before: Option<u64>, limit: usize)
    -> impl Future<Output = StoreResult<Vec<Audited>>> + Send;

    /// Answers if the database does.
    fn ping(&self) -> impl Future<Output = StoreResult<()>> + Send;
}
