//! The pieces that the recursive lane reads: turns of sessions, or memories, with who said them and when.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yore_core::division::by_lines;
use yore_core::episode::{FileUse, Role};
use yore_core::files::is_path;
use yore_core::memory::Status;
use yore_core::query::{Filter, Wanted};
use yore_core::scope::ScopeChoice;
use yore_core::time::{UtcMillis, format_utc};

use crate::archive::SessionsRequest;
use crate::archive::sessions::ConversationTurns;
use crate::categories::CategoriesRequest;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::llm::estimated_tokens;
use crate::memories::MemoryList;
use crate::retrieve::{Found, Hit, RecallRequest};
use crate::store::{EpisodeKey, EpisodeSummary, MemoryFilter, SessionOrder};

/// Most bytes that are read in one run.
const MOST_BYTES: usize = 10_000_000;
/// Longest piece in bytes: a longer turn is several pieces.
const LONGEST: usize = 20_000;
/// Longest run of spaces, which may be an indent.
const MOST_SPACES: usize = 12;
/// Most turns that recall gives.
const MOST_RECALLED: usize = 200;
/// Fewest characters by which models name a session.
const SESSION_CHARS: usize = 8;

/// The things that a run reads: turns of sessions, or memories.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct PiecesRequest {
    /// Names, ids or directories of projects; empty: all.
    pub projects: Vec<String>,
    /// Only these sessions, by their ids; empty: all of the projects.
    pub sessions: Vec<String>,
    /// Only sessions whose title or messages contain this; case is ignored.
    pub matching: Option<String>,
    /// Only what was said at or after this time.
    pub since: Option<UtcMillis>,
    /// Only what was said before this time.
    pub until: Option<UtcMillis>,
    /// Read what tools were given and answered too.
    pub with_tools: bool,
    /// Only sessions that touched these files: a path, or the end of one.
    pub files: Vec<String>,
    /// Only what recall finds for these words.
    pub found_for: Option<String>,
    /// Read memories in the place of sessions.
    pub of_memories: bool,
    /// Only the memories of this category, with those of its parts; it is given with `of_memories`.
    pub category: Option<String>,
    /// Most bytes; `None`: ten million.
    pub most_bytes: Option<usize>,
}

/// A piece.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    /// Id of the turn or memory that it is, or is of.
    pub opens: Arc<str>,
    /// Number of the part of it, from 0.
    pub part: u32,
    /// Id of the session; empty for a memory.
    pub session: Arc<str>,
    /// The agent's own id of the session, by whose beginning models name it ([`Pieces::name_sessions`]).
    pub session_name: Arc<str>,
    /// Name of the project.
    pub project: Option<Arc<str>>,
    /// Who said it, or the kind of memory.
    pub by: &'static str,
    /// When.
    pub at: Option<UtcMillis>,
    /// The words.
    pub text: String,
}

impl Piece {
    fn place(&self) -> Place {
        (self.session.to_string(), self.opens.to_string(), self.part)
    }

    /// Returns its words after a line with its number, who said it and when.
    #[cfg(feature = "python")]
    pub fn headed(&self, number: usize) -> String {
        let at = self.at.map_or_else(String::new, format_utc);
        format!("{number}, {}, {at}, session {}\n{}", self.by, self.session_name, self.text)
    }

    /// Returns it as a model reads it, under a number.
    pub fn told(&self, number: usize) -> Value {
        let session = (!self.session_name.is_empty()).then_some(&*self.session_name);
        json!({"piece": number, "session": session, "by": self.by, "at": self.at.map(format_utc), "words": self.text})
    }
}

/// The pieces of a run, oldest session first.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub list: Vec<Piece>,
    /// Pieces that were left out, because nobody or another model may read them.
    pub left_out: usize,
    /// True if older sessions were left out, because there is more than a run may read.
    pub is_cut: bool,
}

/// The place of a piece in the archive: its session, what it is of, and the part of that.
pub(super) type Place = (String, String, u32);

impl Pieces {
    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.list.iter().map(|piece| piece.text.len()).sum()
    }

    /// Returns the number of tokens, estimated.
    pub fn tokens(&self) -> u64 {
        self.list.iter().map(|piece| estimated_tokens(&piece.text)).sum()
    }

    /// Returns the number of sessions that they are of.
    pub fn sessions(&self) -> usize {
        self.list.iter().map(|piece| &piece.session).filter(|session| !session.is_empty()).collect::<HashSet<_>>().len()
    }

    /// Returns where they stand.
    pub fn places(&self) -> Vec<Place> {
        self.list.iter().map(Piece::place).collect()
    }

    /// Returns a digest of all their words.
    pub fn digest(&self) -> String {
        let mut hash = blake3::Hasher::new();
        for piece in &self.list {
            hash.update(&(piece.text.len() as u64).to_le_bytes());
            hash.update(piece.text.as_bytes());
        }
        hash.finalize().to_hex()[..16].to_owned()
    }

    /// Gives each session the shortest beginning of its id, of eight characters or more, that no other one has.
    pub fn name_sessions(&mut self) {
        let whole: BTreeSet<Arc<str>> = self.list.iter().map(|piece| Arc::clone(&piece.session_name)).collect();
        let is_shared = |name: &Arc<str>, length: usize| {
            whole.iter().any(|other| other != name && other.chars().take(length).eq(name.chars().take(length)))
        };
        let mut names: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
        for name in &whole {
            let most = name.chars().count();
            let length = (SESSION_CHARS..most).find(|length| !is_shared(name, *length)).unwrap_or(most);
            names.insert(Arc::clone(name), name.chars().take(length).collect::<String>().into());
        }
        for piece in &mut self.list {
            if let Some(name) = names.get(&piece.session_name) {
                piece.session_name = Arc::clone(name);
            }
        }
    }

    fn add(&mut self, whole: &Piece) {
        for (part, range) in (0..).zip(by_lines(&whole.text, LONGEST).unwrap_or_default()) {
            self.list.push(Piece { part, text: whole.text[range].to_owned(), ..whole.clone() });
        }
    }
}

