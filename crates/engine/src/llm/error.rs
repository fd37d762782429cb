//! Errors of language models, classed by what may be done about them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::transport::TransportError;

/// A limit of a run that was reached.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunLimit {
    /// Calls.
    Calls,
    /// Tokens.
    Tokens,
    /// Money.
    Money,
    /// Time.
    Time,
}

impl RunLimit {
    /// Returns the stored and displayed name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Tokens => "tokens",
            Self::Money => "money",
            Self::Time => "time",
        }
    }
}

/// Class of a failure by its remedy.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The same call may succeed later.
    Transient,
    /// The same call will fail again: a wrong key, an unknown model.
    Permanent,
    /// The answer has not the form that was asked for.
    Validation,
    /// The call is not allowed now: the budget is spent, or models are switched off.
    Budget,
}

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    /// The server cannot be reached, or broke off.
    #[error("{server}: {error}")]
    Transport {
        /// Name of the server.
        server: String,
        /// The reason.
        error: TransportError,
    },
    /// The server answered with an error.
    #[error("{server} answered {status}: {message}")]
    Status {
        /// Name of the server.
        server: String,
        /// The HTTP status.
        status: u16,
        /// Its message, without keys.
        message: String,
        /// Time after which it may be asked again, if it said so.
        retry_after: Option<Duration>,
    },
    /// The answer is none of the protocol.
    #[error("{server}: the answer is not understood: {reason}")]
    NotUnderstood {
        /// Name of the server.
        server: String,
        /// The part that is missing or wrong.
        reason: String,
    },
    /// The model refused to answer.
    #[error("the model refused: {0}")]
    Refused(String),
    /// No answer had the form that was asked for.
    #[error("the answer has not the form that was asked for: {0}")]
    Form(String),
    /// The answer was cut off, also where a longer one was allowed: less must be asked for at once.
    #[error("the answer has not the form that was asked for: {0}")]
    CutOff(String),
    /// A program that should answer failed.
    #[error("`{program}` failed: {reason}")]
    Program {
        /// The command.
        program: String,
        /// The reason.
        reason: String,
        /// True if another try may succeed.
        may_pass: bool,
        /// True if it ran, and may have taken something.
        has_run: bool,
    },
    /// Nobody has answered in the folder yet.
    #[error("the request stands in {0}; its answer belongs beside it, with .answer.json in the place of .request.json")]
    Unanswered(String),
    /// An answer in the folder has not the form that was asked for.
    #[error("the answer has not the form that was asked for: {reason}; it is kept as {kept}, and the request waits for another")]
    Rejected {
        /// The reason.
        reason: String,
        /// The file that holds it now.
        kept: String,
    },
    /// A file of the folder cannot be read or written.
    #[error("{path}: {error}")]
    Folder {
        /// The file.
        path: String,
        /// The reason.
        error: std::io::Error,
    },
    /// There is no key where the configuration says.
    #[error("there is no key: {0}")]
    NoKey(String),
    /// Three calls failed one after the other: the model is left alone for a while.
    #[error("the model is not asked for {} s after several failures", .0.as_secs())]
    Resting(Duration),
    /// The server took longer than the caller can wait.
    #[error("{server}: no answer within {} ms, the time that was left", time.as_millis())]
    Late {
        /// Name of the server.
        server: String,
        /// The time that was left.
        time: Duration,
    },
    /// A failure of an earlier run, which is replayed.
    #[error("{text}")]
    Recorded {
        /// The words of the failure.
        text: String,
        /// Its class.
        class: Class,
        /// Tokens that it may have taken, of the prompt and of the answer.
        took: [u64; 2],
    },
    /// The call is not allowed now.
    #[error(transparent)]
    Budget(#[from] Denial),
}

/// The reason why a call is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// The limit of a day is 0 tokens.
    #[error("no model may be called: the limit is 0 tokens a day")]
    NoTokens,
    /// All models are switched off.
    #[error("models are switched off")]
    Off,
    /// The caller gives up what is running.
    #[error("stopped")]
    Stopped,
    /// The call may cost money, and the price of this model is not known.
    #[error("the price of {0} is not known: add \"{0}=INPUT/OUTPUT\" to llm.prices, in dollars for a million tokens")]
    UnknownPrice(String),
    /// The tokens of a day do not suffice.
    #[error("the limit of {limit} tokens a day would be passed: {left} are left, the call may take {wanted}")]
    Tokens {
        /// The limit of a day.
        limit: u64,
        /// Tokens that are left today.
        left: u64,
        /// Tokens that the call may take.
        wanted: u64,
    },
    /// The calls of a day are made.
    #[error("the calls of the day are made: {0} of {0}")]
    Calls(u64),
    /// The money of a day does not suffice; amounts in millionths of a dollar.
    #[error(
        "the limit of {} dollars a day would be passed: {} are left, the call may cost {}",
        dollars(*limit), dollars(*left), dollars(*wanted)
    )]
    Dollars {
        /// The limit of a day.
        limit: u64,
        /// The rest of the day's limit.
        left: u64,
        /// The most that the call may cost.
        wanted: u64,
    },
    /// A limit of the run that the call belongs to was reached.
    #[error("the limit of the run is reached: {}", .0.as_str())]
    Run(RunLimit),
    /// A run that is replayed did not make the call.
    #[error("the run made no such call")]
    NotMade,
    /// The ledger of calls cannot be written.
    #[error("the ledger cannot be written: {0}")]
    Ledger(String),
}

impl Denial {
    /// Returns whether the next day brings a new limit.
    pub fn ends_with_the_day(&self) -> bool {
        matches!(self, Self::Tokens { .. } | Self::Dollars { .. } | Self::Calls(_))
    }
}

/// Returns an amount in dollars.
pub fn dollars(micro: u64) -> String {
    format!("{:.4}", micro as f64 / 1e6)
}

impl LlmError {
    /// Returns what may be done about it.
    pub fn class(&self) -> Class {
        match self {
            Self::Transport { error, .. } if error.is_passing() => Class::Transient,
            Self::Transport { .. } | Self::Refused(_) | Self::Folder { .. } | Self::NoKey(_) => Class::Permanent,
            Self::Status { status: 408 | 409 | 425 | 429 | 500..=599, .. } => Class::Transient,
            Self::Status { .. } => Class::Permanent,
            Self::NotUnderstood { .. } | Self::Resting(_) | Self::Unanswered(_) | Self::Late { .. } | Self::Rejected { .. } => {
                Class::Transient
            }
            Self::Program { may_pass, .. } => {
                if *may_pass {
                    Class::Transient
                } else {
                    Class::Permanent
                }
            }
            Self::Form(_) | Self::CutOff(_) => Class::Validation,
            Self::Recorded { class, .. } => *class,
            Self::Budget(_) => Class::Budget,
        }
    }

    /// Returns the time after which the server may be asked again, if it said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns a code that does not change between versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Transport { .. } => "llm/transport",
            Self::Status { .. } => "llm/status",
            Self::NotUnderstood { .. } => "llm/not-understood",
            Self::Refused(_) => "llm/refused",
            Self::Form(_) => "llm/form",
            Self::CutOff(_) => "llm/cut-off",
            Self::Program { .. } => "llm/program",
            Self::Unanswered(_) => "llm/unanswered",
            Self::Rejected { .. } => "llm/rejected",
            Self::Folder { .. } => "llm/folder",
            Self::NoKey(_) => "llm/no-key",
            Self::Resting(_) => "llm/resting",
            Self::Late { .. } => "llm/late",
            Self::Recorded { .. } => "llm/recorded",
            Self::Budget(_) => "llm/budget",
        }
    }
}
