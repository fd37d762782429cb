use std::io::{BufRead, IsTerminal};

use clap::Args;
use yore_core::memory::Status;
use yore_core::operation::{Actor, Cause};
use yore_engine::{MemoryEdit, OpenConflict, Settlement, StoredMemory};

use super::Context;
use crate::engine_handle::MemoryClient;
use crate::error::{CliResult, Exit};
use crate::inbox::{self, Waiting};
use crate::render::memories::kind_name;
use crate::render::{text, window};
use crate::results::{ConflictRecord, Inbox, MemoryRecord};

/// Settle what waits for you: changed and doubtful statements
///
/// First the pairs of which one likely changes the other or contradicts it: keep the newer, the older, or both. Then the memories that
/// nobody confirmed. What waits for a review, and is told to nobody until then, comes first: it was in pasted, quoted or long text, in a
/// foreign file, or without a ground in what a person said. Then the most doubtful and most important: standing orders and preferences,
/// then by how sure and how important they are. What you keep is yours from then on; what you reject is not proposed again; `yore undo`
/// takes either back.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only this project: name, id or directory; may be repeated [default: the current one, or all outside of projects]
    #[arg(short, long = "project", value_name = "PROJECT", value_parser = crate::cli::project)]
    projects: Vec<String>,
    /// All projects
    #[arg(long, conflicts_with = "projects")]
    all: bool,
    /// At most N memories
    #[arg(short = 'n', long, value_name = "N", default_value_t = 12)]
    limit: usize,
}

/// Reason of what is rejected here.
const REJECTED: &str = "rejected in a review";

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let here = context.settings.project_here().filter(|_| !arguments.all);
    let mut memory = context.settings.memory()?;
    let Waiting { pairs, doubtful, pairs_total, total } = inbox::gather(&mut memory, &arguments.projects, here, arguments.limit)?;
    let is_empty = doubtful.is_empty() && pairs.is_empty();
    if context.printer.is_json() {
        context.printer.json(&Inbox {
            conflicts: pairs.iter().map(ConflictRecord::from).collect(),
            memories: doubtful.iter().map(|stored| MemoryRecord::of(stored, Vec::new())).collect(),
            conflicts_total: pairs_total as u64,
            memories_total: total as u64,
        })?;
        return Ok(if is_empty { Exit::Nothing } else { Exit::Success });
    }
    if is_empty {
        context.printer.line("nothing waits to be reviewed")?;
        return Ok(Exit::Nothing);
    }
    let mut input = std::io::stdin().lock();
    if !pairs.is_empty() {
        let shown = if pairs.len() < pairs_total { format!("{} of ", pairs.len()) } else { String::new() };
        let what = text::counted(pairs_total as u64, "pair");
        context.printer.line(format!("{shown}{what} of which one may change or contradict the other\n"))?;
    }
    for pair in &pairs {
        for line in super::conflicts::pair_lines(pair) {
            context.printer.line(line)?;
        }
        if !settle(&mut memory, pair, context, &mut input)? {
            return Ok(Exit::Success);
        }
    }
    if doubtful.is_empty() {
        return Ok(Exit::Success);
    }
    let shown = text::count(doubtful.len() as u64);
    context.printer.line(format!("{shown} of {} that nobody confirmed\n", text::counted(total as u64, "memory")))?;
    let mut counts = [0u64; 3];
    for stored in &doubtful {
        for line in told(stored) {
            context.printer.line(line)?;
        }
        match ask(&mut memory, stored, context, &mut input)? {
            Answer::Done(what) => counts[what] += 1,
            Answer::Skipped => {}
            Answer::Quit => break,
        }
    }
    let [kept, edited, rejected] = counts.map(text::count);
    context.printer.line(format!("{kept} kept, {edited} edited, {rejected} rejected"))?;
    Ok(Exit::Success)
}

