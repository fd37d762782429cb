//! Stores, removes and reads sessions. A change locks the project, as pushes do, and the team's row last.

use std::collections::{BTreeMap, HashMap};

use deadpool_postgres::Transaction;
use tokio_postgres::Row;
use uuid::Uuid;
use yore_core::time::UtcMillis;

use super::fault::Fault;
use super::members::note;
use super::{Postgres, begin, begin_read, grown, require_token, stored};
use crate::rules::{self, action};
use crate::store::{Caller, Quota, StoreError};
use crate::wire::{
    FoundSession, MOST_PAGE, OwnSessions, ReadSession, RequestOrder, Said, SessionHead, SessionPart, SharedSession, SharedTurn,
};
use crate::words::Words;

const LOCK_PROJECT: &str = "select 1 from project where tenant = $1 and name = $2 for no key update";
const CREATE_PROJECT: &str = "
    insert into project (tenant, name, last, texts, bytes) values ($1, $2, 0, 0, 0) on conflict (tenant, name) do nothing";
/// Returns a row if the request comes in its turn.
const PASS: &str = "
    insert into request_order (tenant, project, member, sender, number) values ($1, $2, $3, $4, $5)
    on conflict (tenant, project, member, sender) do update set number = excluded.number where request_order.number < excluded.number
    returning number";
const COUNT_TURNS: &str = "
    select count(*)::bigint from turn where tenant = $1 and project = $2 and member = $3 and session = $4";
const WRITE_SESSION: &str = "
    insert into session (tenant, project, member, id, title, agent, began, turns, digest) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    on conflict (tenant, project, member, id) do update
    set title = excluded.title, agent = excluded.agent, began = excluded.began, turns = excluded.turns, digest = excluded.digest";
const DROP_TURNS: &str = "
    delete from turn where tenant = $1 and project = $2 and member = $3 and session = $4 and index >= $5 and index < $6
    returning text, speaker";
/// Turns that are deleted at once, whose texts are in memory then.
const DROPPED_AT_ONCE: i32 = 100;
const WRITE_TURNS: &str = "
    insert into turn (tenant, project, member, session, index, said, at, text, speaker)
    select $1, $2, $3, $4, index, said, at, text, speaker
    from unnest($5::int[], $6::text[], $7::bigint[], $8::text[], $9::text[]) as new (index, said, at, text, speaker)";
/// The words of one turn.
const WRITE_TURN_WORDS: &str = "
    insert into turn_words (tenant, project, member, session, index, at, words, counts, length)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const WRITE_VECTORS: &str = "
    insert into turn_vector (tenant, project, member, session, index, part, vector)
    select $1, $2, $3, $4, index, part, vector::halfvec from unnest($5::int[], $6::smallint[], $7::text[]) as new (index, part, vector)";
const COUNT_WORDS: &str = "
    insert into word (tenant, project, word, turns)
    select $1, $2, word, turns from unnest($3::bigint[], $4::bigint[]) as new (word, turns)
    on conflict (tenant, project, word) do update set turns = greatest(word.turns + excluded.turns, 0)";
const DROP_WORDS: &str = "
    with gone as (select word, turns from unnest($3::bigint[], $4::bigint[]) as gone (word, turns)),
    left_over as (
        update word set turns = greatest(word.turns - gone.turns, 0) from gone
        where word.tenant = $1 and word.project = $2 and word.word = gone.word returning word.word, word.turns)
    select word from left_over where turns = 0";
const DROP_EMPTY: &str = "delete from word where tenant = $1 and project = $2 and word = any($3) and turns = 0";
const COUNT_PROJECT: &str = "
    update project set turns = turns + $3, turn_bytes = turn_bytes + $4, words = words + $5 where tenant = $1 and name = $2";
const COUNT_TEAM: &str = "
    update team set projects = projects + $2, turns = turns + $3, turn_bytes = turn_bytes + $4 where tenant = $1
    returning projects, turns, turn_bytes";
const DROP_SESSIONS: &str = "
    select id from session where tenant = $1 and project = $2 and member = $3 and ($4::text[] is null or id = any($4)) order by id";
const DROP_SESSION: &str = "delete from session where tenant = $1 and project = $2 and member = $3 and id = $4";
const OWN: &str = "
    select id, title, agent, began, turns,
        case when turns = (select count(*) from turn where turn.tenant = $1 and turn.project = $2 and turn.member = $3 and turn.session = id)
        then digest else '' end
    from session where tenant = $1 and project = $2 and member = $3 order by id limit 100000";
