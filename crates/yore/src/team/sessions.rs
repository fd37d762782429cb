//! Shares sessions of a project with its team: what a person and an agent said, redacted. What tools printed stays here.
//!
//! The server is told the sessions that are new or grew, in parts of bounded length; a file remembers which state it has of each. So a
//! synchronization that is cut off goes on where it ended, and a server that was restored from a backup gets what it lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
    MOST_NAME, MOST_SESSION_TURNS, MOST_TEXT, MOST_TITLE, MOST_TURNS, MOST_VECTORS, RequestOrder, Said, SessionHead,
    SharedSession, SharedTurn, name_of,
};

use super::error::SyncError;
use super::remote::SessionRemote;
use crate::engine_handle::{MemoryClient, now};
use crate::error::CliResult;
use crate::shared::mirror::{self, TeamProject, mirror_file};
use crate::shared::publish::Publisher;
use crate::shared::stored::{read, write};

/// Most bytes of turns in a request, and of texts in a synchronization: the next one goes on.
const MOST_BYTES: usize = 4 << 20;
const MOST_BYTES_AT_ONCE: usize = 32 << 20;
/// Bytes of a vector in a request.
const VECTOR_BYTES: usize = 1_024;
/// Beginning of a mark of what was redacted.
const REDACTED: &str = "[yore:redacted ";
/// Time after which all sessions are read again, whether they grew or not.
const READ_AGAIN_MS: UtcMillis = 86_400_000;
/// Pause between two looks at a lock that another process holds.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Sessions of this computer that the server has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SentSessions {
    /// The person, as a member.
    member: Uuid,
    /// Identity of the server's data.
    epoch: Option<Uuid>,
    /// The last request to the server.
    order: RequestOrder,
    /// Version and rules of redaction: with other ones, and once a day, all sessions are read again.
    rules: String,
    /// When all were read last.
    read: UtcMillis,
    /// The sessions that were shared, or that the server may have.
    pub sessions: BTreeMap<EpisodeId, Sent>,
    /// Sessions that were taken back. A server that was restored from a backup may have them again.
    removed: BTreeSet<EpisodeId>,
}

/// Number of a session's turns in the memory, and the time of the last.
pub type Seen = (u64, Option<UtcMillis>);

/// A session, as the server has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sent {
    /// Its state in the memory when it was read.
    seen: Seen,
    /// Turns that were sent.
    pub turns: u32,
    /// Digest of all that was sent; empty: it is not known what the server has.
    digest: String,
    /// Digest of the turns alone.
    said: String,
    /// Turns that were held back, because they name the directory of a person.
    pub held_back: u32,
}

/// Outcome of a synchronization of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionsSynced {
    /// Turns that were sent.
    pub turns: u64,
    /// Sessions that were taken back.
    pub removed: u64,
    /// True if there is more to send, or another process is sending.
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

/// The project, the member, and the server's data with which sessions are compared.
pub struct With<'a> {
    /// The data directory.
    pub data: &'a Path,
    /// The project.
    pub project: &'a TeamProject,
    /// The person, as a member.
    pub member: Uuid,
    /// Identity of the server's data; `None`: not known.
    pub epoch: Option<Uuid>,
}

/// Reads what this computer shared of a project's sessions.
///
/// # Errors
/// The file is there and cannot be read.
pub fn sent(data: &Path, project: &TeamProject) -> io::Result<SentSessions> {
    read(&file(data, project))
}

/// Has all sessions read again at the next synchronization: words of some were changed.
///
/// # Errors
/// A file cannot be read or written.
pub fn look_again(data: &Path, projects: &[TeamProject]) -> io::Result<()> {
    for project in projects {
        let sent = sent(data, project)?;
        if !sent.sessions.is_empty() {
            write(&file(data, project), &SentSessions { rules: String::new(), ..sent })?;
        }
    }
    Ok(())
}

/// Keeps other processes from sharing sessions of a project; `None`: one does so, and has not ended after `patience`.
///
/// # Errors
/// The lock cannot be made.
pub fn lock(data: &Path, project: &TeamProject, patience: Duration) -> io::Result<Option<FileLock>> {
    let file = file(data, project);
    if let Some(folder) = file.parent() {
        platform::create_private_directory(folder)?;
    }
    let began = Instant::now();
    loop {
        let taken = FileLock::take(&file.with_extension("lock"))?;
        if taken.is_some() || began.elapsed() >= patience {
            return Ok(taken);
        }
        std::thread::sleep(LOCK_PAUSE);
    }
}

