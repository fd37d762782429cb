//! Choosing the histories to read: sources and their places, `yore status --sources`, unread sessions, `yore capture`, and
//! the offer to keep transcripts longer.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::transcript::Transcript;

const TIDE: &str = "3c000001-5d0c-4f7e-9a51-8f0c7b6a2201";
const REEF: &str = "3c000002-77b1-4c56-8d55-2b9d3f4a2202";

/// Two projects, one conversation each; the one about the reef has code.
fn computer() -> TestEnvironment {
    let environment = TestEnvironment::new();
    for project in ["tide", "reef"] {
        fs::create_dir_all(environment.path("work").join(project)).unwrap();
    }
    let directory = |project: &str| environment.path("work").join(project).to_str().unwrap().to_owned();
    Transcript::new(TIDE, &directory("tide"))
        .at(1_772_355_600_000)
        .human("when is high water")
        .assistant("At noon.")
        .write(&environment.projects());
    Transcript::new(REEF, &directory("reef"))
        .at(1_772_442_000_000)
        .human("count the corals")
        .assistant("Like this:\n```rust\nfn corals() {}\n```")
        .write(&environment.projects());
    environment
}

#[track_caller]
fn rows(environment: &TestEnvironment, arguments: &[&str]) -> Vec<Value> {
    let outcome = environment.yore(["sessions", "--json"]).args(arguments).run();
    assert!(matches!(outcome.status.code(), Some(0 | 1)), "{outcome:?}");
    outcome.json().as_array().unwrap().clone()
}

#[test]
fn sources_say_what_was_found_and_read() {
    let environment = computer();
    let before = environment.yore(["sources", "--json"]).run().success().json();
    let claude =
        |sources: &Value| sources.as_array().unwrap().iter().find(|source| source["source"] == "claude-code").unwrap().clone();
    assert_eq!(claude(&before)["roots"], json!([environment.projects()]));
    assert_eq!((&claude(&before)["sessions"], &claude(&before)["enabled"]), (&json!(0), &json!(true)));
    assert!(!environment.data().exists(), "looking makes no memory");
    environment.write("home/.claude/projects/x/odd.jsonl", "{\"type\":\"nonesuch\",\"sessionId\":\"s\"}\n");
    environment.yore(["up", "--no-embed"]).run().success();
    let after = claude(&environment.yore(["sources", "--json"]).run().success().json());
    assert_eq!(json!([after["units"], after["sessions"], after["turns"], after["verified"]]), json!([3, 2, 4, true]));
    assert!(after["last_capture_ms"].as_i64().unwrap() > 1_700_000_000_000);
    assert!(after["skips"].as_array().unwrap().iter().any(|skip| skip["detail"] == "nonesuch"), "{after}");
    assert_eq!(after["errors"], json!([]));
    let shown = environment.yore(["sources"]).run().success().shown();
    assert!(shown.starts_with("claude-code: 2 sessions, 4 turns, last captured "), "{shown}");
    assert!(shown.contains("nonesuch"), "{shown}");
    let off = environment.yore(["sources", "-c", "sources.claude-code.enabled=no"]).run().success().shown();
    assert!(off.starts_with("claude-code (off): 2 sessions"), "{off}");
}

#[test]
fn roots_of_a_source_can_be_named() {
    let environment = computer();
    let elsewhere = environment.path("elsewhere");
    fs::rename(environment.projects(), &elsewhere).unwrap();
    let setting = format!("sources.claude-code.roots=[\"{}\"]", elsewhere.display());
    let report = environment.yore(["ingest", "--json", "-c", &setting]).run().success().json();
    assert_eq!(report["turns_added"], 4);
    let setting = format!("{}", elsewhere.display());
    let report = environment.yore(["ingest", "--json"]).env("YORE_SOURCES__CLAUDE_CODE__ROOTS", setting).run().success().json();
    assert_eq!(report["files_unchanged"], 2);
}

