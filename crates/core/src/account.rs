//! The worth of memory: what sessions took until their first lasting change, with memory and without.
//!
//! Differences have an interval (percentile bootstrap, B. Efron, 1979: 2,000 samples with a fixed sequence of numbers, so that the same sessions
//! always give the same interval). Where it holds zero, or where there are few sessions, nothing is claimed.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::episode::{FileAction, Outcome as CallOutcome, Role, ToolUse};
use crate::exchange::TurnShape;

/// Fewest sessions of each kind that are compared.
pub const FEWEST_SESSIONS: usize = 10;
/// Samples of the bootstrap, and the places of its interval among them: 2.5 and 97.5 %.
const SAMPLES: usize = 2_000;
const LOW: usize = SAMPLES / 40;
const HIGH: usize = SAMPLES - 1 - LOW;
/// Bytes of a token, about.
const TOKEN_BYTES: u64 = 4;

/// The work that a session took. Amounts until the first lasting change are `None` if nothing was changed.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Outcome {
    /// Calls of tools.
    pub tool_calls: u64,
    /// Calls of tools before the first lasting change.
    pub calls_before_change: Option<u64>,
    /// Tokens that were said, read and written before it, estimated from the words.
    pub tokens_before_change: Option<u64>,
    /// Minutes from the first message to it.
    pub minutes_before_change: Option<f64>,
    /// Different files that were opened before it.
    pub files_before_change: Option<u64>,
    /// Failed calls of tools.
    pub errors: u64,
}

/// Returns the turns all of whose calls of tools failed: such a call opened and changed nothing.
pub fn failed_calls(turns: &[TurnShape<'_>]) -> HashSet<usize> {
    let is_failure =
        |turn: &TurnShape<'_>, tool: &ToolUse| turn.is_error || !matches!(tool.outcome, None | Some(CallOutcome::Done));
    let results = turns.iter().flat_map(|turn| turn.tools.iter().map(move |tool| (turn, tool)));
    let failed: HashSet<&str> =
        results.filter(|(turn, tool)| is_failure(turn, tool)).filter_map(|(_, tool)| tool.call_id.as_deref()).collect();
    let has_failed = |turn: &TurnShape<'_>, tool: &ToolUse| {
        is_failure(turn, tool) || tool.call_id.as_deref().is_some_and(|id| failed.contains(id))
    };
    let all_failed = |turn: &TurnShape<'_>| !turn.tools.is_empty() && turn.tools.iter().all(|tool| has_failed(turn, tool));
    turns.iter().enumerate().filter(|(_, turn)| all_failed(turn)).map(|(at, _)| at).collect()
}

/// Reads what a session took from its turns. `lasting`: the indexes of those that made a change that lasts.
pub fn outcome(turns: &[TurnShape<'_>], lasting: &HashSet<usize>) -> Outcome {
    let mut outcome = Outcome::default();
    let failed = failed_calls(turns);
    let mut tokens = 0;
    let mut opened: HashSet<&str> = HashSet::new();
    let began = turns.iter().filter(|turn| turn.role == Role::Human).find_map(|turn| turn.at);
    for (at, turn) in turns.iter().enumerate() {
        if turn.role == Role::ToolResult {
            outcome.errors += u64::from(turn.is_error);
        }
        if outcome.calls_before_change.is_none() {
            if lasting.contains(&at) {
                outcome.calls_before_change = Some(outcome.tool_calls);
                outcome.tokens_before_change = Some(tokens);
                outcome.files_before_change = Some(opened.len() as u64);
                outcome.minutes_before_change = turn.at.zip(began).map(|(at, began)| (at - began).max(0) as f64 / 60_000.0);
            } else {
                let files = turn.files.iter().filter(|file| file.action != FileAction::Mentioned && !failed.contains(&at));
                opened.extend(files.map(|file| file.path.as_str()));
                tokens += (turn.text.len() + turn.tool_text.len()) as u64 / TOKEN_BYTES;
            }
        }
        if turn.role != Role::ToolResult {
            outcome.tool_calls += turn.tools.len() as u64;
        }
    }
    outcome
}

named_enum! {
    /// The result of a comparison.
    Verdict {
        /// There are too few sessions.
        Unknown = "unknown",
        /// The interval of the difference holds zero.
        NoDifference = "no_difference",
        /// Sessions with memory took less.
        Less = "less",
        /// Sessions with memory took more.
        More = "more",
    }
}

/// A quantity in sessions with memory and in those without.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Compared {
    /// Number of sessions with memory, and their mean.
    pub with: (usize, f64),
    /// Number of sessions without memory, and their mean.
    pub without: (usize, f64),
    /// The difference of the means, with memory less without; `None`: too few sessions.
    pub difference: Option<f64>,
    /// The interval that holds the difference with 95 % confidence.
    pub interval: Option<(f64, f64)>,
    /// The result.
    pub verdict: Verdict,
}

