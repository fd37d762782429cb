//! Clients that leave, upstreams that fail and bytes that are no HTTP harm nothing but their own request.

use std::{io::Read, net::TcpListener, sync::mpsc};

use proptest::prelude::*;

use crate::support::*;

#[test]
fn an_upstream_learns_that_its_client_left_before_the_answer() {
    let (sender, seen) = mpsc::channel();
    let address = upstream(move |mut peer| {
        peer.head();
        let _ = sender.send("asked");
        assert!(peer.rest().is_empty());
        let _ = sender.send("gone");
    });
    let (proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    client.send(request(port, "GET /x", "", ""));
    assert_eq!(seen.recv().unwrap(), "asked");
    drop(client);
    assert_eq!(seen.recv().unwrap(), "gone");
    eventually("the connection is closed", || proxy.counts().open_connections == 0);
}

#[test]
fn an_upstream_learns_that_its_client_left_in_the_middle_of_a_stream() {
    let (sender, seen) = mpsc::channel();
    let address = upstream(move |mut peer| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n");
        assert!(peer.rest().is_empty());
        let _ = sender.send("gone");
    });
    let (proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    client.send(request(port, "GET /x", "", ""));
    client.head();
    assert_eq!(client.chunk(), b"ok");
    drop(client);
    assert_eq!(seen.recv().unwrap(), "gone");
    eventually("the stream is closed", || proxy.counts().open_streams == 0);
    assert_eq!(proxy.counts().upstream_errors, 0);
}

#[test]
fn a_stream_that_its_upstream_breaks_off_breaks_off_for_the_client() {
    for answer in
        ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"]
    {
        let address = upstream(move |mut peer| {
            peer.head();
            peer.send(answer);
        });
        let (proxy, port) = plain(address);
        let mut client = Peer::connect(port);
        client.send(request(port, "GET /x", "", ""));
        client.head();
        let rest = client.rest();
        // Everything that the upstream sent arrives, and no end.
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        assert_eq!(String::from_utf8(rest).unwrap(), body);
        eventually("the error is counted", || proxy.counts().upstream_errors == 1);
    }
}

#[test]
fn a_slow_client_gets_every_byte_that_came_before_the_answer_broke_off() {
    const LENGTH: usize = 24 << 20;
    let address = upstream(|mut peer| {
        peer.head();
        peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", LENGTH + 1));
        peer.send(vec![b'x'; LENGTH]);
    });
    let (_proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    client.send(request(port, "GET /x", "", ""));
    client.head();
    let (mut received, mut piece) = (0, vec![0; 64 << 10]);
    while let Ok(count @ 1..) = client.0.read(&mut piece) {
        received += count;
        // Slower than the upstream, so that its last bytes wait in the proxy.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert_eq!(received, LENGTH);
}

#[test]
fn an_upstream_that_does_not_answer_gives_502_in_the_clients_own_form() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (proxy, port) = plain(closed);
    let (head, body) = Peer::connect(port).ask(request(port, "POST /v1/messages", "", "{}"));
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((status(&head), header(&head, "content-type")), (502, Some("application/json")));
    assert_eq!(body["type"], "error");
    assert!(body["error"]["message"].as_str().unwrap().contains("upstream up"), "{body}");
    assert_eq!(proxy.counts().upstream_errors, 1);

    for answer in ["", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nbroken", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"]
    {
        let address = upstream(move |mut peer| {
            peer.head();
            peer.send(answer);
        });
        let (_proxy, port) = plain(address);
        assert_eq!(status(&Peer::connect(port).ask(request(port, "GET /x", "", "")).0), 502, "{answer:?}");
    }
}

#[test]
fn a_request_that_was_sent_is_never_sent_again() {
    let (sender, seen) = mpsc::channel();
    let address = upstream(move |mut peer| {
        // The second request on the connection is read, and not answered.
        for number in 0.. {
            let head = peer.head();
            if head.is_empty() {
                return;
            }
            peer.body(&head);
            let _ = sender.send(head);
            if number == 1 {
                return;
            }
            peer.send(OK);
        }
    });
    let (_proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    assert_eq!(status(&client.ask(request(port, "POST /1", "", "{}")).0), 200);
    assert_eq!(status(&client.ask(request(port, "POST /2", "", "{}")).0), 502);
    assert_eq!(seen.try_iter().count(), 2);
}

#[test]
fn a_client_that_breaks_its_body_off_breaks_it_off_for_the_upstream() {
    let (sender, seen) = mpsc::channel();
    let address = upstream(move |mut peer| {
        peer.head();
        let _ = sender.send(peer.exact(2));
        let _ = sender.send(peer.rest());
    });
    let (proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    client.send(request(port, "POST /x", "content-length: 9\r\n", ""));
    client.send("ab");
    assert_eq!(seen.recv().unwrap(), b"ab");
    drop(client);
    assert_eq!(seen.recv().unwrap(), b"");
    eventually("the connection is closed", || proxy.counts().open_connections == 0);
    assert_eq!(proxy.counts().upstream_errors, 0);
}

#[test]
fn stopping_ends_idle_connections_and_streams() {
    let address = upstream(|mut peer| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n");
        peer.rest();
    });
    let (proxy, port) = plain(address);
    let (mut idle, mut stream) = (Peer::connect(port), Peer::connect(port));
    stream.send(request(port, "GET /x", "", ""));
    stream.head();
    stream.chunk();
    drop(proxy);
    assert!(idle.rest().is_empty());
    assert!(stream.rest().is_empty());
}

/// Returns the number of open files of this process.
#[cfg(target_os = "linux")]
fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_of_500_requests_that_were_broken_off() {
    // Other tests of this process open files too, so that it runs in a process of its own.
    const NAME: &str = "faults::nothing_is_left_of_500_requests_that_were_broken_off";
    if std::env::var_os("YORE_PROXY_ALONE").is_none() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let done = command.args([NAME, "--exact", "--nocapture"]).env("YORE_PROXY_ALONE", "1").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        return;
    }
    let address = upstream(|mut peer| {
        let head = peer.head();
        if head.contains("/silent") {
            peer.rest();
        } else if head.contains("/stream") {
            peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n");
            peer.rest();
        }
        // Otherwise the upstream dies.
    });
    let (proxy, port) = plain(address);
    let before = open_files();
    for number in 0..500 {
        let mut client = Peer::connect(port);
        match number % 4 {
            0 => client.send(request(port, "GET /silent", "", "")),
            1 => {
                client.send(request(port, "GET /stream", "", ""));
                client.head();
            }
            2 => client.send(request(port, "POST /silent", "content-length: 5\r\n", "")),
            _ => client.send(request(port, "GET /dies", "", "")),
        }
    }
    eventually("everything is closed", || {
        let counts = proxy.counts();
        counts.open_connections == 0 && counts.open_streams == 0 && open_files() <= before
    });
    assert!(proxy.counts().requests > 0);
}

/// Sends bytes and closes this way; returns everything that comes back.
fn answer_to(port: u16, bytes: &[u8]) -> Vec<u8> {
    let mut client = Peer::connect(port);
    // The server may close before it has read everything.
    let _ = std::io::Write::write_all(client.0.get_mut(), bytes);
    let _ = client.0.get_ref().shutdown(std::net::Shutdown::Write);
    client.rest()
}

#[test]
fn bytes_that_are_no_request_are_answered_or_closed_and_harm_nothing() {
    let (address, _seen) = answering(OK);
    let (proxy, port) = plain(address);
    let whole = request(port, "POST /v1/messages", "content-type: application/json\r\n", r#"{"a":1}"#);
    proptest!(ProptestConfig::with_cases(300), |(bytes in proptest::collection::vec(any::<u8>(), 0..600), cut in 0..300_usize,
        place in 0..300_usize, byte: u8)| {
        answer_to(port, &bytes);
        answer_to(port, &whole.as_bytes()[..cut.min(whole.len())]);
        let mut changed = whole.clone().into_bytes();
        let place = place % changed.len();
        changed[place] = byte;
        answer_to(port, &changed);
        answer_to(port, &[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &bytes[..]].concat());
    });
    answer_to(port, format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(10_000)).as_bytes());
    answer_to(port, format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20)).as_bytes());
    answer_to(port, b"POST / HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n");
    let conflict = "transfer-encoding: chunked\r\ncontent-length: 3\r\n";
    answer_to(port, format!("{}fffffffffffffffff\r\n", request(port, "POST /x", conflict, "")).as_bytes());
    eventually("all connections are closed", || proxy.counts().open_connections == 0);
    assert_eq!(status(&Peer::connect(port).ask(&whole).0), 200);
}

#[test]
fn upstreams_that_answer_anything_are_survived() {
    let (next, answers) = mpsc::channel::<Vec<u8>>();
    let answers = std::sync::Mutex::new(answers);
    let address = upstream(move |mut peer| {
        peer.head();
        let answer = answers.lock().unwrap().recv();
        let _ = answer.map(|answer| std::io::Write::write_all(peer.0.get_mut(), &answer));
    });
    let (proxy, port) = plain(address);
    proptest!(ProptestConfig::with_cases(200), |(bytes in proptest::collection::vec(any::<u8>(), 0..400), form in 0..3)| {
        let head: &[u8] = match form {
            0 => b"",
            1 => b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
            _ => b"HTTP/1.1 200 OK\r\ncontent-length: 300\r\n",
        };
        next.send([head, &bytes].concat()).unwrap();
        let mut client = Peer::connect(port);
        client.send(request(port, "GET /x", "connection: close\r\n", ""));
        let _ = client.0.read_to_end(&mut Vec::new());
    });
    eventually("all connections are closed", || proxy.counts().open_connections == 0);
}
