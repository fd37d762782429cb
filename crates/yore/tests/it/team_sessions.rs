//! Sessions that members share, and their search on the team's server. Without `YORE_TEST_POSTGRES` the tests are skipped.

use std::fs;
use std::process::Command;

use serde_json::json;
use yore_testing::SessionBuilder;

use crate::share::{Person, origin};
use crate::team::{Server, has_bytes, invite, join};

const QUESTION: &str = "why do leases live in SQLite";
const ANSWER: &str = "Leases live in SQLite because Redis lost heartbeats when the harbour office restarted it.";
const SECRET: &str = "ghp_0123456789abcdefABCDEF0123456789abcd";

/// Writes a session into a person's history, and reads it.
fn has_session(person: &Person, name: &str, session: &SessionBuilder) {
    let folder = person.computer.path("home/.claude/projects/pier");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.jsonl")), session.text()).unwrap();
    person.yore(&["up"]).success();
}

/// A session about leases, with things that stay on the computer.
fn about_leases(person: &Person) -> SessionBuilder {
    let mut session = SessionBuilder::new(1).with_id("5e551000-0000-4000-8000-000000000001").cwd(person.clone.to_str().unwrap());
    session.human(QUESTION);
    session.assistant(ANSWER);
    session.human(&format!("my token is {SECRET} <private>and my rent is 900 crowns</private>"));
    session.tool("Bash", &json!({"command": "cat notes"}), "the output of a tool about leases", false);
    session.human("the old notes are in /home/eve/notes.md");
    let own = person.clone.join("src/lease.rs");
    session.assistant(&format!("I wrote {} and nothing else.", own.display()));
    session
}

fn two(server: &Server) -> (tempfile::TempDir, Person, Person) {
    let (kept, origin) = origin();
    let (ann, bob) = (Person::new("Ann", &origin), Person::new("Bob", &origin));
    join(&ann, server, &server.team("Pier"));
    let for_bob = invite(&ann, "bob@example.org");
    join(&bob, server, &for_bob);
    (kept, ann, bob)
}

#[test]
fn sessions_go_only_when_that_is_chosen_and_a_colleague_finds_what_was_said() {
    let Some(mut server) = Server::start() else { return };
    let (_kept, ann, bob) = two(&server);
    let mut session = about_leases(&ann);
    has_session(&ann, "leases", &session);
    ann.yore(&["share", ".", "--yes"]).success();
    assert_eq!(server.sql("select count(*) from yore.turn").trim(), "0", "memories are shared, and no sessions");

    // The preview shows all that would go, and nothing goes before it is said.
    let listed = ann.yore(&["share", ".", "--dry-run", "--level", "sessions"]).success().stdout;
    assert!(listed.contains("4 turns") && listed.contains("1 held back"), "{listed}");
    let shown = ann.yore(&["share", ".", "--dry-run", "--level", "sessions", "--session", "5e55"]);
    let preview = ann.json(&["share", ".", "--dry-run", "--level", "sessions"]);
    let id = preview["sessions"][0]["session"].as_str().unwrap().to_owned();
    assert!(shown.ends_with(2).stderr.contains("no session"), "the id is yore's");
    let shown = ann.yore(&["share", ".", "--dry-run", "--level", "sessions", "--session", &id[..12]]).success().stdout;
    assert!(shown.contains(ANSWER) && shown.contains("I wrote src/lease.rs"), "{shown}");
    for private in [SECRET, "900 crowns", "output of a tool", "/home/eve"] {
        assert!(!shown.contains(private), "{private}: {shown}");
    }
    assert_eq!(ann.yore(&["share", ".", "--level", "sessions"]).stdout.lines().last(), Some("nothing was changed"));
    assert_eq!(server.sql("select count(*) from yore.turn").trim(), "0");
    let done = ann.yore(&["share", ".", "--level", "sessions", "--yes"]).success().stdout;
    assert!(done.contains("4 turns of sessions sent"), "{done}");
    let texts = server.sql("select text from yore.turn order by index");
    assert!(texts.starts_with(QUESTION) && texts.contains("I wrote src/lease.rs"), "{texts}");
    for private in [SECRET, "900 crowns", "output of a tool", "/home/eve", ann.clone.to_str().unwrap()] {
        assert!(!texts.contains(private), "{private}: {texts}");
    }
    ann.yore(&["share", ".", "--yes"]).success();
    assert_eq!(ann.json(&["team"])[0]["projects"][0]["level"], "sessions", "it stays chosen");

    // A colleague who shares memories alone finds it; their own memory has nothing of it.
    bob.yore(&["share", ".", "--yes"]).success();
    let found = bob.yore(&["recall", "--team", QUESTION]).success().stdout;
    assert!(found.contains("Redis lost heartbeats") && found.contains("claude-code of Ann"), "{found}");
    assert!(!bob.yore(&["recall", QUESTION]).stdout.contains("harbour office"));
    let answer = bob.json(&["recall", "--team", QUESTION]);
    let first = answer["results"].as_array().unwrap().iter().find(|said| said["role"] == "assistant").unwrap();
    assert_eq!((first["member"].as_str(), first["id"].as_str().unwrap().ends_with(":2")), (Some("Ann"), true), "{first}");
    let read = bob.yore(&["team", "read", first["id"].as_str().unwrap()]).success().stdout;
    assert!(read.contains("2 claude-code") && read.contains(ANSWER) && read.contains("3 Ann"), "{read}");
    assert_eq!(bob.json(&["team", "read", &id[..8]])["said"][0]["text"], QUESTION);
    bob.yore(&["recall", "--team", "zebra crossing"]).ends_with(1);
    assert!(has_no_scratch(&bob), "what was ranked is removed");

    // It grows, and the rest is sent.
    session.human("and where do berths live");
    session.assistant("Berths live in the tide table.");
    has_session(&ann, "leases", &session);
    let done = ann.yore(&["team", "sync"]).success().stdout;
    assert!(done.contains("2 turns of sessions sent"), "{done}");
    assert!(!ann.yore(&["team", "sync"]).success().stdout.contains("turns of sessions"), "nothing is sent twice");
    assert!(bob.yore(&["recall", "--team", "where do berths live"]).success().stdout.contains("tide table"));
    let audit = ann.yore(&["team", "audit"]).success().stdout;
    assert!(audit.contains("search") && audit.contains("read-session") && !audit.contains("berths"), "{audit}");

    server.close();
    assert!(bob.yore(&["recall", "--team", QUESTION]).ends_with(4).stderr.contains("does not answer"));
    server.open();
    // A forgotten session is found by nobody, and is in no byte of the server.
    ann.yore(&["forget", "--hard", &id, "--yes"]).success();
    let done = ann.yore(&["team", "sync"]).success().stdout;
    assert!(done.contains("1 session taken back"), "{done}");
    bob.yore(&["recall", "--team", QUESTION]).ends_with(1);
    server.operator.yore(["serve", "purge"]).env("YORE_DATABASE", &server.database).run().success();
    assert!(!server.has_bytes("when the harbour office"), "it is in a file of the database");
    assert!(!has_bytes(&bob.computer.path("."), b"when the harbour office"));
    server.operator.yore(["serve", "check"]).env("YORE_DATABASE", &server.database).run().success();
}

