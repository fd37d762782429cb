//! Records, merges and splits entities; states, removes and follows relations.

use std::collections::{HashSet, VecDeque};

use serde::{Deserialize, Serialize};
use yore_core::entity::{Entity, EntityKind, check_entity, key_of};
use yore_core::id::{EntityId, MemoryId, RelationId};
use yore_core::memory::{Event, Lane, Memory, Replacement};
use yore_core::operation::{Actor, Cause, OperationKind, Record, Subject};
use yore_core::relation::{Node, Relation, RelationType, check_relation};
use yore_core::time::UtcMillis;

use super::retire_or_contest::{authority, mark_contradicted, revive};
use super::shown::NamedRelation;
use super::status_changes::{apply, release};
use super::step::{USER, close, draw, draw_relation, known_entity, move_end};
use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::store::{OperationTx, Relations};

/// Most entities of one name that are told apart.
const MOST_NAMESAKES: usize = 20;

/// Fewest digits of an id by which an entity is opened, and most relations that are shown with it.
const FEWEST_DIGITS: usize = 6;
const MOST_RELATIONS: usize = 200;

/// An entity that was opened.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct OpenedEntity {
    /// The entity.
    pub entity: Entity,
    /// Its relations, as they are read from it.
    pub relations: Vec<NamedRelation>,
}

/// Relations that close an open question, problem or todo.
const CLOSING: [RelationType; 3] = [RelationType::Answers, RelationType::Solves, RelationType::Implements];

/// The limits of a walk along relations.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Traversal {
    /// Greatest number of steps.
    pub depth: usize,
    /// Greatest number of relations followed from one node, the heaviest first.
    pub breadth: usize,
    /// Greatest number of nodes.
    pub limit: usize,
    /// Only relations of these types; empty: of all.
    pub types: Vec<RelationType>,
    /// Only relations of at least this weight.
    pub min_weight: f32,
}

impl Default for Traversal {
    fn default() -> Self {
        Self { depth: 2, breadth: 50, limit: 1_000, types: Vec::new(), min_weight: 0.0 }
    }
}

/// A node that a walk reaches.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Reached {
    /// The node.
    pub node: Node,
    /// Number of steps to it.
    pub depth: usize,
    /// The relation that leads to it.
    pub relation: RelationId,
    /// That relation's name, read from the node before.
    pub name: String,
    /// The node before.
    pub from: Node,
    /// Product of the weights on the way.
    pub weight: f32,
}

/// A thing as an extractor tells of it.
#[derive(Clone, Debug)]
pub(crate) struct NamedEntity {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: EntityKind,
    /// The kind as it was given, if yore does not know it.
    pub given_kind: Option<String>,
    /// A sentence that says what it is.
    pub description: Option<String>,
    /// Name of the known thing that it is.
    pub same_as: Option<String>,
}

/// Records a thing that an extractor tells of, or adds to the known one that it is: the one that the extractor names, else the one of
/// its name and kind, else the one of its name if either's kind is not known. That one gets the name as an alias, and the kind and
/// the description that it lacks.
pub(super) fn place_entity(tx: &mut OperationTx<'_, '_>, given: &NamedEntity, now: UtcMillis) -> Result<(), EngineError> {
    let named = tx.entities(Some(&given.name), MOST_NAMESAKES)?;
    let stated = given.same_as.as_deref().map(|name| known_entity(tx, name)).transpose()?.flatten();
    let is_vague = |kind: EntityKind| kind == EntityKind::Concept;
    let by_kind = named.iter().find(|known| known.kind == given.kind);
    let by_name = named.iter().find(|known| is_vague(known.kind) || is_vague(given.kind));
    let known = match stated {
        Some(id) => tx.entity(id)?,
        None => by_kind.or(by_name).cloned(),
    };
    let is_user = key_of(&given.name) == USER || known.as_ref().is_some_and(|known| known.id == EntityId::USER);
    if is_user {
        return Ok(());
    }
    let before = known.clone();
    let mut entity = match known {
        Some(known) => known,
        None => Entity::new(EntityId::new(now.max(0) as u64, draw()?), given.kind, given.name.clone(), now),
    };
    if is_vague(entity.kind) {
        (entity.kind, entity.given_kind) = (given.kind, given.given_kind.clone().or(entity.given_kind));
    }
    entity.description = entity.description.or_else(|| given.description.clone());
    // A name that something else has is not taken from it.
    if named.is_empty() {
        entity.aliases.push(given.name.clone());
    }
    let entity = entity.normalised();
    if before.as_ref() != Some(&entity) && check_entity(&entity).is_ok() {
        tx.put(&Record::Entity(Box::new(entity)))?;
    }
    Ok(())
}

