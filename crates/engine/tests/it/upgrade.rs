//! Databases of older versions and of other programs.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use yore_core::note::NoteFacts;
use yore_core::operation::Cause;
use yore_engine::ingest::Silent;
use yore_engine::{
    Engine, EngineError, MemoryList, NotesRequest, SCHEMA_VERSION, SessionsRequest, StoreError, WhichVersion, repair,
};
use yore_sources::source::ReaderOptions;
use yore_testing::{Memory, Random, SessionBuilder, TurnOf, fixture, is_blessing};

const SEED: u64 = 500;
/// Schemas that are upgraded, and the newest; each has a database of its own.
const COMMITTED: [i32; 6] = [19, 20, 21, 22, 23, 24];

fn fixture_of(schema: i32) -> PathBuf {
    fixture("databases").join(format!("schema-{schema}.db"))
}

/// Writes the fixture of the present schema: one session, under an invented path.
fn bless() {
    let memory = Memory::new();
    memory.write("projects/p/a.jsonl", SessionBuilder::new(SEED).turns(12).text());
    memory.learn();
    let db = Connection::open(memory.data().join("yore.db")).unwrap();
    db.execute("UPDATE source_file SET path = '/home/dev/.claude/projects/p/a.jsonl', mtime_ns = 0", []).unwrap();
    fs::create_dir_all(fixture("databases")).unwrap();
    let target = fixture_of(SCHEMA_VERSION);
    let _ = fs::remove_file(&target);
    db.execute("VACUUM INTO ?1", [target.to_str().unwrap()]).unwrap();
}

