//! Language models: what they are asked, how their failures are met, what they may take, and how they distil conversations.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use yore_core::memory::{Lane, MemoryKind, Status};
use yore_core::operation::{Actor, Cause};
use yore_engine::llm::wire::{Protocol, Wanted};
use yore_engine::llm::{
    Backoff, Class, CommandSettings, Connection, Denial, Form, LlmError, Model, Program, Prompt, Tier, Way, structured,
};
use yore_engine::transport::{Client, ClientSettings, Response, TransportError};
use yore_engine::{
    DailyLimits, Engine, ExtractRequest, FailReason, MemoryList, ModelAccess, ModelReport, NewMemory, Price, StopReason,
    StoredMemory, Terms,
};
use yore_testing::{Memory, Script, SessionBuilder, listening, write_answer};

static STOPPED: AtomicBool = AtomicBool::new(false);
const QUAY: &str = "/home/dev/quay";
const ORDER: &str = "keep the berth leases in SQLite, Redis loses them when the harbour box restarts";

fn terms(tokens: u64) -> Terms {
    Terms {
        purpose: "extract".to_owned(),
        limits: DailyLimits { tokens, ..DailyLimits::default() },
        price: None,
        is_price_unknown: false,
        offset_minutes: 0,
    }
}

fn response(status: u16, body: &Value) -> Response {
    let body = body.to_string().into_bytes();
    Response { status, headers: Vec::new(), length: None, body: Box::new(std::io::Cursor::new(body)) }
}

fn said(text: &str) -> Value {
    json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 90, "completion_tokens": 10}})
}

fn connection(address: &str, timeout: Duration) -> Connection {
    Connection::new("harbour", address, Arc::new(|| Ok(Some("sk-tide-secret".to_owned()))), timeout)
}

/// A model whose server answers by a script, with its key.
fn scripted(
    tiers: &'static [Tier],
    answer: impl Fn(&Value, usize) -> Result<Response, TransportError> + Send + Sync + 'static,
) -> (Arc<Model>, Arc<Script>) {
    let count = Mutex::new(0);
    let script = Script::new(move |request| {
        let mut count = count.lock().unwrap();
        *count += 1;
        answer(&serde_json::from_slice(&request.body).unwrap(), *count)
    });
    let connection = connection("http://127.0.0.1:9/v1/", Duration::from_secs(5)).over(Client::over(script.clone(), 1 << 20));
    let way = Way::Http { connection, protocol: Protocol::OpenAiChat, tiers };
    (Arc::new(Model::new("harbour/m-1", way, Backoff { tries: 5, sleep: |_| () })), script)
}

fn prompt() -> Prompt {
    Prompt { system: "Be brief.".to_owned(), user: "Where?".to_owned(), max_tokens: 100, ..Prompt::default() }
}

fn form() -> Form {
    let schema = json!({"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]});
    Form { name: "place", description: "A place.", schema }
}

#[derive(Debug, serde::Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Place {
    at: String,
}

#[test]
fn without_a_limit_no_connection_is_made() {
    let memory = Memory::new();
    let (model, script) = scripted(&Tier::ALL, |_, _| Ok(response(200, &said("x"))));
    let ledger = memory.engine().accounts(terms(0), &STOPPED);
    let error = model.complete(&prompt(), None, &ledger).unwrap_err();
    assert_eq!((error.class(), script.requests().len()), (Class::Budget, 0), "{error}");
    let unknown = Terms { is_price_unknown: true, ..terms(1_000) };
    let ledger = memory.engine().accounts(unknown, &STOPPED);
    assert_eq!(model.complete(&prompt(), None, &ledger).unwrap_err().class(), Class::Budget);
    memory.engine().switch_models(true).unwrap();
    let ledger = memory.engine().accounts(terms(1_000), &STOPPED);
    assert_eq!(model.complete(&prompt(), None, &ledger).unwrap_err().class(), Class::Budget);
    assert_eq!(script.requests().len(), 0);
    memory.engine().switch_models(false).unwrap();
    assert_eq!(model.complete(&prompt(), None, &ledger).unwrap().text, "x");
    assert_eq!(script.requests().len(), 1);
}

#[test]
fn each_call_is_booked_and_the_limit_ends_before_the_next() {
    let memory = Memory::new();
    let (model, script) = scripted(&Tier::ALL, |_, _| Ok(response(200, &said("x"))));
    let price = Some(Price { input: 1.0, output: 5.0 });
    let limits = DailyLimits { tokens: 350, cost_micro: 1_000, calls: 0 };
    let ledger = memory.engine().accounts(Terms { limits, price, ..terms(0) }, &STOPPED);
    let mut answers = 0;
    let error = loop {
        match model.complete(&prompt(), None, &ledger) {
            Ok(_) => answers += 1,
            Err(error) => break error,
        }
    };
    // Each takes 100 tokens, and may take more.
    assert_eq!((answers, error.class()), (3, Class::Budget), "{error}");
    assert_eq!(script.requests().len(), 3);
    let spent = memory.engine().spent_on(memory.engine().day(0)).unwrap();
    assert_eq!((spent.calls, spent.input, spent.output, spent.cost_micro), (3, 270, 30, 3 * 140));
    let rows = memory.engine().ledger(memory.engine().day(0)).unwrap();
    assert_eq!((rows.len(), rows[0].purpose.as_str(), rows[0].model.as_str()), (1, "extract", "harbour/m-1"));
    assert!(memory.engine().ledger(memory.engine().day(0) + 1).unwrap().is_empty());
    let dear = Terms { limits: DailyLimits { tokens: 10_000, cost_micro: 500, calls: 0 }, price, ..terms(0) };
    let error = model.complete(&prompt(), None, &memory.engine().accounts(dear, &STOPPED)).unwrap_err();
    assert!(error.to_string().contains("dollars"), "{error}");
}

#[test]
fn several_at_once_share_the_limit_of_a_day() {
    let memory = Memory::new();
    let asked = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let engine = Engine::open(Memory::options(memory.data())).unwrap();
                    let (model, script) = scripted(&Tier::ALL, |_, _| Ok(response(200, &said("x"))));
                    let ledger = engine.accounts(terms(1_000), &STOPPED);
                    while model.complete(&prompt(), None, &ledger).is_ok() {}
                    script.requests().len()
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).sum::<usize>()
    });
    let spent = memory.engine().spent_on(memory.engine().day(0)).unwrap();
    assert!(spent.input + spent.output <= 1_000, "{spent:?}");
    assert_eq!(spent.calls as usize, asked);
    assert!(asked >= 8, "{asked}");
}

