//! The HTTP API and the door of the page: routes against their description, errors, changes that are repeated, links, cookies.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use yore_testing::Random;

use crate::environment::TestEnvironment;
use crate::http::{Answer, Daemon, memory};

/// A browser that has opened a link of `yore page`.
pub(crate) struct Browser<'d, 'e> {
    daemon: &'d Daemon<'e>,
    cookie: String,
    pub(crate) base: String,
    csrf: String,
}

/// Returns the path and query of a new link.
pub(crate) fn link(environment: &TestEnvironment) -> String {
    let url = environment.yore(["page", "--print", "--json"]).run().success().json()["url"].as_str().unwrap().to_owned();
    url[url.find("/enter").unwrap_or_else(|| panic!("{url}"))..].to_owned()
}

impl<'d, 'e> Browser<'d, 'e> {
    pub(crate) fn open(environment: &TestEnvironment, daemon: &'d Daemon<'e>) -> Self {
        let answer = daemon.ask("GET", &link(environment), &[("Authorization", "")], None);
        assert_eq!(answer.status, 200, "{answer:?}");
        let set = answer.header("set-cookie").unwrap().to_owned();
        let cookie = set.split(';').next().unwrap().to_owned();
        let base = set.split("Path=").nth(1).unwrap().split(';').next().unwrap().to_owned();
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
        let mut browser = Self { daemon, cookie, base, csrf: String::new() };
        let page = browser.get("memories", &[]);
        assert_eq!(page.status, 200, "{page:?}");
        browser.csrf = between(&page.body, "name=\"yore-csrf\" content=\"", "\"").to_owned();
        browser
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
        let mut all = vec![("Authorization", ""), ("Cookie", self.cookie.as_str())];
        all.extend(headers);
        self.daemon.ask(method, &format!("{}/{path}", self.base), &all, body)
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, headers, None)
    }
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let from = text.find(before).unwrap_or_else(|| panic!("no {before:?} in {text}")) + before.len();
    &text[from..from + text[from..].find(after).unwrap()]
}

/// Asks the API with the token of programs.
fn api(daemon: &Daemon<'_>, method: &str, path: &str, body: Option<&Value>) -> Answer {
    daemon.ask(method, &format!("/api/v1{path}"), &[], body)
}

fn ok(daemon: &Daemon<'_>, method: &str, path: &str, body: Option<&Value>) -> Value {
    let answer = api(daemon, method, path, body);
    assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
    answer.json()
}

#[test]
fn errors_have_the_codes_and_remedies_of_the_command_line() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    for (method, path, body, status, code) in [
        ("GET", "/memories/0123456789abcdef", None, 404, "memory/unknown"),
        ("GET", "/memories?limit=0", None, 400, "usage"),
        ("GET", "/memories?limit=x", None, 400, "usage"),
        ("GET", "/memories?nothing=x", None, 400, "usage"),
        ("GET", "/memories?kind=banana", None, 400, "usage"),
        ("GET", "/memories?after=zz", None, 400, "usage"),
        ("GET", "/operations/999999", None, 404, "operation/unknown"),
        ("GET", "/nowhere", None, 404, "unknown-path"),
        ("DELETE", "/memories", None, 405, "usage"),
        ("POST", "/memories", Some(json!([1])), 400, "usage"),
        ("POST", "/memories", Some(json!({"kind": "fact"})), 400, "usage"),
        ("POST", "/memories", Some(json!({"kind": "banana", "statement": "x"})), 400, "usage"),
        ("POST", "/memories?kind=fact", Some(json!({"statement": "x"})), 400, "usage"),
        ("POST", "/conflicts/settle", Some(json!({"first": "a", "second": "b"})), 400, "usage"),
    ] {
        let answer = api(&daemon, method, path, body.as_ref());
        assert_eq!((answer.status, answer.json()["code"].as_str()), (status, Some(code)), "{method} {path}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert_eq!(answer.json()["status"], status);
    }
    let told = environment.yore(["memories", "confirm", "0123456789abcdef"]).run();
    let asked = api(&daemon, "POST", "/memories/0123456789abcdef/confirm", Some(&json!({}))).json();
    assert_eq!(told.code(), asked["code"].as_str().unwrap());
}

