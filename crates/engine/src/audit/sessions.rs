//! Reads what was said in a project's sessions: the words of all, and the sentences of the person.

use std::collections::HashSet;

use yore_core::episode::Role;
use yore_core::memory::{MemoryKind, SourceKind, Status};
use yore_core::text::Tokenizer;
use yore_core::time::format_day;
use yore_sources::project_names::ProjectNames;

use super::statement::{Statement, sentences};
use super::words::Vocabulary;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::project_here;
use crate::store::{Memories, MemoryFilter, SessionFilter, SessionOrder, Turns};

/// Sessions that are read, the newest; memories that are read.
const MOST_SESSIONS: usize = 1_000;
const MOST_MEMORIES: usize = 5_000;
/// Longest message of a person whose sentences are compared, in bytes; a longer one is pasted.
const LONGEST_MESSAGE: usize = 4_000;
/// Bytes of a turn's tool text whose words are read.
const MOST_TOOL_TEXT: usize = 64 << 10;

/// Kinds of memories that a line may be contradicted by.
const RULES: [MemoryKind; 3] = [MemoryKind::Decision, MemoryKind::Standard, MemoryKind::Preference];

/// The conversations of a project.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Number of sessions that were read.
    pub sessions: usize,
    /// Their words, without those of the audited lines.
    pub known: Vocabulary,
    /// Statements that a line may be contradicted by.
    pub later: Vec<Statement>,
}

impl Said {
    /// Reads the conversations and memories of a project; nothing if the project is not known. `own`: the audited lines, which agents
    /// read in conversations.
    pub fn read(engine: &Engine, here: Option<&ProjectNames>, own: &[&str]) -> Result<Self, EngineError> {
        let store = engine.store();
        let mut found = Self::default();
        let Some(names) = here else { return Ok(found) };
        let Some(project) = project_here(store, names)? else { return Ok(found) };
        let own: HashSet<&str> = own.iter().map(|line| bare(line)).collect();
        let mut tokenizer = Tokenizer::default();
        let filter = SessionFilter { projects: &[project], without_documents: true, ..SessionFilter::default() };
        for session in store.sessions(&filter, SessionOrder::Recent, MOST_SESSIONS)? {
            if session.forgotten.is_some() {
                continue;
            }
            found.sessions += 1;
            for turn in store.turns(Turns::OfEpisode(session.row))? {
                let tool_text = &turn.tool_text[..turn.tool_text.floor_char_boundary(MOST_TOOL_TEXT)];
                for line in turn.text.lines().chain(tool_text.lines()).filter(|line| !own.contains(bare(line))) {
                    found.known.add(line, &mut tokenizer);
                }
                let is_word = turn.role == Role::Human && turn.caveat.is_none() && turn.text.len() <= LONGEST_MESSAGE;
                if let Some(at) = turn.time.utc.filter(|_| is_word) {
                    let named = format!("session {} ({}), turn {}", session.id.short(), format_day(at), turn.id.short());
                    found.later.extend(sentences(&turn.text).map(|text| Statement {
                        proof: format!("{named}: \u{201c}{text}\u{201d}"),
                        text: text.to_owned(),
                        title: String::new(),
                        at,
                    }));
                }
            }
        }
        let id = engine.project_of(names)?;
        let filter = MemoryFilter {
            projects: Some(id.into_iter().collect()),
            statuses: vec![Status::Holds],
            is_forgotten: Some(false),
            ..MemoryFilter::default()
        };
        for (_, memory) in store.memories(Memories::Meeting(&filter, MOST_MEMORIES))? {
            let at = memory.valid_from.unwrap_or(memory.recorded);
            // A memory that was read from such a file is no proof against it.
            let is_of_file = memory.source.kind == SourceKind::Import;
            if !is_of_file && RULES.contains(&memory.kind) {
                found.later.push(Statement {
                    proof: format!("memory {} ({}): \u{201c}{}\u{201d}", memory.id.short(), format_day(at), memory.statement),
                    title: String::new(),
                    text: memory.statement,
                    at,
                });
            }
        }
        Ok(found)
    }
}

/// Returns a line without what stands before its first letter: the marker of a list, the number of the line.
fn bare(line: &str) -> &str {
    line.trim_start_matches(|letter: char| !letter.is_alphabetic()).trim_end()
}
