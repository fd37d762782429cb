//! Pi, and the agents that keep its format: a header, then entries that form a tree by `parentId`. The last entry is the end of
//! the conversation as it stands; what does not lead to it was taken back.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use yore_core::episode::{Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

use super::super::shapes::{Answer, Message, first_text, flatten, id_of, short, text_of};
use super::super::{Computer, Reading, entries, files_below};
use super::form::{Facts, Line, MAX_DEPTH, Parsed, Said, facts_in, first_values, lines_below, name_of, read_content, time_of};

/// List of the sessions in a folder of OpenClaw.
const LIST: &str = "sessions.json";
/// What OpenClaw adds to the name of a session's file when the session begins anew.
const RESET: &str = ".jsonl.reset.";
/// What it adds to the name of a copy that it makes before it shortens the context. The session's own file has these words.
const CHECKPOINT: &str = ".checkpoint.";
/// Parts of the keys of sessions whose prompts OpenClaw itself writes.
const AUTOMATED: [&str; 3] = [":cron:", ":hook:", ":heartbeat"];

/// Maximum number of sessions that a fork goes back to.
const MOST_ORIGINS: usize = 32;

/// Entries without words, or whose words are read with the header.
const WORDLESS: [&str; 15] = [
    "session",
    "title",
    "title_change",
    "session_info",
    "model_change",
    "thinking_level_change",
    "label",
    "leaf",
    "custom",
    "session_init",
    "mode_change",
    "service_tier_change",
    "mcp_tool_selection",
    "active_tools_change",
    "ttsr_injection",
];

pub(super) fn pi_places(computer: &Computer<'_>) -> Vec<PathBuf> {
    let sessions = computer.named("PI_CODING_AGENT_SESSION_DIR");
    vec![sessions.unwrap_or_else(|| computer.directory("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions"))]
}

/// A named profile has a folder of its own, and there may be any number of profiles.
pub(super) fn omp_places(computer: &Computer<'_>) -> Vec<PathBuf> {
    let home = computer.home.join(".omp");
    let data = computer.data().join("omp");
    vec![home.join("agent/sessions"), home.join("profiles"), data.join("sessions"), data.join("profiles")]
}

pub(super) fn openclaw_places(computer: &Computer<'_>) -> Vec<PathBuf> {
    vec![computer.directory("OPENCLAW_STATE_DIR", ".openclaw").join("agents")]
}

pub(super) fn find(root: &Path) -> Vec<PathBuf> {
    lines_below(root, is_conversation)
}

/// OpenClaw's sessions, those that were begun anew included. Deleted ones stay deleted.
pub(super) fn find_openclaw(root: &Path) -> Vec<PathBuf> {
    let mut found = lines_below(root, |file| !name_of(Some(file)).contains(CHECKPOINT) && is_conversation(file));
    let lists = files_below(root, "json", MAX_DEPTH).into_iter().filter(|file| name_of(Some(file)) == LIST);
    let folders: HashSet<PathBuf> =
        found.iter().chain(&lists.collect::<Vec<_>>()).filter_map(|file| file.parent()).map(Path::to_path_buf).collect();
    for folder in folders {
        found.extend(
            entries(&folder).map(|entry| entry.path()).filter(|file| name_of(Some(file)).contains(RESET) && file.is_file()),
        );
    }
    found
}

/// Returns whether a file begins with a session's header. A title may stand before it, and its first line may be damaged.
fn is_conversation(file: &Path) -> bool {
    first_values(file).iter().any(is_header)
}

fn is_header(value: &Value) -> bool {
    text_of(value, "type") == Some("session") && (value.get("cwd").is_some() || value["timestamp"].is_string())
}

pub(super) fn list_of_sessions(file: &Path) -> Vec<PathBuf> {
    vec![file.with_file_name(LIST)]
}

