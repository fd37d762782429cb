//! yore's own tools: their list, their answers, their errors.

use serde_json::{Value, json};

use super::{Agent, Home, PLANTED, assert_fits, exists, outline, text};
use crate::transcript::Transcript;

/// Size of the tool list, which every session pays for, in bytes.
const MOST_BYTES: usize = 8_000;

#[test]
fn agent_is_told_what_the_memory_is() {
    let home = Home::empty();
    let mut agent = Agent::start(&home);
    let greeting = agent.handshake();
    assert_eq!(greeting["protocolVersion"], "2025-06-18");
    assert_eq!(greeting["serverInfo"], json!({"name": "yore", "version": env!("CARGO_PKG_VERSION")}));
    assert_eq!(greeting["capabilities"], json!({"completions": {}, "prompts": {}, "resources": {}, "tools": {}}));
    let instructions = greeting["instructions"].as_str().unwrap();
    assert!(instructions.contains("recall") && instructions.contains("data") && instructions.len() < 700, "{instructions}");
    for method in ["tools/list", "prompts/list", "resources/templates/list"] {
        agent.ask(method, json!({}));
    }
    assert!(!exists(&home.data()), "nothing is made or opened before the first call");
    assert!(agent.close().success());
}

#[test]
fn default_tools_are_few_and_short() {
    let home = Home::empty();
    let mut agent = Agent::connected(&home);
    let tools = agent.ask("tools/list", json!({}))["tools"].clone();
    let tools = tools.as_array().unwrap();
    assert!(tools.len() <= 10);
    let read: Vec<Value> = tools
        .iter()
        .map(|tool| json!({"name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"]}))
        .collect();
    let bytes = json!(read).to_string().len();
    let output: usize =
        tools.iter().filter(|tool| !tool["outputSchema"].is_null()).map(|tool| tool["outputSchema"].to_string().len()).sum();
    eprintln!(
        "default tools: {} with {bytes} bytes of names, descriptions and input schemas, {output} of output schemas",
        tools.len()
    );
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
    let outlines: Vec<String> = tools.iter().map(outline).collect();
    insta::assert_snapshot!(outlines.join("\n\n"), @r#"
    "recall" {"title":"Recall earlier sessions","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
    question: string
    wordings: array
    project: string
    kind: session | subagent | document | note | memory | decision | solution | pattern | standard | preference | question | problem | todo | fact
    role: human | assistant | tool_call | tool_result | summary
    session: string
    agent: string
    as: string
    branch: string
    file: string
    errors: boolean
    since: string
    until: string
    as_of: string
    valid_at: string
    depth: preview | full | topics
    limit: integer 1..=50
    budget: integer 100..=20000
    min_confidence: number
    deadline_ms: integer 1..=600000
    required: ["question"], additional: false

    "show" {"title":"Show what was said","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
    id: string
    level: line | passage | whole | related | synthesis | turns | exchanges
    for: string
    around: integer 0..=50
    from: string
    budget: integer 200..=20000
    version: integer
    required: ["id"], additional: false

    "brief" {"title":"Where things stand","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
    project: string
    budget: integer 100..=2000
    required: [], additional: false

    "sessions" {"title":"Earlier sessions","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
    project: string
    agent: string
    text: string
    since: string
    until: string
    programs: boolean
    limit: integer 1..=100
    cursor: string
    required: [], additional: false

    "notes" {"title":"Memories and notes","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
    project: string
    kind: note | memory | decision | solution | pattern | standard | preference | question | problem | todo | fact
    entity: string
    tag: string
    limit: integer 1..=100
    cursor: string
    required: [], additional: false

    "remember" {"title":"Remember","readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}
    text: string
    confirmed: boolean
    title: string
    tags: array
    standing: boolean
    global: boolean
    project: string
    replaces: string
    kind: decision | solution | pattern | standard | preference | question | problem | todo | fact
    entities: array
    evidence: array
    beside: array
    same: string
    subject: string
    aspect: string
    value: string
    valid_from: string
    valid_until: string
    required: ["text","confirmed"], additional: false

    "forget" {"title":"Forget","readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}
    id: string
    confirmed: boolean
    hard: boolean
    restore: boolean
    required: ["id"], additional: false

    "status" {"title":"State of the memory","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
    required: [], additional: false
    "#);
    assert!(agent.close().success());
}

#[test]
fn planted_turn_is_recalled_with_its_place() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    let schema = agent.ask("tools/list", json!({}))["tools"][0]["outputSchema"].clone();
    let result = agent.recall(json!({"question": "why did we move the cache to sqlite", "project": "tide", "limit": 1}));
    assert_eq!(result["isError"], false, "{result}");
    let answer = &result["structuredContent"];
    assert_fits(answer, &schema, "answer");
    assert_eq!(answer["projects"], json!(["tide"]));
    let [hit] = answer["results"].as_array().unwrap().as_slice() else { panic!("{answer}") };
    assert_eq!(hit["quote"], PLANTED);
    assert_eq!(hit["session"], "tide/s1");
    assert_eq!(hit["role"], "assistant");
    assert_eq!(hit["time"], "2026-01-22T14:54:00.000Z");
    assert_eq!(hit["source"]["line"], 1);
    assert!(hit["source"]["path"].as_str().unwrap().ends_with("history.jsonl"));
    let shown = text(&result);
    assert!(shown.starts_with("1 quote from project tide. What stands between the marks"), "{shown}");
    let id = &hit["id"].as_str().unwrap()[..10];
    let asked = hit["exchange"][0].clone();
    assert!(asked["role"] == "human" && asked["text"].as_str().unwrap().starts_with("Why is the cache slow"), "{asked}");
    let question = format!("[{}] human 2026-01-22\n  {}", &asked["id"].as_str().unwrap()[..10], asked["text"].as_str().unwrap());
    let marked = format!("\n<recalled-data source=\"yore\">\n{question}\n[{id}] assistant\n  {PLANTED}\n</recalled-data>");
    assert!(shown.ends_with(&marked), "{shown}");
    assert_eq!(agent.data("show", json!({"id": id}))["session"], "tide/s1", "the ids that are told open");
    assert!(agent.close().success());
}

#[test]
fn ten_results_fit_the_usual_budget() {
    let home = Home::empty();
    let turns: Vec<Value> = (0..40)
        .map(|at| {
            let text = format!(
                "Barnacle {at} was scraped. {}",
                format!("Hull {at} lies in dock number {at} on the slipway. ").repeat(30)
            );
            json!({"turn_id": format!("b{at}"), "role": if at % 2 == 0 { "user" } else { "assistant" }, "text": text})
        })
        .collect();
    home.ingest(&[json!({"corpus_id": "dock", "doc_id": "s9", "timestamp": "2026-03-01T10:00:00Z", "turns": turns})]);
    let mut agent = Agent::with_text_only(&home);
    let result = agent.recall(json!({"question": "barnacle hull in the dock", "project": "all", "limit": 10}));
    assert!(result["structuredContent"].is_null(), "the same words again as data");
    let shown = text(&result);
    let quotes = shown.lines().filter(|line| line.starts_with('[')).count();
    let is_ceiling = shown.contains(&format!("\n{} more results: [", 10 - quotes));
    assert!(quotes >= 5 && (quotes == 10 || is_ceiling), "what adds nothing is named only: {shown}");
    assert!(shown.len() <= 3_600, "{} characters: {shown}", shown.len());
    let is_long_id = |word: &str| word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(!shown.split(|letter: char| !letter.is_ascii_alphanumeric()).any(is_long_id), "long ids: {shown}");
    assert!(!shown.contains(home.0.path().to_str().unwrap()), "absolute paths: {shown}");
    let tools = agent.ask("tools/list", json!({}))["tools"].clone();
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["outputSchema"].is_null()));
    assert!(agent.close().success());
}

#[test]
fn recall_is_among_the_tools_that_claude_code_shows_from_the_start() {
    let home = Home::empty();
    let mut agent = Agent::connected(&home);
    let tools = agent.ask("tools/list", json!({}))["tools"].clone();
    let loaded: Vec<&str> = tools
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["_meta"]["anthropic/alwaysLoad"] == true)
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(loaded, ["recall"]);
    assert!(agent.close().success());
}

#[test]
fn further_wordings_find_what_the_question_does_not_name() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    let blind = json!({"question": "where did we put it", "project": "tide"});
    assert!(!agent.recall(blind.clone())["structuredContent"].to_string().contains(PLANTED));
    let mut worded = blind;
    worded["wordings"] = json!(["tide cache moved to \"sqlite\"", "redis lease heartbeat lost", ""]);
    assert_eq!(agent.data("recall", worded.clone())["results"][0]["quote"], PLANTED);
    worded["wordings"] = json!(["a", "b", "c", "d", "redis heartbeat", "sixth"]);
    let result = agent.recall(worded);
    assert_eq!(result["structuredContent"]["results"][0]["quote"], PLANTED);
    assert!(text(&result).ends_with("\nhint: wordings: at most 5; the others were left out"), "{}", text(&result));
    assert!(agent.close().success());
}

#[test]
fn slip_in_an_argument_costs_a_hint_and_not_the_answer() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    let result = agent.recall(json!({"query": "redis heartbeat", "limit": "900", "role": "robot", "since": "some day", "colour": "blue", "branch": null}));
    assert_eq!(result["structuredContent"]["results"][0]["quote"], PLANTED, "{result}");
    let hints: Vec<&str> = text(&result).lines().filter(|line| line.starts_with("hint: ")).collect();
    insta::assert_snapshot!(hints.join("\n"), @r#"
    hint: limit: 900 is out of bounds; 50 was used
    hint: role: expected one of human, assistant, tool_call, tool_result, summary; left out
    hint: since: expected a date such as 2026-01-31, a time such as 2026-01-31T12:00:00Z, or words such as "last week"; left out
    hint: unknown argument "colour"; known are question, wordings, project, kind, role, session, agent, as, branch, file, errors, since, until, as_of, valid_at, depth, limit, budget, min_confidence, deadline_ms
    "#);
    assert!(agent.told("recall", json!({})).contains("missing field `question`"));
    // Tools that write reject unknown fields.
    assert!(
        agent.told("remember", json!({"text": "Tea at four.", "confirmed": true, "colour": "blue"})).contains("unknown field")
    );
    assert!(agent.close().success());
}

/// Creates a memory of two projects, each with a note about how its animal sleeps; returns their directories.
fn otter_and_heron() -> (Home, String, String) {
    let home = Home::with_memory();
    let directory = |name: &str, words: &str| {
        let path = home.0.path().join("dev").join(name);
        std::fs::create_dir_all(path.join(".git")).unwrap();
        let kept = home.yore().args(["remember", "--note", words]).current_dir(&path).output().unwrap();
        assert!(kept.status.success(), "{kept:?}");
        path.to_str().unwrap().to_owned()
    };
    let otter = directory("otter", "The otter sleeps on its back.");
    let heron = directory("heron", "The heron sleeps on one leg.");
    (home, otter, heron)
}

/// Returns the animals that an answer mentions.
fn animals(answer: &str) -> Vec<&'static str> {
    ["otter", "heron"].into_iter().filter(|name| answer.contains(&format!("The {name} sleeps"))).collect()
}

/// Returns the text of a recall; the test sends the directories if the server requests them, as it must.
fn recall_with_roots(agent: &mut Agent, roots: Option<&[&str]>, arguments: Value) -> String {
    agent.last_id += 1;
    let id = agent.last_id;
    agent
        .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "recall", "arguments": arguments}}));
    if let Some(roots) = roots {
        let asked = agent.receive();
        assert_eq!(asked["method"], "roots/list", "{asked}");
        let roots: Vec<Value> = roots.iter().map(|root| json!({"uri": format!("file://{root}")})).collect();
        agent.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}}));
    }
    let answer = agent.receive();
    assert_eq!(answer["id"], id, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn agent_that_says_where_it_works_is_told_that_projects_words() {
    let (home, otter, heron) = otter_and_heron();
    let mut agent = Agent::start(&home);
    agent.handshake_as("test", json!({"roots": {"listChanged": true}}));
    let first = recall_with_roots(&mut agent, Some(&[&otter]), json!({"question": "sleeps"}));
    assert!(first.contains("from project otter") && animals(&first) == ["otter"], "{first}");
    let again = recall_with_roots(&mut agent, None, json!({"question": "sleeps"}));
    assert_eq!(again, first, "it is asked once");
    let other = recall_with_roots(&mut agent, None, json!({"question": "sleeps", "project": heron}));
    assert_eq!(animals(&other), ["heron"], "{other}");
    agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    let several = recall_with_roots(&mut agent, Some(&[&otter, &heron]), json!({"question": "sleeps"}));
    assert!(several.contains(&format!("{otter}, {heron} [several-projects]\nhint: name the directory")), "{several}");
    let named = recall_with_roots(&mut agent, None, json!({"question": "sleeps", "project": "heron"}));
    assert_eq!(animals(&named), ["heron"], "{named}");
    assert!(agent.close().success());
}

#[test]
fn cline_is_told_the_words_of_its_sessions_project_although_its_server_was_started_elsewhere() {
    let (home, otter, heron) = otter_and_heron();
    let mut agent = Agent::spawn(home.yore().arg("mcp").current_dir(&heron));
    agent.handshake_as("@cline/core", json!({}));
    let mut recall = || text(&agent.recall(json!({"question": "sleeps"}))).to_owned();
    let everywhere = recall();
    assert!(everywhere.contains("from all projects"), "no hook was heard: {everywhere}");
    let given = home.data().join("given");
    std::fs::create_dir_all(&given).unwrap();
    let heard = |session: &str, directory: &str| {
        let entry = json!({"at_ms": 1, "agent": "cline", "event": "TaskStart", "directory": directory});
        std::fs::write(given.join(format!("{session}.jsonl")), format!("{entry}\n")).unwrap();
    };
    heard("one", &otter);
    let here = recall();
    assert!(here.contains("from project otter") && animals(&here) == ["otter"], "{here}");
    heard("two", &heron);
    assert!(recall().contains("[several-projects]"));
    assert!(agent.close().success());
}

#[test]
fn filters_narrow_what_is_recalled() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    agent.data("remember", json!({"text": "The cache moves to lmdb next year.", "title": "Plans", "confirmed": true}));
    let mut found = |arguments: Value| -> Vec<String> {
        let results = agent.data("recall", arguments)["results"].clone();
        results.as_array().unwrap().iter().map(|hit| hit["quote"].as_str().unwrap()[..9].to_owned()).collect()
    };
    assert_eq!(found(json!({"question": "cache", "role": "human"})), ["Why is th"]);
    assert_eq!(found(json!({"question": "cache", "since": "2026-01-22T14:54:00Z", "kind": "session"})), ["We moved "]);
    assert_eq!(found(json!({"question": "cache", "as_of": "2026-01-21"})), [""; 0]);
    assert_eq!(found(json!({"question": "cache", "as_of": "2026-01-22"})), ["Why is th", "We moved "], "at the end of the day");
    assert_eq!(found(json!({"question": "cache", "project": "harbor"})), [""; 0]);
    assert_eq!(found(json!({"question": "pelican", "project": "all", "role": null, "branch": ""})), ["The pelic"]);
    assert_eq!(found(json!({"question": "cache", "kind": "note"})), ["The cache"]);
    assert_eq!(found(json!({"question": "cache", "errors": true})), [""; 0]);
    assert_eq!(found(json!({"question": "cache", "file": "cache.rs"})), [""; 0]);
    assert!(agent.close().success());
}

