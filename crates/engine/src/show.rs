//! Shows a turn with the turns around it, or a whole session.

use yore_core::id::{EpisodeId, TurnId};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::ingest::write_archived;
use crate::store::ShownTurn;

/// Turn or session to show.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ShowRequest {
    /// Id, short id or native id of a turn or session, or an unambiguous beginning of one.
    pub id: String,
    /// Number of turns before and after, if the id names a turn.
    pub surroundings: usize,
}

/// A turn with its surroundings, or a whole episode.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ShowAnswer {
    /// Id of the episode.
    pub episode: EpisodeId,
    /// Turns of the episode, or those around the requested turn.
    pub turns: Vec<ShownTurn>,
    /// The requested turn.
    pub focus: Option<TurnId>,
    /// Number of turns of the episode before the first one shown, and after the last.
    pub hidden: (usize, usize),
}

impl Engine {
    /// Shows a turn with its surroundings, or a whole episode.
    pub fn show(&self, request: &ShowRequest) -> Result<ShowAnswer, EngineError> {
        let id = request.id.trim();
        let turns = self.store().turns_by_prefix(id, 9)?;
        let episodes = self.store().sessions_named(id, 9)?;
        match (turns.as_slice(), episodes.as_slice()) {
            ([row], []) => {
                let Some(focus) = self.store().shown_turns(&[*row])?.pop() else {
                    return Err(EngineError::UnknownId(id.to_owned()));
                };
                let all = self.store().episode_turns(focus.episode_row)?;
                let Some(at) = all.iter().position(|turn| turn.row == *row) else {
                    // An older version of a note, which is not in the list of its turns.
                    return Ok(ShowAnswer { episode: focus.episode, focus: Some(focus.id), turns: vec![focus], hidden: (0, 0) });
                };
                let first = at.saturating_sub(request.surroundings);
                let end = (at + request.surroundings + 1).min(all.len());
                let hidden = (first, all.len() - end);
                let turns = all.into_iter().skip(first).take(end - first).collect();
                Ok(ShowAnswer { episode: focus.episode, turns, focus: Some(focus.id), hidden })
            }
            ([], [(row, ..)]) => {
                let turns = self.store().episode_turns(*row)?;
                let Some(first) = turns.first() else { return Err(EngineError::UnknownId(id.to_owned())) };
                let episode = turns.iter().find(|turn| turn.episode_row == *row).unwrap_or(first).episode;
                Ok(ShowAnswer { episode, turns, focus: None, hidden: (0, 0) })
            }
            ([], []) => Err(EngineError::UnknownId(id.to_owned())),
            _ => {
                let mut candidates: Vec<String> =
                    episodes.into_iter().map(|(_, agent, native)| format!("session {native} ({agent})")).collect();
                candidates.extend(self.store().shown_turns(&turns)?.into_iter().map(|turn| format!("turn {}", turn.id)));
                Err(EngineError::AmbiguousId { id: id.to_owned(), candidates })
            }
        }
    }

    /// Writes the archived (redacted) transcripts of a session to `out`.
    pub fn write_original(&self, id: &str, out: &mut dyn std::io::Write) -> Result<(), EngineError> {
        let shown = self.show(&ShowRequest { id: id.to_owned(), surroundings: 0 })?;
        let files = self.store().files_of_episode(&shown.episode)?;
        for file in files {
            write_archived(self.store(), &file, out)?;
        }
        Ok(())
    }
}
