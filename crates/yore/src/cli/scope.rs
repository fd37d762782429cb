//! The projects that a list is of: those that are named, that of this directory, or all.

use clap::Args;
use yore_engine::ProjectQuery;

use super::Context;
use crate::config::RecallScope;
use crate::error::CliResult;

/// Arguments that choose projects.
#[derive(Args, Debug, Default)]
pub struct ScopeArguments {
    /// Only this project: name, id or directory; may be repeated [default: the current one, or all outside of projects]
    #[arg(short = 'p', long = "project", value_name = "PROJECT", value_parser = crate::cli::project)]
    pub named: Vec<String>,
    /// All projects
    #[arg(short, long, conflicts_with = "named")]
    pub all: bool,
}

impl ScopeArguments {
    /// Returns the chosen projects; none for all.
    pub fn projects(&self, context: &Context) -> CliResult<Vec<String>> {
        projects(&self.named, self.all, context)
    }
}

/// Returns the projects that are named, or that of this directory, or none for all.
pub fn projects(named: &[String], is_all: bool, context: &Context) -> CliResult<Vec<String>> {
    let configured = context.settings.config().recall.scope == RecallScope::All;
    if !named.is_empty() || is_all || configured {
        return Ok(named.to_vec());
    }
    let Some(here) = context.settings.project_here() else { return Ok(Vec::new()) };
    let found = context.settings.memory()?.find_project(ProjectQuery::Directory(here))?;
    Ok(found.map(|project| project.id.to_string()).into_iter().collect())
}
