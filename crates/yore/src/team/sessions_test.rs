//! Sessions that grow, change and are forgotten on two computers of a member, over a network that loses messages and brings them late, with
//! processes that die and a server that is restored from a backup: in the end the server has what the computers share, and nothing else.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;

use uuid::Uuid;
use yore_core::id::EpisodeId;
use yore_team::model::Model;
use yore_team::store::{Caller, Newcomer, Store, StoreError, StoredInvite};
use yore_team::wire::{OwnSessions, ReadSession, RequestOrder, Role, Said, SessionHead, SharedSession, SharedTurn, name_of};
use yore_testing::Random;

use super::remote::{RemoteError, SessionRemote};
use super::sessions::{OutgoingSession, SessionsSynced, With, bring_up, take_back_all};
use crate::config::SharedLevel;
use crate::shared::mirror::{self, TeamProject};

const OPERATIONS: usize = 400;
const NOW: i64 = 1_800_000_000_000;
const PROJECT: &str = "pier";

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

type Request = (RequestOrder, Option<Vec<SharedSession>>, Option<Vec<String>>);

/// A computer's way to the server.
struct Network<'a> {
    model: &'a Model,
    caller: Caller,
    random: RefCell<Random>,
    /// Percentage of messages that get lost, or come again.
    trouble: Cell<usize>,
    old: RefCell<Vec<Request>>,
}

impl Network<'_> {
    fn has_trouble(&self) -> bool {
        self.random.borrow_mut().below(100) < self.trouble.get()
    }

    fn lost() -> RemoteError {
        RemoteError::Unreachable { server: "https://yore.example".to_owned(), why: "lost".to_owned() }
    }

    fn make(&self, (order, sessions, ids): &Request) -> Result<(), StoreError> {
        match sessions {
            Some(sessions) => wait(self.model.share_sessions(&self.caller, PROJECT, *order, sessions, NOW)),
            None => wait(self.model.remove_sessions(&self.caller, PROJECT, *order, ids.as_deref(), NOW)),
        }
    }

    fn send(&self, request: Request) -> Result<(), RemoteError> {
        self.old.borrow_mut().push(request.clone());
        if self.has_trouble() {
            return Err(Self::lost());
        }
        match self.make(&request) {
            Ok(()) if self.has_trouble() => Err(Self::lost()),
            Ok(()) => Ok(()),
            Err(StoreError::Gap) => {
                Err(RemoteError::Refused { status: 409, code: "team/gap".to_owned(), message: "gap".to_owned() })
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Brings a request again that was sent once, perhaps in vain.
    fn repeat(&self) {
        let old = self.old.borrow();
        if !old.is_empty() {
            let _ = self.make(&old[self.random.borrow_mut().below(old.len())]);
        }
    }
}

impl SessionRemote for Network<'_> {
    fn share_sessions(&self, _: &str, order: RequestOrder, sessions: Vec<SharedSession>) -> Result<(), RemoteError> {
        self.send((order, Some(sessions), None))
    }

    fn remove_sessions(&self, _: &str, order: RequestOrder, ids: Option<Vec<String>>) -> Result<(), RemoteError> {
        self.send((order, None, ids))
    }

    fn own_sessions(&self, project: &str) -> Result<OwnSessions, RemoteError> {
        if self.has_trouble() {
            return Err(Self::lost());
        }
        Ok(wait(self.model.own_sessions(&self.caller, project)).unwrap())
    }
}

fn turn(text: String) -> SharedTurn {
    SharedTurn { said: Said::User, speaker: None, at: Some(NOW), text, vectors: Vec::new() }
}

fn going(id: EpisodeId, turns: &[String]) -> OutgoingSession {
    let head = SessionHead {
        id: id.to_string(),
        title: String::new(),
        agent: "claude-code".to_owned(),
        began: None,
        turns: turns.len() as u32,
        digest: name_of(&turns.join("\n")),
    };
    OutgoingSession { head, turns: turns.iter().cloned().map(turn).collect(), held_back: 0 }
}

/// A computer with its sessions.
struct Computer<'a> {
    data: tempfile::TempDir,
    network: Network<'a>,
    sessions: BTreeMap<EpisodeId, Vec<String>>,
}

impl Computer<'_> {
    fn sync(&self, project: &TeamProject) -> Option<SessionsSynced> {
        let (data, member) = (self.data.path(), self.network.caller.me.member);
        let epoch = Some(wait(self.network.model.own_sessions(&self.network.caller, PROJECT)).unwrap().epoch);
        let with = With { data, project, member, epoch };
        // A change that adds no turn is found by the time of the last.
        let stamp = |turns: &Vec<String>| i64::from_str_radix(&name_of(&turns.concat())[..12], 16).unwrap();
        let listed: Vec<_> = self.sessions.iter().map(|(id, turns)| (*id, (turns.len() as u64, Some(stamp(turns))))).collect();
        let read = &mut |place: usize| {
            let (id, _): (EpisodeId, _) = listed[place];
            Ok(going(id, &self.sessions[&id]))
        };
        bring_up(&with, &listed, "rules", &self.network, read).ok()
    }
}

