//! Answers in kind: views over what tools reported, beside the passages.

use serde_json::json;
use yore_core::query::AnswerKind;
use yore_core::scope::ScopeChoice;
use yore_engine::{ExtractRequest, ForgetRequest, Packing, RecallAnswer, RecallRequest, View};
use yore_sources::project_names::names_of;
use yore_testing::{Memory, SessionBuilder};

const SEED: u64 = 4_700;
/// 2026-01-13, 10:00 UTC.
const MONDAY: i64 = 1_768_298_400_000;
const DAY: i64 = 86_400_000;

/// Returns a memory of two sessions: on 13 January the release of the gauge, and two days later the repair of the tests.
fn two_sessions() -> Memory {
    let memory = Memory::new();
    let mut release = SessionBuilder::new(SEED).with_id("release").cwd("/home/dev/tide").at(MONDAY);
    release.human("Release the gauge and open a pull request for the harbour map");
    for _ in 0..2 {
        release.tool("Bash", &json!({"command": "just check-tests 2>&1 | tail -3"}), "12 passed", false);
        release.tool("Bash", &json!({"command": "cd /home/dev/tide && just test"}), "12 passed", false);
    }
    release.tool("Bash", &json!({"command": "just lint"}), "clean", false);
    release.tool(
        "Bash",
        &json!({"command": "gh pr create --title \"Draw the harbour map\" --body x"}),
        "https://github.com/acme/tide/pull/41",
        false,
    );
    release.tool("Bash", &json!({"command": "gh pr merge 41 --squash"}), "", false);
    release.tool("Bash", &json!({"command": "git commit -m \"Draw the map\""}), "[main 1a2b3c4] Draw the map", false);
    release.tool("Bash", &json!({"command": "gh release create v1.4.0 --title \"Gauge\""}), "", false);
    let todos = json!({"todos": [
        {"content": "Write the release notes", "status": "completed", "activeForm": "Writing"},
        {"content": "Announce the gauge to the harbour office", "status": "pending", "activeForm": "Announcing"},
    ]});
    release.tool("TodoWrite", &todos, "ok", false);
    let refusal =
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nnever force-push";
    release.tool("Bash", &json!({"command": "git push --force"}), refusal, true);
    release.assistant("The gauge v1.4.0 is released, and the harbour map is merged.");
    memory.write("projects/p/release.jsonl", release.text());

    let mut repair = SessionBuilder::new(SEED + 1).with_id("repair").cwd("/home/dev/tide").at(MONDAY + 2 * DAY);
    repair.human("The tests of the buoy fail, mend them");
    repair.tool("Read", &json!({"file_path": "/home/dev/tide/CLAUDE.md"}), GUIDE, false);
    repair.tool("Bash", &json!({"command": "just buoy"}), "error: buoy anchor missing in fixture", true);
    repair.assistant(
        "The root cause was that the buoy anchor is missing in the fixture. I added the anchor to fixtures/buoy.json.",
    );
    memory.write("projects/p/repair.jsonl", repair.text());
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    memory
}

const GUIDE: &str = "     1→# Tide\n     2→\n     3→Tide is a service that reads gauges in harbours and draws their maps.\n     4→\n     5→## Tests\n     6→\n     7→- Never sleep in tests; use the fake clock.\n     8→- Coverage: `just test-coverage`\n";

fn answer(memory: &Memory, question: &str) -> RecallAnswer {
    let mut request = RecallRequest { answer_kind: None, ..RecallRequest::new(question) };
    request.filter.scope = ScopeChoice::All;
    memory.engine().answer(&request, true).unwrap()
}

/// Returns the rows of the view of an answer, each with its state.
fn rows(memory: &Memory, question: &str) -> Vec<String> {
    let view = answer(memory, question).view;
    let rows = view.map_or_else(Vec::new, |view| view.rows);
    rows.into_iter().map(|row| row.state.map_or(row.text.clone(), |state| format!("{} ({state})", row.text))).collect()
}

#[test]
fn how_something_is_run_is_answered_by_the_commands_that_passed_and_those_that_a_document_names() {
    let memory = two_sessions();
    assert_eq!(
        rows(&memory, "how do we run the tests"),
        ["`just test` (passed 2×)", "`just test-coverage` (in CLAUDE.md)"],
        "a command that is not known to test is none"
    );
    assert_eq!(rows(&memory, "lint command?"), ["`just lint` (passed 1×)"]);
}

