//! Gemini CLI: `tmp/<project>/chats/session-*.json` or `.jsonl`, sub-agents in `chats/<session>/`. The first is one object,
//! rewritten at each turn; the second is a log of messages and patches.
//!
//! - [`Gemini`]: finds the files and the directory that they belong to
//! - `log`: converts either form to one list of messages
//! - `reader`: messages to turns
//!
//! Both forms become the same records: one with the facts of the session, then one per message.

mod log;
mod reader;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use self::log::{Conversation, OUTPUT};
pub(super) use self::reader::{FILES, parts};
use self::reader::{GeminiReader, KIND};
use super::shapes::{self, drop_payloads, output_referred_to, text_of};
use super::{Computer, EpisodeReader, Known, LineOwner, NO_CONVERSATION, ReaderOptions, Source, Unit, files_below, problem};

/// Maximum size of a file in bytes. A larger one is not a conversation.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// Folder of the outputs that were too large for a conversation.
const OUTPUTS: &str = "tool-outputs";
/// Name that Gemini's agent-to-agent server gives to each of its sessions.
const SERVER: &str = "a2a-server";
/// Maximum size of the list of projects in bytes. A larger file is ignored.
const MAX_LIST_BYTES: u64 = 4 << 20;

/// The source for Gemini CLI; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Gemini;

impl Source for Gemini {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Gemini CLI"
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        // The variable replaces the home directory.
        vec![computer.directory("GEMINI_CLI_HOME", "").join(".gemini").join("tmp")]
    }

    fn discover(&self, root: &Path, known: &dyn Known) -> Vec<Unit> {
        let mut hashed = HashedDirectories::new(known);
        let mut unit = |file: PathBuf| {
            let mut unit = Unit::records(file)?;
            unit.worked_in = hashed.directory_of(&unit.path);
            if let Some(directory) = &unit.worked_in {
                // A session that was read before its directory was known is read once more.
                unit.stamp.version ^= shapes::hash_of([directory.as_bytes()]);
            }
            Some(unit)
        };
        if root.is_file() {
            return unit(root.to_path_buf()).into_iter().collect();
        }
        // The root may be the settings folder, its `tmp`, or any folder of conversations.
        let tmp = root.join("tmp");
        let root = if tmp.is_dir() { tmp } else { root.to_path_buf() };
        let mut logs = files_below(&root, "jsonl", 8);
        let written: HashSet<PathBuf> = logs.iter().map(|log| log.with_extension("")).collect();
        let objects = files_below(&root, "json", 8);
        logs.extend(objects.into_iter().filter(|object| !written.contains(&object.with_extension(""))));
        logs.retain(|file| is_conversation(file, &root));
        logs.into_iter().filter_map(unit).collect()
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let bytes = shapes::read_whole(&unit.path, MAX_FILE_BYTES)?;
        let is_log = unit.path.extension().is_some_and(|extension| extension == "jsonl");
        let conversation = if is_log { Conversation::of_log(&bytes) } else { Conversation::of_object(&bytes)? };
        let Some(session) = session_of(&unit.path, &conversation) else {
            if !conversation.is_blank() {
                take(problem(NO_CONVERSATION, ""));
            }
            return Ok(());
        };
        let facts = &conversation.facts;
        let parent = parent_of(&unit.path).filter(|parent| *parent != session);
        let is_subagent = parent.is_some() || text_of(facts, "kind") == Some("subagent");
        let header = json!({
            "type": "session",
            "session": session,
            "parent": parent,
            "is_subagent": is_subagent,
            "cwd": directory_of(&unit.path, facts).or_else(|| unit.worked_in.clone()),
            "began": text_of(facts, "startTime"),
            "title": text_of(facts, "summary"),
        });
        if !take(header) {
            return Ok(());
        }
        let outputs = project_folder(&unit.path).map(|project| project.join(OUTPUTS));
        for mut message in conversation.messages {
            if let Value::Object(members) = &mut message {
                // Thoughts are not part of the conversation, and numbers of tokens change while a message
                // grows.
                for unsaid in ["thoughts", "tokens"] {
                    members.shift_remove(unsaid);
                }
                for call in members.get_mut("toolCalls").and_then(Value::as_array_mut).into_iter().flatten() {
                    slim(call);
                    if let Some(text) = outputs.as_ref().and_then(|folder| output_referred_to(&call["result"], folder)) {
                        call[OUTPUT] = text.into();
                    }
                }
            }
            drop_payloads(&mut message);
            if !take(json!({"type": "message", "session": session, "message": message})) {
                return Ok(());
            }
        }
        for skipped in &conversation.skipped {
            if !take(json!({"type": "skipped", "session": session, "what": skipped})) {
                return Ok(());
            }
        }
        conversation.damage.map(take);
        Ok(())
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(GeminiReader::new(options.clone()))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner {
            session: text_of(value, "session").map(Into::into),
            message: text_of(&value["message"], "id"),
            about: None,
            directory: text_of(value, "cwd"),
        }
    }

    fn default_retention_days(&self) -> Option<u32> {
        Some(30)
    }
}

