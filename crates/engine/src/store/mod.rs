//! All of SQLite: one file, one writer at a time, any number of readers (WAL).
//!
//! - [`Store`] (`connection`): opens, migrates and hands out connections; `options`, `error`
//! - `migrate`: numbered migrations, each in a transaction after a backup
//! - `transaction`: statements, with errors that name the database
//! - `keys`: which row
//! - `commit`: what an ingestion stores in one transaction
//! - `upsert`, `episodes`, `words`: projects, episodes, turns: written, read, packed
//! - `archive`: blobs and segments
//! - `backup`, `salvage`: copies of the database, and what can be saved of a damaged one
//! - `sources`: files that were read, how far, by whom, what was skipped
//! - `queue`: turns that the lexical index must still take
//! - `structure`: code, files, tools and errors of turns; conversations as they are listed
//! - `vectors`: what was embedded, and turns that the embedder and the vector indexes must still take
//! - `jobs`: work that waits
//! - `notes`: notes, and what belongs to no project
//! - `forget`: deletion that leaves nothing; the one way to remove a turn
//! - `overview`: counts for people
//!
//! Rows and SQL never leave this module, domain types do: callers say what they want done, and only this module
//! begins transactions. Every statement has fixed text and bound parameters. A migrated table is described in `migrations/`.

mod archive;
pub(crate) mod backup;
mod commit;
#[cfg(test)]
mod conformance;
mod connection;
mod episodes;
mod error;
mod forget;
mod jobs;
mod keys;
mod migrate;
mod notes;
mod options;
mod overview;
mod queue;
mod salvage;
mod sessions;
mod sources;
mod structure;
mod transaction;
mod upsert;
mod vectors;
mod words;

pub(crate) use archive::{ArchivePlan, LineRun, NewBlob, Run, StoredBlob};
pub use backup::Backup;
pub(crate) use commit::{Commit, Entries, Entry, Home, SaidTurn};
pub use connection::{DATABASE_FILE, Store};
pub use episodes::ShownTurn;
pub(crate) use episodes::{IndexedTurn, SPOKEN_GAP};
pub use error::{StoreError, StoreResult};
pub(crate) use forget::Forgetting;
pub use forget::Forgotten;
pub(crate) use jobs::{Failed, JobRow, NewJob};
pub(crate) use keys::{BlobKey, EmbedderKey, EpisodeKey, FileKey, LabelKey, ProjectKey, RowKey, TurnKey, VectorKey};
pub use migrate::SCHEMA_VERSION;
pub(crate) use notes::StoredNote;
pub use options::StoreOptions;
pub use overview::{AgentCount, EpisodeCount, ProjectSummary, RedactionCount, SkipCount, StoreStats};
pub(crate) use salvage::{Content, Salvage};
pub(crate) use sessions::SessionFilter;
pub use sessions::{ConversationSummary, EpisodeSummary, SessionOrder};
pub use sources::SourceFileSummary;
pub(crate) use sources::{Advance, Checkpoint, FileRow, Skips};
pub(crate) use structure::ChangeFilter;
pub(crate) use vectors::{EmbeddedTurn, MODEL_LIST, QueuedVector, STATIC_LIST, TextHash};
