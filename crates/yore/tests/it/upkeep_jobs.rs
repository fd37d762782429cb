//! Recurring maintenance as a person and a scheduler meet it: `yore upkeep`, `yore cleanup`, and how a failure is told.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;
use yore_testing::Random;

use crate::crash::{copy_directory, kill_after};
use crate::environment::TestEnvironment;
use crate::small_memory::Memory;
use crate::transcript::Transcript;

const JOBS: [&str; 10] = [
    "backup",
    "check-index",
    "extract",
    "check-code",
    "merge-duplicates",
    "insights",
    "check-store",
    "optimise",
    "compact",
    "understand",
];

fn names(jobs: &Value) -> Vec<&str> {
    jobs.as_array().unwrap().iter().map(|job| job["job"].as_str().unwrap()).collect()
}

#[test]
fn scheduler_runs_what_is_due_once_and_each_job_tells_its_last_run() {
    let memory = Memory::new();
    let before = memory.call(&["upkeep", "status", "--json"]).success().json();
    assert_eq!(names(&before), JOBS);
    assert!(before.as_array().unwrap().iter().all(|job| job["due"] == true && job["done"].is_null()), "{before}");
    let done = memory.call(&["upkeep", "run", "--json"]).success().json();
    assert_eq!(names(&done), JOBS);
    assert_eq!(done[0]["counts"]["backups"], 1);
    let after = memory.call(&["upkeep", "status", "--json"]).success().json();
    for job in after.as_array().unwrap() {
        assert_eq!((&job["outcome"], job["milliseconds"].is_number()), (&Value::from("done"), true), "{job}");
    }
    // A full hour may have begun since.
    let again = memory.call(&["upkeep", "run", "--json"]).success().json();
    assert!(names(&again).iter().all(|job| *job == "backup"), "{again}");
    assert_eq!(names(&memory.call(&["upkeep", "run", "monthly", "--json"]).success().json()), ["compact"]);
    let unknown = memory.call(&["upkeep", "run", "polish"]).ends_with(2);
    assert!(unknown.stderr.contains("merge-duplicates"), "{}", unknown.stderr);
    memory.environment.is_sound();
}

#[test]
fn backup_that_cannot_be_written_is_told_by_status_doctor_and_brief_until_it_is_made() {
    let memory = Memory::new();
    let folder = memory.environment.data().join("backups");
    fs::write(&folder, "a file in the place of the folder").unwrap();
    for _ in 0..2 {
        let run = memory.call(&["upkeep", "run", "backup"]).ends_with(1);
        assert!(run.stdout.starts_with("backup: failed: "), "{}", run.stdout);
    }
    let told = |arguments: &[&str]| memory.call(arguments).stdout;
    let state = memory.call(&["upkeep", "status", "--json"]).ends_with(1).json();
    assert_eq!((&state[0]["outcome"], &state[0]["tries"]), (&Value::from("failed"), &Value::from(2)));
    assert!(told(&["upkeep", "status"]).contains("; fails since "));
    assert!(told(&["status"]).contains("not done yet; fails since "), "{}", told(&["status"]));
    assert_eq!(memory.call(&["status", "--json"]).json()["failing_upkeep"][0]["job"], "backup");
    assert!(told(&["doctor"]).contains("backup fails since "), "{}", told(&["doctor"]));
    let brief = told(&["brief"]);
    let last = brief.lines().filter(|line| line.starts_with("Upkeep: backup fails since ")).count();
    assert_eq!(last, 1, "{brief}");
    assert!(brief.contains("(`yore upkeep status`)"), "{brief}");

    fs::remove_file(&folder).unwrap();
    memory.call(&["upkeep", "run", "backup"]).success();
    memory.call(&["upkeep", "status"]).success();
    for arguments in [["upkeep", "status"].as_slice(), &["status"], &["doctor"], &["brief"]] {
        assert!(!told(arguments).contains("fails since"), "{arguments:?}: {}", told(arguments));
    }
}

