//! Every command on a small memory, as a user or a script calls it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::environment::{Outcome, PROGRAM, TestEnvironment};
use crate::transcript::Transcript;

const HARBOR: &str = "4a5b0001-3f08-4714-9c34-5c452003a142";
const HARBOR_OLD: &str = "4a5b0002-db5a-49aa-8e84-47468670e630";
const QUARRY: &str = "9c0d0003-f01d-48f7-96ac-550c53cfdb11";

/// Three sessions and a side conversation of two projects, ingested.
struct Memory {
    environment: TestEnvironment,
    harbor: PathBuf,
}

impl Memory {
    fn new() -> Self {
        let environment = TestEnvironment::new();
        let projects = environment.projects();
        let harbor = Transcript::new(HARBOR, "/home/dev/harbor")
            .human("why is the crane scheduler slow after a restart?")
            .tool("I look at the log.", "journalctl -u crane", "ERR_LEASE_GONE: lease 4711 expired at boot", true)
            .assistant("The scheduler waits for the lease of the dead process. It should take over leases at boot.")
            .human("do that")
            .assistant("Done: leases of dead processes are taken over at boot.")
            .title("Crane scheduler takes over leases");
        harbor
            .subagent("b1c2d3")
            .human("list all users of Lease::renew")
            .assistant("Only the crane module renews.")
            .write(&projects);
        let path = harbor.write(&projects);
        Transcript::new(HARBOR_OLD, "/home/dev/harbor")
            .at(1_770_000_000_000)
            .on("feature/tides")
            .human("import the tide tables")
            .assistant("The tide tables of 31 harbours are imported nightly.")
            .write(&projects);
        let token = format!("{}_{}", "npm", "f3Gh5Jk7Lq9Wz1Xc2Vb4Nm6Qa8Sd0Ef3Rt5Y");
        Transcript::new(QUARRY, "/home/dev/quarry")
            .at(1_771_000_000_000)
            .human(&format!("publish the blasting plan with {token}"))
            .assistant("The blasting plan is published.")
            .write(&projects);
        environment.ingest(&projects);
        Self { environment, harbor: path }
    }

    fn call(&self, arguments: &[&str]) -> Outcome {
        self.environment.yore(arguments).run()
    }

    fn recalled(&self, arguments: &[&str]) -> Vec<String> {
        let outcome = self.environment.yore(["recall", "--json"]).args(arguments).run();
        let answer = outcome.json();
        let results = answer["results"].as_array().unwrap();
        assert_eq!(outcome.status.code(), Some(if results.is_empty() { 1 } else { 0 }));
        results.iter().map(|hit| text(&hit["quote"]).to_owned()).collect()
    }

