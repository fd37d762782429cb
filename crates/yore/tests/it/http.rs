//! MCP over HTTP in the daemon, tested as bytes on a connection: by an attacker, a careless program and an
//! agent. Tests with other clients are in `mcp_peers.rs`.
#![cfg(unix)]

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yore_testing::Random;

use crate::environment::{Runner, TestEnvironment};
use crate::transcript::Transcript;

/// Longest time to wait for anything.
const LONG: Duration = Duration::from_secs(60);
/// Limits of the server.
const SESSIONS: usize = 64;
const CONNECTIONS: usize = 128;
/// Most memory that any request here may use.
const BOUND: i64 = 32 << 20;

/// A daemon that serves MCP over HTTP; killed when dropped.
pub(crate) struct Daemon<'e> {
    environment: &'e TestEnvironment,
    child: Child,
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) port: u16,
}

impl<'e> Daemon<'e> {
    pub(crate) fn start(environment: &'e TestEnvironment) -> Self {
        let child = serving(environment, &["daemon", "start", "--foreground"]).start();
        let (url, port) = (String::new(), 0);
        let mut daemon = Self { environment, child, url, token: String::new(), port };
        until("it answers", || daemon.status()["answers"] == true);
        let shown = environment.yore(["mcp", "url", "--json"]).run().success().json();
        daemon.url = shown["url"].as_str().unwrap().to_owned();
        daemon.token = shown["headers"]["Authorization"].as_str().unwrap().strip_prefix("Bearer ").unwrap().to_owned();
        let port = daemon.url.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix("/mcp"));
        daemon.port = port.unwrap_or_else(|| panic!("{}", daemon.url)).parse().unwrap();
        daemon
    }

    fn status(&self) -> Value {
        self.environment.yore(["daemon", "status", "--json"]).run().json()
    }

    /// Returns the bytes of the daemon's own memory.
    fn memory(&self) -> i64 {
        self.status()["memory_bytes"].as_i64().unwrap_or_default()
    }

    fn stop(mut self) {
        let _ = self.environment.yore(["daemon", "stop"]).run().success();
        until("it has ended", || self.child.try_wait().unwrap().is_some());
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        stream
    }

    /// Sends a request to a path of the port, with these headers in addition or in place.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        let head = self.head_of(method, path, headers);
        self.say(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
    }

    /// Returns a request's head as an agent writes it, with these headers in addition or in place.
    fn head(&self, method: &str, headers: &[(&str, &str)]) -> String {
        self.head_of(method, "/mcp", headers)
    }

    fn head_of(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> String {
        let authorization = format!("Bearer {}", self.token);
        let host = format!("127.0.0.1:{}", self.port);
        let usual = [
            ("Host", host.as_str()),
            ("Authorization", authorization.as_str()),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
            ("Connection", "close"),
        ];
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in usual {
            if !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head
    }

    /// Sends bytes and reads the whole answer.
    pub(crate) fn say(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A client that is refused need not send the rest.
        let _ = stream.write_all(bytes);
        Answer::read(&mut stream)
    }

    fn post(&self, headers: &[(&str, &str)], message: &Value) -> Answer {
        let body = message.to_string();
        let head = self.head("POST", headers);
        self.say(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
    }

    /// Begins a session; returns its id, or the answer that says why not.
    fn begin(&self, headers: &[(&str, &str)]) -> Result<String, Answer> {
        let answer = self.post(headers, &initialize());
        match answer.header("mcp-session-id") {
            Some(id) if answer.status == 200 => Ok(id.to_owned()),
            _ => Err(answer),
        }
    }

    fn session(&self, headers: &[(&str, &str)]) -> String {
        let id = self.begin(headers).unwrap_or_else(|answer| panic!("{answer:?}"));
        let told = self.post(&[("Mcp-Session-Id", &id)], &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(told.status, 202, "{told:?}");
        id
    }

    /// Recalls in a session.
    fn recall(&self, session: &str, arguments: &Value) -> Value {
        let call =
            json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "recall", "arguments": arguments}});
        let answer = self.post(&[("Mcp-Session-Id", session)], &call);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.message()["result"]["structuredContent"].clone()
    }

    /// Sends a request that needs no session.
    fn list(&self) -> Answer {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}});
        self.post(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")], &message)
    }

    #[track_caller]
    fn is_well(&self) {
        let answer = self.list();
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Reads until the other side closes.
    fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        let mut some = [0; 8192];
        loop {
            match stream.read(&mut some) {
                Ok(0) => break,
                Ok(count) => bytes.extend_from_slice(&some[..count]),
                // The server closed while the client was still sending.
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => break,
                Err(error) => panic!("{error}"),
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Returns the body, which is JSON and may come in chunks.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the last message of a stream of events, or the only one.
    fn message(&self) -> Value {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).rfind(|data| !data.is_empty());
        let text = data.or_else(|| self.body.lines().find(|line| line.starts_with('{'))).unwrap_or_else(|| panic!("{self:?}"));
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

fn serving(environment: &TestEnvironment, arguments: &[&str]) -> Runner {
    environment
        .yore(arguments)
        .env("YORE_DAEMON__BATCH_SECONDS", "0")
        .env("YORE_HTTP__ENABLED", "true")
        .env("YORE_MCP__STRUCTURED", "true")
}

#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Creates a memory with two projects. (Ids differ in every part: messages derive theirs from it.)
pub(crate) fn memory() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let said = [("tide", "The pelican is called Skagen and lives in the harbour"), ("reef", "Feed the pelican fish at noon")];
    for (at, (project, words)) in said.into_iter().enumerate() {
        let directory = environment.path("work").join(project);
        fs::create_dir_all(&directory).unwrap();
        Transcript::new(&format!("6a7e000{at}-000{at}-400{at}-800{at}-00000000000{at}"), directory.to_str().unwrap())
            .human(words)
            .assistant("Noted.")
            .write(&environment.projects());
    }
    let _ = environment.yore(["ingest", "--no-embed"]).run().success();
    environment
}

fn initialize() -> Value {
    let parameters = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters})
}

