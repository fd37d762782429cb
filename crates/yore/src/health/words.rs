//! Describes findings about the data directory for people: text and remedy, and which remedy comes first.

use yore_engine::{Finding, Severity};

use super::Told;
use crate::error::CliError;
use crate::render::text;

/// Returns an error that keeps the memory closed as a finding.
pub fn told(severity: Severity, error: CliError) -> Told {
    let told = Told::new("store", severity, error.message);
    match error.hint {
        Some(hint) => told.remedy(hint),
        None => told,
    }
}

/// Puts free space before every remedy that writes, where the disk is low: a rebuild would fail, and leave less
/// than there was.
pub fn after_room(mut told: Vec<Told>) -> Vec<Told> {
    let is_low = |told: &Told| told.code == DISK && told.severity >= Severity::Warning;
    if told.iter().any(is_low) {
        for told in told.iter_mut().filter(|told| told.code != DISK) {
            let writes = |remedy: &str| WRITING.iter().any(|command| remedy.contains(command));
            if let Some(remedy) = told.remedy.take_if(|remedy| writes(remedy)) {
                told.remedy = Some(format!("free some space first, then {remedy}"));
            }
        }
    }
    told
}

/// Code of the finding on free space.
const DISK: &str = "disk";
/// Commands that need space.
const WRITING: [&str; 5] = ["`yore data repair`", "`yore data restore`", "`yore data rebuild`", "`yore ingest`", "`yore embed`"];
/// Remedies for damage.
const REPAIR: &str = "run `yore data repair`, which saves undamaged data and reads existing sources again, or `yore data restore`, which takes a backup";
const REINDEX: &str = "run `yore data rebuild`";
const CATCH_UP: &str = "run `yore ingest` or `yore data rebuild`";

/// Describes a finding and its remedy for people.
pub fn in_words(finding: &Finding) -> Told {
    let (text, remedy) = match finding {
        Finding::StoreUnchecked(path) => {
            (format!("{} opens; its content was not checked", path.display()), Some("`yore doctor --deep` checks all of it"))
        }
        Finding::StoreSound(path) => (format!("{} is sound", path.display()), None),
        Finding::StoreDamaged(problems) => (format!("the database is damaged: {}", problems.join("; ")), Some(REPAIR)),
        Finding::BlobsSound => ("every blob of the archive matches its hash".to_owned(), None),
        Finding::BlobsDamaged(blobs) => {
            (format!("{} blobs of the archive are damaged: {}", blobs.len(), shortened(blobs)), Some(REPAIR))
        }
        Finding::BlobsUnreadable(error) => (format!("the archive cannot be read: {error}"), Some(REPAIR)),
        Finding::TurnsSound => ("every turn matches the archive".to_owned(), None),
        Finding::TurnsDiffer { missing, changed } => {
            let counts = [(missing, "are missing"), (changed, "differ from the archive")];
            let told = counts.iter().filter(|(count, _)| **count > 0).map(|(count, what)| format!("{count} turns {what}"));
            (told.collect::<Vec<_>>().join(", "), Some("run `yore data rebuild`, which reads them from the archive again"))
        }
        Finding::TurnsUnreadable(error) => {
            (error.clone(), Some("run `yore data rebuild`, which reads them from the archive again"))
        }
        Finding::KeyRefused { error, is_other } => {
            (error.clone(), is_other.then_some("put it back from a copy of the data directory, or `yore data restore`"))
        }
        Finding::RedactionDue => (
            "some stored text was redacted with older rules".to_owned(),
            Some("`yore data scan` searches all of it and removes the secrets that they missed"),
        ),
        Finding::SourcesBeingWritten(files) => (
            format!("{files} source files changed within the last minute and are not read yet"),
            Some("the daemon reads them in a moment; without one, `yore ingest` does"),
        ),
        Finding::SourcesRead => ("every recorded source was read to its end".to_owned(), None),
        Finding::SourcesGone(gone) => (format!("{gone} source files were deleted; the archive has them"), None),
        Finding::SourcesBehind { files, bytes, gone } => (
            format!("{files} source files have {bytes} bytes that are not archived; {gone} were deleted and are archived"),
            Some("run `yore ingest`"),
        ),
        Finding::IndexWhole(turns) => (format!("the full-text index holds all {turns} turns"), None),
        Finding::IndexBehind(turns) => {
            (format!("{turns} turns wait for the full-text index and are searched in memory"), Some(CATCH_UP))
        }
        Finding::IndexDiffers { indexed, expected } => {
            (format!("the full-text index holds {indexed} turns instead of {expected}"), Some(REINDEX))
        }
        Finding::IndexFilesDamaged(files) => (format!("{files} files of the full-text index are damaged"), Some(REINDEX)),
        Finding::IndexFilesDead(files) => (
            format!(
                "{} of the full-text index no longer used, which may hold removed words",
                text::counted(*files as u64, "file")
            ),
            Some("`yore doctor --fix` removes them"),
        ),
        Finding::ForgettingUnfinished => (
            "a hard forgetting is going on, or was cut short".to_owned(),
            Some("the next `yore ingest` or `yore forget` finishes it"),
        ),
        Finding::UpkeepFails(state) => {
            let error = state.error.as_ref().map(|(_, error)| error.as_str()).unwrap_or_default();
            let given_up = if state.is_given_up { ", and was given up until it is next due" } else { "" };
            let name = state.upkeep.as_str();
            (
                format!("{name} fails since {}{given_up}: {}", text::time(state.failing_since), text::harmless(error)),
                Some("`yore upkeep run` tries again; `yore upkeep status` says more"),
            )
        }
        Finding::VectorsUnusable(error) => {
            (format!("the vector indexes cannot be used, only full-text search works: {error}"), Some(REINDEX))
        }
        Finding::VectorsWhole(turns) => (format!("the static table's index holds the {turns} turns that have words"), None),
        Finding::VectorsBehind(turns) => (format!("{turns} turns wait for the vector indexes"), Some(CATCH_UP)),
        Finding::VectorFilesDamaged(damage) => (damage.clone(), Some(REINDEX)),
        Finding::Embedded(turns) => (format!("{turns} turns have vectors of the local model"), None),
        Finding::Unembedded { waiting, embedded } => {
            (format!("{waiting} turns lack vectors of the local model, {embedded} have them"), Some("run `yore embed`"))
        }
        Finding::EmbedFailed { turns, error } => (
            format!("the local model failed on {}, found by words and the static table: {error}", text::counted(*turns, "turn")),
            Some("`yore embed` tries again; `yore models verify` checks the model"),
        ),
        Finding::Private => ("only you can read the data directory".to_owned(), None),
        Finding::OpenToOthers(paths) => {
            let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            (format!("others can read {}", paths.join(", ")), Some("run `yore doctor --fix`"))
        }
        Finding::OfAnother(path) => (
            format!("{} belongs to another user, who can change it", path.display()),
            Some("name a data directory of your own with --data-dir or YORE_HOME"),
        ),
        Finding::DiskRoom(free) => (format!("{} free for the data directory", text::bytes(*free)), None),
        Finding::DiskLow { free, wanted } => (
            format!("{} free for the data directory; {} should be", text::bytes(*free), text::bytes(*wanted)),
            Some("free some space, or move the data directory (`yore data backup --to FILE` copies the memory)"),
        ),
        Finding::UpgradeBackups(backups) => (
            format!("{} from upgrades kept beside the database", text::counted(*backups as u64, "backup")),
            Some("delete them once you trust the upgrade"),
        ),
        Finding::TimesToCome { turns, memories, backups } => {
            let counts =
                [(turns, "turn"), (memories, "memory"), (backups, "backup")].into_iter().filter(|(count, _)| **count > 0);
            let counts: Vec<String> = counts.map(|(count, what)| text::counted(*count, what)).collect();
            (
                format!("{} from the future: a clock was wrong", counts.join(", ")),
                Some("they count as older than what is recorded now; check the clock if there are new ones"),
            )
        }
    };
    let told = Told::new(finding.code(), finding.severity(), text);
    match remedy {
        Some(remedy) => told.remedy(remedy),
        None => told,
    }
}

