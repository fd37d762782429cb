//! The whole life of a team, and what each role may do.

use serde_json::json;
use yore_team::wire::{Audited, Change, Invite, Joined, Me, Member, Outcome, Project, Pulled, Pushed, Role, name_of};

use super::support::{NOW, Person, Reply, Server, add, block_on, logged};
use yore_team::server::create_team;

/// Asks a server, and checks that no answer tells a secret that it does not hand out.
struct World {
    server: Server,
    secrets: std::cell::RefCell<Vec<String>>,
}

impl World {
    fn checked(&self, reply: Reply) -> Reply {
        for secret in self.secrets.borrow().iter() {
            let random = secret.rsplit('-').next().unwrap();
            assert!(!reply.text().contains(random) && !reply.head.contains(random), "an answer tells a secret: {}", reply.text());
        }
        reply
    }

    fn get(&self, path: &str, who: &Person) -> Reply {
        self.checked(self.server.get(path, &who.token))
    }

    fn post(&self, path: &str, who: &Person, body: Option<serde_json::Value>) -> Reply {
        self.checked(self.server.ask("POST", path, Some(&who.token), body.as_ref()))
    }

    fn push(&self, who: &Person, changes: &[Change]) -> Vec<Outcome> {
        self.checked(self.server.push(who, "caf%C3%A9%2Fapi", changes)).ok::<Pushed>().outcomes
    }

    fn pull(&self, who: &Person, query: &str) -> Pulled {
        self.get(&format!("/v1/projects/caf%C3%A9%2fapi/pull{query}"), who).ok()
    }

    fn invite(&self, who: &Person, role: &str, email: Option<&str>) -> String {
        let Invite { invite, expires } =
            self.post("/v1/invites", who, Some(json!({"role": role, "email": email, "hours": 720}))).ok();
        assert_eq!(expires, NOW + 720 * 3_600_000);
        self.secrets.borrow_mut().push(invite.clone());
        invite
    }

    fn join(&self, invite: &str, name: &str, email: &str, computer: &str) -> Person {
        let body = json!({"invite": invite, "name": name, "email": email, "computer": computer});
        let joined: Joined = self.checked(self.server.ask("POST", "/v1/join", None, Some(&body))).ok();
        self.secrets.borrow_mut().push(joined.token.clone());
        assert_eq!((joined.me.email.as_str(), joined.me.computer.as_str()), (email.to_lowercase().as_str(), computer));
        Person { token: joined.token, id: joined.me.member, team: joined.me.team }
    }
}

#[test]
fn a_team_lives() {
    let world = World { server: Server::start(), secrets: Vec::new().into() };
    let (team, Invite { invite, .. }) = block_on(create_team(&world.server.store, "Büro", 2, NOW)).unwrap();
    world.secrets.borrow_mut().push(invite.clone());

    // Members join, each by an invitation that can be used once.
    let owner = world.join(&invite, "Ana", "Ana@Example.org", "desk");
    assert_eq!(owner.team, team);
    let again = json!({"invite": invite, "name": "Eve", "email": "eve@example.org", "computer": "x"});
    assert_eq!(world.checked(world.server.ask("POST", "/v1/join", None, Some(&again))).problem(401), "team/invite");
    let member = world.join(&world.invite(&owner, "member", Some("Ben@example.org")), "Ben", "ben@EXAMPLE.org", "laptop");
    let reader = world.join(&world.invite(&owner, "reader", None), "Cleo", "cleo@example.org", "phone");
    let further = world.invite(&member, "owner", Some("ben@example.org"));
    let desktop = world.join(&further, "Ben", "ben@example.org", "desktop");
    assert_eq!(desktop.id, member.id, "an address is one member");
    let me: Me = world.get("/v1/me", &desktop).ok();
    assert_eq!((me.role, me.team, me.team_name.as_str()), (Role::Member, team, "Büro"));
    let members: Vec<Member> = world.get("/v1/members", &reader).ok();
    let names: Vec<_> = members.iter().map(|member| (member.name.as_str(), member.computers.len())).collect();
    assert_eq!(names, [("Ana", 1), ("Ben", 2), ("Cleo", 1)]);

    // They share texts, and everybody pulls them page by page.
    let texts: Vec<String> = (0..7).map(|number| format!("text {number} of everybody\n")).collect();
    let changes: Vec<Change> = texts.iter().map(|text| add(text)).collect();
    assert_eq!(world.push(&member, &changes), vec![Outcome::Done; 7]);
    assert_eq!(world.push(&owner, &changes[..1]), [Outcome::Done]);
    assert_eq!(world.push(&owner, &[]), []);
    let (mut after, mut records, mut pages) = (0, Vec::new(), 0);
    loop {
        let page = world.pull(&reader, &format!("?after={after}&limit=3"));
        assert!(page.records.len() <= 3 && page.members.len() == 3);
        (after, pages) = (page.last, pages + 1);
        records.extend(page.records);
        if page.is_complete {
            break;
        }
    }
    assert_eq!((records.len(), pages), (8, 3));
    assert!(records.iter().all(|record| texts.contains(record.text.as_ref().unwrap())));
    assert_eq!(world.pull(&reader, &format!("?after={after}")).records, []);
    assert_eq!(world.pull(&reader, &format!("?after={}&limit=0", u64::MAX)).records, []);
    let projects: Vec<Project> = world.get("/v1/projects", &reader).ok();
    assert_eq!((projects.len(), projects[0].name.as_str(), projects[0].last), (1, "café/api", after));

    // Texts are taken back and forgotten.
    let named = |number: usize| name_of(&texts[number]);
    assert_eq!(world.push(&desktop, &[Change::TakeBack { name: named(1), is_withheld: true }]), [Outcome::Done]);
    assert!(matches!(&world.push(&member, &[Change::Forget { name: named(0) }])[..], [Outcome::Refused { .. }]));
    assert_eq!(world.push(&owner, &[Change::Forget { name: named(0) }]), [Outcome::Done]);
    let changed = world.pull(&reader, &format!("?after={after}")).records;
    assert_eq!(changed.iter().filter(|record| record.text.is_none()).count(), 3);
    assert_eq!(changed.iter().filter(|record| record.is_withheld && record.name == named(1)).count(), 1);
    assert_eq!(changed.iter().filter(|record| record.is_forgotten && record.name == named(0)).count(), 2);
    assert!(matches!(&world.push(&member, &changes[..1])[..], [Outcome::Refused { .. }]));

    // What a member shares is withdrawn and counts again; then the member goes.
    let change = |what: &str, who: &Person| world.post(&format!("/v1/members/{}/{what}", who.id), &owner, None).ok::<Member>();
    assert!(change("withdraw", &member).is_withdrawn && !change("restore", &member).is_withdrawn);
    assert!(change("remove", &member).is_removed);
    for token in [&member, &desktop] {
        assert_eq!(world.get("/v1/me", token).problem(401), "team/token");
    }
    let left = world.post("/v1/leave", &reader, None);
    assert_eq!((left.status, left.body.len(), left.header("cache-control")), (204, 0, Some("no-store")));
    assert_eq!(world.get("/v1/me", &reader).problem(401), "team/token");

    // The audit tells all of it, the newest first, and no text.
    let entries: Vec<Audited> = world.get("/v1/audit?limit=1000000", &owner).ok();
    assert!(entries.is_sorted_by(|a, b| a.seq > b.seq) && entries.len() >= 10);
    for action in ["invite", "join", "push", "remove", "withdraw", "restore"] {
        assert!(entries.iter().any(|entry| entry.action == action), "{action} in {entries:?}");
    }
    assert!(!format!("{entries:?}").contains("of everybody"));
    let older: Vec<Audited> = world.get(&format!("/v1/audit?before={}&limit=2", entries[3].seq), &owner).ok();
    assert_eq!(older, entries[4..6]);

    // The counters tell nothing of it by name, and the log no secret.
    let metrics = world.checked(world.server.ask("GET", "/metrics", None, None)).text();
    for line in [
        "yore_team_requests_total{route=\"/v1/projects/{name}/push\",status=\"2xx\"} 7",
        "yore_team_requests_total{route=\"/v1/join\",status=\"4xx\"} 1",
        "yore_team_operations_total{outcome=\"done\"} 10",
        "yore_team_operations_total{outcome=\"refused\"} 2",
        "yore_team_records_pulled_total 11",
        "yore_team_authentication_failures_total 4",
        "yore_team_request_seconds_count{route=\"/v1/audit\"} 2",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }
    for private in ["café", "caf%C3", "example.org", "Ana", &team.to_string(), &owner.id.to_string()] {
        assert!(!metrics.contains(private), "{private} in {metrics}");
    }
    for secret in world.secrets.borrow().iter() {
        assert!(!logged().contains(secret.rsplit('-').next().unwrap()));
    }
}

