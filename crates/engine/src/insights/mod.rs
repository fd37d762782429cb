//! Insights into the work of projects: what happens again and again there, with the turns that show it.
//!
//! [`yore_core::insight`] finds them in what sessions record: commands, files, the person's sentences, and decisions. Here that is read.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use yore_core::id::{MemoryId, ProjectId};
use yore_core::insight::{
    FEWEST_SESSIONS, Insight, InsightKind, KnownStatements, Replacement, Said, Touch, Tried, errors, first_tries, read_before,
    repeated, reversals, speaks_of,
};
use yore_core::memory::{Memory, MemoryKind, Status};
use yore_core::relation::Node;
use yore_sources::project_names::ProjectNames;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{project_here, projects_named};
use crate::rules::{Words, is_title, is_typed, own_words, sentences};
use crate::store::{
    Attempts, FileEvent, INSIGHTS, INSIGHTS_BEGUN, Outlines, ProjectKey, Prompt, Relations, RowKey as _, StoredProject,
};

/// Most commands of a project that are read, the latest ones.
const MOST_COMMANDS: i64 = 50_000;
/// Most memories of a project that are compared with an instruction.
const MOST_MEMORIES: usize = 20_000;
/// Most insights of each kind and project that upkeep keeps.
const MOST_KEPT: usize = 20;
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
    /// True: they are found now, in all that is recorded, which takes seconds. Else those that upkeep found last.
    pub anew: bool,
}

impl InsightsRequest {
    fn wants(&self, kind: InsightKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
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

impl FoundInsight {
    /// Returns its texts.
    pub(crate) fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        self.insight.offer.iter_mut().map(|offer| &mut offer.statement).chain([&mut self.insight.statement])
    }
}

/// All that sessions record, read once for all projects.
struct Recorded {
    files: Vec<FileEvent>,
    prompts: Vec<Prompt>,
}

impl Engine {
    /// Returns the insights into the work of projects, by project, and by kind those of most sessions first.
    ///
    /// # Errors
    /// If a project is not known, or the store cannot be read.
    pub fn insights(&self, request: &InsightsRequest) -> Result<Vec<FoundInsight>, EngineError> {
        let named = projects_named(self.store(), &request.projects)?;
        let here = request.here.as_ref().map(|here| project_here(self.store(), here)).transpose()?.flatten();
        let mut projects = self.store().projects()?;
        projects.retain(|project| match request.projects.is_empty() {
            true => request.here.is_none() || here == Some(project.key),
            false => named.contains(&project.key),
        });
        let mut found = match request.anew {
            true => self.find_insights(request, projects)?,
            false => self.kept_insights(request, &projects)?,
        };
        self.redact_again(found.iter_mut().flat_map(FoundInsight::texts))?;
        Ok(found)
    }

    /// Finds the insights of all projects and keeps them; returns their number. They are not kept if anything was forgotten meanwhile.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub fn renew_insights(&self) -> Result<u64, EngineError> {
        let run = uuid::Uuid::now_v7().simple().to_string();
        self.store().set_index_state(INSIGHTS_BEGUN, &run)?;
        let request = InsightsRequest { limit: MOST_KEPT, anew: true, ..InsightsRequest::default() };
        let found = self.insights(&request)?;
        let turn = self.forgetting_turn()?;
        // Where locks do not work, another process may forget between the two steps.
        let _ = turn.wait();
        if self.store().index_state(INSIGHTS_BEGUN)?.as_ref() == Some(&run) {
            self.store().set_index_state(INSIGHTS, &serde_json::json!(found).to_string())?;
        }
        Ok(found.len() as u64)
    }

    /// Returns the insights that upkeep found last, to be redacted again; none if it found none yet, or something was forgotten since.
    pub(crate) fn kept_insights(
        &self,
        request: &InsightsRequest,
        projects: &[StoredProject],
    ) -> Result<Vec<FoundInsight>, EngineError> {
        let kept = self.store().index_state(INSIGHTS)?;
        // Those that another version kept may have another form.
        let mut found: Vec<FoundInsight> = kept.and_then(|kept| serde_json::from_str(&kept).ok()).unwrap_or_default();
        let mut counts: HashMap<(String, InsightKind), usize> = HashMap::new();
        found.retain_mut(|found| {
            let kind = found.insight.kind;
            let Some(project) = projects.iter().find(|project| project.id.to_string() == found.project_id) else { return false };
            found.project.clone_from(&project.name);
            let count = counts.entry((found.project_id.clone(), kind)).or_default();
            *count += 1;
            *count <= request.limit && request.wants(kind)
        });
        Ok(found)
    }

    /// Finds insights in all that is recorded of projects.
    fn find_insights(&self, request: &InsightsRequest, projects: Vec<StoredProject>) -> Result<Vec<FoundInsight>, EngineError> {
        let wants = |kind| request.wants(kind);
        let mut recorded = Recorded { files: Vec::new(), prompts: Vec::new() };
        if wants(InsightKind::ReadBefore) {
            recorded.files = self.store().file_events(None)?;
            recorded.files.sort_by_key(|event| (event.episode, event.position));
        }
        if wants(InsightKind::Instruction) {
            recorded.prompts = self.store().prompts()?;
        }
        let mut found = Vec::new();
        for project in projects {
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
                let reported =
                    stored.iter().find(|stored| stored.attempt.turn == *place).and_then(|stored| stored.attempt.failed.as_ref());
                let Some(reported) = reported.map(|failed| failed.error.as_str()) else { continue };
                if let Some(cause) = self.cause_after(*place, reported)?.filter(|cause| speaks_of(cause, reported)) {
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
            let rules = known.iter().filter(|memory| matches!(memory.kind, MemoryKind::Standard | MemoryKind::Preference));
            let known: KnownStatements = rules.map(|memory| memory.statement.as_str()).collect();
            found.retain(|insight| !known.say(insight));
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
