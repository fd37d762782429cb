//! The conformance test of the store: the behaviour that every implementation must have, through public methods alone. A second
//! implementation would have to pass the same test.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use yore_core::entity::{Entity, EntityKind};
use yore_core::episode::{Episode, EpisodeKind, FileAction, FileUse, Outcome, Role, Title, TitleRank, ToolUse, Turn};
use yore_core::id::{EntityId, EpisodeId, MemoryId, RelationId, TurnId};
use yore_core::memory::{Memory, MemoryKind, Status};
use yore_core::note::NoteFacts;
use yore_core::operation::{Cause, OperationKind, Record};
use yore_core::query::{Filter, MemoryConditions};
use yore_core::relation::{Node, Relation, RelationType};
use yore_core::scope::ProjectAlias;
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

use super::{
    Advance, ArchivePlan, BlobKey, ChangeFilter, Checkpoint, Commit, EmbeddedItem, EmbedderKey, Entries, Entry, EpisodeKey,
    Failed, FileRow, ForgetPlan, Forgetting, Home, ItemClass, ItemKey, LineRun, MODEL_LIST, MemoryFilter, NewBlob, NewJob,
    NewOperation, OperationTx, RowKey, Run, SaidTurn, SessionFilter, SessionOrder, Skips, Store, StoreError, StoreOptions,
};

const AGENT: &str = "claude-code";
const OWNER: &str = "1@here";
const NOON: UtcMillis = 1_750_000_000_000;

fn episode(native: &str, parent: Option<&str>) -> Episode {
    Episode {
        id: EpisodeId::derive(AGENT, native),
        agent: AGENT.to_owned(),
        native_id: native.to_owned(),
        kind: if parent.is_some() { EpisodeKind::Subagent } else { EpisodeKind::Session },
        parent_native_id: parent.map(str::to_owned),
        project: None,
        cwd: Some("/home/dev/harbour".to_owned()),
        remote: None,
        client_version: None,
    }
}

/// Makes a message id that is a UUID, because only such messages are recognised in other sessions.
fn message(number: u8) -> String {
    uuid::Uuid::from_bytes([number; 16]).hyphenated().to_string()
}

fn turn(session: &Episode, number: u8, role: Role, text: &str) -> Turn {
    Turn {
        id: TurnId::derive(AGENT, &session.native_id, &message(number), 0),
        native_id: message(number),
        role,
        speaker: None,
        caveat: None,
        text: text.to_owned(),
        tool_text: String::new(),
        is_error: false,
        time: RecordedTime::from_millis(NOON + UtcMillis::from(number) * 60_000, TimeQuality::Exact),
        cwd: session.cwd.clone(),
        branch: Some("main".to_owned()),
        model: None,
        parts: 1,
        tools: Vec::new(),
        files: Vec::new(),
    }
}

fn said<'a>(episode: &'a Episode, turn: &'a Turn, line: u64) -> Entry<'a> {
    let directory = "/home/dev/harbour";
    let aliases = vec![(ProjectAlias::Directory(directory.to_owned()), directory.to_owned())];
    let home = Home { aliases: Cow::Owned(aliases), name: Cow::Borrowed("harbour") };
    Entry::Turn(SaidTurn { turn, line, episode, begun_in: Some(home.clone()), said_in: Some(home), note: None })
}

