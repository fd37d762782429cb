//! Detects the kind of source in a path or address: by location, file name, first bytes, or most files of a directory.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use yore_sources::document::chat;
use yore_sources::source::kind_of_database;

/// Bytes read from the start of a file.
const FIRST_BYTES: u64 = 64 << 10;
/// Most files of a directory whose content is read.
const MOST_FILES: usize = 200;
/// Most entries of a directory that are visited.
const MOST_ENTRIES: usize = 50_000;
const DEEPEST: usize = 10;
/// Endings of the names of databases.
const DATABASES: [&str; 5] = [".db", ".vscdb", ".sqlite", ".sqlite3", ".backup"];
/// First bytes of every SQLite database.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
/// Folders that hold no histories and many files.
const PASSED_OVER: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// A source, and the directory or file for it to read.
pub type Guess = (&'static str, PathBuf);

/// Returns whether an argument is the address of a page, not a path.
pub fn is_address(argument: &str) -> bool {
    let is = |scheme: &str| argument.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    is("http://") || is("https://")
}

/// Returns the sources that can read a path, each with the root to read. `places` are the default places of
/// each kind on this computer. Empty if no source is recognized.
pub fn kinds_of(path: &Path, places: &[Guess]) -> Vec<Guess> {
    let canonical = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let lies_there = places
        .iter()
        .map(|(kind, place)| (kind, place.canonicalize().unwrap_or_else(|_| place.clone())))
        .filter(|(_, place)| canonical.starts_with(place))
        .max_by_key(|(_, place)| place.components().count());
    if let Some((kind, _)) = lies_there {
        return vec![(kind, path.to_path_buf())];
    }
    if !canonical.is_dir() {
        return kind_of_file(&canonical).map(|kind| (kind, path.to_path_buf())).into_iter().collect();
    }
    let seen = look_through(&canonical);
    let whole = seen.whole();
    if seen.sure.is_empty()
        && let Some(kind) = whole.kind_of_most()
    {
        return vec![(kind, path.to_path_buf())];
    }
    if seen.sure.is_empty() && !whole.is_mostly_conversations() {
        return vec![("file", path.to_path_buf())];
    }
    // Beside an agent's own folder, or in a project with a history file, other files are documents; within an
    // agent's folder they are its settings and caches.
    let is_aside = |root: &Path| {
        let below = root.strip_prefix(&canonical).unwrap_or(root);
        below.iter().any(|part| part.to_str().is_some_and(|part| part.starts_with('.')))
    };
    let mut kinds = seen.sure.clone();
    kinds.extend(seen.kinds_of_groups());
    if kinds.is_empty() || whole.documents > 0 && kinds.iter().all(|(_, root)| is_aside(root)) {
        kinds.push(("file", path.to_path_buf()));
    }
    kinds
}

/// Returns whether a file records a conversation in a format that no source has.
pub fn is_unknown_history(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    path.is_file() && first_bytes(path).is_some_and(|first| chat::is_conversation(name, &first))
}

/// Returns the histories below a directory that have unambiguous names, by kind.
pub fn sure_below(directory: &Path) -> Vec<Guess> {
    look_through(&directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf())).sure
}

/// The findings of a walk through a directory.
#[derive(Default)]
struct Seen {
    /// Roots found by unambiguous names, in order.
    sure: Vec<Guess>,
    /// Other files outside hidden folders, grouped by the top-level folder they are in; a file at the top
    /// level is a group of its own.
    groups: BTreeMap<PathBuf, Group>,
}

/// Files counted by the kind of their content.
#[derive(Clone, Default)]
struct Group {
    counts: Vec<(&'static str, usize)>,
    /// Number of files that were examined.
    files: usize,
    /// Number of those that are documents.
    documents: usize,
}

impl Group {
    fn add(&mut self, kind: Option<&'static str>, files: usize) {
        match kind {
            Some("file") => self.documents += files,
            Some(kind) => match self.counts.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += files,
                None => self.counts.push((kind, files)),
            },
            None => {}
        }
    }

