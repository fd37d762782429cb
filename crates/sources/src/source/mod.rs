//! [`Source`], its contract, and the table of all sources ([`SOURCES`]). No other module depends on the format of an agent.

mod address;
mod aider;
mod antigravity;
mod chain;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod cline;
mod codex;
mod continue_dev;
mod conversation;
mod copilot_chat;
mod copilot_cli;
mod crush;
mod cursor;
mod databases;
mod deepseek;
pub mod document;
mod export;
pub mod file;
mod gemini;
mod git;
mod goose;
mod hermes;
mod jsonl;
pub mod note;
mod opencode;
pub mod own;
pub mod proxy;
mod qwen;
mod rows;
mod shapes;
mod speaker;
mod specstory;
mod transcripts;
mod typed;
mod unread;
mod walk;
mod web;
mod zed;

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Caveat, Episode, Role, Title, Turn};
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
pub use crush::Crush;
pub use cursor::Cursor;
pub use databases::kind_of_database;
pub use deepseek::DeepSeek;
pub use file::Files;
pub use gemini::Gemini;
pub use git::Git;
pub use git::{first_commit_of, merged_branch};
pub use goose::Goose;
pub use hermes::Hermes;
pub use jsonl::Jsonl;
pub use note::Notes;
pub use opencode::{KILO_CLI, OPENCODE, OpenCode};
pub use proxy::Proxied;
pub use qwen::Qwen;
pub use shapes::cover_ciphertext;
pub use shapes::{EDITORS, VSCODE_BUILDS};
pub use specstory::SpecStory;
pub use transcripts::{DROID, GROK, KIMI, KIRO, OMP, OPENCLAW, PI, Transcripts, VIBE};
pub use unread::{UnreadAgent, unread_agents, unread_agents_at};
pub use walk::noticing;
use walk::{entries, files_below, folders_in, notice, open, walk};
pub use web::Web;
pub use zed::Zed;

pub use crate::stamp::Stamp;

/// Every source that this version of yore reads.
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
    &PI,
    &OMP,
    &OPENCLAW,
    &KIMI,
    &VIBE,
    &GROK,
    &DROID,
    &KIRO,
    &SpecStory,
    &Goose,
    &Hermes,
    &DeepSeek,
    &Crush,
    &Proxied,
    &Jsonl,
    &Files,
    &Notes,
    &Web,
    &Git,
];

/// Returns the source with this kind.
pub fn source_named(kind: &str) -> Option<&'static dyn Source> {
    SOURCES.iter().copied().find(|source| source.kind() == kind)
}

/// Returns whether the source with this kind holds the work of a coding agent.
pub fn is_agent(kind: &str) -> bool {
    source_named(kind).is_some_and(Source::is_agent)
}

/// A format of histories.
///
/// An implementation decides which units belong to it and how their lines become turns. A unit is a file of
/// JSON lines, or anything else that [`Source::records`] turns into lines: a conversation of a database, a
/// document, a compressed file. The reader sees lines only after redaction, from the unit or from the
/// archive, and must give the same turns for the same lines however they are divided into readings. An
/// implementation never writes to another program's files and never opens the credential files beside them.
pub trait Source: Send + Sync {
    /// Stable name, such as `claude-code`. It is part of every id.
    fn kind(&self) -> &'static str;

    /// Name shown to people.
    fn display_name(&self) -> &'static str;

    /// How a unit's turns change when it is read again.
    fn nature(&self) -> Nature {
        Nature::Conversation
    }

    /// Returns whether its conversations are the work of a coding agent, not people's talk or chats.
    fn is_agent(&self) -> bool {
        self.nature() == Nature::Conversation
    }

    /// Returns whether the format was seen in real files, not only in descriptions and other readers.
    fn is_verified(&self) -> bool {
        true
    }

