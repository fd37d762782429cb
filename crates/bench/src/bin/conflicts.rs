//! Measures on labelled pairs how well conflicts of statements are found.
//!
//!     cargo run --release -p yore-bench --bin conflicts -- DIRECTORY [--show N]
//!
//! DIRECTORY holds `pairs_beam/pairs.jsonl` and `pairs_sick/pairs.jsonl` of the development questions. Pairs of BEAM are messages of
//! which one updates or contradicts the other; messages of one conversation that belong to different pairs are taken for pairs
//! without a conflict. Pairs of SICK are sentences with a label.
//!
//!     cargo run --release -p yore-bench --bin conflicts -- --retire CORPUS.jsonl...
//!
//! Prints, as lines of JSON, what would be retired by itself if every sentence of a corpus were a memory of its own: the older and
//! the newer sentence, to be judged by readers.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for maintainers whose result is its output")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;
use yore_core::conflict::{Assertion, Claims, Conflict, ConflictKind, assertion_in};
use yore_core::text::{Tokenizer, fragments};

/// A labelled pair.
struct Pair {
    id: String,
    label: String,
    texts: [String; 2],
    claims: [Claims; 2],
}

fn read(path: &Path, tokenizer: &mut Tokenizer) -> Result<Vec<Pair>, Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    let mut pairs = Vec::new();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line)?;
        let word = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let texts = [word("a"), word("b")];
        let claims = [Claims::of(&texts[0], tokenizer), Claims::of(&texts[1], tokenizer)];
        pairs.push(Pair { id: word("pair_id"), label: word("label"), texts, claims });
    }
    Ok(pairs)
}

/// Returns the label that a conflict stands for.
fn label(conflict: &Conflict) -> &'static str {
    if conflict.kind == ConflictKind::Direct { "contradiction" } else { "update" }
}

/// A sentence that asserts something.
struct Said {
    assertion: Assertion,
    turn: String,
    at: String,
    text: String,
}

/// Prints what would be retired in a corpus.
fn retire(path: &Path) -> Result<(usize, usize), Box<dyn Error>> {
    let mut sessions: BTreeMap<String, Vec<(String, String, String)>> = BTreeMap::new();
    for line in fs::read_to_string(path)?.lines() {
        let session: Value = serde_json::from_str(line)?;
        let corpus = session["corpus_id"].as_str().unwrap_or_default().to_owned();
        for turn in session["turns"].as_array().into_iter().flatten() {
            let word = |name: &str| turn[name].as_str().unwrap_or_default().to_owned();
            let at = turn["timestamp"].as_str().or(session["timestamp"].as_str()).unwrap_or_default().to_owned();
            sessions.entry(corpus.clone()).or_default().push((at, word("turn_id"), word("text")));
        }
    }
    let (mut read, mut retired) = (0, 0);
    for (corpus, mut turns) in sessions {
        // A stable sort: turns of one time stay in their order.
        turns.sort_by(|a, b| a.0.cmp(&b.0));
        let mut known: Vec<Said> = Vec::new();
        for (at, turn, text) in turns {
            for range in fragments(&text) {
                let text = text[range].trim().trim_start_matches(['-', '*', '#', ' ']).to_owned();
                let Some(assertion) = assertion_in(&text) else { continue };
                read += 1;
                let is_replaced = |said: &Said| said.turn != turn && said.assertion.excludes(&assertion);
                for older in known.extract_if(.., |said| is_replaced(said)) {
                    retired += 1;
                    println!(
                        "{}",
                        serde_json::json!({"corpus": corpus, "older": older.text, "older_turn": older.turn, "older_at": older.at,
                            "newer": text, "newer_turn": turn, "newer_at": at})
                    );
                }
                known.retain(|said| !(said.assertion.is_of_same(&assertion) && said.assertion.value == assertion.value));
                known.push(Said { assertion, turn: turn.clone(), at: at.clone(), text });
            }
        }
    }
    Ok((read, retired))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--retire") {
        for path in &arguments[1..] {
            let (read, retired) = retire(Path::new(path))?;
            eprintln!("{path}: {read} sentences assert something, {retired} would be retired");
        }
        return Ok(());
    }
    let directory = Path::new(arguments.first().ok_or("name the directory of the pairs")?);
    let shown: usize =
        arguments.iter().position(|name| name == "--show").and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(0);
    let mut tokenizer = Tokenizer::default();
    let pairs = read(&directory.join("pairs_beam/pairs.jsonl"), &mut tokenizer)?;
    let (mut found, mut right) = (0, 0);
    for pair in &pairs {
        match pair.claims[0].conflict(&pair.claims[1]) {
            Some(conflict) => {
                found += 1;
                right += usize::from(label(&conflict) == pair.label);
            }
            None if shown > 0 => println!("missed {} {}", pair.label, pair.id),
            None => {}
        }
    }
    println!(
        "beam: {found} of {} found, {right} with the right kind: precision {:.2}, recall {:.2}",
        pairs.len(),
        right as f64 / found.max(1) as f64,
        right as f64 / pairs.len().max(1) as f64
    );
    let (mut others, mut wrong) = (0, 0);
    let conversation = |pair: &Pair| pair.id.rsplitn(3, '/').last().unwrap_or_default().to_owned();
    for a in &pairs {
        for b in pairs.iter().filter(|b| b.id != a.id && conversation(b) == conversation(a)) {
            if a.texts[0] == b.texts[0] || a.texts[1] == b.texts[1] {
                continue;
            }
            others += 1;
            if let Some(conflict) = a.claims[0].conflict(&b.claims[1]) {
                wrong += 1;
                if wrong <= shown {
                    println!("  {:?}: {:?} | {:?}", conflict.kind, &a.texts[0][conflict.first], &b.texts[1][conflict.second]);
                }
            }
        }
    }
    println!("beam: {wrong} of {others} other pairs of the same conversation taken for a conflict");
    let began = Instant::now();
    let pairs = read(&directory.join("pairs_sick/pairs.jsonl"), &mut tokenizer)?;
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut told = 0;
    for pair in &pairs {
        let conflict = pair.claims[0].conflict(&pair.claims[1]);
        let count = counts.entry(&pair.label).or_default();
        count[0] += usize::from(conflict.is_some());
        count[1] += 1;
        if let Some(conflict) = conflict.filter(|_| pair.label != "contradiction" && told < shown) {
            told += 1;
            println!("  {} {:?}: {:?} | {:?}", pair.label, conflict.kind, pair.texts[0], pair.texts[1]);
        }
    }
    for (label, [found, all]) in counts {
        println!("sick: {label}: {found} of {all} taken for a conflict ({:.1} %)", 100.0 * found as f64 / all.max(1) as f64);
    }
    println!("{} pairs in {:.2} s", pairs.len(), began.elapsed().as_secs_f64());
    Ok(())
}
