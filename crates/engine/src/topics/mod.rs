//! Topics of conversations: divides sessions, stores their topics, and finds similar topics of other sessions.
//!
//! The store holds the place and the vector of a topic (`store::spans`); its name and its summary are sentences of its own
//! turns (`words`), chosen when it is read, unless an agent gave better ones. `answer` tells the topics of an answer.

mod answer;
mod topic;
mod words;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use yore_core::command::Attempt;
use yore_core::episode::Role;
use yore_core::event::Event;
use yore_core::exchange::{Exchange, TurnShape, exchanges};
use yore_core::span::{self, Unit};
use yore_core::time::UtcMillis;
use yore_core::vector::{dot, unit_length};

pub use self::topic::{SessionTopics, SimilarTopic, Topic, TopicsRequest};
use self::words::{name_of_turn, topic_of};
use crate::archive::sessions::{ConversationTurns, SessionsRequest};
use crate::embed::StaticTable;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::rules::{self, Words, normal, sentences};
use crate::store::{EpisodeKey, EpisodeSummary, ProjectKey, SessionOrder, Shape, Spans, StoredSpan, Structure, TurnKey, Turns};

/// Name and version of the way in which conversations are divided and their events and commands are read. Another one does so anew.
const DIVIDER: &str = "spans/4";
/// A question of more characters counts in full beside its answer, a shorter one less.
const WHOLE_QUESTION: f32 = 120.0;
/// Weight of the shortest question.
const LEAST_QUESTION: f32 = 0.2;
/// Topics of other sessions that a topic is compared with, and how similar one must be.
const MOST_SIMILAR: usize = 3;
const SIMILAR: f32 = 0.6;
/// Share of what topics have in common that is taken from each.
const COMMON: f32 = 0.7;
/// From so many topics of a project, what they have in common is left out of account.
const MANY: usize = 20;

type Vector = [f32; StaticTable::DIMENSIONS];

impl Engine {
    /// Returns sessions with their topics.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`], [`EngineError::UnknownSession`], [`EngineError::AmbiguousId`]: the request names what
    /// there is not, or several.
    pub fn topics(&self, request: &TopicsRequest) -> Result<Vec<SessionTopics>, EngineError> {
        let is_few = !request.sessions.is_empty();
        let mut sessions = self.sessions(&SessionsRequest {
            projects: request.projects.clone(),
            since: request.since,
            with_subagents: is_few,
            with_programs: is_few,
            without_documents: true,
            order: SessionOrder::Recent,
            limit: usize::MAX >> 1,
            ..SessionsRequest::default()
        })?;
        if is_few {
            let named = |id: &String| self.session_named(id).map(|(row, _)| row);
            let rows = request.sessions.iter().map(named).collect::<Result<Vec<_>, _>>()?;
            let (wanted, others): (Vec<_>, Vec<_>) = sessions.into_iter().partition(|session| rows.contains(&session.row));
            // Similar topics may be in any session of their projects.
            let is_beside = |other: &EpisodeSummary| wanted.iter().any(|session| session.project == other.project);
            let beside: Vec<EpisodeKey> = others.iter().filter(|other| is_beside(other)).map(|other| other.row).collect();
            let _ = self.divide_changed(&beside, &mut || true)?;
            sessions = wanted;
        }
        let most = if request.limit == 0 { usize::MAX } else { request.limit };
        // Nearly all sessions have a topic, so those that come first suffice; a text is compared with the topics of all.
        let page = if request.text.is_some() { sessions.len() } else { most.min(sessions.len()) };
        let mut found: Vec<(f32, SessionTopics)> = Vec::new();
        let mut count = 0;
        while !sessions.is_empty() && count < most {
            let later = sessions.split_off(page.min(sessions.len()));
            let rows: Vec<EpisodeKey> = sessions.iter().map(|session| session.row).collect();
            let unstored = self.divide_changed(&rows, &mut || true)?;
            let mut stored = StoredSpan::by_episode(self.store().spans(Spans::Of(&rows))?);
            let mut summaries = self.store().summaries_of(&rows)?;
            stored.extend(unstored);
            if let Some(text) = &request.text {
                keep_nearest(&mut stored, text, most);
            }
            for session in sessions {
                let Some(spans) = stored.remove(&session.row).filter(|spans| !spans.is_empty()) else { continue };
                if count >= most {
                    break;
                }
                let best = request.text.as_ref().and_then(|text| nearness(&spans, text)).unwrap_or(0.0);
                let topics = self.told(session.row, &spans, is_few)?;
                count += topics.len();
                let summary = summaries.remove(&session.row).map(|known| known.summary);
                found.push((best, session_topics(session, summary, topics)));
            }
            sessions = later;
        }
        if request.text.is_some() {
            found.sort_by(|a, b| b.0.total_cmp(&a.0));
        }
        Ok(found.into_iter().map(|(_, topics)| topics).collect())
    }