/// Marks a memory as replaced by another.
///
/// # Errors
/// [`MemoryError::Circle`] if the other one was replaced by it, directly or not.
fn replaced_by(tx: &mut OperationTx<'_, '_>, older: MemoryId, newer: MemoryId, now: UtcMillis) -> Result<(), EngineError> {
    let mut waiting = vec![older];
    let mut seen = HashSet::new();
    while let Some(id) = waiting.pop() {
        if id == newer {
            return Err(MemoryError::Circle.into());
        }
        if !seen.insert(id) {
            continue;
        }
        for relation in tx.relations_of(&Node::Memory(id))? {
            if let (RelationType::Supersedes, Node::Memory(from), Node::Memory(to)) =
                (relation.relation_type, relation.from, relation.to)
                && from == id
            {
                waiting.push(to);
            }
        }
    }
    let Some(known) = tx.memory(older)?.filter(Memory::is_in_effect) else {
        return Ok(());
    };
    let since = tx.memory(newer)?.and_then(|newer| newer.true_since(now));
    apply(tx, &known, &Event::Replaced { since, why: Replacement::Stated(None) }, now).map(drop)
}

impl Engine {
    /// Records an entity, or changes the one with its name and kind. Returns it, and the number of the operation.
    ///
    /// # Errors
    /// [`MemoryError::InvalidEntity`].
    pub fn put_entity(
        &self,
        kind: &str,
        name: &str,
        aliases: &[String],
        description: Option<&str>,
        cause: &Cause,
    ) -> Result<(Entity, Option<u64>), EngineError> {
        let (now, id) = (self.now(), draw()?);
        let (kind, given_kind) = EntityKind::read(kind);
        let mut texts = vec![name.to_owned(), description.unwrap_or_default().to_owned()];
        self.redact(texts.iter_mut())?;
        let (description, name) = (texts.pop().filter(|text| !text.trim().is_empty()), texts.pop().unwrap_or_default());
        let aliases = self.redacted_names(aliases)?;
        let summary = format!("recorded {} {name}", kind.as_str());
        self.operate(OperationKind::Edit, cause, summary, |tx| {
            let known = tx
                .entities(Some(&name), 100)?
                .into_iter()
                .find(|known| known.kind == kind && key_of(&known.name) == key_of(&name));
            let mut entity = known.unwrap_or_else(|| Entity::new(EntityId::new(now.max(0) as u64, id), kind, name.clone(), now));
            entity.given_kind = given_kind.or(entity.given_kind);
            let is_new = |given: &String| entity.description.as_deref().is_none_or(|known| known.trim() != given.trim());
            entity.description = description.filter(is_new).or(entity.description);
            entity.aliases.extend(aliases);
            let entity = entity.normalised();
            check_entity(&entity).map_err(MemoryError::from)?;
            tx.put(&Record::Entity(Box::new(entity.clone())))?;
            Ok(entity)
        })
    }

    /// Returns the entities, by name.
    pub fn entities(&self, limit: usize) -> Result<Vec<Entity>, EngineError> {
        Ok(self.store().entities(None, limit)?)
    }

    /// Returns an entity.
    pub fn entity(&self, id: EntityId) -> Result<Option<Entity>, EngineError> {
        Ok(self.store().entity(id)?)
    }

