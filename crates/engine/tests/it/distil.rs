//! An agent distils a conversation: what it is given, what is recorded of what it finds, and what is refused.

use yore_core::entity::EntityKind;
use yore_core::memory::{Fields, Lane, MemoryKind, SourceKind, Status};
use yore_core::operation::{Actor, Cause};
use yore_core::relation::{Node, RelationType};
use yore_engine::{
    BriefRequest, DistilReport, Distilled, DistilledEntity, DistilledField, DistilledItem, DistilledRelation, DistilledTopic,
    MaterialRequest, MemoryList, NewMemory, StoredMemory, TopicsRequest,
};
use yore_sources::project_names::names_of;
use yore_testing::{Memory, SessionBuilder};

const QUAY: &str = "/home/dev/quay";
const ORDER: &str = "keep the berth leases in SQLite, Redis loses them when the harbour box restarts";
const FINDING: &str = "The lease table had no index on `berth_id`, so each tide tick scanned it.";

fn memory() -> Memory {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(1).cwd(QUAY);
    session.human(ORDER);
    session.tool("Bash", &serde_json::json!({"command": "make"}), "ok", false);
    session.assistant(FINDING);
    for at in 0..4 {
        session.human(&format!("go on with part {at} of the lease table"));
        session.assistant(&format!("Part {at} of the lease table is done."));
    }
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    memory
}

fn session() -> String {
    SessionBuilder::new(1).id().to_owned()
}

/// Returns the number of the line that begins so.
fn line(memory: &Memory, text: &str) -> u32 {
    let material =
        memory.engine().material(&MaterialRequest { session: Some(session()), ..Default::default() }).unwrap().unwrap();
    material.recent.iter().chain(&material.new).find(|line| line.text.starts_with(text)).unwrap().line
}

fn item(kind: &str, statement: &str, line: u32, quote: &str) -> DistilledItem {
    DistilledItem { kind: kind.to_owned(), statement: statement.to_owned(), line, quote: quote.to_owned(), ..Default::default() }
}

fn record(memory: &Memory, items: Vec<DistilledItem>, relations: Vec<DistilledRelation>) -> DistilReport {
    memory.engine().record_distilled(&Distilled { session: session(), items, relations, ..Default::default() }).unwrap()
}

fn all(memory: &Memory) -> Vec<StoredMemory> {
    memory.engine().memories(&MemoryList { limit: 100, ..MemoryList::default() }).unwrap()
}

#[test]
fn agent_is_given_what_was_said_with_its_lines_and_each_line_once() {
    let memory = memory();
    let request = MaterialRequest { here: Some(names_of(QUAY)), ..MaterialRequest::default() };
    let material = memory.engine().material(&MaterialRequest { session: Some(session()), ..request }).unwrap().unwrap();
    let lines: Vec<(u32, &str)> = material.new.iter().map(|line| (line.line, line.text.as_str())).collect();
    assert_eq!(lines[0], (1, ORDER));
    assert!(lines.iter().any(|(_, text)| *text == FINDING) && lines.iter().all(|(_, text)| *text != "ok"), "{lines:?}");
    assert_eq!(material.left, 0);
    let last = material.new.last().unwrap().line;
    let report =
        memory.engine().record_distilled(&Distilled { session: session(), upto: Some(last), ..Default::default() }).unwrap();
    assert_eq!((report.recorded, report.left), (0, 0));
    let again = memory.engine().material(&MaterialRequest { session: Some(session()), ..Default::default() }).unwrap();
    assert_eq!(again, None, "everything was distilled");
}

