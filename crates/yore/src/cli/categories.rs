use std::sync::atomic::AtomicBool;

use clap::Args;
use yore_engine::{CategoriesRequest, CategoryOutline, ModelAccess};

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::llm;
use crate::render::text;
use crate::results::{CategorySummary, MemoryCategory, words};

/// Show the categories of memories, or the summary of one
///
/// Categories are computed from the memories that hold now: ten usual ones such as testing or database, where memories fall
/// into them, and those that grow from entities, tags and words that several memories share. A summary says what holds, what was
/// decided, the rules, and what is open; each line ends with the id of its memory, which `yore show ID` opens.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Show the summary of this category
    #[arg(value_name = "NAME")]
    name: Vec<String>,
    /// Take this project in the place of the current one: name, id or directory; may be repeated
    #[arg(short, long = "project", value_name = "PROJECT", value_parser = crate::cli::project)]
    projects: Vec<String>,
    /// Take the memories of all projects
    #[arg(long, conflicts_with = "projects")]
    all: bool,
    /// Let the configured language model write the summaries first, or that of NAME, from the memories that it does not know yet (see
    /// `yore learn`)
    #[arg(long)]
    summarise: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let here = if arguments.all { None } else { context.settings.project_here() };
    let request = CategoriesRequest { projects: arguments.projects.clone(), here };
    let name = arguments.name.join(" ");
    if arguments.summarise && !summarise(&request, name.trim(), context)? {
        return Ok(Exit::Nothing);
    }
    let mut memory = context.settings.memory()?;
    if !name.trim().is_empty() {
        if let Some(found) = memory.category_summary(request.clone(), name.clone())? {
            if context.printer.is_json() {
                context.printer.json(&CategorySummary::from(&found))?;
            } else {
                context.printer.line(text::harmless(found.summary.markdown().trim_end()))?;
                if let Some(model) = &found.summary.by {
                    context.printer.note(format!("written by {} from these memories", text::harmless(model)))?;
                }
            }
            return Ok(Exit::Success);
        }
        let known = memory.categories(request)?;
        let names: Vec<&str> = known.iter().flat_map(with_parts).map(|category| category.name.as_str()).collect();
        let known = if names.is_empty() { "there is none yet".to_owned() } else { format!("there are {}", names.join(", ")) };
        return Err(CliError {
            exit: Exit::Nothing,
            code: "unknown-category".to_owned(),
            message: format!("no category {name:?}; {known}"),
            hint: None,
        });
    }
    let found = memory.categories(request)?;
    if context.printer.is_json() {
        context.printer.json(&found.iter().map(MemoryCategory::from).collect::<Vec<_>>())?;
    } else if found.is_empty() {
        context.printer.note("no memory holds here yet; `yore learn` says how memories are made")?;
    } else {
        for category in &found {
            context.printer.line(told(category, ""))?;
            for part in &category.children {
                context.printer.line(told(part, "  "))?;
            }
        }
        context.printer.note("`yore categories NAME` shows a summary")?;
    }
    Ok(if found.is_empty() { Exit::Nothing } else { Exit::Success })
}

/// Lets the model write summaries, and says on standard error what it did. Returns whether nothing failed.
fn summarise(request: &CategoriesRequest, name: &str, context: &mut Context) -> CliResult<bool> {
    let settings = context.settings.clone();
    let mut chooser = llm::ModelChooser::new(&settings, "summarise")?;
    let name = Some(name).filter(|name| !name.is_empty());
    let engine = context.settings.engine(false)?;
    let write = |by: ModelAccess<'_>| engine.summarise_categories(by, request, name, &mut || true);
    let report = chooser.choosing(&AtomicBool::new(false), write)?;
    let mut words = format!("{} written, {} unchanged", text::counted(report.written, "summary"), text::count(report.unchanged));
    if report.unsupported > 0 {
        words.push_str(&format!("; {} left out that no memory supports", text::counted(report.unsupported, "line")));
    }
    let more =
        [(report.waiting, "wait for an answer"), (report.left_out, "projects left out"), (report.failed.len() as u64, "failed")];
    words.extend(more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("; {} {what}", text::count(*count))));
    words.extend(report.stopped.iter().map(|reason| format!("; stopped: {}", text::harmless(&words::stopped(reason)))));
    context.printer.note(words)?;
    for reason in &report.failed {
        context.printer.note(format!("a request failed: {}", text::harmless(&words::failed(reason))))?;
    }
    Ok(report.failed.is_empty() && report.stopped.is_none())
}

fn with_parts(category: &CategoryOutline) -> impl Iterator<Item = &CategoryOutline> {
    std::iter::once(category).chain(&category.children)
}

fn told(category: &CategoryOutline, margin: &str) -> String {
    let aliases = if category.about.is_empty() && !category.aliases.is_empty() {
        format!(" · also {}", category.aliases.join(", "))
    } else {
        String::new()
    };
    let place = format!("{} · {}{aliases}", text::counted(category.item_count as u64, "memory"), text::day(category.last_added));
    format!("{margin}{} {}{}{}", text::harmless(&category.name), text::DIM, text::harmless(&place), text::RESET)
}
