//! A turn that was forgotten for good leaves no byte in the data directory, and everything else is unchanged.

use serde_json::json;
use yore_core::memory::{Anchor, AnchorKind, Fields, MemoryKind, Status, Use};
use yore_core::operation::Cause;
use yore_core::relation::{Node, RelationType};
use yore_engine::platform;
use yore_engine::{
    Engine, ForgetRequest, ForgetSelection, Forgotten, GivenEvidence, MemoryEdit, MemoryList, NewMemory, RememberRequest,
};
use yore_sources::source::ReaderOptions;
use yore_testing::{Memory, Scan, SessionBuilder};

/// Prefix of every planted word; it is in no word list.
const PLANTED: &str = "zanzquux";

/// Makes a session with planted words in every place that can hold words.
fn victim() -> SessionBuilder {
    victim_in("/home/dev/zanzquuxdir")
}

fn victim_in(directory: &str) -> SessionBuilder {
    let mut session = SessionBuilder::new(100).turns(6).branch("feature/zanzquuxbranch").cwd(directory);
    session.human("remember the zanzquuxhuman phrase that nobody may read");
    session.tool(
        "Bash",
        &json!({"command": "cat zanzquuxinput.txt"}),
        &format!("{}error: zanzquuxoutput is missing\n{}", "filler line\n".repeat(900), "more filler\n".repeat(900)),
        true,
    );
    session.queued("and zanzquuxqueued too");
    session.assistant("the zanzquuxanswer is no");
    session.title("All about zanzquuxtitle");
    session.turns(4)
}

fn subagent(victim: &SessionBuilder) -> SessionBuilder {
    let mut agent = SessionBuilder::new(101).with_id(victim.id()).subagent("b1946ac9");
    agent.human("look for zanzquuxtask");
    agent.assistant("zanzquuxfound in three files");
    agent
}

/// Makes two unrelated sessions.
fn plant_others(memory: &Memory) {
    memory.write("projects/p/other.jsonl", SessionBuilder::new(110).turns(30).text());
    memory.write("projects/q/third.jsonl", SessionBuilder::new(111).cwd("/home/dev/glasshouse").turns(12).text());
}

fn plant_victim(memory: &Memory) -> SessionBuilder {
    let victim = victim();
    memory.write("projects/p/victim.jsonl", victim.text());
    memory.write("projects/p/victim/subagents/agent-b1946ac9.jsonl", subagent(&victim).text());
    // A summary of the session in another session's file.
    let leaf = serde_json::from_str::<serde_json::Value>(&victim.lines()[0]).unwrap()["uuid"].clone();
    let summary = json!({"type": "summary", "summary": "About zanzquuxsummary", "leafUuid": leaf});
    let other = std::fs::read_to_string(memory.sources().join("projects/p/other.jsonl")).unwrap();
    memory.write("projects/p/other.jsonl", format!("{other}{summary}\n"));
    victim
}

/// Plants words in every text of memories, entities, relations and operations.
fn plant_memories(memory: &Memory, victim: &SessionBuilder) {
    let (engine, cause) = (memory.engine(), Cause { input: Some("zanzquuxinput".to_owned()), ..Cause::default() });
    let turn = memory.turns(victim.id())[0].id.to_string();
    let mut new = NewMemory {
        evidence: vec![GivenEvidence { turn, quote: None }],
        entities: vec!["zanzquuxentity".to_owned()],
        ..NewMemory::new(MemoryKind::Decision, "We use zanzquuxstatement.")
    };
    new.memory.title = Some("zanzquuxtitled".to_owned());
    new.memory.details = Some("because of zanzquuxdetails".to_owned());
    new.memory.tags = vec!["zanzquuxtag".to_owned()];
    new.memory.anchors = vec![Anchor { kind: AnchorKind::Symbol, text: "zanzquuxanchor".to_owned() }];
    new.memory.fields =
        Fields::Decision { reason: Some("zanzquuxreason".to_owned()), alternatives: Vec::new(), tradeoffs: Vec::new() };
    let id = engine.add_memory(&new, &cause).unwrap().memory;
    let edit = MemoryEdit { statement: Some("We use zanzquuxother.".to_owned()), ..MemoryEdit::default() };
    engine.edit_memory(&id.to_string(), &edit, &cause).unwrap();
    let aliases = ["zanzquuxalias".to_owned()];
    let entity = engine.put_entity("tool", "crane", &aliases, Some("zanzquuxdescription"), &cause).unwrap().0;
    let about = RelationType::read("about").unwrap();
    engine.relate(&Node::Memory(id), about, &Node::Entity(entity.id), 0.5, Some("zanzquuxrelation"), &cause).unwrap();
    engine.record_memory_uses(&[id], Use::Shown, None, Some("where is zanzquuxquestion?")).unwrap();
    let requests = memory.data().join("llm");
    platform::create_private_directory(&requests).unwrap();
    for file in ["0a.request.json", "0a.answer.json", "0b.answer.rejected"] {
        platform::write_new_private_file(&requests.join(file), b"{\"user\": \"zanzquuxrequest\"}").unwrap();
    }
}

