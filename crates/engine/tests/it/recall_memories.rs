//! Recall over memories: found beside what was said, above what they rest on and what they replaced.

use yore_core::memory::{Lane, MemoryKind, Status};
use yore_core::operation::{Actor, Cause};
use yore_core::query::{ItemId, List, MemoryConditions, Part, SearchMode, Wanted};
use yore_core::relation::{Node, RelationType};
use yore_core::scope::ScopeChoice;
use yore_core::time::UtcMillis;
use yore_engine::{
    Engine, Finding, Found, GivenEvidence, Hit, MemoryEdit, NewMemory, Packing, Settlement, SuggestRequest, Trigger,
};
use yore_testing::{Memory, SessionBuilder};

const DAY: UtcMillis = 86_400_000;

fn cause() -> Cause {
    Cause { actor: Actor::Person, by: "test".to_owned(), input: None }
}

fn add(engine: &Engine, new: &NewMemory) -> String {
    engine.add_memory(new, &cause()).unwrap().memory.to_string()
}

fn fact(statement: &str) -> NewMemory {
    NewMemory::new(MemoryKind::Fact, statement)
}

fn statements(hits: &[Hit]) -> Vec<&str> {
    hits.iter().filter_map(|hit| Some(hit.as_memory()?.memory.statement.as_str())).collect()
}

/// A session about a harbour, learnt.
fn harbour() -> (Memory, SessionBuilder) {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(1);
    session.human("Where do the leases of the berths live?");
    session.assistant("I looked at the code.\n\nLeases live in SQLite since Tuesday, because Redis lost heartbeats.");
    session.human("And what does the tide gauge send?");
    session.assistant("The tide gauge sends a JSON line every ten minutes over MQTT.");
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    (memory, session)
}

#[test]
fn a_memory_is_found_with_the_words_that_it_rests_on_which_are_told_once() {
    let (mut memory, session) = harbour();
    let said = memory.turns(session.id())[1].id;
    let new = NewMemory {
        evidence: vec![GivenEvidence { turn: said.to_string(), quote: None }],
        entities: vec!["SQLite".to_owned()],
        ..NewMemory::new(MemoryKind::Decision, "Leases of berths are kept in SQLite.")
    };
    let id = add(memory.engine(), &new);
    // Before the index is brought up to date, after it, and by another process.
    for step in ["waiting", "indexed", "opened again"] {
        match step {
            "indexed" => assert_eq!(memory.index().indexed, 1),
            "opened again" => memory.open(),
            _ => {}
        }
        for mode in [SearchMode::Lexical, SearchMode::Static] {
            let answer = memory.ask_with("where are leases kept?", |request| request.mode = mode);
            // An item that waits for the index has scores on another scale.
            let best = answer.hits.iter().position(|hit| hit.as_memory().is_some()).unwrap_or(0);
            assert!(best == 0 || step == "waiting", "{step} {mode:?}");
            let hit = &answer.hits[best];
            let found = hit.as_memory().unwrap_or_else(|| panic!("{step} {mode:?}: {hit:?}"));
            assert_eq!(found.memory.id.to_string(), id);
            assert_eq!((found.entities.as_slice(), found.sources.len()), (["SQLite".to_owned()].as_slice(), 1));
            assert_eq!(hit.place.as_ref().unwrap().turn, said, "its place is that of its evidence");
            assert!(answer.hits.iter().all(|hit| hit.id() != ItemId::Turn(said)), "{step}: the evidence is folded");
            let parts: f32 = hit.parts.iter().map(|part| part.value).sum();
            assert!((parts - hit.score).abs() < 1e-3, "every part of the score is told: {parts} of {}", hit.score);
        }
    }
    let packing = Packing { budget: 400, group_cost: 36, hit_cost: 24, broad: 0, least_gain: 0.0 };
    let answer = memory.ask_with("where are leases kept, and why?", |request| request.packing = Some(packing));
    assert_eq!(answer.hits[0].quote, "Leases of berths are kept in SQLite.");
    assert!(answer.hits[0].beside.iter().any(|said| said.text.contains("Redis lost heartbeats")), "{:?}", answer.hits[0].beside);
    // Without memories, turns are scored as before.
    let turns = memory.ask_with("where are leases kept?", |request| request.filter.wanted = Wanted::Turns);
    assert!(turns.hits.iter().any(|hit| hit.id() == ItemId::Turn(said)) && statements(&turns.hits).is_empty());
    memory.engine().undo(1, &cause()).unwrap();
    assert!(statements(&memory.ask("where are leases kept?")).is_empty(), "an undone memory is not found");
}

