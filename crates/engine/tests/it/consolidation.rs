//! New memories meet those that are known: by rules when they are recorded, by a model afterwards.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Value, json};
use yore_core::consolidation::{Decision, Phase, PipelineStatistics};
use yore_core::memory::{Lane, MemoryKind, Status};
use yore_core::operation::{Actor, Cause};
use yore_core::relation::Node;
use yore_engine::llm::wire::Protocol;
use yore_engine::llm::{Backoff, Connection, Model, Tier, Way};
use yore_engine::transport::{Client, Response};
use yore_engine::{
    ConsolidateReport, ConsolidateRequest, DailyLimits, Distilled, DistilledItem, Engine, ExtractRequest, MemoryList,
    ModelAccess, NewMemory, Terms,
};
use yore_testing::{Memory, Script, SessionBuilder};

static GOING: AtomicBool = AtomicBool::new(false);
const PORT: &str = "The harbour server listens on port 8080, chosen for the old proxy.";
const MOVED: &str = "Since the proxy is gone, the harbour server is reached at 9090.";

fn by(actor: Actor) -> Cause {
    Cause { actor, by: "test".to_owned(), input: None }
}

fn count_of(statistics: &PipelineStatistics, decision: Decision) -> u64 {
    statistics.decisions().find(|(known, _)| *known == decision).map_or(0, |(_, count)| count)
}

fn add(engine: &Engine, kind: MemoryKind, statement: &str, at: i64, lane: Lane) -> String {
    let mut new = NewMemory::new(kind, statement);
    (new.memory.valid_from, new.memory.lane) = (Some(at), lane);
    let actor = if lane == Lane::Curated { Actor::Person } else { Actor::Agent };
    engine.add_memory(&new, &by(actor)).unwrap().memory.short()
}

fn extracted(engine: &Engine, kind: MemoryKind, statement: &str, at: i64) -> String {
    add(engine, kind, statement, at, Lane::Extracted)
}

