//! The structure of conversations: exchanges, code, files, tools with their outcome, errors; the lists and
//! filters that use it.

use rusqlite::Connection;
use serde_json::json;
use yore_core::episode::{FileAction, Outcome, Role};
use yore_core::exchange::Exchanges;
use yore_core::query::{Filter, MissingCode, SearchMode};
use yore_engine::{ConversationSummary, EngineError, Hit, SessionsRequest, ShowRequest, Surroundings};
use yore_testing::{Memory, Scan, SessionBuilder, TurnOf, fixture, write_tiny_embedder};

const MARCH: i64 = 1_772_323_200_000;
const MAY: i64 = 1_777_593_600_000;
const ERROR: &str = "error[E0308]: mismatched types\n  --> src/tide.rs:3:1";

/// A question with code, files, a failing tool and one that is stopped.
fn session() -> SessionBuilder {
    let mut session = SessionBuilder::new(300).cwd("/home/dev/otter").at(MAY);
    session.assistant("Hello, what shall we do?");
    session.human("Why does `src/tide.rs` not compile?");
    session.tool("Read", &json!({"file_path": "/home/dev/otter/src/tide.rs"}), "fn ebb() {}", false);
    session.tool(
        "Edit",
        &json!({"file_path": "/home/dev/otter/src/tide.rs", "old_string": "a", "new_string": "b"}),
        "done",
        false,
    );
    session.tool("Bash", &json!({"command": "cargo check"}), &format!("Exit code 101\n   Checking otter\n{ERROR}"), true);
    session.tool("Bash", &json!({"command": "rm -r ."}), "The user doesn't want to proceed with this tool use.", true);
    session.assistant("The type was wrong:\n\n```rust:src/tide.rs\nfn ebb() -> u8 { 1 }\n```\n\n```py\nebb()\n```");
    session.human("Thank you");
    session
}

/// Makes a session without any of these, which mentions the same things more often.
fn crowd() -> SessionBuilder {
    let mut crowd = SessionBuilder::new(301).cwd("/home/dev/crowd").at(MARCH);
    for _ in 0..80 {
        crowd.human("tide tide tide wrong wrong type type checking");
    }
    crowd
}

fn memory() -> Memory {
    let memory = Memory::new();
    memory.write("projects/p/crowd.jsonl", crowd().text());
    memory.write("projects/p/session.jsonl", session().text());
    memory.learn();
    memory
}

fn exchanges(memory: &Memory) -> Exchanges {
    memory.engine().exchanges(session().id()).unwrap()
}

fn list(memory: &Memory, change: impl FnOnce(&mut SessionsRequest)) -> Vec<ConversationSummary> {
    let mut request = SessionsRequest::default();
    change(&mut request);
    let engine = memory.engine();
    engine.sessions(&request).unwrap().into_iter().map(|session| engine.summary(session).unwrap()).collect()
}

fn ids(found: &[ConversationSummary]) -> Vec<&str> {
    found.iter().map(|summary| summary.session.native_id.as_str()).collect()
}

#[test]
fn exchange_holds_code_files_tools_and_errors() {
    let memory = memory();
    let Exchanges { turns_before, exchanges } = exchanges(&memory);
    assert_eq!((turns_before, exchanges.len()), (1, 2));
    let first = &exchanges[0];
    assert!(first.id.starts_with(&format!("chat-{}-", session().id())));
    let languages: Vec<&str> = first.languages.iter().map(|language| language.name.as_str()).collect();
    assert_eq!(languages, ["rust", "python"]);
    let files: Vec<(&str, FileAction, f32)> =
        first.files.iter().map(|file| (file.path.as_str(), file.action, file.confidence)).collect();
    assert_eq!(files, [("/home/dev/otter/src/tide.rs", FileAction::Written, 1.0), ("src/tide.rs", FileAction::Mentioned, 0.7)]);
    let tools: Vec<(&str, Option<Outcome>)> = first.tools.iter().map(|tool| (tool.name.as_str(), tool.outcome)).collect();
    assert_eq!(
        tools,
        [
            ("Read", Some(Outcome::Done)),
            ("Edit", Some(Outcome::Done)),
            ("Bash", Some(Outcome::Failed)),
            ("Bash", Some(Outcome::Cancelled))
        ]
    );
    assert_eq!(first.errors, ["error[E0308]: mismatched types"]);
    assert!((first.importance - 0.8).abs() < 1e-6);
    assert!(matches!(memory.engine().exchanges("nowhere"), Err(EngineError::UnknownSession(_))));
}

