//! Replays commands of transcripts in order of time and prints what agents would have been told before each, for `scripts/gate.py`.
//!
//! ```text
//! cargo run --release -p yore-bench --bin gate -- --commands COMMANDS.jsonl --work DIRECTORY SOURCE=FOLDER...
//! ```
//!
//! Reads the folders (`claude-code=/data/claude-code/tide`) into a memory below DIRECTORY, or takes the one that is there. All projects of
//! a group of folders with the same first name are made one, as different people's clones of a repository are. A line of COMMANDS has
//! `id`, `group`, `command`, `directory`, `session` and `at_ms`; a line of the output has `id`, `micros` and `warnings`. What was done
//! within a minute before a command's time is not known to its answer: that long it takes until yore has read it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for maintainers whose result is its output")]

use std::collections::HashMap;
use std::error::Error;
use std::time::Instant;

use serde_json::{Value, json};
use yore_bench::measure::{machine, percentile};
use yore_bench::{Replay, open_engine};
use yore_engine::ingest::{IngestRequest, Silent};
use yore_engine::{CommandRequest, ExtractRequest, ProjectQuery};
use yore_sources::project_names::names_of;

/// Time from a command until yore has read what became of it: `extract.after_seconds`.
const DELAY_MS: i64 = 60_000;

fn main() -> Result<(), Box<dyn Error>> {
    let Replay { asked: commands, work, roots } = Replay::of_arguments("--commands")?;
    let engine = open_engine(&work)?;
    if !roots.is_empty() {
        let began = Instant::now();
        engine.ingest(&IngestRequest::new(roots), &mut Silent)?;
        engine.extract(&ExtractRequest { continue_on_error: true, ..ExtractRequest::default() }, &mut |_, _| true)?;
        eprintln!("read in {:.0} s", began.elapsed().as_secs_f64());
    }
    let text = std::fs::read_to_string(&commands)?;
    let asked = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    // One project for each group; the first directory names it.
    let mut names: HashMap<&str, HashMap<&str, ()>> = HashMap::new();
    let mut first: HashMap<&str, String> = HashMap::new();
    for command in &asked {
        let (group, directory) = (text_of(command, "group"), text_of(command, "directory"));
        if directory.is_empty() || names.entry(group).or_default().insert(directory, ()).is_some() {
            continue;
        }
        let place = names_of(directory);
        let known = engine.find_project(&ProjectQuery::Directory(place.clone()))?;
        let Some(known) = known else { continue };
        match first.get(group) {
            Some(into) if *into != known.id.to_string() => {
                engine.merge_projects(&known.id.to_string(), into, Some(&place)).map(drop).unwrap_or_else(|error| {
                    eprintln!("{directory}: {error}");
                });
            }
            Some(_) => {}
            None => {
                first.insert(group, known.id.to_string());
            }
        }
    }
    let mut micros = Vec::with_capacity(asked.len());
    for command in &asked {
        let directory = text_of(command, "directory");
        let request = CommandRequest {
            command: text_of(command, "command").to_owned(),
            directory: Some(directory.to_owned()),
            here: Some(names_of(directory)),
            session: Some(text_of(command, "session").to_owned()),
            as_of: command["at_ms"].as_i64().map(|at| at - DELAY_MS),
        };
        let began = Instant::now();
        let warnings = engine.warnings(&request)?;
        let taken = began.elapsed();
        micros.push(taken.as_secs_f64() * 1e6);
        println!("{}", json!({"id": command["id"], "micros": taken.as_micros() as u64, "warnings": warnings}));
    }
    micros.sort_by(f64::total_cmp);
    eprintln!(
        "{}; {} commands: p50 {:.0} µs, p95 {:.0} µs",
        machine(),
        micros.len(),
        percentile(&micros, 0.5),
        percentile(&micros, 0.95)
    );
    Ok(())
}

fn text_of<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}