#[test]
fn the_newest_statement_stands_in_the_place_of_what_it_replaced() {
    let memory = Memory::new();
    let engine = memory.engine();
    let first = add(engine, &fact("The crane stands on pier three."));
    let reworded = |statement: &str| MemoryEdit { statement: Some(statement.to_owned()), ..MemoryEdit::default() };
    let second = engine.edit_memory(&first, &reworded("The big winch moved to pier four."), &cause()).unwrap().memory;
    let third = engine.edit_memory(&second.to_string(), &reworded("Lifting gear is at the quay now."), &cause()).unwrap().memory;
    memory.index();
    // Only the first statement has these words.
    let hits = memory.ask("where is the crane, on pier three?");
    assert_eq!(statements(&hits), ["Lifting gear is at the quay now."]);
    let found = hits[0].as_memory().unwrap();
    assert_eq!(found.memory.id, third);
    let past: Vec<_> = found.history.iter().map(|past| (past.statement.as_str(), past.status)).collect();
    let superseded = Status::Superseded;
    assert_eq!(past, [("The big winch moved to pier four.", superseded), ("The crane stands on pier three.", superseded)]);
    // A request for what was replaced gets it.
    let statuses = vec![Status::Superseded];
    let old = memory.ask_with("crane on pier three", |request| request.filter.memories.statuses = statuses);
    assert_eq!(statements(&old.hits)[0], "The crane stands on pier three.");
    // Where the newest was found wrong, the one before it stands there.
    engine.invalidate_memory(&third.to_string(), Some("never so"), &cause()).unwrap();
    memory.index();
    assert_eq!(statements(&memory.ask("crane on pier three"))[0], "The big winch moved to pier four.");
}

#[test]
fn what_is_wrong_comes_last_and_what_is_archived_only_if_it_is_asked_for() {
    let mut memory = Memory::new();
    let engine = memory.engine();
    let [wrong, archived, _right] = ["a", "b", "c"].map(|letter| add(engine, &fact(&format!("Berth {letter} takes barges."))));
    memory.index();
    engine.invalidate_memory(&wrong, Some("it is too shallow"), &cause()).unwrap();
    engine.archive_memory(&archived, true, &cause()).unwrap();
    memory.index();
    for _ in 0..2 {
        let hits = memory.ask_with("which berth takes barges?", |request| request.mode = SearchMode::Lexical).hits;
        assert_eq!(statements(&hits), ["Berth c takes barges.", "Berth a takes barges."]);
        assert_eq!(
            hits[1].as_memory().unwrap().memory.cause.as_ref().map(ToString::to_string).as_deref(),
            Some("it is too shallow")
        );
        let statuses = vec![Status::Archived];
        let put_away = memory.ask_with("berth barges", |request| request.filter.memories.statuses = statuses);
        assert_eq!(statements(&put_away.hits), ["Berth b takes barges."]);
        memory.open();
    }
}

