//! Clients by other authors against yore's server: the official conformance suite and inspector, and the
//! Python SDK. `scripts/mcp-peers` installs them. The tests use the folder in `YORE_TEST_MCP_PEERS` and
//! report if there is none; `YORE_REQUIRE_MCP_PEERS=1` makes that an error.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::environment::{PROGRAM, TestEnvironment};
use crate::http::{Daemon, memory};

/// All scenarios of the suite for a server.
const SCENARIOS: [&str; 32] = [
    "completion-complete",
    "dns-rebinding-protection",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "json-schema-2020-12",
    "logging-set-level",
    "ping",
    "prompts-get-embedded-resource",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-with-image",
    "prompts-list",
    "resources-list",
    "resources-read-binary",
    "resources-read-text",
    "resources-subscribe",
    "resources-templates-read",
    "resources-unsubscribe",
    "server-initialize",
    "server-sse-multiple-streams",
    "server-sse-polling",
    "tools-call-audio",
    "tools-call-elicitation",
    "tools-call-embedded-resource",
    "tools-call-error",
    "tools-call-image",
    "tools-call-mixed-content",
    "tools-call-sampling",
    "tools-call-simple-text",
    "tools-call-with-logging",
    "tools-call-with-progress",
    "tools-list",
];
/// The scenarios that expect no tool, prompt or resource by name. Only `logging-set-level` is left out:
/// logging is deprecated (SEP-2577), and yore does not support it.
const OF_EVERY_SERVER: [&str; 7] = [
    "dns-rebinding-protection",
    "ping",
    "prompts-list",
    "resources-list",
    "server-initialize",
    "server-sse-multiple-streams",
    "tools-list",
];

/// The folder of the clients.
struct Peers(PathBuf);

impl Peers {
    /// Returns the folder; if there is none, prints that the test is skipped.
    fn here() -> Option<Self> {
        let Some(folder) = std::env::var_os("YORE_TEST_MCP_PEERS").filter(|folder| !folder.is_empty()) else {
            let is_required = std::env::var_os("YORE_REQUIRE_MCP_PEERS").is_some_and(|value| value == "1");
            assert!(!is_required, "YORE_REQUIRE_MCP_PEERS is set, but YORE_TEST_MCP_PEERS names no folder");
            let words = b"SKIPPED: no YORE_TEST_MCP_PEERS (`scripts/mcp-peers DIRECTORY` makes one), so other MCP clients are not tested\n";
            // Written past the test runner, which captures the output of a passing test.
            std::io::stderr().write_all(words).unwrap();
            return None;
        };
        let folder = PathBuf::from(folder);
        assert!(folder.join("stamp").is_file(), "{} was not made by scripts/mcp-peers", folder.display());
        Some(Self(folder))
    }

    fn node(&self) -> PathBuf {
        self.0.join("bin/node")
    }

    fn package(&self, path: &str) -> PathBuf {
        self.0.join("npm/node_modules/@modelcontextprotocol").join(path)
    }

    /// Returns the checks of each scenario.
    fn conformance(&self, environment: &TestEnvironment, url: &str, scenario: Option<&str>) -> BTreeMap<String, Value> {
        let results = environment.path("results");
        let mut call =
            environment.program(self.node()).arg(self.package("conformance/dist/index.js")).args(["server", "--url", url]);
        call = match scenario {
            Some(scenario) => call.args(["--scenario", scenario]),
            None => call.args(["--suite", "all"]),
        };
        let outcome = call.arg("--output-dir").arg(&results).run();
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&results).unwrap_or_else(|_| panic!("{outcome:?}")).map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            // `server-NAME-TIME`
            let known =
                SCENARIOS.iter().filter(|known| name.starts_with(&format!("server-{known}-20"))).max_by_key(|known| known.len());
            let name = known.map_or(name.clone(), |known| (*known).to_owned());
            let checks = fs::read(entry.path().join("checks.json")).unwrap();
            found.insert(name, serde_json::from_slice(&checks).unwrap());
        }
        fs::remove_dir_all(&results).unwrap();
        found
    }

    /// Returns the output of the inspector.
    fn inspect(&self, environment: &TestEnvironment, target: &[&str], method: &[&str]) -> Value {
        let mut call =
            environment.program(self.node()).arg(self.package("inspector/clients/launcher/build/index.js")).arg("--cli");
        call = call.args(target).args(["--method"]).args(method);
        call.run().success().json()
    }

    /// Returns the report of the Python client.
    fn python(&self, environment: &TestEnvironment, arguments: &[&str]) -> Value {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/client.py");
        environment.program(self.0.join("python/bin/python")).arg(script).args(arguments).run().success().json()
    }
}

