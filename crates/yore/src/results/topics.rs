//! Results about topics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_engine::{SessionTopics as EngineSession, Topic as EngineTopic};

use super::time;

/// A session with its topics.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SessionTopics {
    /// The agent's own id of the session.
    pub session: String,
    /// Title of the session.
    pub title: Option<String>,
    /// Name of the project.
    pub project: Option<String>,
    /// Time of the last turn, RFC 3339.
    pub updated: Option<String>,
    /// Summary of the session, if a model gave it one.
    pub summary: Option<String>,
    /// Topics in order, or those that were asked for.
    pub topics: Vec<Topic>,
}

/// A stretch of a session about one topic.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Topic {
    /// Id of its first turn.
    pub turn: String,
    /// Id of its last turn.
    pub last: String,
    /// Name: a request of the person.
    pub name: String,
    /// Sentences that say most about it.
    pub summary: Vec<String>,
    /// Its outcome, in the agent's words.
    pub outcome: Option<String>,
    /// Names of its files, changed ones first.
    pub files: Vec<String>,
    /// Number of its exchanges.
    pub exchanges: u32,
    /// Time of its first turn, RFC 3339.
    pub started: Option<String>,
    /// Sign by which it was divided from the one before: `meaning`, `files`, `pause` or `words`.
    pub sign: Option<String>,
    /// Parts of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Topic>,
    /// Similar topics of other sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<SimilarTopic>,
}

/// A similar topic of another session.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SimilarTopic {
    /// Id of its first turn.
    pub turn: String,
    /// Its name.
    pub name: String,
    /// Time of its first turn, RFC 3339.
    pub started: Option<String>,
    /// Similarity, 0 to 1.
    pub similarity: f32,
}

impl From<&EngineSession> for SessionTopics {
    fn from(session: &EngineSession) -> Self {
        Self {
            session: session.session.clone(),
            title: session.title.clone(),
            project: session.project.clone(),
            updated: session.updated.and_then(|at| time(Some(at))),
            summary: session.summary.clone(),
            topics: session.topics.iter().map(Topic::from).collect(),
        }
    }
}

impl From<&EngineTopic> for Topic {
    fn from(topic: &EngineTopic) -> Self {
        Self {
            turn: topic.turn.to_string(),
            last: topic.last.to_string(),
            name: topic.name.clone(),
            summary: topic.summary.clone(),
            outcome: topic.outcome.clone(),
            files: topic.files.clone(),
            exchanges: topic.exchanges,
            started: topic.started.and_then(|at| time(Some(at))),
            sign: topic.sign.map(|sign| sign.as_str().to_owned()),
            parts: topic.parts.iter().map(Topic::from).collect(),
            similar: topic
                .similar
                .iter()
                .map(|other| SimilarTopic {
                    turn: other.turn.to_string(),
                    name: other.name.clone(),
                    started: other.started.and_then(|at| time(Some(at))),
                    similarity: other.similarity,
                })
                .collect(),
        }
    }
}
