//! Reads inputs and outputs of Codex's tools.

use serde_json::Value;
use yore_core::episode::{FileAction, FileUse, Outcome};

use super::super::own::is_own_server;
use super::super::shapes::{MAX_FILES, add_file, arguments, files_of_input, flatten, patched_files, text_of};

/// Inputs that control a tool and are not part of its text.
const UNSAID: [&str; 6] =
    ["yield_time_ms", "max_output_tokens", "max_tokens", "timeout_ms", "timeout", "with_escalated_permissions"];

/// Returns a call's name, its name and inputs as text, and the files that it touches.
pub(super) fn call_of(item: &Value) -> (String, String, Vec<FileUse>) {
    let kind = text_of(item, "type").unwrap_or("");
    let name = match (text_of(item, "name"), text_of(item, "namespace")) {
        (Some(name), Some(space)) => format!("{space}.{name}"),
        (Some(name), None) => name.to_owned(),
        // `local_shell_call`, `web_search_call`
        (None, _) => kind.strip_suffix("_call").unwrap_or(kind).to_owned(),
    };
    let input = [&item["arguments"], &item["input"], &item["action"]].into_iter().find(|input| !input.is_null());
    let input = arguments(input.unwrap_or(&Value::Null));
    let mut files = files_of_input(&name, &input);
    let mut text = name.clone();
    match &*input {
        Value::Object(inputs) => {
            for (key, value) in inputs.iter().filter(|(key, _)| !UNSAID.contains(&key.as_str())) {
                text.push_str(&format!("\n{key}: {}", words_of(value)));
            }
        }
        Value::Null => {}
        other => {
            text.push('\n');
            text.push_str(&words_of(other));
        }
    }
    for path in patched_files(&text) {
        add_file(&mut files, path, FileAction::Written);
    }
    (name, text, files)
}

/// Returns a value as text, with a command on one line.
fn words_of(value: &Value) -> String {
    match value {
        Value::Array(list) if !list.is_empty() && list.iter().all(Value::is_string) => {
            list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        }
        other => flatten(other),
    }
}

/// Returns the text of an answer and how the call ended, which is `None` while it is running.
pub(super) fn answer_of(output: &Value) -> (String, Option<Outcome>) {
    match output {
        Value::String(text) => match parts_of_server(text) {
            Some(parts) => answer_of(&parts),
            None => answer_of_text(text),
        },
        Value::Array(_) => {
            let mut words = String::new();
            for text in output.as_array().into_iter().flatten().filter_map(|item| text_of(item, "text")) {
                if !words.is_empty() && !words.ends_with('\n') {
                    words.push('\n');
                }
                words.push_str(text);
            }
            answer_of_text(&words)
        }
        Value::Object(_) => {
            let inner = if output["content"].is_null() { &output["output"] } else { &output["content"] };
            let (words, outcome) = if inner.is_object() { (flatten(inner), Some(Outcome::Done)) } else { answer_of(inner) };
            match (output["success"].as_bool(), exit_code(&output["metadata"]["exit_code"])) {
                (Some(false), _) => (words, Some(Outcome::Failed)),
                (_, Some(code)) if code != 0 => (words, Some(Outcome::Failed)),
                _ => (words, outcome),
            }
        }
        _ => (String::new(), Some(Outcome::Done)),
    }
}

/// Returns the parts of a server's answer that were written as text.
fn parts_of_server(text: &str) -> Option<Value> {
    let parts: Value = text.starts_with("[{").then(|| serde_json::from_str(text).ok())??;
    let is_part = |part: &Value| text_of(part, "type") == Some("text") && part["text"].is_string();
    parts.as_array().is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_part)).then_some(parts)
}

/// Extracts a command that a person ran in the session from the text for the model: the command, its output,
/// and how it ended.
pub(super) fn shell_command_of_person(text: &str) -> Option<(String, String, Outcome)> {
    let inner = text.trim().strip_prefix("<user_shell_command>")?;
    let between = |open: &str, close: &str| Some(inner.split_once(open)?.1.split_once(close)?.0.trim().to_owned());
    let command = between("<command>", "</command>")?;
    let result = between("<result>", "</result>").unwrap_or_default();
    let (words, outcome) = answer_of_text(&result);
    Some((command, words, outcome.unwrap_or(Outcome::Done)))
}

/// A tool that a script called, as the client reports it after its end.
pub(super) struct NestedCall {
    /// Name of the tool.
    pub name: String,
    /// Name and inputs as text.
    pub call: String,
    /// Its answer, beginning with the exit code of a failure.
    pub answer: String,
    /// Result of the call.
    pub outcome: Outcome,
    /// Files that it touched.
    pub files: Vec<FileUse>,
}

