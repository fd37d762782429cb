//! Memories that cannot both hold: found, listed, settled, and taken back.

use yore_core::conflict::{Aspect, ConflictKind, ConflictSeverity, StatedValue};
use yore_core::memory::{Lane, MemoryKind, Status};
use yore_core::operation::{Actor, Cause};
use yore_engine::{Distilled, DistilledItem, Engine, MemoryEdit, MemoryList, NewMemory, OpenConflict, Settlement};
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

const EIGHT: &str = "The gallery has 8 cards on the first page.";
const TEN: &str = "There are 10 cards in the gallery.";
const MAIN: &str = "The default branch of the quay is main.";
const TRUNK: &str = "The default branch of the quay is trunk.";

fn status_of(memory: &Memory, id: &str) -> Status {
    memory.engine().memory(id).unwrap().memory.status
}

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
    let all = statuses(&memory);
    let of = |seconds: &str| all.iter().find(|(statement, _)| statement.contains(seconds)).unwrap().1;
    assert_eq!((of("30"), of("60")), (Status::Superseded, Status::Holds), "{all:?}");
    let again = memory.engine().record_distilled(&distilled).unwrap();
    assert_eq!((again.recorded, again.known), (0, 2), "read twice, kept once: {again:?}");
}

#[test]
fn a_newer_value_of_one_subject_takes_the_place_of_the_older_and_says_why_whatever_their_order() {
    for is_reversed in [false, true] {
        let memory = Memory::new();
        let engine = memory.engine();
        let mut given = [(MAIN, 1_000), (TRUNK, 2_000)];
        if is_reversed {
            given.reverse();
        }
        let ids: Vec<String> =
            given.iter().map(|(statement, at)| add(engine, MemoryKind::Fact, statement, *at, Actor::Agent)).collect();
        let (older, newer) = if is_reversed { (&ids[1], &ids[0]) } else { (&ids[0], &ids[1]) };
        let retired = engine.memory(older).unwrap().memory;
        assert_eq!((retired.status, retired.valid_until), (Status::Superseded, Some(2_000)));
        assert_eq!(retired.cause.as_deref(), Some("newer: main has another value since"));
        assert_eq!(status_of(&memory, newer), Status::Holds);
        assert!(open(&memory).is_empty());
        // The statement and what it retired are one operation.
        let last = engine.operations(None, None, 1).unwrap()[0].number;
        engine.undo(last, &by(Actor::Person)).unwrap();
        assert_eq!(engine.memories(&MemoryList { limit: 10, ..MemoryList::default() }).unwrap().len(), 1);
        assert_eq!(status_of(&memory, &ids[0]), Status::Holds);
    }
}

#[test]
fn nothing_is_retired_where_time_scope_or_authority_is_not_certain() {
    let memory = Memory::new();
    let engine = memory.engine();
    // At one time; an event; under a condition; in another place.
    for (kind, statement, at) in [
        (MemoryKind::Fact, TRUNK, 1_000),
        (MemoryKind::Event, TRUNK, 2_000),
        (MemoryKind::Fact, "If the mirror is on, the default branch of the quay is trunk.", 3_000),
        (MemoryKind::Fact, "The default branch of the quay in staging is trunk.", 4_000),
    ] {
        let first = add(engine, MemoryKind::Fact, MAIN, 1_000, Actor::Agent);
        add(engine, kind, statement, at, Actor::Agent);
        assert_eq!(status_of(&memory, &first), Status::Holds, "{statement} at {at}");
    }
    // A pinned memory stays.
    let pinned = add(engine, MemoryKind::Fact, "The quay port is 8080.", 1_000, Actor::Agent);
    let _ = engine.pin_memory(&pinned, true, &by(Actor::Person)).unwrap();
    add(engine, MemoryKind::Fact, "The quay port is 9090.", 2_000, Actor::Agent);
    assert_eq!(status_of(&memory, &pinned), Status::Holds);
}

