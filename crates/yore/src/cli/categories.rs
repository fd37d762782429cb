use clap::Args;
use yore_engine::{CategoriesRequest, CategoryOutline};

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::render::text;
use crate::results::{CategorySummary, MemoryCategory};

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
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let here = if arguments.all { None } else { context.settings.project_here() };
    let request = CategoriesRequest { projects: arguments.projects.clone(), here };
    let name = arguments.name.join(" ");
    let mut memory = context.settings.memory()?;
    if !name.trim().is_empty() {
        if let Some(found) = memory.category_summary(request.clone(), name.clone())? {
            if context.printer.is_json() {
                context.printer.json(&CategorySummary::from(&found))?;
            } else {
                context.printer.line(text::harmless(found.summary.markdown().trim_end()))?;
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
