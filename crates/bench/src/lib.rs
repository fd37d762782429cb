//! What the measurements share: the process's own CPU time and memory, as the kernel counts them.

use std::time::Duration;

/// CPU time of this process so far, user and system, all threads.
pub fn cpu_time() -> Duration {
    cpu_time::ProcessTime::now().as_duration()
}