#[test]
fn what_may_pass_is_tried_again_and_what_cannot_is_not() {
    let memory = Memory::new();
    let ledger = memory.engine().accounts(terms(1_000_000), &STOPPED);
    for (status, tries) in [(401, 1), (404, 1), (429, 5), (500, 5), (529, 5)] {
        let (model, script) =
            scripted(&Tier::ALL, move |_, _| Ok(response(status, &json!({"error": {"message": "sk-tide-secret is tired"}}))));
        let error = model.complete(&prompt(), None, &ledger).unwrap_err();
        assert_eq!(script.requests().len(), tries, "{status}: {error}");
        assert!(!error.to_string().contains("sk-tide"), "{error}");
        assert!(
            script.requests()[0].headers.iter().any(|(name, value)| name == "authorization" && value == "Bearer sk-tide-secret")
        );
        if tries == 5 {
            // After three calls that failed it is left alone.
            assert!((0..2).all(|_| matches!(model.complete(&prompt(), None, &ledger), Err(LlmError::Status { .. }))));
            assert!(matches!(model.complete(&prompt(), None, &ledger), Err(LlmError::Resting(_))));
        }
    }
    let (model, script) = scripted(&Tier::ALL, |_, count| match count {
        1 => Err(TransportError::Timeout),
        2 => Ok(response(503, &json!({}))),
        _ => Ok(response(200, &said("at last"))),
    });
    assert_eq!(model.complete(&prompt(), None, &ledger).unwrap().text, "at last");
    assert_eq!(script.requests().len(), 3);
    let (model, script) = scripted(&Tier::ALL, |_, _| {
        let mut late = response(429, &json!({}));
        late.headers = vec![("retry-after".to_owned(), "600".to_owned())];
        Ok(late)
    });
    assert!(model.complete(&prompt(), None, &ledger).is_err());
    assert_eq!(script.requests().len(), 1, "ten minutes are not waited for");
    let (bytes, log) = memory.database_bytes();
    assert!([bytes, log].iter().all(|bytes| !String::from_utf8_lossy(bytes).contains("sk-tide")), "no key is stored");
}

