//! What a running daemon leaves in the data directory: a lock, so that there is one; a card that
//! says where it is reached.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use yore_engine::platform::{self, FileLock};

use super::socket::Address;

/// The card's name in the data directory.
const CARD: &str = "daemon.json";
/// A card is shorter.
const LONGEST_CARD: u64 = 16 * 1024;

/// Who runs, and where it is reached.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct Card {
    /// Its process.
    pub pid: u32,
    /// Where it listens.
    pub socket: String,
    /// What every request must carry, where anybody on the computer can connect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Where MCP is served over HTTP, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its program's version.
    pub version: String,
    /// What it speaks.
    pub protocol: u32,
    /// When it started, milliseconds since 1970.
    pub started: i64,
}

impl Card {
    /// The card that lies in a data directory; `None` when there is none that can be read.
    pub fn read(directory: &Path) -> Option<Self> {
        let mut content = Vec::new();
        File::open(directory.join(CARD)).ok()?.take(LONGEST_CARD).read_to_end(&mut content).ok()?;
        serde_json::from_slice(&content).ok()
    }

    /// Puts it there in the place of another.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let draft = directory.join(format!("{CARD}.{}.tmp", std::process::id()));
        let _ = std::fs::remove_file(&draft);
        platform::write_new_private_file(&draft, &serde_json::to_vec(self)?)?;
        std::fs::rename(&draft, directory.join(CARD))
    }

    /// Takes it away, if it still is this one.
    pub fn remove(&self, directory: &Path) {
        if Self::read(directory).as_ref() == Some(self) {
            let _ = std::fs::remove_file(directory.join(CARD));
        }
    }

    /// Where it is reached.
    pub fn address(&self) -> Address {
        Address { place: self.socket.clone(), token: self.token.clone() }
    }
}

fn lock_path(directory: &Path) -> PathBuf {
    directory.join("locks").join("daemon")
}

/// Makes this process the daemon as long as the value is kept; `None` when another is.
pub fn take_lock(directory: &Path) -> io::Result<Option<FileLock>> {
    platform::create_private_directory(&directory.join("locks"))?;
    FileLock::take(&lock_path(directory))
}

/// Whether a daemon runs.
pub fn is_running(directory: &Path) -> bool {
    FileLock::open_existing(&lock_path(directory)).is_ok_and(|lock| matches!(lock.try_lock(), Ok(false)))
}

/// Whether the data directory still is the one that a lock was taken in.
pub fn is_still_there(directory: &Path) -> bool {
    lock_path(directory).exists()
}
