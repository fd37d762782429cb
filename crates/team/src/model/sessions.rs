//! Sessions in the store in memory.

use std::collections::BTreeMap;

use uuid::Uuid;
use yore_core::time::UtcMillis;

use super::Team;
use crate::rules::{self, action};
use crate::store::{Caller, StoreError, StoreResult};
use crate::wire::{
    FoundSession, FoundTurn, FoundTurns, MOST_FOUND_CHARS, MOST_PAGE, OwnSessions, ReadSession, RequestOrder, Search,
    SessionHead, SessionPart, SharedSession, SharedTurn,
};
use crate::words::{Wanted, Words};

/// Sessions by project, member and id.
pub(super) type Sessions = BTreeMap<(String, Uuid, String), Stored>;

/// A session, with the turns that arrived.
#[derive(Clone)]
pub(super) struct Stored {
    head: SessionHead,
    turns: Vec<SharedTurn>,
}

impl Team {
    /// Returns the number of turns of sessions, and of their bytes.
    pub(super) fn used_by_sessions(&self) -> (u64, u64) {
        let turns = self.sessions.values().flat_map(|session| &session.turns);
        turns.fold((0, 0), |(count, bytes), turn| (count + 1, bytes + turn.text.len() as u64))
    }

    pub(super) fn share_sessions(
        &mut self,
        caller: &Caller,
        project: &str,
        order: RequestOrder,
        sessions: &[SharedSession],
        now: UtcMillis,
    ) -> StoreResult<()> {
        if !self.passes(caller, project, order) {
            return Ok(());
        }
        self.projects.entry(project.to_owned()).or_default();
        for SharedSession { head, from, turns } in sessions {
            let key = (project.to_owned(), caller.me.member, head.id.clone());
            let stored = self.sessions.entry(key).or_insert_with(|| Stored { head: head.clone(), turns: Vec::new() });
            if *from as usize > stored.turns.len() {
                return Err(StoreError::Gap);
            }
            stored.head = head.clone();
            stored.turns.truncate(*from as usize);
            stored.turns.extend(turns.iter().cloned());
        }
        let turns = sessions.iter().map(|session| session.turns.len()).sum();
        let subject = rules::sessions_subject(project, sessions.len(), turns);
        self.note(now, Some(caller.me.member), action::SHARE, subject);
        Ok(())
    }

    /// Returns whether a request comes in its turn.
    fn passes(&mut self, caller: &Caller, project: &str, order: RequestOrder) -> bool {
        let last = self.last_orders.entry((project.to_owned(), caller.me.member, order.sender)).or_default();
        let passes = order.number > *last;
        *last = order.number.max(*last);
        passes
    }

    pub(super) fn remove_sessions(
        &mut self,
        caller: &Caller,
        project: &str,
        order: RequestOrder,
        ids: Option<&[String]>,
        now: UtcMillis,
    ) {
        // A project that is not there has nothing to remove.
        if !self.projects.contains_key(project) || !self.passes(caller, project, order) {
            return;
        }
        let is_gone = |(of, member, id): &(String, Uuid, String)| {
            of == project && *member == caller.me.member && ids.is_none_or(|ids| ids.contains(id))
        };
        let gone: Vec<Stored> = self.sessions.extract_if(.., |key, _| is_gone(key)).map(|(_, session)| session).collect();
        if !gone.is_empty() {
            let turns = gone.iter().map(|session| session.turns.len()).sum();
            let subject = rules::sessions_subject(project, gone.len(), turns);
            self.note(now, Some(caller.me.member), action::UNSHARE, subject);
        }
    }

    pub(super) fn own_sessions(&self, caller: &Caller, project: &str) -> OwnSessions {
        let own = self.sessions.iter().filter(|((of, member, _), _)| of == project && *member == caller.me.member);
        let head = |(_, Stored { head, turns }): (_, &Stored)| {
            let is_whole = turns.len() == head.turns as usize;
            SessionHead { digest: if is_whole { head.digest.clone() } else { String::new() }, ..head.clone() }
        };
        OwnSessions { epoch: self.epoch, sessions: own.map(head).collect() }
    }

