//! The order of what was found: newer above older, what was said in a named period, people's talk.

use serde_json::json;
use yore_core::query::{NewerFirst, Part};
use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};
use yore_engine::{Hit, RecallAnswer};
use yore_testing::{Memory, SessionBuilder, TurnOf};

const DAY: i64 = 86_400_000;

fn texts(answer: &RecallAnswer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.turn().text.as_str()).collect()
}

fn has_part(hit: &Hit, part: Part) -> bool {
    hit.parts.iter().any(|known| known.part == part)
}

/// Sessions of one message each, some days before the present, and others that have little to do with them.
fn said(memory: &Memory, messages: &[(i64, &str)]) {
    let others = (0..20).map(|at| (200 + at, ["The harbour is old.", "Notes are long.", "A table is set."][at as usize % 3]));
    for (seed, (days_ago, text)) in (1..).zip(messages.iter().copied().chain(others)) {
        let mut session = SessionBuilder::new(seed).at(Memory::now() - days_ago * DAY);
        session.human(text);
        memory.write(&format!("projects/p/s{seed}.jsonl"), session.text());
    }
    memory.learn();
}

const OLD: &str = "The lease cache of the crane scheduler lives in Redis, and Redis keeps the lease of the crane scheduler.";
const NEW: &str = "The lease cache of the crane scheduler no longer lives in Redis; it was moved to SQLite.";

#[test]
fn what_an_agent_concludes_comes_before_what_it_says_on_the_way() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(601);
    session.human("Where does the sluice keep its level table? Please look.");
    let on_the_way = "The sluice keeps its level table somewhere below the sluice folder; let me look for the level table.";
    let call = json!({"command": "grep -rn level sluice"});
    session.saying_tool(on_the_way, "Bash", &call, "sluice/levels.rs:12: static LEVELS", false);
    let conclusion = "It is a static array in `sluice/levels.rs`: the level table of the sluice is built with the program.";
    session.assistant(conclusion);
    memory.write("projects/p/sluice.jsonl", session.text());
    // A session that asks the same, and goes on.
    let mut asking = SessionBuilder::new(602);
    asking.human("Where was the level table again?");
    let asks = "Let me ask the memory where the sluice keeps its level table.";
    asking.saying_tool(asks, "Bash", &json!({"command": "yore recall level table of the sluice"}), "nothing", false);
    memory.write("projects/p/asking.jsonl", asking.text());
    said(&memory, &[(3, "Gulls are counted by eye."), (2, "The crane has a brake.")]);
    let place = |is_conclusive_first, question: &str, words: &str| {
        let answer = memory.ask_with(question, |request| request.tuning.is_conclusive_first = is_conclusive_first);
        let scores: Vec<f32> = answer.hits.iter().map(|hit| hit.score).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        texts(&answer).iter().position(|text| *text == words).unwrap()
    };
    let question = "where does the sluice keep its level table";
    assert!(place(false, question, on_the_way) < place(false, question, conclusion), "without it the words decide");
    assert!(place(true, question, conclusion) < place(true, question, on_the_way));
    assert!(place(true, question, conclusion) < place(true, question, asks), "the last call of a session concludes nothing");
    let cause = "why does the sluice keep its level table somewhere below the sluice folder";
    assert!(place(true, cause, on_the_way) < place(true, cause, conclusion), "what led to something is said on the way");
}

#[test]
fn of_two_agents_statements_about_one_subject_the_newer_that_says_a_change_comes_first() {
    let memory = Memory::new();
    said(&memory, &[(90, OLD), (30, NEW), (10, "Gulls are counted by eye in the harbour."), (5, "The harbour has a crane.")]);
    let question = "where does the lease cache of the crane scheduler live, in Redis?";
    let asked = |question: &str, newer_first| memory.ask_with(question, |request| request.tuning.newer_first = newer_first);
    let never = asked(question, NewerFirst::Never);
    assert_eq!(texts(&never)[..2], [OLD, NEW], "without it the older matches better");
    let answer = asked(question, NewerFirst::Agents);
    assert_eq!(texts(&answer)[..2], [NEW, OLD]);
    let [newer, older] = &answer.hits[..2] else { panic!("two hits") };
    assert!(has_part(newer, Part::Newer) && !has_part(older, Part::Newer));
    let sum: f32 = newer.parts.iter().map(|part| part.value).sum();
    assert!((sum - newer.score).abs() < 0.01, "the parts sum to the score: {sum} and {}", newer.score);
    for unmoved in
        ["which caches of the crane scheduler's lease live in Redis?", "what did the lease cache of the crane use before Redis?"]
    {
        let [ours, without] = [NewerFirst::Agents, NewerFirst::Never].map(|choice| asked(unmoved, choice));
        assert_eq!(texts(&ours), texts(&without), "{unmoved}");
    }
}

#[test]
fn the_newer_of_two_short_statements_with_another_value_comes_first_though_it_says_no_change() {
    let memory = Memory::new();
    let (old, new) = ("The crane scheduler keeps its leases in Redis.", "The crane scheduler keeps its leases in Postgres.");
    said(&memory, &[(90, old), (30, new)]);
    let asked = |newer_first| {
        memory.ask_with("where does the crane scheduler keep its leases, in Redis?", |request| {
            request.tuning.newer_first = newer_first;
        })
    };
    assert_eq!(texts(&asked(NewerFirst::Never))[..2], [old, new], "both are given, in the order of the match");
    assert_eq!(texts(&asked(NewerFirst::Agents))[..2], [new, old]);
}

