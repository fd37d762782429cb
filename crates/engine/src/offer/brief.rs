//! Where things stand: standing notes, what was last worked on and where it stopped, other notes.

use yore_core::episode::{EpisodeKind, Role};
use yore_core::scope::ScopeChoice;

use super::{Brief, BriefRequest, Said, Worked};
use crate::notes::{NotesRequest, STANDING};
use crate::retrieve::project_here;
use crate::store::{EpisodeSummary, SessionOrder, ShownTurn, Store};
use crate::{Engine, EngineError};

/// Sessions that are told of.
const SESSIONS: usize = 4;
/// Episodes that are looked at for them: documents and the asking session are passed over.
const LOOKED_AT: usize = 60;
/// Notes that are told of, standing ones apart.
const NOTES: usize = 12;
/// Requests of a session.
const ASKED: usize = 3;
/// Requests of a session that lost its own memory.
const ASKED_AGAIN: usize = 12;
/// Of a session's human turns as many are looked at: many only say "yes, go on".
const TURNS: usize = 24;
/// Files of a session.
const FILES: usize = 8;
/// A request has more words than this, or it says nothing by itself.
const FEW_WORDS: usize = 3;

pub(super) fn brief(engine: &Engine, request: &BriefRequest) -> Result<Brief, EngineError> {
    let store = engine.store();
    let project = match &request.here {
        Some(here) => project_here(store, here)?,
        None => None,
    };
    let notes =
        NotesRequest { here: request.here.clone(), scope: ScopeChoice::CurrentOnly, tags: Vec::new(), title: None, limit: NOTES };
    let standing = engine.notes(&NotesRequest { tags: vec![STANDING.to_owned()], ..notes.clone() })?;
    let mut others = engine.notes(&notes)?;
    others.retain(|note| !standing.iter().any(|known| known.episode == note.episode));
    let mut brief = Brief { standing, notes: others, ..Brief::default() };
    if request.is_compacted
        && let Some(session) = &request.session
    {
        brief.own = own(store, session)?;
    }
    let Some(project) = project else { return Ok(brief) };
    brief.project = store.project_names()?.into_iter().find(|(row, ..)| *row == project).map(|(_, _, name)| name);
    for episode in store.episodes(&[project], false, false, SessionOrder::Recent, LOOKED_AT)? {
        if brief.sessions.len() == SESSIONS {
            break;
        }
        let is_other = request.session.as_deref() != Some(episode.native_id.as_str());
        if episode.kind == EpisodeKind::Session && is_other && episode.updated.is_some() {
            let worked = worked(store, episode, ASKED)?;
            // A session that nobody spoke in has nothing to go on with.
            brief.sessions.extend(Some(worked).filter(|worked| !worked.asked.is_empty()));
        }
    }
    Ok(brief)
}

/// The session with this native id. It speaks just now, so it is among the latest.
fn own(store: &Store, session: &str) -> Result<Option<Worked>, EngineError> {
    let recent = store.episodes(&[], false, false, SessionOrder::Recent, LOOKED_AT)?;
    let Some(summary) = recent.into_iter().find(|episode| episode.native_id == session) else { return Ok(None) };
    let worked = worked(store, summary, ASKED_AGAIN)?;
    Ok(Some(worked).filter(|worked| !worked.asked.is_empty()))
}

fn worked(store: &Store, session: EpisodeSummary, most: usize) -> Result<Worked, EngineError> {
    let said = |turn: ShownTurn| Said { turn: turn.id, text: turn.text };
    let spoken = store.last_spoken(session.row, Role::Human, TURNS)?;
    let says_something = |turn: &&ShownTurn| turn.text.split_whitespace().nth(FEW_WORDS).is_some();
    let mut asked: Vec<ShownTurn> = spoken.iter().filter(says_something).take(most).cloned().collect();
    if asked.is_empty() {
        asked = spoken.into_iter().take(1).collect();
    }
    asked.reverse();
    let stopped = store.last_spoken(session.row, Role::Assistant, 3)?.into_iter().find(|turn| !turn.text.trim().is_empty());
    let mut files = store.conversation(session.row)?.map(|summary| summary.files).unwrap_or_default();
    files.truncate(FILES);
    Ok(Worked { session, asked: asked.into_iter().map(said).collect(), stopped: stopped.map(said), files })
}