#[test]
fn in_full_a_turn_stands_with_its_exchange() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    let schema = agent.ask("tools/list", json!({}))["tools"][0]["outputSchema"].clone();
    let result = agent.recall(json!({"question": "lease heartbeat", "depth": "full", "limit": 1}));
    let answer = &result["structuredContent"];
    assert_fits(answer, &schema, "answer");
    let hit = &answer["results"][0];
    assert_eq!((&hit["text"], &hit["quote"]), (&json!(PLANTED), &Value::Null));
    let [said] = hit["exchange"].as_array().unwrap().as_slice() else { panic!("{hit}") };
    assert_eq!(
        (said["role"].as_str().unwrap(), said["text"].as_str().unwrap()),
        ("human", "Why is the cache slow after the laptop wakes up?")
    );
    let shown = text(&result);
    assert!(
        shown.find("Why is the cache slow").unwrap() < shown.find("assistant:\n  We moved").unwrap(),
        "in the order of saying: {shown}"
    );
    assert!(agent.close().success());
}

#[test]
fn answers_fit_their_budget() {
    let home = Home::empty();
    let turns: Vec<Value> = (0..40)
        .map(|at| {
            let text = format!("Barnacle number {at}. {}", "scraping hulls takes a dry dock and \"patience\" ".repeat(at + 1));
            json!({"turn_id": format!("b{at}"), "role": if at % 2 == 0 { "user" } else { "assistant" }, "text": text})
        })
        .collect();
    let document = json!({"corpus_id": "dock", "doc_id": "s9", "timestamp": "2026-03-01T10:00:00Z", "turns": turns});
    home.ingest(&[document]);
    let mut agent = Agent::connected(&home);
    let tokens = |text: &str| text.len().div_ceil(4);
    for depth in ["preview", "full"] {
        let mut told = 0;
        for budget in [100, 300, 1_000, 5_000] {
            let result = agent.recall(json!({"question": "barnacle hulls", "depth": depth, "budget": budget, "limit": 50}));
            let (text, data) = (text(&result), &result["structuredContent"]);
            let results = data["results"].as_array().unwrap().len();
            assert!(results >= told.max(1), "{depth} {budget}: {results} after {told}");
            assert!(results + data["left_out"].as_u64().unwrap_or(0) as usize <= 50);
            told = results;
            if budget >= 300 {
                assert!(tokens(text) <= budget, "{depth} {budget}: {}", tokens(text));
                assert!(tokens(&data.to_string()) <= budget, "{depth} {budget}: {}", tokens(&data.to_string()));
            }
        }
        // Many of a kind add nothing: a preview ends before its budget.
        assert!(told > 3 || depth == "preview", "{depth}: {told}");
    }
    for budget in [200, 1_000] {
        let result = agent.call("show", json!({"id": "dock/s9", "level": "turns", "budget": budget}));
        assert!(tokens(text(&result)) <= budget + 60, "{}", tokens(text(&result)));
    }
    assert!(agent.close().success());
}

