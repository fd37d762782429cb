//! Makes the rows of lists: events by kind, statements by kind, and files by changes.

use std::collections::{BTreeMap, HashMap, HashSet};

use yore_core::event::{EventKind, EventState, is_ticket};
use yore_core::memory::{Memory, MemoryKind, Status};
use yore_core::query::{AnswerKind, Wanted};
use yore_core::time::UtcMillis;

use super::view::{Asked, Rows};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::memories::MemoryList;
use crate::retrieve::ViewRow;
use crate::rules::cut;
use crate::store::{EpisodeKey, EventFilter, MemoryFilter, ProjectKey, StoredEvent};

/// Most statements that are read for a list.
const MOST_STATEMENTS: usize = 500;
/// Longest row, in characters.
const ROW_CHARS: usize = 220;
/// Least confidence of a memory that a search proposes.
const LIKELY: f32 = 0.5;
/// Most memories that a search proposes for a subject.
const SEARCHED: usize = 20;
/// Beginning of the error that a tool of an agent gives for a call that it cannot carry out.
const OF_AGENTS_TOOLS: &str = "<tool_use_error>";
/// Milliseconds before the latest work after which the steps of a session are left behind.
const LEFT_BEHIND: i64 = 14 * 86_400_000;
/// Most files of a list.
const MOST_FILES: usize = 12;

impl Engine {
    /// Makes the rows of pull requests, issues, releases, commits, plans, refusals and errors.
    pub(super) fn event_rows(&self, asked: &Asked<'_>) -> Result<Rows, EngineError> {
        let kind = match asked.wanted.kind {
            AnswerKind::PullRequests => EventKind::PullRequest,
            AnswerKind::Issues => EventKind::Issue,
            AnswerKind::Releases => EventKind::Release,
            AnswerKind::Commits => EventKind::Commit,
            AnswerKind::Plans => EventKind::Plan,
            AnswerKind::Refusals => EventKind::Refusal,
            _ => EventKind::Error,
        };
        let folded = folded(self.store().events(&EventFilter { kinds: &[kind], ..asked.events() })?);
        let all = folded.len();
        // "pr 45" names one.
        let named: Vec<String> = match kind {
            EventKind::PullRequest | EventKind::Issue => {
                let words = asked.wanted.subject.split_whitespace();
                let named = words.filter_map(|word| {
                    let number = word.trim_start_matches('#');
                    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
                    if is_number { Some(format!("#{number}")) } else { is_ticket(word).then(|| word.to_owned()) }
                });
                named.collect()
            }
            _ => Vec::new(),
        };
        let is_of = |known: &Folded| {
            let event = &known.latest.event;
            if !named.is_empty() {
                return named.contains(&event.name);
            }
            asked.subject.is_in(&format!("{} {}", event.name, event.text)) && asked.wants(event.state)
        };
        let mut folded: Vec<Folded> = folded.into_iter().filter(is_of).collect();
        // A thing that is only seen in a period may be much older. Numbers grow: one above the least that was opened or done then is of then.
        let was_done = |known: &Folded| !known.latest.event.state.is_only_seen();
        if (asked.since.is_some() || asked.until.is_some()) && folded.iter().any(was_done) {
            let number = |known: &Folded| known.latest.event.name.strip_prefix('#')?.parse::<u64>().ok();
            let mut least: HashMap<Option<ProjectKey>, u64> = HashMap::new();
            for known in folded.iter().filter(|known| was_done(known)) {
                if let Some(number) = number(known) {
                    let least = least.entry(known.latest.project).or_insert(number);
                    *least = number.min(*least);
                }
            }
            let is_of_then = |known: &Folded| {
                number(known).is_some_and(|number| least.get(&known.latest.project).is_some_and(|least| number >= *least))
            };
            folded.retain(|known| was_done(known) || is_of_then(known));
        }
        if kind == EventKind::Error {
            // Errors that came back.
            folded.sort_by_key(|known| std::cmp::Reverse((known.sessions.len(), known.count)));
            if asked.subject.is_empty() {
                // A complaint of an agent's tool about a call is no error of the work.
                folded.retain(|known| known.count > 1 && !known.latest.event.text.starts_with(OF_AGENTS_TOOLS));
            }
        } else {
            folded.sort_by_key(|known| std::cmp::Reverse(known.latest.event.at));
        }
        Ok(Rows { rows: folded.into_iter().map(row_of_event).collect(), all, ..Rows::default() })
    }

