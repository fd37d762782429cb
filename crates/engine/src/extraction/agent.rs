//! Extraction by an agent: gives it the new lines of a conversation, then checks and records its findings.
//!
//! A line is a turn's place in its conversation, from 1. The checkpoint of a conversation is the last line that was
//! distilled, so that a long one is distilled in parts and nothing is given twice.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use yore_core::conflict::{Aspect, StatedValue};
use yore_core::consolidation::PipelineStatistics;
use yore_core::episode::Role;
use yore_core::id::{MemoryId, ProjectId};
use yore_core::memory::{Confidence, Fields, Lane, Memory, MemoryKind, Reach, Source, SourceKind, Status};
use yore_core::operation::{Actor, Cause};
use yore_core::relation::{Node, RelationType};
use yore_core::text::fragments;
use yore_core::time::UtcMillis;

use crate::archive::sessions::{AGENT, AGENT_VERSION};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extraction::refused::{Doubt, ItemProblem, RefusedItem, RelationProblem};
use crate::memories::{Consolidated, Extraction, Fate, GivenEvidence, NewMemory};
use crate::rules::{SAME, Words, content_words, is_typed, own_bytes};
use crate::store::{
    EpisodeKey, EpisodeSummary, Memories, MemoryFilter, MemoryKey, MemoryOutline, Outlines, Shape, ShownTurn, Spans, StoredSpan,
    TopicName, Turns,
};
use yore_sources::project_names::ProjectNames;

/// Most items and relations of one call.
const MOST_ITEMS: usize = 30;
const MOST_RELATIONS: usize = 60;
/// Longest statement, and longest name and summary of a topic, in characters.
const STATEMENT_CHARS: usize = 500;
const TOPIC_NAME_CHARS: usize = 80;
const TOPIC_SUMMARY_CHARS: usize = 600;
/// Items with a lower confidence are dropped.
const LEAST_CONFIDENCE: f32 = 0.6;
/// Confidence of an item that gives none.
const USUAL_CONFIDENCE: f32 = 0.8;
/// An item with a lower confidence is a speculation: of 118 items from this confidence on, two readers accepted 94, of the 32
/// below it 9 (`docs/measurements.md`, "Extraction").
const SURE: f32 = 0.8;
/// Characters of the new lines that are given at once, of one of them, and of a line that was distilled before.
pub(crate) const NEW_CHARS: usize = 16_000;
pub(crate) const LINE_CHARS: usize = 1_600;
const RECENT_CHARS: usize = 300;
/// Fewest words of the quote of a standard or preference, unless it is the whole message.
const QUOTED_WORDS: usize = 3;
/// Letters that the forms of a word share.
const STEM_CHARS: usize = 5;
/// Lines before the new ones that are given for context.
const RECENT_LINES: usize = 4;
/// Memories of the session that are given, so that they are not repeated.
const MOST_KNOWN: usize = 20;
/// Most known memories of other sessions that are given beside new lines, the last lines that these are looked for with, and how many of
/// each line.
const MOST_NEAR_KNOWN: usize = 12;
const MOST_LINES_NEAR: usize = 30;
const NEAR_OF_LINE: usize = 4;
/// Open memories of other sessions that are given, and the share of their words that the new lines must have.
const MOST_OPEN: usize = 8;
const OPEN_SHARE: f32 = 0.5;

/// Somebody who distils conversations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distiller {
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
pub(crate) const BY_AGENT: Distiller =
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

/// The findings of an agent in a conversation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Distilled {
    /// Id of the session.
    pub session: String,
    /// Statements worth keeping.
    pub items: Vec<DistilledItem>,
    /// Relations between them and to memories and things.
    pub relations: Vec<DistilledRelation>,
    /// Ids of memories that rules proposed and that are wrong or not worth keeping.
    pub drop: Vec<String>,
    /// The topic of the last line.
    #[serde(alias = "topic_update")]
    pub topic: Option<DistilledTopic>,
    /// The last line that was read; none: the last of the lines of items and those to skip.
    pub upto: Option<u32>,
    /// Lines with nothing to keep.
    pub skip_lines: Vec<u32>,
}