#[test]
fn conditions_apply_before_memories_are_ranked() {
    let memory = Memory::new();
    let engine = memory.engine();
    let of = |kind, statement: &str, tag: &str, entity: &str| {
        let mut new = NewMemory { entities: vec![entity.to_owned()], ..NewMemory::new(kind, statement) };
        new.memory.tags = vec![tag.to_owned()];
        new
    };
    for number in 0..300 {
        add(
            engine,
            &of(MemoryKind::Fact, &format!("The signal lamp of buoy {number} is green, lamp {number}."), "lamps", "lamp"),
        );
    }
    let mut decided = of(MemoryKind::Decision, "We decided to paint the signal lamp white.", "paint", "Paint shop");
    (decided.memory.valid_from, decided.memory.valid_until) = (Some(10 * DAY), Some(20 * DAY));
    add(engine, &decided);
    memory.index();
    let asked = |conditions: MemoryConditions| {
        let answer = memory.ask_with("green signal lamp of buoy", |request| {
            (request.filter.memories, request.filter.wanted, request.limit) = (conditions, Wanted::Memories, 3);
        });
        statements(&answer.hits).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let white = ["We decided to paint the signal lamp white."];
    let all = MemoryConditions::default();
    assert_eq!(asked(MemoryConditions { kinds: vec![MemoryKind::Decision], ..all.clone() }), white);
    assert_eq!(asked(MemoryConditions { tags: vec!["paint".to_owned()], ..all.clone() }), white);
    assert_eq!(asked(MemoryConditions { entities: vec!["paint shop".to_owned()], ..all.clone() }), white);
    assert_eq!(asked(MemoryConditions { valid_at: Some(25 * DAY), kinds: vec![MemoryKind::Decision], ..all.clone() }), [""; 0]);
    assert_eq!(asked(MemoryConditions { valid_at: Some(15 * DAY), kinds: vec![MemoryKind::Decision], ..all.clone() }), white);
    let mut request = yore_engine::RecallRequest::new("lamp");
    request.filter.memories.entities = vec!["nobody".to_owned()];
    assert_eq!(engine.recall(&request).unwrap_err().code(), "memory/unknown-entity");
    // A kind that the question names comes first among equals.
    add(engine, &of(MemoryKind::Question, "The crane and its rope.", "", "crane"));
    add(engine, &of(MemoryKind::Decision, "The crane and its chain.", "", "crane"));
    let asked_for = memory.ask("open questions about the crane");
    assert_eq!(statements(&asked_for)[0], "The crane and its rope.");
    assert_eq!(statements(&memory.ask("decisions about the crane"))[0], "The crane and its chain.");
}

#[test]
fn of_equal_memories_the_kind_and_the_lane_decide() {
    let memory = Memory::new();
    let engine = memory.engine();
    let add_as = |kind: MemoryKind, lane: Lane, name: &str| {
        let mut new = NewMemory::new(kind, format!("Ropes of {name} are checked weekly."));
        new.memory.lane = lane;
        add(engine, &new)
    };
    add_as(MemoryKind::Preference, Lane::Curated, "anna");
    add_as(MemoryKind::Fact, Lane::Extracted, "berta");
    add_as(MemoryKind::Fact, Lane::Curated, "carla");
    add_as(MemoryKind::Solution, Lane::Curated, "doris");
    memory.index();
    let hits = memory.ask_with("ropes checked weekly", |request| request.mode = SearchMode::Lexical).hits;
    let names: Vec<&str> = statements(&hits).into_iter().map(|text| text.split(' ').nth(2).unwrap()).collect();
    assert_eq!(names, ["doris", "carla", "berta", "anna"]);
    assert!(hits[0].parts.iter().any(|part| part.part == Part::Memory && part.value > 0.0));
}

#[test]
fn what_was_believed_at_a_time_is_what_was_recorded_until_then() {
    let mut memory = Memory::new();
    memory.open_at(|| 100 * DAY);
    let first = add(memory.engine(), &fact("The depot opens at seven."));
    memory.open_at(|| 110 * DAY);
    let edit = MemoryEdit { statement: Some("The depot opens at nine.".to_owned()), ..MemoryEdit::default() };
    let second = memory.engine().edit_memory(&first, &edit, &cause()).unwrap().memory.to_string();
    memory.open_at(|| 120 * DAY);
    memory.engine().archive_memory(&second, true, &cause()).unwrap();
    memory.index();
    let at = |day: UtcMillis| {
        let answer = memory.ask_with("when does the depot open?", |request| request.filter.as_of = Some(day * DAY));
        let told: Vec<(String, Status)> = answer
            .hits
            .iter()
            .filter_map(|hit| Some((hit.as_memory()?.memory.statement.clone(), hit.as_memory()?.memory.status)))
            .collect();
        told
    };
    assert_eq!(at(99), []);
    assert_eq!(at(105), [("The depot opens at seven.".to_owned(), Status::Holds)]);
    assert_eq!(at(115), [("The depot opens at nine.".to_owned(), Status::Holds)]);
    assert_eq!(at(125), [], "what took its place is archived");
    assert!(statements(&memory.ask("when does the depot open?")).is_empty());
}

#[test]
fn what_was_undone_at_a_time_was_not_believed_then_although_it_was_done_again_later() {
    let mut memory = Memory::new();
    memory.open_at(|| 100 * DAY);
    let first = add(memory.engine(), &fact("The depot opens at seven."));
    memory.open_at(|| 110 * DAY);
    let edit = MemoryEdit { statement: Some("The depot opens at nine.".to_owned()), ..MemoryEdit::default() };
    let done = memory.engine().edit_memory(&first, &edit, &cause()).unwrap().operation.unwrap();
    memory.open_at(|| 120 * DAY);
    memory.engine().undo(done, &cause()).unwrap();
    memory.index();
    for (day, expected) in [(105, "seven"), (115, "nine"), (125, "seven")] {
        let answer = memory.ask_with("when does the depot open?", |request| request.filter.as_of = Some(day * DAY));
        assert_eq!(statements(&answer.hits), [format!("The depot opens at {expected}.")], "on day {day}, as it is undone");
        assert_eq!(answer.hits[0].as_memory().unwrap().memory.status, Status::Holds, "on day {day}");
    }
    memory.open_at(|| 130 * DAY);
    memory.engine().redo(done, &cause()).unwrap();
    memory.index();
    for (day, expected) in [(105, "seven"), (115, "nine"), (125, "seven"), (135, "nine")] {
        let answer = memory.ask_with("when does the depot open?", |request| request.filter.as_of = Some(day * DAY));
        assert_eq!(statements(&answer.hits), [format!("The depot opens at {expected}.")], "on day {day}");
    }
}

#[test]
fn a_memory_of_a_project_is_found_there_and_one_of_none_everywhere() {
    let (memory, _) = harbour();
    let engine = memory.engine();
    let here = engine.projects().unwrap()[0].clone();
    let mut own = fact("Invoices of the harbour go to Ms Moss.");
    own.memory.project = Some(here.id);
    add(engine, &own);
    add(engine, &fact("Invoices are sent as PDF."));
    memory.index();
    let found = |scope: ScopeChoice| {
        let answer = memory.ask_with("invoices", |request| request.filter.scope = scope);
        let mut told: Vec<String> = statements(&answer.hits).into_iter().map(str::to_owned).collect();
        told.sort();
        told
    };
    assert_eq!(found(ScopeChoice::All).len(), 2);
    assert_eq!(found(ScopeChoice::Projects(vec![here.name.clone()])), ["Invoices of the harbour go to Ms Moss."]);
}

#[test]
fn an_agent_is_given_what_holds_for_its_prompt_once_and_nothing_that_was_found_wrong() {
    let (memory, session) = harbour();
    let engine = memory.engine();
    let here = engine.projects().unwrap()[0].clone();
    let said = memory.turns(session.id())[3].id.to_string();
    let mut gauge = NewMemory {
        evidence: vec![GivenEvidence { turn: said, quote: None }],
        ..fact("The tide gauge sends a JSON line every ten minutes over MQTT.")
    };
    gauge.memory.project = Some(here.id);
    let id = add(engine, &gauge);
    let mut wrong = fact("The tide gauge sends XML over MQTT.");
    wrong.memory.project = Some(here.id);
    engine.invalidate_memory(&add(engine, &wrong), None, &cause()).unwrap();
    memory.index();
    let mut request = SuggestRequest {
        trigger: Trigger::Prompt("what does the tide gauge send over MQTT?".to_owned()),
        here: None,
        filter: Default::default(),
        session: None,
        given: Vec::new(),
        is_later: false,
        is_compacted: false,
        limit: 5,
        quote_chars: 200,
        packing: Packing { budget: 400, group_cost: 44, hit_cost: 44, broad: 4, least_gain: 0.0 },
        floor: 0.0,
        mode: SearchMode::Static,
    };
    request.filter.scope = ScopeChoice::Projects(vec![here.name]);
    let given = engine.suggest(&request).unwrap();
    let ids: Vec<String> = given.memories.iter().map(|memory| memory.hit.id().to_string()).collect();
    assert_eq!(ids[0], id, "{ids:?}");
    assert!(given.memories.iter().all(|memory| !memory.hit.quote.contains("XML")));
    request.given = vec![ItemId::parse(&id).unwrap()];
    let again = engine.suggest(&request).unwrap();
    assert!(again.memories.iter().all(|memory| memory.hit.id().to_string() != id));
}

#[test]
fn an_index_without_memories_or_without_a_place_finds_them_all_the_same() {
    let mut memory = Memory::new();
    for number in 0..40 {
        add(memory.engine(), &fact(&format!("Crate {number} holds lanterns of type {number}.")));
    }
    memory.index();
    memory.close();
    for folder in ["index", "vectors"] {
        std::fs::remove_dir_all(memory.data().join(folder)).unwrap();
    }
    memory.open();
    memory.index();
    assert_eq!(statements(&memory.ask("lanterns of crate 17"))[0], "Crate 17 holds lanterns of type 17.");
    let findings = memory.engine().examine(None).unwrap();
    let are_whole = [Finding::IndexWhole(40), Finding::VectorsWhole(40)].iter().all(|whole| findings.contains(whole));
    assert!(are_whole, "{findings:?}");
    let hit: Hit = memory.ask("lanterns of crate 17").remove(0);
    // It crosses the daemon's socket as JSON.
    let sent: Hit = serde_json::from_str(&serde_json::to_string(&hit).unwrap()).unwrap();
    assert!(matches!(&sent.found, Found::Memory(found) if found.memory == hit.as_memory().unwrap().memory));
}

#[test]
fn relations_lead_from_the_entities_of_a_question_to_what_no_word_of_it_stands_in() {
    let memory = Memory::new();
    let engine = memory.engine();
    for number in 0..30 {
        add(engine, &fact(&format!("Bollard {number} was painted in spring.")));
    }
    let about = |statement: &str, entities: &[&str]| {
        let entities = entities.iter().map(ToString::to_string).collect();
        add(engine, &NewMemory { entities, ..fact(statement) })
    };
    about("It needs oil every week.", &["Big Bertha"]);
    about("Both share one motor.", &["Big Bertha", "Slipway"]);
    about("Snow closes it.", &["Mountain road"]);
    engine.put_entity("concept", "Big Bertha", &["the winch".to_owned()], Some("the old winch"), &cause()).unwrap();
    memory.index();
    let lexical = |question: &str, is_followed: bool| {
        memory.ask_with(question, |request| {
            (request.mode, request.tuning.is_graph_followed) = (SearchMode::Lexical, is_followed);
        })
    };
    let answer = lexical("how do I look after big bertha and the slipway?", true);
    assert_eq!(statements(&answer.hits), ["Both share one motor.", "It needs oil every week."], "what both lead to comes first");
    let mut anchors: Vec<(&str, bool)> = answer.anchors.iter().map(|anchor| (anchor.name.as_str(), anchor.is_named)).collect();
    anchors.sort_unstable();
    assert_eq!(anchors, [("Big Bertha", true), ("Slipway", true)]);
    assert!((answer.anchors.iter().map(|anchor| anchor.weight).sum::<f32>() - 1.0).abs() < 1e-4);
    let hit = &answer.hits[0];
    assert!(hit.lists.iter().any(|place| place.list == List::Graph && place.rank == 1), "{:?}", hit.lists);
    assert!(statements(&lexical("how do I look after big bertha?", false).hits).is_empty());
    // An alias is as good as the name, and a filter holds here too.
    assert_eq!(statements(&lexical("what about the winch?", true).hits).len(), 2);
    let none = memory.ask_with("big bertha", |request| {
        request.filter.memories.kinds = vec![MemoryKind::Decision];
        request.filter.wanted = Wanted::Memories;
    });
    assert!(none.hits.is_empty());
    // A memory that words find leads on to those about the same entity.
    let answer = lexical("which motor is shared?", true);
    assert!(statements(&answer.hits).contains(&"It needs oil every week."), "{:?}", statements(&answer.hits));
    assert!(answer.anchors.iter().all(|anchor| !anchor.is_named) && answer.anchors.len() == 2);
}

/// Two projects that are repositories, each with a session, and their ids.
fn two_projects() -> (Memory, [yore_core::id::ProjectId; 2], [String; 2]) {
    let memory = Memory::new();
    let mut turns = Vec::new();
    for (seed, name) in [(1, "harbour"), (2, "quarry")] {
        let mut session = SessionBuilder::new(seed).cwd(&format!("/home/dev/{name}"));
        session.human(&format!("Who keeps the books of the {name}?"));
        session.assistant(&format!("Ms Moss keeps the books of the {name}, in a green ledger."));
        memory.write(&format!("projects/{name}/a.jsonl"), session.text());
        memory.learn();
        turns.push(memory.turns(session.id())[1].id.to_string());
    }
    let projects = memory.engine().projects().unwrap();
    let id = |name: &str| projects.iter().find(|project| project.name == name).unwrap().id;
    let ids = [id("harbour"), id("quarry")];
    (memory, ids, turns.try_into().unwrap())
}

#[test]
fn a_memory_brings_no_words_of_another_project_of_a_later_time_or_of_a_forgotten_session() {
    let (memory, _, [here, there]) = two_projects();
    let engine = memory.engine();
    let books = |turn: &str| NewMemory {
        evidence: vec![GivenEvidence { turn: turn.to_owned(), quote: None }],
        ..fact("Books are kept in a green ledger.")
    };
    add(engine, &books(&there));
    add(engine, &books(&here));
    memory.index();
    let packing = Packing { budget: 400, group_cost: 36, hit_cost: 24, broad: 0, least_gain: 0.0 };
    let asked = |change: &dyn Fn(&mut yore_engine::RecallRequest)| {
        let answer = memory.ask_with("in what are books kept?", |request| {
            request.packing = Some(packing);
            change(request);
        });
        let hit = answer.hits.into_iter().find(|hit| hit.as_memory().is_some()).unwrap();
        let found = hit.as_memory().unwrap();
        (found.sources.len(), found.memory.evidence.len(), hit.beside.iter().any(|said| said.text.contains("quarry")))
    };
    assert_eq!((asked(&|_| {}).0, asked(&|_| {}).1), (2, 2));
    let only_here = |request: &mut yore_engine::RecallRequest| {
        request.filter.scope = ScopeChoice::Current;
        request.here = Some(yore_sources::project_names::names_of("/home/dev/harbour"));
    };
    assert_eq!(asked(&only_here), (1, 1, false));
    let session = memory.episodes().into_iter().find(|episode| episode.cwd.as_deref() == Some("/home/dev/quarry")).unwrap();
    let session = session.native_id;
    let request =
        yore_engine::ForgetRequest { session, is_hard: false, is_dry_run: false, restore: false, keep_tombstones: true };
    memory.engine().forget(&request).unwrap();
    assert_eq!(asked(&|_| {}), (1, 1, false), "softly forgotten");
}

#[test]
fn what_rests_on_a_softly_forgotten_session_alone_is_found_again_when_it_is_restored() {
    let (memory, session) = harbour();
    let said = memory.turns(session.id())[1].id.to_string();
    let new = NewMemory { evidence: vec![GivenEvidence { turn: said, quote: None }], ..fact("Leases are rows of a table.") };
    add(memory.engine(), &new);
    memory.index();
    let forget = |restore: bool| {
        let session = session.id().to_owned();
        let request = yore_engine::ForgetRequest { session, is_hard: false, is_dry_run: false, restore, keep_tombstones: true };
        memory.engine().forget(&request).unwrap();
    };
    assert_eq!(statements(&memory.ask("leases are rows")).len(), 1);
    forget(false);
    assert_eq!(statements(&memory.ask("leases are rows")).len(), 0);
    forget(true);
    assert_eq!(statements(&memory.ask("leases are rows")).len(), 1);
}

#[test]
fn what_was_true_at_a_time_is_told_also_after_a_correction_and_as_it_was_known_then() {
    let mut memory = Memory::new();
    memory.open_at(|| 100 * DAY);
    let first = add(memory.engine(), &fact("Parcels are weighed in pounds."));
    memory.open_at(|| 110 * DAY);
    let edit = MemoryEdit { statement: Some("Parcels are weighed in kilograms.".to_owned()), ..MemoryEdit::default() };
    let second = memory.engine().edit_memory(&first, &edit, &cause()).unwrap().memory.to_string();
    memory.open_at(|| 120 * DAY);
    memory.engine().invalidate_memory(&second, Some("scales were replaced"), &cause()).unwrap();
    memory.index();
    let asked = |as_of: Option<UtcMillis>, valid_at: Option<UtcMillis>| {
        let answer = memory.ask_with("how are parcels weighed?", |request| {
            (request.filter.as_of, request.filter.memories.valid_at) =
                (as_of.map(|day| day * DAY), valid_at.map(|day| day * DAY));
        });
        let found = answer.hits.iter().filter_map(Hit::as_memory);
        found.map(|found| (found.memory.statement.clone(), found.memory.valid_until.is_some())).collect::<Vec<_>>()
    };
    let (pounds, kilograms) = ("Parcels are weighed in pounds.".to_owned(), "Parcels are weighed in kilograms.".to_owned());
    assert_eq!(asked(None, Some(105)), [(pounds.clone(), true)], "the correction is true since it was made");
    assert_eq!(asked(None, Some(115)), [], "what was found wrong was never true");
    assert_eq!(asked(Some(115), Some(112)), [(kilograms, false)], "as it was known then");
    assert_eq!(asked(Some(105), None), [(pounds, false)], "nobody knew yet that it would end");
}

#[test]
fn a_wrong_memory_leaves_the_words_that_it_rests_on_in_their_place() {
    let (memory, session) = harbour();
    let said = memory.turns(session.id())[3].id;
    let new =
        NewMemory { evidence: vec![GivenEvidence { turn: said.to_string(), quote: None }], ..fact("Tide gauge: JSON, MQTT.") };
    let id = add(memory.engine(), &new);
    memory.engine().invalidate_memory(&id, None, &cause()).unwrap();
    memory.index();
    let hits = memory.ask("what does the tide gauge send over MQTT, JSON?");
    assert!(hits.iter().any(|hit| hit.id() == ItemId::Turn(said)), "{:?}", statements(&hits));
}

#[test]
fn the_log_of_uses_holds_no_secret_and_nothing_after_a_hard_forget() {
    let (memory, session) = harbour();
    let id = add(memory.engine(), &fact("Leases are kept.")).parse().unwrap();
    let secret = "ghp_1234567890abcdefghijABCDEFGHIJ123456";
    let question = format!("{} {secret} kumquat", "x".repeat(480));
    memory.engine().record_memory_uses(&[id], yore_core::memory::Use::Shown, None, Some(&question)).unwrap();
    let (database, log) = memory.database_bytes();
    let holds = |bytes: &[u8], words: &str| bytes.windows(words.len()).any(|window| window == words.as_bytes());
    assert!(!holds(&database, &secret[..16]) && !holds(&log, &secret[..16]), "half a secret is one too");
    let question = "who eats kumquats?";
    memory.engine().record_memory_uses(&[id], yore_core::memory::Use::Shown, None, Some(question)).unwrap();
    memory.forget_hard(session.id());
    let (database, log) = memory.database_bytes();
    assert!(!holds(&database, "kumquats") && !holds(&log, "kumquats"));
    assert_eq!(memory.engine().memory(&id.to_string()).unwrap().uses.shown, 2, "counts stay");
}

#[test]
fn quoted_words_of_a_search_must_occur_in_what_relations_lead_to_as_well() {
    let memory = Memory::new();
    let about = |statement: &str| NewMemory { entities: vec!["C++".to_owned()], ..fact(statement) };
    add(memory.engine(), &about("It is compiled twice."));
    add(memory.engine(), &about("The nightly build is slow."));
    memory.index();
    assert_eq!(statements(&memory.ask("what about C++?")).len(), 2);
    assert_eq!(statements(&memory.ask("\"nightly build\" C++")), ["The nightly build is slow."]);
}

#[test]
fn the_history_of_a_memory_holds_no_statement_of_another_project_or_of_a_later_time() {
    let (mut memory, [here, there], _) = two_projects();
    memory.open_at(|| 100 * DAY);
    let mut old = fact("Barrels are counted in the cellar of the quarry.");
    old.memory.project = Some(there);
    let old = add(memory.engine(), &old);
    let early = add(memory.engine(), &fact("Barrels are counted by Ms Reed."));
    memory.open_at(|| 110 * DAY);
    let mut new = NewMemory { replaces: Some(old.clone()), ..fact("Barrels are counted at the gate of the harbour.") };
    new.memory.project = Some(here);
    let new = add(memory.engine(), &new);
    memory.open_at(|| 120 * DAY);
    let node = |id: &str| yore_core::relation::Node::Memory(id.parse().unwrap());
    let supersedes = yore_core::relation::RelationType::read("supersedes").unwrap();
    memory.engine().relate(&node(&new), supersedes, &node(&early), 0.5, None, &cause()).unwrap();
    memory.index();
    let history = |scope: ScopeChoice, as_of: Option<UtcMillis>| {
        let answer = memory.ask_with("where are barrels counted, at the gate?", |request| {
            (request.filter.scope, request.filter.as_of) = (scope, as_of);
            request.here = Some(yore_sources::project_names::names_of("/home/dev/harbour"));
        });
        let found = answer.hits.iter().filter_map(Hit::as_memory).find(|found| found.memory.id.to_string() == new).unwrap();
        let mut past: Vec<String> = found.history.iter().map(|past| past.id.to_string()).collect();
        past.sort();
        past
    };
    let mut both = [old.clone(), early.clone()];
    both.sort();
    assert_eq!(history(ScopeChoice::All, None), both);
    assert_eq!(history(ScopeChoice::Current, None), [early.as_str()], "the other project's stays there");
    assert_eq!(history(ScopeChoice::All, Some(115 * DAY)), [old.as_str()], "nobody had said the other yet");
    // Nothing takes the place of what took its own.
    let circle = memory.engine().relate(&node(&early), supersedes, &node(&new), 0.5, None, &cause()).unwrap_err();
    assert_eq!(circle.code(), "memory/invalid-relation");
    let stored = memory.engine().memory(&early).unwrap();
    assert_eq!(stored.memory.status, Status::Superseded, "a stated relation says so too");
}

#[test]
fn a_memory_is_forgotten_by_its_id_softly_and_for_good() {
    let memory = Memory::new();
    let engine = memory.engine();
    let id = add(engine, &NewMemory { entities: vec!["pantry".to_owned()], ..fact("The marmalade stands behind the flour.") });
    let other = add(engine, &fact("The flour stands in front."));
    memory.index();
    let request = |is_hard: bool, is_dry_run: bool, restore: bool| yore_engine::ForgetRequest {
        session: id.clone(),
        is_hard,
        is_dry_run,
        restore,
        keep_tombstones: true,
    };
    let asked = || {
        statements(&memory.ask("where is the marmalade, behind the flour?")).contains(&"The marmalade stands behind the flour.")
    };
    assert_eq!(engine.forget(&request(true, true, false)).unwrap().memories, 1);
    assert!(asked(), "a dry run changes nothing");
    engine.forget(&request(false, false, false)).unwrap();
    assert!(!asked());
    engine.forget(&request(false, false, true)).unwrap();
    assert!(asked());
    engine.back_up(None, 2).unwrap();
    let known = engine.forget(&request(true, true, false)).unwrap().backups;
    let outcome = engine.forget(&request(true, false, false)).unwrap();
    assert_eq!((outcome.memories, outcome.is_hard), (1, true));
    assert!(!known.is_empty() && outcome.backups == known, "each backup is told once: {:?}, {known:?}", outcome.backups);
    assert!(!asked() && engine.memory(&id).is_err() && engine.memory(&other).is_ok());
    let words = b"marmalade";
    let mut waiting = vec![memory.data()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words)), "{path:?}");
        }
    }
    assert_eq!(engine.forget(&request(true, false, false)).unwrap_err().code(), "unknown-session");
}

