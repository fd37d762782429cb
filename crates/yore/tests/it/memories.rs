//! Memories by hand: what a newcomer does with them, from `docs/memories.md` alone.

use std::path::Path;

use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::transcript::Transcript;

/// Creates two projects that are repositories.
fn projects() -> TestEnvironment {
    let environment = TestEnvironment::new();
    for project in ["harbor", "quarry"] {
        environment.write(&format!("work/{project}/.git/HEAD"), "ref: refs/heads/main\n");
    }
    environment
}

struct Place<'e>(&'e TestEnvironment, &'e str);

impl Place<'_> {
    fn call(&self, arguments: &[&str]) -> crate::environment::Outcome {
        self.0.yore(arguments.iter().copied()).current_dir(self.0.path("work").join(self.1)).run()
    }

    /// Runs a command that prints an id.
    #[track_caller]
    fn id(&self, arguments: &[&str]) -> String {
        self.call(arguments).success().stdout.lines().next().unwrap().trim().to_owned()
    }

    #[track_caller]
    fn statements(&self, arguments: &[&str]) -> Vec<String> {
        let found = self.call(&[&["memories", "--json"], arguments].concat()).json();
        found.as_array().unwrap().iter().map(|memory| memory["statement"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn memories_are_recorded_corrected_undone_and_listed_by_project_kind_and_entity() {
    let environment = projects();
    let (harbor, quarry) = (Place(&environment, "harbor"), Place(&environment, "quarry"));
    let decision = harbor.id(&[
        "remember",
        "Leases live in Redis.",
        "--kind",
        "decision",
        "--entity",
        "tool:Redis",
        "--tag",
        "storage",
        "--valid-from",
        "2026-01-05",
    ]);
    let preference = harbor.id(&["remember", "Answers are short.", "-k", "preference", "--global"]);
    let fact = quarry.id(&["remember", "The crusher runs at night.", "-k", "FACT"]);
    assert_eq!((decision.len(), preference.len(), fact.len()), (32, 32, 32));
    assert_eq!(harbor.statements(&[]), ["Answers are short.", "Leases live in Redis."]);
    assert_eq!(quarry.statements(&[]), ["The crusher runs at night.", "Answers are short."]);
    assert_eq!(harbor.statements(&["--all", "--kind", "decision", "--kind", "fact"]).len(), 2);
    assert_eq!(harbor.statements(&["--entity", "redis"]), ["Leases live in Redis."]);
    assert_eq!(harbor.statements(&["--tag", "storage", "--project", "harbor"]), ["Leases live in Redis."]);
    let again = harbor.call(&["remember", "Leases live in Redis.", "-k", "decision"]).success();
    assert_eq!((again.stdout.trim(), again.stderr.trim()), (decision.as_str(), "already known: nothing was stored"));

    // A correction takes the place of the old words, which stay readable.
    let corrected = harbor.id(&["memories", "edit", &decision[22..], "Leases live in SQLite."]);
    assert_eq!(harbor.statements(&[]), ["Leases live in SQLite.", "Answers are short."]);
    assert_eq!(harbor.statements(&["--status", "superseded"]), ["Leases live in Redis."]);
    let shown = harbor.call(&["show", &corrected]).success().stdout;
    for part in ["decision", "harbor", "holds, curated, verified", "supersedes memory", "about entity Redis", "#storage"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let old = harbor.call(&["show", &decision, "--json"]).json();
    assert_eq!((&old["status"], &old["statement"]), (&Value::from("superseded"), &Value::from("Leases live in Redis.")));
    assert!(old["valid_from"].as_str().unwrap().starts_with("2026-01-0") && old["valid_until"].is_string(), "{old}");
    assert_eq!(old["relations"].as_array().unwrap().iter().filter(|relation| relation["name"] == "superseded_by").count(), 1);
    let timeline = harbor.statements(&["--timeline"]);
    assert_eq!(timeline[0], "Leases live in Redis.");

    // Undo takes back the whole correction; the log says what was done.
    let undone = harbor.call(&["op", "undo"]).success();
    assert!(undone.stdout.starts_with("undid operation 4"), "{}", undone.stdout);
    assert_eq!(harbor.statements(&["--kind", "decision"]), ["Leases live in Redis."]);
    let log = harbor.call(&["op", "log", "--json"]).json();
    assert_eq!((&log[0]["kind"], &log[1]["undone_by"]), (&Value::from("undo"), &Value::from(5)));
    let refused = harbor.call(&["op", "undo", "4"]).ends_with(1);
    assert!(refused.stderr.contains("was undone by operation 5"), "{}", refused.stderr);
    let _ = harbor.call(&["op", "redo", "4"]).success();
    assert_eq!(harbor.statements(&["--kind", "decision"]), ["Leases live in SQLite."]);
    let change = harbor.call(&["op", "show", "4"]).success().stdout;
    for line in
        ["+ statement: Leases live in SQLite.", "- status: holds", "+ status: superseded", "+ valid from: 2026-01-05 00:00:00 "]
    {
        assert!(change.lines().any(|told| told.starts_with(line)), "{line}: {change}");
    }
}

#[test]
fn memories_move_to_another_memory_and_come_back_after_a_loss() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    let _ = here.id(&["remember", "Leases live in Redis.", "-k", "decision", "--entity", "tool:Redis"]);
    let _ = here.id(&["remember", "Answers are short.", "-k", "preference", "--global"]);
    let decision = here.call(&["memories", "--json", "-k", "decision"]).json()[0]["id"].as_str().unwrap().to_owned();
    let _ = here.call(&["memories", "edit", &decision, "Leases live in SQLite."]).success();
    let file = environment.path("memories.jsonl");
    let file = file.to_str().unwrap();
    let exported = here.call(&["export", file]).success().stdout;
    assert_eq!(exported.trim(), "3 memories, 1 entity, 3 relations, 0 notes");
    let refused = here.call(&["export", file]).ends_with(2);
    assert_eq!(refused.code(), "export/exists");
    assert!(refused.stderr.contains("memories.jsonl") && refused.stderr.contains("--force"), "{}", refused.stderr);
    let first = std::fs::read(file).unwrap();
    std::fs::write(file, "something else").unwrap();
    let _ = here.call(&["export", file, "--force"]).success();
    assert_eq!(std::fs::read(file).unwrap(), first);
    let before = here.call(&["memories", "--all", "--all-statuses", "--json"]).json();
    std::fs::remove_dir_all(environment.data()).unwrap();
    let imported = here.call(&["import", file, "--trust"]).success().stdout;
    assert_eq!(imported.trim(), "3 memories, 1 entity, 3 relations, 0 notes stored; 0 known");
    assert_eq!(here.call(&["memories", "--all", "--all-statuses", "--json"]).json(), before);
    assert_eq!(here.statements(&[]), ["Leases live in SQLite.", "Answers are short."], "their project is found by its directory");
    let again = here.call(&["import", file, "--json"]).json();
    assert_eq!((&again["known"], &again["operation"]), (&Value::from(7), &Value::Null));
    environment.write("torn.jsonl", "{\"memory\":{}}\nnothing\n");
    let torn = here.call(&["import", environment.path("torn.jsonl").to_str().unwrap()]).ends_with(1);
    assert!(torn.stderr.contains("line 1 is skipped: missing field"), "{}", torn.stderr);
}

#[test]
fn an_entity_is_told_with_the_turns_that_name_it_and_the_user_by_their_name() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    let directory = environment.path("work/harbor");
    Transcript::new("5f0c0009-0001-4000-8001-000000000001", directory.to_str().unwrap())
        .human("why does the tide gauge stop at noon?")
        .assistant("The tide gauge waits for the almanac.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
    let _ = here.id(&["remember", "The gauge is calibrated.", "-k", "fact", "--entity", "tide gauge", "--entity", "User"]);
    let around = here.call(&["memories", "entities", "tide gauge"]).success().stdout;
    assert!(around.contains("The gauge is calibrated."), "{around}");
    assert_eq!(around.matches("named in").count(), 2, "{around}");
    let _ = here.call(&["memories", "entities", "me", "Ada Lovelace"]).success();
    let told = here.call(&["recall", "--memories", "calibrated"]).success().stdout;
    assert!(told.contains("about tide gauge, Ada Lovelace") || told.contains("about Ada Lovelace"), "{told}");
    let names: Vec<String> = here
        .call(&["memories", "entities", "--json"])
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|entity| entity["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["Ada Lovelace", "tide gauge"], "the user is one entity");
}

#[test]
fn memories_are_confirmed_found_wrong_pinned_and_related() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    let crane = here.id(&["remember", "The crane is old.", "-k", "observation", "--entity", "crane"]);
    let plan = here.id(&["remember", "Replace the crane.", "-k", "todo", "--entity", "crane"]);
    let _ = here.call(&["memories", "pin", &crane]).success();
    let _ = here.call(&["memories", "confirm", &crane]).success();
    let _ = here.call(&["memories", "relate", &plan, "CAUSED_BY", &crane, "--reason", "age"]).success();
    let _ = here.call(&["show", &crane]).success();
    let shown = here.call(&["show", &crane, "--json"]).json();
    assert_eq!((&shown["pinned"], &shown["uses"]["opened"]), (&Value::from(true), &Value::from(1)));
    assert!(shown["relations"].as_array().unwrap().iter().any(|relation| relation["name"] == "causes"), "{shown}");
    let around = here.call(&["memories", "entities", "crane", "--depth", "2"]).success().stdout;
    assert!(around.contains("The crane is old.") && around.contains("Replace the crane."), "{around}");
    let _ = here.call(&["memories", "wrong", &plan, "it was painted"]).success();
    assert_eq!(here.statements(&[]), ["The crane is old."]);
    assert_eq!(here.call(&["show", &plan, "--json"]).json()["cause"], "it was painted");
    let _ = here.call(&["memories", "archive", &crane]).success();
    let _ = here.call(&["memories"]).ends_with(1);
    let _ = here.call(&["memories", "archive", &crane, "--off"]).success();
    let _ = here.call(&["memories", "entities", "add", "component", "winch", "--alias", "hoist"]).success();
    let _ = here.call(&["memories", "entities", "merge", "hoist", "crane"]).success();
    assert_eq!(here.call(&["memories", "entities", "--json"]).json()[0]["aliases"], serde_json::json!(["hoist", "winch"]));
    for (wrong, code) in [
        (["show", "0000000000"].as_slice(), 1),
        (&["memories", "edit", "0000000000", "x"], 1),
        (&["memories", "edit", &crane], 2),
        (&["memories", "relate", &crane, "likes", &plan], 2),
        (&["memories", "relate", &crane, "supports", &crane], 2),
        (&["memories", "entities", "nobody"], 1),
        (&["memories", "--kind", "idea"], 2),
        (&["remember", "--note", "x", "--entity", "crane"], 2),
        (&["remember", "x", "-k", "fact", "--evidence", "ffffffffff"], 1),
        (&["remember", "x", "-k", "fact", "--replaces", "ffffffffff"], 1),
        (&["op", "show", "99"], 1),
    ] {
        let outcome = here.call(wrong).ends_with(code);
        assert!(!outcome.stderr.is_empty(), "{wrong:?}");
    }
}

#[test]
fn a_statement_is_recalled_as_it_stands_and_as_it_stood_and_survives_a_loss() {
    let environment = projects();
    let (harbor, quarry) = (Place(&environment, "harbor"), Place(&environment, "quarry"));
    let leases = harbor.id(&["remember", "Leases of the berths live in Redis.", "-k", "decision", "--entity", "tool:Redis"]);
    let _ = harbor.id(&["remember", "Berths are counted from zero.", "-k", "standard"]);
    let _ = quarry.id(&["remember", "Leases of the crusher end on Sundays.", "-k", "fact"]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    let before = yore_core::time::format_utc(now_ms());
    std::thread::sleep(std::time::Duration::from_millis(20));
    let _ = harbor.id(&["memories", "edit", &leases, "Leases of the berths live in SQLite."]);
    let recalled = |arguments: &[&str]| {
        let found = harbor.call(&[&["recall", "where do leases live?", "--json"], arguments].concat()).json();
        let memories = found["results"].as_array().unwrap().iter().filter(|result| result["memory"].is_object());
        memories.map(|result| result["memory"].clone()).collect::<Vec<_>>()
    };
    let said = |memories: &[Value]| memories[0]["statement"].as_str().unwrap().to_owned();
    let now = recalled(&[]);
    assert_eq!((now.len(), said(&now).as_str()), (1, "Leases of the berths live in SQLite."), "{now:?}");
    assert_eq!(now[0]["history"][0]["statement"], "Leases of the berths live in Redis.");
    assert_eq!((&now[0]["entities"][0], &now[0]["status"]), (&Value::from("Redis"), &Value::from("holds")));
    assert_eq!(said(&recalled(&["--as-of", &before])), "Leases of the berths live in Redis.");
    assert_eq!(recalled(&["--all", "--memories"]).len(), 2, "each project keeps its own");
    assert_eq!(recalled(&["--turns"]).len(), 0);
    assert_eq!(recalled(&["--memory-kind", "standard"]).len(), 0);
    assert_eq!(said(&recalled(&["--entity", "redis"])), "Leases of the berths live in SQLite.");
    let text = harbor.call(&["recall", "where do leases live?"]).success().stdout;
    for part in ["decision", "Leases of the berths live in SQLite.", "about Redis", "earlier until"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let uses = harbor.call(&["memories", "--json", "-k", "decision"]).json();
    assert!(uses[0]["uses"]["shown"].as_u64().unwrap() >= 3, "{uses}");
    // Taken back, exported, lost and brought back.
    let _ = harbor.call(&["op", "undo"]).success();
    assert_eq!(said(&recalled(&[])), "Leases of the berths live in Redis.");
    let file = environment.path("memories.jsonl");
    let _ = harbor.call(&["export", file.to_str().unwrap()]).success();
    std::fs::remove_dir_all(environment.data()).unwrap();
    let _ = harbor.call(&["import", file.to_str().unwrap(), "--trust"]).success();
    assert_eq!(said(&recalled(&[])), "Leases of the berths live in Redis.");
    assert_eq!(said(&recalled(&["--as-of", &before])), "Leases of the berths live in Redis.");
    let unknown = harbor.call(&["recall", "leases", "--entity", "nobody"]).ends_with(1);
    assert!(unknown.stderr.contains("nobody"), "{}", unknown.stderr);
}

#[test]
fn conditions_are_listed_first_and_forgotten_with_yes() {
    let environment = projects();
    let (harbor, quarry) = (Place(&environment, "harbor"), Place(&environment, "quarry"));
    let ids = [
        harbor.id(&["remember", "Leases live in Redis.", "-k", "decision"]),
        harbor.id(&["remember", "--note", "The berth of the redis host is dry."]),
        quarry.id(&["remember", "The crusher runs at night.", "-k", "fact"]),
    ];
    let planned = harbor.call(&["forget", "--query", "REDIS"]).success();
    let shown = ids.iter().fold(planned.shown(), |shown, id| shown.replace(&id[..10], "[id]"));
    assert!(shown.starts_with("would forget 1 note, 1 turn, 1 memory\n"), "{shown}");
    assert!(shown.contains("  note    ") && shown.contains("  memory  ") && shown.contains("Leases live in Redis."), "{shown}");
    assert!(shown.contains("nothing was changed; the same with --yes does it"), "{shown}");
    let data = harbor.call(&["forget", "--project", "harbor", "--json"]).success().json();
    assert_eq!((&data["dry_run"], &data["selected"]), (&true.into(), &serde_json::json!({"memory": 1, "note": 1})));
    assert_eq!(harbor.statements(&["--all"]).len(), 2);
    let _ = harbor.call(&["forget", "--project", "harbor", "--yes"]).success();
    assert_eq!(harbor.statements(&["--all"]), ["The crusher runs at night."]);
    let _ = harbor.call(&["forget", "--project", "harbor", "--yes", "--restore"]).success();
    assert_eq!(harbor.statements(&["--all"]).len(), 2);
    assert_eq!(harbor.call(&["forget", "--query", "zeppelin"]).ends_with(1).shown().matches("nothing meets").count(), 1);
    for arguments in [&["forget"][..], &["forget", "--query", " "], &["forget", &ids[0], "--project", "harbor"]] {
        harbor.call(arguments).ends_with(2);
    }
    let _ = harbor.call(&["forget", "--since", "today", "--hard", "--yes"]).success();
    assert!(harbor.call(&["memories", "--all"]).ends_with(1).stdout.is_empty());
}

#[test]
fn forgetting_softly_reaches_what_was_replaced_and_gives_each_its_status_back() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    let first = here.id(&["remember", "The alpha port is 7.", "-k", "fact", "--valid-from", "2026-01-01"]);
    let second = here.id(&["memories", "edit", &first, "The alpha port is 8.", "--valid-from", "2026-03-01"]);
    let other = here.id(&["remember", "The quay needs the alpha port.", "-k", "fact"]);
    let _ = here.call(&["memories", "relate", &other, "depends_on", &second]).success();
    let third = here.id(&["memories", "edit", &second, "The alpha port is 9.", "--valid-from", "2026-05-01"]);
    let shown = here.call(&["show", &other, "--json"]).json();
    let leads_to: Vec<&str> =
        shown["relations"].as_array().unwrap().iter().map(|relation| relation["id"].as_str().unwrap()).collect();
    assert_eq!(leads_to, [third.as_str()], "relations lead to what holds");
    let statuses = || -> Vec<String> {
        let listed = here.call(&["memories", "--all", "--all-statuses", "--json"]).json();
        let mut told: Vec<String> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|memory| format!("{} {}", memory["statement"].as_str().unwrap(), memory["status"].as_str().unwrap()))
            .collect();
        told.sort();
        told
    };
    let before = statuses();
    let _ = here.call(&["forget", &third]).success();
    for arguments in [
        &["recall", "alpha port", "--memories", "--valid-at", "2026-02-01"][..],
        &["recall", "alpha port", "--memories", "--memory-status", "superseded"],
        &["recall", "alpha port", "--memories", "--memory-status", "archived"],
    ] {
        let told = here.call(arguments).stdout;
        assert!(!told.contains("port is"), "{arguments:?}: {told}");
    }
    let _ = here.call(&["forget", &third, "--restore"]).success();
    assert_eq!(statuses(), before);
}

#[test]
fn files_that_are_no_rules_are_no_memories() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    environment.write("work/harbor/bin.md", [0x7f, b'E', 0, 0xff]);
    environment.write("work/harbor/latin.md", [b'c', b'a', b'f', 0xe9]);
    environment.write("work/harbor/data.csv", "a,b\n1,2\n");
    environment.write("work/harbor/slip.md", "---\nyore: memory\nid: [a\nkind: fact\n---\nhello yaml\n");
    for (file, reason) in [("bin.md", "not text"), ("latin.md", "not text"), ("data.csv", "--format"), ("slip.md", "slip.md")] {
        let refused = here.call(&["import", file]).ends_with(1);
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    }
    assert!(here.call(&["memories"]).ends_with(1).stdout.is_empty());
    // Two files that say the same are stable, and a file that is gone says nothing more.
    environment.write("work/harbor/AGENTS.md", "# H\n\n## S\n\n- Always use tabs.\n- Use port 80.\n");
    environment.write("work/harbor/CLAUDE.md", "- Always use tabs.\n- Never push.\n");
    let import = || here.call(&["import", ".", "--json"]).success().json();
    let _ = import();
    assert_eq!(import()["operation"], Value::Null, "a second import changes nothing");
    std::fs::remove_file(environment.path("work/harbor/CLAUDE.md")).unwrap();
    assert_eq!(import()["put_away"], 1);
    assert!(!here.statements(&[]).contains(&"Never push.".to_owned()));
}

/// Returns the files below a folder with their text, by path.
fn pages(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(pages(&entry));
        } else {
            found.push((entry.to_str().unwrap().to_owned(), std::fs::read_to_string(&entry).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn pages_are_read_and_what_was_changed_there_comes_back_as_operations() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    let hostile = "Say \u{202e}\"no\": # to `---`\n---\n## Details\n\nand - [x] go on";
    let redis = here.id(&["remember", "Leases live in Redis.", "-k", "decision", "--entity", "tool:Redis", "--tag", "yes"]);
    let odd = here.id(&["remember", hostile, "-k", "fact", "--global"]);
    let note = here.id(&["remember", "Count the ropes.", "--title", "Ropes: all"]);
    let folder = environment.path("pages");
    let told = here.call(&["export", "--markdown", folder.to_str().unwrap()]).success().stdout;
    assert_eq!(told.trim(), "2 memories, 1 entity, 0 relations, 1 note");
    let written = pages(&folder);
    let names: Vec<String> = written
        .iter()
        .map(|(path, _)| path[folder.to_str().unwrap().len()..].split_inclusive('-').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["/entities/redis-", "/memories/everywhere/say-", "/memories/harbor/leases-", "/notes/ropes-"]);
    assert_eq!(here.call(&["export", "--markdown", folder.to_str().unwrap()]).ends_with(2).code(), "export/exists");
    let import = |arguments: &[&str]| here.call(&[&["import"], arguments, &["--json"]].concat());
    let same = import(&[folder.to_str().unwrap()]).success().json();
    assert_eq!((&same["known"], &same["operation"]), (&Value::from(4), &Value::Null), "{same}");

    let (path, text) = &written[2];
    let changed = text
        .replace("Leases live in Redis.", "Leases live in SQLite.")
        .replace("- tool:Redis", "- SQLite")
        .replace("- Redis", "- SQLite");
    std::fs::write(path, changed.replace("importance: 0.5", "importance: 0.9")).unwrap();
    std::fs::write(&written[0].0, format!("{}A store in memory.\n", written[0].1)).unwrap();
    std::fs::write(&written[3].0, written[3].1.replace("Count the ropes.", "Count the ropes on Fridays.")).unwrap();
    std::fs::write(&written[1].0, written[1].1.replace("status: holds", "status: archived")).unwrap();
    std::fs::write(folder.join("new.md"), "---\nyore: memory\nkind: preference\n---\nAnswers are short.\n").unwrap();
    let done = import(&[folder.to_str().unwrap()]).success().json();
    assert_eq!(
        (&done["memories"], &done["entities"], &done["notes"]),
        (&Value::from(3), &Value::from(1), &Value::from(1)),
        "{done}"
    );
    let holds = here.call(&["memories", "--json"]).json();
    let said: Vec<(&str, &Value)> =
        holds.as_array().unwrap().iter().map(|memory| (memory["statement"].as_str().unwrap(), &memory["importance"])).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said.contains(&("Leases live in SQLite.", &Value::from(0.9)))
            && said.iter().any(|(said, _)| *said == "Answers are short.")
    );
    assert_eq!(here.statements(&["--entity", "SQLite"]), ["Leases live in SQLite."]);
    assert_eq!(here.call(&["show", &redis, "--json"]).json()["status"], "superseded");
    let archived = here.call(&["show", &odd, "--json"]).json();
    assert_eq!((&archived["status"], archived["statement"].as_str()), (&Value::from("archived"), Some(hostile)));
    assert_eq!(here.call(&["show", &note, "--json"]).json()["turns"][0]["text"], "Count the ropes on Fridays.");
    let log = here.call(&["op", "log", "--json"]).json();
    assert_eq!(log.as_array().unwrap().len(), 6, "2 by hand, 4 by pages: {log}");
    // The pages are older than the memory now: a further change there is refused, with the reason.
    std::fs::write(path, text.replace("kind: decision", "kind: standard")).unwrap();
    let _ = here.call(&["memories", "pin", &odd]).success();
    std::fs::write(&written[1].0, written[1].1.replace("status: holds", "status: archived\ntitle: Odd")).unwrap();
    for path in [path, &written[1].0] {
        let refused = here.call(&["import", path]).ends_with(1);
        assert!(refused.stderr.contains("export it again"), "{}", refused.stderr);
    }
    // A page whose record was forgotten does not bring it back by itself.
    let _ = here.call(&["forget", "--hard", &odd]).success();
    let refused = here.call(&["import", &written[1].0]).ends_with(1);
    assert!(refused.stderr.contains("or it was forgotten"), "{}", refused.stderr);
    let anew = here.call(&["import", &written[1].0, "--as-new", "--json"]).success().json();
    assert_eq!(anew["memories"], 1);
    for (text, reason) in [
        ("---\nyore: memory\nkind: rumour\n---\nx y\n", "expected one of"),
        ("---\nyore: memory\n---\n\n", "no statement"),
        ("---\nyore: poem\n---\nx\n", "expected memory, note"),
        ("---\nyore: memory\nvalid_from: someday\n---\nx y\n", "valid_from"),
        ("---\nyore: memory\nfields: {reason: [1]}\nkind: decision\n---\nx y\n", "fields"),
    ] {
        environment.write("bad.md", text);
        let refused = here.call(&["import", environment.path("bad.md").to_str().unwrap()]).ends_with(1);
        assert!(refused.stderr.contains("bad.md is skipped") && refused.stderr.contains(reason), "{}", refused.stderr);
    }
}

#[test]
fn rules_for_agents_are_memories_with_their_place_until_the_file_no_longer_says_them() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    let rules = "# Harbor\n\n- Never log a token.\n- Leases live in SQLite.\n\n## Build\n\n```sh\ncargo build\n```\n";
    environment.write("work/harbor/AGENTS.md", rules);
    environment.write("work/harbor/.cursor/rules/style.mdc", "---\nglobs: src/**\n---\nPrefer short names.\n");
    let import = || here.call(&["import", ".", "--json"]).success().json();
    let first = import();
    assert_eq!((&first["memories"], &first["known"]), (&Value::from(4), &Value::from(0)), "{first}");
    assert_eq!(import()["operation"], Value::Null, "twice changes nothing");
    assert_eq!(here.statements(&["--kind", "standard"]), ["Never log a token."]);
    assert_eq!(here.statements(&["--kind", "preference"]), ["Prefer short names."]);
    let listed = here.call(&["memories", "--json", "--kind", "standard"]).json();
    let token = listed[0]["id"].as_str().unwrap().to_owned();
    let shown = here.call(&["show", &token, "--json"]).json();
    assert_eq!((&shown["lane"], &shown["title"], &shown["project"]), (&"extracted".into(), &"Harbor".into(), &"harbor".into()));
    assert!(here.call(&["show", &token]).success().stdout.contains("AGENTS.md:3"));
    // A correction by hand stays, whatever the file says.
    let _ = here.call(&["memories", "edit", &token, "Never log a token or a key."]).success();
    assert_eq!(import()["operation"], Value::Null);
    // Lines that are gone are put away, and come back with their line.
    environment.write("work/harbor/AGENTS.md", "# Harbor\n\nNew words.\n\n- Never log a token.\n");
    let changed = import();
    assert_eq!((&changed["memories"], &changed["put_away"]), (&Value::from(1), &Value::from(2)), "{changed}");
    assert!(!here.statements(&[]).contains(&"Leases live in SQLite.".to_owned()));
    assert!(here.statements(&[]).contains(&"Never log a token or a key.".to_owned()));
    environment.write("work/harbor/AGENTS.md", rules);
    let back = import();
    assert_eq!((&back["memories"], &back["put_away"]), (&Value::from(2), &Value::from(1)), "{back}");
    assert!(here.statements(&[]).contains(&"Leases live in SQLite.".to_owned()));
    let operation = back["operation"].to_string();
    let _ = here.call(&["op", "undo", &operation]).success();
    assert!(!here.statements(&[]).contains(&"Leases live in SQLite.".to_owned()), "one operation takes an import back");
}

#[test]
fn rules_are_listed_before_they_are_recorded_and_told_to_nobody_who_reads_them_anyway() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    let _ = here.id(&["remember", "Answers are short.", "-k", "preference"]);
    environment.write("work/harbor/CLAUDE.md", "**Do NOT:**\n\n- log a token\n- push on Fridays\n");
    let listed = here.call(&["import", ".", "--dry-run"]).success().stdout;
    assert!(listed.contains("standard: Do NOT: log a token") && listed.contains("CLAUDE.md:3"), "{listed}");
    assert!(listed.contains("2 records would be stored"), "{listed}");
    assert_eq!(here.statements(&[]), ["Answers are short."], "a dry run records nothing");
    let _ = here.call(&["import", "."]).success();
    assert!(here.call(&["import", ".", "--dry-run"]).success().stdout.contains("0 records"));
    let brief = here.call(&["brief"]).stdout;
    assert!(brief.contains("Answers are short.") && !brief.contains("log a token"), "{brief}");
    assert!(here.call(&["recall", "--memories", "log a token"]).success().stdout.contains("Do NOT: log a token"));
}

#[test]
fn name_of_what_was_forgotten_for_good_does_not_come_back_with_its_file() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    let entity = r#"{"type":"entity","name":"Tidelock","entityType":"tool","observations":["Tidelock listens on port 6666."]}"#;
    environment.write("work/harbor/memory.jsonl", format!("{entity}\n"));
    let _ = here.call(&["import", "memory.jsonl"]).success();
    let id = here.call(&["memories", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let lines = |what: &str| here.call(&["export", "-"]).success().stdout.matches(what).count();
    assert!(lines("Tidelock") > 0);
    let _ = here.call(&["forget", "--hard", &id]).success();
    assert_eq!(lines("Tidelock"), 0);
    let _ = here.call(&["import", "memory.jsonl"]);
    assert_eq!(lines("Tidelock"), 0);
}

#[cfg(unix)]
#[test]
fn an_import_reads_no_file_through_a_link_and_nothing_that_may_never_end() {
    use std::os::unix::fs::symlink;
    let environment = projects();
    let here = Place(&environment, "quarry");
    let secret = environment.write("diary.md", "- Always be at home on Sundays.\n");
    symlink(&secret, environment.path("work/quarry/CLAUDE.md")).unwrap();
    let refused = here.call(&["import", "."]).ends_with(1);
    assert!(refused.stderr.contains("CLAUDE.md is skipped: it is a link"), "{}", refused.stderr);
    // A folder that is a link leads elsewhere as well.
    std::fs::create_dir_all(environment.path("rules")).unwrap();
    environment.write("rules/own.md", "- Never tell anybody.\n");
    std::fs::create_dir_all(environment.path("work/quarry/.cursor")).unwrap();
    symlink(environment.path("rules"), environment.path("work/quarry/.cursor/rules")).unwrap();
    assert!(here.call(&["import", "."]).ends_with(1).stderr.contains("own.md is skipped"));
    // Another name of rules that are read is no fault.
    std::fs::remove_file(environment.path("work/quarry/CLAUDE.md")).unwrap();
    std::fs::remove_file(environment.path("work/quarry/.cursor/rules")).unwrap();
    environment.write("work/quarry/AGENTS.md", "- Always sort the stones.\n");
    symlink("AGENTS.md", environment.path("work/quarry/CLAUDE.md")).unwrap();
    let _ = here.call(&["import", "."]).success();
    assert_eq!(here.statements(&[]), ["Always sort the stones."]);
    let endless = here.call(&["import", "/dev/zero"]).ends_with(2);
    assert!(endless.stderr.contains("neither a file nor a folder"), "{}", endless.stderr);
    // A page is never written through a link.
    let page = environment.write("page.md", "---\nyore: memory\n---\nThe crusher runs at night.\n");
    symlink(&page, environment.path("work/quarry/page.md")).unwrap();
    let _ = here.call(&["import", "page.md"]).ends_with(1);
    assert_eq!(std::fs::read_to_string(&page).unwrap().matches("id:").count(), 0);
}

#[test]
fn memories_of_other_programs_are_read_with_their_entities_and_relations() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    environment.write(
        "memory.jsonl",
        "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[\"likes tea\"]}\n{\"type\":\"entity\",\"name\":\"Harbor\",\"entityType\":\"project\",\"observations\":[]}\n{\"type\":\"relation\",\"from\":\"Ada\",\"to\":\"Harbor\",\"relationType\":\"works_at\"}\n{\"type\":\n",
    );
    let file = environment.path("memory.jsonl");
    let done = here.call(&["import", file.to_str().unwrap(), "--json"]).ends_with(1).json();
    assert_eq!((&done["memories"], &done["entities"], &done["relations"]), (&1.into(), &2.into(), &1.into()), "{done}");
    assert_eq!(done["skipped"], 1);
    assert_eq!(here.statements(&["--entity", "person:Ada"]), ["Ada: likes tea"]);
    let listed = here.call(&["memories", "--json"]).json();
    assert_eq!((&listed[0]["lane"], &listed[0]["confidence"]), (&"extracted".into(), &"inferred".into()), "an agent wrote it");
    // Secrets are redacted everywhere, and what cannot be stored does not stop the rest.
    let secret = "ghp_1234567890abcdefghijABCDEFGHIJ123456";
    let long = "x".repeat(300);
    environment.write(
        "odd.jsonl",
        format!(
            "{{\"type\":\"entity\",\"name\":\"{long}\",\"entityType\":\"tool\",\"observations\":[]}}\n{{\"type\":\"relation\",\"from\":\"Ada\",\"to\":\"token {secret}\",\"relationType\":\"{secret}\"}}\n"
        ),
    );
    let odd = here.call(&["import", environment.path("odd.jsonl").to_str().unwrap(), "--json"]).ends_with(1).json();
    assert_eq!((&odd["relations"], &odd["skipped"]), (&1.into(), &1.into()), "{odd}");
    assert!(!here.call(&["export", "-"]).success().stdout.contains(secret));
    let around = here.call(&["memories", "entities", "Ada"]).success().stdout;
    assert!(around.contains("Harbor"), "{around}");
    environment.write(
        "notes/search.md",
        "---\ntitle: Search\ntype: note\npermalink: search\n---\n# Search\n\n## Observations\n- [decision] SQLite holds the words #storage\n\n## Relations\n- part_of [[Harbor]]\n",
    );
    let folder = environment.path("notes");
    let import = || here.call(&["import", folder.to_str().unwrap(), "--json"]).success().json();
    let done = import();
    assert_eq!((&done["memories"], &done["entities"], &done["relations"]), (&1.into(), &1.into(), &1.into()), "{done}");
    assert_eq!(here.statements(&["--kind", "decision", "--tag", "storage"]), ["SQLite holds the words"]);
    assert_eq!(import()["operation"], Value::Null, "twice changes nothing");
    let lines = here.call(&["export", "-"]).success().stdout;
    assert!(lines.starts_with("{\"yore\":") && lines.contains("SQLite holds the words"), "{lines}");
    let _ = here.call(&["import", environment.path("none.md").to_str().unwrap()]).ends_with(3);
    environment.write("empty/none.txt", "");
    let _ = here.call(&["import", environment.path("empty").to_str().unwrap()]).ends_with(2);
}

fn now_ms() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64
}

