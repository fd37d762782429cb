//! The parts that the strategies share: calls within the limits of a run, readers side by side, checked quotes, the log.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::{Bound, DeepAnswer, Progress, Stop};
use super::found::{self, Cited, Match, Matches};
use super::lookup::Lookup;
#[cfg(feature = "python")]
use super::lookup::Related;
use super::pieces::{Piece, Pieces};
use super::plan::most_answer;
use super::profile::Profile;
#[cfg(feature = "python")]
use super::trajectory::RELATED;
use super::trajectory::{Begun, LogLine, RECALLED, log_of};
use crate::error::EngineError;
use crate::extraction::FailReason;
#[cfg(feature = "python")]
use crate::llm::Reply;
use crate::llm::structured::{self, Answered};
use crate::llm::{Form, LlmError, Model, Prompt, Run, estimated_tokens};

/// Instructions of readers.
const READ: &str = include_str!("../../prompts/recursion-read-1.md");
/// How often a batch is halved whose answer was cut off or had not the form.
const HALVINGS: u32 = 2;

/// A way to answer.
pub(super) trait Strategy {
    /// Returns the most that it takes, if no call is repeated.
    fn bound(&self, lane: &Lane<'_>) -> Bound;

    /// Answers.
    fn answer(&self, lane: &mut Lane<'_>) -> Outcome;
}

/// The answer of a strategy.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The answer; empty if there is none.
    pub answer: String,
    /// The places that it rests on.
    pub cited: Vec<Cited>,
    /// Why it is not whole.
    pub stop: Option<Stop>,
}

impl Outcome {
    pub fn stopped(stop: Stop) -> Self {
        Self { stop: Some(stop), ..Self::default() }
    }
}

/// A run of a strategy.
pub(super) struct Lane<'r> {
    pub question: &'r str,
    pub today: &'r str,
    pub pieces: &'r Pieces,
    pub profile: &'r Profile,
    pub turns: u32,
    pub run: &'r Run<'r>,
    model: &'r Model,
    lookup: &'r dyn Lookup,
    /// Numbers of the pieces that a model was shown.
    pub read: BTreeSet<usize>,
    /// Quotes and places that no piece has.
    pub refused: usize,
    /// Whole answers of readers, by the digest of what they were asked: nobody is asked the same twice in a run (S1-120, C-108).
    answered: HashMap<blake3::Hash, Matches>,
    log: Vec<LogLine>,
    watch: &'r mut dyn FnMut(&Progress),
}

/// The pieces that readers found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those that count, by number; one for each label.
    pub cited: Vec<(usize, Cited)>,
    /// Those that no reader answered about.
    pub unread: Vec<usize>,
    /// Why not.
    pub stop: Option<Stop>,
}

impl<'r> Lane<'r> {
    pub fn new(
        begun: &'r Begun,
        pieces: &'r Pieces,
        (model, lookup): (&'r Model, &'r dyn Lookup),
        run: &'r Run<'r>,
        watch: &'r mut dyn FnMut(&Progress),
    ) -> Self {
        let Begun { question, today, profile, turns, .. } = begun;
        let (read, answered, log) = (BTreeSet::new(), HashMap::new(), Vec::new());
        Self { question, today, pieces, profile, turns: *turns, run, model, lookup, read, refused: 0, answered, log, watch }
    }

