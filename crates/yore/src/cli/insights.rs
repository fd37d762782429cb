use clap::Args;
use yore_core::insight::InsightKind;
use yore_core::memory::MemoryKind;
use yore_engine::{FoundInsight, GivenEvidence, InsightsRequest, NewMemory};

use super::{Context, memories};
use crate::error::{CliError, CliResult, Exit};
use crate::render::{self, text};
use crate::results::{Changed, Insight};

/// Show what happens again and again, with its evidence
///
/// Counted in what your sessions record, without a model: errors that came up in at least three sessions with what ended them, commands
/// whose first run usually fails, files that are opened before each change of another, instructions that you gave in at least three
/// sessions, and decisions that were replaced soon or more than once. `yore show ID` opens the evidence; `--keep ID` makes a memory
/// of an insight.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Take this project in the place of the current one: name, id or directory; may be repeated
    #[arg(short, long = "project", value_name = "PROJECT", value_parser = crate::cli::project)]
    projects: Vec<String>,
    /// Take all projects
    #[arg(long, conflicts_with = "projects")]
    all: bool,
    /// Only this kind: error, first-try, read-before, instruction or reversal; may be repeated
    #[arg(short, long = "kind", value_name = "KIND", value_parser = kind)]
    kinds: Vec<InsightKind>,
    /// At most N of each kind and project
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    limit: usize,
    /// Make a memory of the insight with this id
    #[arg(long, value_name = "ID")]
    keep: Option<String>,
}

fn kind(name: &str) -> Result<InsightKind, String> {
    InsightKind::parse(&name.replace('-', "_")).ok_or_else(|| {
        let names: Vec<String> = InsightKind::ALL.iter().map(|kind| kind.as_str().replace('_', "-")).collect();
        format!("expected one of {}", names.join(", "))
    })
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let here = if arguments.all { None } else { context.settings.project_here() };
    let mut memory = context.settings.memory()?;
    let request = InsightsRequest {
        projects: arguments.projects.clone(),
        here,
        kinds: arguments.kinds.clone(),
        limit: arguments.limit,
        anew: true,
    };
    if let Some(id) = &arguments.keep {
        // Its project may be another one, and it may stand far down.
        let request = InsightsRequest { limit: usize::MAX, anew: true, ..InsightsRequest::default() };
        let found = memory.insights(request)?.into_iter().find(|insight| insight.id == *id);
        return keep(found, id, context);
    }
    let found = memory.insights(request)?;
    if context.printer.is_json() {
        context.printer.json(&found.iter().map(Insight::from).collect::<Vec<_>>())?;
        return Ok(if found.is_empty() { Exit::Nothing } else { Exit::Success });
    }
    if found.is_empty() {
        context
            .printer
            .note("nothing happened again and again in the sessions of this project; `--all` looks at all projects")?;
        return Ok(Exit::Nothing);
    }
    let has_projects = found.iter().any(|insight| insight.project_id != found[0].project_id);
    for kind in InsightKind::ALL {
        let of_kind: Vec<&FoundInsight> = found.iter().filter(|found| found.insight.kind == *kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        context.printer.line(format!("{}{}{}", text::BOLD, kind.heading(), text::RESET))?;
        for insight in of_kind {
            context.printer.line(format!("[{}] {}", insight.id, text::harmless(&insight.insight.statement)))?;
            context.printer.line(format!("  {}{}{}", text::DIM, text::harmless(&place(insight, has_projects)), text::RESET))?;
        }
        context.printer.line("")?;
    }
    context.printer.note("`yore show ID` opens the evidence; `yore insights --keep ID` makes a memory of one")?;
    Ok(Exit::Success)
}

/// Returns when an insight happened, where, and what shows it.
fn place(found: &FoundInsight, has_projects: bool) -> String {
    let (insight, mut parts) = (&found.insight, Vec::new());
    if insight.times > insight.sessions {
        parts.push(format!("{} times", text::count(insight.times as u64)));
    }
    parts.push(format!("last {}", text::day(insight.last)));
    if has_projects {
        parts.push(found.project.clone());
    }
    parts.push(format!("see {}", insight.places.join(", ")));
    if insight.offer.is_none() {
        parts.push("in memory".to_owned());
    }
    parts.join(" · ")
}

/// Makes a memory of an insight.
fn keep(found: Option<FoundInsight>, id: &str, context: &mut Context) -> CliResult {
    let refused = |message: String, hint: &str| CliError {
        exit: Exit::Nothing,
        code: "unknown-insight".to_owned(),
        message,
        hint: Some(hint.to_owned()),
    };
    let Some(FoundInsight { project_id, insight, .. }) = found else {
        return Err(refused(format!("no insight has the id {id}"), "`yore insights --all` lists them"));
    };
    let Some(offer) = insight.offer else {
        return Err(refused(format!("insight {id} is about memories that are there already"), "`yore show ID` shows them"));
    };
    let mut new = NewMemory::new(offer.kind, offer.statement);
    new.project = Some(project_id);
    new.evidence = insight.places.into_iter().map(|turn| GivenEvidence { turn, quote: None }).collect();
    let mut memory = context.settings.memory()?;
    let done = memory.add_memory(new, memories::by_person("insights --keep"))?;
    if context.printer.is_json() {
        context.printer.json(&Changed::with(done, &[], &[], &[]))?;
        return Ok(Exit::Success);
    }
    context.printer.line(done.memory.to_string())?;
    let told = match done.operation {
        None => "already known: nothing was stored".to_owned(),
        Some(_) => {
            let standing = if offer.kind == MemoryKind::Preference { "; each session is told it at its beginning" } else { "" };
            format!(
                "stored as a memory of the kind {}{standing}; `yore undo` takes it back",
                render::memories::kind_name(offer.kind)
            )
        }
    };
    context.printer.note(told)?;
    Ok(Exit::Success)
}
