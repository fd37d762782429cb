//! The recursive lane: exact answers with an exact reader, limits that hold, nothing cited that stands nowhere, runs made again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yore_core::memory::MemoryKind;
use yore_core::operation::{Actor, Cause};
use yore_core::query::ReadingStrategy;
use yore_engine::llm::wire::Protocol;
use yore_engine::llm::{Backoff, Connection, Model, RUNS, RunLimit, RunLimits, Tier, Way};
use yore_engine::{
    DailyLimits, DeepAnswer, DeepRequest, EngineError, ModelAccess, NewMemory, PiecesRequest, Price, ShownLine, Stop, Terms,
    Trajectory, trajectories,
};
use yore_testing::{Memory, SessionBuilder, listening_at_once, write_answer};

static STOPPED: AtomicBool = AtomicBool::new(false);

/// A model that answers by rules, each with what it is asked: the system prompt tells which one.
trait Rules: Send + Sync + 'static {
    fn plan(&self, _asked: &Value) -> Value {
        json!({"operation": "answer", "condition": "c", "label": "", "keywords": []})
    }
    /// Returns label and quote of a piece that counts.
    fn read(&self, condition: &str, piece: &Value) -> Option<(String, String)>;
    fn write(&self, evidence: &[Value]) -> String {
        evidence.iter().map(|one| one["label"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(", ")
    }
    /// Returns the next action; `shown`: what the conversation has so far.
    fn act(&self, turn: usize, _shown: &str) -> Value {
        unreachable!("turn {turn}")
    }
    /// Changes an answer before it is sent; returns false if it is cut off.
    fn send(&self, _answer: &mut Value) -> bool {
        true
    }
}

fn pieces_of(asked: &Value) -> Vec<Value> {
    asked["pieces"].as_array().cloned().unwrap_or_default()
}

fn answer_of(rules: &dyn Rules, body: &Value) -> Value {
    let messages = body["messages"].as_array().unwrap();
    let system = messages[0]["content"].as_str().unwrap();
    let last = messages.last().unwrap()["content"].as_str().unwrap();
    let asked: Value = serde_json::from_str(last.split("\n\n").next().unwrap()).unwrap_or_default();
    let found = |condition: &str| -> Vec<(Value, String, String)> {
        let read = |piece: Value| rules.read(condition, &piece).map(|(label, quote)| (piece["piece"].clone(), label, quote));
        pieces_of(&asked).into_iter().filter_map(read).collect()
    };
    match system {
        _ if system.starts_with("You plan") => rules.plan(&asked),
        _ if system.starts_with("You look through pieces") => {
            let matches: Vec<Value> = found(asked["counts_if"].as_str().unwrap())
                .into_iter()
                .map(|(piece, label, quote)| json!({"piece": piece, "label": label, "quote": quote}))
                .collect();
            json!({"matches": matches})
        }
        _ if system.starts_with("Several readers") => json!({"groups": []}),
        _ if system.starts_with("You answer a question of an engineer from what readers") => {
            let evidence = asked["evidence"].as_array().unwrap();
            json!({"is_known": true, "answer": rules.write(evidence), "sources": (1..=evidence.len()).collect::<Vec<_>>()})
        }
        _ if system.contains("Each turn you take one action") => {
            let shown: Vec<&str> = messages.iter().skip(1).filter_map(|message| message["content"].as_str()).collect();
            rules.act(messages.len() / 2, &shown.join("\n"))
        }
        _ => {
            let found = found(asked["question"].as_str().unwrap());
            let answer: Vec<&str> = found.iter().map(|(_, label, _)| label.as_str()).collect();
            let evidence: Vec<Value> = found.iter().map(|(piece, _, quote)| json!({"piece": piece, "quote": quote})).collect();
            json!({"is_known": !found.is_empty(), "answer": answer.join(", "), "evidence": evidence})
        }
    }
}

/// Starts a server with a model of these rules.
fn model_of(rules: impl Rules) -> Arc<Model> {
    let address = listening_at_once(move |_, body, stream| {
        let mut answer = answer_of(&rules, body);
        let is_whole = rules.send(&mut answer);
        let (text, prompt) = (answer.to_string(), body["messages"].to_string().len());
        let text = if is_whole { text.as_str() } else { &text[..text.len() / 2] };
        let reason = if is_whole { "stop" } else { "length" };
        let usage = json!({"prompt_tokens": prompt / 4, "completion_tokens": text.len() / 4});
        let said = json!({"choices": [{"message": {"content": text}, "finish_reason": reason}], "usage": usage});
        write_answer(stream, "200 OK", "content-type: application/json\r\n", &said.to_string());
    });
    let connection = Connection::new("harbour", address, Arc::new(|| Ok(None)), Duration::from_secs(20));
    let way = Way::Http { connection, protocol: Protocol::OpenAiChat, tiers: &[Tier::Schema] };
    // Its name is that of a family with a large window; it answers on this computer only here.
    Arc::new(Model::new("harbour/gpt-5-rules", way, Backoff { tries: 2, sleep: |_| () }).of_size(false))
}

fn asked(memory: &Memory, model: &Arc<Model>, request: &DeepRequest) -> DeepAnswer {
    let price = Some(Price { input: 1.0, output: 4.0 });
    let limits = DailyLimits { tokens: 1 << 40, cost_micro: 1 << 40, calls: 0 };
    let terms = Terms { purpose: "ask".to_owned(), limits, price, is_price_unknown: false, offset_minutes: 0 };
    let mut choose = |_: Option<&str>| Ok(Some((Arc::clone(model), terms.clone())));
    let by = ModelAccess { choose: &mut choose, books: None, is_stopped: &STOPPED };
    memory.engine().read_deeply(request, by, &mut |_| {}).unwrap()
}

fn request(question: &str, strategy: Option<ReadingStrategy>) -> DeepRequest {
    let limits = RunLimits { calls: 100, tokens: 20_000_000, cost_micro: 100_000_000, milliseconds: 120_000 };
    DeepRequest { strategy, limits, ..DeepRequest::new(question) }
}

/// Asserts that a run kept to its bound, that what it cites stands there, and that it can be made again word for word.
fn is_sound(memory: &Memory, answer: &DeepAnswer) {
    let (spent, bound) = (answer.spent, answer.bound);
    assert!(spent.calls <= bound.calls, "{spent:?} {bound:?}");
    assert!(
        spent.input <= bound.input && spent.output <= bound.output && spent.cost_micro <= bound.cost_micro,
        "{spent:?} {bound:?}"
    );
    let turns: BTreeMap<String, String> = memory
        .episodes()
        .iter()
        .flat_map(|episode| memory.turns(&episode.native_id))
        .map(|turn| (turn.id.to_string(), turn.text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()))
        .collect();
    for cited in &answer.cited {
        assert!(turns[&cited.opens].contains(&cited.quote.to_lowercase()), "{cited:?}");
    }
    let run = answer.run.as_ref().unwrap();
    let again = memory.engine().replay_run(run, None).unwrap();
    assert_eq!(&again, answer, "the id is the digest of the log, word for word");
}

/// Numbers of a needle: what "the magic number of X is N" says.
struct Needles;

impl Rules for Needles {
    fn plan(&self, _: &Value) -> Value {
        json!({"operation": "list", "condition": "magic number of tidepool", "label": "the number", "keywords": []})
    }
    fn read(&self, _: &str, piece: &Value) -> Option<(String, String)> {
        let words = piece["words"].as_str().unwrap();
        let at = words.find("The magic number of tidepool is ")?;
        let quote: String = words[at..].split('.').next().unwrap().to_owned();
        Some((quote.rsplit(' ').next().unwrap().to_owned(), quote))
    }
    fn act(&self, turn: usize, shown: &str) -> Value {
        let action = |action: &str, text: &str, evidence: Value| json!({"action": action, "variable": "", "name": "", "text": text, "label": "", "from": 0, "to": 0, "evidence": evidence});
        if turn == 1 {
            return action("filter", "magic number of \\w+", json!([]));
        }
        let at = shown.rfind("{\"piece\":").unwrap();
        let piece: Value = serde_json::Deserializer::from_str(&shown[at..]).into_iter::<Value>().next().unwrap().unwrap();
        let (number, quote) = self.read("", &piece).unwrap();
        action("answer", &number, json!([{"piece": piece["piece"], "quote": quote}]))
    }
}

/// A memory with so many characters of idle talk and a needle.
fn haystack(characters: usize) -> Memory {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(characters as u64);
    let mut text = String::new();
    while text.len() < 2_000.min(characters / 8) {
        text.push_str(&session.sentence());
        text.push_str(". ");
    }
    let turns = characters / text.len();
    for turn in 0..turns {
        let said = format!("{turn}: {text}");
        if turn == turns * 2 / 3 {
            session.human(&format!("{text}The magic number of tidepool is 417{turn}. {text}"));
        } else if turn % 2 == 0 {
            session.human(&said);
        } else {
            session.assistant(&said);
        }
    }
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    memory
}

#[test]
fn a_needle_is_found_in_any_amount_by_each_strategy() {
    let model = model_of(Needles);
    for (power, strategies) in [
        (13, &[None, Some(ReadingStrategy::Planned), Some(ReadingStrategy::Iterative)][..]),
        (17, &[Some(ReadingStrategy::Direct), None, Some(ReadingStrategy::Planned)]),
        (22, &[Some(ReadingStrategy::Planned), Some(ReadingStrategy::Iterative)]),
    ] {
        let memory = haystack(1 << power);
        for strategy in strategies {
            let answer = asked(&memory, &model, &request("what is the magic number of tidepool?", *strategy));
            assert!(answer.answer.starts_with("417"), "2^{power}: {answer:?}");
            assert_eq!((answer.cited.len(), &answer.stop), (1, &None), "2^{power}: {answer:?}");
            let expected = strategy.unwrap_or(if power == 13 { ReadingStrategy::Direct } else { ReadingStrategy::Iterative });
            assert_eq!(answer.strategy, Some(expected));
            is_sound(&memory, &answer);
        }
    }
}

/// Lines `date || user || instance`; the hidden label is the kind of thing that is asked for.
struct Lines {
    operation: &'static str,
}

fn kind_of(instance: &str) -> &'static str {
    match instance {
        _ if instance.contains("Where") => "place",
        _ if instance.contains("How many") => "number",
        _ => "person",
    }
}

