//! A language model as a person uses it: configured, limited, asked, and kept out of the memory.

#![cfg(unix)]

use std::sync::{Arc, Mutex};

use serde_json::Value;
use yore_testing::{listening_raw, write_answer};

use crate::environment::{Runner, TestEnvironment};
use crate::transcript::Transcript;

const ORDER: &str = "keep the berth leases in SQLite, Redis loses them when the harbour box restarts";

fn memory() -> TestEnvironment {
    let environment = TestEnvironment::new();
    Transcript::new("5f0c0010-0001-4000-8001-000000000001", "/home/dev/harbour")
        .human(ORDER)
        .assistant("The leases live in SQLite now.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
    environment
}

/// A call with a program as the model, which answers with the content of `answer.json` and notes that it was asked.
fn with_model(environment: &TestEnvironment, arguments: &[&str]) -> Runner {
    let answer = environment.path("answer.json");
    let log = environment.path("asked");
    let prompt = environment.path("prompt");
    let script = format!("cat > '{}'; pwd >> '{}'; cat '{}'", prompt.display(), log.display(), answer.display());
    let command = serde_json::json!(["/bin/sh", "-c", script]).to_string();
    environment.yore(arguments.iter().copied()).env("YORE_LLM__PROVIDER", "command").env("YORE_LLM__COMMAND", command)
}

fn answer(environment: &TestEnvironment) {
    let found = serde_json::json!({
        "items": [{"ref": null, "kind": "decision", "statement": "Berth leases live in SQLite, because Redis loses them on a restart.",
            "line": 1, "quote": "Redis loses them when the harbour box restarts", "entities": ["SQLite"],
            "confidence": 0.9, "closed": null}],
        "relations": [], "topic": {"name": "Berth leases", "summary": "Leases moved to SQLite."}
    });
    environment.write("answer.json", format!("Here it is:\n```json\n{found}\n```\n"));
}

fn asked(environment: &TestEnvironment) -> usize {
    std::fs::read_to_string(environment.path("asked")).map_or(0, |log| log.lines().count())
}

#[test]
fn nothing_is_asked_before_a_limit_is_set_and_the_ledger_tells_what_was_taken() {
    let environment = memory();
    answer(&environment);
    let none = environment.yore(["extract", "--all", "--extractor", "model"]).run().ends_with(2);
    assert!(none.stderr.contains("no language model is configured"), "{}", none.stderr);
    let refused = with_model(&environment, &["extract", "--all", "--extractor", "model"]).run().ends_with(1);
    assert!(refused.stdout.contains("the limit is 0 tokens a day"), "{}", refused.stdout);
    assert_eq!(asked(&environment), 0);
    let _ = environment.yore(["budget", "set", "--tokens", "50000"]).run().success();
    let _ = environment.yore(["budget", "off"]).run().success();
    let off = with_model(&environment, &["extract", "--all", "--extractor", "model"]).run().ends_with(1);
    assert!(off.stdout.contains("switched off"), "{}", off.stdout);
    assert_eq!(asked(&environment), 0);
    let _ = environment.yore(["budget", "on"]).run().success();
    let done = with_model(&environment, &["extract", "--all", "--extractor", "model", "--json"]).run().success().json();
    assert_eq!((&done["answers"], &done["recorded"], &done["stopped"]), (&1.into(), &1.into(), &Value::Null), "{done}");
    assert_eq!(asked(&environment), 1);
    let again = with_model(&environment, &["extract", "--all", "--extractor", "model", "--json"]).run().success().json();
    assert_eq!((&again["answers"], &again["unchanged"]), (&0.into(), &1.into()), "{again}");
    let today = environment.yore(["budget", "--json"]).run().success().json();
    assert_eq!(
        (&today["daily_tokens"], &today["today"]["calls"], &today["today"]["estimated"]),
        (&50_000.into(), &1.into(), &true.into()),
        "{today}"
    );
    assert!(today["today"]["input_tokens"].as_u64().unwrap() > 500, "{today}");
    let rows = environment.yore(["budget", "history", "--json"]).run().success().json();
    assert_eq!(
        (&rows[0]["purpose"], &rows[0]["model"], &rows[0]["project"]),
        (&"extract".into(), &"command".into(), &"harbour".into()),
        "{rows}"
    );
    let told = environment.yore(["recall", "--all", "berth leases"]).run().success().stdout;
    assert!(told.contains("Berth leases live in SQLite, because Redis loses them on a restart."), "{told}");
    environment.is_sound();
}

#[test]
fn a_model_is_listed_and_tried() {
    let environment = memory();
    let listed = environment.yore(["models", "providers"]).run().success().stdout;
    for name in ["anthropic", "ollama", "openai-compatible", "claude", "folder"] {
        assert!(listed.lines().any(|line| line.starts_with(name)), "{name}: {listed}");
    }
    environment.write("answer.json", "{\"sum\": 42}");
    let limit = |runner: Runner| runner.env("YORE_LLM__DAILY_TOKENS", "50000");
    let tried = limit(with_model(&environment, &["models", "test", "--json"])).run().success().json();
    assert_eq!((&tried["tiers"][0]["tier"], &tried["tiers"][0]["works"]), (&"prompt".into(), &true.into()), "{tried}");
    environment.write("answer.json", "{\"sum\": 41}");
    let wrong = limit(with_model(&environment, &["models", "test"])).run().ends_with(1);
    assert!(wrong.stdout.contains("19 + 23 is not 41"), "{}", wrong.stdout);
    let keyless = environment.yore(["models", "test"]).env("YORE_LLM__PROVIDER", "anthropic").env("YORE_LLM__MODEL", "m");
    let keyless = limit(keyless);
    let priceless = limit(environment.yore(["models", "test", "--json"]))
        .env("YORE_LLM__PROVIDER", "anthropic")
        .env("YORE_LLM__MODEL", "m")
        .run()
        .ends_with(2);
    assert!(priceless.stderr.contains("the price of anthropic/m is not known"), "{}", priceless.stderr);
    let keyless = keyless.env("YORE_LLM__PRICES", "anthropic/*=0/0").env("PATH", "/nowhere").run().ends_with(2);
    assert!(keyless.stderr.contains("ANTHROPIC_API_KEY is not set"), "{}", keyless.stderr);
    let unknown = environment.yore(["models", "test"]).env("YORE_LLM__PROVIDER", "tide").run().ends_with(2);
    assert!(unknown.stderr.contains("there is no provider \"tide\""), "{}", unknown.stderr);
}

#[test]
fn what_a_program_records_of_its_own_call_is_not_remembered_and_its_hooks_are_silent() {
    let environment = memory();
    let work = environment.data().join("llm-work");
    Transcript::new("5f0c0010-0001-4000-8001-000000000002", work.to_str().unwrap())
        .human("the lines of a session about a crane")
        .assistant("{\"items\": []}")
        .write(&environment.projects());
    let _ = environment.yore(["ingest"]).arg(environment.projects()).run().success();
    let _ = environment.yore(["recall", "--all", "crane"]).run().ends_with(1);
    let said = serde_json::json!({"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/home/dev/harbour"}).to_string();
    let hook = |runner: Runner| runner.stdin(said.as_bytes()).run().success().stdout;
    assert!(hook(environment.yore(["hook", "claude-code", "SessionStart"])).contains("SQLite"));
    assert_eq!(hook(environment.yore(["hook", "claude-code", "SessionStart"]).env("YORE_SILENT", "1")), "");
}

#[test]
fn processes_share_the_limit_of_a_day() {
    let environment = memory();
    for seed in 10..18 {
        Transcript::new(&format!("5f0c0010-0001-4000-8001-0000000000{seed}"), "/home/dev/harbour")
            .human(&format!("{ORDER} (part {seed})"))
            .assistant("The leases live in SQLite now.")
            .write(&environment.projects());
    }
    environment.ingest(&environment.projects());
    environment.write("answer.json", "{\"sum\": 42}");
    let limit = |runner: Runner| runner.env("YORE_LLM__DAILY_TOKENS", "9000");
    // A test of the model reserves more than 2,000 tokens, and takes some 40.
    let children: Vec<_> = (0..8).map(|_| limit(with_model(&environment, &["models", "test", "--json"])).start()).collect();
    for child in children {
        let _ = child.wait_with_output().unwrap();
    }
    let spent = limit(environment.yore(["budget", "--json"])).run().success().json();
    let (calls, asked) = (spent["today"]["calls"].as_u64().unwrap(), asked(&environment) as u64);
    assert_eq!(calls, asked, "every call that was made is booked: {spent}");
    assert!(calls >= 1, "{spent}");
    let taken = spent["today"]["input_tokens"].as_u64().unwrap() + spent["today"]["output_tokens"].as_u64().unwrap();
    assert!(taken <= 9_000, "{spent}");
}

#[test]
fn a_key_comes_from_the_systems_keyring_and_stands_in_no_file() {
    let environment = memory();
    // Stands for the desktop's own program.
    let tool = environment.path("bin/secret-tool");
    let store = environment.path("keyring");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in store) cat > '{store}' ;; lookup) cat '{store}' ;; *) exit 1 ;; esac\n",
        store = store.display()
    );
    environment.write("bin/secret-tool", script);
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let path = format!("{}:{}", environment.path("bin").display(), std::env::var("PATH").unwrap());
    let put = environment.yore(["models", "key", "anthropic"]).env("PATH", &path).stdin(b"sk-tide-secret\n".as_slice());
    let _ = put.run().success();
    assert_eq!(std::fs::read_to_string(&store).unwrap(), "sk-tide-secret");
    let unknown = environment.yore(["models", "key", "ollama"]).env("PATH", &path).stdin(b"x".as_slice()).run().ends_with(2);
    assert!(unknown.stderr.contains("that needs a key"), "{}", unknown.stderr);
    let (address, heads) = listening(
        r#"{"content": [{"type": "text", "text": "{\"sum\": 42}"}], "usage": {"input_tokens": 5, "output_tokens": 5}}"#,
    );
    let tried = environment
        .yore(["models", "test"])
        .env("PATH", &path)
        .env("YORE_LLM__PROVIDER", "anthropic")
        .env("YORE_LLM__MODEL", "m-1")
        .env("YORE_LLM__ADDRESS", &address)
        .env("YORE_LLM__DAILY_TOKENS", "50000");
    let _ = tried.run().success();
    assert!(heads.lock().unwrap()[0].to_ascii_lowercase().contains("x-api-key: sk-tide-secret"));
    let found = std::process::Command::new("grep").args(["-rl", "sk-tide-secret"]).arg(environment.data()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

/// A server on this computer that gives every request this answer, and notes its head and body.
fn listening(answer: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&heads);
    let address = listening_raw(move |head, body, stream| {
        let count = serde_json::from_str::<Value>(body).map_or(1, |body| body["input"].as_array().map_or(1, Vec::len));
        noted.lock().unwrap().push(format!("{head}{body}"));
        write_answer(stream, "200 OK", "", &answer.replace("VECTORS", &vec!["[0.6, 0.8, 0.0]"; count].join(",")));
    });
    (address, heads)
}

