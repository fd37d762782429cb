//! Words for the reasons and causes that the engine returns as values, with the command that helps.

use yore_core::query::MissingCode;
use yore_engine::llm::{Denial, LlmError, RunLimit};
use yore_engine::{FailReason, Missing, RefusedItem, Stop, StopReason};

/// Returns why a language model may not be called, and the command that changes it.
pub fn denial(denial: &Denial) -> String {
    match denial {
        Denial::NoTokens => format!("{denial} (`yore learn --limit N`)"),
        Denial::Off => format!("{denial} (`yore learn --auto` or `yore budget on`)"),
        Denial::Tokens { .. } | Denial::Calls(_) | Denial::Dollars { .. } => format!("{denial} (`yore learn --limit`)"),
        _ => denial.to_string(),
    }
}

/// Returns what failed with a language model.
pub fn language_model(error: &LlmError) -> String {
    match error {
        LlmError::Budget(reason) => denial(reason),
        _ => error.to_string(),
    }
}

/// Returns why a conversation or a request failed.
pub fn failed(reason: &FailReason) -> String {
    match reason {
        FailReason::Misformed => format!("{reason}; `--again` asks"),
        FailReason::Denied(reason) => denial(reason),
        _ => reason.to_string(),
    }
}

/// Returns why a run of a language model ended early.
pub fn stopped(reason: &StopReason) -> String {
    match reason {
        StopReason::Failed(reason) => failed(reason),
        _ => reason.to_string(),
    }
}

/// Returns what a model found in a session and was not recorded.
pub fn refused((session, item): &(String, RefusedItem)) -> String {
    format!("{session}: {item}")
}

/// Returns how to get a missing part of an answer.
pub fn remedy(missing: &Missing) -> &'static str {
    match missing.code {
        MissingCode::Model | MissingCode::Reranker => "run `yore models fetch`",
        MissingCode::Vectors => "run `yore embed`",
        MissingCode::Late => "allow more time",
        _ if missing.may_pass => "run `yore data rebuild` if this stays",
        _ => "run `yore data rebuild`",
    }
}

/// Says why the answer of a run is not whole.
pub fn stop_of_run(stop: &Stop) -> String {
    match stop {
        Stop::Preview => "only what it would take was asked for".to_owned(),
        Stop::NothingToRead => "there is nothing to read: no session or memory is among what was asked for".to_owned(),
        Stop::LeftOut => "no model may read this project".to_owned(),
        Stop::NoModel(reason) | Stop::Failed(reason) => format!("the model did not answer: {reason}"),
        Stop::Limit(limit) => format!("the limit of the run is reached: {}; --{} sets it", limit.as_str(), option_of(*limit)),
        Stop::Turns => "the turns are over".to_owned(),
        Stop::Waiting(requests) => {
            let wait = if *requests == 1 { "request waits" } else { "requests wait" };
            format!("{requests} {wait} for an answer in the folder of llm.folder; ask again when all have one")
        }
        Stop::NoEvidence => "the model named no words as evidence that stand where it said".to_owned(),
        Stop::Unread(pieces) => format!("{pieces} pieces could not be read"),
    }
}

fn option_of(limit: RunLimit) -> &'static str {
    match limit {
        RunLimit::Calls => "calls",
        RunLimit::Tokens => "tokens",
        RunLimit::Money => "dollars",
        RunLimit::Time => "seconds",
    }
}
