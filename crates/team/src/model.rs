//! A store in memory: plain maps behind a lock. It is the reference that other stores are compared with, and serves tests.

mod sessions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;
use yore_core::time::UtcMillis;

use crate::rules::{self, Counts, State, action};
use crate::store::{Caller, Newcomer, Quota, Store, StoreError, StoreResult, StoredInvite};
use crate::wire::{
    Audited, Change, FoundTurns, MOST_PAGE, Me, Member, Operation, Outcome, OwnSessions, Project, Pulled, ReadSession, Record,
    RequestOrder, Role, Search, SessionPart, SharedSession,
};

/// A store in memory. Clones share their content.
#[derive(Clone, Default)]
pub struct Model {
    teams: Arc<Mutex<BTreeMap<Uuid, Team>>>,
    quota: Quota,
}

#[derive(Clone)]
struct Team {
    id: Uuid,
    name: String,
    epoch: Uuid,
    /// Members; their computers are in the tokens.
    members: BTreeMap<Uuid, Member>,
    tokens: BTreeMap<[u8; 32], Token>,
    invites: BTreeMap<[u8; 32], Invite>,
    projects: BTreeMap<String, Shared>,
    sessions: sessions::Sessions,
    /// Numbers of the last requests about sessions, by project, member and sender.
    last_orders: BTreeMap<(String, Uuid, Uuid), u64>,
    done: BTreeMap<Uuid, Outcome>,
    audit: Vec<Audited>,
}

#[derive(Clone)]
struct Token {
    member: Uuid,
    computer: String,
}

#[derive(Clone)]
struct Invite {
    stored: StoredInvite,
    made_by: Option<Uuid>,
}

/// The texts of a project.
#[derive(Clone, Default)]
struct Shared {
    last: u64,
    /// Records by name and member.
    records: BTreeMap<(String, Uuid), Record>,
    forgotten: BTreeSet<String>,
}

impl Model {
    /// Creates an empty store with a quota for each team.
    pub fn new(quota: Quota) -> Self {
        Self { quota, ..Self::default() }
    }

    /// Returns a copy that shares nothing with this store.
    pub fn backup(&self) -> Self {
        let teams = self.teams().clone();
        Self { teams: Arc::new(Mutex::new(teams)), quota: self.quota }
    }

    /// Puts a backup in the place of the content, with another epoch for every team.
    pub fn restore(&self, backup: &Self, epoch: Uuid) {
        let mut teams = backup.teams().clone();
        teams.values_mut().for_each(|team| team.epoch = epoch);
        *self.teams() = teams;
    }

    fn teams(&self) -> MutexGuard<'_, BTreeMap<Uuid, Team>> {
        self.teams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the caller's team. Fails if the token was revoked after it was checked.
    fn read<T>(&self, caller: &Caller, work: impl FnOnce(&Team) -> StoreResult<T>) -> StoreResult<T> {
        work(Self::team(&self.teams(), caller)?)
    }

    /// Changes the caller's team, or leaves it as it was if that fails.
    fn write<T>(&self, caller: &Caller, work: impl FnOnce(&mut Team) -> StoreResult<T>) -> StoreResult<T> {
        let mut teams = self.teams();
        let mut changed = Self::team(&teams, caller)?.clone();
        let result = work(&mut changed)?;
        teams.insert(caller.me.team, changed);
        Ok(result)
    }

    fn team<'a>(teams: &'a BTreeMap<Uuid, Team>, caller: &Caller) -> StoreResult<&'a Team> {
        teams.get(&caller.me.team).filter(|team| team.tokens.contains_key(&caller.token)).ok_or(StoreError::Revoked)
    }
}

impl Team {
    fn note(&mut self, at: UtcMillis, member: Option<Uuid>, action: &str, subject: String) {
        let seq = self.audit.len() as u64 + 1;
        self.audit.push(Audited { seq, at, member, action: action.to_owned(), subject });
    }

