//! Commits a batch of an ingestion in one transaction: lines, entries, counts, checkpoint.

use std::borrow::Cow;
use std::collections::HashSet;

use yore_core::episode::{Caveat, Episode, Title, Turn};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::note::NoteFacts;
use yore_core::scope::{ProjectAlias, is_within, normalize_directory};
use yore_core::time::UtcMillis;

use super::blobs::ArchivePlan;
use super::sources::{Advance, Checkpoint, FileRow, Skips};
use super::upsert::{TurnFacts, UpsertOutcome, Upserter};
use crate::store::keys::{FileKey, ProjectKey};
use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

/// The aliases of a directory's project, most reliable first, each with the form in which it occurred, and
/// the name for a new project.
#[derive(Clone, Debug)]
pub(crate) struct Home<'a> {
    /// Aliases with their original form, most reliable first.
    pub aliases: Cow<'a, [(ProjectAlias, String)]>,
    /// Name for display.
    pub name: Cow<'a, str>,
}

/// A message with its context.
#[derive(Clone, Debug)]
pub(crate) struct SaidTurn<'a> {
    /// The message.
    pub turn: &'a Turn,
    /// 1-based first line of its text.
    pub line: u64,
    /// The conversation.
    pub episode: &'a Episode,
    /// The project that the conversation names, or that of the directory in which it began.
    pub begun_in: Option<Home<'a>>,
    /// The project of the turn's directory.
    pub said_in: Option<Home<'a>>,
    /// Properties of the note, if the turn is one.
    pub note: Option<&'a NoteFacts>,
}

/// An entry read from a file.
#[derive(Clone, Debug)]
pub(crate) enum Entry<'a> {
    /// A message.
    Turn(SaidTurn<'a>),
    /// A title of an episode.
    Title(EpisodeId, Title),
    /// A title of the episode that holds the message with this native id.
    TitleOfMessage(&'a str, Title),
    /// A link of an episode: kind and value.
    Link(EpisodeId, &'a str, &'a str),
    /// A caveat of the messages of an episode with these native ids; `None` removes it.
    Caveat(EpisodeId, &'a [String], Option<Caveat>),
}

/// The entries read from a part of a file.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'a> {
    /// Kind of the source.
    pub source: &'a str,
    /// Number of the pass over the whole archive that read them; 0 if they were read from a file.
    pub pass: i64,
    /// True if they are parts of a document, which a new reading replaces, together with its time.
    pub is_document: bool,
    /// Time of the reading.
    pub now: UtcMillis,
    /// The entries, in the order in which they were read.
    pub list: Vec<Entry<'a>>,
}

/// Everything that one transaction stores of a file.
pub(crate) struct Commit<'a> {
    /// The file's row when this reading began.
    pub file: &'a FileRow,
    /// The checkpoint after this part.
    pub to: &'a Checkpoint,
    /// Parameters for moving the checkpoint.
    pub advance: Advance<'a>,
    /// Its new lines.
    pub lines: Option<&'a ArchivePlan>,
    /// The entries read from these lines.
    pub entries: &'a Entries<'a>,
    /// Lines that were skipped.
    pub skips: &'a Skips,
    /// Redactions by kind.
    pub redactions: Vec<(&'a str, u64)>,
    /// Keyed hashes of sessions that must not be read again.
    pub buried: Vec<[u8; 16]>,
    /// True if a reading of the whole file begins, whose counts replace the earlier ones.
    pub begins_anew: bool,
    /// Turns of a document that was read to its end; its other turns are removed.
    pub keeps_only: Option<&'a HashSet<TurnId>>,
}

/// Numbers of stored turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    /// New turns.
    pub added: u64,
    /// Turns that were replaced by a more complete or better read copy.
    pub updated: u64,
    /// Turns of other sessions that this one now refers to.
    pub shared: u64,
}