    /// Divides those of these conversations that changed, as long as `proceed` says so. Returns the spans that could not be stored,
    /// because the medium takes no writes.
    pub(crate) fn divide_changed(
        &self,
        conversations: &[EpisodeKey],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<HashMap<EpisodeKey, Vec<StoredSpan>>, EngineError> {
        let mut unstored = HashMap::new();
        if self.store().is_passive() {
            return Ok(unstored);
        }
        let shapes = self.store().shapes(None)?;
        let divided = self.store().shapes(Some(DIVIDER))?;
        for conversation in conversations {
            let shape = shapes.get(conversation).copied().unwrap_or_default();
            if divided.get(conversation) == Some(&shape) {
                continue;
            }
            if !proceed() {
                break;
            }
            unstored.extend(self.divide_session(*conversation, shape)?.map(|spans| (*conversation, spans)));
        }
        Ok(unstored)
    }

    /// Divides one conversation and stores its spans, events and commands; returns the spans if the medium takes no writes.
    fn divide_session(&self, episode: EpisodeKey, shape: Shape) -> Result<Option<Vec<StoredSpan>>, EngineError> {
        let conversation = ConversationTurns::read(self.store(), episode)?;
        let (turns, read) = (&conversation.turns, conversation.shapes());
        let exchanges = exchanges("", &read).exchanges;
        let units = units_of(&read, &exchanges);
        let mut stored = Vec::new();
        for span in span::divide(&units) {
            let mut add = |span: &span::Span, depth: u32| {
                let (first, last) = (exchanges[span.units.start].turns.start, exchanges[span.units.end - 1].turns.end - 1);
                stored.push(StoredSpan {
                    episode,
                    depth,
                    first: turns[first].row,
                    last: turns[last].row,
                    exchanges: span.units.len() as u32,
                    sign: span.sign,
                    vector: mean(units[span.units.clone()].iter().filter_map(|unit| unit.vector.as_deref())),
                    name: None,
                    summary: None,
                });
            };
            add(&span, 0);
            span.parts.iter().for_each(|part| add(part, 1));
        }
        let events: Vec<Event<TurnKey>> =
            rules::events(&read).into_iter().map(|event| event.at_turn(|at| turns[at].row)).collect();
        let attempts = rules::attempts(&read, |at| turns[at].cwd.as_deref());
        let attempts: Vec<Attempt<TurnKey>> = attempts.into_iter().map(|attempt| attempt.at_turn(|at| turns[at].row)).collect();
        let structure = Structure { spans: &stored, events: &events, attempts: &attempts };
        match self.store().put_spans(episode, structure, DIVIDER, shape, self.now()) {
            Err(error) if error.is_unwritable() => Ok(Some(stored)),
            outcome => Ok(outcome.map(|()| None)?),
        }
    }

    /// Returns stored spans of a conversation as topics, each with its name and summary.
    fn told(&self, episode: EpisodeKey, spans: &[StoredSpan], with_similar: bool) -> Result<Vec<Topic>, EngineError> {
        self.told_of(&ConversationTurns::read(self.store(), episode)?, spans, with_similar)
    }

    /// Returns stored spans of a conversation that was read as topics.
    fn told_of(
        &self,
        conversation: &ConversationTurns,
        spans: &[StoredSpan],
        with_similar: bool,
    ) -> Result<Vec<Topic>, EngineError> {
        let (turns, read) = (&conversation.turns, conversation.shapes());
        let exchanges = exchanges("", &read).exchanges;
        let places: HashMap<TurnKey, usize> = turns.iter().enumerate().map(|(at, turn)| (turn.row, at)).collect();
        let mut projects = ProjectTopics::default();
        let mut topics: Vec<Topic> = Vec::new();
        for span in spans {
            let (Some(first), Some(last)) = (places.get(&span.first), places.get(&span.last)) else { continue };
            if first > last {
                continue;
            }
            let own: Vec<&Exchange> =
                exchanges.iter().filter(|exchange| (*first..=*last).contains(&exchange.turns.start)).collect();
            let mut topic = topic_of(span, &read[*first..=*last], &own);
            match topics.last_mut() {
                Some(whole) if span.depth > 0 => whole.parts.push(topic),
                _ => {
                    if with_similar {
                        topic.similar = self.similar_to(span, &mut projects)?;
                    }
                    topics.push(topic);
                }
            }
        }
        Ok(topics)
    }

    /// Returns the topics of other sessions of the project that are most similar to a span.
    fn similar_to(&self, span: &StoredSpan, projects: &mut ProjectTopics) -> Result<Vec<SimilarTopic>, EngineError> {
        let project = self.store().turns(Turns::Keys(&[span.first]))?.pop().and_then(|turn| turn.project_key);
        let (all, common) = match projects.0.entry(project) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let all = self.store().spans(Spans::TopicsIn(project))?;
                // Topics of a project have something in common that tells none apart; of few, it may be their subject.
                let common = if all.len() < MANY { Vec::new() } else { mean(all.iter().map(|other| other.vector.as_slice())) };
                unknown.insert((all, common))
            }
        };
        let own = without(&span.vector, common);
        let others = all.iter().filter(|other| other.episode != span.episode);
        let mut scored: Vec<(f32, &StoredSpan)> = others
            .map(|other| (dot(&own, &without(&other.vector, common)), other))
            .filter(|(score, _)| *score >= SIMILAR)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut found: Vec<SimilarTopic> = Vec::new();
        for (similarity, other) in scored {
            let Some(turn) = self.store().turns(Turns::Keys(&[other.first]))?.into_iter().next() else { continue };
            let name = match &other.name {
                Some(name) => name.clone(),
                None => name_of_turn(turn.role, &turn.text),
            };
            // Snapshots and forks of a session have its topics again.
            if !name.is_empty() && found.iter().all(|known| known.name != name) {
                found.push(SimilarTopic { turn: turn.id, name, started: turn.time.utc, similarity: similarity.min(1.0) });
            }
            if found.len() == MOST_SIMILAR {
                break;
            }
        }
        Ok(found)
    }
}

