//! The daemon's log: times, codes, counts and paths, never the text of a conversation.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use yore_core::time::format_utc;
use yore_engine::platform;

use crate::engine_handle::now;

/// Approximate size at which a file is rotated.
const MOST_BYTES: u64 = 1 << 20;
/// Number of files kept, including the one being written.
const MOST_FILES: usize = 5;

/// Returns the path of a data directory's log.
pub fn path(directory: &Path) -> PathBuf {
    directory.join("logs").join("daemon.log")
}

/// A log file that is rotated when it has grown too large.
pub struct Log {
    path: PathBuf,
    file: Mutex<Option<(File, u64)>>,
}

impl Log {
    /// Opens the log below a data directory. If that fails, the log discards its lines: a daemon without a
    /// log is better than no daemon.
    pub fn open(directory: &Path) -> Self {
        let path = path(directory);
        let file = append(&path);
        Self { path, file: Mutex::new(file) }
    }

    /// Logs something that was done.
    pub fn info(&self, text: impl AsRef<str>) {
        self.line("info", text.as_ref());
    }

    /// Logs something that went wrong.
    pub fn error(&self, text: impl AsRef<str>) {
        self.line("error", text.as_ref());
    }

    fn line(&self, level: &str, text: &str) {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let line = format!("{} {level} {text}\n", format_utc(now()));
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.as_ref().is_none_or(|(_, size)| *size > MOST_BYTES) {
            if file.take().is_some() {
                self.rotate();
            }
            *file = append(&self.path);
        }
        if let Some((file, size)) = file.as_mut()
            && file.write_all(line.as_bytes()).is_ok()
        {
            *size += line.len() as u64;
        }
    }

    /// Renames `daemon.log` to `daemon.log.1`, and so on; deletes the last file.
    fn rotate(&self) {
        let numbered = |number: usize| self.path.with_file_name(format!("daemon.log.{number}"));
        for number in (1..MOST_FILES - 1).rev() {
            let _ = std::fs::rename(numbered(number), numbered(number + 1));
        }
        let _ = std::fs::rename(&self.path, numbered(1));
    }
}

fn append(path: &Path) -> Option<(File, u64)> {
    platform::create_private_directory(path.parent()?).ok()?;
    platform::create_private_file(path).ok()?;
    let file = OpenOptions::new().append(true).open(path).ok()?;
    let size = file.metadata().ok()?.len();
    Some((file, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_stays_small_and_on_one_line_each() {
        let directory = tempfile::tempdir().unwrap();
        let log = Log::open(directory.path());
        log.info("two\nlines");
        for _ in 0..7 * (MOST_BYTES / 1000) {
            log.error("x".repeat(1000));
        }
        let mut names: Vec<String> = std::fs::read_dir(directory.path().join("logs"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["daemon.log", "daemon.log.1", "daemon.log.2", "daemon.log.3", "daemon.log.4"]);
        for name in names {
            assert!(directory.path().join("logs").join(name).metadata().unwrap().len() < MOST_BYTES + 2000);
        }
    }
}