#[test]
fn what_it_finds_is_recorded_with_its_words_in_the_extracted_lane() {
    let memory = memory();
    let order = DistilledItem {
        reference: Some("leases".to_owned()),
        entities: vec!["SQLite".to_owned()],
        ..item("decision", "Berth leases live in SQLite, because Redis loses them when the harbour box restarts.", 1, ORDER)
    };
    let found = item("solution", "The lease table needs an index on berth_id.", line(&memory, FINDING), "no index on `berth_id`");
    let relation =
        |from: &str, name: &str, to: &str| DistilledRelation { from: from.to_owned(), name: name.to_owned(), to: to.to_owned() };
    let relations = vec![
        relation(&line(&memory, FINDING).to_string(), "builds on", "leases"),
        relation("leases", "uses", "harbour box"),
        relation("leases", "flies over", "harbour box"),
        relation("nobody", "uses", "harbour box"),
        relation("leases", "uses", "019f1af9b4"),
    ];
    let report = record(&memory, vec![order, found], relations);
    assert_eq!((report.recorded, report.relations, report.problems.len()), (2, 2, 3), "{report:?}");
    let mut known = all(&memory);
    known.sort_by_key(|known| known.memory.kind);
    for known in &known {
        let memory = &known.memory;
        assert_eq!((memory.lane, memory.status), (Lane::Extracted, Status::Holds));
        assert_eq!(memory.source.extractor.as_deref(), Some("agent/1"));
        assert_eq!(memory.source.session, Some(session()));
        assert!(memory.project.is_some() && memory.evidence.len() == 1);
    }
    let decision = known.iter().find(|known| known.memory.kind == MemoryKind::Decision).unwrap();
    assert_eq!(decision.memory.source.kind, SourceKind::User);
    let about = memory.engine().entity_named("SQLite").unwrap();
    let decision = memory.engine().memory(&decision.memory.id.to_string()).unwrap();
    assert!(decision.relations.iter().any(|relation| relation.to == Node::Entity(about.id)), "{:?}", decision.relations);
    assert!(memory.engine().entity_named("harbour box").is_ok(), "a thing that was not known is kept");
}

#[test]
fn a_quote_alone_names_the_line_and_the_session_still_waits() {
    let memory = memory();
    let said = item("decision", "Berth leases live in SQLite.", 0, "keep the berth leases in SQLite");
    let never = item("fact", "The tide is high.", 0, "the tide is high today");
    let report = record(&memory, vec![said, never], Vec::new());
    assert_eq!((report.recorded, report.problems.len()), (1, 1), "{report:?}");
    assert!(report.left > 0, "nobody read its lines");
}

#[test]
fn the_call_that_brings_a_quote_is_not_taken_for_the_one_who_said_it() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(4).cwd(QUAY);
    session.human("From now on always run make lint before you push.");
    session.tool("distil", &serde_json::json!({"quote": "always run make lint before you push"}), "1 recorded", false);
    session.assistant("Understood.");
    memory.write("projects/p/d.jsonl", session.text());
    memory.learn();
    let order = item("standard", "Always run make lint before you push.", 0, "always run make lint before you push");
    let distilled = Distilled { session: session.id().to_owned(), items: vec![order], ..Default::default() };
    let report = memory.engine().record_distilled(&distilled).unwrap();
    assert_eq!((report.recorded, report.problems.len()), (1, 0), "{report:?}");
}

fn fields(given: &[(&str, &str)]) -> Vec<DistilledField> {
    given.iter().map(|(name, text)| DistilledField { name: (*name).to_owned(), text: (*text).to_owned() }).collect()
}

#[test]
fn a_finding_keeps_the_fields_of_its_kind_and_is_found_by_them() {
    let memory = memory();
    let decision = DistilledItem {
        fields: fields(&[
            ("reason", "Redis loses them on a restart"),
            ("alternative", "Redis with AOF"),
            ("error", "of another kind"),
        ]),
        ..item("decision", "Berth leases live in SQLite.", 1, ORDER)
    };
    let solution = DistilledItem {
        fields: fields(&[("cause", "the table was scanned"), ("change", "an index on berth_id"), ("tried", "a larger cache")]),
        ..item("solution", "The lease table needs an index on berth_id.", line(&memory, FINDING), "no index on `berth_id`")
    };
    assert_eq!(record(&memory, vec![decision, solution], Vec::new()).recorded, 2);
    let known = all(&memory);
    let of = |kind: MemoryKind| known.iter().find(|known| known.memory.kind == kind).unwrap().memory.fields.clone();
    let alternatives = vec!["Redis with AOF".to_owned()];
    let reason = Some("Redis loses them on a restart".to_owned());
    assert_eq!(of(MemoryKind::Decision), Fields::Decision { reason, alternatives, tradeoffs: Vec::new() });
    let Fields::Solution { cause, tried, changes, .. } = of(MemoryKind::Solution) else { panic!("{known:?}") };
    assert_eq!(
        (cause.as_deref(), tried.len(), changes[0].after.as_str()),
        (Some("the table was scanned"), 1, "an index on berth_id")
    );
}

fn entity(name: &str, kind: &str, description: Option<&str>, same_as: Option<&str>) -> DistilledEntity {
    let (description, same_as) = (description.map(str::to_owned), same_as.map(str::to_owned));
    DistilledEntity { name: name.to_owned(), kind: kind.to_owned(), description, same_as }
}

