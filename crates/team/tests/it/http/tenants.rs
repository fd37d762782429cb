//! People of one team try to reach another one on PostgreSQL: they learn nothing of it and change nothing of it.
//!
//! Each try is sent twice: with things of the other team, and with things that exist nowhere. The answers must be equal.

use std::collections::{BTreeMap, HashSet};
use std::future::pending;
use std::io::Write;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_postgres::Client as Admin;
use uuid::Uuid;
use yore_team::postgres::Postgres;
use yore_team::serve::Listening;
use yore_team::server::{ServerSettings, create_team, router};
use yore_team::store::{Quota, Store};
use yore_team::wire::{Invite, Joined, Outcome, Pulled, Pushed, SharedSession, name_of};

use super::support::{Client, NOW, Person, Reply, block_on, request, settings};
use crate::database::Database;
use crate::team::{next, session, vector};

const TRIES: usize = 5_000;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// A word in the other team's private texts, in the names of its people and computers, and in addresses.
const MARKER: &str = "kestrelwort";
/// Numbers of the other team's changes, and of nothing else.
const THEIR_NUMBERS: Range<u64> = 7_000_000..8_000_000;
/// The time at which everything of the other team happened, and nothing else.
const THEIR_TIME: i64 = NOW + 100_123_457;
const HOUR_MS: i64 = 3_600_000;
const PREFIX: &str = "yore-team-";
const STATE: &str = "
    select format('select ''%1$s '' || ctid || xmin::text || to_jsonb(t)::text from yore.%1$I as t where tenant <> $1', relname)
    from pg_class
    where relnamespace = 'yore'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'schema_version'";

static CLOCK: AtomicI64 = AtomicI64::new(NOW);

/// A generator of numbers; a clone makes the same choices.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() >> 33) as usize % most
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Things that a try names: those of the other team, or as many that exist nowhere (or, like the common ones, in the own team).
struct Things {
    team: Uuid,
    members: Vec<Uuid>,
    /// The own team's people know the first two, which contain no marker: of somebody who is in both teams, and of a stranger.
    addresses: Vec<String>,
    /// Random parts of tokens and invitations.
    secrets: Vec<String>,
    /// Operations that the other team makes before the tries, then those that it makes after them.
    operations: Vec<Uuid>,
    /// Names of private texts.
    names: Vec<String>,
    /// Texts that both teams share, then texts that the own team's people guess.
    texts: Vec<String>,
    /// Ids of sessions.
    sessions: Vec<String>,
    /// Projects that both teams have, then one that the own team's people guess.
    projects: Vec<String>,
}

/// Texts that both teams share.
const COMMON: usize = 5;
/// Operations that the other team makes after the tries.
const LATER: usize = 40;
/// Credentials of the own team's people that are valid tokens.
const WITH_ACCESS: usize = 4;

impl Things {
    fn credential(&self, secret: &str) -> String {
        format!("{PREFIX}{}-{secret}", self.team.simple())
    }

    /// Returns the words by which an answer may repeat what the own team's people said.
    fn sayable(&self) -> Vec<String> {
        let names = self.texts.iter().map(|text| name_of(text));
        let words = self.projects.iter().chain(&self.texts).chain(&self.addresses);
        words.cloned().chain(names).chain(self.names.iter().cloned()).chain([self.team.to_string()]).collect()
    }
}

/// Everything that the own team's people have.
struct Ours {
    team: Uuid,
    /// Tokens with access, first the owner's, then revoked ones, then invitations, none of which can be used with an address of
    /// the other team.
    credentials: Vec<String>,
    /// Their random parts.
    secrets: Vec<String>,
}

/// A connection that is opened again when the server has closed it.
struct Line {
    address: SocketAddr,
    client: Option<Client>,
}

impl Line {
    fn begin(&mut self, request: &[u8]) {
        let client = self.client.get_or_insert_with(|| Client::connect(self.address));
        let _ = client.0.get_mut().write_all(request);
    }

    fn end(&mut self, request: &[u8]) -> Reply {
        let mut client = self.client.take().unwrap();
        let reply = client.reply().unwrap_or_else(|| panic!("no answer to {}", String::from_utf8_lossy(request)));
        self.client = (reply.header("connection") != Some("close")).then_some(client);
        reply
    }

    fn send(&mut self, request: &[u8]) -> Reply {
        self.begin(request);
        self.end(request)
    }

    fn ask(&mut self, method: &str, path: &str, token: Option<&str>, body: Option<&Value>) -> Reply {
        self.send(&request(method, path, token, body.map(|body| body.to_string().into_bytes()).as_deref()))
    }