/// Returns a text without the padding of terminals: longer runs of spaces are cut.
fn unpadded(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut run = 0;
    for letter in text.chars() {
        run = if matches!(letter, ' ' | '\t') { run + 1 } else { 0 };
        if run <= MOST_SPACES {
            kept.push(letter);
        }
    }
    kept
}

/// A session, and its names.
struct SessionNames {
    row: EpisodeKey,
    id: Arc<str>,
    name: Arc<str>,
}

/// Returns an agent's own id of a session, without the folder that some sources put before it.
fn name_of(native_id: &str) -> Arc<str> {
    native_id.rsplit('/').next().unwrap_or(native_id).into()
}

impl Engine {
    /// Gathers pieces: of the latest sessions as many as may be read.
    pub(super) fn pieces(&self, request: &PiecesRequest) -> Result<Pieces, EngineError> {
        if request.of_memories {
            return self.pieces_of_memories(request);
        }
        let most = request.most_bytes.unwrap_or(MOST_BYTES).min(MOST_BYTES);
        let mut pieces = Pieces::default();
        let mut bytes = 0;
        let mut of_sessions: Vec<Pieces> = Vec::new();
        let found_turns = request.found_for.as_deref().map(|words| self.turns_found(words, request)).transpose()?;
        for session in self.sessions_of(request)? {
            if bytes >= most {
                pieces.is_cut = true;
                break;
            }
            let mut found = self.pieces_of_session(&session, request)?;
            if let Some(turns) = &found_turns {
                found.list.retain(|piece| turns.iter().any(|turn| *turn == *piece.opens));
            }
            bytes += found.bytes();
            of_sessions.push(found);
        }
        pieces.list = of_sessions.into_iter().rev().flat_map(|found| found.list).collect();
        self.redact_again(pieces.list.iter_mut().map(|piece| &mut piece.text))?;
        Ok(pieces)
    }

    /// Returns the sessions, the latest first.
    fn sessions_of(&self, request: &PiecesRequest) -> Result<Vec<SessionNames>, EngineError> {
        let wanted = SessionsRequest {
            projects: request.projects.clone(),
            since: request.since,
            until: request.until,
            text: request.matching.clone(),
            order: SessionOrder::Recent,
            limit: usize::MAX >> 1,
            ..SessionsRequest::default()
        };
        let named = request.sessions.iter().map(|id| Ok(self.session_named(id)?.0));
        let named = named.collect::<Result<Vec<EpisodeKey>, EngineError>>()?;
        let with_hidden = SessionsRequest { with_subagents: true, with_programs: true, ..wanted.clone() };
        let listed = self.sessions(if named.is_empty() { &wanted } else { &with_hidden })?;
        let is_wanted = |row: &EpisodeKey| named.is_empty() || named.contains(row);
        let names = |session: EpisodeSummary| SessionNames {
            row: session.row,
            id: session.id.to_string().into(),
            name: name_of(&session.native_id),
        };
        Ok(listed.into_iter().filter(|session| is_wanted(&session.row)).map(names).collect())
    }

    /// Returns the ids of the turns that recall finds for words, best first.
    pub(super) fn turns_found(&self, words: &str, request: &PiecesRequest) -> Result<Vec<String>, EngineError> {
        let filter = Filter {
            wanted: Wanted::Turns,
            scope: ScopeChoice::All,
            since: request.since,
            until: request.until,
            ..Filter::default()
        };
        let recall =
            RecallRequest { filter, limit: MOST_RECALLED, min_confidence: Some(0.0), is_bare: true, ..RecallRequest::new(words) };
        let turn = |hit: Hit| match hit.found {
            Found::Turn(turn) => Some(turn.id.to_string()),
            Found::Memory(_) => None,
        };
        Ok(self.recall(&recall)?.hits.into_iter().filter_map(turn).collect())
    }

