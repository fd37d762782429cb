//! Requests and answers of Anthropic's Messages API. Reference: <https://docs.anthropic.com/en/api/messages>, version 2023-06-01.

use serde_json::{Value, json};

use super::parts::{Decoded, Encoded, Wanted, messages_of, number};
use crate::llm::ask::{Prompt, Tier};

pub(super) const VERSION: &str = "2023-06-01";

pub(super) fn encode(model: &str, prompt: &Prompt, wanted: Option<Wanted<'_>>) -> Encoded {
    let mut body = json!({
        "model": model,
        "max_tokens": prompt.max_tokens,
        "messages": messages_of(prompt).collect::<Value>(),
    });
    if !prompt.system.is_empty() {
        body["system"] = json!(prompt.system);
    }
    match wanted {
        Some(Wanted { form, tier: Tier::Tool }) => {
            body["tools"] = json!([{"name": form.name, "description": form.description, "input_schema": form.schema}]);
            body["tool_choice"] = json!({"type": "tool", "name": form.name});
        }
        Some(Wanted { form, tier: Tier::Schema }) => {
            body["output_config"] = json!({"format": {"type": "json_schema", "schema": form.schema}});
        }
        _ => {}
    }
    let headers = vec![("anthropic-version", VERSION)];
    Encoded { path: "/v1/messages".to_owned(), headers, body }
}

pub(super) fn decode(body: &Value) -> Result<Decoded, &'static str> {
    let content = body.get("content").and_then(Value::as_array).ok_or("content is missing")?;
    let call = content.iter().find(|part| part["type"] == "tool_use").and_then(|part| part.get("input"));
    let text = match call {
        Some(arguments) => arguments.to_string(),
        None => content.iter().filter_map(|part| part["text"].as_str()).collect(),
    };
    let stop = body["stop_reason"].as_str().unwrap_or_default();
    Ok(Decoded {
        refusal: (stop == "refusal").then(|| text.clone()),
        text,
        input: number(body, "/usage/input_tokens").map(|own| {
            let cached = ["/usage/cache_creation_input_tokens", "/usage/cache_read_input_tokens"];
            own + cached.iter().filter_map(|place| number(body, place)).sum::<u64>()
        }),
        output: number(body, "/usage/output_tokens"),
        is_cut: stop == "max_tokens",
    })
}
