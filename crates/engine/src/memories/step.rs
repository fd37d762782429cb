//! Steps that several operations share: drawing ids, finding or adding entities, connecting records.

use std::io;
use std::time::Instant;

use yore_core::consolidation::{Phase, PipelineStatistics};
use yore_core::entity::{Entity, EntityKind, check_entity, key_of};
use yore_core::id::{EntityId, MemoryId, RelationId, TurnId};
use yore_core::memory::{Fields, Lane, Memory, Status};
use yore_core::operation::{Actor, Record, Subject};
use yore_core::relation::{Node, Relation, RelationType, check_relation};
use yore_core::time::UtcMillis;

use crate::error::{EngineError, MemoryError};
use crate::store::{OperationTx, StoreError};

/// Name of the person until they say theirs.
pub(super) const USER: &str = "user";

/// Returns the microseconds since an instant.
pub(super) fn micros(since: Instant) -> u64 {
    since.elapsed().as_micros() as u64
}

/// Runs the work of a phase of consolidation on one thing.
pub(super) fn timed<T>(statistics: &mut PipelineStatistics, phase: Phase, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = work();
    statistics.worked(phase, 1, micros(began));
    done
}

/// Draws 10 random bytes.
pub(super) fn draw() -> Result<[u8; 10], EngineError> {
    let mut random = [0u8; 10];
    getrandom::fill(&mut random).map_err(|error| {
        EngineError::Store(StoreError::Io { path: Default::default(), error: io::Error::other(error.to_string()) })
    })?;
    Ok(random)
}

/// Draws the id of a relation.
pub(super) fn draw_relation(now: UtcMillis) -> Result<RelationId, EngineError> {
    Ok(RelationId::new(now.max(0) as u64, draw()?))
}

/// Reads KIND:NAME, or a name alone.
pub(super) fn kind_and_name(name: &str) -> (Option<EntityKind>, &str) {
    match name.split_once(':') {
        Some((kind, plain)) if EntityKind::parse(kind).is_some() => (EntityKind::parse(kind), plain.trim()),
        _ => (None, name.trim()),
    }
}

/// Returns the entity with a name or alias, of any kind unless the name tells one.
pub(super) fn known_entity(tx: &OperationTx<'_, '_>, name: &str) -> Result<Option<EntityId>, EngineError> {
    let (kind, plain) = kind_and_name(name);
    let known = tx.entities(Some(plain), 100)?;
    Ok(known.iter().find(|known| kind.is_none_or(|kind| known.kind == kind)).map(|known| known.id))
}

/// Returns the entity with a name, of any kind; records it as a concept if there is none.
pub(super) fn entity_for(tx: &mut OperationTx<'_, '_>, name: &str, now: UtcMillis) -> Result<EntityId, EngineError> {
    if let Some(known) = known_entity(tx, name)? {
        return Ok(known);
    }
    let (kind, plain) = kind_and_name(name);
    let is_user =
        key_of(plain) == USER && kind.is_none_or(|kind| kind == EntityKind::Person) && tx.entity(EntityId::USER)?.is_none();
    let entity = if is_user {
        // There is one.
        Entity::new(EntityId::USER, EntityKind::Person, USER, now)
    } else {
        Entity::new(EntityId::new(now.max(0) as u64, draw()?), kind.unwrap_or_default(), plain, now).normalised()
    };
    let id = entity.id;
    check_entity(&entity).map_err(MemoryError::from)?;
    tx.put(&Record::Entity(Box::new(entity)))?;
    Ok(id)
}

/// States a relation unless it is known.
pub(super) fn connect(
    tx: &mut OperationTx<'_, '_>,
    from: Node,
    relation_type: RelationType,
    to: Node,
    now: UtcMillis,
) -> Result<(), EngineError> {
    connect_as_stated(tx, from, relation_type, to, None, now)
}

/// States a relation that a turn states, unless it is known.
pub(super) fn connect_as_stated(
    tx: &mut OperationTx<'_, '_>,
    from: Node,
    relation_type: RelationType,
    to: Node,
    evidence: Option<TurnId>,
    now: UtcMillis,
) -> Result<(), EngineError> {
    state(tx, Relation { evidence, ..Relation::new(draw_relation(now)?, from, relation_type, to, now) })
}

/// Records a relation, unless one of its type is known between its ends.
pub(super) fn state(tx: &mut OperationTx<'_, '_>, relation: Relation) -> Result<(), EngineError> {
    let relation = relation.normalised();
    if tx.relation_between(&relation.from, relation.relation_type, &relation.to)?.is_none() {
        check_relation(&relation).map_err(MemoryError::from)?;
        tx.put(&Record::Relation(Box::new(relation)))?;
    }
    Ok(())
}

/// Moves an end of a relation to another entity. One that would lead to itself, or is known there, is removed.
pub(super) fn move_end(
    tx: &mut OperationTx<'_, '_>,
    relation: Relation,
    from: EntityId,
    into: EntityId,
) -> Result<(), EngineError> {
    let moved = |node: &Node| if *node == Node::Entity(from) { Node::Entity(into) } else { node.clone() };
    let changed = Relation { from: moved(&relation.from), to: moved(&relation.to), ..relation.clone() }.normalised();
    let is_known = tx.relation_between(&changed.from, changed.relation_type, &changed.to)?.is_some();
    if is_known || changed.from == changed.to {
        tx.remove(Subject::Relation(relation.id))?;
    } else {
        tx.put(&Record::Relation(Box::new(changed)))?;
    }
    Ok(())
}

/// Closes an open memory that holds, unless it is a person's, or pinned, and somebody else says so. Returns whether it did.
pub(super) fn close(tx: &mut OperationTx<'_, '_>, id: MemoryId, actor: Actor, now: UtcMillis) -> Result<bool, EngineError> {
    let may_close = |memory: &Memory| actor == Actor::Person || memory.lane == Lane::Extracted && !memory.is_pinned;
    let Some(open) = tx.memory(id)?.filter(|memory| memory.status == Status::Holds && memory.is_open() && may_close(memory))
    else {
        return Ok(false);
    };
    let closed = Memory { fields: Fields::Open { is_closed: true }, changed: now, ..open };
    tx.put(&Record::Memory(Box::new(closed)))?;
    Ok(true)
}