fn all_memories(engine: &Engine) -> Vec<yore_core::memory::Memory> {
    let list = MemoryList { limit: 100, ..MemoryList::default() };
    engine.memories(&list).unwrap().into_iter().map(|stored| stored.memory).collect()
}

fn scan(memory: &mut Memory) -> Vec<String> {
    memory.close();
    let places = Scan::of(&memory.data()).places(PLANTED).into_iter().map(str::to_owned).collect();
    memory.open();
    places
}

#[test]
fn planted_words_are_in_no_byte_afterwards() {
    let mut memory = Memory::new();
    plant_others(&memory);
    let victim = plant_victim(&memory);
    memory.learn();
    let before = scan(&mut memory);
    for kind in ["turn_text", "blob", "label", "episode", "project", "term of text", "term of tool"] {
        assert!(before.iter().any(|place| place.contains(kind)), "the scan must see {kind}: {before:?}");
    }
    let outcome = memory.forget_hard(victim.id());
    assert_eq!(outcome.episodes.len(), 2, "{outcome:?}");
    assert!(outcome.turns > 10 && outcome.archive_lines > 20, "{outcome:?}");
    assert_eq!(Scan::of(&memory.data()).places(PLANTED), Vec::<&str>::new(), "while the engine is open");
    assert_eq!(scan(&mut memory), Vec::<String>::new());
    for word in ["zanzquuxhuman", "zanzquuxoutput", "zanzquuxtask", "zanzquuxqueued", "zanzquuxsummary"] {
        assert!(memory.ask(word).is_empty(), "{word}");
    }
    assert!(memory.turns(victim.id()).is_empty());
}

#[test]
fn everything_else_is_as_if_the_session_had_never_been() {
    let (memory, never) = (Memory::new(), Memory::new());
    plant_others(&memory);
    plant_others(&never);
    let victim = plant_victim(&memory);
    memory.learn();
    never.learn();
    memory.forget_hard(victim.id());
    let (a, b) = (never.words(), memory.words());
    let different: Vec<(&str, &str)> = a.lines().zip(b.lines()).filter(|(a, b)| a != b).take(6).collect();
    assert!(a == b, "{different:#?}");
    let findings = memory.engine().examine(Some(&ReaderOptions::default())).unwrap();
    assert!(findings.iter().all(|finding| finding.severity() < yore_engine::Severity::Warning), "{findings:#?}");
}

#[test]
fn source_that_still_exists_does_not_bring_it_back() {
    let mut memory = Memory::new();
    plant_others(&memory);
    let mut victim = plant_victim(&memory);
    memory.learn();
    memory.forget_hard(victim.id());
    let after = memory.words();
    // The file unchanged, grown, under a new name, and in a memory that was reopened.
    memory.learn();
    victim.human("one more zanzquuxlate line");
    memory.write("projects/p/victim.jsonl", victim.text());
    memory.write("projects/r/copy.jsonl", victim.text());
    memory.open();
    memory.learn();
    assert_eq!(memory.words(), after);
    assert_eq!(scan(&mut memory), Vec::<String>::new());
    memory.engine().reindex(&yore_sources::source::ReaderOptions::default(), &mut yore_engine::ingest::Silent).unwrap();
    assert_eq!(memory.words(), after);
}

