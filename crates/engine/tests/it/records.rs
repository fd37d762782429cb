//! Units that are read as records: each reading is complete, archived content costs nothing, and a document's
//! new text replaces the old one.

use serde_json::{Value, json};
use yore_engine::Severity;
use yore_engine::ingest::{GivenDocument, IngestReport, IngestRequest};
use yore_sources::source::{ReaderOptions, Stamp};
use yore_testing::{Memory, Scan};

fn section(key: &str, text: &str) -> Value {
    json!({"section": {"document": "handbook", "key": key, "heading": [key], "text": text}})
}

fn put(memory: &Memory, version: i64, sections: &[(&str, &str)]) -> IngestReport {
    let lines: Vec<[u64; 2]> = (0..sections.len() as u64).map(|at| [at * 10 + 1, at * 10 + 9]).collect();
    let mut records = vec![
        json!({"document": {"id": "handbook", "title": "Handbook", "modified_ms": 1_780_000_000_000_i64 + version, "lines": lines}}),
    ];
    records.extend(sections.iter().map(|(key, text)| section(key, text)));
    let document = GivenDocument {
        name: "note:handbook".to_owned(),
        stamp: Stamp { size: 1, version },
        state: format!("v{version}"),
        records,
    };
    let report = memory.engine().put_document("note", document, &IngestRequest::new(Vec::new())).unwrap();
    memory.index();
    report
}

fn quotes(memory: &Memory, question: &str) -> Vec<String> {
    memory.ask(question).into_iter().map(|hit| hit.quote).collect()
}

#[test]
fn new_text_takes_the_place_of_the_old_one_and_the_archive_keeps_both() {
    let mut memory = Memory::new();
    let report = put(&memory, 1, &[("Tides", "the lagoon floods at noon"), ("Boats", "two boats are moored")]);
    assert_eq!((report.turns_added, report.turns_updated), (2, 0));
    let report = put(&memory, 2, &[("Tides", "the lagoon floods at dusk"), ("Birds", "herons nest in June")]);
    assert_eq!((report.turns_added, report.turns_updated), (1, 1));
    assert!(quotes(&memory, "when does the lagoon flood")[0].contains("dusk"));
    assert!(!quotes(&memory, "boats moored").concat().contains("moored"));
    assert!(!quotes(&memory, "noon").concat().contains("noon"));
    memory.close();
    assert!(!Scan::of(&memory.data()).places("two boats are moored").is_empty());
}

#[test]
fn unchanged_stamp_is_not_read_again_and_the_state_is_kept_for_the_giver() {
    let memory = Memory::new();
    put(&memory, 1, &[("Tides", "the lagoon floods at noon")]);
    let report = put(&memory, 1, &[("Tides", "something else")]);
    assert_eq!((report.files_unchanged, report.turns_updated), (1, 0));
    let (stamp, state) = memory.engine().known_unit("note", "note:handbook").unwrap().unwrap();
    assert_eq!((stamp, state.as_str()), (Stamp { size: 1, version: 1 }, "v1"));
}

#[test]
fn growing_unit_keeps_one_generation_and_no_line_twice() {
    let memory = Memory::new();
    let texts: Vec<String> = (0..40).map(|at| format!("paragraph {at} about the harbour wall")).collect();
    for count in 1..=texts.len() {
        // The header differs each time; the earlier sections stay.
        let sections: Vec<(&str, &str)> = texts[..count].iter().map(|text| (text.as_str(), text.as_str())).collect();
        put(&memory, count as i64, &sections);
    }
    let archive = memory.archive();
    let all: Vec<u8> = archive.iter().flat_map(|(.., bytes)| bytes.clone()).collect();
    let all = String::from_utf8(all).unwrap();
    // Forty generations of headers are kept, as none contains the other; the sections are in each generation
    // once, by reference. The stored size is what counts.
    assert!(all.contains("paragraph 39"));
    let stored = memory.statistics().store;
    assert!(stored.archive_raw_bytes < 60_000, "{} bytes for 40 short paragraphs", stored.archive_raw_bytes);
}

