//! Decides whether a later prompt of a session is about something else than what was said in the session before.

use yore_core::episode::Role;
use yore_core::vector::dot;

use super::suggestion::SuggestRequest;
use crate::Engine;
use crate::embed::StaticTable;
use crate::error::EngineError;
use crate::retrieve::keep_own_words;
use crate::store::{SessionFilter, SessionOrder, ShownTurn, Turns};

/// Last turns of the person, and of the agent, that a prompt is compared with.
const ASKED: usize = 6;
const SAID: usize = 3;
/// Cosine with one of them, by the static table, from which a prompt goes on with it (`docs/measurements.md`, "What is given unasked").
const SAME: f32 = 0.3;

/// Returns whether a prompt is about something else than the session that asks. Of a session that the memory does not know yet nothing
/// can be said: its prompt counts as going on.
pub(super) fn is_new_subject(engine: &Engine, request: &SuggestRequest, prompt: &str) -> Result<bool, EngineError> {
    let store = engine.store();
    let Some(native_id) = request.session.as_deref() else { return Ok(false) };
    let filter = SessionFilter { native_id: Some(native_id), ..SessionFilter::default() };
    let (session, vector) = (store.sessions(&filter, SessionOrder::Recent, 1)?.pop(), StaticTable::vector_of(prompt));
    let Some((session, vector)) = session.zip(vector) else { return Ok(false) };
    let last = |role: Role, most: usize| -> Result<Vec<ShownTurn>, EngineError> {
        let Some(as_of) = request.filter.as_of else { return Ok(store.turns(Turns::LastOf(session.row, role, most))?) };
        let mut turns = store.turns(Turns::OfEpisode(session.row))?;
        turns.retain(|turn| turn.role == role && turn.time.utc.is_some_and(|at| at < as_of));
        Ok(turns.into_iter().rev().take(most).collect())
    };
    let mut said = [last(Role::Human, ASKED)?, last(Role::Assistant, SAID)?].concat();
    said.iter_mut().for_each(keep_own_words);
    // The prompt itself may have been read already.
    let said = said.iter().filter(|turn| turn.text.trim() != prompt.trim());
    let mut is_known = false;
    for vector_before in said.filter_map(|turn| StaticTable::vector_of(&turn.text)) {
        is_known = true;
        if dot(&vector, &vector_before) >= SAME {
            return Ok(false);
        }
    }
    Ok(is_known)
}
