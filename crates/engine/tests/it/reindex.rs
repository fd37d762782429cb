//! Reading the archive again gives the same store; rebuilding the index gives the same answers.

use std::fs;
use std::path::PathBuf;

use yore_engine::ingest::Silent;
use yore_sources::source::ReaderOptions;
use yore_testing::{Memory, SessionBuilder, TurnOf, fixture};

const QUESTIONS: [&str; 5] = [
    "why does the caption export drop the last row",
    "zod error format",
    "CBOR or protobuf",
    "キャッシュの更新",
    "VAT for Norway",
];

fn memory_of_all() -> Memory {
    let memory = Memory::new();
    memory.copy(&fixture("claude-code"));
    for seed in 400..403 {
        memory.write(&format!("projects/more/{seed}.jsonl"), SessionBuilder::new(seed).turns(40).text());
    }
    memory.learn();
    memory
}

fn answers(memory: &Memory) -> Vec<String> {
    QUESTIONS
        .iter()
        .map(|question| memory.ask(question).first().map_or_else(String::new, |hit| hit.turn().id.to_string()))
        .collect()
}

fn assert_same(a: &str, b: &str) {
    let different: Vec<(&str, &str)> = a.lines().zip(b.lines()).filter(|(a, b)| a != b).take(6).collect();
    assert!(a == b, "{different:#?}\n{} and {} lines", a.lines().count(), b.lines().count());
}

fn index_files(memory: &Memory) -> Vec<PathBuf> {
    let directory = fs::read_dir(memory.data().join("index")).unwrap().next().unwrap().unwrap().path();
    let mut files: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn reindex_changes_nothing() {
    let memory = memory_of_all();
    let (state, found) = (memory.state(), answers(&memory));
    let (report, _) = memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!((report.turns_added, report.turns_updated, report.turns_removed), (0, 0, 0));
    assert_same(&state, &memory.state());
    assert_eq!(answers(&memory), found);
}

#[test]
fn reindex_needs_no_sources() {
    let memory = memory_of_all();
    let (words, found) = (memory.words(), answers(&memory));
    fs::remove_dir_all(memory.sources()).unwrap();
    fs::create_dir_all(memory.sources()).unwrap();
    memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_same(&words, &memory.words());
    assert_eq!(answers(&memory), found);
}

#[test]
fn other_reader_options_apply_to_what_is_archived() {
    let memory = memory_of_all();
    let (before, state) = (memory.statistics().store.words_bytes, memory.state());
    memory.engine().reindex(&ReaderOptions { tool_bytes: 64, ..ReaderOptions::default() }, &mut Silent).unwrap();
    assert!(memory.statistics().store.words_bytes < before);
    memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_same(&state, &memory.state());
}

#[test]
fn index_that_is_gone_is_made_again() {
    let mut memory = memory_of_all();
    let (state, found) = (memory.state(), answers(&memory));
    memory.close();
    fs::remove_dir_all(memory.data().join("index")).unwrap();
    memory.open();
    // Before the rebuild the queue answers; afterwards the index does.
    memory.index();
    assert_eq!(answers(&memory), found);
    assert_same(&state, &memory.state());
}

#[test]
fn damaged_index_is_made_again_by_whoever_meets_it_and_never_answers_wrong() {
    let mut memory = memory_of_all();
    let (state, found) = (memory.state(), answers(&memory));
    let count = index_files(&memory).len();
    for damage in 0..2 {
        for at in 0..count {
            let Some(path) = index_files(&memory).into_iter().nth(at) else { continue };
            memory.close();
            let bytes = fs::read(&path).unwrap();
            if damage == 0 {
                fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
            } else {
                fs::write(&path, vec![0xa5; bytes.len()]).unwrap();
            }
            memory.open();
            // The damage may be noticed at once, or by a question, or only when the files are checked: never
            // a crash.
            let is_answered =
                QUESTIONS.iter().all(|question| memory.engine().recall(&yore_engine::RecallRequest::new(*question)).is_ok());
            assert!(is_answered, "{}", path.display());
            // The daily check of a daemon.
            memory.engine().mend_index().unwrap();
            memory.index();
            assert_eq!(answers(&memory), found, "{}", path.display());
            let is_fine = |code: &str| {
                let findings = memory.engine().examine(None).unwrap();
                !findings.iter().any(|finding| finding.code() == code && finding.severity() > yore_engine::Severity::Fine)
            };
            assert!(is_fine("index") && is_fine("index-files"));
            memory.close();
            fs::remove_dir_all(memory.data().join("index")).unwrap();
            memory.open();
            memory.index();
        }
    }
    assert_same(&state, &memory.state());
}
