//! Results about the store: size, state, upkeep.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_engine::ingest::{ReindexReport, ScanReport};
use yore_engine::{
    Backup, EmbedReport, IndexHealth, MemoryCounts, RepairReport, Restored, SkipCount, StoreStats, SyncReport, VectorHealth,
};

use super::learn::LearnState;
use super::program::{Capture, Daemon};
use super::{MemoryLife, named_counts, path};

/// State of everything (`yore status`).
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Status {
    /// What is stored.
    #[serde(flatten)]
    pub statistics: Statistics,
    /// Learning by a language model.
    #[serde(default)]
    pub learning: Option<LearnState>,
    /// The daemon.
    pub daemon: Daemon,
    /// What is read, and whether here.
    pub capture: Capture,
    /// Jobs of upkeep that fail.
    #[serde(default)]
    pub failing_upkeep: Vec<super::upkeep::FailingUpkeep>,
}

/// Size of the memory.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Statistics {
    /// The data directory.
    pub directory: String,
    /// Sessions and turns, by agent.
    pub agents: Vec<AgentSize>,
    /// Number of turns, by role.
    pub turns_by_role: BTreeMap<String, u64>,
    /// Number of projects.
    pub projects: u64,
    /// Memories.
    #[serde(default)]
    pub memories: MemoryNumbers,
    /// Number of turns that several sessions share; each is stored once.
    pub shared_turns: u64,
    /// Number of forgotten sessions that can be restored.
    pub forgotten_sessions: u64,
    /// Number of source files.
    pub files: u64,
    /// Number of source files that no longer exist; the archive has them.
    pub files_gone: u64,
    /// Bytes of the source files.
    pub source_bytes: u64,
    /// Bytes of the archived lines, each counted once, before compression.
    pub archive_raw_bytes: u64,
    /// Bytes of the archive.
    pub archive_bytes: u64,
    /// Bytes of the turns' compressed text.
    pub words_bytes: u64,
    /// Bytes of the database.
    pub database_bytes: u64,
    /// The full-text index.
    pub index: TextIndex,
    /// The vectors.
    pub vectors: Vectors,
    /// Bytes of the whole data directory.
    pub directory_bytes: u64,
    /// Number of redacted secrets, by kind.
    pub redactions: BTreeMap<String, u64>,
    /// Lines that were skipped.
    pub skips: Vec<SkippedRecords>,
}

/// Number of sessions and turns of an agent.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct AgentSize {
    /// Source kind.
    pub agent: String,
    /// Sessions with a person.
    pub sessions: u64,
    /// Sessions of sub-agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagents: Option<u64>,
    /// Documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    /// Turns.
    pub turns: u64,
}

/// Number of memories, and of what connects them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct MemoryNumbers {
    /// Memories of any status.
    pub total: u64,
    /// Memories, by kind.
    pub by_kind: BTreeMap<String, u64>,
    /// Memories, by status: holds, superseded, invalidated, contested, archived, proposed.
    pub by_status: BTreeMap<String, u64>,
    /// Memories, by lane: curated, extracted.
    #[serde(default)]
    pub by_lane: BTreeMap<String, u64>,
    /// Memories, by the kind of their source: user, agent, research, deduction, experiment, rule, model, import, colleague.
    #[serde(default)]
    pub by_source: BTreeMap<String, u64>,
    /// Memories, by the name of their project; those that hold everywhere under an empty name.
    #[serde(default)]
    pub by_project: BTreeMap<String, u64>,
    /// Entities.
    pub entities: u64,
    /// Relations.
    pub relations: u64,
    /// Operations that can be listed.
    pub operations: u64,
}

impl From<&MemoryCounts> for MemoryNumbers {
    fn from(counts: &MemoryCounts) -> Self {
        let MemoryCounts { kinds, statuses, lanes, sources, projects, entities, relations, operations } = counts;
        let named = |names: &[(String, u64)]| named_counts(names.iter().map(|(name, count)| (name.as_str(), *count)));
        Self {
            total: counts.total(),
            by_kind: named(kinds),
            by_status: named(statuses),
            by_lane: named(lanes),
            by_source: named(sources),
            by_project: named(projects),
            entities: *entities,
            relations: *relations,
            operations: *operations,
        }
    }
}