    /// Returns the kind of most of the files, if that is a kind of conversations.
    fn kind_of_most(&self) -> Option<&'static str> {
        let (kind, count) = self.counts.iter().max_by_key(|(_, count)| *count)?;
        (count * 2 >= self.files).then_some(*kind)
    }

    fn is_mostly_conversations(&self) -> bool {
        let conversations: usize = self.counts.iter().map(|(_, count)| count).sum();
        conversations > 0 && conversations * 2 >= self.files
    }
}

impl Seen {
    /// Returns all groups merged into one.
    fn whole(&self) -> Group {
        let mut whole = Group::default();
        for group in self.groups.values() {
            whole.files += group.files;
            whole.documents += group.documents;
            group.counts.iter().for_each(|(kind, count)| whole.add(Some(*kind), *count));
        }
        whole
    }

    /// Returns the groups in which most files are conversations, except those with a root found by name.
    fn kinds_of_groups(&self) -> Vec<Guess> {
        let is_known = |folder: &Path| self.sure.iter().any(|(_, root)| root.starts_with(folder) || folder.starts_with(root));
        let groups = self.groups.iter().filter(|(folder, _)| !is_known(folder));
        groups.filter_map(|(folder, group)| Some((group.kind_of_most()?, folder.clone()))).collect()
    }

    fn add_sure(&mut self, kind: &'static str, root: &Path) {
        // A folder that is already read includes everything below it.
        if !self.sure.iter().any(|(known, above)| *known == kind && root.starts_with(above)) {
            self.sure.push((kind, root.to_path_buf()));
        }
    }
}

fn look_through(top: &Path) -> Seen {
    let mut seen = Seen::default();
    let (mut entries_seen, mut files_seen) = (0, 0);
    let mut pending = VecDeque::from([(top.to_path_buf(), 0, false)]);
    if let Some((kind, root)) = sure_folder(top) {
        seen.add_sure(kind, &root);
    }
    while let Some((directory, depth, is_hidden)) = pending.pop_front() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            entries_seen += 1;
            if entries_seen >= MOST_ENTRIES {
                return seen;
            }
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            let name = entry.file_name();
            let name = name.to_str().unwrap_or("");
            if kind.is_dir() && depth < DEEPEST && !PASSED_OVER.contains(&name) {
                if let Some((kind, root)) = sure_folder(&path) {
                    seen.add_sure(kind, &root);
                }
                pending.push_back((path, depth + 1, is_hidden || name.starts_with('.')));
            } else if kind.is_file() {
                match sure_file(&path, name) {
                    Some((kind, root)) => seen.add_sure(kind, &root),
                    None if !is_hidden && !name.starts_with('.') && files_seen < MOST_FILES => {
                        files_seen += 1;
                        let below = path.strip_prefix(top).unwrap_or(&path).iter().next().unwrap_or_default();
                        let group = seen.groups.entry(top.join(below)).or_default();
                        group.files += 1;
                        group.add(kind_of_file(&path), 1);
                    }
                    None => {}
                }
            }
        }
    }
    seen
}

fn name_of(path: Option<&Path>) -> &str {
    path.and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("")
}

/// Returns the nearest folder of this name among a path and its parents.
fn nearest<'p>(path: &'p Path, name: &str) -> Option<&'p Path> {
    path.ancestors().find(|folder| name_of(Some(folder)) == name)
}

