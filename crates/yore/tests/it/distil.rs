//! `yore distil` and `yore topics`: what an agent is given and records, and where a session changes its topic.

use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::transcript::Transcript;

const SESSION: &str = "5d15717a-0001-4a5b-8c1d-0123456789ab";

/// A memory with a session of late about two things.
fn environment() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    let mut session = Transcript::new(SESSION, "/home/dev/quay").at(now - 3_600_000);
    for (asked, answered) in [
        (
            "look at the harbour gauge, its tide table shows the wrong hour",
            "The tide table of the harbour gauge reads the almanac in local time.",
        ),
        (
            "keep the tide table of the harbour gauge in UTC, the ferry crew reads UTC",
            "The almanac now fills the tide table in UTC.",
        ),
        ("show the tide table of the harbour gauge again", "The tide table of the harbour gauge shows noon at twelve."),
        (
            "write an invoice export for the billing page, as CSV with the currency",
            "The billing page exports each invoice as CSV with its currency.",
        ),
        ("which column of the invoice export holds the currency?", "The column `currency` of the invoice export holds it."),
        ("round the amounts of the invoice export to cents", "Rounded the amounts of the invoice export to cents."),
    ] {
        session = session.human(asked).assistant(answered);
    }
    session.write(&environment.projects());
    let _ = environment.ingest(&environment.projects()).success();
    environment
}

#[test]
fn agent_reads_the_lines_that_wait_and_what_it_finds_is_recorded() {
    let environment = environment();
    let told = environment.yore(["distil", SESSION]).run().success().stdout;
    assert!(told.contains("<recalled-data") && told.contains("\n1 person:\n  look at the harbour gauge"), "{told}");
    let lines = environment.yore(["distil", SESSION, "--json"]).run().success().json();
    let new = lines["new"].as_array().unwrap();
    assert_eq!((new.len(), &lines["left"]), (12, &json!(0)));
    let quote = "keep the tide table of the harbour gauge in UTC";
    let line = new.iter().find(|line| line["text"].as_str().unwrap().starts_with(quote)).unwrap()["line"].clone();
    let found = json!({
        "items": [
            {"ref": "utc", "kind": "decision", "statement": "The tide table is kept in UTC, because the ferry crew reads UTC.", "line": line, "quote": quote, "entities": ["tide table"]},
            {"kind": "decision", "statement": "The tide table is kept in local time.", "line": line, "quote": "keep it in local time"},
        ],
        "relations": [{"from": "utc", "type": "about", "to": "harbour gauge"}],
        "topic": {"name": "Tide table in UTC"},
        "upto": new[5]["line"],
    });
    let outcome = environment.yore(["distil", SESSION, "--from", "-", "--json"]).stdin(found.to_string()).run().success().json();
    assert_eq!(
        (&outcome["recorded"], &outcome["relations"], &outcome["topic_named"]),
        (&json!(1), &json!(1), &json!(true)),
        "{outcome}"
    );
    assert_eq!(outcome["problems"].as_array().unwrap().len(), 1, "{outcome}");
    let memories = environment.yore(["memories", "--all", "--json"]).run().success().json();
    assert_eq!((memories.as_array().unwrap().len(), &memories[0]["lane"]), (1, &json!("extracted")), "{memories}");
    let rest = environment.yore(["distil", SESSION, "--json"]).run().success().json();
    let lines = |list: &str| rest[list].as_array().unwrap().len();
    assert_eq!((lines("recent"), lines("new"), lines("known")), (4, 6, 1), "{rest}");
    let bad = environment.yore(["distil", SESSION, "--from", "-"]).stdin("[]").run();
    assert!(bad.stderr.contains("yore distil --help"), "{}", bad.stderr);
    let unknown = environment.yore(["distil", "ffffffff"]).run();
    assert!(!unknown.status.success());
    environment.is_sound();
}

#[test]
fn topics_of_a_session_are_listed_and_found_by_what_they_are_about() {
    let environment = environment();
    let names = |found: &Value| -> Vec<String> {
        let sessions = found.as_array().unwrap().iter();
        sessions
            .flat_map(|session| session["topics"].as_array().unwrap())
            .map(|topic| topic["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = names(&environment.yore(["topics", "--json"]).run().success().json());
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all[0].contains("tide") && all[1].contains("invoice"), "{all:?}");
    let shown = environment.yore(["show", SESSION, "--topics", "--json"]).run().success().json();
    assert_eq!(names(&shown), all);
    let nearest = names(&environment.yore(["topics", "-n", "1", "--json", "invoice", "export"]).run().success().json());
    assert_eq!(nearest, all[1..], "the nearest to the text");
    let told = environment.yore(["topics"]).run().success().stdout;
    assert!(told.contains("3 exchanges") && told.contains("→"), "{told}");
    assert_eq!(environment.yore(["topics", "--since", "2999-01-01"]).run().status.code(), Some(1));
}
