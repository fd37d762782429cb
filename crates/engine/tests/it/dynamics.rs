//! Memories fade and come near again by the engine's own functions: uses, confirmations, tiers in the brief and in filters.

use serde_json::json;
use yore_core::memory::dynamics::{Standing, Tier};
use yore_core::memory::{Lane, MemoryKind, Use};
use yore_core::operation::Cause;
use yore_core::query::{MemoryConditions, Wanted};
use yore_engine::{BriefRequest, ExtractRequest, MemoryList, NewMemory};
use yore_sources::project_names::names_of;
use yore_testing::{Memory, SessionBuilder};

const DAY: i64 = 86_400_000;

/// Opens a memory whose clock is a number of days ahead.
macro_rules! later {
    ($memory:expr, $days:literal) => {{
        fn now() -> i64 {
            Memory::now() + $days * DAY
        }
        $memory.open_at(now);
    }};
}

fn add(memory: &Memory, kind: MemoryKind, lane: Lane, statement: &str) -> String {
    let mut new = NewMemory::new(kind, statement);
    new.memory.lane = lane;
    memory.engine().add_memory(&new, &Cause::default()).unwrap().memory.to_string()
}

fn standing(memory: &Memory, id: &str) -> Standing {
    memory.engine().memory(id).unwrap().standing
}

#[test]
fn what_is_not_used_steps_back_and_what_is_opened_comes_near_again() {
    let mut memory = Memory::new();
    let id = add(&memory, MemoryKind::Fact, Lane::Extracted, "The crane is on pier three.");
    assert_eq!(standing(&memory, &id).tier, Tier::Active);
    later!(memory, 400);
    let old = standing(&memory, &id);
    assert_eq!(old.tier, Tier::Frozen, "{old:?}");
    let operations = memory.engine().operations(None, None, 10).unwrap().len();
    memory.engine().open_memory(&id, None).unwrap();
    let opened = standing(&memory, &id);
    assert!(opened.tier == Tier::Active && opened.strength > 0.99, "{opened:?}");
    assert_eq!(memory.engine().operations(None, None, 10).unwrap().len(), operations, "a standing is no operation");
    // A clock that goes back changes nothing that is stored.
    later!(memory, 0);
    assert_eq!(standing(&memory, &id).tier, Tier::Active);
    later!(memory, 401);
    assert_eq!(memory.engine().memory(&id).unwrap().memory.statement, "The crane is on pier three.");
}

#[test]
fn any_number_of_shows_and_gifts_changes_no_standing() {
    let mut memory = Memory::new();
    let id = add(&memory, MemoryKind::Fact, Lane::Extracted, "The crane is on pier three.");
    let uses = |way| {
        let named = [memory.engine().memory(&id).unwrap().memory.id];
        for _ in 0..100 {
            memory.engine().record_memory_uses(&named, way, Some("s"), Some("where is the crane?")).unwrap();
        }
    };
    uses(Use::Opened);
    let opened = memory.engine().memory(&id).unwrap();
    uses(Use::Shown);
    uses(Use::Given);
    let shown = memory.engine().memory(&id).unwrap();
    assert_eq!((shown.uses.opened, shown.uses.shown, shown.uses.given), (100, 100, 100));
    assert_eq!(shown.standing, opened.standing);
    later!(memory, 60);
    let later = standing(&memory, &id);
    assert!(later.strength < opened.standing.strength && later.tier <= Tier::Warm, "{later:?}");
}

#[test]
fn a_confirmation_reinforces_and_its_undoing_takes_that_back() {
    let mut memory = Memory::new();
    let id = add(&memory, MemoryKind::Fact, Lane::Extracted, "The crane is on pier three.");
    later!(memory, 300);
    let before = standing(&memory, &id);
    memory.engine().confirm_memory(&id, &Cause::default()).unwrap();
    let after = standing(&memory, &id);
    assert!(after.strength > 0.99 && after.tier == Tier::Active && before.tier == Tier::Frozen, "{before:?} {after:?}");
    let confirmed = memory.engine().operations(None, None, 1).unwrap()[0].number;
    memory.engine().undo(confirmed, &Cause::default()).unwrap();
    assert_eq!(standing(&memory, &id), before);
}

