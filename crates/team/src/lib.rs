//! The server of a team, and the messages that its members exchange with it.
//!
//! - [`wire`]: requests and answers, which both sides use
//! - [`secret`]: tokens and invitations
//! - `store`: what a server stores, as a trait; `postgres` stores it in PostgreSQL, `model` in memory, for tests
//! - `words`: numbers of words, by which a search finds turns
//! - `server`: the routes; `serve`: the port, TLS, and the orderly end
//!
//! A shared memory is a text that its hash names ([`wire::name_of`]), the same one that a repository's folder has as a file. The server
//! reads nothing in it. What all texts of a project say together is a function of their set, which each member computes.

pub mod secret;
pub mod wire;

#[cfg(feature = "server")]
pub mod model;
#[cfg(feature = "server")]
pub mod postgres;
#[cfg(feature = "server")]
mod rules;
#[cfg(feature = "server")]
pub mod serve;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod store;
#[cfg(feature = "server")]
mod words;