    fn join(&mut self, invite: &str, name: &str, email: &str) -> Person {
        let body = json!({"invite": invite, "name": name, "email": email, "computer": format!("{name}-1")});
        let joined: Joined = self.ask("POST", "/v1/join", None, Some(&body)).ok();
        Person { token: joined.token, id: joined.me.member, team: joined.me.team }
    }

    fn invite(&mut self, owner: &Person, role: &str, email: Option<&str>) -> String {
        let body = json!({"role": role, "email": email, "hours": 1});
        self.ask("POST", "/v1/invites", Some(&owner.token), Some(&body)).ok::<Invite>().invite
    }

    fn add(&mut self, owner: &Person, role: &str, name: &str, email: &str) -> Person {
        let invite = self.invite(owner, role, Some(email));
        self.join(&invite, name, email)
    }

    fn push(&mut self, who: &Person, project: &str, operations: &[Value]) -> Vec<Outcome> {
        let path = format!("/v1/projects/{}/push", encoded(project));
        self.ask("POST", &path, Some(&who.token), Some(&json!({"operations": operations}))).ok::<Pushed>().outcomes
    }

    fn pull(&mut self, who: &Person, project: &str) -> Pulled {
        self.ask("GET", &format!("/v1/projects/{}/pull", encoded(project)), Some(&who.token), None).ok()
    }

    fn share(&mut self, who: &Person, project: &str, sessions: &[SharedSession]) {
        let path = format!("/v1/projects/{}/sessions", encoded(project));
        let reply = self.ask("POST", &path, Some(&who.token), Some(&json!({"order": next(), "sessions": sessions})));
        assert_eq!(reply.status, 204, "{}", reply.text());
    }

