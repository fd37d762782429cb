//! Shows turns with their exchanges, in pages; and what was done in an exchange.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use yore_core::query::MissingCode;
use yore_engine::{Packing, Page, RecallRequest, ShowAnswer, ShowRequest, Start, Surroundings, WorkDone};
use yore_testing::{Memory, SessionBuilder, TurnOf};

/// A session of three exchanges; the second has a failing and a working command.
fn memory() -> (Memory, String, Vec<String>) {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(7).cwd("/home/dev/tide");
    session.human("first question about moorings");
    session.assistant("The moorings hold.");
    session.human("why does the barnacle scraper stall?");
    session.tool("Read", &json!({"file_path": "/home/dev/tide/src/scraper.rs"}), "fn scrape() {}", false);
    session.tool("Bash", &json!({"command": "cd /home/dev/tide && make scraper"}), "error: dry hull", true);
    session.tool("Edit", &json!({"file_path": "/home/dev/tide/src/hull.rs", "old_string": "a", "new_string": "b"}), "ok", false);
    session.tool("Bash", &json!({"command": "cd /home/dev/tide && make scraper"}), "scraper built", false);
    session.tool("Bash", &json!({"command": "ls -la"}), "hull.rs", false);
    session.assistant(&format!(
        "The scraper no longer stalls, since the hull stays wet. {}",
        "It was tried at low tide. ".repeat(60)
    ));
    session.human("third question about gulls");
    session.assistant("Gulls are counted by eye.");
    memory.write("projects/p/s.jsonl", session.text());
    memory.learn();
    let turns = memory.turns(session.id()).into_iter().map(|turn| turn.id.to_string()).collect();
    (memory, session.id().to_owned(), turns)
}

fn shown(memory: &Memory, id: &str, surroundings: Surroundings) -> ShowAnswer {
    memory.engine().show(&ShowRequest::new(id, surroundings)).unwrap()
}

/// The words of a page, a string for each turn.
fn words(shown: &ShowAnswer, page: &Page) -> Vec<String> {
    let part =
        |turn: &yore_engine::PageTurn| shown.turns[turn.index].words().chars().skip(turn.skipped).take(turn.chars).collect();
    page.turns.iter().map(part).collect()
}

#[test]
fn a_turn_is_shown_with_its_exchange() {
    let (memory, session, turns) = memory();
    let whole = shown(&memory, &session, Surroundings::Exchange);
    assert_eq!((whole.turns.len(), whole.hidden, whole.focus), (turns.len(), (0, 0), None));
    for at in 2..turns.len() - 2 {
        let exchange = shown(&memory, &turns[at], Surroundings::Exchange);
        assert_eq!((exchange.hidden, exchange.turns.len()), ((2, 2), turns.len() - 4), "{at}");
    }
    assert_eq!(shown(&memory, &turns[4], Surroundings::Turns(1)).turns.len(), 3);
    assert_eq!(shown(&memory, &turns[4], Surroundings::From(6)).hidden, (5, 0));
    assert!(shown(&memory, &turns[4], Surroundings::From(99)).turns.is_empty());
}

#[test]
fn a_part_of_a_session_is_shown_as_the_whole_has_it() {
    let (memory, session, turns) = memory();
    let whole = shown(&memory, &session, Surroundings::Exchange);
    for (from, count) in [(1, 3), (4, 5), (turns.len(), 9), (0, 1), (99, 4)] {
        let first = from.saturating_sub(1).min(turns.len());
        let end = turns.len().min(first + count);
        for id in [&session, &turns[4]] {
            let part = shown(&memory, id, Surroundings::Part { from, count });
            assert_eq!(part.turns, whole.turns[first..end], "{from} {count}");
            assert_eq!((part.hidden, part.episode), ((first, turns.len() - end), whole.episode), "{from} {count}");
        }
    }
}

#[test]
fn words_are_found_at_their_places_in_a_session() {
    let (memory, session, _) = memory();
    let whole = shown(&memory, &session, Surroundings::Exchange);
    let find = |words: &str| {
        let part = Surroundings::Part { from: 1, count: 0 };
        let request = ShowRequest { find: Some(words.to_owned()), ..ShowRequest::new(session.clone(), part) };
        memory.engine().show(&request).unwrap().found
    };
    let expected: Vec<usize> =
        (1..=whole.turns.len()).filter(|place| whole.turns[place - 1].words().contains("make scraper")).collect();
    assert!(expected.len() == 2 && find("Make SCRAPER") == expected, "{expected:?}");
    assert!(find("no such words").is_empty() && find(" ").is_empty());
}

