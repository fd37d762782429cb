//! Divisions of long texts and of lists of pieces into parts that a model can read: by size, number, source, word or meaning.
//!
//! Every division ends, gives the same parts for the same input, and covers all of it: by characters each byte is in a part, by pieces
//! each piece is in a group ([`by_keywords`]: in one or several). No part is empty.
//!
//! - [`by_characters`], [`by_lines`]: ranges of one text
//! - [`uniform`], [`by_source`], [`by_keywords`], [`by_meaning`], [`adaptive`]: groups of pieces, by their numbers

use std::collections::BTreeMap;
use std::ops::Range;

use crate::vector::{dot, unit_length};

/// Name of the group of pieces that have none of the keywords.
pub const OTHER: &str = "_other";
/// Most rounds of [`by_meaning`].
const MOST_ROUNDS: usize = 50;
/// Pieces of a group where a question counts or lists, and groups where it asks about meaning ([`adaptive`]).
const AGGREGATED: usize = 10;
const GROUPS: usize = 5;

/// A group of pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name of the group, if it has one: its source or keyword.
    pub name: Option<String>,
    /// Numbers of its pieces, ascending.
    pub pieces: Vec<usize>,
}

/// A division that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivisionError {
    /// The size is zero.
    NoSize,
    /// The overlap is not smaller than the size.
    Overlap,
}

impl std::fmt::Display for DivisionError {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(match self {
            Self::NoSize => "a part must have at least one character",
            Self::Overlap => "the overlap must be smaller than a part",
        })
    }
}

impl std::error::Error for DivisionError {}

/// Divides a text into parts of at most `size` characters; each begins `overlap` characters before the end of the one before.
///
/// # Errors
/// If `size` is 0, or `overlap` not smaller.
pub fn by_characters(text: &str, size: usize, overlap: usize) -> Result<Vec<Range<usize>>, DivisionError> {
    if size == 0 {
        return Err(DivisionError::NoSize);
    }
    if overlap >= size {
        return Err(DivisionError::Overlap);
    }
    let mut parts = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = after(text, start, size);
        parts.push(start..end);
        if end == text.len() {
            break;
        }
        // The overlap is smaller than the part, so that the next one begins later.
        start = after(text, start, size - overlap);
    }
    Ok(parts)
}

/// Returns the place so many characters after another one, or the end.
fn after(text: &str, start: usize, characters: usize) -> usize {
    text[start..].char_indices().nth(characters).map_or(text.len(), |(at, _)| start + at)
}

/// Divides a text into parts of whole lines, of at most `size` bytes each; a longer line is divided where it must be.
///
/// # Errors
/// If `size` is 0.
pub fn by_lines(text: &str, size: usize) -> Result<Vec<Range<usize>>, DivisionError> {
    if size == 0 {
        return Err(DivisionError::NoSize);
    }
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let most = text.floor_char_boundary(start.saturating_add(size));
        let end = match () {
            () if most == text.len() => most,
            // A character that is longer than a part is a part.
            () if most == start => text.ceil_char_boundary(start + 1),
            () => text[start..most].rfind('\n').map_or(most, |at| start + at + 1),
        };
        parts.push(start..end);
        start = end;
    }
    Ok(parts)
}

/// Divides so many pieces into groups of at most `size`, in their order.
///
/// # Errors
/// If `size` is 0.
pub fn uniform(pieces: usize, size: usize) -> Result<Vec<Group>, DivisionError> {
    if size == 0 {
        return Err(DivisionError::NoSize);
    }
    let group = |start: usize| Group { name: None, pieces: (start..pieces.min(start.saturating_add(size))).collect() };
    Ok((0..pieces).step_by(size).map(group).collect())
}

/// Groups pieces by their source, in the order of the first piece of each.
pub fn by_source<S: AsRef<str>>(sources: &[S]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (piece, source) in sources.iter().enumerate() {
        let source = source.as_ref();
        let at = *known.entry(source).or_insert_with(|| {
            groups.push(Group { name: Some(source.to_owned()), pieces: Vec::new() });
            groups.len() - 1
        });
        groups[at].pieces.push(piece);
    }
    groups
}