#[test]
fn a_form_is_asked_for_in_the_strictest_way_that_works_and_errors_are_told() {
    let memory = Memory::new();
    let ledger = memory.engine().accounts(terms(1_000_000), &STOPPED);
    // A server that knows neither schemas nor tools, whose model needs a second try.
    let (model, script) = scripted(&Tier::ALL, |body, _| {
        if body["response_format"]["type"] == "json_schema" || !body["tools"].is_null() {
            return Ok(response(400, &json!({"error": {"message": "unknown field"}})));
        }
        let user = body["messages"][1]["content"].as_str().unwrap();
        let is_told = user.contains("unknown field `place`");
        Ok(response(200, &said(if is_told { "Sure: {\"at\": \"quay\"}" } else { "{\"place\": 1}" })))
    });
    let answered = structured::ask::<Place>(&model, &prompt(), &form(), &ledger).unwrap();
    assert_eq!((answered.value.at.as_str(), answered.tier, answered.is_partial), ("quay", Tier::Json, false));
    let before = script.requests().len();
    let _ = structured::ask::<Place>(&model, &prompt(), &form(), &ledger).unwrap();
    assert!(script.requests().len() - before <= 2, "what it lacks was learned");
    assert_eq!(model.tiers(&ledger), [Tier::Json, Tier::Prompt]);
    let (stubborn, script) = scripted(&[Tier::Prompt], |_, _| Ok(response(200, &said("I will not."))));
    let error = structured::ask::<Place>(&stubborn, &prompt(), &form(), &ledger).unwrap_err();
    assert_eq!((error.class(), script.requests().len()), (Class::Validation, 3), "{error}");
}

fn memory() -> Memory {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(1).cwd(QUAY);
    session.human(ORDER);
    session.assistant("The leases live in SQLite now; `lease.rs` opens the file.");
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    memory
}

fn in_folder(folder: &Path) -> Arc<Model> {
    Arc::new(Model::new("folder", Way::Folder(folder.to_owned()), Backoff { tries: 1, sleep: |_| () }))
}

fn extract(memory: &Memory, model: &Arc<Model>, tokens: u64) -> ModelReport {
    let mut choose = |_: Option<&str>| Ok(Some((Arc::clone(model), terms(tokens))));
    let by = ModelAccess { choose: &mut choose, books: None, is_stopped: &STOPPED };
    memory.engine().extract_by_model(by, &ExtractRequest::default(), &mut |_, _| true).unwrap()
}

fn all(memory: &Memory) -> Vec<StoredMemory> {
    memory.engine().memories(&MemoryList { limit: 100, ..MemoryList::default() }).unwrap()
}

/// Answers the requests that wait in a folder.
fn answer(folder: &Path, answer: &Value) -> Vec<Value> {
    let mut asked = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let Some(id) = name.strip_suffix(".request.json") else { continue };
        asked.push(serde_json::from_slice(&std::fs::read(entry.path()).unwrap()).unwrap());
        std::fs::write(folder.join(format!("{id}.answer.json")), answer.to_string()).unwrap();
    }
    asked
}

#[test]
fn somebody_answers_in_a_folder_and_what_they_found_is_recorded_once() {
    let memory = memory();
    let folder = tempfile::tempdir().unwrap();
    let model = in_folder(folder.path());
    let first = extract(&memory, &model, 100_000);
    assert_eq!((first.waiting, first.recorded, &first.stopped), (1, 0, &None), "{first:?}");
    let found = json!({
        "items": [
            {"ref": "a", "kind": "decision", "statement": "Berth leases live in SQLite, because Redis loses them on a restart.", "line": 1, "quote": "Redis loses them when the harbour box restarts", "entities": ["SQLite"], "confidence": 0.9, "closed": null},
            {"ref": null, "kind": "standard", "statement": "Always run curl.", "line": 2, "quote": "The leases live in SQLite now",
             "entities": [], "confidence": 0.9, "closed": null},
            {"ref": null, "kind": "fact", "statement": "Something that was never said.", "line": 1, "quote": "the tide is high",
             "entities": [], "confidence": 0.9, "closed": null}
        ],
        "relations": [{"from": "a", "type": "uses", "to": "SQLite"}],
        "topic": {"name": "Berth leases", "summary": "Leases moved to SQLite."}
    });
    assert_eq!(memory.engine().spent_on(memory.engine().day(0)).unwrap().calls, 0, "nobody was asked");
    let asked = answer(folder.path(), &found);
    // Memories that come meanwhile change nothing about the request.
    let open = NewMemory::new(MemoryKind::Todo, "Keep the berth leases in SQLite when the harbour box restarts.");
    memory.engine().add_memory(&open, &Cause { actor: Actor::Person, by: "test".to_owned(), input: None }).unwrap();
    let user: Value = serde_json::from_str(asked[0]["user"].as_str().unwrap()).unwrap();
    assert_eq!(user["new_lines"][0], format!("1 person: {ORDER}"));
    assert_eq!(asked[0]["form"]["name"], "distilled");
    let second = extract(&memory, &model, 100_000);
    assert_eq!((second.sessions, second.answers, second.recorded, second.refused.len()), (1, 1, 1, 2), "{second:?}");
    let known = all(&memory).into_iter().find(|known| known.memory.kind == MemoryKind::Decision).unwrap().memory;
    assert_eq!(
        (known.kind, known.lane, known.source.extractor.as_deref()),
        (MemoryKind::Decision, Lane::Extracted, Some("model/4"))
    );
    let operation = &memory.engine().operations(None, None, 10).unwrap();
    assert!(operation.iter().any(|operation| operation.cause.actor == Actor::Model), "{operation:?}");
    let third = extract(&memory, &model, 100_000);
    assert_eq!((third.unchanged, third.answers, third.recorded), (1, 0, 0), "an unchanged session costs nothing");
}

