//! How another `yore` reaches the daemon of a data directory.
//!
//! - [`client`]: asks it, starts it
//! - [`card`]: the lock and the card that a running daemon leaves in the data directory
//! - [`wire`]: what is said, one JSON object on a line each way
//! - [`socket`]: where it is said

pub mod card;
pub mod client;
pub mod socket;
pub mod wire;
