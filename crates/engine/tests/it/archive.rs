//! The archive returns the content that was read, byte for byte except for redaction, however it arrived.

use std::fs;

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;
use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};
use yore_sources::source::ReaderOptions;
use yore_testing::{Memory, Random, SessionBuilder};

use crate::told::words_from_archive;

const FILE: &str = "projects/-home-dev-tidepool/session.jsonl";

/// Makes a session with lines between the others that are not messages, or not even text.
fn odd_session(seed: u64, turns: usize) -> Vec<u8> {
    let session = SessionBuilder::new(seed).turns(turns);
    let mut random = Random::new(seed);
    let mut content = Vec::new();
    for line in session.lines() {
        match random.below(12) {
            0 => content.extend_from_slice(b"\n"),
            1 => content.extend_from_slice(b"{\"type\":\"user\",\"message\":\n"),
            2 => content.extend_from_slice(b"plain words, no JSON\n"),
            3 => content.extend_from_slice(b"{\"type\":\"mode\",\"mode\":\"caf\xe9 \xff\"}\n"),
            4 => content.extend_from_slice("{\"type\":\"tag\",\"tag\":\"größe \\ud83d\"}\r\n".as_bytes()),
            5 => content.extend_from_slice(format!("{{\"type\":\"tag\",\"tag\":\"{}\"}}\n", "long ".repeat(3_000)).as_bytes()),
            _ => {}
        }
        content.extend_from_slice(line.as_bytes());
        content.push(b'\n');
    }
    content
}

fn one_shot(content: &[u8]) -> Memory {
    let memory = Memory::new();
    memory.write(FILE, content);
    memory.learn();
    memory
}

/// Writes the content in pieces and reads after each.
fn in_appends(content: &[u8], mut cuts: Vec<usize>) -> Memory {
    cuts.push(content.len());
    cuts.sort_unstable();
    cuts.dedup();
    let memory = Memory::new();
    let mut from = 0;
    for to in cuts {
        memory.append(FILE, &content[from..to]);
        memory.read();
        from = to;
    }
    memory.index();
    memory
}

fn assert_same(a: &str, b: &str) {
    let different: Vec<(&str, &str)> = a.lines().zip(b.lines()).filter(|(a, b)| a != b).take(6).collect();
    assert!(a == b, "{different:#?}\n{} and {} lines", a.lines().count(), b.lines().count());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_division_into_appends_gives_the_same_store(seed in 0u64..1_000, cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let content = odd_session(seed, 24);
        let cuts = cuts.into_iter().map(|cut| cut.index(content.len())).collect();
        let (whole, divided) = (one_shot(&content), in_appends(&content, cuts));
        assert_same(&whole.state(), &divided.state());
        prop_assert_eq!(&divided.archive()[0].2, &content);
    }
}

#[test]
fn hundred_appends_give_the_same_store() {
    let content = odd_session(7, 60);
    let mut random = Random::new(7);
    let cuts = (0..99).map(|_| random.below(content.len())).collect();
    let (whole, divided) = (one_shot(&content), in_appends(&content, cuts));
    assert_same(&whole.state(), &divided.state());
    assert_eq!(divided.archive()[0].2, content);
    let (whole, divided) = (whole.statistics(), divided.statistics());
    // A line that repeats within one reading is stored each time; a later reading finds it again.
    assert!(divided.store.archive_raw_bytes <= whole.store.archive_raw_bytes);
}

#[test]
fn archive_that_came_in_appends_is_read_again_to_the_same_store() {
    let content = odd_session(8, 30);
    let mut random = Random::new(8);
    let memory = in_appends(&content, (0..20).map(|_| random.below(content.len())).collect());
    let before = memory.state();
    memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_same(&before, &memory.state());
}

