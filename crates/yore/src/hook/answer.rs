//! Answers a hook: asks the daemon or the passive store for a brief or suggestions, and cuts them to the budget.
//!
//! - [`Wanted`]: the questions that an event asks (`agents`), and their answers
//! - `command`: what is known against a command

mod command;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use yore_core::query::ItemId;
use yore_core::relevance::{SkipReason, TriggerKind};
use yore_engine::ingest::{ledger_key, name_redactor};
use yore_engine::{Brief, BriefRequest, Engine, EngineOptions, ModelServers, StoreOptions, SuggestRequest, Suggestions, Trigger};
use yore_sources::project_names::names_of;
use yore_sources::redact::RedactionCounts;

use crate::agents::{AgentEvent, AgentProfile, Beginning, DOCTOR, Moment, Output, Question};
use crate::config::Config;
use crate::engine_handle::now;
use crate::inject::budget::{Injection, tokens};
use crate::inject::learning::{self, Waiting};
use crate::inject::ledger::{self, Entry, digest};
use crate::inject::plan::{Allowance, Occasion};
use crate::inject::question::suggest_request;
use crate::inject::text;
use crate::ipc::client::{Client, NoAnswer};
use crate::shared::refresh;
use crate::spool::{self, Event};
use crate::verbs::Verb;

/// Time in which the daemon must answer; the rest of the deadline is for reading the store.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same when a session begins: the daemon may still be reading the previous session.
const BRIEF_PATIENCE: Duration = Duration::from_millis(1_500);
/// Part of that time for which another hook of the same session is waited for. After it the hook answers
/// anyway: repeated text does less harm than text that comes too late.
const LOCK_PATIENCE: Duration = Duration::from_millis(200);
/// The same when a session begins.
const BRIEF_LOCK_PATIENCE: Duration = Duration::from_millis(700);
/// Time in which what a repository shares must be taken.
const SHARED_PATIENCE: Duration = Duration::from_millis(250);
/// Longest wait for a writer when the store is read.
const BUSY: Duration = Duration::from_millis(200);
/// Bytes of a transcript from which the work counts as a piece of work, however few its prompts.
const LONG_TRANSCRIPT: u64 = 60_000;
/// The occasion by which it is drawn whether a whole session is held out.
const WHOLE_SESSION: &str = "session";
/// Two hooks for one event are called within this time, in milliseconds.
const AT_ONCE_MS: i64 = 10_000;

/// The questions that an event asks, with all that is needed to answer them.
pub(super) struct Wanted {
    questions: Vec<Question>,
    output: Output,
    event: Event,
    /// Id of the side conversation that the event comes from, if any.
    agent_id: Option<String>,
    /// The settings that hold in the directory of the event.
    config: Config,
    directory: PathBuf,
    client: Option<Client>,
    /// Time at which the answer was begun.
    began: Instant,
}

impl Wanted {
    /// Returns the questions of this event, if it may be answered. `said` is the agent's input.
    pub(super) fn of(
        profile: &'static AgentProfile,
        event: Event,
        agent_id: Option<String>,
        said: &[u8],
        config: &Config,
        directory: PathBuf,
        client: Option<Client>,
    ) -> Option<Self> {
        let output = profile.output?;
        let version = profile.version_variable.and_then(|variable| std::env::var(variable).ok());
        let asked = AgentEvent::new(profile, agent_id.as_deref(), version.as_deref(), said).questions(&event.event);
        let questions = asked.into_iter().filter_map(|question| {
            let occasion = Occasion::of(&question, false, false);
            let is_silent = occasion.is_none_or(|occasion| occasion.allowance(&config.inject).tokens == 0);
            match question {
                Question::Distil => config.learn.in_session.then_some(Question::Distil),
                // Nothing may be injected, but the reset of the session must still be recorded.
                question if is_silent && question.is_reset() => Some(Question::Forgets),
                _ if is_silent => None,
                question => Some(question),
            }
        });
        let questions: Vec<Question> = questions.collect();
        let began = Instant::now();
        (!questions.is_empty()).then(|| Self {
            questions,
            output,
            event,
            agent_id,
            config: config.clone(),
            directory,
            client,
            began,
        })
    }

