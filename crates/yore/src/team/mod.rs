//! Sharing with a team over its server.
//!
//! - [`remote`]: requests to the server; [`error`]: why a synchronization ended
//! - [`outgoing`]: which texts of a project are to be shared from here
//! - [`state`]: what is shared, as it is known without a network
//! - [`sessions`]: shares sessions; [`search`]: searches those of the team
//! - [`sync`]: sends what waits, receives what changed
//!
//! Received texts become part of the memory as files of a repository do ([`crate::shared::refresh`]): hooks and recall work offline,
//! and as fast as without a team.

pub mod error;
pub mod outgoing;
pub mod remote;
pub mod search;
pub mod sessions;
pub mod state;
pub mod sync;

#[cfg(test)]
mod sessions_test;
#[cfg(test)]
mod sync_test;