/// Groups pieces by the keywords that they have, ignoring case; a piece may be in several groups. Pieces without any are the group
/// [`OTHER`]. Keywords are words as they stand, not patterns.
pub fn by_keywords<T: AsRef<str>, K: AsRef<str>>(texts: &[T], keywords: &[K]) -> Vec<Group> {
    let texts: Vec<String> = texts.iter().map(|text| text.as_ref().to_lowercase()).collect();
    let mut is_grouped = vec![false; texts.len()];
    let mut groups = Vec::new();
    for keyword in keywords.iter().map(AsRef::as_ref).filter(|keyword| !keyword.trim().is_empty()) {
        let wanted = keyword.to_lowercase();
        let pieces: Vec<usize> = (0..texts.len()).filter(|piece| texts[*piece].contains(&wanted)).collect();
        for piece in &pieces {
            is_grouped[*piece] = true;
        }
        if !pieces.is_empty() {
            groups.push(Group { name: Some(keyword.to_owned()), pieces });
        }
    }
    let others: Vec<usize> = (0..texts.len()).filter(|piece| !is_grouped[*piece]).collect();
    if !others.is_empty() {
        groups.push(Group { name: Some(OTHER.to_owned()), pieces: others });
    }
    groups
}

/// Groups pieces into at most `groups` by the cosine of their vectors: k-means, begun by k-means++ (Arthur and Vassilvitskii 2007) with a
/// fixed seed, at most fifty rounds. A vector of another length or without one is as far from all as can be.
pub fn by_meaning<V: AsRef<[f32]>>(vectors: &[V], groups: usize, seed: u64) -> Vec<Group> {
    let units: Vec<Vec<f32>> = vectors.iter().map(|vector| unit(vector.as_ref())).collect();
    if units.len() <= groups || groups == 0 {
        return (0..units.len()).map(|piece| Group { name: None, pieces: vec![piece] }).collect();
    }
    let mut centres = beginning(&units, groups, seed);
    let mut assigned: Vec<usize> = Vec::new();
    for _ in 0..MOST_ROUNDS {
        let nearest: Vec<usize> = units.iter().map(|vector| nearest(vector, &centres).0).collect();
        if nearest == assigned {
            break;
        }
        assigned = nearest;
        for (at, centre) in centres.iter_mut().enumerate() {
            let members = units.iter().zip(&assigned).filter(|(_, group)| **group == at).map(|(vector, _)| vector);
            let mut sum = vec![0.0; centre.len()];
            for vector in members {
                sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
            }
            // A centre without members stays where it is.
            if sum.iter().any(|value| *value != 0.0) {
                *centre = unit(&sum);
            }
        }
    }
    let group = |at: usize| {
        let pieces: Vec<usize> = (0..units.len()).filter(|piece| assigned[*piece] == at).collect();
        (!pieces.is_empty()).then_some(Group { name: None, pieces })
    };
    let mut found: Vec<Group> = (0..centres.len()).filter_map(group).collect();
    found.sort_by_key(|group| group.pieces[0]);
    found
}

/// Chooses the first centres: each next one far from those before, with a probability that grows with the square of the distance.
fn beginning(units: &[Vec<f32>], groups: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut state = seed;
    let mut centres = vec![units[(random(&mut state) * units.len() as f64) as usize % units.len()].clone()];
    while centres.len() < groups {
        let distances: Vec<f64> =
            units.iter().map(|vector| f64::from(1.0 - nearest(vector, &centres).1).max(0.0).powi(2)).collect();
        let sum: f64 = distances.iter().sum();
        if sum <= 0.0 {
            // All pieces are at a centre already.
            break;
        }
        let mut left = random(&mut state) * sum;
        let chosen = distances.iter().position(|distance| {
            left -= distance;
            left < 0.0
        });
        centres.push(units[chosen.unwrap_or(units.len() - 1)].clone());
    }
    centres
}

