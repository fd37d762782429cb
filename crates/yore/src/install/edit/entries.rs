//! Yore's entries in agents' JSON: server, hooks, status line.
//!
//! - [`Entry`]: one of these
//! - [`put`], [`take`]: put all of a file's entries into its text, and take them out
//! - [`found`]: reads them back as the agent reads them
//!
//! An entry is recognized as yore's by the program it runs. An entry that runs another yore, an older one or
//! one that moved, is corrected in place; other keys that the user set in it stay.

use std::time::Duration;

use serde_json::{Value, json};

use super::json::{Document, Kind, Node, insert_element, insert_member, remove, replace};
use super::{EditError, Original, SERVER};
use crate::install::Part;
use crate::install::command::{is_hook, is_yore, words};
use crate::install::machine::Machine;
use crate::install::what::{Call, What};

/// Name of the list of hooks in every agent's settings.
const HOOKS: &str = "hooks";
const STATUS_LINE: &str = "statusLine";
const VERSION: &str = "version";
/// The keys that decide what is run. They are always written by yore; any other key in an entry of yore's was
/// set by the user and stays.
const COMMANDS: [&str; 8] = ["command", "args", "bash", "powershell", "commandWindows", "windows", "linux", "osx"];
/// Keys that the user may set freely, or leave out.
const THEIRS: [&str; 12] = [
    "matcher",
    "timeout",
    "timeoutSec",
    "enabled",
    "disabled",
    "trust",
    "name",
    "description",
    "env",
    "environment",
    "show_output",
    "tools",
];

/// Matchers that yore wrote before 0.2.
const OUTDATED_MATCHERS: [&str; 1] = ["Edit|Write|MultiEdit|NotebookEdit"];

/// One entry of yore's in a JSON object.
#[derive(Clone, Debug)]
pub enum Entry {
    /// The MCP server: a member called yore of the object at this path.
    Server {
        /// Path of the object.
        at: &'static [&'static str],
        /// The server's settings.
        value: Value,
    },
    /// Hooks: elements of the lists that are named after events.
    Hooks {
        /// The agent's names on the hooks' command lines.
        agents: &'static [&'static str],
        /// Events and elements; an element is the call itself or a group of calls.
        events: Vec<(&'static str, Value)>,
    },
    /// The status line, if the file has none.
    StatusLine(Value),
    /// `"version": 1`, if the file names no version.
    Version,
}

impl Entry {
    /// Returns the part of yore that the entry belongs to.
    pub fn part(&self) -> Option<Part> {
        match self {
            Self::Server { .. } => Some(Part::Mcp),
            Self::Hooks { .. } => Some(Part::Hooks),
            Self::StatusLine(_) => Some(Part::StatusLine),
            Self::Version => None,
        }
    }
}

/// Returns the text with all entries in it.
pub fn put(entries: &[Entry], before: Option<&str>) -> Result<String, EditError> {
    let before = before.unwrap_or_default();
    let mut text = with_object(before)?;
    for entry in entries {
        text = put_one(entry, text)?;
    }
    let unchanged = essence(value_of(before)?, entries) == essence(value_of(&text)?, entries);
    if unchanged && are_all_in(entries, &text) { Ok(text) } else { Err(EditError::Unsafe) }
}

/// Returns the text without any of the entries.
pub fn take(entries: &[Entry], before: &str, original: Original<'_>) -> Result<Option<String>, EditError> {
    let keep = match original {
        Original::Text(text) => value_of(text).unwrap_or_default(),
        _ => Value::Null,
    };
    let mut text = before.to_owned();
    for entry in entries.iter().rev() {
        while let Some(less) = take_one(entry, &text, &keep, matches!(original, Original::Unknown))? {
            text = less;
        }
    }
    let rest = value_of(&text)?;
    if essence(value_of(before)?, entries) != essence(rest.clone(), entries) || are_in(entries, &text) {
        return Err(EditError::Unsafe);
    }
    // A file with only comments was given an object to hold the entries.
    if let Original::Text(original) = original
        && keep.is_null()
        && rest == json!({})
        && text.trim_end().strip_suffix("{}").is_some_and(|above| above.trim_end() == original.trim_end())
    {
        return Ok(Some(original.to_owned()));
    }
    let has_comments = text.contains("//") || text.contains("/*");
    let is_empty = rest.is_null() || rest == json!({}) || rest == json!({VERSION: 1});
    let is_gone = matches!(original, Original::Missing) && is_empty && !has_comments;
    Ok((!is_gone).then_some(text))
}

