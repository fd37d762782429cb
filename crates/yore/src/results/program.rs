//! Results about settings, agents, models and the daemon.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yore_engine::{Job, JobCounts, UpkeepState};

/// A finding of `yore doctor`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Finding {
    /// Stable name of the check.
    pub code: String,
    /// `fine`, `note`, `warning` or `broken`.
    pub severity: String,
    /// The finding, for people.
    pub text: String,
    /// Remedy, for people.
    pub remedy: Option<String>,
    /// Facts about it, which differ between checks.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

/// An error of a command, on standard error.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Failure {
    /// The error.
    pub error: FailureText,
}

/// Text of an error.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct FailureText {
    /// Stable name of the error.
    pub code: String,
    /// Message, for people.
    pub message: String,
    /// Remedy, for people.
    pub hint: Option<String>,
}

/// A setting with its value.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Setting {
    /// Name of the setting.
    pub key: String,
    /// Its value, as TOML.
    pub value: String,
    /// The files, variables and options that it comes from.
    pub origin: Vec<String>,
}

/// A fault in the configuration.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SettingFault {
    /// Stable name of the fault.
    pub code: String,
    /// The fault, for people.
    pub message: String,
}

/// Settings of capture, and their effect on a directory.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Capture {
    /// True if anything is captured.
    pub enabled: bool,
    /// `all` or `opt-in`.
    pub mode: String,
    /// Projects that are captured in mode `opt-in`.
    pub projects: Vec<String>,
    /// Projects that are not captured.
    pub exclude_projects: Vec<String>,
    /// Paths that are not captured.
    pub exclude_paths: Vec<String>,
    /// The directory in question.
    pub directory: Option<String>,
    /// True if sessions in the directory are captured.
    pub captured: Option<bool>,
    /// Why they are not.
    pub reason: Option<String>,
    /// Number of events of hooks that wait.
    pub waiting_events: u64,
}

/// Changes to the settings of agents (`yore install`, `yore uninstall`).
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Installation {
    /// The program that agents run; none when uninstalling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// `user` or `project`.
    pub scope: String,
    /// True if nothing was changed.
    pub dry_run: bool,
    /// The agents.
    pub agents: Vec<InstalledAgent>,
    /// Agents that were not found; none when uninstalling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_found: Option<Vec<String>>,
}

/// Changes to the settings of one agent.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct InstalledAgent {
    /// Stable name of the agent.
    pub agent: String,
    /// Its name for people.
    pub title: String,
    /// True if the agent was found on this computer.
    pub found: bool,
    /// Its files.
    pub files: Vec<InstalledFile>,
    /// Next steps, for people.
    pub advice: Vec<String>,
    /// Parts that the agent does not need.
    pub needless: Vec<String>,
}

/// A file of an agent's settings.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct InstalledFile {
    /// The file.
    pub path: String,
    /// Parts of yore in it.
    pub parts: Vec<String>,
    /// Stable name of what was done to the file.
    pub outcome: String,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Agents that still use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<Vec<String>>,
    /// Copy of the removed file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<String>,
    /// The change as a unified diff, on a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Models and their directory.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ModelList<M> {
    /// The directory of the models.
    pub directory: String,
    /// The models.
    pub models: Vec<M>,
}

/// A model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Model {
    /// Name of the model.
    pub id: String,
    /// `embedder` or `reranker`.
    pub role: Option<String>,
    /// `built-in`, `verified`, `missing`, `damaged` or `unusable`.
    pub state: String,
    /// Its folder; none for the built-in one.
    pub path: Option<String>,
    /// Why it cannot be used.
    pub problem: Option<String>,
    /// Where the model comes from.
    pub origin: Option<String>,
    /// Its licence.
    pub licence: Option<String>,
    /// Bytes of its files.
    pub bytes: Option<u64>,
    /// Its files.
    pub files: Option<Vec<ModelFile>>,
    /// Package that brings it.
    pub package: Option<ModelPackage>,
}

/// A file of a model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ModelFile {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// Its path in the package.
    pub member: String,
}

/// A package that brings a model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ModelPackage {
    /// Name of the package.
    pub name: String,
    /// Its version.
    pub version: String,
    /// File name of its wheel.
    pub wheel: String,
    /// Bytes of the wheel.
    pub bytes: u64,
    /// SHA-256 of the wheel.
    pub sha256: String,
}

/// A model that was fetched.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct FetchedModel {
    /// Name of the model.
    pub id: String,
    /// `fetched`, or `here` if it was there already.
    pub outcome: String,
    /// Its folder.
    pub path: String,
}