pub(super) fn parse(path: &Path, lines: Vec<Line>) -> Option<Parsed> {
    let header = lines.iter().map(|line| &line.value).find(|value| is_header(value));
    let is_entry = |line: &Line| line.value.get("parentId").is_some() && text_of(&line.value, "type").is_some();
    // A file whose first line is damaged is still a conversation.
    if header.is_none() && !lines.iter().any(is_entry) {
        return None;
    }
    let header = header.cloned().unwrap_or_default();
    let session = text_of(&header, "id").map_or_else(|| session_of_name(path), str::to_owned);
    let list = facts_in(&path.with_file_name(LIST));
    let listed = list.as_object().and_then(|list| list.iter().find(|(_, facts)| text_of(facts, "sessionId") == Some(&session)));
    // OMP keeps the sub-agents of a session in a folder with the name of its file.
    let parent = path.parent().filter(|folder| folder.with_extension("jsonl").is_file()).map(session_of_name);
    let started = listed.filter(|(key, _)| key.contains(":subagent:")).map(|(key, facts)| {
        let above = text_of(facts, "spawnedBy").and_then(|above| text_of(&list[above], "sessionId"));
        above.unwrap_or(key).to_owned()
    });
    let mut facts = Facts {
        parent: parent.or(started),
        is_automated: listed.is_some_and(|(key, _)| AUTOMATED.iter().any(|part| key.contains(part))),
        cwd: text_of(&header, "cwd").map(str::to_owned),
        began: header["timestamp"].clone(),
        session,
        ..Facts::default()
    };
    for Line { value, .. } in &lines {
        let (name, rank) = match text_of(value, "type") {
            Some("session_info") => (text_of(value, "name"), TitleRank::Custom),
            Some("session" | "title" | "title_change") => {
                let is_given = matches!(first_text(value, &["titleSource", "source"]), Some("user" | "manual"));
                (text_of(value, "title"), if is_given { TitleRank::Custom } else { TitleRank::Ai })
            }
            _ => continue,
        };
        if let Some(name) = name
            && facts.title.as_ref().is_none_or(|(_, known)| rank >= *known)
        {
            facts.title = Some((name.to_owned(), rank));
        }
    }
    let taken_back = taken_back(&lines);
    let origins = origins(path, &header, &facts.session);
    let mut model = None;
    let mut messages = Vec::new();
    for (at, Line { number, mut value }) in lines.into_iter().enumerate() {
        let kind = text_of(&value, "type").unwrap_or("");
        if kind == "model_change" {
            model = first_text(&value, &["modelId", "model"]).map(str::to_owned);
        }
        if WORDLESS.contains(&kind) {
            continue;
        }
        slim(&mut value);
        if value["message"]["role"] == "assistant"
            && value["message"]["model"].is_null()
            && let Some(model) = &model
        {
            value["message"]["model"] = json!(model);
        }
        // Ids of entries are short, so that only the time makes them differ between sessions.
        let key = text_of(&value, "id").zip(text_of(&value, "timestamp")).map(|(id, time)| format!("{id}@{time}"));
        let owner = owner_of(&origins, &value["timestamp"]);
        messages.push(Said { line: number, key, owner, is_taken_back: taken_back.contains(&at), message: value });
    }
    Some(Parsed { facts, messages })
}

/// Removes what is not part of the conversation: thoughts, their signatures, numbers of tokens.
fn slim(entry: &mut Value) {
    let Some(message) = entry.get_mut("message").and_then(Value::as_object_mut) else { return };
    message.shift_remove("usage");
    for block in message.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(members) = block
            && members.get("type").is_some_and(|kind| kind == "thinking")
        {
            members.retain(|key, _| key == "type");
        }
    }
}

/// Returns the id in `2026-01-02T03-04-05-678Z_<id>.jsonl`, or a shorter form of that name.
fn session_of_name(path: &Path) -> String {
    let name = name_of(Some(path)).split(".jsonl").next().unwrap_or("");
    name.rsplit_once('_').map_or(name, |(_, id)| id).to_owned()
}

/// A session from which another was forked, and the time when it began.
type Origin = (String, Option<UtcMillis>);

/// Returns the sessions that a fork goes back to, itself first; nothing for a session that is no fork.
fn origins(path: &Path, header: &Value, session: &str) -> Vec<Origin> {
    let began = |header: &Value| time_of(&header["timestamp"], TimeQuality::Exact).and_then(|time| time.utc);
    let mut found: Vec<Origin> = Vec::new();
    let (mut file, mut header, mut session) = (path.to_path_buf(), header.clone(), session.to_owned());
    while let Some(above) = first_text(&header, &["parentSession", "branchedFrom"]).map(PathBuf::from) {
        if found.len() >= MOST_ORIGINS || found.iter().any(|(known, _)| *known == session) {
            break;
        }
        found.push((session, began(&header)));
        // The folder may have been moved.
        file = if above.is_file() { above } else { file.with_file_name(above.file_name().unwrap_or_default()) };
        header = first_values(&file).into_iter().find(is_header).unwrap_or_default();
        session = text_of(&header, "id").map_or_else(|| session_of_name(&file), str::to_owned);
    }
    if !found.is_empty() {
        found.push((session, began(&header)));
    }
    found
}

/// Returns the session that said an entry of a fork first: the youngest one that had begun. `None`: this one.
fn owner_of(origins: &[Origin], time: &Value) -> Option<String> {
    let time = time_of(time, TimeQuality::Exact)?.utc?;
    let had_begun = |(_, began): &&Origin| began.is_some_and(|began| began <= time);
    let at = origins.iter().position(|origin| had_begun(&origin)).unwrap_or(origins.len().checked_sub(1)?);
    (at > 0).then(|| origins[at].0.clone())
}

