//! Results of consolidation: phases and decisions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::consolidation::PipelineStatistics;
use yore_engine::{ConsolidateReport, Judged};

use super::words;

/// The work of consolidation: phases, decisions and calls of a model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Consolidation {
    /// The eight phases in order.
    pub phases: Vec<PhaseDone>,
    /// How often each was decided: add, skip, update, invalidate, contest, refuse.
    pub decisions: BTreeMap<String, u64>,
    /// Calls of a model that gave an answer.
    pub calls: u64,
    /// Calls that were repeated, since the answer had not the form.
    pub retries: u64,
}

/// The work of a phase.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct PhaseDone {
    /// Its name.
    pub phase: String,
    /// Things that it handled.
    pub count: u64,
    /// Its time in milliseconds.
    pub ms: f64,
}

/// The result of comparing memories by a model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ConsolidationDone {
    /// Memories that were compared.
    pub compared: u64,
    /// Decisions that were carried out.
    pub done: Vec<DecisionDone>,
    /// Numbers of the operations that did it.
    pub operations: Vec<u64>,
    /// Decisions that were not carried out, with the reason.
    pub refused: Vec<String>,
    /// Phases, decisions and calls.
    pub consolidation: Consolidation,
    /// Memories whose requests wait for an answer in a folder.
    pub waiting: u64,
    /// Memories of projects that nobody may read.
    pub left_out: u64,
    /// Why requests failed.
    pub failed: Vec<String>,
    /// Why the run ended before all memories were compared.
    pub stopped: Option<String>,
}

/// A decision about two memories.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DecisionDone {
    /// `skip`: known twice; `add`: a part of the other is changed, both stay; `update` or `invalidate`: replaced or closed; `contest`: they
    /// contradict each other.
    pub decision: String,
    /// The memory that holds, or one of two that contradict each other.
    pub memory: String,
    /// The other one.
    pub other: String,
    /// The reason.
    pub reason: String,
}

impl From<&PipelineStatistics> for Consolidation {
    fn from(statistics: &PipelineStatistics) -> Self {
        let phases = statistics.phases().map(|(phase, work)| PhaseDone {
            phase: phase.as_str().to_owned(),
            count: work.count,
            ms: work.micros as f64 / 1e3,
        });
        let decisions = statistics.decisions().map(|(decision, count)| (decision.as_str().to_owned(), count));
        Self { phases: phases.collect(), decisions: decisions.collect(), calls: statistics.calls, retries: statistics.retries }
    }
}

impl From<&Judged> for DecisionDone {
    fn from(judged: &Judged) -> Self {
        Self {
            decision: judged.decision.as_str().to_owned(),
            memory: judged.memory.short(),
            other: judged.other.short(),
            reason: judged.reason.clone(),
        }
    }
}

impl From<&ConsolidateReport> for ConsolidationDone {
    fn from(report: &ConsolidateReport) -> Self {
        Self {
            compared: report.compared,
            done: report.done.iter().map(DecisionDone::from).collect(),
            operations: report.operations.clone(),
            refused: report.refused.clone(),
            consolidation: Consolidation::from(&report.statistics),
            waiting: report.waiting,
            left_out: report.left_out,
            failed: report.failed.iter().map(words::failed).collect(),
            stopped: report.stopped.as_ref().map(words::stopped),
        }
    }
}
