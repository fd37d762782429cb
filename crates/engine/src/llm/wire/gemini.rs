//! Requests and answers of Google's Gemini. Reference: <https://ai.google.dev/api/generate-content>.

use serde_json::{Value, json};

use super::parts::{Decoded, Encoded, Wanted, number};
use crate::llm::ask::{Prompt, Tier};

pub(super) fn encode(model: &str, prompt: &Prompt, wanted: Option<Wanted<'_>>) -> Encoded {
    let said = |(is_user, text): (bool, &str)| {
        let role = if is_user { "user" } else { "model" };
        json!({"role": role, "parts": [{"text": text}]})
    };
    let mut body = json!({
        "contents": prompt.messages().map(said).collect::<Value>(),
        "generationConfig": {"maxOutputTokens": prompt.max_tokens},
    });
    if !prompt.system.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": prompt.system}]});
    }
    match wanted {
        Some(Wanted { form, tier: Tier::Schema }) => {
            body["generationConfig"]["responseMimeType"] = json!("application/json");
            body["generationConfig"]["responseJsonSchema"] = form.schema.clone();
        }
        Some(Wanted { form, tier: Tier::Tool }) => {
            let function = json!({"name": form.name, "description": form.description, "parametersJsonSchema": form.schema});
            body["tools"] = json!([{"functionDeclarations": [function]}]);
            body["toolConfig"] = json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [form.name]}});
        }
        Some(Wanted { tier: Tier::Json, .. }) => body["generationConfig"]["responseMimeType"] = json!("application/json"),
        _ => {}
    }
    Encoded { path: format!("/v1beta/models/{model}:generateContent"), headers: Vec::new(), body }
}

pub(super) fn decode(body: &Value) -> Result<Decoded, &'static str> {
    let blocked = body.pointer("/promptFeedback/blockReason").and_then(Value::as_str);
    let candidate = body.pointer("/candidates/0");
    if candidate.is_none() && blocked.is_none() {
        return Err("candidates is empty");
    }
    let parts = || candidate.and_then(|of| of.pointer("/content/parts")).and_then(Value::as_array).into_iter().flatten();
    let call = parts().find_map(|part| part.pointer("/functionCall/args"));
    let text = match call {
        Some(arguments) => arguments.to_string(),
        // Thoughts are no answer.
        None => parts().filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str()).collect(),
    };
    let reason = candidate.and_then(|of| of["finishReason"].as_str()).unwrap_or_default();
    let is_blocked = matches!(reason, "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII");
    let thoughts = number(body, "/usageMetadata/thoughtsTokenCount").unwrap_or(0);
    Ok(Decoded {
        refusal: blocked.or(is_blocked.then_some(reason)).map(str::to_owned),
        text,
        input: number(body, "/usageMetadata/promptTokenCount"),
        output: number(body, "/usageMetadata/candidatesTokenCount").map(|own| own + thoughts),
        is_cut: reason == "MAX_TOKENS",
    })
}