/// Plants a session and a fork that copies all of it, in files of these names, and forgets the original.
fn forget_the_original(original: &str, fork_file: &str) -> (Memory, SessionBuilder) {
    let memory = Memory::new();
    // A fork is in the directory of its original, so the directory is not planted here.
    let victim = victim_in("/home/dev/tidepool");
    memory.write(&format!("projects/p/{original}.jsonl"), victim.text());
    let mut fork = SessionBuilder::new(120).at(1_790_000_000_000);
    fork.copy_from(&victim, victim.lines().len());
    fork.human("a question of the fork alone");
    fork.assistant("an answer of the fork alone");
    memory.write(&format!("projects/p/{fork_file}.jsonl"), fork.text());
    memory.learn();
    assert!(memory.turns(fork.id()).len() > 10);
    memory.forget_hard(victim.id());
    (memory, fork)
}

fn assert_only_its_own_is_left(mut memory: Memory, fork: &SessionBuilder) {
    let texts: Vec<String> = memory.turns(fork.id()).into_iter().map(|turn| turn.text).collect();
    assert_eq!(texts, ["a question of the fork alone", "an answer of the fork alone"]);
    assert_eq!(scan(&mut memory), Vec::<String>::new());
    memory.learn();
    assert_eq!(scan(&mut memory), Vec::<String>::new());
}

#[test]
fn torn_lines_of_a_copy_are_not_kept() {
    let mut memory = Memory::new();
    plant_others(&memory);
    let victim = victim();
    let lines: Vec<&str> = victim.lines().iter().map(String::as_str).collect();
    let torn = format!("{}\n{{\"type\":\"user\",\"message\":\"zanzquuxtorn\n{}\n", lines[0], lines[1..].join("\n"));
    memory.write("projects/p/victim.jsonl", &torn);
    memory.learn();
    memory.forget_hard(victim.id());
    memory.write("projects/q/copy.jsonl", &torn);
    memory.learn();
    assert_eq!(scan(&mut memory), Vec::<String>::new());
}

#[test]
fn fork_loses_the_copied_lines_and_keeps_its_own() {
    let (memory, fork) = forget_the_original("a-original", "b-fork");
    assert_only_its_own_is_left(memory, &fork);
}

#[test]
fn fork_that_was_read_first_loses_the_copied_lines_too() {
    let (memory, fork) = forget_the_original("b-original", "a-fork");
    assert_only_its_own_is_left(memory, &fork);
}

#[test]
fn dry_run_changes_nothing() {
    let memory = Memory::new();
    plant_others(&memory);
    let victim = plant_victim(&memory);
    memory.learn();
    let (bytes, state) = (memory.database_bytes(), memory.state());
    let request =
        ForgetRequest { session: victim.id().to_owned(), is_hard: true, is_dry_run: true, restore: false, keep_tombstones: true };
    let outcome = memory.engine().forget(&request).unwrap();
    assert_eq!(outcome.episodes.len(), 2);
    assert!(memory.database_bytes() == bytes);
    assert_eq!(memory.state(), state);
    assert!(!memory.ask("zanzquuxhuman").is_empty());
}

#[test]
fn lines_that_name_no_session_stay_forgotten_with_it() {
    let mut memory = Memory::new();
    let thread = "019e7da4-83bc-7dc1-93d3-a435cb5c9abc";
    let line = |kind: &str, payload: serde_json::Value| {
        format!("{}\n", json!({"timestamp": "2026-06-01T10:00:00.000Z", "type": kind, "payload": payload}))
    };
    let name = format!("codex/sessions/2026/06/01/rollout-2026-06-01T10-00-00-{thread}.jsonl");
    let mut rollout = line("session_meta", json!({"id": thread, "cwd": "/home/dev/tidepool", "cli_version": "0.140"}));
    rollout += &line("event_msg", json!({"type": "user_message", "message": "the zanzquuxprompt"}));
    memory.write(&name, &rollout);
    let codex = memory.sources().join("codex");
    assert_eq!(memory.read_as("codex", &codex).turns_added, 1);
    memory.forget_hard(thread);
    assert_eq!(scan(&mut memory), Vec::<String>::new());
    // The session continues, and its file is copied.
    memory.append(&name, line("event_msg", json!({"type": "user_message", "message": "zanzquuxmore"})).as_bytes());
    memory.write(&name.replace("2026/06/01", "copies"), rollout);
    memory.read_as("codex", &codex);
    assert_eq!(scan(&mut memory), Vec::<String>::new());
}

