use clap::Args;
use yore_engine::BriefRequest;

use super::Context;
use crate::error::{CliResult, Exit};
use crate::inject::budget::tokens;
use crate::inject::learning::Waiting;
use crate::inject::text;
use crate::results;
use crate::shared::refresh::unaccepted;

/// Show the brief that a session beginning here gets
///
/// It holds the state of the project: standing notes, standards and preferences, what was last worked on in this project
/// and where it stopped, the last decisions, what is open, other notes. It is the same text that an agent's hook gives.
/// With --ci, it is what the repository shares (`yore share`), by kind, with authors and commits: read from the files alone, without a
/// memory.
#[derive(Args, Debug)]
pub struct Arguments {
    /// At most N tokens [default: inject.brief_tokens]
    #[arg(long, alias = "tokens", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    budget: Option<u32>,
    /// Print what the repository shares, from its files alone, as Markdown
    #[arg(long)]
    ci: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if arguments.ci {
        return super::share::brief(arguments.budget.map(|budget| budget as usize), context);
    }
    let budget = arguments.budget.map_or(context.settings.config().inject.brief_tokens, |budget| budget as usize);
    let here = context.settings.project_here();
    let mut memory = context.settings.memory()?;
    let brief = memory.brief(BriefRequest { here, session: None, is_compacted: false })?;
    let config = context.settings.own_config()?;
    let shared = context.settings.here.as_deref().map(|here| unaccepted(&context.settings.directory, here)).unwrap_or_default();
    let waiting = Waiting::of(brief.waiting, &config, &context.settings.directory);
    let given = text::brief_with(&brief, budget, waiting, &shared);
    // Counts are no reason to withhold a brief.
    let _ = memory.count_given(given.memories(), None);
    if context.printer.is_json() {
        context.printer.json(&results::Brief {
            project: brief.project,
            tokens: Some(tokens(&given.text) as u64),
            turns: Some(given.items.iter().filter_map(|item| item.turn()).map(|turn| turn.to_string()).collect()),
            text: given.text.clone(),
        })?;
    } else if given.text.is_empty() {
        context.printer.note("nothing to show: no earlier session, no note and no memory of this project")?;
    } else {
        context.printer.line(&given.text)?;
    }
    Ok(if given.text.is_empty() { Exit::Nothing } else { Exit::Success })
}
