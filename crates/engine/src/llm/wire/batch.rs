//! Batches of requests that nobody waits for, at half the price: <https://docs.anthropic.com/en/api/creating-message-batches>,
//! <https://platform.openai.com/docs/api-reference/batch>.

use serde_json::{Value, json};

use super::Protocol;

/// The state of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BatchState {
    /// It is worked on.
    Running,
    /// It has ended; its results stand at this path. None: there are none.
    Ended(Option<String>),
}

impl Protocol {
    /// Returns whether servers of this protocol take batches. (That of OpenAI's chat is spoken by many that do not.)
    pub(crate) fn has_batches(self) -> bool {
        matches!(self, Self::Anthropic | Self::OpenAiResponses)
    }

    /// Returns the lines of a file that must be uploaded first, if that is how batches are given; else the body of the batch.
    pub(crate) fn batch_of(self, requests: &[(String, Value)]) -> BatchBody {
        match self {
            Self::OpenAiResponses => {
                let line = |(id, body): &(String, Value)| {
                    format!("{}\n", json!({"custom_id": id, "method": "POST", "url": "/v1/responses", "body": body}))
                };
                BatchBody::File(requests.iter().map(line).collect())
            }
            _ => {
                let request = |(id, body): &(String, Value)| json!({"custom_id": id, "params": body});
                BatchBody::Inline(json!({"requests": requests.iter().map(request).collect::<Vec<_>>()}))
            }
        }
    }

    /// Returns the path of batches.
    pub(crate) fn batch_path(self) -> &'static str {
        if self == Self::OpenAiResponses { "/batches" } else { "/v1/messages/batches" }
    }

    /// Reads the state of a batch from what stands at its path.
    pub(crate) fn batch_state(self, id: &str, body: &Value) -> Result<BatchState, &'static str> {
        if self == Self::OpenAiResponses {
            return match body["status"].as_str().ok_or("status is missing")? {
                "completed" | "failed" | "expired" | "cancelled" => {
                    let file = body["output_file_id"].as_str();
                    Ok(BatchState::Ended(file.map(|file| format!("/files/{file}/content"))))
                }
                _ => Ok(BatchState::Running),
            };
        }
        match body["processing_status"].as_str().ok_or("processing_status is missing")? {
            "ended" => Ok(BatchState::Ended(Some(format!("{}/{id}/results", self.batch_path())))),
            _ => Ok(BatchState::Running),
        }
    }

    /// Reads a line of results: the id of the request, and the body of its answer or the reason why there is none.
    pub(crate) fn batch_result(self, line: &Value) -> Option<(String, Result<Value, String>)> {
        let id = line["custom_id"].as_str()?.to_owned();
        let result = if self == Self::OpenAiResponses {
            match line.pointer("/response/status_code").and_then(Value::as_u64) {
                Some(200..=299) => Ok(line["response"]["body"].clone()),
                _ => {
                    let told = ["/response/body/error/message", "/error/message"];
                    Err(told.iter().find_map(|place| line.pointer(place)?.as_str()).unwrap_or("it failed").to_owned())
                }
            }
        } else {
            match line.pointer("/result/type").and_then(Value::as_str) {
                Some("succeeded") => Ok(line["result"]["message"].clone()),
                other => {
                    let message = line.pointer("/result/error/error/message").and_then(Value::as_str);
                    Err(message.or(other).unwrap_or("it failed").to_owned())
                }
            }
        };
        Some((id, result))
    }
}

/// The body of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BatchBody {
    /// All requests.
    Inline(Value),
    /// The lines of a file that is uploaded first.
    File(String),
}
