//! Makes the rows of a log of work: sessions of a period, on a subject, or the last ones, with what came of each.

use std::collections::HashMap;

use yore_core::episode::Role;
use yore_core::event::{EventKind, EventState};
use yore_core::query::Wanted;
use yore_core::text::{asks_for_latest, fragments};
use yore_core::time::UtcMillis;

use super::view::{Asked, Rows};
use crate::archive::sessions::TITLES;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::ViewRow;
use crate::rules::{Words, cut, normal, own_words, plain, title};
use crate::store::{EpisodeKey, EpisodeSummary, EventFilter, SessionFilter, SessionOrder, ShownTurn, StoredEvent, Turns};

/// Most sessions of a period unless more are wanted, on a subject, and of the last ones.
const MOST_OF_PERIOD: usize = 10;
const MOST_OF_SUBJECT: usize = 6;
const MOST_LAST: usize = 4;
/// Fewest turns of a session with work in it.
const FEWEST_TURNS: u64 = 2;
/// Characters that all rows share, and the fewest of each.
const ROOM: usize = 1_100;
const LEAST_ROOM: usize = 100;
/// Room of a row from which the requests of a session are told.
const MANY_ROOM: usize = 240;
/// Hits of a search for a subject.
const SEARCHED: usize = 40;
/// Steps of an agent's plan that a row names.
const MOST_STEPS: usize = 6;
/// Fewest words of a sentence that says what came of a session, and most sentences.
const FEWEST_WORDS: usize = 3;
const MOST_PARTS: usize = 4;
/// Commits and the like that a row names.
const MOST_NAMED: usize = 3;

impl Engine {
    pub(super) fn work_rows(&self, asked: &Asked<'_>) -> Result<Rows, EngineError> {
        let mut sessions = self.sessions_in(asked)?;
        let all = sessions.len();
        let has_period = asked.since.is_some() || asked.until.is_some();
        if sessions.is_empty() && has_period {
            return Ok(Rows {
                rows: Vec::new(),
                all: self.sessions_in(&Asked { since: None, until: None, ..asked.again() })?.len(),
                ..Rows::default()
            });
        }
        let most = match (has_period, asked.subject.is_empty()) {
            (_, false) => MOST_OF_SUBJECT,
            (true, true) => MOST_OF_PERIOD.max(asked.request.limit),
            (false, true) => MOST_LAST,
        };
        if !asked.subject.is_empty() {
            let places = self.sessions_about(asked)?;
            let place = |session: &EpisodeSummary| places.iter().position(|id| *id == session.id);
            let is_found = sessions.iter().any(|session| place(session).is_some());
            // In a period nothing may bear on the subject, which may be mistyped: then all of the period is told.
            if is_found || !has_period {
                sessions.retain(|session| place(session).is_some());
                sessions.sort_by_key(place);
                if asks_for_latest(&asked.request.question) {
                    sessions.truncate(2 * most);
                    sessions.sort_by_key(|session| std::cmp::Reverse(session.updated));
                }
                sessions.truncate(most);
            }
        }
        let count = sessions.len();
        if has_period {
            // The sessions in which most was done stay, and the last one.
            let last = sessions.iter().max_by_key(|session| session.updated).map(|session| session.row);
            sessions.sort_by_key(|session| (Some(session.row) != last, std::cmp::Reverse(session.turns)));
            sessions.truncate(most);
            sessions.sort_by_key(|session| std::cmp::Reverse(session.updated));
        }
        sessions.truncate(most);
        let rows: Vec<EpisodeKey> = sessions.iter().map(|session| session.row).collect();
        let kinds = [EventKind::Commit, EventKind::PullRequest, EventKind::Release, EventKind::Issue, EventKind::Todo];
        let events =
            self.store().events(&EventFilter { kinds: &kinds, projects: None, episodes: Some(&rows), ..asked.events() })?;
        let mut by_session: HashMap<EpisodeKey, Vec<StoredEvent>> = HashMap::new();
        for event in events {
            by_session.entry(event.episode).or_default().push(event);
        }
        let room = (ROOM / sessions.len().max(1)).max(LEAST_ROOM);
        let row = |session: &EpisodeSummary| {
            let turns = self.store().turns(Turns::OfEpisode(session.row))?;
            let own = by_session.get(&session.row).map(Vec::as_slice).unwrap_or_default();
            Ok(row_of(session, &turns, own, asked, room))
        };
        let rows = sessions.iter().map(row).collect::<Result<Vec<ViewRow>, EngineError>>()?;
        Ok(Rows { rows, all: all.max(count), ..Rows::default() })
    }

    /// Returns the sessions of the projects in the period, the latest first.
    fn sessions_in(&self, asked: &Asked<'_>) -> Result<Vec<EpisodeSummary>, EngineError> {
        // No projects are all projects to the filter.
        if asked.projects.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let filter = SessionFilter {
            projects: asked.projects.as_deref().unwrap_or_default(),
            since: asked.since,
            until: asked.until,
            without_documents: true,
            title: Some(TITLES),
            ..SessionFilter::default()
        };
        let mut sessions = self.store().sessions(&filter, SessionOrder::Recent, usize::MAX >> 1)?;
        sessions.retain(|session| session.turns >= FEWEST_TURNS);
        Ok(sessions)
    }

