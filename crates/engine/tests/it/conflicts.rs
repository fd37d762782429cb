//! Memories that cannot both hold: found, listed, settled, and taken back.

use yore_core::conflict::{ConflictKind, ConflictSeverity};
use yore_core::memory::{Lane, MemoryKind, Status};
use yore_core::operation::{Actor, Cause};
use yore_engine::{Distilled, DistilledItem, Engine, MemoryList, NewMemory, OpenConflict, Settlement};
use yore_testing::{Memory, SessionBuilder};

fn by(actor: Actor) -> Cause {
    Cause { actor, by: "test".to_owned(), input: None }
}

fn add(engine: &Engine, kind: MemoryKind, statement: &str, at: i64, actor: Actor) -> String {
    let mut new = NewMemory::new(kind, statement);
    new.memory.valid_from = Some(at);
    new.memory.lane = if actor == Actor::Person { Lane::Curated } else { Lane::Extracted };
    new.entities = vec!["gallery".to_owned()];
    engine.add_memory(&new, &by(actor)).unwrap().memory.to_string()
}

fn open(memory: &Memory) -> Vec<OpenConflict> {
    memory.engine().conflicts(&[], 100).unwrap()
}

fn statuses(memory: &Memory) -> Vec<(String, Status)> {
    let mut all = memory.engine().memories(&MemoryList { limit: 100, ..MemoryList::default() }).unwrap();
    all.sort_by_key(|stored| stored.memory.valid_from);
    all.into_iter().map(|stored| (stored.memory.statement, stored.memory.status)).collect()
}

const EIGHT: &str = "The gallery has 8 cards.";
const TEN: &str = "There are 10 cards in the gallery.";

#[test]
fn two_values_of_one_thing_contradict_each_other_and_what_happened_does_not() {
    let memory = Memory::new();
    let engine = memory.engine();
    let older = add(engine, MemoryKind::Fact, EIGHT, 1_000, Actor::Agent);
    let newer = add(engine, MemoryKind::Fact, TEN, 2_000, Actor::Agent);
    add(engine, MemoryKind::Event, "The gallery got 12 cards for the demo.", 3_000, Actor::Agent);
    add(engine, MemoryKind::Fact, "The gallery has about 10.2 cards on a phone.", 4_000, Actor::Agent);
    let found = open(&memory);
    let told: Vec<_> =
        found.iter().map(|one| (one.older.memory.statement.as_str(), one.newer.memory.statement.as_str())).collect();
    assert!(told.contains(&(EIGHT, TEN)), "{told:?}");
    assert!(told.iter().all(|(_, newer)| !newer.contains("demo")), "{told:?}");
    let one = found.iter().find(|one| one.newer.memory.statement == TEN).unwrap();
    let conflict = one.conflict.as_ref().unwrap();
    assert_eq!((conflict.kind, one.severity()), (ConflictKind::Value, ConflictSeverity::Major));
    assert_eq!(conflict.values.as_ref().unwrap(), &["8".to_owned(), "10".to_owned()]);
    assert_eq!(one.advice().map(|(id, _)| id.to_string()), Some(newer.clone()));
    assert_eq!(one.older.memory.id.to_string(), older);
    assert_eq!(one.older.memory.status, Status::Holds, "nothing is retired");
}

#[test]
fn a_conflict_is_settled_by_one_operation_that_can_be_taken_back_exactly() {
    let memory = Memory::new();
    let engine = memory.engine();
    let (older, newer) =
        (add(engine, MemoryKind::Fact, EIGHT, 1_000, Actor::Agent), add(engine, MemoryKind::Fact, TEN, 2_000, Actor::Agent));
    let before = (statuses(&memory), open(&memory));
    let keep = Settlement::Keep(newer.clone());
    let done = engine.settle_conflict(&older, &newer, &keep, Some("two cards were added"), &by(Actor::Person)).unwrap();
    assert_eq!(statuses(&memory), [(EIGHT.to_owned(), Status::Superseded), (TEN.to_owned(), Status::Holds)]);
    assert!(open(&memory).is_empty());
    let retired = engine.memories(&MemoryList { limit: 10, ..MemoryList::default() }).unwrap();
    let retired = retired.iter().find(|stored| stored.memory.statement == EIGHT).unwrap();
    assert_eq!((retired.memory.cause.as_deref(), retired.memory.valid_until), (Some("two cards were added"), Some(2_000)));
    engine.undo(done.operation.unwrap(), &by(Actor::Person)).unwrap();
    assert_eq!((statuses(&memory), open(&memory)), before);
    let both = Settlement::Both;
    let _ = engine.settle_conflict(&older, &newer, &both, Some("ten on the desktop"), &by(Actor::Person)).unwrap();
    assert!(statuses(&memory).iter().all(|(_, status)| *status == Status::Holds) && open(&memory).is_empty());
    assert!(engine.settle_conflict(&older, &newer, &keep, None, &by(Actor::Person)).is_err(), "it is settled");
    // The same again is no conflict any more.
    add(engine, MemoryKind::Fact, TEN, 2_000, Actor::Agent);
    assert!(open(&memory).is_empty());
}

#[test]
fn what_a_person_said_is_retired_only_by_a_person() {
    let memory = Memory::new();
    let engine = memory.engine();
    let own = add(engine, MemoryKind::Decision, "The gallery must use SQLite for cards.", 1_000, Actor::Person);
    let other = add(engine, MemoryKind::Decision, "The gallery must not use SQLite for cards.", 2_000, Actor::Agent);
    let found = open(&memory);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].conflict.as_ref().unwrap().kind, ConflictKind::Direct);
    assert_eq!(found[0].advice(), Some((found[0].older.memory.id, "a person said it")));
    let keep = Settlement::Keep(other.clone());
    let error = engine.settle_conflict(&own, &other, &keep, None, &by(Actor::Agent)).unwrap_err();
    assert_eq!(error.code(), "memory/of-person", "{error}");
    let _ = engine.settle_conflict(&own, &other, &keep, None, &by(Actor::Person)).unwrap();
    assert!(open(&memory).is_empty());
}

#[test]
fn a_statement_with_another_value_is_not_taken_for_a_repetition() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(1).cwd("/home/dev/quay");
    session.human("the tide gauge of the north quay polls every 30 seconds");
    session.human("the tide gauge of the north quay polls every 60 seconds");
    session.assistant("Done.");
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    let item = |line: u32, seconds: u32| DistilledItem {
        kind: "fact".to_owned(),
        statement: format!("The tide gauge of the north quay polls every {seconds} seconds."),
        line,
        quote: format!("polls every {seconds} seconds"),
        ..DistilledItem::default()
    };
    let distilled = Distilled {
        session: session.id().to_owned(),
        items: vec![item(1, 30), item(2, 60)],
        upto: Some(3),
        ..Distilled::default()
    };
    let report = memory.engine().record_distilled(&distilled).unwrap();
    assert_eq!((report.recorded, report.joined), (2, 0), "{report:?}");
    let found = open(&memory);
    assert_eq!(found.len(), 1);
    assert!(found[0].newer.memory.statement.contains("60"), "{found:?}");
    let again = memory.engine().record_distilled(&distilled).unwrap();
    assert_eq!((again.recorded, again.known), (0, 2), "read twice, kept once: {again:?}");
}
