//! Forgets sessions, notes and memories, softly or for good.

use yore_core::operation::Cause;

use crate::engine::Engine;
use crate::error::{EngineError, MemoryError};
use crate::ingest::ForgetTarget;
use crate::ingest::source::note;
use crate::store::{EpisodeKey, Forgotten};

/// Session, note or memory to forget.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ForgetRequest {
    /// Id, short id, native id or unambiguous beginning of a session or note; for a note also the id of its
    /// text. Or the id of a memory.
    pub session: String,
    /// Remove it permanently: from the archive, the index and the backups.
    pub is_hard: bool,
    /// Only report what would be removed.
    pub is_dry_run: bool,
    /// Undo a soft forgetting.
    pub restore: bool,
    /// Keep the session from coming back from its source (hard only).
    pub keep_tombstones: bool,
}

impl Engine {
    /// Forgets a session with its side conversations, a note, or a memory. A memory is archived softly, as an operation.
    pub fn forget(&self, request: &ForgetRequest) -> Result<Forgotten, EngineError> {
        let id = request.session.trim();
        let mut found = self.store().episodes_by_prefix(id, true, 9)?;
        if found.first().is_none_or(|(_, _, native)| native != id) {
            for note in self.store().notes(9, |note| note.is_known_as(id))? {
                if found.iter().all(|(row, ..)| *row != note.row) {
                    found.push((note.row, note::KIND.to_owned(), note.native_id));
                }
            }
        }
        let sessions: Vec<&(EpisodeKey, String, String)> = if found.len() > 1 {
            found.iter().filter(|(_, _, native)| !native.contains("/agent-") && !native.ends_with("/sidechain")).collect()
        } else {
            found.iter().collect()
        };
        let (row, agent, native) = match sessions.as_slice() {
            [] if request.is_hard && self.reader()?.is_buried(request.session.trim())? => {
                // It is already removed; this finishes what a killed process may have left undone.
                return self.finish_forgetting(Forgotten { is_hard: true, ..Forgotten::default() }, request.is_dry_run);
            }
            [] => {
                return self.forget_memory(request)?.ok_or_else(|| EngineError::UnknownSession(request.session.clone()));
            }
            [only] => (only.0, only.1.clone(), only.2.clone()),
            several => {
                return Err(EngineError::AmbiguousId {
                    id: request.session.clone(),
                    candidates: several.iter().map(|(_, _, native)| native.clone()).collect(),
                });
            }
        };
        if let Some((_, Some(parent))) = self.store().episode_kind(row)? {
            return Err(EngineError::NotASession { id: request.session.clone(), session: parent });
        }
        let (mut episodes, mut native_ids) = (vec![row], vec![native.clone()]);
        for (row, native_id) in self.store().descendants(row)? {
            episodes.push(row);
            native_ids.push(native_id);
        }
        let (memories, memories_kept) = self.store().memories_resting_on(&episodes)?;
        let outcome = Forgotten {
            episodes: native_ids.clone(),
            turns: self.store().count_turns(&episodes)?,
            backups: if request.is_hard { self.store().backups() } else { Vec::new() },
            is_hard: request.is_hard,
            memories,
            memories_kept,
            ..Forgotten::default()
        };
        if request.is_dry_run {
            return Ok(outcome);
        }
        let now = self.now();
        if !request.is_hard {
            self.store().set_forgotten(&episodes, (!request.restore).then_some(now))?;
            self.sync_index(2_000, &mut |_| {})?;
            return Ok(outcome);
        }
        let target =
            ForgetTarget { agent, native_session: native, episodes, native_ids, keep_tombstones: request.keep_tombstones };
        let outcome = Forgotten { memories, memories_kept, ..self.reader()?.forget(&target, now)? };
        self.finish_forgetting(outcome, false)
    }

    /// Forgets the memory with an id; `None` if there is none.
    fn forget_memory(&self, request: &ForgetRequest) -> Result<Option<Forgotten>, EngineError> {
        let stored = match self.memory(request.session.trim()) {
            Ok(stored) => stored,
            Err(EngineError::Memory(MemoryError::Unknown(_))) => return Ok(None),
            Err(error) => return Err(error),
        };
        let id = stored.memory.id;
        let outcome = Forgotten { memories: 1, is_hard: request.is_hard, ..Forgotten::default() };
        if request.is_dry_run {
            let backups = if request.is_hard { self.store().backups() } else { Vec::new() };
            return Ok(Some(Forgotten { backups, ..outcome }));
        }
        if !request.is_hard {
            let cause = Cause { by: "forget".to_owned(), ..Cause::default() };
            self.archive_memory(&id.to_string(), !request.restore, &cause)?;
            self.sync_index(2_000, &mut |_| {})?;
            return Ok(Some(outcome));
        }
        // The backups go first: as long as the record is there, a killed command can be repeated.
        let backups = self.store().purge_backups()?;
        self.store().forget_memory(id, self.now())?;
        self.finish_forgetting(Forgotten { backups, ..outcome }, false).map(Some)
    }

    /// Does the last steps of a hard forgetting: the index, the backups, the log.
    fn finish_forgetting(&self, mut outcome: Forgotten, is_dry_run: bool) -> Result<Forgotten, EngineError> {
        if !is_dry_run {
            outcome.backups.extend(self.finish_removal()?);
        }
        Ok(outcome)
    }
}
