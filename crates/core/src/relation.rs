//! Relations: typed, directed edges between memories, entities, turns, sessions, files and contexts.
//!
//! Each pair of inverse types is one [`RelationType`], and one edge is stored for both: read from its other end it
//! has the name of the inverse. [`RelationType::read`] knows the names of all designs.

use serde::{Deserialize, Serialize};

use crate::conflict::{ChangeGrade, ConflictKind};
use crate::id::{EntityId, EpisodeId, MemoryId, RelationId, TurnId};
use crate::memory::Confidence;
use crate::time::UtcMillis;

named_enum! {
    /// The category of a type.
    Category {
        /// Something in common.
        Association = "association",
        /// One takes the place of another.
        Versioning = "versioning",
        /// One makes the other so.
        Causal = "causal",
        /// A part, a kind, a case.
        Hierarchical = "hierarchical",
        /// One is before the other.
        Temporal = "temporal",
        /// One speaks for or against the other.
        Epistemic = "epistemic",
        /// Where something comes from.
        Provenance = "provenance",
    }
}

/// Declares the registry: name and inverse, category, other names of both.
macro_rules! relation_types {
    ($($(#[$doc:meta])* $variant:ident = $name:literal / $inverse:literal, $category:ident, [$($alias:literal),*], [$($back:literal),*];)+) => {
        named_enum! {
            /// A type of relations.
            #[derive(Default)]
            RelationType {
                $($(#[$doc])* $variant = $name),+
            }
        }

        impl RelationType {
            /// Returns the name of the relation read from its other end.
            pub const fn inverse(self) -> &'static str {
                match self { $(Self::$variant => $inverse),+ }
            }

            /// Returns the category.
            pub const fn category(self) -> Category {
                match self { $(Self::$variant => Category::$category),+ }
            }

            /// Returns other names, and other names of the inverse.
            pub const fn aliases(self) -> (&'static [&'static str], &'static [&'static str]) {
                match self { $(Self::$variant => (&[$($alias),*], &[$($back),*])),+ }
            }
        }
    };
}

relation_types! {
    /// They have something to do with each other.
    #[default]
    RelatesTo = "relates_to" / "relates_to", Association, ["related_to", "explicit"], [];
    /// They say nearly the same.
    SimilarTo = "similar_to" / "similar_to", Association, ["semantic"], [];
    /// They are used together.
    CoAccessed = "co_accessed" / "co_accessed", Association, ["co-accessed"], [];
    /// They cannot both hold.
    Contradicts = "contradicts" / "contradicts", Epistemic, [], [];
    /// The first takes the place of the second.
    Supersedes = "supersedes" / "superseded_by", Versioning, ["replaces"], ["replaced_by"];
    /// The first shows that the second is wrong.
    Invalidates = "invalidates" / "invalidated_by", Versioning, [], [];
    /// The first became the second.
    EvolvedInto = "evolved_into" / "evolved_from", Versioning, [], [];
    /// The first adds to the second, or makes it more exact.
    BuildsOn = "builds_on" / "extended_by", Versioning, ["refines"], ["refined_by"];
    /// The first holds only as the second says.
    Qualifies = "qualifies" / "qualified_by", Epistemic, [], [];
    /// The first speaks for the second.
    Supports = "supports" / "supported_by", Epistemic, [], [];
    /// The first answers the second.
    Answers = "answers" / "answered_by", Epistemic, [], [];
    /// The first solves the second.
    Solves = "solves" / "solved_by", Causal, [], [];
    /// The first leads to the second.
    LeadsTo = "leads_to" / "results_from", Causal, [], [];
    /// The first is caused by the second.
    CausedBy = "caused_by" / "causes", Causal, [], [];
    /// The first needs the second.
    DependsOn = "depends_on" / "required_by", Causal, ["requires"], ["enables"];
    /// The first serves the goal that the second is.
    GoalSupports = "goal_supports" / "supported_by_goal", Causal, [], [];
    /// The first was before the second.
    OccurredBefore = "occurred_before" / "occurred_after", Temporal, ["followed_by"], ["preceded_by"];
    /// The first is a part of the second.
    PartOf = "part_of" / "contains", Hierarchical, [], [];
    /// The first is a kind of the second.
    IsA = "is_a" / "has_kind", Hierarchical, [], [];
    /// The first is a case of the second.
    InstanceOf = "instance_of" / "has_instance", Hierarchical, [], [];
    /// The first puts the second into practice.
    Implements = "implements" / "implemented_by", Hierarchical, [], [];
    /// The first is an example of the second.
    Exemplifies = "exemplifies" / "exemplified_by", Hierarchical, [], [];
    /// The first is liked better than the second.
    PrefersOver = "prefers_over" / "less_preferred_than", Epistemic, [], [];
    /// The first was made from the second.
    DerivedFrom = "derived_from" / "source_of", Provenance, [], [];
    /// The first was extracted from the second.
    ExtractedFrom = "extracted_from" / "extracted_into", Provenance, [], [];
    /// The first was learned from the second.
    LearnedFrom = "learned_from" / "taught", Provenance, [], [];
    /// The first was applied in the second.
    AppliedIn = "applied_in" / "uses", Provenance, [], [];
    /// The first names the second.
    Mentions = "mentions" / "mentioned_in", Association, [], [];
    /// The first is about the second.
    About = "about" / "subject_of", Association, [], [];
}

impl RelationType {
    /// Returns whether both ends are alike.
    pub fn is_symmetric(self) -> bool {
        self.inverse() == self.as_str()
    }

    /// Reads a name of any design, ignoring case. Returns the type, and true if the name is that of the inverse:
    /// then the ends are to be exchanged.
    ///
    /// ```
    /// use yore_core::relation::RelationType;
    /// assert_eq!(RelationType::read("REPLACES"), Some((RelationType::Supersedes, false)));
    /// assert_eq!(RelationType::read("enables"), Some((RelationType::DependsOn, true)));
    /// assert_eq!(RelationType::read("likes"), None);
    /// ```
    pub fn read(name: &str) -> Option<(Self, bool)> {
        let name = name.trim().to_lowercase();
        Self::ALL.iter().find_map(|known| {
            let (aliases, back) = known.aliases();
            match name.as_str() {
                name if name == known.as_str() || aliases.contains(&name) => Some((*known, false)),
                name if name == known.inverse() || back.contains(&name) => Some((*known, true)),
                _ => None,
            }
        })
    }

    /// Returns the name as it is read from one end.
    pub fn name_from(self, is_reversed: bool) -> &'static str {
        if is_reversed { self.inverse() } else { self.as_str() }
    }
}

