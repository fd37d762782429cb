//! Which histories are read, and how.
//!
//! - `roots`: where they lie
//! - `request`: how they are read, and what may be kept
//! - `waiting`: conversations that were not read, or went on since

mod request;
mod roots;
mod waiting;

pub use self::request::{policy, request};
pub use self::roots::{conversation_roots, default_roots, known_roots};
pub use self::waiting::{Chosen, Waiting, narrow, read_waiting, waiting};
