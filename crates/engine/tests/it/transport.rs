//! HTTP requests: over the network to a server on this computer, by a script, and by a recording.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use yore_engine::transport::{
    Client, ClientSettings, Conditional, Exchange, FetchError, FetchSettings, Fetched, Fetcher, Request, Response, TransportError,
};
use yore_engine::{FetchOptions, PageChange};
use yore_testing::{Memory, Recorder, Recording, Script};

const PATIENCE: Duration = Duration::from_secs(20);

/// Starts a server that answers each connection with these bytes and returns the requests.
fn server(answer: &'static [u8]) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (send, receive) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut asked = Vec::new();
            let mut byte = [0];
            let has_all = |asked: &[u8]| asked.ends_with(b"\r\n\r\n") || asked.ends_with(b"{}");
            while !has_all(&asked) && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                asked.push(byte[0]);
            }
            let _ = send.send(String::from_utf8_lossy(&asked).into_owned());
            let _ = stream.write_all(answer);
        }
    });
    (address, receive)
}

fn text(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
    Response::of(status, headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(), body)
}

fn network() -> Client {
    Client::new(&ClientSettings::default()).unwrap()
}

#[test]
fn client_asks_a_private_address_and_follows_no_redirection() {
    let (address, asked) = server(
        b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://elsewhere.example/\r\nX-Tide: high\r\nContent-Length: 2\r\n\r\nno",
    );
    let request = Request::new("POST", format!("{address}/v1/chat"), PATIENCE)
        .header("authorization", "Bearer k")
        .with_body("application/json", "{}");
    let answer = network().ask(&request).unwrap();
    assert_eq!((answer.status, answer.header("x-tide"), answer.body.as_slice()), (307, Some("high"), &b"no"[..]));
    let asked = asked.recv().unwrap().to_ascii_lowercase();
    assert!(asked.starts_with("post /v1/chat http/1.1\r\n"), "{asked}");
    for part in ["authorization: bearer k\r\n", "content-type: application/json\r\n", "content-length: 2\r\n"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
}

#[test]
fn answers_beyond_the_limit_and_broken_ones_are_errors() {
    let client = Client::new(&ClientSettings { max_bytes: 3, ..ClientSettings::default() }).unwrap();
    let ask = |answer: &'static [u8]| client.ask(&Request::new("GET", server(answer).0, PATIENCE));
    assert_eq!(ask(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc").unwrap().body, b"abc");
    let long = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nabcd\r\n0\r\n\r\n";
    for answer in [&b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"[..], long] {
        assert!(matches!(ask(answer), Err(TransportError::TooLarge(3))));
    }
    for answer in [&b"SSH-2.0\r\n\r\n"[..], b"", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na"] {
        let error = ask(answer).unwrap_err();
        assert!(matches!(error, TransportError::Protocol(_) | TransportError::Connection(_)), "{error:?}");
    }
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let error = network().ask(&Request::new("GET", format!("http://{nobody}/"), PATIENCE)).unwrap_err();
    assert!(matches!(error, TransportError::Connection(_)) && error.is_passing(), "{error:?}");
    let error = network().ask(&Request::new("GET", "no address", PATIENCE)).unwrap_err();
    assert!(matches!(error, TransportError::Request(_) | TransportError::Protocol(_)) && !error.is_passing(), "{error:?}");
}

#[test]
fn silent_server_is_left_in_time() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let error = network().ask(&Request::new("GET", address, Duration::from_millis(50))).unwrap_err();
    assert!(matches!(error, TransportError::Timeout), "{error:?}");
}

#[test]
fn recording_answers_as_the_server_did_and_holds_no_key() {
    let (address, _asked) =
        server(b"HTTP/1.1 201 Created\r\nX-Tide: high\r\nSet-Cookie: s=1\r\nContent-Length: 4\r\n\r\nyes\xff");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exchanges.jsonl");
    let request = Request::new("POST", format!("{address}/v1"), PATIENCE)
        .header("Authorization", "Bearer planted-key")
        .with_body("application/json", "{}");
    /// The real client behind the interface.
    #[derive(Debug)]
    struct Through(Client);
    impl Exchange for Through {
        fn send(&self, request: &Request) -> Result<Response, TransportError> {
            self.0.stream(request)
        }
    }
    let recorder = Client::over(Recorder::new(Arc::new(Through(network())), &path), 99);
    let recorded = recorder.ask(&request).unwrap();
    let lines = std::fs::read_to_string(&path).unwrap();
    assert!(!lines.contains("planted-key") && !lines.contains("s=1"), "{lines}");

    let recording = Recording::open(&path).unwrap();
    let replayed = Client::over(recording.clone(), 99).ask(&request).unwrap();
    assert_eq!((replayed.status, &replayed.body), (201, &recorded.body));
    assert_eq!(replayed.header("x-tide"), Some("high"));
    assert_eq!(recording.left(), 0);
    let error = Client::over(recording, 99).ask(&request).unwrap_err();
    assert!(error.to_string().contains("is not in the recording"), "{error}");
}

#[test]
fn debug_words_of_a_request_hold_no_key() {
    let request = Request::new("POST", "https://models.example/v1?key=planted-1", PATIENCE)
        .header("authorization", "Bearer planted-2")
        .with_body("text/plain", "planted-3");
    assert!(!format!("{request:?}").contains("planted"), "{request:?}");
}

#[test]
fn page_is_fetched_by_a_script_with_every_rule_of_the_network() {
    let script = Script::new(|request| match request.address.as_str() {
        "https://harbour.example/" => Ok(text(302, &[("Location", "/guide")], "")),
        "https://harbour.example/guide" => Ok(text(200, &[("Content-Type", "text/plain"), ("ETag", "v1")], "the crane opens")),
        "https://harbour.example/inside" => Ok(text(302, &[("Location", "http://10.0.0.7/")], "")),
        "https://harbour.example/slow" => Err(TransportError::Timeout),
        _ => Err(TransportError::UnknownHost),
    });
    let fetcher = Fetcher::over(FetchSettings::default(), script.clone());
    let fetch = |address: &str| fetcher.fetch(address, &Conditional::default());
    let Fetched::Page(page) = fetch("https://harbour.example/").unwrap() else { panic!("not modified") };
    assert_eq!((page.address.as_str(), page.etag.as_deref()), ("https://harbour.example/guide", Some("v1")));
    assert!(matches!(fetch("https://harbour.example/inside"), Err(FetchError::PrivateAddress { .. })));
    assert!(matches!(fetch("https://harbour.example/slow"), Err(FetchError::Timeout { .. })));
    assert!(matches!(fetch("https://nobody.example/"), Err(FetchError::UnknownHost(_))));
    assert_eq!(script.requests().len(), 5);
}

#[test]
fn memory_takes_a_page_from_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages.jsonl");
    let words = "The crane of the old harbour opens at six, and the pilot's dog knows it. ".repeat(4);
    let script = Script::new(move |request| {
        let is_known = request.headers.iter().any(|(name, value)| name == "if-none-match" && value == "v1");
        Ok(if is_known { text(304, &[], "") } else { text(200, &[("Content-Type", "text/plain"), ("ETag", "v1")], &words) })
    });
    let memory = Memory::new();
    let fetch = |exchange: Arc<dyn Exchange>| {
        let options = FetchOptions { exchange: Some(exchange), ..FetchOptions::default() };
        memory.engine().fetch_page("https://harbour.example/guide", &options).unwrap().change
    };
    assert_eq!(fetch(Recorder::new(script, &path)), PageChange::New);
    memory.index();
    assert!(memory.ask("when does the crane open")[0].quote.contains("six"));
    let options = FetchOptions { exchange: Some(Recording::open(&path).unwrap()), is_forced: true, ..FetchOptions::default() };
    let report = memory.engine().fetch_page("https://harbour.example/guide", &options).unwrap();
    assert_eq!(report.change, PageChange::Unchanged);
    let nothing: Arc<dyn Exchange> = Script::new(|_| Err(TransportError::Connection(io::Error::other("no network"))));
    let options = FetchOptions { exchange: Some(nothing), ..FetchOptions::default() };
    assert!(memory.engine().fetch_page("https://harbour.example/guide", &options).is_err());
}
