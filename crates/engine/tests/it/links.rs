//! Titled passages by their links, for questions whose answer is spread over several.

use serde_json::json;
use yore_core::query::{List, Part};
use yore_core::scope::ScopeChoice;
use yore_engine::{ForgetRequest, RecallAnswer};
use yore_testing::{Memory, TurnOf};

/// Passages of a project, each with its title.
fn passages(memory: &Memory, project: &str, passages: &[(&str, &str)]) {
    let lines: String = passages
        .iter()
        .map(|(title, text)| {
            let turn = json!({"turn_id": title, "role": "document", "speaker": title, "text": format!("{title}\n{text}")});
            format!("{}\n", json!({"corpus_id": project, "doc_id": title, "turns": [turn]}))
        })
        .collect();
    memory.write(&format!("{project}.jsonl"), lines);
    memory.read_as("jsonl", &memory.sources().join(format!("{project}.jsonl")));
    memory.index();
}

/// A film, its director, and other films that have more words of the question than the director.
fn films(memory: &Memory) {
    let others: Vec<(String, String)> = (0..30)
        .map(|at| (format!("Silent Film {at}"), format!("Silent Film {at} is a film of the town of its director, number {at}.")))
        .collect();
    let mut all: Vec<(&str, &str)> = others.iter().map(|(title, text)| (title.as_str(), text.as_str())).collect();
    all.push(("Harbour Lights", "Harbour Lights is a film that was directed by Ada Quill about a harbour."));
    all.push(("Ada Quill", "Ada Quill grew up in Brinemouth and made pictures."));
    passages(memory, "films", &all);
}

const QUESTION: &str = "In which town was the director of the film Harbour Lights born?";

fn titles(answer: &RecallAnswer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.turn().native_message.as_str()).collect()
}

#[test]
fn a_passage_that_the_best_one_names_comes_before_those_that_only_share_words() {
    let memory = Memory::new();
    films(&memory);
    let with = memory.ask_with(QUESTION, |_| {});
    let without = memory.ask_with(QUESTION, |request| request.tuning.are_links_ranked = false);
    assert_eq!(titles(&with)[0], "Harbour Lights");
    let place = |answer: &RecallAnswer| titles(answer).iter().position(|title| *title == "Ada Quill");
    assert_eq!(place(&with), Some(2), "the first place from which links decide: {:?}", titles(&with));
    assert!(place(&without).is_none_or(|place| place > 2), "{:?}", titles(&without));
    let linked = with.hits.iter().find(|hit| hit.turn().native_message == "Ada Quill").unwrap();
    assert!(linked.parts.iter().any(|part| part.part == Part::Links));
    assert!(with.hits.is_sorted_by(|a, b| a.score >= b.score));
    let sum: f32 = linked.parts.iter().map(|part| part.value).sum();
    assert!((sum - linked.score).abs() < 0.01);
    let again = memory.ask_with(QUESTION, |_| {});
    assert_eq!(titles(&with), titles(&again));
}

#[test]
fn short_questions_and_words_are_answered_as_before() {
    let memory = Memory::new();
    films(&memory);
    for question in ["director of Harbour Lights?", "harbour lights film director town silent film number three"] {
        let [with, without] = [true, false]
            .map(|are_links_ranked| memory.ask_with(question, |request| request.tuning.are_links_ranked = are_links_ranked));
        assert_eq!(titles(&with), titles(&without), "{question}");
    }
}

#[test]
fn links_lead_to_no_passage_that_the_filter_keeps_out_and_to_none_that_was_forgotten() {
    let memory = Memory::new();
    films(&memory);
    passages(&memory, "people", &[("Ben Shore", "Ben Shore lives in Harbour Lights, a street that Ada Quill built.")]);
    let asked = |project: &str| {
        memory.ask_with(QUESTION, |request| request.filter.scope = ScopeChoice::Projects(vec![project.to_owned()]))
    };
    assert!(asked("films").hits.iter().all(|hit| hit.turn().native_message != "Ben Shore"));
    let session = asked("films").hits.iter().find(|hit| hit.turn().native_message == "Ada Quill").unwrap().turn().episode;
    let request =
        ForgetRequest { session: session.to_string(), is_hard: true, is_dry_run: false, restore: false, keep_tombstones: true };
    memory.engine().forget(&request).unwrap();
    memory.index();
    assert!(asked("films").hits.iter().all(|hit| hit.turn().native_message != "Ada Quill"));
    assert!(asked("films").hits.iter().all(|hit| hit.lists.iter().all(|place| place.list != List::Links || place.rank > 0)));
}