const EPOCH: &str = "select epoch from team where tenant = $1";
const HEAD: &str = "
    select session.id, title, agent, began, turns, digest, session.member, member.name, member.email from session
    join member on member.tenant = session.tenant and member.id = session.member
    where session.tenant = $1 and project = $2 and starts_with(session.id, $3) and not member.is_withdrawn
    order by session.id, session.member limit 1";
const PART: &str = "
    select said, at, text, speaker from (
        select index, said, at, text, speaker, sum(octet_length(text)) over (order by index) as bytes from turn
        where tenant = $1 and project = $2 and member = $3 and session = $4 and index >= $5) as next
    where bytes <= $6 order by index";

/// Changes of a project's numbers.
#[derive(Default)]
struct Change {
    turns: i64,
    bytes: i64,
    length: i64,
    /// How many turns more or fewer have a word.
    words: BTreeMap<i64, i64>,
}

impl Change {
    fn count(&mut self, words: &mut Words, speaker: Option<&str>, text: &str, sign: i64) -> crate::words::Counted {
        let counted = words.count(speaker, text);
        self.turns += sign;
        self.bytes += sign * text.len() as i64;
        self.length += sign * i64::from(counted.length);
        counted.words.keys().for_each(|word| *self.words.entry(*word).or_default() += sign);
        counted
    }
}

struct Writing<'a> {
    transaction: &'a Transaction<'a>,
    caller: &'a Caller,
    project: &'a str,
    words: Words,
    change: Change,
    creates: bool,
}

impl Postgres {
    pub(super) async fn try_share_sessions(
        &self,
        caller: &Caller,
        project: &str,
        order: RequestOrder,
        sessions: &[SharedSession],
        now: UtcMillis,
    ) -> Result<(), Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin(&mut client, caller.me.team).await?;
        let mut writing = Writing::begin(&transaction, caller, project).await?;
        if !writing.passes(order).await? {
            return Ok(());
        }
        for session in sessions {
            writing.session(session, self.vectors.as_deref()).await?;
        }
        let turns = sessions.iter().map(|session| session.turns.len()).sum();
        let subject = rules::sessions_subject(project, sessions.len(), turns);
        writing.end(&self.quota, action::SHARE, &subject, now).await?;
        Ok(transaction.commit().await?)
    }

    pub(super) async fn try_remove_sessions(
        &self,
        caller: &Caller,
        project: &str,
        order: RequestOrder,
        ids: Option<&[String]>,
        now: UtcMillis,
    ) -> Result<(), Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin(&mut client, caller.me.team).await?;
        let mut writing = Writing::begin(&transaction, caller, project).await?;
        if writing.creates || !writing.passes(order).await? {
            return Ok(());
        }
        let (team, member) = (caller.me.team, caller.me.member);
        let gone = transaction.prepare_cached(DROP_SESSIONS).await?;
        let gone = transaction.query(&gone, &[&team, &project, &member, &ids]).await?;
        if gone.is_empty() {
            // A request that was sent before must not come after all.
            return Ok(transaction.commit().await?);
        }
        let mut turns = 0;
        for row in &gone {
            let id: String = row.get(0);
            let stored = writing.count_turns(&id).await?;
            turns += writing.drop_turns(&id, 0, stored).await?;
            transaction.execute(DROP_SESSION, &[&team, &project, &member, &id]).await?;
        }
        let subject = rules::sessions_subject(project, gone.len(), turns);
        writing.end(&self.quota, action::UNSHARE, &subject, now).await?;
        Ok(transaction.commit().await?)
    }

    pub(super) async fn try_own_sessions(&self, caller: &Caller, project: &str) -> Result<OwnSessions, Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin_read(&mut client, caller.me.team).await?;
        require_token(&transaction, caller).await?;
        let (team, member) = (caller.me.team, caller.me.member);
        let own = transaction.prepare_cached(OWN).await?;
        let own = transaction.query(&own, &[&team, &project, &member]).await?;
        let epoch = transaction.query_one(EPOCH, &[&team]).await?.get(0);
        Ok(OwnSessions { epoch, sessions: own.iter().map(head_of).collect() })
    }

    pub(super) async fn try_read_session(
        &self,
        caller: &Caller,
        project: &str,
        which: &ReadSession,
        now: UtcMillis,
    ) -> Result<SessionPart, Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin(&mut client, caller.me.team).await?;
        require_token(&transaction, caller).await?;
        let ReadSession { id, from } = which;
        let team = caller.me.team;
        let head = transaction.query_opt(HEAD, &[&team, &project, id]).await?;
        let head = head.ok_or(Fault::Store(StoreError::UnknownSession))?;
        let session = found_session(&head);
        let from = i32::try_from(*from).unwrap_or(i32::MAX);
        let turns =
            transaction.query(PART, &[&team, &project, &session.member, &session.head.id, &from, &(MOST_PAGE as i64)]).await?;
        let email: String = head.get(8);
        let subject = format!("{project}: a session of {email}");
        note(&transaction, team, now, Some(caller.me.member), action::READ, &subject).await?;
        transaction.commit().await?;
        Ok(SessionPart { session, turns: turns.iter().map(turn_of).collect::<Result<_, _>>()? })
    }
}