/// Asks how a pair is settled, and settles it. Returns false if the person ends the review.
fn settle(memory: &mut MemoryClient, pair: &OpenConflict, context: &mut Context, input: &mut impl BufRead) -> CliResult<bool> {
    let (older, newer) = (pair.older.memory.id.to_string(), pair.newer.memory.id.to_string());
    let cause = Cause { actor: Actor::Person, by: "review".to_owned(), input: None };
    loop {
        let question = "  n: keep the newer, o: the older, b: both, e: edit, f: forget the older, s: skip, q: quit";
        let settlement = match key(question, context, input)?.as_deref() {
            None | Some("q" | "quit") => return Ok(false),
            Some("" | "s" | "skip") => return Ok(true),
            Some("n" | "newer") => Settlement::Keep(newer.clone()),
            Some("o" | "older") => Settlement::Keep(older.clone()),
            Some("b" | "both") => Settlement::Both,
            Some("e" | "edit") => match answer("  the statement that holds, in your words:", context, input)? {
                Some(statement) if !statement.is_empty() => {
                    let keep = Settlement::Keep(newer.clone());
                    let done = memory.settle_conflict(older.clone(), newer.clone(), keep, None, cause.clone())?;
                    let edit = MemoryEdit { statement: Some(statement), ..MemoryEdit::default() };
                    memory.edit_memory(done.memory.to_string(), edit, cause)?;
                    return Ok(true);
                }
                _ => {
                    context.printer.line("nothing was changed")?;
                    continue;
                }
            },
            Some("f" | "forget") => {
                memory.archive_memory(older, true, cause)?;
                return Ok(true);
            }
            Some(_) => {
                context.printer.line("one of n, o, b, e, f, s, q")?;
                continue;
            }
        };
        memory.settle_conflict(older, newer, settlement, None, cause)?;
        return Ok(true);
    }
}

/// The answer to a question.
enum Answer {
    /// The memory was kept (0), edited (1) or rejected (2).
    Done(usize),
    Skipped,
    Quit,
}

fn told(stored: &StoredMemory) -> Vec<String> {
    let memory = &stored.memory;
    let project = stored.project.as_deref().map(|project| format!(" · {}", text::harmless(project))).unwrap_or_default();
    let at = text::time(memory.valid_from.or(Some(memory.recorded)));
    let mut lines = vec![
        format!(
            "{}{}{} {}{at}{project} · {}{}",
            text::BOLD,
            kind_name(memory.kind),
            text::RESET,
            text::DIM,
            memory.id.short(),
            text::RESET
        ),
        format!("  {}", text::harmless(&memory.statement)),
    ];
    if memory.status == Status::Proposed {
        lines.push(format!("  {}waits for your review: it holds once you keep it{}", text::DIM, text::RESET));
    }
    // The words alone tell whether it was meant.
    let quotes =
        memory.evidence.iter().map(|evidence| text::harmless(&evidence.quote).split_whitespace().collect::<Vec<_>>().join(" "));
    lines.extend(
        quotes.filter(|quote| *quote != memory.statement).take(2).map(|quote| format!("  {}“{quote}”{}", text::DIM, text::RESET)),
    );
    lines
}

fn ask(memory: &mut MemoryClient, stored: &StoredMemory, context: &mut Context, input: &mut impl BufRead) -> CliResult<Answer> {
    let id = stored.memory.id.to_string();
    let cause = Cause { actor: Actor::Person, by: "review".to_owned(), input: None };
    loop {
        match key("  k: keep, e: edit, r: reject, s: skip, q: quit", context, input)?.as_deref() {
            None | Some("q" | "quit") => return Ok(Answer::Quit),
            Some("" | "s" | "skip") => return Ok(Answer::Skipped),
            Some("k" | "keep") => {
                memory.confirm_memory(id, cause)?;
                return Ok(Answer::Done(0));
            }
            Some("r" | "reject") => {
                memory.invalidate_memory(id, Some(REJECTED.to_owned()), cause)?;
                return Ok(Answer::Done(2));
            }
            Some("e" | "edit") => match answer("  the statement, in your words:", context, input)? {
                Some(statement) if !statement.is_empty() => {
                    let edit = MemoryEdit { statement: Some(statement), ..MemoryEdit::default() };
                    memory.edit_memory(id, edit, cause)?;
                    return Ok(Answer::Done(1));
                }
                _ => context.printer.line("nothing was changed")?,
            },
            Some(_) => context.printer.line("one of k, e, r, s, q")?,
        }
    }
}

/// Asks for a key, which on a terminal needs no Enter; elsewhere for a line. `None` at the end of the input.
fn key(question: &str, context: &mut Context, input: &mut impl BufRead) -> CliResult<Option<String>> {
    if !std::io::stdin().is_terminal() || context.printer.window().is_none() {
        return answer(question, context, input);
    }
    context.printer.line(format!("{}{question}{}", text::DIM, text::RESET))?;
    let Some(pressed) = window::key()? else { return Ok(None) };
    context.printer.line(format!("  {}", text::harmless(&pressed)))?;
    Ok(Some(pressed))
}

/// Asks for a line; `None` at the end of the input.
fn answer(question: &str, context: &mut Context, input: &mut impl BufRead) -> CliResult<Option<String>> {
    context.printer.line(format!("{}{question}{}", text::DIM, text::RESET))?;
    let mut line = String::new();
    Ok((input.read_line(&mut line)? > 0).then(|| line.trim().to_owned()))
}
