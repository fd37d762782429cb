//! Reads a thing at a level: a line, the passage that bears on a question, what it is related to, a synthesis.
//!
//! One verb ([`Engine::deepen`]) for memories, turns, sessions, topics, notes, entities and files. All words of a thing
//! ([`Level::Whole`]) come in pages: [`Engine::show`], [`Engine::open_memory`].

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use yore_core::entity::Entity;
use yore_core::episode::{EpisodeKind, Role};
use yore_core::id::TurnId;
use yore_core::level::Level;
use yore_core::memory::{Memory, Status};
use yore_core::pack::{self, Source, Wanted};
use yore_core::query::{AnswerKind, AskDepth, Filter, Wanted as WantedItems};
use yore_core::relation::Node;
use yore_core::scope::ScopeChoice;
use yore_core::text::{Question, Tokenizer, asked_for, fragments};
use yore_core::time::UtcMillis;

use crate::archive::{ContextPlace, ContextReading, ReachedContext, ShowRequest, Surroundings};
use crate::ask::{AskAnswer, AskRequest};
use crate::engine::Engine;
use crate::error::{EngineError, MemoryError};
use crate::memories::{MemoryList, NamedRelation};
use crate::retrieve::{Hit, Packing, RecallRequest, Tuning, ViewRow, reply_to};
use crate::rules::{cut, cut_sentence, plain};
use crate::store::{MemoryFilter, RowKey, ShownTurn, TurnChoice, Turns};
use crate::topics::{SimilarTopic, Topic, TopicsRequest};

/// Longest text of a line, in characters: with time, status and id about 30 tokens.
const LINE_CHARS: usize = 110;
/// Most characters of an opening or a summary.
const OPENING_CHARS: usize = 600;
/// Most memories of a turn, a session or an entity, and topics of a session, that are told.
const MOST: usize = 12;
/// Most results from which passages are taken.
const RESULTS: usize = 6;
/// Relation of a memory to the turn that it rests on.
pub(crate) const LEARNED: &str = "learned from it";
/// Mark before the id of the first turn of a topic: a turn has the same id.
const TOPIC: &str = "topic:";

/// A thing that is to be read at a level.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct DeepenRequest {
    /// Id of a memory, turn, session, note or entity or its beginning; `topic:` with the id of a topic's first turn; the name of an entity
    /// or a context; the path of a file, or the end of one.
    pub id: String,
    /// The level.
    pub level: Level,
    /// The question, empty if there is none, with the settings of a search; its filter is replaced.
    pub recall: RecallRequest,
    /// Most tokens.
    pub budget: usize,
}

/// A thing at a level.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Deepened {
    /// Kind of the thing: `memory`, `turn`, `session`, `topic`, `note`, `document`, `entity`, `file`.
    pub kind: String,
    /// The id by which it is opened; of a file, its path.
    pub id: String,
    /// The level.
    pub level: Level,
    /// The thing itself, or parts of it or things related to it, one for each line.
    pub lines: Vec<DeepLine>,
    /// Number of lines that the budget has no room for.
    pub left: usize,
    /// The answer in sentences, if a question was asked at the level `synthesis`.
    pub answer: Option<AskAnswer>,
}

/// A line about a thing, or words of it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct DeepLine {
    /// Name of the relation to the thing; `None`: it is the thing, or a part of it.
    pub relation: Option<String>,
    /// Kind or speaker, and status, such as `decision, superseded`.
    pub what: String,
    /// Its words.
    pub text: String,
    /// Its time.
    pub at: Option<UtcMillis>,
    /// The id by which it is opened.
    pub opens: Option<String>,
}

/// The thing that an id names.
enum Thing {
    Memory(Box<Memory>),
    Turn(Box<ShownTurn>),
    /// A session, a note or a document: its turns.
    Episode(Vec<ShownTurn>),
    /// A topic with its turns and the session that it is in.
    Topic(Box<Topic>, Vec<ShownTurn>),
    Entity(Box<Entity>),
    File(String),
}

