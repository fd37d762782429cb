//! The stories that every implementation of the three ports must pass: each method, failures, and two handles at the same time.
//! They call public methods of the ports alone.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use yore_core::command::{self, Attempt, CauseKind};
use yore_core::entity::{Entity, EntityKind};
use yore_core::episode::{Episode, EpisodeKind, FileAction, FileUse, Outcome, Role, Title, TitleRank, ToolUse, Turn};
use yore_core::event::{self, EventKind, EventState};
use yore_core::id::{EntityId, EpisodeId, MemoryId, ProjectId, RelationId, TurnId};
use yore_core::memory::{
    Anchor, AnchorKind, AnchorVerdict, Event, Evidence, Lane, Memory, MemoryKind, Replacement, Status, Use, Verdict,
};
use yore_core::note::{NoteFacts, NoteKind};
use yore_core::operation::{Cause, OperationKind, Record, Subject};
use yore_core::query::{Filter, MemoryConditions};
use yore_core::relation::{Basis, Node, Relation, RelationType};
use yore_core::scope::ProjectAlias;
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

use super::{
    Advance, Again, ArchivePlan, Attempts, BlobKey, ChangeFilter, Checkpoint, Commit, Compared, Contexts, EmbeddedItem,
    EntityNames, Entries, Entry, EpisodeKey, Episodes, EventFilter, EvidenceOf, Exceptions, Failed, FileNote, FileRow, Files,
    ForgetPlan, Forgetting, Home, ItemKey, LineRun, LoggedUse, MODEL_LIST, Memories, MemoryFilter, MemoryOutline, Named, NewBlob,
    NewJob, NewOperation, OperationTx, Outlines, Past, ProjectChange, Queue, QueuePlace, RecordKey, Relations, RowKey, Run,
    SPOKEN_GAP, STATIC_LIST, SaidTurn, SessionFilter, SessionOrder, Shape, Skips, Spans, Stands, Store, StoreError, StoreOptions,
    StoredSpan, StoredSummary, StoredVerdict, Structure, TopicName, TurnChoice, TurnCount, Turns, UndoError, Undoing, Unused,
    Versions, Vitals, Wanted, WantedUses,
};

/// Opens another handle on the same data, which is empty before the first.
type Open<'o> = &'o dyn Fn() -> Store;
/// The name of a story, and the story.
type Story = (&'static str, fn(Open<'_>));

/// The stories of the archive.
const ARCHIVE: &[Story] = &[
    ("a batch is stored once, and a fuller copy replaces a shorter one", batches),
    ("titles wait for their message", titles),
    ("lines come back as they were, and what no file refers to goes", lines),
    ("a commit that fails leaves nothing", refused_commits),
    ("a stale checkpoint is refused", stale_checkpoints),
    ("a file is read by one process at a time", leases),
    ("two handles that write at the same time lose nothing", parallel_commits),
    ("turns are found by what they hold and where they stand", found_turns),
    ("a note keeps its turn, and its earlier text gets a turn of its own", notes),
    ("a project is renamed, merged and parted again", projects),
    ("what a new reading does not return goes, but what it could not read stays", readings),
    ("a session is hidden, shown again, and forgotten for good", forgetting),
    ("names are replaced everywhere", names),
];

/// The stories of the statements.
const STATEMENTS: &[Story] = &[
    ("records are put, found and taken back", records),
    ("an operation whose work fails leaves nothing", failed_operations),
    ("two handles that record at the same time get numbers of their own", parallel_operations),
    ("an operation is not undone below a later one, nor twice", undoing),
    ("what the log has of the past is read and forgotten", past),
    ("statements that meet a new one are found inside of an operation", meeting),
    ("what holds in a project or on a branch stands beside what holds everywhere", special_cases),
    ("extractors find what they have not read, and topics keep their names", extraction),
    ("uses and verdicts are kept beside a memory", uses_and_verdicts),
    ("texts of memories are redacted", redaction),
];

/// The stories of what the indexes read.
const FEED: &[Story] = &[
    ("a queue holds the last state of every item until it is dropped", queues),
    ("an index that starts from nothing gets every item", whole_feed),
    ("items without vectors get them, and another model starts anew", embedding),
    ("a result that is older than the item leaves it in the queue", stale_vectors),
    ("what is queued while another handle drops stays queued", parallel_queues),
];

fn run(stories: &[Story]) {
    let ends_well = |story: &fn(Open<'_>)| {
        let directory = tempfile::tempdir().unwrap();
        let open = || Store::open(directory.path(), true, StoreOptions::default()).unwrap();
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| story(&open)));
        told.is_ok() && open().integrity_problems().unwrap().is_empty()
    };
    let others: Vec<&str> = stories.iter().filter(|(_, story)| !ends_well(story)).map(|(name, _)| *name).collect();
    assert_eq!(others, Vec::<&str>::new(), "these stories end otherwise; each says where, above");
}

#[test]
fn the_archive_passes_its_stories() {
    run(ARCHIVE);
}

#[test]
fn the_statements_pass_their_stories() {
    run(STATEMENTS);
}

#[test]
fn the_feed_of_the_indexes_passes_its_stories() {
    run(FEED);
}

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

fn lease(store: &Store, path: &str) -> FileRow {
    store.lease_file(AGENT, path, OWNER, NOON, |_| true).unwrap().unwrap()
}

/// Leases a file and commits one part of it, to the end.
fn commit(store: &Store, path: &str, plan: Option<&ArchivePlan>, entries: &Entries<'_>) -> FileRow {
    let file = lease(store, path);
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
    let Some(episode) = store.episodes(&Episodes::Beginning(&session.native_id, 1)).unwrap().pop() else { return Vec::new() };
    store.turns(Turns::OfEpisode(episode.key)).unwrap().into_iter().map(|turn| turn.text).collect()
}

fn turns(store: &Store) -> u64 {
    store.stats(&Wanted::default()).unwrap().roles.iter().map(|role| role.turns).sum()
}

fn key_of(store: &Store, session: &Episode) -> EpisodeKey {
    store.episodes(&Episodes::Native(Some(AGENT), &session.native_id)).unwrap()[0].key
}

/// Returns a commit of entries and lines that moves no checkpoint.
fn part<'a>(
    file: &'a FileRow,
    owner: &'a str,
    lines: Option<&'a ArchivePlan>,
    entries: &'a Entries<'a>,
    none: &'a Skips,
) -> Commit<'a> {
    Commit {
        file,
        to: &file.checkpoint,
        advance: Advance { owner, now: NOON, release: true },
        lines,
        entries,
        skips: none,
        redactions: Vec::new(),
        buried: Vec::new(),
        begins_anew: false,
        keeps_only: None,
    }
}

/// A session with a question, an edit that answers it, and a side conversation.
struct Talk {
    session: Episode,
    side: Episode,
    asked: Turn,
    answered: Turn,
    aside: Turn,
}

fn talk() -> Talk {
    let session = episode("session-one", None);
    let side = episode("session-one-side", Some("session-one"));
    let asked = turn(&session, 1, Role::Human, "which berth is free?");
    let mut answered = turn(&session, 2, Role::Assistant, "berth four\n```rust\nfn berth() {}\n```");
    answered.tools = vec![ToolUse { call_id: None, name: "Edit".to_owned(), outcome: Some(Outcome::Done) }];
    answered.files = vec![FileUse { path: "/home/dev/harbour/src/berth.rs".to_owned(), action: FileAction::Written }];
    answered.tool_text = "src/berth.rs".to_owned();
    let aside = turn(&side, 3, Role::Assistant, "looked at the tide table");
    Talk { session, side, asked, answered, aside }
}

impl Talk {
    fn list(&self) -> Vec<Entry<'_>> {
        vec![said(&self.session, &self.asked, 1), said(&self.session, &self.answered, 2), said(&self.side, &self.aside, 3)]
    }
}

/// Stores the talk.
fn told(store: &Store) -> (Talk, FileRow) {
    let talk = talk();
    let file = commit(store, "one.jsonl", Some(&plan_of(&["a", "bb", "ccc"])), &entries(talk.list()));
    (talk, file)
}