/// Returns the source and root of a folder whose name identifies its agent.
fn sure_folder(folder: &Path) -> Option<Guess> {
    let above = folder.parent();
    let is_there = |name: &str| folder.join(name).is_dir();
    match name_of(Some(folder)) {
        "session-state" => Some(("copilot-cli", folder.to_path_buf())),
        "sessions" if name_of(above) == ".dsh" => Some(("deepseek", folder.to_path_buf())),
        // Folders of source code have these names too.
        "chatSessions" | "emptyWindowChatSessions" if holds_json(folder) => Some(("copilot-chat", folder.to_path_buf())),
        "agent-transcripts" => Some(("cursor", nearest(folder, "projects").or(above)?.to_path_buf())),
        ".system_generated" => Some(("antigravity", above?.parent()?.to_path_buf())),
        "projects" if name_of(above) == ".claude" => Some(("claude-code", above?.to_path_buf())),
        "chats" if holds_json(folder) && name_of(above.and_then(Path::parent)) == "tmp" => {
            Some(("gemini", above?.parent()?.to_path_buf()))
        }
        "chats" if holds_json(folder) && name_of(above.and_then(Path::parent)) == "projects" => {
            Some(("qwen", above?.parent()?.to_path_buf()))
        }
        "storage" if is_there("session") && is_there("message") => Some(("opencode", above?.to_path_buf())),
        "history" if name_of(above) == ".specstory" => Some(("specstory", folder.to_path_buf())),
        name if name == "sessions" || name == "session" => kind_of_agents_folder(folder).map(|kind| (kind, folder.to_path_buf())),
        _ => None,
    }
}

/// Returns the agent whose settings folder holds a folder of sessions.
fn kind_of_agents_folder(folder: &Path) -> Option<&'static str> {
    let homes = [
        (".pi", "pi"),
        (".omp", "omp"),
        (".openclaw", "openclaw"),
        (".kimi", "kimi"),
        (".kimi-code", "kimi"),
        (".vibe", "vibe"),
        (".grok", "grok"),
        (".factory", "droid"),
        (".kiro", "kiro"),
    ];
    // At most `.omp/profiles/<profile>/agent/sessions`.
    let above = folder.ancestors().skip(1).take(4);
    above.filter_map(|above| above.file_name()?.to_str()).find_map(|name| Some(homes.iter().find(|(home, _)| *home == name)?.1))
}

/// Returns whether a folder directly holds JSON files.
fn holds_json(folder: &Path) -> bool {
    let is_json = |name: &str| name.ends_with(".json") || name.ends_with(".jsonl");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.take(MOST_FILES).any(|entry| entry.file_name().to_str().is_some_and(is_json))
}

/// Returns the source and root of a file whose name identifies its agent.
fn sure_file(path: &Path, name: &str) -> Option<Guess> {
    let folder = path.parent()?;
    let here = || Some(folder.to_path_buf());
    let has_ending = |ending: &str| name.len() > ending.len() && name.ends_with(ending);
    match name {
        "threads.db" => return Some(("zed", path.to_path_buf())),
        ".aider.chat.history.md" => return Some(("aider", path.to_path_buf())),
        "sessions.json" if name_of(Some(folder)) == "sessions" => {
            let is_openclaws = name_of(folder.parent().and_then(Path::parent)) == "agents";
            return Some((if is_openclaws { "openclaw" } else { "continue" }, here()?));
        }
        "store.db" if ["chats", "acp-sessions"].iter().any(|part| nearest(path, part).is_some()) => {
            let root = nearest(path, "chats").or_else(|| nearest(path, "acp-sessions"))?;
            return Some(("cursor", root.to_path_buf()));
        }
        // Older sessions lie in files beside it.
        "sessions.db" if kind_of_database(path) == Some("goose") => return Some(("goose", here()?)),
        "crush.db" => return Some(("crush", path.to_path_buf())),
        _ => {}
    }
    if has_ending(".db") && name.starts_with("opencode") {
        return Some(("opencode", here()?));
    }
    if has_ending(".db") && name.starts_with("kilo") {
        return Some(("kilo-cli", here()?));
    }
    if name == "ui_messages.json" || name == "api_conversation_history.json" {
        let tasks = folder.parent().filter(|above| name_of(Some(above)) == "tasks").unwrap_or(folder);
        return Some((kind_of_task(path), tasks.to_path_buf()));
    }
    if is_rollout(name) {
        let sessions = nearest(path, "sessions").or_else(|| nearest(path, "archived_sessions"));
        return Some(("codex", sessions.and_then(Path::parent).unwrap_or(folder).to_path_buf()));
    }
    if name.starts_with("session") && has_ending(".jsonl.zstd") {
        return Some(("deepseek", nearest(path, "sessions").unwrap_or(folder).to_path_buf()));
    }
    if is_conversations(name) {
        let kind = kind_of_json(&first_bytes(path)?)?;
        return matches!(kind, "chatgpt" | "claude-ai").then(|| (kind, folder.to_path_buf()));
    }
    if DATABASES.iter().any(|ending| has_ending(ending)) && first_bytes_are(path, SQLITE_MAGIC) {
        let kind = kind_of_database(path)?;
        // Another window's database may continue a conversation.
        let storage = nearest(path, "globalStorage").or_else(|| nearest(path, "workspaceStorage"));
        let root = storage.filter(|_| kind == "cursor").unwrap_or(path);
        return Some((kind, root.to_path_buf()));
    }
    None
}