#[test]
fn sessions_are_shown_whole_page_by_page() {
    let home = Home::empty();
    let long = "The mooring holds. ".repeat(400);
    let turns: Vec<Value> = (0..9)
        .map(|at| {
            let text = if at == 4 { long.trim().to_owned() } else { format!("Knot {at} is tied.") };
            json!({"turn_id": format!("k{at}"), "role": if at % 3 == 0 { "user" } else { "assistant" }, "text": text})
        })
        .collect();
    home.ingest(&[json!({"corpus_id": "quay", "doc_id": "s5", "timestamp": "2026-03-01T10:00:00Z", "turns": turns})]);
    let mut agent = Agent::connected(&home);
    let schema = agent.ask("tools/list", json!({}))["tools"][1]["outputSchema"].clone();
    let (mut words, mut from, mut pages) = (vec![String::new(); 9], json!(null), 0);
    loop {
        let page = agent.data("show", json!({"id": "quay/s5", "level": "turns", "from": from, "budget": 700}));
        assert_fits(&page, &schema, "page");
        for turn in page["turns"].as_array().unwrap() {
            words[turn["place"].as_u64().unwrap() as usize - 1].push_str(turn["text"].as_str().unwrap());
        }
        pages += 1;
        from = page["next"].clone();
        if from.is_null() {
            break;
        }
    }
    assert!(pages > 3, "{pages}");
    assert_eq!(words[4], long.trim(), "nothing is lost and nothing twice");
    assert_eq!(words.iter().filter(|words| words.starts_with("Knot")).count(), 8);
    let page = agent.data("show", json!({"id": "quay/s5", "level": "exchanges"}));
    assert_fits(&page, &schema, "page");
    let questions: Vec<&str> =
        page["exchanges"].as_array().unwrap().iter().map(|exchange| exchange["question"].as_str().unwrap()).collect();
    assert_eq!(questions, ["Knot 0 is tied.", "Knot 3 is tied.", "Knot 6 is tied."]);
    let fifth = agent.data("recall", json!({"question": "mooring holds", "limit": 1}))["results"][0]["id"].clone();
    let shown = agent.data("show", json!({"id": fifth, "around": 1, "budget": 2_000}));
    assert_eq!(shown["focus"], fifth);
    assert_eq!((shown["turns_before"].as_u64(), shown["turns_after"].as_u64()), (Some(3), Some(3)));
    let places: Vec<u64> = shown["turns"].as_array().unwrap().iter().map(|turn| turn["place"].as_u64().unwrap()).collect();
    assert_eq!(places[..2], [5, 4], "the turn, then the neighbour before it");
    let none =
        text(&agent.call("recall", json!({"question": "mooring holds", "role": "summary", "kind": "decision"}))).to_owned();
    assert!(none.contains("Nothing found in all projects. role with kind removed 1 result."), "{none}");
    assert_eq!(agent.data("show", json!({"id": fifth, "level": "exchanges"}))["exchanges"][0]["question"], "Knot 3 is tied.");
    assert!(
        agent
            .told("show", json!({"id": "nothing-such"}))
            .starts_with("unknown id \"nothing-such\" [unknown-id]\nhint: give an id that `recall`")
    );
    assert!(agent.told("show", json!({"id": "quay/s5", "from": "later"})).contains("expected a turn number"));
    assert!(text(&agent.call("show", json!({"id": "quay/s5", "around": 51}))).contains("\nhint: around: 51 is out of bounds"));
    assert!(agent.told("show", json!({"id": ""})).contains("id is empty"));
    assert!(agent.close().success());
}

