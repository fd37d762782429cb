//! `memories check`: compares what memories say of code with the working trees of their projects.

use clap::Args;
use yore_engine::CodeReport;

use super::super::Context;
use super::common::beginning;
use crate::error::{CliResult, Exit};
use crate::render::memories::changed_line;
use crate::render::plain::one_line;
use crate::render::text::{BOLD, DIM, RESET, counted};
use crate::results::CheckedCode;

/// Compare what memories say of code with the code as it is now
///
/// A memory that names files, names in code, commits, versions or commands of the project is fresh if they are as they were at its time,
/// by the history of the branch that is checked out; drifted if one was changed, moved or is on another branch; orphaned if all are gone.
/// Facts that were said on a branch which was merged since hold everywhere from now on. `recall` shows
/// the verdict with the memory and ranks it lower; nothing is deleted. The background process does this once a day, and `recall` looks
/// again at the files of the memories that it shows.
#[derive(Args, Debug)]
pub struct Check {
    /// Only memories of this project: name, id or directory; may be repeated [default: all whose repository is here]
    #[arg(short, long, value_name = "PROJECT", value_parser = crate::cli::project)]
    project: Vec<String>,
}

pub fn check(arguments: &Check, context: &mut Context) -> CliResult {
    let report = context.settings.memory()?.check_code(arguments.project.clone())?;
    if context.printer.is_json() {
        context.printer.json(&CheckedCode::from(&report))?;
    } else {
        for line in lines(&report) {
            context.printer.line(line)?;
        }
        for (project, reason) in &report.failed {
            context.printer.note(format!("{} could not be compared: {}", one_line(project), one_line(reason)))?;
        }
        if !report.without_tree.is_empty() {
            let names: Vec<String> = report.without_tree.iter().map(|name| one_line(name)).collect();
            context.printer.note(format!("no repository is on this computer for: {}", names.join(", ")))?;
        }
    }
    let is_nothing = report.changed.is_empty() && report.fresh + report.merged == 0;
    Ok(if is_nothing { Exit::Nothing } else { Exit::Success })
}

fn lines(report: &CodeReport) -> Vec<String> {
    let mut lines = Vec::new();
    for checked in &report.changed {
        let memory = &checked.memory;
        lines.push(format!("{BOLD}{}{RESET}  {}  {}", memory.id.short(), checked.verdict.as_str(), beginning(&memory.statement)));
        lines.extend(checked.found.iter().map(|one| format!("  {DIM}{}{RESET}", changed_line(one))));
    }
    let count = |wanted: &str| report.changed.iter().filter(|checked| checked.verdict.as_str() == wanted).count();
    lines.push(format!(
        "{} fresh, {} drifted, {} orphaned, {} unknown, in {}",
        report.fresh,
        count("drifted"),
        count("orphaned"),
        report.unknown,
        counted(report.projects, "project")
    ));
    if report.merged > 0 {
        lines.push(format!("{} of merged branches now everywhere", counted(report.merged, "fact")));
    }
    lines
}
