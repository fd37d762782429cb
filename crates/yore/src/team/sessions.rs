//! Shares sessions of a project with its team: what a person and an agent said, redacted. What tools printed stays here.
//!
//! The server is told the sessions that are new or grew, in parts of bounded length; a file remembers which state it has of each. So a
//! synchronization that is cut off goes on where it ended, and a server that was restored from a backup gets what it lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use yore_core::episode::{Caveat, Role};
use yore_core::id::EpisodeId;
use yore_core::text::{CHUNK_TOKENS, chunks};
use yore_core::time::UtcMillis;
use yore_engine::embed::StaticTable;
use yore_engine::platform::{self, FileLock};
use yore_engine::{EpisodeSummary, ProjectQuery, SessionsRequest, ShowRequest, ShownTurn, Surroundings};
use yore_sources::project_names::ProjectNames;
use yore_team::wire::{
    MOST_NAME, MOST_SESSION_TURNS, MOST_TEXT, MOST_TITLE, MOST_TURNS, MOST_VECTORS, Said, SessionHead, SharedSession, SharedTurn,
    name_of,
};

use super::error::SyncError;
use super::remote::{RemoteError, SessionRemote};
use crate::engine_handle::MemoryClient;
use crate::error::CliResult;
use crate::shared::mirror::{TeamProject, mirror_file};
use crate::shared::publish::Publisher;
use crate::shared::stored::{read, write};

/// Most bytes of turns in a request, and of texts in a synchronization: the next one goes on.
const MOST_BYTES: usize = 4 << 20;
const MOST_BYTES_AT_ONCE: usize = 32 << 20;
/// Bytes of a vector in a request.
const VECTOR_BYTES: usize = 1_024;
/// Most sessions that are read before their file is written.
const MOST_READ: usize = 50;

/// What the server has of the sessions of this computer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SentSessions {
    /// Identity of the server's data.
    epoch: Option<Uuid>,
    /// The sessions that were shared.
    pub sessions: BTreeMap<EpisodeId, Sent>,
    /// Sessions that were taken back. A server that was restored from a backup may have them again.
    removed: BTreeSet<EpisodeId>,
}

/// A session, as the server has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Number of its turns in the memory, and the time of the last, when it was read.
    seen: (u64, Option<UtcMillis>),
    /// Turns that were sent, and the digest of them.
    pub turns: u32,
    digest: String,
    /// Turns that were held back, because they name the directory of a person.
    #[serde(default)]
    pub held_back: u32,
}

/// Sessions that are sent, and why it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionsSynced {
    /// Turns that were sent.
    pub turns: u64,
    /// Sessions that were taken back.
    pub removed: u64,
    /// True if there is more to send.
    pub is_cut: bool,
}

/// A session as it is shared.
#[derive(Clone, Debug, PartialEq)]
pub struct OutgoingSession {
    /// Its head.
    pub head: SessionHead,
    /// Its turns, without vectors.
    pub turns: Vec<SharedTurn>,
    /// Turns that are held back.
    pub held_back: u32,
}

/// Reads what this computer shared of a project's sessions.
///
/// # Errors
/// The file is there and cannot be read.
pub fn sent(data: &Path, project: &TeamProject) -> io::Result<SentSessions> {
    read(&file(data, project))
}

/// Keeps other processes from sharing sessions of a project; `None`: one does.
///
/// # Errors
/// The lock cannot be made.
pub fn lock(data: &Path, project: &TeamProject) -> io::Result<Option<FileLock>> {
    let file = file(data, project);
    if let Some(folder) = file.parent() {
        platform::create_private_directory(folder)?;
    }
    FileLock::take(&file.with_extension("lock"))
}

fn file(data: &Path, project: &TeamProject) -> PathBuf {
    mirror_file(data, project).with_extension("sessions.json")
}

/// Lists the sessions of a project that may be shared: agents' sessions, and none that was forgotten. `None`: the memory does not know the
/// project.
///
/// # Errors
/// The memory cannot be read.
pub fn candidates(memory: &mut MemoryClient, here: &ProjectNames) -> CliResult<Option<Vec<EpisodeSummary>>> {
    let Some(project) = memory.find_project(ProjectQuery::Directory(here.clone()))? else { return Ok(None) };
    let request = SessionsRequest {
        projects: vec![project.id.to_string()],
        without_documents: true,
        limit: usize::MAX >> 1,
        ..SessionsRequest::default()
    };
    memory.sessions(request).map(Some)
}