    /// Returns the paths where histories of this kind are kept on a computer, whether or not they exist:
    /// directories and files that [`Source::discover`] understands. Empty if there is no such place.
    fn places(&self, _computer: &Computer<'_>) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the name of the file or folder that the agent keeps in each project's directory, if it has no
    /// place of its own. It is searched in every directory that other agents worked in.
    fn file_in_project(&self) -> Option<&'static str> {
        None
    }

    /// Returns the units under a root (or the root itself if it is one), in no order. Omits what cannot be
    /// listed; `walk` notes it, so folders are listed with its functions only. `known` gives the stamp of each unit when it was last read to its end, so that an unchanged
    /// database need not be opened.
    fn discover(&self, root: &Path, known: &dyn Known) -> Vec<Unit>;

    /// Returns the native id of the session of another agent that a unit copies. Such a unit is read only if
    /// that session is not stored. Called for units that were never read.
    fn copy_of(&self, _unit: &Unit) -> Option<String> {
        None
    }

    /// Returns the maximum number of units read from a root, if there is a limit. If there are more,
    /// [`Source::discover`] returns one more than the limit.
    fn most_units(&self) -> Option<usize> {
        None
    }

    /// Passes the lines of a unit with [`Framing::Records`] to `take`, one value each, in order, until it
    /// returns false. Only values with text or facts that a reader uses; no pictures, no binary payloads, no
    /// credentials.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when another program keeps the unit busy: it is tried again later. Any
    /// other: the unit is reported as failed.
    fn records(&self, _unit: &Unit, _take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Like [`Source::records`], for a source that needs the reader options to make its lines.
    ///
    /// # Errors
    /// Those of [`Source::records`].
    fn records_with(&self, unit: &Unit, _options: &ReaderOptions, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        self.records(unit, take)
    }

    /// Returns a reader for one unit (named as in [`Unit::name`]). It starts at the beginning if `state` is
    /// empty, else where an earlier reader stopped.
    fn reader(&self, unit: &Path, state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader>;

    /// Returns the session and message that a line belongs to. Deletion and the capture policy use it.
    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v>;

    /// Number of days after which the agent deletes a transcript by default.
    fn default_retention_days(&self) -> Option<u32> {
        None
    }
}

/// How a unit's turns change when it is read again with different content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Turns are only added or completed; what was said once is kept.
    Conversation,
    /// The new text replaces the old one; the archive keeps both.
    Document,
}

/// How a unit is divided into lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The unit is a file of JSON lines that grows at its end. Reading continues after the last byte read.
    Lines,
    /// [`Source::records`] returns its lines, all of them each time that the stamp differs. Lines that are
    /// archived already cost nothing.
    Records,
}

/// A unit that is read as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The file on disk that holds it.
    pub path: PathBuf,
    /// Part of the file, if it holds several, such as a conversation of a database.
    pub part: Option<String>,
    /// How it is divided into lines.
    pub framing: Framing,
    /// Stamp of its current content.
    pub stamp: Stamp,
    /// Start time in ISO 8601. New units are read in this order, so that the first unit that contains a
    /// message owns it. `None`: taken from the first `timestamp` of a file of JSON lines.
    pub began: Option<String>,
    /// True to read this unit after all other units of its file, and only if none of those failed or was
    /// busy. Its stamp shows that the whole file need not be opened.
    pub closes_file: bool,
    /// Root directory under which it was found, if [`Source::records`] needs it.
    pub root: Option<PathBuf>,
    /// Directory that its session worked in, if the source gets it from elsewhere than the unit.
    pub worked_in: Option<String>,
}

impl Unit {
    /// Returns a unit for a file of JSON lines, or `None` if the file does not exist (any more).
    pub fn lines(path: PathBuf) -> Option<Self> {
        let stamp = Stamp::of_file(&path).map_err(|error| notice(&path, error)).ok()?;
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

    /// Returns a unit for a file that is read as records, or `None` if the file does not exist (any more).
    pub fn records(path: PathBuf) -> Option<Self> {
        Some(Self { framing: Framing::Records, ..Self::lines(path)? })
    }

    /// Returns its name in the store: the path, and `#part` for a part. `None` if the path is not UTF-8.
    pub fn name(&self) -> Option<String> {
        let path = self.path.to_str()?;
        Some(self.part.as_ref().map_or_else(|| path.to_owned(), |part| format!("{path}#{part}")))
    }
}

/// State of the units when they were last read.
pub trait Known {
    /// Returns the stamp of the unit with this name, if it was read to its end.
    fn stamp(&self, name: &str) -> Option<Stamp>;

