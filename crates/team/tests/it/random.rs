//! Random calls of several members in two teams: PostgreSQL answers each as the model does.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use uuid::Uuid;
use yore_team::model::Model;
use yore_team::postgres::Postgres;
use yore_team::store::{Caller, Newcomer, Quota, Store, StoreResult, StoredInvite};
use yore_team::wire::{Change, Operation, ReadSession, RequestOrder, Role, Search, name_of};

use crate::database::{Database, block_on};
use crate::team::{NOW, hash, session};

/// Small, so that each is met.
const QUOTA: Quota = Quota { texts: 8, bytes: 110, projects: 2, members: 5, turns: 9, turn_bytes: 300 };
const EMAILS: [&str; 5] = ["a@example.org", "b@example.org", "c@example.org", "d@example.org", "e@example.org"];
const PROJECTS: [&str; 3] = ["p", "q", "r"];
const CASES: u32 = 40;
/// Members at the beginning: the team, the address and the role.
const FIRST: [(usize, usize, Role); 6] = [
    (0, 0, Role::Owner),
    (0, 1, Role::Owner),
    (0, 2, Role::Member),
    (0, 3, Role::Reader),
    (1, 0, Role::Owner),
    (1, 1, Role::Member),
];

/// A number that chooses one of what is there.
type Choice = usize;

/// A change of a push: the operation's id (an earlier one, if the first says so), its kind and its text.
#[derive(Clone, Debug)]
struct Made {
    earlier: Option<Choice>,
    kind: u8,
    text: u8,
}

#[derive(Clone, Debug)]
enum Call {
    Invite {
        by: Choice,
        role: Role,
        email: Option<Choice>,
        hours: i64,
    },
    /// With one of the last invitations; mostly by the person that it is for, and in its team.
    Join {
        invite: Choice,
        team: Option<usize>,
        email: Option<usize>,
    },
    Remove {
        by: Choice,
        member: Choice,
    },
    Withdraw {
        by: Choice,
        member: Choice,
        is_withdrawn: bool,
    },
    Leave {
        by: Choice,
    },
    Push {
        by: Choice,
        project: usize,
        made: Vec<Made>,
    },
    Pull {
        by: Choice,
        project: usize,
        after: u64,
        limit: usize,
    },
    ShareSessions {
        by: Choice,
        project: usize,
        session: u8,
        from: u32,
        words: Vec<u8>,
    },
    RemoveSessions {
        by: Choice,
        project: usize,
        session: Option<u8>,
    },
    ReadSession {
        by: Choice,
        project: usize,
        session: u8,
        from: u32,
    },
    Search {
        by: Choice,
        project: usize,
        words: Vec<u8>,
        near: Option<u8>,
        days: Option<(i64, i64)>,
    },
    Audit {
        by: Choice,
        before: Option<u64>,
        limit: usize,
    },
}

fn call() -> impl Strategy<Value = Call> {
    let role = prop::sample::select(Role::ALL.to_vec());
    let by = any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    let made = (prop::option::weighted(0.2, 0..1_000_usize), 0..10_u8, 0..5_u8);
    let made = made.prop_map(|(earlier, kind, text)| Made { earlier, kind, text });
    prop_oneof![
        3 => (by.clone(), role, prop::option::weighted(0.8, 0..EMAILS.len()), 0..3_i64)
            .prop_map(|(by, role, email, hours)| Call::Invite { by, role, email, hours }),
        4 => (0..3_usize, prop::option::weighted(0.1, 0..2_usize), prop::option::weighted(0.2, 0..EMAILS.len()))
            .prop_map(|(invite, team, email)| Call::Join { invite, team, email }),
        2 => (by.clone(), by.clone()).prop_map(|(by, member)| Call::Remove { by, member }),
        1 => (by.clone(), by.clone(), any::<bool>())
            .prop_map(|(by, member, is_withdrawn)| Call::Withdraw { by, member, is_withdrawn }),
        1 => by.clone().prop_map(|by| Call::Leave { by }),
        10 => (by.clone(), 0..PROJECTS.len(), prop::collection::vec(made, 0..8))
            .prop_map(|(by, project, made)| Call::Push { by, project, made }),
        4 => (by.clone(), 0..PROJECTS.len(), 0..20_u64, 0..6_usize)
            .prop_map(|(by, project, after, limit)| Call::Pull { by, project, after, limit }),
        6 => (by.clone(), 0..PROJECTS.len(), 0..3_u8, 0..4_u32, prop::collection::vec(0..6_u8, 1..4))
            .prop_map(|(by, project, session, from, words)| Call::ShareSessions { by, project, session, from, words }),
        1 => (by.clone(), 0..PROJECTS.len(), prop::option::weighted(0.7, 0..3_u8))
            .prop_map(|(by, project, session)| Call::RemoveSessions { by, project, session }),
        1 => (by.clone(), 0..PROJECTS.len(), 0..3_u8, 0..4_u32)
            .prop_map(|(by, project, session, from)| Call::ReadSession { by, project, session, from }),
        4 => (by.clone(), 0..PROJECTS.len(), prop::collection::vec(0..7_u8, 0..4), prop::option::of(0..7_u8), prop::option::of((0..4_i64, 0..4_i64)))
            .prop_map(|(by, project, words, near, days)| Call::Search { by, project, words, near, days }),
        1 => (by, prop::option::of(0..20_u64), 0..9_usize).prop_map(|(by, before, limit)| Call::Audit { by, before, limit }),
    ]
}

