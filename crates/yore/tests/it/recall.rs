//! `yore recall` on a small memory: answers, filters, and forms of a question.

use std::fs;

use serde_json::json;

use crate::small_memory::{HARBOR, Memory};
use crate::transcript::Transcript;

#[test]
fn recall_shows_words_and_place() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["recall", "crane lease at boot", "-n", "2"]).success().shown(), @"
    [5b710b7d59] assistant 2026-03-02 harbor
      Done: leases of dead processes are taken over at boot.
    [1c86f8a355] you 2026-03-02 harbor
      why is the crane scheduler slow after a restart?
    [47e4184dcf] assistant
      The scheduler waits for the lease of the dead process. It should take over leases at boot.
    ");
}

#[test]
fn recall_as_json_has_every_part() {
    let memory = Memory::new();
    let answer = memory.call(&["recall", "--json", "--role", "tool_result", "ERR_LEASE_GONE"]).success().json();
    let hit = &answer["results"][0];
    assert_eq!(hit["role"], "tool_result");
    assert_eq!(hit["session"], HARBOR);
    assert_eq!(hit["project"], "harbor");
    assert_eq!(hit["branch"], "main");
    assert_eq!(hit["title"], "Crane scheduler takes over leases");
    assert_eq!(hit["source"]["path"], memory.harbor.canonicalize().unwrap().to_str().unwrap());
    assert_eq!(hit["source"]["line"], 5);
    assert_eq!(hit["source"]["is_gone"], false);
    let parts: f64 = hit["score_parts"].as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
    assert!((parts - hit["score"].as_f64().unwrap()).abs() < 0.001, "{hit}");
}

#[test]
fn further_wordings_find_what_the_question_does_not_name() {
    let memory = Memory::new();
    let planted = "Done: leases of dead processes are taken over at boot.";
    assert!(!memory.recalled(&["--all", "how did it end"]).contains(&planted.to_owned()));
    let worded =
        memory.recalled(&["--all", "how did it end", "-w", "leases of \"dead processes", "--wording", "taken over at \"boot"]);
    assert_eq!(worded.first().map(String::as_str), Some(planted));
}

#[test]
fn recall_explains_its_scores() {
    let memory = Memory::new();
    let outcome = memory.call(&["recall", "--explain", "-n", "1", "tide tables"]).success();
    assert!(outcome.stdout.contains("score "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("looked up: "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("turns landed"), "{}", outcome.stdout);
}

#[test]
fn search_is_another_name_of_recall() {
    let memory = Memory::new();
    let shown = memory.call(&["recall", "tide tables"]).success().shown();
    assert_eq!(memory.call(&["search", "tide tables"]).success().shown(), shown);
}

#[test]
fn filters_narrow_what_is_recalled() {
    let memory = Memory::new();
    assert_eq!(memory.recalled(&["-p", "quarry", "plan"]).len(), 2);
    assert_eq!(memory.recalled(&["-p", "quarry", "crane"]), [""; 0]);
    assert_eq!(memory.recalled(&["--branch", "feature/tides", "tide tables crane"]).len(), 2);
    assert_eq!(memory.recalled(&["--branch", "nowhere", "crane"]), [""; 0]);
    assert_eq!(memory.recalled(&["--session", "4a5b0002", "crane tables"]).len(), 2);
    assert_eq!(memory.recalled(&["--role", "tool_result", "lease"]), ["ERR_LEASE_GONE: lease 4711 expired at boot"]);
    assert_eq!(memory.recalled(&["--kind", "subagent", "crane"]), ["Only the crane module renews."]);
    assert_eq!(memory.recalled(&["--agent", "jsonl", "crane"]), [""; 0]);
    assert_eq!(memory.recalled(&["--until", "2026-02-10", "tide tables crane"]).len(), 2);
    assert_eq!(memory.recalled(&["--since", "2026-02-10", "tide tables"]), [""; 0]);
    assert_eq!(memory.recalled(&["--as-of", "2026-02-02T02:40:30Z", "tables"]), ["import the tide tables"]);
}

#[test]
fn current_project_is_asked_unless_told_otherwise() {
    let memory = Memory::new();
    let here = memory.environment.path("work/ship");
    fs::create_dir_all(here.join("deep")).unwrap();
    let session = "5e110004-a0b1-48f7-97ac-550c53cfdb11";
    Transcript::new(session, here.to_str().unwrap())
        .human("where is the anchor plan?")
        .assistant("In the bow.")
        .write(&memory.environment.projects());
    memory.environment.ingest(&memory.environment.projects());
    let ask = |more: &[&str]| {
        let outcome = memory.environment.yore(["recall", "--json", "plan"]).args(more).current_dir(here.join("deep")).run();
        let answer = outcome.success().json();
        (answer["projects"].clone(), answer["results"].as_array().unwrap().len())
    };
    assert_eq!(ask(&[]), (json!(["ship"]), 1));
    assert_eq!(ask(&["--all"]), (json!([]), 3));
    assert_eq!(ask(&["-c", "recall.scope=all"]), (json!([]), 3));
}

#[test]
fn nothing_opened_is_told_where_files_are_asked_for() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["recall", "--files", "crane lease at boot"]).success().shown(), @"
    --- standard error
    no agent opened a file in what was found
    ");
}

