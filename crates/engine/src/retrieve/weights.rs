//! Chooses the lists of a query and their weights: words against meaning.

use yore_core::query::{List, SearchMode};
use yore_core::text::Question;

use super::{QueryContext, RecallRequest};
use crate::error::EngineError;

/// Factor for the weight of meaning if the query is a pasted error message: such a message is found by its
/// words.
const ERROR_MEANING: f32 = 0.5;

/// A list to search, with its weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlannedList {
    pub list: List,
    pub weights: Weights,
}

/// Weights of a list's heights, by the kind of item that it proposes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weights {
    /// A turn of a conversation.
    pub conversation: f32,
    /// A passage of a document.
    pub document: f32,
}

impl PlannedList {
    /// Returns a list that proposes candidates and adds nothing to their scores.
    pub(super) fn unweighted(list: List) -> Self {
        Self { list, weights: Weights::both(0.0) }
    }
}

impl Weights {
    fn both(weight: f32) -> Self {
        Self { conversation: weight, document: weight }
    }

    /// Weights tuned on all development sets together (`docs/measurements.md`, "Lists and their weights").
    fn tuned(list: List, mode: SearchMode) -> Self {
        match (list, mode) {
            (List::Words, SearchMode::Full) => Self { conversation: 1.0, document: 0.5 },
            (List::Words, _) => Self::both(1.0),
            (List::Static, _) => Self::both(0.45),
            (List::Model, _) => Self { conversation: 1.2, document: 1.75 },
            (List::Period | List::Links | List::Graph | List::Other, _) => Self::both(0.0),
        }
    }

    fn times(self, factor: f32) -> Self {
        Self { conversation: self.conversation * factor, document: self.document * factor }
    }
}

/// Returns the lists to search, in this order, with their weights. `has_meaning`: the query has a word that the
/// models know.
pub(super) fn planned_lists(
    context: &QueryContext<'_>,
    mode: SearchMode,
    has_meaning: bool,
    question: &Question,
    request: &RecallRequest,
) -> Result<Vec<PlannedList>, EngineError> {
    let mut lists = vec![List::Words];
    if let Some(semantic) = context.semantic.filter(|_| has_meaning) {
        if context.model_vector.is_some() {
            lists.push(List::Model);
        }
        // The static table finds turns that the local model has not embedded yet.
        if context.model_vector.is_none() || semantic.lacks_model_vectors(context.store)? {
            lists.push(List::Static);
        }
    }
    Ok(lists.into_iter().map(|list| PlannedList { list, weights: weights(list, mode, question, request) }).collect())
}

fn weights(list: List, mode: SearchMode, question: &Question, request: &RecallRequest) -> Weights {
    let tuned = Weights::tuned(list, mode);
    match list {
        List::Words if !request.is_worded => Weights::both(0.0),
        List::Static | List::Model => match request.tuning.meaning_weight {
            Some(weight) => Weights::both(weight),
            None if question.is_error_message => tuned.times(ERROR_MEANING),
            None => tuned,
        },
        List::Words | List::Period | List::Links | List::Graph | List::Other => tuned,
    }
}