#[test]
fn names_of_models_are_checked_when_they_are_set() {
    let environment = memory();
    for (key, value, told) in [
        ("llm.provider", "antropic", "there is no provider"),
        ("llm.uses", "[\"extract=tide/m\"]", "there is no provider"),
        ("llm.uses", "[\"tide=ollama\"]", "there is no purpose"),
        ("llm.prices", "[\"openai/m=cheap\"]", "is no number of dollars"),
        ("models.embedder", "anthropic/m", "is no server for this"),
        ("models.reranker", "cohere/", "lacks a model"),
    ] {
        let refused = environment.yore(["config", "set", key, value]).run().ends_with(2);
        assert!(refused.stderr.contains(told), "{key} {value}: {}", refused.stderr);
    }
    let _ = environment.yore(["config", "set", "llm.uses", "[\"extract@harbour=none\"]"]).run().success();
    answer(&environment);
    let limit = |runner: Runner| runner.env("YORE_LLM__DAILY_TOKENS", "50000");
    let left = limit(with_model(&environment, &["extract", "--all", "--extractor", "model"])).run().success();
    assert!(left.stdout.contains("1 session left out: nobody reads"), "{}", left.stdout);
    assert_eq!(asked(&environment), 0);
}

#[test]
fn vectors_come_from_a_server_and_recall_uses_them() {
    let environment = memory();
    let (address, heads) = listening(r#"{"embeddings": [VECTORS], "prompt_eval_count": 7}"#);
    let with_server = |arguments: &[&str]| {
        let runner = environment.yore(arguments.iter().copied());
        runner
            .env("YORE_MODELS__EMBEDDER", "ollama/nomic-embed-text")
            .env("YORE_MODELS__EMBEDDER_ADDRESS", &address)
            .env("YORE_LLM__DAILY_TOKENS", "50000")
    };
    let none = environment.yore(["embed"]).env("YORE_MODELS__EMBEDDER", "ollama/nomic-embed-text").run();
    assert!(none.stderr.contains("0 tokens a day"), "{}", none.stderr);
    let done = with_server(&["embed", "--json"]).run().success().json();
    assert_eq!((&done["waiting"], &done["failed"]), (&0.into(), &0.into()), "{done}");
    let full =
        with_server(&["recall", "--all", "--embedder", "local", "where do berth leases live", "--json"]).run().success().json();
    assert_eq!(full["program"], "full", "{full}");
    assert!(full["missing"].as_array().is_none_or(Vec::is_empty), "{full}");
    let asked = heads.lock().unwrap().len();
    assert!(heads.lock().unwrap()[0].starts_with("POST /api/embed "));
    let rows = with_server(&["budget", "history", "--json"]).run().success().json();
    assert_eq!((&rows[0]["purpose"], &rows[0]["model"]), (&"embed".into(), &"ollama/nomic-embed-text".into()), "{rows}");
    let plain = with_server(&["recall", "--all", "where do berth leases live"]).run().success();
    assert!(plain.stdout.contains("SQLite"));
    assert_eq!(heads.lock().unwrap().len(), asked, "only full recall asks the server");
}

#[test]
fn extractors_are_measured_side_by_side_and_recorded_answers_replayed() {
    let environment = memory();
    answer(&environment);
    let path = environment.projects();
    let path = path.to_str().unwrap();
    let limit = |runner: Runner| runner.env("YORE_LLM__DAILY_TOKENS", "50000");
    let (out, kept) = (environment.path("out"), environment.path("kept"));
    let (out, kept) = (out.to_str().unwrap(), kept.to_str().unwrap());
    let both =
        ["eval", "extraction", path, "--extractor", "rules", "--extractor", "model", "--out", out, "--record", kept, "--json"];
    let measured = limit(with_model(&environment, &both)).run().success().json();
    assert_eq!((&measured[0]["extractor"], &measured[1]["model"]), (&"rules".into(), &"command".into()), "{measured}");
    assert_eq!((&measured[1]["proposals"], &measured[1]["calls"]), (&1.into(), &1.into()), "{measured}");
    let proposals = std::fs::read_to_string(environment.path("out/model.jsonl")).unwrap();
    assert!(proposals.contains("Berth leases live in SQLite") && proposals.contains("Redis loses them when"), "{proposals}");
    let today = environment.yore(["budget", "--json"]).run().success().json();
    assert_eq!(today["today"]["calls"], 1, "booked in the person's own ledger: {today}");
    let replay = ["eval", "extraction", path, "--extractor", "model", "--out", out, "--replay", kept, "--json"];
    let again = environment.yore(replay).run().success().json();
    assert_eq!((&again[0]["proposals"], &again[0]["model"]), (&1.into(), &"command".into()), "{again}");
    assert_eq!(std::fs::read_to_string(environment.path("out/model.jsonl")).unwrap(), proposals);
    assert_eq!(asked(&environment), 1);
    let table = environment.yore(["eval", "extraction", path, "--out", out]).run().success().stdout;
    assert!(table.lines().any(|line| line.starts_with("rules")), "{table}");
    let _ = environment.yore(["eval"]).run().ends_with(2);
}

#[test]
fn doctor_names_the_model_and_connects_only_when_it_is_asked() {
    let environment = memory();
    let (address, heads) = listening("{\"data\": []}");
    let doctor = |arguments: &[&str], tokens: &str| {
        let runner = environment.yore(["doctor", "--json"]).args(arguments.iter().copied());
        let runner = runner.env("YORE_LLM__PROVIDER", "openai-compatible").env("YORE_LLM__MODEL", "m-1");
        let told = runner.env("YORE_LLM__ADDRESS", &address).env("YORE_LLM__DAILY_TOKENS", tokens).run().json();
        let found = told.as_array().unwrap().iter().find(|finding| finding["code"] == "model").unwrap().clone();
        (found["severity"].as_str().unwrap().to_owned(), found["text"].as_str().unwrap().to_owned())
    };
    let (severity, text) = doctor(&[], "5000");
    assert_eq!((severity.as_str(), text.as_str()), ("note", "openai-compatible/m-1 may take 5,000 tokens a day"));
    let (_, text) = doctor(&["--models"], "0");
    assert!(text.contains("is not called: the limit is 0 tokens a day"), "{text}");
    assert_eq!(heads.lock().unwrap().len(), 0);
    let (severity, text) = doctor(&["--models"], "5000");
    assert!(severity == "fine" && text.ends_with("its server answers"), "{severity} {text}");
    assert!(heads.lock().unwrap()[0].starts_with("GET /models "));
}

#[test]
fn sessions_are_summarised_and_their_topics_named_by_the_model_until_they_go_on() {
    let environment = memory();
    let named = serde_json::json!({"session": {"title": "Leases out of Redis", "summary": "SQLite keeps the leases now."},
        "topics": [{"number": 1, "name": "Berth leases in SQLite", "summary": "Leases moved, because Redis lost them."}]});
    environment.write("answer.json", named.to_string());
    let limit = |runner: Runner| runner.env("YORE_LLM__DAILY_TOKENS", "50000");
    let told = limit(with_model(&environment, &["topics", "--summarise"])).run().success();
    assert!(told.stderr.contains("1 session summarised, 1 topic named"), "{}", told.stderr);
    assert!(told.stdout.contains("SQLite keeps the leases now."), "{}", told.stdout);
    assert!(told.stdout.contains("Berth leases in SQLite") && told.stdout.contains("Leases moved"), "{}", told.stdout);
    let again = limit(with_model(&environment, &["topics", "--summarise"])).run().success();
    assert!(again.stdout.contains("Berth leases in SQLite"));
    assert_eq!(asked(&environment), 1);
    let rows = environment.yore(["budget", "history", "--json"]).run().success().json();
    assert_eq!(rows[0]["purpose"], "summarise", "{rows}");
    let listed = environment.yore(["sessions", "--json"]).run().success().json();
    assert_eq!(listed[0]["title"], "Leases out of Redis", "{listed}");
    // It goes on.
    Transcript::new("5f0c0010-0001-4000-8001-000000000001", "/home/dev/harbour")
        .human(ORDER)
        .assistant("The leases live in SQLite now.")
        .human("and the tide table?")
        .assistant("In SQLite, too.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
    let more = serde_json::json!({"session": {"title": "Leases and tides", "summary": "Both are in SQLite."}, "topics": []});
    environment.write("answer.json", more.to_string());
    let told = limit(with_model(&environment, &["topics", "--summarise", "--json"])).run().success().json();
    assert_eq!(told[0]["summary"], "Both are in SQLite.", "{told}");
    assert_eq!(asked(&environment), 2);
    let prompt = std::fs::read_to_string(environment.path("prompt")).unwrap();
    assert!(prompt.contains("and the tide table?") && prompt.contains("SQLite keeps the leases now."), "{prompt}");
    let _ = limit(with_model(&environment, &["topics", "--summarise"])).run().success();
    assert_eq!(asked(&environment), 2);
    let _ = environment.yore(["forget", "--hard", "--yes", "5f0c0010-0001-4000-8001-000000000001"]).run().success();
    let found = std::process::Command::new("grep")
        .args(["-rlaE", "Both are in SQLite|Leases and tides"])
        .arg(environment.data())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "a summary goes with its session");
    let refused = limit(with_model(&environment, &["extract", "--all", "--extractor", "model", "--batch"])).run().ends_with(2);
    assert!(refused.stderr.contains("takes no batches"), "{}", refused.stderr);
}

#[test]
fn a_model_compares_memories_once_and_never_retires_a_persons_word() {
    let environment = memory();
    let remember = |statement: &str| {
        let done = environment.yore(["remember", "--kind", "fact", "--json", statement]).run().success().json();
        done["memory"].as_str().unwrap().to_owned()
    };
    let older = remember("The harbour box is reached at quay-1.");
    let newer = remember("Since the move, the harbour box stands at pier 4 and is reached there.");
    let short = |id: &str| id[id.len() - 10..].to_owned();
    let decided = serde_json::json!({"decisions": [
        {"memory": short(&newer), "decision": "update", "other": short(&older), "reason": "the box moved from quay-1 to pier 4"}]});
    environment.write("answer.json", decided.to_string());
    let none = environment.yore(["consolidate"]).run().ends_with(2);
    assert!(none.stderr.contains("no language model is configured"), "{}", none.stderr);
    let limit = |runner: Runner| runner.env("YORE_LLM__DAILY_TOKENS", "50000");
    let told = limit(with_model(&environment, &["consolidate"])).run().success().stdout;
    assert!(
        told.contains("2 memories compared with 1 call: 0 replaced or closed, 0 known twice, 0 added to, 1 contradicted"),
        "{told}"
    );
    assert!(told.contains("the box moved from quay-1 to pier 4 (yore conflicts)"), "{told}");
    let shown = environment.yore(["show", short(&older).as_str()]).run().success().stdout;
    assert!(shown.contains("the box moved from quay-1 to pier 4"), "{shown}");
    let listed = environment.yore(["conflicts", "list"]).run().success().stdout;
    assert!(listed.contains("quay-1") && listed.contains("pier 4"), "{listed}");
    let again = limit(with_model(&environment, &["consolidate", "--json"])).run().success().json();
    assert_eq!((&again["compared"], &again["consolidation"]["calls"]), (&0.into(), &0.into()), "{again}");
    assert_eq!(asked(&environment), 1);
    let rows = environment.yore(["budget", "history", "--json"]).run().success().json();
    assert_eq!(rows[0]["purpose"], "judge", "{rows}");
}

#[test]
fn an_empty_summary_is_no_answer_and_is_not_paid_for_again() {
    let environment = memory();
    environment.write("answer.json", "{\"session\": {\"title\": \" \", \"summary\": \"\"}, \"topics\": []}");
    let run = || with_model(&environment, &["topics", "--summarise"]).env("YORE_LLM__DAILY_TOKENS", "500000").run();
    let failed = run().ends_with(1);
    assert!(failed.stderr.contains("session.title or session.summary is empty"), "{}", failed.stderr);
    let count = asked(&environment);
    assert!(run().success().stderr.contains("0 sessions summarised"));
    assert_eq!(asked(&environment), count, "until the session goes on");
}

#[test]
fn an_answer_in_the_folder_without_the_form_is_named_and_another_one_is_taken() {
    let environment = memory();
    let with_folder = || {
        let runner = environment.yore(["extract", "--all", "--extractor", "model"]);
        runner.env("YORE_LLM__PROVIDER", "folder").env("YORE_LLM__DAILY_TOKENS", "50000")
    };
    let told = with_folder().run().success().stdout;
    assert!(told.contains("1 session waits for an answer"), "{told}");
    let folder = environment.data().join("llm");
    let request = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let at = |ending: &str| std::path::PathBuf::from(request.to_str().unwrap().replace("request.json", ending));
    std::fs::write(at("answer.json"), "{\"items\": 3}").unwrap();
    let told = with_folder().run().ends_with(1).stdout;
    let kept = at("answer.rejected");
    assert!(told.contains("has not the form") && told.contains(kept.to_str().unwrap()) && kept.exists(), "{told}");
    assert!(with_folder().run().success().stdout.contains("1 session waits for an answer"));
    answer(&environment);
    std::fs::copy(environment.path("answer.json"), at("answer.txt")).unwrap();
    // A text that is new may still be written.
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    let told = with_folder().run().success().stdout;
    assert!(told.contains("1 memory new"), "{told}");
}

#[test]
fn an_answer_of_the_model_keeps_only_sentences_that_the_memory_supports_and_a_simple_question_calls_none() {
    let environment = memory();
    let sentence = |text: &str, source: u32| serde_json::json!({"text": text, "sources": [source]});
    let written = serde_json::json!({"is_known": true, "sentences": [
        sentence("Redis loses the leases when the harbour box restarts, so they stay in SQLite.", 1),
        sentence("Redis lost 17 leases.", 1),
        sentence("Postgres would have needed an operator.", 1),
        sentence("The leases live in SQLite now.", 9),
    ]});
    environment.write("answer.json", written.to_string());
    let ask = |arguments: &[&str], tokens: &str| {
        let arguments = [&["ask", "--all", "why are the berth leases kept in SQLite"], arguments].concat();
        with_model(&environment, &arguments).env("YORE_LLM__DAILY_TOKENS", tokens).run()
    };
    let told = ask(&["--json"], "50000").success().json();
    assert_eq!((&told["model"], &told["unsupported"]), (&"command".into(), &3.into()), "{told}");
    let sentences = told["sentences"].as_array().unwrap();
    assert_eq!((sentences.len(), &sentences[0]["sources"]), (1, &serde_json::json!([1])), "{told}");
    let prompt = std::fs::read_to_string(environment.path("prompt")).unwrap();
    assert!(prompt.contains("Redis loses them when the harbour box restarts"), "{prompt}");
    let rows = environment.yore(["budget", "history", "--json"]).run().success().json();
    assert_eq!(rows[0]["purpose"], "ask", "{rows}");
    assert_eq!(asked(&environment), 1);
    for own_words in [ask(&["--no-model"], "50000"), ask(&["--depth", "preview"], "50000")] {
        assert!(own_words.success().stdout.contains("Redis loses them when the harbour box restarts"));
    }
    let limited = ask(&[], "0").success();
    assert!(
        limited.stderr.contains("the model did not answer") && limited.stdout.contains("Redis loses them"),
        "{}",
        limited.stderr
    );
    assert_eq!(asked(&environment), 1);
    let kept = with_model(&environment, &["ask", "--all", "why are the berth leases kept in SQLite"]);
    let kept = kept.env("YORE_LLM__DAILY_TOKENS", "50000").env("YORE_LLM__USES", "[\"*@harbour=none\"]").run().success();
    assert!(kept.stderr.contains("no model may read this project"), "{}", kept.stderr);
    assert_eq!(asked(&environment), 1);
    environment.write("answer.json", serde_json::json!({"is_known": false, "sentences": []}).to_string());
    let unknown = ask(&[], "50000").ends_with(1);
    assert!(unknown.stdout.contains("Nothing is known about it"), "{}", unknown.stdout);
    assert_eq!(asked(&environment), 2);
}
