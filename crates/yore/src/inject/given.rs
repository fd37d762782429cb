//! Sums the tokens that agents were given, by day, from the ledgers of their sessions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use yore_core::time::UtcMillis;

use super::ledger::{FOLDER, read_file};

const DAY_MS: i64 = 86_400_000;

/// Returns tokens and number of answers since a time, by day since 1970 and directory of the session; empty: no directory is known.
/// Days are those of a clock that is `offset_minutes` ahead of UTC.
pub fn by_day(directory: &Path, since: UtcMillis, offset_minutes: i32) -> BTreeMap<(i64, String), (u64, u64)> {
    let earliest = UNIX_EPOCH + Duration::from_millis(since.max(0) as u64);
    let mut days = BTreeMap::new();
    for file in fs::read_dir(directory.join(FOLDER)).into_iter().flatten().flatten() {
        let is_old = file.metadata().and_then(|meta| meta.modified()).is_ok_and(|modified| modified < earliest);
        if is_old || file.path().extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        // Answers of tools name no directory: they belong to that of the session's last hook.
        let mut session = String::new();
        for entry in read_file(&file.path()) {
            session = entry.directory.unwrap_or(session);
            if entry.tokens > 0 && entry.at_ms >= since {
                let day = (entry.at_ms + i64::from(offset_minutes) * 60_000).div_euclid(DAY_MS);
                let (tokens, answers) = days.entry((day, session.clone())).or_insert((0, 0));
                *tokens += entry.tokens as u64;
                *answers += 1;
            }
        }
    }
    days
}

#[cfg(test)]
mod tests {
    use super::super::ledger::{Entry, append};
    use super::*;

    #[test]
    fn tokens_are_summed_by_day_and_directory_of_the_session() {
        let directory = tempfile::tempdir().unwrap();
        let give = |session: &str, at_ms, tokens, place: Option<&str>| {
            let entry = Entry { at_ms, tokens, directory: place.map(str::to_owned), ..Entry::default() };
            append(directory.path(), session, &entry).unwrap();
        };
        give("a", DAY_MS - 1, 7, Some("/early"));
        give("a", DAY_MS, 10, Some("/tide"));
        give("a", DAY_MS + 5, 20, None);
        give("a", DAY_MS + 6, 0, None);
        give("b", 2 * DAY_MS - 1, 3, None);
        let by_day = by_day(directory.path(), DAY_MS, 0);
        assert_eq!(by_day, [((1, String::new()), (3, 1)), ((1, "/tide".to_owned()), (30, 2))].into());
        let ahead = super::by_day(directory.path(), DAY_MS, 60);
        assert_eq!(ahead.keys().map(|(day, _)| *day).collect::<Vec<_>>(), [1, 2], "the last hour is the next day there");
    }
}
