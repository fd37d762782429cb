//! Questions: the turns that may answer, their order, and the parts of their scores.

use proptest::prelude::*;
use serde_json::json;
use yore_core::episode::{EpisodeKind, Role};
use yore_core::query::{Filter, SearchMode};
use yore_core::scope::ScopeChoice;
use yore_engine::{CollectionCounts, Engine, ForgetRequest, Hit, Packing, ProjectQuery, RecallRequest, exchanges};
use yore_sources::project_names::names_of;
use yore_testing::{Memory, SessionBuilder, TurnOf};

const MARCH: i64 = 1_772_323_200_000;
const MAY: i64 = 1_777_593_600_000;

/// Makes 200 turns that match better than any other, with the time `at`.
fn crowd(at: i64) -> SessionBuilder {
    let mut crowd = SessionBuilder::new(200).cwd("/home/dev/crowd").branch("crowd").at(at);
    for _ in 0..200 {
        crowd.human("kumquat kumquat kumquat");
    }
    crowd
}

/// Makes one turn that matches less well, with the time `at`.
fn lone(at: i64) -> SessionBuilder {
    let mut lone = SessionBuilder::new(201).cwd("/home/dev/lone").branch("lone").at(at);
    lone.assistant("among many other fruits that we talked about at some length there was, I believe, one kumquat");
    lone
}

fn memory_of(sessions: &[&SessionBuilder]) -> Memory {
    let memory = Memory::new();
    for (at, session) in sessions.iter().enumerate() {
        memory.write(&format!("projects/p/{at}.jsonl"), session.text());
    }
    memory.learn();
    memory
}

fn filtered(memory: &Memory, filter: Filter) -> Vec<Hit> {
    memory.ask_with("kumquat", |request| request.filter = Filter { scope: request.filter.scope.clone(), ..filter }).hits
}

#[track_caller]
fn assert_lone(hits: &[Hit]) {
    let texts: Vec<&str> = hits.iter().map(|hit| hit.turn().text.as_str()).collect();
    assert_eq!(hits.len(), 1, "{texts:?}");
    assert!(texts[0].contains("one kumquat") || texts[0].contains("lone kumquat"), "{texts:?}");
}

#[test]
fn filters_by_where_and_who_come_before_ranking() {
    let memory = memory_of(&[&crowd(MARCH), &lone(MAY)]);
    assert!(memory.ask("kumquat").iter().all(|hit| hit.turn().text.starts_with("kumquat kumquat")), "the crowd matches better");
    assert_lone(
        &memory.ask_with("kumquat", |request| request.filter.scope = ScopeChoice::Projects(vec!["lone".to_owned()])).hits,
    );
    assert_lone(&filtered(&memory, Filter { branches: vec!["lone".to_owned()], ..Filter::default() }));
    assert_lone(&filtered(&memory, Filter { sessions: vec![lone(MAY).id().to_owned()], ..Filter::default() }));
    assert_lone(&filtered(&memory, Filter { roles: vec![Role::Assistant], ..Filter::default() }));
    assert_lone(&filtered(&memory, Filter { since: Some(MAY), ..Filter::default() }));
    assert!(filtered(&memory, Filter { branches: vec!["nowhere".to_owned()], ..Filter::default() }).is_empty());
}

#[test]
fn filters_by_time_come_before_ranking() {
    let memory = memory_of(&[&lone(MARCH), &crowd(MAY)]);
    assert_lone(&filtered(&memory, Filter { until: Some(MAY), ..Filter::default() }));
    assert_lone(&filtered(&memory, Filter { as_of: Some(MAY), ..Filter::default() }));
    assert!(filtered(&memory, Filter { until: Some(MARCH), ..Filter::default() }).is_empty());
    // `as_of` is exclusive, `since` is inclusive.
    let said = memory.turns(lone(MARCH).id())[0].time.utc.unwrap();
    assert!(filtered(&memory, Filter { as_of: Some(said), ..Filter::default() }).is_empty());
    assert_lone(&filtered(&memory, Filter { since: Some(said), until: Some(said + 1), ..Filter::default() }));
}