    /// Returns whether the event begins a session, so that the user is not typing yet.
    pub(super) fn is_brief(&self) -> bool {
        let is_start = |question: &Question| {
            matches!(question, Question::Brief(Beginning { moment: Moment::Start | Moment::EachStart, .. }))
        };
        self.questions.iter().any(is_start)
    }

    /// Returns the output for an answer without text.
    pub(super) fn silent_output(&self) -> Option<String> {
        let is_answered = self.questions.iter().any(|question| *question != Question::Forgets);
        self.output.silence().filter(|_| is_answered)
    }

    /// Returns the output; `None` if there is nothing to say. The answer is recorded in the ledger first.
    pub(super) fn answer(mut self) -> Option<String> {
        self.began = Instant::now();
        let session = self.event.session_id.clone().filter(|session| session != DOCTOR);
        let patience = if self.is_brief() { BRIEF_LOCK_PATIENCE } else { LOCK_PATIENCE };
        let _turn = session.as_ref().map(|session| ledger::lock(&self.directory, session, patience));
        let mut past = session.as_ref().map(|session| ledger::read(&self.directory, session)).unwrap_or_default();
        let known_before = past.len();
        let key = ledger_key(&self.directory).ok().flatten();
        let mut texts: Vec<String> = Vec::new();
        for question in std::mem::take(&mut self.questions) {
            let about = about(&question, key.as_ref());
            let told = texts.len();
            let mut entries = match &question {
                Question::Command(ran) => self.warned(ran, key.as_ref(), &past, &mut texts),
                question => self.one(question, about, &past, &mut texts),
            };
            if texts.len() > told && self.is_held_out(&question, key.as_ref(), &past) {
                texts.truncate(told);
                entries.iter_mut().for_each(Entry::hold_out);
            }
            for entry in entries {
                let is_noted = session.as_ref().is_some_and(|session| ledger::append(&self.directory, session, &entry).is_ok());
                // If the ledger cannot be written, an answer is given all the same, but the agent would be asked again each time.
                if question == Question::Distil && !is_noted {
                    texts.clear();
                }
                past.push(entry);
            }
            if question == Question::Distil {
                return texts.pop().map(|text| Output::one_more_turn(&text));
            }
            // For the files of one call, the first file with an answer is enough.
            if matches!(question, Question::File(_)) && !texts.is_empty() {
                break;
            }
        }
        self.count_given(&past[known_before..]);
        (!texts.is_empty()).then(|| self.output.text(&self.event.event, &texts.join("\n\n")))
    }

    /// Has the memories counted that these entries of the ledger gave; without a daemon, when the next one starts.
    fn count_given(&mut self, entries: &[Entry]) {
        let ids = entries.iter().flat_map(|entry| &entry.turns);
        let given: Vec<String> = ids.filter(|id| ItemId::parse(id).is_some_and(|id| id.memory().is_some())).cloned().collect();
        if given.is_empty() || self.event.session_id.as_deref() == Some(DOCTOR) {
            return;
        }
        let event = Event { transcript_path: None, given, at_ms: now(), ..self.event.clone() };
        let is_told = self.client.as_mut().is_some_and(|client| client.tell(&event));
        if !is_told {
            // Counts are no reason to withhold an answer.
            let _ = spool::write(&self.directory, &event);
        }
    }

