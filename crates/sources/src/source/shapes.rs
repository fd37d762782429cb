//! Functions that several readers share: optional members, text from nested values, messages to turns.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Caveat, Episode, EpisodeKind, FileAction, FileUse, Outcome, Role, Title, TitleRank, ToolUse, Turn};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis, format_utc};

use super::address::path_of_address;
use super::own::{is_own_tool, without_own_output, without_own_words};
use super::speaker::{Marks, Sender, divide, role_by};
use super::{Computer, Framing, Known, Platform, ReadTurn, Reading, Stamp, Unit, problem};
use crate::foreign::ForeignDatabase;
use crate::parse::{Document, NotJson, is_whole_object, parse_document, parse_line};

/// Maximum length of a `data:` URL or a run of base64. Anything longer is a picture or another payload.
const MAX_PAYLOAD_BYTES: usize = 2048;
/// Upper limit for times in milliseconds: the year 10000. Later times are errors.
const END_OF_TIME: i64 = 253_402_300_800_000;

/// Names of the settings directories of the builds of VS Code.
pub const VSCODE_BUILDS: [&str; 4] = ["Code", "Code - Insiders", "Code - OSS", "VSCodium"];
/// The same, with the editors that are derived from it and run its extensions.
pub const EDITORS: [&str; 6] = ["Code", "Code - Insiders", "Code - OSS", "VSCodium", "Cursor", "Windsurf"];

/// Returns the user directories of VS Code and its variants, whether or not they exist.
pub(super) fn vs_code_users(computer: &Computer<'_>) -> Vec<PathBuf> {
    let mut users: Vec<PathBuf> = EDITORS.iter().map(|name| computer.configuration().join(name).join("User")).collect();
    if computer.platform == Platform::Xdg {
        // Windows connected to this computer from another one.
        users.extend([".vscode-server", ".vscode-server-insiders"].map(|name| computer.home.join(name).join("data/User")));
    }
    users
}

/// Returns a member that is a non-empty string.
pub(super) fn text_of<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// Returns the first of several members that is a non-empty string.
pub(super) fn first_text<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| text_of(value, key))
}

/// Returns an id, which may be a string or a number.
pub(super) fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns a time from ISO 8601, or from milliseconds since 1970 as a number or as digits. `None` if there is
/// none.
pub(super) fn time_of(value: &Value, quality: TimeQuality) -> Option<RecordedTime> {
    let millis = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(words) => match words.parse::<f64>() {
            Ok(number) => number,
            Err(_) => {
                let time = RecordedTime::parse(words);
                return time.utc.is_some().then_some(RecordedTime { quality, ..time });
            }
        },
        _ => return None,
    };
    from_millis(millis, quality)
}

/// Like [`time_of`], for numbers that are seconds, or in some versions milliseconds.
pub(super) fn time_of_seconds(value: &Value, quality: TimeQuality) -> Option<RecordedTime> {
    /// In seconds, this is after the year 5000; in milliseconds, before 1974.
    const FIRST_MILLIS: f64 = 1e11;
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(words) => words.parse::<f64>().ok(),
        _ => None,
    };
    match number {
        Some(seconds) if seconds < FIRST_MILLIS => from_millis(seconds * 1000.0, quality),
        Some(millis) => from_millis(millis, quality),
        None => time_of(value, quality),
    }
}

/// Returns a time from milliseconds, unless it is out of range.
pub(super) fn from_millis(millis: f64, quality: TimeQuality) -> Option<RecordedTime> {
    let is_time = millis.is_finite() && millis >= 1.0 && millis < END_OF_TIME as f64;
    is_time.then(|| RecordedTime::from_millis(millis.round() as i64, quality))
}

/// Appends a paragraph.
pub(super) fn append(to: &mut String, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    if !to.is_empty() {
        to.push_str("\n\n");
    }
    to.push_str(text);
}