/// Name and summary of a topic.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct DistilledTopic {
    /// Its name.
    pub name: Option<String>,
    /// Its summary.
    pub summary: Option<String>,
}

/// Reads a name, or the number of a line, as a name.
fn name_or_number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    match serde_json::Value::deserialize(from)? {
        serde_json::Value::String(name) => Ok(name),
        serde_json::Value::Number(number) => Ok(number.to_string()),
        other => Err(serde::de::Error::custom(format!("{other} is neither a name nor the number of a line"))),
    }
}

/// A statement worth keeping.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct DistilledItem {
    /// Name by which relations of the same call refer to it.
    #[serde(rename = "ref", alias = "reference")]
    pub reference: Option<String>,
    /// Kind of memory, by any name.
    #[serde(alias = "type")]
    pub kind: String,
    /// One thing, understandable alone.
    #[serde(alias = "content")]
    pub statement: String,
    /// More about it.
    pub details: Option<String>,
    /// Line on which it rests.
    #[serde(alias = "source_line")]
    pub line: u32,
    /// Words of that line.
    pub quote: String,
    /// Names of what it is about.
    pub entities: Vec<String>,
    /// Confidence, 0 to 1.
    pub confidence: Option<f32>,
    /// For a question or todo: whether it is closed.
    #[serde(rename = "closed", alias = "answered")]
    pub is_closed: Option<bool>,
    /// The thing that has one value at a time, if the statement gives that value.
    pub subject: Option<String>,
    /// The aspect of it, by name.
    pub aspect: Option<String>,
    /// The value.
    pub value: Option<String>,
}

/// A relation that an agent found.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct DistilledRelation {
    /// Reference of an item, a line (then all items of that line), or id of a memory.
    #[serde(alias = "from_ref", alias = "from_line", deserialize_with = "name_or_number")]
    pub from: String,
    /// Name of the relation's type.
    #[serde(rename = "type", alias = "name")]
    pub name: String,
    /// Reference of an item, id of a memory, or name of a thing.
    #[serde(alias = "to_ref", alias = "to_id", alias = "to_idea_id", deserialize_with = "name_or_number")]
    pub to: String,
}

