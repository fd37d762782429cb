//! The iterative strategy: the model looks around by itself, one action a turn, and ends with an answer whose evidence stands.
//!
//! The actions are peek, filter, recall, chunk, sub_query, store and answer (S1-106) on named variables; each turn shows what the last action
//! gave (C-091). What a filter finds is again pieces (C-092). Turns are counted here (C-088).

use std::collections::BTreeMap;

use regex::RegexBuilder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yore_core::division::{Group, Occasion, adaptive, by_characters, uniform};

use super::answer::{Bound, Stop};
use super::choice::is_aggregate;
use super::found::{Cited, reduced};
use super::lane::{Evidence, Found, Lane, Outcome, Strategy, evidence_schema};
use super::plan::{self, Operation};
use crate::embed::StaticTable;
use crate::llm::{Class, Exchange, Form, Prompt, structured};

/// Instructions.
const INSTRUCTIONS: &str = include_str!("../../prompts/recursion-act-1.md");
/// Most tokens of an action (S1-106), and of the last one.
const MOST_ACTION: u32 = 2_000;
/// Most characters of what an action shows.
const MOST_SHOWN: usize = 20_000;
/// Characters of these for the line that says that there are more pieces.
const TELLS_MORE: usize = 100;
/// Pieces that a peek shows, where no end is given, characters of each, and those of a text (S1-094).
const PEEKED: usize = 3;
const PEEKED_CHARS: usize = 500;
const PEEKED_TEXT: usize = 1_000;
/// Most bytes of a compiled pattern.
const PATTERN_BYTES: usize = 1 << 20;
/// Most pieces that are divided by meaning.
const MOST_VECTORS: usize = 2_000;
/// Answers without evidence that stands, after which the run ends.
const MOST_REFUSED: u32 = 2;
/// The variable that holds everything.
const CONTEXT: &str = "context";
/// An answer that is shorter and begins like a plan is one.
const PLAN_CHARS: usize = 400;

pub(super) struct Iterative;

/// An action of the model.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Action {
    action: String,
    #[serde(default)]
    variable: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    label: String,
    #[serde(default)]
    from: usize,
    #[serde(default)]
    to: usize,
    #[serde(default)]
    evidence: Vec<Evidence>,
}

/// The value of a variable.
enum Variable {
    Pieces(Vec<usize>),
    Found(Vec<(usize, Cited)>),
    Text(String),
}

impl Strategy for Iterative {
    fn bound(&self, lane: &Lane<'_>) -> Bound {
        // How much it reads is its own choice: the limits are the bound.
        let limits = lane.run.limits();
        Bound { calls: limits.calls, input: limits.tokens, output: limits.tokens, cost_micro: limits.cost_micro }
    }

    fn answer(&self, lane: &mut Lane<'_>) -> Outcome {
        let mut looking = Looking {
            variables: BTreeMap::from([(CONTEXT.to_owned(), Variable::Pieces((0..lane.list().len()).collect()))]),
            best: Outcome::default(),
            refused: 0,
            was_plan: false,
        };
        let mut earlier: Vec<Exchange> = Vec::new();
        let mut shown = looking.state(lane);
        let mut mistake = String::new();
        for turn in 1..=lane.turns {
            let user = format!("{}\n\n{shown}{mistake}", lane.header(turn));
            let prompt = Prompt {
                system: INSTRUCTIONS.to_owned(),
                earlier: earlier.clone(),
                user: user.clone(),
                max_tokens: MOST_ACTION,
                ..Prompt::default()
            };
            let action: Action = match lane.ask(&prompt, &form()) {
                Ok(action) => action,
                Err(error) if error.class() == Class::Validation && turn < lane.turns => {
                    mistake = format!("\n\nYour last message was no action: {error}. Give one action, shorter.");
                    lane.step(format!("turn {turn}: no action"), json!({"error": error.to_string()}));
                    continue;
                }
                Err(error) => return looking.ended(lane.stop_of(&error)),
            };
            let reply = serde_json::to_string(&action).unwrap_or_default();
            let told = looking.act(lane, &action, turn);
            let shown_now = match told {
                Ok(shown) => shown,
                Err(outcome) => {
                    lane.step(format!("turn {turn}: {}", action.action), json!({"action": action}));
                    return *outcome;
                }
            };
            // Without the words: a run holds none but those that models quoted or wrote.
            let detail = json!({"action": action, "shown_characters": shown_now.chars().count()});
            lane.step(format!("turn {turn}: {}", action.action), detail);
            earlier.push(Exchange { user, reply });
            shown = shown_now;
            mistake.clear();
        }
        looking.ended(Stop::Turns)
    }
}

