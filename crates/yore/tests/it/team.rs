//! Sharing with a team over a server on PostgreSQL, between people with a computer each. Without `YORE_TEST_POSTGRES` the tests are
//! skipped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::environment::TestEnvironment;
use crate::share::{Person, import_secrets, origin, planted};

const DECISION: &str = "Leases live in SQLite because Redis lost heartbeats.";

/// A database server and a node of yore before it.
pub struct Server {
    pub programs: PathBuf,
    pub work: tempfile::TempDir,
    pub operator: TestEnvironment,
    pub database: String,
    node: Option<Child>,
    address: String,
}

impl Server {
    /// Starts both; `None` if the tests have no PostgreSQL.
    pub fn start() -> Option<Self> {
        let Some(programs) = std::env::var_os("YORE_TEST_POSTGRES").map(PathBuf::from) else {
            assert!(std::env::var_os("YORE_REQUIRE_POSTGRES").is_none(), "YORE_TEST_POSTGRES is not set");
            return None;
        };
        let work = tempfile::tempdir().unwrap();
        let started = Command::new(script())
            .arg("start")
            .args([&programs, &work.path().to_owned()])
            // The log is removed, not kept to be written over.
            .env("YORE_POSTGRES_OPTIONS", "wal_recycle=off")
            .output()
            .unwrap();
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        let database = String::from_utf8(started.stdout).unwrap().trim().to_owned();
        let mut server =
            Self { programs, work, operator: TestEnvironment::new(), database, node: None, address: "127.0.0.1:0".to_owned() };
        server.open();
        Some(server)
    }

    /// Starts the node, at the address where it was before.
    pub fn open(&mut self) {
        let node = self.operator.yore(["serve", "--listen", &self.address]).env("YORE_DATABASE", &self.database);
        let mut node = node.start_with_log();
        let mut lines = BufReader::new(node.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        self.address = line.rsplit("http://").next().unwrap().trim().to_owned();
        // Its log must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        self.node = Some(node);
    }

    pub fn close(&mut self) {
        if let Some(mut node) = self.node.take() {
            node.kill().unwrap();
            node.wait().unwrap();
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Creates a team, and returns its owner's invitation.
    pub fn team(&self, name: &str) -> String {
        let created = self.operator.yore(["serve", "create-team", name]).env("YORE_DATABASE", &self.database).run();
        created.success().stdout.trim().to_owned()
    }

    /// Runs SQL as the superuser, whom row-level security does not bind.
    pub fn sql(&self, sql: &str) -> String {
        let told = Command::new(self.programs.join("bin/psql")).args([&self.database, "-Atc", sql]).output().unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).unwrap()
    }

    /// Returns whether a file below the database's directory has these bytes.
    pub fn has_bytes(&self, words: &str) -> bool {
        has_bytes(self.work.path(), words.as_bytes())
    }
}

/// Returns whether a file below a directory has these bytes.
pub fn has_bytes(directory: &Path, words: &[u8]) -> bool {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            has_bytes(&path, words)
        } else {
            memchr::memmem::find(&fs::read(&path).unwrap_or_default(), words).is_some()
        }
    })
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close();
        let _ = Command::new(script()).arg("stop").arg(self.work.path()).status();
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres")
}

/// Lets a person in, and shares the repository with the team.
pub fn join(person: &Person, server: &Server, invite: &str) {
    let email = format!("{}@example.org", person.name.to_lowercase());
    person.yore(&["team", "join", &server.url(), invite, "--name", person.name, "--email", &email]).success();
}

pub fn invite(owner: &Person, email: &str) -> String {
    owner.yore(&["team", "invite", "--email", email]).success().stdout.trim().to_owned()
}

