//! The recursive lane by its commands: answers by each strategy over HTTP, Python that a model writes and its limits, runs made again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use yore_testing::{SessionBuilder, listening, write_answer};

use crate::environment::{Runner, TestEnvironment};
use crate::transcript::Transcript;

/// A computer with a session in which cranes are repaired, and a model that answers with these cells, one a turn.
fn computer(cells: &[&str]) -> (TestEnvironment, String, Arc<Mutex<Vec<Value>>>) {
    let mut session = Transcript::new("5f0c0100-0101-4000-8001-000000000001", "/home/dev/harbour");
    for at in 0..30 {
        let said = if at % 5 == 0 { format!("crane {at} is repaired, log it") } else { format!("ferry {at} is late again") };
        session = session.human(&said).assistant("Logged.");
    }
    computer_with(session, cells, "repaired")
}

/// The same with another session; a piece counts for readers if it has the word.
fn computer_with(session: Transcript, cells: &[&str], word: &'static str) -> (TestEnvironment, String, Arc<Mutex<Vec<Value>>>) {
    let environment = TestEnvironment::new();
    session.write(&environment.projects());
    environment.yore(["up"]).run().success();
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let (noted, cells) = (Arc::clone(&asked), cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>());
    let address = listening(move |_, body, stream| {
        noted.lock().unwrap().push(body.clone());
        let messages = body["messages"].as_array().unwrap();
        let system = messages[0]["content"].as_str().unwrap();
        let last: Value = serde_json::from_str(messages.last().unwrap()["content"].as_str().unwrap()).unwrap_or_default();
        let answer = if system.starts_with("You look through pieces") {
            let pieces = last["pieces"].as_array().unwrap();
            let counts = |piece: &&Value| piece["words"].as_str().unwrap().contains(word);
            let found = |piece: &Value| json!({"piece": piece["piece"], "label": "crane", "quote": piece["words"]});
            json!({"matches": pieces.iter().filter(counts).map(found).collect::<Vec<_>>()}).to_string()
        } else if system
            .starts_with("You answer a question about old conversations of an engineer with coding agents, and from nothing")
        {
            let pieces = last["pieces"].as_array().unwrap();
            let counts = |piece: &&Value| piece["words"].as_str().unwrap().contains(word);
            let evidence: Vec<Value> =
                pieces.iter().filter(counts).map(|piece| json!({"piece": piece["piece"], "quote": piece["words"]})).collect();
            json!({"is_known": true, "answer": evidence.len().to_string(), "evidence": evidence}).to_string()
        } else if system.starts_with("You plan") {
            json!({"operation": "count", "condition": "a crane is repaired", "label": "", "keywords": []}).to_string()
        } else if system.starts_with("You answer one small request") {
            "seven".to_owned()
        } else {
            json!({"code": cells.get(messages.len() / 2 - 1).map_or("", String::as_str)}).to_string()
        };
        let usage = json!({"prompt_tokens": 100, "completion_tokens": 10});
        let said = json!({"choices": [{"message": {"content": answer}, "finish_reason": "stop"}], "usage": usage});
        write_answer(stream, "200 OK", "content-type: application/json\r\n", &said.to_string());
    });
    (environment, address, asked)
}

fn ask(environment: &TestEnvironment, address: &str, arguments: &[&str]) -> Runner {
    let settings = [
        ("YORE_LLM__PROVIDER", "openai-compatible"),
        ("YORE_LLM__MODEL", "gpt-5-rules"),
        ("YORE_LLM__ADDRESS", address),
        ("YORE_LLM__DAILY_TOKENS", "100000000"),
    ];
    settings.into_iter().fold(environment.yore(arguments.iter().copied()), |runner, (name, value)| runner.env(name, value))
}

const CITED: &str = "for i, text in enumerate(context):\n    if 'crane 5 ' in text: cite(i, 'crane 5 is repaired')\n";

