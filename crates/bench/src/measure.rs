//! CPU time, memory, disk and percentiles, as the kernel counts them.

use std::path::Path;
use std::time::Duration;

/// Returns the CPU time of this process so far, user and system, all threads.
pub fn cpu_time() -> Duration {
    cpu_time::ProcessTime::now().as_duration()
}

/// Returns the CPU time of the child processes that this process has waited for; zero if the system does not
/// report it.
#[cfg(unix)]
pub fn children_cpu_time() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    let span = |time: nix::sys::time::TimeVal| {
        Duration::from_secs(time.tv_sec().max(0) as u64) + Duration::from_micros(time.tv_usec().max(0) as u64)
    };
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(Duration::ZERO, |usage| span(usage.user_time()) + span(usage.system_time()))
}

/// Returns the CPU time of the child processes that this process has waited for; zero if the system does not
/// report it.
#[cfg(not(unix))]
pub fn children_cpu_time() -> Duration {
    Duration::ZERO
}

/// Memory of a process in bytes; zero if the system does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Resident and backed by no file: the memory of the process itself.
    pub anonymous: u64,
    /// Highest resident memory so far, including mapped files.
    pub peak_resident: u64,
}

/// Returns the memory of this process (`None`) or of another.
pub fn memory(process: Option<u32>) -> Memory {
    let path = process.map_or_else(|| "/proc/self/status".to_owned(), |id| format!("/proc/{id}/status"));
    std::fs::read_to_string(path).map_or_else(|_| Memory::default(), |status| memory_of_status(&status))
}

fn memory_of_status(status: &str) -> Memory {
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kilobytes| kilobytes * 1024)
    };
    Memory { anonymous: bytes("RssAnon"), peak_resident: bytes("VmHWM") }
}

/// Returns the bytes of a file, or of everything below a directory.
pub fn disk_bytes(path: &Path) -> u64 {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| disk_bytes(&entry.path())).sum()
        }
        Ok(meta) => meta.len(),
        Err(_) => 0,
    }
}

/// Returns the value that a share of the sorted values does not exceed (nearest rank).
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

/// Returns the cores and model of the processor.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZeroUsize::get);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map(|(_, model)| model.trim());
    format!("{cores} cores, {}, {}", model.unwrap_or("unknown processor"), std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_kernels_words() {
        let status = "Name:\tspeed\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\nRssAnon:\t     512 kB\n";
        assert_eq!(memory_of_status(status), Memory { anonymous: 512 * 1024, peak_resident: 2048 * 1024 });
        assert_eq!(memory_of_status("nothing of the kind"), Memory::default());
    }

    #[test]
    fn percentile_is_a_value_that_was_measured() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!((percentile(&values, 0.5), percentile(&values, 0.95), percentile(&values, 1.0)), (100.0, 190.0, 200.0));
        assert_eq!(percentile(&[7.0], 0.0), 7.0);
        assert!(percentile(&[], 0.5).is_nan());
    }

    #[test]
    fn disk_counts_what_lies_below() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("below")).unwrap();
        std::fs::write(directory.path().join("below/file"), [0; 300]).unwrap();
        std::fs::write(directory.path().join("file"), [0; 12]).unwrap();
        assert_eq!(disk_bytes(directory.path()), 312);
        assert_eq!(disk_bytes(&directory.path().join("nothing")), 0);
    }
}
