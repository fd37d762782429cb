//! The state of a statement, whatever led to it.

use yore_core::memory::{Lane, MemoryKind, Status};
use yore_core::operation::{Actor, Cause};
use yore_core::relation::{Node, RelationType};
use yore_engine::{Engine, MemoryEdit, NewMemory, Settlement};
use yore_testing::Memory;

const DAY: i64 = 86_400_000;

fn by(actor: Actor) -> Cause {
    Cause { actor, by: "test".to_owned(), input: None }
}

fn new(statement: &str, day: i64, lane: Lane) -> NewMemory {
    let mut new = NewMemory::new(MemoryKind::Fact, statement);
    if statement.contains("gallery") {
        new.entities = vec!["gallery".to_owned()];
    }
    (new.memory.valid_from, new.memory.lane) = (Some(day * DAY), lane);
    new
}

fn add(engine: &Engine, new: &NewMemory) -> String {
    let actor = if new.memory.lane == Lane::Curated { Actor::Person } else { Actor::Agent };
    engine.add_memory(new, &by(actor)).unwrap().memory.to_string()
}

fn node(engine: &Engine, id: &str) -> Node {
    Node::Memory(engine.memory(id).unwrap().memory.id)
}

fn relate(engine: &Engine, from: &str, name: &str, to: &str, reason: Option<&str>) {
    let name = RelationType::read(name).unwrap();
    engine.relate(&node(engine, from), name, &node(engine, to), 1.0, reason, &by(Actor::Person)).unwrap();
}

#[test]
fn a_contradiction_that_a_person_states_with_a_reason_survives_other_words_and_one_that_yore_found_is_looked_for_anew() {
    let memory = Memory::new();
    let engine = memory.engine();
    let one = add(engine, &new("The ferry leaves from the north quay.", 1, Lane::Curated));
    let other = add(engine, &new("Passengers wait at the old mill.", 2, Lane::Curated));
    relate(engine, &one, "contradicts", &other, Some("the mill is in the south"));
    let found = [
        add(engine, &new("The gallery has 8 cards on the first page.", 1, Lane::Extracted)),
        add(engine, &new("There are 10 cards in the gallery.", 2, Lane::Extracted)),
    ];
    let pairs = || {
        let open = engine.conflicts(&[], None, 10).unwrap().into_iter();
        let mut pairs: Vec<String> = open.map(|one| one.newer.memory.statement).collect();
        pairs.sort();
        pairs
    };
    let gallery = engine.conflicts(&[], None, 10).unwrap().iter().any(|one| one.newer.memory.id.to_string() == found[1]);
    let reword = |id: &str, statement: &str| {
        let edit = MemoryEdit { statement: Some(statement.to_owned()), ..MemoryEdit::default() };
        engine.edit_memory(id, &edit, &by(Actor::Person)).unwrap().memory.to_string()
    };
    reword(&one, "The ferry departs from the north quay.");
    reword(&found[1], "The gallery is painted blue.");
    assert!(pairs().contains(&"Passengers wait at the old mill.".to_owned()), "{:?}", pairs());
    assert!(gallery && !pairs().iter().any(|newer| newer.contains("gallery")), "{:?}", pairs());
}