    /// Returns the sessions that a search for the subject finds, best first.
    pub(super) fn sessions_about(&self, asked: &Asked<'_>) -> Result<Vec<yore_core::id::EpisodeId>, EngineError> {
        let mut request = asked.searching(SEARCHED);
        request.filter.wanted = Wanted::Turns;
        (request.filter.since, request.filter.until) = (asked.since, asked.until);
        Ok(self.recall(&request)?.sessions.into_iter().map(|session| session.episode).collect())
    }
}

/// Makes the row of a session: its title, what the person asked first, what the agent said last, steps that were done, and commits and the
/// like.
fn row_of(session: &EpisodeSummary, turns: &[ShownTurn], events: &[StoredEvent], asked: &Asked<'_>, room: usize) -> ViewRow {
    let is_in = |at: Option<UtcMillis>| {
        at.is_none_or(|at| asked.since.is_none_or(|since| at >= since) && asked.until.is_none_or(|until| at < until))
    };
    let turns: Vec<&ShownTurn> = turns.iter().filter(|turn| is_in(turn.time.utc)).collect();
    let said = |turn: &&&ShownTurn| turn.role == Role::Human && turn.caveat.is_none();
    let requests: Vec<String> = turns
        .iter()
        .filter(said)
        .map(|turn| plain(title(&turn.text).as_deref().unwrap_or(own_words(&turn.text))))
        .filter(|asked| asked.split_whitespace().count() > 2 && !asked.starts_with('!'))
        .collect();
    let says_something = |title: &String| title.split_whitespace().count() > 1 && !title.starts_with('!');
    let heading = session.title.clone().map(|title| plain(&title)).filter(says_something);
    let heading = heading.or_else(|| requests.first().cloned()).unwrap_or_else(|| "no title".to_owned());
    let mut details = Vec::new();
    let others: Vec<String> = requests
        .iter()
        .filter(|asked| !heading.starts_with(asked.as_str()) && !asked.starts_with(&heading))
        .map(|asked| cut(asked, room / 4))
        .take(2)
        .collect();
    if !others.is_empty() && room > MANY_ROOM {
        details.push(format!("asked: {}", others.join(" · ")));
    }
    if let Some(outcome) = outcome(&turns).filter(|_| room > LEAST_ROOM) {
        details.push(format!("outcome: {}", cut(&outcome, room / 2)));
    }
    let done = |known: &&StoredEvent| known.event.kind == EventKind::Todo && known.event.state == EventState::Done;
    let steps: Vec<String> = events.iter().filter(done).map(|known| cut(&known.event.name, room / 8)).take(MOST_STEPS).collect();
    if !steps.is_empty() && room > MANY_ROOM {
        details.push(cut(&format!("done: {}", steps.join(" · ")), room / 2));
    }
    let mut named: Vec<String> = Vec::new();
    for kind in [EventKind::Release, EventKind::PullRequest, EventKind::Commit, EventKind::Issue] {
        let done = |known: &&StoredEvent| known.event.kind == kind && !known.event.state.is_only_seen();
        let own: Vec<&StoredEvent> = events.iter().filter(done).collect();
        if own.is_empty() {
            continue;
        }
        let told = own.iter().take(MOST_NAMED).map(|known| {
            let event = &known.event;
            let what = if kind == EventKind::Commit { &event.text } else { &event.name };
            let state = if kind == EventKind::PullRequest { format!(" {}", event.state.as_str()) } else { String::new() };
            format!("{}{state}", cut(what, room / 4))
        });
        let more = own.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        named.push(format!("{}: {}{more}", kind.as_str().replace('_', " "), told.collect::<Vec<_>>().join("; ")));
    }
    details.extend((!named.is_empty()).then(|| cut(&named.join(" · "), room)));
    let at = turns.iter().find_map(|turn| turn.time.utc).or(session.started);
    ViewRow { text: cut(&heading, room), state: None, at, opens: Some(session.id.short()), details }
}

/// Returns the first sentences of the agent's last message that says something, without praise and the news that all is well before them.
fn outcome(turns: &[&ShownTurn]) -> Option<String> {
    let last = turns.iter().rev().filter(|turn| turn.role == Role::Assistant);
    let telling = last.map(|turn| turn.text.as_str()).find(|text| text.split_whitespace().count() >= 8)?;
    let parts = fragments(telling).into_iter().map(|range| &telling[range]);
    let parts: Vec<(&str, String)> = parts.map(|part| (part, plain(part))).filter(|(_, part)| !part.is_empty()).collect();
    let words = Words::of(telling);
    let is_opening = |(raw, part): &&(&str, String)| {
        // "Merged #45." says something, "Done." does not.
        let is_empty = part.split_whitespace().count() < FEWEST_WORDS && !part.contains(|letter: char| letter.is_ascii_digit());
        raw.starts_with('#') || is_empty || words.has("opening", &normal(part))
    };
    let opening = parts.iter().take_while(is_opening).count();
    let told = if opening < parts.len() { &parts[opening..] } else { &parts };
    Some(told.iter().take(MOST_PARTS).map(|(_, part)| part.as_str()).collect::<Vec<_>>().join(" "))
}
