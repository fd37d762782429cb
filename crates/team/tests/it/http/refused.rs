//! Malformed requests and wrong tokens: each gets its status and a problem, and changes nothing.

use serde_json::{Value, json};
use yore_team::server::{CreateError, Limits, ServerSettings, create_team};
use yore_team::store::StoreError;
use yore_team::wire::{MOST_BODY, MOST_NAME, MOST_OPERATIONS, MOST_TEXT, Pulled, Pushed};

use super::support::{Client, NOW, Person, Server, add, block_on, id, request, settings};

/// Returns everything that a team's owner sees.
fn state(server: &Server, owner: &Person) -> Vec<Value> {
    let paths = ["/v1/me", "/v1/members", "/v1/projects", "/v1/projects/p/pull", "/v1/audit"];
    paths.iter().map(|path| server.get(path, &owner.token).ok()).collect()
}

/// Returns all routes that need a token, with a body that they take.
fn routes(member: &Person) -> Vec<(&'static str, String, Option<Value>)> {
    let on = |what: &str| format!("/v1/members/{}/{what}", member.id);
    vec![
        ("GET", "/v1/me".to_owned(), None),
        ("GET", "/v1/members".to_owned(), None),
        ("POST", "/v1/invites".to_owned(), Some(json!({"role": "owner", "hours": 1}))),
        ("POST", on("remove"), None),
        ("POST", on("withdraw"), None),
        ("POST", on("restore"), None),
        ("GET", "/v1/projects".to_owned(), None),
        ("POST", "/v1/projects/p/push".to_owned(), Some(json!({"operations": [{"id": id(), "change": add("new")}]}))),
        ("GET", "/v1/projects/p/pull?after=0".to_owned(), None),
        ("GET", "/v1/audit".to_owned(), None),
        ("POST", "/v1/leave".to_owned(), None),
    ]
}

