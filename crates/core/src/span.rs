//! Divides a conversation into topics (spans), a tree of two levels, where its meaning and its files change.
//!
//! Each exchange has a vector of its meaning. Where the exchanges before a place and those after it are less alike than
//! elsewhere (depth scores after Hearst, "TextTiling", 1997), the topic may have changed; files, pauses and words of
//! transition are further signs. The weights were fitted on conversations that were joined from real ones
//! (`docs/measurements.md`, "Topics").

use std::collections::BTreeSet;
use std::ops::Range;

use crate::vector::{dot, unit_length};

/// Exchanges on each side of a place that are compared.
const WINDOW: usize = 4;
/// Weight of the next exchange away from the place, relative to the one before.
const DECAY: f32 = 0.7;
/// Share of the conversation's mean that is taken from each vector: what all exchanges have in common tells no topics apart.
const COMMON: f32 = 0.7;
/// Fewest exchanges of a span: a digression of one exchange opens no topic.
const FEWEST: usize = 2;
/// A span of fewer exchanges has no parts.
const DIVISIBLE: usize = 8;

/// Weights of the signs.
const DEPTH_WEIGHT: f32 = 3.2;
const LIKENESS_WEIGHT: f32 = -1.0;
const FILES_WEIGHT: f32 = 1.75;
/// The joined conversations have no pauses and no words of transition at their seams, so these two were not fitted.
const PAUSE_WEIGHT: f32 = 0.6;
const WORDS_WEIGHT: f32 = 0.8;
/// A place with a lower sum divides no topics, and below the second no parts of one.
const TOPIC_SUM: f32 = 3.5;
const PART_SUM: f32 = 2.0;

const HOUR_MS: f32 = 3_600_000.0;

/// An exchange, as far as it tells its topic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unit {
    /// Vector of its meaning, of any length; all units have the same number of dimensions. `None`: nothing is known.
    pub vector: Option<Vec<f32>>,
    /// Names of the files that it is about.
    pub files: BTreeSet<String>,
    /// Milliseconds since the exchange before it ended, if known.
    pub pause_ms: Option<i64>,
    /// True if it begins with words that open another topic.
    pub has_transition: bool,
}

named_enum! {
    /// The strongest sign of a change of topic.
    ShiftSign {
        /// The exchanges before and after it differ in meaning.
        Meaning = "meaning",
        /// They are about other files.
        Files = "files",
        /// There was a pause.
        Pause = "pause",
        /// The person said so.
        Words = "words",
    }
}

/// A stretch of exchanges about one topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The exchanges.
    pub units: Range<usize>,
    /// The sign by which it was divided from the span before it; `None` for the first.
    pub sign: Option<ShiftSign>,
    /// Parts of it; empty, or at least two that together are the whole.
    pub parts: Vec<Span>,
}

/// Returns the spans of a conversation in order; together they are the whole of it.
pub fn divide(units: &[Unit]) -> Vec<Span> {
    if units.is_empty() {
        return Vec::new();
    }
    let places = places(units);
    let whole = Span { units: 0..units.len(), sign: None, parts: Vec::new() };
    let mut spans = cut(&whole, &places, TOPIC_SUM);
    for span in spans.iter_mut().filter(|span| span.units.len() >= DIVISIBLE) {
        let parts = cut(span, &places, PART_SUM);
        if parts.len() > 1 {
            span.parts = parts;
        }
    }
    spans
}

/// A place between two exchanges.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Sum of its signs.
    sum: f32,
    sign: ShiftSign,
}