#[test]
fn cleanup_lists_what_was_put_away_and_forgets_it_only_when_told_so() {
    let memory = Memory::new();
    let add = |statement: &str| {
        let done = memory.call(&["remember", "--kind", "fact", statement, "--json"]).success().json();
        done["memory"].as_str().unwrap().to_owned()
    };
    let old = add("The north crane was painted green in spring.");
    add("The south crane carries nine tonnes.");
    memory.call(&["memories", "archive", &old]).success();
    memory.call(&["cleanup"]).ends_with(1);
    let listed = memory.call(&["cleanup", "--older-than", "0d", "--json"]).success().json();
    assert_eq!((&listed["dry_run"], &listed["memories"]), (&Value::from(true), &Value::from(1)));
    assert_eq!(listed["listed"][0]["statement"], "The north crane was painted green in spring.");
    assert!(memory.call(&["cleanup", "--older-than", "0"]).success().stdout.contains("nothing was forgotten: --yes does it"));
    let done = memory.call(&["cleanup", "--older-than", "0d", "--yes", "--json"]).success().json();
    let operation = done["operation"].as_u64().unwrap().to_string();
    memory.call(&["cleanup", "--older-than", "0d"]).ends_with(1);
    memory.call(&["undo", &operation]).success();
    assert_eq!(memory.call(&["cleanup", "--older-than", "0d", "--json"]).success().json()["memories"], 1);
}

/// Sessions in which a person states rules, many of them twice in other sessions.
fn write_rules(projects: &Path) {
    for number in 0..40_u64 {
        let id = format!("{:08x}-{number:04x}-4a5b-{:04x}-0123456789ab", 0x9e37_79b9 ^ number << 24, number ^ 0x8b1d);
        let session = Transcript::new(&id, "/home/dev/harbor").at(1_770_000_000_000 + number as i64 * 3_600_000);
        let gate = number % 20;
        session
            .human(&format!("From now on always run `gate{gate} check` before you push."))
            .assistant("I will.")
            .human(&format!(
                "Implement the following plan:\n\n# Keep leases of pier {gate} in SQLite\n\n## Context\nRedis lost {gate} of them in a week."
            ))
            .assistant("Done.")
            .write(projects);
    }
}

/// Returns the state that upkeep makes: memories without their random ids, their evidence, and the number of operations that changed them.
fn made(environment: &TestEnvironment) -> Vec<String> {
    let db = Connection::open(environment.data().join("yore.db")).unwrap();
    let sql = "SELECT statement || ' ' || status || ' ' || (SELECT count(*) FROM memory_evidence WHERE memory_id = memory.id)
                   || ' ' || (SELECT count(*) FROM operation_change WHERE uid = memory.uid) FROM memory ORDER BY 1";
    let rows: Vec<String> = db.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    rows
}

#[test]
fn jobs_that_are_killed_and_run_again_end_in_the_same_state() {
    let original = TestEnvironment::new();
    write_rules(&original.projects());
    original.ingest(&original.projects());
    let copy = || {
        let environment = TestEnvironment::new();
        copy_directory(&original.data(), &environment.data());
        environment
    };
    let undisturbed = copy();
    let began = Instant::now();
    undisturbed.yore(["upkeep", "run"]).run().success();
    let took = began.elapsed();
    let expected = made(&undisturbed);
    assert!(expected.len() >= 20, "{expected:?}");
    undisturbed.yore(["upkeep", "run", "nightly"]).run().success();
    assert_eq!(made(&undisturbed), expected, "a second run changes nothing");

    let mut random = Random::new(0x0dd_ba11);
    let mut killed = 0;
    for point in 0..8 {
        let environment = copy();
        for _ in 0..2 {
            let when: Duration = took * random.below(1_000) as u32 / 1_000;
            killed += u32::from(kill_after(environment.yore(["upkeep", "run"]).start(), when));
        }
        environment.yore(["upkeep", "run"]).run().success();
        assert_eq!(made(&environment), expected, "killed, {point}");
        let states = environment.yore(["upkeep", "status", "--json"]).run().success().json();
        assert!(states.as_array().unwrap().iter().all(|job| job["outcome"] == "done"), "{states}");
    }
    assert!(killed >= 4, "only {killed} of 16 were still running");
}
