//! Insights into the work of projects: what happens again and again there, with the turns that show it.
//!
//! [`yore_core::insight`] finds them in what sessions record: commands, files, the person's sentences, and decisions. Here that is read.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use yore_core::id::{MemoryId, ProjectId};
use yore_core::insight::{
    FEWEST_SESSIONS, Insight, InsightKind, Replacement, Said, Touch, Tried, errors, first_tries, read_before, repeated, reversals,
};
use yore_core::memory::{Memory, MemoryKind, Status};
use yore_core::relation::Node;
use yore_sources::project_names::ProjectNames;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{project_here, projects_named};
use crate::rules::{Words, is_title, is_typed, own_words, sentences};
use crate::store::{Attempts, FileEvent, Outlines, ProjectKey, Prompt, Relations, RowKey as _};

/// Most commands of a project that are read, the latest ones.
const MOST_COMMANDS: i64 = 50_000;
/// Most memories of a project that are compared with an instruction.
const MOST_MEMORIES: usize = 20_000;
/// A message that is no longer is typed anew each time.
const SHORT_MESSAGE: usize = 160;
/// A longer message is a text that was written elsewhere.
const LONGEST_MESSAGE: usize = 1_500;

/// The insights that are wanted. Without projects and `here`: those of all projects.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct InsightsRequest {
    /// Names, ids or directories of projects.
    pub projects: Vec<String>,
    /// The directory whose project is wanted if no projects are named.
    pub here: Option<ProjectNames>,
    /// Kinds; none: all.
    pub kinds: Vec<InsightKind>,
    /// Most of each kind and project.
    pub limit: usize,
}

/// An insight into the work of a project.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct FoundInsight {
    /// Its id: the same when it is found again.
    pub id: String,
    /// Name of the project.
    pub project: String,
    /// Id of the project.
    pub project_id: String,
    /// The insight; its places are short ids of turns, of a reversal of memories.
    pub insight: Insight<String>,
}

/// All that sessions record, read once for all projects.
struct Recorded {
    files: Vec<FileEvent>,
    prompts: Vec<Prompt>,
}

impl Engine {
    /// Finds the insights into the work of projects, by project, and by kind those of most sessions first.
    ///
    /// # Errors
    /// If a project is not known, or the store cannot be read.
    pub fn insights(&self, request: &InsightsRequest) -> Result<Vec<FoundInsight>, EngineError> {
        let wants = |kind: InsightKind| request.kinds.is_empty() || request.kinds.contains(&kind);
        let named = projects_named(self.store(), &request.projects)?;
        let here = request.here.as_ref().map(|here| project_here(self.store(), here)).transpose()?.flatten();
        let is_wanted = |key: ProjectKey| match request.projects.is_empty() {
            true => request.here.is_none() || here == Some(key),
            false => named.contains(&key),
        };
        let mut recorded = Recorded { files: Vec::new(), prompts: Vec::new() };
        if wants(InsightKind::ReadBefore) {
            recorded.files = self.store().file_events(None)?;
            recorded.files.sort_by_key(|event| (event.episode, event.position));
        }
        if wants(InsightKind::Instruction) {
            recorded.prompts = self.store().prompts()?;
        }
        let mut found = Vec::new();
        for project in self.store().projects()?.into_iter().filter(|project| is_wanted(project.key)) {
            let mut add = |insights: Vec<Insight<String>>| {
                found.extend(insights.into_iter().take(request.limit).map(|insight| {
                    let id = blake3::hash(format!("{}\n{}\n{}", project.id, insight.kind.as_str(), insight.key).as_bytes());
                    let (project, project_id) = (project.name.clone(), project.id.to_string());
                    FoundInsight { id: id.to_hex()[..8].to_owned(), project, project_id, insight }
                }));
            };
            if wants(InsightKind::Error) || wants(InsightKind::FirstTry) {
                for insights in self.of_commands(project.key, request.limit)? {
                    add(insights.into_iter().filter(|insight| wants(insight.kind)).collect());
                }
            }
            if wants(InsightKind::ReadBefore) {
                add(of_files(project.key, &recorded.files));
            }
            if wants(InsightKind::Instruction) {
                add(self.of_instructions(project.key, &recorded.prompts)?);
            }
            if wants(InsightKind::Reversal) {
                add(self.of_reversals(project.id)?);
            }
        }
        Ok(found)
    }

    /// Returns the errors that come up again, and the commands that fail at the first try.
    fn of_commands(&self, project: ProjectKey, limit: usize) -> Result<[Vec<Insight<String>>; 2], EngineError> {
        let mut stored = self.store().attempts(project, Attempts::Latest(MOST_COMMANDS), None)?;
        stored.sort_by_key(|stored| (stored.episode, stored.attempt.turn));
        let at: HashMap<_, String> = stored.iter().map(|stored| (stored.attempt.turn, stored.id.short())).collect();
        let tried: Vec<Tried<'_, _>> = stored
            .iter()
            .map(|stored| Tried { session: stored.episode.get(), at: stored.at, attempt: &stored.attempt })
            .collect();
        let named =
            |insights: Vec<Insight<_>>| insights.into_iter().map(|insight| insight.placed(|turn| at[turn].clone())).collect();
        let mut errors = errors(&tried);
        for error in errors.iter_mut().take(limit) {
            for place in &error.places {
                if let Some(cause) = self.cause_after(*place, &error.statement)? {
                    error.statement.push_str(&format!(" The agent said then: “{cause}”"));
                    if let Some(offer) = &mut error.offer {
                        offer.statement.push_str(&format!(" Once the cause was: “{cause}”"));
                    }
                    break;
                }
            }
        }
        let errors: Vec<Insight<String>> = named(errors);
        let mut first_tries: Vec<Insight<String>> = named(first_tries(&tried));
        // A command that fails first with one error is told once.
        first_tries.retain(|one| !errors.iter().any(|error| one.places.iter().all(|place| error.places.contains(place))));
        Ok([errors, first_tries])
    }