#[test]
fn what_a_member_shares_reaches_the_others_who_use_it_without_the_server_and_lose_it_when_it_is_taken_back() {
    let Some(mut server) = Server::start() else { return };
    let (_kept, origin) = origin();
    let (ann, bob) = (Person::new("Ann", &origin), Person::new("Bob", &origin));
    let decision = ann.remember("decision", DECISION);
    ann.remember("preference", "I like short answers.");
    bob.remember("decision", "The pier has nine lamps.");
    join(&ann, &server, &server.team("Pier"));
    let preview = ann.yore(&["share", ".", "--dry-run"]).success().stdout;
    assert!(preview.contains(DECISION) && !preview.contains("short answers"), "{preview}");
    assert_eq!(server.sql("select count(*) from yore.record").trim(), "0", "nothing leaves before it is said");
    assert_eq!(ann.yore(&["share", "."]).stdout.lines().last(), Some("nothing was changed"), "nobody agreed");
    ann.yore(&["share", ".", "--yes"]).success();
    assert_eq!(server.sql("select count(*) from yore.record").trim(), "1");
    let project = fs::read_to_string(ann.clone.join(".yore.toml")).unwrap();
    assert!(project.contains("name = \"Pier\"") && project.contains("project = \"example.org/acme/pier\""), "{project}");

    // Nobody joins in another's name.
    let for_bob = invite(&ann, "bob@example.org");
    let thief = ["team", "join", &server.url(), &for_bob, "--name", "Eve", "--email", "eve@example.org"];
    bob.yore(&thief).ends_with(2);
    join(&bob, &server, &for_bob);
    bob.yore(&["team", "join", &server.url(), &for_bob, "--name", "Bob", "--email", "bob@example.org"]).ends_with(2);
    bob.yore(&["share", ".", "--yes"]).success();
    server.close();
    let told = bob.yore(&["recall", "where do leases live"]).success().stdout;
    assert!(told.contains(DECISION) && told.contains("shared by Ann <ann@example.org> of Pier"), "{told}");
    bob.yore(&["memories"]).success();
    let lamp = bob.remember("fact", "The third lamp is broken.");
    assert!(bob.yore(&["team", "sync"]).ends_with(4).stderr.contains("does not answer"));
    assert_eq!(bob.json(&["team"])[0]["projects"][0]["waiting"], 1);
    server.open();
    bob.yore(&["team", "sync"]).success();
    ann.yore(&["team", "sync"]).success();
    assert!(ann.yore(&["memories"]).stdout.contains("The third lamp is broken."));
    assert_eq!(ann.json(&["memories", "--kind", "decision"]).as_array().unwrap().len(), 2, "her own is not there twice");

    bob.yore(&["team", "take-back", &lamp]).success();
    bob.yore(&["team", "sync"]).success();
    ann.yore(&["team", "sync"]).success();
    assert!(!ann.yore(&["memories"]).stdout.contains("third lamp"), "it is taken back, and not shared again by itself");
    ann.yore(&["team", "withdraw", "bob@example.org"]).success();
    ann.yore(&["team", "sync"]).success();
    assert!(!ann.yore(&["memories"]).stdout.contains("nine lamps"));
    ann.yore(&["team", "withdraw", "bob@example.org", "--undo"]).success();
    ann.yore(&["team", "sync"]).success();
    assert!(ann.yore(&["memories"]).stdout.contains("nine lamps"));

    // Other words are another text, and the old one goes.
    ann.yore(&["memories", "edit", &decision, "Leases live in SQLite; Redis lost heartbeats twice."]).success();
    ann.yore(&["team", "sync"]).success();
    bob.yore(&["team", "sync"]).success();
    let told = bob.yore(&["memories"]).stdout;
    assert!(told.contains("heartbeats twice") && !told.contains(DECISION), "{told}");
    assert!(bob.yore(&["team", "audit"]).ends_with(2).stderr.contains("owner"));
    let audit = ann.yore(&["team", "audit"]).success().stdout;
    assert!(audit.contains("bob@example.org  withdraw") || audit.contains("withdraw"), "{audit}");

    ann.yore(&["team", "remove", "bob@example.org"]).success();
    assert!(bob.yore(&["team", "sync"]).ends_with(2).stderr.contains("token"));
    bob.yore(&["team", "leave"]).success();
    assert!(!bob.yore(&["memories"]).stdout.contains("heartbeats"), "what the team shared counts no more");
    ann.yore(&["share", ".", "--stop"]).success();
    assert_eq!(server.sql("select count(*) from yore.record where text is not null").trim(), "1", "Bob's stays");
}

