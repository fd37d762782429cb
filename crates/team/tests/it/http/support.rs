//! Servers on loopback, and a client that speaks raw bytes.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use uuid::Uuid;
use yore_team::serve::{Listening, Serving, Times};
use yore_team::server::{Limits, ServerSettings, create_team, router};
use yore_team::wire::{Change, Invite, Joined, Operation, Problem, Push, name_of};

use super::store::Faulty;

/// Time of the servers' clock.
pub const NOW: i64 = 1_800_000_000_000;
/// Time after which a test that waits for bytes has failed.
pub const STUCK: Duration = Duration::from_secs(20);

/// Lines that all servers of this process logged.
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn log(line: &str) {
    assert!(!line.contains('\n'));
    LOG.lock().unwrap().push(line.to_owned());
}

/// Returns whether a line with these words was logged; waits for it a while.
pub fn is_logged(words: &str) -> bool {
    let end = Instant::now() + STUCK;
    while Instant::now() < end {
        if LOG.lock().unwrap().iter().any(|line| line.contains(words)) {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Returns all lines that were logged.
pub fn logged() -> String {
    LOG.lock().unwrap().join("\n")
}

/// Returns settings with a clock that stands still; `serving` listens on a free port.
pub fn settings() -> (ServerSettings, Serving) {
    // Tests of wrong tokens send many.
    let limits = Limits { failures: u32::MAX, ..Limits::default() };
    let server = ServerSettings { metrics: true, now: || NOW, log, limits };
    (server, Serving { addresses: vec!["127.0.0.1:0".parse().unwrap()], log, ..Serving::default() })
}

/// Times of connections that end soon.
pub fn short_times() -> Times {
    let time = Duration::from_millis(300);
    Times { head: time, idle: time, stall: time, linger: time, ..Times::default() }
}

/// A server that runs until it is dropped.
pub struct Server {
    pub address: SocketAddr,
    pub store: Faulty,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start() -> Self {
        let (server, serving) = settings();
        Self::with(server, serving)
    }

    pub fn with(server: ServerSettings, serving: Serving) -> Self {
        let (sender, addresses) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let store = Faulty::default();
        let served = store.clone();
        let thread = thread::spawn(move || {
            block_on(async {
                let listening = Listening::open(serving).await.unwrap();
                sender.send(listening.addresses()[0]).unwrap();
                let stopped = async {
                    let _ = stopped.await;
                };
                listening.serve(router(Arc::new(served), server), stopped).await;
            });
        });
        Self { address: addresses.recv().unwrap(), store, stop: Some(stop), thread: Some(thread) }
    }

    /// Has the server begin to stop.
    pub fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Returns whether it has stopped.
    pub fn has_stopped(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Creates a team, and returns its first owner's token and id.
    pub fn team(&self, name: &str) -> Person {
        let (_, Invite { invite, .. }) = block_on(create_team(&self.store, name, 1, NOW)).unwrap();
        self.join(&invite, "owner@example.org")
    }

    /// Has somebody join by an invitation.
    pub fn join(&self, invite: &str, email: &str) -> Person {
        let body = json!({"invite": invite, "name": "Ana", "email": email, "computer": "laptop"});
        let joined: Joined = self.ask("POST", "/v1/join", None, Some(&body)).ok();
        Person { token: joined.token, id: joined.me.member, team: joined.me.team }
    }

    /// Has an owner invite somebody, and has that one join.
    pub fn add(&self, owner: &Person, role: &str, email: &str) -> Person {
        let body = json!({"role": role, "email": email, "hours": 1});
        let invite: Invite = self.ask("POST", "/v1/invites", Some(&owner.token), Some(&body)).ok();
        self.join(&invite.invite, email)
    }

    /// Sends a request on a connection of its own.
    pub fn ask(&self, method: &str, path: &str, token: Option<&str>, body: Option<&Value>) -> Reply {
        self.raw(&request(method, path, token, body.map(|body| serde_json::to_vec(body).unwrap()).as_deref()))
    }

    /// Sends a request, and reads the answer.
    pub fn raw(&self, request: &[u8]) -> Reply {
        let mut client = Client::connect(self.address);
        // The server may have answered and closed before it had everything.
        let _ = client.0.get_mut().write_all(request);
        client.reply().expect("an answer")
    }

    pub fn get(&self, path: &str, token: &str) -> Reply {
        self.ask("GET", path, Some(token), None)
    }

    pub fn push(&self, who: &Person, project: &str, changes: &[Change]) -> Reply {
        let operations = changes.iter().map(|change| Operation { id: id(), change: change.clone() }).collect();
        let body = serde_json::to_value(Push { operations }).unwrap();
        self.ask("POST", &format!("/v1/projects/{project}/push"), Some(&who.token), Some(&body))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        let ended = self.thread.take().unwrap().join();
        if !thread::panicking() {
            ended.unwrap();
        }
    }
}

/// A member.
#[derive(Clone)]
pub struct Person {
    pub token: String,
    pub id: Uuid,
    pub team: Uuid,
}

/// Returns an id that was not returned before.
pub fn id() -> Uuid {
    static LAST: AtomicU64 = AtomicU64::new(1);
    Uuid::from_u64_pair(1, LAST.fetch_add(1, Relaxed))
}

pub fn add(text: &str) -> Change {
    Change::Add { name: name_of(text), text: text.to_owned() }
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future)
}

/// Makes a request.
pub fn request(method: &str, path: &str, token: Option<&str>, body: Option<&[u8]>) -> Vec<u8> {
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: team\r\n");
    if let Some(token) = token {
        request += &format!("Authorization: Bearer {token}\r\n");
    }
    if let Some(body) = body {
        request += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    }
    let mut request = (request + "\r\n").into_bytes();
    request.extend_from_slice(body.unwrap_or_default());
    request
}

/// One side of a connection.
pub struct Client<S = TcpStream>(pub BufReader<S>);

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(STUCK)).unwrap();
        stream.set_write_timeout(Some(STUCK)).unwrap();
        Self(BufReader::new(stream))
    }

    /// Waits until the other side closes, and returns how long that took.
    pub fn closed(&mut self) -> Duration {
        let start = Instant::now();
        let mut bytes = Vec::new();
        if let Err(error) = self.0.read_to_end(&mut bytes) {
            assert!(!matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "the server keeps the connection");
        }
        start.elapsed()
    }
}

impl<S: Read + Write> Client<S> {
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).unwrap();
        self.0.get_mut().flush().unwrap();
    }

    /// Reads an answer; `None` if there is none.
    pub fn reply(&mut self) -> Option<Reply> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if self.0.read_until(b'\n', &mut head).ok()? == 0 {
                return None;
            }
        }
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let mut reply = Reply { status, head, body: Vec::new() };
        if status >= 200 && status != 204 {
            let length = reply.header("content-length").expect("answers have a length").parse().unwrap();
            reply.body = vec![0; length];
            self.0.read_exact(&mut reply.body).ok()?;
        }
        Some(reply)
    }
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// Returns the value of a success.
    pub fn ok<T: DeserializeOwned + Serialize>(&self) -> T {
        assert_eq!(self.status, 200, "{}", self.text());
        assert_eq!(self.header("cache-control"), Some("no-store"));
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns the code of a refusal with a status.
    pub fn problem(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}{}", self.head, self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert_eq!(self.header("cache-control"), Some("no-store"));
        let Problem { code, message } = serde_json::from_slice(&self.body).unwrap();
        assert!(code.starts_with("team/") && !message.is_empty() && !message.contains('\n'), "{code}: {message}");
        code
    }
}
