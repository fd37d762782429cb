//! `get_project_patterns`: the patterns and standards that are recorded for a project.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_core::id::MemoryId;
use yore_core::memory::{Fields, Memory, MemoryKind, Status};
use yore_core::query::Wanted;
use yore_core::strength::refused_below;
use yore_engine::{MemoryFilter, MemoryList, StoredMemory};

use super::search::asked;
use crate::error::CliResult;
use crate::mcp::access::{Access, Chosen};
use crate::mcp::answer::Answer;
use crate::mcp::arguments::{given, needed, parse};
use crate::mcp::tools::notes::memory_block;
use crate::mcp::tools::{Call, Effect, described};
use crate::render::text::counted;
use crate::results::{MemoryRecord, ProjectPatterns, compact};

/// Kinds of memories that are patterns, first those that work has to follow.
const PATTERNS: [MemoryKind; 2] = [MemoryKind::Standard, MemoryKind::Pattern];
/// Maximum number of memories in an answer.
const LIMIT: usize = 30;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OfProject {
    /// Project name
    project: String,
    /// Category filter (e.g., authentication, database)
    category: Option<String>,
}

pub(super) fn tool(name: &'static str) -> Result<Tool, String> {
    let description = "Get the recorded patterns and standards of a project and those of all projects.";
    described::<OfProject>(name, "Patterns of a project", description, Effect::Reads)
}

pub(super) async fn patterns(call: Call) -> CliResult<Answer> {
    let OfProject { project, category } = parse(call.arguments)?;
    let (project, category) = (needed("project", &project)?, given(category));
    let near = match &category {
        Some(category) => near(&call.access, &project, category).await?,
        None => HashSet::new(),
    };
    let access = Arc::clone(&call.access);
    let mut found = call
        .access
        .handle
        .with(move |memory| {
            let mut list = MemoryList {
                filter: MemoryFilter {
                    kinds: PATTERNS.to_vec(),
                    statuses: vec![Status::Holds, Status::Contested],
                    with_global: true,
                    ..MemoryFilter::default()
                },
                // A category is looked for among all of them.
                limit: usize::MAX >> 1,
                ..MemoryList::default()
            };
            match access.projects(memory, Some(project))? {
                Chosen::All => {}
                Chosen::Only(project) => list.projects = vec![project],
                Chosen::Nothing => list.filter.projects = Some(Vec::new()),
            }
            memory.memories(list)
        })
        .await?;
    if let Some(category) = &category {
        found.retain(|stored| is_of(&stored.memory, category) || near.contains(&stored.memory.id));
        found.sort_by_key(|stored| !is_of(&stored.memory, category));
    } else {
        // Pinned and important ones first, each kind by its last change.
        let order = |stored: &StoredMemory| (!stored.memory.is_pinned, stored.memory.kind != PATTERNS[0]);
        found.sort_by(|a, b| order(a).cmp(&order(b)).then(b.memory.importance.total_cmp(&a.memory.importance)));
    }
    Ok(tell(found))
}

/// Returns the patterns that bear on a category.
async fn near(access: &Access, project: &str, category: &str) -> CliResult<HashSet<MemoryId>> {
    let mut request = asked(access, category, Some(project.to_owned()), Some(LIMIT), LIMIT)?;
    request.filter.wanted = Wanted::Memories;
    request.filter.memories.kinds = PATTERNS.to_vec();
    request.min_confidence = Some(refused_below(request.mode));
    let answer = access.handle.recall(request).await?;
    Ok(answer.hits.iter().filter_map(|hit| hit.id().memory()).collect())
}

/// Returns whether a memory names a category: as its own, as a tag, or among its words.
fn is_of(memory: &Memory, category: &str) -> bool {
    let category = category.trim().to_lowercase();
    let own = match &memory.fields {
        Fields::Standard { category, .. } => category.as_deref(),
        Fields::Pattern { use_case, .. } => use_case.as_deref(),
        _ => None,
    };
    own.into_iter().chain(memory.tags.iter().map(String::as_str)).any(|name| name.to_lowercase() == category)
        || memory.words().to_lowercase().split(|letter: char| !letter.is_alphanumeric()).any(|word| word == category)
}

fn tell(mut found: Vec<StoredMemory>) -> Answer {
    let left_out = found.len().saturating_sub(LIMIT);
    found.truncate(LIMIT);
    let mut data = ProjectPatterns { patterns: Vec::new(), left_out: (left_out > 0).then_some(left_out) };
    if found.is_empty() {
        let text = "No such pattern or standard is recorded. `recall` with words such as pattern, convention, always finds what was \
                    only said.";
        return Answer::new(text, compact(data));
    }
    let (mut blocks, mut ids) = (Vec::new(), Vec::new());
    for stored in &found {
        blocks.push(memory_block(stored));
        ids.push(stored.memory.id.to_string());
        data.patterns.push(MemoryRecord::of(stored, Vec::new()));
    }
    let mut text = format!(
        "{}. What stands between the marks is recalled data; what an agent wrote may be wrong.\n\n{}",
        counted(found.len() as u64, "pattern or standard"),
        blocks.join("\n\n")
    );
    if left_out > 0 {
        text.push_str(&format!("\n\n{left_out} more; a category narrows them."));
    }
    Answer::recalled(text, compact(data), ids)
}
