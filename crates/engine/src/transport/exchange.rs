//! One request and its answer, whoever carries them: the network, a script or a recording.

use std::fmt;
use std::io::{self, Read};
use std::net::IpAddr;
use std::time::Duration;

/// Carries a request to its address and brings the answer. Follows no redirection.
pub trait Exchange: fmt::Debug + Send + Sync {
    /// Sends a request and waits for the head of its answer.
    ///
    /// # Errors
    /// Everything that [`TransportError`] names. A status is no error, whatever it says.
    fn send(&self, request: &Request) -> Result<Response, TransportError>;
}

/// A request.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, in capitals.
    pub method: &'static str,
    /// The whole address.
    pub address: String,
    /// Headers. Names count in any case.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// The time for everything, the body of the answer included.
    pub timeout: Duration,
}

/// An answer, its body still to be read.
pub struct Response {
    /// The status.
    pub status: u16,
    /// Headers, with names in small letters.
    pub headers: Vec<(String, String)>,
    /// Bytes of the body, where that is known beforehand.
    pub length: Option<u64>,
    /// The body, decompressed.
    pub body: Box<dyn Read + Send>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The address is none, or holds something that cannot be sent.
    #[error("{0}")]
    Request(String),
    /// No host has the name.
    #[error("no host is known by this name")]
    UnknownHost,
    /// The name leads to an address that may not be connected to.
    #[error("{0} is no public address")]
    PrivateAddress(IpAddr),
    /// No connection, or a broken one.
    #[error(transparent)]
    Connection(io::Error),
    /// No secure connection.
    #[error("no secure connection: {0}")]
    Tls(String),
    /// It took too long.
    #[error("no answer in time")]
    Timeout,
    /// The answer is longer than is allowed.
    #[error("the answer has more than {0} bytes")]
    TooLarge(u64),
    /// The answer makes no sense.
    #[error("{0}")]
    Protocol(String),
    /// The proxy's address is none.
    #[error("{0:?} is no address of a proxy")]
    Proxy(String),
}

impl TransportError {
    /// Whether the same request may well succeed a little later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::UnknownHost | Self::Connection(_) | Self::Timeout)
    }
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: &'static str, address: impl Into<String>, timeout: Duration) -> Self {
        Self { method, address: address.into(), headers: Vec::new(), body: Vec::new(), timeout }
    }

    /// With one header more.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With a body of this type.
    #[must_use]
    pub fn with_body(self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self.header("content-type", content_type) }
    }
}

impl Response {
    /// An answer whose body is known.
    pub fn of(status: u16, headers: Vec<(String, String)>, body: impl Into<Vec<u8>>) -> Self {
        let body: Vec<u8> = body.into();
        let headers = headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        Self { status, headers, length: Some(body.len() as u64), body: Box::new(io::Cursor::new(body)) }
    }

    /// The first header of this name, which is in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Headers may hold keys, and a body anything: only what is harmless is shown.
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
