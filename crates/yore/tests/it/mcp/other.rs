//! Resources, prompts and completions.

use serde_json::{Value, json};

use super::{Agent, Home, PLANTED};

#[test]
fn what_has_an_id_can_be_read_by_its_address() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    let templates = agent.ask("resources/templates/list", json!({}))["resourceTemplates"].clone();
    let templates: Vec<&str> =
        templates.as_array().unwrap().iter().map(|template| template["uriTemplate"].as_str().unwrap()).collect();
    assert_eq!(templates, ["yore://memory/{id}", "yore://session/{id}", "yore://context/{topic}", "yore://category/{name}"]);

    agent.data("remember", json!({"text": "Gulls steal sandwiches.", "title": "Gulls & co", "confirmed": true}));
    agent.data("remember", json!({"text": "Tests of the gauge never sleep.", "kind": "standard", "confirmed": true}));
    let turn = agent.data("recall", json!({"question": "redis heartbeat", "limit": 1}))["results"][0]["id"].clone();
    let mut read = |uri: &str| -> String {
        let contents = agent.ask("resources/read", json!({"uri": uri}))["contents"].clone();
        let [content] = contents.as_array().unwrap().as_slice() else { panic!("{contents}") };
        assert_eq!((&content["uri"], &content["mimeType"]), (&json!(uri), &json!("text/plain")));
        content["text"].as_str().unwrap().to_owned()
    };
    assert!(read(&format!("yore://memory/{}", turn.as_str().unwrap())).ends_with(&format!("\n  {PLANTED}\n</recalled-data>")));
    assert!(read("yore://session/tide%2Fs1").contains("Why is the cache slow after the laptop wakes up?"));
    assert!(read("yore://session/tide/s1").contains("Why is the cache slow"));
    assert!(read("yore://context/gulls%20%26%20co").contains("Gulls steal sandwiches."));
    assert!(read("yore://categories").contains("testing (1)"));
    assert!(read("yore://category/Testing").contains("# Testing") && read("yore://category/tests").contains("never sleep. ["));
    for uri in [
        "yore://memory/ffffffffff",
        "yore://session/none",
        "yore://context/none",
        "yore://category/none",
        "yore://topic/x",
        "file:///etc/passwd",
        "yore://memory/%zz",
    ] {
        let error = agent.refused("resources/read", json!({"uri": uri}));
        assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(-32002), &json!(uri)), "{error}");
    }
    assert!(agent.close().success());
}

#[test]
fn resources_are_listed_in_pages_that_hold_each_once() {
    let home = Home::empty();
    let documents: Vec<Value> = (0..70)
        .map(|at| {
            json!({"corpus_id": "quay", "doc_id": format!("s{at}"), "timestamp": format!("2026-01-{:02}T10:00:00Z", 1 + at / 3),
                   "turns": [{"turn_id": "t", "role": "user", "text": format!("Tie knot {at}.")}]})
        })
        .collect();
    home.ingest(&documents);
    let mut agent = Agent::connected(&home);
    let list = |agent: &mut Agent| -> Vec<String> {
        let (mut seen, mut parameters) = (Vec::new(), json!({}));
        loop {
            let page = agent.ask("resources/list", parameters);
            let resources = page["resources"].as_array().unwrap();
            assert!(resources.len() <= 50 && !resources.is_empty());
            seen.extend(resources.iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()));
            match &page["nextCursor"] {
                Value::Null => return seen,
                cursor => parameters = json!({"cursor": cursor}),
            }
        }
    };
    for notes in [0, 3, 50] {
        for at in 0..notes {
            agent.data("remember", json!({"text": format!("Note {at} of {notes}."), "title": "Counted", "confirmed": true}));
        }
        let all = list(&mut agent);
        let mut different = all.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), all.len(), "nothing twice");
        assert_eq!(all.iter().filter(|uri| uri.starts_with("yore://session/")).count(), 70);
    }
    let uri = list(&mut agent).pop().unwrap();
    assert!(agent.ask("resources/read", json!({"uri": uri}))["contents"][0]["text"].as_str().unwrap().contains("Tie knot"));
    for (method, cursor) in [
        ("resources/list", "nonsense"),
        ("resources/list", "78312e61"),
        ("tools/list", "6e2e61"),
        ("prompts/list", "1"),
        ("resources/templates/list", ""),
    ] {
        let error = agent.refused(method, json!({"cursor": cursor}));
        assert_eq!(error["code"], -32602, "{method} {cursor}: {error}");
    }
    assert!(agent.close().success());
}