#[test]
fn lists_tell_what_tools_reported_with_its_state() {
    let memory = two_sessions();
    assert_eq!(rows(&memory, "which prs were merged?"), ["#41 Draw the harbour map (merged)"]);
    assert_eq!(rows(&memory, "open todos"), ["Announce the gauge to the harbour office (pending)"]);
    assert_eq!(rows(&memory, "what did I refuse"), ["Bash git push --force: “never force-push”"]);
    assert_eq!(rows(&memory, "list the releases"), ["v1.4.0 Gauge (tagged)"]);
    assert_eq!(rows(&memory, "recent commits"), ["1a2b3c4 Draw the map"]);
    assert_eq!(rows(&memory, "my rules for tests"), ["CLAUDE.md"]);
}

#[test]
fn a_list_about_something_unknown_says_so_and_tells_the_latest() {
    let memory = two_sessions();
    let View { rows, all, is_widened, .. } = answer(&memory, "which pull requests about neo4j are there").view.unwrap();
    assert_eq!((rows.len(), all, is_widened), (1, 1, true));
}

#[test]
fn commands_of_which_none_names_the_subject_are_marked_as_beside_it() {
    let memory = two_sessions();
    let is_widened = |question| answer(&memory, question).view.unwrap().is_widened;
    assert!(!is_widened("how do we run the tests"));
    assert!(!is_widened("how do we run the coverage tests"));
    assert!(is_widened("how do we run the tests of the blowhole"));
}

#[test]
fn of_commands_those_with_the_rarer_words_of_the_question_come_first() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(SEED + 40).cwd("/home/dev/tide").at(MONDAY);
    session.human("Run all tests.");
    let commands = ["./agent/gauge/...", "./agent/tide/...", "./agent/map/...", "-tags=e2e ./harbour/..."];
    for command in commands {
        session.tool("Bash", &json!({"command": format!("go test {command}")}), "ok", false);
    }
    memory.write("projects/p/rare.jsonl", session.text());
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    let told = rows(&memory, "how do i run the e2e tests with the real agent");
    assert_eq!(told[0], "`go test -tags=e2e ./harbour/...` (passed 1×)", "{told:?}");
}

#[test]
fn work_of_a_day_is_that_day_and_nothing_else() {
    let memory = two_sessions();
    let told = rows(&memory, "what did we do on 2026-01-13");
    assert_eq!(told, ["Release the gauge and open a pull request for the harbour map"]);
    assert!(answer(&memory, "what did we do on 2026-01-14").view.is_none_or(|view| view.rows.is_empty()));
    assert_eq!(rows(&memory, "what did we last work on")[0], "The tests of the buoy fail, mend them");
}

#[test]
fn a_pasted_error_is_answered_by_its_cause() {
    let memory = two_sessions();
    let told = rows(&memory, "error: buoy anchor missing in fixture");
    assert!(told[0].contains("root cause was that the buoy anchor is missing"), "{told:?}");
}

#[test]
fn what_the_project_is_comes_from_its_document() {
    let memory = two_sessions();
    let told = rows(&memory, "what is this project");
    assert!(told[0].starts_with("Tide is a service that reads gauges"), "{told:?}");
}

#[test]
fn the_caller_may_choose_another_kind() {
    let memory = two_sessions();
    let mut request = RecallRequest { answer_kind: Some(AnswerKind::Passages), ..RecallRequest::new("which prs were merged?") };
    request.filter.scope = ScopeChoice::All;
    assert_eq!(memory.engine().answer(&request, true).unwrap().view, None);
    request.answer_kind = Some(AnswerKind::Commits);
    let view = memory.engine().answer(&request, true).unwrap().view.unwrap();
    assert_eq!((view.kind, view.all), (AnswerKind::Commits, 1));
}

#[test]
fn nothing_of_a_forgotten_session_is_in_a_view() {
    let memory = two_sessions();
    let soft =
        ForgetRequest { session: "release".to_owned(), is_hard: false, is_dry_run: false, restore: false, keep_tombstones: true };
    memory.engine().forget(&soft).unwrap();
    assert!(rows(&memory, "which prs were merged?").is_empty());
    memory.forget_hard("release");
    let (database, log) = memory.database_bytes();
    for bytes in [database, log] {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("Draw the harbour map") && !text.contains("never force-push"));
    }
}