#[test]
fn record_glued_to_a_last_line_that_was_read_already_is_read() {
    let session = SessionBuilder::new(9).turns(12);
    let mut content = Vec::new();
    let mut seam = 0;
    for (at, line) in session.lines().iter().enumerate() {
        content.extend_from_slice(line.as_bytes());
        if at == 4 {
            seam = content.len();
        } else {
            content.push(b'\n');
        }
    }
    let (whole, divided) = (one_shot(&content), in_appends(&content, vec![seam]));
    assert_same(&whole.words(), &divided.words());
    let joined = |memory: &Memory| -> Vec<u8> { memory.archive()[0].2.iter().copied().filter(|byte| *byte != b'\n').collect() };
    assert!(joined(&whole) == joined(&divided));
    let before = divided.words();
    divided.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_same(&before, &divided.words());
}

#[test]
fn cut_between_record_and_newline_changes_nothing() {
    let content = SessionBuilder::new(3).turns(12).text().into_bytes();
    let cuts = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    assert_same(&one_shot(&content).state(), &in_appends(&content, cuts).state());
}

#[test]
fn redacted_lines_are_the_same_however_they_came() {
    let mut session = SessionBuilder::new(5).turns(6);
    let secret =
        format!("gh{}_{}", "p", Random::new(5).text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 36));
    session.human(&format!("the token is {secret}, keep it"));
    session.tool("Bash", &json!({"command": format!("export GITHUB_TOKEN={secret}")}), "", false);
    let content = session.text().into_bytes();
    let at = content.windows(8).position(|bytes| *bytes == secret.as_bytes()[..8]).unwrap();
    let (whole, divided) = (one_shot(&content), in_appends(&content, vec![at + 3, at + 20, at + 300]));
    assert_same(&whole.state(), &divided.state());
    let archived = String::from_utf8(divided.archive()[0].2.clone()).unwrap();
    assert!(archived.contains("the token is [yore:redacted github-token "), "{archived}");
    assert!(!archived.contains(&secret));
    assert_eq!(archived.lines().count(), session.lines().len());
}

#[test]
fn snapshots_of_one_session_count_once_in_any_order() {
    let session = SessionBuilder::new(11).turns(40);
    let lines = session.lines();
    let snapshot = |count: usize| -> String { lines[..count].iter().flat_map(|line| [line.as_str(), "\n"]).collect() };
    let (early, late) = (snapshot(lines.len() / 3), snapshot(lines.len()));
    let alone = Memory::new();
    alone.write("a/late.jsonl", &late);
    alone.learn();
    for (first, second) in [(&early, &late), (&late, &early)] {
        let memory = Memory::new();
        memory.write("a/first.jsonl", first);
        memory.read();
        memory.write("a/second.jsonl", second);
        memory.learn();
        assert_same(&alone.words(), &memory.words());
        assert_eq!(memory.archive().iter().find(|(path, ..)| path.ends_with("second.jsonl")).unwrap().2, second.as_bytes());
        let (once, twice) = (alone.statistics().store, memory.statistics().store);
        assert_eq!(twice.archive_raw_bytes.abs_diff(once.archive_raw_bytes) / 1_000, 0, "lines are stored once");
    }
}

#[test]
fn rewritten_file_keeps_both_generations() {
    let (first, second) = (SessionBuilder::new(21).turns(12), SessionBuilder::new(22).turns(30));
    let memory = Memory::new();
    memory.write(FILE, first.text());
    memory.read();
    memory.write(FILE, second.text());
    let report = memory.learn();
    assert_eq!(report.files_rewritten, 1);
    let archive = memory.archive();
    assert_eq!(archive.len(), 2);
    assert_eq!(archive[0].2, first.text().as_bytes());
    assert_eq!(archive[1].2, second.text().as_bytes());
    let both = Memory::new();
    both.write("a/first.jsonl", first.text());
    both.write("a/second.jsonl", second.text());
    both.learn();
    assert_same(&both.words(), &memory.words());
}

