//! The HTTP server on a local port, independent of what it serves.
//!
//! - [`listener`]: accepts connections
//! - [`guard`]: checks who may send requests, and how many at once
//! - [`token`]: the access token of programs; [`browser`]: links and cookies of browsers
//! - [`problem`]: errors as data
//! - [`probe`]: a request to that port, for `doctor`

pub mod browser;
pub mod guard;
pub mod listener;
pub mod probe;
pub mod problem;
pub mod token;
