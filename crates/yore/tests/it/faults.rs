//! Commands on a failing file system: at any write, flush or renaming, an input/output error, a disk that is
//! full from then on, or the death of the process. Nothing is lost, nothing is stored twice, no error is a
//! crash, and running the same command again leads to the result of an undisturbed run.
//!
//! Each command is run with a sample of the places where it can fail; `YORE_FAULTS=all` tries all of them.
#![allow(clippy::print_stdout, reason = "the figures of `docs/measurements.md` are read there")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use yore_testing::{Fault, Faults, Random};

use crate::crash::{Content, copy_directory, home};
use crate::environment::{Outcome, Runner, TestEnvironment};
use crate::transcript::Transcript;

const KINDS: [Fault; 3] = [Fault::Once, Fault::Full, Fault::Kill];
/// Number of places of each kind that are tried, unless all are.
const SAMPLE: u64 = 10;
const PLANTED: &str = "xylofizz4711";

/// Chooses the operations that fail: the first and the last, and others by chance.
fn places(count: u64, seed: u64) -> Vec<u64> {
    assert!(count > 0, "nothing was written");
    if std::env::var_os("YORE_FAULTS").is_some_and(|value| value == "all") || count <= SAMPLE {
        return (1..=count).collect();
    }
    let mut random = Random::new(seed);
    let mut places: Vec<u64> = (2..SAMPLE).map(|_| 1 + random.below(count as usize) as u64).collect();
    places.extend([1, count]);
    places.sort_unstable();
    places.dedup();
    places
}

trait Failing {
    fn failing(self, faults: &Faults, failing: Option<(u64, Fault)>) -> Self;
}

impl Failing for Runner {
    fn failing(self, faults: &Faults, failing: Option<(u64, Fault)>) -> Self {
        faults.environment(failing).into_iter().fold(self, |runner, (name, value)| runner.env(name, value))
    }
}

/// Checks that a command which met a fault ended in one of the allowed ways: killed by the fault, in success
/// (it could do without), or with an error message and one of yore's own exit codes.
fn ended_well(outcome: &Outcome, fault: Fault, when: &str) {
    match outcome.status.code() {
        Some(0) => {}
        Some(1 | 3 | 4 | 5) => assert!(!outcome.stderr.is_empty() || !outcome.stdout.is_empty(), "{when}: no word"),
        None => assert_eq!(fault, Fault::Kill, "{when}: {outcome:?}"),
        code => panic!("{when}: exit code {code:?}: {outcome:?}"),
    }
}

/// Returns the id of a session.
fn session(number: u64) -> String {
    format!("{:08x}-{number:04x}-4a5b-{:04x}-0123456789ab", 0x9e37_79b9 ^ number << 24, number ^ 0x8b1d)
}

/// Writes some transcripts.
fn sources() -> TestEnvironment {
    let sources = TestEnvironment::new();
    for number in 0..4_u64 {
        let mut session = Transcript::new(&session(number), &format!("/home/dev/pier-{}", number % 2))
            .at(1_760_000_000_000 + number as i64 * 86_400_000)
            .human(&format!("tidal ropes: how many are on pier {number}?"))
            .tool("I count them.", "wc -l ropes.txt", "error: 17 ropes, 3 torn", number % 2 == 0)
            .assistant("There are 17, of which quiven marost holds three.");
        if number == 1 {
            session = session.human(PLANTED).raw("{\"type\": \"torn").assistant("It is kept.");
        }
        session.write(&sources.projects());
    }
    sources
}

/// Returns an environment that has ingested these sources.
fn learned(sources: &TestEnvironment) -> TestEnvironment {
    let environment = home();
    let _ = environment.ingest(&sources.projects());
    environment
}

fn copy_of(environment: &TestEnvironment) -> TestEnvironment {
    let copy = home();
    copy_directory(&environment.data(), &copy.data());
    copy
}

