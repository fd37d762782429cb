//! The code strategy: the model writes Python that looks around and asks readers; a child process runs it.
//!
//! The method is that of recursive language models (Zhang, Kraska, Khattab 2025, arXiv 2512.24601): the pieces are a variable, only what
//! a cell prints comes back, and an answer is ready when the model says so in `answer`. Calls, tokens and money are counted here, and a
//! cell that asks for more than is left ends.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use yore_sandbox::{CellOutcome, ErrorKind, Host, Limits, Refusal, Session, guide};

use super::answer::{Bound, Stop};
use super::found::{Cited, reduced};
use super::lane::{Evidence, Lane, Outcome, Strategy};
use super::lookup::Related;
use super::plan::{self, Operation};
use crate::llm::{Class, Exchange, Form, LlmError, Prompt, structured};

/// Argument by which the program serves as the child.
pub const WORKER: &str = "script-worker";
/// Instructions.
const INSTRUCTIONS: &str = include_str!("../../prompts/recursion-code-1.md");
/// Instructions of `llm_query`.
const SUB: &str = include_str!("../../prompts/recursion-sub-1.md");
/// Most tokens of a cell, and of the answer to a sub-question (S1-097).
const MOST_CELL: u32 = 3_000;
const MOST_SUB: u32 = 2_000;
/// Functions that are answered here.
const FUNCTIONS: [&str; 7] = ["llm_query", "llm_query_batched", "rlm_query", "recall", "expand", "trace", "cite"];
/// Children that may end before the run does.
const MOST_CHILDREN: u32 = 3;
/// Answers without evidence that stands, after which the run ends.
const MOST_REFUSED: u32 = 2;

pub(super) struct Code<'p> {
    /// The program that serves as the child with [`WORKER`] as its argument.
    pub program: &'p Path,
}

/// A cell of the model.
#[derive(Debug, Deserialize)]
struct Cell {
    code: String,
}

impl Strategy for Code<'_> {
    fn bound(&self, lane: &Lane<'_>) -> Bound {
        // How much it reads is its own choice: the limits are the bound.
        let limits = lane.run.limits();
        Bound { calls: limits.calls, input: limits.tokens, output: limits.tokens, cost_micro: limits.cost_micro }
    }

    fn answer(&self, lane: &mut Lane<'_>) -> Outcome {
        let mut session = match self.start(lane) {
            Ok(session) => session,
            Err(reason) => return Outcome::stopped(Stop::Failed(reason)),
        };
        let mut bridge = Bridge { lane, cited: Vec::new(), found: Vec::new(), known: HashMap::new(), stop: None };
        let system = format!("{INSTRUCTIONS}\n{}", guide::paragraph());
        let mut earlier: Vec<Exchange> = Vec::new();
        let mut shown = bridge.state();
        let mut mistake = String::new();
        let (mut children, mut refused) = (1, 0);
        for turn in 1..=bridge.lane.turns {
            let user = format!("{}\n\n{shown}{mistake}", bridge.header(turn));
            let prompt = Prompt {
                system: system.clone(),
                earlier: earlier.clone(),
                user: user.clone(),
                max_tokens: MOST_CELL,
                ..Prompt::default()
            };
            let cell: Cell = match bridge.lane.ask(&prompt, &form()) {
                Ok(cell) => cell,
                Err(error) if error.class() == Class::Validation && turn < bridge.lane.turns => {
                    mistake = format!("\n\nYour last message was no cell: {error}. Give a shorter one.");
                    bridge.lane.step(format!("turn {turn}: no cell"), json!({"error": error.to_string()}));
                    continue;
                }
                Err(error) => {
                    let stop = bridge.lane.stop_of(&error);
                    return bridge.ended(stop);
                }
            };
            let outcome = session.run(&cell.code, &mut bridge);
            if let Some(stop) = bridge.stop.take() {
                bridge.lane.step(format!("turn {turn}: a cell"), json!({"cell": cell.code}));
                return bridge.ended(stop);
            }
            let told = match &outcome {
                Ok(outcome) => told(outcome),
                Err(error) => {
                    bridge.lane.step(format!("turn {turn}: a cell"), json!({"cell": cell.code, "error": error.to_string()}));
                    children += 1;
                    if children > MOST_CHILDREN {
                        return bridge.ended(Stop::Failed(error.to_string()));
                    }
                    session = match self.start(bridge.lane) {
                        Ok(session) => session,
                        Err(reason) => return bridge.ended(Stop::Failed(reason)),
                    };
                    format!("Error: {error}. A new one was started: your variables are gone.")
                }
            };
            let answer = session.value("answer").ok().flatten().unwrap_or_default();
            bridge
                .lane
                .step(format!("turn {turn}: a cell"), json!({"cell": cell.code, "shown_characters": told.chars().count()}));
            let is_ready = answer["ready"] == true && turn > 1;
            let content = answer["content"].as_str().unwrap_or_default().trim().to_owned();
            if is_ready && content.is_empty() {
                return Outcome::default();
            }
            if is_ready && !bridge.cited.is_empty() {
                return Outcome { answer: content, cited: bridge.cited, stop: None };
            }
            earlier.push(Exchange { user, reply: json!({"code": cell.code}).to_string() });
            shown = told;
            mistake.clear();
            if answer["ready"] == true {
                refused += 1;
                if refused > MOST_REFUSED {
                    return bridge.ended(Stop::NoEvidence);
                }
                shown.push_str(match turn {
                    1 => "\nNot ended: look at the pieces before you answer.",
                    _ => "\nNot ended: no words that you cited stand in their pieces. Cite at least one, then set answer[\"ready\"] again.",
                });
                let _ = session.define_json("answer", json!({"content": content, "ready": false}), false);
            }
        }
        bridge.ended(Stop::Turns)
    }
}

