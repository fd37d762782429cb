//! What a search may find, decided turn by turn from the columns before any vector is looked at.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::bits::Bits;
use super::segment::Columns;

/// What a search may find; an empty list means anything.
#[derive(Clone, Debug, Default)]
pub struct VectorFilter {
    /// Rows of projects.
    pub projects: Vec<u32>,
    /// Rows of episodes that belong to no project (0) and pass beside those of `projects`.
    pub everywhere: HashSet<i64>,
    /// Rows of branches.
    pub branches: Vec<u32>,
    /// Numbers of roles.
    pub roles: Vec<u8>,
    /// Rows of episodes; `None` means any.
    pub episodes: Option<HashSet<i64>>,
    /// Rows of turns; `None` means any.
    pub turns: Option<Arc<HashSet<i64>>>,
    /// Inclusive. A turn without time is not found when this or `until` is set.
    pub since: Option<i64>,
    /// Exclusive.
    pub until: Option<i64>,
}

impl VectorFilter {
    /// Whether everything passes.
    pub fn is_open(&self) -> bool {
        // Without projects everything passes, and so does what holds everywhere.
        let Self { projects, everywhere: _, branches, roles, episodes, turns, since, until } = self;
        let is_any_row = episodes.is_none() && turns.is_none();
        projects.is_empty() && branches.is_empty() && roles.is_empty() && is_any_row && since.is_none() && until.is_none()
    }

    /// The living turns of a segment that pass.
    pub(super) fn select(&self, columns: &Columns<'_>, dead: Option<&Bits>, living_rows: usize) -> Selected {
        if self.is_open() && dead.is_none() {
            return Selected { turns: None, rows: living_rows };
        }
        let mut turns = Bits::full(columns.turns.len());
        if let Some(dead) = dead {
            turns.remove(dead);
        }
        if self.is_open() {
            return Selected { turns: Some(turns), rows: living_rows };
        }
        if !self.projects.is_empty() {
            if self.everywhere.is_empty() {
                retain_listed(&mut turns, columns.projects, |project| self.projects.contains(project));
            } else {
                turns.retain(|turn| {
                    let project = columns.projects[turn];
                    self.projects.contains(&project) || project == 0 && self.everywhere.contains(&columns.episodes[turn])
                });
            }
        }
        if !self.branches.is_empty() {
            retain_listed(&mut turns, columns.branches, |branch| self.branches.contains(branch));
        }
        if !self.roles.is_empty() {
            // Neighbouring turns mostly have different roles.
            let mut is_listed = [false; 256];
            self.roles.iter().for_each(|role| is_listed[usize::from(*role)] = true);
            turns.retain(|turn| is_listed[usize::from(columns.roles[turn])]);
        }
        if let Some(episodes) = &self.episodes {
            retain_listed(&mut turns, columns.episodes, |episode| episodes.contains(episode));
        }
        if let Some(rows) = &self.turns {
            turns.retain(|turn| rows.contains(&columns.turns[turn]));
        }
        if self.since.is_some() || self.until.is_some() {
            // The least value says that the time is not known.
            let since = self.since.unwrap_or(i64::MIN).max(i64::MIN + 1);
            let until = self.until.unwrap_or(i64::MAX);
            // Nothing is later than the greatest value, so an open end includes it.
            let is_endless = self.until.is_none();
            turns.retain(|turn| columns.times[turn] >= since && (columns.times[turn] < until || is_endless));
        }
        let rows = turns.runs().map(|run| columns.rows(run).len()).sum();
        Selected { turns: Some(turns), rows }
    }
}

/// Keeps turns whose value is listed. Neighbouring turns mostly have the same value.
fn retain_listed<T: Copy + PartialEq>(turns: &mut Bits, column: &[T], is_listed: impl Fn(&T) -> bool) {
    let Some(first) = column.first() else { return };
    let (mut last, mut passes) = (*first, is_listed(first));
    turns.retain(|turn| {
        let value = column[turn];
        if value != last {
            (last, passes) = (value, is_listed(&value));
        }
        passes
    });
}