/// Returns the tool call in an item of a turn; `None` for other items and for yore's own tools.
pub(super) fn nested_call(item: &Value) -> Option<NestedCall> {
    let has_failed = matches!(text_of(item, "status"), Some("failed" | "declined"));
    let outcome = if has_failed { Outcome::Failed } else { Outcome::Done };
    match text_of(item, "type")? {
        "CommandExecution" => {
            let command = match item["command"].as_array().map(Vec::as_slice) {
                // The call of the shell itself is omitted.
                Some([_, flag, command]) if flag.as_str().is_some_and(|flag| flag.starts_with('-')) => words_of(command),
                _ => words_of(&item["command"]),
            };
            let output = text_of(item, "aggregated_output").unwrap_or("");
            let (answer, outcome) = match with_code(output, exit_code(&item["exit_code"])) {
                (answer, Some(Outcome::Failed)) => (answer, Outcome::Failed),
                (answer, _) => (answer, outcome),
            };
            let name = "exec_command".to_owned();
            let call = format!("{name}\ncommand: {command}");
            let files = patched_files(&call).into_iter().map(|path| FileUse { path, action: FileAction::Written }).collect();
            Some(NestedCall { name, call, answer, outcome, files })
        }
        "McpToolCall" => {
            let (server, tool) = (text_of(item, "server").unwrap_or(""), text_of(item, "tool").unwrap_or("tool"));
            if is_own_server(server) {
                return None;
            }
            let name = format!("mcp__{server}.{tool}");
            let files = files_of_input(tool, &item["arguments"]);
            let call = format!("{name}\n{}", flatten(&item["arguments"]));
            let answer = if item["error"].is_null() { flatten(&item["result"]["content"]) } else { flatten(&item["error"]) };
            Some(NestedCall { name, call, answer, outcome, files })
        }
        "FileChange" => {
            let changes = item["changes"].as_object()?;
            let files: Vec<FileUse> =
                changes.keys().take(MAX_FILES).map(|path| FileUse { path: path.clone(), action: FileAction::Written }).collect();
            let mut call = "apply_patch".to_owned();
            for (path, change) in changes.iter().take(MAX_FILES) {
                let diff = text_of(change, "unified_diff").or_else(|| text_of(change, "content")).unwrap_or("");
                call.push_str(&format!("\n{path}\n{diff}"));
            }
            let output = [text_of(item, "stdout").unwrap_or(""), text_of(item, "stderr").unwrap_or("")].concat();
            Some(NestedCall { name: "apply_patch".to_owned(), call, answer: output, outcome, files })
        }
        _ => None,
    }
}

/// Returns the output of a script, without the results of separately reported tools, and how it ended.
pub(super) fn answer_of_script(output: &Value, is_told: bool) -> (String, Option<Outcome>) {
    let parts: Vec<&str> = match output {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| text_of(part, "text")).collect(),
        _ => return answer_of(output),
    };
    let (mut words, mut outcome) = (String::new(), Some(Outcome::Done));
    for part in parts {
        let (text, ended) = match result_of_tool(part) {
            Some(_) if is_told => continue,
            Some(result) => result,
            None => answer_of_text(part),
        };
        if ended != Some(Outcome::Done) {
            outcome = ended;
        }
        if !text.trim().is_empty() && !is_head(&text) {
            if !words.is_empty() && !words.ends_with('\n') {
                words.push('\n');
            }
            words.push_str(&text);
        }
    }
    (words, outcome)
}

/// Parses a tool's result that a script printed unchanged.
fn result_of_tool(text: &str) -> Option<(String, Option<Outcome>)> {
    let value: Value = text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())??;
    if let (Some(output), true) = (value["output"].as_str(), value.get("exit_code").is_some() || value.get("chunk_id").is_some())
    {
        return Some(with_code(output, exit_code(&value["exit_code"])));
    }
    let content = value["content"].as_array()?;
    let outcome = if value["isError"].as_bool() == Some(true) { Outcome::Failed } else { Outcome::Done };
    Some((content.iter().map(flatten).collect::<Vec<_>>().join("\n"), Some(outcome)))
}

/// Returns whether a text is only the header that the client puts before a script's output.
fn is_head(text: &str) -> bool {
    text.lines()
        .all(|line| ["Script completed", "Wall time", "Output:"].iter().any(|head| line.starts_with(head)) || line.is_empty())
}

fn exit_code(value: &Value) -> Option<i64> {
    value.as_i64()
}

fn answer_of_text(text: &str) -> (String, Option<Outcome>) {
    // The oldest form is an object written as text.
    if text.starts_with('{')
        && let Ok(value) = serde_json::from_str::<Value>(text)
        && let (Some(words), Some(code)) = (value["output"].as_str(), exit_code(&value["metadata"]["exit_code"]))
    {
        return with_code(words, Some(code));
    }
    let (head, body) = split_head(text);
    let code = head.lines().find_map(|line| {
        let number = line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "))?;
        number.trim().parse::<i64>().ok()
    });
    if code.is_some() {
        return with_code(body, code);
    }
    let is_one_of = |beginnings: &[&str]| beginnings.iter().any(|beginning| text.starts_with(beginning));
    let outcome = if head.contains("Process running with session ID") || head.starts_with("Script running") {
        None
    } else if is_one_of(&["aborted", "exec command rejected", "rejected by user", "patch rejected by user"]) {
        Some(Outcome::Cancelled)
    } else if head.starts_with("Script failed")
        || is_one_of(&[
            "apply_patch verification failed",
            "failed in sandbox",
            "exec_command failed",
            "write_stdin failed",
            "execution error",
            "command timed out",
            "Error",
            "error:",
        ])
    {
        Some(Outcome::Failed)
    } else {
        Some(Outcome::Done)
    };
    (body.to_owned(), outcome)
}

