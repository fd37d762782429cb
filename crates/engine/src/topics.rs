//! Topics of conversations: divides a session where its topic changes, names each stretch, and finds similar topics of
//! other sessions.
//!
//! What is stored of a topic is its place and its vector (`store::spans`); its name and its summary are sentences of its own
//! turns, chosen when it is read, unless an agent gave better ones.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use yore_core::episode::Role;
use yore_core::exchange::{Exchange, TurnShape, exchanges};
use yore_core::id::TurnId;
use yore_core::span::{self, ShiftSign, Unit};
use yore_core::time::UtcMillis;

use crate::embed::StaticTable;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::rules::{Sentence, Words, cut, normal, plain, sentences};
use crate::sessions::{SessionsRequest, turn_shapes};
use crate::store::{EpisodeKey, EpisodeSummary, SessionOrder, Shape, StoredSpan, TurnKey};

/// Name and version of the way in which conversations are divided. Another one divides each anew.
const DIVIDER: &str = "spans/1";
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
/// Sentences of a topic that are looked at for its name, and for its summary.
const MOST_SENTENCES: usize = 400;
/// Characters of a name, and of a sentence of a summary.
const NAME_CHARS: usize = 72;
const SENTENCE_CHARS: usize = 220;
/// A longer sentence names no topic, in bytes.
const LONGEST_NAMING: usize = 240;
/// Sentences of a summary.
const SUMMARY_SENTENCES: usize = 2;
/// Two sentences of a summary are less alike.
const ALIKE: f32 = 0.75;
/// What the first request and an exact name add to the similarity of a sentence to its topic.
const FIRST_BONUS: f32 = 0.15;
const NAME_BONUS: f32 = 0.05;
const MOST_NAMES: usize = 3;
/// Files that a topic names.
const MOST_FILES: usize = 6;

type Vector = [f32; StaticTable::DIMENSIONS];

/// The topics to list.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TopicsRequest {
    /// Ids of sessions; empty: all that the other conditions let through.
    pub sessions: Vec<String>,
    /// Names, ids or directories of projects.
    pub projects: Vec<String>,
    /// Only sessions last used at or after this time.
    pub since: Option<UtcMillis>,
    /// The topics most similar to this, the most similar first; none: the sessions last used, each with its topics in order.
    pub text: Option<String>,
    /// Most topics; 0: all.
    pub limit: usize,
}

/// A session with its topics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionTopics {
    /// The agent's own id of the session.
    pub session: String,
    /// Its short id.
    pub short: String,
    /// Its title.
    pub title: Option<String>,
    /// Name of its project.
    pub project: Option<String>,
    /// Time of its last turn.
    pub updated: Option<UtcMillis>,
    /// Its topics in order, or those that were asked for.
    pub topics: Vec<Topic>,
}

/// A stretch of a session about one topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Topic {
    /// Its first turn; `show` opens it there.
    pub turn: TurnId,
    /// Its last turn.
    pub last: TurnId,
    /// The request that says most about it.
    pub name: String,
    /// Sentences that say most about it.
    pub summary: Vec<String>,
    /// What came of it, in the agent's words.
    pub outcome: Option<String>,
    /// Names of its files, changed ones first.
    pub files: Vec<String>,
    /// Number of its exchanges.
    pub exchanges: u32,
    /// Time of its first turn.
    pub started: Option<UtcMillis>,
    /// Sign by which it was divided from the topic before it: `meaning`, `files`, `pause` or `words`.
    pub sign: Option<String>,
    /// Parts of it.
    pub parts: Vec<Topic>,
    /// Similar topics of other sessions, the most similar first; only where one session is asked for.
    pub similar: Vec<SimilarTopic>,
}

