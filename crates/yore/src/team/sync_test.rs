//! Members with two computers each, random work, and a network that loses, repeats and reorders, computers that leave, and a server that
//! is restored from a backup: nothing is lost, nothing is there twice, and in the end all copies are equal.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::PathBuf;

use uuid::Uuid;
use yore_core::id::MemoryId;
use yore_core::memory::MemoryKind;
use yore_team::model::Model;
use yore_team::store::{Caller, Newcomer, Store, StoredInvite};
use yore_team::wire::{MOST_RECORDS, Outcome, Pulled, Push, Pushed, Role, name_of};
use yore_testing::Random;

use super::outgoing::{Outgoing, Text};
use super::remote::{Remote, RemoteError};
use super::sync::sync;
use crate::config::SharedLevel;
use crate::shared::file::SharedMemory;
use crate::shared::mirror::{self, Mirror, TeamProject};

const MEMBERS: usize = 4;
const COMPUTERS: usize = 2;
const OPERATIONS: usize = 1_000;
const DAY_MS: i64 = 86_400_000;

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn text(statement: &str) -> Text {
    Text::of(SharedMemory { kind: MemoryKind::Fact, statement: statement.to_owned(), ..SharedMemory::default() })
}

/// A computer's way to the server.
struct Network<'a> {
    model: &'a Model,
    caller: Caller,
    random: RefCell<Random>,
    /// Percentage of messages that get lost, or come again.
    trouble: usize,
    /// Requests of this computer that were sent once.
    old: RefCell<Vec<Push>>,
}

impl Network<'_> {
    fn has_trouble(&self) -> bool {
        self.random.borrow_mut().below(100) < self.trouble
    }

    fn lost() -> RemoteError {
        RemoteError::Unreachable { server: "https://yore.example".to_owned(), why: "lost".to_owned() }
    }

    /// Nodes have clocks that are a day apart.
    fn now(&self) -> i64 {
        1_800_000_000_000 + (self.random.borrow_mut().below(2) as i64) * DAY_MS
    }

    fn make(&self, project: &str, push: &Push) -> Vec<Outcome> {
        wait(self.model.push(&self.caller, project, &push.operations, self.now())).unwrap()
    }
}

impl Remote for Network<'_> {
    fn push(&self, project: &str, push: &Push) -> Result<Pushed, RemoteError> {
        if self.has_trouble() {
            return Err(Self::lost());
        }
        // One that a proxy held back arrives late, or arrives twice.
        if self.has_trouble() {
            let late = self.old.borrow().get(self.random.borrow_mut().below(1 + self.old.borrow().len())).cloned();
            late.iter().for_each(|late| drop(self.make(project, late)));
        }
        self.old.borrow_mut().push(push.clone());
        let outcomes = self.make(project, push);
        if self.has_trouble() {
            assert_eq!(self.make(project, push), outcomes, "the same request has the same outcome");
        }
        if self.has_trouble() { Err(Self::lost()) } else { Ok(Pushed { outcomes }) }
    }

    fn pull(&self, project: &str, after: u64) -> Result<Pulled, RemoteError> {
        if self.has_trouble() {
            return Err(Self::lost());
        }
        let limit = 1 + self.random.borrow_mut().below(MOST_RECORDS.min(7));
        Ok(wait(self.model.pull(&self.caller, project, after, limit)).unwrap())
    }

    fn foreign(&self) -> RemoteError {
        RemoteError::Foreign { server: "https://yore.example".to_owned() }
    }
}

/// A computer with its memories.
struct Computer<'a> {
    data: PathBuf,
    network: Network<'a>,
    outgoing: Outgoing,
    forgotten: Vec<MemoryId>,
    /// Names of texts that were said once, got to the server, and were forgotten for good.
    dead: BTreeSet<String>,
}

impl Computer<'_> {
    fn sync(&self, project: &TeamProject) -> bool {
        let plan = |mirror: &mut Mirror| {
            self.outgoing.plan(mirror, SharedLevel::Memories, &self.forgotten);
            Ok(())
        };
        sync(&self.data, project, &self.network.caller.me, &self.network, plan).is_ok()
    }

    /// The computer leaves the team and joins again, or the project is stopped and shared again.
    fn begin_anew(&self, project: &TeamProject) {
        // Its token is revoked.
        self.network.old.borrow_mut().clear();
        mirror::write_mirror(&self.data, project, &self.mirror(project).without_texts()).unwrap();
    }

    /// The person takes a memory back that is shared from here.
    fn take_back(&self, project: &TeamProject, id: MemoryId) {
        let mut mirror = self.mirror(project);
        if let (true, Some(text)) = (mirror.sent.contains_key(&id), self.outgoing.texts.get(&id)) {
            mirror.withheld.insert(text.claim.clone());
            mirror.take_back(id, true);
            mirror::write_mirror(&self.data, project, &mirror).unwrap();
        }
    }

    fn mirror(&self, project: &TeamProject) -> Mirror {
        mirror::mirror(&self.data, project).unwrap()
    }
}

