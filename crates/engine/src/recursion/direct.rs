//! The strategy for what fits into one prompt: all pieces at once.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Bound, Stop};
use super::lane::{Evidence, Lane, Outcome, Strategy, evidence_schema};
use super::planned::Planned;
use crate::llm::{Class, Form, Prompt, estimated_tokens, structured};

/// Instructions.
const INSTRUCTIONS: &str = include_str!("../../prompts/recursion-direct-1.md");
/// Most tokens of the answer.
const MOST_ANSWER: u32 = 4_000;
/// Times that it is asked.
const TRIES: u64 = 2;

pub(super) struct Direct;

/// An answer of the model.
#[derive(Debug, Deserialize)]
struct Answered {
    is_known: bool,
    #[serde(default)]
    answer: String,
    #[serde(default)]
    evidence: Vec<Evidence>,
}

impl Strategy for Direct {
    fn bound(&self, lane: &Lane<'_>) -> Bound {
        let prompt = prompt(lane, None);
        // Once more, if its evidence does not stand.
        let (input, output) =
            (TRIES * estimated_tokens(&prompt.user) + TRIES * estimated_tokens(INSTRUCTIONS), TRIES * u64::from(MOST_ANSWER));
        Bound { calls: TRIES, input, output, cost_micro: lane.run.cost(input, output) }
    }

    fn answer(&self, lane: &mut Lane<'_>) -> Outcome {
        let mut told = None;
        for _ in 0..TRIES {
            let prompt = prompt(lane, told);
            let answered: Answered = match lane.ask(&prompt, &form()) {
                Ok(answered) => answered,
                // It could not say it at once: readers say it in parts.
                Err(error) if error.class() == Class::Validation => return Planned.answer(lane),
                Err(error) => return Outcome::stopped(lane.stop_of(&error)),
            };
            lane.read.extend(0..lane.list().len());
            let cited = lane.checked(&answered.evidence);
            lane.step("read everything in one prompt", json!({"known": answered.is_known, "evidence": cited.len()}));
            if !answered.is_known {
                return Outcome::default();
            }
            if !cited.is_empty() && !answered.answer.trim().is_empty() {
                return Outcome { answer: answered.answer.trim().to_owned(), cited, stop: None };
            }
            told = Some("None of the quotes that you gave stands in the piece that you named. Copy each exactly.");
        }
        Outcome::stopped(Stop::NoEvidence)
    }
}

fn prompt(lane: &Lane<'_>, told: Option<&str>) -> Prompt {
    let pieces: Vec<Value> = lane.list().iter().enumerate().map(|(number, piece)| piece.told(number)).collect();
    let mut user = json!({"question": lane.question, "today": lane.today, "pieces": pieces}).to_string();
    if let Some(told) = told {
        user.push_str("\n\n");
        user.push_str(told);
    }
    Prompt { system: INSTRUCTIONS.to_owned(), user, max_tokens: MOST_ANSWER, ..Prompt::default() }
}

fn form() -> Form {
    let text = json!({"type": "string"});
    let schema = structured::object(json!({"is_known": {"type": "boolean"}, "answer": text, "evidence": evidence_schema()}));
    Form { name: "answer", description: "The answer, with the words that it rests on.", schema }
}
