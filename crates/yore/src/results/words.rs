//! Words for the reasons and causes that the engine returns as values, with the command that helps.

use yore_core::query::MissingCode;
use yore_engine::llm::{Denial, LlmError};
use yore_engine::{FailReason, Missing, RefusedItem, StopReason};

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