    fn remove(&mut self, owner: &Person, who: &Person) {
        let path = format!("/v1/members/{}/remove", who.id);
        assert_eq!(self.ask("POST", &path, Some(&owner.token), None).status, 200);
    }
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn secret(credential: &str) -> String {
    credential.rsplit('-').next().unwrap().to_owned()
}

fn addition(id: Uuid, text: &str) -> Value {
    json!({"id": id, "change": {"kind": "add", "name": name_of(text), "text": text}})
}

/// The teams and what is known of the other one.
struct World {
    ours: Ours,
    theirs: Things,
    nowhere: Things,
    /// The other team's owner.
    owner: Person,
    /// Words that no answer may contain: of ids, the last groups of digits.
    words: HashSet<String>,
}

impl World {
    fn new(line: &mut Line, random: &mut Random, our_invite: &str, their_invite: &str) -> Self {
        let mut uuid = || uuid::Builder::from_random_bytes(random_bytes(random)).into_uuid();
        let texts = |what: &str| (0..3 * COMMON).map(|n| format!("A {what} of some people, the {n}th.")).collect::<Vec<_>>();
        let private: Vec<String> = (0..60).map(|n| format!("{MARKER} is the secret number {n}.")).collect();
        let operations: Vec<Uuid> = (0..200 + LATER).map(|_| uuid()).collect();
        let names = ["twin", "wren", "rook", "gone"];
        let email = |who: &str, word: &str| {
            let is_known = ["twin", "wren", "lone", "dove"].contains(&who);
            format!("{who}@{}example.org", if is_known { "" } else { word })
        };

        // The other team, with an operation of each outcome.
        CLOCK.store(THEIR_TIME, Relaxed);
        let owner = line.join(their_invite, MARKER, &format!("owner@{MARKER}.example.org"));
        let people = names.map(|who| {
            let role = ["owner", "member", "reader", "member"][names.iter().position(|name| *name == who).unwrap()];
            line.add(&owner, role, &format!("{who} {MARKER}"), &email(who, &format!("{MARKER}.")))
        });
        let open = [line.invite(&owner, "owner", None), line.invite(&owner, "owner", Some("ann@example.org"))];
        line.remove(&owner, &people[3]);
        let said: Vec<String> = private.iter().map(|text| format!("some people say that {text}")).collect();
        let sessions: Vec<SharedSession> = (said.chunks(20).zip(1u128..))
            .map(|(said, n)| session(n << 96 | 7, 0, &said.iter().map(String::as_str).collect::<Vec<_>>()))
            .collect();
        let theirs = Things {
            team: owner.team,
            members: people.iter().chain([&owner]).map(|person| person.id).collect(),
            addresses: names.map(|who| email(who, &format!("{MARKER}."))).to_vec(),
            secrets: people.iter().chain([&owner]).map(|person| secret(&person.token)).chain(open.map(|s| secret(&s))).collect(),
            operations,
            names: private.iter().map(|text| name_of(text)).collect(),
            texts: texts("habit"),
            sessions: sessions.iter().map(|session| session.head.id.clone()).collect(),
            projects: ["pier", "quay", "sluice"].map(str::to_owned).to_vec(),
        };
        let shared = |n: usize| theirs.texts[..COMMON].iter().chain(&private).nth(n % (COMMON + private.len())).unwrap();
        for (n, ids) in theirs.operations[..200].chunks(50).enumerate() {
            // Every second one is refused: the name is wrong.
            let operation = |(at, id): (usize, &Uuid)| match at % 2 {
                0 => addition(*id, shared(n * 25 + at / 2)),
                _ => json!({"id": id, "change": {"kind": "add", "name": name_of("x"), "text": MARKER}}),
            };
            let operations: Vec<Value> = ids.iter().enumerate().map(operation).collect();
            line.push(&people[n % 2], [theirs.projects[n % 3].as_str(), MARKER][n / 3], &operations);
        }

        for project in [theirs.projects[0].as_str(), MARKER] {
            line.share(&people[0], project, &sessions);
        }

        // The own team: in its projects are the common texts, and as many of the kind that only it has.
        CLOCK.store(NOW, Relaxed);
        let nowhere = Things {
            team: uuid(),
            members: theirs.members.iter().map(|_| uuid()).collect(),
            addresses: ["lone", "dove", "rook", "gone"].map(|who| email(who, "nightshades.")).to_vec(),
            secrets: theirs.secrets.iter().map(|_| format!("{}{}", uuid().simple(), uuid().simple())).collect(),
            operations: theirs.operations.iter().map(|_| uuid()).collect(),
            names: private.iter().map(|text| name_of(&format!("nowhere {text}"))).collect(),
            texts: texts("trait"),
            sessions: sessions.iter().map(|_| uuid().simple().to_string()).collect(),
            projects: ["moor", "dock", "runlet"].map(str::to_owned).to_vec(),
        };
        let ann = line.join(our_invite, "ann", "olga@example.org");
        let ben = line.add(&ann, "member", "ben", "ben@example.org");
        let cleo = line.add(&ann, "reader", "cleo", "cleo@example.org");
        // One who is an owner there.
        let twin = line.add(&ann, "reader", "twin", "twin@example.org");
        assert!(!theirs.members.contains(&twin.id));
        line.add(&ann, "reader", "lone", "lone@example.org");
        let removed = line.add(&ann, "owner", "removed", "removed@example.org");
        line.remove(&ann, &removed);
        let left = line.add(&ann, "member", "left", "left@example.org");
        assert_eq!(line.ask("POST", "/v1/leave", Some(&left.token), None).status, 204);
        for things in [&theirs, &nowhere] {
            for project in &things.projects[..2] {
                let additions: Vec<Value> = things.texts[..COMMON].iter().map(|text| addition(uuid(), text)).collect();
                line.push(&ben, project, &additions);
                line.share(&ben, project, &[session(9, 0, &["some people share a session", "and others read it"])]);
            }
        }
        let expired = line.invite(&ann, "owner", None);
        CLOCK.store(NOW + 2 * HOUR_MS, Relaxed);
        let addressed = line.invite(&ann, "owner", Some("dora@example.org"));
        let tokens = [ann, ben, cleo, twin, removed, left].map(|person| person.token);
        let credentials: Vec<String> = tokens.into_iter().chain([our_invite.to_owned(), expired, addressed]).collect();
        let secrets = credentials.iter().map(|credential| secret(credential)).collect();
        let our_team = credentials[0].strip_prefix(PREFIX).unwrap().split('-').next().unwrap().parse().unwrap();

        let of_sessions = theirs.sessions.clone();
        let ids = theirs.members.iter().chain(&theirs.operations);
        let ids = ids.flat_map(|id| [id.to_string()[24..].to_owned(), id.simple().to_string()]);
        let words = ids.chain(theirs.secrets.iter().chain(&theirs.names).cloned()).chain(of_sessions).collect();
        Self { ours: Ours { team: our_team, credentials, secrets }, theirs, nowhere, owner, words }
    }

