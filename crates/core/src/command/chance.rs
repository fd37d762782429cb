//! Computes the chance that a command fails as it failed before, from what became of it since.

use super::cause::CauseKind;

/// Least chance from which an agent is told. Chosen on development transcripts; see `docs/measurements.md`, "Gate".
pub const LEAST_CHANCE: f32 = 0.55;
/// Failures and passes that count as observed before any was, for a cause that the output names and for others.
const PRIOR_NAMED: (f32, f32) = (2.0, 1.0);
const PRIOR_OTHER: (f32, f32) = (0.5, 1.0);
/// Days after which half of what was observed is out of date.
const HALF_LIFE_DAYS: f32 = 60.0;

/// The fate of the commands with one cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// Kind of the cause.
    pub kind: CauseKind,
    /// Times that it failed in this way, and sessions in which it did.
    pub failures: u32,
    /// Number of sessions in which it failed in this way.
    pub sessions: u32,
    /// Times that it passed before the last of these failures, in the same place.
    pub passes_before: u32,
    /// True if it passed since, in the same place.
    pub has_passed_since: bool,
    /// True if another form of the command passed next, and no file was changed between: the form was the cause.
    pub is_mended_by_form: bool,
    /// Days since the last failure.
    pub age_days: f32,
}

/// Returns the chance, 0 to 1, that a command fails again as it did. 0 if it passed since, or if nothing shows that the cause is not
/// the state of the code.
pub fn chance(record: &Record) -> f32 {
    let Record { kind, failures, sessions, passes_before, has_passed_since, is_mended_by_form, age_days } = *record;
    let is_shown = match kind {
        CauseKind::Named => true,
        CauseKind::Surroundings | CauseKind::Other => is_mended_by_form || sessions > 1,
    };
    if has_passed_since || !is_shown || failures == 0 {
        return 0.0;
    }
    let (fails, passes) = if kind == CauseKind::Named { PRIOR_NAMED } else { PRIOR_OTHER };
    let fails = fails + failures as f32 + f32::from(u8::from(is_mended_by_form));
    let share = fails / (fails + passes + passes_before as f32);
    share * 0.5f32.powf(age_days.max(0.0) / HALF_LIFE_DAYS).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: Record = Record {
        kind: CauseKind::Named,
        failures: 1,
        sessions: 1,
        passes_before: 0,
        has_passed_since: false,
        is_mended_by_form: false,
        age_days: 1.0,
    };

    #[test]
    fn named_cause_is_told_at_once_and_another_only_where_something_shows_that_it_stays() {
        let other = Record { kind: CauseKind::Other, ..NAMED };
        for (record, is_told) in [
            (NAMED, true),
            (Record { has_passed_since: true, failures: 9, ..NAMED }, false),
            (Record { passes_before: 4, ..NAMED }, false),
            (Record { age_days: 90.0, ..NAMED }, false),
            (other, false),
            (Record { failures: 5, ..other }, false),
            (Record { is_mended_by_form: true, ..other }, true),
            (Record { failures: 2, sessions: 2, ..other }, true),
            (Record { failures: 2, sessions: 2, passes_before: 3, ..other }, false),
        ] {
            assert_eq!(chance(&record) >= LEAST_CHANCE, is_told, "{record:?} {}", chance(&record));
        }
    }
}