    /// Answers one question; returns the ledger entries for it.
    fn one(&mut self, question: &Question, about: Option<String>, past: &[Entry], texts: &mut Vec<String>) -> Vec<Entry> {
        let mut entries = Vec::new();
        let question = &after_compaction(question, past, self.agent_id.as_deref());
        if self.was_answered(question, past, about.as_deref()) || *question == Question::Distil && !self.is_distilled_now(past) {
            return entries;
        }
        let entry = self.entry(question);
        // Recorded before the memory is asked: the session is reset, whatever becomes of the brief.
        if entry.is_reset && holds_something(past, self.agent_id.as_deref()) {
            entries.push(Entry { kind: Some(TriggerKind::Forgot), ..entry.clone() });
        }
        if *question == Question::Forgets {
            return entries;
        }
        let known = if entry.is_reset { Vec::new() } else { known(past, self.agent_id.as_deref()) };
        let prompts = || held(past, self.agent_id.as_deref()).filter(|entry| entry.kind == Some(TriggerKind::Prompt));
        // The work before a compaction is meant, and no other session's.
        let was_asked = prompts().next().is_some() || past.iter().any(|entry| entry.is_reset);
        let occasion = Occasion::of(question, was_asked, prompts().any(|entry| entry.tokens > 0));
        let began = Instant::now();
        let is_compacted = past.iter().any(|entry| entry.is_reset);
        if let Some((given, skipped)) = self.given(question, occasion, &known, is_compacted) {
            let turns = given.items.iter().map(ItemId::to_string).collect();
            let micros = began.elapsed().as_micros() as u64;
            entries.push(Entry { at_ms: now(), turns, tokens: tokens(&given.text), micros, skipped, about, ..entry });
            texts.extend(Some(given.text).filter(|text| !text.is_empty()));
        }
        entries
    }

    /// Returns whether the answer to a question is withheld by chance: the person switched that on to see what comes without it.
    fn is_held_out(&self, question: &Question, key: Option<&[u8; 32]>, past: &[Entry]) -> bool {
        let (share, of_sessions) = (self.config.inject.holdout, self.config.inject.holdout_sessions);
        let (Some(key), Some(session)) = (key, self.event.session_id.as_deref().filter(|session| *session != DOCTOR)) else {
            return false;
        };
        let number = past.iter().filter(|entry| entry.kind == Some(question.kind())).count();
        let occasion = format!("{} {number}", question.kind().as_str());
        // A question to the agent is no memory.
        *question != Question::Distil
            && (share > 0.0 && ledger::is_held_out(key, session, &occasion, share)
                || of_sessions > 0.0 && ledger::is_held_out(key, session, WHOLE_SESSION, of_sessions))
    }

    /// Returns an entry of the ledger for a question, without an answer.
    fn entry(&self, question: &Question) -> Entry {
        Entry {
            at_ms: now(),
            agent: self.event.agent.clone(),
            agent_id: self.agent_id.clone(),
            event: self.event.event.clone(),
            kind: Some(question.kind()),
            directory: self.recorded_directory(),
            is_reset: question.is_reset(),
            ..Entry::default()
        }
    }

    /// Returns whether the agent is asked now to record what it learned: once a session, after a piece of work.
    fn is_distilled_now(&self, past: &[Entry]) -> bool {
        let is = |kind: TriggerKind| move |entry: &&Entry| entry.kind == Some(kind);
        let prompts = past.iter().filter(is(TriggerKind::Prompt)).count();
        let length =
            || self.event.transcript_path.as_ref().and_then(|path| std::fs::metadata(path).ok()).map_or(0, |file| file.len());
        let is_work = prompts >= self.config.learn.in_session_prompts as usize || length() >= LONG_TRANSCRIPT;
        is_work && self.event.session_id.is_some() && !past.iter().any(|entry| entry.kind == Some(TriggerKind::Distil))
    }

    /// Returns the session's directory for the ledger, redacted like everything in the store.
    fn recorded_directory(&self) -> Option<String> {
        let cwd = self.event.cwd.as_ref()?;
        let redactor = name_redactor(&self.directory).ok()?;
        Some(redactor.text(cwd, &mut RedactionCounts::default()).unwrap_or_else(|| cwd.clone()))
    }

