//! The memory adds to requests and sees exchanges, and is never in the way.

use std::{
    io::Write,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use serde_json::json;
use yore_proxy::{Addition, Conversation, Exchange, Memory, Part, Place, Proxy, Wants};

use crate::support::*;

const BOTH: Wants = Wants { additions: true, exchange: true };
const SEES: Wants = Wants { additions: false, exchange: true };
const JSON: &str = "content-type: application/json\r\nuser-agent: test/1\r\nsession-id: s1\r\nauthorization: Bearer planted\r\n";
const QUESTION: &str = r#"{"model":"m", "max_tokens":9,"messages":[{"role":"user","content":"hello"}]}"#;
const CHUNKS: [&str; 3] = [
    "data: {\"id\":\"c1\",\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"good \"}}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"day\"},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
];

fn note() -> Vec<Addition> {
    vec![Addition { place: Place::Message(0), text: "a note".into() }]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn stream() -> String {
    let chunks = CHUNKS.map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len())).concat();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
}

/// A proxy whose memory does as told, and whose upstream answers with a stream.
struct World {
    proxy: Proxy,
    port: u16,
    seen: mpsc::Receiver<(String, Vec<u8>)>,
}

impl World {
    fn new(memory: impl Memory) -> Self {
        Self::with(memory, Duration::from_secs(30), stream())
    }

    fn with(memory: impl Memory, deadline: Duration, answer: impl Into<Vec<u8>>) -> Self {
        let (address, seen) = answering(answer);
        let mut settings = settings(address);
        settings.deadline = deadline;
        let (proxy, port) = start(settings, memory);
        Self { proxy, port, seen }
    }

    /// Sends a question; returns what the upstream saw of it.
    fn ask(&self, headers: &str, body: &[u8]) -> (String, Vec<u8>) {
        let mut client = Peer::connect(self.port);
        let head = request(self.port, "POST /v1/chat/completions", &format!("{headers}content-length: {}\r\n", body.len()), "");
        let (answer, _) = client.ask([head.as_bytes(), body].concat());
        assert_eq!(status(&answer), 200);
        self.seen.recv().unwrap()
    }
}

fn said(exchange: &Exchange) -> Option<(Vec<Part>, bool)> {
    exchange.answer.as_ref().map(|answer| (answer.parts.clone(), answer.is_whole))
}

fn good_day(is_whole: bool) -> Option<(Vec<Part>, bool)> {
    Some((vec![Part::Text("good day".into())], is_whole))
}

#[test]
fn a_text_is_added_and_every_other_byte_stays() {
    let (memory, exchanges) = Scripted::new(BOTH, |asked, conversation| {
        assert_eq!(asked.route.upstream, "up");
        assert_eq!(asked.session_headers, [("session-id", "s1".to_owned())]);
        assert!(!format!("{asked:?}{conversation:?}").contains("planted"));
        note()
    });
    let world = World::new(memory);
    let (head, body) = world.ask(JSON, QUESTION.as_bytes());
    let expected = yore_proxy::wire::add(yore_proxy::Protocol::OpenAiChat, QUESTION.as_bytes(), &note()).unwrap();
    assert_eq!(String::from_utf8(body.clone()).unwrap(), String::from_utf8(expected).unwrap());
    assert!(body.len() > QUESTION.len());
    assert_eq!(header(&head, "content-length"), Some(body.len().to_string().as_str()));
    let exchange = exchanges.recv().unwrap();
    assert_eq!((exchange.added.clone(), exchange.status), (note(), 200));
    assert_eq!(exchange.conversation.messages[0].parts, [Part::Text("hello".into())]);
    assert_eq!(said(&exchange), good_day(true));
    assert!(!format!("{exchange:?}").contains("planted"));
    assert_eq!((world.proxy.counts().added, world.proxy.counts().failed, world.proxy.counts().unreadable), (1, 0, 0));
}

