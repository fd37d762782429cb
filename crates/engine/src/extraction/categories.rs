//! Has a language model write the summaries of categories, from the memories that it does not know yet.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::{Value, json};
use yore_core::category::{Category, GENERAL, Item, Member, Section, Written, WrittenLine};
use yore_core::id::MemoryId;
use yore_core::memory::{Memory, Status};
use yore_core::text::Tokenizer;
use yore_core::time::{UtcMillis, format_utc};

use crate::budget::{Ledger, ends_run};
use crate::categories::{CategoriesRequest, WritingRun};
use crate::category_trees::Tree;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extraction::model_access::{MOST_FAILURES, ModelAccess, StopReason};
use crate::extraction::run::FailReason;
use crate::extraction::supported::is_supported;
use crate::llm::{Class, Form, LlmError, Model, Prompt, structured};
use crate::store::ProjectKey;

/// Instructions, and their version; a change of the words is another file.
const INSTRUCTIONS: &str = include_str!("../../prompts/category-1.md");
const NAME: &str = "category/1";
/// Fewest memories of a category of which a summary is written.
const FEWEST: usize = 5;
/// Most memories that are given at once.
const GIVEN: usize = 40;
/// Most characters of a statement that is given, and of a line that is kept.
const STATEMENT_CHARS: usize = 600;
const LINE_CHARS: usize = 260;
/// Most lines of a summary.
const MOST_LINES: usize = 12;
/// Most tokens of an answer.
const MOST_ANSWER: u32 = 2_500;

/// The result of writing summaries of categories.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SummarisedCategories {
    /// Categories whose summary was written.
    pub written: u64,
    /// Categories of which the model knows every memory.
    pub unchanged: u64,
    /// Answers.
    pub calls: u64,
    /// Lines that were dropped, as their statements do not support them.
    pub unsupported: u64,
    /// Categories whose requests wait for an answer in a folder.
    pub waiting: u64,
    /// Projects that nobody may read.
    pub left_out: u64,
    /// Requests that failed, with the reason.
    pub failed: Vec<FailReason>,
    /// Why the run ended before all categories were looked at.
    pub stopped: Option<StopReason>,
}