#[test]
fn review_keeps_edits_and_rejects_what_nobody_confirmed() {
    let environment = TestEnvironment::new();
    let transcript = Transcript::new("5e71e600-0001-4a5b-8c1d-0123456789ab", "/home/dev/quay")
        .human("From now on always run `make lint` before you push.")
        .assistant("Understood.")
        .human("Implement the following plan:\n\n# Keep berth leases in SQLite\n\n## Context\nRedis lost the heartbeats of the berth leases twice in a week.")
        .assistant("Done.")
        .human("I'd rather have one log file per worktree instead of one per session")
        .assistant("Done.");
    transcript.write(&environment.projects());
    let _ = environment.ingest(&environment.projects()).success();
    let _ = environment.yore(["extract", "--all"]).run().success();
    let listed = environment.yore(["review", "--all", "--json"]).run().success().json();
    let kinds: Vec<&str> = listed["memories"].as_array().unwrap().iter().map(|memory| memory["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.len(), 3, "{listed}");
    assert_eq!(listed["conflicts"], json!([]));
    assert_eq!(kinds[2], "decision", "what is asked of all work comes first");
    let answers = "x\nk\ne\nOne log file per worktree.\nr\n";
    let told = environment.yore(["review", "--all"]).stdin(answers).run().success().stdout;
    assert!(told.contains("1 kept, 1 edited, 1 rejected") && told.contains("one of k, e, r, s, q"), "{told}");
    assert_eq!(environment.yore(["review", "--all"]).run().status.code(), Some(1), "nothing is left");
    let _ = environment.yore(["extract", "--all", "--again"]).run().success();
    assert_eq!(environment.yore(["review", "--all"]).run().status.code(), Some(1), "what was rejected is not proposed again");
    let memories = environment.yore(["memories", "--all", "--json"]).run().success().json();
    let lanes: Vec<&str> = memories.as_array().unwrap().iter().map(|memory| memory["lane"].as_str().unwrap()).collect();
    assert_eq!(lanes, ["curated", "curated"], "{memories}");
}

#[test]
fn conflicts_are_listed_shown_settled_and_taken_back() {
    let environment = TestEnvironment::new();
    let remember = |statement: &str| {
        let done =
            environment.yore(["remember", "--kind", "fact", "--entity", "gallery", statement, "--json"]).run().success().json();
        done["memory"].as_str().unwrap().to_owned()
    };
    let older = remember("The gallery has 8 cards on the first page.");
    let none = environment.yore(["conflicts"]).run().ends_with(1);
    assert!(none.stdout.contains("nothing contradicts anything"), "{}", none.stdout);
    let newer = remember("There are 10 cards in the gallery.");
    let listed = environment.yore(["conflicts", "--json"]).run().success().json();
    assert_eq!((&listed[0]["kind"], &listed[0]["values"]), (&"value".into(), &serde_json::json!(["8", "10"])), "{listed}");
    assert_eq!(listed[0]["older"]["status"], "holds", "nothing loses its place by words alone");
    let told = environment.yore(["conflicts"]).run().success().stdout;
    assert!(told.contains("value: 8 / 10 · major") && told.contains("yore conflicts settle"), "{told}");
    let short = |id: &str| id[id.len() - 10..].to_owned();
    let shown = environment.yore(["conflicts", "show", &short(&newer), &short(&older)]).run().success().stdout;
    assert!(shown.contains("no evidence"), "{shown}");
    let settle = ["conflicts", "settle", &older, &newer, "--keep", &newer, "--reason", "two were added"];
    let settled = environment.yore(settle).run().success().stdout;
    assert!(settled.contains("holds in the place of the other"), "{settled}");
    let _ = environment.yore(["conflicts"]).run().ends_with(1);
    let number = settled.split("yore undo ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    let _ = environment.yore(["op", "undo", &number]).run().success();
    assert_eq!(environment.yore(["conflicts", "--json"]).run().success().json().as_array().unwrap().len(), 1);
    let _ = environment.yore(["conflicts", "settle", &older, &newer, "--both", "--reason", "ten on the desktop"]).run().success();
    let _ = environment.yore(["conflicts"]).run().ends_with(1);
    let _ = environment.yore(["conflicts", "settle", &older, &newer]).run().ends_with(2);
}

#[test]
fn what_takes_the_place_of_another_says_so_and_is_taken_back() {
    let environment = TestEnvironment::new();
    let remember = |statement: &str| environment.yore(["remember", "--kind", "fact", "--json", statement]).run().success().json();
    let main = remember("The default branch of the quay is main.")["memory"].clone();
    let trunk = remember("The default branch of the quay is trunk.");
    assert_eq!(trunk["replaced"], serde_json::json!([main]), "{trunk}");
    let told = environment.yore(["remember", "--kind", "fact", "The default branch of the quay is next."]).run().success();
    assert!(told.stderr.contains("it takes the place of [") && told.stderr.contains("is trunk."), "{}", told.stderr);
    let shown = environment.yore(["memories", "--status", "superseded", "--json"]).run().success().json();
    assert_eq!(shown[1]["cause"], "newer: main has another value since", "{shown}");
    let _ = environment.yore(["op", "undo", "3"]).run().success();
    let left = environment.yore(["memories", "--json"]).run().success().json();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["statement"]), (1, &"The default branch of the quay is trunk.".into()));
    // A value that somebody states counts whatever the words.
    let stated = |statement: &str, value: &str| {
        let words = ["--subject", "deploys of the quay", "--aspect", "choice", "--value", value];
        environment.yore(["remember", "--kind", "decision", "--json", statement]).args(words).run().success().json()
    };
    let first = stated("We ship by hand.", "ssh")["memory"].clone();
    assert_eq!(stated("The pipeline rolls it out.", "Fly")["replaced"], serde_json::json!([first]));
}

#[test]
fn what_a_memory_says_of_code_and_what_contradicts_it_is_told_where_it_is_shown() {
    let environment = TestEnvironment::new();
    if std::process::Command::new("git").arg("--version").output().is_err() {
        return;
    }
    let directory = environment.path("quay");
    std::fs::create_dir_all(&directory).unwrap();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(&directory).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let done = git.args(["-c", "user.name=Mira", "-c", "user.email=mira@tides.example"]).args(arguments).status().unwrap();
        assert!(done.success(), "{arguments:?}");
    };
    std::fs::write(directory.join("tide.rs"), "fn tide() {}\n").unwrap();
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "gauge"]);
    let yore = |arguments: &[&str]| environment.yore(arguments).current_dir(&directory).run();
    let remember = |statement: &str| {
        let done = yore(&["remember", "--kind", "fact", "--json", statement]).success().json();
        done["memory"].as_str().unwrap().to_owned()
    };
    // Long before: commits and memories of one second have no order.
    let reader = "The tide gauge of the quay is read by tide.rs.";
    let _ = yore(&["remember", "--kind", "fact", "--valid-from", "2020-01-01", reader]).success();
    let allowed = remember("The tide gauge logs tokens of the session.");
    remember("The tide gauge never logs tokens of the session.");
    let fresh = yore(&["memories", "check"]).success().stdout;
    assert!(fresh.contains("1 fresh, 0 drifted, 0 orphaned, 0 unknown, in 1 project"), "{fresh}");
    git(&["rm", "--quiet", "tide.rs"]);
    git(&["commit", "--quiet", "-m", "gone"]);
    let checked = yore(&["memories", "check", "--json"]).success().json();
    assert_eq!((&checked["changed"][0]["verdict"], &checked["fresh"]), (&"orphaned".into(), &0.into()), "{checked}");
    let told = yore(&["recall", "which file reads the tide gauge?"]).success().stdout;
    assert!(told.contains("orphaned file tide.rs: it was removed"), "{told}");
    let told = yore(&["recall", "does the tide gauge log tokens of the session?"]).success().stdout;
    assert!(told.contains(&format!("contradicts [{}]", &allowed[allowed.len() - 10..])), "{told}");
    assert!(yore(&["memories", "check", "--project", "nowhere"]).stderr.contains("nowhere"));
}