/// Returns a memory of a session in which a document was read whole, and later a newer beginning of it.
fn read_guides() -> Memory {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(SEED + 2).with_id("guides").cwd("/home/dev/tide").at(MONDAY);
    session.human("Look around");
    let whole = format!(
        "# Tide\n\n## Checks\n\n```sh\njust fmt\njust dup  # duplicated code\n```\n\n## Before every commit\n\n```sh\njust fmt\njust lint\n```\n\n{}",
        "Tests never sleep; they use the fake clock.\n\n".repeat(4)
    );
    let newer = "# Tide\n\nNever start the simulator unasked.";
    for text in [whole.as_str(), newer] {
        let numbered: Vec<String> =
            (1..).zip(text.lines()).map(|(number, line): (usize, _)| format!("{number:>6}→{line}")).collect();
        session.tool("Read", &json!({"file_path": "/home/dev/tide/CLAUDE.md"}), &numbered.join("\n"), false);
    }
    for command in ["just lint", "just fmt", "just test", "just dup"] {
        session.tool("Bash", &json!({"command": command}), "ok", false);
    }
    session.assistant("Done.");
    memory.write("projects/p/guides.jsonl", session.text());
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    memory
}

#[test]
fn what_is_to_be_run_before_a_step_is_what_the_document_says_under_that_heading_in_its_order() {
    let memory = read_guides();
    let expected = ["`just fmt` (passed 1×, in CLAUDE.md)", "`just lint` (passed 1×, in CLAUDE.md)"];
    for question in ["what must i run before every commit", "what to run before commiting here"] {
        assert_eq!(rows(&memory, question), expected, "{question}");
    }
}

#[test]
fn a_command_that_is_called_by_the_beginning_of_a_word_of_the_question_comes_first() {
    assert!(rows(&read_guides(), "check for duplicated code, which task")[0].starts_with("`just dup`"));
}

#[test]
fn rules_of_a_document_are_those_of_its_latest_reading_and_of_the_rest_that_an_earlier_one_has() {
    let memory = read_guides();
    let rules = |question| answer(&memory, question).view.unwrap().rows.pop().unwrap().details;
    assert_eq!(rules("what are my rules"), ["Never start the simulator unasked.", "Tests never sleep; they use the fake clock."]);
    assert_eq!(rules("my rules for tsts and the clock"), ["Tests never sleep; they use the fake clock."], "a typing error");
}

#[test]
fn a_day_without_work_has_no_other_days_beside_it() {
    let memory = two_sessions();
    let answer = answer(&memory, "what did we do on 2026-01-14");
    assert!(answer.hits.is_empty());
    let View { rows, all, .. } = answer.view.unwrap();
    assert_eq!((rows.len(), all), (0, 2));
}

#[test]
fn an_overview_of_a_subject_quotes_more_than_three_passages_and_repeats_none_of_them_as_a_row() {
    let memory = Memory::new();
    for seed in 0..6 {
        let mut session = SessionBuilder::new(SEED + 20 + seed).cwd("/home/dev/tide").at(MONDAY + seed as i64 * DAY);
        session.human(&format!("Implement the following plan:\n\n# Keep lagoon level {seed} in SQLite\n\n## Context\nThe lagoon lost level {seed} in Redis."));
        session
            .assistant(&format!("The lagoon keeps level {seed} in SQLite now, and reads it from the table of the pier {seed}."));
        memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
    }
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    memory.index();
    let answer = answer(&memory, "give me an overview of the lagoon");
    let view = answer.view.unwrap();
    assert_eq!(view.kind, AnswerKind::Overview);
    assert!(answer.hits.len() > 3, "{}", answer.hits.len());
    let quoted: Vec<String> = answer.hits.iter().map(|hit| hit.id().short()).collect();
    assert!(view.rows.iter().all(|row| row.opens.as_ref().is_none_or(|id| !quoted.contains(id))), "{:?} {quoted:?}", view.rows);
}

