//! Processes killed at any moment, or run twice at once: running the same command again always leads to the
//! store that an undisturbed run makes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::json;
use yore_testing::{Random, Scan, write_tiny_embedder};

use crate::environment::{Runner, TestEnvironment};
use crate::transcript::Transcript;

/// Makes invented words from a limited vocabulary.
fn prose(random: &mut Random, words: usize) -> String {
    const PARTS: [&str; 16] =
        ["lor", "em", "tid", "al", "rop", "es", "qui", "ven", "mar", "ost", "ki", "ra", "dun", "fel", "po", "shi"];
    let mut text = String::new();
    for _ in 0..words {
        for _ in 0..2 + random.below(2) {
            text.push_str(PARTS[random.below(PARTS.len())]);
        }
        text.push(if random.below(12) == 0 { '\n' } else { ' ' });
    }
    text
}

/// Questions about the generated vocabulary, and a word that it does not contain.
const QUESTIONS: [&str; 4] = ["tidal ropes", "\"quiven\" marost", "why did shira fail at step 17", "zeppelin"];
const PLANTED: &str = "xylofizz4711";

/// Writes some fifty transcripts: messages on several lines, sub-agents, snapshots of an earlier state in
/// another folder, forks that repeat their beginning, secrets, lines that are not JSON. `size` scales them;
/// 100 is about 15 MB.
fn generate(projects: &Path, size: usize, with_copies: bool) -> Vec<String> {
    let mut random = Random::new(0x5eed_cafe);
    let mut sessions = Vec::new();
    for number in 0..24_u64 {
        let id = format!("{:08x}-{number:04x}-4a5b-{:04x}-0123456789ab", 0x9e37_79b9 ^ number << 24, number ^ 0x8b1d);
        let mut session =
            Transcript::new(&id, &format!("/home/dev/project-{}", number % 5)).at(1_760_000_000_000 + number as i64 * 86_400_000);
        let secret = format!("ghp_{}", random.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 36));
        for step in 0..2 + size / 4 {
            session = session
                .human(&format!("step {step}: {}", prose(&mut random, 20)))
                .snapshot("src/main.rs")
                .tool(&prose(&mut random, 30), &prose(&mut random, 6), &prose(&mut random, 160 + size * 8), step % 9 == 4)
                .assistant(&prose(&mut random, 60));
            if step == 1 {
                session =
                    session.human(&format!("my token is {secret}")).raw("{\"type\": \"torn").raw("{\"type\": \"brand-new\"}");
            }
            if number == 7 && step == 1 {
                session = session.human(&format!("the word is {PLANTED}")).assistant(&format!("{PLANTED} it is"));
            }
        }
        if number % 2 == 0 {
            let side = session.subagent(&format!("a{number:07x}")).human(&prose(&mut random, 40));
            side.tool("Looking.", "ls", &prose(&mut random, size * 40), false).assistant(&prose(&mut random, 80)).write(projects);
        }
        let session = session.title(&format!("session {number}"));
        if with_copies && number % 2 == 1 {
            let half = session.first_lines(session.line_count() * 2 / 3);
            half.write(&projects.join("snapshots"));
        }
        if with_copies && number % 3 == 1 {
            let fork = session.first_lines(session.line_count() / 2).fork(&id.replace("4a5b", "4f0f"));
            fork.human(&prose(&mut random, 10)).assistant(&prose(&mut random, 50)).write(projects);
        }
        session.write(projects);
        sessions.push(id);
    }
    sessions
}

type Rows = BTreeMap<String, Vec<Value>>;

/// The content of a store, without the parts that may differ: row numbers, random ids, the time of reading.
#[derive(PartialEq)]
pub(crate) struct Content {
    tables: BTreeMap<&'static str, Rows>,
    /// Lines of every file, put together from the archive.
    archive: BTreeMap<String, Vec<u8>>,
    /// Ids of the turns of each episode in order, shared ones included.
    order: BTreeMap<String, Vec<String>>,
    /// Results of each question.
    recalled: Vec<Vec<String>>,
}

