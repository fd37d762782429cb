//! A document as the transcript file that a coding agent would have left: with the lines, fields and
//! repetitions that make real files several times as large as their text.

use std::fs::{self, File};
use std::io::{BufWriter, Result, Write};
use std::path::Path;

use serde_json::{Map, Value, json};
use yore_core::time::format_utc;

use crate::vocabulary::Random;
use crate::workload::{Document, Turn, Workload, uuid};

/// Start of the first synthetic session: 2026-01-01, in milliseconds.
const BEGAN_MS: i64 = 1_767_225_600_000;
/// Interval between two sessions.
const SESSION_MS: i64 = 90_000;

/// Writes a synthetic session as lines of Claude Code. `number` is its position in the workload.
pub fn write_claude_code(document: &Document, number: u64, out: &mut dyn Write) -> Result<()> {
    let mut writer = Lines {
        out,
        random: Random::new(number.wrapping_mul(0xd6e8_feb8_6659_fd93)),
        session: &document.id,
        cwd: format!("/home/dev/src/{}", document.project),
        at: BEGAN_MS + number as i64 * SESSION_MS,
        parent: Value::Null,
        call: String::new(),
    };
    for turn in &document.turns {
        writer.turn(turn)?;
    }
    Ok(())
}

/// Writes the sessions of a workload as files of Claude Code, a directory for each project; `see` is shown each of them.
pub fn write_sessions(workload: &Workload, directory: &Path, see: &mut dyn FnMut(&Document)) -> Result<()> {
    let mut number = 0;
    workload.walk(&mut |document| {
        see(&document);
        let project = directory.join(&document.project);
        fs::create_dir_all(&project)?;
        let mut out = BufWriter::new(File::create(project.join(format!("{}.jsonl", document.id)))?);
        write_claude_code(&document, number, &mut out)?;
        number += 1;
        out.flush()
    })
}

/// Writes a document of a corpus as one line of the uniform format.
pub fn write_jsonl(document: &Document, out: &mut dyn Write) -> Result<()> {
    let turns: Vec<&Value> =
        document.turns.iter().filter_map(|turn| if let Turn::Given(turn) = turn { Some(turn) } else { None }).collect();
    serde_json::to_writer(&mut *out, &json!({"corpus_id": document.project, "doc_id": document.id, "turns": turns}))?;
    out.write_all(b"\n")
}

struct Lines<'w> {
    out: &'w mut dyn Write,
    random: Random,
    session: &'w str,
    cwd: String,
    at: i64,
    parent: Value,
    /// Id of the last tool call.
    call: String,
}