#[test]
fn random_work_over_a_bad_network_loses_nothing_and_ends_with_equal_copies() {
    for seed in 0..3 {
        run(seed, false);
    }
}

#[test]
fn a_restored_server_gets_back_what_it_lost_and_nothing_that_was_taken_back_or_forgotten() {
    for seed in 0..3 {
        run(seed, true);
    }
}

#[test]
fn words_that_were_taken_back_are_not_shared_as_a_memory_of_another_kind() {
    let of = |kind| Text::of(SharedMemory { kind, statement: "The crane is green.".to_owned(), ..SharedMemory::default() });
    let mut mirror = Mirror::default();
    mirror.withheld.insert(of(MemoryKind::Fact).claim);
    let texts = BTreeMap::from([(MemoryId::from_bytes([1; 16]), of(MemoryKind::Decision))]);
    Outgoing { texts, ..Outgoing::default() }.plan(&mut mirror, SharedLevel::Memories, &[]);
    assert_eq!((mirror.waiting, mirror.sent), (Vec::new(), BTreeMap::new()));
}

/// `restores`: in the middle, the server is restored from a backup.
fn run(seed: u64, restores: bool) {
    let directory = tempfile::tempdir().unwrap();
    let model = Model::default();
    let team = Uuid::from_u128(7);
    let email = |at: usize| format!("member{}@tides.example", at / COMPUTERS);
    let invite = |at: usize, role| StoredInvite { hash: [at as u8; 32], role, email: Some(email(at)), expires: i64::MAX };
    wait(model.create_team(team, "tide", &invite(0, Role::Owner), 0)).unwrap();
    let project = TeamProject {
        key: "tides.example/tide".to_owned(),
        root: PathBuf::from("tide"),
        team,
        name: "tide".to_owned(),
        level: SharedLevel::Memories,
        is_stopped: false,
    };
    let mut computers: Vec<Computer<'_>> = Vec::new();
    for at in 0..MEMBERS * COMPUTERS {
        let (member, token) = (at / COMPUTERS, [100 + at as u8; 32]);
        if let Some(first) = computers.first() {
            let role = if member == 0 { Role::Owner } else { Role::Member };
            wait(model.invite(&first.network.caller, &invite(at, role), 0)).unwrap();
        }
        let newcomer = Newcomer {
            invite: [at as u8; 32],
            token,
            name: format!("Member {member}"),
            email: email(at),
            computer: format!("computer {at}"),
        };
        wait(model.join(team, &newcomer, 0)).unwrap().unwrap();
        let caller = wait(model.authenticate(team, token)).unwrap().unwrap();
        let random = RefCell::new(Random::new(seed * 1_000 + at as u64));
        let network = Network { model: &model, caller, random, trouble: 15, old: RefCell::default() };
        let data = directory.path().join(at.to_string());
        std::fs::create_dir(&data).unwrap();
        mirror::write_projects(&data, std::slice::from_ref(&project)).unwrap();
        computers.push(Computer { data, network, outgoing: Outgoing::default(), forgotten: Vec::new(), dead: BTreeSet::new() });
    }
    let mut random = Random::new(seed);
    let mut id = 0_u128;
    let mut backup = None;
    for operation in 0..OPERATIONS {
        if restores && operation == OPERATIONS / 3 {
            backup = Some(model.backup());
        } else if restores && operation == OPERATIONS * 2 / 3 {
            model.restore(backup.as_ref().unwrap(), Uuid::from_u128(operation as u128));
            // A request from before is another one for a server that never had it.
            computers.iter().for_each(|computer| computer.network.old.borrow_mut().clear());
        }
        let at = random.below(computers.len());
        let computer = &mut computers[at];
        let ids: Vec<MemoryId> = computer.outgoing.texts.keys().copied().collect();
        let statement =
            |random: &mut Random| text(&format!("Berth {} is dredged in week {}.", random.below(40), random.below(3)));
        match random.below(10) {
            0..=2 => {
                id += 1;
                // Half of them are said once.
                let said = if random.below(2) == 0 { statement(&mut random) } else { text(&format!("Buoy {id} is green.")) };
                computer.outgoing.texts.insert(MemoryId::from_bytes(id.to_be_bytes()), said);
            }
            3 if !ids.is_empty() => {
                computer.outgoing.texts.insert(*random.pick(&ids), statement(&mut random));
            }
            4 if !ids.is_empty() => {
                computer.outgoing.texts.remove(random.pick(&ids));
            }
            5 if !ids.is_empty() && random.below(4) == 0 => {
                let gone = *random.pick(&ids);
                let said = computer.outgoing.texts.remove(&gone).unwrap().text;
                let pulled = wait(model.pull(&computer.network.caller, &project.name, 0, usize::MAX)).unwrap();
                let is_there = pulled.records.iter().any(|record| record.text.as_ref() == Some(&said));
                if said.contains("Buoy") && is_there {
                    computer.dead.insert(name_of(&said));
                }
                computer.forgotten.push(gone);
            }
            6 if !ids.is_empty() && random.below(4) == 0 => computer.take_back(&project, *random.pick(&ids)),
            7 if random.below(20) == 0 => {
                let member = computers[random.below(MEMBERS * COMPUTERS)].network.caller.me.member;
                wait(model.withdraw(&computers[0].network.caller, member, random.below(2) == 0, 0)).unwrap();
            }
            8 if random.below(10) == 0 => computer.begin_anew(&project),
            _ => {
                computer.sync(&project);
            }
        }
    }
    computers.iter_mut().for_each(|computer| computer.network.trouble = 0);
    for _ in 0..5 {
        computers.iter().for_each(|computer| assert!(computer.sync(&project)));
    }
    check(&computers, &project, &model, restores);
}

