//! The connection to a configured model server: address, key, deadline, one exchange.
//!
//! An exchange runs in a thread of its own, so that a call can be given up at once.

use std::fmt;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::ask::Accounts;
use super::error::LlmError;
use super::wire::Encoded;
use crate::transport::{Answer, Client, ClientSettings, Request, TransportError, is_here};

/// Most bytes of an answer.
const MOST_BYTES: u64 = 64 << 20;
/// Time between two looks whether models were switched off.
const LOOK: Duration = Duration::from_millis(200);
/// Bytes read at once, and parts that wait to be taken.
const PART: usize = 16 << 10;
const PARTS: usize = 8;

/// Returns the key of a server when it is needed: reading it may start a program. The error says what is missing.
pub type KeyOf = Arc<dyn Fn() -> Result<Option<String>, String> + Send + Sync>;

/// A configured server.
#[derive(Clone)]
pub struct Connection {
    server: String,
    address: String,
    key_of: KeyOf,
    timeout: Duration,
    /// True if the timeout is the time that the caller has left, and tells nothing about the server.
    is_hurried: bool,
    key: Arc<OnceLock<Option<String>>>,
    client: Arc<OnceLock<Client>>,
}

/// The way in which a server takes its key: the header of a key.
pub(super) type KeyHeader<'k> = &'k dyn Fn(&str) -> (&'static str, String);

/// The part of an answer that has arrived.
enum Part {
    Head(u16, Vec<(String, String)>),
    Body(Vec<u8>),
    End,
}

impl Connection {
    /// Makes the connection to a server of this name, for errors, at an address; nothing is connected before the first call.
    pub fn new(server: impl Into<String>, address: impl Into<String>, key_of: KeyOf, timeout: Duration) -> Self {
        let (server, address) = (server.into(), address.into());
        Self { server, address, key_of, timeout, is_hurried: false, key: Arc::default(), client: Arc::default() }
    }

    /// Returns the same connection for a caller who has so much time left; `None`: no less than usual.
    pub(super) fn within(&self, left: Option<Duration>) -> Self {
        match left.filter(|left| *left < self.timeout) {
            Some(left) => Self { timeout: left, is_hurried: true, ..self.clone() },
            None => self.clone(),
        }
    }

    /// Sends its requests with this client in the place of one of its own.
    #[must_use]
    pub fn over(mut self, client: Client) -> Self {
        self.client = Arc::new(OnceLock::from(client));
        self
    }

    /// Returns the name of the server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns whether it leads to this computer.
    pub fn is_here(&self) -> bool {
        is_here(&self.address)
    }

    fn failed(&self, error: TransportError) -> LlmError {
        let server = self.server.clone();
        match error {
            TransportError::Timeout if self.is_hurried => LlmError::Late { server, time: self.timeout },
            error => LlmError::Transport { server, error },
        }
    }

    fn client(&self) -> Result<Client, LlmError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let settings = ClientSettings { max_bytes: MOST_BYTES, ..ClientSettings::default() };
        let made = Client::new(&settings).map_err(|error| self.failed(error))?;
        Ok(self.client.get_or_init(|| made).clone())
    }

    fn key(&self) -> Result<Option<&str>, LlmError> {
        if self.key.get().is_none() && self.is_hurried {
            // A program that gives it may take longer than there is time; it goes on, for the next call.
            let (send, ended) = mpsc::sync_channel(1);
            let (key, key_of) = (Arc::clone(&self.key), Arc::clone(&self.key_of));
            std::thread::spawn(move || {
                let found = key_of().map(|found| keep(&key, found));
                let _ = send.send(found);
            });
            match ended.recv_timeout(self.timeout) {
                Ok(found) => found.map_err(LlmError::NoKey)?,
                Err(_) => return Err(self.failed(TransportError::Timeout)),
            }
        } else if self.key.get().is_none() {
            keep(&self.key, (self.key_of)().map_err(LlmError::NoKey)?);
        }
        Ok(self.key.get().and_then(Option::as_deref))
    }

    /// Sends a request and returns its answer.
    ///
    /// # Errors
    /// [`LlmError::Transport`], [`LlmError::NoKey`], [`LlmError::Budget`] if models are switched off meanwhile.
    pub(super) fn send(&self, encoded: Encoded, key_header: KeyHeader<'_>, accounts: &dyn Accounts) -> Result<Answer, LlmError> {
        let mut request = self.request("POST", &encoded.path, key_header)?.header("content-type", "application/json");
        for (name, value) in encoded.headers {
            request = request.header(name, value);
        }
        request.body = encoded.body.to_string().into_bytes();
        self.exchange(request, accounts)
    }

    /// Asks for what stands at a path.
    ///
    /// # Errors
    /// Those of [`Self::send`].
    pub(super) fn get(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        key_header: KeyHeader<'_>,
        accounts: &dyn Accounts,
    ) -> Result<Answer, LlmError> {
        self.exchange(headed(self.request("GET", path, key_header)?, headers), accounts)
    }

    /// Sends a body of some kind to a path.
    ///
    /// # Errors
    /// Those of [`Self::send`].
    pub(super) fn post(
        &self,
        path: &str,
        kind: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
        key_header: KeyHeader<'_>,
        accounts: &dyn Accounts,
    ) -> Result<Answer, LlmError> {
        self.exchange(headed(self.request("POST", path, key_header)?, headers).with_body(kind, body), accounts)
    }

    /// Makes a request with the key.
    fn request(&self, method: &'static str, path: &str, key_header: KeyHeader<'_>) -> Result<Request, LlmError> {
        let address = format!("{}{path}", self.address.trim_end_matches('/'));
        let began = Instant::now();
        let key = self.key()?;
        let timeout = if self.is_hurried { self.timeout.saturating_sub(began.elapsed()) } else { self.timeout };
        if timeout.is_zero() {
            return Err(self.failed(TransportError::Timeout));
        }
        let request = Request::new(method, address, timeout);
        let Some(key) = key else { return Ok(request) };
        if request.address.starts_with("http://") && !is_here(&request.address) {
            let server = &self.server;
            return Err(LlmError::NoKey(format!("{server} is not asked over http://, where anybody could read the key")));
        }
        let (name, value) = key_header(key);
        Ok(request.header(name, value))
    }

    fn exchange(&self, request: Request, accounts: &dyn Accounts) -> Result<Answer, LlmError> {
        if let Some(reason) = accounts.is_off() {
            return Err(reason.into());
        }
        let client = self.client()?;
        let most = client.max_bytes();
        let parts = exchange(client, request);
        let mut answer = Answer { status: 0, headers: Vec::new(), body: Vec::new() };
        loop {
            if let Some(reason) = accounts.is_off() {
                return Err(reason.into());
            }
            match parts.recv_timeout(LOOK) {
                Ok(Ok(Part::Head(status, headers))) => (answer.status, answer.headers) = (status, headers),
                Ok(Ok(Part::Body(part))) => {
                    answer.body.extend_from_slice(&part);
                    if answer.body.len() as u64 > most {
                        return Err(self.failed(TransportError::TooLarge(most)));
                    }
                }
                Ok(Ok(Part::End)) => break,
                Ok(Err(error)) => return Err(self.failed(error)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.failed(TransportError::Protocol("the exchange ended early".to_owned())));
                }
            }
        }
        // A server may repeat the key in its message.
        if let Some(key) = self.key()?.filter(|key| key.len() > 3)
            && let Some(cleaned) = without_key(&String::from_utf8_lossy(&answer.body), key)
        {
            answer.body = cleaned.into_bytes();
        }
        Ok(answer)
    }
}

