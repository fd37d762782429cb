//! Memory in the proxy: what is added to a request, and what is archived of an exchange.

use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

use yore_core::query::ItemId;
use yore_core::relevance::{TriggerKind, goes_on};
use yore_core::time::UtcMillis;
use yore_engine::ingest::IngestRequest;
use yore_engine::{BriefRequest, Engine, SuggestRequest, Trigger};
use yore_proxy::{Addition, Asked, Conversation, Exchange, Memory, Message, Part, Place, Wants};
use yore_sources::project_names::names_of;
use yore_sources::source::own::RECALLED_MARK;
use yore_sources::source::proxy::{KIND, is_by_client};
use yore_sources::source::source_named;

use super::account::Account;
use super::capture::{self, Exchanged, words};
use super::client::Client;
use super::ledger::{Digests, Given, Key, Ledger};
use crate::config::Config;
use crate::engine_handle::now;
use crate::inject::budget::{Injection, tokens};
use crate::inject::ledger::{self as sessions, Entry};
use crate::inject::plan::Occasion;
use crate::inject::question::suggest_request;
use crate::inject::text;

/// Names of elements that clients put into a person's text.
const PUT_IN: [&str; 4] = ["system-reminder", "environment_context", "user_instructions", "environment_details"];

/// Fewest bytes of the system text of an agent that works.
const RULES: usize = 2_000;

/// The memory of the daemon, for the proxy.
pub struct ProxyMemory {
    engine: Arc<Engine>,
    config: Config,
    request: IngestRequest,
    ledger: Ledger,
    digests: Digests,
    account: Account,
}

impl ProxyMemory {
    /// Creates it. `request`: how what is given is read; `key`: that of the data directory.
    pub fn new(engine: Arc<Engine>, config: Config, request: IngestRequest, key: [u8; 32]) -> Self {
        let ledger = Ledger::open(engine.directory(), now());
        Self { engine, config, request, ledger, digests: Digests::new(key), account: Account::default() }
    }

    /// Returns what additions took, by session, and what went wrong.
    pub fn account(&self) -> &Account {
        &self.account
    }

    fn client(&self, asked: &Asked, conversation: &Conversation) -> Client {
        let route = &asked.route;
        let session = asked.session_headers.first().map(|(_, id)| id.as_str());
        let mut client = Client::of(asked.user_agent.as_deref(), session, route, conversation);
        client.directory = client.directory.filter(|directory| Path::new(directory).is_absolute());
        client
    }

    /// Returns whether requests of this directory get memories, unless the path of the address says so or otherwise.
    fn is_wanted(&self, asked: &Asked, directory: Option<&str>) -> bool {
        let proxy = &self.config.proxy;
        let is_named = || {
            directory.is_some_and(|directory| proxy.inject_projects.iter().any(|named| Path::new(directory).starts_with(named)))
        };
        self.config.inject.enabled && asked.route.memory.unwrap_or_else(|| proxy.inject || is_named())
    }

    /// Returns the chain of each prompt of a conversation: a digest of the prompts up to it.
    fn chains(&self, asked: &Asked, conversation: &Conversation) -> Vec<(usize, Key)> {
        let mut chain = self.digests.of(&[
            b"chain",
            asked.route.upstream.as_bytes(),
            asked.route.directory.as_deref().unwrap_or_default().as_bytes(),
            conversation.previous.as_deref().unwrap_or_default().as_bytes(),
        ]);
        let mut chains = Vec::new();
        for (number, message) in conversation.messages.iter().enumerate().filter(|(_, message)| is_prompt(message)) {
            chain = self.digests.of(&[chain.as_bytes(), &message.digest]);
            chains.push((number, chain.clone()));
        }
        chains
    }

    /// Returns what is given at the last prompt. The text is what a hook would give there.
    fn given(&self, prompt: &str, client: &Client, known: &[ItemId], is_later: bool, was_given: bool) -> Injection {
        let inject = &self.config.inject;
        let here = client.directory.as_deref().map(names_of);
        let occasion = match (is_later, was_given) {
            (false, _) if goes_on(prompt) => Occasion::GoOn,
            (_, true) => Occasion::LaterPrompt,
            (_, false) => Occasion::FirstPrompt,
        };
        let allowance = occasion.allowance(inject);
        if allowance.tokens == 0 {
            return Injection::default();
        }
        if occasion == Occasion::GoOn {
            let request = BriefRequest { here, session: client.session.clone(), is_compacted: false };
            let brief = self.engine.brief(&request).unwrap_or_default();
            return text::going_on(&brief, known, allowance.tokens);
        }
        let trigger = Trigger::Prompt(prompt.to_owned());
        let request = SuggestRequest {
            here,
            session: client.session.clone(),
            given: known.to_vec(),
            is_later: occasion == Occasion::LaterPrompt,
            ..suggest_request(trigger.clone(), allowance)
        };
        match self.engine.suggest(&request) {
            Ok(suggestions) => text::suggestions(&suggestions, &trigger, allowance.tokens),
            Err(_) => Injection::default(),
        }
    }

