//! The part of a conversation that is given to whoever distils it: its new lines, and what is known already.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use yore_core::entity::{Entity, EntityKind};
use yore_core::episode::Role;
use yore_core::id::EntityId;
use yore_core::memory::{Confidence, Lane, Memory, MemoryKind, Status};
use yore_core::operation::Actor;
use yore_core::text::error_line;
use yore_core::time::UtcMillis;
use yore_sources::project_names::ProjectNames;

use super::readable::{Given, Voice, both_ends};
use crate::archive::sessions::{AGENT, AGENT_VERSION};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::rules::content_words;
use crate::store::{
    EpisodeKey, EpisodeSummary, Memories, MemoryFilter, MemoryKey, MemoryOutline, Outlines, Shape, ShownTurn, Spans, Turns,
};

/// Characters of the new lines that are given at once, of one of them, and of a line that was distilled before.
pub(super) const NEW_CHARS: usize = 24_000;
const LINE_CHARS: usize = 1_200;
const RECENT_CHARS: usize = 300;
/// Lines before the new ones that are given for context.
const RECENT_LINES: usize = 4;
/// Memories of the session that are given, so that they are not repeated.
const MOST_KNOWN: usize = 12;
/// Most known memories of other sessions that are given beside new lines, the last lines that these are looked for with, and how many of
/// each line.
const MOST_NEAR_KNOWN: usize = 8;
const MOST_LINES_NEAR: usize = 30;
const NEAR_OF_LINE: usize = 4;
/// Open memories of other sessions that are given, and the share of their words that the new lines must have.
const MOST_OPEN: usize = 5;
const OPEN_SHARE: f32 = 0.5;
/// Most errors of failed tools that are given as lines, and the characters of one.
const MOST_ERRORS: usize = 8;
const ERROR_CHARS: usize = 160;
/// Most known things that are named, and how many of the store's are looked for in the lines.
const MOST_THINGS: usize = 20;
const MOST_LOOKED_FOR: usize = 5_000;
/// Shortest name that is looked for, in characters.
const LEAST_NAME: usize = 3;

/// Somebody who distils conversations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distiller {
    /// Name and version of the extractor.
    pub extractor: &'static str,
    pub version: u32,
    /// Name under which is noted how far it has read: what was read is not read again because its version is another.
    pub checkpoint: &'static str,
    /// Characters of the new lines that it is given at once.
    pub new_chars: usize,
    /// The kind of actor.
    pub actor: Actor,
}

/// The agent that is at work.
pub(super) const BY_AGENT: Distiller =
    Distiller { extractor: AGENT, version: AGENT_VERSION, checkpoint: "agent/1", new_chars: NEW_CHARS, actor: Actor::Agent };

impl Distiller {
    /// Returns its name with its version, such as `agent/1`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.extractor, self.version)
    }
}

/// The conversation whose new lines are asked for.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct MaterialRequest {
    /// Id of the session; none: the caller's own session if it has new lines, else the one of the project that was used last
    /// and waits.
    pub session: Option<String>,
    /// The caller's own session, by the agent's id.
    pub own: Option<String>,
    /// The directory whose project counts; none: all projects.
    pub here: Option<ProjectNames>,
}

/// A conversation as an agent is given it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Material {
    /// The agent's own id of the session.
    pub session: String,
    /// Title of the session.
    pub title: Option<String>,
    /// When it began.
    #[serde(default)]
    pub started: Option<UtcMillis>,
    /// Name of the project.
    pub project: Option<String>,
    /// Name and summary of the session's latest topic that was distilled, if it was given one.
    pub topic: Option<String>,
    /// See [`Self::topic`].
    pub summary: Option<String>,
    /// Memories of the session: short id, kind and statement.
    pub known: Vec<(String, MemoryKind, String)>,
    /// Memories of the project from other sessions that are nearest to the new lines: id, kind and statement.
    #[serde(default)]
    pub near: Vec<(String, MemoryKind, String)>,
    /// Memories that rules made of the session and nobody confirmed, in the same form.
    pub proposed: Vec<(String, MemoryKind, String)>,
    /// Open questions, problems and todos of the project that the new lines may close, in the same form.
    pub open: Vec<(String, MemoryKind, String)>,
    /// Known things that the new lines name: name and kind.
    #[serde(default)]
    pub things: Vec<(String, EntityKind)>,
    /// The last lines that were distilled before.
    pub recent: Vec<Line>,
    /// The lines to distil.
    pub new: Vec<Line>,
    /// Lines with words that follow these.
    pub left: u64,
}

