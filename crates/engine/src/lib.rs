//! Stores and retrieves, synchronously, behind one facade: [`Engine`].
//!
//! A module uses modules of lower levels only; `ARCHITECTURE.md` has the list, "Levels of the engine".
//!
//! There is no async, no printing, and no reading of the environment or the home directory here: paths, time
//! and settings are arguments.

mod accounts;
mod checks;
pub mod child;
mod distil;
pub mod document;
pub mod embed;
mod embedding;
mod engine;
mod error;
mod extract;
mod forget;
mod git;
mod hypothetical;
mod index;
pub mod ingest;
mod jobs;
pub mod llm;
mod memories;
mod model_consolidate;
mod model_extract;
mod model_topics;
mod notes;
mod pages;
pub mod platform;
mod projects;
mod replay;
mod retrieve;
mod rules;
mod sessions;
mod show;
mod spending;
mod store;
mod suggest;
mod topics;
pub mod transport;
mod upkeep;
mod witness;

pub use accounts::{Ledger, Price, Terms, dollars};
pub use checks::{Finding, Severity, examine_disk};
pub use distil::{DistilReport, Distilled, DistilledItem, DistilledRelation, DistilledTopic, Line, Material, MaterialRequest};
pub use embedding::EmbedReport;
pub use engine::{Engine, EngineOptions, IndexHealth, ModelServers, Statistics, VectorHealth};
pub use error::{EngineError, MemoryError};
pub use extract::{ExtractReport, ExtractRequest, ExtractedSession, FailedSession};
pub use forget::{ForgetRequest, ForgetSelection};
pub use index::vector::{
    Rescore, ResetReason, TurnMetadata, VectorBatch, VectorChunk, VectorError, VectorHit, VectorIndex, VectorOptions,
    VectorSearch, VectorWriter, Written,
};
pub use index::{CompiledFilter, IndexError, SyncReport};
pub use jobs::{Failure, Job, JobCounts, JobWorker, Lane, MOST_FAILURES, NewJob, Upkeep, UpkeepState, Work};
pub use memories::{
    AlikeEntities, Done, Exported, Extracted, GivenEntity, GivenEvidence, GivenRecords, GivenRelation, Imported, Judged,
    MemoryEdit, MemoryList, NamedRelation, NewMemory, OpenConflict, OpenedEntity, OpenedMemory, Reached, Settlement,
    StoredMemory, Traversal,
};
pub use model_consolidate::{ConsolidateReport, ConsolidateRequest};
pub use model_extract::ModelReport;
pub use model_topics::NamedTopics;
pub use notes::{NoteSummary, NotesRequest, RememberRequest, Remembered, STANDING, WhichVersion};
pub use pages::{FetchOptions, PageChange, PageReport};
pub use projects::{MergeOffer, ProjectMerged, ProjectQuery};
pub use replay::{CUTS, ReplayReport, ReplayRequest, ReplayRow};
pub use retrieve::{
    Anchor, AnswerTopic, ExchangeHits, Found, FoundMemory, Hit, MemorySource, Missing, Packing, Passage, PastStatement,
    Qualified, RecallAnswer, RecallRequest, Said, SearchedPeriod, SessionHit, Tuning, WorkDone, exchanges,
};
pub use sessions::SessionsRequest;
pub use show::{NoPlace, Page, PageTurn, ShowAnswer, ShowRequest, Start, Surroundings};
pub use spending::{ByModel, ChooseModel};
pub use store::{
    AgentCount, Backup, ConversationSummary, DailyLimits, EpisodeCount, EpisodeSummary, Forgotten, LedgerRow, MemoryCounts,
    MemoryFilter, MemoryUse, Moved, ProjectSummary, RedactionCount, SCHEMA_VERSION, SelectedItem, SessionOrder, ShownTurn,
    SkipCount, SourceFileSummary, Spent, StoreError, StoreOptions, StoreStats, UndoError,
};
pub use suggest::{Brief, BriefRequest, SuggestRequest, Suggestion, Suggestions, Trigger, Worked};
pub use topics::{SessionTopics, SimilarTopic, Topic, TopicsRequest};
pub use upkeep::{RepairReport, Restored, backups, repair, restore};
pub use witness::{CheckedMemory, CodeReport};
