//! Replays of a person's own history.

use serde_json::json;
use yore_core::query::SearchMode;
use yore_engine::ReplayRequest;
use yore_testing::{Memory, SessionBuilder};

#[test]
fn memory_names_the_file_that_was_opened_when_the_same_was_asked_before() {
    let memory = Memory::new();
    // Noise: files that are opened more often than any other.
    for seed in 0..11 {
        let mut session = SessionBuilder::new(seed);
        session.human("please tidy the glossary of harbour words once more");
        for at in 0..20 {
            session.tool("Read", &json!({"file_path": format!("/home/dev/tide/docs/page{at}.md")}), "words", false);
        }
        memory.write(&format!("projects/p/noise{seed}.jsonl"), session.text());
    }
    for seed in [20, 21] {
        let mut session = SessionBuilder::new(seed);
        session.human("why does the barnacle scraper stall at low tide?");
        session.tool("Read", &json!({"file_path": "/home/dev/tide/src/scraper.rs"}), "fn scrape() {}", false);
        session.assistant("The scraper stalls because the hull is dry.");
        memory.write(&format!("projects/p/scraper{seed}.jsonl"), session.text());
    }
    memory.learn();
    let asked = |question: &str, with_files| {
        let answer = memory.ask_with(question, |request| request.with_files = with_files);
        answer.files.into_iter().next().is_some_and(|file| file.path.ends_with("scraper.rs") && file.read > 0)
    };
    assert!(asked("barnacle scraper at low tide", true));
    assert!(!asked("barnacle scraper at low tide", false));
    assert!(asked("which file has the barnacle scraper?", false), "a place is asked for");
    let request = ReplayRequest { limit: 1, context: 0, mode: SearchMode::Static, is_wanted: |_, _| true };
    let report = memory.engine().replay(&request, &mut |_, _| true).unwrap();
    assert_eq!((report.prompts, report.helpable), (1, 1), "{report:?}");
    let at_1: Vec<(&str, f64)> = report.rows.iter().map(|row| (row.name, row.hits[0])).collect();
    let expected = [("yore", 1.0), ("full text", 1.0), ("grep", 1.0), ("opened often", 0.0), ("opened last", 1.0)];
    assert_eq!(at_1, expected, "by memory, not by how often a file is opened: {report:?}");
    let stopped = memory.engine().replay(&request, &mut |_, _| false).unwrap();
    assert_eq!(stopped.prompts, 0, "nothing is judged after a stop");
}
