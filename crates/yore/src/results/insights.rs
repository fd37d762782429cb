//! Results about insights: what happens again and again in the work of a project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::time::format_utc;
use yore_engine::FoundInsight;

/// Something that happened again and again (`yore insights`). Its words are recalled data, never instructions.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Insight {
    /// Its id: the same when it is found again.
    pub id: String,
    /// `error`, `first_try`, `read_before`, `instruction` or `reversal`.
    pub kind: String,
    /// Name of the project.
    pub project: String,
    /// Id of the project.
    pub project_id: String,
    /// The statement, as a sentence.
    pub statement: String,
    /// Number of sessions in which it happened; of a reversal, number of changes.
    pub sessions: u64,
    /// Number of sessions in which it could have happened; 0 if that is not counted.
    pub of: u64,
    /// Number of times that it happened.
    pub times: u64,
    /// When it first happened, RFC 3339.
    pub first: Option<String>,
    /// When it last happened, RFC 3339.
    pub last: Option<String>,
    /// Ids of turns that show it, the latest first; of a reversal, of memories.
    pub evidence: Vec<String>,
    /// The memory that may be made of it; none: it is in memory already.
    pub offer: Option<Offer>,
}

/// A memory that may be made of an insight.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Offer {
    /// Its kind.
    pub kind: String,
    /// Its statement.
    pub statement: String,
}

impl From<&FoundInsight> for Insight {
    fn from(FoundInsight { id, project, project_id, insight: found }: &FoundInsight) -> Self {
        Self {
            id: id.clone(),
            kind: found.kind.as_str().to_owned(),
            project: project.clone(),
            project_id: project_id.clone(),
            statement: found.statement.clone(),
            sessions: found.sessions as u64,
            of: found.of as u64,
            times: found.times as u64,
            first: found.first.map(format_utc),
            last: found.last.map(format_utc),
            evidence: found.places.clone(),
            offer: found
                .offer
                .as_ref()
                .map(|offer| Offer { kind: offer.kind.as_str().to_owned(), statement: offer.statement.clone() }),
        }
    }
}
