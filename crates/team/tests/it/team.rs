//! Teams, members and operations for tests. Everything has a number, from which its secrets and ids come.

use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;
use yore_team::store::{Caller, Newcomer, Store, StoredInvite};
use yore_team::wire::{
    Change, Operation, Pulled, RequestOrder, Role, Said, SessionHead, SharedSession, SharedTurn, VECTOR, name_of,
};

/// A time of the server's clock.
pub const NOW: i64 = 1_800_000_000_000;

/// Returns a hash of a secret.
pub fn hash(words: &str) -> [u8; 32] {
    *blake3::hash(words.as_bytes()).as_bytes()
}

/// Returns an invitation that is valid for an hour.
pub fn invitation(secret: &str, role: Role, email: Option<&str>) -> StoredInvite {
    StoredInvite { hash: hash(secret), role, email: email.map(str::to_owned), expires: NOW + 3_600_000 }
}

/// Returns somebody who joins with an invitation from a computer, whose name is the secret of the token.
pub fn newcomer(secret: &str, email: &str, computer: &str) -> Newcomer {
    let name = email.split('@').next().unwrap().to_owned();
    Newcomer { invite: hash(secret), token: hash(computer), name, email: email.to_owned(), computer: computer.to_owned() }
}

/// Creates a team, and returns its owner.
pub async fn found(store: &impl Store, team: u128) -> Caller {
    let team = Uuid::from_u128(team);
    let name = format!("Team {}", team.as_u128());
    store.create_team(team, &name, &invitation("first", Role::Owner, None), NOW).await.unwrap();
    store.join(team, &newcomer("first", "olga@example.org", "olga-1"), NOW).await.unwrap().unwrap();
    store.authenticate(team, hash("olga-1")).await.unwrap().unwrap()
}

/// Invites somebody, has them join, and returns them. The computer is the name with `-1`.
pub async fn admit(store: &impl Store, owner: &Caller, name: &str, role: Role) -> Caller {
    let (email, computer) = (format!("{name}@example.org"), format!("{name}-1"));
    store.invite(owner, &invitation(name, role, Some(&email)), NOW).await.unwrap();
    store.join(owner.me.team, &newcomer(name, &email, &computer), NOW).await.unwrap().unwrap();
    store.authenticate(owner.me.team, hash(&computer)).await.unwrap().unwrap()
}

/// Returns an operation that shares a text.
pub fn add(id: u128, text: &str) -> Operation {
    operation(id, Change::Add { name: name_of(text), text: text.to_owned() })
}

/// Returns an operation that takes a text back.
pub fn take_back(id: u128, text: &str) -> Operation {
    operation(id, Change::TakeBack { name: name_of(text), is_withheld: false })
}

/// Returns an operation that takes a text back and withholds it.
pub fn withhold(id: u128, text: &str) -> Operation {
    operation(id, Change::TakeBack { name: name_of(text), is_withheld: true })
}

/// Returns an operation that forgets a text.
pub fn forget(id: u128, text: &str) -> Operation {
    operation(id, Change::Forget { name: name_of(text) })
}

/// Returns an operation.
pub fn operation(id: u128, change: Change) -> Operation {
    Operation { id: Uuid::from_u128(id), change }
}

/// Returns records as `seq text-or-dash member's-address [forgotten] [withheld]`.
pub fn shown(pulled: &Pulled) -> Vec<String> {
    let email = |id: Uuid| pulled.members.iter().find(|member| member.id == id).unwrap().email.split('@').next().unwrap();
    let line = |record: &yore_team::wire::Record| {
        let text = record.text.as_deref().unwrap_or("-");
        let marks = [(record.is_forgotten, " forgotten"), (record.is_withheld, " withheld")];
        let marks: String = marks.iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| *mark).collect();
        format!("{} {text} {}{marks}", record.seq, email(record.member))
    };
    pulled.records.iter().map(line).collect()
}

/// Returns a session with turns from a number on; each is a millisecond later than the one before. It is whole.
pub fn session(number: u128, from: u32, texts: &[&str]) -> SharedSession {
    let turn = |(place, text): (u32, &&str)| SharedTurn {
        said: if place % 2 == 0 { Said::User } else { Said::Assistant },
        speaker: (place == 3).then(|| "Cleo Retri".to_owned()),
        at: Some(NOW + i64::from(place)),
        text: (*text).to_owned(),
        vectors: vec![vector(text)],
    };
    let head = SessionHead {
        id: format!("{number:032x}"),
        title: format!("Session {number}"),
        agent: "claude-code".to_owned(),
        began: Some(NOW),
        turns: from + texts.len() as u32,
        digest: name_of(&texts.join("\n")),
    };
    SharedSession { head, from, turns: (from..).zip(texts).map(turn).collect() }
}

/// Returns a vector that belongs to a text: another one for every other text, and never without a direction.
pub fn vector(text: &str) -> Vec<i8> {
    let bytes = blake3::hash(text.as_bytes());
    (0..VECTOR).map(|at| bytes.as_bytes()[at % 32].cast_signed().max(-127)).collect()
}

/// Returns the next place in the requests of all tests.
pub fn next() -> RequestOrder {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    RequestOrder { sender: Uuid::from_u128(7), number: NUMBER.fetch_add(1, Ordering::Relaxed) }
}
