//! The table of lists that recall searches: full text, static table, local model, named period. To add a list, add a function and
//! a row here, a [`List`], and in [`super::weights`] its weight and the condition for searching it.

use yore_core::query::{List, Part};

use super::candidate::Proposal;
use super::plan::Plan;
use super::{QueryContext, period};
use crate::error::EngineError;
use crate::index::SearchOptions;

/// A list, and the parameters that put its scores on the common scale ([`yore_core::rank::heights`]).
pub(super) struct ListRow {
    pub list: List,
    /// The part of a score that it counts towards.
    pub part: Part,
    /// Score of an item that the list does not propose, if known.
    pub absent: Option<f32>,
    /// Scores closer together than this count as nearly equal.
    pub spread: f32,
    /// Scores below this are ignored.
    pub floor: f32,
    /// Proposes at most [`Plan::depth`] candidates, best first.
    pub propose: fn(&QueryContext<'_>, &Plan<'_>) -> Result<Vec<Proposal>, EngineError>,
}

const COSINE_SPREAD: f32 = 0.015;

static LISTS: [ListRow; 4] = [
    ListRow { list: List::Words, part: Part::Text, absent: Some(0.0), spread: 0.5, floor: f32::MIN, propose: by_words },
    ListRow {
        list: List::Static,
        part: Part::Meaning,
        absent: None,
        spread: COSINE_SPREAD,
        // The nearest turns of queries without an answer in a memory score around this value. The local
        // model's cosines have no such threshold.
        floor: 0.25,
        propose: by_static_table,
    },
    ListRow {
        list: List::Model,
        part: Part::Meaning,
        absent: None,
        spread: COSINE_SPREAD,
        floor: f32::MIN,
        propose: by_local_model,
    },
    ListRow { list: List::Period, part: Part::Period, absent: Some(0.0), spread: 1.0, floor: f32::MIN, propose: period::propose },
];

/// Returns the row of a list.
pub(super) fn row_of(list: List) -> Option<&'static ListRow> {
    LISTS.iter().find(|row| row.list == list)
}

fn by_words(context: &QueryContext<'_>, plan: &Plan<'_>) -> Result<Vec<Proposal>, EngineError> {
    let options = SearchOptions { limit: plan.depth, tool_weight: plan.tool_weight };
    let hits = context.lexical.search(context.store, &plan.question, &plan.filter, &options)?;
    Ok(hits.into_iter().map(Proposal::from).collect())
}

fn by_local_model(context: &QueryContext<'_>, plan: &Plan<'_>) -> Result<Vec<Proposal>, EngineError> {
    let (Some(semantic), Some(vector)) = (context.semantic, &context.model_vector) else { return Ok(Vec::new()) };
    let hits = semantic.search_model(context.store, vector, &plan.filter, plan.depth)?;
    Ok(hits.into_iter().map(Proposal::from).collect())
}

fn by_static_table(context: &QueryContext<'_>, plan: &Plan<'_>) -> Result<Vec<Proposal>, EngineError> {
    let Some(semantic) = context.semantic else { return Ok(Vec::new()) };
    let mut hits = semantic.search_static(context.store, &plan.text, &plan.filter, plan.depth)?;
    if context.model_vector.is_some() {
        hits.retain(|hit| !semantic.has_model_vector(hit.key));
    }
    Ok(hits.into_iter().map(Proposal::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_a_row() {
        for list in List::ALL.iter().filter(|list| !matches!(list, List::Links | List::Graph)) {
            assert!(row_of(*list).is_some(), "{list:?}");
        }
    }
}
