//! Behaviour of every store with sessions: the stories run on the model and on PostgreSQL.

use std::time::Instant;

use uuid::Uuid;
use yore_core::text::{Question, Tokenizer};
use yore_team::model::Model;
use yore_team::store::{Caller, Quota, Store, StoreError};
use yore_team::wire::{FoundTurns, ReadSession, RequestOrder, Role, Search};

use crate::conformance::{QUOTA, stories};
use crate::database::{Database, block_on};
use crate::team::{NOW, admit, found, next, session, vector};

stories! {
    turns_are_found_by_words_and_by_meaning(QUOTA);
    session_grows_by_parts_and_its_end_is_replaced(QUOTA);
    removed_sessions_are_found_no_more(QUOTA);
    sessions_of_withdrawn_members_are_hidden(QUOTA);
    readers_search_and_share_nothing(QUOTA);
    quotas_bound_turns_and_their_bytes(Quota { turns: 3, turn_bytes: 40, projects: 1, ..QUOTA });
    audit_tells_who_read_and_not_what(QUOTA);
    rare_words_choose_what_common_words_rank(QUOTA);
    search_within_a_time_leaves_others_out(QUOTA);
    request_that_comes_late_undoes_nothing(QUOTA);
}

fn asked(question: &str) -> Search {
    Search { words: Question::parse(question, &mut Tokenizer::default()).terms, limit: 300, ..Search::default() }
}

/// Searches project `p`, and returns what is found as `name: text`.
async fn search(store: &impl Store, caller: &Caller, search: &Search) -> Vec<String> {
    let found = store.search(caller, "p", search, NOW).await.unwrap();
    lines(&found)
}

fn lines(found: &FoundTurns) -> Vec<String> {
    found.found.iter().map(|turn| format!("{}: {}", found.sessions[turn.session].name, turn.turn.text)).collect()
}

async fn turns_are_found_by_words_and_by_meaning<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    let own = [session(1, 0, &["where do leases live", "Leases live in SQLite."])];
    store.share_sessions(&owner, "p", next(), &own, NOW).await.unwrap();
    store.share_sessions(&bob, "p", next(), &[session(1, 0, &["which cache do we use"])], NOW).await.unwrap();
    store.share_sessions(&bob, "q", next(), &[session(2, 0, &["leases of another project"])], NOW).await.unwrap();

    let answer = store.search(&owner, "p", &asked("the lease and the cache"), NOW).await.unwrap();
    assert_eq!((answer.turns, answer.words, answer.holding), (3, 15, vec![2, 1]));
    assert_eq!(search(&store, &bob, &asked("sqlite")).await, ["olga: Leases live in SQLite."]);
    assert_eq!(search(&store, &bob, &asked("nothing of the kind")).await, [""; 0]);
    // The nearest in meaning come with those that have the words.
    let near = Search { vector: Some(vector("which cache do we use")), limit: 1, ..asked("sqlite") };
    assert_eq!(search(&store, &owner, &near).await.len(), 2);
    assert_eq!(store.search(&owner, "unknown", &near, NOW).await.unwrap().found, []);
}

async fn session_grows_by_parts_and_its_end_is_replaced<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let mut first = session(1, 0, &["alpha", "beta"]);
    first.head.turns = 3;
    store.share_sessions(&owner, "p", next(), std::slice::from_ref(&first), NOW).await.unwrap();
    assert_eq!(store.own_sessions(&owner, "p").await.unwrap().sessions[0].digest, "", "a turn has not arrived");
    let gap = store.share_sessions(&owner, "p", next(), &[session(1, 3, &["delta"])], NOW).await;
    assert!(matches!(gap, Err(StoreError::Gap)));
    let rest = session(1, 1, &["gamma", "delta"]);
    for _ in 0..2 {
        store.share_sessions(&owner, "p", next(), std::slice::from_ref(&rest), NOW).await.unwrap();
    }
    let own = store.own_sessions(&owner, "p").await.unwrap();
    assert_eq!(own.sessions.as_slice(), std::slice::from_ref(&rest.head));
    let which = ReadSession { id: rest.head.id[..30].to_owned(), from: 1 };
    let part = store.read_session(&owner, "p", &which, NOW).await.unwrap();
    let texts: Vec<&str> = part.turns.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!((part.session.member, part.session.head, texts), (owner.me.member, rest.head, vec!["gamma", "delta"]));
    assert_eq!(search(&store, &owner, &asked("alpha beta gamma")).await, ["olga: alpha", "olga: gamma"]);
}

