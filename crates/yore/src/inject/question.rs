//! The question to the engine that a prompt, a file or an error asks unasked.

use yore_core::query::{Filter, SearchMode};
use yore_engine::{SuggestRequest, Trigger};

use super::plan::Allowance;
use super::text;

/// Characters quoted from each memory.
const QUOTE_CHARS: usize = 300;

/// Builds the request for a trigger as hooks ask it.
pub fn suggest_request(trigger: Trigger, allowance: Allowance) -> SuggestRequest {
    SuggestRequest {
        trigger,
        here: None,
        filter: Filter::default(),
        session: None,
        given: Vec::new(),
        is_later: false,
        is_compacted: false,
        limit: allowance.items,
        quote_chars: QUOTE_CHARS,
        packing: text::packing(allowance.tokens),
        floor: allowance.floor,
        // The local model would take longer than a prompt may wait.
        mode: SearchMode::Static,
    }
}