/// Compares a quantity in sessions with memory and in those without.
pub fn compare(with: &[f64], without: &[f64]) -> Compared {
    let mean = |values: &[f64]| if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 };
    let compared = Compared {
        with: (with.len(), mean(with)),
        without: (without.len(), mean(without)),
        difference: None,
        interval: None,
        verdict: Verdict::Unknown,
    };
    if with.len() < FEWEST_SESSIONS || without.len() < FEWEST_SESSIONS {
        return compared;
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut sample = |values: &[f64]| {
        let draw = |_| {
            // SplitMix64 (G. L. Steele and others, 2014).
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            values[((mixed ^ (mixed >> 31)) % values.len() as u64) as usize]
        };
        (0..values.len()).map(draw).sum::<f64>() / values.len() as f64
    };
    let mut differences: Vec<f64> = (0..SAMPLES).map(|_| sample(with) - sample(without)).collect();
    differences.sort_by(f64::total_cmp);
    let (low, high) = (differences[LOW], differences[HIGH]);
    let verdict = match () {
        () if high < 0.0 => Verdict::Less,
        () if low > 0.0 => Verdict::More,
        () => Verdict::NoDifference,
    };
    Compared { difference: Some(mean(with) - mean(without)), interval: Some((low, high)), verdict, ..compared }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episode::{FileUse, ToolUse};
    use crate::id::TurnId;

    fn turn<'t>(role: Role, at: i64, tools: &'t [ToolUse], files: &'t [FileUse]) -> TurnShape<'t> {
        TurnShape {
            id: TurnId::from_bytes([0; 16]),
            native_id: "",
            role,
            text: "twelve bytes",
            tool_text: "",
            caveat: None,
            is_error: role == Role::ToolResult && at == 60_000,
            at: Some(at),
            tools,
            files,
        }
    }

    fn file(path: &str, action: FileAction) -> FileUse {
        FileUse { path: path.to_owned(), action }
    }

    #[test]
    fn amounts_are_counted_until_the_first_change_that_lasts() {
        let call = |id: &str| [ToolUse { call_id: Some(id.to_owned()), name: "Edit".to_owned(), outcome: None }];
        let (tool, failed) = (call("one"), call("two"));
        let (read, wrong, right) = (
            [file("/home/dev/tide/src/gauge.rs", FileAction::Read)],
            [file("/home/dev/tide/src/pier.rs", FileAction::Written)],
            [file("/home/dev/tide/src/berth.rs", FileAction::Written)],
        );
        let turns = [
            turn(Role::Human, 0, &[], &[]),
            turn(Role::Assistant, 30_000, &tool, &read),
            turn(Role::Assistant, 50_000, &failed, &wrong),
            turn(Role::ToolResult, 60_000, &failed, &[]),
            turn(Role::Assistant, 90_000, &tool, &wrong),
            turn(Role::Assistant, 120_000, &tool, &right),
            turn(Role::Assistant, 150_000, &tool, &read),
        ];
        assert_eq!(failed_calls(&turns), HashSet::from([2, 3]));
        let last = outcome(&turns, &HashSet::from([5]));
        assert_eq!((last.tool_calls, last.errors), (5, 1));
        assert_eq!((last.calls_before_change, last.minutes_before_change), (Some(3), Some(2.0)));
        assert_eq!((last.files_before_change, last.tokens_before_change), (Some(2), Some(15)));
        assert_eq!(outcome(&turns[..2], &HashSet::new()).calls_before_change, None);
        let unread = outcome(&turns[2..], &HashSet::from([3]));
        assert_eq!(unread.files_before_change, Some(1), "the call that failed opened nothing, the one after it did");
    }

    #[test]
    fn a_difference_is_claimed_only_if_its_interval_leaves_out_zero_and_there_are_enough_sessions() {
        let low: Vec<f64> = (0..20).map(f64::from).collect();
        let high: Vec<f64> = (30..50).map(f64::from).collect();
        let less = compare(&low, &high);
        assert_eq!((less.verdict, less.difference), (Verdict::Less, Some(-30.0)));
        let (from, to) = less.interval.unwrap();
        assert!((-36.0..-30.0).contains(&from) && (-30.0..-24.0).contains(&to), "{from} {to}");
        assert_eq!(compare(&high, &low).verdict, Verdict::More);
        assert_eq!(compare(&low, &low).verdict, Verdict::NoDifference);
        assert_eq!(compare(&low[..9], &high).verdict, Verdict::Unknown);
        assert_eq!(compare(&[], &[]).with, (0, 0.0));
        assert_eq!(compare(&low, &high), less, "the same sessions give the same interval");
    }
}
