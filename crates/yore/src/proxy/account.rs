//! Reckons what additions take: tokens and cents of each session, by what providers bill for writes to and reads from a cache.
//!
//! A request without additions has the same cached beginning as one with them, because added texts stay the same at their places. So
//! the difference is the added tokens alone: at the price of a write when they are new, at that of a read when the beginning they
//! stand in was read from the cache, at the full price else. Factors by the providers' price lists (November 2026).

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use yore_proxy::{Addition, Answer, Asked, Protocol};

use crate::inject::budget::tokens;
use crate::results::{ProxiedSession, ProxyFailure};

/// Most sessions that are kept: the latest ones.
const MOST: usize = 200;
/// Price of a token that is written to a provider's cache, as a part of the price of one that is not.
const WRITE: f64 = 1.25;
/// Price of a token that is read from a cache.
const READ: f64 = 0.1;
/// The same of Gemini.
const READ_OF_GEMINI: f64 = 0.25;

#[derive(Default)]
struct State {
    sessions: HashMap<String, ProxiedSession>,
    /// The texts of each session that were added before.
    known: HashMap<String, Vec<String>>,
    order: VecDeque<String>,
    failure: Option<ProxyFailure>,
    late: u64,
}

/// The accounts of the sessions since the daemon began.
#[derive(Default)]
pub struct Account(Mutex<State>);

impl Account {
    /// Books an exchange. `price`: that of a million tokens of prompts to a model in dollars, if it is known.
    pub fn book(&self, session: &str, asked: &Asked, added: &[Addition], answer: &Answer, price: impl Fn(&str) -> Option<f64>) {
        let mut state = self.state();
        let state = &mut *state;
        if !state.sessions.contains_key(session) {
            state.order.push_back(session.to_owned());
            if state.order.len() > MOST
                && let Some(oldest) = state.order.pop_front()
            {
                state.sessions.remove(&oldest);
                state.known.remove(&oldest);
            }
        }
        let booked = state.sessions.entry(session.to_owned()).or_default();
        let known = state.known.entry(session.to_owned()).or_default();
        booked.session = session.to_owned();
        booked.requests += 1;
        booked.input_tokens += answer.usage.input;
        booked.cached_tokens += answer.usage.cached;
        let is_cached = answer.usage.cached > 0;
        let read = if asked.protocol == Protocol::Gemini { READ_OF_GEMINI } else { READ };
        let mut weighed = 0.0;
        for addition in added {
            let tokens = tokens(&addition.text) as u64;
            let is_new = !known.contains(&addition.text);
            if is_new {
                known.push(addition.text.clone());
                booked.added_tokens += tokens;
            } else {
                booked.repeated_tokens += tokens;
            }
            let factor = match (is_new, is_cached) {
                (true, _) if answer.usage.written > 0 => WRITE,
                (false, true) => read,
                _ => 1.0,
            };
            weighed += tokens as f64 * factor;
        }
        booked.weighed_tokens += weighed;
        if let Some(price) = answer.model.as_deref().and_then(price) {
            *booked.cents.get_or_insert(0.0) += weighed * price / 10_000.0;
        }
    }

    /// Notes that an exchange could not be archived.
    pub fn archive_failed(&self, reason: &str) {
        let failure = &mut self.state().failure;
        let times = failure.as_ref().map_or(0, |failure| failure.times) + 1;
        *failure = Some(ProxyFailure { times, last: reason.to_owned() });
    }

    /// Notes that a prompt got nothing because the memory took too long.
    pub fn was_late(&self) {
        self.state().late += 1;
    }

    /// Returns how many prompts got nothing because the memory took too long.
    pub fn late(&self) -> u64 {
        self.state().late
    }

    /// Returns the sessions, the latest first, and what went wrong.
    pub fn told(&self) -> (Vec<ProxiedSession>, Option<ProxyFailure>) {
        let state = self.state();
        let sessions = state.order.iter().rev().filter_map(|session| state.sessions.get(session).cloned()).collect();
        (sessions, state.failure.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use yore_proxy::{Part, Place, Route, Usage};

    use super::*;

    fn asked(protocol: Protocol) -> Asked {
        let route = Route { upstream: "x".into(), directory: None, agent: None, memory: None, rest: String::new() };
        Asked { route, protocol, method: "POST".into(), user_agent: None, session_headers: Vec::new() }
    }

    fn answer(cached: u64, written: u64) -> Answer {
        let usage = Usage { input: 1_000, cached, written, output: 5 };
        Answer { parts: vec![Part::Text("yes".into())], model: Some("m".into()), id: None, usage, is_whole: true }
    }

    #[test]
    fn an_addition_costs_a_write_when_it_is_new_and_a_read_as_long_as_the_cache_holds() {
        let account = Account::default();
        let added = [Addition { place: Place::Message(0), text: "word ".repeat(400) }];
        let tokens = tokens(&added[0].text) as f64;
        let price = |model: &str| (model == "m").then_some(3.0);
        account.book("s", &asked(Protocol::Anthropic), &added, &answer(0, 900), price);
        account.book("s", &asked(Protocol::Anthropic), &added, &answer(900, 20), price);
        account.book("s", &asked(Protocol::Anthropic), &added, &answer(0, 900), price);
        let (sessions, failure) = account.told();
        let session = &sessions[0];
        assert_eq!((session.requests, session.input_tokens, session.cached_tokens, failure), (3, 3_000, 900, None));
        assert_eq!((session.added_tokens as f64, session.repeated_tokens as f64), (tokens, 2.0 * tokens));
        let weighed = tokens * (WRITE + READ + 1.0);
        assert!((session.weighed_tokens - weighed).abs() < 1e-6, "{session:?}");
        assert!(
            (session.cents.unwrap() - weighed * 3.0 / 10_000.0).abs() < 1e-9,
            "three dollars for a million tokens: {session:?}"
        );
        account.book("t", &asked(Protocol::OpenAiChat), &[], &answer(0, 0), |_| None);
        let (sessions, _) = account.told();
        assert_eq!((sessions[0].session.as_str(), sessions[0].weighed_tokens, sessions[0].cents), ("t", 0.0, None));
    }
}
