//! Commands that list and count on a small memory: sessions, projects, statistics.

use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::small_memory::{HARBOR, HARBOR_OLD, Memory, QUARRY, text};
use crate::transcript::Transcript;

#[test]
fn sessions_are_listed_last_used_first() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["sessions"]).success().shown(), @"
    2026-03-02 09:02  ddbd5e4076  harbor  6 turns  Crane scheduler takes over leases
    2026-02-13 16:27  6615d0f87b  quarry  2 turns  publish the blasting plan with [yore:redacted registry-token [hash]]
    2026-02-02 02:40  801a71052f  harbor  2 turns  import the tide tables
    ");
    let list = |arguments: &[&str]| -> Vec<String> {
        let outcome = memory.environment.yore(["sessions", "--json"]).args(arguments).run().success();
        outcome.json().as_array().unwrap().iter().map(|session| text(&session["session"]).to_owned()).collect()
    };
    assert_eq!(list(&[]), [HARBOR, QUARRY, HARBOR_OLD]);
    assert_eq!(list(&["--oldest", "-n", "1"]), [HARBOR_OLD]);
    assert_eq!(list(&["-p", "harbor"]), [HARBOR, HARBOR_OLD]);
    assert_eq!(list(&["--since", "2026-02-13", "--until", "2026-03-01"]), [QUARRY]);
    assert_eq!(list(&["--subagents"]).len(), 4);
}

#[test]
fn of_an_empty_period_no_more_is_offered() {
    let memory = Memory::new();
    let told = memory.call(&["recall", "--all", "what did we do on 3 July 2024?"]).stdout;
    assert!(told.contains("2024-07-03 is recorded") && !told.contains("more: -n"), "{told}");
}

#[test]
fn lists_are_those_of_the_project_in_which_they_are_asked_for() {
    let environment = TestEnvironment::new();
    for (at, name) in ["alpha", "beta"].into_iter().enumerate() {
        let directory = environment.path(name);
        std::fs::create_dir_all(&directory).unwrap();
        let id = format!("4a5b9{at:03}-3f00-4714-9c30-5c452003a142");
        let said = Transcript::new(&id, directory.to_str().unwrap()).human("when is high water?").assistant("At noon.");
        said.write(&environment.projects());
    }
    environment.ingest(&environment.projects());
    let listed = |directory: &str, arguments: &[&str]| {
        let outcome = environment.yore(arguments).current_dir(environment.path(directory)).run();
        outcome.stdout.lines().count()
    };
    assert_eq!((listed("alpha", &["sessions"]), listed("alpha", &["sessions", "--all"])), (1, 2));
    assert_eq!((listed("alpha", &["sessions", "-p", "beta"]), listed("", &["sessions"])), (1, 2), "outside of projects");
    for (name, berth) in [("alpha", 3), ("beta", 5)] {
        for boats in [10, 11] {
            let words = format!("Berth {berth} takes {boats} boats.");
            let _ = environment
                .yore(["remember", "--kind", "fact", "--entity", &format!("place:berth {berth}"), &words])
                .current_dir(environment.path(name))
                .run()
                .success();
        }
    }
    let conflicts = |directory: &str, arguments: &[&str]| {
        let outcome =
            environment.yore(["conflicts", "list", "--json"]).args(arguments).current_dir(environment.path(directory)).run();
        outcome.json().as_array().map_or(0, Vec::len)
    };
    assert_eq!((conflicts("alpha", &[]), conflicts("alpha", &["--all"])), (1, 2));
    for boats in [20, 21] {
        let words = format!("Berth 9 takes {boats} boats.");
        let _ = environment.yore(["remember", "--global", "--kind", "fact", "--entity", "place:berth 9", &words]).run().success();
    }
    assert_eq!(conflicts("alpha", &[]), 2, "what holds everywhere holds in each project");
}

