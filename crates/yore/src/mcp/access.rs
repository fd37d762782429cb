//! The context of a tool call: memory, current project, calling session.
//!
//! - [`Access`]: all of it
//! - [`Session`]: the calling session, whose ledger counts what it was given
//! - [`ChatReader`]: reads histories, if this process can
//! - [`asked_projects`], [`Chosen`]: the projects that an argument selects

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yore_core::scope::ScopeChoice;
use yore_core::time::UtcMillis;
use yore_engine::ProjectQuery;
use yore_sources::project_names::{ProjectNames, names_of};

use super::answer::Answer;
use super::arguments::{given, usage};
use super::deep::DeepReader;
use super::progress::Progress;
use crate::agents::CLAUDE_CODE;
use crate::engine_handle::{EngineHandle, MemoryClient, now};
use crate::error::{CliError, CliResult, Exit};
use crate::inject::budget::tokens;
use crate::inject::ledger::{self, Entry};
use crate::results::Ingestion;

/// Argument that selects every project.
pub const ALL_PROJECTS: &str = "all";

/// Everything that tools can use.
#[derive(Clone)]
pub struct Access {
    /// The memory, opened when it is needed.
    pub handle: EngineHandle,
    /// The current project: the default of calls that name none.
    pub here: Option<ProjectNames>,
    /// The calling session, if the agent identifies it.
    pub session: Option<Session>,
    /// Reads waiting conversations, if this process can.
    pub reader: Option<ChatReader>,
    /// Has a language model read an archive, if this process can.
    pub deep: Option<DeepReader>,
}

/// The calling session, and the data directory with the ledger of what it was given.
#[derive(Clone, Debug)]
pub struct Session {
    /// The data directory.
    pub directory: PathBuf,
    /// The agent's own id of the session.
    pub id: String,
}

/// Filter for the conversations to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChatsToRead {
    /// Only those last used at this time or later.
    pub since: Option<UtcMillis>,
    /// Only those with code blocks.
    pub has_code: bool,
}

/// Reads waiting conversations. Reports its progress, and returns a report as data and as lines.
pub type ChatReader = Arc<dyn Fn(ChatsToRead, &Progress) -> CliResult<(Ingestion, Vec<String>)> + Send + Sync>;

impl Access {
    /// Records in the session's ledger what it was given.
    pub fn count(&self, tool: &str, answer: &Answer, micros: u64) {
        let Some(Session { directory, id }) = self.session.as_ref().filter(|_| answer.is_recalled) else { return };
        let entry = Entry {
            at_ms: now(),
            agent: CLAUDE_CODE.to_owned(),
            event: tool.to_owned(),
            turns: answer.turns.clone(),
            tokens: tokens(&answer.text),
            micros,
            directory: self.directory().map(str::to_owned),
            ..Entry::default()
        };
        // The answer is given even if it cannot be counted.
        let _ = ledger::append(directory, id, &entry);
    }

    /// Returns the id of the calling session, if the agent identifies it.
    pub fn asking(&self) -> Option<String> {
        self.session.as_ref().map(|session| session.id.clone())
    }

    /// Returns the directory of the current project.
    pub fn directory(&self) -> Option<&str> {
        self.here.as_ref()?.directory()
    }

    /// Returns the names of the project given by name, id or directory. Without one, returns those of the
    /// current project; none if all projects are meant.
    pub fn names_of_project(&self, memory: &mut MemoryClient, project: Option<String>) -> CliResult<Option<ProjectNames>> {
        match given(project) {
            None => Ok(self.here.clone()),
            Some(name) if name == ALL_PROJECTS => Ok(None),
            Some(name) => directory_of_project(memory, &name).map(|directory| Some(names_of(&directory))),
        }
    }

    /// Returns the directory whose project a new note belongs to: that of the project with this name, else
    /// the current one if it is a project. `None`: the note applies everywhere.
    pub fn directory_of_note(&self, memory: &mut MemoryClient, project: Option<String>) -> CliResult<Option<String>> {
        if let Some(name) = given(project) {
            return directory_of_project(memory, &name).map(Some);
        }
        match &self.here {
            Some(here) => memory.directory_of_note(here.clone()),
            None => Ok(None),
        }
    }