    /// Returns the id of the first turn that answers.
    fn turn(&self, question: &str) -> String {
        text(&self.call(&["recall", "--all", "--json", question]).json()["results"][0]["id"]).to_owned()
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

#[test]
fn recall_shows_words_and_place() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["recall", "crane lease at boot", "-n", "2"]).success().shown(), @"
    [5b710b7d59] assistant 2026-03-02 harbor
      Done: leases of dead processes are taken over at boot.
    [1c86f8a355] you 2026-03-02 harbor
      why is the crane scheduler slow after a restart?
    [28818959b1] assistant
      I look at the log.
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
fn question_may_begin_with_a_dash() {
    let memory = Memory::new();
    memory.call(&["recall", "-u crane"]).ends_with(2);
    let outcome = memory.call(&["recall", "--json", "--", "-u crane"]).success();
    assert_eq!(outcome.json()["question"], "-u crane");
}

#[test]
fn every_command_that_needs_a_memory_says_how_to_get_one() {
    let environment = TestEnvironment::new();
    for arguments in [
        &["recall", "x"][..],
        &["show", "abcd1234"],
        &["sessions"],
        &["projects"],
        &["stats"],
        &["reindex"],
        &["forget", "--session", "abcd1234"],
    ] {
        let outcome = environment.yore(arguments).run().ends_with(3);
        assert_eq!(outcome.code(), "store/missing", "{arguments:?}");
        assert!(outcome.stderr.contains("hint: run `yore up`"), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "");
    }
    assert!(!environment.data().exists(), "asking must not make anything");
    let outcome = environment.yore(["recall", "--json", "x"]).run().ends_with(3);
    let error: Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!(error["error"]["code"], "store/missing");
    assert!(text(&error["error"]["hint"]).contains("yore up"));
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

#[test]
fn show_gives_a_turn_with_its_surroundings() {
    let memory = Memory::new();
    let turn = memory.turn("scheduler waits for the lease of the dead");
    insta::assert_snapshot!(memory.call(&["show", &turn, "-C", "1"]).success().shown(), @"
    4a5b0001-3f08-4714-9c34-5c452003a142 claude-code · harbor · Crane scheduler takes over leases
    … 2 turns before

    tool error 2026-03-02 09:01 · e26a08da9f
      ERR_LEASE_GONE: lease 4711 expired at boot

    ▶ assistant 2026-03-02 09:02 · 47e4184dcf
      The scheduler waits for the lease of the dead process. It should take over leases at boot.

      [root]/home/.claude/projects/-home-dev-harbor/4a5b0001-3f08-4714-9c34-5c452003a142.jsonl:6

    you 2026-03-02 09:02 · 73726e82ad
      do that

    … 1 turn after
    it goes on: yore show 47e4184dcf698763ba8c6299e297bf39 --from 6
    ");
    // The first characters of an id are enough.
    assert_eq!(
        memory.call(&["show", &turn[..10], "-C", "1"]).success().shown().replace(&format!("show {}", &turn[..10]), "show"),
        memory.call(&["show", &turn, "-C", "1"]).success().shown().replace(&format!("show {turn}"), "show")
    );
    let exchange = memory.call(&["show", &turn]).success().stdout;
    assert!(exchange.contains("ERR_LEASE_GONE") && !exchange.contains("do that"), "{exchange}");
    let shown = memory.call(&["show", &turn, "-C", "1", "--json"]).success().json();
    assert_eq!(text(&shown["focus"]), turn);
    assert_eq!(shown["turns"].as_array().unwrap().len(), 3);
    assert_eq!(json!([shown["turns_before"], shown["turns_after"]]), json!([2, 1]));
}

#[test]
fn show_gives_a_whole_session() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["show", "4a5b0002"]).success().shown(), @"
    4a5b0002-db5a-49aa-8e84-47468670e630 claude-code · harbor
    you 2026-02-02 02:40 · bda9ffe907
      import the tide tables

    assistant 2026-02-02 02:40 · 8007e2b232
      The tide tables of 31 harbours are imported nightly.
    ");
    assert_eq!(memory.call(&["show", HARBOR_OLD]).success().shown(), memory.call(&["show", "4a5b0002"]).success().shown());
    let cut = memory.call(&["show", HARBOR_OLD, "--budget", "22"]).success();
    assert!(cut.stdout.contains("import the tide tables") && !cut.stdout.contains("nightly"), "{}", cut.stdout);
    assert!(
        cut.stdout.ends_with("… 1 turn after\nit goes on: yore show 4a5b0002-db5a-49aa-8e84-47468670e630 --from 2\n"),
        "{}",
        cut.stdout
    );
    let rest = memory.call(&["show", HARBOR_OLD, "--from", "2"]).success();
    assert!(!rest.stdout.contains("import the") && rest.stdout.contains("nightly"), "{}", rest.stdout);
}

#[test]
fn show_refuses_what_is_unclear_or_unknown() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["show", "4a5b"]).shown(), @r#"
    --- standard error
    error: several ids begin with "4a5b" [ambiguous-id]
    hint: it matches session 4a5b0002-db5a-49aa-8e84-47468670e630 (claude-code), session 4a5b0001-3f08-4714-9c34-5c452003a142 (claude-code); give more characters
    --- exit code Some(2)
    "#);
    insta::assert_snapshot!(memory.call(&["show", "ffffffffffff"]).shown(), @r#"
    --- standard error
    error: unknown id "ffffffffffff" [unknown-id]
    hint: give an id that `yore recall`, `yore memories` or `yore sessions` shows, or 4 or more of its first characters
    --- exit code Some(1)
    "#);
    memory.call(&["show", ""]).ends_with(1);
    memory.call(&["show", "%"]).ends_with(1);
}

#[test]
fn show_original_gives_back_the_redacted_lines() {
    let memory = Memory::new();
    let original = fs::read_to_string(&memory.harbor).unwrap();
    assert_eq!(memory.call(&["show", HARBOR_OLD, "--original"]).success().stdout.lines().count(), 2);
    let shown = memory.call(&["show", HARBOR, "--original"]).success().stdout;
    assert!(shown.contains(&original), "lines without secrets come back byte for byte");
    let redacted = memory.call(&["show", QUARRY, "--original"]).success().stdout;
    assert!(redacted.contains("publish the blasting plan with [yore:redacted registry-token "), "{redacted}");
    fs::remove_file(&memory.harbor).unwrap();
    assert_eq!(memory.call(&["show", HARBOR, "--original"]).success().stdout, shown, "the source is not needed");
}

#[test]
fn sessions_are_listed_last_used_first() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["sessions"]).success().shown(), @"
    2026-03-02 09:02  ddbd5e4076  harbor  6 turns  Crane scheduler takes over leases
    2026-02-13 16:27  6615d0f87b  quarry  2 turns  publish the blasting plan with [yore:redacted registry-token [hash]]
    2026-02-02 02:40  801a71052f  harbor  2 turns  import the tide tables
    ");
    let list = |arguments: &[&str]| -> Vec<String> {
        let outcome = memory.environment.yore(["sessions", "--json"]).args(arguments).run().success();
        outcome.json().as_array().unwrap().iter().map(|session| text(&session["session"]).to_owned()).collect()
    };
    assert_eq!(list(&[]), [HARBOR, QUARRY, HARBOR_OLD]);
    assert_eq!(list(&["--oldest", "-n", "1"]), [HARBOR_OLD]);
    assert_eq!(list(&["-p", "harbor"]), [HARBOR, HARBOR_OLD]);
    assert_eq!(list(&["--subagents"]).len(), 4);
}