/// Returns whether any entry is in the text, however it runs yore.
pub fn are_in(entries: &[Entry], text: &str) -> bool {
    let Ok(document) = Document::parse(text) else { return false };
    entries.iter().any(|entry| match entry {
        Entry::Server { at, .. } => document.at(at).and_then(|at| at.get(SERVER)).is_some_and(is_our_server),
        Entry::Hooks { agents, .. } => !handlers(&document, agents).is_empty(),
        Entry::StatusLine(_) => document.at(&[STATUS_LINE]).is_some_and(|line| is_our_status_line(&line.value())),
        Entry::Version => false,
    })
}

/// Returns whether every entry is in the text in its current form.
fn are_all_in(entries: &[Entry], text: &str) -> bool {
    let Ok(document) = Document::parse(text) else { return false };
    entries.iter().all(|entry| match entry {
        Entry::Server { at, value } => {
            document.at(at).and_then(|at| at.get(SERVER)).is_some_and(|found| is_current(&found.value(), value))
        }
        Entry::Hooks { agents, events } => events.iter().all(|(event, element)| {
            let ours = |handler: &Handler| handler.event == *event && is_current(&handler.value, handler_of(element));
            handlers(&document, agents).iter().filter(|handler| ours(handler)).count() == 1
        }),
        Entry::StatusLine(value) => document.at(&[STATUS_LINE]).is_some_and(|found| is_current(&found.value(), value)),
        Entry::Version => document.at(&[VERSION]).is_some(),
    })
}

/// Returns the entries in the text, as an agent finds them.
pub fn found(entries: &[Entry], text: &str, machine: &Machine<'_>) -> Result<Vec<What>, EditError> {
    let document = Document::parse(text).map_err(EditError::Unreadable)?;
    let mut found = Vec::new();
    for entry in entries {
        match entry {
            Entry::Server { at, .. } => {
                let server = document.at(at).and_then(|at| at.get(SERVER)).filter(|server| is_our_server(server));
                if let Some(Run { program, args, env }) = server.and_then(|server| server_of(&server.value())) {
                    found.push(What::Mcp { program, args, env });
                }
            }
            Entry::Hooks { agents, .. } => found.extend(handlers(&document, agents).into_iter().filter_map(|handler| {
                let call = call_of(&handler.value, machine.is_windows())?;
                let unit = if agents.iter().any(|agent| matches!(*agent, "gemini" | "qwen")) { 1 } else { 1000 };
                let timeout = ["timeout", "timeoutSec"].iter().find_map(|key| handler.value.get(key)?.as_u64());
                Some(What::Hook {
                    event: handler.event,
                    call,
                    matcher: handler.matcher,
                    timeout: timeout.map(|timeout| Duration::from_millis(timeout.saturating_mul(unit))),
                })
            })),
            Entry::StatusLine(_) => {
                let line = document.at(&[STATUS_LINE]).map(Node::value).filter(is_our_status_line);
                found.extend(line.and_then(|line| call_of(&line, machine.is_windows())).map(|call| What::StatusLine { call }));
            }
            Entry::Version => {}
        }
    }
    Ok(found)
}

/// Returns the text with an object at its root, and everything else unchanged.
fn with_object(before: &str) -> Result<String, EditError> {
    let document = Document::parse(before).map_err(EditError::Unreadable)?;
    match &document.root {
        Some(root) if root.members().is_some() => Ok(before.to_owned()),
        Some(_) => Err(EditError::Unreadable("its root is not an object".to_owned())),
        None if before.trim_start_matches('\u{feff}').trim().is_empty() => {
            let mark = if before.starts_with('\u{feff}') { "\u{feff}" } else { "" };
            let newline = if before.contains("\r\n") { "\r\n" } else { "\n" };
            Ok(format!("{mark}{{}}{newline}"))
        }
        None => {
            let newline = if before.contains("\r\n") { "\r\n" } else { "\n" };
            let gap = if before.ends_with('\n') { "" } else { newline };
            Ok(format!("{before}{gap}{{}}{newline}"))
        }
    }
}