fn has_no_scratch(person: &Person) -> bool {
    let folder = person.computer.data().join("team/found");
    folder.is_dir() && fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn restored_server_gets_the_sessions_that_it_lost_and_loses_again_what_was_taken_back() {
    let Some(mut server) = Server::start() else { return };
    let (_kept, ann, bob) = two(&server);
    has_session(&ann, "leases", &about_leases(&ann));
    ann.yore(&["share", ".", "--level", "sessions", "--yes"]).success();
    bob.yore(&["share", ".", "--yes"]).success();
    let backup = server.work.path().join("backup.sql");
    let dump = Command::new(server.programs.join("bin/pg_dump")).args([&server.database, "-f"]).arg(&backup).status();
    assert!(dump.unwrap().success());

    let sessions = ann.json(&["sessions"]);
    let id = sessions["sessions"][0]["id"].as_str().or(sessions[0]["id"].as_str()).unwrap().to_owned();
    ann.yore(&["forget", &id]).success();
    let mut berths = SessionBuilder::new(2).with_id("5e551000-0000-4000-8000-000000000002").cwd(ann.clone.to_str().unwrap());
    berths.human("where do berths live");
    berths.assistant("Berths live in the tide table.");
    has_session(&ann, "berths", &berths);
    ann.yore(&["team", "sync"]).success();
    assert_eq!(server.sql("select count(*) from yore.turn").trim(), "2");

    server.close();
    server.sql("drop schema yore cascade");
    let restored = Command::new(server.programs.join("bin/psql")).args([&server.database, "-qf"]).arg(&backup).output();
    assert!(restored.unwrap().status.success());
    assert_eq!(server.sql("select count(*) from yore.turn").trim(), "4");
    server.operator.yore(["serve", "restored"]).env("YORE_DATABASE", &server.database).run().success();
    server.open();
    ann.yore(&["team", "sync"]).success();
    assert_eq!(server.sql("select count(*) from yore.turn").trim(), "2");
    assert!(!bob.yore(&["recall", "--team", QUESTION]).stdout.contains("heartbeats"));
    assert!(bob.yore(&["recall", "--team", "where do berths live"]).success().stdout.contains("tide table"));

    // A level that is lowered takes sessions back, and so does the end of sharing.
    ann.yore(&["share", ".", "--level", "memories", "--yes"]).success();
    assert_eq!(server.sql("select count(*) from yore.turn").trim(), "0");
    ann.yore(&["share", ".", "--level", "sessions", "--yes"]).success();
    assert_eq!(server.sql("select count(*) from yore.turn").trim(), "2");
    ann.yore(&["share", ".", "--stop"]).success();
    assert_eq!(server.sql("select count(*) from yore.turn").trim(), "0");
}
