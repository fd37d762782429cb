//! A configured model: where it answers, and how its failures are met.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::ask::{Accounts, Prompt, Reply, Tier, Usage};
use super::command::CommandSettings;
use super::error::{Class, LlmError};
use super::folder;
use super::wire::{Protocol, Wanted};
use crate::transport::{Client, Request, TransportError, is_here};

/// Waits between tries of a call that may pass, in seconds; the last is the longest (S4-064).
const WAITS: [u64; 5] = [1, 2, 4, 8, 10];
/// Bytes of a prompt that make a token, at least: so many are reserved.
const LEAST_BYTES: u64 = 3;
/// A server that asks to wait longer is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Longest wait without a look whether models were switched off.
const PIECE: Duration = Duration::from_secs(1);
/// Failures one after the other after which a model is left alone, and for how long (S1-119).
pub const FAILURES: u32 = 3;
/// See [`FAILURES`].
pub const REST: Duration = Duration::from_secs(60);

/// The place where a model answers.
#[derive(Clone)]
pub enum Way {
    /// A server.
    Http {
        /// Name of the server, for errors.
        server: String,
        /// Its protocol.
        protocol: Protocol,
        /// Its address.
        address: String,
        /// The key, if it needs one.
        key: Option<String>,
        /// The tiers that it is known to have.
        tiers: &'static [Tier],
        /// Sends the requests.
        client: Client,
        /// Longest time for an answer.
        timeout: Duration,
    },
    /// A program.
    Command(CommandSettings),
    /// A folder.
    Folder(PathBuf),
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        match self {
            Self::Http { server, protocol, address, .. } => f
                .debug_struct("Http")
                .field("server", server)
                .field("protocol", protocol)
                .field("address", address)
                .finish_non_exhaustive(),
            Self::Command(settings) => f.debug_tuple("Command").field(settings).finish(),
            Self::Folder(folder) => f.debug_tuple("Folder").field(folder).finish(),
        }
    }
}

/// How a call that may pass is tried again.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// Most tries.
    pub tries: u32,
    /// Waits for a time.
    pub sleep: fn(Duration),
}

impl Default for Backoff {
    fn default() -> Self {
        Self { tries: 5, sleep: std::thread::sleep }
    }
}

/// A configured model.
#[derive(Debug)]
pub struct Model {
    name: String,
    way: Way,
    backoff: Backoff,
    /// Failures one after the other, and when the last was.
    failures: Mutex<(u32, Option<Instant>)>,
}

impl Model {
    /// Makes a model of this name.
    pub fn new(name: impl Into<String>, way: Way, backoff: Backoff) -> Self {
        Self { name: name.into(), way, backoff, failures: Mutex::default() }
    }

    /// Returns its name, with that of its server.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tiers to try, in order: those that it is known to have first, without those that it is known to lack.
    pub fn tiers(&self, accounts: &dyn Accounts) -> Vec<Tier> {
        let own = match &self.way {
            Way::Http { tiers, .. } => tiers,
            // A program has a prompt only; whoever answers in a folder sees the form.
            Way::Command(_) => &[Tier::Prompt][..],
            Way::Folder(_) => &[Tier::Schema][..],
        };
        own.iter().copied().filter(|tier| accounts.has(&self.name, *tier) != Some(false)).collect()
    }

    /// Asks for an answer. A call that may pass is tried again after a while; each try is a call of its own in the accounts.
    ///
    /// # Errors
    /// Every [`LlmError`] but [`LlmError::Form`].
    pub fn complete(&self, prompt: &Prompt, wanted: Option<Wanted<'_>>, accounts: &dyn Accounts) -> Result<Reply, LlmError> {
        self.rested()?;
        let mut tried = 0;
        let answered = loop {
            if let Some(reason) = accounts.is_off() {
                return Err(LlmError::Budget(reason));
            }
            let form = wanted.map_or(0, |wanted| wanted.form.schema.to_string().len() as u64 / LEAST_BYTES);
            let input = (prompt.system.len() + prompt.user.len()) as u64 / LEAST_BYTES + form;
            let reservation = accounts.reserve(&self.name, input, u64::from(prompt.max_tokens))?;
            let error = match self.send(prompt, wanted, accounts) {
                Ok(reply) => {
                    accounts.settle(reservation, reply.usage, None);
                    break Ok(reply);
                }
                Err(error) => error,
            };
            accounts.settle(reservation, taken(&error, prompt, input), Some(&error));
            tried += 1;
            let wait = error.retry_after().unwrap_or(Duration::from_secs(WAITS[(tried as usize - 1).min(WAITS.len() - 1)]));
            // Nobody has failed who has not answered yet.
            let is_last = tried >= self.backoff.tries || matches!(error, LlmError::Unanswered(_));
            if error.class() != Class::Transient || is_last || wait > LONGEST_WAIT {
                break Err(error);
            }
            // In pieces, so that switching models off ends it.
            let mut left = wait;
            while !left.is_zero() && accounts.is_off().is_none() {
                let piece = left.min(PIECE);
                (self.backoff.sleep)(piece);
                left -= piece;
            }
        };
        self.count(answered.as_ref().err());
        answered
    }