impl Engine {
    /// Reads a thing at a level.
    ///
    /// # Errors
    /// [`EngineError::UnknownId`], [`EngineError::AmbiguousId`]: the id names nothing, or several things.
    pub fn deepen(&self, request: &DeepenRequest) -> Result<Deepened, EngineError> {
        let thing = self.thing(request)?;
        let (kind, id) = thing.name();
        let (mut lines, mut answer) = (Vec::new(), None);
        match request.level {
            Level::Line => lines = self.line_of(&thing, request)?,
            Level::Passage => lines = self.passages(&thing, request)?,
            Level::Whole if thing.turns().is_empty() => lines = self.passages(&thing, request)?,
            Level::Whole => lines = thing.turns().iter().map(|turn| line_of_turn(turn, turn.words())).collect(),
            Level::Related => lines = self.related(&thing, request)?,
            Level::Synthesis if request.recall.question.trim().is_empty() => lines = self.summary_of(&thing, request)?,
            Level::Synthesis => {
                let recall = self.restricted(&thing, &request.recall)?;
                answer = Some(self.ask(&AskRequest { recall, depth: Some(AskDepth::Full) }, None)?);
            }
        }
        let left = fit(&mut lines, request.budget.saturating_mul(4));
        Ok(Deepened { kind: kind.to_owned(), id, level: request.level, lines, left, answer })
    }

    fn thing(&self, request: &DeepenRequest) -> Result<Thing, EngineError> {
        let id = request.id.trim();
        if let Some(first) = id.strip_prefix(TOPIC) {
            return self.topic(first);
        }
        match self.show(&ShowRequest::new(id, Surroundings::Turns(0))) {
            Ok(shown) if shown.focus.is_some() => {
                let focus = shown.turns.into_iter().find(|turn| shown.focus == Some(turn.id));
                return focus.map(|turn| Thing::Turn(Box::new(turn))).ok_or_else(|| EngineError::UnknownId(id.to_owned()));
            }
            Ok(shown) => return Ok(Thing::Episode(shown.turns)),
            Err(EngineError::UnknownId(_)) => {}
            Err(error) => return Err(error),
        }
        match self.memory(id) {
            Ok(stored) if !stored.memory.is_forgotten() => return Ok(Thing::Memory(Box::new(stored.memory))),
            Ok(_) | Err(EngineError::Memory(MemoryError::Unknown(_))) => {}
            Err(error) => return Err(error),
        }
        if let Some(opened) = self.open_entity(id)? {
            return Ok(Thing::Entity(Box::new(opened.entity)));
        }
        let place = ContextPlace { here: request.recall.here.clone(), scope: ScopeChoice::All, session: None };
        if let Some(opened) = self.open_context(&place, id, ContextReading::default())? {
            let note = ShowRequest::new(opened.context.id.to_string(), Surroundings::Turns(0));
            return Ok(Thing::Episode(self.show(&note)?.turns));
        }
        match self.entity_named(id) {
            Ok(entity) => return Ok(Thing::Entity(Box::new(entity))),
            Err(EngineError::Memory(MemoryError::UnknownEntity(_))) => {}
            Err(error) => return Err(error),
        }
        match self.touched(id, &request.recall)?.is_empty() {
            false => Ok(Thing::File(id.to_owned())),
            true => Err(EngineError::UnknownId(id.to_owned())),
        }
    }

    /// Returns the topic that begins with a turn, and its turns.
    fn topic(&self, first: &str) -> Result<Thing, EngineError> {
        let shown = self.show(&ShowRequest::new(first, Surroundings::Turns(0)))?;
        let session = self.show(&ShowRequest::new(shown.episode.to_string(), Surroundings::Turns(0)))?;
        let found = self.topics(&TopicsRequest { sessions: vec![shown.episode.to_string()], ..TopicsRequest::default() })?;
        let place = |id: TurnId| session.turns.iter().position(|turn| turn.id == id);
        let at = shown.focus.and_then(place);
        let topics = found.into_iter().flat_map(|session| session.topics);
        let mut topics = topics.filter_map(|topic| Some((place(topic.turn)?, place(topic.last)?, topic)));
        let found = topics.find(|(first, last, _)| at.is_some_and(|at| (*first..=*last).contains(&at)));
        let Some((begin, end, topic)) = found else { return Err(EngineError::UnknownId(format!("{TOPIC}{first}"))) };
        Ok(Thing::Topic(Box::new(topic), session.turns[begin..=end].to_vec()))
    }