/// Fails a command at each place, then runs it again: the result must equal an undisturbed memory according to
/// `check`. The second run may find that nothing is left to do.
fn fail_everywhere(
    seed: u64,
    before: &TestEnvironment,
    command: impl Fn(&TestEnvironment) -> Runner,
    check: impl Fn(&TestEnvironment, &str),
) {
    let undisturbed = copy_of(before);
    let Some(faults) = Faults::below(&[&undisturbed.data()]) else { return };
    let _ = command(&undisturbed).failing(&faults, None).run().success();
    let count = faults.count();
    println!("{count} operations");
    check(&undisturbed, "undisturbed");
    for (kind, fault) in KINDS.into_iter().enumerate() {
        for at in places(count, seed * 10 + kind as u64) {
            let environment = copy_of(before);
            let when = format!("{fault:?} at {at} of {count}");
            let faults = Faults::below(&[&environment.data()]).unwrap();
            let outcome = command(&environment).failing(&faults, Some((at, fault))).run();
            ended_well(&outcome, fault, &when);
            let again = command(&environment).run();
            assert!(again.status.success() || nothing_left(&again), "{when}: {outcome:?}\nand again: {again:?}");
            check(&environment, &when);
        }
    }
}

/// Says whether a command ended because there was nothing for it to do.
fn nothing_left(outcome: &Outcome) -> bool {
    outcome.status.code() == Some(1)
}

#[test]
fn ingestion_survives_a_failing_file_system() {
    let sources = sources();
    let expected = Content::of(&learned(&sources));
    fail_everywhere(
        1,
        &home(),
        |environment| environment.yore(["ingest"]).arg(sources.projects()),
        |environment, when| {
            expected.assert_same(&Content::of(environment), when);
            environment.is_sound();
        },
    );
}

#[test]
fn growing_memory_survives_a_failing_file_system() {
    let sources = sources();
    let before = learned(&sources);
    for number in 2..5_u64 {
        Transcript::new(&session(number), "/home/dev/pier-1")
            .at(1_770_000_000_000)
            .human("and the tidal ropes of today?")
            .assistant("Still 17.")
            .write(&sources.projects().join("later"));
    }
    let complete = copy_of(&before);
    let _ = complete.ingest(&sources.projects());
    let expected = Content::of(&complete);
    fail_everywhere(
        2,
        &before,
        |environment| environment.yore(["ingest"]).arg(sources.projects()),
        |environment, when| expected.assert_same(&Content::of(environment), when),
    );
}

#[test]
fn reindex_survives_a_failing_file_system() {
    let sources = sources();
    let before = learned(&sources);
    let without_skips = |environment: &TestEnvironment| Content::of(environment).without_offsets();
    let expected = without_skips(&before);
    fail_everywhere(
        3,
        &before,
        |environment| environment.yore(["reindex"]),
        |environment, when| expected.assert_same(&without_skips(environment), when),
    );
}

#[test]
fn forgetting_for_good_survives_a_failing_file_system() {
    let sources = sources();
    let before = learned(&sources);
    let forget = |environment: &TestEnvironment| environment.yore(["forget", "--hard", "--session", &session(1)]);
    let complete = copy_of(&before);
    let _ = forget(&complete).run().success();
    let expected = Content::of(&complete);
    fail_everywhere(4, &before, forget, |environment, when| {
        expected.assert_same(&Content::of(environment), when);
        let places = yore_testing::Scan::of(&environment.data()).places(PLANTED).len();
        assert_eq!(places, 0, "{when}: forgotten words are still there");
    });
}

#[test]
fn notes_survive_a_failing_file_system() {
    let sources = sources();
    let before = learned(&sources);
    let note = "The harbour master wants the ropes counted on Fridays.";
    fail_everywhere(
        5,
        &before,
        |environment| environment.yore(["remember", "--note", note]),
        |environment, when| {
            let notes = environment.yore(["notes", "--json"]).run().success().json();
            assert_eq!(notes.as_array().map(Vec::len), Some(1), "{when}: {notes}");
            assert_eq!(notes[0]["text"], note, "{when}");
            environment.is_sound();
        },
    );
}

#[test]
fn backup_and_restore_survive_a_failing_file_system() {
    let sources = sources();
    let before = learned(&sources);
    let expected = Content::of(&before);
    fail_everywhere(
        6,
        &before,
        |environment| environment.yore(["backup"]),
        |environment, when| {
            let backups = environment.yore(["backup", "--list", "--json"]).run().success().json();
            assert!(backups["backups"].as_array().is_some_and(|list| !list.is_empty()), "{when}: {backups}");
            expected.assert_same(&Content::of(environment), when);
        },
    );
    let _ = before.yore(["backup"]).run().success();
    let _ = before.yore(["remember", "After the backup."]).run().success();
    fail_everywhere(
        7,
        &before,
        |environment| environment.yore(["restore"]),
        |environment, when| {
            // The indexes have more than the restored store; the next command that needs them rebuilds them.
            let _ = environment.yore(["recall", "tidal"]).run();
            expected.assert_same(&Content::of(environment), when);
        },
    );
}

