//! What concerns an error: where the same one was met, and what came of it.

use std::collections::HashSet;

use yore_core::id::TurnId;
use yore_core::query::Filter;
use yore_core::text::{Tokenizer, Tokens, error_lines};

use super::occasion::{ask, bounded, chosen};
use super::{Offer, OfferRequest, Said};
use crate::{Engine, EngineError};

/// Lines of a failure that are looked up.
const ERROR_LINES: usize = 3;

/// Where the same error was met before, and what came of it.
pub(super) fn of_failure(engine: &Engine, request: &OfferRequest, filter: Filter, output: &str) -> Result<Offer, EngineError> {
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

