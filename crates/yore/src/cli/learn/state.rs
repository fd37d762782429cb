//! The state of learning: who reads sessions, within which limits, what was found and what waits.

use yore_engine::{LearnRequest, Learning, Price};

use super::super::Context;
use super::super::budget::limits_told;
use crate::config::Config;
use crate::engine_handle::now;
use crate::error::CliResult;
use crate::llm::found::{FoundModel, Payer};
use crate::llm::{self, ModelChooser};
use crate::render::text;
use crate::results::{BudgetDay, LearnState, LearnWaiting, ReadyModel};

/// Days whose calls are the measure of an estimate, and how many there must be.
const MEASURED_DAYS: i64 = 30;
const MEASURED_CALLS: u64 = 5;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// The state of learning.
pub struct State {
    pub config: Config,
    pub learning: Learning,
    budget: BudgetDay,
    spent: yore_engine::Spent,
    /// Name and price of the model that reads sessions.
    model: Option<(String, Option<Price>)>,
}

/// Returns the request for the sessions that the configured model may read now.
pub fn request(config: &Config, quiet_ms: i64) -> LearnRequest {
    let offset = i64::from(llm::offset_minutes()) * 60_000;
    let now = now();
    LearnRequest {
        without: llm::unread_projects("extract", config),
        quiet_ms,
        kinds: config.extract.kinds(),
        since: now - (now + offset).rem_euclid(DAY_MS),
        is_estimated: false,
    }
}

impl State {
    /// Reads the state. `is_estimated`: with what reading the sessions takes that wait.
    pub fn read(is_estimated: bool, context: &Context) -> CliResult<Self> {
        let config = context.settings.own_config()?;
        let mut memory = context.settings.memory()?;
        let mut learning = memory.learning(LearnRequest { is_estimated, ..request(&config, 0) })?;
        let day = memory.day(llm::offset_minutes())?;
        let mut taken = yore_engine::Spent::default();
        for row in memory.ledger(day - MEASURED_DAYS)?.into_iter().filter(|row| row.purpose == "extract") {
            taken.calls += row.spent.calls - row.spent.failed;
            taken.input += row.spent.input;
            taken.output += row.spent.output;
        }
        // Calls on this computer are a better measure than those of others.
        if taken.calls >= MEASURED_CALLS {
            learning.input = learning.calls * taken.input / taken.calls;
            learning.output = learning.calls * taken.output / taken.calls;
        }
        let spent = memory.spent_on(day)?;
        let budget = BudgetDay::of(llm::limits(&config), spent, memory.are_models_off()?);
        let chosen = ModelChooser::new(&context.settings, "extract").and_then(|mut chooser| chooser.for_project(None));
        let model = chosen.ok().flatten().map(|(model, terms)| (model.name().to_owned(), terms.price));
        Ok(Self { config, learning, budget, spent, model })
    }

    /// Returns the model that reads sessions; none: nobody was chosen, or not as it must be.
    pub fn with(&self) -> Option<&str> {
        self.model.as_ref().map(|(name, _)| name.as_str())
    }

    fn dollars(&self) -> Option<f64> {
        let price = self.model.as_ref()?.1?;
        Some(price.cost_micro(self.learning.input, self.learning.output) as f64 / 1e6)
    }

    /// Returns it as data.
    pub fn result(&self, ready: Option<&[FoundModel]>) -> LearnState {
        let ready_model = |model: &FoundModel| ReadyModel {
            with: model.name(),
            title: model.title.clone(),
            paid_by: match model.payer {
                Payer::Plan => "plan",
                Payer::Here => "nobody",
                Payer::Key(_) => "key",
            }
            .to_owned(),
        };
        LearnState {
            auto: self.config.learn.auto,
            with: self.with().map(str::to_owned),
            budget: self.budget.clone(),
            waiting: LearnWaiting::of(&self.learning, self.dollars()),
            sessions_read: self.learning.read,
            found_today: self.learning.found,
            failure: self.learning.failure.as_ref().map(|(_, text)| text.clone()),
            ready: ready.map(|ready| ready.iter().map(ready_model).collect()),
        }
    }

    /// Returns the rows of a table: who learns, what it took and found today, what waits.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let who = match (self.with(), self.config.learn.auto) {
            (None, _) => "by rules; no language model is chosen (`yore learn`)".to_owned(),
            (Some(model), _) if self.budget.off => format!("{model} is switched off (`yore learn --auto`)"),
            (Some(model), _) if self.budget.daily_tokens == 0 => format!("{model} has no limit yet (`yore learn --limit N`)"),
            (Some(model), true) => format!("{model} in the background, at most {} a day", limits_told(llm::limits(&self.config))),
            (Some(model), false) => format!("{model}, when it is asked for (`yore learn --auto`: in the background)"),
        };
        let mut rows = vec![vec!["learning".to_owned(), text::harmless(&who)]];
        if self.config.learn.in_session {
            rows.push(vec!["in session".to_owned(), "the agent is asked once, as its turn ends".to_owned()]);
        }
        let Learning { sessions, read, found, failure, .. } = &self.learning;
        if self.with().is_some() || self.spent.calls > 0 {
            let read = format!("{} read so far", text::counted(*read, "session"));
            let today = match self.spent.calls {
                0 => "no call today".to_owned(),
                _ => format!("today {} found by {}", text::counted(*found, "memory"), self.spent()),
            };
            rows.push(vec!["learned".to_owned(), format!("{read}; {today}")]);
        }
        if let Some((code, text)) = failure {
            rows.push(vec!["failed".to_owned(), format!("{} [{code}]", text::harmless(text))]);
        }
        if *sessions > 0 {
            let estimate = self.estimate().map(|estimate| format!(": {estimate}")).unwrap_or_default();
            rows.push(vec!["waiting".to_owned(), format!("{} for a model{estimate}", text::counted(*sessions, "session"))]);
        }
        rows
    }

    /// Returns what the calls of today took in words.
    fn spent(&self) -> String {
        let yore_engine::Spent { calls, input, output, cost_micro, is_estimated, .. } = self.spent;
        let about = if is_estimated { "about " } else { "" };
        let paid = if cost_micro > 0 { format!(", {} dollars", yore_engine::dollars(cost_micro)) } else { String::new() };
        let (calls, tokens) = (text::counted(calls, "call"), text::count(input + output));
        format!("{calls}, {about}{tokens} tokens{paid}")
    }

    /// Returns what reading the sessions takes that wait; none: it was not estimated, or nothing waits.
    pub fn estimate(&self) -> Option<String> {
        let Learning { calls, input, output, .. } = self.learning;
        if calls == 0 {
            return None;
        }
        let mut words = format!(
            "about {}, {} tokens read and {} written",
            text::counted(calls, "call"),
            text::count(rounded(input)),
            text::count(rounded(output))
        );
        if let Some(dollars) = self.dollars() {
            words.push_str(&format!(", {dollars:.2} dollars"));
        }
        let limits = llm::limits(&self.config);
        let days = |amount: u64, limit: u64| if limit > 0 { amount.div_ceil(limit) } else { 0 };
        let days = days(input + output, limits.tokens).max(days(calls, limits.calls));
        if days > 1 {
            words.push_str(&format!("; {} at {} a day", text::counted(days, "day"), limits_told(limits)));
        }
        Some(words)
    }
}

/// Rounds a number to two digits: it is an estimate.
pub fn rounded(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    number.div_ceil(unit) * unit
}
