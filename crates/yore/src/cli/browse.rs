use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::ipc::client::{self, NoAnswer, Started};
use crate::ipc::wire::{PageLink, Request};
use crate::results::PageAddress;

/// Open the page in a browser: search, sessions, memories, inbox
///
/// The daemon opens a port on this computer and makes a link that works once, for a minute; the browser that opens it gets the page until
/// it was silent for twelve hours or the daemon ends. Nobody else can use the port, and nothing of the page comes from a network.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Print the link, and open no browser. On a computer with other people's accounts, where a running command can be seen by all,
    /// use this
    #[arg(long)]
    print: bool,
    /// The part of the page to open: a path such as `inbox` or `memories/ID`
    #[arg(value_name = "PATH", default_value = "")]
    path: String,
}

/// Longest wait for the link.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    // An error that keeps the daemon from starting is better reported here than in its log.
    drop(context.settings.memory()?);
    let request = Request::Page { to: arguments.path.trim_start_matches('/').to_owned() };
    let link = match ask(&request, context)? {
        Some(link) => link,
        None => {
            let started = client::start(&context.settings.directory, &[])
                .map_err(|error| CliError::io(&context.settings.directory, &error))?;
            match started {
                Started::Now(_) | Started::Already(_) => ask(&request, context)?,
                Started::NoAnswer => None,
            }
            .ok_or_else(no_answer)?
        }
    };
    if context.printer.is_json() {
        context.printer.json(&PageAddress { url: link.url })?;
        return Ok(Exit::Success);
    }
    context.printer.line(&link.url)?;
    let is_opened = !arguments.print && open(&link.url);
    context.printer.note(if is_opened {
        "opened in the browser; the link works once"
    } else {
        "open it within a minute; it works once"
    })?;
    Ok(Exit::Success)
}

/// Asks the daemon for a link; `None` if none answers.
fn ask(request: &Request, context: &Context) -> CliResult<Option<PageLink>> {
    let Some(mut client) = client::connect(&context.settings.directory) else { return Ok(None) };
    match client.ask::<PageLink>(request, PATIENCE) {
        Ok(link) => Ok(Some(link)),
        Err(NoAnswer::Refused(error)) => Err(error),
        Err(NoAnswer::Unavailable { .. }) => Ok(None),
    }
}

fn no_answer() -> CliError {
    CliError {
        exit: Exit::Data,
        code: "daemon/no-answer".to_owned(),
        message: "the daemon does not answer".to_owned(),
        hint: Some("`yore daemon status` shows it, `yore daemon stop` ends one of another version".to_owned()),
    }
}

/// Opens an address in the person's browser; false if there seems to be none.
fn open(url: &str) -> bool {
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        let has_screen =
            ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        if !has_screen {
            return false;
        }
        ("xdg-open", &[])
    };
    let started =
        Command::new(program).args(before).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    // It may run as long as the browser.
    started.is_ok()
}
