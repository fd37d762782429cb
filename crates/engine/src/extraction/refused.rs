//! [`RefusedItem`]: why a part of what an agent or a model found in a conversation was not recorded, or not as it was found.

use serde::{Deserialize, Serialize};
use yore_core::conflict::Aspect;
use yore_core::episode::Caveat;
use yore_core::memory::MemoryKind;

use crate::error::MemoryError;

/// A part that was not recorded, or not as it was found, and why.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum RefusedItem {
    /// There were more items than are read at once.
    #[error("only the first {0} items were read")]
    TooMany(usize),
    /// An item, by its number from 1.
    #[error("item {0}: {1}")]
    Item(usize, ItemProblem),
    /// An item that is recorded and waits for a review.
    #[error("item {0} waits for the person's review: {1}")]
    Waits(usize, Doubt),
    /// A line that the conversation does not have.
    #[error("there is no line {0}")]
    NoLine(u32),
    /// A relation.
    #[error("relation {from} {name} {to}: {why}")]
    Relation {
        /// The start, as it was named.
        from: String,
        /// Its name.
        name: String,
        /// The end, as it was named.
        to: String,
        /// The problem with it.
        why: RelationProblem,
    },
    /// A memory that was to be dropped, by its id.
    #[error("drop {0}: rules made no such memory of the session, or it was confirmed")]
    NotDropped(String),
}

/// The reason why an item was not recorded.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ItemProblem {
    /// It names a line that the conversation does not have.
    #[error("there is no line {0}")]
    NoLine(u32),
    /// Nothing is learned from its line.
    #[error("nothing is learned from line {line}: {}", match why {
        Caveat::TakenBack => "the person took it back",
        Caveat::UnknownAuthor => "nobody knows who wrote it",
    })]
    NothingLearned {
        /// The line.
        line: u32,
        /// The reason.
        why: Caveat,
    },
    /// There is no such kind of memory.
    #[error("there is no kind {0:?}; the kinds are {kinds}", kinds = listed(MemoryKind::ALL, MemoryKind::as_str))]
    UnknownKind(String),
    /// The statement is too long.
    #[error("the statement has {length} characters; at most {most}")]
    TooLong {
        /// Its characters.
        length: usize,
        /// Most characters.
        most: usize,
    },
    /// It has no quote.
    #[error("it has no quote")]
    NoQuote,
    /// Its confidence is out of range.
    #[error("its confidence {confidence} is not between {least} and 1")]
    Confidence {
        /// The confidence.
        confidence: f32,
        /// The least that is recorded.
        least: f32,
    },
    /// There is no such aspect of a subject.
    #[error("there is no aspect {0:?}; the aspects are {aspects}", aspects = listed(Aspect::ALL, Aspect::as_str))]
    UnknownAspect(String),
    /// An order must rest on words of the person.
    #[error("a {} must rest on words of the person", .0.as_str())]
    NotOfPerson(MemoryKind),
    /// The quote of an order is too short.
    #[error("the quote of a {} has at least {least} words", kind.as_str())]
    ShortQuote {
        /// The kind of the item.
        kind: MemoryKind,
        /// Fewest words.
        least: usize,
    },
    /// A person rejected, replaced or forgot the same.
    #[error("a person rejected, replaced, put away or forgot the same")]
    Rejected,
    /// The memory cannot be stored so.
    #[error("{0}")]
    Invalid(String),
}

/// The reason why a memory waits for a review.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The person may not have written the words that it quotes.
    #[error("its quote is of pasted, quoted or long text")]
    NotOwn,
    /// The words that it quotes do not say it.
    #[error("the sentence that it quotes says little of the statement")]
    NotSaid,
}

/// The reason why a relation was not stated.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum RelationProblem {
    /// There is no such relation.
    #[error("there is no such type")]
    UnknownType,
    /// The start is not known.
    #[error("no recorded item and no memory of the session is {0:?}")]
    UnknownStart(String),
    /// The end is not known.
    #[error("there is no {0:?}")]
    UnknownEnd(String),
    /// Both ends are one memory.
    #[error("both ends are the same memory")]
    OneMemory,
    /// It cannot be stored so.
    #[error("{0}")]
    Invalid(String),
}

fn listed<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> String {
    all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ")
}

impl From<&MemoryError> for ItemProblem {
    fn from(error: &MemoryError) -> Self {
        Self::Invalid(error.to_string())
    }
}
