//! `[models]`: where the models of this computer lie.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// Where the models of this computer lie.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Models {
    /// The directory that holds a folder for each model. Empty means `yore/models` in the
    /// directory for caches; the variable YORE_MODELS goes before either.
    pub directory: PathBuf,
    /// The model that gives texts their vectors: the name of a folder there.
    pub embedder: String,
    /// Runs the model on what was read, at the end of `yore up` and `yore ingest`, where it is here.
    pub embed: bool,
    /// With how many threads one text is computed. More shorten the wait for an answer and
    /// lengthen the work.
    pub threads: usize,
}

impl Default for Models {
    fn default() -> Self {
        Self { directory: PathBuf::new(), embedder: "bge-small-en-v1.5".to_owned(), embed: true, threads: 1 }
    }
}

/// The keys of `[models]`. A cloned repository must not bring its own network to run.
pub(super) const KEYS: &[Key] = &[
    Key::new("models.directory", Shape::Text { longest: 4096 }, ProjectMay::Nothing),
    Key::new("models.embedder", Shape::Text { longest: 200 }, ProjectMay::Nothing),
    Key::new("models.embed", Shape::Switch, ProjectMay::Nothing),
    Key::new("models.threads", Shape::Count { min: 1, max: 64 }, ProjectMay::Nothing),
];