#[test]
fn what_older_rules_let_through_is_in_no_byte_after_a_scan() {
    let mut memory = Memory::new();
    plant_others(&memory);
    let victim = plant_victim(&memory);
    memory.learn();
    plant_memories(&memory, &victim);
    memory.engine().back_up(None, 2).unwrap();
    assert!(!memory.engine().is_scan_due().unwrap());
    let turns = memory.turns(victim.id()).len();
    memory.close();
    assert!(!Scan::of(&memory.data()).places(PLANTED).is_empty());
    let options = yore_engine::EngineOptions {
        redaction_patterns: vec!["(?i)zanzquux[a-z0-9_-]*".to_owned()],
        ..Memory::options(memory.data())
    };
    let engine = yore_engine::Engine::open(options.clone()).unwrap();
    assert!(engine.is_scan_due().unwrap(), "the person's own patterns are rules too");
    let readers = ReaderOptions::default();
    let planned = engine.scan(true, &readers, &mut yore_engine::ingest::Silent).unwrap();
    assert!(planned.changed_lines > 10 && planned.changed_names > 3 && planned.changed_memories > 9, "{planned:?}");
    assert!(engine.is_scan_due().unwrap());
    let done = engine.scan(false, &readers, &mut yore_engine::ingest::Silent).unwrap();
    assert_eq!((done.changed_lines, done.changed_memories), (planned.changed_lines, planned.changed_memories));
    let statements: Vec<String> = all_memories(&engine).into_iter().map(|memory| memory.statement).collect();
    assert_eq!(statements.len(), 2, "{statements:?}");
    assert!(!engine.is_scan_due().unwrap());
    assert!(engine.scan(false, &readers, &mut yore_engine::ingest::Silent).unwrap().is_clean());
    let findings = engine.examine(Some(&readers)).unwrap();
    assert!(findings.iter().all(|finding| finding.severity() < yore_engine::Severity::Warning), "{findings:#?}");
    drop(engine);
    assert_eq!(Scan::of(&memory.data()).places(PLANTED), Vec::<&str>::new());
    memory.open();
    assert_eq!(memory.turns(victim.id()).len(), turns, "nothing else is gone");
    assert!(memory.ask("zanzquuxhuman").is_empty());
}

/// The first messages of a session are repeated by another one; the first one's file ends with its title.
#[test]
fn title_is_of_the_session_whose_file_says_it_and_goes_with_it() {
    for original in ["a", "z"] {
        let memory = Memory::new();
        let mut first = SessionBuilder::new(130);
        first.human("a question that both know");
        first.assistant("an answer that both know");
        let last = first.human("the last words that both know");
        let copied = first.lines().len();
        let mut resumed = SessionBuilder::new(131);
        resumed.copy_from(&first, copied);
        resumed.human("a question of the second session alone");
        first.raw(&json!({"type": "summary", "summary": "Zanzquux merger plan", "leafUuid": last}));
        memory.write(&format!("projects/p/{original}.jsonl"), first.text());
        memory.write("projects/p/m.jsonl", resumed.text());
        memory.learn();
        let title = |memory: &Memory, id: &str| {
            memory.episodes().into_iter().find(|episode| episode.native_id == id).and_then(|episode| episode.title)
        };
        assert_eq!(title(&memory, first.id()).as_deref(), Some("Zanzquux merger plan"), "{original}");
        assert_ne!(title(&memory, resumed.id()).as_deref(), Some("Zanzquux merger plan"), "{original}");
        memory.forget_hard(first.id());
        assert_ne!(title(&memory, resumed.id()).as_deref(), Some("Zanzquux merger plan"), "{original}");
        assert_eq!(Scan::of(&memory.data()).places(PLANTED), Vec::<&str>::new(), "{original}");
    }
}