/// Lets a model compare memories; `decide` is given what it is asked and gives its decisions: memory, decision, other. Returns the report
/// and the number of calls.
fn compared(
    memory: &Memory,
    again: bool,
    decide: impl Fn(&Value) -> Vec<(String, &'static str, String)> + Send + Sync + 'static,
) -> (ConsolidateReport, usize) {
    let request = ConsolidateRequest { again, ..ConsolidateRequest::default() };
    asked(memory, &request, move |asked| decisions(decide(asked)))
}

/// Returns the answer of a model with these decisions.
fn decisions(decided: Vec<(String, &'static str, String)>) -> Value {
    let decisions: Vec<Value> = decided
        .into_iter()
        .map(|(memory, decision, other)| json!({"memory": memory, "decision": decision, "other": other, "reason": "from 8080 to 9090"}))
        .collect();
    json!({ "decisions": decisions })
}

/// The same, with a request; `answer` is given what the model is asked, and cut off where it is null.
fn asked(
    memory: &Memory,
    request: &ConsolidateRequest,
    answer: impl Fn(&Value) -> Value + Send + Sync + 'static,
) -> (ConsolidateReport, usize) {
    let script = Script::new(move |request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let asked = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
        // After a wrong answer, words follow.
        let asked = serde_json::Deserializer::from_str(asked).into_iter::<Value>().next().unwrap().unwrap();
        let (text, reason) = match answer(&asked) {
            Value::Null => (String::new(), "length"),
            answer => (answer.to_string(), "stop"),
        };
        let said = json!({"choices": [{"message": {"content": text}, "finish_reason": reason}], "usage": {"prompt_tokens": 90, "completion_tokens": 10}});
        let body = said.to_string().into_bytes();
        Ok(Response { status: 200, headers: Vec::new(), length: None, body: Box::new(std::io::Cursor::new(body)) })
    });
    let connection = Connection::new("harbour", "http://127.0.0.1:9/v1/", Arc::new(|| Ok(None)), Duration::from_secs(5));
    let connection = connection.over(Client::over(script.clone(), 1 << 20));
    let way = Way::Http { connection, protocol: Protocol::OpenAiChat, tiers: &[Tier::Schema] };
    let model = Arc::new(Model::new("harbour/m-1", way, Backoff { tries: 1, sleep: |_| () }));
    let terms = Terms {
        purpose: "judge".to_owned(),
        limits: DailyLimits { tokens: 1_000_000, ..DailyLimits::default() },
        price: None,
        is_price_unknown: false,
        offset_minutes: 0,
    };
    let mut choose = |_: Option<&str>| Ok(Some((Arc::clone(&model), terms.clone())));
    let by = ModelAccess { choose: &mut choose, books: None, is_stopped: &GOING };
    let report = memory.engine().consolidate_by_model(by, request, &mut |_, _| true).unwrap();
    (report, script.requests().len())
}

fn status_of(engine: &Engine, id: &str) -> Status {
    engine.memory(id).unwrap().memory.status
}

#[test]
fn a_group_whose_answer_is_too_long_is_compared_by_halves() {
    let memory = Memory::new();
    let engine = memory.engine();
    let newer = extracted(engine, MemoryKind::Fact, MOVED, 2_000);
    let older = extracted(engine, MemoryKind::Fact, PORT, 1_000);
    let ids = (older.clone(), newer.clone());
    let (report, calls) =
        asked(&memory, &ConsolidateRequest::default(), move |asked| match asked["memories"].as_array().unwrap().as_slice() {
            [one] if one["statement"] == PORT => decisions(vec![(ids.0.clone(), "update", ids.1.clone())]),
            [_] => decisions(Vec::new()),
            _ => Value::Null,
        });
    assert_eq!((calls, report.compared, report.failed.len()), (4, 2, 0), "{report:?}");
    assert_eq!((status_of(engine, &older), status_of(engine, &newer)), (Status::Superseded, Status::Holds));
    let (again, calls) = compared(&memory, false, |_| panic!("nothing is new"));
    assert_eq!((calls, again.compared), (0, 0));
}

#[test]
fn a_model_retires_what_is_no_longer_so_once_with_its_reason_and_undo_restores_it() {
    let memory = Memory::new();
    let engine = memory.engine();
    let newer = extracted(engine, MemoryKind::Fact, MOVED, 2_000);
    let older = extracted(engine, MemoryKind::Fact, PORT, 1_000);
    assert_eq!((status_of(engine, &older), status_of(engine, &newer)), (Status::Holds, Status::Holds), "rules are not sure");
    let ids = (older.clone(), newer.clone());
    // The model names the older one as the one that replaces; the times decide.
    let (report, calls) = compared(&memory, false, move |asked| {
        assert_eq!(asked["memories"].as_array().unwrap().len(), 2, "{asked}");
        vec![(ids.0.clone(), "update", ids.1.clone())]
    });
    assert_eq!((calls, report.compared, report.statistics.calls, report.statistics.retries), (1, 2, 1, 0), "{report:?}");
    assert_eq!((status_of(engine, &older), status_of(engine, &newer)), (Status::Superseded, Status::Holds));
    let retired = engine.memory(&older).unwrap().memory;
    assert_eq!(
        (retired.cause.as_ref().map(ToString::to_string).as_deref(), retired.valid_until),
        (Some("newer: a model found that it was changed"), Some(2_000))
    );
    assert_eq!(count_of(&report.statistics, Decision::Update), 1);
    let phases: Vec<u64> = report.statistics.phases().map(|(_, work)| work.count).collect();
    assert_eq!(phases[Phase::RetrieveContext as usize], 2, "each has the other near it: {phases:?}");
    let (again, calls) = compared(&memory, false, |_| panic!("nothing is new"));
    assert_eq!((calls, again.compared), (0, 0));
    let last = engine.operations(None, None, 1).unwrap().remove(0);
    assert_eq!(last.cause, Cause { actor: Actor::Model, by: "consolidate/2".to_owned(), input: None });
    engine.undo(last.number, &by(Actor::Person)).unwrap();
    assert_eq!((status_of(engine, &older), status_of(engine, &newer)), (Status::Holds, Status::Holds));
    let (_, calls) = compared(&memory, false, |_| panic!("what a person took back is not decided again"));
    assert_eq!(calls, 0);
}

#[test]
fn what_a_model_supposes_to_have_been_known_finds_what_is_named_in_other_words() {
    let newer = "Woodpecker deploys every release of the crane service.";
    let older = "Jenkins is used for continuous delivery.";
    for is_supposing in [false, true] {
        let memory = Memory::new();
        let engine = memory.engine();
        let old = extracted(engine, MemoryKind::Fact, older, 1_000);
        for number in 0..9 {
            let words = format!("The crane service had release {number}.0 with a new deploy page.");
            let _ = extracted(engine, MemoryKind::Fact, &words, 2_000 + number);
        }
        let new = extracted(engine, MemoryKind::Fact, newer, 9_000);
        let (id, other) = (new.clone(), old.clone());
        let request = ConsolidateRequest { is_supposing, ..ConsolidateRequest::default() };
        let (report, calls) = asked(&memory, &request, move |asked| match asked["statements"].as_array() {
            Some(statements) => {
                assert!(is_supposing && statements.iter().all(|one| one["statement"].is_string()), "{asked}");
                let supposed = json!({"id": id, "before": ["  ", "Jenkins did the continuous\ndelivery."]});
                json!({"wordings": [supposed, {"id": "0123456789", "before": ["nobody asked"]}]})
            }
            None => {
                let of_new = asked["memories"].as_array().unwrap().iter().find(|one| one["id"] == json!(id));
                let is_near = of_new.is_some_and(|one| one["near"].as_array().unwrap().contains(&json!(other)));
                decisions(if is_near { vec![(id.clone(), "update", other.clone())] } else { Vec::new() })
            }
        });
        let is_replaced = status_of(engine, &old) == Status::Superseded;
        assert_eq!((is_replaced, calls as u64), (is_supposing, report.statistics.calls), "{report:?}");
        assert_eq!(calls, if is_supposing { 4 } else { 2 }, "one more for each group");
    }
}

#[test]
fn memories_are_compared_though_a_model_supposes_nothing_of_use() {
    let memory = Memory::new();
    let engine = memory.engine();
    let (older, newer) = (extracted(engine, MemoryKind::Fact, PORT, 1_000), extracted(engine, MemoryKind::Fact, MOVED, 2_000));
    let ids = (newer, older.clone());
    let request = ConsolidateRequest { is_supposing: true, ..ConsolidateRequest::default() };
    let (report, _) = asked(&memory, &request, move |asked| match asked["statements"].is_array() {
        true => json!({"wordings": "none"}),
        false => decisions(vec![(ids.0.clone(), "update", ids.1.clone())]),
    });
    assert_eq!((report.failed.len(), status_of(engine, &older)), (0, Status::Superseded), "{report:?}");
}

#[test]
fn a_model_retires_no_words_of_a_person_nothing_pinned_and_nothing_that_happened() {
    let memory = Memory::new();
    let engine = memory.engine();
    let own = add(engine, MemoryKind::Fact, PORT, 1_000, Lane::Curated);
    let pinned = extracted(engine, MemoryKind::Fact, "The harbour server of the quay used port 7070 for the old proxy.", 1_100);
    engine.pin_memory(&pinned, true, &by(Actor::Person)).unwrap();
    let event = extracted(engine, MemoryKind::Event, "The harbour server was restarted on port 8080 in May.", 1_200);
    let newer = extracted(engine, MemoryKind::Fact, MOVED, 2_000);
    let ids = [own.clone(), pinned.clone(), event.clone()];
    let new = newer.clone();
    let (report, _) = compared(&memory, false, move |_| ids.iter().map(|old| (new.clone(), "invalidate", old.clone())).collect());
    for id in [&own, &pinned, &event] {
        assert_eq!(status_of(engine, id), Status::Holds, "{report:?}");
    }
    assert_eq!(count_of(&report.statistics, Decision::Invalidate), 0);
    assert_eq!(count_of(&report.statistics, Decision::Contest), 2, "a person settles these: {report:?}");
    let listed = engine.conflicts(&[], None, 10).unwrap();
    assert!(listed.iter().any(|conflict| conflict.older.memory.id.short() == own), "{listed:?}");
}

#[test]
fn what_is_known_twice_is_kept_once_and_what_was_open_is_closed() {
    let memory = Memory::new();
    let engine = memory.engine();
    let first = extracted(engine, MemoryKind::Fact, "Berth leases of the harbour are kept in SQLite on disk.", 1_000);
    let twice = extracted(engine, MemoryKind::Fact, "SQLite is where the harbour keeps its berth leases.", 2_000);
    let todo = extracted(engine, MemoryKind::Todo, "Move the berth leases of the harbour out of Redis.", 500);
    let ids = (first.clone(), twice.clone(), todo.clone());
    let (report, _) = compared(&memory, false, move |_| {
        vec![(ids.1.clone(), "skip", ids.0.clone()), (ids.0.clone(), "invalidate", ids.2.clone())]
    });
    assert_eq!((status_of(engine, &first), status_of(engine, &twice)), (Status::Holds, Status::Archived), "{report:?}");
    assert!(engine.memory(&twice).unwrap().memory.cause.unwrap().to_string().starts_with(&format!("says the same as {first}")));
    let todo = engine.memory(&todo).unwrap().memory;
    assert!(todo.status == Status::Holds && !todo.is_open(), "{todo:?}");
}

#[test]
fn what_takes_the_place_of_its_double_stands_above_what_that_replaced() {
    let memory = Memory::new();
    let engine = memory.engine();
    let older = extracted(engine, MemoryKind::Fact, "Berth leases of the harbour are kept in Redis.", 1_000);
    let middle = extracted(engine, MemoryKind::Fact, "SQLite keeps the leases.", 2_000);
    let newest = extracted(engine, MemoryKind::Fact, "The leases of the harbour are kept by SQLite on the box.", 3_000);
    let ids = (older.clone(), middle.clone(), newest.clone());
    let (report, _) =
        compared(&memory, false, move |_| vec![(ids.1.clone(), "update", ids.0.clone()), (ids.2.clone(), "skip", ids.1.clone())]);
    assert_eq!(report.done.len(), 2, "{report:?}");
    assert_eq!([&older, &middle, &newest].map(|id| status_of(engine, id)), [Status::Superseded, Status::Archived, Status::Holds]);
    let open = engine.open_memory(&older, None).unwrap();
    let above: Vec<&Node> =
        open.relations.iter().filter(|relation| relation.name == "superseded_by").map(|relation| &relation.node).collect();
    assert_eq!(above, [&Node::Memory(engine.memory(&newest).unwrap().memory.id)]);
}

#[test]
fn answers_about_memories_that_were_not_given_change_nothing() {
    let memory = Memory::new();
    let engine = memory.engine();
    let (older, newer) = (extracted(engine, MemoryKind::Fact, PORT, 1_000), extracted(engine, MemoryKind::Fact, MOVED, 2_000));
    let (one, two) = (older.clone(), newer.clone());
    let (report, _) = compared(&memory, false, move |_| {
        vec![
            ("0000000000".to_owned(), "update", one.clone()),
            (one.clone(), "forget", two.clone()),
            (one.clone(), "refuse", two.clone()),
            (one.clone(), "update", one.clone()),
        ]
    });
    assert_eq!(report.refused.len(), 4, "{report:?}");
    assert!(report.done.is_empty());
    assert_eq!((status_of(engine, &older), status_of(engine, &newer)), (Status::Holds, Status::Holds));
    // They count as compared: a model that answers badly is not asked for ever.
    let (_, calls) = compared(&memory, false, |_| panic!("asked again"));
    assert_eq!(calls, 0);
    let (_, calls) = compared(&memory, true, |_| Vec::new());
    assert_eq!(calls, 1);
}

#[test]
fn memories_of_two_projects_are_never_compared() {
    let memory = Memory::new();
    for (project, name) in [("quay", "a"), ("pier", "b")] {
        let mut session = SessionBuilder::new(name.len() as u64 + project.len() as u64).cwd(&format!("/home/dev/{project}"));
        session.human("the port is 8080");
        session.assistant("Noted.");
        memory.write(&format!("projects/{name}/{name}.jsonl"), session.text());
    }
    memory.learn();
    for (project, statement, at) in [("quay", PORT, 1_000), ("pier", MOVED, 2_000)] {
        let mut new = NewMemory::new(MemoryKind::Fact, statement);
        (new.memory.valid_from, new.memory.lane, new.project) = (Some(at), Lane::Extracted, Some(project.to_owned()));
        memory.engine().add_memory(&new, &by(Actor::Agent)).unwrap();
    }
    let (report, calls) = compared(&memory, false, |_| panic!("nothing is near"));
    assert_eq!((calls, report.compared), (0, 2));
}

/// A session in which a line of the person says each of some statements.
fn session(seed: u64, lines: &[&str]) -> SessionBuilder {
    let mut session = SessionBuilder::new(seed).cwd("/home/dev/quay");
    for line in lines {
        session.human(line);
    }
    session
}

fn distilled(session: &SessionBuilder, lines: &[&str]) -> Distilled {
    let items = (1..).zip(lines).map(|(line, statement)| DistilledItem {
        kind: "fact".to_owned(),
        statement: (*statement).to_owned(),
        line,
        quote: (*statement).to_owned(),
        entities: vec!["tide gauge".to_owned()],
        ..DistilledItem::default()
    });
    Distilled { session: session.id().to_owned(), items: items.collect(), upto: Some(lines.len() as u32), ..Distilled::default() }
}

const GAUGE: &str = "The tide gauge of the north quay is read by the harbour office every morning at six.";
const GAUGE_AGAIN: &str = "The tide gauge of the north quay is read by the harbour office each morning at six.";

#[test]
fn what_was_recorded_a_moment_ago_is_known_before_the_index_has_it() {
    let memory = Memory::new();
    let (one, two) = (session(1, &[GAUGE]), session(2, &[GAUGE_AGAIN]));
    memory.write("projects/p/a.jsonl", one.text());
    memory.write("projects/p/b.jsonl", two.text());
    memory.learn();
    for is_indexed in [false, true] {
        let first = memory.engine().record_distilled(&distilled(&one, &[GAUGE])).unwrap();
        if is_indexed {
            memory.index();
        } else {
            assert_eq!((first.recorded, count_of(&first.statistics, Decision::Add)), (1, 1), "{first:?}");
        }
        let second = memory.engine().record_distilled(&distilled(&two, &[GAUGE_AGAIN])).unwrap();
        assert_eq!((second.recorded, second.joined + second.known), (0, 1), "{second:?}");
        assert_eq!(count_of(&second.statistics, Decision::Skip), 1);
    }
    let all = memory.engine().memories(&MemoryList { limit: 10, ..MemoryList::default() }).unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0].memory.evidence.len(), 2);
}

