use clap::Args;
use yore_engine::{SessionOrder, SessionsRequest};

use super::Context;
use crate::error::{CliResult, Exit};
use crate::render::text;
use crate::results::Session;

/// List sessions, last used first
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only this project: name, id or directory
    #[arg(short, long, value_name = "PROJECT", value_parser = crate::cli::project)]
    project: Vec<String>,
    /// At most N
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only sessions whose title or text contains this, ignoring case
    #[arg(short, long, value_name = "TEXT")]
    text: Option<String>,
    /// Also list side conversations with sub-agents
    #[arg(long)]
    subagents: bool,
    /// Also list sessions that only programs held
    #[arg(long)]
    programs: bool,
    /// Also list forgotten sessions that can be restored
    #[arg(long)]
    forgotten: bool,
    /// List the oldest first
    #[arg(long)]
    oldest: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let sessions = context.settings.memory()?.sessions(&SessionsRequest {
        projects: arguments.project.clone(),
        with_subagents: arguments.subagents,
        with_programs: arguments.programs,
        with_forgotten: arguments.forgotten,
        text: arguments.text.clone(),
        order: if arguments.oldest { SessionOrder::Oldest } else { SessionOrder::Recent },
        limit: arguments.limit,
        ..SessionsRequest::default()
    })?;
    if context.printer.is_json() {
        context.printer.json(&sessions.iter().map(Session::from).collect::<Vec<_>>())?;
    } else {
        let rows: Vec<Vec<String>> = sessions
            .iter()
            .map(|session| {
                let mark = if session.forgotten.is_some() { "[forgotten] " } else { "" };
                vec![
                    text::time(session.updated),
                    session.id.short(),
                    session.project.as_deref().map(text::harmless).unwrap_or_default(),
                    text::counted(session.turns, "turn"),
                    format!("{mark}{}", text::harmless(session.title.as_deref().unwrap_or("")).replace('\n', " ")),
                ]
            })
            .collect();
        for line in text::table(&rows) {
            context.printer.line(line)?;
        }
    }
    Ok(if sessions.is_empty() { Exit::Nothing } else { Exit::Success })
}
