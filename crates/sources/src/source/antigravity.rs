//! Antigravity: a line for each step in `brain/<conversation>/.system_generated/logs/transcript.jsonl`. `transcript_full.jsonl`
//! beside it has every text in full.
//!
//! - [`Antigravity`]: finds the logs; of the two logs of a conversation, the full one is read
//! - `StepReader`: steps to turns

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use yore_core::episode::{Episode, FileAction, Outcome, Role, ToolUse};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::address::path_of_address;
use super::shapes::{self, Message, add_file, append, drop_payloads, short, text_of};
use super::speaker::{self, Marks, sender};
use super::{Computer, EpisodeReader, Known, LineOwner, ReaderOptions, Reading, Source, SourceLine, Unit, files_below, problem};
use crate::parse::{NotJson, parse_line};

const KIND: &str = "antigravity";
/// The log with shortened texts, and the one with full texts.
const LOG: &str = "transcript.jsonl";
const WHOLE_LOG: &str = "transcript_full.jsonl";
/// Maximum size of a file in bytes. A larger one is not a conversation.
const MAX_FILE_BYTES: u64 = 512 << 20;
/// The folder of files that the program itself generated for a conversation.
const GENERATED: &str = ".system_generated";
/// Inputs that are shown to the person and not used by the tool.
const SHOWN: [&str; 3] = ["toolAction", "toolSummary", "toolCallTitle"];
/// Elements that the program adds after a prompt.
const PUT_IN: Marks =
    Marks { elements: &["ADDITIONAL_METADATA", "USER_SETTINGS_CHANGE", "EPHEMERAL_MESSAGE", "USER_INFORMATION"], tails: &[] };

/// The source for Antigravity; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Antigravity;

impl Source for Antigravity {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Antigravity"
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        let settings = computer.directory("GEMINI_CLI_HOME", "").join(".gemini");
        ["antigravity", "antigravity-ide", "antigravity-cli"].map(|name| settings.join(name).join("brain")).into()
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        if root.is_file() {
            return Unit::records(root.to_path_buf()).into_iter().collect();
        }
        let name = |file: &Path| file.file_name().and_then(|name| name.to_str()).unwrap_or("").to_owned();
        let mut logs = files_below(root, "jsonl", 6);
        logs.retain(|file| match name(file).as_str() {
            WHOLE_LOG => true,
            LOG => !file.with_file_name(WHOLE_LOG).is_file(),
            _ => false,
        });
        logs.into_iter().filter_map(Unit::records).collect()
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let session = session_of(&unit.path);
        let bytes = shapes::read_whole(&unit.path, MAX_FILE_BYTES)?;
        let (mut steps, mut values, mut torn) = (Vec::new(), Vec::new(), 0);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            // The last line may be half written.
            torn += u32::from(parse_line(line, &mut values) == Err(NotJson::Invalid) && line.ends_with(b"\n"));
            steps.append(&mut values);
        }
        let directory = steps.iter().flat_map(calls_of).find_map(|call| text_of(&inputs_of(call), "Cwd").map(str::to_owned));
        if steps.is_empty() || !take(json!({"type": "session", "session": session, "directory": directory})) {
            return Ok(());
        }
        for step in steps {
            let Value::Object(mut step) = step else { continue };
            // Thoughts are not part of the conversation.
            step.shift_remove("thinking");
            let index = step.get("step_index").and_then(Value::as_u64).map(|index| format!("step {index}"));
            let mut record = json!({"type": "step", "session": session, "step": step});
            if let Some(index) = index {
                record["id"] = index.into();
            }
            drop_payloads(&mut record);
            if !take(record) {
                return Ok(());
            }
        }
        if torn > 0 {
            take(problem("damaged", &format!("{torn} lines are no JSON")));
        }
        Ok(())
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(StepReader { options: options.clone(), session: None, model: None })
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner {
            session: text_of(value, "session").map(Into::into),
            message: text_of(value, "id"),
            about: None,
            directory: text_of(value, "directory"),
        }
    }
}

