//! Checks how soon agents delete their transcripts, and offers to keep them longer.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use yore_engine::Severity;
use yore_sources::source::{NothingKnown, SOURCES, Unit, source_named};

use super::super::Context;
use crate::agents::CLAUDE_CODE;
use crate::error::{CliError, CliResult};
use crate::health::Told;
use crate::histories::default_roots;
use crate::render::text;
use crate::retention::{self, Raised};

/// Reports how soon agents would delete the transcripts on this computer.
pub(super) fn examine(context: &Context) -> Vec<Told> {
    let mut told = Vec::new();
    for source in SOURCES {
        let Some(days) = retention_days(context, source.kind()) else { continue };
        let fuse = fuse(context, source.kind(), days);
        if fuse.files == 0 && source.kind() != CLAUDE_CODE {
            continue;
        }
        let is_short = source.kind() == CLAUDE_CODE && fuse.files > 0 && retention::is_short(u64::from(days));
        let (severity, remedy) = match (fuse.unarchived_soon > 0, is_short) {
            (true, _) => (Severity::Warning, Some("run `yore ingest`")),
            (false, true) => (Severity::Note, Some("`yore doctor --fix` offers to keep them longer")),
            (false, false) => (Severity::Fine, None),
        };
        let text = format!("{} deletes transcripts after {days} days; {}", source.display_name(), fuse.sentence());
        let finding = Told::new("retention", severity, text)
            .fact("agent", source.kind())
            .fact("days", days)
            .fact("days_left", fuse.days_left);
        told.push(match remedy {
            Some(remedy) => finding.remedy(remedy),
            None => finding,
        });
    }
    told
}

/// Returns Claude Code's settings files, one for each of its directories that holds transcripts.
fn claude_settings(context: &Context) -> Vec<PathBuf> {
    let Some(source) = source_named(CLAUDE_CODE) else { return Vec::new() };
    context
        .settings
        .places(source)
        .into_iter()
        .filter(|place| place.is_dir())
        .filter_map(|place| Some(place.parent()?.join("settings.json")))
        .collect()
}

/// Offers to let Claude Code keep transcripts longer: asks on a terminal, prints instructions elsewhere.
pub fn offer_longer_retention(is_agreed: bool, context: &mut Context) -> CliResult<()> {
    let default = source_named(CLAUDE_CODE).and_then(yore_sources::source::Source::default_retention_days).unwrap_or(0);
    for settings in claude_settings(context) {
        let days = retention::configured_days(&settings).unwrap_or_else(|| u64::from(default));
        if !retention::is_short(days) {
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
                retention::KEY,
                retention::RAISED_DAYS
            ))?;
            let mut answer = String::new();
            std::io::stdin().read_line(&mut answer).map_err(CliError::from)?;
            if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
                continue;
            }
        }
        match retention::raise(&settings, retention::RAISED_DAYS) {
            Ok(Raised::Unneeded) => {}
            Ok(Raised::Done(copy)) => {
                let copy = copy.map(|copy| format!("; the file as it was: {}", copy.display())).unwrap_or_default();
                let days = retention::RAISED_DAYS;
                context.printer.note(format!("Claude Code keeps transcripts for {days} days now, by {shown}{copy}"))?;
            }
            Err(error) => context.printer.note(format!("{}warning:{} {error}", text::YELLOW, text::RESET))?,
        }
    }
    Ok(())
}

/// The files of a source and their remaining time.
#[derive(Debug, Default)]
pub struct Fuse {
    /// Number of transcripts on this computer.
    pub files: u64,
    /// Number of these that are due within a week.
    pub due_soon: u64,
    /// Days until the oldest is due; 0 when overdue.
    pub days_left: Option<u64>,
    /// Number of transcripts that are due within a week and not archived.
    pub unarchived_soon: u64,
}

impl Fuse {
    /// Describes it in a sentence.
    pub fn sentence(&self) -> String {
        match (self.files, self.days_left) {
            (0, _) | (_, None) => "no transcripts on this computer".to_owned(),
            (files, Some(left)) => format!(
                "the oldest of {} has {} left, {} due within a week",
                text::counted(files, "transcript"),
                text::counted(left, "day"),
                text::count(self.due_soon)
            ),
        }
    }
}

/// Counts the files of a source and their remaining days.
pub fn fuse(context: &Context, source: &str, days: u32) -> Fuse {
    let mut fuse = Fuse::default();
    let Some(reader) = source_named(source) else { return fuse };
    let archived: HashMap<String, u64> = context
        .settings
        .engine(false)
        .and_then(|engine| Ok(engine.source_files()?))
        .map(|files| files.into_iter().map(|file| (file.path, file.archived_bytes)).collect())
        .unwrap_or_default();
    for root in default_roots(&context.settings).unwrap_or_default().into_iter().filter(|root| root.source == source) {
        let root = root.path.canonicalize().unwrap_or(root.path);
        // Agents delete transcripts, not lists and databases that contain several units.
        let is_whole = |unit: &Unit| unit.part.is_none() && !unit.closes_file;
        for unit in reader.discover(&root, &NothingKnown).into_iter().filter(is_whole) {
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

/// Returns the days after which an agent deletes transcripts, from its own settings if they set it.
pub fn retention_days(context: &Context, source: &str) -> Option<u32> {
    let default = source_named(source)?.default_retention_days()?;
    let configured = claude_settings(context)
        .iter()
        .filter(|_| source == CLAUDE_CODE)
        .find_map(|settings| u32::try_from(retention::configured_days(settings)?).ok());
    Some(configured.unwrap_or(default))
}
