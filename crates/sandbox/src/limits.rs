//! The limits of one session: time, memory, output, recursion and calls.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Most characters of a cell's error that are given back.
pub(crate) const ERROR_CHARS: usize = 2_000;

/// Time after a cell's own limit that the parent waits for the child to stop the cell, before it ends the child.
pub(crate) const GRACE: Duration = Duration::from_millis(750);

/// Limits of a session. The parent enforces them; the child cannot raise them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Limits {
    /// Wall time of one cell, without the time that the parent takes to answer its calls.
    pub cell: Duration,
    /// CPU time of one cell, in seconds. The system ends a child that used it up; a session gets 60 times as much.
    pub cpu_seconds: u64,
    /// Memory of the child beyond what it needs while idle, variables included, in bytes.
    pub memory_bytes: u64,
    /// Most characters that a cell prints; the rest is counted and dropped.
    pub output_chars: usize,
    /// Most Python calls inside of each other.
    pub recursion: usize,
    /// Most calls of the parent's functions by one cell.
    pub calls: usize,
    /// Wall time for everything that is not a cell: the start, a definition, the value of a variable.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cell: Duration::from_secs(10),
            cpu_seconds: 10,
            memory_bytes: 512 << 20,
            output_chars: 20_000,
            recursion: 500,
            calls: 200,
            answer: Duration::from_secs(10),
        }
    }
}
