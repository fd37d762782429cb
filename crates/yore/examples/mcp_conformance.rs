//! A server for tests of the protocol: `mcp_conformance http` or `mcp_conformance stdio`. It serves the fixed tools,
//! prompts and resources that the official conformance suite and the clients of other SDKs ask for, under the names
//! that the suite knows. It opens no memory. Over HTTP it is the daemon's own stack but for the token, which the suite
//! cannot send; it prints its address as JSON and ends when standard input closes.
//!
//! [`Fixtures`] is the server; [`TOOLS`], [`PROMPTS`] and [`RESOURCES`] are what it serves.
#![expect(deprecated, reason = "logging, sampling and subscriptions are asked for by the protocols up to 2025")]

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, CompleteRequestParams, CompleteResult,
    CreateMessageRequestParams, ElicitRequest, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, SamplingMessage, ServerConfig, ServerRequest, SetLevelRequestParams,
    SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A picture of one red point, and a sound of two samples.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA==";
/// Pause between the steps of a tool that has several.
const STEP: Duration = Duration::from_millis(50);
/// Time for a client to reopen a closed stream.
const RECONNECTION: Duration = Duration::from_millis(1_500);
/// Duration of the slow tool unless it is cancelled.
const SLOW: Duration = Duration::from_secs(120);

/// Name, description, and the properties of the arguments, all of them required.
const TOOLS: [(&str, &str, &[&str]); 17] = [
    ("test_simple_text", "Text", &[]),
    ("test_image_content", "A picture", &[]),
    ("test_audio_content", "A sound", &[]),
    ("test_embedded_resource", "A resource", &[]),
    ("test_multiple_content_types", "Text, a picture and a resource", &[]),
    ("test_tool_with_logging", "Three log messages", &[]),
    ("test_error_handling", "An error", &[]),
    ("test_tool_with_progress", "Three steps of progress", &[]),
    ("test_sampling", "Words of the client's model", &["prompt"]),
    ("test_elicitation", "Words of the person", &["message"]),
    ("test_elicitation_sep1034_defaults", "Questions with defaults", &[]),
    ("test_elicitation_sep1330_enums", "Questions with choices", &[]),
    ("test_reconnection", "An answer on another stream than the first", &[]),
    ("test_structured", "Structured content", &["text"]),
    ("test_slow", "Two minutes, unless cancelled", &[]),
    ("test_cancelled", "How many calls were cancelled", &[]),
    ("json_schema_2020_12_tool", "A schema of many words", &[]),
];

const PROMPTS: [(&str, &[&str]); 4] = [
    ("test_simple_prompt", &[]),
    ("test_prompt_with_arguments", &["arg1", "arg2"]),
    ("test_prompt_with_embedded_resource", &["resourceUri"]),
    ("test_prompt_with_image", &[]),
];

const RESOURCES: [(&str, &str); 3] =
    [("test://static-text", "text/plain"), ("test://static-binary", "image/png"), ("test://watched-resource", "text/plain")];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fixtures = Fixtures::default();
    match std::env::args().nth(1).as_deref() {
        Some("stdio") => yore_memory::serve_mcp_stdio(fixtures)?,
        Some("http") => {
            let sessions = Arc::clone(&fixtures.sessions);
            yore_memory::serve_mcp_http(fixtures, |url, manager| {
                let _ = sessions.set(manager);
                // Tests read one line.
                let _ = writeln!(std::io::stdout(), "{}", json!({"url": url}));
            })?;
        }
        _ => return Err("usage: mcp_conformance http|stdio".into()),
    }
    Ok(())
}

