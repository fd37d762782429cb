//! Errors as answers: a status, and a [`Problem`] in JSON.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::App;
use crate::store::StoreError;
use crate::wire::Problem;

/// The reason why a request is refused.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    problem: Problem,
    /// Seconds after which the same may be asked again.
    retry_after: Option<u32>,
}

impl Refusal {
    /// Creates a refusal. The message must not repeat anything that the client sent.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self { status, problem: Problem { code: code.to_owned(), message: message.into() }, retry_after: None }
    }

    /// Creates a refusal of a request that is wrong and stays wrong.
    pub fn wrong(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// Creates a refusal of a request that is too long.
    pub fn too_long(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "team/too-long", message)
    }

    /// Creates a refusal of a request that may succeed later.
    pub fn later(code: &str, message: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message).after(1)
    }

    /// Tells the client to wait.
    pub fn after(self, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut response = (self.status, [(CONTENT_TYPE, "application/json")], body).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"yore\""));
        }
        response
    }
}

impl<S> App<S> {
    /// Makes a refusal of a store's failure. Its details are for the operator alone.
    pub(super) fn refuse(&self, error: StoreError) -> Refusal {
        let message = error.to_string();
        match error {
            StoreError::Role { .. } => Refusal::new(StatusCode::FORBIDDEN, "team/role", message),
            StoreError::UnknownSession => Refusal::new(StatusCode::NOT_FOUND, "team/session", message),
            StoreError::Gap => Refusal::new(StatusCode::CONFLICT, "team/gap", message),
            StoreError::UnknownMember => Refusal::new(StatusCode::NOT_FOUND, "team/member", message),
            StoreError::Revoked => Refusal::new(StatusCode::UNAUTHORIZED, "team/token", message),
            StoreError::TeamExists => Refusal::wrong("team/exists", message),
            StoreError::LastOwner => Refusal::wrong("team/last-owner", message),
            StoreError::Quota(_) => Refusal::new(StatusCode::TOO_MANY_REQUESTS, "team/quota", message),
            StoreError::Unavailable(_) => {
                self.log(&message);
                Refusal::later("team/database", "the database does not answer")
            }
            StoreError::Failed(_) => {
                self.log(&message);
                Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "team/failed", "internal")
            }
        }
    }

    /// Makes a refusal of a failure to get random bytes.
    pub(super) fn no_random(&self, error: getrandom::Error) -> Refusal {
        self.log(&format!("the operating system gave no random bytes: {error}"));
        Refusal::later("team/random", "the server has no random bytes")
    }
}
