//! Leases on files that are being read, owned by living processes through lock files. Every process that ingests holds the lock
//! of a file of its own, and a lease names that file. If that lock can be taken, the owner has exited, however it ended, and no
//! process has to wait for a timeout.

use std::io;
use std::path::{Path, PathBuf};

use crate::platform::{self, FileLock};

/// Suffix of a lock file's name.
const SUFFIX: &str = ".lock";

/// Waits until no other process ingests, then blocks others as long as the returned lock is kept. Histories
/// copy each other's messages; if they are read one after the other, each message gets the right owner.
pub(crate) fn lock_ingestion(directory: &Path, is_cancelled: &dyn Fn() -> bool) -> io::Result<FileLock> {
    let lock = FileLock::open(&directory.join("ingest.turn"))?;
    loop {
        match lock.try_lock() {
            // Where locks do not work, the leases of single files must suffice.
            Ok(true) | Err(_) => return Ok(lock),
            Ok(false) if is_cancelled() => return Err(io::ErrorKind::Interrupted.into()),
            Ok(false) => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    }
}

/// This process's name as a reader. Others consider the process alive as long as this value exists.
#[derive(Debug)]
pub(crate) struct Holder {
    name: String,
    directory: PathBuf,
    _lock: FileLock,
}

impl Holder {
    /// Takes a new name under `directory` (created if missing) and deletes the lock files of processes that
    /// have exited.
    pub(crate) fn new(directory: &Path, random: [u8; 16]) -> io::Result<Self> {
        platform::create_private_directory(directory)?;
        for entry in std::fs::read_dir(directory)?.flatten() {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.ends_with(SUFFIX) && !is_alive(directory, name)) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        // The file is locked under another name first. Otherwise another process could find it unlocked and
        // take us for dead.
        let draft = directory.join(format!("{}.draft", uuid::Uuid::from_bytes(random).simple()));
        let name = format!("{}{SUFFIX}", uuid::Uuid::from_bytes(random).simple());
        let lock = FileLock::take(&draft)?.ok_or(io::ErrorKind::WouldBlock)?;
        std::fs::rename(&draft, directory.join(&name))?;
        Ok(Self { name, directory: directory.to_path_buf(), _lock: lock })
    }

    /// Returns the name to put into a lease.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the directory of the lock files.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns whether the process that owns a lease is still running.
    pub(crate) fn is_alive(&self, name: &str) -> bool {
        name == self.name || is_alive(&self.directory, name)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.directory.join(&self.name));
    }
}

fn is_alive(directory: &Path, name: &str) -> bool {
    let Ok(lock) = FileLock::open_existing(&directory.join(name)) else { return false };
    // Where locks do not work, no process can be found to be dead.
    !matches!(lock.try_lock(), Ok(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_is_alive_until_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let first = Holder::new(directory.path(), [1; 16]).unwrap();
        let second = Holder::new(directory.path(), [2; 16]).unwrap();
        let name = first.name().to_owned();
        assert!(second.is_alive(&name));
        drop(first);
        assert!(!second.is_alive(&name));
    }
}