impl Lines<'_> {
    fn turn(&mut self, turn: &Turn) -> Result<()> {
        match turn {
            Turn::Human(text) => {
                let id = uuid(&mut self.random);
                let snapshot = json!({"type": "file-history-snapshot", "messageId": id, "snapshot": {"messageId": id,
                    "trackedFileBackups": {}, "timestamp": format_utc(self.at)}, "isSnapshotUpdate": false});
                self.write(&snapshot)?;
                self.record("user", json!({"message": {"role": "user", "content": text}, "todos": []}))
            }
            Turn::Assistant { text, call } => {
                let (message, request) = (self.token("msg_01"), self.token("req_01"));
                let mut blocks = Vec::new();
                if self.random.percent(45) {
                    let signature = (0..14).map(|_| self.token("")).collect::<String>();
                    blocks.push(
                        json!({"type": "thinking", "thinking": format!("Let me think about {text}"), "signature": signature}),
                    );
                }
                if !text.is_empty() {
                    blocks.push(json!({"type": "text", "text": text}));
                }
                if let Some((name, inputs)) = call {
                    self.call = self.token("toolu_01");
                    let inputs: Map<String, Value> =
                        inputs.iter().map(|(key, value)| ((*key).to_owned(), Value::from(value.as_str()))).collect();
                    blocks.push(json!({"type": "tool_use", "id": self.call, "name": name, "input": inputs}));
                }
                for block in blocks {
                    let tokens = self.random.between(1, 900);
                    self.record(
                        "assistant",
                        json!({"message": {"model": "claude-opus-4-5-20251101", "id": message, "type": "message",
                            "role": "assistant", "content": [block], "stop_reason": null, "stop_sequence": null,
                            "usage": {"input_tokens": 10, "cache_creation_input_tokens": 18_998,
                                "cache_read_input_tokens": 23_616,
                                "cache_creation": {"ephemeral_5m_input_tokens": 18_998, "ephemeral_1h_input_tokens": 0},
                                "output_tokens": tokens, "service_tier": "standard"}}, "requestId": request}),
                    )?;
                }
                if call.as_ref().is_some_and(|(name, _)| *name == "Bash") {
                    self.record(
                        "progress",
                        json!({"data": {"type": "hook_progress", "hookEvent": "PreToolUse", "hookName": "PreToolUse:Bash"},
                            "toolUseID": self.call, "parentToolUseID": self.call}),
                    )?;
                }
                Ok(())
            }
            Turn::ToolResult { text, is_error } => {
                let mut block = json!({"tool_use_id": self.call, "type": "tool_result", "content": text});
                if *is_error {
                    block["is_error"] = true.into();
                }
                let twin = json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false});
                self.record("user", json!({"message": {"role": "user", "content": [block]}, "toolUseResult": twin}))
            }
            Turn::Given(_) => Ok(()),
        }
    }

    /// Writes a line with the fields that every message has.
    fn record(&mut self, kind: &str, fields: Value) -> Result<()> {
        let id = uuid(&mut self.random);
        self.at += self.random.between(200, 9_000) as i64;
        let mut line = json!({"parentUuid": self.parent, "isSidechain": false, "userType": "external", "cwd": self.cwd,
            "sessionId": self.session, "version": "2.1.7", "gitBranch": "main", "type": kind});
        if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
            line.extend(fields);
        }
        line["uuid"] = id.as_str().into();
        line["timestamp"] = format_utc(self.at).into();
        self.parent = id.into();
        self.write(&line)
    }

    fn write(&mut self, line: &Value) -> Result<()> {
        serde_json::to_writer(&mut *self.out, line)?;
        self.out.write_all(b"\n")
    }

    /// Makes an id in the form of the model's provider.
    fn token(&mut self, prefix: &str) -> String {
        const LETTERS: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
        let mut token = prefix.to_owned();
        token.extend((0..22).map(|_| char::from(self.random.pick(LETTERS))));
        token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;
    use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};
    use yore_engine::{Engine, EngineOptions, ModelServers, RecallRequest, StoreOptions};

    fn ingest(write: impl Fn(&Document, u64, &mut dyn Write) -> Result<()>, workload: &Workload, source: &str) -> Engine {
        let directory = tempfile::tempdir().unwrap();
        let transcripts = directory.path().join("transcripts");
        std::fs::create_dir(&transcripts).unwrap();
        let mut number = 0;
        workload
            .walk(&mut |document| {
                number += 1;
                let mut out = std::fs::File::create(transcripts.join(format!("{number}.jsonl")))?;
                write(&document, number, &mut out)
            })
            .unwrap();
        let options = EngineOptions {
            directory: directory.keep().join("data"),
            create: true,
            store: StoreOptions::default(),
            redaction_patterns: Vec::new(),
            model: None,
            reranker: None,
            servers: ModelServers::default(),
            model_threads: 1,
            now: || BEGAN_MS,
            dynamics: yore_core::memory::dynamics::Dynamics::default(),
        };
        let engine = Engine::open(options).unwrap();
        let roots = vec![SourceRoot { source: source.to_owned(), path: transcripts }];
        let report = engine.ingest(&IngestRequest::new(roots), &mut Silent).unwrap();
        engine.sync_index(1_000, &mut |_| {}).unwrap();
        assert_eq!(report.turns_added, workload.turns as u64);
        assert!(report.skips.is_empty(), "{:?}", report.skips);
        engine
    }

    #[test]
    fn synthetic_sessions_are_read_as_exactly_the_turns_that_were_written() {
        let workload = Workload { turns: 300, corpus: Vec::new(), seed: 3 };
        let engine = ingest(write_claude_code, &workload, "claude-code");
        let mut asked = None;
        workload
            .walk(&mut |document| {
                asked.get_or_insert_with(|| document.turns[0].words());
                Ok(())
            })
            .unwrap();
        let asked = asked.unwrap();
        let found = engine.recall(&RecallRequest::new(asked.as_str())).unwrap();
        assert_eq!(found.hits[0].as_turn().unwrap().text, asked);
        std::fs::remove_dir_all(engine.directory().parent().unwrap()).unwrap();
    }

    #[test]
    fn corpus_is_read_as_exactly_the_turns_that_were_given() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("corpus.jsonl");
        let line = r#"{"corpus_id":"c","doc_id":"d","turns":[{"turn_id":"t1","role":"user","text":"one"},{"turn_id":"t2","role":"user","text":"two"}]}"#;
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let workload = Workload { turns: 7, corpus: vec![path], seed: 1 };
        let engine = ingest(|document, _, out| write_jsonl(document, out), &workload, "jsonl");
        std::fs::remove_dir_all(engine.directory().parent().unwrap()).unwrap();
    }
}