/// Returns every file of a directory.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// Returns the files in a home with their text, by path relative to it.
fn settings(environment: &TestEnvironment) -> BTreeMap<PathBuf, String> {
    let home = environment.path("home");
    let root = environment.path("").display().to_string();
    files(&home)
        .into_iter()
        .map(|(path, content)| {
            let name = path.strip_prefix(&home).unwrap().to_path_buf();
            (name, String::from_utf8(content).unwrap().replace(&root, "[root]/"))
        })
        .collect()
}

#[track_caller]
fn assert_same(found: &BTreeMap<PathBuf, String>, expected: &BTreeMap<PathBuf, String>, when: &str) {
    for name in found.keys().chain(expected.keys()) {
        assert_eq!(found.get(name), expected.get(name), "{when}: {}", name.display());
    }
}

#[test]
fn installing_survives_a_failing_file_system() {
    let computer = || {
        let environment = TestEnvironment::new();
        environment.write("home/.claude/settings.json", "{\n  // mine\n  \"model\": \"opus\"\n}\n");
        environment.write("home/.claude.json", "{\"numStartups\":3}");
        environment.write("home/.codex/config.toml", "model = \"o3\" # best\n");
        environment.write("home/.cursor/argv.json", "{}");
        environment
    };
    let complete = computer();
    let before = settings(&complete);
    let Some(faults) = Faults::below(&[&complete.path("home"), &complete.data()]) else { return };
    let _ = complete.yore(["install", "all"]).failing(&faults, None).run().success();
    let installing = faults.count();
    let installed = settings(&complete);
    let _ = complete.yore(["uninstall", "all"]).failing(&faults, None).run().success();
    let uninstalling = faults.count();
    assert_eq!(settings(&complete), before);
    println!("{installing} operations of install, {uninstalling} of uninstall");
    let is_whole = |environment: &TestEnvironment, when: &str| {
        for (name, content) in settings(environment) {
            let is_draft = name.extension().is_some_and(|extension| extension == "tmp");
            let is_known = before.get(&name) == Some(&content) || installed.get(&name) == Some(&content);
            assert!(is_known || is_draft, "{when}: {} is torn", name.display());
        }
        for name in before.keys() {
            assert!(environment.path("home").join(name).is_file(), "{when}: {} is gone", name.display());
        }
    };
    for (kind, fault) in KINDS.into_iter().enumerate() {
        for at in places(installing, 80 + kind as u64) {
            let environment = computer();
            let when = format!("installing, {fault:?} at {at} of {installing}");
            let faults = Faults::below(&[&environment.path("home"), &environment.data()]).unwrap();
            let outcome = environment.yore(["install", "all"]).failing(&faults, Some((at, fault))).run();
            ended_well(&outcome, fault, &when);
            is_whole(&environment, &when);
            let _ = environment.yore(["install", "all"]).run().success();
            assert_same(&settings(&environment), &installed, &when);
            let _ = environment.yore(["uninstall", "all"]).run().success();
            assert_same(&settings(&environment), &before, &when);
        }
        for at in places(uninstalling, 90 + kind as u64) {
            let environment = computer();
            let when = format!("uninstalling, {fault:?} at {at} of {uninstalling}");
            let _ = environment.yore(["install", "all"]).run().success();
            let faults = Faults::below(&[&environment.path("home"), &environment.data()]).unwrap();
            let outcome = environment.yore(["uninstall", "all"]).failing(&faults, Some((at, fault))).run();
            ended_well(&outcome, fault, &when);
            is_whole(&environment, &when);
            let _ = environment.yore(["uninstall", "all"]).run().success();
            assert_same(&settings(&environment), &before, &when);
        }
    }
}

