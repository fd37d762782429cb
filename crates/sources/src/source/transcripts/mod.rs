//! Agents with a JSON-lines file for each conversation: Pi, OMP, OpenClaw, Kimi, Mistral Vibe, Grok Build, Droid, Kiro. Some
//! facts of a conversation are in a file beside it.
//!
//! - [`Transcripts`]: one of these agents; finds its files and converts each to records: a header and the messages
//! - `Session`: messages to turns
//! - `form`: the common form of a conversation, and functions that several formats use
//! - `pi`, `kimi`, `rows` (Vibe and Grok), `droid`, `kiro`: what differs between the formats
//!
//! A file is always read as a whole, because its last line decides which of its messages were taken back.

mod droid;
mod form;
mod kimi;
mod kiro;
mod pi;
mod rows;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use yore_core::episode::{Caveat, Episode, EpisodeKind, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use self::form::{Line, Parsed, first_values, time_of};
use super::conversation::{Conversation, ConversationReader};
use super::shapes::{self, Message, short, text_of};
use super::{Computer, EpisodeReader, Known, LineOwner, NO_CONVERSATION, ReaderOptions, Reading, Source, Stamp, Unit, problem};
use crate::parse::{NotJson, is_whole_object, parse_line};

/// Maximum size of a file in bytes. A larger one is not a conversation.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// One of these agents.
#[derive(Clone, Copy, Debug)]
pub struct Transcripts {
    kind: &'static str,
    name: &'static str,
    is_verified: bool,
    /// Returns the folders of its conversations.
    places: fn(&Computer<'_>) -> Vec<PathBuf>,
    /// Returns the conversations below a folder.
    find: fn(&Path) -> Vec<PathBuf>,
    /// Returns the files with facts of a conversation.
    beside: fn(&Path) -> Vec<PathBuf>,
    /// Converts the lines of a file. `None`: they are no conversation.
    parse: fn(&Path, Vec<Line>) -> Option<Parsed>,
    /// Reads a message. `None`: it has no words; what is not understood is output as a skip.
    read: fn(&Value, usize, &mut Vec<Reading>) -> Option<Message>,
}

/// Pi.
pub const PI: Transcripts = Transcripts {
    kind: "pi",
    name: "Pi",
    is_verified: true,
    places: pi::pi_places,
    find: pi::find,
    beside: |_| Vec::new(),
    parse: pi::parse,
    read: pi::read,
};
/// Oh My Pi, a descendant of Pi.
pub const OMP: Transcripts = Transcripts { kind: "omp", name: "Oh My Pi", is_verified: false, places: pi::omp_places, ..PI };
/// OpenClaw, which runs on Pi.
pub const OPENCLAW: Transcripts = Transcripts {
    kind: "openclaw",
    name: "OpenClaw",
    is_verified: false,
    places: pi::openclaw_places,
    find: pi::find_openclaw,
    beside: pi::list_of_sessions,
    ..PI
};
/// Kimi CLI and its successor Kimi Code.
pub const KIMI: Transcripts = Transcripts {
    kind: "kimi",
    name: "Kimi",
    is_verified: false,
    places: kimi::places,
    find: kimi::find,
    beside: kimi::beside,
    parse: kimi::parse,
    read: kimi::read,
};
/// Mistral Vibe.
pub const VIBE: Transcripts = Transcripts {
    kind: "vibe",
    name: "Mistral Vibe",
    is_verified: false,
    places: rows::vibe_places,
    find: rows::find_vibe,
    beside: rows::vibe_facts,
    parse: rows::parse_vibe,
    read: rows::read_vibe,
};
/// Grok Build.
pub const GROK: Transcripts = Transcripts {
    kind: "grok",
    name: "Grok Build",
    is_verified: false,
    places: rows::grok_places,
    find: rows::find_grok,
    beside: rows::grok_facts,
    parse: rows::parse_grok,
    read: rows::read_grok,
};
/// Factory's Droid.
pub const DROID: Transcripts = Transcripts {
    kind: "droid",
    name: "Factory Droid",
    is_verified: false,
    places: droid::places,
    find: droid::find,
    beside: droid::beside,
    parse: droid::parse,
    read: droid::read,
};
/// Kiro's command line.
pub const KIRO: Transcripts = Transcripts {
    kind: "kiro",
    name: "Kiro",
    is_verified: false,
    places: kiro::places,
    find: kiro::find,
    beside: kiro::beside,
    parse: kiro::parse,
    read: kiro::read,
};

/// All of them.
const ALL: [&Transcripts; 8] = [&PI, &OMP, &OPENCLAW, &KIMI, &VIBE, &GROK, &DROID, &KIRO];

impl Source for Transcripts {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn display_name(&self) -> &'static str {
        self.name
    }