    /// Returns whether another hook answered this question just now, or the session still holds the answer.
    fn was_answered(&self, question: &Question, past: &[Entry], about: Option<&str>) -> bool {
        let at_once = now() - AT_ONCE_MS;
        let is_reset = question.is_reset();
        if about.is_none() && !matches!(question, Question::Brief(_)) {
            return false;
        }
        held(past, self.agent_id.as_deref()).any(|entry| {
            // Compared by kind: another agent's hooks may report the same event under another name.
            let is_same = entry.kind == Some(question.kind()) && entry.about.as_deref() == about;
            // A session may be compacted soon after it began.
            let is_at_once = entry.at_ms > at_once && entry.is_reset == is_reset;
            let is_lasting = entry.tokens > 0 || !entry.skipped.is_some_and(SkipReason::is_passing);
            let is_known = match question {
                // A resumed session still holds the text that it got when it began.
                Question::Brief(Beginning { is_reset, moment: Moment::Start, .. }) => !is_reset && entry.tokens > 0,
                Question::Brief(Beginning { moment: Moment::EachStart, .. }) => false,
                // Otherwise each prompt would ask again.
                Question::Brief(Beginning { moment: Moment::FirstPrompt | Moment::SubAgent, .. }) => is_lasting,
                Question::File(_) | Question::Failure(_) => is_lasting,
                Question::Prompt(_) | Question::Command(_) | Question::Distil | Question::Forgets => false,
            };
            is_same && (is_at_once || is_known)
        })
    }

    /// Returns the text for a question, and the reason if it is empty.
    fn given(
        &mut self,
        question: &Question,
        occasion: Option<Occasion>,
        known: &[ItemId],
        is_compacted: bool,
    ) -> Option<(Injection, Option<SkipReason>)> {
        let allowance = occasion.map(|occasion| occasion.allowance(&self.config.inject));
        let Allowance { tokens: budget, items, floor } = allowance.unwrap_or_default();
        if matches!(question, Question::Brief(_) | Question::Prompt(_)) {
            self.take_shared();
        }
        let here = self.event.cwd.as_deref().map(names_of);
        let session = self.event.session_id.clone();
        let trigger = match question {
            Question::Brief(beginning) => {
                let request = BriefRequest { here, session, is_compacted: beginning.is_compacted };
                let mut brief = self.brief(&request, beginning.moment)?;
                if beginning.moment == Moment::SubAgent {
                    brief =
                        Brief { project: brief.project, standing: brief.standing, failing: brief.failing, ..Brief::default() };
                }
                let waiting = Waiting::of(brief.waiting, &self.config, &self.directory);
                let shared = self.event.cwd.as_deref().map(|cwd| refresh::unaccepted(&self.directory, Path::new(cwd)));
                let given = text::brief_with(&brief, budget, waiting, &shared.unwrap_or_default());
                if waiting == Waiting::Offered && given.text.contains(&text::offered(brief.waiting)) {
                    learning::note_told(&self.directory);
                }
                let skipped = given.text.is_empty().then_some(SkipReason::Nothing);
                return Some((given, skipped));
            }
            Question::Prompt(_) if occasion == Some(Occasion::GoOn) => {
                let brief = self.brief(&BriefRequest { here, session, is_compacted: false }, Moment::FirstPrompt)?;
                let given = text::going_on(&brief, known, budget);
                let skipped = given.text.is_empty().then_some(SkipReason::Known);
                return Some((given, skipped));
            }
            Question::Prompt(prompt) => Trigger::Prompt(prompt.clone()),
            Question::File(path) => Trigger::Edit(path.clone()),
            Question::Failure(output) => Trigger::Failure(output.clone()),
            Question::Distil => {
                let text = session.as_deref().map(text::distil).unwrap_or_default();
                return Some((Injection { text, ..Injection::default() }, None));
            }
            Question::Command(_) | Question::Forgets => return None,
        };
        let suggestions = self.suggest(SuggestRequest {
            here,
            session,
            given: known.to_vec(),
            is_later: occasion == Some(Occasion::LaterPrompt),
            is_compacted,
            ..suggest_request(trigger.clone(), Allowance { tokens: budget, items, floor })
        })?;
        let given = text::suggestions(&suggestions, &trigger, budget);
        let skipped = if given.text.is_empty() { suggestions.skipped.or(Some(SkipReason::Budget)) } else { None };
        Some((given, skipped))
    }

