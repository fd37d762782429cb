//! Requests and answers of the batch APIs of Anthropic, OpenAI and Gemini. References:
//! <https://docs.anthropic.com/en/api/creating-message-batches>, <https://platform.openai.com/docs/api-reference/batch>,
//! <https://ai.google.dev/api/batch-api>.

use serde_json::{Value, json};

use super::Protocol;

/// The state of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BatchState {
    /// It is worked on.
    Running,
    /// It has ended.
    Ended(BatchResults),
}

/// The results of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BatchResults {
    /// There are none, for this reason.
    Missing(String),
    /// Lines that stand at this path.
    At(String),
    /// Results that came with the state, in the order of the requests.
    Here(Vec<Value>),
}

/// The body of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BatchBody {
    /// All requests.
    Inline(Value),
    /// The lines of a file that is uploaded first.
    File(String),
}

impl Protocol {
    /// Returns the most bytes of the requests of a batch; `None`: servers of this protocol take no batches. (That of OpenAI's chat is
    /// spoken by many that do not.) Servers allow 256 MB (Anthropic), 200 MB (OpenAI) and 20 MB (Gemini).
    pub(crate) fn most_batch_bytes(self) -> Option<usize> {
        match self {
            // Each is sent within the time of one call.
            Self::Anthropic | Self::OpenAiResponses => Some(20 << 20),
            Self::Gemini => Some(15 << 20),
            Self::OpenAiChat | Self::Ollama => None,
        }
    }

    /// Returns the lines of a file that must be uploaded first, if that is how batches are given; else the body of the batch.
    pub(crate) fn batch_of(self, requests: &[(String, Value)]) -> BatchBody {
        let all = |request: fn(&str, &Value) -> Value| requests.iter().map(|(id, body)| request(id, body)).collect::<Vec<_>>();
        match self {
            Self::OpenAiResponses => {
                let lines = all(|id, body| json!({"custom_id": id, "method": "POST", "url": "/v1/responses", "body": body}));
                BatchBody::File(lines.iter().map(|line| format!("{line}\n")).collect())
            }
            Self::Gemini => {
                let requests = all(|id, body| json!({"request": body, "metadata": {"key": id}}));
                BatchBody::Inline(json!({"batch": {"displayName": "yore", "inputConfig": {"requests": {"requests": requests}}}}))
            }
            _ => BatchBody::Inline(json!({"requests": all(|id, body| json!({"custom_id": id, "params": body}))})),
        }
    }

    /// Returns the path at which a batch for a model is made.
    pub(crate) fn new_batch_path(self, model: &str) -> String {
        match self {
            Self::OpenAiResponses => "/batches".to_owned(),
            Self::Gemini => format!("/v1beta/models/{model}:batchGenerateContent"),
            _ => "/v1/messages/batches".to_owned(),
        }
    }

    /// Returns the path of a batch.
    pub(crate) fn batch_path(self, id: &str) -> String {
        match self {
            Self::OpenAiResponses => format!("/batches/{id}"),
            Self::Gemini => format!("/v1beta/batches/{id}"),
            _ => format!("/v1/messages/batches/{id}"),
        }
    }

    /// Returns the id of a batch that was made.
    pub(crate) fn batch_id(self, made: &Value) -> Option<&str> {
        let id = match self {
            Self::Gemini => made["name"].as_str()?.strip_prefix("batches/")?,
            _ => made["id"].as_str()?,
        };
        // It becomes the name of a file, and a part of a path.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        Some(id).filter(|id| !id.is_empty() && id.chars().all(is_plain))
    }

    /// Reads the state of a batch from what stands at its path.
    pub(crate) fn batch_state(self, id: &str, body: &Value) -> Result<BatchState, &'static str> {
        Ok(match self {
            Self::OpenAiResponses => match body["status"].as_str().ok_or("status is missing")? {
                "completed" | "failed" | "expired" | "cancelled" => {
                    let file = body["output_file_id"].as_str();
                    let at = file.map(|file| BatchResults::At(format!("/files/{file}/content")));
                    let reason = body.pointer("/errors/data/0/message").and_then(Value::as_str).unwrap_or("it has no results");
                    BatchState::Ended(at.unwrap_or_else(|| BatchResults::Missing(reason.to_owned())))
                }
                _ => BatchState::Running,
            },
            Self::Gemini => {
                let state = body.pointer("/metadata/state").and_then(Value::as_str).unwrap_or_default();
                let has_failed =
                    ["FAILED", "CANCELLED", "EXPIRED"].iter().any(|end| state.ends_with(end)) || body["error"].is_object();
                let places = ["/response", "/metadata/output"].map(|place| format!("{place}/inlinedResponses/inlinedResponses"));
                let results = places.iter().find_map(|place| body.pointer(place)?.as_array().cloned());
                match results {
                    Some(results) => BatchState::Ended(BatchResults::Here(results)),
                    None if has_failed => {
                        let reason = body.pointer("/error/message").and_then(Value::as_str).unwrap_or(state);
                        BatchState::Ended(BatchResults::Missing(reason.to_owned()))
                    }
                    // Its answers are paid for: they are looked for again.
                    None if body["done"] == true => {
                        return Err("the batch has ended, and its answers are not where they should be");
                    }
                    None => BatchState::Running,
                }
            }
            _ => match body["processing_status"].as_str().ok_or("processing_status is missing")? {
                "ended" => BatchState::Ended(BatchResults::At(format!("{}/results", self.batch_path(id)))),
                _ => BatchState::Running,
            },
        })
    }

    /// Reads a result: the id of the request, where the server gives it back, and the body of its answer or the reason why there is
    /// none.
    pub(crate) fn batch_result(self, line: &Value) -> (Option<&str>, Result<Value, String>) {
        let told = |places: &[&str]| {
            let message = places.iter().find_map(|place| line.pointer(place)?.as_str());
            Err(message.unwrap_or("it failed").to_owned())
        };
        match self {
            Self::OpenAiResponses => {
                let result = match line.pointer("/response/status_code").and_then(Value::as_u64) {
                    Some(200..=299) => Ok(line["response"]["body"].clone()),
                    _ => told(&["/response/body/error/message", "/error/message"]),
                };
                (line["custom_id"].as_str(), result)
            }
            Self::Gemini => {
                let result = if line["response"].is_object() { Ok(line["response"].clone()) } else { told(&["/error/message"]) };
                (line.pointer("/metadata/key").and_then(Value::as_str), result)
            }
            _ => {
                let result = match line.pointer("/result/type").and_then(Value::as_str) {
                    Some("succeeded") => Ok(line["result"]["message"].clone()),
                    _ => told(&["/result/error/error/message", "/result/type"]),
                };
                (line["custom_id"].as_str(), result)
            }
        }
    }
}