    pub(super) fn read_session(
        &mut self,
        caller: &Caller,
        project: &str,
        which: &ReadSession,
        now: UtcMillis,
    ) -> StoreResult<SessionPart> {
        let is_hidden = |id: &Uuid| self.members.get(id).is_none_or(|member| member.is_withdrawn);
        let of = |(of, member, id): &(String, Uuid, String)| of == project && id.starts_with(&which.id) && !is_hidden(member);
        let named = self.sessions.iter().filter(|(key, _)| of(key)).min_by_key(|((_, member, id), _)| (id.clone(), *member));
        let ((_, member, _), session) = named.ok_or(StoreError::UnknownSession)?;
        let (name, email) =
            self.members.get(member).map(|member| (member.name.clone(), member.email.clone())).unwrap_or_default();
        let found = FoundSession { member: *member, name, head: session.head.clone() };
        let mut bytes = 0;
        let fits = |turn: &&SharedTurn| {
            bytes += turn.text.len();
            bytes <= MOST_PAGE
        };
        let turns = session.turns.iter().skip(which.from as usize).take_while(fits).map(without_vectors).collect();
        let part = SessionPart { session: found, turns };
        self.note(now, Some(caller.me.member), action::READ, format!("{project}: a session of {email}"));
        Ok(part)
    }

    pub(super) fn search(&mut self, caller: &Caller, project: &str, search: &Search, now: UtcMillis) -> FoundTurns {
        let mut words = Words::new(self.id, project);
        let of_project: Vec<_> = self.sessions.iter().filter(|((of, ..), _)| of == project).collect();
        let mut counted = Vec::new();
        for (place, (_, session)) in of_project.iter().enumerate() {
            for (index, turn) in session.turns.iter().enumerate() {
                counted.push((place, index, words.count(turn.speaker.as_deref(), &turn.text)));
            }
        }
        let numbers: Vec<i64> = search.words.iter().map(|word| words.number(word)).collect();
        let holding = |word: &i64| counted.iter().filter(|(.., turn)| turn.words.contains_key(word)).count() as u64;
        let holding: Vec<u64> = numbers.iter().map(holding).collect();
        let turns = counted.len() as u64;
        let length: u64 = counted.iter().map(|(.., turn)| u64::from(turn.length.unsigned_abs())).sum();
        let wanted = Wanted::new(turns, numbers.into_iter().zip(holding.iter().copied()));
        let mean = length as f32 / turns.max(1) as f32;
        let may_answer = |place: usize, index: usize| {
            let ((_, member, _), session) = of_project[place];
            let at = session.turns[index].at;
            self.members.get(member).is_some_and(|member| !member.is_withdrawn)
                && search.since.is_none_or(|since| at.is_some_and(|at| at >= since))
                && search.until.is_none_or(|until| at.is_some_and(|at| at < until))
        };
        let mut by_words: Vec<(f32, usize, usize)> = (counted.iter())
            .filter(|(place, index, _)| may_answer(*place, *index))
            .filter_map(|(place, index, turn)| Some((wanted.score(turn, mean)?, *place, *index)))
            .collect();
        by_words.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        by_words.truncate(search.limit as usize);
        let mut by_meaning: Vec<(i64, usize, usize)> = Vec::new();
        if let Some(vector) = &search.vector {
            for (place, index, _) in counted.iter().filter(|(place, index, _)| may_answer(*place, *index)) {
                let nearest = of_project[*place].1.turns[*index].vectors.iter().map(|other| dot(vector, other)).max();
                by_meaning.extend(nearest.map(|near| (near, *place, *index)));
            }
            by_meaning.sort_by_key(|(near, place, index)| (-near, *place, *index));
            by_meaning.truncate(search.limit as usize);
        }
        let mut places: Vec<(usize, usize)> = by_words.iter().map(|(_, place, index)| (*place, *index)).collect();
        places.extend(by_meaning.iter().map(|(_, place, index)| (*place, *index)));
        places.sort_unstable();
        places.dedup();
        let mut found = FoundTurns { turns, words: length, holding, ..FoundTurns::default() };
        let mut last = None;
        for (place, index) in places {
            let ((_, member, _), session) = of_project[place];
            if last != Some(place) {
                last = Some(place);
                let name = self.members.get(member).map(|member| member.name.clone()).unwrap_or_default();
                found.sessions.push(FoundSession { member: *member, name, head: session.head.clone() });
            }
            let turn = without_vectors(&session.turns[index]);
            let turn = SharedTurn { text: turn.text.chars().take(MOST_FOUND_CHARS).collect(), ..turn };
            found.found.push(FoundTurn { session: found.sessions.len() - 1, index: index as u32, turn });
        }
        self.note(now, Some(caller.me.member), action::SEARCH, project.to_owned());
        found
    }
}

fn without_vectors(turn: &SharedTurn) -> SharedTurn {
    SharedTurn { vectors: Vec::new(), ..turn.clone() }
}

fn dot(a: &[i8], b: &[i8]) -> i64 {
    a.iter().zip(b).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum()
}
