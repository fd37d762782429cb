//! A language model as a person uses it: configured, limited, asked, and kept out of the memory.

#![cfg(unix)]

use serde_json::Value;

use crate::environment::{Runner, TestEnvironment};
use crate::transcript::Transcript;

const ORDER: &str = "keep the berth leases in SQLite, Redis loses them when the harbour box restarts";

fn memory() -> TestEnvironment {
    let environment = TestEnvironment::new();
    Transcript::new("5f0c0010-0001-4000-8001-000000000001", "/home/dev/harbour")
        .human(ORDER)
        .assistant("The leases live in SQLite now.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
    environment
}

/// A call with a program as the model, which answers with the content of `answer.json` and notes that it was asked.
fn with_model(environment: &TestEnvironment, arguments: &[&str]) -> Runner {
    let answer = environment.path("answer.json");
    let log = environment.path("asked");
    let script = format!("cat > /dev/null; pwd >> '{}'; cat '{}'", log.display(), answer.display());
    let command = serde_json::json!(["/bin/sh", "-c", script]).to_string();
    environment.yore(arguments.iter().copied()).env("YORE_LLM__PROVIDER", "command").env("YORE_LLM__COMMAND", command)
}

fn answer(environment: &TestEnvironment) {
    let found = serde_json::json!({
        "items": [{"ref": null, "kind": "decision", "statement": "Berth leases live in SQLite, because Redis loses them on a restart.",
            "details": null, "line": 1, "quote": "Redis loses them when the harbour box restarts", "entities": ["SQLite"],
            "confidence": 0.9, "closed": null}],
        "relations": [], "topic": {"name": "Berth leases", "summary": "Leases moved to SQLite."}, "upto": 2, "skip_lines": []
    });
    environment.write("answer.json", format!("Here it is:\n```json\n{found}\n```\n"));
}

fn asked(environment: &TestEnvironment) -> usize {
    std::fs::read_to_string(environment.path("asked")).map_or(0, |log| log.lines().count())
}

#[test]
fn nothing_is_asked_before_a_limit_is_set_and_the_ledger_tells_what_was_taken() {
    let environment = memory();
    answer(&environment);
    let none = environment.yore(["extract", "--all", "--extractor", "model"]).run().ends_with(2);
    assert!(none.stderr.contains("no language model is configured"), "{}", none.stderr);
    let refused = with_model(&environment, &["extract", "--all", "--extractor", "model"]).run().ends_with(1);
    assert!(refused.stdout.contains("the limit is 0 tokens a day"), "{}", refused.stdout);
    assert_eq!(asked(&environment), 0);
    let _ = environment.yore(["budget", "set", "--tokens", "50000"]).run().success();
    let _ = environment.yore(["budget", "off"]).run().success();
    let off = with_model(&environment, &["extract", "--all", "--extractor", "model"]).run().ends_with(1);
    assert!(off.stdout.contains("switched off"), "{}", off.stdout);
    assert_eq!(asked(&environment), 0);
    let _ = environment.yore(["budget", "on"]).run().success();
    let done = with_model(&environment, &["extract", "--all", "--extractor", "model", "--json"]).run().success().json();
    assert_eq!((&done["answers"], &done["recorded"], &done["stopped"]), (&1.into(), &1.into(), &Value::Null), "{done}");
    assert_eq!(asked(&environment), 1);
    let again = with_model(&environment, &["extract", "--all", "--extractor", "model", "--json"]).run().success().json();
    assert_eq!((&again["answers"], &again["unchanged"]), (&0.into(), &1.into()), "{again}");
    let today = environment.yore(["budget", "--json"]).run().success().json();
    assert_eq!(
        (&today["daily_tokens"], &today["today"]["calls"], &today["today"]["estimated"]),
        (&50_000.into(), &1.into(), &true.into()),
        "{today}"
    );
    assert!(today["today"]["input_tokens"].as_u64().unwrap() > 500, "{today}");
    let rows = environment.yore(["budget", "history", "--json"]).run().success().json();
    assert_eq!(
        (&rows[0]["purpose"], &rows[0]["model"], &rows[0]["project"]),
        (&"extract".into(), &"command".into(), &"harbour".into()),
        "{rows}"
    );
    let told = environment.yore(["recall", "--all", "berth leases"]).run().success().stdout;
    assert!(told.contains("Berth leases live in SQLite, because Redis loses them on a restart."), "{told}");
    environment.is_sound();
}

#[test]
fn a_model_is_listed_and_tried() {
    let environment = memory();
    let listed = environment.yore(["models", "providers"]).run().success().stdout;
    for name in ["anthropic", "ollama", "openai-compatible", "claude", "folder"] {
        assert!(listed.lines().any(|line| line.starts_with(name)), "{name}: {listed}");
    }
    environment.write("answer.json", "{\"sum\": 42}");
    let limit = |runner: Runner| runner.env("YORE_LLM__DAILY_TOKENS", "50000");
    let tried = limit(with_model(&environment, &["models", "test", "--json"])).run().success().json();
    assert_eq!((&tried["tiers"][0]["tier"], &tried["tiers"][0]["works"]), (&"prompt".into(), &true.into()), "{tried}");
    environment.write("answer.json", "{\"sum\": 41}");
    let wrong = limit(with_model(&environment, &["models", "test"])).run().ends_with(1);
    assert!(wrong.stdout.contains("19 + 23 is not 41"), "{}", wrong.stdout);
    let keyless = environment
        .yore(["models", "test"])
        .env("YORE_LLM__PROVIDER", "anthropic")
        .env("YORE_LLM__MODEL", "m")
        .run()
        .ends_with(2);
    assert!(keyless.stderr.contains("ANTHROPIC_API_KEY is not set"), "{}", keyless.stderr);
    let unknown = environment.yore(["models", "test"]).env("YORE_LLM__PROVIDER", "tide").run().ends_with(2);
    assert!(unknown.stderr.contains("there is no provider \"tide\""), "{}", unknown.stderr);
}

#[test]
fn what_a_program_records_of_its_own_call_is_not_remembered_and_its_hooks_are_silent() {
    let environment = memory();
    let work = environment.data().join("llm-work");
    Transcript::new("5f0c0010-0001-4000-8001-000000000002", work.to_str().unwrap())
        .human("the lines of a session about a crane")
        .assistant("{\"items\": []}")
        .write(&environment.projects());
    let _ = environment.yore(["ingest"]).arg(environment.projects()).run().success();
    let _ = environment.yore(["recall", "--all", "crane"]).run().ends_with(1);
    let said = serde_json::json!({"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/home/dev/harbour"}).to_string();
    let hook = |runner: Runner| runner.stdin(said.as_bytes()).run().success().stdout;
    assert!(hook(environment.yore(["hook", "claude-code", "SessionStart"])).contains("SQLite"));
    assert_eq!(hook(environment.yore(["hook", "claude-code", "SessionStart"]).env("YORE_SILENT", "1")), "");
}
