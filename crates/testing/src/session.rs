//! Claude Code sessions with invented text from a word list: realistic in structure, the same for the same
//! seed.

use serde_json::{Value, json};
use yore_core::time::format_utc;

use crate::Random;

const NOUNS: &[&str] = &[
    "cache", "parser", "router", "index", "queue", "lock", "buffer", "session", "ticket", "worker", "schema", "cursor", "socket",
    "budget", "ledger", "widget", "harbour", "lantern", "orchard", "glacier", "compass", "meadow", "kettle", "violin", "pepper",
    "anchor", "basket", "candle", "desert", "engine", "feather", "garden",
];
const VERBS: &[&str] = &[
    "moves", "breaks", "holds", "drops", "counts", "reads", "writes", "merges", "splits", "waits", "retries", "signals",
    "rebuilds", "skips", "locks", "frees",
];
const MORE: &[&str] = &[
    "after the restart",
    "when two writers meet",
    "only on the second run",
    "because the limit was wrong",
    "before the migration",
    "under load",
    "in the nightly job",
    "with an empty file",
    "since last week",
    "as we agreed",
];

/// Builds the lines of one transcript.
#[derive(Clone, Debug)]
pub struct SessionBuilder {
    random: Random,
    session: String,
    cwd: String,
    branch: String,
    agent: Option<String>,
    at: i64,
    parent: Option<String>,
    lines: Vec<String>,
}

