//! A store that fails or is slow, and too many requests for it.

use std::thread;
use std::time::{Duration, Instant};

use yore_team::server::{Limits, ServerSettings};

use super::store::Fault;
use super::support::{Server, is_logged, settings};

#[test]
fn a_failing_database_is_told_without_its_details() {
    let server = Server::start();
    let owner = server.team("a");
    assert_eq!(server.ask("GET", "/ready", None, None).text(), "ok");
    for (fault, status, code) in [(Fault::Unavailable, 503, "team/database"), (Fault::Failed, 500, "team/failed")] {
        server.store.set(Some(fault));
        for path in ["/v1/me", "/v1/members", "/v1/projects/p/pull", "/ready"] {
            let reply = server.get(path, &owner.token);
            assert_eq!(reply.problem(status), code);
            assert_eq!(reply.header("retry-after").is_some(), status == 503);
            assert!(!reply.text().contains("internal\n") && !reply.text().contains("db."), "{}", reply.text());
        }
        let calls = server.store.calls();
        assert_eq!(server.ask("GET", "/health", None, None).text(), "ok");
        assert_eq!(server.ask("GET", "/metrics", None, None).status, 200);
        assert_eq!(server.store.calls(), calls, "these need no database");
    }
    assert!(is_logged("the database does not answer: connection to db.internal refused"));
    assert!(is_logged("the database failed: connection to db.internal refused"));
    server.store.set(None);
    assert_eq!(server.get("/v1/me", &owner.token).status, 200);
}

#[test]
fn a_request_has_a_deadline_and_a_bounded_number_of_places() {
    let (server, serving) = settings();
    let time = Duration::from_millis;
    let limits = Limits { at_once: 2, waiting: time(100), deadline: time(400), ..server.limits };
    let server = Server::with(ServerSettings { limits, ..server }, serving);
    let owner = server.team("a");
    server.store.set(Some(Fault::Waits(Duration::from_secs(3600))));
    let start = Instant::now();
    let mut codes: Vec<String> = thread::scope(|scope| {
        let ask = || server.get("/v1/me", &owner.token).problem(503);
        let asked: Vec<_> = (0..5).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    codes.sort();
    assert_eq!(codes, ["team/busy", "team/busy", "team/busy", "team/deadline", "team/deadline"]);
    assert!(start.elapsed() < Duration::from_secs(10));
    server.store.set(None);
    assert_eq!(server.get("/v1/me", &owner.token).status, 200);
}

#[test]
fn metrics_are_served_only_if_they_are_wanted() {
    let (server, serving) = settings();
    let server = Server::with(ServerSettings { metrics: false, ..server }, serving);
    assert_eq!(server.ask("GET", "/metrics", None, None).problem(404), "team/route");
}