#[test]
fn history_too_short_to_replay_is_said_to_be() {
    let memory = Memory::new();
    let outcome = memory.call(&["replay"]).ends_with(1);
    assert!(outcome.shown().contains("nothing to replay"), "{}", outcome.shown());
    assert_eq!(memory.call(&["replay", "--json"]).ends_with(1).json()["prompts"], 0);
}

#[test]
fn an_answer_below_the_asked_confidence_is_refused() {
    let memory = Memory::new();
    let outcome = memory.call(&["recall", "--min-confidence", "1", "zeppelin lease crane"]).ends_with(1);
    assert!(
        outcome.shown().contains("nothing that bears on it") && outcome.shown().contains("never met: zeppelin"),
        "{}",
        outcome.shown()
    );
    let answer = memory.call(&["recall", "--json", "zeppelin lease crane"]).success().json();
    let confidence = answer["confidence"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&confidence) && answer["results"][0]["confidence"].as_f64().unwrap() <= confidence, "{answer}");
}

#[test]
fn nothing_found_is_told_beside_the_result() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["recall", "zeppelin"]).shown(), @"
    --- standard error
    no matches in any project; looked through 11 turns; never met: zeppelin
    --- exit code Some(1)
    ");
    insta::assert_snapshot!(memory.call(&["recall", "-p", "harbor", "zeppelin"]).shown(), @"
    --- standard error
    no matches in project harbor (--all asks every project); never met: zeppelin
    --- exit code Some(1)
    ");
    let outcome = memory.call(&["recall", "--json", "zeppelin"]).ends_with(1);
    assert_eq!(outcome.json()["results"], json!([]));
    assert_eq!(outcome.stderr, "");
}

#[test]
fn question_may_be_anything_that_can_be_typed() {
    let memory = Memory::new();
    for question in ["\"", "()[]{}", "AND OR NOT", "a:b", "*", "''", "\u{0}x".trim_start_matches('\u{0}'), "é漢字🦀", "\\"] {
        let outcome = memory.call(&["recall", "--json", question]);
        assert!(matches!(outcome.status.code(), Some(0 | 1)), "{question:?}: {outcome:?}");
    }
}

#[test]
fn question_comes_from_standard_input() {
    let memory = Memory::new();
    let outcome = memory.environment.yore(["recall", "--json", "-"]).stdin("tide\ntables").run().success();
    assert_eq!(outcome.json()["question"], "tide\ntables");
    let broken = memory.environment.yore(["recall", "-"]).stdin(b"\xff\xfe").run().ends_with(2);
    assert_eq!(broken.code(), "usage");
}

