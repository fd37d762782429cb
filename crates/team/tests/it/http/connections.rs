//! Connections that are slow, idle, or too many.

use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use yore_team::serve::{Listening, ServeError, Serving};
use yore_team::server::{Limits, ServerSettings};
use yore_team::wire::Pushed;

use super::support::{Client, Person, STUCK, Server, add, block_on, request, settings, short_times};

/// Starts a server whose connections end soon, with one team.
fn hasty() -> (Server, Person) {
    let (server, mut serving) = settings();
    serving.times = short_times();
    let limits = Limits { stall: Duration::from_millis(300), ..server.limits };
    let server = Server::with(ServerSettings { limits, ..server }, serving);
    let owner = server.team("a");
    (server, owner)
}

#[test]
fn slow_heads_and_bodies_are_ended_while_others_are_served() {
    let (server, owner) = hasty();
    let slow: [&[u8]; 5] = [
        b"",
        b"GET",
        b"GET /health HTTP/1.1\r\nHost: a\r\n",
        b"POST /v1/join HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{",
        b"POST /v1/join HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    ];
    let mut clients: Vec<Client> = slow.iter().map(|_| Client::connect(server.address)).collect();
    let start = Instant::now();
    for (client, bytes) in clients.iter_mut().zip(slow) {
        client.send(bytes);
    }
    for _ in 0..20 {
        assert_eq!(server.get("/v1/me", &owner.token).status, 200);
    }
    for (client, bytes) in clients.iter_mut().zip(slow) {
        if bytes.starts_with(b"POST") {
            assert_eq!(client.reply().unwrap().problem(408), "team/slow");
        }
        client.closed();
    }
    assert!(start.elapsed() < STUCK / 2);
}

#[test]
fn a_head_that_trickles_is_ended_too() {
    let (server, _) = hasty();
    for is_first in [true, false] {
        let mut client = Client::connect(server.address);
        if !is_first {
            client.send(request("GET", "/health", None, None));
            assert_eq!(client.reply().unwrap().status, 200);
        }
        let start = Instant::now();
        let lines = std::iter::once("GET /health HTTP/1.1\r\n").chain(std::iter::repeat_n("a: b\r\n", 100));
        for line in lines {
            if client.0.get_mut().write_all(line.as_bytes()).is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        client.closed();
        assert!(start.elapsed() < Duration::from_secs(4), "100 lines take 5 s, and a head has 0.3 s: {:?}", start.elapsed());
    }
}

#[test]
fn a_body_that_makes_progress_is_read() {
    let (server, owner) = hasty();
    let body = format!(r#"{{"operations":[{}]}}"#, " ".repeat(12));
    let request = request("POST", "/v1/projects/p/push", Some(&owner.token), Some(body.as_bytes()));
    let mut client = Client::connect(server.address);
    let (head, rest) = request.split_at(request.len() - body.len());
    client.send(head);
    for byte in rest.chunks(4) {
        thread::sleep(Duration::from_millis(80));
        client.send(byte);
    }
    assert_eq!(client.reply().unwrap().ok::<Pushed>().outcomes, []);
}

#[test]
fn a_connection_serves_many_requests_and_is_closed_when_it_idles() {
    let (server, owner) = hasty();
    let mut client = Client::connect(server.address);
    for _ in 0..10 {
        client.send(request("GET", "/v1/me", Some(&owner.token), None));
        assert_eq!(client.reply().unwrap().status, 200);
        thread::sleep(Duration::from_millis(60));
    }
    client.send(request("POST", "/v1/invites", Some(&owner.token), Some(b"{}")));
    assert_eq!(client.reply().unwrap().problem(400), "team/json");
    assert!(client.closed() < STUCK / 2);
}

#[test]
fn an_answer_that_nobody_takes_is_given_up() {
    let (server, owner) = hasty();
    let changes: Vec<_> = (0..31).map(|number| add(&format!("{number}{}", "x".repeat(250 << 10)))).collect();
    server.push(&owner, "p", &changes).ok::<Pushed>();
    let mut client = Client::connect(server.address);
    client.send(request("GET", "/v1/projects/p/pull", Some(&owner.token), None));
    // The sockets' buffers take some of it; the rest is never read.
    thread::sleep(Duration::from_secs(2));
    let mut bytes = Vec::new();
    let _ = client.0.read_to_end(&mut bytes);
    assert!(!bytes.is_empty() && bytes.len() < 31 * (250 << 10), "{} bytes", bytes.len());
    // Whoever takes it has all of it.
    assert_eq!(
        server.get("/v1/projects/p/pull", &owner.token).ok::<serde_json::Value>()["records"].as_array().unwrap().len(),
        31
    );
}

#[test]
fn the_oldest_idle_connection_gives_way() {
    let (server, mut serving) = settings();
    serving.most_connections = 8;
    let server = Server::with(server, serving);
    let owner = server.team("a");
    // More strangers than there is room for, that send nothing.
    let mut strangers: Vec<Client> = (0..20).map(|_| Client::connect(server.address)).collect();
    assert_eq!(server.get("/v1/me", &owner.token).status, 200);
    assert!(strangers[0].closed() < STUCK / 2);
    // Neither do strangers that begin a request keep members out.
    let mut joining: Vec<Client> = (0..20).map(|_| Client::connect(server.address)).collect();
    for client in &mut joining {
        let _ = client.0.get_mut().write_all(b"POST /v1/join HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{");
    }
    assert_eq!(server.get("/v1/me", &owner.token).status, 200);
    // Requests of members do not give way.
    let mut busy: Vec<Client> = (0..8).map(|_| Client::connect(server.address)).collect();
    let body = br#"{"operations":[]}"#;
    let push = request("POST", "/v1/projects/p/push", Some(&owner.token), Some(body));
    for client in &mut busy {
        client.send(&push[..push.len() - 1]);
    }
    thread::sleep(Duration::from_millis(300));
    assert_eq!(server.raw(&request("GET", "/health", None, None)).status, 503);
    for client in &mut busy {
        client.send(&push[push.len() - 1..]);
        assert_eq!(client.reply().unwrap().status, 200);
    }
}

#[test]
fn heads_are_limited_by_length_and_lines() {
    let server = Server::start();
    let head = |lines: usize, length: usize| {
        let line = format!("x: {}\r\n", "y".repeat(length));
        server.raw(format!("GET /health HTTP/1.1\r\nHost: a\r\n{}\r\n", line.repeat(lines)).as_bytes()).status
    };
    assert_eq!((head(60, 500), head(1, 31 << 10)), (200, 200));
    assert_eq!((head(64, 1), head(1, 33 << 10), head(1, 1 << 20)), (431, 431, 431));
}

#[test]
fn the_network_is_reached_with_tls_or_behind_a_proxy_only() {
    let open = |address: &str, behind_proxy: bool| {
        let (_, serving) = settings();
        let serving = Serving { addresses: vec![address.parse().unwrap()], behind_proxy, ..serving };
        block_on(Listening::open(serving)).map(|listening| listening.addresses()[0].ip().to_string())
    };
    for exposed in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:0.0.0.0]:0"] {
        let Err(error) = open(exposed, false) else { panic!("{exposed}") };
        assert!(matches!(error, ServeError::Plain(_)) && error.to_string().contains("behind_proxy"), "{error}");
    }
    assert_eq!(open("0.0.0.0:0", true).unwrap(), "0.0.0.0");
    assert_eq!(open("127.0.0.1:0", false).unwrap(), "127.0.0.1");
    assert!(matches!(open("192.0.2.1:0", true), Err(ServeError::Bind { .. })));
    assert!(matches!(block_on(Listening::open(Serving::default())), Err(ServeError::NoAddress)));
}
