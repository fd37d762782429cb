//! Finds what a session that is about a prompt as a whole concluded: the agent's last word on it, and the person's.
//!
//! A decision is made step by step: a proposal, corrections, consent. The turns of such a session match a prompt each for a part,
//! and the first, which were corrected later, match best. The last turn of the agent holds what came of all of them. Of several
//! sessions about one subject the newest that changes it counts; the one before is named in half a line.

use yore_core::episode::{EpisodeKind, Role};
use yore_core::query::ItemId;
use yore_core::relevance::is_announcement;
use yore_core::text::says_change;
use yore_core::vector::dot;

use super::choose::news;
use super::suggestion::SuggestRequest;
use crate::embed::StaticTable;
use crate::error::EngineError;
use crate::retrieve::keep_own_words;
use crate::rules::{cut, cut_sentence};
use crate::store::{ShownTurn, Turns};
use crate::{Engine, Hit, Said};

/// Number of sessions that are compared, in the order of their best hits.
const MOST_SESSIONS: usize = 5;
/// Least number of hits in a session that is about the prompt, and the least share of its turns that are hits, in percent.
const LEAST_HITS: usize = 3;
const LEAST_PERCENT: usize = 40;
/// Cosine of the hits of two sessions from which they are about one subject.
const SAME_SUBJECT: f32 = 0.6;
/// Most characters of a conclusion; of a longer one its beginning and its end are given, of so many each.
const CHARS: usize = 660;
const END_CHARS: usize = 220;
/// Most characters of the person's word after it, and of the conclusion before it.
const LAST_WORD_CHARS: usize = 120;
const BEFORE_CHARS: usize = 70;
/// The mark of a conclusion that a later one amends.
const REPLACED: &str = "(likely replaced by the one above) ";

/// A session that is about the prompt as a whole.
struct About {
    turns: Vec<ShownTurn>,
    /// Index of the conclusion.
    concluded: usize,
    vector: [f32; StaticTable::DIMENSIONS],
}

impl About {
    fn conclusion(&self) -> &ShownTurn {
        &self.turns[self.concluded]
    }

    /// Returns whether it is later than another one about the same subject, and says that something was changed.
    fn amends(&self, other: &Self) -> bool {
        let opening = self.turns.iter().find(|turn| turn.role == Role::Human);
        dot(&self.vector, &other.vector) >= SAME_SUBJECT
            && self.conclusion().time.utc > other.conclusion().time.utc
            && opening.into_iter().chain([self.conclusion()]).any(|turn| says_change(&turn.text))
    }
}

/// Returns the conclusion about a prompt, and the one before it that it amends; nothing if no session is about the prompt as a whole,
/// or if the asking session has the conclusion.
pub(super) fn concluded(engine: &Engine, request: &SuggestRequest, hits: &[Hit]) -> Result<Vec<Hit>, EngineError> {
    let mut sessions: Vec<About> = Vec::new();
    let turns: Vec<&ShownTurn> = hits.iter().filter_map(Hit::as_turn).filter(|turn| turn.kind != EpisodeKind::Document).collect();
    let mut seen = Vec::new();
    for turn in &turns {
        if seen.len() < MOST_SESSIONS && !seen.contains(&turn.episode_row) {
            seen.push(turn.episode_row);
            match about(engine, request, &turns, turn)? {
                Some(about) => sessions.push(about),
                // The session of the best hit is about something else.
                None if seen.len() == 1 => return Ok(Vec::new()),
                None => {}
            }
        }
    }
    let newest = sessions.iter().reduce(|best, session| if session.amends(best) { session } else { best });
    let Some(best) = newest else { return Ok(Vec::new()) };
    let before = sessions.iter().filter(|session| best.amends(session)).max_by_key(|session| session.conclusion().time.utc);
    let conclusion = best.conclusion().clone();
    let last_word = best.turns[best.concluded..].iter().rfind(|turn| turn.role == Role::Human);
    let last_word = last_word.map(|turn| Said { text: cut(&turn.text, LAST_WORD_CHARS), ..Said::of(turn) });
    let (id, quote) = (conclusion.id, both_ends(&conclusion.text));
    let mut found = vec![Hit { beside: last_word.into_iter().collect(), ..Hit::of_turn(conclusion, quote) }];
    found.extend(before.map(|before| {
        let turn = before.conclusion().clone();
        let quote = format!("{REPLACED}{}", cut(&turn.text, BEFORE_CHARS));
        Hit { exchange: 2, ..Hit::of_turn(turn, quote) }
    }));
    // The asking session may have it, as its own turn or as one of the session that it was forked from.
    let found = news(engine, request, found)?;
    let is_new = found.first().is_some_and(|hit| hit.id() == ItemId::Turn(id));
    Ok(if is_new { found } else { Vec::new() })
}

/// Returns the session of a turn, if it is about the prompt as a whole and its agent concluded something.
fn about(engine: &Engine, request: &SuggestRequest, hits: &[&ShownTurn], turn: &ShownTurn) -> Result<Option<About>, EngineError> {
    let own: Vec<&str> = hits.iter().filter(|hit| hit.episode_row == turn.episode_row).map(|hit| hit.text.as_str()).collect();
    let most = own.len() * 100 / LEAST_PERCENT;
    // A long session is about many things; it is not read.
    if own.len() < LEAST_HITS || engine.store().turns(Turns::LastOf(turn.episode_row, Role::Assistant, most + 1))?.len() > most {
        return Ok(None);
    }
    let mut turns = engine.store().turns(Turns::OfEpisode(turn.episode_row))?;
    turns.iter_mut().for_each(keep_own_words);
    // Unasked, only words of the project are given; of earlier times, if the request is of one.
    let is_in_time = |said: &ShownTurn| request.filter.as_of.is_none_or(|as_of| said.time.utc.is_some_and(|at| at < as_of));
    turns.retain(|said| {
        let is_said = matches!(said.role, Role::Human | Role::Assistant) && !said.text.trim().is_empty();
        is_said && said.caveat.is_none() && said.project_key == turn.project_key && is_in_time(said)
    });
    let is_conclusion =
        |said: &ShownTurn| said.role == Role::Assistant && !is_announcement(&said.text) && !said.text.trim_end().ends_with('?');
    let (concluded, vector) = (turns.iter().rposition(is_conclusion), StaticTable::vector_of(&own.join("\n")));
    let is_short = turns.len() <= most;
    Ok(concluded.zip(vector).filter(|_| is_short).map(|(concluded, vector)| About { turns, concluded, vector }))
}

/// Returns a text, or the sentences at its beginning and the words at its end, if it is long.
fn both_ends(text: &str) -> String {
    let count = text.chars().count();
    if count <= CHARS {
        return text.to_owned();
    }
    let start = text.char_indices().nth(count - END_CHARS).map_or(text.len(), |(at, _)| at);
    let word = text[start..].find(' ').map_or(start, |space| start + space + 1);
    format!("{} … {}", cut_sentence(text, END_CHARS), &text[word..])
}
