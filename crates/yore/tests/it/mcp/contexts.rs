//! Answers about contexts keep their budgets of bytes, with the thirty contexts of a project (`crates/bench/data/contexts`).

use std::path::Path;

use serde_json::{Value, json};

use super::names::in_project;
use super::{Agent, Home, text};

/// Locks the contexts of the project.
fn lock_all(agent: &mut Agent) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/data/contexts/contexts.jsonl");
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let context: Value = serde_json::from_str(line).unwrap();
        let joined = |name: &str| {
            let words = context[name].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            words.collect::<Vec<_>>().join(",")
        };
        agent.data(
            "lock_context",
            json!({
                "topic": context["topic"], "content": context["content"], "tags": joined("tags"), "priority": context["priority"],
                "related": joined("related"),
            }),
        );
    }
}

#[test]
fn the_scenarios_of_the_third_design_keep_their_bytes() {
    let home = Home::with_memory();
    let mut agent = in_project(&home, "reef");
    lock_all(&mut agent);
    let deep = "How does the complete auth flow work from login to API call?";
    for (tool, arguments, most, class, expected) in [
        ("wake_up", json!({}), 3_000, "", "authentication flow"),
        (
            "search_contexts_semantic",
            json!({"query": "What do we have about authentication?"}),
            5_000,
            "exploratory",
            "authentication flow",
        ),
        (
            "search_contexts_semantic",
            json!({"query": "authentication", "depth": "preview"}),
            5_000,
            "exploratory",
            "authentication flow",
        ),
        ("search_contexts_semantic", json!({"query": "list all security rules"}), 5_000, "overview", "secrets handling"),
        (
            "search_contexts_semantic",
            json!({"query": "JWT configuration", "depth": "full"}),
            15_000,
            "specific",
            "whole words loaded",
        ),
        (
            "search_contexts_semantic",
            json!({"query": "how long is a refresh token of a driver good for"}),
            15_000,
            "specific",
            "authentication flow",
        ),
        ("search_contexts_semantic", json!({"query": "show me the jwt config"}), 5_000, "navigational", "1. jwt configuration"),
        ("search_contexts_semantic", json!({"query": deep, "depth": "full"}), 30_000, "exploratory", "authentication flow"),
        ("search_contexts_semantic", json!({"query": "", "max_results": 50}), 5_000, "unknown", "secrets handling"),
        (
            "explore_context_tree",
            json!({"topic": "authentication flow", "depth": 3, "max_results": 50}),
            10_000,
            "",
            "jwt configuration (explicit",
        ),
        ("get_context_preview", json!({"topic": "jwt configuration"}), 1_500, "", "Key concepts"),
        ("check_contexts", json!({"text": "add a column to the parcels table"}), 5_000, "", "database migrations"),
    ] {
        let result = agent.call(tool, arguments.clone());
        let (words, data) = (text(&result), &result["structuredContent"]);
        assert!(
            words.len() <= most && data.to_string().len() <= most,
            "{} and {} bytes: {arguments}\n{words}",
            words.len(),
            data.to_string().len()
        );
        assert!(words.contains(expected), "{expected:?} in {words}");
        if !class.is_empty() {
            assert_eq!(data["class"], class, "{arguments}");
        }
    }
    let index = agent.data("wake_up", json!({}));
    assert_eq!((index["contexts"].as_array().unwrap().len(), &index["left_out"]), (30, &json!(0)), "all on one page");
    assert!(agent.close().success());
}

#[test]
fn a_hundred_contexts_that_are_always_to_be_checked_are_told_in_five_kilobytes() {
    let home = Home::with_memory();
    let mut agent = in_project(&home, "reef");
    for at in 0..100 {
        let content = format!(
            "# Rule {at}\nNever paint buoy {at} before the harbour master of the northern pier has agreed to its colour."
        );
        agent
            .data("lock_context", json!({"content": content, "topic": format!("rule of buoy {at}"), "priority": "always_check"}));
    }
    agent.data("lock_context", json!({"content": "Ropes are of hemp, never of nylon.", "topic": "ropes"}));
    let result = agent.call("check_contexts", json!({"text": "buy nylon ropes"}));
    let (words, data) = (text(&result), &result["structuredContent"]);
    assert!(words.len() <= 5_000 && data.to_string().len() <= 5_000, "{}: {words}", words.len());
    assert!(
        words.contains("ropes") && words.contains("it is always to be checked") && words.starts_with("101 contexts"),
        "{words}"
    );
    let shown = data["matches"].as_array().unwrap().len();
    assert_eq!(shown as u64 + data["left_out"].as_u64().unwrap(), 101);
    assert!(words.contains(&format!("\n{} more, such as rule of buoy", 101 - shown)), "{words}");
    assert!(agent.close().success());
}

#[test]
fn what_changed_since_an_earlier_version_is_told_in_lines() {
    let home = Home::with_memory();
    let mut agent = in_project(&home, "reef");
    for content in ["# Ferry\nleaves at seven\ntakes cars", "# Ferry\nleaves at nine\ntakes cars"] {
        agent.data("lock_context", json!({"content": content, "topic": "ferry"}));
    }
    let result = agent.call("recall_context", json!({"topic": "ferry", "changes_since": 1}));
    assert!(text(&result).starts_with("2 lines changed from version 1 to 2."), "{result}");
    assert_eq!(result["structuredContent"]["changes"], json!(["-2 leaves at seven", "+2 leaves at nine"]));
    assert!(!text(&result).contains("takes cars"));
    assert!(agent.told("recall_context", json!({"topic": "ferry", "changes_since": 9})).contains("version"));
    assert!(agent.close().success());
}
