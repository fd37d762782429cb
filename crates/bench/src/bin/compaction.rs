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
use std::time::Instant;

use serde_json::{Value, json};
use yore_bench::{Replay, open_engine};
use yore_engine::RecollectRequest;
use yore_engine::ingest::{IngestRequest, Silent};

fn main() -> Result<(), Box<dyn Error>> {
    let Replay { asked: moments, work, roots } = Replay::of_arguments("--moments")?;
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
