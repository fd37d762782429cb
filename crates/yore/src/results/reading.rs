//! Results of reading histories and pages.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_engine::ingest::IngestReport;
use yore_engine::{PageChange, PageReport, SyncReport};
use yore_sources::source;

use super::{Project, Recalled, named_counts, path};

/// Result of reading histories.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Ingestion {
    /// True if nothing was stored.
    pub dry_run: bool,
    /// Number of files that were found.
    pub files: u64,
    /// Number of files with something new.
    pub files_read: u64,
    /// Number of files without anything new.
    pub files_unchanged: u64,
    /// Number of empty files.
    pub files_empty: u64,
    /// Number of files that were read from the beginning, because they were rewritten.
    pub files_rewritten: u64,
    /// Number of files that another process reads.
    pub files_busy: u64,
    /// Number of files that no longer exist.
    pub files_gone: u64,
    /// Number of files that the settings exclude.
    pub files_excluded: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// Lines that were read.
    pub lines: u64,
    /// Lines that the settings exclude.
    pub lines_excluded: u64,
    /// Number of new turns.
    pub turns_added: u64,
    /// Number of turns with new text.
    pub turns_updated: u64,
    /// Number of turns that another session has too.
    pub turns_shared: u64,
    /// Bytes of unfinished last lines, which are read later.
    pub torn_bytes: u64,
    /// Number of redacted secrets, by kind.
    pub redactions: BTreeMap<String, u64>,
    /// Lines and files that were skipped.
    pub skips: Vec<SkippedLines>,
    /// Files that could not be read.
    pub failures: Vec<Unread>,
    /// Files and bytes, by source.
    pub sources: BTreeMap<String, SourceSize>,
    /// Number of turns that were indexed.
    pub indexed: u64,
    /// True if another process writes the index.
    pub index_busy: bool,
    /// Pages that were fetched, if addresses were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Vec<FetchedPage>>,
    /// Addresses that would be fetched, if addresses were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_fetch: Option<Vec<String>>,
    /// Agents that were found, but whose histories yore does not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread_agents: Vec<UnreadAgent>,
}

/// An agent whose histories yore does not read.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct UnreadAgent {
    /// Name of the agent.
    pub name: String,
    /// Folder of its histories.
    pub path: String,
    /// Number of files in it.
    pub files: u64,
}

impl From<&source::UnreadAgent> for UnreadAgent {
    fn from(agent: &source::UnreadAgent) -> Self {
        Self { name: agent.name.to_owned(), path: path(&agent.path), files: agent.files }
    }
}

/// Lines or files that were skipped for one reason.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SkippedLines {
    /// Stable name of the reason.
    pub reason: String,
    /// Detail, such as the unknown type.
    pub detail: String,
    /// How many were skipped.
    pub count: u64,
}

/// A file that could not be read.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Unread {
    /// The file, or the address of a page.
    pub path: String,
    /// The error.
    pub reason: String,
}

/// Size of a source.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SourceSize {
    /// Number of files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A page that was fetched.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct FetchedPage {
    /// Address that was asked for.
    pub address: String,
    /// Address after redirects.
    pub location: String,
    /// Title of the page.
    pub title: Option<String>,
    /// `new`, `changed` or `unchanged`.
    pub change: String,
    /// Number of sections.
    pub sections: u64,
    /// Number of new turns.
    pub turns_added: u64,
}

/// Result of `yore up`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Begun {
    /// Result of reading.
    #[serde(flatten)]
    pub ingestion: Ingestion,
    /// The data directory.
    pub directory: String,
    /// True if the invented example was read, because this computer has no history.
    pub is_example: bool,
    /// Projects, unless it is the example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<Project>>,
    /// A question about recent history with its answer, if one was found.
    pub answer: Option<Recalled>,
}

/// A conversation that was not read, or continued since.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct WaitingConversation {
    /// `unprocessed`, or `went-on` if an earlier part was read.
    pub state: String,
    /// Source kind.
    pub source: String,
    /// File, or name within a database.
    pub unit: String,
    /// Directory in which it began, if known.
    pub directory: Option<String>,
    /// Time of its last change, in milliseconds since 1970.
    pub updated: Option<i64>,
    /// Its bytes.
    pub bytes: u64,
}

impl Ingestion {
    /// Makes the result of reading and indexing.
    pub fn of(report: &IngestReport, sync: &SyncReport, dry_run: bool) -> Self {
        let skip = |((reason, detail), count): (&(String, String), &u64)| SkippedLines {
            reason: reason.clone(),
            detail: detail.clone(),
            count: *count,
        };
        let size =
            |(source, (files, bytes)): (&String, &(u64, u64))| (source.clone(), SourceSize { files: *files, bytes: *bytes });
        Self {
            dry_run,
            files: report.files,
            files_read: report.files_read,
            files_unchanged: report.files_unchanged,
            files_empty: report.files_empty,
            files_rewritten: report.files_rewritten,
            files_busy: report.files_busy,
            files_gone: report.files_gone,
            files_excluded: report.files_excluded,
            bytes_read: report.bytes_read,
            lines: report.lines,
            lines_excluded: report.lines_excluded,
            turns_added: report.turns_added,
            turns_updated: report.turns_updated,
            turns_shared: report.turns_shared,
            torn_bytes: report.torn_bytes,
            redactions: named_counts(report.redactions.iter().filter(|(_, count)| *count > 0)),
            skips: report.skips.iter().map(skip).collect(),
            failures: report.unread().map(|(file, reason)| Unread { path: path(file), reason: reason.clone() }).collect(),
            sources: report.by_source.iter().map(size).collect(),
            indexed: sync.indexed,
            index_busy: sync.is_busy,
            pages: None,
            would_fetch: None,
            unread_agents: Vec::new(),
        }
    }

    /// Adds agents whose histories were not read.
    pub fn without(self, agents: &[source::UnreadAgent]) -> Self {
        Self { unread_agents: agents.iter().map(UnreadAgent::from).collect(), ..self }
    }
}

impl From<&PageReport> for FetchedPage {
    fn from(page: &PageReport) -> Self {
        let change = match page.change {
            PageChange::New => "new",
            PageChange::Changed => "changed",
            PageChange::Unchanged => "unchanged",
        };
        Self {
            address: page.address.clone(),
            location: page.location.clone(),
            title: page.title.clone(),
            change: change.to_owned(),
            sections: page.sections as u64,
            turns_added: page.ingest.turns_added,
        }
    }
}
