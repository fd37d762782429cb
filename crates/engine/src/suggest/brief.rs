//! Collects the contents of the brief. `inject/text.rs` orders them: standing notes, standards, this session if compacted, last
//! session, decisions, open points, other notes and statements, earlier sessions.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use yore_core::episode::Role;
use yore_core::id::MemoryId;
use yore_core::insight::InsightKind;
use yore_core::memory::dynamics::Tier;
use yore_core::memory::{Lane, Memory, MemoryKind, SourceKind};
use yore_core::note::NoteKind;
use yore_core::scope::ScopeChoice;
use yore_core::text::word_count;
use yore_core::time::{DAY_MS, UtcMillis};

use crate::archive::notes::{NoteSummary, NotesRequest};
use crate::archive::projects::MergeOffer;
use crate::error::EngineError;
use crate::handoff::HandoffSection;
use crate::insights::{FoundInsight, InsightsRequest};
use crate::retrieve::{keep_own_words, project_here};
use crate::rules::{is_title, own_title_among};
use crate::store::{
    EpisodeSummary, Exceptions, Memories, MemoryKey, Named, ProjectKey, SessionFilter, SessionOrder, ShownTurn, Stands, Store,
    StoredProject, Titles, TurnCount, Turns,
};
use crate::upkeep::UpkeepState;
use crate::{Engine, Said};
use yore_sources::project_names::ProjectNames;

/// A request for the brief of a project.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct BriefRequest {
    /// The project that the caller is in.
    pub here: Option<ProjectNames>,
    /// The session that requests the brief, by its native id; it is left out of the list of sessions.
    pub session: Option<String>,
    /// True if the session was compacted: the brief then includes the session itself.
    pub is_compacted: bool,
}

/// The state of a project. Each list is sorted by importance; the caller cuts the brief to size.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Brief {
    /// Name of the project; `None` if the directory belongs to no known project.
    pub project: Option<String>,
    /// Standing notes.
    pub standing: Vec<NoteSummary>,
    /// The session itself, if it was compacted.
    pub own: Option<Worked>,
    /// Items in force in it before the compaction that the summary does not say.
    #[serde(default)]
    pub dropped: Vec<HandoffSection>,
    /// Sessions last worked in here, latest first.
    pub sessions: Vec<Worked>,
    /// Other notes, latest first.
    pub notes: Vec<NoteSummary>,
    /// Standards and preferences that hold, a person's own first.
    #[serde(default)]
    pub orders: Vec<Memory>,
    /// Decisions of the project, latest first.
    #[serde(default)]
    pub decided: Vec<Memory>,
    /// Statements of other kinds that people recorded, of the project and of no project, latest first.
    #[serde(default)]
    pub recorded: Vec<Memory>,
    /// The statement whose place the memory with this id took, or likely took.
    #[serde(default)]
    pub decided_before: Vec<(MemoryId, String)>,
    /// Pairs of these that contradict each other, and nobody settled which one holds.
    #[serde(default)]
    pub contradicting: Vec<(MemoryId, MemoryId)>,
    /// Questions, problems and todos of the project that nobody closed, latest first.
    #[serde(default)]
    pub open: Vec<Memory>,
    /// Categories of the project's memories with several of them, and their numbers, largest first.
    #[serde(default)]
    pub categories: Vec<(String, usize)>,
    /// Commands of the project that fail again and again, those of most sessions first.
    #[serde(default)]
    pub insights: Vec<FoundInsight>,
    /// Number of sessions of the project that no agent has distilled yet.
    #[serde(default)]
    pub waiting: u64,
    /// The project that this one seems to have been, whose folder is gone.
    #[serde(default)]
    pub moved_from: Option<MergeOffer>,
    /// Jobs of upkeep that fail.
    #[serde(default)]
    pub failing: Vec<UpkeepState>,
}

impl Brief {
    /// Returns whether the brief has no content.
    pub fn is_empty(&self) -> bool {
        let memories = [&self.orders, &self.decided, &self.open, &self.recorded];
        self.standing.is_empty()
            && self.own.is_none()
            && self.dropped.is_empty()
            && self.sessions.is_empty()
            && self.notes.is_empty()
            && self.moved_from.is_none()
            && self.failing.is_empty()
            && memories.iter().all(|list| list.is_empty())
    }
}