fn is_rollout(name: &str) -> bool {
    name.starts_with("rollout-") && (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst"))
}

fn kind_of_task(path: &Path) -> &'static str {
    let is_below = |part: &str| path.iter().any(|component| component == part);
    match () {
        () if is_below("rooveterinaryinc.roo-cline") => "roo",
        () if is_below("kilocode.kilo-code") => "kilo",
        () => "cline",
    }
}

fn kind_of_file(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let is_below = |part: &str| path.iter().any(|component| component == part);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    if matches!(name, "state.vscdb" | "store.db") {
        return Some("cursor");
    }
    if let Some((kind, _)) = sure_file(path, name) {
        return Some(kind);
    }
    if name == "events.jsonl" && is_below("session-state") {
        return Some("copilot-cli");
    }
    if is_below("agent-transcripts") {
        return Some("cursor");
    }
    // A session, not a source file below a folder of the same name.
    let folder = name_of(path.parent());
    if matches!(folder, "chatSessions" | "emptyWindowChatSessions") && matches!(extension.as_str(), "json" | "jsonl") {
        return Some("copilot-chat");
    }
    if is_below(".system_generated") && extension == "jsonl" {
        return Some("antigravity");
    }
    match extension.as_str() {
        "jsonl" => kind_of_lines(path, &first_bytes(path)?),
        "json" => {
            // A session of the older file tree.
            if name.starts_with("ses_") && is_below("session") {
                return Some("opencode");
            }
            let first = first_bytes(path)?;
            kind_of_json(&first).or_else(|| (!chat::is_conversation(name, &first)).then_some("file"))
        }
        "zip" | "dms" => kind_of_archive(path),
        "md" if is_specstory(&first_bytes(path)?) => Some("specstory"),
        _ if is_text(path) => Some("file"),
        "pdf" => Some("file"),
        _ => None,
    }
}

/// Returns whether a Markdown file is a history that SpecStory wrote.
fn is_specstory(first: &[u8]) -> bool {
    let text = String::from_utf8_lossy(first);
    text.trim_start_matches('\u{feff}').starts_with("<!-- Generated by SpecStory")
        || text.lines().any(|line| line.starts_with("_**User") && line.trim_end().ends_with("**_"))
}

/// Returns the kind by the first lines that are whole JSON objects.
fn kind_of_lines(path: &Path, first: &[u8]) -> Option<&'static str> {
    for line in first.split(|byte| *byte == b'\n').take(40) {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { continue };
        if let Some(kind) = kind_of_transcript(path, &value).or_else(|| kind_of_line(&value)) {
            return Some(kind);
        }
    }
    // The first line may be longer than the bytes that were read.
    let text = String::from_utf8_lossy(first);
    if text.contains("\"sessionId\":\"") && (text.contains("\"parentUuid\"") || text.contains("\"uuid\"")) {
        return Some("claude-code");
    }
    if text.contains("\"type\":\"session_meta\"") {
        return Some("codex");
    }
    if text.contains("\"doc_id\"") && text.contains("\"turns\"") {
        return Some("jsonl");
    }
    // Claude Code keeps its transcripts here, so the file counts as one even if it is damaged.
    path.iter().any(|component| component == ".claude").then_some("claude-code")
}

