//! Web pages: fetched from a server on this computer, divided, stored, recalled.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};

use yore_core::episode::EpisodeKind;
use yore_engine::transport::FetchSettings;
use yore_engine::{EngineError, FetchOptions, PageChange, PageReport};
use yore_testing::{Memory, TurnOf};

use crate::told::words_from_archive;

/// A server that answers every request with the last answer set.
struct Server {
    port: u16,
    answer: Arc<Mutex<(String, Vec<u8>)>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = Self { port: listener.local_addr().unwrap().port(), answer: Arc::default(), requests: Arc::default() };
        let (answer, requests) = (Arc::clone(&server.answer), Arc::clone(&server.requests));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                    request.push(byte[0]);
                }
                requests.lock().unwrap().push(String::from_utf8_lossy(&request).to_ascii_lowercase());
                let (head, body) = answer.lock().unwrap().clone();
                let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
            }
        });
        server
    }

    fn say(&self, head: &str, body: &str) {
        *self.answer.lock().unwrap() = (head.to_owned(), body.as_bytes().to_vec());
    }

    fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn last_request(&self) -> String {
        self.requests.lock().unwrap().last().unwrap().clone()
    }
}

fn options() -> FetchOptions {
    FetchOptions { settings: FetchSettings { allow_private: true, ..FetchSettings::default() }, ..FetchOptions::default() }
}

fn fetch(memory: &Memory, address: &str) -> PageReport {
    let report = memory.engine().fetch_page(address, &options()).unwrap();
    assert!(report.ingest.failures.is_empty(), "{:?}", report.ingest.failures);
    memory.index();
    report
}

const HTML: &str = "200 OK\r\nContent-Type: text/html; charset=utf-8";

fn guide(crane: &str, lamp: &str) -> String {
    let filler =
        "The harbour is small, and whoever comes by sea is greeted by the pilot, who has time, and by his dog, which has not. ";
    format!(
        "<html><head><title>Harbour guide</title><meta name=author content='Mira Osei'></head><body><nav><a href=/>Home</a></nav>
         <article><h1>Harbour guide</h1><p>{filler}</p><p>{filler}</p>
         <h2>Crane</h2><p>The crane opens at {crane}. {filler}</p>{lamp}</article></body></html>"
    )
}

const LAMP: &str =
    "<h2>Lighthouse</h2><p>The lamp burns whale oil, three barrels in a winter, and nobody has ever seen it dark.</p>";

#[test]
fn page_is_found_by_its_sections_and_a_changed_one_replaces_them() {
    let (memory, server) = (Memory::new(), Server::new());
    let address = server.address("/guide");
    server.say(&format!("{HTML}\r\nETag: \"v1\""), &guide("six", LAMP));
    let report = fetch(&memory, &address);
    assert_eq!((report.change, report.title.as_deref()), (PageChange::New, Some("Harbour guide")));
    assert_eq!(report.location, address);
    assert!(report.sections >= 2 && report.ingest.turns_added == report.sections as u64, "{report:?}");
    let hit = memory.ask("when does the crane open").remove(0);
    assert_eq!(hit.turn().kind, EpisodeKind::Document);
    assert!(hit.turn().text.starts_with("Harbour guide › Crane\n\n"), "{}", hit.turn().text);
    assert!(!memory.ask("whale oil in the lamp").is_empty());
    assert!(memory.ask("page by Mira Osei")[0].turn().text.contains("By Mira Osei"));

    server.say(&format!("{HTML}\r\nETag: \"v2\""), &guide("seven", ""));
    let report = fetch(&memory, &address);
    assert_eq!(report.change, PageChange::Changed);
    assert!(server.last_request().contains("if-none-match: \"v1\""), "{}", server.last_request());
    assert!(memory.ask("when does the crane open")[0].quote.contains("seven"));
    assert!(memory.ask("whale oil in the lamp").iter().all(|hit| !hit.turn().text.contains("whale")));

    server.say("304 Not Modified", "");
    let report = fetch(&memory, &address);
    assert_eq!((report.change, report.title.as_deref()), (PageChange::Unchanged, Some("Harbour guide")));
    assert!(server.last_request().contains("if-none-match: \"v2\""), "{}", server.last_request());
    let words = memory.words();
    assert_eq!(words_from_archive(&memory), words);
}

