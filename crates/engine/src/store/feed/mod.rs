//! The port of the indexes: queues, vectors, and the data of turns and memories that an index holds.

pub(super) mod items;
pub(super) mod queue;
pub(super) mod vectors;