    /// Returns the price of a million tokens of prompts to a model in dollars, if the person gave one.
    fn price(&self, model: &str) -> Option<f64> {
        let named = |name: &str| match name.rsplit_once('/').map_or(name, |(_, name)| name) {
            name if name.ends_with('*') => model.starts_with(name.trim_end_matches('*')),
            name => name == model,
        };
        self.config.llm.prices.iter().find_map(|price| {
            let (name, prices) = price.split_once('=')?;
            let input: f64 = prices.split('/').next()?.trim().parse().ok()?;
            named(name.trim()).then_some(input)
        })
    }

    /// Returns the block of the system text: what holds in the project.
    fn brief(&self, client: &Client) -> Injection {
        let here = client.directory.as_deref().map(names_of);
        let request = BriefRequest { here, session: client.session.clone(), is_compacted: false };
        let brief = self.engine.brief(&request).unwrap_or_default();
        text::brief(&brief, Occasion::Beginning.allowance(&self.config.inject).tokens)
    }

    /// Decides what is added under a key, and records it; nothing if the memory took longer than it may.
    fn decide(&self, key: Key, injection: Injection, began: Instant) -> Given {
        let is_late = began.elapsed().as_millis() >= u128::from(self.config.proxy.patience_ms);
        let injection = if is_late { Injection::default() } else { injection };
        let given = Given {
            key,
            hash: blake3::hash(injection.text.as_bytes()).to_hex()[..16].to_owned(),
            items: injection.items.iter().map(ItemId::to_string).collect(),
            tokens: tokens(&injection.text),
            text: injection.text,
            at: now(),
        };
        // It holds in this process, and is decided anew after a restart.
        let _ = self.ledger.give(given.clone());
        given
    }

    /// Returns whether the agent's own history is read.
    fn has_history(&self, client: &Client) -> bool {
        let Some(source) = client.agent.and_then(source_named) else { return false };
        if !self.config.sources.of(source.kind()).is_some_and(|settings| settings.enabled) {
            return false;
        }
        match (source.file_in_project(), &client.directory) {
            (Some(name), Some(directory)) => Path::new(directory).ancestors().any(|folder| folder.join(name).exists()),
            (Some(_), None) => false,
            (None, _) => true,
        }
    }

    /// Takes back what was decided for the last prompt and came too late for its request: later requests must not have it either.
    fn withdraw(&self, asked: &Asked, conversation: &Conversation, added: &[Addition]) {
        let last = conversation.messages.len().saturating_sub(1);
        let chains = self.chains(asked, conversation);
        let Some((number, chain)) = chains.last().filter(|(number, _)| *number == last) else { return };
        let is_added = |place: Place| added.iter().any(|addition| addition.place == place);
        let mut keys = vec![(chain.clone(), Place::Message(*number))];
        if chains.len() == 1 {
            keys.push((self.system_key(chain), Place::System));
        }
        for (key, place) in keys {
            if !is_added(place) && self.ledger.given(&key, now()).is_some_and(|given| !given.text.is_empty()) {
                let _ = self.ledger.give(Given { key, at: now(), ..Given::default() });
            }
        }
    }

    fn system_key(&self, chain: &Key) -> Key {
        self.digests.of(&[b"system", chain.as_bytes()])
    }

    /// Records for the person what a session was given.
    fn receipt(&self, session: &str, client: &Client, given: &Given, micros: u64) {
        let entry = Entry {
            at_ms: given.at,
            agent: client.agent.unwrap_or(KIND).to_owned(),
            event: "proxy".to_owned(),
            kind: Some(TriggerKind::Prompt),
            turns: given.items.clone(),
            tokens: given.tokens,
            micros,
            directory: client.directory.clone(),
            ..Entry::default()
        };
        let _ = sessions::append(self.engine.directory(), session, &entry);
        let memories: Vec<_> = given.items.iter().filter_map(|id| ItemId::parse(id)?.memory()).collect();
        if !memories.is_empty() {
            let _ = self.engine.record_memory_uses(&memories, yore_core::memory::Use::Shown, Some(session), None);
        }
    }
}

/// Returns whether a person may have written a message, and no client in the person's name.
fn is_prompt(message: &Message) -> bool {
    message.is_prompt() && !is_by_client(&words(&message.parts))
}

/// Returns the words that were typed: the last text of a message, without what clients put in.
fn typed(message: &Message) -> String {
    let last = message.parts.iter().rev().find_map(|part| match part {
        Part::Text(text) => Some(without_put_in(text)).filter(|text| !text.trim().is_empty()),
        _ => None,
    });
    last.unwrap_or_default()
}

