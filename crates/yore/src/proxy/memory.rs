//! Memory in the proxy: what is added to a request, and what is archived of an exchange.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use yore_core::query::ItemId;
use yore_core::relevance::{TriggerKind, goes_on};
use yore_core::time::UtcMillis;
use yore_engine::ingest::name_redactor;
use yore_engine::{BriefRequest, Engine, SuggestRequest, Trigger};
use yore_proxy::{Addition, Asked, Conversation, Exchange, Memory, Message, Part, Place, Role, Wants};
use yore_sources::project_names::names_of;
use yore_sources::redact::RedactionCounts;
use yore_sources::source::own::RECALLED_MARK;
use yore_sources::source::proxy::{self, KIND, is_by_client};
use yore_sources::source::source_named;

use super::account::Account;
use super::capture::{self, Exchanged, NewPart, words};
use super::client::Client;
use super::ledger::{Digests, Given, Key, Ledger};
use crate::config::{Config, Inject, Layers, load};
use crate::engine_handle::now;
use crate::histories::{policy, request};
use crate::inject::budget::{Injection, tokens};
use crate::inject::ledger::{self as sessions, Entry};
use crate::inject::plan::Occasion;
use crate::inject::question::suggest_request;
use crate::inject::text;
use crate::llm::price_of;
use crate::settings::{Settings, find_project_file};
use crate::shared::refresh;

/// Time for which the rules of a directory hold after they were read.
const RULES_HOLD: Duration = Duration::from_secs(5);
/// Most directories whose rules are kept.
const MOST_DIRECTORIES: usize = 1_000;
/// Time in which the same first prompt gets the same text again, in milliseconds.
const BEGINNING_MS: UtcMillis = 10 * 60_000;
/// Most decisions that are not made yet; one that finds as many is not made.
const MOST_DECIDING: usize = 8;
/// Fewest bytes of the system text of an agent that works.
const RULES: usize = 4_000;

/// The memory of the daemon, for the proxy.
pub struct ProxyMemory {
    engine: Arc<Engine>,
    /// Those of the daemon; the rules of capture and of projects are read again from their files.
    settings: Settings,
    config: Config,
    rules: Mutex<HashMap<String, (Instant, Option<Inject>)>>,
    ledger: Ledger,
    digests: Digests,
    account: Account,
    /// Held by each decision that is not made yet.
    deciding: Arc<()>,
}

impl ProxyMemory {
    /// Creates it. `config`: the settings that hold for every project; `key`: that of the data directory.
    pub fn new(engine: Arc<Engine>, settings: Settings, config: Config, key: [u8; 32]) -> Self {
        let ledger = Ledger::open(engine.directory(), now());
        let (digests, account) = (Digests::new(key), Account::default());
        Self { engine, settings, config, rules: Mutex::default(), ledger, digests, account, deciding: Arc::default() }
    }