async fn removed_sessions_are_found_no_more<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    for caller in [&owner, &bob] {
        let both = [session(1, 0, &["alpha beta"]), session(2, 0, &["alpha gamma"])];
        store.share_sessions(caller, "p", next(), &both, NOW).await.unwrap();
    }
    let ids = [session(1, 0, &[]).head.id];
    store.remove_sessions(&bob, "p", next(), Some(&ids), NOW).await.unwrap();
    assert_eq!(search(&store, &bob, &asked("alpha")).await.len(), 3);
    store.remove_sessions(&bob, "p", next(), None, NOW).await.unwrap();
    store.remove_sessions(&bob, "p", next(), None, NOW).await.unwrap();
    assert_eq!(search(&store, &bob, &asked("alpha")).await, ["olga: alpha beta", "olga: alpha gamma"]);
    store.remove_sessions(&owner, "p", next(), None, NOW).await.unwrap();
    let answer = store.search(&bob, "p", &asked("alpha"), NOW).await.unwrap();
    assert_eq!((answer.turns, answer.words, answer.holding, answer.found.len()), (0, 0, vec![0], 0));
}

async fn sessions_of_withdrawn_members_are_hidden<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    let shared = session(1, 0, &["alpha"]);
    store.share_sessions(&bob, "p", next(), std::slice::from_ref(&shared), NOW).await.unwrap();
    store.withdraw(&owner, bob.me.member, true, NOW).await.unwrap();
    let near = Search { vector: Some(vector("alpha")), ..asked("alpha") };
    assert_eq!(search(&store, &owner, &near).await, [""; 0]);
    let which = ReadSession { id: shared.head.id, from: 0 };
    assert!(matches!(store.read_session(&owner, "p", &which, NOW).await, Err(StoreError::UnknownSession)));
    store.withdraw(&owner, bob.me.member, false, NOW).await.unwrap();
    assert_eq!(search(&store, &owner, &near).await, ["bob: alpha"]);
    assert_eq!(store.read_session(&owner, "p", &which, NOW).await.unwrap().turns.len(), 1);
}

async fn readers_search_and_share_nothing<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let rita = admit(&store, &owner, "rita", Role::Reader).await;
    store.share_sessions(&owner, "p", next(), &[session(1, 0, &["alpha"])], NOW).await.unwrap();
    let refused = store.share_sessions(&rita, "p", next(), &[session(1, 0, &["beta"])], NOW).await;
    assert!(matches!(refused, Err(StoreError::Role { .. })));
    assert_eq!(search(&store, &rita, &asked("alpha beta")).await, ["olga: alpha"]);
    let other = found(&store, 2).await;
    assert_eq!(search(&store, &other, &asked("alpha")).await, [""; 0], "teams are apart");
    store.leave(&rita, NOW).await.unwrap();
    assert!(matches!(store.search(&rita, "p", &asked("alpha"), NOW).await, Err(StoreError::Revoked)));
}

async fn quotas_bound_turns_and_their_bytes<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    store.share_sessions(&owner, "p", next(), &[session(1, 0, &["alpha", "beta"])], NOW).await.unwrap();
    for (project, refused, what) in [
        ("p", session(2, 0, &["gamma", "delta"]), "turns"),
        ("p", session(2, 0, &["a word of more than thirty bytes!"]), "bytes of sessions"),
        ("q", session(2, 0, &["gamma"]), "projects"),
    ] {
        let answer = store.share_sessions(&owner, project, next(), &[refused], NOW).await;
        assert!(matches!(answer, Err(StoreError::Quota(quota)) if quota == what), "{what}");
    }
    store.share_sessions(&owner, "p", next(), &[session(2, 0, &["gamma"])], NOW).await.unwrap();
    assert_eq!(search(&store, &owner, &asked("alpha beta gamma delta")).await.len(), 3);
}

async fn audit_tells_who_read_and_not_what<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    let shared = session(1, 0, &["alpha"]);
    store.share_sessions(&bob, "p", next(), std::slice::from_ref(&shared), NOW).await.unwrap();
    search(&store, &owner, &asked("alpha")).await;
    let which = ReadSession { id: shared.head.id, from: 0 };
    store.read_session(&owner, "p", &which, NOW).await.unwrap();
    store.remove_sessions(&bob, "p", next(), None, NOW).await.unwrap();
    let entries = store.audit(&owner, None, 4).await.unwrap();
    let told: Vec<(bool, &str, &str)> = (entries.iter())
        .map(|entry| (entry.member == Some(owner.me.member), entry.action.as_str(), entry.subject.as_str()))
        .collect();
    let expected = [
        (false, "remove-sessions", "p: 1 turns of 1 sessions"),
        (true, "read-session", "p: a session of bob@example.org"),
        (true, "search", "p"),
        (false, "share-sessions", "p: 1 turns of 1 sessions"),
    ];
    assert_eq!(told, expected);
}