impl SessionBuilder {
    /// Creates an empty session; `seed` decides its id and all its words.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let session = random.uuid();
        Self {
            random,
            session,
            cwd: "/home/dev/tidepool".to_owned(),
            branch: "main".to_owned(),
            agent: None,
            // 2026-03-01 and some days more, depending on the seed.
            at: 1_772_323_200_000 + (seed % 200) as i64 * 86_400_000,
            parent: None,
            lines: Vec::new(),
        }
    }

    /// Returns the session's id.
    pub fn id(&self) -> &str {
        &self.session
    }

    /// Sets another session id, for forks.
    #[must_use]
    pub fn with_id(mut self, session: &str) -> Self {
        session.clone_into(&mut self.session);
        self
    }

    /// Sets the directory for the following lines.
    #[must_use]
    pub fn cwd(mut self, cwd: &str) -> Self {
        cwd.clone_into(&mut self.cwd);
        self
    }

    /// Sets the branch for the following lines.
    #[must_use]
    pub fn branch(mut self, branch: &str) -> Self {
        branch.clone_into(&mut self.branch);
        self
    }

    /// Sets the time of the next line, in milliseconds since 1970.
    #[must_use]
    pub fn at(mut self, at: i64) -> Self {
        self.at = at;
        self
    }

    /// Makes the following lines a sub-agent's.
    #[must_use]
    pub fn subagent(mut self, agent: &str) -> Self {
        self.agent = Some(agent.to_owned());
        self
    }

    /// Returns a sentence from the word list.
    pub fn sentence(&mut self) -> String {
        format!(
            "the {} {} the {} {}",
            self.random.pick(NOUNS),
            self.random.pick(VERBS),
            self.random.pick(NOUNS),
            self.random.pick(MORE)
        )
    }

    /// Adds a prompt that a person typed; returns the line's uuid.
    pub fn human(&mut self, text: &str) -> String {
        self.chain(json!({"type": "user", "message": {"role": "user", "content": text}}))
    }

    /// Adds a message of the model, thinking first: two lines of one message. Returns the text's uuid.
    pub fn assistant(&mut self, text: &str) -> String {
        let (message, request) = self.message();
        let thinking = self.sentence();
        self.part(&message, &request, &json!({"type": "thinking", "thinking": thinking, "signature": ""}));
        self.part(&message, &request, &json!({"type": "text", "text": text}))
    }

    /// Adds a tool call and its result; returns the uuids of both lines.
    pub fn tool(&mut self, name: &str, input: &Value, output: &str, is_error: bool) -> (String, String) {
        self.saying_tool("", name, input, output, is_error)
    }

    /// Adds a message that says something and calls a tool, and the tool's result; returns the uuids of the call and its result.
    pub fn saying_tool(&mut self, text: &str, name: &str, input: &Value, output: &str, is_error: bool) -> (String, String) {
        let (message, request) = self.message();
        if !text.is_empty() {
            self.part(&message, &request, &json!({"type": "text", "text": text}));
        }
        let id = format!("toolu_{}", self.random.text("0123456789abcdef", 20));
        let call = self.part(&message, &request, &json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        let mut block = json!({"tool_use_id": id, "type": "tool_result", "content": output});
        if is_error {
            block["is_error"] = json!(true);
        }
        let result = self.chain(json!({
            "type": "user",
            "message": {"role": "user", "content": [block]},
            "toolUseResult": {"stdout": output, "stderr": "", "interrupted": false},
        }));
        (call, result)
    }

    /// Lets the next line continue from an earlier one, given by its uuid.
    pub fn rewind_to(&mut self, uuid: &str) {
        self.parent = Some(uuid.to_owned());
    }

    /// Adds text that was typed while the model worked.
    pub fn queued(&mut self, text: &str) -> String {
        self.chain(
            json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": text, "commandMode": "prompt"}}),
        )
    }

    /// Adds a line of any form.
    pub fn raw(&mut self, line: &Value) {
        self.lines.push(line.to_string());
    }

    /// Adds a title that the user gave.
    pub fn title(&mut self, title: &str) {
        let session = self.session.clone();
        self.raw(&json!({"type": "custom-title", "customTitle": title, "sessionId": session}));
    }

    /// Adds about `count` turns of conversation, tools and titles.
    #[must_use]
    pub fn turns(mut self, count: usize) -> Self {
        let mut made = 0;
        while made < count {
            let (question, answer) = (self.sentence(), self.sentence());
            self.human(&format!("why is it that {question}?"));
            made += 1;
            if self.random.below(3) > 0 {
                let file = format!("src/{}.rs", self.random.pick(NOUNS));
                let output: Vec<String> =
                    (0..1 + self.random.below(6)).map(|at| format!("{at:>6}→{}", self.sentence())).collect();
                self.tool("Read", &json!({"file_path": file}), &output.join("\n"), false);
                made += 2;
            }
            if self.random.below(6) == 0 {
                let text = self.sentence();
                self.queued(&format!("also note that {text}"));
                made += 1;
            }
            self.assistant(&format!("I looked: {answer}."));
            made += 1;
            if self.random.below(5) == 0 {
                let (session, text) = (self.session.clone(), self.sentence());
                self.raw(&json!({"type": "ai-title", "aiTitle": text, "sessionId": session}));
            }
        }
        self
    }

    /// Returns the lines so far.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Copies another session's messages among its first lines under this session's id, as a fork
    /// does.
    pub fn copy_from(&mut self, other: &Self, count: usize) {
        for line in other.lines.iter().take(count) {
            let mut value: Value = serde_json::from_str(line).unwrap();
            if value["uuid"].is_string() {
                value["sessionId"] = json!(self.session);
                self.raw(&value);
            }
        }
    }

    /// Returns the whole file.
    pub fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    }

    fn message(&mut self) -> (String, String) {
        (format!("msg_{}", self.random.text("0123456789abcdef", 20)), format!("req_{}", self.random.text("0123456789abcdef", 20)))
    }

    fn part(&mut self, message: &str, request: &str, block: &Value) -> String {
        self.chain(json!({
            "type": "assistant",
            "requestId": request,
            "message": {"id": message, "type": "message", "role": "assistant", "model": "claude-opus-4-6", "content": [block]},
        }))
    }

    fn chain(&mut self, rest: Value) -> String {
        let uuid = self.random.uuid();
        self.at += 1_000 + self.random.below(60_000) as i64;
        let mut line = json!({
            "parentUuid": self.parent,
            "isSidechain": self.agent.is_some(),
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": "2.1.37",
            "gitBranch": self.branch,
        });
        if let Some(agent) = &self.agent {
            line["agentId"] = json!(agent);
        }
        if let (Some(line), Value::Object(rest)) = (line.as_object_mut(), rest) {
            line.extend(rest);
        }
        line["uuid"] = json!(uuid);
        line["timestamp"] = json!(format_utc(self.at));
        self.lines.push(line.to_string());
        self.parent = Some(uuid.clone());
        uuid
    }
}