#[test]
fn kind_of_what_is_given_is_guessed_or_asked_for() {
    let environment = computer();
    let elsewhere = environment.path("saved");
    fs::rename(environment.projects(), &elsewhere).unwrap();
    let report = environment.yore(["ingest", "--json"]).arg(&elsewhere).run().success().json();
    assert_eq!(report["sources"]["claude-code"]["files"], 2);
    let file = environment.write("work/odd.bin", b"\x7fELF\0\0\0\xff\xff\xff\xff\xff");
    let outcome = environment.yore(["ingest"]).arg(&file).run().ends_with(2);
    assert!(outcome.stderr.contains("odd.bin has no format that yore can read"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--source"), "{}", outcome.stderr);
    let file = environment.write("work/odd.jsonl", "{}\n");
    environment.yore(["ingest"]).arg(&file).run().ends_with(2);
}

#[test]
fn sessions_that_were_not_read_are_listed_apart() {
    let environment = computer();
    let state = |arguments: &[&str]| -> Vec<String> {
        let rows = rows(&environment, &[&["--unread"], arguments].concat());
        rows.iter().map(|row| row["state"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(state(&[]), ["unprocessed", "unprocessed"]);
    assert!(!environment.data().exists(), "looking makes no memory");
    environment.yore(["ingest", "--project", "tide"]).run().success();
    assert_eq!(rows(&environment, &[]).len(), 1);
    assert_eq!(state(&[]), ["unprocessed"]);
    Transcript::new(TIDE, environment.path("work/tide").to_str().unwrap())
        .at(1_772_355_600_000)
        .human("when is high water")
        .assistant("At noon.")
        .human("and tomorrow?")
        .write(&environment.projects());
    assert_eq!(state(&["--project", "tide"]), ["went-on"]);
    environment.yore(["ingest"]).run().success();
    environment.yore(["sessions", "--unread"]).run().ends_with(1);
    // A part of a word, in any case, finds the conversation that contains it.
    assert_eq!(rows(&environment, &["--text", "HIGH wat"]).len(), 1);
    assert_eq!(rows(&environment, &["-t", "low water"]).len(), 0);
}

#[test]
fn ingest_follows_its_filters() {
    let environment = computer();
    let would_read = |arguments: &[&str]| {
        environment.yore(["ingest", "--dry-run", "--json"]).args(arguments).run().success().json()["files"].as_u64().unwrap()
    };
    let unread = rows(&environment, &["--unread", "--has-code"]);
    assert!(unread.len() == 1 && unread[0]["unit"].as_str().unwrap().contains(REEF), "{unread:?}");
    let here = environment.path("work/reef");
    let look = || {
        assert_eq!(would_read(&[]), 2);
        assert_eq!(would_read(&["--has-code"]), 1);
        assert_eq!(would_read(&["--since", "2100-01-01"]), 0);
        assert_eq!(would_read(&["--project", "nothing"]), 0);
        assert_eq!(would_read(&["--limit", "1"]), 1);
        assert_eq!(would_read(&["--project", here.to_str().unwrap()]), 1);
    };
    look();
    assert!(!environment.data().exists(), "a dry run writes nothing");
    environment.yore(["ingest", "--since", "2100-01-01"]).run().success();
    look();
    let report = environment.yore(["ingest", "--has-code", "--json"]).run().success().json();
    assert_eq!(json!([report["files"], report["turns_added"], report["files_gone"]]), json!([1, 2, 0]));
    let report = environment.yore(["ingest", "--limit", "10", "--json"]).run().success().json();
    assert_eq!(json!([report["files"], report["turns_added"]]), json!([1, 2]));
    environment.yore(["ingest", "--limit", "1", "."]).run().ends_with(2);
}

#[test]
fn numbers_are_numbers() {
    let environment = computer();
    for number in 0..15 {
        Transcript::new(&format!("3c0000{number:02}-5d0c-4f7e-9a51-8f0c7b6a22ff"), "/home/dev/many")
            .human("hello")
            .write(&environment.projects());
    }
    // In the seed program a wrong radix turned a limit of 10 into 20, and 5 into nothing.
    assert_eq!(rows(&environment, &["--unread", "--limit", "10"]).len(), 10);
    assert_eq!(rows(&environment, &["--unread"]).len(), 17);
    for bad in [["sessions", "--limit", "ten"], ["ingest", "--limit", "-1"]] {
        environment.yore(bad).run().ends_with(2);
    }
}

#[test]
fn old_names_of_commands_do_what_the_new_ones_do() {
    let environment = computer();
    environment.yore(["up", "--no-embed"]).run().success();
    environment.yore(["remember", "The crane opens at six.", "-k", "fact"]).run().success();
    environment.yore(["remember", "--note", "Ropes are counted."]).run().success();
    for (old, new) in [
        ("sources --all", "status --sources --all"),
        ("notes", "memories --notes"),
        ("notes --all --json", "memories --notes --all --json"),
        ("chat list", "sessions"),
        ("chat list --processed -n 1 --since 2026-01-01 --has-code", "sessions -n 1 --since 2026-01-01 --has-code"),
        ("chat list --unprocessed", "sessions --unread"),
        ("chat ingest --project tide", "ingest --project tide"),
        ("op log", "log"),
        ("op show 1", "log 1"),
        ("op show 1 --json", "log 1 --json"),
        ("op --json log", "log --json"),
        ("op undo 99", "undo 99"),
        ("op redo", "redo"),
        ("backup --list", "data backup --list"),
        ("reindex", "data rebuild"),
        ("scan --dry-run", "data scan --dry-run"),
        ("repair --help", "data repair --help"),
        ("restore nowhere.db", "data restore nowhere.db"),
        ("brief --tokens 200", "brief --budget 200"),
        ("extract --all --kinds fact --dry-run", "extract --all --kind fact --dry-run"),
        ("config set recall.limit 9 --project", "config set recall.limit 9 --shared"),
        ("forget --source claude-code", "forget --agent claude-code"),
        ("daemon logs --lines 3", "daemon logs -n 3"),
        ("install -n", "install --dry-run"),
    ] {
        let call = |words: &str| environment.yore(words.split(' ')).run();
        let (old_one, new_one) = (call(old), call(new));
        assert_eq!(
            (old_one.status.code(), &old_one.stdout, &old_one.stderr),
            (new_one.status.code(), &new_one.stdout, &new_one.stderr),
            "{old}"
        );
    }
    // The daemon took the place of `chat watch`.
    let mut child = environment.yore(["chat", "watch", "-i", "1"]).start();
    let until = Instant::now() + Duration::from_secs(30);
    while !environment.yore(["daemon", "status"]).run().status.success() {
        assert!(Instant::now() < until, "it does not answer");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
    environment.yore(["daemon", "stop"]).run().success();
    child.wait().unwrap();
    environment.is_sound();
}

#[test]
fn capture_is_turned_off_and_on_for_all() {
    let environment = computer();
    environment.yore(["capture", "off"]).run().success();
    let report = environment.yore(["ingest", "--json"]).run().success().json();
    assert_eq!(report["files"], 0);
    let status = environment.yore(["capture", "status", "--json"]).run().success().json();
    assert_eq!(json!([status["enabled"], status["captured"]]), json!([false, false]));
    environment.yore(["capture", "on"]).run().success();
    assert_eq!(environment.yore(["ingest", "--json"]).run().success().json()["turns_added"], 4);
}

#[test]
fn what_is_switched_off_is_not_read_because_somebody_names_it() {
    let environment = computer();
    let notes = environment.write("work/notes.md", "# Pier\n\nThe third plank is loose.\n");
    let read = |path: &std::path::Path| environment.yore(["ingest"]).arg(path).run();
    environment.yore(["capture", "off"]).run().success();
    for path in [notes.clone(), environment.projects(), std::path::PathBuf::from("https://example.org/page")] {
        let refused = read(&path).ends_with(2);
        assert_eq!(refused.code(), "capture-off", "{}", path.display());
        assert!(refused.stderr.contains("`yore capture on`"), "{}", refused.stderr);
    }
    environment.yore(["capture", "on"]).run().success();
    environment.yore(["config", "set", "sources.file.enabled", "false"]).run().success();
    let refused = read(&notes).ends_with(2);
    assert!(refused.stderr.contains("sources.file.enabled is false"), "{}", refused.stderr);
    environment.yore(["config", "set", "sources.file.enabled", "true"]).run().success();
    read(&notes).success();
}

#[test]
fn one_project_is_turned_off_by_its_person_or_for_everybody() {
    for shared in [&[][..], &["--shared"]] {
        let environment = computer();
        environment.yore(["capture", "off", "--project", "tide"]).args(shared).run().success();
        environment.yore(["capture", "off", "--project", "tide"]).args(shared).run().success();
        let report = environment.yore(["ingest", "--json"]).run().success().json();
        assert_eq!(report["turns_added"], 2, "{shared:?}");
        let status =
            |project: &str| environment.yore(["capture", "status", "--project", project, "--json"]).run().success().json();
        assert_eq!(json!([status("tide")["captured"], status("reef")["captured"]]), json!([false, true]));
        assert_eq!(environment.path("work/tide/.yore.toml").exists(), !shared.is_empty());
        environment.yore(["capture", "on", "--project", "tide"]).args(shared).run().success();
        assert_eq!(environment.yore(["ingest", "--json"]).run().success().json()["turns_added"], 2, "{shared:?}");
    }
}

#[test]
fn opt_in_keeps_only_what_was_opted_in() {
    let environment = computer();
    environment.yore(["config", "set", "capture.mode", "opt-in"]).run().success();
    assert_eq!(environment.yore(["ingest", "--json"]).run().success().json()["turns_added"], 0);
    assert!(rows(&environment, &["--unread"]).is_empty(), "what may not be kept is not offered");
    environment.yore(["capture", "on", "--project", "reef"]).run().success();
    assert_eq!(environment.yore(["ingest", "--json"]).run().success().json()["turns_added"], 2);
    assert!(environment.yore(["recall", "--all", "--json", "corals"]).run().success().stdout.contains("corals"));
    let outcome = environment.yore(["capture", "status", "--project", "tide"]).run().success();
    assert!(outcome.stdout.contains("is not captured: only listed projects"), "{}", outcome.stdout);
}

#[test]
fn transcripts_are_kept_longer_when_agreed_and_not_otherwise() {
    let environment = computer();
    let settings = environment.write("home/.claude/settings.json", "{\n    \"model\": \"opus\"\n}\n");
    let before = fs::read_to_string(&settings).unwrap();
    let outcome = environment.yore(["doctor", "--fix"]).run();
    assert!(outcome.stderr.contains("`yore doctor --fix --yes`"), "{outcome:?}");
    environment.yore(["up", "--no-embed"]).run().success();
    assert_eq!(fs::read_to_string(&settings).unwrap(), before, "nobody agreed");
    environment.yore(["doctor", "--fix", "--yes"]).run().success();
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{\n    \"model\": \"opus\",\n    \"cleanupPeriodDays\": 3650\n}\n");
    let copy = environment.claude().join("settings.json.before-yore");
    assert_eq!(fs::read_to_string(&copy).unwrap(), before);
    environment.yore(["up", "--no-embed", "--yes"]).run().success();
    assert_eq!(fs::read_dir(environment.claude()).unwrap().count(), 3, "once is enough");
    fs::write(&settings, "{ broken").unwrap();
    let outcome = environment.yore(["up", "--no-embed", "--yes"]).run().success();
    assert!(outcome.stderr.contains("it was not changed"), "{}", outcome.stderr);
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{ broken");
}

#[test]
fn doctor_names_what_nobody_can_read() {
    let environment = computer();
    environment.yore(["up", "--no-embed"]).run().success();
    environment.write("home/.codeium/windsurf/cascade/0a.pb", b"\x00\x9f");
    let findings = environment.yore(["doctor", "--json"]).run().success().json();
    let finding = findings.as_array().unwrap().iter().find(|finding| finding["code"] == "unread-agent").unwrap().clone();
    assert_eq!(finding["severity"], "note");
    assert!(finding["text"].as_str().unwrap().contains("1 file in"), "{finding}");
    assert!(finding["remedy"].as_str().unwrap().contains("export"), "{finding}");
}

#[test]
fn addresses_of_this_computer_are_not_fetched() {
    let environment = TestEnvironment::new();
    let dry = environment.yore(["ingest", "--dry-run", "https://example.invalid/page"]).run().success();
    assert_eq!(dry.stdout, "would fetch https://example.invalid/page\n");
    assert!(!environment.data().exists(), "a dry run writes nothing");
    let outcome = environment.yore(["ingest", "--json", "http://127.0.0.1:9/page"]).run().ends_with(1);
    let report = outcome.json();
    assert_eq!(report["pages"], json!([]));
    assert_eq!(report["failures"][0]["path"], "http://127.0.0.1:9/page");
    environment.yore(["ingest", "--source", "codex", "https://example.invalid/"]).run().ends_with(2);
}

#[test]
fn documents_obey_the_policy_too() {
    let environment = computer();
    for project in ["tide", "reef"] {
        environment.write(&format!("work/{project}/notes.md"), format!("# Notes\n\nThe {project} is salty.\n"));
        environment.write(&format!("work/{project}/secret/plan.md"), "# Plan\n\nNobody may know.\n");
    }
    let work = environment.path("work");
    let ingest = |settings: &[&str]| {
        let mut arguments = vec!["ingest", "--json", "--source", "file"];
        arguments.extend(settings);
        environment.yore(arguments).arg(&work).run().success().json()["turns_added"].clone()
    };
    assert_eq!(ingest(&["-c", "capture.mode=opt-in"]), 0);
    let reef = format!("capture.exclude_projects=[\"{}\"]", work.join("reef").display());
    let secret = "capture.exclude_paths=**/secret/**";
    assert_eq!(ingest(&["-c", &reef, "-c", secret]), 1);
    environment.write("work/reef/.yore.toml", "capture.enabled = false");
    assert_eq!(ingest(&["-c", secret]), 0, "a project below the directory that was given speaks for itself");
    environment.yore(["recall", "--all", "tide is salty"]).run().success();
    assert!(!environment.yore(["recall", "--all", "salty"]).run().stdout.contains("The reef"));
}

#[test]
fn history_that_an_agent_leaves_in_a_project_is_found_by_who_works_there() {
    let environment = TestEnvironment::new();
    environment.write(
        "harbour/.aider.chat.history.md",
        "\n# aider chat started at 2026-03-01 10:00:00\n\n#### paint the northern lighthouse  \n\nDone, it is white.\n",
    );
    environment.write("harbour/src/light.rs", "");
    let _ = environment.yore(["up", "--no-embed"]).current_dir(environment.path("harbour/src")).run().success();
    let found = environment.yore(["recall", "--all", "northern lighthouse"]).run().success().stdout;
    assert!(found.contains("paint the northern lighthouse"), "{found}");
}

#[test]
fn history_that_an_agent_leaves_in_a_project_is_found_through_another_agent() {
    let environment = TestEnvironment::new();
    let project = environment.path("harbour");
    fs::create_dir_all(&project).unwrap();
    fs::write(
        project.join(".aider.chat.history.md"),
        "\n# aider chat started at 2026-03-01 10:00:00\n\n#### paint the northern lighthouse  \n\nDone, it is white.\n",
    )
    .unwrap();
    Transcript::new("5f0c0002-0001-4000-8001-000000000001", project.to_str().unwrap())
        .human("where do we moor")
        .assistant("At the southern pier.")
        .write(&environment.projects());
    let _ = environment.yore(["up", "--no-embed"]).run().success();
    let found = environment.yore(["recall", "--all", "northern lighthouse"]).run().success().stdout;
    assert!(found.contains("paint the northern lighthouse"), "{found}");
}
