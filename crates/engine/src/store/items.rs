//! Turns and memories as the indexes need them, and what filters compare of them.

use std::borrow::Cow;
use std::sync::LazyLock;

use yore_core::episode::Role;
use yore_core::memory::Status;
use yore_core::time::UtcMillis;

use super::episodes::IS_RECALLED;
use super::keys::{EpisodeKey, ItemKey, LabelKey, MemoryKey, ProjectKey, RowKey, TurnKey};
use super::transaction::View;
use super::{Store, StoreResult, words};

/// Distance between two consecutive spoken turns of an episode, which leaves room for turns that another
/// snapshot has in between. Tool turns in between add little to it.
pub(crate) const SPOKEN_GAP: i64 = 1 << 20;

/// Maximum bytes of a turn's text that are used for vectors.
const SPOKEN_BYTES: usize = 512 * 1024;

/// The class of an indexed item, which filters compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemClass {
    /// A turn of a role.
    Turn(Role),
    /// A memory of a status.
    Memory(Status),
}

/// The data of a turn or a memory that the indexes need.
#[derive(Clone, Debug)]
pub(crate) struct IndexedItem {
    pub key: ItemKey,
    /// The episode of a turn; row 0 for a memory.
    pub episode: EpisodeKey,
    pub project: Option<ProjectKey>,
    pub branch: Option<LabelKey>,
    pub class: ItemClass,
    /// When it was said or recorded.
    pub at: Option<UtcMillis>,
    /// Position in the episode; [`SPOKEN_GAP`] apart.
    pub position: i64,
    /// True if it is a passage of a file or page, not of a conversation.
    pub is_document: bool,
    pub speaker: Option<String>,
    pub text: String,
    pub tool_text: String,
}

impl IndexedItem {
    /// Returns the text for vectors, preceded by the speaker if that is a name. A passage has no speaker, but
    /// contains its own title. Of a text of megabytes, returns the beginning and the end, which is more than
    /// is ever embedded.
    pub(crate) fn spoken(&self) -> String {
        let text = match self.text.len() {
            0..=SPOKEN_BYTES => Cow::Borrowed(self.text.as_str()),
            long => {
                let begin = self.text.floor_char_boundary(SPOKEN_BYTES / 2);
                let end = self.text.ceil_char_boundary(long - SPOKEN_BYTES / 2);
                Cow::Owned(format!("{}\n{}", &self.text[..begin], &self.text[end..]))
            }
        };
        match &self.speaker {
            Some(speaker) if !text.is_empty() && !self.is_document => format!("{speaker}: {text}"),
            _ => text.into_owned(),
        }
    }
}

static INDEXED_TURN: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT turn.episode_id, turn.project_id, turn.branch_id, turn.role, turn.at_ms, speaker.text, turn_text.words, turn.position,
                episode.kind = 'document'
         FROM turn JOIN episode ON episode.id = turn.episode_id JOIN turn_text ON turn_text.turn_id = turn.id
         LEFT JOIN label AS speaker ON speaker.id = turn.speaker_id
         WHERE turn.id = ?1 AND episode.forgotten_ms IS NULL AND {IS_RECALLED}"
    )
});

impl View<'_> {
    /// Returns the data of an item for the indexes; `None` if it does not exist, is forgotten, or is a turn of a role
    /// that recall ignores.
    pub(crate) fn indexed_item(&self, key: ItemKey) -> StoreResult<Option<IndexedItem>> {
        match key {
            ItemKey::Turn(turn) => self.indexed_turn(turn),
            ItemKey::Memory(memory) => self.indexed_memory(memory),
        }
    }

    pub(super) fn indexed_turn(&self, row: TurnKey) -> StoreResult<Option<IndexedItem>> {
        self.first(&INDEXED_TURN, [row], |found| {
            let words: Vec<u8> = found.get(6)?;
            let (text, tool_text) = words::decode(&words).unwrap_or_default();
            Ok(IndexedItem {
                key: ItemKey::Turn(row),
                episode: found.get(0)?,
                project: found.get(1)?,
                branch: found.get(2)?,
                class: ItemClass::Turn(Role::parse(&found.get::<_, String>(3)?).unwrap_or(Role::System)),
                at: found.get(4)?,
                position: found.get(7)?,
                is_document: found.get(8)?,
                speaker: found.get(5)?,
                text,
                tool_text,
            })
        })
    }

    /// Returns the data of a memory for the indexes: its words as spoken text, what it names as tool text.
    fn indexed_memory(&self, row: MemoryKey) -> StoreResult<Option<IndexedItem>> {
        let project = self.first("SELECT project_id FROM memory WHERE id = ?1", [row], |row| row.get(0))?.flatten();
        let Some(memory) = self.memory_of_row(row)? else { return Ok(None) };
        let evidence = self.evidence_of(&[row])?;
        // A memory that rests on forgotten sessions alone is forgotten with them.
        if !evidence.is_empty()
            && evidence.iter().all(|evidence| evidence.is_forgotten)
            && evidence.len() == memory.evidence.len()
        {
            return Ok(None);
        }
        let kind = memory.kind.as_str().replace('_', " ");
        let names = [&kind].into_iter().chain(&memory.tags).chain(memory.anchors.iter().map(|anchor| &anchor.text));
        Ok(Some(IndexedItem {
            key: ItemKey::Memory(row),
            episode: EpisodeKey::new(0),
            project,
            branch: None,
            class: ItemClass::Memory(memory.status),
            at: Some(memory.recorded),
            position: 0,
            is_document: false,
            speaker: None,
            text: memory.words(),
            tool_text: names.map(String::as_str).collect::<Vec<_>>().join("\n"),
        }))
    }
}

impl Store {
    /// Returns the data of an item for the indexes.
    pub(crate) fn indexed_item(&self, key: ItemKey) -> StoreResult<Option<IndexedItem>> {
        self.read(|view| view.indexed_item(key))
    }
}