/// Divides a span where the sum is high enough, the strongest places first.
fn cut(span: &Span, places: &[Place], least: f32) -> Vec<Span> {
    let Range { start, end } = span.units;
    let sum = |at: &usize| places[*at - 1].sum;
    let mut candidates: Vec<usize> = (start + FEWEST..=end.saturating_sub(FEWEST)).filter(|at| sum(at) >= least).collect();
    candidates.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    for at in candidates {
        let is_near = chosen.range(at.saturating_sub(FEWEST - 1)..at + FEWEST).next().is_some();
        if !is_near {
            chosen.insert(at);
        }
    }
    let starts: Vec<usize> = std::iter::once(start).chain(chosen).collect();
    let ends = starts.iter().skip(1).copied().chain([end]);
    let sign = |at: usize| if at == start { span.sign } else { Some(places[at - 1].sign) };
    starts.iter().zip(ends).map(|(at, end)| Span { units: *at..end, sign: sign(*at), parts: Vec::new() }).collect()
}

/// Returns the places between the exchanges.
fn places(units: &[Unit]) -> Vec<Place> {
    let vectors = distinct(units);
    let count = units.len() - 1;
    let likeness: Vec<Option<f32>> = (1..=count)
        .map(|at| {
            let before = around(&vectors, (at.saturating_sub(WINDOW)..at).rev());
            let after = around(&vectors, at..units.len().min(at + WINDOW));
            Some(dot(&before?, &after?))
        })
        .collect();
    let known: Vec<f32> = likeness.iter().map(|likeness| likeness.unwrap_or(1.0)).collect();
    (0..count)
        .map(|at| {
            let unit = &units[at + 1];
            let meaning = match likeness[at] {
                Some(likeness) => DEPTH_WEIGHT * depth(&known, at) + LIKENESS_WEIGHT * likeness,
                None => 0.0,
            };
            let files = FILES_WEIGHT * other_files(units, at + 1);
            let hours = unit.pause_ms.unwrap_or(0).max(0) as f32 / HOUR_MS;
            let pause = PAUSE_WEIGHT * hours.ln_1p();
            let words = if unit.has_transition { WORDS_WEIGHT } else { 0.0 };
            let signs =
                [(meaning, ShiftSign::Meaning), (files, ShiftSign::Files), (pause, ShiftSign::Pause), (words, ShiftSign::Words)];
            let sign = signs.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or(ShiftSign::Meaning, |(_, sign)| sign);
            Place { sum: meaning + files + pause + words, sign }
        })
        .collect()
}

/// Returns the vectors of the exchanges without what they have in common, each of length 1.
fn distinct(units: &[Unit]) -> Vec<Option<Vec<f32>>> {
    let vectors: Vec<Option<Vec<f32>>> = units.iter().map(|unit| unit.vector.as_deref().and_then(unit_length)).collect();
    let known: Vec<&Vec<f32>> = vectors.iter().flatten().collect();
    let dimensions = known.first().map_or(0, |vector| vector.len());
    let mut mean = vec![0.0f32; dimensions];
    for vector in &known {
        mean.iter_mut().zip(vector.iter()).for_each(|(sum, value)| *sum += value / known.len() as f32);
    }
    let without = |vector: &Vec<f32>| {
        let rest: Vec<f32> = vector.iter().zip(&mean).map(|(value, mean)| value - COMMON * mean).collect();
        unit_length(&rest)
    };
    vectors.iter().map(|vector| vector.as_ref().and_then(without)).collect()
}

/// Returns the weighted mean of exchanges, the nearest first, at length 1.
fn around(vectors: &[Option<Vec<f32>>], near: impl Iterator<Item = usize>) -> Option<Vec<f32>> {
    let mut sum: Vec<f32> = Vec::new();
    let mut weight = 1.0;
    for at in near {
        if let Some(vector) = &vectors[at] {
            sum.resize(vector.len(), 0.0);
            sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += weight * value);
        }
        weight *= DECAY;
    }
    unit_length(&sum)
}

/// Returns how deep a place lies below the next heights on both sides.
fn depth(likeness: &[f32], at: usize) -> f32 {
    let height = |side: &mut dyn Iterator<Item = &f32>| {
        let mut height = likeness[at];
        for value in side {
            if *value < height {
                break;
            }
            height = *value;
        }
        height
    };
    let (left, right) = (height(&mut likeness[..at].iter().rev()), height(&mut likeness[at + 1..].iter()));
    left + right - 2.0 * likeness[at]
}