/// Checks that no check of the suite failed, and that the expected ones are there.
#[track_caller]
fn is_fulfilled(scenario: &str, checks: &Value) {
    let checks = checks.as_array().unwrap();
    let is_good = |check: &Value| matches!(check["status"].as_str(), Some("SUCCESS" | "INFO"));
    assert!(checks.iter().all(is_good), "{scenario}: {checks:#?}");
    assert!(checks.iter().any(|check| check["status"] == "SUCCESS"), "{scenario}: {checks:#?}");
}

/// `mcp_conformance http`; ends with its standard input.
struct Fixtures {
    child: Child,
    stdin: Option<ChildStdin>,
    url: String,
}

/// The example that serves what the suite asks for; `cargo test` builds it beside the program.
fn conformance_program() -> String {
    let name = format!("mcp_conformance{}", std::env::consts::EXE_SUFFIX);
    let path = Path::new(PROGRAM).with_file_name("examples").join(name);
    assert!(path.is_file(), "{} is missing: `cargo build --example mcp_conformance`", path.display());
    path.to_str().unwrap().to_owned()
}

impl Fixtures {
    fn start() -> Self {
        let mut command = Command::new(conformance_program());
        command.arg("http").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self { stdin: child.stdin.take(), child, url: told["url"].as_str().unwrap().to_owned() }
    }
}

impl Drop for Fixtures {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let status = self.child.wait().unwrap();
        assert!(status.success() || thread::panicking(), "{status}");
    }
}

/// Forwards requests to the daemon and adds the token, which the suite cannot send; returns its own address.
/// Headers that name another host or origin are forwarded unchanged.
fn authenticating(daemon: &Daemon<'_>) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let ours = listener.local_addr().unwrap().to_string();
    let theirs = daemon.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
    let url = format!("http://{ours}/mcp");
    let token = daemon.token.clone();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (ours, theirs, token) = (ours.clone(), theirs.clone(), token.clone());
            // The thread ends with either side.
            thread::spawn(move || hand_on(client, &ours, &theirs, &token));
        }
    });
    url
}

/// Forwards one request and its answer; each has a connection.
fn hand_on(client: TcpStream, ours: &str, theirs: &str, token: &str) -> Option<()> {
    let mut request = BufReader::new(client.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && request.read_line(&mut head).ok()? > 0 {}
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") { value.trim().parse().ok() } else { None }
    });
    let mut body = vec![0; length.unwrap_or(0)];
    request.read_exact(&mut body).ok()?;
    let lines = head.trim_end().lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let head: Vec<String> = lines.map(|line| line.replace(ours, theirs)).collect();
    let mut server = TcpStream::connect(theirs).ok()?;
    let head = format!("{}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n", head.join("\r\n"));
    server.write_all(head.as_bytes()).ok()?;
    server.write_all(&body).ok()?;
    let (mut to_client, end) = (client.try_clone().ok()?, server.try_clone().ok()?);
    // If a client hangs up, the server's connection is closed too.
    thread::spawn(move || {
        let _ = request.read(&mut [0; 1]);
        let _ = end.shutdown(Shutdown::Both);
    });
    let _ = std::io::copy(&mut server, &mut to_client);
    client.shutdown(Shutdown::Both).ok()
}

#[test]
fn conformance_suite_passes_with_what_it_asks_for() {
    let Some(peers) = Peers::here() else { return };
    let environment = TestEnvironment::new();
    let fixtures = Fixtures::start();
    let found = peers.conformance(&environment, &fixtures.url, None);
    assert_eq!(found.keys().collect::<Vec<_>>(), SCENARIOS.iter().collect::<Vec<_>>());
    for (scenario, checks) in &found {
        is_fulfilled(scenario, checks);
    }
}

#[test]
fn conformance_suite_passes_with_a_memory() {
    let Some(peers) = Peers::here() else { return };
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let url = authenticating(&daemon);
    for scenario in OF_EVERY_SERVER {
        let found = peers.conformance(&environment, &url, Some(scenario));
        is_fulfilled(scenario, &found[scenario]);
    }
}

