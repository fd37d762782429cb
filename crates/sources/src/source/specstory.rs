//! SpecStory: `.specstory/history/*.md` in a project, a Markdown file for each session of another agent. A file is written anew
//! as the session grows.
//!
//! - [`SpecStory`]: finds the files
//! - `messages`: lines to messages
//! - `Session`: messages to turns
//!
//! A message begins with a line such as `_**User (2026-01-02 03:04:05Z)**_`. What stands in an element of the program (calls of
//! tools, thoughts) may quote such lines.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use yore_core::episode::{Caveat, Episode, FileAction, Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use super::claude_code::classify_all;
use super::conversation::{Conversation, ConversationReader};
use super::shapes::{self, Answer, Message, add_file, append, exit_code, text_of};
use super::{EpisodeReader, Known, LineOwner, ReaderOptions, Reading, Source, Unit, files_below, open};

const KIND: &str = "specstory";
/// Folder of the histories in a project.
const HISTORY: &str = ".specstory/history";
/// Maximum size of a file in bytes. A larger one is not a history.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// Number of bytes at the start of a file that are examined.
const HEAD_BYTES: u64 = 64 << 10;
/// Maximum depth of a history below a root.
const MAX_DEPTH: usize = 8;

/// Start time that sorts after any session read for the first time: a history is read only if the agent's own files are not.
const AFTER_ALL: &str = "9999";
/// Word in the line that names a session, before its id.
const SESSION: &str = " Session ";
/// Name of Claude Code in that line.
const CLAUDE: &str = "Claude Code";
/// Start of a call in older histories, which have no element for it.
const OLDER_CALL: &str = "Tool use: **";

/// The source for SpecStory; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct SpecStory;

impl Source for SpecStory {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "SpecStory"
    }

    fn file_in_project(&self) -> Option<&'static str> {
        Some(HISTORY)
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        let files = if root.is_file() {
            vec![root.to_path_buf()]
        } else {
            files_below(root, "md", MAX_DEPTH).into_iter().filter(|file| is_history(file)).collect()
        };
        files.into_iter().filter_map(|file| Some(Unit { began: Some(AFTER_ALL.to_owned()), ..Unit::records(file)? })).collect()
    }

    fn copy_of(&self, unit: &Unit) -> Option<String> {
        head_of(&unit.path)?.lines().find_map(session_of).map(|(_, id)| id.to_owned())
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let bytes = shapes::read_whole(&unit.path, MAX_FILE_BYTES)?;
        messages(&String::from_utf8_lossy(&bytes), &unit.path, take);
        Ok(())
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ConversationReader::<Session>::new(KIND, options))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner { session: text_of(value, "session").map(Into::into), directory: text_of(value, "cwd"), ..LineOwner::default() }
    }
}

/// Returns the text at the start of a file.
fn head_of(file: &Path) -> Option<String> {
    let mut head = Vec::new();
    open(file)?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Returns whether a file is a history: it has the first line of a message.
fn is_history(file: &Path) -> bool {
    head_of(file).is_some_and(|head| head.lines().any(|line| heading_of(line).is_some()))
}

/// The first line of a message.
struct Heading<'t> {
    is_person: bool,
    /// True if a sub-agent, or what it was asked, is meant.
    is_side: bool,
    model: Option<&'t str>,
    time: Option<&'t str>,
}

/// Parses the first line of a message: `_**Agent - sidechain (model 2026-01-02 03:04:05Z)**_`.
fn heading_of(line: &str) -> Option<Heading<'_>> {
    let line = line.trim_end().strip_prefix("_**")?.strip_suffix("**_")?;
    let (speaker, facts) = match line.split_once(" (") {
        Some((speaker, facts)) => (speaker, facts.strip_suffix(')')?),
        None => (line, ""),
    };
    let (speaker, is_side) = speaker.strip_suffix(" - sidechain").map_or((speaker, false), |speaker| (speaker, true));
    let is_person = match speaker {
        "User" => true,
        "Agent" | "Assistant" => false,
        _ => return None,
    };
    let is_date = |at: &usize| {
        let shape = "0000-00-00";
        let is = |(byte, form): (u8, u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
        facts.as_bytes()[*at..].len() >= shape.len() && facts.as_bytes()[*at..].iter().copied().zip(shape.bytes()).all(is)
    };
    // The name of a model may end in a date without hyphens.
    let at = facts.char_indices().map(|(at, _)| at).find(is_date);
    let (before, time) = at.map_or((facts, None), |at| (&facts[..at], Some(facts[at..].trim())));
    let model = before.split(',').next().unwrap_or("").trim();
    let model = model.strip_prefix("model").map_or(model, |rest| rest.trim_start_matches(':').trim());
    let model = (!model.is_empty() && !matches!(model, "default" | "unknown")).then_some(model);
    Some(Heading { is_person, is_side, model, time })
}