#[test]
fn a_conflict_is_put_off_and_a_special_case_is_told_where_it_is_recalled() {
    let environment = TestEnvironment::new();
    let id = |arguments: &[&str]| environment.yore(arguments.iter().copied()).run().success().stdout.trim().to_owned();
    let eight = id(&["remember", "The gallery has 8 cards on the first page.", "-k", "fact", "--entity", "gallery"]);
    let ten = id(&["remember", "There are 10 cards in the gallery.", "-k", "fact", "--entity", "gallery"]);
    let settle = |how: &[&str]| {
        let runner = environment.yore(["conflicts", "settle", &eight, &ten]);
        runner.args(how.iter().copied()).run()
    };
    assert!(settle(&["--later=0"]).status.code() == Some(2) && settle(&["--later", "--reason", "x"]).status.code() == Some(2));
    assert!(settle(&["--later"]).success().stdout.contains("it is listed again on"));
    let listed = environment.yore(["conflicts"]).run().ends_with(1);
    assert!(listed.stderr.contains("1 conflict put off, the next until"), "{}", listed.stderr);
    let _ = settle(&["--both", "--reason", "ten on the desktop"]).success();
    let told = environment.yore(["recall", "--all", "how many cards has the gallery?"]).run().success().stdout;
    assert!(told.contains("except (ten on the desktop)") && told.contains("special case (ten on the desktop) of"), "{told}");
}

