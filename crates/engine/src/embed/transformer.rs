//! The local embedding model: converts a text to a vector.

use std::fmt;

use yore_core::text::{CHUNKER_VERSION, WORDPIECE_VERSION, WordPiece};

use super::folder::{Facts, MODEL, ModelFolder};
use super::network::{Network, RUNTIME};
use super::{EmbedError, LoadOptions, Pooling, Role};

/// Converts a text into a vector of length 1, with a local network.
///
/// Embeds one text at a time, so that the vector depends only on the text (and on everything in
/// [`TextEmbedder::identity`]). Tokens beyond the network's limit are cut off: embed a long text in pieces to
/// cover all of it.
pub struct TextEmbedder {
    network: Network,
    facts: Facts,
}

impl TextEmbedder {
    /// Loads the embedder in a folder, after checking that its files are the right ones.
    pub fn open(folder: &ModelFolder, options: &LoadOptions) -> Result<Self, EmbedError> {
        let facts = folder.facts(Role::Embedder)?.clone();
        if !options.is_trusted {
            folder.verify_tokenizer()?;
        }
        let bytes = folder.read(options.is_trusted)?;
        let file = folder.path().join(MODEL);
        let network = Network::load(&file, bytes, "last_hidden_state", options)?;
        let is_own = facts.manifest.is_none();
        let embedder = Self { network, facts };
        if is_own {
            // A user's own model is tried once, because it may not work.
            embedder.embed("a").map_err(|error| EmbedError::Unsuitable { file, detail: error.to_string() })?;
        }
        Ok(embedder)
    }

    /// Returns the id of the model.
    pub fn id(&self) -> &str {
        &self.facts.id
    }

    /// Returns the number of numbers in a vector.
    pub fn dimensions(&self) -> usize {
        self.facts.dimensions
    }

    /// Returns the identity of everything that decides a text's vector, including the place where long texts
    /// are cut. Vectors are comparable if and only if this is equal. (The processor is not part of it: kinds
    /// of processors may round differently, but too little to affect comparisons.)
    pub fn identity(&self) -> String {
        let Facts { id, dimensions, max_tokens, pooling, prefix, sha256, role: _, manifest: _ } = &self.facts;
        let hash = sha256.get(..16).unwrap_or(sha256);
        let pooling = pooling.as_str();
        let prefix = if prefix.is_empty() { String::new() } else { format!(" prefix {prefix:?}") };
        format!(
            "{id} sha256:{hash} {RUNTIME} wordpiece {WORDPIECE_VERSION} chunker {CHUNKER_VERSION} tokens {max_tokens} {pooling} {dimensions}{prefix}"
        )
    }

    /// Returns the vector of a text to be found.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let limit = self.facts.max_tokens;
        let mut ids = Vec::with_capacity(limit);
        ids.push(WordPiece::CLASSIFY);
        WordPiece::bert().encode(text, limit.saturating_sub(2), &mut ids);
        ids.push(WordPiece::SEPARATE);
        self.vector(&ids)
    }

    /// Returns the vector of a question, which some models need marked with a prefix.
    pub fn embed_question(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        if self.facts.prefix.is_empty() { self.embed(question) } else { self.embed(&format!("{}{question}", self.facts.prefix)) }
    }

    fn vector(&self, ids: &[u32]) -> Result<Vec<f32>, EmbedError> {
        let failed = |detail: String| EmbedError::Run { id: self.facts.id.clone(), detail };
        let (tokens, width) = (ids.len(), self.facts.dimensions);
        let states = self.network.run(ids, vec![0; tokens]).map_err(failed)?;
        let (shape, states) = states.into_shape_vec::<f32, 3>().map_err(|error| failed(error.to_string()))?;
        if shape != [1, tokens, width] {
            return Err(failed(format!("its result has the shape {shape:?}, expected [1, {tokens}, {width}]")));
        }
        let mut vector = match self.facts.pooling {
            Pooling::Cls => states.get(..width).unwrap_or_default().to_vec(),
            Pooling::Mean => {
                let mut sum = vec![0.0; width];
                for state in states.chunks_exact(width) {
                    sum.iter_mut().zip(state).for_each(|(sum, part)| *sum += part);
                }
                sum
            }
        };
        let length = vector.iter().map(|part| f64::from(*part) * f64::from(*part)).sum::<f64>().sqrt();
        if !length.is_finite() || length <= f64::from(f32::MIN_POSITIVE) {
            return Err(EmbedError::NotFinite(self.facts.id.clone()));
        }
        #[expect(clippy::cast_possible_truncation, reason = "the parts of a vector of length 1 need no more")]
        vector.iter_mut().for_each(|part| *part = (f64::from(*part) / length) as f32);
        Ok(vector)
    }
}

impl fmt::Debug for TextEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TextEmbedder").field(&self.identity()).finish()
    }
}