/// Most backslashes before an escape: JSON within JSON doubles them.
const MOST_SLASHES: usize = 16;

/// Returns a text without a key, if it has it: plain, with characters that cannot be seen between its letters, or written as
/// escapes of JSON, once or more.
fn without_key(text: &str, key: &str) -> Option<String> {
    let letters = read_letters(text);
    let plain: Vec<char> = letters.iter().map(|(letter, _)| *letter).collect();
    let wanted: Vec<char> = key.chars().collect();
    let mut cleaned = String::new();
    let (mut at, mut kept) = (0, 0);
    while at + wanted.len() <= plain.len() {
        if plain[at..at + wanted.len()] == wanted[..] {
            let (begin, end) = (letters[at].1.start, letters[at + wanted.len() - 1].1.end);
            cleaned.push_str(&text[kept..begin]);
            cleaned.push('…');
            kept = end;
            at += wanted.len();
        } else {
            at += 1;
        }
    }
    (kept > 0).then(|| cleaned + &text[kept..])
}

/// Returns the characters of a text that can be seen, each with its place. An escape of JSON is the character that it stands for,
/// however many backslashes it begins with.
fn read_letters(text: &str) -> Vec<(char, Range<usize>)> {
    let mut letters = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        let slashes = rest.bytes().take(MOST_SLASHES).take_while(|byte| *byte == b'\\').count();
        let code = rest[slashes..].strip_prefix('u').and_then(|after| after.get(..4)).filter(|_| slashes > 0);
        let escaped = code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        let (letter, length) = escaped.map_or((first, first.len_utf8()), |letter| (letter, slashes + 5));
        if !is_unseen(letter) {
            letters.push((letter, start..start + length));
        }
        rest = &rest[length..];
    }
    letters
}

