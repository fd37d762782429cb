//! May anything be offered at all? And what concerns a prompt.

use std::collections::HashSet;

use yore_core::episode::Role;
use yore_core::offer::{Signs, Wording, is_announcement, sureness};
use yore_core::query::{Filter, List, ListPlace};
use yore_core::scope::ScopeChoice;

use super::edit::of_edit;
use super::failure::of_failure;
use super::{Occasion, Offer, OfferRequest, Offered, Said};
use crate::error::EngineError;
use crate::retrieve::project_here;
use crate::{Engine, Found, Hit, RecallAnswer, RecallRequest};

/// A prompt of fewer characters says nothing that could be looked up.
const SHORTEST: usize = 8;
/// As much of a prompt is read: what somebody asks for stands at its beginning or end.
const LONGEST: usize = 4_000;
/// A memory whose score is below this share of the best one's is not offered beside it.
const LEAST_SHARE: f32 = 0.45;
/// More waiting turns than this would have to be read one by one: nobody has time for that now.
const MOST_PENDING: usize = 1_000;
/// Beside what is asked for as many are looked at, because some are known to the session.
const SPARE: usize = 10;

pub(super) fn offer(engine: &Engine, request: &OfferRequest) -> Result<Offer, EngineError> {
    let scope = if request.projects.is_empty() {
        let here = request.here.as_ref().map(|here| project_here(engine.store(), here)).transpose()?.flatten();
        if here.is_none() && engine.store().is_passive() {
            // Notes that hold everywhere are in the brief.
            return Ok(Offer::silent("project-unknown", 0.0));
        }
        ScopeChoice::CurrentOnly
    } else {
        ScopeChoice::Projects(request.projects.clone())
    };
    if engine.store().queue_length(MOST_PENDING + 1)? > MOST_PENDING {
        return Ok(Offer::silent("index-behind", 0.0));
    }
    let filter = Filter { scope, as_of: request.as_of, ..Filter::default() };
    match &request.occasion {
        Occasion::Prompt(prompt) => of_prompt(engine, request, filter, prompt),
        Occasion::Edit(path) => of_edit(engine, request, filter, path),
        Occasion::Failure(output) => of_failure(engine, request, filter, output),
    }
}

fn of_prompt(engine: &Engine, request: &OfferRequest, filter: Filter, prompt: &str) -> Result<Offer, EngineError> {
    let text = bounded(prompt.trim());
    if text.chars().count() < SHORTEST || text.starts_with('/') && !text.contains(' ') {
        return Ok(Offer::silent("short", 0.0));
    }
    let answer = ask(engine, request, filter, &text)?;
    let was_found = !answer.hits.is_empty();
    let answer = RecallAnswer { hits: news(engine, request, answer.hits)?, ..answer };
    let sureness = sureness(&signs(engine, &text, &answer)?);
    if sureness < request.floor {
        let code = if was_found && answer.hits.is_empty() { "known" } else { "floor" };
        return Ok(Offer::silent(code, sureness));
    }
    chosen(engine, request, answer, sureness, |_| Ok(None))
}

pub(super) fn ask(engine: &Engine, request: &OfferRequest, filter: Filter, text: &str) -> Result<RecallAnswer, EngineError> {
    engine.recall(&RecallRequest {
        filter,
        here: request.here.clone(),
        program: request.program,
        limit: request.limit + SPARE,
        quote_chars: request.quote_chars,
        ..RecallRequest::new(text)
    })
}

/// What speaks for a prompt being answered by what was found.
fn signs(engine: &Engine, text: &str, answer: &RecallAnswer) -> Result<Signs, EngineError> {
    let best_of = |list: List| {
        let places = answer.hits.iter().flat_map(|hit| &hit.lists).filter(|place| place.list == list);
        places.map(|ListPlace { score, .. }| *score).fold(0.0f32, f32::max)
    };
    Ok(Signs {
        wording: Wording::of(text),
        words: best_of(List::Words),
        turns: engine.indexed()?,
        nearness: best_of(List::Static),
    })
}

fn row_of(hit: &Hit) -> i64 {
    let Found::Turn(turn) = &hit.found;
    turn.row
}

/// What the session neither holds nor was given, and what says something.
fn news(engine: &Engine, request: &OfferRequest, mut hits: Vec<Hit>) -> Result<Vec<Hit>, EngineError> {
    let shared = match &request.session {
        // A fork holds what it was forked from.
        Some(session) => engine.store().shared_with(session, &hits.iter().map(row_of).collect::<Vec<_>>())?,
        None => HashSet::new(),
    };
    hits.retain(|hit| {
        let Found::Turn(turn) = &hit.found;
        let is_own = request.session.as_deref().is_some_and(|session| {
            turn.native_session == session
                || turn.native_session.strip_prefix(session).is_some_and(|rest| rest.starts_with('/'))
                || shared.contains(&turn.row)
        });
        let says_nothing = turn.role == Role::Assistant && is_announcement(&turn.text);
        !is_own && !says_nothing && !request.given.contains(&turn.id)
    });
    Ok(hits)
}

/// The best that is news to the session.
pub(super) fn chosen(
    engine: &Engine,
    request: &OfferRequest,
    answer: RecallAnswer,
    sureness: f32,
    outcome: impl Fn(&Hit) -> Result<Option<Said>, EngineError>,
) -> Result<Offer, EngineError> {
    let hits = news(engine, request, answer.hits)?;
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let mut memories = Vec::new();
    for hit in hits {
        if memories.len() == request.limit || hit.score < best * LEAST_SHARE {
            break;
        }
        memories.push(Offered { outcome: outcome(&hit)?, hit });
    }
    let silence = memories.is_empty().then(|| "known".to_owned());
    Ok(Offer { memories, sureness, silence })
}

/// The beginning and the end of a long text.
pub(super) fn bounded(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(LONGEST / 2), text.ceil_char_boundary(text.len() - LONGEST / 2));
    format!("{}\n{}", &text[..head], &text[tail..])
}
