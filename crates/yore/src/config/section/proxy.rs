//! `[proxy]`: the port through which agents and programs reach language models, and what memory does there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The proxy before language models.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Proxy {
    /// Lets the daemon pass requests to language models on, on this computer only and for those who have its token (`yore proxy env`).
    pub enabled: bool,
    /// The port. 0 chooses one, and the same one each time if it is free.
    pub port: u16,
    /// Archives conversations that go through, but those of agents whose own histories are read.
    pub capture: bool,
    /// Adds memories to the last prompt of conversations. `/memory` and `/plain` in the path of an address say otherwise for what comes
    /// through it.
    pub inject: bool,
    /// Directories whose conversations get memories although `proxy.inject` is off.
    pub inject_projects: Vec<String>,
    /// Adds what holds in the project to the system text at the first prompt as well, and the same text again at each later one.
    pub brief: bool,
    /// Milliseconds that a request waits for the memory. A later answer is left out.
    pub patience_ms: u32,
    /// Further servers, each as NAME=ADDRESS, such as `router=https://openrouter.ai/api`. A known name replaces its address.
    pub upstreams: Vec<String>,
    /// A proxy that leads to these servers, such as a company's: http://host:port. Empty: they are reached directly.
    pub via: String,
}

impl Default for Proxy {
    fn default() -> Self {
        Self {
            enabled: false,
            port: 0,
            capture: true,
            inject: false,
            inject_projects: Vec::new(),
            brief: false,
            patience_ms: 50,
            upstreams: Vec::new(),
            via: String::new(),
        }
    }
}

/// The keys of `[proxy]`. A cloned repository may not open a port, nor say where requests with a person's key go.
pub(super) const KEYS: &[Key] = &[
    Key::new("proxy.enabled", Shape::Switch, ProjectMay::Nothing),
    Key::new("proxy.port", Shape::Count { min: 0, max: 65_535 }, ProjectMay::Nothing),
    Key::new("proxy.capture", Shape::Switch, ProjectMay::Nothing),
    Key::new("proxy.inject", Shape::Switch, ProjectMay::Nothing),
    Key::new("proxy.inject_projects", Shape::List { longest: 4_096 }, ProjectMay::Nothing),
    Key::new("proxy.brief", Shape::Switch, ProjectMay::Nothing),
    Key::new("proxy.patience_ms", Shape::Count { min: 0, max: 5_000 }, ProjectMay::Nothing),
    Key::new("proxy.upstreams", Shape::List { longest: 2_000 }, ProjectMay::Nothing),
    Key::new("proxy.via", Shape::Text { longest: 2_000 }, ProjectMay::Nothing),
];