    fn member(&self, id: Uuid) -> StoreResult<Member> {
        let mut member = self.members.get(&id).ok_or(StoreError::UnknownMember)?.clone();
        member.computers = self.tokens.values().filter(|token| token.member == id).map(|token| token.computer.clone()).collect();
        member.computers.sort();
        Ok(member)
    }

    fn all_members(&self) -> StoreResult<Vec<Member>> {
        let mut members = self.members.keys().map(|id| self.member(*id)).collect::<StoreResult<Vec<_>>>()?;
        members.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
        Ok(members)
    }

    fn me(&self, token: &Token) -> Option<Me> {
        let member = self.members.get(&token.member).filter(|member| !member.is_removed)?;
        Some(Me {
            team: self.id,
            team_name: self.name.clone(),
            epoch: self.epoch,
            member: member.id,
            email: member.email.clone(),
            role: member.role,
            computer: token.computer.clone(),
        })
    }

    fn join(&mut self, who: &Newcomer, now: UtcMillis, quota: &Quota) -> StoreResult<Option<Me>> {
        let known = self.members.values().find(|member| member.email == who.email).map(|member| (member.id, member.is_removed));
        let Some(invite) = self.invites.get(&who.invite).map(|invite| invite.stored.clone()) else { return Ok(None) };
        // An invitation that names no address makes new members only: with it, anybody could become anybody.
        let is_for_them = invite.email.as_ref().map_or(known.is_none(), |email| *email == who.email);
        if invite.expires <= now || !is_for_them {
            return Ok(None);
        }
        self.invites.remove(&who.invite);
        let active = self.members.values().filter(|member| !member.is_removed).count() as u64;
        if known.is_none_or(|(_, is_removed)| is_removed) && active >= quota.members {
            return Err(StoreError::Quota("members"));
        }
        let (id, is_removed) = known.unwrap_or_else(|| (rules::member_id(&who.token), true));
        let member = self.members.entry(id).or_insert_with(|| Member {
            id,
            name: who.name.clone(),
            email: who.email.clone(),
            role: invite.role,
            joined: now,
            is_removed: false,
            is_withdrawn: false,
            computers: Vec::new(),
        });
        if is_removed {
            member.is_removed = false;
            member.role = invite.role;
        }
        let token = Token { member: id, computer: who.computer.clone() };
        let me = self.me(&token);
        self.tokens.insert(who.token, token);
        self.note(now, Some(id), action::JOIN, rules::join_subject(&who.email, &who.computer));
        Ok(me)
    }

    fn remove(&mut self, caller: &Caller, id: Uuid, now: UtcMillis) -> StoreResult<Member> {
        let member = self.members.get(&id).ok_or(StoreError::UnknownMember)?.clone();
        let is_owner = |member: &&Member| member.role == Role::Owner && !member.is_removed;
        if is_owner(&&member) && self.members.values().filter(is_owner).count() == 1 {
            return Err(StoreError::LastOwner);
        }
        if !member.is_removed {
            self.members.entry(id).and_modify(|member| member.is_removed = true);
            self.tokens.retain(|_, token| token.member != id);
            // Nor may an invitation for their address let them in again.
            self.invites.retain(|_, invite| invite.made_by != Some(id) && invite.stored.email.as_ref() != Some(&member.email));
            self.note(now, Some(caller.me.member), action::REMOVE, member.email);
        }
        self.member(id)
    }

    fn withdraw(&mut self, caller: &Caller, id: Uuid, is_withdrawn: bool, now: UtcMillis) -> StoreResult<Member> {
        let member = self.members.get_mut(&id).ok_or(StoreError::UnknownMember)?;
        if member.is_withdrawn != is_withdrawn {
            member.is_withdrawn = is_withdrawn;
            let email = member.email.clone();
            let action = if is_withdrawn { action::WITHDRAW } else { action::RESTORE };
            self.note(now, Some(caller.me.member), action, email);
        }
        self.member(id)
    }