fn batches(open: Open<'_>) {
    let store = &open();
    let (talk, _) = told(store);
    let system = turn(&talk.session, 4, Role::System, "a reminder that nobody asked for");
    commit(store, "one.jsonl", None, &entries(vec![said(&talk.session, &system, 3)]));
    assert_eq!(texts(store, &talk.session).len(), 3);
    assert_eq!((turns(store), store.projects().unwrap().len()), (4, 1));
    // The same batch again adds nothing; a more complete copy replaces a shorter one; another session's copy is shared.
    commit(store, "one.jsonl", None, &entries(talk.list()));
    let fuller = Turn { parts: 2, text: "berth four, until six".to_owned(), ..talk.answered.clone() };
    let fork = episode("session-two", None);
    let copied = Turn { id: TurnId::derive(AGENT, "session-two", &message(1), 0), ..talk.asked.clone() };
    commit(store, "one.jsonl", None, &entries(vec![said(&talk.session, &fuller, 2), said(&fork, &copied, 1)]));
    assert_eq!(turns(store), 4);
    assert_eq!(texts(store, &fork), ["which berth is free?"]);
    assert_eq!(texts(store, &talk.session)[1], "berth four, until six");
    let shared =
        store.turn_keys(TurnChoice::SharedBy("session-two", &store.turn_keys(TurnChoice::Named(&copied.native_id, 9)).unwrap()));
    assert_eq!(shared.unwrap().len(), 1);
    let episodes = &[key_of(store, &fork)];
    let count = |with_shared| store.count_turns(&TurnCount { episodes, with_shared, ..TurnCount::default() }).unwrap();
    assert_eq!((count(false), count(true)), (0, 1));
}

fn titles(open: Open<'_>) {
    let store = &open();
    let (talk, file) = told(store);
    let title = |text: &str| Title { text: text.to_owned(), rank: TitleRank::Ai, at: Some(NOON), line: 9 };
    let later = turn(&talk.session, 9, Role::Human, "and tomorrow?");
    let named = message(9);
    commit(store, "titles.jsonl", None, &entries(vec![Entry::TitleOfMessage(&named, title("Berths"))]));
    assert_eq!(store.settle_titles().unwrap(), 0);
    commit(store, "one.jsonl", None, &entries(vec![said(&talk.session, &later, 4)]));
    assert_eq!(store.settle_titles().unwrap(), 1);
    let own = SessionFilter { without_documents: true, native_id: Some("session-one"), ..SessionFilter::default() };
    let title_of = || store.sessions(&own, SessionOrder::Recent, 5).unwrap()[0].title.clone();
    assert_eq!(title_of().as_deref(), Some("Berths"));
    assert_eq!(store.clear_titles(&[file.id], &[]).unwrap(), [file.id]);
    assert_eq!(title_of(), None);
}

fn lines(open: Open<'_>) {
    let store = &open();
    let (_, file) = told(store);
    let segments = store.segments(file.id, 1..=1).unwrap();
    assert_eq!(segments.iter().map(|segment| segment.run.count).sum::<u32>(), 3);
    let blob = segments[0].run.blob;
    assert_eq!(store.blob(blob).unwrap().unwrap().data, b"a\nbb\nccc");
    assert!(store.blob(BlobKey::new(99)).unwrap().is_none());
    assert_eq!(store.find_lines(&[2, 77]).unwrap(), [Some((blob, 1)), None]);
    assert_eq!(store.last_blobs(file.id, 1, 4).unwrap(), [(blob, 8)]);
    assert_eq!(store.generations().unwrap(), [(file.id, 1)]);
    store.rewrite_file(file.id, &[(1, &[plan_of(&["a", "ccc"])])], false).unwrap();
    assert_eq!((store.segments(file.id, 1..=1).unwrap()[0].run.count, store.blob_ids().unwrap().len()), (2, 2));
    store.release(Unused::Blobs).unwrap();
    assert_eq!(store.blob_ids().unwrap().len(), 1);
    store.rewrite_file(file.id, &[(1, &[])], true).unwrap();
    assert!(store.blob_ids().unwrap().is_empty() && store.generations().unwrap().is_empty());
    for unused in [Unused::Labels, Unused::Paths] {
        store.release(unused).unwrap();
    }
}

fn refused_commits(open: Open<'_>) {
    let store = &open();
    let (talk, file) = told(store);
    let later = turn(&talk.session, 9, Role::Human, "and tomorrow?");
    let missing = LineRun { blob: BlobKey::new(99), first: 0, count: 1 };
    let stale = ArchivePlan { blob: None, runs: vec![Run::Stored(missing)] };
    let (held, more, none) = (lease(store, "one.jsonl"), entries(vec![said(&talk.session, &later, 4)]), Skips::new());
    assert!(store.commit(&part(&held, OWNER, Some(&stale), &more, &none)).unwrap().is_none(), "plan again");
    assert!(matches!(store.commit(&part(&held, "2@here", None, &more, &none)), Err(StoreError::LeaseLost(_))));
    assert_eq!((turns(store), store.segments(file.id, 0..=9).unwrap().len()), (3, 1));
    assert_eq!(store.files(Files::At(AGENT, "one.jsonl")).unwrap()[0].checkpoint, held.checkpoint);
    let rewritten = store.rewrite_file(file.id, &[(1, &[]), (2, &[stale])], true);
    assert!(matches!(rewritten, Err(StoreError::LeaseLost(_))));
    assert_eq!(store.segments(file.id, 0..=9).unwrap().len(), 1, "no generation is rewritten if one cannot be");
}

fn stale_checkpoints(open: Open<'_>) {
    let store = &open();
    let (talk, _) = told(store);
    let before = lease(store, "one.jsonl");
    commit(store, "one.jsonl", Some(&plan_of(&["dddd"])), &entries(Vec::new()));
    lease(store, "one.jsonl");
    let later = turn(&talk.session, 9, Role::Human, "and tomorrow?");
    let (more, none) = (entries(vec![said(&talk.session, &later, 4)]), Skips::new());
    assert!(matches!(store.commit(&part(&before, OWNER, None, &more, &none)), Err(StoreError::LeaseLost(_))));
    assert_eq!(turns(store), 3);
}

fn leases(open: Open<'_>) {
    let store = &open();
    let (_, file) = told(store);
    let held = lease(store, "one.jsonl");
    let other = |is_alive| store.lease_file(AGENT, "one.jsonl", "2@here", NOON, move |_| is_alive).unwrap();
    assert!(other(true).is_none());
    assert!(other(false).is_some(), "its holder is dead");
    let (nothing, none) = (entries(Vec::new()), Skips::new());
    assert!(matches!(store.commit(&part(&held, OWNER, None, &nothing, &none)), Err(StoreError::LeaseLost(_))));
    assert!(store.commit(&part(&held, "2@here", None, &nothing, &none)).unwrap().is_some());
    lease(store, "one.jsonl");
    store.note_files(&[file.id], FileNote::Released(OWNER)).unwrap();
    assert!(other(true).is_some());
    store.note_files(&[file.id], FileNote::Gone(NOON)).unwrap();
    assert_eq!(store.files(Files::All).unwrap()[0].gone_ms, Some(NOON));
    for (wanted, count) in [(Files::Within(AGENT, "one.jsonl"), 1), (Files::NamedAfter("one"), 1), (Files::NamedAfter("two"), 0)]
    {
        assert_eq!(store.files(wanted).unwrap().len(), count, "{wanted:?}");
    }
    assert_eq!(store.files(Files::OfEpisode(&EpisodeId::derive(AGENT, "session-one"))).unwrap().len(), 1);
    let cwd = |key| store.episodes(&Episodes::InFile(key)).unwrap()[0].cwd.clone();
    assert_eq!(cwd(file.id).as_deref(), Some("/home/dev/harbour"));
}

fn parallel_commits(open: Open<'_>) {
    let sessions = ["left", "right"].map(|name| episode(name, None));
    let handles = [open(), open()];
    std::thread::scope(|scope| {
        for (store, session) in handles.iter().zip(&sessions) {
            scope.spawn(move || {
                for number in 1..20 {
                    let turn = turn(session, number, Role::Human, &format!("{} {number}", session.native_id));
                    let turn = Turn { native_id: format!("{}-{number}", session.native_id), ..turn };
                    let turn = Turn { id: TurnId::derive(AGENT, &session.native_id, &turn.native_id, 0), ..turn };
                    let plan = plan_of(&[&turn.text]);
                    commit(store, &session.native_id, Some(&plan), &entries(vec![said(session, &turn, 1)]));
                }
            });
        }
    });
    let store = open();
    assert_eq!((turns(&store), store.projects().unwrap().len(), store.files(Files::All).unwrap().len()), (38, 1, 2));
    for session in &sessions {
        let expected: Vec<String> = (1..20).map(|number| format!("{} {number}", session.native_id)).collect();
        assert_eq!(texts(&store, session), expected);
    }
}