#[test]
fn python_of_a_model_looks_around_and_asks_readers() {
    let (environment, address, asked) = computer(&[
        "print(len(context), search('crane 5 '))\nprint(context[recall('which ferry is late')[0]])\nhistory.append('looked')",
        "found = rlm_query('a crane is repaired', [i for i, t in enumerate(context) if 'crane' in t], 'which')\nprint(len(found), history)\nprint(llm_query('how many?', 'data'), llm_query_batched(['a', 'b', 'a']))",
        "for one in found: cite(one['piece'], one['quote'])\nprint(cite(0, 'nobody said this'))\nanswer['content'] = f'{len(found)} cranes'\nanswer['ready'] = True",
    ]);
    let run =
        ask(&environment, &address, &["rlm", "run", "--all", "--strategy", "code", "--json", "how many cranes?"]).run().success();
    let answer = run.json();
    assert_eq!(
        (&answer["answer"], &answer["not_whole"], &answer["refused"]),
        (&"6 cranes".into(), &Value::Null, &1.into()),
        "{answer}"
    );
    assert_eq!(answer["sources"].as_array().unwrap().len(), 6);
    // Three cells, one reader, and each sub-question once.
    assert_eq!(answer["took"]["calls"], 3 + 1 + 3, "{answer}");
    let shown = asked.lock().unwrap()[1]["messages"].to_string();
    assert!(shown.contains("is late again"), "{shown}");
    assert!(run.stderr.contains("turn 2: a cell"), "progress is told: {}", run.stderr);
    let id = answer["run"].as_str().unwrap();
    let shown = environment.yore(["rlm", "show", id]).run().success().stdout;
    assert!(shown.contains("turn 3: a cell") && shown.contains("6 cranes"), "{shown}");
    // Nobody is asked: no model is configured here.
    let again = environment.yore(["rlm", "replay", id, "--json"]).run().success().json();
    assert_eq!(again, answer);
    let listed = environment.yore(["rlm", "show", "--json"]).run().success().json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["run"]), (1, &answer["run"]), "{listed}");
}

const HARBOUR: &str = "5f0c0100-0101-4000-8001-000000000001";

#[test]
fn python_of_a_model_finds_a_needle_in_any_amount() {
    for power in [13, 17, 22] {
        let filler = "the ferry is late and the pier is wet ".repeat((1 << power) / 8 / 38 + 1);
        let filler = &filler[..filler.len().min(4_000)];
        let (turns, mut session) = ((1 << power) / filler.len(), Transcript::new(HARBOUR, "/home/dev/harbour"));
        for turn in 0..turns {
            let needle =
                if turn == turns * 2 / 3 { format!(" The magic number of tidepool is 417{turn}. ") } else { String::new() };
            session = session.human(&format!("{turn}: {filler}{needle}{filler}"));
        }
        let (environment, address, _) = computer_with(
            session,
            &[
                "hits = [i for i, text in enumerate(context) if 'magic number of tidepool' in text]\nprint(len(context), hits)",
                "import re\nfor i in hits:\n    quote = re.search('The magic number of tidepool is [0-9]+', context[i]).group(0)\n    print(cite(i, quote))\n    answer['content'] = quote.split(' ')[-1]\nanswer['ready'] = True",
            ],
            "tidepool",
        );
        let run = ask(&environment, &address, &["rlm", "run", "--all", "--strategy", "code", "--json", "which number?"]).run();
        let answer = run.success().json();
        assert_eq!(answer["answer"], format!("417{}", turns * 2 / 3), "2^{power}: {answer}");
        assert_eq!(
            (answer["sources"].as_array().unwrap().len(), &answer["took"]["calls"]),
            (1, &2.into()),
            "2^{power}: {answer}"
        );
        let again = environment.yore(["rlm", "replay", answer["run"].as_str().unwrap(), "--json"]).run().success().json();
        assert_eq!(again, answer, "2^{power}");
    }
}

