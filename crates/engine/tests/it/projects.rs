//! One project under all the names of its folder: spellings, remotes that agents record, worktrees, renamed folders, merges.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use yore_engine::{BriefRequest, EngineError, RememberRequest};
use yore_sources::project_names::names_of;
use yore_testing::{Memory, SessionBuilder};

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// Stores a session of Claude Code that began in a directory.
fn claude_code(memory: &Memory, seed: u64, directory: &str) {
    let mut session = SessionBuilder::new(seed).cwd(directory);
    session.human(&format!("Question {seed} about the pump"));
    session.assistant("It runs dry.");
    memory.write(&format!("claude/projects/p{seed}/a.jsonl"), session.text());
    memory.read_as("claude-code", &memory.sources().join("claude"));
}

/// Stores a session of Codex, which records the remote.
fn codex(memory: &Memory, number: u64, directory: &str, remote: &str) {
    let id = format!("019e7da4-0000-7000-8000-{number:012}");
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-05-31T10:46:00.000Z", "type": kind, "payload": payload});
    let text = lines(&[
        line(
            "session_meta",
            json!({"id": id, "timestamp": "2026-05-31T10:46:00.000Z", "cwd": directory, "cli_version": "0.140.0",
            "source": "cli", "git": {"branch": "main", "repository_url": remote}}),
        ),
        line(
            "response_item",
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "why does it stall?"}]}),
        ),
        line("event_msg", json!({"type": "user_message", "message": "why does it stall?", "images": []})),
    ]);
    memory.write(&format!("codex/sessions/2026/05/31/rollout-2026-05-31T10-46-00-{id}.jsonl"), text);
    memory.read_as("codex", &memory.sources().join("codex"));
}

/// Stores a session of the Copilot command line, which records owner and name.
fn copilot_cli(memory: &Memory, number: u64, directory: &str, repository: &str) {
    let session = format!("f35b3f6b-6415-4e47-9fe8-{number:012}");
    let event = |kind: &str, id: &str, data: Value| json!({"type": kind, "id": id, "timestamp": "2026-05-31T10:46:00.000Z", "data": data});
    let text = lines(&[
        event(
            "session.start",
            "1",
            json!({"sessionId": session, "context": {"cwd": directory, "gitRoot": directory, "repository": repository}}),
        ),
        event("user.message", "2", json!({"content": "why does it stall?"})),
    ]);
    memory.write(&format!("state/{session}/events.jsonl"), text);
    memory.read_as("copilot-cli", &memory.sources().join("state"));
}

fn names(memory: &Memory) -> Vec<String> {
    let mut names: Vec<String> = memory.engine().projects().unwrap().into_iter().map(|project| project.name).collect();
    names.sort();
    names
}