fn fields(words: &str) -> Option<[&str; 3]> {
    let mut parts = words.split(" || ");
    Some([parts.next()?, parts.next()?, parts.next()?])
}

impl Rules for Lines {
    fn plan(&self, _: &Value) -> Value {
        json!({"operation": self.operation, "condition": "it asks for a place", "label": "the user", "keywords": []})
    }
    fn read(&self, condition: &str, piece: &Value) -> Option<(String, String)> {
        let words = piece["words"].as_str().unwrap();
        let [date, user, instance] = fields(words)?;
        let is_wanted = condition.contains("place") && kind_of(instance) == "place";
        let label = if self.operation == "list" { format!("{user} {date}") } else { user.to_owned() };
        is_wanted.then(|| (label, words.to_owned()))
    }
}

fn ledger_of_questions(number: usize) -> (Memory, Vec<String>) {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(7);
    let mut lines = Vec::new();
    for at in 0..number {
        let words = session.sentence();
        let (user, day) = ((at * 7 + at / 11) % 9, at % 28 + 1);
        let instance = ["Where is", "How many times did", "Who said that"][(at * 5 + at / 3) % 3];
        let line = format!("2026-02-{day:02} || user{user} || {instance} {words} {at}?");
        session.human(&line);
        lines.push(line);
    }
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    (memory, lines)
}