#[test]
fn each_role_may_do_its_own() {
    let server = Server::start();
    let owner = server.team("a");
    let member = server.add(&owner, "member", "member@example.org");
    let reader = server.add(&owner, "reader", "reader@example.org");
    let push = json!({"operations": [{"id": super::support::id(), "change": add("text")}]});
    let gone = json!({"operations": [{"id": super::support::id(), "change": {"kind": "take-back", "name": name_of("text")}}]});
    let invite = json!({"role": "reader", "hours": 1});
    let own = json!({"role": "owner", "email": "member@example.org", "hours": 1});
    let on = |what: &str| format!("/v1/members/{}/{what}", owner.id);
    for (method, path, body, status) in [
        ("GET", "/v1/me".to_owned(), None, [200, 200, 200]),
        ("GET", "/v1/members".to_owned(), None, [200, 200, 200]),
        ("GET", "/v1/projects".to_owned(), None, [200, 200, 200]),
        ("GET", "/v1/projects/p/pull".to_owned(), None, [200, 200, 200]),
        ("GET", "/v1/audit".to_owned(), None, [403, 403, 200]),
        ("POST", "/v1/projects/p/push".to_owned(), Some(&push), [403, 200, 200]),
        ("POST", "/v1/projects/p/push".to_owned(), Some(&gone), [200, 200, 200]),
        ("POST", "/v1/invites".to_owned(), Some(&invite), [403, 403, 200]),
        ("POST", "/v1/invites".to_owned(), Some(&own), [403, 200, 200]),
        ("POST", on("withdraw"), None, [403, 403, 200]),
        ("POST", on("restore"), None, [403, 403, 200]),
        ("POST", on("remove"), None, [403, 403, 400]),
        ("POST", "/v1/leave".to_owned(), None, [204, 204, 400]),
    ] {
        for (who, expected) in [&reader, &member, &owner].into_iter().zip(status) {
            let reply = server.ask(method, &path, Some(&who.token), body);
            match expected {
                403 => assert_eq!(reply.problem(403), "team/role", "{path}"),
                400 => assert_eq!(reply.problem(400), "team/last-owner"),
                _ => assert_eq!(reply.status, expected, "{method} {path}: {}", reply.text()),
            }
        }
    }
    let unknown = server.ask("POST", &format!("/v1/members/{}/remove", super::support::id()), Some(&owner.token), None);
    assert_eq!(unknown.problem(404), "team/member");
    let reader = server.add(&owner, "reader", "reader@example.org");
    let itself = server.ask("POST", &format!("/v1/members/{}/remove", reader.id), Some(&reader.token), None);
    assert!(itself.ok::<Member>().is_removed);
}