/// Returns the fields that every request of 2026-07-28 has.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {}
    })
}

#[test]
fn address_and_token_are_shown_to_who_asks_and_stay() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let (url, token) = (daemon.url.clone(), daemon.token.clone());
    let status = environment.yore(["daemon", "status"]).run().success();
    assert!(status.stdout.contains(&url), "{}", status.stdout);
    assert_eq!(daemon.status()["url"], url.as_str());
    assert!(!status.stdout.contains(&token) && !daemon.status().to_string().contains(&token));
    let shown = environment.yore(["mcp", "url"]).run().success();
    assert_eq!(shown.stdout, format!("{url}\nAuthorization: Bearer {token}\n"));
    assert_eq!(token.len(), 64);
    for name in ["mcp-token", "daemon.json"] {
        let mode = fs::metadata(environment.data().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let log = fs::read_to_string(environment.data().join("logs/daemon.log")).unwrap();
    assert!(log.contains(&url) && !log.contains(&token), "{log}");
    daemon.stop();
    assert_eq!(environment.yore(["mcp", "url"]).run().ends_with(1).code(), "mcp/no-daemon");
    // An agent's settings stay valid. (Another test's daemon may have had this one's port before.)
    let mut urls = vec![url];
    for _ in 0..2 {
        let again = Daemon::start(&environment);
        assert_eq!(again.token, token);
        urls.push(again.url.clone());
        again.stop();
    }
    assert!(urls.windows(2).any(|pair| pair[0] == pair[1]), "{urls:?}");
}

#[test]
fn without_the_switch_there_is_no_port() {
    let environment = memory();
    let mut child = environment.yore(["daemon", "start", "--foreground"]).env("YORE_HTTP__ENABLED", "false").start();
    let status = || environment.yore(["daemon", "status", "--json"]).run().json();
    until("it answers", || status()["answers"] == true);
    assert_eq!(status()["url"], Value::Null);
    assert!(!environment.data().join("mcp-token").exists());
    assert_eq!(environment.yore(["mcp", "url"]).run().ends_with(1).code(), "mcp/no-port");
    let _ = environment.yore(["daemon", "stop"]).run().success();
    child.wait().unwrap();
}

#[test]
fn a_port_that_is_taken_keeps_nothing_else_from_working() {
    let environment = memory();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut child = serving(&environment, &["daemon", "start", "--foreground"]).env("YORE_HTTP__PORT", port).start();
    let status = || environment.yore(["daemon", "status", "--json"]).run().json();
    until("it answers", || status()["answers"] == true);
    assert_eq!(status()["url"], Value::Null);
    let _ = environment.yore(["daemon", "stop"]).run().success();
    child.wait().unwrap();
}

#[test]
fn strangers_are_sent_away_before_they_are_heard() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let wrong = "Bearer 0000000000000000000000000000000000000000000000000000000000000000";
    let lower = format!("bearer {}", daemon.token);
    let cut = format!("Bearer {}", &daemon.token[..63]);
    let basic = format!("Basic {}", daemon.token);
    for authorization in ["", wrong, "Bearer", "Bearer ", &cut, &basic, &daemon.token] {
        let answer = daemon.post(&[("Authorization", authorization)], &initialize());
        assert_eq!(answer.status, 401, "{authorization}: {answer:?}");
        assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"), "{answer:?}");
        assert!(answer.header("mcp-session-id").is_none() && !answer.body.contains(&daemon.token), "{answer:?}");
    }
    assert_eq!(daemon.post(&[("Authorization", &lower)], &initialize()).status, 200);
    let port = daemon.port;
    for host in ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1", "0.0.0.0", "169.254.169.254"] {
        for authorization in [format!("Bearer {}", daemon.token), wrong.to_owned()] {
            let answer = daemon.post(&[("Host", host), ("Authorization", &authorization)], &initialize());
            assert_eq!(answer.status, 403, "{host}: {answer:?}");
        }
    }
    for origin in ["http://evil.example", "null", "https://localhost", "http://localhost:1"] {
        let answer = daemon.post(&[("Origin", origin)], &initialize());
        assert_eq!(answer.status, 403, "{origin}: {answer:?}");
        assert!(answer.header("access-control-allow-origin").is_none());
    }
    assert_eq!(daemon.post(&[("Origin", &format!("http://localhost:{port}"))], &initialize()).status, 200);
    // The preflight request of a browser.
    let preflight = daemon.say(format!("{}\r\n", daemon.head("OPTIONS", &[("Origin", "http://evil.example")])).as_bytes());
    assert_eq!(preflight.status, 403, "{preflight:?}");
    // The body is not waited for.
    for headers in [&[("Host", "evil.example")][..], &[("Origin", "null")], &[("Authorization", wrong)]] {
        let head = daemon.head("POST", headers);
        let mut stream = daemon.connect();
        stream.write_all(format!("{head}Content-Length: 104857600\r\n\r\n{{").as_bytes()).unwrap();
        assert!(matches!(Answer::read(&mut stream).status, 401 | 403));
    }
    let elsewhere = daemon.head("GET", &[]).replacen("/mcp", "/.well-known/oauth-protected-resource", 1);
    assert_eq!(daemon.say(format!("{elsewhere}\r\n").as_bytes()).status, 404);
    daemon.stop();
}

