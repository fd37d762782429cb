//! Requests and answers of OpenAI's chat completions. Reference: <https://platform.openai.com/docs/api-reference/chat/create>.
//! Most other servers speak it; they know `max_tokens`, which OpenAI itself has replaced.

use serde_json::{Value, json};

use super::parts::{Decoded, Encoded, Wanted, messages_of, number};
use crate::llm::ask::{Prompt, Tier};

pub(super) fn encode(model: &str, prompt: &Prompt, wanted: Option<Wanted<'_>>) -> Encoded {
    let mut messages = Vec::new();
    if !prompt.system.is_empty() {
        messages.push(json!({"role": "system", "content": prompt.system}));
    }
    messages.extend(messages_of(prompt));
    let mut body = json!({"model": model, "messages": messages, "max_tokens": prompt.max_tokens});
    match wanted {
        Some(Wanted { form, tier: Tier::Schema }) => {
            let schema = json!({"name": form.name, "description": form.description, "schema": form.schema, "strict": true});
            body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
        }
        Some(Wanted { form, tier: Tier::Tool }) => {
            let function = json!({"name": form.name, "description": form.description, "parameters": form.schema});
            body["tools"] = json!([{"type": "function", "function": function}]);
            body["tool_choice"] = json!({"type": "function", "function": {"name": form.name}});
        }
        Some(Wanted { tier: Tier::Json, .. }) => body["response_format"] = json!({"type": "json_object"}),
        _ => {}
    }
    Encoded { path: "/chat/completions".to_owned(), headers: Vec::new(), body }
}

pub(super) fn decode(body: &Value) -> Result<Decoded, &'static str> {
    let choice = body.pointer("/choices/0").ok_or("choices is empty")?;
    let message = choice.get("message").ok_or("message is missing")?;
    let call = message.pointer("/tool_calls/0/function/arguments").and_then(Value::as_str);
    let text = call.or(message["content"].as_str());
    let refusal = message["refusal"].as_str().map(str::to_owned);
    let reason = choice["finish_reason"].as_str().unwrap_or_default();
    let is_filtered = reason == "content_filter";
    Ok(Decoded {
        text: match (text, &refusal) {
            (Some(text), _) => text.to_owned(),
            (None, Some(_)) => String::new(),
            // A model that reasons may reach the limit before it says anything.
            (None, None) if is_filtered || reason == "length" => String::new(),
            (None, None) => return Err("content is missing"),
        },
        input: number(body, "/usage/prompt_tokens"),
        output: number(body, "/usage/completion_tokens"),
        is_cut: reason == "length",
        refusal: refusal.or(is_filtered.then(|| "its content filter".to_owned())),
    })
}