    fn brief(&mut self, request: &BriefRequest, moment: Moment) -> Option<Brief> {
        let is_start = matches!(moment, Moment::Start | Moment::EachStart);
        let patience = self.left_of(if is_start { BRIEF_PATIENCE } else { PATIENCE });
        if let Some(client) = &mut self.client {
            match client.ask(&Verb::brief { request: request.clone() }, patience) {
                Ok(brief) => return Some(brief),
                Err(NoAnswer::Refused(_)) => return None,
                Err(NoAnswer::Unavailable { .. }) => self.client = None,
            }
        }
        self.passive()?.brief(request).ok()
    }

    fn suggest(&mut self, request: SuggestRequest) -> Option<Suggestions> {
        let patience = self.left_of(PATIENCE);
        if let Some(client) = &mut self.client {
            match client.ask(&Verb::suggest { request: request.clone() }, patience) {
                Ok(suggestions) => return Some(suggestions),
                Err(NoAnswer::Refused(_)) => return None,
                Err(NoAnswer::Unavailable { .. }) => self.client = None,
            }
        }
        self.passive()?.suggest(&request).ok()
    }

    /// Has the daemon take what the repository shares, if that changed. Too late an answer is for the next event.
    fn take_shared(&mut self) {
        let Some(cwd) = self.event.cwd.clone().filter(|_| self.config.share.read) else { return };
        let Some(due) = refresh::due(&self.directory, Path::new(&cwd)) else { return };
        let (until, patience) = (Instant::now() + SHARED_PATIENCE, self.left_of(SHARED_PATIENCE));
        let Some(client) = &mut self.client else { return };
        let mut is_late = false;
        // It stays due if git or the daemon fails.
        let _ = refresh::take(due, &self.directory, until, |request| {
            client.ask(&Verb::take_shared { request }, patience).map_err(|_| {
                is_late = true;
                io::Error::from(io::ErrorKind::TimedOut)
            })
        });
        if is_late {
            // The connection may hold a late answer.
            self.client = None;
        }
    }

    /// Returns what is left of `patience`. Time spent waiting for another hook counts.
    fn left_of(&self, patience: Duration) -> Duration {
        patience.saturating_sub(self.began.elapsed())
    }

    /// Opens the store as it is: no upgrade, no new index, no model.
    fn passive(&self) -> Option<Engine> {
        Engine::open(EngineOptions {
            directory: self.directory.clone(),
            create: false,
            store: StoreOptions { busy_timeout: BUSY, is_passive: true, ..StoreOptions::default() },
            // An invalid pattern makes the opening fail, so that nothing is injected.
            redaction_patterns: self.config.redaction.extra_patterns.clone(),
            model: None,
            reranker: None,
            servers: ModelServers::default(),
            model_threads: 1,
            now,
            dynamics: self.config.dynamics.constants(),
        })
        .ok()
    }
}

/// Returns a digest of a question's subject, so that it is not answered twice; `None` without a key.
fn about(question: &Question, key: Option<&[u8; 32]>) -> Option<String> {
    match question {
        // A line about a command is known by its cause.
        Question::Brief(_) | Question::Command(_) | Question::Distil | Question::Forgets => None,
        Question::Prompt(text) | Question::File(text) | Question::Failure(text) => Some(digest(key?, text)),
    }
}

/// Returns the entries whose text the session still holds; each side conversation is separate.
fn held<'p>(past: &'p [Entry], agent_id: Option<&'p str>) -> impl Iterator<Item = &'p Entry> {
    let is_own = move |entry: &&Entry| entry.agent_id.as_deref() == agent_id;
    let since = past.iter().rposition(|entry| entry.is_reset && is_own(&entry)).unwrap_or(0);
    past[since..].iter().filter(is_own)
}