    /// Checks that an answer has nothing of the other team. A number that the request names as a cursor comes back.
    fn assert_tells_nothing(&self, request: &str, reply: &Reply) {
        let told = format!("{}{}", reply.head, reply.text());
        assert!(reply.status < 500, "{request}\n{told}");
        let mut lower = told.to_ascii_lowercase();
        let told_as_json = serde_json::from_slice::<Value>(&reply.body).ok();
        // Names that the own team's people had forgotten come back as such.
        let records = told_as_json.as_ref().and_then(|told| told["records"].as_array()).into_iter().flatten();
        for record in records.filter(|record| record["is_forgotten"] == true && record["text"].is_null()) {
            lower = lower.replace(record["name"].as_str().unwrap(), "");
        }
        assert!(!lower.contains(MARKER), "the marker is told:\n{request}\n{told}");
        for word in lower.split(|c: char| !c.is_ascii_alphanumeric()) {
            assert!(!self.words.contains(word), "{word} is told:\n{request}\n{told}");
        }
        let Some(value) = &told_as_json else { return };
        let mut left = vec![("", value)];
        while let Some((key, value)) = left.pop() {
            match value {
                Value::Array(values) => left.extend(values.iter().map(|value| (key, value))),
                Value::Object(values) => left.extend(values.iter().map(|(key, value)| (key.as_str(), value))),
                Value::String(text) => {
                    // The own team's people put the team's id into names of projects.
                    let is_team = key == "team" && *text == self.theirs.team.to_string();
                    assert!(!is_team, "the team is told:\n{request}\n{told}");
                }
                Value::Number(number) => {
                    let number = number.as_u64().unwrap();
                    let is_theirs = THEIR_NUMBERS.contains(&number) || number == THEIR_TIME.cast_unsigned();
                    let is_said = key == "last" && request.contains(&format!("after={number}"));
                    assert!(!is_theirs || is_said, "{number} is told:\n{request}\n{told}");
                }
                Value::Null | Value::Bool(_) => {}
            }
        }
    }

    /// Returns an answer in which the things of the other team and those of nowhere have the same names.
    fn plain(&self, reply: &Reply) -> String {
        let head = reply.head.lines().filter(|line| !line.to_lowercase().starts_with("date:"));
        let mut plain = head.chain([reply.text().as_str()]).collect::<Vec<_>>().join("\n");
        for (n, (their, other)) in self.theirs.sayable().iter().zip(self.nowhere.sayable()).enumerate() {
            plain = plain.replace(their, &format!("<{n}>")).replace(&other, &format!("<{n}>"));
        }
        // A secret of an invitation.
        while let Some(at) = plain.find(PREFIX) {
            plain.replace_range(at..at + PREFIX.len() + 32 + 1 + 64, "<secret>");
        }
        plain
    }
}

fn random_bytes(random: &mut Random) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random.next().to_le_bytes());
    bytes[8..].copy_from_slice(&random.next().to_le_bytes());
    bytes
}

/// Returns a wrong credential: parts of the own team's ones and of the other team's, in many forms.
fn forged(random: &mut Random, ours: &Ours, side: &Things) -> String {
    loop {
        let team = *random.pick(&[ours.team, side.team, side.team, side.team, Uuid::nil(), side.members[0]]);
        let (mut team, mut secret) = (team.simple().to_string(), random.pick(&ours.secrets).clone());
        let their_secret = random.pick(&side.secrets).clone();
        if random.below(3) == 0 {
            secret = their_secret.clone();
        }
        let digits = |text: &str, zero: char| -> String {
            let other = |c: char| c.to_digit(10).and_then(|digit| char::from_u32(u32::from(zero) + digit)).unwrap_or(c);
            text.chars().map(other).collect()
        };
        match random.below(16) {
            0 => team = team.parse::<Uuid>().unwrap().to_string(),
            1 => team = team.to_uppercase(),
            2 => secret = secret.to_uppercase(),
            3 => team.truncate(random.below(32)),
            4 => team.push('0'),
            5 => secret.truncate(random.below(64)),
            6 => secret += &their_secret,
            7 => (team, secret) = (digits(&team, '\u{ff10}'), digits(&secret, '\u{660}')),
            8 => secret = digits(&secret, '\u{ff10}'),
            9 => team.replace_range(..16, &ours.team.simple().to_string()[..16]),
            10 => secret.replace_range(..32, &their_secret[..32]),
            11 => (team, secret) = (secret, team),
            12 => team = format!("{team}-{}", ours.team.simple()),
            _ => {}
        }
        let prefix =
            if random.below(8) == 0 { *random.pick(&["", "yore_team_", "YORE-TEAM-", "yore-team--", " "]) } else { PREFIX };
        let joint = if random.below(12) == 0 { *random.pick(&["", ":", "--", "%2d", "\u{2010}"]) } else { "-" };
        let text = format!("{prefix}{team}{joint}{secret}");
        if !side.secrets.iter().any(|secret| text.trim() == side.credential(secret)) {
            return text;
        }
    }
}

