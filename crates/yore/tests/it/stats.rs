//! `stats`: counts, growth, use, tokens, upkeep and times, in the command line; one project of several.

use serde_json::Value;

use crate::environment::TestEnvironment;
use crate::small_memory::{Memory, text};
use crate::transcript::Transcript;

fn environment() -> TestEnvironment {
    let environment = TestEnvironment::new();
    for (session, place) in [("4a5b0001-3f08-4714-9c34-5c452003a142", "tide"), ("9c0d0003-f01d-48f7-96ac-550c53cfdb11", "ferry")]
    {
        let directory = environment.write(&format!("work/{place}/README.md"), place);
        let directory = directory.parent().unwrap().canonicalize().unwrap();
        Transcript::new(session, directory.to_str().unwrap())
            .human("The crane opens at six.")
            .assistant("Noted.")
            .write(&environment.projects());
    }
    environment.ingest(&environment.projects());
    for (statement, kind, project) in [
        ("The crane opens at six.", "fact", "tide"),
        ("Ropes are counted on Monday.", "standard", "tide"),
        ("Ferries leave at noon.", "fact", "ferry"),
    ] {
        let _ = environment.yore(["remember", statement, "-k", kind, "-p", project]).run().success();
    }
    environment
}

fn stats(environment: &TestEnvironment, arguments: &[&str]) -> Value {
    environment.yore(["stats", "--json"].iter().chain(arguments)).run().success().json()
}

#[test]
fn memories_are_counted_by_every_property_and_for_one_project() {
    let environment = environment();
    let all = stats(&environment, &[]);
    assert_eq!((&all["sessions"], &all["turns"], &all["memories"]["total"]), (&2.into(), &4.into(), &3.into()), "{all}");
    assert_eq!(all["memories"]["by_kind"], serde_json::json!({"fact": 2, "standard": 1}));
    assert_eq!(all["memories"]["by_lane"], serde_json::json!({"curated": 3}));
    assert_eq!(all["memories"]["by_source"], serde_json::json!({"user": 3}));
    assert_eq!(all["memories"]["by_project"], serde_json::json!({"tide": 2, "ferry": 1}));
    let life = &all["life"];
    assert_eq!((&life["project"], &life["active"], &life["by_tier"]["active"]), (&Value::Null, &3.into(), &3.into()));
    assert_eq!(life["decay"], serde_json::json!({"high": 3, "medium": 0, "low": 0}));
    assert_eq!(life["growth"].as_array().unwrap().len(), 53);
    assert_eq!(life["growth"][52]["memories"], 3);
    assert!(life["upkeep"].as_array().unwrap().iter().any(|job| job["job"] == "backup"), "{life}");

    let tide = stats(&environment, &["-p", "tide"]);
    assert_eq!((&tide["sessions"], &tide["turns"], &tide["memories"]["total"]), (&1.into(), &2.into(), &2.into()), "{tide}");
    assert_eq!((&tide["life"]["project"], &tide["life"]["active"]), (&"tide".into(), &2.into()));
    assert_eq!(tide["life"]["growth"][52]["memories"], 2);
    let unknown = environment.yore(["stats", "-p", "harbour"]).run().ends_with(1);
    assert_eq!(unknown.code(), "unknown-project");
}

#[test]
fn opened_and_confirmed_memories_count_as_used_and_shown_ones_do_not() {
    let environment = environment();
    let before = stats(&environment, &[]);
    assert_eq!((&before["life"]["unused"], &before["life"]["most_used"]), (&3.into(), &serde_json::json!([])));
    let unused = before["life"]["never_used"].as_array().unwrap();
    let id = text(&unused.iter().find(|one| text(&one["statement"]).starts_with("The crane")).unwrap()["id"]).to_owned();
    let _ = environment.yore(["recall", "--all", "when does the crane open"]).run().success();
    assert_eq!(stats(&environment, &[])["life"]["unused"], 3);
    let _ = environment.yore(["show", &id]).run().success();
    let life = stats(&environment, &[])["life"].clone();
    assert_eq!(
        (&life["unused"], &life["most_used"][0]["id"], &life["most_used"][0]["opened"]),
        (&2.into(), &id.into(), &1.into())
    );
}

#[test]
fn text_fits_a_screen_and_leaves_empty_sections_out() {
    let environment = environment();
    let shown = environment.yore(["stats"]).run().success().stdout;
    assert!(shown.lines().count() <= 24 && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for section in
        ["memories   3 memories, 3 in effect", "kinds      2 fact, 1 standard", "tiers      3 active", "unused     3 of 3"]
    {
        assert!(shown.contains(section), "{section}: {shown}");
    }
    for section in ["waiting", "tokens", "most used", "recall"] {
        assert!(!shown.lines().any(|line| line.starts_with(section)), "{section}: {shown}");
    }
    // Before anything was recorded, there is nothing about memories to show.
    let empty = Memory::new().environment;
    assert!(!empty.yore(["stats"]).run().success().stdout.contains("\nkinds"));
}
