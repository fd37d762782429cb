//! Remembers and retrieves, synchronously, behind one facade: [`Engine`].
//!
//! In levels, a module uses lower ones only:
//!
//! - 0 `platform`: what differs between operating systems; [`transport`]: fetches one page over HTTP
//! - 1 `store`: all of SQLite
//! - 2 `index`: candidate rows from the full-text index; [`ingest`]: the outside world to episodes
//! - 3 `retrieve`: answers a question; `conversations`: lists and divides what was said
//! - 5 `jobs`: a durable queue of work
//! - 6 this file and `engine`: the facade
//! - 7 `pages`: of the facade, what needs the network; `notes`: what somebody asks to remember; `upkeep`: backups,
//!   repair
//! - 8 `offer`: what is given unasked
//!
//! There is no async, no printing, and no reading of environment or home here: paths, time and
//! settings are arguments.

mod conversations;
pub mod document;
pub mod embed;
mod embedding;
mod engine;
mod index;
pub mod ingest;
mod jobs;
mod notes;
mod offer;
mod pages;
pub mod platform;
mod retrieve;
mod store;
pub mod transport;
mod upkeep;

pub use conversations::ConversationsRequest;
pub use embedding::EmbedReport;
pub use engine::{
    Engine, EngineError, EngineOptions, Finding, ForgetRequest, IndexHealth, SessionsRequest, Severity, ShowAnswer, ShowRequest,
    Statistics, VectorHealth,
};
pub use index::vector::{
    Rescore, ResetReason, TurnMetadata, VectorBatch, VectorChunk, VectorError, VectorHit, VectorIndex, VectorOptions,
    VectorSearch, VectorWriter, Written,
};
pub use index::{CompiledFilter, IndexError, SyncReport};
pub use jobs::{Failure, Job, JobCounts, JobKind, JobWorker, MOST_FAILURES, NewJob};
pub use notes::{CONTEXT, NoteSummary, NotesRequest, RememberRequest, Remembered, STANDING, UNCONFIRMED};
pub use offer::{Brief, BriefRequest, Occasion, Offer, OfferRequest, Offered, Said, Worked};
pub use pages::{FetchOptions, PageChange, PageReport};
pub use retrieve::{Found, Hit, Missing, RecallAnswer, RecallRequest, SessionHit};
pub use store::{
    AgentCount, Backup, ConversationSummary, EpisodeCount, EpisodeSummary, Forgotten, ProjectSummary, RedactionCount,
    SCHEMA_VERSION, SessionOrder, ShownTurn, SkipCount, SourceFileSummary, StoreError, StoreOptions, StoreStats,
};
pub use upkeep::{RepairReport, Restored, backups, repair, restore};