/// A path.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct PathResult {
    /// The path.
    pub path: String,
}

/// The address of the page.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct PageAddress {
    /// A link that works once.
    pub url: String,
}

/// Address of MCP over HTTP.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct McpAddress {
    /// The address.
    pub url: String,
    /// Headers that a client sends.
    pub headers: McpHeaders,
}

/// Headers that a client of MCP over HTTP sends.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct McpHeaders {
    /// The token.
    #[serde(rename = "Authorization")]
    pub authorization: String,
}

/// A daemon that runs now.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DaemonStarted {
    /// True if it was started now.
    pub started: bool,
    /// Id of its process.
    pub pid: u32,
    /// Version of its program.
    pub version: String,
}

/// Result of stopping the daemon.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DaemonStopped {
    /// True if one ran.
    pub stopped: bool,
}

/// Jobs that are tried again.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Retried {
    /// Number of the jobs.
    pub revived: u64,
}

/// The daemon of a data directory.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Daemon {
    /// Status that it reports, if it answers.
    #[serde(flatten)]
    pub status: Option<DaemonStatus>,
    /// True if one runs.
    pub running: bool,
    /// True if it answers this version of yore.
    pub answers: bool,
}

/// Status of a daemon.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DaemonStatus {
    /// Id of its process.
    pub pid: u32,
    /// Version of its program.
    pub version: String,
    /// Time of the start, in milliseconds since 1970.
    pub started_ms: i64,
    /// Path or address that it listens on.
    pub socket: String,
    /// Places that are watched for changes.
    pub watched: Vec<String>,
    /// Places that are polled.
    pub polled: Vec<String>,
    /// Counts of the queue.
    #[schemars(with = "JobTotals")]
    pub jobs: JobCounts,
    /// Jobs that failed for good.
    #[schemars(with = "Vec<FailedJob>")]
    pub dead: Vec<Job>,
    /// When each kind of upkeep was done and failed.
    #[serde(default)]
    #[schemars(with = "Vec<UpkeepRuns>")]
    pub upkeep: Vec<UpkeepState>,
    /// Batches read since the start.
    pub batches: u64,
    /// Turns read since the start.
    pub turns: u64,
    /// Time the last batch ended, in milliseconds since 1970.
    pub last_batch_ms: Option<i64>,
    /// Number of turns without vectors of the local model.
    pub unembedded: u64,
    /// True if the local model is in memory.
    pub has_model: bool,
    /// True while vectors are being made.
    pub is_embedding: bool,
    /// Number of connected clients.
    pub clients: usize,
    /// Address of MCP over HTTP, if it is served.
    #[serde(default)]
    pub url: Option<String>,
    /// The proxy, if it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxyState>,
    /// Bytes of its own memory in use, if the system reports them.
    pub memory_bytes: Option<u64>,
    /// The last error, if any.
    pub last_error: Option<String>,
    /// Its settings at its start, section by section; null if it does not report them.
    #[serde(default)]
    pub settings: Value,
}

/// Counts of the queue of jobs, for the schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes a type of the engine")]
struct JobTotals {
    /// Number of jobs that wait.
    queued: u64,
    /// Number of jobs being worked on.
    leased: u64,
    /// Number of jobs that were given up.
    dead: u64,
}

/// When a kind of upkeep was done and failed, for the schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes a type of the engine")]
struct UpkeepRuns {
    /// Name of the job.
    upkeep: String,
    /// Time of the last success, in milliseconds since 1970.
    done: Option<i64>,
    /// The last run that was done: its times in milliseconds since 1970, and what it counted.
    run: Option<UpkeepRun>,
    /// Time of the last failure, in milliseconds since 1970.
    failed: Option<i64>,
    /// Time of the first failure since it was done last.
    failing_since: Option<i64>,
    /// Failures in a row with the last error.
    tries: u32,
    /// Code and text of the last failure.
    error: Option<(String, String)>,
    /// True if it failed too often, and is tried again only when it is next due.
    is_given_up: bool,
}

/// A run of upkeep, for the schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes a type of the engine")]
struct UpkeepRun {
    /// Time at which it began.
    began: i64,
    /// Time at which it ended.
    ended: i64,
    /// Its counts, by name.
    counts: std::collections::BTreeMap<String, u64>,
}

