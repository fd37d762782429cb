//! Relates contexts of a project to each other by their topics. A topic that no context has yet is an entity, until a context is
//! locked under it.

use std::collections::HashMap;

use yore_core::entity::{Entity, EntityKind};
use yore_core::id::{EntityId, EpisodeId};
use yore_core::note::NoteKind;
use yore_core::operation::{Actor, Cause, OperationKind, Subject};
use yore_core::relation::{Node, RelationType};

use super::step::{connect, entity_for};
use crate::Engine;
use crate::error::EngineError;
use crate::store::{OperationTx, Relations, StoredNote, Versions};

/// Most topics that are shown with a context.
const MOST_TOPICS: usize = 100;
/// Length of the spans of time in which contexts that are loaded are used together, in milliseconds.
const TOGETHER_MS: i64 = 30 * 60 * 1_000;

impl Engine {
    /// Relates a context to topics, in the place of those before, and lets what is related to its topic lead to it.
    /// `session`: the agent's own id of the session that says so.
    pub(crate) fn relate_topics(&self, context: &EpisodeId, topics: &[String], session: Option<&str>) -> Result<(), EngineError> {
        let topics = self.redacted_names(topics)?;
        let Some(own) = self.contexts(|note| note.episode == *context)?.pop() else { return Ok(()) };
        let project = |note: &StoredNote| note.project.as_ref().map(|(row, _)| *row);
        let others = self.contexts(|note| project(note) == project(&own) && note.episode != *context)?;
        let titled = |topic: &str| others.iter().find(|note| is_topic(note, topic)).map(|note| Node::Context(note.episode));
        let is_in_project = |node: &Node| matches!(node, Node::Context(id) if others.iter().any(|note| note.episode == *id));
        let title = own.facts.title.clone().unwrap_or_default();
        let (this, now) = (Node::Context(*context), self.now());
        let cause = Cause { actor: Actor::Agent, by: "lock_context".to_owned(), input: session.map(str::to_owned) };
        // The log names no topic: a forgotten one must not stay in it.
        let summary = format!("related context {} to {} topics", context.short(), topics.len());
        self.operate(OperationKind::Relate, &cause, summary, |tx| {
            let mut wanted = Vec::new();
            for topic in topics.iter().filter(|topic| !is_topic(&own, topic)) {
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
            for entity in tx.entities(Some(&title), 100)? {
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
        let mut related = HashMap::new();
        if contexts.is_empty() {
            return Ok(related);
        }
        let titles: HashMap<EpisodeId, String> =
            self.contexts(|_| true)?.into_iter().filter_map(|note| Some((note.episode, note.facts.title?))).collect();
        for context in contexts {
            let this = Node::Context(*context);
            let mut topics = Vec::new();
            for relation in self.store().relations(Relations::Of(&this, MOST_TOPICS))? {
                let topic = match if relation.from == this { &relation.to } else { &relation.from } {
                    Node::Context(id) => titles.get(id).cloned(),
                    Node::Entity(id) => self.store().entity(*id)?.map(|entity| entity.name),
                    _ => None,
                };
                topics.extend(topic.filter(|_| relation.relation_type == RelationType::RelatesTo));
            }
            related.insert(*context, topics);
        }
        Ok(related)
    }

    /// Returns the pairs of contexts that were loaded in the same half hour or in two that follow each other, with the
    /// strength of that: a half for once, two thirds for twice, and so on.
    pub fn contexts_used_together(&self) -> Result<Vec<(EpisodeId, EpisodeId, f32)>, EngineError> {
        let pairs = self.store().contexts_used_together(TOGETHER_MS)?;
        Ok(pairs.into_iter().map(|(one, other, times)| (one, other, times as f32 / (times as f32 + 1.0))).collect())
    }

    /// Returns the contexts that are not forgotten, as far as they are wanted.
    fn contexts(&self, is_wanted: impl Fn(&StoredNote) -> bool) -> Result<Vec<StoredNote>, EngineError> {
        let is_context = |note: &StoredNote| note.facts.kind == NoteKind::Context && !note.is_forgotten;
        Ok(self.store().notes(Versions::Newest, usize::MAX, |note| is_context(note) && is_wanted(note))?)
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

fn is_topic(note: &StoredNote, topic: &str) -> bool {
    note.facts.title.as_ref().is_some_and(|title| title.to_lowercase() == topic.trim().to_lowercase())
}