fn since(statement: &str, day: UtcMillis) -> NewMemory {
    let mut new = fact(statement);
    new.memory.lane = Lane::Curated;
    new.memory.valid_from = Some(Memory::now() - (100 - day) * DAY);
    new
}

#[test]
fn the_later_of_two_memories_about_one_state_is_answered_first_and_names_the_earlier() {
    let memory = Memory::new();
    let old = add(memory.engine(), &since("We use Redis for caching.", 1));
    let new = add(memory.engine(), &since("We moved caching from Redis to Memcached.", 2));
    memory.index();
    let hits = memory.ask("what do we use for caching?");
    let first = hits[0].as_memory().unwrap();
    assert_eq!(first.memory.id.to_string(), new, "{hits:#?}");
    assert!(first.history.iter().any(|past| past.is_likely && past.id.to_string() == old), "{first:?}");
    let touched = memory.engine().touches(first.memory.id).unwrap();
    assert_eq!(touched[0].id.to_string(), old);
    // A person settles it.
    let both = Settlement::Both;
    memory.engine().settle_conflict(&old, &new, &both, None, &cause()).unwrap();
    let hits = memory.ask("what do we use for caching?");
    assert_eq!(statements(&hits).len(), 2, "both stand by themselves now");
}

#[test]
fn what_only_looks_like_a_change_stays_beside_it_unmarked() {
    for (first, second) in [
        ("Shard 3 lives on host 12.", "Shard 4 lives on host 13."),
        ("Step 2 takes 5 minutes.", "Step 3 takes 9 minutes."),
        ("Worker A handles 7 queues.", "Worker B handles 9 queues."),
        ("The harbour server listens on 9090.", "The staging harbour server listens on 7070."),
        ("The gauge is written in Go.", "The gauge is read every ten minutes."),
        ("The search cache is warmed at start.", "search cache is warmed at the start"),
    ] {
        let memory = Memory::new();
        add(memory.engine(), &since(first, 1));
        add(memory.engine(), &since(second, 2));
        let open = memory.engine().conflicts(&[], None, 10).unwrap();
        assert!(open.is_empty(), "{first} | {second}: {open:?}");
    }
}

