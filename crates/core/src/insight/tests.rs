//! Tests of insights: what must be found, and what must be left alone.

use super::*;
use crate::command::{Attempt, CauseKind, Failed};
use crate::time::DAY_MS;

type Run = (i64, Attempt<usize>);

/// Makes an attempt; `error`: it failed with that line, and `next` passed then.
fn run(session: i64, command: &str, error: Option<&str>, next: Option<&str>) -> Run {
    let failed = error.map(|error| Failed {
        kind: CauseKind::Other,
        cause: format!("run {command}"),
        error: error.to_owned(),
        next: next.map(str::to_owned),
    });
    let program = command.split(' ').next().unwrap().to_owned();
    let (command, directory, exit) = (command.to_owned(), String::new(), None);
    (session, Attempt { command, program, directory, version: None, exit, failed, turn: 0 })
}

fn tried(runs: &[Run]) -> Vec<Tried<'_, usize>> {
    runs.iter().map(|(session, attempt)| Tried { session: *session, at: Some(*session * DAY_MS), attempt }).collect()
}

#[test]
fn the_same_error_at_other_places_is_one_and_another_error_is_not() {
    let same = [
        "cmd/tide.go:42:3: Error return value of `file.Close` is not checked (errcheck)",
        "gauge/mod.go:7:11: Error return value of `w.Write` is not checked (errcheck)",
        "main.go:107: Error return value of 'os.Remove' is not checked (errcheck)",
    ];
    for error in same {
        assert_eq!(pattern(error), "Error return value of … is not checked (errcheck)");
    }
    assert_ne!(pattern("gauge.go:7: result of `f` is not used"), pattern(same[0]));
    assert_eq!(pattern("expected 3 berths, got 14"), pattern("expected 7 berths, got 2"));
    assert_eq!(pattern("gauge.go:7: G104: Errors unhandled in session-12"), "G104: Errors unhandled in session-N");
    assert_eq!(pattern("can't find the tide, don't know why"), "can't find the tide, don't know why");
    assert_eq!(pattern("«größe» is “ein Wort” and `open"), "«größe» is … and `open");
}

#[test]
fn an_error_of_three_sessions_is_told_with_its_command_and_what_ended_it() {
    let error = |file: &str| format!("{file}.go:3: unused variable `x` in function");
    let mut runs: Vec<Run> = (0..3).map(|day| run(day, "make lint", Some(&error(&format!("file{day}"))), None)).collect();
    runs.insert(1, run(0, "make lint", None, None));
    let found = errors(&tried(&runs));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].sessions, found[0].times, found[0].last), (3, 3, Some(2 * DAY_MS)));
    assert_eq!(
        found[0].statement,
        "`make lint` reported “unused variable … in function” in 3 sessions of the 3 that ran it; the same command passed later in 1 of them."
    );
    runs.remove(1);
    let ends = |runs: &[Run], end: &str| assert!(errors(&tried(runs))[0].statement.ends_with(end), "{end}");
    // Another form that passed once may be an accident.
    for (number, end) in [" that ran it.", " that ran it; then `make fmt lint` passed."].into_iter().enumerate() {
        runs[number].1.failed.as_mut().unwrap().next = Some("make fmt lint".to_owned());
        ends(&runs, end);
    }
    // The next form of the command that passed, if nothing else is known.
    runs.iter_mut().for_each(|run| run.1.failed.as_mut().unwrap().next = None);
    runs.insert(1, run(0, "make lint --fix", None, None));
    runs.insert(3, run(1, "make lint --fix", None, None));
    ends(&runs, " that ran it; then `make lint --fix` passed.");
    // One of several commands in a line passed before the one that failed.
    let line = |day| [run(day, "make fmt && make lint", Some(&error("a")), None), run(day, "make fmt", None, None)];
    ends(&(0..3).flat_map(line).collect::<Vec<Run>>(), "in 3 sessions of the 3 that ran it.");
    // Two sessions are no pattern, however often it happened there, and a heading is no error.
    let twice: Vec<Run> = (0..9).map(|number| run(number % 2, "make lint", Some(&error("a")), None)).collect();
    assert!(errors(&tried(&twice)).is_empty());
    // Three of forty sessions are an accident.
    let mut rare: Vec<Run> =
        (0..40).map(|day| run(day, "make lint", (day % 14 == 0).then_some("unused variable here"), None)).collect();
    assert!(errors(&tried(&rare)).is_empty());
    rare.truncate(29);
    assert_eq!(errors(&tried(&rare))[0].of, 29);
    let heading: Vec<Run> = (0..4).map(|day| run(day, "make test", Some("Error Trace: /tmp/a.go:3"), None)).collect();
    assert!(errors(&tried(&heading)).is_empty());
}

