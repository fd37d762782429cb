//! The budget of one run of a language model, beneath that of the day: calls, tokens, money and time, reserved before each call.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::ask::{Accounts, Asked, Reply, Tier, Usage};
use super::error::{Denial, LlmError, RunLimit};
use super::journal::Journal;

/// The most that a run may take.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunLimits {
    /// Calls of models.
    pub calls: u64,
    /// Tokens of prompts and answers together.
    pub tokens: u64,
    /// Money, in millionths of a dollar; 0: only what costs nothing.
    pub cost_micro: u64,
    /// Time, in milliseconds.
    pub milliseconds: u64,
}

impl Default for RunLimits {
    /// 50 calls, 2,000,000 tokens, 0.50 dollars, 120 seconds (C-090).
    fn default() -> Self {
        Self { calls: 50, tokens: 2_000_000, cost_micro: 500_000, milliseconds: 120_000 }
    }
}

/// The amounts that a run took, with what is reserved for calls that are being made.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct RunSpent {
    /// Calls.
    pub calls: u64,
    /// Tokens of prompts.
    pub input: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Money, in millionths of a dollar.
    pub cost_micro: u64,
}

/// The accounts of a run: each call is checked against its limits, then announced to the accounts of the day.
pub struct Run<'a> {
    limits: RunLimits,
    /// Returns the cost of tokens of a prompt and an answer, in millionths of a dollar.
    cost: Box<dyn Fn(u64, u64) -> u64 + Send + Sync + 'a>,
    day: &'a (dyn Accounts + Sync),
    journal: Journal,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spent: RunSpent,
    reserved: HashMap<u64, (u64, u64)>,
    reached: Option<RunLimit>,
}

impl<'a> Run<'a> {
    /// Begins a run beneath the accounts of the day.
    pub fn new(
        limits: RunLimits,
        day: &'a (dyn Accounts + Sync),
        cost: impl Fn(u64, u64) -> u64 + Send + Sync + 'a,
        journal: Journal,
    ) -> Self {
        Self { limits, cost: Box::new(cost), day, journal, began: Instant::now(), state: Mutex::default() }
    }

    /// Returns the record of its calls.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Returns its limits.
    pub fn limits(&self) -> RunLimits {
        self.limits
    }

    /// Returns the cost of tokens of a prompt and an answer, in millionths of a dollar.
    pub fn cost(&self, input: u64, output: u64) -> u64 {
        (self.cost)(input, output)
    }

    /// Returns what it took.
    pub fn spent(&self) -> RunSpent {
        self.state().spent
    }

    /// Returns the first limit that kept a call from being made, or ended one.
    pub fn reached(&self) -> Option<RunLimit> {
        self.state().reached.or_else(|| self.is_late().then_some(RunLimit::Time))
    }

    /// Returns the time that is left.
    pub fn left(&self) -> Duration {
        Duration::from_millis(self.limits.milliseconds).saturating_sub(self.began.elapsed())
    }

    fn is_late(&self) -> bool {
        self.left().is_zero()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the amounts of a call off the limits, or says which one does not allow it.
    fn take(&self, input: u64, output: u64) -> Result<(), RunLimit> {
        let mut state = self.state();
        let spent = &mut state.spent;
        let cost = (self.cost)(input, output);
        let reached = if self.is_late() {
            Some(RunLimit::Time)
        } else if spent.calls + 1 > self.limits.calls {
            Some(RunLimit::Calls)
        } else if spent.input + spent.output + input + output > self.limits.tokens {
            Some(RunLimit::Tokens)
        } else if spent.cost_micro + cost > self.limits.cost_micro {
            Some(RunLimit::Money)
        } else {
            None
        };
        if let Some(limit) = reached {
            state.reached.get_or_insert(limit);
            return Err(limit);
        }
        spent.calls += 1;
        spent.input += input;
        spent.output += output;
        spent.cost_micro += cost;
        Ok(())
    }

    /// Puts the amounts of a reservation back, and books others; `None`: nobody was asked.
    fn give_back(&self, (input, output): (u64, u64), took: Option<(u64, u64)>) {
        let mut state = self.state();
        let spent = &mut state.spent;
        spent.input -= input;
        spent.output -= output;
        spent.cost_micro -= (self.cost)(input, output);
        match took {
            Some((input, output)) => {
                spent.input += input;
                spent.output += output;
                spent.cost_micro += (self.cost)(input, output);
            }
            None => spent.calls -= 1,
        }
    }
}

impl Accounts for Run<'_> {
    fn reserve(&self, model: &str, input: u64, output: u64) -> Result<u64, LlmError> {
        self.take(input, output).map_err(Denial::Run)?;
        match self.day.reserve(model, input, output) {
            Ok(number) => {
                self.state().reserved.insert(number, (input, output));
                Ok(number)
            }
            Err(error) => {
                self.give_back((input, output), None);
                Err(error)
            }
        }
    }

