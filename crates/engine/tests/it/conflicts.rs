//! Memories that cannot both hold: found, listed, settled, and taken back.

use yore_core::conflict::{Aspect, ConflictKind, ConflictSeverity, StatedValue};
use yore_core::memory::{Lane, MemoryKind, SourceKind, Status};
use yore_core::operation::{Actor, Cause};
use yore_core::relation::{Node, RelationType};
use yore_core::scope::ScopeChoice;
use yore_engine::{
    BriefRequest, Distilled, DistilledItem, Engine, GivenRecords, MemoryEdit, MemoryList, NewMemory, OpenConflict, Settlement,
};
use yore_sources::project_names::names_of;
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
    memory.engine().conflicts(&[], None, 100).unwrap()
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
fn rules_that_contradict_each_other_are_marked_in_the_brief() {
    let memory = Memory::new();
    let engine = memory.engine();
    let one = add(engine, MemoryKind::Standard, "Never force-push to main.", 1_000, Actor::Person);
    let other = add(engine, MemoryKind::Standard, "Force-push to main is allowed.", 2_000, Actor::Person);
    add(engine, MemoryKind::Standard, "Run the tide tests before every commit.", 3_000, Actor::Person);
    let brief = engine.brief(&BriefRequest::default()).unwrap();
    let pairs: Vec<_> = brief.contradicting.iter().map(|(of, by)| (of.to_string(), by.to_string())).collect();
    assert!(pairs.contains(&(one.clone(), other.clone())) && pairs.contains(&(other, one)), "{pairs:?} {:?}", brief.orders);
    assert_eq!(pairs.len(), 2);
}