#[test]
fn an_operation_tells_no_word_of_a_memory_that_was_forgotten() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    let crane = here.id(&["remember", "The crane zanzquuxes at night.", "-k", "fact", "--entity", "component:crane"]);
    let plan = here.id(&["remember", "Paint the crane.", "-k", "todo"]);
    let _ = here.call(&["memories", "relate", &plan, "CAUSED_BY", &crane, "--reason", "zanzquuxed paint"]).success();
    let operations = |here: &Place<'_>| {
        let log = here.call(&["op", "log", "--json"]).success();
        let numbers: Vec<String> =
            log.json().as_array().unwrap().iter().map(|operation| operation["number"].to_string()).collect();
        let shown = numbers.iter().flat_map(|number| [vec!["op", "show", number], vec!["op", "show", number, "--json"]]);
        let mut told: Vec<String> = shown.map(|arguments| here.call(&arguments).success().stdout).collect();
        told.extend([log.stdout, here.call(&["op", "log"]).success().stdout]);
        told.join("\n")
    };
    assert!(operations(&here).contains("zanzquux"));
    let _ = here.call(&["forget", &crane]).success();
    let told = operations(&here);
    assert!(!told.contains("zanzquux") && told.contains(&crane) && told.contains("Paint the crane"), "{told}");
    let _ = here.call(&["forget", "--restore", &crane]).success();
    assert!(operations(&here).contains("zanzquux"));
    let _ = here.call(&["forget", &crane, "--hard"]).success();
    let told = operations(&here);
    assert!(!told.contains("zanzquux"), "{told}");
}