/// Returns the items that a selection has chosen, as kinds and titles.
fn chosen(outcome: &Forgotten) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> =
        outcome.selected.iter().map(|item| (item.kind.clone(), item.title.clone().unwrap_or_default())).collect();
    found.sort();
    found
}

#[test]
fn conditions_choose_sessions_notes_and_memories_and_nothing_goes_before_it_was_agreed() {
    let mut memory = Memory::new();
    plant_others(&memory);
    let victim = plant_victim(&memory);
    memory.learn();
    let turn = memory.turns(victim.id())[0].id.to_string();
    let engine = memory.engine();
    let note = |text: &str| RememberRequest { text: text.to_owned(), ..RememberRequest::default() };
    engine.remember(&note("The zanzquuxnote is kept by hand.")).unwrap();
    engine.remember(&note("Ropes are counted on Fridays.")).unwrap();
    let cause = Cause::default();
    engine.add_memory(&NewMemory::new(MemoryKind::Fact, "The zanzquuxfact holds."), &cause).unwrap();
    engine.add_memory(&NewMemory::new(MemoryKind::Fact, "The crane is old."), &cause).unwrap();
    let resting = NewMemory {
        evidence: vec![GivenEvidence { turn, quote: None }],
        ..NewMemory::new(MemoryKind::Fact, "Nobody may read the phrase.")
    };
    engine.add_memory(&resting, &cause).unwrap();
    let by_words = ForgetSelection { text: Some(" ZANZquux ".to_owned()), ..ForgetSelection::default() };
    let planned = engine.forget_selected(&ForgetSelection { is_dry_run: true, ..by_words.clone() }).unwrap();
    let kinds: Vec<String> = chosen(&planned).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["memory", "note", "session"], "a session with its side conversation is one");
    assert_eq!((planned.memories, planned.memories_kept, planned.archive_lines), (2, 0, 0), "{planned:?}");
    assert_eq!(engine.operations(None, None, 10).unwrap().len(), 3, "nothing was done");
    assert!(!memory.ask("zanzquuxhuman").is_empty());

    // Softly, and back again, in one operation.
    engine.forget_selected(&by_words).unwrap();
    assert!(memory.ask("zanzquuxhuman").is_empty() && memory.ask("zanzquuxnote").is_empty());
    assert!(memory.ask("ropes counted on Fridays").iter().any(|hit| hit.quote.contains("Ropes are counted")));
    let archived = |engine: &Engine| {
        let filter = yore_engine::MemoryFilter { is_forgotten: Some(true), ..yore_engine::MemoryFilter::default() };
        let list = yore_engine::MemoryList { filter, limit: 99, ..yore_engine::MemoryList::default() };
        let of = |stored: &yore_engine::StoredMemory| stored.memory.status == Status::Archived;
        engine.memories(&list).unwrap().into_iter().filter(of).map(|stored| stored.memory.statement).collect::<Vec<_>>()
    };
    assert_eq!(archived(engine), ["The zanzquuxfact holds."], "what rests on a session is hidden with it");
    assert_eq!(engine.operations(None, None, 10).unwrap().len(), 4);
    assert_eq!(engine.forget_selected(&by_words).unwrap().selected, Vec::new(), "what is forgotten is not forgotten again");
    engine.forget_selected(&ForgetSelection { restore: true, ..by_words.clone() }).unwrap();
    assert!(!memory.ask("zanzquuxhuman").is_empty() && archived(engine).is_empty());

    // For good.
    let hard = ForgetSelection { is_hard: true, keep_tombstones: true, ..by_words };
    let outcome = engine.forget_selected(&hard).unwrap();
    assert_eq!((outcome.memories, chosen(&outcome).len()), (2, 3), "{outcome:?}");
    assert!(outcome.archive_lines > 20);
    assert_eq!(scan(&mut memory), Vec::<String>::new());
    memory.learn();
    assert_eq!(scan(&mut memory), Vec::<String>::new(), "nothing comes back from the source");
    let left: Vec<String> = all_memories(memory.engine()).into_iter().map(|memory| memory.statement).collect();
    assert_eq!(left, ["The crane is old."]);
    assert_eq!(memory.engine().forget_selected(&hard).unwrap().selected, Vec::new());
}