/// Returns whether a character takes no room where it is shown.
fn is_unseen(letter: char) -> bool {
    let is_format =
        matches!(letter, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}');
    is_format || letter.is_control() || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Keeps a key that was found; where there was none, it is looked for again.
fn keep(key: &OnceLock<Option<String>>, found: Option<String>) {
    if found.is_some() {
        let _ = key.set(found);
    }
}

fn headed(request: Request, headers: &[(&str, &str)]) -> Request {
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
}

/// Sends a request in a thread, which ends with the exchange, or when nobody takes its parts any more.
fn exchange(client: Client, request: Request) -> Receiver<Result<Part, TransportError>> {
    let (send, parts) = mpsc::sync_channel(PARTS);
    std::thread::spawn(move || {
        let run = || -> Result<(), TransportError> {
            let mut response = client.stream(&request)?;
            let head = Part::Head(response.status, std::mem::take(&mut response.headers));
            let mut is_wanted = send.send(Ok(head)).is_ok();
            let mut part = vec![0; PART];
            while is_wanted {
                let count = response.read_part(&mut part)?;
                if count == 0 {
                    let _ = send.send(Ok(Part::End));
                    break;
                }
                is_wanted = send.send(Ok(Part::Body(part[..count].to_vec()))).is_ok();
            }
            Ok(())
        };
        if let Err(error) = run() {
            let _ = send.send(Err(error));
        }
    });
    parts
}

/// Without the key.
impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("server", &self.server).field("address", &self.address).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_that_a_server_repeats_is_found_in_every_form() {
        let key = "k-Quay7";
        let escaped: String = key.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect();
        let twice = escaped.replace('\\', "\\\\");
        let apart = key.chars().map(|letter| format!("{letter}\u{200b}")).collect::<String>();
        let mixed = "k-\\u0051u\\u200bay7";
        for form in [key.to_owned(), escaped, twice, apart, mixed.to_owned()] {
            let text = format!("wrong \"{form}\" here, ü \\n \\u00zz {form}.");
            let cleaned = without_key(&text, key).unwrap();
            assert!(cleaned.starts_with("wrong \"…") && cleaned.contains("here, ü \\n \\u00zz …"), "{cleaned}");
        }
        for other in ["k-Quay", "", "\\u", "\\\\", "k-Quay\\u0038", "\\u12é4k-"] {
            assert_eq!(without_key(other, key), None, "{other}");
        }
    }
}
