//! The calls of a run, each with its outcome: recorded as they are made, and given again when the run is replayed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::ask::{Asked, Reply, Usage};
use super::caller::taken;
use super::error::{Class, Denial, LlmError, RunLimit};

/// Digits of the digest of a call.
const DIGITS: usize = 16;

/// A call and its outcome.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RecordedCall {
    /// Digest of all that was asked: the same question in the same way has the same.
    pub id: String,
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// True if the numbers of tokens are estimated.
    pub is_estimated: bool,
    /// True if the answer was cut off.
    pub is_cut: bool,
    /// The answer; `None`: it failed.
    pub reply: Option<String>,
    /// Its failure.
    pub failure: Option<Failure>,
}

/// The failure of a call, as far as what follows from it depends on it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Failure {
    /// Its words.
    pub text: String,
    /// Its class.
    pub class: Class,
    /// The answer of a server that refused: its name, the HTTP status and the message.
    pub status: Option<(String, u16, String)>,
}

/// Records calls, or gives them again.
#[derive(Debug, Default)]
pub struct Journal {
    made: Mutex<Vec<RecordedCall>>,
    /// Calls of an earlier run by id, in their order, and the limit that ended it.
    earlier: Option<(Mutex<CallsById>, Option<RunLimit>)>,
}

type CallsById = HashMap<String, VecDeque<RecordedCall>>;

impl Journal {
    /// Gives the calls of an earlier run again. One that it did not make is refused, for the limit that it reached.
    pub fn of_earlier(calls: impl IntoIterator<Item = RecordedCall>, reached: Option<RunLimit>) -> Self {
        let mut by_id = CallsById::new();
        for call in calls {
            by_id.entry(call.id.clone()).or_default().push_back(call);
        }
        Self { made: Mutex::default(), earlier: Some((Mutex::new(by_id), reached)) }
    }

    /// Returns whether it gives the calls of an earlier run again.
    pub fn is_replay(&self) -> bool {
        self.earlier.is_some()
    }

    /// Returns the calls since this was last asked, ordered by id: calls side by side end in any order.
    pub fn taken(&self) -> Vec<RecordedCall> {
        let mut made = std::mem::take(&mut *held(&self.made));
        made.sort_by(|a, b| a.id.cmp(&b.id));
        made
    }

    /// Returns the limit that ended the run that is replayed.
    pub(super) fn reached(&self) -> Option<RunLimit> {
        self.earlier.as_ref().and_then(|(_, reached)| *reached)
    }

    pub(super) fn replayed(&self, call: &Asked<'_>) -> Option<Result<Reply, LlmError>> {
        let (earlier, reached) = self.earlier.as_ref()?;
        let denied = || Err(Denial::NotMade.into());
        let found = held(earlier).get_mut(&id_of(call)).and_then(VecDeque::pop_front);
        let Some(found) = found else { return Some(denied()) };
        let (input, output) = (found.input, found.output);
        Some(match (found.reply, found.failure) {
            (Some(text), _) => {
                Ok(Reply { text, usage: Usage { input, output, is_estimated: found.is_estimated }, is_cut: found.is_cut })
            }
            (None, Some(Failure { status: Some((server, status, message)), .. })) => {
                Err(LlmError::Status { server, status, message, retry_after: None })
            }
            // A limit ended it while it was made.
            (None, Some(Failure { class: Class::Budget, .. })) if reached.is_some() => {
                Err(reached.map_or(Denial::NotMade, Denial::Run).into())
            }
            (None, Some(Failure { text, class, .. })) => Err(LlmError::Recorded { text, class, took: [input, output] }),
            (None, None) => denied(),
        })
    }

    pub(super) fn record(&self, call: &Asked<'_>, outcome: Result<&Reply, &LlmError>) {
        // A call that was not made is no part of the run.
        if matches!(outcome, Err(LlmError::Budget(Denial::NotMade))) {
            return;
        }
        let usage = match outcome {
            Ok(reply) => reply.usage,
            Err(error) => taken(error, call.most[0], call.most[1]),
        };
        let failure = outcome.err().map(|error| Failure {
            text: error.to_string(),
            class: error.class(),
            status: match error {
                LlmError::Status { server, status, message, .. } => Some((server.clone(), *status, message.clone())),
                _ => None,
            },
        });
        held(&self.made).push(RecordedCall {
            id: id_of(call),
            input: usage.input,
            output: usage.output,
            is_estimated: usage.is_estimated,
            is_cut: outcome.is_ok_and(|reply| reply.is_cut),
            reply: outcome.ok().map(|reply| reply.text.clone()),
            failure,
        });
    }
}

fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn id_of(call: &Asked<'_>) -> String {
    let mut hash = blake3::Hasher::new();
    let form = call.wanted.map_or("", |(form, _)| form.name);
    let tier = call.wanted.map_or("", |(_, tier)| tier.as_str());
    let messages = call.prompt.messages().map(|(_, text)| text);
    for part in [call.model, form, tier, &call.prompt.system].into_iter().chain(messages) {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.update(&call.prompt.max_tokens.to_le_bytes());
    hash.finalize().to_hex()[..DIGITS].to_owned()
}