#[test]
fn each_phase_and_decision_of_an_extraction_is_counted() {
    let memory = Memory::new();
    let lines = [GAUGE, GAUGE_AGAIN, "The crane of the south quay lifts forty tons."];
    let one = session(1, &lines);
    memory.write("projects/p/a.jsonl", one.text());
    memory.learn();
    let report = memory.engine().record_distilled(&distilled(&one, &lines)).unwrap();
    let handled: Vec<(Phase, u64)> = report.statistics.phases().map(|(phase, work)| (phase, work.count)).collect();
    assert_eq!(
        handled,
        [
            (Phase::Embed, 3),
            (Phase::ExtractEntities, 3),
            // Those of the repetition as well.
            (Phase::SearchEntities, 3),
            (Phase::ResolveEntities, 3),
            (Phase::ExtractMemories, 3),
            (Phase::RetrieveContext, 0),
            (Phase::ResolveMemories, 0),
            (Phase::WriteGraph, 3),
        ]
    );
    let decided: Vec<u64> = report.statistics.decisions().map(|(_, count)| count).collect();
    assert_eq!(decided, [2, 1, 0, 0, 0, 0], "two new, one said twice");
    let rules = memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    let total: u64 = rules.statistics.decisions().map(|(_, count)| count).sum();
    let counts = rules.counts;
    assert_eq!(total, counts.recorded + counts.joined + counts.known + counts.refused, "each proposal is decided once");
}

