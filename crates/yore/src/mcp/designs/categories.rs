//! `get_category_summary`: the summary of a category of memories, each line with the id of its source.

use std::sync::Arc;

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_engine::{CategoriesRequest, CategorySummary};

use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult, Exit};
use crate::fence::{clean, fenced};
use crate::mcp::access::{Access, Chosen};
use crate::mcp::answer::Answer;
use crate::mcp::arguments::{needed, parse};
use crate::mcp::tools::{Call, Effect, described};
use crate::results;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OfCategory {
    /// Category name (e.g., authentication, database)
    category: String,
}

pub(super) fn tool(name: &'static str) -> Result<Tool, String> {
    let description = "Get what is known about a category of memories in this project: what holds, decisions with reasons, rules, solutions and open \
         points, each line with the id that `show` opens.";
    described::<OfCategory>(name, "Summary of a category", description, Effect::Reads)
}

pub(super) async fn summary(call: Call) -> CliResult<Answer> {
    let OfCategory { category } = parse(call.arguments)?;
    let category = needed("category", &category)?;
    let access = Arc::clone(&call.access);
    let found = call.access.handle.with(move |memory| known(memory, &access, &category)).await?;
    let ids = found.summary.lines.iter().map(|line| line.source.to_string()).collect();
    Ok(Answer::recalled(told(&found), results::CategorySummary::from(&found), ids))
}

/// Returns a summary as agents get it: between marks.
pub fn told(found: &CategorySummary) -> String {
    fenced(&[clean(found.summary.markdown().trim_end())])
}

/// Returns the request for the categories of the projects that the settings select; `None`: no project is selected.
pub fn request(memory: &mut MemoryClient, access: &Access) -> CliResult<Option<CategoriesRequest>> {
    Ok(match access.projects(memory, None)? {
        Chosen::All => Some(CategoriesRequest::default()),
        Chosen::Only(project) => Some(CategoriesRequest { projects: vec![project], here: None }),
        Chosen::Nothing => None,
    })
}

/// Returns the category with a name, with its summary.
///
/// # Errors
/// `unknown-category`, with the names that there are.
pub fn known(memory: &mut MemoryClient, access: &Access, category: &str) -> CliResult<CategorySummary> {
    let mut names: Vec<String> = Vec::new();
    if let Some(request) = request(memory, access)? {
        if let Some(found) = memory.category_summary(request.clone(), category.to_owned())? {
            return Ok(found);
        }
        let known = memory.categories(request)?;
        names
            .extend(known.iter().flat_map(|known| std::iter::once(known).chain(&known.children)).map(|known| known.name.clone()));
    }
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(CliError {
        exit: Exit::Nothing,
        code: "unknown-category".to_owned(),
        message: format!("no category is called {category:?}"),
        hint: Some(format!("categories here: {known}; `recall` searches for anything else")),
    })
}
