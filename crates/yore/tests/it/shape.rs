//! Exchanges, and recall by code, files and errors, as a user calls them.

use serde_json::json;

use crate::environment::TestEnvironment;
use crate::transcript::Transcript;

const GULL: &str = "7d1e0001-21f4-4c0e-9b52-3f4e6a7b8c9d";

/// One session with code, a file and a failed command.
fn gull() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let projects = environment.projects();
    Transcript::new(GULL, "/home/dev/gull")
        .human("why does src/nest.py crash while counting eggs?")
        .tool("I run it.", "python src/nest.py", "Traceback (most recent call last):\nValueError: no eggs", true)
        .assistant("Counting eggs of an empty nest crashes:\n\n```python\nif not eggs: return 0\n```")
        .human("thanks, eggs are counted")
        .write(&projects);
    environment.ingest(&projects);
    environment
}

#[test]
fn show_divides_a_session_into_exchanges() {
    let environment = gull();
    let shown = environment.yore(["show", GULL, "--exchanges"]).run().success().stdout;
    for part in [
        "why does src/nest.py crash",
        "code python",
        "files src/nest.py",
        "failed ValueError: no eggs",
        "thanks, eggs are counted",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let found = environment.yore(["show", GULL, "--exchanges", "--json"]).run().success().json();
    assert_eq!(found["turns_before"], 0);
    let first = &found["exchanges"][0];
    assert_eq!((&first["kind"], &first["message_index"], &first["importance"]), (&json!("context"), &json!(0), &json!(0.8)));
    assert_eq!(first["languages"], json!([{"name": "python", "confidence": 1.0}]));
    assert_eq!(first["files"], json!([{"path": "src/nest.py", "action": "mentioned", "confidence": 0.7}]));
    assert_eq!(first["errors"], json!(["ValueError: no eggs"]));
    assert_eq!(first["tools"][0]["outcome"], "failed");
    assert_eq!(found["exchanges"].as_array().unwrap().len(), 2);
    assert_eq!(environment.yore(["show", "ffffffff", "--exchanges"]).run().status.code(), Some(1));
}

#[test]
fn recall_goes_by_errors_code_files_and_languages() {
    let environment = gull();
    let roles = |arguments: &[&str]| -> Vec<String> {
        let answer = environment.yore(["recall", "--all", "--json", "counting eggs"]).args(arguments).run().json();
        answer["results"].as_array().unwrap().iter().map(|hit| hit["role"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(roles(&["--errors"]), ["tool_result"]);
    assert_eq!(roles(&["--code"]), ["assistant"]);
    assert_eq!(roles(&["--language", "py"]), ["assistant"]);
    assert_eq!(roles(&["--file", "nest.py", "--role", "human"]), ["human"]);
    assert!(roles(&["--file", "est.py"]).is_empty());
    assert!(roles(&["--language", "rust"]).is_empty());
}