#[test]
fn computers_mend_a_server_that_was_restored_from_a_backup_and_another_one_cannot_take_its_place() {
    let Some(mut server) = Server::start() else { return };
    let (_kept, origin) = origin();
    let (ann, bob) = (Person::new("Ann", &origin), Person::new("Bob", &origin));
    let old = ann.remember("decision", DECISION);
    let kept = ann.remember("decision", "The pier has nine lamps.");
    join(&ann, &server, &server.team("Pier"));
    let for_bob = invite(&ann, "bob@example.org");
    join(&bob, &server, &for_bob);
    ann.yore(&["share", ".", "--yes"]).success();
    bob.remember("fact", "The third lamp is broken.");
    bob.yore(&["share", ".", "--yes"]).success();
    let backup = server.work.path().join("backup.sql");
    let dump = Command::new(server.programs.join("bin/pg_dump")).args([&server.database, "-f"]).arg(&backup).status();
    assert!(dump.unwrap().success());
    ann.yore(&["team", "forget", &old]).success();
    ann.yore(&["team", "take-back", &kept]).success();
    bob.remember("fact", "The crane was painted in May.");
    bob.yore(&["team", "sync"]).success();
    let state = "select count(*) filter (where is_forgotten), count(text) from yore.record";
    assert_eq!(server.sql(state).trim(), "1|2");

    server.close();
    server.sql("drop schema yore cascade");
    let restored = Command::new(server.programs.join("bin/psql")).args([&server.database, "-qf"]).arg(&backup).output();
    assert!(restored.unwrap().status.success());
    assert_eq!(server.sql(state).trim(), "0|3");
    server.operator.yore(["serve", "restored"]).env("YORE_DATABASE", &server.database).run().success();
    server.open();
    for person in [&bob, &ann, &bob, &ann] {
        person.yore(&["team", "sync"]).success();
    }
    assert_eq!(server.sql(state).trim(), "1|2", "{}", server.sql("select name, is_forgotten, text from yore.record"));
    assert!(ann.yore(&["memories"]).stdout.contains("painted in May"));
    assert!(!bob.yore(&["memories"]).stdout.contains("Redis") && !bob.yore(&["memories"]).stdout.contains("nine lamps"));

    // The id of a team is no secret: whoever has a server of their own must not become it.
    let invitation = invite(&ann, "ann@example.org");
    let refused = ann.yore(&["team", "join", "http://127.0.0.1:1", &invitation, "--name", "Ann", "--email", "ann@example.org"]);
    assert!(refused.ends_with(2).stderr.contains("in the team Pier already"));

    // What is stopped without the server is taken back when it answers, and shared by nothing until then.
    server.close();
    ann.yore(&["share", ".", "--stop"]).ends_with(4);
    ann.remember("fact", "The buoy is green.");
    ann.yore(&["team", "sync"]).ends_with(4);
    server.open();
    bob.yore(&["share", ".", "--stop"]).success();
    ann.yore(&["team", "sync"]).success();
    assert_eq!(server.sql("select count(text) from yore.record").trim(), "0");
    assert!(ann.json(&["team"])[0]["projects"].as_array().unwrap().is_empty());
    assert!(ann.yore(&["team", "leave"]).ends_with(2).stderr.contains("owner"), "the last owner stays");
    let another = server.operator.yore(["serve", "invite-owner", "Pier"]).env("YORE_DATABASE", &server.database).run();
    assert!(another.success().stdout.starts_with("yore-team-"));
}

#[test]
fn own_word_stands_above_a_colleagues_who_retires_nothing_of_it() {
    let Some(server) = Server::start() else { return };
    let (_kept, origin) = origin();
    let (ann, bob) = (Person::new("Ann", &origin), Person::new("Bob", &origin));
    bob.remember("decision", "We use Postgres for the leases.");
    join(&ann, &server, &server.team("Pier"));
    let for_bob = invite(&ann, "bob@example.org");
    join(&bob, &server, &for_bob);
    bob.yore(&["share", ".", "--yes"]).success();
    ann.yore(&["share", ".", "--yes"]).success();
    ann.remember("decision", "We use SQLite for the leases instead of Postgres.");
    ann.yore(&["team", "sync"]).success();
    bob.yore(&["team", "sync"]).success();
    let told = bob.yore(&["recall", "what do we use for the leases"]).stdout;
    let at = |words: &str| told.find(words).unwrap_or_else(|| panic!("{words} is not in {told}"));
    assert!(at("We use Postgres for the leases.") < at("We use SQLite for the leases"), "{told}");
    let memories = bob.json(&["memories", "--all-statuses"]);
    let own =
        memories.as_array().unwrap().iter().find(|memory| memory["statement"] == "We use Postgres for the leases.").unwrap();
    assert!(matches!(own["status"].as_str(), Some("holds" | "contested")), "{own}");
}

