//! Tests of the proxy over sockets of this machine: clients and upstreams speak raw bytes, so that every one is seen.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails must panic")]

mod access;
mod answers;
mod faults;
mod memory;
mod protocols;
mod requests;
mod support;
