use std::ops::Range;

use clap::Args;
use yore_core::level::Level;
use yore_core::time::UtcMillis;
use yore_engine::{DeepenRequest, PageTurn, ShowAnswer, ShowRequest, Start, Surroundings, TopicsRequest, WhichVersion};
use yore_sources::source::note;

use super::{Context, memories, topics};
use crate::error::{CliError, CliResult, Exit};
use crate::recall_request;
use crate::render::text;
use crate::results::{AtLevel, Exchanges, Note, Shown};

/// Show a turn with its exchange, a session, a memory, or an entity
///
/// An exchange is a question with all that answered it, up to the next question. What does not fit into the
/// budget is cut, and the last line names the place to go on from. --json shows whole turns, unless --budget is given.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Id of a turn, session, memory or entity, or its first characters
    id: String,
    /// How much of it: line, passage, whole, related or synthesis [default: whole]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: Option<Level>,
    /// The question on which passage and synthesis bear
    #[arg(long = "for", value_name = "QUESTION")]
    question: Option<String>,
    /// Number of turns before and after, in place of the exchange
    #[arg(short = 'C', long = "around", value_name = "N")]
    around: Option<usize>,
    /// At most about N tokens of text; 0: everything [default: 2000 for a turn, 20000 for a session]
    #[arg(long, value_name = "N", hide_default_value = true)]
    budget: Option<usize>,
    /// Go on from this place in the session, as the page before says: 12, or 12+8000
    #[arg(long, value_name = "PLACE", conflicts_with_all = ["around", "original", "exchanges", "note_version", "as_of"])]
    from: Option<Start>,
    /// Print the transcripts of the session as they are archived (redacted JSON lines)
    #[arg(long)]
    original: bool,
    /// Divide the session into exchanges: each question with the work that answered it
    #[arg(long, conflicts_with = "original")]
    exchanges: bool,
    /// Divide the session into topics, with similar ones of other sessions
    #[arg(long, conflicts_with_all = ["original", "exchanges", "around", "from"])]
    topics: bool,
    /// For a note: version N, from 1
    #[arg(long, value_name = "N", conflicts_with_all = ["original", "exchanges", "topics"])]
    note_version: Option<u64>,
    /// For a note: the version that applied at this time; of a day or another period, at its end
    #[arg(long, value_name = "TIME", value_parser = recall_request::as_of, conflicts_with_all = ["original", "exchanges", "topics", "note_version"])]
    as_of: Option<UtcMillis>,
}

/// Default budget of a turn and of a session, in tokens.
const TURN_BUDGET: usize = 2_000;
const SESSION_BUDGET: usize = 20_000;
/// Characters that a turn costs beside its own.
const HEADING_CHARS: usize = 60;

impl Arguments {
    /// Returns the turns to show with a requested turn.
    fn surroundings(&self) -> Surroundings {
        let around = self.around.map_or(Surroundings::Exchange, Surroundings::Turns);
        self.from.map_or(around, |from| Surroundings::From(from.place))
    }

    /// Returns the number of characters to show of an answer.
    fn room(&self, shown: &ShowAnswer) -> usize {
        let usual = if shown.focus.is_some() { TURN_BUDGET } else { SESSION_BUDGET };
        match self.budget.unwrap_or(usual) {
            0 => usize::MAX / 8,
            budget => budget.saturating_mul(4),
        }
    }

    /// Returns what fits into the budget: the turns of the page, the longest cut.
    fn fitted(&self, mut shown: ShowAnswer) -> ShowAnswer {
        let page = shown.page(self.from, self.room(&shown), HEADING_CHARS);
        let cut = |text: &str, skipped: usize, chars: usize| text.chars().skip(skipped).take(chars).collect::<String>();
        let turns: Vec<_> = page
            .turns
            .iter()
            .map(|PageTurn { index, skipped, chars }| {
                let mut turn = shown.turns[*index].clone();
                let spoken = turn.text.chars().count();
                let left = chars.saturating_sub(spoken.saturating_sub(*skipped));
                turn.tool_text = cut(&turn.tool_text, skipped.saturating_sub(spoken), left);
                turn.text = cut(&turn.text, *skipped, *chars);
                turn
            })
            .collect();
        let first = page.turns.first().map_or(0, |turn| turn.index);
        let after = page.turns.last().map_or(0, |turn| shown.turns.len() - 1 - turn.index);
        shown.hidden = (shown.hidden.0 + first, shown.hidden.1 + after);
        shown.turns = turns;
        shown
    }

    /// Returns the requested version of a note.
    fn which(&self) -> Option<WhichVersion> {
        self.note_version.map(WhichVersion::Number).or(self.as_of.map(WhichVersion::AsOf))
    }
}

fn level(name: &str) -> Result<Level, String> {
    let known = || Level::ALL.iter().map(|level| level.as_str()).collect::<Vec<_>>().join(", ");
    Level::parse(name).ok_or_else(|| format!("expected one of {}", known()))
}