#[test]
fn undo_without_a_number_leaves_what_rules_found_meanwhile() {
    let environment = TestEnvironment::new();
    let _ = environment.yore(["remember", "--global", "--kind", "fact", "The crane lifts 3 tons."]).run().success();
    Transcript::new("4a5b8001-3f00-4714-9c30-5c452003a142", "/home/dev/tide")
        .human("From now on, always run the linter before you commit.")
        .assistant("I will.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
    let found = environment.yore(["extract", "--all"]).run().success();
    assert!(found.stdout.contains("1 memory new"), "{}", found.stdout);
    let undone = environment.yore(["undo"]).run().success();
    assert!(undone.stdout.contains("crane"), "{}", undone.stdout);
    let nothing = environment.yore(["undo"]).run().ends_with(1);
    assert!(nothing.stderr.contains("rules and models"), "{}", nothing.stderr);
}

#[test]
fn pages_of_lists_have_every_item_once_though_items_are_added_between_them() {
    let environment = TestEnvironment::new();
    let session = |at: usize| {
        let id = format!("4a5b0{at:03}-3f00-4714-9c30-5c452003a142");
        let transcript = Transcript::new(&id, "/home/dev/tide").human(&format!("high water of day {at}?")).assistant("At noon.");
        transcript.write(&environment.projects());
        environment.ingest(&environment.projects());
    };
    let run = |arguments: &[&str]| environment.yore(arguments).run().success();
    let add = |at: usize| {
        let tons = 3 + at;
        run(&["remember", "--global", "--kind", "fact", &format!("The crane of pier {at} lifts {tons} tons.")]);
        run(&["remember", "--note", "--global", &format!("note {at}")]);
        let (older, newer) = (format!("Berth {at} takes {tons} boats."), format!("Berth {at} takes {} boats.", tons + 1));
        for words in [older, newer] {
            run(&["remember", "--global", "--kind", "fact", "--entity", &format!("place:berth {at}"), &words]);
        }
        session(at);
    };
    (0..5).for_each(add);
    let lists: [(&[&str], &str); 6] = [
        (&["sessions"], "session"),
        (&["sessions", "--oldest"], "session"),
        (&["memories", "--all"], "id"),
        (&["memories", "--notes", "--all"], "id"),
        (&["log"], "number"),
        (&["conflicts", "list"], "newer"),
    ];
    for (number, (list, name)) in lists.into_iter().enumerate() {
        let ids =
            |items: &Value| -> Vec<String> { items.as_array().unwrap().iter().map(|item| item[name].to_string()).collect() };
        let all = ids(&environment.yore(list).args(["--json", "-n", "1000"]).run().success().json());
        assert!(all.len() >= 5, "{list:?}: {all:?}");
        let (mut seen, mut after) = (Vec::new(), "start".to_owned());
        loop {
            let page = environment.yore(list).args(["--json", "-n", "2", "--after", &after]).run().success().json();
            seen.extend(ids(&page["items"]));
            let Some(next) = page["next"].as_str() else { break };
            next.clone_into(&mut after);
            // New ones are first, or last in the list that begins with the oldest.
            if seen.len() == 2 {
                add(5 + number);
            }
        }
        let is_old = |id: &String| all.contains(id);
        assert_eq!(seen.into_iter().filter(is_old).collect::<Vec<_>>(), all, "{list:?}");
        let told = environment.yore(list).args(["-n", "1"]).run().success();
        assert!(told.stderr.contains("--after"), "{list:?}: {}", told.stderr);
    }
    assert_eq!(environment.yore(["sessions", "--after", "0123"]).run().status.code(), Some(2));
    let page = environment.yore(["log", "--json", "-n", "1", "--after", "start"]).run().success().json();
    let cursor = page["next"].as_str().unwrap();
    assert_eq!(environment.yore(["sessions", "--after", cursor]).run().status.code(), Some(2), "a cursor of another list");
}

#[test]
fn project_is_renamed_and_found_by_its_new_name_and_its_short_id() {
    let environment = TestEnvironment::new();
    for (at, name) in ["tide", "reef"].into_iter().enumerate() {
        let directory = environment.path("work").join(name).to_str().unwrap().to_owned();
        let session = format!("4a5b000{at}-3f0{at}-4714-9c3{at}-5c452003a142");
        Transcript::new(&session, &directory)
            .human(&format!("when is high water at the {name}"))
            .assistant("At noon.")
            .write(&environment.projects());
    }
    environment.ingest(&environment.projects());
    let projects = |arguments: &[&str]| environment.yore(["projects", "--json"]).args(arguments).run();
    let named = |outcome: &crate::environment::Outcome, name: &str| {
        let listed = outcome.json();
        listed
            .as_array()
            .unwrap()
            .iter()
            .find(|project| project["name"] == name)
            .map(|project| project["id"].as_str().unwrap().to_owned())
    };
    let before = projects(&[]).success();
    let id = named(&before, "tide").unwrap();
    let table = environment.yore(["projects"]).run().success().stdout;
    let short = &id[id.len() - 10..];
    assert!(table.contains(short), "{table}");
    let after = projects(&["rename", short, "Tide tables"]).success();
    assert_eq!(named(&after, "Tide tables"), Some(id));
    for (project, name) in [("Tide tables", "REEF"), ("reef", " ")] {
        let refused = environment.yore(["projects", "rename", project, name]).run().ends_with(2);
        assert_eq!(refused.code(), "bad-project-name");
    }
    environment.yore(["recall", "high water", "--project", "tide tables"]).run().success();
    environment.yore(["reindex"]).run().success();
    assert!(named(&projects(&[]).success(), "Tide tables").is_some(), "reading again gives no name back");
}

#[test]
fn projects_are_listed_and_merged() {
    let memory = Memory::new();
    let list = |arguments: &[&str]| -> Vec<Value> {
        let outcome = memory.environment.yore(["projects", "--json"]).args(arguments).run().success();
        outcome.json().as_array().unwrap().clone()
    };
    let names: Vec<Value> =
        list(&[]).iter().map(|project| json!([project["name"], project["sessions"], project["turns"]])).collect();
    assert_eq!(names, [json!(["harbor", 2, 10]), json!(["quarry", 1, 2])]);
    assert_eq!(memory.call(&["projects"]).success().stdout.lines().count(), 2);

    assert_eq!(memory.call(&["projects", "merge", "quarrry", "harbor"]).ends_with(1).code(), "unknown-project");
    let merged = list(&["merge", "quarry", "harbor"]);
    assert_eq!(merged.len(), 1);
    assert_eq!(json!([merged[0]["name"], merged[0]["sessions"]]), json!(["harbor", 3]));
    assert_eq!(memory.recalled(&["-p", "harbor", "blasting"]).len(), 2, "found under the new project");
    assert_eq!(memory.recalled(&["-p", "/home/dev/quarry", "blasting"]).len(), 2, "the old directory still names it");
    memory.environment.is_sound();
}

#[test]
fn status_shows_everything_on_one_page() {
    let memory = Memory::new();
    insta::assert_snapshot!(memory.call(&["status"]).success().shown(), @"
    claude-code  3 sessions, 1 side conversation, 12 turns
    projects     2
    turns        6 assistant, 4 human, 1 tool_result, 1 injected
    sources      4 files of [size]
    archive      [size] ([share] of the sources)
    index        11 turns, 0 waiting turns for [size]
    vectors      10 turns of the static table; none of a local model; [size]
    on disk      [size] in [root]/data
    redacted     1 registry-token
    learning     by rules; no language model is chosen (`yore learn`)
    waiting      3 sessions for a model
    daemon       not running
    capture      on, for all projects
    capture      [root]/work is captured
    ");
    let stats = memory.call(&["status", "--json"]).success().json();
    assert_eq!(stats["agents"], json!([{"agent": "claude-code", "sessions": 3, "subagents": 1, "documents": 0, "turns": 12}]));
    assert_eq!(stats["redactions"], json!({"registry-token": 1}));
    assert_eq!(stats["index"]["turns"], stats["index"]["expected"]);
    assert_eq!(stats["files"], 4);
    assert_eq!(json!([stats["daemon"]["running"], stats["capture"]["enabled"]]), json!([false, true]));
}
