//! Finds out which condition of a filter kept from an answer what the question alone finds.

use yore_core::query::{Filter, Wanted};
use yore_core::strength::Strength;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{RecallAnswer, RecallRequest, Withheld};

/// Most results that are counted.
const COUNTED: usize = 100;

impl Engine {
    /// Returns the answer to a request that is refused, as it is without a refusal: if the question alone is not refused, a filter or a
    /// wording made it look unlikely.
    pub(super) fn unrefused(&self, request: &RecallRequest) -> Result<Option<RecallAnswer>, EngineError> {
        let is_narrowed = !request.wordings.is_empty() || !conditions(&request.filter).is_empty();
        if !is_narrowed || request.min_confidence.is_some() {
            return Ok(None);
        }
        let alone = RecallRequest { wordings: Vec::new(), filter: unfiltered(&request.filter), ..counting(request) };
        if self.recall(&alone)?.hits.is_empty() {
            return Ok(None);
        }
        let answer = self.recall(&RecallRequest { min_confidence: Some(0.0), ..request.clone() })?;
        Ok(Some(answer).filter(|answer| !answer.hits.is_empty()))
    }

    /// Returns the conditions of a filter that let nothing through, with the number of results without each; if no condition alone does,
    /// all of them.
    pub(super) fn withheld(&self, request: &RecallRequest) -> Result<Vec<Withheld>, EngineError> {
        let conditions = conditions(&request.filter);
        let names: Vec<String> = conditions.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut found = Vec::new();
        for (name, filter) in conditions {
            let count = self.likely(&RecallRequest { filter, ..counting(request) })?;
            found.extend((count > 0).then(|| Withheld { filters: vec![name.to_owned()], count }));
        }
        if found.is_empty() && names.len() > 1 {
            let filter = unfiltered(&request.filter);
            let count = self.likely(&RecallRequest { filter, ..counting(request) })?;
            found.extend((count > 0).then_some(Withheld { filters: names, count }));
        }
        Ok(found)
    }

    /// Returns the number of results that bear on a question: something is always near in meaning.
    fn likely(&self, request: &RecallRequest) -> Result<usize, EngineError> {
        let hits = self.recall(request)?.hits;
        Ok(hits.iter().filter(|hit| Strength::of(hit.confidence) != Strength::Weak).count())
    }
}

/// Returns a request that only counts results.
fn counting(request: &RecallRequest) -> RecallRequest {
    RecallRequest {
        limit: COUNTED,
        packing: None,
        quote_chars: 0,
        with_files: false,
        with_work: false,
        with_topics: false,
        ..request.clone()
    }
}

/// Returns a filter for the same projects.
fn unfiltered(filter: &Filter) -> Filter {
    Filter { scope: filter.scope.clone(), ..Filter::default() }
}

/// Returns each condition of a filter beside the projects, with the filter without it.
fn conditions(filter: &Filter) -> Vec<(&'static str, Filter)> {
    let removed = |name: &'static str, remove: &dyn Fn(&mut Filter)| {
        let mut without = filter.clone();
        remove(&mut without);
        (without != *filter).then_some((name, without))
    };
    let memories = |filter: &mut Filter| {
        if filter.wanted == Wanted::Memories {
            filter.wanted = Wanted::Both;
        }
        filter.memories.kinds.clear();
        filter.memories.statuses.clear();
        filter.memories.tags.clear();
        filter.memories.entities.clear();
    };
    [
        removed("kind", &|filter| filter.kinds.clear()),
        removed("role", &|filter| filter.roles.clear()),
        removed("session", &|filter| filter.sessions.clear()),
        removed("agent", &|filter| filter.agents.clear()),
        removed("branch", &|filter| filter.branches.clear()),
        removed("file", &|filter| filter.files.clear()),
        removed("language", &|filter| filter.languages.clear()),
        removed("errors", &|filter| filter.only_errors = false),
        removed("code", &|filter| filter.has_code = false),
        removed("since", &|filter| filter.since = None),
        removed("until", &|filter| filter.until = None),
        removed("as_of", &|filter| filter.as_of = None),
        removed("valid_at", &|filter| filter.memories.valid_at = None),
        removed("memories", &memories),
        removed("turns", &|filter| filter.wanted = if filter.wanted == Wanted::Turns { Wanted::Both } else { filter.wanted }),
    ]
    .into_iter()
    .flatten()
    .collect()
}
