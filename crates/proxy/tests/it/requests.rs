//! Requests arrive at their upstream as the client sent them.

use crate::support::*;

/// Headers as clients send them, in their case and order.
const HEADERS: &str = "Accept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\nAccept: application/json\r\n\
    Content-Type: application/json\r\nUser-Agent: OpenAI/Python 1.99.1\r\nX-Stainless-Lang: python\r\nauthorization: Bearer sk-test\r\n\
    anthropic-beta: a,b\r\nX-Custom: spaced  value\r\nX-Latin: \u{e9}\r\nx-stainless-OS: Linux\r\n";

/// Returns the lines of a head that the proxy must keep.
fn kept(head: &str) -> Vec<&str> {
    let is_kept = |line: &&str| !["host:", "connection:"].iter().any(|name| line.to_ascii_lowercase().starts_with(name));
    head.lines().filter(is_kept).collect()
}

#[test]
fn a_request_is_the_same_through_the_proxy_as_directly() {
    let (address, seen) = answering(OK);
    let (_proxy, port) = plain(address);
    let body = r#"{"model":"m",  "messages":[{"role":"user","content":"h\u00e9llo"}], "unknown": 1.50}"#;
    let paths = ["/v1/chat/completions", "/v1//a/../b/%2e%2E/%7Euser;x=1/?a=%20&b=?c&=", "", "/", "/?", "?x=%zz", "/v1/models?"];
    for path in paths {
        for (method, body) in [("POST", body), ("GET", ""), ("DELETE", ""), ("PATCH", "x"), ("QUERY", "y"), ("POST", "")] {
            let line = format!("{method} {path}");
            Peer::connect(port).ask(request(port, &line, HEADERS, body));
            let (through, through_body) = seen.recv().unwrap();
            let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
            let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
            Peer::connect(address.port()).ask(format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{HEADERS}{length}\r\n{body}"));
            let (direct, direct_body) = seen.recv().unwrap();
            assert_eq!(kept(&through), kept(&direct), "{method} {path}");
            assert_eq!(through_body, direct_body);
            assert_eq!(header(&through, "host"), Some(address.to_string().as_str()));
        }
    }
}

#[test]
fn nothing_is_added_to_a_request() {
    let (address, seen) = answering(OK);
    let (_proxy, port) = plain(address);
    Peer::connect(port).ask(format!("GET /{TOKEN}/up/x HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n"));
    assert_eq!(seen.recv().unwrap().0, format!("GET /x HTTP/1.1\r\nhost: {address}\r\n\r\n"));
}

#[test]
fn the_path_of_the_upstreams_address_comes_before_that_of_the_request() {
    let (address, seen) = answering(OK);
    let mut settings = settings(address);
    settings.upstreams.get_mut("up").unwrap().base = format!("http://{address}/prefix/v1/").parse().unwrap();
    let (_proxy, port) = start(settings, yore_proxy::NoMemory);
    Peer::connect(port).ask(request(port, "GET /models?x=1", "", ""));
    assert!(seen.recv().unwrap().0.starts_with("GET /prefix/v1/models?x=1 HTTP/1.1\r\n"));
    Peer::connect(port).ask(request(port, "GET ", "", ""));
    assert!(seen.recv().unwrap().0.starts_with("GET /prefix/v1 HTTP/1.1\r\n"));
}

#[test]
fn a_chunked_body_arrives_chunked_with_its_trailers() {
    let (sender, seen) = std::sync::mpsc::channel();
    let address = upstream(move |mut peer| {
        let head = peer.head();
        let chunks = [peer.chunk(), peer.chunk(), peer.chunk()].concat();
        let _ = sender.send((head, chunks, peer.trailers()));
        peer.send(OK);
    });
    let (_proxy, port) = plain(address);
    for method in ["POST", "GET"] {
        let headers = "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n";
        let head = request(port, &format!("{method} /x"), headers, "");
        Peer::connect(port).ask(format!("{head}5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nX-Sum: 7\r\n\r\n"));
        let (head, body, trailers) = seen.recv().unwrap();
        assert_eq!(body, b"hello world", "{method}");
        assert_eq!(header(&head, "transfer-encoding"), Some("chunked"));
        assert_eq!(header(&head, "content-length"), None);
        assert!(trailers.eq_ignore_ascii_case("x-sum: 7\r\n\r\n"), "{trailers:?}");
    }
}

#[test]
fn a_body_arrives_while_the_client_still_sends_it() {
    let (sender, seen) = std::sync::mpsc::channel();
    let address = upstream(move |mut peer| {
        peer.head();
        for _ in 0..3 {
            let _ = sender.send(peer.exact(4));
        }
        peer.send(OK);
    });
    let (_proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    client.send(request(port, "POST /x", "content-length: 12\r\n", ""));
    for part in ["aaaa", "bbbb", "cccc"] {
        client.send(part);
        assert_eq!(seen.recv().unwrap(), part.as_bytes());
    }
    assert_eq!(status(&client.head()), 200);
}

#[test]
fn a_client_that_waits_for_leave_to_send_its_body_gets_it() {
    let (address, seen) = answering(OK);
    let (_proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    client.send(request(port, "POST /x", "Expect: 100-continue\r\ncontent-length: 5\r\n", ""));
    assert_eq!(status(&client.head()), 100);
    client.send("hello");
    assert_eq!(status(&client.head()), 200);
    let (head, body) = seen.recv().unwrap();
    assert_eq!((header(&head, "expect"), &body[..]), (Some("100-continue"), &b"hello"[..]));
}

#[test]
fn requests_on_one_connection_are_answered_in_their_order() {
    let address = upstream(|mut peer| {
        loop {
            let head = peer.head();
            let Some(path) = head.split(' ').nth(1) else { return };
            peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{path}", path.len()));
        }
    });
    let (proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    // Pipelined.
    client.send((0..20).map(|number| request(port, &format!("GET /{number}"), "", "")).collect::<String>());
    for number in 0..20 {
        let head = client.head();
        assert_eq!(client.body(&head), format!("/{number}").as_bytes());
    }
    assert_eq!((proxy.counts().requests, proxy.counts().passed, proxy.counts().open_connections), (20, 20, 1));
}

#[test]
fn connections_to_an_upstream_are_used_again() {
    let connections = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let opened = connections.clone();
    let address = upstream(move |mut peer| {
        opened.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        while peer.head().ends_with("\r\n\r\n") {
            peer.send(OK);
        }
    });
    let (_proxy, port) = plain(address);
    for _ in 0..20 {
        assert_eq!(Peer::connect(port).ask(request(port, "GET /x", "", "")).1, b"ok");
    }
    let opened = connections.load(std::sync::atomic::Ordering::Relaxed);
    assert!(opened < 10, "{opened} connections for 20 requests");
}

#[test]
fn an_old_client_gets_an_answer_that_it_can_read() {
    let (address, _seen) = answering("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    let (_proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    client.send(format!("GET /{TOKEN}/up/x HTTP/1.0\r\n\r\n"));
    let head = client.head();
    assert_eq!((status(&head), header(&head, "transfer-encoding")), (200, None));
    assert_eq!(client.rest(), b"hello");
}