const TABLES: [(&str, &str); 9] = [
    (
        "turns",
        "SELECT hex(turn.uid), episode.native_id, hex(turn.native_id), role, is_error, parts, at_ms, at_original, at_quality, project.name,
                branch.text, cwd.text, model.text, speaker.text, path, line, words
         FROM turn JOIN episode ON episode.id = episode_id JOIN source_file ON source_file.id = file_id JOIN turn_text ON turn_id = turn.id
         LEFT JOIN project ON project.id = turn.project_id LEFT JOIN label branch ON branch.id = branch_id LEFT JOIN label cwd ON cwd.id = cwd_id
         LEFT JOIN label model ON model.id = model_id LEFT JOIN label speaker ON speaker.id = speaker_id",
    ),
    (
        "episodes",
        "SELECT hex(episode.uid), native_id, kind, parent_native_id, cwd, title, title_rank, started_ms, updated_ms, forgotten_ms, project.name
         FROM episode LEFT JOIN project ON project.id = project_id",
    ),
    ("links", "SELECT native_id || episode_link.kind || value FROM episode_link JOIN episode ON episode.id = episode_id"),
    (
        "files",
        "SELECT path, source, generation, size, mtime_ns, archived_bytes, archived_lines, read_bytes, read_lines, reader_state, hex(fingerprint),
                lease_owner, gone_ms FROM source_file",
    ),
    ("skips", "SELECT path || reason || detail, count, first_line, first_offset FROM skip JOIN source_file ON source_file.id = file_id"),
    ("redactions", "SELECT path || kind, count FROM redaction JOIN source_file ON source_file.id = file_id"),
    ("projects", "SELECT kind || value, recorded, name FROM project_alias JOIN project ON project.id = project_id"),
    ("file-episodes", "SELECT path || native_id FROM file_episode JOIN source_file ON source_file.id = file_id JOIN episode ON episode.id = episode_id"),
    ("queue", "SELECT seq FROM lexical_queue"),
];

