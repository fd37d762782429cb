//! Compares the reading of every hand-made transcript with its expected turns (`EXPECTED.md` beside them).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use yore_core::episode::{EpisodeKind, Role};
use yore_core::time::TimeQuality;
use yore_engine::ShownTurn;
use yore_testing::{Memory, fixture};

/// The case whose secrets are inserted by the test that looks for them (`redaction.rs`).
const SECRETS: &str = "14c";

fn cases() -> Vec<Value> {
    let text = std::fs::read_to_string(fixture("claude-code/EXPECTED.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    expected["files"].as_array().unwrap().clone()
}

fn memory_of_all() -> Memory {
    let memory = Memory::new();
    memory.copy(&fixture("claude-code"));
    memory.learn();
    memory
}

fn name_of(case: &Value) -> String {
    case["case"].as_str().map_or_else(|| case["case"].to_string(), str::to_owned)
}

/// Removes spaces and line breaks, since those between blocks are the reader's own.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// Returns the difference between a turn and the expected one, if any.
fn difference(expected: &Value, turn: &ShownTurn) -> Option<String> {
    let role = expected["role"].as_str().unwrap();
    if turn.role.as_str() != role {
        return Some(format!("role {} instead of {role}", turn.role.as_str()));
    }
    if let Some(uuid) = expected["uuid"].as_str()
        && turn.native_message != uuid
    {
        return Some(format!("native id {} instead of {uuid}", turn.native_message));
    }
    let words = if turn.role == Role::ToolResult { &turn.tool_text } else { &turn.text };
    let wanted = expected["text"].as_str().unwrap_or("");
    let is_part = !expected["contains"].is_null();
    let is_same = match turn.role {
        // A turn that software wrote has no expected text; only its role counts.
        Role::Injected => true,
        Role::ToolCall => turn.tool_text.contains(wanted),
        _ if is_part => squeezed(words).contains(&squeezed(wanted)),
        Role::ToolResult | Role::Human if wanted.is_empty() => true,
        _ => squeezed(words) == squeezed(wanted),
    };
    if !is_same {
        return Some(format!("text {words:?} instead of {wanted:?}"));
    }
    for part in strings(&expected["contains"]) {
        if !words.contains(part) {
            return Some(format!("{words:?} lacks {part:?}"));
        }
    }
    for part in strings(&expected["absent"]) {
        if turn.text.contains(part) || turn.tool_text.contains(part) {
            return Some(format!("{part:?} is there"));
        }
    }
    for tool in expected["tools"].as_array().into_iter().flatten() {
        let name = tool["name"].as_str().unwrap_or("");
        if !turn.tool_text.contains(name) {
            return Some(format!("{:?} lacks the call of {name}", turn.tool_text));
        }
    }
    if expected.get("ts").is_some_and(Value::is_null) && turn.time.quality == TimeQuality::Exact {
        return Some("an exact time".to_owned());
    }
    for (key, actual) in [("cwd", &turn.cwd), ("branch", &turn.branch)] {
        // "" means that there is no name.
        let wanted = expected[key].as_str().filter(|name| !name.is_empty());
        if expected[key].is_string() && actual.as_deref() != wanted {
            return Some(format!("{key} {actual:?} instead of {wanted:?}"));
        }
    }
    None
}

/// Compares turns in order. Expected turns that are injected or optional may be missing; found turns that are
/// optional elsewhere in the list may be at any position.
fn compare(case: &Value, expected: &Value, optional: &Value, found: &[ShownTurn], wrong: &mut Vec<String>) {
    let name = name_of(case);
    let mut found: Vec<&ShownTurn> = found.iter().collect();
    for extra in optional.as_array().into_iter().flatten() {
        if let Some(at) = found.iter().position(|turn| difference(extra, turn).is_none()) {
            found.remove(at);
        }
    }
    let mut at = 0;
    for wanted in expected.as_array().into_iter().flatten() {
        let may_lack = wanted["role"] == "injected" || wanted["optional"] == true;
        let problem = found.get(at).map_or_else(|| Some("missing".to_owned()), |turn| difference(wanted, turn));
        match problem {
            None => at += 1,
            Some(_) if may_lack => {}
            Some(problem) => {
                wrong.push(format!("case {name}, {}: {problem}", wanted["text"]));
                at += 1;
            }
        }
    }
    for turn in &found[at.min(found.len())..] {
        wrong.push(format!("case {name}: unexpected {} {:?} {:?}", turn.role.as_str(), turn.text, turn.tool_text));
    }
}

/// Returns the native id of the episode that a case's own turns belong to.
fn episode_of(case: &Value) -> String {
    let session = case["session"].as_str().unwrap();
    match case["agent_id"].as_str() {
        Some(agent) => format!("{session}/agent-{agent}"),
        None => session.to_owned(),
    }
}

#[test]
fn every_fixture_gives_the_turns_that_it_should() {
    let memory = memory_of_all();
    let mut wrong = Vec::new();
    for mut case in cases() {
        if !case["session"].is_string() {
            continue;
        }
        if name_of(&case) == SECRETS {
            for turn in case["turns"].as_array_mut().unwrap() {
                turn["text"] = "".into();
                turn["contains"] = Value::Array(Vec::new());
            }
        }
        let file = case["file"].as_str().unwrap();
        let native = episode_of(&case);
        let episode = memory.episodes().into_iter().find(|episode| episode.native_id == native).unwrap();
        // A fork's copied turns belong to the original; a snapshot's turns are in the fuller file.
        let own: Vec<ShownTurn> =
            memory.turns(&native).into_iter().filter(|turn| turn.episode == episode.id && turn.path.ends_with(file)).collect();
        compare(&case, &case["turns"], &case["optional_turns"], &own, &mut wrong);
        if case["side_turns"].is_array() {
            compare(&case, &case["side_turns"], &Value::Null, &memory.turns(&format!("{native}/sidechain")), &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{} deviations:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn skipped_lines_are_counted_by_reason() {
    // Each file is read alone.
    let mut wrong = Vec::new();
    for case in cases() {
        let memory = Memory::new();
        let file = case["file"].as_str().unwrap();
        memory.write(file, std::fs::read(fixture("claude-code").join(file)).unwrap());
        let report = memory.read();
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        for ((reason, _), count) in &report.skips {
            let name = match reason.as_str() {
                "no-type" | "wordless-type" => "unknown-type",
                "wordless-attachment" => "unknown-attachment",
                other => other,
            };
            *found.entry(name).or_default() += count;
        }
        let mut wanted: BTreeMap<&str, u64> = BTreeMap::new();
        for (reason, count) in case["skips"].as_object().into_iter().flatten() {
            let name = match reason.as_str() {
                "invalid_json" => "invalid-json",
                "not_object" => "not-an-object",
                "unknown_type" => "unknown-type",
                "unknown_attachment" => "unknown-attachment",
                "unknown_block" => "unknown-block",
                "bad_shape" => "wrong-shape",
                // These skips are not lines that could not be read.
                "meta" | "thinking_only" | "duplicate_uuid" | "torn_tail" | "pending_tail" => continue,
                other => panic!("case {}: unknown reason {other}", name_of(&case)),
            };
            wanted.insert(name, count.as_u64().unwrap());
        }
        if found != wanted {
            wrong.push(format!("case {}: skips {found:?} instead of {wanted:?}", name_of(&case)));
        }
        if (case["skips"]["torn_tail"].is_u64()) != (report.torn_bytes > 0) {
            wrong.push(format!("case {}: {} torn bytes", name_of(&case), report.torn_bytes));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sessions_have_their_titles_kinds_parents_and_links() {
    let memory = memory_of_all();
    let state = memory.words();
    let episodes = memory.episodes();
    let mut wrong = Vec::new();
    for case in cases() {
        let name = name_of(&case);
        let Some(session) = case["session"].as_str() else {
            let stem = case["file"].as_str().unwrap().rsplit('/').next().unwrap().trim_end_matches(".jsonl");
            if episodes.iter().any(|episode| episode.native_id == stem) {
                wrong.push(format!("case {name}: a session where nobody spoke"));
            }
            continue;
        };
        let native = episode_of(&case);
        let Some(episode) = episodes.iter().find(|episode| episode.native_id == native) else {
            wrong.push(format!("case {name}: no session {native}"));
            continue;
        };
        if let Some(title) = case["title"].as_str()
            && episode.title.as_deref() != Some(title)
        {
            wrong.push(format!("case {name}: title {:?} instead of {title:?}", episode.title));
        }
        let is_subagent = case["agent_id"].is_string();
        if (episode.kind == EpisodeKind::Subagent) != is_subagent {
            wrong.push(format!("case {name}: kind {:?}", episode.kind));
        }
        if is_subagent && !state.contains(&format!("claude-code | {native} | {session} |")) {
            wrong.push(format!("case {name}: parent is not {session}"));
        }
        if episode.cwd.as_deref() != strings(&case["cwds"]).first().copied() {
            wrong.push(format!("case {name}: directory {:?}", episode.cwd));
        }
        if let Some(pr) = case["pr"].as_str() {
            let number = pr.rsplit('#').next().unwrap();
            if !episode.links.iter().any(|(kind, url)| kind == "pull-request" && url.ends_with(number)) {
                wrong.push(format!("case {name}: links {:?}", episode.links));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn forks_refer_to_the_turns_that_they_copied() {
    let memory = memory_of_all();
    let shared = |native: &str| {
        let own = memory.episodes().into_iter().find(|episode| episode.native_id == native).unwrap().id;
        memory.turns(native).iter().filter(|turn| turn.episode != own).count()
    };
    assert_eq!(shared("ca5e0602-d036-492a-bad6-94c55187d7fd"), 5, "the fork shows what it began with");
    assert_eq!(memory.turns("ca5e0601-84df-4f58-b81c-25087eb8414b").len(), 10);
    let texts: Vec<String> = memory.turns("ca5e0602-d036-492a-bad6-94c55187d7fd").into_iter().map(|turn| turn.text).collect();
    assert!(texts[0].starts_with("should the telemetry packets"), "{texts:?}");
    assert!(texts[6].starts_with("Deltas save"), "{texts:?}");
}

#[test]
fn message_with_two_results_is_shared_whole_with_a_fork() {
    let memory = Memory::new();
    let original = std::fs::read_to_string(
        fixture("claude-code").join("projects/-home-dev-orchard-api/ca5e0202-5a96-4c8a-a4b1-d592819cbd3c.jsonl"),
    )
    .unwrap();
    let (session, fork) = ("ca5e0202-5a96-4c8a-a4b1-d592819cbd3c", "ca5e0299-5a96-4c8a-a4b1-d592819cbd3c");
    memory.write("a/original.jsonl", &original);
    memory.write("a/zfork.jsonl", original.replace(session, fork));
    memory.learn();
    let (of_original, of_fork) = (memory.turns(session), memory.turns(fork));
    assert_eq!(of_original.len(), 6);
    assert_eq!(
        of_fork.iter().map(|turn| &turn.tool_text).collect::<Vec<_>>(),
        of_original.iter().map(|turn| &turn.tool_text).collect::<Vec<_>>()
    );
}

#[test]
fn every_division_of_a_file_gives_the_same_turns() {
    // Reading in one go or line by line gives the same text in the same order.
    let whole = memory_of_all();
    let steps = Memory::new();
    let mut cases = cases();
    // The session that a line of case 13 names comes first: see the next test.
    cases.sort_by_key(|case| name_of(case) != "13b");
    for case in cases {
        let file = case["file"].as_str().unwrap();
        let content = std::fs::read(fixture("claude-code").join(file)).unwrap();
        let mut from = 0;
        while from < content.len() {
            let to = content[from..].iter().position(|byte| *byte == b'\n').map_or(content.len(), |at| from + at + 1);
            steps.append(file, &content[from..to]);
            steps.read();
            from = to;
        }
    }
    let output =
        "projects/-home-dev-lanternfish/ca5e0401-8b8a-42b4-968e-c860d18123fc/tool-results/toolu_01gyKTT7pyDFQfWFunZH9Mpm.txt";
    steps.write(output, std::fs::read(fixture("claude-code").join(output)).unwrap());
    // One of the listed prompts is in no transcript.
    steps.write("history.jsonl", std::fs::read(fixture("claude-code").join("history.jsonl")).unwrap());
    steps.read();
    steps.index();
    let (whole, steps) = (whole.words(), steps.words());
    let different: Vec<(&str, &str)> = whole.lines().zip(steps.lines()).filter(|(a, b)| a != b).take(5).collect();
    assert!(whole == steps, "{different:#?}");
}

#[test]
fn title_that_is_read_before_its_session_is_kept() {
    let memory = Memory::new();
    for case in ["13", "13b"] {
        let case = cases().into_iter().find(|known| name_of(known) == case).unwrap();
        let file = case["file"].as_str().unwrap();
        memory.write(file, std::fs::read(fixture("claude-code").join(file)).unwrap());
        memory.read();
    }
    let episodes = memory.episodes();
    let titled = episodes.iter().find(|episode| episode.native_id == "ca5e1302-b3c6-40b6-9587-f0aaf76288d0").unwrap();
    assert_eq!(titled.title.as_deref(), Some("Norwegian VAT on invoices"));
}

#[test]
fn listed_prompts_are_read_where_no_transcript_tells_of_their_session() {
    let memory = Memory::new();
    let mut told = yore_testing::SessionBuilder::new(1);
    told.human("how deep is the lock");
    let session = serde_json::from_str::<Value>(&told.lines()[0]).unwrap()["sessionId"].as_str().unwrap().to_owned();
    memory.write(&format!("claude/projects/-home-dev-locks/{session}.jsonl"), told.text());
    let entry = |session: Option<&str>, at: i64, directory: &str, text: &str| {
        let mut entry = json!({"display": text, "timestamp": at, "project": directory, "pastedContents": {}});
        if let Some(session) = session {
            entry["sessionId"] = session.into();
        }
        entry
    };
    let mut pasted = entry(Some("gone"), 1_740_000_000_000, "/home/dev/piers", "mend this [Pasted text #1 +2 lines]");
    pasted["pastedContents"] = json!({"1": {"id": 1, "type": "text", "content": "pier.rs: panicked"}});
    let entries = [
        entry(Some(&session), 1_750_000_000_000, "/home/dev/locks", "how deep is the lock"),
        pasted,
        entry(Some("gone"), 1_740_000_060_000, "/home/dev/piers", "/clear"),
        // Lists of older versions name no session: only a prompt typed before the oldest transcript is
        // certainly in none.
        entry(None, 1_600_000_000_000, "/home/dev/locks", "how old is the lock"),
        entry(None, 4_000_000_000_000, "/home/dev/locks", "how late is it"),
    ];
    memory.write("claude/history.jsonl", entries.map(|entry| format!("{entry}\n")).concat());
    let root = memory.sources().join("claude");
    memory.read_as("claude-code", &root);
    let texts = |id: &str| memory.turns(id).into_iter().map(|turn| turn.text).collect::<Vec<_>>();
    assert_eq!(texts("gone"), ["mend this [Pasted text #1 +2 lines]\n\npier.rs: panicked"]);
    assert_eq!(memory.turns("gone")[0].project.as_deref(), Some("piers"));
    assert_eq!(texts("typed//home/dev/locks/2020-09-13"), ["how old is the lock"]);
    assert_eq!(memory.episodes().len(), 3);
    assert_eq!(crate::told::words_from_archive(&memory), memory.words());
    let again = memory.read_as("claude-code", &root.join("history.jsonl"));
    assert_eq!((again.files_read, again.turns_added), (0, 0));
}
