//! Transcripts in the form that Claude Code writes, with invented content.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A conversation that grows line by line.
#[derive(Clone)]
pub(crate) struct Transcript {
    session: String,
    cwd: String,
    branch: String,
    agent: Option<String>,
    parent: Option<String>,
    /// Milliseconds since 1970 of the last line.
    at: i64,
    serial: u32,
    lines: Vec<String>,
}

impl Transcript {
    /// Creates a conversation; `session` is a UUID.
    pub(crate) fn new(session: &str, cwd: &str) -> Self {
        Self {
            session: session.to_owned(),
            cwd: cwd.to_owned(),
            branch: "main".to_owned(),
            agent: None,
            parent: None,
            at: 1_772_442_000_000,
            serial: 0,
            lines: Vec::new(),
        }
    }

    /// Sets the time before the first line.
    pub(crate) fn at(mut self, milliseconds: i64) -> Self {
        self.at = milliseconds;
        self
    }

    pub(crate) fn on(mut self, branch: &str) -> Self {
        branch.clone_into(&mut self.branch);
        self
    }

    /// Starts a side conversation of this session, now.
    pub(crate) fn subagent(&self, agent: &str) -> Self {
        Self { agent: Some(agent.to_owned()), parent: None, lines: Vec::new(), serial: self.serial + 0x10_0000, ..self.clone() }
    }

    /// Makes another session that begins with a copy of this one's messages.
    pub(crate) fn fork(&self, session: &str) -> Self {
        let lines = self.lines.iter().map(|line| line.replace(&self.session, session)).collect();
        Self { session: session.to_owned(), serial: self.serial + 0x20_0000, lines, ..self.clone() }
    }

    fn uuid(&mut self) -> String {
        self.serial += 1;
        // Different from the session's own beginning, as in real transcripts.
        format!("{}{}-0000-4000-8000-{:012x}", &self.session[19..23], &self.session[9..13], self.serial)
    }

    fn time(&mut self) -> String {
        self.at += 20_000;
        jiff::Timestamp::from_millisecond(self.at).unwrap().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
    }

    /// Adds a line of the message tree.
    pub(crate) fn node(&mut self, fields: Value) {
        let uuid = self.uuid();
        let mut line = json!({
            "parentUuid": self.parent, "isSidechain": self.agent.is_some(), "userType": "external", "cwd": self.cwd,
            "sessionId": self.session, "version": "2.1.150", "gitBranch": self.branch,
        });
        for (name, value) in fields.as_object().unwrap() {
            line[name] = value.clone();
        }
        if let Some(agent) = &self.agent {
            line["agentId"] = json!(agent);
        }
        line["uuid"] = json!(uuid);
        line["timestamp"] = json!(self.time());
        self.parent = Some(uuid);
        self.lines.push(line.to_string());
    }

    /// Adds a line unchanged.
    pub(crate) fn raw(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    pub(crate) fn human(mut self, text: &str) -> Self {
        self.node(json!({"type": "user", "message": {"role": "user", "content": text}}));
        self
    }

    /// Adds a message of the model on one line.
    pub(crate) fn assistant(self, text: &str) -> Self {
        self.message(&[json!({"type": "text", "text": text})])
    }

    /// Adds a message of the model, a line for each block.
    pub(crate) fn message(mut self, blocks: &[Value]) -> Self {
        let id = format!("msg_{}_{}", &self.session[..8], self.serial);
        let request = id.replace("msg", "req");
        for (at, block) in blocks.iter().enumerate() {
            let reason = if at + 1 < blocks.len() { Value::Null } else { json!("end_turn") };
            self.node(json!({
                "type": "assistant", "requestId": request,
                "message": {"model": "claude-opus-4-8", "id": id, "type": "message", "role": "assistant", "content": [block],
                            "stop_reason": reason, "stop_sequence": null, "usage": {"input_tokens": 9, "output_tokens": at}},
            }));
        }
        self
    }

    /// Adds thoughts, text and a tool call on three lines, and the tool's result.
    pub(crate) fn tool(self, words: &str, command: &str, output: &str, is_error: bool) -> Self {
        let id = format!("toolu_{}_{}", &self.session[..8], self.serial);
        let mut this = self.message(&[
            json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
            json!({"type": "text", "text": words}),
            json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}),
        ]);
        this.node(json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error}]},
            "toolUseResult": {"stdout": output, "stderr": "", "interrupted": false, "isImage": false},
        }));
        this
    }

    pub(crate) fn snapshot(mut self, path: &str) -> Self {
        let (message, time) = (self.parent.clone(), self.time());
        let line = json!({
            "type": "file-history-snapshot", "messageId": message, "isSnapshotUpdate": false,
            "snapshot": {"messageId": message, "trackedFileBackups": {path: {"version": 1}}, "timestamp": time},
        });
        self.lines.push(line.to_string());
        self
    }

    pub(crate) fn title(mut self, title: &str) -> Self {
        self.lines.push(json!({"type": "ai-title", "aiTitle": title, "sessionId": self.session}).to_string());
        self
    }

    pub(crate) fn content(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Keeps only the first lines.
    pub(crate) fn first_lines(&self, count: usize) -> Self {
        Self { lines: self.lines[..count.min(self.lines.len())].to_vec(), ..self.clone() }
    }

    pub(crate) fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Writes the file where Claude Code would.
    pub(crate) fn write(&self, projects: &Path) -> PathBuf {
        let slug: String = self.cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let mut path = projects.join(slug);
        match &self.agent {
            Some(agent) => path.extend([&*self.session, "subagents", &format!("agent-{agent}.jsonl")]),
            None => path.push(format!("{}.jsonl", self.session)),
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, self.content()).unwrap();
        path
    }
}
