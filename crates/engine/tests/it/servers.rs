//! Models on servers: vectors of texts, relevance of passages; over HTTP on this computer.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yore_core::query::{MissingCode, Part, Rerank, SearchMode};
use yore_engine::llm::wire::{Additions, Protocol, RelevanceProtocol, VectorProtocol};
use yore_engine::llm::{Backoff, Class, Connection, LlmError, Model, Prompt, ServerEmbedder, ServerReranker, Tier, Way};
use yore_engine::{DailyLimits, EngineError, ExtractRequest, Finding, ModelAccess, ModelServers, Price, Terms};
use yore_testing::{Memory, SessionBuilder, TurnOf, listening, listening_raw, write_answer};

use crate::vectors::{CARS, write_cars};

static GOING: AtomicBool = AtomicBool::new(false);
const KEY: &str = "sk-tide-secret";
const PLAIN: VectorProtocol = VectorProtocol::OpenAi(Additions { dimensions: Some("dimensions"), purpose: None });

fn terms(tokens: u64) -> Terms {
    Terms { purpose: "embed".to_owned(), limits: DailyLimits { tokens, ..DailyLimits::default() }, ..Terms::default() }
}

fn connection(address: &str) -> Connection {
    Connection::new("harbour", address, Arc::new(|| Ok(Some(KEY.to_owned()))), Duration::from_secs(20))
}

fn prompt() -> Prompt {
    Prompt { system: "Be brief.".to_owned(), user: "Where?".to_owned(), max_tokens: 100, ..Prompt::default() }
}

fn model(protocol: Protocol, address: &str) -> Model {
    let way = Way::Http { connection: connection(address), protocol, tiers: &Tier::ALL };
    Model::new("harbour/m-1", way, Backoff { tries: 1, sleep: |_| () })
}

#[test]
fn a_running_call_is_given_up_at_once_when_models_are_switched_off() {
    let memory = Memory::new();
    let address = listening(|_, _, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
        std::thread::sleep(Duration::from_secs(8));
    });
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            memory.engine().switch_models(true).unwrap();
        });
        let ledger = memory.engine().accounts(terms(1_000_000), &GOING);
        let error = model(Protocol::OpenAiChat, &address).complete(&prompt(), None, &ledger).unwrap_err();
        assert_eq!(error.class(), Class::Budget, "{error}");
    });
    assert!(began.elapsed() < Duration::from_secs(5));
    let spent = memory.engine().spent_on(memory.engine().day(0)).unwrap();
    assert!(spent.failed == 1 && spent.output >= 100, "what it may have taken is booked: {spent:?}");
}

fn with_cars() -> Memory {
    let memory = Memory::new();
    write_cars(&memory);
    memory.learn();
    memory
}

/// The vector of a text: what it has to do with cars, with wind, and with neither.
fn vector(text: &str) -> Vec<f32> {
    let has = |words: &[&str]| f32::from(u8::from(words.iter().any(|word| text.contains(word))));
    vec![3.0 * has(&["automobile", "chariot"]), 2.0 * has(&["wind"]), 0.5]
}