/// Creates a memory whose database is `database`.
fn memory_with(database: &Path) -> Memory {
    let mut memory = Memory::new();
    memory.close();
    for entry in fs::read_dir(memory.data()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    fs::copy(database, memory.data().join("yore.db")).unwrap();
    // A database without its key is refused; one of an older yore adopts the key beside it.
    fs::write(memory.data().join("key"), [7; 32]).unwrap();
    memory
}

fn open(memory: &Memory) -> Result<Engine, EngineError> {
    Engine::open(Memory::options(memory.data()))
}

/// Creates a memory from a database that is too old to be upgraded, and repairs it.
#[track_caller]
fn repaired(name: &str, schema: i32) -> Memory {
    let mut memory = memory_with(&fixture("databases").join(name));
    match open(&memory) {
        Err(EngineError::Store(StoreError::TooOld { found, oldest: 19, .. })) => assert_eq!(found, schema),
        other => panic!("{other:?}"),
    }
    let report = repair(&Memory::options(memory.data()), &ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!((report.refused_rows, report.lost_blobs, report.lost.len()), (0, 0, 0));
    assert_eq!(state_of(report.replaced.as_deref().unwrap()).0, schema, "the old database is kept");
    memory.open();
    memory
}

#[track_caller]
fn assert_answers(memory: &Memory) {
    let session = SessionBuilder::new(SEED).turns(12);
    memory.index();
    assert!(memory.turns(session.id()).len() >= 12);
    let first = &memory.turns(session.id())[0];
    assert_eq!(memory.ask(&first.text)[0].turn().id, first.id);
    let (report, _) = memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!((report.turns_added, report.turns_removed), (0, 0));
    assert_eq!(memory.archive()[0].2, session.text().as_bytes());
}

#[test]
fn database_of_every_supported_schema_opens_and_answers() {
    if is_blessing() {
        bless();
    }
    assert_eq!(
        COMMITTED.last(),
        Some(&SCHEMA_VERSION),
        "run with YORE_BLESS=1 and commit the database of schema {SCHEMA_VERSION}"
    );
    for schema in COMMITTED {
        let mut memory = memory_with(&fixture_of(schema));
        memory.open();
        assert_answers(&memory);
    }
}

#[test]
fn notes_of_a_database_that_is_too_old_are_word_for_word_and_in_every_version_after_a_repair() {
    // Written by the program of schema 8: a note that was replaced twice, a standing instruction, a person's
    // note under tags that have a meaning in an agent's note, and an agent's context that was replaced once.
    let memory = repaired("notes-schema-8.db", 8);
    let ferry = memory.engine().sessions(&SessionsRequest::default()).unwrap().into_iter();
    let ferry = ferry.filter(|note| note.title.as_deref() == Some("Ferry")).map(|note| note.id.to_string()).next().unwrap();
    let first = memory.engine().load_note(&ferry, WhichVersion::Number(1)).unwrap();
    assert_eq!(first.text, "The ferry leaves at dawn.", "before anything was indexed");
    memory.index();
    let request = NotesRequest::all(10);
    let notes = memory.engine().notes(&request).unwrap();
    let told: Vec<String> = notes
        .iter()
        .map(|note| {
            let NoteFacts { kind, title, tags, priority, is_confirmed, .. } = &note.facts;
            format!("{kind:?} {title:?} {tags:?} {priority:?} {is_confirmed} {} {}", note.version, note.text)
        })
        .collect();
    assert_eq!(
        told,
        [
            r#"Context Some("berths") ["ports", "related:tides"] Some(Important) false 2 Berth four is free until seven."#,
            r#"Note None ["context", "priority:high"] None false 1 A person's own tags."#,
            r#"Standing None ["deploy"] None true 1 Deploy on Tuesdays only."#,
            r#"Note Some("Ferry") ["harbour"] None true 3 The ferry leaves at dusk."#,
        ]
    );
    let ferry = notes[3].episode.to_string();
    let version = |number| memory.engine().load_note(&ferry, WhichVersion::Number(number)).unwrap();
    assert_eq!((version(1).text.as_str(), version(1).facts.tags), ("The ferry leaves at dawn.", vec!["sea".to_owned()]));
    assert_eq!(version(2).text, "The ferry leaves at noon.");
    let as_of = version(2).at.map(|at| at + 1);
    let answer = memory.ask_with("when does the ferry leave", |request| request.filter.as_of = as_of);
    assert_eq!(answer.hits.iter().map(|hit| hit.turn().text.as_str()).collect::<Vec<_>>(), ["The ferry leaves at noon."]);
    assert_eq!(memory.ask("when does the ferry leave").len(), 1);
    let (report, _) = memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!((report.turns_added, report.turns_updated, report.turns_removed), (0, 0, 0));
}

#[test]
fn operations_of_a_database_that_is_too_old_are_undone_and_done_again_after_a_repair() {
    // Written by the program of schema 18: a fact with two entities, one in its place, another that builds on it and was pinned.
    let memory = repaired("memories-schema-18.db", 18);
    let told = |memory: &Memory| {
        let list = MemoryList { limit: 10, ..MemoryList::default() };
        let memories = memory.engine().memories(&list).unwrap().into_iter();
        let told = memories.map(|one| one.memory).map(|one| {
            let relations = memory.engine().open_memory(&one.id.to_string(), None).unwrap().relations.into_iter();
            let mut relations: Vec<String> = relations.map(|one| one.name).collect();
            relations.sort();
            format!("{} {} {} {}", one.statement, one.status.as_str(), one.is_pinned, relations.join(" "))
        });
        let mut told: Vec<String> = told.collect();
        told.sort();
        told
    };
    let whole = [
        "The ferry leaves at dawn. superseded false about about superseded_by",
        "The ferry leaves at noon. holds false about extended_by supersedes",
        "The quay is closed in winter. holds true about builds_on",
    ];
    assert_eq!(told(&memory), whole);
    let cause = Cause::default();
    for number in (2..=5).rev() {
        memory.engine().undo(number, &cause).unwrap_or_else(|error| panic!("{number}: {error}"));
    }
    assert_eq!(told(&memory), ["The ferry leaves at dawn. holds false about about"]);
    for number in 2..=5 {
        memory.engine().redo(number, &cause).unwrap_or_else(|error| panic!("{number}: {error}"));
    }
    assert_eq!(told(&memory), whole);
    memory.index();
    let found = memory.ask("when does the ferry leave?");
    assert_eq!(found[0].as_memory().unwrap().memory.statement, "The ferry leaves at noon.");
}

/// Returns the tables, indexes and triggers of a database, with their texts without comments and blanks.
fn schema_of(path: &Path) -> Vec<(String, String)> {
    let db = Connection::open(path).unwrap();
    let mut statement = db.prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name, type").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
    let plain = |sql: &str| {
        let code = sql.lines().map(|line| line.split("--").next().unwrap_or(line));
        code.flat_map(str::chars).filter(|letter| !letter.is_whitespace()).collect::<String>()
    };
    rows.map(|row| row.map(|(name, sql)| (name, plain(&sql)))).collect::<Result<_, _>>().unwrap()
}

#[test]
fn upgraded_database_has_the_schema_of_a_new_one() {
    let new = Memory::new();
    let expected = schema_of(&new.data().join("yore.db"));
    for schema in COMMITTED {
        let mut memory = memory_with(&fixture_of(schema));
        memory.open();
        let found = schema_of(&memory.data().join("yore.db"));
        let differing: Vec<_> = expected.iter().zip(&found).filter(|(one, other)| one != other).take(1).collect();
        assert!(differing.is_empty() && expected.len() == found.len(), "schema {schema}: {differing:?}");
    }
}

/// Returns the statements of a memory with their statuses and causes, each on a line.
fn statements_of(engine: &Engine) -> String {
    let found = engine.memories(&MemoryList { limit: 100, ..MemoryList::default() }).unwrap();
    let line = |stored: &yore_engine::StoredMemory| {
        let memory = &stored.memory;
        let cause = memory.cause.as_ref().map(|cause| format!(" ({cause})")).unwrap_or_default();
        let pin = if memory.is_pinned { " pinned" } else { "" };
        format!("{}{pin}{cause}: {}", memory.status.as_str(), memory.statement)
    };
    let mut lines: Vec<String> = found.iter().map(line).collect();
    lines.sort();
    lines.join("\n")
}

/// The database holds what a yore of schema 19 recorded, superseded, pinned, undid and did again.
#[test]
fn statuses_and_the_log_of_an_older_schema_are_the_same_after_the_upgrade_and_its_operations_can_be_undone() {
    let mut memory = memory_with(&fixture("databases").join("memories-schema-19.db"));
    memory.open();
    let engine = memory.engine();
    let before = "\
holds pinned: The lock gate has two leaves.
holds: Ferry names are never translated.
holds: The harbour server listens on port 9090.
holds: The lock gate has three leaves.
holds: We no longer use Redis for the berth leases.
superseded (newer: 8080 has another value since): The harbour server listens on port 8080.
superseded (newer: it is no longer so): We use Redis for the berth leases.";
    assert_eq!(statements_of(engine), before);
    // The pin was undone by 11 and done again by 12; 9 and 8 recorded statements, 7 forgot one.
    let cause = Cause::default();
    for number in [10, 9, 7, 4] {
        engine.undo(number, &cause).unwrap();
    }
    let undone = "\
holds: Ferry names are never translated.
holds: The harbour server listens on port 9090.
holds: The lock gate has two leaves.
holds: The tide table has eight columns.
holds: We use Redis for the berth leases.
superseded (newer: 8080 has another value since): The harbour server listens on port 8080.";
    assert_eq!(statements_of(engine), undone);
    assert!(engine.undo(1, &cause).unwrap_err().to_string().contains("operation 2 has changed"));
    for number in [4, 7, 9, 10] {
        engine.redo(number, &cause).unwrap();
    }
    assert_eq!(statements_of(engine), before);
}

/// Returns the schema and the number of turns of a database.
fn state_of(path: &Path) -> (i32, i64) {
    let db = Connection::open(path).unwrap();
    let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    (number("PRAGMA user_version") as i32, number("SELECT count(*) FROM turn"))
}

#[test]
fn upgrade_leaves_a_backup_of_the_database_as_it_was() {
    let mut memory = memory_with(&fixture_of(19));
    let database = memory.data().join("yore.db");
    let before = state_of(&database);
    memory.open();
    let backup = memory.data().join("yore.db.backup-19");
    assert_eq!(state_of(&backup), before);
    assert_eq!(state_of(&database), (SCHEMA_VERSION, before.1));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // A user who puts the backup back has the earlier database.
    memory.close();
    fs::copy(&backup, &database).unwrap();
    fs::remove_file(&backup).unwrap();
    memory.open();
    assert!(backup.exists());
    assert_answers(&memory);
}

#[test]
fn upgrade_makes_no_backup_where_none_is_owed_or_wanted() {
    let backups = |memory: &Memory| {
        let names = fs::read_dir(memory.data()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains("backup")).collect::<Vec<_>>()
    };
    let mut memory = memory_with(&fixture_of(SCHEMA_VERSION));
    memory.open();
    assert!(backups(&memory).is_empty());
    let unwanted = memory_with(&fixture_of(19));
    let mut options = Memory::options(unwanted.data());
    options.store.backup_before_upgrade = false;
    drop(Engine::open(options).unwrap());
    assert!(backups(&unwanted).is_empty());
    assert_eq!(state_of(&unwanted.data().join("yore.db")).0, SCHEMA_VERSION);
}

#[test]
fn database_that_cannot_be_backed_up_is_not_upgraded() {
    let memory = memory_with(&fixture_of(19));
    let database = memory.data().join("yore.db");
    let in_the_way = memory.data().join("yore.db.backup-19");
    fs::create_dir_all(in_the_way.join("something")).unwrap();
    let before = state_of(&database);
    match open(&memory) {
        Err(EngineError::Store(error @ StoreError::Backup { .. })) => {
            assert!(error.to_string().starts_with("cannot back up ") && error.to_string().contains(" before the upgrade: "));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(state_of(&database), before);
    assert!(!memory.data().join("yore.db.backup-19.partial").exists());
    fs::remove_dir_all(in_the_way).unwrap();
    assert!(open(&memory).is_ok());
}

#[test]
fn several_that_upgrade_at_once_make_one_backup_and_one_upgrade() {
    let memory = memory_with(&fixture_of(19));
    let before = state_of(&memory.data().join("yore.db"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| drop(open(&memory).unwrap()));
        }
    });
    assert_eq!(state_of(&memory.data().join("yore.db.backup-19")), before);
    assert_eq!(state_of(&memory.data().join("yore.db")), (SCHEMA_VERSION, before.1));
}

#[test]
fn several_that_create_a_store_at_once_leave_a_whole_one() {
    let mut memory = Memory::new();
    let path = memory.data().join("yore.db");
    let expected = schema_of(&path);
    memory.close();
    fs::remove_dir_all(memory.data()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| drop(open(&memory).unwrap()));
        }
    });
    assert_eq!((state_of(&path), schema_of(&path)), ((SCHEMA_VERSION, 0), expected));
}