    fn is_verified(&self) -> bool {
        self.is_verified
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        (self.places)(computer)
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        let files = if root.is_file() { vec![root.to_path_buf()] } else { (self.find)(root) };
        files.into_iter().filter_map(|file| self.unit(file)).collect()
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let bytes = shapes::read_whole(&unit.path, MAX_FILE_BYTES)?;
        let (lines, unreadable) = lines_of(&bytes);
        if lines.is_empty() && unreadable.is_empty() {
            return Ok(());
        }
        let Some(parsed) = (self.parse)(&unit.path, lines) else {
            take(problem(NO_CONVERSATION, ""));
            return Ok(());
        };
        let session = &parsed.facts.session;
        let _ = take(parsed.facts.record())
            && parsed.messages.into_iter().all(|said| take(said.record(session)))
            && unreadable.into_iter().all(|line| take(json!({"type": "unreadable", "session": session, "line": line})));
        Ok(())
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ConversationReader::<Session>::new(self.kind, options))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner {
            session: text_of(value, "session").map(Into::into),
            // Other ids are not unique among the sessions of an agent.
            message: text_of(value, "key"),
            about: None,
            directory: text_of(value, "cwd"),
        }
    }
}

impl Transcripts {
    /// Returns the unit of a file. Its stamp depends on the files beside it too.
    fn unit(&self, file: PathBuf) -> Option<Unit> {
        let unit = Unit::records(file)?;
        let beside: Vec<u8> = (self.beside)(&unit.path)
            .iter()
            .filter_map(|file| Stamp::of_file(file).ok())
            .flat_map(|stamp| [stamp.size.to_le_bytes(), stamp.version.to_le_bytes()])
            .flatten()
            .collect();
        let version = if beside.is_empty() { unit.stamp.version } else { unit.stamp.version ^ shapes::hash_of([&beside[..]]) };
        // The first session that holds a message owns it, so that the parent of a copy is read before the copy.
        let began = first_values(&unit.path).iter().find_map(|value| text_of(value, "timestamp").map(str::to_owned));
        Some(Unit { stamp: Stamp { version, ..unit.stamp }, began, ..unit })
    }
}

/// Parses the lines of a file. Also returns the numbers of the lines that are not JSON. A last line that may still be
/// incomplete is left for the next reading.
fn lines_of(bytes: &[u8]) -> (Vec<Line>, Vec<u64>) {
    let (mut lines, mut unreadable, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = bytes;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or(&[], |end| &rest[end + 1..]);
        if end.is_none() && !is_whole_object(line) {
            break;
        }
        if parse_line(line, &mut values) == Err(NotJson::Invalid) {
            unreadable.push(number);
        }
        lines.extend(values.drain(..).map(|value| Line { number, value }));
    }
    (lines, unreadable)
}

/// State shared by the messages of a conversation.
struct Session {
    agent: &'static Transcripts,
    episode: Arc<Episode>,
    is_automated: bool,
    branch: Option<String>,
    model: Option<String>,
    /// Title, output after the first turn, because then the episode exists.
    title: Option<(String, TitleRank)>,
    /// Time of the last message, for those without one.
    time: RecordedTime,
    /// Names of the tools that were called, by the id of the call.
    calls: HashMap<String, String>,
}