#[test]
fn call_has_the_outcome_of_its_answer_and_an_answer_the_name_of_its_call() {
    let memory = memory();
    let db = Connection::open(memory.data().join("yore.db")).unwrap();
    let mut statement = db
        .prepare("SELECT turn.role, label.text, outcome FROM tool_use JOIN turn ON turn.id = turn_id JOIN label ON label.id = name_id ORDER BY turn.position")
        .unwrap();
    let found: Vec<(String, String, String)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap().map(Result::unwrap).collect();
    let expected: Vec<(String, String, String)> = [("Read", "done"), ("Edit", "done"), ("Bash", "failed"), ("Bash", "cancelled")]
        .into_iter()
        .flat_map(|(name, outcome)| {
            ["tool_call", "tool_result"].map(|role| (role.to_owned(), name.to_owned(), outcome.to_owned()))
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn session_read_in_pieces_has_the_same_shape() {
    let whole = memory();
    let memory = Memory::new();
    memory.write("projects/p/crowd.jsonl", crowd().text());
    for line in session().lines() {
        memory.append("projects/p/session.jsonl", format!("{line}\n").as_bytes());
        memory.read();
    }
    memory.index();
    assert_eq!(memory.state(), whole.state());
}

/// Asks with a filter; the crowd matches better wherever it may answer.
fn filtered(memory: &Memory, mode: SearchMode, filter: Filter) -> Vec<Hit> {
    memory
        .ask_with("tide wrong type checking", |request| {
            request.mode = mode;
            request.filter = Filter { scope: request.filter.scope.clone(), ..filter };
        })
        .hits
}

#[test]
fn filters_by_shape_hold_for_every_list() {
    let folder = tempfile::tempdir().unwrap();
    let model = write_tiny_embedder(folder.path(), "tiny", 1);
    let mut memory = memory();
    memory.open_with_model(Some(model));
    memory.embed();
    let any = Filter::default;
    let only = |text: &str| vec![text.to_owned()];
    for mode in [SearchMode::Lexical, SearchMode::Static, SearchMode::Full] {
        let unfiltered = filtered(&memory, mode, any());
        assert!(unfiltered.iter().any(|hit| hit.turn().text.starts_with("tide tide")), "the crowd may answer");
        for (name, filter, expected) in [
            ("errors", Filter { only_errors: true, ..any() }, "E0308"),
            ("code", Filter { has_code: true, ..any() }, "The type was wrong"),
            ("language", Filter { languages: only("PY"), ..any() }, "The type was wrong"),
            ("file and code", Filter { files: only("tide.rs"), has_code: true, ..any() }, "The type was wrong"),
        ] {
            let hits = filtered(&memory, mode, filter);
            assert_eq!(hits.len(), 1, "{name} {mode:?}");
            assert!(hits[0].turn().text.contains(expected) || hits[0].turn().tool_text.contains(expected), "{name} {mode:?}");
        }
        let touched = filtered(&memory, mode, Filter { files: only("src/tide.rs"), ..any() });
        assert!(
            touched.len() > 1
                && touched.iter().all(|hit| format!("{}{}", hit.turn().text, hit.turn().tool_text).contains("tide.rs"))
        );
        for nothing in [
            Filter { files: only("riptide.rs"), ..any() },
            Filter { files: only("otter/tide.rs"), ..any() },
            Filter { files: only(""), ..any() },
            Filter { languages: only("cobol"), ..any() },
            Filter { only_errors: true, has_code: true, ..any() },
        ] {
            assert!(filtered(&memory, mode, nothing.clone()).is_empty(), "{nothing:?}");
        }
    }
}

#[test]
fn filters_by_shape_hold_for_what_is_not_indexed_yet() {
    let memory = Memory::new();
    memory.write("projects/p/crowd.jsonl", crowd().text());
    memory.learn();
    memory.write("projects/p/session.jsonl", session().text());
    memory.read();
    assert_eq!(filtered(&memory, SearchMode::Static, Filter { has_code: true, ..Filter::default() }).len(), 1);
    assert_eq!(filtered(&memory, SearchMode::Static, Filter { only_errors: true, ..Filter::default() }).len(), 1);
}

#[test]
fn code_block_is_found_as_a_unit_with_the_line_that_introduces_it() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(306);
    let prose = "The gauges drift because each of them is read twice. ".repeat(20);
    session.assistant(&format!(
        "{prose}\n\nRead them once:\n\n```python\nfor gauge in gauges:\n    read(gauge)\n```\n\n{prose}\n\n\
         Then restart the recorder:\n```sh\nsystemctl restart recorder\n```\n{prose}"
    ));
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    let quoted = |question: &str, filter: Filter| {
        let ask = |request: &mut yore_engine::RecallRequest| {
            request.filter = Filter { scope: request.filter.scope.clone(), ..filter };
        };
        memory.ask_with(question, ask).hits.remove(0).quote
    };
    let code = || Filter { has_code: true, ..Filter::default() };
    let restart = "Then restart the recorder:\n```sh\nsystemctl restart recorder\n```";
    assert_eq!(quoted("restart the recorder", code()), restart);
    let read = "Read them once:\n\n```python\nfor gauge in gauges:\n    read(gauge)\n```";
    assert_eq!(quoted("read each gauge once", code()), read);
    // In the requested language, although another block matches the question better.
    assert_eq!(quoted("read gauge", Filter { languages: vec!["bash".to_owned()], ..Filter::default() }), restart);
}

#[test]
fn error_in_an_output_that_was_not_called_a_failure_is_an_error() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(302);
    session.tool(
        "Bash",
        &json!({"command": "make | tail"}),
        "gcc -c kelp.c\nkelp.c:4:1: error: unknown type name 'frond'",
        false,
    );
    session.tool("Bash", &json!({"command": "ls"}), "kelp.c frond.h", false);
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    let hits = memory.ask_with("kelp frond", |request| request.filter.only_errors = true).hits;
    assert_eq!(hits.len(), 1);
    assert!(hits[0].quote.contains("unknown type name"));
}

#[test]
fn quote_of_a_failed_tool_says_why() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(303);
    let noise = "   Compiling barnacle v0.1.0 and some more words about it\n".repeat(60);
    session.tool("Bash", &json!({"command": "x"}), &format!("{noise}{ERROR}\n{noise}limpet was here"), true);
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    let quote = &memory.ask("limpet")[0].quote;
    assert!(quote.starts_with("error[E0308]: mismatched types\n") && quote.contains("limpet was here"), "{quote}");
    assert!(quote.chars().count() <= 245, "{quote}");
}