/// Removes the members of a call that are only for display: its result shown on the screen, if the result
/// itself is there, and its labels.
fn slim(call: &mut Value) {
    let Value::Object(members) = call else { return };
    let has_result = members.get("result").is_some_and(|result| result.as_array().is_some_and(|list| !list.is_empty()));
    if has_result {
        members.shift_remove("resultDisplay");
    }
    for unsaid in ["displayName", "description", "renderOutputAsMarkdown"] {
        members.shift_remove(unsaid);
    }
}

/// Returns whether a file is a conversation. Gemini keeps them in `chats`; in a user's own folder they may be
/// anywhere, except for the lists of prompts and settings beside them.
fn is_conversation(file: &Path, root: &Path) -> bool {
    let Ok(below) = file.strip_prefix(root) else { return false };
    let is_among = |name: &str| below.components().any(|part| part.as_os_str() == name);
    let is_in_chats = is_among("chats") || root.components().any(|part| part.as_os_str() == "chats");
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("");
    let is_list =
        matches!(name, "logs.json" | "projects.json" | "settings.json" | "trustedFolders.json") || name.starts_with("checkpoint");
    is_in_chats || below.components().count() <= 2 && !is_list && !is_credentials(name)
}

/// Returns whether a file holds credentials. Such files are never opened.
fn is_credentials(name: &str) -> bool {
    name.contains("creds") || name.contains("oauth") || name.contains("account") || name.contains("token")
}

/// Returns the native id of a file's session: the one it names, unless it comes from the server that gives
/// all its sessions one name.
fn session_of(path: &Path, conversation: &Conversation) -> Option<String> {
    let named = text_of(&conversation.facts, "sessionId")?;
    if named != SERVER {
        return Some(named.to_owned());
    }
    let project = path.parent().and_then(Path::parent).and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("");
    let file = path.file_stem().and_then(|stem| stem.to_str())?;
    Some(format!("{SERVER}/{project}/{file}"))
}

/// Returns the session that started a sub-agent, from its file's path: `chats/<session>/<id>.jsonl`.
fn parent_of(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let is_below_chats = folder.parent()?.file_name().is_some_and(|name| name == "chats");
    is_below_chats.then(|| folder.file_name()?.to_str().map(str::to_owned)).flatten()
}

/// Returns the directory of the project: written beside the conversations, listed in the settings, or named
/// in the conversation itself.
fn directory_of(path: &Path, facts: &Value) -> Option<String> {
    let project = project_folder(path)?;
    if let Some(root) = read_list(&project.join(".project_root")) {
        let root = root.trim();
        if !root.is_empty() {
            return Some(root.to_owned());
        }
    }
    let name = project.file_name().and_then(|name| name.to_str()).unwrap_or("");
    let hash = text_of(facts, "projectHash").unwrap_or("");
    // `<home>/.gemini/tmp/<project>/chats`
    let listed = project.parent().and_then(Path::parent).and_then(|settings| read_list(&settings.join("projects.json")));
    let listed: Value = listed.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let roots = if listed["projects"].is_object() { &listed["projects"] } else { &listed };
    let listed = roots.as_object().into_iter().flatten().find(|(root, id)| {
        let sum = hex(&Sha256::digest(root.as_bytes()));
        (!name.is_empty() && (id.as_str() == Some(name) || sum == name)) || sum == hash
    });
    listed
        .map(|(root, _)| root.clone())
        .or_else(|| facts["directories"].as_array().and_then(|list| list.first()).and_then(Value::as_str).map(str::to_owned))
}