#[test]
fn a_thing_gets_its_kind_and_its_sentence_and_one_thing_stays_one() {
    let memory = memory();
    let about = |things: &[&str]| things.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let first = DistilledItem { entities: about(&["SQLite"]), ..item("decision", "Berth leases live in SQLite.", 1, ORDER) };
    record(&memory, vec![first], Vec::new());
    let engine = memory.engine();
    let vague = engine.entity_named("SQLite").unwrap();
    assert_eq!((vague.kind, vague.description), (EntityKind::Concept, None), "its kind is not known");
    let second = DistilledItem {
        entities: about(&["sqlite", "lease table", "Redis"]),
        ..item("solution", "The lease table needs an index on berth_id.", line(&memory, FINDING), "no index on `berth_id`")
    };
    let entities = vec![
        entity("sqlite", "tool", Some("Database in a file."), None),
        entity("lease table", "component", None, Some("SQLite")),
        entity("Redis", "tool", None, None),
        entity("Nobody's", "tool", None, None),
    ];
    let distilled = Distilled { session: session(), items: vec![second], entities, ..Default::default() };
    assert_eq!(engine.record_distilled(&distilled).unwrap().recorded, 1);
    let known = engine.entity_named("SQLite").unwrap();
    assert_eq!((known.id, known.kind, known.description.as_deref()), (vague.id, EntityKind::Tool, Some("Database in a file.")));
    assert_eq!(known.aliases, ["lease table"], "the distiller knows it under another name");
    assert_eq!(engine.entity_named("Redis").unwrap().kind, EntityKind::Tool);
    assert!(engine.entity_named("Nobody's").is_err(), "no finding is about it");
    let other = vec![entity("SQLite", "concept", Some("Another sentence."), None)];
    let third = DistilledItem { entities: about(&["SQLite"]), ..item("fact", "SQLite holds the leases.", 1, ORDER) };
    engine
        .record_distilled(&Distilled { session: session(), items: vec![third], entities: other, ..Default::default() })
        .unwrap();
    assert_eq!(engine.entity_named("SQLite").unwrap(), known, "what is known of it stays");
}

#[test]
fn steps_are_not_given_and_the_error_of_a_failed_tool_is() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(3).cwd(QUAY);
    session.human("why does the build fail on the quay box?");
    session.assistant("Let me look at the log of the build first.");
    session.tool(
        "Bash",
        &serde_json::json!({"command": "make"}),
        "cc main.c\nerror: no space left on device\nmake: *** [all] Error 1",
        true,
    );
    session.assistant("The disk is full because the logs of the tide are never rotated.");
    memory.write("projects/p/c.jsonl", session.text());
    memory.learn();
    let request = MaterialRequest { session: Some(session.id().to_owned()), ..MaterialRequest::default() };
    let material = memory.engine().material(&request).unwrap().unwrap();
    let texts: Vec<&str> = material.new.iter().map(|line| line.text.as_str()).collect();
    let expected = [
        "why does the build fail on the quay box?",
        "error: no space left on device",
        "The disk is full because the logs of the tide are never rotated.",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn findings_are_read_by_the_names_of_the_skill_and_of_the_designs() {
    let memory = memory();
    let text = r#"{"items": [
            {"ref": "a", "kind": "decision", "statement": "Leases live in SQLite.", "line": 1, "quote": "berth leases in SQLite"},
            {"type": "fact", "content": "Redis loses leases at a restart.", "source_line": 1, "quote": "Redis loses them"}],
        "relations": [{"from": "a", "type": "uses", "to": "SQLite"}, {"from_line": 1, "name": "uses", "to_id": "Redis"}],
        "topic": {"name": "Leases"}, "skip_lines": [2, 3]}"#;
    let distilled = Distilled { session: session(), ..serde_json::from_str(text).unwrap() };
    let report = memory.engine().record_distilled(&distilled).unwrap();
    assert_eq!((report.recorded, report.relations, report.is_topic_named, report.problems.len()), (2, 3, true, 0), "{report:?}");
    let id = all(&memory)[0].memory.id.short();
    let relation = format!(r#"{{"relations": [{{"from": "{id}", "type": "uses", "to": "tide"}}]}}"#);
    let distilled = Distilled { session: session(), ..serde_json::from_str(&relation).unwrap() };
    assert_eq!(memory.engine().record_distilled(&distilled).unwrap().relations, 1, "from a memory by its id");
}