/// Returns a session as it is shared.
///
/// # Errors
/// The memory cannot be read.
pub fn outgoing(memory: &mut MemoryClient, session: &EpisodeSummary, publisher: &Publisher) -> CliResult<OutgoingSession> {
    let shown = memory.show(ShowRequest::new(session.id.to_string(), Surroundings::Exchange))?;
    let mut turns = Vec::new();
    let mut held_back = 0;
    for turn in &shown.turns {
        let Some(said) = said(turn) else { continue };
        match publisher.text(turn.text.trim()) {
            Ok(text) => {
                // A name that may not leave is left out.
                let speaker = turn.speaker.as_deref().and_then(|name| publisher.text(name).ok());
                let speaker = speaker.map(|name| name.replace('\0', " ").chars().take(MOST_NAME).collect());
                turns.push(SharedTurn { said, speaker, at: turn.time.utc, text: cut(text), vectors: Vec::new() });
            }
            Err(_) => held_back += 1,
        }
    }
    turns.truncate(MOST_SESSION_TURNS as usize);
    // A title that may not leave is left out.
    let title = session.title.as_deref().and_then(|title| publisher.text(title).ok()).unwrap_or_default();
    let head = SessionHead {
        id: session.id.to_string(),
        title: title.replace('\0', " ").chars().take(MOST_TITLE).collect(),
        agent: session.agent.clone(),
        began: session.started,
        turns: turns.len() as u32,
        digest: digest(&turns),
    };
    Ok(OutgoingSession { head, turns, held_back })
}

/// Returns who said a turn that is shared; `None`: it stays here.
fn said(turn: &ShownTurn) -> Option<Said> {
    let is_said = !turn.text.trim().is_empty() && turn.caveat != Some(Caveat::TakenBack);
    match turn.role {
        Role::Human if is_said => Some(Said::User),
        Role::Assistant if is_said => Some(Said::Assistant),
        _ => None,
    }
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MOST_TEXT));
    if text.contains('\0') { text.replace('\0', " ") } else { text }
}

/// Returns a digest of what turns say.
fn digest(turns: &[SharedTurn]) -> String {
    let mut hasher = blake3::Hasher::new();
    for turn in turns {
        hasher.update(turn.said.as_str().as_bytes());
        hasher.update(&turn.at.unwrap_or(UtcMillis::MIN).to_le_bytes());
        hasher.update(&(turn.text.len() as u64).to_le_bytes());
        hasher.update(turn.text.as_bytes());
    }
    name_of(hasher.finalize().to_hex().as_str())
}

/// Returns the vectors of a text's parts, as the server compares them.
pub fn vectors(text: &str) -> Vec<Vec<i8>> {
    let parts = chunks(text, CHUNK_TOKENS);
    let of = |chunk: &yore_core::text::Chunk| vector(text.get(chunk.start..chunk.end)?);
    parts.iter().take(MOST_VECTORS).filter_map(of).collect()
}

/// Returns the vector of a text; `None` if the table has no word of it.
pub fn vector(text: &str) -> Option<Vec<i8>> {
    let vector = StaticTable::vector_of(text)?;
    let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    // The direction alone counts: the largest number becomes 127.
    (largest > 0.0).then(|| vector.iter().map(|number| (number / largest * 127.0).round() as i8).collect())
}

/// Brings the server's sessions up to those of this computer. `epoch`: identity of the server's data now.
///
/// # Errors
/// The fault that kept it from ending. What was sent is remembered.
pub fn sync(
    memory: &mut MemoryClient,
    project: &TeamProject,
    here: &ProjectNames,
    publisher: &Publisher,
    epoch: Option<Uuid>,
    remote: &impl SessionRemote,
) -> Result<SessionsSynced, SyncError> {
    let data = memory.directory().to_owned();
    let mut sent = sent(&data, project)?;
    if sent.epoch != epoch {
        reconcile(&mut sent, &project.name, remote)?;
        sent.epoch = epoch;
        write(&file(&data, project), &sent)?;
    }
    // A memory that does not know the project takes nothing back by itself.
    let Some(found) = candidates(memory, here).map_err(SyncError::Memory)? else { return Ok(SessionsSynced::default()) };
    let mut done =
        SessionsSynced { removed: remove_gone(&data, project, &mut sent, &found, remote)?, ..SessionsSynced::default() };
    let mut batch = Batch::default();
    let (mut bytes, mut read) = (0, 0);
    for session in &found {
        let seen = (session.turns, session.updated);
        let known = sent.sessions.get(&session.id);
        if known.is_some_and(|known| known.seen == seen) {
            continue;
        }
        if bytes > MOST_BYTES_AT_ONCE {
            done.is_cut = true;
            break;
        }
        let going = outgoing(memory, session, publisher).map_err(SyncError::Memory)?;
        let from = known.map_or(0, |known| going.same_beginning(known));
        let state = Sent { seen, turns: going.head.turns, digest: going.head.digest.clone(), held_back: going.held_back };
        let is_new = known.is_none_or(|known| known.digest != state.digest);
        if is_new {
            bytes += going.turns.iter().skip(from).map(|turn| turn.text.len()).sum::<usize>();
            batch.add(going, from, &project.name, remote)?;
        }
        batch.states.push((session.id, state));
        read += 1;
        if batch.bytes > MOST_BYTES || read % MOST_READ == 0 {
            done.turns += batch.send(&data, project, &mut sent, remote)?;
        }
    }
    done.turns += batch.send(&data, project, &mut sent, remote)?;
    Ok(done)
}