/// A topic of another session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimilarTopic {
    /// Its first turn.
    pub turn: TurnId,
    /// Its name.
    pub name: String,
    /// Time of its first turn.
    pub started: Option<UtcMillis>,
    /// Similarity, 0 to 1.
    pub similarity: f32,
}

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
            self.divide_changed(&others.into_iter().filter(is_beside).collect::<Vec<_>>())?;
            sessions = wanted;
        }
        let most = if request.limit == 0 { usize::MAX } else { request.limit };
        if request.text.is_none() {
            // Each has one topic at least.
            sessions.truncate(most);
        }
        self.divide_changed(&sessions)?;
        let rows: Vec<EpisodeKey> = sessions.iter().map(|session| session.row).collect();
        let mut stored = self.store().spans_of(&rows)?;
        if let Some(text) = &request.text {
            keep_nearest(&mut stored, text, most);
        }
        let mut found: Vec<(f32, SessionTopics)> = Vec::new();
        let mut count = 0;
        for session in sessions {
            let Some(spans) = stored.remove(&session.row).filter(|spans| !spans.is_empty()) else { continue };
            if count >= most {
                break;
            }
            let best = request.text.as_ref().and_then(|text| nearness(&spans, text)).unwrap_or(0.0);
            let topics = self.told(session.row, &spans, is_few)?;
            count += topics.len();
            found.push((best, session_topics(session, topics)));
        }
        if request.text.is_some() {
            found.sort_by(|a, b| b.0.total_cmp(&a.0));
        }
        Ok(found.into_iter().map(|(_, topics)| topics).collect())
    }

    /// Divides those of these conversations that changed; returns how many those were.
    pub(crate) fn divide_changed(&self, sessions: &[EpisodeSummary]) -> Result<u64, EngineError> {
        if self.store().is_passive() {
            return Ok(0);
        }
        let shapes = self.store().shapes()?;
        let divided = self.store().extracted(DIVIDER)?;
        let mut changed = 0;
        for session in sessions {
            let shape = shapes.get(&session.row).copied().unwrap_or_default();
            if divided.get(&session.row) != Some(&shape) {
                self.divide_session(session.row, shape)?;
                changed += 1;
            }
        }
        Ok(changed)
    }

    /// Divides one conversation and stores its spans.
    fn divide_session(&self, episode: EpisodeKey, shape: Shape) -> Result<(), EngineError> {
        let turns = self.store().episode_turns(episode)?;
        let shapes = self.store().recorded_shapes(&turns.iter().map(|turn| turn.row).collect::<Vec<_>>())?;
        let read = turn_shapes(&turns, &shapes);
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
                    sign: span.sign.map(|sign| sign_name(sign).to_owned()),
                    vector: mean(units[span.units.clone()].iter().filter_map(|unit| unit.vector.as_deref())),
                    name: None,
                    summary: None,
                });
            };
            add(&span, 0);
            span.parts.iter().for_each(|part| add(part, 1));
        }
        Ok(self.store().put_spans(episode, &stored, DIVIDER, shape, self.now())?)
    }

    /// Returns stored spans of a conversation as topics, each with its name and summary.
    fn told(&self, episode: EpisodeKey, spans: &[StoredSpan], with_similar: bool) -> Result<Vec<Topic>, EngineError> {
        let turns = self.store().episode_turns(episode)?;
        let shapes = self.store().recorded_shapes(&turns.iter().map(|turn| turn.row).collect::<Vec<_>>())?;
        let read = turn_shapes(&turns, &shapes);
        let places: HashMap<TurnKey, usize> = turns.iter().enumerate().map(|(at, turn)| (turn.row, at)).collect();
        let mut topics: Vec<Topic> = Vec::new();
        for span in spans {
            let (Some(first), Some(last)) = (places.get(&span.first), places.get(&span.last)) else { continue };
            if first > last {
                continue;
            }
            let topic = topic_of(span, &read[*first..=*last]);
            match topics.last_mut() {
                Some(whole) if span.depth > 0 => whole.parts.push(topic),
                _ => topics.push(topic),
            }
        }
        if with_similar {
            for (topic, span) in topics.iter_mut().zip(spans.iter().filter(|span| span.depth == 0)) {
                topic.similar = self.similar_to(span)?;
            }
        }
        Ok(topics)
    }

    /// Returns the topics of other sessions of the project that are most similar to a span.
    fn similar_to(&self, span: &StoredSpan) -> Result<Vec<SimilarTopic>, EngineError> {
        let project = self.store().project_of_turn(span.first)?;
        let all = self.store().topics_of_project(project)?;
        // What all topics of a project have in common tells none apart; of few, it may be what they are about.
        let common = if all.len() < MANY { Vec::new() } else { mean(all.iter().map(|other| other.vector.as_slice())) };
        let own = without(&span.vector, &common);
        let others = all.iter().filter(|other| other.episode != span.episode);
        let mut scored: Vec<(f32, &StoredSpan)> = others
            .map(|other| (dot(&own, &without(&other.vector, &common)), other))
            .filter(|(score, _)| *score >= SIMILAR)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut found: Vec<SimilarTopic> = Vec::new();
        for (similarity, other) in scored {
            let Some(turn) = self.store().shown_turns(&[other.first])?.into_iter().next() else { continue };
            let name = match &other.name {
                Some(name) => name.clone(),
                None => name_of_request(&turn.text),
            };
            // Snapshots and forks of a session have its topics again.
            if found.iter().all(|known| known.name != name) {
                found.push(SimilarTopic { turn: turn.id, name, started: turn.time.utc, similarity: similarity.min(1.0) });
            }
            if found.len() == MOST_SIMILAR {
                break;
            }
        }
        Ok(found)
    }
}