    fn settle(&self, reservation: u64, usage: Usage, failure: Option<&LlmError>) {
        let reserved = self.state().reserved.remove(&reservation);
        if let Some(reserved) = reserved {
            let is_unasked =
                matches!(failure, Some(LlmError::Unanswered(_) | LlmError::NoKey(_) | LlmError::Budget(Denial::NotMade)));
            self.give_back(reserved, (!is_unasked).then_some((usage.input, usage.output)));
        }
        self.day.settle(reservation, usage, failure);
    }

    fn is_off(&self) -> Option<Denial> {
        if self.is_late() {
            self.state().reached.get_or_insert(RunLimit::Time);
            return Some(Denial::Run(RunLimit::Time));
        }
        self.day.is_off()
    }

    fn learned(&self, model: &str, tier: Tier, works: bool) {
        self.day.learned(model, tier, works);
    }

    fn has(&self, model: &str, tier: Tier) -> Option<bool> {
        self.day.has(model, tier)
    }

    fn replayed(&self, call: &Asked<'_>) -> Option<Result<Reply, LlmError>> {
        let outcome = self.journal.replayed(call);
        if let (Some(Err(LlmError::Budget(_))), Some(limit)) = (&outcome, self.journal.reached()) {
            self.state().reached.get_or_insert(limit);
        }
        outcome
    }

    fn record(&self, call: &Asked<'_>, outcome: Result<&Reply, &LlmError>) {
        self.journal.record(call, outcome);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Accounts that allow everything up to a number of calls.
    struct Day {
        most: u64,
        made: AtomicU64,
    }

    impl Accounts for Day {
        fn reserve(&self, _: &str, _: u64, _: u64) -> Result<u64, LlmError> {
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            if number < self.most { Ok(number) } else { Err(Denial::Calls(self.most).into()) }
        }
        fn settle(&self, _: u64, _: Usage, _: Option<&LlmError>) {}
        fn is_off(&self) -> Option<Denial> {
            None
        }
        fn learned(&self, _: &str, _: Tier, _: bool) {}
        fn has(&self, _: &str, _: Tier) -> Option<bool> {
            None
        }
    }

    fn day(most: u64) -> Day {
        Day { most, made: AtomicU64::new(0) }
    }

    fn told(outcome: Result<u64, LlmError>) -> String {
        outcome.map_or_else(|error| error.to_string(), |_| "made".to_owned())
    }

    #[test]
    fn a_run_may_take_fifty_calls_half_a_dollar_and_two_minutes() {
        let RunLimits { calls, cost_micro, milliseconds, .. } = RunLimits::default();
        assert_eq!((calls, cost_micro, milliseconds), (50, 500_000, 120_000));
    }

    #[test]
    fn each_limit_keeps_a_call_from_being_made() {
        let day = day(1_000);
        let limits = RunLimits { calls: 2, tokens: 1_000, cost_micro: 5_000, milliseconds: 60_000 };
        let run = |limits| Run::new(limits, &day, |input, output| input + 2 * output, Journal::default());
        let calls = run(limits);
        assert_eq!(told(calls.reserve("m", 10, 10)), "made");
        assert_eq!(told(calls.reserve("m", 10, 10)), "made");
        assert!(told(calls.reserve("m", 10, 10)).contains("calls"));
        assert_eq!(calls.reached(), Some(RunLimit::Calls));
        let tokens = run(limits);
        assert!(told(tokens.reserve("m", 900, 101)).contains("tokens"));
        let money = run(RunLimits { cost_micro: 100, ..limits });
        assert!(told(money.reserve("m", 50, 26)).contains("money"));
        assert_eq!(
            (money.spent(), money.reached()),
            (RunSpent::default(), Some(RunLimit::Money)),
            "what was not made costs nothing"
        );
        let late = run(RunLimits { milliseconds: 0, ..limits });
        assert!(told(late.reserve("m", 1, 1)).contains("time"));
        assert!(late.is_off().is_some() && late.reached() == Some(RunLimit::Time));
    }

    #[test]
    fn a_call_takes_what_it_took_and_not_what_was_reserved() {
        let day = day(2);
        let run = Run::new(RunLimits::default(), &day, |input, output| input + output, Journal::default());
        let first = run.reserve("m", 1_000, 500).unwrap();
        assert_eq!(run.spent().cost_micro, 1_500);
        run.settle(first, Usage { input: 900, output: 20, is_estimated: false }, None);
        let expected = RunSpent { calls: 1, input: 900, output: 20, cost_micro: 920 };
        assert_eq!(run.spent(), expected);
        let unasked = run.reserve("m", 1_000, 500).unwrap();
        run.settle(unasked, Usage::default(), Some(&LlmError::NoKey("none".to_owned())));
        assert_eq!(run.spent(), expected, "nobody was asked");
        assert!(run.reserve("m", 1, 1).is_err());
        assert_eq!((run.spent(), run.reached()), (expected, None), "the day said no, not the run");
    }
}