#[test]
fn counts_lists_and_pairs_are_exact_where_the_reader_is() {
    let (memory, lines) = ledger_of_questions(900);
    let places: Vec<[&str; 3]> =
        lines.iter().filter_map(|line| fields(line)).filter(|[_, _, instance]| kind_of(instance) == "place").collect();
    let mut by_user: BTreeMap<&str, usize> = BTreeMap::new();
    for [_, user, _] in &places {
        *by_user.entry(user).or_default() += 1;
    }
    let users: Vec<&str> = by_user.keys().copied().collect();
    let planned = |operation| {
        let answer = asked(&memory, &model_of(Lines { operation }), &request("how many questions ask for a place?", None));
        assert_eq!((answer.strategy, &answer.stop, answer.read), (Some(ReadingStrategy::Planned), &None, 900), "{answer:?}");
        is_sound(&memory, &answer);
        answer.answer
    };
    assert_eq!(planned("count"), places.len().to_string());
    let counted: BTreeMap<String, usize> = planned("count_by")
        .lines()
        .map(|line| line.split_once(": ").unwrap())
        .map(|(user, count)| (user.to_owned(), count.parse().unwrap()))
        .collect();
    assert_eq!(counted, by_user.iter().map(|(user, count)| ((*user).to_owned(), *count)).collect());
    let listed: BTreeSet<String> =
        planned("list").lines().map(|line| line.split_once(" (").map_or(line, |(label, _)| label).to_owned()).collect();
    assert_eq!(listed, places.iter().map(|[date, user, _]| format!("{user} {date}")).collect());
    let pairs = planned("pairs");
    assert_eq!(pairs.lines().count(), users.len() * (users.len() - 1) / 2);
    assert!(pairs.lines().all(|pair| pair.split_once(", ").is_some_and(|(one, other)| one < other)));
    let written = planned("answer");
    assert_eq!(written.split(", ").count(), places.len().min(200), "sentences rest on what was found");
}

/// A reader whose answer is cut off where it is about more than a few pieces.
struct Short;

impl Rules for Short {
    fn plan(&self, _: &Value) -> Value {
        json!({"operation": "count", "condition": "it asks for a place", "label": "", "keywords": []})
    }
    fn read(&self, condition: &str, piece: &Value) -> Option<(String, String)> {
        Lines { operation: "count" }.read(condition, piece)
    }
    fn send(&self, answer: &mut Value) -> bool {
        answer["matches"].as_array().is_none_or(|matches| matches.len() <= 20)
    }
}

