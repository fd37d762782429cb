//! HTTP requests without a network: answered by a script, or by a recording of earlier answers.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use yore_engine::transport::{Exchange, Request, Response, TransportError};

/// Headers that hold keys or sessions: a recording keeps their names only.
const SECRET_HEADERS: [&str; 6] = ["authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "set-cookie"];
/// Replacement for a secret.
const LEFT_OUT: &str = "left out";

type Answering = Box<dyn Fn(&Request) -> Result<Response, TransportError> + Send + Sync>;

/// Answers requests as a test specifies, and records them.
pub struct Script {
    answer: Answering,
    requests: Mutex<Vec<Request>>,
}

impl Script {
    /// Answers each request with this function.
    pub fn new(answer: impl Fn(&Request) -> Result<Response, TransportError> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answer: Box::new(answer), requests: Mutex::default() })
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("requests", &self.requests()).finish_non_exhaustive()
    }
}

impl Exchange for Script {
    fn send(&self, request: &Request) -> Result<Response, TransportError> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        (self.answer)(request)
    }
}

/// Passes requests on, and writes them with their answers to a file, one on a line, without keys.
#[derive(Debug)]
pub struct Recorder {
    inner: Arc<dyn Exchange>,
    path: PathBuf,
}

impl Recorder {
    /// Records into this file, after its present content.
    pub fn new(inner: Arc<dyn Exchange>, path: &Path) -> Arc<Self> {
        Arc::new(Self { inner, path: path.to_owned() })
    }
}

impl Exchange for Recorder {
    fn send(&self, request: &Request) -> Result<Response, TransportError> {
        let mut response = self.inner.send(request)?;
        let mut body = Vec::new();
        response.body.read_to_end(&mut body).map_err(TransportError::Connection)?;
        let line = json!({
            "request": {
                "method": request.method, "address": request.address, "headers": harmless(&request.headers),
                "body": words(&request.body),
            },
            "response": {"status": response.status, "headers": harmless(&response.headers), "body": words(&body)},
        });
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        file.and_then(|mut file| writeln!(file, "{line}")).map_err(TransportError::Connection)?;
        Ok(Response::of(response.status, response.headers, body))
    }
}

/// Answers requests from a recording. If it has several answers to one request, each call gets the next one.
#[derive(Debug)]
pub struct Recording {
    left: Mutex<Vec<Value>>,
}

impl Recording {
    /// Reads a file that a [`Recorder`] wrote.
    pub fn open(path: &Path) -> io::Result<Arc<Self>> {
        let lines = fs::read_to_string(path)?;
        let left = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        Ok(Arc::new(Self { left: Mutex::new(left) }))
    }

    /// Returns the number of answers that were not requested yet.
    pub fn left(&self) -> usize {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Exchange for Recording {
    fn send(&self, request: &Request) -> Result<Response, TransportError> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let body = words(&request.body);
        let is_it = |line: &Value| {
            let known = &line["request"];
            known["method"] == request.method && known["address"] == request.address.as_str() && known["body"] == body
        };
        let Some(at) = left.iter().position(is_it) else {
            let words = format!("{} {} is not in the recording", request.method, request.address);
            return Err(TransportError::Connection(io::Error::other(words)));
        };
        let line = left.remove(at);
        let answer = &line["response"];
        let pairs = answer["headers"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let headers = pairs.map(|pair| (text(&pair[0]), text(&pair[1]))).collect();
        let status = answer["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or_default();
        Ok(Response::of(status, headers, bytes(&answer["body"])))
    }
}

fn harmless(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    let is_secret = |name: &str| SECRET_HEADERS.iter().any(|secret| name.eq_ignore_ascii_case(secret));
    headers.iter().map(|(name, value)| (name.as_str(), if is_secret(name) { LEFT_OUT } else { value })).collect()
}

/// Returns a body as text, or as numbers if it is not text.
fn words(body: &[u8]) -> Value {
    std::str::from_utf8(body).map_or_else(|_| json!(body), Value::from)
}

fn bytes(body: &Value) -> Vec<u8> {
    match body {
        Value::String(text) => text.clone().into_bytes(),
        numbers => serde_json::from_value(numbers.clone()).unwrap_or_default(),
    }
}
