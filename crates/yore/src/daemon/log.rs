//! The daemon's log: times, codes, counts and paths, never a word of what was read.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use yore_core::time::format_utc;
use yore_engine::platform;

use crate::engine_handle::now;

/// A file is as long as this, about.
const MOST_BYTES: u64 = 1 << 20;
/// Files that are kept, the one that is written included.
const MOST_FILES: usize = 5;

/// Where the log of a data directory lies.
pub fn path(directory: &Path) -> PathBuf {
    directory.join("logs").join("daemon.log")
}

/// A log that takes the place of an older part of itself when it has grown.
pub struct Log {
    path: PathBuf,
    file: Mutex<Option<(File, u64)>>,
}

impl Log {
    /// Writes below a data directory, or nowhere if that cannot be: a daemon without a log is
    /// better than none.
    pub fn open(directory: &Path) -> Self {
        let path = path(directory);
        let file = append(&path);
        Self { path, file: Mutex::new(file) }
    }

    /// Something that was done.
    pub fn info(&self, text: impl AsRef<str>) {
        self.line("info", text.as_ref());
    }

    /// Something that went wrong.
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

    /// `daemon.log` becomes `daemon.log.1`, and so on; the last one goes.
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