#[test]
fn a_cold_memory_is_in_no_brief_unless_it_is_pinned_and_is_found_by_asking() {
    let mut memory = Memory::new();
    let rule = "Always run the linter before a commit.";
    let id = add(&memory, MemoryKind::Standard, Lane::Curated, rule);
    let brief = |memory: &Memory| {
        let request = BriefRequest { here: Some(names_of("/home/dev/quay")), ..BriefRequest::default() };
        memory.engine().brief(&request).unwrap().orders.iter().map(|order| order.statement.clone()).collect::<Vec<_>>()
    };
    assert_eq!(brief(&memory), [rule]);
    later!(memory, 9_000);
    assert!(standing(&memory, &id).tier >= Tier::Cold);
    assert!(brief(&memory).is_empty());
    memory.index();
    let asked = memory.ask_with("run the linter before a commit?", |request| request.filter.wanted = Wanted::Memories);
    let found = asked.hits[0].as_memory().unwrap();
    assert_eq!((found.memory.statement.as_str(), found.standing.unwrap().tier >= Tier::Cold), (rule, true));
    memory.engine().pin_memory(&id, true, &Cause::default()).unwrap();
    assert_eq!(brief(&memory), [rule]);
}

#[test]
fn after_a_pause_of_months_what_was_decided_before_it_is_still_in_the_brief() {
    let mut memory = Memory::new();
    let work = |memory: &mut Memory, number: u64, at: i64| {
        let mut session = SessionBuilder::new(number).cwd("/home/dev/harbour").at(at);
        session.human("Check the berth leases, and tell me whether all of them end in time.");
        session.assistant("All of them do: the longest ends in an hour, and the sweeper runs every five minutes.");
        memory.write(&format!("projects/harbour/{number}.jsonl"), session.text());
        memory.learn();
    };
    work(&mut memory, 7, Memory::now() - DAY);
    let here = names_of("/home/dev/harbour");
    let mut new = NewMemory::new(MemoryKind::Decision, "Berth leases are kept in SQLite.");
    (new.memory.lane, new.here) = (Lane::Extracted, Some(here.clone()));
    let id = memory.engine().add_memory(&new, &Cause::default()).unwrap().memory.to_string();
    let decided = |memory: &Memory| {
        let request = BriefRequest { here: Some(here.clone()), ..BriefRequest::default() };
        let brief = memory.engine().brief(&request).unwrap();
        brief.decided.iter().map(|decided| decided.statement.clone()).collect::<Vec<_>>()
    };
    later!(memory, 400);
    work(&mut memory, 8, Memory::now() + 400 * DAY);
    assert!(standing(&memory, &id).tier >= Tier::Cold);
    assert_eq!(decided(&memory), ["Berth leases are kept in SQLite."]);
    // Work that went on for as long, without a pause, leaves it behind.
    for month in 1..16 {
        work(&mut memory, 20 + month, Memory::now() + 25 * month as i64 * DAY);
    }
    assert!(decided(&memory).is_empty());
}

