//! What stands in the agents' files now, read back as the agents read it.
//!
//! - [`installed`]: everything of yore's on a computer
//! - [`is_as_written`]: whether a file of yore's own says what it should
//! - [`Installed`], [`What`], [`Call`]: one thing of it, and how the agent would run it

use std::path::PathBuf;
use std::time::Duration;

use super::agents::{AGENTS, Agent};
use super::edit::{Content, EditError};
use super::file::{self, FileError};
use super::machine::Machine;
use super::{Part, Purpose, Scope, Wanted};
use crate::install::command::Program;

/// One thing of yore's in an agent's file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Installed {
    /// The agent's name, as `yore install` takes it.
    pub agent: &'static str,
    /// The file.
    pub file: PathBuf,
    /// For the person, or for the project that is asked from.
    pub scope: Scope,
    /// What it is.
    pub what: What,
}

/// What stands in an agent's file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum What {
    /// A hook.
    Hook {
        /// The event that it is run for.
        event: String,
        /// What is run.
        call: Call,
        /// Which tools or sources it is run for; all where it says nothing.
        matcher: Option<String>,
        /// How long the agent waits for it; nothing where the agent decides.
        timeout: Option<Duration>,
    },
    /// The MCP server.
    Mcp {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables that are set for it.
        env: Vec<(String, String)>,
    },
    /// A text that the agent reads.
    Rules,
    /// The status line.
    StatusLine {
        /// What is run.
        call: Call,
    },
    /// A program text that the agent runs, and that runs yore.
    Plugin {
        /// The program that it runs.
        program: String,
        /// The arguments behind agent and event.
        args: Vec<String>,
    },
    /// Yore cannot read this file, for this reason; the agent may.
    Unreadable(String),
}

impl What {
    /// The part that it belongs to; none of a file that cannot be read.
    pub fn part(&self) -> Option<Part> {
        match self {
            Self::Hook { .. } | Self::Plugin { .. } => Some(Part::Hooks),
            Self::Mcp { .. } => Some(Part::Mcp),
            Self::Rules => Some(Part::Rules),
            Self::StatusLine { .. } => Some(Part::StatusLine),
            Self::Unreadable(_) => None,
        }
    }
}

/// How an agent runs yore.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Call {
    /// A command line, for the shell.
    Line(String),
    /// A program and its arguments.
    Program {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// A file of yore's own that the agent starts, and that calls yore.
    File {
        /// The file.
        file: PathBuf,
        /// The program that it calls.
        program: String,
    },
}

/// Everything of yore's in the files of all agents, for the person and for the project.
pub fn installed(machine: &Machine<'_>) -> Vec<Installed> {
    let nobody = Program { path: String::new(), data_dir: None };
    let mut all: Vec<Installed> = Vec::new();
    for agent in &AGENTS {
        for scope in [Scope::User, Scope::Project] {
            if scope == Scope::Project && machine.project.is_none() {
                continue;
            }
            let wanted = Wanted { machine, program: &nobody, scope, purpose: Purpose::Take };
            for edit in (agent.edits)(&wanted) {
                let found = match file::read(&edit.path) {
                    Ok(None) | Err(FileError::Directory) => continue,
                    Ok(Some(text)) => edit.content.found(&text, machine).map_err(|error| match error {
                        EditError::Unreadable(why) => why,
                        error => error.to_string(),
                    }),
                    Err(error) => Err(error.to_string()),
                };
                let found = found.unwrap_or_else(|problem| vec![What::Unreadable(problem)]);
                for mut what in found {
                    if let What::Hook { call: Call::File { file, .. }, .. } = &mut what {
                        file.clone_from(&edit.path);
                    }
                    let one = Installed { agent: agent.name, file: edit.path.clone(), scope, what };
                    if !all.contains(&one) {
                        all.push(one);
                    }
                }
            }
        }
    }
    all
}

/// Whether a file that is all of yore's says what `yore install` would write now.
pub fn is_as_written(one: &Installed, machine: &Machine<'_>, program: &Program) -> bool {
    let Some(agent) = Agent::named(one.agent) else { return false };
    let text = file::read(&one.file).ok().flatten();
    let edits = (agent.edits)(&Wanted { machine, program, scope: one.scope, purpose: Purpose::Take });
    edits.iter().any(|edit| match &edit.content {
        Content::Whole(whole) => edit.path == one.file && text.as_ref() == Some(&whole.text),
        _ => false,
    })
}