fn found_turns(open: Open<'_>) {
    let store = &open();
    let (talk, _) = told(store);
    let by_id = store.turn_keys(TurnChoice::Named(&talk.answered.id.to_string(), 5)).unwrap();
    let filter = Filter { files: vec!["berth.rs".to_owned()], ..Filter::default() };
    assert_eq!(store.turn_keys(TurnChoice::Holding(&filter)).unwrap(), by_id);
    assert_eq!(store.turns(Turns::Keys(&by_id)).unwrap()[0].text, talk.answered.text);
    let asked = store.turn_keys(TurnChoice::Named(&talk.asked.id.to_string(), 5)).unwrap()[0];
    for wanted in [Turns::Conclusion(asked), Turns::Around(asked, 3)] {
        assert_eq!(store.turns(wanted).unwrap()[0].id, talk.answered.id, "{wanted:?}");
    }
    assert!(store.turns(Turns::Reply(asked)).unwrap().is_empty());
    let [session, side] = [&talk.session, &talk.side].map(|session| key_of(store, session));
    assert_eq!(store.turns(Turns::LastOf(session, Role::Human, 3)).unwrap()[0].id, talk.asked.id);
    let places = store.exchange_places(&[asked, by_id[0]]).unwrap();
    assert_eq!(places[&by_id[0]].start, places[&asked].start);
    assert!(places[&by_id[0]].is_last && !places[&by_id[0]].is_answered && !places[&asked].is_last);
    let work = store.exchange_work(asked, true).unwrap();
    assert_eq!((work.opened.len(), work.calls.len()), (1, 1));
    assert_eq!(store.recorded_shapes(&by_id).unwrap()[0].files, talk.answered.files);
    let (session_prompts, events) = (store.prompts().unwrap(), store.file_events(None).unwrap());
    assert_eq!((session_prompts.len(), events.len(), events[0].path.as_str()), (1, 1, "src/berth.rs"));
    let files = HashSet::from(["src/berth.rs"]);
    assert_eq!(store.popular_files(&[asked], &files, None).unwrap(), [("src/berth.rs".to_owned(), 1)]);
    let path = "/home/dev/harbour/src/berth.rs".to_owned();
    let of = |path: &str| store.file_events(Some(&[path.to_owned()])).unwrap().len();
    assert_eq!((of(&path), of("/home/dev/harbour/src/other.rs")), (1, 0));
    let projects = [store.projects().unwrap()[0].key];
    let change = ChangeFilter { file: "src/berth.rs", projects: &projects, session: None, as_of: None };
    assert_eq!(store.last_changes(&change, 5).unwrap().len(), 1);
    assert!(store.has_words(session, "berth four").unwrap() && !store.has_words(session, "tide").unwrap());
    assert_eq!(store.said_before(session, i64::MAX).unwrap().as_deref(), Some(talk.answered.text.as_str()));
    assert_eq!(store.label_rows(&["main".to_owned(), "unknown".to_owned()]).unwrap().len(), 1);
    let mut read = 0;
    store.each_words(|_, words| read += usize::from(words.is_some())).unwrap();
    assert_eq!(read, 3);
    // Sessions, and how they are named.
    let all = SessionFilter { without_documents: true, ..SessionFilter::default() };
    let mut listed = store.sessions(&all, SessionOrder::Oldest, 5).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(store.session_files(session).unwrap(), [path]);
    let summary = store.summary(listed.remove(0)).unwrap();
    assert_eq!((summary.message_count, summary.languages.as_slice()), (2, &["rust".to_owned()][..]));
    let messages = HashSet::from([talk.aside.native_id.clone()]);
    for (wanted, expected) in [
        (Episodes::Key(session), vec![session]),
        (Episodes::Named("session-on", 9), vec![session]),
        (Episodes::Native(None, "session-one"), vec![session]),
        (Episodes::Below(session), vec![side]),
        (Episodes::Of(&[], &[EpisodeKind::Subagent]), vec![side]),
        (Episodes::WithoutProject(AGENT), Vec::new()),
        (Episodes::WithMessages(AGENT, &messages), vec![side]),
    ] {
        let found: Vec<EpisodeKey> = store.episodes(&wanted).unwrap().into_iter().map(|episode| episode.key).collect();
        assert_eq!(found, expected, "{wanted:?}");
    }
}

fn notes(open: Open<'_>) {
    let store = &open();
    let note = episode("a-note", None);
    let given = |number: u8, text: &str| Turn {
        id: TurnId::derive(AGENT, "a-note", "text", 0),
        native_id: "text".to_owned(),
        ..turn(&note, number, Role::Human, text)
    };
    let facts = |title: &str| NoteFacts { title: Some(title.to_owned()), kind: NoteKind::Context, ..NoteFacts::default() };
    let (first, second, third) = (given(10, "at dawn"), given(20, "at noon"), given(30, "at dusk"));
    for (turn, facts) in [(&second, facts("b")), (&third, facts("c")), (&first, facts("a")), (&second, facts("b"))] {
        let Entry::Turn(said) = said(&note, turn, 1) else { unreachable!() };
        let entry = Entry::Turn(SaidTurn { note: Some(&facts), ..said });
        commit(store, "note", None, &Entries { is_document: true, ..entries(vec![entry]) });
    }
    let newest = store.notes(Versions::Newest, 5, |_| true).unwrap();
    assert_eq!((newest.len(), newest[0].turn, newest[0].text.as_str(), newest[0].version), (1, third.id, "at dusk", 3));
    let versions = store.notes(Versions::Of(newest[0].row), 9, |_| true).unwrap();
    let told: Vec<(String, Option<String>)> = versions.into_iter().map(|version| (version.text, version.facts.title)).collect();
    let expected = [("at dawn", "a"), ("at noon", "b"), ("at dusk", "c")];
    assert_eq!(told, expected.map(|(text, title)| (text.to_owned(), Some(title.to_owned()))));
    assert_eq!(texts(store, &note), ["at dusk"]);
    let replaced = store.turn_keys(TurnChoice::Superseded(None)).unwrap();
    assert_eq!(replaced.len(), 2);
    assert_eq!(store.turn_keys(TurnChoice::Superseded(second.time.utc)).unwrap().len(), 0, "each held until the next one came");
    assert_eq!(store.episodes(&Episodes::WithVersions(&replaced)).unwrap()[0].key, newest[0].row);
    let key = newest[0].row;
    for (way, count) in [(Use::Shown, 0), (Use::Given, 0), (Use::Opened, 1)] {
        store.log_reading(&[key], way, NOON, None).unwrap();
        assert_eq!(store.notes(Versions::NewestOf(&[key]), 5, |_| true).unwrap()[0].access_count, count, "{way:?}");
    }
    assert_eq!(store.notes(Versions::Named(&newest[0].episode), 5, |_| true).unwrap()[0].version, 3);
    let heads = store.context_heads(Contexts::All).unwrap();
    assert_eq!((heads.len(), heads[0].row, heads[0].topic.as_str(), heads[0].accessed), (1, key, "c", Some(NOON)));
    assert_eq!(store.context_heads(Contexts::Named(&[heads[0].episode])).unwrap(), heads);
    assert!(store.context_heads(Contexts::Named(&[])).unwrap().is_empty());
    assert!(store.context_heads(Contexts::UsedWith(&heads[0].episode, 3_600_000)).unwrap().is_empty(), "it is alone");
}

