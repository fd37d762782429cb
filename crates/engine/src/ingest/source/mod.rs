//! Where histories come from. One file per agent and one row in [`SOURCES`]; nothing else knows
//! an agent's format.

mod address;
mod aider;
mod antigravity;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod cline;
mod codex;
mod continue_dev;
mod conversation;
mod copilot_chat;
mod copilot_cli;
mod cursor;
pub mod document;
mod export;
pub mod file;
mod gemini;
mod git;
mod jsonl;
pub mod note;
mod opencode;
pub mod own;
mod qwen;
mod shapes;
mod typed;
mod web;
mod zed;

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Episode, Role, Title, Turn};
use yore_core::id::TurnId;
use yore_core::note::NoteFacts;
use yore_core::time::UtcMillis;

pub use address::path_of_address;
pub use aider::Aider;
pub use antigravity::Antigravity;
pub use chatgpt::ChatGpt;
pub use claude_ai::ClaudeAi;
pub use claude_code::ClaudeCode;
pub use cline::{CLINE, KILO, ROO, Tasks};
pub use codex::Codex;
pub use continue_dev::Continue;
pub use copilot_chat::CopilotChat;
pub use copilot_cli::CopilotCli;
pub use cursor::Cursor;
pub use file::Files;
pub use gemini::Gemini;
pub use git::Git;
pub use jsonl::Jsonl;
pub use note::Notes;
pub use opencode::{KILO_CLI, OPENCODE, OpenCode};
pub use qwen::Qwen;
pub use web::Web;
pub use zed::Zed;

/// Every source that this yore reads.
pub const SOURCES: &[&dyn Source] = &[
    &ClaudeCode,
    &Cursor,
    &Codex,
    &Aider,
    &Gemini,
    &Antigravity,
    &ChatGpt,
    &ClaudeAi,
    &OPENCODE,
    &KILO_CLI,
    &Qwen,
    &Zed,
    &Continue,
    &CopilotChat,
    &CopilotCli,
    &CLINE,
    &ROO,
    &KILO,
    &Jsonl,
    &Files,
    &Notes,
    &Web,
    &Git,
];

/// The source with this kind.
pub fn source_named(kind: &str) -> Option<&'static dyn Source> {
    SOURCES.iter().copied().find(|source| source.kind() == kind)
}

/// A format of histories.
///
/// An implementation says which units are its own and how their lines become turns. A unit is a
/// file of JSON lines, or anything else that [`Source::records`] turns into lines: a conversation
/// of a database, a document, a compressed file. The reader sees lines only after redaction, from
/// the unit or from the archive, and must give the same turns for the same lines however they are
/// divided into readings. An implementation never writes to another program's files and never
/// opens the credential files beside them.
pub trait Source: Send + Sync {
    /// Stable name, such as `claude-code`: part of every id.
    fn kind(&self) -> &'static str;

    /// The name that people know.
    fn display_name(&self) -> &'static str;

    /// What becomes of a unit when it is read again.
    fn nature(&self) -> Nature {
        Nature::Conversation
    }

    /// Whether the format was seen in real files, not only in descriptions and other readers.
    fn is_verified(&self) -> bool {
        true
    }

    /// Where histories of this kind lie on a computer, whether or not they exist: directories and
    /// files that [`Source::discover`] understands. Empty when there is no such place.
    fn places(&self, _computer: &Computer<'_>) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The name of the file that the agent keeps in each project's directory, where it has no
    /// place of its own: it is looked for in every directory that other agents worked in.
    fn file_in_project(&self) -> Option<&'static str> {
        None
    }

    /// The units under a root (or the root itself if it is one), in no order. What cannot be
    /// listed is left out. `known` tells how a unit stood when it was last read to its end, so
    /// that a database that did not change need not be opened.
    fn discover(&self, root: &Path, known: &dyn Known) -> Vec<Unit>;

    /// How many units of a root are read, where that is limited; [`Source::discover`] gives one more where
    /// there are more.
    fn most_units(&self) -> Option<usize> {
        None
    }

    /// Gives the lines of a unit with [`Framing::Records`], one value each, in order, until `take`
    /// returns false. Only what carries words or facts that a reader uses; no pictures, no
    /// binary payloads, no credentials.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when another program keeps the unit busy: it is tried again
    /// later. Any other: the unit is reported as failed.
    fn records(&self, _unit: &Unit, _take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The same, for a source that makes its lines with the help of what readers are told.
    ///
    /// # Errors
    /// Those of [`Source::records`].
    fn records_with(&self, unit: &Unit, _options: &ReaderOptions, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        self.records(unit, take)
    }

    /// A reader for one unit (named as in [`Unit::name`]), from its beginning (`state` empty) or
    /// from where an earlier one was.
    fn reader(&self, unit: &Path, state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader>;

    /// Whose words a line holds: what deletion and the capture policy go by.
    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v>;

    /// Days after which the agent deletes a transcript unless told otherwise.
    fn default_retention_days(&self) -> Option<u32> {
        None
    }
}

/// What becomes of a unit's turns when it is read again and says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// What was said stays said: turns are added or completed.
    Conversation,
    /// The new text takes the place of the old one; the archive keeps both.
    Document,
}

/// How a unit becomes lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// It is a file of JSON lines that grows at its end: read on from the last byte.
    Lines,
    /// [`Source::records`] gives its lines, all of them each time that its stamp differs; those
    /// that are archived already cost nothing.
    Records,
}