#[test]
fn prompts_are_filled_with_what_is_recalled() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    let prompts = agent.ask("prompts/list", json!({}))["prompts"].clone();
    let names: Vec<&str> = prompts.as_array().unwrap().iter().map(|prompt| prompt["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["recall", "where-were-we", "remember"]);
    let mut get = |name: &str, arguments: Value| -> String {
        let messages = agent.ask("prompts/get", json!({"name": name, "arguments": arguments}))["messages"].clone();
        let [message] = messages.as_array().unwrap().as_slice() else { panic!("{messages}") };
        assert_eq!(message["role"], "user");
        message["content"]["text"].as_str().unwrap().to_owned()
    };
    let recall = get("recall", json!({"question": "why sqlite", "project": "tide"}));
    assert!(recall.starts_with("why sqlite\n\nAnswer from what yore recalls") && recall.contains(PLANTED), "{recall}");
    assert!(get("recall", json!({"question": "redis", "project": "harbor"})).contains("Nothing found in project harbor"));
    assert!(get("where-were-we", json!({})).starts_with("Where were we?"));
    let remember = get("remember", json!({"text": "Tea at four."}));
    assert!(remember.contains("I confirm these exact words") && remember.ends_with("Tea at four."), "{remember}");
    for (name, arguments) in [
        ("recall", json!({})),
        ("recall", json!({"question": " "})),
        ("recall", json!({"question": "x", "colour": "y"})),
        ("nothing", json!({})),
        ("where-were-we", json!({"x": "y"})),
    ] {
        let error = agent.refused("prompts/get", json!({"name": name, "arguments": arguments}));
        assert_eq!(error["code"], -32602, "{error}");
    }
    let error = agent.refused("prompts/get", json!({"name": "recall", "arguments": {"question": "x", "project": "tides"}}));
    assert_eq!(error["code"], -32602, "{error}");
    assert_eq!(
        error["message"],
        "unknown project \"tides\" [unknown-project]\nhint: did you mean \"tide\"? \"all\" asks every project"
    );
    assert!(agent.close().success());
}

#[test]
fn arguments_are_completed_from_the_memory() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    agent.data("remember", json!({"text": "Gulls steal sandwiches.", "title": "gulls", "confirmed": true}));
    let mut complete = |reference: Value, name: &str, value: &str| -> Value {
        agent.ask("completion/complete", json!({"ref": reference, "argument": {"name": name, "value": value}}))["completion"]
            .clone()
    };
    let session = json!({"type": "ref/resource", "uri": "yore://session/{id}"});
    assert_eq!(complete(session.clone(), "id", "")["values"], json!(["harbor/s2", "tide/s1"]), "latest first");
    assert_eq!(complete(session, "id", "TIDE")["values"], json!(["tide/s1"]));
    let context = json!({"type": "ref/resource", "uri": "yore://context/{topic}"});
    assert_eq!(complete(context, "topic", "g"), json!({"values": ["gulls"], "total": 1, "hasMore": false}));
    let prompt = json!({"type": "ref/prompt", "name": "recall"});
    assert_eq!(complete(prompt.clone(), "project", "ti")["values"], json!(["tide"]));
    assert_eq!(complete(prompt, "question", "why")["values"], json!([]));
    for (reference, name) in [
        (json!({"type": "ref/prompt", "name": "nothing"}), "x"),
        (json!({"type": "ref/prompt", "name": "recall"}), "colour"),
        (json!({"type": "ref/resource", "uri": "yore://session/{id}"}), "topic"),
    ] {
        let error = agent.refused("completion/complete", json!({"ref": reference, "argument": {"name": name, "value": ""}}));
        assert_eq!(error["code"], -32602, "{error}");
    }
    assert!(agent.close().success());
    let empty = Home::empty();
    let mut agent = Agent::connected(&empty);
    let reference = json!({"type": "ref/resource", "uri": "yore://session/{id}"});
    let completed = agent.ask("completion/complete", json!({"ref": reference, "argument": {"name": "id", "value": ""}}));
    assert_eq!(completed["completion"]["values"], json!([]), "where there is no memory, nothing is offered");
    assert_eq!(agent.ask("resources/list", json!({}))["resources"], json!([]));
    assert!(agent.close().success());
}

#[test]
fn completions_are_a_hundred_at_most() {
    let home = Home::empty();
    let documents: Vec<Value> = (0..120)
        .map(|at| json!({"corpus_id": "quay", "doc_id": format!("s{at:03}"), "turns": [{"turn_id": "t", "role": "user", "text": "Tie it."}]}))
        .collect();
    home.ingest(&documents);
    let mut agent = Agent::connected(&home);
    let reference = json!({"type": "ref/resource", "uri": "yore://session/{id}"});
    let completion =
        agent.ask("completion/complete", json!({"ref": reference, "argument": {"name": "id", "value": "quay"}}))["completion"]
            .clone();
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(120), &json!(true)));
    assert!(agent.close().success());
}
