//! The lock and the address card of a running daemon (`daemon.json`).

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use yore_engine::platform::{self, FileLock};

use super::socket::Address;

/// Name of the card's file in the data directory.
const CARD: &str = "daemon.json";
/// Most bytes of a card that are read.
const LONGEST_CARD: u64 = 16 * 1024;

/// Looks at a lock that is held before it counts as another daemon's, and the pause between them.
const LOOKS: u32 = 10;
const LOOK: Duration = Duration::from_millis(20);

/// The running daemon and its address.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct Card {
    /// Id of the daemon's process.
    pub pid: u32,
    /// Path or address that the daemon listens on.
    pub socket: String,
    /// Token that every request must carry, if anyone on the computer can connect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Address of MCP over HTTP, if it is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Address of the proxy before language models, without its token, if it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// The data directory. A copy of it has the card too, and no daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Version of the daemon's program.
    pub version: String,
    /// Version of the protocol.
    pub protocol: u32,
    /// Time of the start, in milliseconds since 1970.
    pub started: i64,
}

impl Card {
    /// Reads the card in a data directory; `None` if there is none that can be read, or only that of another directory.
    pub fn read(directory: &Path) -> Option<Self> {
        let mut content = Vec::new();
        File::open(directory.join(CARD)).ok()?.take(LONGEST_CARD).read_to_end(&mut content).ok()?;
        let card: Self = serde_json::from_slice(&content).ok()?;
        let is_of_here = card.directory.as_ref().is_none_or(|of| Some(of) == name_of(directory).as_ref());
        is_of_here.then_some(card)
    }

    /// Writes the card, in place of an older one, with the name of the directory.
    pub fn write(&mut self, directory: &Path) -> io::Result<()> {
        self.directory = name_of(directory);
        let draft = directory.join(format!("{CARD}.{}.tmp", std::process::id()));
        let _ = std::fs::remove_file(&draft);
        platform::write_new_private_file(&draft, &serde_json::to_vec(&*self)?)?;
        std::fs::rename(&draft, directory.join(CARD))
    }

    /// Removes the card, if it is still this one.
    pub fn remove(&self, directory: &Path) {
        if Self::read(directory).as_ref() == Some(self) {
            let _ = std::fs::remove_file(directory.join(CARD));
        }
    }

    /// Returns the address on the card.
    pub fn address(&self) -> Address {
        Address { place: self.socket.clone(), token: self.token.clone() }
    }
}

/// Returns the one name of a directory.
fn name_of(directory: &Path) -> Option<String> {
    std::fs::canonicalize(directory).ok().map(|path| path.to_string_lossy().into_owned())
}

fn lock_path(directory: &Path) -> PathBuf {
    directory.join("locks").join("daemon")
}

/// Makes this process the daemon while the value is kept; `None` if another process is the daemon.
pub fn take_lock(directory: &Path) -> io::Result<Option<FileLock>> {
    platform::create_private_directory(&directory.join("locks"))?;
    for _ in 0..LOOKS {
        // A process that calls `is_running` holds the lock for a moment, too.
        if let Some(lock) = FileLock::take(&lock_path(directory))? {
            return Ok(Some(lock));
        }
        std::thread::sleep(LOOK);
    }
    FileLock::take(&lock_path(directory))
}

/// Returns whether a daemon runs.
pub fn is_running(directory: &Path) -> bool {
    FileLock::open_existing(&lock_path(directory)).is_ok_and(|lock| matches!(lock.try_lock(), Ok(false)))
}

/// Returns whether the data directory is still the one in which the lock was taken.
pub fn is_still_there(directory: &Path) -> bool {
    lock_path(directory).exists()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_daemon_starts_while_others_ask_whether_one_runs() {
        let directory = tempfile::tempdir().unwrap();
        drop(take_lock(directory.path()).unwrap());
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        is_running(directory.path());
                    }
                });
            }
            let refused = (0..100).filter(|_| take_lock(directory.path()).unwrap().is_none()).count();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(refused, 0, "of 100");
        });
        let _held = take_lock(directory.path()).unwrap().unwrap();
        assert!(take_lock(directory.path()).unwrap().is_none(), "a second one");
    }
}