/// Returns the positions of the entries that were taken back: the conversation went on from an earlier one, so that another entry
/// of the last branch has the same parent. What follows an entry that was taken back was taken back too. An entry whose parent
/// is not in the file is kept.
fn taken_back(lines: &[Line]) -> HashSet<usize> {
    let id = |at: usize| text_of(&lines[at].value, "id");
    // The parent of the first entry is null.
    let parent = |at: usize| lines[at].value.get("parentId").map(|parent| parent.as_str().unwrap_or(""));
    let places: HashMap<&str, usize> = (0..lines.len()).filter_map(|at| Some((id(at)?, at))).collect();
    let mut branch = HashSet::new();
    let mut continued = HashSet::new();
    let mut next = (0..lines.len()).rev().find(|at| parent(*at).is_some());
    while let Some(at) = next.filter(|at| branch.insert(*at)) {
        let above = parent(at);
        continued.extend(above);
        next = above.and_then(|above| places.get(above).copied());
    }
    // Parents come before their children.
    let mut left = HashSet::new();
    for at in (0..lines.len()).filter(|at| !branch.contains(at)) {
        let is_left = parent(at)
            .is_some_and(|parent| continued.contains(parent) || places.get(parent).is_some_and(|above| left.contains(above)));
        if is_left {
            left.insert(at);
        }
    }
    left
}

pub(super) fn read(entry: &Value, tool_bytes: usize, out: &mut Vec<Reading>) -> Option<Message> {
    let time = time_of(&entry["timestamp"], TimeQuality::Exact)
        .or_else(|| time_of(&entry["message"]["timestamp"], TimeQuality::Exact))
        .unwrap_or(RecordedTime::UNKNOWN);
    let mut message = Message::new(text_of(entry, "id").unwrap_or("").to_owned(), Role::Injected, time);
    match text_of(entry, "type").unwrap_or("") {
        "message" => read_message(&entry["message"], tool_bytes, &mut message, out)?,
        "custom_message" => read_content(&entry["content"], &mut message, out, |_, _, _| false),
        "compaction" | "branch_summary" => {
            message.role = Role::Summary;
            message.say(text_of(entry, "summary").unwrap_or(""));
        }
        unknown => {
            out.push(Reading::Skip("unknown-type", short(unknown)));
            return None;
        }
    }
    Some(message)
}

fn read_message(native: &Value, tool_bytes: usize, message: &mut Message, out: &mut Vec<Reading>) -> Option<()> {
    let role = text_of(native, "role").unwrap_or("");
    message.role = match role {
        // OpenClaw records who sent a prompt, if it was no person.
        "user" => match text_of(&native["provenance"], "kind") {
            None | Some("external_user") => Role::Human,
            Some(_) => Role::Injected,
        },
        "assistant" => Role::Assistant,
        "toolResult" => Role::ToolResult,
        // Words of extensions and of the program.
        "custom" | "hookMessage" | "developer" | "fileMention" => Role::Injected,
        "branchSummary" | "compactionSummary" => Role::Summary,
        // The person runs a command.
        "bashExecution" | "pythonExecution" => Role::Human,
        "system" => Role::System,
        unknown => {
            out.push(Reading::Skip("unknown-role", short(unknown)));
            return None;
        }
    };
    match role {
        "assistant" => {
            message.model = text_of(native, "model").map(str::to_owned);
            read_content(&native["content"], message, out, |kind, block, message| {
                if kind == "toolCall" {
                    message.call(id_of(&block["id"]), text_of(block, "name").unwrap_or("tool"), &block["arguments"], tool_bytes);
                }
                matches!(kind, "toolCall" | "redactedThinking")
            });
            if let Some(error) = text_of(native, "errorMessage") {
                message.is_error = true;
                if message.text.is_empty() && message.tools.is_empty() {
                    message.role = Role::System;
                    message.say(error);
                }
            }
        }
        "toolResult" => {
            let mut told = message.clone();
            read_content(&native["content"], &mut told, out, |_, _, _| false);
            message.answers.push(Answer {
                call_id: id_of(&native["toolCallId"]),
                name: text_of(native, "toolName").unwrap_or("").to_owned(),
                text: told.text,
                outcome: Some(if native["isError"] == true { Outcome::Failed } else { Outcome::Done }),
                files: Vec::new(),
            });
        }
        "bashExecution" | "pythonExecution" => {
            let command = first_text(native, &["command", "code"]).unwrap_or("");
            message.say(&format!("! {command}"));
            let outcome = match (&native["cancelled"], native["exitCode"].as_i64()) {
                (Value::Bool(true), _) => Outcome::Cancelled,
                (_, Some(code)) if code != 0 => Outcome::Failed,
                _ => Outcome::Done,
            };
            let text = text_of(native, "output").unwrap_or("").to_owned();
            message.answers.push(Answer { text, outcome: Some(outcome), ..Answer::default() });
        }
        "branchSummary" | "compactionSummary" => message.say(text_of(native, "summary").unwrap_or("")),
        "fileMention" => message.say(&flatten(&native["files"])),
        _ => read_content(&native["content"], message, out, |_, _, _| false),
    }
    Some(())
}