/// A server that gives vectors, takes so many tokens for a text, refuses texts with `refused`, and notes how many texts each call had.
fn embedding_server(refused: &'static str, tokens: usize) -> (String, Arc<Mutex<Vec<usize>>>) {
    let calls: Arc<Mutex<Vec<usize>>> = Arc::default();
    let noted = Arc::clone(&calls);
    let address = listening(move |head, body, stream| {
        let texts: Vec<&str> = body["input"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        noted.lock().unwrap().push(texts.len());
        if !head.starts_with("POST /embeddings ") || !head.to_ascii_lowercase().contains("authorization: bearer sk-tide-secret") {
            return write_answer(stream, "401 Unauthorized", "", "{}");
        }
        if texts.iter().any(|text| text.contains(refused)) {
            return write_answer(stream, "400 Bad Request", "", "{\"error\": {\"message\": \"too long\"}}");
        }
        let data: Vec<Value> =
            texts.iter().enumerate().map(|(index, text)| json!({"index": index, "embedding": vector(text)})).rev().collect();
        write_answer(stream, "200 OK", "", &json!({"data": data, "usage": {"prompt_tokens": tokens * texts.len()}}).to_string());
    });
    (address, calls)
}

fn embedder(address: &str) -> Arc<ServerEmbedder> {
    Arc::new(ServerEmbedder::new("m-1", PLAIN, 100, None, connection(address)))
}

fn with_embedder(memory: &mut Memory, address: &str, tokens: u64) {
    memory.open_with_servers(ModelServers { embedder: Some((embedder(address), terms(tokens))), reranker: None });
}

/// Returns the number of turns that have no vector, and the reason of the last.
fn failures(memory: &Memory) -> (u64, String) {
    let findings = memory.engine().examine(None).unwrap();
    let failed = findings.into_iter().find_map(|finding| match finding {
        Finding::EmbedFailed { turns, error } => Some((turns, error)),
        _ => None,
    });
    failed.unwrap_or_default()
}

#[test]
fn turns_get_their_vectors_from_a_server_and_a_question_finds_them_by_meaning() {
    let mut memory = with_cars();
    let (address, calls) = embedding_server("no such text", 50);
    with_embedder(&mut memory, &address, 100_000);
    let engine = memory.engine();
    let report = engine.embed(None, false, &mut |_| true).unwrap();
    assert_eq!((report.turns, report.embedded, report.waiting, report.failed), (4, 4, 0, 0), "{report:?}");
    assert_eq!(*calls.lock().unwrap(), [1, 4], "the dimensions are asked for, then all texts at once");
    let again = engine.embed(None, false, &mut |_| true).unwrap();
    assert_eq!((again.embedded, calls.lock().unwrap().len()), (0, 2), "nothing is paid twice");
    let answer = memory.ask_with("the chariot", |request| request.mode = SearchMode::Full);
    assert!(answer.missing.is_empty(), "{:?}", answer.missing);
    // The turn after it is embedded together with its end.
    assert!(answer.hits.iter().take(2).any(|hit| hit.turn().text == CARS), "{:?}", answer.hits);
    assert!(engine.model_identity().unwrap().0.contains("server harbour/m-1"));
    let spent = engine.spent_on(engine.day(0)).unwrap();
    assert_eq!((spent.calls, spent.input, spent.output), (3, 50 * (1 + 4 + 1), 0));
    assert_eq!(engine.ledger(engine.day(0)).unwrap()[0].purpose, "embed");
}

#[test]
fn a_text_that_a_server_refuses_holds_up_no_other_and_is_tried_again() {
    let mut memory = with_cars();
    let (address, _) = embedding_server("wholesaler", 5);
    with_embedder(&mut memory, &address, 100_000);
    let report = memory.engine().embed(None, false, &mut |_| true).unwrap();
    // The question after it is embedded together with its end.
    assert_eq!((report.failed, report.waiting), (2, 0), "{report:?}");
    assert_eq!(report.embedded, 2);
    let (turns, error) = failures(&memory);
    assert!(turns == 2 && error.contains("harbour/m-1: too long"), "{turns} {error}");
    let (address, _) = embedding_server("no such text", 5);
    with_embedder(&mut memory, &address, 100_000);
    let report = memory.engine().embed(None, false, &mut |_| true).unwrap();
    assert_eq!((report.embedded, report.failed, report.waiting), (2, 0, 0), "{report:?}");
}

#[test]
fn without_a_limit_nobody_is_asked_for_vectors_and_a_question_is_answered_without() {
    let mut memory = with_cars();
    let (address, calls) = embedding_server("no such text", 5);
    with_embedder(&mut memory, &address, 0);
    let error = memory.engine().embed(None, false, &mut |_| true).unwrap_err();
    assert!(matches!(&error, EngineError::Llm(error) if error.class() == Class::Budget), "{error}");
    assert!(calls.lock().unwrap().is_empty());
    with_embedder(&mut memory, &address, 100_000);
    let _ = memory.engine().embed(None, false, &mut |_| true).unwrap();
    with_embedder(&mut memory, &address, 0);
    let count = calls.lock().unwrap().len();
    let answer = memory.ask_with("automobile", |request| request.mode = SearchMode::Full);
    assert_eq!(answer.missing.iter().map(|missing| missing.code).collect::<Vec<_>>(), [MissingCode::Model]);
    assert!(answer.missing[0].text.contains("0 tokens a day"), "{:?}", answer.missing);
    assert_eq!((answer.hits[0].turn().text.as_str(), calls.lock().unwrap().len()), (CARS, count));
}

#[test]
fn a_limit_that_is_reached_ends_embedding_and_the_next_run_goes_on() {
    let mut memory = Memory::new();
    for seed in 1..=3 {
        memory.write(&format!("projects/p/{seed}.jsonl"), SessionBuilder::new(seed).turns(300).text());
    }
    memory.learn();
    let (address, _) = embedding_server("no such text", 50);
    with_embedder(&mut memory, &address, 16_000);
    let error = memory.engine().embed(None, false, &mut |_| true).unwrap_err();
    assert!(error.to_string().contains("tokens a day"), "{error}");
    let left = memory.engine().unembedded().unwrap();
    assert!(left > 0 && memory.statistics().vectors.vectors > 0, "{left}");
    with_embedder(&mut memory, &address, 1_000_000);
    assert_eq!(memory.engine().embed(None, false, &mut |_| true).unwrap().waiting, 0);
}

#[test]
fn a_vector_of_another_length_than_the_first_is_refused() {
    let mut memory = with_cars();
    let count = AtomicUsize::new(0);
    let address = listening(move |_, body, stream| {
        let texts = body["input"].as_array().map_or(0, Vec::len);
        let length = if count.fetch_add(1, Ordering::Relaxed) == 0 { 3 } else { 4 };
        let data: Vec<Value> = (0..texts).map(|_| json!({"embedding": vec![1.0; length]})).collect();
        write_answer(stream, "200 OK", "", &json!({"data": data}).to_string());
    });
    with_embedder(&mut memory, &address, 100_000);
    let report = memory.engine().embed(None, false, &mut |_| true).unwrap();
    assert_eq!((report.embedded, report.failed), (0, 4));
    let (_, error) = failures(&memory);
    assert!(error.contains("4 dimensions, expected 3"), "{error}");
}

#[test]
fn passages_are_ranked_by_a_server_and_its_failure_is_named() {
    let mut memory = with_cars();
    let (address, _) = embedding_server("no such text", 5);
    let judged: Arc<Mutex<Vec<usize>>> = Arc::default();
    let noted = Arc::clone(&judged);
    let judge = listening(move |head, body, stream| {
        let passages: Vec<&str> = body["documents"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        noted.lock().unwrap().push(passages.len());
        if !head.starts_with("POST /rerank ")
            || body["query"] != "Where does the wholesaler of the harbour keep the paper towels?"
        {
            return write_answer(stream, "400 Bad Request", "", "{}");
        }
        let score = |text: &str| if text.contains("automobile") { 0.99 } else { 0.001 };
        let results: Vec<Value> =
            passages.iter().enumerate().map(|(index, text)| json!({"index": index, "relevance_score": score(text)})).collect();
        write_answer(stream, "200 OK", "", &json!({"results": results, "usage": {"total_tokens": 700}}).to_string());
    });
    let reranker = Arc::new(ServerReranker::new("r-1", RelevanceProtocol::Jina, connection(&judge)));
    let servers = |tokens: u64| ModelServers {
        embedder: Some((embedder(&address), terms(100_000))),
        reranker: Some((Arc::clone(&reranker), Terms { purpose: "rerank".to_owned(), ..terms(tokens) })),
    };
    memory.open_with_servers(servers(100_000));
    let _ = memory.engine().embed(None, false, &mut |_| true).unwrap();
    let question = "Where does the wholesaler of the harbour keep the paper towels?";
    let ask = |memory: &Memory| {
        memory.ask_with(question, |request| {
            request.mode = SearchMode::Full;
            request.rerank = Rerank::Always;
        })
    };
    let answer = ask(&memory);
    assert!(answer.missing.is_empty(), "{:?}", answer.missing);
    for hit in &answer.hits {
        let value = hit.parts.iter().find(|part| part.part == Part::Rerank).map_or(0.0, |part| part.value);
        assert_eq!(value > 3.5, hit.turn().text == CARS, "{} {value}", hit.turn().text);
    }
    assert_eq!(judged.lock().unwrap().len(), 1, "all passages in one call");
    let rows = memory.engine().ledger(memory.engine().day(0)).unwrap();
    assert!(rows.iter().any(|row| row.purpose == "rerank" && row.spent.input == 700), "{rows:?}");
    memory.open_with_servers(servers(0));
    let answer = ask(&memory);
    assert!(answer.hits.iter().all(|hit| hit.parts.iter().all(|part| part.part != Part::Rerank)));
    assert!(answer.missing.iter().any(|missing| missing.code == MissingCode::Reranker), "{:?}", answer.missing);
    assert_eq!(judged.lock().unwrap().len(), 1);
}

#[test]
fn a_question_with_a_deadline_waits_no_longer_for_a_server_and_says_nothing_of_its_health() {
    let mut memory = with_cars();
    let (address, _) = embedding_server("no such text", 5);
    with_embedder(&mut memory, &address, 100_000);
    let _ = memory.engine().embed(None, false, &mut |_| true).unwrap();
    let is_slow = Arc::new(AtomicBool::new(true));
    let slow = Arc::clone(&is_slow);
    let address = listening(move |_, body, stream| {
        if slow.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_secs(2));
        }
        let vector = vector(body["input"][0].as_str().unwrap());
        write_answer(stream, "200 OK", "", &json!({"data": [{"index": 0, "embedding": vector}]}).to_string());
    });
    with_embedder(&mut memory, &address, 100_000);
    let ask = |deadline: Option<Duration>| {
        memory.ask_with("automobile", |request| {
            request.mode = SearchMode::Full;
            request.deadline = deadline;
        })
    };
    for _ in 0..3 {
        let began = Instant::now();
        let answer = ask(Some(Duration::from_millis(600)));
        assert!(began.elapsed() < Duration::from_millis(1_500), "{:?}", began.elapsed());
        assert_eq!(answer.hits[0].turn().text, CARS, "found by its words");
        let told = answer.missing.iter().find(|missing| missing.code == MissingCode::Model).unwrap();
        assert!(told.text.contains("harbour: no answer within"), "{told:?}");
    }
    let hurried = ask(Some(Duration::from_millis(600)));
    assert!(hurried.missing.iter().any(|missing| missing.text.contains("not asked for")), "{:?}", hurried.missing);
    is_slow.store(false, Ordering::Relaxed);
    assert!(ask(None).missing.is_empty(), "the server is not left alone for being asked in a hurry");
}