    /// Returns what the thing is, in a line.
    fn line_of(&self, thing: &Thing, request: &DeepenRequest) -> Result<Vec<DeepLine>, EngineError> {
        let line = match thing {
            Thing::Memory(memory) => line_of_memory(memory),
            Thing::Turn(turn) => line_of_turn(turn, opening(&turn.words(), LINE_CHARS)),
            Thing::Episode(turns) => self.line_of_episode(turns)?,
            Thing::Topic(topic, _) => line_of_topic(topic),
            Thing::Entity(entity) => {
                let described = entity.description.as_deref().map(|words| format!(": {words}")).unwrap_or_default();
                let text = cut(&plain(&format!("{}{described}", entity.name)), LINE_CHARS);
                DeepLine { what: entity.kind.as_str().to_owned(), text, opens: Some(entity.id.short()), ..DeepLine::default() }
            }
            Thing::File(path) => {
                let touched = self.touched(path, &request.recall)?;
                let at = touched.first().and_then(|line| line.at);
                let text = format!("{path}: {} sessions and memories", touched.len());
                DeepLine { what: "file".to_owned(), text, at, ..DeepLine::default() }
            }
        };
        Ok(vec![line])
    }

    fn line_of_episode(&self, turns: &[ShownTurn]) -> Result<DeepLine, EngineError> {
        let Some(first) = turns.first() else { return Ok(DeepLine::default()) };
        let is_document = first.kind == EpisodeKind::Document;
        let title = match is_document {
            true => first.title.clone(),
            false => self.session_of(&first.episode.to_string())?.title,
        };
        let text = title.unwrap_or_else(|| opening(&first.words(), LINE_CHARS));
        let what = if is_document { "document".to_owned() } else { format!("session of {} turns", turns.len()) };
        let opens = Some(first.episode.short());
        Ok(DeepLine { what, text: cut(&plain(&text), LINE_CHARS), at: first.time.utc, opens, relation: None })
    }

    /// Returns the whole sentences that bear on the question; without one, the opening.
    fn passages(&self, thing: &Thing, request: &DeepenRequest) -> Result<Vec<DeepLine>, EngineError> {
        let is_asked = !request.recall.question.trim().is_empty();
        match thing {
            Thing::Memory(memory) => {
                let mut line = line_of_memory(memory);
                line.text = memory.statement.clone();
                let details = memory.details.as_ref().map(|details| DeepLine {
                    what: "details".to_owned(),
                    text: self.bearing(details, request),
                    ..DeepLine::default()
                });
                Ok(std::iter::once(line).chain(details.filter(|line| !line.text.is_empty())).collect())
            }
            Thing::Turn(turn) => Ok(vec![line_of_turn(turn, self.bearing(&turn.words(), request))]),
            Thing::Entity(entity) if !is_asked => self.memories_about(entity),
            Thing::File(path) if !is_asked => self.touched(path, &request.recall),
            Thing::Episode(turns) | Thing::Topic(_, turns) if !is_asked => {
                let said = |turn: &&ShownTurn| matches!(turn.role, Role::Human | Role::Assistant) && !turn.text.trim().is_empty();
                let first = turns.iter().find(said);
                let last = turns.iter().rev().find(said).filter(|last| first.is_some_and(|first| first.id != last.id));
                let told = first.into_iter().chain(last.filter(|last| last.kind != EpisodeKind::Document));
                Ok(told.map(|turn| line_of_turn(turn, opening(&turn.text, OPENING_CHARS))).collect())
            }
            _ => {
                let packing =
                    Packing { budget: request.budget, group_cost: 36, hit_cost: 24, broad: 0, least_gain: pack::LEAST_GAIN };
                let recall = RecallRequest { limit: RESULTS, packing: Some(packing), ..self.restricted(thing, &request.recall)? };
                let found = self.recall(&recall)?;
                Ok(found.hits.iter().filter(|hit| !hit.quote.is_empty()).map(line_of_hit).collect())
            }
        }
    }