/// Returns the turns and memories that the session was given and still holds.
fn known(past: &[Entry], agent_id: Option<&str>) -> Vec<ItemId> {
    held(past, agent_id).flat_map(|entry| &entry.turns).filter_map(|id| ItemId::parse(id)).collect()
}

/// Makes a brief also cover the session itself if its last entry is a compaction.
fn after_compaction(question: &Question, past: &[Entry], agent_id: Option<&str>) -> Question {
    let last = past.iter().rfind(|entry| entry.agent_id.as_deref() == agent_id);
    let was_compacted =
        last.is_some_and(|entry| entry.kind == Some(TriggerKind::Forgot) && entry.event.to_ascii_lowercase().contains("compact"));
    match question {
        Question::Brief(beginning) if was_compacted && beginning.moment != Moment::SubAgent => {
            Question::Brief(Beginning { is_compacted: true, ..*beginning })
        }
        other => other.clone(),
    }
}

/// Returns whether the session holds anything that a reset would remove.
fn holds_something(past: &[Entry], agent_id: Option<&str>) -> bool {
    held(past, agent_id).any(|entry| entry.kind != Some(TriggerKind::Forgot))
}

#[cfg(test)]
mod tests {
    use yore_core::id::TurnId;

    use super::*;
    use crate::config::Inject;