/// Reads a document of turns with named speakers.
fn talk(memory: &Memory, turns: &[(&str, &str)]) {
    let turns: Vec<_> = (0..)
        .zip(turns)
        .map(|(at, (speaker, text))| json!({"turn_id": format!("t{at}"), "role": "user", "speaker": speaker, "text": text}))
        .collect();
    let document = json!({"corpus_id": "c", "doc_id": "d", "timestamp": "2026-05-01T10:00:00Z", "turns": turns});
    memory.write("talk.jsonl", format!("{document}\n"));
    let roots = vec![SourceRoot { source: "jsonl".to_owned(), path: memory.sources().join("talk.jsonl") }];
    memory.engine().ingest(&IngestRequest::new(roots), &mut Silent).unwrap();
    memory.index();
}

#[test]
fn in_peoples_talk_the_answer_of_the_person_who_is_named_comes_before_the_question() {
    let memory = Memory::new();
    talk(
        &memory,
        &[
            ("Ada", "What pottery did Bert make last summer, Bert?"),
            ("Bert", "I made a blue bowl and two plates of stoneware, glazed them myself and sold all of them at the fair."),
            ("Ada", "I never made any pottery myself."),
            ("Bert", "Shall we sail tomorrow?"),
        ],
    );
    let asked =
        |is_talk_ranked| memory.ask_with("What pottery did Bert make?", |request| request.tuning.is_talk_ranked = is_talk_ranked);
    let answer = asked(true);
    assert!(texts(&answer)[0].starts_with("I made a blue bowl"), "{:?}", texts(&answer));
    assert!(answer.hits.iter().all(|hit| has_part(hit, Part::Talk)));
    let plain = asked(false);
    assert!(texts(&plain)[0].starts_with("What pottery"), "{:?}", texts(&plain));
    assert!(plain.hits.iter().all(|hit| !has_part(hit, Part::Talk)));
}

#[test]
fn what_was_said_in_a_period_that_the_question_names_comes_first_and_the_rest_stays() {
    let memory = Memory::new();
    // The present is Wednesday, 1 July 2026.
    let messages = [
        (8, "The release notes of the tide table are written."),
        (45, "The release notes of the tide table and the release notes of the crane are written and released."),
        (60, "Gulls are counted."),
    ];
    said(&memory, &messages);
    let asked = |question: &str| {
        let answer = memory.ask_with(question, |_| {});
        texts(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(asked("release notes written")[0], messages[1].1);
    for question in
        ["release notes written last week", "release notes written in the fourth week of June", "notes written on 2026-06-23"]
    {
        let found = asked(question);
        assert_eq!(found[0], messages[0].1, "{question}");
        assert!(found.contains(&messages[1].1.to_owned()), "added, never only: {question}");
    }
    // On a calendar of another day it is another day.
    let shifted = memory.ask_with("release notes written on 2026-06-23", |request| request.offset_minutes = -24 * 60);
    assert!(!shifted.hits.iter().any(|hit| has_part(hit, Part::Period)));
}

#[test]
fn words_of_a_period_that_depend_on_the_day_are_not_looked_for_in_texts() {
    let memory = Memory::new();
    // The present is Wednesday, 1 July 2026.
    let messages = [
        (8, "The tide table of the harbour was printed."),
        (45, "The crane was painted last week, and all of last week it rained last week."),
    ];
    said(&memory, &messages);
    let answer = memory.ask_with("what did we do last week?", |_| {});
    assert_eq!(texts(&answer)[0], messages[0].1);
    assert!(!answer.terms.iter().any(|term| term.contains("week")), "{:?}", answer.terms);
    assert!(!answer.is_refused && answer.unmet.is_empty(), "{:?}", answer.unmet);
    let [period] = answer.periods[..] else { panic!("one period: {:?}", answer.periods) };
    assert_eq!(((period.end - period.start) / DAY, period.found), (7, 1));
    let empty = memory.ask_with("was the crane painted two weeks ago?", |_| {});
    assert_eq!(empty.periods[0].found, 0);
    assert_eq!(texts(&empty)[0], messages[1].1, "what was said at another time is told all the same");
    let of_date = memory.ask_with("tide table printed on 2026-06-23", |_| {});
    assert!(of_date.terms.iter().any(|term| term.contains("2026")), "a date may stand in a text: {:?}", of_date.terms);
}

#[test]
fn a_change_that_the_question_names_is_a_point_in_time() {
    let memory = Memory::new();
    said(
        &memory,
        &[
            (90, "The deploys of the harbour run on Fridays with the old runner."),
            (30, "We switched the harbour to the new runner."),
            (10, "The deploys of the harbour run on Mondays with the new runner, deploys of the harbour are quick."),
        ],
    );
    let first = |question: &str| texts(&memory.ask_with(question, |_| {}))[0].to_owned();
    assert!(first("when did the deploys of the harbour run before we switched to the new runner?").contains("Fridays"));
    assert!(first("when do deploys of the harbour run since we switched the harbour to the new runner?").contains("Mondays"));
}
