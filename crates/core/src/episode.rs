//! Episodes and turns: an [`Episode`] is one conversation or document, a [`Turn`] is one message in it.

use crate::id::{EpisodeId, TurnId};
use crate::time::{RecordedTime, UtcMillis};

named_enum! {
    /// The author of a turn. A message that an agent files under "user" is very often not human.
    Role {
        /// Typed or chosen by a person.
        Human = "human",
        /// The model's prose (its tool inputs, if any, travel in [`Turn::tool_text`]).
        Assistant = "assistant",
        /// A message of the model that only calls tools.
        ToolCall = "tool_call",
        /// The output of a tool.
        ToolResult = "tool_result",
        /// The client: API errors, slash commands without arguments.
        System = "system",
        /// A summary that replaced earlier turns at compaction.
        Summary = "summary",
        /// Reminders, hook output, skill texts: inserted by software, not said by a person or the model.
        Injected = "injected",
    }
}

impl Role {
    /// Returns whether recall searches turns of this role by default.
    pub fn is_recalled(self) -> bool {
        !matches!(self, Self::System | Self::Injected)
    }
}

/// Name of the speaker of a prompt that a program sent: an [`Role::Injected`] turn by it. Stored, so it never changes.
pub const PROGRAM: &str = "program";

named_enum! {
    /// Why nothing is learned from a turn, though it is kept and can be recalled.
    Caveat {
        /// The person went back to an earlier message and continued from there, so this one no longer counts.
        TakenBack = "taken_back",
        /// The format cannot tell whether a person wrote it.
        UnknownAuthor = "unknown_author",
    }
}

impl Caveat {
    /// Returns the caveat in words that stand behind the speaker's name.
    pub fn words(self) -> &'static str {
        match self {
            Self::TakenBack => "taken back",
            Self::UnknownAuthor => "author unknown",
        }
    }
}

named_enum! {
    /// The kind of an episode.
    EpisodeKind {
        /// A conversation with a person.
        Session = "session",
        /// A side conversation of an agent with a sub-agent.
        Subagent = "subagent",
        /// A passage, file or page.
        Document = "document",
    }
}

named_enum! {
    /// The origin of an episode's title, in order of reliability; a higher rank replaces a lower one.
    TitleRank {
        /// No title recorded: the first words of the first human turn.
        FirstWords = "first_words",
        /// A summary line that the client wrote.
        Summary = "summary",
        /// A title that the client's model wrote.
        Ai = "ai",
        /// A title that the user gave.
        Custom = "custom",
    }
}

/// A title with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// The title, one line.
    pub text: String,
    /// Origin of the title.
    pub rank: TitleRank,
    /// Time it was written, as far as the lines around it tell.
    pub at: Option<UtcMillis>,
    /// 1-based line of the title; of two titles with no message between them, the later one is newer.
    pub line: u64,
}

impl Title {
    /// Returns whether this title replaces a known one: it is more reliable, or as reliable and not older.
    pub fn replaces(&self, known: &Self) -> bool {
        self.rank > known.rank
            || self.rank == known.rank
                && (self.at.is_none() || known.at.is_none() || (self.at, self.line) >= (known.at, known.line))
    }
}

/// One conversation, file, page or note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// Derived from `agent` and `native_id`.
    pub id: EpisodeId,
    /// Source kind, such as `claude-code`.
    pub agent: String,
    /// The agent's own session id.
    pub native_id: String,
    /// Kind of the episode.
    pub kind: EpisodeKind,
    /// Native id of the session that started this one.
    pub parent_native_id: Option<String>,
    /// Project name given by the source itself; otherwise the directory decides.
    pub project: Option<String>,
    /// Directory in which the episode began, as recorded.
    pub cwd: Option<String>,
    /// Address of the remote of the repository there, as recorded.
    pub remote: Option<String>,
    /// The agent's version.
    pub client_version: Option<String>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Derived from agent, session, message and ordinal.
    pub id: TurnId,
    /// Id of the message in the agent's own file, to find it there.
    pub native_id: String,
    /// Author of the turn.
    pub role: Role,
    /// Name of the author, if the format has one.
    pub speaker: Option<String>,
    /// Why nothing is learned from it, if that is so. A later reading may set or remove it.
    pub caveat: Option<Caveat>,
    /// Text of the message, redacted.
    pub text: String,
    /// Tool inputs or tool output, capped and redacted; searched with a lower weight.
    pub tool_text: String,
    /// True if a tool reported failure.
    pub is_error: bool,
    /// Time of the message.
    pub time: RecordedTime,
    /// Directory at that time, as recorded.
    pub cwd: Option<String>,
    /// Branch at that time, as recorded.
    pub branch: Option<String>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// Number of source lines that make up this turn; a fuller copy replaces a shorter one.
    pub parts: u32,
    /// Tool calls that the turn makes, or whose outcome it reports.
    pub tools: Vec<ToolUse>,
    /// Files that tools read or changed in this turn, as recorded. Files that the text only names are found
    /// in the text.
    pub files: Vec<FileUse>,
}

named_enum! {
    /// The outcome of a tool call.
    Outcome {
        /// The call ended without a reported failure.
        Done = "done",
        /// The call failed, or exited with a code other than 0.
        Failed = "failed",
        /// The user or the client refused or stopped the call.
        Cancelled = "cancelled",
    }
}

/// A tool call, reported by the turn that makes it (`outcome` `None`), by the turn with its result, or by one
/// turn that does both.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToolUse {
    /// The agent's own id of the call, if it has one; links the call and its result.
    pub call_id: Option<String>,
    /// Name of the tool; empty in a result that does not name it.
    pub name: String,
    /// Outcome of the call.
    pub outcome: Option<Outcome>,
}

named_enum! {
    /// The action on a file.
    FileAction {
        /// The file is only named.
        Mentioned = "mentioned",
        /// The file was read, or given to the model.
        Read = "read",
        /// The file was created or changed, or a change was proposed.
        Written = "written",
    }
}

/// A file that a turn mentions, reads or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// Path as recorded: absolute, or relative to the directory at that time.
    pub path: String,
    /// Action on the file.
    pub action: FileAction,
}
