//! Finds turns of shared sessions: by words through their index, by meaning among all of the project.

use deadpool_postgres::Transaction;
use uuid::Uuid;
use yore_core::time::UtcMillis;

use super::fault::Fault;
use super::members::note;
use super::sessions::{found_session, places, set_path, turn_of, vector_text};
use super::{Postgres, begin, number, require_token};
use crate::rules::action;
use crate::store::Caller;
use crate::wire::{FoundTurn, FoundTurns, MOST_FOUND_CHARS, Search};
use crate::words::{B, K1, Wanted, Words};

/// Longest statement of a search, and of the comparison of vectors, which is left out if it takes longer.
const LONGEST: &str = "select set_config('statement_timeout', '10s', true)";
const LONGEST_OF_MEANING: &str = "select set_config('statement_timeout', '3s', true)";
const COUNTS: &str = "select turns, words from project where tenant = $1 and name = $2";
const HOLDING: &str = "select word, turns from word where tenant = $1 and project = $2 and word = any($3)";
const SET_WORDS: &str = "select set_config('yore.words', $1::bigint[]::text, true)";
/// The policy of the table has its rows only that have one of the words that the transaction has named.
const BY_WORDS: &str = "
    select turn_words.member, session, index from turn_words
    join member on member.tenant = turn_words.tenant and member.id = turn_words.member and not member.is_withdrawn
    cross join lateral (
        select sum(rarity * count * ($8::real + 1) / (count + $8::real * (1 - $9::real + $9::real * length / $5::real))) as score
        from unnest($3::bigint[], $4::real[]) as wanted (word, rarity)
        cross join lateral (select counts[array_position(words, word)]::real as count) as held where count is not null) as scored
    where turn_words.tenant = $1 and project = $2 and ($6::bigint is null or at >= $6) and ($7::bigint is null or at < $7)
    order by score desc, turn_words.member, session, index limit $10";
const BY_MEANING: &str = "
    select member, session, index from (
        select turn_vector.member, session, index, min(vector <=> $3::text::halfvec) as distance from turn_vector
        join member on member.tenant = turn_vector.tenant and member.id = turn_vector.member and not member.is_withdrawn
        where turn_vector.tenant = $1 and project = $2 and ($4::bigint is null and $5::bigint is null or exists (
            select from turn where turn.tenant = $1 and turn.project = $2 and turn.member = turn_vector.member
            and turn.session = turn_vector.session and turn.index = turn_vector.index
            and ($4::bigint is null or at >= $4) and ($5::bigint is null or at < $5)))
        group by turn_vector.member, session, index) as near
    order by distance, member, session, index limit $6";
const TURNS: &str = "
    select said, at, left(text, $6), speaker, member, session, index from turn
    join unnest($3::uuid[], $4::text[], $5::int[]) as found (member, session, index) using (member, session, index)
    where tenant = $1 and project = $2 order by member, session, index";
const SESSIONS: &str = "
    select session.id, title, agent, began, turns, digest, session.member, member.name from session
    join member on member.tenant = session.tenant and member.id = session.member
    where session.tenant = $1 and project = $2
    and (session.member, session.id) in (select * from unnest($3::uuid[], $4::text[])) order by session.member, session.id";

/// Places of turns: members, sessions and numbers.
#[derive(Default)]
struct Found {
    members: Vec<Uuid>,
    sessions: Vec<String>,
    indices: Vec<i32>,
}

impl Postgres {
    pub(super) async fn try_search(
        &self,
        caller: &Caller,
        project: &str,
        search: &Search,
        now: UtcMillis,
    ) -> Result<FoundTurns, Fault> {
        let mut client = self.pool.get().await?;
        // The audit's entry is written in the same transaction.
        let mut transaction = begin(&mut client, caller.me.team).await?;
        require_token(&transaction, caller).await?;
        let team = caller.me.team;
        let mut answer = FoundTurns { holding: vec![0; search.words.len()], ..FoundTurns::default() };
        let counts = transaction.prepare_cached(COUNTS).await?;
        if let Some(row) = transaction.query_opt(&counts, &[&team, &project]).await? {
            (answer.turns, answer.words) = (number(row.get(0)), number(row.get(1)));
        }
        let mut found = Found::default();
        if answer.turns > 0 {
            transaction.execute(LONGEST, &[]).await?;
            found.by_words(&transaction, team, project, search, &mut answer).await?;
            if let (Some(path), Some(vector)) = (&self.vectors, &search.vector) {
                let part = transaction.savepoint("meaning").await?;
                part.execute(LONGEST_OF_MEANING, &[]).await?;
                set_path(&part, path).await?;
                match found.by_meaning(&part, team, project, search, vector).await {
                    Ok(()) => part.commit().await?,
                    // Turns that have the words are found all the same.
                    Err(_) => part.rollback().await?,
                }
            }
            found.read(&transaction, team, project, &mut answer).await?;
        }
        note(&transaction, team, now, Some(caller.me.member), action::SEARCH, project).await?;
        transaction.commit().await?;
        Ok(answer)
    }
}

