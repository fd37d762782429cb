//! `[http]`: the port on this computer for the page, the API and MCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The port on this computer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// Lets the daemon serve programs over HTTP (the API, and MCP for agents), on this computer only and for those who have its
    /// token. `yore page` opens the port as well, until the daemon ends.
    pub enabled: bool,
    /// The port. 0 chooses one, and the same one each time if it is free.
    pub port: u16,
}

/// The keys of `[http]`. A cloned repository may not open a port.
pub(super) const KEYS: &[Key] = &[
    Key::new("http.enabled", Shape::Switch, ProjectMay::Nothing),
    Key::new("http.port", Shape::Count { min: 0, max: 65_535 }, ProjectMay::Nothing),
];