/// Checks the inspector's view of a memory about pelicans.
fn inspects(peers: &Peers, environment: &TestEnvironment, target: &[&str]) {
    let names = |listed: &Value, what: &str, field: &str| -> Vec<String> {
        let listed = listed[what].as_array().unwrap_or_else(|| panic!("{listed}"));
        listed.iter().map(|each| each[field].as_str().unwrap().to_owned()).collect()
    };
    let tools = peers.inspect(environment, target, &["tools/list"]);
    assert!(names(&tools, "tools", "name").contains(&"recall".to_owned()), "{tools}");
    let call = ["tools/call", "--tool-name", "recall", "--tool-arg", "question=pelican", "--tool-arg", "project=all"];
    let called = peers.inspect(environment, target, &call);
    assert_eq!(called["structuredContent"]["results"].as_array().map(Vec::len), Some(2), "{called}");
    for (method, what, field) in [("resources/list", "resources", "uri"), ("prompts/list", "prompts", "name")] {
        let listed = peers.inspect(environment, target, &[method]);
        assert!(!names(&listed, what, field).is_empty(), "{listed}");
    }
}

#[test]
fn inspector_lists_and_calls_over_stdio() {
    let Some(peers) = Peers::here() else { return };
    let environment = memory();
    let data = environment.data();
    inspects(&peers, &environment, &[PROGRAM, "--data-dir", data.to_str().unwrap(), STRUCTURED, "mcp"]);
}

#[test]
fn inspector_lists_and_calls_over_http() {
    let Some(peers) = Peers::here() else { return };
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let header = format!("Authorization: Bearer {}", daemon.token);
    inspects(&peers, &environment, &[&daemon.url, "--transport", "http", "--header", &header]);
}

/// Requests structured data beside the text.
const STRUCTURED: &str = "-cmcp.structured=true";

/// The newest protocol of both sides, and the last one with a handshake.
const MODES: [(&str, &str); 2] = [("auto", "2026-07-28"), ("legacy", "2025-11-25")];

/// Checks the Python client's view of a memory about pelicans.
fn is_seen(seen: &Value, protocol: &str) {
    assert_eq!(seen["protocol"], protocol);
    assert!(seen["tools"].as_array().unwrap().contains(&json!("recall")), "{seen}");
    assert_eq!(seen["structured"]["results"].as_array().map(Vec::len), Some(2), "{seen}");
    assert!(seen["text"].as_str().unwrap().contains("The pelican is called Skagen"), "{seen}");
    assert_eq!((&seen["unknown"], &seen["instructions"]), (&json!(-32602), &json!(true)));
    assert!(!seen["resources"].as_array().unwrap().is_empty() && !seen["templates"].as_array().unwrap().is_empty(), "{seen}");
    assert!(!seen["prompts"].as_array().unwrap().is_empty(), "{seen}");
}

/// Checks the Python client's view of the test fixtures.
fn is_seen_of_fixtures(seen: &Value, protocol: &str) {
    assert_eq!(seen["protocol"], protocol);
    assert_eq!(seen["structured"], json!({"text": "pelican", "length": 7}));
    assert_eq!(seen["steps"], json!([[0.0, 100.0], [50.0, 100.0], [100.0, 100.0]]));
    assert_eq!((&seen["prompt"], &seen["resource"]), (&json!("Prompt with arguments: arg1='this', arg2='that'"), &json!("7")));
    assert_eq!(seen["cancelled"], "1", "the server knows that nobody waits");
}

#[test]
fn python_client_works_over_stdio() {
    let Some(peers) = Peers::here() else { return };
    let environment = memory();
    for (mode, protocol) in MODES {
        is_seen(&peers.python(&environment, &["memory", mode, "--", PROGRAM, STRUCTURED, "mcp"]), protocol);
        let seen = peers.python(&environment, &["fixtures", mode, "--", &conformance_program(), "stdio"]);
        is_seen_of_fixtures(&seen, protocol);
    }
}

#[test]
fn python_client_works_over_http() {
    let Some(peers) = Peers::here() else { return };
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let header = format!("Authorization: Bearer {}", daemon.token);
    for (mode, protocol) in MODES {
        is_seen(&peers.python(&environment, &["memory", mode, &daemon.url, &header]), protocol);
        let fixtures = Fixtures::start();
        is_seen_of_fixtures(&peers.python(&environment, &["fixtures", mode, &fixtures.url]), protocol);
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/client.py");
    let stranger = ["memory", "auto", &daemon.url, "Authorization: Bearer none"];
    let refused = environment.program(peers.0.join("python/bin/python")).arg(script).args(stranger).run();
    assert_eq!((refused.status.success(), refused.stdout.as_str()), (false, ""), "{refused:?}");
}
