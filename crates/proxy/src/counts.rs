//! Counts of what passed, what was added and what went wrong.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

/// Counters of a running proxy.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub requests: AtomicU64,
    pub refused: AtomicU64,
    pub passed: AtomicU64,
    pub added: AtomicU64,
    pub late: AtomicU64,
    pub failed: AtomicU64,
    pub unreadable: AtomicU64,
    pub dropped: AtomicU64,
    pub upstream_errors: AtomicU64,
    pub open_streams: AtomicU64,
    pub open_connections: AtomicU64,
}

/// Counts of a proxy at one time, since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// Requests whose head arrived.
    pub requests: u64,
    /// Requests that the proxy answered itself, since they were not meant for it or were too long.
    pub refused: u64,
    /// Requests that an upstream answered, with whatever status.
    pub passed: u64,
    /// Requests that a text was added to.
    pub added: u64,
    /// Requests that went on unchanged since the memory did not answer in time.
    pub late: u64,
    /// Calls of the memory that panicked, and additions that had no place in their request.
    pub failed: u64,
    /// Requests and answers of a known protocol that could not be read.
    pub unreadable: u64,
    /// Exchanges that the memory did not see since they were too long or its queue was full.
    pub dropped: u64,
    /// Requests that their upstream could not be reached for, and answers that broke off.
    pub upstream_errors: u64,
    /// Answers and tunnels that are passing now.
    pub open_streams: u64,
    /// Connections of clients that are open now.
    pub open_connections: u64,
}

impl Counts {
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            requests: self.requests.load(Relaxed),
            refused: self.refused.load(Relaxed),
            passed: self.passed.load(Relaxed),
            added: self.added.load(Relaxed),
            late: self.late.load(Relaxed),
            failed: self.failed.load(Relaxed),
            unreadable: self.unreadable.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            upstream_errors: self.upstream_errors.load(Relaxed),
            open_streams: self.open_streams.load(Relaxed),
            open_connections: self.open_connections.load(Relaxed),
        }
    }
}

/// Adds one to a counter.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// Adds one to a counter as long as it lives.
#[derive(Debug)]
pub(crate) struct Open {
    counts: std::sync::Arc<Counts>,
    which: fn(&Counts) -> &AtomicU64,
}

impl Open {
    pub fn new(counts: std::sync::Arc<Counts>, which: fn(&Counts) -> &AtomicU64) -> Self {
        which(&counts).fetch_add(1, Relaxed);
        Self { counts, which }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        (self.which)(&self.counts).fetch_sub(1, Relaxed);
    }
}
