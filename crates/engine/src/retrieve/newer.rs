//! Raises the newer of two turns about one subject above the older (`yore_core::rank::raise_newer`).

use std::collections::HashMap;

use yore_core::episode::EpisodeKind;
use yore_core::query::{AskedFor, NewerFirst, Part, ScorePart, SearchMode};
use yore_core::rank::{Dated, raise_newer};
use yore_core::text::says_change;

use super::Asked;
use super::deadline::LatePart;
use super::plan::Plan;
use super::rank::Ranked;
use super::texts::Texts;
use crate::error::EngineError;
use crate::ingest::source::is_agent;
use crate::store::ItemKey;

/// Number of the best candidates that are compared.
const COMPARED: usize = 20;

/// Share of the older one's score that the newer must have.
const LEAST_SHARE: f32 = 0.3;

/// Returns the cosine from which two turns count as one subject.
fn same_subject(mode: SearchMode) -> f32 {
    match mode {
        SearchMode::Full => 0.85,
        SearchMode::Static | SearchMode::Lexical => 0.6,
    }
}

/// Raises newer turns, and returns for each raised turn the older one below it.
pub(super) fn newer_first(
    asked: &Asked<'_>,
    plan: &Plan<'_>,
    ranked: &mut [Ranked],
    texts: &mut Texts,
) -> Result<HashMap<ItemKey, ItemKey>, EngineError> {
    let choice = plan.request.newer_first;

    let is_wanted = choice != NewerFirst::Never && !matches!(plan.asked_for, AskedFor::List | AskedFor::History);
    let Some(semantic) = asked.semantic.filter(|_| is_wanted) else { return Ok(HashMap::new()) };
    let compared = ranked.len().min(COMPARED);
    let keys: Vec<ItemKey> = ranked[..compared].iter().map(Ranked::key).collect();
    texts.load(asked.store, &keys)?;
    let dated: Vec<Dated> = keys
        .iter()
        .zip(ranked.iter())
        .map(|(key, ranked)| {
            let turn = texts.turn(*key);
            let is_comparable = turn.is_some_and(|turn| {
                let is_work = choice == NewerFirst::Everywhere || is_agent(&turn.agent) && turn.speaker.is_none();
                turn.kind != EpisodeKind::Document && is_work && !turn.text.trim().is_empty()
            });
            Dated {
                at: turn.and_then(|turn| turn.time.utc).filter(|_| is_comparable),
                score: ranked.score,
                says_change: is_comparable && turn.is_some_and(|turn| says_change(&turn.text)),
            }
        })
        .collect();
    if !dated.iter().any(|dated| dated.says_change) || !asked.deadline.allows(LatePart::Newer) {
        return Ok(HashMap::new());
    }
    let vectors: Vec<Option<Vec<f32>>> = keys.iter().map(|key| semantic.mean_vector(*key, plan.mode)).collect();
    let cosine = |a: usize, b: usize| {
        if dated[b].score < LEAST_SHARE * dated[a].score {
            return 0.0;
        }
        let (Some(a), Some(b)) = (&vectors[a], &vectors[b]) else { return 0.0 };
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    };
    let mut older = HashMap::new();
    for raised in raise_newer(&dated, same_subject(plan.mode), &cosine) {
        older.insert(keys[raised.newer], keys[raised.older]);
        let newer = &mut ranked[raised.newer];
        newer.add(ScorePart { part: Part::Newer, value: raised.score - newer.score });
    }
    ranked[..compared].sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(older)
}