fn file(data: &Path, project: &TeamProject) -> PathBuf {
    mirror_file(data, project).with_extension("sessions.json")
}

/// Lists the sessions of a project that may be shared: agents' sessions, and none that was forgotten.
///
/// # Errors
/// The memory cannot be read.
pub fn candidates(memory: &mut MemoryClient, here: &ProjectNames) -> CliResult<Vec<EpisodeSummary>> {
    let Some(project) = memory.find_project(ProjectQuery::Directory(here.clone()))? else { return Ok(Vec::new()) };
    let request = SessionsRequest {
        projects: vec![project.id.to_string()],
        without_documents: true,
        limit: usize::MAX >> 1,
        ..SessionsRequest::default()
    };
    memory.sessions(request)
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
    // A title that may not leave is left out, as is one of words that do not: of a prompt that the person took back.
    let is_of_person = turns.iter().any(|turn| turn.said == Said::User);
    let title =
        session.title.as_deref().filter(|_| is_of_person).and_then(|title| publisher.text(title).ok()).unwrap_or_default();
    let title: String = title.replace('\0', " ").chars().take(MOST_TITLE).collect();
    let head = SessionHead {
        id: session.id.to_string(),
        digest: name_of(&format!("{title}\n{}", digest(&turns))),
        title,
        agent: session.agent.clone(),
        began: session.started,
        turns: turns.len() as u32,
    };
    Ok(OutgoingSession { head, turns, held_back })
}

/// Returns who said a turn that is shared; `None`: it stays here.
fn said(turn: &ShownTurn) -> Option<Said> {
    // A turn may be left with marks of redaction alone.
    let is_said = !without_marks(&turn.text).trim().is_empty() && turn.caveat != Some(Caveat::TakenBack);
    match turn.role {
        Role::Human if is_said => Some(Said::User),
        Role::Assistant if is_said => Some(Said::Assistant),
        _ => None,
    }
}

/// Returns a text without the marks of what was redacted.
fn without_marks(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, mark)) = rest.split_once(REDACTED) {
        left.push_str(before);
        rest = mark.split_once(']').map_or("", |(_, after)| after);
    }
    left + rest
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
        hasher.update(turn.speaker.as_deref().unwrap_or_default().as_bytes());
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

/// Brings the server's sessions up to those of this computer. `rules`: what decides how a session is shared.
///
/// # Errors
/// The fault that kept it from ending. What was sent is remembered.
pub fn sync(
    memory: &mut MemoryClient,
    with: &With<'_>,
    here: &ProjectNames,
    publisher: &Publisher,
    rules: &str,
    remote: &impl SessionRemote,
) -> Result<SessionsSynced, SyncError> {
    // A memory that does not know the project any more has forgotten its last session.
    let found = candidates(memory, here).map_err(SyncError::Memory)?;
    let listed: Vec<(EpisodeId, Seen)> = found.iter().map(|session| (session.id, (session.turns, session.updated))).collect();
    bring_up(with, &listed, rules, remote, &mut |place| outgoing(memory, &found[place], publisher))
}

/// Brings the server's sessions up to those that are found. `read`: returns a session as it is shared, by its place among them.
pub(super) fn bring_up(
    with: &With<'_>,
    found: &[(EpisodeId, Seen)],
    rules: &str,
    remote: &impl SessionRemote,
    read: &mut dyn FnMut(usize) -> CliResult<OutgoingSession>,
) -> Result<SessionsSynced, SyncError> {
    let mut sender = Sender::begin(with, remote)?;
    let there: BTreeSet<EpisodeId> = found.iter().map(|(id, _)| *id).collect();
    let gone: Vec<EpisodeId> = sender.sent.sessions.keys().filter(|id| !there.contains(id)).copied().collect();
    let mut done = SessionsSynced { removed: sender.remove(&gone)?, ..SessionsSynced::default() };
    let now = now();
    // Words may be other ones without a new turn: a secret was removed, the person took a prompt back.
    let reads_all = sender.sent.rules != rules || (now - sender.sent.read).abs() > READ_AGAIN_MS;
    let mut bytes = 0;
    for (place, (id, seen)) in found.iter().enumerate() {
        let known = sender.sent.sessions.get(id).cloned();
        if known.as_ref().is_some_and(|known| known.seen == *seen && !reads_all) {
            continue;
        }
        if bytes > MOST_BYTES_AT_ONCE || !is_current(with) {
            done.is_cut = true;
            break;
        }
        let going = read(place).map_err(SyncError::Memory)?;
        if going.turns.is_empty() {
            // Nothing of it is said to others.
            done.removed += sender.remove(&[*id])?;
        } else if known.as_ref().is_none_or(|known| known.digest != going.head.digest) {
            let from = known.as_ref().map_or(0, |known| going.same_beginning(known));
            bytes += going.turns.iter().skip(from).map(|turn| turn.text.len()).sum::<usize>();
            sender.add(going, from, *seen)?;
        } else if let Some(known) = sender.sent.sessions.get_mut(id) {
            known.seen = *seen;
        }
    }
    sender.push()?;
    if reads_all && !done.is_cut {
        sender.sent.rules = rules.to_owned();
        sender.sent.read = now;
    }
    done.turns = sender.turns_sent;
    sender.store()?;
    Ok(done)
}