#[test]
fn a_repetition_that_names_further_things_links_them_to_the_known_memory() {
    let memory = Memory::new();
    let (one, two) = (session(1, &[GAUGE]), session(2, &[GAUGE_AGAIN]));
    memory.write("projects/p/a.jsonl", one.text());
    memory.write("projects/p/b.jsonl", two.text());
    memory.learn();
    memory.engine().record_distilled(&distilled(&one, &[GAUGE])).unwrap();
    let mut again = distilled(&two, &[GAUGE_AGAIN]);
    again.items[0].entities = vec!["sweep job".to_owned(), "harbour office".to_owned()];
    let report = memory.engine().record_distilled(&again).unwrap();
    assert_eq!((report.recorded, report.joined), (0, 1), "{report:?}");
    let all = memory.engine().memories(&MemoryList { limit: 10, ..MemoryList::default() }).unwrap();
    let known = memory.engine().memory(&all[0].memory.id.to_string()).unwrap();
    for name in ["tide gauge", "sweep job", "harbour office"] {
        let entity = Node::Entity(memory.engine().entity_named(name).unwrap().id);
        assert!(known.relations.iter().any(|relation| relation.to == entity), "{name}: {:?}", known.relations);
    }
}

#[test]
fn what_a_model_found_denied_is_told_from_what_it_found_changed() {
    for (decision, cause) in
        [("update", "newer: a model found that it was changed"), ("invalidate", "newer: a model found that it is no longer so")]
    {
        let memory = Memory::new();
        let engine = memory.engine();
        let (older, newer) =
            (extracted(engine, MemoryKind::Fact, PORT, 1_000), extracted(engine, MemoryKind::Fact, MOVED, 2_000));
        let ids = (newer, older.clone());
        let (report, _) = compared(&memory, false, move |_| vec![(ids.0.clone(), decision, ids.1.clone())]);
        let retired = engine.memory(&older).unwrap().memory;
        assert_eq!(
            (retired.status, retired.cause.map(|cause| cause.to_string()).as_deref()),
            (Status::Superseded, Some(cause)),
            "{report:?}"
        );
    }
}
