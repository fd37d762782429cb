use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::json;
use yore_engine::ingest::source::{SOURCES, source_named};
use yore_engine::{Engine, EngineError, Finding, Severity};

use super::Context;
use super::ingest::default_roots;
use crate::error::{CliError, CliResult, Exit};
use crate::render::text;

/// Check store, archive, index, sources and permissions
#[derive(Args, Debug)]
pub struct Arguments {
    /// Read every blob and index file, not only their counts
    #[arg(long)]
    deep: bool,
    /// Mend what can be mended: permissions, the index
    #[arg(long)]
    fix: bool,
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
    findings.extend(retention(context));
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
        let severity = if fuse.unarchived_soon > 0 { Severity::Warning } else { Severity::Fine };
        let text = format!("{} deletes transcripts after {days} days; {}", source.display_name(), fuse.sentence());
        findings.push(finding("retention", severity, text, (fuse.unarchived_soon > 0).then_some("run `yore ingest`")));
    }
    findings
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
    let archived: std::collections::HashMap<String, u64> = context
        .engine(false)
        .and_then(|engine| Ok(engine.source_files()?))
        .map(|files| files.into_iter().map(|file| (file.path, file.archived_bytes)).collect())
        .unwrap_or_default();
    for root in default_roots(context).unwrap_or_default().into_iter().filter(|root| root.source == source) {
        for path in reader.discover(&root.path) {
            let Ok(meta) = path.metadata() else { continue };
            let age = meta.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok()).unwrap_or(Duration::ZERO);
            let left = u64::from(days).saturating_sub(age.as_secs() / 86_400);
            fuse.files += 1;
            fuse.days_left = Some(fuse.days_left.map_or(left, |least| least.min(left)));
            if left <= 7 {
                fuse.due_soon += 1;
                let name = path.canonicalize().unwrap_or(path);
                let known = name.to_str().and_then(|name| archived.get(name)).copied().unwrap_or(0);
                fuse.unarchived_soon += u64::from(known == 0 && meta.len() > 0);
            }
        }
    }
    fuse
}

/// After how many days an agent deletes transcripts, by its own settings where they say so.
pub fn retention_days(context: &Context, source: &str) -> Option<u32> {
    let default = source_named(source)?.default_retention_days()?;
    let configured = context.paths.claude.iter().filter(|_| source == "claude-code").find_map(|directory| {
        let settings = std::fs::read_to_string(directory.join("settings.json")).ok()?;
        let settings: serde_json::Value = serde_json::from_str(&settings).ok()?;
        u32::try_from(settings["cleanupPeriodDays"].as_u64()?).ok()
    });
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
