//! `yore forget` on a small memory.

use serde_json::json;

use crate::environment::TestEnvironment;
use crate::small_memory::{HARBOR, Memory, QUARRY};

#[test]
fn soft_forgetting_hides_a_session_until_it_is_restored() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["forget", "--session", "9c0d0003", "--dry-run"]).success().shown(), @"
    would forget 1 session with 2 turns
      9c0d0003-f01d-48f7-96ac-550c53cfdb11
    ");
    assert_eq!(memory.recalled(&["--all", "blasting"]).len(), 2, "a dry run changes nothing");
    insta::assert_snapshot!(memory.call(&["forget", "--session", "9c0d0003"]).success().shown(), @"
    forgot 1 session with 2 turns
      9c0d0003-f01d-48f7-96ac-550c53cfdb11
    `yore forget 9c0d0003 --restore` brings it back
    ");
    assert_eq!(memory.recalled(&["--all", "blasting"]), [""; 0]);
    assert!(!memory.call(&["sessions"]).success().stdout.contains("9c0d0003"));
    let forgotten = memory.call(&["sessions", "--forgotten"]).success().stdout;
    assert_eq!((forgotten.lines().count(), forgotten.contains("blasting plan")), (1, true), "{forgotten}");
    memory.call(&["show", QUARRY]).ends_with(1);
    memory.environment.ingest(&memory.environment.projects());
    assert_eq!(memory.recalled(&["--all", "blasting"]), [""; 0], "reading again does not bring it back");
    insta::assert_snapshot!(memory.call(&["forget", "--session", "9c0d0003", "--restore"]).success().shown(), @"
    restored 1 session with 2 turns
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
    forgot for good 2 sessions with 8 turns
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
    let _ = single.yore(["remember", "--note", "Ropes are counted."]).run().success();
    for command in ["forget", "show"] {
        for id in ["", " "] {
            assert_ne!(single.yore([command, id]).run().status.code(), Some(0), "{command} {id:?}");
        }
    }
    assert!(single.yore(["notes"]).run().success().stdout.contains("Ropes are counted."));
    memory.call(&["forget", "--session", QUARRY, "--hard", "--restore"]).ends_with(2);
}