async fn rare_words_choose_what_common_words_rank<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let texts: Vec<String> =
        (0..40).map(|n| format!("queue number {n} and a retry{}", if n == 7 { " of the lease" } else { "" })).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    store.share_sessions(&owner, "p", next(), &[session(1, 0, &texts)], NOW).await.unwrap();
    let best = Search { limit: 1, ..asked("lease of a queue") };
    assert_eq!(search(&store, &owner, &best).await, ["olga: queue number 7 and a retry of the lease"]);
}

async fn search_within_a_time_leaves_others_out<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    store.share_sessions(&owner, "p", next(), &[session(1, 0, &["alpha one", "alpha two", "alpha three"])], NOW).await.unwrap();
    let within = Search { since: Some(NOW + 1), until: Some(NOW + 2), vector: Some(vector("alpha three")), ..asked("alpha") };
    assert_eq!(search(&store, &owner, &within).await, ["olga: alpha two"]);
}

async fn request_that_comes_late_undoes_nothing<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let at = |sender: u128, number| RequestOrder { sender: Uuid::from_u128(sender), number };
    let (first, whole) = ([session(1, 0, &["alpha"])], [session(1, 0, &["alpha", "beta"])]);
    store.share_sessions(&owner, "p", at(1, 1), &first, NOW).await.unwrap();
    store.share_sessions(&owner, "p", at(1, 3), &whole, NOW).await.unwrap();
    for late in [1, 2, 3] {
        store.share_sessions(&owner, "p", at(1, late), &first, NOW).await.unwrap();
        store.remove_sessions(&owner, "p", at(1, late), None, NOW).await.unwrap();
    }
    assert_eq!(search(&store, &owner, &asked("alpha beta")).await.len(), 2);
    store.remove_sessions(&owner, "p", at(2, 1), None, NOW).await.unwrap();
    store.remove_sessions(&owner, "p", at(1, 9), None, NOW).await.unwrap();
    store.share_sessions(&owner, "p", at(1, 4), &whole, NOW).await.unwrap();
    assert_eq!(search(&store, &owner, &asked("alpha beta")).await, [""; 0], "it was removed after that was sent");
}

/// Numbers by a simple generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    /// Returns a word: the nth of 50,000 occurs about n times less often than the first.
    fn word(&mut self) -> String {
        let share = (self.below(1 << 24) as f64 / f64::from(1 << 24)).max(1e-7);
        format!("w{}", 50_000_f64.powf(share) as u64)
    }

    fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

/// Prints how fast turns are shared and searched, in a project of `YORE_TEST_TURNS` turns of 80 words. Run it alone, with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn speed_of_sharing_and_searching() {
    let turns: usize = std::env::var("YORE_TEST_TURNS").ok().and_then(|turns| turns.parse().ok()).unwrap_or(20_000);
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = database.store(Quota::default()).await;
        let owner = found(&store, 1).await;
        let mut numbers = Numbers(1);
        let start = Instant::now();
        for number in 0..turns / 500 {
            let texts: Vec<String> = (0..500).map(|_| numbers.text(80)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            store.share_sessions(&owner, "p", next(), &[session(number as u128, 0, &texts)], NOW).await.unwrap();
        }
        println!("{turns} turns shared: {:.0} a second", turns as f64 / start.elapsed().as_secs_f64());
        database.admin().await.batch_execute("vacuum analyze").await.unwrap();
        for (what, has_words, has_vector) in [("words", true, false), ("meaning", false, true), ("both", true, true)] {
            let mut times = Vec::new();
            for n in 0..200 {
                let text = numbers.text(10);
                let words = if has_words { text.split(' ').map(str::to_owned).collect() } else { Vec::new() };
                let search = Search { words, vector: has_vector.then(|| vector(&text)), limit: 200, ..Search::default() };
                let start = Instant::now();
                store.search(&owner, "p", &search, NOW).await.unwrap();
                if n >= 20 {
                    times.push(start.elapsed().as_secs_f64() * 1e3);
                }
            }
            times.sort_by(f64::total_cmp);
            println!("search by {what}: p50 {:.1} ms, p95 {:.1} ms", times[times.len() / 2], times[times.len() * 95 / 100]);
        }
    });
}