#[test]
fn what_an_agent_says_against_a_person_is_contested_until_that_is_settled_or_the_other_is_gone() {
    let memory = Memory::new();
    let engine = memory.engine();
    let own = add(engine, MemoryKind::Fact, MAIN, 1_000, Actor::Person);
    let other = add(engine, MemoryKind::Fact, TRUNK, 2_000, Actor::Agent);
    assert_eq!((status_of(&memory, &own), status_of(&memory, &other)), (Status::Holds, Status::Contested));
    assert_eq!(open(&memory).len(), 1);
    let before = statuses(&memory);
    let wrong = engine.invalidate_memory(&own, Some("it was renamed"), &by(Actor::Person)).unwrap();
    assert_eq!(status_of(&memory, &other), Status::Holds, "nothing speaks against it any more");
    engine.undo(wrong.operation.unwrap(), &by(Actor::Person)).unwrap();
    assert_eq!(statuses(&memory), before);
    let keep = Settlement::Keep(other.clone());
    let settled = engine.settle_conflict(&own, &other, &keep, None, &by(Actor::Person)).unwrap();
    assert_eq!((status_of(&memory, &own), status_of(&memory, &other)), (Status::Superseded, Status::Holds));
    engine.undo(settled.operation.unwrap(), &by(Actor::Person)).unwrap();
    assert_eq!(statuses(&memory), before);
    // A person's newer word retires their older one, and the agent's.
    let newest = add(engine, MemoryKind::Fact, "The default branch of the quay is now next.", 3_000, Actor::Person);
    let all = [&own, &other, &newest].map(|id| status_of(&memory, id));
    assert_eq!(all, [Status::Superseded, Status::Superseded, Status::Holds]);
}

#[test]
fn what_becomes_true_again_has_an_interval_of_its_own_and_what_was_wrong_has_replaced_nothing() {
    let memory = Memory::new();
    let engine = memory.engine();
    let first = add(engine, MemoryKind::Fact, MAIN, 1_000, Actor::Agent);
    let second = add(engine, MemoryKind::Fact, TRUNK, 2_000, Actor::Agent);
    let third = add(engine, MemoryKind::Fact, MAIN, 3_000, Actor::Agent);
    assert_ne!(first, third);
    let intervals = [&first, &second, &third].map(|id| {
        let memory = engine.memory(id).unwrap().memory;
        (memory.status, memory.valid_from, memory.valid_until)
    });
    let replaced = |from, until| (Status::Superseded, Some(from), Some(until));
    assert_eq!(intervals, [replaced(1_000, 2_000), replaced(2_000, 3_000), (Status::Holds, Some(3_000), None)]);
    let before = statuses(&memory);
    let wrong = engine.invalidate_memory(&third, None, &by(Actor::Person)).unwrap();
    assert_eq!(status_of(&memory, &second), Status::Holds, "it holds again");
    engine.undo(wrong.operation.unwrap(), &by(Actor::Person)).unwrap();
    assert_eq!(statuses(&memory), before);
}

#[test]
fn subject_aspect_and_value_that_somebody_states_count_in_the_place_of_the_words() {
    let memory = Memory::new();
    let engine = memory.engine();
    let stated = |subject: &str, statement: &str, value: &str, at: i64, lane: Lane| {
        let mut new = NewMemory::new(MemoryKind::Decision, statement);
        (new.memory.valid_from, new.memory.lane) = (Some(at), lane);
        new.memory.asserts = Some(StatedValue { subject: subject.to_owned(), aspect: Aspect::Choice, value: value.to_owned() });
        let actor = if lane == Lane::Curated { Actor::Person } else { Actor::Agent };
        engine.add_memory(&new, &by(actor)).unwrap().memory.to_string()
    };
    let by_hand = "We ship the quay by hand over ssh every Friday.";
    let by_pipeline = "From now on the pipeline rolls the quay out through Fly.";
    let first = stated("deploys of the quay", by_hand, "ssh", 1_000, Lane::Curated);
    let second = stated("deploys of the quay", by_pipeline, "Fly", 2_000, Lane::Curated);
    assert_eq!((status_of(&memory, &first), status_of(&memory, &second)), (Status::Superseded, Status::Holds));
    // The agent's statement says more than the value, and the rest would be lost.
    let first = stated("deploys of the pier", &by_hand.replace("quay", "pier"), "ssh", 1_000, Lane::Extracted);
    let _ = stated("deploys of the pier", &by_pipeline.replace("quay", "pier"), "Fly", 2_000, Lane::Extracted);
    assert_eq!(status_of(&memory, &first), Status::Holds);
    let first = stated("deploys of the jetty", "The jetty is deployed over ssh.", "ssh", 1_000, Lane::Extracted);
    let _ = stated("deploys of the jetty", "Jetty deploys go through Fly.", "Fly", 2_000, Lane::Extracted);
    assert_eq!(status_of(&memory, &first), Status::Superseded);
    let rule = |statement: &str, at: i64| {
        let mut new = NewMemory::new(MemoryKind::Standard, statement);
        new.memory.valid_from = Some(at);
        new.memory.asserts =
            Some(StatedValue { subject: "errors".to_owned(), aspect: Aspect::Rule, value: statement.to_owned() });
        engine.add_memory(&new, &by(Actor::Person)).unwrap().memory.to_string()
    };
    let rules = [rule("Errors name the thing.", 1_000), rule("Errors name the remedy.", 2_000)];
    assert!(rules.iter().all(|id| status_of(&memory, id) == Status::Holds), "there may be many rules");
}