/// Adds a failure's exit code to the text, so that it can be searched.
fn with_code(words: &str, code: Option<i64>) -> (String, Option<Outcome>) {
    match code {
        Some(code) if code != 0 => (format!("exit code {code}\n{words}"), Some(Outcome::Failed)),
        _ => (words.to_owned(), Some(Outcome::Done)),
    }
}

/// Splits a text into the lines that the client puts before a tool's output, and the output.
fn split_head(text: &str) -> (&str, &str) {
    let has_head = ["Chunk ID: ", "Exit code: ", "Wall time", "Script "].iter().any(|beginning| text.starts_with(beginning));
    let end = has_head.then(|| text.get(..text.floor_char_boundary(400))?.find("Output:\n")).flatten();
    match end {
        Some(at) => (&text[..at], &text[at + "Output:\n".len()..]),
        None if has_head => (text, text),
        None => ("", text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outputs_of_every_shape_tell_how_the_call_ended() {
        let failed = Some(Outcome::Failed);
        for (output, words, outcome) in [
            (json!("plain"), "plain", Some(Outcome::Done)),
            (json!("Exit code: 0\nWall time: 0 seconds\nOutput:\nfine\n"), "fine\n", Some(Outcome::Done)),
            (json!("Chunk ID: 1\nProcess exited with code 2\nOutput:\nbad"), "exit code 2\nbad", failed),
            (json!("Chunk ID: 1\nProcess running with session ID 9\nOutput:\nso far"), "so far", None),
            (json!("{\"output\":\"no\",\"metadata\":{\"exit_code\":1,\"duration_seconds\":0.1}}"), "exit code 1\nno", failed),
            (
                json!([{"type": "input_text", "text": "Script failed\nOutput:\n"}, {"type": "input_text", "text": "x"}]),
                "x",
                failed,
            ),
            (json!({"content": "why", "success": false}), "why", failed),
            (json!("aborted by user after 3.1s"), "aborted by user after 3.1s", Some(Outcome::Cancelled)),
            (json!("apply_patch verification failed: no"), "apply_patch verification failed: no", failed),
            (Value::Null, "", Some(Outcome::Done)),
        ] {
            assert_eq!(answer_of(&output), (words.to_owned(), outcome), "{output}");
        }
    }

    #[test]
    fn script_that_prints_a_commands_result_tells_how_the_command_ended() {
        let head = json!({"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"});
        let result =
            json!({"type": "input_text", "text": "{\"chunk_id\":\"a\",\"exit_code\":101,\"output\":\"error: no gauge\"}"});
        let words = json!({"type": "input_text", "text": "and so on"});
        let output = json!([head, result, words]);
        assert_eq!(
            answer_of_script(&output, false),
            ("exit code 101\nerror: no gauge\nand so on".to_owned(), Some(Outcome::Failed))
        );
        assert_eq!(answer_of_script(&output, true), ("and so on".to_owned(), Some(Outcome::Done)));
        assert_eq!(answer_of_script(&json!([head]), true), (String::new(), Some(Outcome::Done)));
        let failed = json!([{"type": "input_text", "text": "Script failed\nWall time 0.1 seconds\nOutput:\nReferenceError: x"}]);
        assert_eq!(answer_of_script(&failed, true), ("ReferenceError: x".to_owned(), Some(Outcome::Failed)));
    }

    #[test]
    fn files_of_a_patch_are_found_in_text_shell_and_script() {
        let patch =
            "*** Begin Patch\n*** Update File: src/net.rs\n*** Move to: src\\new.rs\n@@\n*** Add File: b c.md\n*** End Patch";
        assert_eq!(patched_files(patch), ["src/net.rs", "src\\new.rs", "b c.md"]);
        let script = r#"const p = "*** Begin Patch\n*** Delete File: /a/b.rs\n*** End Patch"; await tools.apply_patch(p)"#;
        assert_eq!(patched_files(script), ["/a/b.rs"]);
        let (name, text, files) = call_of(&json!({"type": "function_call", "name": "shell",
            "arguments": "{\"command\":[\"bash\",\"-lc\",\"ls\"],\"timeout_ms\":9}"}));
        assert_eq!((name.as_str(), text.as_str(), files.len()), ("shell", "shell\ncommand: bash -lc ls", 0));
    }
}
