//! Several nodes at once on one database, and a database that crashes: nothing is lost or made twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use yore_team::postgres::Postgres;
use yore_team::store::{Caller, Quota, Store, StoreError};
use yore_team::wire::{Operation, Outcome, Record, Role};

use crate::database::{Database, Server, block_on};
use crate::team::{NOW, add, admit, found, take_back};

/// Pulls pages until a flag is set and all is read. Returns the records as a member's computer has them at the end.
async fn follow(store: Arc<Postgres>, caller: Caller, is_over: Arc<AtomicBool>) -> BTreeMap<(String, uuid::Uuid), Record> {
    let mut copy = BTreeMap::new();
    let mut after = 0;
    loop {
        let was_over = is_over.load(Ordering::SeqCst);
        let page = match store.pull(&caller, "p", after, 7).await {
            Err(StoreError::Unavailable(_)) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
            page => page.unwrap(),
        };
        for record in page.records {
            assert!(record.seq > after, "numbers increase");
            after = record.seq;
            copy.insert((record.name.clone(), record.member), record);
        }
        assert_eq!(page.last, after);
        if was_over && page.is_complete {
            return copy;
        }
    }
}

/// Pushes operations in batches, each again until the database answers.
async fn push_all(store: &Postgres, caller: &Caller, operations: &[Operation], size: usize) -> u32 {
    let mut failures = 0;
    for batch in operations.chunks(size) {
        loop {
            match store.push(caller, "p", batch, NOW).await {
                Err(StoreError::Unavailable(_)) => {
                    failures += 1;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                outcomes => {
                    assert_eq!(outcomes.unwrap(), vec![Outcome::Done; batch.len()]);
                    break;
                }
            }
        }
    }
    failures
}

/// Checks that each operation was made once and that the follower has all of it.
async fn assert_whole(store: &Postgres, caller: &Caller, count: usize, copy: BTreeMap<(String, uuid::Uuid), Record>) {
    let mut records = Vec::new();
    let mut after = 0;
    loop {
        let page = store.pull(caller, "p", after, 1_000).await.unwrap();
        records.extend(page.records);
        after = page.last;
        if page.is_complete {
            break;
        }
    }
    let numbers: Vec<u64> = records.iter().map(|record| record.seq).collect();
    assert_eq!(numbers, Vec::from_iter(1..=count as u64), "each operation made one change");
    let texts: BTreeSet<_> = records.iter().map(|record| record.text.clone().unwrap()).collect();
    assert_eq!(texts, (0..count).map(|n| format!("text {n}")).collect());
    let mut copied: Vec<Record> = copy.into_values().collect();
    copied.sort_by_key(|record| record.seq);
    assert_eq!(copied, records, "the follower missed nothing");
    assert_eq!(store.problems().await.unwrap(), Vec::<String>::new());
}

fn operations(count: usize) -> Vec<Operation> {
    (0..count).map(|n| add(n as u128, &format!("text {n}"))).collect()
}

#[test]
fn two_nodes_push_the_same_operations_while_others_pull() {
    const COUNT: usize = 1_200;
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let nodes = [Arc::new(database.store(Quota::default()).await), Arc::new(database.store(Quota::default()).await)];
        let owner = found(&*nodes[0], 1).await;
        let bob = admit(&*nodes[0], &owner, "bob", Role::Member).await;
        let is_over = Arc::new(AtomicBool::new(false));
        let followers = nodes.clone().map(|node| tokio::spawn(follow(node, owner.clone(), is_over.clone())));
        // Each task has three eighths of the operations, so that every one is pushed by three tasks, in batches of other sizes.
        let all = operations(COUNT);
        let tasks: Vec<_> = (0..8)
            .map(|task| {
                let mut own: Vec<Operation> = all.iter().cycle().skip(task * COUNT / 8).take(COUNT * 3 / 8).cloned().collect();
                if task % 2 == 1 {
                    own.reverse();
                }
                let (node, bob) = (nodes[task % 2].clone(), bob.clone());
                tokio::spawn(async move { push_all(&node, &bob, &own, 20 + task * 7).await })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), 0, "nothing failed");
        }
        is_over.store(true, Ordering::SeqCst);
        for follower in followers {
            assert_whole(&nodes[0], &owner, COUNT, follower.await.unwrap()).await;
        }
    });
}

#[test]
fn operations_are_made_once_across_projects() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = Arc::new(database.store(Quota::default()).await);
        let owner = found(&*store, 1).await;
        // Nothing orders these but the operations themselves; each round creates projects at once.
        for round in 0..10 {
            let batch: Vec<Operation> = (0..30).map(|n| add(round * 100 + n, &format!("text {n}"))).collect();
            let tasks: Vec<_> = (0..6)
                .map(|task| {
                    let (store, owner, mut batch) = (store.clone(), owner.clone(), batch.clone());
                    if task % 2 == 1 {
                        batch.reverse();
                    }
                    let project = format!("p {round} {}", task / 2);
                    tokio::spawn(async move { store.push(&owner, &project, &batch, NOW).await.unwrap() })
                })
                .collect();
            for task in tasks {
                assert_eq!(task.await.unwrap(), vec![Outcome::Done; 30]);
            }
        }
        let projects = store.projects(&owner).await.unwrap();
        assert_eq!(projects.iter().map(|project| project.texts).sum::<u64>(), 300, "{projects:?}");
        assert_eq!(store.problems().await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn team_over_a_lowered_quota_can_shrink() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = database.store(Quota::default()).await;
        let owner = found(&store, 1).await;
        store.push(&owner, "p", &operations(5), NOW).await.unwrap();
        let store = database.store(Quota { texts: 2, bytes: 10, ..Quota::default() }).await;
        assert_eq!(store.push(&owner, "p", &[take_back(10, "text 0")], NOW).await.unwrap(), [Outcome::Done]);
        let refusal = store.push(&owner, "p", &[add(11, "text 0")], NOW).await;
        assert!(matches!(refusal, Err(StoreError::Quota("texts"))), "{refusal:?}");
    });
}