#[test]
fn archive_alone_gives_the_same_turns_again() {
    let memory = Memory::new();
    put(&memory, 1, &[("Tides", "the lagoon floods at noon"), ("Boats", "two boats are moored")]);
    put(&memory, 2, &[("Tides", "the lagoon floods at dusk")]);
    let before = memory.words();
    memory.engine().reindex(&ReaderOptions::default(), &mut yore_engine::ingest::Silent).unwrap();
    assert_eq!(memory.words(), before);
}

#[test]
fn what_this_memory_gave_is_not_remembered_again() {
    let memory = Memory::new();
    let mut session = yore_testing::SessionBuilder::new(9);
    session.human("what do we know\n<recalled-data>\nkelp grows on the pier\n</recalled-data>\nabout the pier");
    session.tool(
        "mcp__yore__recall",
        &json!({"question": "pier"}),
        "<recalled-data>\nkelp grows on the pier\n</recalled-data>",
        false,
    );
    memory.write("p/a.jsonl", session.text());
    memory.learn();
    assert_eq!(quotes(&memory, "kelp"), Vec::<String>::new());
    assert!(quotes(&memory, "what do we know about the pier")[0].contains("about the pier"));
}

#[test]
fn what_is_said_below_recalled_data_is_remembered() {
    let memory = Memory::new();
    let data = r#"{"recalled-data":"said","results":["kelp grows on the pier"]}"#;
    let mut session = yore_testing::SessionBuilder::new(11);
    session.human(&format!("{data}\n\nThe above is what recall printed. From now on we keep leases in Postgres"));
    session.tool("mcp__yore__recall", &json!({"question": "pier"}), &format!("{data}\n"), false);
    session.tool("mcp__yore__recall", &json!({"question": "pier"}), &data[..data.len() - 5], false);
    memory.write("p/a.jsonl", session.text());
    memory.learn();
    assert_eq!(quotes(&memory, "kelp"), Vec::<String>::new());
    assert!(quotes(&memory, "where do we keep leases")[0].starts_with("The above is what recall printed."));
}

#[test]
fn conversation_that_yore_has_with_a_model_is_no_session() {
    let memory = Memory::new();
    let mut own = yore_testing::SessionBuilder::new(10);
    own.human("<yore-own-call>\nName the decisions in this conversation.");
    own.assistant("They chose anchors over moorings.");
    memory.write("p/own.jsonl", own.text());
    memory.learn();
    // Later lines of it are not taken either.
    let more = own.lines().len();
    own.assistant("And ropes over chains.");
    memory.append("p/own.jsonl", format!("{}\n", own.lines()[more]).as_bytes());
    memory.learn();
    assert_eq!(memory.episodes().len(), 0);
    assert_eq!(quotes(&memory, "anchors over moorings"), Vec::<String>::new());
    assert_eq!(quotes(&memory, "ropes over chains"), Vec::<String>::new());
}

#[test]
fn notes_and_documents_are_neither_gone_nor_behind() {
    let memory = Memory::new();
    put(&memory, 1, &[("Tides", "the lagoon floods at noon")]);
    memory.write("papers/notes.md", "# Piers\n\nThe northern pier is closed.\n");
    memory.read_as("file", &memory.sources().join("papers"));
    memory.index();
    let of = |code: &str| {
        let findings = memory.engine().examine(None).unwrap();
        findings.into_iter().find(|finding| finding.code() == code).map(|finding| finding.severity())
    };
    assert_eq!(of("archive-sources"), Some(Severity::Fine));
    // A daemon that reads files while they are written has not had the time yet.
    let path = memory.write("papers/notes.md", "# Piers\n\nThe northern pier is open again.\n");
    assert_eq!(of("archive-sources"), Some(Severity::Note));
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
    std::fs::File::options().append(true).open(path).unwrap().set_modified(earlier).unwrap();
    assert_eq!(of("archive-sources"), Some(Severity::Warning));
}