/// Returns the kind of a conversation in a file of its own, by one of its lines and by the names around it.
fn kind_of_transcript(path: &Path, value: &Value) -> Option<&'static str> {
    let is_below = |part: &str| path.iter().any(|component| component == part);
    let is_beside = |name: &str| path.with_file_name(name).is_file();
    let has = |key: &str| value.get(key).is_some();
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let name = name_of(Some(path));
    match text("type") {
        // Pi and its relatives keep one format.
        "session" if !text("timestamp").is_empty() || has("cwd") && has("version") && !has("createdAt") => Some(match () {
            () if is_below(".omp") || has("title") => "omp",
            () if is_below(".openclaw") || is_beside("sessions.json") => "openclaw",
            () => "pi",
        }),
        "title" if has("v") && has("title") => Some("omp"),
        "session_start" if has("id") => Some("droid"),
        "metadata" if has("protocol_version") => Some("kimi"),
        _ if matches!(name, "chat_history.jsonl" | "updates.jsonl") && is_beside("summary.json") => Some("grok"),
        _ if name == "messages.jsonl" && has("role") && is_beside("meta.json") => Some("vibe"),
        _ if matches!(text("kind"), "Prompt" | "AssistantMessage" | "ToolResults") && value["data"].is_object() => Some("kiro"),
        _ => None,
    }
}

fn kind_of_line(value: &Value) -> Option<&'static str> {
    let object = value.as_object()?;
    let has = |key: &str| object.contains_key(key);
    let kind = value["type"].as_str().unwrap_or_default();
    if has("doc_id") && has("turns") {
        return Some("jsonl");
    }
    if has("payload") && has("timestamp") && has("type") || kind == "session_meta" {
        return Some("codex");
    }
    if has("projectHash") && has("sessionId") || has("$set") || has("$rewindTo") {
        return Some("gemini");
    }
    if has("data") && has("parentId") && kind.contains('.') {
        return Some("copilot-cli");
    }
    if value["kind"].is_number() && (has("v") || has("k")) {
        return Some("copilot-chat");
    }
    if kind == "session" && has("createdAt") || has("seq") && has("data") && kind.contains('/') {
        return Some("deepseek");
    }
    if has("working_dir") && (has("description") || has("message_count"))
        || has("role") && value["created"].is_number() && value["content"].is_array()
    {
        return Some("goose");
    }
    if has("step_index") && has("source") {
        return Some("antigravity");
    }
    let is_claude = has("sessionId") && (has("uuid") || has("parentUuid") || has("operation") || has("snapshot"))
        || kind == "summary" && has("leafUuid")
        || kind == "file-history-snapshot"
        || has("sessionId") && has("message") && matches!(kind, "user" | "assistant");
    if is_claude {
        return Some("claude-code");
    }
    // Early transcripts of Cursor's agents.
    (has("role") && value["message"]["content"].is_array()).then_some("cursor")
}

/// Returns the kind by the keys at the start of a JSON value, which may be longer than the bytes that were
/// read.
fn kind_of_json(first: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(first);
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if has("mapping") && (has("current_node") || has("create_time")) {
        Some("chatgpt")
    } else if has("chat_messages") {
        Some("claude-ai")
    } else if has("requests") && (has("requesterUsername") || has("responderUsername") || has("creationDate")) {
        Some("copilot-chat")
    } else if has("sessionId") && has("projectHash") {
        Some("gemini")
    } else if has("sessionId") && has("history") {
        Some("continue")
    } else if has("messages_path") && has("session_id") {
        Some("cline")
    } else if has("info") && text.contains("\"ses_") && (has("messages") || text.len() as u64 >= FIRST_BYTES) {
        // Progress messages of the program may precede the JSON.
        Some("opencode")
    } else {
        None
    }
}

/// Returns the kind of an archive: an export of a chat service holds `conversations.json`.
fn kind_of_archive(path: &Path) -> Option<&'static str> {
    let mut archive = zip::ZipArchive::new(File::open(path).ok()?).ok()?;
    let name = archive.file_names().flatten().find(|name| is_conversations(name))?.into_owned();
    let mut first = Vec::new();
    archive.by_name(&name).ok()?.take(FIRST_BYTES).read_to_end(&mut first).ok()?;
    kind_of_json(&first)
}

