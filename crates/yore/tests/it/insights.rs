//! `yore insights`: what happens again and again in sessions, with its evidence, and the memory that a person makes of it.

use crate::environment::{Outcome, TestEnvironment};
use crate::transcript::Transcript;

const DAY: i64 = 86_400_000;

/// Three sessions with one lint error each, at other places, and one instruction in nearly the same words.
fn harbour() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("work/harbor/.git/HEAD", "ref: refs/heads/main\n");
    let directory = environment.path("work/harbor");
    for (number, place) in ["tide.go:42:3", "gauge/mod.go:7:11", "main.go:107:2"].iter().enumerate() {
        Transcript::new(&format!("5eed000{number}-000{number}-4000-8000-000000000000"), directory.to_str().unwrap())
            .at(1_772_442_000_000 + DAY * number as i64)
            .human(&format!("Add berth number {number}. Run the linter before you commit anything."))
            .tool(
                "Let me lint it.",
                "make lint",
                &format!("Exit code 1\n{place}: Error return value of `file.Close` is not checked (errcheck)"),
                true,
            )
            .tool("Now it is checked.", "make lint", "ok, no issues", false)
            .assistant("The berth is there.")
            .write(&environment.projects());
    }
    environment.yore(["up", "--no-embed"]).run().success();
    environment
}

fn call(environment: &TestEnvironment, arguments: &[&str]) -> Outcome {
    environment.yore(arguments.iter().copied()).current_dir(environment.path("work/harbor")).run()
}

#[test]
fn what_happens_in_three_sessions_is_told_with_its_evidence_and_becomes_a_memory_that_is_told_no_more() {
    let environment = harbour();
    let told = call(&environment, &["insights"]).success().stdout;
    for words in [
        "Errors that come up again",
        "`make lint` reported “Error return value of … is not checked (errcheck)” in 3 sessions of the 3 that ran it; the same command passed later in 3 of them.",
        "You said in 3 sessions: “Run the linter before you commit anything.”",
    ] {
        assert!(told.contains(words), "{words} is missing in {told}");
    }
    assert!(!told.contains("first run"), "a command that fails first with that error is told once: {told}");
    let first = call(&environment, &["insights", "--kind", "first-try"]).ends_with(1);
    assert!(first.stdout.is_empty(), "{}", first.stdout);
    let data = call(&environment, &["insights", "--kind", "instruction", "--json"]).success().json();
    let insight = &data[0];
    assert_eq!((data.as_array().unwrap().len(), &insight["sessions"]), (1, &3.into()), "{data}");
    let evidence = insight["evidence"][0].as_str().unwrap();
    assert!(call(&environment, &["show", evidence]).success().stdout.contains("Run the linter before you commit anything."));
    let id = insight["id"].as_str().unwrap();
    let kept = call(&environment, &["insights", "--keep", id]).success();
    let memory = kept.stdout.trim();
    assert!(kept.stderr.contains("a memory of the kind preference"), "{}", kept.stderr);
    let shown = call(&environment, &["show", memory]).success().stdout;
    assert!(shown.contains("Run the linter before you commit anything.") && shown.contains(evidence), "{shown}");
    assert!(call(&environment, &["brief"]).success().stdout.contains("Run the linter before you commit anything."));
    assert!(!call(&environment, &["insights"]).success().stdout.contains("You said in 3 sessions"));
    let again = call(&environment, &["insights", "--keep", id]).ends_with(1);
    assert!(again.stderr.contains(&format!("no insight has the id {id}")), "{}", again.stderr);
    call(&environment, &["undo"]).success();
    assert!(call(&environment, &["insights"]).success().stdout.contains("You said in 3 sessions"));
}

#[test]
fn what_upkeep_found_is_in_the_brief_until_a_session_of_it_is_forgotten() {
    let environment = harbour();
    let line = "`make lint` always reports “Error return value of … is not checked (errcheck)” (3 of 3 sessions)";
    assert!(!call(&environment, &["brief"]).success().stdout.contains("Again and again"));
    call(&environment, &["upkeep", "run", "insights"]).success();
    let brief = call(&environment, &["brief"]).success().stdout;
    assert!(brief.contains("Again and again here:") && brief.contains(line), "{brief}");
    assert!(!brief.contains("You said"), "what the person repeats is no news to the agent: {brief}");
    // A document that is read again, and a memory that is undone, forget nothing.
    for words in ["# Pier\n\nThe pier is long.", "# Pier\n\nThe pier is short."] {
        environment.ingest(&environment.write("work/harbor/pier.md", words));
    }
    call(&environment, &["remember", "--kind", "fact", "The crane leans."]).success();
    call(&environment, &["undo"]).success();
    assert!(call(&environment, &["brief"]).success().stdout.contains(line));
    let forget = ["forget", "5eed0000-0000-4000-8000-000000000000"];
    call(&environment, &forget).success();
    assert!(!call(&environment, &["brief"]).success().stdout.contains("Again and again"));
    call(&environment, &["upkeep", "run", "insights"]).success();
    assert!(!call(&environment, &["brief"]).success().stdout.contains("Again and again"), "two sessions are too few");
    call(&environment, &["forget", "--restore", forget[1]]).success();
    call(&environment, &["upkeep", "run", "insights"]).success();
    assert!(call(&environment, &["brief"]).success().stdout.contains(line));
    call(&environment, &["forget", "--hard", "--session", forget[1]]).success();
    assert!(!call(&environment, &["brief"]).success().stdout.contains("Again and again"));
}

#[test]
fn nothing_is_told_of_other_projects_and_of_forgotten_sessions() {
    let environment = harbour();
    environment.write("work/reef/.git/HEAD", "ref: refs/heads/main\n");
    let elsewhere = environment.yore(["insights"]).current_dir(environment.path("work/reef")).run().ends_with(1);
    assert!(elsewhere.stderr.contains("nothing happened again and again"), "{}", elsewhere.stderr);
    call(&environment, &["forget", "5eed0000-0000-4000-8000-000000000000"]).success();
    call(&environment, &["insights"]).ends_with(1);
    let refused = call(&environment, &["insights", "--kind", "weather"]).ends_with(2);
    assert!(
        refused.stderr.contains("expected one of error, first-try, read-before, instruction, reversal"),
        "{}",
        refused.stderr
    );
}