/// Lists the first numbers, and how many more there are.
fn shortened(numbers: &[i64]) -> String {
    const MOST: usize = 12;
    let shown: Vec<String> = numbers.iter().take(MOST).map(i64::to_string).collect();
    let shown = shown.join(", ");
    if numbers.len() > MOST { format!("{shown} and {} more", numbers.len() - MOST) } else { shown }
}

#[cfg(test)]
mod tests {
    use yore_engine::{Upkeep, UpkeepState};

    use super::*;

    #[test]
    fn on_a_full_disk_nothing_is_rebuilt_before_there_is_room() {
        let remedies = |findings: &[Finding]| -> Vec<Option<String>> {
            after_room(findings.iter().map(in_words).collect()).into_iter().map(|told| told.remedy).collect()
        };
        let damaged = Finding::IndexFilesDamaged(1);
        let low = Finding::DiskLow { free: 0, wanted: 200_000_000 };
        assert_eq!(remedies(&[damaged.clone(), Finding::DiskRoom(1)]), [Some(REINDEX.to_owned()), None]);
        let told = remedies(&[damaged, low, Finding::OpenToOthers(Vec::new())]);
        assert_eq!(told[0].as_deref(), Some("free some space first, then run `yore data rebuild`"));
        assert!(told[1].as_deref().is_some_and(|remedy| remedy.starts_with("free some space, or")), "{told:?}");
        assert_eq!(told[2].as_deref(), Some("run `yore doctor --fix`"));
    }

    #[test]
    fn upkeep_that_failed_is_told_with_its_last_error() {
        let state = UpkeepState {
            failed: Some(0),
            failing_since: Some(0),
            error: Some(("store/disk-full".to_owned(), "no space left for /a\u{1b}[2J".to_owned())),
            ..UpkeepState::new(Upkeep::Backup)
        };
        let given_up = UpkeepState { is_given_up: true, ..state.clone() };
        let told = in_words(&Finding::UpkeepFails(state));
        assert_eq!(told.text, format!("backup fails since {}: no space left for /a[2J", text::time(Some(0))));
        assert!(told.remedy.is_some_and(|remedy| remedy.contains("`yore upkeep run`")));
        let told = in_words(&Finding::UpkeepFails(given_up));
        assert!(told.text.contains(", and was given up until it is next due: no space"), "{}", told.text);
        assert_eq!((told.code, told.severity), ("upkeep", Severity::Warning));
    }
}
