//! The questions that an event asks of the memory.

use yore_core::relevance::TriggerKind;

/// A question that an event asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// Where things stand.
    Brief(Beginning),
    /// What concerns a prompt.
    Prompt(String),
    /// What was said about a file.
    File(String),
    /// Where the same error was met, and what came of it.
    Failure(String),
    /// Nothing: the session forgets what it was given, and nothing may be told.
    Forgets,
}

/// How a session begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    /// It was compacted, and needs to be told of itself.
    pub is_compacted: bool,
    /// It forgot what it was given before.
    pub is_reset: bool,
    /// Who is told, and when.
    pub moment: Moment,
}

/// Who is told where things stand, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moment {
    /// A session, as it begins.
    #[default]
    Start,
    /// A session, with its first prompt: the agent keeps that, or hears nothing before.
    FirstPrompt,
    /// A session, each time that it begins or is resumed: the agent does not keep it.
    EachStart,
    /// A sub-agent, as it begins: standing notes only, for its errand was given to it.
    SubAgent,
}

impl Question {
    /// The kind of the question, the same for all events that ask it, as the ledger keeps it.
    pub fn kind(&self) -> TriggerKind {
        match self {
            Self::Brief(_) => TriggerKind::Brief,
            Self::Prompt(_) => TriggerKind::Prompt,
            Self::File(_) => TriggerKind::Edit,
            Self::Failure(_) => TriggerKind::Failure,
            Self::Forgets => TriggerKind::Forgot,
        }
    }

    /// Whether the session forgets with it what it was given before.
    pub fn is_reset(&self) -> bool {
        matches!(self, Self::Brief(Beginning { is_reset: true, .. }) | Self::Forgets)
    }
}