#[test]
fn one_folder_is_one_project_in_whatever_spelling_an_agent_records_it() {
    for spellings in [
        &[
            "/home/nobody-here/pond",
            r"\\wsl$\Ubuntu\home\nobody-here\pond",
            r"\\wsl.localhost\Ubuntu-24.04\home\nobody-here\pond\",
        ][..],
        &[
            r"C:\nowhere\Pond",
            r"c:\nowhere\pond\",
            "/mnt/c/nowhere/pond",
            "/c/nowhere/Pond",
            r"\\?\C:\nowhere\pond",
            r"C:\nowhere\x\..\Pond",
        ],
        &[
            "/home/nobody-here/pond",
            "/home/nobody-here/pond/.claude/worktrees/one",
            "/home/nobody-here/pond/.worktrees/two",
            "/home/nobody-here/pond/.conductor/rome",
            "/home/nobody-here/pond/.gemini/worktrees/three",
            "/home/nobody-here/pond/.qwen/worktrees/four/src",
            "/home/nobody-here/pond/.kilocode/worktrees/five",
            r"\\wsl$\Ubuntu\home\nobody-here\pond\.claude\worktrees\six",
        ],
        &["/home/nobody-here/.codex/worktrees/77fe/pond", "/home/nobody-here/.codex/worktrees/12ab/pond/src"],
        &["/home/nobody-here/.cursor/worktrees/pond/x1", "/home/nobody-here/.cursor/worktrees/pond/x2"],
        &["/home/nobody-here/conductor/workspaces/pond/oslo", "/home/nobody-here/conductor/workspaces/pond/rome"],
        &["/home/nobody-here/.windsurf/worktrees/pond/pond-1a", "/home/nobody-here/.windsurf/worktrees/pond/pond-2b/src"],
        &["/home/nobody-here/.superset/worktrees/pond/one", "/home/nobody-here/.superset/worktrees/pond/two"],
        &["/home/nobody-here/.config/superpowers/worktrees/pond/one", "/home/nobody-here/.config/superpowers/worktrees/pond/two"],
        &["/var/tmp/vibe-kanban/worktrees/1a-pump/pond", "/var/tmp/vibe-kanban/worktrees/2b-gate/pond/src"],
        &[r"C:\Users\nobody\.codex\worktrees\77fe\pond", r"c:\users\nobody\.codex\worktrees\12ab\pond\src"],
    ] {
        let memory = Memory::new();
        for (seed, spelling) in (1..).zip(spellings) {
            claude_code(&memory, seed, spelling);
        }
        assert_eq!(names(&memory).len(), 1, "{spellings:?}: {:?}", names(&memory));
    }
}

#[test]
fn recorded_remote_makes_folders_that_are_gone_one_project_for_every_agent_that_records_one() {
    type Store = fn(&Memory, u64, &str, &str);
    for (store, remotes) in [
        (codex as Store, ["git@example.org:ada/pond.git", "https://user:word@example.org/ada/pond"]),
        (copilot_cli as Store, ["ada/pond", "https://github.com/ada/pond.git"]),
    ] {
        let memory = Memory::new();
        store(&memory, 1, "/nowhere/a/pond-one", remotes[0]);
        store(&memory, 2, "/nowhere/b/two", remotes[1]);
        assert_eq!(names(&memory), ["pond"]);
        store(&memory, 3, "/nowhere/c/pond", "https://example.org/somebody/else");
        assert_eq!(names(&memory), ["else", "pond"], "another remote is another project");
    }
}

#[test]
fn folder_that_was_known_without_its_remote_joins_the_project_of_the_remote_in_any_order() {
    let read = |order: [usize; 3]| {
        let memory = Memory::new();
        for step in order {
            match step {
                0 => claude_code(&memory, 7, "/nowhere/pond"),
                1 => codex(&memory, 1, "/nowhere/other/pond", "git@example.org:ada/pond.git"),
                _ => codex(&memory, 2, "/nowhere/pond", "git@example.org:ada/pond.git"),
            }
        }
        let projects = memory.engine().projects().unwrap();
        projects.iter().map(|project| (project.name.clone(), project.sessions)).collect::<Vec<_>>()
    };
    for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]] {
        assert_eq!(read(order), [("pond".to_owned(), 3)], "{order:?}");
    }
}

#[test]
fn merge_tells_what_it_moved_and_can_be_undone() {
    let memory = Memory::new();
    claude_code(&memory, 1, "/nowhere/pond");
    claude_code(&memory, 2, "/nowhere/lake");
    let engine = memory.engine();
    let counts = || {
        let mut counts: Vec<(String, u64, u64)> = engine
            .projects()
            .unwrap()
            .into_iter()
            .map(|project| (project.name, project.sessions, project.aliases.len() as u64))
            .collect();
        counts.sort();
        counts
    };
    let before = counts();
    let merged = engine.merge_projects("pond", "lake", None).unwrap();
    assert_eq!((merged.from.as_str(), merged.into.as_str(), merged.moved.sessions, merged.moved.turns), ("pond", "lake", 1, 2));
    assert_eq!(counts(), [("lake".to_owned(), 2, 2)]);
    let undone = engine.undo_merge(None).unwrap();
    assert_eq!((undone.from.as_str(), undone.moved.sessions), ("pond", 1));
    assert_eq!(counts(), before);
    assert!(matches!(engine.undo_merge(None), Err(EngineError::BadProjectName(_))), "there is nothing left to undo");
    assert!(matches!(engine.merge_projects("pond", "pond", None), Err(EngineError::BadProjectName(_))));
}