fn projects(open: Open<'_>) {
    let store = &open();
    let (talk, _) = told(store);
    let known = store.projects().unwrap().remove(0);
    let alias = |path: &str| vec![(ProjectAlias::Directory(path.to_owned()), path.to_owned())];
    assert_eq!(store.known_project(None, &alias("/home/dev/harbour"), "x", NOON).unwrap(), known.id);
    let given = ProjectId::from_bytes([9; 16]);
    assert_eq!(store.known_project(Some(given), &alias("/home/dev/quay"), "quay", NOON).unwrap(), given);
    let other = store.projects().unwrap().remove(1);
    assert_eq!((other.id, other.recorded("directory").count(), other.has_memories), (given, 1, false));
    store.change_project(ProjectChange::Rename(known.key, "port"), NOON).unwrap();
    store.change_project(ProjectChange::FirstCommit(known.key, "c0ffee"), NOON).unwrap();
    let summary = store.project_summaries(Some(known.key)).unwrap().remove(0);
    assert_eq!((summary.name.as_str(), summary.sessions, summary.turns), ("port", 1, 3));
    assert_eq!(store.projects().unwrap()[0].first_commits, ["c0ffee"]);
    let moved = store.change_project(ProjectChange::Merge { from: known.key, into: other.key }, NOON).unwrap().unwrap();
    assert_eq!((moved.turns, store.projects().unwrap().len()), (3, 1));
    let merge = store.project_merges().unwrap().remove(0);
    assert_eq!((merge.from, merge.into), (known.id, given));
    assert_eq!(store.change_project(ProjectChange::UndoMerge(merge.number), NOON).unwrap().unwrap().turns, 3);
    assert_eq!(store.change_project(ProjectChange::UndoMerge(merge.number), NOON).unwrap(), None, "once");
    assert_eq!(store.projects().unwrap().len(), 2);
    assert!(!texts(store, &talk.session).is_empty());
}

fn readings(open: Open<'_>) {
    let store = &open();
    let (talk, file) = told(store);
    let (kept, other) = (episode("kept", None), turn(&episode("kept", None), 7, Role::Human, "kept?"));
    let damaged = commit(store, "two.jsonl", None, &entries(vec![said(&kept, &other, 1)]));
    let pass = store.last_pass().unwrap();
    store.note_files(&[file.id], FileNote::CountedAgain).unwrap();
    let list = vec![said(&talk.session, &talk.asked, 1)];
    store.store_again(file.id, &Entries { pass: pass.number + 1, ..entries(list) }, &Skips::new()).unwrap();
    store.note_files(&[damaged.id], FileNote::Damaged(pass.number + 1)).unwrap();
    assert_eq!(store.sweep_turns(pass.number + 1, pass.newest).unwrap(), 2);
    assert_eq!((texts(store, &talk.session).len(), texts(store, &kept).len()), (1, 1));
}

fn forgetting(open: Open<'_>) {
    let store = &open();
    let (talk, _) = told(store);
    let rows = [key_of(store, &talk.session), key_of(store, &talk.side)];
    store.set_forgotten(&rows, Some(NOON)).unwrap();
    assert!(texts(store, &talk.session).is_empty());
    store.set_forgotten(&rows, None).unwrap();
    assert_eq!(texts(store, &talk.session).len(), 2);
    let messages: HashSet<String> = store.messages_of(&rows).unwrap().into_iter().collect();
    assert_eq!(messages, HashSet::from([message(1), message(2), message(3)]));
    let plan =
        ForgetPlan { agent: AGENT.to_owned(), messages: messages.clone(), episodes: rows.to_vec(), ..ForgetPlan::default() };
    let number = store.begin_forgetting(&[&plan], &[[7; 16]], NOON).unwrap()[0];
    assert_eq!(store.forget_plans().unwrap(), [(number, plan)]);
    let rest = ForgetPlan { agent: AGENT.to_owned(), ..ForgetPlan::default() };
    let what = Forgetting { agent: AGENT, messages: &messages, episodes: &rows, now: NOON, plan: Some((number, &rest)) };
    store.forget(&what).unwrap();
    assert_eq!(open().forget_plans().unwrap(), [(number, rest)], "whoever comes next finds what is left");
    store.end_forgetting(number).unwrap();
    assert_eq!(store.forget_plans().unwrap(), []);
    assert_eq!((turns(store), store.tombstones().unwrap()), (0, HashSet::from([[7; 16]])));
    assert!(store.queued(Queue::Text, QueuePlace::default(), 100).unwrap().iter().all(|queued| queued.item.is_none()));
}

fn names(open: Open<'_>) {
    let store = &open();
    told(store);
    let becomes = |name: &str| name.contains("berth.rs").then(|| name.replace("berth.rs", "gone.rs"));
    let changed = store.rename(true, becomes).unwrap();
    assert!(changed > 0 && store.file_events(None).unwrap()[0].path == "src/berth.rs", "a dry run changes nothing");
    assert_eq!(store.rename(false, becomes).unwrap(), changed);
    assert_eq!(store.file_events(None).unwrap()[0].path, "src/gone.rs");
    assert_eq!((store.counts_after(NOON - 1).unwrap(), store.counts_after(i64::MAX).unwrap()), ((3, 0), (0, 0)));
}

fn record(byte: u8, statement: &str) -> Memory {
    Memory::new(MemoryId::from_bytes([byte; 16]), MemoryKind::Fact, statement, NOON)
}

fn put(memory: &Memory) -> Record {
    Record::Memory(Box::new(memory.clone()))
}

fn relation(byte: u8, from: Node, relation_type: RelationType, to: Node) -> Relation {
    Relation::new(RelationId::from_bytes([byte; 16]), from, relation_type, to, NOON)
}

fn operation(kind: OperationKind, at: UtcMillis) -> NewOperation {
    NewOperation { kind, cause: Cause::default(), at, summary: "story".to_owned() }
}

/// Stores records as one operation; returns its number.
fn done(store: &Store, kind: OperationKind, at: UtcMillis, records: &[Record]) -> u64 {
    let work = |tx: &mut OperationTx<'_, '_>| records.iter().try_for_each(|record| tx.put(record));
    store.operate(&operation(kind, at), work).unwrap().1.unwrap()
}

/// Two memories, of which the second took the place of the first and is about the crane.
struct Cranes {
    first: Memory,
    second: Memory,
    crane: Entity,
    /// Numbers of the operations that recorded them.
    numbers: [u64; 2],
}

fn cranes(store: &Store) -> Cranes {
    let evidence = Evidence { turn: turn(&episode("session-one", None), 1, Role::Human, "").id, quote: "berth".to_owned() };
    let first = Memory { evidence: vec![evidence], ..record(1, "The crane is on pier three.") };
    let anchors = vec![Anchor { kind: AnchorKind::SourceFile, text: "src/crane.rs".to_owned() }];
    let project = store.projects().unwrap().first().map(|known| known.id);
    let second = Memory {
        anchors,
        project,
        tags: vec!["harbour".to_owned()],
        changed: NOON + 10,
        ..record(2, "The crane is on pier four.")
    };
    let crane = Entity::new(EntityId::from_bytes([3; 16]), EntityKind::default(), "crane", NOON);
    let about = relation(4, Node::Memory(second.id), RelationType::About, Node::Entity(crane.id));
    let newer = relation(5, Node::Memory(second.id), RelationType::Supersedes, Node::Memory(first.id));
    let recorded = done(store, OperationKind::Create, NOON, &[put(&first), Record::Entity(Box::new(crane.clone()))]);
    let replaced = Event::Replaced { since: None, why: Replacement::NoLongerSo };
    let superseded = first.after(&replaced, NOON + 10).unwrap();
    let others = [put(&second), put(&superseded), Record::Relation(Box::new(about)), Record::Relation(Box::new(newer))];
    let changed = done(store, OperationKind::Supersede, NOON + 10, &others);
    Cranes { first: superseded, second, crane, numbers: [recorded, changed] }
}

