//! Answers in sentences, each with what it rests on.

use serde_json::json;
use yore_core::memory::MemoryKind;
use yore_core::operation::{Actor, Cause};
use yore_core::query::AskDepth;
use yore_core::scope::ScopeChoice;
use yore_engine::{AskAnswer, AskRequest, ExtractRequest, MemoryList, NewMemory, RecallRequest, ShowRequest, Surroundings};
use yore_testing::{Memory, SessionBuilder};

const SEED: u64 = 4_800;

fn memory() -> Memory {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(SEED).with_id("leases").cwd("/home/dev/harbour");
    session.human("Why do the berth leases vanish at night?");
    session.assistant(
        "Let me look at the worker.\n\n## Cause\n\nRedis drops the leases, because its heartbeat stops while the box sleeps. \
         Should I move them?",
    );
    session.human("yes, move the leases to SQLite, and keep the heartbeat at 30 seconds");
    session.tool("Bash", &json!({"command": "just test"}), "12 passed", false);
    session.assistant("The leases live in SQLite now, and the heartbeat stays at 30 seconds.");
    memory.write("projects/p/leases.jsonl", session.text());
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    memory
}

fn ask(memory: &Memory, question: &str, depth: Option<AskDepth>) -> AskAnswer {
    let mut recall = RecallRequest { answer_kind: None, ..RecallRequest::new(question) };
    recall.filter.scope = ScopeChoice::All;
    memory.engine().ask(&AskRequest { recall, depth }, None).unwrap()
}

fn text(answer: &AskAnswer) -> String {
    answer.sentences.iter().map(|sentence| sentence.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_sentence_is_a_statement_of_the_source_that_it_names() {
    let memory = memory();
    let answer = ask(&memory, "why did the berth leases vanish?", Some(AskDepth::Full));
    let told = text(&answer);
    assert!(told.contains("its heartbeat stops while the box sleeps"), "{told}");
    assert!(told.contains("“yes, move the leases to SQLite"), "what the person said to it: {told}");
    assert!(!told.contains('?') && !told.contains("Let me look") && !told.contains("## Cause"), "{told}");
    for sentence in &answer.sentences {
        let [number] = sentence.sources[..] else { panic!("{sentence:?}") };
        let source = &answer.sources[number - 1];
        let shown = memory.engine().show(&ShowRequest::new(source.opens.clone(), Surroundings::Turns(0))).unwrap();
        let words = sentence.text.trim_matches(['“', '”']);
        assert!(format!("{shown:?}").contains(words), "{source:?}: {words}");
    }
}

#[test]
fn a_question_of_what_is_recorded_is_answered_by_it_without_deeper_search() {
    let answer = ask(&memory(), "how do we run the tests", None);
    assert_eq!(answer.sentences[0].text, "`just test` (passed 1×)");
    assert_eq!((answer.sources[0].what.as_str(), answer.steps.len()), ("commands", 1));
}

#[test]
fn what_is_not_known_is_said_with_what_was_searched() {
    let memory = memory();
    for question in ["which zeppelin mooring was booked", "what did we do in august 2003"] {
        let answer = ask(&memory, question, None);
        assert_eq!((answer.sentences.as_slice(), answer.sources.as_slice()), (&[][..], &[][..]), "{question}");
        assert!(answer.confidence < 0.25 && answer.steps.len() == 3, "{answer:?}");
    }
    assert_eq!(ask(&memory, "which zeppelin mooring was booked", None).unmet, ["zeppelin", "mooring", "booked"]);
}

#[test]
fn a_deeper_answer_holds_more_and_costs_more() {
    let memory = memory();
    let [preview, deep] = [AskDepth::Preview, AskDepth::Deep].map(|depth| ask(&memory, "berth leases in SQLite", Some(depth)));
    assert!(preview.sentences.len() <= deep.sentences.len());
    assert!(deep.steps[0].searched.starts_with("berth leases in SQLite"));
}

#[test]
fn a_question_counts_a_memory_once_however_often_it_is_searched() {
    let memory = memory();
    let by = Cause { actor: Actor::Person, by: "test".to_owned(), input: None };
    let statement = "The tide gauge of the southern pier is read every nine minutes.";
    let done = memory.engine().add_memory(&NewMemory::new(MemoryKind::Fact, statement), &by).unwrap();
    for (times, depth) in [(1, None), (2, Some(AskDepth::Deep))] {
        let answer = ask(&memory, "how often is the tide gauge of the southern pier read", depth);
        assert!(text(&answer).contains("every nine minutes"), "{answer:?}");
        assert_eq!(memory.engine().memory(&done.memory.to_string()).unwrap().uses.shown, times);
    }
}

#[test]
fn a_reply_that_came_later_than_the_time_of_the_question_is_not_told() {
    let memory = memory();
    let engine = memory.engine();
    let asked = |as_of| {
        let mut recall = RecallRequest { answer_kind: None, ..RecallRequest::new("why did the berth leases vanish?") };
        (recall.filter.scope, recall.filter.as_of) = (ScopeChoice::All, as_of);
        engine.ask(&AskRequest { recall, depth: Some(AskDepth::Full) }, None).unwrap()
    };
    let now = asked(None);
    let of_reply = now.sentences.iter().find(|sentence| sentence.text.contains("move the leases to SQLite")).unwrap();
    let at = now.sources[of_reply.sources[0] - 1].at;
    let before = text(&asked(at));
    assert!(before.contains("its heartbeat stops") && !before.contains("move the leases to SQLite"), "{before}");
}

#[test]
fn nothing_is_told_without_what_contradicts_it() {
    let memory = memory();
    let add = |statement: &str, at: i64| {
        let mut new = NewMemory::new(MemoryKind::Standard, statement);
        new.memory.valid_from = Some(at);
        memory.engine().add_memory(&new, &Cause { actor: Actor::Person, by: "test".to_owned(), input: None }).unwrap();
    };
    add("Never force-push to main.", 1_000);
    add("Force-push to main is allowed.", 2_000);
    let asked = || text(&ask(&memory, "may I force-push to main?", Some(AskDepth::Full)));
    assert!(asked().contains("(contradicts ["), "{}", asked());
    let by = Cause { actor: Actor::Person, by: "test".to_owned(), input: None };
    let all = memory.engine().memories(&MemoryList { limit: 10, ..MemoryList::default() }).unwrap();
    for memory_of_rule in all.iter().map(|stored| &stored.memory).filter(|memory| memory.kind == MemoryKind::Standard) {
        memory.engine().invalidate_memory(&memory_of_rule.id.to_string(), None, &by).unwrap();
    }
    assert!(asked().contains("(no longer so: “"), "{}", asked());
}

#[test]
fn rows_that_an_answer_leaves_out_are_counted_and_an_empty_list_says_what_is_empty() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(SEED + 9).cwd("/home/dev/harbour");
    session.human("Release them all");
    for number in 1..=9 {
        session.tool("Bash", &json!({"command": format!("gh release create v1.{number}.0")}), "", false);
    }
    memory.write("projects/p/releases.jsonl", session.text());
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    let answer = ask(&memory, "which releases are there", None);
    let rows = answer.sentences.iter().filter(|sentence| answer.sources[sentence.sources[0] - 1].what == "releases").count();
    assert_eq!((rows, answer.unlisted), (6, 3), "{answer:?}");
    let none = ask(&memory, "which pull requests are open", None);
    assert!(none.sentences.is_empty() && none.unlisted == 0, "{none:?}");
    assert_eq!(none.empty.unwrap().kind.as_str(), "pull_requests");
}