/// State that the calls so far have made. It is the same for both stores as long as these answer the same.
struct World {
    teams: [Uuid; 2],
    /// Everybody who ever joined, with the token, which may be revoked.
    callers: Vec<Caller>,
    /// The team, the hash and the address of each.
    invites: Vec<(Uuid, [u8; 32], Option<usize>)>,
    operations: Vec<Uuid>,
    now: i64,
}

impl World {
    fn caller(&self, choice: Choice) -> Caller {
        self.callers[choice % self.callers.len()].clone()
    }

    fn secret(&self, kind: &str) -> [u8; 32] {
        hash(&format!("{kind} {}", self.now))
    }
}

/// Returns an answer as text. The identity of the database is random: it is left out.
fn shown<T: std::fmt::Debug>(result: &StoreResult<T>, epochs: &[Uuid]) -> String {
    epochs.iter().fold(format!("{result:?}"), |text, epoch| text.replace(&epoch.to_string(), "EPOCH"))
}

fn operations(world: &mut World, made: &[Made]) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (n, Made { earlier, kind, text }) in made.iter().enumerate() {
        let new = Uuid::from_u128((world.now as u128) << 8 | n as u128);
        let id = match earlier {
            Some(earlier) if !world.operations.is_empty() => world.operations[earlier % world.operations.len()],
            _ => new,
        };
        world.operations.push(id);
        let text = format!("text {}", char::from(b'a' + text).to_string().repeat(usize::from(*text) * 3));
        let name = name_of(&text);
        let change = match kind {
            0..5 => Change::Add { name, text },
            5 => Change::Add { name, text: format!("{text}\0") },
            6..9 => Change::TakeBack { name, is_withheld: *kind > 6 },
            _ => Change::Forget { name },
        };
        operations.push(Operation { id, change });
    }
    operations
}

/// Returns words that a turn or a search has.
fn said(number: u8) -> String {
    ["lease", "lease retri", "retri cach", "cach cach queue", "queue", "port lease", "nobody"][usize::from(number)].to_owned()
}

/// Returns the place of a request of one of three senders; every seventh comes late.
fn order(now: i64) -> RequestOrder {
    let number = (now - NOW).unsigned_abs() + 20;
    RequestOrder { sender: Uuid::from_u128((now % 3) as u128), number: if now % 7 == 0 { number / 2 } else { number } }
}

fn session_id(number: u8) -> String {
    format!("{:032x}", u128::from(number))
}