    /// Returns the current time. A unit that may still be completed is left for later. The default is the end
    /// of time, so that nothing is left.
    fn now(&self) -> UtcMillis {
        UtcMillis::MAX
    }

    /// Returns the names of all units of the source, including deleted ones.
    fn names(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Returns the recorded directories that sessions of any agent worked in.
    fn directories(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A state in which nothing was read yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingKnown;

impl Known for NothingKnown {
    fn stamp(&self, _name: &str) -> Option<Stamp> {
        None
    }
}

/// Operating system conventions that a computer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux and other Unixes: XDG directories.
    Xdg,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

/// The computer that holds the histories, as far as sources need to know it.
#[derive(Clone, Copy)]
pub struct Computer<'a> {
    /// Its conventions.
    pub platform: Platform,
    /// The home directory.
    pub home: &'a Path,
    /// Function that looks up an environment variable. An empty value counts as unset.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Computer<'_> {
    /// Returns the directory named by a variable (a leading `~` is the home directory), or else `default`
    /// below the home directory.
    pub fn directory(&self, variable: &str, default: &str) -> PathBuf {
        self.named(variable).unwrap_or_else(|| self.home.join(default))
    }

    /// Returns the directory named by a variable.
    pub fn named(&self, variable: &str) -> Option<PathBuf> {
        let value = (self.variable)(variable).filter(|value| !value.is_empty())?;
        Some(match value.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => PathBuf::from(value),
        })
    }

    /// Returns the directory of program settings: `~/.config`, `~/Library/Application Support`, `%APPDATA%`.
    pub fn configuration(&self) -> PathBuf {
        match self.platform {
            Platform::Xdg => self.directory("XDG_CONFIG_HOME", ".config"),
            Platform::Mac => self.home.join("Library/Application Support"),
            Platform::Windows => self.directory("APPDATA", "AppData/Roaming"),
        }
    }

    /// Returns the directory of program data: `~/.local/share`, `~/Library/Application Support`,
    /// `%LOCALAPPDATA%`.
    pub fn data(&self) -> PathBuf {
        match self.platform {
            Platform::Xdg => self.directory("XDG_DATA_HOME", ".local/share"),
            Platform::Mac => self.home.join("Library/Application Support"),
            Platform::Windows => self.directory("LOCALAPPDATA", "AppData/Local"),
        }
    }
}

/// Options passed to the readers.
#[derive(Clone, Debug)]
pub struct ReaderOptions {
    /// Approximate number of bytes to which tool inputs and outputs are cut. Error lines are kept.
    pub tool_bytes: usize,
    /// Program that extracts the text of a PDF. It is called with `pdf-text` and gets the file on its
    /// standard input. `None`: PDFs are counted as skipped.
    pub pdf_extractor: Option<PathBuf>,
    /// The author of prompts that an agent got without a terminal.
    pub headless: Headless,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { tool_bytes: 16 * 1024, pdf_extractor: None, headless: Headless::Program }
    }
}

/// The author of prompts that an agent got without a terminal, such as those of `claude -p`. No format tells a script from a
/// person who works like that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Headless {
    /// A script, a bot or a schedule: nobody's wishes are learned from them.
    #[default]
    Program,
    /// The person.
    Person,
}

/// Session, message and directory that a line belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineOwner<'v> {
    /// Native id of the session.
    pub session: Option<Cow<'v, str>>,
    /// Native id of the message.
    pub message: Option<&'v str>,
    /// Native id of a message that the line is about, which may be in another session.
    pub about: Option<&'v str>,
    /// The recorded directory.
    pub directory: Option<&'v str>,
}