/// Returns a short piece of an unknown name, under which skips are counted.
pub(super) fn short(text: &str) -> String {
    text.chars().take(48).collect()
}

/// Returns a title on one line.
pub(super) fn title(text: &str, rank: TitleRank, at: Option<UtcMillis>, line: u64) -> Title {
    Title { text: text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect(), rank, at, line }
}

/// Renders a tool call as text: its name, then each input on a line.
pub(super) fn render_call(name: &str, input: &Value) -> String {
    let mut call = name.to_owned();
    let Value::Object(inputs) = input else {
        let words = flatten(input);
        if !words.is_empty() {
            call.push('\n');
            call.push_str(&words);
        }
        return call;
    };
    for (key, value) in inputs {
        call.push('\n');
        call.push_str(key);
        call.push_str(": ");
        call.push_str(&flatten(value));
    }
    call
}

/// Returns every string of a value, each on its own line. Includes numbers, but not keys and type tags.
pub(super) fn flatten(value: &Value) -> String {
    fn walk(value: &Value, out: &mut String) {
        match value {
            Value::String(text) => {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(text);
            }
            Value::Array(list) => list.iter().for_each(|item| walk(item, out)),
            Value::Object(map) => map.iter().filter(|(key, _)| *key != "type").for_each(|(_, item)| walk(item, out)),
            Value::Number(number) => {
                if !out.is_empty() {
                    out.push(' ');
                }
                out.push_str(&number.to_string());
            }
            Value::Bool(_) | Value::Null => {}
        }
    }
    let mut out = String::new();
    walk(value, &mut out);
    out
}

/// Returns the object that a string holds as JSON, or the value itself: tool arguments come in both forms.
pub(super) fn arguments(value: &Value) -> std::borrow::Cow<'_, Value> {
    match value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        Some(parsed @ Value::Object(_)) => std::borrow::Cow::Owned(parsed),
        _ => std::borrow::Cow::Borrowed(value),
    }
}

/// Removes pictures and other payloads from a value. Their media type and length are kept.
pub(super) fn drop_payloads(value: &mut Value) {
    match value {
        Value::String(text) if is_payload(text) => {
            let media = text.strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next()).unwrap_or("base64");
            *text = format!("[{}, {} bytes]", short(media), text.len());
        }
        Value::Array(list) => {
            // Some programs write a picture as a list of bytes.
            let is_bytes = list.len() > MAX_PAYLOAD_BYTES && list.iter().all(|item| item.as_u64().is_some_and(|byte| byte < 256));
            if is_bytes {
                *value = Value::String(format!("[bytes, {}]", list.len()));
            } else {
                list.iter_mut().for_each(drop_payloads);
            }
        }
        Value::Object(map) => map.values_mut().for_each(drop_payloads),
        _ => {}
    }
}

/// Minimum number of letters of a ciphertext.
const CIPHERTEXT: usize = 200;
/// Beginning of the ciphertexts that agents exchange.
const CIPHER_MARK: &str = "gAAAA";