/// A line of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its number.
    pub line: u32,
    /// Who says it.
    pub role: Role,
    /// When it was said.
    pub at: Option<UtcMillis>,
    /// Its words, the middle left out if they are many.
    pub text: String,
}

impl Engine {
    /// Returns the new lines of a conversation for an agent to distil; `None` if none waits.
    ///
    /// # Errors
    /// [`EngineError::UnknownSession`], [`EngineError::AmbiguousId`].
    pub fn material(&self, request: &MaterialRequest) -> Result<Option<Material>, EngineError> {
        if let Some(id) = &request.session {
            return self.material_of(&self.session_of(id)?, &BY_AGENT);
        }
        let waiting = self.sessions_to_distil(request.here.as_ref())?;
        let is_own = |(_, native_id): &(EpisodeKey, String)| request.own.as_ref() == Some(native_id);
        let (own, others): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_own);
        // Mostly the first has words among its turns.
        for (_, native_id) in own.into_iter().chain(others) {
            if let Some(material) = self.material_of(&self.session_of(&native_id)?, &BY_AGENT)? {
                return Ok(Some(material));
            }
        }
        Ok(None)
    }

    pub(super) fn material_of(&self, session: &EpisodeSummary, by: &Distiller) -> Result<Option<Material>, EngineError> {
        let turns = self.store().turns(Turns::OfEpisode(session.row))?;
        let Lines { recent, new, left } = lines_of(&turns, self.distilled_lines(session, by)?, by.new_chars);
        if new.is_empty() {
            return Ok(None);
        }
        let known = self.store().memories(Memories::RestingOn(session.row))?;
        let mut known: Vec<Memory> = known.into_iter().map(|(_, memory)| memory).collect();
        known.retain(|memory| !memory.is_forgotten() && memory.status != Status::Proposed);
        known.sort_by_key(|memory| std::cmp::Reverse(memory.recorded));
        let open = self.open_in(&new, &turns, &known)?;
        let near = self.known_near(&new, &turns, &known)?;
        let (mut proposed, mut known): (Vec<_>, Vec<_>) = known.into_iter().partition(is_proposed);
        proposed.truncate(MOST_KNOWN);
        known.truncate(MOST_KNOWN);
        let spans = self.store().spans(Spans::Of(&[session.row]))?;
        let told = |memory: Memory| (memory.id.short(), memory.kind, memory.statement);
        let mut material = Material {
            session: session.native_id.clone(),
            title: session.title.clone(),
            started: session.started,
            project: session.project.clone(),
            topic: spans.iter().rev().find_map(|span| span.name.clone()),
            summary: spans.iter().rev().find_map(|span| span.summary.clone()),
            known: known.into_iter().map(told).collect(),
            near: near.into_iter().map(told).collect(),
            proposed: proposed.into_iter().map(told).collect(),
            open: open.into_iter().map(told).collect(),
            things: self.things_in(&new)?,
            recent,
            new,
            left,
        };
        let texts = material.recent.iter_mut().chain(&mut material.new).map(|line| &mut line.text);
        let known = material.known.iter_mut().chain(&mut material.near).chain(&mut material.proposed).chain(&mut material.open);
        let known = known.map(|(_, _, statement)| statement).chain(material.things.iter_mut().map(|(name, _)| name));
        self.redact_again(texts.chain(known).chain(&mut material.title).chain(&mut material.topic).chain(&mut material.summary))?;
        Ok(Some(material))
    }

    /// Returns the memories in effect of the project, without those of this session and open ones, that are nearest to the new lines of
    /// the person and the agent, those that most lines are near first.
    fn known_near(&self, new: &[Line], turns: &[ShownTurn], own: &[Memory]) -> Result<Vec<Memory>, EngineError> {
        let Some(project) = new.last().and_then(|line| turns.get(line.line as usize - 1)).and_then(|turn| turn.project_key)
        else {
            return Ok(Vec::new());
        };
        let mut met: HashMap<MemoryKey, usize> = HashMap::new();
        for line in new.iter().rev().take(MOST_LINES_NEAR) {
            let by_words = self.nearest_memories(&line.text, Some(project), NEAR_OF_LINE)?;
            let by_meaning = self.nearest_by_meaning(&line.text, Some(project), NEAR_OF_LINE).unwrap_or_default();
            for key in by_words.into_iter().chain(by_meaning) {
                *met.entry(key).or_default() += 1;
            }
        }
        let mut keys: Vec<(MemoryKey, usize)> = met.into_iter().collect();
        keys.sort_by_key(|(key, count)| (std::cmp::Reverse(*count), std::cmp::Reverse(*key)));
        let keys: Vec<MemoryKey> = keys.into_iter().map(|(key, _)| key).collect();
        let near = self.store().outlines(Outlines::Keys(&keys))?;
        let is_other =
            |memory: &MemoryOutline| memory.is_in_effect() && !memory.is_open() && own.iter().all(|known| known.id != memory.id);
        Ok(near.into_iter().filter(is_other).take(MOST_NEAR_KNOWN).map(|memory| (*memory).clone()).collect())
    }

    /// Returns the open questions, problems and todos of the project, without those of this session, whose words the new
    /// lines have: the most likely to be closed by them first.
    fn open_in(&self, new: &[Line], turns: &[ShownTurn], own: &[Memory]) -> Result<Vec<Memory>, EngineError> {
        let last = new.last().and_then(|line| turns.get(line.line as usize - 1)).and_then(|turn| turn.project_key);
        let projects = self.project_ids_by_key()?;
        let Some(project) = last.and_then(|key| projects.get(&key).copied()) else { return Ok(Vec::new()) };
        let filter = MemoryFilter {
            projects: Some(vec![project]),
            kinds: MemoryKind::OPEN.to_vec(),
            statuses: vec![Status::Holds],
            ..MemoryFilter::default()
        };
        let said: HashSet<String> = new.iter().flat_map(|line| content_words(&line.text)).collect();
        let mut scored: Vec<(f32, Memory)> = Vec::new();
        for (_, memory) in self.store().memories(Memories::Meeting(&filter, usize::MAX >> 1))? {
            if !memory.is_open() || own.iter().any(|known| known.id == memory.id) {
                continue;
            }
            let words: HashSet<String> = content_words(&memory.statement).collect();
            let share = words.intersection(&said).count() as f32 / words.len().max(1) as f32;
            if share >= OPEN_SHARE {
                scored.push((share, memory));
            }
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(scored.into_iter().take(MOST_OPEN).map(|(_, memory)| memory).collect())
    }

    /// Returns the known things whose name or alias the lines have, under that name, those of a kind and with long names first. Another
    /// name of a thing may be known from a project that whoever reads this must not see.
    fn things_in(&self, lines: &[Line]) -> Result<Vec<(String, EntityKind)>, EngineError> {
        let said: String = lines.iter().map(|line| plain_name(&line.text) + " ").collect();
        let is_said = |name: &&String| {
            let name = plain_name(name);
            name.trim().chars().count() >= LEAST_NAME && said.contains(&name)
        };
        let named = |entity: &Entity| std::iter::once(&entity.name).chain(&entity.aliases).find(is_said).cloned();
        let known = self.entities(MOST_LOOKED_FOR)?;
        let others = known.iter().filter(|entity| entity.id != EntityId::USER);
        let mut things: Vec<(String, EntityKind)> = others.filter_map(|entity| Some((named(entity)?, entity.kind))).collect();
        things.sort_by_key(|(name, kind)| (*kind == EntityKind::Concept, std::cmp::Reverse(name.len())));
        things.truncate(MOST_THINGS);
        Ok(things)
    }

    /// Notes that a session was read as far as it goes now, for no line is left that has something to keep.
    pub(super) fn note_read(&self, session: &EpisodeSummary, by: &Distiller) -> Result<(), EngineError> {
        let turns = self.store().turns(Turns::OfEpisode(session.row))?;
        let Some(last) = turns.last().filter(|_| self.distilled_lines(session, by).is_ok_and(|done| done < turns.len())) else {
            return Ok(());
        };
        let shape = Shape { turns: turns.len() as i64, parts: 0, newest: last.row };
        Ok(self.store().note_extraction(session.row, by.checkpoint, Some(shape), self.now())?)
    }

    /// Returns the number of lines of a session that wait.
    pub(super) fn lines_left(&self, session: &EpisodeSummary, turns: &[ShownTurn], by: &Distiller) -> Result<u64, EngineError> {
        let Lines { new, left, .. } = lines_of(turns, self.distilled_lines(session, by)?, by.new_chars);
        Ok(new.len() as u64 + left)
    }

    /// Returns the number of lines of a session that were distilled: a model reads none that the agent has read.
    pub(super) fn distilled_lines(&self, session: &EpisodeSummary, by: &Distiller) -> Result<usize, EngineError> {
        let mut lines = 0;
        for checkpoint in [by.checkpoint, BY_AGENT.checkpoint] {
            let read = self.store().shapes(Some(checkpoint))?.remove(&session.row);
            lines = lines.max(read.map_or(0, |shape| shape.turns.max(0) as usize));
        }
        Ok(lines)
    }
}

