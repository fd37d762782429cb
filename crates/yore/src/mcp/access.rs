//! The context of tool calls: the memory, the current project, and the calling session.
//!
//! - [`Access`]: all of it
//! - [`Session`]: the calling session, whose ledger counts what it was given
//! - [`ChatReader`]: reads histories, if this process can
//! - [`asked_projects`], [`Chosen`]: the projects that an argument selects

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use yore_core::scope::{ProjectAlias, ScopeChoice, normalize_directory};
use yore_core::time::UtcMillis;
use yore_engine::ProjectSummary;
use yore_engine::ingest::{ProjectNames, names_of};

use super::answer::Answer;
use super::arguments::{given, usage};
use super::progress::Progress;
use crate::agents::CLAUDE_CODE;
use crate::engine_handle::{EngineHandle, Memory, now};
use crate::error::{CliError, CliResult, Exit};
use crate::inject::ledger::{self, Entry};
use crate::inject::text::tokens;

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
pub type ChatReader = Arc<dyn Fn(ChatsToRead, &Progress) -> CliResult<(Value, Vec<String>)> + Send + Sync>;

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

    /// Returns the directory of the current project.
    pub fn directory(&self) -> Option<&str> {
        let (_, recorded) = self.here.as_ref()?.aliases.iter().find(|(alias, _)| matches!(alias, ProjectAlias::Directory(_)))?;
        Some(recorded)
    }

    /// Returns the names of the project given by name, id or directory. Without one, returns those of the
    /// current project; none if all projects are meant.
    pub fn names_of_project(&self, memory: &mut Memory, project: Option<String>) -> CliResult<Option<ProjectNames>> {
        match given(project) {
            None => Ok(self.here.clone()),
            Some(name) if name == ALL_PROJECTS => Ok(None),
            Some(name) => directory_of_project(memory, &name).map(|directory| Some(names_of(&directory))),
        }
    }

    /// Returns the directory whose project a new note belongs to: that of the project with this name, else
    /// the current one if it is a project. `None`: the note applies everywhere.
    pub fn directory_of_note(&self, memory: &mut Memory, project: Option<String>) -> CliResult<Option<String>> {
        if let Some(name) = given(project) {
            return directory_of_project(memory, &name).map(Some);
        }
        let Some((here, directory)) = self.here.as_ref().zip(self.directory()) else { return Ok(None) };
        let is_repository = here.aliases.iter().any(|(alias, _)| matches!(alias, ProjectAlias::GitDir(_)));
        let is_project = is_repository || project_here(&memory.projects()?, here).is_some();
        Ok(is_project.then(|| directory.to_owned()))
    }

    /// Returns the directory of the current project, for notes that must stay in it; none outside of a
    /// project. It is an error to name another project.
    pub fn own_directory(&self, memory: &mut Memory, named: Option<String>) -> CliResult<Option<String>> {
        if let Some(name) = given(named) {
            let Some((here, directory)) = self.here.as_ref().zip(self.directory()) else {
                return Err(usage("it is not known which project you work in; start the agent in it"));
            };
            let known = memory.projects()?;
            let own = project_here(&known, here);
            let is_own = here.name.eq_ignore_ascii_case(&name)
                || own.is_some_and(|own| own.name.eq_ignore_ascii_case(&name) || own.id.to_string().starts_with(&name))
                || directory_of_project(memory, &name).is_ok_and(|other| {
                    other == directory
                        || own.is_some_and(|own| project_here(&known, &names_of(&other)).is_some_and(|it| it.id == own.id))
                });
            if !is_own {
                return Err(usage(format!(
                    "what is kept without the person's agreement holds in the project you work in ({}) only; `remember` asks for one",
                    own.map_or(here.name.as_str(), |own| own.name.as_str())
                )));
            }
        }
        self.directory_of_note(memory, None)
    }

    /// Returns the projects of a list: the named one, else those that the settings select.
    pub fn projects(&self, memory: &mut Memory, project: Option<String>) -> CliResult<Chosen> {
        let configured = crate::ask::request("", self.handle.config(), None).filter.scope;
        let (scope, here) = asked_projects(project, configured, self.here.clone());
        match scope {
            ScopeChoice::All => return Ok(Chosen::All),
            ScopeChoice::Projects(mut names) => return Ok(names.pop().map_or(Chosen::Nothing, Chosen::Only)),
            ScopeChoice::Current | ScopeChoice::CurrentOnly => {}
        }
        let known = memory.projects()?;
        Ok(match here.as_ref().and_then(|here| project_here(&known, here)) {
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

/// Returns the known project of a directory: by its surest name, else by the nearest directory above it, but
/// none above a repository of its own.
fn project_here<'p>(known: &'p [ProjectSummary], here: &ProjectNames) -> Option<&'p ProjectSummary> {
    let by_name = here.aliases.iter().find_map(|(alias, met)| {
        let is_this = |(kind, recorded): &(String, String)| {
            kind == alias.kind() && (recorded == met || normalize_directory(recorded) == alias.value())
        };
        known.iter().find(|project| project.aliases.iter().any(is_this))
    });
    let is_directory = |project: &&ProjectSummary, above: &str| {
        project.aliases.iter().any(|(kind, recorded)| kind == "directory" && normalize_directory(recorded) == above)
    };
    by_name.or_else(|| here.directories_above().find_map(|above| known.iter().find(|project| is_directory(project, above))))
}

fn directory_of_project(memory: &mut Memory, name: &str) -> CliResult<String> {
    if Path::new(name).is_absolute() {
        return Ok(name.to_owned());
    }
    let projects = memory.projects()?;
    let is_meant = |candidate: &str, id: &str| candidate.eq_ignore_ascii_case(name) || id == name;
    let found = projects.iter().find(|project| is_meant(&project.name, &project.id.to_string()));
    let directory = found.and_then(|project| project.aliases.iter().find(|(kind, _)| kind == "directory"));
    directory.map(|(_, recorded)| recorded.clone()).ok_or_else(|| CliError {
        exit: Exit::Nothing,
        code: "unknown-project".to_owned(),
        message: format!("no project with a directory is known as {name:?}"),
        hint: Some(match projects.iter().take(10).map(|project| project.name.as_str()).collect::<Vec<_>>().join(", ") {
            known if known.is_empty() => "leave project out".to_owned(),
            known => format!("known are {known}"),
        }),
    })
}

#[cfg(test)]
mod tests {
    use yore_testing::{Memory, SessionBuilder};

    use super::*;

    #[test]
    fn repository_of_its_own_is_not_the_project_around_it() {
        let home = tempfile::tempdir().unwrap();
        let path = |below: &str| home.path().join(below).to_str().unwrap().to_owned();
        for directory in ["dev/fresh/.git", "dev/fresh/src", "dev/known/.git", "dev/known/src"] {
            std::fs::create_dir_all(path(directory)).unwrap();
        }
        let memory = Memory::new();
        for (seed, directory) in ["dev", "dev/known"].into_iter().enumerate() {
            let mut session = SessionBuilder::new(seed as u64).cwd(&path(directory));
            session.human("mind the tide");
            memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
        }
        memory.learn();
        let known = memory.engine().projects().unwrap();
        let here = |below: &str| project_here(&known, &names_of(&path(below))).map(|project| project.name.as_str());
        assert_eq!([here("dev/fresh"), here("dev/fresh/src")], [None, None]);
        assert_eq!([here("dev"), here("dev/loose/src")], [Some("dev"), Some("dev")]);
        assert_eq!([here("dev/known"), here("dev/known/src")], [Some("known"), Some("known")]);
    }
}
