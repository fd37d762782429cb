//! Everything that a query reads: store, indexes, models, clock and deadline.

use std::cell::RefCell;

use yore_core::memory::dynamics::Dynamics;
use yore_core::text::NamedPeriod;
use yore_core::time::UtcMillis;

use super::answer::Missing;
use super::cross_encoder::Judge;
use super::deadline::Deadline;
use crate::index::{LexicalState, SemanticIndex};
use crate::store::Store;

/// The store and indexes that a query searches, with its clock and deadline.
pub(crate) struct QueryContext<'a> {
    /// The store, with the text.
    pub store: &'a Store,
    /// The full-text index, as it was when the query began.
    pub lexical: LexicalState<'a>,
    /// The vector indexes; `None` if only full text is searched.
    pub semantic: Option<&'a SemanticIndex>,
    /// The present time.
    pub now: UtcMillis,
    /// The constants by which the state of memories changes their rank.
    pub dynamics: &'a Dynamics,
    /// The periods that the query names.
    pub periods: Vec<NamedPeriod>,
    /// The query's vector by the local model, in the full mode.
    pub model_vector: Option<Vec<f32>>,
    /// Returns the cross-encoder, loading it if need be.
    pub reranker: &'a dyn Fn() -> Option<Judge<'a>>,
    /// The reason why passages were not ranked by it.
    pub no_reranker: &'a RefCell<Option<Missing>>,
    /// The end of the time for the query.
    pub deadline: &'a Deadline,
}