#[test]
fn a_batch_whose_answer_is_cut_off_is_asked_about_in_halves() {
    let (memory, lines) = ledger_of_questions(200);
    let expected = lines.iter().filter(|line| kind_of(line) == "place").count();
    let answer = asked(&memory, &model_of(Short), &request("how many ask for a place?", Some(ReadingStrategy::Planned)));
    assert_eq!((answer.answer.as_str(), &answer.stop), (expected.to_string().as_str(), &None), "{answer:?}");
    assert!(answer.spent.calls > answer.bound.calls, "the bound is that of calls that are not repeated");
}

#[test]
fn each_limit_ends_a_run_with_what_was_found_and_the_reason() {
    let (memory, _) = ledger_of_questions(900);
    let model = model_of(Lines { operation: "count" });
    let limited = |limits: RunLimits| {
        let limits = RunLimits { calls: limits.calls.min(100), ..limits };
        asked(&memory, &model, &DeepRequest { limits, ..request("how many ask for a place?", Some(ReadingStrategy::Planned)) })
    };
    let whole = request("", None).limits;
    let calls = limited(RunLimits { calls: 4, ..whole });
    assert_eq!((calls.spent.calls, &calls.stop), (4, &Some(Stop::Limit(RunLimit::Calls))), "{calls:?}");
    assert!(
        calls.read == 300 && calls.answer.parse::<usize>().is_ok_and(|count| count == calls.cited.len() && count > 50),
        "{calls:?}"
    );
    let tokens = limited(RunLimits { tokens: 20_000, ..whole });
    assert_eq!(tokens.stop, Some(Stop::Limit(RunLimit::Tokens)));
    assert!(tokens.spent.input + tokens.spent.output <= 20_000, "{tokens:?}");
    let money = limited(RunLimits { cost_micro: 60_000, ..whole });
    assert_eq!(money.stop, Some(Stop::Limit(RunLimit::Money)));
    assert!(money.spent.cost_micro <= 60_000, "{money:?}");
    let none = limited(RunLimits { milliseconds: 0, ..whole });
    assert_eq!((none.spent.calls, &none.stop), (0, &Some(Stop::Limit(RunLimit::Time))), "{none:?}");
    for answer in [calls, tokens, money] {
        is_sound(&memory, &answer);
    }
    let preview = limited(RunLimits { calls: 0, ..whole });
    assert_eq!((preview.stop, preview.bound.calls, preview.run), (Some(Stop::Preview), 11, None), "only what it would take");
}

/// A reader that takes longer than anybody waits.
struct Slow;

impl Rules for Slow {
    fn plan(&self, asked: &Value) -> Value {
        Short.plan(asked)
    }
    fn read(&self, condition: &str, piece: &Value) -> Option<(String, String)> {
        Short.read(condition, piece)
    }
    fn send(&self, answer: &mut Value) -> bool {
        if answer.get("matches").is_some() {
            std::thread::sleep(Duration::from_secs(4));
        }
        true
    }
}

#[test]
fn a_call_that_is_made_when_the_time_is_over_is_given_up_and_counted() {
    let (memory, _) = ledger_of_questions(60);
    let request = request("how many ask for a place?", Some(ReadingStrategy::Planned));
    let limits = RunLimits { milliseconds: 1_500, ..request.limits };
    let answer = asked(&memory, &model_of(Slow), &DeepRequest { limits, ..request });
    assert_eq!((&answer.stop, answer.answer.as_str()), (&Some(Stop::Limit(RunLimit::Time)), ""), "{answer:?}");
    assert_eq!(answer.spent.calls, 2, "the plan, and the reader that was given up: {answer:?}");
    is_sound(&memory, &answer);
}

/// A model that looks around for ever.
struct Endless;

impl Rules for Endless {
    fn read(&self, condition: &str, piece: &Value) -> Option<(String, String)> {
        Lines { operation: "count" }.read(condition, piece)
    }
    fn act(&self, turn: usize, _: &str) -> Value {
        let action = if turn == 2 { "sub_query" } else { "peek" };
        let text = if turn == 2 { "it asks for a place" } else { "" };
        json!({"action": action, "variable": "context", "name": "", "text": text, "label": "", "from": turn, "to": turn + 1, "evidence": []})
    }
}

#[test]
fn turns_end_with_the_best_that_was_found() {
    let (memory, lines) = ledger_of_questions(60);
    let expected = lines.iter().filter(|line| kind_of(line) == "place").count();
    let request = DeepRequest { turns: 4, ..request("what is asked?", Some(ReadingStrategy::Iterative)) };
    let answer = asked(&memory, &model_of(Endless), &request);
    assert_eq!((answer.stop.clone(), answer.cited.len()), (Some(Stop::Turns), expected), "{answer:?}");
    assert_eq!(answer.spent.calls, 4 + 1, "four turns, and one reader");
    is_sound(&memory, &answer);
}