#[test]
fn an_answer_that_is_known_is_not_sent_again() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let first = api(&daemon, "GET", "/memories", None);
    let tag = first.header("etag").unwrap().to_owned();
    let again = daemon.ask("GET", "/api/v1/memories", &[("If-None-Match", &tag)], None);
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let _ = ok(&daemon, "POST", "/memories", Some(&json!({"kind": "fact", "statement": "The pelican is grey."})));
    let changed = daemon.ask("GET", "/api/v1/memories", &[("If-None-Match", &tag)], None);
    assert_eq!(changed.status, 200);
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
}

#[test]
fn a_change_with_a_key_is_made_once() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let add = |key: &str, statement: &str| {
        let body = json!({"kind": "fact", "statement": statement});
        daemon.ask("POST", "/api/v1/memories", &[("Idempotency-Key", key)], Some(&body))
    };
    let first = add("one", "The pelican eats herring.");
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(add("one", "The pelican eats herring.").json(), first.json(), "the same answer");
    assert_eq!(add("one", "The pelican eats cod.").status, 400, "a key names one request");
    let operations = ok(&daemon, "GET", "/operations", None);
    assert_eq!(operations["items"].as_array().unwrap().len(), 1, "{operations}");
    // It is taken back once, too.
    let number = first.json()["operation"].as_u64().unwrap();
    let undo = |key: &str| {
        daemon.ask("POST", &format!("/api/v1/operations/{number}/undo"), &[("Idempotency-Key", key)], Some(&json!({})))
    };
    let undone = undo("two");
    assert_eq!((undone.status, undo("two").json()), (200, undone.json()));
    assert_eq!(ok(&daemon, "GET", "/memories/count", None)["count"], 0);
}

#[test]
fn a_memory_is_recorded_corrected_put_away_and_taken_back() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let done = ok(
        &daemon,
        "POST",
        "/memories",
        Some(&json!({"kind": "decision", "statement": "The pelican sleeps in the harbour.", "tags": ["bird"]})),
    );
    let id = done["memory"].as_str().unwrap().to_owned();
    let pages = ok(&daemon, "GET", "/memories?tag=bird&kind=decision", None);
    assert_eq!(pages["items"][0]["id"], id.as_str());
    let edited = ok(&daemon, "PATCH", &format!("/memories/{id}"), Some(&json!({"statement": "The pelican sleeps on the pier."})));
    let new = edited["memory"].as_str().unwrap().to_owned();
    assert_ne!(new, id);
    assert_eq!(ok(&daemon, "GET", &format!("/memories/{id}/record"), None)["status"], "superseded");
    for action in ["confirm", "pin", "archive"] {
        let _ = ok(&daemon, "POST", &format!("/memories/{new}/{action}"), Some(&json!({})));
    }
    let record = ok(&daemon, "GET", &format!("/memories/{new}"), None);
    assert_eq!((record["status"].as_str(), record["pinned"].as_bool()), (Some("archived"), Some(true)), "{record}");
    let log = ok(&daemon, "GET", &format!("/operations?memory={new}"), None);
    assert!(log["items"].as_array().unwrap().len() >= 3, "{log}");
    let last = log["items"][0]["number"].as_u64().unwrap();
    let _ = ok(&daemon, "POST", &format!("/operations/{last}/undo"), Some(&json!({})));
    assert_eq!(ok(&daemon, "GET", &format!("/memories/{new}/record"), None)["status"], "holds");
}

#[test]
fn lists_are_read_in_pages() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    for number in 0..7 {
        let statement = format!("Berth {number} of the harbour is free on day {number}.");
        let _ = ok(&daemon, "POST", "/memories", Some(&json!({"kind": "fact", "statement": statement})));
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = ok(&daemon, "GET", &format!("/memories?limit=3{after}"), None);
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (7, 7));
}