    /// Returns the entity with a name or alias; `kind:name` tells namesakes apart.
    ///
    /// # Errors
    /// [`MemoryError::UnknownEntity`], [`MemoryError::AmbiguousEntity`].
    pub fn entity_named(&self, name: &str) -> Result<Entity, EngineError> {
        let (kind, plain) = match name.split_once(':') {
            Some((kind, plain)) if EntityKind::parse(kind).is_some() => (EntityKind::parse(kind), plain),
            _ => (None, name),
        };
        let mut found = self.store().entities(Some(plain), MOST_NAMESAKES)?;
        found.retain(|entity| kind.is_none_or(|kind| entity.kind == kind));
        // A name goes before an alias.
        let named = found.iter().filter(|entity| key_of(&entity.name) == key_of(plain)).count();
        if named == 1 {
            found.retain(|entity| key_of(&entity.name) == key_of(plain));
        }
        let kinds: Vec<&'static str> = found.iter().map(|entity| entity.kind.as_str()).collect();
        match found.pop() {
            None => Err(MemoryError::UnknownEntity(name.to_owned()).into()),
            Some(one) if kinds.len() == 1 => Ok(one),
            Some(_) => Err(MemoryError::AmbiguousEntity { name: name.to_owned(), kinds }.into()),
        }
    }

    /// Returns the entity with an id or the beginning of it, with its relations; `None` if no entity or several have it.
    pub fn open_entity(&self, id: &str) -> Result<Option<OpenedEntity>, EngineError> {
        let digits: String = id.trim().chars().filter(|letter| *letter != '-').collect::<String>().to_lowercase();
        if digits.len() < FEWEST_DIGITS {
            return Ok(None);
        }
        let whole = |entity: &Entity| entity.id.to_string().replace('-', "");
        let mut found = self.store().entities(None, usize::MAX >> 1)?;
        found.retain(|entity| whole(entity).starts_with(&digits) || entity.id.short().starts_with(&digits));
        let (Some(entity), true) = (found.pop(), found.is_empty()) else { return Ok(None) };
        let node = Node::Entity(entity.id);
        let relations = self.named_relations(&node, &self.store().relations(Relations::Of(&node, MOST_RELATIONS))?)?;
        Ok(Some(OpenedEntity { entity, relations }))
    }

    /// Gives the person their name, which then stands where memories are about the user. Returns the number of the operation.
    ///
    /// # Errors
    /// [`MemoryError::InvalidEntity`]: the name is empty or too long.
    pub fn name_user(&self, name: &str, cause: &Cause) -> Result<Option<u64>, EngineError> {
        let name = self.redacted_names(&[name.to_owned()])?.pop().unwrap_or_default();
        let (_, operation) = self.operate(OperationKind::Edit, cause, format!("the user is {name}"), |tx| {
            let user = tx.entity(EntityId::USER)?;
            let mut user = user.unwrap_or_else(|| Entity::new(EntityId::USER, EntityKind::Person, USER, self.now()));
            // Somebody of that name whom statements name is the user.
            let is_namesake = |other: &Entity| other.kind == EntityKind::Person && other.id != EntityId::USER;
            for other in tx.entities(Some(&name), 100)?.into_iter().filter(is_namesake) {
                tx.put(&Record::Entity(Box::new(user.clone())))?;
                for relation in tx.relations_of(&Node::Entity(other.id))? {
                    move_end(tx, relation, other.id, EntityId::USER)?;
                }
                tx.remove(Subject::Entity(other.id))?;
                user.aliases.extend(other.aliases);
            }
            user.aliases.extend([user.name.clone(), USER.to_owned()]);
            let named = Entity { name: name.clone(), ..user }.normalised();
            check_entity(&named).map_err(MemoryError::from)?;
            Ok::<_, EngineError>(tx.put(&Record::Entity(Box::new(named)))?)
        })?;
        Ok(operation)
    }

    /// Makes one entity of two: `into` gets the names and relations of `from`.
    ///
    /// # Errors
    /// [`MemoryError`]: one of them is not known, or is the person.
    pub fn merge_entities(&self, from: &str, into: &str, cause: &Cause) -> Result<(Entity, Option<u64>), EngineError> {
        let (from, into) = (self.entity_named(from)?, self.entity_named(into)?);
        if from.id == EntityId::USER {
            return Err(MemoryError::IsUser.into());
        }
        let summary = format!("merged {} into {}", from.name, into.name);
        self.operate(OperationKind::Merge, cause, summary, |tx| {
            if from.id == into.id {
                return Ok(into);
            }
            for relation in tx.relations_of(&Node::Entity(from.id))? {
                move_end(tx, relation, from.id, into.id)?;
            }
            tx.remove(Subject::Entity(from.id))?;
            let mut merged = into.clone();
            merged.aliases.extend(from.aliases.iter().cloned().chain([from.name.clone()]));
            merged.description = merged.description.or_else(|| from.description.clone());
            let merged = merged.normalised();
            check_entity(&merged).map_err(MemoryError::from)?;
            tx.put(&Record::Entity(Box::new(merged.clone())))?;
            Ok(merged)
        })
    }

