//! A simulated agent that behaves like Claude Code, according to its documentation and its files. It reads
//! its settings, calls hooks with the documented input, handles their output as documented, starts MCP
//! servers, and writes a transcript that contains everything it was given.
//!
//! - [`Agent`]: the program with its settings and plugins
//! - [`Session`]: one conversation: prompts, answers, tools, compaction, the end
//! - `Server`: an MCP server that runs for a session
//!
//! It is stricter than Claude Code where one of yore's hooks could do harm: a hook that fails, blocks, writes
//! to standard error, gives an undocumented answer or exceeds the length limit fails the test.
#![cfg(unix)]

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent_matcher::wants;
use crate::environment::{PROGRAM, Runner, TestEnvironment};
use crate::transcript::Transcript;

/// Longest output of a hook; a longer one is put into a file, and only its beginning is read.
const MOST_CHARS: usize = 10_000;
/// Default timeout of a hook, in seconds.
const TIMEOUT: u64 = 600;
/// Longest time to wait for anything.
const LONG: Duration = Duration::from_secs(60);
/// Sessions begin on the days after this one, 2026-06-01.
const FIRST_DAY: i64 = 1_780_272_000_000;
const DAY: i64 = 86_400_000;

/// The simulated agent.
pub(crate) struct Agent<'e> {
    environment: &'e TestEnvironment,
    plugins: Vec<PathBuf>,
    sessions: Cell<i64>,
}

impl<'e> Agent<'e> {
    /// Creates an agent without hooks and servers.
    pub(crate) fn new(environment: &'e TestEnvironment) -> Self {
        Self { environment, plugins: Vec::new(), sessions: Cell::new(0) }
    }

    /// Creates an agent with yore in its settings, installed as a user does it.
    pub(crate) fn install(environment: &'e TestEnvironment) -> Self {
        let _ = environment.yore(["install", "claude-code"]).run().success();
        Self::new(environment)
    }

    /// Enables a plugin.
    pub(crate) fn plugin(mut self, folder: impl Into<PathBuf>) -> Self {
        self.plugins.push(folder.into());
        self
    }

    /// Starts a session in this directory; returns it with the text from hooks.
    pub(crate) fn session(&self, directory: impl AsRef<Path>) -> (Session<'_>, Option<String>) {
        let number = self.sessions.replace(self.sessions.get() + 1) + 1;
        let id = format!("a9e5{number:04x}-{number:04x}-4000-8{number:03x}-{number:012x}");
        let directory = directory.as_ref().to_path_buf();
        let mut session = Session {
            agent: self,
            transcript: Transcript::new(&id, directory.to_str().unwrap()).at(FIRST_DAY + number * DAY),
            id,
            directory,
            written: 0,
            servers: None,
            told: Vec::new(),
        };
        let told = session.begin("startup");
        (session, told)
    }

    /// Returns the files that name hooks: the user's, the project's, the plugins'; each with the folder of
    /// its plugin.
    fn hook_files(&self, directory: &Path) -> Vec<(PathBuf, Option<&Path>)> {
        let mut files = vec![(self.environment.claude().join("settings.json"), None)];
        files.extend(["settings.json", "settings.local.json"].map(|name| (directory.join(".claude").join(name), None)));
        files.extend(self.plugins.iter().map(|plugin| (plugin.join("hooks/hooks.json"), Some(plugin.as_path()))));
        files
    }

    /// Returns the MCP servers by name, as configured for this directory.
    fn servers(&self, directory: &Path) -> Vec<(String, Value)> {
        let own = json_of(&self.environment.path("home/.claude.json"));
        let mut found = vec![(String::new(), own["mcpServers"].clone())];
        found.push((String::new(), own["projects"][directory.to_str().unwrap()]["mcpServers"].clone()));
        found.push((String::new(), json_of(&directory.join(".mcp.json"))["mcpServers"].clone()));
        for plugin in &self.plugins {
            let name = json_of(&plugin.join(".claude-plugin/plugin.json"))["name"].as_str().unwrap().to_owned();
            found.push((format!("plugin_{name}_"), json_of(&plugin.join(".mcp.json"))["mcpServers"].clone()));
        }
        let named = |(prefix, servers): (String, Value)| {
            let servers = servers.as_object().cloned().unwrap_or_default();
            servers.into_iter().map(move |(name, server)| (format!("{prefix}{name}"), server)).collect::<Vec<_>>()
        };
        found.into_iter().flat_map(named).collect()
    }
}

/// Returns a file's JSON; null if the file does not exist.
fn json_of(path: &Path) -> Value {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        Err(_) => Value::Null,
    }
}

/// A hook that matches an event.
struct Handler<'a> {
    command: String,
    arguments: Option<Vec<String>>,
    timeout: Duration,
    is_async: bool,
    plugin: Option<&'a Path>,
}

