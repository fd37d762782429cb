//! `[models]`: the local models of this computer.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The local models of this computer.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Models {
    /// The directory that holds a folder for each model. Empty means `yore/models` in the directory for
    /// caches. The variable YORE_MODELS overrides both.
    pub directory: PathBuf,
    /// The model that computes the vectors of texts: the name of a folder in that directory.
    pub embedder: String,
    /// The model that reads questions and passages together, if `recall.rerank` asks for it: the name of a folder
    /// in that directory.
    pub reranker: String,
    /// Runs the model on new text at the end of `yore up` and `yore ingest`, if the model is installed.
    pub embed: bool,
    /// Number of threads for one text. More threads shorten the wait for an answer and lengthen the work.
    pub threads: usize,
}

impl Default for Models {
    fn default() -> Self {
        Self {
            directory: PathBuf::new(),
            embedder: "bge-small-en-v1.5".to_owned(),
            reranker: "ms-marco-MiniLM-L-12-v2".to_owned(),
            embed: true,
            threads: 1,
        }
    }
}

/// The keys of `[models]`. A cloned repository must not bring its own model to run.
pub(super) const KEYS: &[Key] = &[
    Key::new("models.directory", Shape::Text { longest: 4096 }, ProjectMay::Nothing),
    Key::new("models.embedder", Shape::Text { longest: 200 }, ProjectMay::Nothing),
    Key::new("models.reranker", Shape::Text { longest: 200 }, ProjectMay::Nothing),
    Key::new("models.embed", Shape::Switch, ProjectMay::Nothing),
    Key::new("models.threads", Shape::Count { min: 1, max: 64 }, ProjectMay::Nothing),
];
