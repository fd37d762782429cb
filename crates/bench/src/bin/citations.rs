//! Prints for labelled cases how much of a given memory the agent then repeated, and which limits divide them best.
//!
//! ```text
//! cargo run -p yore-bench --bin citations -- CASES.jsonl CORPUS.jsonl
//! ```
//!
//! A case has `id`, `memory`, `before`, `prompt`, `after` (texts of roles, or calls of tools with `input` and `output`) and `cited`. The
//! turns of the corpus, in the uniform format, say how rare a term is.
#![expect(clippy::print_stdout, reason = "a program for maintainers whose result is its output")]

use std::collections::{HashMap, HashSet};
use std::error::Error;

use serde_json::Value;
use yore_core::memory::citation::{Given, Spoken};
use yore_core::text::{Tokenizer, Tokens, content_words};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [cases, corpus] = arguments.as_slice() else { return Err("the cases and the corpus are wanted".into()) };
    let (mut tokenizer, mut tokens) = (Tokenizer::default(), Tokens::default());
    let (mut holding, mut turns): (HashMap<String, u32>, u32) = (HashMap::new(), 0);
    for line in std::fs::read_to_string(corpus)?.lines() {
        let document: Value = serde_json::from_str(line)?;
        for turn in document["turns"].as_array().into_iter().flatten() {
            turns += 1;
            tokenizer.tokenize(turn["text"].as_str().unwrap_or_default(), &mut tokens);
            let distinct: HashSet<&str> = tokens.iter().map(|token| token.text).collect();
            distinct.into_iter().for_each(|term| *holding.entry(term.to_owned()).or_default() += 1);
        }
    }
    let rarity = |term: &String| {
        let holding = holding.get(term).copied().unwrap_or_default() as f32;
        (1.0 + (turns as f32 - holding + 0.5).max(0.5) / (holding + 0.5)).ln()
    };
    let mut decided: [Vec<bool>; 2] = [Vec::new(), Vec::new()];
    let mut judged: Vec<(bool, f32, usize, String)> = Vec::new();
    for line in std::fs::read_to_string(cases)?.lines() {
        let case: Value = serde_json::from_str(line)?;
        let (mut before, after) = (spoken(&case["before"]), spoken(&case["after"]));
        before.push((false, case["prompt"].as_str().unwrap_or_default().to_owned()));
        let memory = case["memory"].as_str().unwrap_or_default();
        let terms = content_words(memory, &mut tokenizer);
        let rarities: Vec<f32> = terms.iter().map(rarity).collect();
        let given = Given::new(memory, terms, &rarities, rarity(&String::new()), &mut tokenizer);
        let (before, after) = (borrowed(&before), borrowed(&after));
        decided[usize::from(case["cited"] == true)].push(given.is_cited(&before, &after, &mut tokenizer));
        let (share, count) = given.repeated(&before, &after, &mut tokenizer);
        judged.push((case["cited"] == true, share, count, case["id"].to_string()));
    }
    judged.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (is_cited, share, count, id) in &judged {
        println!("{share:.3} {count:2} {} {id}", if *is_cited { "cited" } else { "-" });
    }
    for least in [0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6] {
        for terms in [1, 2, 3] {
            let found = |is_cited: bool| {
                let of_label = judged.iter().filter(move |case| case.0 == is_cited);
                (of_label.clone().filter(|case| case.1 >= least && case.2 >= terms).count(), of_label.count())
            };
            println!("{least:.2} {terms}: cited {:?}, others {:?}", found(true), found(false));
        }
    }
    for (label, decided) in ["others", "cited"].iter().zip(&decided) {
        println!("as yore decides: {} of {} {label}", decided.iter().filter(|is_cited| **is_cited).count(), decided.len());
    }
    Ok(())
}

/// Returns the texts of entries, each with true if they are the agent's.
fn spoken(entries: &Value) -> Vec<(bool, String)> {
    let mut texts = Vec::new();
    for entry in entries.as_array().into_iter().flatten() {
        let text = |name: &str| match &entry[name] {
            Value::String(text) => text.clone(),
            Value::Object(fields) => {
                fields.values().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned) + "\n").collect()
            }
            _ => String::new(),
        };
        texts.push((entry["role"] == "assistant", text("text")));
        texts.push((true, text("input")));
        texts.push((false, text("output")));
    }
    texts.retain(|(_, text)| !text.is_empty());
    texts
}

fn borrowed(texts: &[(bool, String)]) -> Vec<Spoken<'_>> {
    texts.iter().map(|(is_said, text)| if *is_said { Spoken::Said(text) } else { Spoken::Heard(text) }).collect()
}