impl Found {
    fn add(&mut self, rows: &[tokio_postgres::Row]) {
        for row in rows {
            self.members.push(row.get(0));
            self.sessions.push(row.get(1));
            self.indices.push(row.get(2));
        }
    }

    async fn by_words(
        &mut self,
        transaction: &Transaction<'_>,
        team: Uuid,
        project: &str,
        search: &Search,
        answer: &mut FoundTurns,
    ) -> Result<(), Fault> {
        let words = Words::new(team, project);
        let numbers: Vec<i64> = search.words.iter().map(|word| words.number(word)).collect();
        let holding = transaction.prepare_cached(HOLDING).await?;
        let rows = transaction.query(&holding, &[&team, &project, &numbers]).await?;
        let known: std::collections::HashMap<i64, u64> = rows.iter().map(|row| (row.get(0), number(row.get(1)))).collect();
        answer.holding = numbers.iter().map(|word| known.get(word).copied().unwrap_or_default()).collect();
        let wanted = Wanted::new(answer.turns, numbers.into_iter().zip(answer.holding.iter().copied()));
        if wanted.needed == 0 {
            return Ok(());
        }
        let needed: Vec<i64> = wanted.scoring[..wanted.needed].iter().map(|(word, _)| *word).collect();
        let set = transaction.prepare_cached(SET_WORDS).await?;
        transaction.execute(&set, &[&needed]).await?;
        let (scoring, rarity): (Vec<i64>, Vec<f32>) = wanted.scoring.iter().copied().unzip();
        let mean = answer.words as f32 / answer.turns as f32;
        let statement = transaction.prepare_cached(BY_WORDS).await?;
        let most = i64::from(search.limit);
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 10] =
            [&team, &project, &scoring, &rarity, &mean, &search.since, &search.until, &K1, &B, &most];
        self.add(&transaction.query(&statement, &values).await?);
        Ok(())
    }

    async fn by_meaning(
        &mut self,
        transaction: &Transaction<'_>,
        team: Uuid,
        project: &str,
        search: &Search,
        vector: &[i8],
    ) -> Result<(), Fault> {
        let statement = transaction.prepare_cached(BY_MEANING).await?;
        let (vector, most) = (vector_text(vector), i64::from(search.limit));
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
            [&team, &project, &vector, &search.since, &search.until, &most];
        self.add(&transaction.query(&statement, &values).await?);
        Ok(())
    }

    async fn read(&self, transaction: &Transaction<'_>, team: Uuid, project: &str, answer: &mut FoundTurns) -> Result<(), Fault> {
        let sessions = transaction.prepare_cached(SESSIONS).await?;
        let sessions = transaction.query(&sessions, &[&team, &project, &self.members, &self.sessions]).await?;
        answer.sessions = sessions.iter().map(found_session).collect();
        let places = places(&sessions);
        let turns = transaction.prepare_cached(TURNS).await?;
        let turns = transaction
            .query(&turns, &[&team, &project, &self.members, &self.sessions, &self.indices, &(MOST_FOUND_CHARS as i32)])
            .await?;
        for row in &turns {
            let Some(session) = places.get(&(row.get(4), row.get(5))) else { continue };
            let index = row.get::<_, i32>(6).unsigned_abs();
            let turn = FoundTurn { session: *session, index, turn: turn_of(row)? };
            // One that was found by words and by meaning is there twice.
            if answer.found.last() != Some(&turn) {
                answer.found.push(turn);
            }
        }
        Ok(())
    }
}