#[test]
fn errors_of_one_rule_of_a_linter_are_one_with_the_words_of_all_and_those_of_unlike_commands_are_none() {
    let words = ["Error return value of `f` is not checked (errcheck)", "Error return value is not checked (errcheck)"];
    let of = |commands: [&str; 3]| -> Vec<Run> {
        (0..3).map(|day| run(day, commands[day as usize], Some(words[day as usize % 2]), None)).collect()
    };
    let runs = of(["make lint"; 3]);
    let found = errors(&tried(&runs));
    assert_eq!(found.len(), 1);
    let begins = "`make lint` reported “Error return value … is not checked (errcheck)” in 3 sessions";
    assert!(found[0].statement.starts_with(begins), "{found:?}");
    assert!(found[0].offer.as_ref().unwrap().statement.contains(" always reports "), "{found:?}");
    assert!(errors(&tried(&of(["gh api repos/a/tide", "gh api repos/b/reef --jq .id", "gh api repos/c/pier"]))).is_empty());
}

#[test]
fn a_command_whose_first_run_usually_fails_is_told_and_one_that_fails_later_is_not() {
    let mut runs = Vec::new();
    for day in 0..4 {
        runs.push(run(day, "make test", (day != 1).then_some("no database is running here"), None));
        runs.push(run(day, "make build", None, None));
        runs.push(run(day, "make build", Some("a later change broke it"), None));
    }
    let found = first_tries(&tried(&runs));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].key.as_str(), found[0].sessions, found[0].of), ("make test", 3, 4));
    assert_eq!(
        found[0].statement,
        "The first run of `make test` failed in 3 of 4 sessions, last with “no database is running here”."
    );
    // One that reports a state fails each time with other words.
    let words = ["build of the map failed", "tide of the gauge is missing", "no berth was free", "the pier is closed"];
    let state: Vec<Run> = (0..4).map(|day| run(day, "gh pr checks", Some(words[day as usize]), None)).collect();
    assert!(first_tries(&tried(&state)).is_empty());
    // Half of the sessions is no rule.
    let half: Vec<Run> = (0..6).map(|day| run(day, "make test", (day % 2 == 0).then_some("it failed here"), None)).collect();
    assert!(first_tries(&tried(&half)).is_empty());
}

/// Returns touches of sessions that each open some files in order; one with `!` is changed.
fn touches<'a>(sessions: &[&'a [&'a str]]) -> Vec<Touch<'a, usize>> {
    let of = |(session, files): (usize, &&'a [&'a str])| {
        let touch = move |path: &&'a str| Touch {
            session: session as i64,
            at: Some(session as i64 * 3 * DAY_MS),
            path: path.trim_end_matches('!'),
            is_written: path.ends_with('!'),
            turn: session,
        };
        files.iter().map(touch).collect::<Vec<_>>()
    };
    sessions.iter().enumerate().flat_map(of).collect()
}

#[test]
fn a_file_that_is_opened_before_each_change_of_another_is_told_unless_it_always_is() {
    let change: &[&str] = &["readme.md", "lock.rs", "tide.rs!", "gauge.rs!", "gauge_test.rs!"];
    let other: &[&str] = &["readme.md", "pier.rs!"];
    let sessions = [[change; 4].as_slice(), [other; 14].as_slice()].concat();
    let found = read_before(&touches(&sessions));
    let statements: Vec<&str> = found.iter().map(|insight| insight.statement.as_str()).collect();
    // Its test belongs to it, everybody opens the readme, and nobody changes the lock.
    assert_eq!(statements, ["Before a change of `gauge.rs`, `tide.rs` was opened in 4 of 4 sessions; mostly both were changed."]);
    // Within days it is one piece of work, and after the change it is no preparation.
    let mut at_once = touches(&sessions);
    at_once.iter_mut().for_each(|touch| touch.at = touch.at.map(|at| at / 4));
    assert!(read_before(&at_once).is_empty());
    // A tie that the newest changes do not have may be over, and a wide change touches everything.
    let alone: &[&str] = &["tide.rs", "gauge.rs!"];
    assert!(read_before(&touches(&[&sessions[..], &[alone]].concat())).is_empty());
    let many: Vec<String> = (0..12).map(|number| format!("map{number}.rs!")).collect();
    let wide: Vec<&str> = many.iter().map(String::as_str).chain(["tide.rs!", "gauge.rs!"]).collect();
    assert!(read_before(&touches(&[[wide.as_slice(); 4].as_slice(), [other; 14].as_slice()].concat())).is_empty());
    let after: &[&str] = &["gauge.rs!", "tide.rs!"];
    let found = read_before(&touches(&[[after; 4].as_slice(), [other; 14].as_slice()].concat()));
    assert!(found.iter().all(|insight| insight.key != "gauge.rs"), "{found:?}");
}

fn said<'a>(sessions: &[&[&'a str]]) -> Vec<Said<'a, usize>> {
    let of = |(session, texts): (usize, &&[&'a str])| {
        let said = move |text: &&'a str| Said { session: session as i64, at: Some(session as i64), turn: session, text };
        texts.iter().map(said).collect::<Vec<_>>()
    };
    sessions.iter().enumerate().flat_map(of).collect()
}

