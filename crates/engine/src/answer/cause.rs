//! Makes the rows of an error that was pasted: where it came up before, the cause that was found and what mended it.

use std::collections::HashSet;

use yore_core::episode::Role;
use yore_core::query::Wanted;

use super::view::{Asked, Rows};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{Hit, RecallRequest, ViewRow};
use crate::rules::{FINDING, Words, content_words, cut, finding_worth, plain, sentences};
use crate::store::{ShownTurn, TurnKey, Turns};

/// Hits that are looked at, and most rows.
const SEARCHED: usize = 10;
const MOST: usize = 3;
/// Least confidence of a hit.
const FAIR: f32 = 0.3;
/// Least share of the words of an error that a turn about the same error has.
const SAME_ERROR: f32 = 0.7;
/// Messages around a hit that are read.
const AROUND: usize = 6;
/// Longest row, in characters, and most sentences of it.
const ROW_CHARS: usize = 420;
const MOST_SENTENCES: usize = 4;
/// Fewest words of the error that a sentence has which tells its cause alone, and most characters of it.
const ABOUT: usize = 2;
const CAUSE_CHARS: usize = 200;

impl Engine {
    pub(super) fn cause_rows(&self, asked: &Asked<'_>) -> Result<Rows, EngineError> {
        let mut request = RecallRequest { question: asked.request.question.clone(), ..asked.searching(SEARCHED) };
        request.filter.wanted = Wanted::Turns;
        let answer = self.recall(&request)?;
        let (mut rows, mut told) = (Vec::new(), HashSet::new());
        let is_same = |hit: &&Hit| {
            let words = hit.as_turn().map(ShownTurn::words).unwrap_or_default();
            hit.confidence >= FAIR && asked.subject.share_in(&words) >= SAME_ERROR
        };
        for hit in answer.hits.iter().filter(is_same) {
            let Some(concluding) = self.concluding(hit)? else { continue };
            if rows.len() < MOST && told.insert(concluding.id) {
                let text = self.cause_around(hit, &concluding, asked)?;
                rows.extend(text.map(|text| ViewRow {
                    text,
                    at: concluding.time.utc,
                    opens: Some(concluding.id.short()),
                    ..ViewRow::default()
                }));
            }
        }
        let all = rows.len();
        Ok(Rows { rows, all, ..Rows::default() })
    }

    /// Returns the sentences of the agent around a hit and at the end of its exchange that tell a cause or what mended it, in their order;
    /// else the first ones of the end.
    fn cause_around(&self, hit: &Hit, concluding: &ShownTurn, asked: &Asked<'_>) -> Result<Option<String>, EngineError> {
        let mut turns = match hit.turn_key() {
            Some(row) => self.store().turns(Turns::Around(row, AROUND))?,
            None => Vec::new(),
        };
        turns.extend(hit.as_turn().cloned());
        turns.retain(|turn| turn.role == Role::Assistant && turn.id != concluding.id);
        turns.push(concluding.clone());
        turns.sort_by_key(|turn| (turn.time.utc, turn.line));
        let mut told: Vec<(f32, usize, String)> = Vec::new();
        for turn in &turns {
            let words = Words::of(&turn.text);
            for sentence in sentences(&turn.text, words) {
                let worth = finding_worth(&sentence, words) * (1.0 + asked.subject.share_in(sentence.text));
                let text = plain(sentence.text);
                if worth > 0.0 && told.iter().all(|(_, _, known)| *known != text) {
                    told.push((worth, told.len(), text));
                }
            }
        }
        if told.is_empty() {
            let words = Words::of(&concluding.text);
            let first = sentences(&concluding.text, words).into_iter().filter(|sentence| !sentence.is_question).take(2);
            told = first.map(|sentence| (0.0, 0, plain(sentence.text))).collect();
        }
        told.sort_by(|a, b| b.0.total_cmp(&a.0));
        told.truncate(MOST_SENTENCES);
        told.sort_by_key(|(_, at, _)| *at);
        let text = told.into_iter().map(|(_, _, text)| text).collect::<Vec<_>>().join(" ");
        Ok((!text.is_empty()).then(|| cut(&text, ROW_CHARS)))
    }

    /// Returns the sentence of the agent after a turn, in the same exchange, that best tells the cause of an error or what mended it, and has
    /// words of that error.
    pub(crate) fn cause_after(&self, turn: TurnKey, error: &str) -> Result<Option<String>, EngineError> {
        let of_error: HashSet<String> = content_words(error).collect();
        let Some(failed) = self.store().turns(Turns::Keys(&[turn]))?.pop() else { return Ok(None) };
        let mut turns = self.store().turns(Turns::Around(turn, AROUND))?;
        turns.retain(|turn| turn.role == Role::Assistant && turn.time.utc >= failed.time.utc);
        turns.sort_by_key(|turn| (turn.time.utc, turn.line));
        let mut best: Option<(f32, String)> = None;
        for turn in &turns {
            let words = Words::of(&turn.text);
            for sentence in sentences(&turn.text, words) {
                let worth = finding_worth(&sentence, words);
                let common = content_words(sentence.text).filter(|word| of_error.contains(word)).count();
                if worth >= FINDING && common >= ABOUT && best.as_ref().is_none_or(|(known, _)| worth > *known) {
                    best = Some((worth, plain(sentence.text)));
                }
            }
        }
        Ok(best.map(|(_, text)| cut(&text, CAUSE_CHARS)))
    }

    /// Returns the last message of the agent in the exchange of a hit.
    fn concluding(&self, hit: &Hit) -> Result<Option<ShownTurn>, EngineError> {
        let Some(row) = hit.turn_key() else { return Ok(None) };
        let last = self.store().turns(Turns::Conclusion(row))?.pop().filter(|last| last.role == Role::Assistant);
        match last {
            Some(last) if !last.text.trim().is_empty() => Ok(Some(last)),
            // The hit itself is the last.
            _ => Ok(self.store().turns(Turns::Keys(&[row]))?.pop().filter(|turn| turn.role == Role::Assistant)),
        }
    }
}
