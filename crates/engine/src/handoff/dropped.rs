//! Finds what the summary of a compaction left out, for right after it and for when the agent is about to need it.
//!
//! - [`Engine::dropped`]: what was in force, right after the compaction
//! - [`Engine::recollect`]: what bears on a file that is about to be touched

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use yore_core::episode::Role;
use yore_core::handoff::{Dropped, HandoffPart, Item, Recollection};
use yore_core::id::TurnId;
use yore_core::text::paths;
use yore_core::time::UtcMillis;

use super::fit::fitted;
use super::package::HandoffSection;
use super::trace::Trace;
use super::{commands, decisions, files};
use crate::archive::sessions::ConversationTurns;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::rules::content_words;
use crate::store::{EpisodeSummary, Turns};

/// The parts of a handoff that a summary may leave out to somebody's harm.
const PARTS: [HandoffPart; 4] = [HandoffPart::Decided, HandoffPart::Commands, HandoffPart::Open, HandoffPart::Files];
/// Share of an item's words from which a summary says it.
const SAID: f32 = 0.6;
/// Times that a check passed from which it is the session's way.
const LEAST_PASSED: u32 = 2;
/// Compactions of a session that are looked at, the last ones.
const LOOKED_AT: usize = 20;

/// A question for what a session knew before its last compaction.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RecollectRequest {
    /// The session, by its native id.
    pub session: String,
    /// The file that is about to be read or changed; `None`: everything is wanted.
    pub file: Option<String>,
    /// Only compactions before this time; `None`: now.
    pub as_of: Option<UtcMillis>,
}

impl Engine {
    /// Returns what was in force in a session before its last compaction and what the summary does not say, within a budget of tokens;
    /// nothing if the session is not known, or has no summary. `session`: the agent's own id.
    pub(crate) fn dropped(&self, session: &str, tokens: usize) -> Result<Vec<HandoffSection>, EngineError> {
        let Some(session) = self.session_if_known(session)? else { return Ok(Vec::new()) };
        let Some(compaction) = self.compaction(&session, None)? else { return Ok(Vec::new()) };
        let read = ConversationTurns::read(self.store(), session.row)?;
        let shapes = read.shapes();
        let Some(at) = shapes.iter().position(|turn| turn.id == compaction).filter(|at| *at > 0) else { return Ok(Vec::new()) };
        let summary = Summary::of(shapes[at].text);
        let mut drafts = self.drafts(&Trace::of(&shapes[..at], session.cwd.as_deref()), session.row)?;
        drafts.retain(|(part, _)| PARTS.contains(part));
        for (_, drafts) in &mut drafts {
            drafts.retain(|draft| !summary.says(&draft.text));
        }
        let mut sections = fitted(drafts, tokens);
        self.redact_again(sections.iter_mut().flat_map(|section| &mut section.items).map(|item| &mut item.text))?;
        Ok(sections)
    }

    /// Returns what a session knew before its last compaction, what the summary does not say, and what bears on the work on a file: its
    /// state, what was decided about it, and the checks of the session; mostly nothing.
    ///
    /// # Errors
    /// [`EngineError::Store`]: the store cannot be read.
    pub fn recollect(&self, request: &RecollectRequest) -> Result<Vec<Recollection>, EngineError> {
        let Some(session) = self.session_if_known(&request.session)? else { return Ok(Vec::new()) };
        let Some(compaction) = self.compaction(&session, request.as_of)? else { return Ok(Vec::new()) };
        let dropped = match self.kept_dropped(compaction) {
            Some(known) => known,
            None => {
                let dropped = Arc::new(self.all_dropped(&session, compaction)?);
                self.keep_dropped(Arc::clone(&dropped));
                dropped
            }
        };
        let mut told: Vec<Recollection> = dropped.bearing_on(request.file.as_deref()).into_iter().cloned().collect();
        self.redact_again(told.iter_mut().map(|told| &mut told.text))?;
        Ok(told)
    }