#[test]
fn a_body_of_100_megabytes_is_refused_and_not_held() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    daemon.is_well();
    let before = daemon.memory();
    let piece = vec![b' '; 1 << 20];
    let declared = format!("{}Content-Length: 104857600\r\n\r\n", daemon.head("POST", &[]));
    let chunked = format!("{}Transfer-Encoding: chunked\r\n\r\n", daemon.head("POST", &[]));
    let mut streams = Vec::new();
    for (head, is_chunked) in [(&declared, false), (&chunked, true)].repeat(8) {
        let mut stream = daemon.connect();
        stream.write_all(head.as_bytes()).unwrap();
        for _ in 0..100 {
            let length = format!("{:x}\r\n", piece.len());
            let parts: [&[u8]; 3] = if is_chunked { [length.as_bytes(), &piece, b"\r\n"] } else { [b"", &piece, b""] };
            if parts.iter().any(|part| stream.write_all(part).is_err()) {
                break;
            }
        }
        streams.push(stream);
    }
    assert!(daemon.memory() - before < BOUND, "{} bytes more", daemon.memory() - before);
    for mut stream in streams {
        let answer = Answer::read(&mut stream);
        // The answer may be lost with the connection that the server closed.
        assert!(matches!(answer.status, 413 | 0), "{answer:?}");
    }
    let head = daemon.head("POST", &[]);
    let told = daemon.say(format!("{head}Content-Length: 104857600\r\n\r\n").as_bytes());
    assert_eq!(told.status, 413, "{told:?}");
    assert_eq!(told.header("connection"), Some("close"));
    let much = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {"much": "m".repeat(900_000)}}});
    let session = daemon.session(&[]);
    assert_eq!(daemon.post(&[("Mcp-Session-Id", &session)], &much).status, 200);
    daemon.stop();
}