fn records(open: Open<'_>) {
    let store = &open();
    told(store);
    let Cranes { first, second, crane, numbers } = cranes(store);
    assert_eq!(store.memory(second.id).unwrap().as_ref(), Some(&second));
    let keys: Vec<_> =
        store.memories(Memories::Meeting(&MemoryFilter::default(), 9)).unwrap().into_iter().map(|found| found.0).collect();
    let times = store.times_held(&MemoryFilter::default()).unwrap();
    assert_eq!((keys.len(), times.len()), (2, 2));
    assert!(times.iter().all(|held| keys.contains(&held.memory)), "{times:?}");
    assert_eq!(times.iter().filter(|held| held.until.is_none()).count(), 1, "another took the place of one: {times:?}");
    let session = key_of(store, &episode("session-one", None));
    let project = store.projects().unwrap()[0].clone();
    let latest =
        Memories::Latest { project: Some(project.key), kinds: &[MemoryKind::Fact], least_certainty: 0.0, now: NOON, limit: 3 };
    for (wanted, expected) in [
        (Memories::Keys(&keys[..1]), &second),
        (Memories::Named(&second.id.short(), 2), &second),
        (Memories::Anchored(project.id, 2), &second),
        (latest, &second),
        (Memories::RestingOn(session), &first),
    ] {
        let found = store.memories(wanted).unwrap();
        assert_eq!(found.iter().map(|found| &found.1).collect::<Vec<_>>(), [expected], "{wanted:?}");
    }
    assert!(store.memories(Memories::TakenBack(session)).unwrap().is_empty());
    let outlined = |found: Vec<MemoryOutline>| found.iter().map(|outline| outline.id).collect::<Vec<_>>();
    assert_eq!(outlined(store.outlines(Outlines::Keys(&keys)).unwrap()), [second.id, first.id]);
    assert_eq!(outlined(store.outlines(Outlines::Ids(&[first.id, second.id])).unwrap()), [second.id], "the first is superseded");
    let stamp = store.memory_stamp().unwrap();
    assert_eq!(store.memory_stamp().unwrap(), stamp, "nothing changed");
    let [successor, predecessor] = [Named::SuccessorOf(first.id), Named::PredecessorsOf(second.id, None, 5)]
        .map(|wanted| store.named_outlines(wanted).unwrap().remove(0));
    assert_eq!((successor.0, predecessor.1.0.id, successor.1.1), (keys[0], first.id, Some(project.name)));
    assert_eq!(store.named_outlines(Named::Keys(&keys)).unwrap().len(), 2);
    let holding = store.named_outlines(Named::HoldingAfter(Default::default(), 1)).unwrap();
    let rest = store.named_outlines(Named::HoldingAfter(holding[0].0, 9)).unwrap();
    assert!(rest.iter().all(|(key, (memory, _))| *key > holding[0].0 && memory.is_in_effect()));
    let evidence = store.evidence_of(EvidenceOf::Keys(&keys)).unwrap();
    assert_eq!((evidence.len(), evidence[0].branch.as_deref(), evidence[0].is_forgotten), (1, Some("main"), false));
    assert_eq!(store.memories_resting_on(&[session]).unwrap(), (vec![first.id], Vec::new()));
    let facts = store.statement_facts(9).unwrap();
    assert_eq!((facts.memories, facts.last, facts.has_entities, facts.has_unlisted), (2, keys[0], true, false));
    assert_eq!(store.entity(crane.id).unwrap().as_ref(), Some(&crane));
    assert_eq!(store.entities(Some("Crane"), 9).unwrap(), store.entities(None, 9).unwrap());
    for (projects, limit, count) in [(Some(&[project.key][..]), 9, 1), (None, 9, 1), (None, 0, 0), (Some(&[][..]), 9, 0)] {
        let found = outlined(store.outlines(Outlines::InEffect(projects, limit)).unwrap());
        assert_eq!(found, &[second.id][..count], "the first is superseded: {projects:?}");
    }
    let of_both = store.entity_names(EntityNames::OfMemories(&[first.id, second.id]), false).unwrap();
    assert_eq!(
        (of_both.len(), of_both[0].looked_for.as_str(), of_both[0].name.as_str()),
        (1, second.id.to_string().as_str(), "crane")
    );
    assert!(store.entity_names(EntityNames::OfMemories(&[first.id]), false).unwrap().is_empty());
    assert_eq!(store.relations(Relations::Superseding).unwrap()[0].to, Node::Memory(first.id));
    let names = ["crane".to_owned()];
    for wanted in [EntityNames::OfMemory(second.id), EntityNames::Known(&names)] {
        let found = store.entity_names(wanted, true).unwrap();
        assert_eq!((found[0].id, found[0].degree), (crane.id, 1), "{wanted:?}");
    }
    let node = Node::Memory(second.id);
    assert_eq!(store.relations(Relations::Of(&node, 9)).unwrap().len(), 2);
    let heaviest = Relations::Heaviest { node: &node, types: &[RelationType::About], least: 0.0, limit: 9 };
    assert_eq!(store.relations(heaviest).unwrap()[0].to, Node::Entity(crane.id));
    assert!(store.relations(Relations::Contradicting).unwrap().is_empty());
    let near = store.neighbours(&node, 9, 0.5).unwrap();
    assert_eq!(near.len(), 2);
    let nodes: Vec<(&Node, f32)> = near.iter().map(|(node, weight)| (node, *weight)).collect();
    assert_eq!(store.item_keys(&nodes, 9).unwrap().iter().map(|found| found.0).collect::<Vec<_>>(), [ItemKey::Memory(keys[1])]);
    let named = MemoryConditions { kinds: vec![MemoryKind::Fact], ..MemoryConditions::default() };
    assert_eq!(store.memories_meeting(&named, &[crane.id], None).unwrap(), [keys[0]]);
    // An export reads everything page by page.
    let (mut after, mut read) = (RecordKey::start(), 0);
    while let Some((last, _)) = store.records_after(after, 1).unwrap().pop() {
        (after, read) = (last, read + 1);
    }
    assert_eq!(read, 4);
    // The log, and what takes back.
    let logged = store.operations(None, Some(Subject::Memory(first.id)), 9).unwrap();
    assert_eq!(logged.iter().map(|logged| logged.number).collect::<Vec<_>>(), [numbers[1], numbers[0]]);
    assert_eq!(store.operation(numbers[1]).unwrap().unwrap().1.len(), 4);
    for number in [numbers[1], numbers[0]] {
        store.undo(number, Undoing::Undo, &Cause::default(), NOON).unwrap().unwrap();
        assert_ne!(store.memory_stamp().unwrap(), stamp);
    }
    assert_eq!(store.statement_facts(9).unwrap().memories, 0);
}

fn failed_operations(open: Open<'_>) {
    let store = &open();
    let known = record(1, "The crane is on pier three.");
    done(store, OperationKind::Create, NOON, &[put(&known)]);
    let refused: Result<((), _), StoreError> = store.operate(&operation(OperationKind::Edit, NOON), |tx| {
        tx.put(&put(&record(2, "The crane is on pier four.")))?;
        tx.remove(Subject::Memory(known.id))?;
        assert!(tx.memory(known.id)?.is_none(), "the work sees what it did");
        Err(StoreError::Refused)
    });
    assert!(matches!(refused, Err(StoreError::Refused)));
    let lost = relation(5, Node::Memory(known.id), RelationType::RelatesTo, Node::Memory(MemoryId::from_bytes([9; 16])));
    let failed: Result<((), _), StoreError> =
        store.operate(&operation(OperationKind::Relate, NOON), |tx| tx.put(&Record::Relation(Box::new(lost.clone()))));
    assert!(matches!(failed, Err(StoreError::UnknownNode(_))));
    assert_eq!(store.memories(Memories::Meeting(&MemoryFilter::default(), 9)).unwrap().len(), 1);
    assert_eq!(store.operations(None, None, 9).unwrap().len(), 1);
    let (_, number) = store.operate::<_, StoreError>(&operation(OperationKind::Edit, NOON), |tx| tx.put(&put(&known))).unwrap();
    assert_eq!(number, None, "what changes nothing is not logged");
}

fn parallel_operations(open: Open<'_>) {
    let handles = [open(), open()];
    let numbers: Vec<u64> = std::thread::scope(|scope| {
        let at_work = handles.iter().zip([10u8, 40]).map(|(store, from)| {
            scope.spawn(move || {
                let memories = (from..from + 20).map(|byte| put(&record(byte, &format!("Berth {byte} is free."))));
                memories.map(|memory| done(store, OperationKind::Create, NOON, &[memory])).collect::<Vec<_>>()
            })
        });
        at_work.collect::<Vec<_>>().into_iter().flat_map(|work| work.join().unwrap()).collect()
    });
    assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), 40);
    let store = open();
    assert_eq!((store.statement_facts(99).unwrap().memories, store.operations(None, None, 99).unwrap().len()), (40, 40));
}

fn undoing(open: Open<'_>) {
    let store = &open();
    let Cranes { first, numbers, .. } = cranes(store);
    let undo = |number, way| store.undo(number, way, &Cause::default(), NOON).unwrap();
    assert!(matches!(undo(numbers[0], Undoing::Undo), Err(UndoError::BuiltOn { by, .. }) if by == numbers[1]));
    assert!(matches!(undo(99, Undoing::Undo), Err(UndoError::Unknown(99))));
    let undone = undo(numbers[1], Undoing::Undo).unwrap();
    assert_eq!(undo(numbers[1], Undoing::Undo), Err(UndoError::AlreadyUndone { number: numbers[1], by: undone }));
    assert_eq!(store.memory(first.id).unwrap().unwrap().status, Status::Holds);
    undo(numbers[1], Undoing::Redo).unwrap();
    assert_eq!(undo(numbers[1], Undoing::Redo), Err(UndoError::NotUndone(numbers[1])));
    assert_eq!(store.memory(first.id).unwrap().unwrap().status, Status::Superseded);
}

