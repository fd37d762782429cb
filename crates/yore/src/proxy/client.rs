//! Recognizes who sends a request through the proxy: the agent, its session, and the directory that it works in.

use std::sync::LazyLock;

use regex::Regex;
use yore_proxy::{Conversation, Part, Role, Route};
use yore_sources::source::proxy::KIND;
use yore_sources::source::{Source, source_named};

/// The beginnings of the names that agents give themselves, and the kind of the source that reads their own histories.
const AGENTS: [(&str, &str); 14] = [
    ("claude-cli/", "claude-code"),
    ("claude-code/", "claude-code"),
    ("codex_", "codex"),
    ("codex-", "codex"),
    ("geminicli", "gemini"),
    ("gemini-cli", "gemini"),
    ("opencode/", "opencode"),
    ("qwencode/", "qwen"),
    ("roocode/", "roo"),
    ("kilo-code/", "kilo"),
    ("cline/", "cline"),
    ("zed/", "zed"),
    ("goose/", "goose"),
    ("crush/", "crush"),
];
/// Longest text in which a directory is looked for, in bytes.
const LONGEST_SEARCHED: usize = 64 << 10;
/// Longest name of a client that is kept.
const LONGEST_NAME: usize = 80;

/// Who sends a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Kind of the source that reads the agent's own histories, if it has any.
    pub agent: Option<&'static str>,
    /// The program's own name.
    pub name: Option<String>,
    /// The directory that it works in.
    pub directory: Option<String>,
    /// The session, by its own id.
    pub session: Option<String>,
}

impl Client {
    /// Recognizes a client. `user_agent`, `session`: as its request says; `route`: as the path of its address says.
    pub fn of(user_agent: Option<&str>, session: Option<&str>, route: &Route, conversation: &Conversation) -> Self {
        let product = user_agent.map(|name| name.split_whitespace().next().unwrap_or_default());
        let lower = product.map(str::to_ascii_lowercase);
        let is_named = |beginning: &str| lower.as_deref().is_some_and(|name| name.starts_with(beginning));
        let named = route.agent.as_deref().and_then(source_named).filter(|source| source.is_agent() && source.kind() != KIND);
        let known = AGENTS.iter().find(|(beginning, _)| is_named(beginning)).map(|(_, kind)| *kind);
        let agent = named.map(Source::kind).or(known);
        let is_plain = |name: &&str| !name.is_empty() && name.len() <= LONGEST_NAME;
        Self {
            agent,
            name: route.agent.as_deref().or(product).filter(is_plain).map(str::to_owned),
            directory: route.directory.clone().or_else(|| directory_in(conversation, agent.is_some())),
            session: session.or(conversation.session.as_deref().filter(|_| agent.is_some())).and_then(session_id),
        }
    }
}

/// Returns the id of a session as it is stored: one that is no plain id may hold anything, even a secret.
fn session_id(id: &str) -> Option<String> {
    let id = id.trim();
    let is_plain = id.len() <= LONGEST_NAME && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
    let stored = if is_plain { id.to_owned() } else { blake3::hash(id.as_bytes()).to_hex()[..32].to_owned() };
    (!id.is_empty()).then_some(stored)
}

/// Returns the directory that a conversation's first texts name as the one that is worked in: the system text and, of an agent, the first
/// messages. Those of other programs may be anybody's words.
fn directory_in(conversation: &Conversation, is_agent: bool) -> Option<String> {
    #[expect(clippy::expect_used, reason = "a constant pattern that a test compiles")]
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?i)(?:<cwd>|workspace directories:[*\s-]{0,12}|(?:working[ -]directory|working in the directory|\bcwd|project root|workspace root)[^/\n<>]{0,24}[\s"'`])(/[^\s<>`"'*|/][^\s<>`"'*|]*)"#)
            .expect("a valid pattern")
    });
    let first = conversation.messages.iter().filter(|message| is_agent && message.role != Role::Assistant).take(3);
    let spoken = first.flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    conversation.system.as_deref().into_iter().chain(spoken).find_map(|text| {
        let end = (0..=LONGEST_SEARCHED.min(text.len())).rev().find(|end| text.is_char_boundary(*end))?;
        let found = NAMED.captures(&text[..end])?.get(1)?.as_str();
        let path = found.trim_end_matches(['.', ',', ')', ';', ':']).trim_end_matches('/');
        (path.len() > 1).then(|| path.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use yore_proxy::Message;

    use super::*;

    fn route(agent: Option<&str>, directory: Option<&str>) -> Route {
        let some = |text: Option<&str>| text.map(str::to_owned);
        Route { upstream: "openai".to_owned(), directory: some(directory), agent: some(agent), memory: None, rest: String::new() }
    }

    fn saying(system: &str, first: &str) -> Conversation {
        let messages = vec![Message { role: Role::User, parts: vec![Part::Text(first.to_owned())], digest: [0; 16] }];
        Conversation { system: Some(system.to_owned()), messages, ..Conversation::default() }
    }

    #[test]
    fn agents_are_known_by_the_names_that_they_give_themselves() {
        let agent = |name: &str| Client::of(Some(name), None, &route(None, None), &Conversation::default()).agent;
        assert_eq!(agent("claude-cli/2.1.0 (external, cli)"), Some("claude-code"));
        assert_eq!(agent("codex_cli_rs/0.60.0 (Debian 12)"), Some("codex"));
        assert_eq!(agent("GeminiCLI/0.20.0/gemini-3 (linux; x64)"), Some("gemini"));
        assert_eq!(agent("OpenAI/Python 1.99.0"), None);
        assert_eq!(Client::of(None, None, &route(None, None), &Conversation::default()), Client::default());
        let named = |name: &str| Client::of(Some("litellm/1.80"), None, &route(Some(name), None), &Conversation::default()).agent;
        assert_eq!((named("aider"), named("my-script"), named("note")), (Some("aider"), None, None));
    }

    #[test]
    fn the_directory_comes_from_the_address_or_from_what_the_agent_says() {
        let of = |directory: Option<&str>, system: &str, first: &str| {
            Client::of(Some("codex-tui/1"), None, &route(None, directory), &saying(system, first)).directory
        };
        let some = |path: &str| Some(path.to_owned());
        assert_eq!(of(Some("/home/dev/tide"), "Working directory: /home/dev/quarry", "hi"), some("/home/dev/tide"));
        assert_eq!(
            of(None, "<env>\nWorking directory: /home/dev/quarry\nIs directory a git repo: Yes", "hi"),
            some("/home/dev/quarry")
        );
        assert_eq!(of(None, "You are Codex.", "<environment_context>\n  <cwd>/home/dev/ferry</cwd>"), some("/home/dev/ferry"));
        assert_eq!(of(None, "", "**Workspace Directories:**\n  - /home/dev/lock\n"), some("/home/dev/lock"));
        assert_eq!(of(None, "", "I'm currently working in the directory: /home/dev/pier\n"), some("/home/dev/pier"));
        assert_eq!(of(None, "You help.", "see http://a.example/b for the working directory"), None);
        for elsewhere in ["Working directory: ä/", "cwd ~/x/y", "the working directory ./src", "working directory https://a/b"] {
            assert_eq!(of(None, elsewhere, "hi"), None, "{elsewhere}");
        }
        let program = Client::of(Some("my-script/1"), None, &route(None, None), &saying("", "cwd: /home/dev/tide"));
        assert_eq!(program.directory, None, "anybody's words name no directory");
    }
}