    fn named(name: &str) -> &'static AgentProfile {
        crate::agents::named(name).unwrap()
    }

    const KEY: [u8; 32] = [7; 32];

    fn entry(kind: TriggerKind, about: Option<&str>, at_ms: i64, tokens: usize, is_reset: bool) -> Entry {
        Entry { kind: Some(kind), about: about.map(|text| digest(&KEY, text)), at_ms, tokens, is_reset, ..Entry::default() }
    }

    fn wanted() -> Wanted {
        Wanted {
            questions: Vec::new(),
            output: Output::Plain,
            event: Event::default(),
            agent_id: None,
            config: Config::default(),
            directory: PathBuf::new(),
            client: None,
            began: Instant::now(),
        }
    }

    fn beginning(moment: Moment, is_reset: bool) -> Question {
        Question::Brief(Beginning { is_compacted: is_reset, is_reset, moment })
    }

    fn is_answered(question: &Question, past: &[Entry]) -> bool {
        wanted().was_answered(question, past, about(question, Some(&KEY)).as_deref())
    }

    #[test]
    fn nothing_is_answered_twice_until_the_session_forgets() {
        let file = Question::File("/a".to_owned());
        assert!(!is_answered(&file, &[]));
        assert!(is_answered(&file, &[entry(TriggerKind::Edit, Some("/a"), 5, 0, false)]));
        assert!(!is_answered(&file, &[entry(TriggerKind::Edit, Some("/b"), 5, 0, false)]));
        let past = [entry(TriggerKind::Edit, Some("/a"), 5, 9, false), entry(TriggerKind::Brief, None, 6, 9, true)];
        assert!(!is_answered(&file, &past), "it was compacted since");
        let unknown = Entry { kind: Some(TriggerKind::Edit), tokens: 9, ..Entry::default() };
        assert!(!wanted().was_answered(&file, &[unknown], None), "without a key nothing is the same");
        let prompt = Question::Prompt("why?".to_owned());
        assert!(!is_answered(&prompt, &[entry(TriggerKind::Prompt, Some("why?"), 5, 9, false)]), "asked again later");
        assert!(is_answered(&prompt, &[entry(TriggerKind::Prompt, Some("why?"), now(), 9, false)]), "asked by two hooks");
        let start = beginning(Moment::Start, false);
        assert!(is_answered(&start, &[entry(TriggerKind::Brief, None, 5, 9, false)]), "resumed");
        let compacted = beginning(Moment::Start, true);
        assert!(!is_answered(&compacted, &[entry(TriggerKind::Brief, None, 5, 9, false)]));
        assert!(!is_answered(&compacted, &[entry(TriggerKind::Brief, None, now(), 9, false)]), "soon after it began");
        assert!(is_answered(&compacted, &[entry(TriggerKind::Brief, None, now(), 9, true)]), "by two hooks");
        let past = [entry(TriggerKind::Prompt, Some("why?"), now(), 9, false), entry(TriggerKind::Brief, None, now(), 9, true)];
        assert!(!is_answered(&prompt, &past), "asked again after it was compacted");
    }

    #[test]
    fn brief_that_rides_on_a_prompt_is_asked_for_once_even_where_it_is_empty() {
        let empty = Entry { skipped: Some(SkipReason::Nothing), ..entry(TriggerKind::Brief, None, 5, 0, false) };
        let behind = Entry { skipped: Some(SkipReason::IndexBehind), ..empty.clone() };
        for moment in [Moment::FirstPrompt, Moment::SubAgent] {
            let question = beginning(moment, false);
            assert!(is_answered(&question, std::slice::from_ref(&empty)), "{moment:?}");
            assert!(!is_answered(&question, std::slice::from_ref(&behind)), "{moment:?}");
        }
        let told = entry(TriggerKind::Brief, None, 5, 9, false);
        assert!(!is_answered(&beginning(Moment::Start, false), &[empty]));
        assert!(!is_answered(&beginning(Moment::EachStart, false), &[told]), "the agent has not kept it");
        assert!(
            is_answered(&beginning(Moment::EachStart, false), &[entry(TriggerKind::Brief, None, now(), 9, false)]),
            "by two hooks"
        );
    }

    #[test]
    fn what_was_given_before_a_reset_is_not_known() {
        let turn = ItemId::Turn(TurnId::derive("a", "b", "c", 0));
        let given = Entry { turns: vec![turn.to_string()], ..Entry::default() };
        assert_eq!(known(std::slice::from_ref(&given), None), [turn]);
        assert_eq!(known(&[given, entry(TriggerKind::Brief, None, 6, 9, true)], None), []);
    }

    #[test]
    fn side_conversations_know_what_they_were_told_themselves() {
        let [turn, other] = [0, 1].map(|ordinal| ItemId::Turn(TurnId::derive("a", "b", "c", ordinal)));
        let of = |agent_id: Option<&str>, entry: Entry| Entry { agent_id: agent_id.map(str::to_owned), ..entry };
        let past = [
            of(None, Entry { turns: vec![turn.to_string()], ..entry(TriggerKind::Edit, Some("/a"), 5, 9, false) }),
            of(Some("a1"), Entry { turns: vec![other.to_string()], ..entry(TriggerKind::Prompt, Some("why?"), 6, 9, false) }),
            of(Some("a1"), entry(TriggerKind::Forgot, None, 7, 0, true)),
        ];
        assert_eq!(known(&past[..2], None), [turn]);
        assert_eq!(known(&past[..2], Some("a1")), [other]);
        assert_eq!(known(&past, Some("a1")), []);
        assert_eq!(known(&past, None), [turn], "the session forgot nothing");
        let file = Question::File("/a".to_owned());
        let about = about(&file, Some(&KEY));
        assert!(wanted().was_answered(&file, &past, about.as_deref()));
        let side = Wanted { agent_id: Some("a1".to_owned()), ..wanted() };
        assert!(!side.was_answered(&file, &past, about.as_deref()));
    }

    #[test]
    fn what_could_not_be_told_yet_is_asked_again() {
        let silent = |reason| Entry { skipped: Some(reason), ..entry(TriggerKind::Edit, Some("/a"), 5, 0, false) };
        let reasons = [
            (SkipReason::IndexBehind, false),
            (SkipReason::ProjectUnknown, false),
            (SkipReason::Nothing, true),
            (SkipReason::Budget, true),
        ];
        for (reason, is_known) in reasons {
            assert_eq!(is_answered(&Question::File("/a".to_owned()), &[silent(reason)]), is_known, "{reason:?}");
        }
    }

    #[test]
    fn brief_is_told_once_whatever_its_event_is_called() {
        let directory = tempfile::tempdir().unwrap();
        let begin = |agent: &str, event: &str| {
            let event =
                Event { agent: agent.to_owned(), event: event.to_owned(), session_id: Some("s".to_owned()), ..Event::default() };
            Wanted::of(named(agent), event, None, b"{}", &Config::default(), directory.path().to_owned(), None).unwrap()
        };
        let told = [entry(TriggerKind::Brief, None, 5, 9, false)];
        for (agent, event) in [("cursor", "sessionStart"), ("claude-code", "SessionStart"), ("cline", "TaskResume")] {
            let wanted = begin(agent, event);
            assert!(wanted.was_answered(&wanted.questions[0], &told, None), "{agent} {event}");
        }
    }

    #[test]
    fn session_that_was_compacted_in_another_process_is_told_of_itself() {
        let brief = |is_compacted| Question::Brief(Beginning { is_compacted, ..Beginning::default() });
        let forgot =
            Entry { event: "session.compacted".to_owned(), is_reset: true, ..entry(TriggerKind::Forgot, None, 0, 1, true) };
        let cleared = Entry { event: "SessionStart".to_owned(), ..forgot.clone() };
        let past = [cleared, forgot, entry(TriggerKind::Brief, None, 9, 2, false)];
        assert_eq!(after_compaction(&brief(false), &past[..2], None), brief(true));
        assert_eq!(after_compaction(&brief(false), &past[..2], Some("a1")), brief(false), "another conversation");
        assert_eq!(after_compaction(&brief(false), &past[..1], None), brief(false), "it was cleared");
        assert_eq!(after_compaction(&brief(false), &past, None), brief(false), "it was told");
    }

    #[test]
    fn session_forgets_whatever_becomes_of_the_brief() {
        let off = Config { inject: Inject { brief_tokens: 0, ..Inject::default() }, ..Config::default() };
        let on = Config::default();
        let compact = r#"{"source":"compact"}"#;
        let no_memory = |agent: &str, event: &str, agent_id: Option<&str>, said: &str, config: &Config| -> Vec<ItemId> {
            let directory = tempfile::tempdir().unwrap();
            let agent_id = agent_id.map(str::to_owned);
            let turns = vec![TurnId::derive("a", "b", "c", 0).to_string()];
            let given = Entry { turns, agent_id: agent_id.clone(), ..entry(TriggerKind::Prompt, None, 5, 9, false) };
            ledger::append(directory.path(), "s", &given).unwrap();
            let event =
                Event { agent: agent.to_owned(), event: event.to_owned(), session_id: Some("s".to_owned()), ..Event::default() };
            let wanted =
                Wanted::of(named(agent), event, agent_id.clone(), said.as_bytes(), config, directory.path().to_owned(), None);
            assert_eq!(wanted.and_then(Wanted::answer), None);
            known(&ledger::read(directory.path(), "s"), agent_id.as_deref())
        };
        assert_eq!(no_memory("claude-code", "SessionStart", None, compact, &off), [], "there is no brief");
        assert_eq!(no_memory("claude-code", "SessionStart", None, compact, &on), [], "the brief fails");
        assert_eq!(no_memory("claude-code", "SessionStart", None, "{}", &off).len(), 1);
        assert_eq!(no_memory("claude-code", "PreCompact", None, "{}", &on).len(), 1, "it begins anew");
        assert_eq!(no_memory("claude-code", "PreCompact", Some("a1"), "{}", &on), [], "it does not");
        for (agent, event) in [("qwen", "PreCompact"), ("cline", "PreCompact"), ("cursor", "preCompact")] {
            assert_eq!(no_memory(agent, event, None, "{}", &on), [], "{agent}");
        }
        for (agent, event) in [("gemini", "PreCompress"), ("codex", "PreCompact")] {
            assert_eq!(no_memory(agent, event, None, "{}", &on).len(), 1, "{agent} begins anew, or only looks");
        }
    }
}