/// Returns the name of a project as a segment of a path.
fn project(random: &mut Random, side: &Things) -> String {
    let known = random.pick(&side.projects);
    let team = side.team;
    let name = match random.below(32) {
        0 => "' or '1'='1".to_owned(),
        1 => "%".to_owned(),
        2 => "_".to_owned(),
        3 => "..".to_owned(),
        4 => "yore.record".to_owned(),
        5 => format!("{known}\0"),
        6 => format!("{known}' or '1'='1"),
        7 => format!("{known}'; delete from yore.record; --"),
        8 => format!("{known}' union select text from yore.record where tenant = '{team}"),
        9 => format!("{known}%"),
        10 => format!("{}_", &known[..known.len() - 1]),
        11 => format!("../{known}"),
        12 => format!("{known}/../../{team}/{known}"),
        13 => format!("{team}/{known}"),
        14 => format!("{team}.{known}"),
        15 => known.to_uppercase(),
        16 => format!(" {known}"),
        17 => format!("{known}\\"),
        18 => "$1".to_owned(),
        19 => format!("{known}\u{200b}"),
        20 => format!("set_config('yore.tenant', '{team}', false)"),
        _ => known.clone(),
    };
    let segment = encoded(&name);
    match random.below(12) {
        0 => encoded(&segment),
        1 => segment.replace("%2F", "/").replace("%2E", "."),
        2 => segment.to_lowercase(),
        _ => segment,
    }
}

/// Returns parameters that no route has, and wrong values of those that some have.
fn query(random: &mut Random, side: &Things, number: &str) -> String {
    let number_value = match random.below(10) {
        0 => "0%20or%201=1".to_owned(),
        1 => format!("0;select%20*%20from%20yore.record%20where%20tenant='{}'", side.team),
        2 => "-1".to_owned(),
        3 => (*random.pick(&["9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616"]))
            .to_owned(),
        4 => "%00".to_owned(),
        5 => (THEIR_NUMBERS.start + random.below(200) as u64).to_string(),
        n => random.below(n * 4).to_string(),
    };
    let mut parts = vec![format!("{number}={number_value}")];
    let team = *random.pick(&["tenant", "team", "yore.tenant", "member", "epoch", "project", "user"]);
    match random.below(6) {
        0 => parts.push(format!("{team}={}", side.team)),
        1 => parts.push(format!("{team}={}", random.pick(&side.members))),
        2 => parts.push(format!("{team}=*&{team}[]={}", side.team)),
        3 => parts.push(
            (*random.pick(&["limit=1%20union%20select%201", "limit=99999999999999999999", "limit=0", "limit=1000"])).to_owned(),
        ),
        4 => parts.insert(0, format!("limit=5&token={}", side.credential(random.pick::<String>(&side.secrets)))),
        _ => {}
    }
    parts.join("&")
}

/// Adds fields that name the other team to an object.
fn enrich(random: &mut Random, side: &Things, object: &mut Value) {
    for _ in 0..random.below(3) {
        let (key, value) = match random.below(7) {
            0 => ("tenant", json!(side.team)),
            1 => ("team", json!(side.team)),
            2 => ("member", json!(random.pick(&side.members))),
            3 => ("seq", json!(THEIR_NUMBERS.start + 1)),
            4 => ("is_forgotten", json!(true)),
            5 => ("project", json!(random.pick(&side.projects))),
            _ => ("made_by", json!(random.pick(&side.members))),
        };
        object[key] = value;
    }
}

fn push(random: &mut Random, side: &Things) -> Value {
    let mut operations = Vec::new();
    for _ in 0..1 + random.below(4) {
        let fresh = Uuid::from_u128(side.team.as_u128() ^ u128::from(random.next()));
        let id = if random.below(2) == 0 { *random.pick(&side.operations) } else { fresh };
        let text = random.pick(&side.texts);
        let name = if random.below(2) == 0 { random.pick(&side.names).clone() } else { name_of(text) };
        let mut change = match random.below(8) {
            0..3 => json!({"kind": "add", "name": name_of(text), "text": text}),
            3 => json!({"kind": "add", "name": name, "text": "another text"}),
            4..6 => json!({"kind": "take-back", "name": name, "is_withheld": random.below(2) == 0}),
            6 => json!({"kind": "forget", "name": random.pick(&side.names)}),
            _ => json!({"kind": "forget", "name": name}),
        };
        enrich(random, side, &mut change);
        let mut operation = json!({"id": id, "change": change});
        enrich(random, side, &mut operation);
        operations.push(operation);
    }
    let mut push = json!({"operations": operations});
    enrich(random, side, &mut push);
    push
}