/// Runs an extraction whose requests are sent as batches: what was taken, what was recorded, how many were sent.
fn batched(memory: &Memory, protocol: Protocol, address: &str, folder: &Path, tokens: u64) -> Result<(u64, u64, u64), LlmError> {
    let engine = memory.engine();
    let terms = Terms { price: Some(Price { input: 2.0, output: 4.0 }), ..terms(tokens) };
    let limits = DailyLimits { cost_micro: 10_000_000, ..terms.limits };
    let terms = Terms { purpose: "extract".to_owned(), limits, ..terms }.in_batches();
    let (model, batches) = model(protocol, address).in_batches(folder.to_path_buf()).unwrap();
    let accounts = engine.accounts(terms.clone(), &GOING);
    let collected = batches.collect(&accounts)?;
    let model = Arc::new(model);
    let mut choose = |_: Option<&str>| Ok(Some((Arc::clone(&model), terms.clone())));
    let by = ModelAccess { choose: &mut choose, books: None, is_stopped: &GOING };
    let report = engine.extract_by_model(by, &ExtractRequest::default(), &mut |_, _| true).unwrap();
    let (sent, ended) = batches.send(&accounts);
    ended.map(|()| (collected.answered, report.recorded, sent))
}

const FOUND: &str = "Berth leases live in SQLite, because Redis loses them on a restart.";

