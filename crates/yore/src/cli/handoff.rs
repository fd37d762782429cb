use clap::Args;
use yore_engine::{HandoffPoint, HandoffRequest};

use super::Context;
use crate::agents::Start;
use crate::error::{CliError, CliResult, Exit};
use crate::handoff::{self, LEAST_TOKENS, MOST_TOKENS, USUAL_TOKENS};
use crate::histories::read_latest;
use crate::results;

/// Hand the work of a session over to another agent
///
/// The package is made from the transcript without a model: the aim in the person's words, decisions in force, files with their
/// state, what was tried and failed, commands that work, what is open, the next step, and ids that `yore show` opens. The transcript
/// is read first. Without --to it is printed as Markdown.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Id of the session, or its first characters [default: the newest of this directory's project]
    session: Option<String>,
    /// The newest session of this agent, such as claude-code
    #[arg(long, value_name = "AGENT", conflicts_with = "session")]
    agent: Option<String>,
    /// Start this agent here, with the package as its prompt: claude, codex, gemini, opencode ...
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// The state as of a turn (id, or number from 1) or before a time
    #[arg(long, value_name = "TURN|TIME", value_parser = handoff::point)]
    at: Option<HandoffPoint>,
    /// At most N tokens
    #[arg(long, value_name = "N", default_value_t = USUAL_TOKENS as u32, value_parser = clap::value_parser!(u32).range(LEAST_TOKENS as i64..=MOST_TOKENS as i64))]
    tokens: u32,
    /// With --to: print the command instead of running it
    #[arg(long, requires = "to")]
    print: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let to = arguments.to.as_deref().map(Start::named).transpose()?;
    if let Some(start) = to.filter(|start| start.prompt.is_none()) {
        let message = format!("{} takes no prompt on its command line", start.title);
        return Err(CliError::usage(message, Some("run without --to, and give the text to the agent yourself")));
    }
    let request = HandoffRequest {
        session: arguments.session.clone(),
        agents: arguments
            .agent
            .iter()
            .map(|name| Start::named(name).map_or(name.clone(), |start| start.source.to_owned()))
            .collect(),
        here: context.settings.project_here(),
        asking: None,
        at: arguments.at.clone(),
        tokens: handoff::room(arguments.tokens as usize),
    };
    let Some(made) = make(&request, context)? else {
        context
            .printer
            .note("nothing to hand over: no session of this project is known; `yore resume` lists those of all projects")?;
        return Ok(Exit::Nothing);
    };
    if let Some(start) = to {
        let prompt = handoff::prompt(&made);
        let Some(command) = start.prompting(&prompt) else { return Ok(Exit::Nothing) };
        if arguments.print {
            context.printer.line(command.typed(None))?;
            return Ok(Exit::Success);
        }
        return command.run(None);
    }
    let text = handoff::markdown(&made);
    if context.printer.is_json() {
        let tokens = handoff::cost(&text);
        context.printer.json(&results::Handoff::of(&made, text, tokens))?;
    } else {
        context.printer.line(text.trim_end())?;
    }
    Ok(Exit::Success)
}

/// Reads what the session said last, then makes its handoff.
pub fn make(request: &HandoffRequest, context: &mut Context) -> CliResult<Option<yore_engine::Handoff>> {
    if request.session.is_none() {
        refresh(None, context)?;
    }
    let mut memory = context.settings.memory()?;
    let made = match memory.handoff(request.clone()) {
        Ok(made) => made,
        // It may be too new to be known.
        Err(error) if error.code == "unknown-session" && refresh(request.session.as_deref(), context)? => {
            return context.settings.memory()?.handoff(request.clone());
        }
        Err(error) => return Err(error),
    };
    let named = made.as_ref().filter(|_| request.session.is_some()).map(|made| made.session.native_id.clone());
    match named {
        Some(session) if refresh(Some(&session), context)? => context.settings.memory()?.handoff(request.clone()),
        _ => Ok(made),
    }
}

/// Reads what waits of this project's conversations, or of one session; returns whether there was something. What cannot be read is no
/// reason to hand nothing over.
pub fn refresh(session: Option<&str>, context: &mut Context) -> CliResult<bool> {
    match read_latest(session, &context.settings) {
        Ok(read) => Ok(read > 0),
        Err(error) => {
            context.printer.note(format!("the transcript could not be read again: {}", error.message))?;
            Ok(false)
        }
    }
}