fn prefix_of(session: &SessionBuilder, count: usize) -> String {
    session.lines()[..count].iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

#[test]
fn truncated_file_loses_and_doubles_nothing() {
    let session = SessionBuilder::new(31).turns(30);
    let memory = one_shot(session.text().as_bytes());
    let before = memory.words();
    let untitled = session.lines().iter().position(|line| line.contains("ai-title")).unwrap();
    let prefix = prefix_of(&session, untitled.min(9));
    memory.write(FILE, &prefix);
    assert_eq!(memory.learn().files_rewritten, 1);
    assert_same(&before, &memory.words());
    assert_eq!(memory.archive()[0].2, session.text().as_bytes());
    assert_eq!(memory.archive()[1].2, prefix.as_bytes());
    // The file grows again, as a restored file does.
    memory.write(FILE, session.text());
    memory.learn();
    assert_same(&before, &memory.words());
}

#[test]
fn older_copy_does_not_bring_back_an_older_title() {
    let mut session = SessionBuilder::new(32).turns(4);
    session.title("the first name");
    let count = session.lines().len();
    session.title("the second name");
    let memory = one_shot(session.turns(2).text().as_bytes());
    let session = SessionBuilder::new(32).turns(4);
    let title_of = |memory: &Memory| memory.episodes()[0].title.clone();
    assert_eq!(title_of(&memory).as_deref(), Some("the second name"));
    let mut older = session.clone();
    older.title("the first name");
    memory.write("projects/-home-dev-tidepool/snapshot.jsonl", prefix_of(&older, count));
    memory.learn();
    assert_eq!(title_of(&memory).as_deref(), Some("the second name"));
}

#[test]
fn newest_files_are_read_first_with_the_copies_of_their_sessions_and_the_rest_later() {
    const DAY: i64 = 86_400_000;
    let memory = Memory::new();
    let day = |number: i64| SessionBuilder::new(70 + number.unsigned_abs()).at(Memory::now() - 20 * DAY + number * DAY).turns(6);
    let sessions: Vec<SessionBuilder> = (0..4).map(day).collect();
    for (number, session) in sessions.iter().enumerate() {
        memory.write(&format!("projects/p/{number}.jsonl"), session.text());
    }
    // A copy of the newest begins when that one does.
    memory.write("projects/p/copy.jsonl", sessions[3].text());
    let read = |newest_bytes| {
        let roots = vec![SourceRoot { source: "claude-code".to_owned(), path: memory.sources() }];
        memory.engine().ingest(&IngestRequest { newest_bytes, ..IngestRequest::new(roots) }, &mut Silent).unwrap()
    };
    let first = read(Some(1));
    assert_eq!((first.files, first.files_read, first.files_left), (2, 2, 3));
    assert!(!memory.turns(sessions[3].id()).is_empty());
    assert!(memory.turns(sessions[2].id()).is_empty());
    let second = read(Some(u64::MAX));
    assert_eq!((second.files, second.files_read, second.files_unchanged, second.files_left), (5, 3, 2, 0));
    let both = first.followed_by(second);
    assert_eq!((both.files, both.files_read, both.files_unchanged, both.files_left), (5, 5, 0, 0));
    memory.index();
    let whole = Memory::new();
    for (number, session) in sessions.iter().enumerate() {
        whole.write(&format!("projects/p/{number}.jsonl"), session.text());
    }
    whole.write("projects/p/copy.jsonl", sessions[3].text());
    assert_eq!(whole.learn().turns_added, both.turns_added);
    assert_same(&whole.words(), &memory.words());
}

#[test]
fn deleted_file_stays_archived() {
    let session = SessionBuilder::new(41).turns(20);
    let memory = one_shot(session.text().as_bytes());
    let before = memory.words();
    fs::remove_file(memory.sources().join(FILE)).unwrap();
    assert_eq!(memory.learn().files_gone, 1);
    assert_same(&before, &memory.words());
    assert_eq!(memory.archive()[0].2, session.text().as_bytes());
    assert!(memory.turns(session.id())[0].source_gone);
}

#[test]
fn moved_file_is_stored_once() {
    let session = SessionBuilder::new(51).turns(20);
    let memory = one_shot(session.text().as_bytes());
    let (before, size) = (memory.words(), memory.statistics().store.archive_raw_bytes);
    fs::create_dir_all(memory.sources().join("projects/elsewhere")).unwrap();
    fs::rename(memory.sources().join(FILE), memory.sources().join("projects/elsewhere/moved.jsonl")).unwrap();
    memory.learn();
    assert_same(&before, &memory.words());
    assert_eq!(memory.archive().len(), 2);
    assert_eq!(memory.statistics().store.archive_raw_bytes, size);
}

#[test]
fn second_run_over_unchanged_files_writes_nothing() {
    let memory = Memory::new();
    for seed in 60..64 {
        memory.write(&format!("projects/p/{seed}.jsonl"), SessionBuilder::new(seed).turns(12).text());
    }
    memory.write("projects/p/empty.jsonl", "");
    memory.write("projects/p/torn.jsonl", "{\"type\":\"user\",\"mess");
    memory.learn();
    let database = memory.data().join("yore.db");
    let other = Connection::open(&database).unwrap();
    let version = || -> i64 { other.query_row("PRAGMA data_version", [], |row| row.get(0)).unwrap() };
    let before = (memory.database_bytes(), database.metadata().unwrap().modified().unwrap(), version());
    let report = memory.learn();
    assert_eq!((report.files, report.files_unchanged, report.bytes_read), (6, 6, 0));
    assert!(before == (memory.database_bytes(), database.metadata().unwrap().modified().unwrap(), version()));
}

#[test]
fn text_that_is_cut_for_the_index_is_whole_in_the_archive_and_counted_once() {
    let memory = Memory::new();
    let long = "planks and more planks of the pier ".repeat(40_000);
    let mut session = SessionBuilder::new(61);
    session.human(&long);
    session.assistant("That was much.");
    memory.write("projects/p/long.jsonl", session.text());
    let cut = ("text-cut".to_owned(), "over 1 MiB; the archive has all of it".to_owned());
    assert_eq!(memory.read().skips.get(&cut), Some(&1));
    assert_eq!(memory.turns(session.id())[0].text.len(), 1 << 20);
    assert_eq!(memory.archive()[0].2, session.text().as_bytes());
    let counted = |memory: &Memory| -> u64 {
        let skips = memory.statistics().store.skips;
        skips.iter().filter(|skip| skip.reason == "text-cut").map(|skip| skip.count).sum()
    };
    session.human("Go on then.");
    memory.write("projects/p/long.jsonl", session.text());
    assert!(memory.read().skips.is_empty());
    assert_eq!(counted(&memory), 1);
    // The agent's last text may continue: it is read again when more follows.
    session.assistant(&long);
    memory.write("projects/p/long.jsonl", session.text());
    memory.read();
    assert_eq!(counted(&memory), 2);
    session.human("Thank you.");
    memory.write("projects/p/long.jsonl", session.text());
    memory.read();
    assert_eq!(counted(&memory), 2);
    words_from_archive(&memory);
    assert_eq!(counted(&memory), 2);
}

#[test]
fn directory_with_too_many_files_is_told() {
    let memory = Memory::new();
    let directory = memory.sources().join("docs");
    for folder in 0..50 {
        let folder = directory.join(folder.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..1_001 {
            std::fs::write(folder.join(format!("{file}.md")), "").unwrap();
        }
    }
    let roots = vec![SourceRoot { source: "file".to_owned(), path: directory.clone() }];
    let request = IngestRequest { is_dry_run: true, ..IngestRequest::new(roots) };
    let report = memory.engine().ingest(&request, &mut Silent).unwrap();
    let told: Vec<String> = report.skips.keys().map(|(reason, detail)| format!("{reason}: {detail}")).collect();
    let directory = directory.canonicalize().unwrap();
    assert_eq!(told, [format!("too-many-files: only the first 50000 below {} are read", directory.display())]);
    assert_eq!(report.files, 50_000);
}
