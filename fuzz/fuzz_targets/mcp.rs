//! Every tool with any arguments, over a small memory: the first byte selects the tool, the rest are its
//! arguments.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};
use yore_engine::{Engine, EngineOptions, StoreOptions};
use yore_memory::fuzz::Caller;

thread_local! {
    static MEMORY: RefCell<Option<(tempfile::TempDir, Caller)>> = const { RefCell::new(None) };
}

/// A session in the format that any program can write.
const SESSION: &str = r#"{"corpus_id":"tide","doc_id":"s1","timestamp":"2026-01-02T10:00:00Z","turns":[{"turn_id":"t1","role":"user","text":"Which port is shallow?"},{"turn_id":"t2","role":"assistant","text":"Port Ellen is, at low tide.\n```sh\nmake tide\n```"}]}"#;

fn memory() -> (tempfile::TempDir, Caller) {
    let directory = tempfile::tempdir().expect("a folder");
    let file = directory.path().join("session.jsonl");
    std::fs::write(&file, format!("{SESSION}\n")).expect("a file");
    let data = directory.path().join("data");
    let options = EngineOptions {
        directory: data.clone(),
        create: true,
        store: StoreOptions::default(),
        redaction_patterns: Vec::new(),
        model: None,
        model_threads: 1,
        now: || 1_782_864_000_000,
    };
    let engine = Engine::open(options).expect("a memory");
    let roots = vec![SourceRoot { source: "jsonl".to_owned(), path: file }];
    engine.ingest(&IngestRequest::new(roots), &mut Silent).expect("it is read");
    engine.sync_index(0, &mut |_| {}).expect("it is indexed");
    drop(engine);
    (directory, Caller::new(&data))
}

fuzz_target!(|data: &[u8]| {
    let Some((tool, arguments)) = data.split_first() else { return };
    let Ok(Value::Object(arguments)) = serde_json::from_slice(arguments) else { return };
    MEMORY.with_borrow_mut(|held| {
        let (_, caller) = held.get_or_insert_with(memory);
        let _ = caller.call(usize::from(*tool), arguments);
    });
});
