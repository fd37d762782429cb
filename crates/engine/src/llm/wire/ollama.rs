//! Requests and answers of Ollama's chat. Reference: <https://github.com/ollama/ollama/blob/main/docs/api.md>.

use serde_json::{Value, json};

use super::parts::{Decoded, Encoded, Wanted, messages_of, number};
use crate::llm::ask::{Prompt, Tier};

/// Room for a prompt of more tokens than were estimated.
const ROOM: f64 = 1.3;

pub(super) fn encode(model: &str, prompt: &Prompt, wanted: Option<Wanted<'_>>) -> Encoded {
    let mut messages = Vec::new();
    if !prompt.system.is_empty() {
        messages.push(json!({"role": "system", "content": prompt.system}));
    }
    messages.extend(messages_of(prompt));
    // Without it a prompt is cut to the server's default, and nothing says so.
    let context = (prompt.estimated_tokens() as f64 * ROOM).ceil() as u64 + u64::from(prompt.max_tokens);
    let options = json!({"num_predict": prompt.max_tokens, "num_ctx": context.next_multiple_of(1_024)});
    let mut body = json!({"model": model, "messages": messages, "stream": false, "options": options});
    match wanted {
        Some(Wanted { form, tier: Tier::Schema }) => body["format"] = form.schema.clone(),
        Some(Wanted { form, tier: Tier::Tool }) => {
            let function = json!({"name": form.name, "description": form.description, "parameters": form.schema});
            body["tools"] = json!([{"type": "function", "function": function}]);
        }
        Some(Wanted { tier: Tier::Json, .. }) => body["format"] = json!("json"),
        _ => {}
    }
    Encoded { path: "/api/chat".to_owned(), headers: Vec::new(), body }
}

pub(super) fn decode(body: &Value) -> Result<Decoded, &'static str> {
    let message = body.get("message").ok_or("message is missing")?;
    let text = match message.pointer("/tool_calls/0/function/arguments") {
        Some(arguments) => arguments.to_string(),
        None => message["content"].as_str().ok_or("content is missing")?.to_owned(),
    };
    Ok(Decoded {
        text,
        input: number(body, "/prompt_eval_count"),
        output: number(body, "/eval_count"),
        is_cut: body["done_reason"] == "length",
        refusal: None,
    })
}