named_enum! {
    /// How a relation came to be.
    #[derive(Default)]
    Origin {
        /// A person or an agent stated it, or a text does.
        #[default]
        Explicit = "explicit",
        /// Found by similarity, shared names or common use.
        Implicit = "implicit",
    }
}

/// An end of a relation.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// A memory.
    Memory(MemoryId),
    /// An entity.
    Entity(EntityId),
    /// A turn.
    Turn(TurnId),
    /// A session.
    Session(EpisodeId),
    /// A file, by its path as it is written in the text.
    Path(String),
    /// A context: a note with a topic.
    Context(EpisodeId),
}

impl Node {
    /// Returns the name of its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::Entity(_) => "entity",
            Self::Turn(_) => "turn",
            Self::Session(_) => "session",
            Self::Path(_) => "file",
            Self::Context(_) => "context",
        }
    }

    /// Returns the bytes that identify it among those of its kind.
    pub fn key(&self) -> &[u8] {
        match self {
            Self::Memory(id) => id.as_bytes(),
            Self::Entity(id) => id.as_bytes(),
            Self::Turn(id) => id.as_bytes(),
            Self::Session(id) | Self::Context(id) => id.as_bytes(),
            Self::Path(path) => path.as_bytes(),
        }
    }

    /// Returns the node with a kind and bytes; `None` if there is none such.
    pub fn of(kind: &str, key: &[u8]) -> Option<Self> {
        let id = || <[u8; 16]>::try_from(key).ok();
        match kind {
            "memory" => id().map(MemoryId::from_bytes).map(Self::Memory),
            "entity" => id().map(EntityId::from_bytes).map(Self::Entity),
            "turn" => id().map(TurnId::from_bytes).map(Self::Turn),
            "session" => id().map(EpisodeId::from_bytes).map(Self::Session),
            "context" => id().map(EpisodeId::from_bytes).map(Self::Context),
            "file" => std::str::from_utf8(key).ok().map(|path| Self::Path(path.to_owned())),
            _ => None,
        }
    }
}

