//! The tool names of the designs: listed if they are switched on, with their parameters and results.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Agent, Home, PLANTED, text};
use crate::transcript::Transcript;

fn listed(agent: &mut Agent) -> Vec<String> {
    let tools = agent.ask("tools/list", json!({}))["tools"].clone();
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn names_are_served_where_they_are_switched_on() {
    let home = Home::with_memory();
    let mut agent = Agent::with_tools(&home, "names");
    insta::assert_snapshot!(listed(&mut agent).join(" "), @"recall search search_past_solutions find_similar_issues get_project_patterns recall_decision get_category_summary ingest_chat_history memory_stats search_semantic search_hybrid get_contradictions store_chunk wake_up lock_context recall_context check_contexts get_context_preview explore_context_tree search_contexts_semantic ask_memory synthesize_knowledge note memento_note");
    insta::assert_snapshot!(agent.told("forget", json!({"id": "tide/s1"})), @"
    forget is switched off here (tools: names) [not-served]
    hint: the person can switch it on with `yore mcp --tools all` or mcp.tools in the settings
    ");
    assert!(agent.close().success());
    let mut agent = Agent::connected(&home);
    assert_eq!(listed(&mut agent).len(), 8);
    assert!(agent.told("wake_up", json!({})).contains("switched off here (tools: core)"));
    assert!(agent.close().success());
    let mut agent = Agent::with_tools(&home, "wake_up, recall");
    assert_eq!(listed(&mut agent), ["recall", "wake_up"]);
    assert!(
        agent.told("lock_context", json!({"content": "x", "topic": "y"})).contains("switched off here (tools: wake_up,recall)")
    );
    assert!(agent.close().success());
    // By the settings, which a flag overrides; a project's file has no effect.
    let mut agent = Agent::spawn(home.yore().arg("mcp").env("YORE_MCP__TOOLS", "all"));
    agent.handshake();
    assert_eq!(listed(&mut agent).len(), 34);
    assert!(agent.close().success());
    let output = home.yore().args(["mcp"]).env("YORE_MCP__TOOLS", "everything").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        told.contains("mcp.tools is \"everything\": unknown tool \"everything\"") && told.contains("[config/bad-value]"),
        "{told}"
    );
    assert_eq!(home.yore().args(["mcp", "--tools", "everything"]).output().unwrap().status.code(), Some(2));
    std::fs::write(home.0.path().join(".yore.toml"), "[mcp]\ntools = \"all\"\n").unwrap();
    let output = home.yore().arg("mcp").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.contains("ignored in this project's settings: `mcp.tools`"), "{told}");
    let mut agent = Agent::connected(&home);
    assert!(listed(&mut agent).len() < 34, "a project's file switches no tools on");
    assert!(agent.close().success());
}