#[test]
fn counts_lists_and_pairs_by_python_are_exact_where_the_readers_are() {
    let mut session = Transcript::new(HARBOUR, "/home/dev/harbour");
    let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for at in 0..600 {
        let (user, day) = (format!("user{}", (at * 7 + at / 11) % 9), format!("2026-02-{:02}", at % 28 + 1));
        let asks = ["Where is the anchor", "How many ropes are there", "Who moored it"][(at * 5 + at / 3) % 3];
        session = session.human(&format!("{day} || {user} || {asks}, number {at}?"));
        if asks.starts_with("Where") {
            wanted.entry(user).or_default().insert(format!("{day} {at}"));
        }
    }
    let (environment, address, _) = computer_with(
        session,
        &[
            "print(context[0], len(context))",
            "found = rlm_query('it asks for a place')\nby = {}\nfor one in found:\n    day, user, asked = one['quote'].split(' || ')\n    by.setdefault(user, []).append(day + ' ' + asked.split('number ')[1].strip('?'))\n    cite(one['piece'], one['quote'])\nprint(len(found), len(by))",
            "import json\nusers = sorted(by)\npairs = [[a, b] for i, a in enumerate(users) for b in users[i + 1:] if len(by[a]) > len(by[b])]\nanswer['content'] = json.dumps({'count': len(found), 'by': by, 'pairs': pairs})\nanswer['ready'] = True",
        ],
        "Where is",
    );
    let run = ask(&environment, &address, &["rlm", "run", "--all", "--strategy", "code", "--json", "who asks for places?"]).run();
    let answer = run.success().json();
    let told: Value = serde_json::from_str(answer["answer"].as_str().unwrap()).unwrap_or_else(|_| panic!("{answer}"));
    assert_eq!(told["count"], wanted.values().map(BTreeSet::len).sum::<usize>(), "{answer}");
    let by: BTreeMap<String, BTreeSet<String>> = serde_json::from_value(told["by"].clone()).unwrap();
    assert_eq!(by, wanted);
    let more = |one: &&String, other: &&String| one < other && wanted[*one].len() > wanted[*other].len();
    let pairs =
        wanted.keys().flat_map(|one| wanted.keys().map(move |other| (one, other))).filter(|(one, other)| more(one, other));
    assert_eq!(told["pairs"], json!(pairs.collect::<Vec<_>>()), "{answer}");
    assert_eq!((&answer["refused"], &answer["not_whole"]), (&0.into(), &Value::Null), "{answer}");
}

#[test]
fn python_of_a_model_follows_what_belongs_to_a_piece() {
    let session = Transcript::new(HARBOUR, "/home/dev/harbour")
        .human("Which crane lifts the boats?")
        .assistant("We decided to use crane 5 for the boats.")
        .human("Thanks, and the ferry?")
        .assistant("It is late.");
    let (environment, address, asked) = computer_with(
        session,
        &[
            "at = [i for i, text in enumerate(context) if 'We decided' in text][0]\nprint('expanded', expand(at), 'traced', trace(at), trace(9999))",
            "for i in expand(at): print(cite(i, context[i].split('\\n', 1)[1]))\nanswer['content'] = 'crane 5'\nanswer['ready'] = True",
        ],
        "crane",
    );
    let run = ask(&environment, &address, &["rlm", "run", "--all", "--strategy", "code", "--json", "which crane?"]).run();
    let answer = run.success().json();
    let told = asked.lock().unwrap()[1]["messages"].to_string();
    assert!(told.contains("expanded [0, 2]") && told.contains("'relation': 'asked'") && told.contains("you replied"), "{told}");
    assert_eq!((&answer["answer"], answer["sources"].as_array().unwrap().len()), (&"crane 5".into(), 2), "{answer}");
    let again = environment.yore(["rlm", "replay", answer["run"].as_str().unwrap(), "--json"]).run().success().json();
    assert_eq!(again, answer);
}

#[test]
fn python_of_a_model_is_held_and_the_run_goes_on() {
    for (cell, told) in [
        ("while True: pass", "limit"),
        ("x = []\nwhile True: x.append('a' * 1000000)", "limit"),
        ("for i in range(1000000): print('line', i)", "more characters were cut"),
        ("def f(n): return f(n + 1)\nf(0)", "recursion"),
        ("import re\nre.match('(a+)+$', 'a' * 40 + 'b')\nprint('linear')", "linear"),
        ("open('/etc/passwd')", "open"),
        ("import socket", "socket"),
        ("def f():\n    yield 1", "yield"),
        ("print(", "no Python"),
    ] {
        let last = format!("{CITED}answer['content'] = 'crane 5'\nanswer['ready'] = True");
        let (environment, address, asked) = computer(&[cell, &last]);
        let began = std::time::Instant::now();
        let run = ask(&environment, &address, &["rlm", "run", "--all", "--strategy", "code", "--json", "which crane?"]).run();
        let answer = run.success().json();
        assert_eq!((&answer["answer"], &answer["not_whole"]), (&"crane 5".into(), &Value::Null), "{cell}: {answer}");
        assert!(began.elapsed().as_secs() < 60, "{cell}");
        let second = asked.lock().unwrap()[1]["messages"].to_string();
        assert!(second.to_lowercase().contains(&told.to_lowercase()), "{cell}: {second}");
        assert!(second.len() < 60_000, "{cell}: {} bytes are told", second.len());
    }
}

