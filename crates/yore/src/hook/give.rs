//! What an agent is told when one of its events may be answered, and in which form.
//!
//! - [`Wanted`]: the question that an event asks
//! - `Wish`: what kind of question
//! - `Form`: how each agent wants to be told; some refuse what they do not know, so nothing else is
//!   printed

use std::cell::LazyCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yore_core::id::TurnId;
use yore_core::query::Program;
use yore_engine::ingest::{ProjectNames, ledger_key, names_of};
use yore_engine::{Brief, BriefRequest, Engine, EngineOptions, Occasion, Offer, OfferRequest, StoreOptions};

use super::DOCTOR;
use super::agent::CLAUDE_CODE;
use super::settings::Switches;
use crate::daemon::client::{Client, NoAnswer};
use crate::daemon::wire::Request;
use crate::engine_handle::now;
use crate::give::ledger::{self, Entry, digest};
use crate::give::text::{self, Given, tokens};
use crate::spool::Event;

/// When the daemon must have answered: what is left of the deadline is for reading the store.
const PATIENCE: Duration = Duration::from_millis(500);
/// When it must have answered to a session that begins: it may be reading what the last one said.
const BRIEF_PATIENCE: Duration = Duration::from_millis(1_500);
/// Of it, how long another hook of the session is waited for. One that has waited so long answers
/// beside it: what is told twice does less harm than what comes too late.
const LOCK_PATIENCE: Duration = Duration::from_millis(200);
/// The same, of a session that begins.
const BRIEF_LOCK_PATIENCE: Duration = Duration::from_millis(700);
/// How long a writer is waited for when the store is read.
const BUSY: Duration = Duration::from_millis(200);
/// Memories that a prompt may bring.
const PROMPT_LIMIT: usize = 8;
/// Characters that are quoted of each.
const QUOTE_CHARS: usize = 300;
/// Memories that a file or an error may bring.
const FEW: usize = 3;
/// Tokens that they may take.
const FEW_TOKENS: usize = 400;
/// Two hooks that are called for one event are called within this time, milliseconds.
const AT_ONCE_MS: i64 = 10_000;

/// The question that an event asks.
pub(super) struct Wanted {
    wish: Wish,
    form: Form,
    event: Event,
    /// The side conversation that asks, if it is one.
    agent_id: Option<String>,
    budget: usize,
    floor: f32,
    /// What the person wants redacted besides.
    patterns: Vec<String>,
    directory: PathBuf,
    client: Option<Client>,
    /// When the question arose.
    began: Instant,
}

/// What kind of question.
#[derive(Clone, Debug, PartialEq)]
enum Wish {
    /// Where things stand; whether the session needs to be told of itself, and whether it forgot
    /// what it was given.
    Brief {
        is_compacted: bool,
        is_reset: bool,
    },
    Prompt(String),
    Edit(String),
    Failure(String),
    /// Nothing: the session forgets what it was given, and nothing may be told.
    Forgets,
}

impl Wish {
    /// The same for all events that ask it; as the ledger keeps it.
    fn kind(&self) -> &'static str {
        match self {
            Self::Brief { .. } => "brief",
            Self::Prompt(_) => "prompt",
            Self::Edit(_) => "edit",
            Self::Failure(_) => "failure",
            Self::Forgets => ledger::FORGOT,
        }
    }

    fn is_reset(&self) -> bool {
        matches!(self, Self::Brief { is_reset: true, .. } | Self::Forgets)
    }
}

/// How an agent wants to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `{"hookSpecificOutput": {"hookEventName", "additionalContext"}}`: Claude Code, Codex, Gemini
    /// CLI, Copilot in VS Code.
    Specific,
    /// `{"additional_context"}`: Cursor.
    Snake,
    /// `{"additionalContext"}`: Copilot CLI.
    Camel,
    /// `{"cancel", "contextModification"}`: Cline, which wants an answer in any case.
    Cline,
    /// The text: what yore's own plugins read.
    Plain,
}