impl Engine {
    /// Lets a model write the summaries of the categories of projects (without projects and `here`: of all), each from the memories that it
    /// does not know yet; `name`: only that category. A category without such memories costs no call. `proceed` is asked before each
    /// call.
    ///
    /// # Errors
    /// If a project is not known, or the store cannot be read or written. Failures of the model are in the report.
    pub fn summarise_categories(
        &self,
        mut by: ModelAccess<'_>,
        request: &CategoriesRequest,
        name: Option<&str>,
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<SummarisedCategories, EngineError> {
        let mut report = SummarisedCategories::default();
        let projects = self.scope_of_categories(request)?;
        // Two processes would pay for the same summary.
        let Some(_lock) = self.lock_for_models()? else {
            report.stopped = Some(StopReason::OtherProcess);
            return Ok(report);
        };
        let known: Vec<(ProjectKey, String)> =
            self.store().projects()?.into_iter().map(|known| (known.key, known.name)).collect();
        let run = self.begin_writing()?;
        let name = name.map(|name| name.trim().to_lowercase());
        let mut failures = 0;
        for (project, called) in known.iter().filter(|(key, _)| projects.as_ref().is_none_or(|wanted| wanted.contains(key))) {
            let tree = self.category_tree(Some(&[*project]))?;
            let wanted = |category: &&Category| match name.as_deref() {
                Some(name) => category.name == name || category.aliases.iter().any(|alias| alias == name),
                None => category.members.len() >= FEWEST && category.name != GENERAL,
            };
            let categories: Vec<&Category> = tree.categories.iter().flat_map(Category::with_children).filter(wanted).collect();
            if categories.is_empty() {
                continue;
            }
            let (model, ledger) = match by.reader(self, Some(called)) {
                Ok(Some(reader)) => reader,
                Ok(None) => {
                    report.left_out += 1;
                    continue;
                }
                Err(reason) => {
                    report.stopped = Some(StopReason::NoModel(reason));
                    return Ok(report);
                }
            };
            for category in categories {
                let writer = Writer { model: &model, ledger: &ledger, run: &run, project: *project };
                match self.summarise_category(&writer, &tree, category, proceed, &mut report) {
                    Ok(true) => failures = 0,
                    Ok(false) => {
                        report.stopped = Some(StopReason::Asked);
                        return Ok(report);
                    }
                    Err(EngineError::Llm(LlmError::Unanswered(_))) => report.waiting += 1,
                    Err(EngineError::Llm(error)) if ends_run(&error) => {
                        report.stopped = Some(StopReason::Failed((&error).into()));
                        return Ok(report);
                    }
                    Err(EngineError::Llm(error)) => {
                        failures += 1;
                        report.failed.push((&error).into());
                        if failures == MOST_FAILURES {
                            report.stopped = Some(StopReason::Requests(failures));
                            return Ok(report);
                        }
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(report)
    }

    /// Writes the summary of a category until the model knows all of its memories; returns false if it was told to stop.
    fn summarise_category(
        &self,
        writer: &Writer<'_>,
        tree: &Tree,
        category: &Category,
        proceed: &mut dyn FnMut() -> bool,
        report: &mut SummarisedCategories,
    ) -> Result<bool, EngineError> {
        let (category, known) = self.members_of_category(tree, category)?;
        let items = known.items();
        let mut written = self.written_summaries(writer.project)?.remove(&category.name).unwrap_or_default();
        let mut is_written = false;
        loop {
            let new = written.unknown(&category, &items);
            if new.is_empty() {
                break;
            }
            if !proceed() {
                return Ok(false);
            }
            let (given, later) = new.split_at(new.len().min(GIVEN));
            // Those of lines that fell are no longer known by any line.
            written.known.retain(|id, _| later.iter().all(|member| member.id != *id));
            let (next, unsupported) = match self.write_summary(writer, &category, &items, &written, given) {
                Ok(next) => next,
                // It would be asked in vain each time, until something changes: the memories are told by their own words.
                Err(EngineError::Llm(error)) if error.class() == Class::Validation => {
                    let lines = written.standing(&category, &items).into_iter().map(|(line, _)| line.clone()).collect();
                    let mut told = Written { lines, ..written.clone() };
                    told.unsupported.extend(given.iter().map(|member| member.id));
                    know(&mut told, given, &items);
                    self.keep_written(writer.run, writer.project, &category.name, &told)?;
                    return Err(error.into());
                }
                Err(error) => return Err(error),
            };
            report.calls += 1;
            report.unsupported += unsupported;
            written = next;
            is_written = true;
            // Something was forgotten meanwhile: the words may be of that.
            if !self.keep_written(writer.run, writer.project, &category.name, &written)? {
                return Ok(false);
            }
        }
        if is_written {
            report.written += 1;
        } else {
            report.unchanged += 1;
        }
        Ok(true)
    }

    /// Asks for a summary that takes new members up. Returns it, and the number of lines that were dropped.
    fn write_summary(
        &self,
        writer: &Writer<'_>,
        category: &Category,
        items: &[Item<'_>],
        written: &Written,
        new: &[Member],
    ) -> Result<(Written, u64), EngineError> {
        let standing = written.standing(category, items);
        // The statements of the lines so far are given again: a line that is bettered is checked against them.
        let mut ids: Vec<MemoryId> = Vec::new();
        let of_lines = standing.iter().flat_map(|(line, _)| line.sources.iter().copied());
        for id in of_lines.chain(new.iter().map(|member| member.id)) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let places: HashMap<MemoryId, &Item<'_>> = items.iter().map(|item| (item.memory.id, item)).collect();
        let given: Vec<&Item<'_>> = ids.iter().filter_map(|id| places.get(id).copied()).collect();
        let mut texts: Vec<String> = given.iter().map(|item| words_of(item)).collect();
        let mut lines: Vec<String> = standing.iter().map(|(line, _)| line.text.clone()).collect();
        self.redact_again(texts.iter_mut().chain(&mut lines))?;
        let number = |id: &MemoryId| ids.iter().position(|known| known == id).map(|at| at + 1);
        let so_far = standing.iter().zip(&lines).map(|((line, _), text)| {
            let sources: Vec<usize> = line.sources.iter().filter_map(number).collect();
            json!({"section": line.section.as_str(), "text": text, "sources": sources})
        });
        let statements = (1..).zip(given.iter().zip(&texts)).map(|(number, (item, text)): (usize, _)| {
            let memory = item.memory;
            let instead_of = item.replaced.map(|(before, _)| before.chars().take(STATEMENT_CHARS).collect::<String>());
            json!({
                "number": number, "kind": memory.kind.as_str(), "at": format_utc(told_at(memory)),
                "words": text, "instead_of": instead_of,
            })
        });
        let mut document = json!({
            "subject": category.title, "about": category.about,
            "summary_so_far": so_far.collect::<Vec<_>>(), "statements": statements.collect::<Vec<_>>(),
        });
        // A replaced statement may be older than the rules of redaction.
        for statement in document["statements"].as_array_mut().into_iter().flatten() {
            if let Some(Value::String(before)) = statement.get_mut("instead_of") {
                self.redact_again([before].into_iter())?;
            }
        }
        let newest = new.iter().map(|member| member.id).max().map(|id| id.short()).unwrap_or_default();
        let prompt = Prompt {
            system: INSTRUCTIONS.to_owned(),
            user: document.to_string(),
            max_tokens: MOST_ANSWER,
            key: format!("{NAME} {} {} {} {newest}", writer.project, category.name, ids.len()),
            ..Prompt::default()
        };
        let answered = structured::ask::<Answer>(writer.model, &prompt, &form(), writer.ledger)?;
        let mut next = Written { by: writer.model.name().to_owned(), lines: Vec::new(), ..written.clone() };
        next.unsupported.retain(|id| !ids.contains(id));
        let (mut unsupported, mut tokenizer) = (0, Tokenizer::default());
        for GivenLine { section, text, sources } in answered.value.lines.into_iter().take(MOST_LINES) {
            let cited: Vec<usize> = sources.iter().filter_map(|number| (*number as usize).checked_sub(1)).collect();
            let known: Vec<&str> = cited.iter().filter_map(|at| texts.get(*at)).map(String::as_str).collect();
            let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_whole = known.len() == cited.len() && !cited.is_empty() && text.chars().count() <= LINE_CHARS;
            let days = cited.iter().filter_map(|at| given.get(*at)).map(|item| told_at(item.memory));
            let is_true = is_whole && is_supported(&text, &known.join("\n"), days, &mut tokenizer);
            let cited: HashSet<MemoryId> = cited.iter().filter_map(|at| given.get(*at)).map(|item| item.memory.id).collect();
            let Some(section) = Section::parse(&section).filter(|_| is_true) else {
                unsupported += 1;
                next.unsupported.extend(cited);
                continue;
            };
            self.redact([&mut text].into_iter())?;
            let sources = ids.iter().copied().filter(|id| cited.contains(id)).collect();
            next.lines.push(WrittenLine { section, text, sources });
        }
        // A memory of a line needs no words of its own.
        let told: HashSet<MemoryId> = next.lines.iter().flat_map(|line| line.sources.iter().copied()).collect();
        next.unsupported.retain(|id| !told.contains(id));
        know(&mut next, new, items);
        Ok((next, unsupported))
    }
}

/// The model of a run, its accounts, and the project that it writes about.
struct Writer<'r> {
    model: &'r Model,
    ledger: &'r Ledger<'r>,
    run: &'r WritingRun,
    project: ProjectKey,
}

/// Notes that members were given to the model, as they are now.
fn know(written: &mut Written, given: &[Member], items: &[Item<'_>]) {
    written
        .known
        .extend(given.iter().filter_map(|member| items.get(member.item)).map(|item| (item.memory.id, item.memory.changed)));
    let held: HashSet<MemoryId> =
        items.iter().filter(|item| item.memory.status == Status::Holds).map(|item| item.memory.id).collect();
    written.known.retain(|id, _| held.contains(id));
}

/// Returns the words of a memory that are given: its statement, and its reason or its cause.
fn words_of(item: &Item<'_>) -> String {
    item.memory.words().chars().take(STATEMENT_CHARS).collect()
}

/// A summary as a model gives it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    lines: Vec<GivenLine>,
}

#[derive(Deserialize)]
struct GivenLine {
    section: String,
    text: String,
    sources: Vec<u32>,
}

fn form() -> Form {
    let sections: Vec<&str> = Section::ALL.iter().map(|section| section.as_str()).collect();
    let sources = json!({"type": "array", "items": {"type": "integer"}});
    let line = structured::object(
        json!({"section": {"type": "string", "enum": sections}, "text": {"type": "string"}, "sources": sources}),
    );
    let schema = structured::object(json!({"lines": {"type": "array", "items": line}}));
    Form { name: "summary", description: "The lines of the summary, each with the numbers of its statements.", schema }
}

/// Returns the time that a model is told of a memory.
fn told_at(memory: &Memory) -> UtcMillis {
    memory.valid_from.unwrap_or(memory.recorded)
}