/// A session with work in it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Worked {
    /// The session.
    pub session: EpisodeSummary,
    /// Last requests of the person, oldest first.
    pub asked: Vec<Said>,
    /// Last text of the agent, where the session stopped.
    pub stopped: Option<Said>,
    /// Files that it changed or mentioned, changed ones first.
    pub files: Vec<String>,
}

/// Most memories that are read of those that stand against one.
const MOST_BESIDE: usize = 10;
/// Time without work from which on nothing ages.
const PAUSE_MS: i64 = 30 * DAY_MS;
/// Most tokens of what a compaction left out.
const DROPPED_TOKENS: usize = 200;
/// Maximum number of sessions in a brief.
const SESSIONS: usize = 4;
/// Sessions read to find these: the requesting one, and those without work, are skipped.
const LOOKED_AT: usize = 60;
/// Maximum number of standing notes in a brief.
const STANDING_NOTES: usize = 200;
/// Maximum number of other notes in a brief, and of statements that people recorded.
const NOTES: usize = 12;
/// Maximum numbers of standards and preferences, of decisions, and of what is open.
const ORDERS: usize = 8;
const DECIDED: usize = 4;
const OPEN: usize = 4;
/// Maximum number of insights, and time of work in the project after which one that did not happen again is not told.
const INSIGHTS: usize = 2;
const FRESH_INSIGHT_MS: UtcMillis = 30 * DAY_MS;
/// Times as many memories are read as are told: cold ones are left out.
const SPARE: usize = 3;
/// An extracted standard or preference is told from this certainty on.
const CERTAIN: f32 = 0.7;
/// A certainty that no extracted memory has.
const NONE_EXTRACTED: f32 = 2.0;
/// Maximum number of requests of a session.
const ASKED: usize = 3;
/// Maximum number of requests of a session that was compacted.
const ASKED_AGAIN: usize = 12;
/// Human turns of a session that are read to find its requests: many only say "yes, go on".
const TURNS: usize = 24;
/// Maximum number of files of a session.
const FILES: usize = 8;
/// A request with at most this many words says nothing by itself.
const FEW_WORDS: usize = 3;

pub(super) fn brief(engine: &Engine, request: &BriefRequest) -> Result<Brief, EngineError> {
    let store = engine.store();
    let project = match &request.here {
        Some(here) => project_here(store, here)?,
        None => None,
    };
    let notes = NotesRequest {
        here: request.here.clone(),
        scope: ScopeChoice::CurrentOnly,
        tags: Vec::new(),
        kind: None,
        is_confirmed: None,
        title: None,
        after: None,
        limit: NOTES,
    };
    let standing = engine.notes(&NotesRequest { kind: Some(NoteKind::Standing), limit: STANDING_NOTES, ..notes.clone() })?;
    let mut others = engine.notes(&NotesRequest { is_confirmed: Some(true), limit: NOTES + standing.len(), ..notes })?;
    others.retain(|note| note.facts.kind != NoteKind::Standing);
    others.truncate(NOTES);
    let failing = engine.upkeep()?.into_iter().filter(UpkeepState::is_failing).collect();
    let mut brief = Brief { standing, notes: others, failing, ..Brief::default() };
    if let Some(here) = &request.here {
        brief.moved_from = engine.moved_here(here)?;
    }
    let lately = match project {
        Some(project) => lately(store, SessionFilter { projects: &[project], ..SessionFilter::default() }, LOOKED_AT)?,
        None => Vec::new(),
    };
    let is_other = |episode: &&EpisodeSummary| request.session.as_deref() != Some(episode.native_id.as_str());
    let aged = worked_until(&lately, request.session.as_deref());
    fill_memories(engine, project, aged, &mut brief)?;
    fill_contradicting(store, &mut brief)?;
    if request.is_compacted
        && let Some(session) = &request.session
    {
        brief.own = own(store, session)?;
        brief.dropped = engine.dropped(session, DROPPED_TOKENS)?;
    }
    let Some(project) = project else { return Ok(brief) };
    brief.categories = engine.large_categories(project)?;
    if let Some(known) = store.projects()?.into_iter().find(|known| known.key == project) {
        brief.insights = insights(engine, &known, aged)?;
        brief.project = Some(known.name);
    }
    for episode in lately {
        if brief.sessions.len() == SESSIONS {
            break;
        }
        if is_other(&&episode) && episode.updated.is_some() {
            let worked = worked(store, episode, ASKED)?;
            if let Some(worked) = worked
                && is_work(store, &worked)?
            {
                brief.sessions.push(worked);
            }
        }
    }
    Ok(brief)
}