impl Wanted {
    /// What this event asks, if it may be answered. `said` is what the agent said.
    pub(super) fn of(
        agent: &str,
        event: Event,
        agent_id: Option<String>,
        said: &[u8],
        switches: &Switches,
        directory: PathBuf,
        client: Option<Client>,
    ) -> Option<Self> {
        let form = form_of(agent)?;
        // Most events are not answered, and some bring whole files.
        let said = LazyCell::new(|| -> Value {
            serde_json::from_slice(said.strip_prefix(b"\xef\xbb\xbf").unwrap_or(said)).unwrap_or_default()
        });
        let wish = if forgets(&event, agent_id.as_deref()) { Wish::Forgets } else { wish_of(agent, &event.event, &said)? };
        let budget = match &wish {
            Wish::Brief { .. } => switches.brief_tokens,
            Wish::Prompt(_) => switches.prompt_tokens,
            Wish::Edit(_) if !switches.on_edit => 0,
            Wish::Failure(_) if !switches.on_error => 0,
            Wish::Edit(_) | Wish::Failure(_) => switches.prompt_tokens.min(FEW_TOKENS),
            Wish::Forgets => 0,
        };
        let is_silent = !switches.give || budget == 0;
        if is_silent && !wish.is_reset() {
            return None;
        }
        let wish = if is_silent { Wish::Forgets } else { wish };
        let (floor, patterns) = (switches.floor as f32, switches.patterns.clone());
        Some(Self { wish, form, event, agent_id, budget, floor, patterns, directory, client, began: Instant::now() })
    }

    /// Whether a session begins.
    pub(super) fn is_brief(&self) -> bool {
        matches!(self.wish, Wish::Brief { .. })
    }

    /// What is printed where there is nothing to tell.
    pub(super) fn silent_output(&self) -> Option<String> {
        (self.form == Form::Cline && self.wish != Wish::Forgets).then(|| json!({"cancel": false}).to_string())
    }

    /// What is printed; `None` where there is nothing to tell. What was given is written down first.
    pub(super) fn answer(mut self) -> Option<String> {
        self.began = Instant::now();
        let session = self.event.session_id.clone().filter(|session| session != DOCTOR);
        let patience = if self.is_brief() { BRIEF_LOCK_PATIENCE } else { LOCK_PATIENCE };
        let _turn = session.as_ref().map(|session| ledger::lock(&self.directory, session, patience));
        let past = session.as_ref().map(|session| ledger::read(&self.directory, session)).unwrap_or_default();
        let about = self.about(ledger_key(&self.directory).ok().flatten().as_ref());
        if self.was_answered(&past, about.as_deref()) {
            return None;
        }
        let entry = Entry {
            at_ms: now(),
            agent: self.event.agent.clone(),
            agent_id: self.agent_id.clone(),
            event: self.event.event.clone(),
            kind: self.wish.kind().to_owned(),
            directory: self.event.cwd.clone(),
            is_reset: self.wish.is_reset(),
            ..Entry::default()
        };
        // Before anything is asked for: whatever becomes of the brief, the session forgot.
        if let Some(session) = session.as_ref().filter(|_| entry.is_reset && holds_something(&past, self.agent_id.as_deref())) {
            let _ = ledger::append(&self.directory, session, &Entry { kind: ledger::FORGOT.to_owned(), ..entry.clone() });
        }
        if self.wish == Wish::Forgets {
            return None;
        }
        let known = if entry.is_reset { Vec::new() } else { known(&past, self.agent_id.as_deref()) };
        let (given, silence) = self.given(&known)?;
        let entry = Entry {
            at_ms: now(),
            turns: given.turns.iter().map(TurnId::to_string).collect(),
            tokens: tokens(&given.text),
            micros: self.began.elapsed().as_micros() as u64,
            silence,
            about,
            ..entry
        };
        if let Some(session) = &session {
            // What cannot be written down is given all the same.
            let _ = ledger::append(&self.directory, session, &entry);
        }
        (!given.text.is_empty()).then(|| self.form.output(&self.event.event, &given.text))
    }

    /// What the event is about, so that it is not answered twice. Without a key nobody can tell.
    fn about(&self, key: Option<&[u8; 32]>) -> Option<String> {
        match &self.wish {
            Wish::Brief { .. } | Wish::Forgets => None,
            Wish::Prompt(text) | Wish::Edit(text) | Wish::Failure(text) => Some(digest(key?, text)),
        }
    }