#[test]
fn what_was_replaced_is_told_as_true_until_then_and_not_after_however_it_was_replaced() {
    let words = ["The tide gauge stands at the mill.", "The tide gauge stands at the lock."];
    type Replace = fn(&Engine, [&str; 2]) -> String;
    let replace: [(&str, Replace); 4] = [
        ("a newer statement names the older one", |engine, words| {
            let old = add(engine, &new(words[0], 1, Lane::Curated));
            add(engine, &NewMemory { replaces: Some(old.clone()), ..new(words[1], 5, Lane::Curated) });
            old
        }),
        ("a relation says so", |engine, words| {
            let old = add(engine, &new(words[0], 1, Lane::Curated));
            let newer = add(engine, &new(words[1], 5, Lane::Curated));
            relate(engine, &newer, "supersedes", &old, None);
            old
        }),
        ("a conflict is settled", |engine, words| {
            let old = add(engine, &new(words[0], 1, Lane::Curated));
            let newer = add(engine, &new(words[1], 5, Lane::Curated));
            relate(engine, &newer, "contradicts", &old, None);
            engine.settle_conflict(&newer, &old, &Settlement::Keep(newer.clone()), None, &by(Actor::Person)).unwrap();
            old
        }),
        ("by itself, as another value of the same", |engine, _| {
            let old = add(engine, &new("The port of the quay is 7000.", 1, Lane::Extracted));
            add(engine, &new("The port of the quay is 7100.", 5, Lane::Extracted));
            old
        }),
    ];
    for (name, replaced) in replace {
        let memory = Memory::new();
        let engine = memory.engine();
        let old = engine.memory(&replaced(engine, words)).unwrap().memory;
        assert_eq!((old.status, old.valid_until), (Status::Superseded, Some(5 * DAY)), "{name}");
        assert!(old.is_valid_at(3 * DAY) && !old.is_valid_at(7 * DAY) && old.status_since.is_some(), "{name}");
    }
}

#[test]
fn a_contested_memory_is_left_in_the_same_state_whether_the_other_is_put_away_or_forgotten_for_good() {
    type PutAway = fn(&Memory, &str);
    let away: [(&str, PutAway); 2] = [
        ("put away", |memory, id| {
            let _ = memory.engine().archive_memory(id, true, &by(Actor::Person)).unwrap();
        }),
        ("forgotten for good", |memory, id| {
            let _ = memory.forget_hard(id);
        }),
    ];
    for (name, put_away) in away {
        let memory = Memory::new();
        let engine = memory.engine();
        let contested = add(engine, &new("The lock keeper feeds the swans.", 1, Lane::Extracted));
        let persons = add(engine, &new("Nobody feeds birds here.", 2, Lane::Curated));
        let extracted = add(engine, &new("The swans are fed by tourists.", 3, Lane::Extracted));
        relate(engine, &persons, "contradicts", &contested, None);
        relate(engine, &extracted, "contradicts", &contested, None);
        let status = || engine.memory(&contested).unwrap().memory.status;
        assert_eq!(status(), Status::Contested, "{name}: a person's word stands against it");
        put_away(&memory, &persons);
        assert_eq!(status(), Status::Holds, "{name}: an extracted one alone keeps it not contested");
    }
}

#[test]
fn what_holds_again_after_a_hard_forgetting_is_compared_with_what_a_person_said_meanwhile() {
    let memory = Memory::new();
    let engine = memory.engine();
    let first = add(engine, &new("The default branch of the quay is main.", 1, Lane::Extracted));
    let second = add(engine, &new("The default branch of the quay is trunk.", 2, Lane::Extracted));
    assert_eq!(engine.memory(&first).unwrap().memory.status, Status::Superseded);
    let persons = add(engine, &new("The default branch of the quay is next.", 3, Lane::Curated));
    let _ = memory.forget_hard(&second);
    let back = engine.memory(&first).unwrap().memory;
    assert_ne!(back.status, Status::Holds, "it does not stand beside the person's word unmarked: {back:?}");
    assert_eq!(engine.memory(&persons).unwrap().memory.status, Status::Holds);
}

#[test]
fn a_memory_that_was_put_away_can_be_forgotten_and_comes_back_as_put_away() {
    let memory = Memory::new();
    let engine = memory.engine();
    let id = add(engine, &new("The heron nests on the crane.", 1, Lane::Curated));
    engine.archive_memory(&id, true, &by(Actor::Person)).unwrap();
    let request = |restore| yore_engine::ForgetRequest {
        session: id.clone(),
        is_hard: false,
        is_dry_run: false,
        restore,
        keep_tombstones: true,
    };
    let _ = engine.forget(&request(false)).unwrap();
    assert!(engine.memory(&id).unwrap().memory.is_forgotten());
    let _ = engine.forget(&request(true)).unwrap();
    let back = engine.memory(&id).unwrap().memory;
    assert_eq!((back.status, back.is_forgotten()), (Status::Archived, false));
}
