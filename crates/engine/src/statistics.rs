//! Collects the statistics of the memory: one query for everything that counts.
//!
//! Sizes and counts are quick. What a request asks for beside them (growth, uses, tiers, conflicts) reads every memory: about a second
//! for 100,000.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use yore_core::memory::Status;
use yore_core::memory::dynamics::Tier;

use crate::Engine;
use crate::budget;
use crate::engine::{IndexHealth, VectorHealth};
use crate::error::EngineError;
use crate::retrieve::RecallTimes;
use crate::store::{MemoryFilter, Spent, StoreStats, Wanted, WeeksWanted};
use crate::upkeep::UpkeepState;

/// Name of the row of stored times in the index state.
const TIMES: &str = "recall-times";
/// Days for which the tokens of models are given.
const SPENT_DAYS: i64 = 30;
/// Decay scores from which on a memory is in the high and in the medium band.
const HIGH: f32 = 0.7;
/// See [`HIGH`].
const MEDIUM: f32 = 0.3;

/// A request for statistics; the default asks for sizes and counts of everything.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StatisticsRequest {
    /// Name, id or directory of the project whose sessions and memories are counted; `None`: all.
    pub project: Option<String>,
    /// Growth, uses, tiers and everything else that takes longer; `None`: without these.
    pub life: Option<LifeRequest>,
}

/// A request for the statistics that take longer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LifeRequest {
    /// Weeks of growth, the present one included.
    pub weeks: u32,
    /// Maximum number of memories in the lists of the most and never used ones.
    pub most_used: usize,
    /// Minutes by which the person's clock is ahead of UTC.
    pub offset_minutes: i32,
}

/// Statistics of the memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Statistics {
    /// Name of the project that was counted; `None`: all.
    #[serde(default)]
    pub project: Option<String>,
    /// Statistics of the store.
    pub store: StoreStats,
    /// Statistics of the full-text index.
    pub index: IndexHealth,
    /// Statistics of the vectors.
    pub vectors: VectorHealth,
    /// Bytes of the whole data directory.
    pub directory_bytes: u64,
    /// The part that takes longer, if it was asked for.
    #[serde(default)]
    pub life: Option<Life>,
}

/// Statistics that take longer than sizes and counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Life {
    /// Memories in effect by tier, the nearest tier first.
    pub tiers: Vec<(Tier, u64)>,
    /// Memories in effect by decay score: above .7, from .3 on, below.
    pub decay: [u64; 3],
    /// Conflicts that are not settled and not put off.
    pub open_conflicts: u64,
    /// Tokens and money that models took, by day since 1970 in the person's time zone, oldest first: 30 days.
    pub spent: Vec<(i64, Spent)>,
    /// The jobs of upkeep.
    pub upkeep: Vec<UpkeepState>,
    /// Times of recall by day: 30 days, of the daemon and of this process.
    pub recall: RecallTimes,
}

impl Engine {
    /// Collects the statistics of the memory.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`], [`EngineError::AmbiguousId`].
    pub fn statistics(&self, request: &StatisticsRequest) -> Result<Statistics, EngineError> {
        let project = request.project.as_deref().map(|named| self.only_project(named)).transpose()?;
        let weeks = |life: LifeRequest| WeeksWanted {
            now: self.now(),
            offset_minutes: life.offset_minutes,
            weeks: life.weeks,
            most_used: life.most_used,
        };
        let wanted = Wanted { project, history: request.life.map(weeks) };
        let name = self.store().projects()?.into_iter().find(|known| Some(known.key) == project).map(|known| known.name);
        let store = self.store().stats(&wanted)?;
        Ok(Statistics {
            index: self.index_health(store.indexable)?,
            store,
            vectors: self.vector_health()?,
            directory_bytes: self.directory_bytes(),
            life: request.life.map(|life| self.life(request, life, name.as_deref())).transpose()?,
            project: name,
        })
    }

    fn life(&self, request: &StatisticsRequest, wanted: LifeRequest, project: Option<&str>) -> Result<Life, EngineError> {
        let projects: Vec<String> = request.project.iter().cloned().collect();
        let mut filter = MemoryFilter {
            statuses: vec![Status::Holds, Status::Contested],
            is_forgotten: Some(false),
            ..MemoryFilter::default()
        };
        if !projects.is_empty() {
            filter.projects = Some(self.project_ids(&projects)?);
        }
        let mut tiers: Vec<(Tier, u64)> = Tier::ALL.iter().map(|tier| (*tier, 0)).collect();
        let mut decay = [0; 3];
        self.each_standing(filter, &mut |_, standing| {
            if let Some((_, number)) = tiers.iter_mut().find(|(tier, _)| *tier == standing.tier) {
                *number += 1;
            }
            decay[if standing.decay > HIGH { 0 } else { 1 + usize::from(standing.decay < MEDIUM) }] += 1;
            ControlFlow::Continue(())
        })?;
        let first_day = budget::day(self.now(), wanted.offset_minutes) - SPENT_DAYS + 1;
        let mut spent: BTreeMap<i64, Spent> = BTreeMap::new();
        for row in self.store().ledger(first_day)? {
            if project.is_none() || row.project.as_deref() == project {
                spent.entry(row.day).or_default().add(&row.spent);
            }
        }
        let mut recall = self.stored_recall_times()?;
        recall.merge(&self.recall_times());
        recall.forget_old(self.now());
        Ok(Life {
            tiers,
            decay,
            open_conflicts: self.conflicts(&projects, None, usize::MAX)?.len() as u64,
            spent: spent.into_iter().collect(),
            upkeep: self.upkeep()?,
            recall,
        })
    }

    fn stored_recall_times(&self) -> Result<RecallTimes, EngineError> {
        let stored = self.store().index_state(TIMES)?;
        // A row that an older or newer version wrote counts as nothing.
        Ok(stored.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// Stores the times that recall took since this was last called. The daemon calls it from time to time; a query never writes.
    pub fn store_recall_times(&self) -> Result<(), EngineError> {
        let new = std::mem::take(&mut *self.recall_times());
        if new.is_empty() {
            return Ok(());
        }
        let mut times = self.stored_recall_times()?;
        times.merge(&new);
        times.forget_old(self.now());
        let text = serde_json::to_string(&times).unwrap_or_default();
        self.store().set_index_state(TIMES, &text).inspect_err(|_| self.recall_times().merge(&new))?;
        Ok(())
    }
}
