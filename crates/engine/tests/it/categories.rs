//! Categories and summaries over a store: what belongs where, the latest state alone, and overviews that a summary answers.

use yore_core::category::Section;
use yore_core::memory::MemoryKind;
use yore_core::operation::{Actor, Cause};
use yore_core::query::AnswerKind;
use yore_engine::{CategoriesRequest, Engine, NewMemory, RecallAnswer, RecallRequest, Settlement};
use yore_testing::Memory;

fn cause() -> Cause {
    Cause { actor: Actor::Person, by: "test".to_owned(), input: None }
}

fn add(engine: &Engine, kind: MemoryKind, statement: &str) -> String {
    engine.add_memory(&NewMemory::new(kind, statement), &cause()).unwrap().memory.to_string()
}

fn answer(memory: &Memory, question: &str) -> RecallAnswer {
    let request = RecallRequest { answer_kind: None, ..RecallRequest::new(question) };
    memory.engine().answer(&request, true).unwrap()
}

fn harbour() -> Memory {
    let memory = Memory::new();
    let engine = memory.engine();
    add(engine, MemoryKind::Decision, "Tests of the gauge run against a recorded tide.");
    add(engine, MemoryKind::Standard, "Every fix comes with a test.");
    add(engine, MemoryKind::Todo, "Test the export of berths.");
    add(engine, MemoryKind::Fact, "The tests take four minutes.");
    add(engine, MemoryKind::Fact, "The database of the harbour is SQLite.");
    for pier in ["north", "south", "east", "west"] {
        let entities = vec!["TideGauge".to_owned()];
        let new = NewMemory { entities, ..NewMemory::new(MemoryKind::Fact, format!("On the {pier} pier hangs one.")) };
        engine.add_memory(&new, &cause()).unwrap();
    }
    memory
}

#[test]
fn categories_are_those_of_the_design_that_have_memories_and_those_that_grow_from_entities() {
    let memory = harbour();
    let found = memory.engine().categories(&CategoriesRequest::default()).unwrap();
    let names: Vec<(&str, usize)> = found.iter().map(|found| (found.name.as_str(), found.item_count)).collect();
    assert_eq!(names[..2], [("database", 1), ("testing", 4)]);
    assert!(names.contains(&("tidegauge", 4)), "{names:?}");
    assert!(found.iter().all(|category| category.last_added.is_some()));
    let request = CategoriesRequest { projects: vec!["atlantis".to_owned()], here: None };
    assert!(memory.engine().categories(&request).is_err(), "a project that is not known");
}

#[test]
fn a_summary_tells_the_latest_state_and_what_it_replaced() {
    let memory = harbour();
    let engine = memory.engine();
    let old = add(engine, MemoryKind::Fact, "The database port of the harbour is 4000.");
    let new = add(engine, MemoryKind::Fact, "The database port of the harbour is 5000.");
    if engine.memory(&old).unwrap().memory.is_in_effect() {
        engine.settle_conflict(&old, &new, &Settlement::Keep(new.clone()), None, &cause()).unwrap();
    }
    let found = engine.category_summary(&CategoriesRequest::default(), "DATABASE").unwrap().unwrap();
    let told = found.summary.markdown();
    assert!(told.contains("is 5000 (instead of “The database port of the harbour is 4000.”"), "{told}");
    assert!(found.summary.lines.iter().all(|line| line.source.to_string() != old), "the superseded one is no line");
    assert!(found.members.iter().all(|member| member.id.to_string() != old && member.relevance > 0.5));
    assert!(engine.category_summary(&CategoriesRequest::default(), "atlantis").unwrap().is_none());
    engine.archive_memory(&new, true, &cause()).unwrap();
    let told = engine.category_summary(&CategoriesRequest::default(), "db").unwrap().unwrap().summary.markdown();
    assert!(!told.contains("5000"), "what was put away is not told: {told}");
}

#[test]
fn an_overview_is_answered_by_the_summary_of_its_category_alone() {
    let memory = harbour();
    for question in ["what do we know about testing?", "how does testing work here?", "give me an overview of the tests"] {
        let answer = answer(&memory, question);
        let view = answer.view.unwrap_or_else(|| panic!("{question}"));
        assert_eq!(
            (view.kind, view.category.as_deref(), view.sufficed),
            (AnswerKind::Overview, Some("testing"), Some(true)),
            "{question}"
        );
        assert!(answer.hits.is_empty(), "{question}: no passages are needed");
        let rows: Vec<(&str, Option<&str>)> = view.rows.iter().map(|row| (row.text.as_str(), row.state.as_deref())).collect();
        assert_eq!(
            rows,
            [
                ("The tests take four minutes.", Section::Holds.label()),
                ("Tests of the gauge run against a recorded tide.", Section::Decisions.label()),
                ("Every fix comes with a test.", Section::Rules.label()),
                ("Test the export of berths.", Section::Open.label()),
            ],
            "{question}"
        );
        assert!(view.rows.iter().all(|row| row.opens.is_some()));
    }
}

#[test]
fn passages_follow_where_the_summary_covers_too_little_or_no_category_is_meant() {
    let memory = harbour();
    let told = answer(&memory, "what do we know about testing of invoices and ledgers?");
    assert!(told.view.as_ref().is_none_or(|view| view.sufficed == Some(false)));
    assert!(!told.hits.is_empty());
    let told = answer(&memory, "what do we know about invoices?");
    assert!(told.view.is_none_or(|view| view.sufficed.is_none()));
    let told = answer(&memory, "how does the berth export work?");
    assert!(told.view.is_none(), "a question for how something works stays one for passages");
}