/// Returns what an agent of the project would run into: errors of commands, and commands that fail at the first try. `aged`: the time
/// when the project was last worked in.
fn insights(engine: &Engine, project: &StoredProject, aged: UtcMillis) -> Result<Vec<FoundInsight>, EngineError> {
    let kinds = vec![InsightKind::Error, InsightKind::FirstTry];
    let wanted = InsightsRequest { kinds, limit: usize::MAX, ..InsightsRequest::default() };
    let mut found = engine.kept_insights(&wanted, std::slice::from_ref(project))?;
    found.retain(|found| found.insight.last.is_some_and(|last| aged.saturating_sub(last) < FRESH_INSIGHT_MS));
    found.sort_by_key(|found| std::cmp::Reverse(found.insight.sessions));
    found.truncate(INSIGHTS);
    Ok(found)
}

/// Adds memories that hold: of standards and preferences also those that hold everywhere, of the rest those of the project. Cold ones
/// are left out; `aged`: the time until which those of the project aged, at most now.
fn fill_memories(engine: &Engine, project: Option<ProjectKey>, aged: UtcMillis, brief: &mut Brief) -> Result<(), EngineError> {
    let now = engine.now();
    let aged = aged.min(now);
    const ASKED_OF_ALL: [MemoryKind; 2] = [MemoryKind::Standard, MemoryKind::Preference];
    let store = engine.store();
    // The project has another rule in the place of these.
    let excepted = match project {
        Some(project) => store.exceptions(Exceptions::In(project, CERTAIN), now)?,
        None => Vec::new(),
    };
    let latest = |project, kinds: &[MemoryKind], least_certainty, limit| {
        store.memories(Memories::Latest { project, kinds, least_certainty, now, limit })
    };
    let whole = |found: Vec<(MemoryKey, Memory)>| found.into_iter().map(|(_, memory)| memory);
    let mut orders = latest(None, &ASKED_OF_ALL, CERTAIN, SPARE * ORDERS + excepted.len())?;
    orders.retain(|(key, _)| excepted.iter().all(|(_, general)| general != key));
    brief.orders = whole(orders).collect();
    engine.keep_near(&mut brief.orders, now)?;
    brief.orders.truncate(ORDERS);
    // What a file of rules says is read by the agent itself.
    let is_own = |memory: &Memory| memory.lane == Lane::Curated && memory.source.kind != SourceKind::Import;
    let is_other = |kind: &MemoryKind| {
        let is_told = [&ASKED_OF_ALL[..], &MemoryKind::OPEN].iter().any(|told| told.contains(kind));
        !is_told && !matches!(kind, MemoryKind::Decision | MemoryKind::CategorySummary)
    };
    let others: Vec<MemoryKind> = MemoryKind::ALL.iter().copied().filter(is_other).collect();
    for project in project.map(Some).into_iter().chain([None]) {
        let mut found: Vec<Memory> = whole(latest(project, &others, NONE_EXTRACTED, SPARE * NOTES)?).filter(is_own).collect();
        engine.keep_near(&mut found, if project.is_some() { aged } else { now })?;
        brief.recorded.extend(found);
    }
    brief.recorded.sort_by_key(|memory| std::cmp::Reverse(memory.true_since(now)));
    let step_back = |list: &mut Vec<Memory>, before: &mut Vec<(MemoryId, String)>| {
        let changed = engine.likely_changed(list)?;
        list.retain(|memory| changed.iter().all(|(old, _)| old.id != memory.id));
        let was = changed.into_iter().filter(|(_, newer)| list.iter().any(|memory| memory.id == *newer));
        before.extend(was.map(|(old, newer)| (newer, old.statement)));
        Ok::<_, EngineError>(())
    };
    brief.recorded.truncate(2 * NOTES);
    step_back(&mut brief.recorded, &mut brief.decided_before)?;
    brief.recorded.truncate(NOTES);
    let Some(project) = project else { return Ok(()) };
    let near = |kinds: &[MemoryKind], least_certainty, limit| {
        let mut found = whole(latest(Some(project), kinds, least_certainty, SPARE * limit)?).collect();
        engine.keep_near(&mut found, aged)?;
        found.truncate(limit);
        Ok::<_, EngineError>(found)
    };
    brief.orders.splice(0..0, near(&ASKED_OF_ALL, CERTAIN, ORDERS)?);
    let tiers = engine.tiers_at(&brief.orders, aged)?;
    let mut tiered: Vec<(Tier, Memory)> = tiers.into_iter().zip(std::mem::take(&mut brief.orders)).collect();
    tiered.sort_by_key(|(tier, memory)| (!memory.is_pinned, memory.lane != Lane::Curated, *tier));
    brief.orders = tiered.into_iter().map(|(_, memory)| memory).collect();
    brief.orders.truncate(ORDERS);
    brief.decided = near(&[MemoryKind::Decision], 0.0, 2 * DECIDED)?;
    for list in [&mut brief.orders, &mut brief.decided] {
        step_back(list, &mut brief.decided_before)?;
    }
    brief.decided.truncate(DECIDED);
    for decision in &brief.decided {
        let before = store.named_outlines(Named::PredecessorsOf(decision.id, None, 1))?.pop();
        let before = before.filter(|(_, (before, _))| !before.status.is_unlisted());
        brief.decided_before.extend(before.map(|(_, (before, _))| (decision.id, before.statement)));
    }
    brief.open = near(&MemoryKind::OPEN, 0.0, OPEN)?;
    Ok(())
}