fn session_topics(session: EpisodeSummary, topics: Vec<Topic>) -> SessionTopics {
    SessionTopics {
        short: session.id.short(),
        session: session.native_id,
        title: session.title,
        project: session.project,
        updated: session.updated,
        topics,
    }
}

fn sign_name(sign: ShiftSign) -> &'static str {
    match sign {
        ShiftSign::Meaning => "meaning",
        ShiftSign::Files => "files",
        ShiftSign::Pause => "pause",
        ShiftSign::Words => "words",
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
            vector: sum(embedded(&exchange.question), weight, embedded(&answers.join("\n"))),
            files: files.map(str::to_owned).collect::<BTreeSet<String>>(),
            pause_ms,
            has_transition: head.is_some_and(|head| Words::of(&head).has("transition", &head)),
        }
    };
    exchanges.iter().map(unit).collect()
}

fn embedded(text: &str) -> Option<Vector> {
    let mut vector = [0.0; StaticTable::DIMENSIONS];
    StaticTable::builtin().ok().filter(|table| table.embed(text, &mut vector)).map(|_| vector)
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
    for vector in vectors {
        let length = dot(vector, vector).sqrt();
        if length > f32::EPSILON {
            sum.resize(vector.len().max(sum.len()), 0.0);
            sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value / length);
        }
    }
    let length = dot(&sum, &sum).sqrt();
    sum.iter_mut().for_each(|value| *value /= length.max(f32::EPSILON));
    sum
}

