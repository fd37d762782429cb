//! Every reader on any bytes under a name that it reads. A file of lines gives the same turns wherever its
//! reading is interrupted.
//!
//! The first byte selects the file's name (see [`FILES`]), the second the place where lines are interrupted.
#![no_main]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use yore_sources::source::{
    Framing, LineMark, NothingKnown, ReaderOptions, Reading, Source, SourceLine, Unit, source_named,
};

/// Source and name. `scripts/fuzz-corpus` writes the number of one of these before each sample.
const FILES: [(&str, &str); 46] = [
    ("claude-code", "projects/-home-dev-tide/4a5b0001-3f08-4714-9c34-5c452003a142.jsonl"),
    ("claude-code", "projects/-home-dev-tide/4a5b0001-3f08-4714-9c34-5c452003a142/subagents/agent-b1c2d3.jsonl"),
    ("claude-code", "history.jsonl"),
    ("cursor", "projects/home-dev-tide/agent-transcripts/4a5b0001-3f08-4714-9c34-5c452003a142.jsonl"),
    ("cursor", "User/globalStorage/state.vscdb"),
    ("cursor", "chats/5d41402abc4b2a76b9719d911017c592/4a5b0001-3f08-4714-9c34-5c452003a142/store.db"),
    ("codex", "sessions/2026/01/02/rollout-2026-01-02T10-00-00-4a5b0001-3f08-4714-9c34-5c452003a142.jsonl"),
    ("codex", "history.jsonl"),
    ("aider", ".aider.chat.history.md"),
    ("gemini", "tmp/tide/chats/session-2026-02-03T10-00-f1a2b3c4.json"),
    ("gemini", "tmp/tide/chats/session-2026-02-03T10-00-f1a2b3c4.jsonl"),
    ("antigravity", "brain/4a5b0001-3f08-4714-9c34-5c452003a142/.system_generated/logs/transcript.jsonl"),
    ("chatgpt", "conversations.json"),
    ("chatgpt", "export.zip"),
    ("claude-ai", "conversations.json"),
    ("opencode", "opencode.db"),
    ("opencode", "export.json"),
    ("kilo-cli", "kilo.db"),
    ("qwen", "projects/tide/chats/4a5b0001-3f08-4714-9c34-5c452003a142.jsonl"),
    ("zed", "threads/threads.db"),
    ("continue", "sessions/4a5b0001-3f08-4714-9c34-5c452003a142.json"),
    ("copilot-chat", "workspaceStorage/abc/chatSessions/4a5b0001-3f08-4714-9c34-5c452003a142.json"),
    ("copilot-chat", "workspaceStorage/abc/chatSessions/4a5b0001-3f08-4714-9c34-5c452003a142.jsonl"),
    ("copilot-cli", "session-state/4a5b0001-3f08-4714-9c34-5c452003a142/events.jsonl"),
    ("copilot-cli", "session-state/4a5b0001-3f08-4714-9c34-5c452003a142.jsonl"),
    ("cline", "tasks/1700000000000/ui_messages.json"),
    ("cline", "tasks/1700000000000/api_conversation_history.json"),
    ("roo", "tasks/4a5b0001-3f08-4714-9c34-5c452003a142/ui_messages.json"),
    ("kilo", "tasks/4a5b0001-3f08-4714-9c34-5c452003a142/api_conversation_history.json"),
    ("pi", "agent/sessions/--tide--/2026-01-02T10-00-00-000Z_4a5b0001-3f08-4714-9c34-5c452003a142.jsonl"),
    ("openclaw", "agents/main/sessions/4a5b0001-3f08-4714-9c34-5c452003a142.jsonl"),
    ("kimi", "sessions/wd_tide/4a5b0001-3f08-4714-9c34-5c452003a142/agents/main/wire.jsonl"),
    ("vibe", "logs/session/session_1/messages.jsonl"),
    ("grok", "sessions/tide/4a5b0001-3f08-4714-9c34-5c452003a142/chat_history.jsonl"),
    ("grok", "sessions/tide/4a5b0001-3f08-4714-9c34-5c452003a142/updates.jsonl"),
    ("droid", "sessions/-tide/4a5b0001-3f08-4714-9c34-5c452003a142.jsonl"),
    ("kiro", "sessions/cli/4a5b0001-3f08-4714-9c34-5c452003a142.jsonl"),
    ("kiro", "sessions/tide/sess_1/messages.jsonl"),
    ("specstory", "tide/.specstory/history/2026-01-02_10-00-00Z-tides.md"),
    ("jsonl", "sessions.jsonl"),
    ("file", "notes.md"),
    ("file", "page.html"),
    ("file", "main.rs"),
    ("file", "main.py"),
    ("file", "main.ts"),
    ("file", "notes.txt"),
];