    /// Puts away an answer that had not the form, where it would be given again.
    pub(super) fn reject(&self, prompt: &Prompt) {
        if let Way::Folder(folder) = &self.way {
            folder::reject(folder, prompt);
        }
    }

    fn send(&self, prompt: &Prompt, wanted: Option<Wanted<'_>>, accounts: &dyn Accounts) -> Result<Reply, LlmError> {
        match &self.way {
            Way::Command(settings) => settings.complete(prompt, accounts),
            Way::Folder(folder) => folder::complete(folder, prompt, wanted),
            Way::Http { server, protocol, address, key, client, timeout, .. } => {
                let model = self.name.split_once('/').map_or(self.name.as_str(), |(_, model)| model);
                let encoded = protocol.encode(model, prompt, wanted);
                let address = format!("{}{}", address.trim_end_matches('/'), encoded.path);
                let mut request = Request::new("POST", address, *timeout).header("content-type", "application/json");
                for (name, value) in encoded.headers {
                    request = request.header(name, value);
                }
                if let Some(key) = key {
                    if request.address.starts_with("http://") && !is_here(&request.address) {
                        return Err(LlmError::NoKey(format!(
                            "{server} is not asked over http://, where anybody could read the key"
                        )));
                    }
                    let (name, value) = protocol.key_header(key);
                    request = request.header(name, value);
                }
                request.body = encoded.body.to_string().into_bytes();
                let mut answer = client.ask(&request).map_err(|error| LlmError::Transport { server: server.clone(), error })?;
                // A server may repeat the key in its message.
                if let Some(key) = key.as_deref().filter(|key| answer.status >= 300 && key.len() > 3) {
                    answer.body = String::from_utf8_lossy(&answer.body).replace(key, "…").into_bytes();
                }
                protocol.decode(server, prompt, &answer)
            }
        }
    }

    /// Returns an error while the model is left alone.
    fn rested(&self) -> Result<(), LlmError> {
        let (count, last) = *self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let left = last.map_or(Duration::ZERO, |last| REST.saturating_sub(last.elapsed()));
        if count >= FAILURES && !left.is_zero() { Err(LlmError::Resting(left)) } else { Ok(()) }
    }

    fn count(&self, failure: Option<&LlmError>) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        *failures = match failure {
            None => (0, None),
            Some(LlmError::Unanswered(_)) => *failures,
            // One more after a rest closes it again.
            Some(error) if error.class() == Class::Transient => (failures.0 + 1, Some(Instant::now())),
            Some(_) => *failures,
        };
    }
}

/// Returns what a failed call may have taken: where that is not known, all that was reserved.
fn taken(error: &LlmError, prompt: &Prompt, input: u64) -> Usage {
    match error {
        LlmError::Transport {
            error: TransportError::UnknownHost | TransportError::Request(_) | TransportError::Tls(_), ..
        }
        | LlmError::Status { .. }
        | LlmError::Program { has_run: false, .. }
        | LlmError::Unanswered(_)
        | LlmError::Folder { .. }
        | LlmError::NoKey(_) => Usage::default(),
        // Nobody listens.
        LlmError::Transport { error: TransportError::Connection(error), .. }
            if error.kind() == std::io::ErrorKind::ConnectionRefused =>
        {
            Usage::default()
        }
        LlmError::Refused(_) => Usage { input, output: 0, is_estimated: true },
        _ => Usage { input, output: u64::from(prompt.max_tokens), is_estimated: true },
    }
}
