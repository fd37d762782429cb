//! The connection between a `yore` process and the daemon of its data directory.
//!
//! - [`client`]: sends requests to the daemon, starts it
//! - [`card`]: the lock and the card of a running daemon in the data directory
//! - [`wire`]: the protocol, one JSON object on a line each way
//! - [`socket`]: the transport

pub mod card;
pub mod client;
pub mod socket;
pub mod wire;