impl<'a> Writing<'a> {
    /// Waits for other changes of the project, which is created if it is new.
    async fn begin(transaction: &'a Transaction<'a>, caller: &'a Caller, project: &'a str) -> Result<Self, Fault> {
        require_token(transaction, caller).await?;
        let team = caller.me.team;
        let mut creates = false;
        if transaction.query_opt(LOCK_PROJECT, &[&team, &project]).await?.is_none() {
            creates = transaction.execute(CREATE_PROJECT, &[&team, &project]).await? > 0;
            if !creates {
                return Err(Fault::Conflict("another request creates the project".to_owned()));
            }
        }
        let words = Words::new(team, project);
        Ok(Self { transaction, caller, project, words, change: Change::default(), creates })
    }

    /// Returns whether the request comes in its turn, which counts if the transaction is committed.
    async fn passes(&self, order: RequestOrder) -> Result<bool, Fault> {
        let pass = self.transaction.prepare_cached(PASS).await?;
        let (team, member, number) = (self.caller.me.team, self.caller.me.member, stored(order.number));
        let row = self.transaction.query_opt(&pass, &[&team, &self.project, &member, &order.sender, &number]).await?;
        Ok(row.is_some() && order.number > 0)
    }

    /// Drops the turns of a session from a number on, of `stored`; returns how many.
    async fn drop_turns(&mut self, id: &str, from: i32, stored: i64) -> Result<usize, Fault> {
        let drop = self.transaction.prepare_cached(DROP_TURNS).await?;
        let (team, member) = (self.caller.me.team, self.caller.me.member);
        let mut dropped = 0;
        let mut from = from;
        while i64::from(from) < stored {
            let end = from.saturating_add(DROPPED_AT_ONCE);
            let gone = self.transaction.query(&drop, &[&team, &self.project, &member, &id, &from, &end]).await?;
            for row in &gone {
                self.change.count(&mut self.words, row.get(1), row.get(0), -1);
            }
            dropped += gone.len();
            from = end;
        }
        Ok(dropped)
    }

    async fn count_turns(&self, id: &str) -> Result<i64, Fault> {
        let stored = self.transaction.prepare_cached(COUNT_TURNS).await?;
        let (team, member) = (self.caller.me.team, self.caller.me.member);
        Ok(self.transaction.query_one(&stored, &[&team, &self.project, &member, &id]).await?.get(0))
    }