#[test]
fn conversations_are_listed_by_use_and_narrowed() {
    let memory = memory();
    let (session, crowd) = (session(), crowd());
    assert_eq!(ids(&list(&memory, |_| {})), [session.id(), crowd.id()]);
    assert_eq!(ids(&list(&memory, |request| request.limit = 1)), [session.id()]);
    assert_eq!(ids(&list(&memory, |request| request.has_code = true)), [session.id()]);
    assert_eq!(ids(&list(&memory, |request| request.since = Some(MAY))), [session.id()]);
    assert_eq!(ids(&list(&memory, |request| request.until = Some(MAY))), [crowd.id()]);
    assert_eq!(ids(&list(&memory, |request| request.projects = vec!["crowd".to_owned()])), [crowd.id()]);
    assert_eq!(ids(&list(&memory, |request| request.text = Some("THANK you".to_owned()))), [session.id()]);
    assert!(list(&memory, |request| request.text = Some("zeppelin".to_owned())).is_empty());
    assert!(list(&memory, |request| request.agents = vec!["nobody".to_owned()]).is_empty());
    let summary = &list(&memory, |_| {})[0];
    assert_eq!((summary.message_count, summary.has_code, summary.session.agent.as_str()), (4, true, "claude-code"));
    assert_eq!(summary.preview, "Why does `src/tide.rs` not compile?");
    assert_eq!(summary.languages, ["python", "rust"]);
    assert_eq!(summary.files, ["/home/dev/otter/src/tide.rs", "src/tide.rs"]);
    assert_eq!(summary.session.project.as_deref(), Some("otter"));
    assert!(summary.session.started < summary.session.updated);
    let listed = memory.engine().sessions(&SessionsRequest { limit: 1, ..SessionsRequest::default() }).unwrap();
    assert_eq!(listed.first(), Some(&summary.session), "a summary adds to what the list says");
}

