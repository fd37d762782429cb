//! Results about contradictions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_engine as engine;

use super::MemoryRecord;

/// Two memories that cannot both hold.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ConflictRecord {
    /// Its kind: direct, value, temporal, granularity; none: it was stated, and the words do not show it.
    pub kind: Option<String>,
    /// Its weight: minor, major, critical.
    pub severity: String,
    /// How surely the newer one changes the older, if that is all that was found: likely, possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Words that both share, stemmed.
    pub about: Vec<String>,
    /// The values that differ: of the older, of the newer.
    pub values: Option<[String; 2]>,
    /// Why it was stated.
    pub reason: Option<String>,
    /// The memory that became true first.
    pub older: MemoryRecord,
    /// The other one.
    pub newer: MemoryRecord,
    /// How it should be settled: recency (the newer holds), authority (a person's word holds), conditional (both hold), escalate
    /// (somebody who knows has to say).
    pub resolution: String,
    /// Id of the memory that likely holds.
    pub advice: Option<String>,
    /// Why it likely does.
    pub advice_reason: Option<String>,
}

/// The items that wait for a person, the worst first (`yore review`).
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Inbox {
    /// Pairs of which one may change or contradict the other.
    pub conflicts: Vec<ConflictRecord>,
    /// Memories that nobody confirmed.
    pub memories: Vec<MemoryRecord>,
    /// Number of all such pairs.
    #[serde(default)]
    pub conflicts_total: u64,
    /// Number of all memories that nobody confirmed.
    #[serde(default)]
    pub memories_total: u64,
}

/// Memories that contradict each other (`get_contradictions`).
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Contradictions {
    /// The conflicts that are not settled, the gravest first.
    pub contradictions: Vec<ConflictRecord>,
}

impl From<&engine::OpenConflict> for ConflictRecord {
    fn from(open: &engine::OpenConflict) -> Self {
        let found = open.conflict.as_ref();
        let advice = open.advice();
        Self {
            kind: found.map(|found| found.kind.as_str().to_owned()),
            severity: open.severity().as_str().to_owned(),
            change: open.change.map(|grade| grade.as_str().to_owned()),
            about: found.map(|found| found.about.clone()).unwrap_or_default(),
            values: found.and_then(|found| found.values.clone()),
            reason: open.reason.clone(),
            older: MemoryRecord::of(&open.older, Vec::new()),
            newer: MemoryRecord::of(&open.newer, Vec::new()),
            resolution: open.resolution().as_str().to_owned(),
            advice: advice.map(|(id, _)| id.to_string()),
            advice_reason: advice.map(|(_, why)| why.to_owned()),
        }
    }
}