#[test]
fn malformed_requests_are_refused_and_change_nothing() {
    let server = Server::start();
    let owner = server.team("a");
    server.push(&owner, "p", &[add("text")]).ok::<Pushed>();
    let before = state(&server, &owner);
    let long = "x".repeat(MOST_NAME + 1);
    let name = "0123456789abcdef0123456789abcdef";
    let operation = |change: Value| json!({"operations": [{"id": id(), "change": change}]}).to_string();
    let many: Vec<Value> =
        (0..=MOST_OPERATIONS).map(|_| json!({"id": id(), "change": {"kind": "take-back", "name": name}})).collect();
    let join = |key: &str, value: Value| {
        let mut body = json!({"invite": "SECRET", "name": "Ana", "email": "a@b", "computer": "c"});
        body[key] = value;
        body.to_string()
    };
    let invite = |role: Value, email: Value, hours: Value| json!({"role": role, "email": email, "hours": hours}).to_string();
    let (joins, invites, push) = ("/v1/join", "/v1/invites", "/v1/projects/p/push");
    let cases: Vec<(&str, String, String, u16, &str)> = [
        // Bodies.
        ("POST", push, String::new(), 400, "team/json"),
        ("POST", push, "{".to_owned(), 400, "team/json"),
        ("POST", push, "SECRET".to_owned(), 400, "team/json"),
        ("POST", push, "null".to_owned(), 400, "team/json"),
        ("POST", push, "[".repeat(100_000), 400, "team/json"),
        ("POST", push, r#"{"operations": []} SECRET"#.to_owned(), 400, "team/json"),
        ("POST", push, r#"{"operations": [], "operations": []}"#.to_owned(), 400, "team/json"),
        ("POST", push, r#"{"operations": "SECRET"}"#.to_owned(), 400, "team/json"),
        ("POST", push, r#"{"operations": [{"id": "SECRET", "change": {"kind": "add"}}]}"#.to_owned(), 400, "team/json"),
        ("POST", push, operation(json!({"kind": "SECRET", "name": name})), 400, "team/json"),
        ("POST", push, operation(json!({"kind": "add", "name": name})), 400, "team/json"),
        ("POST", push, operation(json!({"kind": "add", "name": name, "text": -1})), 400, "team/json"),
        ("POST", push, operation(json!({"kind": "add", "name": name, "text": null})), 400, "team/json"),
        ("POST", push, operation(json!({"kind": "forget", "name": "SECRET"})), 400, "team/operation"),
        ("POST", push, operation(json!({"kind": "take-back", "name": format!("{}\0", &name[1..])})), 400, "team/operation"),
        ("POST", push, operation(json!({"kind": "add", "name": name.to_uppercase(), "text": "a"})), 400, "team/operation"),
        ("POST", push, json!({"operations": many}).to_string(), 413, "team/too-long"),
        ("POST", push, format!(r#"{{"operations":["{}"]}}"#, "x".repeat(MOST_BODY)), 413, "team/too-long"),
        ("POST", joins, join("name", json!("x".repeat(65 << 10))), 413, "team/too-long"),
        ("POST", joins, join("name", json!(long)), 400, "team/name"),
        ("POST", joins, join("name", json!("")), 400, "team/name"),
        ("POST", joins, join("name", json!("SECRET\0")), 400, "team/name"),
        ("POST", joins, join("computer", json!("\u{7f}")), 400, "team/name"),
        ("POST", joins, join("computer", json!("a\u{202e}b")), 400, "team/name"),
        ("POST", joins, join("email", json!("a\u{200b}@c")), 400, "team/address"),
        ("POST", joins, join("computer", json!(long)), 400, "team/name"),
        ("POST", joins, join("computer", json!(7)), 400, "team/json"),
        ("POST", joins, join("email", json!("nobody")), 400, "team/address"),
        ("POST", joins, join("email", json!("a@b@c")), 400, "team/address"),
        ("POST", joins, join("email", json!("a b@c")), 400, "team/address"),
        ("POST", joins, join("email", json!("a\0@c")), 400, "team/address"),
        ("POST", joins, join("email", json!(format!("a@{long}"))), 400, "team/address"),
        ("POST", joins, join("invite", json!("SECRET")), 401, "team/invite"),
        ("POST", joins, join("invite", json!(owner.token)), 401, "team/invite"),
        ("POST", joins, join("invite", json!(["SECRET"])), 400, "team/json"),
        ("POST", invites, invite(json!("king"), json!(null), json!(1)), 400, "team/json"),
        ("POST", invites, invite(json!("owner"), json!(null), json!(0)), 400, "team/hours"),
        ("POST", invites, invite(json!("owner"), json!(null), json!(721)), 400, "team/hours"),
        ("POST", invites, invite(json!("owner"), json!(null), json!(-1)), 400, "team/json"),
        ("POST", invites, invite(json!("owner"), json!(null), json!(1.5)), 400, "team/json"),
        ("POST", invites, invite(json!("owner"), json!(null), json!(1_u64 << 40)), 400, "team/json"),
        ("POST", invites, invite(json!("owner"), json!(""), json!(1)), 400, "team/address"),
        ("POST", invites, invite(json!("owner"), json!("SECRET"), json!(1)), 400, "team/address"),
        // Paths, queries and methods.
        ("GET", "/", String::new(), 404, "team/route"),
        ("GET", "/v1/SECRET", String::new(), 404, "team/route"),
        ("GET", "/v1/me/", String::new(), 404, "team/route"),
        ("GET", "//v1/me", String::new(), 404, "team/route"),
        ("GET", "/v1/projects//pull", String::new(), 400, "team/name"),
        ("GET", "/v1/projects/a/b/pull", String::new(), 404, "team/route"),
        ("POST", "/v1/me", String::new(), 405, "team/method"),
        ("GET", joins, String::new(), 405, "team/method"),
        ("DELETE", "/v1/members", String::new(), 405, "team/method"),
        ("PUT", push, "{}".to_owned(), 405, "team/method"),
        ("OPTIONS", push, String::new(), 405, "team/method"),
        ("GET", "/v1/projects/%/pull", String::new(), 400, "team/path"),
        ("GET", "/v1/projects/%zz/pull", String::new(), 400, "team/path"),
        ("GET", "/v1/projects/a%f/pull", String::new(), 400, "team/path"),
        ("GET", "/v1/projects/%ff/pull", String::new(), 400, "team/path"),
        ("GET", "/v1/projects/%C3/pull", String::new(), 400, "team/path"),
        ("GET", "/v1/projects/a%00/pull", String::new(), 400, "team/name"),
        ("GET", "/v1/projects/a%E2%80%8B/pull", String::new(), 400, "team/name"),
        ("POST", "/v1/projects/a%0A/push", "{\"operations\":[]}".to_owned(), 400, "team/name"),
        ("GET", "/v1/projects/%20/pull", String::new(), 400, "team/name"),
        ("GET", &format!("/v1/projects/{long}/pull"), String::new(), 400, "team/name"),
        ("POST", "/v1/members/SECRET/remove", String::new(), 400, "team/id"),
        ("POST", "/v1/members/%00/withdraw", String::new(), 400, "team/id"),
        ("POST", "/v1/members/-1/restore", String::new(), 400, "team/id"),
        ("GET", "/v1/projects/p/pull?after=-1", String::new(), 400, "team/query"),
        ("GET", "/v1/projects/p/pull?after=SECRET", String::new(), 400, "team/query"),
        ("GET", "/v1/projects/p/pull?after=1&after=2", String::new(), 400, "team/query"),
        ("GET", "/v1/projects/p/pull?after=18446744073709551616", String::new(), 400, "team/query"),
        ("GET", "/v1/projects/p/pull?limit=1e3", String::new(), 400, "team/query"),
        ("GET", "/v1/projects/p/pull?limit=-5", String::new(), 400, "team/query"),
        ("GET", "/v1/projects/p/pull?limit=", String::new(), 400, "team/query"),
        ("GET", "/v1/audit?before=%00", String::new(), 400, "team/query"),
        ("GET", "/v1/audit?limit=0x10", String::new(), 400, "team/query"),
    ]
    .into_iter()
    .map(|(method, path, body, status, code)| (method, path.to_owned(), body, status, code))
    .collect();
    for (method, path, body, status, code) in &cases {
        let reply = server.raw(&request(method, path, Some(&owner.token), Some(body.as_bytes())));
        let start: String = body.chars().take(200).collect();
        assert_eq!((reply.status, reply.problem(*status).as_str()), (*status, *code), "{method} {path} {start}");
        assert!(!reply.text().contains("SECRET") && !reply.text().contains(&long), "{}", reply.text());
    }
    let bytes = request("POST", push, Some(&owner.token), Some(b"{\"operations\": \"\xff\"}"));
    assert_eq!(server.raw(&bytes).problem(400), "team/json");
    let chunked = format!(
        "POST {push} HTTP/1.1\r\nHost: team\r\nAuthorization: Bearer {}\r\nTransfer-Encoding: chunked\r\n\r\n",
        owner.token
    );
    assert_eq!(server.raw(format!("{chunked}zz\r\n").as_bytes()).problem(400), "team/body");
    let long_chunk =
        format!("POST {joins} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n{}", " ".repeat(0x20000));
    assert_eq!(server.raw(long_chunk.as_bytes()).problem(413), "team/too-long");
    let head = server.raw(&request("GET", &format!("/v1/me?{}", "x".repeat(40 << 10)), Some(&owner.token), None));
    assert!(matches!(head.status, 414 | 431), "{}", head.status);
    assert_eq!(server.ask("POST", "/v1/me", None, None).header("allow"), Some("GET,HEAD"));
    assert_eq!(state(&server, &owner), before);
}

#[test]
fn operations_that_cannot_be_made_are_refused_one_by_one() {
    let server = Server::start();
    let owner = server.team("a");
    let mismatched = json!({"kind": "add", "name": "0123456789abcdef0123456789abcdef", "text": "text"});
    let changes = [
        serde_json::from_value(mismatched).unwrap(),
        add(&"x".repeat(MOST_TEXT + 1)),
        add("a\0b"),
        add(&"\u{1}".repeat(MOST_TEXT)),
    ];
    let Pushed { outcomes } = server.push(&owner, "p", &changes).ok();
    let refused = outcomes.iter().map(|outcome| matches!(outcome, yore_team::wire::Outcome::Refused { .. }));
    assert_eq!(refused.collect::<Vec<_>>(), [true, true, true, false]);
    let pulled: Pulled = server.get("/v1/projects/p/pull", &owner.token).ok();
    assert_eq!(pulled.records.len(), 1);
}

#[test]
fn chunked_bodies_are_read() {
    let server = Server::start();
    let owner = server.team("a");
    let head = format!("Host: team\r\nAuthorization: bearer {}\r\nTransfer-Encoding: chunked", owner.token);
    let body = r#"{"operations":[]}"#;
    let request = format!("POST /v1/projects/p/push HTTP/1.1\r\n{head}\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    assert_eq!(server.raw(request.as_bytes()).ok::<Pushed>().outcomes, []);
    // A client may wait until it is told to send the body.
    let mut client = Client::connect(server.address);
    client.send(format!("POST /v1/projects/p/push HTTP/1.1\r\n{head}\r\nExpect: 100-continue\r\n\r\n"));
    assert_eq!(client.reply().unwrap().status, 100);
    client.send(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()));
    assert_eq!(client.reply().unwrap().ok::<Pushed>().outcomes, []);
}

#[test]
fn each_route_refuses_every_wrong_token_alike() {
    let server = Server::start();
    let (owner, other) = (server.team("a"), server.team("b"));
    server.push(&owner, "p", &[add("text of a")]).ok::<Pushed>();
    let invited = server.ask("POST", "/v1/invites", Some(&owner.token), Some(&json!({"role": "owner", "hours": 1})));
    let invite = invited.ok::<Value>()["invite"].as_str().unwrap().to_owned();
    let random = owner.token.rsplit('-').next().unwrap();
    let swapped = format!("yore-team-{}-{random}", other.team.simple());
    let unknown = format!("yore-team-{}-{}", owner.team.simple(), "0".repeat(64));
    let nowhere = format!("yore-team-{}-{random}", id().simple());
    let wrong = ["", "x", "yore-team-", &owner.token[1..], &owner.token.to_uppercase(), &invite, &swapped, &unknown, &nowhere];
    let mut headers: Vec<String> = wrong.iter().map(|token| format!("Authorization: Bearer {token}\r\n")).collect();
    headers.push(String::new());
    headers.push(format!("Authorization: Basic {}\r\n", owner.token));
    headers.push(format!("Authorization: {}\r\n", owner.token));
    headers.push(format!("Authorization: Bearer {0}\r\nAuthorization: Bearer {0}\r\n", owner.token));
    headers.push(format!("X-Authorization: Bearer {0}\r\nCookie: token={0}\r\n", owner.token));
    let before = [state(&server, &owner), state(&server, &other)];
    let mut answers = std::collections::BTreeSet::new();
    for (method, path, body) in routes(&owner) {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        for header in &headers {
            let request = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{header}Content-Length: {}\r\n\r\n{body}", body.len());
            let calls = server.store.calls();
            let reply = server.raw(request.as_bytes());
            assert_eq!(reply.problem(401), "team/token", "{path} {header}");
            assert_eq!(server.store.calls(), calls + 1, "the database is asked once, for a token of any form: {header}");
            assert!(reply.header("www-authenticate").is_some());
            answers.insert(reply.text());
        }
    }
    assert_eq!(answers.len(), 1);
    // Another team's token is valid, and reaches nothing of this team.
    for (method, path, body) in routes(&owner) {
        let reply = server.ask(method, &path, Some(&other.token), body.as_ref());
        match reply.status {
            404 => assert_eq!(reply.problem(404), "team/member", "{path}"),
            // Nor may their last owner leave.
            400 => assert_eq!((reply.problem(400).as_str(), path.as_str()), ("team/last-owner", "/v1/leave")),
            status => assert_eq!(status, 200, "{path}"),
        }
        assert_eq!(reply.status == 404, path.starts_with("/v1/members/"), "{path}");
        let told = reply.text();
        assert!(!told.contains("text of a") && !told.contains(&owner.id.to_string()), "{path}: {told}");
    }
    assert_eq!(state(&server, &owner), before[0]);
}

#[test]
fn an_address_with_many_failures_is_slowed_and_its_members_are_not() {
    let (server, mut serving) = settings();
    serving.behind_proxy = true;
    let limits = Limits { failures: 3, ..server.limits };
    let server = Server::with(ServerSettings { limits, ..server }, serving);
    let owner = server.team("a");
    let ask = |from: &str, token: &str| {
        let head = format!("X-Forwarded-For: 9.9.9.9, {from}\r\nAuthorization: Bearer {token}\r\n");
        server.raw(format!("GET /v1/me HTTP/1.1\r\nHost: a\r\n{head}\r\n").as_bytes())
    };
    for _ in 0..3 {
        assert_eq!(ask("1.1.1.1", "x").problem(401), "team/token");
    }
    // Malformed tokens are refused without the database.
    let calls = server.store.calls();
    let slowed = ask("1.1.1.1", "x");
    assert_eq!((slowed.problem(429).as_str(), server.store.calls()), ("team/slow-down", calls));
    assert!((1..=60).contains(&slowed.header("retry-after").unwrap().parse::<u32>().unwrap()));
    // Of others, some are looked up, and the valid one passes, however many there are.
    assert_eq!(ask("1.1.1.1", &owner.token).status, 200);
    let wrong = format!("yore-team-{}-{}", owner.team.simple(), "0".repeat(64));
    for _ in 0..30 {
        assert_eq!(ask("1.1.1.1", &wrong).problem(429), "team/slow-down");
        assert_eq!(ask("1.1.1.1", &owner.token).status, 200);
    }
    assert_eq!(ask("2.2.2.2", &owner.token).status, 200);
    // Invitations count as well, and a valid one passes.
    let invited = server.ask("POST", "/v1/invites", Some(&owner.token), Some(&json!({"role": "member", "hours": 1})));
    let invite = invited.ok::<Value>()["invite"].as_str().unwrap().to_owned();
    let join = |invite: &str| {
        let body = json!({"invite": invite, "name": "a", "email": "a@b", "computer": "c"}).to_string();
        server.raw(&request("POST", "/v1/join", None, Some(body.as_bytes())))
    };
    let statuses: Vec<u16> = (0..5).map(|_| join("x").status).collect();
    assert_eq!(statuses, [401, 401, 401, 429, 429]);
    assert_eq!((join(&wrong).status, join(&invite).status), (429, 200));
}

#[test]
fn a_client_reads_why_even_if_it_sends_its_whole_body_first() {
    let server = Server::start();
    let owner = server.team("a");
    let path = "/v1/projects/p/push";
    for (token, length, status) in [("revoked", MOST_BODY, 401), (owner.token.as_str(), MOST_BODY + 1, 413)] {
        let mut client = Client::connect(server.address);
        client.send(request("POST", path, Some(token), Some(&vec![b' '; length])));
        let reply = client.reply().expect("an answer, not a broken connection");
        reply.problem(status);
        assert_eq!(reply.header("connection"), Some("close"));
        client.closed();
    }
}

#[test]
fn teams_are_created_with_a_name_and_hours_only() {
    let server = Server::start();
    for name in ["", " ", "a\0", &"x".repeat(MOST_NAME + 1)] {
        assert!(matches!(block_on(create_team(&server.store, name, 1, NOW)), Err(CreateError::Name)));
    }
    for hours in [0, 721] {
        assert!(matches!(block_on(create_team(&server.store, "a", hours, NOW)), Err(CreateError::Hours)));
    }
    assert_eq!(server.store.calls(), 0);
    assert!(matches!(block_on(create_team(&server.store, "a\u{200b}", 1, NOW)), Err(CreateError::Name)));
    block_on(create_team(&server.store, "a", 1, NOW)).unwrap();
    let again = block_on(create_team(&server.store, "a", 1, NOW));
    assert!(matches!(again, Err(CreateError::Store(StoreError::TeamExists))), "{again:?}");
}
