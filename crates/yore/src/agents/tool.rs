//! Finds the files that a tool touches, the command that it runs and the failure that it reports, in every agent's field names.

use serde_json::Value;

use super::PROFILES;
use super::question::{Question, Ran};

/// Names of input fields that hold a file's path.
const PATHS: [&str; 7] = ["file_path", "filePath", "filepath", "path", "notebook_path", "absolute_path", "target_file"];
/// Most files of one call that questions are asked about.
const MOST_FILES: usize = 3;

/// Returns the questions at a tool's end: about its files, else about its command and the failure it reports. These agents are not told
/// anything before a tool runs.
pub(super) fn questions(said: &Value) -> Vec<Question> {
    let files = files(said);
    if !files.is_empty() {
        return files;
    }
    let failure = failure(said);
    command(said, Some(failure.is_some())).into_iter().chain(failure).collect()
}

/// Returns a question about the command that a shell runs.
pub(super) fn command(said: &Value, has_failed: Option<bool>) -> Option<Question> {
    if !is_shell(said) {
        return None;
    }
    let input = input(said);
    let command = ["command", "cmd", "commands"].iter().map(|key| &input[*key]).find(|value| !value.is_null())?;
    let command = match command {
        Value::String(text) => text.clone(),
        // A list of words, which a shell may run: `bash -lc TEXT`; or of commands.
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [_, "-lc" | "-c", text] => (*text).to_owned(),
                _ if input["commands"].is_array() => words.join("\n"),
                words => words.join(" "),
            }
        }
        _ => return None,
    };
    let directory = ["workdir", "cwd", "directory"].iter().find_map(|key| input[*key].as_str()).map(str::to_owned);
    let is_patch = command.contains("*** Begin Patch");
    (!command.trim().is_empty() && !is_patch).then_some(Question::Command(Ran { command, directory, has_failed }))
}

/// Returns whether a tool runs commands. A plugin passes on the input of several agents, and some agents run the hooks of others.
fn is_shell(said: &Value) -> bool {
    let name = name(said);
    PROFILES.iter().any(|agent| agent.shells.contains(&name.as_str()))
}

/// Returns a question for each file that a tool reads or changes.
pub(super) fn files(said: &Value) -> Vec<Question> {
    let name = name(said);
    let input = input(said);
    // A patch names its files, whatever tool receives it.
    let patch = input.as_str().or_else(|| ["command", "patch", "patchText", "input"].iter().find_map(|key| input[*key].as_str()));
    let mut files: Vec<String> = patch.map(patched).unwrap_or_default();
    if files.is_empty() && PROFILES.iter().any(|agent| agent.file_tools.contains(&name.as_str())) {
        files.extend(PATHS.iter().find_map(|key| input[*key].as_str()).map(str::to_owned));
        let listed = input["files"].as_array().into_iter().flatten();
        files.extend(listed.filter_map(|file| file.as_str().or_else(|| file["path"].as_str())).map(str::to_owned));
    }
    files.retain(|file| !file.trim().is_empty());
    files.truncate(MOST_FILES);
    files.into_iter().map(Question::File).collect()
}

/// Returns the files that a patch names.
fn patched(text: &str) -> Vec<String> {
    if !text.contains("*** Begin Patch") {
        return Vec::new();
    }
    let marks = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    text.lines().filter_map(|line| marks.iter().find_map(|mark| line.trim().strip_prefix(mark))).map(str::to_owned).collect()
}

/// Returns a question about the failure that a command's output reports.
pub(super) fn failure(said: &Value) -> Option<Question> {
    if !is_shell(said) {
        return None;
    }
    let output = words_of(answer(said));
    let has_failed = said["exit_code"].as_i64().is_some_and(|code| code != 0) || said["error"].is_string();
    (has_failed || yore_core::text::error_line(&output).is_some()).then(|| failed(said)).flatten()
}

/// Returns a question about the output of a tool that is known to have failed.
pub(super) fn failed(said: &Value) -> Option<Question> {
    let error = said["error"].as_str().filter(|error| !error.trim().is_empty());
    let words = error.map_or_else(|| words_of(answer(said)), str::to_owned);
    (!words.trim().is_empty()).then_some(Question::Failure(words))
}

fn name(said: &Value) -> String {
    said["tool_name"].as_str().or_else(|| said["toolName"].as_str()).unwrap_or_default().to_ascii_lowercase()
}

fn input(said: &Value) -> &Value {
    if said["tool_input"].is_null() { &said["toolArgs"] } else { &said["tool_input"] }
}

fn answer(said: &Value) -> &Value {
    let answer = if said["tool_response"].is_null() { &said["toolResult"] } else { &said["tool_response"] };
    // The text for the model, if the answer holds it separately from the text that is displayed.
    ["textResultForLlm", "llmContent"].iter().map(|key| &answer[*key]).find(|inner| !inner.is_null()).unwrap_or(answer)
}

/// Returns all texts in a tool's answer.
fn words_of(answer: &Value) -> String {
    match answer {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words_of).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields.values().map(words_of).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(said: Value) -> Vec<Question> {
        questions(&said)
    }

    #[test]
    fn files_are_known_in_every_agents_terms() {
        let file = |path: &str| vec![Question::File(path.to_owned())];
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
    fn commands_are_known_in_every_agents_terms() {
        let about = |command: &str, directory: Option<&str>| {
            Some(Question::Command(Ran {
                command: command.to_owned(),
                directory: directory.map(str::to_owned),
                has_failed: None,
            }))
        };
        for (said, expected) in [
            (json!({"tool_name": "Bash", "tool_input": {"command": "make", "description": "x"}}), about("make", None)),
            (json!({"tool_name": "exec_command", "tool_input": {"cmd": "make", "workdir": "/a"}}), about("make", Some("/a"))),
            (
                json!({"tool_name": "shell", "tool_input": {"command": ["bash", "-lc", "cd a && make"]}}),
                about("cd a && make", None),
            ),
            (json!({"tool_name": "run_commands", "tool_input": {"commands": ["make", "ls"]}}), about("make\nls", None)),
            (json!({"toolName": "bash", "toolArgs": {"command": "make"}}), about("make", None)),
            (json!({"tool_name": "Bash", "tool_input": {"command": "apply_patch <<E\n*** Begin Patch"}}), None),
            (json!({"tool_name": "Read", "tool_input": {"command": "make"}}), None),
        ] {
            assert_eq!(command(&said, None), expected, "{said}");
        }
        let failed = json!({"tool_name": "bash", "tool_input": {"command": "make"}, "exit_code": 2, "tool_response": "no tide"});
        let ran = Ran { command: "make".to_owned(), directory: None, has_failed: Some(true) };
        assert_eq!(asked(failed), [Question::Command(ran), Question::Failure("no tide".to_owned())]);
    }

    #[test]
    fn failures_are_those_of_commands() {
        let failure = |words: &str| vec![Question::Failure(words.to_owned())];
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
}