/// Size of the full-text index.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TextIndex {
    /// Number of turns in it.
    pub turns: u64,
    /// Number of turns that should be in it.
    pub expected: u64,
    /// Number of turns that wait for it.
    pub queued: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Size of the vector indexes.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Vectors {
    /// Number of turns in the static table's index.
    pub static_turns: u64,
    /// Identity of the local model, if one was used.
    pub model: Option<String>,
    /// Number of turns in the local model's index.
    pub model_turns: u64,
    /// Number of turns with vectors of the local model.
    pub embedded_turns: u64,
    /// Number of its vectors.
    pub vectors: u64,
    /// Number of vectors of models used before.
    pub of_other_models: u64,
    /// Number of turns without vectors of the local model.
    pub waiting: u64,
    /// Number of turns that wait for the vector indexes.
    pub queued: u64,
    /// Bytes of the indexes.
    pub bytes: u64,
}

/// Records of a source that were skipped for one reason.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SkippedRecords {
    /// Source kind.
    pub source: String,
    /// Stable name of the reason.
    pub reason: String,
    /// Detail, such as the unknown type.
    pub detail: String,
    /// How many were skipped.
    pub count: u64,
    /// Where one of them is.
    pub example: super::Source,
}

/// A source of histories and what was read of it (`yore status --sources`).
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SourceState {
    /// Source kind.
    pub source: String,
    /// Name for people.
    pub name: String,
    /// `conversation` or `document`.
    pub nature: String,
    /// True if the reader was verified with real files.
    pub verified: bool,
    /// True if the settings allow reading it.
    pub enabled: bool,
    /// Directories and files that were found on this computer.
    pub roots: Vec<String>,
    /// Number of files read.
    pub units: u64,
    /// Number of them that no longer exist.
    pub units_gone: u64,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of sub-agents' sessions.
    pub subagents: u64,
    /// Number of documents.
    pub documents: u64,
    /// Number of turns.
    pub turns: u64,
    /// Time of the last read, in milliseconds since 1970.
    pub last_capture_ms: Option<i64>,
    /// Records that were skipped.
    pub skips: Vec<SourceSkip>,
    /// Files that were given up after failures.
    pub errors: Vec<SourceError>,
    /// Files and folders that cannot be read now.
    pub unreadable: Vec<SourceError>,
}

/// Records that were skipped for one reason, in the list of sources.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SourceSkip {
    /// Source kind.
    pub source: String,
    /// Stable name of the reason.
    pub reason: String,
    /// Detail, such as the unknown type.
    pub detail: String,
    /// How many were skipped.
    pub count: u64,
    /// File of one of them.
    pub path: String,
    /// Its line, from 1.
    pub line: u64,
}

/// A file that was given up after failures.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SourceError {
    /// The file.
    pub target: String,
    /// The last error.
    pub error: String,
}

/// State of the memory, for agents.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct MemoryState {
    /// Number of sessions.
    pub sessions: u64,
    /// Number of sub-agents' sessions.
    pub subagents: u64,
    /// Number of documents.
    pub documents: u64,
    /// Number of turns.
    pub turns: u64,
    /// Number of projects.
    pub projects: u64,
    /// Memories.
    #[serde(default)]
    pub memories: MemoryNumbers,
    /// Number of forgotten sessions.
    pub forgotten: u64,
    /// Sessions and turns, by agent.
    pub agents: Vec<AgentSize>,
    /// Bytes of the data directory.
    pub bytes: u64,
    /// Number of turns in the full-text index.
    pub indexed_turns: u64,
    /// Number of turns that wait for it.
    pub queued_turns: u64,
    /// Number of turns with vectors of the local model.
    pub embedded_turns: u64,
    /// Identity of the local model.
    pub model: Option<String>,
    /// Number of redacted secrets.
    pub redactions: u64,
    /// Time of the last captured session, RFC 3339.
    pub last_captured: Option<String>,
    /// The daemon, if one runs.
    pub daemon: Option<DaemonState>,
    /// Parts of recall that cannot answer, and why.
    pub missing: Vec<String>,
    /// Growth, use and upkeep, where statistics are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<MemoryLife>,
}

/// The daemon, for agents.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DaemonState {
    /// Version of its program.
    pub version: String,
    /// Time of its start, RFC 3339.
    pub started: Option<String>,
    /// Number of turns that it has read.
    pub turns_read: u64,
    /// Time of its last read, RFC 3339.
    pub last_read: Option<String>,
}