#[test]
fn a_note_is_kept_only_when_the_person_agreed() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    let words = "We deploy the tide on Thursdays, never before a holiday.";
    for arguments in [json!({"text": words}), json!({"text": words, "confirmed": false})] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(agent.told("remember", arguments), @"
            nothing was stored: the person has not agreed [not-confirmed]
            hint: show the person the exact words and ask; if they agree, call again with confirmed true
            ");
        }
    }
    assert!(agent.told("remember", json!({"text": words, "confirmed": "yes"})).contains("expected a boolean"));
    assert!(agent.told("remember", json!({"text": " ", "confirmed": true})).contains("text is empty"));
    assert_eq!(agent.data("notes", json!({}))["notes"], json!([]), "nothing was stored");

    let stored =
        agent.data("remember", json!({"text": words, "confirmed": true, "title": "Deploys", "tags": ["ops"], "standing": true}));
    assert_eq!(stored["was_known"], false);
    let again =
        agent.data("remember", json!({"text": words, "confirmed": true, "title": "Deploys", "tags": ["ops"], "standing": true}));
    assert_eq!((&again["id"], &again["was_known"]), (&stored["id"], &json!(true)));
    let notes = agent.data("notes", json!({}));
    let [note] = notes["notes"].as_array().unwrap().as_slice() else { panic!("{notes}") };
    assert_eq!(note["text"], words);
    assert_eq!(note["title"], "Deploys");
    assert_eq!((&note["tags"], &note["kind"]), (&json!(["ops"]), &json!("standing")));
    assert_eq!(note["by"], "agent", "no person typed it");
    assert_eq!(agent.data("recall", json!({"question": "deploy holiday", "limit": 1}))["results"][0]["quote"], words);
    assert!(text(&agent.call("brief", json!({}))).contains("deploy the tide on Thursdays"), "standing notes are told");

    let replaced =
        agent.data("remember", json!({"text": "We deploy the tide daily.", "confirmed": true, "replaces": stored["id"]}));
    assert_eq!(replaced["id"], stored["id"]);
    let notes = agent.data("notes", json!({"tag": "standing"}));
    assert_eq!(notes["notes"][0]["text"], "We deploy the tide daily.");
    assert_eq!(agent.data("notes", json!({"tag": "other"}))["notes"], json!([]));
    // The earlier version can be opened.
    for (version, said) in [(json!(1), words), (json!(2), "We deploy the tide daily.")] {
        let shown = agent.data("show", json!({"id": stored["id"], "version": version}));
        let [turn] = shown["turns"].as_array().unwrap().as_slice() else { panic!("{shown}") };
        assert!(turn["text"].as_str().unwrap().starts_with(said), "{turn}");
    }
    assert!(agent.told("show", json!({"id": stored["id"], "version": 3})).contains("unknown-version"));
    assert!(agent.told("remember", json!({"text": "x y z", "confirmed": true, "replaces": "ffffffff"})).contains("unknown-id"));
    assert!(agent.close().success());
}