/// Returns lines of a head that somebody could take for who asks.
fn headers(random: &mut Random, ours: &Ours, side: &Things) -> String {
    let team = side.team;
    let forged = forged(random, ours, side);
    match random.below(16) {
        0 => "X-Forwarded-For: 127.0.0.1, ::1\r\nForwarded: for=127.0.0.1\r\n".to_owned(),
        1 => format!("X-Tenant: {team}\r\nX-Team: {team}\r\nX-Tenant-Id: {team}\r\n"),
        2 => format!("Authorization: Bearer {forged}\r\n"),
        3 => format!(
            "Cookie: token={forged}; team={team}\r\nX-Authorization: Bearer {forged}\r\nProxy-Authorization: Bearer {forged}\r\n"
        ),
        4 => "X-Original-URL: /v1/members\r\nX-Rewrite-URL: /v1/members\r\n".to_owned(),
        5 => format!("X-HTTP-Method-Override: DELETE\r\nX-Member: {}\r\n", random.pick(&side.members)),
        6 => format!("yore.tenant: {team}\r\nX-Forwarded-Host: {team}\r\n"),
        _ => String::new(),
    }
}

/// Returns a try.
fn attempt(random: &mut Random, ours: &Ours, side: &Things) -> Vec<u8> {
    let mut token = match random.below(8) {
        0..2 => forged(random, ours, side),
        2..4 => random.pick(&ours.credentials).clone(),
        _ => random.pick(&ours.credentials[..WITH_ACCESS]).clone(),
    };
    let member = *random.pick(&side.members);
    let get = |path: String| ("GET", path, None);
    let (method, path, body) = match random.below(24) {
        0..3 => {
            let id = match random.below(6) {
                0 => member.simple().to_string(),
                1 => member.to_string().to_uppercase(),
                2 => member.urn().to_string(),
                3 => format!("%7B{member}%7D"),
                4 => format!("{member}'%20or%20'1'='1"),
                _ => member.to_string(),
            };
            let what = *random.pick(&["remove", "withdraw", "restore", ""]);
            let path = format!("/v1/members/{id}/{what}?{}", query(random, side, "after"));
            let mut body = json!({});
            enrich(random, side, &mut body);
            ("POST", path, Some(body))
        }
        3..9 => ("POST", format!("/v1/projects/{}/push", project(random, side)), Some(push(random, side))),
        9..13 => get(format!("/v1/projects/{}/pull?{}", project(random, side), query(random, side, "after"))),
        13 => {
            let mut body = json!({"role": random.pick(&["reader", "owner"]), "email": side.addresses[1], "hours": 1});
            enrich(random, side, &mut body);
            ("POST", "/v1/invites".to_owned(), Some(body))
        }
        14..16 => {
            let invite = if random.below(2) == 0 { forged(random, ours, side) } else { token.clone() };
            let mut body = json!({"invite": invite, "name": "eve", "email": random.pick(&side.addresses), "computer": "eve-1"});
            enrich(random, side, &mut body);
            ("POST", "/v1/join".to_owned(), Some(body))
        }
        16 => {
            // Only the last owner, who cannot leave: others would.
            token.clone_from(&ours.credentials[0]);
            ("POST", format!("/v1/leave?{}", query(random, side, "member")), Some(json!({"member": member, "team": side.team})))
        }
        17 => get(format!("/v1/audit?{}", query(random, side, "before"))),
        20 => {
            let path = format!("/v1/projects/{}/search", project(random, side));
            let words = json!([MARKER, "people", "share", side.names[0]]);
            let vector = if random.below(2) == 0 { Value::Null } else { json!(vector("some people share a session")) };
            let mut body = json!({"words": words, "vector": vector, "limit": 300});
            enrich(random, side, &mut body);
            ("POST", path, Some(body))
        }
        21 => {
            let path = format!("/v1/projects/{}/sessions/read", project(random, side));
            let mut body = json!({"id": random.pick(&side.sessions), "from": 0});
            enrich(random, side, &mut body);
            ("POST", path, Some(body))
        }
        22 => {
            let path = format!("/v1/projects/{}/sessions/remove", project(random, side));
            ("POST", path, Some(json!({"order": {"sender": member, "number": 5}, "ids": [random.pick(&side.sessions)]})))
        }
        23 => get(format!("/v1/projects/{}/sessions", project(random, side))),
        18 => {
            let path = *random.pick(&["/v1/me", "/v1/members", "/v1/projects", "/health", "/ready"]);
            get(format!("{path}?{}", query(random, side, "after")))
        }
        _ => {
            let (team, name) = (side.team, project(random, side));
            get(match random.below(10) {
                0 => format!("/v1/teams/{team}/members"),
                1 => format!("/v1/{team}/projects/{name}/pull"),
                2 => format!("/v1/projects/{team}%2F{name}/pull"),
                3 => format!("/v1/projects/x/../{name}/pull"),
                4 => format!("//v1/members;team={team}"),
                5 => format!("http://{team}/v1/projects/{name}/pull"),
                6 => format!("/v1/members/{member}"),
                7 => format!("/v1/projects/{name}/pull%3Ftenant={team}"),
                8 => "/v1/projects/%2e%2e/pull".to_owned(),
                _ => format!("/v1/me%00/{member}"),
            })
        }
    };
    let body = body.map(|body| body.to_string().into_bytes());
    let host = if random.below(8) == 0 { side.team.to_string() } else { "team".to_owned() };
    let headers = headers(random, ours, side);
    let bytes = request(method, &path, Some(&token), body.as_deref());
    let end = format!("{method} {path} HTTP/1.1\r\nHost: team\r\n").len();
    let start = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}");
    [start.as_bytes(), &bytes[end..]].concat()
}

