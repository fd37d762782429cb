//! `[models]`: embedders and rerankers, on this computer or on servers.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};
use crate::config::names::Names;

/// Models for vectors and relevance, on this computer or on servers.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Models {
    /// The directory that holds a folder for each model. Empty means `yore/models` in the directory for
    /// caches. The variable YORE_MODELS overrides both.
    pub directory: PathBuf,
    /// The model that computes the vectors of texts: the name of a folder in that directory, or a server and its model, such as
    /// "ollama/nomic-embed-text". All that was said is sent to that server, as far as the limit of a day allows (`yore learn --limit`).
    pub embedder: String,
    /// Number of dimensions of a server's vectors, where it lets one choose. 0: the model's own.
    pub dimensions: u32,
    /// Address of the embedder's server, in the place of its usual one.
    pub embedder_address: String,
    /// The model that reads questions and passages together, if `recall.rerank` asks for it: the name of a folder
    /// in that directory, or a server and its model, such as "cohere/rerank-v3.5". The best passages are sent to that server.
    pub reranker: String,
    /// Address of the reranker's server, in the place of its usual one.
    pub reranker_address: String,
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
            dimensions: 0,
            embedder_address: String::new(),
            reranker: "ms-marco-MiniLM-L-12-v2".to_owned(),
            reranker_address: String::new(),
            embed: true,
            threads: 1,
        }
    }
}

const ADDRESS: Shape = Shape::Text { longest: 2048 };

/// The keys of `[models]`. A cloned repository must not bring its own model to run.
pub(super) const KEYS: &[Key] = &[
    Key::new("models.directory", Shape::Text { longest: 4096 }, ProjectMay::Nothing),
    Key::new("models.embedder", Shape::Named { longest: 200, names: Names::Embedder }, ProjectMay::Nothing),
    Key::new("models.dimensions", Shape::Count { min: 0, max: 16_384 }, ProjectMay::Nothing),
    Key::new("models.embedder_address", ADDRESS, ProjectMay::Nothing),
    Key::new("models.reranker", Shape::Named { longest: 200, names: Names::Reranker }, ProjectMay::Nothing),
    Key::new("models.reranker_address", ADDRESS, ProjectMay::Nothing),
    Key::new("models.embed", Shape::Switch, ProjectMay::Nothing),
    Key::new("models.threads", Shape::Count { min: 1, max: 64 }, ProjectMay::Nothing),
];
