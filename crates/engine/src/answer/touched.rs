//! Makes the rows of what is known about a file: the sessions that touched it, latest first, and memories that speak of it.

use std::collections::HashMap;

use yore_core::memory::{AnchorKind, Memory, Status};
use yore_core::time::UtcMillis;

use super::lists::row_of_memory;
use super::view::{Asked, Rows};
use crate::archive::sessions::TITLES;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::memories::MemoryList;
use crate::retrieve::ViewRow;
use crate::rules::{cut, plain};
use crate::store::{EpisodeKey, EpisodeSummary, MemoryFilter, SessionFilter, SessionOrder};

/// Most sessions and memories that are told, and most memories that are looked at.
const MOST_SESSIONS: usize = 8;
const MOST_MEMORIES: usize = 6;
const MOST_READ: usize = 2_000;
/// Longest row, in characters.
const ROW_CHARS: usize = 160;

#[derive(Default)]
struct Touched {
    written: u32,
    read: u32,
    last: UtcMillis,
}

impl Engine {
    pub(super) fn touched_rows(&self, asked: &Asked<'_>) -> Result<Rows, EngineError> {
        let names = &asked.request.filter.files;
        let is_named = |path: &str| names.iter().any(|name| ends_with(path, name));
        let mut touched: HashMap<EpisodeKey, Touched> = HashMap::new();
        for event in self.store().file_events(None)? {
            let is_then = asked.since.is_none_or(|since| event.at >= since) && asked.until.is_none_or(|until| event.at < until);
            if is_then && is_named(&event.path) {
                let known = touched.entry(event.episode).or_default();
                *(if event.is_written { &mut known.written } else { &mut known.read }) += 1;
                known.last = known.last.max(event.at);
            }
        }
        let filter = SessionFilter {
            projects: asked.projects.as_deref().unwrap_or_default(),
            without_documents: true,
            title: Some(TITLES),
            ..SessionFilter::default()
        };
        let mut sessions = match touched.is_empty() {
            true => Vec::new(),
            false => self.store().sessions(&filter, SessionOrder::Recent, usize::MAX >> 1)?,
        };
        sessions.retain(|session| touched.contains_key(&session.row));
        sessions.sort_by_key(|session| std::cmp::Reverse(touched[&session.row].last));
        let mut memories = self.memories_of_files(asked, &is_named)?;
        let all = sessions.len() + memories.len();
        sessions.truncate(MOST_SESSIONS);
        memories.truncate(MOST_MEMORIES);
        let mut rows: Vec<ViewRow> = sessions.iter().map(|session| row(session, &touched[&session.row])).collect();
        rows.extend(memories.iter().map(|memory| row_of_memory(memory, since(memory))));
        Ok(Rows { rows, all, ..Rows::default() })
    }

    /// Returns the memories that hold and speak of one of the named files, the latest first.
    fn memories_of_files(&self, asked: &Asked<'_>, is_named: &dyn Fn(&str) -> bool) -> Result<Vec<Memory>, EngineError> {
        let projects = self.project_ids_by_key()?;
        let filter = MemoryFilter {
            projects: asked.projects.as_ref().map(|keys| keys.iter().filter_map(|key| projects.get(key).copied()).collect()),
            with_global: true,
            statuses: vec![Status::Holds, Status::Contested],
            is_forgotten: Some(false),
            ..MemoryFilter::default()
        };
        let list = MemoryList { filter, limit: MOST_READ, ..MemoryList::default() };
        let is_about = |memory: &Memory| {
            let is_anchored = memory.anchors.iter().any(|anchor| anchor.kind == AnchorKind::SourceFile && is_named(&anchor.text));
            let is_mark =
                |letter: char| letter.is_whitespace() || matches!(letter, '`' | '"' | '\'' | '(' | ')' | ',' | ';' | ':');
            is_anchored || memory.statement.split(is_mark).any(|word| is_named(word.trim_end_matches('.')))
        };
        let mut found: Vec<Memory> = self.memories(&list)?.into_iter().map(|stored| stored.memory).collect();
        found.retain(is_about);
        found.sort_by_key(|memory| std::cmp::Reverse(since(memory)));
        Ok(found)
    }
}

fn since(memory: &Memory) -> UtcMillis {
    memory.valid_from.unwrap_or(memory.recorded)
}

/// Returns whether a path ends with a name, in whole components, ignoring case.
fn ends_with(path: &str, name: &str) -> bool {
    let folded = |text: &str| text.replace('\\', "/").trim_start_matches("./").to_lowercase();
    let (path, name) = (folded(path), folded(name));
    let before = path.strip_suffix(&name);
    !name.is_empty() && before.is_some_and(|before| before.is_empty() || before.ends_with('/') || name.starts_with('/'))
}

fn row(session: &EpisodeSummary, touched: &Touched) -> ViewRow {
    let times = |count: u32, what: &str| (count > 0).then(|| format!("{what} {count}×"));
    let state: Vec<String> = [times(touched.written, "changed"), times(touched.read, "read")].into_iter().flatten().collect();
    let title = session.title.as_deref().map(plain).filter(|title| !title.is_empty());
    ViewRow {
        text: cut(&title.unwrap_or_else(|| "no title".to_owned()), ROW_CHARS),
        state: Some(state.join(", ")),
        at: Some(touched.last),
        opens: Some(session.id.short()),
        details: Vec::new(),
    }
}
