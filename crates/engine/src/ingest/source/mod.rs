//! Where histories come from. One file per agent and one row in [`SOURCES`]; nothing else knows
//! an agent's format.

mod claude_code;
mod jsonl;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Episode, Title, Turn};

pub use claude_code::ClaudeCode;
pub use jsonl::Jsonl;

/// Every source that this yore reads.
pub const SOURCES: &[&dyn Source] = &[&ClaudeCode, &Jsonl];

/// The source with this kind.
pub fn source_named(kind: &str) -> Option<&'static dyn Source> {
    SOURCES.iter().copied().find(|source| source.kind() == kind)
}

/// A format of histories that are files of JSON lines.
///
/// An implementation says which files are its own and how their lines become turns. It sees lines
/// only after redaction, from the file or from the archive, and must give the same turns for the
/// same lines however they are divided into readings. It never writes to another program's files
/// and never opens the credential files beside them.
pub trait Source: Send + Sync {
    /// Stable name, such as `claude-code`: part of every id.
    fn kind(&self) -> &'static str;

    /// The name that people know.
    fn display_name(&self) -> &'static str;

    /// The transcript files under a root directory (or the root itself if it is one), in no order.
    /// What cannot be listed is left out.
    fn discover(&self, root: &Path) -> Vec<PathBuf>;

    /// A reader for one file, from its beginning (`state` empty) or from where an earlier one was.
    fn reader(&self, file: &Path, state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader>;

    /// Whose words a line holds: what deletion goes by.
    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v>;

    /// Days after which the agent deletes a transcript unless told otherwise.
    fn default_retention_days(&self) -> Option<u32>;
}

/// What readers are told.
#[derive(Clone, Debug)]
pub struct ReaderOptions {
    /// Tool inputs and outputs are cut to about this many bytes, error lines kept.
    pub tool_bytes: usize,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { tool_bytes: 16 * 1024 }
    }
}

/// Whose words a line holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineOwner<'v> {
    /// Native id of the session.
    pub session: Option<Cow<'v, str>>,
    /// Native id of the message.
    pub message: Option<&'v str>,
    /// Native id of a message that the line is about, possibly of another session.
    pub about: Option<&'v str>,
    /// The recorded directory.
    pub directory: Option<&'v str>,
}

/// Turns lines into episodes and turns, in file order.
pub trait EpisodeReader: Send {
    /// Reads the JSON values of one physical line (usually one).
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>);

    /// Gives the turns that are still open, as they are so far.
    fn finish(&mut self, out: &mut Vec<Reading>);

    /// The line where the oldest open turn began, and the state to read on from there; `None`
    /// when nothing is open. A later reading must start at that line.
    fn open_since(&self) -> Option<(LineMark, String)>;

    /// The state to read on from the next line.
    fn state(&self) -> String;
}

/// A place in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineMark {
    /// 1-based line.
    pub line: u64,
    /// Its first byte.
    pub offset: u64,
}

/// One physical line.
#[derive(Clone, Copy, Debug)]
pub struct SourceLine<'a> {
    /// Its JSON values: more than one where records are glued together.
    pub values: &'a [Value],
    /// Where it stands.
    pub mark: LineMark,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// A message.
    Turn(Box<ReadTurn>),
    /// A title of an episode.
    Title(Arc<Episode>, Title),
    /// A title of whichever episode holds the message with this native id.
    TitleOfMessage(String, Title),
    /// Something that an episode points to: kind and value.
    Link(Arc<Episode>, &'static str, String),
    /// Something that could not be understood: stable reason and detail.
    Skip(&'static str, String),
}

/// A message and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadTurn {
    /// The episode that it belongs to.
    pub episode: Arc<Episode>,
    /// The message.
    pub turn: Turn,
    /// 1-based line of its first words.
    pub line: u64,
}

/// Files with one of these extensions below `root`, symbolic links not followed, at most
/// `max_depth` directories deep.
fn files_below(root: &Path, extension: &str, max_depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![(root.to_path_buf(), 0)];
    while let Some((directory, depth)) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() && depth < max_depth {
                pending.push((path, depth + 1));
            } else if kind.is_file() && path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found
}