fn value_of(text: &str) -> Result<Value, EditError> {
    let document = Document::parse(text).map_err(EditError::Unreadable)?;
    Ok(document.root.as_ref().map(Node::value).unwrap_or_default())
}

fn put_one(entry: &Entry, text: String) -> Result<String, EditError> {
    match entry {
        Entry::Server { at, value } => {
            let document = Document::parse(&text).map_err(EditError::Unreadable)?;
            let Some(found) = document.at(at).and_then(|at| at.get(SERVER)) else {
                return add(&text, at, SERVER, value.clone(), false);
            };
            if !is_our_server(found) {
                let runs = match server_of(&found.value()) {
                    Some(Run { program, .. }) => format!("runs {program:?}"),
                    None => "does not run this program".to_owned(),
                };
                let place = [at, [SERVER].as_slice()].concat().join(".");
                return Err(EditError::Foreign(format!(
                    "a server called \"{SERVER}\" that {runs} already exists ({place}); rename or remove it first"
                )));
            }
            let path: Vec<Step> = at.iter().chain(&[SERVER]).map(|name| Step::Name((*name).to_owned())).collect();
            correct(text, &path, value)
        }
        Entry::Hooks { agents, events } => put_hooks(text, agents, events),
        Entry::StatusLine(value) => {
            let document = Document::parse(&text).map_err(EditError::Unreadable)?;
            match document.at(&[STATUS_LINE]) {
                None => add(&text, &[], STATUS_LINE, value.clone(), false),
                Some(line) if is_our_status_line(&line.value()) => correct(text, &[Step::Name(STATUS_LINE.to_owned())], value),
                Some(_) => Err(EditError::Foreign("another status line is configured".to_owned())),
            }
        }
        Entry::Version => {
            let document = Document::parse(&text).map_err(EditError::Unreadable)?;
            if document.at(&[VERSION]).is_some() { Ok(text) } else { add(&text, &[], VERSION, json!(1), false) }
        }
    }
}

/// Adds a member to the object at a path, or an element to its list of that name, and creates the missing
/// parts of the path.
fn add(text: &str, path: &[&str], name: &str, value: Value, to_list: bool) -> Result<String, EditError> {
    let document = Document::parse(text).map_err(EditError::Unreadable)?;
    let names: Vec<&str> = path.iter().copied().chain([name]).collect();
    let mut value = if to_list { Value::Array(vec![value]) } else { value };
    let unusual = |names: &[&str]| EditError::Unusual(format!("\"{}\" has another type than the agent expects", names.join(".")));
    // Finds the deepest part of the path that exists.
    for depth in (0..=names.len()).rev() {
        let Some(node) = document.at(&names[..depth]) else { continue };
        if depth == names.len() {
            let Some(Value::Array(mut elements)) = to_list.then_some(value) else { return Err(unusual(&names)) };
            return match (&node.kind, elements.pop()) {
                (Kind::Array(_), Some(element)) => Ok(insert_element(&document, node, &element)),
                _ => Err(unusual(&names)),
            };
        }
        if node.members().is_none() {
            return Err(unusual(&names[..depth]));
        }
        for missing in names[depth + 1..].iter().rev() {
            value = json!({*missing: value});
        }
        return Ok(insert_member(&document, node, names[depth], &value));
    }
    Err(unusual(&[]))
}

/// One step from a value to one inside it.
#[derive(Clone, Debug)]
enum Step {
    Name(String),
    Index(usize),
}

fn walk<'n>(document: &'n Document<'_>, path: &[Step]) -> Option<&'n Node> {
    path.iter().try_fold(document.root.as_ref()?, |node, step| match step {
        Step::Name(name) => node.get(name),
        Step::Index(index) => node.elements()?.get(*index),
    })
}

