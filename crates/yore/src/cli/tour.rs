use std::io::{IsTerminal, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::json;
use yore_core::scope::ScopeChoice;

use super::{Context, recall, up};
use crate::error::{CliError, CliResult, Exit};
use crate::example;
use crate::render::text;

/// Try what yore does in three minutes, on an invented project
///
/// Each step prints a command and what it answers; on a terminal, Enter goes on. The project is kept in a directory of its own, which is
/// removed at the end: your own memory is neither read nor changed.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Do not wait for Enter between the steps
    #[arg(long)]
    no_wait: bool,
}

/// A step of the tour: some words, and a command with its arguments.
struct Step {
    words: &'static str,
    arguments: Vec<String>,
    /// Standard input of the command.
    input: Option<String>,
}

fn step(words: &'static str, arguments: &[&str]) -> Step {
    Step { words, arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(), input: None }
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let directory = context.settings.directory.join("tour");
    remove(&directory)?;
    let (engine, ..) = up::read_example(&directory, context)?;
    let mut request = recall::request(example::QUESTION, context);
    request.filter.scope = ScopeChoice::All;
    let hits = engine.recall(&request)?.hits;
    let hit = hits.iter().filter_map(|hit| hit.as_turn()).next().map(|turn| turn.id.short()).unwrap_or_default();
    drop(engine);
    let waits = !arguments.no_wait && std::io::stdin().is_terminal() && context.printer.window().is_some();
    let steps = steps(&hit);
    for (number, step) in steps.iter().enumerate() {
        context.printer.line(format!("{}{} of {}{}  {}", text::BOLD, number + 1, steps.len(), text::RESET, step.words))?;
        if waits {
            context.printer.note("Enter goes on, Ctrl-C ends the tour")?;
            let mut line = String::new();
            if std::io::stdin().read_line(&mut line).map_or(true, |read| read == 0) {
                break;
            }
        }
        context.printer.line(format!("{}$ yore {}{}", text::DIM, shown(&step.arguments), text::RESET))?;
        call(step, &directory)?;
        context.printer.line("")?;
    }
    remove(&directory)?;
    context.printer.line("That was the invented project; it is removed again. With your own sessions:")?;
    context.printer.line("  yore up                   reads every history on this computer; it stays here")?;
    context.printer.line("  yore install claude-code  connects an agent; `yore uninstall` takes it back")?;
    context.printer.line("  yore page                 shows all of it in the browser")?;
    Ok(Exit::Success)
}

/// Returns the steps; `hit`: a turn that answers the example's question.
fn steps(hit: &str) -> Vec<Step> {
    const DIRECTORY: &str = "/home/dev/tidepool";
    let prompt = json!({
        "session_id": "tour", "cwd": DIRECTORY, "hook_event_name": "UserPromptSubmit", "prompt": example::QUESTION,
    });
    vec![
        step("Your agents leave transcripts behind. yore keeps them, word for word: here are four.", &["sessions"]),
        step(
            "Weeks later somebody asks. The answer is what was said, by whom and when.",
            &["recall", "--all", example::QUESTION],
        ),
        step("Each result opens, with what was said around it.", &["show", "--around", "1", hit]),
        step("An answer in sentences, each with its source.", &["ask", "--all", "what replaced redis?"]),
        Step {
            words: "Your agent need not search: if you ask the same in its next session, its hook gives it this before it begins.",
            input: Some(prompt.to_string()),
            ..step("", &["hook", "claude-code", "UserPromptSubmit"])
        },
        step(
            "Beside the archive there are memories: statements with a kind, a history and evidence.",
            &[
                "remember",
                "--global",
                "--kind",
                "decision",
                "--evidence",
                hit,
                "The curve cache lives in the process, not in Redis.",
            ],
        ),
        step("They are listed, reviewed, corrected, and replaced when something changes.", &["memories", "--all"]),
        step("And everything that changed them can be taken back.", &["undo"]),
    ]
}

/// Runs the command of a step on the tour's memory.
fn call(step: &Step, directory: &Path) -> CliResult<()> {
    let failed = |error: &std::io::Error| CliError {
        exit: Exit::Data,
        code: "tour".to_owned(),
        message: format!("yore cannot run itself: {error}"),
        hint: None,
    };
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let mut command = Command::new(program);
    command.args(&step.arguments).env("YORE_HOME", directory).env("YORE_DAEMON__AUTOSTART", "false").env("YORE_PAGER", "cat");
    command.stdin(if step.input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), &step.input) {
        // A command that reads no input closes the pipe.
        let _ = pipe.write_all(input.as_bytes());
    }
    child.wait().map(drop).map_err(|error| failed(&error))
}

/// Returns arguments as a person would type them.
fn shown(arguments: &[String]) -> String {
    let quoted = |argument: &String| match argument.contains(' ') {
        true => format!("\"{argument}\""),
        false => argument.clone(),
    };
    arguments.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn remove(directory: &Path) -> CliResult<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(CliError::io(directory, &error)),
        _ => Ok(()),
    }
}
