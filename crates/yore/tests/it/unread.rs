//! Agents that yore does not read are named, and what they wrote is nobody's words.

use serde_json::{Value, json};

use crate::environment::TestEnvironment;

#[test]
fn up_and_doctor_name_the_agents_that_are_not_read() {
    let environment = TestEnvironment::new();
    let agents = [
        ("Amp", ".local/share/amp/threads/T-1.json"),
        ("iFlow", ".iflow/projects/-home-ada-tides/session-1.jsonl"),
        ("OpenHands", ".openhands/conversations/1/events/0.json"),
        ("Windsurf", ".codeium/windsurf/cascade/0a.pb"),
    ];
    for (_, file) in agents {
        environment.write(&format!("home/{file}"), "{}");
    }
    // The example is shown, and the agents all the same.
    let shown = environment.yore(["up", "--no-embed"]).run().success().stdout;
    let told = environment.yore(["up", "--no-embed", "--json"]).run().success().json();
    environment.write("home/.claude/projects/-home-ada-tides/s.jsonl", claude("Which port is shallow?"));
    let read = environment.yore(["up", "--no-embed"]).run().success().stdout;
    let told_beside = environment.yore(["up", "--no-embed", "--json"]).run().success().json();
    let findings = environment.yore(["doctor", "--json"]).run().json();
    for (name, file) in agents {
        let line = format!("{name} is on this computer (1 file in ~");
        assert!(shown.contains(&line) && read.contains(&line), "{name}: {shown}{read}");
        for told in [&told, &told_beside] {
            let listed = told["unread_agents"].as_array().unwrap();
            let agent = listed.iter().find(|agent| agent["name"] == name).unwrap();
            assert_eq!(agent["files"], 1);
            assert!(environment.path(&format!("home/{file}")).starts_with(agent["path"].as_str().unwrap()), "{agent}");
        }
        let finding =
            findings.as_array().unwrap().iter().find(|finding| finding["facts"]["agent"] == name || finding["agent"] == name);
        let text = finding.unwrap()["text"].as_str().unwrap();
        assert!(text.starts_with(&line), "{text}");
    }
}

fn claude(prompt: &str) -> String {
    let line = json!({"type": "user", "uuid": "00000000-0000-4000-8000-000000000001", "sessionId": "s", "cwd": "/home/ada/tides",
        "timestamp": "2026-03-01T10:00:00Z", "message": {"role": "user", "content": prompt}});
    format!("{line}\n")
}

/// Returns files that an unknown agent wrote: lines, and single values.
fn histories() -> Vec<(&'static str, String)> {
    let said = |role: &str, text: &str| json!({"role": role, "content": [{"type": "text", "text": text}]});
    let (asked, answered) = (said("user", "Where is the windlass?"), said("assistant", "The windlass is at pier four."));
    let wrapped = |message: &Value| json!({"type": "entry", "at": 1, "message": message});
    vec![
        ("a.jsonl", format!("{{\"version\": 9}}\n{asked}\n{answered}\n")),
        ("b.jsonl", format!("{}\n{}\n", wrapped(&asked), wrapped(&answered))),
        ("c.json", json!({"id": "T-1", "log": {"entries": [asked, answered]}}).to_string()),
        (
            "d.json",
            json!([{"sender": "human", "text": "Where is the windlass?"}, {"sender": "bot", "text": "At pier four."}])
                .to_string(),
        ),
    ]
}

#[test]
fn history_of_an_unknown_agent_is_refused_alone_and_among_documents() {
    for (name, content) in histories() {
        let environment = TestEnvironment::new();
        let alone = environment.write(&format!("home/saved/{name}"), &content);
        let outcome = environment.yore(["ingest"]).arg(&alone).run().ends_with(1);
        assert!(
            outcome.stderr.contains("looks like the history of an agent that yore does not know; not read"),
            "{}",
            outcome.stderr
        );
        let outcome = environment.yore(["ingest"]).arg(environment.path("home/saved")).run().ends_with(1);
        assert!(outcome.stderr.contains("history of an agent that yore does not know"), "{}", outcome.stderr);
        environment.write("home/saved/notes.md", "# Piers\n\nThe capstan is at pier nine.\n");
        environment.write("home/saved/package.json", r#"{"name": "capstan", "type": "module", "author": "ada"}"#);
        let outcome = environment.yore(["ingest"]).arg(environment.path("home/saved")).run().success();
        assert!(outcome.stderr.is_empty() || !outcome.stderr.contains("error"), "{}", outcome.stderr);
        let found = environment.yore(["recall", "windlass", "--all", "--json"]).run();
        assert!(!found.stdout.contains("pier four"), "{name}: {}", found.stdout);
        assert!(environment.yore(["recall", "capstan", "--all"]).run().success().stdout.contains("pier nine"), "{name}");
    }
}

#[test]
fn ingest_names_the_agent_of_a_folder() {
    for (name, folder, within) in [
        ("iFlow", ".iflow", ".iflow/projects/a"),
        ("gptme", ".local/share/gptme", ".local/share/gptme/logs/a"),
        ("Amp", "backup", "backup/.local/share/amp/threads"),
    ] {
        let environment = TestEnvironment::new();
        for (file, content) in histories() {
            environment.write(&format!("home/{within}/{file}"), content);
        }
        for path in [folder, within] {
            let path = environment.path(&format!("home/{path}"));
            let outcome = environment.yore(["ingest"]).arg(&path).run().ends_with(1);
            assert!(outcome.stderr.contains(&format!("{name} is on this computer")), "{}", outcome.stderr);
            let outcome = environment.yore(["ingest", "--json"]).arg(&path).run();
            assert_eq!(outcome.json()["unread_agents"][0]["name"], name);
        }
    }
}

#[test]
fn words_of_a_document_are_nobodys() {
    let environment = TestEnvironment::new();
    environment
        .write("home/tides/notes.md", "# Piers\n\nThe capstan is at pier nine.\n\n## Winches\n\nThe winch is at pier ten.\n");
    environment.yore(["ingest", "--no-embed"]).arg(environment.path("home/tides")).run().success();
    let found = environment.yore(["recall", "capstan", "--all", "--json"]).run().success().json();
    let hit = &found["results"][0];
    assert_eq!(hit["role"], "document", "{hit}");
    let text = environment.yore(["recall", "capstan", "--all"]).run().success().stdout;
    assert!(text.contains("document") && !text.contains("assistant"), "{text}");
    let session = hit["session"].as_str().unwrap();
    let shown = environment.yore(["show", session, "--json"]).run().success().json();
    assert!(shown["turns"].as_array().unwrap().iter().all(|turn| turn["role"] == "document"), "{shown}");
    let text = environment.yore(["show", session]).run().success().stdout;
    assert!(text.contains("document") && !text.contains("assistant"), "{text}");
    // A note was written by somebody.
    environment.yore(["remember", "--note", "The anchor is at pier one."]).run().success();
    let found = environment.yore(["recall", "anchor", "--all", "--json"]).run().success().json();
    assert_eq!(found["results"][0]["role"], "human");
}
