//! The calls of the five designs as a table: what an agent sends, what it gets, and which rows of the requirements
//! that fulfils. A name whose requirements come later says so in its answer.

use serde_json::{Value, json};

use super::names::in_project;
use super::{Agent, Home};

/// A condition that an answer must meet.
enum Gets {
    /// This value at this place of the data.
    Data(&'static str, Value),
    /// These words in the text.
    Text(&'static str),
    /// An error with these words.
    Error(&'static str),
}

use Gets::{Data, Error, Text};

/// A call: rows, tool, arguments, and what it gets. `$NAME` in an argument is the id that the call before kept as NAME.
type Call = (&'static str, &'static str, Value, Vec<Gets>);

fn calls() -> Vec<Call> {
    let chunk = |words: &str, kind: &str| json!({"project_id": "reef", "content": words, "type": kind});
    vec![
        // S2: knowledge.
        (
            "S2-001 S2-002 S2-003 S2-004 S2-006 S2-007 S2-008 keep=redis",
            "store_chunk",
            json!({"project_id": "reef", "content": "Leases moved from redis to sqlite, because heartbeats were lost.", "type": "decision",
                "tags": ["leases"], "confidence": "verified", "source": "experiment"}),
            vec![Data("/status", json!("stored")), Data("/was_known", json!(false)), Data("/conflicts_checked", json!(true))],
        ),
        (
            "S2-001 C-001",
            "show",
            json!({"id": "$redis"}),
            vec![
                Data("/memory/kind", json!("decision")),
                Data("/memory/memory_type", json!("episodic")),
                Data("/memory/confidence", json!("verified")),
                Data("/memory/source", json!("experiment")),
                Data("/memory/tags", json!(["leases"])),
                Data("/memory/project", json!("reef")),
                Data("/memory/lane", json!("extracted")),
            ],
        ),
        (
            "S2-005 S2-017 S1-048 keep=clock",
            "store_chunk",
            json!({"project_id": "reef", "content": "The clock of a laptop stops while it sleeps.", "type": "insight", "related_to": ["$redis"]}),
            vec![Data("/status", json!("stored"))],
        ),
        (
            "S2-005",
            "show",
            json!({"id": "$clock"}),
            vec![
                Data("/memory/relations/0/name", json!("relates_to")),
                Data("/memory/relations/0/kind", json!("memory")),
                Data("/memory/memory_type", json!("semantic")),
            ],
        ),
        (
            "S2-005",
            "store_chunk",
            json!({"project_id": "reef", "content": "x", "related_to": ["nothing"]}),
            vec![Error("nothing")],
        ),
        ("S2-002", "store_chunk", chunk("x", "rumour"), vec![Error("expected one of research, insight, decision")]),
        ("S2-008 C-004", "store_chunk", json!({"project_id": "pier", "content": "x"}), vec![Error("your own project (reef)")]),
        (
            "S2-054 S1-083",
            "search_semantic",
            json!({"query": "where leases are kept", "project_id": "reef", "limit": 3}),
            vec![Text("sqlite")],
        ),
        (
            "S2-052 S2-053",
            "search_hybrid",
            json!({"query": "leases redis sqlite", "project_id": "reef", "limit": 3}),
            vec![Data("/results/0/keywordRank", json!(1))],
        ),
        (
            "S2-037 S2-040 S2-042 keep=lock",
            "store_chunk",
            json!({"project_id": "reef", "content": "The reef must use SQLite for the leases of the pier.", "type": "insight"}),
            vec![Data("/status", json!("stored"))],
        ),
        (
            "S2-038 S2-039 S2-041 C-062 C-063",
            "store_chunk",
            json!({"project_id": "reef", "content": "The reef must not use SQLite for the leases of the pier.", "type": "insight"}),
            vec![
                Data("/status", json!("conflict_detected")),
                Data("/conflicts/0/severity", json!("critical")),
                Data("/conflicts/0/newer/status", json!("contested")),
                Data("/suggestedResolution", json!("escalate")),
            ],
        ),
        (
            "S2-037 C-047 C-061",
            "get_contradictions",
            json!({"project_id": "reef"}),
            vec![Data("/contradictions/0/kind", json!("direct")), Text("critical, escalate:")],
        ),
        // S1: memory tools.
        (
            "S1-032 keep=solution",
            "remember",
            json!({"text": "The build fails with E0277 until the feature full of tokio is on.", "kind": "solution", "confirmed": true}),
            vec![Text("Remembered as solution")],
        ),
        (
            "S1-128",
            "search_past_solutions",
            json!({"query": "build fails", "errorMessage": "E0277", "limit": 3}),
            vec![Data("/results/0/memory/kind", json!("solution")), Text("Recorded as solution.")],
        ),
        (
            "S1-128",
            "search_past_solutions",
            json!({"query": "where do we moor"}),
            vec![Text("No solution is recorded for it. Recorded otherwise: 3. Only said: 1, 2.")],
        ),
        (
            "S1-129",
            "find_similar_issues",
            json!({"context": "cargo build in CI", "errorMessage": "E0277"}),
            vec![Data("/results/0/memory/kind", json!("solution"))],
        ),
        (
            "S1-131",
            "recall_decision",
            json!({"topic": "redis or sqlite for leases", "project": "reef"}),
            vec![Data("/results/0/memory/kind", json!("decision")), Text("ecorded as decision")],
        ),
        (
            "S1-034 S1-035",
            "remember",
            json!({"text": "Errors of a module are one typed enum.", "kind": "standard", "tags": ["errors"], "confirmed": true}),
            vec![Text("Remembered as standard")],
        ),
        (
            "S1-033",
            "remember",
            json!({"text": "A queue is drained in batches, each in one transaction.", "kind": "pattern", "tags": ["storage"], "confirmed": true}),
            vec![Text("Remembered as pattern")],
        ),
        (
            "S1-130",
            "get_project_patterns",
            json!({"project": "reef"}),
            vec![Data("/patterns/0/kind", json!("standard")), Data("/patterns/1/kind", json!("pattern"))],
        ),
        (
            "S1-130",
            "get_project_patterns",
            json!({"project": "reef", "category": "storage"}),
            vec![Data("/patterns/0/tags", json!(["storage"]))],
        ),
        ("S1-130", "get_project_patterns", json!({"project": "atlantis"}), vec![Error("unknown-project")]),
        (
            "S1-056 S1-132",
            "get_category_summary",
            json!({"category": "storage"}),
            vec![Data("/category/name", json!("database")), Text("A queue is drained in batches, each in one transaction.")],
        ),
        ("S1-132", "get_category_summary", json!({"category": "atlantis"}), vec![Error("unknown-category")]),
        ("S1-133", "ingest_chat_history", json!({"since": "2020-01-01"}), vec![Data("/ingested/turns_added", json!(0))]),
        (
            "S1-134 S1-141",
            "memory_stats",
            json!({}),
            vec![
                Data("/memories/total", json!(7)),
                Data("/memories/by_kind/decision", json!(1)),
                Data("/memories/by_status/holds", json!(6)),
                Data("/memories/relations", json!(2)),
                Data("/turns", json!(2)),
            ],
        ),
        ("S1-135", "search", json!({"query": "southern pier", "limit": 1}), vec![Data("/results/0/role", json!("assistant"))]),
        // S3: contexts.
        (
            "S3-036 S3-001",
            "lock_context",
            json!({"content": "Tokens live an hour.\nNEVER log one.", "topic": "auth", "tags": "login,keys", "priority": "always_check", "related": "sessions"}),
            vec![Data("/replaced", json!(false))],
        ),
        (
            "S3-036",
            "lock_context",
            json!({"content": "A session ends when its token does.", "topic": "sessions", "tags": "login", "related": "cookies"}),
            vec![Data("/topic", json!("sessions"))],
        ),
        (
            "S3-003",
            "lock_context",
            json!({"content": "Tokens live two hours.", "topic": "auth"}),
            vec![Data("/replaced", json!(true))],
        ),
        (
            "S3-035 C-045",
            "wake_up",
            json!({}),
            vec![Data("/contexts/0/label", json!("auth")), Data("/contexts/0/version", json!(2)), Data("/total", json!(2))],
        ),
        (
            "S3-037",
            "recall_context",
            json!({"topic": "auth"}),
            vec![
                Data("/content", json!("Tokens live two hours.")),
                Data("/version", json!(2)),
                Data("/related", json!(["sessions"])),
            ],
        ),
        (
            "S3-045 S3-003",
            "recall_context",
            json!({"topic": "auth", "version": 1}),
            vec![Data("/content", json!("Tokens live an hour.\nNEVER log one.")), Data("/version", json!(1))],
        ),
        (
            "S3-045",
            "recall_context",
            json!({"topic": "auth", "preview_only": true}),
            vec![Data("/preview", json!("Tokens live two hours.")), Data("/content", Value::Null)],
        ),
        ("S3-045", "recall_context", json!({"topic": "auth", "version": 9}), vec![Error("version")]),
        ("S3-037", "recall_context", json!({"topic": "sessions"}), vec![Data("/related", json!(["cookies", "auth"]))]),
        ("S3-038", "check_contexts", json!({"text": "rename the buoys"}), vec![Data("/matches/0/label", json!("auth"))]),
        (
            "S3-039 S3-004 C-014",
            "get_context_preview",
            json!({"topic": "sessions"}),
            vec![Data("/related", json!(["cookies", "auth"]))],
        ),
        (
            "S3-040 S3-008 C-041 C-046 C-115",
            "explore_context_tree",
            json!({"topic": "auth", "depth": 2, "max_results": 10}),
            vec![
                Data("/topic", json!("auth")),
                Data("/nodes/0/label", json!("sessions")),
                Data("/nodes/0/depth", json!(1)),
                Data("/nodes/1/label", json!("cookies")),
                Data("/nodes/1/depth", json!(2)),
                Data("/nodes/1/relation", json!("explicit")),
                Text("cookies (explicit"),
            ],
        ),
        (
            "S3-041 S3-021 C-076",
            "search_contexts_semantic",
            json!({"query": "tokens live", "depth": "full"}),
            vec![
                Data("/matches/0/label", json!("auth")),
                Data("/matches/0/loaded_full", json!(true)),
                Data("/matches/1/loaded_full", json!(false)),
            ],
        ),
        (
            "S3-023 S3-026",
            "search_contexts_semantic",
            json!({"query": "session ends", "max_results": 1}),
            vec![
                Data("/related_topics/0/label", json!("cookies")),
                Data("/related_topics/0/from", json!("sessions")),
                Data("/exploration_path", json!(["sessions", "cookies", "auth"])),
            ],
        ),
        (
            "C-075",
            "search_contexts_semantic",
            json!({"query": ""}),
            vec![
                Data("/matches/0/label", json!("auth")),
                Data("/matches/1/label", json!("sessions")),
                Data("/searched", json!("by priority")),
            ],
        ),
        (
            "S3-028 S3-042 C-080",
            "ask_memory",
            json!({"question": "how long do tokens live?"}),
            vec![Data("/steps/0/depth", json!("preview")), Data("/sentences/0/sources", json!([1])), Text("confidence ")],
        ),
        (
            "S3-043 C-047",
            "synthesize_knowledge",
            json!({"question": "what do we know about redis leases?"}),
            vec![Data("/steps/0/depth", json!("deep")), Text("heartbeats were lost")],
        ),
        ("C-080", "ask_memory", json!({"question": "which zeppelin was booked?"}), vec![Text("Nothing is known about it")]),
        // S5: notes and recall.
        (
            "S5-068",
            "memento_note",
            json!({"content": "The harbour master likes tea.", "confirmed": true}),
            vec![Text("Remembered as fact")],
        ),
        ("S5-068", "note", json!({"content": "x"}), vec![Error("not-confirmed")]),
        ("S5-066", "recall", json!({"question": "what does the harbour master like?", "limit": 1}), vec![Text("likes tea")]),
        (
            "S4-054 S4-047",
            "recall",
            json!({"question": "decisions about leases", "kind": "decision"}),
            vec![Data("/results/0/memory/kind", json!("decision"))],
        ),
    ]
}

#[test]
fn calls_of_the_designs_get_what_their_rows_promise() {
    let home = Home::empty();
    home.learn_reef();
    let mut agent = in_project(&home, "reef");
    let mut kept: Vec<(&str, String)> = Vec::new();
    for (rows, tool, mut arguments, expected) in calls() {
        for (name, id) in &kept {
            arguments = serde_json::from_str(&arguments.to_string().replace(&format!("${name}"), id)).unwrap();
        }
        let result = agent.call(tool, arguments.clone());
        let (data, words) = (&result["structuredContent"], super::text(&result));
        let told = format!("{rows}: {tool} {arguments}\n{result}");
        for gets in &expected {
            match gets {
                Data(place, value) => assert_eq!(data.pointer(place).unwrap_or(&Value::Null), value, "{place} of {told}"),
                Text(expected) => assert!(words.contains(expected), "{expected:?} in {told}"),
                Error(expected) => assert!(result["isError"] == true && words.contains(expected), "{expected:?} in {told}"),
            }
        }
        let is_error = expected.iter().any(|gets| matches!(gets, Error(_)));
        assert_eq!(result["isError"], is_error, "{told}");
        if let Some(name) = rows.split("keep=").nth(1) {
            let id = data.get("id").or(data.get("memory")).and_then(Value::as_str).unwrap_or_else(|| panic!("{told}"));
            kept.push((name, id.to_owned()));
        }
    }
    assert!(agent.close().success());
}

#[test]
fn contexts_that_are_loaded_together_and_topics_that_are_locked_later_are_found_around_a_context() {
    let home = Home::with_memory();
    let mut agent = in_project(&home, "reef");
    let lock = |agent: &mut Agent, topic: &str, content: &str, related: &str| {
        agent.data("lock_context", json!({"content": content, "topic": topic, "related": related}));
    };
    lock(&mut agent, "crane", "The crane lifts nine tons.", "tides");
    lock(&mut agent, "ledger", "Invoices are numbered by year.", "");
    let nodes = |agent: &mut Agent, topic: &str| -> Vec<(String, String, bool)> {
        let tree = agent.data("explore_context_tree", json!({"topic": topic, "depth": 1}));
        let told = |node: &Value| {
            let text = |name: &str| node[name].as_str().unwrap().to_owned();
            (text("label"), text("relation"), node["preview"].is_string())
        };
        tree["nodes"].as_array().unwrap().iter().map(told).collect()
    };
    let node = |label: &str, relation: &str, is_locked: bool| (label.to_owned(), relation.to_owned(), is_locked);
    assert_eq!(nodes(&mut agent, "crane"), [node("tides", "explicit", false)], "only a name so far");
    lock(&mut agent, "Tides", "High water is at noon.", "");
    assert_eq!(nodes(&mut agent, "crane"), [node("Tides", "explicit", true)]);
    assert_eq!(agent.data("recall_context", json!({"topic": "tides"}))["related"], json!(["crane"]), "read from the other end");
    agent.data("recall_context", json!({"topic": "ledger"}));
    assert_eq!(nodes(&mut agent, "ledger"), [node("Tides", "co-accessed", true)]);
    // An argument that is not given leaves the relations as they are.
    agent.data("lock_context", json!({"content": "The crane lifts ten tons.", "topic": "crane"}));
    assert_eq!(agent.data("get_context_preview", json!({"topic": "crane"}))["related"], json!(["Tides"]));
    agent.data("lock_context", json!({"content": "The crane lifts ten tons.", "topic": "crane", "related": "winds"}));
    assert_eq!(agent.data("get_context_preview", json!({"topic": "crane"}))["related"], json!(["winds"]));
    // A hard forget takes the relations, and the topics that were nothing but a name.
    let id = agent.data("get_context_preview", json!({"topic": "crane"}))["id"].as_str().unwrap().to_owned();
    assert!(agent.close().success());
    let yore = |arguments: &[&str]| {
        let output = home.yore().args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(yore(&["forget", "--hard", &id]).0, Some(0));
    for arguments in [&["memories", "entities", "--json"][..], &["op", "log", "--json"]] {
        let told = yore(arguments).1;
        assert!(!told.contains("winds") && !told.contains("crane"), "{told}");
    }
}

#[test]
fn related_topics_that_an_older_yore_kept_as_tags_become_relations_when_the_context_is_locked_again() {
    let home = Home::with_memory();
    let mut agent = in_project(&home, "reef");
    agent.data("lock_context", json!({"content": "Tokens live an hour.", "topic": "auth", "tags": "login", "related": ""}));
    assert!(agent.close().success());
    let output = home.yore().args(["export", "-"]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap().replace("\"login\"", "\"login\",\"related:sessions\"");
    assert!(lines.contains("related:sessions"), "{lines}");

    std::fs::remove_dir_all(home.data()).unwrap();
    let file = home.0.path().join("older.jsonl");
    std::fs::write(&file, lines).unwrap();
    assert!(home.yore().args(["import", "--trust"]).arg(&file).output().unwrap().status.success());
    let mut agent = in_project(&home, "reef");
    assert_eq!(agent.data("recall_context", json!({"topic": "auth"}))["related"], json!(["sessions"]), "read from the tag");
    agent.data("lock_context", json!({"content": "Tokens live two hours.", "topic": "auth"}));
    let context = agent.data("recall_context", json!({"topic": "auth"}));
    assert_eq!(context["related"], json!(["sessions"]));
    assert_eq!(context["tags"], json!(["login"]));
    assert!(agent.close().success());
    let exported = home.yore().args(["export", "-"]).output().unwrap();
    let exported = String::from_utf8(exported.stdout).unwrap();
    assert!(exported.contains("\"type\":\"relates_to\""), "it is a relation now: {exported}");
    assert!(exported.contains("\"tags\":[\"login\"],"), "the newest version has no such tag: {exported}");
}
