//! Runs the extraction rules over conversations that changed, and records what they propose.
//!
//! A conversation is read once as it is. Its checkpoint says which turns it had, so that one that did not change costs
//! nothing, and one that was interrupted is read again.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};
use yore_core::consolidation::PipelineStatistics;
use yore_core::episode::{PROGRAM, Role};
use yore_core::files::relative;
use yore_core::id::{MemoryId, ProjectId, TurnId};
use yore_core::memory::{Anchor, AnchorKind, Confidence, Lane, Memory, MemoryKind, Reach, Source};
use yore_core::operation::Actor;
use yore_core::time::UtcMillis;

use crate::archive::sessions::{ConversationTurns, SessionsRequest};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::llm::{Denial, LlmError};
use crate::memories::{Extracted, Extraction, GivenEvidence, NewMemory};
use crate::rules::{self, Conversation, Proposal};
use crate::store::{EpisodeKey, EpisodeSummary, SessionOrder, ShownTurn};

/// Most files that a memory speaks of.
const MOST_FILES: usize = 8;
/// Each other session in which the files of a proposal were touched together adds this to its importance, and so many count.
const TOGETHER: f32 = 0.05;
const MOST_TOGETHER: usize = 3;
/// Longest path, in characters.
const PATH_CHARS: usize = 200;

/// Rules that read a conversation.
type Propose = fn(&Conversation<'_>) -> Vec<Proposal>;

/// The conversations to extract from.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ExtractRequest {
    /// Ids of sessions; empty: all that the other conditions let through.
    pub sessions: Vec<String>,
    /// Names, ids or directories of projects.
    pub projects: Vec<String>,
    /// Only conversations last used at or after this time.
    pub since: Option<UtcMillis>,
    /// Only memories of these kinds; empty: of all.
    pub kinds: Vec<MemoryKind>,
    /// Conversations that were read before as they are, too.
    pub again: bool,
    /// Record nothing: only return what would be recorded.
    pub is_dry_run: bool,
    /// Go on with the next conversation when one cannot be read or recorded, unless the reason is one that passes, as a
    /// full disk.
    pub continue_on_error: bool,
}

/// The proposals of the rules for a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtractedSession {
    /// The agent's own id of the session.
    pub session: String,
    /// Its title.
    pub title: Option<String>,
    /// Memories, as they would be recorded.
    pub memories: Vec<NewMemory>,
}

/// A conversation that could not be read, or whose memories could not be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedSession {
    /// The agent's own id of the session.
    pub session: String,
    /// The reason.
    pub reason: FailReason,
}

/// The reason why a conversation or a request failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FailReason {
    /// The model's answers about it could not be used before, and it did not change since.
    #[error("its answers could not be used before, so it was not asked for again")]
    Misformed,
    /// The answer was cut off, and the part that came was used.
    #[error("an answer was cut off")]
    CutOff,
    /// A rule panicked.
    #[error("internal error, please report it")]
    Panicked,
    /// The model is not allowed to be called.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// An error.
    #[error("{message}")]
    Error {
        /// Its code, which does not change between versions.
        code: &'static str,
        /// Its message.
        message: String,
    },
}

impl From<&EngineError> for FailReason {
    fn from(error: &EngineError) -> Self {
        match error {
            EngineError::Llm(LlmError::Budget(denial)) => Self::Denied(denial.clone()),
            error => Self::Error { code: error.code(), message: error.to_string() },
        }
    }
}

impl From<&LlmError> for FailReason {
    fn from(error: &LlmError) -> Self {
        match error {
            LlmError::Budget(denial) => Self::Denied(denial.clone()),
            error => Self::Error { code: error.code(), message: error.to_string() },
        }
    }
}

/// The result of an extraction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtractReport {
    /// Conversations that were read.
    pub sessions: u64,
    /// Conversations that did not change since they were read.
    pub unchanged: u64,
    /// Counts of proposals by what became of them.
    pub counts: Extracted,
    /// Work of the phases of consolidation, and decisions.
    pub statistics: PipelineStatistics,
    /// Memories that a dry run would record.
    pub proposed: Vec<ExtractedSession>,
    /// Conversations that failed, if the request was to go on.
    pub failed: Vec<FailedSession>,
}

