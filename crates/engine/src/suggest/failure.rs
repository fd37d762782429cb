//! Suggests memories for an error: earlier occurrences and their outcome.

use std::collections::{HashMap, HashSet};

use yore_core::id::TurnId;
use yore_core::query::{Filter, ItemId, Wanted};
use yore_core::relevance::SkipReason;
use yore_core::text::{Tokenizer, Tokens, error_lines, error_reasons, paths, steady};

use super::choose::{ask, bounded, chosen};
use super::suggestion::{SuggestRequest, Suggestions};
use crate::error::EngineError;
use crate::store::Turns;
use crate::{Engine, Hit, Said};

/// Maximum number of lines of a failure that are searched for.
const ERROR_LINES: usize = 3;
/// Least share of a line's rare words for the same error.
const SAME_ERROR: f32 = 0.7;
/// The same share for a line that does not itself report an error.
const SAME_WORDS: f32 = 0.85;

/// Finds earlier occurrences of the same error, and their outcome. The output is known to be from a failure:
/// if no line of it reports an error, its first lines are searched for.
pub(super) fn of_failure(
    engine: &Engine,
    request: &SuggestRequest,
    filter: Filter,
    output: &str,
) -> Result<Suggestions, EngineError> {
    let reasons: Vec<String> = error_reasons(output, ERROR_LINES).into_iter().map(steady).collect();
    if reasons.is_empty() {
        return Ok(Suggestions::silent(SkipReason::NoError, 0.0));
    }
    let is_reported = error_lines(output).next().is_some();
    let least = if is_reported { SAME_ERROR } else { SAME_WORDS };
    let mut answer =
        ask(engine, request, Filter { only_errors: true, wanted: Wanted::Turns, ..filter }, &bounded(&reasons.join("\n")))?;
    if answer.hits.is_empty() {
        return Ok(Suggestions::silent(SkipReason::Nothing, 0.0));
    }
    let rarity = engine.rarity(&answer.terms)?;
    let mut asked = Reasons::new(reasons, answer.terms.iter().cloned().zip(rarity).collect());
    // Other errors of the same kind share words too, so the share is measured within a single line.
    let mut confidence = 0.0f32;
    answer.hits.retain(|hit| {
        let Some(turn) = hit.as_turn() else { return false };
        let same = asked.share_in(&turn.tool_text, is_reported).max(asked.share_in(&turn.text, is_reported));
        confidence = confidence.max(same);
        same >= least
    });
    if answer.hits.is_empty() {
        return Ok(Suggestions::silent(SkipReason::Floor, confidence));
    }
    let conclusion = |hit: &Hit| -> Result<Option<Said>, EngineError> {
        let Some(turn) = hit.as_turn() else { return Ok(None) };
        let outcome = engine.store().turns(Turns::Conclusion(turn.row))?.pop();
        Ok(outcome.filter(|turn| !turn.text.trim().is_empty()).map(|turn| Said { text: turn.text.clone(), ..Said::of(&turn) }))
    };
    // If the session was given the outcome of the best hit, the outcome from another session adds nothing.
    let mut news = 0;
    for hit in &answer.hits {
        let is_known = |id: ItemId| request.given.contains(&id);
        let is_told = !request.given.is_empty()
            && (is_known(hit.id()) || conclusion(hit)?.is_some_and(|said| is_known(ItemId::Turn(said.turn))));
        if is_told {
            break;
        }
        news += 1;
    }
    answer.hits.truncate(news);
    if answer.hits.is_empty() {
        return Ok(Suggestions::silent(SkipReason::Known, confidence));
    }
    let suggestions = chosen(engine, request, answer, confidence, conclusion);
    suggestions.map(|mut suggestions| {
        // An error without an outcome is no help, and an outcome of several errors is suggested once.
        let mut told: HashSet<TurnId> = HashSet::new();
        suggestions.memories.retain(|memory| memory.outcome.as_ref().is_some_and(|outcome| told.insert(outcome.turn)));
        if suggestions.memories.is_empty() && suggestions.skipped.is_none() {
            suggestions.skipped = Some(SkipReason::NoOutcome);
        }
        suggestions
    })
}

/// Error lines of a failure, for comparison with other outputs.
struct Reasons {
    lines: Vec<Reason>,
    tokenizer: Tokenizer,
    tokens: Tokens,
}

struct Reason {
    /// Its terms, each with its rarity.
    terms: HashMap<String, f32>,
    /// Names of methods, types and files that the line quotes.
    names: Vec<String>,
}

impl Reasons {
    fn new(lines: Vec<String>, rarity: HashMap<String, f32>) -> Self {
        let (mut tokenizer, mut tokens) = (Tokenizer::default(), Tokens::default());
        let reason = |line: &String| {
            // File names are required separately; as terms, their components would outweigh the message.
            let mut said = line.clone();
            for mention in paths(line) {
                said = said.replace(mention.path, " ");
            }
            tokenizer.tokenize(&said, &mut tokens);
            if tokens.is_empty() {
                tokenizer.tokenize(line, &mut tokens);
            }
            let terms = tokens.iter().filter_map(|token| rarity.get_key_value(token.text));
            Reason { terms: terms.map(|(term, rarity)| (term.clone(), *rarity)).collect(), names: names_in(line) }
        };
        let lines = lines.iter().map(reason).collect();
        Self { lines, tokenizer, tokens }
    }

    /// Returns the largest share of a line's terms, weighted by rarity, found in a single line of an output:
    /// in one that reports an error, or in any. A line with other names is another error.
    fn share_in(&mut self, output: &str, is_reported: bool) -> f32 {
        let mut best = 0.0f32;
        let lines: Vec<&str> =
            if is_reported { error_lines(output).collect() } else { output.lines().take(MOST_LINES).collect() };
        for line in lines {
            let is_named = |reason: &&Reason| {
                let named = reason.names.iter().filter(|name| line.contains(name.as_str())).count();
                reason.names.is_empty() || named * 2 > reason.names.len()
            };
            let mut alike = self.lines.iter().filter(is_named).peekable();
            if alike.peek().is_none() {
                continue;
            }
            self.tokenizer.tokenize(line, &mut self.tokens);
            let held: HashSet<&str> = self.tokens.iter().map(|token| token.text).collect();
            for reason in alike {
                let all: f32 = reason.terms.values().sum();
                let common: f32 =
                    reason.terms.iter().filter(|(term, _)| held.contains(term.as_str())).map(|(_, rarity)| rarity).sum();
                if all > 0.0 {
                    best = best.max(common / all);
                }
            }
        }
        best
    }
}

/// Lines read of an output that reports no error.
const MOST_LINES: usize = 200;

/// Returns the names that a report quotes, and the names of files in it.
fn names_in(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    for mark in ['`', '\'', '"'] {
        // Apostrophes come alone or far apart.
        let quoted = line.split(mark).skip(1).step_by(2).filter(|name| (2..=80).contains(&name.trim().len()));
        names.extend(quoted.map(str::to_owned));
    }
    let files = paths(line).into_iter().filter_map(|mention| mention.path.rsplit(['/', '\\']).find(|part| !part.is_empty()));
    for file in files {
        if !names.iter().any(|name| name.contains(file)) {
            names.push(file.to_owned());
        }
    }
    names
}
