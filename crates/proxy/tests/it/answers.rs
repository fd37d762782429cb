//! Answers reach the client as the upstream sent them, frame by frame.

use std::sync::{Mutex, mpsc};

use crate::support::*;

/// Answers once, and closes.
fn answered(answer: &str, line: &str) -> (String, Vec<u8>) {
    let (address, _seen) = answering(answer);
    let (_proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    client.send(request(port, line, "Connection: close\r\n", ""));
    let head = client.head();
    (head, client.rest())
}

#[test]
fn the_head_of_an_answer_is_kept_but_for_headers_of_the_connection() {
    let head = "HTTP/1.1 429 Slow Down, Please\r\nRetry-After: 7\r\nx-RateLimit-Remaining: 0\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\
        X-Latin: \u{e9}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n";
    let (through, body) = answered(&format!("{head}Keep-Alive: timeout=5\r\n\r\n{{}}"), "GET /x");
    assert_eq!(through, format!("{head}connection: close\r\n\r\n"));
    assert_eq!(body, b"{}");
}

#[test]
fn statuses_without_a_body_and_redirects_pass() {
    let redirect = "HTTP/1.1 307 Temporary Redirect\r\nLocation: https://other.example/x\r\nContent-Length: 0\r\n";
    let (head, _) = answered(&format!("{redirect}\r\n"), "GET /x");
    assert_eq!(
        (status(&head), header(&head, "location"), header(&head, "content-length")),
        (307, Some("https://other.example/x"), Some("0"))
    );
    let none = "HTTP/1.1 204 No Content\r\nx-a: b\r\n";
    assert_eq!(answered(&format!("{none}\r\n"), "GET /x"), (format!("{none}connection: close\r\n\r\n"), Vec::new()));
    let same = "HTTP/1.1 304 Not Modified\r\netag: \"x\"\r\n";
    assert_eq!(answered(&format!("{same}\r\n"), "GET /x"), (format!("{same}connection: close\r\n\r\n"), Vec::new()));
    let (head, body) = answered("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", "HEAD /x");
    assert_eq!((header(&head, "content-length"), body.len()), (Some("99"), 0));
}

#[test]
fn early_hints_do_not_stand_for_the_answer() {
    let (head, body) =
        answered("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "GET /x");
    assert_eq!((status(&head), &body[..]), (200, &b"ok"[..]));
}

#[test]
fn any_bytes_of_a_body_pass_and_stay_compressed() {
    let body: Vec<u8> = (0..300_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", body.len());
    let (address, _seen) = answering([head.as_bytes(), &body].concat());
    let (_proxy, port) = plain(address);
    let (head, through) = Peer::connect(port).ask(request(port, "GET /x", "", ""));
    assert_eq!(header(&head, "content-encoding"), Some("gzip"));
    assert!(through == body);
}

#[test]
fn a_stream_arrives_frame_by_frame() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let address = upstream(move |mut peer| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
        for number in 0..50 {
            // Sends nothing more until the client has read everything before.
            wait.lock().unwrap().recv().unwrap();
            let event = format!("data: {number}\n\n");
            peer.send(format!("{:x}\r\n{event}\r\n", event.len()));
        }
        peer.send("0\r\n\r\n");
    });
    let (proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    client.send(request(port, "POST /x", "", "{}"));
    let head = client.head();
    assert_eq!(header(&head, "content-type"), Some("text/event-stream"));
    for number in 0..50 {
        go.send(()).unwrap();
        assert_eq!(client.chunk(), format!("data: {number}\n\n").as_bytes());
        assert!(number == 49 || proxy.counts().open_streams == 1);
    }
    assert!(client.chunk().is_empty());
    eventually("the stream is closed", || proxy.counts().open_streams == 0);
}

#[test]
fn trailers_reach_a_client_that_asks_for_them() {
    let (address, _seen) =
        answering("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n2\r\nok\r\n0\r\nx-sum: 7\r\n\r\n");
    let (_proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    client.send(request(port, "GET /x", "TE: trailers\r\n", ""));
    let head = client.head();
    assert_eq!(header(&head, "trailer"), Some("x-sum"));
    assert_eq!((client.chunk(), client.chunk()), (b"ok".to_vec(), Vec::new()));
    assert_eq!(client.trailers(), "x-sum: 7\r\n\r\n");
}

#[test]
fn an_answer_that_ends_with_its_connection_ends() {
    let address = upstream(|mut peer| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\n\r\nuntil the end");
    });
    let (_proxy, port) = plain(address);
    let (head, body) = Peer::connect(port).ask(request(port, "GET /x", "", ""));
    assert_eq!((status(&head), &body[..]), (200, &b"until the end"[..]));
}

#[test]
fn an_upstream_is_not_read_faster_than_its_client_reads() {
    // More than all buffers on the way hold together.
    const LENGTH: usize = 256 << 20;
    let (sent, progress) = mpsc::channel();
    let address = upstream(move |mut peer| {
        peer.head();
        peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {LENGTH}\r\n\r\n"));
        for _ in 0..LENGTH >> 20 {
            peer.send(vec![b'x'; 1 << 20]);
            let _ = sent.send(());
        }
    });
    let (_proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    client.send(request(port, "GET /x", "", ""));
    client.head();
    // The upstream gets stuck long before its end, and goes on once the client reads.
    let stuck = std::iter::from_fn(|| progress.recv_timeout(std::time::Duration::from_millis(500)).ok()).count();
    assert!(stuck < LENGTH >> 21, "{stuck} MiB were sent while nobody read");
    assert_eq!(client.exact(LENGTH).len(), LENGTH);
}