/// A server with the fixtures of the tests.
#[derive(Clone, Default)]
struct Fixtures {
    cancelled: Arc<AtomicUsize>,
    /// The sessions with their streams, over HTTP.
    sessions: Arc<OnceLock<Arc<LocalSessionManager>>>,
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "tools": {}, "prompts": {}, "resources": {"subscribe": true}, "completions": {}, "logging": {}
        });
        ServerConfig::new(serde_json::from_value(capabilities).unwrap_or_default())
            .with_server_info(Implementation::new("yore-conformance", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        answered(json!({"tools": TOOLS.map(tool)}))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        self.call(&request.name, &arguments, context).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompt = |(name, arguments): (&str, &[&str])| {
            let arguments: Vec<Value> = arguments.iter().map(|name| json!({"name": name, "required": true})).collect();
            json!({"name": name, "description": "A prompt for tests", "arguments": arguments})
        };
        answered(json!({"prompts": PROMPTS.map(prompt)}))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let given = Value::Object(request.arguments.unwrap_or_default());
        let argument = |name: &str| given[name].as_str().unwrap_or_default();
        let contents = match request.name.as_str() {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => {
                vec![text(&format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2")))]
            }
            "test_prompt_with_embedded_resource" => vec![
                resource(argument("resourceUri"), "text/plain", "Embedded resource content for testing."),
                text("Please process the embedded resource above."),
            ],
            "test_prompt_with_image" => vec![image(), text("Please analyze the image above.")],
            name => return Err(ErrorData::invalid_params(format!("unknown prompt {name:?}"), None)),
        };
        let messages: Vec<Value> = contents.into_iter().map(|content| json!({"role": "user", "content": content})).collect();
        Ok(answered::<GetPromptResult>(json!({"messages": messages}))?.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |(uri, kind)| json!({"uri": uri, "name": uri, "description": "A resource for tests", "mimeType": kind});
        answered(json!({"resources": RESOURCES.map(resource)}))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = json!({
            "uriTemplate": "test://template/{id}/data", "name": "data", "description": "Data by id", "mimeType": "application/json"
        });
        answered(json!({"resourceTemplates": [template]}))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let content = match uri.strip_prefix("test://").unwrap_or_default() {
            "static-text" => json!({"mimeType": "text/plain", "text": "This is the content of the static text resource."}),
            "static-binary" => json!({"mimeType": "image/png", "blob": PNG}),
            "watched-resource" => json!({"mimeType": "text/plain", "text": "Nothing happens here."}),
            other => match other.strip_prefix("template/").and_then(|rest| rest.strip_suffix("/data")) {
                Some(id) => {
                    let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                    json!({"mimeType": "application/json", "text": data.to_string()})
                }
                None => return Err(ErrorData::resource_not_found(format!("there is no resource {uri:?}"), None)),
            },
        };
        let mut content = content;
        content["uri"] = json!(uri);
        Ok(answered::<ReadResourceResult>(json!({"contents": [content]}))?.into())
    }

    async fn subscribe(&self, _request: SubscribeRequestParams, _context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn set_level(&self, _request: SetLevelRequestParams, _context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = [format!("{}ing", request.argument.value)];
        answered(json!({"completion": {"values": values, "total": 1, "hasMore": false}}))
    }
}

impl Fixtures {
    async fn call(
        &self,
        name: &str,
        arguments: &Value,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let argument = |name: &str| arguments[name].as_str().unwrap_or_default();
        let content = match name {
            "test_simple_text" => vec![text("This is a simple text response for testing.")],
            "test_image_content" => vec![image()],
            "test_audio_content" => vec![json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"})],
            "test_embedded_resource" => {
                vec![resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
            }
            "test_multiple_content_types" => vec![
                text("Multiple content types test:"),
                image(),
                resource("test://mixed-content-resource", "application/json", &json!({"test": "data", "value": 123}).to_string()),
            ],
            "test_error_handling" => {
                let words = text("This tool intentionally returns an error for testing");
                return answered(json!({"isError": true, "content": [words]}));
            }
            "test_structured" => {
                let structured = json!({"text": argument("text"), "length": argument("text").len()});
                return answered(json!({"content": [text(&structured.to_string())], "structuredContent": structured}));
            }
            "test_tool_with_logging" => self.log(&context).await?,
            "test_tool_with_progress" => self.progress(&context).await?,
            "test_sampling" => sample(argument("prompt"), &context).await?,
            "test_elicitation" => {
                let properties = json!({
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"}
                });
                let schema = json!({"type": "object", "properties": properties, "required": ["username", "email"]});
                vec![text(&format!("User response: {}", elicit(argument("message"), schema, &context).await?))]
            }
            "test_elicitation_sep1034_defaults" => {
                let schema = json!({"type": "object", "properties": defaults()});
                vec![text(&format!("Elicitation completed: {}", elicit("Please correct this", schema, &context).await?))]
            }
            "test_elicitation_sep1330_enums" => {
                let schema = json!({"type": "object", "properties": choices()});
                vec![text(&format!("Elicitation completed: {}", elicit("Please choose", schema, &context).await?))]
            }
            "test_reconnection" => {
                self.hang_up(&context).await;
                vec![text("Reconnection test completed successfully")]
            }
            "test_slow" => {
                if let Some(token) = context.meta.get_progress_token() {
                    context.peer.notify_progress(ProgressNotificationParam::new(token, 0.0)).await.map_err(failed)?;
                }
                tokio::select! {
                    () = context.ct.cancelled() => {
                        self.cancelled.fetch_add(1, Ordering::SeqCst);
                        return Err(ErrorData::internal_error("cancelled", None));
                    }
                    () = tokio::time::sleep(SLOW) => vec![text("Nobody was in a hurry.")],
                }
            }
            "test_cancelled" => vec![text(&self.cancelled.load(Ordering::SeqCst).to_string())],
            _ => return Err(ErrorData::invalid_params(format!("unknown tool {name:?}"), None)),
        };
        answered(json!({"content": content}))
    }

    async fn log(&self, context: &RequestContext<RoleServer>) -> Result<Vec<Value>, ErrorData> {
        for words in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(words));
            context.peer.notify_logging_message(message).await.map_err(failed)?;
            tokio::time::sleep(STEP).await;
        }
        Ok(vec![text("Three messages were logged.")])
    }

    async fn progress(&self, context: &RequestContext<RoleServer>) -> Result<Vec<Value>, ErrorData> {
        for done in [0.0, 50.0, 100.0] {
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, done).with_total(100.0);
                context.peer.notify_progress(progress).await.map_err(failed)?;
            }
            tokio::time::sleep(STEP).await;
        }
        Ok(vec![text("It is all done.")])
    }

    /// Closes the stream of this request, which is the first of its session, and returns after the time in
    /// which the client reopens it.
    async fn hang_up(&self, context: &RequestContext<RoleServer>) {
        let parts = context.extensions.get::<Parts>();
        let id = parts.and_then(|parts| parts.headers.get("mcp-session-id")?.to_str().ok());
        let (Some(id), Some(sessions)) = (id, self.sessions.get()) else { return };
        let session = sessions.sessions.read().await.get(id).cloned();
        if let Some(session) = session {
            let _ = session.close_sse_stream(0, Some(STEP)).await;
            tokio::time::sleep(RECONNECTION).await;
        }
    }
}

/// Requests a message from the client's model.
async fn sample(prompt: &str, context: &RequestContext<RoleServer>) -> Result<Vec<Value>, ErrorData> {
    let asked = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    let answer = context.peer.create_message(asked).await.map_err(failed)?;
    let words = serde_json::to_value(&answer.message).unwrap_or_default();
    Ok(vec![text(&format!("LLM response: {}", words["content"]["text"].as_str().unwrap_or_default()))])
}

/// Requests input from the person.
async fn elicit(message: &str, schema: Value, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
    let asked = made(json!({"mode": "form", "message": message, "requestedSchema": schema}))?;
    match context.peer.send_request(ServerRequest::ElicitRequest(ElicitRequest::new(asked))).await.map_err(failed)? {
        ClientResult::ElicitResult(answer) => {
            let answer = serde_json::to_value(&answer).unwrap_or_default();
            Ok(format!("action={}, content={}", answer["action"].as_str().unwrap_or_default(), answer["content"]))
        }
        _ => Err(ErrorData::internal_error("the client gave another answer", None)),
    }
}

fn defaults() -> Value {
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true}
    })
}