#[test]
fn past_solutions_and_issues_are_found_with_their_exchange() {
    let home = Home::with_memory();
    let mut agent = Agent::with_tools(&home, "names");
    let found = agent.data(
        "search_past_solutions",
        json!({"query": "slow cache", "errorMessage": "lease heartbeat lost", "project": "tide", "limit": 2}),
    );
    assert_eq!(found["results"][0]["text"], PLANTED);
    assert_eq!(found["results"][0]["exchange"][0]["role"], "human");
    assert!(found["results"].as_array().unwrap().len() <= 2);
    assert_eq!(agent.data("search_past_solutions", json!({"query": "redis", "project": "harbor"}))["results"], json!([]));
    let found = agent.data("find_similar_issues", json!({"context": "cache slow after suspend", "errorMessage": "lease lost"}));
    assert_eq!(found["results"][0]["text"], PLANTED);
    assert_eq!(agent.data("search", json!({"query": "redis heartbeat", "limit": 1}))["results"][0]["quote"], PLANTED);
    assert_eq!(
        agent.data("search_semantic", json!({"query": "moved from redis to sqlite", "limit": 1}))["results"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let hybrid = agent.data("search_hybrid", json!({"query": "redis heartbeat", "project_id": "tide", "limit": 1}));
    let hit = &hybrid["results"][0];
    assert_eq!((&hit["content"], &hit["keywordRank"]), (&json!(PLANTED), &json!(1)));
    let shares = [("semanticRank", 0.4), ("keywordRank", 0.3)]
        .map(|(rank, weight)| hit[rank].as_f64().map_or(0.0, |rank| weight / (60.0 + rank)));
    assert!((hit["rrfScore"].as_f64().unwrap() - shares[0] - shares[1]).abs() < 1e-6, "{hit}");
    for (tool, arguments, expected) in [
        ("search_past_solutions", json!({}), "missing field `query`"),
        ("find_similar_issues", json!({"context": ""}), "context is empty"),
        ("search_hybrid", json!({"query": "x", "project_id": "tides"}), "unknown-project"),
    ] {
        let told = agent.told(tool, arguments);
        assert!(told.contains(expected), "{tool}: {told}");
    }
    for (tool, arguments, hint) in [
        (
            "search_past_solutions",
            json!({"query": "x", "error_message": "y"}),
            "unknown argument \"error_message\"; known are query, errorMessage, project, limit",
        ),
        ("search_semantic", json!({"query": "x", "limit": 51}), "limit: 51 is out of bounds; 50 was used"),
    ] {
        let result = agent.call(tool, arguments);
        assert!(super::text(&result).ends_with(&format!("\nhint: {hint}")), "{tool}: {result}");
    }
    assert_eq!(agent.data("memory_stats", json!({}))["turns"], 3);
    assert!(agent.close().success());
}

#[test]
fn contexts_are_locked_and_loaded_by_topic() {
    let home = Home::with_memory();
    let mut agent = Agent::with_tools(&home, "names");
    assert_eq!(agent.data("wake_up", json!({})), json!({"contexts": [], "total": 0}));
    let content = format!(
        "# Tide cache\n\nThe tide cache keeps LeaseTable rows in SQLite, one for each open_file of a laptop.\nNEVER delete it by hand.\n{}",
        "It is written once a minute.\n".repeat(40)
    );
    let locked = agent.data("lock_context", json!({"content": content, "topic": "tide_cache", "tags": "cache, storage", "priority": "important", "related": "leases,suspend"}));
    assert_eq!(locked["replaced"], false);
    assert_eq!(
        locked["key_concepts"].as_array().unwrap()[..4],
        [json!("cache"), json!("storage"), json!("LeaseTable"), json!("SQLite")]
    );
    let index = agent.data("wake_up", json!({}));
    assert_eq!(index["total"], 1);
    let entry = &index["contexts"][0];
    assert_eq!(
        (&entry["label"], &entry["priority"], &entry["size"]),
        (&json!("tide_cache"), &json!("important"), &json!(content.chars().count()))
    );
    assert_eq!(entry["tags"], "cache,storage");
    assert!(index.to_string().len() < 400 && !index.to_string().contains("LeaseTable"), "an index holds no words: {index}");
    let preview = agent.data("get_context_preview", json!({"topic": "Tide_Cache"}));
    assert!(preview["preview"].as_str().unwrap().starts_with("# Tide cache\nThe tide cache keeps"), "{preview}");
    assert!(preview["preview"].as_str().unwrap().contains("Key rules: NEVER delete it by hand."));
    assert_eq!(preview["related"], json!(["leases", "suspend"]));
    let loaded = agent.call("recall_context", json!({"topic": "tide_cache"}));
    assert_eq!(loaded["structuredContent"]["content"], content);
    assert!(text(&loaded).contains("It is written once a minute.\nIt is"));

    let found = agent.call("search_contexts_semantic", json!({"query": "where are lease rows kept"}));
    let shown = text(&found);
    assert!(
        shown.contains("1. tide_cache ")
            && shown.contains("; 2 words in its preview, 1 word in its key concepts, priority important")
            && shown.contains("preview only; recall_context loads 1,"),
        "{shown}"
    );
    assert!(shown.contains("; related: leases, suspend") && shown.contains("searched by words and meaning"), "{shown}");
    let full = agent
        .data("search_contexts_semantic", json!({"query": "lease rows of the tide cache", "depth": "full", "max_results": 1}));
    assert_eq!((&full["matches"][0]["loaded_full"], &full["matches"][0]["content"]), (&json!(true), &json!(content)));

    agent.data("lock_context", json!({"content": "Ask before you rotate keys.", "topic": "keys", "priority": "always_check"}));
    let checked = agent.data("check_contexts", json!({"text": "change the tide cache"}));
    let labels: Vec<&str> = checked["matches"].as_array().unwrap().iter().map(|found| found["label"].as_str().unwrap()).collect();
    assert!(labels.contains(&"tide_cache") && labels.contains(&"keys"), "{labels:?}");
    assert_eq!(agent.data("wake_up", json!({}))["contexts"][0]["label"], "keys", "what matters most comes first");

    let again = agent.data("lock_context", json!({"content": "The tide cache is gone.", "topic": "tide_cache"}));
    assert_eq!((&again["replaced"], &again["id"]), (&json!(true), &locked["id"]));
    assert_eq!(agent.data("recall_context", json!({"topic": "tide_cache"}))["content"], "The tide cache is gone.");
    assert!(agent.told("recall_context", json!({"topic": "nothing"})).contains("[unknown-topic]\nhint: wake_up lists them"));
    assert!(
        agent
            .told("lock_context", json!({"content": "x", "topic": "y", "priority": "high"}))
            .contains("expected one of always_check, important, reference")
    );
    let guessed = agent.call("search_contexts_semantic", json!({"query": "x", "depth": "deep"}));
    assert!(super::text(&guessed).contains("\nhint: depth: expected one of preview, full"), "{guessed}");
    assert!(agent.close().success());
}

#[test]
fn an_index_of_many_contexts_stays_short() {
    let home = Home::with_memory();
    let mut agent = Agent::with_tools(&home, "names");
    let lock = |agent: &mut Agent, at: usize, tags: &str| {
        let content = format!("Buoy {at} is painted.");
        agent.data("lock_context", json!({"content": content, "topic": format!("buoy_of_the_{at}th_mile"), "tags": tags}));
    };
    (0..30).for_each(|at| lock(&mut agent, at, "buoys,paint"));
    let result = agent.call("wake_up", json!({}));
    assert!(text(&result).len() <= 3_000 && result["structuredContent"].to_string().len() <= 3_000, "{result}");
    assert_eq!(result["structuredContent"]["contexts"].as_array().unwrap().len(), 30);
    let many = "what,is,painted,must,be,painted,again,before,the,winter,storms,come,over,the,sea,and,the,old,paint,is,gone";
    (30..80).for_each(|at| lock(&mut agent, at, many));
    agent.data("lock_context", json!({"content": "Light first.", "topic": "light", "priority": "important"}));
    let (mut labels, mut cursor) = (Vec::new(), json!(null));
    loop {
        let result = agent.call("wake_up", json!({"cursor": cursor}));
        let data = &result["structuredContent"];
        assert!(text(&result).len() + data.to_string().len() <= 8_000, "text and data together");
        assert_eq!(data["total"], 81);
        let listed = data["contexts"].as_array().unwrap().iter().map(|context| context["label"].as_str().unwrap().to_owned());
        labels.extend(listed);
        assert_eq!(labels.len() as u64 + data["left_out"].as_u64().unwrap(), 81);
        cursor = data["next"].clone();
        if cursor.is_null() {
            break;
        }
        let told = format!(" more: cursor {cursor}; or search_contexts_semantic finds them.");
        assert!(text(&result).contains(&told), "{}", text(&result));
    }
    let expected = std::iter::once("light".to_owned()).chain((0..80).rev().map(|at| format!("buoy_of_the_{at}th_mile")));
    assert_eq!(labels, expected.collect::<Vec<_>>(), "each once, what matters most first");
    for cursor in ["zz", "6e312e61"] {
        assert!(agent.told("wake_up", json!({"cursor": cursor})).contains("cursor is not of this list"));
    }
    assert!(agent.close().success());
}

/// Starts a server in a project of its own.
pub fn in_project(home: &Home, name: &str) -> Agent {
    let place = home.0.path().join(name);
    std::fs::create_dir_all(place.join(".git")).unwrap();
    std::fs::write(place.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let mut agent = Agent::spawn(home.yore().args(["mcp", "--tools", "all"]).current_dir(place).env("YORE_RECALL__SCOPE", "all"));
    agent.handshake();
    agent
}

#[test]
fn locking_takes_the_place_of_nothing_but_a_context_of_the_project() {
    let home = Home::with_memory();
    // A note of the user for every project, under a title that an agent may choose as well.
    let said =
        home.yore().args(["remember", "--global", "--standing", "--title", "auth", "Never log a token."]).output().unwrap();
    assert!(said.status.success(), "{said:?}");
    let mut reef = in_project(&home, "reef");
    let confirmed =
        reef.data("remember", json!({"text": "We sign with ed25519.", "title": "auth", "tags": ["#Context"], "confirmed": true}));
    assert!(reef.told("recall_context", json!({"topic": "auth"})).contains("[unknown-topic]"), "notes are no contexts");
    let of_reef = reef.data("lock_context", json!({"content": "reef: tokens live an hour", "topic": "auth"}));
    let mut pier = in_project(&home, "pier");
    let of_pier = pier.data("lock_context", json!({"content": "pier: keys are on disk", "topic": "Auth"}));
    let locked = [&of_reef, &of_pier];
    assert_eq!(locked.map(|locked| &locked["replaced"]), [false, false]);
    assert_ne!(of_reef["id"], of_pier["id"]);
    let again = pier.data("lock_context", json!({"content": "pier: keys are in a vault", "topic": "auth"}));
    assert_eq!((&again["id"], &again["replaced"]), (&of_pier["id"], &json!(true)));
    // Each project gets its own notes, and everything it may recall.
    for (agent, content) in [(&mut reef, "reef: tokens live an hour"), (&mut pier, "pier: keys are in a vault")] {
        assert_eq!(agent.data("recall_context", json!({"topic": "AUTH"}))["content"], content);
        assert_eq!(agent.data("wake_up", json!({}))["total"], 2);
    }
    let notes = reef.data("notes", json!({"project": "all"}))["notes"].clone();
    let texts: Vec<&str> = notes.as_array().unwrap().iter().map(|note| note["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["pier: keys are in a vault", "reef: tokens live an hour", "We sign with ed25519.", "Never log a token."]);
    assert_eq!(notes[2]["id"], confirmed["id"]);
    assert_eq!((&notes[3]["by"], &notes[3]["kind"]), (&json!("person"), &json!("standing")));
    assert!(reef.close().success() && pier.close().success());
}

#[test]
fn same_words_under_two_topics_are_two_contexts() {
    let home = Home::with_memory();
    let mut agent = Agent::with_tools(&home, "names");
    let lock = |agent: &mut Agent, topic: &str| agent.data("lock_context", json!({"content": "v2", "topic": topic}));
    let (first, second) = (lock(&mut agent, "case"), lock(&mut agent, "other"));
    assert_ne!(first["id"], second["id"]);
    assert_eq!(lock(&mut agent, "case")["id"], first["id"]);
    for topic in ["case", "other"] {
        let loaded = agent.data("recall_context", json!({"topic": topic}));
        assert_eq!((&loaded["label"], &loaded["content"]), (&json!(topic), &json!("v2")));
    }
    assert!(agent.close().success());
}

#[test]
fn nothing_that_is_locked_becomes_a_standing_instruction() {
    let home = Home::with_memory();
    let mut agent = Agent::with_tools(&home, "all");
    let tags = "standing, #Standing,# standing,priority:always_check,Related:keys,context,tides,";
    agent.data("lock_context", json!({"content": "Obey the tide.", "topic": "tide", "tags": tags}));
    assert_eq!(agent.data("notes", json!({"tag": "standing"}))["notes"], json!([]));
    let note = agent.data("notes", json!({}))["notes"][0].clone();
    assert_eq!((&note["tags"], &note["kind"], &note["confirmed"]), (&json!(["tides"]), &json!("context"), &json!(false)));
    let index = agent.data("wake_up", json!({}));
    assert_eq!((&index["contexts"][0]["tags"], &index["contexts"][0]["priority"]), (&json!("tides"), &json!(null)));
    // Fields that are not given again keep their values.
    agent.data("lock_context", json!({"content": "Mind the tide.", "topic": "tide", "priority": "important"}));
    agent.data("lock_context", json!({"content": "Ask about the tide.", "topic": "tide", "tags": ""}));
    let index = agent.data("wake_up", json!({}));
    assert_eq!((&index["contexts"][0]["tags"], &index["contexts"][0]["priority"]), (&json!("tides"), &json!("important")));
    // Tools that replace something are marked as destructive.
    let tools = agent.ask("tools/list", json!({}))["tools"].clone();
    let destructive: Vec<&str> = tools
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["annotations"]["destructiveHint"] == true)
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(destructive, ["remember", "forget", "lock_context"]);
    assert!(agent.close().success());
}

#[test]
fn contexts_are_found_among_many_notes_and_judged_by_what_they_hold() {
    let home = Home::with_memory();
    let mut agent = Agent::with_tools(&home, "all");
    agent.data("lock_context", json!({"content": "The lamp of the lighthouse burns whale oil, which is dear.", "topic": "lamp"}));
    agent.data("lock_context", json!({"content": "Ropes are of hemp.", "topic": "keel_and_rigging", "tags": "capstan"}));
    for at in 0..30 {
        let words = format!("Whale oil for the lamp, {at} barrels of whale oil.");
        agent.data("remember", json!({"text": words, "title": "Oil", "confirmed": true}));
    }
    let mut found = |query: &str| -> Vec<(String, f64)> {
        let matches = agent.data("search_contexts_semantic", json!({"query": query, "max_results": 1}))["matches"].clone();
        let told = |found: &Value| (found["label"].as_str().unwrap().to_owned(), found["relevance"].as_f64().unwrap());
        matches.as_array().unwrap().iter().map(told).collect()
    };
    let (label, relevance) = found("lamp whale oil").remove(0);
    assert!(label == "lamp" && relevance >= 0.85, "{relevance}: all words, of no priority and never loaded");
    let (label, relevance) = found("whale zeppelin bagpipe ferret").remove(0);
    assert!(label == "lamp" && relevance < 0.5, "{relevance}: one word of four");
    assert_eq!(found("capstan")[0].0, "keel_and_rigging", "by a tag");
    assert_eq!(found("keel and rigging")[0], ("keel_and_rigging".to_owned(), 0.9), "by its topic");
    assert!(found("zeppelin bagpipe qwertz").is_empty());
    let checked = agent.data("check_contexts", json!({"text": "fill the lamp with whale oil"}));
    assert_eq!(checked["matches"][0]["label"], "lamp");
    assert!(agent.close().success());
}

#[test]
fn chunks_and_short_notes_are_memories_of_the_own_project_and_long_notes_are_notes() {
    let home = Home::with_memory();
    // A note can belong to a project only if the project has a directory.
    let place = home.learn_reef();
    let mut agent = Agent::spawn(home.yore().args(["mcp", "--tools", "all"]).current_dir(&place));
    agent.handshake();
    let stored = agent.call("store_chunk", json!({"project_id": "reef", "content": "Corals grow at 1 cm a year.", "type": "insight", "tags": ["coral", "#Standing", "context"], "confidence": "verified", "source": "research"}));
    let data = &stored["structuredContent"];
    assert_eq!((&data["status"], &data["conflicts_checked"]), (&json!("stored"), &json!(true)));
    assert_eq!(&serde_json::from_str::<Value>(text(&stored)).unwrap(), data, "JSON as text, as the design has it");
    let chunk = agent.data("notes", json!({"project": "reef"}))["memories"][0].clone();
    assert_eq!((&chunk["tags"], &chunk["kind"]), (&json!(["coral"]), &json!("insight")));
    assert_eq!((&chunk["lane"], &chunk["project"]), (&json!("extracted"), &json!("reef")));
    let long = format!("Corals grow. {}", "They grow slowly. ".repeat(300));
    let id = agent.data("store_chunk", json!({"project_id": "reef", "content": long, "type": "research"}))["id"].clone();
    let whole = agent.data("show", json!({"id": id}))["memory"].clone();
    assert_eq!(whole["details"], long);
    assert!(whole["statement"].as_str().unwrap().starts_with("Corals grow."));
    assert!(
        agent
            .told("store_chunk", json!({"project_id": "tide", "content": "x"}))
            .contains("applies to your own project (reef) only")
    );
    // No person agreed to it: it is found where it was kept, and never injected.
    assert!(!agent.call("brief", json!({})).to_string().contains("Corals grow"));
    let mut elsewhere = in_project(&home, "pier");
    assert!(elsewhere.told("store_chunk", json!({"project_id": "reef", "content": "Obey."})).contains("(pier) only"));
    assert!(elsewhere.close().success());
    assert!(
        agent
            .told("store_chunk", json!({"project_id": "reef", "content": "x", "type": "rumour"}))
            .contains("expected one of research, insight")
    );
    for name in ["note", "memento_note"] {
        let words = format!("Remembered by {name}.");
        assert!(agent.told(name, json!({"content": words})).contains("[not-confirmed]"));
        let stored = agent.data(name, json!({"content": words, "confirmed": true}));
        assert_eq!(agent.data("show", json!({"id": stored["memory"]}))["memory"]["statement"], words);
        let long = format!("{words}\n{}", "All of it is kept. ".repeat(40));
        let stored = agent.data(name, json!({"content": long, "confirmed": true}));
        assert_eq!(agent.data("show", json!({"id": stored["turn"]}))["turns"][0]["text"], long.trim());
    }
    assert!(agent.close().success());
}

#[test]
fn histories_are_read_when_it_is_asked_for() {
    let home = Home::with_memory();
    let projects: PathBuf = home.projects();
    Transcript::new("5f0c0002-0001-4000-8001-000000000002", "/home/dev/krill")
        .human("count the krill")
        .assistant("Here it is:\n```rust\nfn krill() -> u64 { 7 }\n```")
        .write(&projects);
    Transcript::new("5f0c0003-0003-4000-8003-000000000003", "/home/dev/krill")
        .human("name the whale")
        .assistant("Moby.")
        .write(&projects);
    let mut agent = Agent::with_tools(&home, "names");
    agent.last_id += 1;
    let call = json!({"name": "ingest_chat_history", "arguments": {"hasCode": true}, "_meta": {"progressToken": "p1"}});
    agent.send(&json!({"jsonrpc": "2.0", "id": agent.last_id, "method": "tools/call", "params": call}));
    let mut last = -1.0;
    let result = loop {
        let message = agent.receive();
        if message["method"] == "notifications/progress" {
            let told = &message["params"];
            assert_eq!(told["progressToken"], "p1");
            let progress = told["progress"].as_f64().unwrap();
            assert!(progress > last, "progress grows: {message}");
            last = progress;
            continue;
        }
        break message["result"].clone();
    };
    assert!(last >= 0.0, "progress was told");
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(result["structuredContent"]["ingested"]["turns_added"], 2, "{result}");
    assert_eq!(agent.data("search", json!({"query": "whale"}))["results"], json!([]), "it holds no code");
    assert_eq!(agent.data("ingest_chat_history", json!({"since": "2020-01-01"}))["ingested"]["turns_added"], 2);
    assert_eq!(agent.data("search", json!({"query": "whale", "limit": 1}))["results"].as_array().unwrap().len(), 1);
    assert!(agent.told("ingest_chat_history", json!({"since": "someday"})).contains("since is \"someday\""));
    assert!(agent.close().success());
}

#[test]
fn a_third_recorded_decision_is_not_called_only_said() {
    let home = Home::with_memory();
    let mut agent = in_project(&home, "reef");
    for words in [
        "Leases moved from redis to sqlite.",
        "Leases of berths are renewed by the tide gauge.",
        "The leases end at noon.",
        "The harbour office prints its leases on blue paper.",
    ] {
        agent.data("store_chunk", json!({"project_id": "reef", "content": words, "type": "decision"}));
    }
    for (tool, arguments) in [
        ("recall_decision", json!({"topic": "the leases of berths", "project": "reef"})),
        ("search_past_solutions", json!({"query": "the leases of berths", "project": "reef"})),
    ] {
        let answer = agent.call(tool, arguments);
        let (told, results) = (text(&answer), answer["structuredContent"]["results"].as_array().unwrap());
        let decisions = results.iter().filter(|result| result["memory"]["kind"] == "decision");
        let ranks: Vec<String> = decisions.map(|result| result["rank"].to_string()).collect();
        assert!(ranks.len() > 2, "{answer}");
        let said = told.split("Only said: ").nth(1).and_then(|rest| rest.split('.').next()).unwrap_or_default();
        assert!(said.split(", ").all(|rank| !ranks.contains(&rank.to_owned())), "{told}");
        assert!(!told.contains("this was only said"), "{told}");
    }
    assert!(agent.close().success());
}

#[test]
fn a_search_by_meaning_alone_returns_nothing_that_only_words_proposed() {
    let home = Home::empty();
    let about = ["the harbour crane", "a tax form", "the choir's third song", "two loaves of bread", "snow on the pass"];
    let turns = (1..).zip(about.iter().cycle().take(60)).map(|(at, about)| {
        let name = if at % 3 == 0 { "coderabbit SessionCacheData" } else { "nothing" };
        json!({"turn_id": format!("t{at}"), "role": "user", "text": format!("Letter {at} speaks of {about}, and of {name}.")})
    });
    home.ingest(&[
        json!({"corpus_id": "tide", "doc_id": "s1", "timestamp": "2026-01-22T14:53:11Z", "turns": turns.collect::<Vec<_>>()}),
    ]);
    let mut agent = Agent::with_tools(&home, "names");
    for query in ["coderabbit", "SessionCacheData"] {
        let found = agent.data("search_semantic", json!({"query": query, "limit": 5}));
        let scores: Vec<f64> = found["results"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
        assert!(scores.iter().all(|score| *score > 0.0) && scores.is_sorted_by(|a, b| a >= b), "{query}: {found}");
    }
    assert!(agent.close().success());
}