impl Content {
    pub(crate) fn of(environment: &TestEnvironment) -> Self {
        let db = Connection::open(environment.database()).unwrap();
        let mut tables = BTreeMap::new();
        for (name, sql) in TABLES {
            let mut statement = db.prepare(sql).unwrap();
            let columns = statement.column_count();
            let rows = statement
                .query_map([], |row| (0..columns).map(|at| row.get(at)).collect::<rusqlite::Result<Vec<Value>>>())
                .unwrap()
                .map(|row| {
                    let mut row = row.unwrap();
                    for value in &mut row {
                        if let Value::Blob(words) = value {
                            *value = Value::Blob(decompressed(words));
                        }
                    }
                    (format!("{:?}", row[0]), row)
                })
                .collect::<Rows>();
            tables.insert(name, rows);
        }
        let mut order: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut statement = db
            .prepare(
                "SELECT episode.native_id, hex(turn.uid) FROM (
                     SELECT episode_id, id AS turn_id, position FROM turn UNION ALL SELECT episode_id, turn_id, position FROM turn_share) place
                 JOIN episode ON episode.id = place.episode_id JOIN (SELECT id, uid FROM turn) turn ON turn.id = place.turn_id
                 ORDER BY place.episode_id, place.position",
            )
            .unwrap();
        let places = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
        for (episode, turn) in places.map(Result::unwrap) {
            order.entry(episode).or_default().push(turn);
        }
        let mut archive: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut blobs: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
        let mut statement = db
            .prepare("SELECT path || '#' || segment.generation, blob_id, first_line, line_count FROM segment JOIN source_file ON source_file.id = file_id ORDER BY 1, seq")
            .unwrap();
        let segments = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).unwrap();
        for (file, blob, first, count) in segments.map(Result::<(String, i64, u32, u32), _>::unwrap) {
            let lines = blobs.entry(blob).or_insert_with(|| {
                let data: Vec<u8> = db.query_row("SELECT data FROM blob WHERE id = ?1", [blob], |row| row.get(0)).unwrap();
                zstd::stream::decode_all(&*data).unwrap()
            });
            for line in lines.split(|byte| *byte == b'\n').skip(first as usize).take(count as usize) {
                archive.entry(file.clone()).or_default().extend([line, b"\n"].concat());
            }
        }
        drop((statement, blobs));
        let recalled = QUESTIONS
            .iter()
            .map(|question| {
                let outcome = environment.yore(["recall", "--all", "--json", "-n", "20", question]).run();
                assert!(matches!(outcome.status.code(), Some(0 | 1)), "{outcome:?}");
                let mut found: Vec<String> =
                    outcome.json()["results"].as_array().unwrap().iter().map(|hit| hit["id"].to_string()).collect();
                found.sort();
                found
            })
            .collect();
        Self { tables, archive, order, recalled }
    }

    /// Drops what the archive does not record: the offset of a line in its file.
    pub(crate) fn without_offsets(mut self) -> Self {
        self.tables.get_mut("skips").unwrap().values_mut().for_each(|row| row.truncate(3));
        self
    }

    /// Fails with the first difference.
    #[track_caller]
    pub(crate) fn assert_same(&self, other: &Self, when: &str) {
        self.assert_same_store(other, when);
        assert_eq!(self.recalled, other.recalled, "{when}");
    }

    /// Compares all but the answers: among equal turns, those that were stored first come first.
    #[track_caller]
    pub(crate) fn assert_same_store(&self, other: &Self, when: &str) {
        for (name, rows) in &self.tables {
            let others = &other.tables[name];
            for key in rows.keys().chain(others.keys()) {
                assert_eq!(rows.get(key), others.get(key), "{when}: {name} {key}");
            }
        }
        for (name, lines) in &self.archive {
            assert!(other.archive.get(name) == Some(lines), "{when}: the archived lines of {name} differ");
        }
        assert_eq!(self.archive.len(), other.archive.len(), "{when}");
        assert_eq!(self.order, other.order, "{when}");
    }
}

/// The layout of stored words: a plain value begins with 0, a compressed one with 1.
fn decompressed(words: &[u8]) -> Vec<u8> {
    match words.split_first() {
        Some((1, frame)) => zstd::stream::decode_all(frame).unwrap(),
        Some((_, plain)) => plain.to_vec(),
        None => Vec::new(),
    }
}