/// Serves a store until the runtime ends, with the clock of this module.
async fn serve(store: Arc<Postgres>) -> Line {
    let (server, serving) = settings();
    let listening = Listening::open(serving).await.unwrap();
    let address = listening.addresses()[0];
    let router = router(store, ServerSettings { now: || CLOCK.load(Relaxed), ..server });
    tokio::spawn(listening.serve(router, pending()));
    Line { address, client: None }
}

/// Returns all rows of all teams but one, with where and by which transaction they were written.
async fn state(admin: &Admin, but: Uuid) -> Vec<String> {
    let mut state = Vec::new();
    for row in admin.query(STATE, &[]).await.unwrap() {
        let rows = admin.query(row.get::<_, &str>(0), &[&but]).await.unwrap();
        assert!(!rows.is_empty());
        state.extend(rows.iter().map(|row| row.get::<_, String>(0)));
    }
    state.sort();
    state
}

#[test]
fn five_thousand_tries_across_teams_tell_and_change_nothing() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = Arc::new(database.store(Quota::default()).await);
        let mut line = serve(Arc::clone(&store)).await;
        let mut second = Line { address: line.address, client: None };
        let (_, ours) = create_team(&*store, "Team", 1, NOW).await.unwrap();
        let (their_team, theirs) = create_team(&*store, &format!("Team {MARKER}"), 720, NOW).await.unwrap();
        let mut random = Random(SEED);
        let mut world = World::new(&mut line, &mut random, &ours.invite, &theirs.invite);
        let admin = database.admin().await;
        for sql in [
            "update yore.record set seq = seq + $2 where tenant = $1",
            "update yore.project set last = last + $2 where tenant = $1",
        ] {
            assert!(admin.execute(sql, &[&their_team, &THEIR_NUMBERS.start.cast_signed()]).await.unwrap() > 0);
        }
        // Something forgotten, so that each table has rows.
        let forget = json!({"id": Uuid::nil(), "change": {"kind": "forget", "name": name_of(MARKER)}});
        assert_eq!(line.push(&world.owner, MARKER, &[forget]), [Outcome::Done]);
        let before = state(&admin, world.ours.team).await;
        world.words.insert(line.pull(&world.owner, MARKER).epoch.to_string()[24..].to_owned());

        let mut statuses: BTreeMap<(u16, String), usize> = BTreeMap::new();
        for number in 0..TRIES {
            let mut same = random.clone();
            let requests = [attempt(&mut random, &world.ours, &world.theirs), attempt(&mut same, &world.ours, &world.nowhere)];
            // Both at once: it takes half the time.
            line.begin(&requests[0]);
            second.begin(&requests[1]);
            let replies = [line.end(&requests[0]), second.end(&requests[1])];
            for (request, reply) in requests.iter().zip(&replies) {
                world.assert_tells_nothing(&String::from_utf8_lossy(request), reply);
            }
            let [their, nowhere] = replies.each_ref().map(|reply| world.plain(reply));
            let shown = requests.map(|request| String::from_utf8_lossy(&request).into_owned()).join("\n\n");
            assert_eq!(their, nowhere, "try {number}: the answers tell what exists\n{shown}");
            let code = serde_json::from_slice::<Value>(&replies[0].body).ok();
            let code = code.and_then(|value| Some(value.get("code")?.as_str()?.to_owned())).unwrap_or_default();
            *statuses.entry((replies[0].status, code)).or_default() += 1;
            if number % 50 == 0 {
                // The same connection serves the other team too, as behind a proxy; and what would be found is there.
                let pulled = line.pull(&world.owner, "pier");
                let is_private = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(MARKER));
                assert!(pulled.records.iter().any(|record| is_private(&record.text)) && THEIR_NUMBERS.contains(&pulled.last));
            }
        }
        println!("{statuses:?}");
        // Not all were refused at the door.
        let count = |status: u16| statuses.iter().filter(|((s, _), _)| *s == status).map(|(_, count)| count).sum::<usize>();
        for (status, least) in [(200, 500), (400, 100), (401, 500), (403, 50), (404, 50)] {
            assert!(count(status) >= least, "{status}: {statuses:?}");
        }
        assert_eq!(state(&admin, world.ours.team).await, before);
        assert_eq!(store.problems().await.unwrap(), Vec::<String>::new());

        // What the own team's people forgot and used up, the other team still has.
        let last = line.pull(&world.owner, "pier").last;
        let ids = &world.theirs.operations;
        let additions: Vec<Value> = ids[200..]
            .iter()
            .enumerate()
            .map(|(n, id)| addition(*id, &format!("later {n} {}", world.theirs.texts[n % 15])))
            .collect();
        assert_eq!(line.push(&world.owner, "pier", &additions), vec![Outcome::Done; LATER]);
        let guessed: Vec<Value> =
            world.theirs.texts.iter().map(|text| addition(Uuid::from_u128(u128::from(random.next())), text)).collect();
        assert_eq!(line.push(&world.owner, "pier", &guessed), vec![Outcome::Done; guessed.len()]);
        assert_eq!(line.pull(&world.owner, "pier").last, last + (LATER + guessed.len()) as u64);
        // Their own outcomes are theirs.
        let again: Vec<Value> = ids[..2].iter().map(|id| addition(*id, "something else")).collect();
        let outcomes = line.push(&world.owner, "pier", &again);
        assert!(matches!(outcomes[..], [Outcome::Done, Outcome::Refused { .. }]), "{outcomes:?}");
    });
}