/// The state of a run.
struct Looking {
    variables: BTreeMap<String, Variable>,
    /// The best answer so far: what readers found.
    best: Outcome,
    refused: u32,
    was_plan: bool,
}

impl Looking {
    fn ended(self, stop: Stop) -> Outcome {
        Outcome { stop: Some(stop), ..self.best }
    }

    /// Describes the question and the variables.
    fn state(&self, lane: &Lane<'_>) -> String {
        let list = lane.list();
        let described = |(name, value): (&String, &Variable)| match value {
            Variable::Pieces(pieces) => {
                let bytes: usize = pieces.iter().map(|piece| list[*piece].text.len()).sum();
                format!("- {name}: {} pieces, {bytes} bytes", pieces.len())
            }
            Variable::Found(found) => format!("- {name}: {} pieces that count, with labels and quotes", found.len()),
            Variable::Text(text) => format!("- {name}: text of {} characters", text.chars().count()),
        };
        let variables: Vec<String> = self.variables.iter().map(described).collect();
        let question = json!({"question": lane.question, "today": lane.today});
        format!("{question}\nVariables:\n{}", variables.join("\n"))
    }

    /// Does an action. Returns what it shows, or the outcome of the run.
    fn act(&mut self, lane: &mut Lane<'_>, action: &Action, turn: u32) -> Result<String, Box<Outcome>> {
        let shown = match action.action.as_str() {
            "peek" => self.peek(lane, action),
            "filter" => self.filter(lane, action),
            "recall" => self.recall(lane, action),
            "chunk" => self.chunk(lane, action),
            "sub_query" => return self.sub_query(lane, action),
            "store" => {
                let name = named(action, "note");
                self.variables.insert(name.clone(), Variable::Text(action.text.clone()));
                Ok(format!("Stored as {name}."))
            }
            "answer" => return self.finish(lane, action, turn),
            other => Err(format!("there is no action {other:?}")),
        };
        let shown = shown.unwrap_or_else(|problem| format!("Error: {problem}. {}", self.state(lane)));
        Ok(shown.chars().take(MOST_SHOWN).collect())
    }

    fn pieces_of(&self, name: &str) -> Result<Vec<usize>, String> {
        let name = if name.trim().is_empty() { CONTEXT } else { name.trim() };
        match self.variables.get(name) {
            Some(Variable::Pieces(pieces)) => Ok(pieces.clone()),
            Some(Variable::Found(found)) => Ok(found.iter().map(|(piece, _)| *piece).collect()),
            Some(Variable::Text(_)) => Err(format!("{name} is a text, not pieces")),
            None => Err(format!("there is no variable {name:?}")),
        }
    }

    fn peek(&self, lane: &mut Lane<'_>, action: &Action) -> Result<String, String> {
        if let Some(Variable::Text(text)) = self.variables.get(action.variable.trim()) {
            let to = if action.to > action.from { action.to } else { action.from.saturating_add(PEEKED_TEXT) };
            return Ok(text.chars().skip(action.from).take(to - action.from).collect());
        }
        let pieces = self.pieces_of(&action.variable)?;
        let to = if action.to > action.from { action.to } else { action.from.saturating_add(PEEKED) };
        let chosen: Vec<usize> = pieces.iter().copied().skip(action.from).take(to.saturating_sub(action.from)).collect();
        if chosen.is_empty() {
            return Err(format!("it has {} pieces", pieces.len()));
        }
        // A few pieces are shown whole.
        let chars = if chosen.len() == 1 { MOST_SHOWN } else { (MOST_SHOWN / 2 / chosen.len()).max(PEEKED_CHARS) };
        let mut shown: Vec<String> = Vec::new();
        let mut room = MOST_SHOWN - TELLS_MORE;
        let count = chosen.len();
        for number in chosen {
            let mut short = lane.list()[number].clone();
            if short.text.chars().count() > chars {
                short.text = short.text.chars().take(chars).chain("...".chars()).collect();
            }
            let mut told = short.told(number).to_string();
            // Marks that are escaped make it longer than its words.
            while shown.is_empty() && told.chars().count() > room {
                let length = short.text.chars().count();
                short.text = short.text.chars().take(length * 3 / 4).chain("...".chars()).collect();
                told = short.told(number).to_string();
            }
            let length = told.chars().count();
            if length > room {
                break;
            }
            room -= length;
            lane.read.insert(number);
            shown.push(told);
        }
        let told = shown.len();
        if told < count {
            shown.insert(0, format!("{told} of {count} pieces fit. Peek from {} for more.", action.from + told));
        }
        Ok(shown.join("\n"))
    }