#[test]
fn requests_that_never_end_take_their_room_only() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let begun = format!("{}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n", daemon.head("POST", &[]));
    let mut waiting: Vec<TcpStream> = Vec::new();
    for _ in 0..8 {
        let mut stream = daemon.connect();
        stream.write_all(begun.as_bytes()).unwrap();
        waiting.push(stream);
    }
    // Each may become as long as a request may be, so there is no room for a ninth.
    until("there is no room", || daemon.post(&[], &initialize()).status == 503);
    let answer = daemon.post(&[], &initialize());
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")), "{answer:?}");
    let first = &mut waiting[0];
    first.write_all(b"1\r\n}\r\n0\r\n\r\n").unwrap();
    assert_eq!(Answer::read(first).status, 415, "it is no message");
    waiting.truncate(4);
    until("there is room again", || daemon.post(&[], &initialize()).status == 200);
    // The others reach the time limit.
    let slow = waiting.last_mut().unwrap();
    assert_eq!(Answer::read(slow).status, 408);
    daemon.stop();
}

#[test]
fn a_thousand_sessions_that_are_only_begun_push_none_out_that_is_used() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    daemon.is_well();
    let before = daemon.memory();
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let mut sessions: Vec<String> = (0..SESSIONS / 2).map(|_| daemon.session(&[])).collect();
    for _ in 0..1_000 {
        daemon.begin(&[]).unwrap_or_else(|answer| panic!("{answer:?}"));
    }
    assert!(daemon.memory() - before < BOUND, "{} bytes more", daemon.memory() - before);
    // The sessions in use are all served, and so is a client without a session.
    for id in &sessions {
        assert_eq!(daemon.post(&[("Mcp-Session-Id", id)], &call).status, 200);
    }
    // Where all are in use, another one is refused.
    sessions.extend((SESSIONS / 2..SESSIONS).map(|_| daemon.session(&[])));
    let refused = daemon.begin(&[]).unwrap_err();
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.body.contains("64 sessions") && refused.header("retry-after").is_some(), "{refused:?}");
    for id in &sessions {
        assert_eq!(daemon.post(&[("Mcp-Session-Id", id)], &call).status, 200);
    }
    daemon.is_well();
    let unknown = daemon.post(&[("Mcp-Session-Id", "nonesuch")], &json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    assert_eq!(unknown.status, 404, "{unknown:?}");
    let ended = daemon.say(format!("{}\r\n", daemon.head("DELETE", &[("Mcp-Session-Id", &sessions[0])])).as_bytes());
    assert!(matches!(ended.status, 200 | 202 | 204), "{ended:?}");
    let new = daemon.begin(&[]).unwrap_or_else(|answer| panic!("{answer:?}"));
    assert!(!sessions.contains(&new));
    daemon.stop();
}

#[test]
fn connections_that_said_the_token_are_limited() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    daemon.is_well();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}}).to_string();
    let headers = [("Connection", "keep-alive"), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
    let request = format!("{}Content-Length: {}\r\n\r\n{body}", daemon.head("POST", &headers), body.len());
    let mut open: Vec<TcpStream> = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = daemon.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut begun = [0; 12];
        stream.read_exact(&mut begun).unwrap();
        assert_eq!(&begun, b"HTTP/1.1 200");
        open.push(stream);
    }
    assert_eq!(daemon.list().status, 503);
    drop(open.split_off(CONNECTIONS / 2));
    until("there is place again", || daemon.list().status == 200);
    daemon.stop();
}