fn past(open: Open<'_>) {
    let store = &open();
    told(store);
    let Cranes { first, second, numbers, .. } = cranes(store);
    let then = |memory: &Memory, at| store.past_memory(Past::Itself(Box::new(memory.clone())), at).unwrap();
    assert_eq!(then(&first, NOON + 5).unwrap().status, Status::Holds);
    assert_eq!(then(&first, NOON), None, "it was not recorded yet");
    store.undo(numbers[1], Undoing::Undo, &Cause::default(), NOON + 20).unwrap().unwrap();
    let stood = store.past_memory(Past::UndoneSuccessorOf(first.id), NOON + 15).unwrap();
    assert_eq!(stood.map(|memory| memory.id), Some(second.id));
    let logged = store.logged_memories().unwrap();
    assert!(logged.iter().any(|(memory, is_there)| memory.id == second.id && !is_there));
    store.undo(numbers[1], Undoing::Redo, &Cause::default(), NOON + 30).unwrap().unwrap();
    // A memory that a forgotten one had superseded holds again, and waits to be compared.
    store.forget_memories(&[second.id], &[first.id], NOON + 40).unwrap();
    assert_eq!(store.memory(first.id).unwrap().unwrap().status, Status::Holds);
    assert_eq!(store.to_compare().unwrap(), [first.id]);
    store.note_compared(Compared::Freed, NOON).unwrap();
    assert!(store.to_compare().unwrap().is_empty() && store.logged_memories().unwrap().is_empty());
    let undone = store.undo(numbers[1], Undoing::Undo, &Cause::default(), NOON + 50).unwrap();
    assert_eq!(undone, Err(UndoError::Forgotten(numbers[1])));
}

fn meeting(open: Open<'_>) {
    let store = &open();
    told(store);
    let Cranes { first, second, crane, .. } = cranes(store);
    let port = |byte, number| record(byte, &format!("The port of the harbour server is {number}."));
    let (old, new) = (port(20, 8080), port(21, 9090));
    let against = relation(22, Node::Memory(new.id), RelationType::Contradicts, Node::Memory(old.id));
    store
        .operate::<_, StoreError>(&operation(OperationKind::Create, NOON), |tx| {
            tx.put(&put(&old))?;
            assert_eq!(tx.same_statement(&Memory { id: new.id, ..old.clone() })?, Some(old.id));
            assert_eq!(tx.same_statement(&new)?, None);
            tx.put(&put(&new))?;
            let assertion = new.assertion().unwrap();
            assert_eq!(tx.assertions_near(&new, &assertion)?, [old.id]);
            assert_eq!(tx.outlines(Outlines::About(crane.id, 3))?[0].id, second.id);
            tx.put(&Record::Relation(Box::new(against.clone())))?;
            assert!(tx.relation_between(&against.from, RelationType::Contradicts, &against.to)?.is_some());
            assert_eq!(tx.relations_of(&against.to)?.len(), 1);
            assert_eq!(tx.entities(Some("crane"), 9)?, [tx.entity(crane.id)?.unwrap()]);
            assert_eq!(tx.evidence_of(EvidenceOf::Memory(first.id))?.len(), 1);
            Ok(())
        })
        .unwrap();
    let beside = store.beside(old.id, 9).unwrap();
    assert_eq!((beside.len(), beside[0].memory.id, beside[0].standing), (1, new.id, Stands::Against));
    assert_eq!(store.relations(Relations::Contradicting).unwrap().len(), 1);
    let keys: Vec<_> = store.unjudged_memories(false).unwrap().into_iter().map(|memory| memory.row).collect();
    assert_eq!(store.outlines(Outlines::After(keys[0], 9)).unwrap().len(), keys.len() - 1);
    store.note_compared(Compared::ByModel(&keys[1..]), NOON).unwrap();
    assert_eq!((store.unjudged_memories(false).unwrap().len(), store.unjudged_memories(true).unwrap().len()), (1, keys.len()));
    let judged = |tx: &mut OperationTx<'_, '_>| tx.note_compared(&keys[..1], NOON);
    store.operate::<_, StoreError>(&operation(OperationKind::Relate, NOON), judged).unwrap();
    assert!(store.unjudged_memories(false).unwrap().is_empty());
}

fn special_cases(open: Open<'_>) {
    let store = &open();
    let (talk, _) = told(store);
    let project = store.projects().unwrap().remove(0);
    let everywhere = Memory { kind: MemoryKind::Standard, ..record(1, "Indent by two.") };
    let here = Memory { kind: MemoryKind::Standard, project: Some(project.id), ..record(2, "Indent by four.") };
    let quote = Evidence { turn: talk.asked.id, quote: "berth".to_owned() };
    let on_branch =
        Memory { project: Some(project.id), lane: Lane::Extracted, evidence: vec![quote], ..record(3, "Berth four is free.") };
    let case = |byte, special: &Memory, basis| {
        let stated = relation(byte, Node::Memory(special.id), RelationType::Qualifies, Node::Memory(everywhere.id));
        Record::Relation(Box::new(Relation { basis: Some(basis), ..stated }))
    };
    let cases = [case(4, &here, Basis::Project), case(5, &on_branch, Basis::Branch("main".to_owned()))];
    done(store, OperationKind::Create, NOON, &[put(&everywhere), put(&here), put(&on_branch)]);
    done(store, OperationKind::Relate, NOON, &cases);
    let found = store.memories(Memories::Meeting(&MemoryFilter::default(), 9)).unwrap();
    let keys: HashMap<MemoryId, _> = found.iter().map(|(key, memory)| (memory.id, *key)).collect();
    let all: Vec<_> = keys.values().copied().collect();
    let pair = (keys[&here.id], keys[&everywhere.id]);
    assert!(store.exceptions(Exceptions::Among(&all, &[project.key]), NOON).unwrap().contains(&pair));
    assert_eq!(store.exceptions(Exceptions::In(project.key, 0.9), NOON).unwrap(), [pair]);
    assert_eq!(store.relations(Relations::OfBranch(project.id, "main")).unwrap()[0].from, Node::Memory(on_branch.id));
    assert_eq!(store.branches_of_facts(project.id).unwrap(), [("main".to_owned(), talk.asked.time.utc.unwrap())]);
    store.note_merged(project.id, "main", NOON + 3_600_000).unwrap();
    assert!(store.branches_of_facts(project.id).unwrap().is_empty());
    assert_eq!(store.evidence_of(EvidenceOf::Memory(on_branch.id)).unwrap()[0].branch, None);
}

