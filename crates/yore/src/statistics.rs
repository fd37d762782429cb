//! Asks for the statistics of the memory once, for `yore stats` and the tools of agents, and makes them lines and data.

use std::collections::BTreeMap;

use yore_core::time::{UtcMillis, format_utc};
use yore_engine::{AgentCount, LifeRequest, ProjectQuery, SessionsRequest, Statistics, StatisticsRequest};
use yore_sources::project_names::names_of;

use crate::engine_handle::{MemoryClient, now};
use crate::error::CliResult;
use crate::inject::given;
use crate::llm::offset_minutes;
use crate::render::memories::memory_lines;
use crate::render::statistics;
use crate::render::text::{bytes, count, counted, harmless};
use crate::results::{AgentSize, DaemonState, DaemonStatus, MemoryLife, MemoryNumbers, MemoryState};
use crate::upkeep::timetable;

/// Days for which the tokens given to agents are summed.
pub const GIVEN_DAYS: i64 = 30;

/// Facts about the memory itself.
pub struct Facts {
    statistics: Statistics,
    life: Option<MemoryLife>,
    /// Time of the last captured turn.
    last_said: Option<UtcMillis>,
    daemon: Option<DaemonStatus>,
}

impl Facts {
    /// Collects sizes and counts.
    pub fn of(memory: &mut MemoryClient) -> CliResult<Self> {
        Self::asked(memory, StatisticsRequest::default())
    }

    /// Collects everything, of a project or of all; with so many weeks of growth, and at most so many memories in a list.
    pub fn with_life(memory: &mut MemoryClient, project: Option<String>, weeks: u32, most_used: usize) -> CliResult<Self> {
        let life = Some(LifeRequest { weeks, most_used, offset_minutes: offset_minutes() });
        let mut facts = Self::asked(memory, StatisticsRequest { project: project.clone(), life })?;
        let given = given_by_day(memory, project)?;
        let times = timetable(&memory.config().upkeep, now());
        facts.life = MemoryLife::of(&facts.statistics, &given, &times, now());
        Ok(facts)
    }

    fn asked(memory: &mut MemoryClient, request: StatisticsRequest) -> CliResult<Self> {
        let projects = request.project.iter().cloned().collect();
        let latest = memory.sessions(SessionsRequest { projects, limit: 1, ..SessionsRequest::default() })?;
        Ok(Self {
            statistics: memory.statistics(request)?,
            life: None,
            last_said: latest.first().and_then(|session| session.updated),
            daemon: memory.daemon(),
        })
    }

    fn totals(&self) -> (u64, u64, u64, u64) {
        let agents = &self.statistics.store.agents;
        let sum = |of: fn(&AgentCount) -> u64| agents.iter().map(of).sum();
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
        let mut lines = vec![self.size_line()];
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

    /// Returns the sizes in one line, and everything that takes longer.
    pub fn life_lines(&self) -> Vec<String> {
        let Some(life) = &self.life else { return self.lines() };
        let mut lines = vec![self.size_line()];
        lines.extend(statistics::life_lines(&MemoryNumbers::from(&self.statistics.store.memories), life));
        lines
    }

    fn size_line(&self) -> String {
        let (sessions, subagents, documents, turns) = self.totals();
        let size = format!(
            "{}, {}, {}, {}",
            counted(sessions, "session"),
            counted(subagents, "side conversation"),
            counted(documents, "document"),
            counted(turns, "turn"),
        );
        match &self.statistics.project {
            Some(project) => format!("{size} in project {}", harmless(project)),
            None => format!(
                "{size} in {}, {}",
                counted(self.statistics.store.projects, "project"),
                bytes(self.statistics.directory_bytes)
            ),
        }
    }

    /// Returns the facts as data.
    pub fn data(&self) -> MemoryState {
        let (sessions, subagents, documents, turns) = self.totals();
        let Statistics { project: _, store, index, vectors, directory_bytes, life: _ } = &self.statistics;
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
            life: self.life.clone(),
        }
    }
}

/// Returns tokens and answers that agents were given in the last days, by day; of a project, those of sessions in its directories.
pub fn given_by_day(memory: &mut MemoryClient, project: Option<String>) -> CliResult<BTreeMap<i64, (u64, u64)>> {
    let wanted = match project {
        Some(name) => memory.find_project(ProjectQuery::Name(name))?.map(|project| project.id),
        None => None,
    };
    let mut is_of: BTreeMap<String, bool> = BTreeMap::new();
    let mut days: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    for ((day, place), (tokens, answers)) in given::by_day(memory.directory(), now() - GIVEN_DAYS * 86_400_000, offset_minutes())
    {
        let is_counted = match (&wanted, is_of.get(&place)) {
            (None, _) => true,
            (Some(_), Some(known)) => *known,
            (Some(wanted), None) => {
                let found = memory.find_project(ProjectQuery::Directory(names_of(&place)))?;
                let is_wanted = found.is_some_and(|found| found.id == *wanted);
                is_of.insert(place, is_wanted);
                is_wanted
            }
        };
        if is_counted {
            let sum = days.entry(day).or_default();
            *sum = (sum.0 + tokens, sum.1 + answers);
        }
    }
    Ok(days)
}
