//! `yore remember` and `yore memories --notes`: statements and notes that a user gives, and their scope.

use serde_json::Value;

use crate::environment::{Outcome, TestEnvironment};

/// Creates two projects that are repositories, and a directory that is not.
fn projects() -> TestEnvironment {
    let environment = TestEnvironment::new();
    for project in ["harbor", "quarry"] {
        environment.write(&format!("work/{project}/.git/HEAD"), "ref: refs/heads/main\n");
    }
    environment
}

#[track_caller]
fn remember(environment: &TestEnvironment, project: &str, arguments: &[&str]) -> String {
    let outcome =
        environment.yore(["remember", "--note"]).args(arguments).current_dir(environment.path("work").join(project)).run();
    outcome.success().stdout.trim().to_owned()
}

fn notes(environment: &TestEnvironment, project: &str, arguments: &[&str]) -> Outcome {
    environment.yore(["notes"]).args(arguments).current_dir(environment.path("work").join(project)).run()
}

/// Returns the texts of the listed notes.
#[track_caller]
fn listed(environment: &TestEnvironment, project: &str, arguments: &[&str]) -> Vec<String> {
    let outcome = notes(environment, project, &[&["--json"], arguments].concat()).json();
    outcome.as_array().unwrap().iter().map(|note| note["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn note_is_found_shown_and_forgotten_by_its_id() {
    let environment = TestEnvironment::new();
    let outcome =
        environment.yore(["remember", "Figs are ripe in September", "--title", "Figs", "--tag", "orchard"]).run().success();
    let id = outcome.stdout.trim().to_owned();
    assert_eq!(id.len(), 32);
    let found = environment.yore(["recall", "when are figs ripe", "--json"]).run().json();
    assert_eq!(found["results"][0]["quote"], "Figs are ripe in September");
    assert_eq!(found["results"][0]["role"], "human");
    assert_eq!(found["results"][0]["title"], "Figs");
    assert!(environment.yore(["show", &id]).run().stdout.contains("Figs are ripe"));
    let turn = found["results"][0]["id"].as_str().unwrap();
    let _ = environment.yore(["forget", turn]).run().success();
    assert_eq!(listed(&environment, "", &["--all"]), [""; 0]);
    let _ = environment.yore(["forget", &id[..10], "--restore"]).run().success();
    assert_eq!(listed(&environment, "", &["--all"]), ["Figs are ripe in September"]);
    let _ = environment.yore(["forget", &id]).run().success();
    let forgotten = environment.yore(["forget", &id, "--hard"]).run().success();
    assert!(!forgotten.stdout.contains("transcript"), "{}", forgotten.stdout);
    let _ = environment.yore(["recall", "when are figs ripe"]).run().ends_with(1);
    let _ = notes(&environment, "", &["--all"]).ends_with(1);
    let _ = environment.yore(["forget", &id, "--session", &id]).run().ends_with(2);
    let _ = environment.yore(["forget"]).run().ends_with(2);
}

#[test]
fn note_comes_from_standard_input_and_belongs_to_a_project() {
    let environment = projects();
    let words = "The crane opens at six.\nAlways.\n";
    let answer = environment.yore(["remember", "-", "--json", "--project", "harbor"]).stdin(words).run().json();
    assert!(answer["directory"].as_str().unwrap().ends_with("harbor"), "{answer}");
    assert_eq!((&answer["project"], &answer["was_known"]), (&Value::from("harbor"), &Value::from(false)));
    let found = environment.yore(["recall", "crane", "--json", "--all"]).run().json();
    assert_eq!(found["results"][0]["project"], "harbor");
    // Without an argument and without a terminal the input is read as well; by the older command name, too.
    let _ = environment.yore(["remember", "--note"]).stdin("second").run().success();
    let _ = environment.yore(["note", "--note"]).stdin("third").run().success();
    assert_eq!(listed(&environment, "harbor", &[]), ["third", "second", words]);
}

#[test]
fn empty_and_endless_notes_are_refused() {
    let environment = TestEnvironment::new();
    for input in [String::new(), " \n".to_owned(), "x".repeat((1 << 20) + 1)] {
        let outcome = environment.yore(["remember", "-"]).stdin(&input).run().ends_with(2);
        assert_eq!(outcome.code(), "usage");
    }
    assert_eq!(environment.yore(["remember", "x", "--project", "nowhere"]).run().code(), "usage");
    for together in [["--global", "--project"], ["--replace", "--project"]] {
        let _ = environment.yore(["remember", "x"]).args(together).args([".", "--json"]).run().ends_with(2);
    }
    assert_eq!(environment.yore(["remember", "x", "--replace", "ffffffff"]).run().ends_with(1).code(), "unknown-id");
}

#[test]
fn notes_are_listed_where_they_hold() {
    let environment = projects();
    let crane = remember(&environment, "harbor", &["The crane opens at six.", "--title", "Crane", "--tag", "hours"]);
    remember(
        &environment,
        "quarry",
        &["Blasting is at noon, and nobody but the warden may go below the second terrace before one o'clock."],
    );
    remember(&environment, "harbor", &["Answer briefly.", "--global", "--standing"]);
    assert_eq!(listed(&environment, "harbor", &[]), ["Answer briefly.", "The crane opens at six."]);
    assert_eq!(listed(&environment, "", &[]), ["Answer briefly."], "of no project");
    assert_eq!(listed(&environment, "quarry", &["--global"]), ["Answer briefly."]);
    assert_eq!(listed(&environment, "quarry", &["--project", "harbor"]), ["The crane opens at six."]);
    assert_eq!(listed(&environment, "quarry", &["--all", "--tag", "hours", "--title", "crane"]), ["The crane opens at six."]);
    assert_eq!(listed(&environment, "quarry", &["--all", "-n", "2"]).len(), 2);
    let shown = notes(&environment, "quarry", &["--all"]).success().stdout;
    let today: Vec<&str> = shown.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    let mut told = shown.replace(today[0], "[today]");
    for line in shown.lines() {
        told = told.replace(line.split_whitespace().next().unwrap(), "[id]");
    }
    assert!(shown.contains(&crane[..10]), "{shown}");
    insta::assert_snapshot!(told, @"
    [id]  [today]  everywhere  #standing  Answer briefly.
    [id]  [today]  quarry                 Blasting is at noon, and nobody but the warden may go below the second terrace b…
    [id]  [today]  harbor      #hours     Crane · The crane opens at six.
    ");
    let nothing = notes(&environment, "quarry", &["--tag", "tides"]).ends_with(1);
    assert_eq!(nothing.stderr, "no such note\n");
}

#[test]
fn note_is_changed_in_its_place() {
    let environment = projects();
    let id = remember(&environment, "harbor", &["The crane opens at six.", "--title", "Crane", "--tag", "hours"]);
    // From another project, too: the note stays where it belongs.
    assert_eq!(remember(&environment, "quarry", &["The crane opens at seven.", "--replace", &id[..10], "--standing"]), id);
    let note = notes(&environment, "harbor", &["--json"]).json().as_array().unwrap()[0].clone();
    let tags = serde_json::json!(["hours"]);
    assert_eq!((&note["kind"], &note["version"]), (&Value::from("standing"), &Value::from(2)));
    assert_eq!((&note["text"], &note["title"], &note["tags"]), (&"The crane opens at seven.".into(), &"Crane".into(), &tags));
    assert_eq!((&note["project"], &note["by"]), (&Value::from("harbor"), &Value::from("human")));
    let again = environment.yore(["remember", "The crane opens at seven.", "--replace", &id]).run().success();
    assert_eq!((again.stdout.trim(), again.stderr.trim()), (id.as_str(), "already known: nothing was stored"));
    let found = environment.yore(["recall", "when does the crane open", "--all"]).run().success().stdout;
    assert!(found.contains("seven") && !found.contains("six"), "{found}");
    // The earlier version can be opened.
    let first = environment.yore(["show", &id[..10], "--note-version", "1"]).run().success().stdout;
    assert!(first.contains("version 1") && first.contains("The crane opens at six."), "{first}");
    let newest = environment.yore(["show", &id[..10]]).run().success().stdout;
    assert!(newest.contains("version 2") && newest.contains("seven") && !newest.contains("six"), "{newest}");
    let none = environment.yore(["show", &id[..10], "--note-version", "3"]).run().ends_with(1);
    assert!(none.stderr.contains("has no such version: there are 2"), "{}", none.stderr);
    let taken_back = ["remember", "The crane opens at seven.", "--replace", &id, "--standing=false"];
    environment.yore(taken_back).run().success();
    assert_eq!(notes(&environment, "harbor", &["--json"]).json()[0]["kind"], "note");
}

#[test]
fn what_holds_everywhere_is_recalled_from_inside_a_project() {
    let environment = projects();
    remember(&environment, "harbor", &["Lemons grow in the harbor."]);
    remember(&environment, "quarry", &["Lemons grow in the quarry."]);
    remember(&environment, "", &["Lemons grow everywhere."]);
    let outcome = environment.yore(["recall", "lemons", "--json"]).current_dir(environment.path("work/harbor")).run().success();
    let mut found: Vec<String> =
        outcome.json()["results"].as_array().unwrap().iter().map(|hit| hit["quote"].as_str().unwrap().to_owned()).collect();
    found.sort();
    assert_eq!(found, ["Lemons grow everywhere.", "Lemons grow in the harbor."]);
}

#[test]
fn remembering_that_is_killed_and_tried_again_leaves_one_note() {
    let environment = TestEnvironment::new();
    let words = "The lamp burns whale oil.";
    for step in 0..8 {
        let mut child = environment.yore(["remember", "--note", words]).start();
        // Killed at any point of its work.
        std::thread::sleep(std::time::Duration::from_millis(step * 15));
        let _ = child.kill();
        child.wait().unwrap();
    }
    let _ = environment.yore(["remember", "--note", words]).run().success();
    assert_eq!(listed(&environment, "", &["--all"]), [words]);
    environment.is_sound();
}

#[test]
fn one_line_is_a_statement_and_a_text_that_is_longer_titled_or_standing_is_a_note() {
    let environment = projects();
    let here = environment.path("work/harbor");
    let call = |arguments: &[&str]| environment.yore(arguments).current_dir(&here).run();
    let long = "The crane opens at six, and nobody may stand below it. ".repeat(10);
    for (number, (arguments, kind)) in [
        (&["We decided to count berths from zero."][..], Some("decision")),
        (&["Never paint the crane on Sundays.", "--tag", "crane"], Some("standard")),
        (&["Who owns the pager of the harbour?"], Some("question")),
        (&["The lamp burns whale oil.\n"], Some("fact")),
        (&["The crane lifts four tons.", "--title", "Crane", "-e", "tool:crane"], Some("fact")),
        (&["The quay is 90 metres long.", "--title", "Quay"], None),
        (&["The dock is 40 metres long.", "--note"], None),
        (&["Answer in short sentences.", "--standing"], None),
        (&["The crane opens at six.\nAlways."], None),
        (&[&long], None),
    ]
    .into_iter()
    .enumerate()
    {
        let done = call(&[&["remember"], arguments, &["--json"]].concat()).success().json();
        let stored = done["memory"].as_str().map(|id| call(&["show", id, "--json"]).json()["kind"].clone());
        assert_eq!(stored, kind.map(Value::from), "{number}: {done}");
        assert_eq!(done["id"].is_string(), kind.is_none(), "{number}: {done}");
    }
    assert_eq!(listed(&environment, "harbor", &[]).len(), 5);
    let refused = call(&["remember", "x", "--note", "--valid-from", "2026-01-01"]).ends_with(2);
    assert!(refused.stderr.contains("a note has no evidence"), "{}", refused.stderr);
}

#[test]
fn statement_without_a_kind_says_what_it_changes_and_is_undone_and_told_to_the_next_session() {
    let environment = projects();
    let here = environment.path("work/harbor");
    let call = |arguments: &[&str]| environment.yore(arguments).current_dir(&here).run();
    let _ = call(&["remember", "CI runs on Jenkins."]).success();
    let newer = call(&["remember", "CI runs on GitHub Actions."]).success();
    assert!(newer.stderr.contains("it likely changes [") && newer.stderr.contains("CI runs on Jenkins."), "{}", newer.stderr);
    let asked = call(&["ask", "what does CI run on"]).success().stdout;
    assert!(asked.starts_with("CI runs on GitHub Actions. (before, likely"), "{asked}");
    let brief = call(&["brief"]).success().stdout;
    assert!(brief.contains("CI runs on GitHub Actions. (before: CI runs on Jenkins.)"), "{brief}");
    assert_eq!(brief.matches("Jenkins").count(), 1, "{brief}");
    let _ = call(&["undo"]).success();
    let brief = call(&["brief"]).success().stdout;
    assert!(brief.contains(": CI runs on Jenkins.") && !brief.contains("GitHub"), "{brief}");
    let secret = call(&["remember", "The token of the quay is ghp_0123456789abcdefghijABCDEFGHIJ456789."]).success().stderr;
    assert!(secret.contains("1 passage redacted before storing"), "{secret}");
    // What takes the place of a statement has its kind.
    let rule = call(&["remember", "Ropes must be counted on Fridays."]).success().stdout;
    let changed = call(&["remember", "On Mondays ropes are counted.", "--replace", rule.trim()]).success().stdout;
    assert_eq!(call(&["show", changed.trim(), "--json"]).json()["kind"], "standard");
}
