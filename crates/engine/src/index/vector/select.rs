//! Selects the turns of a segment that pass the filter, from its columns, before any vector is read.

use std::ops::Range;

use super::bits::Bits;
use super::segment::Columns;
use crate::index::filter::{CompiledFilter, Evaluator, FilterValues};

/// Returns the live turns of a segment that pass.
pub(super) fn select(filter: &CompiledFilter, columns: &Columns<'_>, dead: Option<&Bits>, living_rows: usize) -> Selected {
    if filter.is_open() && dead.is_none() {
        return Selected { turns: None, rows: living_rows };
    }
    let mut turns = Bits::full(columns.turns.len());
    if let Some(dead) = dead {
        turns.remove(dead);
    }
    if filter.is_open() {
        return Selected { turns: Some(turns), rows: living_rows };
    }
    let mut evaluator = Evaluator::new(filter);
    turns.retain(|turn| evaluator.passes(&TurnValues(columns, turn)));
    let rows = turns.runs().map(|run| columns.rows(run).len()).sum();
    Selected { turns: Some(turns), rows }
}

/// The values of one turn of a segment.
struct TurnValues<'c>(&'c Columns<'c>, usize);

impl FilterValues for TurnValues<'_> {
    fn key(&self) -> i64 {
        self.0.turns[self.1]
    }

    fn episode(&self) -> i64 {
        self.0.episodes[self.1]
    }

    fn project(&self) -> i64 {
        i64::from(self.0.projects[self.1])
    }

    fn branch(&self) -> i64 {
        i64::from(self.0.branches[self.1])
    }

    fn class(&self) -> u8 {
        self.0.roles[self.1]
    }

    fn at(&self) -> i64 {
        self.0.times[self.1]
    }
}

/// The allowed turns of one segment.
#[derive(Debug)]
pub(super) struct Selected {
    /// The turns; `None` for all of them.
    turns: Option<Bits>,
    /// Number of rows of these turns.
    pub rows: usize,
}

impl Selected {
    /// Returns the runs of allowed rows, in order.
    pub(super) fn row_runs<'s>(&'s self, columns: &Columns<'s>) -> impl Iterator<Item = Range<usize>> + use<'s> {
        let columns = *columns;
        let all = if self.turns.is_none() { Some(0..columns.turns.len()) } else { None };
        let some = self.turns.iter().flat_map(Bits::runs);
        all.into_iter().chain(some).map(move |turns| columns.rows(turns))
    }

    /// Returns the rows as a set; `None` for all of them.
    pub(super) fn row_bits(&self, columns: &Columns<'_>) -> Option<Bits> {
        let turns = self.turns.as_ref()?;
        let mut rows = Bits::new(columns.scales.len());
        turns.runs().for_each(|run| rows.set_range(columns.rows(run)));
        Some(rows)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::*;
    use yore_core::episode::Role;

    #[test]
    fn turns_pass_by_every_column() {
        let columns = Columns {
            turns: &[1, 2, 3, 4, 5, 6],
            episodes: &[10, 10, 11, 11, 12, 12],
            times: &[i64::MIN, -5, 0, 100, i64::MAX, 200],
            projects: &[1, 1, 2, 2, 0, 3],
            branches: &[7, 0, 7, 8, 9, 9],
            roles: &[0, 1, 0, 1, 2, 0],
            starts: &[0, 1, 3, 4, 5, 6, 9],
            owners: &[0, 1, 1, 2, 3, 4, 5, 5, 5],
            scales: &[1.0; 9],
            ..Columns::default()
        };
        let mut dead = Bits::new(6);
        dead.set(5);
        let found = |filter: CompiledFilter| -> (Vec<usize>, usize) {
            let selected = select(&filter, &columns, Some(&dead), 6);
            let rows: Vec<usize> = selected.row_runs(&columns).flatten().collect();
            assert_eq!(rows.len(), selected.rows);
            let bits = selected.row_bits(&columns).unwrap();
            assert_eq!(bits.runs().flatten().collect::<Vec<_>>(), rows);
            let mut turns: Vec<usize> = rows.iter().map(|row| columns.owners[*row] as usize + 1).collect();
            turns.dedup();
            (turns, rows.len())
        };
        let any = CompiledFilter::default;
        assert_eq!(found(any()), (vec![1, 2, 3, 4, 5], 6));
        assert_eq!(found(CompiledFilter { projects: Some(HashSet::from([1])), ..any() }), (vec![1, 2], 3));
        assert_eq!(found(CompiledFilter { projects: Some(HashSet::from([2, 3, 0])), ..any() }), (vec![3, 4, 5], 3));
        // Turn 5 belongs to no project; a turn of another episode would not pass.
        let everywhere =
            |episode| CompiledFilter { projects: Some(HashSet::from([1])), everywhere: HashSet::from([episode]), ..any() };
        assert_eq!(found(everywhere(12)), (vec![1, 2, 5], 4));
        assert_eq!(found(everywhere(11)), (vec![1, 2], 3));
        assert_eq!(found(CompiledFilter { everywhere: HashSet::from([12]), ..any() }), (vec![1, 2, 3, 4, 5], 6));
        assert_eq!(found(CompiledFilter { branches: Some(HashSet::from([7, 9])), ..any() }), (vec![1, 3, 5], 3));
        assert_eq!(
            found(CompiledFilter {
                roles: Some(vec![Role::ALL[1], Role::ALL[2]]),
                projects: Some(HashSet::from([1, 0])),
                ..any()
            }),
            (vec![2, 5], 3)
        );
        assert_eq!(found(CompiledFilter { episodes: Some(HashSet::from([11, 12])), ..any() }), (vec![3, 4, 5], 3));
        assert_eq!(found(CompiledFilter { episodes: Some(HashSet::new()), ..any() }), (vec![], 0));
        assert_eq!(found(CompiledFilter { turns: Some(Arc::new(HashSet::from([2, 4, 6]))), ..any() }), (vec![2, 4], 3));
        assert_eq!(found(CompiledFilter { since: Some(0), ..any() }), (vec![3, 4, 5], 3));
        assert_eq!(found(CompiledFilter { until: Some(100), ..any() }), (vec![2, 3], 3));
        assert_eq!(found(CompiledFilter { since: Some(-5), until: Some(i64::MAX), ..any() }), (vec![2, 3, 4], 4));
        assert_eq!(found(CompiledFilter { since: Some(i64::MIN), ..any() }), (vec![2, 3, 4, 5], 5));
        let all = select(&any(), &columns, None, 9);
        assert!(all.row_bits(&columns).is_none());
        assert_eq!(all.row_runs(&columns).flatten().count(), 9);
    }
}