    /// Whether another hook answered this event just now, or the session knows the answer.
    fn was_answered(&self, past: &[Entry], about: Option<&str>) -> bool {
        let at_once = now() - AT_ONCE_MS;
        let is_reset = self.wish.is_reset();
        if about.is_none() && !self.is_brief() {
            return false;
        }
        held(past, self.agent_id.as_deref()).any(|entry| {
            // By its kind: what one agent tells may be told by another's hooks under another name.
            let is_same = entry.kind == self.wish.kind() && entry.about.as_deref() == about;
            // A session may be compacted soon after it began.
            let is_at_once = entry.at_ms > at_once && entry.is_reset == is_reset;
            let is_known = match self.wish {
                // A resumed session still holds what it was told when it began.
                Wish::Brief { is_reset, .. } => !is_reset && entry.tokens > 0,
                Wish::Edit(_) | Wish::Failure(_) => entry.tokens > 0 || !is_passing(entry.silence.as_deref()),
                Wish::Prompt(_) | Wish::Forgets => false,
            };
            is_same && (is_at_once || is_known)
        })
    }

    /// What there is to tell, and why there is nothing.
    fn given(&mut self, known: &[TurnId]) -> Option<(Given, Option<String>)> {
        let here = self.event.cwd.as_deref().map(names_of);
        let session = self.event.session_id.clone();
        if let Wish::Brief { is_compacted, .. } = self.wish {
            let brief = self.brief(&BriefRequest { here, session, is_compacted })?;
            let given = text::brief(&brief, self.budget);
            let silence = given.text.is_empty().then(|| "nothing".to_owned());
            return Some((given, silence));
        }
        let occasion = match &self.wish {
            Wish::Prompt(prompt) => Occasion::Prompt(prompt.clone()),
            Wish::Edit(path) => Occasion::Edit(path.clone()),
            Wish::Failure(output) => Occasion::Failure(output.clone()),
            Wish::Brief { .. } | Wish::Forgets => return None,
        };
        let offer = self.offer(offer_request(occasion.clone(), here, session, known.to_vec(), self.floor))?;
        let given = text::offer(&offer, &occasion, self.budget);
        let silence = if given.text.is_empty() { offer.silence.or_else(|| Some("budget".to_owned())) } else { None };
        Some((given, silence))
    }

    fn brief(&mut self, request: &BriefRequest) -> Option<Brief> {
        let patience = self.left_of(BRIEF_PATIENCE);
        if let Some(client) = &mut self.client {
            match client.ask(&Request::Brief { request: request.clone() }, patience) {
                Ok(brief) => return Some(brief),
                Err(NoAnswer::Refused(_)) => return None,
                Err(NoAnswer::Unavailable) => self.client = None,
            }
        }
        self.passive()?.brief(request).ok()
    }

    fn offer(&mut self, request: OfferRequest) -> Option<Offer> {
        let patience = self.left_of(PATIENCE);
        if let Some(client) = &mut self.client {
            match client.ask(&Request::Offer { request: Box::new(request.clone()) }, patience) {
                Ok(offer) => return Some(offer),
                Err(NoAnswer::Refused(_)) => return None,
                Err(NoAnswer::Unavailable) => self.client = None,
            }
        }
        self.passive()?.offer(&request).ok()
    }

    /// Waiting for another hook counts as well.
    fn left_of(&self, patience: Duration) -> Duration {
        patience.saturating_sub(self.began.elapsed())
    }

    /// The store as it is: nothing is upgraded, no index begun, no model loaded.
    fn passive(&self) -> Option<Engine> {
        Engine::open(EngineOptions {
            directory: self.directory.clone(),
            create: false,
            store: StoreOptions { busy_timeout: BUSY, backup_before_upgrade: true, is_passive: true },
            // One that is none makes that nothing is given.
            redaction_patterns: self.patterns.clone(),
            model: None,
            model_threads: 1,
            now,
        })
        .ok()
    }
}

