//! What is known against a command before it runs: a failure that is likely to come again, a rule, edits that were taken back.

use serde_json::json;
use yore_core::memory::MemoryKind;
use yore_core::operation::{Actor, Cause};
use yore_engine::{Against, CommandRequest, ExtractRequest, NewMemory, SuggestRequest, Trigger, Warning};
use yore_sources::project_names::names_of;
use yore_testing::{Memory, SessionBuilder};

const TIDE: &str = "/home/dev/tide";
const DAY_MS: i64 = 86_400_000;

/// Has a memory read sessions in one project, a day apart and up to now; a command comes with its output and whether it failed.
fn memory(sessions: &[&[(&str, &str, bool)]]) -> Memory {
    let memory = Memory::new();
    for (number, ran) in (0u64..).zip(sessions) {
        let at = Memory::now() - (sessions.len() as i64 - number as i64) * DAY_MS;
        let mut session = SessionBuilder::new(700 + number).cwd(TIDE).at(at);
        session.human("Please go on with the tables of the harbour, and run what is needed for it");
        for (command, output, has_failed) in *ran {
            session.tool("Bash", &json!({"command": command, "description": "run it"}), output, *has_failed);
        }
        session.assistant("Done.");
        memory.write(&format!("projects/p/{number}.jsonl"), session.text());
    }
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    memory
}

fn warnings(memory: &Memory, command: &str, directory: &str) -> Vec<Warning> {
    let request = CommandRequest {
        command: command.to_owned(),
        directory: Some(directory.to_owned()),
        here: Some(names_of(directory)),
        session: Some("asking".to_owned()),
        as_of: None,
    };
    memory.engine().warnings(&request).unwrap()
}

/// Returns the error and the form that worked of the failure that is told.
fn told(memory: &Memory, command: &str) -> Option<(String, Option<String>)> {
    warnings(memory, command, TIDE).into_iter().find_map(|warning| match warning.against {
        Against::Failed { error, next, .. } => Some((error, next)),
        Against::Forbidden { .. } => None,
    })
}

const STAT: (&str, &str, bool) = ("gh pr diff 88 --stat", "Exit code 1\nunknown flag: --stat\n\nUsage: gh pr diff", true);

#[test]
fn failure_that_the_output_names_is_told_with_the_form_that_worked_and_only_in_its_project() {
    let memory = memory(&[&[STAT, ("gh pr diff 88 --name-only", "src/tide.rs", false)]]);
    let expected = Some(("unknown flag: --stat".to_owned(), Some("gh pr diff 88 --name-only".to_owned())));
    for command in ["gh pr diff 104 --stat", "cd web && timeout 60 gh pr diff 7 --stat 2>&1 | tail -3"] {
        assert_eq!(told(&memory, command), expected, "{command}");
    }
    for other in ["gh pr diff 88 --name-only", "gh pr diff 88", "git diff --stat", "echo \"gh pr diff --stat\"", ""] {
        assert_eq!(told(&memory, other), None, "{other}");
    }
    assert_eq!(warnings(&memory, "gh pr diff 104 --stat", "/home/dev/reef"), []);
}

#[test]
fn failure_is_told_no_more_once_the_command_passed_or_another_version_came() {
    let passed = memory(&[&[STAT], &[("gh pr diff 91 --stat", " 1 file changed", false)]]);
    assert_eq!(told(&passed, "gh pr diff 104 --stat"), None);
    let version = |number: &'static str| ("gh version", number, false);
    let newer = memory(&[&[version("gh version 2.4.0 (2026)"), STAT], &[version("gh version 2.9.0 (2026)")]]);
    assert_eq!(told(&newer, "gh pr diff 104 --stat"), None);
    let same = memory(&[&[version("gh version 2.4.0 (2026)"), STAT], &[version("gh version 2.4.0 (2026)")]]);
    assert!(told(&same, "gh pr diff 104 --stat").is_some());
}

#[test]
fn failures_of_unfinished_work_are_never_told() {
    let failing = ("cargo test tide", "Exit code 101\ntest tide::ebb ... FAILED\n\nerror: test failed", true);
    let memory = memory(&[&[
        failing,
        failing,
        ("grep -rn ebb src", "Exit code 1", true),
        ("ls notes", "Exit code 1\nls: notes: No such file or directory", true),
        ("make tables", "Exit code 2\nerror: no gauge", true),
        ("make tables", "", false),
    ]]);
    for command in ["cargo test tide", "grep -rn ebb src", "ls notes", "make tables"] {
        assert_eq!(told(&memory, command), None, "{command}");
    }
}