/// Output of a hook.
#[derive(Debug)]
pub(crate) struct Told {
    /// The event.
    pub(crate) event: String,
    /// Text that is put before the model.
    pub(crate) text: String,
}

/// A conversation.
pub(crate) struct Session<'a> {
    agent: &'a Agent<'a>,
    id: String,
    directory: PathBuf,
    transcript: Transcript,
    /// Number of bytes of the transcript that are in its file.
    written: usize,
    /// The session's MCP servers, once one was called.
    servers: Option<Vec<Server>>,
    /// All output of hooks, in order.
    pub(crate) told: Vec<Told>,
}

impl Session<'_> {
    /// Returns the native id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the path of the transcript.
    pub(crate) fn transcript_path(&self) -> PathBuf {
        let cwd = self.directory.to_str().unwrap();
        let slug: String = cwd.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
        self.agent.environment.projects().join(slug).join(format!("{}.jsonl", self.id))
    }

    /// Resumes the session; the text it was given earlier is still before the model.
    pub(crate) fn resume(&mut self) -> Option<String> {
        self.begin("resume")
    }

    fn begin(&mut self, source: &str) -> Option<String> {
        self.event("SessionStart", Some(source), json!({"source": source, "model": "claude-opus-4-8"}))
    }

    /// Types a prompt; returns the text that hooks add to it.
    pub(crate) fn prompt(&mut self, text: &str) -> Option<String> {
        // In the transcript, the prompt comes before the text that hooks add.
        self.transcript.node(json!({"type": "user", "message": {"role": "user", "content": text}}));
        let told = self.event("UserPromptSubmit", None, json!({"prompt": text}));
        self.flush();
        told
    }

    /// The model answers and stops.
    pub(crate) fn says(&mut self, text: &str) {
        self.transcript = self.transcript.clone().assistant(text);
        self.flush();
        let told = self.event("Stop", None, json!({"stop_hook_active": false, "last_assistant_message": text}));
        assert_eq!(told, None, "a model that stopped is told nothing");
    }

    /// The model calls a tool that succeeds; returns the text that hooks add.
    pub(crate) fn tool(&mut self, name: &str, input: Value, response: Value) -> Option<String> {
        self.call(name, &input, &response, false)
    }

    /// The model calls a tool that fails with this error.
    pub(crate) fn fails(&mut self, name: &str, input: Value, error: &str) -> Option<String> {
        self.call(name, &input, &json!(error), true)
    }

    /// Runs a shell command that exits with 0, with any output.
    pub(crate) fn bash(&mut self, command: &str, output: &str) -> Option<String> {
        let response = json!({"stdout": output, "stderr": "", "interrupted": false, "isImage": false});
        self.tool("Bash", json!({"command": command}), response)
    }

    /// The model changes a file.
    pub(crate) fn edit(&mut self, path: impl AsRef<Path>) -> Option<String> {
        let path = path.as_ref().to_str().unwrap();
        let input = json!({"file_path": path, "old_string": "before", "new_string": "after"});
        let response = json!({"filePath": path, "oldString": "before", "newString": "after", "structuredPatch": []});
        self.tool("Edit", input, response)
    }

    fn call(&mut self, name: &str, input: &Value, response: &Value, is_error: bool) -> Option<String> {
        let id = format!("toolu_{}_{}", &self.id[..8], self.transcript.line_count());
        let called = json!({"tool_name": name, "tool_input": input, "tool_use_id": id});
        let before = self.event("PreToolUse", Some(name), called.clone());
        let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        self.transcript = self.transcript.clone().message(&[call]);
        let output = match response {
            Value::String(text) => json!(text),
            Value::Object(fields) if fields.contains_key("stdout") => fields["stdout"].clone(),
            other => other.clone(),
        };
        let output = if output.is_string() || output.is_array() { output } else { json!(output.to_string()) };
        self.transcript.node(json!({
            "type": "user",
            "message": {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error},
            ]},
            "toolUseResult": response,
        }));
        let mut answered = called;
        let after = if is_error {
            answered["error"] = response.clone();
            answered["is_interrupt"] = json!(false);
            self.event("PostToolUseFailure", Some(name), answered)
        } else {
            answered["tool_response"] = response.clone();
            answered["duration_ms"] = json!(12);
            self.event("PostToolUse", Some(name), answered)
        };
        self.flush();
        joined(before.into_iter().chain(after).collect())
    }

    /// Compacts the session: the model gets a summary in place of the conversation. `meanwhile` runs while
    /// the summary is written, which takes a model a minute.
    pub(crate) fn compact(&mut self, summary: &str, meanwhile: impl FnOnce()) -> Option<String> {
        let told = self.event("PreCompact", Some("auto"), json!({"trigger": "auto", "custom_instructions": ""}));
        assert_eq!(told, None, "PreCompact takes no context");
        meanwhile();
        self.transcript.node(json!({
            "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": false, "level": "info",
            "compactMetadata": {"trigger": "auto", "preTokens": 168_483},
        }));
        let text = format!("This session is being continued from a previous conversation that ran out of context.\n{summary}");
        self.transcript.node(json!({
            "type": "user", "message": {"role": "user", "content": text}, "isCompactSummary": true, "isVisibleInTranscriptOnly": true,
        }));
        self.flush();
        let told = self.event("PostCompact", Some("auto"), json!({"trigger": "auto", "compact_summary": summary}));
        assert_eq!(told, None, "PostCompact takes no context");
        self.begin("compact")
    }

    /// Ends the session; the servers exit.
    pub(crate) fn end(&mut self) {
        if let Some(servers) = self.servers.take() {
            servers.into_iter().for_each(Server::close);
        }
        let told = self.event("SessionEnd", Some("prompt_input_exit"), json!({"reason": "prompt_input_exit"}));
        assert_eq!(told, None, "nobody is left to be told");
    }

    /// The model calls a tool of an MCP server; returns its result.
    pub(crate) fn call_tool(&mut self, tool: &str, arguments: Value) -> Value {
        if self.servers.is_none() {
            let configured = self.agent.servers(&self.directory);
            self.servers = Some(configured.into_iter().map(|(name, server)| self.start(name, &server)).collect());
        }
        let servers = self.servers.as_mut().unwrap();
        let server = servers.iter_mut().find(|server| server.tools.iter().any(|known| known == tool));
        let server = server.unwrap_or_else(|| panic!("no server has a tool {tool}"));
        let name = format!("mcp__{}__{tool}", server.name);
        let answer = server.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer["error"].is_null(), "{answer}");
        let result = answer["result"].clone();
        let _ = self.call(&name, &arguments, &result["content"], result["isError"] == true);
        result
    }

    fn start(&self, name: String, server: &Value) -> Server {
        let mut runner = self.runner(server["command"].as_str().unwrap());
        for argument in server["args"].as_array().into_iter().flatten() {
            runner = runner.arg(argument.as_str().unwrap());
        }
        for (name, value) in server["env"].as_object().into_iter().flatten() {
            runner = runner.env(name, value.as_str().unwrap());
        }
        Server::start(name, runner)
    }

    /// Returns a runner with the environment that hooks and servers have.
    fn runner(&self, program: &str) -> Runner {
        let folder = Path::new(PROGRAM).parent().unwrap().to_str().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let runner = self.agent.environment.program(program).current_dir(&self.directory);
        runner
            .env("PATH", format!("{folder}:{path}"))
            .env("CLAUDE_PROJECT_DIR", &self.directory)
            .env("CLAUDE_CODE_SESSION_ID", &self.id)
            .env("CLAUDECODE", "1")
    }

    /// Writes the pending part of the transcript into its file.
    fn flush(&mut self) {
        let content = self.transcript.content();
        let path = self.transcript_path();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(&content.as_bytes()[self.written..]).unwrap();
        self.written = content.len();
    }

    /// Calls the hooks that match an event, all at once; returns the text for the model.
    fn event(&mut self, event: &str, matched: Option<&str>, fields: Value) -> Option<String> {
        let mut said = json!({
            "session_id": self.id, "transcript_path": self.transcript_path(), "cwd": self.directory,
            "permission_mode": "default", "hook_event_name": event,
        });
        said.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let said = said.to_string();
        let handlers = self.handlers(event, matched);
        let runners: Vec<Runner> = handlers.iter().map(|handler| self.call_of(handler).stdin(&said)).collect();
        let outputs: Vec<String> = std::thread::scope(|scope| {
            let running = handlers.iter().zip(runners).map(|(handler, runner)| scope.spawn(|| output_of(handler, runner)));
            running.collect::<Vec<_>>().into_iter().map(|run| run.join().unwrap()).collect()
        });
        let commands: Vec<String> = handlers.into_iter().map(|handler| handler.command).collect();
        let hook = matched.map_or_else(|| event.to_owned(), |matched| format!("{event}:{matched}"));
        let mut texts = Vec::new();
        for (command, output) in commands.into_iter().zip(outputs) {
            let text = taken(event, &output);
            if output.is_empty() {
                continue;
            }
            self.transcript.node(json!({"type": "attachment", "attachment": {
                "type": "hook_success", "hookName": hook, "toolUseID": event, "hookEvent": event, "content": "",
                "stdout": output, "stderr": "", "exitCode": 0, "command": command, "durationMs": 12,
            }}));
            if let Some(text) = text {
                self.transcript.node(json!({"type": "attachment", "attachment": {
                    "type": "hook_additional_context", "content": [text], "hookName": hook, "toolUseID": event, "hookEvent": event,
                }}));
                self.told.push(Told { event: event.to_owned(), text: text.clone() });
                texts.push(text);
            }
        }
        joined(texts)
    }

    /// Returns the hooks that match an event, each command once.
    fn handlers(&self, event: &str, matched: Option<&str>) -> Vec<Handler<'_>> {
        let mut handlers: Vec<Handler<'_>> = Vec::new();
        for (file, plugin) in self.agent.hook_files(&self.directory) {
            let groups = json_of(&file)["hooks"][event].clone();
            for group in groups.as_array().into_iter().flatten() {
                // An event without a subject has no matcher.
                let is_wanted = matched.is_none_or(|name| wants(group["matcher"].as_str().unwrap_or_default(), name));
                for hook in group["hooks"].as_array().into_iter().flatten().filter(|_| is_wanted) {
                    assert_eq!(hook["type"], "command", "{}", file.display());
                    let words = |list: &Value| {
                        list.as_array().map(|words| words.iter().map(|word| word.as_str().unwrap().to_owned()).collect())
                    };
                    let handler = Handler {
                        command: hook["command"].as_str().unwrap().to_owned(),
                        arguments: words(&hook["args"]),
                        timeout: Duration::from_secs(hook["timeout"].as_u64().unwrap_or(TIMEOUT)),
                        is_async: hook["async"] == true,
                        plugin,
                    };
                    let is_known =
                        |known: &Handler<'_>| (&known.command, &known.arguments) == (&handler.command, &handler.arguments);
                    if !handlers.iter().any(is_known) {
                        handlers.push(handler);
                    }
                }
            }
        }
        handlers
    }

    /// Returns the runner that calls a hook.
    fn call_of(&self, handler: &Handler<'_>) -> Runner {
        let runner = match &handler.arguments {
            Some(arguments) => self.runner(&handler.command).args(arguments),
            None => self.runner("/bin/sh").args(["-c", &handler.command]),
        };
        match handler.plugin {
            Some(plugin) => runner.env("CLAUDE_PLUGIN_ROOT", plugin),
            None => runner,
        }
    }
}

