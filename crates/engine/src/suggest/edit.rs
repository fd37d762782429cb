//! Suggests memories for a file that is about to be changed.

use yore_core::episode::Role;
use yore_core::event::{Event, EventKind, EventState};
use yore_core::handoff::Recollection;
use yore_core::query::{Filter, ItemId};
use yore_core::relevance::{SkipReason, is_announcement};
use yore_core::scope::{ProjectAlias, ScopeChoice};

use super::choose::{ask, chosen};
use super::suggestion::{SuggestRequest, Suggestion, Suggestions, TakenBack};
use crate::error::EngineError;
use crate::retrieve::{keep_own_words, project_here, projects_named};
use crate::store::{ChangeFilter, EventFilter, ProjectKey, ShownTurn, TurnChoice, TurnKey, Turns};
use crate::{Engine, Hit, RecollectRequest, Said};

/// Maximum number of earlier sessions that changed the file.
const CHANGES: usize = 2;
/// Changes read to find these: some sessions ended without text, or are known already.
const CHANGES_LOOKED_AT: usize = 8;
/// Characters quoted of the request, which is less useful than its outcome.
const ASKED_CHARS: usize = 120;

/// Suggests what people said about a file, notes that name it, and the outcome of its last changes in other
/// sessions. Turns of agents that only read the file are left out.
pub(super) fn of_edit(engine: &Engine, request: &SuggestRequest, filter: Filter, path: &str) -> Result<Suggestions, EngineError> {
    let normal = path.trim().replace('\\', "/");
    // The last two path components identify most files, and are the same on every computer.
    let parts: Vec<&str> = normal.split('/').filter(|part| !part.is_empty()).collect();
    let Some(name) = parts.last() else { return Ok(Suggestions::silent(SkipReason::Short, 0.0)) };
    let suffix = parts[parts.len().saturating_sub(2)..].join("/");
    let filter = Filter { files: vec![suffix.clone()], roles: vec![Role::Human, Role::Summary], ..filter };
    let answer = ask(engine, request, filter, name)?;
    // The filter returns only turns that name the file.
    let is_found = !answer.hits.is_empty();
    let mut suggestions = chosen(engine, request, answer, 1.0, |_| Ok(None))?;
    let file = inside(request, &normal).unwrap_or(&suffix);
    let is_changed = add_changes(engine, request, file, &mut suggestions.memories)?;
    suggestions.taken_back = taken_back(engine, request, file)?;
    suggestions.recollected = recollected(engine, request, &normal)?;
    if suggestions.taken_back.is_some() || !suggestions.recollected.is_empty() {
        return Ok(suggestions);
    }
    if suggestions.memories.is_empty() && !is_found && !is_changed {
        return Ok(Suggestions::silent(SkipReason::Nothing, 0.0));
    }
    suggestions.skipped = suggestions.memories.is_empty().then_some(SkipReason::Known);
    Ok(suggestions)
}

/// Returns the path within the working directory, if it has more than two components.
fn inside<'p>(request: &SuggestRequest, path: &'p str) -> Option<&'p str> {
    let directories = request.here.iter().flat_map(|here| &here.aliases).filter_map(|(alias, recorded)| match alias {
        ProjectAlias::Directory(_) => Some(recorded.replace('\\', "/")),
        _ => None,
    });
    let mut rests = directories.filter_map(|directory| path.strip_prefix(directory.trim_end_matches('/'))?.strip_prefix('/'));
    // A client's own worktrees contain the same files.
    rests.find_map(|rest| {
        let rest =
            rest.strip_prefix(".claude/worktrees/").map_or(Some(rest), |rest| rest.split_once('/').map(|(_, rest)| rest))?;
        (rest.matches('/').count() > 1).then_some(rest)
    })
}

/// Returns what the session knew of the file before it was compacted, and was not told since.
fn recollected(engine: &Engine, request: &SuggestRequest, path: &str) -> Result<Vec<Recollection>, EngineError> {
    let Some(session) = request.session.clone().filter(|_| request.is_compacted) else { return Ok(Vec::new()) };
    let known = RecollectRequest { session, file: Some(path.to_owned()), as_of: request.filter.as_of };
    let mut known = engine.recollect(&known)?;
    known.retain(|known| known.turn.is_none_or(|turn| !request.given.contains(&ItemId::Turn(turn))));
    Ok(known)
}