/// Replaces ciphertexts by their length, in the values as readers get them: they are not words. A ciphertext is a long run of
/// base64url with the beginning that agents' ciphertexts have, or the value of a member that is named or marked as encrypted.
pub fn cover_ciphertext(values: &mut [Value]) {
    let mut open: Vec<(&mut Value, bool)> = values.iter_mut().map(|value| (value, false)).collect();
    while let Some((value, is_marked)) = open.pop() {
        match value {
            Value::String(text) if is_marked && text.len() >= 64 && !text.contains(char::is_whitespace) => {
                *text = encrypted(text.len());
            }
            // Most strings of a transcript are shorter than a ciphertext.
            Value::String(text) if text.len() >= CIPHERTEXT => {
                if let Some(covered) = without_ciphertext(text) {
                    *text = covered;
                }
            }
            Value::Array(list) => open.extend(list.iter_mut().map(|item| (item, is_marked))),
            Value::Object(members) => {
                let is_mark = |key: &str| ["encrypted", "isEncrypted", "is_encrypted"].contains(&key);
                let is_marked = is_marked || members.iter().any(|(key, item)| *item == Value::Bool(true) && is_mark(key));
                open.extend(members.iter_mut().map(|(key, item)| {
                    let is_named = memchr::memmem::find(key.as_bytes(), b"ncrypted").is_some();
                    (item, is_marked || is_named)
                }));
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn encrypted(letters: usize) -> String {
    format!("[encrypted, {letters} letters]")
}

/// Returns the text with its ciphertexts replaced; `None` if it has none.
fn without_ciphertext(text: &str) -> Option<String> {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'=');
    let bytes = text.as_bytes();
    let (mut covered, mut done) = (String::new(), 0);
    for start in memchr::memmem::find_iter(bytes, CIPHER_MARK) {
        if start < done || start > 0 && is_digit(bytes[start - 1]) {
            continue;
        }
        let end = start + bytes[start..].iter().take_while(|byte| is_digit(**byte)).count();
        if end - start >= CIPHERTEXT {
            covered.push_str(&text[done..start]);
            covered.push_str(&encrypted(end - start));
            done = end;
        }
    }
    (done > 0).then(|| covered + &text[done..])
}

fn is_payload(text: &str) -> bool {
    if text.len() <= MAX_PAYLOAD_BYTES {
        return false;
    }
    let head = &text.as_bytes()[..256];
    if text.starts_with("data:") && memchr::memmem::find(head, b";base64,").is_some() {
        return true;
    }
    let bytes = text.as_bytes();
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_\r\n".contains(byte);
    // Text has spaces, and a relevant hash or key is shorter than this.
    bytes.iter().all(is_base64) && bytes.iter().filter(|byte| **byte == b'\n').count() * 40 < bytes.len()
}

/// Returns the exit code that a program's output gives on a line of its own, as agents write it:
/// `Exit Code: 1`, `exit code 1`, `<exited with exit code 1>`.
pub(super) fn exit_code(output: &str) -> Option<i64> {
    output.lines().rev().find_map(|line| {
        let line = line.trim().trim_start_matches('<').trim_end_matches('>').to_ascii_lowercase();
        let rest = ["exited with exit code", "exit code", "command exited with code", "process exited with code"]
            .iter()
            .find_map(|beginning| line.strip_prefix(beginning))?;
        rest.trim_start_matches(':').trim().parse().ok()
    })
}

/// Maximum number of files that are checked.
pub(super) const MAX_FILES: usize = 200;

/// Returns the files named in a patch anywhere in a text: as an input of its own, in a shell command, or in a
/// string of a script.
pub(super) fn patched_files(text: &str) -> Vec<String> {
    const MARKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let mut files: Vec<String> = Vec::new();
    if !text.contains("*** Begin Patch") {
        return files;
    }
    // In the string of a script, line breaks are written as escapes.
    let is_script = !text.contains("*** Begin Patch\n") && !text.contains("*** Begin Patch\r");
    let mut rest = text;
    while let Some(at) = rest.find("*** ") {
        rest = &rest[at..];
        let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) else {
            rest = &rest[4..];
            continue;
        };
        rest = &rest[mark.len()..];
        let line = rest.split(['\n', '\r']).next().unwrap_or("");
        let path = if is_script { line.split(['"', '`']).next().unwrap_or("").split("\\n").next().unwrap_or("") } else { line };
        let path = path.trim();
        if !path.is_empty() && path.len() < 4096 && files.len() < MAX_FILES && !files.iter().any(|known| known == path) {
            files.push(path.to_owned());
        }
    }
    files
}

/// Returns the files named in a tool's input.
pub(super) fn files_of_input(tool: &str, input: &Value) -> Vec<FileUse> {
    const SURE: [&str; 8] = ["file_path", "filePath", "filepath", "file", "target_file", "notebook_path", "absolute_path", "uri"];
    let name = tool.to_ascii_lowercase();
    let is_one_of = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let action = if is_one_of(&["write", "edit", "create", "patch", "replace", "insert", "delete", "move", "save", "apply"]) {
        FileAction::Written
    } else if is_one_of(&["read", "view", "open", "cat"]) {
        FileAction::Read
    } else {
        FileAction::Mentioned
    };
    let mut files = Vec::new();
    for key in SURE.iter().chain(&["path"]) {
        // `path` is a directory for most tools that neither read nor write a single file.
        if *key == "path" && action == FileAction::Mentioned {
            continue;
        }
        if let Some(path) = text_of(input, key).filter(|path| path.len() < 4096).and_then(path_of_address) {
            add_file(&mut files, path, action);
        }
    }
    // A patch is given as text.
    for path in input.as_str().map(patched_files).unwrap_or_default() {
        add_file(&mut files, path, FileAction::Written);
    }
    files
}

/// Adds a file once.
pub(super) fn add_file(files: &mut Vec<FileUse>, path: String, action: FileAction) {
    let file = FileUse { path, action };
    if !file.path.trim().is_empty() && !files.contains(&file) {
        files.push(file);
    }
}

/// Reads as much as possible of a file's JSON value.
///
/// # Errors
/// As for [`read_document`].
pub(super) fn read_json(path: &Path, max_bytes: u64) -> io::Result<Value> {
    read_document(path, max_bytes).map(|(value, _)| value)
}

/// Like [`read_json`], and also returns a record that reports damage to the file, to be given after all
/// others.
///
/// # Errors
/// When it cannot be read, is larger than `max_bytes`, or is not JSON.
pub(super) fn read_document(path: &Path, max_bytes: u64) -> io::Result<(Value, Option<Value>)> {
    document_of(&read_whole(path, max_bytes)?)
}

/// Maximum size of an unpacked line in bytes. A longer one is counted as damage.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Maximum size of an unpacked file in bytes. The rest of a larger one is ignored.
const MAX_UNPACKED_BYTES: u64 = 4 << 30;
/// First bytes of every zstd frame.
pub(super) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Passes the objects of a file of JSON lines, which may be compressed with zstd, to `take` until it returns
/// false. Returns records that report what could not be read, to be given after all others.
///
/// # Errors
/// When it cannot be read at all.
pub(super) fn each_object(path: &Path, mut take: impl FnMut(Value) -> bool) -> io::Result<Vec<Value>> {
    let mut file = BufReader::with_capacity(256 * 1024, File::open(path)?);
    let mut lines: Box<dyn BufRead> = if file.fill_buf()?.starts_with(&ZSTD_MAGIC) {
        let unpacked = zstd::stream::read::Decoder::with_buffer(file)?.take(MAX_UNPACKED_BYTES);
        Box::new(BufReader::with_capacity(256 * 1024, unpacked))
    } else {
        Box::new(file)
    };
    let (mut bytes, mut values, mut bad_lines) = (Vec::new(), Vec::new(), 0);
    let mut problems = Vec::new();
    loop {
        bytes.clear();
        let read = (&mut lines).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes);
        if let Err(error) = &read {
            // A program that ended, or that is writing just now, leaves its last frame unfinished.
            let reason = if error.kind() == io::ErrorKind::UnexpectedEof { "cut-off" } else { "damaged" };
            problems.push(problem(reason, "compressed lines"));
        }
        let is_last = read.is_err() || bytes.is_empty();
        let is_torn = bytes.last() != Some(&b'\n');
        // A torn line may be whole, but half an object must not count as one.
        if is_torn && !is_whole_object(&bytes) {
            match (&read, bytes.trim_ascii().is_empty()) {
                (Ok(_), false) if bytes.len() as u64 == MAX_LINE_BYTES => bad_lines += 1,
                (Ok(_), false) => problems.push(problem("cut-off", "last line")),
                _ => {}
            }
        } else {
            let parsed = parse_line(&bytes, &mut values);
            if parsed == Err(NotJson::Invalid) {
                bad_lines += 1;
            }
            for value in values.drain(..) {
                if !value.is_object() {
                    bad_lines += 1;
                } else if !take(value) {
                    return Ok(Vec::new());
                }
            }
        }
        if is_last {
            break;
        }
    }
    problems.extend((0..bad_lines).map(|_| problem("damaged", "line that is no JSON object")));
    Ok(problems)
}

/// Reads the bytes of a whole file.
///
/// # Errors
/// When it cannot be read, or is larger than `max_bytes`.
pub(super) fn read_whole(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is larger than any of its kind"));
    }
    Ok(bytes)
}