#[test]
fn what_two_agents_say_at_once_has_one_outcome_keeps_both_words_and_is_listed() {
    let memory = Memory::new();
    let engine = memory.engine();
    let wait = std::sync::Barrier::new(2);
    let say = |statement: &'static str| {
        wait.wait();
        add(engine, MemoryKind::Decision, statement, 1_000, Actor::Agent)
    };
    let ids = std::thread::scope(|scope| {
        let both = ["The gallery must use SQLite for cards.", "The gallery must not use SQLite for cards."];
        both.map(|statement| scope.spawn(move || say(statement))).map(|thread| thread.join().unwrap())
    });
    let mut found = ids.clone().map(|id| status_of(&memory, &id));
    found.sort();
    assert_eq!(found, [Status::Holds, Status::Contested], "the one that came second is not told as true");
    assert_eq!(open(&memory).len(), 1);
    let keep = Settlement::Keep(ids[0].clone());
    let _ = engine.settle_conflict(&ids[0], &ids[1], &keep, None, &by(Actor::Agent)).unwrap();
    assert_eq!(ids.map(|id| status_of(&memory, &id)), [Status::Holds, Status::Superseded]);
}

#[test]
fn what_is_no_longer_so_ends_what_was_said_before_it_and_not_what_is_said_after() {
    for (first, second, expected) in [
        (1_000, 2_000, [Status::Superseded, Status::Holds]),
        // It was taken up again.
        (3_000, 2_000, [Status::Holds, Status::Contested]),
    ] {
        let memory = Memory::new();
        let engine = memory.engine();
        let ids = [
            add(engine, MemoryKind::Fact, "The gallery uses Redis for the cards.", first, Actor::Agent),
            add(engine, MemoryKind::Fact, "The gallery no longer uses Redis for the cards.", second, Actor::Agent),
        ];
        assert_eq!(ids.map(|id| status_of(&memory, &id)), expected, "{first} {second}");
    }
}

#[test]
fn a_contested_memory_is_contested_no_more_when_it_is_corrected_and_history_contests_nothing() {
    let memory = Memory::new();
    let engine = memory.engine();
    add(engine, MemoryKind::Fact, MAIN, 1_000, Actor::Person);
    let other = add(engine, MemoryKind::Fact, TRUNK, 2_000, Actor::Agent);
    assert_eq!(status_of(&memory, &other), Status::Contested);
    let edit = MemoryEdit { statement: Some("The fork of the quay has trunk.".to_owned()), ..MemoryEdit::default() };
    let corrected = engine.edit_memory(&other, &edit, &by(Actor::Person)).unwrap().memory.to_string();
    let corrected = engine.memory(&corrected).unwrap().memory;
    assert_eq!((corrected.status, corrected.cause), (Status::Holds, None));
    // A value that ended before the other began is history.
    let mut ended = NewMemory::new(MemoryKind::Fact, "The quay port is 8080.");
    (ended.memory.valid_from, ended.memory.valid_until) = (Some(1_000), Some(1_500));
    let _ = engine.add_memory(&ended, &by(Actor::Person)).unwrap();
    let later = add(engine, MemoryKind::Fact, "The quay port is 9090.", 2_000, Actor::Agent);
    assert_eq!(status_of(&memory, &later), Status::Holds);
    assert!(open(&memory).is_empty(), "{:?}", open(&memory));
}

#[test]
fn forgetting_for_good_gives_back_what_was_replaced_unless_something_else_holds() {
    let memory = Memory::new();
    let engine = memory.engine();
    let ids: Vec<String> = [("main", 1_000), ("trunk", 2_000), ("next", 3_000)]
        .into_iter()
        .map(|(name, at)| add(engine, MemoryKind::Fact, &format!("The default branch of the quay is {name}."), at, Actor::Agent))
        .collect();

    let _ = memory.forget_hard(&ids[1]);
    assert_eq!((status_of(&memory, &ids[0]), status_of(&memory, &ids[2])), (Status::Superseded, Status::Holds));
    let other = Memory::new();
    let engine = other.engine();
    let first = add(engine, MemoryKind::Fact, MAIN, 1_000, Actor::Agent);
    let second = add(engine, MemoryKind::Fact, TRUNK, 2_000, Actor::Agent);
    let _ = other.forget_hard(&second);
    let back = engine.memory(&first).unwrap().memory;
    assert_eq!(
        (back.status, back.cause, back.valid_until),
        (Status::Holds, None, None),
        "and tells nothing of what was forgotten"
    );
}
