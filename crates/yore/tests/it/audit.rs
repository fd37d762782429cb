//! `yore audit`: faults of instruction files, with proofs, as a report, as JSON and as a patch.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::environment::{Outcome, TestEnvironment};

/// Runs git in a repository, with a day for what is committed.
fn git(place: &Path, day: &str, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(place).args(["-c", "user.name=Pier", "-c", "user.email=pier@example.org"]).args(arguments);
    git.env("GIT_AUTHOR_DATE", format!("{day}T10:00:00Z")).env("GIT_COMMITTER_DATE", format!("{day}T10:00:00Z"));
    assert!(git.output().unwrap().status.success(), "{arguments:?}");
}

/// A repository whose rules are older than the move of a file and the end of a tool.
fn repository(environment: &TestEnvironment) -> PathBuf {
    let rules = "# Pier\n\n- Lamps are in `src/lamp.rs`.\n- Paint with Brushwork.\n- No tar on deck.\n- Commit with `git commit --no-verify`.\n- Ropes are kept dry.\n";
    environment.write("work/pier/CLAUDE.md", rules);
    environment.write("work/pier/src/lamp.rs", "fn lamp() { shine(\"at dusk on every pier of the harbour\") }\n");
    environment.write("work/pier/paint.sh", "brushwork --all\n");
    let place = environment.path("work/pier");
    git(&place, "2026-01-05", &["init", "-q"]);
    git(&place, "2026-01-05", &["add", "."]);
    git(&place, "2026-01-05", &["commit", "-qm", "Begin"]);
    git(&place, "2026-02-05", &["mv", "src/lamp.rs", "src/light.rs"]);
    environment.write("work/pier/paint.sh", "roller --all\n");
    git(&place, "2026-02-05", &["commit", "-qam", "Paint with the roller"]);
    // Makes the data directory, without which there is nothing to compare with.
    let _ = environment.yore(["ingest"]).run();
    place
}

fn audit(environment: &TestEnvironment, place: &Path, arguments: &[&str]) -> Outcome {
    environment.yore(["audit"].iter().chain(arguments)).current_dir(place).run()
}

#[test]
fn lines_that_the_history_outdated_or_that_are_unsafe_are_reported_with_their_proof() {
    let environment = TestEnvironment::new();
    let place = repository(&environment);
    let report: Value = serde_json::from_str(&audit(&environment, &place, &["--json"]).success().stdout).unwrap();
    let found: Vec<(u64, &str)> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| (found["line"].as_u64().unwrap(), found["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(found, [(3, "stale"), (4, "stale"), (6, "unsafe")], "{report}");
    assert!(report["findings"][0]["proof"][0].as_str().unwrap().contains("Paint with the roller"), "{report}");
    assert_eq!(report["findings"][0]["new"], "src/light.rs");
}

#[test]
fn the_patch_applies_and_leaves_nothing_to_report() {
    let environment = TestEnvironment::new();
    let place = repository(&environment);
    let _ = audit(&environment, &place, &["--patch", "audit.patch"]).success();
    git(&place, "2026-03-05", &["apply", "audit.patch"]);
    let rules = std::fs::read_to_string(place.join("CLAUDE.md")).unwrap();
    assert_eq!(rules, "# Pier\n\n- Lamps are in `src/light.rs`.\n- No tar on deck.\n- Ropes are kept dry.\n");
}

#[test]
fn a_line_with_letters_that_no_reader_sees_is_reported_and_printed_without_them() {
    let environment = TestEnvironment::new();
    let place = repository(&environment);
    environment.write("work/pier/AGENTS.md", "- Keep diffs small\u{e0063}\u{e0075} and \u{1b}[2Jquiet.\n");
    let printed = audit(&environment, &place, &[]).success().stdout;
    assert!(printed.contains("Keep diffs small and [2Jquiet.") && printed.contains("U+E0063"), "{printed:?}");
    assert!(!printed.contains('\u{1b}') && !printed.contains('\u{e0063}'), "{printed:?}");
}
