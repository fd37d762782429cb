//! `yore doctor`: looks at everything, and runs what agents run, as they would.
//!
//! - [`Told`]: a finding, and what programs may want to know beside it
//! - `memory`: store, archive, indexes, permissions
//! - `retention`: how soon agents delete what is not archived
//! - `capture`: what was read last of each agent, what waits, what cannot be read
//! - `agents`: what agents have of yore, and whether it calls this program
//! - `entered`: whether agents run what `install` entered, and what of it is gone
//! - `trial`: each hook, server and status line run for real
//! - `said`: what agents say to hooks
//! - `process`: another program, run by a deadline
//! - `handshake`: the first words of MCP, over a command's pipes or the daemon's port
//! - `daemon`: is it this program's, with these settings, and the only one
//! - `versions`: which yore answers under that name

mod agents;
mod capture;
mod daemon;
mod entered;
mod handshake;
mod memory;
mod process;
mod retention;
mod said;
mod trial;
mod versions;

use clap::Args;
use serde_json::{Map, Value, json};
use yore_engine::{Finding, Severity};

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::render::text;

pub use self::retention::{fuse, offer_longer_retention, retention_days};

/// Check everything, and run each hook and server that agents have of yore
///
/// Hooks are run as the agent would, with what it would say, and each server is asked for its tools;
/// nothing of it is remembered.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Read every blob and index file, not only their counts
    #[arg(long)]
    deep: bool,
    /// Mend what can be mended: permissions, the index, a daemon of another version or other settings,
    /// outdated entries of agents; offer to keep transcripts longer
    #[arg(long)]
    fix: bool,
    /// With --fix: yes to every question
    #[arg(short, long, requires = "fix")]
    yes: bool,
}

/// A finding, and what programs may want to know beside it.
#[derive(Debug)]
pub(super) struct Told {
    code: &'static str,
    severity: Severity,
    text: String,
    remedy: Option<String>,
    facts: Map<String, Value>,
}

impl Told {
    fn new(code: &'static str, severity: Severity, text: impl Into<String>) -> Self {
        Self { code, severity, text: text.into(), remedy: None, facts: Map::new() }
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    fn json(&self) -> Value {
        let mut value = json!({"code": self.code, "severity": name(self.severity), "text": self.text, "remedy": self.remedy});
        if let Some(object) = value.as_object_mut() {
            object.extend(self.facts.clone());
        }
        value
    }

    fn lines(&self) -> Vec<String> {
        let (mark, color) = match self.severity {
            Severity::Fine => ("✓", text::GREEN),
            Severity::Note => ("·", text::CYAN),
            Severity::Warning => ("!", text::YELLOW),
            Severity::Broken => ("✗", text::RED),
        };
        let mut lines = vec![format!("{color}{mark}{} {:<16} {}", text::RESET, self.code, text::harmless(&self.text))];
        lines.extend(self.remedy.as_ref().map(|remedy| format!("  {:<16} {remedy}", "")));
        lines
    }
}

impl From<Finding> for Told {
    fn from(finding: Finding) -> Self {
        let Finding { code, severity, text, remedy } = finding;
        Self { code, severity, text, remedy, facts: Map::new() }
    }
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if context.settings.environment.get(process::GUARD).is_some() {
        return Err(CliError::usage("a doctor runs this already and does not run itself", None));
    }
    if arguments.fix {
        daemon::mend(context)?;
        agents::mend(context)?;
        offer_longer_retention(arguments.yes, context)?;
    }
    let mut told = versions::of_this(context);
    told.extend(memory::examine(arguments.deep, arguments.fix, context)?);
    told.extend(retention::examine(context));
    told.extend(capture::examine(context));
    told.extend(daemon::examine(context)?);
    told.extend(agents::examine(context));
    let worst = told.iter().map(|told| told.severity).max().unwrap_or(Severity::Fine);
    if context.printer.is_json() {
        context.printer.json(&told.iter().map(Told::json).collect())?;
    } else {
        for line in told.iter().flat_map(Told::lines) {
            context.printer.line(line)?;
        }
    }
    Ok(if worst >= Severity::Warning { Exit::Nothing } else { Exit::Success })
}

fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Fine => "fine",
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Broken => "broken",
    }
}
