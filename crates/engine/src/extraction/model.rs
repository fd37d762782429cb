//! Extraction by a language model: one call for each piece of a conversation, with lines, checks and records as for an agent.

use serde::Deserialize;
use serde_json::{Value, json};
use yore_core::conflict::Aspect;
use yore_core::consolidation::PipelineStatistics;
use yore_core::entity::EntityKind;
use yore_core::episode::Role;
use yore_core::memory::{FIELD_NAMES, MemoryKind};
use yore_core::operation::Actor;
use yore_core::relation::RelationType;
use yore_core::time::format_day;

use crate::budget::{Ledger, ends_run};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extraction::agent::{Distilled, DistilledEntity, DistilledField, DistilledItem, DistilledRelation, DistilledTopic};
use crate::extraction::material::{Distiller, Line, Material, NEW_CHARS};
use crate::extraction::model_access::{MOST_FAILURES, ModelAccess, StopReason};
use crate::extraction::refused::RefusedItem;
use crate::extraction::run::{ExtractRequest, FailReason, FailedSession};
use crate::llm::{Class, Form, LlmError, Model, Prompt, estimated_tokens, structured};
use crate::store::EpisodeSummary;

/// A way to ask a family of models: its instructions, and who then distils. A change of the words is another file and
/// another version.
struct Manner {
    instructions: &'static str,
    by: Distiller,
    /// True if relations, topics and what rules proposed are asked for, too.
    is_full: bool,
}

/// Name under which is noted how far models have read, and a conversation whose answers had not the form.
pub(crate) const CHECKPOINT: &str = "model";
pub(crate) const MISFORMED: &str = "model misformed";

const CAPABLE: Manner = Manner {
    instructions: include_str!("../../prompts/extract-5.md"),
    by: Distiller { extractor: "model", version: 4, checkpoint: CHECKPOINT, new_chars: NEW_CHARS, actor: Actor::Model },
    is_full: true,
};
/// A small model reads shorter pieces, and gives items only.
const SMALL: Manner = Manner {
    instructions: include_str!("../../prompts/extract-small-2.md"),
    by: Distiller { extractor: "small-model", version: 2, checkpoint: CHECKPOINT, new_chars: 5_000, actor: Actor::Model },
    is_full: false,
};
/// Tokens of known statements beside the lines, about.
const KNOWN_TOKENS: u64 = 500;
/// Most tokens of an answer.
const MOST_ANSWER: u32 = 8_000;
/// Most pieces of a conversation that are read in one run: an endless conversation must not take the day.
const MOST_PIECES: usize = 40;

/// The result of an extraction by a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelReport {
    /// Conversations with new lines that were read.
    pub sessions: u64,
    /// Conversations without new lines.
    pub unchanged: u64,
    /// Calls that gave an answer.
    pub answers: u64,
    /// New memories.
    pub recorded: u64,
    /// Known memories that got evidence.
    pub joined: u64,
    /// Relations that were stated.
    pub relations: u64,
    /// Memories that rules had proposed and that were put away.
    pub dropped: u64,
    /// Work of the phases of consolidation, and decisions.
    pub statistics: PipelineStatistics,
    /// Items and relations that could not be stored, with the agent's own id of the session.
    pub refused: Vec<(String, RefusedItem)>,
    /// Conversations of projects that nobody may read.
    pub left_out: u64,
    /// Conversations whose requests wait for an answer in a folder.
    pub waiting: u64,
    /// Conversations that failed.
    pub failed: Vec<FailedSession>,
    /// Why the run ended before all conversations were read.
    pub stopped: Option<StopReason>,
}

