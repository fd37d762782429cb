//! Replays the rest of compacted sessions and prints what agents would have been told again, for `scripts/compaction.py`.
//!
//! ```text
//! cargo run --release -p yore-bench --bin compaction -- --moments MOMENTS.jsonl --work DIRECTORY [SOURCE=FOLDER...]
//! ```
//!
//! Reads the folders (`claude-code=/data/claude-code/tide`) into a memory below DIRECTORY, or takes the one that is there. A line of MOMENTS
//! has `id`, `session`, `at_ms` and perhaps `file`; a line of the output has `id`, `micros` and `told`: without a file everything that the
//! last compaction left out.
#![expect(clippy::print_stdout, reason = "a program for maintainers whose result is its output")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use yore_bench::open_engine;
use yore_engine::RecollectRequest;
use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut moments, mut work, mut roots) = (PathBuf::new(), PathBuf::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
        match name.as_str() {
            "--moments" => moments = value()?.into(),
            "--work" => work = value()?.into(),
            _ => {
                let (source, path) = name.split_once('=').ok_or_else(|| format!("unknown argument {name}"))?;
                roots.push(SourceRoot { source: source.to_owned(), path: path.into() });
            }
        }
    }
    let engine = open_engine(&work)?;
    if !roots.is_empty() {
        engine.ingest(&IngestRequest::new(roots), &mut Silent)?;
    }
    for line in std::fs::read_to_string(&moments)?.lines() {
        let moment: Value = serde_json::from_str(line)?;
        let text = |name: &str| moment[name].as_str().map(str::to_owned);
        let request = RecollectRequest {
            session: text("session").unwrap_or_default(),
            file: text("file"),
            as_of: moment["at_ms"].as_i64(),
        };
        let began = Instant::now();
        let told = engine.recollect(&request)?;
        let micros = began.elapsed().as_micros() as u64;
        println!("{}", json!({"id": moment["id"], "micros": micros, "told": told}));
    }
    Ok(())
}
