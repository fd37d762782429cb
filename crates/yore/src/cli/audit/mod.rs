use std::path::{Path, PathBuf};

use clap::Args;
use yore_engine::{AuditReport, AuditRequest};
use yore_sources::project_names::names_of;

use self::patch::patch;
use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::histories::read_latest;
use crate::instruction_files::instruction_files;
use crate::render::text::harmless;
use crate::results;

mod patch;

/// Check agents' instruction files against code and conversations
///
/// Each line of CLAUDE.md, AGENTS.md, rules of Cursor, Copilot, Windsurf, Cline and others, of Claude Code's automatic memory and of
/// the person's own files is checked: stale (it names a file, command, version or tool that is gone), contradicted (a later commit or
/// message says otherwise), unused (nothing in the project ever had its subject), doubled, unsafe. Each finding has its proof. No file
/// is changed: --patch writes what would change them, for `git apply`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Directory of the project [default: this one]
    path: Option<PathBuf>,
    /// Write a patch of the findings in the repository to FILE
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,
    /// Exit with 1 if there are findings
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let given = arguments.path.clone().or_else(|| context.settings.here.clone()).unwrap_or_else(|| PathBuf::from("."));
    let given = given.canonicalize().map_err(|error| CliError::io(&given, &error))?;
    let root = given.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&given).to_owned();
    if context.settings.here.as_deref().is_some_and(|here| here.starts_with(&root))
        && let Err(error) = read_latest(None, &context.settings)
    {
        context.printer.note(format!("the latest conversations could not be read: {}", error.message))?;
    }
    let codex = std::env::var_os("CODEX_HOME").map(PathBuf::from);
    let found = instruction_files(&root, context.settings.paths.home.as_deref(), codex.as_deref());
    let directory = root.display().to_string();
    let request = AuditRequest { here: Some(names_of(&directory)), root: directory, files: found.files };
    let mut report = context.settings.memory()?.audit(request.clone())?;
    report.problems.extend(found.problems);
    if let Some(path) = &arguments.patch {
        let (text, left_out) = patch(&request.files, &report.findings);
        std::fs::write(path, text).map_err(|error| CliError::io(path, &error))?;
        if left_out > 0 {
            context
                .printer
                .note(format!("{left_out} findings are outside of the repository or share a line: not in the patch"))?;
        }
    }
    if context.printer.is_json() {
        context.printer.json(&results::Audit::from(&report))?;
    } else {
        print(&report, &root, context)?;
    }
    Ok(if arguments.check && !report.findings.is_empty() { Exit::Nothing } else { Exit::Success })
}

fn print(report: &AuditReport, root: &Path, context: &mut Context) -> CliResult<()> {
    let printer = &mut context.printer;
    let mut last = "";
    for found in &report.findings {
        if last != found.file {
            let shown = found.name.as_deref().unwrap_or(&found.file);
            printer.line(if last.is_empty() { harmless(shown) } else { format!("\n{}", harmless(shown)) })?;
            last = &found.file;
        }
        printer.line(format!("  {}  {}  {}", found.line, found.kind.as_str(), harmless(&found.text)))?;
        printer.line(format!("      {}", harmless(&found.reason)))?;
        for proof in &found.proof {
            printer.line(format!("      {}", harmless(proof)))?;
        }
    }
    for problem in &report.problems {
        printer.note(harmless(problem))?;
    }
    printer.note(format!(
        "{} of {} lines in {} files of {} have a finding; compared with {} commits and {} sessions",
        report.findings.len(),
        report.lines,
        report.files,
        root.display(),
        report.commits,
        report.sessions,
    ))?;
    Ok(())
}
