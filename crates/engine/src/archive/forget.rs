//! Forgets sessions, notes and memories: selects them, hides them softly, or starts the permanent deletion.

use std::collections::HashSet;

use yore_core::episode::EpisodeKind;
use yore_core::id::{EpisodeId, MemoryId, ProjectId};
use yore_core::memory::{Memory, Status};
use yore_core::operation::Cause;
use yore_core::time::UtcMillis;

use crate::archive::sessions::SessionsRequest;
use crate::engine::Engine;
use crate::error::{EngineError, MemoryError};
use crate::ingest::{ForgetTarget, IngestError};
use crate::memories::{FEWEST_DIGITS, FORGET};
use crate::platform::{self, FileLock};
use crate::store::{
    EntityNames, EpisodeKey, Episodes, Forgotten, ForgottenSessions, Memories, MemoryFilter, SelectedItem, StoreError, TurnCount,
    Versions,
};
use yore_sources::source::{note, source_named};

/// Name of the state that says that a hard forgetting began and was not finished.
const OWED: &str = "forgetting";
/// Most side conversations that are nested in each other.
const MOST_PARENTS: usize = 32;

/// Conditions that everything that is to be forgotten meets; `None` or an empty list restricts nothing.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct ForgetSelection {
    /// Names, ids or directories of projects.
    pub projects: Vec<String>,
    /// Source kinds, such as `claude-code`. Memories have none: with a source, only those go that rest on its
    /// sessions alone.
    pub agents: Vec<String>,
    /// Sessions in which something was said, and memories recorded, at this time or later.
    pub since: Option<UtcMillis>,
    /// Sessions in which something was said, and memories recorded, before this time; with `since`, between both.
    pub until: Option<UtcMillis>,
    /// Words that stand in the title of a session, in a message, in what a tool got or gave, in any version of a note, or
    /// in a memory, ignoring case.
    pub text: Option<String>,
    /// Remove it permanently: from the archive, the index and the backups.
    pub is_hard: bool,
    /// Only report what would be removed.
    pub is_dry_run: bool,
    /// Undo a soft forgetting; memories that it put away hold again.
    pub restore: bool,
    /// Keep the sessions from coming back from their source (hard only).
    pub keep_tombstones: bool,
}