impl Code<'_> {
    fn start(&self, lane: &Lane<'_>) -> Result<Session, String> {
        let limits = Limits::default();
        let cell = limits.cell.min(lane.run.left().max(Duration::from_secs(1)));
        let start = || {
            let mut session = Session::start(self.program, &[WORKER], Limits { cell, ..limits.clone() })?;
            let texts: Vec<String> = lane.list().iter().enumerate().map(|(number, piece)| piece.headed(number)).collect();
            session.define_list("context", &texts.iter().map(String::as_str).collect::<Vec<_>>())?;
            session.define_json("history", json!([]), false)?;
            session.define_json("answer", json!({"content": "", "ready": false}), false)?;
            session.functions(&FUNCTIONS)?;
            Ok::<Session, yore_sandbox::SandboxError>(session)
        };
        start().map_err(|error| error.to_string())
    }
}

/// Returns what a cell gave, as the model is told.
fn told(outcome: &CellOutcome) -> String {
    let mut told = outcome.output.clone();
    if outcome.dropped > 0 {
        told.push_str(&format!("\n[{} more characters were cut]", outcome.dropped));
    }
    if let Some(error) = &outcome.error {
        let line = error.line.map_or(String::new(), |line| format!(" (line {line})"));
        let kind = match error.kind {
            ErrorKind::Unsupported => "This Python lacks it",
            ErrorKind::Syntax => "It is no Python",
            ErrorKind::Exception => "Exception",
            ErrorKind::Limit => "A limit was reached",
        };
        told.push_str(&format!("\n{kind}{line}: {}", error.text));
    }
    if told.trim().is_empty() { "(nothing was printed)".to_owned() } else { told }
}

/// Answers the calls of cells.
struct Bridge<'l, 'r> {
    lane: &'l mut Lane<'r>,
    /// Words that were cited and stand in their pieces.
    cited: Vec<Cited>,
    /// The findings of the last readers.
    found: Vec<Cited>,
    /// Answers to sub-questions: the same is asked once.
    known: HashMap<String, String>,
    /// Set when the run cannot go on.
    stop: Option<Stop>,
}

impl Bridge<'_, '_> {
    /// Makes the outcome of a run that did not end by itself: what readers found is better than nothing.
    fn ended(self, stop: Stop) -> Outcome {
        let Bridge { cited, found, .. } = self;
        let cited = if found.is_empty() { cited } else { found };
        let answer = reduced(Operation::List, &cited).unwrap_or_default();
        Outcome { answer, cited, stop: Some(stop) }
    }

    fn state(&self) -> String {
        let question = json!({"question": self.lane.question, "today": self.lane.today});
        format!(
            "{question}\n`context` is a list of {} texts, one for each piece, {} bytes together, of {} sessions.",
            self.lane.list().len(),
            self.lane.pieces.bytes(),
            self.lane.pieces.sessions()
        )
    }

    fn header(&self, turn: u32) -> String {
        self.lane.header(turn)
    }

    fn sub_prompt(args: &[Value]) -> Result<Prompt, Refusal> {
        let text = |at: usize| args.get(at).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let request = text(0).filter(|text| !text.trim().is_empty()).ok_or_else(|| "llm_query needs a prompt".to_owned())?;
        let user = match text(1) {
            Some(data) => json!({"request": request, "data": data}).to_string(),
            None => json!({"request": request}).to_string(),
        };
        Ok(Prompt { system: SUB.to_owned(), user, max_tokens: MOST_SUB, ..Prompt::default() })
    }

    /// Asks several sub-questions; an error of one stands in its place.
    fn sub_queries(&mut self, prompts: &[Prompt]) -> Result<Vec<String>, Refusal> {
        let mut fresh: Vec<Prompt> = Vec::new();
        for prompt in prompts {
            if !self.known.contains_key(&prompt.user) && !fresh.contains(prompt) {
                fresh.push(prompt.clone());
            }
        }
        let answers = self.lane.complete_each(&fresh);
        let mut failed: HashMap<&str, String> = HashMap::new();
        for (prompt, answer) in fresh.iter().zip(answers) {
            let problem = match answer {
                Ok(reply) if reply.is_cut => "the answer was cut off: ask for less at once".to_owned(),
                Ok(reply) if reply.text.trim().is_empty() => "the answer was empty".to_owned(),
                Ok(reply) => {
                    self.known.insert(prompt.user.clone(), reply.text);
                    continue;
                }
                Err(error @ (LlmError::Budget(_) | LlmError::Unanswered(_))) => return Err(self.stopped(&error)),
                Err(error) => error.to_string(),
            };
            failed.insert(&prompt.user, problem);
        }
        let one = |prompt: &Prompt| match (self.known.get(&prompt.user), failed.get(prompt.user.as_str())) {
            (Some(answer), _) => answer.clone(),
            (None, Some(error)) => format!("Error: {error}"),
            (None, None) => "Error: it was not asked".to_owned(),
        };
        Ok(prompts.iter().map(one).collect())
    }