impl Session {
    /// Returns whether nobody typed its prompts.
    fn has_no_person(&self) -> bool {
        self.is_automated || self.episode.kind == EpisodeKind::Subagent
    }
}

impl Conversation for Session {
    fn begin(kind: &'static str, id: &str, header: &Value) -> Self {
        let member = |key: &str| text_of(header, key).map(str::to_owned);
        let parent = member("parent");
        Self {
            agent: ALL.iter().copied().find(|agent| agent.kind == kind).unwrap_or(&PI),
            episode: Arc::new(Episode {
                kind: if parent.is_some() { EpisodeKind::Subagent } else { EpisodeKind::Session },
                parent_native_id: parent,
                cwd: member("cwd"),
                client_version: member("version"),
                ..shapes::episode(kind, id)
            }),
            is_automated: header["is_automated"] == true,
            branch: member("branch"),
            model: member("model"),
            title: member("title").zip(text_of(header, "title_rank").and_then(TitleRank::parse)),
            time: time_of(&header["began"], TimeQuality::Session).unwrap_or(RecordedTime::UNKNOWN),
            calls: HashMap::new(),
        }
    }

    fn id(&self) -> &str {
        &self.episode.native_id
    }

    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        let line = value["line"].as_u64().unwrap_or(line);
        let Some(mut message) = (self.agent.read)(&value["message"], tool_bytes, out) else { return };
        if let Some(key) = text_of(value, "key") {
            key.clone_into(&mut message.native_id);
        } else if message.native_id.is_empty() {
            message.native_id = format!("#{line}");
        }
        if message.time.utc.is_none() {
            message.time = self.time.clone();
        } else {
            self.time = RecordedTime { quality: TimeQuality::Derived, ..message.time.clone() };
        }
        if message.role == Role::Human && self.has_no_person() {
            message.role = Role::Injected;
        }
        if message.role == Role::Assistant && message.model.is_none() {
            message.model.clone_from(&self.model);
        }
        message.cwd.clone_from(&self.episode.cwd);
        message.branch.clone_from(&self.branch);
        for tool in &message.tools {
            if let Some(id) = &tool.call_id {
                self.calls.insert(id.clone(), tool.name.clone());
            }
        }
        for answer in message.answers.iter_mut().filter(|answer| answer.name.is_empty()) {
            let name = answer.call_id.as_ref().and_then(|id| self.calls.get(id));
            answer.name = name.cloned().unwrap_or_default();
        }
        let from = out.len();
        // A message has the same id in the session that said it first and in those that repeat it.
        let first = text_of(value, "owner").map(|owner| Arc::new(shapes::episode(self.agent.kind, owner)));
        message.turns(self.agent.kind, first.as_ref().unwrap_or(&self.episode), tool_bytes, line, out);
        let is_of_agent = self.episode.kind == EpisodeKind::Subagent;
        for reading in &mut out[from..] {
            let Reading::Turn(read) = reading else { continue };
            read.episode = Arc::clone(&self.episode);
            if value["taken_back"] == true {
                read.turn.caveat = Some(Caveat::TakenBack);
            }
            if is_of_agent && read.turn.role == Role::Injected {
                read.turn.speaker = Some("parent agent".to_owned());
            }
        }
        if out.len() > from
            && let Some((words, rank)) = self.title.take()
        {
            let title = shapes::title(&words, rank, self.time.utc, line);
            out.push(Reading::Title(Arc::clone(&self.episode), title));
        }
    }

    fn read_other(value: &Value, out: &mut Vec<Reading>) {
        out.push(match text_of(value, "type") {
            Some("unreadable") => Reading::Skip("invalid-json", String::new()),
            kind => Reading::Skip("unknown-type", short(kind.unwrap_or(""))),
        });
    }
}