/// Most values of a unit of a line source.
const MOST_VALUES: usize = 5_000;

thread_local! {
    static FOLDERS: RefCell<BTreeMap<usize, (tempfile::TempDir, PathBuf)>> = RefCell::default();
}

/// Returns the line's JSON values; none if it is not JSON.
fn values(line: &[u8]) -> Vec<Value> {
    serde_json::Deserializer::from_slice(line).into_iter::<Value>().collect::<Result<_, _>>().unwrap_or_default()
}

type Turns = BTreeMap<String, (u32, String, String)>;

/// Merges readings as the store does for turns that come more than once.
fn keep(turns: &mut Turns, readings: Vec<Reading>) {
    for reading in readings {
        let Reading::Turn(read) = reading else { continue };
        let turn = &read.turn;
        let kept = turns.get(&turn.id.to_string()).map_or(0, |(parts, ..)| *parts);
        if turn.parts >= kept {
            turns.insert(turn.id.to_string(), (turn.parts, turn.text.clone(), turn.tool_text.clone()));
        }
    }
}

fn read_lines(source: &dyn Source, unit: &Path, lines: &[(LineMark, Vec<Value>)], state: &str) -> (Turns, LineMark, String) {
    let mut reader = source.reader(unit, state, &ReaderOptions::default());
    let mut readings = Vec::new();
    let mut end = LineMark { line: 1, offset: 0 };
    for (mark, values) in lines {
        reader.read(&SourceLine { values, mark: *mark }, &mut readings);
        end = LineMark { line: mark.line + 1, offset: mark.offset + 1 };
    }
    let (mark, state) = reader.open_since().unwrap_or_else(|| (end, reader.state()));
    reader.finish(&mut readings);
    let mut turns = Turns::new();
    keep(&mut turns, readings);
    (turns, mark, state)
}

fn read(source: &dyn Source, unit: &Unit, cut: u8) -> usize {
    let name = PathBuf::from(unit.name().unwrap_or_default());
    if unit.framing == Framing::Records {
        let mut given = Vec::new();
        let _ = source.records_with(unit, &ReaderOptions::default(), &mut |value| {
            given.push(value);
            given.len() < MOST_VALUES
        });
        let lines: Vec<(LineMark, Vec<Value>)> =
            given.into_iter().enumerate().map(|(at, value)| (LineMark { line: at as u64 + 1, offset: at as u64 }, vec![value])).collect();
        return read_lines(source, &name, &lines, "").0.len();
    }
    let bytes = std::fs::read(&unit.path).unwrap_or_default();
    let mut offset = 0;
    let mut lines = Vec::new();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate().take(MOST_VALUES) {
        lines.push((LineMark { line: at as u64 + 1, offset }, values(line)));
        offset += line.len() as u64 + 1;
    }
    let (whole, ..) = read_lines(source, &name, &lines, "");
    let cut = usize::from(cut) % (lines.len() + 1);
    let (mut divided, mark, state) = read_lines(source, &name, &lines[..cut], "");
    let rest = &lines[lines.partition_point(|(at, _)| at.line < mark.line)..];
    let (rest, ..) = read_lines(source, &name, rest, &state);
    for (id, turn) in rest {
        let kept = divided.get(&id).map_or(0, |(parts, ..)| *parts);
        if turn.0 >= kept {
            divided.insert(id, turn);
        }
    }
    if divided != whole {
        let differing: Vec<_> = whole.keys().chain(divided.keys()).filter(|id| whole.get(*id) != divided.get(*id)).collect();
        let id = differing[0];
        panic!("{}, interrupted after {cut} lines: {id} is {:?} instead of {:?}", source.kind(), divided.get(id), whole.get(id));
    }
    whole.len()
}

fuzz_target!(|data: &[u8]| {
    let [file, cut, content @ ..] = data else { return };
    let number = usize::from(*file) % FILES.len();
    let (kind, name) = FILES[number];
    let source = source_named(kind).expect("a source");
    FOLDERS.with_borrow_mut(|folders| {
        let (root, path) = folders.entry(number).or_insert_with(|| {
            let directory = tempfile::tempdir().expect("a folder");
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            (directory, path)
        });
        std::fs::write(&*path, content).expect("a file");
        let units = source.discover(root.path(), &NothingKnown);
        let turns: usize = units.iter().map(|unit| read(source, unit, *cut)).sum();
        if std::env::var_os("YORE_FUZZ_TELL").is_some() {
            eprintln!("{kind} {name}: {} units, {turns} turns", units.len());
        }
    });
});
