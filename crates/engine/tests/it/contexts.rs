//! Contexts: found by what they say, followed along relations, read once, logged by kind, compared between versions.

use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;
use yore_core::context::Class;
use yore_core::note::{NoteKind, Priority};
use yore_core::query::SearchMode;
use yore_core::scope::ScopeChoice;
use yore_engine::{
    ContextDepth, ContextPlace, ContextReading, ContextSearch, Engine, FoundContexts, RememberRequest, Remembered,
};
use yore_testing::Memory;

/// Shares that are reached with the contexts and questions of `crates/bench/data/contexts`: of 75 questions the weights were chosen by
/// the first 40 (`docs/measurements.md`, "Contexts").
const RIGHT: f32 = 0.88;
const SILENT: f32 = 0.9;
/// Relevance above which a context is given whole.
const BAR: f32 = 0.7;

fn lines(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/data/contexts").join(name);
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn listed(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

fn lock(engine: &Engine, topic: &str, content: &str, related: &[&str]) -> Remembered {
    let related = related.iter().map(|topic| (*topic).to_owned()).collect();
    engine.remember(&locked(topic, content, related)).unwrap()
}

fn locked(topic: &str, content: &str, related: Vec<String>) -> RememberRequest {
    RememberRequest {
        text: content.to_owned(),
        title: Some(topic.to_owned()),
        kind: Some(NoteKind::Context),
        is_unconfirmed: true,
        is_by_agent: true,
        related: Some(related),
        ..RememberRequest::default()
    }
}

fn everywhere() -> ContextPlace {
    ContextPlace { here: None, scope: ScopeChoice::All, session: Some("s-1".to_owned()) }
}

fn find(engine: &Engine, question: &str, depth: ContextDepth) -> FoundContexts {
    let search = ContextSearch { question: question.to_owned(), depth, limit: None, mode: SearchMode::Static };
    engine.find_contexts(&everywhere(), &search).unwrap()
}

/// Returns the kinds of readings that were logged, with the topics.
fn logged(memory: &Memory) -> Vec<(String, String)> {
    let database = Connection::open(memory.engine().directory().join("yore.db")).unwrap();
    let mut rows = database
        .prepare(
            "SELECT way, title FROM memory_access JOIN episode ON episode.uid = memory_uid WHERE session = 's-1' ORDER BY memory_access.id",
        )
        .unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn the_right_context_is_among_the_first_three_and_nothing_is_sure_where_none_is_right() {
    let memory = Memory::new();
    let engine = memory.engine();
    for context in lines("contexts.jsonl") {
        let text = |name: &str| context[name].as_str().unwrap();
        let request = locked(text("topic"), text("content"), listed(&context["related"]));
        engine
            .remember(&RememberRequest { tags: listed(&context["tags"]), priority: Priority::parse(text("priority")), ..request })
            .unwrap();
    }
    let (mut right, mut asked, mut silent, mut without) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for question in lines("questions.jsonl") {
        let (text, topics) = (question["q"].as_str().unwrap(), listed(&question["topic"]));
        let found = find(engine, text, ContextDepth::Previews).matches;
        assert!(found.windows(2).all(|pair| pair[0].relevance >= pair[1].relevance), "{text}");
        assert!(found.iter().all(|found| (0.0..=1.0).contains(&found.relevance) && !found.reasons.is_empty()), "{text}");
        if topics.is_empty() {
            without += 1;
            silent += usize::from(found.first().is_none_or(|first| first.relevance <= BAR));
        } else {
            asked += 1;
            let is_right = found.iter().take(3).any(|found| topics.contains(&found.context.topic));
            right += usize::from(is_right);
            wrong.extend((!is_right).then(|| text.to_owned()));
        }
    }
    assert!(right as f32 >= RIGHT * asked as f32, "{right} of {asked}: {wrong:#?}");
    assert!(silent as f32 >= SILENT * without as f32, "{silent} of {without}");
    // A label that is asked for by itself, or by its beginning, goes first whatever others say.
    for asked in ["show me the jwt configuration", "JWT Configuration", "find jwt"] {
        let found = find(engine, asked, ContextDepth::ByQuestion);
        assert_eq!(found.matches[0].context.topic, "jwt configuration", "{asked}");
    }
    assert_eq!(find(engine, "show me the jwt configuration", ContextDepth::ByQuestion).class, Class::Navigational);
}

#[test]
fn readings_are_logged_by_their_kind_and_what_is_loaded_lately_counts() {
    let memory = Memory::new();
    let engine = memory.engine();
    lock(
        engine,
        "keys",
        "# Keys\nRotate the signing key of the gauge monthly.\n# Storage\nIn a vault of the harbour.",
        &["vault"],
    );
    lock(engine, "vault", "The door has two locks.", &["doors"]);
    lock(engine, "doors", "Oil the hinges.", &["keys"]);
    let pair = |way: &str, topic: &str| (way.to_owned(), topic.to_owned());
    let found = find(engine, "rotate signing key gauge", ContextDepth::Previews);
    assert_eq!(found.matches[0].context.topic, "keys");
    assert!(found.matches.iter().all(|found| found.context.text.is_empty() && !found.is_whole));
    let before = found.matches[0].relevance;
    assert_eq!(logged(&memory)[0], pair("shown", "keys"));
    assert!(logged(&memory).contains(&pair("given", "vault")), "{:?}", logged(&memory));
    // A question for one thing gets the best section of the first.
    let found = find(engine, "how do we rotate the signing key of the gauge", ContextDepth::ByQuestion);
    assert_eq!(found.class, Class::Specific);
    assert_eq!(found.matches[0].context.text, "# Keys\nRotate the signing key of the gauge monthly.");
    let whole = find(engine, "rotate signing key gauge", ContextDepth::Whole);
    assert!(whole.matches[0].is_whole && whole.matches[0].context.text.ends_with("harbour."));
    assert!(whole.matches[0].relevance > before && whole.matches[0].reasons.contains(&"loaded lately".to_owned()));
    assert_eq!(logged(&memory).iter().filter(|row| **row == pair("opened", "keys")).count(), 2);

    let preview = engine.open_context(&everywhere(), "VAULT", ContextReading::default()).unwrap().unwrap();
    assert!(preview.context.text.is_empty() && preview.context.preview == "The door has two locks.");
    assert_eq!(logged(&memory).last(), Some(&pair("shown", "vault")));
    let nothing = engine.open_context(&everywhere(), "chimney", ContextReading::default()).unwrap();
    assert!(nothing.is_none());
}

#[test]
fn a_circle_of_relations_ends_and_each_context_is_reached_once() {
    let memory = Memory::new();
    let engine = memory.engine();
    for (topic, content, next) in [("a", "Anchors.", "b"), ("b", "Buoys.", "c"), ("c", "Cranes.", "a")] {
        lock(engine, topic, content, &[next]);
    }
    for (depth, expected) in [(1, vec!["b", "c"]), (2, vec!["b", "c"]), (3, vec!["b", "c"])] {
        let tree = engine.context_tree(&everywhere(), "A", depth, 10, SearchMode::Static).unwrap().unwrap();
        let mut topics: Vec<&str> = tree.reached.iter().map(|reached| reached.topic.as_str()).collect();
        topics.sort_unstable();
        assert_eq!(topics, expected, "depth {depth}");
        assert!(tree.reached.iter().all(|reached| reached.relation == "explicit" && reached.relevance > 0.5));
    }
    let way: Vec<(String, String)> = logged(&memory);
    assert_eq!(way.iter().filter(|(way, _)| way == "given").count(), 6, "each once in each tree");
    assert!(engine.context_tree(&everywhere(), "zeppelin", 2, 10, SearchMode::Static).unwrap().is_none());
}

#[test]
fn two_versions_are_compared_and_the_newest_is_found() {
    let memory = Memory::new();
    let engine = memory.engine();
    lock(engine, "ferry", "# Ferry\nleaves at seven\ntakes cars\n", &[]);
    let first = engine.open_context(&everywhere(), "ferry", ContextReading::default()).unwrap().unwrap().context;
    let again = RememberRequest {
        replaces: Some(first.id.to_string()),
        ..locked("ferry", "# Ferry\nleaves at nine\ntakes cars\nno dogs\n", Vec::new())
    };
    engine.remember(&again).unwrap();
    let reading = ContextReading { is_whole: true, version: None, since: Some(1) };
    let opened = engine.open_context(&everywhere(), "ferry", reading).unwrap().unwrap();
    assert_eq!(opened.changes.unwrap(), ["-2 leaves at seven", "+2 leaves at nine", "+4 no dogs"]);
    assert_eq!(opened.context.version, 2);
    let old = ContextReading { is_whole: true, version: Some(1), since: None };
    assert!(engine.open_context(&everywhere(), "ferry", old).unwrap().unwrap().context.text.contains("seven"));
    let none = ContextReading { is_whole: true, version: Some(7), since: None };
    assert!(engine.open_context(&everywhere(), "ferry", none).is_err());
    let found = find(engine, "when does the ferry leave", ContextDepth::ByQuestion);
    assert!(found.matches.len() == 1 && found.matches[0].context.preview.contains("nine"), "{found:?}");
}