    /// Makes the rows of statements of a kind, with the steps of agents that wait.
    pub(super) fn statement_rows(&self, asked: &Asked<'_>) -> Result<Rows, EngineError> {
        let kinds: &[MemoryKind] = match asked.wanted.kind {
            AnswerKind::Todos => &[MemoryKind::Todo],
            AnswerKind::Questions => &[MemoryKind::Question],
            AnswerKind::Problems => &[MemoryKind::Problem],
            AnswerKind::Decisions => &[MemoryKind::Decision],
            _ => &[MemoryKind::Standard, MemoryKind::Preference],
        };
        let is_open = kinds.iter().any(|kind| MemoryKind::OPEN.contains(kind));
        let projects = self.project_ids_by_key()?;
        let filter = MemoryFilter {
            projects: asked.projects.as_ref().map(|keys| keys.iter().filter_map(|key| projects.get(key).copied()).collect()),
            with_global: true,
            kinds: kinds.to_vec(),
            statuses: vec![Status::Holds, Status::Contested],
            is_open,
            is_forgotten: Some(false),
            ..MemoryFilter::default()
        };
        let list = MemoryList { filter, limit: MOST_STATEMENTS, ..MemoryList::default() };
        let mut found: Vec<Memory> = self.memories(&list)?.into_iter().map(|stored| stored.memory).collect();
        let mut all = found.len();
        let at = |memory: &Memory| memory.valid_from.unwrap_or(memory.recorded);
        let is_in_period =
            |at: UtcMillis| asked.since.is_none_or(|since| at >= since) && asked.until.is_none_or(|until| at < until);
        found.retain(|memory| is_in_period(at(memory)));
        found.sort_by_key(|memory| std::cmp::Reverse((memory.is_pinned, at(memory))));
        if !asked.subject.is_empty() {
            // Findings of a search by meaning come in its order; others that have the words stay.
            let near = self.statements_about(asked, kinds)?;
            let place = |memory: &Memory| near.iter().position(|id| *id == memory.id);
            found.retain(|memory| place(memory).is_some() || asked.subject.is_in(&memory.words()));
            found.sort_by_key(|memory| place(memory).unwrap_or(usize::MAX));
        }
        let mut rows: Vec<ViewRow> = found.iter().map(|memory| row_of_memory(memory, at(memory))).collect();
        if asked.wanted.kind == AnswerKind::Rules {
            let mut guides = self.guides(asked)?;
            // It tells about the project, and orders nothing.
            guides.retain(|guide| guide.name != "README.md");
            rows.extend(guides.iter().filter_map(|guide| guide.rules(asked)));
            all += guides.len();
        }
        if asked.wanted.kind == AnswerKind::Todos {
            let events = self.store().events(&EventFilter { kinds: &[EventKind::Todo], ..asked.events() })?;
            let is_waiting = |state| matches!(state, EventState::Pending | EventState::InProgress);
            // Nobody goes on with steps that an agent left long before the latest work, unless they are asked for by name or time.
            let mut latest: HashMap<Option<ProjectKey>, UtcMillis> = HashMap::new();
            for known in &events {
                let latest = latest.entry(known.project).or_default();
                *latest = known.event.at.map_or(*latest, |at| at.max(*latest));
            }
            let is_all = !asked.subject.is_empty() || asked.since.is_some() || asked.until.is_some();
            let is_recent = |known: &StoredEvent| {
                is_all || known.event.at.is_none_or(|at| at >= latest[&known.project].saturating_sub(LEFT_BEHIND))
            };
            let waiting: Vec<StoredEvent> = events.iter().filter(|known| is_waiting(known.event.state)).cloned().collect();
            all += waiting.len();
            let waiting: Vec<StoredEvent> = waiting.into_iter().filter(is_recent).collect();
            let own = folded(waiting).into_iter().filter(|known| asked.subject.is_in(&known.latest.event.name));
            rows.extend(own.map(row_of_event));
        }
        Ok(Rows { rows, all, ..Rows::default() })
    }

    /// Returns the memories of some kinds that a search for the subject finds and is sure of, best first.
    pub(super) fn statements_about(
        &self,
        asked: &Asked<'_>,
        kinds: &[MemoryKind],
    ) -> Result<Vec<yore_core::id::MemoryId>, EngineError> {
        let mut request = asked.searching(SEARCHED);
        request.filter.wanted = Wanted::Memories;
        request.filter.memories.kinds = kinds.to_vec();
        let answer = self.recall(&request)?;
        let is_sure = |confidence: f32| confidence >= LIKELY;
        Ok(answer.hits.iter().filter(|hit| is_sure(hit.confidence)).filter_map(|hit| hit.id().memory()).collect())
    }