#[test]
fn changes_are_told_to_those_who_listen() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, daemon.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\r\n",
        daemon.port, daemon.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut read = String::new();
    let mut some = [0; 4096];
    let mut read_until = |words: &str, read: &mut String| {
        while !read.contains(words) {
            let count = stream.read(&mut some).unwrap();
            assert!(count > 0, "{read}");
            read.push_str(&String::from_utf8_lossy(&some[..count]));
        }
    };
    read_until("text/event-stream", &mut read);
    let _ = ok(&daemon, "POST", "/memories", Some(&json!({"kind": "fact", "statement": "The pelican is old."})));
    read_until("event: changed", &mut read);
    read_until("add_memory", &mut read);
}

#[test]
fn a_link_opens_the_page_once() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let open = |path: &str| daemon.ask("GET", path, &[("Authorization", "")], None);
    let once = link(&environment);
    let first = open(&once);
    assert_eq!(first.status, 200);
    assert!(first.body.contains("http-equiv=\"refresh\""), "{first:?}");
    let again = open(&once);
    assert_eq!(again.status, 403);
    assert!(again.header("set-cookie").is_none() && again.body.contains("yore page"));
    for wrong in ["/enter", "/enter?code=", "/enter?code=0", "/enter?code=%00"] {
        assert_eq!(open(wrong).status, 403, "{wrong}");
    }
    // A target leads to the page and nowhere else.
    let base = between(first.header("set-cookie").unwrap(), "Path=", ";").to_owned();
    for to in ["//evil.example", "https://evil.example", "\\\\evil.example", "javascript:alert(1)", "a%0d%0aset-cookie:x"] {
        let answer = open(&format!("{}&to={to}", link(&environment)));
        let target = between(&answer.body, "0;url=", "\"");
        assert_eq!(target, format!("{base}/"), "{to}");
    }
    let root = open("/");
    assert_eq!(root.status, 200);
    assert!(!root.body.contains(&base), "whoever asks without a link does not learn the path");
}

#[test]
fn the_page_is_for_its_browser_alone() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let browser = Browser::open(&environment, &daemon);
    let own = browser.get("memories", &[]);
    let policy = own.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    for (name, value) in
        [("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"), ("cache-control", "no-store")]
    {
        assert_eq!(own.header(name), Some(value), "{name}");
    }
    // Neither another cookie, nor none, nor the token of programs opens it.
    let strange = format!("yore={}", "0".repeat(64));
    for headers in [vec![("Cookie", "")], vec![("Cookie", strange.as_str())]] {
        let answer =
            daemon.ask("GET", &format!("{}/memories", browser.base), &[vec![("Authorization", "")], headers].concat(), None);
        assert_eq!(answer.status, 401, "{answer:?}");
    }
    assert_eq!(daemon.ask("GET", &format!("{}/memories", browser.base), &[], None).status, 401);
    // The cookie opens nothing else.
    for path in ["/api/v1/memories", "/mcp", "/api/openapi.json", &format!("{}x/memories", browser.base)] {
        let answer = daemon.ask("GET", path, &[("Authorization", ""), ("Cookie", &browser.cookie)], None);
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
    }
    // Other pages of this computer are refused, whatever the browser sends with their requests.
    for site in ["cross-site", "same-site"] {
        assert_eq!(browser.get("memories", &[("Sec-Fetch-Site", site)]).status, 403, "{site}");
    }
    assert_eq!(browser.get("memories", &[("Sec-Fetch-Site", "same-origin")]).status, 200);
    assert_eq!(browser.get("memories", &[("Origin", "http://evil.example")]).status, 403);
}