impl Engine {
    /// Lets a model distil conversations, the newest first. Each piece of a conversation is recorded before the next is asked
    /// for, so that a run that ends goes on where it stood. `proceed` is told how many of how many conversations are done.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`], [`EngineError::UnknownSession`]. Failures of the model are in the report.
    pub fn extract_by_model(
        &self,
        by: ModelAccess<'_>,
        request: &ExtractRequest,
        proceed: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<ModelReport, EngineError> {
        self.read_by_model(by, &self.sessions_to_extract(request, false)?, request, proceed)
    }

    /// Lets a model distil these conversations, in their order.
    pub(crate) fn read_by_model(
        &self,
        mut by: ModelAccess<'_>,
        sessions: &[EpisodeSummary],
        request: &ExtractRequest,
        proceed: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<ModelReport, EngineError> {
        let mut report = ModelReport::default();
        // Two processes would pay for the same lines.
        let Some(_lock) = self.lock_for_models()? else {
            report.stopped = Some(StopReason::OtherProcess);
            return Ok(report);
        };
        if request.again {
            for session in sessions {
                for extractor in [CHECKPOINT, MISFORMED] {
                    self.store().note_extraction(session.row, extractor, None, self.now())?;
                }
            }
        }
        let (shapes, misformed) = (self.store().shapes(None)?, self.store().shapes(Some(MISFORMED))?);
        let mut failures = 0;
        let total = sessions.len() as u64;
        for (done, session) in (0u64..).zip(sessions) {
            if !proceed(done, total) {
                report.stopped = Some(StopReason::Asked);
                break;
            }
            let (model, ledger) = match by.reader(self, session.project.as_deref()) {
                Ok(Some(reader)) => reader,
                Ok(None) => {
                    report.left_out += 1;
                    continue;
                }
                Err(reason) => {
                    report.stopped = Some(StopReason::NoModel(reason));
                    break;
                }
            };
            let shape = shapes.get(&session.row).copied().unwrap_or_default();
            if misformed.get(&session.row) == Some(&shape) {
                report.failed.push(FailedSession { session: session.native_id.clone(), reason: FailReason::Misformed });
                continue;
            }
            let answers = report.answers;
            match self.distil_by_model(session, &model, &ledger, request, &mut report) {
                // A conversation that did not change tells nothing of the model.
                Ok(()) if report.answers == answers => {}
                Ok(()) => failures = 0,
                Err(EngineError::Llm(LlmError::Unanswered(_))) => report.waiting += 1,
                Err(EngineError::Llm(error)) => {
                    if ends_run(&error) {
                        report.stopped = Some(StopReason::Failed((&error).into()));
                        break;
                    }
                    // It would be asked in vain each time, until it changes.
                    if error.class() == Class::Validation {
                        self.store().note_extraction(session.row, MISFORMED, Some(shape), self.now())?;
                    }
                    failures += 1;
                    report.failed.push(FailedSession { session: session.native_id.clone(), reason: (&error).into() });
                    if failures == MOST_FAILURES {
                        report.stopped = Some(StopReason::Conversations(failures));
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }

    /// Distils what is new in a conversation.
    fn distil_by_model(
        &self,
        session: &EpisodeSummary,
        model: &Model,
        ledger: &Ledger<'_>,
        request: &ExtractRequest,
        report: &mut ModelReport,
    ) -> Result<(), EngineError> {
        let manner = if model.is_small() { SMALL } else { CAPABLE };
        let form = form(&request.kinds, manner.is_full);
        // Fewer once an answer was cut off.
        let (mut most_lines, mut halvings) = (usize::MAX, 0);
        for piece in 0..MOST_PIECES {
            let Some(mut material) = self.material_of(session, &manner.by)? else {
                // Turns without a line to keep follow the last one: they wait for nobody.
                self.note_read(session, &manner.by)?;
                if piece == 0 {
                    report.unchanged += 1;
                }
                break;
            };
            material.new.truncate(most_lines);
            let answered = loop {
                let ask = if halvings == 0 { structured::ask::<Found> } else { structured::ask_for_part::<Found> };
                match ask(model, &prompt(&material, &manner), &form, ledger) {
                    Ok(answered) => break answered,
                    // The next piece begins with the other half.
                    Err(LlmError::CutOff(_)) if halvings < structured::HALVINGS && material.new.len() > 1 => {
                        halvings += 1;
                        most_lines = material.new.len().div_ceil(2);
                        material.new.truncate(most_lines);
                        report.statistics.retries += 1;
                    }
                    Err(error) => return Err(error.into()),
                }
            };
            let mut distilled = answered.value.distilled();
            report.sessions += u64::from(piece == 0);
            report.answers += 1;
            report.statistics.calls += 1;
            report.statistics.retries += u64::from(answered.retries);
            distilled.session.clone_from(&session.native_id);
            // The model read all that it was given, whatever it says of it; an answer that was cut off counts as far as its items reach.
            distilled.upto = match answered.is_partial {
                false => material.new.last().map(|line| line.line),
                true => distilled.items.iter().map(|item| item.line).max(),
            };
            if distilled.upto.is_none() {
                return Err(LlmError::Form("the answer was cut off before its first item".to_owned()).into());
            }
            distilled.items.retain(|item| is_wanted(&item.kind, &request.kinds));
            let recorded = self.record_distilled_by(&manner.by, session, &distilled)?;
            report.recorded += recorded.recorded;
            report.joined += recorded.joined;
            report.relations += recorded.relations;
            report.dropped += recorded.dropped;
            report.statistics.add(&recorded.statistics);
            let is_vain = !distilled.items.is_empty() && recorded.recorded + recorded.joined + recorded.known == 0;
            let first = recorded.problems.first().map(ToString::to_string).unwrap_or_default();
            report.refused.extend(recorded.problems.into_iter().map(|problem| (session.native_id.clone(), problem)));
            if is_vain {
                return Err(LlmError::Form(format!("none of its items could be recorded; {first}")).into());
            }
        }
        Ok(())
    }
}

/// An answer of a model: what has other parts, or lacks the items, is none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Found {
    items: Vec<FoundItem>,
    #[serde(default)]
    entities: Vec<DistilledEntity>,
    #[serde(default)]
    relations: Vec<DistilledRelation>,
    #[serde(default)]
    topic: Option<DistilledTopic>,
    #[serde(default)]
    drop: Vec<String>,
}

/// An item of an answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FoundItem {
    #[serde(default, rename = "ref")]
    reference: Option<String>,
    kind: String,
    statement: String,
    line: u32,
    quote: String,
    #[serde(default)]
    fields: Vec<DistilledField>,
    #[serde(default)]
    entities: Vec<String>,
    #[serde(default)]
    confidence: Option<f32>,
    #[serde(default, rename = "closed")]
    is_closed: Option<bool>,
    #[serde(default)]
    state: Option<FoundState>,
}

/// The value of something that has one at a time.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FoundState {
    subject: Option<String>,
    aspect: Option<String>,
    value: Option<String>,
}

impl Found {
    fn distilled(self) -> Distilled {
        let Self { items, entities, relations, topic, drop } = self;
        let items = items.into_iter().map(FoundItem::distilled).collect();
        Distilled { items, entities, relations, topic, drop, ..Distilled::default() }
    }
}

impl FoundItem {
    fn distilled(self) -> DistilledItem {
        let Self { reference, kind, statement, line, quote, fields, entities, confidence, is_closed, state } = self;
        let FoundState { subject, aspect, value } = state.unwrap_or_default();
        let details = None;
        DistilledItem {
            reference,
            kind,
            statement,
            details,
            fields,
            line,
            quote,
            entities,
            confidence,
            is_closed,
            subject,
            aspect,
            value,
        }
    }
}

/// Returns whether a kind is wanted; an unknown one is left to the checks.
fn is_wanted(kind: &str, kinds: &[MemoryKind]) -> bool {
    kinds.is_empty() || MemoryKind::parse(&kind.trim().to_lowercase()).is_none_or(|kind| kinds.contains(&kind))
}

/// Returns the tokens of a prompt without its lines, about: instructions, the form of the answer, and what is known already.
pub(crate) fn frame_tokens() -> u64 {
    estimated_tokens(CAPABLE.instructions) + estimated_tokens(&form(&[], true).schema.to_string()) + KNOWN_TOKENS
}

/// Returns the prompt for a piece of a conversation: recalled words are the values of a JSON document, out of which
/// they cannot lead. A line is one text with its number and its speaker, which takes fewer tokens than an object.
fn prompt(material: &Material, manner: &Manner) -> Prompt {
    let line = |line: &Line| {
        let who = match line.role {
            Role::Human => "person",
            Role::Assistant => "agent",
            Role::ToolResult => "error",
            _ => "summary",
        };
        format!("{} {who}: {}", line.line, line.text)
    };
    let known =
        |(id, kind, statement): &(String, MemoryKind, String)| json!({"id": id, "kind": kind.as_str(), "statement": statement});
    let lines = |lines: &[Line]| lines.iter().map(line).collect::<Vec<_>>();
    let statements = |listed: &[(String, MemoryKind, String)]| listed.iter().map(known).collect::<Vec<_>>();
    let all_known = [statements(&material.known), statements(&material.near)].concat();
    let things: Vec<String> = material.things.iter().map(|(name, kind)| format!("{name} ({})", kind.as_str())).collect();
    let document = if manner.is_full {
        let parts = json!({
            "project": material.project,
            "session": material.title,
            "day": material.started.map(format_day),
            "topic": material.topic,
            "topic_summary": material.summary,
            "known": all_known,
            "things": things,
            "proposed": statements(&material.proposed),
            "open": statements(&material.open),
            "recent_lines": lines(&material.recent),
            "new_lines": lines(&material.new),
        });
        // Empty parts would be paid for.
        let is_told = |value: &Value| !value.is_null() && value.as_array().is_none_or(|values| !values.is_empty());
        Value::Object(parts.as_object().into_iter().flatten().filter(|(_, value)| is_told(value)).map(pair).collect())
    } else {
        json!({"recent_lines": lines(&material.recent), "new_lines": lines(&material.new)})
    };
    let ends = [material.new.first(), material.new.last()].map(|line| line.map_or(0, |line| line.line));
    let key = format!("{} {} {}-{}", manner.by.name(), material.session, ends[0], ends[1]);
    Prompt {
        system: manner.instructions.to_owned(),
        user: document.to_string(),
        max_tokens: MOST_ANSWER,
        key,
        ..Prompt::default()
    }
}

fn pair((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

const DESCRIPTION: &str = "What is worth keeping in the new lines.";

/// The kinds that a model may give: those of what lasts.
const KINDS: [MemoryKind; 10] = [
    MemoryKind::Decision,
    MemoryKind::Solution,
    MemoryKind::Pattern,
    MemoryKind::Standard,
    MemoryKind::Preference,
    MemoryKind::Fact,
    MemoryKind::Insight,
    MemoryKind::Todo,
    MemoryKind::Question,
    MemoryKind::Problem,
];

/// Returns the form of the answer; kinds that are off are not in it. Every field is required, and some are nullable.
fn form(kinds: &[MemoryKind], is_full: bool) -> Form {
    let kinds: Vec<&str> =
        KINDS.iter().filter(|kind| kinds.is_empty() || kinds.contains(kind)).map(|kind| kind.as_str()).collect();
    let relations: Vec<&str> = RelationType::ALL.iter().map(|relation| relation.as_str()).collect();
    let aspects: Vec<Option<&str>> = Aspect::ALL.iter().map(|aspect| Some(aspect.as_str())).chain([None]).collect();
    if !is_full {
        let item = structured::object(json!({
            "kind": {"type": "string", "enum": kinds},
            "statement": {"type": "string"},
            "line": {"type": "integer"},
            "quote": {"type": "string"},
            "confidence": {"type": "number"},
        }));
        let schema = structured::object(json!({"items": {"type": "array", "items": item}}));
        return Form { name: "distilled", description: DESCRIPTION, schema };
    }
    let text = || json!({"type": "string"});
    let nullable = |kind: &str| json!({"type": [kind, "null"]});
    let field = structured::object(json!({"name": {"type": "string", "enum": FIELD_NAMES}, "text": text()}));
    let state = structured::object(json!({
        "subject": text(),
        "aspect": {"type": ["string", "null"], "enum": aspects},
        "value": text(),
    }));
    let item = structured::object(json!({
        "ref": nullable("string"),
        "kind": {"type": "string", "enum": kinds},
        "statement": text(),
        "line": {"type": "integer"},
        "quote": text(),
        "fields": {"type": "array", "items": field},
        "entities": {"type": "array", "items": text()},
        "confidence": {"type": "number"},
        "closed": nullable("boolean"),
        "state": {"anyOf": [state, {"type": "null"}]},
    }));
    let things: Vec<&str> = EntityKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let entity = structured::object(json!({
        "name": text(),
        "kind": {"type": "string", "enum": things},
        "description": nullable("string"),
        "same_as": nullable("string"),
    }));
    let relation = structured::object(json!({
        "from": {"type": "string"},
        "type": {"type": "string", "enum": relations},
        "to": {"type": "string"},
    }));
    let topic = structured::object(json!({"name": {"type": "string"}, "summary": {"type": "string"}}));
    Form {
        name: "distilled",
        description: DESCRIPTION,
        schema: structured::object(json!({
            "items": {"type": "array", "items": item},
            "entities": {"type": "array", "items": entity},
            "relations": {"type": "array", "items": relation},
            "drop": {"type": "array", "items": text()},
            "topic": topic,
        })),
    }
}