/// Returns the agent and the id in `<!-- Claude Code Session <id> (2026-01-02 03:04:05Z) -->`.
fn session_of(line: &str) -> Option<(&str, &str)> {
    let words = line.trim().strip_prefix("<!-- ")?.strip_suffix("-->")?;
    let (agent, rest) = words.split_once(SESSION)?;
    let id = rest.split_whitespace().next()?;
    let is_id = id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    is_id.then_some((agent, id))
}

/// Returns the title in a first heading, without the time that may be all of it.
fn title_of(line: &str) -> Option<&str> {
    let title = line.strip_prefix("# ")?.trim();
    let title = title.rsplit_once(" (").filter(|(_, rest)| rest.starts_with("20")).map_or(title, |(title, _)| title);
    let is_time = title.bytes().all(|byte| byte.is_ascii_digit() || b"-: TZ.".contains(&byte));
    (!is_time).then_some(title)
}

/// Passes the records of a history to `take` until it returns false: a header, then the messages.
fn messages(text: &str, path: &Path, take: &mut dyn FnMut(Value) -> bool) {
    let lines: Vec<&str> = text.lines().collect();
    let folder = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == ".specstory"));
    let cwd = folder.and_then(Path::parent).and_then(Path::to_str);
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("");
    let (mut title, mut agent, mut session) = (None, "", format!("{KIND}/{name}"));
    let first = lines.iter().position(|line| heading_of(line).is_some()).unwrap_or(lines.len());
    for line in &lines[..first] {
        title = title.or_else(|| title_of(line));
        if let Some((by, id)) = session_of(line) {
            (agent, session) = (by, format!("{KIND}/{id}"));
        }
    }
    if first == lines.len() || !take(json!({"type": "session", "session": session, "cwd": cwd, "agent": agent, "title": title})) {
        return;
    }
    // A message has no id. Its time and its place among those of the same time identify it.
    let mut counts: HashMap<String, u32> = HashMap::new();
    let mut at = first;
    while at < lines.len() {
        let number = at + 1;
        let Some(heading) = heading_of(lines[at]) else { break };
        at += 1;
        let begin = at;
        while at < lines.len() && heading_of(lines[at]).is_none() {
            // A person's words are taken as they are.
            let end = if heading.is_person { None } else { element_end(&lines, at) };
            at = end.map_or(at + 1, |end| end + 1);
        }
        let words = lines[begin..at].join("\n");
        let words = words.trim().trim_end_matches("---").trim();
        if words.is_empty() {
            continue;
        }
        let role = if heading.is_person { "user" } else { "agent" };
        let label = format!("{role}@{}", heading.time.unwrap_or(""));
        let count = counts.entry(label.clone()).or_default();
        *count += 1;
        let record = json!({
            "type": "message", "session": session, "id": format!("{label}#{count}"), "line": number, "role": role,
            "is_side": heading.is_side, "model": heading.model, "time": heading.time, "text": words,
        });
        if !take(record) {
            return;
        }
    }
}

/// Returns the last line of the element that begins on a line: a call of a tool, or thoughts. `None` if none begins there, or if
/// it never ends.
fn element_end(lines: &[&str], at: usize) -> Option<usize> {
    let tag = ["tool-use", "think"].into_iter().find(|tag| {
        let rest = lines[at].strip_prefix('<').and_then(|rest| rest.strip_prefix(tag));
        rest.is_some_and(|rest| rest.starts_with([' ', '>']))
    })?;
    let end = format!("</{tag}>");
    lines[at..].iter().position(|line| line.trim_end().ends_with(&end)).map(|count| at + count)
}