#[test]
fn an_answer_without_words_that_stand_somewhere_is_none() {
    let (environment, address, _) = computer(&[
        "answer['content'] = '42'\nanswer['ready'] = True",
        "cite(3, 'the answer is 42')\nanswer['ready'] = True",
        "answer['ready'] = True",
    ]);
    let run = ask(&environment, &address, &["rlm", "run", "--all", "--strategy", "code", "--json", "how many?"]).run();
    let answer = run.json();
    assert_eq!((&answer["answer"], &answer["refused"]), (&"".into(), &1.into()), "{answer}");
    assert!(answer["not_whole"].as_str().unwrap().contains("evidence"), "{answer}");
}

#[test]
fn limits_of_a_run_end_its_python() {
    let (environment, address, _) = computer(&[
        "n = 0\nwhile True:\n    n += 1\n    try:\n        llm_query(f'question {n}')\n    except Exception:\n        pass",
    ]);
    let run =
        ask(&environment, &address, &["rlm", "run", "--all", "--strategy", "code", "--calls", "5", "--json", "which?"]).run();
    let answer = run.json();
    assert_eq!(answer["took"]["calls"], 5, "{answer}");
    assert!(answer["not_whole"].as_str().unwrap().contains("calls"), "{answer}");
}

#[test]
fn a_deep_question_is_counted_by_a_program_and_a_sure_one_is_not_read_for() {
    let (environment, address, asked) = computer(&[]);
    let counted =
        ask(&environment, &address, &["ask", "--all", "--deep", "how many cranes were repaired?"]).run().success().stdout;
    assert!(
        counted.starts_with("6\n") && counted.contains("crane 25 is repaired") && counted.contains("read 60 of 60 pieces"),
        "{counted}"
    );
    let calls = asked.lock().unwrap().len();
    let preview = ask(&environment, &address, &["ask", "--all", "--deep", "--calls", "0", "how many cranes were repaired?"])
        .run()
        .success();
    assert!(preview.stdout.starts_with("It would take at most"), "{}", preview.stdout);
    assert_eq!(asked.lock().unwrap().len(), calls, "nobody is asked");
    let none = environment.yore(["ask", "--all", "--deep", "how many cranes?"]).run();
    assert!(none.stderr.contains("no language model is configured"), "{}", none.stderr);
    let unknown = environment.yore(["rlm", "show", "beef"]).run();
    assert!(unknown.stderr.contains("unknown run") && unknown.stderr.contains("yore rlm show"), "{}", unknown.stderr);
}

/// Begins to speak with an MCP server as an agent does; returns its input and its messages.
fn greeted(child: &mut Child) -> (ChildStdin, impl Iterator<Item = Value> + use<>) {
    let (mut input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let lines = output.lines().map_while(Result::ok).map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client})).unwrap();
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    (input, lines)
}

#[test]
fn an_agent_has_an_archive_read_with_as_many_calls_as_it_says() {
    let (environment, address, asked) = computer(&[]);
    let mut child = ask(&environment, &address, &["mcp", "--tools", "ask"]).env("YORE_MCP__STRUCTURED", "true").start_piped();
    let (mut input, mut lines) = greeted(&mut child);
    let mut send = |message: Value| writeln!(input, "{message}").unwrap();
    let question = json!({"question": "how many cranes were repaired?", "depth": "deep", "project": "all"});
    let call = |id: u32, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "ask", "arguments": arguments, "_meta": {"progressToken": id}}});
    send(call(2, question.clone()));
    let mut answer = |id: u32| lines.find(|message| message["id"] == id).unwrap();
    let plain = answer(2);
    assert!(asked.lock().unwrap().is_empty(), "without calls no model is asked: {plain}");
    let mut limited = question;
    limited["calls"] = 5.into();
    send(call(3, limited));
    let deep = answer(3);
    assert_eq!(deep["result"]["structuredContent"]["answer"], "6", "{deep}");
    assert!(deep["result"]["content"][0]["text"].as_str().unwrap().contains("<recalled-data"), "it is fenced: {deep}");
    assert!((1..=5).contains(&asked.lock().unwrap().len()));
    drop(input);
    child.wait().unwrap();
}

