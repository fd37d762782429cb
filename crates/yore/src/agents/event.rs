//! [`AgentEvent`]: an event with the agent's input, and the questions that it asks the memory.
//!
//! - [`AgentEvent`]: the event; its methods are the questions that several agents' events ask

use std::cell::LazyCell;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use serde_json::Value;

use super::question::{Beginning, Moment, Question};
use super::{AgentProfile, tool};

/// Values of the `source` field that mark prompts no person typed.
const NOT_TYPED: [&str; 4] = ["system", "loop_wakeup", "schedule_wakeup", "poll_event"];
/// Bytes read from the end of a transcript to find a sub-agent's task.
const TAIL: u64 = 256 << 10;

/// An event as an agent reported it.
pub struct AgentEvent<'c> {
    /// The agent whose settings hold the hook.
    pub profile: &'static AgentProfile,
    /// Id of the sub-agent that the event comes from, if any.
    pub agent_id: Option<&'c str>,
    /// The agent's version, if the agent reports it.
    pub version: Option<&'c str>,
    /// The event's JSON input, parsed on first use: most events ask nothing, and some contain whole files.
    words: LazyCell<Value, Box<dyn FnOnce() -> Value + 'c>>,
}

/// Returns the tasks that a transcript line gives to sub-agents, and true if no earlier line can hold an open
/// task.
pub(super) type ErrandsOfLine = fn(&Value) -> (Vec<String>, bool);

impl fmt::Debug for AgentEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, agent_id, version, words: _ } = self;
        f.debug_struct("AgentEvent").field("agent", &profile.names).field("agent_id", agent_id).field("version", version).finish()
    }
}

impl<'c> AgentEvent<'c> {
    /// Creates an event of this agent from the bytes it wrote to standard input.
    pub fn new(profile: &'static AgentProfile, agent_id: Option<&'c str>, version: Option<&'c str>, words: &'c [u8]) -> Self {
        let words = words.strip_prefix(b"\xef\xbb\xbf").unwrap_or(words);
        let words: Box<dyn FnOnce() -> Value + 'c> = Box::new(|| serde_json::from_slice(words).unwrap_or_default());
        Self { profile, agent_id, version, words: LazyCell::new(words) }
    }

    /// Returns the questions that an event of this name asks.
    pub fn questions(&self, event: &str) -> Vec<Question> {
        self.profile.kind_of(event).map(|kind| (self.profile.questions)(self, kind)).unwrap_or_default()
    }

    /// Returns the agent's input; null if it is not JSON.
    pub(super) fn words(&self) -> &Value {
        &self.words
    }

    /// Returns how the session begins, if the agent reports it: `startup`, `resume`, `compact`, `clear`,
    /// `fork`.
    pub(super) fn source(&self) -> &str {
        self.words()["source"].as_str().unwrap_or_default()
    }

    /// Asks for a brief at a session's start, except for a fork, which already has the text of its parent.
    pub(super) fn start(&self) -> Vec<Question> {
        let source = self.source();
        let (is_compacted, is_reset) = (source == "compact", matches!(source, "compact" | "clear"));
        let brief = Question::Brief(Beginning { is_compacted, is_reset, moment: Moment::Start });
        if source == "fork" { Vec::new() } else { vec![brief] }
    }

    /// Asks for one more turn when the agent's turn ends, unless this turn was asked for so.
    pub(super) fn turn_ended(&self) -> Vec<Question> {
        let words = self.words();
        let is_turn = words["hook_event_name"] == "Stop";
        let is_asked_for = words["stop_hook_active"].as_bool() == Some(true);
        if is_turn && !is_asked_for && self.agent_id.is_none() { vec![Question::Distil] } else { Vec::new() }
    }

    /// Resets a session that was cleared; for agents that get the brief with the first prompt.
    pub(super) fn cleared(&self) -> Vec<Question> {
        if self.source() == "clear" { vec![Question::Forgets] } else { Vec::new() }
    }