/// How a unit stands: another stamp, another content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes, or whatever grows with the content.
    pub size: u64,
    /// Time of the last change in nanoseconds since 1970, or a hash.
    pub version: i64,
}

impl Stamp {
    /// Of a file.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        Ok(Self::of_metadata(&path.metadata()?))
    }

    /// Of a file whose metadata is known.
    pub fn of_metadata(meta: &std::fs::Metadata) -> Self {
        let since = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        Self { size: meta.len(), version: since.map_or(0, |since| since.as_nanos() as i64) }
    }
}

/// One thing that is read as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The file on disk that holds it.
    pub path: PathBuf,
    /// Which part of the file, where one holds several (a conversation of a database).
    pub part: Option<String>,
    /// How it becomes lines.
    pub framing: Framing,
    /// How it stands.
    pub stamp: Stamp,
    /// When it began, ISO 8601: units that are new are read in this order, so that what was said
    /// first owns its words. `None`: taken from the first `timestamp` of a file of JSON lines.
    pub began: Option<String>,
    /// Read after all other units of its file, and only if none of those failed or was busy: the
    /// unit whose stamp says that the whole file need not be opened.
    pub closes_file: bool,
    /// The directory that it was found below, where [`Source::records`] must know it.
    pub root: Option<PathBuf>,
    /// The directory that its session worked in, where the source knows that from elsewhere than the unit.
    pub worked_in: Option<String>,
}

impl Unit {
    /// A file of JSON lines; `None` when it is not there (any more).
    pub fn lines(path: PathBuf) -> Option<Self> {
        let stamp = Stamp::of_file(&path).ok()?;
        Some(Self {
            path,
            part: None,
            framing: Framing::Lines,
            stamp,
            began: None,
            closes_file: false,
            root: None,
            worked_in: None,
        })
    }

    /// A file that is read as records; `None` when it is not there (any more).
    pub fn records(path: PathBuf) -> Option<Self> {
        Some(Self { framing: Framing::Records, ..Self::lines(path)? })
    }

    /// Its name in the store: the path, and `#part` for a part. `None` when it is not UTF-8.
    pub fn name(&self) -> Option<String> {
        let path = self.path.to_str()?;
        Some(self.part.as_ref().map_or_else(|| path.to_owned(), |part| format!("{path}#{part}")))
    }
}

/// How units stood when they were last read.
pub trait Known {
    /// The stamp of the unit with this name, if it was read to its end.
    fn stamp(&self, name: &str) -> Option<Stamp>;

    /// The time: what may be completed yet is left for later. The end of time where nothing is.
    fn now(&self) -> UtcMillis {
        UtcMillis::MAX
    }

    /// The names of all units of the source, those that are gone too.
    fn names(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The directories that sessions of any agent worked in, as they were recorded.
    fn directories(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Nothing was read yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingKnown;

impl Known for NothingKnown {
    fn stamp(&self, _name: &str) -> Option<Stamp> {
        None
    }
}

/// Which conventions a computer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux and other Unixes: XDG directories.
    Xdg,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

/// A computer on which histories lie, as far as sources must know it.
#[derive(Clone, Copy)]
pub struct Computer<'a> {
    /// Its conventions.
    pub platform: Platform,
    /// The home directory.
    pub home: &'a Path,
    /// Environment variables; an empty one counts as unset.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Computer<'_> {
    /// The directory that a variable names (a leading `~` is the home), else `default` below the
    /// home directory.
    pub fn directory(&self, variable: &str, default: &str) -> PathBuf {
        self.named(variable).unwrap_or_else(|| self.home.join(default))
    }

    /// The directory that a variable names.
    pub fn named(&self, variable: &str) -> Option<PathBuf> {
        let value = (self.variable)(variable).filter(|value| !value.is_empty())?;
        Some(match value.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => PathBuf::from(value),
        })
    }

    /// Where programs keep their settings: `~/.config`, `~/Library/Application Support`,
    /// `%APPDATA%`.
    pub fn configuration(&self) -> PathBuf {
        match self.platform {
            Platform::Xdg => self.directory("XDG_CONFIG_HOME", ".config"),
            Platform::Mac => self.home.join("Library/Application Support"),
            Platform::Windows => self.directory("APPDATA", "AppData/Roaming"),
        }
    }

    /// Where programs keep their data: `~/.local/share`, `~/Library/Application Support`,
    /// `%LOCALAPPDATA%`.
    pub fn data(&self) -> PathBuf {
        match self.platform {
            Platform::Xdg => self.directory("XDG_DATA_HOME", ".local/share"),
            Platform::Mac => self.home.join("Library/Application Support"),
            Platform::Windows => self.directory("LOCALAPPDATA", "AppData/Local"),
        }
    }
}

/// What readers are told.
#[derive(Clone, Debug)]
pub struct ReaderOptions {
    /// Tool inputs and outputs are cut to about this many bytes, error lines kept.
    pub tool_bytes: usize,
    /// The program that gives the text of a PDF: called with `pdf-text`, the file on its standard
    /// input. `None`: PDFs are counted as skipped.
    pub pdf_extractor: Option<PathBuf>,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { tool_bytes: 16 * 1024, pdf_extractor: None }
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