/// Returns everything that operations change, without ids and times.
fn told_of_memories(environment: &TestEnvironment) -> String {
    let call = |arguments: &[&str]| environment.yore(arguments.iter().copied()).run();
    let listed = call(&["memories", "--all", "--all-statuses", "--json"]).json();
    let mut lines: Vec<String> = Vec::new();
    for memory in listed.as_array().unwrap() {
        let mut whole = call(&["show", memory["id"].as_str().unwrap(), "--json"]).json();
        for field in ["id", "recorded", "changed", "valid_until", "uses", "standing"] {
            whole[field] = serde_json::Value::Null;
        }
        let relations = whole["relations"].as_array_mut().unwrap();
        relations.iter_mut().for_each(|relation| relation["id"] = serde_json::Value::Null);
        relations.sort_by_key(std::string::ToString::to_string);
        lines.push(whole.to_string());
    }
    let mut entities = call(&["memories", "entities", "--json"]).json();
    entities.as_array_mut().into_iter().flatten().for_each(|entity| entity["id"] = serde_json::Value::Null);
    lines.push(entities.to_string());
    let log = call(&["op", "log", "--json"]).json();
    lines.push(format!("{} operations", log.as_array().map_or(0, Vec::len)));
    lines.sort();
    lines.join("\n")
}

#[test]
fn every_operation_on_memories_is_done_or_not_done_on_a_failing_file_system() {
    let before = home();
    let id = |arguments: &[&str]| before.yore(arguments.iter().copied()).run().success().stdout.trim().to_owned();
    let ropes = id(&["remember", "Ropes are counted on Fridays.", "-k", "standard", "--entity", "ropes", "--entity", "pier"]);
    let knots = id(&["remember", "Knots are tied twice.", "-k", "standard", "--entity", "knots"]);
    let _ = before.yore(["memories", "relate", &ropes, "depends_on", &knots]).run().success();
    let _ = before.yore(["memories", "pin", &knots]).run().success();
    let _ = before.yore(["op", "undo", "4"]).run().success();
    let former = told_of_memories(&before);
    let commands: [&[&str]; 14] = [
        &["remember", "Buoys are red.", "-k", "fact", "--entity", "buoys", "--tag", "colour"],
        &["remember", "Ropes are counted daily.", "-k", "standard", "--replaces", &ropes],
        &["memories", "edit", &ropes, "Ropes are counted on Mondays."],
        &["memories", "edit", &ropes, "--tag", "count", "--importance", "0.9"],
        &["memories", "wrong", &ropes, "nobody counts"],
        &["memories", "pin", &ropes],
        &["memories", "archive", &knots],
        &["memories", "relate", &knots, "supports", &ropes],
        &["memories", "relate", &ropes, "depends_on", &knots, "--off"],
        &["memories", "entities", "merge", "pier", "ropes"],
        &["memories", "entities", "split", "ropes", "lines", &ropes],
        &["memories", "entities", "add", "tool", "winch", "--alias", "hoist"],
        &["op", "undo", "3"],
        &["op", "redo", "4"],
    ];
    for (seed, command) in (0u64..).zip(commands) {
        let run = |environment: &TestEnvironment| environment.yore(command.iter().copied());
        let complete = copy_of(&before);
        let Some(faults) = Faults::below(&[&complete.data()]) else { return };
        let _ = run(&complete).failing(&faults, None).run().success();
        let count = faults.count();
        let later = told_of_memories(&complete);
        assert_ne!(later, former, "{command:?} does something");
        for (kind, fault) in [Fault::Kill, Fault::Full].into_iter().enumerate() {
            for at in places(count, 100 + seed * 2 + kind as u64).into_iter().step_by(3) {
                let environment = copy_of(&before);
                let when = format!("{command:?}, {fault:?} at {at} of {count}");
                let faults = Faults::below(&[&environment.data()]).unwrap();
                let outcome = run(&environment).failing(&faults, Some((at, fault))).run();
                ended_well(&outcome, fault, &when);
                let found = told_of_memories(&environment);
                let is_done = found == later;
                assert!(is_done || found == former, "{when}: {outcome:?}\n{found}");
                assert!(is_done || !outcome.status.success(), "{when}: it said that it was done");
                environment.is_sound();
            }
        }
    }
}

/// Returns the memories, entities and relations, without ids, times and the log.
fn memories_of(environment: &TestEnvironment) -> String {
    told_of_memories(environment).lines().filter(|line| !line.ends_with(" operations")).collect::<Vec<_>>().join("\n")
}

