//! Reads a message of Cursor's editor, called a bubble.

use serde_json::Value;

use super::super::shapes::{first_text, text_of};
use super::record::{Message, millis, parse, time};
use super::{lexical, workspace};

/// Members of a tool's answer that repeat whole files.
const BULK: [&str; 3] = ["diff", "checkpoint", "originalFileContents"];

/// Returns the message in a bubble of any version, or an unknown type as the error. `head_type` is the type
/// in the list of bubbles.
pub(super) fn message(id: &str, bubble: &Value, head_type: &Value) -> Result<Message, String> {
    let role = role(&bubble["type"]).or_else(|| role(head_type));
    let Some(role) = role else { return Err(bubble["type"].to_string()) };
    let mut message = Message { id: id.to_owned(), role, text: text(bubble), ..Message::default() };
    message.thinking = thinking(bubble);
    message.at = time(bubble, "createdAt");
    if message.at.is_none() {
        let timing = &bubble["timingInfo"];
        let known = ["clientRpcSendTime", "clientSettleTime", "clientEndTime"].iter().find_map(|key| millis(timing, key));
        message.at = known.map(Into::into);
    }
    if role == "assistant" {
        message.model = model(bubble);
        message.tools.extend(tool(&bubble["toolFormerData"]));
    }
    files(bubble, &mut message);
    Ok(message)
}

/// Returns the model that a bubble names: for an answer the one that wrote it, for a prompt the one that was
/// chosen.
pub(super) fn model(bubble: &Value) -> Option<String> {
    first_text(bubble, &["modelType", "modelName"])
        .or_else(|| text_of(&bubble["modelInfo"], "modelName"))
        .filter(|model| is_model(model))
        .map(str::to_owned)
}

/// Returns whether a name is that of a model. A person may leave the choice to Cursor.
pub(super) fn is_model(name: &str) -> bool {
    !matches!(name, "default" | "auto" | "unknown")
}

fn role(kind: &Value) -> Option<&'static str> {
    match (kind.as_i64(), kind.as_str()) {
        (Some(1), _) | (_, Some("user" | "human")) => Some("user"),
        (Some(2), _) | (_, Some("ai" | "assistant")) => Some("assistant"),
        _ => None,
    }
}

fn text(bubble: &Value) -> String {
    if let Some(text) = text_of(bubble, "text").filter(|text| !text.trim().is_empty()) {
        return text.to_owned();
    }
    let rich = ["richText", "initText"].iter().filter_map(|key| text_of(bubble, key)).map(lexical::words);
    rich.into_iter()
        .find(|words| !words.is_empty())
        .or_else(|| text_of(&bubble["delegate"], "a").map(str::to_owned))
        .or_else(|| text_of(bubble, "rawText").map(str::to_owned))
        .unwrap_or_default()
}

fn thinking(bubble: &Value) -> String {
    let of = |value: &Value| {
        value.as_str().or_else(|| first_text(value, &["text", "thinking"])).map(str::to_owned).filter(|text| !text.is_empty())
    };
    of(&bubble["thinking"]).unwrap_or_else(|| {
        let blocks = bubble["allThinkingBlocks"].as_array().into_iter().flatten();
        blocks.filter_map(of).collect::<Vec<_>>().join("\n\n")
    })
}

/// Returns a tool call and its answer. Most bubbles have the member without a call in it.
fn tool(data: &Value) -> Option<Value> {
    let name = text_of(data, "name")?;
    let mut tool = serde_json::Map::new();
    tool.insert("name".to_owned(), name.into());
    if let Some(call) = text_of(data, "toolCallId") {
        tool.insert("call".to_owned(), call.into());
    }
    for key in ["status", "userDecision"] {
        if let Some(text) = text_of(data, key) {
            tool.insert(key.to_owned(), text.into());
        }
    }
    // The model's own arguments or, if they are missing, the editor's version of them.
    let input = ["rawArgs", "params"].iter().map(|key| unpacked(&data[*key])).find(says_something);
    if let Some(input) = input {
        tool.insert("input".to_owned(), input);
    }
    for (key, member) in [("output", "result"), ("error", "error")] {
        let mut value = unpacked(&data[member]);
        if let Value::Object(map) = &mut value {
            map.retain(|key, _| !BULK.contains(&key.as_str()));
        }
        if says_something(&value) {
            tool.insert(key.to_owned(), value);
        }
    }
    Some(Value::Object(tool))
}

/// Returns the object or array that a string holds as JSON, or the value itself.
fn unpacked(value: &Value) -> Value {
    value.as_str().and_then(parse).filter(|parsed| parsed.is_object() || parsed.is_array()).unwrap_or_else(|| value.clone())
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    }
}

/// Adds the files that the model was given, and the files that it proposes to change.
fn files(bubble: &Value, message: &mut Message) {
    let context = &bubble["context"];
    let given = [
        &context["fileSelections"],
        &context["selections"],
        &bubble["fileSelections"],
        &bubble["selections"],
        &bubble["relevantFiles"],
        &bubble["attachedFileCodeChunksUris"],
        &bubble["attachedFileCodeChunksMetadataOnly"],
        &bubble["referencedCodeBlockURIs"],
    ];
    let changed = [&bubble["codeBlocks"], &bubble["suggestedCodeBlocks"], &bubble["suggestedDiffs"]];
    let lists = given.iter().map(|list| (list, "read")).chain(changed.iter().map(|list| (list, "written")));
    for (list, action) in lists {
        for value in list.as_array().into_iter().flatten() {
            let path = workspace::path_of_value(&value["uri"])
                .or_else(|| workspace::path_of_value(value))
                .or_else(|| text_of(value, "relativeWorkspacePath").map(str::to_owned));
            if let Some(path) = path {
                message.add_file(path, action);
            }
        }
    }
}
