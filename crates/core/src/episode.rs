//! What was said: an [`Episode`] is one conversation or document, a [`Turn`] one message in it.

use crate::id::{EpisodeId, TurnId};
use crate::time::{RecordedTime, UtcMillis};

named_enum! {
    /// Who or what spoke. A message that an agent files under "user" is very often not human.
    Role {
        /// Typed or chosen by a person.
        Human = "human",
        /// The model's prose (its tool inputs, if any, travel in [`Turn::tool_text`]).
        Assistant = "assistant",
        /// A message of the model that only calls tools.
        ToolCall = "tool_call",
        /// What a tool answered.
        ToolResult = "tool_result",
        /// The client: API errors, slash commands without arguments.
        System = "system",
        /// A summary that replaced earlier turns at compaction.
        Summary = "summary",
        /// Reminders, hook output, skill texts: put there by software, said by nobody.
        Injected = "injected",
    }
}

impl Role {
    /// Whether recall looks at turns of this role unless told otherwise.
    pub fn is_recalled(self) -> bool {
        !matches!(self, Self::System | Self::Injected)
    }
}

named_enum! {
    /// What an episode is.
    EpisodeKind {
        /// A conversation with a person.
        Session = "session",
        /// A side conversation that an agent led with a sub-agent.
        Subagent = "subagent",
        /// A passage, file or page.
        Document = "document",
    }
}

named_enum! {
    /// How sure an episode's title is; a higher rank replaces a lower one.
    TitleRank {
        /// None recorded: the first words of the first human turn.
        FirstWords = "first_words",
        /// A summary line that the client wrote.
        Summary = "summary",
        /// A title that the client's model wrote.
        Ai = "ai",
        /// A title that the person gave.
        Custom = "custom",
    }
}

/// A title and how sure it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// The words, one line.
    pub text: String,
    /// Where they come from.
    pub rank: TitleRank,
    /// When they were written, as far as the lines around them tell.
    pub at: Option<UtcMillis>,
    /// 1-based line where they stand: the later of two that no message parts is the younger.
    pub line: u64,
}

impl Title {
    /// Whether this title takes the place of a known one: it is surer, or as sure and not older.
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
    /// What it is.
    pub kind: EpisodeKind,
    /// The native id of the session that started this one.
    pub parent_native_id: Option<String>,
    /// The project's name where the source itself names one; else the directory decides.
    pub project: Option<String>,
    /// The directory it began in, as recorded.
    pub cwd: Option<String>,
    /// The agent's version.
    pub client_version: Option<String>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Derived from agent, session, message and ordinal.
    pub id: TurnId,
    /// The id by which the agent's own file names it: the place to look.
    pub native_id: String,
    /// Who spoke.
    pub role: Role,
    /// The speaker's name where the format has one.
    pub speaker: Option<String>,
    /// What was said, redacted.
    pub text: String,
    /// Tool inputs or tool output, capped and redacted: searched with a lower weight.
    pub tool_text: String,
    /// Whether a tool reported failure.
    pub is_error: bool,
    /// When.
    pub time: RecordedTime,
    /// Directory at the time, as recorded.
    pub cwd: Option<String>,
    /// Branch at the time, as recorded.
    pub branch: Option<String>,
    /// The model that spoke.
    pub model: Option<String>,
    /// Number of source lines that make up this turn: a fuller copy replaces a shorter one.
    pub parts: u32,
    /// Tool calls that it makes, or whose outcome it tells.
    pub tools: Vec<ToolUse>,
    /// Files that tools read or changed in it, as recorded. Files that are only named in the text
    /// are found there.
    pub files: Vec<FileUse>,
}

named_enum! {
    /// How a tool call ended.
    Outcome {
        /// Without a reported failure.
        Done = "done",
        /// With a failure, or an exit code other than 0.
        Failed = "failed",
        /// The person or the client refused or stopped it.
        Cancelled = "cancelled",
    }
}

/// A tool call, told by the turn that makes it (`outcome` `None`), by the one that answers it, or
/// by one that does both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// The agent's own id of the call, where there is one: binds call and answer.
    pub call_id: Option<String>,
    /// The tool's name; empty in an answer that does not say it.
    pub name: String,
    /// How it ended.
    pub outcome: Option<Outcome>,
}

named_enum! {
    /// What was done to a file.
    FileAction {
        /// Named only.
        Mentioned = "mentioned",
        /// Looked into, or given to the model.
        Read = "read",
        /// Created, changed, or proposed to be.
        Written = "written",
    }
}

/// A file that a turn touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// As recorded: absolute, or relative to the directory at the time.
    pub path: String,
    /// What was done.
    pub action: FileAction,
}