/// State shared by the messages of a session.
struct Session {
    episode: Arc<Episode>,
    is_claude: bool,
    title: Option<String>,
    time: RecordedTime,
}

impl Conversation for Session {
    fn begin(kind: &'static str, id: &str, header: &Value) -> Self {
        Self {
            episode: Arc::new(Episode { cwd: text_of(header, "cwd").map(str::to_owned), ..shapes::episode(kind, id) }),
            is_claude: text_of(header, "agent") == Some(CLAUDE),
            title: text_of(header, "title").map(str::to_owned),
            time: RecordedTime::UNKNOWN,
        }
    }

    fn id(&self) -> &str {
        &self.episode.native_id
    }

    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        let line = value["line"].as_u64().unwrap_or(line);
        let time = text_of(value, "time").map(RecordedTime::parse).filter(|time| time.utc.is_some());
        if let Some(time) = &time {
            self.time = RecordedTime { quality: TimeQuality::Derived, ..time.clone() };
        }
        let time = time.unwrap_or_else(|| self.time.clone());
        let mut message = Message::new(text_of(value, "id").unwrap_or("").to_owned(), Role::Assistant, time);
        message.cwd.clone_from(&self.episode.cwd);
        let text = text_of(value, "text").unwrap_or("");
        let is_side = value["is_side"] == true;
        if text_of(value, "role") == Some("user") {
            message.role = Role::Human;
            message.text = text.to_owned();
            if self.is_claude {
                let found = classify_all(&[text]);
                message.role = found.role;
                message.caveat = (!found.beside.is_empty()).then_some(Caveat::UnknownAuthor);
                message.text = found.text;
                message.say(&found.beside);
            }
            if is_side {
                message.role = Role::Injected;
            }
            if message.role == Role::ToolResult {
                message.tool_text = std::mem::take(&mut message.text);
            }
        } else {
            message.model = text_of(value, "model").map(str::to_owned);
            read_answer(text, tool_bytes, &mut message);
        }
        let from = out.len();
        message.turns(KIND, &self.episode, tool_bytes, line, out);
        for reading in &mut out[from..] {
            if let Reading::Turn(read) = reading
                && is_side
            {
                read.turn.speaker = Some(if read.turn.role == Role::Injected { "parent agent" } else { "sub-agent" }.to_owned());
            }
        }
        if out.len() > from
            && let Some(words) = self.title.take()
        {
            let title = shapes::title(&words, TitleRank::Ai, self.time.utc, line);
            out.push(Reading::Title(Arc::clone(&self.episode), title));
        }
    }
}

/// Reads the words of the agent, and its calls with their results.
fn read_answer(text: &str, tool_bytes: usize, message: &mut Message) {
    let lines: Vec<&str> = text.lines().collect();
    let is_older = lines.iter().any(|line| line.starts_with(OLDER_CALL));
    let mut said = String::new();
    let mut at = 0;
    while at < lines.len() {
        if let Some(end) = element_end(&lines, at) {
            if lines[at].starts_with("<tool-use") {
                read_call(&lines[at..=end].join("\n"), tool_bytes, message);
            }
            at = end + 1;
        } else if let Some(name) = lines[at].strip_prefix(OLDER_CALL).and_then(|rest| rest.split("**").next()) {
            let end = lines[at..].iter().position(|line| *line == "---").map_or(lines.len(), |count| at + count);
            read_parts(name, "", &lines[at + 1..end].join("\n"), tool_bytes, message);
            at = end;
        } else {
            // Older histories have a line between the parts of an answer.
            if is_older && lines[at] == "---" {
                at += lines[at + 1..].iter().take_while(|line| line.is_empty()).count();
            } else {
                said.push_str(lines[at]);
                said.push('\n');
            }
            at += 1;
        }
    }
    message.say(said.trim());
}

