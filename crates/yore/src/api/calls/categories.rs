//! Categories of memories, and the summary of one.

use schemars::JsonSchema;
use serde::Deserialize;
use yore_engine::CategoriesRequest;

use super::none;
use crate::api::route::{Caller, Route};
use crate::error::CliResult;
use crate::results::{CategorySummary, MemoryCategory};

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/categories", "Lists categories of memories, each with its parts", &["categories"], list),
        Route::get("/categories/{name}", "Returns a category with its summary", &["category_summary"], open),
    ]
}

/// Whose categories are listed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Only of memories of these projects
    pub project: Vec<String>,
}

/// Lists categories.
pub fn list(caller: &mut Caller<'_>, List { project }: List) -> CliResult<Vec<MemoryCategory>> {
    let found = caller.memory.categories(CategoriesRequest { projects: project, here: None })?;
    Ok(found.iter().map(MemoryCategory::from).collect())
}

/// A category.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its name, or one of its other names
    pub name: String,
    /// Only of memories of these projects
    #[serde(default)]
    pub project: Vec<String>,
}

/// Returns a category.
pub fn open(caller: &mut Caller<'_>, Named { name, project }: Named) -> CliResult<CategorySummary> {
    let found = caller.memory.category_summary(CategoriesRequest { projects: project, here: None }, name.clone())?;
    found.as_ref().map(CategorySummary::from).ok_or_else(|| none("unknown-category", format!("there is no category {name:?}")))
}