    /// Returns what may be given in a directory, as hooks give it there; `None`: nothing, because nothing may be kept there or its project
    /// says so. What was read holds for some seconds.
    fn inject_in(&self, directory: &str) -> Option<Inject> {
        let rules = || self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, inject)) = rules().get(directory)
            && read.elapsed() < RULES_HOLD
        {
            return inject.clone();
        }
        // No request waits for the files that another one reads.
        let inject = self.read_inject(directory);
        let mut rules = rules();
        if rules.len() >= MOST_DIRECTORIES {
            rules.clear();
        }
        rules.insert(directory.to_owned(), (Instant::now(), inject.clone()));
        inject
    }

    fn read_inject(&self, directory: &str) -> Option<Inject> {
        let project_file = find_project_file(Path::new(directory));
        let layers = Layers {
            user_file: self.settings.user_file.as_ref(),
            project_file: project_file.as_deref(),
            environment: &self.settings.environment,
            flags: &self.settings.flags,
        };
        let config = load(&layers).ok()?.config;
        let is_kept = config.capture.enabled && policy(&self.settings).is_ok_and(|policy| policy.allows_directory(directory));
        (is_kept && config.inject.enabled).then_some(config.inject)
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
        asked.route.memory.unwrap_or_else(|| proxy.inject || is_named())
    }

    /// Returns the chain of each prompt of a conversation: a digest of the prompts up to it.
    fn chains(&self, asked: &Asked, client: &Client, conversation: &Conversation) -> Vec<(usize, Key)> {
        let mut chain = self.digests.of(&[
            b"chain",
            asked.route.upstream.as_bytes(),
            client.directory.as_deref().unwrap_or_default().as_bytes(),
            client.session.as_deref().unwrap_or_default().as_bytes(),
            conversation.previous.as_deref().unwrap_or_default().as_bytes(),
        ]);
        let mut chains = Vec::new();
        for (number, message) in conversation.messages.iter().enumerate().filter(|(_, message)| is_prompt(message)) {
            chain = self.digests.of(&[chain.as_bytes(), &message.digest]);
            chains.push((number, chain.clone()));
        }
        chains
    }

    /// Decides what is added under a key, and records it; nothing if that takes longer than the memory may, counted from `began`. What
    /// earlier prompts got is added all the same.
    fn decide(&self, key: Key, began: Instant, injection: impl FnOnce() -> Injection + Send + 'static) -> Given {
        let patience = Duration::from_millis(u64::from(self.config.proxy.patience_ms)).saturating_sub(began.elapsed());
        let injection = self.in_time(patience, injection).unwrap_or_else(|| {
            self.account.was_late();
            Injection::default()
        });
        let given = Given {
            key,
            hash: blake3::hash(injection.text.as_bytes()).to_hex()[..16].to_owned(),
            items: injection.items.iter().map(ItemId::to_string).collect(),
            tokens: tokens(&injection.text),
            text: injection.text,
            at: now(),
        };
        // Without the row it holds until the daemon ends.
        let _ = self.ledger.give(given.clone());
        given
    }

    /// Does work on a thread of its own; `None` if it takes longer than `patience`, panics, or too much that took longer is not done yet.
    fn in_time<T: Send + 'static>(&self, patience: Duration, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let place = Arc::clone(&self.deciding);
        if patience.is_zero() || Arc::strong_count(&place) > 1 + MOST_DECIDING {
            return None;
        }
        let (send, done) = sync_channel(1);
        let work = move || {
            let _place = place;
            // Nobody waits for a late one.
            let _ = send.send(work());
        };
        thread::Builder::new().name("proxy-memory".to_owned()).spawn(work).ok()?;
        done.recv_timeout(patience).ok()
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
    fn withdraw(&self, asked: &Asked, client: &Client, conversation: &Conversation, added: &[Addition]) {
        let last = last_said(conversation);
        let chains = self.chains(asked, client, conversation);
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
        let redacted = |directory: &String| {
            let redactor = name_redactor(self.engine.directory()).ok()?;
            Some(redactor.text(directory, &mut RedactionCounts::default()).unwrap_or_else(|| directory.clone()))
        };
        let entry = Entry {
            at_ms: given.at,
            agent: client.agent.unwrap_or(KIND).to_owned(),
            event: "proxy".to_owned(),
            kind: Some(TriggerKind::Prompt),
            turns: given.items.clone(),
            tokens: given.tokens,
            micros,
            directory: client.directory.as_ref().and_then(redacted),
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
    message.is_prompt() && !is_by_client(&words(&message.parts)) && !typed(message).is_empty()
}

/// Returns the number of the last message, without rules that a client repeats at the end.
fn last_said(conversation: &Conversation) -> usize {
    conversation.messages.iter().rposition(|message| message.role != Role::System).unwrap_or_default()
}

/// Returns the words that were typed: the last text of a message, without what clients put in.
fn typed(message: &Message) -> String {
    let last = message.parts.iter().rev().find_map(|part| match part {
        Part::Text(text) => Some(proxy::typed(text)).filter(|text| !text.is_empty()),
        _ => None,
    });
    last.unwrap_or_default()
}

/// Returns a prompt without the paragraphs at its end that repeat the system text, as aider reminds of its rules.
fn without_rules(prompt: String, conversation: &Conversation) -> String {
    let Some(system) = conversation.system.as_deref() else { return prompt };
    let mut paragraphs: Vec<&str> = prompt.split("\n\n").collect();
    while paragraphs.len() > 1 && paragraphs.last().is_some_and(|last| system.contains(last.trim())) {
        paragraphs.pop();
    }
    paragraphs.join("\n\n")
}

/// Returns whether hooks give this conversation memories: then the proxy gives no more.
fn has_hooks(conversation: &Conversation) -> bool {
    let mark = format!("<{RECALLED_MARK}");
    let is_marked = |part: &Part| matches!(part, Part::Text(text) if text.contains(&mark));
    let by_user = conversation.messages.iter().filter(|message| message.role == Role::User);
    by_user.flat_map(|message| &message.parts).any(is_marked)
        || conversation.system.as_deref().is_some_and(|system| system.contains(&mark))
}

/// Returns whether an agent asks for itself, such as for a title: without the rules that its conversations begin with.
fn is_errand(asked: &Asked, client: &Client, conversation: &Conversation) -> bool {
    let is_alone = conversation.messages.iter().filter(|message| message.role != Role::System).count() == 1;
    // Rules of agents that an address has to name are short.
    client.agent.is_some()
        && asked.route.agent.is_none()
        && is_alone
        && conversation.system.as_deref().map_or(0, str::len) < RULES
}

/// Where memories are given: the directory, its session, and what may be given there.
struct Decider {
    engine: Arc<Engine>,
    inject: Inject,
    reads_shared: bool,
    directory: String,
    session: String,
}

impl Decider {
    /// Takes what the repository shares, if that changed.
    fn take_shared(&self) {
        let data = self.engine.directory();
        if self.reads_shared
            && let Some(due) = refresh::due(data, Path::new(&self.directory))
        {
            // It stays due if that fails.
            let _ = refresh::take(due, data, Instant::now() + refresh::PATIENCE, |request| {
                self.engine.take_shared(&request).map_err(io::Error::other)
            });
        }
    }

    /// Returns what is given at the last prompt. The text is what a hook would give there.
    fn at_prompt(&self, prompt: &str, known: &[ItemId], is_later: bool, was_given: bool) -> Injection {
        self.take_shared();
        let (here, session) = (Some(names_of(&self.directory)), Some(self.session.clone()));
        let occasion = match (is_later, was_given) {
            (false, _) if goes_on(prompt) => Occasion::GoOn,
            (_, true) => Occasion::LaterPrompt,
            (_, false) => Occasion::FirstPrompt,
        };
        let allowance = occasion.allowance(&self.inject);
        if allowance.tokens == 0 {
            return Injection::default();
        }
        if occasion == Occasion::GoOn {
            let request = BriefRequest { here, session, is_compacted: false };
            let brief = self.engine.brief(&request).unwrap_or_default();
            return text::going_on(&brief, known, allowance.tokens);
        }
        let trigger = Trigger::Prompt(prompt.to_owned());
        let request = SuggestRequest {
            here,
            session,
            given: known.to_vec(),
            is_later: occasion == Occasion::LaterPrompt,
            ..suggest_request(trigger.clone(), allowance)
        };
        match self.engine.suggest(&request) {
            Ok(suggestions) => text::suggestions(&suggestions, &trigger, allowance.tokens),
            Err(_) => Injection::default(),
        }
    }

    /// Returns the block of the system text: what holds in the project.
    fn brief(&self) -> Injection {
        self.take_shared();
        let request =
            BriefRequest { here: Some(names_of(&self.directory)), session: Some(self.session.clone()), is_compacted: false };
        let brief = self.engine.brief(&request).unwrap_or_default();
        text::brief(&brief, Occasion::Beginning.allowance(&self.inject).tokens)
    }
}

impl Memory for ProxyMemory {
    fn wants(&self, asked: &Asked) -> Wants {
        let is_maybe = self.is_wanted(asked, asked.route.directory.as_deref()) || !self.config.proxy.inject_projects.is_empty();
        let additions = self.config.inject.enabled && is_maybe && asked.route.memory != Some(false);
        Wants { additions, exchange: self.config.proxy.capture || additions }
    }

    fn additions(&self, asked: &Asked, conversation: &Conversation) -> Vec<Addition> {
        let began = Instant::now();
        let client = self.client(asked, conversation);
        let Some(directory) = client.directory.as_deref().filter(|directory| self.is_wanted(asked, Some(directory))) else {
            return Vec::new();
        };
        let Some(inject) = self.inject_in(directory) else { return Vec::new() };
        if is_errand(asked, &client, conversation) {
            return Vec::new();
        }
        let is_decided = !has_hooks(conversation);
        let at = now();
        let chains = self.chains(asked, &client, conversation);
        // A conversation that begins as one of yesterday is another one.
        let is_begun = conversation.messages.iter().any(|message| message.role == Role::Assistant);
        let fresh = |given: &Given| is_begun || at - given.at < BEGINNING_MS;
        let mut additions = Vec::new();
        let mut known: Vec<ItemId> = Vec::new();
        let mut was_given = false;
        let last = last_said(conversation);
        let decider = LazyCell::new(|| {
            let session = capture::place_of(asked, conversation, &client, &self.ledger, &self.digests, at).session;
            let (engine, directory) = (Arc::clone(&self.engine), directory.to_owned());
            Arc::new(Decider { engine, inject, reads_shared: self.config.share.read, directory, session })
        });
        for (at_chain, (number, chain)) in chains.iter().enumerate() {
            let may_decide = is_decided && *number == last;
            if at_chain == 0 && self.config.proxy.brief {
                let key = self.system_key(chain);
                let block = match self.ledger.given(&key, at).filter(fresh) {
                    Some(given) => Some(given),
                    None if may_decide => {
                        let decider = Arc::clone(&decider);
                        Some(self.decide(key, began, move || decider.brief()))
                    }
                    None => None,
                };
                if let Some(given) = block.filter(|given| !given.text.is_empty()) {
                    known.extend(given.items.iter().filter_map(|id| ItemId::parse(id)));
                    additions.push(Addition { place: Place::System, text: given.text });
                }
            }
            let given = match self.ledger.given(chain, at).filter(fresh) {
                Some(given) => given,
                // An earlier prompt that got nothing gets nothing: the text before it stands in the provider's cache.
                None if !may_decide => continue,
                None => {
                    let prompt = without_rules(typed(&conversation.messages[*number]), conversation);
                    let (decider, known) = (Arc::clone(&decider), known.clone());
                    let injection = move || decider.at_prompt(&prompt, &known, at_chain > 0, was_given);
                    self.decide(chain.clone(), began, injection)
                }
            };
            if !given.text.is_empty() {
                was_given = true;
                known.extend(given.items.iter().filter_map(|id| ItemId::parse(id)));
                additions.push(Addition { place: Place::Message(*number), text: given.text });
            }
        }
        additions
    }

    fn exchanged(&self, exchanges: Vec<Exchange>) {
        // Nothing is archived twice, and nothing that may not be: the rules are those of now.
        let is_captured = self.config.proxy.capture && self.settings.own_config().is_ok_and(|config| config.capture.enabled);
        let request = if is_captured { request(Vec::new(), &self.settings).ok() } else { None };
        let parts: Vec<_> = exchanges.into_iter().filter_map(|exchange| self.seen(exchange, request.is_some())).collect();
        let Some(request) = request.filter(|_| !parts.is_empty()) else { return };
        let (mut units, mut noted) = (Vec::new(), Vec::new());
        for NewPart { unit, noted: keys } in parts {
            units.extend(unit);
            noted.extend(keys);
        }
        let failure = match self.engine.put_documents(KIND, units, &request) {
            Ok(report) if report.files_busy > 0 => Some("another process reads the same session".to_owned()),
            Ok(report) => report.unread().next().map(|(_, reason)| reason.clone()),
            Err(error) => Some(error.to_string()),
        };
        match failure {
            // Without the rows, messages are archived twice after the next start.
            None => drop(self.ledger.keep(&noted)),
            Some(reason) => {
                // The next request of a conversation has its messages again.
                self.ledger.take_back(&noted);
                self.account.archive_failed(&reason);
            }
        }
    }
}

impl ProxyMemory {
    /// Books an exchange, and returns what of it is to be archived, if anything may be.
    fn seen(&self, exchange: Exchange, is_captured: bool) -> Option<NewPart> {
        let Exchange { asked, conversation, added, answer, began, answered_after, ended_after, .. } = exchange;
        let client = self.client(&asked, &conversation);
        let began = began.duration_since(UNIX_EPOCH).map_or_else(|_| now(), |since| since.as_millis() as UtcMillis);
        let ended = began + ended_after.as_millis() as UtcMillis;
        let is_asked = client.directory.as_deref().is_some_and(|directory| self.is_wanted(&asked, Some(directory)));
        if is_asked && !has_hooks(&conversation) && !is_errand(&asked, &client, &conversation) {
            self.withdraw(&asked, &client, &conversation, &added);
        }
        let answer = answer?;
        let place = capture::place_of(&asked, &conversation, &client, &self.ledger, &self.digests, began);
        self.account.book(&place.session, &asked, &added, &answer, |model| {
            price_of(&format!("{}/{model}", asked.route.upstream), &self.config).map(|price| price.input)
        });
        let is_new = |given: &Given| given.at >= began && added.iter().any(|addition| addition.text == given.text);
        for (_, chain) in self.chains(&asked, &client, &conversation) {
            if let Some(given) = self.ledger.given(&chain, ended).filter(is_new) {
                self.receipt(&place.session, &client, &given, answered_after.as_micros() as u64);
            }
        }
        if !is_captured || self.has_history(&client) {
            return None;
        }
        let exchanged = Exchanged { conversation: &conversation, answer: &answer, client: &client, began, ended };
        Some(capture::new_part(&exchanged, &place, &self.ledger, &self.digests))
    }
}