#[test]
fn a_browser_changes_something_only_with_the_pages_token() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let browser = Browser::open(&environment, &daemon);
    let body = json!({"kind": "fact", "statement": "The pelican is white."});
    let short = &browser.csrf[1..];
    for token in ["", "0", short] {
        let answer = browser.ask("POST", "api/v1/memories", &[("yore-csrf", token)], Some(&body));
        assert_eq!((answer.status, answer.json()["code"].as_str()), (403, Some("http/403")), "{token}");
    }
    // A form of another page can send no such header, nor JSON.
    let form = browser.ask("POST", "api/v1/memories", &[("Content-Type", "text/plain")], Some(&body));
    assert_eq!(form.status, 403);
    let plain = [("Content-Type", "text/plain"), ("yore-csrf", browser.csrf.as_str())];
    assert_eq!(browser.ask("POST", "api/v1/memories", &plain, Some(&body)).status, 400);
    assert_eq!(ok(&daemon, "GET", "/memories/count", None)["count"], 0);
    let done = browser.ask("POST", "api/v1/memories", &[("yore-csrf", &browser.csrf)], Some(&body));
    assert_eq!(done.status, 200, "{done:?}");
    assert_eq!(ok(&daemon, "GET", "/memories/count", None)["count"], 1);
    let other = Browser::open(&environment, &daemon);
    let answer = browser.ask("POST", "api/v1/memories", &[("yore-csrf", &other.csrf)], Some(&body));
    assert_eq!(answer.status, 403, "the token of another session");
}

#[test]
fn malformed_and_foreign_requests_change_and_read_nothing() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let browser = Browser::open(&environment, &daemon);
    let _ = ok(&daemon, "POST", "/memories", Some(&json!({"kind": "fact", "statement": "The secret pelican is Skagen."})));
    let mut random = Random::new(20_261_129);
    let port = daemon.port;
    let paths = ["/api/v1/memories", "/api/v1/inbox", "/api/v1/operations/1/undo", "/api/openapi.json", "/mcp"];
    let own = ["memories", "api/v1/memories", "api/v1/memories/count", "assets/page.js", "", "api/v1/operations/1/undo"];
    for number in 0..500 {
        let is_page = random.below(2) == 0;
        let path = if is_page {
            format!("{}/{}", browser.base, own[random.below(own.len())])
        } else {
            paths[random.below(paths.len())].to_owned()
        };
        let method = ["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "HEAD", "TRACE", "BREW"][random.below(9)];
        let bearer = format!("Bearer {}", daemon.token);
        let (cookie, csrf) = (browser.cookie.clone(), browser.csrf.clone());
        // Each has what admits it, and one thing that must keep it out.
        let mut headers = vec![("Host", format!("127.0.0.1:{port}")), ("Content-Type", "application/json".to_owned())];
        if is_page {
            headers.extend([("Cookie", cookie), ("yore-csrf", csrf)]);
        } else {
            headers.push(("Authorization", bearer));
        }
        let mut set = |name: &'static str, value: &str| {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            headers.push((name, value.to_owned()));
        };
        match random.below(7) {
            0 => set("Host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example"][random.below(4)]),
            1 => set("Origin", ["http://evil.example", "null", "https://localhost", "http://127.0.0.1:1"][random.below(4)]),
            2 if is_page => set("Sec-Fetch-Site", ["cross-site", "same-site", "", "same-origin, none"][random.below(4)]),
            3 if is_page => set("Cookie", ["", "yore=", "yore=1", "other=1", "yore=\"\""][random.below(5)]),
            _ if is_page => set("Cookie", &format!("yore={}", "f".repeat(random.below(100)))),
            _ => set("Authorization", ["", "Bearer", "Bearer x", "Basic eW9yZTp5b3Jl", "Bearer \t"][random.below(5)]),
        }
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in &headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        let body = [r#"{"kind":"fact","statement":"planted"}"#, "{", "", "\u{0}", "[[[[[[[["][random.below(5)];
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let answer = daemon.say(request.as_bytes());
        assert!(answer.status >= 400 || answer.status == 0, "{number}: {request}\n{answer:?}");
        assert!(!answer.body.contains("Skagen") && !answer.body.contains(&daemon.token), "{number}: {answer:?}");
        assert!(answer.header("access-control-allow-origin").is_none(), "{number}");
    }
    let left = ok(&daemon, "GET", "/memories", None);
    assert_eq!(left["items"].as_array().unwrap().len(), 1, "{left}");
}