#[test]
fn page_that_says_the_same_is_unchanged_whatever_its_server_says() {
    let (memory, server) = (Memory::new(), Server::new());
    server.say(HTML, &guide("six", LAMP));
    fetch(&memory, &server.address("/guide#crane"));
    // A page with another advertisement is the same page.
    server.say(HTML, &guide("six", LAMP).replace("</body>", "<script>var at = 17;</script></body>"));
    let report = fetch(&memory, &server.address("/guide"));
    assert_eq!((report.change, report.ingest.turns_updated), (PageChange::Unchanged, 0));
    assert!(!server.last_request().contains("if-none-match"));
}

#[test]
fn forced_fetch_asks_for_the_whole_page() {
    let (memory, server) = (Memory::new(), Server::new());
    server.say(&format!("{HTML}\r\nETag: \"v1\""), &guide("six", LAMP));
    fetch(&memory, &server.address("/guide"));
    memory.engine().fetch_page(&server.address("/guide"), &FetchOptions { is_forced: true, ..options() }).unwrap();
    assert!(!server.last_request().contains("if-none-match"), "{}", server.last_request());
}

#[test]
fn text_markdown_and_json_are_pages_too() {
    let (memory, server) = (Memory::new(), Server::new());
    server
        .say("200 OK\r\nContent-Type: text/markdown", "# Ferry\r\n\r\nIt leaves at noon.\r\n\r\n## Fares\r\n\r\nTwo coins.\r\n");
    let report = fetch(&memory, &server.address("/ferry.md"));
    assert_eq!((report.title.as_deref(), report.sections), (Some("Ferry"), 2));
    server.say("200 OK\r\nContent-Type: text/plain; charset=iso-8859-1", "The buoy is painted green.");
    fetch(&memory, &server.address("/buoy.txt"));
    assert!(memory.ask("what colour is the buoy")[0].quote.contains("green"));
    server.say("200 OK\r\nContent-Type: application/json", "{\"anchor\": \"forty fathoms of chain\"}");
    fetch(&memory, &server.address("/anchor"));
    assert!(memory.ask("fathoms of anchor chain")[0].quote.contains("forty"));
}

#[test]
fn failures_have_codes_and_leave_what_is_known() {
    let (memory, server) = (Memory::new(), Server::new());
    let address = server.address("/guide");
    server.say(HTML, &guide("six", LAMP));
    fetch(&memory, &address);
    let code = |options: &FetchOptions| match memory.engine().fetch_page(&address, options) {
        Err(error @ EngineError::Fetch(_)) => error.code(),
        other => panic!("{other:?}"),
    };
    server.say("404 Not Found", "");
    assert_eq!(code(&options()), "fetch/status");
    server.say(HTML, "<html><body><div id=app></div><script>draw()</script></body></html>");
    assert_eq!(code(&options()), "fetch/no-text");
    server.say("200 OK\r\nContent-Type: application/pdf", "%PDF-1.7");
    assert_eq!(code(&options()), "fetch/content-type");
    assert_eq!(code(&FetchOptions::default()), "fetch/private-address");
    assert!(!memory.ask("whale oil in the lamp").is_empty());
}

#[test]
fn secrets_of_pages_and_of_their_addresses_are_not_kept() {
    let (memory, server) = (Memory::new(), Server::new());
    // Assembled here, so that no file contains one.
    let secret = format!("{}_{}", "ghp", "Zx81kQmN4vT7pLr2Ws9BdYf3Hj6Ac0Ee5UgK");
    server.say(HTML, &guide("six", &format!("<h2>Login</h2><p>The token of the crane is {secret}, tell nobody.</p>")));
    let report = fetch(&memory, &server.address(&format!("/guide?page=2&access_token={secret}")));
    assert!(server.last_request().contains(&secret.to_ascii_lowercase()));
    assert_eq!(report.address, server.address("/guide?page=2&access_token=hidden"));
    let scan = yore_testing::Scan::of(&memory.data());
    assert!(scan.places(&secret).is_empty(), "the secret is on disk");
}
