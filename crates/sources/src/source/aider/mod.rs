//! Aider: one Markdown file per repository, `.aider.chat.history.md`, which only grows.
//!
//! - [`Aider`]: finds the files
//! - `markdown`: lines to blocks, one record each
//! - `reader`: blocks to turns
//!
//! Every start of the program begins a session. A session has no id. It is identified by its start, which is
//! written to the second, and by the name of the directory, which stays the same when a repository is moved
//! and differs between two that are open at the same time. Times are local without a recorded time zone, and
//! only the session has one.

mod markdown;
mod reader;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use self::markdown::blocks;
use self::reader::{AiderReader, KIND};
use super::shapes::text_of;
use super::{Computer, EpisodeReader, Known, LineOwner, ReaderOptions, Source, Unit, walk};

/// Default file name of Aider's history.
const HISTORY: &str = ".aider.chat.history.md";
/// Directories that are skipped: they hold no repositories of their own, or too many.
const PASSED_OVER: [&str; 8] = ["node_modules", ".git", "target", ".venv", "venv", "__pycache__", ".cache", "Library"];
/// Maximum depth below a root at which repositories are searched.
const MAX_DEPTH: usize = 6;
/// Maximum number of directories searched. A root with more is not a folder of projects.
const MAX_DIRECTORIES: usize = 100_000;
/// Maximum number of bytes read. The rest of a longer history is ignored.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// The source for Aider; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Aider;

impl Source for Aider {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Aider"
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        // There is no central place, but the user may have configured one.
        computer.named("AIDER_CHAT_HISTORY_FILE").filter(|path| path.is_absolute()).into_iter().collect()
    }

    fn file_in_project(&self) -> Option<&'static str> {
        Some(HISTORY)
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        if root.is_file() {
            return Unit::records(root.to_path_buf()).into_iter().collect();
        }
        let seen = Cell::new(0);
        let enters = |path: &Path, depth: usize| {
            let is_passed_over = PASSED_OVER.iter().any(|name| path.file_name().is_some_and(|found| found == *name));
            let is_entered = depth <= MAX_DEPTH && !is_passed_over && seen.get() < MAX_DIRECTORIES;
            seen.set(seen.get() + usize::from(is_entered));
            is_entered
        };
        let files = walk(root, &enters, &|path| path.file_name().is_some_and(|name| name == HISTORY));
        files.into_iter().filter_map(Unit::records).collect()
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let mut bytes = Vec::new();
        File::open(&unit.path)?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        // The last line may be half written; it is read the next time.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(&bytes[..end]);
        let directory = unit.path.parent();
        blocks(&text, directory, take);
        Ok(())
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(AiderReader::new(options.clone()))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner { session: text_of(value, "session").map(Into::into), directory: text_of(value, "cwd"), ..LineOwner::default() }
    }
}
