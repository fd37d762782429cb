//! The local cross-encoder: scores how well a passage answers a question.

use std::fmt;

use yore_core::text::{WORDPIECE_VERSION, WordPiece};

use super::folder::{Facts, MODEL, ModelFolder};
use super::network::{Network, RUNTIME};
use super::{EmbedError, LoadOptions, Role};

/// Scores how well a passage answers a question, reading both together: slower than comparing vectors, and
/// better.
///
/// Scores one pair at a time. Twenty pairs in one batch cost about as much CPU, and an int8 network scales
/// its activations over the batch, so that the score of a passage would depend on the other passages.
pub struct Reranker {
    network: Network,
    facts: Facts,
}

impl Reranker {
    /// Loads the reranker in a folder, after checking that its files are the right ones.
    pub fn open(folder: &ModelFolder, options: &LoadOptions) -> Result<Self, EmbedError> {
        let facts = folder.facts(Role::Reranker)?.clone();
        if !options.is_trusted {
            folder.verify_tokenizer()?;
        }
        let bytes = folder.read(options.is_trusted)?;
        let file = folder.path().join(MODEL);
        let network = Network::load(&file, bytes, "logits", options)?;
        let is_own = facts.manifest.is_none();
        let reranker = Self { network, facts };
        if is_own {
            // A user's own model is tried once, because it may not work.
            reranker.score("a", "a", 8).map_err(|error| EmbedError::Unsuitable { file, detail: error.to_string() })?;
        }
        Ok(reranker)
    }

    /// Returns the id of the model.
    pub fn id(&self) -> &str {
        &self.facts.id
    }

    /// Returns the identity of everything that decides a pair's score, except the number of tokens.
    pub fn identity(&self) -> String {
        let hash = self.facts.sha256.get(..16).unwrap_or_default();
        format!("{} sha256:{hash} {RUNTIME} wordpiece {WORDPIECE_VERSION}", self.facts.id)
    }

    /// Returns how well `passage` answers `question`: a logit, above 0 if the model considers it an answer.
    /// Reads at most `max_tokens` tokens of both together, limited to the size of the network and at least 8.
    /// The longer text is cut, at its end.
    pub fn score(&self, question: &str, passage: &str, max_tokens: usize) -> Result<f32, EmbedError> {
        let failed = |detail: String| EmbedError::Run { id: self.facts.id.clone(), detail };
        let room = max_tokens.clamp(8, self.facts.max_tokens) - 3;
        let (mut asked, mut told) = (Vec::new(), Vec::new());
        WordPiece::bert().encode(question, room, &mut asked);
        WordPiece::bert().encode(passage, room, &mut told);
        let (kept_asked, kept_told) = shared_room(room, asked.len(), told.len());
        let first = [&[WordPiece::CLASSIFY], &asked[..kept_asked], &[WordPiece::SEPARATE]].concat();
        let second = [&told[..kept_told], &[WordPiece::SEPARATE]].concat();
        let mut types = vec![0; first.len()];
        types.resize(first.len() + second.len(), 1);
        let ids = [first, second].concat();
        let logits = self.network.run(&ids, types).map_err(failed)?;
        let (_, logits) = logits.into_shape_vec::<f32, 2>().map_err(|error| failed(error.to_string()))?;
        match logits.as_slice() {
            [logit] if logit.is_finite() => Ok(*logit),
            [_] => Err(EmbedError::NotFinite(self.facts.id.clone())),
            other => Err(failed(format!("it returned {} numbers, expected one", other.len()))),
        }
    }
}

/// Returns how many tokens of two texts are kept: the longer gets no more than the shorter leaves, two long
/// ones half each.
fn shared_room(room: usize, first: usize, second: usize) -> (usize, usize) {
    let half = room / 2;
    let kept = first.min(half.max(room.saturating_sub(second)));
    (kept, second.min(room - kept))
}

impl fmt::Debug for Reranker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reranker").field(&self.identity()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::shared_room;

    #[test]
    fn longer_text_of_a_pair_is_cut() {
        assert_eq!(shared_room(10, 3, 4), (3, 4));
        assert_eq!(shared_room(10, 3, 40), (3, 7));
        assert_eq!(shared_room(10, 40, 3), (7, 3));
        assert_eq!(shared_room(10, 40, 50), (5, 5));
        assert_eq!(shared_room(11, 40, 50), (5, 6));
    }
}