/// Returns the calls of a step.
fn calls_of(step: &Value) -> impl Iterator<Item = &Value> {
    step["tool_calls"].as_array().into_iter().flatten()
}

/// Returns the inputs of a call, each of which is JSON in a string.
fn inputs_of(call: &Value) -> Value {
    let inputs = call["args"].as_object().into_iter().flatten().filter(|(key, _)| !SHOWN.contains(&key.as_str()));
    let inputs = inputs.map(|(key, value)| {
        let inner = value.as_str().and_then(|text| serde_json::from_str(text).ok());
        (key.clone(), inner.unwrap_or_else(|| value.clone()))
    });
    Value::Object(inputs.collect::<Map<_, _>>())
}

/// Returns the conversation that a log belongs to: the folder that contains the generated files.
fn session_of(log: &Path) -> String {
    let folder = log.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == GENERATED)).and_then(Path::parent);
    let name = folder.and_then(Path::file_name).or_else(|| log.parent().and_then(Path::file_name));
    name.and_then(|name| name.to_str()).unwrap_or("antigravity").to_owned()
}

struct StepReader {
    options: ReaderOptions,
    session: Option<Arc<Episode>>,
    /// Display name of the model that was chosen last.
    model: Option<String>,
}

impl EpisodeReader for StepReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            let Some(session) = text_of(value, "session") else {
                out.push(Reading::Skip("wrong-shape", short(text_of(value, "type").unwrap_or(""))));
                continue;
            };
            if self.session.as_ref().is_none_or(|known| known.native_id != session) {
                // The directory of the first command, because no step names the project.
                let cwd = text_of(value, "directory").map(str::to_owned);
                self.session = Some(Arc::new(Episode { cwd, ..shapes::episode(KIND, session) }));
            }
            let step = &value["step"];
            match (text_of(value, "type"), text_of(step, "source"), text_of(step, "type"), text_of(value, "id")) {
                (Some("session"), ..) => {}
                (_, Some(source), Some(kind), Some(id)) => self.step(source, kind, id, step, line.mark.line, out),
                _ => out.push(Reading::Skip("wrong-shape", short(text_of(step, "type").unwrap_or("")))),
            }
        }
    }
}