    /// Returns the instructions that the person repeats and that no memory says.
    fn of_instructions(&self, project: ProjectKey, prompts: &[Prompt]) -> Result<Vec<Insight<String>>, EngineError> {
        let mut said: Vec<Said<'_, String>> = Vec::new();
        let prompts: Vec<&Prompt> = prompts.iter().filter(|prompt| prompt.project_row == Some(project)).collect();
        let mut sessions: HashMap<&str, HashSet<_>> = HashMap::new();
        for prompt in &prompts {
            sessions.entry(beginning(&prompt.text)).or_default().insert(prompt.episode);
        }
        for prompt in prompts {
            let own = own_words(&prompt.text);
            // Nobody types a long message twice: a program sends it.
            let is_sent = own.len() > SHORT_MESSAGE && sessions[beginning(&prompt.text)].len() > 1;
            let is_notice = own.lines().next().is_none_or(|first| !is_title(first));
            if !is_typed(&prompt.text) || own.len() > LONGEST_MESSAGE || is_sent || is_notice {
                continue;
            }
            for sentence in sentences(own, Words::of(own)) {
                if !sentence.is_question && is_title(sentence.text) {
                    let (session, turn) = (prompt.episode.get(), prompt.turn.short());
                    said.push(Said { session, at: Some(prompt.at), turn, text: sentence.text });
                }
            }
        }
        let mut found = repeated(&said);
        if !found.is_empty() {
            let known = self.store().outlines(Outlines::InEffect(Some(&[project]), MOST_MEMORIES))?;
            let known: Vec<&Memory> = known.iter().map(|outline| &**outline).collect();
            let is_rule = |memory: &&&Memory| matches!(memory.kind, MemoryKind::Standard | MemoryKind::Preference);
            found.retain(|insight| !insight.is_said_by(known.iter().filter(is_rule).map(|memory| memory.statement.as_str())));
        }
        Ok(found)
    }

    /// Returns the decisions that were reversed.
    fn of_reversals(&self, project_id: ProjectId) -> Result<Vec<Insight<String>>, EngineError> {
        let is_decision = |memory: &Memory| matches!(memory.kind, MemoryKind::Decision | MemoryKind::Standard);
        let mut by_newer: HashMap<MemoryId, MemoryId> = HashMap::new();
        for relation in self.store().relations(Relations::Superseding)? {
            if let (Node::Memory(newer), Node::Memory(older)) = (relation.from, relation.to) {
                by_newer.insert(newer, older);
            }
        }
        let replaced_ones: HashSet<MemoryId> = by_newer.values().copied().collect();
        // From what holds now backwards, as far as decisions of this project go.
        let mut replaced: Vec<(Memory, Memory)> = Vec::new();
        for last in by_newer.keys().filter(|newer| !replaced_ones.contains(newer)) {
            let Some(mut newer) = self.told_memory(*last)?.filter(|memory| is_decision(memory) && memory.is_in_effect()) else {
                continue;
            };
            if newer.project != Some(project_id) {
                continue;
            }
            while let Some(older) = by_newer.get(&newer.id) {
                let older = self.told_memory(*older)?;
                let Some(older) = older.filter(|older| {
                    older.status == Status::Superseded
                        && is_decision(older)
                        && older.project == newer.project
                        && replaced.len() < MOST_MEMORIES
                }) else {
                    break;
                };
                replaced.push((older.clone(), newer));
                newer = older;
            }
        }
        let since = |memory: &Memory| memory.valid_from.unwrap_or(memory.recorded);
        let told: Vec<Replacement<'_, MemoryId>> = replaced
            .iter()
            .map(|(older, newer)| Replacement {
                older: (older.id, older.statement.as_str(), since(older)),
                newer: (newer.id, newer.statement.as_str(), since(newer)),
            })
            .collect();
        Ok(reversals(&told).into_iter().map(|insight| insight.placed(MemoryId::short)).collect())
    }
}

/// Returns the files that are opened before each change of another.
fn of_files(project: ProjectKey, files: &[FileEvent]) -> Vec<Insight<String>> {
    let touches: Vec<Touch<'_, String>> = files
        .iter()
        .filter(|event| event.project == Some(project))
        .map(|event| Touch {
            session: event.episode.get(),
            at: Some(event.at),
            path: &event.path,
            is_written: event.is_written,
            turn: event.turn.short(),
        })
        .collect();
    read_before(&touches).into_iter().filter(|insight| insight.sessions >= FEWEST_SESSIONS).collect()
}

/// Returns the beginning of a message, by which it is known again.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHORT_MESSAGE / 2)]
}