fn run(seed: u64) {
    let model = Model::default();
    let team = Uuid::from_u128(1);
    let hash = |words: &str| *blake3::hash(words.as_bytes()).as_bytes();
    let invite = |secret: &str, role| StoredInvite { hash: hash(secret), role, email: None, expires: NOW + 1 };
    wait(model.create_team(team, "Pier", &invite("a", Role::Owner), NOW)).unwrap();
    let who = |secret: &str, computer: &str| Newcomer {
        invite: hash(secret),
        token: hash(computer),
        name: "Ann".to_owned(),
        email: "ann@example.org".to_owned(),
        computer: computer.to_owned(),
    };
    wait(model.join(team, &who("a", "one"), NOW)).unwrap().unwrap();
    let first = wait(model.authenticate(team, hash("one"))).unwrap().unwrap();
    let second = StoredInvite { email: Some("ann@example.org".to_owned()), ..invite("b", Role::Member) };
    wait(model.invite(&first, &second, NOW)).unwrap();
    wait(model.join(team, &who("b", "two"), NOW)).unwrap().unwrap();
    let second = wait(model.authenticate(team, hash("two"))).unwrap().unwrap();

    let project = TeamProject {
        key: PROJECT.to_owned(),
        root: "/srv/pier".into(),
        team,
        name: PROJECT.to_owned(),
        level: SharedLevel::Sessions,
        is_stopped: false,
    };
    let mut computers: Vec<Computer<'_>> = [first, second]
        .into_iter()
        .enumerate()
        .map(|(number, caller)| {
            let data = tempfile::tempdir().unwrap();
            mirror::write_projects(data.path(), std::slice::from_ref(&project)).unwrap();
            let random = RefCell::new(Random::new(seed * 10 + number as u64));
            let network = Network { model: &model, caller, random, trouble: Cell::new(15), old: RefCell::default() };
            Computer { data, network, sessions: BTreeMap::new() }
        })
        .collect();
    let mut random = Random::new(seed);
    let mut backup = model.backup();
    let mut said = 0;
    for operation in 0..OPERATIONS {
        let place = random.below(2);
        let computer = &mut computers[place];
        let known: Vec<EpisodeId> = computer.sessions.keys().copied().collect();
        let chosen = (!known.is_empty()).then(|| known[random.below(known.len().max(1))]);
        match (random.below(20), chosen) {
            (0..6, _) => drop(computer.sync(&project)),
            (6..12, Some(id)) => {
                let turns = computer.sessions.get_mut(&id).unwrap();
                for _ in 0..=random.below(if operation == 100 { 1_500 } else { 4 }) {
                    said += 1;
                    turns.push(format!("turn {said}"));
                }
            }
            (12, Some(id)) => {
                // The person goes back, or a secret is removed from words.
                let turns = computer.sessions.get_mut(&id).unwrap();
                turns.truncate(1 + random.below(turns.len()));
                said += 1;
                turns[0] = format!("turn {said}");
            }
            (13, Some(id)) => drop(computer.sessions.remove(&id)),
            (14 | 15, _) => computer.network.repeat(),
            (16, _) if operation % 3 == 0 => backup = model.backup(),
            (17, _) if operation % 9 == 0 => {
                model.restore(&backup, Uuid::from_u128(1_000 + operation as u128));
                // Places of requests that the backup has not are behind those that come.
                computers.iter().for_each(|computer| computer.network.old.borrow_mut().clear());
            }
            _ => {
                said += 1;
                let id = EpisodeId::derive("claude-code", &format!("session {said}"));
                computer.sessions.insert(id, vec![format!("turn {said}")]);
            }
        }
    }
    for computer in &computers {
        computer.network.trouble.set(0);
        for _ in 0..3 {
            computer.network.repeat();
            computer.sync(&project);
        }
        let done = computer.sync(&project).unwrap();
        assert_eq!(done, SessionsSynced::default(), "seed {seed}: nothing is left to do");
    }
    let caller = &computers[0].network.caller;
    let there = wait(model.own_sessions(caller, PROJECT)).unwrap().sessions;
    let expected: BTreeMap<String, &Vec<String>> =
        computers.iter().flat_map(|computer| &computer.sessions).map(|(id, turns)| (id.to_string(), turns)).collect();
    assert_eq!(there.len(), expected.len(), "seed {seed}");
    for (id, turns) in expected {
        let part = wait(model.read_session(caller, PROJECT, &ReadSession { id: id.clone(), from: 0 }, NOW)).unwrap();
        let texts: Vec<&String> = part.turns.iter().map(|turn| &turn.text).collect();
        assert_eq!(texts, turns.iter().collect::<Vec<_>>(), "seed {seed}, session {id}");
    }
    // A project that is stopped leaves nothing.
    for computer in &computers {
        let (data, member) = (computer.data.path(), caller.me.member);
        let epoch = Some(wait(model.own_sessions(caller, PROJECT)).unwrap().epoch);
        take_back_all(&With { data, project: &project, member, epoch }, &computer.network).unwrap();
    }
    assert_eq!(wait(model.own_sessions(caller, PROJECT)).unwrap().sessions, [], "seed {seed}");
}

#[test]
fn server_ends_with_the_sessions_of_all_computers_and_nothing_else() {
    let seeds = std::env::var("YORE_TEST_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(2);
    (1..=seeds).for_each(run);
}
