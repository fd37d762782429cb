//! Keeps the summaries that a language model wrote of the categories of a project, until anything is forgotten for good.

use std::collections::HashMap;

use yore_core::category::Written;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::store::{ProjectKey, WRITTEN_BEGUN, WRITTEN_SUMMARIES};

/// A run that writes summaries. What it writes is not kept if anything was forgotten since it began.
pub(crate) struct WritingRun(String);

impl Engine {
    /// Returns what a model wrote about a category of a project.
    pub(super) fn written_summary(&self, project: ProjectKey, name: &str) -> Result<Option<Written>, EngineError> {
        let Some(mut written) = self.written_summaries(project)?.remove(name) else { return Ok(None) };
        // The rules of redaction may be newer.
        self.redact_again(written.lines.iter_mut().map(|line| &mut line.text))?;
        Ok(Some(written))
    }

    /// Returns what a model wrote about the categories of a project, by their names.
    pub(crate) fn written_summaries(&self, project: ProjectKey) -> Result<HashMap<String, Written>, EngineError> {
        let kept = self.store().index_state(&self.written_place(project)?)?;
        // Another version may have kept them in another form.
        Ok(kept.and_then(|kept| serde_json::from_str(&kept).ok()).unwrap_or_default())
    }

    /// Begins a run.
    pub(crate) fn begin_writing(&self) -> Result<WritingRun, EngineError> {
        let run = WritingRun(uuid::Uuid::now_v7().simple().to_string());
        self.store().set_index_state(WRITTEN_BEGUN, &run.0)?;
        Ok(run)
    }

    /// Keeps what a model wrote about a category; returns false, and keeps nothing, if anything was forgotten since the run began.
    pub(crate) fn keep_written(
        &self,
        run: &WritingRun,
        project: ProjectKey,
        name: &str,
        written: &Written,
    ) -> Result<bool, EngineError> {
        let turn = self.forgetting_turn()?;
        // Where locks do not work, another process may forget between the two steps.
        let _ = turn.wait();
        if self.store().index_state(WRITTEN_BEGUN)?.as_ref() != Some(&run.0) {
            return Ok(false);
        }
        let mut all = self.written_summaries(project)?;
        all.insert(name.to_owned(), written.clone());
        self.store().set_index_state(&self.written_place(project)?, &serde_json::json!(all).to_string())?;
        Ok(true)
    }

    /// Returns the name under which those of a project are kept.
    fn written_place(&self, project: ProjectKey) -> Result<String, EngineError> {
        let known = self.store().projects()?.into_iter().find(|known| known.key == project);
        Ok(format!("{WRITTEN_SUMMARIES}{}", known.map(|known| known.id.to_string()).unwrap_or_default()))
    }
}