    fn stopped(&mut self, error: &LlmError) -> Refusal {
        self.stop = Some(self.lane.stop_of(error));
        Refusal::Stop(error.to_string())
    }

    /// Has readers look at pieces: condition, numbers of pieces (all, without), label.
    fn readers(&mut self, args: &[Value]) -> Result<Value, Refusal> {
        let condition = args.first().and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let condition = condition.ok_or_else(|| "rlm_query needs a condition: when does a piece count?".to_owned())?;
        let all = self.lane.list().len();
        let numbers: Vec<usize> = match args.get(1) {
            None | Some(Value::Null) => (0..all).collect(),
            Some(Value::Array(numbers)) => {
                let mut numbers: Vec<usize> = numbers
                    .iter()
                    .filter_map(|number| number.as_u64().map(|number| number as usize))
                    .filter(|number| *number < all)
                    .collect();
                numbers.sort_unstable();
                numbers.dedup();
                numbers
            }
            Some(_) => return Err("rlm_query takes a list of numbers of pieces".to_owned().into()),
        };
        let label = args.get(2).and_then(Value::as_str).unwrap_or_default();
        let batches = plan::batches(&numbers, self.lane.list(), self.lane.profile.batch);
        let found = self.lane.ask_readers(condition, label, batches);
        self.found = found.cited.iter().map(|(_, cited)| cited.clone()).collect();
        if let Some(stop @ (Stop::Limit(_) | Stop::Waiting(_))) = found.stop {
            self.stop = Some(stop);
            return Err(Refusal::Stop("a limit of the run is reached".to_owned()));
        }
        let one = |(number, cited): &(usize, Cited)| json!({"piece": number, "label": cited.label, "quote": cited.quote});
        Ok(found.cited.iter().map(one).collect())
    }

    fn related(&mut self, function: &str, args: &[Value]) -> Result<Vec<Related>, Refusal> {
        match args.first().and_then(Value::as_u64) {
            Some(piece) => Ok(self.lane.related(piece as usize)),
            None => Err(format!("{function}(piece) takes the number of a piece").into()),
        }
    }

    fn cite(&mut self, args: &[Value]) -> Result<Value, Refusal> {
        let (Some(piece), Some(quote)) = (args.first().and_then(Value::as_u64), args.get(1).and_then(Value::as_str)) else {
            return Err("cite(piece, quote) takes the number of a piece and words of it".to_owned().into());
        };
        let piece = piece as usize;
        if piece < self.lane.list().len() {
            // Its program has the words of every piece.
            self.lane.read.insert(piece);
        }
        let cited = self.lane.checked(&[Evidence { piece, quote: quote.to_owned() }]);
        let stands = !cited.is_empty();
        self.cited.extend(cited);
        Ok(stands.into())
    }
}

impl Host for Bridge<'_, '_> {
    fn call(&mut self, name: &str, mut args: Vec<Value>, kwargs: Vec<(String, Value)>) -> Result<Value, Refusal> {
        args.extend(kwargs.into_iter().map(|(_, value)| value));
        match name {
            "llm_query" => Ok(self.sub_queries(&[Self::sub_prompt(&args)?])?.remove(0).into()),
            "llm_query_batched" => {
                let Some(Value::Array(prompts)) = args.first() else {
                    return Err("llm_query_batched takes a list of prompts".to_owned().into());
                };
                let prompts = prompts.iter().map(|prompt| Self::sub_prompt(std::slice::from_ref(prompt)));
                let prompts = prompts.collect::<Result<Vec<Prompt>, Refusal>>()?;
                Ok(self.sub_queries(&prompts)?.into())
            }
            "rlm_query" => self.readers(&args),
            "recall" => match args.first().and_then(Value::as_str).filter(|words| !words.trim().is_empty()) {
                Some(words) => Ok(self.lane.recall(words).into()),
                None => Err("recall takes words".to_owned().into()),
            },
            "expand" => {
                let mut pieces: Vec<usize> = self.related(name, &args)?.into_iter().filter_map(|one| one.piece).collect();
                pieces.sort_unstable();
                pieces.dedup();
                Ok(pieces.into())
            }
            "trace" => {
                let one =
                    |one: &Related| json!({"relation": one.relation, "what": one.what, "text": one.text, "piece": one.piece});
                Ok(self.related(name, &args)?.iter().map(one).collect())
            }
            "cite" => self.cite(&args),
            other => Err(format!("there is no function {other}").into()),
        }
    }
}

fn form() -> Form {
    let schema = structured::object(json!({"code": {"type": "string"}}));
    Form { name: "cell", description: "The next Python cell.", schema }
}