#[test]
fn project_is_renamed_and_found_by_its_new_name_and_its_short_id() {
    let environment = TestEnvironment::new();
    for (at, name) in ["tide", "reef"].into_iter().enumerate() {
        let directory = environment.path("work").join(name).to_str().unwrap().to_owned();
        let session = format!("4a5b000{at}-3f0{at}-4714-9c3{at}-5c452003a142");
        Transcript::new(&session, &directory)
            .human(&format!("when is high water at the {name}"))
            .assistant("At noon.")
            .write(&environment.projects());
    }
    environment.ingest(&environment.projects());
    let projects = |arguments: &[&str]| environment.yore(["projects", "--json"]).args(arguments).run();
    let named = |outcome: &crate::environment::Outcome, name: &str| {
        let listed = outcome.json();
        listed
            .as_array()
            .unwrap()
            .iter()
            .find(|project| project["name"] == name)
            .map(|project| project["id"].as_str().unwrap().to_owned())
    };
    let before = projects(&[]).success();
    let id = named(&before, "tide").unwrap();
    let table = environment.yore(["projects"]).run().success().stdout;
    let short = &id[id.len() - 10..];
    assert!(table.contains(short), "{table}");
    let after = projects(&["rename", short, "Tide tables"]).success();
    assert_eq!(named(&after, "Tide tables"), Some(id));
    for (project, name) in [("Tide tables", "REEF"), ("reef", " ")] {
        let refused = environment.yore(["projects", "rename", project, name]).run().ends_with(2);
        assert_eq!(refused.code(), "bad-project-name");
    }
    environment.yore(["recall", "high water", "--project", "tide tables"]).run().success();
    environment.yore(["reindex"]).run().success();
    assert!(named(&projects(&[]).success(), "Tide tables").is_some(), "reading again gives no name back");
}

#[test]
fn projects_are_listed_and_merged() {
    let memory = Memory::new();
    let list = |arguments: &[&str]| -> Vec<Value> {
        let outcome = memory.environment.yore(["projects", "--json"]).args(arguments).run().success();
        outcome.json().as_array().unwrap().clone()
    };
    let names: Vec<Value> =
        list(&[]).iter().map(|project| json!([project["name"], project["sessions"], project["turns"]])).collect();
    assert_eq!(names, [json!(["harbor", 2, 10]), json!(["quarry", 1, 2])]);
    assert_eq!(memory.call(&["projects"]).success().stdout.lines().count(), 2);

    assert_eq!(memory.call(&["projects", "merge", "quarrry", "harbor"]).ends_with(1).code(), "unknown-project");
    let merged = list(&["merge", "quarry", "harbor"]);
    assert_eq!(merged.len(), 1);
    assert_eq!(json!([merged[0]["name"], merged[0]["sessions"]]), json!(["harbor", 3]));
    assert_eq!(memory.recalled(&["-p", "harbor", "blasting"]).len(), 2, "found under the new project");
    assert_eq!(memory.recalled(&["-p", "/home/dev/quarry", "blasting"]).len(), 2, "the old directory still names it");
    memory.environment.is_sound();
}

#[test]
fn stats_count_everything() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["stats"]).success().shown(), @"
    claude-code  3 sessions, 1 side conversation, 12 turns
    projects     2
    turns        6 assistant, 4 human, 1 tool_result, 1 injected
    sources      4 files of [size]
    archive      [size] ([share] of the sources)
    index        11 turns, 0 waiting turns for [size]
    vectors      10 turns of the static table; none of a local model; [size]
    on disk      [size] ([share] of the sources) in [root]/data
    redacted     1 registry-token
    ");
    let stats = memory.call(&["stats", "--json"]).success().json();
    assert_eq!(stats["agents"], json!([{"agent": "claude-code", "sessions": 3, "subagents": 1, "documents": 0, "turns": 12}]));
    assert_eq!(stats["redactions"], json!({"registry-token": 1}));
    assert_eq!(stats["index"]["turns"], stats["index"]["expected"]);
    assert_eq!(stats["files"], 4);
}

#[test]
fn reindex_keeps_ids_and_answers_without_the_sources() {
    let memory = Memory::new();
    let before = (memory.recalled(&["--all", "tide tables"]), memory.turn("tide tables"));
    fs::remove_dir_all(memory.environment.claude()).unwrap();
    insta::assert_snapshot!(memory.call(&["reindex"]).success().shown(), @"15 lines of 4 files read again: 0 turns added, 0 changed, 0 removed; 11 indexed");
    assert_eq!((memory.recalled(&["--all", "tide tables"]), memory.turn("tide tables")), before);
    memory.environment.is_sound();
}

