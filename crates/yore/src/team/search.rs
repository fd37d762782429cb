//! Searches the sessions that a team shares, on its server. The server finds turns that may answer; this computer ranks them as it ranks
//! its own, in a memory that lasts as long as the question.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use yore_core::id::TurnId;
use yore_core::scope::ScopeChoice;
use yore_core::text::{Question, Tokenizer, joined};
use yore_core::time::format_utc;
use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};
use yore_engine::{CollectionCounts, Engine, EngineOptions, RecallAnswer, RecallRequest};
use yore_team::wire::{FoundSession, FoundTurns, MOST_WORD, MOST_WORDS, Search};

use super::sessions::vector;
use crate::error::{CliError, CliResult};

/// Turns that the server finds by words, and as many by meaning.
const CANDIDATES: u32 = 200;

/// Source that reads what was found.
const SOURCE: &str = "jsonl";
/// Folder of the data directory in which what a server found is ranked.
pub const SCRATCH: &str = "team/found";

/// Removes from the folder what processes left that were killed so long ago.
pub fn remove_old(scratch: &Path, age: Duration) {
    let is_old = |entry: &std::fs::DirEntry| {
        let modified = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
        modified.is_some_and(|since| since > age)
    };
    for entry in std::fs::read_dir(scratch).into_iter().flatten().flatten().filter(is_old) {
        let _ = std::fs::remove_dir_all(entry.path());
    }
}

/// A turn of the answer: the session that it is of, and its number there, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The session.
    pub session: FoundSession,
    /// The turn's number.
    pub index: u32,
}

/// The answer to a question, and where its turns are from.
#[derive(Debug)]
pub struct TeamAnswer {
    /// The answer, as recall gives it. Its ids name nothing outside of it.
    pub answer: RecallAnswer,
    /// Origins of turns, by the ids that the answer has for them.
    origins: HashMap<TurnId, Origin>,
}

impl TeamAnswer {
    /// Returns where a turn of the answer is from.
    pub fn origin(&self, turn: TurnId) -> Option<&Origin> {
        self.origins.get(&turn)
    }
}

/// Returns what the server is asked for a question.
pub fn asked(request: &RecallRequest) -> Search {
    let text = joined(&request.question, &request.wordings);
    let mut words = Question::parse(&text, &mut Tokenizer::default()).terms;
    words.retain(|word| word.len() <= MOST_WORD);
    words.truncate(MOST_WORDS);
    let since = request.filter.since;
    let until = [request.filter.until, request.filter.as_of].into_iter().flatten().min();
    Search { words, vector: vector(&text), since, until, limit: CANDIDATES }
}

/// Ranks what the server found. `options`: of a memory, whose directory is taken for a moment.
///
/// # Errors
/// The memory of the moment cannot be made.
pub fn rank(search: &Search, found: &FoundTurns, request: &RecallRequest, options: EngineOptions) -> CliResult<TeamAnswer> {
    let directory = options.directory.clone();
    let failed = |error: io::Error| CliError::io(&directory, &error);
    let lines = directory.join("found.jsonl");
    let origins = write_found(&lines, found).map_err(failed)?;
    // Numbers that do not fit each other, of a server that was changed meanwhile, must not harm.
    let turns = found.turns.max(found.found.len() as u64);
    let counts = CollectionCounts {
        turns,
        words: found.words.max(turns),
        holding: search.words.iter().cloned().zip(found.holding.iter().map(|holding| (*holding).min(turns))).collect(),
    };
    let engine = Engine::open(EngineOptions { directory: directory.join("memory"), create: true, ..options })?.sample_of(counts);
    let root = SourceRoot { source: SOURCE.to_owned(), path: lines };
    engine.ingest(&IngestRequest::new(vec![root]), &mut Silent)?;
    engine.sync_index(10_000, &mut |_| {})?;
    let mut request = request.clone();
    request.filter.scope = ScopeChoice::All;
    request.filter.until = search.until;
    request.here = None;
    Ok(TeamAnswer { answer: engine.recall(&request)?, origins })
}

/// Writes what was found as sessions that can be read; returns where each turn is from.
fn write_found(path: &Path, found: &FoundTurns) -> io::Result<HashMap<TurnId, Origin>> {
    let mut file = io::BufWriter::new(std::fs::File::create(path)?);
    let mut origins = HashMap::new();
    for (place, session) in found.sessions.iter().enumerate() {
        let name = format!("{}-{}", session.head.id, session.member);
        let mut turns = Vec::new();
        for turn in found.found.iter().filter(|turn| turn.session == place) {
            let number = turn.index.to_string();
            let at = turn.turn.at.map(format_utc);
            let said = &turn.turn;
            turns
                .push(json!({"turn_id": number, "role": said.said, "speaker": said.speaker, "text": said.text, "timestamp": at}));
            origins.insert(TurnId::derive(SOURCE, &name, &number, 0), Origin { session: session.clone(), index: turn.index });
        }
        let began = session.head.began.map(format_utc);
        serde_json::to_writer(&mut file, &json!({"doc_id": name, "timestamp": began, "turns": turns}))?;
        file.write_all(b"\n")?;
    }
    file.flush()?;
    Ok(origins)
}