#[test]
fn a_request_that_nothing_is_added_to_passes_byte_for_byte() {
    let (memory, exchanges) = Scripted::new(BOTH, |_, _| Vec::new());
    let world = World::new(memory);
    assert_eq!(world.ask(JSON, QUESTION.as_bytes()).1, QUESTION.as_bytes());
    assert_eq!(said(&exchanges.recv().unwrap()), good_day(true));
    let coded = gzip(QUESTION.as_bytes());
    let (head, body) = world.ask(&format!("{JSON}content-encoding: gzip\r\n"), &coded);
    assert!(body == coded && header(&head, "content-encoding") == Some("gzip"));
    assert_eq!(said(&exchanges.recv().unwrap()), good_day(true));
    assert_eq!(world.proxy.counts().added, 0);
}

#[test]
fn a_compressed_request_that_something_is_added_to_goes_on_uncompressed() {
    let (memory, exchanges) = Scripted::new(BOTH, |_, _| note());
    let world = World::new(memory);
    let expected = yore_proxy::wire::add(yore_proxy::Protocol::OpenAiChat, QUESTION.as_bytes(), &note()).unwrap();
    for (coding, coded) in [("gzip", gzip(QUESTION.as_bytes())), ("zstd", zstd::encode_all(QUESTION.as_bytes(), 3).unwrap())] {
        let (head, body) = world.ask(&format!("{JSON}content-encoding: {coding}\r\n"), &coded);
        assert!(body == expected && header(&head, "content-encoding").is_none(), "{head}");
        assert_eq!(exchanges.recv().unwrap().added, note());
    }
}

#[test]
fn a_chunked_request_is_read_and_added_to() {
    let (memory, exchanges) = Scripted::new(BOTH, |_, _| note());
    let world = World::new(memory);
    let head = request(world.port, "POST /v1/chat/completions", &format!("{JSON}transfer-encoding: chunked\r\n"), "");
    let chunks = format!("{:x}\r\n{QUESTION}\r\n0\r\n\r\n", QUESTION.len());
    Peer::connect(world.port).ask(format!("{head}{chunks}"));
    let (head, body) = world.seen.recv().unwrap();
    assert_eq!((header(&head, "transfer-encoding"), header(&head, "content-length")), (Some("chunked"), None));
    assert!(String::from_utf8(body).unwrap().contains("a note"));
    assert_eq!(exchanges.recv().unwrap().added, note());
}

#[test]
fn a_memory_that_never_answers_holds_no_request_beyond_the_deadline() {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let (memory, exchanges) = Scripted::new(BOTH, move |_, _| {
        let _ = held.lock().unwrap().recv();
        note()
    });
    let world = World::with(memory, Duration::from_millis(20), stream());
    // More than may be asked at one time.
    for _ in 0..20 {
        assert_eq!(world.ask(JSON, QUESTION.as_bytes()).1, QUESTION.as_bytes());
        let exchange = exchanges.recv().unwrap();
        assert_eq!((exchange.added.len(), said(&exchange)), (0, good_day(true)));
    }
    assert_eq!((world.proxy.counts().late, world.proxy.counts().added), (20, 0));
    drop(release);
}

#[test]
fn a_memory_that_panics_changes_nothing() {
    let (memory, exchanges) = Scripted::new(BOTH, |_, _| panic!("a mistake of the memory"));
    let world = World::new(memory);
    assert_eq!(world.ask(JSON, QUESTION.as_bytes()).1, QUESTION.as_bytes());
    assert_eq!(said(&exchanges.recv().unwrap()), good_day(true));
    assert_eq!(world.proxy.counts().failed, 1);
}

/// Panics in the methods that nothing else covers.
struct Broken(mpsc::Sender<()>);

impl Memory for Broken {
    fn wants(&self, asked: &yore_proxy::Asked) -> Wants {
        assert!(asked.user_agent.is_none(), "a mistake in wants");
        SEES
    }

    fn additions(&self, _: &yore_proxy::Asked, _: &Conversation) -> Vec<Addition> {
        Vec::new()
    }

