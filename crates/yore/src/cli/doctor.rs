use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::json;
use yore_engine::ingest::source::{NothingKnown, SOURCES, source_named};
use yore_engine::{Engine, EngineError, Finding, Severity};

use super::Context;
use super::ingest::{default_roots, places};
use crate::error::{CliError, CliResult, Exit};
use crate::render::text;
use crate::rescue::{self, Raised};
use crate::spool;

/// The source whose agent can be told to keep transcripts longer.
const CLAUDE_CODE: &str = "claude-code";

/// Check store, archive, index, sources and permissions
#[derive(Args, Debug)]
pub struct Arguments {
    /// Read every blob and index file, not only their counts
    #[arg(long)]
    deep: bool,
    /// Mend what can be mended: permissions, the index; offer to keep transcripts longer
    #[arg(long)]
    fix: bool,
    /// With --fix: yes to every question
    #[arg(short, long, requires = "fix")]
    yes: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let mut findings = vec![finding(
        "program",
        Severity::Fine,
        format!("yore {}, schema {}", env!("CARGO_PKG_VERSION"), yore_engine::SCHEMA_VERSION),
        None,
    )];
    findings.push(finding("data-directory", Severity::Fine, context.directory.display().to_string(), None));
    match context.engine(false) {
        Ok(engine) => {
            if arguments.fix {
                engine.make_private()?;
                engine.sync_index(5_000, &mut |_| {})?;
            }
            findings.extend(examine(&engine, arguments.deep)?);
        }
        Err(error) => findings.push(finding(
            "store",
            if error.code == "store/missing" { Severity::Note } else { Severity::Broken },
            error.message,
            error.hint.as_deref(),
        )),
    }
    if arguments.fix {
        offer_longer_retention(arguments.yes, context)?;
    }
    findings.extend(retention(context));
    findings.extend(hooks(context));
    findings.extend(unreadable_histories(context));
    findings.extend(unverified(context));
    let worst = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Fine);
    if context.printer.is_json() {
        context.printer.json(&json!(
            findings.iter().map(|finding| json!({"code": finding.code, "severity": name(finding.severity), "text": finding.text, "remedy": finding.remedy})).collect::<Vec<_>>()
        ))?;
    } else {
        for finding in &findings {
            let (mark, color) = match finding.severity {
                Severity::Fine => ("✓", text::GREEN),
                Severity::Note => ("·", text::CYAN),
                Severity::Warning => ("!", text::YELLOW),
                Severity::Broken => ("✗", text::RED),
            };
            context.printer.line(format!(
                "{color}{mark}{} {:<16} {}",
                text::RESET,
                finding.code,
                text::harmless(&finding.text)
            ))?;
            if let Some(remedy) = &finding.remedy {
                context.printer.line(format!("  {:<16} {remedy}", ""))?;
            }
        }
    }
    Ok(if worst >= Severity::Warning { Exit::Nothing } else { Exit::Success })
}

/// The engine's findings; a store that fails while it is looked at is a finding too.
fn examine(engine: &Engine, deep: bool) -> CliResult<Vec<Finding>> {
    match engine.examine(deep) {
        Ok(findings) => Ok(findings),
        Err(error) if error.store_error().is_some() || matches!(error, EngineError::Index(_)) => {
            let error = CliError::from(error);
            Ok(vec![finding("store", Severity::Broken, error.message, error.hint.as_deref())])
        }
        Err(error) => Err(error.into()),
    }
}

/// How soon agents would delete transcripts that lie on this computer.
fn retention(context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in SOURCES {
        let Some(days) = retention_days(context, source.kind()) else { continue };
        let fuse = fuse(context, source.kind(), days);
        if fuse.files == 0 && source.kind() != CLAUDE_CODE {
            continue;
        }
        let is_short = source.kind() == CLAUDE_CODE && fuse.files > 0 && rescue::is_short(u64::from(days));
        let (severity, remedy) = match (fuse.unarchived_soon > 0, is_short) {
            (true, _) => (Severity::Warning, Some("run `yore ingest`")),
            (false, true) => (Severity::Note, Some("`yore doctor --fix` offers to keep them longer")),
            (false, false) => (Severity::Fine, None),
        };
        let text = format!("{} deletes transcripts after {days} days; {}", source.display_name(), fuse.sentence());
        findings.push(finding("retention", severity, text, remedy));
    }
    findings
}

/// What hooks left that nobody has taken yet, or that nobody can take.
fn hooks(context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    let waiting = spool::waiting(&context.directory) as u64;
    if waiting > 0 {
        let text = format!("{} of hooks wait", text::counted(waiting, "event"));
        findings.push(finding(
            "spool",
            Severity::Note,
            text,
            Some("`yore daemon start` takes them, as does every running daemon"),
        ));
    }
    let unreadable = spool::unreadable(&context.directory) as u64;
    if unreadable > 0 {
        let text = format!("{} of hooks could not be understood and lie aside", text::counted(unreadable, "event"));
        findings.push(finding("spool", Severity::Note, text, None));
    }
    findings
}

/// Histories that lie here and that nobody but their agent can read.
fn unreadable_histories(context: &Context) -> Vec<Finding> {
    let Some(home) = &context.paths.home else { return Vec::new() };
    let folder = home.join(".codeium").join("windsurf").join("cascade");
    let files = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "pb"))
        .count() as u64;
    if files == 0 {
        return Vec::new();
    }
    let text = format!(
        "Windsurf keeps {} in {}, encrypted: yore cannot read them",
        text::counted(files, "conversation"),
        folder.display()
    );
    let remedy = "let Windsurf export a conversation and give the file to `yore ingest`";
    vec![finding("windsurf", Severity::Note, text, Some(remedy))]
}

