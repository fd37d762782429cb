//! [`Model`], a configured language model, and the way to it: server, program or folder.

use std::path::PathBuf;
use std::sync::Arc;

use super::ask::{Accounts, Asked, Prompt, Reply, Tier};
use super::batch::Batches;
use super::caller::{Backoff, Caller, most_tokens};
use super::command::CommandSettings;
use super::error::LlmError;
use super::folder;
use super::http::Connection;
use super::wire::{Protocol, Wanted, check};

/// Tokens of its own instructions that an agent's program may add to a prompt.
const AGENT_TOKENS: u64 = 8_000;

/// The place where a model answers.
#[derive(Clone, Debug)]
pub enum Way {
    /// A server.
    Http {
        /// Where it is.
        connection: Connection,
        /// Its protocol.
        protocol: Protocol,
        /// The tiers that it is known to have.
        tiers: &'static [Tier],
    },
    /// A program.
    Command(CommandSettings),
    /// A folder.
    Folder(PathBuf),
    /// A server that takes batches: an answer comes with a later run.
    Batch(Arc<Batches>),
}

/// A configured model.
#[derive(Debug)]
pub struct Model {
    way: Way,
    backoff: Backoff,
    caller: Caller,
    /// The folder in which requests and answers are kept.
    recording: Option<PathBuf>,
    is_small: Option<bool>,
    /// The tiers to try, if not those of its way.
    tiers: Option<Vec<Tier>>,
}

impl Model {
    /// Makes a model of this name.
    pub fn new(name: impl Into<String>, way: Way, backoff: Backoff) -> Self {
        Self { way, backoff, caller: Caller::new(name.into()), recording: None, is_small: None, tiers: None }
    }

    /// Says whether it is small, where that is known better than by where it answers.
    #[must_use]
    pub fn of_size(self, is_small: bool) -> Self {
        Self { is_small: Some(is_small), ..self }
    }

    /// Says which tiers it is asked in, in this order.
    #[must_use]
    pub fn in_tiers(self, tiers: Vec<Tier>) -> Self {
        Self { tiers: Some(tiers), ..self }
    }

    /// Keeps each request and its answer in a folder, out of which [`Way::Folder`] gives them again.
    #[must_use]
    pub fn recorded(self, folder: PathBuf) -> Self {
        Self { recording: Some(folder), ..self }
    }

    /// Returns its name, with that of its server.
    pub fn name(&self) -> &str {
        &self.caller.name
    }

    /// Returns whether it is likely small: it answers on this computer.
    pub fn is_small(&self) -> bool {
        self.is_small.unwrap_or_else(|| match &self.way {
            Way::Http { connection, .. } => connection.is_here(),
            Way::Command(settings) => settings.command.first().is_some_and(|program| program == "ollama"),
            Way::Folder(_) | Way::Batch(_) => false,
        })
    }

    /// Returns the tiers to try, in order: those that it is known to have first, without those that it is known to lack.
    pub fn tiers(&self, accounts: &dyn Accounts) -> Vec<Tier> {
        let own = match &self.way {
            _ if self.tiers.is_some() => self.tiers.as_deref().unwrap_or_default(),
            // An answer that comes later cannot be asked for in another way.
            Way::Batch(_) => return vec![Tier::Schema],
            Way::Http { tiers, .. } => tiers,
            // A program has a prompt only; whoever answers in a folder sees the form.
            Way::Command(_) => &[Tier::Prompt][..],
            Way::Folder(_) => &[Tier::Schema][..],
        };
        own.iter().copied().filter(|tier| accounts.has(self.name(), *tier) != Some(false)).collect()
    }

    /// Asks for an answer. A call that may pass is tried again after a while; each try is a call of its own in the accounts.
    ///
    /// # Errors
    /// Every [`LlmError`] but [`LlmError::Form`].
    pub fn complete(&self, prompt: &Prompt, wanted: Option<Wanted<'_>>, accounts: &dyn Accounts) -> Result<Reply, LlmError> {
        // The tokens of a batch are booked with its answers.
        if let Way::Batch(batches) = &self.way {
            return batches.complete(prompt, wanted);
        }
        let form = wanted.map_or(0, |wanted| wanted.form.schema.to_string().len());
        let own = match &self.way {
            Way::Command(settings) if settings.known.is_some() => AGENT_TOKENS,
            _ => 0,
        };
        let most = [most_tokens(prompt.bytes()) + most_tokens(form) + own, u64::from(prompt.max_tokens)];
        self.caller.call(most, self.backoff, accounts, &mut || {
            let form = wanted.map(|wanted| (wanted.form, wanted.tier));
            let call = Asked { model: self.name(), prompt, wanted: form, most };
            let outcome = accounts.replayed(&call).unwrap_or_else(|| self.send(prompt, wanted, accounts));
            accounts.record(&call, outcome.as_ref());
            let reply = outcome?;
            if let Some(folder) = &self.recording {
                folder::record(folder, prompt, wanted, &reply)?;
            }
            let usage = reply.usage;
            Ok((reply, usage))
        })
    }

    /// Tries whether its server can be reached and takes the key, by asking for its models, which costs nothing. Returns false if it
    /// is no server.
    ///
    /// # Errors
    /// It cannot be reached, or refuses the key; models are switched off.
    pub fn reach(&self, accounts: &dyn Accounts) -> Result<bool, LlmError> {
        let Way::Http { connection, protocol, .. } = &self.way else { return Ok(false) };
        let key_header = |key: &str| protocol.key_header(key);
        check(connection.server(), &connection.get(protocol.listing(), &protocol.headers(), &key_header, accounts)?)?;
        Ok(true)
    }

    /// Returns the same model, whose requests are gathered and sent as batches, with what sends them; `None`: its server takes
    /// none. `folder`: where batches and their answers are kept.
    pub fn in_batches(&self, folder: PathBuf) -> Option<(Self, Arc<Batches>)> {
        let Way::Http { connection, protocol, .. } = &self.way else { return None };
        let batches = Arc::new(Batches::new(self.name().to_owned(), connection.clone(), *protocol, folder)?);
        Some((Self::new(self.name(), Way::Batch(Arc::clone(&batches)), self.backoff), batches))
    }

    /// Puts away an answer that had not the form, where it would be given again. Returns the file that holds it, if somebody must
    /// write another.
    pub(super) fn reject(&self, prompt: &Prompt) -> Option<PathBuf> {
        match &self.way {
            Way::Folder(folder) => return folder::reject(folder, prompt),
            Way::Batch(batches) => batches.reject(prompt),
            Way::Http { .. } | Way::Command(_) => {}
        }
        None
    }

    fn send(&self, prompt: &Prompt, wanted: Option<Wanted<'_>>, accounts: &dyn Accounts) -> Result<Reply, LlmError> {
        match &self.way {
            Way::Command(settings) => settings.complete(prompt, accounts),
            Way::Folder(folder) => folder::complete(folder, prompt, wanted),
            Way::Batch(batches) => batches.complete(prompt, wanted),
            Way::Http { connection, protocol, .. } => {
                let model = self.name().split_once('/').map_or(self.name(), |(_, model)| model);
                let key_header = |key: &str| protocol.key_header(key);
                let answer = connection.send(protocol.encode(model, prompt, wanted), &key_header, accounts)?;
                protocol.decode(connection.server(), prompt, &answer)
            }
        }
    }
}