#[test]
fn filters_by_agent_and_kind_come_before_ranking() {
    let memory = memory_of(&[&crowd(MARCH)]);
    let mut agent = SessionBuilder::new(202).with_id(crowd(MARCH).id()).subagent("cafe0123").at(MAY);
    agent.assistant("a sub-agent also spoke of a lone kumquat, in so many words that it ranks last");
    memory.write("projects/p/agent-cafe0123.jsonl", agent.text());
    let document = json!({"corpus_id": "fruit", "doc_id": "d1", "turns": [
        {"turn_id": "t1", "role": "user", "text": "what is that lone kumquat doing in the fruit salad that we made for the party yesterday"},
    ]});
    let corpus = memory.write("corpus/fruit.jsonl", format!("{document}\n"));
    memory.read_as("claude-code", &memory.sources().join("projects"));
    memory.read_as("jsonl", &corpus);
    memory.index();
    assert_lone(&filtered(&memory, Filter { agents: vec!["jsonl".to_owned()], ..Filter::default() }));
    assert_lone(&filtered(&memory, Filter { kinds: vec![EpisodeKind::Subagent], ..Filter::default() }));
    assert!(filtered(&memory, Filter { agents: vec!["nobody".to_owned()], ..Filter::default() }).is_empty());
}

#[test]
fn quoted_phrase_matches_whole_tokens_only() {
    let mut session = SessionBuilder::new(210);
    let whole = session.human("the index lock was stale again");
    session.human("the index_lock file was stale");
    session.human("lock the index before you go");
    session.human("an index, then a lock");
    let memory = memory_of(&[&session]);
    let found: Vec<String> = memory.ask("\"index lock\"").into_iter().map(|hit| hit.turn().native_message.clone()).collect();
    assert_eq!(found, [whole]);
    assert_eq!(memory.ask("index lock").len(), 4);
}

const ERROR: &str =
    "error[E0502]: cannot borrow `*self.queue` as mutable because it is also borrowed as immutable\n  --> src/db/pool.rs:48:17";

/// Returns the best answers to [`ERROR`], and the native id of the one tool output that contains it, among
/// forty similar ones, each after `words` of the user.
fn answers_to_the_error(words: &str) -> (Vec<Hit>, String) {
    let mut session = SessionBuilder::new(211).turns(60);
    for at in 0..40 {
        session.human(words);
        session.tool(
            "Bash",
            &json!({"command": "cargo check"}),
            &format!(
                "error[E0499]: cannot borrow `*self.queue` as mutable more than once at a time\n  --> src/db/pool.rs:{at}:9"
            ),
            true,
        );
    }
    let (_, place) = session.tool("Bash", &json!({"command": "cargo build"}), ERROR, true);
    let memory = memory_of(&[&session.turns(30)]);
    (memory.ask(ERROR), place)
}

#[test]
fn raw_error_message_is_found_verbatim_first() {
    let (hits, place) = answers_to_the_error("once more");
    assert_eq!(hits[0].turn().native_message, place, "{}", hits[0].turn().tool_text);
    assert!(hits[0].quote.contains("E0502"), "{}", hits[0].quote);
}

#[test]
fn raw_error_message_is_found_although_many_people_said_something_like_it() {
    let (hits, place) = answers_to_the_error("why can I not borrow the queue as mutable in pool.rs?");
    assert!(hits[..5].iter().any(|hit| hit.turn().native_message == place));
}

#[test]
fn question_in_a_script_without_spaces_is_answered() {
    let mut session = SessionBuilder::new(212).turns(20);
    let japanese = session.human("キャッシュが更新されないのはなぜですか？");
    let chinese = session.human("为什么上传大文件时会超时？");
    let korean = session.human("한글 검색이 안 됩니다");
    let memory = memory_of(&[&session]);
    for (question, place) in [("キャッシュの更新", japanese), ("上传超时", chinese), ("한글 검색", korean)] {
        assert_eq!(memory.ask(question).first().map(|hit| hit.turn().native_message.clone()), Some(place), "{question}");
    }
}

#[test]
fn any_text_is_a_valid_question() {
    let memory = memory_of(&[&SessionBuilder::new(213).turns(30)]);
    for question in
        ["", " ", "\"", "\"\"", "a AND", "NEAR(", "col:*", "-", "what's C++?", "(((", "\\", "text:cache^2", "[a TO b]", "*"]
    {
        memory.ask(question);
    }
    proptest!(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() }, |(
        question in prop_oneof!["\\PC{0,80}", "[\"'a-z ():*^~+\\-\\[\\]{}|&!?\\\\/_.]{0,60}"],
        wordings in prop::collection::vec("\\PC{0,40}", 0..3),
        limit in 0usize..20,
        budget in 0usize..400,
    )| {
        let answer = memory.ask_with(&question, |request| {
            (request.limit, request.wordings) = (limit, wordings.clone());
            request.packing = Some(Packing { budget, group_cost: 36, hit_cost: 24, broad: if limit % 2 == 0 { limit } else { 0 }, least_gain: 0.0 });
        });
        prop_assert!(answer.hits.len() <= limit);
        let passages = exchanges(answer.hits.iter()).into_iter().flat_map(|exchange| exchange.passages);
        let shown: usize = passages.map(|passage| passage.text().len()).sum();
        prop_assert!(shown <= 4 * budget + 16 * (limit + 32), "{shown} bytes for {budget} tokens");
        prop_assert!((0.0..=1.0).contains(&answer.confidence));
    });
}

