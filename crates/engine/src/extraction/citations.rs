//! Finds which memories that a session was given, or shown when it asked, its agent then repeated, and counts them as cited.

use yore_core::episode::Role;
use yore_core::exchange::TurnShape;
use yore_core::id::MemoryId;
use yore_core::memory::Use;
use yore_core::memory::citation::{Given, Spoken};
use yore_core::text::{Tokenizer, content_words};
use yore_core::time::UtcMillis;

use crate::archive::sessions::ConversationTurns;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::store::{EpisodeSummary, WantedUses};

impl Engine {
    /// Counts as cited the memories that a session was given or shown and that its agent repeated since, each once for the session.
    pub(super) fn note_citations(&self, session: &EpisodeSummary) -> Result<(), EngineError> {
        let uses = self.store().uses(WantedUses::In(&session.native_id))?;
        let is_cited = |memory| uses.iter().any(|used| used.memory == memory && used.way == Use::Cited);
        let mut gifts: Vec<(MemoryId, UtcMillis)> = Vec::new();
        for gift in uses.iter().filter(|used| matches!(used.way, Use::Given | Use::Shown) && !is_cited(used.memory)) {
            match gifts.iter_mut().find(|(memory, _)| *memory == gift.memory) {
                Some((_, first)) => *first = gift.at.min(*first),
                None => gifts.push((gift.memory, gift.at)),
            }
        }
        if gifts.is_empty() {
            return Ok(());
        }
        let read = ConversationTurns::read(self.store(), session.row)?;
        let turns = read.shapes();
        let mut tokenizer = Tokenizer::default();
        let most = self.rarity(&[String::new()])?.pop().unwrap_or_default();
        for (gift, at) in gifts {
            let Some(memory) = self.told_memory(gift)? else { continue };
            let terms = content_words(&memory.statement, &mut tokenizer);
            let rarities = self.rarity(&terms)?;
            let given = Given::new(&memory.statement, terms, &rarities, most, &mut tokenizer);
            let (before, after) = turns.split_at(met_before(&turns, at));
            let (before, after): (Vec<_>, Vec<_>) = (spoken(before).collect(), spoken(after).collect());
            if given.is_cited(&before, &after, &mut tokenizer) {
                self.record_memory_uses(&[gift], Use::Cited, Some(&session.native_id), None)?;
            }
        }
        Ok(())
    }
}

/// Returns the number of turns that a session had when it was given something, with the prompt to which it was given.
fn met_before(turns: &[TurnShape<'_>], at: UtcMillis) -> usize {
    let before = turns.iter().rposition(|turn| turn.at.is_some_and(|said| said <= at)).map_or(0, |last| last + 1);
    // A client writes the prompt down after its hook ran.
    before + turns[before..].iter().take_while(|turn| turn.role == Role::Human).count()
}

/// Returns the texts of turns. A summary of a compaction is left out: it also repeats what was given and not used.
fn spoken<'t>(turns: &'t [TurnShape<'t>]) -> impl Iterator<Item = Spoken<'t>> {
    let texts = |turn: &'t TurnShape<'t>| match turn.role {
        Role::Summary => Vec::new(),
        Role::Assistant | Role::ToolCall => vec![Spoken::Said(turn.text), Spoken::Said(turn.tool_text)],
        _ => vec![Spoken::Heard(turn.text), Spoken::Heard(turn.tool_text)],
    };
    turns.iter().flat_map(texts)
}