#[test]
fn review_settles_pairs_of_which_one_likely_changes_the_other_before_what_nobody_confirmed() {
    let environment = TestEnvironment::new();
    let note = |text: &str, since: &str| {
        environment.yore(["remember", "--global", "--kind", "fact", "--valid-from", since, "--json", text]).run().success().json()
    };
    let old = note("CI runs on Jenkins.", "2026-01-01");
    let new = note("CI moved from Jenkins to GitHub Actions.", "2026-02-01");
    assert_eq!(new["touches"][0]["verdict"], "likely_changes", "{new}");
    assert_eq!(new["touches"][0]["id"], old["memory"]);
    let listed = environment.yore(["review", "--all", "--json"]).run().success().json();
    assert_eq!(listed["conflicts"][0]["advice"], new["memory"], "the newer one is the better choice: {listed}");
    let answer = environment.yore(["recall", "--memories", "where does CI run"]).run().success().stdout;
    assert!(answer.contains("GitHub Actions") && answer.contains("was, likely"), "{answer}");
    let told = environment.yore(["review", "--all"]).stdin("x\nn\n").run().success().stdout;
    assert!(told.contains("one of n, o, b, e, f, s, q"), "{told}");
    assert_eq!(environment.yore(["review", "--all"]).run().status.code(), Some(1), "nothing is left");
    let shown = environment.yore(["show", old["memory"].as_str().unwrap(), "--json"]).run().success().json();
    assert_eq!(shown["status"], "superseded", "{shown}");
}