    async fn session(&mut self, session: &SharedSession, vectors: Option<&str>) -> Result<(), Fault> {
        let SharedSession { head, from, turns } = session;
        let (team, member, project, transaction) = (self.caller.me.team, self.caller.me.member, self.project, self.transaction);
        let from = i32::try_from(*from).unwrap_or(i32::MAX);
        let stored = self.count_turns(&head.id).await?;
        if i64::from(from) > stored {
            return Err(Fault::Store(StoreError::Gap));
        }
        let write = transaction.prepare_cached(WRITE_SESSION).await?;
        let length = i32::try_from(head.turns).unwrap_or(i32::MAX);
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 9] =
            [&team, &project, &member, &head.id, &head.title, &head.agent, &head.began, &length, &head.digest];
        transaction.execute(&write, &values).await?;
        self.drop_turns(&head.id, from, stored).await?;
        let places: Vec<i32> = (from..).take(turns.len()).collect();
        let said: Vec<&str> = turns.iter().map(|turn| turn.said.as_str()).collect();
        let at: Vec<Option<UtcMillis>> = turns.iter().map(|turn| turn.at).collect();
        let texts: Vec<&str> = turns.iter().map(|turn| turn.text.as_str()).collect();
        let speakers: Vec<Option<&str>> = turns.iter().map(|turn| turn.speaker.as_deref()).collect();
        let write = transaction.prepare_cached(WRITE_TURNS).await?;
        transaction.execute(&write, &[&team, &project, &member, &head.id, &places, &said, &at, &texts, &speakers]).await?;
        let write = transaction.prepare_cached(WRITE_TURN_WORDS).await?;
        for (turn, place) in turns.iter().zip(&places) {
            let counted = self.change.count(&mut self.words, turn.speaker.as_deref(), &turn.text, 1);
            let words: Vec<i64> = counted.words.keys().copied().collect();
            let counts: Vec<i16> = counted.words.values().copied().collect();
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 9] =
                [&team, &project, &member, &head.id, place, &turn.at, &words, &counts, &counted.length];
            transaction.execute(&write, &values).await?;
        }
        let Some(path) = vectors else { return Ok(()) };
        let (mut of, mut parts, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (turn, place) in turns.iter().zip(&places) {
            for (part, vector) in (0i16..).zip(&turn.vectors) {
                of.push(*place);
                parts.push(part);
                texts.push(vector_text(vector));
            }
        }
        if !of.is_empty() {
            set_path(transaction, path).await?;
            let write = transaction.prepare_cached(WRITE_VECTORS).await?;
            transaction.execute(&write, &[&team, &project, &member, &head.id, &of, &parts, &texts]).await?;
        }
        Ok(())
    }

    /// Writes the counts and the audit, and checks the quota.
    async fn end(self, quota: &Quota, action: &str, subject: &str, now: UtcMillis) -> Result<(), Fault> {
        let Self { transaction, caller, project, change, creates, .. } = self;
        let (team, member) = (caller.me.team, caller.me.member);
        let (mut more, mut more_turns, mut fewer, mut fewer_turns) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (word, turns) in change.words.iter().filter(|(_, turns)| **turns != 0) {
            if *turns > 0 {
                more.push(*word);
                more_turns.push(*turns);
            } else {
                fewer.push(*word);
                fewer_turns.push(-turns);
            }
        }
        if !more.is_empty() {
            let count = transaction.prepare_cached(COUNT_WORDS).await?;
            transaction.execute(&count, &[&team, &project, &more, &more_turns]).await?;
        }
        if !fewer.is_empty() {
            let count = transaction.prepare_cached(DROP_WORDS).await?;
            let rows = transaction.query(&count, &[&team, &project, &fewer, &fewer_turns]).await?;
            let empty: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
            if !empty.is_empty() {
                transaction.execute(DROP_EMPTY, &[&team, &project, &empty]).await?;
            }
        }
        transaction.execute(COUNT_PROJECT, &[&team, &project, &change.turns, &change.bytes, &change.length]).await?;
        let projects = i64::from(creates);
        let row = transaction.query_one(COUNT_TEAM, &[&team, &projects, &change.turns, &change.bytes]).await?;
        grown("projects", projects, row.get(0), quota.projects)?;
        grown("turns", change.turns, row.get(1), quota.turns)?;
        grown("bytes of sessions", change.bytes, row.get(2), quota.turn_bytes)?;
        note(transaction, team, now, Some(member), action, subject).await
    }
}

/// Has the types of vectors known until the transaction ends.
pub(super) async fn set_path(transaction: &Transaction<'_>, path: &str) -> Result<(), Fault> {
    let set = transaction.prepare_cached("select set_config('search_path', $1, true)").await?;
    transaction.execute(&set, &[&path]).await?;
    Ok(())
}

/// Returns a vector as the database reads it.
pub(super) fn vector_text(vector: &[i8]) -> String {
    let numbers: Vec<String> = vector.iter().map(i8::to_string).collect();
    format!("[{}]", numbers.join(","))
}

/// Returns the session of a row that begins with its columns, the member and their name.
pub(super) fn found_session(row: &Row) -> FoundSession {
    FoundSession { member: row.get(6), name: row.get(7), head: head_of(row) }
}

/// Returns the session of a row that begins with its columns.
fn head_of(row: &Row) -> SessionHead {
    SessionHead {
        id: row.get(0),
        title: row.get(1),
        agent: row.get(2),
        began: row.get(3),
        turns: row.get::<_, i32>(4).unsigned_abs(),
        digest: row.get(5),
    }
}

/// Returns the turn of a row that begins with its columns.
pub(super) fn turn_of(row: &Row) -> Result<SharedTurn, Fault> {
    let said: &str = row.get(0);
    let said = Said::parse(said)
        .ok_or_else(|| Fault::Store(StoreError::Failed(format!("the database has an unknown speaker: {said}"))))?;
    Ok(SharedTurn { said, at: row.get(1), text: row.get(2), speaker: row.get(3), vectors: Vec::new() })
}

/// Returns where in `found` a member's session is, by member and id.
pub(super) fn places(rows: &[Row]) -> HashMap<(Uuid, String), usize> {
    rows.iter().enumerate().map(|(place, row)| ((row.get(6), row.get(0)), place)).collect()
}