#[test]
fn soft_forgetting_hides_a_session_until_it_is_restored() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["forget", "--session", "9c0d0003", "--dry-run"]).success().shown(), @"
    would forget 1 episode with 2 turns
      9c0d0003-f01d-48f7-96ac-550c53cfdb11
    ");
    assert_eq!(memory.recalled(&["--all", "blasting"]).len(), 2, "a dry run changes nothing");
    insta::assert_snapshot!(memory.call(&["forget", "--session", "9c0d0003"]).success().shown(), @"
    forgot 1 episode with 2 turns
      9c0d0003-f01d-48f7-96ac-550c53cfdb11
    `yore forget 9c0d0003 --restore` brings it back
    ");
    assert_eq!(memory.recalled(&["--all", "blasting"]), [""; 0]);
    assert!(!memory.call(&["sessions"]).success().stdout.contains("9c0d0003"));
    assert!(memory.call(&["sessions", "--forgotten"]).success().stdout.contains("[forgotten]"));
    memory.call(&["show", QUARRY]).ends_with(1);
    memory.environment.ingest(&memory.environment.projects());
    assert_eq!(memory.recalled(&["--all", "blasting"]), [""; 0], "reading again does not bring it back");
    insta::assert_snapshot!(memory.call(&["forget", "--session", "9c0d0003", "--restore"]).success().shown(), @"
    restored 1 episode with 2 turns
      9c0d0003-f01d-48f7-96ac-550c53cfdb11
    ");
    assert_eq!(memory.recalled(&["--all", "blasting"]).len(), 2);
    memory.environment.is_sound();
}

#[test]
fn hard_forgetting_leaves_no_trace_and_is_final() {
    let memory = Memory::new();
    let planned = memory.call(&["forget", "--session", HARBOR, "--hard", "--dry-run", "--json"]).success().json();
    assert_eq!(json!([planned["dry_run"], planned["turns"]]), json!([true, 8]));
    assert!(!memory.recalled(&["--all", "crane"]).is_empty(), "a dry run changes nothing");
    insta::assert_snapshot!(memory.call(&["forget", "--session", HARBOR, "--hard"]).success().shown(), @"
    forgot for good 2 episodes with 8 turns
      4a5b0001-3f08-4714-9c34-5c452003a142
      4a5b0001-3f08-4714-9c34-5c452003a142/agent-b1c2d3
    11 lines removed from the archive
    the agent's own transcript is not yore's and was not touched
    ");
    assert_eq!(memory.recalled(&["--all", "crane lease"]), [""; 0]);
    memory.environment.ingest(&memory.environment.projects());
    assert_eq!(memory.recalled(&["--all", "crane lease"]), [""; 0], "the source does not bring it back");
    memory.call(&["forget", "--session", HARBOR, "--restore"]).ends_with(1);
    assert_eq!(memory.recalled(&["--all", "tide tables"]).len(), 2, "others stay");
    memory.environment.is_sound();
}

#[test]
fn forgetting_asks_for_a_whole_session() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["forget", "--session", &format!("{HARBOR}/agent-b1c2d3")]).shown(), @r#"
    --- standard error
    error: "4a5b0001-3f08-4714-9c34-5c452003a142/agent-b1c2d3" is a side conversation of session 4a5b0001-3f08-4714-9c34-5c452003a142 [not-a-session]
    hint: to forget it, forget session 4a5b0001-3f08-4714-9c34-5c452003a142
    --- exit code Some(2)
    "#);
    assert_eq!(memory.call(&["forget", "--session", "eeeeeeee"]).ends_with(1).code(), "unknown-session");
    assert_eq!(memory.call(&["forget", "--session", "4a5b"]).ends_with(2).code(), "ambiguous-id");
    // A blank id, as of an unset variable, names nothing, also if there is but one thing.
    let single = TestEnvironment::new();
    let _ = single.yore(["remember", "Ropes are counted."]).run().success();
    for command in ["forget", "show"] {
        for id in ["", " "] {
            assert_ne!(single.yore([command, id]).run().status.code(), Some(0), "{command} {id:?}");
        }
    }
    assert!(single.yore(["notes"]).run().success().stdout.contains("Ropes are counted."));
    memory.call(&["forget", "--session", QUARRY, "--hard", "--restore"]).ends_with(2);
}

