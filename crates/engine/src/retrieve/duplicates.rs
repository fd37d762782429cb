//! Folds near-duplicate hits into the best of them.

use yore_core::conflict::Repetition;
use yore_core::episode::EpisodeKind;
use yore_core::query::Place;
use yore_core::text::{NEAR_DUPLICATE, Shingles, Tokenizer};

use super::newer::short_statements;
use super::plan::Plan;
use super::rank::Ranked;
use super::texts::Texts;
use super::{Found, QueryContext, memories};
use crate::error::EngineError;
use crate::store::ItemKey;

/// Similarity from which two passages count as the same.
const SAME_PASSAGE: f32 = 0.97;

/// A hit in preparation.
pub(super) struct Kept<'r> {
    pub ranked: &'r Ranked,
    pub found: Found,
    /// Name of its project.
    pub project: Option<String>,
    shingles: Shingles,
    /// Places of its near duplicates.
    pub also: Vec<Place>,
}

/// Returns whether two short texts state different things in nearly the same words, such as another value.
fn differ(one: &str, other: &str) -> bool {
    let mut tokenizer = Tokenizer::default();
    match [one, other].map(|text| short_statements(text, &mut tokenizer)).each_ref().map(Vec::as_slice) {
        [[one], [other]] => Repetition::of(one, other).is_none(),
        _ => false,
    }
}

/// Reads the text of the next candidates; a near duplicate is attached to the better turn.
pub(super) fn read_and_fold<'r>(
    context: &QueryContext<'_>,
    batch: &'r [Ranked],
    plan: &Plan<'_>,
    texts: &mut Texts,
    kept: &mut Vec<Kept<'r>>,
) -> Result<(), EngineError> {
    let request = plan.request;
    let keys: Vec<ItemKey> = batch.iter().map(Ranked::key).collect();
    texts.load(context.store, &keys)?;
    for ranked in batch {
        if kept.len() == request.limit {
            break;
        }
        let turn = match ranked.key() {
            ItemKey::Turn(row) => texts.take_turn(row),
            ItemKey::Memory(row) => {
                if let Some((memory, project)) = texts.take_memory(row) {
                    let found = Found::Memory(memories::found(context, plan, row, memory)?);
                    kept.push(Kept { ranked, found, project, shingles: Shingles::default(), also: Vec::new() });
                }
                continue;
            }
        };
        // The turn was deleted after the index was searched.
        let Some(turn) = turn else { continue };
        let mut shingles = Shingles::default();
        if request.is_folded && !turn.text.is_empty() {
            shingles = Shingles::of(&turn.text);
            // Passages of files and pages are often alike on purpose, and each has its own content.
            let least = if turn.kind == EpisodeKind::Document { SAME_PASSAGE } else { NEAR_DUPLICATE };
            let is_same = |better: &&mut Kept<'_>| {
                let Found::Turn(known) = &better.found else { return false };
                let is_near = known.kind == turn.kind && !known.text.is_empty() && better.shingles.is_near(&shingles, least);
                is_near && !differ(&known.text, &turn.text)
            };
            if let Some(better) = kept.iter_mut().find(is_same) {
                better.also.push(turn.place());
                continue;
            }
        }
        let project = turn.project.clone();
        kept.push(Kept { ranked, found: Found::Turn(turn), project, shingles, also: Vec::new() });
    }
    Ok(())
}
