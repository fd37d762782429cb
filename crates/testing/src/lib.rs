//! Helpers that the tests of several crates share.
//!
//! - [`Memory`]: a temporary data directory with an opened engine, and folders to read from
//! - [`TurnOf`]: the turn of a hit
//! - [`SessionBuilder`]: Claude Code sessions of any length, the same for the same seed
//! - [`Scan`]: every byte in a data directory, compressed or not
//! - [`write_tiny_embedder`], [`write_failing_embedder`], [`write_tiny_reranker`]: models with random
//!   weights, as real files
//! - [`Random`]: a small seeded generator
//! - [`Faults`]: programs run on a file system that fails
//! - [`Script`], [`Recorder`], [`Recording`]: answers to HTTP requests without a network
//! - [`fixture`]: files that are committed beside this crate
//!
//! Nothing here is part of yore. A helper that fails panics: it fails the test that called it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper that fails must fail the test")]

mod bytes;
mod exchange;
mod faults;
mod loopback;
mod memory;
mod model;
mod random;
mod session;
mod state;

use std::path::PathBuf;

pub use bytes::Scan;
pub use exchange::{Recorder, Recording, Script};
pub use faults::{Fault, Faults};
pub use loopback::{listening, listening_at_once, listening_raw, request, write_answer};
pub use memory::{Memory, TurnOf};
pub use model::{
    TINY_DIMENSIONS, describe_model, tiny_embedder_bytes, write_failing_embedder, write_tiny_embedder, write_tiny_reranker,
};
pub use random::Random;
pub use session::SessionBuilder;

/// Returns the path of a committed fixture.
pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// Returns whether snapshots are rewritten instead of compared.
pub fn is_blessing() -> bool {
    std::env::var_os("YORE_BLESS").is_some_and(|value| value == "1")
}