#[test]
fn doctor_finds_nothing_wrong_with_a_fresh_memory() {
    let memory = Memory::new();
    let shown = memory.call(&["doctor"]).success().shown();
    // The time since the last capture differs each time.
    let captured = shown.lines().find(|line| line.contains("Claude Code: last captured ")).unwrap();
    insta::assert_snapshot!(shown.replacen(&format!("{captured}\n"), "", 1), @"
    ✓ program          yore 0.1.0, schema 20
    ✓ data-directory   [root]/data
    · store            [root]/data/yore.db opens; its content was not checked
                       `yore doctor --deep` checks all of it
    ✓ archive-sources  every source was read to its end
    ✓ index            the full-text index holds all 11 turns
    ✓ vectors          the static table's index holds the 10 turns that have words
    ✓ permissions      only you can read the data directory
    · retention        Claude Code deletes transcripts after 30 days; the oldest of 4 transcripts has 30 days left, 0 due within a week
                       `yore doctor --fix` offers to keep them longer
    ✓ daemon           no daemon is running; every command works without it
    · agents           no agent calls yore yet
                       `yore install` lists what it would do for each agent of this computer
    ");
    memory.call(&["doctor", "--deep"]).success();
    let codes: Vec<String> = memory
        .call(&["doctor", "--deep", "--json"])
        .success()
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| text(&finding["code"]).to_owned())
        .collect();
    assert!(codes.contains(&"archive".to_owned()), "{codes:?}");
}

#[test]
fn doctor_before_any_memory_says_what_is_missing() {
    let outcome = TestEnvironment::new().yore(["doctor"]).run().success();
    assert!(outcome.stdout.contains("no memory at"), "{}", outcome.stdout);
}

#[cfg(unix)]
#[test]
fn doctor_reports_open_permissions_and_mends_them() {
    use std::os::unix::fs::PermissionsExt;
    let memory = Memory::new();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(memory.environment.data(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(memory.environment.database(), fs::Permissions::from_mode(0o644)).unwrap();
    let outcome = memory.call(&["doctor"]).ends_with(1);
    let told = outcome.stdout.lines().find(|line| line.contains("permissions")).unwrap();
    assert!(told.contains("others can read") && told.contains("yore.db"), "{told}");
    assert!(outcome.stdout.contains("run `yore doctor --fix`"), "{}", outcome.stdout);
    memory.call(&["doctor", "--fix"]).success();
    assert_eq!((mode(memory.environment.data()), mode(memory.environment.database())), (0o700, 0o600));
    memory.call(&["doctor"]).success();
}

#[test]
fn deleted_index_is_made_anew_and_answers_the_same() {
    let memory = Memory::new();
    let before = memory.recalled(&["--all", "crane lease at boot"]);
    fs::remove_dir_all(memory.environment.data().join("index")).unwrap();
    memory.call(&["doctor"]).success();
    assert_eq!(memory.recalled(&["--all", "crane lease at boot"]), before);
    memory.call(&["doctor", "--fix"]).success();
    let stats = memory.call(&["stats", "--json"]).success().json();
    assert_eq!(json!([stats["index"]["turns"], stats["index"]["queued"]]), json!([stats["index"]["expected"], 0]));
    memory.environment.is_sound();
}

#[test]
fn damaged_index_is_found_and_made_anew() {
    let memory = Memory::new();
    let before = memory.recalled(&["--all", "crane lease at boot"]);
    let mut folders = vec![memory.environment.data().join("index")];
    let mut damaged = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry
                .path()
                .extension()
                .is_some_and(|kind| matches!(kind.to_str(), Some("term" | "idx" | "store" | "fast")))
            {
                let mut bytes = fs::read(entry.path()).unwrap();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0xff;
                fs::write(entry.path(), bytes).unwrap();
                damaged += 1;
            }
        }
    }
    assert!(damaged >= 3);
    let outcome = memory.call(&["doctor", "--deep"]).ends_with(1);
    assert!(outcome.stdout.contains("run `yore reindex`"), "{}", outcome.stdout);
    memory.call(&["reindex"]).success();
    assert_eq!(memory.recalled(&["--all", "crane lease at boot"]), before);
    memory.environment.is_sound();
}

#[test]
fn doctor_sees_that_a_source_has_grown() {
    let memory = Memory::new();
    let mut content = fs::read_to_string(&memory.harbor).unwrap();
    content.push_str(&content.lines().next().unwrap().replace("why is", "what was").replace("000000000001", "0000000000ff"));
    content.push('\n');
    fs::write(&memory.harbor, content).unwrap();
    // The daemon would read it in a moment; only a file that stays unread is reported.
    memory.call(&["doctor"]).success();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
    fs::File::options().append(true).open(&memory.harbor).unwrap().set_modified(earlier).unwrap();
    let outcome = memory.call(&["doctor"]).ends_with(1);
    assert!(outcome.stdout.contains("1 source files have"), "{}", outcome.stdout);
    memory.environment.ingest(&memory.environment.projects());
    memory.call(&["doctor"]).success();
    fs::remove_file(&memory.harbor).unwrap();
    let outcome = memory.call(&["doctor"]).success();
    assert!(outcome.stdout.contains("deleted; the archive has them"), "{}", outcome.stdout);
}

