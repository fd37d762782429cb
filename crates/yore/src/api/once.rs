//! Changes that carry a key are done once: the answer of the first is kept, and given to those that repeat it.
//!
//! Kept in memory while the daemon runs, for a day and for the latest keys. A repetition after that is a new change.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{CliError, Exit};

/// Longest key, in bytes.
pub const LONGEST_KEY: usize = 255;
/// Time for which an answer is kept.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// Most answers that are kept, and most bytes of all of them.
const MOST: usize = 1_000;
const MOST_BYTES: usize = 8 << 20;

/// Answers of changes by their keys.
#[derive(Default)]
pub struct Once(Mutex<VecDeque<Kept>>);

struct Kept {
    key: String,
    /// Hash of method, path and body.
    request: [u8; 32],
    at: Instant,
    /// `None` while the change is made.
    answer: Option<Answered>,
}

/// The answer to a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// The way to go on with a request that carries a key.
#[derive(Debug)]
pub enum Turn {
    /// It is the first: make the change, then [`Once::done`] or [`Once::failed`].
    First,
    /// It was made, with this answer.
    Repeated(Answered),
}

impl Once {
    /// Takes note of a request.
    ///
    /// # Errors
    /// If the key names another request, or one that is being carried out.
    pub fn begin(&self, key: &str, request: [u8; 32], now: Instant) -> Result<Turn, CliError> {
        if key.is_empty() || key.len() > LONGEST_KEY {
            return Err(CliError::usage(format!("an Idempotency-Key has 1 to {LONGEST_KEY} characters"), None));
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|one| now.saturating_duration_since(one.at) < LIFE || one.answer.is_none());
        if let Some(known) = kept.iter().find(|one| one.key == key) {
            if known.request != request {
                return Err(CliError::usage("this Idempotency-Key was sent with another request", None));
            }
            return known.answer.clone().map(Turn::Repeated).ok_or_else(|| CliError {
                exit: Exit::Busy,
                code: "in-progress".to_owned(),
                message: "the request with this Idempotency-Key is being carried out".to_owned(),
                hint: Some("try again in a moment".to_owned()),
            });
        }
        kept.push_back(Kept { key: key.to_owned(), request, at: now, answer: None });
        Ok(Turn::First)
    }

    /// Keeps the answer to a request.
    pub fn done(&self, key: &str, answer: Answered) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter_mut().find(|one| one.key == key) {
            known.answer = Some(answer);
        }
        let bytes = |kept: &VecDeque<Kept>| kept.iter().filter_map(|one| Some(one.answer.as_ref()?.body.len())).sum::<usize>();
        while kept.len() > MOST || bytes(&kept) > MOST_BYTES {
            let Some(at) = kept.iter().position(|one| one.answer.is_some()) else { break };
            kept.remove(at);
        }
    }

    /// Forgets a request that changed nothing, so that it may be tried again.
    pub fn failed(&self, key: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|one| one.key != key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_with_a_key_is_made_once() {
        let (once, now) = (Once::default(), Instant::now());
        let begin = |key: &str, request: u8, at| once.begin(key, [request; 32], at);
        assert!(matches!(begin("a", 1, now).unwrap(), Turn::First));
        assert_eq!(begin("a", 1, now).unwrap_err().code, "in-progress");
        let answer = Answered { status: 200, body: b"{}".to_vec() };
        once.done("a", answer.clone());
        assert!(matches!(begin("a", 1, now).unwrap(), Turn::Repeated(again) if again == answer));
        assert_eq!(begin("a", 2, now).unwrap_err().code, "usage", "a key names one request");
        assert!(matches!(begin("b", 2, now).unwrap(), Turn::First));
        once.failed("b");
        assert!(matches!(begin("b", 2, now).unwrap(), Turn::First), "what failed may be tried again");
        assert!(matches!(begin("a", 1, now + LIFE).unwrap(), Turn::First));
        assert!(begin("", 1, now).is_err() && begin(&"k".repeat(LONGEST_KEY + 1), 1, now).is_err());
    }

    #[test]
    fn few_answers_are_kept() {
        let (once, now) = (Once::default(), Instant::now());
        for at in 0..=MOST {
            once.begin(&at.to_string(), [0; 32], now).unwrap();
            once.done(&at.to_string(), Answered { status: 200, body: Vec::new() });
        }
        assert!(matches!(once.begin("0", [0; 32], now).unwrap(), Turn::First));
        assert!(matches!(once.begin("1000", [0; 32], now).unwrap(), Turn::Repeated(_)));
        once.done("0", Answered { status: 200, body: vec![0; MOST_BYTES + 1] });
        assert_eq!(once.0.lock().unwrap().len(), 0, "an answer that is too long is not kept either");
    }
}
