//! Recall by meaning: the results of the vectors, the report when they are missing, and their repair from the
//! store after any damage.

use std::path::{Path, PathBuf};
use std::time::Duration;

use yore_core::episode::Role;
use yore_core::query::{List, MissingCode, Part, Rerank, SearchMode};
use yore_engine::{Finding, Hit, RecallAnswer};
use yore_testing::{Memory, SessionBuilder, TurnOf, write_failing_embedder, write_tiny_embedder, write_tiny_reranker};

pub(crate) const CARS: &str = "The automobile needs its tyres replaced before the winter.";

/// Writes a session about paper towels and cars, of four turns.
pub(crate) fn write_cars(memory: &Memory) {
    let mut session = SessionBuilder::new(1);
    session.human("Which vendor do we buy paper towels from?");
    session.assistant("Paper towels come from the wholesaler in the harbour.");
    session.human(CARS);
    session.assistant("Noted. The garage has an opening on Tuesday.");
    memory.write("projects/p/cars.jsonl", session.text());
}

/// Creates a session about cars among others; it has no word of the question.
fn with_cars() -> Memory {
    let memory = Memory::new();
    write_cars(&memory);
    memory.write("projects/p/other.jsonl", SessionBuilder::new(2).turns(120).text());
    memory
}

const QUESTION: &str = "car wheels";

fn asked(memory: &Memory, question: &str, mode: SearchMode) -> RecallAnswer {
    memory.ask_with(question, |request| request.mode = mode)
}

fn is_first(hits: &[Hit], text: &str) -> bool {
    hits.first().is_some_and(|hit| hit.turn().text == text)
}

#[test]
fn a_question_that_shares_no_word_with_its_answer_finds_it_by_the_static_table() {
    let memory = with_cars();
    memory.learn();
    assert!(asked(&memory, QUESTION, SearchMode::Lexical).hits.iter().all(|hit| hit.turn().text != CARS));
    let answer = asked(&memory, QUESTION, SearchMode::Static);
    assert!(is_first(&answer.hits, CARS), "{:?}", answer.hits.first().map(|hit| &hit.turn().text));
    assert_eq!((answer.mode, answer.missing.len()), (SearchMode::Static, 0));
}

#[test]
fn every_score_is_the_sum_of_its_parts_and_names_its_lists() {
    let memory = with_cars();
    memory.learn();
    let answer = memory.ask_with("winter tyres from the vendor", |request| request.limit = 50);
    assert!(answer.hits.len() >= 2);
    for hit in &answer.hits {
        let sum: f32 = hit.parts.iter().map(|part| part.value).sum();
        assert!((sum - hit.score).abs() < 1e-3, "{} is not {:?}", hit.score, hit.parts);
        assert!(!hit.lists.is_empty() && hit.lists.iter().all(|list| list.rank >= 1), "{:?}", hit.lists);
    }
    let best = &answer.hits[0];
    assert_eq!(best.turn().text, CARS);
    let lists: Vec<List> = best.lists.iter().map(|place| place.list).collect();
    assert_eq!(lists, [List::Words, List::Static]);
}

#[test]
fn what_is_read_but_not_indexed_yet_is_found_by_meaning_too() {
    let memory = with_cars();
    memory.read();
    assert!(is_first(&asked(&memory, QUESTION, SearchMode::Static).hits, CARS));
}

#[test]
fn filters_hold_for_what_meaning_finds() {
    let memory = with_cars();
    memory.learn();
    let answer = memory.ask_with("car workshop", |request| request.filter.roles = vec![Role::Assistant]);
    assert!(answer.hits[0].turn().text.contains("garage"));
    assert!(answer.hits.iter().all(|hit| hit.turn().role == Role::Assistant));
    let answer = memory.ask_with("\"paper towels\" car wheels", |_| {});
    assert!(!answer.hits.is_empty());
    assert!(
        answer.hits.iter().all(|hit| hit.turn().text.to_lowercase().contains("paper towels")),
        "quoted words must stand there"
    );
}

#[test]
fn what_is_forgotten_is_not_found_by_meaning_and_comes_back_when_restored() {
    let memory = with_cars();
    memory.learn();
    let session = asked(&memory, QUESTION, SearchMode::Static).hits[0].turn().native_session.clone();
    let forget = |restore| {
        let request = yore_engine::ForgetRequest {
            session: session.clone(),
            is_hard: false,
            is_dry_run: false,
            restore,
            keep_tombstones: false,
        };
        memory.engine().forget(&request).unwrap();
        asked(&memory, QUESTION, SearchMode::Static).hits.iter().any(|hit| hit.turn().text == CARS)
    };
    assert!(!forget(false));
    assert!(forget(true));
}

