//! Rules and words that every store shares: roles, refusals, ids of new members, and lines of the audit.

use uuid::Uuid;

use crate::store::{Caller, StoreError, StoreResult, StoredInvite};
use crate::wire::{Change, MOST_TEXT, Operation, Outcome, Role, is_name, name_of};

/// Reason of a refusal: the text was forgotten.
pub(crate) const FORGOTTEN: &str = "this text was forgotten: nobody can share it again";
/// Reason of a refusal: a member who is no owner asks to forget a text that others share.
pub(crate) const SHARED_BY_OTHERS: &str = "others share this text too: only an owner can have it forgotten";

/// Reason of a refusal: a reader asks to forget a text that they never shared.
pub(crate) const NEVER_SHARED: &str = "only who shared it, or an owner, can have it forgotten";

/// State of a record that a change gives it.
#[derive(Clone, Copy)]
pub(crate) enum State<'a> {
    /// The member shares the text.
    Shared(&'a str),
    /// The member took it back.
    TakenBack {
        /// As in [`Change::TakeBack`].
        is_withheld: bool,
    },
    /// It is forgotten.
    Forgotten,
}

impl<'a> State<'a> {
    /// Returns the text that is stored.
    pub(crate) fn text(self) -> Option<&'a str> {
        if let Self::Shared(text) = self { Some(text) } else { None }
    }

    /// Returns whether it is forgotten.
    pub(crate) fn is_forgotten(self) -> bool {
        matches!(self, Self::Forgotten)
    }

    /// Returns whether the member withholds it.
    pub(crate) fn is_withheld(self) -> bool {
        matches!(self, Self::TakenBack { is_withheld: true })
    }
}

/// Fails if the caller's role is lower than the needed one.
pub(crate) fn require(caller: &Caller, needs: Role) -> StoreResult<()> {
    let has = caller.me.role;
    if has < needs { Err(StoreError::Role { has, needs }) } else { Ok(()) }
}

/// Fails if the caller's role does not allow one of the operations.
pub(crate) fn require_push(caller: &Caller, operations: &[Operation]) -> StoreResult<()> {
    let adds = |operation: &Operation| matches!(operation.change, Change::Add { .. });
    require(caller, if operations.iter().any(adds) { Role::Member } else { Role::Reader })
}

/// Returns the role that an invitation of the caller gives, or fails if the caller may not make it.
pub(crate) fn invited_role(caller: &Caller, invite: &StoredInvite) -> StoreResult<Role> {
    let has = caller.me.role;
    if has == Role::Owner {
        Ok(invite.role)
    } else if invite.email.as_ref() == Some(&caller.me.email) {
        Ok(has)
    } else {
        Err(StoreError::Role { has, needs: Role::Owner })
    }
}

/// Returns the id of the member who joins with a token. It comes from the token, which is random, so that the same call gives the
/// same id in every store.
pub(crate) fn member_id(token: &[u8; 32]) -> Uuid {
    let hash = blake3::derive_key("yore team 2026 id of a member", token);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// Returns why a change is refused in every project, if it is.
pub(crate) fn refusal(change: &Change) -> Option<String> {
    match change {
        Change::Add { text, .. } if text.len() > MOST_TEXT => Some(format!("the text is longer than {MOST_TEXT} bytes")),
        Change::Add { text, .. } if text.contains('\0') => Some("the text contains a NUL character".to_owned()),
        Change::Add { name, text } if *name != name_of(text) => Some("the name is not the name of the text".to_owned()),
        Change::Forget { name } if !is_name(name) => Some("this is not the name of a text".to_owned()),
        Change::Add { .. } | Change::TakeBack { .. } | Change::Forget { .. } => None,
    }
}

/// Counts of a push, for the audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    added: usize,
    taken_back: usize,
    forgotten: usize,
    refused: usize,
}

impl Counts {
    /// Counts a change that was not seen before.
    pub(crate) fn count(&mut self, change: &Change, outcome: &Outcome) {
        match (outcome, change) {
            (Outcome::Refused { .. }, _) => self.refused += 1,
            (Outcome::Done, Change::Add { .. }) => self.added += 1,
            (Outcome::Done, Change::TakeBack { .. }) => self.taken_back += 1,
            (Outcome::Done, Change::Forget { .. }) => self.forgotten += 1,
        }
    }

    /// Returns the subject of the audit's entry.
    pub(crate) fn subject(&self, project: &str) -> String {
        let Self { added, taken_back, forgotten, refused } = self;
        format!("{project}: {added} added, {taken_back} taken back, {forgotten} forgotten, {refused} refused")
    }
}

/// Returns the subject of the audit's entry for sessions that somebody shares.
pub(crate) fn sessions_subject(project: &str, sessions: usize, turns: usize) -> String {
    format!("{project}: {turns} turns of {sessions} sessions")
}

/// Returns the subject of the audit's entry for an invitation.
pub(crate) fn invite_subject(email: Option<&str>, role: Role) -> String {
    format!("{} as {}", email.unwrap_or("anybody"), role.as_str())
}

/// Returns the subject of the audit's entry for somebody who joins.
pub(crate) fn join_subject(email: &str, computer: &str) -> String {
    format!("{email} on {computer}")
}

/// Names of the audit's actions.
pub(crate) mod action {
    pub(crate) const CREATE: &str = "create";
    pub(crate) const INVITE: &str = "invite";
    pub(crate) const JOIN: &str = "join";
    pub(crate) const REMOVE: &str = "remove";
    pub(crate) const WITHDRAW: &str = "withdraw";
    pub(crate) const RESTORE: &str = "restore";
    pub(crate) const LEAVE: &str = "leave";
    pub(crate) const PUSH: &str = "push";
    pub(crate) const SHARE: &str = "share-sessions";
    pub(crate) const UNSHARE: &str = "remove-sessions";
    pub(crate) const READ: &str = "read-session";
    pub(crate) const SEARCH: &str = "search";
}
