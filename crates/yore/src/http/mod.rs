//! What is served on a port of this computer, apart from what is said there.
//!
//! - [`listener`]: takes connections
//! - [`guard`]: who may ask, and how much at once
//! - [`token`]: what must be said
//! - [`probe`]: a request at that port, for `doctor`

pub mod guard;
pub mod listener;
pub mod probe;
pub mod token;