/// Returns the last edits of a file in the project, if they were taken back and the session was not told so.
fn taken_back(engine: &Engine, request: &SuggestRequest, file: &str) -> Result<Option<TakenBack>, EngineError> {
    let store = engine.store();
    let projects = projects(engine, request)?;
    let filter = EventFilter {
        kinds: &[EventKind::TakenBack],
        projects: Some(&projects),
        until: request.filter.as_of,
        ..EventFilter::default()
    };
    let is_file = |path: &str| {
        let path = path.replace('\\', "/");
        path.strip_suffix(file).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let Some(known) = store.events(&filter)?.into_iter().find(|known| is_file(&known.event.name)) else { return Ok(None) };
    if request.given.contains(&ItemId::Turn(known.event.turn)) {
        return Ok(None);
    }
    let filter = ChangeFilter { file, projects: &projects, session: None, as_of: request.filter.as_of };
    let changes: Vec<TurnKey> = store.last_changes(&filter, 1)?.iter().map(|change| change.turn).collect();
    let is_later = store.turns(Turns::Keys(&changes))?.iter().any(|turn| turn.time.utc > known.event.at);
    let Event { turn, at, state, text, .. } = known.event;
    Ok((!is_later).then_some(TakenBack { turn, at, is_refused: state == EventState::Refused, by: text }))
}

/// Returns the projects that a request asks about.
fn projects(engine: &Engine, request: &SuggestRequest) -> Result<Vec<ProjectKey>, EngineError> {
    Ok(match (&request.filter.scope, &request.here) {
        (ScopeChoice::Projects(named), _) => projects_named(engine.store(), named)?,
        (_, Some(here)) => project_here(engine.store(), here)?.into_iter().collect(),
        (_, None) => Vec::new(),
    })
}

/// Adds the request and outcome of the file's last changes; returns whether the file was ever changed.
fn add_changes(
    engine: &Engine,
    request: &SuggestRequest,
    file: &str,
    memories: &mut Vec<Suggestion>,
) -> Result<bool, EngineError> {
    let store = engine.store();
    let projects = projects(engine, request)?;
    let session = request.session.as_deref();
    let filter = ChangeFilter { file, projects: &projects, session, as_of: request.filter.as_of };
    let changes = store.last_changes(&filter, CHANGES_LOOKED_AT)?;
    let rows: Vec<TurnKey> = changes.iter().map(|change| change.turn).collect();
    let shared = session.map(|session| store.turn_keys(TurnChoice::SharedBy(session, &rows))).transpose()?.unwrap_or_default();
    let mut left = CHANGES;
    for change in &changes {
        if left == 0 {
            break;
        }
        // A fork contains the turns of the session it was forked from.
        if shared.contains(&change.turn) {
            continue;
        }
        let Some(done) = store.turns(Turns::Conclusion(change.turn))?.pop() else { continue };
        let is_late = request.filter.as_of.is_some_and(|as_of| done.time.utc.is_some_and(|at| at >= as_of));
        if is_late || request.given.contains(&ItemId::Turn(done.id)) || done.text.trim().is_empty() || is_announcement(&done.text)
        {
            continue;
        }
        let asked = match change.asked {
            Some(row) => store.turns(Turns::Keys(&[row]))?.pop(),
            None => None,
        };
        let asked = asked.and_then(|mut asked| {
            keep_own_words(&mut asked);
            (!asked.text.is_empty()).then_some(asked)
        });
        let said = Said { text: done.text.clone(), ..Said::of(&done) };
        if let Some(known) =
            memories.iter_mut().find(|memory| asked.as_ref().is_some_and(|asked| ItemId::Turn(asked.id) == memory.hit.id()))
        {
            known.outcome = Some(said);
        } else if memories.len() < request.limit {
            memories.push(match asked {
                Some(asked) => Suggestion { hit: hit_of(asked, ASKED_CHARS.min(request.quote_chars)), outcome: Some(said) },
                None => Suggestion { hit: hit_of(done, request.quote_chars), outcome: None },
            });
        } else {
            continue;
        }
        left -= 1;
    }
    Ok(!changes.is_empty())
}

/// Converts a turn into a hit without a search.
fn hit_of(turn: ShownTurn, chars: usize) -> Hit {
    let mut quote: String = turn.text.trim().chars().take(chars).collect();
    if quote.len() < turn.text.trim().len() {
        quote.push('…');
    }
    Hit::of_turn(turn, quote)
}