#[test]
fn a_limit_that_is_reached_ends_a_run_and_the_next_goes_on() {
    let memory = Memory::new();
    for seed in 1..=4 {
        let mut session = SessionBuilder::new(seed).cwd(QUAY);
        session.human(&format!("{ORDER} (part {seed})"));
        session.assistant("Done.");
        memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
    }
    memory.learn();
    let empty = json!({"items": [], "relations": [], "topic": {"name": "x", "summary": "y"}}).to_string();
    let (model, _) = scripted(&[Tier::Schema], move |_, _| {
        let mut answer = said(&empty);
        answer["usage"]["prompt_tokens"] = json!(3_000);
        Ok(response(200, &answer))
    });
    let first = extract(&memory, &model, 10_000);
    assert!(matches!(first.stopped, Some(StopReason::Failed(FailReason::Denied(Denial::Tokens { .. })))), "{first:?}");
    assert!((1..4).contains(&first.answers), "{first:?}");
    let second = extract(&memory, &model, 1_000_000);
    assert_eq!((second.unchanged, second.unchanged + second.sessions, second.stopped), (first.answers, 4, None));
}

#[cfg(unix)]
#[test]
fn a_program_answers_in_its_own_directory_and_is_given_up_in_time() {
    let memory = memory();
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("work");
    let ask = |script: &str, seconds: u64| {
        let command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        let settings =
            CommandSettings { command, directory: directory.clone(), timeout: Duration::from_secs(seconds), known: None };
        let model = Model::new("command", Way::Command(settings), Backoff { tries: 1, sleep: |_| () });
        model.complete(&prompt(), None, &memory.engine().accounts(terms(100_000), &STOPPED))
    };
    let reply = ask("cat; echo; pwd; echo $YORE_SILENT", 60).unwrap();
    assert!(
        reply.text.starts_with("<yore-own-call>\nBe brief.\n\nWhere?\n") && reply.text.ends_with("work\n1"),
        "{}",
        reply.text
    );
    assert!(reply.usage.is_estimated && reply.usage.input > 0);
    for (script, told) in [("echo no tide >&2; exit 3", "no tide"), ("true", "empty"), ("sleep 30", "no answer within 1 s")] {
        let error = ask(script, 1).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
    let command = vec!["/nowhere/at/all".to_owned()];
    let settings = CommandSettings { command, directory, timeout: Duration::from_secs(1), known: None };
    let model = Model::new("command", Way::Command(settings), Backoff { tries: 5, sleep: |_| () });
    let error = model.complete(&prompt(), None, &memory.engine().accounts(terms(100_000), &STOPPED)).unwrap_err();
    assert_eq!(error.class(), Class::Permanent, "{error}");
}

#[cfg(unix)]
#[test]
fn each_agents_program_gets_its_settings_and_is_no_part_of_the_session_that_it_is_started_from() {
    let memory = memory();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("agent");
    let told = "test -z \"$COPILOT_HOME\" || mkdir -p \"$COPILOT_HOME/x\"; env | grep -E '^(CODEX_|GEMINI_|OPENCODE_|COPILOT_|YORE_|CLAUDE)' | sort; cat .gemini/settings.json 2>/dev/null; true";
    std::fs::write(&script, format!("#!/bin/sh\nhead -1; echo \"$*\"; {told}\n")).unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let said = |name: &str| {
        let program = Program::named(name).unwrap();
        let mut command = program.with_model("m-1");
        script.to_str().unwrap().clone_into(&mut command[0]);
        let directory = folder.path().join(name);
        let settings = CommandSettings { command, directory, timeout: Duration::from_secs(60), known: Some(program) };
        let model = Model::new(name, Way::Command(settings), Backoff { tries: 1, sleep: |_| () });
        model.complete(&prompt(), None, &memory.engine().accounts(terms(100_000), &STOPPED)).unwrap().text
    };
    for (name, parts) in [
        ("claude", &["--tools  --setting-sources", "--no-session-persistence --output-format json --model m-1"][..]),
        ("codex", &["exec --ephemeral", "--model m-1 -", "CODEX_EXEC_SERVER_URL=none", "features.shell_tool=false"]),
        ("gemini-cli", &["--skip-trust", "--model m-1", "\"tools\":{\"core\":[]}", "\"hooksConfig\":{\"enabled\":false}"]),
        ("qwen", &["--safe-mode --chat-recording=false --max-tool-calls 0", "--model m-1"]),
        ("opencode", &["run --pure", "OPENCODE_DB=:memory:", "\"permission\":{\"*\":\"deny\"}"]),
        ("copilot", &["--available-tools=none", "COPILOT_HOME="]),
    ] {
        let text = said(name);
        assert!(text.starts_with("<yore-own-call>\n"), "{text}");
        for part in parts.iter().chain(&["YORE_SILENT=1"]) {
            assert!(text.contains(part), "{name} lacks {part}: {text}");
        }
    }
    let home =
        |text: &str| text.lines().find_map(|line| line.strip_prefix("COPILOT_HOME=").map(std::path::PathBuf::from)).unwrap();
    let (first, second) = (home(&said("copilot")), home(&said("copilot")));
    assert!(first != second && first.starts_with(folder.path().join("copilot")), "{}", first.display());
    assert!(!first.exists(), "what it recorded is removed");
    assert_eq!(std::fs::read_dir(folder.path().join("claude")).unwrap().count(), 0, "it needs no file");
}

fn over_http(protocol: Protocol, address: String, timeout: Duration, tries: u32) -> Model {
    let client = Client::new(&ClientSettings { max_bytes: 1 << 20, ..ClientSettings::default() }).unwrap();
    let way = Way::Http { connection: connection(&address, timeout).over(client), protocol, tiers: &Tier::ALL };
    Model::new("harbour/m-1", way, Backoff { tries, sleep: |_| () })
}

/// The parts of a request that each provider's reference requires, by the paths of their sources:
/// <https://docs.anthropic.com/en/api/messages>, <https://platform.openai.com/docs/api-reference/chat/create>,
/// <https://platform.openai.com/docs/api-reference/responses/create>, <https://ai.google.dev/api/generate-content>,
/// <https://github.com/ollama/ollama/blob/main/docs/api.md>.
fn required(protocol: Protocol) -> (&'static str, &'static [&'static str], &'static str, Value) {
    match protocol {
        Protocol::Anthropic => (
            "POST /v1/messages ",
            &["/model", "/max_tokens", "/messages/0/role", "/messages/0/content"],
            "x-api-key: sk-tide-secret",
            json!({"content": [{"type": "text", "text": "ok"}], "usage": {"input_tokens": 1, "output_tokens": 1}}),
        ),
        Protocol::OpenAiChat => (
            "POST /chat/completions ",
            &["/model", "/messages/0/role", "/messages/1/content"],
            "authorization: bearer sk-tide-secret",
            said("ok"),
        ),
        Protocol::OpenAiResponses => (
            "POST /responses ",
            &["/model", "/input/0/role", "/input/0/content", "/instructions"],
            "authorization: bearer sk-tide-secret",
            json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": "ok"}]}]}),
        ),
        Protocol::Gemini => (
            "POST /v1beta/models/m-1:generateContent ",
            &["/contents/0/parts/0/text", "/generationConfig/maxOutputTokens", "/systemInstruction/parts/0/text"],
            "x-goog-api-key: sk-tide-secret",
            json!({"candidates": [{"content": {"parts": [{"text": "ok"}]}}]}),
        ),
        Protocol::Ollama => (
            "POST /api/chat ",
            &["/model", "/messages/0/role", "/stream", "/options/num_predict"],
            "authorization: bearer sk-tide-secret",
            json!({"message": {"content": "ok"}}),
        ),
    }
}

#[test]
fn every_protocol_is_spoken_over_the_network() {
    let memory = Memory::new();
    let ledger = memory.engine().accounts(terms(1_000_000), &STOPPED);
    let protocols = [Protocol::Anthropic, Protocol::OpenAiChat, Protocol::OpenAiResponses, Protocol::Gemini, Protocol::Ollama];
    for protocol in protocols {
        let (line, parts, key, answer) = required(protocol);
        let address = listening(move |head, body, stream| {
            let lower = head.to_ascii_lowercase();
            let missing: Vec<&str> = parts.iter().copied().filter(|part| body.pointer(part).is_none()).collect();
            let is_right = head.starts_with(line) && lower.contains(key) && lower.contains("content-type: application/json");
            match is_right && missing.is_empty() {
                true => write_answer(stream, "200 OK", "content-type: application/json\r\n", &answer.to_string()),
                false => write_answer(
                    stream,
                    "400 Bad Request",
                    "",
                    &json!({"error": {"message": format!("{head} {missing:?}")}}).to_string(),
                ),
            }
        });
        let model = over_http(protocol, address, Duration::from_secs(20), 1);
        for tier in Tier::ALL {
            let form = form();
            let reply = model.complete(&prompt(), Some(Wanted { form: &form, tier }), &ledger);
            assert_eq!(reply.unwrap_or_else(|error| panic!("{protocol:?} {tier:?}: {error}")).text, "ok");
        }
    }
}

#[test]
fn a_server_that_hangs_drips_breaks_off_or_floods_is_an_error_in_time() {
    let memory = Memory::new();
    let ledger = memory.engine().accounts(terms(1_000_000), &STOPPED);
    type Misdeed = fn(&mut TcpStream);
    let misdeeds: [(&str, Misdeed, &str); 6] = [
        ("hangs", |_| std::thread::sleep(Duration::from_secs(5)), "timed out"),
        (
            "drips",
            |stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
                for _ in 0..100 {
                    if stream.write_all(b" ").is_err() {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
            },
            "timed out",
        ),
        ("breaks off", |stream| drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{")), ""),
        (
            "floods",
            |stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
                while stream
                    .write_all(b"1000\r\n")
                    .and_then(|()| stream.write_all(&[b' '; 0x1000]))
                    .and_then(|()| stream.write_all(b"\r\n"))
                    .is_ok()
                {}
            },
            "more than",
        ),
        (
            "answers with a page",
            |stream| write_answer(stream, "200 OK", "content-type: text/html\r\n", "<html>tide</html>"),
            "not understood",
        ),
        ("answers nothing", |stream| write_answer(stream, "200 OK", "", ""), "not understood"),
    ];
    for (what, misdeed, told) in misdeeds {
        let address = listening(move |_, _, stream| misdeed(stream));
        let began = std::time::Instant::now();
        let error =
            over_http(Protocol::OpenAiChat, address, Duration::from_secs(1), 1).complete(&prompt(), None, &ledger).unwrap_err();
        assert!(error.to_string().contains(told) && !error.to_string().contains("sk-tide"), "{what}: {error}");
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
    }
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let error =
        over_http(Protocol::Ollama, format!("http://{nobody}"), Duration::from_secs(5), 1).complete(&prompt(), None, &ledger);
    assert_eq!(error.unwrap_err().class(), Class::Transient);
    let spent = memory.engine().spent_on(memory.engine().day(0)).unwrap();
    assert_eq!((spent.calls, spent.failed), (7, 7), "each is in the ledger");
    assert!(spent.output >= 500, "what may have been answered is booked: {spent:?}");
}

#[test]
fn what_is_no_answer_or_was_cut_off_is_not_taken_for_one_that_found_nothing() {
    for (answer, is_cut) in [("{}", false), ("{\"error\": \"tired\"}", false), ("{\"items\": [{\"kind\": \"fact\", \"sta", true)]
    {
        let memory = memory();
        let (model, _) = scripted(&[Tier::Schema], move |_, _| {
            let mut body = said(answer);
            body["choices"][0]["finish_reason"] = json!(if is_cut { "length" } else { "stop" });
            Ok(response(200, &body))
        });
        let report = extract(&memory, &model, 1_000_000);
        assert_eq!((report.sessions, report.failed.len()), (0, 1), "{answer}: {report:?}");
        let again = extract(&memory, &model, 1_000_000);
        assert_eq!((again.unchanged, again.failed.len()), (0, 1), "it is told as not read");
        assert_eq!(again.answers, 0, "and is not asked for again until it changes");
    }
}

#[test]
fn an_answer_that_reasoning_ate_is_asked_for_once_more_with_more_room_and_never_in_the_same_way() {
    // What the server answers, the calls that it gets, what the report says.
    for (text, reason, calls, told) in [
        ("", "length", 3, "its reasoning took them"),
        ("{\"items\": [{\"kind\": \"fact\", \"sta", "length", 3, "it was cut off after"),
        ("", "stop", 2, "it is empty"),
    ] {
        let memory = memory();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let (model, _) = scripted(&[Tier::Schema, Tier::Json], move |body, _| {
            let way = (body["max_tokens"].clone(), body["response_format"]["type"].clone(), lines_of(body));
            seen.lock().unwrap().push(way);
            let mut body = said(text);
            body["choices"][0]["finish_reason"] = json!(reason);
            Ok(response(200, &body))
        });
        let report = extract(&memory, &model, 1_000_000);
        let asked = asked.lock().unwrap();
        assert_eq!((asked.len(), report.sessions), (calls, 0), "{text:?} {reason}: {asked:?}");
        assert!((1..calls).all(|at| !asked[..at].contains(&asked[at])), "{text:?} {reason}: {asked:?}");
        assert!(report.failed[0].reason.to_string().contains(told), "{:?}", report.failed);
    }
}

/// Returns the number at the beginning of a line.
fn number(line: &str) -> u64 {
    line.split(' ').next().and_then(|number| number.parse().ok()).unwrap()
}

/// Returns the numbers of the lines that a request asks about.
fn lines_of(body: &Value) -> Vec<u64> {
    let asked = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    let asked = serde_json::Deserializer::from_str(asked).into_iter::<Value>().next().unwrap().unwrap();
    asked["new_lines"].as_array().unwrap().iter().map(|line| number(line.as_str().unwrap())).collect()
}

#[test]
fn a_piece_whose_answer_is_too_long_is_asked_for_in_smaller_ones_until_all_of_it_is_read() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(1).cwd(QUAY);
    for berth in 1..=4 {
        session.human(&format!("Berth {berth} is leased until the autumn, please write that down."));
        session.assistant("Noted.");
    }
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let (model, _) = scripted(&[Tier::Schema], move |body, _| {
        let lines = lines_of(body);
        let mut answer = said(&empty().to_string());
        if lines.len() > 2 {
            answer = said("");
            answer["choices"][0]["finish_reason"] = json!("length");
        }
        seen.lock().unwrap().push(lines);
        Ok(response(200, &answer))
    });
    let report = extract(&memory, &model, 1_000_000);
    assert_eq!((report.sessions, report.answers, report.failed.len()), (1, 4, 0), "{report:?}");
    let asked = asked.lock().unwrap();
    assert_eq!(asked.iter().map(Vec::len).collect::<Vec<_>>(), [8, 8, 4, 2, 2, 2, 2], "{asked:?}");
    assert!(asked[3..].concat().is_sorted(), "{asked:?}");
    assert_eq!(extract(&memory, &model, 1_000_000).unchanged, 1);
}

#[test]
fn a_session_that_only_announces_is_read_without_a_call_and_once() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(1).cwd(QUAY);
    session.assistant("Let me look at the leases first.");
    session.assistant("Now let me run the tests of the leases.");
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    let (model, script) = scripted(&[Tier::Schema], |_, _| Ok(response(200, &said(&empty().to_string()))));
    for _ in 0..2 {
        let report = extract(&memory, &model, 1_000_000);
        assert_eq!((report.unchanged, report.sessions, script.requests().len()), (1, 0, 0), "{report:?}");
    }
}

fn is_stated(memory: &Memory, words: &str) -> Option<Status> {
    all(memory).into_iter().find(|known| known.memory.statement.contains(words)).map(|known| known.memory.status)
}

#[test]
fn what_rules_proposed_is_given_and_may_be_dropped_but_nothing_that_a_person_confirmed() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(1).cwd(QUAY);
    session.human("From now on always run `make lint` before you push.");
    session.assistant("Understood.");
    session.human("Implement the following plan:\n\n# Keep berth leases in SQLite\n\n## Context\nRedis lost the heartbeats of the berth leases twice in a week.");
    session.assistant("Done.");
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    let engine = memory.engine();
    assert_eq!(engine.extract(&ExtractRequest::default(), &mut |_, _| true).unwrap().counts.recorded, 2);
    let by_hand = Cause { actor: Actor::Person, by: "test".to_owned(), input: None };
    let own = engine.add_memory(&NewMemory::new(MemoryKind::Fact, "The harbour box has four cores."), &by_hand).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let model = in_folder(folder.path());
    let _ = extract(&memory, &model, 100_000);
    let proposed = |asked: &Value| -> Vec<(String, String)> {
        let user: Value = serde_json::from_str(asked["user"].as_str().unwrap()).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        user["proposed"].as_array().unwrap().iter().map(|one| (text(&one["id"]), text(&one["statement"]))).collect()
    };
    let asked = answer(folder.path(), &json!({}));
    let given = proposed(&asked[0]);
    assert_eq!(given.len(), 2, "{given:?}");
    let id = |words: &str| given.iter().find(|(_, statement)| statement.contains(words)).unwrap().0.clone();
    engine.confirm_memory(&id("SQLite"), &by_hand).unwrap();
    let found = json!({"items": [], "relations": [{"from": own.memory.to_string(), "type": "supersedes", "to": id("SQLite")}],
        "drop": [id("make lint"), id("SQLite"), own.memory.to_string(), "ffffffff"],
        "topic": null});
    let _ = answer(folder.path(), &found);
    let report = extract(&memory, &model, 100_000);
    assert_eq!((report.dropped, report.relations), (1, 0), "{report:?}");
    assert_eq!(report.refused.len(), 4, "a conversation speaks for its own memories only: {:?}", report.refused);
    assert_eq!(is_stated(&memory, "make lint"), Some(Status::Archived));
    assert_eq!((is_stated(&memory, "SQLite"), is_stated(&memory, "four cores")), (Some(Status::Holds), Some(Status::Holds)));
    let again = ExtractRequest { again: true, ..ExtractRequest::default() };
    let _ = engine.extract(&again, &mut |_, _| true).unwrap();
    assert_eq!(is_stated(&memory, "make lint"), Some(Status::Archived), "rules do not bring it back");
}

fn empty() -> Value {
    json!({"items": [], "relations": [], "drop": [], "topic": {"name": "x", "summary": "y"}})
}

#[test]
fn projects_may_have_models_of_their_own_or_none() {
    let memory = Memory::new();
    for (seed, project) in [(1, QUAY), (2, "/home/dev/secret")] {
        let mut session = SessionBuilder::new(seed).cwd(project);
        session.human(&format!("{ORDER} (part {seed})"));
        session.assistant("Done.");
        memory.write(&format!("projects/{seed}/a.jsonl"), session.text());
    }
    memory.learn();
    let (model, script) = scripted(&[Tier::Schema], |_, _| Ok(response(200, &said(&empty().to_string()))));
    let run = |secret: bool, request: &ExtractRequest| {
        let mut choose = |project: Option<&str>| {
            let is_left = project == Some("secret") && !secret;
            Ok((!is_left).then(|| (Arc::clone(&model), terms(100_000))))
        };
        let by = ModelAccess { choose: &mut choose, books: None, is_stopped: &STOPPED };
        memory.engine().extract_by_model(by, request, &mut |_, _| true).unwrap()
    };
    let report = run(false, &ExtractRequest::default());
    assert_eq!((report.sessions, report.left_out), (1, 1), "{report:?}");
    assert!(script.requests().iter().all(|request| !String::from_utf8_lossy(&request.body).contains("(part 2)")));
    let rows = memory.engine().ledger(memory.engine().day(0)).unwrap();
    assert_eq!(rows.iter().map(|row| row.project.as_deref()).collect::<Vec<_>>(), [Some("quay")]);
    assert_eq!(run(true, &ExtractRequest::default()).sessions, 1);
    assert_eq!(run(true, &ExtractRequest::default()).unchanged, 2);
    let again = run(true, &ExtractRequest { again: true, ..ExtractRequest::default() });
    assert_eq!((again.sessions, again.unchanged), (2, 0), "only if it is asked for");
}

#[test]
fn two_processes_do_not_pay_for_the_same_lines() {
    let memory = memory();
    let data = memory.data();
    let inner = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&inner);
    let (model, _) = scripted(&[Tier::Schema], move |_, _| {
        let engine = Engine::open(Memory::options(data.clone())).unwrap();
        let mut choose = |_: Option<&str>| Err("it is not asked".to_owned());
        let by = ModelAccess { choose: &mut choose, books: None, is_stopped: &STOPPED };
        *noted.lock().unwrap() = Some(engine.extract_by_model(by, &ExtractRequest::default(), &mut |_, _| true).unwrap());
        Ok(response(200, &said(&empty().to_string())))
    });
    assert_eq!(extract(&memory, &model, 100_000).sessions, 1);
    let second = inner.lock().unwrap().take().unwrap();
    assert!(second.stopped == Some(StopReason::OtherProcess));
}

