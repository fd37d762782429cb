//! Tests of the proxy over sockets of this machine: clients and upstreams speak raw bytes, so that every one is seen.

mod access;
mod answers;
mod faults;
mod memory;
mod protocols;
mod requests;
mod support;
