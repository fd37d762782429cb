//! What was given to a session, and what it cost: one file for each session below the data
//! directory, ids and numbers only.
//!
//! - [`Entry`]: one answer of a hook or a tool
//! - [`append`], [`read`], [`lock`]: of one session
//! - [`clear_old`]: sessions end, their ledgers go
//!
//! A line is written in one piece, and a torn one is passed over. There is no database: a hook has no
//! time for one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;
use yore_engine::platform;

/// The folder in the data directory.
const FOLDER: &str = "given";
/// As much of a ledger is read; no session is given more.
const LONGEST: u64 = 4 << 20;
/// How long another hook of the same session is waited for.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// A ledger that nobody added to for this long is of an ended session.
const KEPT: Duration = Duration::from_secs(60 * 24 * 3600);

/// What was given at once.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Entry {
    /// When.
    pub at_ms: UtcMillis,
    /// The agent, such as `claude-code`.
    pub agent: String,
    /// The event, such as `UserPromptSubmit`; `recall` and the like for tools.
    pub event: String,
    /// Ids of the turns, as [`yore_core::id::TurnId`] writes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<String>,
    /// Tokens that it took, estimated.
    pub tokens: usize,
    /// How long it took.
    pub micros: u64,
    /// Why nothing was given, where something could have been.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<String>,
    /// The directory that the session works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// What it was given for, as a [`digest`]: the same is not answered twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The session forgot what it was given before: it was compacted or cleared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_reset: bool,
}

/// A few characters that tell two texts of a session apart. Too few to confirm a guess by.
pub fn digest(text: &str) -> String {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in text.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    format!("{hash:08x}")
}

/// Keeps other hooks of a session waiting until it is dropped, so that two that were called for one
/// event (a plugin's and a setting's) do not both answer. `None` when that takes too long.
pub fn lock(directory: &Path, session: &str) -> Option<File> {
    let path = path(directory, session).with_extension("lock");
    platform::create_private_directory(&directory.join(FOLDER)).ok()?;
    platform::create_private_file(&path).ok()?;
    let file = OpenOptions::new().write(true).open(&path).ok()?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(std::fs::TryLockError::Error(_)) => return None,
        }
    }
    None
}

/// Where the ledger of a session lies.
pub fn path(directory: &Path, session: &str) -> PathBuf {
    // Native ids are anything; the name must be one file, and the same one each time.
    let plain = session.len() <= 64 && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let name = if plain && !session.is_empty() {
        session.to_owned()
    } else {
        format!("~{}", yore_core::id::EpisodeId::derive("given", session))
    };
    directory.join(FOLDER).join(format!("{name}.jsonl"))
}

/// Adds to a session's ledger.
pub fn append(directory: &Path, session: &str, entry: &Entry) -> io::Result<()> {
    let path = path(directory, session);
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    if !path.exists() {
        platform::create_private_directory(&directory.join(FOLDER))?;
        platform::create_private_file(&path)?;
    }
    OpenOptions::new().append(true).open(&path)?.write_all(&line)
}

/// What a session was given so far, oldest first; nothing where there is no ledger.
pub fn read(directory: &Path, session: &str) -> Vec<Entry> {
    let mut content = Vec::new();
    let Ok(file) = File::open(path(directory, session)) else { return Vec::new() };
    if file.take(LONGEST).read_to_end(&mut content).is_err() {
        return Vec::new();
    }
    content.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Removes the ledgers of sessions that ended long ago.
pub fn clear_old(directory: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(directory.join(FOLDER)) else { return };
    for entry in entries.flatten() {
        let modified = entry.metadata().and_then(|meta| meta.modified()).ok();
        if modified.and_then(|time| now.duration_since(time).ok()).is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_read_back_in_order_and_torn_lines_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let entry = |tokens| Entry { tokens, turns: vec!["t".to_owned()], ..Entry::default() };
        assert_eq!(read(directory.path(), "s"), []);
        append(directory.path(), "s", &entry(1)).unwrap();
        OpenOptions::new().append(true).open(path(directory.path(), "s")).unwrap().write_all(b"{\"tok\n").unwrap();
        append(directory.path(), "s", &entry(2)).unwrap();
        assert_eq!(read(directory.path(), "s"), [entry(1), entry(2)]);
        assert_eq!(read(directory.path(), "other"), []);
    }

    #[test]
    fn any_session_id_is_one_file_below_the_folder() {
        let directory = Path::new("/data");
        for id in ["", "..", "../../etc/passwd", "a/b", "C:\\x", "é", &"x".repeat(500)] {
            let path = path(directory, id);
            assert_eq!(path.parent().unwrap(), directory.join("given"), "{id}");
            assert!(path.file_name().unwrap().len() < 80);
        }
        assert_ne!(path(directory, "a/b"), path(directory, "a/c"));
        assert!(path(directory, "0f3c-12").ends_with("0f3c-12.jsonl"));
    }

    #[test]
    fn old_ledgers_go() {
        let directory = tempfile::tempdir().unwrap();
        append(directory.path(), "s", &Entry::default()).unwrap();
        clear_old(directory.path(), SystemTime::now());
        assert_eq!(read(directory.path(), "s").len(), 1);
        clear_old(directory.path(), SystemTime::now() + KEPT + Duration::from_secs(60));
        assert_eq!(read(directory.path(), "s"), []);
    }
}