#[test]
fn the_same_answer_given_twice_is_one_hit_that_names_the_other_place() {
    let memory = Memory::new();
    let plan =
        "Use an advisory lock in Postgres so that two workers never run the same migration twice, and release it afterwards.";
    for seed in [1, 2, 3] {
        let mut session = SessionBuilder::new(seed);
        session.human("How do we keep migrations from colliding?");
        session.assistant(plan);
        memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
    }
    memory.learn();
    let folded = memory.ask("advisory lock for migrations");
    assert_eq!(folded.iter().filter(|hit| hit.turn().text == plan).count(), 1);
    assert_eq!(folded[0].also.len(), 2);
    let unfolded = memory.ask_with("advisory lock for migrations", |request| request.is_folded = false);
    assert_eq!(unfolded.hits.iter().filter(|hit| hit.turn().text == plan).count(), 3);
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn whatever_happens_to_the_vector_files_the_answer_stands_and_the_index_mends_itself() {
    let mut memory = with_cars();
    memory.learn();
    let all = files(&memory.data().join("vectors"));
    assert!(all.len() >= 2, "{all:?}");
    for victim in all {
        for damage in ["cut", "empty", "exchanged", "gone"] {
            memory.close();
            let bytes = std::fs::read(&victim).unwrap_or_default();
            match damage {
                "cut" => std::fs::write(&victim, &bytes[..bytes.len() / 2]).unwrap(),
                "empty" => std::fs::write(&victim, b"").unwrap(),
                "exchanged" => std::fs::write(&victim, vec![0x55; bytes.len()]).unwrap(),
                _ => drop(std::fs::remove_file(&victim)),
            }
            memory.open();
            assert!(!memory.ask("automobile tyres").is_empty(), "{damage} {}", victim.display());
            memory.index();
            let answer = asked(&memory, QUESTION, SearchMode::Static);
            assert!(is_first(&answer.hits, CARS), "{damage} {}", victim.display());
        }
    }
}

#[test]
fn question_to_damaged_vectors_says_what_it_lacked_or_has_them_made_first() {
    let mut memory = with_cars();
    memory.write("projects/p/many.jsonl", SessionBuilder::new(950).turns(600).text());
    memory.learn();
    let damage = |memory: &mut Memory| {
        memory.close();
        for file in files(&memory.data().join("vectors")) {
            let length = std::fs::metadata(&file).unwrap().len() as usize;
            std::fs::write(&file, vec![0x55; length]).unwrap();
        }
        memory.open();
    };
    damage(&mut memory);
    let answer = asked(&memory, QUESTION, SearchMode::Static);
    assert!(answer.missing.iter().any(|missing| missing.code == MissingCode::VectorIndex), "{:?}", answer.missing);
    assert!(memory.engine().is_behind(SearchMode::Static).unwrap());
    damage(&mut memory);
    // As every front end asks.
    assert!(memory.engine().is_behind(SearchMode::Static).unwrap());
    memory.index();
    let answer = asked(&memory, QUESTION, SearchMode::Static);
    assert!(is_first(&answer.hits, CARS) && answer.missing.is_empty(), "{:?}", answer.missing);
}

#[test]
fn an_index_that_was_deleted_is_made_again() {
    let mut memory = with_cars();
    memory.learn();
    memory.close();
    std::fs::remove_dir_all(memory.data().join("vectors")).unwrap();
    memory.open();
    memory.index();
    assert!(is_first(&asked(&memory, QUESTION, SearchMode::Static).hits, CARS));
}

/// Creates a memory with a small model of random weights: its vectors have no meaning.
fn with_model() -> (Memory, tempfile::TempDir, PathBuf) {
    let models = tempfile::tempdir().unwrap();
    let folder = write_tiny_embedder(models.path(), "tiny", 1);
    let mut memory = with_cars();
    memory.open_with_model(Some(folder.clone()));
    memory.learn();
    (memory, models, folder)
}

#[test]
fn the_full_program_says_what_is_missing_until_everything_has_vectors() {
    let (memory, _models, _) = with_model();
    let before = asked(&memory, CARS, SearchMode::Full);
    assert_eq!((before.mode, before.missing[0].code), (SearchMode::Static, MissingCode::Vectors));
    assert!(is_first(&before.hits, CARS));
    let waiting = memory.engine().unembedded().unwrap();
    let report = memory.embed();
    assert_eq!((report.turns, report.waiting, report.failed), (waiting, 0, 0));
    let after = asked(&memory, CARS, SearchMode::Full);
    assert_eq!((after.mode, after.missing.len()), (SearchMode::Full, 0), "{:?}", after.missing);
    assert!(after.hits[0].lists.iter().any(|list| list.list == List::Model));
    let again = memory.embed();
    assert_eq!((again.turns, again.embedded), (0, 0), "nothing is embedded twice");
}

#[test]
fn text_that_the_model_fails_on_is_tried_again_and_shown() {
    let models = tempfile::tempdir().unwrap();
    let mut memory = with_cars();
    let mut session = SessionBuilder::new(77);
    session.human("the quartz clock of the pilot house stands still");
    memory.write("projects/p/bad.jsonl", session.text());
    memory.open_with_model(Some(write_failing_embedder(models.path(), "tiny", 1, "quartz")));
    memory.learn();
    let told = |memory: &Memory| -> Vec<Finding> {
        let findings = memory.engine().examine(None).unwrap().into_iter();
        findings.filter(|finding| matches!(finding, Finding::EmbedFailed { .. })).collect()
    };
    assert!(told(&memory).is_empty());
    let first = memory.embed();
    assert!(first.failed == 1 && first.turns > 1 && first.waiting == 0, "one bad text never blocks another: {first:?}");
    for _ in 0..4 {
        assert_eq!(memory.embed().failed, 1);
    }
    assert_eq!(memory.embed().failed, 0, "five times is enough");
    let shown = told(&memory);
    assert!(matches!(shown.as_slice(), [Finding::EmbedFailed { turns: 1, .. }]), "{shown:?}");
    assert_eq!(memory.engine().embed(None, true, &mut |_| true).unwrap().failed, 1, "somebody asked for it");
    memory.open_with_model(Some(write_tiny_embedder(models.path(), "mended", 2)));
    assert_eq!(memory.embed().failed, 0);
    assert!(told(&memory).is_empty());
}

#[test]
fn half_the_vectors_answer_beside_the_words_of_the_other_half() {
    let (memory, _models, _) = with_model();
    let report = memory.engine().embed(None, false, &mut |_| false).unwrap();
    assert!(report.is_stopped && report.turns > 0 && report.waiting > 0, "{report:?}");
    let answer = memory.ask_with(CARS, |request| (request.mode, request.limit) = (SearchMode::Full, 100));
    assert_eq!((answer.mode, answer.missing[0].code), (SearchMode::Full, MissingCode::Vectors));
    let has = |list: List| answer.hits.iter().any(|hit| hit.lists.iter().any(|place| place.list == list));
    assert!(has(List::Model) && has(List::Static), "turns without vectors answer by the table");
    for hit in &answer.hits {
        let lists: Vec<List> = hit.lists.iter().map(|place| place.list).collect();
        assert!(!(lists.contains(&List::Model) && lists.contains(&List::Static)), "{lists:?}");
    }
    assert_eq!(memory.embed().waiting, 0);
    assert!(asked(&memory, CARS, SearchMode::Full).missing.is_empty());
}

#[test]
fn the_vectors_of_another_model_are_not_compared_and_are_replaced() {
    let (mut memory, models, _) = with_model();
    memory.embed();
    let other = write_tiny_embedder(models.path(), "other", 2);
    memory.open_with_model(Some(other));
    let answer = asked(&memory, CARS, SearchMode::Full);
    assert_eq!((answer.mode, answer.missing[0].code), (SearchMode::Static, MissingCode::Vectors));
    assert!(is_first(&answer.hits, CARS));
    let report = memory.embed();
    assert!(report.embedded > 0 && report.waiting == 0);
    assert!(asked(&memory, CARS, SearchMode::Full).missing.is_empty());
    let health = memory.statistics().vectors;
    assert_eq!(health.others, 0, "vectors of the model before are gone");
    assert!(health.model.unwrap().starts_with("other "));
}

#[test]
fn a_model_that_is_gone_or_damaged_is_named_and_the_rest_answers() {
    let (mut memory, _models, folder) = with_model();
    memory.embed();
    for damage in ["cut", "gone"] {
        let model = folder.join("model.onnx");
        match damage {
            "cut" => {
                let bytes = std::fs::read(&model).unwrap();
                std::fs::write(&model, &bytes[..bytes.len() / 2]).unwrap();
            }
            _ => std::fs::remove_file(&model).unwrap(),
        }
        memory.open();
        let answer = asked(&memory, CARS, SearchMode::Full);
        assert_eq!((answer.mode, answer.missing[0].code), (SearchMode::Static, MissingCode::Model), "{damage}");
        assert!(answer.missing[0].text.contains("model.onnx"), "{}", answer.missing[0].text);
        assert!(is_first(&answer.hits, CARS));
        assert!(memory.engine().embed(None, false, &mut |_| true).is_err());
    }
    memory.open_with_model(None);
    assert_eq!(asked(&memory, CARS, SearchMode::Full).missing[0].code, MissingCode::Model);
}

#[test]
fn a_turn_that_changes_is_embedded_again_and_a_forgotten_one_leaves_no_vector() {
    let (mut memory, _models, _) = with_model();
    memory.embed();
    let mut session = SessionBuilder::new(9);
    session.human("The ferry leaves at noon.");
    memory.write("projects/p/ferry.jsonl", session.text());
    memory.learn();
    assert_eq!(memory.engine().unembedded().unwrap(), 1);
    let known = memory.statistics().vectors;
    assert_eq!(memory.embed().embedded, 1);
    let with_ferry = memory.statistics().vectors;
    assert_eq!((with_ferry.vectors, with_ferry.model_turns), (known.vectors + 1, known.model_turns + 1));
    memory.forget_hard(session.id());
    let after = memory.statistics().vectors;
    assert_eq!((after.vectors, after.model_turns), (known.vectors, known.model_turns));
    assert_eq!(after.static_turns, known.static_turns - 1);
    memory.open();
    assert!(asked(&memory, CARS, SearchMode::Full).missing.is_empty());
}

#[test]
fn the_same_text_in_two_places_is_embedded_once() {
    let (memory, _models, _) = with_model();
    memory.embed();
    for seed in [20, 21] {
        let mut session = SessionBuilder::new(seed);
        session.human("The same first words of two conversations.");
        memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
    }
    memory.learn();
    let report = memory.embed();
    assert_eq!((report.turns, report.embedded, report.reused), (2, 1, 1));
}

#[test]
fn a_short_turn_is_embedded_with_what_was_said_before_it() {
    let (memory, _models, _) = with_model();
    memory.embed();
    for (seed, before) in [(30, "Shall we drop the old table?"), (31, "Shall we rename the new service?")] {
        let mut session = SessionBuilder::new(seed);
        session.assistant(before);
        session.human("Yes, do that.");
        memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
    }
    memory.learn();
    let report = memory.embed();
    assert_eq!((report.turns, report.embedded), (4, 4), "the same answer to two questions has two meanings");
}

/// The question that the cross-encoder may read: it asks for one thing in prose.
const WHERE: &str = "where do paper towels come from?";

fn reranked(memory: &Memory, question: &str, change: impl FnOnce(&mut yore_engine::RecallRequest)) -> RecallAnswer {
    memory.ask_with(question, |request| {
        (request.mode, request.rerank) = (SearchMode::Full, Rerank::Always);
        change(request);
    })
}

#[test]
fn a_cross_encoder_reads_the_best_with_a_question_that_asks_for_one_thing_in_prose() {
    let (mut memory, models, _) = with_model();
    memory.open_with_reranker(Some(write_tiny_reranker(models.path(), "judge", 1)));
    memory.embed();
    let is_read = |hit: &Hit| hit.parts.iter().any(|part| part.part == Part::Rerank);
    let answer = reranked(&memory, WHERE, |_| {});
    assert!(answer.missing.is_empty(), "{:?}", answer.missing);
    assert!(answer.hits.iter().any(is_read));
    for hit in &answer.hits {
        let sum: f32 = hit.parts.iter().map(|part| part.value).sum();
        assert!((sum - hit.score).abs() < 0.01, "{sum} and {}", hit.score);
    }
    let scores: Vec<f32> = answer.hits.iter().map(|hit| hit.score).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    for unread in ["which vendors sell paper towels?", "paper towels"] {
        assert!(!reranked(&memory, unread, |_| {}).hits.iter().any(is_read), "{unread}");
    }
    let idle = reranked(&memory, WHERE, |request| request.rerank = Rerank::Idle);
    assert!(idle.hits.iter().any(is_read), "nobody else uses the models");
    let hurried = reranked(&memory, WHERE, |request| request.deadline = Some(Duration::from_millis(100)));
    assert!(!hurried.hits.iter().any(is_read));
    let late = hurried.missing.iter().find(|missing| missing.code == MissingCode::Late).map(|missing| missing.text.as_str());
    assert!(late.is_some_and(|text| text.contains("the cross-encoder")), "{late:?}");
}

#[test]
fn a_cross_encoder_that_is_not_there_is_named_and_the_rest_answers() {
    let (mut memory, models, _) = with_model();
    memory.open_with_reranker(Some(models.path().join("judge")));
    memory.embed();
    let answer = reranked(&memory, WHERE, |_| {});
    assert_eq!(answer.missing.iter().map(|missing| missing.code).collect::<Vec<_>>(), [MissingCode::Reranker]);
    assert!(!answer.hits.is_empty());
    let never = reranked(&memory, WHERE, |request| request.rerank = Rerank::Never);
    assert!(never.missing.is_empty(), "not looked for unasked");
}