/// Parses a file's bytes as JSON. Returns the value, and a record that reports damage.
///
/// # Errors
/// When they are not JSON.
pub(super) fn document_of(bytes: &[u8]) -> io::Result<(Value, Option<Value>)> {
    match parse_document(bytes) {
        Some(Document { value, damage }) => Ok((value, damage.map(|(reason, detail)| problem(reason, &detail)))),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "the file is not JSON")),
    }
}

/// Maximum number of bytes that are read of an output that a client keeps beside its transcript: half from its beginning, half
/// from its end.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

/// Returns the text of an output that a client keeps in a file of its own. A link, or anything else that is no file, is no output.
pub(super) fn read_output(path: &Path) -> Option<String> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    let mut bytes = Vec::new();
    if size <= MAX_OUTPUT_BYTES {
        file.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes).ok()?;
    } else {
        file.by_ref().take(MAX_OUTPUT_BYTES / 2).read_to_end(&mut bytes).ok()?;
        bytes.extend_from_slice(format!("\n[{} bytes left out]\n", size - MAX_OUTPUT_BYTES).as_bytes());
        file.seek(SeekFrom::End(-(MAX_OUTPUT_BYTES as i64 / 2))).ok()?;
        file.take(MAX_OUTPUT_BYTES / 2).read_to_end(&mut bytes).ok()?;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the text of the output that a result refers to by a path in `folder`, the agent's own folder of outputs. A path that
/// leads elsewhere is not followed.
pub(super) fn output_referred_to(result: &Value, folder: &Path) -> Option<String> {
    let name = folder.file_name()?.to_str()?;
    let words = flatten(result);
    let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-' | '/' | '\\');
    let real = folder.canonicalize().ok()?;
    words.match_indices(name).find_map(|(at, _)| {
        let rest = words[at + name.len()..].strip_prefix(['/', '\\'])?;
        let end = rest.find(|letter| !is_of_path(letter)).unwrap_or(rest.len());
        let below = rest[..end].trim_end_matches('.').replace('\\', "/");
        let path = folder.join(&below);
        let is_inside = path.canonicalize().is_ok_and(|path| path.starts_with(&real));
        if is_inside { read_output(&path) } else { None }
    })
}

/// Returns a number for a stamp: different parts give a different number.
pub(super) fn hash_of<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> i64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut number = [0; 8];
    hasher.finalize_xof().fill(&mut number);
    i64::from_le_bytes(number)
}

