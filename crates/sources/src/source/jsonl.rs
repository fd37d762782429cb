//! The uniform JSON-lines format of the benchmarks, also for importing any data: one document on each line. A line is
//! `{"corpus_id", "doc_id", "timestamp"?, "turns": [{"turn_id", "role", "speaker"?, "text", "timestamp"?}]}`.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Episode, EpisodeKind, Role, Turn};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::time::{RecordedTime, TimeQuality};

use super::{EpisodeReader, Known, LineOwner, ReadTurn, ReaderOptions, Reading, Source, SourceLine, Unit, files_below};

const KIND: &str = "jsonl";

/// The source for this format; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Jsonl;

impl Source for Jsonl {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn is_agent(&self) -> bool {
        false
    }

    fn display_name(&self) -> &'static str {
        "JSON lines"
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        let files = if root.is_file() { vec![root.to_path_buf()] } else { files_below(root, KIND, 8) };
        files.into_iter().filter_map(Unit::lines).collect()
    }

    fn reader(&self, _file: &Path, _state: &str, _options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(JsonlReader)
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner {
            session: native_session(value).map(Into::into),
            directory: value["corpus_id"].as_str(),
            ..LineOwner::default()
        }
    }
}

struct JsonlReader;

impl EpisodeReader for JsonlReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            read_document(value, line.mark.line, out);
        }
    }
}

/// Returns an id as text; it may be a string or a number.
fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn native_session(value: &Value) -> Option<String> {
    let document = id_text(&value["doc_id"])?;
    Some(match id_text(&value["corpus_id"]) {
        Some(corpus) => format!("{corpus}/{document}"),
        None => document,
    })
}

fn read_document(value: &Value, line: u64, out: &mut Vec<Reading>) {
    let Some(native_id) = native_session(value) else {
        out.push(Reading::Skip("no-document-id", String::new()));
        return;
    };
    let Some(turns) = value["turns"].as_array() else {
        out.push(Reading::Skip("no-turns", String::new()));
        return;
    };
    let is_document = turns.len() == 1 && role_of(&turns[0]).is_none();
    let episode = Arc::new(Episode {
        id: EpisodeId::derive(KIND, &native_id),
        agent: KIND.to_owned(),
        native_id,
        kind: if is_document { EpisodeKind::Document } else { EpisodeKind::Session },
        parent_native_id: None,
        project: id_text(&value["corpus_id"]),
        cwd: None,
        remote: None,
        client_version: None,
    });
    let document_time = value["timestamp"].as_str().map(RecordedTime::parse).filter(|time| time.utc.is_some());
    for (at, turn) in turns.iter().enumerate() {
        let Some(text) = turn["text"].as_str() else {
            out.push(Reading::Skip("turn-without-text", String::new()));
            continue;
        };
        let native_id = id_text(&turn["turn_id"]).unwrap_or_else(|| format!("#{at}"));
        let time = match turn["timestamp"].as_str().map(RecordedTime::parse) {
            Some(time) if time.utc.is_some() => time,
            _ => {
                document_time.clone().map_or(RecordedTime::UNKNOWN, |time| RecordedTime { quality: TimeQuality::Session, ..time })
            }
        };
        out.push(Reading::Turn(Box::new(ReadTurn {
            turn: Turn {
                id: TurnId::derive(KIND, &episode.native_id, &native_id, 0),
                native_id,
                role: role_of(turn).unwrap_or(Role::Assistant),
                speaker: turn["speaker"].as_str().filter(|name| !matches!(*name, "user" | "assistant")).map(str::to_owned),
                caveat: None,
                text: text.to_owned(),
                tool_text: String::new(),
                is_error: false,
                time,
                cwd: None,
                branch: None,
                model: None,
                parts: 1,
                tools: Vec::new(),
                files: Vec::new(),
            },
            episode: Arc::clone(&episode),
            line,
        })));
    }
}

/// Returns the role of a turn, or `None` for a passage without a speaker.
fn role_of(turn: &Value) -> Option<Role> {
    match turn["role"].as_str()? {
        "user" | "human" => Some(Role::Human),
        "assistant" | "ai" | "model" => Some(Role::Assistant),
        "tool" => Some(Role::ToolResult),
        "system" => Some(Role::System),
        _ => None,
    }
}
