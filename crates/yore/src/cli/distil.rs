use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;
use yore_engine::{Distilled, MaterialRequest};

use super::Context;
use crate::distil;
use crate::error::{CliError, CliResult, Exit};
use crate::results;

/// Let an agent find what is worth keeping in a session
///
/// Without --from: prints the lines of a session that were not distilled yet, numbered, for an agent to read. With --from:
/// records what it found, a JSON object {"items": [{"kind", "statement", "line", "quote", "ref", "entities", "confidence",
/// "details", "closed", "subject", "aspect", "value"}], "relations": [{"from", "type", "to"}], "topic": {"name", "summary"}, "upto", "skip_lines"}. Quotes must stand in their lines; what is
/// recorded is marked as extracted. The MCP tool `distil` does the same.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Id of the session [default: one of this directory's project that waits]
    session: Option<String>,
    /// Record what stands in this file; `-`: standard input
    #[arg(long, value_name = "FILE", requires = "session")]
    from: Option<PathBuf>,
}

/// Longest input, in bytes.
const LONGEST: u64 = 4 << 20;

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    if let (Some(path), Some(session)) = (&arguments.from, &arguments.session) {
        let text = read(path).map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display()), None))?;
        // A list would be read as the fields of the object, in their order.
        let object = serde_json::from_str::<serde_json::Map<String, Value>>(&text);
        let distilled = object.and_then(|object| Distilled::deserialize(Value::Object(object))).map_err(|error| {
            CliError::usage(format!("{} is not what `yore distil --help` describes: {error}", path.display()), None)
        })?;
        let report = memory.record_distilled(Distilled { session: session.clone(), ..distilled })?;
        if context.printer.is_json() {
            context.printer.json(&results::DistilReport::from(&report))?;
        } else {
            context.printer.line(distil::report(&report))?;
        }
        let is_bad = !report.problems.is_empty() && report.recorded + report.joined + report.known == 0;
        return Ok(if is_bad { Exit::Nothing } else { Exit::Success });
    }
    let here = context.settings.project_here();
    let request = MaterialRequest { session: arguments.session.clone(), own: None, here };
    match memory.material(request)? {
        Some(material) if context.printer.is_json() => context.printer.json(&results::Material::from(&material))?,
        Some(material) => context.printer.line(distil::material(&material))?,
        None if context.printer.is_json() => context.printer.json(&Value::Null)?,
        None => {
            context.printer.line(distil::NOTHING)?;
            return Ok(Exit::Nothing);
        }
    }
    Ok(Exit::Success)
}

fn read(path: &PathBuf) -> std::io::Result<String> {
    let mut text = String::new();
    if path.as_os_str() == "-" {
        std::io::stdin().take(LONGEST).read_to_string(&mut text)?;
    } else {
        std::fs::File::open(path)?.take(LONGEST).read_to_string(&mut text)?;
    }
    Ok(text)
}