    fn pieces_of_session(&self, session: &SessionNames, request: &PiecesRequest) -> Result<Pieces, EngineError> {
        let mut pieces = Pieces::default();
        let conversation = ConversationTurns::read(self.store(), session.row)?;
        let is_touched = |file: &FileUse| request.files.iter().any(|named| is_path(&file.path, named));
        if !request.files.is_empty() && !conversation.shapes().iter().any(|shape| shape.files.iter().any(is_touched)) {
            return Ok(pieces);
        }
        for turn in conversation.turns {
            let is_in_time =
                |at: UtcMillis| request.since.is_none_or(|since| at >= since) && request.until.is_none_or(|until| at < until);
            if turn.time.utc.is_some_and(|at| !is_in_time(at)) {
                continue;
            }
            // A summary repeats what other pieces say.
            let is_spoken = matches!(turn.role, Role::Human | Role::Assistant);
            let said = if is_spoken { turn.text.trim() } else { "" };
            let done = if request.with_tools && turn.role != Role::System { turn.tool_text.trim() } else { "" };
            // Terminals pad with spaces; quotes are compared without them.
            let (said, done) = (unpadded(said), unpadded(done));
            let text = [said.as_str(), done.as_str()].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
            if !text.is_empty() {
                pieces.add(&Piece {
                    opens: turn.id.to_string().into(),
                    part: 0,
                    session: Arc::clone(&session.id),
                    session_name: Arc::clone(&session.name),
                    project: turn.project.as_deref().map(Into::into),
                    by: if turn.role == Role::Human { "you" } else { turn.role.as_str() },
                    at: turn.time.utc,
                    text,
                });
            }
        }
        Ok(pieces)
    }

    /// Gathers memories in effect, oldest first.
    fn pieces_of_memories(&self, request: &PiecesRequest) -> Result<Pieces, EngineError> {
        let filter = MemoryFilter { statuses: vec![Status::Holds, Status::Contested], ..MemoryFilter::default() };
        let list = MemoryList { filter, projects: request.projects.clone(), limit: usize::MAX >> 1, ..MemoryList::default() };
        let mut found = self.memories(&list)?;
        if let Some(name) = &request.category {
            let categories = CategoriesRequest { projects: request.projects.clone(), here: None };
            let category = self.category_summary(&categories, name)?.ok_or_else(|| EngineError::UnknownId(name.clone()))?;
            found.retain(|stored| category.members.iter().any(|member| member.id == stored.memory.id));
        }
        found.sort_by_key(|stored| (stored.memory.recorded, stored.memory.id));
        let mut pieces = Pieces::default();
        for stored in found {
            let at = stored.memory.valid_from.or(Some(stored.memory.recorded));
            let is_in_time =
                at.is_none_or(|at| request.since.is_none_or(|since| at >= since) && request.until.is_none_or(|until| at < until));
            if is_in_time {
                pieces.add(&Piece {
                    opens: stored.memory.id.to_string().into(),
                    part: 0,
                    session: "".into(),
                    session_name: "".into(),
                    project: stored.project.as_deref().map(Into::into),
                    by: stored.memory.kind.as_str(),
                    at,
                    text: stored.memory.statement.clone(),
                });
            }
        }
        self.redact_again(pieces.list.iter_mut().map(|piece| &mut piece.text))?;
        Ok(pieces)
    }

    /// Gathers the pieces of these places again; those that are gone are missing.
    pub(super) fn pieces_again(&self, request: &PiecesRequest, places: &[Place]) -> Result<Pieces, EngineError> {
        // The places are what these chose.
        let request = PiecesRequest { since: None, until: None, files: Vec::new(), category: None, ..request.clone() };
        let wanted: HashSet<&Place> = places.iter().collect();
        let mut pieces = Pieces::default();
        let mut sessions: Vec<&String> = Vec::new();
        for (session, ..) in places {
            if sessions.last() != Some(&session) {
                sessions.push(session);
            }
        }
        for session in sessions {
            let found = if request.of_memories {
                self.pieces_of_memories(&request)?
            } else {
                let Ok((row, native)) = self.session_named(session) else { continue };
                let names = SessionNames { row, id: session.as_str().into(), name: name_of(&native) };
                self.pieces_of_session(&names, &request)?
            };
            pieces.list.extend(found.list.into_iter().filter(|piece| wanted.contains(&piece.place())));
        }
        self.redact_again(pieces.list.iter_mut().map(|piece| &mut piece.text))?;
        Ok(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_named_by_what_no_other_one_has() {
        let mut pieces = Pieces::default();
        for name in ["37a27d31-4a70", "019e7f75-298e", "019e7f75-5e42", "aider-2024-08-20", "aider-2024-08-2", "ab", ""] {
            let piece = |text: &str| Piece {
                opens: "t".into(),
                part: 0,
                session: "s".into(),
                session_name: name.into(),
                project: None,
                by: "you",
                at: None,
                text: text.to_owned(),
            };
            pieces.add(&piece("a"));
            pieces.add(&piece("b"));
        }
        pieces.name_sessions();
        let names: Vec<&str> = pieces.list.iter().step_by(2).map(|piece| &*piece.session_name).collect();
        assert_eq!(names, ["37a27d31", "019e7f75-2", "019e7f75-5", "aider-2024-08-20", "aider-2024-08-2", "ab", ""]);
        assert_eq!(unpadded(&format!("a{}b\n    c", " ".repeat(90))), format!("a{}b\n    c", " ".repeat(MOST_SPACES)));
    }
}