fn git(directory: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=dev", "-c", "user.email=dev@example.org", "-C"]).arg(directory).args(arguments);
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn renamed_folder_is_offered_to_be_merged_and_nothing_is_merged_by_itself() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let (old, new) = (home.join("foo"), home.join("bar"));
    fs::create_dir_all(&old).unwrap();
    if !git(&old, &["init", "-q"]) || !git(&old, &["commit", "-q", "--allow-empty", "-m", "first"]) {
        eprintln!("skipped: git is not installed");
        return;
    }
    let memory = Memory::new();
    let engine = memory.engine();
    let note = RememberRequest {
        text: "the tide table is loaded at boot".to_owned(),
        directory: Some(old.to_str().unwrap().to_owned()),
        ..RememberRequest::default()
    };
    engine.remember(&note).unwrap();
    let brief = |directory: &Path| {
        let here = Some(names_of(directory.to_str().unwrap()));
        engine.brief(&BriefRequest { here, ..BriefRequest::default() }).unwrap()
    };
    assert_eq!(brief(&old).moved_from, None);
    fs::rename(&old, &new).unwrap();
    let offer = brief(&new).moved_from.unwrap();
    assert_eq!((offer.from.as_str(), offer.into.as_str(), offer.is_same_commit), ("foo", new.to_str().unwrap(), true));
    assert_eq!(brief(&new).notes.len(), 0, "a person decides");
    let other = home.join("other");
    fs::create_dir_all(&other).unwrap();
    assert!(git(&other, &["init", "-q"]) && git(&other, &["commit", "-q", "--allow-empty", "-m", "another"]));
    assert_eq!(brief(&other).moved_from, None, "another repository begins with another commit");
    engine.merge_projects(&offer.from, &offer.into, Some(&names_of(new.to_str().unwrap()))).unwrap();
    assert_eq!((brief(&new).moved_from, brief(&new).notes.len()), (None, 1));
}

#[test]
fn project_in_a_folder_that_is_gone_is_offered_to_the_only_one_of_its_name() {
    let home = tempfile::tempdir().unwrap();
    let there = home.path().canonicalize().unwrap().join("pond");
    fs::create_dir_all(&there).unwrap();
    let memory = Memory::new();
    claude_code(&memory, 1, "/home/nobody-here/.codex/worktrees/77fe/pond");
    claude_code(&memory, 2, there.to_str().unwrap());
    let offers = memory.engine().merge_offers().unwrap();
    assert_eq!(offers.len(), 1);
    assert!(offers[0].directory.contains(".codex") && !offers[0].is_same_commit, "{offers:?}");
    memory.engine().merge_projects(&offers[0].from, &offers[0].into, None).unwrap();
    assert_eq!((names(&memory), memory.engine().merge_offers().unwrap()), (vec!["pond".to_owned()], vec![]));
}

#[test]
fn words_said_in_a_home_directory_are_not_told_below_it() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    fs::create_dir_all(home.join(".claude/projects")).unwrap();
    fs::create_dir_all(home.join("loose/src")).unwrap();
    let memory = Memory::new();
    claude_code(&memory, 1, home.to_str().unwrap());
    let brief = |directory: &Path| {
        let here = Some(names_of(directory.to_str().unwrap()));
        memory.engine().brief(&BriefRequest { here, ..BriefRequest::default() }).unwrap()
    };
    assert!(!brief(&home).sessions.is_empty());
    for below in ["loose", "loose/src"] {
        assert!(brief(&home.join(below)).is_empty(), "{below}");
    }
}