#[test]
fn connections_without_a_word_give_way_and_are_closed() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    daemon.is_well();
    let before = daemon.memory();
    let mut silent: Vec<TcpStream> = (0..CONNECTIONS).map(|_| daemon.connect()).collect();
    for (at, stream) in silent.iter_mut().enumerate() {
        // Some send nothing, some begin and do not continue.
        let begun = daemon.head("POST", &[]);
        let _ = stream.write_all(&begun.as_bytes()[..if at % 2 == 0 { 0 } else { 20 + at / 4 }]);
    }
    for _ in 0..10 {
        assert_eq!(daemon.list().status, 200, "the oldest that said nothing gives its place");
    }
    assert!(daemon.memory() - before < BOUND, "{} bytes more", daemon.memory() - before);
    // Other clients are not affected.
    assert_eq!(daemon.status()["answers"], true);
    // A byte now and then does not keep a connection open.
    let mut slow = silent.pop().unwrap();
    let until_closed = Instant::now();
    while slow.write_all(b"x").and_then(|()| slow.flush()).is_ok() {
        assert!(until_closed.elapsed() < LONG, "it is never closed");
        std::thread::sleep(Duration::from_millis(200));
    }
    for mut stream in silent {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    daemon.stop();
}

#[test]
fn a_client_is_served_while_others_open_connections_again_and_again() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    daemon.is_well();
    let (is_over, began) = (AtomicBool::new(false), Instant::now());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) && began.elapsed() < LONG {
                let held: Vec<_> = (0..CONNECTIONS + 2)
                    .map_while(|_| TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, daemon.port).into(), LONG).ok())
                    .collect();
                std::thread::sleep(Duration::from_millis(5));
                drop(held);
            }
        });
        let statuses: Vec<u16> = (0..40).map(|_| daemon.list().status).collect();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(statuses, [200; 40]);
    });
    daemon.stop();
}

#[test]
fn nonsense_is_answered_or_hung_up_on() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    daemon.is_well();
    let before = daemon.memory();
    let head = daemon.head("POST", &[]);
    let long = format!("{head}X-Long: {}\r\n\r\n", "x".repeat(1 << 20));
    let many = format!("{head}{}\r\n", "X-Many: x\r\n".repeat(10_000));
    let cases: Vec<Vec<u8>> = vec![
        b"\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"GET /mcp\r\n\r\n".to_vec(),
        b"GET /mcp HTTP/9.9\r\nHost: x\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n".to_vec(),
        format!("{head}Content-Length: -1\r\n\r\n").into_bytes(),
        format!("{head}Content-Length: 99999999999999999999999\r\n\r\n").into_bytes(),
        format!("{head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes(),
        format!("{head}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n").into_bytes(),
        format!("{head}Transfer-Encoding: chunked\r\n\r\nxyz\r\n").into_bytes(),
        format!("{head}Transfer-Encoding: gzip\r\n\r\n").into_bytes(),
        format!("{head}Host: evil.example\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes(),
        format!("{head}Content-Length: 0\r\n\r\n").into_bytes(),
        format!("{head}Content-Length: 7\r\n\r\n\0\0\0\0\0\0\0").into_bytes(),
        format!("{head}Content-Length: 2\r\n\r\n[]").into_bytes(),
        format!("{head}Content-Length: 400000\r\n\r\n{}", "[".repeat(400_000)).into_bytes(),
        format!("{head}Content-Length: 70\r\n\r\n{{\"jsonrpc\":\"2.0\"").into_bytes(),
        daemon.head("POST", &[("Content-Type", "text/plain")]).into_bytes(),
        format!("{}\r\n", daemon.head("POST", &[("Accept", "text/html")])).into_bytes(),
        format!("{}\r\n", daemon.head("PUT", &[])).into_bytes(),
        format!("{}\r\n", daemon.head("GET", &[("Mcp-Session-Id", "nonesuch")])).into_bytes(),
        format!("{}\r\n", daemon.head("GET", &[("Last-Event-ID", "../../etc/passwd")])).into_bytes(),
        format!("{head}X-Long: {}\r\nContent-Length: 2\r\n\r\n[]", "x".repeat(40_000)).into_bytes(),
        long.into_bytes(),
        many.into_bytes(),
    ];
    for case in &cases {
        let mut stream = daemon.connect();
        let _ = stream.write_all(case);
        let _ = stream.shutdown(Shutdown::Write);
        let answer = Answer::read(&mut stream);
        let said = String::from_utf8_lossy(&case[..case.len().min(200)]);
        assert!(answer.status == 0 || (400..=505).contains(&answer.status), "{said}: {answer:?}");
    }
    let mut random = Random::new(11);
    for _ in 0..200 {
        let mut bytes = if random.below(2) == 0 { head.clone().into_bytes() } else { Vec::new() };
        bytes.extend((0..random.below(300)).map(|_| random.below(256) as u8));
        let mut stream = daemon.connect();
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        assert_ne!(Answer::read(&mut stream).status, 200);
    }
    daemon.is_well();
    assert!(daemon.memory() - before < BOUND, "{} bytes more", daemon.memory() - before);
    daemon.stop();
}

#[test]
fn both_eras_of_the_protocol_are_served_on_one_port() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let ask = |method: &str, mut parameters: Value, headers: &[(&str, &str)]| {
        parameters["_meta"] = meta();
        let mut all = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        all.retain(|(name, _)| !headers.iter().any(|(other, _)| other == name));
        all.extend_from_slice(headers);
        daemon.post(&all, &json!({"jsonrpc": "2.0", "id": 3, "method": method, "params": parameters}))
    };
    let discovered = ask("server/discover", json!({}), &[]);
    let versions = discovered.message()["result"]["supportedVersions"].clone();
    assert!(versions.as_array().unwrap().contains(&json!("2026-07-28")), "{discovered:?}");
    let called = ask(
        "tools/call",
        json!({"name": "recall", "arguments": {"question": "pelican", "project": "all"}}),
        &[("Mcp-Name", "recall")],
    );
    assert_eq!(called.message()["result"]["structuredContent"]["results"].as_array().unwrap().len(), 2, "{called:?}");
    assert!(discovered.header("mcp-session-id").is_none() && called.header("mcp-session-id").is_none());
    for headers in [
        [("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Name", "recall")],
        [("Mcp-Method", "tools/list"), ("Mcp-Name", "recall")],
        [("Mcp-Method", "tools/call"), ("Mcp-Name", "remember")],
        [("MCP-Protocol-Version", ""), ("Mcp-Name", "recall")],
    ] {
        let mismatched = ask("tools/call", json!({"name": "recall", "arguments": {"question": "pelican"}}), &headers);
        assert_eq!(mismatched.status, 400, "{headers:?}: {mismatched:?}");
    }
    let session = daemon.session(&[]);
    let recalled = daemon.recall(&session, &json!({"question": "pelican", "project": "all"}));
    assert_eq!(recalled["results"].as_array().unwrap().len(), 2, "{recalled}");
    daemon.stop();
}