    /// Makes two entities of one: a new one of the same kind gets the name, which the old one loses as an alias, and
    /// the relations with `nodes`.
    ///
    /// # Errors
    /// [`MemoryError`]: the entity is not known, or is the person.
    pub fn split_entity(
        &self,
        name: &str,
        new: &str,
        nodes: &[Node],
        cause: &Cause,
    ) -> Result<(Entity, Option<u64>), EngineError> {
        let (old, now, id) = (self.entity_named(name)?, self.now(), draw()?);
        if old.id == EntityId::USER {
            return Err(MemoryError::IsUser.into());
        }
        let new = self.redacted_names(&[new.to_owned()])?.pop().unwrap_or_default();
        let made = Entity::new(EntityId::new(now.max(0) as u64, id), old.kind, new.clone(), now).normalised();
        check_entity(&made).map_err(MemoryError::from)?;
        let summary = format!("split {} off {}", made.name, old.name);
        self.operate(OperationKind::Split, cause, summary, |tx| {
            let mut rest = old.clone();
            rest.aliases.retain(|alias| key_of(alias) != key_of(&new));
            tx.put(&Record::Entity(Box::new(rest)))?;
            tx.put(&Record::Entity(Box::new(made.clone())))?;
            for relation in tx.relations_of(&Node::Entity(old.id))? {
                if nodes.contains(&relation.from) || nodes.contains(&relation.to) {
                    move_end(tx, relation, old.id, made.id)?;
                }
            }
            Ok(made)
        })
    }

    /// States a relation; one of the same type between the same nodes gets the weight and the reason. The name may be
    /// that of an inverse. A memory that another supersedes holds no more; only a person says so of one that is theirs. An
    /// open question, problem or todo that a memory answers, solves or implements is closed, a person's own only by a person.
    ///
    /// # Errors
    /// [`MemoryError::InvalidRelation`], [`MemoryError::OfPerson`]; [`crate::StoreError::UnknownNode`].
    pub fn relate(
        &self,
        from: &Node,
        name: (RelationType, bool),
        to: &Node,
        weight: f32,
        reason: Option<&str>,
        cause: &Cause,
    ) -> Result<(Relation, Option<u64>), EngineError> {
        let (relation_type, is_reversed) = name;
        let (from, to) = if is_reversed { (to, from) } else { (from, to) };
        let now = self.now();
        let mut reason = reason.map(str::to_owned);
        self.redact(reason.iter_mut())?;
        let new = Relation { weight, reason, ..Relation::new(draw_relation(now)?, from.clone(), relation_type, to.clone(), now) }
            .normalised();
        check_relation(&new).map_err(MemoryError::from)?;
        let summary = format!("{} {} {}", new.from.kind(), relation_type.as_str(), new.to.kind());
        self.operate(OperationKind::Relate, cause, summary, |tx| {
            let relation = match tx.relation_between(&new.from, relation_type, &new.to)? {
                Some(known) => Relation { weight: new.weight, reason: new.reason.clone().or(known.reason), ..known },
                None => new,
            };
            if let (RelationType::Supersedes, Node::Memory(newer), Node::Memory(older)) =
                (relation_type, &relation.from, &relation.to)
            {
                let held = tx.memory(*older)?;
                let is_of_person = held.as_ref().is_some_and(|held| held.lane == Lane::Curated);
                let by = tx.memory(*newer)?;
                // What an agent concludes retires nothing that a person said.
                let counts_less =
                    |held: &Memory| by.as_ref().is_none_or(|by| !by.is_in_effect() || authority(by) < authority(held));
                let is_kept = is_of_person || held.as_ref().is_some_and(counts_less);
                if is_kept && cause.actor != Actor::Person {
                    return Err(MemoryError::OfPerson(older.short()).into());
                }
                let is_open = by.zip(held).is_some_and(|(newer, held)| !newer.kind.may_replace(held.kind));
                if is_open && cause.actor != Actor::Person {
                    return Err(MemoryError::IsOpen(newer.short()).into());
                }
                replaced_by(tx, *older, *newer, now)?;
            }
            if let (true, Node::Memory(_), Node::Memory(open)) = (CLOSING.contains(&relation_type), &relation.from, &relation.to)
            {
                close(tx, *open, cause.actor, now)?;
            }
            tx.put(&Record::Relation(Box::new(relation.clone())))?;
            if let (RelationType::Contradicts, Node::Memory(memory)) = (relation_type, &relation.from) {
                mark_contradicted(tx, *memory, now)?;
            }
            Ok(relation)
        })
    }