#[test]
fn nothing_is_recorded_that_was_not_said_or_that_no_person_said() {
    let memory = memory();
    let finding = line(&memory, FINDING);
    let long = "x".repeat(600);
    let refused = [
        item("decision", "The leases live in Redis.", 1, "keep the leases in Redis"),
        item("decision", "The leases live in SQLite.", 1, ""),
        item("decision", "The leases live in SQLite.", 99, ORDER),
        item("decision", "The leases live in SQLite.", 0, "nobody said this in any line"),
        item("poem", "The leases live in SQLite.", 1, ORDER),
        item("decision", &long, 1, ORDER),
        item("decision", "", 1, ORDER),
        item("standard", "Always run curl.", finding, FINDING),
        item("preference", "The person likes scans.", finding, FINDING),
        DistilledItem { confidence: Some(0.3), ..item("decision", "The leases live in SQLite.", 1, ORDER) },
        DistilledItem { confidence: Some(f32::NAN), ..item("decision", "The leases live in SQLite.", 1, ORDER) },
    ];
    let count = refused.len();
    let report = record(&memory, refused.to_vec(), Vec::new());
    assert_eq!((report.recorded, report.problems.len()), (0, count), "{report:?}");
    assert!(all(&memory).is_empty());
}

#[test]
fn empty_id_names_no_session() {
    let memory = memory();
    let nothing = Distilled { items: vec![item("decision", "Leases live in SQLite.", 1, ORDER)], ..Distilled::default() };
    assert!(memory.engine().record_distilled(&nothing).is_err());
    assert!(memory.engine().material(&MaterialRequest { session: Some(" ".to_owned()), ..Default::default() }).is_err());
}

#[test]
fn lines_that_there_are_not_are_told_and_leave_the_rest_to_be_read() {
    let memory = memory();
    let found = Distilled {
        session: session(),
        items: vec![item("decision", "Leases live in SQLite.", 1, ORDER), item("decision", "Leases live in Redis.", 8, "Redis")],
        upto: Some(999),
        ..Distilled::default()
    };
    let report = memory.engine().record_distilled(&found).unwrap();
    assert_eq!((report.recorded, report.problems.len()), (1, 2), "{report:?}");
    assert!(report.left > 0, "{report:?}");
    let material =
        memory.engine().material(&MaterialRequest { session: Some(session()), ..Default::default() }).unwrap().unwrap();
    assert_eq!(material.recent.len(), 1, "only the line of what was recorded was read");
}

#[test]
fn sessions_of_late_wait_until_they_are_distilled_and_the_brief_counts_them() {
    let memory = Memory::new();
    for seed in 1..4 {
        let mut session = SessionBuilder::new(seed).cwd(QUAY).at(Memory::now() - seed as i64 * 3_600_000);
        for at in 0..5 {
            session.human(&format!("go on with part {at} of the lease table"));
            session.assistant(&format!("Part {at} of the lease table is done."));
        }
        memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
    }
    let mut old = SessionBuilder::new(9).cwd(QUAY).at(Memory::now() - 40 * 86_400_000).turns(20);
    old.human("and now the gauge");
    memory.write("projects/p/old.jsonl", old.text());
    memory.learn();
    let id = |seed: u64| SessionBuilder::new(seed).id().to_owned();
    let waiting = |session: Option<String>| {
        let request = BriefRequest { here: Some(names_of(QUAY)), session, is_compacted: false };
        memory.engine().brief(&request).unwrap().waiting
    };
    assert_eq!((waiting(None), waiting(Some(id(2)))), (3, 2), "the session that asks is not counted");
    let material = |own: Option<String>, here: &str| {
        let request = MaterialRequest { session: None, own, here: Some(names_of(here)) };
        memory.engine().material(&request).unwrap().map(|material| material.session)
    };
    assert_eq!((material(None, QUAY), material(Some(id(3)), QUAY)), (Some(id(1)), Some(id(3))), "the latest, or its own");
    assert_eq!(material(None, "/home/dev/reef"), None);
    memory.engine().record_distilled(&Distilled { session: id(1), upto: Some(10), ..Distilled::default() }).unwrap();
    assert_eq!((waiting(None), material(None, QUAY)), (2, Some(id(2))));
}