    /// Returns the passages of one text that bear on the question, within the budget; without a question its opening.
    fn bearing(&self, text: &str, request: &DeepenRequest) -> String {
        if request.recall.question.trim().is_empty() {
            return opening(text, OPENING_CHARS);
        }
        let mut tokenizer = Tokenizer::default();
        let terms = Question::parse(&request.recall.question, &mut tokenizer).terms;
        let terms: Vec<(String, f32)> = terms.into_iter().map(|term| (term, 1.0)).collect();
        let wanted = Wanted {
            terms: &terms,
            parts: &[],
            broad: 0,
            asked_for: asked_for(&request.recall.question),
            least_gain: pack::LEAST_GAIN,
            nearness: &|_| 0.0,
        };
        let source = Source { text, weight: 1.0, group: 0, cost: 0, group_cost: 0, marked: None, is_one: false };
        let chosen = pack::pack(&[source], &wanted, request.budget.saturating_mul(4), &mut tokenizer);
        pack::join(text, &chosen[0])
    }

    /// Limits a request to a thing: to its turns or those that it rests on, to the memories about it, to what touches it.
    fn restricted(&self, thing: &Thing, recall: &RecallRequest) -> Result<RecallRequest, EngineError> {
        let mut filter = Filter { scope: ScopeChoice::All, ..Filter::default() };
        let mut rows: Option<HashSet<i64>> = None;
        match thing {
            Thing::Memory(memory) => {
                let mut resting = HashSet::new();
                for evidence in &memory.evidence {
                    let found = self.store().turn_keys(TurnChoice::Named(&evidence.turn.to_string(), 1))?;
                    resting.extend(found.iter().map(|row| row.get()));
                }
                rows = Some(resting);
            }
            Thing::Turn(_) | Thing::Topic(..) | Thing::Episode(_) => {
                rows = Some(thing.turns().iter().map(|turn| turn.row.get()).collect());
            }
            Thing::Entity(entity) => {
                filter.wanted = WantedItems::Memories;
                filter.memories.entities = vec![entity.name.clone()];
            }
            Thing::File(path) => filter.files = vec![path.clone()],
        }
        if rows.is_some() {
            filter.wanted = WantedItems::Turns;
        }
        Ok(RecallRequest {
            answer_kind: Some(AnswerKind::Passages),
            filter,
            min_confidence: Some(0.0),
            is_period_searched: false,
            tuning: Tuning { among: rows.map(Arc::new), ..recall.tuning.clone() },
            ..recall.clone()
        })
    }

    /// Returns a line for each thing that is related, with the name of the relation.
    fn related(&self, thing: &Thing, request: &DeepenRequest) -> Result<Vec<DeepLine>, EngineError> {
        Ok(match thing {
            Thing::Memory(memory) => {
                let opened = self.read_memory(memory.id)?;
                let mut lines: Vec<DeepLine> = opened.relations.iter().map(line_of_relation).collect();
                for evidence in &opened.stored.memory.evidence {
                    lines.extend(self.around(&evidence.turn.to_string(), "said in")?);
                }
                lines
            }
            Thing::Turn(turn) => {
                let mut lines = self.around(&turn.id.to_string(), "")?;
                let filter = MemoryFilter { evidence: vec![turn.id], ..MemoryFilter::default() };
                lines.extend(self.resting(filter)?);
                lines.extend(self.topics_like(turn)?);
                lines
            }
            Thing::Episode(turns) => {
                let mut lines = Vec::new();
                let filter = MemoryFilter { evidence: turns.iter().map(|turn| turn.id).collect(), ..MemoryFilter::default() };
                lines.extend(self.resting(filter)?);
                match turns.first() {
                    Some(first) if first.kind == EpisodeKind::Document => lines.extend(self.contexts_around(first, request)?),
                    Some(first) => {
                        let sessions = vec![first.episode.to_string()];
                        for topic in
                            self.topics(&TopicsRequest { sessions, ..TopicsRequest::default() })?.iter().flat_map(|of| &of.topics)
                        {
                            lines.push(DeepLine { relation: Some("topic".to_owned()), ..line_of_topic(topic) });
                            lines.extend(similar(topic));
                        }
                    }
                    None => {}
                }
                lines
            }
            Thing::Topic(topic, turns) => {
                let session = DeepLine { relation: Some("in session".to_owned()), ..self.line_of_episode(turns)? };
                std::iter::once(session).chain(similar(topic)).collect()
            }
            Thing::Entity(entity) => {
                let opened = self.open_entity(&entity.id.to_string())?;
                opened.iter().flat_map(|opened| opened.relations.iter().map(line_of_relation)).collect()
            }
            Thing::File(path) => {
                let touched = self.touched(path, &request.recall)?;
                touched.into_iter().map(|line| DeepLine { relation: Some("touched by".to_owned()), ..line }).collect()
            }
        })
    }