/// Sources in use whose format was never seen in real files.
fn unverified(context: &Context) -> Vec<Finding> {
    let roots = default_roots(context).unwrap_or_default();
    SOURCES
        .iter()
        .filter(|source| !source.is_verified() && roots.iter().any(|root| root.source == source.kind()))
        .map(|source| {
            let text = format!("{} is read by its description: no real file was at hand to test with", source.display_name());
            finding("unverified", Severity::Note, text, Some("`yore sources` counts what was not understood"))
        })
        .collect()
}

/// Where Claude Code's settings lie, one file for each of its directories that holds transcripts.
fn claude_settings(context: &Context) -> Vec<PathBuf> {
    let Some(source) = source_named(CLAUDE_CODE) else { return Vec::new() };
    places(context, source)
        .into_iter()
        .filter(|place| place.is_dir())
        .filter_map(|place| Some(place.parent()?.join("settings.json")))
        .collect()
}

/// Offers to let Claude Code keep transcripts longer: asks on a terminal, says how elsewhere.
pub fn offer_longer_retention(is_agreed: bool, context: &mut Context) -> CliResult<()> {
    let default = source_named(CLAUDE_CODE).and_then(yore_engine::ingest::source::Source::default_retention_days).unwrap_or(0);
    for settings in claude_settings(context) {
        let days = rescue::configured_days(&settings).unwrap_or_else(|| u64::from(default));
        if !rescue::is_short(days) {
            continue;
        }
        let shown = text::harmless(&settings.display().to_string());
        if !is_agreed {
            if context.printer.is_json() {
                continue;
            }
            if !context.printer.is_terminal() || !std::io::stdin().is_terminal() {
                context.printer.note("`yore doctor --fix --yes` lets Claude Code keep its transcripts longer")?;
                continue;
            }
            context.printer.prompt(format!(
                "Claude Code deletes transcripts after {days} days. Set {} to {} in {shown}? A copy is kept. [y/N] ",
                rescue::KEY,
                rescue::RAISED_DAYS
            ))?;
            let mut answer = String::new();
            std::io::stdin().read_line(&mut answer).map_err(CliError::from)?;
            if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
                continue;
            }
        }
        match rescue::raise(&settings, rescue::RAISED_DAYS) {
            Ok(Raised::Unneeded) => {}
            Ok(Raised::Done(copy)) => {
                let copy = copy.map(|copy| format!("; the file as it was: {}", copy.display())).unwrap_or_default();
                let days = rescue::RAISED_DAYS;
                context.printer.note(format!("Claude Code keeps transcripts for {days} days now, by {shown}{copy}"))?;
            }
            Err(error) => context.printer.note(format!("{}warning:{} {error}", text::YELLOW, text::RESET))?,
        }
    }
    Ok(())
}

/// What is known of a source's files and how long they have.
#[derive(Debug, Default)]
pub struct Fuse {
    /// Transcripts on this computer.
    pub files: u64,
    /// Of these, due within a week.
    pub due_soon: u64,
    /// Days until the oldest is due; 0 when overdue.
    pub days_left: Option<u64>,
    /// Due within a week and not archived.
    pub unarchived_soon: u64,
}

impl Fuse {
    /// In words.
    pub fn sentence(&self) -> String {
        match (self.files, self.days_left) {
            (0, _) | (_, None) => "none lies on this computer".to_owned(),
            (files, Some(left)) => format!(
                "the oldest of {} has {} left, {} due within a week",
                text::counted(files, "transcript"),
                text::counted(left, "day"),
                text::count(self.due_soon)
            ),
        }
    }
}

/// Looks at the files of a source.
pub fn fuse(context: &Context, source: &str, days: u32) -> Fuse {
    let mut fuse = Fuse::default();
    let Some(reader) = source_named(source) else { return fuse };
    let archived: HashMap<String, u64> = context
        .engine(false)
        .and_then(|engine| Ok(engine.source_files()?))
        .map(|files| files.into_iter().map(|file| (file.path, file.archived_bytes)).collect())
        .unwrap_or_default();
    for root in default_roots(context).unwrap_or_default().into_iter().filter(|root| root.source == source) {
        let root = root.path.canonicalize().unwrap_or(root.path);
        for unit in reader.discover(&root, &NothingKnown) {
            let Ok(meta) = unit.path.metadata() else { continue };
            let age = meta.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok()).unwrap_or(Duration::ZERO);
            let left = u64::from(days).saturating_sub(age.as_secs() / 86_400);
            fuse.files += 1;
            fuse.days_left = Some(fuse.days_left.map_or(left, |least| least.min(left)));
            if left <= 7 {
                fuse.due_soon += 1;
                let known = unit.name().and_then(|name| archived.get(&name).copied()).unwrap_or(0);
                fuse.unarchived_soon += u64::from(known == 0 && meta.len() > 0);
            }
        }
    }
    fuse
}

/// After how many days an agent deletes transcripts, by its own settings where they say so.
pub fn retention_days(context: &Context, source: &str) -> Option<u32> {
    let default = source_named(source)?.default_retention_days()?;
    let configured = claude_settings(context)
        .iter()
        .filter(|_| source == CLAUDE_CODE)
        .find_map(|settings| u32::try_from(rescue::configured_days(settings)?).ok());
    Some(configured.unwrap_or(default))
}

fn finding(code: &'static str, severity: Severity, text: String, remedy: Option<&str>) -> Finding {
    Finding { code, severity, text, remedy: remedy.map(str::to_owned) }
}

fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Fine => "fine",
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Broken => "broken",
    }
}