/// Lists the faults of a value by its schema: a type, a missing field, an unknown one.
fn misfits(value: &Value, schema: &Value, document: &Value, at: &str, faults: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        return misfits(value, document.pointer(name.trim_start_matches('#')).unwrap(), document, at, faults);
    }
    for choices in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[choices].as_array() {
            let fits = |schema: &Value| {
                let mut inner = Vec::new();
                misfits(value, schema, document, at, &mut inner);
                inner.is_empty()
            };
            if !choices.iter().any(fits) {
                faults.push(format!("{at}: none of the choices: {value}"));
            }
            return;
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |name: &&str| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    };
    if !types.is_empty() && !types.iter().any(is) {
        faults.push(format!("{at}: {value} is none of {types:?}"));
    }
    if let (Some(items), Some(schema)) = (value.as_array(), schema.get("items")) {
        items.iter().for_each(|item| misfits(item, schema, document, &format!("{at}[]"), faults));
    }
    let Some(fields) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            faults.push(format!("{at}: {name} is missing"));
        }
    }
    for (name, field) in fields {
        match schema["properties"].get(name) {
            Some(schema) => misfits(field, schema, document, &format!("{at}.{name}"), faults),
            None if schema["additionalProperties"].is_object() => {
                misfits(field, &schema["additionalProperties"], document, &format!("{at}.{name}"), faults);
            }
            // A map, or a part that is written into the object.
            None if schema.get("properties").is_none()
                || schema.get("allOf").is_some()
                || schema["unevaluatedProperties"] != false => {}
            None => faults.push(format!("{at}: {name} is not described")),
        }
    }
}