/// A job of the queue, for the schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes a type of the engine")]
struct FailedJob {
    /// Number of the job.
    id: i64,
    /// Kind of work.
    kind: String,
    /// Target of the work, such as a file.
    target: String,
    /// Details of the work.
    payload: String,
    /// Time of the first request, in milliseconds since 1970.
    arrived: i64,
    /// Time from which it may be done, in milliseconds since 1970.
    not_before: i64,
    /// Failures in a row.
    failures: u32,
    /// Failures among them that waiting does not fix.
    bad_failures: u32,
    /// Code and text of the last failure.
    error: Option<(String, String)>,
}

/// State of the proxy before language models.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct ProxyState {
    /// Its address, without the token.
    pub address: String,
    /// Counts since it was opened.
    pub counts: ProxyCounts,
    /// The latest sessions, the latest first.
    pub sessions: Vec<ProxiedSession>,
    /// Exchanges that could not be archived.
    pub failure: Option<ProxyFailure>,
}

/// Counts of what went through the proxy.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct ProxyCounts {
    /// Requests.
    pub requests: u64,
    /// Requests to which something was added.
    pub added: u64,
    /// Requests that went on unchanged because the memory took too long.
    pub late: u64,
    /// Requests that went on unchanged because the memory failed.
    pub failed: u64,
    /// Requests and answers that could not be read, and went on unchanged.
    pub unreadable: u64,
    /// Exchanges that were not archived because too many waited; the next request of their session has their words.
    pub dropped: u64,
    /// Requests that no server took.
    pub unreached: u64,
    /// Requests whose answer is still coming.
    pub open: u64,
}

/// Tokens and cents that additions to the requests of a session took.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct ProxiedSession {
    /// The session, by its own id.
    pub session: String,
    /// Requests that were answered.
    pub requests: u64,
    /// Tokens of its prompts, as the provider counts.
    pub input_tokens: u64,
    /// Those of them that the provider read from its cache.
    pub cached_tokens: u64,
    /// Tokens that were added when they were new, estimated.
    pub added_tokens: u64,
    /// Tokens that were added again at their places, estimated.
    pub repeated_tokens: u64,
    /// The added tokens, each weighed by what the provider bills for it: a write, a read from the cache, or a plain token.
    pub weighed_tokens: f64,
    /// Cents that the added tokens cost, if the price of the model is known (`llm.prices`).
    pub cents: Option<f64>,
}

/// Exchanges that could not be archived.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ProxyFailure {
    /// How many.
    pub times: u64,
    /// The reason of the last one.
    pub last: String,
}

/// A file that shares or retires a memory, as it was written.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SharedWritten {
    /// Short id of the memory; of a retirement, the name of the file that it retires.
    pub memory: String,
    /// The file, relative to the repository.
    pub file: String,
    /// False if the file was there.
    pub is_new: bool,
    /// The text that would be written, if only that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An author of shared memories, as the history of the repository tells.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ShareAuthor {
    /// Name; `None`: the file is not committed, or the history does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Email address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// First digits of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Number of files, where authors are listed.
    pub files: u64,
    /// True if the person accepted the author in this project.
    pub is_accepted: bool,
}

/// A shared memory, as the files of the repository say.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SharedFileRecord {
    /// The file, relative to the repository.
    pub file: String,
    /// Kind.
    pub kind: String,
    /// Statement.
    pub statement: String,
    /// Who shared it.
    pub author: ShareAuthor,
    /// Who retired it, if that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retired_by: Option<ShareAuthor>,
    /// Why it is retired, or should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Retirements by others that do not count.
    pub retirements_proposed: u64,
}

/// A memory that somebody shares whom the person has not accepted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SharedByOther {
    /// The file, relative to the repository.
    pub file: String,
    /// Kind.
    pub kind: String,
    /// Statement, cut.
    pub statement: String,
    /// Name and address of the author, if the history tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// First digits of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Shared memories of a directory's repository, as they were taken now.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SharedHere {
    /// Memories that were recorded.
    pub recorded: u64,
    /// Memories that changed.
    pub changed: u64,
    /// Memories that no file of an accepted author has any more.
    pub put_away: u64,
    /// Files whose memory cannot be stored.
    pub refused: Vec<ShareFinding>,
    /// Memories of authors who are not accepted.
    pub unaccepted: Vec<SharedByOther>,
}

/// A file of the folder of shared memories that is not as it must be.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ShareFinding {
    /// The file, relative to the repository.
    pub file: String,
    /// The fault.
    pub problem: String,
}

/// A line by which an agent uses the proxy.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ProxyLine {
    /// Name of the variable or setting; empty if a name of a server was given.
    pub name: String,
    /// The server that it leads to.
    pub server: String,
    /// The address.
    pub value: String,
}
