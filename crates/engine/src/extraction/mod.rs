//! Memories from conversations: found by rules, by the asking agent, or by a language model, and compared with each other.
//!
//! - `run`: reads the sessions that changed, with rules, and records what was found
//! - `citations`: finds which given memories the agent then repeated
//! - `refused`: why a part of what was found was not recorded
//! - `material`: the lines of a session that are given to whoever distils it, `readable`: their words, shortened
//! - `agent`: checks and records what an agent or a model found in them
//! - `model`: has a language model find memories; `summaries`: has one summarise topics and sessions
//! - `categories`: has one write the summaries of categories; `supported`: whether its evidence supports a sentence
//! - `learning`: the sessions that wait for a model, and a run over those that are quiet
//! - `compare`: has one compare memories; `hypothetical`: earlier statements that it supposes for that
//! - `model_access`: which model reads a project's conversations, and within which limits

mod agent;
mod categories;
mod citations;
mod compare;
mod hypothetical;
mod learning;
mod material;
mod model;
mod model_access;
mod readable;
mod refused;
mod run;
mod summaries;
mod supported;

pub use self::agent::{
    DistilReport, Distilled, DistilledEntity, DistilledField, DistilledItem, DistilledRelation, DistilledTopic,
};
pub use self::categories::SummarisedCategories;
pub use self::compare::{ConsolidateReport, ConsolidateRequest};
pub use self::learning::{LearnReport, LearnRequest, Learning};
pub use self::material::{Line, Material, MaterialRequest};
pub use self::model::ModelReport;
pub use self::model_access::{ChooseModel, ModelAccess, StopReason};
pub use self::refused::{Doubt, ItemProblem, RefusedItem, RelationProblem};
pub use self::run::{ExtractReport, ExtractRequest, ExtractedSession, FailReason, FailedSession};
pub use self::summaries::NamedTopics;
pub(crate) use self::supported::is_supported;
