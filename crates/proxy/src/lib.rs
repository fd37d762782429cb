//! A transparent proxy for the protocols of language models: bytes pass on untouched, and a memory sees them.
//!
//! - [`wire`]: reads requests and answers of each protocol, and adds text to a request without touching its other bytes
//! - [`Conversation`], [`Answer`]: what is read of them
//!
//! The proxy knows nothing of yore's memory. Its caller gives it a `Memory`, which says what to add and is told what went through.

mod conversation;
pub mod wire;

pub use conversation::{Addition, Answer, Conversation, Digest, Message, Part, Place, Protocol, Role, Usage};
