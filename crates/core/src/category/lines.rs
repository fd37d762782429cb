//! Chooses the statements of a summary: the best of each section, what nearly repeats another one left out.

use super::record::{Category, Item, Section};
use crate::memory::{Lane, MemoryKind, Status};
use crate::text::{NEAR_DUPLICATE, Shingles, plain};
use crate::vector::{dot, unit_length};

/// Beginning of a decision that its section says.
pub(super) const PLAN: &str = "Approved plan: ";
/// The words between a problem and what solved it.
pub(super) const SOLVED: &str = " Fix: ";
/// Cosine from which two statements say the same.
const SAME: f32 = 0.86;
/// Share of a statement's score that its relevance, strength, importance and place in the middle have.
const RELEVANCE: f32 = 0.35;
const STRENGTH: f32 = 0.25;
const IMPORTANCE: f32 = 0.15;
const CENTRALITY: f32 = 0.25;
/// Loss of a statement by a year, and of a solution that does not say what was done.
const AGE: f32 = 0.1;
const UNSAID: f32 = 0.15;
/// Fewest characters of a heading by which two statements are about one thing.
const HEADING: usize = 20;
/// Most statements of a section that are compared.
const COMPARED: usize = 60;

/// Returns the section in which a memory is told.
pub(super) fn section_of(item: &Item<'_>) -> Option<Section> {
    let memory = item.memory;
    Some(match memory.kind {
        _ if memory.is_closed() => return None,
        MemoryKind::Decision => Section::Decisions,
        MemoryKind::Standard | MemoryKind::Preference => Section::Rules,
        MemoryKind::Solution => Section::Solutions,
        MemoryKind::Question | MemoryKind::Problem | MemoryKind::Todo => Section::Open,
        // A refusal of one command is no rule.
        MemoryKind::Event | MemoryKind::Attempt | MemoryKind::Reflection | MemoryKind::UserInput => Section::Events,
        // It would tell itself.
        MemoryKind::CategorySummary => return None,
        _ => Section::Holds,
    })
}

/// Returns the members of a category that its summary may tell, by section, best first.
pub(super) fn ranked(category: &Category, items: &[Item<'_>]) -> Vec<(Section, Vec<usize>)> {
    let centre = centre(category, items);
    let latest = category.members.iter().filter_map(|member| since(&items[member.item])).max();
    let score = |item: usize, relevance: f32| {
        let known = &items[item];
        let central = known.vector.zip(centre.as_deref()).map_or(0.0, |(vector, centre)| dot(vector, centre));
        // Among equals, what was said later.
        let age =
            latest.zip(since(known)).map_or(1.0, |(latest, at)| (latest - at) as f32 / (365.0 * crate::time::DAY_MS as f32));
        RELEVANCE * relevance + STRENGTH * known.strength + IMPORTANCE * known.memory.importance + CENTRALITY * central.max(0.0)
            - AGE * age.clamp(0.0, 1.0)
            - if known.memory.kind == MemoryKind::Solution && !says_how(&known.memory.statement) { UNSAID } else { 0.0 }
    };
    let mut sections: Vec<(Section, Vec<(usize, f32)>)> = Section::ALL.iter().map(|section| (*section, Vec::new())).collect();
    for member in &category.members {
        let item = &items[member.item];
        let is_told = matches!(item.memory.status, Status::Holds | Status::Contested);
        if let Some(section) = section_of(item).filter(|_| is_told)
            && let Some((_, found)) = sections.iter_mut().find(|(known, _)| *known == section)
        {
            found.push((member.item, score(member.item, member.relevance)));
        }
    }
    let mut told: Vec<(usize, Shingles, String)> = Vec::new();
    let mut unlike = |found: Vec<(usize, f32)>| {
        let mut kept = Vec::new();
        for (item, _) in found.into_iter().take(COMPARED) {
            let statement = words_of(&items[item].memory.statement);
            let shingles = Shingles::of(&statement);
            let is_known = told.iter().any(|(known, others, heading)| {
                let alike = items[item].vector.zip(items[*known].vector).map_or(0.0, |(one, other)| dot(one, other));
                // Two sides of a conflict are alike, and both are told.
                let is_conflict = items[item].against.iter().any(|(id, _)| *id == items[*known].memory.id);
                let is_of_heading = heading.len() >= HEADING && statement.contains(heading.as_str());
                !is_conflict && (is_of_heading || alike >= SAME || shingles.similarity(others) >= NEAR_DUPLICATE)
            });
            if !is_known {
                let heading = statement.split_once(". ").map(|(heading, _)| heading.to_owned()).unwrap_or_default();
                told.push((item, shingles, heading));
                kept.push(item);
            }
        }
        kept
    };
    let mut ranked = Vec::new();
    for (section, mut found) in sections {
        found.sort_by(|(a, a_score), (b, b_score)| {
            let first = |item: usize| {
                let memory = items[item].memory;
                (!memory.is_pinned, memory.lane != Lane::Curated)
            };
            let ids = items[*a].memory.id.cmp(&items[*b].memory.id);
            first(*a).cmp(&first(*b)).then(b_score.total_cmp(a_score)).then(ids)
        });
        ranked.push((section, unlike(found)));
    }
    ranked
}

/// Returns since when a memory is so, as far as is known.
pub(super) fn since(item: &Item<'_>) -> Option<crate::time::UtcMillis> {
    Some(item.memory.valid_from.unwrap_or(item.memory.recorded))
}

/// Returns the direction of the sum of the members' vectors, added in the order of their ids.
fn centre(category: &Category, items: &[Item<'_>]) -> Option<Vec<f32>> {
    let mut members: Vec<_> = category.members.iter().map(|member| (member.id, member.item)).collect();
    members.sort();
    let mut vectors = members.iter().filter_map(|(_, item)| items[*item].vector);
    let mut sum = vectors.next()?.to_vec();
    for vector in vectors {
        sum.iter_mut().zip(vector).for_each(|(sum, part)| *sum += part);
    }
    unit_length(&sum)
}

/// Returns the words of a statement without marks and without what its section says.
pub(super) fn words_of(statement: &str) -> String {
    let statement = plain(statement);
    statement.strip_prefix(PLAN).unwrap_or(&statement).to_owned()
}

/// Returns whether a statement of a solution says what was done.
fn says_how(statement: &str) -> bool {
    statement.contains(SOLVED) || statement.to_lowercase().starts_with("fix")
}