/// Takes all sessions of this computer in a project back.
///
/// # Errors
/// The server does not answer, or the file cannot be written.
pub fn take_back_all(with: &With<'_>, remote: &impl SessionRemote) -> Result<u64, SyncError> {
    let known = sent(with.data, with.project)?;
    if known.sessions.is_empty() && known.removed.is_empty() {
        return Ok(0);
    }
    let mut sender = Sender::begin(with, remote)?;
    let ids: Vec<EpisodeId> = sender.sent.sessions.keys().copied().collect();
    let removed = sender.remove(&ids)?;
    sender.store()?;
    Ok(removed)
}

/// Removes all sessions of the person in a project from the server, whichever of their computers shared them. Those of this computer are
/// shared again if the project is.
///
/// # Errors
/// As [`take_back_all`].
pub fn remove_everywhere(with: &With<'_>, remote: &impl SessionRemote) -> Result<(), SyncError> {
    let mut sender = Sender::begin(with, remote)?;
    let order = sender.next()?;
    remote.remove_sessions(&with.project.name, order, None)?;
    sender.sent.sessions.clear();
    Ok(sender.store()?)
}

/// Returns whether the project is still shared as it was when the work began.
fn is_current(with: &With<'_>) -> bool {
    mirror::is_current(with.data, with.project).unwrap_or(false)
}

impl OutgoingSession {
    /// Returns how many of the first turns the server has already.
    fn same_beginning(&self, known: &Sent) -> usize {
        let turns = known.turns as usize;
        let is_same = !known.digest.is_empty() && turns < self.turns.len();
        if is_same && self.turns.get(..turns).is_some_and(|first| digest(first) == known.said) { turns } else { 0 }
    }
}

/// Sends sessions in requests of bounded length. What a request may bring to the server is written down before it is sent, so that it can
/// be taken back whatever becomes of this process.
struct Sender<'a, R> {
    with: &'a With<'a>,
    remote: &'a R,
    sent: SentSessions,
    sessions: Vec<SharedSession>,
    turns: usize,
    bytes: usize,
    /// States that the server has once the request is answered.
    states: Vec<(EpisodeId, Sent)>,
    turns_sent: u64,
}

impl<'a, R: SessionRemote> Sender<'a, R> {
    fn begin(with: &'a With<'a>, remote: &'a R) -> Result<Self, SyncError> {
        let mut sent = sent(with.data, with.project)?;
        if sent.member != with.member {
            // A former member's sessions cannot be taken back with this member's token.
            sent = SentSessions { member: with.member, epoch: with.epoch, order: sent.order, ..SentSessions::default() };
        }
        let mut sender = Self { with, remote, sent, sessions: Vec::new(), turns: 0, bytes: 0, states: Vec::new(), turns_sent: 0 };
        if with.epoch.is_some() && sender.sent.epoch != with.epoch {
            sender.reconcile()?;
            sender.sent.epoch = with.epoch;
            sender.store()?;
        }
        Ok(sender)
    }