#[test]
fn who_records_a_statement_decides_in_the_same_call_or_the_next_how_it_stands_to_what_it_touches() {
    let environment = TestEnvironment::new();
    let remember = |text: &str, more: &[&str]| {
        let mut line = vec!["remember", "--global", "--kind", "fact", "--json", text];
        line.extend(more);
        environment.yore(&line).run().success().json()
    };
    let status = |id: &serde_json::Value| {
        environment.yore(["show", id.as_str().unwrap(), "--json"]).run().success().json()["status"].clone()
    };
    let first = remember("The importer of the quay retries three times.", &[]);
    let second = remember("Failed imports of the quay are tried again five times.", &[]);
    let decided =
        remember("Failed imports of the quay are tried again five times.", &["--replace", first["memory"].as_str().unwrap()]);
    assert_eq!(decided["memory"], second["memory"], "the decision records nothing twice");
    assert_eq!((status(&first["memory"]), status(&second["memory"])), (json!("superseded"), json!("holds")));
    let third = remember("The gauge of the quay is read at six.", &[]);
    let fourth = remember("At six the quay's gauge gets read.", &["--same", third["memory"].as_str().unwrap()]);
    assert_eq!(fourth["memory"], third["memory"]);
    let fifth = remember("The gauge of the quay is read at noon, too.", &["--beside", third["memory"].as_str().unwrap()]);
    assert_eq!((status(&third["memory"]), status(&fifth["memory"])), (json!("holds"), json!("holds")));
    assert_eq!(environment.yore(["conflicts"]).run().status.code(), Some(1), "what was decided is not asked again");
}