#[test]
fn project_source_and_time_narrow_a_selection() {
    let memory = Memory::new();
    plant_others(&memory);
    plant_victim(&memory);
    memory.learn();
    let engine = memory.engine();
    engine.add_memory(&NewMemory::new(MemoryKind::Fact, "The crane is old."), &Cause::default()).unwrap();
    let count = |selection: ForgetSelection| {
        let outcome = engine.forget_selected(&ForgetSelection { is_dry_run: true, ..selection }).unwrap();
        (outcome.selected.iter().filter(|item| item.kind == "session").count(), outcome.memories)
    };
    let every = ForgetSelection::default;
    let code = engine.forget_selected(&every()).unwrap_err().code();
    assert_eq!(code, "nothing-selected");
    for blank in [
        ForgetSelection { text: Some(" ".to_owned()), projects: vec!["glasshouse".to_owned()], ..every() },
        ForgetSelection { projects: vec![String::new()], since: Some(1), ..every() },
    ] {
        assert_eq!(engine.forget_selected(&blank).unwrap_err().code(), code, "an empty variable widens nothing");
    }
    engine.back_up(None, 2).unwrap();
    let nothing = ForgetSelection { text: Some("zeppelin".to_owned()), is_hard: true, ..every() };
    assert_eq!(engine.forget_selected(&nothing).unwrap().backups.len(), 0);
    assert_eq!(yore_engine::backups(&memory.data()).len(), 1, "nothing was chosen, so nothing is deleted");
    for words in ["zanzquuxinput", "zanzquuxoutput is missing", "zanzquuxtask"] {
        assert_eq!(count(ForgetSelection { text: Some(words.to_owned()), ..every() }), (1, 0), "{words}");
    }
    let between = memory.episodes().iter().filter_map(|episode| episode.updated).max().unwrap() + 1;
    assert_eq!(count(ForgetSelection { since: Some(between), until: Some(between + 9), ..every() }), (0, 0));
    assert_eq!(count(ForgetSelection { projects: vec!["glasshouse".to_owned()], ..every() }), (1, 0));
    assert_eq!(count(ForgetSelection { agents: vec!["claude-code".to_owned()], ..every() }), (3, 0), "memories have no source");
    let unknown = ForgetSelection { agents: vec!["gossip".to_owned()], ..every() };
    assert_eq!(engine.forget_selected(&unknown).unwrap_err().code(), "unknown-source");
    let unknown = ForgetSelection { projects: vec!["atlantis".to_owned()], ..every() };
    assert_eq!(engine.forget_selected(&unknown).unwrap_err().code(), "unknown-project");
    let begun: Vec<i64> = memory.episodes().iter().filter_map(|episode| episode.started).collect();
    let (first, last) = (*begun.iter().min().unwrap(), *begun.iter().max().unwrap());
    assert_eq!(count(ForgetSelection { until: Some(first), ..every() }), (0, 0));
    assert_eq!(count(ForgetSelection { since: Some(first), until: Some(last + 1), ..every() }).0, 3);
    assert_eq!(count(ForgetSelection { since: Some(Memory::now()), ..every() }), (0, 1), "by the time of the record");
}