#[test]
fn a_project_that_is_named_is_asked_and_without_one_all_are() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let projects = |session: &str| daemon.recall(session, &json!({"question": "pelican"}))["projects"].clone();
    assert_eq!(projects(&daemon.session(&[])), json!([]), "all");
    let tide = environment.path("work").join("tide");
    let named = daemon.session(&[("Yore-Project", tide.to_str().unwrap())]);
    assert_eq!(projects(&named), json!(["tide"]));
    let elsewhere = daemon.session(&[("Yore-Project", "/nowhere/at/all")]);
    assert_eq!(projects(&elsewhere), json!([]));
    let relative = daemon.post(&[("Yore-Project", "tide")], &initialize());
    assert_eq!(relative.status, 400, "{relative:?}");
    daemon.stop();
}

#[test]
fn open_streams_end_with_the_daemon() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let session = daemon.session(&[]);
    let mut stream = daemon.connect();
    let listen = daemon.head("GET", &[("Mcp-Session-Id", &session), ("Connection", "keep-alive")]);
    stream.write_all(format!("{listen}\r\n").as_bytes()).unwrap();
    let mut some = [0; 4096];
    let count = stream.read(&mut some).unwrap();
    assert!(some[..count].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&some[..count]));
    let mut idle = daemon.connect();
    let (data, url) = (environment.data(), daemon.url.clone());
    daemon.stop();
    for stream in [&mut stream, &mut idle] {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    assert!(!data.join("daemon.json").exists() && is_closed(&data, &url));
}

fn is_closed(data: &Path, url: &str) -> bool {
    let address = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
    data.join("mcp-token").exists() && TcpStream::connect(address).is_err()
}