#[test]
fn an_instruction_in_nearly_the_same_words_counts_once_a_session() {
    let found = repeated(&said(&[
        &["Run the linter before you commit.", "run the linter before you commit"],
        &["Run the linter, before you commit!"],
        &["Fix the gauge."],
        &["Always run the linter before you commit"],
        &["Please run the linter before you commit"],
    ]));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].sessions, found[0].times), (4, 5));
    let offer = found[0].offer.as_ref().unwrap();
    assert_eq!((offer.kind, offer.statement.as_str()), (MemoryKind::Preference, "Run the linter, before you commit!"));
    let known = |statements: &[&'static str]| statements.iter().copied().collect::<KnownStatements>();
    assert!(known(&["The linter is green.", "Run the linter before you commit."]).say(&found[0]));
    assert!(known(&["Always run the linter before you commit anything to the branch of a colleague."]).say(&found[0]));
    assert!(!known(&["Run the tests before you push.", ""]).say(&found[0]));
}

#[test]
fn short_and_different_sentences_are_no_repetition() {
    assert!(repeated(&said(&[&["go on"], &["go on"], &["go on"], &["yes, please"]])).is_empty());
    let nods = ["yes, please do", "yes please do that now", "ok, go ahead and do it"];
    assert!(nods.iter().all(|nod| repeated(&said(&[&[*nod], &[*nod], &[*nod]])).is_empty()));
    let tasks = ["review https://tide.example/trails/10 for the team", "move berth 12 of the map to pier 40 please"];
    assert!(tasks.iter().all(|task| repeated(&said(&[&[*task], &[*task], &[*task]])).is_empty()));
    let draft = ["open each pull request as draft", "open each pull request as a draft", "Open each pull request as draft!"];
    assert_eq!(repeated(&said(&[&draft[..1], &draft[1..2], &draft[2..]])).len(), 1);
    let other = ["add the tide gauge to the map", "add the pier to the list of berths", "add a test of the crane"];
    assert!(repeated(&said(&[&[other[0]], &[other[1]], &[other[2]]])).is_empty());
}

proptest::proptest! {
    #[test]
    fn sentences_of_three_sessions_are_found_and_counted_and_no_others(said_in in proptest::collection::vec(0usize..6, 3..40)) {
        const TEXTS: [&str; 6] = [
            "run the linter before you commit",
            "open each pull request as draft",
            "write tests of the tide gauge first",
            "never push to the main branch",
            "keep the harbour map in metres",
            "explain the plan of the crane shortly",
        ];
        let said: Vec<Said<'_, usize>> = said_in
            .iter()
            .enumerate()
            .map(|(at, text)| Said { session: at as i64, at: Some(at as i64), turn: at, text: TEXTS[*text] })
            .collect();
        let times = |text: usize| said_in.iter().filter(|other| **other == text).count();
        let expected: std::collections::BTreeMap<&str, usize> =
            (0..TEXTS.len()).map(|text| (TEXTS[text], times(text))).filter(|(_, times)| *times >= FEWEST_SESSIONS).collect();
        let found = repeated(&said);
        let counted: std::collections::BTreeMap<&str, usize> =
            found.iter().map(|insight| (insight.offer.as_ref().unwrap().statement.as_str(), insight.times)).collect();
        proptest::prop_assert_eq!(counted, expected);
        proptest::prop_assert!(found.iter().all(|insight| insight.places.len() <= 5 && insight.first <= insight.last));
    }
}

#[test]
fn a_decision_that_was_replaced_soon_or_twice_is_told_once_and_others_are_not() {
    let pair = |older: (u32, &'static str, i64), newer: (u32, &'static str, i64)| Replacement {
        older: (older.0, older.1, older.2 * DAY_MS),
        newer: (newer.0, newer.1, newer.2 * DAY_MS),
    };
    let (sqlite, files, postgres) =
        ((1, "Leases live in SQLite.", 0), (2, "Leases live in files.", 40), (3, "Leases live in PostgreSQL.", 90));
    let found = reversals(&[pair(files, postgres), pair(sqlite, files)]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].places, [3, 2, 1]);
    assert_eq!(
        found[0].statement,
        "“Leases live in files.” was replaced 50 days later by “Leases live in PostgreSQL.”. It was the second change."
    );
    let soon = reversals(&[pair((5, "Berths have names.", 10), (6, "Berths have numbers.", 13))]);
    assert_eq!(soon[0].statement, "“Berths have names.” was replaced 3 days later by “Berths have numbers.”.");
    assert!(reversals(&[pair(sqlite, files)]).is_empty(), "a decision that held for weeks was no mistake");
    // Records that replace each other in a circle end.
    let circle = reversals(&[pair((8, "a", 1), (9, "b", 2)), pair((9, "b", 2), (8, "a", 1))]);
    assert!(circle.len() <= 1);
}
