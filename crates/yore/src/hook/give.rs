//! What an agent is told when one of its events may be answered, and in which form.
//!
//! - [`Wanted`]: the question that an event asks
//! - `Wish`: what kind of question
//! - `Form`: how each agent wants to be told; some refuse what they do not know, so nothing else is
//!   printed

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yore_core::id::TurnId;
use yore_core::query::Program;
use yore_engine::ingest::{ProjectNames, names_of};
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

/// How long the daemon may take: what is left of the deadline is for reading the store.
const PATIENCE: Duration = Duration::from_millis(500);
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
    budget: usize,
    floor: f32,
    directory: PathBuf,
    client: Option<Client>,
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
        said: &[u8],
        switches: &Switches,
        directory: PathBuf,
        client: Option<Client>,
    ) -> Option<Self> {
        let form = form_of(agent)?;
        let said: Value = serde_json::from_slice(said.strip_prefix(b"\xef\xbb\xbf").unwrap_or(said)).unwrap_or_default();
        let wish = wish_of(agent, &event.event, &said)?;
        let budget = match &wish {
            Wish::Brief { .. } => switches.brief_tokens,
            Wish::Prompt(_) => switches.prompt_tokens,
            Wish::Edit(_) if !switches.on_edit => 0.0,
            Wish::Failure(_) if !switches.on_error => 0.0,
            Wish::Edit(_) | Wish::Failure(_) => switches.prompt_tokens.min(FEW_TOKENS as f64),
        } as usize;
        if !switches.give || budget == 0 {
            return None;
        }
        Some(Self { wish, form, event, budget, floor: switches.floor as f32, directory, client })
    }

    /// Whether a session begins.
    pub(super) fn is_brief(&self) -> bool {
        matches!(self.wish, Wish::Brief { .. })
    }

    /// What is printed where there is nothing to tell.
    pub(super) fn silent_output(&self) -> Option<String> {
        (self.form == Form::Cline).then(|| json!({"cancel": false}).to_string())
    }

    /// What is printed; `None` where there is nothing to tell. What was given is written down first.
    pub(super) fn answer(mut self) -> Option<String> {
        let began = Instant::now();
        let session = self.event.session_id.clone().filter(|session| session != DOCTOR);
        let _turn = session.as_ref().map(|session| ledger::lock(&self.directory, session));
        let past = session.as_ref().map(|session| ledger::read(&self.directory, session)).unwrap_or_default();
        let about = self.about();
        if self.was_answered(&past, about.as_deref()) {
            return None;
        }
        let (given, silence) = self.given(&known(&past))?;
        let entry = Entry {
            at_ms: now(),
            agent: self.event.agent.clone(),
            event: self.event.event.clone(),
            turns: given.turns.iter().map(TurnId::to_string).collect(),
            tokens: tokens(&given.text),
            micros: began.elapsed().as_micros() as u64,
            silence,
            directory: self.event.cwd.clone(),
            about,
            is_reset: matches!(self.wish, Wish::Brief { is_reset: true, .. }),
        };
        if let Some(session) = &session {
            // What cannot be written down is given all the same.
            let _ = ledger::append(&self.directory, session, &entry);
        }
        (!given.text.is_empty()).then(|| self.form.output(&self.event.event, &given.text))
    }

    /// What the event is about, so that it is not answered twice.
    fn about(&self) -> Option<String> {
        match &self.wish {
            Wish::Brief { .. } => None,
            Wish::Prompt(text) | Wish::Edit(text) | Wish::Failure(text) => Some(digest(text)),
        }
    }

    /// Whether another hook answered this event just now, or the session knows the answer.
    fn was_answered(&self, past: &[Entry], about: Option<&str>) -> bool {
        let at_once = now() - AT_ONCE_MS;
        let since_reset = past.iter().rposition(|entry| entry.is_reset).unwrap_or(0);
        let is_reset = matches!(self.wish, Wish::Brief { is_reset: true, .. });
        past[since_reset..].iter().any(|entry| {
            let is_same = entry.event == self.event.event && entry.about.as_deref() == about;
            // A session may be compacted soon after it began.
            let is_at_once = entry.at_ms > at_once && entry.is_reset == is_reset;
            let is_known = match self.wish {
                // A resumed session still holds what it was told when it began.
                Wish::Brief { is_reset, .. } => !is_reset && entry.tokens > 0,
                Wish::Edit(_) | Wish::Failure(_) => true,
                Wish::Prompt(_) => false,
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
            Wish::Brief { .. } => return None,
        };
        let offer = self.offer(offer_request(occasion.clone(), here, session, known.to_vec(), self.floor))?;
        let given = text::offer(&offer, &occasion, self.budget);
        let silence = if given.text.is_empty() { offer.silence.or_else(|| Some("budget".to_owned())) } else { None };
        Some((given, silence))
    }

    fn brief(&mut self, request: &BriefRequest) -> Option<Brief> {
        if let Some(client) = &mut self.client {
            match client.ask(&Request::Brief { request: request.clone() }, PATIENCE * 3) {
                Ok(brief) => return Some(brief),
                Err(NoAnswer::Refused(_)) => return None,
                Err(NoAnswer::Unavailable) => self.client = None,
            }
        }
        self.passive()?.brief(request).ok()
    }

    fn offer(&mut self, request: OfferRequest) -> Option<Offer> {
        if let Some(client) = &mut self.client {
            match client.ask(&Request::Offer { request: Box::new(request.clone()) }, PATIENCE) {
                Ok(offer) => return Some(offer),
                Err(NoAnswer::Refused(_)) => return None,
                Err(NoAnswer::Unavailable) => self.client = None,
            }
        }
        self.passive()?.offer(&request).ok()
    }

    /// The store as it is: nothing is upgraded, no index begun, no model loaded.
    fn passive(&self) -> Option<Engine> {
        Engine::open(EngineOptions {
            directory: self.directory.clone(),
            create: false,
            store: StoreOptions { busy_timeout: BUSY, backup_before_upgrade: true, is_passive: true },
            redaction_patterns: Vec::new(),
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

/// What the session was given and still holds.
fn known(past: &[Entry]) -> Vec<TurnId> {
    let since = past.iter().rposition(|entry| entry.is_reset).unwrap_or(0);
    past[since..].iter().flat_map(|entry| &entry.turns).filter_map(|id| serde_json::from_value(json!(id)).ok()).collect()
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
fn wish_of(agent: &str, event: &str, said: &Value) -> Option<Wish> {
    let plain: String = event.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    let text = |key: &str| said[key].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let prompt = || text("prompt").or_else(|| text("message")).map(Wish::Prompt);
    match (agent, plain.as_str()) {
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
        wish_of(agent, event, &said)
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

    fn entry(event: &str, about: Option<&str>, at_ms: i64, tokens: usize, is_reset: bool) -> Entry {
        Entry { event: event.to_owned(), about: about.map(digest), at_ms, tokens, is_reset, ..Entry::default() }
    }

    fn wanted(wish: Wish, event: &str) -> Wanted {
        let event = Event { event: event.to_owned(), ..Event::default() };
        Wanted { wish, form: Form::Plain, event, budget: 1, floor: 0.5, directory: PathBuf::new(), client: None }
    }

    #[test]
    fn nothing_is_answered_twice_until_the_session_forgets() {
        let is_answered = |wanted: &Wanted, past: &[Entry]| wanted.was_answered(past, wanted.about().as_deref());
        let edit = wanted(Wish::Edit("/a".to_owned()), "PreToolUse");
        assert!(!is_answered(&edit, &[]));
        assert!(is_answered(&edit, &[entry("PreToolUse", Some("/a"), 5, 0, false)]));
        assert!(!is_answered(&edit, &[entry("PreToolUse", Some("/b"), 5, 0, false)]));
        let past = [entry("PreToolUse", Some("/a"), 5, 9, false), entry("SessionStart", None, 6, 9, true)];
        assert!(!is_answered(&edit, &past), "it was compacted since");
        let prompt = wanted(Wish::Prompt("why?".to_owned()), "UserPromptSubmit");
        assert!(!is_answered(&prompt, &[entry("UserPromptSubmit", Some("why?"), 5, 9, false)]), "asked again later");
        assert!(is_answered(&prompt, &[entry("UserPromptSubmit", Some("why?"), now(), 9, false)]), "asked by two hooks");
        let start = wanted(Wish::Brief { is_compacted: false, is_reset: false }, "SessionStart");
        assert!(is_answered(&start, &[entry("SessionStart", None, 5, 9, false)]), "resumed");
        let compacted = wanted(Wish::Brief { is_compacted: true, is_reset: true }, "SessionStart");
        assert!(!is_answered(&compacted, &[entry("SessionStart", None, 5, 9, false)]));
        assert!(!is_answered(&compacted, &[entry("SessionStart", None, now(), 9, false)]), "soon after it began");
        assert!(is_answered(&compacted, &[entry("SessionStart", None, now(), 9, true)]), "by two hooks");
        let past = [entry("UserPromptSubmit", Some("why?"), now(), 9, false), entry("SessionStart", None, now(), 9, true)];
        assert!(!is_answered(&prompt, &past), "asked again after it was compacted");
    }

    #[test]
    fn what_was_given_before_a_reset_is_not_known() {
        let turn = TurnId::derive("a", "b", "c", 0);
        let given = Entry { turns: vec![turn.to_string()], ..Entry::default() };
        assert_eq!(known(std::slice::from_ref(&given)), [turn]);
        assert_eq!(known(&[given, entry("SessionStart", None, 6, 9, true)]), []);
    }
}