/// Returns whether a name is `conversations.json` or one of its numbered parts, in any folder.
fn is_conversations(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.starts_with("conversations") && file.ends_with(".json")
}

/// Returns whether a file begins with these bytes.
fn first_bytes_are(path: &Path, beginning: &[u8]) -> bool {
    let mut first = vec![0; beginning.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == beginning
}

fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut first = Vec::new();
    File::open(path).ok()?.take(FIRST_BYTES).read_to_end(&mut first).ok()?;
    Some(first)
}

/// Returns whether a file begins like text: UTF-8 without NUL characters.
fn is_text(path: &Path) -> bool {
    let Some(first) = first_bytes(path) else { return false };
    let valid = match std::str::from_utf8(&first) {
        Ok(text) => text,
        // The cut may split a character.
        Err(error) if first.len() - error.valid_up_to() < 4 => std::str::from_utf8(&first[..error.valid_up_to()]).unwrap_or("\0"),
        Err(_) => return false,
    };
    !valid.contains('\0')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn guessed(name: &str, content: &[u8]) -> Option<&'static str> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        kind_of(&path, &[])
    }

    fn kind_of(path: &Path, places: &[Guess]) -> Option<&'static str> {
        kinds_of(path, places).first().map(|(kind, _)| *kind)
    }

    #[test]
    fn files_are_told_by_their_names() {
        for (name, kind) in [
            ("User/globalStorage/state.vscdb", "cursor"),
            ("threads/threads.db", "zed"),
            ("opencode/opencode.db", "opencode"),
            ("canal/.crush/crush.db", "crush"),
            (".dsh/sessions/--canal--/session-1/session.v3.jsonl.zstd", "deepseek"),
            ("saved/kilo.db", "kilo-cli"),
            ("x/storage/session/p/ses_1.json", "opencode"),
            ("brain/c/.system_generated/logs/transcript.jsonl", "antigravity"),
            (".aider.chat.history.md", "aider"),
            ("tasks/1/ui_messages.json", "cline"),
            ("rooveterinaryinc.roo-cline/tasks/1/ui_messages.json", "roo"),
            ("session-state/x/events.jsonl", "copilot-cli"),
            ("2026/01/02/rollout-2026-01-02T03-04-05-x.jsonl.zst", "codex"),
            ("x/agent-transcripts/a/a.jsonl", "cursor"),
            ("workspaceStorage/h/chatSessions/s.json", "copilot-chat"),
            ("agents/main/sessions/sessions.json", "openclaw"),
            ("sessions/sessions.json", "continue"),
            ("notes/plan.md", "file"),
            ("src/main.rs", "file"),
            ("paper.pdf", "file"),
        ] {
            assert_eq!(guessed(name, b""), Some(kind), "{name}");
        }
    }

    #[test]
    fn json_is_told_by_its_keys() {
        for (name, content, kind) in [
            ("a.jsonl", r#"{"type":"summary","summary":"x","leafUuid":"y"}"#, "claude-code"),
            ("a.jsonl", "{\"torn\n{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"s\",\"message\":{}}", "claude-code"),
            ("a.jsonl", r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{}}"#, "codex"),
            ("a.jsonl", r#"{"doc_id":"d","corpus_id":"c","turns":[]}"#, "jsonl"),
            ("a.jsonl", r#"{"sessionId":"s","projectHash":"p"}"#, "gemini"),
            ("a.json", r#"{"sessionId":"s","projectHash":"p","messages":[]}"#, "gemini"),
            ("a.json", r#"[{"title":"t","create_time":1.5,"mapping":{}}]"#, "chatgpt"),
            ("a.json", r#"[{"uuid":"u","name":"n","chat_messages":[]}]"#, "claude-ai"),
            ("a.json", r#"{"sessionId":"s","title":"t","history":[]}"#, "continue"),
            ("package.json", r#"{"name":"x"}"#, "file"),
            // A checkout of OpenCode's source is not one of its histories.
            ("opencode/package.json", r#"{"name":"x"}"#, "file"),
            ("a.json", r#"Exporting session: ses_1{"info":{"id":"ses_1"},"messages":[]}"#, "opencode"),
            ("a.jsonl", r#"{"step_index":0,"source":"MODEL","type":"X"}"#, "antigravity"),
            ("a.jsonl", r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/h"}"#, "pi"),
            (".omp/a.jsonl", r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/h"}"#, "omp"),
            ("a.jsonl", "{\"type\":\"title\",\"v\":1,\"title\":\"t\"}\n{\"type\":\"session\",\"id\":\"s\"}", "omp"),
            (".openclaw/a.jsonl", r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z"}"#, "openclaw"),
            ("wire.jsonl", r#"{"type":"metadata","protocol_version":"1.4","created_at":1782295200000}"#, "kimi"),
            ("a.jsonl", r#"{"type":"session_start","id":"s","title":"t","cwd":"/h"}"#, "droid"),
            ("a.jsonl", r#"{"version":"v1","kind":"Prompt","data":{"message_id":"m","content":[]}}"#, "kiro"),
            ("a.md", "<!-- Generated by SpecStory -->\n\n# t\n", "specstory"),
            ("a.md", "# t\n\n_**User**_\n\nwhy?\n", "specstory"),
            ("a.md", "# SpecStory writes `_**User**_`\n", "file"),
            ("a.jsonl", r#"{"type":"session","version":0,"id":"s","createdAt":1}"#, "deepseek"),
            ("a.jsonl", r#"{"type":"user/message","seq":7,"time":1,"data":{}}"#, "deepseek"),
            ("a.jsonl", r#"{"description":"d","working_dir":"/w","message_count":2}"#, "goose"),
            ("a.jsonl", r#"{"id":null,"role":"user","created":1,"content":[]}"#, "goose"),
        ] {
            assert_eq!(guessed(name, content.as_bytes()), Some(kind), "{content}");
        }
        assert_eq!(guessed("a.jsonl", b"{}\n{}\n"), None);
        assert_eq!(guessed("a.bin", b"\x7fELF\0\0\0\xff\xff\xff\xff\xff\xff\xff"), None);
    }

    #[test]
    fn place_says_more_than_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("projects/x/garbage.jsonl");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "garbage").unwrap();
        let places = [("claude-code", directory.path().join("projects")), ("cursor", directory.path().join("missing"))];
        assert_eq!(kind_of(&path, &places), Some("claude-code"));
        assert_eq!(kind_of(&directory.path().join("projects/x"), &places), Some("claude-code"));
    }

    /// Writes files to a directory and returns the guesses for it: kinds with roots relative to it.
    fn guessed_directory(files: &[(&str, &str)]) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for (name, content) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let relative = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string().replace('\\', "/");
        let mut kinds: Vec<String> =
            kinds_of(&root, &[]).iter().map(|(kind, path)| format!("{kind} {}", relative(path))).collect();
        kinds.sort();
        kinds
    }

    #[test]
    fn directory_without_sure_names_is_what_most_of_its_files_are() {
        let line = r#"{"type":"user","uuid":"u","sessionId":"s","message":{}}"#;
        assert_eq!(guessed_directory(&[("p/a.jsonl", line), ("p/b.jsonl", line), ("c.md", "text")]), ["claude-code "]);
        assert_eq!(guessed_directory(&[("p/a.jsonl", line), ("b.md", "text"), ("c.md", "text")]), ["file "]);
    }

    #[test]
    fn sure_names_win_over_majorities_and_several_kinds_are_several() {
        let json = "{}";
        // A home directory kept under git.
        assert_eq!(
            guessed_directory(&[
                (".copilot/session-state/c/events.jsonl", ""),
                (".copilot/config.json", json),
                (".claude/projects/p/s.jsonl", ""),
                (".claude/settings.json", json),
                (".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-x.jsonl", ""),
                (".gemini/tmp/tide/chats/session-1.json", json),
                (".local/share/opencode/opencode.db", ""),
                (".local/share/opencode/log/a.log", "text"),
                (".config/Code/User/workspaceStorage/h/chatSessions/s.json", json),
                (".gemini/antigravity/brain/c/.system_generated/logs/transcript.jsonl", ""),
                ("notes/plan.md", "text"),
            ]),
            [
                "antigravity .gemini/antigravity/brain",
                "claude-code .claude",
                "codex .codex",
                "copilot-chat .config/Code/User/workspaceStorage/h/chatSessions",
                "copilot-cli .copilot/session-state",
                "file ",
                "gemini .gemini/tmp",
                "opencode .local/share/opencode",
            ]
        );
        // Inside an agent's own folder the other files are its settings.
        assert_eq!(
            guessed_directory(&[("session-state/c/events.jsonl", ""), ("config.json", json), ("logs/a.log", "text")]),
            ["copilot-cli session-state"]
        );
        // Agents with sessions in folders of their own, which are hidden.
        assert_eq!(
            guessed_directory(&[
                (".pi/agent/sessions/--tide--/a.jsonl", ""),
                (".openclaw/agents/main/sessions/a.jsonl", ""),
                (".openclaw/agents/main/sessions/sessions.json", json),
                (".kimi-code/sessions/wd_tide/s/agents/main/wire.jsonl", ""),
                (".vibe/logs/session/s/messages.jsonl", ""),
                (".grok/sessions/tide/s/updates.jsonl", ""),
                (".factory/sessions/-tide/s.jsonl", ""),
                (".kiro/sessions/cli/s.jsonl", ""),
                (".omp/profiles/quay/agent/sessions/-tide/s.jsonl", ""),
                ("tide/.specstory/history/a.md", "<!-- Generated by SpecStory -->"),
                ("tide/README.md", "text"),
            ]),
            [
                "droid .factory/sessions",
                "file ",
                "grok .grok/sessions",
                "kimi .kimi-code/sessions",
                "kiro .kiro/sessions",
                "omp .omp/profiles/quay/agent/sessions",
                "openclaw .openclaw/agents/main/sessions",
                "pi .pi/agent/sessions",
                "specstory tide/.specstory/history",
                "vibe .vibe/logs/session",
            ]
        );
        // A project where an agent left its history.
        assert_eq!(
            guessed_directory(&[(".aider.chat.history.md", "# aider"), ("README.md", "text"), ("src/a.rs", "text")]),
            ["aider .aider.chat.history.md", "file "]
        );
        // An unpacked export.
        assert_eq!(
            guessed_directory(&[
                ("conversations.json", r#"[{"uuid":"u","name":"n","chat_messages":[]}]"#),
                ("users.json", r#"[{"email_address":"ada@example.org"}]"#),
                ("projects.json", "[]"),
            ]),
            ["claude-ai "]
        );
        // A checkout of an agent's source.
        assert_eq!(guessed_directory(&[("opencode/package.json", json), ("opencode/README.md", "text")]), ["file "]);
        assert_eq!(guessed_directory(&[("src/chatSessions/a.ts", "text"), ("README.md", "text")]), ["file "]);
        // Folders of copies, each by its own files.
        let claude = r#"{"type":"user","uuid":"u","sessionId":"s","message":{}}"#;
        let gemini = r#"{"sessionId":"s","projectHash":"p"}"#;
        assert_eq!(
            guessed_directory(&[
                ("a/1.jsonl", claude),
                ("b/1.jsonl", gemini),
                ("b/2.jsonl", gemini),
                ("c/threads.db", ""),
                ("d/note.md", "text")
            ]),
            ["claude-code a", "gemini b", "zed c/threads.db"]
        );
    }

    #[test]
    fn addresses_are_told_from_paths() {
        assert!(is_address("https://example.org/a"));
        assert!(is_address("HTTP://example.org"));
        assert!(!is_address("http/readme.md"));
        assert!(!is_address("ü"));
    }
}