#[test]
fn nothing_private_and_no_planted_secret_gets_into_the_servers_bytes_and_what_is_forgotten_leaves_every_copy() {
    let Some(server) = Server::start() else { return };
    let (_kept, origin) = origin();
    let (ann, bob) = (Person::new("Ann", &origin), Person::new("Bob", &origin));
    let planted = planted();
    import_secrets(&ann, &planted);
    ann.remember("preference", "I like the colour of the crane.");
    ann.yore(&["remember", "The landlord raised my rent <private>to 900 crowns</private>."]).success();
    ann.remember("fact", "My diary is in /home/ann/diary.md, they say.");
    let wanted = ann.remember("decision", "Buoy twelve was sunk on purpose.");
    join(&ann, &server, &server.team("Pier"));
    let for_bob = invite(&ann, "bob@example.org");
    join(&bob, &server, &for_bob);
    ann.yore(&["share", ".", "--yes"]).success();
    let memories = ann.json(&["memories", "-n", "1000", "--kind", "fact"]);
    let named: Vec<&str> = memories.as_array().unwrap().iter().filter_map(|memory| memory["id"].as_str()).collect();
    // One that names a home is refused, and the rest with it.
    let refused = ann.yore(&[&["team", "share"], named.as_slice()].concat()).ends_with(2);
    assert!(refused.stderr.contains("/home/ann"), "{}", refused.stderr);
    let all = ann.json(&["memories", "-n", "1000"]);
    let is_imported =
        |memory: &&serde_json::Value| planted.iter().any(|(said, _)| memory["statement"].as_str().unwrap()[..12] == said[..12]);
    let named: Vec<&str> =
        all.as_array().unwrap().iter().filter(is_imported).filter_map(|memory| memory["id"].as_str()).collect();
    ann.yore(&[&["team", "share"], named.as_slice()].concat()).success();
    let told = |words: &str| ann.yore(&["remember", words]).success().stderr.contains("shared with the team of this project");
    assert!(told("The crane of the pier is painted green.") && !told("My chair is broken."), "who gets it is said");
    bob.yore(&["share", ".", "--yes"]).success();
    assert!(bob.yore(&["memories", "-n", "1000"]).stdout.contains("Buoy twelve"));
    let texts = server.sql("select text from yore.record");
    let count = texts.matches("yore: shared").count();
    assert!(count >= 290, "{count} of {} named: {}", named.len(), ann.yore(&["team", "--json"]).stdout);
    server.sql("checkpoint");
    let through: Vec<&String> =
        planted.iter().map(|(_, secret)| secret).filter(|secret| texts.contains(secret.as_str())).collect();
    assert!(through.is_empty(), "{} of 300: {through:?}", through.len());
    for (number, secret) in planted.iter().map(|(_, secret)| secret).enumerate().filter(|(number, _)| number % 30 == 0) {
        assert!(!server.has_bytes(secret), "secret {number} is in a file of the database");
    }
    for private in ["colour of the crane", "900 crowns", "raised my rent", "/home/ann", "diary"] {
        assert!(!texts.contains(private) && !server.has_bytes(private), "{private}");
    }
    assert!(server.has_bytes("Buoy twelve"), "what is shared is there");

    ann.yore(&["forget", "--hard", &wanted]).success();
    ann.yore(&["team", "sync"]).success();
    bob.yore(&["team", "sync"]).success();
    assert!(!bob.yore(&["memories", "-n", "1000"]).stdout.contains("Buoy twelve"));
    server.operator.yore(["serve", "purge"]).env("YORE_DATABASE", &server.database).run().success();
    assert!(!server.has_bytes("Buoy twelve was sunk"), "it is in a file of the database");
    for person in [&ann, &bob] {
        assert!(!has_bytes(&person.computer.path("."), b"Buoy twelve was sunk"), "{} has it still", person.name);
    }
}
