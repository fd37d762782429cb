//! The protocol itself: every version, cancelled calls, progress, invalid input.

use serde_json::{Value, json};

use super::{Agent, Home, PLANTED};

#[test]
fn every_version_with_a_handshake_is_spoken() {
    let home = Home::with_memory();
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut agent = Agent::start(&home);
        let parameters = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
        assert_eq!(agent.ask("initialize", parameters)["protocolVersion"], agreed);
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(agent.data("recall", json!({"question": "redis heartbeat"}))["results"][0]["quote"], PLANTED);
        assert!(agent.close().success());
    }
}

#[test]
fn stateless_version_needs_no_handshake() {
    let home = Home::with_memory();
    let mut agent = Agent::start(&home);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let discovered = agent.ask("server/discover", json!({"_meta": meta}));
    let versions = discovered["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")), "{discovered}");
    assert!(discovered["instructions"].as_str().unwrap().contains("recall"));
    let parameters = json!({"name": "recall", "arguments": {"question": "redis heartbeat"}, "_meta": meta});
    let answer = agent.ask("tools/call", parameters);
    assert_eq!(answer["structuredContent"]["results"][0]["quote"], PLANTED, "{answer}");
    let list = agent.ask("resources/list", json!({"_meta": meta}));
    assert_eq!(
        (&list["ttlMs"], &list["cacheScope"]),
        (&json!(0), &json!("private")),
        "what somebody said is for nobody else: {list}"
    );
    let error = agent.refused("resources/read", json!({"uri": "yore://memory/ffffffff", "_meta": meta}));
    assert_eq!(error["code"], -32602, "as this version says it");
    assert!(agent.close().success());
}

#[test]
fn silence_and_a_farewell_in_mid_question_end_well() {
    let home = Home::with_memory();
    assert!(Agent::start(&home).close().success(), "closed before the first word");
    let mut agent = Agent::connected(&home);
    let call = json!({"name": "recall", "arguments": {"question": "redis"}});
    agent.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call}));
    drop(agent.stdin.take());
    assert_eq!(agent.receive()["id"], 9, "a question is answered although nobody can ask another");
    assert!(agent.close().success());
}

/// Another process holds the store, so that no write can finish before it lets go.
#[test]
fn a_cancelled_call_ends_at_once_and_is_not_answered() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    agent.data("status", json!({}));
    let other = rusqlite::Connection::open(home.data().join("yore.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let call = json!({"name": "remember", "arguments": {"text": "Held by a lock.", "confirmed": true}});
    agent.send(&json!({"jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": call}));
    agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 70, "reason": "no need"}}));
    agent.send(&json!({"jsonrpc": "2.0", "id": 71, "method": "ping"}));
    assert_eq!(agent.receive()["id"], 71, "the cancelled one is not answered");
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    // Every other call is answered; the cancelled one never is.
    let answer = agent.request("tools/call", json!({"name": "notes", "arguments": {}}));
    assert!(answer["error"].is_null(), "{answer}");
    assert!(agent.close().success());
}

#[test]
fn progress_is_told_to_who_asks() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    let call = |meta: Value| json!({"name": "recall", "arguments": {"question": "redis"}, "_meta": meta});
    agent.send(&json!({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": call(json!({"progressToken": 17}))}));
    let told = agent.receive();
    assert_eq!((&told["method"], &told["params"]["progressToken"]), (&json!("notifications/progress"), &json!(17)), "{told}");
    assert_eq!(told["params"]["message"], "searching");
    let mut answer = agent.receive();
    while answer["method"] == "notifications/progress" {
        answer = agent.receive();
    }
    assert_eq!(answer["id"], 50);
    agent.send(&json!({"jsonrpc": "2.0", "id": 51, "method": "tools/call", "params": call(json!({}))}));
    assert_eq!(agent.receive()["id"], 51, "nobody else is told");
    assert!(agent.close().success());
}

#[test]
fn nonsense_is_survived() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    for line in [
        "",
        "{",
        "null",
        "[]",
        "42",
        "\"recall\"",
        "{\"jsonrpc\": \"2.0\"}",
        "{\"jsonrpc\": \"1.0\", \"id\": 1, \"method\": \"tools/list\"}",
        "{\"jsonrpc\": \"2.0\", \"id\": {}, \"method\": \"tools/list\"}",
        "{\"jsonrpc\": \"2.0\", \"id\": 900, \"method\": 7}",
        "{\"jsonrpc\": \"2.0\", \"id\": 901, \"result\": {}}",
        "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/nothing\", \"params\": {}}",
        "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": {\"requestId\": 999}}",
        "\u{feff}{}",
        "<html>",
    ] {
        agent.send_line(line);
    }
    agent.send_line(&format!(
        "{{\"jsonrpc\": \"2.0\", \"id\": 902, \"method\": \"tools/list\", \"params\": {}}}",
        "[".repeat(10_000)
    ));
    agent.send_bytes(b"\xff\xfe\x00{\n");
    let mut methods =
        vec![("tools/call", json!({"name": 7})), ("tools/call", json!({})), ("no/such", json!({})), ("prompts/get", json!([]))];
    methods.push(("tools/call", json!({"name": "recall", "arguments": [1, 2]})));
    for (at, (method, parameters)) in methods.iter().enumerate() {
        agent.send(&json!({"jsonrpc": "2.0", "id": 910 + at, "method": method, "params": parameters}));
    }
    // Every answer was an error, and the server goes on.
    agent.send(&json!({"jsonrpc": "2.0", "id": 999, "method": "tools/call", "params": {"name": "recall", "arguments": {"question": "redis heartbeat"}}}));
    loop {
        let answer = agent.receive();
        if answer["id"] == 999 {
            assert_eq!(answer["result"]["structuredContent"]["results"][0]["quote"], PLANTED);
            break;
        }
        assert!(answer["error"]["code"].as_i64().is_some_and(|code| code < 0), "{answer}");
    }
    assert!(agent.close().success());
}