#[test]
fn approved_plans_and_commits_change_nothing_that_others_did() {
    let memory = Memory::new();
    let engine = memory.engine();
    let add = |title: &str, goal: &str, rule: &str, at: i64| {
        let mut new = NewMemory::new(MemoryKind::Decision, format!("Approved plan: {title}. {goal}"));
        new.memory.valid_from = Some(at);
        new.memory.lane = Lane::Extracted;
        new.memory.source.extractor = Some(format!("rules/4: {rule}"));
        new.entities = vec!["gauge".to_owned()];
        engine.add_memory(&new, &by(Actor::Agent)).unwrap();
    };
    let plans = [
        ("Read gauges by radio", "Add a reader that asks each gauge for its level once an hour."),
        ("Show tides on a map", "Remove the table of tides and compute each tide from the levels."),
        ("Remove the stored path of a report", "Currently, we store `report_path` in the state of each gauge."),
        ("`tide reset` command", "Add a new command `tide reset` that deletes the levels of a gauge."),
    ];
    for (at, (title, goal)) in plans.into_iter().enumerate() {
        add(title, goal, if at % 2 == 0 { "approved plan" } else { "commit with a reason" }, 1_000 * (at as i64 + 1));
    }
    let told: Vec<_> = open(&memory).into_iter().map(|one| (one.older.memory.statement, one.newer.memory.statement)).collect();
    assert_eq!(told, []);
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
    assert_eq!(
        (retired.memory.cause.as_ref().map(ToString::to_string).as_deref(), retired.memory.valid_until),
        (Some("two cards were added"), Some(2_000))
    );
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
        assert_eq!(retired.cause.as_ref().map(ToString::to_string).as_deref(), Some("newer: main has another value since"));
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
fn what_other_rules_had_read_in_statements_is_read_again_before_it_is_compared() {
    let memory = Memory::new();
    let engine = memory.engine();
    let known = add(engine, MemoryKind::Fact, MAIN, 1_000, Actor::Person);
    let other = add(engine, MemoryKind::Fact, "The owner of the tide gauge is Mara.", 1_000, Actor::Person);
    let db = rusqlite::Connection::open(memory.data().join("yore.db")).unwrap();
    db.execute_batch(
        "UPDATE memory_assertion SET subject = 1, value = 2; UPDATE fact SET value = '0' WHERE name = 'assertion_rules'",
    )
    .unwrap();
    let newer = add(engine, MemoryKind::Fact, TRUNK, 2_000, Actor::Person);
    assert_eq!([&known, &newer, &other].map(|id| status_of(&memory, id)), [Status::Superseded, Status::Holds, Status::Holds]);
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

/// A memory with a session in the project quay.
fn with_project() -> Memory {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(1).cwd("/home/dev/quay");
    session.human("hello");
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    memory
}

fn in_project(engine: &Engine, kind: MemoryKind, statement: &str, at: i64) -> String {
    let mut new = NewMemory::new(kind, statement);
    new.memory.valid_from = Some(at);
    new.memory.lane = Lane::Curated;
    new.here = Some(names_of("/home/dev/quay"));
    engine.add_memory(&new, &by(Actor::Person)).unwrap().memory.to_string()
}

#[test]
fn what_a_project_excepts_from_what_holds_everywhere_qualifies_it_and_retires_nothing() {
    let memory = with_project();
    let engine = memory.engine();
    let (every, own) = ("The default branch of repositories is main.", "The default branch of repositories is trunk.");
    let general = add(engine, MemoryKind::Preference, every, 1_000, Actor::Person);
    let special = in_project(engine, MemoryKind::Preference, own, 2_000);
    assert_eq!((status_of(&memory, &general), status_of(&memory, &special)), (Status::Holds, Status::Holds));
    assert!(open(&memory).is_empty(), "an exception is no conflict");
    let told = |id: &str| {
        let relations = engine.open_memory(id, None).unwrap().relations.into_iter();
        relations.map(|one| (one.name, one.reason)).filter(|(name, _)| name.contains("quali")).collect::<Vec<_>>()
    };
    assert_eq!(told(&special), [("qualifies".to_owned(), Some("in its project".to_owned()))]);
    assert_eq!(told(&general), [("qualified_by".to_owned(), None)]);
    memory.index();
    let first = |directory: &str| {
        let answer = memory.ask_with("what is the default branch of repositories?", |request| {
            request.filter.scope = ScopeChoice::Current;
            request.here = Some(names_of(directory));
        });
        let found = answer.hits[0].as_memory().unwrap().clone();
        let others = found.qualified.iter().map(|one| (one.statement.statement.clone(), one.is_special));
        (found.memory.statement.clone(), others.collect::<Vec<_>>())
    };
    let here = first("/home/dev/quay");
    assert_eq!(here, (own.to_owned(), vec![(every.to_owned(), false)]), "in the project its own rule comes first");
    let brief = engine.brief(&BriefRequest { here: Some(names_of("/home/dev/quay")), ..BriefRequest::default() }).unwrap();
    assert_eq!(brief.orders.iter().map(|order| order.statement.as_str()).collect::<Vec<_>>(), [own]);
    // Whichever came first.
    let memory = with_project();
    let special = in_project(memory.engine(), MemoryKind::Preference, own, 1_000);
    let general = add(memory.engine(), MemoryKind::Preference, every, 2_000, Actor::Person);
    assert_eq!((status_of(&memory, &general), status_of(&memory, &special)), (Status::Holds, Status::Holds));
    assert!(memory.engine().open_memory(&special, None).unwrap().relations.iter().any(|one| one.name == "qualifies"));
}

#[test]
fn two_values_under_two_conditions_both_hold_each_under_its_own() {
    for (first, second, qualifies) in [
        ("The gallery shows 8 cards when the phone is upright.", "The gallery shows 10 cards when the desktop is wide.", true),
        ("The gallery shows 8 cards on the first page.", "The gallery shows 10 cards on the first page if a guest looks.", true),
        ("The gallery shows 8 cards when the phone is upright.", "The gallery shows 10 cards if the phone is upright.", false),
    ] {
        let memory = Memory::new();
        let older = add(memory.engine(), MemoryKind::Fact, first, 1_000, Actor::Agent);
        let newer = add(memory.engine(), MemoryKind::Fact, second, 2_000, Actor::Agent);
        assert_eq!((status_of(&memory, &older), status_of(&memory, &newer)), (Status::Holds, Status::Holds));
        let relations = memory.engine().open_memory(&newer, None).unwrap().relations;
        let is_special = relations.iter().any(|one| one.name == "qualifies" && one.reason.is_some());
        assert_eq!((is_special, open(&memory).is_empty()), (qualifies, qualifies), "{first} | {second}: {relations:?}");
    }
}

#[test]
fn a_conflict_that_is_put_off_is_listed_again_at_its_time_and_stays_open() {
    let memory = Memory::new();
    let engine = memory.engine();
    let older = add(engine, MemoryKind::Fact, EIGHT, 1_000, Actor::Agent);
    let newer = add(engine, MemoryKind::Fact, TEN, 2_000, Actor::Agent);
    let before = open(&memory);
    let put_off = |at: i64| engine.settle_conflict(&older, &newer, &Settlement::Later(at), None, &by(Actor::Person)).unwrap();
    let done = put_off(i64::MAX >> 1);
    assert!(open(&memory).is_empty());
    assert_eq!(engine.conflicts_of(&newer).unwrap().len(), 1, "it is not settled");
    engine.undo(done.operation.unwrap(), &by(Actor::Person)).unwrap();
    assert_eq!(open(&memory), before);
    put_off(1_000);
    assert_eq!(open(&memory).len(), 1, "its time has come");
}

#[test]
fn rules_of_a_file_are_compared_with_what_is_near_them() {
    let memory = Memory::new();
    let engine = memory.engine();
    add(engine, MemoryKind::Standard, "The tests of the gallery must run with the network.", 1_000, Actor::Agent);
    let mut rule = NewMemory::new(MemoryKind::Standard, "The tests of the gallery must not run with the network.");
    rule.memory.lane = Lane::Curated;
    rule.memory.source.kind = SourceKind::Import;
    rule.memory.source.place = Some("/home/dev/CLAUDE.md:3".to_owned());
    let given = GivenRecords { memories: vec![rule], ..GivenRecords::default() };
    let cause = Cause { actor: Actor::Import, by: "test".to_owned(), input: None };
    assert_eq!(engine.import_given(&given, &cause).unwrap().stored.memories, 1);
    let found = open(&memory);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(engine.import_given(&given, &cause).unwrap().operation, None, "read twice, kept once");
}

#[test]
fn a_rule_that_takes_the_place_of_another_in_its_file_is_not_compared_with_that() {
    let memory = Memory::new();
    let import = |statement: &str| {
        let mut rule = NewMemory::new(MemoryKind::Standard, statement);
        rule.memory.lane = Lane::Curated;
        rule.memory.source.kind = SourceKind::Import;
        rule.memory.source.place = Some("/home/dev/CLAUDE.md:3".to_owned());
        let whole = vec!["/home/dev/CLAUDE.md".to_owned()];
        let given = GivenRecords { memories: vec![rule], whole, ..GivenRecords::default() };
        memory.engine().import_given(&given, &Cause { actor: Actor::Import, by: "test".to_owned(), input: None }).unwrap()
    };
    let _ = import("The tests of the gallery must run with the network.");
    assert_eq!(import("The tests of the gallery must not run with the network.").put_away, 1);
    assert!(open(&memory).is_empty(), "{:?}", open(&memory));
}

#[test]
fn no_extracted_statement_is_an_exception_to_what_a_person_said() {
    let memory = with_project();
    let engine = memory.engine();
    let general = add(engine, MemoryKind::Preference, "The default branch of repositories is main.", 1_000, Actor::Person);
    let mut new = NewMemory::new(MemoryKind::Preference, "The default branch of repositories is trunk.");
    new.memory.valid_from = Some(2_000);
    new.memory.lane = Lane::Extracted;
    new.here = Some(names_of("/home/dev/quay"));
    let special = engine.add_memory(&new, &by(Actor::Agent)).unwrap().memory.to_string();
    assert_eq!((status_of(&memory, &general), status_of(&memory, &special)), (Status::Holds, Status::Contested));
    let brief = engine.brief(&BriefRequest { here: Some(names_of("/home/dev/quay")), ..BriefRequest::default() }).unwrap();
    assert!(brief.orders.iter().any(|order| order.id.to_string() == general), "{:?}", brief.orders);
}

#[test]
fn an_exception_under_a_condition_hides_no_rule_from_the_brief_and_its_words_are_told_in_no_other_project() {
    let memory = with_project();
    let engine = memory.engine();
    let every = "The lines of code are cut after 100 characters.";
    let general = add(engine, MemoryKind::Standard, every, 1_000, Actor::Person);
    let mut new = NewMemory::new(MemoryKind::Standard, "The lines of code are cut after 80 characters when a file is printed.");
    new.memory.lane = Lane::Curated;
    new.here = Some(names_of("/home/dev/quay"));
    new.entities = vec!["gallery".to_owned()];
    let special = engine.add_memory(&new, &by(Actor::Person)).unwrap().memory.to_string();
    let brief = engine.brief(&BriefRequest { here: Some(names_of("/home/dev/quay")), ..BriefRequest::default() }).unwrap();
    assert_eq!(brief.orders.len(), 2, "{:?}", brief.orders);
    let told =
        |id: &str| engine.open_memory(id, None).unwrap().relations.into_iter().find(|one| one.name.contains("quali")).unwrap();
    assert_eq!(told(&general).label.as_deref(), Some("(of another project)"));
    assert_eq!(told(&general).reason, None, "nor is the reason, which has words of the other");
    assert_eq!(told(&special).reason.as_deref(), Some("in its project, when a file is printed"));
    assert_eq!(told(&special).label.as_deref(), Some(every));
    // Other words are compared anew.
    let words = "The lines of code are cut after 100 characters, also in print.";
    let edit = MemoryEdit { statement: Some(words.to_owned()), ..MemoryEdit::default() };
    let edited = engine.edit_memory(&special, &edit, &by(Actor::Person)).unwrap().memory.to_string();
    assert!(engine.open_memory(&edited, None).unwrap().relations.iter().all(|one| one.name != "qualifies"));
}

#[test]
fn an_open_question_takes_the_place_of_nothing_that_holds_unless_a_person_says_so() {
    let memory = Memory::new();
    let engine = memory.engine();
    let fact = add(engine, MemoryKind::Fact, EIGHT, 1_000, Actor::Agent);
    let question = add(engine, MemoryKind::Question, "Has the gallery more cards on the first page?", 2_000, Actor::Agent);
    let node = |id: &str| Node::Memory(engine.memory(id).unwrap().memory.id);
    let relate =
        |actor: Actor| engine.relate(&node(&question), (RelationType::Supersedes, false), &node(&fact), 1.0, None, &by(actor));
    assert_eq!(relate(Actor::Agent).unwrap_err().code(), "memory/is-open");
    assert_eq!(status_of(&memory, &fact), Status::Holds);
    relate(Actor::Person).unwrap();
    assert_eq!(status_of(&memory, &fact), Status::Superseded);
}

#[test]
fn what_was_said_while_the_clock_was_ahead_is_not_the_newer_for_ever() {
    const YEAR: i64 = 365 * 86_400_000;
    let mut memory = Memory::new();
    let value = |engine: &Engine, port: &str, at: i64| {
        add(engine, MemoryKind::Fact, &format!("The quay port is {port}."), at, Actor::Agent)
    };
    // Said a year ahead and recorded today; and both, while the clock of this computer was a year ahead.
    let said_ahead = value(memory.engine(), "7000", Memory::now() + YEAR);
    memory.open_at(|| Memory::now() + 1_000);
    let newer = value(memory.engine(), "8000", Memory::now() + 500);
    assert_eq!((status_of(&memory, &said_ahead), status_of(&memory, &newer)), (Status::Superseded, Status::Holds));
    memory.open_at(|| Memory::now() + YEAR);
    let recorded_ahead = value(memory.engine(), "9000", Memory::now() + YEAR);
    assert_eq!(status_of(&memory, &newer), Status::Superseded);
    memory.open_at(|| Memory::now() + 2_000);
    let newest = value(memory.engine(), "9100", Memory::now() + 1_500);
    assert_eq!((status_of(&memory, &recorded_ahead), status_of(&memory, &newest)), (Status::Superseded, Status::Holds));
}

#[test]
fn decision_from_after_now_is_not_the_first_for_ever() {
    let memory = Memory::new();
    memory.write("projects/p/a.jsonl", SessionBuilder::new(1).cwd("/home/dev/quay").turns(2).text());
    memory.learn();
    let decide = |statement: &str, at: i64| {
        let mut new = NewMemory::new(MemoryKind::Decision, statement);
        new.memory.valid_from = Some(at);
        new.here = Some(names_of("/home/dev/quay"));
        memory.engine().add_memory(&new, &by(Actor::Person)).unwrap();
    };
    decide("The gallery shows trees.", Memory::now() + 400 * 86_400_000);
    decide("The quay has a crane.", Memory::now());
    let request = BriefRequest { here: Some(names_of("/home/dev/quay")), session: None, is_compacted: false };
    let decided: Vec<String> =
        memory.engine().brief(&request).unwrap().decided.into_iter().map(|decision| decision.statement).collect();
    assert_eq!(decided, ["The quay has a crane.", "The gallery shows trees."]);
}