/// Makes a call, and returns the answer as text.
async fn make(store: &impl Store, world: &mut World, call: &Call, epochs: &[Uuid]) -> String {
    world.now += 1;
    let now = world.now;
    match call {
        Call::Invite { by, role, email, hours } => {
            let by = world.caller(*by);
            let invite = StoredInvite {
                hash: world.secret("invite"),
                role: *role,
                email: email.map(|email| EMAILS[email].to_owned()),
                expires: now + hours * 10,
            };
            world.invites.push((by.me.team, invite.hash, *email));
            shown(&store.invite(&by, &invite, now).await, epochs)
        }
        Call::Join { invite, team, email } => {
            let (of, invite, invited) = world.invites[world.invites.len() - 1 - invite];
            let team = team.map_or(of, |team| world.teams[team]);
            let (email, token) = (EMAILS[email.or(invited).unwrap_or_default()].to_owned(), world.secret("token"));
            let who = Newcomer { invite, token, name: email[..2].to_owned(), email, computer: format!("computer {}", now % 3) };
            let joined = store.join(team, &who, now).await;
            let caller = store.authenticate(team, token).await;
            assert_eq!(
                joined.as_ref().ok().cloned().flatten(),
                caller.as_ref().unwrap().as_ref().map(|caller| caller.me.clone())
            );
            world.callers.extend(caller.unwrap());
            shown(&joined, epochs)
        }
        Call::Remove { by, member } => {
            let member = world.caller(*member).me.member;
            shown(&store.remove(&world.caller(*by), member, now).await, epochs)
        }
        Call::Withdraw { by, member, is_withdrawn } => {
            let member = world.caller(*member).me.member;
            shown(&store.withdraw(&world.caller(*by), member, *is_withdrawn, now).await, epochs)
        }
        Call::Leave { by } => shown(&store.leave(&world.caller(*by), now).await, epochs),
        Call::Push { by, project, made } => {
            let (by, operations) = (world.caller(*by), operations(world, made));
            shown(&store.push(&by, PROJECTS[*project], &operations, now).await, epochs)
        }
        Call::Pull { by, project, after, limit } => {
            shown(&store.pull(&world.caller(*by), PROJECTS[*project], *after, *limit).await, epochs)
        }
        Call::ShareSessions { by, project, session: number, from, words } => {
            let words: Vec<String> = words.iter().map(|word| said(*word)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let session = session(u128::from(*number), *from, &words);
            shown(&store.share_sessions(&world.caller(*by), PROJECTS[*project], order(now), &[session], now).await, epochs)
        }
        Call::RemoveSessions { by, project, session } => {
            let ids = session.map(|session| vec![session_id(session)]);
            shown(&store.remove_sessions(&world.caller(*by), PROJECTS[*project], order(now), ids.as_deref(), now).await, epochs)
        }
        Call::ReadSession { by, project, session, from } => {
            let which = ReadSession { id: session_id(*session), from: *from };
            shown(&store.read_session(&world.caller(*by), PROJECTS[*project], &which, now).await, epochs)
        }
        Call::Search { by, project, words, near, days } => {
            let words = words.iter().flat_map(|word| said(*word).split(' ').map(str::to_owned).collect::<Vec<_>>()).collect();
            let vector = near.map(|near| crate::team::vector(&said(near)));
            let (since, until) = days.map_or((None, None), |(from, to)| (Some(NOW + from), Some(NOW + to)));
            let search = Search { words, vector, since, until, limit: 300 };
            shown(&store.search(&world.caller(*by), PROJECTS[*project], &search, now).await, epochs)
        }
        Call::Audit { by, before, limit } => shown(&store.audit(&world.caller(*by), *before, *limit).await, epochs),
    }
}

/// Returns all that a store answers about its content.
async fn content(store: &impl Store, world: &World, epochs: &[Uuid]) -> Vec<String> {
    let mut lines = Vec::new();
    for caller in &world.callers {
        lines.push(shown(&store.authenticate(caller.me.team, caller.token).await, epochs));
    }
    // Who came last in each team and still has access; everybody of a team sees the same.
    for team in world.teams {
        let mut last = None;
        for caller in world.callers.iter().filter(|caller| caller.me.team == team) {
            last = store.authenticate(team, caller.token).await.unwrap().or(last);
        }
        let Some(caller) = last else { continue };
        lines.push(shown(&store.members(&caller).await, epochs));
        lines.push(shown(&store.projects(&caller).await, epochs));
        let as_owner = Caller { me: yore_team::wire::Me { role: Role::Owner, ..caller.me.clone() }, ..caller.clone() };
        lines.push(shown(&store.audit(&as_owner, None, 1).await, epochs));
        for project in PROJECTS {
            lines.push(shown(&store.pull(&caller, project, 0, 1_000).await, epochs));
            lines.push(shown(&store.own_sessions(&caller, project).await, epochs));
        }
    }
    lines
}

/// Founds the two teams, and returns the world and the identities of the store's content.
async fn begin(store: &impl Store, case: u32) -> (World, Vec<Uuid>) {
    let teams = [1, 2].map(|team| Uuid::from_u128(u128::from(case) << 8 | team));
    let mut world = World { teams, callers: Vec::new(), invites: Vec::new(), operations: Vec::new(), now: NOW };
    let mut epochs = Vec::new();
    for (team, email, role) in FIRST {
        world.now += 1;
        let (team, invite, token) = (teams[team], world.secret("invite"), world.secret("token"));
        let invitation = StoredInvite { hash: invite, role, email: Some(EMAILS[email].to_owned()), expires: NOW * 2 };
        match world.callers.iter().find(|caller| caller.me.team == team) {
            Some(owner) => store.invite(owner, &invitation, world.now).await.unwrap(),
            None => store.create_team(team, &team.to_string(), &invitation, world.now).await.unwrap(),
        }
        let name = EMAILS[email][..1].to_owned();
        let who = Newcomer { invite, token, name, email: EMAILS[email].to_owned(), computer: "computer".to_owned() };
        epochs.push(store.join(team, &who, world.now).await.unwrap().unwrap().epoch);
        world.callers.extend(store.authenticate(team, token).await.unwrap());
        world.invites.push((team, invite, Some(email)));
    }
    (world, epochs)
}

async fn compare(postgres: &Postgres, calls: &[Call]) {
    static CASE: AtomicU32 = AtomicU32::new(1);
    let case = CASE.fetch_add(1, Ordering::Relaxed);
    let model = Model::new(QUOTA);
    let (mut model_world, model_epochs) = begin(&model, case).await;
    let (mut world, epochs) = begin(postgres, case).await;
    for call in calls {
        let expected = make(&model, &mut model_world, call, &model_epochs).await;
        assert_eq!(make(postgres, &mut world, call, &epochs).await, expected, "{call:?}");
        assert_eq!(content(postgres, &world, &epochs).await, content(&model, &model_world, &model_epochs).await, "{call:?}");
    }
}

#[test]
fn postgres_answers_as_the_model() {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| tokio::runtime::Runtime::new().unwrap());
    let Some(database) = block_on(Database::new()) else { return };
    let postgres = runtime.block_on(database.store(QUOTA));
    let config = ProptestConfig { cases: CASES, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() };
    proptest!(config, |(calls in prop::collection::vec(call(), 10..40))| {
        runtime.block_on(compare(&postgres, &calls));
    });
    assert_eq!(runtime.block_on(postgres.problems()).unwrap(), Vec::<String>::new());
}
