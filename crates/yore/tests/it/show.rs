//! `yore show` on a small memory.

use std::fs;

use serde_json::json;

use crate::small_memory::{HARBOR, HARBOR_OLD, Memory, QUARRY, text};

#[test]
fn show_gives_a_turn_with_its_surroundings() {
    let memory = Memory::new();
    let turn = memory.turn("scheduler waits for the lease of the dead");
    insta::assert_snapshot!(memory.call(&["show", &turn, "-C", "1"]).success().shown(), @"
    4a5b0001-3f08-4714-9c34-5c452003a142 claude-code · harbor · Crane scheduler takes over leases
    ▶ assistant 2026-03-02 09:02:00 +00:00 · 47e4184dcf
      The scheduler waits for the lease of the dead process. It should take over leases at boot.

      [root]/home/.claude/projects/-home-dev-harbor/4a5b0001-3f08-4714-9c34-5c452003a142.jsonl:6

    before it:
    … 2 turns before

    tool error 2026-03-02 09:01 · e26a08da9f
      ERR_LEASE_GONE: lease 4711 expired at boot

    after it:
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
fn show_gives_a_line_a_passage_and_what_is_related() {
    let memory = Memory::new();
    let turn = memory.turn("scheduler waits for the lease of the dead");
    let line = memory.call(&["show", &turn, "--level", "line"]).success().stdout;
    assert!(line.contains("assistant 2026-03-02") && line.lines().count() == 1, "{line}");
    let passage = memory.call(&["show", &turn, "--for", "who takes over leases"]).success().stdout;
    assert!(passage.contains("It should take over leases at boot."), "{passage}");
    let related = memory.call(&["show", &turn, "--level", "related", "--json"]).success().json();
    let replied = related["lines"].as_array().unwrap().iter().find(|line| line["relation"] == "you replied").unwrap();
    assert_eq!(replied["text"], "do that");
    let refused = memory.call(&["show", &turn, "--level", "deep"]);
    assert!(refused.stderr.contains("expected one of line, passage, whole, related, synthesis"), "{}", refused.stderr);
    assert!(memory.call(&["show", "no/such/file.rs", "--level", "line"]).stderr.contains("unknown id"));
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