fn found() -> String {
    let item = json!({"ref": null, "kind": "decision", "statement": FOUND, "line": 1,
        "quote": "Redis loses them when the harbour box restarts", "entities": [], "confidence": 0.9, "closed": null});
    json!({"items": [item], "relations": [], "drop": [], "topic": {"name": "x", "summary": "y"}}).to_string()
}

fn with_order() -> Memory {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(1).cwd("/home/dev/quay");
    session.human("keep the berth leases in SQLite, Redis loses them when the harbour box restarts");
    session.assistant("Done.");
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    memory
}

#[test]
fn requests_that_nobody_waits_for_are_sent_as_a_batch_and_their_answers_taken_once() {
    for protocol in [Protocol::Anthropic, Protocol::OpenAiResponses, Protocol::Gemini] {
        let memory = with_order();
        let folder = tempfile::tempdir().unwrap();
        let sent: Arc<Mutex<Vec<String>>> = Arc::default();
        let is_ended = Arc::new(AtomicBool::new(false));
        let (noted, ended) = (Arc::clone(&sent), Arc::clone(&is_ended));
        let address = listening_raw(move |head, body, stream| {
            let line = head.lines().next().unwrap_or_default().to_owned();
            noted.lock().unwrap().push(format!("{line}\n{body}"));
            let ask = |body: &str| {
                let id = ["\"custom_id\":\"", "\"key\":\""].iter().find_map(|name| body.split(name).nth(1))?;
                Some(id.split('"').next().unwrap().to_owned())
            };
            let known = noted.lock().unwrap().iter().find_map(|text| ask(text)).unwrap_or_default();
            let (status, usage) = (ended.load(Ordering::Relaxed), json!({"input_tokens": 1_000, "output_tokens": 100}));
            let answer = match line.split(' ').take(2).collect::<Vec<_>>().join(" ").as_str() {
                "POST /v1/messages/batches" => json!({"id": "msgbatch_1", "processing_status": "in_progress"}).to_string(),
                "GET /v1/messages/batches/msgbatch_1" => {
                    json!({"id": "msgbatch_1", "processing_status": if status { "ended" } else { "in_progress" }}).to_string()
                }
                "GET /v1/messages/batches/msgbatch_1/results" => {
                    let message =
                        json!({"content": [{"type": "text", "text": found()}], "stop_reason": "end_turn", "usage": usage});
                    json!({"custom_id": known, "result": {"type": "succeeded", "message": message}}).to_string() + "\n"
                }
                "POST /files" => json!({"id": "file-1"}).to_string(),
                "POST /batches" => json!({"id": "batch_1", "status": "validating"}).to_string(),
                "GET /batches/batch_1" => {
                    let state = if status { "completed" } else { "in_progress" };
                    json!({"id": "batch_1", "status": state, "output_file_id": "file-2"}).to_string()
                }
                "GET /files/file-2/content" => {
                    let output = json!([{"type": "message", "content": [{"type": "output_text", "text": found()}]}]);
                    let response = json!({"status_code": 200, "body": {"output": output, "usage": usage}});
                    json!({"custom_id": known, "response": response, "error": null}).to_string() + "\n"
                }
                "POST /v1beta/models/m-1:batchGenerateContent" => {
                    json!({"name": "batches/b1", "metadata": {"state": "BATCH_STATE_PENDING"}}).to_string()
                }
                "GET /v1beta/batches/b1" if status => {
                    let usage = json!({"promptTokenCount": 1_000, "candidatesTokenCount": 100});
                    let response = json!({"candidates": [{"content": {"parts": [{"text": found()}]}}], "usageMetadata": usage});
                    let results = json!({"inlinedResponses": [{"response": response, "metadata": {"key": known}}]});
                    let state = json!({"state": "BATCH_STATE_SUCCEEDED"});
                    json!({"name": "batches/b1", "done": true, "metadata": state, "response": {"inlinedResponses": results}})
                        .to_string()
                }
                "GET /v1beta/batches/b1" => json!({"metadata": {"state": "BATCH_STATE_RUNNING"}}).to_string(),
                other => {
                    return write_answer(stream, "404 Not Found", "", &format!("{{\"error\": {{\"message\": \"{other}\"}}}}"));
                }
            };
            write_answer(stream, "200 OK", "content-type: application/json\r\n", &answer);
        });
        let run = || batched(&memory, protocol, &address, folder.path(), 1_000_000);
        assert_eq!(run().unwrap(), (0, 0, 1), "{protocol:?}");
        let reserved = memory.engine().spent_on(memory.engine().day(0)).unwrap();
        assert!(reserved.input > 8_000, "{reserved:?}");
        assert_eq!(run().unwrap(), (0, 0, 0), "what was sent is not sent again");
        is_ended.store(true, Ordering::Relaxed);
        assert_eq!(run().unwrap(), (1, 1, 0), "{protocol:?}");
        assert_eq!(run().unwrap(), (0, 0, 0));
        let spent = memory.engine().spent_on(memory.engine().day(0)).unwrap();
        assert_eq!((spent.calls, spent.input, spent.output), (1, 1_000, 100), "{protocol:?}");
        assert_eq!(spent.cost_micro, 1_200, "half of two and four dollars a million");
        assert_eq!(memory.engine().ledger(memory.engine().day(0)).unwrap()[0].purpose, "extract batch");
        let first =
            sent.lock().unwrap().iter().find(|text| text.contains("custom_id") || text.contains("\"key\"")).unwrap().clone();
        let has_schema = first.contains("json_schema") || first.contains("responseJsonSchema");
        assert!(first.contains("keep the berth leases in SQLite") && has_schema, "{first}");
        let count = sent.lock().unwrap().len();
        assert!(batched(&with_order(), protocol, &address, tempfile::tempdir().unwrap().path(), 0).is_err());
        assert_eq!(sent.lock().unwrap().len(), count, "without a limit nothing is sent");
    }
    let local = model(Protocol::Ollama, "http://127.0.0.1:9");
    assert!(local.in_batches("nowhere".into()).is_none());
}

