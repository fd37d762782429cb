//! Measures what hooks would inject: for questions as prompts, and for prompts that need no memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use yore_core::metrics;
use yore_core::query::Filter;
use yore_core::scope::ScopeChoice;
use yore_core::time::UtcMillis;
use yore_engine::{Engine, Hit, SuggestRequest, Trigger};

use super::questions::GoldQuestion;
use crate::config::Config;
use crate::error::{CliError, CliResult};
use crate::inject::budget::tokens;
use crate::inject::plan::Occasion;
use crate::inject::question::suggest_request;
use crate::inject::text;
use crate::results::{EverydayPrompts, Injected};

/// The result of the measurement.
#[derive(Default)]
pub struct Unasked {
    /// Questions with gold, and how many of them were given anything.
    pub questions: usize,
    pub answered: usize,
    /// Mean share of the evidence that was given.
    pub evidence: f64,
    /// The same, with what is named by its id alone.
    pub evidence_named: f64,
    /// Number of questions for which any evidence was given.
    pub with_evidence: usize,
    /// Everyday prompts by corpus: their number, and how many were given anything.
    pub everyday: BTreeMap<String, (usize, usize)>,
    /// The everyday prompts that were given anything.
    pub loud: Vec<String>,
    /// Tokens given for each question that was given anything.
    pub tokens: Vec<usize>,
    /// Text given for each question, by its id.
    pub texts: Vec<(String, String)>,
}

/// Tries every question with gold, and every line of a file in each corpus.
pub fn measure(engine: &Engine, asked: &[GoldQuestion], everyday: &Path, config: &Config) -> CliResult<Unasked> {
    let lines = std::fs::read_to_string(everyday).map_err(|error| CliError::io(everyday, &error))?;
    let mut outcome = Unasked::default();
    let corpora: BTreeSet<&str> = asked.iter().map(|question| question.corpus.as_str()).collect();
    for question in asked.iter().filter(|question| !question.gold.is_empty()) {
        let request = request(&question.text, &question.corpus, question.as_of, config);
        let given = given(engine, &request, config)?;
        let ranked: Vec<&str> = given.0.iter().map(String::as_str).collect();
        let wanted: Vec<Vec<&str>> = if question.groups.is_empty() {
            vec![question.gold.iter().map(String::as_str).collect()]
        } else {
            question.groups.iter().map(|group| group.iter().map(String::as_str).collect()).collect()
        };
        let found = metrics::evidence_recall(&ranked, &wanted, ranked.len().max(1));
        let named: Vec<&str> = given.2.iter().map(String::as_str).collect();
        outcome.evidence_named += metrics::evidence_recall(&named, &wanted, named.len().max(1));
        outcome.questions += 1;
        outcome.answered += usize::from(!ranked.is_empty());
        outcome.with_evidence += usize::from(found > 0.0);
        outcome.evidence += found;
        let count = tokens(&given.1);
        outcome.tokens.extend((count > 0).then_some(count));
        outcome.texts.push((question.id.clone(), given.1));
    }
    outcome.evidence /= outcome.questions.max(1) as f64;
    outcome.evidence_named /= outcome.questions.max(1) as f64;
    for corpus in corpora {
        for prompt in lines.lines().filter(|line| !line.trim().is_empty()) {
            let (ranked, ..) = given(engine, &request(prompt, corpus, None, config), config)?;
            let count = outcome.everyday.entry(corpus.to_owned()).or_default();
            count.0 += 1;
            if !ranked.is_empty() {
                count.1 += 1;
                outcome.loud.push(format!("{corpus}: {prompt}"));
            }
        }
    }
    outcome.tokens.sort_unstable();
    Ok(outcome)
}

fn request(prompt: &str, corpus: &str, as_of: Option<UtcMillis>, config: &Config) -> SuggestRequest {
    let request = suggest_request(Trigger::Prompt(prompt.to_owned()), Occasion::FirstPrompt.allowance(&config.inject));
    let filter = Filter { scope: ScopeChoice::Projects(vec![corpus.to_owned()]), as_of, ..Filter::default() };
    SuggestRequest { filter, ..request }
}

/// Returns the agents' own ids of the turns whose words are given, the text, and their ids with those that are named only.
fn given(engine: &Engine, request: &SuggestRequest, config: &Config) -> CliResult<(Vec<String>, String, Vec<String>)> {
    let suggestions = engine.suggest(request)?;
    let given = text::suggestions(&suggestions, &request.trigger, config.inject.prompt_tokens);
    let ids = |is_told: &dyn Fn(&Hit) -> bool| {
        let told = suggestions.memories.iter().filter(|memory| is_told(&memory.hit));
        told.filter_map(|memory| Some(memory.hit.place.as_ref()?.native_message.clone())).collect()
    };
    let told = ids(&|hit| given.items.contains(&hit.id()));
    let named = ids(&|hit| given.text.contains(&hit.id().short()));
    Ok((told, given.text, named))
}

impl Unasked {
    pub fn result(&self) -> Injected {
        let everyday = |(corpus, (prompts, given)): (&String, &(usize, usize))| {
            (corpus.clone(), EverydayPrompts { prompts: *prompts, given: *given })
        };
        Injected {
            questions: self.questions,
            answered: self.answered,
            with_evidence: self.with_evidence,
            evidence_recall: self.evidence,
            evidence_recall_named: self.evidence_named,
            everyday: self.everyday.iter().map(everyday).collect(),
            given_to: self.loud.clone(),
            tokens_p50: self.tokens_at(0.5),
            tokens_max: self.tokens_at(1.0),
        }
    }

    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "as prompts: {} of {} questions are given something, {} with evidence (evidence recall {:.3}, {:.3} with ids alone), {} tokens in the middle, {} at most",
            self.answered,
            self.questions,
            self.with_evidence,
            self.evidence,
            self.evidence_named,
            self.tokens_at(0.5),
            self.tokens_at(1.0)
        )];
        for (corpus, (asked, given)) in &self.everyday {
            lines.push(format!("everyday prompts in {corpus}: {given} of {asked} are given something"));
        }
        lines.extend(self.loud.iter().map(|prompt| format!("  {prompt}")));
        lines
    }

    fn tokens_at(&self, share: f64) -> usize {
        self.tokens.get(((self.tokens.len().max(1) - 1) as f64 * share) as usize).copied().unwrap_or(0)
    }
}
