//! Errors of the HTTP API as data: `application/problem+json` (RFC 9457), with the codes and remedies of the command line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Media type of an error.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// An error as the API reports it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Problem {
    /// Always `about:blank`: `code` tells the kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// The HTTP status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The message: which operation failed, and on what.
    pub detail: String,
    /// Code that does not change between versions; the same as on the command line.
    pub code: String,
    /// The remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Problem {
    /// Creates a problem for an HTTP status.
    pub fn new(status: u16, code: impl Into<String>, detail: impl Into<String>, remedy: Option<String>) -> Self {
        let title = axum::http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        Self {
            kind: "about:blank".to_owned(),
            title: title.unwrap_or("Error").to_owned(),
            status,
            detail: detail.into(),
            code: code.into(),
            remedy,
        }
    }
}