/// The topics of projects and what those of each have in common, read once for all topics of a session.
#[derive(Default)]
struct ProjectTopics(HashMap<Option<ProjectKey>, (Vec<StoredSpan>, Vec<f32>)>);

fn session_topics(session: EpisodeSummary, summary: Option<String>, topics: Vec<Topic>) -> SessionTopics {
    SessionTopics {
        short: session.id.short(),
        session: session.native_id,
        title: session.title,
        project: session.project,
        updated: session.updated,
        summary,
        topics,
    }
}

/// Returns what is known of the topic of each exchange.
fn units_of(turns: &[TurnShape<'_>], exchanges: &[Exchange]) -> Vec<Unit> {
    let mut ended: Option<UtcMillis> = None;
    let unit = |exchange: &Exchange| {
        let answers: Vec<&str> = turns[exchange.turns.clone()]
            .iter()
            .filter(|turn| turn.role == Role::Assistant && !turn.text.is_empty())
            .map(|turn| turn.text)
            .collect();
        let length = exchange.question.chars().count() as f32;
        let weight = (length / WHOLE_QUESTION + LEAST_QUESTION).min(1.0);
        let files = exchange.files.iter().filter_map(|file| file.path.rsplit(['/', '\\']).next());
        let pause_ms = exchange.started.zip(ended).map(|(started, ended)| started.saturating_sub(ended));
        ended = exchange.ended.or(ended);
        let head = sentences(&exchange.question, Words::of(&exchange.question)).first().map(|first| normal(first.text));
        Unit {
            vector: sum(StaticTable::vector_of(&exchange.question), weight, StaticTable::vector_of(&answers.join("\n"))),
            files: files.map(str::to_owned).collect::<BTreeSet<String>>(),
            pause_ms,
            has_transition: head.is_some_and(|head| Words::of(&head).has("transition", &head)),
        }
    };
    exchanges.iter().map(unit).collect()
}

/// Returns a weighted vector plus another, as far as there are any.
fn sum(one: Option<Vector>, weight: f32, other: Option<Vector>) -> Option<Vec<f32>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.iter().zip(&other).map(|(one, other)| weight * one + other).collect()),
        (Some(only), None) | (None, Some(only)) => Some(only.to_vec()),
        (None, None) => None,
    }
}

/// Returns the mean of vectors at length 1; empty if there is none.
fn mean<'v>(vectors: impl Iterator<Item = &'v [f32]>) -> Vec<f32> {
    let mut sum: Vec<f32> = Vec::new();
    for vector in vectors.filter_map(unit_length) {
        sum.resize(vector.len().max(sum.len()), 0.0);
        sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
    }
    unit_length(&sum).unwrap_or_default()
}

/// Returns a vector without its part along another, at length 1.
fn without(vector: &[f32], common: &[f32]) -> Vec<f32> {
    if common.is_empty() {
        return vector.to_vec();
    }
    let along = dot(vector, common);
    let rest: Vec<f32> = vector.iter().zip(common).map(|(value, common)| value - COMMON * along * common).collect();
    unit_length(&rest).unwrap_or_default()
}

/// Returns the similarity of the span that is most similar to a text.
fn nearness(spans: &[StoredSpan], text: &str) -> Option<f32> {
    let asked = StaticTable::vector_of(text)?;
    spans.iter().map(|span| dot(&asked, &span.vector)).max_by(f32::total_cmp)
}

/// Keeps the topics that are most similar to a text, without their parts.
fn keep_nearest(stored: &mut HashMap<EpisodeKey, Vec<StoredSpan>>, text: &str, most: usize) {
    let Some(asked) = StaticTable::vector_of(text) else {
        stored.clear();
        return;
    };
    let topics = stored.values().flatten().filter(|span| span.depth == 0);
    let mut scores: Vec<f32> = topics.map(|span| dot(&asked, &span.vector)).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    let least = scores.get(most.saturating_sub(1)).or(scores.last()).copied().unwrap_or(0.0);
    for spans in stored.values_mut() {
        spans.retain(|span| span.depth == 0 && dot(&asked, &span.vector) >= least);
    }
}
