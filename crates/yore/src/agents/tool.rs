//! Finds the files that a tool touches and the failure that it reports, in every agent's field names.

use serde_json::Value;

use super::PROFILES;
use super::question::Question;

/// Names of input fields that hold a file's path.
const PATHS: [&str; 7] = ["file_path", "filePath", "filepath", "path", "notebook_path", "absolute_path", "target_file"];
/// Most files of one call that questions are asked about.
const MOST_FILES: usize = 3;

/// Returns the questions at a tool's end: about its files, else about the failure it reports.
pub(super) fn questions(said: &Value) -> Vec<Question> {
    let files = files(said);
    if files.is_empty() { failure(said).into_iter().collect() } else { files }
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
    let name = name(said);
    // A plugin passes on the input of several agents, and some agents run the hooks of others.
    if !PROFILES.iter().any(|agent| agent.shells.contains(&name.as_str())) {
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