    fn exchanged(&self, _: Vec<Exchange>) {
        let _ = self.0.send(());
        panic!("a mistake in exchanged");
    }
}

#[test]
fn panics_of_the_other_methods_are_counted_and_the_next_exchange_is_told() {
    let (told, exchanges) = mpsc::channel();
    let world = World::new(Broken(told));
    world.ask(JSON, QUESTION.as_bytes());
    assert_eq!(world.proxy.counts().failed, 1);
    for _ in 0..2 {
        world.ask("", QUESTION.as_bytes());
        exchanges.recv().unwrap();
    }
    eventually("all panics are counted", || world.proxy.counts().failed == 3);
}

#[test]
fn an_addition_without_a_place_changes_nothing() {
    let (memory, _exchanges) = Scripted::new(BOTH, |_, _| vec![Addition { place: Place::Message(7), text: "x".into() }]);
    let world = World::new(memory);
    assert_eq!(world.ask(JSON, QUESTION.as_bytes()).1, QUESTION.as_bytes());
    assert_eq!(world.proxy.counts().failed, 1);
}

#[test]
fn signed_requests_and_other_types_are_not_added_to() {
    let (memory, exchanges) = Scripted::new(BOTH, |_, _| note());
    let world = World::new(memory);
    let signed = "content-type: application/json\r\nauthorization: AWS4-HMAC-SHA256 x\r\n";
    let digest = "content-type: application/json\r\ncontent-md5: x\r\n";
    for headers in [signed, digest, "content-type: text/plain\r\n", ""] {
        assert_eq!(world.ask(headers, QUESTION.as_bytes()).1, QUESTION.as_bytes());
        assert_eq!(exchanges.recv().unwrap().added, []);
    }
}

#[test]
fn bodies_that_are_no_conversation_pass_and_are_counted() {
    let (memory, exchanges) = Scripted::new(BOTH, |_, _| note());
    let world = World::new(memory);
    let nested = "[".repeat(200_000);
    for body in ["", "{", "null", "[1]", r#"{"messages":7}"#, "\u{0}\u{1}", &nested] {
        assert_eq!(world.ask(JSON, body.as_bytes()).1, body.as_bytes());
    }
    let torn = &gzip(QUESTION.as_bytes())[..20];
    assert_eq!(world.ask(&format!("{JSON}content-encoding: gzip\r\n"), torn).1, torn);
    assert!(exchanges.try_recv().is_err());
    let counts = world.proxy.counts();
    assert_eq!((counts.unreadable, counts.failed, counts.added), (8, 0, 0));
}

#[test]
fn an_exchange_is_seen_without_holding_the_request() {
    let (memory, exchanges) = Scripted::new(SEES, |_, _| note());
    let (sender, seen) = mpsc::channel();
    let address = upstream(move |mut peer| {
        peer.head();
        let _ = sender.send(peer.exact(10));
        peer.exact(QUESTION.len() - 10);
        peer.send(stream());
    });
    let (_proxy, port) = start(settings(address), memory);
    let mut client = Peer::connect(port);
    let headers = format!("{JSON}content-length: {}\r\n", QUESTION.len());
    client.send(request(port, "POST /v1/chat/completions", &headers, ""));
    client.send(&QUESTION[..10]);
    // The upstream has the first bytes before the client sends the rest.
    assert_eq!(seen.recv().unwrap(), QUESTION.as_bytes()[..10]);
    client.send(&QUESTION[10..]);
    let head = client.head();
    assert_eq!(client.body(&head), CHUNKS.concat().as_bytes());
    let exchange = exchanges.recv().unwrap();
    assert_eq!((exchange.added.len(), said(&exchange)), (0, good_day(true)));
    assert!(exchange.ended_after >= exchange.answered_after);
}