#[test]
fn uniform_documents_are_read_from_any_path() {
    let environment = TestEnvironment::new();
    let document = json!({"corpus_id": "tide", "doc_id": 7, "timestamp": "2026-01-22T14:53:11Z", "turns": [
        {"turn_id": "t1", "role": "user", "text": "Which port is shallow?"},
        {"turn_id": "t2", "role": "assistant", "text": "Port Ellen is shallow at low tide."},
    ]});
    let file = environment.write("export.txt", format!("{document}\n"));
    let report = environment.yore(["ingest", "--source", "jsonl", "--json"]).arg(&file).run().success().json();
    assert_eq!(json!([report["files_read"], report["turns_added"], report["indexed"]]), json!([1, 2, 2]));
    let answer = environment.yore(["recall", "--json", "-p", "tide", "shallow port"]).run().success().json();
    assert_eq!(answer["results"][0]["session"], "tide/7");
    let again = environment.yore(["ingest", "--source", "jsonl"]).arg(&file).run().success();
    insta::assert_snapshot!(again.shown(), @"
    1 file: 0 read, 1 unchanged
    0 lines archived; 0 turns new, 0 completed
    ");
}

#[test]
fn verbose_ingestion_has_a_line_for_each_conversation() {
    let environment = TestEnvironment::new();
    let harbor = Transcript::new(HARBOR, "/home/dev/harbor").human("hello").assistant("Hello.");
    harbor.write(&environment.projects());
    Transcript::new(QUARRY, "/home/dev/quarry").human("hello").write(&environment.projects());
    let told = |lines: &str| lines.lines().map(str::to_owned).collect::<Vec<_>>();
    let first = told(&environment.yore(["ingest", "--verbose"]).run().success().stderr);
    assert!(first[0].starts_with("2 files to read, "), "{first:?}");
    let ends_with = |end: &str| first.iter().filter(|line| line.starts_with("Claude Code: ") && line.ends_with(end)).count();
    assert_eq!((ends_with(&format!("{HARBOR}.jsonl: 2 new turns")), ends_with(&format!("{QUARRY}.jsonl: 1 new turn"))), (1, 1));
    harbor.human("and again").write(&environment.projects());
    let second = told(&environment.yore(["ingest", "-v"]).run().success().stderr);
    assert_eq!(second.len(), 2, "{second:?}");
    assert!(second[1].ends_with(": 1 new turn"), "{second:?}");
}

#[test]
fn dry_run_of_an_ingestion_writes_nothing() {
    let environment = TestEnvironment::new();
    Transcript::new(HARBOR, "/home/dev/harbor").human("hello").assistant("Hello.").write(&environment.projects());
    let outcome = environment.yore(["ingest", "--dry-run"]).run().success();
    insta::assert_snapshot!(outcome.shown(), @"would read 1 file of [size]");
    assert!(!environment.data().exists(), "not even the data directory");
    environment.yore(["ingest"]).run().success();
    let before = fs::read(environment.database()).unwrap();
    Transcript::new(QUARRY, "/home/dev/quarry").human("hello").assistant("Hello.").write(&environment.projects());
    let report = environment.yore(["ingest", "--dry-run", "--json"]).run().success().json();
    assert_eq!(json!([report["dry_run"], report["files"], report["lines"]]), json!([true, 2, 0]));
    assert!(before == fs::read(environment.database()).unwrap());
}

#[test]
fn ingestion_of_a_missing_path_is_a_mistake() {
    let environment = TestEnvironment::new();
    insta::assert_snapshot!(environment.yore(["ingest", "no/such/place"]).run().shown(), @"
    --- standard error
    error: no/such/place does not exist [usage]
    --- exit code Some(2)
    ");
    environment.yore(["ingest", "--source", "gopher", "."]).run().ends_with(2);
    assert!(!environment.data().exists());
}

#[test]
fn data_directory_is_chosen_by_flag_then_variable_then_convention() {
    let environment = TestEnvironment::new();
    Transcript::new(HARBOR, "/home/dev/harbor").human("hello").assistant("Hello.").write(&environment.projects());
    environment.yore(["ingest", "--data-dir"]).arg(environment.path("flag")).run().success();
    assert!(environment.path("flag/yore.db").exists() && !environment.data().exists());
    environment.yore(["ingest"]).run().success();
    assert!(environment.database().exists());
    if cfg!(target_os = "linux") {
        environment.yore(["ingest"]).without_env("YORE_HOME").run().success();
        assert!(environment.path("home/.local/share/yore/yore.db").exists());
    }
}

#[test]
fn pipes_get_no_colours_unless_asked_for() {
    let memory = Memory::new();
    for arguments in
        [&["recall", "crane"][..], &["sessions"], &["projects"], &["stats"], &["doctor"], &["show", "4a5b0002"], &["--help"]]
    {
        let outcome = memory.call(arguments);
        assert!(!outcome.stdout.contains('\u{1b}') && !outcome.stderr.contains('\u{1b}'), "{arguments:?}");
    }
    assert!(!memory.call(&["show", "ffff"]).stderr.contains('\u{1b}'));
    assert!(memory.call(&["--color", "always", "recall", "crane"]).success().stdout.contains("\u{1b}[1m"));
    assert!(memory.call(&["--color", "always", "show", "ffff"]).stderr.contains("\u{1b}[31m"));
    assert!(!memory.call(&["--color", "never", "recall", "crane"]).success().stdout.contains('\u{1b}'));
}

#[test]
fn reader_that_goes_away_is_no_error() {
    let memory = Memory::new();
    let mut child = Command::new(PROGRAM)
        .args(["show", HARBOR, "--original", "--data-dir"])
        .arg(memory.environment.data())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
    #[cfg(unix)]
    for command in ["sessions", "recall crane", "doctor", "stats", "projects", "--help", "sessions --json"] {
        let script = format!("set -o pipefail; '{PROGRAM}' {command} | head -c 1 >/dev/null");
        let outcome = memory.environment.program("bash").args(["-c", &script]).run();
        assert_eq!(outcome.success().stderr, "", "{command}");
    }
}

/// Control sequences for a terminal must not come from recalled text, file names or ids.
#[cfg(unix)]
#[test]
fn recalled_words_cannot_steer_a_terminal() {
    let environment = TestEnvironment::new();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}gnp\u{2066}\r\u{8}\u{7f}";
    let session = format!("e7110005-f01d-48f7-96ac-{evil}");
    Transcript::new(&session, &format!("/home/dev/{evil}evil"))
        .on(&format!("br{evil}anch"))
        .human(&format!("pelican {evil} question"))
        .tool(&format!("pelican {evil} words"), &format!("echo {evil}"), &format!("pelican {evil} output"), true)
        .title(&format!("pelican {evil} title"))
        .raw(json!({"type": format!("new{evil}kind")}).to_string())
        .raw(json!({"type": "pr-link", "prUrl": format!("https://{evil}"), "sessionId": session}).to_string())
        .write(&environment.projects());
    fs::rename(
        fs::read_dir(environment.projects()).unwrap().next().unwrap().unwrap().path(),
        environment.projects().join(format!("dir{}", evil.replace('/', ""))),
    )
    .unwrap();
    let mut seen = String::new();
    for arguments in [
        &["ingest"][..],
        &["recall", "--all", "--explain", "pelican"],
        &["sessions"],
        &["projects"],
        &["stats"],
        &["show", "e7110005"],
        &["show", "e7110005-f01d-48f7-96ac-", "--budget", "0"],
        &["doctor", "--deep"],
        &["up"],
        &["recall", "-p", "\u{1b}[2J", "x"],
        &["show", "\u{1b}[2J\u{202e}"],
        &["forget", "--session", "e7110005", "--dry-run"],
        &["forget", "--session", "e7110005"],
    ] {
        let outcome = environment.yore(["--color", "always"]).args(arguments).run();
        assert!(matches!(outcome.status.code(), Some(0 | 1)), "{arguments:?}: {outcome:?}");
        let shown = outcome.stdout + &outcome.stderr;
        for (at, letter) in shown.char_indices() {
            let is_ours = letter == '\u{1b}' && {
                let rest = &shown[at + 1..];
                rest.starts_with('[') && rest[1..].trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m')
            };
            let is_harmless = !letter.is_control() && !matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            assert!(is_ours || is_harmless || matches!(letter, '\n' | '\t'), "{arguments:?} at {at}: {shown:?}");
        }
        seen.push_str(&shown);
    }
    assert!(seen.contains("pelican"), "{seen}");
}

#[test]
fn copied_home_directory_gives_each_agents_histories_and_no_settings() {
    let environment = TestEnvironment::new();
    let step = json!({"step_index": 0, "source": "USER_EXPLICIT", "type": "USER_INPUT", "status": "DONE", "content": "how deep is the lock"});
    environment.write("backup/.gemini/antigravity/brain/c-1/.system_generated/logs/transcript.jsonl", format!("{step}\n"));
    let event = json!({"type": "user.message", "id": "e1", "data": {"content": "how wide is the basin"}});
    environment.write("backup/.copilot/session-state/c0ffee/events.jsonl", format!("{event}\n"));
    environment.write("backup/.copilot/config.json", "{\"secret plans\": 1}");
    environment.write("backup/notes/plan.md", "# Piers\n\nThe pier is two metres high.\n");
    let backup = environment.write("backup/README.md", "# A copy of my home\n").parent().unwrap().to_path_buf();
    let report = environment.yore(["ingest", "--json"]).arg(&backup).run().success().json();
    let kinds: Vec<&str> = report["sources"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(kinds, ["antigravity", "copilot-cli", "file"]);
    assert_eq!(report["turns_added"], 4);
}

#[test]
fn named_place_without_histories_is_told_with_its_reason() {
    let environment = TestEnvironment::new();
    let empty = environment.write("nothing/there.txt", "words").parent().unwrap().to_path_buf();
    let outcome = environment.yore(["ingest", "--source", "zed"]).arg(&empty).run().ends_with(1);
    assert!(outcome.stderr.contains("contains nothing that yore reads as Zed; it looks like file"), "{}", outcome.stderr);
    // A folder one level too high is found.
    let event = json!({"type": "user.message", "id": "e1", "data": {"content": "how wide is the basin"}});
    environment.write("copy/.copilot/session-state/c0ffee/events.jsonl", format!("{event}\n"));
    let copy = environment.write("copy/x.txt", "x").parent().unwrap().to_path_buf();
    let report = environment.yore(["ingest", "--json", "--source", "copilot-cli"]).arg(&copy).run().success().json();
    assert_eq!(report["turns_added"], 1);
}

#[test]
fn account_of_an_export_is_no_document() {
    let environment = TestEnvironment::new();
    environment.write(
        "export/conversations.json",
        r#"[{"uuid":"u","name":"Tides","chat_messages":[{"uuid":"m","sender":"human","text":"when is low tide"}]}]"#,
    );
    let users = environment.write("export/users.json", r#"[{"full_name":"Ada Harbour","email_address":"ada@example.org"}]"#);
    let report = environment.yore(["ingest", "--json"]).arg(users.parent().unwrap()).run().success().json();
    assert_eq!((&report["files_read"], &report["turns_added"]), (&json!(1), &json!(1)));
    environment.yore(["ingest"]).arg(&users).run().ends_with(1);
    environment.yore(["ingest", "--source", "file"]).arg(users.parent().unwrap()).run().success();
    let found = environment.yore(["recall", "--all", "--json", "Ada Harbour"]).run();
    assert!(!found.stdout.contains("example.org"), "{}", found.stdout);
}

#[test]
fn memory_is_backed_up_restored_and_repaired_by_one_command_each() {
    let memory = Memory::new();
    let environment = &memory.environment;
    let listed = memory.call(&["backup", "--list"]).ends_with(1);
    assert!(listed.stdout.contains("no backup yet"), "{}", listed.stdout);
    memory.call(&["backup"]).success();
    let copy = environment.path("elsewhere.db");
    memory.call(&["backup", "--to", copy.to_str().unwrap()]).success();
    assert!(copy.is_file() && copy.with_extension("key").is_file());
    let sessions = memory.call(&["sessions"]).success().stdout;
    let database = environment.path("data/yore.db");
    let whole = fs::read(&database).unwrap();

    // Overwrites the middle of the file with noise.
    let damage = |database: &Path| {
        let mut bytes = fs::read(database).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 3000].fill(0xa5);
        fs::write(database, bytes).unwrap();
    };
    for log in ["data/yore.db-wal", "data/yore.db-shm"] {
        let _ = fs::remove_file(environment.path(log));
    }
    damage(&database);
    memory.call(&["doctor", "--deep"]).ends_with(1);
    let restored = memory.call(&["restore"]).success().stdout;
    assert!(restored.contains("restored the backup of ") && restored.contains("the previous data is kept in "), "{restored}");
    assert_eq!(memory.call(&["sessions"]).success().stdout, sessions);
    memory.call(&["doctor", "--deep"]).success();

    fs::write(&database, &whole).unwrap();
    for log in ["data/yore.db-wal", "data/yore.db-shm"] {
        let _ = fs::remove_file(environment.path(log));
    }
    damage(&database);
    let repaired = memory.call(&["repair"]).success().stdout;
    assert!(repaired.contains("saved ") && repaired.contains("the damaged database is kept in "), "{repaired}");
    assert_eq!(memory.call(&["sessions"]).success().stdout, sessions);
    memory.call(&["doctor", "--deep"]).success();

    fs::remove_file(environment.path("data/key")).unwrap();
    let refused = memory.call(&["remember", "the tide comes at nine"]).ends_with(3);
    assert!(refused.stderr.contains("is missing") && refused.stderr.contains("yore repair --new-key"), "{}", refused.stderr);
    memory.call(&["repair", "--new-key"]).success();
    memory.call(&["remember", "the tide comes at nine"]).success();
}

#[test]
fn times_are_those_of_the_zone_that_is_named_and_an_unknown_zone_is_told() {
    let memory = Memory::new();
    let sessions = |zone: &str| memory.environment.yore(["sessions"]).env("TZ", zone).run().success();
    // The earlier session began on 2 February 2026 at 02:40 UTC.
    for (zone, day) in [("UTC0", "2026-02-02 02:"), ("Asia/Tokyo", "2026-02-02 11:"), ("America/New_York", "2026-02-01 21:")] {
        let told = sessions(zone);
        assert!(told.stdout.contains(day), "{zone}: {}", told.stdout);
        assert!(!told.stderr.contains("time zone"), "{zone}: {}", told.stderr);
    }
    let unknown = sessions("Nowhere/Atlantis");
    assert!(unknown.stdout.contains("2026-02-02 02:") && unknown.stderr.contains("Nowhere/Atlantis"), "{}", unknown.stderr);
}
