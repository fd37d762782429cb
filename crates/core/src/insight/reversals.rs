//! Finds decisions that were reversed.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::{Happened, Insight, InsightKind, LONGEST};
use crate::text::cut;
use crate::time::{DAY_MS, UtcMillis};

/// A decision that is replaced within so many days was made too early.
const SOON_DAYS: i64 = 14;
/// Replacements of one thing that make it undecided.
const OFTEN: usize = 2;

/// A memory that took the place of another one.
#[derive(Clone, Debug)]
pub struct Replacement<'a, Name> {
    /// The older memory, what it says, and since when.
    pub older: (Name, &'a str, UtcMillis),
    /// The newer one.
    pub newer: (Name, &'a str, UtcMillis),
}

/// Returns the chains of decisions of which one was replaced soon, or several were, the longest first. Places are the memories, the last one first.
pub fn reversals<Name: Clone + Eq + Hash>(replaced: &[Replacement<'_, Name>]) -> Vec<Insight<Name>> {
    let by_older: HashMap<&Name, &Replacement<'_, Name>> = replaced.iter().map(|one| (&one.older.0, one)).collect();
    let newer: HashSet<&Name> = replaced.iter().map(|one| &one.newer.0).collect();
    let mut found = Vec::new();
    // A chain begins with a decision that replaced none.
    let mut begins: Vec<&Replacement<'_, Name>> =
        replaced.iter().filter(|one| !newer.contains(&one.older.0) && by_older[&one.older.0].newer.0 == one.newer.0).collect();
    begins.sort_by_key(|one| one.older.2);
    for begin in begins {
        let mut chain = vec![begin];
        while let Some(next) = by_older.get(&chain[chain.len() - 1].newer.0).filter(|_| chain.len() < replaced.len()) {
            chain.push(next);
        }
        let days = |one: &Replacement<'_, Name>| (one.newer.2 - one.older.2) / DAY_MS;
        if chain.len() < OFTEN && !chain.iter().any(|one| (0..SOON_DAYS).contains(&days(one))) {
            continue;
        }
        let last = chain[chain.len() - 1];
        let mut happened = vec![Happened { session: 0, at: Some(begin.older.2), place: begin.older.0.clone() }];
        for (number, one) in (1..).zip(&chain) {
            happened.push(Happened { session: number, at: Some(one.newer.2), place: one.newer.0.clone() });
        }
        let insight = Insight::of(InsightKind::Reversal, cut(begin.older.1, LONGEST), happened);
        let (was, is) = (cut(last.older.1, LONGEST), cut(last.newer.1, LONGEST));
        let when = match days(last) {
            0 => "on the same day".to_owned(),
            1 => "a day later".to_owned(),
            days => format!("{days} days later"),
        };
        let often = if chain.len() > 1 { format!(" It was the {} change.", ordinal(chain.len())) } else { String::new() };
        found.push(Insight {
            statement: format!("“{was}” was replaced {when} by “{is}”.{often}"),
            sessions: chain.len(),
            times: chain.len(),
            ..insight
        });
    }
    super::sorted(found)
}

fn ordinal(number: usize) -> String {
    match number {
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        number => format!("{number}th"),
    }
}
