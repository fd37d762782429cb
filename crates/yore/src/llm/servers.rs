//! Chooses the embedder and reranker: in a folder of this computer, or on a server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use yore_engine::llm::{Connection, RelevanceServer, ServerEmbedder, ServerReranker, VectorServer};
use yore_engine::transport::is_here;
use yore_engine::{ModelServers, Terms};

use super::key::{KeyPlace, key_command, key_of};
use super::terms;
use crate::config::Config;
use crate::models::directory as models_directory;
use crate::settings::Settings;

/// Longest time for vectors and relevance: a question waits for them.
const PATIENCE: Duration = Duration::from_secs(30);

/// The models for vectors and relevance.
#[derive(Clone, Debug, Default)]
pub struct ModelsAt {
    /// The folder of the local embedding model, whether or not it exists.
    pub folder: Option<PathBuf>,
    /// The folder of the local cross-encoder, whether or not it exists.
    pub reranker: Option<PathBuf>,
    /// The models on servers, in the place of those in folders.
    pub servers: ModelServers,
}

impl ModelsAt {
    /// Returns whether there is a model for vectors.
    pub fn has_embedder(&self) -> bool {
        self.servers.embedder.is_some() || self.folder.as_ref().is_some_and(|folder| folder.exists())
    }
}

impl Settings {
    /// Returns the models for vectors and relevance. Nothing is connected to, and no key is read.
    pub fn models(&self) -> ModelsAt {
        let config = self.config();
        let models = &config.models;
        let embedder = models.embedder.split_once('/').and_then(|(name, model)| {
            let server = VectorServer::named(name)?;
            let at = (server.name, server.address, server.key_variable);
            let (connection, terms) = self.connection(at, &models.embedder_address, "embed", &models.embedder, config);
            let dimensions = Some(models.dimensions as usize).filter(|dimensions| *dimensions > 0);
            Some((Arc::new(ServerEmbedder::new(model, server.protocol, server.most_texts, dimensions, connection)), terms))
        });
        let reranker = models.reranker.split_once('/').and_then(|(name, model)| {
            let server = RelevanceServer::named(name)?;
            let at = (server.name, server.address, server.key_variable);
            let (connection, terms) = self.connection(at, &models.reranker_address, "rerank", &models.reranker, config);
            Some((Arc::new(ServerReranker::new(model, server.protocol, connection)), terms))
        });
        let reranker_folder = models_directory(&self.paths, config).map(|directory| directory.join(&models.reranker));
        ModelsAt { folder: self.model_folder(), reranker: reranker_folder, servers: ModelServers { embedder, reranker } }
    }

    fn connection(
        &self,
        (server, usual, key_variable): (&str, &str, Option<&str>),
        address: &str,
        purpose: &str,
        name: &str,
        config: &Config,
    ) -> (Connection, Terms) {
        let address = if address.is_empty() { usual } else { address };
        let (command, is_general) = key_command(&config.llm.key_command, server, key_variable.is_some(), false);
        let place = KeyPlace {
            provider: server.to_owned(),
            variable: key_variable.map(str::to_owned),
            command,
            is_general,
            is_optional: is_here(address) || address != usual,
        };
        let connection = Connection::new(server, address, key_of(place, &self.environment), PATIENCE);
        (connection, terms(purpose, name, Some(address), config))
    }
}
