//! Relates contexts of a project to each other by their topics. A topic that no context has yet is an entity, until a context is
//! locked under it.

use std::collections::HashMap;

use yore_core::entity::{Entity, EntityKind};
use yore_core::id::{EntityId, EpisodeId};
use yore_core::operation::{Actor, Cause, OperationKind, Subject};
use yore_core::relation::{Node, RelationType};

use super::step::{connect, entity_for};
use crate::Engine;
use crate::error::EngineError;
use crate::store::{Contexts, OperationTx, Relations};

/// Most topics that are shown with a context.
const MOST_TOPICS: usize = 100;
/// Length of the spans of time in which contexts that are loaded are used together, in milliseconds.
const TOGETHER_MS: i64 = 30 * 60 * 1_000;

impl Engine {
    /// Relates a context to topics, in the place of those before, and lets what is related to its topic lead to it.
    /// `session`: the agent's own id of the session that says so.
    pub(crate) fn relate_topics(&self, context: &EpisodeId, topics: &[String], session: Option<&str>) -> Result<(), EngineError> {
        let topics = self.redacted_names(topics)?;
        let mut others = self.store().context_heads(Contexts::All)?;
        let Some(own) = others.iter().position(|head| head.episode == *context).map(|place| others.remove(place)) else {
            return Ok(());
        };
        others.retain(|head| head.project == own.project);
        let titled = |topic: &str| others.iter().find(|head| is_same(&head.topic, topic)).map(|head| Node::Context(head.episode));
        let is_in_project = |node: &Node| matches!(node, Node::Context(id) if others.iter().any(|head| head.episode == *id));
        let (this, now) = (Node::Context(*context), self.now());
        let cause = Cause { actor: Actor::Agent, by: "lock_context".to_owned(), input: session.map(str::to_owned) };
        // The log names no topic: a forgotten one must not stay in it.
        let summary = format!("related context {} to {} topics", context.short(), topics.len());
        self.operate(OperationKind::Relate, &cause, summary, |tx| {
            let mut wanted = Vec::new();
            for topic in topics.iter().filter(|topic| !is_same(&own.topic, topic)) {
                wanted.push(match titled(topic) {
                    Some(node) => node,
                    None => Node::Entity(entity_for(tx, topic, now)?),
                });
            }
            for relation in tx.relations_of(&this)? {
                let other = if relation.from == this { &relation.to } else { &relation.from };
                let is_topic = matches!(other, Node::Context(_) | Node::Entity(_));
                if relation.relation_type == RelationType::RelatesTo && is_topic && !wanted.contains(other) {
                    let other = other.clone();
                    tx.remove(Subject::Relation(relation.id))?;
                    remove_bare(tx, &other)?;
                }
            }
            for node in wanted {
                connect(tx, this.clone(), RelationType::RelatesTo, node, now)?;
            }
            // Contexts that were related to the topic before a context had it.
            for entity in tx.entities(Some(&own.topic), 100)? {
                for relation in tx.relations_of(&Node::Entity(entity.id))? {
                    let other = [relation.from, relation.to].into_iter().find(is_in_project);
                    if let Some(other) = other.filter(|_| relation.relation_type == RelationType::RelatesTo) {
                        tx.remove(Subject::Relation(relation.id))?;
                        connect(tx, other, RelationType::RelatesTo, this.clone(), now)?;
                    }
                }
                remove_bare(tx, &Node::Entity(entity.id))?;
            }
            Ok::<_, EngineError>(())
        })?;
        Ok(())
    }

    /// Returns the topics that each of these contexts is related to, in the order in which that was said.
    pub(crate) fn related_topics(&self, contexts: &[EpisodeId]) -> Result<HashMap<EpisodeId, Vec<String>>, EngineError> {
        let mut nodes: Vec<(EpisodeId, Node)> = Vec::new();
        for context in contexts {
            let this = Node::Context(*context);
            let relations = self.store().relations(Relations::Of(&this, MOST_TOPICS))?;
            let stated = relations.into_iter().filter(|relation| relation.relation_type == RelationType::RelatesTo);
            nodes.extend(stated.map(|relation| (*context, if relation.from == this { relation.to } else { relation.from })));
        }
        let known: Vec<EpisodeId> =
            nodes.iter().filter_map(|(_, node)| if let Node::Context(id) = node { Some(*id) } else { None }).collect();
        let heads = self.store().context_heads(Contexts::Named(&known))?;
        let topics: HashMap<EpisodeId, String> = heads.into_iter().map(|head| (head.episode, head.topic)).collect();
        let mut related: HashMap<EpisodeId, Vec<String>> = contexts.iter().map(|context| (*context, Vec::new())).collect();
        for (context, node) in nodes {
            let topic = match node {
                Node::Context(id) => topics.get(&id).cloned(),
                Node::Entity(id) => self.store().entity(id)?.map(|entity| entity.name),
                _ => None,
            };
            related.entry(context).or_default().extend(topic);
        }
        Ok(related)
    }

    /// Returns the contexts that were loaded whole in the same half hour as one, or in that before or after, with the strength of
    /// that: a half for once, two thirds for twice, and so on.
    pub(crate) fn contexts_used_with(&self, context: &EpisodeId) -> Result<Vec<(EpisodeId, f32)>, EngineError> {
        let used = self.store().context_heads(Contexts::UsedWith(context, TOGETHER_MS))?;
        Ok(used.into_iter().map(|other| (other.episode, other.together as f32 / (other.together as f32 + 1.0))).collect())
    }
}

/// Removes an entity that is nothing but a name and is related to nothing: a topic that nobody names any more.
fn remove_bare(tx: &mut OperationTx<'_, '_>, node: &Node) -> Result<(), EngineError> {
    let Node::Entity(id) = node else { return Ok(()) };
    let is_bare = |entity: &Entity| {
        entity.kind == EntityKind::Concept
            && entity.description.is_none()
            && entity.aliases.is_empty()
            && entity.id != EntityId::USER
    };
    if tx.entity(*id)?.is_some_and(|entity| is_bare(&entity)) && tx.relations_of(node)?.is_empty() {
        tx.remove(Subject::Entity(*id))?;
    }
    Ok(())
}

/// Returns whether two topics are the same, ignoring case and blanks around them.
fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.trim().to_lowercase()
}
