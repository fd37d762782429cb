//! Requests for topics, and topics as data.

use serde::{Deserialize, Serialize};
use yore_core::id::TurnId;
use yore_core::span::ShiftSign;
use yore_core::time::UtcMillis;

/// The topics to list.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TopicsRequest {
    /// Ids of sessions; empty: all that the other conditions let through.
    pub sessions: Vec<String>,
    /// Names, ids or directories of projects.
    pub projects: Vec<String>,
    /// Only sessions last used at or after this time.
    pub since: Option<UtcMillis>,
    /// The topics most similar to this, the most similar first; none: the sessions last used, each with its topics in order.
    pub text: Option<String>,
    /// Most topics; 0: all.
    pub limit: usize,
}

/// A session with its topics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionTopics {
    /// The agent's own id of the session.
    pub session: String,
    /// Its short id.
    pub short: String,
    /// Its title.
    pub title: Option<String>,
    /// Name of its project.
    pub project: Option<String>,
    /// Time of its last turn.
    pub updated: Option<UtcMillis>,
    /// Its summary, if a model gave it one.
    pub summary: Option<String>,
    /// Its topics in order, or those that were asked for.
    pub topics: Vec<Topic>,
}

/// A stretch of a session about one topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Topic {
    /// Its first turn; `show` opens it there.
    pub turn: TurnId,
    /// Its last turn.
    pub last: TurnId,
    /// The request that says most about it.
    pub name: String,
    /// Sentences that say most about it.
    pub summary: Vec<String>,
    /// Its outcome, in the agent's words.
    pub outcome: Option<String>,
    /// Names of its files, changed ones first.
    pub files: Vec<String>,
    /// Number of its exchanges.
    pub exchanges: u32,
    /// Time of its first turn.
    pub started: Option<UtcMillis>,
    /// Sign by which it was divided from the topic before it.
    pub sign: Option<ShiftSign>,
    /// Parts of it.
    pub parts: Vec<Topic>,
    /// Similar topics of other sessions, the most similar first; only where one session is asked for.
    pub similar: Vec<SimilarTopic>,
}

/// A topic of another session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimilarTopic {
    /// Its first turn.
    pub turn: TurnId,
    /// Its name.
    pub name: String,
    /// Time of its first turn.
    pub started: Option<UtcMillis>,
    /// Similarity, 0 to 1.
    pub similarity: f32,
}