/// Prints how long answers take about a team that exists, and about one that does not. Run it with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn time_of_answers_about_teams_that_are_there_and_are_not() {
    const CALLS: usize = 300;
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = Arc::new(database.store(Quota::default()).await);
        let mut line = serve(Arc::clone(&store)).await;
        let (team, invite) = create_team(&*store, "Team", 1, NOW).await.unwrap();
        let owner = line.join(&invite.invite, "ann", "ann@example.org");
        let texts: Vec<Value> = (0..500).map(|n| addition(Uuid::from_u128(n), &format!("text {n}"))).collect();
        line.push(&owner, "pier", &texts);
        let mut random = Random(SEED);
        let mut times: BTreeMap<(&str, &str), Vec<Duration>> = BTreeMap::new();
        let mut is_first = true;
        for call in 0..3 * 2 * (CALLS + 20) {
            if call % 2 == 0 {
                is_first = random.below(2) == 0;
            }
            // Of two calls, which comes first is random.
            let is_there = (call % 2 == 0) == is_first;
            let nowhere = uuid::Builder::from_random_bytes(random_bytes(&mut random)).into_uuid();
            let (team, which) = if is_there { (team, "known team, wrong secret") } else { (nowhere, "unknown team") };
            let secret = format!("{:032x}{:032x}", u128::from(random.next()), u128::from(random.next()));
            let text = format!("{PREFIX}{}-{secret}", team.simple());
            let body = json!({"invite": text, "name": "eve", "email": "eve@example.org", "computer": "eve-1"});
            let start = Instant::now();
            let what = match call / 2 / (CALLS + 20) {
                0 => {
                    let hash = *blake3::hash(text.as_bytes()).as_bytes();
                    assert_eq!(store.authenticate(team, hash).await.unwrap(), None);
                    "authenticate, in the store"
                }
                1 => {
                    assert_eq!(line.ask("GET", "/v1/me", Some(&text), None).status, 401);
                    "GET /v1/me"
                }
                _ => {
                    assert_eq!(line.ask("POST", "/v1/join", None, Some(&body)).status, 401);
                    "POST /v1/join"
                }
            };
            if call / 2 % (CALLS + 20) >= 20 {
                times.entry((what, which)).or_default().push(start.elapsed());
            }
        }
        for ((what, which), mut times) in times {
            times.sort();
            let [low, median, high] = [1, 2, 3].map(|quarter| times[times.len() * quarter / 4]);
            println!("{what}, {which}: median {median:?} of {}, quartiles {low:?} and {high:?}", times.len());
        }
    });
}
