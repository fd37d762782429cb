//! Reads turns and memories as the indexes need them: text and filter columns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use rusqlite::Row;
use yore_core::episode::Role;
use yore_core::memory::Status;
use yore_core::relevance::only_announces;
use yore_core::time::UtcMillis;

use crate::store::archive::episodes::IS_RECALLED;
use crate::store::archive::words;
use crate::store::keys::{EpisodeKey, ItemKey, LabelKey, MemoryKey, ProjectKey, RowKey, TurnKey, json_of};
use crate::store::local::transaction::View;
use crate::store::{Store, StoreResult};

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

/// What filters compare of a turn or a memory, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemHead {
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
}

/// The data of a turn or a memory that the indexes need.
#[derive(Clone, Debug)]
pub(crate) struct IndexedItem {
    pub head: ItemHead,
    pub speaker: Option<String>,
    pub text: String,
    pub tool_text: String,
}

impl IndexedItem {
    /// Returns the text for vectors, preceded by the speaker if that is a name. A passage has no speaker, but
    /// contains its own title. Of a text of megabytes, returns the beginning and the end, which is more than
    /// is ever embedded. An agent's turn that only announces its next step has none.
    pub(crate) fn spoken(&self) -> String {
        if self.head.class == ItemClass::Turn(Role::Assistant) && only_announces(&self.text) {
            return String::new();
        }
        let text = match self.text.len() {
            0..=SPOKEN_BYTES => Cow::Borrowed(self.text.as_str()),
            long => {
                let begin = self.text.floor_char_boundary(SPOKEN_BYTES / 2);
                let end = self.text.ceil_char_boundary(long - SPOKEN_BYTES / 2);
                Cow::Owned(format!("{}\n{}", &self.text[..begin], &self.text[end..]))
            }
        };
        match &self.speaker {
            Some(speaker) if !text.is_empty() && !self.head.is_document => format!("{speaker}: {text}"),
            _ => text.into_owned(),
        }
    }
}

const TURN_HEAD: &str =
    "turn.id, turn.episode_id, turn.project_id, turn.branch_id, turn.role, turn.at_ms, turn.position, episode.kind = 'document'";

static TURN_HEADS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {TURN_HEAD} FROM turn JOIN episode ON episode.id = turn.episode_id JOIN turn_text ON turn_text.turn_id = turn.id
         WHERE turn.id IN (SELECT value FROM json_each(?1)) AND episode.forgotten_ms IS NULL AND {IS_RECALLED}"
    )
});

static INDEXED_TURN: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {TURN_HEAD}, speaker.text AS speaker, turn_text.words
         FROM turn JOIN episode ON episode.id = turn.episode_id JOIN turn_text ON turn_text.turn_id = turn.id
         LEFT JOIN label AS speaker ON speaker.id = turn.speaker_id
         WHERE turn.id = ?1 AND episode.forgotten_ms IS NULL AND {IS_RECALLED}"
    )
});

/// A memory that rests on forgotten sessions alone is forgotten with them.
const MEMORY_HEADS: &str =
    "SELECT memory.id, project_id, status, recorded_ms, json_extract(rest, '$.reach') IS NOT NULL FROM memory
    WHERE memory.id IN (SELECT value FROM json_each(?1)) AND (
        NOT EXISTS (SELECT 1 FROM memory_evidence WHERE memory_id = memory.id)
        OR EXISTS (
            SELECT 1 FROM memory_evidence LEFT JOIN turn ON turn.uid = turn_uid LEFT JOIN episode ON episode.id = turn.episode_id
            WHERE memory_id = memory.id AND episode.forgotten_ms IS NULL
        )
    )";

/// The episode of memories whose project is not known: no scope of projects lets it through.
const OF_UNKNOWN_PROJECT: i64 = i64::MAX;

fn turn_head(row: &Row<'_>) -> rusqlite::Result<ItemHead> {
    Ok(ItemHead {
        key: ItemKey::Turn(row.get(0)?),
        episode: row.get(1)?,
        project: row.get(2)?,
        branch: row.get(3)?,
        class: ItemClass::Turn(Role::parse(&row.get::<_, String>(4)?).unwrap_or(Role::System)),
        at: row.get(5)?,
        position: row.get(6)?,
        is_document: row.get(7)?,
    })
}

fn memory_head(row: &Row<'_>) -> rusqlite::Result<ItemHead> {
    Ok(ItemHead {
        key: ItemKey::Memory(row.get(0)?),
        // What holds everywhere is of no episode; what holds nobody knows where is of one that no scope has.
        episode: EpisodeKey::new(if row.get(4)? { OF_UNKNOWN_PROJECT } else { 0 }),
        project: row.get(1)?,
        branch: None,
        class: ItemClass::Memory(Status::parse(&row.get::<_, String>(2)?).unwrap_or(Status::Archived)),
        at: Some(row.get(3)?),
        position: 0,
        is_document: false,
    })
}

impl View<'_> {
    /// Returns the data of an item for the indexes; `None` if it does not exist, is forgotten, or is a turn of a role
    /// that recall ignores.
    pub(super) fn indexed_item(&self, key: ItemKey) -> StoreResult<Option<IndexedItem>> {
        match key {
            ItemKey::Turn(turn) => self.indexed_turn(turn),
            ItemKey::Memory(memory) => self.indexed_memory(memory),
        }
    }

    pub(in crate::store) fn indexed_turn(&self, row: TurnKey) -> StoreResult<Option<IndexedItem>> {
        self.first(&INDEXED_TURN, [row], |found| {
            let words: Vec<u8> = found.get("words")?;
            let (text, tool_text) = words::decode(&words).unwrap_or_default();
            Ok(IndexedItem { head: turn_head(found)?, speaker: found.get("speaker")?, text, tool_text })
        })
    }

    /// Returns the data of a memory for the indexes: its words as spoken text, what it names as tool text.
    fn indexed_memory(&self, row: MemoryKey) -> StoreResult<Option<IndexedItem>> {
        let Some(head) = self.first(MEMORY_HEADS, [json_of(&[row])], memory_head)? else { return Ok(None) };
        let Some(memory) = self.memory_of_row(row)? else { return Ok(None) };
        let kind = memory.kind.as_str().replace('_', " ");
        let names = [&kind].into_iter().chain(&memory.tags).chain(memory.anchors.iter().map(|anchor| &anchor.text));
        Ok(Some(IndexedItem {
            head,
            speaker: None,
            text: memory.words(),
            tool_text: names.map(String::as_str).collect::<Vec<_>>().join("\n"),
        }))
    }
}

impl Store {
    /// Returns the heads of items. Those that the indexes do not have are left out.
    pub(crate) fn item_heads(&self, keys: &[ItemKey]) -> StoreResult<HashMap<ItemKey, ItemHead>> {
        let turns: Vec<TurnKey> = keys.iter().filter_map(|key| key.turn()).collect();
        let memories: Vec<MemoryKey> = keys.iter().filter_map(|key| key.memory()).collect();
        self.read(|view| {
            let mut heads = Vec::new();
            if !turns.is_empty() {
                heads.extend(view.all(&TURN_HEADS, [json_of(&turns)], turn_head)?);
            }
            if !memories.is_empty() {
                heads.extend(view.all(MEMORY_HEADS, [json_of(&memories)], memory_head)?);
            }
            Ok(heads.into_iter().map(|head| (head.key, head)).collect())
        })
    }
}
