//! Shows a turn with its exchange or a whole session, in pages (`yore show`).

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use yore_core::episode::{EpisodeKind, Role};
use yore_core::id::{EpisodeId, TurnId};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::ingest::write_archived;
use crate::store::{Episodes, Files, NamedEpisode, ShownTurn, TurnChoice, TurnKey, Turns};

/// Number of passages before and after a passage of a document, which has no exchange.
const BESIDE_PASSAGE: usize = 3;
/// Maximum number of turns from a place on.
const MOST_FROM: usize = 1_000;
/// Number of turns that are read at a time in a search for one.
const STEP: usize = 128;
/// Maximum number of characters of a spoken turn, and of one by a tool, beside the requested turn.
const BESIDE_CHARS: (usize, usize) = (600, 240);
/// A beginning of fewer characters is not worth its heading.
const LEAST_CHARS: usize = 80;

/// Turn or session to show.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ShowRequest {
    /// Id, short id or native id of a turn or session, or an unambiguous beginning of one.
    pub id: String,
    /// Turns to show with it, if the id names a turn; of a session, the part to show.
    pub surroundings: Surroundings,
    /// Words to find in the session, ignoring case.
    #[serde(default)]
    pub find: Option<String>,
}

impl ShowRequest {
    /// Requests a turn with its surroundings, or a session.
    pub fn new(id: impl Into<String>, surroundings: Surroundings) -> Self {
        Self { id: id.into(), surroundings, find: None }
    }
}

/// Turns that are shown with a requested turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Surroundings {
    /// Its exchange: from the question before it to the next question. In a document, the passages nearby.
    Exchange,
    /// Number of turns before and after.
    Turns(usize),
    /// In its place the turns of its session from this place on, as in [`Start`].
    From(usize),
    /// In its place so many turns of its session from this place on, from 1. Of a session that the id names, too: only these are
    /// read, however long it is.
    Part {
        /// Place of the first turn.
        from: usize,
        /// Most turns.
        count: usize,
    },
}

/// A turn with its surroundings, or a whole episode.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ShowAnswer {
    /// Id of the episode.
    pub episode: EpisodeId,
    /// Turns of the episode, or those around the requested turn.
    pub turns: Vec<ShownTurn>,
    /// The requested turn.
    pub focus: Option<TurnId>,
    /// Number of turns of the episode before the first one shown, and after the last.
    pub hidden: (usize, usize),
    /// Places of the turns of the episode, from 1, that have the words to find.
    #[serde(default)]
    pub found: Vec<usize>,
}

/// A place in a session: the number of a turn (or exchange), from 1, and how many of its characters were shown
/// already. As text it is `12`, or `12+8000`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Start {
    /// Number of the turn or exchange.
    pub place: usize,
    /// Number of its characters to skip.
    pub chars: usize,
}

/// A text is no place in a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NoPlace(String);

/// A turn of a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PageTurn {
    /// Its index in [`ShowAnswer::turns`].
    pub index: usize,
    /// Number of its characters to skip.
    pub skipped: usize,
    /// Maximum number of characters to show.
    pub chars: usize,
}

/// The part of an answer that fits into a budget.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Page {
    /// Its turns, in order.
    pub turns: Vec<PageTurn>,
    /// Place from which the rest can be read: of the requested turn and what follows it, else of what precedes it.
    pub next: Option<Start>,
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.chars {
            0 => write!(f, "{}", self.place),
            chars => write!(f, "{}+{chars}", self.place),
        }
    }
}

impl FromStr for Start {
    type Err = NoPlace;

    fn from_str(words: &str) -> Result<Self, NoPlace> {
        let (place, chars) = words.trim().split_once('+').unwrap_or((words.trim(), "0"));
        match (place.parse(), chars.parse()) {
            (Ok(place @ 1..), Ok(chars)) => Ok(Self { place, chars }),
            _ => Err(NoPlace(words.to_owned())),
        }
    }
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid place {:?}: expected a turn number such as 12, or 12+8000, as the page before printed it", self.0)
    }
}

impl std::error::Error for NoPlace {}

impl ShowAnswer {
    /// Returns the part that fits into `room` characters, where each turn costs `heading` characters beside its
    /// own. Without a start, the requested turn is shown as far as possible, then the beginnings of its question,
    /// of the outcome, and of the turns next to it. With a start, or without a requested turn, the turns follow
    /// each other whole.
    pub fn page(&self, start: Option<Start>, room: usize, heading: usize) -> Page {
        let lengths: Vec<usize> = self.turns.iter().map(|turn| turn.words().chars().count()).collect();
        let focus = self.focus.and_then(|focus| self.turns.iter().position(|turn| turn.id == focus));
        match (focus, start) {
            (Some(focus), None) => self.page_around(focus, &lengths, room, heading),
            (_, start) => self.page_from(start.unwrap_or_default(), &lengths, room, heading),
        }
    }