/// The fate of an agent's findings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DistilReport {
    /// New memories.
    pub recorded: u64,
    /// Known memories that got evidence.
    pub joined: u64,
    /// Known already with this evidence.
    pub known: u64,
    /// Relations that were stated.
    pub relations: u64,
    /// Memories that rules had proposed and that were put away.
    pub dropped: u64,
    /// Work of the phases of consolidation, and decisions; known only in the process that did it.
    #[serde(skip)]
    pub statistics: PipelineStatistics,
    /// Parts that were not recorded, or not as they were found.
    pub problems: Vec<RefusedItem>,
    /// True if the topic was named.
    pub is_topic_named: bool,
    /// Lines with words that wait.
    pub left: u64,
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

    /// Records what an agent found in a conversation. Items that cannot be stored are left out and told; the rest is
    /// stored, in the extracted lane.
    ///
    /// # Errors
    /// [`EngineError::UnknownSession`], [`EngineError::AmbiguousId`].
    pub fn record_distilled(&self, distilled: &Distilled) -> Result<DistilReport, EngineError> {
        self.record_distilled_by(&BY_AGENT, &self.session_of(&distilled.session)?, distilled)
    }

    /// Records what somebody found in a conversation; see [`Self::record_distilled`].
    pub(crate) fn record_distilled_by(
        &self,
        by: &Distiller,
        session: &EpisodeSummary,
        distilled: &Distilled,
    ) -> Result<DistilReport, EngineError> {
        let turns = self.store().turns(Turns::OfEpisode(session.row))?;
        let projects = self.project_ids_by_key()?;
        let turn_of = |line: u32| (line as usize).checked_sub(1).and_then(|at| turns.get(at));
        let mut report = DistilReport::default();
        if distilled.items.len() > MOST_ITEMS {
            report.problems.push(RefusedItem::TooMany(MOST_ITEMS));
        }
        let mut proposals: Vec<NewMemory> = Vec::new();
        let mut of_item: Vec<(usize, &DistilledItem)> = Vec::new();
        for (number, item) in (1..).zip(&distilled.items).take(MOST_ITEMS) {
            let turn = turn_of(item.line);
            let project = turn.and_then(|turn| projects.get(&turn.project_key?).copied());
            match proposal(item, turn, project, session, by) {
                Ok((new, doubt)) => {
                    report.problems.extend(doubt.map(|doubt| RefusedItem::Waits(number, doubt)));
                    proposals.push(new);
                    of_item.push((number, item));
                }
                Err(problem) => report.problems.push(RefusedItem::Item(number, problem)),
            }
        }
        let extraction = Extraction {
            episode: session.row,
            session: &session.native_id,
            extractor: by.extractor,
            version: by.version,
            actor: by.actor,
            is_whole: false,
            restated: self.restated(distilled)?,
            proposals,
        };
        let Consolidated { counts, fates, statistics } = self.record_extraction(&extraction)?;
        (report.recorded, report.joined, report.known) = (counts.recorded, counts.joined, counts.known);
        report.statistics = statistics;
        let mut recorded: Vec<(&DistilledItem, MemoryId)> = Vec::new();
        for ((number, item), fate) in of_item.into_iter().zip(fates) {
            match fate {
                Fate::Memory(id) => recorded.push((item, id)),
                Fate::Refused => report.problems.push(RefusedItem::Item(number, ItemProblem::Rejected)),
                Fate::Invalid(error) => report.problems.push(RefusedItem::Item(number, (&error).into())),
            }
        }
        let own = self.store().memories(Memories::RestingOn(session.row))?;
        let own: Vec<Memory> = own.into_iter().map(|(_, memory)| memory).collect();
        self.relate_distilled(by, distilled, &recorded, &own, &mut report)?;
        let met: Vec<MemoryId> = recorded.iter().map(|(_, id)| *id).collect();
        self.drop_proposed(by, distilled, &own, &met, &mut report)?;
        // Lines of items that were refused may not have been read.
        let read = recorded.iter().map(|(item, _)| item.line).chain(distilled.upto).chain(distilled.skip_lines.iter().copied());
        let (read, unknown): (Vec<u32>, Vec<u32>) = read.partition(|line| turn_of(*line).is_some());
        report.problems.extend(unknown.into_iter().map(RefusedItem::NoLine));
        let mut done = self.distilled_lines(session, by)?;
        if let Some(last) = read.into_iter().max()
            && let Some(turn) = turn_of(last)
        {
            report.is_topic_named = self.name_topic_of(session, &turns[..last as usize], distilled.topic.as_ref())?;
            done = done.max(last as usize);
            let shape = Shape { turns: done as i64, parts: 0, newest: turn.row };
            self.store().note_extraction(session.row, by.checkpoint, Some(shape), self.now())?;
        }
        report.left = turns.iter().skip(done).filter(|turn| is_spoken(turn)).count() as u64;
        Ok(report)
    }

    /// Returns the known memories that are dropped or superseded by what was distilled.
    fn restated(&self, distilled: &Distilled) -> Result<HashSet<MemoryId>, EngineError> {
        let is_replacing = |relation: &&DistilledRelation| {
            RelationType::read(&relation.name.trim().replace([' ', '-'], "_")) == Some((RelationType::Supersedes, false))
        };
        let replaced = distilled.relations.iter().take(MOST_RELATIONS).filter(is_replacing).map(|relation| &relation.to);
        let mut restated = HashSet::new();
        for id in distilled.drop.iter().take(MOST_ITEMS).chain(replaced) {
            restated.extend(self.memory_of_id(id)?);
        }
        Ok(restated)
    }

    /// Gives the topic of the last of these turns, which begin a session, its name and summary. Returns whether it did.
    fn name_topic_of(
        &self,
        session: &EpisodeSummary,
        turns: &[ShownTurn],
        topic: Option<&DistilledTopic>,
    ) -> Result<bool, EngineError> {
        let Some(topic) = topic else { return Ok(false) };
        let mut name = short_text(topic.name.as_deref(), TOPIC_NAME_CHARS);
        let mut summary = short_text(topic.summary.as_deref(), TOPIC_SUMMARY_CHARS);
        if name.is_none() && summary.is_none() {
            return Ok(false);
        }
        self.redact(name.iter_mut().chain(&mut summary))?;
        self.divide_changed(&[session.row], &mut || true)?;
        let spans = self.store().spans(Spans::Of(&[session.row]))?;
        let is_begun = |span: &&StoredSpan| span.depth == 0 && turns.iter().any(|turn| turn.row == span.first);
        let Some(last) = spans.iter().rfind(is_begun) else { return Ok(false) };
        let topic = TopicName { first: last.first, name, summary };
        Ok(self.store().put_summary(session.row, &[], &[topic], None, "", self.now())?.is_some_and(|named| named > 0))
    }

    fn relate_distilled(
        &self,
        by: &Distiller,
        distilled: &Distilled,
        recorded: &[(&DistilledItem, MemoryId)],
        own: &[Memory],
        report: &mut DistilReport,
    ) -> Result<(), EngineError> {
        let by_reference: HashMap<&str, MemoryId> =
            recorded.iter().filter_map(|(item, id)| Some((item.reference.as_deref()?, *id))).collect();
        let cause = Cause { actor: by.actor, by: by.name(), input: Some(distilled.session.clone()) };
        for relation in distilled.relations.iter().take(MOST_RELATIONS) {
            let line = relation.from.trim().parse::<u32>().ok();
            let of_line: Vec<MemoryId> = recorded.iter().filter(|(item, _)| Some(item.line) == line).map(|(_, id)| *id).collect();
            let from: Vec<MemoryId> = match by_reference.get(relation.from.as_str()) {
                Some(id) => vec![*id],
                // A conversation speaks for its own memories only.
                None if of_line.is_empty() => {
                    let named = self.memory_of_id(&relation.from)?;
                    named.into_iter().filter(|id| own.iter().any(|memory| memory.id == *id)).collect()
                }
                None => of_line,
            };
            let refused = |why: RelationProblem| {
                let DistilledRelation { from, name, to } = relation.clone();
                RefusedItem::Relation { from, name, to, why }
            };
            let Some(name) = RelationType::read(&relation.name.trim().replace([' ', '-'], "_")) else {
                report.problems.push(refused(RelationProblem::UnknownType));
                continue;
            };
            if from.is_empty() {
                report.problems.push(refused(RelationProblem::UnknownStart(relation.from.clone())));
                continue;
            }
            let to = match by_reference.get(relation.to.as_str()) {
                Some(id) => Some(Node::Memory(*id)),
                None => self.node_of_words(&relation.to, &cause)?,
            };
            let Some(to) = to else {
                report.problems.push(refused(RelationProblem::UnknownEnd(relation.to.clone())));
                continue;
            };
            if from.iter().all(|from| Node::Memory(*from) == to) {
                report.problems.push(refused(RelationProblem::OneMemory));
            }
            for from in from.into_iter().map(Node::Memory).filter(|from| *from != to) {
                match self.relate(&from, name, &to, 1.0, None, &cause) {
                    Ok(_) => report.relations += 1,
                    Err(EngineError::Memory(error)) => {
                        report.problems.push(refused(RelationProblem::Invalid(error.to_string())));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Puts away what rules had proposed and whoever distils drops.
    fn drop_proposed(
        &self,
        by: &Distiller,
        distilled: &Distilled,
        own: &[Memory],
        met: &[MemoryId],
        report: &mut DistilReport,
    ) -> Result<(), EngineError> {
        let mut dropped: Vec<MemoryId> = Vec::new();
        for id in distilled.drop.iter().take(MOST_ITEMS) {
            let named = self.memory_of_id(id)?;
            match own.iter().find(|memory| Some(memory.id) == named && is_proposed(memory)) {
                // A memory that an item of the same answer repeats stays.
                Some(memory) if !dropped.contains(&memory.id) && !met.contains(&memory.id) => dropped.push(memory.id),
                Some(_) => {}
                None => report.problems.push(RefusedItem::NotDropped(id.clone())),
            }
        }
        if !dropped.is_empty() {
            let cause = Cause { actor: by.actor, by: by.name(), input: Some(distilled.session.clone()) };
            self.archive_memories(&dropped, true, &cause)?;
            report.dropped = dropped.len() as u64;
        }
        Ok(())
    }

    pub(crate) fn material_of(&self, session: &EpisodeSummary, by: &Distiller) -> Result<Option<Material>, EngineError> {
        let turns = self.store().turns(Turns::OfEpisode(session.row))?;
        let done = self.distilled_lines(session, by)?;
        let line = |at: usize, chars: usize| Line {
            line: at as u32 + 1,
            role: turns[at].role,
            at: turns[at].time.utc,
            text: both_ends(turns[at].text.trim(), chars),
        };
        let spoken: Vec<usize> = (0..turns.len()).filter(|at| is_spoken(&turns[*at])).collect();
        let before: Vec<usize> = spoken.iter().copied().filter(|at| *at < done).collect();
        let after: Vec<usize> = spoken.into_iter().filter(|at| *at >= done).collect();
        let recent = before[before.len().saturating_sub(RECENT_LINES)..].iter().map(|at| line(*at, RECENT_CHARS)).collect();
        let (mut new, mut chars) = (Vec::new(), 0);
        for at in &after {
            let line = line(*at, LINE_CHARS);
            chars += line.text.chars().count();
            if !new.is_empty() && chars > by.new_chars {
                break;
            }
            new.push(line);
        }
        if new.is_empty() {
            return Ok(None);
        }
        let left = (after.len() - new.len()) as u64;
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
            project: session.project.clone(),
            topic: spans.iter().rev().find_map(|span| span.name.clone()),
            summary: spans.iter().rev().find_map(|span| span.summary.clone()),
            known: known.into_iter().map(told).collect(),
            near: near.into_iter().map(told).collect(),
            proposed: proposed.into_iter().map(told).collect(),
            open: open.into_iter().map(told).collect(),
            recent,
            new,
            left,
        };
        let texts = material.recent.iter_mut().chain(&mut material.new).map(|line| &mut line.text);
        let known = material.known.iter_mut().chain(&mut material.near).chain(&mut material.proposed).chain(&mut material.open);
        let known = known.map(|(_, _, statement)| statement);
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

    /// Notes that a session was distilled to its last turn.
    pub(crate) fn note_read_whole(&self, session: &EpisodeSummary, by: &Distiller) -> Result<(), EngineError> {
        let Some(shape) = self.store().shapes(None)?.remove(&session.row) else { return Ok(()) };
        if self.distilled_lines(session, by)? < shape.turns.max(0) as usize {
            self.store().note_extraction(session.row, by.checkpoint, Some(shape), self.now())?;
        }
        Ok(())
    }

    /// Returns the number of lines of a session that were distilled: a model reads none that the agent has read.
    fn distilled_lines(&self, session: &EpisodeSummary, by: &Distiller) -> Result<usize, EngineError> {
        let mut lines = 0;
        for checkpoint in [by.checkpoint, BY_AGENT.checkpoint] {
            let read = self.store().shapes(Some(checkpoint))?.remove(&session.row);
            lines = lines.max(read.map_or(0, |shape| shape.turns.max(0) as usize));
        }
        Ok(lines)
    }
}

/// Returns whether rules made a memory, and nobody has confirmed it since.
fn is_proposed(memory: &Memory) -> bool {
    let by_rules = memory.source.extractor.as_deref().is_some_and(|name| name.split('/').next() == Some(crate::rules::NAME));
    by_rules && memory.lane == Lane::Extracted && memory.status == Status::Holds && memory.confidence != Confidence::Verified
}

/// Returns whether a turn is of a person or an agent and has words. Nothing is learned from one with a caveat.
pub(crate) fn is_spoken(turn: &ShownTurn) -> bool {
    turn.caveat.is_none() && matches!(turn.role, Role::Human | Role::Assistant | Role::Summary) && !turn.text.trim().is_empty()
}

/// The ground that a statement has in the line that it rests on.
struct Ground {
    /// True if the quote is of the person's own words, and not of what they pasted.
    is_own: bool,
    /// True if the sentences of the quote say most of the statement, and its value.
    is_said: bool,
}

/// Returns the ground of an item in a line.
fn ground(item: &DistilledItem, asserts: Option<&StatedValue>, turn: &ShownTurn) -> Ground {
    let Some(at) = turn.text.find(item.quote.as_str()) else { return Ground { is_own: false, is_said: false } };
    let quoted = at..at + item.quote.len();
    let is_quoted = |part: &Range<usize>| part.start < quoted.end && quoted.start < part.end;
    let mut said: String =
        fragments(&turn.text).into_iter().filter(is_quoted).map(|part| turn.text[part].to_owned() + " ").collect();
    said.push_str(&item.quote);
    let is_own = turn.role == Role::Human
        && turn.caveat.is_none()
        && is_typed(&turn.text)
        && at < own_bytes(&turn.text, Words::of(&turn.text));
    let value = asserts.is_none_or(|asserts| support(&asserts.value, &said) >= 1.0);
    Ground { is_own, is_said: value && support(&item.statement, &said) >= SAME }
}

/// Returns the share of the words of a statement that a text has, with its numbers; forms of a word count as the same.
fn support(statement: &str, text: &str) -> f32 {
    let words = |text: &str| -> HashSet<String> {
        let numbers = text.split(|letter: char| !letter.is_alphanumeric() && letter != '.').map(|word| word.trim_matches('.'));
        let numbers = numbers.filter(|word| word.contains(|letter: char| letter.is_ascii_digit())).map(str::to_owned);
        content_words(text).map(|word| word.chars().take(STEM_CHARS).collect()).chain(numbers).collect()
    };
    let (wanted, said) = (words(statement), words(text));
    if wanted.is_empty() { 1.0 } else { wanted.intersection(&said).count() as f32 / wanted.len() as f32 }
}

/// Makes a memory of an item, with the reason why it waits for a review if it does.
fn proposal(
    item: &DistilledItem,
    turn: Option<&ShownTurn>,
    project: Option<ProjectId>,
    session: &EpisodeSummary,
    by: &Distiller,
) -> Result<(NewMemory, Option<Doubt>), ItemProblem> {
    let turn = turn.ok_or(ItemProblem::NoLine(item.line))?;
    if let Some(caveat) = turn.caveat {
        return Err(ItemProblem::NothingLearned { line: item.line, why: caveat });
    }
    let kind = item.kind.trim().to_lowercase().replace([' ', '-'], "_");
    let kind = MemoryKind::parse(&kind).ok_or_else(|| ItemProblem::UnknownKind(item.kind.clone()))?;
    let statement = item.statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = statement.chars().count();
    if length > STATEMENT_CHARS {
        return Err(ItemProblem::TooLong { length, most: STATEMENT_CHARS });
    }
    if item.quote.trim().is_empty() {
        return Err(ItemProblem::NoQuote);
    }
    let confidence = item.confidence.unwrap_or(USUAL_CONFIDENCE);
    if !(LEAST_CONFIDENCE..=1.0).contains(&confidence) {
        return Err(ItemProblem::Confidence { confidence, least: LEAST_CONFIDENCE });
    }
    let asserts = match (words(item.subject.as_deref()), words(item.value.as_deref())) {
        (Some(subject), Some(value)) => {
            let named = item.aspect.as_deref().unwrap_or_default().trim().to_lowercase();
            let aspect = if named.is_empty() { Some(Aspect::default()) } else { Aspect::parse(&named) };
            let aspect = aspect.ok_or(ItemProblem::UnknownAspect(named))?;
            Some(StatedValue { subject, aspect, value })
        }
        _ => None,
    };
    let is_order = matches!(kind, MemoryKind::Standard | MemoryKind::Preference);
    // Otherwise an agent in good faith could make an order of words of a tool or a page.
    if is_order && (turn.role != Role::Human || turn.caveat.is_some()) {
        return Err(ItemProblem::NotOfPerson(kind));
    }
    if is_order && item.quote.split_whitespace().count() < QUOTED_WORDS && item.quote.trim() != turn.text.trim() {
        return Err(ItemProblem::ShortQuote { kind, least: QUOTED_WORDS });
    }
    let Ground { is_own, is_said } = ground(item, asserts.as_ref(), turn);
    let doubt = match (is_own, is_said) {
        _ if !is_order => None,
        (false, _) => Some(Doubt::NotOwn),
        (true, false) => Some(Doubt::NotSaid),
        (true, true) => None,
    };
    let mut new = NewMemory::new(kind, statement);
    new.memory = Memory {
        id: MemoryId::from_bytes([0; 16]),
        project,
        details: item.details.clone(),
        fields: match (kind, item.is_closed) {
            (MemoryKind::Question | MemoryKind::Todo | MemoryKind::Problem, is_closed) => {
                Fields::Open { is_closed: is_closed.unwrap_or(false) }
            }
            _ => Fields::None,
        },
        confidence: if confidence >= SURE { Confidence::Inferred } else { Confidence::Speculative },
        certainty: confidence,
        source: Source {
            // A conclusion from what the person said is whose it is.
            kind: if is_own && is_said { SourceKind::User } else { SourceKind::Agent },
            extractor: Some(by.name()),
            session: Some(session.native_id.clone()),
            place: None,
        },
        lane: Lane::Extracted,
        reach: if project.is_none() { Reach::Unknown } else { Reach::Everywhere },
        valid_from: turn.time.utc,
        asserts,
        ..new.memory
    };
    if doubt.is_some() {
        new.memory = new.memory.waiting_for_review();
    }
    new.evidence = vec![GivenEvidence { turn: turn.id.to_string(), quote: Some(item.quote.clone()) }];
    new.entities = item.entities.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).take(8).collect();
    Ok((new, doubt))
}

/// Returns a text without line breaks; none if it is empty.
fn words(text: Option<&str>) -> Option<String> {
    Some(text?.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}

fn short_text(text: Option<&str>, chars: usize) -> Option<String> {
    let line = text?.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(line.chars().take(chars).collect::<String>()).filter(|line| !line.is_empty())
}

/// Returns the beginning and the end of a long text.
fn both_ends(text: &str, chars: usize) -> String {
    let count = text.chars().count();
    if count <= chars {
        return text.to_owned();
    }
    let head: String = text.chars().take(chars * 2 / 3).collect();
    let tail: String = text.chars().skip(count - chars / 3).collect();
    format!("{head} [… {} characters …] {tail}", count - chars * 2 / 3 - chars / 3)
}