fn entries(list: Vec<Entry<'_>>) -> Entries<'_> {
    Entries { source: AGENT, pass: 0, is_document: false, now: NOON, list }
}

/// Makes the plan for a blob of these lines, as the archive does.
fn plan_of(lines: &[&str]) -> ArchivePlan {
    let bytes = lines.join("\n").into_bytes();
    ArchivePlan {
        blob: Some(NewBlob {
            hash: *blake3::hash(&bytes).as_bytes(),
            raw_bytes: bytes.len(),
            data: bytes,
            line_hashes: lines.iter().map(|line| line.len() as i64).collect(),
            swallows: Vec::new(),
        }),
        runs: vec![Run::New { first: 0, count: lines.len() as u32 }],
    }
}

/// Leases a file and commits one part of it, to the end.
fn commit(store: &Store, path: &str, plan: Option<&ArchivePlan>, entries: &Entries<'_>) -> FileRow {
    let file = store.lease_file(AGENT, path, OWNER, NOON, |_| true).unwrap().unwrap();
    let lines = plan.map_or(0, |plan| plan.runs.len() as u64);
    let to = Checkpoint {
        generation: 1,
        size: file.checkpoint.size + lines,
        archived_bytes: file.checkpoint.archived_bytes + lines,
        archived_lines: file.checkpoint.archived_lines + lines,
        ..file.checkpoint.clone()
    };
    let mut skips = Skips::new();
    skips.insert(("invalid-json".to_owned(), String::new()), (1, 3, 0));
    let commit = Commit {
        file: &file,
        to: &to,
        advance: Advance { owner: OWNER, now: NOON, release: true },
        lines: plan,
        entries,
        skips: &skips,
        redactions: vec![("aws-key", 2)],
        buried: Vec::new(),
        begins_anew: false,
        keeps_only: None,
    };
    store.commit(&commit).unwrap().unwrap();
    file
}

fn texts(store: &Store, session: &Episode) -> Vec<String> {
    let Some((row, ..)) = store.episodes_by_prefix(&session.native_id, false, 1).unwrap().pop() else { return Vec::new() };
    store.episode_turns(row).unwrap().into_iter().map(|turn| turn.text).collect()
}

fn turns(store: &Store) -> u64 {
    store.stats().unwrap().roles.iter().map(|role| role.turns).sum()
}

fn row_of(store: &Store, session: &Episode) -> EpisodeKey {
    store.episodes_by_prefix(&session.native_id, true, 1).unwrap()[0].0
}

/// Runs the test on an empty store.
fn story(store: &Store) {
    let session = episode("session-one", None);
    let side = episode("session-one-side", Some("session-one"));
    let (asked, mut answered) =
        (turn(&session, 1, Role::Human, "which berth is free?"), turn(&session, 2, Role::Assistant, "berth four"));
    answered.tools = vec![ToolUse { call_id: None, name: "Edit".to_owned(), outcome: Some(Outcome::Done) }];
    answered.files = vec![FileUse { path: "/home/dev/harbour/src/berth.rs".to_owned(), action: FileAction::Written }];
    let aside = turn(&side, 3, Role::Assistant, "looked at the tide table");
    let system = turn(&session, 4, Role::System, "a reminder that nobody asked for");

    // A batch is committed: text, lines, counts and the checkpoint.
    let plan = plan_of(&["a", "bb", "ccc"]);
    let list = vec![said(&session, &asked, 1), said(&session, &answered, 2), said(&side, &aside, 3), said(&session, &system, 3)];
    let file = commit(store, "one.jsonl", Some(&plan), &entries(list.clone()));
    assert_eq!(texts(store, &session), ["which berth is free?", "berth four", "a reminder that nobody asked for"]);
    assert_eq!((turns(store), store.projects().unwrap().len()), (4, 1));

    // The same batch again adds nothing; a more complete copy replaces a shorter one; another session's copy
    // is shared.
    commit(store, "one.jsonl", None, &entries(list));
    let fuller = Turn { parts: 2, text: "berth four, until six".to_owned(), ..answered.clone() };
    let fork = episode("session-two", None);
    let copied = Turn { id: TurnId::derive(AGENT, "session-two", &message(1), 0), ..asked.clone() };
    commit(store, "one.jsonl", None, &entries(vec![said(&session, &fuller, 2), said(&fork, &copied, 1)]));
    assert_eq!(turns(store), 4);
    assert_eq!(texts(store, &fork), ["which berth is free?"]);
    assert_eq!(texts(store, &session)[1], "berth four, until six");

    // Titles: of an episode, of the episode of a message, and of one that is read later.
    let title = |text: &str| Title { text: text.to_owned(), rank: TitleRank::Ai, at: Some(NOON), line: 9 };
    let later = turn(&session, 9, Role::Human, "and tomorrow?");
    let told = message(9);
    commit(store, "titles.jsonl", None, &entries(vec![Entry::TitleOfMessage(&told, title("Berths"))]));
    assert_eq!(store.settle_titles().unwrap(), 0);
    commit(store, "one.jsonl", None, &entries(vec![said(&session, &later, 4)]));
    assert_eq!(store.settle_titles().unwrap(), 1);
    let all = SessionFilter { without_documents: true, ..SessionFilter::default() };
    let listed = store.sessions(&SessionFilter { native_id: Some("session-one"), ..all }, SessionOrder::Recent, 5).unwrap();
    assert_eq!(listed[0].title.as_deref(), Some("Berths"));

    // The archive returns its lines, and plans that refer to a missing blob are refused.
    let segments = store.segments(file.id, 1).unwrap();
    assert_eq!(segments.iter().map(|segment| segment.run.count).sum::<u32>(), 3);
    assert_eq!(store.blob(segments[0].run.blob).unwrap().unwrap().data, b"a\nbb\nccc");
    let stale = ArchivePlan { blob: None, runs: vec![Run::Stored(LineRun { blob: BlobKey::new(99), first: 0, count: 1 })] };
    let held = store.lease_file(AGENT, "one.jsonl", OWNER, NOON, |_| true).unwrap().unwrap();
    let (nothing, none) = (entries(Vec::new()), Skips::new());
    let part = |lines, owner| Commit {
        file: &held,
        to: &held.checkpoint,
        advance: Advance { owner, now: NOON, release: true },
        lines,
        entries: &nothing,
        skips: &none,
        redactions: Vec::new(),
        buried: Vec::new(),
        begins_anew: false,
        keeps_only: None,
    };
    assert!(store.commit(&part(Some(&stale), OWNER)).unwrap().is_none());

    // Only one process has a file: another gets it only when its holder is dead, and a later commit of the
    // first is refused.
    assert!(store.lease_file(AGENT, "one.jsonl", "2@here", NOON, |_| true).unwrap().is_none());
    assert!(store.lease_file(AGENT, "one.jsonl", "2@here", NOON, |_| false).unwrap().is_some());
    assert!(matches!(store.commit(&part(None, OWNER)), Err(StoreError::LeaseLost(_))));
    assert!(store.commit(&part(None, "2@here")).unwrap().is_some());

    // Candidates of a filter, and turns by id.
    let filter = Filter { files: vec!["berth.rs".to_owned()], ..Filter::default() };
    let holding = store.turns_holding(&filter).unwrap();
    let by_id = store.turns_by_prefix(&answered.id.to_string(), 5).unwrap();
    assert_eq!(holding.into_iter().collect::<Vec<_>>(), by_id);
    assert_eq!(store.shown_turns(&by_id).unwrap()[0].text, "berth four, until six");
    let projects = [store.project_names().unwrap()[0].0];
    let change = ChangeFilter { file: "src/berth.rs", projects: &projects, session: None, as_of: None };
    assert_eq!(store.last_changes(&change, 5).unwrap().len(), 1);
    assert_eq!(store.sessions(&all, SessionOrder::Oldest, 5).unwrap().len(), 2);
    let below = store.descendants(row_of(store, &session)).unwrap();
    assert_eq!(below, [(row_of(store, &side), side.native_id.clone())]);

    // The queues of the indexes hold the last state of every turn that recall may return, until it is
    // dropped.
    let queued = store.queued_items(0, 100).unwrap();
    let wanted: HashSet<String> = queued.iter().filter_map(|(_, _, turn)| turn.as_ref()).map(|turn| turn.text.clone()).collect();
    let expected =
        ["which berth is free?", "berth four, until six", "looked at the tide table", "and tomorrow?"].map(str::to_owned);
    assert_eq!(wanted, HashSet::from(expected));
    assert_eq!(store.indexable_items().unwrap(), 4);
    store.drop_queued(queued.last().unwrap().0).unwrap();
    assert_eq!(store.queue_length(10).unwrap(), 0);

    // Vectors: turns that lack them, newest first, and the stored vectors.
    let model = store.embedder("a model", 2).unwrap();
    store.choose_embedder(model).unwrap();
    let lacking = store.unembedded_items(10).unwrap();
    assert_eq!(lacking.len(), 4);
    let embedded: Vec<EmbeddedItem> = lacking
        .iter()
        .map(|(seq, key, _)| EmbeddedItem {
            seq: *seq,
            key: *key,
            chunks: vec![([*seq as u8; 16], Some(vec![0.5, -0.5]))],
            failure: None,
        })
        .collect();
    store.store_vectors(model, &embedded).unwrap();
    assert_eq!(store.unembedded_count(10).unwrap(), 0);
    assert_eq!(store.item_vectors(model, lacking[0].1).unwrap()[0].2, [0.5, -0.5]);
    assert!(store.queued_vectors(0, 100).unwrap().iter().any(|(_, _, lists, _)| lists & MODEL_LIST != 0));

    memories(store, model);

    // Jobs: one is due, taken by one process, fails, waits, is given up, is revived, is done.
    let job = NewJob { kind: "ingest", target: "one.jsonl", payload: AGENT, arrived: 1, not_before: 5, stamp: None };
    assert_eq!(store.queue_jobs(&[job, job]).unwrap(), [true, false]);
    assert!(store.take_jobs(OWNER, &["ingest"], 4, 9).unwrap().is_empty());
    assert!(store.take_jobs(OWNER, &["scan"], 5, 9).unwrap().is_empty());
    let taken = store.take_jobs(OWNER, &["ingest"], 5, 9).unwrap();
    assert!(store.take_jobs("2@here", &["ingest"], 5, 9).unwrap().is_empty());
    let failed = |again| Failed { failures: 1, bad_failures: 0, code: "x", text: "why", again, stamp: None };
    store.fail_job(OWNER, taken[0].id, &failed(Some(50))).unwrap();
    assert_eq!(store.next_job(&["ingest"], 6).unwrap(), Some(50));
    let taken = store.take_jobs(OWNER, &["ingest"], 50, 9).unwrap();
    store.fail_job(OWNER, taken[0].id, &failed(None)).unwrap();
    assert_eq!(store.job_counts(&["ingest"]).unwrap(), (0, 0, 1));
    assert_eq!(store.revive_jobs(None, 60).unwrap(), 1);
    let taken = store.take_jobs(OWNER, &["ingest"], 60, 9).unwrap();
    assert_eq!(store.recover_jobs(|_| false).unwrap(), 1);
    store.finish_jobs(OWNER, &[taken[0].id]).unwrap();
    assert_eq!(store.job_counts(&["ingest"]).unwrap(), (1, 0, 0), "who lost a job does not finish it");

    // Hidden, and shown again.
    let rows = [row_of(store, &session), row_of(store, &side)];
    store.set_forgotten(&rows, Some(NOON)).unwrap();
    assert!(texts(store, &session).is_empty());
    store.set_forgotten(&rows, None).unwrap();
    assert_eq!(texts(store, &session).len(), 4);

    // A note keeps its turn; its earlier text gets a turn of its own.
    let note = episode("a-note", None);
    let given = |number: u8, text: &str| Turn {
        id: TurnId::derive(AGENT, "a-note", "text", 0),
        native_id: "text".to_owned(),
        ..turn(&note, number, Role::Human, text)
    };
    let facts = |title: &str| NoteFacts { title: Some(title.to_owned()), ..NoteFacts::default() };
    let (first, second, third) = (given(10, "at dawn"), given(20, "at noon"), given(30, "at dusk"));
    for (turn, facts) in [(&second, facts("b")), (&third, facts("c")), (&first, facts("a")), (&second, facts("b"))] {
        let Entry::Turn(said) = said(&note, turn, 1) else { unreachable!() };
        let entry = Entry::Turn(SaidTurn { note: Some(&facts), ..said });
        commit(store, "note", None, &Entries { is_document: true, ..entries(vec![entry]) });
    }
    let newest = store.notes(5, |_| true).unwrap();
    assert_eq!((newest.len(), newest[0].turn, newest[0].text.as_str(), newest[0].version), (1, third.id, "at dusk", 3));
    let told: Vec<(String, Option<String>)> =
        store.note_versions(newest[0].row).unwrap().into_iter().map(|version| (version.text, version.facts.title)).collect();
    let expected = [("at dawn", "a"), ("at noon", "b"), ("at dusk", "c")];
    assert_eq!(told, expected.map(|(text, title)| (text.to_owned(), Some(title.to_owned()))));
    assert_eq!(texts(store, &note), ["at dusk"]);
    assert_eq!(store.superseded_turns(None).unwrap().len(), 2);
    assert_eq!(store.superseded_turns(second.time.utc).unwrap().len(), 0, "each held until the next one came");
    store.count_access(newest[0].row, NOON).unwrap();
    assert_eq!(store.notes(5, |_| true).unwrap()[0].access_count, 1);

    // Removed: turns that a new reading does not return, parts that a document lost, a session that is
    // forgotten for good.
    let again =
        Entries { pass: 1, ..entries(vec![said(&session, &asked, 1), said(&session, &fuller, 2), said(&side, &aside, 3)]) };
    store.store_again(file.id, &again, &none).unwrap();
    assert_eq!(store.sweep_turns(1, store.newest_turn().unwrap()).unwrap(), 5);
    assert_eq!(texts(store, &session), ["which berth is free?", "berth four, until six"]);
    let messages: HashSet<String> = [message(1), message(2), message(3)].into();
    let plan =
        ForgetPlan { agent: AGENT.to_owned(), messages: messages.clone(), episodes: rows.to_vec(), ..ForgetPlan::default() };
    let number = store.begin_forgetting(&[&plan], &[[7; 16]], NOON).unwrap()[0];
    assert_eq!(store.forget_plans().unwrap(), [(number, plan)]);
    let rest = ForgetPlan { agent: AGENT.to_owned(), ..ForgetPlan::default() };
    store
        .forget(&Forgetting { agent: AGENT, messages: &messages, episodes: &rows, now: NOON, plan: Some((number, &rest)) })
        .unwrap();
    assert_eq!(store.forget_plans().unwrap(), [(number, rest)]);
    store.end_forgetting(number).unwrap();
    assert_eq!(store.forget_plans().unwrap(), []);
    assert_eq!((turns(store), store.tombstones().unwrap()), (0, HashSet::from([[7; 16]])));
    assert!(store.queued_items(0, 100).unwrap().iter().all(|(_, _, turn)| turn.is_none()), "the indexes are told");
    assert!(store.unembedded_items(10).unwrap().is_empty());
    assert_eq!(store.vector_counts(Some(model)).unwrap().vectors, 0);
    store.drop_generations(file.id, &[1], true).unwrap();
    assert!(store.blob_ids().unwrap().is_empty());
    assert_eq!(store.older_generations(file.id, 1).unwrap(), BTreeMap::new());
    assert!(store.integrity_problems().unwrap().is_empty());
}

/// Memories are written by operations, stand in the queues of the indexes under keys of their own, and go with what
/// undoes them.
fn memories(store: &Store, model: EmbedderKey) {
    let record = |byte: u8, statement: &str| Memory::new(MemoryId::from_bytes([byte; 16]), MemoryKind::Fact, statement, NOON);
    let (first, second) = (record(1, "The crane is on pier three."), record(2, "The crane is on pier four."));
    let entity = Entity::new(EntityId::from_bytes([3; 16]), EntityKind::default(), "crane", NOON);
    let relation = |byte: u8, from: Node, relation_type, to: Node| {
        Relation::new(RelationId::from_bytes([byte; 16]), from, relation_type, to, NOON)
    };
    let about = relation(4, Node::Memory(second.id), RelationType::About, Node::Entity(entity.id));
    let newer = relation(5, Node::Memory(second.id), RelationType::Supersedes, Node::Memory(first.id));
    let done = |kind, records: &[Record]| {
        let new = NewOperation { kind, cause: Cause::default(), at: NOON, summary: "story".to_owned() };
        let work = |tx: &mut OperationTx<'_, '_>| records.iter().try_for_each(|record| tx.put(record));
        store.operate(&new, work).unwrap().1.unwrap()
    };
    let recorded = done(OperationKind::Create, &[Record::Memory(Box::new(first.clone())), Record::Entity(Box::new(entity))]);
    let changed = done(
        OperationKind::Supersede,
        &[
            Record::Memory(Box::new(second.clone())),
            Record::Memory(Box::new(Memory { status: Status::Superseded, ..first.clone() })),
            Record::Relation(Box::new(about)),
            Record::Relation(Box::new(newer)),
        ],
    );
    let queued = store.queued_items(0, 10).unwrap();
    let last: BTreeMap<ItemKey, ItemClass> =
        queued.iter().filter_map(|(_, key, item)| Some((*key, item.as_ref()?.head.class))).collect();
    let classes: HashSet<_> = last.values().map(|class| format!("{class:?}")).collect();
    assert_eq!(classes, HashSet::from(["Memory(Superseded)".to_owned(), "Memory(Holds)".to_owned()]));
    assert_eq!(store.indexable_items().unwrap(), 6);
    store.drop_queued(queued.last().unwrap().0).unwrap();
    let lacking = store.unembedded_items(10).unwrap();
    assert_eq!(lacking.len(), 2, "each memory once: a changed status is no changed text");
    let embedded: Vec<EmbeddedItem> = lacking
        .iter()
        .map(|(seq, key, _)| EmbeddedItem {
            seq: *seq,
            key: *key,
            chunks: vec![([200; 16], Some(vec![1.0, 0.0]))],
            failure: None,
        })
        .collect();
    store.store_vectors(model, &embedded).unwrap();
    let key = store.successor(first.id).unwrap().unwrap();
    assert_eq!(store.item_vectors(model, ItemKey::Memory(key)).unwrap()[0].2, [1.0, 0.0]);
    assert_eq!(store.memories_of_rows(&[key]).unwrap()[&key], (second.clone(), None));
    let past = store.predecessors(second.id, None, 5).unwrap();
    assert_eq!(past.iter().map(|(_, past)| past.id).collect::<Vec<_>>(), [first.id]);
    assert_eq!(store.entities_of(second.id).unwrap()[0].1, "crane");
    let named = MemoryConditions { kinds: vec![MemoryKind::Fact], ..MemoryConditions::default() };
    assert_eq!(store.memories_meeting(&named, &[EntityId::from_bytes([3; 16])], None).unwrap(), [key]);
    assert!(!store.has_unlisted_memories().unwrap() && store.evidence_of(&[key]).unwrap().is_empty());
    store.undo(changed, &Cause::default(), NOON).unwrap().unwrap();
    store.undo(recorded, &Cause::default(), NOON).unwrap().unwrap();
    let queued = store.queued_items(0, 10).unwrap();
    assert!(queued.iter().all(|(_, key, item)| key.memory().is_some() && item.is_none()), "the indexes are told");
    assert_eq!((store.indexable_items().unwrap(), store.memories(&MemoryFilter::default(), 9).unwrap()), (4, Vec::new()));
    store.drop_queued(queued.last().unwrap().0).unwrap();
}

#[test]
fn the_sqlite_store_passes_the_story_of_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), true, StoreOptions::default()).unwrap();
    story(&store);
}