/// Returns whether rules made a memory, and nobody has confirmed it since.
pub(super) fn is_proposed(memory: &Memory) -> bool {
    let by_rules = memory.source.extractor.as_deref().is_some_and(|name| name.split('/').next() == Some(crate::rules::NAME));
    by_rules && memory.lane == Lane::Extracted && memory.status == Status::Holds && memory.confidence != Confidence::Verified
}

/// Returns whether a turn is of a person or an agent and has words. Nothing is learned from one with a caveat.
pub(super) fn is_spoken(turn: &ShownTurn) -> bool {
    turn.caveat.is_none() && matches!(turn.role, Role::Human | Role::Assistant | Role::Summary) && !turn.text.trim().is_empty()
}

/// Returns the characters of all lines of a conversation that are given, from a turn on.
pub(super) fn chars_of(turns: &[ShownTurn], done: usize) -> usize {
    lines_of(turns, done, usize::MAX).new.iter().map(|line| line.text.chars().count()).sum()
}

/// Lines of a conversation, as they are given.
struct Lines {
    /// The last ones that were distilled before.
    recent: Vec<Line>,
    /// Those to distil.
    new: Vec<Line>,
    /// Number of those that follow.
    left: u64,
}

/// Returns the lines of a conversation that are given to whoever distils it: the turns from `done` on that have something to keep.
fn lines_of(turns: &[ShownTurn], done: usize, new_chars: usize) -> Lines {
    let line = |at: usize, text: String| Line { line: at as u32 + 1, role: turns[at].role, at: turns[at].time.utc, text };
    let spoken: Vec<usize> = (0..turns.len()).filter(|at| is_spoken(&turns[*at])).collect();
    let before = spoken.partition_point(|at| *at < done);
    let recent = spoken[before.saturating_sub(RECENT_LINES)..before].iter();
    let recent = recent.map(|at| line(*at, both_ends(turns[*at].text.trim(), RECENT_CHARS))).collect();
    // Those of lines that were distilled before count as given.
    let (mut given, mut errors) = (Given::default(), 0);
    let (mut new, mut chars, mut left) = (Vec::new(), 0, 0);
    for (at, turn) in turns.iter().enumerate() {
        let text = match turn.role {
            _ if !is_spoken(turn) => match error_of(turn) {
                Some(error) if at >= done && left == 0 && errors < MOST_ERRORS => {
                    errors += 1;
                    given.readable(&error, Voice::Other, ERROR_CHARS)
                }
                _ => continue,
            },
            // A summary in the middle repeats what was said before it.
            Role::Summary if spoken.first().is_some_and(|first| *first < at) => String::new(),
            Role::Assistant => {
                let next = spoken[spoken.partition_point(|spoken| *spoken <= at)..].first();
                let is_report = next.is_none_or(|next| turns[*next].role != Role::Assistant);
                given.readable(&turn.text, if is_report { Voice::Report } else { Voice::Narration }, LINE_CHARS)
            }
            _ => given.readable(&turn.text, Voice::Other, LINE_CHARS),
        };
        if at < done || text.is_empty() {
            continue;
        }
        chars += text.chars().count();
        if left > 0 || !new.is_empty() && chars > new_chars {
            left += 1;
        } else {
            new.push(line(at, text));
        }
    }
    // Errors alone tell of nothing.
    if new.iter().all(|line| line.role == Role::ToolResult) {
        new.clear();
    }
    Lines { recent, new, left }
}

/// Returns the line of the error of a tool that failed.
fn error_of(turn: &ShownTurn) -> Option<String> {
    if turn.role != Role::ToolResult || !turn.is_error || turn.caveat.is_some() {
        return None;
    }
    error_line(&turn.tool_text).map(|line| line.trim().chars().take(ERROR_CHARS).collect())
}

/// Returns a text in lower case in which letters and digits stay and all else is a blank, with one at either end: a name that another
/// text has as whole words stands in it so, whichever way its words are joined.
fn plain_name(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(" ".to_owned(), |all, word| all + &word.to_lowercase() + " ")
}