/// Returns 1 if the exchanges before and after a place are about files and share none, -1 if they share all that one side
/// has, and 0 if a side has none.
fn other_files(units: &[Unit], at: usize) -> f32 {
    let names = |range: Range<usize>| units[range].iter().flat_map(|unit| &unit.files).collect::<BTreeSet<_>>();
    let (before, after) = (names(at.saturating_sub(WINDOW)..at), names(at..units.len().min(at + WINDOW)));
    let fewest = before.len().min(after.len());
    if fewest == 0 {
        return 0.0;
    }
    1.0 - 2.0 * before.intersection(&after).count() as f32 / fewest as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(topic: usize, seed: usize) -> Unit {
        let mut vector = vec![0.1; 8];
        vector[topic] += 1.0;
        vector[(seed * 3) % 8] += 0.25;
        Unit { vector: Some(vector), files: BTreeSet::from([format!("file{topic}.rs")]), ..Unit::default() }
    }

    fn talk(topics: &[usize]) -> Vec<Unit> {
        topics.iter().enumerate().map(|(seed, topic)| about(*topic, seed)).collect()
    }

    fn ranges(spans: &[Span]) -> Vec<Range<usize>> {
        spans.iter().map(|span| span.units.clone()).collect()
    }

    #[test]
    fn conversation_is_divided_where_its_topic_changes() {
        assert_eq!(ranges(&divide(&talk(&[0, 0, 0, 0, 1, 1, 1, 1]))), [0..4, 4..8]);
        assert_eq!(ranges(&divide(&talk(&[0, 0, 0, 1, 1, 1, 1, 2, 2, 2]))), [0..3, 3..7, 7..10]);
        assert_eq!(divide(&talk(&[0; 12])).len(), 1);
    }

    #[test]
    fn digression_of_one_exchange_opens_no_topic() {
        let spans = divide(&talk(&[0, 0, 0, 0, 1, 0, 0, 0, 0]));
        assert!(spans.iter().all(|span| span.units.len() >= 2), "{spans:?}");
    }

    #[test]
    fn spans_are_the_whole_conversation_in_order_whatever_is_known_of_it() {
        let nothing = vec![Unit::default(); 9];
        let mut odd = talk(&[0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 1, 1]);
        odd[3].vector = None;
        odd[4].vector = Some(vec![f32::NAN; 8]);
        odd[5] = Unit { pause_ms: Some(i64::MAX), has_transition: true, ..Unit::default() };
        odd[6].pause_ms = Some(i64::MIN);
        for units in [Vec::new(), talk(&[0]), talk(&[0, 1]), talk(&[0, 1, 2]), nothing, odd] {
            let spans = divide(&units);
            let mut next = 0;
            for span in &spans {
                assert_eq!(span.units.start, next);
                next = span.units.end;
                assert!(span.parts.is_empty() || span.parts.len() > 1);
                let parts = ranges(&span.parts);
                assert!(parts.is_empty() || parts[0].start == span.units.start && parts[parts.len() - 1].end == span.units.end);
                assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start), "{parts:?}");
            }
            assert_eq!(next, units.len());
        }
    }

    #[test]
    fn pause_and_words_of_transition_divide_what_is_alike() {
        let mut units = talk(&[0; 8]);
        units.iter_mut().for_each(|unit| unit.files.clear());
        assert_eq!(divide(&units).len(), 1);
        units[4].pause_ms = Some(20 * 24 * 3_600_000);
        units[4].has_transition = true;
        let spans = divide(&units);
        assert_eq!(ranges(&spans), [0..4, 4..8]);
        assert_eq!(spans[1].sign, Some(ShiftSign::Pause));
    }
}
