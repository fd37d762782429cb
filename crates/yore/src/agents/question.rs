//! Questions that an agent's event asks the memory: about a session, a prompt, files, an error or a command.

use yore_core::relevance::TriggerKind;

/// A question that an event asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// A brief on the state of the project.
    Brief(Beginning),
    /// Passages that match a prompt.
    Prompt(String),
    /// Earlier turns about a file.
    File(String),
    /// Earlier cases of the same error, and their outcome.
    Failure(String),
    /// Facts that speak against a command.
    Command(Ran),
    /// No question: the agent's turn ends, and it may be asked to record what it learned.
    Distil,
    /// No question: the session lost the text it was given, and no answer may be returned.
    Forgets,
}

/// A command that an agent runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The command.
    pub command: String,
    /// The directory in which it is run, if the call names one.
    pub directory: Option<String>,
    /// True if it failed; `None`: it is about to run.
    pub has_failed: Option<bool>,
}

/// How a session begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    /// The session was compacted and needs a brief about itself.
    pub is_compacted: bool,
    /// The session lost the text it was given before.
    pub is_reset: bool,
    /// The recipient of the brief, and the time.
    pub moment: Moment,
}

/// The recipient of a brief, and the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moment {
    /// A session, as it begins.
    #[default]
    Start,
    /// A session, with its first prompt: the agent keeps text only there, or reads no answer before.
    FirstPrompt,
    /// A session, each time it begins or is resumed: the agent does not keep the text.
    EachStart,
    /// A sub-agent, as it begins. Standing notes only, because it was given its task.
    SubAgent,
}

impl Question {
    /// Returns the kind of the question as the ledger keeps it, the same for all events that ask it.
    pub fn kind(&self) -> TriggerKind {
        match self {
            Self::Brief(_) => TriggerKind::Brief,
            Self::Prompt(_) => TriggerKind::Prompt,
            Self::File(_) => TriggerKind::Edit,
            Self::Failure(_) => TriggerKind::Failure,
            Self::Command(_) => TriggerKind::Command,
            Self::Distil => TriggerKind::Distil,
            Self::Forgets => TriggerKind::Forgot,
        }
    }

    /// True if the session also loses the text it was given before.
    pub fn is_reset(&self) -> bool {
        matches!(self, Self::Brief(Beginning { is_reset: true, .. }) | Self::Forgets)
    }
}