fn extraction(open: Open<'_>) {
    let store = &open();
    let (talk, _) = told(store);
    let session = key_of(store, &talk.session);
    let shape = store.shapes(None).unwrap()[&session];
    assert_eq!(shape.turns, 2);
    store.note_extraction(session, "rules/1", Some(shape), NOON).unwrap();
    assert_eq!(store.shapes(Some("rules/1")).unwrap(), HashMap::from([(session, shape)]));
    let unread = |turns| {
        let filter = SessionFilter { has_more: Some(("rules/1", turns)), ..SessionFilter::default() };
        store.sessions(&filter, SessionOrder::Recent, 9).unwrap().len()
    };
    assert_eq!((unread(0), unread(1)), (1, 0));
    store.note_extraction(session, "rules/1", None, NOON).unwrap();
    assert!(store.shapes(Some("rules/1")).unwrap().is_empty());
    let keys: Vec<_> = store.turns(Turns::OfEpisode(session)).unwrap().iter().map(|turn| turn.row).collect();
    let span = StoredSpan {
        episode: session,
        depth: 0,
        first: keys[0],
        last: keys[1],
        exchanges: 1,
        sign: None,
        vector: vec![0.5, 0.5],
        name: None,
        summary: None,
    };
    let merged = event::Event {
        kind: EventKind::PullRequest,
        state: EventState::Merged,
        name: "#4".to_owned(),
        text: "Free berth four".to_owned(),
        turn: keys[1],
        at: None,
        count: 2,
    };
    let failed = command::Failed {
        kind: CauseKind::Named,
        cause: "option gh pr diff --stat".to_owned(),
        error: "unknown flag: --stat".to_owned(),
        next: None,
    };
    let attempt = Attempt {
        command: "gh pr diff N --stat".to_owned(),
        program: "gh".to_owned(),
        directory: String::new(),
        version: Some("2.4".to_owned()),
        exit: Some(1),
        failed: Some(failed),
        turn: keys[1],
    };
    let passed = Attempt { failed: None, exit: Some(0), turn: keys[0], ..attempt.clone() };
    let attempts = [attempt, passed];
    let structure = Structure { spans: std::slice::from_ref(&span), events: &[merged], attempts: &attempts };
    store.put_spans(session, structure, "spans/1", shape, NOON).unwrap();
    let project = store.projects().unwrap()[0].key;
    let causes = ["program gh".to_owned(), "option gh pr diff --stat".to_owned()];
    let found = |wanted: Attempts<'_>, until| store.attempts(project, wanted, until).unwrap();
    let failures = found(Attempts::Failed(&causes), None);
    assert_eq!(failures.iter().map(|known| &known.attempt).collect::<Vec<_>>(), [&attempts[0]]);
    assert!(found(Attempts::Failed(&causes[..1]), None).is_empty());
    assert!(found(Attempts::Failed(&causes), failures[0].at).is_empty(), "it came later");
    let passes = found(Attempts::Passed("gh", "pr diff"), None);
    assert_eq!(passes.iter().map(|known| &known.attempt).collect::<Vec<_>>(), [&attempts[1]]);
    let latest = found(Attempts::Latest(99), None);
    assert!(latest.len() >= failures.len() + passes.len() && latest.is_sorted_by_key(|attempt| std::cmp::Reverse(attempt.at)));
    assert_eq!(found(Attempts::Latest(1), None), latest[..1]);
    assert_eq!(found(Attempts::Versioned("gh"), None)[0].attempt.version.as_deref(), Some("2.4"));
    let events = |filter: &EventFilter<'_>| {
        let found = store.events(filter).unwrap();
        found
            .into_iter()
            .map(|known| format!("{} {} {}", known.event.name, known.event.text, known.event.count))
            .collect::<Vec<_>>()
    };
    let other = EventFilter { kinds: &[EventKind::Issue], ..EventFilter::default() };
    assert_eq!((events(&EventFilter::default()), events(&other)), (vec!["#4 Free berth four 2".to_owned()], Vec::new()));
    assert_eq!(store.spans(Spans::Of(&[session])).unwrap(), std::slice::from_ref(&span));
    let topic = TopicName { first: keys[0], name: Some("Berths".to_owned()), summary: None };
    let summary = StoredSummary { title: "A free berth".to_owned(), summary: "Berth four is free.".to_owned(), last: keys[1] };
    let put =
        |given: &[_]| store.put_summary(session, given, std::slice::from_ref(&topic), Some(&summary), "model/1", NOON).unwrap();
    assert_eq!((put(&[RowKey::new(99)]), put(&keys)), (None, Some(1)), "what rests on a turn that is gone is refused");
    assert_eq!(store.summaries_of(&[session]).unwrap()[&session], summary);
    let structure = Structure { spans: &[span], ..Structure::default() };
    store.put_spans(session, structure, "spans/1", Shape { turns: 3, ..shape }, NOON).unwrap();
    assert!(store.attempts(project, Attempts::Failed(&causes), None).unwrap().is_empty());
    assert_eq!(
        store.spans(Spans::TopicsIn(Some(project))).unwrap()[0].name.as_deref(),
        Some("Berths"),
        "it begins with the same turn"
    );
}

fn uses_and_verdicts(open: Open<'_>) {
    let store = &open();
    let known = record(1, "The crane is on pier three.");
    done(store, OperationKind::Create, NOON, &[put(&known)]);
    store.record_uses(&[known.id], Use::Shown, NOON, Some("session-one"), Some("where is the crane?")).unwrap();
    store.record_uses(&[known.id], Use::Opened, NOON + 1, None, None).unwrap();
    let unused = record(2, "The gauge is on pier four.");
    done(store, OperationKind::Create, NOON, &[put(&unused)]);
    let beside = |id| store.uses(WantedUses::Beside(id)).unwrap().into_iter().map(|used| used.memory).collect::<Vec<_>>();
    for (memory, way) in [(&unused, Use::Given), (&unused, Use::Cited), (&known, Use::Given)] {
        store.record_uses(&[memory.id], way, NOON + 3, Some("session-two"), None).unwrap();
    }
    let logged = |memory: &Memory, way| LoggedUse {
        memory: memory.id,
        way,
        at: NOON + 3,
        session: "session-two".to_owned(),
        question: None,
    };
    let all = [logged(&unused, Use::Given), logged(&unused, Use::Cited), logged(&known, Use::Given)];
    assert_eq!(store.uses(WantedUses::In("session-two")).unwrap(), all);
    assert_eq!(store.uses(WantedUses::InAny(&["other".to_owned(), "session-two".to_owned()])).unwrap(), all);
    assert_eq!(store.uses(WantedUses::InAny(&[])).unwrap(), []);
    assert_eq!((beside(unused.id), beside(known.id)), (vec![unused.id], vec![]), "a gift is no use");
    let unused = record(3, "The winch is on pier five.");
    done(store, OperationKind::Create, NOON, &[put(&unused)]);
    let vitals = store.vitals_of(&[unused.id, known.id]).unwrap();
    assert_eq!(vitals.len(), 1, "none are kept of what was never used");
    let uses = vitals[&known.id].counts;
    assert_eq!((uses.shown, uses.opened, uses.accessed), (1, 1, Some(NOON + 3)));
    let vitals = |id| store.vitals_of(&[id]).unwrap().remove(&id).unwrap_or_default();
    assert_eq!(vitals(known.id).uses.times, [NOON + 1], "a show is no reinforcing use");
    for _ in 0..70 {
        store.record_uses(&[known.id], Use::Cited, NOON + 2, None, None).unwrap();
    }
    let uses = vitals(known.id).uses;
    assert_eq!((uses.times.len(), uses.earlier), (64, 7), "the log keeps the last ones, and the count all");
    assert_eq!(vitals(unused.id), Vitals::default());
    let confirmed = Memory { importance: 0.6, ..unused.clone() };
    done(store, OperationKind::Confirm, NOON + 3, &[put(&confirmed)]);
    assert_eq!(vitals(unused.id).uses.times, [NOON + 3]);
    let key = store.statement_facts(1).unwrap().last;
    let anchor = Anchor { kind: AnchorKind::SourceFile, text: "src/crane.rs".to_owned() };
    let found = vec![AnchorVerdict { anchor, verdict: Verdict::Orphaned, detail: None }];
    let verdict = StoredVerdict { verdict: Verdict::Orphaned, found, at: NOON };
    store.put_verdicts(&[(key, Some(verdict.clone())), (RowKey::new(99), Some(verdict.clone()))]).unwrap();
    assert_eq!(
        store.verdicts_of(&[key, RowKey::new(99)]).unwrap(),
        HashMap::from([(key, verdict)]),
        "none is kept of what is gone"
    );
    assert_eq!(vitals(unused.id).code, Some(Verdict::Orphaned));
    store.put_verdicts(&[(key, None)]).unwrap();
    assert!(store.verdicts_of(&[key]).unwrap().is_empty());
}

fn redaction(open: Open<'_>) {
    let store = &open();
    let Cranes { first, second, .. } = cranes(store);
    let redact = |text: &str, count: &mut u32| {
        *count += u32::from(text.contains("four"));
        text.contains("four").then(|| text.replace("four", "…"))
    };
    let keep = |_: &mut serde_json::Value, _: &mut u32| false;
    let mut count = 0;
    assert_eq!(store.redact_memories(true, &mut count, &redact, &keep).unwrap(), 1);
    assert_eq!(store.memory(second.id).unwrap().unwrap().statement, second.statement, "a dry run changes nothing");
    assert_eq!(store.redact_memories(false, &mut count, &redact, &keep).unwrap(), 1);
    assert_eq!(store.memory(second.id).unwrap().unwrap().statement, "The crane is on pier ….");
    assert_eq!((count, store.memory(first.id).unwrap()), (2, Some(first)));
}

fn start() -> QueuePlace {
    QueuePlace::default()
}