#[test]
fn a_closed_todo_says_in_text_and_data_that_it_is_closed_and_by_what() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    let todo = here.id(&["remember", "Paint the crane of the north quay.", "-k", "todo"]);
    let painted = here.id(&["remember", "The north quay got its colour in May.", "-k", "fact"]);
    let _ = here.call(&["memories", "relate", &painted, "SOLVES", &todo]).success();
    let question = "which crane of a quay is to be painted?";
    let told = here.call(&["recall", question]).success().stdout;
    let closed_by = format!("closed by [{}]: The north quay got", &painted[22..]);
    assert!(told.contains("todo, closed") && told.contains(&closed_by), "{told}");
    let open = here.id(&["remember", "Paint the crane of the south quay.", "-k", "todo"]);
    let found = here.call(&["recall", question, "--json"]).json();
    let results = found["results"].as_array().unwrap();
    let place = |id: &str| results.iter().position(|hit| hit["id"] == *id).unwrap();
    assert!(place(&open) < place(&todo), "{found}");
    let (closed, open) = (&results[place(&todo)]["memory"], &results[place(&open)]["memory"]);
    assert_eq!((&closed["closed"], &closed["closed_by"]["id"]), (&Value::from(true), &Value::from(painted.as_str())));
    assert_eq!(open["closed"], Value::Null);
    assert_eq!(here.statements(&["--open"]), ["Paint the crane of the south quay."]);
}