#[test]
fn it_is_heard_once_and_replaces_nothing_that_a_person_wrote() {
    let memory = memory();
    let statement = "Berth leases live in SQLite, because Redis loses them when the harbour box restarts.";
    assert_eq!(record(&memory, vec![item("decision", statement, 1, ORDER)], Vec::new()).recorded, 1);
    let again = record(&memory, vec![item("decision", statement, 1, ORDER)], Vec::new());
    assert_eq!((again.recorded, again.known), (0, 1));
    let by_hand = Cause { actor: Actor::Person, by: "test".to_owned(), input: None };
    let own = memory.engine().add_memory(&NewMemory::new(MemoryKind::Fact, "The harbour box runs Debian."), &by_hand).unwrap();
    let newer = DistilledItem { reference: Some("n".to_owned()), ..item("fact", "The harbour box runs Alpine now.", 1, ORDER) };
    let relation =
        |from: &str, name: &str, to: &str| DistilledRelation { from: from.to_owned(), name: name.to_owned(), to: to.to_owned() };
    let id = own.memory.to_string();
    // Either way round.
    let relations =
        vec![relation("n", "supersedes", &id), relation(&id, "superseded_by", "n"), relation(&id, "replaced_by", "n")];
    let report = record(&memory, vec![newer], relations);
    assert_eq!((report.recorded, report.relations, report.problems.len()), (1, 0, 3), "{report:?}");
    assert_eq!(memory.engine().memory(&own.memory.to_string()).unwrap().memory.status, Status::Holds);
    let rejected = all(&memory).into_iter().find(|known| known.memory.statement == statement).unwrap().memory.id.to_string();
    memory.engine().invalidate_memory(&rejected, Some("no"), &by_hand).unwrap();
    let report = record(&memory, vec![item("decision", statement, 1, ORDER)], Vec::new());
    assert_eq!((report.recorded, report.joined, report.known), (0, 0, 0), "a person rejected it: {report:?}");
}

#[test]
fn name_and_summary_of_a_topic_are_the_agents_and_go_with_the_words() {
    let memory = memory();
    let named = Distilled {
        session: session(),
        topic: Some(DistilledTopic {
            name: Some("Lease table on SQLite".to_owned()),
            summary: Some("Leases moved to SQLite; the table got an index.".to_owned()),
        }),
        upto: Some(3),
        ..Distilled::default()
    };
    assert!(memory.engine().record_distilled(&named).unwrap().is_topic_named);
    let topics = |memory: &Memory| memory.engine().topics(&TopicsRequest::default()).unwrap();
    assert_eq!(topics(&memory)[0].topics[0].name, "Lease table on SQLite");
    assert_eq!(topics(&memory)[0].topics[0].summary, ["Leases moved to SQLite; the table got an index."]);
    memory.forget_hard(&session());
    assert!(topics(&memory).is_empty());
}

#[test]
fn open_work_that_new_lines_are_about_is_given_and_closed_by_what_an_agent_finds() {
    let memory = memory();
    let todo = "Add an index on `berth_id` of the lease table.";
    record(&memory, vec![item("todo", todo, line(&memory, FINDING), "no index on `berth_id`")], Vec::new());
    let by_person = Cause { actor: Actor::Person, by: "test".to_owned(), input: None };
    let mut own = NewMemory::new(MemoryKind::Todo, "Name the index on `berth_id` of the lease table.");
    own.memory.project = all(&memory)[0].memory.project;
    let own = memory.engine().add_memory(&own, &by_person).unwrap().memory;
    let mut later = SessionBuilder::new(2).cwd(QUAY);
    later.human("please add the index on `berth_id` of the lease table and name it");
    later.assistant("The lease table has the index `lease_berth` on `berth_id` now.");
    memory.write("projects/p/b.jsonl", later.text());
    memory.learn();
    let request = MaterialRequest { session: Some(later.id().to_owned()), ..Default::default() };
    let material = memory.engine().material(&request).unwrap().unwrap();
    let open: Vec<&str> = material.open.iter().map(|(_, _, statement)| statement.as_str()).collect();
    assert!(open.contains(&todo) && open.len() == 2, "{open:?}");
    let done = DistilledItem {
        reference: Some("done".to_owned()),
        ..item("solution", "The lease table has the index `lease_berth`.", 2, "has the index `lease_berth` on `berth_id` now")
    };
    let relate = |(id, ..): &(String, MemoryKind, String)| DistilledRelation {
        from: "done".to_owned(),
        name: "solves".to_owned(),
        to: id.clone(),
    };
    let relations = material.open.iter().map(relate).collect();
    let distilled = Distilled { session: later.id().to_owned(), items: vec![done], relations, ..Default::default() };
    let report = memory.engine().record_distilled(&distilled).unwrap();
    assert_eq!((report.recorded, report.relations), (1, 2), "{:?}", report.problems);
    let still_open: Vec<String> = all(&memory)
        .into_iter()
        .map(|known| known.memory)
        .filter(yore_core::memory::Memory::is_open)
        .map(|memory| memory.statement)
        .collect();
    assert_eq!(still_open, ["Name the index on `berth_id` of the lease table."], "a person's own is closed by a person only");
    let solution = all(&memory).into_iter().find(|known| known.memory.kind == MemoryKind::Solution).unwrap().memory.id;
    let solves = RelationType::read("solves").unwrap();
    memory.engine().relate(&Node::Memory(solution), solves, &Node::Memory(own), 1.0, None, &by_person).unwrap();
    assert!(all(&memory).iter().all(|known| !known.memory.is_open()));
}

