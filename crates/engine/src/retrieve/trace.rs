//! TRACE: the words, the place, the parts of the score; near duplicates folded into the better
//! turn.

use std::collections::HashMap;

use yore_core::episode::{EpisodeKind, Role};
use yore_core::query::{Filter, Part, Place, ScorePart};
use yore_core::text::{
    NEAR_DUPLICATE, Question, Shingles, Tokenizer, asked_terms, code_blocks, error_line, language_name, quote,
};

use super::distill::Ranked;
use super::plan::tool_weight;
use super::{Asked, Hit, RecallRequest, SessionHit};
use crate::EngineError;
use crate::index::LexicalHit;
use crate::store::ShownTurn;

/// More turns than asked for are read, so that folded ones make room for others.
const SPARE: usize = 4;
/// Similarity from which two passages are one.
const SAME_PASSAGE: f32 = 0.97;
/// Rounds of reading more, when nearly everything is a duplicate.
const ROUNDS: usize = 4;

/// The hits, and the sessions they stand in.
pub(super) fn trace(
    asked: &Asked<'_>,
    question: &Question,
    ranked: &[Ranked],
    request: &RecallRequest,
    tokenizer: &mut Tokenizer,
) -> Result<(Vec<Hit>, Vec<SessionHit>), EngineError> {
    let mut kept: Vec<Kept<'_>> = Vec::with_capacity(request.limit);
    let mut rest = ranked;
    for _ in 0..ROUNDS {
        let spare = if request.is_folded { SPARE } else { 0 };
        let (batch, later) = rest.split_at(rest.len().min(request.limit - kept.len() + spare));
        rest = later;
        read(asked, batch, request, &mut kept)?;
        if kept.len() == request.limit || rest.is_empty() {
            break;
        }
    }
    let chosen: Vec<LexicalHit> = kept.iter().filter_map(|kept| kept.ranked.candidate.lexical).collect();
    let tool_scores = asked.lexical.tool_scores(question, tool_weight(question, request), &chosen)?;
    let tool_scores: HashMap<i64, f32> = chosen.iter().map(|hit| hit.row).zip(tool_scores).collect();
    let mut hits = Vec::with_capacity(kept.len());
    let mut sessions: Vec<SessionHit> = Vec::new();
    for Kept { ranked, turn, also, .. } in kept {
        let candidate = &ranked.candidate;
        let share = match &candidate.lexical {
            Some(hit) if hit.score > 0.0 => tool_scores.get(&hit.row).copied().unwrap_or(0.0) / hit.score,
            _ => 0.0,
        };
        let tool = candidate.words * share;
        let parts = [
            (Part::Text, candidate.words - tool),
            (Part::Tool, tool),
            (Part::Meaning, candidate.meaning),
            (Part::Neighbour, ranked.neighbour),
            (Part::Session, ranked.session),
        ];
        let parts =
            parts.into_iter().filter(|(_, value)| value.abs() > 1e-4).map(|(part, value)| ScorePart { part, value }).collect();
        let words = if turn.text.is_empty() || share > 0.5 && !turn.tool_text.is_empty() { &turn.tool_text } else { &turn.text };
        let quote = if request.quote_chars == 0 { String::new() } else { quote_of(&turn, words, question, request, tokenizer) };
        if !sessions.iter().any(|session| session.episode == turn.episode) {
            sessions.push(SessionHit { episode: turn.episode, native_id: turn.native_session.clone(), score: ranked.score });
        }
        let (lists, place) = (candidate.lists.clone(), turn.place());
        hits.push(Hit { rank: hits.len() + 1, score: ranked.score, parts, lists, quote, place, also, turn });
    }
    Ok((hits, sessions))
}

/// The passage that is shown. Of what a failed tool said it holds the line that says why, before
/// the passage that the question asks for where that is another one.
fn quote_of(turn: &ShownTurn, words: &str, question: &Question, request: &RecallRequest, tokenizer: &mut Tokenizer) -> String {
    let chars = request.quote_chars;
    if let Some(block) = asked_code(&turn.text, question, &request.filter, tokenizer) {
        return quote(block, question, chars, tokenizer);
    }
    let passage = quote(words, question, chars, tokenizer);
    let is_report = turn.role == Role::ToolResult && (turn.is_error || request.filter.only_errors);
    let Some(line) = error_line(words).filter(|line| is_report && !passage.contains(line)) else { return passage };
    let line: String = line.chars().take(chars.div_ceil(2)).collect();
    let left = chars.saturating_sub(line.chars().count() + 1);
    if left == 0 || passage.starts_with(&line) {
        return line;
    }
    format!("{line}\n{}", quote(words, question, left, tokenizer))
}

/// Where code is asked for: the code block that has most of the asked terms, with the line that introduces it.
fn asked_code<'t>(text: &'t str, question: &Question, filter: &Filter, tokenizer: &mut Tokenizer) -> Option<&'t str> {
    if !filter.has_code && filter.languages.is_empty() {
        return None;
    }
    let languages: Vec<String> = filter.languages.iter().map(|language| language_name(language)).collect();
    let is_asked = |language: &Option<String>| {
        languages.is_empty() || language.as_ref().is_some_and(|language| languages.contains(language))
    };
    let blocks = code_blocks(text).into_iter().filter(|block| is_asked(&block.language));
    let passages = blocks.map(|block| &text[block.with_caption(text)]);
    let counted = passages.map(|passage| (asked_terms(passage, question, tokenizer), passage));
    // The first of several that have as many.
    counted.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, passage)| passage)
}

/// A turn that will be given.
struct Kept<'r> {
    ranked: &'r Ranked,
    turn: ShownTurn,
    shingles: Shingles,
    also: Vec<Place>,
}

/// Reads the words of the next turns; a near duplicate goes with the better turn.
fn read<'r>(
    asked: &Asked<'_>,
    batch: &'r [Ranked],
    request: &RecallRequest,
    kept: &mut Vec<Kept<'r>>,
) -> Result<(), EngineError> {
    let rows: Vec<i64> = batch.iter().map(|ranked| ranked.candidate.row).collect();
    let mut turns: HashMap<i64, ShownTurn> = asked.store.shown_turns(&rows)?.into_iter().map(|turn| (turn.row, turn)).collect();
    for ranked in batch {
        if kept.len() == request.limit {
            break;
        }
        // A turn that was deleted since the index was asked.
        let Some(turn) = turns.remove(&ranked.candidate.row) else { continue };
        let mut shingles = Shingles::default();
        if request.is_folded && !turn.text.is_empty() {
            shingles = Shingles::of(&turn.text);
            // Passages of files and pages are often alike on purpose; each says something else.
            let least = if turn.kind == EpisodeKind::Document { SAME_PASSAGE } else { NEAR_DUPLICATE };
            let is_same = |better: &&mut Kept<'_>| {
                better.turn.kind == turn.kind && !better.turn.text.is_empty() && better.shingles.is_near(&shingles, least)
            };
            if let Some(better) = kept.iter_mut().find(is_same) {
                better.also.push(turn.place());
                continue;
            }
        }
        kept.push(Kept { ranked, turn, shingles, also: Vec::new() });
    }
    Ok(())
}