    /// Returns the number of texts that are shared, and of their bytes.
    fn used(&self) -> (u64, u64) {
        let texts = self.projects.values().flat_map(|project| project.records.values()).filter_map(|record| record.text.as_ref());
        texts.fold((0, 0), |(count, bytes), text| (count + 1, bytes + text.len() as u64))
    }

    fn push(&mut self, caller: &Caller, project: &str, operations: &[Operation], now: UtcMillis) -> Vec<Outcome> {
        let mut counts = Counts::default();
        let mut outcomes = Vec::new();
        for operation in operations {
            let outcome = self.done.get(&operation.id).cloned().unwrap_or_else(|| {
                let outcome = self.change(caller, project, &operation.change, now);
                counts.count(&operation.change, &outcome);
                self.done.insert(operation.id, outcome.clone());
                outcome
            });
            outcomes.push(outcome);
        }
        if counts != Counts::default() {
            self.note(now, Some(caller.me.member), action::PUSH, counts.subject(project));
        }
        outcomes
    }

    fn change(&mut self, caller: &Caller, project: &str, change: &Change, now: UtcMillis) -> Outcome {
        let refused = |why: &str| Outcome::Refused { why: why.to_owned() };
        if let Some(why) = rules::refusal(change) {
            return refused(&why);
        }
        let me = caller.me.member;
        let has_text = |record: &Record| record.text.is_some();
        match change {
            Change::Add { name, text } => {
                let shared = self.projects.entry(project.to_owned()).or_default();
                if shared.forgotten.contains(name) {
                    return refused(rules::FORGOTTEN);
                }
                if !shared.records.get(&(name.clone(), me)).is_some_and(has_text) {
                    shared.set(name, me, State::Shared(text), now);
                }
            }
            Change::TakeBack { name, is_withheld } => {
                let is_withheld = *is_withheld;
                let changes = |record: &Record| has_text(record) || is_withheld && !record.is_withheld && !record.is_forgotten;
                if let Some(shared) = self.projects.get_mut(project)
                    && shared.records.get(&(name.clone(), me)).is_some_and(changes)
                {
                    shared.set(name, me, State::TakenBack { is_withheld }, now);
                }
            }
            Change::Forget { name } if self.projects.get(project).is_some_and(|shared| shared.forgotten.contains(name)) => {}
            Change::Forget { name } => {
                let all = self.projects.get(project).map(|shared| shared.records_of(name)).unwrap_or_default();
                let role = caller.me.role;
                if role != Role::Owner {
                    if role == Role::Reader && !all.iter().any(|record| record.member == me) {
                        return refused(rules::NEVER_SHARED);
                    }
                    if all.iter().any(|record| record.member != me && has_text(record)) {
                        return refused(rules::SHARED_BY_OTHERS);
                    }
                }
                let shared = self.projects.entry(project.to_owned()).or_default();
                shared.forgotten.insert(name.clone());
                if all.is_empty() {
                    shared.set(name, me, State::Forgotten, now);
                }
                // Those who took it back count too: copies of their text may be left.
                for record in all.iter().filter(|record| !record.is_forgotten) {
                    shared.set(name, record.member, State::Forgotten, now);
                }
            }
        }
        Outcome::Done
    }
}

impl Shared {
    /// Returns the records of a text, by member.
    fn records_of(&self, name: &str) -> Vec<Record> {
        self.records.values().filter(|record| record.name == name).cloned().collect()
    }

    fn set(&mut self, name: &str, member: Uuid, state: State<'_>, now: UtcMillis) {
        self.last += 1;
        let key = (name.to_owned(), member);
        let at = self.records.get(&key).map_or(now, |record| record.at);
        let record = Record {
            seq: self.last,
            name: name.to_owned(),
            member,
            at,
            text: state.text().map(str::to_owned),
            is_forgotten: state.is_forgotten(),
            is_withheld: state.is_withheld(),
        };
        self.records.insert(key, record);
    }

