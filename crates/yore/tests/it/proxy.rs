//! The proxy before language models: what is archived of conversations, what is added to them, and that nothing else changes.
#![cfg(unix)]

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use yore_testing::{Fault, Faults, SessionBuilder, listening_raw, request, write_answer};

use crate::agent_life::{DECISION, JANUARY, REASON, computer};
use crate::daemon::{Daemon, quick, until};
use crate::environment::TestEnvironment;

/// A request as the provider got it.
#[derive(Clone, Debug)]
struct Got {
    head: String,
    body: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// A provider that keeps what it gets and answers in Anthropic's protocol or OpenAI's.
fn provider() -> (String, Arc<Mutex<Vec<Got>>>) {
    let got: Arc<Mutex<Vec<Got>>> = Arc::default();
    let kept = Arc::clone(&got);
    let address = listening_raw(move |head, body, stream| {
        let number = {
            let mut kept = kept.lock().unwrap();
            kept.push(Got { head: head.to_owned(), body: body.to_owned() });
            kept.len()
        };
        let asked: Value = serde_json::from_str(body).unwrap_or_default();
        let words = format!("Answer {number}: the pier is wet.");
        let answer = if head.contains("/v1/messages") {
            let usage = json!({"input_tokens": 20, "cache_read_input_tokens": 400, "cache_creation_input_tokens": 30, "output_tokens": 9});
            if asked["stream"] == true {
                return streamed(stream, &words);
            }
            json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "claude-test",
                "content": [{"type": "text", "text": words}], "stop_reason": "end_turn", "usage": usage})
        } else if head.contains("/responses") {
            json!({"id": format!("resp_{number}"), "object": "response", "status": "completed", "model": "gpt-test",
                "output": [{"type": "reasoning", "id": "rs", "summary": []}, {"type": "message", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": words, "annotations": []}]}],
                "usage": {"input_tokens": 450, "output_tokens": 9}})
        } else {
            json!({"id": format!("chat_{number}"), "model": "gpt-test", "choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": words}}], "usage": {"prompt_tokens": 450, "completion_tokens": 9}})
        };
        write_answer(stream, "200 OK", "content-type: application/json\r\n", &answer.to_string());
    });
    (address, got)
}

fn streamed(stream: &mut std::net::TcpStream, words: &str) {
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg_s", "role": "assistant", "model": "claude-test", "content": [], "usage": {"input_tokens": 5, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    events.extend(
        words
            .split_inclusive(' ')
            .map(|word| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}})),
    );
    events.push(json!({"type": "content_block_stop", "index": 0}));
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}));
    events.push(json!({"type": "message_stop"}));
    let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
    for event in events {
        let frame = format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
        let _ = write!(stream, "{:x}\r\n{frame}\r\n", frame.len());
    }
    let _ = write!(stream, "0\r\n\r\n");
}

/// A computer with a memory, a provider and an open proxy.
struct Setting {
    environment: TestEnvironment,
    got: Arc<Mutex<Vec<Got>>>,
    upstreams: String,
}

impl Setting {
    fn new() -> Self {
        let environment = computer();
        let tide = environment.path("work/tide");
        let mut session = SessionBuilder::new(4_242).cwd(tide.to_str().unwrap()).at(JANUARY).turns(10);
        session.human(DECISION);
        session.assistant("Agreed: the tide tables stay in SQLite.");
        session = session.turns(10);
        environment.write(&format!("home/.claude/projects/tide/{}.jsonl", session.id()), session.text());
        environment.yore(["ingest", "--no-embed"]).run().success();
        let (address, got) = provider();
        let upstreams = format!("[\"anthropic={address}\", \"openai={address}\", \"router={address}/api\"]");
        Self { environment, got, upstreams }
    }