/// Converts lines to episodes and turns, in file order.
pub trait EpisodeReader: Send {
    /// Reads the JSON values of one physical line (usually one).
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>);

    /// Outputs the turns that are still open, as they are so far. By default none: each line is complete.
    fn finish(&mut self, _out: &mut Vec<Reading>) {}

    /// Returns the line where the oldest open turn began, and the state to continue from there; `None` if
    /// nothing is open. A later reading must start at that line.
    fn open_since(&self) -> Option<(LineMark, String)> {
        None
    }

    /// Returns the state to continue from the next line. By default empty: lines are independent, or the file is
    /// always read from its beginning.
    fn state(&self) -> String {
        String::new()
    }
}

/// Position of a line in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineMark {
    /// 1-based line number.
    pub line: u64,
    /// Offset of its first byte.
    pub offset: u64,
}

/// One physical line.
#[derive(Clone, Copy, Debug)]
pub struct SourceLine<'a> {
    /// Its JSON values; more than one if records are glued together.
    pub values: &'a [Value],
    /// Its position in the file.
    pub mark: LineMark,
}

/// Information read from a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// A message.
    Turn(Box<ReadTurn>),
    /// A title of an episode.
    Title(Arc<Episode>, Title),
    /// A title of the episode that holds the message with this native id.
    TitleOfMessage(String, Title),
    /// A link from an episode: kind and value.
    Link(Arc<Episode>, &'static str, String),
    /// A caveat of the messages of an episode with these native ids, read before; `None` removes it.
    Caveat(Arc<Episode>, Vec<String>, Option<Caveat>),
    /// Facts about a note besides its text, which is in this turn. Comes before the turn.
    Note(TurnId, Box<NoteFacts>),
    /// An element that could not be interpreted: stable reason and detail.
    Skip(&'static str, String),
}

/// Maximum number of bytes of a turn's text that are indexed. The archive has all of it.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Reason and detail under which a longer text is counted.
pub const TEXT_CUT: (&str, &str) = ("text-cut", "over 1 MiB; the archive has all of it");

/// Shortens longer texts of the turns from `from` on. Returns the lines of those turns.
pub fn cap_texts(readings: &mut [Reading], from: usize) -> Vec<u64> {
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

/// Removes this memory's own words from the readings from `from` on, and the readings that are empty without
/// them. Returns whether a turn begins a conversation that yore itself had with a model. Notes are exempt:
/// they were given to be kept word for word.
pub fn drop_own_words(readings: &mut Vec<Reading>, from: usize) -> bool {
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
            // This memory produced the answer, whatever it says, even an error.
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

/// The member that marks a record that reports a problem with its unit. Readers do not see such records.
const PROBLEM: &str = "yore_problem";
/// Reasons in such records. The names never change, because skips are counted by them.
const PROBLEMS: [&str; 4] = ["cut-off", "damaged", "not-utf8", NO_CONVERSATION];
/// The reason for an unreadable file in a directory of conversations.
const NO_CONVERSATION: &str = "no-conversation";

/// Returns a record that reports a problem with a unit whose remaining content is read.
fn problem(reason: &'static str, detail: &str) -> Value {
    serde_json::json!({PROBLEM: reason, "detail": detail})
}

/// Returns the reason and detail of such a record.
pub fn problem_of(values: &[Value]) -> Option<(&'static str, &str)> {
    let [value] = values else { return None };
    let reason = value.get(PROBLEM)?.as_str()?;
    let reason = PROBLEMS.iter().find(|known| **known == reason)?;
    Some((reason, value["detail"].as_str().unwrap_or("")))
}

/// A message and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadTurn {
    /// The episode that it belongs to.
    pub episode: Arc<Episode>,
    /// The message.
    pub turn: Turn,
    /// 1-based line where its text begins.
    pub line: u64,
}