    fn page_from(&self, start: Start, lengths: &[usize], room: usize, heading: usize) -> Page {
        let mut left = room;
        let mut turns = Vec::new();
        for (index, length) in lengths.iter().enumerate() {
            let place = self.hidden.0 + index + 1;
            if place < start.place {
                continue;
            }
            let skipped = if place == start.place { start.chars.min(*length) } else { 0 };
            let rest = length - skipped;
            let chars = rest.min(left.saturating_sub(heading));
            // The first turn makes progress, however small the room is.
            let chars = if turns.is_empty() { chars.max(rest.min(LEAST_CHARS)) } else { chars };
            if chars < rest.min(LEAST_CHARS) {
                return Page { turns, next: Some(Start { place, chars: skipped }) };
            }
            turns.push(PageTurn { index, skipped, chars });
            if chars < rest {
                return Page { turns, next: Some(Start { place, chars: skipped + chars }) };
            }
            left = left.saturating_sub(heading + chars);
        }
        Page { turns, next: self.after() }
    }

    fn page_around(&self, focus: usize, lengths: &[usize], room: usize, heading: usize) -> Page {
        let mut given = Given { left: room, heading, lengths, chars: vec![None; lengths.len()] };
        given.give(focus, (room / 5 * 3).max(LEAST_CHARS), true);
        let is_question = |index: &usize| self.turns[*index].role == Role::Human;
        let is_said = |index: &usize| self.turns[*index].role == Role::Assistant && !self.turns[*index].text.trim().is_empty();
        let question = (0..focus).rev().find(is_question);
        let outcome = (focus + 1..lengths.len()).rev().find(is_said);
        let mut others: Vec<usize> = (0..lengths.len()).collect();
        others.sort_by_key(|index| index.abs_diff(focus));
        for index in question.into_iter().chain(outcome).chain(others.iter().copied()) {
            let is_by_tool = matches!(self.turns[index].role, Role::ToolCall | Role::ToolResult);
            if given.chars[index].is_none() {
                given.give(index, if is_by_tool { BESIDE_CHARS.1 } else { BESIDE_CHARS.0 }, false);
            }
        }
        given.give(focus, usize::MAX, true);
        // The room that is left goes to the turns nearest to it.
        others.into_iter().for_each(|index| given.give(index, usize::MAX, false));
        let chars = given.chars;
        let shown = |(index, chars): (usize, &Option<usize>)| chars.map(|chars| PageTurn { index, skipped: 0, chars });
        let turns = chars.iter().enumerate().filter_map(shown).collect();
        let mut places = (focus..lengths.len()).chain(0..focus);
        let cut = places.find(|index| chars[*index].is_none_or(|chars| chars < lengths[*index]));
        let next = cut.map(|index| Start { place: self.hidden.0 + index + 1, chars: chars[index].unwrap_or(0) });
        Page { turns, next: next.or(self.after()) }
    }

    /// Returns the place after the last turn, if the session goes on.
    fn after(&self) -> Option<Start> {
        (self.hidden.1 > 0).then(|| Start { place: self.hidden.0 + self.turns.len() + 1, chars: 0 })
    }
}

/// Characters of each turn that have room.
struct Given<'l> {
    left: usize,
    heading: usize,
    lengths: &'l [usize],
    chars: Vec<Option<usize>>,
}

impl Given<'_> {
    /// Gives a turn up to `most` characters more; one that is not needed only if a beginning worth reading fits.
    fn give(&mut self, index: usize, most: usize, is_needed: bool) {
        let had = self.chars[index];
        let heading = if had.is_none() { self.heading } else { 0 };
        let (rest, left) = (self.lengths[index] - had.unwrap_or(0), self.left.saturating_sub(heading));
        let more = rest.min(most).min(left).max(if is_needed && had.is_none() { rest.min(LEAST_CHARS) } else { 0 });
        if is_needed || self.left >= heading && more >= rest.min(LEAST_CHARS) {
            self.left = left.saturating_sub(more);
            self.chars[index] = Some(had.unwrap_or(0) + more);
        }
    }
}

/// Returns the range of so many turns from a place on, from 1.
fn part(turns: usize, from: usize, count: usize) -> Range<usize> {
    let first = from.saturating_sub(1).min(turns);
    first..turns.min(first.saturating_add(count))
}

