//! Measures the search of a team's server, with the corpus as sessions of a member.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use serde_json::Value;
use uuid::Uuid;
use yore_core::time::RecordedTime;
use yore_engine::{EngineOptions, Hit, RecallRequest};
use yore_team::postgres::Postgres;
use yore_team::server::{create_team, system_clock};
use yore_team::store::{Caller, Newcomer, Quota, Store, StoreError};
use yore_team::wire::{MOST_TURNS, RequestOrder, Said, SessionHead, SharedSession, SharedTurn, name_of};

use super::questions::GoldQuestion;
use crate::error::{CliError, CliResult};
use crate::team::search::{asked, rank};
use crate::team::sessions::vectors;

/// A server whose database holds the corpora, each as a project.
pub struct ThroughServer {
    runtime: tokio::runtime::Runtime,
    store: Postgres,
    caller: Caller,
    requests: Cell<u64>,
    /// Ids of turns by session and number.
    turns: HashMap<(String, u32), String>,
}

fn failed(error: &StoreError) -> CliError {
    CliError::usage(error.to_string(), Some("--through-server postgres://..., a database that nothing else uses"))
}

impl ThroughServer {
    /// Shares a corpus.
    ///
    /// # Errors
    /// The database does not answer, or the corpus cannot be read.
    pub fn new(database: &str, corpus: &Path) -> CliResult<Self> {
        let runtime = tokio::runtime::Runtime::new().map_err(|error| CliError::usage(error.to_string(), None))?;
        let store = runtime.block_on(Postgres::connect(database, Quota::default())).map_err(|error| failed(&error))?;
        let name = format!("eval {}", Uuid::now_v7());
        let created = runtime.block_on(create_team(&store, &name, 1, system_clock()));
        let (team, invite) = created.map_err(|error| CliError::usage(error.to_string(), None))?;
        let hash = invite.invite.parse::<yore_team::secret::Secret>().map(|secret| secret.hash());
        let invite = hash.map_err(|_| CliError::usage("the invitation is none", None))?;
        let token = *blake3::hash(name.as_bytes()).as_bytes();
        let who = Newcomer {
            invite,
            token,
            name: "eval".to_owned(),
            email: "eval@example.org".to_owned(),
            computer: "eval".to_owned(),
        };
        let joined = runtime.block_on(store.join(team, &who, system_clock())).map_err(|error| failed(&error))?;
        let me = joined.ok_or_else(|| CliError::usage("the invitation is not valid", None))?;
        let mut made = Self { runtime, store, caller: Caller { me, token }, requests: Cell::default(), turns: HashMap::new() };
        made.share(corpus)?;
        Ok(made)
    }

    fn share(&mut self, corpus: &Path) -> CliResult<()> {
        let file = std::fs::File::open(corpus).map_err(|error| CliError::io(corpus, &error))?;
        let mut waiting: HashMap<String, Vec<SharedSession>> = HashMap::new();
        for line in std::io::BufReader::new(file).lines() {
            let line = line.map_err(|error| CliError::io(corpus, &error))?;
            let Ok(document) = serde_json::from_str::<Value>(&line) else { continue };
            let project = document["corpus_id"].as_str().unwrap_or("corpus").to_owned();
            let id = name_of(&format!("{project} {}", document["doc_id"]));
            let mut turns = Vec::new();
            for turn in document["turns"].as_array().into_iter().flatten() {
                let (Some(text), Some(native)) = (turn["text"].as_str(), turn["turn_id"].as_str()) else { continue };
                self.turns.insert((id.clone(), turns.len() as u32), native.to_owned());
                let at = turn["timestamp"].as_str().or_else(|| document["timestamp"].as_str()).map(RecordedTime::parse);
                let said = if turn["role"] == "user" { Said::User } else { Said::Assistant };
                let speaker = turn["speaker"].as_str().filter(|name| !matches!(*name, "user" | "assistant")).map(str::to_owned);
                let text = text.replace('\0', " ");
                turns.push(SharedTurn { said, speaker, at: at.and_then(|at| at.utc), vectors: vectors(&text), text });
            }
            let head = SessionHead {
                title: String::new(),
                agent: "eval".to_owned(),
                began: turns.first().and_then(|turn| turn.at),
                turns: turns.len() as u32,
                digest: id.clone(),
                id,
            };
            let ready = waiting.entry(project.clone()).or_default();
            ready.push(SharedSession { head, from: 0, turns });
            if ready.iter().map(|session| session.turns.len()).sum::<usize>() >= MOST_TURNS {
                let ready = std::mem::take(ready);
                self.send(&project, &ready)?;
            }
        }
        for (project, ready) in waiting {
            self.send(&project, &ready)?;
        }
        Ok(())
    }

    fn send(&self, project: &str, sessions: &[SharedSession]) -> CliResult<()> {
        let number = self.requests.get() + 1;
        self.requests.set(number);
        let order = RequestOrder { sender: Uuid::nil(), number };
        let shared = self.store.share_sessions(&self.caller, project, order, sessions, system_clock());
        self.runtime.block_on(shared).map_err(|error| failed(&error))
    }

    /// Returns the ids of the turns that answer a question, best first.
    ///
    /// # Errors
    /// The database does not answer, or the memory of the moment cannot be made.
    pub fn ranking(
        &self,
        question: &GoldQuestion,
        request: &RecallRequest,
        options: &EngineOptions,
        limit: usize,
    ) -> CliResult<Vec<String>> {
        let mut request = request.clone();
        request.filter.until = request.filter.as_of;
        let search = asked(&request);
        let found = self.store.search(&self.caller, &question.corpus, &search, system_clock());
        let found = self.runtime.block_on(found).map_err(|error| failed(&error))?;
        let directory = tempfile::tempdir().map_err(|error| CliError::io(&std::env::temp_dir(), &error))?;
        let options = EngineOptions { directory: directory.path().to_owned(), ..options.clone() };
        let answer = rank(&search, &found, &request, options)?;
        let of = |hit: &Hit| {
            let origin = answer.origin(hit.as_turn()?.id)?;
            self.turns.get(&(origin.session.head.id.clone(), origin.index)).cloned()
        };
        Ok(answer.answer.hits.iter().filter_map(of).take(limit).collect())
    }
}