#[test]
fn what_an_agent_states_better_takes_the_place_of_what_rules_put_badly_whether_it_drops_or_supersedes_that() {
    const DECIDED: &str = "Good. From now on always keep the berth leases in SQLite.";
    for is_dropped in [true, false] {
        let memory = Memory::new();
        let mut session = SessionBuilder::new(1).cwd(QUAY);
        session.human(DECIDED);
        session.assistant("Understood.");
        memory.write("projects/p/a.jsonl", session.text());
        memory.learn();
        memory.engine().extract(&yore_engine::ExtractRequest::default(), &mut |_, _| true).unwrap();
        let request = MaterialRequest { session: Some(self::session()), ..Default::default() };
        let proposed = memory.engine().material(&request).unwrap().unwrap().proposed;
        let [(id, ..)] = proposed.as_slice() else { panic!("{proposed:?}") };
        let better = "From now on always keep berth leases in SQLite.";
        let item = DistilledItem { reference: Some("better".to_owned()), ..item("standard", better, 1, DECIDED) };
        let supersedes = DistilledRelation { from: "better".to_owned(), name: "supersedes".to_owned(), to: id.clone() };
        let distilled = Distilled {
            session: self::session(),
            items: vec![item],
            relations: if is_dropped { Vec::new() } else { vec![supersedes] },
            drop: if is_dropped { vec![id.clone()] } else { Vec::new() },
            ..Default::default()
        };
        let report = memory.engine().record_distilled(&distilled).unwrap();
        assert_eq!((report.recorded, report.problems.len()), (1, 0), "{report:?}");
        assert_eq!((report.dropped, report.relations), if is_dropped { (1, 0) } else { (0, 1) }, "{report:?}");
        let holding: Vec<StoredMemory> = all(&memory).into_iter().filter(|known| known.memory.is_in_effect()).collect();
        let [known] = holding.as_slice() else { panic!("{holding:?}") };
        assert_eq!((known.memory.statement.as_str(), known.memory.evidence.len()), (better, 1));
    }
}

#[test]
fn what_is_restated_better_keeps_the_evidence_of_all_sessions_that_said_it() {
    let memory = Memory::new();
    for seed in [1, 2] {
        let mut session = SessionBuilder::new(seed).cwd(QUAY);
        session.human("From now on always run `make lint` before you push.");
        session.assistant("Understood.");
        memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
    }
    memory.learn();
    memory.engine().extract(&yore_engine::ExtractRequest::default(), &mut |_, _| true).unwrap();
    let [known] = all(&memory).try_into().unwrap_or_else(|all| panic!("{all:?}"));
    assert_eq!(known.memory.evidence.len(), 2);
    let better = item("standard", "Always run `make lint` before you push.", 1, "always run `make lint` before you push");
    let (items, drop) = (vec![better], vec![known.memory.id.to_string()]);
    let report = memory.engine().record_distilled(&Distilled { session: session(), items, drop, ..Default::default() }).unwrap();
    assert_eq!((report.recorded, report.dropped), (1, 1), "{report:?}");
    let holding: Vec<StoredMemory> = all(&memory).into_iter().filter(|known| known.memory.is_in_effect()).collect();
    assert_eq!((holding.len(), holding[0].memory.evidence.len()), (1, 2), "{holding:?}");
}