/// Prints a thing at a level below the whole.
fn at_level(level: Level, arguments: &Arguments, context: &mut Context) -> CliResult {
    let question = arguments.question.clone().unwrap_or_default();
    let recall = super::recall::request(&question, context);
    let budget = match arguments.budget.unwrap_or(TURN_BUDGET) {
        0 => usize::MAX / 8,
        budget => budget,
    };
    let request = DeepenRequest { id: arguments.id.clone(), level, recall, budget };
    let found = context.settings.memory()?.deepen(request)?;
    if context.printer.is_json() {
        context.printer.json(&AtLevel::of(&found, &question))?;
    } else {
        context.printer.line(crate::render::level::text(&found))?;
    }
    Ok(Exit::Success)
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let part = arguments.level.or(arguments.question.as_ref().map(|_| Level::Passage));
    if let Some(level) = part.filter(|level| *level != Level::Whole) {
        return at_level(level, arguments, context);
    }
    if arguments.original {
        let engine = context.settings.engine(false)?;
        let mut lines = Vec::new();
        engine.write_original(&arguments.id, &mut lines)?;
        context.printer.bytes(&lines)?;
        return Ok(Exit::Success);
    }
    if arguments.topics {
        return topics::list(TopicsRequest { sessions: vec![arguments.id.clone()], ..TopicsRequest::default() }, context);
    }
    if arguments.exchanges {
        let found = context.settings.memory()?.exchanges(arguments.id.clone())?;
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
        let note = context.settings.memory()?.load_note(arguments.id.clone(), which)?;
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
    if let Some(opened) = memory.memory_if_known(&arguments.id, None)? {
        return memories::show(&opened, context);
    }
    let shown = match memory.show(ShowRequest::new(arguments.id.clone(), arguments.surroundings())) {
        Ok(shown) => shown,
        Err(error) => match memory.open_entity(arguments.id.clone())? {
            Some(opened) => return memories::show_entity(&opened, context),
            // A topic, a context or a file.
            None if error.code == "unknown-id" => return at_level(Level::Whole, arguments, context),
            None => return Err(error),
        },
    };
    if context.printer.is_json() {
        let shown = if arguments.budget.is_some() { arguments.fitted(shown) } else { shown };
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
    let page = shown.page(arguments.from, arguments.room(&shown), HEADING_CHARS);
    if let (Some(from), true) = (arguments.from, page.turns.is_empty()) {
        let turns = text::counted((shown.hidden.0 + shown.turns.len() + shown.hidden.1) as u64, "turn");
        let told = format!("there is no turn {}: the session has {turns}", from.place);
        return Err(CliError::usage(told, Some("give a place that the page before printed")));
    }
    // Showing a note counts as loading it whole.
    let whole = shown.turns.first().filter(|turn| turn.agent == note::KIND).map(|turn| turn.episode.to_string());
    if let Some(note) = whole.and_then(|id| memory.load_note(id, WhichVersion::Newest).ok())
        && note.version > 1
    {
        context.printer.line(format!(
            "{}version {}; --note-version N shows an older one{}\n",
            text::DIM,
            note.version,
            text::RESET
        ))?;
    }
    let focus = page.turns.iter().position(|turn| shown.focus == Some(shown.turns[turn.index].id));
    match focus.filter(|_| arguments.from.is_none()) {
        // The turn that was asked for comes first, then what is around it.
        Some(at) => {
            let (index, count) = (page.turns[at].index, shown.turns.len());
            print_turn(&shown, &page.turns[at], context)?;
            if shown.hidden.0 + index > 0 {
                context.printer.line(format!("{}before it:{}", text::DIM, text::RESET))?;
                print_turns(&shown, &page.turns[..at], 0..index, (shown.hidden.0, 0), context)?;
            }
            if index + 1 < count + shown.hidden.1 {
                context.printer.line(format!("{}after it:{}", text::DIM, text::RESET))?;
                print_turns(&shown, &page.turns[at + 1..], index + 1..count, (0, shown.hidden.1), context)?;
            }
        }
        None => print_turns(&shown, &page.turns, 0..shown.turns.len(), shown.hidden, context)?,
    }
    if let Some(next) = page.next {
        let id = text::harmless(&arguments.id);
        context.printer.line(format!("{}it goes on: yore show {id} --from {next}{}", text::DIM, text::RESET))?;
    }
    Ok(Exit::Success)
}

/// Prints turns of a page that are among those at these places, with the number of those that are not shown; so many more are hidden
/// before and after.
fn print_turns(
    shown: &ShowAnswer,
    turns: &[PageTurn],
    places: Range<usize>,
    hidden: (usize, usize),
    context: &mut Context,
) -> CliResult<()> {
    let mut expected = places.start;
    for (at, turn) in turns.iter().enumerate() {
        let left_out = turn.index - expected + if at == 0 { hidden.0 } else { 0 };
        if left_out > 0 {
            let place = if at == 0 && places.start == 0 { " before" } else { "" };
            context.printer.line(format!("{}\n", gap(left_out, place)))?;
        }
        expected = turn.index + 1;
        print_turn(shown, turn, context)?;
    }
    let left_out = places.end - expected + hidden.1 + if turns.is_empty() { hidden.0 } else { 0 };
    if left_out > 0 {
        context.printer.line(gap(left_out, if places.end == shown.turns.len() { " after" } else { "" }))?;
    }
    Ok(())
}

/// Prints a turn of a page.
fn print_turn(shown: &ShowAnswer, part: &PageTurn, context: &mut Context) -> CliResult<()> {
    let turn = &shown.turns[part.index];
    let is_focus = shown.focus == Some(turn.id);
    context.printer.line(text::turn(turn, is_focus, part.skipped, part.chars))?;
    if is_focus {
        context.printer.line(format!("  {}{}:{}{}\n", text::DIM, text::harmless(&turn.path), turn.line, text::RESET))?;
    }
    Ok(())
}

/// Returns a line about turns that are not shown.
fn gap(count: usize, place: &str) -> String {
    format!("{}… {}{place}{}", text::DIM, text::counted(count as u64, "turn"), text::RESET)
}