    fn daemon(&self) -> Daemon<'_> {
        self.daemon_with(Vec::new())
    }

    fn daemon_with(&self, variables: Vec<(&'static str, String)>) -> Daemon<'_> {
        let runner = quick(&self.environment, &["daemon", "start", "--foreground"])
            .env("YORE_PROXY__ENABLED", "true")
            .env("YORE_PROXY__PATIENCE_MS", "5000")
            .env("YORE_PROXY__UPSTREAMS", &self.upstreams);
        let runner = variables.into_iter().fold(runner, |runner, (name, value)| runner.env(name, value));
        Daemon::of(&self.environment, runner)
    }

    /// Returns the address of a server through the proxy.
    fn address(&self, arguments: &[&str]) -> String {
        let mut all = vec!["proxy", "env", "--json"];
        all.extend(arguments);
        let runner = self.environment.yore(all).env("YORE_PROXY__UPSTREAMS", &self.upstreams);
        let shown = runner.current_dir(self.environment.path("work/tide")).run().success().json();
        shown[0]["value"].as_str().unwrap().to_owned()
    }

    fn last(&self) -> Got {
        self.got.lock().unwrap().last().unwrap().clone()
    }

    /// Waits until so many turns of proxied sessions are archived; returns the words of the sessions, in order.
    fn archived(&self, turns: usize) -> Vec<Vec<String>> {
        let mut found: Vec<Vec<String>> = Vec::new();
        until("the exchanges are archived", || {
            let sessions = self.environment.yore(["sessions", "--limit", "100", "--json"]).run().json();
            let sessions = sessions.as_array().cloned().unwrap_or_default();
            let proxied = sessions.iter().filter(|session| session["agent"] == "proxy");
            found = proxied.map(|session| self.words(&session["id"])).collect();
            found.iter().map(Vec::len).sum::<usize>() >= turns
        });
        found
    }

    fn words(&self, session: &Value) -> Vec<String> {
        let shown = self.environment.yore(["show", session.as_str().unwrap(), "--json"]).run().success().json();
        let words = |turn: &Value| turn["text"].as_str().or_else(|| turn["words"].as_str()).unwrap_or_default().to_owned();
        shown["turns"].as_array().unwrap().iter().map(words).collect()
    }
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

const KEY: &str = "Authorization: Bearer sk-ant-api03-THIS-KEY-BELONGS-TO-THE-CLIENT-abcdefghijklmnop\r\n";

#[test]
fn conversations_are_archived_as_they_happen_once_and_without_secrets() {
    let setting = Setting::new();
    let daemon = setting.daemon();
    let base = setting.address(&["openai", "--here"]);
    let secret = format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let mut messages = vec![message("system", "You help.")];
    for (number, said) in ["where is the anchor?", &format!("the token is {secret}, keep it"), "and the buoy?"].iter().enumerate()
    {
        messages.push(message("user", said));
        let body = json!({"model": "gpt-test", "messages": messages}).to_string();
        let answer = request("POST", &format!("{base}/chat/completions"), KEY, &body);
        assert_eq!(setting.last().body, body, "bytes pass on untouched");
        assert!(setting.last().head.contains("sk-ant-api03-THIS-KEY"), "the key passes through");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let words = answer["choices"][0]["message"]["content"].as_str().unwrap();
        messages.push(message("assistant", words));
        if number == 1 {
            // The same request again: a client that lost its connection.
            request("POST", &format!("{base}/chat/completions"), KEY, &body);
        }
    }
    let sessions = setting.archived(7);
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    let said: Vec<&str> = sessions[0].iter().map(String::as_str).collect();
    assert_eq!(said.iter().filter(|words| **words == "where is the anchor?").count(), 1, "{said:?}");
    let prompts: Vec<&&str> = said.iter().filter(|words| !words.starts_with("Answer")).collect();
    assert_eq!((*prompts[0], *prompts[2], prompts.len()), ("where is the anchor?", "and the buoy?", 3), "{said:?}");
    assert!(prompts[1].starts_with("the token is") && !prompts[1].contains("ghp_"), "{said:?}");
    daemon.stop();
    for entry in walk(&setting.environment.data()) {
        let bytes = std::fs::read(&entry).unwrap_or_default();
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!has("THIS-KEY-BELONGS") && !has(&secret), "{}", entry.display());
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map_while(Result::ok) {
        if entry.path().is_dir() { found.extend(walk(&entry.path())) } else { found.push(entry.path()) }
    }
    found
}

/// A client in Anthropic's protocol that marks its last message for the cache, as agents do.
struct Client {
    base: String,
    messages: Vec<Value>,
}

impl Client {
    fn say(&mut self, content: Value, is_streamed: bool) {
        self.messages.push(json!({"role": "user", "content": content}));
        let mut sent = self.messages.clone();
        let last = sent.last_mut().unwrap();
        if let Some(text) = last["content"].as_str().map(str::to_owned) {
            last["content"] = json!([{"type": "text", "text": text}]);
        }
        let blocks = last["content"].as_array_mut().unwrap();
        blocks.last_mut().unwrap()["cache_control"] = json!({"type": "ephemeral"});
        let body =
            json!({"model": "claude-test", "max_tokens": 100, "stream": is_streamed, "system": "You help.", "messages": sent});
        let answer = request("POST", &format!("{}/v1/messages", self.base), "x-api-key: test-key\r\n", &body.to_string());
        let words = if is_streamed {
            "(streamed)".to_owned()
        } else {
            serde_json::from_str::<Value>(&answer).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
        };
        self.messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": words}]}));
    }
}

/// Returns a message as it counts for the provider's cache.
fn without_marks(message: &Value) -> Value {
    let mut message = message.clone();
    if let Some(blocks) = message["content"].as_array_mut() {
        for block in blocks {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    if let Some(text) = message["content"].as_str().map(str::to_owned) {
        message["content"] = json!([{"type": "text", "text": text}]);
    }
    message
}

#[test]
fn every_request_is_a_strict_beginning_of_the_next_through_tools_compaction_and_edits() {
    let setting = Setting::new();
    let _daemon = setting.daemon();
    let mut client = Client { base: setting.address(&["anthropic", "--here", "--memory"]), messages: Vec::new() };
    let mut broken = Vec::new();
    for turn in 0..50 {
        let said = match turn % 5 {
            0 => "why do we keep the tide tables in sqlite?".to_owned(),
            1 => "go on".to_owned(),
            _ => format!("now mend gauge number {turn} of the tide table"),
        };
        client.say(json!(said), turn % 7 == 3);
        if turn % 3 == 0 {
            let id = format!("toolu_{turn}");
            client.messages.last_mut().unwrap()["content"]
                .as_array_mut()
                .unwrap()
                .push(json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}));
            client.say(json!([{"type": "tool_result", "tool_use_id": id, "content": "pier.txt"}]), false);
        }
        if turn == 20 {
            client.messages = vec![
                message("user", "This session goes on from a summary: gauges were mended."),
                message("assistant", "Understood."),
            ];
        }
        if turn == 35 {
            client.messages.truncate(client.messages.len() - 4);
        }
    }
    let got = setting.got.lock().unwrap().clone();
    let sent: Vec<Vec<Value>> =
        got.iter().map(|got| got.json()["messages"].as_array().unwrap().iter().map(without_marks).collect()).collect();
    for (number, pair) in sent.windows(2).enumerate() {
        let (before, after) = (&pair[0], &pair[1]);
        // Where the client itself begins anew, nothing can hold.
        let is_continued = after.len() > before.len();
        if is_continued && after[..before.len()] != before[..] {
            broken.push(number);
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
    let added = |message: &Value| message.to_string().contains("<recalled-data");
    let first = &sent[0][0];
    assert!(added(first) && first.to_string().contains(REASON), "the first prompt is answered from memory: {first}");
    let is_marked_last = |got: &Got| {
        let messages = got.json()["messages"].as_array().unwrap().clone();
        let blocks = messages.last().unwrap()["content"].as_array().unwrap().clone();
        let marked = blocks.iter().rposition(|block| block.get("cache_control").is_some()).unwrap();
        blocks[..=marked].iter().all(|block| !block.to_string().contains("<recalled-data"))
    };
    assert!(got.iter().all(is_marked_last), "what is added stands after the client's last mark");
    let results = sent.iter().flatten().filter(|message| message.to_string().contains("tool_result"));
    assert!(
        results.clone().count() > 0 && results.into_iter().all(|message| !added(message)),
        "results of tools stay as they are"
    );
    let whole = sent.last().unwrap().iter().map(Value::to_string).collect::<String>();
    assert!(whole.matches(REASON).count() <= 2, "it is told once in what the conversation still holds: {whole}");
    let state = setting.environment.yore(["proxy", "--json"]).run().success().json();
    assert_eq!(state["counts"]["failed"], 0, "{state}");
    assert!(state["counts"]["added"].as_u64().unwrap() > 10, "{state}");
    let sum =
        |name: &str| -> u64 { state["sessions"].as_array().unwrap().iter().map(|session| session[name].as_u64().unwrap()).sum() };
    assert!(sum("added_tokens") > 0 && sum("repeated_tokens") > sum("added_tokens"), "{state}");
}

#[test]
fn nothing_is_added_where_nobody_asked_where_hooks_do_it_and_where_memory_is_broken() {
    let setting = Setting::new();
    let daemon = setting.daemon();
    let plain = setting.address(&["openai", "--here"]);
    let with = setting.address(&["openai", "--here", "--memory"]);
    let body = |said: &str| json!({"model": "gpt-test", "messages": [message("user", said)]}).to_string();
    let question = "why do we keep the tide tables in sqlite?";
    let ask = |base: &str, body: &str| {
        request("POST", &format!("{base}/chat/completions"), KEY, body);
        setting.last().body
    };
    assert_eq!(ask(&plain, &body(question)), body(question));
    let given = ask(&with, &body(question));
    assert!(given.contains(REASON) && given.contains("<recalled-data"), "{given}");
    assert_eq!(ask(&with, &body(question)), given, "the same request again is the same");
    let hooked = body(&format!("{question}\n<recalled-data source=\"yore\">\nsaid by a hook\n</recalled-data>"));
    assert_eq!(ask(&with, &hooked), hooked);
    let image = json!({"model": "gpt-test", "unknown": {"a": [1.50, 1e3]}, "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]}).to_string();
    assert_eq!(ask(&with, &image), image);
    for odd in ["", "{", "[]", "{\"messages\": 7}", "\u{feff}{}"] {
        assert_eq!(ask(&with, odd), odd);
    }
    // Another program holds the database for longer than a request waits.
    let database = rusqlite::Connection::open(setting.environment.database()).unwrap();
    database.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let other = body("where do we keep the tide tables of the harbour?");
    assert!(ask(&with, &other).contains("where do we keep the tide tables of the harbour"), "the request goes on");
    database.execute_batch("ROLLBACK").unwrap();
    daemon.stop();
}

#[test]
fn the_system_text_gets_what_holds_in_the_project_once_and_keeps_it() {
    let setting = Setting::new();
    let remember = setting.environment.yore(["remember", "--standing", "Answer in short sentences."]);
    remember.current_dir(setting.environment.path("work/tide")).run().success();
    let daemon = setting.daemon_with(vec![("YORE_PROXY__BRIEF", "true".to_owned())]);
    let mut client = Client { base: setting.address(&["anthropic", "--here", "--memory"]), messages: Vec::new() };
    let mut systems = Vec::new();
    for said in ["hello there", "run the tests", "and commit it"] {
        client.say(json!(said), false);
        systems.push(setting.last().json()["system"].as_str().unwrap().to_owned());
    }
    assert!(systems[0].starts_with("You help.") && systems[0].contains("Answer in short sentences."), "{systems:?}");
    assert!(systems.iter().all(|system| *system == systems[0]), "{systems:?}");
    setting
        .environment
        .yore(["remember", "--standing", "Never push."])
        .current_dir(setting.environment.path("work/tide"))
        .run()
        .success();
    client.say(json!("push it"), false);
    assert_eq!(setting.last().json()["system"], systems[0], "what is in the provider's cache stays as it is");
    daemon.stop();
    let daemon = setting.daemon_with(vec![("YORE_PROXY__BRIEF", "true".to_owned())]);
    client.say(json!("go on"), false);
    assert_eq!(setting.last().json()["system"], systems[0], "and also after a restart");
    daemon.stop();
}

#[test]
fn agents_whose_own_history_is_read_are_not_archived_twice() {
    let setting = Setting::new();
    let _daemon = setting.daemon();
    let base = setting.address(&["anthropic"]);
    let ask = |agent: &str, said: &str| {
        let body = json!({"model": "claude-test", "max_tokens": 9, "messages": [message("user", said)]}).to_string();
        request("POST", &format!("{base}/v1/messages"), &format!("User-Agent: {agent}\r\n"), &body);
    };
    ask("claude-cli/2.1.0 (external, cli)", "said in Claude Code");
    ask("my-script/1.0", "said in a script");
    let sessions = setting.archived(2);
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!(sessions[0][0], "said in a script");
}

#[test]
fn what_was_forgotten_for_good_is_not_added_again() {
    let setting = Setting::new();
    let daemon = setting.daemon();
    let with = setting.address(&["openai", "--here", "--memory"]);
    let body =
        json!({"model": "gpt-test", "messages": [message("user", "why do we keep the tide tables in sqlite?")]}).to_string();
    request("POST", &format!("{with}/chat/completions"), KEY, &body);
    assert!(setting.last().body.contains(REASON));
    setting.environment.yore(["forget", "--hard", "--yes", "--query", REASON]).run().success();
    request("POST", &format!("{with}/chat/completions"), KEY, &body);
    let texts = setting.environment.data().join("proxy/given.jsonl");
    assert!(!std::fs::read_to_string(&texts).unwrap_or_default().contains(REASON), "no text of it stays on disk");
    daemon.stop();
}

#[test]
fn an_agent_that_the_address_names_is_archived_unless_its_own_history_is_there() {
    let setting = Setting::new();
    let _daemon = setting.daemon();
    let aider = setting.address(&["aider"]);
    assert!(aider.contains("/as/aider/"), "{aider}");
    let ask = |said: &str| {
        let files = message("user", "I have *added these files to the chat* so you can go ahead and edit them.\n\npier.txt");
        let body =
            json!({"model": "gpt-test", "messages": [files, message("assistant", "Ok."), message("user", said)]}).to_string();
        request("POST", &format!("{aider}/chat/completions"), KEY, &body);
    };
    ask("said where no history is");
    let sessions = setting.archived(4);
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    setting.environment.write("work/tide/.aider.chat.history.md", "# aider chat started at 2026-01-05 10:00:00\n");
    ask("said where the history is");
    ask("said to a script");
    let script = setting.address(&["openai"]);
    let body = json!({"model": "gpt-test", "messages": [message("user", "said to a script")]}).to_string();
    request("POST", &format!("{script}/chat/completions"), KEY, &body);
    let sessions = setting.archived(6);
    assert!(!sessions.iter().flatten().any(|words| words.contains("where the history is")), "{sessions:?}");
}

#[test]
fn the_doctor_tries_the_whole_chain() {
    let setting = Setting::new();
    let doctor = |setting: &Setting| {
        let runner = setting.environment.yore(["doctor", "--json"]);
        let runner = runner.env("YORE_PROXY__ENABLED", "true").env("YORE_PROXY__UPSTREAMS", &setting.upstreams);
        let told = runner.run().json();
        let of_proxy = |told: &&Value| told["code"] == "proxy";
        told.as_array().unwrap().iter().filter(of_proxy).map(|told| told["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(doctor(&setting), ["the proxy is on, and not open"]);
    let daemon = setting.daemon();
    let told = doctor(&setting);
    assert!(told[0].starts_with("the proxy is open at http://127.0.0.1:"), "{told:?}");
    assert!(told.iter().any(|text| text == "the proxy reaches openai (status 200)"), "{told:?}");
    daemon.stop();
}

#[test]
fn requests_go_on_while_the_disk_is_full_and_their_words_are_archived_later() {
    let setting = Setting::new();
    let Some(faults) = Faults::below(&[&setting.environment.data()]) else { return };
    setting.daemon_with(faults.environment(None)).stop();
    let began = faults.count();
    let daemon = setting.daemon_with(faults.environment(Some((began + 8, Fault::Full))));
    let with = setting.address(&["openai", "--here", "--memory"]);
    let mut messages = Vec::new();
    for number in 0..8 {
        messages.push(message("user", &format!("why do we keep the tide tables in sqlite, number {number}?")));
        let body = json!({"model": "gpt-test", "messages": messages}).to_string();
        let answer: Value = serde_json::from_str(&request("POST", &format!("{with}/chat/completions"), KEY, &body)).unwrap();
        assert!(setting.last().body.contains(&format!("number {number}?")), "the request went on");
        messages.push(message("assistant", answer["choices"][0]["message"]["content"].as_str().unwrap()));
    }
    drop(daemon);
    let daemon = setting.daemon();
    messages.push(message("user", "and is the disk mended?"));
    let body = json!({"model": "gpt-test", "messages": messages}).to_string();
    request("POST", &format!("{}/chat/completions", setting.address(&["openai", "--here"])), KEY, &body);
    let sessions = setting.archived(18);
    let said: Vec<&String> = sessions.iter().flatten().collect();
    for number in 0..8 {
        let words = format!("why do we keep the tide tables in sqlite, number {number}?");
        assert_eq!(said.iter().filter(|said| said.contains(&words)).count(), 1, "{words}: {said:?}");
    }
    daemon.stop();
}

#[test]
fn a_daemon_that_is_killed_in_the_middle_of_a_stream_is_seen_and_the_next_one_serves_the_same_address() {
    let setting = Setting::new();
    let (release, is_released) = std::sync::mpsc::channel::<()>();
    let address = listening_raw(move |_, _, stream| {
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n8\r\ndata: 1\n\r\n"
        );
        let _ = stream.flush();
        let _ = is_released.recv();
    });
    let upstreams = format!("[\"router={address}\"]");
    let start = || {
        let runner = quick(&setting.environment, &["daemon", "start", "--foreground"]).env("YORE_PROXY__ENABLED", "true");
        Daemon::of(&setting.environment, runner.env("YORE_PROXY__UPSTREAMS", &upstreams))
    };
    let daemon = start();
    let shown = setting.environment.yore(["proxy", "env", "router", "--json"]).env("YORE_PROXY__UPSTREAMS", &upstreams);
    let base = shown.run().success().json()[0]["value"].as_str().unwrap().to_owned();
    let (host, path) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut client = std::net::TcpStream::connect(host).unwrap();
    let _ = write!(
        client,
        "POST /{path}/v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    let mut first = [0; 4_096];
    let mut seen = String::new();
    while !seen.contains("data: 1") {
        let read = client.read(&mut first).unwrap();
        assert!(read > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&first[..read]));
    }
    daemon.kill();
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    assert!(!rest.ends_with(b"0\r\n\r\n"), "it is no clean end: {rest:?}");
    let daemon = start();
    let state = setting.environment.yore(["proxy", "--json"]).run().success().json();
    assert!(base.starts_with(state["address"].as_str().unwrap()), "{base} {state}");
    drop(release);
    daemon.stop();
}

#[test]
fn memory_of_one_project_is_not_given_in_another_and_none_where_a_project_forbids_it() {
    let setting = Setting::new();
    let _daemon = setting.daemon();
    let base = setting.address(&["codex", "--memory"]);
    assert!(!base.contains("/in/"), "{base}");
    let ask = |project: &str| {
        let directory = setting.environment.path("work").join(project);
        let rules = format!("Working directory: {}\n{}", directory.display(), "Follow the rules. ".repeat(300));
        let messages = [message("system", &rules), message("user", "why do we keep the tide tables in sqlite?")];
        let body = json!({"model": "gpt-test", "messages": messages}).to_string();
        request("POST", &format!("{base}/chat/completions"), "User-Agent: codex-tui/1.0\r\n", &body);
        setting.last().body.contains(REASON)
    };
    assert!(ask("tide"));
    assert!(!ask("reef") && !ask("none"), "the same words in another project");
    setting.environment.write("work/tide/.yore.toml", "[inject]\nenabled = false\n");
    setting.environment.write("work/quay/.git/HEAD", "ref: refs/heads/main\n");
    assert!(!ask("quay"));
    until("the project's settings are read", || !ask("tide"));
}

#[test]
fn rules_of_capture_hold_for_what_goes_through_as_soon_as_they_change() {
    let setting = Setting::new();
    let _daemon = setting.daemon();
    let base = setting.address(&["openai", "--here"]);
    let say = |said: &str| {
        let body = json!({"model": "gpt-test", "messages": [message("user", said)]}).to_string();
        request("POST", &format!("{base}/chat/completions"), KEY, &body);
    };
    setting.environment.yore(["capture", "off"]).run().success();
    say("said while capture is off");
    setting.environment.yore(["capture", "on"]).run().success();
    say("said while capture is on");
    let sessions = setting.archived(2);
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!(sessions[0][0], "said while capture is on");
}

#[test]
fn an_answer_that_is_given_anew_and_another_question_of_the_same_words_take_no_words_away() {
    let setting = Setting::new();
    let _daemon = setting.daemon();
    let base = setting.address(&["openai", "--here"]);
    let ask = |system: &str| {
        let body = json!({"model": "gpt-test", "messages": [message("system", system), message("user", "tell me of the pier")]});
        request("POST", &format!("{base}/chat/completions"), KEY, &body.to_string());
    };
    for system in ["You help.", "You help.", "You criticize."] {
        ask(system);
    }
    let sessions = setting.archived(5);
    let answers: Vec<&String> = sessions.iter().flatten().filter(|words| words.starts_with("Answer")).collect();
    assert_eq!((sessions.len(), answers.len()), (2, 3), "{sessions:?}");
}

#[test]
fn answers_of_several_items_are_recognized_when_they_come_back() {
    let setting = Setting::new();
    let _daemon = setting.daemon();
    let base = setting.address(&["openai", "--here"]);
    let mut items: Vec<Value> = Vec::new();
    for said in ["go on", "go on", "and the buoy?"] {
        items.push(json!({"role": "user", "content": [{"type": "input_text", "text": said}]}));
        let body = json!({"model": "gpt-test", "input": items}).to_string();
        let answer: Value = serde_json::from_str(&request("POST", &format!("{base}/responses"), KEY, &body)).unwrap();
        items.extend(answer["output"].as_array().unwrap().clone());
    }
    // The server has the earlier items now.
    let previous = format!("resp_{}", setting.got.lock().unwrap().len());
    for said in ["yes", "yes"] {
        let body = json!({"model": "gpt-test", "previous_response_id": previous, "input": said}).to_string();
        request("POST", &format!("{base}/responses"), KEY, &body);
    }
    let sessions = setting.archived(9);
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!(sessions[0].iter().filter(|words| *words == "go on").count(), 2, "{sessions:?}");
    assert_eq!(sessions[0].iter().filter(|words| words.starts_with("Answer")).count(), 5, "{sessions:?}");
}

#[test]
fn the_proxy_opens_on_a_computer_without_any_history_and_closes_again() {
    let environment = TestEnvironment::new();
    let opened = environment.yore(["proxy", "on"]).run().success();
    assert!(opened.stdout.contains("http://127.0.0.1:"), "{opened:?}");
    let shown = environment.yore(["proxy", "env", "cline"]).run().success().stdout;
    assert!(shown.contains("export OPENAI_BASE_URL=") && shown.contains("/as/cline/openai/v1"), "{shown}");
    environment.yore(["proxy", "off"]).run().success();
    assert_eq!(environment.yore(["proxy"]).run().code(), "proxy/closed");
    environment.yore(["daemon", "stop"]).run().success();
}

#[test]
fn rules_that_a_client_repeats_after_a_prompt_hide_it_from_nobody() {
    let setting = Setting::new();
    let _daemon = setting.daemon();
    let with = setting.address(&["openai", "--memory"]);
    let question = "why do we keep the tide tables in sqlite?";
    let reminder = "To suggest changes to a file you MUST return the entire content of the updated file.\n\nNever leave out any lines of it.";
    let system = message("system", &format!("You help.\n\n{reminder}"));
    let ask = |messages: &[&Value]| {
        request(
            "POST",
            &format!("{with}/chat/completions"),
            KEY,
            &json!({"model": "gpt-test", "messages": messages}).to_string(),
        );
        setting.last().body
    };
    assert!(
        ask(&[&system, &message("user", question), &message("system", "Be brief.")]).contains(REASON),
        "a system message at the end"
    );
    assert!(
        ask(&[&system, &message("user", &format!("{question}\n\n{reminder}"))]).contains(REASON),
        "rules in the same message"
    );
    let context = message("user", "<environment_context>\n  <shell>bash</shell>\n</environment_context>");
    assert!(ask(&[&system, &context, &message("user", question)]).contains(REASON), "a message of the client before");
}

#[test]
fn a_hook_that_comes_later_takes_nothing_away_and_is_added_to_by_nothing() {
    let setting = Setting::new();
    let _daemon = setting.daemon();
    let mut client = Client { base: setting.address(&["anthropic", "--memory"]), messages: Vec::new() };
    client.say(json!("why do we keep the tide tables in sqlite?"), false);
    let first = without_marks(&setting.last().json()["messages"][0]);
    assert!(first.to_string().contains(REASON), "{first}");
    client
        .say(json!("where should the leases be kept?\n<recalled-data source=\"yore\">\nsaid by a hook\n</recalled-data>"), false);
    let body = setting.last().json();
    assert_eq!(without_marks(&body["messages"][0]), first, "it stands in the provider's cache");
    assert_eq!(body["messages"][2].to_string().matches("<recalled-data").count(), 1, "{body}");
    // Words about the mark are no hook.
    client.messages.clear();
    client.say(json!("why do we keep the tide tables in sqlite, and what is recalled-data?"), false);
    assert!(setting.last().body.contains(REASON));
}
