//! Random mutations of valid requests: none is an error of the server, and none ends it.

use std::io::Write;
use std::thread;
use std::time::Duration;

use serde_json::json;
use yore_team::serve::Times;
use yore_team::server::{Limits, ServerSettings};
use yore_team::wire::Pushed;

use super::support::{Client, Server, add, id, request, settings, short_times};

const MUTATIONS: usize = 2_000;
const THREADS: usize = 16;

/// A small generator of numbers, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as usize
    }

    /// Changes some bytes.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        const BYTES: &[u8] = b"\0\r\n\"\\{}[]:,-0189%/? \x7f\xc3\xff\xf0aA";
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let end = (at + 1 + self.below(8)).min(bytes.len());
            match self.below(6) {
                0 if !bytes.is_empty() => bytes[at] = BYTES[self.below(BYTES.len())],
                1 => bytes.insert(at, BYTES[self.below(BYTES.len())]),
                2 => drop(bytes.drain(at..end)),
                3 => {
                    let part = bytes[at..end].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, part);
                }
                4 => bytes.truncate(bytes.len() - self.below(bytes.len().min(40))),
                _ if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                _ => {}
            }
        }
    }
}

#[test]
fn no_mutation_of_a_request_is_an_error_of_the_server() {
    let (server, mut serving) = settings();
    serving.times = Times { head: Duration::from_millis(150), ..short_times() };
    let limits = Limits { stall: Duration::from_millis(150), ..server.limits };
    let server = Server::with(ServerSettings { limits, ..server }, serving);
    let owner = server.team("a");
    let member = server.add(&owner, "member", "member@example.org");
    server.push(&owner, "p", &[add("text")]).ok::<Pushed>();
    let on = |what: &str| format!("/v1/members/{}/{what}", member.id);
    let push = json!({"operations": [
        {"id": id(), "change": add("a text")},
        {"id": id(), "change": {"kind": "take-back", "name": "0123456789abcdef0123456789abcdef"}},
        {"id": id(), "change": {"kind": "forget", "name": "0123456789abcdef0123456789abcdef"}},
    ]});
    let valid = [
        ("GET", "/v1/me".to_owned(), None),
        ("GET", "/v1/members".to_owned(), None),
        ("GET", "/v1/projects".to_owned(), None),
        ("GET", "/v1/projects/caf%C3%A9/pull?after=3&limit=10".to_owned(), None),
        ("GET", "/v1/audit?before=9&limit=3".to_owned(), None),
        ("POST", on("withdraw"), None),
        ("POST", on("restore"), None),
        ("POST", "/v1/projects/p/push".to_owned(), Some(push)),
        ("POST", "/v1/invites".to_owned(), Some(json!({"role": "member", "email": "a@b.org", "hours": 24}))),
        ("POST", "/v1/join".to_owned(), Some(json!({"invite": "x", "name": "Ana", "email": "a@b.org", "computer": "c"}))),
    ];
    let (server, owner, valid) = (&server, &owner, &valid);
    let answered: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (thread as u64 + 1));
                    (0..MUTATIONS / THREADS).filter(|number| mutant(server, &owner.token, valid, &mut random, *number)).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(answered > MUTATIONS / 2, "only {answered} had an answer");
    assert_eq!(server.get("/v1/me", &owner.token).status, 200);
    server.push(owner, "p", &[add("another text")]).ok::<Pushed>();
}

/// Sends a mutated request, and returns whether it was answered.
fn mutant(
    server: &Server,
    token: &str,
    valid: &[(&str, String, Option<serde_json::Value>)],
    random: &mut Random,
    number: usize,
) -> bool {
    let (method, path, body) = &valid[random.below(valid.len())];
    let mut body = body.as_ref().map(|body| body.to_string().into_bytes());
    // Every second one has a right head, and so must be answered.
    let is_framed = number.is_multiple_of(2) && body.is_some();
    if is_framed {
        body.iter_mut().for_each(|body| random.mutate(body));
    }
    let mut bytes = request(method, path, Some(token), body.as_deref());
    if !is_framed {
        random.mutate(&mut bytes);
    }
    let mut client = Client::connect(server.address);
    let _ = client.0.get_mut().write_all(&bytes);
    let reply = client.reply();
    let shown = String::from_utf8_lossy(&bytes);
    assert!(reply.is_some() || !is_framed, "no answer to {shown}");
    assert!(reply.as_ref().is_none_or(|reply| reply.status < 500), "{reply:?} to {shown}");
    reply.is_some()
}
