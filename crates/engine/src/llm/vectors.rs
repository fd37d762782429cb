//! Embedders on servers: convert texts to vectors.

use std::time::Duration;

use serde_json::Value;

use super::ask::{Accounts, Usage, estimated_tokens};
use super::caller::{Backoff, Caller, most_tokens};
use super::error::LlmError;
use super::http::Connection;
use super::wire::{Protocol, Texts, VectorProtocol, body_of};

/// A model on a server that converts texts to vectors.
#[derive(Debug)]
pub struct ServerEmbedder {
    model: String,
    protocol: VectorProtocol,
    /// Most texts of a call.
    most_texts: usize,
    dimensions: Option<usize>,
    connection: Connection,
    caller: Caller,
}

/// Texts of which kind are embedded.
#[derive(Clone, Copy, Debug)]
enum Asking {
    /// A question, for which somebody waits.
    Question,
    /// Texts to be found.
    Texts,
}

/// The vectors of some texts: of length 1, or the reason why there is none.
pub type Vectors = Vec<Result<Vec<f32>, String>>;

impl ServerEmbedder {
    /// Makes an embedder of a model. `dimensions`: `None` for the model's own number.
    pub fn new(
        model: impl Into<String>,
        protocol: VectorProtocol,
        most_texts: usize,
        dimensions: Option<usize>,
        connection: Connection,
    ) -> Self {
        let model = model.into();
        let caller = Caller::new(format!("{}/{model}", connection.server()));
        Self { model, protocol, most_texts: most_texts.max(1), dimensions, connection, caller }
    }

    /// Returns the identity of everything that decides a text's vector, as far as the server tells it: the model and the number
    /// of dimensions. A server that changes a model under its name is not found out.
    pub fn identity(&self) -> String {
        match self.dimensions {
            Some(dimensions) => format!("server {} dimensions {dimensions}", self.caller.name),
            None => format!("server {}", self.caller.name),
        }
    }

    /// Returns the name of the model, with that of its server.
    pub fn name(&self) -> &str {
        &self.caller.name
    }

    /// Returns the number of texts that a call takes.
    pub fn most_texts(&self) -> usize {
        self.most_texts
    }

    /// Returns the vectors of texts to be found. A text that the server refuses has none, and holds up no other.
    ///
    /// # Errors
    /// Every [`LlmError`] that is not about one text.
    pub fn embed(&self, texts: &[&str], accounts: &dyn Accounts) -> Result<Vectors, LlmError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for part in texts.chunks(self.most_texts) {
            let found = self.part(part, accounts)?;
            // One that refuses all of several texts means something else than the texts: a key, a quota, the model.
            if let (true, Some(Err(reason))) = (part.len() > 1 && found.iter().all(Result::is_err), found.first()) {
                let server = self.connection.server().to_owned();
                return Err(LlmError::Status { server, status: 400, message: reason.clone(), retry_after: None });
            }
            vectors.extend(found);
        }
        Ok(vectors)
    }

    /// Returns the vector of a question, at the first try: somebody waits. `left`: how long; `None`: as long as usual.
    ///
    /// # Errors
    /// Every [`LlmError`].
    pub fn embed_question(&self, question: &str, left: Option<Duration>, accounts: &dyn Accounts) -> Result<Vec<f32>, LlmError> {
        if left.is_some() {
            self.caller.in_time()?;
        }
        let vectors = self.call(&[question], &self.connection.within(left), Asking::Question, accounts)?;
        vectors.into_iter().next().unwrap_or_else(|| Err("there is no vector".to_owned())).map_err(|reason| self.wrong(reason))
    }

    /// Embeds what fits in a call; one that is refused is divided until the text is found that it is about.
    fn part(&self, texts: &[&str], accounts: &dyn Accounts) -> Result<Vectors, LlmError> {
        match self.call(texts, &self.connection, Asking::Texts, accounts) {
            Err(LlmError::Status { status: 400 | 413 | 422, message, .. }) => {
                if let [_] = texts {
                    return Ok(vec![Err(message)]);
                }
                let (first, second) = texts.split_at(texts.len() / 2);
                let mut vectors = self.part(first, accounts)?;
                vectors.extend(self.part(second, accounts)?);
                Ok(vectors)
            }
            called => called,
        }
    }

    fn call(
        &self,
        texts: &[&str],
        connection: &Connection,
        asking: Asking,
        accounts: &dyn Accounts,
    ) -> Result<Vectors, LlmError> {
        let bytes = texts.iter().map(|text| text.len()).sum();
        let (are_questions, backoff) = match asking {
            Asking::Question => (true, Backoff::ONCE),
            Asking::Texts => (false, Backoff::default()),
        };
        self.caller.call([most_tokens(bytes), 0], backoff, accounts, &mut || {
            let asked = Texts { model: &self.model, texts, are_questions, dimensions: self.dimensions };
            let body = self.ask(connection, asked, accounts)?;
            let (vectors, tokens) = self.protocol.decode(&body, texts.len()).map_err(|missing| self.wrong(missing.to_owned()))?;
            let estimated: u64 = texts.iter().map(|text| estimated_tokens(text)).sum();
            // Never less than half of the estimate, whatever the server reports.
            let input = tokens.map_or(estimated, |tokens| tokens.max(estimated / 2));
            let usage = Usage { input, output: 0, is_estimated: tokens.is_none() };
            Ok((vectors.into_iter().map(unit).collect(), usage))
        })
    }

    fn ask(&self, connection: &Connection, asked: Texts<'_>, accounts: &dyn Accounts) -> Result<Value, LlmError> {
        let key_header = |key: &str| match self.protocol {
            VectorProtocol::Gemini => Protocol::Gemini.key_header(key),
            _ => Protocol::OpenAiChat.key_header(key),
        };
        body_of(connection.server(), &connection.send(self.protocol.encode(asked), &key_header, accounts)?)
    }

    fn wrong(&self, reason: String) -> LlmError {
        LlmError::NotUnderstood { server: self.connection.server().to_owned(), reason }
    }
}

/// Makes a vector one of length 1.
fn unit(mut vector: Vec<f32>) -> Result<Vec<f32>, String> {
    let length = vector.iter().map(|part| f64::from(*part) * f64::from(*part)).sum::<f64>().sqrt();
    if !length.is_finite() || length <= f64::from(f32::MIN_POSITIVE) {
        return Err("its vector has only zeros or numbers that are not finite".to_owned());
    }
    #[expect(clippy::cast_possible_truncation, reason = "the parts of a vector of length 1 need no more")]
    vector.iter_mut().for_each(|part| *part = (f64::from(*part) / length) as f32);
    Ok(vector)
}