fn without_put_in(text: &str) -> String {
    let mut text = text.to_owned();
    for name in PUT_IN {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        while let Some(start) = text.find(&open) {
            let end = text[start..].find(&close).map_or(text.len(), |end| start + end + close.len());
            text.replace_range(start..end, "");
        }
    }
    text.trim().to_owned()
}

/// Returns whether hooks give this conversation memories: then the proxy does not.
fn has_hooks(conversation: &Conversation) -> bool {
    let is_marked = |part: &Part| matches!(part, Part::Text(text) if text.contains(RECALLED_MARK));
    conversation.messages.iter().any(|message| message.parts.iter().any(is_marked))
        || conversation.system.as_deref().is_some_and(|system| system.contains(RECALLED_MARK))
}

/// Returns whether an agent asks for itself, such as for a title: without the rules that its conversations begin with.
fn is_errand(client: &Client, conversation: &Conversation) -> bool {
    client.agent.is_some() && conversation.system.as_deref().map_or(0, str::len) < RULES
}

impl Memory for ProxyMemory {
    fn wants(&self, asked: &Asked) -> Wants {
        let is_maybe = self.is_wanted(asked, asked.route.directory.as_deref()) || !self.config.proxy.inject_projects.is_empty();
        let additions = is_maybe && asked.route.memory != Some(false);
        Wants { additions, exchange: self.config.proxy.capture || additions }
    }

    fn additions(&self, asked: &Asked, conversation: &Conversation) -> Vec<Addition> {
        let began = Instant::now();
        let client = self.client(asked, conversation);
        if !self.is_wanted(asked, client.directory.as_deref()) || has_hooks(conversation) || is_errand(&client, conversation) {
            return Vec::new();
        }
        let at = now();
        let chains = self.chains(asked, conversation);
        let mut additions = Vec::new();
        let mut known: Vec<ItemId> = Vec::new();
        let mut was_given = false;
        let last = conversation.messages.len().saturating_sub(1);
        let place = capture::place_of(conversation, &client, &self.ledger, &self.digests, at);
        for (at_chain, (number, chain)) in chains.iter().enumerate() {
            if at_chain == 0 && self.config.proxy.brief {
                let key = self.system_key(chain);
                let is_new = chains.len() == 1 && *number == last;
                let block = match self.ledger.given(&key, at) {
                    Some(given) => Some(given),
                    None if is_new => Some(self.decide(key, self.brief(&client), began)),
                    None => None,
                };
                if let Some(given) = block.filter(|given| !given.text.is_empty()) {
                    known.extend(given.items.iter().filter_map(|id| ItemId::parse(id)));
                    additions.push(Addition { place: Place::System, text: given.text });
                }
            }
            let given = match self.ledger.given(chain, at) {
                Some(given) => given,
                // An earlier prompt that got nothing gets nothing: the text before it stands in the provider's cache.
                None if *number != last => continue,
                None => {
                    let prompt = typed(&conversation.messages[*number]);
                    let injection = self.given(&prompt, &client, &known, at_chain > 0, was_given);
                    let given = self.decide(chain.clone(), injection, began);
                    if !given.text.is_empty() {
                        self.receipt(&place.session, &client, &given, began.elapsed().as_micros() as u64);
                    }
                    given
                }
            };
            if !given.text.is_empty() {
                was_given = true;
                known.extend(given.items.iter().filter_map(|id| ItemId::parse(id)));
                additions.push(Addition { place: Place::Message(*number), text: given.text });
            }
        }
        // A request that comes again belongs to the same session.
        let _ = self.ledger.belongs(place.request, &place.session, at);
        additions
    }

    fn exchanged(&self, exchange: Exchange) {
        let Exchange { asked, conversation, added, answer, began, ended_after, .. } = exchange;
        let Some(answer) = answer else { return };
        let client = self.client(&asked, &conversation);
        let began = began.duration_since(UNIX_EPOCH).map_or_else(|_| now(), |since| since.as_millis() as UtcMillis);
        let ended = began + ended_after.as_millis() as UtcMillis;
        self.withdraw(&asked, &conversation, &added);
        let place = capture::place_of(&conversation, &client, &self.ledger, &self.digests, began);
        self.account.book(&place.session, &asked, &added, &answer, |model| self.price(model));
        // Nothing is archived twice.
        if !self.config.proxy.capture || self.has_history(&client) {
            return;
        }
        let exchanged = Exchanged { conversation: &conversation, answer: &answer, client: &client, began, ended };
        let part = capture::new_part(&exchanged, &place, &self.ledger, &self.digests);
        if let Some(unit) = part.unit
            && let Err(error) = self.engine.put_document(KIND, unit, &self.request)
        {
            // The next request has these messages again.
            self.account.archive_failed(&error.to_string());
            return;
        }
        for key in part.keys {
            // Without the row, a message is archived twice after the next start.
            let _ = self.ledger.belongs(key, &place.session, ended);
        }
    }
}
