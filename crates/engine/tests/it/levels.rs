//! Reads things at levels: a line, passages, what is related, a synthesis; and what a person decided right after a result.

use serde_json::json;
use yore_core::level::Level;
use yore_core::pack::LEAST_GAIN;
use yore_engine::{DeepenRequest, Deepened, EngineError, ExtractRequest, Packing, RecallRequest};
use yore_testing::{Memory, SessionBuilder};

const SEED: u64 = 5_300;

fn memory() -> Memory {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(SEED).with_id("leases").cwd("/home/dev/harbour");
    session.human("Why do the berth leases vanish at night?");
    session.tool(
        "Edit",
        &json!({"file_path": "/home/dev/harbour/src/lease.rs", "old_string": "a", "new_string": "b"}),
        "ok",
        false,
    );
    session.assistant(
        "Redis drops the berth leases, because its heartbeat stops while the box sleeps. Lunch was fine today. Should I move the \
         leases to SQLite?",
    );
    session.human("yes, move the leases to SQLite, and keep the heartbeat");
    session.assistant("The leases live in SQLite now.");
    session.human("ok");
    session.assistant("Gulls were counted at the pier.");
    memory.write("projects/p/leases.jsonl", session.text());
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    memory
}

fn deepen(memory: &Memory, id: &str, level: Level, question: &str) -> Result<Deepened, EngineError> {
    let request = DeepenRequest { id: id.to_owned(), level, recall: RecallRequest::new(question), budget: 500 };
    memory.engine().deepen(&request)
}

fn turn(memory: &Memory, words: &str) -> String {
    let turns = memory.turns("leases");
    turns.iter().find(|turn| turn.text.contains(words)).unwrap().id.to_string()
}

fn words(found: &Deepened) -> String {
    found.lines.iter().map(|line| format!("{}|{}\n", line.relation.as_deref().unwrap_or_default(), line.text)).collect()
}

#[test]
fn a_turn_is_read_as_a_line_as_what_bears_on_a_question_and_as_what_it_is_related_to() {
    let memory = memory();
    let id = turn(&memory, "Redis drops");
    let line = deepen(&memory, &id, Level::Line, "").unwrap();
    assert_eq!((line.kind.as_str(), line.lines.len(), line.left), ("turn", 1, 0));
    assert!(line.lines[0].text.chars().count() <= 111 && line.lines[0].opens.is_some(), "{line:?}");
    let passage = words(&deepen(&memory, &id, Level::Passage, "why does the heartbeat stop").unwrap());
    assert!(passage.contains("because its heartbeat stops while the box sleeps."), "whole sentences: {passage}");
    let related = words(&deepen(&memory, &id, Level::Related, "").unwrap());
    assert!(related.contains("asked|Why do the berth leases vanish"), "{related}");
    assert!(related.contains("you replied|yes, move the leases to SQLite"), "{related}");
}

#[test]
fn a_session_a_topic_a_memory_and_a_file_have_every_level() {
    let memory = memory();
    let first = turn(&memory, "vanish at night");
    let known = memory.engine().memories(&yore_engine::MemoryList { limit: 1, ..Default::default() }).unwrap();
    let mut ids = vec!["leases".to_owned(), format!("topic:{first}"), "src/lease.rs".to_owned()];
    ids.extend(known.first().map(|stored| stored.memory.id.to_string()));
    for id in &ids {
        for level in Level::ALL {
            let found = deepen(&memory, id, *level, "").unwrap();
            assert_eq!(found.level, *level);
            assert!(*level == Level::Related || !found.lines.is_empty(), "{id}: {found:?}");
        }
        assert_eq!(deepen(&memory, id, Level::Line, "").unwrap().lines.len(), 1);
    }
}

#[test]
fn a_synthesis_rests_on_the_thing_alone() {
    let memory = memory();
    let id = turn(&memory, "Redis drops");
    let found = deepen(&memory, &id, Level::Synthesis, "why did the berth leases vanish?").unwrap();
    let answer = found.answer.unwrap();
    assert!(!answer.sentences.is_empty());
    assert!(answer.sources.iter().all(|source| id.starts_with(&source.opens)), "{answer:?}");
}

#[test]
fn an_id_of_nothing_is_refused_at_every_level() {
    let memory = memory();
    for level in Level::ALL {
        assert!(matches!(deepen(&memory, "no/such.rs", *level, ""), Err(EngineError::UnknownId(_))), "{level:?}");
    }
}

#[test]
fn what_the_person_decided_right_after_a_result_stands_with_it_and_a_mere_ok_does_not() {
    let memory = memory();
    let packing = Packing { budget: 400, group_cost: 36, hit_cost: 24, broad: 0, least_gain: LEAST_GAIN };
    let request =
        RecallRequest { packing: Some(packing), ..RecallRequest::new("why do the berth leases vanish, redis heartbeat") };
    let answer = memory.engine().recall(&request).unwrap();
    let hit = answer.hits.iter().find(|hit| hit.quote.contains("Redis drops")).unwrap();
    let reply = hit.reply.as_ref().unwrap();
    assert!(reply.text.starts_with("yes, move the leases to SQLite"));
    let own = answer.hits.iter().find(|other| other.id().to_string() == reply.turn.to_string());
    assert!(own.is_none_or(|own| own.rank < hit.rank || own.quote.is_empty()), "no passage of its own");
    assert!(answer.hits.iter().all(|hit| hit.reply.as_ref().is_none_or(|reply| reply.text != "ok")));
}