    fn filter(&mut self, lane: &mut Lane<'_>, action: &Action) -> Result<String, String> {
        let pieces = self.pieces_of(&action.variable)?;
        let pattern = RegexBuilder::new(&action.text).case_insensitive(true).size_limit(PATTERN_BYTES).build();
        let pattern = pattern.map_err(|error| format!("the pattern: {error}"))?;
        let found: Vec<usize> = pieces.into_iter().filter(|number| pattern.is_match(&lane.list()[*number].text)).collect();
        let (name, count) = (named(action, "filtered"), found.len());
        self.variables.insert(name.clone(), Variable::Pieces(found));
        let preview = Action { variable: name.clone(), from: 0, to: PEEKED, ..action.clone() };
        let shown = if count == 0 { String::new() } else { self.peek(lane, &preview)? };
        Ok(format!("{name}: {count} pieces. The first:\n{shown}"))
    }

    fn recall(&mut self, lane: &mut Lane<'_>, action: &Action) -> Result<String, String> {
        let found = lane.recall(&action.text);
        let (name, count) = (named(action, "recalled"), found.len());
        self.variables.insert(name.clone(), Variable::Pieces(found));
        let preview = Action { variable: name.clone(), from: 0, to: PEEKED, ..action.clone() };
        let shown = if count == 0 { String::new() } else { self.peek(lane, &preview)? };
        Ok(format!("{name}: {count} pieces, best first. The first:\n{shown}"))
    }

    fn chunk(&mut self, lane: &Lane<'_>, action: &Action) -> Result<String, String> {
        let name = named(action, "chunk");
        let mut lines = Vec::new();
        if let Some(Variable::Text(text)) = self.variables.get(action.variable.trim()) {
            let text = text.clone();
            let parts = by_characters(&text, action.to, action.from).map_err(|error| error.to_string())?;
            for (number, part) in parts.into_iter().enumerate() {
                lines.push(format!("{name}_{number}: {} bytes", part.len()));
                self.variables.insert(format!("{name}_{number}"), Variable::Text(text[part].to_owned()));
            }
            return Ok(lines.join("\n"));
        }
        let pieces = self.pieces_of(&action.variable)?;
        let groups = match action.to {
            0 => self.divided(lane, &pieces, &action.text),
            size => uniform(pieces.len(), size).map_err(|error| error.to_string())?,
        };
        for (number, group) in groups.iter().enumerate() {
            let members: Vec<usize> = group.pieces.iter().map(|at| pieces[*at]).collect();
            let bytes: usize = members.iter().map(|piece| lane.list()[*piece].text.len()).sum();
            let of = group.name.as_ref().map_or(String::new(), |name| format!(" ({name})"));
            lines.push(format!("{name}_{number}{of}: {} pieces, {bytes} bytes", members.len()));
            self.variables.insert(format!("{name}_{number}"), Variable::Pieces(members));
        }
        Ok(lines.join("\n"))
    }

    /// Divides pieces by what the question needs: by session, keywords or meaning, or by number.
    fn divided(&self, lane: &Lane<'_>, pieces: &[usize], keywords: &str) -> Vec<Group> {
        let told: Vec<(&str, &str)> =
            pieces.iter().map(|piece| (&*lane.list()[*piece].session, lane.list()[*piece].text.as_str())).collect();
        let keywords: Vec<&str> = keywords.split([',', ' ']).filter(|word| !word.is_empty()).collect();
        let vectors: Vec<Vec<f32>> = match told.len() <= MOST_VECTORS {
            true => {
                told.iter().map(|(_, text)| StaticTable::vector_of(text).map_or(Vec::new(), |vector| vector.to_vec())).collect()
            }
            false => Vec::new(),
        };
        let is_aggregate = is_aggregate(lane.question);
        adaptive(&told, &Occasion { is_aggregate, is_code: false, keywords: &keywords, vectors: &vectors })
    }