    /// Asks about the prompt, if a person typed it.
    pub(super) fn prompt(&self) -> Vec<Question> {
        self.typed().map(Question::Prompt).into_iter().collect()
    }

    /// Asks for a brief, then about the prompt; the first prompt of a session gets both.
    pub(super) fn prompt_with_brief(&self) -> Vec<Question> {
        self.typed().map(|prompt| vec![brief(Moment::FirstPrompt), Question::Prompt(prompt)]).unwrap_or_default()
    }

    /// Asks for a sub-agent's brief (standing notes), then about its task as a prompt if the task is known.
    pub(super) fn sub_agent(&self, errands: ErrandsOfLine) -> Vec<Question> {
        let errand = self.text("prompt").map(str::to_owned).or_else(|| errand(self.words(), errands));
        std::iter::once(brief(Moment::SubAgent)).chain(errand.map(Question::Prompt)).collect()
    }

    /// Asks for a sub-agent's brief, then about its task, which the event's prompt holds.
    pub(super) fn sub_agent_with_prompt(&self) -> Vec<Question> {
        std::iter::once(brief(Moment::SubAgent)).chain(self.prompt()).collect()
    }

    /// Resets the session after a compaction, for agents that report it with no other event.
    pub(super) fn compacted(&self) -> Vec<Question> {
        vec![Question::Forgets]
    }

    /// Resets after a compaction in a side conversation only: the agent starts a compacted session anew.
    pub(super) fn compacted_before_start(&self) -> Vec<Question> {
        if self.agent_id.is_some() { self.compacted() } else { Vec::new() }
    }

    /// Asks about the files that a tool reads or changes.
    pub(super) fn files(&self) -> Vec<Question> {
        tool::files(self.words())
    }

    /// Asks about the files or the command of a tool that is about to run.
    pub(super) fn files_or_command(&self) -> Vec<Question> {
        let files = self.files();
        if files.is_empty() { tool::command(self.words(), None).into_iter().collect() } else { files }
    }

    /// Asks about the failure that a command's output reports. The output of other tools may quote any error.
    pub(super) fn failure(&self) -> Vec<Question> {
        tool::failure(self.words()).into_iter().collect()
    }

    /// Asks about the output of a tool that is known to have failed.
    pub(super) fn failed(&self) -> Vec<Question> {
        tool::failed(self.words()).into_iter().collect()
    }

    /// Asks about the files of a tool that ran, or about the failure it reports.
    pub(super) fn files_or_failure(&self) -> Vec<Question> {
        tool::questions(self.words())
    }

    /// Returns the prompt without text that other hooks inserted; `None` if no person typed it.
    fn typed(&self) -> Option<String> {
        let is_typed = self.words()["source"].as_str().is_none_or(|source| !NOT_TYPED.contains(&source));
        let prompt = ["submitted_prompt", "prompt", "message"].iter().find_map(|key| self.text(key));
        let prompt = prompt.or_else(|| self.words()["userPromptSubmit"]["prompt"].as_str())?;
        let prompt = without_element(prompt, "hook_context");
        let prompt = prompt.trim();
        // Background tasks report their results as prompts.
        (is_typed && !prompt.is_empty() && !prompt.starts_with("<task-notification>")).then(|| prompt.to_owned())
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.words()[key].as_str().filter(|text| !text.trim().is_empty())
    }
}

/// Asks for a brief at this moment.
pub(super) fn brief(moment: Moment) -> Question {
    Question::Brief(Beginning { moment, ..Beginning::default() })
}

/// Returns `text` without every `<tag>…</tag>` element.
fn without_element(text: &str, tag: &str) -> String {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut rest = text.to_owned();
    while let Some(start) = rest.find(&open) {
        let Some(end) = rest[start..].find(&close).map(|at| start + at + close.len()) else { break };
        rest.replace_range(start..end, "");
    }
    rest
}

