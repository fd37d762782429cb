//! Finds the known memories that a recorded one touches, with a verdict on each, for the person or agent who recorded it to settle.

use serde::{Deserialize, Serialize};
use yore_core::conflict::{ChangeGrade, Repetition, Statement, Touch};
use yore_core::id::MemoryId;
use yore_core::memory::{Memory, MemoryKind};
use yore_core::relation::{Basis, Node, RelationType};
use yore_core::text::Tokenizer;
use yore_core::time::UtcMillis;

use crate::Engine;
use crate::embed::TextLikeness;
use crate::error::{EngineError, MemoryError};
use crate::store::Relations;

/// Most memories that are named, and most relations of a memory that are read.
const MOST: usize = 3;
const MOST_RELATIONS: usize = 100;
/// Likeness in meaning from which a memory is one that another touches, although nothing else relates them.
const TOUCHES: f32 = 0.2;

/// A known memory that a recorded one touches.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Touched {
    /// Its id.
    pub id: MemoryId,
    /// Its kind.
    pub kind: MemoryKind,
    /// Its statement.
    pub statement: String,
    /// When it was recorded.
    pub recorded: UtcMillis,
    /// How the recorded one stands to it.
    pub touch: Touch,
}

impl Engine {
    /// Returns the known memories that a recorded one touches, at most three: what it changed first.
    ///
    /// # Errors
    /// [`MemoryError::Unknown`].
    pub fn touches(&self, id: MemoryId) -> Result<Vec<Touched>, EngineError> {
        let memory = self.store().memory(id)?.ok_or_else(|| MemoryError::Unknown(id.short()))?;
        let mut found: Vec<(Touch, f32, Memory)> = Vec::new();
        for relation in self.store().relations(Relations::Of(&Node::Memory(id), MOST_RELATIONS))? {
            let (Node::Memory(from), Node::Memory(to)) = (&relation.from, &relation.to) else { continue };
            let touch = match (relation.relation_type, &relation.basis) {
                (RelationType::Supersedes, _) if *from == id => Touch::Replaced,
                (RelationType::Contradicts, Some(Basis::Change(ChangeGrade::Likely))) => Touch::LikelyChanges,
                (RelationType::Contradicts, Some(Basis::Change(ChangeGrade::Possible))) => Touch::MayChange,
                (RelationType::Contradicts, _) => Touch::Contradicts,
                _ => continue,
            };
            let other = self.store().memory(if *from == id { *to } else { *from })?;
            let is_listed = |other: &Memory| touch == Touch::Replaced || other.is_in_effect();
            found.extend(other.filter(is_listed).map(|other| (touch, relation.weight, other)));
        }
        let (likeness, mut tokenizer) = (TextLikeness::default(), Tokenizer::default());
        let statement = Statement::of(&memory.statement, &mut tokenizer);
        for near in self.near(&memory)? {
            let is_other = near.id != id && near.is_in_effect() && found.iter().all(|(.., known)| known.id != near.id);
            let alike = likeness.of(&near.statement, &memory.statement);
            if !is_other || alike < TOUCHES {
                continue;
            }
            let repeats = Repetition::of(&Statement::of(&near.statement, &mut tokenizer), &statement).is_some();
            found.push((if repeats { Touch::Same } else { Touch::Beside }, alike, (*near).clone()));
        }
        found.sort_by(|(one, a, _), (other, b, _)| one.cmp(other).then(b.total_cmp(a)));
        found.truncate(MOST);
        let touched = |(touch, _, other): (Touch, f32, Memory)| Touched {
            id: other.id,
            kind: other.kind,
            statement: other.statement,
            recorded: other.recorded,
            touch,
        };
        Ok(found.into_iter().map(touched).collect())
    }
}