impl ForgetSelection {
    /// Returns whether there is no condition, or a blank one: an empty variable in a script must not widen it.
    fn is_everything(&self) -> bool {
        let is_blank = |text: &String| text.trim().is_empty();
        let has_blank = self.text.iter().chain(&self.projects).chain(&self.agents).any(is_blank);
        let has_none = self.projects.is_empty() && self.agents.is_empty() && self.text.is_none();
        has_blank || has_none && self.since.is_none() && self.until.is_none()
    }
}

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
        if !request.is_hard || request.is_dry_run {
            return self.forget_named(request);
        }
        self.alone(|| self.forget_named(request))
    }

    /// Returns those of some memories that were forgotten for good.
    pub fn forgotten_memories(&self, ids: &[MemoryId]) -> Result<Vec<MemoryId>, EngineError> {
        let ingester = self.ingester()?;
        Ok(ids.iter().copied().filter(|id| ingester.is_memory_buried(*id)).collect())
    }

    fn forget_named(&self, request: &ForgetRequest) -> Result<Forgotten, EngineError> {
        let id = request.session.trim();
        let mut found: Vec<(EpisodeKey, String, String)> = self
            .store()
            .episodes(&Episodes::Beginning(id, 9))?
            .into_iter()
            .map(|known| (known.key, known.agent, known.native_id))
            .collect();
        if found.first().is_none_or(|(_, _, native)| native != id) {
            for note in self.store().notes(Versions::Newest, 9, |note| note.is_known_as(id))? {
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
            [] if request.is_hard && self.ingester()?.is_buried(request.session.trim())? => {
                // It is already removed; this finishes what a killed process may have left undone.
                return self.finish_forgetting(Forgotten { is_hard: true, ..Forgotten::default() }, request.is_dry_run);
            }
            [] => {
                return self.forget_memory(request)?.ok_or_else(|| EngineError::UnknownSession(request.session.clone()));
            }
            [only] => {
                // A memory that begins in the same way may be meant as well.
                if let Some(memory) = self.memory_of_id(id)?.filter(|_| only.2 != id) {
                    let candidates = vec![only.2.clone(), memory.to_string()];
                    return Err(EngineError::AmbiguousId { id: request.session.clone(), candidates });
                }
                (only.0, only.1.clone(), only.2.clone())
            }
            several => {
                return Err(EngineError::AmbiguousId {
                    id: request.session.clone(),
                    candidates: several.iter().map(|(_, _, native)| native.clone()).collect(),
                });
            }
        };
        if let Some(parent) = self.parent_of(row)? {
            return Err(EngineError::NotASession { id: request.session.clone(), session: parent });
        }
        let mut target = ForgetTarget { agent, keep_tombstones: request.keep_tombstones, ..ForgetTarget::default() };
        self.aim_at(&mut target, row, native)?;
        let (resting, kept) = self.store().memories_resting_on(&target.episodes)?;
        let memories_kept = kept.len() as u64;
        let outcome = Forgotten {
            episodes: target.native_ids.clone(),
            turns: self.store().count_turns(&TurnCount { episodes: &target.episodes, ..TurnCount::default() })?,
            backups: if request.is_hard { self.store().backups() } else { Vec::new() },
            is_hard: request.is_hard,
            memories: resting.len() as u64,
            memories_kept,
            ..Forgotten::default()
        };
        if request.is_dry_run {
            return Ok(outcome);
        }
        let now = self.now();
        if !request.is_hard {
            self.store().set_forgotten(&target.episodes, (!request.restore).then_some(now))?;
            self.sync_index(2_000, &mut |_| {})?;
            return Ok(outcome);
        }
        self.store().set_index_state(OWED, "begun")?;
        self.bury(&self.memories_of(&resting)?, request.keep_tombstones)?;
        let archive_lines = self.ingester()?.forget(&[&target], now)?;
        self.finish_forgetting(Forgotten { archive_lines, backups: Vec::new(), ..outcome }, false)
    }

    fn memories_of(&self, ids: &[MemoryId]) -> Result<Vec<Memory>, EngineError> {
        ids.iter().filter_map(|id| self.store().memory(*id).map_err(EngineError::from).transpose()).collect()
    }

    /// Remembers, as keyed hashes, which memories no import may bring back.
    fn bury(&self, memories: &[Memory], keeps_tombstones: bool) -> Result<(), EngineError> {
        if !keeps_tombstones || memories.is_empty() {
            return Ok(());
        }
        let buried: Vec<(MemoryId, String)> = memories.iter().map(|memory| (memory.id, memory.statement.clone())).collect();
        let mut entities = Vec::new();
        for memory in memories {
            let about = self.store().entity_names(EntityNames::OfMemory(memory.id), false)?;
            entities.extend(about.into_iter().map(|entity| entity.name));
        }
        Ok(self.ingester()?.bury_memories(&buried, &entities, self.now())?)
    }

    /// Adds a session with its side conversations to those that are to be forgotten.
    fn aim_at(&self, target: &mut ForgetTarget, row: EpisodeKey, native: String) -> Result<(), EngineError> {
        target.episodes.push(row);
        target.native_ids.push(native.clone());
        for below in self.store().episodes(&Episodes::Below(row))? {
            target.episodes.push(below.key);
            target.native_ids.push(below.native_id);
        }
        target.native_sessions.insert(native);
        Ok(())
    }

    /// Forgets every session, note and memory that meets all conditions of a selection. What a killed hard forgetting
    /// left undone is done first.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`]; [`IngestError::UnknownSource`]; [`EngineError::NothingSelected`] without any
    /// condition, or with a blank one.
    pub fn forget_selected(&self, selection: &ForgetSelection) -> Result<Forgotten, EngineError> {
        if selection.is_everything() {
            return Err(EngineError::NothingSelected);
        }
        if let Some(unknown) = selection.agents.iter().find(|agent| source_named(agent).is_none()) {
            return Err(IngestError::UnknownSource(unknown.clone()).into());
        }
        if !selection.is_hard || selection.is_dry_run {
            return self.forget_what_meets(selection);
        }
        self.alone(|| self.forget_what_meets(selection))
    }

    fn forget_what_meets(&self, selection: &ForgetSelection) -> Result<Forgotten, EngineError> {
        let targets = self.selected_sessions(selection)?;
        let (mut memories, mut logged) = self.selected_memories(selection)?;
        let episodes: Vec<EpisodeKey> = targets.iter().flat_map(|(target, _)| target.episodes.iter().copied()).collect();
        let (resting, kept) = self.store().memories_resting_on(&episodes)?;
        let resting: HashSet<MemoryId> = resting.into_iter().collect();
        let own: Vec<MemoryId> = memories.iter().map(|memory| memory.id).filter(|id| !resting.contains(id)).collect();
        let own_set: HashSet<MemoryId> = own.iter().copied().collect();
        logged.retain(|memory| !resting.contains(&memory.id));
        memories.sort_by_key(|memory| std::cmp::Reverse((memory.recorded, memory.id)));
        let mut selected: Vec<SelectedItem> = targets.iter().flat_map(|(_, items)| items.clone()).collect();
        selected.extend(memories.iter().map(|memory| SelectedItem {
            kind: "memory".to_owned(),
            id: memory.id.short(),
            title: Some(memory.statement.clone()),
            at: Some(memory.recorded),
        }));
        selected.extend(logged.iter().map(|memory| SelectedItem {
            kind: "memory before a change".to_owned(),
            id: memory.id.short(),
            title: Some(memory.statement.clone()),
            at: Some(memory.changed),
        }));
        let is_empty = selected.is_empty();
        let mut outcome = Forgotten {
            episodes: targets.iter().flat_map(|(target, _)| target.native_ids.clone()).collect(),
            turns: self.store().count_turns(&TurnCount { episodes: &episodes, ..TurnCount::default() })?,
            backups: if selection.is_hard && !is_empty { self.store().backups() } else { Vec::new() },
            is_hard: selection.is_hard,
            memories: (own.len() + resting.len()) as u64,
            memories_kept: kept
                .into_iter()
                .filter(|id| !own_set.contains(id))
                .chain(logged.iter().map(|memory| memory.id))
                .collect::<HashSet<_>>()
                .len() as u64,
            selected,
            ..Forgotten::default()
        };
        if selection.is_dry_run || is_empty {
            return Ok(outcome);
        }
        let now = self.now();
        if !selection.is_hard {
            self.store().set_forgotten(&episodes, (!selection.restore).then_some(now))?;
            self.archive_memories(&own, !selection.restore, &by_forget())?;
            self.sync_index(2_000, &mut |_| {})?;
            return Ok(outcome);
        }
        // The backups go first: as long as the records are there, a killed command can be repeated.
        self.store().set_index_state(OWED, "begun")?;
        outcome.backups = self.store().purge_backups()?;
        memories.retain(|memory| own_set.contains(&memory.id));
        self.bury(&memories, selection.keep_tombstones)?;
        self.bury(&self.memories_of(&resting.iter().copied().collect::<Vec<_>>())?, selection.keep_tombstones)?;
        self.store().forget_memories(&own, &logged.iter().map(|memory| memory.id).collect::<Vec<_>>(), now)?;
        let targets: Vec<&ForgetTarget> = targets.iter().map(|(target, _)| target).collect();
        outcome.archive_lines = self.ingester()?.forget(&targets, now)?;
        self.finish_forgetting(outcome, false)
    }

    /// Returns the selected sessions and notes by agent, each with its description. A side conversation stands for
    /// its session.
    fn selected_sessions(&self, selection: &ForgetSelection) -> Result<Vec<(ForgetTarget, Vec<SelectedItem>)>, EngineError> {
        let found = self.sessions(&SessionsRequest {
            projects: selection.projects.clone(),
            agents: selection.agents.clone(),
            since: selection.since,
            until: selection.until,
            with_subagents: true,
            with_programs: true,
            forgotten: ForgottenSessions::Included,
            limit: usize::MAX,
            ..SessionsRequest::default()
        })?;
        let text = selection.text.as_ref().map(|text| text.trim().to_lowercase());
        let mut targets: Vec<(ForgetTarget, Vec<SelectedItem>)> = Vec::new();
        let mut known: HashSet<EpisodeKey> = HashSet::new();
        for session in found {
            // A forgotten session is only restored, or forgotten for good.
            let is_due = selection.is_hard || session.forgotten.is_some() == selection.restore;
            if !is_due || known.contains(&session.row) {
                continue;
            }
            let (episodes, since, until) = (&[session.row][..], selection.since, selection.until);
            let said = TurnCount { episodes, with_shared: true, since, until, ..TurnCount::default() };
            if (since.is_some() || until.is_some()) && self.store().count_turns(&said)? == 0 {
                continue;
            }
            if let Some(text) = &text {
                let is_titled = session.title.as_ref().is_some_and(|title| title.to_lowercase().contains(text));
                if !is_titled && !self.store().has_words(session.row, text)? {
                    continue;
                }
            }
            let Some((root, native)) = self.root_of(session.row, &session.agent, &session.native_id)? else { continue };
            if known.contains(&root) {
                continue;
            }
            let at = targets.iter().position(|(target, _)| target.agent == session.agent).unwrap_or_else(|| {
                let target = ForgetTarget {
                    agent: session.agent.clone(),
                    keep_tombstones: selection.keep_tombstones,
                    ..ForgetTarget::default()
                };
                targets.push((target, Vec::new()));
                targets.len() - 1
            });
            let (target, items) = &mut targets[at];
            let kind = match session.kind {
                _ if session.agent == note::KIND => note::KIND,
                EpisodeKind::Document => EpisodeKind::Document.as_str(),
                _ => EpisodeKind::Session.as_str(),
            };
            let id = EpisodeId::derive(&session.agent, &native).short();
            items.push(SelectedItem { kind: kind.to_owned(), id, title: session.title, at: session.updated });
            self.aim_at(target, root, native)?;
            known.extend(target.episodes.iter().copied());
        }
        Ok(targets)
    }

    /// Returns the native id of the session that a side conversation belongs to.
    fn parent_of(&self, row: EpisodeKey) -> Result<Option<String>, EngineError> {
        Ok(self.store().episodes(&Episodes::Key(row))?.pop().and_then(|known| known.parent))
    }

    /// Returns the session that a side conversation belongs to, or the session itself.
    fn root_of(&self, row: EpisodeKey, agent: &str, native: &str) -> Result<Option<(EpisodeKey, String)>, EngineError> {
        let (mut row, mut native) = (row, native.to_owned());
        for _ in 0..MOST_PARENTS {
            let Some(parent) = self.parent_of(row)? else { return Ok(Some((row, native))) };
            let known = self.store().episodes(&Episodes::Native(Some(agent), &parent))?;
            let Some(found) = known.first().map(|known| known.key) else { return Ok(Some((row, native))) };
            (row, native) = (found, parent);
        }
        Ok(None)
    }

    /// Returns the memories that are selected themselves, and earlier records of others that are in the log: of these, and of memories that
    /// were undone, only what is to be forgotten for good. None belongs to an agent.
    fn selected_memories(&self, selection: &ForgetSelection) -> Result<(Vec<Memory>, Vec<Memory>), EngineError> {
        if !selection.agents.is_empty() {
            return Ok(Default::default());
        }
        let projects = if selection.projects.is_empty() { None } else { Some(self.project_ids(&selection.projects)?) };
        let filter = MemoryFilter { projects: projects.clone(), ..MemoryFilter::default() };
        let text = selection.text.as_ref().map(|text| text.trim().to_lowercase());
        let says = |memory: &Memory, text: &str| {
            let quotes = memory.evidence.iter().map(|evidence| evidence.quote.as_str());
            let names = memory.tags.iter().map(String::as_str).chain(memory.anchors.iter().map(|anchor| anchor.text.as_str()));
            let words = memory.words();
            [words.as_str()].into_iter().chain(quotes).chain(names).any(|part| part.to_lowercase().contains(text))
        };
        let is_due = |memory: &Memory| match (selection.is_hard, selection.restore) {
            (true, _) => true,
            // A memory that was put away otherwise stays so.
            (_, true) => memory.is_forgotten(),
            _ => memory.status != Status::Archived,
        };
        let is_in_time = |memory: &Memory| {
            selection.since.is_none_or(|since| memory.recorded >= since)
                && selection.until.is_none_or(|until| memory.recorded < until)
        };
        let found = self.store().memories(Memories::Meeting(&filter, usize::MAX >> 1))?;
        let mut found: Vec<Memory> = found.into_iter().map(|(_, memory)| memory).collect();
        let is_meant = |memory: &Memory| is_in_time(memory) && text.as_ref().is_none_or(|text| says(memory, text));
        found.retain(|memory| is_due(memory) && is_meant(memory));
        let mut logged = Vec::new();
        if selection.is_hard {
            let mut seen: HashSet<MemoryId> = found.iter().map(|memory| memory.id).collect();
            for (memory, is_there) in self.store().logged_memories()? {
                let project = |projects: &Vec<ProjectId>| memory.project.is_some_and(|project| projects.contains(&project));
                if !projects.as_ref().is_none_or(project) || !is_meant(&memory) || !seen.insert(memory.id) {
                    continue;
                }
                if is_there { logged.push(memory) } else { found.push(memory) }
            }
        }
        Ok((found, logged))
    }

    /// Forgets the memory with an id; `None` if there is none.
    fn forget_memory(&self, request: &ForgetRequest) -> Result<Option<Forgotten>, EngineError> {
        let memory = match self.memory(request.session.trim()) {
            Ok(stored) => stored.memory,
            Err(EngineError::Memory(MemoryError::Unknown(_))) if request.is_hard => {
                match self.undone_memory(request.session.trim())? {
                    Some(undone) => undone,
                    None => return Ok(None),
                }
            }
            Err(EngineError::Memory(MemoryError::Unknown(_))) => return Ok(None),
            Err(error) => return Err(error),
        };
        let id = memory.id;
        let outcome = Forgotten { memories: 1, is_hard: request.is_hard, ..Forgotten::default() };
        if request.is_dry_run {
            let backups = if request.is_hard { self.store().backups() } else { Vec::new() };
            return Ok(Some(Forgotten { backups, ..outcome }));
        }
        if !request.is_hard {
            self.archive_memories(&[id], !request.restore, &by_forget())?;
            self.sync_index(2_000, &mut |_| {})?;
            return Ok(Some(outcome));
        }
        // The backups go first: as long as the record is there, a killed command can be repeated.
        self.store().set_index_state(OWED, "begun")?;
        let backups = self.store().purge_backups()?;
        self.bury(&[memory], request.keep_tombstones)?;
        self.store().forget_memories(&[id], &[], self.now())?;
        self.finish_forgetting(Forgotten { backups, ..outcome }, false).map(Some)
    }

    /// Returns the memory with an id that was undone, and is in the log alone.
    fn undone_memory(&self, id: &str) -> Result<Option<Memory>, EngineError> {
        let digits = id.replace('-', "").to_ascii_lowercase();
        if digits.len() < FEWEST_DIGITS {
            return Ok(None);
        }
        let is_named =
            |memory: &Memory| memory.id.to_string().replace('-', "").starts_with(&digits) || memory.id.short() == digits;
        let mut found: Vec<Memory> = Vec::new();
        for (memory, is_there) in self.store().logged_memories()? {
            if !is_there && is_named(&memory) && found.iter().all(|known| known.id != memory.id) {
                found.push(memory);
            }
        }
        if found.len() > 1 {
            let candidates = found.iter().map(|memory| memory.id.short()).collect();
            return Err(EngineError::AmbiguousId { id: id.to_owned(), candidates });
        }
        Ok(found.pop())
    }

    /// Does the last steps of a hard forgetting: the index, the backups, the log.
    fn finish_forgetting(&self, mut outcome: Forgotten, is_dry_run: bool) -> Result<Forgotten, EngineError> {
        if !is_dry_run {
            outcome.backups.extend(self.finish_removal()?);
            self.compare_freed()?;
            self.store().clear_index_state(OWED)?;
        }
        Ok(outcome)
    }

    /// Finishes hard forgettings that were cut short, unless another process is forgetting now.
    pub(crate) fn settle_forgetting(&self) -> Result<(), EngineError> {
        if self.store().is_passive() || !self.owes_forgetting()? {
            return Ok(());
        }
        let turn = self.forgetting_turn()?;
        // Where locks do not work, a step is done twice at worst.
        if matches!(turn.try_lock(), Ok(false)) || !self.owes_forgetting()? {
            return Ok(());
        }
        self.finish_what_is_owed()
    }

    /// Returns whether a hard forgetting is going on, or was cut short.
    pub(crate) fn owes_forgetting(&self) -> Result<bool, EngineError> {
        Ok(self.store().index_state(OWED)?.is_some() || !self.store().forget_plans()?.is_empty())
    }

    fn finish_what_is_owed(&self) -> Result<(), EngineError> {
        self.ingester()?.finish_forgetting(self.now())?;
        self.finish_forgetting(Forgotten::default(), false).map(drop)
    }

    /// Forgets for good while no other process does, after what is left of an earlier forgetting.
    fn alone(&self, forget: impl FnOnce() -> Result<Forgotten, EngineError>) -> Result<Forgotten, EngineError> {
        let turn = self.forgetting_turn()?;
        // Where locks do not work, a step is done twice at worst.
        let _ = turn.wait();
        if self.owes_forgetting()? {
            self.finish_what_is_owed()?;
        }
        forget()
    }

    /// Opens the lock that a process holds while it forgets for good.
    pub(crate) fn forgetting_turn(&self) -> Result<FileLock, EngineError> {
        let locks = self.directory().join("locks");
        let path = locks.join("forget.turn");
        let open = platform::create_private_directory(&locks).and_then(|()| FileLock::open(&path));
        open.map_err(|error| StoreError::Io { path, error }.into())
    }
}

pub(super) fn by_forget() -> Cause {
    Cause { by: FORGET.to_owned(), ..Cause::default() }
}