/// Returns a vector without its part along another, at length 1.
fn without(vector: &[f32], common: &[f32]) -> Vec<f32> {
    if common.is_empty() {
        return vector.to_vec();
    }
    let along = dot(vector, common);
    let rest: Vec<f32> = vector.iter().zip(common).map(|(value, common)| value - COMMON * along * common).collect();
    let length = dot(&rest, &rest).sqrt().max(f32::EPSILON);
    rest.into_iter().map(|value| value / length).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the similarity of the span that is most similar to a text.
fn nearness(spans: &[StoredSpan], text: &str) -> Option<f32> {
    let asked = embedded(text)?;
    spans.iter().map(|span| dot(&asked, &span.vector)).max_by(f32::total_cmp)
}

/// Keeps the topics that are most similar to a text, without their parts.
fn keep_nearest(stored: &mut HashMap<EpisodeKey, Vec<StoredSpan>>, text: &str, most: usize) {
    let Some(asked) = embedded(text) else {
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

/// Returns a span as a topic; `turns`: its turns.
fn topic_of(span: &StoredSpan, turns: &[TurnShape<'_>]) -> Topic {
    let (first, last) = (&turns[0], &turns[turns.len() - 1]);
    let (summary, outcome) = summary_of(span, turns);
    let files = exchanges("", turns).exchanges;
    let mut named: Vec<(bool, String)> = Vec::new();
    for file in files.iter().flat_map(|exchange| &exchange.files) {
        let name = file.path.rsplit(['/', '\\']).next().unwrap_or(&file.path).to_owned();
        let is_changed = file.action == yore_core::episode::FileAction::Written;
        match named.iter_mut().find(|(_, known)| *known == name) {
            Some(known) => known.0 |= is_changed,
            None => named.push((is_changed, name)),
        }
    }
    named.sort_by_key(|(is_changed, _)| !is_changed);
    named.truncate(MOST_FILES);
    Topic {
        turn: first.id,
        last: last.id,
        name: span.name.clone().unwrap_or_else(|| name_of(span, turns)),
        summary: span.summary.clone().map_or(summary, |summary| vec![summary]),
        outcome,
        files: named.into_iter().map(|(_, name)| name).collect(),
        exchanges: span.exchanges,
        started: first.at,
        sign: span.sign.clone(),
        parts: Vec::new(),
        similar: Vec::new(),
    }
}

/// Returns the request of the person that says most about a span.
fn name_of(span: &StoredSpan, turns: &[TurnShape<'_>]) -> String {
    let mut best: Option<(f32, String)> = None;
    let mut looked_at = 0;
    for (at, turn) in turns.iter().filter(|turn| turn.role == Role::Human).enumerate() {
        let words = Words::of(turn.text);
        for sentence in sentences(turn.text, words).into_iter().take(3) {
            looked_at += 1;
            if looked_at > MOST_SENTENCES {
                break;
            }
            // Long sentences, and those with braces, were pasted.
            if sentence.content() < 2 || sentence.text.len() > LONGEST_NAMING || sentence.text.contains('{') {
                continue;
            }
            let near = embedded(sentence.text).map_or(0.0, |vector| dot(&vector, &span.vector));
            let names = NAME_BONUS * sentence.names().min(MOST_NAMES) as f32;
            let score = near + names + if at == 0 { FIRST_BONUS } else { 0.0 };
            if best.as_ref().is_none_or(|(known, _)| score > *known) {
                best = Some((score, short_name(&sentence, words)));
            }
        }
    }
    best.map(|(_, name)| name).unwrap_or_else(|| name_of_request(turns.first().map_or("", |turn| turn.text)))
}

/// Returns a name for a request: its first sentence, in short.
fn name_of_request(text: &str) -> String {
    let words = Words::of(text);
    let said = sentences(text, words);
    let sentence = said.iter().find(|sentence| sentence.content() >= 2).or(said.first());
    sentence.map_or_else(|| cut(&plain(text), NAME_CHARS), |sentence| short_name(sentence, words))
}

/// Returns a sentence as a name: without the words by which one asks.
fn short_name(sentence: &Sentence<'_>, words: &Words) -> String {
    let text = plain(sentence.text);
    let mut rest = text.as_str();
    loop {
        // The longest opening counts: "can we" and "can we please" are both some.
        let ends = rest.match_indices(' ').take(4).map(|(end, _)| end);
        let opening = ends.filter(|end| words.is("opener", &normal(&rest[..*end])) || words.is("filler", &normal(&rest[..*end])));
        match opening.max() {
            Some(end) => rest = rest[end..].trim_start(),
            None => break,
        }
    }
    let rest = rest.trim_end_matches(['?', '.', '!', ':', ' ']);
    cut(if rest.is_empty() { &text } else { rest }, NAME_CHARS)
}

/// Returns the sentences of the agent that say most about a span, and what came of it.
fn summary_of(span: &StoredSpan, turns: &[TurnShape<'_>]) -> (Vec<String>, Option<String>) {
    let spoken: Vec<&TurnShape<'_>> = turns.iter().filter(|turn| turn.role == Role::Assistant && !turn.text.is_empty()).collect();
    let mut scored: Vec<(f32, usize, String, Vector)> = Vec::new();
    for turn in &spoken {
        let words = Words::of(turn.text);
        for sentence in sentences(turn.text, words) {
            if scored.len() >= MOST_SENTENCES {
                break;
            }
            if let Some(vector) = embedded(sentence.text).filter(|_| is_telling(&sentence, words)) {
                let names = NAME_BONUS * sentence.names().min(MOST_NAMES) as f32;
                scored.push((dot(&vector, &span.vector) + names, scored.len(), plain(sentence.text), vector));
            }
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut chosen: Vec<&(f32, usize, String, Vector)> = Vec::new();
    for candidate in &scored {
        if chosen.len() < SUMMARY_SENTENCES && chosen.iter().all(|known| dot(&known.3, &candidate.3) < ALIKE) {
            chosen.push(candidate);
        }
    }
    chosen.sort_by_key(|candidate| candidate.1);
    let summary: Vec<String> = chosen.iter().map(|candidate| cut(&candidate.2, SENTENCE_CHARS)).collect();
    let outcome = spoken.last().and_then(|turn| outcome_of(turn.text)).filter(|outcome| !summary.contains(outcome));
    (summary, outcome)
}

/// Returns the sentence of a last message that says what was done, or its first that tells something.
fn outcome_of(text: &str) -> Option<String> {
    let words = Words::of(text);
    let said = sentences(text, words);
    let telling: Vec<&Sentence<'_>> = said.iter().filter(|sentence| is_telling(sentence, words)).collect();
    let done = telling.iter().find(|sentence| words.has("outcome", &sentence.normal)).or(telling.first())?;
    Some(cut(&plain(done.text), SENTENCE_CHARS))
}

fn is_telling(sentence: &Sentence<'_>, words: &Words) -> bool {
    let is_out = ["announce", "unfinished"].into_iter().any(|section| words.has(section, &sentence.normal));
    !sentence.is_question && sentence.content() >= 4 && !is_out && !sentence.text.trim_end().ends_with(':')
}