/// A relation. How often it was followed is counted beside it and is no part of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Relation {
    /// Its id.
    pub id: RelationId,
    /// Its first end.
    pub from: Node,
    /// Its second end.
    pub to: Node,
    /// Its type. There is one relation of a type from one node to another.
    #[serde(rename = "type")]
    pub relation_type: RelationType,
    /// How much it weighs, 0 to 1.
    pub weight: f32,
    /// How sure it is.
    pub confidence: Confidence,
    /// How it came to be.
    pub origin: Origin,
    /// Since when it is true; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<UtcMillis>,
    /// Until when it was true (exclusive); `None`: it still is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<UtcMillis>,
    /// When it was recorded.
    pub recorded: UtcMillis,
    /// The turn that states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<TurnId>,
    /// Why it is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The ground on which yore found it in the words of both memories; `None`: somebody stated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
}

/// The ground on which yore found a relation between two memories.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// They conflict.
    Conflict(ConflictKind),
    /// The later one may change the earlier.
    Change(ChangeGrade),
    /// One holds in its project alone.
    Project,
    /// One holds on a branch until it is merged.
    Branch(String),
    /// One holds under a condition.
    Condition,
}

impl Basis {
    /// Returns the basis that the reason of a relation of before schema 21 states. Only relations that yore found have such reasons.
    pub fn of_reason(relation_type: RelationType, origin: Origin, reason: &str) -> Option<Self> {
        let is_form = |rest: &str| rest.starts_with(" (") || rest.starts_with(": ");
        let is_of = |kind: &ConflictKind| reason.strip_prefix(kind.as_str()).is_some_and(is_form);
        let branch = || reason.strip_prefix("on branch ")?.strip_suffix(" until it is merged");
        match (relation_type, origin) {
            (RelationType::Contradicts, _) => ConflictKind::ALL.iter().copied().find(is_of).map(Self::Conflict),
            (RelationType::Qualifies, Origin::Implicit) if reason == "in its project" => Some(Self::Project),
            (RelationType::Qualifies, Origin::Implicit) => {
                Some(branch().map_or(Self::Condition, |branch| Self::Branch(branch.to_owned())))
            }
            _ => None,
        }
    }
}

impl Relation {
    /// Makes a relation that somebody stated.
    pub fn new(id: RelationId, from: Node, relation_type: RelationType, to: Node, now: UtcMillis) -> Self {
        Self {
            id,
            from,
            to,
            relation_type,
            weight: 0.5,
            confidence: Confidence::Verified,
            origin: Origin::Explicit,
            valid_from: None,
            valid_until: None,
            recorded: now,
            evidence: None,
            reason: None,
            basis: None,
        }
    }

    /// Returns it with the basis that only its reason states, if it is one of before schema 21.
    pub fn with_read_basis(mut self) -> Self {
        let read = || Basis::of_reason(self.relation_type, self.origin, self.reason.as_deref()?);
        self.basis = self.basis.take().or_else(read);
        self
    }

    /// Returns the memory that contradicts `id` by this relation; `None` if it is no contradiction of two memories.
    pub fn contradicting(&self, id: MemoryId) -> Option<MemoryId> {
        match (self.relation_type, &self.from, &self.to) {
            (RelationType::Contradicts, Node::Memory(a), Node::Memory(b)) => Some(if *a == id { *b } else { *a }),
            _ => None,
        }
    }

    /// Puts the ends of a symmetric relation in one order, so that it is stored once.
    pub fn normalised(mut self) -> Self {
        if self.relation_type.is_symmetric() && self.to < self.from {
            std::mem::swap(&mut self.from, &mut self.to);
        }
        self
    }
}

/// A reason why a relation cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRelation {
    /// Both ends are the same.
    #[error("nothing is related to itself")]
    Loop,
    /// The weight is no share.
    #[error("a weight is a number from 0 to 1")]
    OutOfRange,
    /// Its validity ends before it begins.
    #[error("it cannot be valid until a time before it is valid")]
    Reversed,
    /// A path or a reason is too long.
    #[error("a path or a reason is longer than 4,096 characters")]
    TooLong,
}

