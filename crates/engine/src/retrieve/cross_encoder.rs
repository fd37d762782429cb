//! The cross-encoder that scores question and passage together, on this computer or on a server.

use std::sync::Arc;

use super::deadline::{Deadline, LatePart};
use crate::budget::Ledger;
use crate::embed::Reranker;
use crate::error::EngineError;
use crate::llm::ServerReranker;

/// A model that reads question and passage together.
pub(crate) enum Judge<'a> {
    /// One on this computer.
    Local(Arc<Reranker>),
    /// One on a server, with its accounts.
    Server(Arc<ServerReranker>, Ledger<'a>),
}

impl Judge<'_> {
    /// Returns how well each passage answers a question, as logits; `None` if time is over. `tokens`: most tokens of
    /// question and passage that a model on this computer reads.
    ///
    /// # Errors
    /// The model fails, or may not be asked.
    pub(super) fn logits(
        &self,
        question: &str,
        passages: &[String],
        tokens: usize,
        deadline: &Deadline,
    ) -> Result<Option<Vec<f32>>, EngineError> {
        let more = || deadline.allows(LatePart::Rerank);
        match self {
            Self::Local(model) => {
                passages.iter().map(|passage| Ok(more().then(|| model.score(question, passage, tokens)).transpose()?)).collect()
            }
            Self::Server(model, accounts) => {
                Ok(Some(model.score(question, passages, deadline.left(), accounts)?).filter(|_| more()))
            }
        }
    }
}
