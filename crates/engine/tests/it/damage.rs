//! A data directory that lost its key, or in which some bytes were changed.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use yore_core::scope::ScopeChoice;
use yore_engine::ingest::{IngestRequest, KeyProblem, Silent, SourceRoot};
use yore_engine::{Engine, Finding, ForgetRequest, RecallRequest, SessionsRequest, Severity, backups, repair, restore};
use yore_sources::source::ReaderOptions;
use yore_testing::{Memory, Random, SessionBuilder, TurnOf};

/// Creates sessions, each in a file and a blob of its own.
fn memory_of(sessions: u64) -> Memory {
    let memory = Memory::new();
    for seed in 0..sessions {
        memory.write(&format!("projects/p/{seed}.jsonl"), SessionBuilder::new(100 + seed).turns(8).text());
        memory.learn();
    }
    memory
}

fn request_of(memory: &Memory) -> IngestRequest {
    IngestRequest::new(vec![SourceRoot { source: "claude-code".to_owned(), path: memory.sources() }])
}

fn database(memory: &Memory) -> Connection {
    Connection::open(memory.data().join("yore.db")).unwrap()
}

/// Changes one byte in the middle of a blob's data.
fn damage_blob(memory: &Memory, blob: i64) {
    let db = database(memory);
    let mut data: Vec<u8> = db.query_row("SELECT data FROM blob WHERE id = ?1", [blob], |row| row.get(0)).unwrap();
    let at = data.len() / 2;
    data[at] ^= 0x55;
    db.execute("UPDATE blob SET data = ?2 WHERE id = ?1", rusqlite::params![blob, data]).unwrap();
}

fn finding(memory: &Memory, deep: bool, code: &str) -> Option<Finding> {
    let options = ReaderOptions::default();
    let found = memory.engine().examine(deep.then_some(&options)).unwrap();
    found.into_iter().find(|finding| finding.code() == code)
}

#[test]
fn memory_without_its_key_writes_nothing_and_says_what_it_would_cost() {
    let mut memory = memory_of(2);
    let id = SessionBuilder::new(100).turns(8).id().to_owned();
    let request = ForgetRequest { session: id.clone(), is_hard: true, is_dry_run: false, restore: false, keep_tombstones: true };
    memory.engine().forget(&request).unwrap();
    let key = memory.data().join("key");
    let own = fs::read(&key).unwrap();
    let turns = memory.turns(SessionBuilder::new(101).turns(8).id()).len();
    for (foreign, problem) in [(None, KeyProblem::Missing), (Some([9u8; 32]), KeyProblem::Foreign)] {
        match foreign {
            None => fs::remove_file(&key).unwrap(),
            Some(bytes) => fs::write(&key, bytes).unwrap(),
        }
        memory.open();
        memory.append("projects/p/0.jsonl", b"{}\n");
        let error = memory.engine().ingest(&request_of(&memory), &mut Silent).unwrap_err();
        assert_eq!(error.code(), "key");
        let told = format!("{error:?}");
        assert!(told.contains(&format!("{problem:?}")) && told.contains("forgotten: 16"), "{told}");
        // Earlier turns are still returned, and no forgotten turn came back.
        assert_eq!(memory.turns(SessionBuilder::new(101).turns(8).id()).len(), turns);
        assert!(memory.turns(&id).is_empty());
        assert_eq!(finding(&memory, false, "key").unwrap().severity(), Severity::Broken);
        assert_eq!(key.exists(), foreign.is_some(), "no key is made");
    }
    fs::write(&key, own).unwrap();
    memory.open();
    memory.learn();
    assert_eq!(finding(&memory, false, "key"), None);
    assert!(memory.turns(&id).is_empty());
}

#[test]
fn damaged_blob_is_never_shown_as_what_was_said() {
    let memory = memory_of(3);
    assert_eq!(finding(&memory, true, "archive").unwrap().severity(), Severity::Fine);
    damage_blob(&memory, 2);
    let mut out = Vec::new();
    let session = SessionBuilder::new(101).turns(8).id().to_owned();
    let error = memory.engine().write_original(&session, &mut out).unwrap_err();
    assert_eq!(error.code(), "store/corrupt");
    assert!(out.is_empty());
    assert_eq!(finding(&memory, true, "archive"), Some(Finding::BlobsDamaged(vec![2])));
}

