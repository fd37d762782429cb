//! Stores and retrieves, synchronously, behind one facade: [`Engine`].
//!
//! A module uses modules of lower levels only; `ARCHITECTURE.md` has the list, "Levels of the engine".
//!
//! There is no async, no printing, and no reading of the environment or the home directory here: paths, time
//! and settings are arguments.

mod answer;
mod archive;
mod ask;
mod audit;
mod budget;
mod categories;
mod category_trees;
mod deepen;
pub mod embed;
mod embedding;
mod engine;
mod error;
mod extraction;
mod handoff;
mod index;
pub mod ingest;
mod insights;
pub mod llm;
mod memories;
mod outcomes;
pub mod platform;
mod recursion;
mod retrieve;
mod rules;
mod statistics;
mod store;
mod suggest;
mod topics;
pub mod transport;
mod upkeep;
mod witness;

pub use archive::{
    CUTS, CleanedUp, Context, ContextDepth, ContextMatch, ContextPage, ContextPlace, ContextReading, ContextSearch, ContextTree,
    FetchOptions, ForgetRequest, ForgetSelection, FoundContexts, MergeOffer, NoPlace, NoteSummary, NotesRequest, OpenedContext,
    Page, PageChange, PageReport, PageTurn, ProjectMerged, ProjectQuery, RELATED_TAG, ReachedContext, RememberRequest,
    Remembered, ReplayReport, ReplayRequest, ReplayRow, STANDING, SessionsRequest, ShowAnswer, ShowRequest, Start, Surroundings,
    WhichVersion,
};
pub use ask::{AskAnswer, AskRequest, AskSentence, AskSource, AskStep, Unwritten};
pub use audit::{AuditFile, AuditFinding, AuditKind, AuditReport, AuditRequest, AuditScope};
pub use budget::{Ledger, Price, Terms, switch_models};
pub use categories::{CategoriesRequest, CategoryOutline, CategorySummary};
pub use deepen::{DeepLine, DeepenRequest, Deepened};
pub use embedding::EmbedReport;
pub use engine::{Engine, EngineOptions, IndexHealth, ModelServers, VectorHealth};
pub use error::{EngineError, MemoryError, ProjectNameError};
pub use extraction::{
    ChooseModel, ConsolidateReport, ConsolidateRequest, DistilReport, Distilled, DistilledEntity, DistilledField, DistilledItem,
    DistilledRelation, DistilledTopic, Doubt, ExtractReport, ExtractRequest, ExtractedSession, FailReason, FailedSession,
    ItemProblem, LearnReport, LearnRequest, Learning, Line, Material, MaterialRequest, ModelAccess, ModelReport, NamedTopics,
    RefusedItem, RelationProblem, StopReason, SummarisedCategories,
};
pub use handoff::{Handoff, HandoffItem, HandoffPoint, HandoffRequest, HandoffSection, RecollectRequest};
pub use index::vector::{
    Rescore, ResetReason, TurnMetadata, VectorBatch, VectorChunk, VectorError, VectorHit, VectorIndex, VectorOptions,
    VectorSearch, VectorWriter, Written,
};
pub use index::{CollectionCounts, CompiledFilter, IndexError, SyncReport};
pub use insights::{FoundInsight, InsightsRequest};
pub use llm::dollars;
pub use memories::{
    AlikeEntities, ConflictPlace, Done, Exported, Extracted, GivenEntity, GivenEvidence, GivenRecords, GivenRelation, Held,
    HeldMemory, HeldRequest, Imported, Judged, MemoryEdit, MemoryList, MergedDuplicates, NamedRelation, NewMemory, OpenConflict,
    OpenedEntity, OpenedMemory, Reached, Settlement, SharedRecord, SharedRequest, SharedTaken, StoredMemory, TAKES_SHARED,
    Touched, Traversal,
};
pub use outcomes::{OutcomesRequest, SessionOutcome};
#[cfg(feature = "python")]
pub use recursion::WORKER;
pub use recursion::{
    Bound, Cited, DeepAnswer, DeepRequest, PiecesRequest, Progress, ShownLine, Stop, Trajectory, is_aggregate, trajectories,
};
pub use retrieve::{
    Anchor, AnswerTopic, ExchangeHits, Found, FoundMemory, Hit, MemorySource, Missing, PARTS, Packing, PartTimes, Passage,
    PastStatement, Qualified, RecallAnswer, RecallRequest, RecallTimes, Said, SearchedPeriod, SessionHit, Tuning, View, ViewRow,
    Withheld, WorkDone, exchanges,
};
pub use statistics::{Life, LifeRequest, Statistics, StatisticsRequest};
pub use store::{
    AgentCount, Backup, ConversationSummary, DailyLimits, EpisodeCount, EpisodeSummary, Forgotten, ForgottenSessions, GrowthWeek,
    LedgerRow, LoggedUse, MemoryCounts, MemoryFilter, MemoryUse, Moved, ProjectSummary, RedactionCount, SCHEMA_VERSION,
    SelectedItem, SessionOrder, ShownTurn, SkipCount, SourceFileSummary, Spent, StoreError, StoreOptions, StoreStats, UndoError,
    UsedMemory, Uses,
};
pub use suggest::{
    Against, Brief, BriefRequest, CommandRequest, SuggestRequest, Suggestion, Suggestions, TakenBack, Trigger, Warning, Worked,
};
pub use topics::{SessionTopics, SimilarTopic, Topic, TopicsRequest};
pub use upkeep::{
    Counts, Failure, Finding, Job, JobCounts, JobWorker, Lane, MOST_FAILURES, NewJob, RepairReport, Restored, Severity, Upkeep,
    UpkeepRun, UpkeepState, UpkeepTurn, Work, backups, examine_disk, repair, restore,
};
pub use witness::{CheckedMemory, CodeReport};