#[test]
fn a_closed_todo_says_so_and_by_what_and_an_open_one_comes_before_it() {
    let memory = Memory::new();
    let todo = |statement: &str| NewMemory::new(MemoryKind::Todo, statement);
    let closed = add(memory.engine(), &todo("Write the tide table of the north quay."));
    let open = add(memory.engine(), &todo("Write the tide table of the south quay."));
    let by = add(memory.engine(), &fact("The north quay has its printed table since May."));
    let (from, to) = (Node::Memory(by.parse().unwrap()), Node::Memory(closed.parse().unwrap()));
    memory.engine().relate(&from, (RelationType::Solves, false), &to, 1.0, None, &cause()).unwrap();
    memory.index();
    let hits = memory.ask("which tide tables are to be written?");
    let found: Vec<_> = hits.iter().filter_map(Hit::as_memory).collect();
    let place = |id: &str| found.iter().position(|found| found.memory.id.to_string() == id).unwrap();
    assert!(place(&open) < place(&closed));
    let told = found[place(&closed)];
    assert!(told.memory.is_closed() && told.closed_by.as_ref().is_some_and(|past| past.id.to_string() == by), "{told:?}");
}

#[test]
fn the_same_fact_noted_in_four_wordings_stands_once_in_an_answer_with_its_count() {
    let memory = Memory::new();
    let wordings = [
        "The search cache is warmed at start.",
        "Search cache is warmed at start",
        "search cache is warmed at the start!",
        "The search caches are warmed at start.",
    ];
    let others = [
        "The search cache holds ten thousand entries.",
        "The search cache is not shared between processes.",
        "The cache of the search is written to disk at shutdown.",
    ];
    for statement in wordings.iter().chain(&others) {
        add(memory.engine(), &fact(statement));
    }
    memory.index();
    let answer = memory.ask_with("search cache warmed at start", |request| request.limit = 4);
    let found: Vec<_> = answer.hits.iter().filter_map(Hit::as_memory).collect();
    assert_eq!(found.len(), 4, "{:?}", statements(&answer.hits));
    let repeated: Vec<usize> =
        found.iter().filter(|found| wordings.contains(&found.memory.statement.as_str())).map(|found| found.same.len()).collect();
    assert_eq!(repeated, [3], "{:?}", statements(&answer.hits));
    assert!(others.iter().all(|other| statements(&answer.hits).contains(other)));
    let unfolded = memory.ask_with("search cache warmed at start", |request| request.is_folded = false);
    assert_eq!(statements(&unfolded.hits).len(), 7);
}

