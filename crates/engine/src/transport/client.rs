//! The HTTP client for addresses from the configuration, such as a model's server.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use super::exchange::{Exchange, Request, Response, TransportError};
use super::network::{Names, Network};

/// Default limit of an answer in bytes.
const MAX_BYTES: u64 = 64 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Limits and proxy of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// Bytes of an answer, decompressed: more is an error.
    pub max_bytes: u64,
    /// Maximum time for one connection.
    pub connect_timeout: Duration,
    /// A proxy (`http://host:port`).
    pub proxy: Option<String>,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self { max_bytes: MAX_BYTES, connect_timeout: CONNECT_TIMEOUT, proxy: None }
    }
}

/// Sends requests to servers from the configuration, private addresses included. Follows no redirection,
/// because a key belongs to the configured server only.
#[derive(Clone, Debug)]
pub struct Client {
    exchange: Arc<dyn Exchange>,
    max_bytes: u64,
}

/// An answer with its whole body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Headers, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Client {
    /// Makes a client that uses the network.
    ///
    /// # Errors
    /// [`TransportError::Proxy`].
    pub fn new(settings: &ClientSettings) -> Result<Self, TransportError> {
        let network = Network::new(Names::System, settings.connect_timeout, settings.proxy.as_deref())?;
        Ok(Self::over(Arc::new(network), settings.max_bytes))
    }

    /// Makes a client that sends its requests over `exchange`.
    pub fn over(exchange: Arc<dyn Exchange>, max_bytes: u64) -> Self {
        Self { exchange, max_bytes }
    }

    /// Sends a request and reads its whole answer.
    ///
    /// # Errors
    /// Those of [`Exchange::send`]; [`TransportError::TooLarge`].
    pub fn ask(&self, request: &Request) -> Result<Answer, TransportError> {
        let mut response = self.stream(request)?;
        let limit = self.max_bytes;
        if response.length.is_some_and(|length| length > limit) {
            return Err(TransportError::TooLarge(limit));
        }
        let mut body = Vec::new();
        let read = response.body.by_ref().take(limit.saturating_add(1)).read_to_end(&mut body);
        if body.len() as u64 > limit {
            return Err(TransportError::TooLarge(limit));
        }
        read.map_err(of_reading)?;
        Ok(Answer { status: response.status, headers: response.headers, body })
    }

    /// Returns the limit of an answer in bytes.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Sends a request. The body of its answer is read as it arrives, and is not limited.
    ///
    /// # Errors
    /// Those of [`Exchange::send`].
    pub fn stream(&self, request: &Request) -> Result<Response, TransportError> {
        self.exchange.send(request)
    }
}

impl Response {
    /// Reads the next part of the body; returns the number of bytes, 0 at the end.
    ///
    /// # Errors
    /// The connection broke, or the time is over.
    pub fn read_part(&mut self, part: &mut [u8]) -> Result<usize, TransportError> {
        self.body.read(part).map_err(of_reading)
    }
}

impl Answer {
    /// Returns the value of the first header of this name, which must be lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Converts the error of a body that broke off.
pub(super) fn of_reading(error: io::Error) -> TransportError {
    super::network::understood(error.into())
}
