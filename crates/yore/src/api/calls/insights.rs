//! Insights: what happens again and again in the work of a project.

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::insight::InsightKind;
use yore_engine::InsightsRequest;

use super::{all_named, limit};
use crate::api::route::{Caller, Nothing, Route};
use crate::error::CliResult;
use crate::results::Insight;

/// Most insights of each kind and project, unless a caller says otherwise.
const LIMIT: usize = 5;

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/insights", "Lists what happens again and again in the work of projects", &["insights"], list),
        Route::change(Method::POST, "/insights", "Finds what happens again and again, and keeps it", &["renew_insights"], renew),
    ]
}

/// The insights that are listed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Only of these projects
    pub project: Vec<String>,
    /// Only of these kinds: error, first_try, read_before, instruction, reversal
    pub kind: Vec<String>,
    /// Most of each kind and project; 5 unless it is given
    pub limit: Option<usize>,
    /// Finds them now, which takes seconds, in the place of those that upkeep found last
    pub anew: bool,
}

/// The number of insights that are kept.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Renewed {
    /// Their number
    pub found: u64,
}

/// Finds insights and keeps them.
pub fn renew(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Renewed> {
    Ok(Renewed { found: caller.memory.renew_insights()? })
}

/// Lists insights.
pub fn list(caller: &mut Caller<'_>, list: List) -> CliResult<Vec<Insight>> {
    let known: Vec<&str> = InsightKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let kinds = all_named("kind", &list.kind, InsightKind::parse, &known)?;
    let request =
        InsightsRequest { projects: list.project, here: None, kinds, limit: limit(list.limit, LIMIT)?, anew: list.anew };
    Ok(caller.memory.insights(request)?.iter().map(Insight::from).collect())
}
