//! Rerankers on servers: score passages by their relevance to a question.

use std::time::Duration;

use super::ask::{Accounts, Usage};
use super::caller::{Backoff, Caller, most_tokens};
use super::error::LlmError;
use super::http::Connection;
use super::wire::{Protocol, RelevanceProtocol, body_of};

/// The furthest logit of a relevance: 0 and 1 have none.
const FURTHEST: f32 = 11.0;

/// A model on a server that tells how relevant passages are.
#[derive(Debug)]
pub struct ServerReranker {
    model: String,
    protocol: RelevanceProtocol,
    connection: Connection,
    caller: Caller,
}

impl ServerReranker {
    /// Makes a reranker of a model.
    pub fn new(model: impl Into<String>, protocol: RelevanceProtocol, connection: Connection) -> Self {
        let model = model.into();
        let caller = Caller::new(format!("{}/{model}", connection.server()));
        Self { model, protocol, connection, caller }
    }

    /// Returns the name of the model, with that of its server.
    pub fn name(&self) -> &str {
        &self.caller.name
    }

    /// Returns how well each passage answers a question, as logits, at the first try: somebody waits. `left`: how
    /// long; `None`: as long as usual.
    ///
    /// # Errors
    /// Every [`LlmError`].
    pub fn score(
        &self,
        question: &str,
        passages: &[String],
        left: Option<Duration>,
        accounts: &dyn Accounts,
    ) -> Result<Vec<f32>, LlmError> {
        if passages.is_empty() {
            return Ok(Vec::new());
        }
        // The question is read with each passage.
        let bytes = passages.iter().map(|passage| passage.len() + question.len()).sum();
        let most = most_tokens(bytes);
        if left.is_some() {
            self.caller.in_time()?;
        }
        let connection = self.connection.within(left);
        self.caller.call([most, 0], Backoff::ONCE, accounts, &mut || {
            let server = connection.server();
            let wrong = |reason: &str| LlmError::NotUnderstood { server: server.to_owned(), reason: reason.to_owned() };
            let encoded = self.protocol.encode(&self.model, question, passages);
            let key_header = |key: &str| Protocol::OpenAiChat.key_header(key);
            let body = body_of(server, &connection.send(encoded, &key_header, accounts)?)?;
            let (scores, tokens) = self.protocol.decode(&body, passages.len()).map_err(wrong)?;
            // Never less than half of the most, whatever the server reports.
            let input = tokens.map_or(most, |tokens| tokens.max(most / 2));
            let usage = Usage { input, output: 0, is_estimated: tokens.is_none() };
            // Some servers give logits: then all of them are.
            let are_logits = scores.iter().any(|score| !(0.0..=1.0).contains(score));
            Ok((scores.into_iter().map(|score| logit(score, are_logits)).collect(), usage))
        })
    }
}

/// Returns the logit of a score that is a probability, or a logit already.
fn logit(score: f32, is_logit: bool) -> f32 {
    let logit = if is_logit { score } else { (score / (1.0 - score)).ln() };
    logit.clamp(-FURTHEST, FURTHEST)
}

#[cfg(test)]
mod tests {
    use super::logit;

    #[test]
    fn relevance_is_a_logit_that_is_finite() {
        assert_eq!([0.0, 0.5, 1.0].map(|score| logit(score, false)), [-11.0, 0.0, 11.0]);
        assert!((logit(0.9, false) - 2.197).abs() < 1e-3);
        assert_eq!([0.9, -3.5, 40.0].map(|score| logit(score, true)), [0.9, -3.5, 11.0]);
    }
}
