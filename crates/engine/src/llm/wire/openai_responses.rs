//! Requests and answers of OpenAI's Responses API. Reference: <https://platform.openai.com/docs/api-reference/responses/create>.

use serde_json::{Value, json};

use super::parts::{Decoded, Encoded, Wanted, messages_of, number};
use crate::llm::ask::{Prompt, Tier};

pub(super) fn encode(model: &str, prompt: &Prompt, wanted: Option<Wanted<'_>>) -> Encoded {
    let mut body = json!({
        "model": model,
        "input": messages_of(prompt).collect::<Value>(),
        "max_output_tokens": prompt.max_tokens,
        "store": false,
    });
    if !prompt.system.is_empty() {
        body["instructions"] = json!(prompt.system);
    }
    match wanted {
        Some(Wanted { form, tier: Tier::Schema }) => {
            let format = json!({"type": "json_schema", "name": form.name, "description": form.description, "schema": form.schema, "strict": true});
            body["text"] = json!({"format": format});
        }
        Some(Wanted { form, tier: Tier::Tool }) => {
            body["tools"] = json!([{"type": "function", "name": form.name, "description": form.description, "parameters": form.schema, "strict": true}]);
            body["tool_choice"] = json!({"type": "function", "name": form.name});
        }
        Some(Wanted { tier: Tier::Json, .. }) => body["text"] = json!({"format": {"type": "json_object"}}),
        _ => {}
    }
    Encoded { path: "/responses".to_owned(), headers: Vec::new(), body }
}

pub(super) fn decode(body: &Value) -> Result<Decoded, &'static str> {
    let output = body.get("output").and_then(Value::as_array).ok_or("output is missing")?;
    let call = output.iter().find(|item| item["type"] == "function_call").and_then(|item| item["arguments"].as_str());
    let parts = || output.iter().filter(|item| item["type"] == "message").filter_map(|item| item["content"].as_array()).flatten();
    let text: String = match call {
        Some(arguments) => arguments.to_owned(),
        None => parts().filter(|part| part["type"] == "output_text").filter_map(|part| part["text"].as_str()).collect(),
    };
    Ok(Decoded {
        text,
        input: number(body, "/usage/input_tokens"),
        output: number(body, "/usage/output_tokens"),
        is_cut: body.pointer("/incomplete_details/reason").is_some_and(|reason| reason == "max_output_tokens"),
        refusal: parts().find(|part| part["type"] == "refusal").and_then(|part| part["refusal"].as_str()).map(str::to_owned),
    })
}