/// Corrects an object of yore's: sets the keys that decide what is run; the rest stays.
fn correct(mut text: String, path: &[Step], wanted: &Value) -> Result<String, EditError> {
    let Value::Object(wanted) = wanted else { return Ok(text) };
    for (name, value) in wanted {
        let document = Document::parse(&text).map_err(EditError::Unreadable)?;
        let node = walk(&document, path).ok_or(EditError::Unsafe)?;
        let is_theirs = THEIRS.contains(&name.as_str());
        text = match node.get(name) {
            Some(found) if !is_theirs && found.value() != *value => replace(&document, found, value),
            None if !is_theirs => insert_member(&document, node, name, value),
            _ => continue,
        };
    }
    loop {
        let document = Document::parse(&text).map_err(EditError::Unreadable)?;
        let node = walk(&document, path).ok_or(EditError::Unsafe)?;
        let stray = |name: &str| COMMANDS.contains(&name) && !wanted.contains_key(name);
        let Some(index) = node.members().and_then(|members| members.iter().position(|member| stray(&member.name))) else {
            return Ok(text);
        };
        text = remove(&document, node, index);
    }
}

/// Returns whether an object of yore's runs the wanted program.
fn is_current(found: &Value, wanted: &Value) -> bool {
    let Some(wanted) = wanted.as_object() else { return false };
    let all = wanted.iter().all(|(name, value)| THEIRS.contains(&name.as_str()) || found.get(name) == Some(value));
    all && COMMANDS.iter().all(|name| found.get(name).is_none() || wanted.contains_key(*name))
}

/// Returns the call in an element of an event's list, which may be a group of calls.
fn handler_of(element: &Value) -> &Value {
    element.get(HOOKS).and_then(|calls| calls.get(0)).unwrap_or(element)
}

/// A call of `yore hook` in a text.
struct Handler {
    event: String,
    matcher: Option<String>,
    value: Value,
    /// Path of the call itself.
    path: Vec<Step>,
    /// Path of what is removed with it: the whole group, if it has no other calls.
    cut: Vec<Step>,
}

/// Returns all calls of yore for one of `agents`, for any event.
fn handlers(document: &Document<'_>, agents: &[&str]) -> Vec<Handler> {
    let mut handlers = Vec::new();
    for member in document.at(&[HOOKS]).and_then(Node::members).unwrap_or_default() {
        for (index, element) in member.value.elements().unwrap_or_default().iter().enumerate() {
            let element_path = vec![Step::Name(HOOKS.to_owned()), Step::Name(member.name.clone()), Step::Index(index)];
            let handler = |node: &Node, path: Vec<Step>, cut: Vec<Step>| {
                let value = node.value();
                let matcher = element.get("matcher").and_then(|matcher| matcher.value().as_str().map(str::to_owned));
                is_our_hook(&value, agents).then(|| Handler { event: member.name.clone(), matcher, value, path, cut })
            };
            let Some(calls) = element.get(HOOKS).and_then(Node::elements) else {
                handlers.extend(handler(element, element_path.clone(), element_path));
                continue;
            };
            for (call, node) in calls.iter().enumerate() {
                let mut path = element_path.clone();
                path.extend([Step::Name(HOOKS.to_owned()), Step::Index(call)]);
                let cut = if calls.len() == 1 { element_path.clone() } else { path.clone() };
                handlers.extend(handler(node, path, cut));
            }
        }
    }
    handlers
}