#[test]
fn plain_look_says_that_it_did_not_check_and_a_deep_one_checks() {
    let memory = memory_of(2);
    assert!(matches!(finding(&memory, false, "store"), Some(Finding::StoreUnchecked(_))));
    assert_eq!(finding(&memory, false, "archive"), None);
    assert_eq!(finding(&memory, true, "turns"), Some(Finding::TurnsSound));
    let db = database(&memory);
    let (turn, mut words): (i64, Vec<u8>) = db
        .query_row("SELECT turn_id, words FROM turn_text ORDER BY length(words) DESC LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let last = words.len() - 1;
    words[last] ^= 1;
    db.execute("UPDATE turn_text SET words = ?2 WHERE turn_id = ?1", rusqlite::params![turn, words]).unwrap();
    assert_eq!(
        finding(&memory, true, "turns"),
        Some(Finding::TurnsDiffer { missing: 1, changed: 0 }),
        "words that cannot be read"
    );
    memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!(finding(&memory, true, "turns").unwrap().severity(), Severity::Fine);
}

#[test]
fn reindex_passes_over_what_is_damaged_and_keeps_its_turns() {
    let memory = memory_of(4);
    let told = |memory: &Memory, seed: u64| memory.turns(SessionBuilder::new(seed).turns(8).id());
    let before: Vec<_> = (100..104).map(|seed| told(&memory, seed)).collect();
    damage_blob(&memory, 2);
    let (report, _) = memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!(report.damaged_blobs.iter().copied().collect::<Vec<_>>(), [2]);
    assert!(report.damaged_lines > 0);
    assert_eq!((report.turns_added, report.turns_removed), (0, 0));
    assert_eq!((100..104).map(|seed| told(&memory, seed)).collect::<Vec<_>>(), before);
}

#[test]
fn session_is_forgotten_beside_a_damaged_one() {
    let memory = memory_of(3);
    damage_blob(&memory, 2);
    let id = SessionBuilder::new(100).turns(8).id().to_owned();
    let request = ForgetRequest { session: id.clone(), is_hard: true, is_dry_run: false, restore: false, keep_tombstones: true };
    let outcome = memory.engine().forget(&request).unwrap();
    assert!(outcome.archive_lines > 0 && memory.turns(&id).is_empty());
    assert!(!memory.turns(SessionBuilder::new(101).turns(8).id()).is_empty());
}

/// Returns everything readable: sessions with their text, and the archive.
fn everything(memory: &Memory, sessions: u64) -> Vec<Vec<(String, String)>> {
    (0..sessions)
        .map(|seed| {
            let id = SessionBuilder::new(100 + seed).turns(8).id().to_owned();
            memory.turns(&id).into_iter().map(|turn| (turn.id.to_string(), turn.text)).collect()
        })
        .collect()
}

#[test]
fn backup_is_restored_with_its_key_and_what_came_since_is_read_again() {
    let mut memory = memory_of(3);
    let made = memory.engine().back_up(None, 2).unwrap();
    assert_eq!(backups(&memory.data()), std::slice::from_ref(&made));
    let before = everything(&memory, 3);
    memory.write("projects/p/3.jsonl", SessionBuilder::new(103).turns(8).text());
    memory.learn();
    let whole = everything(&memory, 4);
    memory.close();
    // The database is overwritten with noise, and the key is gone.
    fs::write(memory.data().join("yore.db"), [0x5a; 5000]).unwrap();
    fs::remove_file(memory.data().join("key")).unwrap();
    let restored = restore(&Memory::options(memory.data()), None).unwrap();
    assert_eq!(restored.from, made);
    assert_eq!(fs::read(restored.replaced.unwrap()).unwrap(), [0x5a; 5000], "the damaged one is kept");
    memory.open();
    assert_eq!(everything(&memory, 3), before);
    assert!(!memory.ask(&before[0][0].1).is_empty(), "the indexes are made anew");
    memory.learn();
    assert_eq!(everything(&memory, 4), whole);
    assert_eq!(finding(&memory, true, "key"), None);
}

#[test]
fn index_that_another_process_replaces_is_opened_again_by_whatever_uses_it() {
    let memory = memory_of(3);
    let words = &everything(&memory, 1)[0][0].1;
    let turn = memory.ask(words)[0].id();
    let is_found = || memory.ask(words).iter().any(|hit| hit.id() == turn);
    // As it is for a moment while another process reindexes: the files are gone, or not yet those of this database.
    let lose_index = || fs::remove_dir_all(memory.data().join("index")).unwrap();
    lose_index();
    assert!(is_found());
    lose_index();
    memory.write("projects/p/3.jsonl", SessionBuilder::new(103).turns(8).text());
    memory.learn();
    let other = Engine::open(Memory::options(memory.data())).unwrap();
    other.reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert!(is_found());
    lose_index();
    let id = SessionBuilder::new(103).turns(8).id().to_owned();
    let request = ForgetRequest { session: id, is_hard: true, is_dry_run: false, restore: false, keep_tombstones: true };
    memory.engine().forget(&request).unwrap();
    assert!(is_found());
    let health = Engine::open(Memory::options(memory.data()))
        .unwrap()
        .statistics(&yore_engine::StatisticsRequest::default())
        .unwrap()
        .index;
    assert_eq!((health.indexed, health.queued), (health.expected, 0));
}

#[cfg(unix)]
#[test]
fn database_that_a_restore_replaced_is_told_as_such_and_its_index_is_left_alone() {
    let memory = memory_of(2);
    let words = &everything(&memory, 1)[0][0].1;
    let found = memory.ask(words).len();
    memory.engine().back_up(None, 2).unwrap();
    restore(&Memory::options(memory.data()), None).unwrap();
    let fresh = Engine::open(Memory::options(memory.data())).unwrap();
    fresh.sync_index(10_000, &mut |_| {}).unwrap();
    let mut request = RecallRequest::new(words);
    request.filter.scope = ScopeChoice::All;
    let error = memory.engine().recall(&request).unwrap_err();
    assert_eq!((error.code(), error.is_transient()), ("store/replaced", true));
    assert_eq!(fresh.recall(&request).unwrap().hits.len(), found);
}

#[test]
fn damaged_backup_is_passed_over_for_an_older_one_and_none_is_an_error() {
    let mut memory = memory_of(2);
    let first = memory.engine().back_up(None, 3).unwrap();
    memory.write("projects/p/2.jsonl", SessionBuilder::new(102).turns(8).text());
    memory.learn();
    let second = memory.engine().back_up(None, 3).unwrap();
    assert_eq!(backups(&memory.data()), [second.clone(), first.clone()]);
    let mut bytes = fs::read(&second.path).unwrap();
    let blob: Vec<u8> =
        Connection::open(&second.path).unwrap().query_row("SELECT data FROM blob LIMIT 1", [], |row| row.get(0)).unwrap();
    // Where the blob begins, and not where a page may be empty; a page may hold an old copy of it.
    let places: Vec<usize> = memchr::memmem::find_iter(&bytes, &blob[..100]).collect();
    for at in places {
        bytes[at..at + 600].fill(0x77);
    }
    fs::write(&second.path, &bytes).unwrap();
    memory.close();
    let restored = restore(&Memory::options(memory.data()), None).unwrap();
    assert_eq!((restored.from.path, restored.damaged), (first.path.clone(), vec![second.path.clone()]));
    // What a later version wrote is no use to this one.
    let third = first.path.with_file_name("yore-4102444800000-99.db");
    fs::copy(&first.path, &third).unwrap();
    Connection::open(&third).unwrap().pragma_update(None, "user_version", 999).unwrap();
    assert_eq!(backups(&memory.data())[0].path, third);
    assert_eq!(restore(&Memory::options(memory.data()), None).unwrap().from.path, first.path);
    fs::remove_file(&first.path).unwrap();
    fs::remove_file(&second.path).unwrap();
    assert_eq!(restore(&Memory::options(memory.data()), None).unwrap_err().code(), "store/newer");
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(restore(&Memory::options(empty.path().to_path_buf()), None).unwrap_err().code(), "no-backup");
}

#[test]
fn blob_that_is_lost_beside_others_is_read_again_even_if_it_was_the_last() {
    let mut memory = memory_of(4);
    for blob in [1, 2, 4] {
        damage_blob(&memory, blob);
    }
    memory.close();
    let report = repair(&Memory::options(memory.data()), &ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!((report.lost_blobs, report.lost.len()), (3, 3));
    memory.open();
    memory.learn();
    for number in 0..4 {
        let session = SessionBuilder::new(100 + number).turns(8);
        assert!(memory.turns(session.id()).len() >= 8, "session {number}");
    }
}

#[test]
fn file_whose_segment_is_lost_is_read_again() {
    let mut memory = memory_of(3);
    damage_blob(&memory, 2);
    database(&memory).execute("DELETE FROM segment WHERE file_id = 2", []).unwrap();
    memory.close();
    let report = repair(&Memory::options(memory.data()), &ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!(report.lost.len(), 1, "{:?}", report.lost);
    memory.open();
    memory.learn();
    for number in 0..3 {
        let session = SessionBuilder::new(100 + number).turns(8);
        assert!(memory.turns(session.id()).len() >= 8, "session {number}");
    }
}

#[test]
fn newest_backups_stay_and_a_damaged_database_pushes_none_of_them_out() {
    let memory = memory_of(2);
    let made: Vec<_> = (0..3)
        .map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(3));
            memory.engine().back_up(None, 2).unwrap().path
        })
        .collect();
    let left: Vec<_> = backups(&memory.data()).into_iter().map(|backup| backup.path).collect();
    assert_eq!(left, [made[2].clone(), made[1].clone()]);
    assert!(made[2].with_extension("key").is_file() && !made[0].with_extension("key").exists());
    damage_blob(&memory, 1);
    assert_eq!(memory.engine().back_up(None, 2).unwrap_err().code(), "store/backup");
    assert_eq!(backups(&memory.data()).into_iter().map(|backup| backup.path).collect::<Vec<_>>(), left);
    let id = SessionBuilder::new(101).turns(8).id().to_owned();
    let request = ForgetRequest { session: id, is_hard: true, is_dry_run: false, restore: false, keep_tombstones: true };
    let outcome = memory.engine().forget(&request).unwrap();
    assert!(outcome.backups.iter().filter(|path| path.extension().is_some_and(|end| end == "db")).count() == 2);
    assert!(backups(&memory.data()).is_empty() && !made[2].exists(), "what was forgotten for good is in no backup");
}