#[test]
fn importing_memories_survives_a_failing_file_system() {
    let source = home();
    let id = |arguments: &[&str]| source.yore(arguments.iter().copied()).run().success().stdout.trim().to_owned();
    let ropes = id(&["remember", "Ropes are counted on Fridays.", "-k", "standard", "--entity", "ropes"]);
    let knots = id(&["remember", "Knots are tied twice.", "-k", "standard", "--entity", "knots"]);
    let _ = source.yore(["memories", "relate", &ropes, "depends_on", &knots]).run().success();
    let _ = source.yore(["remember", "Ropes are counted daily.", "-k", "standard", "--replaces", &ropes]).run().success();
    let lines = source.path("memories.jsonl");
    let _ = source.yore(["export"]).arg(&lines).run().success();
    let rules = source.write("rules/CLAUDE.md", "# Knots\n\n- Knots are tied twice.\n- Never cut a rope.\n");
    for (seed, file) in [(20, lines), (21, rules)] {
        let command = |environment: &TestEnvironment| environment.yore(["import", "--trust"]).arg(&file).arg("--global");
        let complete = home();
        let _ = command(&complete).run().success();
        let expected = memories_of(&complete);
        assert!(expected.contains("Knots are tied twice."), "{expected}");
        fail_everywhere(seed, &home(), command, |environment, when| {
            assert_eq!(memories_of(environment), expected, "{when}");
            environment.is_sound();
        });
    }
}

/// Returns an environment with a session and a memory that hold the planted words, and a memory that does not.
fn planted(sources: &TestEnvironment) -> TestEnvironment {
    let environment = learned(sources);
    let remember = |words: &str| drop(environment.yore(["remember", words, "-k", "fact", "--entity", "ropes"]).run().success());
    remember(&format!("The code of the shed is {PLANTED}."));
    remember("Knots are tied twice.");
    environment
}

#[test]
fn forgetting_by_words_survives_a_failing_file_system() {
    let before = planted(&sources());
    let forget = |environment: &TestEnvironment| environment.yore(["forget", "--hard", "--yes", "--query", PLANTED]);
    let complete = copy_of(&before);
    let _ = forget(&complete).run().success();
    let (expected, memories) = (Content::of(&complete), memories_of(&complete));
    fail_everywhere(22, &before, forget, |environment, when| {
        expected.assert_same(&Content::of(environment), when);
        assert_eq!(memories_of(environment), memories, "{when}");
        let places = yore_testing::Scan::of(&environment.data()).places(PLANTED).len();
        assert_eq!(places, 0, "{when}: forgotten words are still there");
    });
}

#[test]
fn scanning_for_secrets_survives_a_failing_file_system() {
    let before = planted(&sources());
    let pattern = format!("redaction.extra_patterns={PLANTED}");
    let scan = |environment: &TestEnvironment| environment.yore(["scan", "-c", &pattern]);
    let complete = copy_of(&before);
    let _ = scan(&complete).run().success();
    let memories = memories_of(&complete);
    fail_everywhere(23, &before, scan, |environment, when| {
        assert_eq!(memories_of(environment), memories, "{when}");
        let places = yore_testing::Scan::of(&environment.data()).places(PLANTED).len();
        assert_eq!(places, 0, "{when}: the secret is still there");
        environment.is_sound();
    });
}

#[test]
fn extracting_memories_survives_a_failing_file_system() {
    let sources = sources();
    for number in 0..3_u64 {
        Transcript::new(&session(10 + number), "/home/dev/pier-0")
            .at(1_765_000_000_000 + number as i64 * 86_400_000)
            .human(&format!("Always keep the knots of pier {number} in SQLite, because the older ledger lost {number} rows"))
            .assistant("Done.")
            .write(&sources.projects().join("settled"));
    }
    let before = learned(&sources);
    let extract = |environment: &TestEnvironment| environment.yore(["extract", "--all"]);
    let complete = copy_of(&before);
    let _ = extract(&complete).run().success();
    let expected = memories_of(&complete);
    assert!(expected.contains("knots of pier 2"), "{expected}");
    fail_everywhere(24, &before, extract, |environment, when| {
        assert_eq!(memories_of(environment), expected, "{when}");
        environment.is_sound();
    });
}