#[test]
fn a_memory_is_kept_with_its_evidence_found_opened_and_replaced() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    let found = agent.data("recall", json!({"question": PLANTED, "limit": 1}));
    let turn = found["results"][0]["id"].clone();
    let statement = "The tide gauge is read every ten minutes.";
    let mut arguments = json!({"text": statement, "kind": "decision", "entities": ["tide gauge"], "evidence": [turn]});
    assert!(agent.told("remember", arguments.clone()).contains("not-confirmed"));
    arguments["confirmed"] = json!(true);
    let stored = agent.data("remember", arguments.clone());
    assert_eq!(agent.data("remember", arguments.clone())["operation"], Value::Null, "known already");
    let listed = agent.data("notes", json!({"kind": "decision"}));
    assert_eq!((&listed["memories"][0]["statement"], &listed["notes"]), (&json!(statement), &json!([])));
    assert_eq!(listed["memories"][0]["evidence"][0]["turn"], turn);
    assert_eq!(agent.data("notes", json!({"entity": "Tide gauge"}))["memories"][0]["id"], stored["memory"]);
    let replacing = json!({"text": "The tide gauge is read every minute.", "kind": "decision", "confirmed": true,
        "replaces": stored["memory"], "valid_from": "2026-02-01"});
    let newer = agent.data("remember", replacing);
    let recalled = agent.data("recall", json!({"question": "how often is the tide gauge read?", "kind": "memory"}));
    let [result] = recalled["results"].as_array().unwrap().as_slice() else { panic!("{recalled}") };
    assert_eq!(
        (&result["id"], &result["memory"]["statement"]),
        (&newer["memory"], &json!("The tide gauge is read every minute."))
    );
    assert_eq!(result["memory"]["history"][0]["statement"], statement);
    let asked = json!({"question": "how often is the tide gauge read?"});
    let told = text(&agent.call("recall", asked)).to_owned();
    assert!(told.contains("decision 20") && told.contains("earlier until"), "{told}");
    for depth in ["preview", "full"] {
        let answer = agent.call("recall", json!({"question": "how often is the tide gauge read?", "depth": depth}));
        assert!(text(&answer).contains("The tide gauge is read every minute."), "{depth}: {answer}");
    }
    let shown = text(&agent.call("show", json!({"id": newer["memory"]}))).to_owned();
    for part in ["decision", "supersedes memory", statement, "operation 2", "since 2026-02-01"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let opened = agent.data("show", json!({"id": stored["memory"]}));
    assert_eq!(opened["memory"]["status"], "superseded");
    let tools = agent.ask("tools/list", json!({}))["tools"].clone();
    let schema = |name: &str| tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap()["outputSchema"].clone();
    assert_fits(&opened, &schema("show"), "opened");
    assert_fits(&recalled, &schema("recall"), "recalled");
    assert!(agent.told("remember", json!({"text": "x", "kind": "poem", "confirmed": true})).contains("expected one of decision"));
    // Pages hold each memory once.
    for number in 0..7 {
        agent.data("remember", json!({"text": format!("Fact {number} of the quay."), "kind": "fact", "confirmed": true}));
    }
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = agent.data("notes", json!({"kind": "memory", "limit": 3, "cursor": cursor}));
        seen.extend(page["memories"].as_array().unwrap().iter().map(|memory| memory["id"].as_str().unwrap().to_owned()));
        cursor = page["next"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((count, seen.len()), (8, 8));
    // A line is a memory without a kind, too, also under a title with what only a memory has.
    for more in [json!({}), json!({"title": "Lamps", "entities": ["lamp"]})] {
        let mut line = json!({"text": format!("The lamp burns oil{}.", more.as_object().unwrap().len()), "confirmed": true});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let kept = agent.call("remember", line);
        assert!(text(&kept).starts_with("Remembered as fact "), "{kept}");
        assert!(kept["structuredContent"]["memory"].is_string(), "{kept}");
    }
    assert!(agent.close().success());
}

#[test]
fn forgetting_asks_first_and_can_be_undone() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    let told = agent.told("forget", json!({"id": "tide/s1"}));
    assert!(
        told.starts_with("nothing was done; this would forget 1 conversation or note with 2 turns: tide/s1 [not-confirmed]"),
        "{told}"
    );
    let quotes =
        |agent: &mut Agent| agent.data("recall", json!({"question": "redis heartbeat"}))["results"].as_array().unwrap().len();
    assert_eq!(quotes(&mut agent), 1, "nothing was done");
    let forgotten = agent.data("forget", json!({"id": "tide/s1", "confirmed": true}));
    assert_eq!((&forgotten["turns"], &forgotten["hard"]), (&json!(2), &json!(false)));
    assert_eq!(quotes(&mut agent), 0);
    assert!(agent.told("forget", json!({"id": "tide/s1", "restore": true})).contains("this would restore"));
    agent.data("forget", json!({"id": "tide/s1", "restore": true, "confirmed": true}));
    assert_eq!(quotes(&mut agent), 1);
    assert!(agent.told("forget", json!({"id": "tide/s1", "hard": true, "restore": true})).contains("exclude each other"));
    assert!(agent.told("forget", json!({"id": "tide/s1", "hard": true})).contains("this would forget for good"));
    assert_eq!(agent.data("forget", json!({"id": "tide/s1", "hard": true, "confirmed": true}))["hard"], true);
    assert_eq!(quotes(&mut agent), 0);
    let note =
        agent.data("remember", json!({"text": "Gulls steal sandwiches.", "title": "Gulls", "confirmed": true}))["id"].clone();
    agent.data("forget", json!({"id": note, "confirmed": true}));
    assert_eq!(agent.data("notes", json!({}))["notes"], json!([]));
    assert!(agent.told("forget", json!({"id": "nothing-such", "confirmed": true})).contains("hint: `sessions` lists them"));
    assert!(agent.close().success());
}