impl Engine {
    /// Extracts memories from conversations by rules, the newest conversation first, and divides those that changed into
    /// topics. `proceed` is told how many of how many conversations are done, and says whether to go on.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`], [`EngineError::UnknownSession`]: the request names what there is not.
    pub fn extract(
        &self,
        request: &ExtractRequest,
        proceed: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<ExtractReport, EngineError> {
        self.extract_by(rules::propose, request, proceed)
    }

    /// Does [`Engine::extract`] with these rules.
    fn extract_by(
        &self,
        propose: Propose,
        request: &ExtractRequest,
        proceed: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<ExtractReport, EngineError> {
        let sessions = self.sessions_to_extract(request, true)?;
        let extractor = extractor_of(request);
        let shapes = self.store().shapes(None)?;
        let read = if request.again { HashMap::new() } else { self.store().shapes(Some(&extractor))? };
        let mut report = ExtractReport::default();
        let total = sessions.len() as u64;
        for (done, session) in (0u64..).zip(&sessions) {
            if !proceed(done, total) {
                return Ok(report);
            }
            let shape = shapes.get(&session.row).copied().unwrap_or_default();
            if read.get(&session.row) == Some(&shape) && !request.is_dry_run {
                report.unchanged += 1;
                continue;
            }
            // A rule that fails on one conversation must not keep the others from being read.
            let outcome = if request.continue_on_error {
                let extracted = catch_unwind(AssertUnwindSafe(|| self.extract_from(session, propose, request, &mut report)));
                let Ok(outcome) = extracted else {
                    report.failed.push(FailedSession { session: session.native_id.clone(), reason: FailReason::Panicked });
                    continue;
                };
                outcome
            } else {
                self.extract_from(session, propose, request, &mut report)
            };
            match outcome {
                Ok(()) if request.is_dry_run => {}
                Ok(()) => self.store().note_extraction(session.row, &extractor, Some(shape), self.now())?,
                Err(error) if request.continue_on_error && !error.is_transient() => {
                    report.failed.push(FailedSession { session: session.native_id.clone(), reason: (&error).into() });
                }
                Err(error) => return Err(error),
            }
        }
        if !request.is_dry_run {
            let rows: Vec<EpisodeKey> = sessions.iter().map(|session| session.row).collect();
            self.divide_changed(&rows, &mut || proceed(total, total))?;
        }
        Ok(report)
    }

    /// Extracts memories from a conversation and adds to the report.
    fn extract_from(
        &self,
        session: &EpisodeSummary,
        propose: Propose,
        request: &ExtractRequest,
        report: &mut ExtractReport,
    ) -> Result<(), EngineError> {
        let mut proposals = self.proposals(session, propose)?;
        proposals.retain(|proposal| request.kinds.is_empty() || request.kinds.contains(&proposal.memory.kind));
        if request.is_dry_run {
            if !proposals.is_empty() {
                let (session, title) = (session.native_id.clone(), session.title.clone());
                report.proposed.push(ExtractedSession { session, title, memories: proposals });
            }
        } else {
            report.counts.put_away += self.put_away_taken_back(session.row, &session.native_id)?;
            self.note_citations(session)?;
            let extraction = Extraction {
                episode: session.row,
                session: &session.native_id,
                extractor: rules::NAME,
                version: rules::VERSION,
                actor: Actor::Rule,
                is_whole: request.kinds.is_empty(),
                restated: HashSet::new(),
                entities: Vec::new(),
                proposals,
            };
            let done = self.record_extraction(&extraction)?;
            report.counts.add(done.counts);
            report.statistics.add(&done.statistics);
        }
        report.sessions += 1;
        Ok(())
    }

    /// Returns the conversations that a request names, the newest first; with those that only programs held, if asked for or
    /// named.
    pub(crate) fn sessions_to_extract(
        &self,
        request: &ExtractRequest,
        with_programs: bool,
    ) -> Result<Vec<EpisodeSummary>, EngineError> {
        let listed = SessionsRequest {
            projects: request.projects.clone(),
            since: request.since,
            with_programs: with_programs || !request.sessions.is_empty(),
            without_documents: true,
            order: SessionOrder::Recent,
            limit: usize::MAX >> 1,
            ..SessionsRequest::default()
        };
        let mut sessions = self.sessions(&listed)?;
        if !request.sessions.is_empty() {
            let named = |id: &String| self.session_named(id).map(|(row, _)| row);
            let rows = request.sessions.iter().map(named).collect::<Result<Vec<_>, _>>()?;
            sessions.retain(|session| rows.contains(&session.row));
        }
        Ok(sessions)
    }

    /// Returns the number of other sessions in which all of these files were read or written.
    fn sessions_with_files(&self, session: EpisodeKey, files: &[String]) -> Result<usize, EngineError> {
        let mut opened: HashMap<EpisodeKey, HashSet<String>> = HashMap::new();
        for event in self.store().file_events(Some(files))?.into_iter().filter(|event| event.episode != session) {
            opened.entry(event.episode).or_default().insert(event.path);
        }
        let wanted = files.iter().collect::<HashSet<_>>().len();
        Ok(opened.values().filter(|paths| paths.len() >= wanted).count())
    }

    /// Returns what the rules propose for a conversation, as memories of the projects in which it was said.
    fn proposals(&self, session: &EpisodeSummary, propose: Propose) -> Result<Vec<NewMemory>, EngineError> {
        let read = ConversationTurns::read(self.store(), session.row)?;
        // What programs do among themselves is found by asking; what was learnt of it before is retired.
        if is_of_programs(&read.turns) {
            return Ok(Vec::new());
        }
        let proposed = propose(&Conversation { turns: &read.shapes() });
        let by_id: HashMap<TurnId, &ShownTurn> = read.turns.iter().map(|turn| (turn.id, turn)).collect();
        let projects = self.project_ids_by_key()?;
        let new = |mut proposal: Proposal| {
            let turn = proposal.evidence.first().and_then(|(id, _)| by_id.get(id));
            let project = turn.and_then(|turn| projects.get(&turn.project_key?).copied());
            if proposal.files.len() > 1 {
                let others = self.sessions_with_files(session.row, &proposal.files)?;
                proposal.importance = (proposal.importance + TOGETHER * others.min(MOST_TOGETHER) as f32).min(1.0);
            }
            Ok(memory_of(proposal, project, &session.native_id, turn.and_then(|turn| turn.cwd.as_deref())))
        };
        proposed.into_iter().map(new).collect()
    }
}

/// Returns whether programs sent all prompts of a conversation.
fn is_of_programs(turns: &[ShownTurn]) -> bool {
    let is_sent_by_program = |turn: &ShownTurn| turn.role == Role::Injected && turn.speaker.as_deref() == Some(PROGRAM);
    turns.iter().any(is_sent_by_program) && turns.iter().all(|turn| turn.role != Role::Human)
}

/// Returns the name under which a conversation is noted as read: an extraction of some kinds is another.
fn extractor_of(request: &ExtractRequest) -> String {
    let mut kinds: Vec<&str> = request.kinds.iter().map(|kind| kind.as_str()).collect();
    kinds.sort_unstable();
    format!("{}/{}{}{}", rules::NAME, rules::VERSION, if kinds.is_empty() { "" } else { " " }, kinds.join(" "))
}

fn memory_of(proposal: Proposal, project: Option<ProjectId>, session: &str, cwd: Option<&str>) -> NewMemory {
    let mut new = NewMemory::new(proposal.kind, proposal.statement);
    new.entities = rules::entities(&new.memory.statement);
    new.stated = rules::stated(&new.memory.statement);
    new.aliases = rules::aliases(&new.memory.statement);
    let files = proposal.files.iter().map(|path| relative(path, cwd));
    let files = files.filter(|path| path.chars().count() <= PATH_CHARS).take(MOST_FILES);
    new.memory = Memory {
        id: MemoryId::from_bytes([0; 16]),
        project,
        reach: if project.is_none() { Reach::Unknown } else { Reach::Everywhere },
        details: proposal.details,
        fields: proposal.fields,
        confidence: if proposal.is_proven { Confidence::Verified } else { Confidence::Inferred },
        certainty: proposal.certainty.clamp(0.0, 1.0),
        importance: proposal.importance.clamp(0.0, 1.0),
        source: Source {
            kind: proposal.said_by,
            extractor: Some(format!("{}/{}: {}", rules::NAME, rules::VERSION, proposal.rule)),
            session: Some(session.to_owned()),
            ..Source::default()
        },
        lane: Lane::Extracted,
        valid_from: proposal.at,
        anchors: files.map(|text| Anchor { kind: AnchorKind::SourceFile, text }).collect(),
        language: Some(proposal.language.to_owned()),
        ..new.memory
    };
    if proposal.waits {
        new.memory = new.memory.waiting_for_review();
    }
    new.evidence =
        proposal.evidence.into_iter().map(|(turn, quote)| GivenEvidence { turn: turn.to_string(), quote: Some(quote) }).collect();
    new
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::{EngineOptions, ModelServers};
    use crate::ingest::{IngestRequest, Silent, SourceRoot};
    use crate::store::StoreOptions;

    /// Rules that fail on one of the conversations.
    fn failing(conversation: &Conversation<'_>) -> Vec<Proposal> {
        assert!(conversation.turns.iter().all(|turn| !turn.text.contains("reef")), "a rule fails here");
        rules::propose(conversation)
    }

    #[test]
    fn a_session_on_which_the_rules_panic_is_counted_and_the_others_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let (data, root) = (directory.path().join("data"), directory.path().join("projects"));
        std::fs::create_dir_all(root.join("p")).unwrap();
        for (at, word) in ["tide", "reef", "wreck"].into_iter().enumerate() {
            let session = format!("6a7e000{at}-0000-4000-8000-000000000000");
            let line = json!({
                "type": "user", "uuid": format!("{at}a7e0000-0000-4000-8000-000000000000"), "parentUuid": null,
                "sessionId": session, "timestamp": format!("2026-01-22T14:0{at}:00.000Z"), "cwd": "/home/dev/harbour",
                "message": {"role": "user", "content": format!("From now on always use `rg` to search the {word} logs.")},
            });
            std::fs::write(root.join("p").join(format!("{session}.jsonl")), format!("{line}\n")).unwrap();
        }
        let engine = Engine::open(EngineOptions {
            directory: data,
            create: true,
            store: StoreOptions::default(),
            redaction_patterns: Vec::new(),
            model: None,
            reranker: None,
            servers: ModelServers::default(),
            model_threads: 1,
            now: || 1_770_000_000_000,
            dynamics: yore_core::memory::dynamics::Dynamics::default(),
        })
        .unwrap();
        let root = SourceRoot { source: "claude-code".into(), path: root };
        assert_eq!(engine.ingest(&IngestRequest::new(vec![root]), &mut Silent).unwrap().turns_added, 3);
        let request = ExtractRequest { continue_on_error: true, ..ExtractRequest::default() };
        let report = engine.extract_by(failing, &request, &mut |_, _| true).unwrap();
        assert_eq!((report.sessions, report.unchanged, report.failed.len()), (2, 0, 1), "{report:?}");
        assert_eq!(report.failed[0].session, "6a7e0001-0000-4000-8000-000000000000");
        assert_eq!(report.failed[0].reason, FailReason::Panicked, "{report:?}");
        // A rule that was mended reads it.
        let mended = engine.extract(&request, &mut |_, _| true).unwrap();
        assert_eq!((mended.sessions, mended.unchanged, mended.failed.len()), (1, 2, 0), "{mended:?}");
    }
}