#[test]
fn results_of_a_batch_that_name_no_request_are_taken_in_the_order_of_the_requests_if_none_is_missing() {
    // Each answer quotes the words of its own session, so that one for the other session would be refused.
    const WORDS: [&str; 2] = ["Redis loses them when the harbour box restarts", "the tide table comes from the north pier"];
    for (is_missing, recorded) in [(false, 2), (true, 0)] {
        let memory = with_order();
        let mut other = SessionBuilder::new(2).cwd("/home/dev/quay");
        other.human("remember that the tide table comes from the north pier");
        other.assistant("Done.");
        memory.write("projects/p/b.jsonl", other.text());
        memory.learn();
        let folder = tempfile::tempdir().unwrap();
        let order: Arc<Mutex<Vec<usize>>> = Arc::default();
        let address = listening_raw(move |head, body, stream| {
            let mut order = order.lock().unwrap();
            let answer = if head.starts_with("POST") {
                let mut places: Vec<(usize, usize)> = (0..2).map(|at| (body.find(WORDS[at]).unwrap(), at)).collect();
                places.sort_unstable();
                *order = places.into_iter().map(|(_, at)| at).collect();
                json!({"name": "batches/b1"})
            } else {
                let answer = |at: &usize| {
                    let text = found().replace(WORDS[0], WORDS[*at]).replace("SQLite", ["SQLite", "the harbour office"][*at]);
                    json!({"response": {"candidates": [{"content": {"parts": [{"text": text}]}}]}})
                };
                let answers: Vec<Value> = order.iter().skip(usize::from(is_missing)).map(answer).collect();
                let results = json!({"inlinedResponses": {"inlinedResponses": answers}});
                json!({"metadata": {"state": "JOB_STATE_SUCCEEDED", "output": results}})
            };
            write_answer(stream, "200 OK", "", &answer.to_string());
        });
        let run = || batched(&memory, Protocol::Gemini, &address, folder.path(), 1_000_000).unwrap();
        assert_eq!(run().2, 2);
        assert_eq!(run().1, recorded, "one is missing: {is_missing}");
    }
}

