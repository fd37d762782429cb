//! What an event of an agent asks of the memory: one table of agents and events.
//!
//! - [`Wish`]: a question
//! - [`wishes`]: the questions of an event, by what the agents do with answers. What each agent hears was
//!   tried with the agents themselves (`scripts/agent-trial`) where they can be had, and follows their
//!   documentation otherwise
//! - `tool`: the file that a tool touches, and the failure that it reports, in every agent's terms

mod question;
mod tool;

use std::cell::LazyCell;

use serde_json::Value;

pub(super) use self::question::{Beginning, Moment, Wish};
use super::agent::{CLAUDE_CODE, CODEX};

/// From this version on Copilot CLI passes on what is said about a prompt, and keeps it with the prompt.
const COPILOT_HEARS_PROMPTS: [u32; 3] = [1, 0, 65];
/// Prompts that no person typed, by the field that tells where a prompt comes from.
const NOT_TYPED: [&str; 4] = ["system", "loop_wakeup", "schedule_wakeup", "poll_event"];

/// Who asks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Caller<'c> {
    /// The agent's name in the store.
    pub agent: &'c str,
    /// The sub-agent that speaks, if it is one.
    pub agent_id: Option<&'c str>,
    /// The agent's version, where it tells.
    pub version: Option<&'c str>,
    /// Whether one of yore's own plugins speaks, which hands everything on.
    pub is_plugin: bool,
}

/// What an event asks; nothing for most.
pub(super) fn wishes<F: FnOnce() -> Value>(caller: Caller<'_>, event: &str, said: &LazyCell<Value, F>) -> Vec<Wish> {
    let name = plain(event);
    let brief = |moment| Wish::Brief(Beginning { moment, ..Beginning::default() });
    let prompt = || prompt_of(said).map(Wish::Prompt);
    let with_first = || match prompt() {
        Some(prompt) => vec![brief(Moment::FirstPrompt), prompt],
        None => Vec::new(),
    };
    if let Some(wish) = forgets(caller, &name) {
        return vec![wish];
    }
    match (caller.agent, name.as_str()) {
        // The newer programs of Cline run hooks detached and hear nothing of them; yore's plugin is heard.
        ("cline", _) if !caller.is_plugin && said["hookName"].as_str().is_some_and(|name| name.contains('_')) => Vec::new(),
        ("gemini" | "qwen", "sessionstart") if said["source"].as_str() == Some("clear") => vec![Wish::Forgets],
        // What these are told at the start stands before the prompt in the same message (Gemini CLI), or in
        // a system prompt that is made anew each time (Qwen Code).
        ("gemini" | "qwen", "sessionstart") => Vec::new(),
        ("gemini", "beforeagent") | ("qwen", "userpromptsubmit") => with_first(),
        ("gemini", "aftertool") => tool::wishes(said),
        ("qwen", "posttooluse" | "posttoolusefailure") => tool::wishes(said),
        ("copilot-cli", "sessionstart") if hears_prompts(caller) => Vec::new(),
        ("copilot-cli", "sessionstart") => {
            let is_new = said["source"].as_str() != Some("resume");
            let first = said["initialPrompt"].as_str().filter(|prompt| is_new && !prompt.trim().is_empty());
            let first = first.map(|prompt| Wish::Prompt(prompt.to_owned()));
            std::iter::once(brief(Moment::EachStart)).chain(first).collect()
        }
        ("copilot-cli", "userpromptsubmitted") if !hears_prompts(caller) => Vec::new(),
        ("copilot-cli", "userpromptsubmitted") if caller.agent_id.is_some() => sub_agent(prompt()),
        ("copilot-cli", "userpromptsubmitted") => with_first(),
        ("copilot-cli", "subagentstart") if hears_prompts(caller) => Vec::new(),
        // What is told before a tool runs is gone from a session that is resumed, what is told after it stays.
        ("copilot-cli", "pretooluse") if hears_prompts(caller) => Vec::new(),
        ("copilot-cli", "pretooluse") => tool::files(said),
        ("copilot-cli", "posttooluse") if hears_prompts(caller) => tool::wishes(said),
        ("copilot-cli", "posttooluse") => tool::failure(said).into_iter().collect(),
        ("opencode" | "kilo" | "cline", "toolexecuteafter") => tool::wishes(said),
        ("cline", "userpromptsubmit") if caller.is_plugin && caller.agent_id.is_none() => with_first(),
        (_, "subagentstart") => {
            let errand = text(said, "prompt").map(str::to_owned).or_else(|| tool::errand(caller.agent, said));
            sub_agent(errand.map(Wish::Prompt))
        }
        // What a fork holds it was told already.
        (_, "sessionstart") if said["source"].as_str() == Some("fork") => Vec::new(),
        (_, "sessionstart" | "sessioncreated" | "taskstart" | "taskresume") => {
            let source = said["source"].as_str().unwrap_or_default();
            let (is_compacted, is_reset) = (source == "compact", matches!(source, "compact" | "clear"));
            vec![Wish::Brief(Beginning { is_compacted, is_reset, moment: Moment::Start })]
        }
        (CLAUDE_CODE | CODEX | "copilot-chat" | "cline", "userpromptsubmit") | ("opencode" | "kilo", "chatmessage") => {
            prompt().into_iter().collect()
        }
        (CLAUDE_CODE | CODEX, "pretooluse") => tool::files(said),
        // What other tools give back may quote errors of any kind.
        (CLAUDE_CODE | CODEX, "posttooluse") => tool::failure(said).into_iter().collect(),
        (CLAUDE_CODE, "posttoolusefailure") => tool::failed(said).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// What a sub-agent is told as it begins.
fn sub_agent(errand: Option<Wish>) -> Vec<Wish> {
    let brief = Wish::Brief(Beginning { moment: Moment::SubAgent, ..Beginning::default() });
    std::iter::once(brief).chain(errand).collect()
}

/// Whether a session forgets what it was given with this event, and says so with no other: some begin
/// anew after it, but for side conversations. Gemini CLI announces each look at its context.
fn forgets(caller: Caller<'_>, event: &str) -> Option<Wish> {
    let begins_anew = caller.agent_id.is_none() && matches!(caller.agent, CLAUDE_CODE | CODEX | "opencode" | "kilo");
    let is_compaction = matches!(event, "precompact" | "postcompact") && caller.agent != "gemini";
    // OpenCode's next prompt may come to a process that knows of no compaction.
    (is_compaction && !begins_anew || event == "sessioncompacted").then_some(Wish::Forgets)
}

/// What a person typed; `None` where nobody did.
fn prompt_of<F: FnOnce() -> Value>(said: &LazyCell<Value, F>) -> Option<String> {
    let is_typed = said["source"].as_str().is_none_or(|source| !NOT_TYPED.contains(&source));
    let prompt = ["submitted_prompt", "prompt", "message"].iter().find_map(|key| text(said, key));
    let prompt = prompt.or_else(|| said["userPromptSubmit"]["prompt"].as_str())?;
    // What other hooks have put in, and tasks that report.
    let prompt = without_element(prompt, "hook_context");
    let prompt = prompt.trim();
    (is_typed && !prompt.is_empty() && !prompt.starts_with("<task-notification>")).then(|| prompt.to_owned())
}

fn text<'v, F: FnOnce() -> Value>(said: &'v LazyCell<Value, F>, key: &str) -> Option<&'v str> {
    said[key].as_str().filter(|text| !text.trim().is_empty())
}

