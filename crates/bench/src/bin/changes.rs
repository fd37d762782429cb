//! Measures on labelled pairs of statements how surely a later one is seen to change an earlier one.
//!
//!     cargo run --release -p yore-bench --bin changes -- crates/bench/data/changes/pairs.jsonl [--features]
//!
//! Prints for each gold label how many pairs repeat, likely change, may change, or stand beside each other. With `--features`, prints the
//! features of each pair as a line of JSON, from which `scripts/fit-changes` computes the weights.

#![expect(clippy::print_stdout, reason = "a program for maintainers whose result is its output")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;

use serde_json::{Value, json};
use yore_core::conflict::{Change, Repetition, Statement, change_features};
use yore_core::text::Tokenizer;
use yore_engine::embed::StaticTable;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let prints_features = arguments.iter().any(|argument| argument == "--features");
    let mut tokenizer = Tokenizer::default();
    let likeness = |a: &str, b: &str| match (StaticTable::vector_of(a), StaticTable::vector_of(b)) {
        (Some(a), Some(b)) => a.iter().zip(&b).map(|(x, y)| x * y).sum(),
        _ => 0.0,
    };
    let mut counts: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for file in arguments.iter().filter(|argument| !argument.starts_with("--")) {
        for line in fs::read_to_string(file)?.lines() {
            let pair: Value = serde_json::from_str(line)?;
            let text = |name: &str| pair[name].as_str().unwrap_or_default().to_owned();
            let (first, second) = (Statement::of(&text("first"), &mut tokenizer), Statement::of(&text("second"), &mut tokenizer));
            if prints_features {
                let features = change_features(&first, &second, &likeness).to_vec();
                println!("{}", json!({"id": text("id"), "gold": text("gold"), "file": file, "features": features}));
                continue;
            }
            let verdict = match (Repetition::of(&first, &second), Change::of(&first, &second, &likeness)) {
                (Some(_), _) => "repetition",
                (None, Some(change)) => change.grade.as_str(),
                (None, None) => "beside",
            };
            *counts.entry((text("gold"), verdict)).or_default() += 1;
        }
    }
    for ((gold, verdict), count) in counts {
        println!("{gold}\t{verdict}\t{count}");
    }
    Ok(())
}