/// Adds which of the memories contradict each other.
fn fill_contradicting(store: &Store, brief: &mut Brief) -> Result<(), EngineError> {
    let listed: Vec<MemoryId> = brief.orders.iter().chain(&brief.decided).map(|memory| memory.id).collect();
    for id in &listed {
        let mut others = store.beside(*id, MOST_BESIDE)?;
        others.retain(|other| matches!(other.standing, Stands::Against | Stands::Change(_)) && listed.contains(&other.memory.id));
        brief.contradicting.extend(others.into_iter().map(|other| (*id, other.memory.id)));
    }
    Ok(())
}

/// Returns the time until which the memories of a project aged before a session: while nobody works in a project, what is known of it does
/// not fade.
pub(super) fn aged(engine: &Engine, project: ProjectKey, session: Option<&str>) -> Result<UtcMillis, EngineError> {
    let filter = SessionFilter { projects: &[project], ..SessionFilter::default() };
    Ok(worked_until(&lately(engine.store(), filter, LOOKED_AT)?, session))
}

/// Returns the time at which other sessions were last used, less the pauses between them; the latest possible time if there are none.
fn worked_until(sessions: &[EpisodeSummary], session: Option<&str>) -> UtcMillis {
    let others = sessions.iter().filter(|other| session != Some(other.native_id.as_str()));
    let mut times: Vec<UtcMillis> = others.filter_map(|other| other.updated).collect();
    times.sort_unstable_by_key(|at| std::cmp::Reverse(*at));
    let pause = |pair: &[UtcMillis]| pair[0].saturating_sub(pair[1]).saturating_sub(PAUSE_MS).max(0);
    let pauses = times.windows(2).map(pause).fold(0, UtcMillis::saturating_add);
    times.first().map_or(UtcMillis::MAX, |last| last.saturating_sub(pauses))
}

/// Sessions that people had, last used first.
fn lately(store: &Store, filter: SessionFilter<'_>, limit: usize) -> Result<Vec<EpisodeSummary>, EngineError> {
    // A title that is told unasked quotes only the person's own words.
    let filter =
        SessionFilter { without_documents: true, title: Some(Titles { is_one: is_title, of: own_title_among }), ..filter };
    Ok(store.sessions(&filter, SessionOrder::Recent, limit)?)
}

/// Returns the session with this native id.
fn own(store: &Store, session: &str) -> Result<Option<Worked>, EngineError> {
    let Some(summary) = lately(store, SessionFilter { native_id: Some(session), ..SessionFilter::default() }, 1)?.pop() else {
        return Ok(None);
    };
    let worked = worked(store, summary, ASKED_AGAIN)?;
    Ok(worked.filter(|worked| !worked.asked.is_empty()))
}

/// Returns true for a session with something to continue: a meaningful request, a touched file, or a tool
/// call. A session of "hi" and "thanks" has nothing.
fn is_work(store: &Store, worked: &Worked) -> Result<bool, EngineError> {
    let says_something = worked.asked.iter().any(|said| word_count(&said.text) > FEW_WORDS);
    let has_acted = || {
        store.count_turns(&TurnCount {
            episodes: &[worked.session.row],
            with_shared: true,
            roles: &[Role::ToolCall, Role::ToolResult],
            ..TurnCount::default()
        })
    };
    Ok(says_something || !worked.files.is_empty() || has_acted()? > 0)
}