    pub fn list(&self) -> &'r [Piece] {
        &self.pieces.list
    }

    /// Logs a step and tells it.
    pub fn step(&mut self, step: impl Into<String>, detail: Value) {
        let step = step.into();
        let calls = self.run.journal().taken();
        self.log.extend(calls.into_iter().map(LogLine::Call));
        (self.watch)(&Progress { step: step.clone(), spent: self.run.spent() });
        self.log.push(LogLine::Step { step, detail });
    }

    /// Finds the pieces that recall gives for words, best first.
    pub fn recall(&mut self, words: &str) -> Vec<usize> {
        let found = self.lookup.recall(words);
        self.step(RECALLED, json!({"words": words, "pieces": found}));
        found
    }

    /// Finds what a piece is related to.
    #[cfg(feature = "python")]
    pub fn related(&mut self, piece: usize) -> Vec<Related> {
        let found = self.lookup.related(piece);
        self.step(RELATED, json!({"piece": piece, "related": found}));
        found
    }

    /// Asks the model for an answer in a form.
    pub fn ask<T: DeserializeOwned>(&mut self, prompt: &Prompt, form: &Form) -> Result<T, LlmError> {
        let answered = structured::ask(self.model, prompt, form, self.run)?;
        // The rest may say the opposite.
        if answered.is_partial { Err(cut_off()) } else { Ok(answered.value) }
    }

    /// Asks readers which pieces of each batch meet a condition, and for a label of each. A batch whose answer was cut off or has not the
    /// form is asked about in halves, never in the same way again.
    pub fn ask_readers(&mut self, condition: &str, label: &str, batches: Vec<Vec<usize>>) -> Found {
        let mut found = Found::default();
        let (mut wanted, mut waiting) = (batches, 0);
        for halving in 0..=HALVINGS {
            let mut prompts: Vec<Prompt> = wanted.iter().map(|batch| self.reader_prompt(condition, label, batch)).collect();
            let keys: Vec<blake3::Hash> = prompts.iter().map(|prompt| blake3::hash(prompt.user.as_bytes())).collect();
            let known: Vec<Option<Matches>> = keys.iter().map(|key| self.answered.get(key).cloned()).collect();
            let mut is_new = known.iter().map(Option::is_none);
            prompts.retain(|_| is_new.next().unwrap_or(true));
            let mut answers = self.side_by_side(&prompts).into_iter();
            let mut smaller: Vec<Vec<usize>> = Vec::new();
            for ((batch, key), known) in wanted.iter().zip(keys).zip(known) {
                let answer = match known {
                    Some(matches) => Ok((matches, false)),
                    None => answers.next().unwrap_or_else(not_made).map(|answered| (answered.value, answered.is_partial)),
                };
                let error = match answer {
                    Ok((_, true)) if batch.len() > 1 => cut_off(),
                    Ok((matches, is_partial)) => {
                        let (cited, refused) = found::checked(&matches, batch, self.list());
                        if !is_partial {
                            self.answered.insert(key, matches);
                        }
                        self.refused += refused;
                        self.read.extend(batch);
                        found.cited.extend(cited);
                        continue;
                    }
                    Err(error) => error,
                };
                if matches!(error, LlmError::Form(_) | LlmError::CutOff(_)) && batch.len() > 1 && halving < HALVINGS {
                    smaller.extend(batch.chunks(batch.len().div_ceil(2)).map(<[usize]>::to_vec));
                    continue;
                }
                waiting += usize::from(matches!(error, LlmError::Unanswered(_)));
                found.unread.extend(batch);
                found.stop.get_or_insert(self.stop_of(&error));
            }
            wanted = smaller;
            if wanted.is_empty() {
                break;
            }
        }
        found.cited.sort_by_key(|(number, _)| *number);
        if waiting > 0 {
            found.stop = Some(Stop::Waiting(waiting));
        }
        found
    }

    fn reader_prompt(&self, condition: &str, label: &str, batch: &[usize]) -> Prompt {
        let told: Vec<Value> = batch.iter().map(|number| self.list()[*number].told(*number)).collect();
        let user =
            json!({"question": self.question, "counts_if": condition, "label": label, "today": self.today, "pieces": told})
                .to_string();
        Prompt { system: READ.to_owned(), user, max_tokens: most_answer(batch.len()), ..Prompt::default() }
    }

    /// Returns the tokens of a reader's prompt about a batch, estimated, and the most of its answer.
    pub fn reader_tokens(&self, batch: &[usize]) -> [u64; 2] {
        let told: u64 = batch.iter().map(|number| estimated_tokens(&self.list()[*number].told(*number).to_string())).sum();
        [told + estimated_tokens(READ) + estimated_tokens(self.question) + ROOM, u64::from(most_answer(batch.len()))]
    }

    /// Asks several readers at once; the answers come in the order of the prompts, an error for each that has none.
    fn side_by_side(&self, prompts: &[Prompt]) -> Vec<Result<Answered<Matches>, LlmError>> {
        let (model, run, form) = (self.model, self.run, found::form());
        self.at_once(prompts, &|prompt| structured::ask(model, prompt, &form, run))
    }

    fn at_once<T: Send>(
        &self,
        prompts: &[Prompt],
        ask: &(dyn Fn(&Prompt) -> Result<T, LlmError> + Sync),
    ) -> Vec<Result<T, LlmError>> {
        let slots: Vec<Slot<T>> = prompts.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        // A run that is replayed reserves its calls one after the other: those that it did not make keep none from being made.
        let at_once = if self.run.journal().is_replay() { 1 } else { self.profile.at_once };
        std::thread::scope(|scope| {
            for _ in 0..at_once.clamp(1, prompts.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let (Some(prompt), Some(slot)) = (prompts.get(at), slots.get(at)) else { return };
                        let answer = ask(prompt);
                        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
                    }
                });
            }
        });
        slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(not_made)).collect()
    }

    /// Asks several prompts at once for any text; the answers come in their order.
    #[cfg(feature = "python")]
    pub fn complete_each(&self, prompts: &[Prompt]) -> Vec<Result<Reply, LlmError>> {
        let (model, run) = (self.model, self.run);
        self.at_once(prompts, &|prompt| model.complete(prompt, None, run))
    }

    /// Returns the line that begins a turn: how many are left, and of what.
    pub fn header(&self, turn: u32) -> String {
        let (spent, limits) = (self.run.spent(), self.run.limits());
        let left = |most: u64, taken: u64| most.saturating_sub(taken);
        let mut header = format!(
            "Turn {turn} of {}. Left: {} calls, {} tokens.",
            self.turns,
            left(limits.calls, spent.calls),
            left(limits.tokens, spent.input + spent.output)
        );
        if turn == self.turns {
            header.push_str(" This is the last turn: answer now, with what you have.");
        }
        header
    }

    /// Returns why a call ended the run.
    pub fn stop_of(&self, error: &LlmError) -> Stop {
        match (error, self.run.reached()) {
            (LlmError::Budget(_), Some(limit)) => Stop::Limit(limit),
            (LlmError::Unanswered(_), _) => Stop::Waiting(1),
            _ => Stop::Failed(FailReason::from(error).to_string()),
        }
    }

    /// Checks what a model names as evidence, among all pieces that it was shown. Returns what stands.
    pub fn checked(&mut self, evidence: &[Evidence]) -> Vec<Cited> {
        let shown: Vec<usize> = self.read.iter().copied().collect();
        let named = |one: &Evidence| Match { piece: one.piece, label: String::new(), quote: one.quote.clone() };
        let matches = Matches { matches: evidence.iter().map(named).collect() };
        let (cited, refused) = found::checked(&matches, &shown, self.list());
        self.refused += refused;
        cited.into_iter().map(|(_, cited)| cited).collect()
    }

    /// Makes the answer of the run.
    pub fn ended(&mut self, begun: &Begun, bound: Bound, outcome: Outcome) -> DeepAnswer {
        let Outcome { answer, cited, stop } = outcome;
        DeepAnswer {
            run: None,
            answer,
            strategy: Some(begun.strategy),
            why: begun.why.clone(),
            stop,
            cited,
            refused: self.refused,
            pieces: self.pieces.list.len(),
            sessions: self.pieces.sessions(),
            read: self.read.len(),
            left_out: self.pieces.left_out,
            is_cut: self.pieces.is_cut,
            model: Some(self.model.name().to_owned()),
            bound,
            spent: self.run.spent(),
        }
    }

    /// Returns the log of the run as JSON lines.
    pub fn trajectory(&mut self, begun: &Begun, answer: &DeepAnswer) -> Result<String, EngineError> {
        let calls = self.run.journal().taken();
        self.log.extend(calls.into_iter().map(LogLine::Call));
        Ok(log_of(begun, &self.log, answer))
    }
}

fn cut_off() -> LlmError {
    LlmError::CutOff("it was cut off".to_owned())
}

fn not_made<T>() -> Result<T, LlmError> {
    Err(LlmError::Unanswered("the call was not made".to_owned()))
}

/// The place of an answer that is still to come.
type Slot<T> = Mutex<Option<Result<T, LlmError>>>;

/// Tokens of a prompt beside its instructions and pieces.
const ROOM: u64 = 200;

/// Words of a piece that a model names as evidence.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Evidence {
    pub piece: usize,
    #[serde(default)]
    pub quote: String,
}

/// The schema of a list of [`Evidence`].
pub(super) fn evidence_schema() -> Value {
    let one = structured::object(json!({"piece": {"type": "integer"}, "quote": {"type": "string"}}));
    json!({"type": "array", "items": one})
}
