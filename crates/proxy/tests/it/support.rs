//! Clients and upstreams that speak raw bytes, and memories that do what a test says.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use yore_proxy::{Addition, Asked, Conversation, Exchange, Memory, NoMemory, Proxy, Settings, Upstream, Wants, serve};

pub const TOKEN: &str = "0123456789abcdef";
/// Time after which a test that waits for bytes has failed.
const STUCK: Duration = Duration::from_secs(20);

/// One side of a connection.
pub struct Peer(pub BufReader<TcpStream>);

impl Peer {
    pub fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(STUCK)).unwrap();
        stream.set_write_timeout(Some(STUCK)).unwrap();
        Self(BufReader::new(stream))
    }

    pub fn connect(port: u16) -> Self {
        Self::new(TcpStream::connect(("127.0.0.1", port)).unwrap())
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Reads up to and with an empty line; shorter if the other side closes before.
    pub fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if self.0.read_until(b'\n', &mut head).unwrap() == 0 {
                break;
            }
        }
        String::from_utf8(head).unwrap()
    }

    pub fn exact(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Reads one chunk; an empty one is the last, without its trailers.
    pub fn chunk(&mut self) -> Vec<u8> {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).unwrap_or_else(|_| panic!("not a chunk: {line:?}"));
        if length == 0 {
            return Vec::new();
        }
        let mut bytes = self.exact(length + 2);
        bytes.truncate(length);
        bytes
    }

    /// Reads what follows the last chunk, up to and with an empty line.
    pub fn trailers(&mut self) -> String {
        let mut trailers = String::new();
        while trailers != "\r\n" && !trailers.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut trailers).unwrap() == 0 {
                break;
            }
        }
        trailers
    }

    /// Reads a body as the head tells its length.
    pub fn body(&mut self, head: &str) -> Vec<u8> {
        if let Some(length) = header(head, "content-length") {
            return self.exact(length.parse().unwrap());
        }
        let mut body = Vec::new();
        if header(head, "transfer-encoding").is_some() {
            loop {
                let chunk = self.chunk();
                if chunk.is_empty() {
                    self.trailers();
                    return body;
                }
                body.extend(chunk);
            }
        }
        body
    }

    /// Reads to the end, which may be an error.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Err(error) = self.0.read_to_end(&mut bytes) {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the other side hangs after {} bytes", bytes.len());
        }
        bytes
    }

    /// Sends a request and reads its answer.
    pub fn ask(&mut self, request: impl AsRef<[u8]>) -> (String, Vec<u8>) {
        self.send(request);
        let head = self.head();
        let body = self.body(&head);
        (head, body)
    }
}

/// Returns the value of a header.
pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

pub fn status(head: &str) -> u16 {
    head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("no status in {head:?}"))
}

/// Starts an upstream that runs `handler` for each connection, on a thread of its own.
pub fn upstream(handler: impl Fn(Peer) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let handler = Arc::new(handler);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (handler, stream) = (handler.clone(), stream.unwrap());
            thread::spawn(move || handler(Peer::new(stream)));
        }
    });
    address
}

/// Starts an upstream that answers every request alike. It tells the head and body of each.
pub fn answering(answer: impl Into<Vec<u8>>) -> (SocketAddr, mpsc::Receiver<(String, Vec<u8>)>) {
    let answer = answer.into();
    let (sender, seen) = mpsc::channel();
    let address = upstream(move |mut peer| {
        loop {
            let head = peer.head();
            if !head.ends_with("\r\n\r\n") {
                return;
            }
            let body = peer.body(&head);
            let _ = sender.send((head, body));
            peer.send(&answer);
        }
    });
    (address, seen)
}

pub const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

pub fn settings(address: SocketAddr) -> Settings {
    let base = format!("http://{address}").parse().unwrap();
    Settings::new(TOKEN, BTreeMap::from([("up".to_owned(), Upstream { base })]))
}

pub fn start(settings: Settings, memory: impl Memory) -> (Proxy, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (serve(listener, settings, Arc::new(memory)).unwrap(), port)
}

pub fn plain(address: SocketAddr) -> (Proxy, u16) {
    start(settings(address), NoMemory)
}

/// Returns a request to upstream `up`. Lines of headers end with `\r\n`.
pub fn request(port: u16, line: &str, headers: &str, body: &str) -> String {
    let (method, rest) = line.split_once(' ').unwrap();
    let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    format!("{method} /{TOKEN}/up{rest} HTTP/1.1\r\nhost: localhost:{port}\r\n{headers}{length}\r\n{body}")
}

/// Waits until a condition holds.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("never happened: {what}");
}

type Adds = Box<dyn Fn(&Asked, &Conversation) -> Vec<Addition> + Send + Sync>;

/// A memory that does what a test says.
pub struct Scripted {
    wants: Wants,
    adds: Adds,
    told: Mutex<mpsc::Sender<Exchange>>,
}

impl Scripted {
    pub fn new(
        wants: Wants,
        adds: impl Fn(&Asked, &Conversation) -> Vec<Addition> + Send + Sync + 'static,
    ) -> (Self, mpsc::Receiver<Exchange>) {
        let (told, exchanges) = mpsc::channel();
        (Self { wants, adds: Box::new(adds), told: Mutex::new(told) }, exchanges)
    }
}

impl Memory for Scripted {
    fn wants(&self, _: &Asked) -> Wants {
        self.wants
    }

    fn additions(&self, asked: &Asked, conversation: &Conversation) -> Vec<Addition> {
        (self.adds)(asked, conversation)
    }

    fn exchanged(&self, exchanges: Vec<Exchange>) {
        let told = self.told.lock().unwrap();
        exchanges.into_iter().for_each(|exchange| drop(told.send(exchange)));
    }
}
