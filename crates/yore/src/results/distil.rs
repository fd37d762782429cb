//! Results of `distil`: the lines of a conversation, and the report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_engine as engine;

use super::time;

/// The new lines of a conversation.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Material {
    /// The agent's own id of the session.
    pub session: String,
    /// Title of the session.
    pub title: Option<String>,
    /// Name of the project.
    pub project: Option<String>,
    /// Name of the latest topic that was given one.
    pub topic: Option<String>,
    /// Summary of the same.
    pub summary: Option<String>,
    /// Memories of the session.
    pub known: Vec<KnownMemory>,
    /// Memories of the project from other sessions that are nearest to the new lines.
    pub near: Vec<KnownMemory>,
    /// Known things that the new lines name, each with its kind.
    pub things: Vec<KnownThing>,
    /// Memories that rules made of the session and nobody confirmed.
    pub proposed: Vec<KnownMemory>,
    /// Open questions, problems and todos of the project that the new lines may close.
    pub open: Vec<KnownMemory>,
    /// The last lines that were distilled before.
    pub recent: Vec<Line>,
    /// The lines to distil.
    pub new: Vec<Line>,
    /// Number of lines that follow these.
    pub left: u64,
}

/// A memory of the session or its project.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct KnownMemory {
    /// Its short id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Its statement.
    pub statement: String,
}

/// A thing that is known.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct KnownThing {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
}

/// A line of a conversation.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Line {
    /// Its number, from 1.
    pub line: u32,
    /// `human`, `assistant` or `summary`.
    pub role: String,
    /// When it was said, RFC 3339.
    pub time: Option<String>,
    /// Its words.
    pub text: String,
}

/// The fate of an agent's findings.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DistilReport {
    /// New memories.
    pub recorded: u64,
    /// Known memories that got evidence.
    pub joined: u64,
    /// Known already.
    pub known: u64,
    /// Relations that were stated.
    pub relations: u64,
    /// Memories of rules that were put away.
    pub dropped: u64,
    /// Reasons why something was not recorded.
    pub problems: Vec<String>,
    /// True if the topic was named.
    pub topic_named: bool,
    /// Lines of the session that wait.
    pub left: u64,
}

impl From<&engine::Material> for Material {
    fn from(material: &engine::Material) -> Self {
        let known = |(id, kind, statement): &(String, yore_core::memory::MemoryKind, String)| KnownMemory {
            id: id.clone(),
            kind: kind.as_str().to_owned(),
            statement: statement.clone(),
        };
        let thing = |(name, kind): &(String, yore_core::entity::EntityKind)| KnownThing {
            name: name.clone(),
            kind: kind.as_str().to_owned(),
        };
        Self {
            session: material.session.clone(),
            title: material.title.clone(),
            project: material.project.clone(),
            topic: material.topic.clone(),
            summary: material.summary.clone(),
            known: material.known.iter().map(known).collect(),
            near: material.near.iter().map(known).collect(),
            things: material.things.iter().map(thing).collect(),
            proposed: material.proposed.iter().map(known).collect(),
            open: material.open.iter().map(known).collect(),
            recent: material.recent.iter().map(Line::from).collect(),
            new: material.new.iter().map(Line::from).collect(),
            left: material.left,
        }
    }
}

impl From<&engine::Line> for Line {
    fn from(line: &engine::Line) -> Self {
        Self { line: line.line, role: line.role.as_str().to_owned(), time: time(line.at), text: line.text.clone() }
    }
}

impl From<&engine::DistilReport> for DistilReport {
    fn from(report: &engine::DistilReport) -> Self {
        Self {
            recorded: report.recorded,
            joined: report.joined,
            known: report.known,
            relations: report.relations,
            dropped: report.dropped,
            problems: report.problems.iter().map(ToString::to_string).collect(),
            topic_named: report.is_topic_named,
            left: report.left,
        }
    }
}
