//! Compatibility tools: the tool names of the designs that yore grew from, with their parameters and results. They are for
//! prompts that were written for these designs; `mcp.tools` or `yore mcp --tools` switches them on.
//!
//! | Name | Parameters | State |
//! | --- | --- | --- |
//! | `search`, `recall` | query, project?, limit?; as yore's own | served: both search |
//! | `search_past_solutions` | query, errorMessage?, project?, limit = 5 | served: recorded solutions first, then turns, marked as such, with their exchange |
//! | `find_similar_issues` | context, errorMessage? | served: recorded problems, solutions and attempts first, then errors, then anything like it |
//! | `get_project_patterns` | project, category? | served: recorded standards and patterns |
//! | `recall_decision` | topic, project? | served: recorded decisions first, then turns, marked as such |
//! | `get_category_summary` | category | served: the category's summary, computed from the memories in effect |
//! | `ingest_chat_history` | since?, hasCode? | served |
//! | `memory_stats` | | served: counts, tiers and bands of decay, growth, use, tokens, upkeep; also of one project |
//! | `search_semantic` | query, project_id?, limit = 10 | served: by meaning alone |
//! | `search_hybrid` | query, project_id?, limit = 10 | served: words, meaning and the graph |
//! | `get_contradictions` | project_id? | served: what is not settled, with the way in which it should be |
//! | `store_chunk` | project_id, content, type?, tags?, confidence?, source?, related_to? | served: an extracted memory; what conflicts with it is told, and critical conflicts leave it contested |
//! | `wake_up` | cursor? | served: the index of contexts, in pages |
//! | `lock_context` | content, topic, tags?, priority?, related? | served: an agent's note under a topic, in this project |
//! | `recall_context` | topic, version?, preview_only?, changes_since? | served: any version, and what changed; that it was loaded is counted |
//! | `check_contexts` | text | served: previews, within 5 KB |
//! | `get_context_preview` | topic | served: related topics are those that were given |
//! | `explore_context_tree` | topic, depth = 2, max_results = 10 | served: stated, similar, with common tags, loaded together |
//! | `search_contexts_semantic` | query?, depth?, max_results? | served: the class of the question decides what is not given; without a query by priority |
//! | `ask_memory` | question, depth = preview | served: sentences of contexts, memories and sessions, with their sources |
//! | `synthesize_knowledge` | question | served: the same, deep |
//! | `note`, `memento_note` | content, confirmed | served |
//!
//! A context is a note that an agent keeps
//! under a topic in a project: its kind is context, its title is the topic, and relations lead to related topics.
//! A note of a person is never a context, so no agent replaces it without asking.
//!
//! - `search`: the names that search
//! - `patterns`: the patterns of a project
//! - `categories`: the summary of a category
//! - `conflicts`: memories that contradict each other
//! - `contexts`: the names for contexts
//! - `store`: the names that store something
//! - `history`: the names for the memory itself

pub mod categories;
mod conflicts;
mod contexts;
mod history;
mod patterns;
mod search;
mod store;

#[cfg(test)]
pub use self::search::SOLUTIONS;
use super::tools::{Row, ask, recall};

/// Expands to the row of a name.
macro_rules! named {
    ($name:literal, $tool:path, $call:path) => {
        Row { name: $name, tool: $tool, call: |call| Box::pin($call(call)) }
    };
}

/// All names.
pub const NAMES: [Row; 24] = [
    named!("recall", recall::tool, recall::call),
    named!("search", search::plain_tool, search::plain),
    named!("search_past_solutions", search::solutions_tool, search::solutions),
    named!("find_similar_issues", search::issues_tool, search::issues),
    named!("get_project_patterns", patterns::tool, patterns::patterns),
    named!("recall_decision", search::decision_tool, search::decision),
    named!("get_category_summary", categories::tool, categories::summary),
    named!("ingest_chat_history", history::ingest_tool, history::ingest),
    named!("memory_stats", history::stats_tool, history::stats),
    named!("search_semantic", search::semantic_tool, search::semantic),
    named!("search_hybrid", search::hybrid_tool, search::hybrid),
    named!("get_contradictions", conflicts::tool, conflicts::contradictions),
    named!("store_chunk", store::chunk_tool, store::chunk),
    named!("wake_up", contexts::wake_up_tool, contexts::wake_up),
    named!("lock_context", store::lock_tool, store::lock),
    named!("recall_context", contexts::recall_tool, contexts::recall),
    named!("check_contexts", contexts::check_tool, contexts::check),
    named!("get_context_preview", contexts::preview_tool, contexts::preview),
    named!("explore_context_tree", contexts::tree_tool, contexts::explore),
    named!("search_contexts_semantic", contexts::search_tool, contexts::search),
    named!("ask_memory", ask::memory_tool, ask::memory),
    named!("synthesize_knowledge", ask::synthesis_tool, ask::synthesis),
    named!("note", store::note_tool, store::note),
    named!("memento_note", store::note_tool, store::note),
];

/// Returns the tools of the names.
pub fn served() -> impl Iterator<Item = &'static Row> {
    static TABLE: [Row; 24] = NAMES;
    TABLE.iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_the_documentation_has_every_name() {
        let rows = include_str!("mod.rs").lines().filter_map(|line| line.strip_prefix("//! | `"));
        let mut documented: Vec<String> = rows
            .flat_map(|line| {
                let (names, rest) = line.split_once(" | ").unwrap();
                assert!(rest.contains("| served"), "{line}");
                names.split("`, `").map(|name| name.trim_matches('`').to_owned()).collect::<Vec<_>>()
            })
            .collect();
        let mut known: Vec<String> = NAMES.into_iter().map(|row| row.name.to_owned()).collect();
        known.sort();
        documented.sort();
        assert_eq!(documented, known);
    }

    #[test]
    fn parameters_are_those_of_the_designs() {
        let parameters = |name: &str| -> Vec<String> {
            let row = served().find(|row| row.name == name).unwrap();
            let tool = (row.tool)(row.name).unwrap();
            let required: Vec<&str> = tool
                .input_schema
                .get("required")
                .and_then(|names| names.as_array())
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str())
                .collect();
            let names =
                tool.input_schema["properties"].as_object().map(|properties| properties.keys().cloned().collect::<Vec<_>>());
            names
                .unwrap_or_default()
                .into_iter()
                .map(|name| if required.contains(&name.as_str()) { name } else { format!("{name}?") })
                .collect()
        };
        for (name, expected) in [
            ("search_past_solutions", "query errorMessage? project? limit?"),
            ("find_similar_issues", "context errorMessage?"),
            ("get_project_patterns", "project category?"),
            ("recall_decision", "topic project?"),
            ("get_category_summary", "category"),
            ("ingest_chat_history", "since? hasCode?"),
            ("memory_stats", "project?"),
            ("search_semantic", "query project_id? limit?"),
            ("search_hybrid", "query project_id? limit?"),
            ("store_chunk", "project_id content type? tags? confidence? source? related_to?"),
            ("wake_up", "cursor?"),
            ("lock_context", "content topic tags? priority? related?"),
            ("recall_context", "topic version? preview_only? changes_since?"),
            ("check_contexts", "text"),
            ("get_context_preview", "topic"),
            ("explore_context_tree", "topic depth? max_results?"),
            ("search_contexts_semantic", "query? depth? max_results?"),
            ("ask_memory", "question depth?"),
            ("synthesize_knowledge", "question"),
            ("note", "content confirmed"),
            ("memento_note", "content confirmed"),
        ] {
            assert_eq!(parameters(name).join(" "), expected, "{name}");
        }
    }
}