/// Returns what a session did; none if no person spoke in it.
fn worked(store: &Store, session: EpisodeSummary, most: usize) -> Result<Option<Worked>, EngineError> {
    let said = |turn: ShownTurn| Said { text: turn.text.clone(), ..Said::of(&turn) };
    let mut spoken = store.turns(Turns::LastOf(session.row, Role::Human, TURNS))?;
    if spoken.is_empty() {
        return Ok(None);
    }
    // What the person pasted or quoted is not told as what they asked.
    spoken.iter_mut().for_each(keep_own_words);
    spoken.retain(|turn| !turn.text.is_empty());
    let says_something = |turn: &&ShownTurn| word_count(&turn.text) > FEW_WORDS;
    let mut asked: Vec<ShownTurn> = spoken.iter().filter(says_something).take(most).cloned().collect();
    if asked.is_empty() {
        asked = spoken.into_iter().take(1).collect();
    }
    asked.reverse();
    let last = store.turns(Turns::LastOf(session.row, Role::Assistant, 3))?.into_iter().map(|turn| {
        let text = without_directives(&turn.text);
        ShownTurn { text, ..turn }
    });
    let stopped = last.into_iter().find(|turn| !turn.text.trim().is_empty());
    let files = worth_naming(store.session_files(session.row)?, session.cwd.as_deref().unwrap_or_default());
    Ok(Some(Worked { session, asked: asked.into_iter().map(said).collect(), stopped: stopped.map(said), files }))
}

/// Returns the first files, each once, because one may be named both relative to the directory and by its
/// whole path. Skips the directory itself and its parents.
fn worth_naming(files: Vec<String>, cwd: &str) -> Vec<String> {
    let cwd = cwd.trim_end_matches(['/', '\\']);
    let mut seen = HashSet::new();
    let mut named = Vec::new();
    for file in files {
        let whole = file.trim_end_matches(['/', '\\']);
        let is_above = cwd == whole || cwd.strip_prefix(whole).is_some_and(|rest| rest.starts_with(['/', '\\']));
        let below = whole.strip_prefix(cwd).filter(|_| !cwd.is_empty()).and_then(|rest| rest.strip_prefix(['/', '\\']));
        let inside = below.unwrap_or(whole);
        let inside = inside.strip_prefix("./").unwrap_or(inside);
        if is_above || matches!(inside, "" | ".") || !seen.insert(inside.to_owned()) {
            continue;
        }
        named.push(file);
        if named.len() == FILES {
            break;
        }
    }
    named
}

/// Returns the text without lines that only the agent's own user interface understands, such as Codex's
/// `::git-stage{cwd="..."}`.
fn without_directives(text: &str) -> String {
    let is_directive = |line: &&str| {
        let name = line.trim().strip_prefix("::").and_then(|rest| rest.strip_suffix('}')).and_then(|rest| rest.split_once('{'));
        name.is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        })
    };
    text.lines().filter(|line| !is_directive(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_once_and_their_directory_is_none() {
        let files = |names: &[&str]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
        let named = worth_naming(
            files(&[
                "README.md",
                "/home/dev/tide/README.md",
                "/home/dev/tide",
                "/home/dev/tide/",
                "/home",
                "src/",
                "./src/a.rs",
                "src/a.rs",
                ".",
            ]),
            "/home/dev/tide",
        );
        assert_eq!(named, files(&["README.md", "src/", "./src/a.rs"]));
        assert_eq!(worth_naming(files(&["a", "/b"]), ""), files(&["a", "/b"]));
        let many: Vec<String> = (0..20).map(|number| format!("{number}.rs")).collect();
        assert_eq!(worth_naming(many, "/x").len(), FILES);
    }

    #[test]
    fn lines_for_an_agents_window_are_left_out() {
        let said = "It is staged.\n::git-stage{cwd=\"/home/dev/tide\"}\n  ::code-comment{title=\"a\" body=\"b\"}\nWhat is left: ::x{y} in a line, ::std::fs{}";
        assert_eq!(without_directives(said), "It is staged.\nWhat is left: ::x{y} in a line, ::std::fs{}");
        assert_eq!(without_directives("::git-push{}"), "");
    }
}