/// A home whose data directory has a known key, so that markers and fingerprints are comparable.
pub(crate) fn home() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("data/key", [7; 32]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(environment.data(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(environment.data().join("key"), fs::Permissions::from_mode(0o600)).unwrap();
    }
    environment
}

/// The sources, and the store that an undisturbed ingestion makes of them.
struct Reference {
    sources: TestEnvironment,
    sessions: Vec<String>,
    undisturbed: TestEnvironment,
    content: Content,
    took: Duration,
}

impl Reference {
    fn new(size: usize, with_copies: bool) -> Self {
        let sources = TestEnvironment::new();
        let sessions = generate(&sources.projects(), size, with_copies);
        let undisturbed = home();
        let began = Instant::now();
        let _ = undisturbed.ingest(&sources.projects());
        let took = began.elapsed();
        let content = Content::of(&undisturbed);
        assert!(content.tables["queue"].is_empty());
        assert!(!content.tables["skips"].is_empty() && !content.tables["redactions"].is_empty());
        assert!(content.tables["turns"].len() > 100 && content.tables["files"].len() > 30);
        assert!(content.recalled[0].len() == 20 && content.recalled[3].is_empty());
        Self { sources, sessions, undisturbed, content, took }
    }

    fn projects(&self) -> PathBuf {
        self.sources.projects()
    }

    fn ingest(&self, environment: &TestEnvironment) -> Runner {
        environment.yore(["ingest"]).arg(self.projects())
    }

    /// Returns a copy of the undisturbed store.
    fn copy(&self) -> TestEnvironment {
        let environment = home();
        copy_directory(&self.undisturbed.data(), &environment.data());
        environment
    }
}

pub(crate) fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
            fs::set_permissions(&target, entry.metadata().unwrap().permissions()).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Kills a process after a while; returns false if it had exited before.
pub(crate) fn kill_after(mut child: Child, while_: Duration) -> bool {
    std::thread::sleep(while_);
    let is_running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    is_running
}

#[test]
fn killed_ingestions_lose_nothing_and_double_nothing() {
    let reference = Reference::new(50, true);
    let mut random = Random::new(0xdead_beef);
    let mut killed = 0;
    for point in 0..20 {
        let environment = home();
        let part = (point * 1000 + random.below(1000)) as u32;
        let when = reference.took * part / 20_000;
        killed += u32::from(kill_after(reference.ingest(&environment).start(), when));
        let _ = reference.ingest(&environment).run().success();
        reference.content.assert_same(&Content::of(&environment), &format!("killed after {when:?} of {:?}", reference.took));
        if point % 5 == 0 {
            environment.is_sound();
        }
    }
    assert!(killed >= 10, "only {killed} of 20 were still running");
}

#[test]
fn ingestions_and_readers_at_once_agree() {
    let reference = Reference::new(30, false);
    for writers in [2, 8] {
        read_at_once(&reference, writers);
    }
}

/// The owning session and file of a repeated message must not depend on the order of reading.
#[test]
fn copies_read_at_once_have_the_same_owners() {
    read_at_once(&Reference::new(30, true), 2);
}

fn read_at_once(reference: &Reference, writers: u32) {
    let environment = home();
    // The data directory must exist before concurrent readers start.
    let _ = environment.yore(["ingest", "--source", "jsonl"]).arg(environment.write("empty.jsonl", "")).run().success();
    std::thread::scope(|scope| {
        let writers: Vec<_> =
            (0..writers).map(|_| reference.ingest(&environment)).map(|ingest| scope.spawn(|| ingest.run().success())).collect();
        let mut answers = 0;
        while writers.iter().any(|writer| !writer.is_finished()) {
            let outcome = environment.yore(["recall", "--all", "--json", "tidal"]).run();
            assert!(matches!(outcome.status.code(), Some(0 | 1)), "{outcome:?}");
            assert!(outcome.json()["results"].is_array());
            answers += 1;
        }
        assert!(answers > 0);
        for writer in writers {
            writer.join().unwrap();
        }
    });
    let mut content = Content::of(&environment);
    for rows in content.tables.values_mut() {
        rows.retain(|key, _| !key.contains("empty.jsonl"));
    }
    reference.content.assert_same(&content, &format!("{writers} ingestions"));
    environment.is_sound();
}

#[test]
fn killed_reindex_is_finished_by_the_next() {
    let reference = Reference::new(30, true);
    let began = Instant::now();
    let _ = reference.copy().yore(["reindex"]).run().success();
    let took = began.elapsed();
    let environment = reference.copy();
    let mut random = Random::new(0xfeed_f00d);
    for point in 0..6 {
        let _ = kill_after(environment.yore(["reindex"]).start(), took * (point * 1000 + random.below(1000)) as u32 / 6000);
        if point % 2 == 1 {
            let report = environment.yore(["reindex", "--json"]).run().success().json();
            assert_eq!(json!([report["turns_added"], report["turns_removed"]]), json!([0, 0]));
            let [expected, found] = [&reference.undisturbed, &environment].map(|memory| Content::of(memory).without_offsets());
            expected.assert_same(&found, &format!("reindex killed, {point}"));
        }
    }
    environment.is_sound();
}

/// Returns the places in the data directory that still contain the planted word, decompressed or not.
fn planted(environment: &TestEnvironment) -> Vec<String> {
    Scan::of(&environment.data()).places(PLANTED).into_iter().map(str::to_owned).collect()
}

#[test]
fn killed_hard_forgetting_is_finished_by_the_next() {
    let reference = Reference::new(30, true);
    let forget = |environment: &TestEnvironment| environment.yore(["forget", "--hard", "--session", &reference.sessions[7]]);
    let environment = reference.copy();
    assert!(!planted(&environment).is_empty());
    let began = Instant::now();
    let _ = forget(&environment).run().success();
    let took = began.elapsed();
    assert_eq!(planted(&environment), [""; 0]);
    let undisturbed = Content::of(&environment);
    let mut random = Random::new(0xabad_1dea);
    for point in 0..8 {
        let environment = reference.copy();
        let when = took * (point * 1000 + random.below(1000)) as u32 / 8000;
        let _ = kill_after(forget(&environment).start(), when);
        let _ = forget(&environment).run().success();
        assert_eq!(planted(&environment), [""; 0], "killed after {when:?} of {took:?}");
        undisturbed.assert_same(&Content::of(&environment), &format!("killed after {when:?} of {took:?}"));
        environment.is_sound();
    }
}

/// Returns the number of turns with vectors, of vectors, and of turns that wait.
fn embedded(environment: &TestEnvironment) -> (u64, u64, u64) {
    let stats = environment.yore(["status", "--json"]).run().success().json();
    let count = |name: &str| stats["vectors"][name].as_u64().unwrap();
    assert_eq!(count("queued"), 0, "{stats}");
    assert_eq!(count("model_turns"), count("embedded_turns"), "the index has what the store has: {stats}");
    (count("embedded_turns"), count("vectors"), count("waiting"))
}

#[test]
fn killed_embedding_loses_nothing_and_the_next_goes_on() {
    let reference = Reference::new(60, false);
    let models = TestEnvironment::new();
    write_tiny_embedder(&models.path("models"), "tiny", 1);
    let with_model = |environment: &TestEnvironment, command: &[&str]| {
        environment
            .yore(command.iter().copied().chain(["--config", "models.embedder=tiny"]))
            .env("YORE_MODELS", models.path("models"))
    };
    let run = || {
        let undisturbed = reference.copy();
        let began = Instant::now();
        let _ = with_model(&undisturbed, &["embed"]).run().success();
        (began.elapsed(), undisturbed)
    };
    // The first run may be slower than those that are killed.
    let (took, undisturbed) = [run(), run()].into_iter().min_by_key(|(took, _)| *took).unwrap();
    let wanted = embedded(&undisturbed);
    assert!(wanted.0 > 300 && wanted.2 == 0, "{wanted:?}");
    let answer = |environment: &TestEnvironment| {
        let outcome =
            with_model(environment, &["recall", "--all", "--json", "--embedder", "local", QUESTIONS[0]]).run().success();
        let json = outcome.json();
        (
            json["program"].as_str().unwrap().to_owned(),
            json["missing"].as_array().unwrap().len(),
            json["results"].as_array().unwrap().len(),
        )
    };
    assert_eq!(answer(&undisturbed), ("full".to_owned(), 0, 10));
    let mut killed = 0;
    for point in 0..10 {
        let environment = reference.copy();
        killed += u32::from(kill_after(with_model(&environment, &["embed"]).start(), took * point / 10));
        // At any point there is an answer, and it says what it lacks.
        let (program, missing, results) = answer(&environment);
        assert!(results == 10 && (missing > 0 || program == "full"), "killed at point {point}: {program}, {missing} missing");
        let _ = with_model(&environment, &["embed"]).run().success();
        assert_eq!(embedded(&environment), wanted, "killed at point {point}");
        assert_eq!(answer(&environment), ("full".to_owned(), 0, 10));
    }
    assert!(killed >= 5, "only {killed} of 10 were still running");
}
