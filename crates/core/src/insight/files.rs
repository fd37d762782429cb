//! Finds files that are opened before each change of another one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Happened, Insight, InsightKind, Offer, sorted};
use crate::memory::MemoryKind;
use crate::time::{DAY_MS, UtcMillis};

/// Fewest sessions that changed a file.
const FEWEST_CHANGES: usize = 4;
/// Least share of these sessions that opened the other file before.
const NEARLY_ALL: f64 = 0.8;
/// Most share of all sessions that open the other file: one that is opened in any case tells nothing.
const SELDOM: f64 = 0.25;
/// Least ratio of the two shares.
const RATIO: f64 = 2.5;
/// Least share of these sessions that changed both, and number of the newest ones that all did: else the tie may be over.
const BOTH: f64 = 0.8;
const NEWEST: usize = 2;
/// Most files that a session changes that says something: in a wide change everything is touched.
const WIDE: usize = 12;
/// Shortest time from the first of these sessions to the last: what is opened during one piece of work belongs to that.
const LEAST_SPAN: UtcMillis = 7 * DAY_MS;

/// A file that a tool opened or changed. Touches are given session by session, each in order.
#[derive(Clone, Copy, Debug)]
pub struct Touch<'a, Turn> {
    /// The session.
    pub session: i64,
    /// Its time.
    pub at: Option<UtcMillis>,
    /// The file.
    pub path: &'a str,
    /// True if it was changed.
    pub is_written: bool,
    /// The turn.
    pub turn: Turn,
}

/// Returns for each file another one that nearly every session opened before it changed that file, that most of them changed too, and that few others
/// opened at all.
pub fn read_before<Turn: Clone>(touches: &[Touch<'_, Turn>]) -> Vec<Insight<Turn>> {
    let mut first_open: HashMap<(i64, &str), usize> = HashMap::new();
    let mut first_change: BTreeMap<&str, BTreeMap<i64, usize>> = BTreeMap::new();
    let mut opened_in: HashMap<&str, BTreeSet<i64>> = HashMap::new();
    let mut by_session: HashMap<i64, BTreeSet<&str>> = HashMap::new();
    for (place, touch) in touches.iter().enumerate() {
        first_open.entry((touch.session, touch.path)).or_insert(place);
        opened_in.entry(touch.path).or_default().insert(touch.session);
        by_session.entry(touch.session).or_default().insert(touch.path);
        if touch.is_written {
            first_change.entry(touch.path).or_default().entry(touch.session).or_insert(place);
        }
    }
    let all = by_session.len() as f64;
    let mut widths: HashMap<i64, usize> = HashMap::new();
    for session in first_change.values().flat_map(BTreeMap::keys) {
        *widths.entry(*session).or_default() += 1;
    }
    for changes in first_change.values_mut() {
        changes.retain(|session, _| widths[session] <= WIDE);
    }
    let mut found = Vec::new();
    let mut told: Vec<(&str, &str)> = Vec::new();
    for (path, changes) in &first_change {
        if changes.len() < FEWEST_CHANGES {
            continue;
        }
        let mut before: BTreeMap<&str, usize> = BTreeMap::new();
        for (session, place) in changes {
            for other in &by_session[session] {
                if first_open[&(*session, *other)] < *place && !is_same_stem(other, path) && !is_test_beside(path, other) {
                    *before.entry(other).or_default() += 1;
                }
            }
        }
        let share = |count: usize| count as f64 / changes.len() as f64;
        let changed_in = |other: &str| first_change.get(other);
        let usual = |other: &str| opened_in[other].len() as f64 / all;
        let mut telling: Vec<(&str, usize)> = before
            .into_iter()
            .filter(|(other, count)| {
                let changed_both = |session: &i64| changed_in(other).is_some_and(|known| known.contains_key(session));
                share(*count) >= NEARLY_ALL
                    && usual(other) <= SELDOM
                    && share(*count) >= RATIO * usual(other)
                    && changes.keys().filter(|session| changed_both(session)).count() as f64 >= BOTH * changes.len() as f64
                    && newest_first(changes, touches).take(NEWEST).all(|session| changed_both(&session))
            })
            .collect();
        // Among those that belong to it, the one that others open least.
        telling.sort_by(|a, b| usual(a.0).total_cmp(&usual(b.0)).then(b.1.cmp(&a.1)).then(a.0.cmp(b.0)));
        let Some((other, sessions)) = telling.first().copied() else { continue };
        // A file and its test need the same.
        if told.iter().any(|(known, file)| is_same_stem(known, path) && *file == other) {
            continue;
        }
        told.push((path, other));
        let happened = |(session, place): (&i64, &usize)| {
            let touch = &touches[*place];
            Happened { session: *session, at: touch.at, place: touch.turn.clone() }
        };
        // A session that opened the other file later shows nothing.
        let shown = changes.iter().filter(|(session, place)| first_open.get(&(**session, other)).is_some_and(|at| at < *place));
        let insight = Insight::of(InsightKind::ReadBefore, (*path).to_owned(), shown.map(happened).collect());
        let span = insight.first.zip(insight.last).map_or(0, |(first, last)| last - first);
        if span < LEAST_SPAN {
            continue;
        }
        let of = changes.len();
        found.push(Insight {
            statement: format!(
                "Before a change of `{path}`, `{other}` was opened in {sessions} of {of} sessions; mostly both were changed."
            ),
            sessions,
            of,
            offer: Offer::new(
                MemoryKind::Insight,
                format!("`{path}` is usually changed along with `{other}` ({sessions} of {of} sessions opened that first)."),
            ),
            ..insight
        });
    }
    sorted(found)
}

/// Returns the sessions that changed a file, the newest first.
fn newest_first<Turn>(changes: &BTreeMap<i64, usize>, touches: &[Touch<'_, Turn>]) -> impl Iterator<Item = i64> {
    let mut sessions: Vec<i64> = changes.keys().copied().collect();
    sessions.sort_by_key(|session| std::cmp::Reverse((touches[changes[session]].at, *session)));
    sessions.into_iter()
}

/// Returns whether a file is a test in the folder of another one: that it needs the code is known.
fn is_test_beside(path: &str, other: &str) -> bool {
    fn parts(path: &str) -> (&str, &str) {
        path.rsplit_once(['/', '\\']).unwrap_or(("", path))
    }
    let ((folder, name), (other_folder, _)) = (parts(path), parts(other));
    folder == other_folder && (name.contains("test") || name.contains("spec"))
}

/// Returns whether one file is named after the other, as a test is: everybody knows that they belong together.
fn is_same_stem(one: &str, other: &str) -> bool {
    fn stem(path: &str) -> String {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let name = name.split('.').next().unwrap_or(name).to_lowercase();
        ["_tests", "_test", "test_", "_spec", "-test", "-spec"].iter().fold(name, |name, part| name.replace(part, ""))
    }
    stem(one) == stem(other)
}