#[test]
fn a_compressed_answer_passes_as_it_is_and_is_read() {
    let coded = gzip(CHUNKS.concat().as_bytes());
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        coded.len()
    );
    let (memory, exchanges) = Scripted::new(SEES, |_, _| note());
    let world = World::with(memory, Duration::ZERO, [head.as_bytes(), &coded].concat());
    let (_, body) = Peer::connect(world.port).ask(request(world.port, "POST /v1/chat/completions", JSON, QUESTION));
    assert!(body == coded);
    assert_eq!(said(&exchanges.recv().unwrap()), good_day(true));
}

#[test]
fn the_answer_of_an_error_is_not_told() {
    let error = json!({"error": {"message": "overloaded"}}).to_string();
    let (memory, exchanges) = Scripted::new(SEES, |_, _| note());
    let answer =
        format!("HTTP/1.1 529 Overloaded\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{error}", error.len());
    let world = World::with(memory, Duration::ZERO, answer);
    Peer::connect(world.port).ask(request(world.port, "POST /v1/chat/completions", JSON, QUESTION));
    let exchange = exchanges.recv().unwrap();
    assert_eq!((exchange.status, exchange.answer, world.proxy.counts().unreadable), (529, None, 0));
}

#[test]
fn a_stream_that_broke_off_is_told_as_not_whole() {
    for is_client in [true, false] {
        let address = upstream(move |mut peer| {
            let head = peer.head();
            peer.body(&head);
            let chunks = CHUNKS[..2].iter().map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len())).collect::<String>();
            peer.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
            peer.send(chunks);
            if is_client {
                peer.rest();
            }
        });
        let (memory, exchanges) = Scripted::new(SEES, |_, _| note());
        let (_proxy, port) = start(settings(address), memory);
        let mut client = Peer::connect(port);
        client.send(request(port, "POST /v1/chat/completions", JSON, QUESTION));
        client.head();
        client.exact(CHUNKS[0].len() + CHUNKS[1].len());
        if is_client {
            drop(client);
        } else {
            client.rest();
        }
        let exchange = exchanges.recv().unwrap();
        assert!(!exchange.answer.unwrap().is_whole, "broken off by the client: {is_client}");
    }
}

#[test]
fn an_answer_too_long_to_keep_passes_whole_and_is_not_told() {
    let (memory, exchanges) = Scripted::new(SEES, |_, _| note());
    let (address, _seen) = answering(stream());
    let mut settings = settings(address);
    settings.longest_kept = 100;
    let (proxy, port) = start(settings, memory);
    let (_, body) = Peer::connect(port).ask(request(port, "POST /v1/chat/completions", JSON, QUESTION));
    assert_eq!(body, CHUNKS.concat().as_bytes());
    assert_eq!((exchanges.recv().unwrap().answer, proxy.counts().dropped), (None, 1));
}

#[test]
fn exchanges_that_a_stuck_memory_cannot_take_are_dropped() {
    let (release, held) = mpsc::channel::<()>();
    let told = Arc::new(Mutex::new(0));
    struct Stuck(Mutex<mpsc::Receiver<()>>, Arc<Mutex<usize>>);
    impl Memory for Stuck {
        fn wants(&self, _: &yore_proxy::Asked) -> Wants {
            SEES
        }
        fn additions(&self, _: &yore_proxy::Asked, _: &Conversation) -> Vec<Addition> {
            Vec::new()
        }
        fn exchanged(&self, exchanges: Vec<Exchange>) {
            assert!(exchanges.len() <= yore_proxy::MOST_TOLD, "{}", exchanges.len());
            *self.1.lock().unwrap() += exchanges.len();
            let _ = self.0.lock().unwrap().recv();
        }
    }
    let world = World::new(Stuck(Mutex::new(held), told.clone()));
    world.ask(JSON, QUESTION.as_bytes());
    eventually("one is in the memory's hands", || *told.lock().unwrap() == 1);
    for _ in 0..300 {
        world.ask(JSON, QUESTION.as_bytes());
    }
    eventually("the queue is full", || world.proxy.counts().dropped == 300 - 256);
    assert_eq!(world.proxy.counts().passed, 301);
    drop(release);
    drop(world.proxy);
    assert_eq!(*told.lock().unwrap(), 1 + 256);
}