/// Turns of one segment that may be found.
#[derive(Debug)]
pub(super) struct Selected {
    /// `None` for all of them.
    turns: Option<Bits>,
    /// The rows of these turns.
    pub rows: usize,
}

impl Selected {
    /// Neighbouring rows that may be found, in order.
    pub(super) fn row_runs<'s>(&'s self, columns: &Columns<'s>) -> impl Iterator<Item = Range<usize>> + use<'s> {
        let columns = *columns;
        let all = if self.turns.is_none() { Some(0..columns.turns.len()) } else { None };
        let some = self.turns.iter().flat_map(Bits::runs);
        all.into_iter().chain(some).map(move |turns| columns.rows(turns))
    }

    /// The rows as a set; `None` for all of them.
    pub(super) fn row_bits(&self, columns: &Columns<'_>) -> Option<Bits> {
        let turns = self.turns.as_ref()?;
        let mut rows = Bits::new(columns.scales.len());
        turns.runs().for_each(|run| rows.set_range(columns.rows(run)));
        Some(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let found = |filter: VectorFilter| -> (Vec<usize>, usize) {
            let selected = filter.select(&columns, Some(&dead), 6);
            let rows: Vec<usize> = selected.row_runs(&columns).flatten().collect();
            assert_eq!(rows.len(), selected.rows);
            let bits = selected.row_bits(&columns).unwrap();
            assert_eq!(bits.runs().flatten().collect::<Vec<_>>(), rows);
            let mut turns: Vec<usize> = rows.iter().map(|row| columns.owners[*row] as usize + 1).collect();
            turns.dedup();
            (turns, rows.len())
        };
        let any = VectorFilter::default;
        assert_eq!(found(any()), (vec![1, 2, 3, 4, 5], 6));
        assert_eq!(found(VectorFilter { projects: vec![1], ..any() }), (vec![1, 2], 3));
        assert_eq!(found(VectorFilter { projects: vec![2, 3, 0], ..any() }), (vec![3, 4, 5], 3));
        // Turn 5 belongs to no project; that of another episode would not pass.
        let everywhere = |episode| VectorFilter { projects: vec![1], everywhere: HashSet::from([episode]), ..any() };
        assert_eq!(found(everywhere(12)), (vec![1, 2, 5], 4));
        assert_eq!(found(everywhere(11)), (vec![1, 2], 3));
        assert_eq!(found(VectorFilter { everywhere: HashSet::from([12]), ..any() }), (vec![1, 2, 3, 4, 5], 6));
        assert_eq!(found(VectorFilter { branches: vec![7, 9], ..any() }), (vec![1, 3, 5], 3));
        assert_eq!(found(VectorFilter { roles: vec![1, 2], projects: vec![1, 0], ..any() }), (vec![2, 5], 3));
        assert_eq!(found(VectorFilter { episodes: Some(HashSet::from([11, 12])), ..any() }), (vec![3, 4, 5], 3));
        assert_eq!(found(VectorFilter { episodes: Some(HashSet::new()), ..any() }), (vec![], 0));
        assert_eq!(found(VectorFilter { turns: Some(Arc::new(HashSet::from([2, 4, 6]))), ..any() }), (vec![2, 4], 3));
        assert_eq!(found(VectorFilter { since: Some(0), ..any() }), (vec![3, 4, 5], 3));
        assert_eq!(found(VectorFilter { until: Some(100), ..any() }), (vec![2, 3], 3));
        assert_eq!(found(VectorFilter { since: Some(-5), until: Some(i64::MAX), ..any() }), (vec![2, 3, 4], 4));
        assert_eq!(found(VectorFilter { since: Some(i64::MIN), ..any() }), (vec![2, 3, 4, 5], 5));
        let all = any().select(&columns, None, 9);
        assert!(all.row_bits(&columns).is_none());
        assert_eq!(all.row_runs(&columns).flatten().count(), 9);
    }
}
