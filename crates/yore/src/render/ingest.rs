//! Renders the report of an ingestion as lines and as JSON.

use std::path::Path;

use yore_engine::ingest::IngestReport;
use yore_sources::source::UnreadAgent;

use super::text;

/// Returns the report of an ingestion in a few lines.
pub fn summary(report: &IngestReport, is_dry_run: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if is_dry_run {
        let bytes: u64 = report.by_source.values().map(|(_, bytes)| bytes).sum();
        lines.push(format!("would read {} of {}", text::counted(report.files, "file"), text::bytes(bytes)));
        lines.extend(skipped(report));
        return lines;
    }
    lines.push(format!(
        "{}: {} read, {} unchanged{}",
        text::counted(report.files, "file"),
        text::count(report.files_read),
        text::count(report.files_unchanged),
        [
            (report.files_empty, "empty"),
            (report.files_rewritten, "rewritten"),
            (report.files_busy, "being read by another process"),
            (report.files_gone, "deleted (kept in the archive)"),
            (report.files_excluded, "excluded")
        ]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {} {what}", text::count(*count)))
        .collect::<String>()
    ));
    lines.push(format!(
        "{} archived; {} new, {} completed",
        text::counted(report.lines, "line"),
        text::counted(report.turns_added, "turn"),
        text::count(report.turns_updated)
    ));
    if report.redactions.secrets_total() > 0 {
        let kinds: Vec<String> = report
            .redactions
            .iter()
            .filter(|(kind, count)| *count > 0 && *kind != "base64-payload")
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        lines.push(format!("redacted before storing: {}", kinds.join(", ")));
    }
    let payloads = report.redactions.total() - report.redactions.secrets_total();
    if payloads > 0 {
        lines.push(format!("{} replaced by type, length and digest", text::counted(payloads, "base64 payload")));
    }
    lines.extend(skipped(report));
    if report.lines_excluded > 0 {
        lines.push(format!("{} excluded by the configuration", text::counted(report.lines_excluded, "line")));
    }
    if report.torn_bytes > 0 {
        lines.push(format!("{} of unfinished last lines left for the next run", text::bytes(report.torn_bytes)));
    }
    lines
}

/// The reason under which files with the history of an unknown agent are counted.
const UNKNOWN_AGENT: &str = "unknown-agent";

/// Returns the number of files that were refused as histories of an unknown agent.
pub fn unknown_histories(report: &IngestReport) -> u64 {
    report.skips.iter().filter(|((reason, _), _)| reason == UNKNOWN_AGENT).map(|(_, count)| count).sum()
}

/// Says that an agent was found whose histories are not read.
pub fn unread_agent(agent: &UnreadAgent, home: Option<&Path>) -> String {
    let below = home.and_then(|home| agent.path.strip_prefix(home).ok());
    let path = below.map_or_else(|| agent.path.display().to_string(), |below| Path::new("~").join(below).display().to_string());
    let why = match agent.is_encrypted {
        true => "they are encrypted, and yore cannot read them",
        false => "yore does not read its histories yet",
    };
    let files = text::counted(agent.files, "file");
    format!("{} is on this computer ({files} in {}): {why}", agent.name, text::harmless(&path))
}

/// Maximum number of kinds of skipped records that are named.
const NAMED_KINDS: usize = 8;

/// Returns a line about the lines and files that were skipped or taken in part, the most frequent first, and one about records
/// of unknown kinds that hold no words.
fn skipped(report: &IngestReport) -> Vec<String> {
    let is_wordless = |reason: &str| reason.starts_with("wordless-");
    let mut wordless = 0;
    let mut kinds: Vec<(&str, &str, u64)> = Vec::new();
    for ((reason, detail), count) in &report.skips {
        if is_wordless(reason) {
            wordless += count;
        } else {
            kinds.push((reason.as_str(), detail.as_str(), *count));
        }
    }
    kinds.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
    let rest = kinds.split_off(kinds.len().min(NAMED_KINDS));
    let mut told: Vec<String> = kinds
        .iter()
        .map(
            |(reason, detail, count)| {
                if detail.is_empty() { format!("{count} {reason}") } else { format!("{count} {reason} {detail:?}") }
            },
        )
        .collect();
    if !rest.is_empty() {
        let count: u64 = rest.iter().map(|(.., count)| count).sum();
        told.push(format!("{} of {} more", text::count(count), text::counted(rest.len() as u64, "kind")));
    }
    let mut lines = Vec::new();
    lines.extend((!told.is_empty()).then(|| format!("skipped, or read in part: {}", told.join(", "))));
    if wordless > 0 {
        lines.push(format!("{} without words, of unknown kinds, left out", text::counted(wordless, "record")));
    }
    lines
}