#[test]
fn missing_variable_is_told_where_another_form_passed_next_and_only_in_its_directory() {
    let memory = memory(&[&[
        ("pytest -q", "Exit code 2\nE   ModuleNotFoundError: No module named 'tide'", true),
        ("PYTHONPATH=. pytest -q", "9 passed", false),
    ]]);
    let next = told(&memory, "pytest -q 2>&1 | tail -5").and_then(|(_, next)| next);
    assert_eq!(next.as_deref(), Some("PYTHONPATH=. pytest -q"));
    assert_eq!(told(&memory, "PYTHONPATH=. pytest -q"), None, "it is what worked");
    assert_eq!(told(&memory, "pytest -q tests/gauge.py"), None, "another command");
    assert_eq!(told(&memory, "cd web && pytest -q"), None, "another directory");
}

#[test]
fn failure_is_forgotten_with_its_session() {
    let memory = memory(&[&[STAT]]);
    assert!(told(&memory, "gh pr diff 104 --stat").is_some());
    memory.forget_hard(SessionBuilder::new(700).id());
    assert_eq!(told(&memory, "gh pr diff 104 --stat"), None);
}

#[test]
fn rule_in_effect_is_told_before_a_command_that_it_forbids() {
    let memory = memory(&[&[("ls", "src", false)]]);
    let rule = |statement: &str, project: Option<&str>| {
        let mut rule = NewMemory::new(MemoryKind::Standard, statement);
        rule.here = project.map(names_of);
        let cause = Cause { actor: Actor::Person, by: "test".to_owned(), input: None };
        memory.engine().add_memory(&rule, &cause).unwrap().memory
    };
    let here = rule("Use pnpm, not npm.", Some(TIDE));
    let everywhere = rule("Never push to main.", None);
    rule("The harbour uses npm for its own packages", Some(TIDE));
    let told = |command: &str, directory: &str| {
        warnings(&memory, command, directory).into_iter().find_map(|warning| match warning.against {
            Against::Forbidden { memory, .. } => Some(memory),
            Against::Failed { .. } => None,
        })
    };
    assert_eq!(told("cd web && npm install", TIDE), Some(here));
    assert_eq!(told("git push origin main", TIDE), Some(everywhere));
    assert_eq!(told("git push origin main", "/home/dev/unknown"), Some(everywhere));
    assert_eq!(told("npm install", "/home/dev/unknown"), None);
    assert_eq!(told("pnpm install", TIDE), None);
    let cause = Cause { actor: Actor::Person, by: "test".to_owned(), input: None };
    memory.engine().archive_memory(&here.to_string(), true, &cause).unwrap();
    assert_eq!(told("npm install", TIDE), None, "it is no longer in effect");
}

#[test]
fn edit_of_a_file_whose_last_edits_were_taken_back_is_told_so() {
    let memory = Memory::new();
    let session = |seed: u64, days: i64, restores: bool| {
        let mut session = SessionBuilder::new(seed).cwd(TIDE).at(Memory::now() - days * DAY_MS);
        session.human("Please let the gauge read the tables of the harbour twice an hour");
        let edit = json!({"file_path": "/home/dev/tide/src/gauge.rs", "old_string": "1", "new_string": "2"});
        session.tool("Edit", &edit, "The file has been updated.", false);
        if restores {
            session.tool("Bash", &json!({"command": "git checkout -- src/gauge.rs"}), "", false);
        }
        session.assistant("Done, the gauge is as you wanted it.");
        session.text()
    };
    let told = || {
        memory.learn();
        memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
        let request: SuggestRequest = crate::suggest::request(Trigger::Edit("/home/dev/tide/src/gauge.rs".to_owned()), TIDE);
        memory.engine().suggest(&request).unwrap().taken_back.map(|edits| edits.by)
    };
    memory.write("projects/p/a.jsonl", session(801, 3, true));
    assert_eq!(told().as_deref(), Some("git checkout -- src/gauge.rs"));
    memory.write("projects/p/b.jsonl", session(802, 1, false));
    assert_eq!(told(), None, "it was edited since");
}
