//! Memories by hand: what a newcomer does with them, from the README alone.

use serde_json::Value;

use crate::environment::TestEnvironment;

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
    assert!(change.contains("- ") && change.contains("Leases live in Redis."), "{change}");
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
    assert_eq!(exported.trim(), "3 memories, 1 entity, 3 relations");
    let refused = here.call(&["export", file]).ends_with(3);
    assert!(refused.stderr.contains("memories.jsonl"), "{}", refused.stderr);
    let before = here.call(&["memories", "--all", "--all-statuses", "--json"]).json();
    std::fs::remove_dir_all(environment.data()).unwrap();
    let imported = here.call(&["import", file]).success().stdout;
    assert_eq!(imported.trim(), "3 memories, 1 entity, 3 relations stored; 0 known");
    assert_eq!(here.call(&["memories", "--all", "--all-statuses", "--json"]).json(), before);
    assert_eq!(here.statements(&[]), ["Leases live in SQLite.", "Answers are short."], "their project is found by its directory");
    let again = here.call(&["import", file, "--json"]).json();
    assert_eq!((&again["known"], &again["operation"]), (&Value::from(7), &Value::Null));
    environment.write("torn.jsonl", "{\"memory\":{}}\nnothing\n");
    let torn = here.call(&["import", environment.path("torn.jsonl").to_str().unwrap()]).ends_with(1);
    assert!(torn.stderr.contains("line 1 is skipped: missing field"), "{}", torn.stderr);
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
        (&["remember", "x", "--entity", "crane"], 2),
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
    let _ = harbor.call(&["import", file.to_str().unwrap()]).success();
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
        harbor.id(&["remember", "The berth of the redis host is dry."]),
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

fn now_ms() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64
}