/// Returns the unit of a conversation in a database.
pub(super) fn unit_of_database(path: &Path, part: String, stamp: Stamp, began: Option<UtcMillis>) -> Unit {
    Unit {
        path: path.to_path_buf(),
        part: Some(part),
        framing: Framing::Records,
        stamp,
        began: began.map(format_utc),
        closes_file: false,
        root: None,
        worked_in: None,
    }
}

/// Returns the conversations that `list` finds in a database, and the unit that closes it. An unchanged
/// database is not opened.
pub(super) fn units_of_database(
    path: &Path,
    known: &dyn Known,
    list: impl FnOnce(&ForeignDatabase) -> io::Result<Vec<Unit>>,
) -> Vec<Unit> {
    let Ok(mut stamp) = ForeignDatabase::stamp(path) else { return Vec::new() };
    let is_known = path.to_str().and_then(|name| known.stamp(name)) == Some(stamp);
    let mut units = Vec::new();
    if !is_known {
        match ForeignDatabase::open(path).and_then(|database| list(&database)) {
            Ok(found) => units = found,
            // The closing unit reports the reason. Its stamp must not count as the stamp of this state of the
            // database.
            Err(_) => stamp.version = !stamp.version,
        }
    }
    units.push(Unit {
        path: path.to_path_buf(),
        part: None,
        framing: Framing::Records,
        stamp,
        began: None,
        closes_file: true,
        root: None,
        worked_in: None,
    });
    units
}