/// Checks a relation for storing.
///
/// # Errors
/// The first [`InvalidRelation`] that applies.
pub fn check_relation(relation: &Relation) -> Result<(), InvalidRelation> {
    let is_long = |node: &Node| matches!(node, Node::Path(path) if path.len() > 4_096);
    match () {
        () if relation.from == relation.to => Err(InvalidRelation::Loop),
        () if !(0.0..=1.0).contains(&relation.weight) => Err(InvalidRelation::OutOfRange),
        () if relation.valid_from.zip(relation.valid_until).is_some_and(|(from, until)| until < from) => {
            Err(InvalidRelation::Reversed)
        }
        () if is_long(&relation.from)
            || is_long(&relation.to)
            || relation.reason.as_ref().is_some_and(|text| text.len() > 4_096) =>
        {
            Err(InvalidRelation::TooLong)
        }
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_one_relation_and_the_inverse_of_the_inverse_is_the_type() {
        let mut names = HashSet::new();
        for known in RelationType::ALL {
            let (aliases, back) = known.aliases();
            let own = [known.as_str()].into_iter().chain(aliases.iter().copied());
            let inverse = Some(known.inverse()).filter(|_| !known.is_symmetric()).into_iter().chain(back.iter().copied());
            for (name, is_reversed) in own.map(|name| (name, false)).chain(inverse.map(|name| (name, true))) {
                assert!(names.insert(name), "{name} has two meanings");
                assert_eq!(RelationType::read(name), Some((*known, is_reversed)), "{name}");
            }
            assert!(!known.is_symmetric() || back.is_empty(), "{known:?}");
            assert_eq!(known.name_from(false), known.as_str());
            let (back, is_reversed) = RelationType::read(known.name_from(true)).unwrap();
            assert_eq!(back.name_from(!is_reversed || known.is_symmetric()), known.as_str());
        }
    }

    #[test]
    fn types_of_every_design_are_known() {
        let chunks = "RELATES_TO SIMILAR_TO LEADS_TO DERIVED_FROM SOLVES SUPERSEDES OCCURRED_BEFORE EVOLVED_INTO CONTRADICTS
            INVALIDATED_BY PREFERS_OVER PART_OF DEPENDS_ON IMPLEMENTS EXEMPLIFIES";
        let chunks_inverse = "SUPERSEDED_BY CONTAINS SOLVED_BY OCCURRED_AFTER INVALIDATES LESS_PREFERRED_THAN REQUIRED_BY
            IMPLEMENTED_BY EXEMPLIFIED_BY EVOLVED_FROM";
        let nodes =
            "supports contradicts builds_on replaces requires related_to supersedes superseded_by enables depends_on caused_by
            is_a part_of instance_of preceded_by followed_by qualifies refines learned_from applied_in goal_supports";
        let nodes_inverse =
            "supported_by extended_by replaced_by causes has_instance contains qualified_by taught uses supported_by_goal";
        let others = "explicit semantic co-accessed supersedes builds_on contradicts answers relates_to MENTIONS EXTRACTED_FROM
            INVALIDATES ABOUT";
        assert_eq!(chunks.split_whitespace().count(), 15);
        for name in [chunks, chunks_inverse, nodes, nodes_inverse, others].iter().flat_map(|names| names.split_whitespace()) {
            assert!(RelationType::read(name).is_some(), "{name}");
        }
        let symmetric: Vec<&str> =
            RelationType::ALL.iter().filter(|known| known.is_symmetric()).map(|known| known.as_str()).collect();
        assert_eq!(symmetric, ["relates_to", "similar_to", "co_accessed", "contradicts"]);
    }

    #[test]
    fn a_node_is_known_by_kind_and_key() {
        let turn = TurnId::from_bytes([3; 16]);
        for node in [Node::Turn(turn), Node::Entity(EntityId::USER), Node::Path("src/leases.rs".to_owned())] {
            assert_eq!(Node::of(node.kind(), node.key()), Some(node));
        }
        assert_eq!(Node::of("memory", b"short"), None);
        assert_eq!(Node::of("boat", &[0; 16]), None);
    }

    #[test]
    fn ends_of_a_symmetric_relation_have_one_order() {
        let node = |byte| Node::Memory(MemoryId::from_bytes([byte; 16]));
        let of = |relation_type, from, to| {
            Relation::new(RelationId::from_bytes([0; 16]), node(from), relation_type, node(to), 1).normalised()
        };
        assert_eq!(of(RelationType::Contradicts, 2, 1), of(RelationType::Contradicts, 1, 2));
        assert_ne!(of(RelationType::Supersedes, 2, 1), of(RelationType::Supersedes, 1, 2));
        assert_eq!(check_relation(&of(RelationType::Supersedes, 2, 2)), Err(InvalidRelation::Loop));
        assert_eq!(check_relation(&of(RelationType::Supersedes, 2, 1)), Ok(()));
    }
}