#[test]
fn callers_that_go_away_leave_nothing_half_done() {
    const COUNT: usize = 600;
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = Arc::new(database.store(Quota::default()).await);
        let owner = found(&*store, 1).await;
        let is_over = Arc::new(AtomicBool::new(false));
        let follower = tokio::spawn(follow(store.clone(), owner.clone(), is_over.clone()));
        let all = operations(COUNT);
        let mut broken_off = 0;
        for (n, batch) in all.chunks(10).enumerate() {
            let wait = Duration::from_micros(80 * (n as u64 % 20).pow(2));
            broken_off += u32::from(tokio::time::timeout(wait, store.push(&owner, "p", batch, NOW)).await.is_err());
        }
        assert!(broken_off > 0);
        assert_eq!(push_all(&store, &owner, &all, 50).await, 0);
        is_over.store(true, Ordering::SeqCst);
        let copy = follower.await.unwrap();
        assert_eq!(copy.len(), COUNT);
        assert_eq!(store.problems().await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn crash_of_the_database_loses_nothing() {
    const COUNT: usize = 3_000;
    let Some(server) = Server::start() else { return };
    block_on(async {
        let database = server.database().await;
        let store = Arc::new(database.store(Quota::default()).await);
        let owner = found(&*store, 1).await;
        let is_over = Arc::new(AtomicBool::new(false));
        let follower = tokio::spawn(follow(store.clone(), owner.clone(), is_over.clone()));
        let pushers: Vec<_> = (0..3)
            .map(|_| {
                let (store, owner) = (store.clone(), owner.clone());
                tokio::spawn(async move { push_all(&store, &owner, &operations(COUNT), 40).await })
            })
            .collect();
        let server = Arc::new(server);
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(250)).await;
            let server = server.clone();
            let crash = move || {
                server.kill();
                assert_eq!(server.resume(), server.url);
            };
            tokio::task::spawn_blocking(crash).await.unwrap();
        }
        let mut failures = 0;
        for pusher in pushers {
            failures += pusher.await.unwrap();
        }
        assert!(failures > 0, "no push met a crash");
        is_over.store(true, Ordering::SeqCst);
        assert_whole(&store, &owner, COUNT, follower.await.unwrap()).await;
    });
}

#[test]
fn database_that_is_away_is_reported_as_such() {
    let Some(server) = Server::start() else { return };
    block_on(async {
        let store = server.database().await.store(Quota::default()).await;
        let owner = found(&store, 1).await;
        server.kill();
        let results = [
            store.ping().await.err(),
            store.authenticate(owner.me.team, owner.token).await.err(),
            store.push(&owner, "p", &[add(1, "a")], NOW).await.err(),
        ];
        for result in results {
            assert!(matches!(result, Some(StoreError::Unavailable(_))), "{result:?}");
        }
        server.resume();
        assert_eq!(store.push(&owner, "p", &[add(1, "a")], NOW).await.unwrap(), [Outcome::Done]);
    });
}

/// Prints how many operations a second one node makes. Run it alone, with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn speed_of_push_and_pull() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = Arc::new(database.store(Quota::default()).await);
        let owner = found(&*store, 1).await;
        let text = |n: usize| format!("text {n}: {}", "a memory of some length. ".repeat(20));
        let mut next = 0;
        for size in [1, 10, 100, 500] {
            let batches: Vec<Vec<Operation>> = (0..(10_000 / size).min(400))
                .map(|_| {
                    (0..size)
                        .map(|_| {
                            next += 1;
                            add(next as u128, &text(next))
                        })
                        .collect()
                })
                .collect();
            let start = Instant::now();
            for batch in &batches {
                store.push(&owner, "p", batch, NOW).await.unwrap();
            }
            let seconds = start.elapsed().as_secs_f64();
            println!("push in batches of {size}: {:.0} operations/s", (batches.len() * size) as f64 / seconds);
            let start = Instant::now();
            for batch in &batches {
                store.push(&owner, "p", batch, NOW).await.unwrap();
            }
            println!("  the same again: {:.0} operations/s", (batches.len() * size) as f64 / start.elapsed().as_secs_f64());
        }
        for limit in [100, 1_000] {
            let start = Instant::now();
            let (mut after, mut count) = (0, 0);
            loop {
                let page = store.pull(&owner, "p", after, limit).await.unwrap();
                count += page.records.len();
                after = page.last;
                if page.is_complete {
                    break;
                }
            }
            println!("pull in pages of {limit}: {:.0} records/s", count as f64 / start.elapsed().as_secs_f64());
        }
        let start = Instant::now();
        for _ in 0..1_000 {
            store.authenticate(owner.me.team, owner.token).await.unwrap();
        }
        println!("authenticate: {:.2} ms", start.elapsed().as_secs_f64());
    });
}