    /// Gives the turns that are still open, as they are so far. By default none: each line is complete.
    fn finish(&mut self, _out: &mut Vec<Reading>) {}

    /// The line where the oldest open turn began, and the state to read on from there; `None`
    /// when nothing is open. A later reading must start at that line.
    fn open_since(&self) -> Option<(LineMark, String)> {
        None
    }

    /// The state to read on from the next line. By default empty: a line depends on none before it, or the file is
    /// always read from its beginning.
    fn state(&self) -> String {
        String::new()
    }
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
    /// What is known of a note beside its words, which are this turn. Comes before the turn.
    Note(TurnId, Box<NoteFacts>),
    /// Something that could not be understood: stable reason and detail.
    Skip(&'static str, String),
}

/// The longest text of a turn that is indexed. The archive has all of it.
pub(crate) const MAX_TEXT_BYTES: usize = 1 << 20;
/// Reason and detail under which a longer one is counted.
pub(crate) const TEXT_CUT: (&str, &str) = ("text-cut", "over 1 MiB; the archive has all of it");

/// Cuts longer texts of the turns from `from` on; returns the lines of those turns.
pub(crate) fn cap_texts(readings: &mut [Reading], from: usize) -> Vec<u64> {
    let mut cut = Vec::new();
    for reading in readings.iter_mut().skip(from) {
        let Reading::Turn(read) = reading else { continue };
        let turn = &mut read.turn;
        if turn.text.len().max(turn.tool_text.len()) > MAX_TEXT_BYTES {
            turn.text.truncate(turn.text.floor_char_boundary(MAX_TEXT_BYTES));
            turn.tool_text.truncate(turn.tool_text.floor_char_boundary(MAX_TEXT_BYTES));
            cut.push(read.line);
        }
    }
    cut
}

/// Takes this memory's own words out of what was read, from `from` on; what is nothing without
/// them goes. Returns whether a turn begins a conversation that yore itself had with a model. A note
/// is no echo: it was given to be kept word for word.
pub(crate) fn drop_own_words(readings: &mut Vec<Reading>, from: usize) -> bool {
    let mut is_own_call = false;
    let mut at = from;
    while at < readings.len() {
        let mut is_nothing = false;
        if let Reading::Turn(read) = &mut readings[at]
            && read.episode.agent != note::KIND
        {
            let turn = &mut read.turn;
            is_own_call |= own::is_own_call(&turn.text);
            if let Cow::Owned(kept) = own::without_own_words(&turn.text) {
                turn.text = kept;
                is_nothing = true;
            }
            if let Cow::Owned(kept) = own::without_own_output(&turn.tool_text) {
                turn.tool_text = kept;
                is_nothing = true;
            }
            is_nothing &= turn.text.trim().is_empty() && turn.tool_text.trim().is_empty();
            // Whatever the answer says, an error for example, this memory said it.
            is_nothing |= turn.role == Role::ToolResult
                && !turn.tools.is_empty()
                && turn.tools.iter().all(|tool| own::is_own_tool(&tool.name));
        }
        if is_nothing {
            readings.remove(at);
        } else {
            at += 1;
        }
    }
    is_own_call
}

/// The member by which a record is known that tells what is wrong with its unit. Readers do not see it.
const PROBLEM: &str = "yore_problem";
/// Reasons of such records; skips are counted by names that never change.
const PROBLEMS: [&str; 4] = ["cut-off", "damaged", "not-utf8", NO_CONVERSATION];
/// The reason for a file of which nothing can be read although it lies where conversations do.
const NO_CONVERSATION: &str = "no-conversation";

/// A record that tells what is wrong with a unit of which the rest is read.
fn problem(reason: &'static str, detail: &str) -> Value {
    serde_json::json!({PROBLEM: reason, "detail": detail})
}

/// Reason and detail of such a record.
pub(crate) fn problem_of(values: &[Value]) -> Option<(&'static str, &str)> {
    let [value] = values else { return None };
    let reason = value.get(PROBLEM)?.as_str()?;
    let reason = PROBLEMS.iter().find(|known| **known == reason)?;
    Some((reason, value["detail"].as_str().unwrap_or("")))
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