fn put_hooks(mut text: String, agents: &[&str], events: &[(&'static str, Value)]) -> Result<String, EditError> {
    for (event, element) in events {
        let document = Document::parse(&text).map_err(EditError::Unreadable)?;
        let ours = handlers(&document, agents);
        text = match ours.iter().find(|handler| handler.event == *event) {
            Some(handler) => correct(text.clone(), &handler.path, handler_of(element))?,
            None => add(&text, &[HOOKS], event, element.clone(), true)?,
        };
    }
    // Updates a matcher that an earlier version wrote; a matcher that the user wrote stays.
    for (event, element) in events {
        let document = Document::parse(&text).map_err(EditError::Unreadable)?;
        let outdated = |handler: &&Handler| {
            handler.event == *event && handler.matcher.as_deref().is_some_and(|matcher| OUTDATED_MATCHERS.contains(&matcher))
        };
        let ours = handlers(&document, agents);
        let (Some(handler), Some(wanted)) = (ours.iter().find(outdated), element.get("matcher")) else { continue };
        let found = walk(&document, &handler.path[..3]).and_then(|group| group.get("matcher"));
        if let Some(found) = found.filter(|found| found.value() != *wanted) {
            text = replace(&document, found, wanted);
        }
    }
    // Removes calls for an event that is no longer wanted, and duplicates.
    loop {
        let document = Document::parse(&text).map_err(EditError::Unreadable)?;
        let ours = handlers(&document, agents);
        let stray = ours.iter().enumerate().find(|(index, handler)| {
            let is_wanted = events.iter().any(|(event, _)| *event == handler.event);
            !is_wanted || ours[..*index].iter().any(|earlier| earlier.event == handler.event)
        });
        let Some((_, stray)) = stray else { return Ok(text) };
        text = cut(&document, &stray.cut).ok_or(EditError::Unsafe)?;
    }
}

/// Returns the text without the value at the end of a path.
fn cut(document: &Document<'_>, path: &[Step]) -> Option<String> {
    let (last, above) = path.split_last()?;
    let container = walk(document, above)?;
    let index = match last {
        Step::Index(index) => *index,
        Step::Name(name) => container.members()?.iter().rposition(|member| member.name == *name)?,
    };
    Some(remove(document, container, index))
}

/// Returns the text with one value of this entry removed; `None` if there is none left.
fn take_one(entry: &Entry, text: &str, keep: &Value, is_unknown: bool) -> Result<Option<String>, EditError> {
    let document = Document::parse(text).map_err(EditError::Unreadable)?;
    let name = |name: &str| Step::Name(name.to_owned());
    let path: Vec<Step> = match entry {
        Entry::Server { at, .. } => match document.at(at).and_then(|at| at.get(SERVER)) {
            Some(server) if is_our_server(server) => at.iter().copied().chain([SERVER]).map(name).collect(),
            _ => return Ok(None),
        },
        Entry::Hooks { agents, .. } => match handlers(&document, agents).pop() {
            Some(handler) => handler.cut,
            None => return Ok(None),
        },
        Entry::StatusLine(_) => match document.at(&[STATUS_LINE]) {
            Some(line) if is_our_status_line(&line.value()) => vec![name(STATUS_LINE)],
            _ => return Ok(None),
        },
        // Without the version, hooks that others have added since would not be read.
        Entry::Version => {
            let is_version = document.at(&[VERSION]).map(Node::value) == Some(json!(1));
            let is_ours = !is_unknown && keep.get(VERSION).is_none() && is_version;
            if !is_ours || document.at(&[HOOKS]).is_some() && keep.get(HOOKS).is_none() {
                return Ok(None);
            }
            vec![name(VERSION)]
        }
    };
    let mut text = cut(&document, &path).ok_or(EditError::Unsafe)?;
    // Removes containers that are empty now and did not exist before.
    for depth in (1..path.len()).rev() {
        let document = Document::parse(&text).map_err(EditError::Unreadable)?;
        let above = &path[..depth];
        let Some(container) = walk(&document, above) else { break };
        let is_bare = text[container.span.start + 1..container.span.end - 1].trim().is_empty();
        let was_there = above.iter().try_fold(keep, |value, step| match step {
            Step::Name(name) => value.get(name),
            Step::Index(index) => value.get(index),
        });
        if !is_bare || was_there.is_some() {
            break;
        }
        text = cut(&document, above).ok_or(EditError::Unsafe)?;
    }
    Ok(Some(text))
}

/// Returns a value without yore's entries, and without containers that are then empty.
fn essence(mut value: Value, entries: &[Entry]) -> Value {
    for entry in entries {
        match entry {
            Entry::Server { at, .. } => {
                let container = at.iter().try_fold(&mut value, |value, name| value.get_mut(*name));
                if let Some(Value::Object(servers)) = container
                    && servers.get(SERVER).is_some_and(|server| server_of(server).is_some_and(|run| is_yore(&run.program)))
                {
                    servers.shift_remove(SERVER);
                }
            }
            Entry::Hooks { agents, .. } => {
                for list in value.get_mut(HOOKS).and_then(Value::as_object_mut).into_iter().flat_map(|hooks| hooks.values_mut()) {
                    let Value::Array(elements) = list else { continue };
                    for element in elements.iter_mut() {
                        if let Some(Value::Array(calls)) = element.get_mut(HOOKS)
                            && calls.iter().any(|call| is_our_hook(call, agents))
                        {
                            calls.retain(|call| !is_our_hook(call, agents));
                            if calls.is_empty() {
                                *element = Value::Null;
                            }
                        }
                    }
                    elements.retain(|element| !element.is_null() && !is_our_hook(element, agents));
                }
            }
            Entry::StatusLine(_) => {
                if value.get(STATUS_LINE).is_some_and(is_our_status_line)
                    && let Value::Object(members) = &mut value
                {
                    members.shift_remove(STATUS_LINE);
                }
            }
            Entry::Version => {
                if value.get(VERSION) == Some(&json!(1))
                    && let Value::Object(members) = &mut value
                {
                    members.shift_remove(VERSION);
                }
            }
        }
    }
    if value.is_null() { json!({}) } else { without_empty(value) }
}

fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, without_empty(value)));
            Value::Object(members.filter(|(_, value)| !is_empty(value)).collect())
        }
        other => other,
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// The program that a server runs.
struct Run {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

/// Returns the program that a server runs, in any agent's form.
fn server_of(server: &Value) -> Option<Run> {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let (program, args) = match server.get("command")? {
        Value::String(program) => (program.clone(), texts(&server["args"])),
        // Program and arguments in one list.
        list @ Value::Array(_) => {
            let mut words = texts(list);
            if words.is_empty() {
                return None;
            }
            (words.remove(0), words)
        }
        nested => (nested.get("path")?.as_str()?.to_owned(), texts(&nested["args"])),
    };
    let env = server.get("env").or_else(|| server.get("environment")).and_then(Value::as_object);
    let env = env.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
    Some(Run { program, args, env })
}

fn is_our_server(server: &Node) -> bool {
    server_of(&server.value()).is_some_and(|run| is_yore(&run.program))
}

/// Returns the call that runs on this platform.
fn call_of(call: &Value, is_windows: bool) -> Option<Call> {
    let keys: &[&str] =
        if is_windows { &["commandWindows", "windows", "powershell", "command"] } else { &["linux", "osx", "bash", "command"] };
    let line = keys.iter().find_map(|key| call.get(key)?.as_str())?.to_owned();
    let Some(args) = call.get("args").and_then(Value::as_array) else { return Some(Call::Line(line)) };
    let args = args.iter().filter_map(|argument| argument.as_str().map(str::to_owned)).collect();
    Some(Call::Program { program: line, args })
}

/// Returns the words of each command that a call names.
fn commands(call: &Value) -> Vec<Vec<String>> {
    let named = COMMANDS.iter().filter(|key| **key != "args").filter_map(|key| call.get(key)?.as_str());
    let args: Option<Vec<String>> = call
        .get("args")
        .and_then(Value::as_array)
        .map(|args| args.iter().filter_map(|argument| argument.as_str().map(str::to_owned)).collect());
    named
        .map(|line| match &args {
            Some(args) => [&[line.to_owned()], args.as_slice()].concat(),
            None => words(line),
        })
        .collect()
}

fn is_our_hook(call: &Value, agents: &[&str]) -> bool {
    commands(call).iter().any(|words| is_hook(words, agents))
}

fn is_our_status_line(line: &Value) -> bool {
    let is_ours = |words: &Vec<String>| {
        words.first().is_some_and(|program| is_yore(program)) && words.get(1).is_some_and(|word| word == "status-line")
    };
    commands(line).iter().any(is_ours)
}