/// Returns the task of the sub-agent that begins, read from the end of the parent's transcript. Agents write
/// the task before they start the sub-agent, but not always in time; then the task is unknown.
fn errand(words: &Value, of_line: ErrandsOfLine) -> Option<String> {
    let mut file = File::open(words["transcript_path"].as_str()?).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let mut errands = Vec::new();
    for line in tail.rsplit(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
        let (found, is_before) = of_line(&line);
        errands.extend(found);
        if is_before {
            break;
        }
    }
    // If several sub-agents begin at once, the transcript does not tell which one this is.
    <[String; 1]>::try_from(errands).ok().map(|[errand]| errand)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents::named;

    /// The caller: the agent, its version and its sub-agent.
    #[derive(Clone, Copy)]
    struct Caller<'c> {
        agent: &'c str,
        agent_id: Option<&'c str>,
        version: Option<&'c str>,
    }

    fn asked(caller: Caller<'_>, event: &str, said: Value) -> Vec<Question> {
        let said = said.to_string();
        AgentEvent::new(named(caller.agent).unwrap(), caller.agent_id, caller.version, said.as_bytes()).questions(event)
    }

    fn of(agent: &str) -> Caller<'_> {
        Caller { agent, agent_id: None, version: None }
    }

    fn prompt(words: &str) -> Question {
        Question::Prompt(words.to_owned())
    }

    #[test]
    fn sessions_are_briefed_where_their_agents_keep_it() {
        let start = |is_compacted, is_reset| vec![Question::Brief(Beginning { is_compacted, is_reset, moment: Moment::Start })];
        for (agent, event, said, expected) in [
            ("claude-code", "SessionStart", json!({"source": "startup"}), start(false, false)),
            ("claude-code", "SessionStart", json!({"source": "compact"}), start(true, true)),
            ("claude-code", "SessionStart", json!({"source": "clear"}), start(false, true)),
            ("claude-code", "SessionStart", json!({"source": "fork"}), vec![]),
            ("codex", "SessionStart", json!({"source": "resume"}), start(false, false)),
            ("cursor", "sessionStart", json!({}), start(false, false)),
            ("cline", "TaskStart", json!({"hookName": "TaskStart"}), start(false, false)),
            ("cline", "TaskStart", json!({"hookName": "agent_start"}), vec![]),
            ("gemini", "SessionStart", json!({"source": "startup"}), vec![]),
            ("gemini", "SessionStart", json!({"source": "clear"}), vec![Question::Forgets]),
            ("gemini", "PreCompress", json!({"trigger": "auto"}), vec![]),
            ("qwen", "SessionStart", json!({"source": "startup"}), vec![]),
            ("qwen", "PreCompact", json!({}), vec![Question::Forgets]),
            ("opencode", "session.compacted", json!({}), vec![Question::Forgets]),
            ("codex", "PreCompact", json!({}), vec![]),
        ] {
            assert_eq!(asked(of(agent), event, said.clone()), expected, "{agent} {event} {said}");
        }
    }

    #[test]
    fn prompts_are_answered_and_the_first_brings_the_brief_where_nothing_else_does() {
        let first = |words: &str| vec![brief(Moment::FirstPrompt), prompt(words)];
        let hook = json!({"prompt": "<hook_context>&lt;recalled-data&gt;\nx</hook_context>\n\nwhy?"});
        for (agent, event, said, expected) in [
            ("claude-code", "UserPromptSubmit", json!({"prompt": "why?"}), vec![prompt("why?")]),
            ("codex", "UserPromptSubmit", json!({"prompt": "why?"}), vec![prompt("why?")]),
            ("cline", "UserPromptSubmit", json!({"userPromptSubmit": {"prompt": "why?"}}), vec![prompt("why?")]),
            ("opencode", "chat.message", json!({"prompt": "why?"}), vec![prompt("why?")]),
            ("kilo", "chat.message", json!({"prompt": "why?"}), vec![prompt("why?")]),
            ("gemini", "BeforeAgent", json!({"prompt": "why?"}), first("why?")),
            ("gemini", "BeforeAgent", hook, first("why?")),
            ("qwen", "UserPromptSubmit", json!({"prompt": "x", "submitted_prompt": "why?"}), first("why?")),
            ("qwen", "UserPromptSubmit", json!({"prompt": ""}), vec![]),
            ("claude-code", "UserPromptSubmit", json!({"prompt": "  "}), vec![]),
            ("claude-code", "UserPromptSubmit", json!({"prompt": "<task-notification>\ndone"}), vec![]),
            ("claude-code", "UserPromptSubmit", json!({"prompt": "go on", "source": "loop_wakeup"}), vec![]),
            ("claude-code", "UserPromptSubmit", json!({"prompt": "why?", "source": "user"}), vec![prompt("why?")]),
            ("cursor", "beforeSubmitPrompt", json!({"prompt": "why?"}), vec![]),
            ("claude-code", "Stop", json!({"prompt": "why?"}), vec![]),
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
            assert_eq!(asked(older, "preToolUse", viewed.clone()), [Question::File("gauges.txt".to_owned())]);
            assert_eq!(asked(older, "postToolUse", viewed.clone()), []);
        }
        assert_eq!(asked(newer, "preToolUse", viewed.clone()), []);
        assert_eq!(asked(newer, "postToolUse", viewed), [Question::File("gauges.txt".to_owned())]);
        let helper = Caller { agent_id: Some("a1"), ..newer };
        assert_eq!(asked(helper, "userPromptSubmitted", typed), [brief(Moment::SubAgent), prompt("why?")]);
    }

    #[test]
    fn sub_agents_are_told_of_their_errand_where_it_is_known() {
        let helper = |agent| Caller { agent_id: Some("a1"), ..of(agent) };
        for agent in ["claude-code", "codex", "opencode"] {
            assert_eq!(asked(helper(agent), "SubagentStart", json!({"agent_id": "a1"})), [brief(Moment::SubAgent)], "{agent}");
            let known = json!({"agent_id": "a1", "prompt": "find the gauge"});
            assert_eq!(
                asked(helper(agent), "SubagentStart", known),
                [brief(Moment::SubAgent), prompt("find the gauge")],
                "{agent}"
            );
        }
        assert_eq!(asked(helper("claude-code"), "PreCompact", json!({})), [Question::Forgets]);
    }

    #[test]
    fn errand_is_read_from_the_end_of_the_transcript() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.jsonl");
        let call = |prompt: &str| json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Agent", "input": {"prompt": prompt}}]}});
        let spawn =
            json!({"payload": {"type": "function_call", "name": "spawn_agent", "arguments": "{\"message\":\"find the pier\"}"}});
        let before = json!({"type": "user", "message": {"content": "go on"}});
        std::fs::write(&path, format!("{}\n{before}\n{}\n{{\"torn", call("an older one"), call("find the gauge"))).unwrap();
        let told = |agent: &str, path: &std::path::Path| match asked(of(agent), "SubagentStart", json!({"transcript_path": path}))
            .as_slice()
        {
            [_, Question::Prompt(errand)] => Some(errand.clone()),
            _ => None,
        };
        let (of_claude, of_codex) = (|path: &_| told("claude-code", path), |path: &_| told("codex", path));
        assert_eq!(of_claude(&path).as_deref(), Some("find the gauge"));
        assert_eq!(of_codex(&path), None);
        std::fs::write(&path, format!("{before}\n{}\n{}", call("find the gauge"), call("find the pier"))).unwrap();
        assert_eq!(of_claude(&path), None, "two at once");
        std::fs::write(&path, spawn.to_string()).unwrap();
        assert_eq!(of_codex(&path).as_deref(), Some("find the pier"));
        assert_eq!(of_claude(std::path::Path::new("/nowhere")), None);
    }
}