    /// Returns a page of records after a number, by number, and whether it is the last page.
    fn page(&self, after: u64, limit: usize) -> (Vec<Record>, bool) {
        let mut all: Vec<&Record> = self.records.values().filter(|record| record.seq > after).collect();
        all.sort_by_key(|record| record.seq);
        let mut bytes = 0;
        // The first record always fits: the longest text is shorter than a page.
        let fits = |record: &&&Record| {
            bytes += record.text.as_ref().map_or(0, String::len);
            bytes <= MOST_PAGE
        };
        let page: Vec<Record> = all.iter().take(limit.max(1)).take_while(fits).copied().cloned().collect();
        let is_complete = page.len() == all.len();
        (page, is_complete)
    }
}

/// Fails if a number has grown beyond its quota.
fn grown(what: &'static str, old: u64, new: u64, most: u64) -> StoreResult<()> {
    if new > old && new > most { Err(StoreError::Quota(what)) } else { Ok(()) }
}

impl Store for Model {
    async fn create_team(&self, id: Uuid, name: &str, owner: &StoredInvite, now: UtcMillis) -> StoreResult<()> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|fault| StoreError::Failed(fault.to_string()))?;
        let mut teams = self.teams();
        if teams.contains_key(&id) {
            return Err(StoreError::Failed("a team with this id exists".to_owned()));
        }
        if teams.values().any(|team| team.name == name) {
            return Err(StoreError::TeamExists);
        }
        let mut team = Team {
            id,
            name: name.to_owned(),
            epoch: uuid::Builder::from_random_bytes(random).into_uuid(),
            members: BTreeMap::new(),
            tokens: BTreeMap::new(),
            invites: BTreeMap::from([(owner.hash, Invite { stored: owner.clone(), made_by: None })]),
            projects: BTreeMap::new(),
            sessions: BTreeMap::new(),
            last_orders: BTreeMap::new(),
            done: BTreeMap::new(),
            audit: Vec::new(),
        };
        team.note(now, None, action::CREATE, name.to_owned());
        teams.insert(id, team);
        Ok(())
    }

    async fn authenticate(&self, team: Uuid, token: [u8; 32]) -> StoreResult<Option<Caller>> {
        let teams = self.teams();
        let me = teams.get(&team).and_then(|team| team.me(team.tokens.get(&token)?));
        Ok(me.map(|me| Caller { me, token }))
    }

    async fn join(&self, team: Uuid, who: &Newcomer, now: UtcMillis) -> StoreResult<Option<Me>> {
        let mut teams = self.teams();
        let Some(mut changed) = teams.get(&team).cloned() else { return Ok(None) };
        let me = changed.join(who, now, &self.quota)?;
        teams.insert(team, changed);
        Ok(me)
    }

    async fn invite(&self, caller: &Caller, invite: &StoredInvite, now: UtcMillis) -> StoreResult<()> {
        let role = rules::invited_role(caller, invite)?;
        self.write(caller, |team| {
            let made_by = Some(caller.me.member);
            let subject = rules::invite_subject(invite.email.as_deref(), role);
            team.invites.insert(invite.hash, Invite { stored: StoredInvite { role, ..invite.clone() }, made_by });
            team.note(now, made_by, action::INVITE, subject);
            Ok(())
        })
    }

    async fn members(&self, caller: &Caller) -> StoreResult<Vec<Member>> {
        self.read(caller, Team::all_members)
    }

    async fn remove(&self, caller: &Caller, member: Uuid, now: UtcMillis) -> StoreResult<Member> {
        if member != caller.me.member {
            rules::require(caller, Role::Owner)?;
        }
        self.write(caller, |team| team.remove(caller, member, now))
    }

    async fn withdraw(&self, caller: &Caller, member: Uuid, is_withdrawn: bool, now: UtcMillis) -> StoreResult<Member> {
        rules::require(caller, Role::Owner)?;
        self.write(caller, |team| team.withdraw(caller, member, is_withdrawn, now))
    }

    async fn leave(&self, caller: &Caller, now: UtcMillis) -> StoreResult<()> {
        self.write(caller, |team| {
            team.tokens.remove(&caller.token);
            let is_owner = |token: &Token| team.members.get(&token.member).is_some_and(|member| member.role == Role::Owner);
            if caller.me.role == Role::Owner && !team.tokens.values().any(is_owner) {
                return Err(StoreError::LastOwner);
            }
            team.note(now, Some(caller.me.member), action::LEAVE, rules::join_subject(&caller.me.email, &caller.me.computer));
            Ok(())
        })
    }

    async fn projects(&self, caller: &Caller) -> StoreResult<Vec<Project>> {
        self.read(caller, |team| {
            let count = |shared: &Shared| shared.records.values().filter(|record| record.text.is_some()).count() as u64;
            let project =
                |(name, shared): (&String, &Shared)| Project { name: name.clone(), texts: count(shared), last: shared.last };
            Ok(team.projects.iter().map(project).collect())
        })
    }

    async fn push(&self, caller: &Caller, project: &str, operations: &[Operation], now: UtcMillis) -> StoreResult<Vec<Outcome>> {
        rules::require_push(caller, operations)?;
        self.write(caller, |team| {
            let (texts, bytes) = team.used();
            let projects = team.projects.len();
            let outcomes = team.push(caller, project, operations, now);
            let (new_texts, new_bytes) = team.used();
            grown("projects", projects as u64, team.projects.len() as u64, self.quota.projects)?;
            grown("texts", texts, new_texts, self.quota.texts)?;
            grown("bytes", bytes, new_bytes, self.quota.bytes)?;
            Ok(outcomes)
        })
    }

    async fn pull(&self, caller: &Caller, project: &str, after: u64, limit: usize) -> StoreResult<Pulled> {
        self.read(caller, |team| {
            let (records, is_complete) =
                team.projects.get(project).map_or((Vec::new(), true), |shared| shared.page(after, limit));
            let last = records.last().map_or(after, |record| record.seq);
            Ok(Pulled { epoch: team.epoch, records, last, is_complete, members: team.all_members()? })
        })
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
        self.write(caller, |team| {
            let projects = team.projects.len();
            let (turns, bytes) = team.used_by_sessions();
            team.share_sessions(caller, project, order, sessions, now)?;
            let (new_turns, new_bytes) = team.used_by_sessions();
            grown("projects", projects as u64, team.projects.len() as u64, self.quota.projects)?;
            grown("turns", turns, new_turns, self.quota.turns)?;
            grown("bytes of sessions", bytes, new_bytes, self.quota.turn_bytes)
        })
    }

    async fn remove_sessions(
        &self,
        caller: &Caller,
        project: &str,
        order: RequestOrder,
        ids: Option<&[String]>,
        now: UtcMillis,
    ) -> StoreResult<()> {
        self.write(caller, |team| {
            team.remove_sessions(caller, project, order, ids, now);
            Ok(())
        })
    }

    async fn own_sessions(&self, caller: &Caller, project: &str) -> StoreResult<OwnSessions> {
        self.read(caller, |team| Ok(team.own_sessions(caller, project)))
    }

    async fn read_session(
        &self,
        caller: &Caller,
        project: &str,
        which: &ReadSession,
        now: UtcMillis,
    ) -> StoreResult<SessionPart> {
        self.write(caller, |team| team.read_session(caller, project, which, now))
    }

    async fn search(&self, caller: &Caller, project: &str, search: &Search, now: UtcMillis) -> StoreResult<FoundTurns> {
        self.write(caller, |team| Ok(team.search(caller, project, search, now)))
    }

    async fn audit(&self, caller: &Caller, before: Option<u64>, limit: usize) -> StoreResult<Vec<Audited>> {
        rules::require(caller, Role::Owner)?;
        self.read(caller, |team| {
            let is_before = |entry: &&Audited| before.is_none_or(|before| entry.seq < before);
            Ok(team.audit.iter().rev().filter(is_before).take(limit).cloned().collect())
        })
    }

    async fn ping(&self) -> StoreResult<()> {
        Ok(())
    }
}