/// A model that takes one given action after the other, and writes down what each turn shows.
struct Scripted {
    actions: Vec<Value>,
    shown: Arc<Mutex<Vec<String>>>,
    readers: Arc<AtomicUsize>,
}

impl Rules for Scripted {
    fn read(&self, condition: &str, piece: &Value) -> Option<(String, String)> {
        Lines { operation: "count" }.read(condition, piece)
    }
    fn act(&self, turn: usize, shown: &str) -> Value {
        self.shown.lock().unwrap().push(shown.to_owned());
        self.actions[turn - 1].clone()
    }
    fn send(&self, answer: &mut Value) -> bool {
        self.readers.fetch_add(usize::from(answer.get("matches").is_some()), Ordering::Relaxed);
        true
    }
}

fn action(action: &str, fields: &Value) -> Value {
    let mut whole =
        json!({"action": action, "variable": "", "name": "", "text": "", "label": "", "from": 0, "to": 0, "evidence": []});
    whole.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    whole
}

#[test]
fn each_action_shows_what_it_gave_and_a_mistake_is_answered_in_words() {
    let (memory, lines) = ledger_of_questions(40);
    let places = lines.iter().filter(|line| kind_of(line) == "place").count();
    let with = |text: &str| lines.iter().filter(|line| line.to_lowercase().contains(text)).count();
    let quote = lines[0].split(" || ").nth(2).unwrap();
    let both = lines.iter().filter(|line| line.contains("Where is") && line.contains("user3")).count();
    let in_part = lines[30..].iter().filter(|line| kind_of(line) == "place").count();
    let script: Vec<(Value, String)> = vec![
        (action("answer", &json!({"text": "17"})), "Error: nothing was read yet.".to_owned()),
        (action("peek", &json!({})), "\"piece\":2,".to_owned()),
        (action("peek", &json!({"variable": "nothing"})), "Error: there is no variable \"nothing\". ".to_owned()),
        (action("filter", &json!({"text": "WHERE IS"})), format!("filtered: {} pieces. The first:", with("where is"))),
        (
            action("filter", &json!({"variable": "filtered", "text": "user3", "name": "of three"})),
            format!("ofthree: {both} pieces. The first:"),
        ),
        (
            action("chunk", &json!({"variable": "filtered", "to": 5, "name": "of filtered"})),
            "offiltered_0: 5 pieces, ".to_owned(),
        ),
        (action("filter", &json!({"text": "("})), "Error: the pattern: ".to_owned()),
        (action("chunk", &json!({"to": 15, "name": "part"})), "part_2: 10 pieces, ".to_owned()),
        (action("store", &json!({"text": "0123456789", "name": "digits"})), "Stored as digits.".to_owned()),
        (action("peek", &json!({"variable": "digits", "from": 2, "to": 5})), "234".to_owned()),
        (action("chunk", &json!({"variable": "digits", "to": 4, "from": 4})), "Error: ".to_owned()),
        (action("chunk", &json!({"variable": "digits", "to": 4, "from": 1})), "chunk_2: 4 bytes".to_owned()),
        (action("sub_query", &json!({"text": "it asks for a place"})), format!("found: {places} pieces count, 0 were not read.")),
        (action("sub_query", &json!({"text": "it asks for a place"})), format!("found: {places} pieces count, 0 were not read.")),
        (
            action("sub_query", &json!({"variable": "part_2", "text": "it asks for a place"})),
            format!("found: {in_part} pieces count, 0 were not read."),
        ),
        (action("sub_query", &json!({"text": "it asks for a person"})), "found: 0 pieces count".to_owned()),
        (
            action("sub_query", &json!({"variable": "nothing", "text": "x"})),
            "Error: there is no variable \"nothing\".".to_owned(),
        ),
        (action("sub_query", &json!({"variable": "digits", "text": "x"})), "Error: digits is a text, not pieces.".to_owned()),
        (action("answer", &json!({"text": "I will count them next."})), "Error: that is a plan, not an answer.".to_owned()),
        (
            action("answer", &json!({"text": "17", "evidence": [{"piece": 0, "quote": "never said"}]})),
            "Error: none of the quotes".to_owned(),
        ),
        (action("dance", &json!({})), "Error: there is no action \"dance\"".to_owned()),
        // What sounds like a plan is refused once.
        (action("answer", &json!({"text": "I will keep it.", "evidence": [{"piece": 0, "quote": quote}]})), String::new()),
    ];
    let (shown, readers) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let actions = script.iter().map(|(action, _)| action.clone()).collect();
    let model = model_of(Scripted { actions, shown: Arc::clone(&shown), readers: Arc::clone(&readers) });
    let request = request("what is asked?", Some(ReadingStrategy::Iterative));
    // More calls than a model of this family is given.
    let request = DeepRequest { turns: 24, limits: RunLimits { calls: 500, ..request.limits }, ..request };
    let answer = asked(&memory, &model, &request);
    assert_eq!((answer.answer.as_str(), &answer.stop, answer.cited.len()), ("I will keep it.", &None, 1), "{answer:?}");
    let log = memory.data().join(RUNS).join(format!("{}.run.jsonl", answer.run.as_ref().unwrap()));
    let log = std::fs::read_to_string(log).unwrap();
    let of_lines = lines.iter().filter(|line| log.contains(line.split(" || ").nth(2).unwrap())).count();
    assert!(of_lines <= places, "it holds what readers and the model quoted, and nothing that was only shown: {of_lines}");
    let shown = shown.lock().unwrap();
    assert_eq!(shown.len(), script.len(), "one call a turn");
    let first = &shown[0];
    assert!(first.contains("- context: 40 pieces, ") && first.contains("Turn 1 of 24. Left: 100 calls, "), "{first}");
    for (at, (action, told)) in script.iter().enumerate().take(script.len() - 1) {
        // What the next turn is shown beyond what this one was.
        let new = &shown[at + 1][shown[at].len()..];
        assert!(new.contains(told), "{action} should show {told:?}: {new}");
    }
    assert!(shown[1].len() < 21_000 + first.len());
    assert!(!shown[2].contains("\"piece\":3,"), "a peek without an end shows three pieces");
    assert_eq!(readers.load(Ordering::Relaxed), 3, "nobody is asked the same twice");
    is_sound(&memory, &answer);
}

