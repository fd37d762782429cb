//! Extraction by an agent: gives it the new lines of a conversation, then checks and records its findings.
//!
//! A line is a turn's place in its conversation, from 1. The checkpoint of a conversation is the last line that was
//! distilled, so that a long one is distilled in parts and nothing is given twice.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use yore_core::conflict::{Aspect, StatedValue};
use yore_core::consolidation::PipelineStatistics;
use yore_core::entity::{EntityKind, key_of};
use yore_core::episode::Role;
use yore_core::id::{MemoryId, ProjectId};
use yore_core::memory::{Confidence, Fields, Lane, Memory, MemoryKind, Reach, Source, SourceKind};
use yore_core::operation::Cause;
use yore_core::relation::{Node, RelationType};
use yore_core::text::fragments;

use super::material::{BY_AGENT, Distiller, is_proposed, is_spoken};
use super::refused::{Doubt, ItemProblem, RefusedItem, RelationProblem};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::memories::{Consolidated, Extraction, Fate, GivenEvidence, NamedEntity, NewMemory};
use crate::rules::{SAME, Words, content_words, is_typed, own_bytes};
use crate::store::{EpisodeSummary, Memories, Shape, ShownTurn, Spans, StoredSpan, TopicName, Turns};

/// Most items and relations of one call.
const MOST_ITEMS: usize = 30;
const MOST_RELATIONS: usize = 60;
/// Longest statement, and longest name and summary of a topic, in characters.
const STATEMENT_CHARS: usize = 500;
const TOPIC_NAME_CHARS: usize = 80;
const TOPIC_SUMMARY_CHARS: usize = 600;
/// Longest sentence about a thing, in characters.
const DESCRIPTION_CHARS: usize = 200;
/// Items with a lower confidence are dropped.
const LEAST_CONFIDENCE: f32 = 0.6;
/// Confidence of an item that gives none.
const USUAL_CONFIDENCE: f32 = 0.85;
/// An item with a lower confidence is a speculation: of 59 items from this confidence on, both of two readers accepted 50, of the 26
/// below it 4 (`docs/measurements.md`, "Extraction").
const SURE: f32 = 0.85;
/// Fewest words of the quote of a standard or preference, unless it is the whole message.
const QUOTED_WORDS: usize = 3;
/// Letters that the forms of a word share.
const STEM_CHARS: usize = 5;

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
    /// Things that items name: kind, a sentence, and the known thing that it is.
    pub entities: Vec<DistilledEntity>,
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

/// A thing that items name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct DistilledEntity {
    /// Its name, as items have it.
    pub name: String,
    /// Its kind, by any name; an unknown one is a concept.
    #[serde(alias = "type")]
    pub kind: String,
    /// A sentence that says what it is.
    pub description: Option<String>,
    /// Name of the known thing that it is.
    pub same_as: Option<String>,
}

/// A field of an item: its name and one text.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct DistilledField {
    /// One of [`FIELD_NAMES`](yore_core::memory::FIELD_NAMES).
    pub name: String,
    /// Its text.
    pub text: String,
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
    /// The fields of its kind: the error and its cause, the reason, a rejected alternative.
    pub fields: Vec<DistilledField>,
    /// Line on which it rests; 0: the last one that has the quote.
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
    /// Records what an agent found in a conversation. Items that cannot be stored are left out and told; the rest is
    /// stored, in the extracted lane.
    ///
    /// # Errors
    /// [`EngineError::UnknownSession`], [`EngineError::AmbiguousId`].
    pub fn record_distilled(&self, distilled: &Distilled) -> Result<DistilReport, EngineError> {
        self.record_distilled_by(&BY_AGENT, &self.session_of(&distilled.session)?, distilled)
    }

    /// Records what somebody found in a conversation; see [`Self::record_distilled`].
    pub(super) fn record_distilled_by(
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
            let turn = if item.line == 0 { saying(&turns, &item.quote) } else { turn_of(item.line) };
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
            entities: self.named_entities(distilled)?,
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
        let lines = recorded.iter().map(|(item, _)| item.line).filter(|line| *line > 0);
        let read = lines.chain(distilled.upto).chain(distilled.skip_lines.iter().copied());
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
        report.left = self.lines_left(session, &turns, by)?;
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

    /// Returns the things that items name and that are described, redacted.
    fn named_entities(&self, distilled: &Distilled) -> Result<Vec<NamedEntity>, EngineError> {
        let named: HashSet<String> = distilled.items.iter().flat_map(|item| &item.entities).map(|name| key_of(name)).collect();
        let is_named = |entity: &&DistilledEntity| named.contains(&key_of(&entity.name));
        let mut entities = Vec::new();
        for entity in distilled.entities.iter().filter(is_named).take(MOST_RELATIONS) {
            let (kind, given_kind) = EntityKind::read(&entity.kind);
            let mut name = entity.name.trim().to_owned();
            let mut description = short_text(entity.description.as_deref(), DESCRIPTION_CHARS);
            self.redact([&mut name].into_iter().chain(&mut description))?;
            entities.push(NamedEntity { name, kind, given_kind, description, same_as: entity.same_as.clone() });
        }
        Ok(entities)
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

/// Returns the last turn in which a person or the agent said these words, else the last tool result that has them. A call of a tool says
/// nothing: the one that brings the quote has it too.
fn saying<'t>(turns: &'t [ShownTurn], quote: &str) -> Option<&'t ShownTurn> {
    let last = |has: &dyn Fn(&ShownTurn) -> bool| turns.iter().rev().find(|turn| has(turn));
    if quote.trim().is_empty() {
        return None;
    }
    let said = last(&|turn| is_spoken(turn) && turn.text.contains(quote));
    said.or_else(|| last(&|turn| turn.role == Role::ToolResult && turn.tool_text.contains(quote)))
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
            _ => Fields::from_named(kind, item.fields.iter().map(|field| (field.name.as_str(), field.text.as_str()))),
        },
        confidence: if confidence >= SURE { Confidence::Inferred } else { Confidence::Speculative },
        certainty: confidence,
        source: Source {
            // A conclusion from what the person said is whose it is.
            kind: if is_own && is_said { SourceKind::User } else { SourceKind::Agent },
            extractor: Some(by.name()),
            session: Some(session.native_id.clone()),
            ..Source::default()
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