#[test]
fn a_small_page_has_the_turn_then_its_question_and_its_outcome() {
    let (memory, _, turns) = memory();
    let exchange = shown(&memory, &turns[5], Surroundings::Exchange);
    let page = exchange.page(None, 400, 20);
    let told = words(&exchange, &page).join("\n");
    assert!(
        told.contains("make scraper") && told.contains("why does the barnacle") && told.contains("no longer stalls"),
        "{told}"
    );
    assert!(told.len() <= 400 && page.turns.len() < exchange.turns.len());
    let everything = exchange.page(None, usize::MAX / 8, 20);
    let told = words(&exchange, &everything);
    assert_eq!(told, exchange.turns.iter().map(yore_engine::ShownTurn::words).collect::<Vec<_>>());
    assert_eq!(everything.next.map(|next| next.place), Some(turns.len() - 1), "the next exchange");
    let last = shown(&memory, &turns[turns.len() - 1], Surroundings::Exchange).page(None, 30, 20);
    assert_eq!(last.next.map(|next| next.place), Some(turns.len() - 1), "what stands before it can be reached");
    assert!(exchange.page(None, 0, 20).turns[0].chars > 0, "the turn is told, however small the room is");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn pages_hold_every_word_once_and_fit(room in 0usize..900, heading in 0usize..60, first in 0usize..9) {
        let (memory, _, turns) = memory();
        let mut start = Start { place: first + 1, chars: 0 };
        let mut told = String::new();
        for _ in 0..1_000 {
            let shown = shown(&memory, &turns[0], Surroundings::From(start.place));
            let page = shown.page(Some(start), room, heading);
            let spent: usize = page.turns.iter().map(|turn| turn.chars + heading).sum();
            prop_assert!(spent <= room.max(80 + heading) || page.turns.len() == 1, "{} of {}", spent, room);
            told.push_str(&words(&shown, &page).concat());
            match page.next {
                Some(next) => {
                    prop_assert!((next.place, next.chars) > (start.place, start.chars));
                    prop_assert_eq!(next.to_string().parse::<Start>().unwrap(), next);
                    start = next;
                }
                None => break,
            }
        }
        let all: String = memory.turns(&shown(&memory, &turns[0], Surroundings::Turns(0)).turns[0].native_session)[first..]
            .iter().map(yore_engine::ShownTurn::words).collect();
        prop_assert_eq!(told, all);
    }
}

#[test]
fn what_was_done_comes_with_a_hit_on_request_and_where_a_place_is_asked_for() {
    let (memory, ..) = memory();
    let done = |question: &str, with_work| {
        let answer = memory.ask_with(question, |request| request.with_work = with_work);
        answer.hits.into_iter().find_map(|hit| hit.work).map(|work| *work)
    };
    let expected = WorkDone {
        changed: vec!["src/hull.rs".to_owned()],
        read: vec!["src/scraper.rs".to_owned()],
        command: Some("make scraper".to_owned()),
        outcome: Some("The scraper no longer stalls, since the hull stays wet.".to_owned()),
    };
    let question = "barnacle scraper";
    let mut found = done(question, true).unwrap();
    // The outcome is left out where it is shown.
    found.outcome.clone_from(&expected.outcome);
    assert_eq!(found, expected);
    assert_eq!(done(question, false), None);
    assert!(done("which file has the barnacle scraper?", false).is_some());
}

#[test]
fn what_there_is_no_time_for_is_left_out_and_named() {
    let (memory, ..) = memory();
    let ask = |deadline| {
        memory.ask_with("which file has the barnacle scraper?", |request: &mut RecallRequest| {
            request.deadline = deadline;
            request.packing = Some(Packing { budget: 900, group_cost: 36, hit_cost: 24, broad: 0, least_gain: 0.0 });
        })
    };
    let late = ask(Some(Duration::ZERO));
    let missing = late.missing.iter().find(|missing| missing.code == MissingCode::Late).unwrap();
    assert_eq!(
        missing.text,
        "no time was left for similarity of meaning, what concludes an exchange, what is newer, ranking files, choosing passages, the work that was done"
    );
    assert!(
        late.hits[0].turn().text.contains("barnacle") && !late.hits[0].quote.is_empty(),
        "the words are searched all the same"
    );
    assert!(late.evidence.nearness.is_none() && late.files.is_empty());
    assert!(ask(Some(Duration::from_secs(3_600))).missing.is_empty());
    assert!(ask(None).missing.is_empty());
}

#[test]
fn work_that_moved_on_to_another_project_is_not_told_with_this_one() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(9).cwd("/home/dev/tide");
    session.human("why does the barnacle scraper stall?");
    session.tool("Bash", &json!({"command": "make scraper"}), "scraper built", false);
    let mut session = session.cwd("/home/dev/private");
    session.tool("Edit", &json!({"file_path": "/home/dev/private/wages.csv", "old_string": "a", "new_string": "b"}), "ok", false);
    session.tool("Bash", &json!({"command": "pay wages"}), "paid", false);
    session.assistant("All wages are paid.");
    memory.write("projects/p/s.jsonl", session.text());
    memory.learn();
    let answer = memory.ask_with("barnacle scraper", |request| request.with_work = true);
    let hit = answer.hits.iter().find(|hit| hit.turn().text.contains("barnacle")).unwrap();
    let work = hit.work.as_ref().unwrap();
    assert_eq!(
        (work.changed.as_slice(), work.command.as_deref(), work.outcome.as_deref()),
        (&[][..], Some("make scraper"), None)
    );
}