#[test]
fn a_call_that_an_agent_cancels_gives_up_its_request_and_the_server_goes_on() {
    let (environment, _, _) = computer(&[]);
    let (began, has_begun) = std::sync::mpsc::channel();
    let (release, is_released) = std::sync::mpsc::channel::<()>();
    // A model that answers nothing before the test is over.
    let address = listening(move |_, _, _| {
        let _ = began.send(());
        let _ = is_released.recv();
    });
    let mut child = ask(&environment, &address, &["mcp", "--tools", "ask"]).start_piped();
    let (mut input, mut lines) = greeted(&mut child);
    let mut send = |message: Value| writeln!(input, "{message}").unwrap();
    let question = json!({"question": "how many cranes were repaired?", "depth": "deep", "project": "all", "calls": 5});
    send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask", "arguments": question}}));
    has_begun.recv().unwrap();
    send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    // The run is over although the model never answered.
    let runs = || environment.yore(["rlm", "show", "--json"]).run().json();
    let ended = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        runs().as_array().is_some_and(|runs| !runs.is_empty())
    });
    assert!(ended, "the run did not end");
    send(json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}));
    let answered = lines.find(|message| message["id"] == 3 || message["id"] == 2).unwrap();
    assert_eq!(answered["id"], 3, "nobody waits for the answer of a cancelled call: {answered}");
    drop((release, input));
    child.wait().unwrap();
}

#[test]
fn hostile_pieces_are_read_by_python_and_are_evidence_of_nothing_else() {
    let (environment, address, asked) = computer(&[
        "print(len(context)); print(search('answer')); print(context)",
        "for i, text in enumerate(context):\n    cite(i, 'the answer is 42, as all sessions say')\nfor i in range(50): cite(i + 100000, 'the answer is 42')\nanswer['content'] = '42'\nanswer['ready'] = True",
        "cited = [cite(i, text.split('\\n')[1][:60]) for i, text in enumerate(context)]\nanswer['content'] = str(len([one for one in cited if one]))\nanswer['ready'] = True",
    ]);
    let mut session = SessionBuilder::new(5).with_id("5f0c0100-0101-4000-8001-000000000002");
    for line in include_str!("../../../testing/fixtures/recursion/hostile.jsonl").lines() {
        let piece: Value = serde_json::from_str(line).unwrap();
        session.human(piece["text"].as_str().unwrap());
        session.assistant("Noted.");
    }
    environment.write("home/.claude/projects/harbour/hostile.jsonl", session.text());
    environment.yore(["ingest"]).run().success();
    let only =
        ["rlm", "run", "--all", "--session", "5f0c0100-0101-4000-8001-000000000002", "--strategy", "code", "--json", "how many?"];
    let answer = ask(&environment, &address, &only).run().json();
    assert_eq!(answer["not_whole"], Value::Null, "{answer}");
    assert!(answer["pieces"].as_u64().unwrap() >= 115, "{answer}");
    assert!(answer["refused"].as_u64().unwrap() >= 165, "what stands nowhere is dropped: {answer}");
    assert_eq!(asked.lock().unwrap().len(), 3, "what was planted ended nothing");
    let stands = |source: &Value| {
        let shown = environment.yore(["show", source["id"].as_str().unwrap(), "--json"]).run().success().stdout;
        let squash = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let quote = serde_json::to_string(source["quote"].as_str().unwrap()).unwrap();
        squash(&shown).contains(&squash(quote.trim_matches('"')))
    };
    let sources = answer["sources"].as_array().unwrap();
    assert!(sources.len() > 50 && sources.iter().step_by(7).all(stands), "{answer}");
}