/// Returns the folder that holds the data of one project.
fn project_folder(path: &Path) -> Option<&Path> {
    let chats = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "chats"));
    chats.and_then(Path::parent).or_else(|| path.parent())
}

/// Directories of projects whose folders are named by a hash that no list resolves: on Windows the list has
/// lower-case paths, but the hash is of the path as it is written. The directories are looked up among those
/// in which other agents worked.
struct HashedDirectories<'k> {
    known: &'k dyn Known,
    /// Directories by their SHA-256 in hexadecimal digits. Built when a folder needs it.
    by_hash: Option<HashMap<String, String>>,
    /// Result of the search for each folder.
    folders: HashMap<PathBuf, Option<String>>,
}

impl<'k> HashedDirectories<'k> {
    fn new(known: &'k dyn Known) -> Self {
        Self { known, by_hash: None, folders: HashMap::new() }
    }

    /// Returns the directory of a conversation, if only its folder's name identifies it.
    fn directory_of(&mut self, conversation: &Path) -> Option<String> {
        let folder = project_folder(conversation)?;
        let name = folder.file_name()?.to_str()?;
        let is_hash = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            return None;
        }
        if let Some(found) = self.folders.get(folder) {
            return found.clone();
        }
        let is_listed = directory_of(conversation, &Value::Null).is_some();
        let found = if is_listed { None } else { self.by_hash().get(&name.to_ascii_lowercase()).cloned() };
        self.folders.insert(folder.to_path_buf(), found.clone());
        found
    }

    fn by_hash(&mut self) -> &HashMap<String, String> {
        let known = self.known;
        self.by_hash.get_or_insert_with(|| {
            let directories = known.directories();
            let spellings = directories.iter().flat_map(|directory| spellings(directory));
            spellings.map(|spelling| (hex(&Sha256::digest(spelling.as_bytes())), spelling)).collect()
        })
    }
}

/// Returns a directory and those above it, in the spellings that Gemini may have used: with the drive letter
/// in upper and lower case.
fn spellings(directory: &str) -> Vec<String> {
    let directory = directory.trim_end_matches(['/', '\\']);
    let ends = directory.char_indices().filter(|(_, letter)| matches!(letter, '/' | '\\')).map(|(at, _)| at);
    let mut spellings = Vec::new();
    for end in ends.chain([directory.len()]) {
        let path = &directory[..end];
        if path.len() <= "C:".len() {
            continue;
        }
        spellings.push(path.to_owned());
        if path.as_bytes()[1] == b':' {
            let (drive, rest) = path.split_at(1);
            spellings.extend([drive.to_ascii_uppercase(), drive.to_ascii_lowercase()].map(|drive| drive + rest));
        }
    }
    spellings
}

fn read_list(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_LIST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_agents_name_their_session_by_their_folder() {
        assert_eq!(parent_of(Path::new("/h/.gemini/tmp/tide/chats/s-1/a.jsonl")).as_deref(), Some("s-1"));
        assert_eq!(parent_of(Path::new("/h/.gemini/tmp/tide/chats/session-1.jsonl")), None);
    }

    #[test]
    fn lists_and_credentials_are_no_conversations() {
        let root = Path::new("/h/.gemini");
        for (name, expected) in [
            ("tmp/tide/chats/session-1.json", true),
            ("tmp/tide/logs.json", false),
            ("oauth_creds.json", false),
            ("projects.json", false),
            ("session.json", true),
        ] {
            assert_eq!(is_conversation(&root.join(name), root), expected, "{name}");
        }
    }
}