/// Returns the output of a hook; empty if it took too long.
fn output_of(handler: &Handler<'_>, runner: Runner) -> String {
    let began = Instant::now();
    let outcome = runner.run().success();
    assert_eq!(outcome.stderr, "", "{}", handler.command);
    let is_late = began.elapsed() > handler.timeout;
    if is_late || handler.is_async { String::new() } else { outcome.stdout }
}

fn joined(texts: Vec<String>) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Returns the text that the model gets from a hook's output.
fn taken(event: &str, output: &str) -> Option<String> {
    let plain = output.trim();
    if !plain.starts_with('{') {
        let is_taken = matches!(event, "SessionStart" | "UserPromptSubmit");
        assert!(is_taken || plain.is_empty(), "{event} takes no plain text: {plain}");
        return (!plain.is_empty()).then(|| plain.to_owned());
    }
    let said: Value = serde_json::from_str(plain).unwrap_or_else(|error| panic!("{event}: {error}: {plain}"));
    for key in ["decision", "continue", "stopReason", "systemMessage"] {
        assert!(said[key].is_null(), "{event}: {key} is not a memory's to say");
    }
    let specific = &said["hookSpecificOutput"];
    if specific.is_null() {
        return None;
    }
    assert_eq!(specific["hookEventName"], event);
    for key in ["permissionDecision", "updatedInput", "initialUserMessage"] {
        assert!(specific[key].is_null(), "{event}: {key} is not a memory's to say");
    }
    let takes = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart"];
    assert!(takes.contains(&event), "{event} takes no context: {plain}");
    let text = specific["additionalContext"].as_str()?;
    assert!(text.chars().count() <= MOST_CHARS, "{event}: {} characters", text.chars().count());
    Some(text.to_owned())
}

/// An MCP server of a session.
struct Server {
    name: String,
    tools: Vec<String>,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
}

impl Server {
    fn start(name: String, runner: Runner) -> Self {
        let mut child = runner.start_piped();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        // The thread ends with the server's output.
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let stdin = child.stdin.take();
        let mut server = Self { name, tools: Vec::new(), child, stdin, lines, last_id: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {"name": "claude-code", "version": "2.1.150"}});
        assert!(server.ask("initialize", hello)["result"]["serverInfo"].is_object());
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let listed = server.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        server.tools = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        server
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
        stdin.flush().unwrap();
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}));
        loop {
            let line = self.lines.recv_timeout(LONG).unwrap_or_else(|error| panic!("{method}: {error}"));
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            // Notifications may come in between.
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Closes its input and waits until it exits.
    fn close(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has exited already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