#[test]
fn peek_shows_a_long_piece_however_its_words_are_escaped_and_says_how_many_do_not_fit() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(3);
    let quoted = |word: &str| format!("{}\n", format!("\"{word}\\\"\t").repeat(9)).repeat(190);
    for word in ["harbor", "gauges", "tables"] {
        session.human(&quoted(word));
    }
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    let script = vec![
        action("peek", &json!({"from": 0, "to": 1})),
        action("peek", &json!({"from": 0, "to": 900})),
        action("store", &json!({"text": "tide ".repeat(300), "name": "long"})),
        action("peek", &json!({"variable": "long"})),
        action("peek", &json!({"variable": "long", "from": usize::MAX - 3})),
        action("answer", &json!({"text": "x"})),
    ];
    let shown = Arc::new(Mutex::new(Vec::new()));
    let model = model_of(Scripted { actions: script, shown: Arc::clone(&shown), readers: Arc::default() });
    let limits = RunLimits { calls: 50, ..RunLimits::default() };
    let wanted = DeepRequest { turns: 6, limits, ..request("what?", Some(ReadingStrategy::Iterative)) };
    let _ = asked(&memory, &model, &wanted);
    let shown = shown.lock().unwrap();
    let new = |turn: usize| &shown[turn][shown[turn - 1].len()..];
    assert!(new(1).contains("\"piece\":0,") && new(1).contains("harbor"), "{}", new(1));
    assert!(new(1).len() < 22_000, "{} bytes", new(1).len());
    assert!(new(2).contains("\"piece\":1,"), "{}", new(2));
    assert_eq!(new(4).matches("tide").count(), 200, "the first 1,000 characters");
}

/// A model that says something else before each of its actions.
struct Stammering(AtomicUsize);

impl Rules for Stammering {
    fn read(&self, _: &str, _: &Value) -> Option<(String, String)> {
        None
    }
    fn act(&self, _: usize, shown: &str) -> Value {
        match self.0.fetch_add(1, Ordering::Relaxed) {
            _ if !shown.contains("what is the magic number?") => json!("what was asked?"),
            call if call % 2 == 0 => json!("let me think about that"),
            1 => action("filter", &json!({"text": "magic number"})),
            _ => Needles.act(2, shown),
        }
    }
}

#[test]
fn what_is_no_action_is_asked_for_again_and_never_taken_for_the_answer() {
    let memory = haystack(1 << 13);
    let model = model_of(Stammering(AtomicUsize::new(0)));
    let answer = asked(&memory, &model, &request("what is the magic number?", Some(ReadingStrategy::Iterative)));
    assert!(answer.answer.starts_with("417") && answer.stop.is_none(), "{answer:?}");
    assert_eq!((answer.spent.calls, answer.cited.len()), (4, 1));
    is_sound(&memory, &answer);
}

