//! The sections of the configuration: one file each, with the struct, its defaults and its rows of the key table.
//!
//! To add a section: write its file, add a field to [`Config`] and a row to [`TABLE`]. The
//! tests fail when a key lacks a description, a row or a permission.

mod archive;
mod capture;
mod daemon;
mod dynamics;
mod extract;
mod forget;
mod http;
mod index;
mod inject;
mod learn;
mod llm;
mod mcp;
mod models;
mod output;
mod proxy;
mod recall;
mod redaction;
mod share;
mod sources;
mod store;
mod team;
mod up;
mod upkeep;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use archive::Archive;
pub use capture::{Capture, CaptureMode, Headless};
pub use daemon::Daemon;
pub use dynamics::Dynamics;
pub use extract::Extract;
pub use forget::Forget;
pub use http::Http;
pub use index::Index;
pub use inject::Inject;
pub use learn::Learn;
pub use llm::Llm;
pub use mcp::Mcp;
pub use models::Models;
pub use output::{Output, When};
pub use proxy::Proxy;
pub use recall::{Recall, RecallEmbedder, RecallScope};
pub use redaction::Redaction;
pub use share::Share;
pub use sources::Sources;
pub use store::Store;
pub use team::{SharedLevel, Team};
pub use up::Up;
pub use upkeep::Upkeep;

use super::key::Key;

/// All settings of yore, with their values after all layers.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "yore configuration")]
pub struct Config {
    /// The conversations that are captured.
    pub capture: Capture,
    /// The sources of conversations and documents.
    pub sources: Sources,
    /// The text that is removed before anything is written.
    pub redaction: Redaction,
    /// How conversations are kept.
    pub archive: Archive,
    /// The text that can be found.
    pub index: Index,
    /// The local models of this computer.
    pub models: Models,
    /// A language model, and what it may take.
    pub llm: Llm,
    /// How `yore recall` answers.
    pub recall: Recall,
    /// Memories that are found in conversations.
    pub extract: Extract,
    /// How memories fade, and what keeps them near.
    pub dynamics: Dynamics,
    /// Learning by a language model, which `yore learn` sets up.
    pub learn: Learn,
    /// Memories that agents get without asking.
    pub inject: Inject,
    /// The server for agents.
    pub mcp: Mcp,
    /// The port on this computer: the page, the API, and MCP over HTTP.
    pub http: Http,
    /// The proxy before language models.
    pub proxy: Proxy,
    /// Memories that colleagues share in repositories.
    pub share: Share,
    /// Sharing with a team over its server.
    pub team: Team,
    /// Output on a terminal.
    pub output: Output,
    /// The order in which `yore up` reads, and its output.
    pub up: Up,
    /// The background process.
    pub daemon: Daemon,
    /// When recurring maintenance is done.
    pub upkeep: Upkeep,
    /// The database.
    pub store: Store,
    /// The marks that remain after forgetting.
    pub forget: Forget,
}

impl Config {
    /// Returns the settings that affect how histories are read, as JSON: two processes with the same string
    /// read the same.
    pub fn reading_identity(&self) -> String {
        serde_json::to_string(&(&self.capture, &self.sources, &self.redaction, &self.archive, &self.index)).unwrap_or_default()
    }
}

/// Every key, section by section, in the order of display.
pub(super) const TABLE: &[&[Key]] = &[
    capture::KEYS,
    sources::KEYS,
    redaction::KEYS,
    archive::KEYS,
    index::KEYS,
    models::KEYS,
    llm::KEYS,
    recall::KEYS,
    extract::KEYS,
    dynamics::KEYS,
    learn::KEYS,
    inject::KEYS,
    mcp::KEYS,
    http::KEYS,
    proxy::KEYS,
    share::KEYS,
    team::KEYS,
    output::KEYS,
    up::KEYS,
    daemon::KEYS,
    upkeep::KEYS,
    store::KEYS,
    forget::KEYS,
];
