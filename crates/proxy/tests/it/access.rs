//! Only clients of this machine that know the token are served, within the limits.

use std::net::TcpListener;

use crate::support::*;

fn ask(port: u16, path: &str, host: &str, headers: &str) -> (u16, String) {
    let (head, body) = Peer::connect(port).ask(format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n"));
    (status(&head), String::from_utf8(body).unwrap())
}

#[test]
fn a_wrong_token_is_not_found_whatever_follows() {
    let (address, seen) = answering(OK);
    let (proxy, port) = plain(address);
    let host = format!("127.0.0.1:{port}");
    let answers: Vec<_> =
        ["/", "/x", "/wrongwrongwrong0/up/x", "/wrongwrongwrong0/nobody/x"].map(|path| ask(port, path, &host, "")).into();
    assert!(answers.iter().all(|answer| *answer == answers[0] && answer.0 == 404), "{answers:?}");
    assert!(answers[0].1.contains("yore proxy env") && !answers[0].1.contains("up,"));
    let (status, body) = ask(port, &format!("/{TOKEN}/nobody/x"), &host, "");
    assert!(status == 404 && body.contains("known upstreams: up"), "{body}");
    assert!(seen.try_recv().is_err());
    assert_eq!((proxy.counts().refused, proxy.counts().passed), (5, 0));
}

#[test]
fn other_names_and_web_pages_are_refused() {
    let (address, seen) = answering(OK);
    let (_proxy, port) = plain(address);
    let path = format!("/{TOKEN}/up/x");
    let ours = format!("localhost:{port}");
    assert_eq!(ask(port, &path, &ours, "origin: http://localhost:3000\r\n").0, 200);
    seen.recv().unwrap();
    assert_eq!(ask(port, &path, &format!("evil.example:{port}"), "").0, 403);
    assert_eq!(ask(port, &path, "localhost:1", "").0, 403);
    assert_eq!(ask(port, &path, &ours, "origin: https://evil.example\r\n").0, 403);
    assert_eq!(ask(port, &format!("http://evil.example{path}"), &ours, "").0, 403);
    let (head, _) = Peer::connect(port).ask(format!("CONNECT evil.example:443 HTTP/1.1\r\nhost: {ours}\r\n\r\n"));
    assert_eq!(status(&head), 405);
    assert!(seen.try_recv().is_err());
}

#[test]
fn a_body_that_is_too_long_is_refused() {
    let (address, seen) = answering(OK);
    let mut settings = settings(address);
    settings.longest_body = 1000;
    let (_proxy, port) = start(settings, yore_proxy::NoMemory);
    let (head, body) = Peer::connect(port).ask(request(port, "POST /x", "", &"x".repeat(1000)));
    assert_eq!((status(&head), &body[..]), (200, &b"ok"[..]));
    seen.recv().unwrap();
    let (head, _) = Peer::connect(port).ask(request(port, "POST /x", "", &"x".repeat(1001)));
    assert_eq!(status(&head), 413);
    let chunked = request(port, "POST /x", "transfer-encoding: chunked\r\n", "");
    let (head, _) = Peer::connect(port).ask(format!("{chunked}258\r\n{0}\r\n258\r\n{0}\r\n0\r\n\r\n", "x".repeat(600)));
    assert_eq!(status(&head), 413);
}

#[test]
fn a_refused_client_reads_its_answer_though_it_still_sends() {
    let (address, _seen) = answering(OK);
    let (_proxy, port) = plain(address);
    let body = "x".repeat(8 << 20);
    let (head, _) = Peer::connect(port)
        .ask(format!("POST /wrong HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    assert_eq!(status(&head), 404);
}

#[test]
fn new_settings_hold_for_the_next_request() {
    let (address, _seen) = answering(OK);
    let (other, seen) = answering(OK);
    let (proxy, port) = plain(address);
    let mut client = Peer::connect(port);
    assert_eq!(status(&client.ask(request(port, "GET /x", "", "")).0), 200);
    let mut invalid = settings(other);
    invalid.token = "short".into();
    proxy.reload(invalid).unwrap_err();
    proxy.reload(settings(other)).unwrap();
    assert_eq!(status(&client.ask(request(port, "GET /x", "", "")).0), 200);
    seen.recv().unwrap();
}

#[test]
fn settings_with_a_mistake_and_listeners_of_the_network_are_refused() {
    let refused = |settings, listener: &str| {
        let listener = TcpListener::bind(listener).unwrap();
        let served = yore_proxy::serve(listener, settings, std::sync::Arc::new(yore_proxy::NoMemory));
        served.unwrap_err().kind() == std::io::ErrorKind::InvalidInput
    };
    let good = || settings("127.0.0.1:1".parse().unwrap());
    assert!(refused(good(), "0.0.0.0:0"));
    for base in ["ftp://host/", "http://user@host/", "http://host/?key=1", "file:///x"] {
        let mut settings = good();
        settings.upstreams.get_mut("up").unwrap().base = base.parse().unwrap();
        assert!(refused(settings, "127.0.0.1:0"), "{base}");
    }
    let mut settings = good();
    settings.authorities.push(b"not a certificate".to_vec());
    assert!(refused(settings, "127.0.0.1:0"));
}

#[test]
fn the_token_and_credentials_are_not_printed() {
    let mut settings = settings("127.0.0.1:1".parse().unwrap());
    settings.via = Some("http://user:secret@proxy:3128".parse().unwrap());
    let printed = format!("{settings:?}");
    assert!(!printed.contains(TOKEN) && !printed.contains("secret"), "{printed}");
}