#[test]
fn turns_of_an_older_yore_get_their_shape_later() {
    let memory = memory();
    let whole = memory.state();
    let db = Connection::open(memory.data().join("yore.db")).unwrap();
    db.execute_batch(
        "DELETE FROM code_block; DELETE FROM turn_file; DELETE FROM tool_use; DELETE FROM turn_error; DELETE FROM path;
         INSERT INTO shape_queue (turn_id) SELECT id FROM turn;",
    )
    .unwrap();
    let asked = memory.ask_with("tide", |request| request.filter.has_code = true);
    assert!(asked.hits.is_empty() && asked.missing.iter().any(|missing| missing.code == MissingCode::Shape));
    assert!(memory.engine().queued().unwrap() > 0);
    memory.index();
    // Code, names of files and errors come from the text; the actions of tools are only in the archive.
    let asked = memory.ask_with("tide", |request| request.filter.has_code = true);
    assert!(asked.hits.len() == 1 && asked.missing.is_empty());
    assert!(exchanges(&memory).exchanges[0].tools.is_empty());
    memory.engine().reindex(&yore_sources::source::ReaderOptions::default(), &mut yore_engine::ingest::Silent).unwrap();
    assert_eq!(memory.state(), whole);
}

#[test]
fn forgotten_session_leaves_no_name_of_a_file_or_tool() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(304);
    session.human("look at secretfolder/plankton.rs");
    session.tool("mcp__krill__fetch", &json!({"path": "/home/dev/whelk.rs"}), "ok", false);
    session.assistant("```shrimplang\n1\n```");
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    std::fs::remove_file(memory.sources().join("projects/p/a.jsonl")).unwrap();
    let words = ["plankton", "krill", "whelk", "shrimplang"];
    memory.forget_hard(session.id());
    let scan = Scan::of(&memory.data());
    for word in words {
        assert!(scan.places(word).is_empty(), "{word}");
    }
    let db = Connection::open(memory.data().join("yore.db")).unwrap();
    for table in ["path", "turn_file", "code_block", "tool_use", "turn_error"] {
        let count: i64 = db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert_eq!(count, 0, "{table}");
    }
}

#[test]
fn exchanges_partition_every_hand_made_session() {
    let memory = Memory::new();
    memory.copy(&fixture("claude-code"));
    memory.learn();
    let (mut calls, mut told) = (0, 0);
    for episode in memory.episodes() {
        let id = episode.id.to_string();
        let Ok(shown) = memory.engine().show(&ShowRequest::new(id.clone(), Surroundings::Turns(0))) else {
            continue;
        };
        let Exchanges { turns_before, exchanges } = memory.engine().exchanges(&id).unwrap();
        let covered = exchanges.iter().map(|exchange| exchange.turns.len()).sum::<usize>();
        assert_eq!(turns_before + covered, shown.turns.len(), "{}", episode.native_id);
        for exchange in exchanges {
            assert_eq!(shown.turns[exchange.turns.start].id, exchange.turn);
            calls += exchange.tools.len();
            told += exchange.tools.iter().filter(|tool| tool.outcome.is_some() && !tool.name.is_empty()).count();
        }
    }
    assert!(told > 10 && told * 10 > calls * 7, "{told} of {calls} calls have name and outcome");
}

#[test]
fn large_outputs_that_the_client_keeps_apart_are_no_transcripts() {
    let memory = Memory::new();
    let session = session();
    memory.write("projects/p/s.jsonl", session.text());
    memory.write("projects/p/s/tool-results/toolu_1.jsonl", "{\"type\":\"plankton\"}\n");
    let report = memory.learn();
    assert_eq!(report.files, 2);
    assert!(report.skips.is_empty(), "{:?}", report.skips);
    assert!(memory.turns("s").iter().all(|turn| turn.role == Role::ToolResult));
}