/// A backup of the database.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct BackupFile {
    /// The file.
    pub path: String,
    /// Time it was made, in milliseconds since 1970.
    pub made: i64,
    /// Its bytes.
    pub bytes: u64,
}

/// The existing backups.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct BackupList {
    /// The backups, newest first.
    pub backups: Vec<BackupFile>,
}

/// Result of restoring a backup.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct RestoredBackup {
    /// The backup that was restored.
    pub from: BackupFile,
    /// Newer backups that are damaged.
    pub damaged: Vec<String>,
    /// Where the replaced database is kept.
    pub replaced: Option<String>,
}

/// Result of repairing a damaged memory.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Repaired {
    /// Number of intact blobs of the archive.
    pub blobs: u64,
    /// Number of lost blobs.
    pub lost_blobs: u64,
    /// Number of rows that were too damaged to keep.
    pub refused_rows: u64,
    /// Where the damaged database is kept.
    pub replaced: Option<String>,
    /// Number of turns read from the archive.
    pub turns: u64,
    /// Number of turns read from sources that still exist.
    pub turns_read_again: u64,
    /// Sources with lost lines.
    pub lost: Vec<LostLines>,
}

/// Lost lines of a source.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct LostLines {
    /// The file.
    pub source: String,
    /// Number of lost lines.
    pub lines: u64,
    /// True if the file still exists and was read again.
    pub source_exists: bool,
}

/// Result of accepting a new key.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct KeyAccepted {
    /// True.
    pub new_key: bool,
}

/// Result of reading the archive again.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Reindexed {
    /// Number of files.
    pub files: u64,
    /// Number of lines.
    pub lines: u64,
    /// Number of new turns.
    pub turns_added: u64,
    /// Number of turns with other text than before.
    pub turns_updated: u64,
    /// Number of turns that are not found any more.
    pub turns_removed: u64,
    /// Number of turns that were indexed.
    pub indexed: u64,
    /// Rows of damaged blobs.
    pub damaged_blobs: Vec<i64>,
    /// Number of lines in them.
    pub damaged_lines: u64,
}

/// Result of looking for secrets.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Scanned {
    /// True if nothing was changed.
    pub dry_run: bool,
    /// Number of files.
    pub files: u64,
    /// Number of lines.
    pub lines: u64,
    /// Number of lines with a secret.
    pub changed_lines: u64,
    /// Number of names with a secret.
    pub changed_names: u64,
    /// Number of changed texts of memories, entities, relations and the log of operations.
    #[serde(default)]
    pub changed_memories: u64,
    /// Number of secrets, by kind.
    pub redactions: BTreeMap<String, u64>,
}

/// Result of computing vectors.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Embedded {
    /// Number of turns that have their vectors now.
    pub turns: u64,
    /// Number of texts that the model was run on.
    pub embedded: u64,
    /// Number of texts with a known vector.
    pub reused: u64,
    /// Number of texts that the model failed on.
    pub failed: u64,
    /// Number of turns that still wait.
    pub waiting: u64,
    /// True if another process computes vectors.
    pub busy: bool,
    /// True if it was stopped early.
    pub stopped: bool,
}

impl Statistics {
    /// Makes the statistics of the memory in a directory.
    pub fn of(directory: String, statistics: &yore_engine::Statistics) -> Self {
        let yore_engine::Statistics { project: _, store, index, vectors, directory_bytes, life: _ } = statistics;
        let StoreStats {
            agents,
            roles,
            indexable: _,
            projects,
            memories,
            shared_turns,
            forgotten_episodes,
            files,
            gone_files,
            source_bytes,
            archive_raw_bytes,
            archive_bytes,
            words_bytes,
            database_bytes,
            redactions,
            skips,
            growth: _,
            uses: _,
        } = store;
        let agent = |agent: &yore_engine::AgentCount| AgentSize {
            agent: agent.agent.clone(),
            sessions: agent.sessions,
            subagents: Some(agent.subagents),
            documents: Some(agent.documents),
            turns: agent.turns,
        };
        Self {
            directory,
            agents: agents.iter().map(agent).collect(),
            turns_by_role: named_counts(roles.iter().map(|role| (role.role.as_str(), role.turns))),
            projects: *projects,
            memories: memories.into(),
            shared_turns: *shared_turns,
            forgotten_sessions: *forgotten_episodes,
            files: *files,
            files_gone: *gone_files,
            source_bytes: *source_bytes,
            archive_raw_bytes: *archive_raw_bytes,
            archive_bytes: *archive_bytes,
            words_bytes: *words_bytes,
            database_bytes: *database_bytes,
            index: TextIndex::from(index),
            vectors: Vectors::from(vectors),
            directory_bytes: *directory_bytes,
            redactions: named_counts(redactions.iter().map(|found| (found.kind.as_str(), found.count))),
            skips: skips.iter().map(SkippedRecords::from).collect(),
        }
    }
}

