//! Memories that say the same are merged by upkeep: the one that is kept has both evidences, and undo takes it back.

use rusqlite::Connection;
use yore_core::memory::Status;
use yore_core::operation::Cause;
use yore_engine::{Engine, ExtractRequest, MemoryList, StoredMemory};
use yore_testing::{Memory, SessionBuilder};

/// Two sessions of a project in which a person decides something, with memories that say the same.
///
/// Statements that say the same are merged when they are recorded, so one is changed in the database, as if an earlier version had
/// recorded it.
fn with_duplicates() -> Memory {
    let mut memory = Memory::new();
    for (seed, tool) in [(1, "make lint"), (2, "cargo vet")] {
        let mut session = SessionBuilder::new(seed).cwd("/home/dev/harbour");
        session.human(&format!("From now on always run `{tool}` before you push."));
        session.assistant("I will.");
        memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
    }
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    assert_eq!(holding(memory.engine()).len(), 2);
    memory.close();
    let db = Connection::open(memory.data().join("yore.db")).unwrap();
    db.execute("UPDATE memory SET statement = (SELECT statement FROM memory ORDER BY id LIMIT 1)", []).unwrap();
    drop(db);
    memory.open();
    memory.index();
    memory
}

fn holding(engine: &Engine) -> Vec<StoredMemory> {
    let all = engine.memories(&MemoryList { limit: 100, ..MemoryList::default() }).unwrap();
    all.into_iter().filter(|known| known.memory.status == Status::Holds).collect()
}

#[test]
fn memory_that_says_the_same_gives_its_evidence_to_the_one_that_is_kept_and_undo_parts_them() {
    let memory = with_duplicates();
    let engine = memory.engine();
    let stopped = engine.merge_duplicates(&mut || false).unwrap();
    assert!(stopped.is_cut_short && stopped.compared == 0);
    assert_eq!(holding(engine).len(), 2);

    let done = engine.merge_duplicates(&mut || true).unwrap();
    assert_eq!((done.compared, done.merged, done.is_cut_short), (2, 1, false));
    let kept = holding(engine);
    assert_eq!((kept.len(), kept[0].memory.evidence.len()), (1, 2));
    let again = engine.merge_duplicates(&mut || true).unwrap();
    assert_eq!((again.compared, again.merged), (0, 0), "compared once");

    let merge = engine.operations(None, None, 1).unwrap().remove(0);
    assert_eq!(merge.cause.by, "merge-duplicates");
    engine.undo(merge.number, &Cause::default()).unwrap();
    assert_eq!(holding(engine).len(), 2);
    engine.merge_duplicates(&mut || true).unwrap();
    assert_eq!(holding(engine).len(), 2, "what was undone is not merged again");
}
