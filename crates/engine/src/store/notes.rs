//! Notes, and what else belongs to no project: read by what holds where. What a document's new
//! text says anew is forgotten before it is stored.

use std::ops::ControlFlow;

use rusqlite::Row;
use yore_core::episode::Role;
use yore_core::id::{EpisodeId, TurnId};
use yore_core::time::UtcMillis;

use super::keys::{EpisodeKey, FileKey, ProjectKey};
use super::transaction::WriteTx;
use super::{Store, StoreResult, words};

/// A note as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredNote {
    /// Row of the episode.
    pub row: EpisodeKey,
    pub episode: EpisodeId,
    pub turn: TurnId,
    pub native_id: String,
    pub title: Option<String>,
    /// In order.
    pub tags: Vec<String>,
    /// Row and name.
    pub project: Option<(ProjectKey, String)>,
    /// The directory that it was given for.
    pub directory: Option<String>,
    pub role: Role,
    pub at: Option<UtcMillis>,
    pub is_forgotten: bool,
    /// Empty until the note is wanted.
    pub text: String,
}

impl StoredNote {
    /// Whether this is its id, or that of its words, or (from 4 digits on) the beginning of one.
    pub(crate) fn is_known_as(&self, id: &str) -> bool {
        let digits: String = id.chars().filter(|letter| *letter != '-').map(|letter| letter.to_ascii_lowercase()).collect();
        let begins = |whole: String| digits.len() >= 4 && whole.starts_with(&digits);
        self.native_id == id || begins(self.episode.to_string()) || begins(self.turn.to_string())
    }
}

/// Where the packed words stand in a row.
const WORDS: usize = 11;

fn stored_note(row: &Row<'_>) -> rusqlite::Result<StoredNote> {
    let project: Option<ProjectKey> = row.get(5)?;
    Ok(StoredNote {
        row: row.get(0)?,
        episode: EpisodeId::from_bytes(row.get(1)?),
        turn: TurnId::from_bytes(row.get(2)?),
        native_id: row.get(3)?,
        title: row.get(4)?,
        tags: serde_json::from_str(&row.get::<_, String>(10)?).unwrap_or_default(),
        project: project.zip(row.get(6)?),
        directory: row.get(7)?,
        role: Role::parse(&row.get::<_, String>(8)?).unwrap_or(Role::System),
        at: row.get(9)?,
        is_forgotten: row.get(12)?,
        text: String::new(),
    })
}

impl Store {
    /// The first notes that are wanted, latest first; forgotten ones are asked about as well. A
    /// note is one message of an episode of `agent`.
    pub(crate) fn notes(
        &self,
        agent: &str,
        message: &str,
        limit: usize,
        mut is_wanted: impl FnMut(&StoredNote) -> bool,
    ) -> StoreResult<Vec<StoredNote>> {
        self.read(|view| {
            let mut found = Vec::new();
            view.each(
                "SELECT episode.id, episode.uid, turn.uid, episode.native_id, episode.title, project.id,
                 project.name, episode.cwd, turn.role, turn.at_ms, (SELECT json_group_array(value
                 ORDER BY value) FROM episode_link WHERE episode_id = episode.id
                 AND kind = 'tag'), turn_text.words, episode.forgotten_ms IS NOT NULL FROM episode
                 JOIN turn ON turn.episode_id = episode.id JOIN turn_text ON turn_text.turn_id = turn.id LEFT
                 JOIN project ON project.id = episode.project_id WHERE episode.agent = ?1
                 AND +turn.native_id = ?2 ORDER BY turn.at_ms DESC, turn.id DESC",
                [agent, message],
                |row| {
                    if found.len() >= limit {
                        return Ok(ControlFlow::Break(()));
                    }
                    let mut note = stored_note(row)?;
                    if is_wanted(&note) {
                        let packed: Vec<u8> = row.get(WORDS)?;
                        note.text = words::decode(&packed).unwrap_or_default().0;
                        found.push(note);
                    }
                    Ok(ControlFlow::Continue(()))
                },
            )?;
            Ok(found)
        })
    }

    /// Rows of an agent's episodes that belong to no project.
    pub(crate) fn episodes_without_project(&self, agent: &str) -> StoreResult<Vec<EpisodeKey>> {
        self.read(|view| {
            view.column("SELECT id FROM episode WHERE agent = ?1 AND project_id IS NULL AND forgotten_ms IS NULL", [agent])
        })
    }
}

impl WriteTx<'_> {
    /// Forgets what a document's old text said of the whole: its title, and what it points to.
    pub(super) fn reset_document(&self, file: FileKey) -> StoreResult<()> {
        for sql in [
            "UPDATE episode SET title = NULL, title_rank = 'first_words', title_ms = NULL, title_line = 0
             WHERE id IN (SELECT episode_id FROM file_episode WHERE file_id = ?1)",
            "DELETE FROM episode_link WHERE episode_id IN (SELECT episode_id FROM file_episode WHERE file_id = ?1)",
        ] {
            self.execute(sql, [file])?;
        }
        Ok(())
    }
}
