//! Adds topics to an answer: those of its hits, and those most similar to the question.

use std::collections::{HashMap, HashSet};

use yore_core::query::Filter;
use yore_core::vector::dot;

use super::topic::Topic;
use crate::archive::sessions::{ConversationTurns, SessionsRequest};
use crate::embed::StaticTable;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{AnswerTopic, RecallAnswer, RecallRequest};
use crate::store::{EpisodeKey, EpisodeSummary, ItemKey, SessionOrder, Spans, StoredSpan, TurnKey};

/// Most topics without a hit, and how similar one must be to the question.
const MOST_NEAR: usize = 3;
const NEAR: f32 = 0.45;

impl Engine {
    /// Adds to an answer the topics in which its hits lie, that of the best hit first, and the topics without a hit that
    /// are most similar to the question. Conditions that the turns of a topic may not meet leave out the latter.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn tell_topics(&self, request: &RecallRequest, answer: &mut RecallAnswer) -> Result<(), EngineError> {
        let turns: Vec<(TurnKey, usize)> = answer.hits.iter().filter_map(|hit| Some((hit.turn_key()?, hit.rank))).collect();
        let heads = self.store().item_heads(&turns.iter().map(|(turn, _)| ItemKey::Turn(*turn)).collect::<Vec<_>>())?;
        let head = |turn: TurnKey| heads.get(&ItemKey::Turn(turn)).filter(|head| !head.is_document);
        let hits: Vec<(EpisodeKey, TurnKey, usize)> =
            turns.into_iter().filter_map(|(turn, rank)| Some((head(turn)?.episode, turn, rank))).collect();
        let mut episodes: Vec<EpisodeKey> = Vec::new();
        for (episode, ..) in &hits {
            if !episodes.contains(episode) {
                episodes.push(*episode);
            }
        }
        let unstored = self.divide_changed(&episodes, &mut || true)?;
        let mut spans = StoredSpan::by_episode(self.store().spans(Spans::Of(&episodes))?);
        spans.extend(unstored);
        let mut topics: Vec<AnswerTopic> = Vec::new();
        for episode in &episodes {
            let own: Vec<(TurnKey, usize)> =
                hits.iter().filter(|(of, ..)| of == episode).map(|(_, turn, rank)| (*turn, *rank)).collect();
            topics.extend(self.topics_with(*episode, spans.get(episode).map_or(&[], Vec::as_slice), &own)?);
        }
        topics.sort_by_key(|topic| topic.hits.first().copied());
        self.add_near(request, answer, &mut topics)?;
        answer.topics = topics;
        Ok(())
    }

    /// Returns the topics of a conversation that hits lie in.
    fn topics_with(
        &self,
        episode: EpisodeKey,
        spans: &[StoredSpan],
        hits: &[(TurnKey, usize)],
    ) -> Result<Vec<AnswerTopic>, EngineError> {
        let conversation = ConversationTurns::read(self.store(), episode)?;
        let places: HashMap<TurnKey, usize> = conversation.turns.iter().enumerate().map(|(at, turn)| (turn.row, at)).collect();
        let mut with_hits: Vec<(&StoredSpan, Vec<usize>)> = Vec::new();
        for span in spans.iter().filter(|span| span.depth == 0) {
            let (Some(first), Some(last)) = (places.get(&span.first), places.get(&span.last)) else { continue };
            let is_in = |turn: &TurnKey| places.get(turn).is_some_and(|at| (first..=last).contains(&at));
            let ranks: Vec<usize> = hits.iter().filter(|(turn, _)| is_in(turn)).map(|(_, rank)| *rank).collect();
            if !ranks.is_empty() {
                with_hits.push((span, ranks));
            }
        }
        let (spans, ranks): (Vec<StoredSpan>, Vec<Vec<usize>>) =
            with_hits.into_iter().map(|(span, ranks)| (span.clone(), ranks)).unzip();
        let Some(session) = conversation.turns.first().map(|turn| turn.native_session.clone()) else { return Ok(Vec::new()) };
        let told = self.told_of(&conversation, &spans, false)?;
        let topic = |(topic, hits): (Topic, Vec<usize>)| AnswerTopic {
            turn: topic.turn,
            name: topic.name,
            session: session.clone(),
            started: topic.started,
            exchanges: topic.exchanges,
            hits,
            similarity: None,
        };
        Ok(told.into_iter().zip(ranks).map(topic).collect())
    }

    /// Adds the topics most similar to the question that are not there yet.
    fn add_near(&self, request: &RecallRequest, answer: &RecallAnswer, topics: &mut Vec<AnswerTopic>) -> Result<(), EngineError> {
        let Filter { scope, since, until, as_of, agents, .. } = &request.filter;
        let plain = Filter {
            scope: scope.clone(),
            since: *since,
            until: *until,
            as_of: *as_of,
            agents: agents.clone(),
            ..Filter::default()
        };
        let Some(asked) = StaticTable::vector_of(&request.question) else { return Ok(()) };
        if request.filter != plain || answer.is_project_unknown {
            return Ok(());
        }
        let sessions = self.sessions(&SessionsRequest {
            projects: answer.projects.clone(),
            agents: agents.clone(),
            since: *since,
            until: until.or(*as_of),
            without_documents: true,
            order: SessionOrder::Recent,
            limit: usize::MAX >> 1,
            ..SessionsRequest::default()
        })?;
        let episodes: Vec<EpisodeKey> = sessions.iter().map(|session| session.row).collect();
        let spans = self.store().spans(Spans::Of(&episodes))?;
        let mut near: Vec<(f32, &StoredSpan)> =
            spans.iter().filter(|span| span.depth == 0).map(|span| (dot(&asked, &span.vector), span)).collect();
        near.retain(|(similarity, _)| *similarity >= NEAR);
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.first.cmp(&b.1.first)));
        let sessions: HashMap<EpisodeKey, &EpisodeSummary> = sessions.iter().map(|session| (session.row, session)).collect();
        // Snapshots and forks of a session have its topics again.
        let mut names: HashSet<String> = topics.iter().map(|topic| topic.name.clone()).collect();
        let most = topics.len() + MOST_NEAR;
        for (similarity, span) in near {
            if topics.len() == most {
                break;
            }
            let Some(session) = sessions.get(&span.episode) else { continue };
            let Some(topic) = self.told(span.episode, std::slice::from_ref(span), false)?.into_iter().next() else { continue };
            let is_later = as_of.is_some_and(|as_of| topic.started.is_none_or(|started| started >= as_of));
            if is_later || topics.iter().any(|known| known.turn == topic.turn) || !names.insert(topic.name.clone()) {
                continue;
            }
            topics.push(AnswerTopic {
                turn: topic.turn,
                name: topic.name,
                session: session.native_id.clone(),
                started: topic.started,
                exchanges: topic.exchanges,
                hits: Vec::new(),
                similarity: Some(similarity.min(1.0)),
            });
        }
        Ok(())
    }
}
