//! Tests of the server over sockets of this machine, with a store in memory; in `tenants`, on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails must panic")]

mod connections;
mod faults;
mod fuzz;
mod life;
mod refused;
mod stops;
mod store;
mod support;
mod tenants;
mod tls;