    /// Takes a relation back. Returns the number of the operation.
    ///
    /// # Errors
    /// [`MemoryError::NotRelated`].
    pub fn unrelate(
        &self,
        from: &Node,
        name: (RelationType, bool),
        to: &Node,
        cause: &Cause,
    ) -> Result<Option<u64>, EngineError> {
        let (relation_type, is_reversed) = name;
        let (from, to) = if is_reversed { (to, from) } else { (from, to) };
        let now = self.now();
        let wanted = Relation::new(RelationId::from_bytes([0; 16]), from.clone(), relation_type, to.clone(), 0).normalised();
        let summary = format!("took back: {} {} {}", wanted.from.kind(), relation_type.as_str(), wanted.to.kind());
        let ((), operation) = self.operate(OperationKind::Relate, cause, summary, |tx| {
            let known = tx.relation_between(&wanted.from, relation_type, &wanted.to)?.ok_or(MemoryError::NotRelated)?;
            tx.remove(Subject::Relation(known.id))?;
            for end in [&known.from, &known.to] {
                if let Node::Memory(memory) = end {
                    release(tx, *memory, now)?;
                }
            }
            if let (RelationType::Supersedes, Node::Memory(newer), Node::Memory(older)) = (relation_type, &known.from, &known.to)
                && tx.memory(*older)?.is_some_and(|older| older.was_replaced_by_itself())
            {
                // Both hold from now on, and stay so.
                let both =
                    Relation::new(draw_relation(now)?, Node::Memory(*newer), RelationType::Qualifies, Node::Memory(*older), now);
                tx.put(&Record::Relation(Box::new(both.normalised())))?;
                revive(tx, *older, known.id, cause.actor, now)?;
            }
            Ok(())
        })?;
        Ok(operation)
    }

    /// Follows relations from a node in both directions, nearest first: each node once, on its shortest way, and of
    /// those on the heaviest. Neither the node itself is among them nor a memory that was forgotten softly.
    pub fn traverse(&self, start: &Node, traversal: &Traversal) -> Result<Vec<Reached>, EngineError> {
        let mut seen: HashSet<Node> = HashSet::from([start.clone()]);
        let mut reached: Vec<Reached> = Vec::new();
        let mut queue = VecDeque::from([(start.clone(), 0, 1.0f32)]);
        while let Some((node, depth, weight)) = queue.pop_front() {
            if depth >= traversal.depth || reached.len() >= traversal.limit {
                continue;
            }
            let (types, least, limit) = (&traversal.types, traversal.min_weight, traversal.breadth);
            let mut relations = self.store().relations(Relations::Heaviest { node: &node, types, least, limit })?;
            relations.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.id.cmp(&b.id)));
            for relation in relations {
                let is_reversed = relation.to == node;
                let next = if is_reversed { relation.from.clone() } else { relation.to.clone() };
                if reached.len() >= traversal.limit || !seen.insert(next.clone()) {
                    continue;
                }
                if let Node::Memory(id) = next
                    && self.told_memory(id)?.is_none()
                {
                    continue;
                }
                let way = weight * relation.weight;
                queue.push_back((next.clone(), depth + 1, way));
                reached.push(Reached {
                    node: next,
                    depth: depth + 1,
                    relation: relation.id,
                    name: relation.relation_type.name_from(is_reversed).to_owned(),
                    from: node.clone(),
                    weight: way,
                });
            }
        }
        Ok(reached)
    }
}
