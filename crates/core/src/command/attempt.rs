//! A simple command that an agent ran, with what became of it.

use super::cause::CauseKind;

/// A simple command that was run, or a whole command of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt<Turn> {
    /// Its normal form; see [`super::normal`].
    pub command: String,
    /// Name of its program.
    pub program: String,
    /// The directory in which it ran, within the one in which the conversation began; empty for that one.
    pub directory: String,
    /// Version of the program, if the conversation asked for it before.
    pub version: Option<String>,
    /// Exit code, if it was recorded.
    pub exit: Option<i64>,
    /// How it failed; `None`: it passed.
    pub failed: Option<Failed>,
    /// The turn that ran it.
    pub turn: Turn,
}

/// How a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Kind of the cause.
    pub kind: CauseKind,
    /// Key under which the failure is known again.
    pub cause: String,
    /// The line of the output that tells the cause.
    pub error: String,
    /// The form of the command that passed next in the conversation.
    pub next: Option<String>,
}

impl<Turn> Attempt<Turn> {
    /// Returns the attempt with another name of its turn.
    pub fn at_turn<Other>(self, name: impl FnOnce(Turn) -> Other) -> Attempt<Other> {
        let Self { command, program, directory, version, exit, failed, turn } = self;
        Attempt { command, program, directory, version, exit, failed, turn: name(turn) }
    }
}