    /// Makes the rows of files: those that changed most, or that changed together with the one that the question names.
    pub(super) fn file_rows(&self, asked: &Asked<'_>) -> Result<Rows, EngineError> {
        let mut changes: BTreeMap<EpisodeKey, BTreeMap<String, u32>> = BTreeMap::new();
        let mut last: HashMap<String, UtcMillis> = HashMap::new();
        for event in self.store().file_events(None)? {
            let is_in = asked.projects.as_ref().is_none_or(|keys| event.project.is_some_and(|project| keys.contains(&project)));
            let is_then = asked.since.is_none_or(|since| event.at >= since) && asked.until.is_none_or(|until| event.at < until);
            if event.is_written && is_in && is_then {
                *changes.entry(event.episode).or_default().entry(event.path.clone()).or_default() += 1;
                last.insert(event.path, event.at);
            }
        }
        let all = last.len();
        let named: Vec<&str> = asked.wanted.subject.split_whitespace().filter(|word| word.contains(['.', '/'])).collect();
        let is_named = |path: &str| named.iter().any(|name| path == *name || path.ends_with(&format!("/{name}")));
        let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for files in changes.values() {
            if !named.is_empty() && !files.keys().any(|path| is_named(path)) {
                continue;
            }
            for (path, times) in files.iter().filter(|(path, _)| named.is_empty() || !is_named(path)) {
                let known = counts.entry(path).or_default();
                *known = (known.0 + 1, known.1 + times);
            }
        }
        let is_about = |path: &str| !named.is_empty() || asked.subject.is_in(path);
        let mut counts: Vec<(&str, (u32, u32))> = counts.into_iter().filter(|(path, _)| is_about(path)).collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        counts.truncate(MOST_FILES);
        let row = |(path, (sessions, times)): (&str, (u32, u32))| ViewRow {
            text: path.to_owned(),
            state: Some(match named.is_empty() {
                true => format!("changed {times}× in {sessions} sessions"),
                false => format!("changed with it in {sessions} sessions"),
            }),
            at: last.get(path).copied(),
            ..ViewRow::default()
        };
        Ok(Rows { rows: counts.into_iter().map(row).collect(), all, ..Rows::default() })
    }
}

/// Events of one name.
pub(super) struct Folded {
    /// The one that says most of its state: the latest that does more than see it.
    pub latest: StoredEvent,
    pub count: u32,
    pub sessions: HashSet<EpisodeKey>,
}

/// Folds events of one kind, project and name, the latest first: the state is the latest that is known, and words come from any.
pub(super) fn folded(events: Vec<StoredEvent>) -> Vec<Folded> {
    let mut found: Vec<Folded> = Vec::new();
    // Numbers of pull requests are of one repository.
    let mut places: HashMap<(Option<ProjectKey>, String), usize> = HashMap::new();
    for stored in events {
        let key = (stored.project, stored.event.name.clone());
        let Some(place) = places.get(&key) else {
            places.insert(key, found.len());
            found.push(Folded { count: stored.event.count, sessions: HashSet::from([stored.episode]), latest: stored });
            continue;
        };
        let known = &mut found[*place];
        known.count += stored.event.count;
        known.sessions.insert(stored.episode);
        let (latest, event) = (&mut known.latest.event, stored.event);
        if latest.text.is_empty() || latest.text.len() < event.text.len() && latest.kind == EventKind::PullRequest {
            latest.text = event.text;
        }
        // A pull request that was merged or closed stays so, whatever an older list says.
        if latest.state == EventState::Seen && event.state != EventState::Seen
            || event.state.of_thing() == latest.state.of_thing() && latest.kind == EventKind::PullRequest
        {
            (latest.state, latest.at, latest.turn) = (event.state, event.at, event.turn);
            known.latest.episode = stored.episode;
        }
    }
    found
}

fn row_of_event(known: Folded) -> ViewRow {
    let Folded { latest: StoredEvent { event, .. }, count, sessions } = known;
    let text = match (event.kind, event.text.is_empty()) {
        (_, true) | (EventKind::Plan, _) => event.name.clone(),
        (EventKind::Error, false) => event.text.clone(),
        (EventKind::Refusal, false) => format!("{}: “{}”", cut(&event.name, ROW_CHARS / 2), event.text),
        (_, false) => format!("{} {}", event.name, event.text),
    };
    let state = match (event.kind, event.state) {
        (EventKind::Error, _) => Some(format!("{count}× in {} sessions", sessions.len())),
        (EventKind::Commit | EventKind::Refusal, _) | (_, EventState::Seen) => None,
        (EventKind::Plan, EventState::Refused) if !event.text.is_empty() => {
            Some(format!("refused: {}", cut(&event.text, ROW_CHARS / 2)))
        }
        (EventKind::Release, _) => Some("tagged".to_owned()),
        (_, EventState::InProgress) => Some("in progress".to_owned()),
        (_, state) => Some(state.of_thing().as_str().to_owned()),
    };
    ViewRow { text: cut(&text, ROW_CHARS), state, at: event.at, opens: Some(event.turn.short()), details: Vec::new() }
}

pub(super) fn row_of_memory(memory: &Memory, at: UtcMillis) -> ViewRow {
    ViewRow {
        text: cut(&memory.statement, ROW_CHARS),
        state: Some(memory.kind.as_str().replace('_', " ")),
        at: Some(at),
        opens: Some(memory.id.short()),
        details: Vec::new(),
    }
}
