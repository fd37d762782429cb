//! Finds entities that may be duplicates, by the meaning of their names and descriptions. They are named to a person,
//! who merges them: names that are near in meaning are mostly two things (`docs/measurements.md`, "Extraction"), and nothing
//! takes them for one by itself.

use serde::{Deserialize, Serialize};
use yore_core::entity::Entity;
use yore_core::id::EntityId;
use yore_core::vector::dot;

use crate::Engine;
use crate::embed::StaticTable;
use crate::error::EngineError;

/// Most entities that are compared, each with each.
const MOST: usize = 5_000;
/// Cosine of the static vectors from which two are named.
const NEAR: f32 = 0.9;

/// Two entities that may be one thing.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct AlikeEntities {
    /// The one that was recorded first.
    pub older: Entity,
    /// The other one.
    pub newer: Entity,
    /// Cosine of what their names and descriptions mean, at most 1.
    pub nearness: f32,
}

impl Engine {
    /// Returns pairs of entities of one kind that may be one thing, the nearest first, at most `limit`. Names with different numbers are
    /// different things.
    pub fn alike_entities(&self, limit: usize) -> Result<Vec<AlikeEntities>, EngineError> {
        let mut known: Vec<(Entity, Vec<String>, [f32; StaticTable::DIMENSIONS])> = Vec::new();
        for entity in self.entities(MOST)? {
            let words = match &entity.description {
                Some(description) => format!("{}: {description}", entity.name),
                None => entity.name.clone(),
            };
            if let Some(vector) = StaticTable::vector_of(&words).filter(|_| entity.id != EntityId::USER) {
                known.push((entity, numbers(&words), vector));
            }
        }
        let mut alike = Vec::new();
        for (at, (first, numbers, vector)) in known.iter().enumerate() {
            for (second, others, other) in &known[at + 1..] {
                let nearness = dot(vector, other);
                if nearness < NEAR || first.kind != second.kind || numbers != others {
                    continue;
                }
                let is_first = (first.recorded, first.id) <= (second.recorded, second.id);
                let (older, newer) = if is_first { (first, second) } else { (second, first) };
                alike.push(AlikeEntities { older: older.clone(), newer: newer.clone(), nearness: nearness.min(1.0) });
            }
        }
        alike.sort_by(|a, b| {
            b.nearness.total_cmp(&a.nearness).then(a.older.id.cmp(&b.older.id)).then(a.newer.id.cmp(&b.newer.id))
        });
        alike.truncate(limit);
        Ok(alike)
    }
}

/// Returns the numbers in a text, in order.
fn numbers(text: &str) -> Vec<String> {
    let runs = text.split(|letter: char| !letter.is_ascii_digit()).filter(|run| !run.is_empty());
    runs.map(str::to_owned).collect()
}