#[test]
fn sessions_come_in_pages_that_hold_each_once() {
    let home = Home::empty();
    let documents: Vec<Value> = (0..23)
        .map(|at| {
            json!({"corpus_id": if at % 2 == 0 { "even" } else { "odd" }, "doc_id": format!("s{at}"),
                   // Some have the same time.
                   "timestamp": format!("2026-01-{:02}T10:00:00Z", 1 + at / 3),
                   "turns": [{"turn_id": "t", "role": "user", "text": format!("Tie knot {at}.")}]})
        })
        .collect();
    home.ingest(&documents);
    let mut agent = Agent::connected(&home);
    let list = |agent: &mut Agent, limit: usize| -> Vec<String> {
        let (mut seen, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let page = agent.data("sessions", json!({"limit": limit, "cursor": cursor}));
            let sessions = page["sessions"].as_array().unwrap();
            assert!(sessions.len() <= limit);
            seen.extend(sessions.iter().map(|session| session["session"].as_str().unwrap().to_owned()));
            cursor = page["next"].clone();
            if cursor.is_null() {
                return seen;
            }
        }
    };
    let all = list(&mut agent, 100);
    assert_eq!(all.len(), 23);
    assert!(["even/s21", "odd/s21"].contains(&all[0].as_str()) || all[0].ends_with("s22"), "{all:?}");
    for limit in [1, 2, 5, 7, 22, 23] {
        assert_eq!(list(&mut agent, limit), all, "{limit} a page");
    }
    assert_eq!(agent.data("sessions", json!({"project": "odd", "limit": 100}))["sessions"].as_array().unwrap().len(), 11);
    assert_eq!(agent.data("sessions", json!({"since": "2026-01-08"}))["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(agent.data("sessions", json!({"until": "2026-01-02"}))["sessions"].as_array().unwrap().len(), 3);
    assert_eq!(agent.data("sessions", json!({"agent": "cursor"}))["sessions"], json!([]));
    // A part of the text, in any case, also within a word.
    let holding = |agent: &mut Agent, text: &str| agent.data("sessions", json!({"text": text}))["sessions"].clone();
    assert_eq!(holding(&mut agent, "IE KNOT 17")[0]["session"], "odd/s17");
    assert_eq!(holding(&mut agent, "knot 1").as_array().unwrap().len(), 11);
    assert_eq!(holding(&mut agent, "knot 99"), json!([]));
    for cursor in ["x", "00", "zz", "736162632e"] {
        assert!(agent.told("sessions", json!({"cursor": cursor})).contains("cursor is not of this list"), "{cursor}");
    }
    assert!(agent.told("sessions", json!({"project": "evn"})).contains("did you mean \"even\"?"));
    assert!(agent.close().success());
}

#[test]
fn state_of_the_memory_is_told() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    let result = agent.call("status", json!({}));
    let data = &result["structuredContent"];
    assert_eq!(
        (&data["sessions"], &data["turns"], &data["projects"], &data["daemon"]),
        (&json!(2), &json!(3), &json!(2), &json!(null))
    );
    assert_eq!(data["last_captured"], "2026-02-01T10:00:00.000Z");
    assert!(text(&result).contains("daemon: not running"), "{}", text(&result));
    assert!(text(&result).contains("missing: no daemon is running"), "{}", text(&result));
    let verbose = agent.call("status", json!({"verbose": true}));
    assert!(text(&verbose).ends_with("\nhint: unknown argument \"verbose\"; this tool takes none"), "{verbose}");
    assert!(agent.close().success());
}

#[test]
fn mistakes_are_told_in_the_result() {
    let home = Home::with_memory();
    let mut agent = Agent::connected(&home);
    insta::assert_snapshot!(agent.told("recall", json!({"question": "cache", "project": "tides"})), @r#"
    unknown project "tides" [unknown-project]
    hint: did you mean "tide"? "all" asks every project
    "#);
    insta::assert_snapshot!(agent.told("recall", json!({})), @r#"
    bad arguments: missing field `question` [usage]
    hint: correct the arguments and call again
    "#);
    insta::assert_snapshot!(agent.told("recall", json!({"question": "cache", "session": "s99"})), @r#"
    unknown session "s99" [unknown-session]
    hint: `sessions` lists them
    "#);
    assert!(text(&agent.call("brief", json!({"budget": 5}))).ends_with("\nhint: budget: 5 is out of bounds; 100 was used"));
    let error = agent.refused("tools/call", json!({"name": "recal", "arguments": {}}));
    assert_eq!(error["code"], -32602);
    assert!(agent.close().success());
}

#[test]
fn memory_may_come_after_the_server() {
    let home = Home::empty();
    let mut agent = Agent::connected(&home);
    for (tool, arguments) in [
        ("recall", json!({"question": "anything"})),
        ("show", json!({"id": "abcd"})),
        ("brief", json!({})),
        ("sessions", json!({})),
        ("notes", json!({})),
        ("forget", json!({"id": "abcd"})),
        ("status", json!({})),
    ] {
        let told = agent.told(tool, arguments);
        assert!(told.contains("yore up"), "{tool}: {told}");
    }
    assert!(!exists(&home.data()), "asking makes no data directory");
    let later = Home::with_memory();
    std::fs::rename(later.data(), home.data()).unwrap();
    let answer = agent.data("recall", json!({"question": "redis heartbeat"}));
    assert_eq!(answer["results"][0]["quote"], PLANTED, "{answer}");
    assert!(agent.close().success());
}

#[test]
fn first_call_begins_the_memory_where_a_daemon_may_start() {
    let home = Home::empty();
    Transcript::new("5f0c0002-0001-4000-8001-000000000001", "/home/dev/tide").human(PLANTED).write(&home.projects());
    let mut agent = Agent::spawn(home.yore().arg("mcp").env("YORE_DAEMON__AUTOSTART", "true"));
    agent.handshake();
    let kept = agent.call("remember", json!({"text": "Tea at four.", "confirmed": true, "global": true}));
    assert_eq!(kept["isError"], false, "{kept}");
    assert!(text(&kept).contains("\nhint: this memory begins now"), "{kept}");
    let began = std::time::Instant::now();
    let question = json!({"question": "redis heartbeat", "project": "all"});
    while !text(&agent.recall(question.clone())).contains(PLANTED) {
        assert!(began.elapsed() < super::PATIENCE, "what agents had left was not read");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(agent.close().success());
    assert!(home.yore().args(["daemon", "stop"]).status().unwrap().success());
}

#[test]
fn what_a_session_was_given_is_counted() {
    let home = Home::with_memory();
    let mut agent = Agent::spawn(home.yore().arg("mcp").env("CLAUDE_CODE_SESSION_ID", "5f0c-1"));
    agent.handshake();
    let result = agent.recall(json!({"question": "redis heartbeat", "limit": 1}));
    let id = result["structuredContent"]["results"][0]["id"].clone();
    agent.data("show", json!({"id": id, "around": 0}));
    agent.data("status", json!({}));
    agent.told("recall", json!({}));
    assert!(agent.close().success());
    let ledger = std::fs::read_to_string(home.data().join("given/5f0c-1.jsonl")).unwrap();
    let entries: Vec<Value> = ledger.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&str> = entries.iter().map(|entry| entry["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["recall", "show"], "neither what holds no words nor what failed");
    assert!(entries[0]["turns"].as_array().unwrap().contains(&id), "{}", entries[0]);
    assert_eq!(entries[1]["turns"], json!([id]));
    for entry in &entries {
        assert_eq!(entry["agent"], "claude-code");
        assert!(entry["tokens"].as_u64().unwrap() > 30, "{entry}");
    }
    assert_eq!(entries[0]["tokens"].as_u64().unwrap() as usize, text(&result).len().div_ceil(4));
}