    /// Returns the last summary of a session before a time.
    fn compaction(&self, session: &EpisodeSummary, as_of: Option<UtcMillis>) -> Result<Option<TurnId>, EngineError> {
        let summaries = self.store().turns(Turns::LastOf(session.row, Role::Summary, LOOKED_AT))?;
        let is_before = |at: Option<UtcMillis>| as_of.is_none_or(|until| at.is_some_and(|at| at <= until));
        Ok(summaries.into_iter().filter(|turn| is_before(turn.time.utc)).max_by_key(|turn| turn.time.utc).map(|turn| turn.id))
    }

    /// Returns all that a compaction left out.
    fn all_dropped(&self, session: &EpisodeSummary, compaction: TurnId) -> Result<Dropped, EngineError> {
        let read = ConversationTurns::read(self.store(), session.row)?;
        let shapes = read.shapes();
        let mut dropped = Dropped { compaction, items: Vec::new() };
        let Some(at) = shapes.iter().position(|turn| turn.id == compaction).filter(|at| *at > 0) else { return Ok(dropped) };
        let summary = Summary::of(shapes[at].text);
        let trace = Trace::of(&shapes[..at], session.cwd.as_deref());
        let item = |part: HandoffPart, text: String, opens: Option<String>, turn: Option<usize>| Item {
            told: Recollection { part, text, opens, turn: turn.map(|turn| shapes[turn].id) },
            path: None,
            is_check: false,
        };
        for file in files::told(&trace).into_iter().filter(|file| !file.state.is_empty()) {
            let text = format!("`{}`: {}", file.path, file.state);
            dropped.items.push(Item { path: Some(file.path), ..item(HandoffPart::Files, text, None, Some(file.edited)) });
        }
        for (part, drafts) in self.drafts(&trace, session.row)? {
            if matches!(part, HandoffPart::Decided | HandoffPart::Open) {
                // Edits that a person refused are told before the next edit of the file anyway.
                let drafts = drafts.into_iter().filter(|draft| !draft.text.starts_with(decisions::REFUSED));
                dropped.items.extend(drafts.map(|draft| item(part, draft.text, draft.opens, None)));
            }
        }
        for passed in commands::passed(&trace) {
            let is_check = passed.is_check && passed.times >= LEAST_PASSED;
            dropped.items.push(Item { is_check, ..item(HandoffPart::Commands, passed.draft.text, None, Some(passed.last)) });
        }
        dropped.items.retain(|item| !summary.says(&item.told.text));
        Ok(dropped)
    }
}

/// The summary of a compaction.
struct Summary {
    text: String,
    words: HashSet<String>,
}

impl Summary {
    fn of(text: &str) -> Self {
        Self { text: text.to_lowercase(), words: content_words(text).collect() }
    }

    /// Returns whether it says what an item says: it names the item's file, or has most of its words.
    fn says(&self, item: &str) -> bool {
        let named: Vec<String> = paths(item)
            .iter()
            .filter_map(|mention| mention.path.rsplit(['/', '\\']).find(|part| !part.is_empty()).map(str::to_lowercase))
            .collect();
        if let Some(first) = named.first() {
            return self.text.contains(first.as_str());
        }
        let words: HashSet<String> = content_words(item).collect();
        let said = words.iter().filter(|word| self.words.contains(*word)).count();
        said as f32 >= SAID * words.len() as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_what_it_names_or_words_alike() {
        let summary =
            Summary::of("We changed src/curve.rs; the harmonics stay in SQLite because Redis lost them. Tests: make almanac.");
        for said in ["`src/curve.rs` edited twice", "keep the harmonics in SQLite, Redis lost them", "`make almanac`"] {
            assert!(summary.says(said), "{said}");
        }
        for dropped in ["`src/legend.rs` created", "never touch the generated tables by hand", "`mise run test:ci`"] {
            assert!(!summary.says(dropped), "{dropped}");
        }
    }
}