#[test]
fn a_statement_noted_in_four_wordings_is_told_once_with_its_count() {
    let environment = projects();
    let here = Place(&environment, "harbor");
    for words in ["The cache lives in Redis.", "Cache lives in redis", "cache lives in Redis!", "The cache lives in the Redis"] {
        let _ = here.id(&["remember", words, "-k", "fact"]);
    }
    let told = here.call(&["recall", "where does the cache live?"]).success().stdout;
    assert!(told.contains("said 4 times, also [") && told.to_lowercase().matches("lives in").count() == 1, "{told}");
    let found = here.call(&["recall", "where does the cache live?", "--json"]).json();
    let same = found["results"].as_array().unwrap().iter().map(|hit| hit["memory"]["same"].as_array().unwrap().len());
    assert_eq!(same.collect::<Vec<_>>(), [3], "{found}");
}

#[test]
fn redo_without_a_number_does_nothing_again_over_a_newer_change() {
    let environment = TestEnvironment::new();
    let run = |arguments: &[&str]| environment.yore(arguments).run();
    let _ = run(&["remember", "--kind", "standard", "Harbour maps are drawn to the north."]).success();
    let _ = run(&["op", "undo"]).success();
    let _ = run(&["op", "redo"]).success();
    let _ = run(&["op", "undo"]).success();
    let _ = run(&["remember", "--kind", "standard", "Tide tables are kept in metres."]).success();
    let refused = run(&["op", "redo"]).ends_with(2);
    assert!(
        refused.stderr.contains("came after operation 1 was undone") && refused.stderr.contains("yore redo 1"),
        "{refused:?}"
    );
    let _ = run(&["op", "redo", "1"]).success();
}

#[test]
fn another_thing_of_one_kind_in_the_same_words_likely_changes_what_was_said_before() {
    let environment = TestEnvironment::new();
    let remember = |statement: &str| environment.yore(["remember", "--kind", "decision", statement]).run().success().stderr;
    remember("we indent with tabs");
    assert!(remember("we indent with spaces").contains("it likely changes ["));
    remember("we use pnpm now instead of npm");
    assert!(remember("we use bun instead of pnpm").contains("it likely changes ["));
    // Said again, it may be meant to hold again.
    let again = remember("we indent with tabs");
    assert!(again.contains("nothing was stored") && again.contains("]: we indent with spaces; with --replace "), "{again}");
    let newer = again.split("--replace ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    environment.yore(["remember", "--kind", "decision", "--replace", &newer, "we indent with tabs"]).run().success();
    let told = environment.yore(["ask", "do we indent with tabs or spaces?"]).run().success().stdout;
    assert!(told.contains("tabs") && !told.lines().next().unwrap().contains("with spaces"), "{told}");
}