    fn sub_query(&mut self, lane: &mut Lane<'_>, action: &Action) -> Result<String, Box<Outcome>> {
        let pieces = match self.pieces_of(&action.variable) {
            Ok(pieces) => pieces,
            Err(problem) => return Ok(format!("Error: {problem}. {}", self.state(lane))),
        };
        if action.text.trim().is_empty() {
            return Ok("Error: `text` must say when a piece counts.".to_owned());
        }
        let batches = plan::batches(&pieces, lane.list(), lane.profile.batch);
        let Found { cited, unread, stop } = lane.ask_readers(&action.text, &action.label, batches);
        let found: Vec<(usize, Cited)> = cited;
        let only: Vec<Cited> = found.iter().map(|(_, cited)| cited.clone()).collect();
        let counted = reduced(Operation::CountBy, &only).unwrap_or_default();
        let name = named(action, "found");
        let mut shown = format!("{name}: {} pieces count, {} were not read. By label:\n{counted}\n", found.len(), unread.len());
        for (number, cited) in &found {
            let line = json!({"piece": number, "session": cited.session_name, "at": cited.at.map(yore_core::time::format_utc), "label": cited.label, "quote": cited.quote});
            shown.push_str(&format!("{line}\n"));
        }
        // Findings are the best answer until there is one.
        if !only.is_empty() {
            self.best = Outcome { answer: reduced(Operation::List, &only).unwrap_or_default(), cited: only, stop: None };
        }
        self.variables.insert(name, Variable::Found(found));
        match stop {
            Some(stop @ (Stop::Limit(_) | Stop::Waiting(_))) => Err(Box::new(
                std::mem::replace(
                    self,
                    Self { variables: BTreeMap::new(), best: Outcome::default(), refused: 0, was_plan: false },
                )
                .ended(stop),
            )),
            _ => Ok(shown.chars().take(MOST_SHOWN).collect()),
        }
    }

    fn finish(&mut self, lane: &mut Lane<'_>, action: &Action, turn: u32) -> Result<String, Box<Outcome>> {
        let answer = action.text.trim();
        if lane.read.is_empty() && turn < lane.turns {
            return Ok("Error: nothing was read yet. Look at the pieces first.".to_owned());
        }
        if answer.is_empty() && action.evidence.is_empty() {
            // It says that nothing is known.
            return Err(Box::default());
        }
        if is_plan(answer) && !self.was_plan && turn < lane.turns {
            self.was_plan = true;
            return Ok("Error: that is a plan, not an answer. Do it, or answer.".to_owned());
        }
        let cited = lane.checked(&action.evidence);
        if !cited.is_empty() && !answer.is_empty() {
            return Err(Box::new(Outcome { answer: answer.to_owned(), cited, stop: None }));
        }
        self.refused += 1;
        if self.refused > MOST_REFUSED || turn == lane.turns {
            let best = std::mem::take(&mut self.best);
            return Err(Box::new(Outcome { stop: Some(Stop::NoEvidence), ..best }));
        }
        Ok("Error: none of the quotes stands in the piece that is named with it, among those that you were shown. Name pieces by their number, and copy each quote exactly.".to_owned())
    }
}

/// Returns the name under which an action stores what it gives. The context is never replaced.
fn named(action: &Action, default: &str) -> String {
    let name: String = action.name.chars().filter(|letter| letter.is_alphanumeric() || *letter == '_').take(40).collect();
    if name.is_empty() || name == CONTEXT { default.to_owned() } else { name }
}

/// Returns whether an answer only announces what comes next (C-107): a short one that begins so and has no number.
fn is_plan(answer: &str) -> bool {
    let lower = answer.to_lowercase();
    let announces = ["i will", "i'll", "let me", "i am going to", "i'm going to", "next, i", "first, i"];
    answer.chars().count() < PLAN_CHARS
        && announces.iter().any(|words| lower.starts_with(words))
        && !answer.chars().any(|letter| letter.is_ascii_digit())
}

fn form() -> Form {
    let text = json!({"type": "string"});
    let actions: Value = json!({"type": "string", "enum": ["peek", "filter", "recall", "chunk", "sub_query", "store", "answer"]});
    let number = json!({"type": "integer"});
    let schema = structured::object(json!({
        "action": actions, "variable": text, "name": text, "text": text, "label": text, "from": number, "to": number,
        "evidence": evidence_schema(),
    }));
    Form { name: "action", description: "The next action.", schema }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_told_from_an_answer() {
        for plan in ["I will filter for redis first.", "Let me look at the sessions"] {
            assert!(is_plan(plan), "{plan}");
        }
        for answer in ["We decided that I will be asked first.", "Let me-go was removed in 2024.", "17", ""] {
            assert!(!is_plan(answer), "{answer}");
        }
    }
}
