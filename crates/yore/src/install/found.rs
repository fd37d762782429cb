//! Finds yore's entries in the agents' files as they are now.
//!
//! - [`installed`]: all of yore's entries on a computer
//! - [`is_as_written`]: compares a file of yore's own with the text that it should have
//! - [`Installed`]: one entry

use std::path::PathBuf;

use super::agent::Agent;
use super::edit::{Content, EditError};
use super::file::{self, FileError};
use super::machine::Machine;
use super::what::{Call, What};
use super::{Purpose, Scope, Wanted};
use crate::install::command::Program;

/// One entry of yore's in an agent's file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Installed {
    /// The agent's name, as `yore install` takes it.
    pub agent: &'static str,
    /// Path of the file.
    pub file: PathBuf,
    /// User, or the project that the command runs in.
    pub scope: Scope,
    /// The entry.
    pub what: What,
}

/// Returns all of yore's entries in the files of these agents, for the user and for the project.
pub fn installed(agents: &[Agent], machine: &Machine<'_>) -> Vec<Installed> {
    let nobody = Program { path: String::new(), data_dir: None };
    let mut all: Vec<Installed> = Vec::new();
    for agent in agents {
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

/// Returns whether a file that is entirely yore's has the text that `yore install` would write now.
pub fn is_as_written(agent: &Agent, one: &Installed, machine: &Machine<'_>, program: &Program) -> bool {
    let text = file::read(&one.file).ok().flatten();
    let edits = (agent.edits)(&Wanted { machine, program, scope: one.scope, purpose: Purpose::Take });
    edits.iter().any(|edit| match &edit.content {
        Content::Whole(whole) => edit.path == one.file && text.as_ref() == Some(&whole.text),
        _ => false,
    })
}
