//! The file that a tool touches, and the failure that it reports, in every agent's terms.

use std::cell::LazyCell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use serde_json::Value;

use super::question::Wish;
use crate::hook::agent::CODEX;

/// Tools that read or change a file, in small letters.
const FILE_TOOLS: [&str; 17] = [
    "apply_patch",
    "create",
    "edit",
    "editor",
    "multiedit",
    "notebook_edit",
    "notebookedit",
    "patch",
    "read",
    "read_file",
    "read_files",
    "replace",
    "str_replace",
    "str_replace_editor",
    "view",
    "write",
    "write_file",
];
/// Tools that run commands, in small letters.
const SHELLS: [&str; 7] = ["bash", "exec_command", "execute_command", "powershell", "run_commands", "run_shell_command", "shell"];
/// Where they name it.
const PATHS: [&str; 7] = ["file_path", "filePath", "filepath", "path", "notebook_path", "absolute_path", "target_file"];
/// Files of one call that are asked about.
const MOST_FILES: usize = 3;
/// As much of a transcript's end is read for what a sub-agent was told to do.
const TAIL: u64 = 256 << 10;

/// What a tool's end asks: about its files, or about the failure that it reports.
pub(super) fn wishes<F: FnOnce() -> Value>(said: &LazyCell<Value, F>) -> Vec<Wish> {
    let files = files(said);
    if files.is_empty() { failure(said).into_iter().collect() } else { files }
}

/// The files that a tool reads or changes.
pub(super) fn files<F: FnOnce() -> Value>(said: &LazyCell<Value, F>) -> Vec<Wish> {
    let name = name(said);
    let input = input(said);
    // A patch is a patch, whoever is given it.
    let patch = input.as_str().or_else(|| ["command", "patch", "patchText", "input"].iter().find_map(|key| input[*key].as_str()));
    let mut files: Vec<String> = patch.map(patched).unwrap_or_default();
    if files.is_empty() && FILE_TOOLS.contains(&name.as_str()) {
        files.extend(PATHS.iter().find_map(|key| input[*key].as_str()).map(str::to_owned));
        let listed = input["files"].as_array().into_iter().flatten();
        files.extend(listed.filter_map(|file| file.as_str().or_else(|| file["path"].as_str())).map(str::to_owned));
    }
    files.retain(|file| !file.trim().is_empty());
    files.truncate(MOST_FILES);
    files.into_iter().map(Wish::File).collect()
}

/// Files that a patch names.
fn patched(text: &str) -> Vec<String> {
    if !text.contains("*** Begin Patch") {
        return Vec::new();
    }
    let marks = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    text.lines().filter_map(|line| marks.iter().find_map(|mark| line.trim().strip_prefix(mark))).map(str::to_owned).collect()
}

/// The failure that a command's output reports.
pub(super) fn failure<F: FnOnce() -> Value>(said: &LazyCell<Value, F>) -> Option<Wish> {
    if !SHELLS.contains(&name(said).as_str()) {
        return None;
    }
    let output = words_of(answer(said));
    let has_failed = said["exit_code"].as_i64().is_some_and(|code| code != 0) || said["error"].is_string();
    (has_failed || yore_core::text::error_line(&output).is_some()).then(|| failed(said)).flatten()
}

/// What a tool reports that is known to have failed.
pub(super) fn failed<F: FnOnce() -> Value>(said: &LazyCell<Value, F>) -> Option<Wish> {
    let error = said["error"].as_str().filter(|error| !error.trim().is_empty());
    let words = error.map_or_else(|| words_of(answer(said)), str::to_owned);
    (!words.trim().is_empty()).then_some(Wish::Failure(words))
}

fn name<F: FnOnce() -> Value>(said: &LazyCell<Value, F>) -> String {
    said["tool_name"].as_str().or_else(|| said["toolName"].as_str()).unwrap_or_default().to_ascii_lowercase()
}

fn input<F: FnOnce() -> Value>(said: &LazyCell<Value, F>) -> &Value {
    if said["tool_input"].is_null() { &said["toolArgs"] } else { &said["tool_input"] }
}

fn answer<F: FnOnce() -> Value>(said: &LazyCell<Value, F>) -> &Value {
    let answer = if said["tool_response"].is_null() { &said["toolResult"] } else { &said["tool_response"] };
    // What the model is given, where it is told beside what is shown.
    ["textResultForLlm", "llmContent"].iter().map(|key| &answer[*key]).find(|inner| !inner.is_null()).unwrap_or(answer)
}

