//! Completes the ranked hits: text, quote, location, score parts (phase TRACE).

use yore_core::episode::Role;
use yore_core::query::{List, ListPlace, Part, ScorePart, SearchMode};
use yore_core::text::{Question, Tokenizer, error_line, quote};

use super::boosts::Ranked;
use super::candidate::{Candidate, Contribution};
use super::deadline::LatePart;
use super::duplicates::{Kept, read_and_fold};
use super::pack::{Asking, asked_code, matching_text, pack};
use super::plan::Plan;
use super::texts::Texts;
use super::{Found, Hit, Packing, QueryContext, RecallRequest, SessionHit};
use crate::error::EngineError;
use crate::store::ShownTurn;

/// Share of the budget that an answer gets which likely does not bear on the question.
const DOUBTFUL_SHARE: f32 = 0.3;
/// Extra turns read beyond the limit, so that other turns replace folded ones.
const SPARE: usize = 4;
/// Rounds of reading more, when nearly everything is a duplicate.
const ROUNDS: usize = 4;

/// Returns the hits, without their passages, and the sessions that contain them.
pub(super) fn hits(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    ranked: &[Ranked],
    texts: &mut Texts,
    tokenizer: &mut Tokenizer,
) -> Result<(Vec<Hit>, Vec<SessionHit>), EngineError> {
    let request = plan.request;
    let mut kept: Vec<Kept<'_>> = Vec::with_capacity(request.limit);
    let mut rest = ranked;
    for _ in 0..ROUNDS {
        let spare = if request.is_folded { SPARE } else { 0 };
        let (batch, later) = rest.split_at(rest.len().min(request.limit - kept.len() + spare));
        rest = later;
        read_and_fold(context, batch, plan, texts, tokenizer, &mut kept)?;
        if kept.len() == request.limit || rest.is_empty() {
            break;
        }
    }
    let tool_shares = tool_shares(context, plan, &kept)?;
    let mut hits = Vec::with_capacity(kept.len());
    let mut sessions: Vec<SessionHit> = Vec::new();
    for (Kept { ranked, found, project, also, .. }, tool_share) in kept.into_iter().zip(tool_shares) {
        let hit = match found {
            Found::Turn(turn) => Hit::of_turn(turn, String::new()),
            Found::Memory(memory) => Hit::of_memory(memory, project),
        };
        if let Some(turn) = hit.as_turn()
            && !sessions.iter().any(|session| session.episode == turn.episode)
        {
            let (episode, native_id) = (turn.episode, turn.native_session.clone());
            sessions.push(SessionHit { episode, native_id, score: ranked.score, title: None });
        }
        let rank = hits.len() + 1;
        hits.push(Hit {
            rank,
            score: ranked.score,
            parts: parts(ranked, tool_share),
            lists: lists(&ranked.candidate),
            also,
            exchange: rank,
            ..hit
        });
    }
    Ok((hits, sessions))
}

/// Gives the hits their passages: within the budget that they share, or each a quote.
pub(super) fn quote_hits(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    hits: &mut [Hit],
    is_doubtful: bool,
    tokenizer: &mut Tokenizer,
) -> Result<(), EngineError> {
    let (request, question) = (plan.request, &plan.question);
    // Quotes cost less than choosing passages.
    if let Some(packing) = request.packing.as_ref().filter(|_| context.deadline.allows(LatePart::Passages)) {
        let text = (plan.mode != SearchMode::Lexical).then_some(&*plan.text);
        let (asked_for, parts) = (plan.asked_for, plan.parts.as_slice());
        let (filter, among) = (&request.filter, request.tuning.among.as_deref());
        let asked = request.question.as_str();
        let asking = Asking { asked, question, text, asked_for, parts, filter, given: &[], among, is_unasked: false };
        let share = if is_doubtful { DOUBTFUL_SHARE } else { 1.0 };
        let packing = Packing { budget: (packing.budget as f32 * share) as usize, ..*packing };
        return pack(context.store, &context.lexical, hits, &asking, &packing, tokenizer);
    }
    if request.quote_chars > 0 {
        for hit in hits {
            hit.quote = match &hit.found {
                Found::Turn(turn) => quote_of(turn, matching_text(hit), question, request, tokenizer),
                Found::Memory(memory) => quote(&memory.memory.statement, question, request.quote_chars, tokenizer),
            };
        }
    }
    Ok(())
}

/// Returns, for each turn, the share of its score in the full-text list that comes from tool inputs and
/// outputs.
fn tool_shares(context: &QueryContext<'_>, plan: &Plan<'_>, kept: &[Kept<'_>]) -> Result<Vec<f32>, EngineError> {
    let words: Vec<_> = kept.iter().map(|kept| kept.ranked.candidate.by(List::Words)).collect();
    let places: Vec<_> = words.iter().filter_map(|words| words.and_then(|words| words.address)).collect();
    let mut scores = context.lexical.tool_scores(&plan.question, plan.tool_weight, &places)?.into_iter();
    let share = |words: &Option<&Contribution>| {
        let Some(Contribution { own_score, address: Some(_), .. }) = words else { return 0.0 };
        let tool_score = scores.next().unwrap_or(0.0);
        if *own_score > 0.0 { tool_score / own_score } else { 0.0 }
    };
    Ok(words.iter().map(share).collect())
}

/// Returns the parts of the score: the lists' contributions, with spoken text separate from tool inputs and
/// outputs, and the support of other turns.
fn parts(ranked: &Ranked, tool_share: f32) -> Vec<ScorePart> {
    let mut parts: Vec<ScorePart> = Vec::new();
    for contribution in &ranked.candidate.contributions {
        if contribution.part == Part::Text {
            let tool = contribution.value * tool_share;
            parts.push(ScorePart { part: Part::Text, value: contribution.value - tool });
            parts.push(ScorePart { part: Part::Tool, value: tool });
        } else {
            parts.push(ScorePart { part: contribution.part, value: contribution.value });
        }
    }
    parts.extend(ranked.support.iter().copied());
    parts.retain(|part| part.value.abs() > 1e-4);
    parts
}

fn lists(candidate: &Candidate) -> Vec<ListPlace> {
    let place = |contribution: &Contribution| ListPlace {
        list: contribution.list,
        rank: contribution.rank,
        score: contribution.own_score,
    };
    candidate.contributions.iter().map(place).collect()
}

/// Returns the passage to show. For a failed tool, that is the line with the reason, before the passage that
/// matches the query if that is another one.
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