fn check(computers: &[Computer<'_>], project: &TeamProject, model: &Model, was_restored: bool) {
    let mirrors: Vec<Mirror> = computers.iter().map(|computer| computer.mirror(project)).collect();
    let pulled = wait(model.pull(&computers[0].network.caller, &project.name, 0, usize::MAX)).unwrap();
    let held: BTreeSet<(String, Uuid)> =
        pulled.records.iter().filter(|record| record.text.is_some()).map(|record| (record.name.clone(), record.member)).collect();
    let forgotten: BTreeSet<&String> = mirrors.iter().flat_map(|mirror| &mirror.forgotten).collect();
    for mirror in &mirrors {
        assert_eq!(mirror.members, mirrors[0].members);
        assert_eq!(mirror.after, mirrors[0].after);
        assert_eq!(mirror.waiting, []);
        assert_eq!(mirror.owed.iter().find(|name| !mirror.forgotten.contains(*name)), None);
        let copied = mirror.records.iter().flat_map(|(name, by)| by.keys().map(|member| (name.clone(), *member)));
        let missing: Vec<_> = held.difference(&copied.clone().collect()).cloned().collect();
        assert!(missing.iter().all(|(name, _)| mirror.forgotten.contains(name)), "{missing:?} are missing in a copy");
        assert_eq!(copied.filter(|copied| !held.contains(copied)).collect::<Vec<_>>(), []);
        // Others may share what was forgotten before a backup was restored, if they say it too.
        if !was_restored {
            assert_eq!(mirror.forgotten, mirrors[0].forgotten, "what is forgotten is forgotten everywhere");
            assert!(held.iter().all(|(name, _)| !mirror.forgotten.contains(name)), "nothing forgotten is shared");
        }
    }
    assert!(!held.is_empty() && !forgotten.is_empty(), "the test did something");
    let mut said: BTreeMap<Uuid, BTreeSet<String>> = BTreeMap::new();
    for (computer, mirror) in computers.iter().zip(&mirrors) {
        let member = computer.network.caller.me.member;
        for (name, claim) in computer.outgoing.texts.values().map(|text| (name_of(&text.text), &text.claim)) {
            let is_withheld = mirror.withheld.contains(&name) || mirror.withheld.contains(claim);
            let is_kept_back = is_withheld || mirror.forgotten.contains(&name) || mirror.refused.contains_key(&name);
            assert!(held.contains(&(name.clone(), member)) || is_kept_back, "{name} of {member} is lost");
            said.entry(member).or_default().insert(name);
        }
    }
    for (name, member) in &held {
        assert!(said.get(member).is_some_and(|said| said.contains(name)), "{name} of {member} is said by nobody");
    }
    let dead = computers.iter().flat_map(|computer| &computer.dead);
    for name in dead {
        let held = mirrors.iter().filter(|mirror| !mirror.forgotten.contains(name)).count();
        assert_eq!(held, 0, "{name} was shared and forgotten for good, and {held} copies do not know it");
    }
}
