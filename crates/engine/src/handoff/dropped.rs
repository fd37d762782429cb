//! Finds what the summary of a compaction left out: decisions, commands that work, open points and changed files of the same session.

use std::collections::HashSet;

use yore_core::episode::Role;
use yore_core::text::paths;

use super::fit::{Draft, fitted};
use super::package::{HandoffPart, HandoffSection};
use super::trace::Trace;
use crate::archive::sessions::ConversationTurns;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::rules::content_words;

/// The parts of a handoff that a summary may leave out to somebody's harm.
const PARTS: [HandoffPart; 4] = [HandoffPart::Decided, HandoffPart::Commands, HandoffPart::Open, HandoffPart::Files];
/// Share of an item's words from which a summary says it.
const SAID: f32 = 0.6;

impl Engine {
    /// Returns what was in force in a session before its last compaction and what the summary does not say, within a budget of tokens;
    /// nothing if the session is not known, or has no summary. `session`: the agent's own id.
    pub(crate) fn dropped(&self, session: &str, tokens: usize) -> Result<Vec<HandoffSection>, EngineError> {
        let Some(session) = self.session_if_known(session)? else { return Ok(Vec::new()) };
        let read = ConversationTurns::read(self.store(), session.row)?;
        let shapes = read.shapes();
        let Some(compacted) = shapes.iter().rposition(|turn| turn.role == Role::Summary).filter(|at| *at > 0) else {
            return Ok(Vec::new());
        };
        let summary = Summary::of(shapes[compacted].text);
        let mut drafts = self.drafts(&Trace::of(&shapes[..compacted], session.cwd.as_deref()), session.row)?;
        drafts.retain(|(part, _)| PARTS.contains(part));
        for (_, drafts) in &mut drafts {
            drafts.retain(|draft| !summary.says(draft));
        }
        let mut sections = fitted(drafts, tokens);
        self.redact_again(sections.iter_mut().flat_map(|section| &mut section.items).map(|item| &mut item.text))?;
        Ok(sections)
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
    fn says(&self, draft: &Draft) -> bool {
        let named: Vec<String> = paths(&draft.text)
            .iter()
            .filter_map(|mention| mention.path.rsplit(['/', '\\']).find(|part| !part.is_empty()).map(str::to_lowercase))
            .collect();
        if let Some(first) = named.first() {
            return self.text.contains(first.as_str());
        }
        let words: HashSet<String> = content_words(&draft.text).collect();
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
        let says = |text: &str| summary.says(&Draft::new(text.to_owned(), 0, None));
        for said in ["`src/curve.rs` edited twice", "keep the harmonics in SQLite, Redis lost them", "`make almanac`"] {
            assert!(says(said), "{said}");
        }
        for dropped in ["`src/legend.rs` created", "never touch the generated tables by hand", "`mise run test:ci`"] {
            assert!(!says(dropped), "{dropped}");
        }
    }
}