#[test]
fn lists_and_recall_filter_by_tier_and_by_the_least_decay_score() {
    let mut memory = Memory::new();
    let old = add(&memory, MemoryKind::Fact, Lane::Extracted, "The old crane is on pier three.");
    later!(memory, 400);
    let new = add(&memory, MemoryKind::Fact, Lane::Extracted, "The yellow ferry leaves at noon for the crane.");
    memory.index();
    let listed = |list: MemoryList| {
        let list = MemoryList { limit: 9, ..list };
        let found: Vec<String> = memory.engine().memories(&list).unwrap().iter().map(|one| one.memory.id.to_string()).collect();
        assert_eq!(memory.engine().count_memories(&list).unwrap(), found.len() as u64);
        found
    };
    assert_eq!(listed(MemoryList { tiers: vec![Tier::Frozen], ..MemoryList::default() }), [old.as_str()]);
    assert_eq!(listed(MemoryList { least_decay: Some(0.2), ..MemoryList::default() }), [new.as_str()]);
    assert_eq!(listed(MemoryList::default()).len(), 2);
    let asked = |conditions: MemoryConditions| {
        let answer = memory.ask_with("crane", |request| {
            (request.filter.memories, request.filter.wanted) = (conditions, Wanted::Memories);
        });
        answer.hits.iter().map(|hit| hit.as_memory().unwrap().memory.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(asked(MemoryConditions { tiers: vec![Tier::Active], ..MemoryConditions::default() }), [new.as_str()]);
    assert_eq!(asked(MemoryConditions { least_decay: Some(0.2), ..MemoryConditions::default() }), [new.as_str()]);
    assert_eq!(asked(MemoryConditions::default()).len(), 2);
}

#[test]
fn what_a_session_was_given_and_its_agent_then_repeats_is_cited_once() {
    let memory = Memory::new();
    let [run, crane, known, ignored] = [
        "`mise run quay-checks` runs the checks of the quay.",
        "The crane on pier three is calibrated by src/cranes/calibrate.rs.",
        "The tide gauge polls the harbour sensor every nine seconds.",
        "Berth leases are kept in SQLite, because Redis lost heartbeats.",
    ]
    .map(|statement| add(&memory, MemoryKind::Fact, Lane::Extracted, statement));
    let mut session = SessionBuilder::new(1).cwd("/home/dev/harbour");
    let id = session.id().to_owned();
    session.human("Check the quay, and tell me whether the tide gauge polls the harbour sensor every nine seconds.");
    learn(&memory, &session);
    let prompt = memory.turns(&id).last().unwrap().time.utc.unwrap();
    let all = [&run, &crane, &known, &ignored].map(|id| memory.engine().memory(id).unwrap().memory.id);
    // The client writes the prompt down after the hook answered it.
    memory.engine().record_memory_uses_at(prompt - 20, &all[..1], Use::Given, Some(&id), None).unwrap();
    // Memories that it asked for and was shown count as well.
    memory.engine().record_memory_uses_at(prompt - 20, &all[1..], Use::Shown, Some(&id), None).unwrap();
    session.tool(
        "Bash",
        &json!({"command": "cd harbour && mise run quay-checks --quiet | tail"}),
        "Redis lost heartbeats of berth leases, kept in SQLite",
        false,
    );
    session.assistant("The tide gauge polls the harbour sensor every nine seconds. I look at the cranes next.");
    session.tool("Read", &json!({"file_path": "/home/dev/harbour/src/cranes/calibrate.rs"}), "fn calibrate() {}", false);
    session.human("Go on.");
    learn(&memory, &session);
    let cited = || [&run, &crane, &known, &ignored].map(|id| memory.engine().memory(id).unwrap().uses.cited);
    assert_eq!(cited(), [1, 1, 0, 0], "what the prompt said, and what only a tool printed, is no evidence of use");
    session.assistant("`mise run quay-checks` passed, and src/cranes/calibrate.rs calibrates the crane.");
    learn(&memory, &session);
    assert_eq!(cited(), [1, 1, 0, 0]);
}

#[test]
fn memories_used_in_the_same_sessions_are_related_until_that_is_long_ago() {
    let mut memory = Memory::new();
    let [gauge, crane, other] = ["The gauge is on pier four.", "The crane is on pier three.", "The winch is on pier five."]
        .map(|statement| add(&memory, MemoryKind::Fact, Lane::Extracted, statement));
    let open = |memory: &Memory, id: &str, session| memory.engine().open_memory(id, Some(session)).unwrap();
    let together = |memory: &Memory| -> Vec<(String, f32)> {
        let opened = memory.engine().read_memory(memory.engine().memory(&gauge).unwrap().memory.id).unwrap();
        let used = opened.relations.into_iter().filter(|relation| relation.name == "co_accessed");
        used.map(|relation| (relation.label.unwrap(), relation.weight)).collect()
    };
    open(&memory, &gauge, "one");
    open(&memory, &other, "two");
    assert_eq!(together(&memory), [], "in different sessions");
    open(&memory, &crane, "one");
    open(&memory, &crane, "one");
    let [(label, once)] = &together(&memory)[..] else { panic!("{:?}", together(&memory)) };
    assert!(label == "The crane is on pier three." && (0.6..0.65).contains(once), "{once}");
    open(&memory, &gauge, "three");
    open(&memory, &crane, "three");
    assert!(together(&memory)[0].1 > *once, "a second session strengthens it");
    let operations = memory.engine().operations(None, None, 100).unwrap().len();
    later!(memory, 400);
    assert_eq!(together(&memory), [], "it weakened below the floor");
    open(&memory, &gauge, "four");
    open(&memory, &crane, "four");
    assert_eq!(together(&memory).len(), 1, "and comes back");
    assert_eq!((memory.engine().operations(None, None, 100).unwrap().len(), operations), (3, 3), "it is no operation");
}

/// Reads a session and has the rules read it.
fn learn(memory: &Memory, session: &SessionBuilder) {
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
}

#[test]
fn what_the_person_says_again_in_another_session_is_reinforced() {
    let rule = "From now on always run `make lint` before you push.";
    let mut memory = Memory::new();
    let say = |memory: &Memory, seed: u64, at: i64, words: &str| {
        let mut session = SessionBuilder::new(seed).cwd("/home/dev/harbour").at(at);
        session.human(words);
        session.assistant("Done.");
        memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
        memory.learn();
        memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    };
    let listed = |memory: &Memory| memory.engine().memories(&MemoryList { limit: 9, ..MemoryList::default() }).unwrap();
    say(&memory, 1, Memory::now() - DAY, rule);
    let [known] = &listed(&memory)[..] else { panic!("{:?}", listed(&memory)) };
    let id = known.memory.id.to_string();
    later!(memory, 300);
    let faded = standing(&memory, &id);
    say(&memory, 2, Memory::now() + 299 * DAY, rule);
    let known = listed(&memory);
    assert_eq!(known.len(), 1, "{known:?}");
    let again = standing(&memory, &id);
    assert!(again.strength > faded.strength && again.tier == Tier::Active, "{faded:?} {again:?}");
}