impl Engine {
    /// Shows a turn with its surroundings, or a whole episode.
    pub fn show(&self, request: &ShowRequest) -> Result<ShowAnswer, EngineError> {
        let id = request.id.trim();
        let turns = self.store().turn_keys(TurnChoice::Named(id, 9))?;
        let episodes = self.store().episodes(&Episodes::Named(id, 9))?;
        match (turns.as_slice(), episodes.as_slice()) {
            ([row], []) => {
                let Some(focus) = self.store().turns(Turns::Keys(&[*row]))?.pop() else {
                    return Err(EngineError::UnknownId(id.to_owned()));
                };
                let all = self.store().turn_keys(TurnChoice::OfEpisode(focus.episode_row))?;
                let Some(at) = all.iter().position(|turn| turn == row) else {
                    // An older version of a note, which is not in the list of its turns.
                    return Ok(ShowAnswer {
                        episode: focus.episode,
                        focus: Some(focus.id),
                        turns: vec![focus],
                        hidden: (0, 0),
                        found: Vec::new(),
                    });
                };
                let shown = self.range(&all, (at, &focus), request.surroundings)?;
                let hidden = (shown.start, all.len() - shown.end);
                let turns = self.store().turns(Turns::Keys(&all[shown]))?;
                let found = self.places_of(&all, request.find.as_deref())?;
                Ok(ShowAnswer { episode: focus.episode, turns, focus: Some(focus.id), hidden, found })
            }
            ([], [NamedEpisode { key: row, agent, native_id, .. }]) => {
                let all = self.store().turn_keys(TurnChoice::OfEpisode(*row))?;
                if all.is_empty() {
                    return Err(EngineError::UnknownId(id.to_owned()));
                }
                let (turns, hidden) = match request.surroundings {
                    Surroundings::Part { from, count } => {
                        let shown = part(all.len(), from, count);
                        let hidden = (shown.start, all.len() - shown.end);
                        (self.store().turns(Turns::Keys(&all[shown]))?, hidden)
                    }
                    _ => (self.store().turns(Turns::OfEpisode(*row))?, (0, 0)),
                };
                let found = self.places_of(&all, request.find.as_deref())?;
                Ok(ShowAnswer { episode: EpisodeId::derive(agent, native_id), turns, focus: None, hidden, found })
            }
            ([], []) => Err(EngineError::UnknownId(id.to_owned())),
            _ => {
                let mut candidates: Vec<String> =
                    episodes.into_iter().map(|known| format!("session {} ({})", known.native_id, known.agent)).collect();
                candidates.extend(self.store().turns(Turns::Keys(&turns))?.into_iter().map(|turn| format!("turn {}", turn.id)));
                Err(EngineError::AmbiguousId { id: id.to_owned(), candidates })
            }
        }
    }

    /// Returns the range of the turns to show with one. Reads no more of a long session than that needs.
    fn range(
        &self,
        all: &[TurnKey],
        (at, turn): (usize, &ShownTurn),
        surroundings: Surroundings,
    ) -> Result<Range<usize>, EngineError> {
        let around = |count: usize| at.saturating_sub(count)..all.len().min(at.saturating_add(count).saturating_add(1));
        Ok(match surroundings {
            Surroundings::Turns(count) => around(count),
            Surroundings::From(place) => part(all.len(), place, MOST_FROM),
            Surroundings::Part { from, count } => part(all.len(), from, count),
            Surroundings::Exchange if turn.kind == EpisodeKind::Document => around(BESIDE_PASSAGE),
            Surroundings::Exchange => {
                let is_question = |turn: &ShownTurn| turn.role == Role::Human;
                let (mut first, mut end) = (0, at + 1);
                while end > 0 {
                    let start = end.saturating_sub(STEP);
                    if let Some(found) = self.store().turns(Turns::Keys(&all[start..end]))?.iter().rposition(is_question) {
                        first = start + found;
                        break;
                    }
                    end = start;
                }
                let mut next = at + 1;
                while next < all.len() {
                    let read = self.store().turns(Turns::Keys(&all[next..all.len().min(next + STEP)]))?;
                    if let Some(found) = read.iter().position(is_question) {
                        next += found;
                        break;
                    }
                    next = all.len().min(next + STEP);
                }
                first..next
            }
        })
    }

    /// Returns the places of the turns, from 1, that have these words.
    fn places_of(&self, all: &[TurnKey], words: Option<&str>) -> Result<Vec<usize>, EngineError> {
        let Some(words) = words.map(|words| words.trim().to_lowercase()).filter(|words| !words.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for (chunk, keys) in all.chunks(STEP).enumerate() {
            let turns = self.store().turns(Turns::Keys(keys))?;
            let has = |turn: &ShownTurn| [&turn.text, &turn.tool_text].iter().any(|text| text.to_lowercase().contains(&words));
            let places = turns.iter().enumerate().filter(|(_, turn)| has(turn)).map(|(at, _)| chunk * STEP + at + 1);
            found.extend(places);
        }
        Ok(found)
    }

    /// Writes the archived (redacted) transcripts of a session to `out`.
    pub fn write_original(&self, id: &str, out: &mut dyn std::io::Write) -> Result<(), EngineError> {
        let shown = self.show(&ShowRequest::new(id, Surroundings::Turns(0)))?;
        let files = self.store().files(Files::OfEpisode(&shown.episode))?;
        for file in files {
            write_archived(self.store(), &file, out)?;
        }
        Ok(())
    }
}