#[test]
fn what_a_person_reported_is_told_with_the_cause_that_was_found_however_the_exchange_ends() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(SEED + 30).cwd("/home/dev/tide").at(MONDAY);
    session.human("The lagoon gauge says that the sluice is open, but the sluice is shut. Look at it.");
    for step in 0..12 {
        session.assistant(&format!("Let me look at part {step} of the reader, where the position comes from."));
    }
    session.assistant("The issue was that two relays share one wire, and the second one inverts the signal.");
    for step in 0..12 {
        session.assistant(&format!("Next I change test {step}, so that it has both positions in it."));
    }
    session.assistant("The build is complete. Try it with the new firmware from the shelf.");
    memory.write("projects/p/sluice.jsonl", session.text());
    memory.learn();
    let told = |question: &str| {
        let packing = Packing { budget: 120, group_cost: 36, hit_cost: 24, broad: 0, least_gain: 0.0 };
        let mut request = RecallRequest { packing: Some(packing), limit: 3, ..RecallRequest::new(question) };
        request.filter.scope = ScopeChoice::All;
        let hits = memory.engine().recall(&request).unwrap().hits;
        let mut quotes = hits.iter().flat_map(|hit| hit.beside.iter().map(|said| &said.text).chain([&hit.quote]));
        quotes.any(|quote| quote.contains("two relays share one wire"))
    };
    assert!(told("the gauge says the sluice is open but it is shut, why?"));
    assert!(told("gauge said sluice open though shut. fix?"));
    assert!(told("warum sagt die lagoon gauge dass sluice offen ist"));
    assert!(!told("when did we look at the sluice that the gauge says is open but is shut"), "no cause is asked for");
}

#[test]
fn what_came_of_a_session_begins_after_the_praise_and_keeps_short_sentences_that_say_something() {
    let outcome = |words: &str| {
        let memory = Memory::new();
        let mut session = SessionBuilder::new(SEED + 40).cwd("/home/dev/tide").at(MONDAY);
        session.human("Bring the gauge to the newest firmware, please, and tell me what came of it");
        session.assistant(words);
        memory.write("projects/p/s.jsonl", session.text());
        memory.learn();
        let row = answer(&memory, "what did we do on 2026-01-13").view.unwrap().rows.remove(0);
        row.details.into_iter().find_map(|detail| detail.strip_prefix("outcome: ").map(str::to_owned)).unwrap()
    };
    let praised =
        outcome("Great question! All tests pass. The firmware 4.2 is on the gauge, and the old one is kept in the shelf.");
    assert!(praised.starts_with("The firmware 4.2"), "{praised}");
    let short = outcome("Done. Merged #45. Nothing else is open in this branch of the gauge as of today.");
    assert!(short.contains("Merged #45."), "{short}");
    let all = outcome("All tests now use the new firmware of the gauge, and none needs the old one.");
    assert!(all.starts_with("All tests now use"), "{all}");
}

#[test]
fn a_ticket_has_the_state_that_was_asked_for_and_one_that_was_only_refused_is_none() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(SEED + 40).cwd("/home/dev/tide").at(MONDAY);
    session.human("Sort the tickets of the gauge");
    let issue = |key: &str, title: &str, status: &str| {
        json!({"id": "2ceb7a6b", "identifier": key, "title": title, "description": "\"state\":\"Done\"", "status": status})
            .to_string()
    };
    let create = "mcp__linear-server__create_issue";
    let update = "mcp__linear-server__update_issue";
    session.tool(create, &json!({"title": "Poll less often"}), &issue("TIDE-7", "Poll less often", "Backlog"), false);
    session.tool(create, &json!({"title": "Draw buoys"}), &issue("TIDE-8", "Draw buoys", "Backlog"), false);
    // The tracker answers with what was there before.
    session.tool(update, &json!({"id": "TIDE-7", "state": "Cancelled"}), &issue("TIDE-7", "Poll less often", "Backlog"), false);
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    session.tool(update, &json!({"id": "TIDE-9", "state": "Done"}), refusal, true);
    session.tool(update, &json!({"id": "TIDE-9", "state": "Done"}), "Error: Entity not found", true);
    let torn = format!("{} … cut", issue("TIDE-10", "Oil the crane", "Backlog").split("status").next().unwrap());
    session.tool(create, &json!({"title": "Oil the crane"}), &torn, false);
    session.tool(
        update,
        &json!({"id": "TIDE-8", "state": "1f0c7a52-77aa-4c11-9d2e-0123456789ab"}),
        &issue("TIDE-8", "Draw buoys", "Done"),
        false,
    );
    memory.write("projects/p/tickets.jsonl", session.text());
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    let mut told = rows(&memory, "which tickets are there");
    told.sort();
    assert_eq!(told, ["TIDE-10 Oil the crane (opened)", "TIDE-7 Poll less often (closed)", "TIDE-8 Draw buoys (closed)"]);
}

