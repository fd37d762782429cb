//! Which source a path or address holds, when nobody says: by where it lies, by its name, and by
//! its first bytes; a directory by most of what lies in it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Bytes that are looked at.
const FIRST_BYTES: u64 = 64 << 10;
/// Files of a directory that are looked at.
const MOST_FILES: usize = 200;
/// Entries of a directory that are passed on the way to them.
const MOST_ENTRIES: usize = 5_000;
const DEEPEST: usize = 8;

/// Whether an argument is the address of a page, not a path.
pub fn is_address(argument: &str) -> bool {
    let is = |scheme: &str| argument.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    is("http://") || is("https://")
}

/// The kind of the source that can read a path; `places` are the places of each kind on this
/// computer. None when nothing tells.
pub fn kind_of(path: &Path, places: &[(&'static str, PathBuf)]) -> Option<&'static str> {
    let canonical = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let lies_there = places
        .iter()
        .map(|(kind, place)| (kind, place.canonicalize().unwrap_or_else(|_| place.clone())))
        .filter(|(_, place)| canonical.starts_with(place))
        .max_by_key(|(_, place)| place.components().count());
    if let Some((kind, _)) = lies_there {
        return Some(kind);
    }
    if canonical.is_dir() { Some(kind_of_directory(&canonical).unwrap_or("file")) } else { kind_of_file(&canonical) }
}

/// The kind of most of the files in a directory, if that is a kind of conversations.
fn kind_of_directory(directory: &Path) -> Option<&'static str> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    let (mut files, mut entries_seen) = (0, 0);
    let mut pending = vec![(directory.to_path_buf(), 0)];
    'looking: while let Some((directory, depth)) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            entries_seen += 1;
            if files >= MOST_FILES || entries_seen >= MOST_ENTRIES {
                break 'looking;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < DEEPEST && entry.file_name() != ".git" {
                pending.push((entry.path(), depth + 1));
            } else if kind.is_file() {
                files += 1;
                if let Some(kind) = kind_of_file(&entry.path()).filter(|kind| *kind != "file") {
                    match counts.iter_mut().find(|(known, _)| *known == kind) {
                        Some((_, count)) => *count += 1,
                        None => counts.push((kind, 1)),
                    }
                }
            }
        }
    }
    let (kind, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count * 2 >= files).then_some(kind)
}

fn kind_of_file(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let is_below = |part: &str| path.iter().any(|component| component == part);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    match name {
        "state.vscdb" | "store.db" => return Some("cursor"),
        "threads.db" => return Some("zed"),
        ".aider.chat.history.md" => return Some("aider"),
        "api_conversation_history.json" | "ui_messages.json" => {
            return Some(match () {
                () if is_below("rooveterinaryinc.roo-cline") => "roo",
                () if is_below("kilocode.kilo-code") => "kilo",
                () => "cline",
            });
        }
        "events.jsonl" if is_below("session-state") => return Some("copilot-cli"),
        _ => {}
    }
    if name.starts_with("rollout-") && (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")) {
        return Some("codex");
    }
    if is_below("agent-transcripts") {
        return Some("cursor");
    }
    if is_below("chatSessions") || is_below("emptyWindowChatSessions") {
        return Some("copilot-chat");
    }
    if extension == "db" && (name.starts_with("opencode") || is_below("opencode")) {
        return Some("opencode");
    }
    match extension.as_str() {
        "jsonl" => kind_of_lines(path, &first_bytes(path)?),
        "json" => {
            if is_below("opencode") {
                return Some("opencode");
            }
            Some(kind_of_json(&first_bytes(path)?).unwrap_or("file"))
        }
        "zip" | "dms" => kind_of_archive(path),
        _ if is_text(path) => Some("file"),
        "pdf" => Some("file"),
        _ => None,
    }
}

/// By the first lines that are whole JSON objects.
fn kind_of_lines(path: &Path, first: &[u8]) -> Option<&'static str> {
    for line in first.split(|byte| *byte == b'\n').take(40) {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { continue };
        if let Some(kind) = kind_of_line(&value) {
            return Some(kind);
        }
    }
    // The first line alone may be longer than what is looked at.
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
    // Whatever state they are in, these are where Claude Code puts its transcripts.
    path.iter().any(|component| component == ".claude").then_some("claude-code")
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

/// By the keys at the beginning of one JSON value, which may be longer than what is looked at.
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
    } else {
        None
    }
}

/// An export of a chat service holds `conversations.json`.
fn kind_of_archive(path: &Path) -> Option<&'static str> {
    let mut archive = zip::ZipArchive::new(File::open(path).ok()?).ok()?;
    let name = archive.file_names().flatten().find(|name| is_conversations(name))?.into_owned();
    let mut first = Vec::new();
    archive.by_name(&name).ok()?.take(FIRST_BYTES).read_to_end(&mut first).ok()?;
    kind_of_json(&first)
}

/// `conversations.json`, or one of its numbered parts, in whatever folder.
fn is_conversations(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.starts_with("conversations") && file.ends_with(".json")
}

fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut first = Vec::new();
    File::open(path).ok()?.take(FIRST_BYTES).read_to_end(&mut first).ok()?;
    Some(first)
}

/// Whether a file begins like text: UTF-8 without control characters.
fn is_text(path: &Path) -> bool {
    let Some(first) = first_bytes(path) else { return false };
    let valid = match std::str::from_utf8(&first) {
        Ok(text) => text,
        // The cut may go through a character.
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

    #[test]
    fn files_are_told_by_their_names() {
        for (name, kind) in [
            ("User/globalStorage/state.vscdb", "cursor"),
            ("threads/threads.db", "zed"),
            ("opencode/opencode.db", "opencode"),
            (".aider.chat.history.md", "aider"),
            ("tasks/1/ui_messages.json", "cline"),
            ("rooveterinaryinc.roo-cline/tasks/1/ui_messages.json", "roo"),
            ("session-state/x/events.jsonl", "copilot-cli"),
            ("2026/01/02/rollout-2026-01-02T03-04-05-x.jsonl.zst", "codex"),
            ("x/agent-transcripts/a/a.jsonl", "cursor"),
            ("workspaceStorage/h/chatSessions/s.json", "copilot-chat"),
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

    #[test]
    fn directory_is_what_most_of_its_files_are() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write(".aider.chat.history.md", "# aider chat started at 2026-01-01 10:00:00\n");
        for name in ["README.md", "src/a.rs", "src/b.rs"] {
            write(name, "text");
        }
        assert_eq!(kind_of(directory.path(), &[]), Some("file"));
        let transcripts = directory.path().join("saved");
        for name in ["a", "b", "c"] {
            write(&format!("saved/p/{name}.jsonl"), r#"{"type":"user","uuid":"u","sessionId":"s","message":{}}"#);
        }
        assert_eq!(kind_of(&transcripts, &[]), Some("claude-code"));
    }

    #[test]
    fn addresses_are_told_from_paths() {
        assert!(is_address("https://example.org/a"));
        assert!(is_address("HTTP://example.org"));
        assert!(!is_address("http/readme.md"));
        assert!(!is_address("ü"));
    }
}
