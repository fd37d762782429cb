//! Tests of the server of a team, in one binary: each file here is a module of it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails must panic")]

mod conformance;
mod database;
mod http;
mod isolation;
mod nodes;
mod random;
mod sessions;
mod team;
