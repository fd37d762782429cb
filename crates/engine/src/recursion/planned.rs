//! The planned strategy: a model says what counts, readers look at each batch alone, and a program puts together what they find.
//!
//! Split, map, filter and reduce with a cost that is known beforehand (λ-RLM, arXiv 2603.20105): the most by what is to be read, less
//! where words of the plan leave pieces out.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Bound, Stop};
use super::found::{Cited, as_evidence, reduced, reduced_by_session};
use super::lane::{Found, Lane, Outcome, Strategy};
use super::plan::{self, Operation, Plan};
use crate::llm::{Form, LlmError, Prompt, estimated_tokens, structured};

/// Instructions for the plan, for labels that mean the same, and for the sentences.
const PLAN: &str = include_str!("../../prompts/recursion-plan-1.md");
const MERGE: &str = include_str!("../../prompts/recursion-merge-1.md");
const WRITE: &str = include_str!("../../prompts/recursion-write-1.md");
/// Most tokens of a plan and of the sentences.
const MOST_PLAN: u32 = 1_000;
const MOST_WRITTEN: u32 = 2_000;
/// Pieces of the archive that the plan is shown, and characters of each.
const SAMPLE: usize = 4;
const SAMPLE_CHARS: usize = 300;
/// Least and most labels that are put together: fewer are the alternatives of the plan.
const LEAST_LABELS: usize = 4;
const MOST_LABELS: usize = 300;
/// Most found pieces that the sentences are written from.
const MOST_EVIDENCE: usize = 200;

pub(super) struct Planned;

/// Sentences, with the numbers of their evidence.
#[derive(Debug, Deserialize)]
struct Written {
    is_known: bool,
    #[serde(default)]
    answer: String,
    #[serde(default)]
    sources: Vec<usize>,
}

/// Labels that mean the same.
#[derive(Debug, Deserialize)]
struct Merged {
    #[serde(default)]
    groups: Vec<LabelGroup>,
}

#[derive(Debug, Deserialize)]
struct LabelGroup {
    members: Vec<usize>,
}

impl Strategy for Planned {
    fn bound(&self, lane: &Lane<'_>) -> Bound {
        let reading = plan::reading(&[], lane.list(), lane.profile.batch);
        let read = reading.batches.iter().map(|batch| lane.reader_tokens(batch));
        let (input, output) = read.fold((0, 0), |(input, output), [more, most]| (input + more, output + most));
        let asked = estimated_tokens(lane.question);
        let planned = estimated_tokens(&plan_prompt(lane).user) + estimated_tokens(PLAN);
        // A condition and a label of a plan are at most as long as the plan.
        let input = input + reading.batches.len() as u64 * u64::from(MOST_PLAN) + planned;
        // Labels are put together, or sentences are written.
        let written = asked + estimated_tokens(WRITE) + (MOST_EVIDENCE * EVIDENCE_TOKENS) as u64;
        let (input, output) = (input + written, output + u64::from(MOST_PLAN + MOST_WRITTEN));
        Bound { calls: reading.batches.len() as u64 + 2, input, output, cost_micro: lane.run.cost(input, output) }
    }

    fn answer(&self, lane: &mut Lane<'_>) -> Outcome {
        let planned = lane.ask::<Plan>(&plan_prompt(lane), &plan::form());
        let plan = match planned {
            Ok(plan) if !plan.condition.trim().is_empty() => plan,
            Ok(_) => Plan::plain(lane.question),
            // A model that makes no plan may still read.
            Err(error) if error.class() == crate::llm::Class::Validation => Plan::plain(lane.question),
            Err(error) => return Outcome::stopped(lane.stop_of(&error)),
        };
        let plan::Reading { batches, filtered } = plan::reading(&plan.keywords, lane.list(), lane.profile.batch);
        lane.step(
            format!("plan: {} of {}, in {} batches", plan.operation.told(), lane.list().len() - filtered, batches.len()),
            json!({"plan": plan, "filtered": filtered}),
        );
        let is_divided = batches.len() > 1;
        let Found { cited, unread, stop } = lane.ask_readers(&plan.condition, &plan.label, batches);
        let mut cited: Vec<Cited> = cited.into_iter().map(|(_, cited)| cited).collect();
        lane.step(
            format!("read: {} pieces count, {} were not read", cited.len(), unread.len()),
            json!({"found": cited.len(), "unread": unread.len()}),
        );
        let stop = stop.or((!unread.is_empty()).then_some(Stop::Unread(unread.len())));
        let has_labels = matches!(plan.operation, Operation::CountBy | Operation::List | Operation::Pairs);
        if is_divided
            && has_labels
            && let Some(stop) = self.merge_labels(lane, &plan.label, &mut cited)
        {
            return Outcome::stopped(stop);
        }
        if let Some(stop @ Stop::Waiting(_)) = stop {
            return Outcome::stopped(stop);
        }
        let reduced = if plan.by_session { reduced_by_session } else { reduced }(plan.operation, &cited);
        if let Some(answer) = reduced {
            // Nothing was read: zero would be an invention.
            return if lane.read.is_empty() { Outcome { stop, ..Outcome::default() } } else { Outcome { answer, cited, stop } };
        }
        if cited.is_empty() {
            return Outcome { stop, ..Outcome::default() };
        }
        self.write(lane, cited, stop)
    }
}