#[test]
fn what_two_projects_say_in_the_same_words_stands_twice_in_an_answer_about_both() {
    let memory = Memory::new();
    for (seed, project) in [(1, "quay"), (2, "pier")] {
        memory.write(
            &format!("projects/{project}/a.jsonl"),
            SessionBuilder::new(seed).cwd(&format!("/home/dev/{project}")).turns(2).text(),
        );
    }
    memory.learn();
    for project in ["quay", "pier"] {
        let new = fact("The search cache lives in Redis.");
        add(memory.engine(), &NewMemory { project: Some(project.to_owned()), ..new });
    }
    memory.index();
    assert_eq!(statements(&memory.ask("where does the search cache live?")).len(), 2);
}

#[test]
fn importance_a_pin_and_use_raise_a_memory_among_those_as_near_to_the_question() {
    let memory = Memory::new();
    let engine = memory.engine();
    let [one, other] =
        ["The crane of the north quay is green.", "Green is the crane of the north quay."].map(|words| add(engine, &fact(words)));
    // How much higher the score of the first is: scores themselves depend on what else the index holds.
    let lead = || {
        memory.index();
        let hits = memory.ask("which crane is green, the one of the north quay?");
        let score = |id: &str| hits.iter().find(|hit| hit.as_memory().unwrap().memory.id.to_string() == id).unwrap().score;
        score(&one) / score(&other)
    };
    let weigh = |id: &str, importance: f32| {
        engine.edit_memory(id, &MemoryEdit { importance: Some(importance), ..MemoryEdit::default() }, &cause()).unwrap();
        lead()
    };
    let [least, usual, most] = [0.0, 0.5, 1.0].map(|importance| weigh(&one, importance));
    engine.pin_memory(&one, true, &cause()).unwrap();
    let pinned = lead();
    engine.open_memory(&one, None).unwrap();
    let leads = [least, usual, most, pinned, lead()];
    assert!(leads.windows(2).all(|pair| pair[0] < pair[1]), "{leads:?}");
    assert!(leads[4] < 1.2 * least, "nearness counts more: {leads:?}");
    engine.pin_memory(&one, false, &cause()).unwrap();
    assert!(weigh(&one, 0.0) < 1.0 && weigh(&one, 1.0) > 1.0, "the more important of two comes first");
}

