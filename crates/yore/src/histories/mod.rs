//! The histories to read: where they are, how they are read, and what waits.
//!
//! - `roots`: their locations
//! - `request`: how they are read, and the rules of capture
//! - `waiting`: conversations that were not read, or have changed since

mod request;
mod roots;
mod waiting;

pub use self::request::{forbids_capture, policy, reader_options, request};
pub use self::roots::{conversation_roots, default_roots, known_roots, unreadable_of};
pub use self::waiting::{Chosen, Waiting, narrow, read_latest, read_waiting, waiting};