#[test]
fn filter_that_lets_nothing_through_is_named_with_what_it_removed() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["recall", "--kind", "document", "--since", "2026-01-01", "crane"]).shown(), @"
    --- standard error
    no matches in any project; looked through 11 turns; --kind removed 2 results
    --- exit code Some(1)
    ");
    let both = memory.call(&["recall", "--kind", "document", "--since", "2026-05-01", "crane"]).ends_with(1);
    assert!(both.stderr.contains("; --kind with --since removed "), "{}", both.stderr);
    let answer = memory.call(&["recall", "--json", "--role", "summary", "crane"]).ends_with(1).json();
    assert_eq!(answer["withheld"][0]["filters"], json!(["role"]));
    assert_eq!(memory.call(&["recall", "--json", "--role", "summary", "zeppelin"]).json()["withheld"], json!(null));
}

#[test]
fn file_alone_is_answered_with_the_sessions_that_touched_it_and_memories_about_it() {
    let memory = Memory::new();
    let project = memory.environment.path("work/quay");
    for (at, id) in ["6a5b0001-3f01-4714-9c31-5c452003a142", "6a5b0002-3f02-4714-9c32-5c452003a142"].into_iter().enumerate() {
        Transcript::new(id, project.to_str().unwrap())
            .at(1_772_000_000_000 + at as i64 * 86_400_000)
            .human(["Implement the following plan:\n\n# Lights of the quay\n\nThey blink.", "mend the lights again"][at])
            .message(&[json!({
                "type": "tool_use", "id": format!("toolu_{at}"), "name": "Edit",
                "input": {"file_path": project.join("src/lights.rs"), "old_string": "dark", "new_string": "bright"},
            })])
            .assistant("The lights blink.")
            .write(&memory.environment.projects());
    }
    memory.environment.ingest(&memory.environment.projects());
    memory.environment.yore(["remember", "--global", "--kind", "fact", "All blinking is in src/lights.rs."]).run().success();
    let told = memory.call(&["recall", "--file", "lights.rs"]).success().stdout;
    let rows: Vec<&str> = told.lines().take(4).collect();
    assert!(rows[0].starts_with("Overview about “lights.rs”"), "{told}");
    assert!(rows[1].starts_with("- mend the lights again · changed 1× · 2026-02-26"), "{told}");
    assert!(rows[2].starts_with("- Lights of the quay · changed 1× · 2026-02-25"), "{told}");
    assert!(rows[3].starts_with("- All blinking is in src/lights.rs. · fact · "), "{told}");
    let one = memory.call(&["recall", "--file", "lights.rs", "-n", "1"]).success().stdout;
    assert!(!one.contains("What was said"), "{one}");
    assert_eq!(one.matches("\n- ").count(), 1, "{one}");
    memory.call(&["recall"]).ends_with(2);
}

#[test]
fn wording_may_begin_with_a_dash() {
    let memory = Memory::new();
    memory.call(&["recall", "crane", "-w", "-X taken over", "--wording", "--at-boot"]).success();
    memory.call(&["recall", "crane", "--no-such-option"]).ends_with(2);
}

#[test]
fn question_may_begin_with_a_dash() {
    let memory = Memory::new();
    memory.call(&["recall", "-u crane"]).ends_with(2);
    let outcome = memory.call(&["recall", "--json", "--", "-u crane"]).success();
    assert_eq!(outcome.json()["question"], "-u crane");
}

#[test]
fn unknown_project_is_answered_with_the_nearest() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["recall", "-p", "harbour", "x"]).shown(), @r#"
    --- standard error
    error: unknown project "harbour" [unknown-project]
    hint: did you mean "harbor"? `yore projects` lists all
    --- exit code Some(1)
    "#);
    insta::assert_snapshot!(memory.call(&["sessions", "-p", "zzz"]).shown(), @r#"
    --- standard error
    error: unknown project "zzz" [unknown-project]
    hint: `yore projects` lists all
    --- exit code Some(1)
    "#);
}
