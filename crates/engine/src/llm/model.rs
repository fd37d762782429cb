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
use crate::transport::{Client, Request};

/// Waits between tries of a call that may pass, in seconds; the last is the longest (S4-064).
const WAITS: [u64; 5] = [1, 2, 4, 8, 10];
/// A server that asks to wait longer is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
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
        let mut tried = 0;
        loop {
            self.rested()?;
            if let Some(reason) = accounts.is_off() {
                return Err(LlmError::Budget(reason));
            }
            let reservation = accounts.reserve(&self.name, prompt.estimated_tokens(), u64::from(prompt.max_tokens))?;
            let answered = self.send(prompt, wanted, accounts);
            match &answered {
                Ok(reply) => accounts.settle(reservation, reply.usage, None),
                Err(error) => accounts.settle(reservation, taken(error, prompt), Some(error)),
            }
            let error = match answered {
                Ok(reply) => {
                    self.count(None);
                    return Ok(reply);
                }
                Err(error) => error,
            };
            // Nobody has failed who has not answered yet.
            if matches!(error, LlmError::Unanswered(_)) {
                return Err(error);
            }
            self.count(Some(&error));
            tried += 1;
            let wait = error.retry_after().unwrap_or(Duration::from_secs(WAITS[(tried as usize - 1).min(WAITS.len() - 1)]));
            if error.class() != Class::Transient || tried >= self.backoff.tries || wait > LONGEST_WAIT {
                return Err(error);
            }
            (self.backoff.sleep)(wait);
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
                    let (name, value) = protocol.key_header(key);
                    request = request.header(name, value);
                }
                request.body = encoded.body.to_string().into_bytes();
                let answer = client.ask(&request).map_err(|error| LlmError::Transport { server: server.clone(), error })?;
                protocol.decode(server, prompt, &answer).map_err(|error| without_key(error, key.as_deref()))
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
            // One more after a rest closes it again.
            Some(error) if error.class() == Class::Transient => (failures.0 + 1, Some(Instant::now())),
            Some(_) => *failures,
        };
    }
}

/// Returns what a failed call may have taken: a server that was not heard in time may have read the prompt.
fn taken(error: &LlmError, prompt: &Prompt) -> Usage {
    let may_be_billed = match error {
        LlmError::Transport { error, .. } => {
            matches!(error, crate::transport::TransportError::Timeout | crate::transport::TransportError::TooLarge(_))
        }
        LlmError::NotUnderstood { .. } | LlmError::Refused(_) | LlmError::Program { .. } => true,
        _ => false,
    };
    if may_be_billed { Usage { input: prompt.estimated_tokens(), output: 0, is_estimated: true } } else { Usage::default() }
}

/// Takes a key that a server repeats out of its message.
fn without_key(error: LlmError, key: Option<&str>) -> LlmError {
    let clean = |text: String| match key.filter(|key| key.len() > 3) {
        Some(key) => text.replace(key, "…"),
        None => text,
    };
    match error {
        LlmError::Status { server, status, message, retry_after } => {
            LlmError::Status { server, status, message: clean(message), retry_after }
        }
        LlmError::NotUnderstood { server, reason } => LlmError::NotUnderstood { server, reason: clean(reason) },
        LlmError::Refused(reason) => LlmError::Refused(clean(reason)),
        other => other,
    }
}