/// Readers that take a while and count how many are asked at once; the answers of those that are asked about piece 150 are cut off.
struct Crowd {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Rules for Crowd {
    fn plan(&self, asked: &Value) -> Value {
        Short.plan(asked)
    }
    fn read(&self, condition: &str, piece: &Value) -> Option<(String, String)> {
        if piece["piece"] == 150 {
            return Some((CUT.to_owned(), String::new()));
        }
        Short.read(condition, piece)
    }
    fn send(&self, answer: &mut Value) -> bool {
        if answer.get("matches").is_some() {
            self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // The first ones wait for five, however slow the computer is, and a moment longer for a sixth.
            let began = Instant::now();
            while self.most.load(Ordering::SeqCst) < 5 && began.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(10));
            }
            std::thread::sleep(Duration::from_millis(100));
            self.now.fetch_sub(1, Ordering::SeqCst);
        }
        !answer.to_string().contains(CUT)
    }
}

/// Label of what has a reader's answer cut off.
const CUT: &str = "cut off here";

#[test]
fn five_readers_are_asked_at_once_and_one_that_fails_loses_only_its_own_pieces() {
    let (memory, lines) = ledger_of_questions(900);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let model = model_of(Crowd { now, most: Arc::clone(&most) });
    let answer = asked(&memory, &model, &request("how many ask for a place?", Some(ReadingStrategy::Planned)));
    assert_eq!(most.load(Ordering::SeqCst), 5);
    assert!(matches!(&answer.stop, Some(Stop::Failed(why)) if why.contains("cut off")), "{:?}", answer.stop);
    let unread = answer.pieces - answer.read;
    assert!((1..=30).contains(&unread), "a quarter of a batch: {unread}");
    let read: Vec<u64> =
        answer.cited.iter().map(|cited| cited.quote.rsplit(' ').next().unwrap().trim_end_matches('?').parse().unwrap()).collect();
    assert!(read.is_sorted(), "in the order of the pieces, whoever answered first");
    let places = lines.iter().filter(|line| kind_of(line) == "place").count();
    assert!(read.len() < places && read.len() > places - 100, "{} of {places}", read.len());
}

/// A model that does whatever a piece says, and takes the words of pieces for those of others.
struct Gullible;

impl Rules for Gullible {
    fn plan(&self, asked: &Value) -> Value {
        let planted = asked.to_string().contains("operation");
        json!({"operation": if planted { "answer" } else { "list" }, "condition": "it says how many", "label": "the number", "keywords": []})
    }
    fn read(&self, _: &str, piece: &Value) -> Option<(String, String)> {
        let words = piece["words"].as_str().unwrap();
        let quote = match piece["piece"].as_u64().unwrap() % 3 {
            0 => words.chars().take(60).collect(),
            1 => "the answer is 42, as all sessions say".to_owned(),
            _ => words.to_uppercase().chars().rev().take(30).collect(),
        };
        Some((words.chars().take(500).collect(), quote))
    }
    fn act(&self, turn: usize, shown: &str) -> Value {
        let evidence = json!([{"piece": turn, "quote": "the answer is 42"}, {"piece": 9_999_999, "quote": shown.chars().take(20).collect::<String>()}]);
        let action = if turn == 1 { "peek" } else { "answer" };
        json!({"action": action, "variable": "context", "name": "context", "text": "42", "label": "", "from": 0, "to": 60, "evidence": evidence})
    }
}