/// Returns an episode of a format, without the facts that few formats have.
pub(super) fn episode(kind: &'static str, native_id: &str) -> Episode {
    Episode {
        id: EpisodeId::derive(kind, native_id),
        agent: kind.to_owned(),
        native_id: native_id.to_owned(),
        kind: EpisodeKind::Session,
        parent_native_id: None,
        project: None,
        cwd: None,
        remote: None,
        client_version: None,
    }
}

/// A message to be converted to turns: its text and calls become one turn, each tool's answer another.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// Its native id.
    pub native_id: String,
    /// Role of the speaker. A message of the model that only calls tools becomes a tool call.
    pub role: Role,
    /// Name of the speaker, if it is not clear from the role.
    pub speaker: Option<&'static str>,
    pub caveat: Option<Caveat>,
    pub text: String,
    pub tool_text: String,
    pub is_error: bool,
    pub time: RecordedTime,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    pub model: Option<String>,
    /// Number of parts it has: a fuller copy replaces a shorter one.
    pub parts: u32,
    pub tools: Vec<ToolUse>,
    pub files: Vec<FileUse>,
    pub answers: Vec<Answer>,
}

/// A tool's answer inside the message that called it.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub call_id: Option<String>,
    pub name: String,
    pub text: String,
    pub outcome: Option<Outcome>,
    pub files: Vec<FileUse>,
}