    /// Compares with what a server has whose data are others than they were: what it lost is sent again, what was taken back is removed again.
    fn reconcile(&mut self) -> Result<(), SyncError> {
        if self.sent.sessions.is_empty() && self.sent.removed.is_empty() {
            return Ok(());
        }
        let own = self.remote.own_sessions(&self.with.project.name)?;
        let there: BTreeMap<&str, &str> = own.sessions.iter().map(|head| (head.id.as_str(), head.digest.as_str())).collect();
        for (id, sent) in &mut self.sent.sessions {
            if there.get(id.to_string().as_str()) != Some(&sent.digest.as_str()) {
                *sent = Sent::default();
            }
        }
        let again: Vec<EpisodeId> =
            self.sent.removed.iter().filter(|id| there.contains_key(id.to_string().as_str())).copied().collect();
        self.remove(&again).map(drop)
    }

    /// Returns the place of the next request, which is stored with all that it may bring to the server.
    fn next(&mut self) -> io::Result<RequestOrder> {
        let order = &mut self.sent.order;
        if order.sender.is_nil() {
            order.sender = Uuid::new_v4();
        }
        order.number += 1;
        let order = *order;
        self.store().map(|()| order)
    }

    fn store(&self) -> io::Result<()> {
        write(&file(self.with.data, self.with.project), &self.sent)
    }

    /// Removes sessions, some at a time: a server that takes too long for all would never end.
    fn remove(&mut self, ids: &[EpisodeId]) -> Result<u64, SyncError> {
        let is_known = |id: &&EpisodeId| self.sent.sessions.contains_key(id) || self.sent.removed.contains(id);
        let known: Vec<EpisodeId> = ids.iter().filter(is_known).copied().collect();
        let mut left = known.into_iter();
        let mut removed = 0;
        loop {
            let (mut some, mut turns) = (Vec::new(), 0);
            while turns < MOST_TURNS as u32 && some.len() < MOST_TURNS {
                let Some(id) = left.next() else { break };
                turns += self.sent.sessions.get(&id).map_or(0, |sent| sent.turns);
                some.push(id);
            }
            if some.is_empty() {
                return Ok(removed);
            }
            let order = self.next()?;
            let ids = some.iter().map(EpisodeId::to_string).collect();
            self.remote.remove_sessions(&self.with.project.name, order, Some(ids))?;
            for id in &some {
                removed += u64::from(self.sent.sessions.remove(id).is_some());
                self.sent.removed.insert(*id);
            }
            self.store()?;
        }
    }

    /// Adds the turns of a session from a number on. What is too long for one request is sent at once.
    fn add(&mut self, session: OutgoingSession, from: usize, seen: Seen) -> Result<(), SyncError> {
        let OutgoingSession { head, turns, held_back } = session;
        let id = head.id.parse().map_err(|_| io::Error::other("the id of a session is none"))?;
        let said = digest(&turns);
        let state = Sent { seen, turns: head.turns, digest: head.digest.clone(), said, held_back };
        let mut part = SharedSession { head: head.clone(), from: from as u32, turns: Vec::new() };
        for (place, turn) in turns.into_iter().enumerate().skip(from) {
            if self.turns >= MOST_TURNS || self.bytes > MOST_BYTES {
                if !part.turns.is_empty() {
                    self.states.push((id, Sent::default()));
                    self.sessions.push(part);
                }
                self.push()?;
                part = SharedSession { head: head.clone(), from: place as u32, turns: Vec::new() };
            }
            let vectors = vectors(&turn.text);
            self.turns += 1;
            self.bytes += turn.text.len() + VECTOR_BYTES * vectors.len();
            part.turns.push(SharedTurn { vectors, ..turn });
        }
        self.sessions.push(part);
        self.states.push((id, state));
        if self.bytes > MOST_BYTES { self.push() } else { Ok(()) }
    }

    /// Sends what was added, unless the project is shared otherwise meanwhile.
    fn push(&mut self) -> Result<(), SyncError> {
        let sessions = std::mem::take(&mut self.sessions);
        let states = std::mem::take(&mut self.states);
        let turns = std::mem::take(&mut self.turns);
        self.bytes = 0;
        if sessions.is_empty() || !is_current(self.with) {
            return Ok(());
        }
        for (id, _) in &states {
            // Until the answer comes, it is not known what the server has.
            let known = self.sent.sessions.entry(*id).or_default();
            *known = Sent { turns: known.turns, ..Sent::default() };
            self.sent.removed.remove(id);
        }
        let order = self.next()?;
        self.remote.share_sessions(&self.with.project.name, order, sessions)?;
        self.turns_sent += turns as u64;
        self.sent.sessions.extend(states);
        Ok(self.store()?)
    }
}
