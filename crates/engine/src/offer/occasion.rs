//! What concerns a prompt, a file, an error; nothing where nothing is sure enough.

use std::collections::HashSet;

use yore_core::episode::Role;
use yore_core::id::TurnId;
use yore_core::offer::{Signs, Wording, sureness};
use yore_core::query::{Filter, ListPlace};
use yore_core::scope::ScopeChoice;
use yore_core::text::{Tokenizer, Tokens, error_lines};

use super::{Occasion, Offer, OfferRequest, Offered, Said};
use crate::retrieve::project_here;
use crate::{Engine, EngineError, Hit, RecallAnswer, RecallRequest};

/// A prompt of fewer characters says nothing that could be looked up.
const SHORTEST: usize = 8;
/// As much of a prompt is read: what somebody asks for stands at its beginning or end.
const LONGEST: usize = 4_000;
/// Lines of a failure that are looked up.
const ERROR_LINES: usize = 3;
/// A memory whose score is below this share of the best one's is not offered beside it.
const LEAST_SHARE: f32 = 0.35;
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
    let sureness = sureness(&signs(engine, &text, &answer)?);
    if sureness < request.floor {
        return Ok(Offer::silent("floor", sureness));
    }
    chosen(request, answer, sureness, |_| Ok(None))
}

/// What people said about a file, and notes that name it. That an agent once read it is no news.
fn of_edit(engine: &Engine, request: &OfferRequest, filter: Filter, path: &str) -> Result<Offer, EngineError> {
    let normal = path.trim().replace('\\', "/");
    // Two components tell most files apart and hold on every computer.
    let parts: Vec<&str> = normal.split('/').filter(|part| !part.is_empty()).collect();
    let Some(name) = parts.last() else { return Ok(Offer::silent("short", 0.0)) };
    let suffix = parts[parts.len().saturating_sub(2)..].join("/");
    let filter = Filter { files: vec![suffix], roles: vec![Role::Human, Role::Summary], ..filter };
    let answer = ask(engine, request, filter, name)?;
    // The filter answers only with turns that name the file.
    let is_found = !answer.hits.is_empty();
    if !is_found {
        return Ok(Offer::silent("nothing", 0.0));
    }
    chosen(request, answer, 1.0, |_| Ok(None))
}

/// Where the same error was met before, and what came of it.
fn of_failure(engine: &Engine, request: &OfferRequest, filter: Filter, output: &str) -> Result<Offer, EngineError> {
    let lines: Vec<&str> = error_lines(output).take(ERROR_LINES).collect();
    if lines.is_empty() {
        return Ok(Offer::silent("no-error", 0.0));
    }
    let text = bounded(&lines.join("\n"));
    let answer = ask(engine, request, Filter { only_errors: true, ..filter }, &text)?;
    let Some(best) = answer.hits.first() else { return Ok(Offer::silent("nothing", 0.0)) };
    let rarity = engine.rarity(&answer.terms)?;
    let sureness = share_held(&best.turn.tool_text, &best.turn.text, &answer.terms, &rarity);
    if sureness < SAME_ERROR {
        return Ok(Offer::silent("floor", sureness));
    }
    let terms = answer.terms.clone();
    let names = quoted_names(&text);
    chosen(request, answer, sureness, |hit| {
        // Another error of the same kind shares words, too; what differs are the names in it.
        let is_same = names.iter().filter(|name| hit.turn.tool_text.contains(**name)).count() * 2 > names.len();
        if !is_same && !names.is_empty() || share_held(&hit.turn.tool_text, &hit.turn.text, &terms, &rarity) < SAME_ERROR {
            return Ok(None);
        }
        let outcome = engine.store().conclusion(hit.turn.row)?;
        Ok(outcome.filter(|turn| !turn.text.trim().is_empty()).map(|turn| Said { turn: turn.id, text: turn.text }))
    })
    .map(|mut offer| {
        // An error that nobody said anything about is no help, and what was said of several is said once.
        let mut told: HashSet<TurnId> = request.given.iter().copied().collect();
        let is_known = offer.memories.iter().filter_map(|memory| memory.outcome.as_ref()).any(|said| told.contains(&said.turn));
        offer.memories.retain(|memory| memory.outcome.as_ref().is_some_and(|outcome| told.insert(outcome.turn)));
        if offer.memories.is_empty() && offer.silence.is_none() {
            offer.silence = Some(if is_known { "known" } else { "no-outcome" }.to_owned());
        }
        offer
    })
}

/// What a report quotes: names of methods, types, files.
fn quoted_names(report: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in report.lines() {
        for mark in ['`', '\'', '"'] {
            // Apostrophes come alone or far apart.
            names.extend(line.split(mark).skip(1).step_by(2).filter(|name| (2..=80).contains(&name.trim().len())));
        }
    }
    names
}

/// From this share of an error's rare words on it is the same error.
const SAME_ERROR: f32 = 0.7;

fn ask(engine: &Engine, request: &OfferRequest, filter: Filter, text: &str) -> Result<RecallAnswer, EngineError> {
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
    let best_of = |name: &str| {
        let places = answer.hits.iter().flat_map(|hit| &hit.lists).filter(|place| place.name == name);
        places.map(|ListPlace { score, .. }| *score).fold(0.0f32, f32::max)
    };
    Ok(Signs { wording: Wording::of(text), words: best_of("words"), turns: engine.indexed()?, nearness: best_of("static") })
}

/// The share of the terms, by their rarity, that stand in a text or its companion.
fn share_held(text: &str, companion: &str, terms: &[String], rarity: &[f32]) -> f32 {
    let (mut tokenizer, mut tokens) = (Tokenizer::default(), Tokens::default());
    let mut held: HashSet<String> = HashSet::new();
    for text in [text, companion] {
        tokenizer.tokenize(text, &mut tokens);
        held.extend(tokens.iter().map(|token| token.text.to_owned()));
    }
    let all: f32 = rarity.iter().sum();
    let common: f32 = terms.iter().zip(rarity).filter(|(term, _)| held.contains(*term)).map(|(_, rarity)| rarity).sum();
    if all > 0.0 { common / all } else { 0.0 }
}

/// The best that the session does not know.
fn chosen(
    request: &OfferRequest,
    answer: RecallAnswer,
    sureness: f32,
    outcome: impl Fn(&Hit) -> Result<Option<Said>, EngineError>,
) -> Result<Offer, EngineError> {
    let best = answer.hits.first().map_or(0.0, |hit| hit.score);
    let mut memories = Vec::new();
    for hit in answer.hits {
        if memories.len() == request.limit || hit.score < best * LEAST_SHARE {
            break;
        }
        let is_own = request.session.as_deref().is_some_and(|session| {
            hit.turn.native_session == session
                || hit.turn.native_session.strip_prefix(session).is_some_and(|rest| rest.starts_with('/'))
        });
        if is_own || request.given.contains(&hit.turn.id) {
            continue;
        }
        memories.push(Offered { outcome: outcome(&hit)?, hit });
    }
    let silence = memories.is_empty().then(|| "known".to_owned());
    Ok(Offer { memories, sureness, silence })
}

/// The beginning and the end of a long text.
fn bounded(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(LONGEST / 2), text.ceil_char_boundary(text.len() - LONGEST / 2));
    format!("{}\n{}", &text[..head], &text[tail..])
}