#[test]
fn hostile_pieces_raise_no_limit_and_are_evidence_of_nothing_else() {
    let hostile: Vec<Value> = include_str!("../../../testing/fixtures/recursion/hostile.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(hostile.len(), 60);
    let memory = Memory::new();
    let mut session = SessionBuilder::new(3);
    for piece in &hostile {
        session.human(piece["text"].as_str().unwrap());
        session.assistant("noted");
    }
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    let model = model_of(Gullible);
    for strategy in [ReadingStrategy::Direct, ReadingStrategy::Planned, ReadingStrategy::Iterative] {
        let request = DeepRequest { turns: 6, ..request("how many regressions were there?", Some(strategy)) };
        let answer = asked(&memory, &model, &request);
        assert!(answer.spent.calls <= 10, "{answer:?}");
        assert!(answer.refused > 0, "invented quotes are counted: {answer:?}");
        is_sound(&memory, &answer);
        if strategy == ReadingStrategy::Iterative {
            assert_eq!((answer.stop, answer.answer.as_str()), (Some(Stop::NoEvidence), ""), "an answer without evidence is none");
        }
        let log = std::fs::read_to_string(memory.data().join(RUNS).join(format!("{}.run.jsonl", answer.run.unwrap()))).unwrap();
        let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((events[0]["event"].as_str(), events.last().unwrap()["event"].as_str()), (Some("begun"), Some("ended")));
    }
}

#[test]
fn runs_are_listed_and_shown_and_forgotten_with_what_they_quote() {
    let memory = haystack(1 << 13);
    let answer = asked(&memory, &model_of(Needles), &request("what is the magic number?", Some(ReadingStrategy::Planned)));
    let run = answer.run.clone().unwrap();
    assert_eq!(trajectories(&memory.data()).unwrap().len(), 1);
    let shown = Trajectory::read(&memory.data(), &run[..6]).unwrap();
    assert_eq!((shown.question(), shown.answer()), ("what is the magic number?", Some(answer.clone())));
    let calls = shown.shown().iter().filter(|line| matches!(line, ShownLine::Call(_, Ok(_)))).count();
    assert_eq!(calls as u64, answer.spent.calls);
    assert!(matches!(memory.engine().replay_run("zz", None), Err(EngineError::UnknownRun(_))));
    let log = std::fs::read_to_string(memory.data().join(RUNS).join(format!("{run}.run.jsonl"))).unwrap();
    assert!(log.len() < 10_000 && log.contains("The magic number of tidepool"), "it holds what was quoted, and no piece");

    let mut more = SessionBuilder::new(99);
    more.human("The magic number of tidepool is 8. Really.");
    memory.write("projects/p/b.jsonl", more.text());
    memory.learn();
    assert_eq!(memory.engine().replay_run(&run, None).unwrap(), answer, "what came later is not read");
    let session = memory.episodes().iter().find(|episode| episode.native_id != more.id()).unwrap().native_id.clone();
    memory.forget_hard(&session);
    assert_eq!(trajectories(&memory.data()).unwrap(), []);
}

#[test]
fn pieces_are_those_of_the_sessions_times_and_words_that_are_asked_for() {
    let memory = Memory::new();
    for (seed, word) in [(1, "lantern"), (2, "buoy")] {
        let mut session = SessionBuilder::new(seed).with_id(&format!("71de0001-0000-4000-8000-00000000000{seed}"));
        session.human(&format!("Where is the {word}?"));
        session.tool("Bash", &json!({"command": "ls"}), &format!("drawer with a {word}"), false);
        session.tool("Edit", &json!({"file_path": format!("/home/dev/p/src/{word}.rs")}), "done", false);
        memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
    }
    memory.learn();
    let model = model_of(Needles);
    let read = |pieces: PiecesRequest| {
        let none = RunLimits { calls: 0, ..RunLimits::default() };
        let answer = asked(&memory, &model, &DeepRequest { pieces, limits: none, ..DeepRequest::new("where?") });
        (answer.pieces, answer.sessions)
    };
    assert_eq!(read(PiecesRequest::default()), (2, 2));
    assert_eq!(read(PiecesRequest { matching: Some("lantern".to_owned()), ..PiecesRequest::default() }), (1, 1));
    assert_eq!(
        read(PiecesRequest { sessions: vec!["71de0001-0000-4000-8000-000000000002".to_owned()], ..PiecesRequest::default() }),
        (1, 1)
    );
    assert!(read(PiecesRequest { with_tools: true, ..PiecesRequest::default() }).0 > 6);
    assert_eq!(read(PiecesRequest { files: vec!["src/buoy.rs".to_owned()], ..PiecesRequest::default() }), (1, 1));
    assert_eq!(read(PiecesRequest { found_for: Some("lantern".to_owned()), ..PiecesRequest::default() }), (1, 1));
    let noted = NewMemory::new(MemoryKind::Fact, "We keep the lanterns in the boathouse.");
    let by = Cause { actor: Actor::Person, by: "test".to_owned(), input: None };
    memory.engine().add_memory(&noted, &by).unwrap();
    let of_memories = PiecesRequest { of_memories: true, ..PiecesRequest::default() };
    assert_eq!(read(of_memories.clone()), (1, 0));
    assert_eq!(read(PiecesRequest { category: Some("general".to_owned()), ..of_memories.clone() }).0, 1);
    let unknown =
        DeepRequest { pieces: PiecesRequest { category: Some("nope".to_owned()), ..of_memories }, ..request("x", None) };
    let mut choose = |_: Option<&str>| Ok(None);
    let by = ModelAccess { choose: &mut choose, books: None, is_stopped: &STOPPED };
    assert!(matches!(memory.engine().read_deeply(&unknown, by, &mut |_| {}), Err(EngineError::UnknownId(_))));
    assert_eq!(read(PiecesRequest { since: Some(i64::MAX), ..PiecesRequest::default() }), (0, 0));
    let unknown = DeepRequest {
        pieces: PiecesRequest { sessions: vec!["nope".to_owned()], ..PiecesRequest::default() },
        ..request("x", None)
    };
    let mut choose = |_: Option<&str>| Ok(None);
    let by = ModelAccess { choose: &mut choose, books: None, is_stopped: &STOPPED };
    assert!(matches!(memory.engine().read_deeply(&unknown, by, &mut |_| {}), Err(EngineError::UnknownSession(_))));
}