/// A call of each route: method, path with its arguments, body, and the status if it is not 200. `{NAME}` is replaced.
const CALLS: &[(&str, &str, &str, u16)] = &[
    ("POST", "/recall", r#"{"question": "pelican", "limit": 3}"#, 200),
    ("GET", "/search?q=pelican", "", 200),
    ("POST", "/ask", r#"{"question": "what is the pelican called?"}"#, 200),
    ("GET", "/deepen?id={turn}&level=whole", "", 200),
    ("GET", "/sessions?limit=1", "", 200),
    ("GET", "/sessions/{session}", "", 200),
    ("GET", "/sessions/{session}/turns?count=5", "", 200),
    ("GET", "/sessions/{session}/exchanges", "", 200),
    ("GET", "/sessions/{session}/topics", "", 200),
    ("GET", "/sessions/{session}/handoff", "", 200),
    ("GET", "/handoff", "", 200),
    ("GET", "/turns/{turn}?around=1", "", 200),
    ("GET", "/topics", "", 200),
    ("GET", "/memories", "", 200),
    ("GET", "/memories/held?at=now", "", 200),
    ("GET", "/memories/count", "", 200),
    ("POST", "/memories", r#"{"kind": "fact", "statement": "The gull is loud.", "entities": ["gull"]}"#, 200),
    ("GET", "/memories/{memory}", "", 200),
    ("GET", "/memories/{memory}/record", "", 200),
    ("PATCH", "/memories/{memory}", r#"{"tags": ["bird"]}"#, 200),
    ("POST", "/memories/{memory}/confirm", "{}", 200),
    ("POST", "/memories/{memory}/pin", r#"{"on": true}"#, 200),
    ("POST", "/memories/{memory}/archive", r#"{"on": true}"#, 200),
    ("POST", "/memories/{other}/wrong", r#"{"reason": "it left"}"#, 200),
    ("GET", "/memories/{memory}/code", "", 200),
    ("GET", "/memories/{memory}/touches", "", 200),
    ("GET", "/memories/{memory}/conflicts", "", 200),
    ("POST", "/memories/check", "{}", 200),
    ("GET", "/conflicts", "", 200),
    ("POST", "/conflicts/settle", r#"{"first": "{tuesday}", "second": "{thursday}", "keep": "{thursday}"}"#, 200),
    ("GET", "/inbox", "", 200),
    ("GET", "/operations", "", 200),
    ("GET", "/operations/{operation}", "", 200),
    ("POST", "/operations/{operation}/undo", "{}", 200),
    ("POST", "/operations/{operation}/redo", "{}", 200),
    ("GET", "/entities", "", 200),
    ("GET", "/entities/alike", "", 200),
    ("POST", "/entities", r#"{"kind": "tool", "name": "winch"}"#, 200),
    ("GET", "/entities/named?name=gull", "", 200),
    ("GET", "/entities/{entity}", "", 200),
    ("GET", "/entities/{entity}/record", "", 200),
    ("POST", "/entities/user", r#"{"name": "Anna"}"#, 200),
    ("POST", "/entities/split", r#"{"name": "gull", "new": "gull two", "memories": []}"#, 200),
    ("POST", "/entities/merge", r#"{"from": "winch", "into": "gull"}"#, 200),
    ("GET", "/relations?from={memory}", "", 200),
    ("POST", "/relations", r#"{"from": "{memory}", "name": "related_to", "to": "{other}"}"#, 200),
    ("POST", "/relations/remove", r#"{"from": "{memory}", "name": "related_to", "to": "{other}"}"#, 200),
    ("POST", "/notes", r#"{"text": "The pier is long.", "title": "pier"}"#, 200),
    ("GET", "/notes", "", 200),
    ("GET", "/notes/{note}", "", 200),
    ("GET", "/notes/{note}/load", "", 200),
    ("GET", "/contexts", "", 200),
    ("GET", "/contexts/nothing", "", 404),
    ("GET", "/contexts/nothing/tree", "", 404),
    ("POST", "/contexts/search", r#"{"question": "pelican"}"#, 200),
    ("GET", "/brief", "", 200),
    ("POST", "/suggestions", r#"{"prompt": "what is the pelican called?"}"#, 200),
    ("POST", "/warnings", r#"{"command": "make harbour"}"#, 200),
    ("POST", "/given", r#"{"memories": ["{memory}"], "session": "s"}"#, 200),
    ("GET", "/material?session={native}", "", 200),
    ("POST", "/distilled", r#"{"session": "{native}", "upto": 1}"#, 200),
    ("POST", "/audit", r#"{"directory": "{directory}"}"#, 200),
    ("POST", "/shared", r#"{"directory": "{directory}"}"#, 200),
    ("GET", "/categories", "", 200),
    ("GET", "/categories/nothing", "", 404),
    ("GET", "/insights?kind=error", "", 200),
    ("POST", "/insights", "{}", 200),
    ("GET", "/projects", "", 200),
    ("GET", "/projects/names", "", 200),
    ("GET", "/projects/find?name=tide", "", 200),
    ("GET", "/projects/offers", "", 200),
    ("GET", "/projects/files?project=tide", "", 200),
    ("POST", "/projects/rename", r#"{"project": "reef", "name": "reef two"}"#, 200),
    ("POST", "/projects/merge", r#"{"from": "reef two", "into": "tide"}"#, 200),
    ("POST", "/projects/unmerge", "{}", 200),
    ("GET", "/team", "", 200),
    ("GET", "/receipts?project=tide", "", 200),
    ("GET", "/receipts/nothing", "", 404),
    ("GET", "/budget", "", 200),
    ("GET", "/budget/days?days=3", "", 200),
    ("GET", "/budget/given", "", 200),
    ("GET", "/account", "", 200),
    ("GET", "/learning", "", 200),
    ("GET", "/statistics", "", 200),
    ("GET", "/statistics/store", "", 200),
    ("GET", "/sources", "", 200),
    ("GET", "/sources/claude-code/known?unit=x", "", 200),
    ("GET", "/jobs/dead", "", 200),
    ("POST", "/jobs/retry", "{}", 200),
    ("GET", "/upkeep", "", 200),
    ("GET", "/health", "", 200),
    ("GET", "/settings", "", 200),
    ("PATCH", "/settings/recall.limit", r#"{"value": "7"}"#, 200),
    ("POST", "/forget", r#"{"id": "{session}"}"#, 200),
    ("POST", "/forget/selected", r#"{"text": "noon"}"#, 200),
    ("POST", "/forget/cleanup", "{}", 200),
    ("POST", "/forget/forgotten", r#"{"ids": ["{memory}"]}"#, 200),
];

#[test]
fn every_route_answers_as_it_is_described() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let described = daemon.ask("GET", "/api/openapi.json", &[], None);
    assert_eq!(described.status, 200);
    let document = described.json();
    assert_eq!(document["openapi"], "3.1.0");
    let add = |statement: &str| {
        let body = json!({"kind": "fact", "statement": statement, "entities": ["gull"]});
        ok(&daemon, "POST", "/memories", Some(&body))["memory"].as_str().unwrap().to_owned()
    };
    let [memory, other] = ["The pelican is old.", "The pelican is at sea."].map(add);
    let own = json!({"kind": "fact", "statement": "The winch is rusty."});
    let operation = ok(&daemon, "POST", "/memories", Some(&own))["operation"].to_string();
    let [tuesday, thursday] = ["The ferry leaves on Tuesday.", "The ferry leaves on Thursday."].map(add);
    let session = ok(&daemon, "GET", "/sessions", None);
    let session = session.get("items").or(session.get("sessions")).unwrap()[0].clone();
    let id = session["id"].as_str().unwrap().to_owned();
    let turns = ok(&daemon, "GET", &format!("/sessions/{id}/turns"), None);
    let turn = turns["turns"][0]["id"].as_str().unwrap().to_owned();
    let note = ok(&daemon, "POST", "/notes", Some(&json!({"text": "the first note"})))["id"].as_str().unwrap().to_owned();
    let entity = ok(&daemon, "GET", "/entities/named?name=gull", None)["id"].as_str().unwrap().to_owned();
    let directory = environment.path("work/tide").display().to_string();
    let native = session["session"].as_str().unwrap().to_owned();
    let filled = |text: &str| {
        let names = [
            ("memory", &memory),
            ("other", &other),
            ("tuesday", &tuesday),
            ("thursday", &thursday),
            ("session", &id),
            ("turn", &turn),
            ("note", &note),
            ("entity", &entity),
            ("directory", &directory),
            ("native", &native),
            ("operation", &operation),
        ];
        names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    };
    let mut left: BTreeSet<(String, String)> = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path.strip_prefix("/api/v1").unwrap_or_else(|| panic!("{path}")).to_owned();
        left.extend(operations.as_object().unwrap().keys().map(|method| (method.to_ascii_uppercase(), path.clone())));
    }
    let mut faults = Vec::new();
    for (method, path, body, status) in CALLS {
        let plain = path.split('?').next().unwrap();
        let known: Vec<&(String, String)> = left.iter().filter(|(known, _)| known == method).collect();
        let fits = |template: &str| {
            let parts: Vec<&str> = template.split('/').collect();
            let given: Vec<&str> = plain.split('/').collect();
            parts.len() == given.len() && parts.iter().zip(&given).all(|(part, given)| part == given || part.starts_with('{'))
        };
        // An exact path goes before one with arguments.
        let exact = known.iter().find(|(_, template)| template == plain);
        let Some(route) = exact.or(known.iter().find(|(_, template)| fits(template))).map(|route| (*route).clone()) else {
            faults.push(format!("{method} {path}: there is no such route, or it was called before"));
            continue;
        };
        left.remove(&route);
        let body = (!body.is_empty()).then(|| serde_json::from_str::<Value>(&filled(body)).unwrap());
        let answer = api(&daemon, method, &filled(path), body.as_ref());
        if answer.status != *status {
            faults.push(format!("{method} {path}: {} {}", answer.status, answer.body));
            continue;
        }
        let responses = &document["paths"][format!("/api/v1{}", route.1)][method.to_ascii_lowercase()]["responses"];
        let schema = match status {
            200 => &responses["200"]["content"]["application/json"]["schema"],
            _ => &responses["default"]["content"]["application/problem+json"]["schema"],
        };
        misfits(&answer.json(), schema, &document, &format!("{method} {path}"), &mut faults);
    }
    assert!(left.is_empty(), "routes that are not called: {left:?}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