#[test]
fn what_was_undone_is_forgotten_for_good_like_anything_else() {
    let hard = |words: &str| ForgetSelection { text: Some(words.to_owned()), is_hard: true, ..ForgetSelection::default() };
    let by_id = |id: &str| ForgetRequest {
        session: id.to_owned(),
        is_hard: true,
        is_dry_run: false,
        restore: false,
        keep_tombstones: true,
    };
    let cause = Cause::default();
    let planted = NewMemory::new(MemoryKind::Fact, "The zanzquux combination is quince.");
    for way in ["id", "short id", "words", "words of a change"] {
        let mut memory = Memory::new();
        let engine = memory.engine();
        engine.add_memory(&NewMemory::new(MemoryKind::Fact, "The crane is old."), &cause).unwrap();
        if way == "words of a change" {
            let tagged = NewMemory::new(MemoryKind::Fact, "The harbour is deep.");
            let id = engine.add_memory(&tagged, &cause).unwrap().memory.to_string();
            let tags = |tag: &str| MemoryEdit { tags: Some(vec![tag.to_owned()]), ..MemoryEdit::default() };
            engine.edit_memory(&id, &tags("zanzquux"), &cause).unwrap();
            engine.edit_memory(&id, &tags("depth"), &cause).unwrap();
            let outcome = engine.forget_selected(&hard("zanzquux")).unwrap();
            assert_eq!((outcome.memories, outcome.memories_kept), (0, 1), "{outcome:?}");
            assert_eq!(all_memories(engine).len(), 2, "what it says now stays");
        } else {
            let done = engine.add_memory(&planted, &cause).unwrap();
            engine.undo(done.operation.unwrap(), &cause).unwrap();
            let id = done.memory.to_string();
            assert_eq!(engine.forget(&ForgetRequest { is_hard: false, ..by_id(&id) }).unwrap_err().code(), "unknown-session");
            let outcome = match way {
                "id" => engine.forget(&by_id(&id)),
                "short id" => engine.forget(&by_id(&done.memory.short())),
                _ => engine.forget_selected(&hard("zanzquux")),
            };
            assert_eq!(outcome.unwrap().memories, 1, "{way}");
            assert!(engine.redo(done.operation.unwrap(), &cause).is_err(), "{way}");
        }
        let places = Scan::of(&{
            memory.close();
            memory.data()
        });
        assert_eq!(places.places(PLANTED).into_iter().collect::<Vec<_>>(), Vec::<&str>::new(), "{way}");
        assert_eq!(places.places("zanzquux").into_iter().collect::<Vec<_>>(), Vec::<&str>::new(), "{way}");
    }
}

#[test]
fn the_beginning_of_two_ids_forgets_nothing_even_if_one_is_a_notes() {
    let memory = Memory::new();
    let engine = memory.engine();
    engine.remember(&RememberRequest { text: "Ropes are counted.".to_owned(), ..RememberRequest::default() }).unwrap();
    let fact = engine.add_memory(&NewMemory::new(MemoryKind::Fact, "The crane is old."), &Cause::default()).unwrap();
    let fact = fact.memory.to_string();
    let request =
        ForgetRequest { session: fact[..4].to_owned(), is_hard: true, is_dry_run: true, restore: false, keep_tombstones: true };
    assert_eq!(engine.forget(&request).unwrap_err().code(), "ambiguous-id");
}

/// Returns the files of full-text segments that the index's commit does not name.
fn dead_files(memory: &Memory) -> Vec<String> {
    let index =
        std::fs::read_dir(memory.data().join("index")).unwrap().flatten().find(|entry| entry.path().is_dir()).unwrap().path();
    let named = std::fs::read_to_string(index.join("meta.json")).unwrap().replace('-', "");
    let names = std::fs::read_dir(&index).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.split('.').next().is_some_and(|id| id.len() == 32 && !named.contains(id))).collect()
}

#[test]
fn index_that_two_processes_write_in_turn_keeps_no_dead_file_and_no_forgotten_word() {
    let mut memory = Memory::new();
    let victim = plant_victim_alone(&memory);
    memory.learn();
    let other = Engine::open(Memory::options(memory.data())).unwrap();
    for round in 0..25 {
        let note = |who: &str| RememberRequest {
            text: format!("{who} counted {round} ropes on the pier"),
            ..RememberRequest::default()
        };
        memory.engine().remember(&note("Anna")).unwrap();
        memory.index();
        other.remember(&note("Bert")).unwrap();
        other.sync_index(10_000, &mut |_| {}).unwrap();
        assert_eq!(dead_files(&memory), Vec::<String>::new(), "round {round}");
    }
    memory.forget_hard(victim.id());
    assert_eq!(dead_files(&memory), Vec::<String>::new());
    drop(other);
    assert_eq!(scan(&mut memory), Vec::<String>::new());
    assert!(!memory.ask("ropes on the pier").is_empty());
}