/// Takes all sessions of this computer's person in a project back.
///
/// # Errors
/// The server does not answer, or the file cannot be written.
pub fn take_back_all(data: &Path, project: &TeamProject, remote: &impl SessionRemote) -> Result<u64, SyncError> {
    let mut sent = sent(data, project)?;
    if sent.sessions.is_empty() {
        return Ok(0);
    }
    let ids: Vec<EpisodeId> = sent.sessions.keys().copied().collect();
    remote.remove_sessions(&project.name, Some(ids.iter().map(EpisodeId::to_string).collect()))?;
    sent.sessions.clear();
    sent.removed.extend(&ids);
    write(&file(data, project), &sent)?;
    Ok(ids.len() as u64)
}

/// Compares with what a server has whose data are others than they were: what it lost is sent again, what was taken back is removed again.
fn reconcile(sent: &mut SentSessions, project: &str, remote: &impl SessionRemote) -> Result<(), RemoteError> {
    if sent.sessions.is_empty() && sent.removed.is_empty() {
        return Ok(());
    }
    let own = remote.own_sessions(project)?;
    let digests: BTreeMap<&str, &str> = own.sessions.iter().map(|head| (head.id.as_str(), head.digest.as_str())).collect();
    sent.sessions.retain(|id, sent| digests.get(id.to_string().as_str()) == Some(&sent.digest.as_str()));
    let again: Vec<String> =
        sent.removed.iter().map(EpisodeId::to_string).filter(|id| digests.contains_key(id.as_str())).collect();
    if !again.is_empty() {
        remote.remove_sessions(project, Some(again))?;
    }
    Ok(())
}

/// Takes sessions back that the memory has no more; returns how many.
fn remove_gone(
    data: &Path,
    project: &TeamProject,
    sent: &mut SentSessions,
    found: &[EpisodeSummary],
    remote: &impl SessionRemote,
) -> Result<u64, SyncError> {
    let there: BTreeSet<EpisodeId> = found.iter().map(|session| session.id).collect();
    let gone: Vec<EpisodeId> = sent.sessions.keys().filter(|id| !there.contains(id)).copied().collect();
    if gone.is_empty() {
        return Ok(0);
    }
    remote.remove_sessions(&project.name, Some(gone.iter().map(EpisodeId::to_string).collect()))?;
    for id in &gone {
        sent.sessions.remove(id);
        sent.removed.insert(*id);
    }
    write(&file(data, project), sent)?;
    Ok(gone.len() as u64)
}

impl OutgoingSession {
    /// Returns how many of the first turns the server has already.
    fn same_beginning(&self, known: &Sent) -> usize {
        let turns = known.turns as usize;
        if self.turns.get(..turns).is_some_and(|first| digest(first) == known.digest) { turns } else { 0 }
    }
}

/// Parts that are sent together, and the states that the server has then.
#[derive(Default)]
struct Batch {
    sessions: Vec<SharedSession>,
    turns: usize,
    bytes: usize,
    states: Vec<(EpisodeId, Sent)>,
    sent: u64,
}

impl Batch {
    /// Adds the turns of a session from a number on. What is too long for one request is sent at once.
    fn add(
        &mut self,
        session: OutgoingSession,
        from: usize,
        project: &str,
        remote: &impl SessionRemote,
    ) -> Result<(), RemoteError> {
        let OutgoingSession { head, turns, .. } = session;
        let mut part = SharedSession { head: head.clone(), from: from as u32, turns: Vec::new() };
        for (place, turn) in turns.into_iter().enumerate().skip(from) {
            if self.turns >= MOST_TURNS || self.bytes > MOST_BYTES {
                self.sessions.push(part);
                self.push(project, remote)?;
                part = SharedSession { head: head.clone(), from: place as u32, turns: Vec::new() };
            }
            let vectors = vectors(&turn.text);
            self.turns += 1;
            self.bytes += turn.text.len() + VECTOR_BYTES * vectors.len();
            part.turns.push(SharedTurn { vectors, ..turn });
        }
        self.sessions.push(part);
        Ok(())
    }

    fn push(&mut self, project: &str, remote: &impl SessionRemote) -> Result<(), RemoteError> {
        let sessions = std::mem::take(&mut self.sessions);
        if !sessions.is_empty() {
            remote.share_sessions(project, sessions)?;
        }
        self.sent += self.turns as u64;
        (self.turns, self.bytes) = (0, 0);
        Ok(())
    }

    /// Sends what is left, and remembers what the server has now; returns how many turns were sent.
    fn send(
        &mut self,
        data: &Path,
        project: &TeamProject,
        sent: &mut SentSessions,
        remote: &impl SessionRemote,
    ) -> Result<u64, SyncError> {
        if let Err(error) = self.push(&project.name, remote) {
            if matches!(&error, RemoteError::Refused { code, .. } if code == "team/gap") {
                // The server has fewer turns than this computer remembers: the next time, all are sent.
                self.states.iter().for_each(|(id, _)| drop(sent.sessions.remove(id)));
                write(&file(data, project), sent)?;
            }
            return Err(error.into());
        }
        if self.states.is_empty() {
            return Ok(0);
        }
        for (id, state) in self.states.drain(..) {
            sent.removed.remove(&id);
            sent.sessions.insert(id, state);
        }
        write(&file(data, project), sent)?;
        Ok(std::mem::take(&mut self.sent))
    }
}