    /// Returns the question before a turn, the outcome of its exchange and the person's reply; with `itself`, under this name the turn.
    fn around(&self, turn: &str, itself: &str) -> Result<Vec<DeepLine>, EngineError> {
        let shown = match self.show(&ShowRequest::new(turn, Surroundings::Exchange)) {
            Ok(shown) => shown,
            // The evidence may be gone.
            Err(EngineError::UnknownId(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let Some(own) = shown.turns.iter().find(|turn| shown.focus == Some(turn.id)) else { return Ok(Vec::new()) };
        let of = |relation: &str, turn: &ShownTurn| DeepLine {
            relation: Some(relation.to_owned()),
            ..line_of_turn(turn, opening(&turn.words(), LINE_CHARS))
        };
        let mut lines: Vec<DeepLine> = (!itself.is_empty()).then(|| of(itself, own)).into_iter().collect();
        if own.kind == EpisodeKind::Document {
            return Ok(lines);
        }
        let asked = shown.turns.first().filter(|first| first.role == Role::Human && first.id != own.id);
        lines.extend(asked.map(|turn| of("asked", turn)));
        let outcome = self.store().turns(Turns::Conclusion(own.row))?.into_iter().find(|turn| turn.id != own.id);
        lines.extend(outcome.iter().map(|turn| of("outcome", turn)));
        let last = outcome.as_ref().unwrap_or(own);
        lines.extend(reply_to(self.store(), last, &Filter::default())?.iter().map(|turn| of("you replied", turn)));
        Ok(lines)
    }

    /// Returns the memories that rest on turns.
    fn resting(&self, filter: MemoryFilter) -> Result<Vec<DeepLine>, EngineError> {
        let found = self.memories(&MemoryList { filter, limit: MOST, ..MemoryList::default() })?;
        let line = |memory: &Memory| DeepLine { relation: Some(LEARNED.to_owned()), ..line_of_memory(memory) };
        Ok(found.iter().map(|stored| line(&stored.memory)).collect())
    }

    fn memories_about(&self, entity: &Entity) -> Result<Vec<DeepLine>, EngineError> {
        let filter = MemoryFilter { related_to: vec![Node::Entity(entity.id)], ..MemoryFilter::default() };
        let found = self.memories(&MemoryList { filter, limit: MOST, ..MemoryList::default() })?;
        Ok(found.iter().map(|stored| line_of_memory(&stored.memory)).collect())
    }

    /// Returns the topics of other sessions that are like the one in which a turn stands.
    fn topics_like(&self, turn: &ShownTurn) -> Result<Vec<DeepLine>, EngineError> {
        if turn.kind == EpisodeKind::Document {
            return Ok(Vec::new());
        }
        match self.topic(&turn.id.to_string()) {
            Ok(Thing::Topic(topic, _)) => {
                let own = DeepLine { relation: Some("in topic".to_owned()), ..line_of_topic(&topic) };
                Ok(std::iter::once(own).chain(similar(&topic)).collect())
            }
            Ok(_) | Err(EngineError::UnknownId(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Returns the contexts around a note that is one.
    fn contexts_around(&self, note: &ShownTurn, request: &DeepenRequest) -> Result<Vec<DeepLine>, EngineError> {
        let place = ContextPlace { here: request.recall.here.clone(), scope: ScopeChoice::All, session: None };
        let Some(topic) = note.title.as_deref() else { return Ok(Vec::new()) };
        let tree = self.context_tree(&place, topic, 1, MOST, request.recall.mode)?.filter(|tree| !tree.is_searched);
        let line = |reached: ReachedContext| {
            let context = reached.context.as_ref();
            DeepLine {
                relation: Some(reached.relation.clone()),
                what: "context".to_owned(),
                text: reached.topic.clone(),
                at: context.and_then(|context| context.at),
                opens: context.map(|context| context.id.short()),
            }
        };
        Ok(tree.into_iter().flat_map(|tree| tree.reached).map(line).collect())
    }

    /// Returns the sessions that touched a file and the memories that speak of it, the latest first.
    fn touched(&self, path: &str, recall: &RecallRequest) -> Result<Vec<DeepLine>, EngineError> {
        let filter = Filter { scope: ScopeChoice::All, files: vec![path.to_owned()], ..Filter::default() };
        let request = RecallRequest {
            question: path.to_owned(),
            wordings: Vec::new(),
            answer_kind: Some(AnswerKind::Overview),
            filter,
            ..recall.clone()
        };
        let rows = self.view(&request)?.view.map(|view| view.rows).unwrap_or_default();
        let line = |row: ViewRow| DeepLine {
            relation: None,
            what: row.state.unwrap_or_default(),
            text: cut(&row.text, LINE_CHARS),
            at: row.at,
            opens: row.opens,
        };
        Ok(rows.into_iter().map(line).collect())
    }

    /// Returns the summary that a thing has: of a session that of its topics, of others the words that say most.
    fn summary_of(&self, thing: &Thing, request: &DeepenRequest) -> Result<Vec<DeepLine>, EngineError> {
        let of_topic = |topic: &Topic| {
            let text = topic.summary.iter().chain(&topic.outcome).map(|text| plain(text)).collect::<Vec<_>>().join(" ");
            DeepLine { text: format!("{}: {}", plain(&topic.name), text), ..line_of_topic(topic) }
        };
        match thing {
            Thing::Topic(topic, _) => Ok(vec![of_topic(topic)]),
            Thing::Episode(turns) if turns.first().is_some_and(|first| first.kind != EpisodeKind::Document) => {
                let sessions = turns.first().map(|first| first.episode.to_string()).into_iter().collect();
                let mut lines = Vec::new();
                for session in self.topics(&TopicsRequest { sessions, ..TopicsRequest::default() })? {
                    let given = session.summary.map(|text| DeepLine { what: "summary".to_owned(), text, ..DeepLine::default() });
                    lines.extend(given);
                    lines.extend(session.topics.iter().map(of_topic));
                }
                Ok(lines)
            }
            _ => self.passages(thing, request),
        }
    }
}

impl Thing {
    /// Returns its kind, and the id by which it is opened.
    fn name(&self) -> (&'static str, String) {
        let of_turns = |turns: &[ShownTurn]| match turns.first() {
            Some(first) if first.kind == EpisodeKind::Document => ("document", first.episode.short()),
            first => ("session", first.map(|first| first.episode.short()).unwrap_or_default()),
        };
        match self {
            Self::Memory(memory) => ("memory", memory.id.short()),
            Self::Turn(turn) => ("turn", turn.id.short()),
            Self::Episode(turns) => of_turns(turns),
            Self::Topic(topic, _) => ("topic", format!("{TOPIC}{}", topic.turn.short())),
            Self::Entity(entity) => ("entity", entity.id.short()),
            Self::File(path) => ("file", path.clone()),
        }
    }

    fn turns(&self) -> &[ShownTurn] {
        match self {
            Self::Turn(turn) => std::slice::from_ref(turn),
            Self::Episode(turns) | Self::Topic(_, turns) => turns,
            Self::Memory(_) | Self::Entity(_) | Self::File(_) => &[],
        }
    }
}

/// Keeps the lines that fit into so many characters, at least one; returns the number of the others.
fn fit(lines: &mut Vec<DeepLine>, chars: usize) -> usize {
    let mut spent = 0;
    let kept = lines.iter().take_while(|line| {
        spent += line.text.chars().count() + line.what.len() + line.relation.as_ref().map_or(0, String::len) + 28;
        spent <= chars
    });
    let kept = kept.count().max(1).min(lines.len());
    let left = lines.len() - kept;
    lines.truncate(kept);
    left
}

/// Returns the whole sentences at the beginning of a text, or the beginning of a longer one.
fn opening(text: &str, most: usize) -> String {
    let text = text.trim();
    let mut end = 0;
    for range in fragments(text) {
        if text[..range.end].chars().count() > most {
            break;
        }
        end = range.end;
    }
    let opening = if end > 0 { text[..end].to_owned() } else { cut_sentence(text, most) };
    if most <= LINE_CHARS { cut(&plain(&opening), most) } else { opening }
}

fn line_of_memory(memory: &Memory) -> DeepLine {
    let status = if memory.status == Status::Holds { String::new() } else { format!(", {}", memory.status.as_str()) };
    DeepLine {
        relation: None,
        what: format!("{}{status}", memory.kind.as_str().replace('_', "-")),
        text: cut(&plain(memory.title.as_deref().unwrap_or(&memory.statement)), LINE_CHARS),
        at: Some(memory.valid_from.unwrap_or(memory.recorded)),
        opens: Some(memory.id.short()),
    }
}

fn line_of_turn(turn: &ShownTurn, text: String) -> DeepLine {
    let what = match (turn.kind, turn.role) {
        (EpisodeKind::Document, _) => "document",
        (_, Role::Human) => "you",
        (_, role) => role.as_str(),
    };
    DeepLine { relation: None, what: what.replace('_', " "), text, at: turn.time.utc, opens: Some(turn.id.short()) }
}

fn line_of_topic(topic: &Topic) -> DeepLine {
    DeepLine {
        relation: None,
        what: "topic".to_owned(),
        text: cut(&plain(&topic.name), LINE_CHARS),
        at: topic.started,
        opens: Some(format!("{TOPIC}{}", topic.turn.short())),
    }
}

fn similar(topic: &Topic) -> Vec<DeepLine> {
    let line = |other: &SimilarTopic| DeepLine {
        relation: Some("same subject".to_owned()),
        what: "topic".to_owned(),
        text: cut(&plain(&other.name), LINE_CHARS),
        at: other.started,
        opens: Some(format!("{TOPIC}{}", other.turn.short())),
    };
    topic.similar.iter().map(line).collect()
}

fn line_of_relation(relation: &NamedRelation) -> DeepLine {
    let (what, opens) = match &relation.node {
        Node::Memory(id) => ("memory", id.short()),
        Node::Entity(id) => ("entity", id.short()),
        Node::Turn(id) => ("turn", id.short()),
        Node::Session(id) => ("session", id.short()),
        Node::Context(id) => ("context", id.short()),
        Node::Path(path) => ("file", path.clone()),
    };
    DeepLine {
        relation: Some(relation.name.replace('_', " ")),
        what: what.to_owned(),
        text: cut(&plain(relation.label.as_deref().unwrap_or_default()), LINE_CHARS),
        at: None,
        opens: Some(opens),
    }
}

fn line_of_hit(hit: &Hit) -> DeepLine {
    match hit.as_turn() {
        Some(turn) => line_of_turn(turn, hit.quote.clone()),
        None => {
            hit.as_memory().map(|found| DeepLine { text: hit.quote.clone(), ..line_of_memory(&found.memory) }).unwrap_or_default()
        }
    }
}
