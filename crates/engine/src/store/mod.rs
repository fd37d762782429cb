//! All access to SQLite: one file, one writer at a time, any number of readers (WAL).
//!
//! - [`Store`] (`connection`): opens, migrates and provides connections; `options`, `error`
//! - `migrate`: numbered migrations, in a transaction after a backup
//! - `transaction`: statements, with errors that name the database
//! - `keys`: keys of rows
//! - `commit`: the data that an ingestion stores in one transaction
//! - `upsert`, `episodes`, `exchanges`, `words`: projects, episodes, turns: written, read, packed
//! - `extraction`: which conversations were read by extractors; `spans`: their topics; `summaries`: what a model said of them; `special_cases`: exceptions of projects, facts of branches; `judged`: which memories a model compared
//! - `archive`: blobs and segments
//! - `backup`, `salvage`: copies of the database, and rescue of data from a damaged one
//! - `sources`: source files with checkpoints, leases and skipped lines
//! - `queue`: turns that wait for the lexical index
//! - `structure`: code, files, tools and errors of turns; summaries of conversations
//! - `vectors`: embedded texts, and turns that wait for the embedder and the vector indexes
//! - `jobs`: background work that waits
//! - `notes`: notes, and other documents without a project
//! - `memories`, `entities`: memories, entities and relations as rows; `operations`: their changes
//! - `forget`: complete deletion; the one way to remove a turn; `redact`: what new rules find in memories
//! - `overview`: counts for people
//!
//! Rows and SQL never leave this module, domain types do: callers ask for operations, and only this module
//! begins transactions. Every statement has fixed text and bound parameters. The migrations in `migrations/`
//! describe the tables.

mod adapt;
mod archive;
mod assertions;
pub(crate) mod backup;
mod commit;
#[cfg(test)]
mod conformance;
mod connection;
mod entities;
mod episodes;
mod error;
mod exchanges;
mod extraction;
mod forget;
mod found_memories;
mod items;
mod job_rows;
mod judged;
mod keys;
mod ledger;
mod memories;
mod merges;
mod migrate;
mod notes;
mod operations;
mod options;
mod overview;
mod projects;
mod queue;
mod redact;
mod revisions;
mod salvage;
mod sessions;
mod sources;
mod spans;
mod special_cases;
mod structure;
mod summaries;
mod transaction;
mod upsert;
mod vectors;
mod witnesses;
mod words;

pub(crate) use archive::{ArchivePlan, LineRun, NewBlob, Run, StoredBlob};
pub use backup::Backup;
pub(crate) use commit::{Commit, Entries, Entry, Home, SaidTurn};
pub use connection::{DATABASE_FILE, Store};
pub use episodes::ShownTurn;
pub use error::{StoreError, StoreResult};
pub(crate) use extraction::Shape;
pub(crate) use forget::{ForgetPlan, Forgetting};
pub use forget::{Forgotten, SelectedItem};
pub(crate) use found_memories::{Beside, EvidenceRow, MemoryOutline, NamedMemory, Stands};
pub(crate) use items::{IndexedItem, ItemClass, ItemHead, SPOKEN_GAP};
pub(crate) use job_rows::{Failed, JobRow, NewJob};
pub(crate) use judged::UnjudgedMemory;
pub(crate) use keys::{
    BlobKey, EmbedderKey, EpisodeKey, FileKey, ItemKey, LabelKey, MemoryKey, ProjectKey, RowKey, TurnKey, VectorKey,
};
pub(crate) use ledger::{BATCH, NewCall, Spending};
pub use ledger::{DailyLimits, LedgerRow, Spent};
pub use memories::{MemoryFilter, MemoryUse};
pub use merges::Moved;
pub use migrate::SCHEMA_VERSION;
pub(crate) use notes::StoredNote;
pub use operations::UndoError;
pub(crate) use operations::{NewOperation, OperationTx};
pub use options::StoreOptions;
pub use overview::{AgentCount, EpisodeCount, MemoryCounts, ProjectSummary, RedactionCount, SkipCount, StoreStats};
pub use projects::ProjectMerge;
pub(crate) use salvage::{Content, Salvage};
pub(crate) use sessions::SessionFilter;
pub use sessions::{ConversationSummary, EpisodeSummary, SessionOrder};
pub use sources::SourceFileSummary;
pub(crate) use sources::{Advance, Checkpoint, FileRow, Skips};
pub(crate) use spans::StoredSpan;
pub(crate) use structure::{ChangeFilter, FileEvent, Prompt, RecordedShape};
pub(crate) use summaries::StoredSummary;
pub(crate) use vectors::{EmbeddedItem, MODEL_LIST, QueuedVector, STATIC_LIST, TextHash};
pub(crate) use witnesses::{AnchoredMemory, StoredVerdict};