#[test]
fn a_batch_whose_answers_are_not_where_they_should_be_is_kept_and_one_that_was_disowned_is_booked_only() {
    let memory = with_order();
    let folder = tempfile::tempdir().unwrap();
    let is_there = Arc::new(AtomicBool::new(false));
    let there = Arc::clone(&is_there);
    let address = listening_raw(move |head, _, stream| {
        let answer = json!({"response": {"candidates": [{"content": {"parts": [{"text": found()}]}}]}});
        let answer = match (head.starts_with("POST"), there.load(Ordering::Relaxed)) {
            (true, _) => json!({"name": "batches/b1"}),
            (false, false) => json!({"metadata": {"state": "BATCH_STATE_SUCCEEDED"}, "done": true}),
            (false, true) => json!({"done": true, "response": {"inlinedResponses": {"inlinedResponses": [answer]}}}),
        };
        write_answer(stream, "200 OK", "", &answer.to_string());
    });
    let run = || batched(&memory, Protocol::Gemini, &address, folder.path(), 1_000_000).unwrap();
    assert_eq!(run(), (0, 0, 1));
    assert_eq!(run(), (0, 0, 0), "what is paid for is not sent again");
    let sent = folder.path().join("b1.batch.json");
    let text = std::fs::read_to_string(&sent).unwrap();
    std::fs::write(&sent, text.replace("\"is_unwanted\":false", "\"is_unwanted\":true")).unwrap();
    is_there.store(true, Ordering::Relaxed);
    assert_eq!(run(), (1, 0, 1), "nothing is taken from it, and the request is sent again");
}

#[test]
fn a_request_of_a_batch_that_failed_is_sent_again() {
    let memory = with_order();
    let folder = tempfile::tempdir().unwrap();
    let address = listening_raw(|head, _, stream| {
        let answer = match head.split(' ').take(2).collect::<Vec<_>>().join(" ").as_str() {
            "POST /v1/messages/batches" => "{\"id\": \"msgbatch_1\"}",
            "GET /v1/messages/batches/msgbatch_1" => "{\"processing_status\": \"ended\"}",
            _ => "{\"custom_id\": \"unknown\", \"result\": {\"type\": \"expired\"}}\nno line\n",
        };
        write_answer(stream, "200 OK", "", answer);
    });
    let run = || batched(&memory, Protocol::Anthropic, &address, folder.path(), 1_000_000).unwrap();
    assert_eq!((run(), run()), ((0, 0, 1), (0, 0, 1)));
    let spent = memory.engine().spent_on(memory.engine().day(0)).unwrap();
    assert_eq!((spent.calls, spent.failed), (2, 1));
}