fn queues(open: Open<'_>) {
    let store = &open();
    let (talk, _) = told(store);
    let system = turn(&talk.session, 4, Role::System, "a reminder that nobody asked for");
    commit(store, "one.jsonl", None, &entries(vec![said(&talk.session, &system, 4)]));
    let queued = store.queued(Queue::Text, start(), 100).unwrap();
    let wanted: HashSet<&str> = queued.iter().filter_map(|queued| Some(queued.item.as_ref()?.text.as_str())).collect();
    assert_eq!(wanted, HashSet::from([&talk.asked, &talk.answered, &talk.aside].map(|turn| turn.text.as_str())));
    assert_eq!(store.stats(&Wanted::default()).unwrap().indexable, 3, "recall returns no reminder");
    let (first, last) = store.queue_ends().unwrap().unwrap();
    assert_eq!((first, last), (queued[0].place, queued[queued.len() - 1].place));
    let heads = store.item_heads(&[queued[0].key]).unwrap();
    assert_eq!(heads[&queued[0].key].position % SPOKEN_GAP, 0);
    store.drop_queued(Queue::Text, first).unwrap();
    assert_eq!(store.waiting(Queue::Text, 10).unwrap(), queued.len() - 1);
    store.drop_queued(Queue::Text, last).unwrap();
    assert_eq!((store.waiting(Queue::Text, 10).unwrap(), store.queue_ends().unwrap()), (0, None));
    let Cranes { second, numbers, .. } = cranes(store);
    let memories = store.queued_memories(start(), QueuePlace::new(i64::MAX), 9).unwrap();
    assert!(memories.iter().any(|(_, item)| item.text == second.statement));
    for number in [numbers[1], numbers[0]] {
        store.undo(number, Undoing::Undo, &Cause::default(), NOON).unwrap().unwrap();
    }
    let queued = store.queued(Queue::Text, start(), 10).unwrap();
    assert!(queued.iter().all(|queued| queued.key.memory().is_some() && queued.item.is_none()), "the indexes are told");
    assert!(store.queued_memories(start(), QueuePlace::new(i64::MAX), 9).unwrap().is_empty());
    assert_eq!(store.waiting(Queue::Shapes, 9).unwrap(), 0);
}

fn whole_feed(open: Open<'_>) {
    let store = &open();
    told(store);
    cranes(store);
    let (mut after, mut items) = (ItemKey::new(0), Vec::new());
    while let Some(page) = Some(store.indexable_after(after, 2).unwrap()).filter(|page| !page.is_empty()) {
        after = page[page.len() - 1].0;
        items.extend(page.into_iter().map(|(key, _)| key));
    }
    assert_eq!(items.len() as u64, store.stats(&Wanted::default()).unwrap().indexable);
    for (queue, why) in [(Queue::Text, Again::Text), (Queue::Vectors, Again::Vectors(STATIC_LIST | MODEL_LIST))] {
        store.drop_queued(queue, QueuePlace::new(i64::MAX)).unwrap();
        store.queue_again(why).unwrap();
        let queued = store.queued(queue, start(), 100).unwrap();
        let keys: HashSet<ItemKey> = queued.iter().map(|queued| queued.key).collect();
        assert_eq!(keys, items.iter().copied().collect(), "{why:?}");
        assert_eq!(store.waiting(queue, 100).unwrap(), items.len());
    }
}

/// Embeds everything that waits for vectors.
fn embedded(store: &Store, hash: u8, failure: Option<&str>) -> Vec<EmbeddedItem> {
    let waiting = store.queued(Queue::Embedding, start(), 100).unwrap();
    let chunk = |at: usize| ([hash + at as u8; 16], Some(vec![0.5, -0.5]));
    let made = waiting.into_iter().enumerate().map(|(at, queued)| EmbeddedItem {
        place: queued.place,
        key: queued.key,
        chunks: if failure.is_some() { Vec::new() } else { vec![chunk(at)] },
        failure: failure.map(str::to_owned),
    });
    made.collect()
}

fn embedding(open: Open<'_>) {
    let store = &open();
    told(store);
    assert_eq!((store.chosen_embedder().unwrap(), store.waiting(Queue::Embedding, 9).unwrap()), (None, 3));
    let model = store.choose_embedder("a model", 2).unwrap();
    assert_eq!(store.choose_embedder("a model", 2).unwrap(), model);
    let chosen = store.chosen_embedder().unwrap().unwrap();
    assert_eq!((chosen.key, chosen.identity.as_str(), chosen.dimensions), (model, "a model", 2));
    let made = embedded(store, 1, None);
    assert_eq!(made.len(), 3);
    store.store_vectors(model, &made).unwrap();
    assert!(store.has_vector(model, &[1; 16]).unwrap() && !store.has_vector(model, &[77; 16]).unwrap());
    let own = store.item_vectors(model, made[0].key).unwrap();
    assert_eq!((own.len(), own[0].2.as_slice()), (1, &[0.5, -0.5][..]));
    assert_eq!(store.vectors(&[own[0].1, RowKey::new(99)]).unwrap(), [Some(vec![0.5, -0.5]), None]);
    let queued = store.queued(Queue::Vectors, start(), 100).unwrap();
    assert!(queued.iter().any(|queued| queued.lists & MODEL_LIST != 0));
    let (taken, newest) = store.vector_queue_bounds().unwrap();
    assert!(taken < newest);
    store.drop_queued(Queue::Vectors, newest).unwrap();
    assert_eq!(store.vector_queue_bounds().unwrap(), (newest, newest));
    // A memory whose status changes is no other text.
    let (first, second) = (record(1, "The crane is on pier three."), record(2, "The crane is on pier four."));
    done(store, OperationKind::Create, NOON, &[put(&first)]);
    let superseded = Memory { status: Status::Superseded, ..first };
    done(store, OperationKind::Supersede, NOON, &[put(&second), put(&superseded)]);
    assert_eq!(embedded(store, 100, None).len(), 2);
    store.store_vectors(model, &embedded(store, 100, None)).unwrap();
    let counts = store.vector_counts(Some(model)).unwrap();
    assert_eq!((counts.turns, counts.vectors, counts.others, counts.waiting), (3, 5, 0, 0));
    let other = store.choose_embedder("another model", 2).unwrap();
    assert_eq!(store.waiting(Queue::Embedding, 9).unwrap(), 5);
    assert_eq!(store.vector_counts(Some(other)).unwrap().others, 5);
    store.release(Unused::VectorsBeside(other)).unwrap();
    assert_eq!(store.vector_counts(Some(other)).unwrap().others, 0);
}

fn stale_vectors(open: Open<'_>) {
    let store = &open();
    let (talk, _) = told(store);
    let model = store.choose_embedder("a model", 2).unwrap();
    let stale = embedded(store, 1, None);
    let fuller = Turn { parts: 2, text: "berth four, until six".to_owned(), ..talk.answered.clone() };
    commit(store, "one.jsonl", None, &entries(vec![said(&talk.session, &fuller, 2)]));
    store.store_vectors(model, &stale).unwrap();
    let left = store.queued(Queue::Embedding, start(), 9).unwrap();
    assert_eq!(
        left.iter().map(|queued| queued.item.as_ref().unwrap().text.as_str()).collect::<Vec<_>>(),
        ["berth four, until six"]
    );
    // A text on which the model fails leaves the queue, is counted, and comes again only so often.
    store.store_vectors(model, &embedded(store, 50, Some("no number"))).unwrap();
    assert_eq!(store.vector_counts(Some(model)).unwrap().failures, Some((1, "no number".to_owned())));
    for (most, waiting) in [(1, 0), (2, 1)] {
        store.queue_again(Again::Failed(most)).unwrap();
        assert_eq!(store.waiting(Queue::Embedding, 9).unwrap(), waiting);
    }
}

fn parallel_queues(open: Open<'_>) {
    let (writer, reader) = (open(), open());
    let session = episode("left", None);
    let seen: BTreeSet<ItemKey> = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for number in 1..30 {
                let turn = turn(&session, number, Role::Human, "which berth is free?");
                commit(&writer, "left", None, &entries(vec![said(&session, &turn, 1)]));
            }
        });
        let mut seen = BTreeSet::new();
        loop {
            let is_last = writing.is_finished();
            let queued = reader.queued(Queue::Text, start(), 3).unwrap();
            let Some(last) = queued.last().map(|queued| queued.place) else { if is_last { break seen } else { continue } };
            seen.extend(queued.iter().map(|queued| queued.key));
            reader.drop_queued(Queue::Text, last).unwrap();
        }
    });
    assert_eq!(seen.len(), 29);
}

/// A job is due, taken by one process, fails, waits, is given up, is revived, is done.
#[test]
fn a_job_is_done_by_one_process_and_comes_again_when_it_fails() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), true, StoreOptions::default()).unwrap();
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
}