#[test]
fn newer_database_is_refused_and_left_alone() {
    let memory = memory_with(&fixture_of(SCHEMA_VERSION));
    let path = memory.data().join("yore.db");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    let before = fs::read(&path).unwrap();
    match open(&memory) {
        Err(EngineError::Store(StoreError::Newer { found, known, .. })) => {
            assert_eq!((found, known), (SCHEMA_VERSION + 1, SCHEMA_VERSION));
        }
        other => panic!("{other:?}"),
    }
    assert!(fs::read(&path).unwrap() == before);
    assert_eq!(fs::read_dir(memory.data()).unwrap().count(), 2, "nothing was written beside it");
}

#[test]
fn database_of_another_program_is_refused_and_left_alone() {
    let mut memory = Memory::new();
    memory.close();
    let path = memory.data().join("yore.db");
    fs::remove_file(&path).unwrap();
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE recipe (name TEXT); INSERT INTO recipe VALUES ('soup');")
        .unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(open(&memory), Err(EngineError::Store(StoreError::Foreign(_)))));
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn garbage_is_called_damaged() {
    let mut memory = Memory::new();
    memory.close();
    let path = memory.data().join("yore.db");
    let mut random = Random::new(1);
    let noise: Vec<u8> = (0..16_384).map(|_| random.next_u64() as u8).collect();
    fs::write(&path, &noise).unwrap();
    assert!(matches!(open(&memory), Err(EngineError::Store(StoreError::Corrupt { .. }))));
    assert!(fs::read(&path).unwrap() == noise);
}

#[test]
fn empty_file_becomes_a_store() {
    let mut memory = Memory::new();
    memory.close();
    fs::write(memory.data().join("yore.db"), b"").unwrap();
    memory.open();
    memory.write("projects/p/a.jsonl", SessionBuilder::new(SEED).turns(12).text());
    memory.read();
    assert_answers(&memory);
}