impl Store {
    /// Stores a part of a file. Returns `None` and stores nothing if another process changed a blob that the
    /// plan for the lines refers to: plan again.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`](crate::store::StoreError::LeaseLost) if another process took the file over.
    pub(crate) fn commit(&self, commit: &Commit<'_>) -> StoreResult<Option<Stored>> {
        let file = commit.file.id;
        self.write(|tx| {
            if let Some(plan) = commit.lines
                && !tx.store_lines(file, commit.to.generation, plan)?
            {
                return Ok(None);
            }
            if commit.begins_anew && commit.entries.is_document {
                tx.reset_document(file)?;
            }
            let stored = tx.store_entries(file, commit.entries)?;
            tx.bury(&commit.buried, commit.entries.now)?;
            if commit.begins_anew {
                tx.reset_counts(file)?;
            }
            tx.count_skips(file, commit.skips)?;
            tx.count_redactions(file, &commit.redactions)?;
            if let Some(given) = commit.keeps_only {
                tx.retire_turns(file, given)?;
            }
            tx.advance_file(commit.file, commit.to, commit.advance)?;
            Ok(Some(stored))
        })
    }

    /// Stores the entries that the current readers get from the archived lines of a file.
    pub(crate) fn store_again(&self, file: FileKey, entries: &Entries<'_>, skips: &Skips) -> StoreResult<Stored> {
        self.write(|tx| {
            tx.count_skips(file, skips)?;
            tx.store_entries(file, entries)
        })
    }
}

impl WriteTx<'_> {
    fn store_entries(&self, file: FileKey, entries: &Entries<'_>) -> StoreResult<Stored> {
        let mut upserter = Upserter::new(self);
        let mut stored = Stored::default();
        // Titles come last: the session of a message is known once its turn is stored.
        let is_about_message = |entry: &&Entry<'_>| matches!(entry, Entry::TitleOfMessage(..));
        let (about_messages, others): (Vec<&Entry<'_>>, Vec<&Entry<'_>>) = entries.list.iter().partition(is_about_message);
        for entry in others.into_iter().chain(about_messages) {
            match entry {
                Entry::Turn(said) => match upserter.said_turn(file, entries, said)? {
                    UpsertOutcome::Added => stored.added += 1,
                    UpsertOutcome::Updated => stored.updated += 1,
                    UpsertOutcome::Shared => stored.shared += 1,
                    UpsertOutcome::Unchanged => {}
                },
                Entry::Title(episode, title) => {
                    if let Some(row) = upserter.find_episode(episode)? {
                        upserter.title(row.id, title)?;
                    }
                }
                Entry::TitleOfMessage(message, title) => {
                    match upserter.episode_of_message(entries.source, message, Some(file))? {
                        Some(episode) => upserter.title(episode, title)?,
                        None => upserter.title_later(entries.source, message, title)?,
                    }
                }
                Entry::Link(episode, kind, value) => {
                    if let Some(row) = upserter.find_episode(episode)? {
                        upserter.link(row.id, kind, value)?;
                    }
                }
                Entry::Caveat(episode, messages, caveat) => {
                    if let Some(row) = upserter.find_episode(episode)? {
                        upserter.caveat(file, row.id, messages, *caveat)?;
                    }
                }
            }
        }
        upserter.finish()?;
        Ok(stored)
    }
}

impl Upserter<'_, '_> {
    fn said_turn(&mut self, file: FileKey, entries: &Entries<'_>, said: &SaidTurn<'_>) -> StoreResult<UpsertOutcome> {
        let episode = match self.find_episode(&said.episode.id)? {
            Some(row) if row.project.is_some() => row,
            _ => {
                let project = self.project_of(said.begun_in.as_ref(), entries.now)?;
                self.episode(said.episode, project)?
            }
        };
        // A directory below the session's first one belongs to the same project; any other may belong to
        // another.
        let project = match (&said.turn.cwd, &episode.cwd) {
            (Some(cwd), Some(first)) if !is_within(&normalize_directory(cwd), &normalize_directory(first)) => {
                self.project_of(said.said_in.as_ref(), entries.now)?.or(episode.project)
            }
            _ => episode.project,
        };
        let facts = TurnFacts { file, line: said.line, project, pass: entries.pass, is_document: entries.is_document };
        match said.note {
            Some(note) => self.note(entries.source, &episode, said.turn, note, facts),
            None => self.turn(entries.source, &episode, said.turn, facts),
        }
    }

    fn project_of(&mut self, home: Option<&Home<'_>>, now: UtcMillis) -> StoreResult<Option<ProjectKey>> {
        home.map(|home| self.project(&home.aliases, &home.name, now)).transpose()
    }
}