fn choices() -> Value {
    let options = ["option1", "option2", "option3"];
    let titled = |title: &str| {
        let named = |number: usize| json!({"const": format!("value{number}"), "title": format!("{title} {number}")});
        [named(1), named(2), named(3)]
    };
    json!({
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}}
    })
}

fn tool((name, description, arguments): (&str, &str, &[&str])) -> Value {
    let properties: serde_json::Map<String, Value> =
        arguments.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let mut tool = json!({
        "name": name, "description": description,
        "inputSchema": {"type": "object", "properties": properties, "required": arguments}
    });
    match name {
        "json_schema_2020_12_tool" => {
            tool["inputSchema"] = json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "$defs": {"address": {
                    "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
                }},
                "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
                "additionalProperties": false
            });
        }
        "test_structured" => {
            tool["outputSchema"] = json!({
                "type": "object", "required": ["text", "length"],
                "properties": {"text": {"type": "string"}, "length": {"type": "integer"}}
            });
        }
        _ => {}
    }
    tool
}

fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

fn resource(uri: &str, kind: &str, words: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}})
}

/// Converts an answer from its JSON, in the form of 2026-07-28. The SDK removes what older protocols lack.
fn answered<T: DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    value["resultType"] = json!("complete");
    made(value)
}

/// Converts a value of the protocol from its JSON.
fn made<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn failed(error: ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