impl Planned {
    /// Has the model say which labels of different readers mean the same. If it fails, they stay; if it answers later, so does the run.
    fn merge_labels(&self, lane: &mut Lane<'_>, label: &str, cited: &mut [Cited]) -> Option<Stop> {
        let mut labels: Vec<String> =
            cited.iter().map(|cited| cited.label.to_lowercase()).filter(|label| !label.is_empty()).collect();
        labels.sort();
        labels.dedup();
        if !(LEAST_LABELS..=MOST_LABELS).contains(&labels.len()) {
            return None;
        }
        let listed: Vec<Value> =
            labels.iter().enumerate().map(|(number, label)| json!({"number": number, "label": label})).collect();
        let user = json!({"label_of": label, "labels": listed}).to_string();
        let prompt = Prompt { system: MERGE.to_owned(), user, max_tokens: MOST_WRITTEN, ..Prompt::default() };
        let merged = match lane.ask::<Merged>(&prompt, &merge_form()) {
            Ok(merged) => merged,
            Err(error @ LlmError::Unanswered(_)) => return Some(lane.stop_of(&error)),
            Err(_) => return None,
        };
        let mut name_of: Vec<Option<usize>> = vec![None; labels.len()];
        for group in &merged.groups {
            // A label that is in two groups stays in the first.
            let fresh: Vec<usize> =
                group.members.iter().copied().filter(|member| name_of.get(*member).is_some_and(Option::is_none)).collect();
            for member in &fresh {
                name_of[*member] = Some(fresh[0]);
            }
        }
        for cited in cited.iter_mut() {
            let at = labels.binary_search(&cited.label.to_lowercase()).ok();
            if let Some(name) = at.and_then(|at| name_of[at]).filter(|name| Some(*name) != at) {
                cited.label.clone_from(&labels[name]);
            }
        }
        lane.step("put equal labels together", json!({"groups": merged.groups.len()}));
        None
    }

    fn write(&self, lane: &mut Lane<'_>, cited: Vec<Cited>, stop: Option<Stop>) -> Outcome {
        let told = &cited[..cited.len().min(MOST_EVIDENCE)];
        let user = json!({"question": lane.question, "today": lane.today, "evidence": as_evidence(told)}).to_string();
        let prompt = Prompt { system: WRITE.to_owned(), user, max_tokens: MOST_WRITTEN, ..Prompt::default() };
        let written: Written = match lane.ask(&prompt, &write_form()) {
            Ok(written) => written,
            // Findings are better than nothing.
            Err(error) => {
                let stop = Some(lane.stop_of(&error));
                return Outcome { answer: reduced(Operation::List, &cited).unwrap_or_default(), cited, stop };
            }
        };
        let known: Vec<_> = written.sources.iter().filter_map(|number| told.get(number.checked_sub(1)?)).cloned().collect();
        lane.step("wrote the answer", json!({"known": written.is_known, "sources": known.len()}));
        match (written.is_known, known.is_empty()) {
            (false, _) => Outcome { stop, ..Outcome::default() },
            (true, true) => {
                Outcome { answer: reduced(Operation::List, &cited).unwrap_or_default(), cited, stop: Some(Stop::NoEvidence) }
            }
            (true, false) => Outcome { answer: written.answer.trim().to_owned(), cited: known, stop },
        }
    }
}

/// Tokens of a found piece as it is told to whoever writes, at most: its quote, label and time.
const EVIDENCE_TOKENS: usize = 220;

fn plan_prompt(lane: &Lane<'_>) -> Prompt {
    let list = lane.list();
    let step = (list.len() / SAMPLE).max(1);
    let sample: Vec<Value> = list
        .iter()
        .enumerate()
        .step_by(step)
        .take(SAMPLE)
        .map(|(number, piece)| {
            let mut short = piece.clone();
            short.text = piece.text.chars().take(SAMPLE_CHARS).collect();
            short.told(number)
        })
        .collect();
    let times = || list.iter().filter_map(|piece| piece.at);
    let day = |at: Option<i64>| at.map(yore_core::time::format_day);
    let archive = json!({
        "pieces": list.len(),
        "sessions": lane.pieces.sessions(),
        "bytes": lane.pieces.bytes(),
        "from": day(times().min()),
        "to": day(times().max()),
        "examples": sample,
    });
    let user = json!({"question": lane.question, "today": lane.today, "archive": archive}).to_string();
    Prompt { system: PLAN.to_owned(), user, max_tokens: MOST_PLAN, ..Prompt::default() }
}

fn merge_form() -> Form {
    let members = json!({"type": "array", "items": {"type": "integer"}});
    let group = structured::object(json!({"members": members}));
    let schema = structured::object(json!({"groups": {"type": "array", "items": group}}));
    Form { name: "groups", description: "The labels that mean the same thing, by their numbers.", schema }
}

fn write_form() -> Form {
    let numbers = json!({"type": "array", "items": {"type": "integer"}});
    let schema = structured::object(json!({"is_known": {"type": "boolean"}, "answer": {"type": "string"}, "sources": numbers}));
    Form { name: "answer", description: "The answer, with the numbers of its evidence.", schema }
}
