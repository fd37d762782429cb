//! All access to SQLite: one file, one writer at a time, any number of readers (WAL).
//!
//! - `archive`: files, lines, sessions, turns, notes, projects, forgetting: a port
//! - `statements`: memories, entities, relations, operations, topics and summaries, what extractors have read: a port
//! - `feed`: the queues, vectors and data that the indexes read: a port
//! - `local`: [`Store`] itself (opens, migrates and provides connections), transactions, backups, salvage, jobs, ledger, index state
//! - `keys`: keys of rows; `error`: errors of the store; `conformance`: a story of each method of a port, as tests
//!
//! A second implementation would provide the three ports; `local` is SQLite's own.
//!
//! Rows and SQL never leave this module, domain types do: callers ask for operations, and only this module
//! begins transactions. Every statement has fixed text and bound parameters. `schema.sql` in `local` describes
//! the tables, and its migrations lead to it.

mod archive;
#[cfg(test)]
mod conformance;
mod error;
mod feed;
mod keys;
mod local;
mod statements;

pub(crate) use archive::blobs::{ArchivePlan, LineRun, NewBlob, Run, Segment, StoredBlob, Unused};
pub(crate) use archive::commit::{Commit, Entries, Entry, Home, SaidTurn};
pub use archive::episodes::ShownTurn;
pub(crate) use archive::episodes::{Episodes, NamedEpisode, Pass, TurnChoice, TurnCount, Turns};
pub(crate) use archive::exchanges::{ExchangePlace, ExchangeWork};
pub(crate) use archive::forget::{ForgetPlan, Forgetting};
pub use archive::forget::{Forgotten, SelectedItem};
pub use archive::merges::Moved;
pub(crate) use archive::notes::{ContextHead, Contexts, StoredNote, Versions};
pub(crate) use archive::overview::Wanted;
pub use archive::overview::{AgentCount, EpisodeCount, RedactionCount, SkipCount, StoreStats};
pub(crate) use archive::projects::{ProjectChange, StoredAlias, StoredProject};
pub use archive::projects::{ProjectMerge, ProjectSummary};
pub use archive::sessions::{ConversationSummary, EpisodeSummary, ForgottenSessions, SessionOrder};
pub(crate) use archive::sessions::{SessionFilter, Titles};
pub use archive::sources::SourceFileSummary;
pub(crate) use archive::sources::{Advance, Checkpoint, FileNote, FileRow, Files, Skips};
pub(crate) use archive::structure::{ChangeFilter, FileEvent, Prompt, RecordedShape};
pub use error::{StoreError, StoreResult};
pub(crate) use feed::items::{IndexedItem, ItemClass, ItemHead, SPOKEN_GAP};
pub(crate) use feed::queue::{Again, MODEL_LIST, Queue, Queued, STATIC_LIST};
pub(crate) use feed::vectors::{ChosenEmbedder, EmbeddedItem, TextHash};
pub(crate) use keys::{
    BlobKey, EmbedderKey, EpisodeKey, FileKey, ItemKey, LabelKey, MemoryKey, ProjectKey, QueuePlace, RecordKey, RowKey, TurnKey,
    VectorKey,
};
pub(crate) use local::backup;
pub use local::backup::Backup;
pub use local::connection::{DATABASE_FILE, Store};
pub(crate) use local::job_rows::{Failed, JobRow, NewJob};
pub(crate) use local::ledger::{BATCH, NewCall, Spending};
pub use local::ledger::{DailyLimits, LedgerRow, Spent};
pub use local::migrate::SCHEMA_VERSION;
pub use local::options::StoreOptions;
pub(crate) use local::salvage::{Content, Salvage};
pub(crate) use local::state::{INSIGHTS, INSIGHTS_BEGUN, WRITTEN_BEGUN, WRITTEN_SUMMARIES};
pub(crate) use local::upkeep_rows::UpkeepRow;
pub(crate) use statements::attempts::{Attempts, StoredAttempt};
pub(crate) use statements::counts::WeeksWanted;
pub use statements::counts::{GrowthWeek, MemoryCounts, UsedMemory, Uses};
pub(crate) use statements::entities::Relations;
pub(crate) use statements::extraction::Shape;
pub(crate) use statements::found_memories::{
    Beside, EntityName, EntityNames, EvidenceOf, EvidenceRow, MemoryOutline, MemoryStamp, Named, NamedMemory, Outlines, Past,
    Stands,
};
pub(crate) use statements::judged::{Compared, UnjudgedMemory};
pub(crate) use statements::memories::{Memories, TimesHeld};
pub use statements::memories::{MemoryFilter, MemoryUse};
pub use statements::operations::UndoError;
pub(crate) use statements::operations::{NewOperation, OperationTx, Undoing};
pub(crate) use statements::spans::{EventFilter, Spans, StoredEvent, StoredSpan, Structure};
pub(crate) use statements::special_cases::Exceptions;
pub(crate) use statements::summaries::{StoredSummary, TopicName};
pub use statements::vitals::LoggedUse;
pub(crate) use statements::vitals::{Vitals, WantedUses};
pub(crate) use statements::witnesses::StoredVerdict;
