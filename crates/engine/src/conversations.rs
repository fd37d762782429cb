//! Conversations as people browse them: summaries, and the exchanges of one (S1-022 to S1-027).

use yore_core::exchange::{Exchanges, TurnShape, exchanges};
use yore_core::time::UtcMillis;

use crate::store::{ConversationFilter, ConversationSummary, EpisodeKey, ProjectKey, Store, StoreResult};

/// Which conversations to list; an empty list means any.
#[derive(Clone, Debug)]
pub struct ConversationsRequest {
    /// At most so many, last used first.
    pub limit: usize,
    /// Last used not before (inclusive).
    pub since: Option<UtcMillis>,
    /// Begun before (exclusive).
    pub until: Option<UtcMillis>,
    /// Only those with code blocks.
    pub has_code: bool,
    /// Names, ids or directories of projects.
    pub projects: Vec<String>,
    /// Source kinds, such as `claude-code`.
    pub agents: Vec<String>,
    /// Only those whose title or words hold this, in whatever case.
    pub text: Option<String>,
    /// Side conversations too.
    pub with_subagents: bool,
}

impl Default for ConversationsRequest {
    fn default() -> Self {
        Self {
            limit: 20,
            since: None,
            until: None,
            has_code: false,
            projects: Vec::new(),
            agents: Vec::new(),
            text: None,
            with_subagents: false,
        }
    }
}

/// The conversations of a store; `projects` are the rows of those that were asked for.
pub(crate) fn list(
    store: &Store,
    request: &ConversationsRequest,
    projects: &[ProjectKey],
) -> StoreResult<Vec<ConversationSummary>> {
    let filter = ConversationFilter {
        projects,
        agents: &request.agents,
        since: request.since,
        until: request.until,
        has_code: request.has_code,
        with_subagents: request.with_subagents,
    };
    let text = looked_for(request.text.as_deref());
    let mut found = Vec::new();
    for row in store.conversation_rows(&filter)? {
        if found.len() >= request.limit {
            break;
        }
        if let Some(text) = &text
            && !store.conversation_says(row, text)?
        {
            continue;
        }
        found.extend(store.conversation(row)?);
    }
    Ok(found)
}

/// A piece of somebody's words as [`Store::conversation_says`] takes it; `None` for one that is blank.
pub(crate) fn looked_for(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_lowercase)
}

/// The exchanges of a conversation.
pub(crate) fn exchanges_of(store: &Store, episode: EpisodeKey) -> StoreResult<Exchanges> {
    let native_id = store.conversation(episode)?.map(|summary| summary.native_id).unwrap_or_default();
    let turns = store.episode_turns(episode)?;
    let shapes = store.recorded_shapes(&turns.iter().map(|turn| turn.row).collect::<Vec<_>>())?;
    let turns: Vec<TurnShape<'_>> = turns
        .iter()
        .zip(&shapes)
        .map(|(turn, shape)| TurnShape {
            id: turn.id,
            native_id: &turn.native_message,
            role: turn.role,
            text: &turn.text,
            tool_text: &turn.tool_text,
            is_error: turn.is_error,
            at: turn.time.utc,
            tools: &shape.tools,
            files: &shape.files,
        })
        .collect();
    Ok(exchanges(&native_id, &turns))
}