#[test]
fn queued_turns_are_found_before_the_index_took_them() {
    let mut session = SessionBuilder::new(214).turns(30);
    let memory = memory_of(&[&session]);
    let place = session.human("the marmalade is in the cellar");
    memory.write("projects/p/0.jsonl", session.text());
    memory.read();
    assert!(memory.engine().queued().unwrap() > 0);
    let answer = memory.ask_with("where is the marmalade", |_| {});
    assert_eq!(answer.hits[0].turn().native_message, place);
    assert!(answer.pending > 0);
    memory.index();
    assert_eq!(memory.engine().queued().unwrap(), 0);
    assert_eq!(memory.ask("where is the marmalade")[0].turn().native_message, place);
}

#[test]
fn forgotten_session_answers_only_after_it_is_restored() {
    let mut session = SessionBuilder::new(215);
    session.human("the marmalade is in the cellar");
    session.assistant("noted: marmalade, cellar");
    let memory = memory_of(&[&session, &SessionBuilder::new(216).turns(10)]);
    let before = memory.words();
    let id = session.id().to_owned();
    let soft = |restore: bool| {
        let request = ForgetRequest { session: id.clone(), is_hard: false, is_dry_run: false, restore, keep_tombstones: true };
        memory.engine().forget(&request).unwrap()
    };
    let said = |question: &str| {
        memory.ask(question).iter().filter(|hit| hit.turn().native_session == id || hit.turn().text.contains("marmalade")).count()
    };
    soft(false);
    assert_eq!(said("marmalade cellar"), 0);
    assert!(memory.turns(session.id()).is_empty());
    // Reading the file again does not undo it.
    memory.learn();
    session.human("more marmalade");
    memory.write("projects/p/0.jsonl", session.text());
    memory.read();
    assert_eq!(said("marmalade"), 0);
    memory.index();
    assert_eq!(said("marmalade"), 0);
    soft(true);
    assert_eq!(said("marmalade cellar"), 3);
    assert!(memory.words().len() > before.len());
}

#[test]
fn parts_sum_to_the_score() {
    let memory = memory_of(&[&SessionBuilder::new(217).turns(80), &SessionBuilder::new(218).turns(80)]);
    for question in ["why the cache breaks", "lantern orchard", "src/parser.rs", "\"the queue\" restart", "compass"] {
        let hits = memory.ask_with(question, |request| request.limit = 50).hits;
        assert!(!hits.is_empty(), "{question}");
        for (at, hit) in hits.iter().enumerate() {
            let sum: f32 = hit.parts.iter().map(|part| part.value).sum();
            assert!((sum - hit.score).abs() < 0.002, "{question}: {:?} do not sum to {}", hit.parts, hit.score);
            assert_eq!(hit.rank, at + 1);
        }
        assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "{question}");
    }
}

#[test]
fn limit_is_respected_and_the_first_answers_stay_the_same() {
    let memory = memory_of(&[&SessionBuilder::new(219).turns(150)]);
    let all: Vec<String> = memory
        .ask_with("the cache", |request| request.limit = 40)
        .hits
        .into_iter()
        .map(|hit| hit.turn().id.to_string())
        .collect();
    for limit in [0, 1, 3, 10] {
        let some: Vec<String> = memory
            .ask_with("the cache", |request| request.limit = limit)
            .hits
            .into_iter()
            .map(|hit| hit.turn().id.to_string())
            .collect();
        assert_eq!(some, all[..limit]);
    }
}

#[test]
fn equal_scores_come_newest_first() {
    let sessions: Vec<SessionBuilder> = (0..4)
        .map(|month| {
            let mut session = SessionBuilder::new(220 + month).at(MARCH + month as i64 * 2_592_000_000);
            session.human("the marmalade is in the cellar");
            session
        })
        .collect();
    let memory = memory_of(&sessions.iter().collect::<Vec<_>>());
    let hits = memory.ask_with("marmalade", |request| request.is_folded = false).hits;
    assert!(hits.windows(2).all(|pair| pair[0].score == pair[1].score));
    let found: Vec<&str> = hits.iter().map(|hit| hit.turn().native_session.as_str()).collect();
    let wanted: Vec<&str> = sessions.iter().rev().map(SessionBuilder::id).collect();
    assert_eq!(found, wanted);
}