/// Reads `<tool-use data-tool-type="shell" data-tool-name="Bash"><details><summary>…</summary>…</details></tool-use>`.
fn read_call(element: &str, tool_bytes: usize, message: &mut Message) {
    let attribute = |name: &str| {
        let (_, rest) = element.split_once(&format!("{name}=\""))?;
        rest.split('"').next()
    };
    let name = attribute("data-tool-name").unwrap_or("tool");
    let body = element.split_once('>').map_or("", |(_, body)| body);
    let body = body.trim_end().strip_suffix("</tool-use>").unwrap_or(body).trim_end();
    let body = body.strip_suffix("</details>").unwrap_or(body);
    let body = body.trim_start().strip_prefix("<details>").unwrap_or(body);
    let body = body.replace("<summary>", "").replace("</summary>", "");
    let title = format!("Tool use: **{name}**");
    let body = body.trim().strip_prefix(&title).unwrap_or(body.trim());
    read_parts(name, attribute("data-tool-type").unwrap_or(""), body.trim(), tool_bytes, message);
}

/// Reads the input and the output of a call. The last fence is the output, except of a tool that writes: then it is what was
/// written.
fn read_parts(name: &str, kind: &str, body: &str, tool_bytes: usize, message: &mut Message) {
    let (input, output) = match body.find("```") {
        Some(at) if !matches!(kind, "write" | "task") => (&body[..at], Some(&body[at..])),
        _ => match body.split_once('\n') {
            // Without a fence the first line is the call.
            Some((first, rest)) if matches!(kind, "shell" | "read" | "search") && !rest.trim().is_empty() => (first, Some(rest)),
            _ => (body, None),
        },
    };
    let calls = message.tools.len();
    message.call(None, name, &Value::String(input.trim().to_owned()), tool_bytes);
    if message.tools.len() == calls {
        // A call of this memory.
        return;
    }
    let action = match kind {
        "write" => Some(FileAction::Written),
        "read" => Some(FileAction::Read),
        _ => None,
    };
    if let Some(path) = input.split('`').nth(1).filter(|path| !path.contains('\n'))
        && let Some(action) = action
    {
        add_file(&mut message.files, path.to_owned(), action);
    }
    let Some(output) = output else { return };
    let mut text = String::new();
    for line in output.lines().filter(|line| !line.starts_with("```")) {
        append_line(&mut text, line);
    }
    let has_failed = text.contains("<tool_use_error>") || exit_code(&text).is_some_and(|code| code != 0);
    let outcome = Some(if has_failed { Outcome::Failed } else { Outcome::Done });
    let mut told = String::new();
    append(&mut told, &text);
    message.answers.push(Answer { call_id: None, name: name.to_owned(), text: told, outcome, files: Vec::new() });
}

fn append_line(to: &mut String, line: &str) {
    if !to.is_empty() {
        to.push('\n');
    }
    to.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_tell_speaker_model_and_time_in_every_form() {
        for (line, expected) in [
            ("_**User**_", Some((true, false, None, None))),
            ("_**User (2025-12-03 05:21Z)**_", Some((true, false, None, Some("2025-12-03 05:21Z")))),
            ("_**Assistant (tide-4.5-thinking)**_", Some((false, false, Some("tide-4.5-thinking"), None))),
            ("_**Assistant (model: tide-4, mode: Chat)**_", Some((false, false, Some("tide-4"), None))),
            ("_**Agent (model tide-4-high, mode Agent)**_", Some((false, false, Some("tide-4-high"), None))),
            (
                "_**Agent (tide-4-5-20251101 2026-01-23T17:24:23.746Z)**_",
                Some((false, false, Some("tide-4-5-20251101"), Some("2026-01-23T17:24:23.746Z"))),
            ),
            ("_**Agent - sidechain (2026-01-16 22:18:30Z)**_", Some((false, true, None, Some("2026-01-16 22:18:30Z")))),
            ("_**Note**_", None),
            ("> _**User**_", None),
        ] {
            let found = heading_of(line).map(|heading| (heading.is_person, heading.is_side, heading.model, heading.time));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn first_heading_is_a_title_unless_it_is_a_time() {
        assert_eq!(title_of("# Locks stick (2025-10-01 23:30Z)"), Some("Locks stick"));
        assert_eq!(title_of("# 2026-01-16 16:48:38Z"), None);
        assert_eq!(title_of("## Locks"), None);
    }
}