/// Returns the number of the nearest centre, and the cosine to it.
fn nearest(vector: &[f32], centres: &[Vec<f32>]) -> (usize, f32) {
    let cosine = |centre: &Vec<f32>| {
        if centre.len() == vector.len() { dot(centre, vector) } else { -1.0 }
    };
    let cosines = centres.iter().map(cosine).enumerate();
    // Of two that are equally near, the first.
    cosines.fold((0, f32::NEG_INFINITY), |best, (at, cosine)| if cosine > best.1 { (at, cosine) } else { best })
}

/// Returns a vector at length 1, or zeros for one without a direction.
fn unit(vector: &[f32]) -> Vec<f32> {
    unit_length(vector).unwrap_or_else(|| vec![0.0; vector.len()])
}

/// Returns a number from 0 to 1 (exclusive): SplitMix64 (Steele, Lea, Flood 2014).
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// What [`adaptive`] chooses by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Occasion<'a, V> {
    /// The question counts, compares or lists.
    pub is_aggregate: bool,
    /// The pieces are code.
    pub is_code: bool,
    /// Keywords of the question that are rare enough to divide by.
    pub keywords: &'a [&'a str],
    /// Vectors of the pieces; empty if there are none.
    pub vectors: &'a [V],
}

/// Groups pieces, each with a source and a text, by what the question needs: code of several sources by source; where a question counts or
/// lists, groups of ten; by keywords where some but not most pieces have one; else five groups by meaning, or without vectors of ten.
pub fn adaptive<V: AsRef<[f32]>>(pieces: &[(&str, &str)], occasion: &Occasion<'_, V>) -> Vec<Group> {
    let sources: Vec<&str> = pieces.iter().map(|(source, _)| *source).collect();
    let by_ten = || uniform(pieces.len(), AGGREGATED).unwrap_or_default();
    if occasion.is_code && sources.iter().any(|source| *source != sources[0]) {
        return by_source(&sources);
    }
    if occasion.is_aggregate {
        return by_ten();
    }
    let texts: Vec<&str> = pieces.iter().map(|(_, text)| *text).collect();
    let by_words = by_keywords(&texts, occasion.keywords);
    let others = by_words.iter().find(|group| group.name.as_deref() == Some(OTHER)).map_or(0, |group| group.pieces.len());
    if by_words.len() > 2 && 2 * others < pieces.len() {
        return by_words;
    }
    if occasion.vectors.len() == pieces.len() { by_meaning(occasion.vectors, GROUPS, 0) } else { by_ten() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn covers(groups: &[Group], pieces: usize) -> bool {
        let all: BTreeSet<usize> = groups.iter().flat_map(|group| group.pieces.iter().copied()).collect();
        all == (0..pieces).collect() && groups.iter().all(|group| !group.pieces.is_empty())
    }

    fn is_partition(groups: &[Group], pieces: usize) -> bool {
        covers(groups, pieces) && groups.iter().map(|group| group.pieces.len()).sum::<usize>() == pieces
    }

    proptest! {
        #[test]
        fn characters_are_covered_by_parts_that_overlap(text in "\\PC{0,200}", size in 1usize..20, overlap in 0usize..20) {
            let parts = by_characters(&text, size, overlap);
            prop_assert_eq!(parts.is_err(), overlap >= size);
            let Ok(parts) = parts else { return Ok(()) };
            let mut end = 0;
            for part in &parts {
                prop_assert!(part.start <= end && part.end > end, "{part:?} after {end}");
                prop_assert!(text[part.clone()].chars().count() <= size);
                end = part.end;
            }
            prop_assert_eq!(end, text.len());
        }

        #[test]
        fn lines_are_covered_in_their_order(text in "[a-zé\\n]{0,200}", size in 1usize..40) {
            let parts = by_lines(&text, size).unwrap();
            let joined: String = parts.iter().map(|part| &text[part.clone()]).collect();
            prop_assert_eq!(joined, text.as_str());
            prop_assert!(parts.iter().all(|part| !part.is_empty()));
            prop_assert!(parts.iter().all(|part| part.len() <= size || text[part.clone()].chars().count() == 1));
        }

        #[test]
        fn each_piece_is_in_one_group(pieces in 0usize..50, size in 1usize..10, sources in proptest::collection::vec("[ab]", 0..20)) {
            prop_assert!(is_partition(&uniform(pieces, size).unwrap(), pieces));
            prop_assert!(is_partition(&by_source(&sources), sources.len()));
        }

        #[test]
        fn each_piece_has_a_group_of_keywords(texts in proptest::collection::vec("[a-c .*]{0,6}", 0..20), keywords in proptest::collection::vec("[a-c.*]{0,2}", 0..4)) {
            let groups = by_keywords(&texts, &keywords);
            prop_assert!(covers(&groups, texts.len()));
            for group in groups.iter().filter(|group| group.name.as_deref() != Some(OTHER)) {
                let name = group.name.as_deref().unwrap();
                prop_assert!(group.pieces.iter().all(|piece| texts[*piece].contains(name)), "a keyword is no pattern");
            }
        }

        #[test]
        fn meaning_divides_all_and_again_in_the_same_way(
            vectors in proptest::collection::vec(proptest::collection::vec(-1.0f32..1.0, 4), 0..40), groups in 0usize..8, seed in any::<u64>()
        ) {
            let found = by_meaning(&vectors, groups, seed);
            prop_assert!(is_partition(&found, vectors.len()));
            prop_assert_eq!(&found, &by_meaning(&vectors, groups, seed));
            if vectors.len() > groups && groups > 0 {
                prop_assert!(found.len() <= groups);
            }
        }
    }

    #[test]
    fn what_points_in_one_direction_is_one_group() {
        let near = |angle: f32, at: usize| {
            let turned = angle + at as f32 * 0.01;
            vec![turned.cos(), turned.sin()]
        };
        let vectors: Vec<Vec<f32>> = (0..12).map(|at| near((at % 3) as f32 * 2.0, at)).collect();
        for seed in 0..20 {
            let groups = by_meaning(&vectors, 3, seed);
            assert_eq!(groups.len(), 3, "{seed}");
            assert!(groups.iter().all(|group| group.pieces.windows(2).all(|pair| (pair[1] - pair[0]) % 3 == 0)), "{groups:?}");
        }
        let same = vec![vec![1.0f32, 0.0]; 9];
        assert_eq!(by_meaning(&same, 3, 1).len(), 1, "groups without pieces are dropped");
        assert!(is_partition(&by_meaning(&[vec![0.0f32; 2], vec![1.0, 0.0], vec![f32::NAN, 0.0]], 2, 1), 3));
    }

    #[test]
    fn the_question_decides_how_pieces_are_divided() {
        let pieces = [("a.rs", "the harbour"), ("b.rs", "the pier"), ("a.rs", "the harbour pier"), ("c.rs", "the harbour")];
        let vectors: &[Vec<f32>] = &[];
        let names = |occasion: &Occasion<'_, Vec<f32>>| -> Vec<Option<String>> {
            adaptive(&pieces, occasion).into_iter().map(|group| group.name).collect()
        };
        let none = Occasion { vectors, ..Occasion::default() };
        assert_eq!(names(&Occasion { is_code: true, ..none }).len(), 3);
        assert_eq!(names(&Occasion { is_aggregate: true, ..none }), [None]);
        let words = Occasion { keywords: &["harbour", "pier", "gull"], ..none };
        assert_eq!(names(&words), [None], "two groups are not worth it");
        let words = Occasion { keywords: &["harbour", "pier", "the"], ..none };
        assert_eq!(names(&words).len(), 3);
        assert_eq!(names(&none), [None], "without vectors by number");
        let vectors = vec![vec![1.0f32, 0.0], vec![0.0, 1.0], vec![0.7, 0.7], vec![1.0, 0.1]];
        assert!(is_partition(&adaptive(&pieces, &Occasion { vectors: &vectors, ..Occasion::default() }), 4));
        assert!(adaptive::<Vec<f32>>(&[], &none).is_empty());
    }
}