#[test]
fn dead_file_of_the_index_is_told_and_removed_on_request() {
    let memory = Memory::new();
    plant_others(&memory);
    memory.learn();
    let told = |memory: &Memory| {
        let findings = memory.engine().examine(None).unwrap();
        findings.into_iter().find(|finding| finding.code() == "index-files")
    };
    assert_eq!(told(&memory), None);
    let index =
        std::fs::read_dir(memory.data().join("index")).unwrap().flatten().find(|entry| entry.path().is_dir()).unwrap().path();
    std::fs::write(index.join("0123456789abcdef0123456789abcdef.term"), "left by a killed writer").unwrap();
    assert_eq!(told(&memory), Some(yore_engine::Finding::IndexFilesDead(1)));
    assert_eq!(memory.engine().remove_dead_index_files().unwrap(), 1);
    assert_eq!(told(&memory), None);
    let findings = memory.engine().examine(None).unwrap();
    assert!(findings.iter().any(|finding| matches!(finding, yore_engine::Finding::IndexWhole(_))), "the files in use stay");
}

/// Writes the victim and sessions that resumed it: they hold copies of its messages, with words of their own after them.
fn plant_victim_alone(memory: &Memory) -> SessionBuilder {
    let victim = victim();
    memory.write("projects/p/victim.jsonl", victim.text());
    for number in 0..3 {
        let mut resumed = SessionBuilder::new(140 + number).at(1_781_000_000_000 + number as i64);
        resumed.copy_from(&victim, victim.lines().len());
        resumed.human(&format!("go on with rope number {number}"));
        resumed.assistant("The rope is tied.");
        memory.write(&format!("projects/p/resumed-{number}.jsonl"), resumed.text());
    }
    victim
}

/// Every step of a hard forgetting fails once, as if the process had been killed there; the next process finishes it.
#[test]
fn forgetting_that_was_cut_short_is_finished_by_the_next_process() {
    let steps = [
        ("the first file", "BEFORE DELETE ON segment"),
        ("the second file", "BEFORE DELETE ON segment WHEN OLD.file_id <> (SELECT min(file_id) FROM segment)"),
        ("the turns", "BEFORE DELETE ON turn"),
        ("the tombstones", "BEFORE INSERT ON tombstone"),
        ("the titles", "BEFORE UPDATE OF title ON episode"),
        ("the plan", "BEFORE DELETE ON forget_plan"),
        ("the index", "BEFORE DELETE ON index_state WHEN OLD.name = 'purge'"),
        ("the mark", "BEFORE DELETE ON index_state WHEN OLD.name = 'forgetting'"),
    ];
    let undisturbed = Memory::new();
    let victim = plant_victim_alone(&undisturbed);
    plant_others(&undisturbed);
    undisturbed.learn();
    undisturbed.forget_hard(victim.id());
    for (step, when) in steps {
        let mut memory = Memory::new();
        plant_victim_alone(&memory);
        plant_others(&memory);
        memory.learn();
        let database = |sql: &str| rusqlite::Connection::open(memory.data().join("yore.db")).unwrap().execute_batch(sql).unwrap();
        database(&format!("CREATE TRIGGER cut_short {when} BEGIN SELECT RAISE(ABORT, 'cut short'); END"));
        let request = ForgetRequest {
            session: victim.id().to_owned(),
            is_hard: true,
            is_dry_run: false,
            restore: false,
            keep_tombstones: true,
        };
        assert!(memory.engine().forget(&request).is_err(), "{step}");
        database("DROP TRIGGER cut_short");
        memory.open();
        if step == "the tombstones" {
            // Nothing was begun: the person was told, and asks again.
            assert!(!memory.turns(victim.id()).is_empty());
        }
        memory.forget_hard(victim.id());
        assert_eq!(memory.state(), undisturbed.state(), "{step}");
        assert_eq!(scan(&mut memory), Vec::<String>::new(), "{step}");
        let findings = memory.engine().examine(None).unwrap();
        assert!(!findings.contains(&yore_engine::Finding::ForgettingUnfinished), "{step}");
        memory.read();
        assert_eq!(memory.state(), undisturbed.state(), "{step}: nothing comes back");
    }
}
