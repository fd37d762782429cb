//! One HTTP request and its answer, sent over the network or played by a script in tests.

use std::fmt;
use std::io::{self, Read};
use std::net::IpAddr;
use std::time::Duration;

/// Sends a request to its address and returns the answer. Follows no redirection.
pub trait Exchange: fmt::Debug + Send + Sync {
    /// Sends a request and waits for the head of the answer.
    ///
    /// # Errors
    /// Every [`TransportError`]. No status is an error.
    fn send(&self, request: &Request) -> Result<Response, TransportError>;
}

/// A request.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, in capitals.
    pub method: &'static str,
    /// The whole address.
    pub address: String,
    /// Headers. Names are case-insensitive.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// Maximum time for everything, including the body of the answer.
    pub timeout: Duration,
}

/// An answer whose body is still to be read.
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Headers, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// Number of bytes of the body, if known beforehand.
    pub length: Option<u64>,
    /// The body, decompressed.
    pub body: Box<dyn Read + Send>,
}

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The address is not valid, or the request has a part that cannot be sent.
    #[error("{0}")]
    Request(String),
    /// The host name does not exist.
    #[error("unknown host")]
    UnknownHost,
    /// The host name leads to an address to which connections are not allowed.
    #[error("{0} is not a public address")]
    PrivateAddress(IpAddr),
    /// The connection failed or broke.
    #[error(transparent)]
    Connection(io::Error),
    /// The secure connection failed.
    #[error("no secure connection: {0}")]
    Tls(String),
    /// The server took too long.
    #[error("timed out")]
    Timeout,
    /// The answer exceeds the limit.
    #[error("the answer has more than {0} bytes")]
    TooLarge(u64),
    /// The answer is not valid.
    #[error("{0}")]
    Protocol(String),
    /// The proxy's address is not valid.
    #[error("invalid proxy address {0:?}")]
    Proxy(String),
}

impl TransportError {
    /// Returns whether the same request may well succeed a little later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::UnknownHost | Self::Connection(_) | Self::Timeout)
    }
}

impl Request {
    /// Makes a request without headers and body.
    pub fn new(method: &'static str, address: impl Into<String>, timeout: Duration) -> Self {
        Self { method, address: address.into(), headers: Vec::new(), body: Vec::new(), timeout }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a body of this content type.
    #[must_use]
    pub fn with_body(self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self.header("content-type", content_type) }
    }
}

impl Response {
    /// Makes an answer with a known body.
    pub fn of(status: u16, headers: Vec<(String, String)>, body: impl Into<Vec<u8>>) -> Self {
        let body: Vec<u8> = body.into();
        let headers = headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        Self { status, headers, length: Some(body.len() as u64), body: Box::new(io::Cursor::new(body)) }
    }

    /// Returns the value of the first header of this name, which must be lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Headers may hold keys, and a body any secret: only harmless parts are shown.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, address, headers, body, timeout } = self;
        let address = address.split(['?', '#']).next().unwrap_or_default();
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Request")
            .field("method", method)
            .field("address", &address)
            .field("headers", &names)
            .field("body", &body.len())
            .field("timeout", timeout)
            .finish()
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).field("length", &self.length).finish_non_exhaustive()
    }
}
