//! `yore account`: sessions that hooks gave something against those that were held out, as counted from their transcripts.

use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::transcript::Transcript;

const DIRECTORY: &str = "/home/dev/tide";

/// Adds a call of a tool that opens or changes a file, and its result.
fn file_tool(mut session: Transcript, number: usize, tool: &str, path: &str) -> Transcript {
    let id = format!("toolu_{number}_{}", session.line_count());
    session = session.message(&[json!({"type": "tool_use", "id": id, "name": tool, "input": {
        "file_path": path, "old_string": "a", "new_string": "b",
    }})]);
    session.node(json!({
        "type": "user",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "done"}]},
    }));
    session
}

fn session_id(number: usize) -> String {
    format!("acc0{number:04x}-{number:04x}-4000-8000-{number:012x}")
}

/// The hook of a session that begins.
fn brief(environment: &TestEnvironment, session: &str) -> String {
    let said = json!({"session_id": session, "cwd": DIRECTORY, "hook_event_name": "SessionStart", "source": "startup"});
    let hook = environment.yore(["hook", "claude-code", "SessionStart"]).env("YORE_DAEMON__USE", "no");
    hook.stdin(said.to_string()).run().success().stdout
}

fn quantity<'a>(account: &'a Value, name: &str) -> &'a Value {
    let all = account["quantities"].as_array().unwrap();
    all.iter().find(|quantity| quantity["name"] == name).unwrap_or_else(|| panic!("no {name} in {account}"))
}

#[test]
fn the_account_counts_what_the_transcripts_say_and_claims_nothing_of_few_sessions() {
    let environment = TestEnvironment::new();
    Transcript::new("4a5b0001-3f08-4714-9c34-5c452003a142", DIRECTORY)
        .human("why does the gauge lag behind?")
        .assistant("It is read once an hour.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
    let empty = environment.yore(["account"]).run().success();
    assert!(empty.stdout.starts_with("0 sessions with memory, 0 sessions held out by chance"), "{}", empty.stdout);
    assert!(empty.stderr.contains("inject.holdout_sessions 0.2"), "{}", empty.stderr);

    environment.yore(["config", "set", "inject.holdout_sessions", "0.5"]).run().success();
    let start = jiff::Timestamp::now().as_millisecond() - 3_600_000;
    let mut groups = [Vec::new(), Vec::new()];
    for number in 0..48 {
        let is_with = !brief(&environment, &session_id(number)).is_empty();
        // Who was told something opens one file before the change, the others three.
        let opened = if is_with { 1 } else { 3 };
        let mut session = Transcript::new(&session_id(number), DIRECTORY).at(start).human("repair the gauge");
        for file in 0..opened {
            session = file_tool(session, number, "Read", &format!("{DIRECTORY}/src/file{file}.rs"));
        }
        session = file_tool(session, number, "Edit", &format!("{DIRECTORY}/src/gauge.rs"));
        session.assistant("It is repaired.").write(&environment.projects());
        groups[usize::from(!is_with)].push(number);
    }
    environment.yore(["up", "--no-embed"]).run().success();
    let account = environment.yore(["account", "--json"]).run().success().json();
    let [with, without] = groups.map(|group| group.len() as u64);
    assert_eq!((&account["with"], &account["without"]), (&with.into(), &without.into()), "{account}");
    assert!(with >= 10 && without >= 10, "{with} and {without}");
    for (name, values) in [("calls_before_change", [1.0, 3.0]), ("files_before_change", [1.0, 3.0]), ("tool_calls", [2.0, 4.0])] {
        let found = quantity(&account, name);
        assert_eq!((&found["mean_with"], &found["mean_without"]), (&values[0].into(), &values[1].into()), "{found}");
        assert_eq!((&found["verdict"], &found["difference"]), (&"less".into(), &(-2.0).into()), "{found}");
    }
    assert_eq!(quantity(&account, "errors")["verdict"], "no_difference");
    assert!(account["given_tokens"].as_u64().unwrap() > 0);
    let told = environment.yore(["account"]).run().success().stdout;
    assert!(told.contains("less with memory") && told.contains("no difference seen"), "{told}");
    let elsewhere = environment.yore(["account", "--since", "2031-01-01", "--json"]).run().success().json();
    assert_eq!((&elsewhere["with"], &quantity(&elsewhere, "errors")["verdict"]), (&0.into(), &"unknown".into()));
}
