//! Changes memories, entities and relations, by logged operations only.
//!
//! - `similar_entities`: finds entities that may be duplicates
//! - `comparable`: holds what is compared of a memory; `near`: finds the known memories that a new one may repeat or contradict
//! - `open_conflicts`: lists contradictions, and resolves one as a person decides
//! - `consolidate`: records the findings of extractors, or merges them into known memories
//! - `detect_conflicts`: detects contradictions, and records them as relations
//! - `contexts`: relates contexts, which are notes with a topic
//! - `entities`: records, merges and splits entities; states, removes and follows relations
//! - `held`: lists what was held on a day
//! - `import_files`: imports records from files of other programs
//! - `history`: lists operations, undoes and redoes them
//! - `model_decisions`: checks and carries out what a model decided about similar memories
//! - `merge_duplicates`: merges memories that say the same
//! - `merged_branches`: promotes the facts of merged branches
//! - `named`: resolves the ids and names that callers give
//! - `export_jsonl`: exports to JSON lines, and imports them
//! - `record`: records, edits, confirms, rejects, pins, tags and archives memories
//! - `retire_or_contest`: resolves a contradiction if it is certain which statement is newer
//! - `shared`: takes what colleagues share in a project's repository
//! - `shown`: reads memories for display
//! - `special_cases`: handles statements that hold only in a project, on a branch or under a condition
//! - `step`: steps that several operations share
//! - `withdrawn_turns`: archives memories that rest only on turns that the person took back
//! - `touches`: finds the known memories that a recorded one touches
//! - `status_changes`: stores status changes that `Memory::after` decides
//!
//! Each method that changes something is one operation with its cause, in one transaction
//! (`store/operations.rs`). Text is redacted before it is stored.

mod comparable;
mod consolidate;
mod contexts;
mod detect_conflicts;
mod entities;
mod export_jsonl;
mod held;
mod history;
mod import_files;
mod merge_duplicates;
mod merged_branches;
mod model_decisions;
mod named;
mod near;
mod open_conflicts;
mod record;
mod retire_or_contest;
mod shared;
mod shown;
mod similar_entities;
mod special_cases;
mod standing;
mod status_changes;
mod step;
mod touches;
mod withdrawn_turns;

pub use self::consolidate::Extracted;
pub(crate) use self::consolidate::{Consolidated, Extraction, Fate};
pub(crate) use self::entities::NamedEntity;
pub use self::entities::{OpenedEntity, Reached, Traversal};
pub use self::export_jsonl::{Exported, Imported};
pub use self::held::{Held, HeldMemory, HeldRequest};
pub use self::import_files::{GivenEntity, GivenRecords, GivenRelation};
pub use self::merge_duplicates::MergedDuplicates;
pub use self::model_decisions::Judged;
pub(crate) use self::model_decisions::{CarriedOut, Judgement};
pub(crate) use self::named::FEWEST_DIGITS;
pub use self::open_conflicts::{ConflictPlace, OpenConflict, Settlement};
pub(crate) use self::record::FORGET;
pub use self::record::{Done, GivenEvidence, MemoryEdit, NewMemory};
pub use self::shared::{SharedRecord, SharedRequest, SharedTaken, TAKES_SHARED};
pub use self::shown::{MemoryList, NamedRelation, OpenedMemory, StoredMemory};
pub use self::similar_entities::AlikeEntities;
pub(crate) use self::special_cases::TRUNKS;
pub use self::touches::Touched;
