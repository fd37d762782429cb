//! The table of recurring maintenance work: one row for each job, with its name, its cadence and what it does.

use serde::{Deserialize, Serialize};
use yore_core::schedule::Cadence;

/// Recurring maintenance work. To add one, add a variant, a row in `TABLE`, and an arm in the program's `upkeep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Upkeep {
    /// Copy the database.
    Backup,
    /// Read the whole full-text index.
    CheckIndex,
    /// Find memories in conversations.
    Extract,
    /// Compare memories with working trees.
    CheckCode,
    /// Merge memories that say the same.
    MergeDuplicates,
    /// Find what happens again and again.
    Insights,
    /// Check the database.
    CheckStore,
    /// Renew the database's statistics.
    Optimise,
    /// Give free space back.
    Compact,
    /// Let a language model compare memories and summarise categories.
    Understand,
}

/// Name, cadence and description of each job, in the order in which jobs that are due at once are run.
const TABLE: [(Upkeep, &str, Cadence, &str); 10] = [
    (
        Upkeep::Backup,
        "backup",
        Cadence::Hourly,
        "copies the database, if the last copy is a day old and something was written since",
    ),
    (Upkeep::CheckIndex, "check-index", Cadence::Nightly, "reads the whole full-text index, and rebuilds it if it is damaged"),
    (
        Upkeep::Extract,
        "extract",
        Cadence::Nightly,
        "finds memories in conversations that are new or have grown; new messages ask for it too",
    ),
    (Upkeep::CheckCode, "check-code", Cadence::Nightly, "compares what memories say of code with the working trees"),
    (
        Upkeep::MergeDuplicates,
        "merge-duplicates",
        Cadence::Nightly,
        "merges memories that say the same; the one that is kept gets the evidence of both",
    ),
    (Upkeep::Insights, "insights", Cadence::Nightly, "finds what happens again and again, for the page and the brief"),
    (Upkeep::CheckStore, "check-store", Cadence::Weekly, "has SQLite check the whole database"),
    (Upkeep::Optimise, "optimise", Cadence::Weekly, "renews the statistics by which SQLite plans its queries"),
    (Upkeep::Compact, "compact", Cadence::Monthly, "rewrites the database if more than a fifth of it is free"),
    // The last: a model may take long.
    (
        Upkeep::Understand,
        "understand",
        Cadence::Nightly,
        "has the language model of `yore learn` compare new memories and summarise categories, within the limits of a day",
    ),
];

impl Upkeep {
    /// All jobs, in the order in which they are run.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Backup; TABLE.len()];
        let mut at = 0;
        while at < TABLE.len() {
            all[at] = TABLE[at].0;
            at += 1;
        }
        all
    };

    fn row(self) -> &'static (Self, &'static str, Cadence, &'static str) {
        // Each variant has a row: a test compares them.
        TABLE.iter().find(|row| row.0 == self).unwrap_or(&TABLE[0])
    }

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// Returns how often it is done.
    pub fn cadence(self) -> Cadence {
        self.row().2
    }

    /// Describes what it does.
    pub fn description(self) -> &'static str {
        self.row().3
    }

    /// Returns the job with a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|upkeep| upkeep.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_has_one_row_with_the_name_that_is_serialized() {
        for upkeep in Upkeep::ALL {
            assert_eq!(serde_json::to_value(upkeep).unwrap(), upkeep.as_str());
            assert_eq!(Upkeep::parse(upkeep.as_str()), Some(upkeep));
            assert_eq!(TABLE.iter().filter(|row| row.0 == upkeep).count(), 1);
        }
        let all_variants = [
            Upkeep::Backup,
            Upkeep::CheckIndex,
            Upkeep::Extract,
            Upkeep::CheckCode,
            Upkeep::MergeDuplicates,
            Upkeep::Insights,
            Upkeep::CheckStore,
            Upkeep::Optimise,
            Upkeep::Compact,
            Upkeep::Understand,
        ];
        assert_eq!(Upkeep::ALL, all_variants);
    }
}
