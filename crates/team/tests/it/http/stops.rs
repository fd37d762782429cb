//! The orderly end.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use yore_team::serve::Times;

use super::store::Fault;
use super::support::{Client, STUCK, Server, is_logged, request, settings};

#[test]
fn a_running_request_is_answered_and_everything_else_closed() {
    let mut server = Server::start();
    let owner = server.team("a");
    let mut idle = Client::connect(server.address);
    idle.send(request("GET", "/health", None, None));
    assert_eq!(idle.reply().unwrap().status, 200);
    let mut silent = Client::connect(server.address);
    server.store.set(Some(Fault::Waits(Duration::from_millis(700))));
    let mut running = Client::connect(server.address);
    running.send(request("GET", "/v1/me", Some(&owner.token), None));
    thread::sleep(Duration::from_millis(200));
    server.stop();
    idle.closed();
    silent.closed();
    assert!(!server.has_stopped());
    assert_eq!(running.reply().unwrap().status, 200);
    running.closed();
    let end = Instant::now() + STUCK;
    while !server.has_stopped() && Instant::now() < end {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(server.has_stopped());
    assert!(TcpStream::connect(server.address).is_err(), "the port is closed");
}

#[test]
fn requests_that_do_not_end_are_broken_off() {
    let (server, mut serving) = settings();
    serving.times = Times { grace: Duration::from_millis(300), ..Times::default() };
    let mut server = Server::with(server, serving);
    let owner = server.team("a");
    server.store.set(Some(Fault::Waits(Duration::from_secs(3600))));
    let mut running = Client::connect(server.address);
    running.send(request("GET", "/v1/me", Some(&owner.token), None));
    thread::sleep(Duration::from_millis(200));
    server.stop();
    assert!(running.closed() < STUCK / 2);
    assert!(is_logged("1 connections did not end in time"));
}

#[test]
fn ready_tells_the_end_before_the_port_closes() {
    let (server, mut serving) = settings();
    serving.times = Times { drain: Duration::from_secs(2), ..Times::default() };
    let mut server = Server::with(server, serving);
    let owner = server.team("a");
    assert_eq!(server.ask("GET", "/ready", None, None).status, 200);
    server.stop();
    thread::sleep(Duration::from_millis(100));
    let reply = server.ask("GET", "/ready", None, None);
    assert_eq!(reply.problem(503), "team/stopping");
    assert_eq!(server.ask("GET", "/health", None, None).status, 200);
    assert_eq!(server.get("/v1/me", &owner.token).status, 200, "others are served until then");
}