impl From<&IndexHealth> for TextIndex {
    fn from(index: &IndexHealth) -> Self {
        Self { turns: index.indexed, expected: index.expected, queued: index.queued, bytes: index.bytes }
    }
}

impl From<&VectorHealth> for Vectors {
    fn from(vectors: &VectorHealth) -> Self {
        Self {
            static_turns: vectors.static_turns,
            model: vectors.model.clone(),
            model_turns: vectors.model_turns,
            embedded_turns: vectors.embedded_turns,
            vectors: vectors.vectors,
            of_other_models: vectors.others,
            waiting: vectors.waiting,
            queued: vectors.queued,
            bytes: vectors.bytes,
        }
    }
}

impl From<&SkipCount> for SkippedRecords {
    fn from(skip: &SkipCount) -> Self {
        let SkipCount { source, reason, detail, count, path, line } = skip.clone();
        Self { source, reason, detail, count, example: super::Source { path, line, is_gone: None } }
    }
}

impl From<&SkipCount> for SourceSkip {
    fn from(skip: &SkipCount) -> Self {
        let SkipCount { source, reason, detail, count, path, line } = skip.clone();
        Self { source, reason, detail, count, path, line }
    }
}

impl From<&Backup> for BackupFile {
    fn from(backup: &Backup) -> Self {
        Self { path: path(&backup.path), made: backup.made, bytes: backup.bytes }
    }
}

impl From<&Restored> for RestoredBackup {
    fn from(restored: &Restored) -> Self {
        Self {
            from: BackupFile::from(&restored.from),
            damaged: restored.damaged.iter().map(|file| path(file)).collect(),
            replaced: restored.replaced.as_deref().map(path),
        }
    }
}

impl Repaired {
    /// Makes the result of a repair, with the number of turns that were read from their sources afterwards.
    pub fn of(report: &RepairReport, turns_read_again: u64) -> Self {
        let lost = |(source, lines, exists): &(String, u64, bool)| LostLines {
            source: source.clone(),
            lines: *lines,
            source_exists: *exists,
        };
        Self {
            blobs: report.blobs,
            lost_blobs: report.lost_blobs,
            refused_rows: report.refused_rows,
            replaced: report.replaced.as_deref().map(path),
            turns: report.reindex.turns_added,
            turns_read_again,
            lost: report.lost.iter().map(lost).collect(),
        }
    }
}

impl Reindexed {
    /// Makes the result of reading the archive again and of indexing.
    pub fn of(report: &ReindexReport, index: &SyncReport) -> Self {
        Self {
            files: report.files,
            lines: report.lines,
            turns_added: report.turns_added,
            turns_updated: report.turns_updated,
            turns_removed: report.turns_removed,
            indexed: index.indexed,
            damaged_blobs: report.damaged_blobs.iter().copied().collect(),
            damaged_lines: report.damaged_lines,
        }
    }
}

impl Scanned {
    /// Makes the result of a scan.
    pub fn of(report: &ScanReport, dry_run: bool) -> Self {
        Self {
            dry_run,
            files: report.files,
            lines: report.lines,
            changed_lines: report.changed_lines,
            changed_names: report.changed_names,
            changed_memories: report.changed_memories,
            redactions: named_counts(report.redactions.iter()),
        }
    }
}

impl From<&EmbedReport> for Embedded {
    fn from(report: &EmbedReport) -> Self {
        Self {
            turns: report.turns,
            embedded: report.embedded,
            reused: report.reused,
            failed: report.failed,
            waiting: report.waiting,
            busy: report.is_busy,
            stopped: report.is_stopped,
        }
    }
}