#[test]
fn what_is_recorded_of_other_projects_is_no_answer_about_one_that_is_not_known() {
    let home = tempfile::tempdir().unwrap();
    let path = |below: &str| home.path().join(below).to_str().unwrap().to_owned();
    for directory in ["fresh/.git", "loose"] {
        std::fs::create_dir_all(path(directory)).unwrap();
    }
    let memory = two_sessions();
    let asked = |directory: &str, question: &str| {
        let here = Some(names_of(&path(directory)));
        let request = RecallRequest { answer_kind: None, here, ..RecallRequest::new(question) };
        memory.engine().answer(&request, true).unwrap()
    };
    assert!(asked("loose", "how do we run the tests").view.is_some(), "the only project that is known is the one that is meant");
    assert!(asked("fresh", "how do we run the tests").is_project_unknown, "but in a repository");
    let mut other = SessionBuilder::new(SEED + 41).cwd("/home/dev/crane").at(MONDAY);
    other.human("Oil the crane");
    other.assistant("The crane is oiled.");
    memory.write("projects/c/crane.jsonl", other.text());
    memory.learn();
    for question in ["how do we run the tests", "what is this project"] {
        let answer = asked("fresh", question);
        assert!(answer.is_project_unknown && answer.view.is_none() && answer.hits.is_empty(), "{question}: {answer:?}");
    }
    assert!(asked("fresh", "which pull requests did we open").view.is_none());
    assert!(!asked("fresh", "crane oil failures").hits.is_empty(), "only a word of a list");
    assert!(asked("loose", "how do we run the tests").is_project_unknown);
    assert!(
        asked("loose", "which pull requests did we open").view.is_some(),
        "outside of a repository, a list is of all projects"
    );
    assert!(!asked("fresh", "who oiled the crane").hits.is_empty(), "what was said elsewhere is found");
}

#[test]
fn steps_that_were_left_long_before_the_latest_work_are_told_only_by_name_or_time() {
    let memory = Memory::new();
    for (number, (day, step)) in [(0, "Oil the old crane"), (20, "Paint the new quay")].into_iter().enumerate() {
        let mut session = SessionBuilder::new(SEED + 50 + number as u64).cwd("/home/dev/tide").at(MONDAY + day * DAY);
        session.human("Go on with the harbour");
        let todos = json!({"todos": [{"content": step, "status": "pending", "activeForm": step}]});
        session.tool("TodoWrite", &todos, "ok", false);
        memory.write(&format!("projects/p/steps{number}.jsonl"), session.text());
    }
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    assert_eq!(rows(&memory, "open todos"), ["Paint the new quay (pending)"]);
    assert_eq!(rows(&memory, "open todos about the crane"), ["Oil the old crane (pending)"]);
}

#[test]
fn a_pull_request_is_of_its_repository_and_of_the_period_that_its_number_tells() {
    let memory = Memory::new();
    let list = "40\tMap the quay\tmap\tMERGED\t2025\n42\tOil the crane\toil\tMERGED\t2026";
    for (number, (folder, merged, list)) in [("tide", "41", list), ("crane", "42", "")].into_iter().enumerate() {
        let cwd = format!("/home/dev/{folder}");
        let mut session = SessionBuilder::new(SEED + 60 + number as u64).cwd(&cwd).at(MONDAY);
        session.human("Merge it, please");
        session.tool("Bash", &json!({"command": format!("gh pr merge {merged} --squash")}), "", false);
        session.tool("Bash", &json!({"command": "gh pr list --state merged"}), list, false);
        memory.write(&format!("projects/{folder}/pulls.jsonl"), session.text());
    }
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    let mut told = rows(&memory, "which PRs were merged in january 2026");
    told.sort();
    assert_eq!(told, ["#41 (merged)", "#42 (merged)", "#42 Oil the crane (merged)"], "#40 was only seen, and is older");
}
