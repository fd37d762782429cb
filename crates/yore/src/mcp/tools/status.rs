//! `status`: the contents of the memory, and whether it works.

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_core::time::{UtcMillis, format_utc};
use yore_engine::{AgentCount, SessionsRequest, Statistics};

use super::{Call, Effect, described};
use crate::engine_handle::EngineHandle;
use crate::error::CliResult;
use crate::mcp::answer::Answer;
use crate::mcp::arguments::parse;
use crate::render::memories::memory_lines;
use crate::render::text::{bytes, count, counted};
use crate::results::DaemonStatus;
use crate::results::{AgentSize, DaemonState, MemoryState};

const DESCRIPTION: &str = "What the memory holds, whether it captures, and what is missing. Call when recall seems incomplete or \
the person asks about yore.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

pub fn tool(name: &'static str) -> Result<Tool, String> {
    described::<Arguments>(name, "State of the memory", DESCRIPTION, Effect::Reads)
}

pub async fn call(call: Call) -> CliResult<Answer> {
    let Arguments {} = parse(call.arguments)?;
    let facts = facts(&call.access.handle).await?;
    Ok(Answer::new(facts.lines().join("\n"), facts.data()))
}

/// Facts about the memory itself.
pub struct Facts {
    statistics: Statistics,
    /// Time of the last captured turn.
    last_said: Option<UtcMillis>,
    daemon: Option<DaemonStatus>,
}

/// Collects the facts.
pub async fn facts(handle: &EngineHandle) -> CliResult<Facts> {
    handle
        .with(|memory| {
            let latest = memory.sessions(SessionsRequest { limit: 1, ..SessionsRequest::default() })?;
            Ok(Facts {
                statistics: memory.statistics()?,
                last_said: latest.first().and_then(|session| session.updated),
                daemon: memory.daemon(),
            })
        })
        .await
}

impl Facts {
    fn totals(&self) -> (u64, u64, u64, u64) {
        let agents = &self.statistics.store.agents;
        let sum = |of: fn(&yore_engine::AgentCount) -> u64| agents.iter().map(of).sum();
        (sum(|agent| agent.sessions), sum(|agent| agent.subagents), sum(|agent| agent.documents), sum(|agent| agent.turns))
    }

    /// Describes the parts that answers have to do without.
    fn missing(&self) -> Vec<String> {
        let Statistics { index, vectors, .. } = &self.statistics;
        let mut missing = Vec::new();
        if vectors.model.is_none() {
            missing.push(
                "no local model: recall uses full-text search and the static table (`yore models fetch`, `yore embed`)"
                    .to_owned(),
            );
        } else if vectors.waiting > 0 {
            missing.push(format!("{} without vectors of the local model yet", counted(vectors.waiting, "turn")));
        }
        if index.queued > 0 {
            missing.push(format!("{} not in the index yet, searched in memory", counted(index.queued, "turn")));
        }
        if self.daemon.is_none() {
            missing
                .push("no daemon is running: new messages are read when a command needs them (`yore daemon start`)".to_owned());
        }
        let failed = self.daemon.as_ref().map_or(0, |daemon| daemon.jobs.dead);
        if failed > 0 {
            missing.push(format!("{} could not be read (`yore status --sources` lists them)", counted(failed, "source file")));
        }
        missing
    }

    /// Returns the facts as lines.
    pub fn lines(&self) -> Vec<String> {
        let (sessions, subagents, documents, turns) = self.totals();
        let mut lines = vec![format!(
            "{}, {}, {}, {} in {}, {}",
            counted(sessions, "session"),
            counted(subagents, "side conversation"),
            counted(documents, "document"),
            counted(turns, "turn"),
            counted(self.statistics.store.projects, "project"),
            bytes(self.statistics.directory_bytes)
        )];
        lines.extend(memory_lines(&self.statistics.store.memories));
        for agent in &self.statistics.store.agents {
            lines.push(format!("{}: {} turns", agent.agent, count(agent.turns)));
        }
        lines.push(match self.last_said {
            Some(at) => format!("latest captured words: {}", format_utc(at)),
            None => "nothing captured yet".to_owned(),
        });
        lines.push(match &self.daemon {
            Some(daemon) if daemon.turns > 0 => {
                format!("daemon: running, version {}, {} read since it started", daemon.version, counted(daemon.turns, "turn"))
            }
            Some(daemon) => format!("daemon: running, version {}", daemon.version),
            None => "daemon: not running".to_owned(),
        });
        lines.extend(self.missing().into_iter().map(|missing| format!("missing: {missing}")));
        lines
    }

    /// Returns the facts as data.
    pub fn data(&self) -> MemoryState {
        let (sessions, subagents, documents, turns) = self.totals();
        let Statistics { store, index, vectors, directory_bytes } = &self.statistics;
        let agent = |agent: &AgentCount| AgentSize {
            agent: agent.agent.clone(),
            sessions: agent.sessions,
            subagents: None,
            documents: None,
            turns: agent.turns,
        };
        let daemon = |daemon: &DaemonStatus| DaemonState {
            version: daemon.version.clone(),
            started: (daemon.started_ms > 0).then(|| format_utc(daemon.started_ms)),
            turns_read: daemon.turns,
            last_read: daemon.last_batch_ms.map(format_utc),
        };
        MemoryState {
            sessions,
            subagents,
            documents,
            turns,
            projects: store.projects,
            memories: (&store.memories).into(),
            forgotten: store.forgotten_episodes,
            agents: store.agents.iter().map(agent).collect(),
            bytes: *directory_bytes,
            indexed_turns: index.indexed,
            queued_turns: index.queued,
            embedded_turns: vectors.embedded_turns,
            model: vectors.model.clone(),
            redactions: store.redactions.iter().map(|redaction| redaction.count).sum(),
            last_captured: self.last_said.map(format_utc),
            daemon: self.daemon.as_ref().map(daemon),
            missing: self.missing(),
        }
    }
}
