//! Who reads what. Every process that ingests holds the lock of one file of its own; a lease names
//! that file, so a lease whose lock can be taken belongs to a process that is dead, however it
//! died, and nobody waits for a timeout.

use std::io;
use std::path::{Path, PathBuf};

use crate::platform::{self, FileLock};

/// Ending of a lock's name.
const SUFFIX: &str = ".lock";

/// Waits until no other process ingests, then keeps others waiting as long as the value is kept.
/// Histories copy each other's messages; read in turn, they are owned by whom they should be.
pub(crate) fn take_turn(directory: &Path, is_cancelled: &dyn Fn() -> bool) -> io::Result<FileLock> {
    let turn = FileLock::open(&directory.join("ingest.turn"))?;
    loop {
        match turn.try_lock() {
            // Where locks do not work the leases of single files must do.
            Ok(true) | Err(_) => return Ok(turn),
            Ok(false) if is_cancelled() => return Err(io::ErrorKind::Interrupted.into()),
            Ok(false) => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    }
}

/// This process's name as a reader, alive as long as the value is.
#[derive(Debug)]
pub(crate) struct Holder {
    name: String,
    directory: PathBuf,
    _lock: FileLock,
}

impl Holder {
    /// Takes a fresh name under `directory` (created if missing) and clears away the locks of the
    /// dead.
    pub(crate) fn new(directory: &Path, random: [u8; 16]) -> io::Result<Self> {
        platform::create_private_directory(directory)?;
        for entry in std::fs::read_dir(directory)?.flatten() {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.ends_with(SUFFIX) && !is_alive(directory, name)) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        // Locked under another name first: nobody may find it unlocked and take us for dead.
        let draft = directory.join(format!("{}.draft", uuid::Uuid::from_bytes(random).simple()));
        let name = format!("{}{SUFFIX}", uuid::Uuid::from_bytes(random).simple());
        let lock = FileLock::take(&draft)?.ok_or(io::ErrorKind::WouldBlock)?;
        std::fs::rename(&draft, directory.join(&name))?;
        Ok(Self { name, directory: directory.to_path_buf(), _lock: lock })
    }

    /// The name to put into a lease.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where the locks lie.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether the process behind a lease still runs.
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
    // Where locks do not work nobody can be told to be dead.
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
