//! Printing: colors, pipes, control characters, time zones.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::environment::{PROGRAM, TestEnvironment};
use crate::small_memory::{HARBOR, Memory};
use crate::transcript::Transcript;

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

/// Answers are wrapped and paged on a terminal, here that of `script`, and only there.
#[cfg(target_os = "linux")]
#[test]
fn terminal_gets_wrapped_lines_below_day_and_title_and_a_pager_what_is_longer() {
    let memory = Memory::new();
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("SKIPPED: no `script`, so no terminal");
        return;
    }
    let on_terminal = |rows: u32, pager: &str, arguments: &str| {
        let script = format!("stty cols 44 rows {rows} && exec '{PROGRAM}' {arguments}");
        let runner = memory.environment.program("script").args(["-qec", &script, "/dev/null"]);
        let told = runner.env("SHELL", "/bin/sh").env("YORE_PAGER", pager).env("TERM", "xterm").run().success().stdout;
        told.replace('\r', "")
    };
    let plain = |text: &str| anstream::adapter::strip_str(text).to_string();
    let told = plain(&on_terminal(40, "cat", "recall 'crane lease at boot' -n 2"));
    assert!(told.starts_with("2026-03-02 · harbor · Crane scheduler takes\nover leases\n[5b710b7d59] assistant\n"), "{told}");
    assert!(told.contains("\n  Done: leases of dead processes are taken\n  over at boot.\n"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() <= 44), "{told}");
    let paged = memory.environment.path("work/paged");
    let pager = format!("tee {}", paged.display());
    on_terminal(40, &pager, "recall 'crane lease at boot' -n 2");
    assert!(!paged.exists(), "it fits the window");
    on_terminal(5, &pager, "--no-pager recall 'crane lease at boot' -n 2");
    assert!(!paged.exists(), "no pager is wanted");
    let shown = on_terminal(5, &pager, "recall 'crane lease at boot' -n 2");
    assert_eq!(plain(&fs::read_to_string(&paged).unwrap()), told);
    assert_eq!(plain(&shown), told);
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