/// All texts in a tool's answer.
fn words_of(answer: &Value) -> String {
    match answer {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words_of).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields.values().map(words_of).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// What the sub-agent that begins was told to do, by the end of the transcript of whoever started it.
/// Agents write that before they start one, but not always in time: then nobody knows.
pub(super) fn errand<F: FnOnce() -> Value>(agent: &str, said: &LazyCell<Value, F>) -> Option<String> {
    let mut file = File::open(said["transcript_path"].as_str()?).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let mut errands = Vec::new();
    for line in tail.rsplit(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
        let (found, is_before) = if agent == CODEX { of_codex(&line["payload"]) } else { of_claude(&line) };
        errands.extend(found);
        if is_before {
            break;
        }
    }
    // Of several that begin at once nobody can tell which this is.
    <[String; 1]>::try_from(errands).ok().map(|[errand]| errand)
}

/// The errands that a line of Claude Code gives, and whether what came before is over and done with.
fn of_claude(line: &Value) -> (Vec<String>, bool) {
    let content = line["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let calls = content.iter().filter(|block| matches!(block["name"].as_str(), Some("Agent" | "Task")));
    (
        calls.filter_map(|block| block["input"]["prompt"].as_str().map(str::to_owned)).collect(),
        line["type"].as_str() == Some("user"),
    )
}

/// The same of an item of Codex.
fn of_codex(item: &Value) -> (Vec<String>, bool) {
    let is_before = item["type"].as_str().is_some_and(|kind| kind.ends_with("_output") || kind == "user_message");
    let arguments = item["arguments"].as_str().filter(|_| item["name"].as_str() == Some("spawn_agent"));
    let arguments: Option<Value> = arguments.and_then(|arguments| serde_json::from_str(arguments).ok());
    (arguments.and_then(|arguments| arguments["message"].as_str().map(str::to_owned)).into_iter().collect(), is_before)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(said: Value) -> Vec<Wish> {
        wishes(&LazyCell::new(|| said))
    }

    #[test]
    fn files_are_known_in_every_agents_terms() {
        let file = |path: &str| vec![Wish::File(path.to_owned())];
        let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: /a/b.rs\n@@\n*** End Patch\nEOF";
        for said in [
            json!({"tool_name": "Edit", "tool_input": {"file_path": "/a/b.rs"}}),
            json!({"tool_name": "Read", "tool_input": {"file_path": "/a/b.rs"}}),
            json!({"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/a/b.rs"}}),
            json!({"tool_name": "read_file", "tool_input": {"file_path": "/a/b.rs"}, "tool_response": {"llmContent": "error: no"}}),
            json!({"toolName": "view", "toolArgs": {"path": "/a/b.rs"}}),
            json!({"tool_name": "edit", "tool_input": {"filePath": "/a/b.rs"}}),
            json!({"tool_name": "read_files", "tool_input": {"files": [{"path": "/a/b.rs"}]}}),
            json!({"tool_name": "apply_patch", "tool_input": {"command": patch}}),
            json!({"tool_name": "Bash", "tool_input": {"command": patch}}),
            json!({"toolName": "apply_patch", "toolArgs": patch}),
        ] {
            assert_eq!(asked(said.clone()), file("/a/b.rs"), "{said}");
        }
        assert_eq!(asked(json!({"tool_name": "Grep", "tool_input": {"path": "/a"}})), []);
        assert_eq!(asked(json!({"tool_name": "Write", "tool_input": {"file_path": " "}})), []);
        let many: Vec<Value> = (0..9).map(|number| json!({"path": format!("{number}")})).collect();
        assert_eq!(asked(json!({"tool_name": "read_files", "tool_input": {"files": many}})).len(), MOST_FILES);
    }

    #[test]
    fn failures_are_those_of_commands() {
        let failure = |words: &str| vec![Wish::Failure(words.to_owned())];
        for (said, expected) in [
            (
                json!({"tool_name": "Bash", "tool_response": {"stdout": "", "stderr": "error: no gauge"}}),
                failure("error: no gauge"),
            ),
            (json!({"tool_name": "Bash", "tool_response": "error: no gauge"}), failure("error: no gauge")),
            (
                json!({"tool_name": "run_shell_command", "tool_response": {"llmContent": "error: no gauge", "returnDisplay": "x"}}),
                failure("error: no gauge"),
            ),
            (
                json!({"toolName": "bash", "toolResult": {"resultType": "success", "textResultForLlm": "error: no gauge"}}),
                failure("error: no gauge"),
            ),
            (json!({"tool_name": "bash", "tool_response": "no gauge", "exit_code": 3}), failure("no gauge")),
            (json!({"tool_name": "Bash", "tool_response": {"stdout": "fine"}}), vec![]),
            (json!({"tool_name": "Grep", "tool_response": "error: no gauge"}), vec![]),
        ] {
            assert_eq!(asked(said.clone()), expected, "{said}");
        }
    }

    #[test]
    fn errand_is_read_from_the_end_of_the_transcript() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.jsonl");
        let call = |prompt: &str| json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Agent", "input": {"prompt": prompt}}]}});
        let spawn =
            json!({"payload": {"type": "function_call", "name": "spawn_agent", "arguments": "{\"message\":\"find the pier\"}"}});
        let before = json!({"type": "user", "message": {"content": "go on"}});
        std::fs::write(&path, format!("{}\n{before}\n{}\n{{\"torn", call("an older one"), call("find the gauge"))).unwrap();
        let said = || json!({"transcript_path": path});
        assert_eq!(errand("claude-code", &LazyCell::new(said)).as_deref(), Some("find the gauge"));
        assert_eq!(errand(CODEX, &LazyCell::new(said)), None);
        std::fs::write(&path, format!("{before}\n{}\n{}", call("find the gauge"), call("find the pier"))).unwrap();
        assert_eq!(errand("claude-code", &LazyCell::new(said)), None, "two at once");
        std::fs::write(&path, spawn.to_string()).unwrap();
        assert_eq!(errand(CODEX, &LazyCell::new(said)).as_deref(), Some("find the pier"));
        assert_eq!(errand("claude-code", &LazyCell::new(|| json!({"transcript_path": "/nowhere"}))), None);
    }
}
