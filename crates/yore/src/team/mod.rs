//! Sharing with a team over its server.
//!
//! - [`remote`]: requests to the server
//! - [`outgoing`]: which texts of a project are to be shared from here
//! - [`state`]: what is shared, as it is known without a network
//! - [`sync`]: sends what waits, receives what changed
//!
//! Received texts become part of the memory as files of a repository do ([`crate::shared::refresh`]): hooks and recall work offline,
//! and as fast as without a team.

pub mod outgoing;
pub mod remote;
pub mod state;
pub mod sync;

#[cfg(test)]
mod sync_test;