#[test]
fn equal_scores_come_newest_first_whatever_was_read_first() {
    let memory = Memory::new();
    for (file, at) in [("later", MAY), ("earlier", MARCH)] {
        let mut session = SessionBuilder::new(at as u64).at(at);
        session.human("the marmalade is in the cellar");
        memory.write(&format!("projects/p/{file}.jsonl"), session.text());
        memory.learn();
    }
    let times: Vec<i64> = memory
        .ask_with("marmalade", |request| request.is_folded = false)
        .hits
        .into_iter()
        .filter_map(|hit| hit.turn().time.utc)
        .collect();
    assert!(times.len() == 2 && times[0] > times[1], "{times:?}");
}

#[test]
fn repository_that_nobody_knows_is_never_taken_for_the_project_around_it() {
    let home = tempfile::tempdir().unwrap();
    let path = |below: &str| home.path().join(below).to_str().unwrap().to_owned();
    for directory in ["dev/known/.git", "dev/known/src", "dev/fresh/.git", "dev/fresh/src", "dev/loose", "dev/begun/src"] {
        std::fs::create_dir_all(path(directory)).unwrap();
    }
    let said = |seed: u64, directory: &str, text: &str| {
        let mut session = SessionBuilder::new(seed).cwd(&path(directory));
        session.human(text);
        session
    };
    let memory = memory_of(&[
        &said(230, "dev", "the kumquat of dev"),
        &said(231, "dev/known", "the kumquat of known"),
        &said(232, "dev/begun", "the kumquat of begun"),
    ]);
    // It was only a directory when it was first seen.
    std::fs::create_dir_all(path("dev/begun/.git")).unwrap();
    let found = |directory: &str| -> Vec<String> {
        let answer = memory.ask_with("kumquat", |request| {
            request.filter.scope = ScopeChoice::CurrentOnly;
            request.here = Some(names_of(&path(directory)));
        });
        answer.hits.into_iter().map(|hit| hit.turn().text.clone()).collect()
    };
    for directory in ["dev/fresh", "dev/fresh/src"] {
        assert_eq!(found(directory), [""; 0], "{directory}");
        let query = ProjectQuery::Directory(names_of(&path(directory)));
        assert!(memory.engine().find_project(&query).unwrap().is_none(), "{directory}");
    }
    for (directory, words) in [
        ("dev", "the kumquat of dev"),
        ("dev/loose", "the kumquat of dev"),
        ("dev/known", "the kumquat of known"),
        ("dev/known/src", "the kumquat of known"),
        ("dev/begun", "the kumquat of begun"),
        ("dev/begun/src", "the kumquat of begun"),
    ] {
        assert_eq!(found(directory), [words], "{directory}");
    }
}

#[test]
fn german_words_that_the_memory_never_met_give_way_to_their_english_ones() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(277).with_id("cache");
    session.human("why is the build slow");
    session.assistant("The cache of the build was deleted by the cleanup job each night.");
    memory.write("projects/p/cache.jsonl", session.text());
    memory.learn();
    let answer =
        memory.engine().recall(&yore_engine::RecallRequest::new("warum wurde der Zwischenspeicher beim Bauen gelöscht")).unwrap();
    let english = ["cach", "build", "delet"];
    assert!(english.iter().any(|term| answer.terms.iter().any(|known| known == term)), "{:?}", answer.terms);
    assert!(answer.terms.iter().all(|term| term != "warum" && term != "wurd"), "{:?}", answer.terms);
}

#[test]
fn sample_of_a_collection_is_ranked_by_the_collections_counts() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(203).cwd("/home/dev/berth");
    for n in 0..5 {
        session.human(&format!("what about the lease of berth number {n}"));
    }
    session.human("what about the retry of berth number nine");
    memory.write("projects/p/1.jsonl", session.text());
    memory.learn();
    let first = |engine: &Engine| {
        let request = RecallRequest { mode: SearchMode::Lexical, ..RecallRequest::new("lease retry") };
        let answer = engine.recall(&request).unwrap();
        (answer.hits[0].as_turn().unwrap().text.clone(), answer.indexed)
    };
    let (text, indexed) = first(memory.engine());
    assert!(text.contains("retry") && indexed == 6, "{text}: it is the rarer word here");
    let counts = CollectionCounts {
        turns: 1_000,
        words: 9_000,
        holding: [("leas", 5), ("retri", 800)].map(|(word, count)| (word.to_owned(), count)).into(),
    };
    let sample = Engine::open(Memory::options(memory.data())).unwrap().sample_of(counts);
    let (text, indexed) = first(&sample);
    assert!(text.contains("lease") && indexed == 1_000, "{text}: it is the rarer word of the collection");
}