/// The question that an occasion asks, as hooks ask it.
pub fn offer_request(
    occasion: Occasion,
    here: Option<ProjectNames>,
    session: Option<String>,
    given: Vec<TurnId>,
    floor: f32,
) -> OfferRequest {
    let limit = if matches!(occasion, Occasion::Prompt(_)) { PROMPT_LIMIT } else { FEW };
    OfferRequest {
        occasion,
        here,
        projects: Vec::new(),
        as_of: None,
        session,
        given,
        limit,
        quote_chars: QUOTE_CHARS,
        floor,
        // The local model would take longer than a prompt may wait.
        program: Program::Static,
    }
}

/// Entries of what the session still holds; of its side conversations each for itself.
fn held<'p>(past: &'p [Entry], agent_id: Option<&'p str>) -> impl Iterator<Item = &'p Entry> {
    let is_own = move |entry: &&Entry| entry.agent_id.as_deref() == agent_id;
    let since = past.iter().rposition(|entry| entry.is_reset && is_own(&entry)).unwrap_or(0);
    past[since..].iter().filter(is_own)
}

/// What the session was given and still holds.
fn known(past: &[Entry], agent_id: Option<&str>) -> Vec<TurnId> {
    held(past, agent_id).flat_map(|entry| &entry.turns).filter_map(|id| serde_json::from_value(json!(id)).ok()).collect()
}

/// Whether there is something to forget.
fn holds_something(past: &[Entry], agent_id: Option<&str>) -> bool {
    held(past, agent_id).any(|entry| entry.kind != ledger::FORGOT)
}

/// Whether a session forgets what it was given with this event, and says so with no other: Claude
/// Code and `OpenCode` begin anew after it, but for side conversations.
fn forgets(event: &Event, agent_id: Option<&str>) -> bool {
    let begins_anew = agent_id.is_none() && matches!(event.agent.as_str(), CLAUDE_CODE | "opencode");
    !begins_anew && matches!(plain(&event.event).as_str(), "precompact" | "precompress" | "postcompact")
}

/// Whether there may be something to tell a little later.
fn is_passing(silence: Option<&str>) -> bool {
    matches!(silence, Some("index-behind" | "project-unknown"))
}

/// The name of an event, however it is written.
fn plain(event: &str) -> String {
    event.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn form_of(agent: &str) -> Option<Form> {
    Some(match agent {
        CLAUDE_CODE | "codex" | "gemini" | "copilot-chat" => Form::Specific,
        "cursor" => Form::Snake,
        "copilot-cli" => Form::Camel,
        "cline" => Form::Cline,
        "opencode" => Form::Plain,
        _ => return None,
    })
}

impl Form {
    fn output(self, event: &str, text: &str) -> String {
        match self {
            Self::Specific => json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}).to_string(),
            Self::Snake => json!({"additional_context": text}).to_string(),
            Self::Camel => json!({"additionalContext": text}).to_string(),
            Self::Cline => json!({"cancel": false, "contextModification": text}).to_string(),
            Self::Plain => text.to_owned(),
        }
    }
}

/// What an event of an agent asks; by the agents' documentation, which says which events may be
/// answered.
fn wish_of<F: FnOnce() -> Value>(agent: &str, event: &str, said: &LazyCell<Value, F>) -> Option<Wish> {
    let text = |key: &str| said[key].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let prompt = || text("prompt").or_else(|| text("message")).map(Wish::Prompt);
    match (agent, plain(event).as_str()) {
        (_, "sessionstart" | "sessioncreated" | "taskstart" | "taskresume") => {
            let source = said["source"].as_str().unwrap_or_default();
            Some(Wish::Brief { is_compacted: source == "compact", is_reset: matches!(source, "compact" | "clear") })
        }
        (CLAUDE_CODE | "codex" | "copilot-chat" | "cline", "userpromptsubmit")
        | ("gemini", "beforeagent")
        | ("opencode", "chatmessage") => {
            let inner = |value: &Value| value["prompt"].as_str().map(|prompt| Wish::Prompt(prompt.to_owned()));
            prompt().or_else(|| inner(&said["userPromptSubmit"]))
        }
        (CLAUDE_CODE, "pretooluse") => {
            let input = &said["tool_input"];
            let path = input["file_path"].as_str().or_else(|| input["notebook_path"].as_str())?;
            let is_change = matches!(said["tool_name"].as_str()?, "Edit" | "Write" | "MultiEdit" | "NotebookEdit");
            is_change.then(|| Wish::Edit(path.to_owned()))
        }
        (CLAUDE_CODE, "posttoolusefailure") => {
            Some(Wish::Failure(text("error").unwrap_or_else(|| words_of(&said["tool_response"]))))
        }
        // What other tools give back may quote errors of any kind.
        (CLAUDE_CODE, "posttooluse") if said["tool_name"].as_str() == Some("Bash") => {
            let output = words_of(&said["tool_response"]);
            yore_core::text::error_line(&output).is_some().then_some(Wish::Failure(output))
        }
        _ => None,
    }
}