impl Message {
    /// Creates an empty message.
    pub(super) fn new(native_id: String, role: Role, time: RecordedTime) -> Self {
        Self {
            native_id,
            role,
            speaker: None,
            caveat: None,
            text: String::new(),
            tool_text: String::new(),
            is_error: false,
            time,
            cwd: None,
            branch: None,
            model: None,
            parts: 1,
            tools: Vec::new(),
            files: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Appends a paragraph to the text.
    pub(super) fn say(&mut self, text: &str) {
        append(&mut self.text, text);
    }

    /// Takes a text that its client sends as the person's, without what the client put into it. Words that may be anybody's
    /// are kept beside it, or as a text of an unknown author. If nothing remains, the client inserted the whole message.
    pub(super) fn hear(&mut self, text: &str, marks: &Marks, tool_bytes: usize) {
        let (said, beside, caveat) = divide(text, marks).settled();
        if said.is_empty() {
            self.role = Role::Injected;
        }
        (self.text, self.caveat) = (said, caveat);
        append(&mut self.tool_text, &excerpt(&beside, tool_bytes));
    }

    /// Gives the message to its sender, if its record names one.
    pub(super) fn sent_by(&mut self, sender: Option<Sender>) {
        let (role, speaker) = role_by(sender, self.role);
        self.role = role;
        self.speaker = speaker.or(self.speaker);
    }

    /// Adds a tool call. Calls of yore's own tools are left out.
    pub(super) fn call(&mut self, call_id: Option<String>, name: &str, input: &Value, tool_bytes: usize) {
        if is_own_tool(name) {
            return;
        }
        append(&mut self.tool_text, &excerpt(&render_call(name, input), tool_bytes));
        for file in files_of_input(name, input) {
            add_file(&mut self.files, file.path, file.action);
        }
        self.tools.push(ToolUse { call_id, name: name.to_owned(), outcome: None });
    }

    /// Outputs its turns. A message without text gives none.
    pub(super) fn turns(self, kind: &'static str, episode: &Arc<Episode>, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        let Self { native_id, role, speaker, caveat, text, tool_text, is_error, time, cwd, branch, model, .. } = self;
        let Self { parts, mut tools, files, mut answers, .. } = self;
        let text = match without_own_words(text.trim()) {
            std::borrow::Cow::Borrowed(same) => same.to_owned(),
            std::borrow::Cow::Owned(cut) => cut.trim().to_owned(),
        };
        for answer in &mut answers {
            // An answer without text is represented by its call, unless it failed.
            let is_told = answer.text.trim().is_empty() && answer.outcome != Some(Outcome::Failed);
            if is_told && let Some(call) = tools.iter_mut().rfind(|call| call.call_id == answer.call_id) {
                call.outcome = answer.outcome.take();
            }
        }
        let role = if role == Role::Assistant && text.is_empty() { Role::ToolCall } else { role };
        let turn = |ordinal: usize| Turn {
            id: TurnId::derive(kind, &episode.native_id, &native_id, ordinal as u32),
            native_id: native_id.clone(),
            role,
            speaker: None,
            caveat: None,
            text: String::new(),
            tool_text: String::new(),
            is_error: false,
            time: time.clone(),
            cwd: cwd.clone(),
            branch: branch.clone(),
            model: model.clone(),
            parts,
            tools: Vec::new(),
            files: Vec::new(),
        };
        let mut push = |turn: Turn| {
            out.push(Reading::Turn(Box::new(ReadTurn { episode: Arc::clone(episode), turn, line })));
        };
        if !text.is_empty() || !tool_text.trim().is_empty() {
            let speaker = speaker.map(str::to_owned);
            push(Turn { speaker, caveat, text, tool_text, is_error, tools, files, ..turn(0) });
        }
        for (at, answer) in answers.into_iter().enumerate().filter(|(_, answer)| !is_own_tool(&answer.name)) {
            let words = without_own_output(&answer.text);
            if words.trim().is_empty() && answer.outcome.is_none() {
                continue;
            }
            push(Turn {
                role: Role::ToolResult,
                tool_text: excerpt(words.trim(), tool_bytes).into_owned(),
                is_error: answer.outcome == Some(Outcome::Failed),
                model: None,
                parts: 1,
                tools: vec![ToolUse { call_id: answer.call_id, name: answer.name, outcome: answer.outcome }],
                files: answer.files,
                ..turn(at + 1)
            });
        }
    }
}

/// Marks the turns among these readings as taken back.
pub(super) fn take_back(readings: &mut [Reading]) {
    for reading in readings {
        if let Reading::Turn(read) = reading {
            read.turn.caveat = Some(Caveat::TakenBack);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn exit_codes_are_found_where_they_stand_alone() {
        for (output, code) in [
            ("Output: x\nExit Code: 101\nProcess Group PGID: 3", Some(101)),
            ("x\n<exited with exit code 1>", Some(1)),
            ("exit code 0", Some(0)),
            ("the exit code 3 is odd", None),
            ("exit code: unknown", None),
        ] {
            assert_eq!(exit_code(output), code, "{output}");
        }
    }

    #[test]
    fn ciphertexts_are_covered_wherever_they_stand_and_words_stay() {
        let cipher = |letters: usize| CIPHER_MARK.to_owned() + &"Zx9_-".repeat(letters / 5 - 1);
        let (long, short) = (cipher(500), cipher(100));
        for (value, expected) in [
            (json!(long), json!("[encrypted, 500 letters]")),
            (
                json!(format!("{{\"message\":\"{long}\",\"name\":\"tide\"}}")),
                json!("{\"message\":\"[encrypted, 500 letters]\",\"name\":\"tide\"}"),
            ),
            (
                json!([{"text": format!("see {long} and {long}.")}]),
                json!([{"text": "see [encrypted, 500 letters] and [encrypted, 500 letters]."}]),
            ),
            (
                json!({"encrypted_content": "Q".repeat(80), "id": "rs_1"}),
                json!({"encrypted_content": "[encrypted, 80 letters]", "id": "rs_1"}),
            ),
            (
                json!({"is_encrypted": true, "body": "Q".repeat(80)}),
                json!({"is_encrypted": true, "body": "[encrypted, 80 letters]"}),
            ),
            (json!(short), json!(short)),
            (json!(format!("x{long}")), json!(format!("x{long}"))),
            (
                json!({"encrypted": "the tide table is encrypted, and this sentence about it is not a ciphertext at all"}),
                json!({"encrypted": "the tide table is encrypted, and this sentence about it is not a ciphertext at all"}),
            ),
        ] {
            let mut values = [value];
            cover_ciphertext(&mut values);
            assert_eq!(values, [expected]);
        }
    }

    #[test]
    fn payloads_go_and_words_stay() {
        let picture = format!("data:image/png;base64,{}", "iVBOR".repeat(1000));
        let mut value = json!({"url": picture, "words": "tide tables ".repeat(1000), "raw": "QUJD".repeat(2000)});
        drop_payloads(&mut value);
        assert_eq!(value["url"], "[image/png, 5022 bytes]");
        assert_eq!(value["raw"], "[base64, 8000 bytes]");
        assert_eq!(value["words"].as_str().unwrap().len(), 12_000);
    }

    #[test]
    fn times_come_in_many_shapes() {
        let utc = |value: Value| time_of(&value, TimeQuality::Exact).and_then(|time| time.utc);
        assert_eq!(utc(json!(1_769_093_591_042_i64)), Some(1_769_093_591_042));
        assert_eq!(utc(json!("1769093591042")), Some(1_769_093_591_042));
        assert_eq!(utc(json!("2026-01-22T14:53:11.042Z")), Some(1_769_093_591_042));
        assert_eq!(utc(json!(1e300)), None);
        assert_eq!(utc(json!("soon")), None);
        assert_eq!(utc(Value::Null), None);
    }

    #[test]
    fn seconds_and_milliseconds_are_distinguished_by_their_size() {
        let utc = |value: Value| time_of_seconds(&value, TimeQuality::Exact).and_then(|time| time.utc);
        assert_eq!(utc(json!(1_769_093_591)), Some(1_769_093_591_000));
        assert_eq!(utc(json!(1_769_093_591.25)), Some(1_769_093_591_250));
        assert_eq!(utc(json!("1769093591.25")), Some(1_769_093_591_250));
        assert_eq!(utc(json!(1_769_093_591_042_i64)), Some(1_769_093_591_042));
        assert_eq!(utc(json!("2026-01-22T14:53:11.042Z")), Some(1_769_093_591_042));
        assert_eq!(utc(json!(0)), None);
        assert_eq!(utc(Value::Null), None);
    }

    #[test]
    fn paths_of_tools_are_told_by_what_they_do() {
        let patch = json!("*** Begin Patch\n*** Update File: gauges.txt\n@@\n-seven\n*** End Patch\n");
        assert_eq!(
            files_of_input("apply_patch", &patch),
            [FileUse { path: "gauges.txt".to_owned(), action: FileAction::Written }]
        );
        let files = |tool: &str, input: Value| files_of_input(tool, &input);
        assert_eq!(
            files("edit_file", json!({"path": "src/tide.rs"})),
            [FileUse { path: "src/tide.rs".into(), action: FileAction::Written }]
        );
        assert_eq!(files("grep", json!({"path": "src", "pattern": "tide"})), []);
        assert_eq!(files("read", json!({"filePath": "a.rs"})), [FileUse { path: "a.rs".into(), action: FileAction::Read }]);
    }
}