    /// Returns the directory of the current project, for notes that must stay in it; none outside of a
    /// project. It is an error to name another project.
    pub fn own_directory(&self, memory: &mut MemoryClient, named: Option<String>) -> CliResult<Option<String>> {
        if let Some(name) = given(named) {
            let Some((here, directory)) = self.here.as_ref().zip(self.directory()) else {
                return Err(usage("your project is unknown; start the agent in its directory"));
            };
            let own = memory.find_project(ProjectQuery::Directory(here.clone()))?;
            let is_name = |known: &str| known.eq_ignore_ascii_case(&name);
            let is_own = is_name(&here.name)
                || directory == name
                || own.as_ref().is_some_and(|own| is_name(&own.name))
                || own.as_ref().zip(memory.find_project(query(&name))?).is_some_and(|(own, other)| own.id == other.id);
            if !is_own {
                return Err(usage(format!(
                    "what is kept without the person's agreement applies to your own project ({}) only; `remember` asks for agreement",
                    own.as_ref().map_or(here.name.as_str(), |own| own.name.as_str())
                )));
            }
        }
        self.directory_of_note(memory, None)
    }

    /// Returns the projects of a list: the named one, else those that the settings select.
    pub fn projects(&self, memory: &mut MemoryClient, project: Option<String>) -> CliResult<Chosen> {
        let configured = crate::recall_request::request("", self.handle.config(), None).filter.scope;
        let (scope, here) = asked_projects(project, configured, self.here.clone());
        match scope {
            ScopeChoice::All => return Ok(Chosen::All),
            ScopeChoice::Projects(mut names) => return Ok(names.pop().map_or(Chosen::Nothing, Chosen::Only)),
            ScopeChoice::Current | ScopeChoice::CurrentOnly => {}
        }
        let own = match here {
            Some(here) => memory.find_project(ProjectQuery::Directory(here))?,
            None => None,
        };
        Ok(match own {
            Some(project) => Chosen::Only(project.id.to_string()),
            None if scope == ScopeChoice::CurrentOnly => Chosen::Nothing,
            None => Chosen::All,
        })
    }
}

/// A selection of projects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// All projects.
    All,
    /// The one with this name, id or directory.
    Only(String),
    /// No project: the settings allow only the current one, and there is none.
    Nothing,
}

/// Returns the scope that an argument selects, and the current project for it. A directory selects its
/// project. Without an argument, both are unchanged.
pub fn asked_projects(
    project: Option<String>,
    configured: ScopeChoice,
    here: Option<ProjectNames>,
) -> (ScopeChoice, Option<ProjectNames>) {
    match given(project) {
        Some(name) if name == ALL_PROJECTS => (ScopeChoice::All, here),
        Some(name) if Path::new(&name).is_absolute() => (ScopeChoice::CurrentOnly, Some(names_of(&name))),
        Some(name) => (ScopeChoice::Projects(vec![name]), here),
        None => (configured, here),
    }
}

/// A project by what a tool's argument names: a directory where it is an absolute path, else a name or id.
fn query(named: &str) -> ProjectQuery {
    if Path::new(named).is_absolute() { ProjectQuery::Directory(names_of(named)) } else { ProjectQuery::Name(named.to_owned()) }
}

fn directory_of_project(memory: &mut MemoryClient, name: &str) -> CliResult<String> {
    if Path::new(name).is_absolute() {
        return Ok(name.to_owned());
    }
    let found = memory.find_project(query(name))?;
    let directory = found.and_then(|project| project.aliases.into_iter().find(|(kind, _)| kind == "directory"));
    if let Some((_, recorded)) = directory {
        return Ok(recorded);
    }
    let known: Vec<String> = memory.projects()?.into_iter().take(10).map(|project| project.name).collect();
    Err(CliError {
        exit: Exit::Nothing,
        code: "unknown-project".to_owned(),
        message: format!("no project with a directory is called {name:?}"),
        hint: Some(if known.is_empty() {
            "leave project out".to_owned()
        } else {
            format!("known projects: {}", known.join(", "))
        }),
    })
}