#[test]
fn what_a_person_confirms_weighs_more_than_what_nobody_confirmed() {
    let memory = Memory::new();
    let mut new = fact("The crane of the north quay is green.");
    new.memory.lane = Lane::Extracted;
    let id = add(memory.engine(), &new);
    let score = || {
        memory.index();
        memory.ask("which crane is green?")[0].score
    };
    let before = score();
    memory.engine().confirm_memory(&id, &cause()).unwrap();
    assert!(score() > before);
}

#[test]
fn a_plain_change_of_tool_value_owner_or_flag_is_answered_with_the_later_words_first() {
    for (question, older, newer) in [
        ("where are sessions stored?", "Sessions are stored in Redis.", "Sessions are stored in Postgres instead of Redis."),
        ("what is the retry limit?", "The retry limit is 3.", "The retry limit is no longer 3, it is 5."),
        ("who owns the billing service?", "Alice owns the billing service.", "Bob owns the billing service."),
        ("is new_checkout on?", "Feature flag new_checkout is off.", "Feature flag new_checkout is on."),
    ] {
        let memory = Memory::new();
        let old = add(memory.engine(), &since(older, 1));
        add(memory.engine(), &since(newer, 2));
        memory.index();
        let hits = memory.ask(question);
        let first = hits[0].as_memory().unwrap();
        assert_eq!(first.memory.statement, newer, "{hits:#?}");
        let is_told = first.history.iter().any(|past| past.id.to_string() == old);
        let is_listed = first.contradicts.iter().any(|past| past.id.to_string() == old);
        assert!(is_told || is_listed, "{older} | {newer}: {first:?}");
    }
}
