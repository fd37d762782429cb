//! Sets the operating system's limits on the child process, and measures its memory.

use std::io;

#[cfg(target_os = "linux")]
use std::cell::Cell;
#[cfg(target_os = "linux")]
use std::sync::atomic::Ordering;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use crate::limits::Limits;

/// Measures the memory of this process for the interpreter.
///
/// The interpreter compares two public counters with its limit. Its own allocator would fill them at each allocation;
/// here they are filled from the system's figure, at most every few milliseconds, so that the program keeps its
/// allocator. Refusing a single huge value needs no measure, only the limit.
pub(crate) struct Memory {
    /// `/proc/self/statm`, opened before the limits forbid to open anything.
    #[cfg(target_os = "linux")]
    file: Option<std::fs::File>,
    #[cfg(target_os = "linux")]
    last: Cell<Option<Instant>>,
    /// Bytes that the running cell is not charged with.
    #[cfg(target_os = "linux")]
    forgiven: Cell<usize>,
}

/// Share of its memory that a session offers to every cell, so that a cell can free the variables of an earlier one, and
/// because freed memory does not always go back to the system. The limit on address space bounds the sum.
#[cfg(target_os = "linux")]
const ROOM: usize = 5;

#[cfg(target_os = "linux")]
impl Memory {
    /// Measures nothing.
    pub(crate) fn closed() -> Self {
        Self { file: None, last: Cell::new(None), forgiven: Cell::new(0) }
    }

    /// Opens the measure; what the process uses now is not counted from here on.
    pub(crate) fn open() -> Self {
        let memory = Self { file: std::fs::File::open("/proc/self/statm").ok(), ..Self::closed() };
        if let Some(resident) = memory.resident() {
            monty_types::BASELINE_MEMORY.store(resident, Ordering::Relaxed);
        }
        memory
    }

    /// Measures at the start of a cell, which may use `most` bytes.
    pub(crate) fn begin(&self, most: u64) {
        if let Some(resident) = self.resident() {
            let used = resident.saturating_sub(monty_types::BASELINE_MEMORY.load(Ordering::Relaxed));
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            self.forgiven.set(used.saturating_add(most / ROOM).saturating_sub(most));
            self.last.set(None);
            self.look();
        }
    }

    /// Measures, unless it did so just now.
    pub(crate) fn look(&self) {
        if self.last.get().is_none_or(|last| last.elapsed() > Duration::from_millis(4)) {
            self.last.set(Some(Instant::now()));
            if let Some(resident) = self.resident() {
                monty_types::LIVE_MEMORY.store(resident.saturating_sub(self.forgiven.get()), Ordering::Relaxed);
            }
        }
    }

    /// Returns the bytes that are in memory.
    fn resident(&self) -> Option<usize> {
        self.pages().map(|[_, resident]| resident * rustix::param::page_size())
    }

    /// Returns the bytes of address space that are in use.
    fn address_space(&self) -> Option<u64> {
        self.pages().map(|[all, _]| (all * rustix::param::page_size()) as u64)
    }

    /// Returns the pages of address space, and those in memory.
    fn pages(&self) -> Option<[usize; 2]> {
        use std::os::unix::fs::FileExt;
        let mut bytes = [0; 128];
        let got = self.file.as_ref()?.read_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(bytes.get(..got)?).ok()?;
        let mut numbers = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
        Some([numbers.next()?, numbers.next()?])
    }
}

#[cfg(not(target_os = "linux"))]
impl Memory {
    /// Measures nothing.
    pub(crate) fn closed() -> Self {
        Self {}
    }

    /// Measures nothing on this system: the parent looks at the child from outside.
    pub(crate) fn open() -> Self {
        Self {}
    }

    /// Does nothing on this system.
    pub(crate) fn begin(&self, _most: u64) {}

    /// Does nothing on this system.
    pub(crate) fn look(&self) {}

    #[cfg(unix)]
    fn address_space(&self) -> Option<u64> {
        None
    }
}

/// Sets the limits of the operating system on this process; it cannot raise them again.
///
/// # Errors
/// When the system refuses a limit that it knows.
#[cfg(unix)]
pub(crate) fn confine(limits: &Limits, memory: &Memory) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let set = |resource: Resource, most: u64| {
        let least = getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        setrlimit(resource, Rlimit { current: Some(least), maximum: Some(least) })
    };
    set(Resource::Core, 0)?;
    set(Resource::Fsize, 0)?;
    set(Resource::Nofile, 0)?;
    set(Resource::Cpu, limits.cpu_seconds.saturating_mul(60))?;
    // A quarter more than the interpreter is allowed, so that its own limit is the one that is met: after that one
    // the child can go on.
    let most = limits.memory_bytes.saturating_add(limits.memory_bytes / 4);
    #[cfg(target_os = "linux")]
    if let Some(now) = memory.address_space() {
        set(Resource::As, now.saturating_add(most))?;
    }
    // Other systems refuse or ignore this one.
    #[cfg(not(target_os = "linux"))]
    let _ = (set(Resource::Data, most), memory.address_space());
    // Counts all processes and threads of the user, so nothing more can be started. The superuser is exempt.
    let _ = set(Resource::Nproc, 0);
    Ok(())
}

/// Sets nothing on this system: the parent's limits hold.
#[cfg(not(unix))]
pub(crate) fn confine(_limits: &Limits, _memory: &Memory) -> io::Result<()> {
    Ok(())
}

/// Gives this process `seconds` of CPU time from now on.
#[cfg(unix)]
pub(crate) fn renew_cpu(seconds: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use rustix::time::{ClockId, clock_gettime};
    let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
    let maximum = getrlimit(Resource::Cpu).maximum;
    let wanted = used.saturating_add(seconds).saturating_add(1);
    let current = maximum.map_or(wanted, |most| most.min(wanted));
    let _ = setrlimit(Resource::Cpu, Rlimit { current: Some(current), maximum });
}

/// Does nothing on this system.
#[cfg(not(unix))]
pub(crate) fn renew_cpu(_seconds: u64) {}
