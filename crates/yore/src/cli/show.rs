use clap::Args;
use yore_core::time::UtcMillis;
use yore_engine::ingest::source::note;
use yore_engine::{ShowRequest, WhichVersion};

use super::Context;
use crate::ask;
use crate::error::{CliResult, Exit};
use crate::render::text;
use crate::results::{Exchanges, Note, Shown};

/// Show a turn with its surroundings, or a whole session
#[derive(Args, Debug)]
pub struct Arguments {
    /// Id of a turn or session, or its first characters
    id: String,
    /// Number of turns before and after
    #[arg(short = 'C', long = "around", value_name = "N", default_value_t = 3)]
    around: usize,
    /// Cut each turn to N characters (0: do not cut)
    #[arg(long, value_name = "N", default_value_t = 2000)]
    max_chars: usize,
    /// Print the transcripts of the session as they are archived (redacted JSON lines)
    #[arg(long)]
    original: bool,
    /// Divide the session into exchanges: each question with the work that answered it
    #[arg(long, conflicts_with = "original")]
    exchanges: bool,
    /// For a note: version N, from 1
    #[arg(long, value_name = "N", conflicts_with_all = ["original", "exchanges"])]
    note_version: Option<u64>,
    /// For a note: the version that applied at this time
    #[arg(long, value_name = "TIME", value_parser = ask::time, conflicts_with_all = ["original", "exchanges", "note_version"])]
    as_of: Option<UtcMillis>,
}

impl Arguments {
    /// Returns the requested version of a note.
    fn which(&self) -> Option<WhichVersion> {
        self.note_version.map(WhichVersion::Number).or(self.as_of.map(WhichVersion::AsOf))
    }
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if arguments.original {
        let engine = context.settings.engine(false)?;
        let mut lines = Vec::new();
        engine.write_original(&arguments.id, &mut lines)?;
        context.printer.bytes(&lines)?;
        return Ok(Exit::Success);
    }
    if arguments.exchanges {
        let found = context.settings.engine(false)?.exchanges(&arguments.id)?;
        if context.printer.is_json() {
            context.printer.json(&Exchanges::from(&found))?;
            return Ok(Exit::Success);
        }
        if found.turns_before > 0 {
            let turns = text::counted(found.turns_before as u64, "turn");
            context.printer.line(format!("{}… {turns} before the first question{}\n", text::DIM, text::RESET))?;
        }
        for exchange in &found.exchanges {
            context.printer.line(text::exchange(exchange))?;
        }
        return Ok(Exit::Success);
    }
    if let Some(which) = arguments.which() {
        let note = context.settings.memory()?.load_note(&arguments.id, which)?;
        if context.printer.is_json() {
            context.printer.json(&Note::from(&note))?;
        } else {
            for line in text::note(&note) {
                context.printer.line(line)?;
            }
        }
        return Ok(Exit::Success);
    }
    let mut memory = context.settings.memory()?;
    let shown = memory.show(&ShowRequest { id: arguments.id.clone(), surroundings: arguments.around })?;
    if context.printer.is_json() {
        context.printer.json(&Shown::from(&shown))?;
        return Ok(Exit::Success);
    }
    if let Some(turn) = shown.turns.first() {
        let title = turn.title.as_deref().map(|title| format!(" · {}", text::harmless(title))).unwrap_or_default();
        let project = turn.project.as_deref().map(|project| format!(" · {}", text::harmless(project))).unwrap_or_default();
        context.printer.line(format!(
            "{}{}{} {}{project}{title}",
            text::BOLD,
            text::harmless(&turn.native_session),
            text::RESET,
            turn.agent
        ))?;
    }
    if shown.hidden.0 > 0 {
        context.printer.line(format!(
            "{}… {} before{}\n",
            text::DIM,
            text::counted(shown.hidden.0 as u64, "turn"),
            text::RESET
        ))?;
    }
    // Showing a note counts as loading it whole.
    let whole = shown.turns.first().filter(|turn| turn.agent == note::KIND).map(|turn| turn.episode.to_string());
    if let Some(note) = whole.and_then(|id| memory.load_note(&id, WhichVersion::Newest).ok())
        && note.version > 1
    {
        context.printer.line(format!(
            "{}version {}; --note-version N shows an older one{}\n",
            text::DIM,
            note.version,
            text::RESET
        ))?;
    }
    let max_chars = (arguments.max_chars > 0).then_some(arguments.max_chars);
    for turn in &shown.turns {
        let is_focus = shown.focus == Some(turn.id);
        context.printer.line(text::turn(turn, is_focus, max_chars.filter(|_| !is_focus)))?;
        if is_focus {
            context.printer.line(format!("  {}{}:{}{}\n", text::DIM, text::harmless(&turn.path), turn.line, text::RESET))?;
        }
    }
    if shown.hidden.1 > 0 {
        context.printer.line(format!("{}… {} after{}", text::DIM, text::counted(shown.hidden.1 as u64, "turn"), text::RESET))?;
    }
    Ok(Exit::Success)
}
