//! Calls a model server: reserves tokens, retries transient failures, and pauses after several failures.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::ask::{Accounts, Usage};
use super::error::{Class, LlmError};
use crate::transport::TransportError;

/// Waits between tries of a call that may pass, in seconds; the last is the longest.
const WAITS: [u64; 5] = [1, 2, 4, 8, 10];
/// A server that asks to wait longer is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Longest wait without a look whether models were switched off.
const PIECE: Duration = Duration::from_secs(1);
/// Failures one after the other after which a model is left alone, and for how long.
pub const FAILURES: u32 = 3;
/// See [`FAILURES`].
pub const REST: Duration = Duration::from_secs(60);
/// Bytes of a prompt that make a token, at least: so many are reserved.
const LEAST_BYTES: u64 = 3;

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

impl Backoff {
    /// One try, for somebody who waits for the answer.
    pub const ONCE: Self = Self { tries: 1, sleep: std::thread::sleep };
}

/// Returns the most tokens that so many bytes of a prompt make.
pub(super) fn most_tokens(bytes: usize) -> u64 {
    bytes as u64 / LEAST_BYTES
}

/// Calls one model.
#[derive(Debug)]
pub(super) struct Caller {
    /// Name of the model, with that of its server.
    pub(super) name: String,
    /// Failures one after the other, and when the last was.
    failures: Mutex<(u32, Option<Instant>)>,
    /// The same of answers that came too late for somebody who had little time.
    late: Mutex<(u32, Option<Instant>)>,
}

impl Caller {
    pub(super) fn new(name: String) -> Self {
        Self { name, failures: Mutex::default(), late: Mutex::default() }
    }

    /// Makes a call that may take so many tokens of its prompt and of its answer. Each try is a call of its own in the accounts.
    ///
    /// # Errors
    /// Those of `send`; [`LlmError::Budget`], [`LlmError::Resting`].
    pub(super) fn call<T>(
        &self,
        [input, output]: [u64; 2],
        backoff: Backoff,
        accounts: &dyn Accounts,
        send: &mut dyn FnMut() -> Result<(T, Usage), LlmError>,
    ) -> Result<T, LlmError> {
        self.rested()?;
        let mut tried = 0;
        let answered = loop {
            if let Some(reason) = accounts.is_off() {
                return Err(reason.into());
            }
            let reservation = accounts.reserve(&self.name, input, output)?;
            let error = match send() {
                Ok((answer, usage)) => {
                    accounts.settle(reservation, usage, None);
                    break Ok(answer);
                }
                Err(error) => error,
            };
            accounts.settle(reservation, taken(&error, input, output), Some(&error));
            tried += 1;
            let wait = error.retry_after().unwrap_or(Duration::from_secs(WAITS[(tried as usize - 1).min(WAITS.len() - 1)]));
            let is_last = tried >= backoff.tries || has_not_failed(&error);
            if error.class() != Class::Transient || is_last || wait > LONGEST_WAIT {
                break Err(error);
            }
            // In pieces, so that switching models off ends it.
            let mut left = wait;
            while !left.is_zero() && accounts.is_off().is_none() {
                let piece = left.min(PIECE);
                (backoff.sleep)(piece);
                left -= piece;
            }
        };
        self.count(answered.as_ref().err());
        answered
    }

    /// Returns an error while the model is left alone.
    fn rested(&self) -> Result<(), LlmError> {
        left_alone(&self.failures)
    }

    /// Returns an error while it is not asked by those who have little time: it was late several times, one after the other.
    pub(super) fn in_time(&self) -> Result<(), LlmError> {
        left_alone(&self.late)
    }

    fn count(&self, failure: Option<&LlmError>) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        *late = match failure {
            None => (0, None),
            Some(LlmError::Late { .. }) => (late.0 + 1, Some(Instant::now())),
            Some(_) => *late,
        };
        *failures = match failure {
            None => (0, None),
            Some(error) if has_not_failed(error) => *failures,
            // One more after a rest closes it again.
            Some(error) if error.class() == Class::Transient => (failures.0 + 1, Some(Instant::now())),
            Some(_) => *failures,
        };
    }
}

/// Returns an error for a while after several failures, one after the other.
fn left_alone(failures: &Mutex<(u32, Option<Instant>)>) -> Result<(), LlmError> {
    let (count, last) = *failures.lock().unwrap_or_else(PoisonError::into_inner);
    let left = last.map_or(Duration::ZERO, |last| REST.saturating_sub(last.elapsed()));
    if count >= FAILURES && !left.is_zero() { Err(LlmError::Resting(left)) } else { Ok(()) }
}

/// Returns whether somebody only has not answered yet.
fn has_not_failed(error: &LlmError) -> bool {
    matches!(error, LlmError::Unanswered(_) | LlmError::Late { .. })
}

/// Returns what a failed call may have taken: where that is not known, all that was reserved.
pub(super) fn taken(error: &LlmError, input: u64, output: u64) -> Usage {
    match error {
        LlmError::Transport {
            error: TransportError::UnknownHost | TransportError::Request(_) | TransportError::Tls(_), ..
        }
        | LlmError::Status { status: 0..500, .. }
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
        // A server that fails while it answers has read the prompt.
        LlmError::Refused(_) | LlmError::Status { .. } => Usage { input, output: 0, is_estimated: true },
        LlmError::Recorded { took: [input, output], .. } => Usage { input: *input, output: *output, is_estimated: true },
        _ => Usage { input, output, is_estimated: true },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_that_rested_is_asked_once_and_rests_again_only_if_that_fails() {
        let caller = Caller::new("scripted".to_owned());
        let error = LlmError::NotUnderstood { server: "scripted".to_owned(), reason: "nothing".to_owned() };
        let rests = |caller: &Caller| matches!(caller.rested(), Err(LlmError::Resting(_)));
        let Some(past) = Instant::now().checked_sub(REST) else { return };
        *caller.failures.lock().unwrap() = (FAILURES, Some(Instant::now()));
        assert!(rests(&caller));
        *caller.failures.lock().unwrap() = (FAILURES, Some(past));
        assert!(!rests(&caller), "after a rest it is asked");
        caller.count(Some(&error));
        assert!(rests(&caller), "one more failure closes it again");
        *caller.failures.lock().unwrap() = (FAILURES, Some(past));
        caller.count(None);
        for _ in 1..FAILURES {
            caller.count(Some(&error));
            assert!(!rests(&caller), "an answer forgets the failures before");
        }
        caller.count(Some(&error));
        assert!(rests(&caller));
    }
}
