//! The full-text index and the vector indexes, which find candidate rows for a query. All of them may be deleted at any time and
//! are rebuilt from the store.

mod filter;
mod hit;
mod lexical;
mod names;
mod semantic;
mod tantivy_tokenizer;
pub(crate) mod vector;

pub use filter::CompiledFilter;
pub(crate) use filter::{Evaluator, NO_TIME, numbers};
pub(crate) use hit::{Address, ItemHit};
pub use lexical::{CollectionCounts, IndexError, SyncReport};
pub(crate) use lexical::{LexicalIndex, LexicalState, SearchOptions};
pub(crate) use names::NameGraph;
pub(crate) use semantic::{MOST_PENDING_VECTORS, SemanticIndex};