impl StepReader {
    fn step(&mut self, source: &str, kind: &str, id: &str, value: &Value, line: u64, out: &mut Vec<Reading>) {
        let Some(episode) = self.session.clone() else { return };
        let content = text_of(value, "content").unwrap_or("");
        let time = shapes::time_of(&value["created_at"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
        let role = match (source, kind) {
            (_, "USER_INPUT") => Role::Human,
            (_, "PLANNER_RESPONSE") => Role::Assistant,
            (_, "CHECKPOINT") => Role::Summary,
            ("SYSTEM", _) => Role::Injected,
            _ => Role::ToolResult,
        };
        let mut message = Message::new(id.to_owned(), role, time);
        match role {
            Role::Human => {
                if let Some(model) = chosen_model(content) {
                    self.model = Some(model);
                }
                let (typed, others) = request_of(content);
                message.hear(typed, &PUT_IN, self.options.tool_bytes);
                append(&mut message.tool_text, &excerpt(others, self.options.tool_bytes));
                message.sent_by(sender(speaker::ANTIGRAVITY, value));
            }
            Role::Assistant => {
                message.model.clone_from(&self.model);
                message.say(content);
                for call in calls_of(value) {
                    self.call(call, &mut message);
                }
            }
            Role::ToolResult => {
                let outcome = match text_of(value, "status").unwrap_or("") {
                    "DONE" if shapes::exit_code(content).is_some_and(|code| code != 0) => Some(Outcome::Failed),
                    "DONE" => Some(Outcome::Done),
                    "ERROR" | "FAILED" => Some(Outcome::Failed),
                    "CANCELED" | "CANCELLED" | "INTERRUPTED" => Some(Outcome::Cancelled),
                    _ => None,
                };
                let words = words_of_answer(content);
                message.is_error = outcome == Some(Outcome::Failed);
                message.tool_text = excerpt(&super::own::without_own_output(&words), self.options.tool_bytes).into_owned();
                message.tools = vec![ToolUse { call_id: None, name: kind.to_ascii_lowercase(), outcome }];
            }
            _ => message.say(content),
        }
        message.cwd.clone_from(&episode.cwd);
        message.turns(KIND, &episode, self.options.tool_bytes, line, out);
    }

    fn call(&self, call: &Value, message: &mut Message) {
        let name = text_of(call, "name").unwrap_or("tool");
        let input = inputs_of(call);
        message.call(None, name, &input, self.options.tool_bytes);
        if message.tools.is_empty() {
            return;
        }
        let action = if name.starts_with("view") { FileAction::Read } else { FileAction::Written };
        for path in ["AbsolutePath", "TargetFile"].iter().filter_map(|key| text_of(&input, key)).filter_map(path_of_address) {
            add_file(&mut message.files, path, action);
        }
    }
}

/// Returns the text that the person typed, and what stands between its first and its last closing mark: what the program
/// adds may hold such a mark itself.
fn request_of(content: &str) -> (&str, &str) {
    const END: &str = "</USER_REQUEST>";
    let Some(inner) = content.trim_start().strip_prefix("<USER_REQUEST>") else { return (content, "") };
    let Some((typed, rest)) = inner.split_once(END) else { return (inner, "") };
    (typed.trim(), rest.rfind(END).map_or("", |end| rest[..end].trim()))
}

/// Returns the model that the person chose before a prompt.
fn chosen_model(content: &str) -> Option<String> {
    let (_, change) = content.split_once("`Model Selection` from ")?;
    let (_, model) = change.split_once(" to ")?;
    let model = model.split(". ").next()?.trim_end_matches('.').trim();
    (!model.is_empty() && model.len() < 100).then(|| model.to_owned())
}

/// Returns the answer of a tool, without the times before it.
fn words_of_answer(content: &str) -> String {
    let is_time = |line: &&str| line.starts_with("Created At: ") || line.starts_with("Completed At: ");
    let times = content.lines().take_while(is_time).count();
    content.lines().skip(times).collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::speaker::divide;

    #[test]
    fn prompts_stand_without_what_the_program_adds() {
        let content = "<USER_REQUEST>\nmend the pump\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nx\n</ADDITIONAL_METADATA>\n<USER_SETTINGS_CHANGE>\nThe user changed setting `Model Selection` from None to Harbour 3.5 (Medium). No need.\n</USER_SETTINGS_CHANGE>";
        assert_eq!(request_of(content), ("mend the pump", ""));
        assert_eq!(chosen_model(content).as_deref(), Some("Harbour 3.5 (Medium)"));
        assert_eq!(divide("mend it\n<ADDITIONAL_METADATA>\nx\n</ADDITIONAL_METADATA>", &PUT_IN).said, "mend it");
        let planted = "<USER_REQUEST>mend it</USER_REQUEST>\n<ADDITIONAL_METADATA>always x</USER_REQUEST></ADDITIONAL_METADATA>";
        assert_eq!(request_of(planted), ("mend it", "<ADDITIONAL_METADATA>always x"));
        assert_eq!(chosen_model("mend it"), None);
    }

    #[test]
    fn conversation_is_known_by_its_folder() {
        let log = Path::new("/h/.gemini/antigravity/brain/c-1/.system_generated/logs/transcript.jsonl");
        assert_eq!(session_of(log), "c-1");
        assert_eq!(session_of(Path::new("saved/c-2/transcript.jsonl")), "c-2");
    }
}
