//! Changes memories, entities and relations, by logged operations only.
//!
//! - `alike`: entities that may be one thing
//! - `conflicts`: memories that cannot both hold, listed and settled; `contest` finds them
//! - `contexts`: relations of contexts, which are notes with a topic
//! - `consolidate`: what is new becomes memories, in phases; `comparable` and `near`: as it is compared with what is known
//! - `judged`: what a model decided about memories near each other
//! - `given`: records from files of other programs
//! - `likeness`: likeness in meaning of short texts
//! - `merged`: facts of branches that were merged
//! - `record`: memories are recorded, corrected, confirmed, rejected, pinned, tagged, put away
//! - `entities`: entities are recorded, merged, split; relations are stated, taken back, followed
//! - `history`: operations are listed, undone and done again
//! - `named`: memories, notes, turns and entities by the ids and names that callers give
//! - `portable`: written and read again as lines of JSON
//! - `scope`: where a statement holds: everywhere, in a project, on a branch, under a condition
//! - `settle`: what settles itself: another value of what has one value at a time
//! - `shown`: memories as they are shown: opened, listed, with their relations
//! - `step`: steps that several operations share
//! - `taken_back`: memories of what the person took back are put away
//! - `touches`: known memories that a recorded one touches
//! - `write`: the only place that changes the status of a memory
//!
//! Each method that changes something is one operation with its cause, in one transaction
//! (`store/operations.rs`). Text is redacted before it is stored.

mod alike;
mod comparable;
mod conflicts;
mod consolidate;
mod contest;
mod contexts;
mod entities;
mod given;
mod history;
mod judged;
mod likeness;
mod merged;
mod named;
mod near;
mod portable;
mod record;
mod settle;
mod shown;
mod special_cases;
mod step;
mod taken_back;
mod touches;
mod write;

pub use self::alike::AlikeEntities;
pub use self::conflicts::{ConflictPlace, OpenConflict, Settlement};
pub use self::consolidate::Extracted;
pub(crate) use self::consolidate::{Consolidated, Extraction, Fate};
pub use self::entities::{OpenedEntity, Reached, Traversal};
pub use self::given::{GivenEntity, GivenRecords, GivenRelation};
pub use self::judged::Judged;
pub(crate) use self::judged::{CarriedOut, Judgement};
pub(crate) use self::named::FEWEST_DIGITS;
pub use self::portable::{Exported, Imported};
pub(crate) use self::record::FORGET;
pub use self::record::{Done, GivenEvidence, MemoryEdit, NewMemory};
pub use self::shown::{MemoryList, NamedRelation, OpenedMemory, StoredMemory};
pub(crate) use self::special_cases::TRUNKS;
pub use self::touches::Touched;