#[test]
fn repair_saves_what_is_whole_names_the_rest_and_reads_again_what_still_exists() {
    let mut memory = memory_of(6);
    let before = everything(&memory, 6);
    memory
        .engine()
        .forget(&ForgetRequest {
            session: SessionBuilder::new(105).turns(8).id().to_owned(),
            is_hard: false,
            is_dry_run: false,
            restore: false,
            keep_tombstones: true,
        })
        .unwrap();
    damage_blob(&memory, 2);
    damage_blob(&memory, 4);
    fs::remove_file(memory.sources().join("projects/p/3.jsonl")).unwrap();
    memory.close();
    let report = repair(&Memory::options(memory.data()), &ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!((report.blobs, report.lost_blobs, report.refused_rows), (4, 2, 0));
    let lost: Vec<_> =
        report.lost.iter().map(|(path, lines, is_there)| (path.ends_with("/3.jsonl"), *lines > 0, *is_there)).collect();
    assert_eq!(lost, [(false, true, true), (true, true, false)]);
    memory.open();
    memory.learn();
    let after = everything(&memory, 6);
    for seed in [0, 1, 2, 4] {
        assert_eq!(after[seed], before[seed], "{seed}");
    }
    assert!(after[3].is_empty(), "its blob is lost and its source gone: {:?}", after[3]);
    assert_eq!(finding(&memory, true, "store").unwrap().severity(), Severity::Fine);
    assert_eq!(finding(&memory, true, "archive").unwrap().severity(), Severity::Fine);
    assert_eq!(finding(&memory, true, "turns").unwrap().severity(), Severity::Fine);
    let is_forgotten = !memory.ask(&before[5][0].1).iter().any(|hit| hit.turn().id.to_string() == before[5][0].0);
    assert!(is_forgotten, "what was forgotten stays so");
}

/// Bytes before the data of a blob in its row, at most.
const ROW_HEAD: usize = 128;

/// Writes noise of 1 to 64 bytes in ten places, once for each seed.
#[test]
fn noise_in_ten_places_is_found_and_every_whole_blob_survives_it() {
    let mut memory = memory_of(24);
    memory.engine().sync_index(10_000, &mut |_| {}).unwrap();
    memory.close();
    // Moves everything into the one file that the noise hits.
    Connection::open(memory.data().join("yore.db"))
        .unwrap()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let whole = fs::read(memory.data().join("yore.db")).unwrap();
    let key = fs::read(memory.data().join("key")).unwrap();
    let blobs = |path: &Path| -> Vec<([u8; 32], Vec<u8>)> {
        let db = Connection::open(path).unwrap();
        let mut statement = db.prepare("SELECT hash, data FROM blob").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let original = blobs(&memory.data().join("yore.db"));
    for seed in 0..30 {
        let mut random = Random::new(900 + seed);
        let mut bytes = whole.clone();
        let mut hit = Vec::new();
        for _ in 0..10 {
            let length = 1 + random.below(64);
            // The first page holds the schema: without it nothing opens, and pages are read one by one.
            let is_first_page = seed % 10 == 9 && hit.is_empty();
            let at = if is_first_page { random.below(4096) } else { 4096 + random.below(bytes.len() - 4096 - length) };
            for byte in &mut bytes[at..at + length] {
                *byte = random.below(256) as u8;
            }
            hit.push(at..at + length);
        }
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        fs::create_dir_all(&data).unwrap();
        fs::write(data.join("yore.db"), &bytes).unwrap();
        fs::write(data.join("key"), &key).unwrap();
        let options = Memory::options(data.clone());
        let found = match Engine::open(options.clone()) {
            Ok(engine) => match engine.examine(Some(&ReaderOptions::default())) {
                Ok(findings) => {
                    findings.iter().any(|finding| finding.severity() >= Severity::Warning && finding.code() != "archive-sources")
                }
                Err(_) => true,
            },
            Err(_) => true,
        };
        assert!(found, "seed {seed}: damage at {hit:?} was not found");
        let report =
            repair(&options, &ReaderOptions::default(), &mut Silent).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        // Every blob that is still intact in the file, with its hash, is in the new database.
        let saved = blobs(&data.join("yore.db"));
        let mut lost = 0;
        for (hash, content) in &original {
            let stands = |part: &[u8]| memchr::memmem::find(&bytes, part).is_some();
            let pieces_stand = content.chunks(1024).all(stands) && stands(hash);
            let is_saved = saved.iter().any(|(known, data)| known == hash && data == content);
            lost += u64::from(!is_saved);
            let at = memchr::memmem::find(&bytes, &content[..content.len().min(1024)]).unwrap_or_default();
            // The beginning of a row has its lengths: without them nothing tells that it is one.
            let head = at.saturating_sub(ROW_HEAD).max(at / 4096 * 4096)..at;
            let head_stands = !hit.iter().any(|noise| noise.start < head.end && noise.end > head.start);
            if !is_saved && pieces_stand && head_stands {
                panic!(
                    "seed {seed}: a whole blob at {at} (page {}) was lost of {}; noise at {hit:?}",
                    at / 4096 * 4096,
                    report.lost_blobs
                );
            }
        }
        assert!(lost <= 10, "seed {seed}: {lost} blobs lost to ten places");
        let engine = Engine::open(options).unwrap();
        let told = engine.sessions(&SessionsRequest { limit: 100, ..SessionsRequest::default() }).unwrap();
        let whole = told.iter().filter(|session| session.turns >= 8).count() as u64;
        assert!(whole + lost >= 24, "seed {seed}: {whole} sessions are whole, {lost} blobs lost");
        let findings = engine.examine(Some(&ReaderOptions::default())).unwrap();
        let broken: Vec<_> = findings.iter().filter(|finding| ["store", "archive", "turns"].contains(&finding.code())).collect();
        assert!(broken.iter().all(|finding| finding.severity() == Severity::Fine), "seed {seed}: {broken:?}");
    }
}

#[test]
fn what_models_took_today_still_counts_after_a_repair() {
    let mut memory = memory_of(1);
    let db = database(&memory);
    let sql = "INSERT INTO model_call (at_ms, day, purpose, model, state, input_tokens, output_tokens, is_estimated, cost_micro)
               VALUES (1, 9, 'extract', 'm', 'settled', 70, 7, 0, 3)";
    db.execute(sql, []).unwrap();
    drop(db);
    memory.close();
    let _ = repair(&Memory::options(memory.data()), &ReaderOptions::default(), &mut Silent).unwrap();
    memory.open();
    let spent = memory.engine().spent_on(9).unwrap();
    assert_eq!((spent.calls, spent.input, spent.output, spent.cost_micro), (1, 70, 7, 3));
}

#[test]
fn backup_made_while_the_clock_was_a_year_ahead_is_not_the_newest_for_a_year() {
    let mut memory = Memory::new();
    memory.write("projects/p/a.jsonl", SessionBuilder::new(1).turns(4).text());
    memory.learn();
    memory.open_at(|| Memory::now() + 365 * 86_400_000);
    memory.engine().back_up(None, 2).unwrap();
    memory.open();
    assert!(memory.engine().back_up_if_due(2).unwrap().is_some(), "the one from the future counts for no day");
    let second = memory.engine().back_up(None, 2).unwrap();
    let third = memory.engine().back_up(None, 2).unwrap();
    let listed: Vec<_> = yore_engine::backups(&memory.data()).into_iter().map(|backup| backup.path).collect();
    assert_eq!(listed, [third.path, second.path]);
}

#[test]
fn times_after_now_are_counted_by_the_examination() {
    use yore_core::memory::MemoryKind;
    let mut memory = Memory::new();
    memory.write("projects/p/a.jsonl", SessionBuilder::new(1).turns(4).text());
    let ahead = SessionBuilder::new(2).at(Memory::now() + 30 * 86_400_000).turns(3).text();
    memory.write("projects/p/ahead.jsonl", ahead);
    memory.learn();
    let to_come = |memory: &Memory| {
        memory.engine().examine(None).unwrap().into_iter().find(|finding| matches!(finding, Finding::TimesToCome { .. }))
    };
    let note = |memory: &Memory, text: &str, from| {
        let mut new = yore_engine::NewMemory::new(MemoryKind::Fact, text);
        new.memory.valid_from = from;
        memory.engine().add_memory(&new, &yore_core::operation::Cause::default()).unwrap();
    };
    // A plan has a time to come, and clocks differ a little.
    note(&memory, "The quay moves.", Some(Memory::now() + 90 * 86_400_000));
    memory.open_at(|| Memory::now() + 3_600_000);
    note(&memory, "The quay is old.", None);
    memory.open();
    let turns = memory.turns(SessionBuilder::new(2).id()).len() as u64;
    assert!(turns >= 3);
    assert_eq!(to_come(&memory), Some(Finding::TimesToCome { turns, memories: 0, backups: 0 }));
    memory.open_at(|| Memory::now() + 2 * 86_400_000);
    note(&memory, "The quay is long.", None);
    memory.engine().back_up(None, 2).unwrap();
    memory.open();
    assert_eq!(to_come(&memory), Some(Finding::TimesToCome { turns, memories: 1, backups: 1 }));
    memory.open_at(|| Memory::now() + 365 * 86_400_000);
    assert_eq!(to_come(&memory), None);
}

#[test]
fn copy_for_elsewhere_names_the_missing_folder_and_leaves_no_key_of_another_memory() {
    let memory = Memory::new();
    memory.write("projects/p/a.jsonl", SessionBuilder::new(1).turns(4).text());
    memory.learn();
    let missing = memory.sources().join("missing");
    let error = memory.engine().back_up(Some(&missing.join("copy.db")), 2).unwrap_err();
    assert!(error.to_string().starts_with(&missing.display().to_string()), "{error}");
    let (copy, key) = (memory.sources().join("copy.db"), memory.sources().join("copy.key"));
    std::fs::write(&key, "the key of another memory").unwrap();
    std::fs::remove_file(memory.data().join("key")).unwrap();
    memory.engine().back_up(Some(&copy), 2).unwrap();
    assert!(copy.is_file() && !key.exists());
}