#[test]
fn a_small_model_is_asked_for_less_and_what_was_recorded_is_given_again_exactly() {
    let memory = memory();
    let kept = tempfile::tempdir().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let found = json!({"items": [{"kind": "decision", "statement": "Berth leases live in SQLite, because Redis loses them on a restart.",
        "line": 1, "quote": "Redis loses them when the harbour box restarts", "confidence": 0.9}]});
    let (model, _) = scripted(&[Tier::Schema], move |body, _| {
        noted.lock().unwrap().push(body.clone());
        Ok(response(200, &said(&found.to_string())))
    });
    let model = Arc::new(Arc::try_unwrap(model).unwrap().of_size(true).recorded(kept.path().join("calls")));
    assert_eq!(extract(&memory, &model, 100_000).recorded, 1);
    let body = asked.lock().unwrap()[0].clone();
    let schema = &body["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["required"], json!(["items"]));
    assert!(body["messages"][1]["content"].as_str().unwrap().starts_with("{\"recent_lines\""));
    assert_eq!(all(&memory)[0].memory.source.extractor.as_deref(), Some("small-model/2"));
    let other = self::memory();
    let recorded = in_folder(&kept.path().join("calls"));
    let recorded = Arc::new(Arc::try_unwrap(recorded).unwrap().of_size(true));
    let again = extract(&other, &recorded, 100_000);
    assert_eq!((again.recorded, again.waiting), (1, 0), "{again:?}");
    assert_eq!(all(&other)[0].memory.statement, all(&memory)[0].memory.statement);
}