/// A text without `<tag>…</tag>`, wherever it stands.
fn without_element(text: &str, tag: &str) -> String {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut rest = text.to_owned();
    while let Some(start) = rest.find(&open) {
        let Some(end) = rest[start..].find(&close).map(|at| start + at + close.len()) else { break };
        rest.replace_range(start..end, "");
    }
    rest
}

/// Whether this Copilot CLI passes on what is said about a prompt.
fn hears_prompts(caller: Caller<'_>) -> bool {
    let version = caller.version.unwrap_or_default();
    let mut numbers = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version: [u32; 3] = std::array::from_fn(|_| numbers.next().unwrap_or_default());
    version >= COPILOT_HEARS_PROMPTS
}

/// The name of an event, however it is written.
pub(super) fn plain(event: &str) -> String {
    event.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(caller: Caller<'_>, event: &str, said: Value) -> Vec<Wish> {
        wishes(caller, event, &LazyCell::new(|| said))
    }

    fn of(agent: &str) -> Caller<'_> {
        Caller { agent, ..Caller::default() }
    }

    fn brief(moment: Moment) -> Wish {
        Wish::Brief(Beginning { moment, ..Beginning::default() })
    }

    fn prompt(words: &str) -> Wish {
        Wish::Prompt(words.to_owned())
    }

    #[test]
    fn sessions_are_briefed_where_their_agents_keep_it() {
        let start = |is_compacted, is_reset| vec![Wish::Brief(Beginning { is_compacted, is_reset, moment: Moment::Start })];
        for (agent, event, said, expected) in [
            (CLAUDE_CODE, "SessionStart", json!({"source": "startup"}), start(false, false)),
            (CLAUDE_CODE, "SessionStart", json!({"source": "compact"}), start(true, true)),
            (CLAUDE_CODE, "SessionStart", json!({"source": "clear"}), start(false, true)),
            (CLAUDE_CODE, "SessionStart", json!({"source": "fork"}), vec![]),
            (CODEX, "SessionStart", json!({"source": "resume"}), start(false, false)),
            ("cursor", "sessionStart", json!({}), start(false, false)),
            ("cline", "TaskStart", json!({"hookName": "TaskStart"}), start(false, false)),
            ("cline", "TaskStart", json!({"hookName": "agent_start"}), vec![]),
            ("gemini", "SessionStart", json!({"source": "startup"}), vec![]),
            ("gemini", "SessionStart", json!({"source": "clear"}), vec![Wish::Forgets]),
            ("gemini", "PreCompress", json!({"trigger": "auto"}), vec![]),
            ("qwen", "SessionStart", json!({"source": "startup"}), vec![]),
            ("qwen", "PreCompact", json!({}), vec![Wish::Forgets]),
            ("opencode", "session.compacted", json!({}), vec![Wish::Forgets]),
            (CODEX, "PreCompact", json!({}), vec![]),
        ] {
            assert_eq!(asked(of(agent), event, said.clone()), expected, "{agent} {event} {said}");
        }
    }

    #[test]
    fn prompts_are_answered_and_the_first_brings_the_brief_where_nothing_else_does() {
        let first = |words: &str| vec![brief(Moment::FirstPrompt), prompt(words)];
        let hook = json!({"prompt": "<hook_context>&lt;recalled-data&gt;\nx</hook_context>\n\nwhy?"});
        for (agent, event, said, expected) in [
            (CLAUDE_CODE, "UserPromptSubmit", json!({"prompt": "why?"}), vec![prompt("why?")]),
            (CODEX, "UserPromptSubmit", json!({"prompt": "why?"}), vec![prompt("why?")]),
            ("cline", "UserPromptSubmit", json!({"userPromptSubmit": {"prompt": "why?"}}), vec![prompt("why?")]),
            ("opencode", "chat.message", json!({"prompt": "why?"}), vec![prompt("why?")]),
            ("kilo", "chat.message", json!({"prompt": "why?"}), vec![prompt("why?")]),
            ("gemini", "BeforeAgent", json!({"prompt": "why?"}), first("why?")),
            ("gemini", "BeforeAgent", hook, first("why?")),
            ("qwen", "UserPromptSubmit", json!({"prompt": "x", "submitted_prompt": "why?"}), first("why?")),
            ("qwen", "UserPromptSubmit", json!({"prompt": ""}), vec![]),
            (CLAUDE_CODE, "UserPromptSubmit", json!({"prompt": "  "}), vec![]),
            (CLAUDE_CODE, "UserPromptSubmit", json!({"prompt": "<task-notification>\ndone"}), vec![]),
            (CLAUDE_CODE, "UserPromptSubmit", json!({"prompt": "go on", "source": "loop_wakeup"}), vec![]),
            (CLAUDE_CODE, "UserPromptSubmit", json!({"prompt": "why?", "source": "user"}), vec![prompt("why?")]),
            ("cursor", "beforeSubmitPrompt", json!({"prompt": "why?"}), vec![]),
            (CLAUDE_CODE, "Stop", json!({"prompt": "why?"}), vec![]),
        ] {
            assert_eq!(asked(of(agent), event, said.clone()), expected, "{agent} {event} {said}");
        }
    }

    #[test]
    fn copilot_is_told_what_its_version_hears() {
        let newer = Caller { version: Some("1.0.65"), ..of("copilot-cli") };
        let older = Caller { version: Some("1.0.62-3"), ..of("copilot-cli") };
        let start = json!({"source": "new", "initialPrompt": "why?"});
        let typed = json!({"prompt": "why?"});
        let viewed = json!({"toolName": "view", "toolArgs": {"path": "gauges.txt"}, "toolResult": {"textResultForLlm": "seven"}});
        assert_eq!(asked(newer, "sessionStart", start.clone()), []);
        assert_eq!(asked(newer, "userPromptSubmitted", typed.clone()), [brief(Moment::FirstPrompt), prompt("why?")]);
        for older in [older, of("copilot-cli")] {
            assert_eq!(asked(older, "sessionStart", start.clone()), [brief(Moment::EachStart), prompt("why?")]);
            assert_eq!(
                asked(older, "sessionStart", json!({"source": "resume", "initialPrompt": "why?"})),
                [brief(Moment::EachStart)]
            );
            assert_eq!(asked(older, "userPromptSubmitted", typed.clone()), []);
            assert_eq!(asked(older, "preToolUse", viewed.clone()), [Wish::File("gauges.txt".to_owned())]);
            assert_eq!(asked(older, "postToolUse", viewed.clone()), []);
        }
        assert_eq!(asked(newer, "preToolUse", viewed.clone()), []);
        assert_eq!(asked(newer, "postToolUse", viewed), [Wish::File("gauges.txt".to_owned())]);
        let helper = Caller { agent_id: Some("a1"), ..newer };
        assert_eq!(asked(helper, "userPromptSubmitted", typed), [brief(Moment::SubAgent), prompt("why?")]);
    }

    #[test]
    fn sub_agents_are_told_of_their_errand_where_it_is_known() {
        let helper = |agent| Caller { agent_id: Some("a1"), ..of(agent) };
        for agent in [CLAUDE_CODE, CODEX, "opencode"] {
            assert_eq!(asked(helper(agent), "SubagentStart", json!({"agent_id": "a1"})), [brief(Moment::SubAgent)], "{agent}");
            let known = json!({"agent_id": "a1", "prompt": "find the gauge"});
            assert_eq!(
                asked(helper(agent), "SubagentStart", known),
                [brief(Moment::SubAgent), prompt("find the gauge")],
                "{agent}"
            );
        }
        assert_eq!(asked(helper(CLAUDE_CODE), "PreCompact", json!({})), [Wish::Forgets]);
    }
}
