//! Conversations for browsing: summaries, and the exchanges of one conversation.

use yore_core::exchange::{Exchanges, TurnShape, exchanges};
use yore_core::time::UtcMillis;

use crate::store::{ConversationFilter, ConversationSummary, EpisodeKey, ProjectKey, Store, StoreResult};

/// Filter for listing conversations; an empty list matches any.
#[derive(Clone, Debug)]
pub struct ConversationsRequest {
    /// Maximum number of conversations, last used first.
    pub limit: usize,
    /// Only conversations last used at or after this time.
    pub since: Option<UtcMillis>,
    /// Only conversations begun before this time.
    pub until: Option<UtcMillis>,
    /// Only conversations with code blocks.
    pub has_code: bool,
    /// Names, ids or directories of projects.
    pub projects: Vec<String>,
    /// Source kinds, such as `claude-code`.
    pub agents: Vec<String>,
    /// Only conversations whose title or text contains this, ignoring case.
    pub text: Option<String>,
    /// Include side conversations.
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

/// Lists the conversations of a store; `projects` are the rows of the requested projects.
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

/// Normalises a search text for [`Store::conversation_says`]; `None` if it is blank.
pub(crate) fn looked_for(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_lowercase)
}

/// Returns the exchanges of a conversation.
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