/// All texts in a tool's answer.
fn words_of(response: &Value) -> String {
    match response {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words_of).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields.values().map(words_of).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(agent: &str, event: &str, said: Value) -> Option<Wish> {
        wish_of(agent, event, &LazyCell::new(|| said))
    }

    #[test]
    fn events_ask_what_their_agents_let_them() {
        let brief = |is_compacted, is_reset| Some(Wish::Brief { is_compacted, is_reset });
        let prompt = |text: &str| Some(Wish::Prompt(text.to_owned()));
        let edit = json!({"tool_name": "Edit", "tool_input": {"file_path": "/a/b.rs"}});
        let failed = json!({"tool_name": "Bash", "tool_response": {"stdout": "", "stderr": "error: no gauge"}});
        for (agent, event, said, expected) in [
            (CLAUDE_CODE, "SessionStart", json!({"source": "startup"}), brief(false, false)),
            (CLAUDE_CODE, "SessionStart", json!({"source": "compact"}), brief(true, true)),
            (CLAUDE_CODE, "SessionStart", json!({"source": "clear"}), brief(false, true)),
            ("cursor", "sessionStart", json!({}), brief(false, false)),
            ("cline", "TaskStart", json!({}), brief(false, false)),
            (CLAUDE_CODE, "UserPromptSubmit", json!({"prompt": "why?"}), prompt("why?")),
            ("codex", "UserPromptSubmit", json!({"prompt": "why?"}), prompt("why?")),
            ("gemini", "BeforeAgent", json!({"prompt": "why?"}), prompt("why?")),
            ("cline", "UserPromptSubmit", json!({"userPromptSubmit": {"prompt": "why?"}}), prompt("why?")),
            ("opencode", "chat.message", json!({"prompt": "why?"}), prompt("why?")),
            (CLAUDE_CODE, "PreToolUse", edit.clone(), Some(Wish::Edit("/a/b.rs".to_owned()))),
            (CLAUDE_CODE, "PostToolUse", failed.clone(), Some(Wish::Failure("error: no gauge".to_owned()))),
            (CLAUDE_CODE, "PostToolUseFailure", json!({"error": "exit 1"}), Some(Wish::Failure("exit 1".to_owned()))),
            (CLAUDE_CODE, "UserPromptSubmit", json!({"prompt": "  "}), None),
            (CLAUDE_CODE, "PreToolUse", json!({"tool_name": "Read", "tool_input": {"file_path": "/a"}}), None),
            (CLAUDE_CODE, "PostToolUse", json!({"tool_name": "Bash", "tool_response": {"stdout": "fine"}}), None),
            (CLAUDE_CODE, "PostToolUse", json!({"tool_name": "Grep", "tool_response": "error: no gauge"}), None),
            (CLAUDE_CODE, "Stop", json!({"prompt": "why?"}), None),
            ("cursor", "beforeSubmitPrompt", json!({"prompt": "why?"}), None),
            ("codex", "PreToolUse", edit, None),
            ("gemini", "AfterTool", failed, None),
        ] {
            assert_eq!(wish(agent, event, said.clone()), expected, "{agent} {event} {said}");
        }
    }

    #[test]
    fn each_agent_is_told_in_its_own_form_and_in_no_other() {
        let told = |agent: &str, event: &str| form_of(agent).unwrap().output(event, "words");
        assert_eq!(
            told(CLAUDE_CODE, "UserPromptSubmit"),
            r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"words"}}"#
        );
        assert_eq!(told("cursor", "sessionStart"), r#"{"additional_context":"words"}"#);
        assert_eq!(told("copilot-cli", "sessionStart"), r#"{"additionalContext":"words"}"#);
        assert_eq!(told("cline", "TaskStart"), r#"{"cancel":false,"contextModification":"words"}"#);
        assert_eq!(told("opencode", "chat.message"), "words");
        assert_eq!(form_of("windsurf"), None);
    }

    const KEY: [u8; 32] = [7; 32];

    fn entry(kind: &str, about: Option<&str>, at_ms: i64, tokens: usize, is_reset: bool) -> Entry {
        Entry { kind: kind.to_owned(), about: about.map(|text| digest(&KEY, text)), at_ms, tokens, is_reset, ..Entry::default() }
    }

    fn wanted(wish: Wish) -> Wanted {
        Wanted {
            wish,
            form: Form::Plain,
            event: Event::default(),
            agent_id: None,
            budget: 1,
            floor: 0.5,
            patterns: Vec::new(),
            directory: PathBuf::new(),
            client: None,
            began: Instant::now(),
        }
    }

    #[test]
    fn nothing_is_answered_twice_until_the_session_forgets() {
        let is_answered = |wanted: &Wanted, past: &[Entry]| wanted.was_answered(past, wanted.about(Some(&KEY)).as_deref());
        let edit = wanted(Wish::Edit("/a".to_owned()));
        assert!(!is_answered(&edit, &[]));
        assert!(is_answered(&edit, &[entry("edit", Some("/a"), 5, 0, false)]));
        assert!(!is_answered(&edit, &[entry("edit", Some("/b"), 5, 0, false)]));
        let past = [entry("edit", Some("/a"), 5, 9, false), entry("brief", None, 6, 9, true)];
        assert!(!is_answered(&edit, &past), "it was compacted since");
        let unknown = Entry { kind: "edit".to_owned(), tokens: 9, ..Entry::default() };
        assert!(!edit.was_answered(&[unknown], edit.about(None).as_deref()), "without a key nothing is the same");
        let prompt = wanted(Wish::Prompt("why?".to_owned()));
        assert!(!is_answered(&prompt, &[entry("prompt", Some("why?"), 5, 9, false)]), "asked again later");
        assert!(is_answered(&prompt, &[entry("prompt", Some("why?"), now(), 9, false)]), "asked by two hooks");
        let start = wanted(Wish::Brief { is_compacted: false, is_reset: false });
        assert!(is_answered(&start, &[entry("brief", None, 5, 9, false)]), "resumed");
        let compacted = wanted(Wish::Brief { is_compacted: true, is_reset: true });
        assert!(!is_answered(&compacted, &[entry("brief", None, 5, 9, false)]));
        assert!(!is_answered(&compacted, &[entry("brief", None, now(), 9, false)]), "soon after it began");
        assert!(is_answered(&compacted, &[entry("brief", None, now(), 9, true)]), "by two hooks");
        let past = [entry("prompt", Some("why?"), now(), 9, false), entry("brief", None, now(), 9, true)];
        assert!(!is_answered(&prompt, &past), "asked again after it was compacted");
    }

    #[test]
    fn what_was_given_before_a_reset_is_not_known() {
        let turn = TurnId::derive("a", "b", "c", 0);
        let given = Entry { turns: vec![turn.to_string()], ..Entry::default() };
        assert_eq!(known(std::slice::from_ref(&given), None), [turn]);
        assert_eq!(known(&[given, entry("brief", None, 6, 9, true)], None), []);
    }

    #[test]
    fn side_conversations_know_what_they_were_told_themselves() {
        let (turn, other) = (TurnId::derive("a", "b", "c", 0), TurnId::derive("a", "b", "c", 1));
        let of = |agent_id: Option<&str>, entry: Entry| Entry { agent_id: agent_id.map(str::to_owned), ..entry };
        let past = [
            of(None, Entry { turns: vec![turn.to_string()], ..entry("edit", Some("/a"), 5, 9, false) }),
            of(Some("a1"), Entry { turns: vec![other.to_string()], ..entry("prompt", Some("why?"), 6, 9, false) }),
            of(Some("a1"), entry(ledger::FORGOT, None, 7, 0, true)),
        ];
        assert_eq!(known(&past[..2], None), [turn]);
        assert_eq!(known(&past[..2], Some("a1")), [other]);
        assert_eq!(known(&past, Some("a1")), []);
        assert_eq!(known(&past, None), [turn], "the session forgot nothing");
        let edit = wanted(Wish::Edit("/a".to_owned()));
        let about = edit.about(Some(&KEY));
        assert!(edit.was_answered(&past, about.as_deref()));
        let side = Wanted { agent_id: Some("a1".to_owned()), ..wanted(Wish::Edit("/a".to_owned())) };
        assert!(!side.was_answered(&past, about.as_deref()));
    }

    #[test]
    fn what_could_not_be_told_yet_is_asked_again() {
        let edit = wanted(Wish::Edit("/a".to_owned()));
        let silent = |code: &str| Entry { silence: Some(code.to_owned()), ..entry("edit", Some("/a"), 5, 0, false) };
        let about = edit.about(Some(&KEY));
        for (code, is_known) in [("index-behind", false), ("project-unknown", false), ("nothing", true), ("budget", true)] {
            assert_eq!(edit.was_answered(&[silent(code)], about.as_deref()), is_known, "{code}");
        }
    }

    #[test]
    fn brief_is_told_once_whatever_its_event_is_called() {
        let directory = tempfile::tempdir().unwrap();
        let begin = |agent: &str, event: &str| {
            let event =
                Event { agent: agent.to_owned(), event: event.to_owned(), session_id: Some("s".to_owned()), ..Event::default() };
            let switches = Switches::read(None, None, &|_| None, &[]);
            Wanted::of(agent, event, None, b"{}", &switches, directory.path().to_owned(), None).unwrap()
        };
        let told = [entry("brief", None, 5, 9, false)];
        for (agent, event) in [("cursor", "sessionStart"), (CLAUDE_CODE, "SessionStart"), ("cline", "TaskResume")] {
            assert!(begin(agent, event).was_answered(&told, None), "{agent} {event}");
        }
    }

    #[test]
    fn session_forgets_whatever_becomes_of_the_brief() {
        let off = Switches::read(None, None, &|_| None, &[("give.brief_tokens".to_owned(), "0".to_owned())]);
        let on = Switches::read(None, None, &|_| None, &[]);
        let compact = r#"{"source":"compact"}"#;
        let no_memory = |agent: &str, event: &str, agent_id: Option<&str>, said: &str, switches: &Switches| -> Vec<TurnId> {
            let directory = tempfile::tempdir().unwrap();
            let agent_id = agent_id.map(str::to_owned);
            let turns = vec![TurnId::derive("a", "b", "c", 0).to_string()];
            let given = Entry { turns, agent_id: agent_id.clone(), ..entry("prompt", None, 5, 9, false) };
            ledger::append(directory.path(), "s", &given).unwrap();
            let event =
                Event { agent: agent.to_owned(), event: event.to_owned(), session_id: Some("s".to_owned()), ..Event::default() };
            let wanted = Wanted::of(agent, event, agent_id.clone(), said.as_bytes(), switches, directory.path().to_owned(), None);
            assert_eq!(wanted.and_then(Wanted::answer), None);
            known(&ledger::read(directory.path(), "s"), agent_id.as_deref())
        };
        assert_eq!(no_memory(CLAUDE_CODE, "SessionStart", None, compact, &off), [], "there is no brief");
        assert_eq!(no_memory(CLAUDE_CODE, "SessionStart", None, compact, &on), [], "the brief fails");
        assert_eq!(no_memory(CLAUDE_CODE, "SessionStart", None, "{}", &off).len(), 1);
        assert_eq!(no_memory(CLAUDE_CODE, "PreCompact", None, "{}", &on).len(), 1, "it begins anew");
        assert_eq!(no_memory(CLAUDE_CODE, "PreCompact", Some("a1"), "{}", &on), [], "it does not");
        for (agent, event) in
            [("gemini", "PreCompress"), ("codex", "PreCompact"), ("cline", "PreCompact"), ("cursor", "preCompact")]
        {
            assert_eq!(no_memory(agent, event, None, "{}", &on), [], "{agent}");
        }
    }
}
