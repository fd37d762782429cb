//! Measures the CPU time and memory of this process.

use std::time::Duration;

/// CPU time so far, user and system, all threads.
pub fn cpu() -> Duration {
    cpu_time::ProcessTime::now().as_duration()
}

/// Peak resident memory in bytes, if the kernel reports it (Linux).
pub fn peak_memory() -> Option<u64> {
    status_field("VmHWM:")
}

/// Current anonymous resident memory in bytes, if the kernel reports it (Linux).
pub fn anonymous_memory() -> Option<u64> {
    status_field("RssAnon:")
}

fn status_field(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
